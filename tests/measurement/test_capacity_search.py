"""Capacity under an objective: the search on known servers, and once on a real one."""

import math

import pytest

from bench import systems
from bench.apps import listing
from bench.errors import UsageError
from bench.experiments import panels, registry
from bench.experiments.sentences import conclusion
from bench.measurement import capacity_search
from bench.measurement.bracket import MOST_PROBES, RATIO, STARTS, Probe, search
from bench.measurement.capacity_search import closing
from bench.plan.objective import Objective, objective
from bench.run.frames import Run
from bench.run.stored import find


def server(limit, moody=()):
    """Return a probe of a server that keeps the objective up to a rate, but not at the numbered probes in ``moody``."""
    asked = []

    def probe(rate):
        asked.append(rate)
        kept = rate <= limit and len(asked) not in moody
        return Probe(rate, 1.0, 1.0, 1.0, kept)

    return probe, asked


@pytest.mark.parametrize("limit", [50, 100, 777, 12_345])
def test_the_bracket_holds_the_capacity_and_is_narrow(limit):
    probe, asked = server(limit)
    found = search(probe, 100)
    assert found.confirmed and found.low <= limit < found.high and found.high / found.low <= RATIO + 1e-9
    assert found.votes(found.low) == (STARTS, STARTS) and len(found.probes) == len(asked) < 45


def test_a_lone_hiccup_loses_nothing():
    calm, hiccups = server(1000)[0], server(1000, moody=(2, 9, 14))[0]
    assert search(calm, 100).low == search(hiccups, 100).low


def test_a_lower_end_that_is_not_confirmed_is_given_up():
    probe, asked = server(1000)
    steady = search(probe, 100)
    last = len(asked)
    probe, again = server(1000, moody=range(last - 3, last + 1))  # four of the six starts there fail
    found = search(probe, 100)
    assert found.confirmed and found.low < steady.low and len(again) > len(asked)


def test_starts_that_chose_a_rate_do_not_confirm_it():
    asked = []

    def probe(rate):  # of the starts at a rate around 1000/s the first two meet the objective, and then every third
        asked.append(rate)
        number = asked.count(rate)
        return Probe(rate, 1.0, 1.0, 1.0, rate < 900 or (rate < 1000 and (number <= 2 or number % 3 == 0)))

    found = search(probe, 100)
    assert found.confirmed and found.low < 900
    assert found.votes(found.low) == (STARTS, STARTS) and asked.count(found.low) == STARTS + 2
    unconfirmed = [rate for rate in asked if 900 <= rate < 1000]
    assert unconfirmed and found.votes(unconfirmed[0]) == (2, STARTS)


def test_fresh_starts_that_never_agree_end_the_search():
    asked = []

    def probe(rate):  # the first two starts at each rate keep what the next do not
        asked.append(rate)
        return Probe(rate, 1.0, 1.0, 1.0, rate <= 1000 and asked.count(rate) <= 2)

    found = search(probe, 100)
    assert not found.ended and not found.confirmed and len(found.probes) == MOST_PROBES
    assert f" {MOST_PROBES} starts" in closing(objective("p99<=5ms"), found)


def test_an_objective_that_is_never_kept_or_always():
    never, asked = server(0)
    assert search(never, 100).low == 0 and not search(never, 100).confirmed and len(asked) < 40
    low, asked = server(0)
    search(low, 100, least=40)
    assert min(asked) >= 40
    always, asked = server(math.inf)
    found = search(always, 100, most=1000)
    assert not found.confirmed and found.low == 800 and max(asked) == 800


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("p99<=5ms", Objective(0.99, 5000)), ("p50 < 200us", Objective(0.5, 200)), ("p99.9<=1s", Objective(0.999, 1e6))],
)
def test_objectives(text, wanted):
    assert objective(text).p == pytest.approx(wanted.p) and objective(text).limit_us == wanted.limit_us


@pytest.mark.parametrize("text", ["", "p99", "p99>5ms", "p0<=5ms", "p100<=5ms", "p99<=0ms", "p99<=5"])
def test_objectives_that_are_none(text):
    with pytest.raises(UsageError, match="p99<=5ms"):
        objective(text)


@pytest.mark.slow
def test_a_server_of_known_law_is_found_below_its_capacity(command):
    systems.prepare("oracle")  # its program may have to be compiled, which is said
    words = [
        "--objective",
        "p90<=200ms",
        "--clients",
        "2",
        "-o",
        "{mean_us: 5000}",
        "--window-s",
        "0.4",
        "--first",
        "100",
    ]
    finished = command("capacity", "oracle", "ipc", *words)
    assert finished.returncode == 0, finished.stderr
    *probes, told, stored = finished.stdout.splitlines()
    run = Run(find("latest"))
    low, high = (run.manifest["capacity"][name] for name in ("low_per_s", "high_per_s"))
    assert f"{low:,.0f}" in told and f"{high:,.0f}" in told and 0 < low < high and len(probes) >= 8
    assert run.id in stored and run.plan.notebook == "capacity" and run.manifest["finished"]
    assert len(run.ledger) == len(probes) == len(run.manifest["capacity"]["probes"])
    said = conclusion(run).replace("**", "")
    assert "p90<=200ms" in said or "No conclusion" in said  # where others leave no CPU to send
    assert "response time p90" in command("show", "latest").stdout
    assert command("capacity", "oracle", "--objective", "fast").returncode == 2


def test_an_interrupted_search_can_be_looked_at(monkeypatch):
    plan = registry.plan("capacity", system="sockets", window_s=0.05, objective="p50<1s", profile="smoke")
    said = []

    def interrupted(text):
        said.append(text)
        if len(said) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        capacity_search.find(plan, objective("p50<1s"), interrupted)
    run = Run(find("latest"))
    assert not run.manifest["finished"] and len(run.ledger) == 3
    assert "not certain" in listing.run_text("latest") or "No conclusion" in listing.run_text("latest")
    panels.whole(run)
