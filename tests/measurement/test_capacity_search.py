"""Capacity under an objective: the search on known servers, and once on a real one."""

import json
import math
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from handmade import FACTS, usual

from bench import systems
from bench.analysis import checks
from bench.apps import numbers, rates
from bench.errors import DataError, SystemFailedError, UsageError
from bench.experiments import capacity
from bench.grammar import Estimand, figure
from bench.grammar.experiment import experiment, of_run
from bench.grammar.statement import as_markdown
from bench.measurement import capacity_search, runner
from bench.measurement.bracket import MOST_PROBES, RATIO, STARTS, Probe, search
from bench.measurement.capacity_search import judged
from bench.plan import confirmation
from bench.plan.objective import Objective, objective
from bench.run.frames import Run
from bench.run.start_record import StartRecord
from bench.run.stored import find
from bench.text import unmarked


def conclusion(run):
    return experiment("capacity").conclusion(run)


def answer(run):
    """Return the answer, also of a run that the checks find invalid."""
    estimands = Estimand("highest rate that was confirmed", capacity.capacity), capacity.Limits()
    return as_markdown(statement for estimand in estimands for statement in estimand.statements(run))


def server(limit, moody=()):
    """Return a probe of a server that keeps the objective up to a rate, but not at the numbered probes in ``moody``."""
    asked = []

    def probe(rate):
        asked.append(rate)
        kept = rate <= limit and len(asked) not in moody
        return Probe(rate, 1.0, 1.0, kept)

    return probe, asked


def votes(bracket, rate):
    """Return in how many of the starts that confirm a rate the objective was met, and how many these were."""
    votes = [probe.kept for probe in bracket.probes if probe.rate == rate and probe.confirms]
    return sum(votes), len(votes)


@pytest.mark.parametrize("limit", [50, 100, 777, 12_345])
def test_the_bracket_holds_the_capacity_and_is_narrow(limit):
    probe, asked = server(limit)
    bracket = search(probe, 100)
    assert bracket.confirmed and bracket.low <= limit < bracket.high and bracket.high / bracket.low <= RATIO + 1e-9
    assert votes(bracket, bracket.low) == (STARTS, STARTS) and len(bracket.probes) == len(asked) < 45


def test_a_lone_hiccup_loses_nothing():
    calm, hiccups = server(1000)[0], server(1000, moody=(2, 9, 14))[0]
    assert search(calm, 100).low == search(hiccups, 100).low


def test_starts_that_chose_a_rate_do_not_confirm_it():
    asked = []

    def probe(rate):  # of the starts at a rate around 1000/s the first two meet the objective, and then every third
        asked.append(rate)
        number = asked.count(rate)
        return Probe(rate, 1.0, 1.0, rate < 900 or (rate < 1000 and (number <= 2 or number % 3 == 0)))

    bracket = search(probe, 100)
    assert bracket.confirmed and bracket.low < 900
    assert votes(bracket, bracket.low) == (STARTS, STARTS) and asked.count(bracket.low) == STARTS + 2
    unconfirmed = [rate for rate in asked if 900 <= rate < 1000]
    assert unconfirmed and votes(bracket, unconfirmed[0]) == (2, STARTS)


def test_fresh_starts_that_never_agree_end_the_search():
    asked = []

    def probe(rate):  # the first two starts at each rate keep what the next do not
        asked.append(rate)
        return Probe(rate, 1.0, 1.0, rate <= 1000 and asked.count(rate) <= 2)

    bracket = search(probe, 100)
    assert not bracket.ended and not bracket.confirmed and len(bracket.probes) == MOST_PROBES


def test_an_objective_that_is_never_kept_or_always():
    never, asked = server(0)
    bracket = search(never, 100, minimum=40)
    assert bracket.low == 0 and not bracket.confirmed and min(asked) >= 40
    always, asked = server(math.inf)
    bracket = search(always, 100, maximum=1000)
    assert not bracket.confirmed and bracket.low == 800 and max(asked) == 800


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


@pytest.mark.parametrize(("unsent", "is_kept"), [(0, True), (5, False)])
def test_requests_that_were_not_sent_are_late(unsent, is_kept):
    took_us = np.where(np.arange(1000 - unsent) % 150 == 149, 9000, 1000)  # of 1000 requests 6 take 9 ms
    record = StartRecord({"calls": len(took_us), "scheduled": 1000}, [opened(took_us)])
    assert judged(record, 100.0, objective("p99<=5ms")).kept == is_kept
    assert judged(record, 100.0, objective("p95<=5ms")).kept


