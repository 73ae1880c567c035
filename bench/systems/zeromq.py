"""ZeroMQ: brokerless message sockets, REQ/REP for calls, PUSH/PULL one way, ROUTER/DEALER for streams of replies."""

import struct
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import zmq

from bench.contract import Binding, Service
from bench.errors import TransportError
from bench.plan import credentials as run_credentials  # ``credentials`` here is the contract's
from bench.systems import _client, _tokens, _zmtp_wire

TRANSPORTS = ("inproc", "ipc", "tcp")
REQUIRES = ("pyzmq",)
FOR_WIRE = {"curve": False}
VERSION_COMMANDS = {"libzmq of pyzmq": "python -c 'import zmq; print(zmq.zmq_version())'"}
MOST_OUTSTANDING = 1000  # as in bench.plan.case: a socket drops what exceeds its high-water mark
PATIENCE_S = 10

PUBLIC, SECRET = "curve.public", "curve.secret"  # files of the server's key pair, Z85
HANDSHAKE_S = 2.0
REFUSED = zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_HANDSHAKE_FAILED_AUTH
EVENT = struct.Struct("=Hi")  # an event's kind and value in its first frame


@dataclass(frozen=True)
class Options:
    """How pyzmq handles messages.

    copy: hand message bytes over by copying; False uses zero-copy frames (pays off for large messages).
    high_water_mark: messages queued on each side of a one-way stream before its sender has to wait.
    codec: how structured messages become bytes; not used for opaque bytes.
    curve: encrypt with CURVE (CurveZMQ: Curve25519 keys, XSalsa20 and Poly1305), ZeroMQ's own instead of TLS; the
        client knows the server's public key and accepts no other. Over ipc and tcp.
    token_codec: how each reply of a stream is written: bytes as it is, or as an object by pickle or protobuf.
    """

    copy: bool = True
    high_water_mark: int = 1000
    codec: str = "json"
    curve: bool = False
    token_codec: Literal["bytes", "pickle", "protobuf"] = "bytes"

    def __post_init__(self) -> None:
        if self.high_water_mark < 1:
            raise ValueError("high_water_mark must be at least 1")


def credentials() -> dict[str, str]:
    """Return a new key pair for a server, as texts by the names of their files."""
    public, secret = zmq.curve_keypair()
    return {PUBLIC: public.decode(), SECRET: secret.decode()}


def _key(text: str, name: str) -> bytes:
    """Return a key from its file's text; TransportError if it is none."""
    key = text.strip().encode()
    if len(key) != 40:
        raise TransportError(f"{name} holds no CURVE key, which are 40 characters of Z85: make the credentials anew")
    return key


def _serve_encrypted(socket: Any, folder: str) -> None:
    """Let a socket that binds accept only clients that encrypt for its public key."""
    with open(f"{folder}/{SECRET}") as file:  # noqa: PTH123
        socket.curve_secretkey = _key(file.read(), SECRET)
    socket.curve_server = True


def _connect_encrypted(socket: Any) -> None:
    """Let a socket that connects encrypt, with a key pair of its own, for the server's public key alone."""
    socket.curve_serverkey = _key(run_credentials.text(PUBLIC), PUBLIC)
    socket.curve_publickey, socket.curve_secretkey = zmq.curve_keypair()


def _socket(kind: int, options: Options, address: str, context: Any = None) -> Any:
    """Return a socket of the process's one context (inproc needs it to be shared), or of another."""
    socket: Any = (context or zmq.Context.instance()).socket(kind)
    socket.set_hwm(options.high_water_mark)
    socket.setsockopt(zmq.IPV6, "[" in address)
    return socket


def _bind(socket: Any, binding: Binding) -> str:
    """Bind, and return the address that clients connect to."""
    try:
        socket.bind(binding.endpoint())
    except zmq.ZMQError as reason:
        raise TransportError(f"cannot listen at {binding.endpoint()}: {reason}") from reason
    return str(socket.getsockopt_string(zmq.LAST_ENDPOINT).rstrip("\0"))


