"""zenoh: queries and publications by way of a zenoh router; eclipse-zenoh on all sides."""

import json
import sys
import threading

import zenoh

from bench.contract import Binding, RouterService, Service
from bench.errors import TransportError
from bench.process import Process, python
from bench.systems import _broker, _zenoh

TRANSPORTS = ("ipc", "tcp")
START_S = 0.4
REQUIRES = ("eclipse-zenoh",)
GROUP = "broker"
ENCRYPTED = ("tcp",)
Options = _zenoh.Options


def route(binding: Binding, options: Options, service: RouterService) -> None:
    """Run a session of the library as a router, in a process of its own, until it ends."""
    places = _broker.endpoints(binding, TRANSPORTS, ENCRYPTED, options.tls)
    ends = [_zenoh.endpoint(where, name.endswith("tls")) for name, where in places.items()]
    words = python("bench.systems.zenoh_router", json.dumps(ends), binding.credentials)
    router = Process(words, start_new_session=True)
    service.adopt(router.pid)
    said = router.output.readline().decode().strip()
    if said != "ready":
        raise TransportError(f"the zenoh router did not start: {said or 'it ended'}")
    service.announce({name: _broker.text(where) for name, where in places.items()}, {})
    raise TransportError(f"the zenoh router ended with status {router.wait()}")


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer queries that the router passes on, in threads of the library, until the process ends."""
    address = _broker.announced(binding, options.tls)
    session = _zenoh.connected("client", address, options.tls)
    kept = _zenoh.answering(session, _broker.split(address)[1], service.answer, options.express)
    service.announce(address)
    threading.Event().wait()
    kept.undeclare()


class Client(_zenoh.Client):
    """One session that is connected to the router."""

    mode = "client"

    def call(self, payload: bytes) -> bytes:
        """Send one query and return its reply."""
        try:
            return _zenoh.first(self._ask(payload))
        except zenoh.ZError as reason:
            raise _zenoh.failed(reason) from reason


def _run(ends: list[str], folder: str) -> None:
    """Route until the input ends."""
    try:
        session = _zenoh.routing(ends, folder)
    except TransportError as reason:
        print(reason, flush=True)
        return
    print("ready", flush=True)
    sys.stdin.buffer.read()
    session.close()


if __name__ == "__main__":
    _run(json.loads(sys.argv[1]), sys.argv[2])
