"""Both sides of brokers with asyncio libraries: the server, clients, and the ends of one-way streams.

A system's file says how its library connects, publishes and subscribes, in a subclass of ``Connection``.

These brokers never hold a sender up, so the receiver of a one-way stream reports how many messages it has read. Without
reports the broker would keep in its memory, or drop, what a slow receiver does not take. With them the sender is never
further ahead than ``AHEAD_MESSAGES`` or ``AHEAD_BYTES``; both ends compute from the first message's size after which
messages a report is due.
"""

import asyncio
import functools
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, ClassVar, NoReturn

from bench.contract import Binding, Service
from bench.errors import TransportError
from bench.plan.replies import END
from bench.systems import _broker, _client

AHEAD_MESSAGES, AHEAD_BYTES = 10_000, 4_000_000
REPORTS = ".read"  # behind the name of a one-way stream: where its receiver reports

Take = Callable[[bytes, str, str], Awaitable[object]]  # is given a message, its number, and where replies to it go
Lost = Callable[[TransportError], object]  # is given why
Refused = Callable[[TransportError, str], object]  # is given why, and the number of the request


class Connection(_broker.Connected, _client.AsyncClient):
    """One connection to a broker.

    HAS_TASKS: whether the library handles each message in a task of its own. replies: the name under which this
    connection takes replies. login: user and password, or Nones.
    """

    HAS_TASKS: ClassVar[bool] = False
    replies: str

    def __init__(self, address: str, options: Any) -> None:
        super().__init__(address, options)
        self.login = _broker.login(self.server) or (None, None)

    async def attach(self, lost: Lost, refused: Refused = lambda *_: None) -> None:
        """Connect to the broker; the library's exceptions are those of ``open``.

        ``lost`` is called when the connection has ended, ``refused`` when nobody takes a message that was published.
        """
        raise NotImplementedError

    def publish(self, name: str, payload: bytes, number: str = "", reply_to: str = "") -> Awaitable[object]:
        """Return what awaits that a message is published."""
        raise NotImplementedError

    async def subscribe(self, name: str, take: Take) -> None:
        """Have ``take`` awaited for each message that is published to a name."""
        raise NotImplementedError

    async def acknowledge(self, message: Any) -> None:
        """Acknowledge a message of the library that has been handled."""
        await message.ack()

    def failed(self, reason: BaseException) -> TransportError:
        return _broker.no_reply(self.name) if isinstance(reason, TimeoutError) else super().failed(reason)


_under_way: set[asyncio.Task[Any]] = set()  # or nobody would hold a reference to them


async def begin(take: Take, message: bytes, number: str, reply_to: str) -> None:
    """Handle a message in a task of its own."""
    task = asyncio.ensure_future(take(message, number, reply_to))
    _under_way.add(task)
    task.add_done_callback(_under_way.discard)


async def serve(kind: type[Connection], binding: Binding, options: Any, service: Service) -> NoReturn:
    """Take requests from the broker and answer them, until the process ends."""
    address = _broker.announced(binding, options.tls)
    connection, gone = kind(address, options), asyncio.Event()
    answer, publish = service.answer, connection.publish

    async def respond(request: bytes, number: str, reply_to: str) -> None:
        await publish(reply_to, answer(request), number)

    async def stream(request: bytes, number: str, reply_to: str) -> None:
        async for reply in service.replies_async(request):
            await publish(reply_to, reply)
        await publish(reply_to, END)

    take: Take = respond
    if service.is_streaming:
        take = stream if connection.HAS_TASKS else functools.partial(begin, stream)
    try:
        await connection.attach(lambda _: gone.set())
        await connection.subscribe(connection.name, take)
    except connection.ERRORS as reason:
        raise connection.unreachable(reason) from reason
    service.announce(address)
    await gone.wait()
    raise _broker.lost()


class Client(Connection):
    """One connection on which several calls may be awaited at once: each has a number, which its reply has too."""

    async def connect(self) -> None:
        self._waiting: dict[str, asyncio.Future[bytes]] = {}
        self._number = 0
        await self.attach(self._give_up, self._give_up)
        await self.subscribe(self.replies, self._take)

    async def _take(self, reply: bytes, number: str, _: str) -> None:
        waiting = self._waiting.get(number)
        if waiting is not None and not waiting.done():
            waiting.set_result(reply)

    def _give_up(self, error: TransportError, number: str = "") -> None:
        """End the call of this number, or all that are under way."""
        for key, waiting in self._waiting.items():
            if number in ("", key) and not waiting.done():
                waiting.set_exception(error)

    async def call(self, payload: bytes) -> bytes:
        self._number += 1
        number = str(self._number)
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            await self.publish(self.name, payload, number, self.replies)
            async with asyncio.timeout(_broker.WAIT_S):
                return await waiting
        finally:
            del self._waiting[number]


