"""Plan of retries.ipynb: one open load on a server of which a worker freezes once, under four retry policies."""

from dataclasses import replace
from typing import Any

from bench.errors import UsageError
from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.validation.amount import Placed
from bench.validation.cases import offered, one_transport, payload
from bench.validation.oracle_options import oracle_server

MOST_WORKERS = 64  # of the oracle
FREEZE_AT = 0.2  # of the window: when one of its workers stops
WINDOWS_S = {"smoke": 1.0, "class": 2.0}  # long enough to see what remains after the freeze


def plan(
    given: Placed,
    transport: object = "tcp",
    payload_bytes: object = 100,
    rate: object = 300,
    service_us: object = 4000,
    freeze_ms: object = 300,
    timeout_ms: object = 50,
    deadline_ms: object = 500,
    retries: object = 3,
    backoff_ms: object = 50,
    budget: object = 0.1,
    workers: object = 2,
) -> Plan:
    """Plan the same rate, service times and freeze for no retries, and for three ways to retry.

    There is a connection to each of the server's workers, and a retry uses another one than the attempt before it: with
    one worker no retry could be answered before the attempt that it repeats.
    """
    number = {name: parameters.positive(value, name, most, whole=False) for name, value, most in (
        ("timeout_ms", timeout_ms, 60_000), ("deadline_ms", deadline_ms, 60_000), ("backoff_ms", backoff_ms, 60_000),
        ("budget", budget, 100))}  # fmt: skip
    patience = {name: number[name] for name in ("timeout_ms", "deadline_ms")}
    again = {"retries": parameters.count(retries, "retries", 100)}
    policies: tuple[dict[str, Any], ...] = (
        {},
        again,
        again | {"backoff_ms": number["backoff_ms"]},
        again | {"budget": number["budget"]},
    )
    per_s = offered(rate, "rate")
    if given.window_s is None:
        given = replace(given, window_s=WINDOWS_S.get(given.profile))
    number_of_freeze = max(2, round(FREEZE_AT * given.plan("retries", []).window_s * per_s))
    options = {
        "mean_us": parameters.count(service_us, "service_us", 10_000_000),
        "wait": "sleep",  # the result does not depend on how much CPU time other processes leave
        "freeze_after": number_of_freeze,
        "freeze_ms": parameters.count(freeze_ms, "freeze_ms", 60_000),
        "server": oracle_server(),
        "workers": parameters.count(workers, "workers", MOST_WORKERS),
    }
    if per_s * float(str(options["mean_us"])) >= 1e6 * int(str(options["workers"])):
        raise UsageError(f"{per_s:g} requests/s of {options['mean_us']} us each exceed the capacity: lower the rate")
    shared: dict[str, Any] = {
        "placement": given.where(is_parallel=True),
        "load": "retry",
        "callers": options["workers"],
        "offered_per_s": per_s,
        "arrivals": "poisson",
        "engine": "wire",
    }
    by, size = one_transport("oracle", transport), payload(payload_bytes)
    cases = [Case("oracle", by, size, options, **shared, retry=patience | policy) for policy in policies]
    return given.plan("retries", cases)
