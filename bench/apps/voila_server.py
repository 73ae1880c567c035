"""``make app``: the page of ``explore.ipynb`` alone, served by Voila to this machine."""

from typing import Any

from voila.app import Voila


class Served(Voila):
    """Voila that refuses requests for a foreign host's name, as Jupyter's own server does.

    By such a name the page of another site could reach this server in a visitor's browser (DNS rebinding).
    """

    def init_settings(self) -> dict[str, Any]:
        """Return the library's settings, which allow all names, with the names of this machine alone."""
        return {**super().init_settings(), "allow_remote_access": False, "local_hostnames": ["localhost"]}


if __name__ == "__main__":
    Served.launch_instance()