@pytest.mark.parametrize("needed", [6, 36, 72, 368, 3688])
def test_a_probe_is_made_for_so_many_requests_that_random_arrivals_are_hardly_ever_too_few(needed):
    counts = np.random.default_rng(1).poisson(capacity_search.planned_requests(needed), 100_000)
    assert np.mean(counts < needed) < 1e-4


def test_too_many_requests_that_were_not_sent_leave_no_quantile():
    record = StartRecord({"calls": 900, "scheduled": 1000}, [opened(np.full(900, 1000))])
    probe = judged(record, 100.0, objective("p95<=5ms"))
    assert math.isinf(probe.quantile_us) and not probe.kept
    assert "not sent" in capacity_search.line(probe, objective("p95<=5ms"))


def opened(took_us):
    """Return the times of requests that were sent when they were due."""
    due_ns = np.arange(len(took_us)) * 10_000_000
    return np.stack([due_ns, due_ns + 1000 * took_us, due_ns])


def searched(
    monkeypatch,
    limits,
    share=0.5,
    first=200,
    goal="p95<=5ms",
    rule=None,
    crowd=None,
    refused=None,
    lines=math.inf,
    **asked,
):
    """Return the run of a search on made-up servers, and what was said; it is interrupted after so many ``lines``.

    limits: the highest rate at which each system meets the objective. share: of their CPUs that the clients use. crowd:
    what the ledger says of the machine. refused: of 400 requests at a rate of the system, how many are answered with
    503. The run has the measured cases as ``measured``, and their ``windows``.
    """

    cases, windows = [], []

    def measured(case, window_s, seed, routers):
        cases.append(case)
        windows.append(window_s)
        failed = refused(case.offered_per_s) if refused and case.system != "sockets" else 0
        took_us = np.full(400 - failed, 1000 if case.offered_per_s <= limits[case.system] else 9000)
        known = usual(len(took_us), 1.0, scheduled=400, client_cpu_ns=int(share * 1e9), voluntary_switches=0)
        known |= {"errors": failed, **(crowd or {})}
        reports = [{"name": "error_it: status 503", "value": failed, "unit": "1"}]
        return StartRecord(known, [opened(took_us)], {"reports": reports})

    def say(text):
        messages.append(text)
        if len(messages) == lines:
            raise KeyboardInterrupt

    monkeypatch.setattr(capacity_search, "measure", measured)
    monkeypatch.setattr(runner, "facts", lambda plan: FACTS)
    asked = {"system": "zeromq", "transport": "ipc", "objective": goal, "first": first} | asked
    plan, messages = experiment("capacity").plan(**asked), []
    with pytest.raises(KeyboardInterrupt) if lines < math.inf else nullcontext():
        capacity_search.find(plan, objective(goal), say, rule)
    run = Run(find("latest"))
    vars(run).update(measured=cases, windows=windows)
    return run, messages


def test_where_raw_sockets_violate_an_objective_too_the_machine_is_named_and_not_the_system(monkeypatch):
    run, messages = searched(monkeypatch, {"sockets": 0, "zeromq": 0})
    assert "this machine cannot show p95<=5ms now: raw sockets violate it at 200/s" in messages[0]
    assert conclusion(run).startswith("**No conclusion.** This machine could not show the SLO during this run: ")
    assert "raw sockets, violated p95<=5ms at 100 and 200 requests/s in 4 of 4 starts" in conclusion(run)
    assert "nothing follows about the system: repeat when" in conclusion(run)
    assert {case.system for case in run.plan.cases} == {"zeromq"}


def test_a_search_tries_no_lower_rate_where_the_control_fails_at_the_first_rate_and_at_half_of_it(monkeypatch):
    run, messages = searched(monkeypatch, {"sockets": 0, "zeromq": 0})
    assert [probe["rate"] for probe in run.manifest["capacity"]["control"]] == [200, 200, 100, 100]
    assert {probe["rate"] for probe in run.manifest["capacity"]["probes"]} == {200}
    assert "no rate below 200/s is tried" in messages[2]
    run, _ = searched(monkeypatch, {"sockets": 0, "zeromq": 1000})  # what the system shows is kept
    assert run.manifest["capacity"]["low_per_s"] > 900


