"""The router's process: ``python -m bench.child.router``, started by ``bench.measurement`` with a specification.

It runs the system's router as a child process, and ends it when the measuring process ends or orders it.
"""

from collections.abc import Mapping
from typing import Any

from bench import systems
from bench.child.open_files import allow_many_files
from bench.contract import Binding
from bench.errors import SystemFailedError
from bench.plan import credentials
from bench.process.channel import Channel, run_child
from bench.process.spec import RouterSpec, Routing


class RouterHost:
    """Argument of a system's ``route``; see ``bench.contract.RouterService``."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.adopt = channel.adopt

    def announce(self, addresses: Mapping[str, str], pids: Mapping[str, int]) -> None:
        self._channel.send(Routing(addresses=dict(addresses), pids=dict(pids)))


def main(channel: Channel) -> None:
    """Read the specification and route."""
    spec = channel.receive(RouterSpec)
    channel.make_directory(spec.directory)
    credentials.write(spec.directory, spec.credentials)
    case, folder = spec.case, spec.directory if spec.credentials else ""
    system: Any = systems.load(case.system)
    binding = Binding(case.transport, spec.directory, spec.bind, environment=spec.environment, credentials=folder)
    allow_many_files()
    system.route(binding, system.Options(**case.options), RouterHost(channel))
    raise SystemFailedError(f"route() of {case.system} returned: its router has ended")


if __name__ == "__main__":
    run_child(main)
