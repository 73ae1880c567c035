"""Reply streams of runs made by hand: quantiles, what is overdue, where replies are late, the steps of the origin."""

import math

import numpy as np
import pandas as pd
import pytest
from handmade import recorded, usual

from bench import systems
from bench.analysis import checks, stream_schedules
from bench.experiments import streaming
from bench.grammar import figure
from bench.grammar.experiment import experiment
from bench.grammar.result_tables import reply_streams as table
from bench.plan.case import Case
from bench.run import reply_stream_times
from bench.run.start_record import StartRecord

SHARED = {"load": "reply_stream", "payload_bytes": 100, "replies": 5, "reply_bytes": 50}
GAP_US = 1000


def streamed(cases, first_us, pacing_us, transit_us, starts=6, each=100, broken=0, silence_us=0, **ledger):
    """Return a run in which each start of a case has ``each`` streams with these times, and a start adds 1 % of them.

    The last ``broken`` streams of a start have one reply and no end. The second reply comes ``silence_us`` late.
    """

    def record(start, block, index):
        case, more = cases[index], 1 + block / 100
        first, pacing, transit = (int(1000 * times_us[index] * more) for times_us in (first_us, pacing_us, transit_us))
        whole = np.arange(each) < each - broken
        sizes = np.where(whole, case.replies, 1)
        gap = case.gap_us * 1000 or transit
        streams = {
            "client": np.zeros(each, "i4"), "stream": np.arange(each, dtype="i4"), "t_send_ns": np.arange(each) * 10**7,
            "first_ns": np.full(each, first), "last_ns": np.where(whole, first + gap * (case.replies - 1), first),
            "replies": sizes, "is_complete": whole,
        }  # fmt: skip
        stream = np.repeat(np.arange(each, dtype="i4"), sizes)
        number = np.concatenate([np.arange(size) for size in sizes])
        count = len(stream)
        gaps = np.where(number == 0, first, gap) + (number == 1) * 1000 * silence_us
        replies = {
            "stream": stream, "gap_ns": gaps, "pacing_ns": np.full(count, pacing),
            "transit_ns": np.full(count, transit),
        }  # fmt: skip
        known = usual(count, 1.0, **{"errors": broken, "streams": each - broken} | ledger)
        return StartRecord(known, tables={"streams": streams, "replies": replies})

    return recorded("streaming", cases, record, starts)


def paced(system, callers=1, options=None, transport="tcp", gap_us=GAP_US):
    return Case(system, transport, options=options or {}, callers=callers, gap_us=gap_us, **SHARED)


def test_quantiles_are_those_of_the_streams_and_of_their_gaps():
    run = streamed([paced("sockets")], [100], [20], [30])
    row = run.cases.loc[0]
    assert run.starts["p50_first_us"].tolist() == pytest.approx([100, 101, 102, 103, 104, 105], abs=0.001)
    assert row["p50_gap_us"] == 1000 and row["p50_pacing_us"] == pytest.approx(20.5)
    assert row["p90_first_us"] == pytest.approx(102.5) and np.isnan(row["p99_first_us"])  # 100 streams do not carry it
    assert row["p90_gap_us"] == 1000 and row["overdue"] == 0
    assert run.count(0) == 6 * 500


def test_the_rate_counts_messages_while_all_callers_have_streams():
    run = streamed([paced("sockets")], [100], [20], [30])
    last = 99e7 + 100e3 + 4e6
    assert run.starts["rate_per_s"].iloc[0] == pytest.approx(500 / (last / 1e9), rel=1e-9)
    assert run.starts["rate_mbit_per_s"].iloc[0] == pytest.approx(run.starts["rate_per_s"].iloc[0] * 50 * 8 / 1e6)


@pytest.mark.parametrize(("rounds", "rate_per_s"), [(3, 1000), (1, math.nan)])
def test_the_rate_leaves_out_the_time_in_which_streams_begin_and_end(rounds, rate_per_s):
    """Ten callers begin 1 ms apart; a stream has ten messages in 10 ms, of which none comes in the first."""
    clients = np.repeat(np.arange(10), rounds)
    sent_ns = 10**6 * (clients + 10 * np.tile(np.arange(rounds), 10))
    rows = pd.DataFrame({"client": clients, "t_send_ns": sent_ns, "first_ns": 0, "last_ns": 10**7, "replies": 10})
    assert reply_stream_times._rate_per_s(rows) == pytest.approx(10 * rate_per_s, rel=0.01, nan_ok=True)


