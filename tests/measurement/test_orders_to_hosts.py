"""Orders to a host go there in order; those that are given while it answers go in one call."""

import asyncio
import pickle
import threading

import pytest

from bench.errors import SystemFailedError
from bench.measurement.hosts.agent import Agent
from bench.measurement.hosts.remote import RemoteHost


class Actor:
    """An agent behind calls that are answered once they may be; it has no children."""

    def __init__(self):
        self.calls, self.may_answer, self.agent = [], threading.Event(), Agent()
        self.error = None

    async def call(self, words):
        orders = pickle.loads(words)
        self.calls.append([name for name, _ in orders])
        await asyncio.to_thread(self.may_answer.wait, 10)
        if self.error:
            raise self.error
        return pickle.dumps(self.agent.call(orders))

    async def reports(self, seconds):
        await asyncio.sleep(0.05)
        return pickle.dumps([])


@pytest.fixture
def far():
    """A host and its actor."""
    loop, actor = asyncio.new_event_loop(), Actor()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    host = RemoteHost("alpha", "10.0.0.1", actor, lambda work: asyncio.run_coroutine_threadsafe(work, loop))
    yield host, actor
    actor.may_answer.set()
    host.close()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_what_is_asked_while_the_host_answers_goes_there_in_one_call_and_each_has_its_own_answer(far):
    host, actor = far
    answers = [host.ask("child", 1, "log_tail")]
    while not actor.calls:
        pass
    answers += [host.ask("now"), host.ask("samples", 7), host.ask("child", 1, "cpu_s")]
    actor.may_answer.set()
    assert host.wait(answers[0]) == "" and host.wait(answers[1]) > 0 and host.wait(answers[3]) == 0
    with pytest.raises(SystemFailedError, match=r"host alpha: .*samples"):
        host.wait(answers[2])
    assert actor.calls == [["child"], ["now", "samples", "child"]]
    assert host.call("child", 1, "log_tail") == "" and actor.calls[2:] == [["child"]]


def test_all_orders_end_in_one_sentence_when_the_host_leaves(far):
    host, actor = far
    actor.error = OSError("connection reset")
    answers = [host.ask("now") for _ in range(5)]
    actor.may_answer.set()
    for answer in [*answers, host.ask("now")]:
        with pytest.raises(SystemFailedError, match="host alpha"):
            host.wait(answer)
    assert len(actor.calls) <= 2
