"""What single frameworks promise beyond the contract: batches of megabytes, values of their own, and who is refused."""

import random
import socket

import pytest

from bench import codecs, systems
from bench.codecs import message_types
from bench.measurement.start import measure
from bench.measurement.validation.support import checked
from bench.plan.case import Case

pytestmark = pytest.mark.slow


def test_batches_of_megabytes_come_back_whole():
    case = checked(Case("arrow_flight", "ipc", 20_000_000, max_calls=2))
    ledger = measure(case, 20.0, 1).ledger
    assert ledger["calls"] == ledger["server_calls"] == 2 and ledger["errors"] == 0


STRUCTURED = [("thrift", kind) for kind in message_types.KINDS]
TABLES = [("arrow_flight", kind) for kind in ("record", "items", "numbers")]


@pytest.mark.parametrize(("name", "kind"), STRUCTURED + TABLES)
def test_messages_of_a_systems_own_codec_come_back_equal_and_cut_or_random_ones_are_refused(name, kind):
    module = systems.load(name)
    coder, chance = module.coder(module.Options(), kind), random.Random(3)
    first, second = message_types.make(kind, 700, seed=1)[:2]
    exchange = coder.exchange(first)
    data = coder.encode(exchange.request)
    assert exchange == coder.answer(coder.decode(data)) and coder.exchange(second) != exchange.reply
    codecs.refuse_what_cannot_be_carried(coder, name, first, kind)
    for wrong in [*(data[:length] for length in chance.sample(range(len(data) - 8), 20)), chance.randbytes(300)]:
        with pytest.raises(Exception, match=r"."):  # the library's own, which ends the call or its connection
            coder.decode(wrong)


def test_thrifts_server_goes_on_after_requests_that_are_no_structures(child_server):
    case, chance = checked(Case("thrift", "tcp", 500, message="items", max_calls=3)), random.Random(5)
    _, address = child_server("thrift", "tcp", dict(case.options), message="items")
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    for _ in range(10):
        with socket.create_connection((host, int(port)), timeout=10) as hostile:
            hostile.sendall(bytes(chance.randrange(32, 127) for _ in range(chance.randrange(1, 400))))
    ledger = measure(checked(Case(**vars(case) | {"target": address})), 2.0, 1).ledger
    assert ledger["calls"] == 3 and ledger["errors"] == 0
