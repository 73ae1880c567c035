"""Calls of several hosts: pooled where hosts agree, and rates over the window that all share.

Else those of the slowest host are described; of the host that measures latency where there is one. Every check about a
machine names its host.
"""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from far_hosts import far_case, far_run
from handmade import PAIR, handmade, noisy

from bench import stats
from bench.analysis import checks, per_host, quantiles
from bench.analysis.comparison import compare
from bench.analysis.resources import resources
from bench.analysis.trust_card import CAUTION, NOTHING, PASS
from bench.errors import DataError
from bench.grammar import figure as panels
from bench.grammar import result_tables
from bench.measurement.capacity_search import judged
from bench.plan.case import Case
from bench.plan.objective import objective
from bench.run.frames import P50, column
from bench.run.merging import ALONE, LATENCY, POOLED, SLOWEST
from bench.run.start_record import StartRecord

TWO = far_case(clients=4)


def quantile_of(run, per_host, p, start=0):
    """The quantile of a start's calls of some hosts, from the samples as they are stored."""
    rows = run.samples[(run.samples["start"] == start) & run.samples["warm"] & run.samples["host"].isin(per_host)]
    return stats.quantile(rows["rtt_ns"].to_numpy() / 1e3, p)


def test_each_call_is_its_host_s_and_clients_are_dealt_in_turn():
    run = far_run([far_case(clients=3, callers=2)], ["a", "b"], {"a": 10, "b": 1000, "l": 100}, latency="l", calls=50)
    for host, us, clients in (("a", 10, [0, 1, 4, 5]), ("b", 1000, [2, 3]), ("l", 100, [6, 7])):
        rows = run.samples[run.samples["host"] == host]
        assert sorted(rows["client"].unique()) == clients
        assert (rows["rtt_ns"] / 1e3).between(us, 1.06 * us).all()
    assert run.case(0).processes == 4 and len(run.samples) == run.ledger["calls"].sum()


def test_hosts_that_agree_are_pooled():
    run = far_run([TWO], ["a", "b"], {"a": 100, "b": 101})
    one = run.merged[0]
    assert (one.kind, one.host, one.verdict) == (POOLED, "", "agree") and set(one.tested) == {0.5, 0.99}
    for p in (0.5, 0.99):
        assert run.starts.loc[0, column(p)] == quantile_of(run, ["a", "b"], p)
    assert run.count(0) == len(run.samples[run.samples["warm"]])
    assert per_host.hosts(run).verdict == PASS
    assert "hosts a and b" in result_tables.calls(run)["quantiles of"].iloc[0]


def test_hosts_that_differ_are_not_pooled_and_the_slowest_is_described():
    run = far_run([TWO], ["a", "b"], {"a": 100, "b": 130})
    assert (run.merged[0].kind, run.merged[0].host, run.merged[0].verdict) == (SLOWEST, "b", "differ")
    assert run.starts.loc[0, P50] == quantile_of(run, ["b"], 0.5) > quantile_of(run, ["a", "b"], 0.5)
    assert quantiles.quantile(run, 0, 0.99).has == run.count(0) == len(quantiles.times(run, 0, "rtt"))
    card = per_host.hosts(run)
    assert card.verdict == CAUTION and re.search(r"host b\b.*p50 of b is 1\.30x \[1\.30, 1\.30\]", card.found)
    assert "host b" in result_tables.calls(run)["quantiles of"].iloc[0]
    table = result_tables.hosts(run)
    assert table["host"].to_list() == ["a", "b"] and table["described"].to_list() == ["no", "yes"]
    assert "p50 0.77x" in table["ratio to other hosts that load"].iloc[0]


def test_a_tail_that_differs_is_not_pooled_though_the_medians_agree():
    def tail(name, start, calls):
        return np.where(np.arange(calls) % 20 == 0, 10 if name == "b" else 5, 1)

    run = far_run([TWO], ["a", "b"], {"a": 100, "b": 100}, shape=tail)
    assert (run.merged[0].kind, run.merged[0].host) == (SLOWEST, "b")
    assert "2.00x" in per_host.hosts(run).found


def test_below_six_starts_nothing_is_pooled_and_it_is_said():
    run = far_run([TWO], ["a", "b"], {"a": 100, "b": 101}, starts=2)
    card = per_host.hosts(run)
    assert (run.merged[0].kind, run.merged[0].host) == (SLOWEST, "b")
    assert card.verdict == CAUTION and card.advice


