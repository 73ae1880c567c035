"""Wait for many connections at once: epoll on Linux, elsewhere the best of ``selectors``."""

import select
import selectors

# As in epoll: data arrived; there is room to write; the other side sends no more.
READ, WRITE, ENDED = 1, 4, 0x2000

Events = list[tuple[int, int]]


class Epoll:
    """epoll (Linux): ``poll(timeout_s, max_events)`` returns (descriptor, READ | ENDED | WRITE) of each ready one."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self.poll = self._epoll.poll

    def add(self, fd: int) -> None:
        """Watch a connection for incoming data."""
        self._epoll.register(fd, READ | ENDED)

    def also_write(self, fd: int, yes: bool) -> None:
        """Watch a connection for room to write as well, or stop doing so."""
        self._epoll.modify(fd, READ | ENDED | WRITE * yes)

    def remove(self, fd: int) -> None:
        """Stop watching a connection."""
        self._epoll.unregister(fd)

    def wait(self, seconds: float) -> None:
        """Return when something is ready or the time is over; epoll's own timeouts are whole milliseconds."""
        select.select([self._epoll], [], [], seconds)

    def close(self) -> None:
        """Release the file descriptor."""
        self._epoll.close()


class Selector:
    """The same interface for systems without epoll."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def poll(self, timeout_s: float | None, max_events: int) -> Events:
        """Return (file descriptor, READ | WRITE) of those that are ready; ``max_events`` limits nothing here."""
        ready = self._selector.select(timeout_s)
        return [
            (key.fd, events & selectors.EVENT_READ | WRITE * (events > selectors.EVENT_READ)) for key, events in ready
        ]

    def add(self, fd: int) -> None:
        """Watch a connection for incoming data."""
        self._selector.register(fd, selectors.EVENT_READ)

    def also_write(self, fd: int, yes: bool) -> None:
        """Watch a connection for room to write as well, or stop doing so."""
        self._selector.modify(fd, selectors.EVENT_READ | selectors.EVENT_WRITE * yes)

    def remove(self, fd: int) -> None:
        """Stop watching a connection."""
        self._selector.unregister(fd)

    def wait(self, seconds: float) -> None:
        """Return when something is ready or the time is over."""
        self._selector.select(seconds)

    def close(self) -> None:
        """Release the file descriptor."""
        self._selector.close()


Poller: type[Epoll] | type[Selector] = Epoll if hasattr(select, "epoll") else Selector