def test_replies_more_than_a_gap_late_are_overdue():
    run = streamed([paced("sockets"), paced("zeromq")], [100, 1200], [20, 300], [30, 400])
    assert run.cases["overdue"].tolist() == [0, pytest.approx(0.2)]  # the first of five
    assert [stream_schedules.is_behind(row) for _, row in run.cases.iterrows()] == [False, True]
    late = streamed([paced("sockets")], [100], [600], [401])
    assert late.cases.loc[0, "overdue"] == pytest.approx(0.8)


def test_streams_that_broke_are_counted_and_in_no_quantile():
    run = streamed([paced("sockets")], [100], [20], [30], broken=10)
    assert len(run.streams[~run.streams["is_complete"]]) == 60
    assert run.starts["p50_gap_us"].notna().all() and run.ledger["errors"].sum() == 60
    assert "90, 10" not in table(run).to_string() and "540, 60" in table(run).to_string()
    assert checks.answers(run).verdict == "INVALID"  # more than one of a thousand


def test_where_replies_are_late():
    run = streamed([paced("sockets"), paced("zeromq")], [100, 200], [30, 90], [10, 30])
    one = stream_schedules.lateness(run, 1)
    assert one.pacing[0] == pytest.approx(91.8) and one.transit[0] == pytest.approx(30.6)  # the lower median of six
    assert one.pacing_share == pytest.approx(0.75) and stream_schedules.common(run) == 1
    assert streaming.tables["lateness"](run).loc["zeromq", "timer's share of both"] == "75%"


@pytest.mark.parametrize(
    ("known", "is_named"),
    [
        ({"tcp_delayed_acks": 1}, True),
        ({"tcp_delayed_acks": 0}, False),
        ({"tcp_delayed_acks": 1, "server_cpu_ns": 99 * 10**7}, False),
    ],
    ids=["an ACK for the silence", "no delayed ACK", "a saturated CPU"],
)
def test_messages_behind_schedule_are_nagles_only_if_each_silence_has_a_delayed_ack_and_no_cpu_is_saturated(
    known, is_named
):
    run = streamed([paced("sockets")], [100], [20], [1500], each=1, silence_us=42_000, **known)
    stalls = stream_schedules.delayed_ack_stalls(run, 0)
    assert (stalls is not None) is is_named and run.cases.loc[0, "overdue"] > stream_schedules.MOST_OVERDUE
    if stalls:
        assert stalls.silence_us == pytest.approx(43_000, rel=0.03) and stalls.silences == stalls.delayed_acks == 1


def test_streams_of_a_service_are_drawn_and_concluded_without_a_schedule(tmp_path, own_systems):
    file = tmp_path / "tokens.yaml"
    file.write_text("start: [x, '{port}']\nrequests: [{name: tokens, http: {path: /, stream: sse}}]\n")
    name = systems.adopt(str(file))

    def record(start, block, index):
        streams = {
            "client": np.zeros(120, "i4"), "stream": np.arange(120, dtype="i4"), "t_send_ns": np.arange(120) * 10**7,
            "first_ns": np.full(120, 2_000_000), "last_ns": np.full(120, 11_000_000), "replies": np.full(120, 10),
            "is_complete": np.ones(120, bool),
        }  # fmt: skip
        gap_ns = np.tile([2_000_000, *[1_000_000] * 9], 120)
        gap_ns[5::50] = 7_000_000
        replies = {"stream": np.repeat(np.arange(120, dtype="i4"), 10), "gap_ns": gap_ns}
        replies |= dict.fromkeys(("pacing_ns", "transit_ns"), [None] * 1200)
        return StartRecord(usual(1200, 1.0, streams=120), tables={"streams": streams, "replies": replies})

    own = [Case(name, "tcp", load="reply_stream", callers=count) for count in (1, 10)]
    run = recorded("streaming", own, record, 6)
    row = run.cases.loc[0]
    assert (row["p50_first_us"], row["p50_gap_us"], row["p99_gap_us"]) == (2000, 1000, 7000)
    assert np.isnan([row["overdue"], row["p50_transit_us"], row["p50_uneven_us"], row["rate_mbit_per_s"]]).all()
    drawn = figure.whole(run)
    drawn.draw_without_rendering()
    assert sum(len(axes.lines) > 0 for axes in drawn.axes) == 3  # and bars of CPU time
    assert f"{run.case(0).payload_bytes:,} B" not in figure.caption(run)  # the service's requests have other sizes
    assert all(f"**{value} ms**" in experiment("streaming").conclusion(run) for value in ("2.00", "1.00", "7.00"))


def test_replies_that_the_server_sent_into_streams_that_broke_are_no_contradiction():
    one = streamed([paced("sockets")], [100], [20], [30], broken=1, server_calls=500)
    other = streamed([paced("sockets")], [100], [20], [30], broken=1, server_calls=502)
    assert checks.answers(one).found != checks.answers(other).found and "502" in checks.answers(other).found
