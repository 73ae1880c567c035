"""anatomy: what its stored run shows, what it refuses, and its traces for other programs."""

import dataclasses
from pathlib import Path

import pandas as pd
import pytest

from bench.analysis import anatomy
from bench.analysis.anatomy import ROWS
from bench.apps import perfetto, tracing
from bench.errors import UsageError
from bench.experiments import anatomy as experiment
from bench.grammar.choose import chosen
from bench.measurement import trace
from bench.plan.case import Case
from bench.run import stored
from bench.run.frames import Run
from tests.handmade import FACTS, handmade, reference


@pytest.fixture(scope="module")
def run() -> Run:
    """Return the reference run."""
    return reference("anatomy")


def traced(run: Run) -> list[int]:
    """Return the traced cases of a run."""
    return run.find(traced=True)


def test_the_rows_of_every_explained_call_add_up_to_its_rtt(run: Run) -> None:
    for case in traced(run):
        rows = anatomy.breakdown(run, case)
        assert len(rows) > 100
        assert (rows[list(ROWS)].sum(axis=1) == rows["rtt_ns"]).all()
        assert anatomy.explained_share(run, case) >= 0.98


def test_traced_calls_are_calls_of_the_run(run: Run) -> None:
    for case in traced(run):
        for call in anatomy.calls(run, case)[:50]:
            made = run.calls.of_start(call.start)
            assert ((made.t_send_ns == call.sent_ns) & (made.rtt_ns == call.rtt_ns)).sum() == 1


def test_a_case_that_was_not_traced_has_no_breakdown(run: Run) -> None:
    for case in run.find(traced=False):
        assert not len(anatomy.breakdown(run, case)) and not anatomy.counts(run, case)
        assert anatomy.call_nearest(run, case, 0.5) is None


def test_the_time_in_system_calls_is_the_kernels_row(run: Run) -> None:
    for case in traced(run):
        usual = anatomy.typical(run, case)
        of_kernel = sum(usual[row].mean() / 1e3 for row in ROWS if row[1] == "kernel")
        assert sum(anatomy.kernel_us(run, case).values()) == pytest.approx(of_kernel, rel=0.05)


@pytest.mark.parametrize("starts", [1, 2, 7, 8])
def test_rows_add_up_to_the_mean_of_the_middle_starts(starts: int) -> None:
    levels = [100.0, 1.0, 50.0, 2.0, 60.0, 70.0, 3.0, 80.0][:starts]
    first, second = pd.Series(levels), 2 * pd.Series(levels[::-1])
    row_means = experiment.middle_half({ROWS[0]: first, ROWS[1]: second})
    whole = sorted(first + second)
    middle = whole if starts < 3 else whole[2:5] if starts == 7 else whole[2:6]
    assert sum(row_means.values()) == pytest.approx(sum(middle) / len(middle))


def test_without_the_right_to_trace_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "why_not", lambda: "tracing takes the rights of root")
    assert experiment.why_not() == "tracing takes the rights of root"
    with pytest.raises(UsageError, match="-p source reference"):
        tracing.text("reference/placement", (), print)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (Case("zeromq", "ipc"), True),
        (Case("zeromq", "inproc"), False),
        (Case("zeromq", "tcp", callers=2), False),
        (Case("zeromq", "tcp", load="open", offered_per_s=5), False),
        (Case("zeromq", "tcp", target="tcp://127.0.0.1:9"), False),
        (Case("loopback", "inproc"), False),
    ],
)
def test_which_cases_can_be_explained(case: Case, *, expected: bool) -> None:
    assert tracing.can_be_traced(case) is expected


def test_a_run_without_such_cases_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "why_not", lambda: None)
    with pytest.raises(UsageError, match="no case that can be traced"):
        tracing.text("reference/retries", (), print)
    with pytest.raises(UsageError, match="has nothing in its name"):
        tracing.text("reference/placement", ("nothing",), print)


@pytest.mark.usefixtures("own_systems")
def test_the_latest_is_the_newest_run_that_can_be_traced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "why_not", lambda: None)
    with pytest.raises(UsageError, match=r"no run has a case.*run latency makes one"):
        tracing.text("latest", (), print)
    closed = handmade([Case("prices", "tcp")], [100], is_checked=False)
    other = handmade([Case("zeromq", "tcp")], [100])
    handmade([Case("zeromq", "tcp", load="open", offered_per_s=5)], [100])
    stored.create(other.plan, FACTS)  # of which nothing was measured
    newest_ids = [folder and folder.id for folder in map(tracing.newest, ("", "prices", "users"))]
    assert newest_ids == [other.id, closed.id, None]
    with pytest.raises(UsageError, match=rf"trace FOLDER/prices\.yaml, or .*=FOLDER \S+ trace {closed.id}"):
        tracing.text(closed.id, (), print)
    (tmp_path / "users.yaml").write_text("address: http://127.0.0.1:9\nrequests: [{name: a, http: {path: /}}]\n")
    with pytest.raises(UsageError, match="users runs already, so its calls cannot be traced"):
        tracing.text(str(tmp_path / "users.yaml"), (), print)