def test_the_machine_is_named_before_rates_and_clients_where_others_used_its_cpus(monkeypatch):
    crowd = {"machine_busy_ns": 2 * 10**9, "client_cpu_ns": 10**8}
    for control in (0, 10**6):
        words = conclusion(searched(monkeypatch, {"sockets": control, "zeromq": 0}, crowd=crowd)[0])
        assert words.startswith("**No conclusion.** The machine was too busy: other processes used ")
        assert ("violated p95<=5ms at 100 and" in words) == (not control) and "lower the rate" not in words


def test_a_search_that_ends_at_its_last_start_says_at_how_many_rates_starts_disagree(monkeypatch):
    asked = []

    def fickle(record, rate, goal):  # the first two starts at each rate keep what the next do not, after the control
        asked.append(rate)
        return Probe(rate, 1.0, 1.0, len(asked) <= 2 or (rate <= 1000 and asked[2:].count(rate) <= 2))

    monkeypatch.setattr(capacity_search, "judged", fickle)
    run, _ = searched(monkeypatch, {"sockets": 10**6, "zeromq": 10**6})
    for words in (conclusion(run), checks.starts(run).found):
        assert f"search made its {MOST_PROBES} starts and confirmed no rate: at " in words and "(noise)" in words
    assert "longer windows" in conclusion(run)


def test_errors_of_the_service_are_not_blamed_on_the_machine(monkeypatch):
    run, _ = searched(monkeypatch, {"sockets": 0, "zeromq": 10**6}, refused=lambda rate: 40)
    assert "none" in answer(run) and "10% of the requests were answered with an error" in answer(run)
    assert "machine" not in answer(run) and "raw sockets meet" not in answer(run)


def test_where_the_machine_violates_the_objective_above_the_capacity_it_may_be_the_limit(monkeypatch):
    run, messages = searched(monkeypatch, {"sockets": 100, "zeromq": 100})
    search = run.manifest["capacity"]
    assert "cannot" in messages[0] and search["control"][-1]["rate"] == search["high_per_s"]
    assert "at least" in answer(run) and "this machine may be the limit" in answer(run)


def test_a_machine_that_failed_at_the_first_rate_may_be_the_limit_though_it_shows_the_last(monkeypatch):
    run, _ = searched(monkeypatch, {"sockets": 150, "zeromq": 90})
    control = run.manifest["capacity"]["control"]
    assert not control[0]["kept"] and control[-1]["kept"]
    assert "at least" in answer(run) and "Raw sockets violate the SLO at 200 requests/s, too" in answer(run)


def test_a_rate_that_the_system_meets_is_one_that_the_machine_shows(monkeypatch):
    judge, starts = capacity_search.judged, iter(range(1000))

    def stalled(record, rate, goal):  # the machine stalls in the first two starts, which are the control's
        return replace(judge(record, rate, goal), kept=False) if next(starts) < 2 else judge(record, rate, goal)

    monkeypatch.setattr(capacity_search, "judged", stalled)
    run, _ = searched(monkeypatch, {"sockets": 10**6, "zeromq": 5000})
    assert "Raw sockets" not in answer(run) and numbers.capacity(run)["machine_shows_it"]


def test_a_search_begins_where_a_probe_has_enough_requests(monkeypatch):
    run, messages = searched(monkeypatch, {"sockets": 9000, "zeromq": 100}, first=2, profile="smoke")
    rates = [probe["rate"] for probe in run.manifest["capacity"]["probes"]]
    assert "requests" in messages[0] and rates[0] == run.manifest["capacity"]["control"][0]["rate"] > 2
    assert run.manifest["capacity"]["low_per_s"] > 90


def test_where_raw_sockets_meet_an_objective_the_system_is_named(monkeypatch):
    run, messages = searched(monkeypatch, {"sockets": 1000, "zeromq": 0})
    assert "meet" in messages[0] and all(probe["kept"] for probe in run.manifest["capacity"]["control"])
    rates = sorted({probe["rate"] for probe in run.manifest["capacity"]["probes"]})
    assert f"each of the {len(rates)} rates tried, 200/s" in answer(run)
    assert "raw sockets meet it at 12.5/s and 200/s" in answer(run) and "other processes" not in answer(run)