def _verbs(socket: Any, options: Options) -> tuple[Callable[[bytes], object], Callable[[], bytes]]:
    """Return the socket's send and receive, or their zero-copy variants."""
    if options.copy:
        return socket.send, socket.recv
    return partial(socket.send, copy=False), lambda: socket.recv(copy=False).bytes


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer requests with one REP socket; with streams of replies by one ROUTER socket."""
    if service.is_streaming:
        _serve_streams(binding, options, service)
    socket = _socket(zmq.REP, options, binding.endpoint())
    if options.curve:
        _serve_encrypted(socket, binding.credentials)
    service.announce(_bind(socket, binding))
    answer = service.answer
    send, receive = _verbs(socket, options)
    while True:
        send(answer(receive()))


def _serve_streams(binding: Binding, options: Options, service: Service) -> None:
    import asyncio

    from bench.systems import _zeromq_streams  # event loops: servers of calls start sooner without them

    async def serve() -> None:
        socket = _socket(zmq.ROUTER, options, binding.endpoint(), _zeromq_streams.context())
        if options.curve:
            _serve_encrypted(socket, binding.credentials)
        announce = partial(service.announce, _bind(socket, binding))
        await _zeromq_streams.serve(socket, announce, service.replies_async, options.token_codec)

    asyncio.run(serve())


class _Connection(_client.Client):
    """A socket that connects."""

    ERRORS, KIND = (zmq.ZMQError,), "call"
    kind: int
    linger = 0  # ms that close() waits for messages still to be sent

    def connect(self) -> None:
        """Connect, and wait for the handshake: the library goes on in the background, whether it succeeds or not."""
        self.connection = _socket(self.kind, self.options, str(self.server))
        if self.options.curve:
            _connect_encrypted(self.connection)
        if self.server.transport == "inproc":
            self.connection.connect(str(self.server))
            return
        monitor = self.connection.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED | REFUSED)
        self.connection.connect(str(self.server))
        try:
            self._wait(monitor)
        finally:
            self.connection.disable_monitor()

    def _wait(self, monitor: Any) -> None:
        """Wait until the peers agree; TransportError if they do not, or if nothing is heard of an encrypted peer."""
        same = "give the option curve the same value on both sides"
        if not monitor.poll(HANDSHAKE_S * 1000):
            if self.options.curve:
                text = f"no answer to the CURVE handshake came within {HANDSHAKE_S:g} s: the server may not use CURVE"
                raise TransportError(f"{text}; {same}", "connect")
            return  # a server that is not there yet: the library keeps trying
        event, _ = EVENT.unpack(monitor.recv_multipart()[0])
        if event & REFUSED:
            folder = f"the folder that {run_credentials.FOLDER} names"
            key = f", and let {folder} hold the {PUBLIC} of that server" * self.options.curve
            raise TransportError(f"the server refused the handshake: {same}{key}", "connect")

    def close(self) -> None:
        self.connection.close(linger=self.linger)


class Client(_Connection):
    """One REQ socket: send, then receive, in lock step."""

    kind = zmq.REQ

    def connect(self) -> None:
        super().connect()
        self._send, self._receive = _verbs(self.connection, self.options)

    def call(self, payload: bytes) -> bytes:
        self._send(payload)
        return self._receive()


class StreamClient(_client.AsyncClient):
    """One DEALER socket: a request, its replies, an empty message behind the last."""

    ERRORS = (zmq.ZMQError,)

    async def connect(self) -> None:
        from bench.systems import _zeromq_streams

        self.connection = _socket(zmq.DEALER, self.options, str(self.server), _zeromq_streams.context())
        self.connection.linger = 0
        if self.options.curve:
            _connect_encrypted(self.connection)
        self._decode = _tokens.codec(self.options.token_codec)[1]
        self.connection.connect(str(self.server))

    async def stream(self, payload: bytes) -> AsyncIterator[bytes]:
        receive, decode = self.connection.recv, self._decode
        await self.connection.send(payload)
        while content := await receive():
            yield decode(content)


class Sender(_Connection):
    """The sending end of a one-way stream: a PUSH socket, whose own call waits while its queue is full."""

    kind = zmq.PUSH
    linger = -1  # until all messages have been sent

    def connect(self) -> None:
        super().connect()
        self.send = _verbs(self.connection, self.options)[0]


class Receiver:
    """The receiving end of a one-way stream: a PULL socket."""

    def __init__(self, binding: Binding, options: Options) -> None:
        self._socket = _socket(zmq.PULL, options, binding.endpoint())
        if options.curve:
            _serve_encrypted(self._socket, binding.credentials)
        self.address = _bind(self._socket, binding)
        self.receive = _verbs(self._socket, options)[1]

    def close(self) -> None:
        self._socket.close(linger=0)


class Multiplexed(_Connection):
    """One DEALER socket: requests leave before earlier ones are answered, each with its number in the envelope."""

    kind = zmq.DEALER

    def __init__(self, address: str, options: Options) -> None:
        if options.high_water_mark < MOST_OUTSTANDING:
            raise ValueError(f"calls under way at once need a high_water_mark of {MOST_OUTSTANDING:,} or more")
        super().__init__(address, options)

    def connect(self) -> None:
        super().connect()
        self.connection.setsockopt(zmq.RCVTIMEO, 1000 * PATIENCE_S)

    def send(self, number: int, payload: bytes) -> None:
        self.connection.send_multipart((number.to_bytes(4, "big"), b"", payload), copy=self.options.copy)

    def receive(self) -> tuple[int, bytes]:
        try:
            number, _, reply = self.connection.recv_multipart(copy=self.options.copy)
        except zmq.Again:
            raise TransportError(f"no reply came for {PATIENCE_S} s", "read") from None
        except ValueError:
            raise TransportError("a message came that is no reply: another number of frames") from None
        if self.options.copy:
            return int.from_bytes(number, "big"), reply
        return int.from_bytes(number.bytes, "big"), reply.bytes


Wire = _zmtp_wire.Wire
