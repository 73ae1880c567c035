"""Capacity under an objective: the search on known servers, and once on a real one."""

import math

import pytest

from bench.capacity import CONFIRM, RATIO, Objective, Probe, objective, search
from bench.errors import UsageError


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
    assert asked[-CONFIRM:] == [found.low] * CONFIRM and len(found.probes) == len(asked) < 40


def test_a_lower_end_that_is_not_confirmed_is_given_up():
    probe, asked = server(1000)
    steady = search(probe, 100)
    probe, again = server(1000, moody=(len(asked),))  # the last confirmation fails
    found = search(probe, 100)
    assert found.confirmed and found.low < steady.low and len(again) > len(asked)


def test_an_objective_that_is_never_kept_or_always():
    never, asked = server(0)
    assert search(never, 100).low == 0 and not search(never, 100).confirmed and len(asked) < 20
    always, _ = server(math.inf)
    found = search(always, 100, most=1000)
    assert not found.confirmed and found.low == 800


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("p99<=5ms", Objective(0.99, 5000)), ("p50 <= 200us", Objective(0.5, 200)), ("p99.9<=1s", Objective(0.999, 1e6))],
)
def test_objectives(text, wanted):
    assert objective(text).p == pytest.approx(wanted.p) and objective(text).limit_us == wanted.limit_us


@pytest.mark.parametrize("text", ["", "p99", "p99<5ms", "p0<=5ms", "p100<=5ms", "p99<=0ms", "p99<=5"])
def test_objectives_that_are_none(text):
    with pytest.raises(UsageError, match="write for example p99<=5ms"):
        objective(text)


def test_a_server_of_known_law_is_found_below_its_capacity(command):
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
    closing = finished.stdout.splitlines()[-1]
    assert "p90<=200ms is kept" in closing and "requests a second" in closing
    assert command("capacity", "oracle", "--objective", "fast").returncode == 2