@pytest.mark.usefixtures("own_systems")
def test_a_service_without_a_run_is_measured_before_it_is_traced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "users.yaml").write_text("start: [server, '{port}']\nrequests: [{name: a, http: {path: /}}]\n")
    measured = handmade([Case("zeromq", "tcp")], [100])
    asked: list[object] = []
    monkeypatch.setattr(tracing.notebook, "measure", lambda *names, **more: asked.append((*names, more)) or measured)
    monkeypatch.setattr(trace, "why_not", lambda: None)
    with pytest.raises(UsageError, match="no case that can be traced"):  # of users: the run here is of another system
        tracing.text(str(tmp_path / "users.yaml"), (), print)
    assert asked == [("latency", {"system": "users", "transport": "tcp", "profile": "smoke"})]


def traced_service() -> tuple[Run, pd.DataFrame]:
    """Return a run of a service with three requests, and a breakdown of 1,000 calls, of which every tenth is slow."""
    run = handmade([Case("zeromq", "tcp", traced=traced) for traced in (False, True)], [100, 110], notebook="anatomy")
    vars(run)["calls"] = dataclasses.replace(run.calls, requests=("price", "report", "login"))
    names = pd.Index(["start", "request", "rtt_ns", *ROWS], tupleize_cols=False)
    made = pd.DataFrame(0, index=range(1000), columns=names)
    made["request"] = [1 if number % 10 == 0 else 0 for number in made.index]
    made.loc[3, "request"] = 2  # once: nothing is said of it
    made["rtt_ns"] = made[ROWS[0]] = 50_000 + 950_000 * (made["request"] == 1)
    return run, made


def test_the_slowest_calls_are_those_that_no_other_process_made_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    run, made = traced_service()
    monkeypatch.setattr(anatomy, "breakdown", lambda run, case: made[made["start"] == 1 - case])
    costly, interrupted = range(0, 250, 10), range(5, 205, 10)  # 25 reports; 20 prices, which take longer
    made["server", "user"] = [1_000_000 * (number in costly) for number in made.index]
    made["", "another process"] = [9_000_000 * (number in interrupted) for number in made.index]
    made["rtt_ns"] = made[list(ROWS)].sum(axis=1)
    table = experiment.slow_table(run)
    row = table.loc["zeromq tcp: server, user code"]
    assert (row["slow calls"], row["slowest"], row["left out: another process ran"]) == ("10 report", "1.00 ms", 20)
    of_request = table.loc["zeromq tcp, report: server, user code"]
    assert (of_request["slow calls"], of_request["left out: another process ran"]) == (5, 0)
    assert of_request["share of the difference of the RTT"] == "100 %"
    made.drop(made.index[90:], inplace=True)
    assert not len(experiment.slow_table(run))  # five of so few are not the slowest


def test_each_request_of_a_service_has_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    run, made = traced_service()
    monkeypatch.setattr(anatomy, "breakdown", lambda run, case: made[made["start"] == 1 - case])
    table = experiment.rows_table(run)
    expected = {"zeromq tcp": "50.0 µs", "zeromq tcp, price": "50.0 µs", "zeromq tcp, report": "1.00 ms"}
    assert table.loc["mean RTT of the middle half of the calls"].to_dict() == expected
    assert table.loc["traced / not traced"].iloc[0] and not table.loc["traced / not traced"].iloc[1]
    monkeypatch.setattr(anatomy, "breakdown", lambda run, case: made[made["request"] == 1])
    assert not anatomy.requests(run, 1)


def test_cases_that_differ_in_an_option_only_are_compared_with_themselves() -> None:
    boxes = [Case("mystery", "tcp", 100, {"box": box}, traced=traced) for box in "ab" for traced in (False, True)]
    run = handmade(boxes, [100, 110, 1000, 1200], notebook="anatomy")
    assert [round(ratio.interval.middle, 2) for ratio in experiment.probe_effect.ratios(run)] == [1.1, 1.2]
    assert [experiment.name_of(run, case) for case in traced(run)] == ["mystery tcp a", "mystery tcp b"]
    assert not chosen(run, experiment.LIBRARIES)  # of an instrument nothing is claimed


def test_slices_are_longer_where_calls_are_slow() -> None:
    assert tracing.slice_for([30e-6]) == tracing.SLICE_S
    assert tracing.slice_for([30e-6, 0.041]) == pytest.approx(0.164)
    assert tracing.slice_for([5.0]) == tracing.LONGEST_S


def test_traces_for_a_viewer_have_spans_of_every_role_and_arrows_in_pairs(run: Run) -> None:
    case = traced(run)[-1]
    document = perfetto.document(run, case)
    assert document is not None
    events = document["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    spans = [event for event in events if event["ph"] == "X"]
    assert {names[event["pid"]] for event in spans} == {"calls", "client", "server"}
    assert all(event["dur"] >= 0 for event in spans)
    assert len([event for event in spans if event["name"] == "call"]) == len(anatomy.calls(run, case))
    begins, ends = ([event["id"] for event in events if event["ph"] == kind] for kind in "sf")
    assert begins == ends and len(set(begins)) == len(begins)
    assert perfetto.document(run, run.find(traced=False)[0]) is None
