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
from bench.process import event_loops
from bench.replies import END
from bench.systems import _broker

AHEAD_MESSAGES, AHEAD_BYTES = 10_000, 4_000_000
REPORTS = ".read"  # behind the name of a one-way stream: where its receiver reports

Take = Callable[[bytes, str, str], Awaitable[object]]  # is given a message, its number, and where replies to it go
Lost = Callable[[TransportError], object]  # is given why
Refused = Callable[[TransportError, str], object]  # is given why, and the number of the request


class Connection:
    """One connection to a broker.

    FAILURES: the library's exceptions. HAS_TASKS: whether the library handles each message in a task of its own.
    replies: the name under which this connection takes replies. name: the one that the server takes requests under.
    """

    FAILURES: ClassVar[tuple[type[Exception], ...]]
    HAS_TASKS: ClassVar[bool] = False
    replies: str

    def __init__(self, address: str, options: Any) -> None:
        self.where, self.name = _broker.split(address)
        self.options = options

    async def connect(self, lost: Lost, refused: Refused = lambda *_: None) -> None:
        """Connect; TransportError where that is not possible.

        ``lost`` is called when the connection has ended, ``refused`` when nobody takes a message that was published.
        """
        raise NotImplementedError

    def publish(self, name: str, payload: bytes, number: str = "", reply_to: str = "") -> Awaitable[object]:
        """Return what awaits that a message is published."""
        raise NotImplementedError

    async def subscribe(self, name: str, take: Take) -> None:
        """Have ``take`` awaited for each message that is published to a name."""
        raise NotImplementedError

    async def close(self) -> None:
        """Disconnect."""
        raise NotImplementedError

    def failed(self, reason: Exception) -> TransportError:
        """Return the error for a call that failed."""
        return TransportError(f"the call failed: {str(reason) or type(reason).__name__}", "read")

    async def listen(self, name: str, take: Take) -> None:
        """Subscribe; TransportError where that fails."""
        try:
            await self.subscribe(name, take)
        except self.FAILURES as reason:
            raise self.failed(reason) from reason


_under_way: set[asyncio.Task[Any]] = set()  # or nobody would hold a reference to them


async def begin(take: Take, message: bytes, number: str, reply_to: str) -> None:
    """Handle a message in a task of its own."""
    task = asyncio.ensure_future(take(message, number, reply_to))
    _under_way.add(task)
    task.add_done_callback(_under_way.discard)


def serve(kind: type[Connection], binding: Binding, options: Any, service: Service) -> None:
    """Take requests from the broker and answer them, until the process ends."""
    address = _broker.announced(binding, options.tls)
    event_loops.run(_serve(kind(address, options), address, service), options)


async def _serve(connection: Connection, address: str, service: Service) -> NoReturn:
    answer, publish, gone = service.answer, connection.publish, asyncio.Event()

    async def respond(request: bytes, number: str, reply_to: str) -> None:
        await publish(reply_to, answer(request), number)

    async def stream(request: bytes, number: str, reply_to: str) -> None:
        async for reply in service.replies_async(request):
            await publish(reply_to, reply)
        await publish(reply_to, END)

    take: Take = respond
    if service.is_streaming:
        take = stream if connection.HAS_TASKS else functools.partial(begin, stream)
    await connection.connect(lambda _: gone.set())
    await connection.listen(connection.name, take)
    service.announce(address)
    await gone.wait()
    raise _broker.lost()


class Client(Connection):
    """One connection on which several calls may be awaited at once: each has a number, which its reply has too."""

    async def open(self) -> None:
        """Connect, and take replies."""
        self._waiting: dict[str, asyncio.Future[bytes]] = {}
        self._number = 0
        await self.connect(self._give_up, self._give_up)
        await self.listen(self.replies, self._take)

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
        """Publish a request and wait for its reply."""
        self._number += 1
        number = str(self._number)
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            await self.publish(self.name, payload, number, self.replies)
            async with asyncio.timeout(_broker.WAIT_S):
                return await waiting
        except TimeoutError:
            raise _broker.no_reply(self.name) from None
        except self.FAILURES as reason:
            raise self.failed(reason) from reason
        finally:
            del self._waiting[number]


class _Inbox(Connection):
    """A connection whose messages wait in a queue."""

    async def _take_from(self, name: str) -> None:
        """Connect, and take messages from a name."""
        inbox = self._inbox = asyncio.Queue[bytes | TransportError]()

        async def take(message: bytes, number: str, reply_to: str) -> None:
            inbox.put_nowait(message)

        await self.connect(inbox.put_nowait, self._refused)
        await self.listen(name, take)

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

    async def open(self) -> None:
        """Connect, and take replies."""
        await self._take_from(self.replies)

    def _refused(self, error: TransportError, number: str) -> None:
        self._inbox.put_nowait(error)

    async def stream(self, payload: bytes) -> AsyncIterator[bytes]:
        """Publish a request and yield its replies."""
        try:
            await self.publish(self.name, payload, reply_to=self.replies)
        except self.FAILURES as reason:
            raise self.failed(reason) from reason
        while reply := await self._next():
            yield reply


class Sender(Connection):
    """The sending end of a one-way stream: a publisher, which waits for its receiver's reports."""

    async def open(self) -> None:
        """Connect, and take the reports."""
        ahead = self._ahead = Ahead()

        async def take(report: bytes, number: str, reply_to: str) -> None:
            ahead.reported(report)

        await self.connect(ahead.failed, lambda error, _: ahead.failed(error))
        await self.listen(self.name + REPORTS, take)

    async def send(self, payload: bytes) -> None:
        """Publish a message, and wait where the receiver is far behind."""
        try:
            await self.publish(self.name, payload)
        except self.FAILURES as reason:
            raise self.failed(reason) from reason
        await self._ahead.sent(payload)


class Receiver(_Inbox):
    """The receiving end of a one-way stream, which reports what it has read."""

    def __init__(self, binding: Binding, options: Any) -> None:
        self.address = _broker.announced(binding, options.tls)
        super().__init__(self.address, options)

    async def open(self) -> None:
        """Connect, and take messages."""
        self._behind = Behind(lambda count: self.publish(self.name + REPORTS, count))
        await self._take_from(self.name)

    async def receive(self) -> bytes:
        """Return the next message, waiting for it."""
        message = await self._next()
        try:
            await self._behind.took(message)
        except self.FAILURES as reason:
            raise _broker.lost() from reason
        return message


class AcknowledgingReceiver(Receiver):
    """A receiver that acknowledges each message of which the library wants it, when it is read."""

    def __init__(self, binding: Binding, options: Any) -> None:
        super().__init__(binding, options)
        self._unread: deque[Any] = deque()

    async def acknowledge(self, message: Any) -> None:
        """Keep a message that is to be acknowledged."""
        self._unread.append(message)

    async def receive(self) -> bytes:
        """Return the next message, waiting for it."""
        message = await super().receive()
        if self._unread:
            try:
                await self._unread.popleft().ack()
            except self.FAILURES as reason:
                raise _broker.lost() from reason
        return message


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