def test_where_raw_sockets_violate_an_objective_at_the_first_rate_only_nothing_follows_about_the_system(monkeypatch):
    run, messages = searched(monkeypatch, {"sockets": 100, "zeromq": 0})
    assert "raw sockets violate it at 200/s" in messages[0] and "control: raw sockets meet" in messages[-1]
    assert "could not show the SLO" in conclusion(run) and "violated p95<=5ms at 200 requests/s" in conclusion(run)


def test_a_crowded_machine_is_named_at_the_upper_end_of_a_bracket(monkeypatch):
    crowd = {"machine_busy_ns": 2 * 10**9, "client_cpu_ns": 10**8}
    run, _ = searched(monkeypatch, {"sockets": 10**6, "zeromq": 1000}, crowd=crowd, profile="smoke")
    lines = answer(run).splitlines()
    assert len(lines) > 1 and "other processes left no CPU idle (the CPUs were 100% busy)" in lines[-1]


def test_a_server_that_refuses_requests_violates_the_objective_and_the_refusal_is_named(monkeypatch):
    run, messages = searched(monkeypatch, {"sockets": 10**6, "zeromq": 10**6}, first=30, refused=lambda rate: 200)
    for words in (messages[1], of_run(run).conclusion(run)):
        assert "violated" in words and "50% of the requests were answered with an error (it: status 503)" in words
    assert "sent 100.0%" in messages[1] and "not sent" not in of_run(run).conclusion(run)
    verdicts = {check.name: check.verdict for check in checks.check(run)}
    assert verdicts["answers"] == checks.CAUTION and checks.INVALID not in verdicts.values()
    requests = numbers.document(run)["cases"][0]["requests"]
    assert requests == {"scheduled": 800, "answered": 400, "failed": {"it: status 503": 400}, "not_sent": 0}


@pytest.mark.parametrize(("share", "is_at_least"), [(0.75, False), (0.85, True)])
def test_a_rate_at_which_the_clients_are_busy_is_at_least_the_capacity(monkeypatch, share, is_at_least):
    run, messages = searched(monkeypatch, {"sockets": 10**6, "zeromq": 1000}, share)
    assert len(messages) == 1 + len(run.manifest["capacity"]["probes"])  # what follows is said once, by the conclusion
    words = answer(run)
    assert ("at least" in words) == is_at_least and (f"{share:.0%}" in words) == is_at_least
    assert "other processes" not in words
    assert capacity.evidence(run) == 6 and checks.starts(run).found.startswith("6 ")


def test_sample_sizes_are_those_that_mlperf_prints():
    """Reddi et al., ISCA 2020: 23,886, 50,425 and 262,742 queries, rounded up to multiples of 8,192."""
    assert [round(confirmation.mlperf_requests(p)) for p in (0.9, 0.95, 0.99)] == [23_886, 50_425, 262_742]
    assert [confirmation.rule("mlperf", 6, p).requests for p in (0.9, 0.95, 0.99)] == [24_576, 57_344, 270_336]
    with pytest.raises(UsageError, match="mlperf"):
        experiment("capacity").plan(rule="strict")


def test_mlperfs_rule_confirms_by_five_long_starts_all_of_which_meet_the_objective(monkeypatch):
    rule = confirmation.rule("mlperf", 6, 0.9)
    run, _ = searched(monkeypatch, {"sockets": 10**6, "zeromq": 10_000}, goal="p90<=5ms", rule=rule)
    low = run.manifest["capacity"]["low_per_s"]
    assert run.windows[-5:] == [pytest.approx(24_576 / low)] * 5 and max(run.windows[:-5]) <= 1
    assert capacity.evidence(run) == 6 and "24,576" in answer(run) and "5 of 5" in answer(run)
    probe, asked = server(1000)
    steady = search(probe, 100, rule=rule)
    probe, _ = server(1000, moody=[len(asked)])  # the last of the five fails
    assert search(probe, 100, rule=rule).low < steady.low


FIXED = confirmation.rule("fixed", 6, 0.95)