def test_the_host_that_measures_latency_alone_is_described_whether_others_agree_or_not():
    for other in (100, 300):
        run = far_run([TWO], ["a", "b"], {"a": 100, "b": other, "l": 20}, latency="l")
        assert (run.merged[0].kind, run.merged[0].host) == (LATENCY, "l")
        assert run.starts.loc[0, P50] == quantile_of(run, ["l"], 0.5) < 22
        assert run.distribution_us(0)[0].max() < 22 and quantiles.times(run, 0, "rtt").max() < 22
        assert per_host.hosts(run).verdict == NOTHING
        assert "host l " in result_tables.calls(run)["quantiles of"].iloc[0] and "host l " in panels.caption(run)
        assert result_tables.hosts(run)["described"].to_list() == ["no", "no", "yes"]


def test_one_host_that_loads_needs_no_agreement():
    run = far_run([far_case(clients=1)], ["a", "b"], {"a": 100})
    assert run.merged[0].kind == ALONE and run.starts.loc[0, P50] == quantile_of(run, ["a"], 0.5)
    assert per_host.described(run, 0) == "host a" and per_host.hosts(run).verdict == NOTHING


def test_the_rate_is_of_the_window_in_which_all_hosts_load():
    run = far_run([far_case(clients=2)], ["a", "b"], {"a": 100, "b": 100}, late_ns={"b": 50_000_000}, starts=1)
    rows = run.samples.assign(end=run.samples["t_send_ns"] + run.samples["rtt_ns"])
    began = rows.groupby("host", observed=True)["t_send_ns"].min().max()
    ended = rows.groupby("host", observed=True)["end"].max().min()
    assert (began, ended - began < 60_000_000) == (50_000_000, True)
    both = ((rows["end"] > began) & (rows["end"] <= ended)).sum()
    per_call = 1e9 / (ended - began)  # each host has a call that its edge of the window cuts
    assert run.starts.loc[0, "rate_per_s"] == pytest.approx(both * per_call, abs=2 * per_call)
    assert run.starts.loc[0, "rate_per_s"] == pytest.approx(2 / 100e-6, rel=0.01)
    whole = len(rows) / run.ledger.loc[0, "window_s"]
    assert whole < 0.7 * run.starts.loc[0, "rate_per_s"]


def test_an_open_load_compares_response_times():
    run = far_run([far_case(clients=2, load="open", offered_per_s=100.0)], ["a", "b"], {"a": 100, "b": 200})
    assert run.merged[0].host == "b" and "host b" in result_tables.loads(run)["quantiles of"].iloc[0]


LIMITS = {
    "steal": ({"steal_ns": 50_000_000}, "host b: .*guests"),
    "throttled": ({"throttled_ns": 5_000_000}, "host b: .*throttled"),
    "collections": ({"gc_collections": 5000}, "host b: .*30000 "),
    "other work": ({"machine_busy_ns": 10**9}, "host b: .*processes"),
}


@pytest.mark.parametrize("name", LIMITS)
def test_a_check_about_a_machine_names_the_host(name):
    rows, words = LIMITS[name]
    quiet = far_run([far_case(clients=2)], ["a", "b"], {"a": 200, "b": 200}, calls=2000)
    assert checks.machine(quiet).verdict == PASS and "3 hosts" in checks.machine(quiet).found
    run = far_run([far_case(clients=2)], ["a", "b"], {"a": 200, "b": 200}, calls=2000, rows={"b": rows})
    check = checks.machine(run)
    assert check.verdict == CAUTION and re.search(words, check.found) and "host a" not in check.found


def test_a_host_whose_clients_saturate_its_cpus_is_named_as_the_limit():
    window_ns = 1000 * 100_000 * 1.02
    busy = {"a": 10**7, "b": int(2 * window_ns), "s": 10**6}
    run = far_run([far_case(clients=4)], ["a", "b"], {"a": 100, "b": 100}, busy=busy)
    check = checks.client(run)
    assert check.verdict == PASS and "host b" in check.found and "need not be" in check.found
    assert "host b" in resources(run, 0)[0].name and resources(run, 0)[0].roles == ("client",)
    assert checks.client_limited(run) == [0] and "host b" in checks.limit(run).found
    server = next(one for one in resources(run, 0) if one.roles == ("server",))
    assert server.cpus == 4  # of its own host, not of this machine


