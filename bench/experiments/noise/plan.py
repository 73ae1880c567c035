"""Plan of noise.ipynb: waits of known length with and without other load, and raw sockets as the baseline."""

from bench.plan import parameters
from bench.plan import placement as places
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation.amount import Amount
from bench.validation.cases import FLOOR, instrument, one_transport

TIMER_US = 200  # a wait as short as the gaps of a paced load


def plan(
    given: Amount,
    transport: object = "ipc",
    pause_us: object = 1000,
    payload_bytes: object = 100,
) -> Plan:
    """Plan waits alone and beside busy neighbours, short waits by each kind of timer, and sockets by placement."""
    by = one_transport(FLOOR, transport)
    long_us = parameters.count(pause_us, "pause_us", 1_000_000)
    size = parameters.count(payload_bytes, "payload_bytes", 1_000_000)
    where = places.default()
    cases = [
        Case("pause", "inproc", size, {"us": long_us, "beside": beside}, where)
        for beside in ("nobody", "same", "others")
    ]
    cases += [
        Case("pause", "inproc", size, {"us": TIMER_US, "way": way}, where) for way in ("sleep", "asyncio", "spin")
    ]
    compared = ["free"] if places.why_not() else places.PLACEMENTS
    cases += [Case(FLOOR, by, size, placement=place) for place in compared]
    cases.append(instrument(size, where))
    return given.plan("noise", cases)
