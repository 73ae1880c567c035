"""Events from pages of the kernel's ring buffer, as ``trace_pipe_raw`` hands them over.

Source of the format: ``events/header_page`` and ``events/header_event`` of tracefs, include/linux/ring_buffer.h.
"""

import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

HEADER = 16  # bytes of a page before its data: its time (u64), and how many bytes of data follow (the low 20 bits)
PADDING, TIME_EXTEND, TIME_STAMP = 29, 30, 31  # lengths that are no lengths
HARD_INTERRUPT, SOFT_INTERRUPT = 0x08, 0x10  # of an event's flags

Formats = Mapping[str, Mapping[str, Sequence[int]]]


class RawEvent(NamedTuple):
    """An event: when in ns of CLOCK_MONOTONIC, on which CPU, its kind, who ran, and up to three of its fields."""

    t_ns: int
    cpu: int
    kind: str
    tid: int
    flags: int
    values: tuple[int, ...]


FIELDS = {
    "sched/sched_switch": ("prev_pid", "prev_state", "next_pid"),
    "sched/sched_waking": ("pid",),
    "sched/sched_wakeup": ("pid",),
    "raw_syscalls/sys_enter": ("id",),
    "raw_syscalls/sys_exit": ("id", "ret"),
}


class Decoder:
    """Decoder of pages; ``formats`` as ``bench.child.tracer`` reports them."""

    def __init__(self, formats: Formats) -> None:
        self._known = {
            fields["event"][0]: (kind, [self._reader(*fields[name]) for name in FIELDS[kind]])
            for kind, fields in formats.items()
        }

    @staticmethod
    def _reader(offset: int, size: int) -> tuple[struct.Struct, int]:
        return struct.Struct("<i" if size == 4 else "<q"), offset

    def events(self, cpus: Sequence[bytes], page_bytes: int, until_ns: float = math.inf) -> list[RawEvent]:
        """Return the events of all CPUs until an instant, in the order of their times."""
        of_cpus = (self._of_cpu(cpu, pages, page_bytes) for cpu, pages in enumerate(cpus))
        events = [event for stream in of_cpus for event in takewhile(lambda event: event.t_ns <= until_ns, stream)]
        return sorted(events, key=lambda event: event.t_ns)

    def reaches(self, pages: bytes, page_bytes: int, at_ns: int) -> bool:
        """Return whether the events of a CPU go on until an instant: its last page begins behind it."""
        begin = max(0, len(pages) // page_bytes - 1) * page_bytes
        return len(pages) >= HEADER and struct.unpack_from("<Q", pages, begin)[0] >= at_ns

    def _of_cpu(self, cpu: int, pages: bytes, page_bytes: int) -> Iterator[RawEvent]:
        for begin in range(0, len(pages) - HEADER + 1, page_bytes):
            yield from self._of_page(cpu, pages, begin)

    def _of_page(self, cpu: int, pages: bytes, begin: int) -> Iterator[RawEvent]:
        """Yield the known events of the page that begins there.

        Each entry begins with a word: 5 bits of its kind, which up to 28 is its length in words, and 27 bits of the
        time since the entry before.
        """
        t_ns, committed = struct.unpack_from("<QQ", pages, begin)
        at, end = begin + HEADER, begin + HEADER + (committed & 0xFFFFF)
        while at < end:
            (head,) = struct.unpack_from("<I", pages, at)
            kind, delta = head & 31, head >> 5
            at += 4
            if kind in (TIME_EXTEND, TIME_STAMP):
                (more,) = struct.unpack_from("<I", pages, at)
                at += 4
                delta += more << 27
                t_ns = t_ns + delta if kind == TIME_EXTEND else delta | (t_ns & (31 << 59))
                continue
            if kind == PADDING and not delta:
                return
            t_ns += delta
            if kind in (0, PADDING):
                (length,) = struct.unpack_from("<I", pages, at)
                data, at = at + 4, at + length
            else:
                data, at = at, at + 4 * kind
            if kind != PADDING and (event := self._event(t_ns, cpu, pages, data)):
                yield event

    def _event(self, t_ns: int, cpu: int, pages: bytes, data: int) -> RawEvent | None:
        number, flags, tid = struct.unpack_from("<HBxi", pages, data)
        if number not in self._known:
            return None
        kind, readers = self._known[number]
        values = tuple(reader.unpack_from(pages, data + offset)[0] for reader, offset in readers)
        return RawEvent(t_ns, cpu, kind, tid, flags, values)
