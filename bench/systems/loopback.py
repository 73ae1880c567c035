"""Loopback: replies at once inside the client; its RTT is the instrument overhead."""

from dataclasses import dataclass

from bench.contract import Binding, Service

TRANSPORTS = ("inproc",)
REQUIRES = ()
GROUP = "instrument"


@dataclass(frozen=True)
class Options:
    """No options."""


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Announce an address and return; nothing is ever sent."""
    service.announce(binding.endpoint())


class Client:
    """A client whose call returns its argument; the rest of the measurement is unchanged."""

    def __init__(self, address: str, options: Options) -> None:
        """Accept the arguments of every client."""

    def open(self) -> None:
        """Do nothing: there is no server."""

    def call(self, payload: bytes) -> bytes:
        return payload

    def close(self) -> None:
        """Release nothing."""