def test_spinning_until_requests_are_due_is_no_use_of_a_host_s_cpus():
    case, busy = far_case(clients=2, load="open", offered_per_s=10_000), {"a": 40_000_000, "b": 30_000_000}
    spun = {"a": {"pacing_cpu_ns": 30_000_000}}
    run = far_run([case], ["a", "b"], {"a": 100, "b": 100}, busy=busy, rows=spun)
    window_ns = 1e9 * run.ledger["window_s"].mean()
    assert run.cases["client_cpu_share"].to_numpy() == pytest.approx([30_000_000 / window_ns], rel=0.05)
    assert per_host.busiest(run, 0) == ("b", pytest.approx(30_000_000 / window_ns, rel=0.05))
    assert resources(run, 0)[0].busy == pytest.approx(30_000_000 / window_ns, rel=0.05)
    assert [row["cpu_ns"] for _, row in run.hosts.query("host == 'a'").iterrows()] == [40_000_000] * 6


@pytest.mark.parametrize(("latency", "is_kept"), [(None, False), ("l", True)])
def test_a_capacity_is_judged_by_the_host_that_measures_latency(latency, is_kept):
    slow, fast = (np.array([[0, 0], [us * 1000, us * 1000], [0, 0]]) for us in (9000, 1000))
    calls = [np.repeat(one[:, :1], 500, axis=1) for one in (slow, slow, slow, slow, fast, fast)]
    rows = [{"role": "server", "clients": 0, "first_client": None}, {"role": "load", "clients": 2, "first_client": 0}]
    rows += [{"role": "latency", "clients": 1, "first_client": 2}] if latency else []
    record = StartRecord({"calls": 3000, "scheduled": 3000}, calls=calls, tables={"hosts": rows if latency else []})
    assert judged(record, 100.0, objective("p95<5ms")).kept == is_kept


def test_runs_are_compared_whatever_the_address_of_their_scheduler_and_only_with_the_same_roles():
    run, again = (
        far_run([far_case(clients=2, hosts={"scheduler": f"tcp://10.0.0.{n}:8786"})], ["a", "b"], {"a": 100, "b": 100})
        for n in (1, 2)
    )
    assert compare(run, again)
    with pytest.raises(DataError):
        compare(run, far_run([far_case(clients=2)], ["a", "b"], {"a": 100, "b": 100, "l": 100}, latency="l"))
    with pytest.raises(DataError):
        compare(run, handmade([Case("sockets", "tcp", clients=2, placement="free")], [100]))


WRONG = {
    "role": {"role": "all"},
    "too many clients": {"clients": 2**31 - 1},
    "fewer clients": {"clients": 0, "first_client": None},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_table_of_hosts_that_cannot_be_is_refused(name):
    run = far_run([TWO], ["a", "b"], {"a": 100, "b": 100}, calls=50, rows={"b": WRONG[name]})
    with pytest.raises(DataError, match="start 0"):
        run.cases.to_string()


def test_a_run_of_one_machine_has_nothing_of_it():
    run = handmade(PAIR, [50, 30], shape=noisy)
    assert run.merged == {} and run.hosts.empty and "host" not in run.samples
    assert result_tables.hosts(run).empty and "quantiles of" not in result_tables.calls(run)
    assert per_host.headline(run) == "" and "Hosts:" not in panels.caption(run)
    assert len(checks.check(run)) == len(checks.ALL)


def test_a_host_that_stands_still_for_two_seconds_is_a_caution():
    def stood_still(name, start, many):
        factors = np.ones(many)
        factors[many // 2] = 20_000 if (name, start) == ("b", 3) else 1
        return factors

    check = per_host.stalls(far_run([TWO], ["a", "b"], {"a": 100, "b": 100}, shape=stood_still))
    assert check.verdict == CAUTION and "host b got no reply for 2.1 s in start 3" in check.found
    assert per_host.stalls(far_run([TWO], ["a", "b"], {"a": 100, "b": 130})).verdict == PASS


@pytest.mark.parametrize(("ends_s", "verdict"), [(10, PASS), (1, CAUTION)])
def test_a_host_that_gets_no_more_replies_has_stalled(ends_s, verdict):
    def replies(host, until_s):
        at_ns = np.arange(0, until_s, 1e-3) * 1e9
        return pd.DataFrame({"start": 0, "host": host, "t_send_ns": at_ns, "rtt_ns": 5e5, "lag_ns": 0})

    samples = pd.concat([replies("a", 10), replies("b", ends_s)], ignore_index=True)
    run = SimpleNamespace(samples=samples, ledger=pd.DataFrame({"case": [0]}), case=lambda number: TWO)
    assert per_host.stalls(run).verdict == verdict
