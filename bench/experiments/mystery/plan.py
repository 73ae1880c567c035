"""Plan of mystery.ipynb: boxes with one fault each, and one without, under the same loads."""

from typing import Any

from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation.amount import Amount
from bench.validation.cases import client_count, instrument, payload, payloads, placement_of

BOXES = ("a", "b", "c", "d", "e", "f", "sound")
CALLS = 60  # at most, of a case that varies the payload


def plan(
    given: Amount,
    box: object = "all",
    callers: object = 4,
    payload_bytes: object = 100,
    sizes: object = (6000, 12_000, 48_000),
    placement: object = "free",
) -> Plan:
    """Plan for each box one caller, several callers, and one caller with larger payloads; the sound box always.

    Windows are short: what is wrong with a box is no matter of five per cent.
    """
    chosen = dict.fromkeys([*parameters.names(box, "box", BOXES), "sound"])
    size = payload(payload_bytes)
    many = client_count(callers, "callers")
    larger = [large for large in payloads(sizes, "sizes") if large != size]
    where = placement_of(placement)
    cases: list[Case] = []
    for name in chosen:
        of: dict[str, Any] = {"options": {"box": name}, "placement": where}
        cases += [Case("mystery", "tcp", size, callers=count, **of) for count in dict.fromkeys((1, many))]
        cases += [Case("mystery", "tcp", large, max_calls=CALLS, **of) for large in larger]
    cases.append(instrument(size, where))
    return given.plan("mystery", cases, class_s=0.25)