@pytest.mark.parametrize(
    ("limits", "outcome", "met"),
    [
        ({"sockets": 10**6, "zeromq": 1000}, "met at 800/s", "6 of 6"),
        ({"sockets": 10**6, "zeromq": 700}, "not met at 800/s", "0 of 6"),
        ({"sockets": 0, "zeromq": 700}, "the machine could not show it", "0 of 6"),
        ({"sockets": 0, "zeromq": 1000}, "met at 800/s", "6 of 6"),
    ],
)
def test_of_one_rate_it_is_known_whether_the_objective_is_met_and_which_cpus_were_used(
    monkeypatch, limits, outcome, met
):
    run, _ = searched(monkeypatch, limits, first=800, rule=FIXED)
    assert {case.offered_per_s for case in run.measured} == {800}
    row = rates.row(run)
    assert (row["SLO p95<=5ms"], row["met in"]) == (outcome, met)
    assert row["p95"].startswith("1.00 ms" if "6 of 6" in met else "9.00 ms") and row["client CPUs"][:4] == "0.50"
    assert numbers.capacity(run)["violated_at_per_s"] == (None if "6 of 6" in met else 800)
    figure.whole(run).draw_without_rendering()


@pytest.mark.parametrize(
    ("own", "of_control", "outcome", "words"),
    [
        (
            "111000",
            "111111",
            "no conclusion",
            "met in 3 of 6 starts, and by raw sockets in 6 of 6 starts: the difference",
        ),
        (
            "000000",
            "111000",
            "no conclusion",
            "met in 0 of 6 starts, and by raw sockets in 3 of 6 starts: the difference",
        ),
        ("100000", "111110", "not met at 800/s", "raw sockets met it in 5 of 6 starts"),
        ("111000", "110000", "the machine could not show it", "violated p95<=5ms at 800 requests/s in 4 of 6 starts"),
    ],
)
def test_an_objective_that_raw_sockets_may_violate_as_often_is_not_called_violated(
    monkeypatch, own, of_control, outcome, words
):
    turns = iter("".join(map("".join, zip(of_control, own, strict=True))))
    monkeypatch.setattr(capacity_search, "judged", lambda record, rate, goal: Probe(rate, 1.0, 1.0, next(turns) == "1"))
    run, messages = searched(monkeypatch, {"sockets": 10**6, "zeromq": 10**6}, first=800, rule=FIXED)
    assert [case.system for case in run.measured] == 6 * ["sockets", "zeromq"]
    assert "control, raw sockets" in messages[0] and "control" not in messages[1]
    row = rates.row(run)
    assert row["SLO p95<=5ms"] == outcome and words in conclusion(run) and "down to" not in conclusion(run)
    assert (row["met in"][0], row["sockets"][0]) == (str(own.count("1")), str(of_control.count("1")))


def test_a_rate_that_the_system_cannot_carry_is_not_met_and_no_fault_of_the_run(monkeypatch):
    run, _ = searched(monkeypatch, {"sockets": 10**6, "zeromq": 700}, first=800, rule=FIXED)
    monkeypatch.setattr(checks, "overloaded", lambda run: run.numbers)
    assert rates.row(run)["SLO p95<=5ms"] == "not met at 800/s" and "not met at 800 requests/s" in conclusion(run)


def test_cpus_that_are_not_known_are_not_zero(monkeypatch):
    crowd = {"server_cpu_ns": None}
    run, _ = searched(monkeypatch, {"sockets": 10**6, "zeromq": 1000}, first=800, rule=FIXED, crowd=crowd)
    assert rates.row(run)["server CPUs"] == "n/a"


def test_a_fixed_rate_with_too_few_requests_is_refused(monkeypatch):
    with pytest.raises(UsageError, match="requests/s"):
        searched(monkeypatch, {"sockets": 10**6, "zeromq": 10**6}, first=2, rule=FIXED)
    with pytest.raises(DataError, match="no run"):
        find("latest")


def test_several_systems_are_measured_one_after_the_other_and_end_in_one_table(monkeypatch):
    run, _ = searched(monkeypatch, {"sockets": 10**6, "zeromq": 1000}, first=800, rule=FIXED)
    asked, lines = [], []
    monkeypatch.setattr(rates.notebook, "search", lambda **parameters: asked.append(parameters) or run)
    with pytest.raises(UsageError, match="nonesuch"):
        rates.measure("zeromq,nonesuch", 800.0, lines.append, transport="tcp")
    with pytest.raises(UsageError, match="names no system at a comma"):
        rates.measure("zeromq,,sockets", 800.0, lines.append, transport="tcp")
    assert not asked
    rates.measure("zeromq,sockets,zeromq", 800.0, lines.append, transport="tcp", payload_bytes=200)
    assert [each["system"] for each in asked] == ["zeromq", "sockets"]
    assert all((each["first"], each["rule"], each["payload_bytes"]) == (800, "fixed", 200) for each in asked)
    assert "met at 800/s" in lines[-1] and max(map(len, lines[-1].splitlines())) <= 118


