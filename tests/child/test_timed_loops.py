"""The timed loops: every answer verified, nothing lost, limits kept."""

import asyncio
import queue
import time

import pytest

from bench.child import timed_loops
from bench.errors import SystemFailedError

FOREVER = 2**62


def run_closed(call, is_async=False, until=FOREVER):
    async def awaited(payload):
        return call(payload)

    sent, received, payloads = timed_loops.zeros(50), timed_loops.zeros(50), timed_loops.make_payloads(100, seed=1)
    if is_async:
        return asyncio.run(timed_loops.closed_async(awaited, payloads, sent, received, until)), sent, received
    return timed_loops.closed(call, payloads, sent, received, until), sent, received


both_loops = pytest.mark.parametrize("is_async", [False, True])


@both_loops
def test_closed_fills_its_buffers_in_order(is_async):
    done, sent, received = run_closed(lambda payload: payload, is_async)
    assert done == 50
    times = [t for pair in zip(sent, received, strict=True) for t in pair]
    assert times == sorted(times) and times[0] > 0


def test_closed_stops_when_time_is_up_after_the_call_under_way():
    done, sent, received = run_closed(lambda payload: payload, until=time.perf_counter_ns())
    assert done == 1 and sent[0] > 0 and received[1] == 0


class HalfACpu:
    """A clock that moves by 1 us with each reading, of a thread that has the CPU for half of that time."""

    def __init__(self):
        self.now_ns = self.slept_ns = 0

    def perf_counter_ns(self):
        self.now_ns += 1_000
        return self.now_ns

    def thread_time_ns(self):
        return (self.now_ns - self.slept_ns) // 2

    def sleep(self, seconds):
        self.slept_ns += round(seconds * 1e9)
        self.now_ns += round(seconds * 1e9)


def test_the_cpu_time_of_spinning_is_counted_and_late_requests_do_not_spin(monkeypatch):
    clock = HalfACpu()
    monkeypatch.setattr(timed_loops, "time", clock)
    before = timed_loops.spun_ns()
    timed_loops.wait_until(clock.now_ns - 1)
    assert timed_loops.spun_ns() == before
    timed_loops.wait_until(clock.now_ns + 10_000_000)
    sleeping_ends_before_ns, counted_by_the_wall_clock_ns = 150_000, 5_000
    spun_ns = (sleeping_ends_before_ns - counted_by_the_wall_clock_ns) / 2 + counted_by_the_wall_clock_ns
    assert timed_loops.spun_ns() - before == pytest.approx(spun_ns, abs=2_000)


def test_the_reply_to_an_earlier_request_is_noticed():
    late = [b""]

    def call(payload):
        late.append(payload)
        return late[-2] if len(late) > 10 else payload

    with pytest.raises(SystemFailedError, match=r"request 9 .*100 bytes"):
        run_closed(call)


@both_loops
@pytest.mark.parametrize(
    ("answer", "text"),
    [(lambda p: p[:-1], "99 bytes .*100"), (lambda p: p[:50] + bytes(50), "request 0 .*100 bytes .*50")],
)
def test_a_wrong_answer_ends_the_loop(answer, text, is_async):
    with pytest.raises(SystemFailedError, match=text):
        run_closed(answer, is_async)


def test_payloads_have_their_size_differ_and_repeat_with_the_seed():
    payloads = timed_loops.make_payloads(10, seed=5)
    assert {len(payload) for payload in payloads} == {10}
    assert len(set(payloads)) == len(payloads) == 16
    assert [len(timed_loops.make_payloads(size, 1)) for size in (1, 4_000_000, 9_000_000)] == [16, 4, 2]
    assert payloads == timed_loops.make_payloads(10, seed=5) != timed_loops.make_payloads(10, seed=6)


def plain(messages, payload):
    line = queue.SimpleQueue()
    for message in messages:
        line.put(message)
    return timed_loops.receive_stream(line.get, payload)


def awaited(messages, payload):
    line = iter(messages)

    async def receive():
        return next(line)

    return asyncio.run(timed_loops.receive_stream_async(receive, payload))


@pytest.fixture(params=[plain, awaited])
def stream(request):
    return request.param


@pytest.mark.parametrize("count", [1, 2, 256, 257, 258, 1000])
def test_every_message_of_a_stream_is_counted(stream, count):
    marks = stream([b"abc"] * count + [timed_loops.END], b"abc")
    assert marks.messages[0] == 1 and marks.messages[1:-1].tolist() == list(range(257, count, 256))
    assert marks.messages[-1] == count
    assert list(marks.times) == sorted(marks.times)


@pytest.mark.parametrize("place", [0, 1, 255, 256, 700])
def test_a_changed_message_of_a_stream_is_found(stream, place):
    messages = [b"abc"] * 800 + [timed_loops.END]
    messages[place] = b"abd"
    with pytest.raises(SystemFailedError, match=f"request {place} .*3 bytes .*2"):
        stream(messages, b"abc")


def send_plain(line, until_ns):
    return timed_loops.send_stream(line.append, b"abc", until_ns)


def send_awaited(line, until_ns):
    async def send(message):
        line.append(message)

    return asyncio.run(timed_loops.send_stream_async(send, b"abc", until_ns))


@pytest.mark.parametrize("send", [send_plain, send_awaited])
def test_a_sender_ends_its_stream_and_marks_what_it_sent(send):
    line = []
    marks = send(line, time.perf_counter_ns() + 1_000_000)
    assert line[-1] == timed_loops.END
    assert marks.messages[-1] == len(line) - 1
    assert marks.messages[0] == 0 and set(line[:-1]) == {b"abc"}
    marks = send(late := [], time.perf_counter_ns() - 1)  # its window is over
    assert list(marks.messages) == [0, timed_loops.batch_for(3)] and len(late) == timed_loops.batch_for(3) + 1
