"""ZeroMQ by libzmq in C: REQ and REP sockets without pyzmq; either side can be the one of the system zeromq."""

from dataclasses import dataclass
from typing import Literal

from bench.contract import Binding, Service
from bench.installation import programs
from bench.systems import _native, _twin, zeromq

TRANSPORTS = ("ipc", "tcp")
REQUIRES = ("pyzmq",)
GROUP = "native"
VERSION_COMMANDS = {"libzmq": "pkg-config --modversion libzmq"}

programs.need(["zmq.h"], "g++ libzmq3-dev")

SOURCE = _native.Source("_zeromq_c.cpp", "zeromq_c", ("-lzmq", "-pthread"))


@dataclass(frozen=True)
class Options:
    """Which side is native; pyzmq has a libzmq of its own, whose version can differ.

    client: who makes the calls: c, a program compiled on first use, which makes closed loads; or python, the client of
        the system zeromq.
    server: who answers: c, the program; or python, the server of the system zeromq.
    """

    client: Literal["c", "python"] = "c"
    server: Literal["c", "python"] = "c"


prepare = SOURCE.program


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Let the program answer, or answer here in Python."""
    if options.server == "python":
        return zeromq.serve(binding, zeromq.Options(), service)
    program = SOURCE.start(["server", binding.endpoint()])
    return _native.serve(SOURCE, program, service, lambda words: words[0])


class Load(_native.Load):
    """The closed load by the program, which connects."""

    def _start(self, words: list[object]) -> _native.Program:
        return SOURCE.start([*words, self._address])


Client = _twin.with_options(zeromq.Client, lambda _: zeromq.Options())
