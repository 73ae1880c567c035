"""What README.md lists: every system of the checkout with its transports and its own description, by group."""

from pathlib import Path

from bench import systems
from bench.apps.documents.blocks import table
from bench.contract import GROUPS

GROUP_TEXTS = {
    "direct": "direct: client and server, no process between them",
    "broker": "through a broker or router",
    "http": "HTTP",
    "native": "native: client and server in C or C++",
    "instrument": "for testing the instrument itself",
}


def catalogue() -> str:
    """Return a table of the systems, in the order of the groups; those of other folders are left out."""
    own = Path(systems.__file__).parent
    names = [name for name in systems.names() if Path(systems.file_of(name)).parent == own]
    rows = []
    for group in GROUPS:
        rows.append([f"**{GROUP_TEXTS[group]}**", "", ""])
        rows += [_row(name) for name in names if systems.group(name) == group]
    return table(["system", "transports", "what it is"], rows)


def _row(name: str) -> list[str]:
    transports = ", ".join(systems.constant(name, "TRANSPORTS"))
    return [f"`{name}`", transports, systems.describe(name).replace("|", "\\|")]
