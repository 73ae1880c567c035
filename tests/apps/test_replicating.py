"""The commands that replicate a plan and renew reference runs: what is measured, kept, refused and printed."""

from types import SimpleNamespace

import pytest
from handmade import FACTS, PAIR, handmade, in_turns
from occasions import drawn, occasion

from bench.analysis import acceptance
from bench.apps import notebook, reference_runs, replicating
from bench.errors import DataError, UsageError
from bench.grammar.experiment import Experiment
from bench.measurement.validation.profiles import make_plan
from bench.run import stored
from bench.run.frames import Run


@pytest.mark.parametrize(("text", "wanted"), [("90s", 90), ("30m", 1800), ("1.5h", 5400), ("2d", 172_800), ("0", 0)])
def test_lengths_of_time(text, wanted):
    assert replicating.seconds(text) == wanted
    with pytest.raises(UsageError, match="30m"):
        replicating.seconds(f"{text} or so")


def test_occasions_that_are_here_count_and_a_second_call_continues(monkeypatch, command):
    plan, measured = make_plan("latency", PAIR, starts=6, window_s=0.01), []
    monkeypatch.setattr(Experiment, "plan", lambda self, **arguments: plan)
    monkeypatch.setattr(replicating, "machine_id", lambda: FACTS["machine"]["machine_id"])

    def measure(name, resume, **parameters):
        measured.append((name, resume, parameters))
        return handmade(PAIR, [10, 20], calls=60)

    monkeypatch.setattr(notebook, "measure", measure)
    stored.create(plan, FACTS)  # interrupted: it is no occasion, and is resumed
    handmade(PAIR, [10, 20], calls=60)
    asked = ("-p", "window_s", "0.01", "-p", "seed", "1")
    first = command("replicate", "latency", "--times", "2", *asked)
    assert measured == [("latency", True, {"window_s": "0.01", "seed": 1})] and first.returncode == 0
    assert "Already here: 1 occasion of this plan; wanted: 2" in first.stdout and "hours apart" in first.stdout
    monkeypatch.setattr(replicating, "time", SimpleNamespace(sleep=measured.append))
    last = command("replicate", "latency", "--times", "3", "--apart", "1h", *asked)
    assert 3500 < measured[1] <= 3600 and len(measured) == 3  # after a wait
    assert "sockets ipc on one CPU" in last.stdout and "3 occasions on 1 machine" in last.stdout


def test_each_occasion_of_a_machine_has_an_order_of_its_own_which_a_second_call_repeats(monkeypatch):
    plan = make_plan("latency", PAIR, starts=6, window_s=0.01)
    monkeypatch.setattr(replicating, "machine_id", lambda: "here")
    plans = [replicating.of_occasion(plan, {}, number) for number in range(5)]
    assert len({occasion_plan.seed for occasion_plan in plans}) == 5 and plans == [
        replicating.of_occasion(plan, {}, n) for n in range(5)
    ]
    monkeypatch.setattr(replicating, "machine_id", lambda: "there")
    assert replicating.of_occasion(plan, {}, 0).seed != plans[0].seed
    assert replicating.of_occasion(plan, {"seed": "7"}, 0) == plan


def test_what_cannot_be_replicated_is_refused(command):
    with pytest.raises(UsageError, match="until_width"):
        replicating.planned("compare", {"until_width": "2%"})
    for words, wanted in [
        (("capacity",), "one case"),
        (("latency", "-p", "source", "reference"), "source is not for a plan"),
        (("classroom",), "measures nothing"),
        (("latency", "A"), "--runs goes with"),
        (("latency", "--runs"), "--runs goes with"),
        (("latency", "--apart", "soon"), "no length of time"),
        (("latency", "--against", "nowhere.json"), "cannot read occasions from nowhere.json"),
    ]:
        refused = command("replicate", *words)
        assert wanted in refused.stderr and refused.returncode in (1, 2), refused


def test_occasions_are_kept_in_one_small_file(tmp_path):
    file, runs = tmp_path / "new" / "overview.json", drawn(1, 3, {"a": 1.0, "b": 2.0}, tau=0.05)
    replicating.keep(runs[:2], file, "overview")
    assert replicating.keep(runs[1:], file, "overview").occasions == runs  # each once
    assert replicating.load(file).occasions == runs
    assert replicating.read([str(file)], "overview") == runs
    assert len(file.read_text().splitlines()) == 1 + 3 + 9  # a line for each occasion and each case
    with pytest.raises(UsageError, match="latency"):
        replicating.read([str(file)], "latency")
    with pytest.raises(DataError, match="--although"):
        replicating.keep([occasion(7, {"a": 1.0}, dirty=True)], file, "overview")
    assert len(replicating.keep([occasion(7, {"a": 1.0}, dirty=True)], file, "overview", although=True).occasions) == 4
    for text in ("", "[]", '{"version": 9, "notebook": "overview", "occasions": []}', '{"version": "1"}'):
        file.write_text(text)
        with pytest.raises(DataError):
            replicating.load(file)


def test_runs_are_analysed_without_measuring_and_compared_with_what_was_published(tmp_path, command):
    file = tmp_path / "latency.json"
    names = [handmade(PAIR, [10 * level, 20 * level], calls=60, shape=None).id for level in (1, 1.01, 1.02)]
    shown = command("replicate", "latency", "--runs", *names, "--keep", str(file))
    assert shown.returncode == 0 and "holds 3 occasions" in shown.stdout
    other = handmade(PAIR, [8, 20], calls=60).id
    against = command("replicate", "latency", "--runs", other, "--against", str(file))
    assert "forecast from earlier occasions of this machine" in against.stdout
    assert "1 of 2 ratios (50%) lie inside" in against.stdout
    assert "outside: sockets ipc on one CPU over zeromq ipc on one CPU, RTT: 2.5 here, forecast 2 [" in against.stdout


def test_a_run_that_is_too_large_is_refused_after_its_first_measurement_and_not_kept(monkeypatch, tmp_path, command):
    run, measurements = in_turns([10, 15], blocks=2, rounds=2, calls=30), []
    monkeypatch.setattr(reference_runs, "measured", lambda name, say: measurements.append(name) or run)
    monkeypatch.setattr(reference_runs.paths, "reference", lambda: tmp_path)
    monkeypatch.setattr(reference_runs, "MOST_BYTES", 1000)
    refused = command("reference", "compare", "--although")
    assert refused.returncode == 1 and measurements == ["compare"] and not (tmp_path / "compare").exists()
    assert all(words in refused.stderr for words in ("at most 0.001 MB", "window_s", "reference_runs.yaml"))


def test_what_a_kept_run_misses_is_in_its_manifest_and_shown(monkeypatch, tmp_path, command):
    run = in_turns([10, 15], blocks=2, rounds=2, calls=30)
    monkeypatch.setattr(reference_runs, "measured", lambda name, say: run)
    monkeypatch.setattr(reference_runs.paths, "reference", lambda: tmp_path)
    monkeypatch.setattr(reference_runs, "git_revision", lambda: {"revision": "abc", "dirty": True})
    refused = command("reference", "compare")
    assert refused.returncode == 2 and "--although" in refused.stderr
    done = command("reference", "compare", "--although")
    assert "compare: kept in" in done.stdout and "kept although: it has 2 blocks" in done.stdout
    kept = Run(stored.find(str(tmp_path / "compare")))
    assert kept.manifest["kept_although"] == acceptance.misses(run)
    assert "kept although  it has 2 blocks" in command("show", str(tmp_path / "compare")).stdout
    assert command("reference", "classroom").returncode == 2
