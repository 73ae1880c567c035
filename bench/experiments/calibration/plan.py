"""Plan of calibration.ipynb: a server with known service times, in closed and open loops, and one that freezes once."""

from typing import Any

from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation.cases import client_count, offered_rates, one_transport, placement_of
from bench.validation.oracle_options import frozen, oracle_server
from bench.validation.profiles import make_plan

LAWS = ("constant", "exponential", "bimodal")
FROZEN_US = 100  # constant service time of the server that freezes
PACED_PER_S = 500.0  # rate of the one caller whose server freezes: its utilization is 5 %
CLASS_WINDOW_S = 1.2  # longer than the profile's: p99 of the lowest rate needs the calls


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
    """Plan a closed loop of each distribution, open loads of the exponential one, and a freeze."""
    by = one_transport("oracle", transport)
    mean = int(parameters.positive(mean_us, "mean_us", 1_000_000))
    shared: dict[str, Any] = {"payload_bytes": 100, "placement": placement_of(placement, parallel=True)}
    offered = offered_rates(rates)
    number = client_count(clients)
    server = {"mean_us": mean, "server": oracle_server()}
    cases = [Case("oracle", by, options={"law": law, **server}, **shared) for law in LAWS]
    paced: dict[str, Any] = {"load": "open", "arrivals": "poisson", "clients": number}
    exponential = {"law": "exponential", **server}
    cases += [Case("oracle", by, options=exponential, offered_per_s=rate, **paced, **shared) for rate in offered]
    usual = CLASS_WINDOW_S if profile == "class" and parameters.literal(window_s) is None else window_s

    def freezing(window_s: float) -> Case:
        freeze = server | {"mean_us": FROZEN_US} | frozen(window_s, PACED_PER_S)
        return Case("oracle", by, options=freeze, load="open", offered_per_s=PACED_PER_S, **shared)

    window = make_plan("calibration", [*cases, freezing(1.0)], profile, starts, usual, seed).window_s
    return make_plan("calibration", [*cases, freezing(window)], profile, starts, window, seed)
