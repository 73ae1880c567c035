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


def coder_of(name, kind, **options):
    """Return a system's own codec."""
    module = systems.load(name)
    return module.coder(module.Options(**options), kind)


@pytest.mark.parametrize("kind", message_types.KINDS)
def test_thrifts_structures_come_back_equal_and_cut_ones_are_refused(kind):
    coder = coder_of("thrift", kind)
    first, second = message_types.make(kind, 700, seed=1)[:2]
    exchange = coder.exchange(first)
    data = coder.encode(exchange.request)
    assert exchange == coder.answer(coder.decode(data)) and coder.exchange(second) != exchange.reply
    codecs.refuse_what_cannot_be_carried(coder, "thrift", first, kind)
    for length in random.Random(3).sample(range(len(data)), 20):
        with pytest.raises(Exception, match=r"."):  # the library's own, which ends the connection
            coder.decode(data[:length])


@pytest.mark.parametrize("kind", ["record", "items", "numbers"])
def test_flights_batches_come_back_equal_and_fuzzed_ones_are_refused(kind):
    coder = coder_of("arrow_flight", kind)
    first, second = message_types.make(kind, 700, seed=1)[:2]
    exchange = coder.exchange(first)
    data, chance = coder.encode(exchange.request), random.Random(3)
    assert exchange == coder.answer(coder.decode(data)) and coder.exchange(second) != exchange.reply
    assert exchange == coder.decode(coder.encode(exchange.reply))
    assert coder.read(coder.build(first)) == first and not isinstance(coder.build(first), dict)
    for wrong in [*(data[:length] for length in chance.sample(range(len(data) - 8), 20)), chance.randbytes(300)]:
        with pytest.raises(Exception, match=r"."):  # the library's own, which fails the call
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
