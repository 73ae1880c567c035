"""RESP as bytes, one call of the system redis after another, for the load generator ``wire``.

Commands are packed and replies parsed by hiredis, in C. Each connection has a key of its own, whose list takes replies.
"""

import secrets
import socket
from typing import Any

import hiredis

from bench.errors import TransportError
from bench.systems import _broker, _wire

KEY_BYTES = 16  # of a client's key, at the beginning of each request in a list
FIELD = b"m"  # of an entry of a stream: its message
packed: Any = hiredis.pack_command  # its annotation allows one word only


class Wire(_broker.Wire):
    """A conversation: a request is pushed or appended, then its reply is popped from the connection's list.

    Pipelined, the command that pops leaves with the one that pushes.
    """

    def __init__(self, address: str, options: Any) -> None:
        super().__init__(address, options)
        name, is_stream = self.name.encode(), options.queue == "stream"
        self._ask = (b"XADD", name, b"*", FIELD) if is_stream else (b"RPUSH", name)

    def greet(self, connection: socket.socket) -> None:
        self._key = secrets.token_hex(KEY_BYTES // 2).encode()
        self._pop = packed((b"BLPOP", self._key, f"{_broker.WAIT_S:g}"))
        self._reader, self._is_pushed = hiredis.Reader(), False
        self.outgoing = bytearray()
        login = _broker.login(self.server)
        connection.sendall(packed(("HELLO", "3", *(("AUTH", *login) if login else ()))))
        while (answer := self._next()) is False:
            self._reader.feed(_wire.take_some(connection))
        if isinstance(answer, hiredis.ReplyError):
            is_login = "NOAUTH" in str(answer) or "WRONGPASS" in str(answer)
            raise _broker.refused(answer) if is_login else _broker.cannot_connect(self.server, answer)

    def _next(self) -> Any:
        """Return the next reply, False where none is complete."""
        try:
            return self._reader.gets()
        except hiredis.ProtocolError as reason:
            raise TransportError(f"the broker does not speak RESP: {reason}") from reason

    def request(self, payload: bytes) -> bytes:
        return payload  # what goes before it holds the connection's key

    def begin(self, index: int, request: bytes) -> bytes:
        """Return the command that pushes a request, with that which waits for its reply where they go together."""
        push = packed((*self._ask, self._key + request))
        return push + self._pop if self.options.pipelining else push

    def receive(self, data: bytes) -> bytes | None:
        self._reader.feed(data)
        while (reply := self._next()) is not False:
            if isinstance(reply, hiredis.ReplyError):
                raise TransportError(f"the call failed: {reply}", "full" if "maxmemory" in str(reply) else "call")
            if self._is_pushed:
                self._is_pushed = False
                return self._popped(reply)
            self._is_pushed = True
            if not self.options.pipelining:
                self.outgoing += self._pop
        return None

    def _popped(self, reply: Any) -> bytes:
        if self._reader.has_data():
            raise TransportError("bytes came after a reply, without a request")
        if reply is None:
            raise _broker.no_reply(self.name)
        if not (isinstance(reply, list) and len(reply) == 2 and reply[0] == self._key):
            raise TransportError(f"a reply is not of this connection's list: {reply!r:.80}")
        return bytes(reply[1])
