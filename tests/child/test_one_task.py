"""An asynchronous client is opened and closed in one task, whatever makes its calls: anyio refuses anything else."""

import asyncio
import time
from types import SimpleNamespace

import pytest
from specs import client_spec, library_load, reported

from bench.errors import TransportError
from bench.plan import replies


class Client:
    """Answers by itself; some calls fail, after which the connection is opened anew."""

    def __init__(self, address, options):
        self._task, self._calls = None, 0

    async def open(self):
        self._task = asyncio.current_task()

    async def call(self, payload):
        self._calls += 1
        await asyncio.sleep(0)
        if self._calls == 5:
            raise TransportError("the peer has gone", "read")
        return payload

    async def stream(self, payload):
        ask = replies.asked(payload)
        self._calls += 1
        for number in range(ask.replies):
            if self._calls == 3:
                raise TransportError("the peer has gone", "read")
            now = time.perf_counter_ns()
            yield replies.reply(number, now, now, replies.rest(ask.reply_bytes))
        await asyncio.sleep(0)

    async def close(self):
        assert asyncio.current_task() is self._task
        type(self).closed += 1


LOADS = {
    "one caller": {},
    "callers": {"callers": 3},
    "a schedule": {"load": "open", "offered_per_s": 400.0},
    "calls under way": {"outstanding": 3, "callers": 2},
    "a schedule with calls under way": {"load": "open", "offered_per_s": 400.0, "outstanding": 3},
    "renewed": {"calls_per_connection": 3, "callers": 2},
    "connections": {"load": "reconnect", "sessions": ((3, 100),) * 3},
    "streams": {"load": "reply_stream", "replies": 4, "reply_bytes": 50, "callers": 2},
}


@pytest.mark.parametrize("load_fields", LOADS.values(), ids=LOADS)
def test_a_client_is_closed_in_the_task_that_opened_it(load_fields):
    kind = type("Counted", (Client,), {"closed": 0})
    system = SimpleNamespace(Client=kind, Multiplexed=kind, StreamClient=kind, __name__="counted")
    spec = client_spec(window_s=0.2, **load_fields)
    assert reported(library_load(system, SimpleNamespace(), "", spec), 200_000_000).calls > 0
    assert kind.closed >= spec.case.callers
