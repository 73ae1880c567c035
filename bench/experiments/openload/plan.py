"""Plan of openload.ipynb: offered rates from low load to overload, and one server that freezes, under two loads."""

from dataclasses import replace
from typing import Any

from bench.plan import parameters
from bench.plan.arrivals import named as arrivals_of
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation.amount import OnHosts
from bench.validation.cases import client_count, offered, offered_rates, one_way, own_engine, payload
from bench.validation.oracle_options import frozen, oracle_server

ORACLE = "{law: exponential, mean_us: 1000}"
FROZEN_US = 1000  # constant service time of the server that freezes


def plan(
    given: OnHosts,
    system: object = "oracle",
    transport: object = "auto",
    payload_bytes: object = 100,
    rates: object = (100, 300, 500, 700, 850, 950, 1100),
    arrivals: object = "poisson",
    clients: object = 8,
    callers: object = 1,
    options: object = ORACLE,
    freeze_rate: object = 500,
    engine: object = "library",
) -> Plan:
    """Plan one closed loop, the same system under offered rates, and a server that freezes once under both loads.

    The freeze takes the same share of the window in both cases. callers: requests that each client process of an
    asynchronous library, or of the engine wire, has under way at most, a connection each. engine: of the system; the
    server that freezes is loaded by its library. hosts: see ``bench.plan.hosts``; the clients that share the schedule
    are then on the hosts that load.
    """
    name, by = one_way(system, transport, given.there)
    there = given.there
    shared: dict[str, Any] = {
        "payload_bytes": payload(payload_bytes),
        "placement": given.where(is_parallel=True),
        "hosts": there,
    }
    server = oracle_server()
    asked = "" if name != "oracle" and options == ORACLE else options  # the notebook's are of the oracle alone
    system_options = ({"server": server} if name == "oracle" else {}) | parameters.mapping(asked, "options")
    paced: dict[str, Any] = {
        "load": "open",
        "clients": client_count(clients),
        "arrivals": arrivals_of(arrivals),
    }
    many = client_count(callers, "callers")
    asked_of: dict[str, Any] = {"options": system_options, "engine": own_engine(engine)}
    cases = [Case(name, by, **asked_of, **shared)]
    cases += [
        Case(name, by, offered_per_s=rate, callers=many, **asked_of, **paced, **shared) for rate in offered_rates(rates)
    ]
    rate = offered(freeze_rate, "freeze_rate")
    uniform, frozen_by = paced | {"arrivals": "uniform"}, "tcp" if there else "ipc"

    def freezing(window_s: float) -> list[Case]:
        closed, users = (
            {"mean_us": FROZEN_US, "server": server} | frozen(window_s, per_s) for per_s in (1e6 / FROZEN_US, rate)
        )
        return [
            Case("oracle", frozen_by, options=closed, **shared),
            Case("oracle", frozen_by, options=users, offered_per_s=rate, **uniform, **shared),
        ]

    window_s = given.plan("openload", [*cases, *freezing(1.0)]).window_s
    return replace(given, window_s=window_s).plan("openload", [*cases, *freezing(window_s)])
