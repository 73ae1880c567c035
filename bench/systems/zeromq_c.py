"""ZeroMQ by libzmq in C: REQ and REP sockets without pyzmq; either side can be the one of the system zeromq."""

from bench.contract import Binding, Service
from bench.process import programs
from bench.systems import _native, _twin, zeromq

TRANSPORTS = ("ipc", "tcp")
REQUIRES = ("pyzmq",)
GROUP = "native"
VERSION_COMMANDS = {
    "libzmq": "pkg-config --modversion libzmq",
    "libzmq of pyzmq": "python -c 'import zmq; print(zmq.zmq_version())'",
}

programs.need(["zmq.h"], "g++ libzmq3-dev")

SOURCE = _native.Source("_zeromq_c.cpp", "zeromq_c", ("-lzmq", "-pthread"))
Options = _native.Options  # pyzmq has a libzmq of its own, whose version can differ


prepare = SOURCE.program


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Let the program answer, or answer here in Python."""
    if options.server == "python":
        return zeromq.serve(binding, zeromq.Options(), service)
    program = SOURCE.start(["server", binding.endpoint()])
    return _native.serve(program, service, lambda words: words[0])


class Load(_native.Load):
    """The closed load by the program, which connects."""

    def _start(self, words: list[object]) -> _native.Program:
        return SOURCE.start([*words, self._address])


Client = _twin.with_options(zeromq.Client, lambda _: zeromq.Options())
Wire = _twin.with_options(zeromq.Wire, lambda _: zeromq.Options())