@pytest.mark.slow
def test_each_probe_replays_a_whole_recording_and_the_control_has_poisson_arrivals(monkeypatch, tmp_path, own_systems):
    lines = [json.dumps({"at_s": at_s, "path": "/"}) for at_s in (0, 1, 1, 4, 5, 5, 9)]
    (tmp_path / "shop.jsonl").write_text("\n".join(lines))
    (tmp_path / "shop.yaml").write_text("start: [shop, '{port}']\nrecording: shop.jsonl\n")
    asked = {"system": str(tmp_path / "shop.yaml"), "transport": "tcp", "clients": 1, "callers": 5}
    run, _ = searched(monkeypatch, {"sockets": 10**6, "shop": 300}, arrivals="recorded", **asked)
    for case, window_s in zip(run.measured, run.windows, strict=True):
        if case.system == "sockets":
            assert (case.arrivals, case.callers) == ("poisson", 1)
            continue
        replays = window_s * case.offered_per_s / len(lines)
        assert replays == pytest.approx(round(replays)) and replays > 0.5
        assert (case.arrivals, case.callers) == ("recorded", 5)
    bracket = run.manifest["capacity"]
    assert bracket["low_per_s"] <= 300 < bracket["high_per_s"] and "recording" in answer(run)


@pytest.mark.slow
def test_a_server_of_known_law_is_found_below_its_capacity(command):
    systems.prepare("oracle")  # its program may have to be compiled, which is said
    words = ["--objective", "p90<=200ms", "--clients", "2", "--window-s", "0.4", "--first", "100"]
    finished = command("capacity", "oracle", "ipc", *words, "-o", "{mean_us: 5000}")
    assert finished.returncode == 0, finished.stderr
    run = Run(find("latest"))
    told = unmarked(of_run(run).conclusion(run))
    assert finished.stdout.endswith(f"{told}\n{checks.tally(run).line}\n")
    _, _, *probes, stored, drawn = finished.stdout.partition(told)[0].splitlines()
    low, high = (run.manifest["capacity"][name] for name in ("low_per_s", "high_per_s"))
    assert told in finished.stdout and 0 < low < high and len(probes) >= 8
    assert run.id in stored and run.id in drawn and run.plan.notebook == "capacity" and run.manifest["finished"]
    assert len(run.ledger) == len(probes) == len(run.manifest["capacity"]["probes"])
    conclusion_text = of_run(run).conclusion(run).replace("**", "")
    assert "p90<=200ms" in conclusion_text or "No conclusion" in conclusion_text  # where others leave no CPU to send
    assert "response time p90" in command("show", "latest").stdout
    assert command("capacity", "oracle", "--objective", "fast").returncode == 2


def test_an_interrupted_search_can_be_looked_at(monkeypatch):
    run, _ = searched(monkeypatch, {"sockets": 10**6, "zeromq": 10**6}, lines=3)
    assert not run.manifest["finished"] and len(run.ledger) == 2  # the first line is the control's
    shown = numbers.capacity(run)
    assert not shown["ended"] and shown["met_at_per_s"] is shown["violated_at_per_s"] is None
    figure.whole(run)


def test_a_search_goes_on_below_rates_at_which_everything_is_refused_but_not_behind_a_first_one(monkeypatch):
    refused = {"refused": lambda rate: 400 * (rate > 500)}
    run, _ = searched(monkeypatch, {"sockets": 10**6, "zeromq": 10**6}, **refused)
    assert 400 < run.manifest["capacity"]["low_per_s"] <= 500 < run.manifest["capacity"]["high_per_s"]
    conclusion_text = of_run(run).conclusion(run)
    assert "violated" in conclusion_text and "100% of the requests were answered with an error" in conclusion_text
    figure.whole(run).draw_without_rendering()
    with pytest.raises(SystemFailedError, match=r"600/s.*status 503"):
        searched(monkeypatch, {"sockets": 10**6, "zeromq": 10**6}, first=600, **refused)
