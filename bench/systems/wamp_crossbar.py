"""WAMP: routed calls, autobahn (asyncio) on both sides of a Crossbar.io router."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from autobahn.asyncio.rawsocket import WampRawSocketClientFactory
from autobahn.asyncio.wamp import ApplicationSession
from autobahn.asyncio.websocket import WampWebSocketClientFactory
from autobahn.exception import PayloadExceededError
from autobahn.wamp.exception import ApplicationError, Error, SerializationError, TransportLost
from autobahn.wamp.serializer import SERID_TO_SER
from autobahn.wamp.types import CallOptions, ComponentConfig, RegisterOptions

from bench import codecs
from bench.contract import Binding, RouterService, Service, parse_address
from bench.errors import TransportError
from bench.plan.replies import END
from bench.process import event_loops
from bench.systems import _client, _crossbar, _tls, _wamp_wire
from bench.systems._wamp_wire import PROCEDURE

TRANSPORTS = ("ipc", "tcp")
START_S = 0.4
REQUIRES = ("autobahn", "cbor2", "msgpack")
GROUP = "broker"
ENVIRONMENT = "crossbar"
ENCRYPTED = ("tcp",)  # the router's endpoints at socket files do not encrypt
FOR_WIRE = {"framing": "rawsocket", "serializer": "msgpack", "tls": False}
FRAMINGS = ("rawsocket", "websocket")


@dataclass(frozen=True)
class Options:
    """Protocol between both sides and the router.

    Both sides set TCP_NODELAY. The router does not on its ends of tcp connections, as the kernel shows, and Crossbar.io
    26.10 has no setting that does: its ``tcp_nodelay`` is for websocket, on by default, and without effect. A message
    that the router sends while an earlier one is not acknowledged waits for that (Nagle's algorithm).

    framing: rawsocket puts a length before each message; websocket a frame, after a handshake by HTTP.
    serializer: json, msgpack or cbor. The payload travels as one argument; json carries opaque bytes as base64 text.
    event_loop: asyncio or uvloop, in client and server.
    tls: TLS 1.3 between the router and either side, over tcp (wss:// where the framing is websocket); both sides verify
        the router's certificate.
    """

    framing: Literal["rawsocket", "websocket"] = "rawsocket"
    serializer: Literal["msgpack", "cbor", "json"] = "msgpack"
    event_loop: event_loops.EventLoop = "asyncio"
    tls: bool = False


def coder(options: Options, kind: str) -> codecs.Coder:
    """Return how autobahn's serializer encodes and decodes a value, without the WAMP message around it."""
    serializer = SERID_TO_SER[options.serializer]()._serializer
    return codecs.values(serializer.serialize, lambda data: serializer.unserialize(data)[0], kind)


def route(binding: Binding, options: Options, service: RouterService) -> None:
    """Run a Crossbar.io node, its controller and one router worker, until it ends."""
    addresses = dict(_endpoints(binding, options))
    _crossbar.run(
        binding.directory,
        binding.environment,
        _configuration(addresses, binding.credentials),
        service.adopt,
        lambda controller: service.announce(addresses, {"controller": controller}),
    )


def _endpoints(binding: Binding, options: Options) -> Iterator[tuple[str, str]]:
    """Yield "TRANSPORT FRAMING" and its address: the one that the user names, or all; " tls" ends those with TLS."""
    if binding.is_named:
        yield _endpoint_name(binding.transport, options), binding.endpoint()
        return
    for framing in FRAMINGS:
        yield f"ipc {framing}", f"ipc://{binding.directory}/{framing}.sock"
        yield f"tcp {framing}", _crossbar.reserved(binding.host)
        if binding.credentials:
            yield f"tcp {framing} tls", _crossbar.reserved(binding.host)


def _endpoint_name(transport: str, options: Options) -> str:
    """Return the name of the endpoint that these options need."""
    return f"{transport} {options.framing}{' tls' if options.tls else ''}"


def _configuration(addresses: dict[str, str], credentials: str) -> dict[str, Any]:
    """Return the node's configuration: one worker, one realm in which every client may register and call."""
    anyone = {"name": "anonymous", "permissions": [{"uri": "", "match": "prefix", "allow": _ALLOWED}]}
    worker = {
        "type": "router",
        "realms": [{"name": _wamp_wire.REALM, "roles": [anyone]}],
        "transports": [
            {
                "type": name.split()[1],
                "endpoint": _crossbar.endpoint(address, credentials if name.endswith(" tls") else ""),
            }
            for name, address in addresses.items()
        ],
    }
    return {"version": 2, "workers": [worker]}


_ALLOWED = {"call": True, "register": True, "publish": False, "subscribe": False}


class _Session(ApplicationSession):
    """A WAMP session that can be waited for: ``joined``, and ``gone``."""

    def __init__(self) -> None:
        super().__init__(ComponentConfig(_wamp_wire.REALM))
        loop = asyncio.get_running_loop()
        self.joined: asyncio.Future[None] = loop.create_future()
        self.gone: asyncio.Future[None] = loop.create_future()

    def onJoin(self, details: object) -> None:  # noqa: N802 - the library's name
        self.joined.set_result(None)

    def onLeave(self, details: Any) -> None:  # noqa: N802
        if not self.joined.done():
            self.joined.set_exception(TransportError(f"the router refused: {details.reason}: {details.message}"))
        super().onLeave(details)

    def onDisconnect(self) -> None:  # noqa: N802
        if not self.joined.done():
            closed = f"the router closed the connection instead of greeting{_tls.IF}"
            self.joined.set_exception(TransportError(closed))
        if not self.gone.done():
            self.gone.set_result(None)


async def _join(address: str, options: Options) -> _Session:
    """Connect to a router and return the session once it has joined the realm; OSError where that is not possible."""
    session, router, loop = _Session(), parse_address(address), asyncio.get_running_loop()
    serializer = SERID_TO_SER[options.serializer]()
    if options.framing == "rawsocket":
        factory: Any = WampRawSocketClientFactory(lambda: session, serializer=serializer)
    else:
        url = f"ws{'s' * options.tls}://localhost/"
        factory = WampWebSocketClientFactory(lambda: session, url=url, serializers=[serializer])
    secure: dict[str, Any] = {}
    if options.tls:
        secure = {"ssl": _tls.client_context(), "ssl_handshake_timeout": _tls.HANDSHAKE_S}
    if router.transport == "ipc":
        await loop.create_unix_connection(factory, router.path)
    else:
        await loop.create_connection(factory, router.host, router.port, **secure)
    await asyncio.wait_for(session.joined, JOIN_S)
    return session


JOIN_S = 3.0  # before the deadline of a start whose target is named, so that the reason is said


async def serve(binding: Binding, options: Options, service: Service) -> None:
    """Register the procedure at the router and answer its calls, until the process ends."""
    router = binding.router[_endpoint_name(binding.transport, options)]
    client = Client(router, options)
    await client.open()
    session = client.connection
    procedure = PROCEDURE if binding.is_named else f"{PROCEDURE}.{os.getpid()}"  # the router outlives its callees
    try:
        many = service.is_streaming
        answer = _streaming(session, service) if many else service.answer
        await session.register(answer, procedure, options=RegisterOptions(details=True) if many else None)
    except Error as reason:
        raise TransportError(f"the router refuses the procedure {procedure}: {reason}") from reason
    service.announce(router if binding.is_named else f"{router}#{procedure}")
    await session.gone
    raise TransportError("the connection to the router was lost")


def _streaming(session: _Session, service: Service) -> Callable[..., Any]:
    """Return a procedure that sends its replies as progressive results.

    WAMP has no flow control: a reply waits until the callee's own connection has taken those before, and what a caller
    does not read is kept by the router.
    """

    async def stream(payload: bytes, details: Any) -> None:
        connection = session._transport.transport
        async for reply in service.replies_async(payload):
            while connection.get_write_buffer_size() > MOST_UNSENT:
                await asyncio.sleep(FULL_S)
            details.progress(reply)

    return stream


MOST_UNSENT = 65_536  # bytes of replies that wait for the router to read
FULL_S = 0.002  # between two looks whether it has


class Client(_client.AsyncClient):
    """One WAMP session that calls the procedure; an address may name another procedure after "#"."""

    ERRORS = (TransportLost, ApplicationError, SerializationError, PayloadExceededError, ValueError, OSError)
    ENDED = (TimeoutError,)
    KIND = "call"
    PEER = "the router at "

    def __init__(self, address: str, options: Options) -> None:
        super().__init__(address, options)
        self._router, _, procedure = address.partition("#")
        self._procedure = procedure or PROCEDURE

    async def connect(self) -> None:
        self.connection = await _join(self._router, self.options)

    async def call(self, payload: bytes) -> bytes:
        return await self.connection.call(self._procedure, payload)

    def failed(self, reason: BaseException) -> TransportError:
        text = str(reason)
        if isinstance(reason, TransportLost):
            text = "the connection to the router was lost"
        elif isinstance(reason, ApplicationError):
            text = " ".join([reason.error, *map(str, reason.args)])
        return TransportError(f"the call of {self._procedure} failed: {text}")

    async def close(self) -> None:
        """Leave the realm and disconnect."""
        if self.connection.is_attached():
            self.connection.leave()
            await self.connection.gone


class StreamClient(Client):
    """A client whose session all streams of the process share; the replies are progressive results."""

    _shared: ClassVar[dict[str, asyncio.Task[_Session]]] = {}

    async def connect(self) -> None:
        """Join, unless another client of this process has done so and its session lives."""
        joining = self._shared.get(self._router)
        if joining is None or (joining.done() and not _is_alive(joining)):
            joining = self._shared[self._router] = asyncio.create_task(_join(self._router, self.options))
        self.connection = await joining

    async def stream(self, payload: bytes) -> AsyncIterator[bytes]:
        """Call the procedure and yield its progressive results."""
        inbox: asyncio.Queue[bytes] = asyncio.Queue()
        options = CallOptions(on_progress=inbox.put_nowait)
        result = self.connection.call(self._procedure, payload, options=options)
        result.add_done_callback(lambda _: inbox.put_nowait(END))
        while reply := await inbox.get():
            yield reply
        await result


def _is_alive(joining: asyncio.Task[_Session]) -> bool:
    return not joining.cancelled() and joining.exception() is None and bool(joining.result().is_attached())


Multiplexed = Client  # several calls are awaited at once
Wire = _wamp_wire.Wire
