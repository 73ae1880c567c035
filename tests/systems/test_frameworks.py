"""What single frameworks promise beyond the contract: batches of megabytes, values of their own, and who is refused."""

import random
import socket

import pytest
from test_contract import MISSING

from bench import codecs, systems
from bench.codecs import message_types
from bench.errors import UsageError
from bench.measurement.start import measure
from bench.measurement.validation.support import checked
from bench.plan.case import Case

pytestmark = pytest.mark.slow


def case_of(name, *arguments, **named):
    """Return a checked case; skip where the system's library is missing."""
    if name in MISSING:
        pytest.skip(MISSING[name])
    return checked(Case(name, *arguments, **named))


def test_batches_of_megabytes_come_back_whole():
    case = case_of("arrow_flight", "ipc", 20_000_000, max_calls=2)
    ledger = measure(case, 20.0, 1).ledger
    assert ledger["calls"] == ledger["server_calls"] == 2 and ledger["errors"] == 0


def coder_of(name, kind, **options):
    """Return a system's own codec; skip where its library is missing."""
    if name in MISSING:
        pytest.skip(MISSING[name])
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


@pytest.mark.parametrize(("name", "kinds"), [("thrift", ("", "mine.json")), ("arrow_flight", ("tree", ""))])
def test_a_message_without_declared_types_is_refused_in_one_sentence(name, kinds):
    for kind in kinds:
        with pytest.raises(UsageError, match=r"json, msgpack"):
            coder_of(name, kind)


def test_other_codecs_make_bytes_that_both_frameworks_carry():
    for name, options in [("thrift", {"codec": "orjson"}), ("arrow_flight", {"codec": "orjson"})]:
        assert coder_of(name, "items", **options) is None
        ledger = measure(case_of(name, "ipc", 500, options, message="items", max_calls=3), 2.0, 1).ledger
        assert ledger["calls"] == ledger["server_calls"] == 3 and ledger["errors"] == 0


def test_thrifts_server_goes_on_after_requests_that_are_no_structures(child_server):
    case, chance = case_of("thrift", "tcp", 500, message="items", max_calls=3), random.Random(5)
    _, address = child_server("thrift", "tcp", dict(case.options), message="items")
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    for _ in range(10):
        with socket.create_connection((host, int(port)), timeout=10) as hostile:
            hostile.sendall(bytes(chance.randrange(32, 127) for _ in range(chance.randrange(1, 400))))
    ledger = measure(checked(Case(**vars(case) | {"target": address})), 2.0, 1).ledger
    assert ledger["calls"] == 3 and ledger["errors"] == 0
