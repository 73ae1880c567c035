"""Plan of calibration.ipynb: a server with known service times, in closed and open loops, and one that freezes once."""

from dataclasses import replace
from typing import Any

from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation.amount import Placed
from bench.validation.cases import client_count, offered_rates, one_transport
from bench.validation.oracle_options import frozen, oracle_server

LAWS = ("constant", "exponential", "bimodal")
FROZEN_US = 100  # constant service time of the server that freezes
PACED_PER_S = 500.0  # rate of the one caller whose server freezes: its utilization is 5 %
CLASS_WINDOW_S = 1.2  # longer than the profile's: p99 of the lowest rate needs the calls


def plan(
    given: Placed,
    transport: object = "ipc",
    mean_us: object = 1000,
    rates: object = (200, 400, 600),
    clients: object = 4,
) -> Plan:
    """Plan a closed loop of each distribution, open loads of the exponential one, and a freeze."""
    by = one_transport("oracle", transport)
    mean = parameters.count(mean_us, "mean_us", 1_000_000)
    shared: dict[str, Any] = {"payload_bytes": 100, "placement": given.where(is_parallel=True)}
    offered = offered_rates(rates)
    number = client_count(clients)
    server = {"mean_us": mean, "server": oracle_server()}
    cases = [Case("oracle", by, options={"law": law, **server}, **shared) for law in LAWS]
    paced: dict[str, Any] = {"load": "open", "arrivals": "poisson", "clients": number}
    exponential = {"law": "exponential", **server}
    cases += [Case("oracle", by, options=exponential, offered_per_s=rate, **paced, **shared) for rate in offered]
    if given.profile == "class" and parameters.literal(given.window_s) is None:
        given = replace(given, window_s=CLASS_WINDOW_S)

    def freezing(window_s: float) -> Case:
        freeze = server | {"mean_us": FROZEN_US} | frozen(window_s, PACED_PER_S)
        return Case("oracle", by, options=freeze, load="open", offered_per_s=PACED_PER_S, **shared)

    window_s = given.plan("calibration", [*cases, freezing(1.0)]).window_s
    return replace(given, window_s=window_s).plan("calibration", [*cases, freezing(window_s)])
