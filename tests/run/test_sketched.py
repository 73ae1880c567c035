"""Starts whose samples stayed on hosts: quantiles within the bound of the sketches, all counts and means exact."""

import json
from functools import cache

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from far_hosts import far_case, far_run
from handmade import file_by_file, reference
from hypothesis import given, settings
from hypothesis import strategies as some

from bench import stats
from bench.analysis import checks, overload, per_host, quantiles
from bench.analysis.trust_card import PASS
from bench.apps import listing
from bench.errors import DataError
from bench.experiments import panels, tables
from bench.experiments.latency import text
from bench.run import integrity, schema, sketched, stored
from bench.run.files import table_bytes
from bench.run.folder import Folder
from bench.run.frames import Run, column, was_waiting
from bench.run.merging import POOLED
from bench.stats import sketches
from bench.stats.sketches import Sketch

pytestmark = pytest.mark.slow

BOUND = sketches.ACCURACY * (1 + 1e-9)
WINDOW_NS = 1_000_000_000


def uneven(name, start, calls):
    """Calls with a tail, other ones in each start and on each host."""
    return np.random.default_rng([start, ord(name)]).lognormal(0, 0.05, calls)


def calls_of(seed, callers=2, n=3000, is_open=False):
    """Return the calls of a process: send, reply and perhaps due times of each caller."""
    chance = np.random.default_rng(seed)
    found = []
    for _ in range(callers):
        rtt = chance.lognormal(12, 0.8, n).astype("i8")
        sent = np.concatenate([[1000], 1000 + np.cumsum(rtt + 500)[:-1]])
        due = np.maximum(0, sent - chance.integers(0, 400_000, n))
        found.append(np.stack([sent, sent + rtt, due][: 3 if is_open else 2]))
    return found