class _Inbox(Connection):
    """A connection whose messages wait in a queue."""

    async def _take_from(self, name: str) -> None:
        """Connect, and take messages from a name."""
        inbox = self._inbox = asyncio.Queue[bytes | TransportError]()

        async def take(message: bytes, number: str, reply_to: str) -> None:
            inbox.put_nowait(message)

        await self.attach(inbox.put_nowait, self._refused)
        await self.subscribe(name, take)

    def _refused(self, error: TransportError, number: str) -> None:
        """Ignore that nobody takes a report: the sender has gone."""

    async def _next(self) -> bytes:
        """Return the next message, waiting for it; TransportError where the connection is lost."""
        message = await self._inbox.get()
        if isinstance(message, TransportError):
            raise message
        return message


class StreamClient(_Inbox):
    """A connection for the replies of one stream at a time; an empty message follows the last."""

    async def connect(self) -> None:
        await self._take_from(self.replies)

    def _refused(self, error: TransportError, number: str) -> None:
        self._inbox.put_nowait(error)

    async def stream(self, payload: bytes) -> AsyncIterator[bytes]:
        await self.publish(self.name, payload, reply_to=self.replies)
        while reply := await self._next():
            yield reply


class Sender(Connection):
    """The sending end of a one-way stream: a publisher, which waits for its receiver's reports."""

    async def connect(self) -> None:
        ahead = self._ahead = Ahead()

        async def take(report: bytes, number: str, reply_to: str) -> None:
            ahead.reported(report)

        await self.attach(ahead.failed, lambda error, _: ahead.failed(error))
        await self.subscribe(self.name + REPORTS, take)

    async def send(self, payload: bytes) -> None:
        """Publish a message, and wait where the receiver is far behind."""
        await self.publish(self.name, payload)
        await self._ahead.sent(payload)


class Receiver(_Inbox):
    """The receiving end of a one-way stream, which reports what it has read."""

    def __init__(self, binding: Binding, options: Any) -> None:
        self.address = _broker.announced(binding, options.tls)
        super().__init__(self.address, options)
        self._unread: deque[Any] = deque()

    async def connect(self) -> None:
        self._behind = Behind(lambda count: self.publish(self.name + REPORTS, count))
        await self._take_from(self.name)

    async def acknowledge(self, message: Any) -> None:
        """Keep a message, of which the library wants it, to acknowledge it when it is read."""
        self._unread.append(message)

    async def receive(self) -> bytes:
        message = await self._next()
        await self._behind.took(message)
        if self._unread:
            await self._unread.popleft().ack()
        return message

    def failed(self, reason: BaseException) -> TransportError:
        return _broker.lost()


def ends(kind: type[Connection]) -> tuple[Any, Any, Any]:
    """Return the classes ``StreamClient``, ``Sender`` and ``Receiver`` for connections of a kind."""
    stream_client, sender, receiver = (
        type(base.__name__, (base, kind), {"__doc__": base.__doc__}) for base in (StreamClient, Sender, Receiver)
    )
    return stream_client, sender, receiver


def most_ahead(size: int) -> int:
    """Return how many messages of a size (bytes) the sender may be ahead."""
    return max(2, min(AHEAD_MESSAGES, AHEAD_BYTES // max(1, size)))


class _Count:
    """How many messages have passed one end, and after which of them a report is due."""

    def __init__(self) -> None:
        self.messages = 0
        self._half = 1

    def is_due(self, payload: bytes) -> bool:
        """Count a message; return whether a report is due: after the first, each half of what may wait, the last."""
        self.messages += 1
        if self.messages == 1:
            self._half = most_ahead(len(payload)) // 2
        return self.messages % self._half == 0 or self.messages == 1 or payload == END

    def least(self, payload: bytes) -> int:
        """Return how many messages the receiver must have read, before the sender goes on after this one."""
        return self.messages - (0 if self.messages == 1 or payload == END else self._half)


class Ahead:
    """What a sender knows of its receiver."""

    def __init__(self) -> None:
        self._sent, self._read = _Count(), 0
        self._news = asyncio.Event()
        self._error: TransportError | None = None

    def reported(self, report: bytes) -> None:
        """Take a report."""
        self._read = int(report)
        self._news.set()

    def failed(self, error: TransportError) -> None:
        """End the wait for reports."""
        self._error = error
        self._news.set()

    async def sent(self, payload: bytes) -> None:
        """Count a message, and wait where the receiver is far behind; TransportError if it stays there."""
        if not self._sent.is_due(payload):
            return
        least = self._sent.least(payload)
        try:
            async with asyncio.timeout(_broker.WAIT_S):
                while self._read < least and not self._error:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise TransportError(
                f"the receiver has read {self._read:,} of {self._sent.messages:,} messages, and no more within "
                f"{_broker.WAIT_S:g} s: the broker has lost the others, or the receiver has stopped",
                "read",
            ) from None
        if self._error:
            raise self._error


class Behind:
    """What a receiver has read, and reports."""

    def __init__(self, report: Callable[[bytes], Awaitable[object]]) -> None:
        self._read, self._report = _Count(), report

    async def took(self, payload: bytes) -> None:
        """Count a message, and report where a report is due."""
        if self._read.is_due(payload):
            await self._report(b"%d" % self._read.messages)
