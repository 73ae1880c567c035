"""zenoh: queries and publications between peers, without a router; eclipse-zenoh on both sides."""

import threading
from typing import Any

import zenoh

from bench.contract import Binding, Service
from bench.systems import _zenoh

TRANSPORTS = ("ipc", "tcp")
START_S = 0.4
REQUIRES = ("eclipse-zenoh",)
ENCRYPTED = ("tcp",)
Options = _zenoh.Options


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer queries in threads of the library, until the process ends."""
    session, address = _zenoh.listening("peer", binding.endpoint(), options.tls, binding.credentials)
    kept = _zenoh.answering(session, _zenoh.KEY, service.answer, options.express)
    service.announce(address)
    threading.Event().wait()
    kept.undeclare()


class Client(_zenoh.Client):
    """One session that is connected to the server's."""

    mode = "peer"

    def call(self, payload: bytes) -> bytes:
        """Send one query and return its reply."""
        try:
            return _zenoh.first(self._ask(payload))
        except zenoh.ZError as reason:
            raise _zenoh.failed(reason) from reason


class Sender(_zenoh.Sender):
    """The sending end of a one-way stream."""

    mode = "peer"


class Receiver:
    """The receiving end of a one-way stream: a subscriber, whose queue of 256 messages holds the sender up."""

    def __init__(self, binding: Binding, options: Options) -> None:
        """Listen; ``address`` is where senders connect."""
        self._session, self.address = _zenoh.listening("peer", binding.endpoint(), options.tls, binding.credentials)
        self._subscriber: Any = self._session.declare_subscriber(_zenoh.KEY, zenoh.handlers.FifoChannel(256))

    def receive(self) -> bytes:
        """Return the next message, waiting for it."""
        return self._subscriber.recv().payload.to_bytes()

    def close(self) -> None:
        """Release the session."""
        self._session.close()