@given(some.integers(0, 1000), some.integers(1, 4), some.booleans())
@settings(max_examples=15, deadline=None)
def test_rows_hold_the_exact_counts_and_sums_of_their_slice(seed, callers, is_open):
    calls = calls_of(seed, callers, 400, is_open)
    sent, replied, *due = np.concatenate(calls, axis=1)
    chosen = np.sort(np.random.default_rng(seed).choice(len(sent), len(sent) // 10, replace=False))
    rows = sketched.rows(calls, WINDOW_NS // 10, chosen)
    assert [row["slice"] for row in rows] == list(range(len(rows))) and len(rows) >= sketched.SLICES
    assert len(rows) <= sketched.MOST + 1 and (rows[-1]["to_ns"] is None) == (replied.max() >= WINDOW_NS // 10 * 2)
    for row in rows:
        last = row["to_ns"] or 2**62
        mine = (sent >= row["from_ns"]) & (sent < last)
        assert (row["calls"], row["rtt_sum_ns"]) == (mine.sum(), (replied - sent)[mine].sum())
        assert row["replies"] == ((replied >= row["from_ns"]) & (replied < last)).sum()
        assert len(row["replies_by_part"]) == sketched.PARTS * (last < 2**62)
        for at, end, count in zip(*_ends(row), row["replies_by_part"], strict=False):
            assert count == ((replied >= at) & (replied < end)).sum()
        assert row["sampled"] == mine[chosen].sum()
        assert row["rtt_max_ns"] == ((replied - sent)[mine].max() if mine.any() else None)
        assert ("response_counts" in row) == is_open and not sketched.misfit(dict.fromkeys(schema.SKETCHES.names) | row)
    times = {"rtt": replied - sent} | ({"response": replied - due[0]} if due else {})
    for name, values in times.items():
        whole, found = Sketch.of(values), sketched.sketch_of(rows, name)
        assert (found.first, found.zeros, found.counts.tolist()) == (whole.first, whole.zeros, whole.counts.tolist())
    if is_open:
        waited = [np.concatenate([[0], one[1][:-1]]) > one[2] for one in calls]
        assert sum(row["waited"] for row in rows) == np.concatenate(waited).sum()
        idle = (sent - due[0])[~np.concatenate(waited)]
        assert sketched.sketch_of(rows, "idle_lag").samples == len(idle)


def _ends(row):
    ends = sketched.parts(row["from_ns"], row["to_ns"] or row["from_ns"])
    return ends[:-1], ends[1:]


@cache
def pairs(load="closed", **more):
    """Return the same run with all samples, and with those of the hosts a and b kept there; c sends all."""
    how = {"load": "open", "offered_per_s": 100.0} if load == "open" else {"callers": 2}
    words = ([far_case(clients=4, **how)], ["a", "b", "c"], {"a": 100, "b": 101, "c": 100.0})
    whole = far_run(*words, calls=1200, shape=uneven, starts=6, **more)
    return whole, far_run(*words, calls=1200, shape=uneven, starts=6, kept=("a", "b"), **more)


@pytest.fixture
def folders(tmp_path_factory, monkeypatch):
    """Let the runs that tests share outlive the first of them."""
    if not hasattr(pairs, "folder"):
        pairs.folder = str(tmp_path_factory.mktemp("pairs"))
    monkeypatch.setenv("ROUNDTRIP_RUNS", pairs.folder)


def after_the_warm_up(whole, kept, start):
    """The calls of a whole run behind the first slice that begins after the warm-up of the other one."""
    rows = whole.samples[whole.samples["start"] == start]
    warm_up_ns, begins = kept.ledger.loc[start, "warm_up_ns"], kept.sketches["from_ns"]
    cut = begins[(kept.sketches["start"] == start) & (begins >= warm_up_ns)].min()
    return rows[rows["t_send_ns"] >= np.where(rows["host"] == "c", warm_up_ns, cut)]


def test_quantiles_are_within_the_bound_and_counts_and_means_exact(folders):
    whole, kept = pairs()
    assert kept.merged[0].kind == whole.merged[0].kind == POOLED
    for start in kept.ledger.index:
        rtt = after_the_warm_up(whole, kept, start)["rtt_ns"].to_numpy() / 1e3
        for p in stats.QUANTILES:
            true = stats.quantile(rtt, p)
            assert abs(kept.starts.loc[start, column(p)] - true) <= BOUND * true
        assert kept.starts.loc[start, "mean_rtt_us"] == pytest.approx(rtt.mean(), rel=1e-12)
        assert len(kept.sketched.times(start, "rtt")) == len(rtt)
        assert kept.sketched.calls(start) == kept.ledger.loc[start, "calls"]
        rows = whole.samples[whole.samples["start"] == start]
        assert kept.sketched.cycle_s(start) == pytest.approx(checks.cycle_s(rows).loc[start], rel=1e-9)
    assert kept.count(0) == sum(len(after_the_warm_up(whole, kept, start)) for start in kept.ledger.index)
    one = quantiles.quantile(kept, 0, 0.99)
    assert one.has == kept.count(0) and abs(one.value / quantiles.quantile(whole, 0, 0.99).value - 1) < 0.02
    everything = np.concatenate([after_the_warm_up(whole, kept, start)["rtt_ns"] for start in kept.ledger.index])
    pooled = kept.pooled(0, "rtt", kept.sketched_of(0))
    assert pooled.quantile(0.999) == pytest.approx(stats.quantile(everything, 0.999), rel=BOUND)
    (most,) = {quantiles.quantile(kept, 0, 0.9999).over}
    assert most == "calls"


def test_a_rate_counts_the_replies_of_the_parts_of_slices_in_which_all_ran(folders):
    whole, kept = pairs()
    for start in kept.ledger.index:
        rows = whole.samples[whole.samples["start"] == start]
        replied = (rows["t_send_ns"] + rows["rtt_ns"]).to_numpy()
        began = rows.groupby("client")["t_send_ns"].min().max()
        ended = (rows["t_send_ns"] + rows["rtt_ns"]).groupby(rows["client"]).max().min()
        slices = kept.sketches[(kept.sketches["start"] == start) & kept.sketches["to_ns"].notna()]
        edges = {int(at) for _, row in slices.iterrows() for at in sketched.parts(int(row.from_ns), int(row.to_ns))}
        begin, end = min(at for at in edges if at >= began), max(at for at in edges if at <= ended)
        assert end - begin > 0.99 * (ended - began)
        exact = ((replied >= begin) & (replied < end)).sum() / ((end - begin) / 1e9)
        assert kept.starts.loc[start, "rate_per_s"] == pytest.approx(exact, rel=1e-12)
        assert kept.starts.loc[start, "rate_per_s"] == pytest.approx(whole.starts.loc[start, "rate_per_s"], rel=0.005)
    assert checks.little(kept).verdict == PASS


def test_response_times_and_lags_of_an_open_load(folders):
    whole, kept = pairs("open")
    for start in kept.ledger.index:
        rows = after_the_warm_up(whole, kept, start)
        true = stats.quantile((rows["rtt_ns"] + rows["lag_ns"]).to_numpy() / 1e3, 0.99)
        assert abs(kept.starts.loc[start, "p99_response_us"] - true) <= BOUND * true
        rows = whole.samples[whole.samples["start"] == start]
        idle = rows.loc[~was_waiting(rows), "lag_ns"].to_numpy() / 1e3
        assert kept.starts.loc[start, "pacing_p99_us"] == pytest.approx(stats.quantile(idle, 0.99), rel=BOUND)
        assert kept.sketched.waiting(start) == was_waiting(rows).mean()
    assert quantiles.quantile(kept, 0, 0.99, "lag").value == quantiles.quantile(whole, 0, 0.99, "lag").value == 0
    assert set(quantiles.times(kept, 0, "lag")) == {0} and overload.overloaded(kept) == overload.overloaded(whole)
    assert kept.means_us("response").to_numpy() == pytest.approx(whole.means_us("response").to_numpy(), rel=0.02)


def test_each_host_has_its_quantiles_and_its_exact_count(folders):
    whole, kept = pairs()
    for one, other in zip(per_host.each(kept), per_host.each(whole), strict=True):
        assert (one.host, one.clients, one.is_described) == (other.host, other.clients, other.is_described)
        assert abs(one.n / other.n - 1) < 0.03 and (one.n == other.n) == (one.host == "c")
        assert one.quantiles[0.5][0] == pytest.approx(other.quantiles[0.5][0], rel=0.02)
    assert per_host.collected(kept) == {}


def test_figures_draw_a_random_sample_in_which_each_call_has_the_same_chance(folders):
    whole, kept = pairs()
    rows = kept.described(kept.samples_of(0, warm=True, headline=True))
    share = rows.groupby("host", observed=True).size() / whole.samples_of(0, warm=True).groupby("host").size()
    assert share.between(0.08, 0.12).all() and len(kept.rtt_us(0)) == len(rows)
    assert len(whole.rtt_us(0)) == whole.count(0)
    values, fractions = kept.distribution_us(0)
    p99 = kept.pooled(0, "rtt", kept.sketched_of(0)).quantile(0.99) / 1e3
    assert fractions[-1] == 1 and values[np.searchsorted(fractions, 0.99)] == pytest.approx(p99)
    assert all(map(np.array_equal, whole.distribution_us(0), stats.distribution(whole.rtt_us(0))))
    titles = [panels.panel(run, "calls_in_order").axes[0].get_title("left") for run in (whole, kept)]
    assert titles[0] != titles[1]
    assert "sketches" in panels.caption(kept) and "sketches" not in panels.caption(whole)


def test_the_card_says_whose_quantiles_are_sketches_within_which_bound_and_where_all_samples_are(folders):
    whole, kept = pairs()
    (one,) = [check for check in checks.check(kept) if check.name == "sketches"]
    assert one.verdict == PASS and "hosts a and b" in one.found and "0.5 %" in one.found
    assert "a: /far/a/run; b: /far/b/run" in one.found and "6 of 6" in one.found
    held = len(whole.samples) - (whole.samples["host"] == "c").sum()
    assert f" {held:,} " in one.found
    assert "sketches" not in {check.name for check in checks.check(whole)}
    assert tables.sketches(whole).empty and len(tables.sketches(kept)) == 6 * 3
    assert "/far/b/run/00005-001.parquet" in set(tables.sketches(kept)["all samples, on the host"])
    assert "0.5 %" in listing.run_text(str(kept.folder.path)) and "p99.9" in text.conclusion(kept)


def test_a_kept_run_has_its_sketches(folders, tmp_path):
    _, run = pairs()
    kept = Run(stored.keep(run.folder, tmp_path / "kept"))
    assert kept.starts.equals(run.starts) and len(kept.sketches) == len(run.sketches)
    assert kept.folder.look_at_all() == [] and (tmp_path / "kept" / "sketches" / "all.parquet").exists()


def test_a_host_that_measures_latency_alone_is_described_exactly_where_it_sends_all(folders):
    words = ([far_case(clients=2)], ["a", "b"], {"a": 100, "b": 100, "l": 50})
    whole, kept = (far_run(*words, latency="l", starts=2, kept=names) for names in ((), ("a", "b")))
    assert kept.starts[column(0.99)].equals(whole.starts[column(0.99)]) and kept.count(0) == whole.count(0)
    assert len(kept.rtt_us(0)) == len(whole.rtt_us(0)) and kept.sketched_of(0) == {}


def _cut(folder):
    file = folder / "sketches" / "00000.parquet"
    file.write_bytes(file.read_bytes()[:-100])


def _changed(name, change, is_signed=True):
    def act(folder):
        file = folder / "sketches" / "00000.parquet"
        table = pq.ParquetFile(file).read()
        rows = table.to_pylist()
        change(rows)
        file.write_bytes(table_bytes(schema.make("sketches", rows)))
        if is_signed:  # as whoever writes the file can
            digests = folder / "digests" / "00000.sha256"
            lines = integrity.read(digests.read_text())
            lines["sketches/00000.parquet"] = integrity.digest(file.read_bytes())
            digests.write_text(integrity.written(lines))
            manifest = json.loads((folder / "manifest.json").read_text())
            Folder(folder).write_manifest(manifest | {"data_digest": integrity.of_folder(folder)})

    return act, name


FIRST = "sketch|start 0"
NOTHING = {"calls": 0, "sampled": 0, "replies": 0, "replies_by_part": [0] * 20, "rtt_counts": [], "rtt_zeros": 0}
DAMAGED = {
    "cut off": (_cut, "sketches/00000.parquet"),
    "one count": _changed("sketches/00000.parquet", lambda r: r[9].update(rtt_sum_ns=1), is_signed=False),
    "a count more": _changed("rtt_counts", lambda r: r[9]["rtt_counts"].append(1)),
    "below zero": _changed("rtt_counts", lambda r: r[9].update(rtt_counts=[-1])),
    "far away": _changed("rtt_counts", lambda r: r[9].update(rtt_first=10**9)),
    "no first": _changed("rtt_counts", lambda r: r[9].update(rtt_first=None)),
    "none": _changed("sketch", lambda r: r[9].update(rtt_counts=None)),
    "accuracy": _changed("accuracy 1 ", lambda r: r[9].update(accuracy=1.0)),
    "two accuracies": _changed("accurac", lambda r: r[9].update(accuracy=0.01)),
    "a slice twice": _changed(FIRST, lambda r: r.append(r[9])),
    "an empty slice twice": _changed(FIRST, lambda r: r.append(r[9] | NOTHING)),
    "a part less": _changed(FIRST, lambda r: r[9]["replies_by_part"].pop()),
    "a reply more": _changed(FIRST, lambda r: r[9].update(replies=10**6)),
    "sampled": _changed(" 0 calls", lambda r: r[-1].update(calls=0, sampled=1)),
    "a slice less": _changed(FIRST, lambda r: r.pop(9)),
    "another host": _changed(FIRST, lambda r: [one.update(host="b") for one in r]),
    "another process": _changed(FIRST, lambda r: [one.update(process=7) for one in r]),
    "removed": (lambda folder: (folder / "sketches" / "00000.parquet").unlink(), FIRST),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_refused_by_name(name):
    damage, words = DAMAGED[name]
    run = far_run([far_case(clients=1)], ["a"], {"a": 100}, calls=300, starts=1, kept=("a",), write=file_by_file)
    damage(run.folder.path)
    with pytest.raises(DataError, match=words) as caught:
        listing.run_text(str(run.folder.path))
    assert "\n" not in str(caught.value)


def test_a_run_of_one_machine_is_as_without_sketches():
    run = reference("nodelay")
    rows = run.samples[run.samples["warm"]].groupby("start")
    assert run.sketches.empty and not run.kept_starts and "share" not in run.samples
    for start, mine in rows:
        rtt = mine["rtt_ns"].to_numpy() / 1e3
        assert run.starts.loc[start, column(0.99)] == pytest.approx(stats.carried(rtt, 0.99), rel=0, abs=0, nan_ok=True)
        every = run.samples[run.samples["start"] == start]
        times = (every["t_send_ns"].to_numpy(), (every["t_send_ns"] + every["rtt_ns"]).to_numpy())
        assert run.starts.loc[start, "rate_per_s"] == stats.closed_rate(*times, every["client"].to_numpy())
    assert all(run.count(case) == len(run.rtt_us(case)) for case in run.numbers)


def test_the_table_is_documented_and_says_its_units():
    run = far_run([far_case(clients=1)], ["a"], {"a": 100}, calls=300, starts=1, kept=("a",), write=file_by_file)
    table = run.folder.read("sketches")
    assert pc.sum(table["calls"]).as_py() == run.ledger.loc[0, "calls"]
    for field in schema.SKETCHES:
        assert field.metadata[b"meaning"] and (not field.name.endswith("_ns") or field.metadata[b"unit"] == b"ns")
