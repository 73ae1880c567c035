"""One-way streams through Redis: all messages arrive, a slow receiver holds the sender up, errors are sentences."""

import threading

import pytest
from conftest import wait_for
from test_contract import check_stream

from bench import systems
from bench.contract import Binding
from bench.measurement.start import measure
from bench.plan.case import Case
from bench.plan.replies import END

if reason := systems.missing("redis"):
    pytest.skip(str(reason), allow_module_level=True)

from bench.systems import _broker_ends, redis

pytestmark = pytest.mark.slow

AHEAD = 500  # messages that wait, before the sender does


@pytest.mark.parametrize("options", [{"pipelining": True}, {"queue": "stream"}], ids=str)
def test_messages_that_are_pushed_and_taken_together_arrive_whole(options, routers):
    case = Case("redis", "tcp", 300_000, options, load="stream")
    measured = measure(case, 0.05, 1, routers)
    check_stream(measured)
    assert measured.ledger["router_cpu_ns"] > 0


@pytest.fixture(params=[{}, {"pipelining": True}, {"queue": "stream"}], ids=str)
def ends(request, routers, tmp_path, monkeypatch):
    """Return a sender and the receiver that it sends to."""
    monkeypatch.setattr(_broker_ends, "AHEAD_MESSAGES", AHEAD)
    options = redis.Options(**request.param)
    case = Case("redis", "tcp", options=request.param)
    receiver = redis.Receiver(Binding("tcp", str(tmp_path), None, routers.router_of(case).addresses), options)
    sender = redis.Sender(receiver.address, options)
    sender.open()
    yield sender, receiver
    sender.close()
    receiver.close()


def numbered(sender):
    for number in range(3 * AHEAD):
        sender.send(b"%d" % number)
    sender.send(END)


def test_a_slow_receiver_holds_the_sender_up_and_loses_nothing(ends):
    sender, receiver = ends
    thread = threading.Thread(target=numbered, args=(sender,), daemon=True)
    thread.start()
    length_of = receiver.connection.xlen if receiver._take == receiver._of_stream else receiver.connection.llen
    waiting = lambda: length_of(receiver.name)  # noqa: E731
    assert wait_for(lambda: waiting() > AHEAD, 60)
    assert not wait_for(lambda: not thread.is_alive(), 0.3)
    assert waiting() <= AHEAD + redis.TOGETHER
    assert list(iter(receiver.receive, END)) == [b"%d" % number for number in range(3 * AHEAD)]
    thread.join(10)
    unacknowledged = len(receiver._numbers)  # the last entries of a stream, until the next ones are asked for
    assert not thread.is_alive() and waiting() == unacknowledged <= redis.TOGETHER
