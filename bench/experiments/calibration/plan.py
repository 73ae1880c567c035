"""What is measured for calibration.ipynb: a server of known law, by processes and sockets, in closed and open loops."""

from typing import Any

from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.cases import client_count, offered_rates, one_transport, placement_of
from bench.plan.plan import Plan
from bench.plan.profiles import make_plan

LAWS = ("constant", "exponential", "bimodal")
FREEZE = {"law": "constant", "mean_us": 100, "freeze_after": 100, "freeze_ms": 100}
PACED_PER_S = 500.0  # of the one caller whose server freezes: the server is used for a twentieth of the time


def plan(
    transport: object = "ipc",
    mean_us: object = 1000,
    rates: object = (200, 400, 600),
    clients: object = 4,
    placement: object = "default",
    profile: str = "class",
    starts: object = None,
    window_s: object = None,
    seed: object = 1,
) -> Plan:
    """Plan a closed loop of each law, open loads of the exponential one, and a freeze."""
    by = one_transport("oracle", transport)
    mean = int(parameters.positive(mean_us, "mean_us", 1_000_000))
    shared: dict[str, Any] = {"payload_bytes": 100, "placement": placement_of(placement, parallel=True)}
    offered = offered_rates(rates)
    number = client_count(clients)
    cases = [Case("oracle", by, options={"law": law, "mean_us": mean}, **shared) for law in LAWS]
    paced: dict[str, Any] = {"load": "open", "arrivals": "poisson", "clients": number}
    exponential = {"law": "exponential", "mean_us": mean}
    cases += [Case("oracle", by, options=exponential, offered_per_s=rate, **paced, **shared) for rate in offered]
    cases.append(Case("oracle", by, options=FREEZE, load="open", offered_per_s=PACED_PER_S, **shared))
    return make_plan("calibration", cases, profile, starts, window_s, seed)
