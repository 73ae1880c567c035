"""Pages of the kernel's ring buffer, made by hand."""

import struct
from typing import Any

from bench.measurement.ring_buffer import Decoder

FORMATS = {
    "sched/sched_switch": {"event": [7, 0], "prev_pid": [8, 4], "prev_state": [16, 8], "next_pid": [24, 4]},
    "raw_syscalls/sys_exit": {"event": [9, 0], "id": [8, 8], "ret": [16, 8]},
}
PAGE = 256


def page(t_ns: int, *parts: bytes) -> bytes:
    """Return a page that begins at an instant."""
    data = b"".join(parts)
    return (struct.pack("<QQ", t_ns, len(data)) + data).ljust(PAGE, b"\0")


def entry(delta: int, data: bytes) -> bytes:
    """Return one event, whose length is in its head."""
    return struct.pack("<I", len(data) // 4 | delta << 5) + data


def long_entry(delta: int, data: bytes) -> bytes:
    """Return one event, whose length follows its head."""
    return struct.pack("<II", delta << 5, len(data) + 4) + data


def returned(tid: int, number: int, result: int, flags: int = 0) -> bytes:
    """Return the data of a system call's return."""
    return struct.pack("<HBxiqq", 9, flags, tid, number, result)


def decoded(*cpus: bytes) -> list[Any]:
    """Return the events of some CPUs."""
    return Decoder(FORMATS).events(cpus, PAGE)


def switch(before: int, state: int, after: int) -> bytes:
    """Return the data of a switch with its fields where the formats have them."""
    data = bytearray(28)
    struct.pack_into("<HBxi", data, 0, 7, 0, before)
    struct.pack_into("<i", data, 8, before)
    struct.pack_into("<q", data, 16, state)
    struct.pack_into("<i", data, 24, after)
    return bytes(data)


def test_events_have_the_time_of_their_page_plus_what_passed() -> None:
    (first, second) = decoded(page(1_000, entry(5, switch(11, 1, 0)), entry(20, returned(11, 45, -4))))
    assert (first.t_ns, first.kind, first.values) == (1_005, "sched/sched_switch", (11, 1, 0))
    assert (second.t_ns, second.tid, second.values) == (1_025, 11, (45, -4))


def test_a_long_pause_and_an_absolute_time_are_added() -> None:
    extend = struct.pack("<II", 30 | 3 << 5, 2)  # 2 * 2**27 + 3 ns
    stamp = struct.pack("<II", 31 | 9 << 5, 50)  # 50 * 2**27 + 9 ns
    events = decoded(page(1_000, extend, entry(4, returned(1, 2, 3)), stamp, entry(1, returned(1, 2, 3))))
    assert [event.t_ns for event in events] == [1_000 + (2 << 27) + 3 + 4, (50 << 27) + 9 + 1]


def test_padding_and_unknown_events_are_left_out_and_long_ones_read() -> None:
    discarded = struct.pack("<II", 29 | 7 << 5, 12) + b"12345678"
    unknown = entry(1, struct.pack("<HBxi", 99, 0, 5))
    events = decoded(page(0, discarded, unknown, long_entry(2, returned(4, 5, 6)), struct.pack("<I", 29)))
    assert [(event.t_ns, event.tid) for event in events] == [(10, 4)]


def test_the_events_of_all_cpus_are_in_the_order_of_time() -> None:
    one = page(100, entry(50, returned(1, 0, 0))) + page(300, entry(0, returned(1, 0, 0)))
    other = page(90, entry(100, returned(2, 0, 0)))
    assert [(event.t_ns, event.cpu) for event in decoded(one, other)] == [(150, 0), (190, 1), (300, 0)]


def test_a_full_buffer_tells_until_when_it_has_every_event() -> None:
    decoder, pages = Decoder(FORMATS), page(100, entry(50, returned(1, 0, 0))) + page(300, entry(9, returned(1, 0, 0)))
    assert [event.t_ns for event in decoder.events([pages], PAGE, until_ns=200)] == [150]
    assert decoder.reaches(pages, PAGE, 300)
    assert not decoder.reaches(pages, PAGE, 301)
    assert not decoder.reaches(b"", PAGE, 1)
