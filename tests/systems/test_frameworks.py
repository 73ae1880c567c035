"""What single frameworks promise beyond the contract: batches of megabytes, and who is refused."""

import pytest
from test_contract import MISSING

from bench.measurement.start import measure
from bench.plan.case import Case
from bench.plan.validation import checked


def case_of(name, *given, **named):
    """Return a checked case; skip where the system's library is missing."""
    if name in MISSING:
        pytest.skip(MISSING[name])
    return checked(Case(name, *given, **named))


@pytest.mark.parametrize("rpc", ["exchange", "action"])
def test_batches_of_megabytes_come_back_whole(rpc):
    case = case_of("arrow_flight", "ipc", 20_000_000, {"rpc": rpc}, max_calls=2)
    ledger = measure(case, 20.0, 1).ledger
    assert ledger["calls"] == ledger["server_calls"] == 2 and ledger["errors"] == 0
