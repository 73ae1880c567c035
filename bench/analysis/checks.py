"""The trust card: twelve checks that every result carries. Each says what was found, what it means, what to try."""

import functools
from collections.abc import Callable, Iterable
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from bench import stats
from bench.analysis import card, comparison
from bench.analysis.card import CAUTION, INVALID, PASS, Check, Tally, outcome
from bench.analysis.comparison import aa_ratio
from bench.analysis.overload import RESPONSE, overloaded
from bench.analysis.resources import full, resources, stuck
from bench.plan.case import LEAST_ACHIEVED
from bench.run.frames import Run, column
from bench.stats import Array, intervals, steady_state
from bench.text import listed

MOST_FAILED = 0.001  # share of a run's requests that may fail before it tells nothing


def whole(run: Run) -> list[int]:
    """Return the cases of calls that fill a window, with a server."""
    return [case for case in run.find(is_short=False) if run.case(case).load != "stream"]


def sampled(run: Run) -> list[int]:
    """Return those of them whose calls have samples."""
    return [case for case in whole(run) if not run.case(case).generator]


def of_samples(check: Callable[[Run], Check]) -> Callable[[Run], Check]:
    """Return a check that says for which cases it was not made, because a load generator gives no samples."""

    @functools.wraps(check)
    def made(run: Run) -> Check:
        silent = [case for case in run.numbers if run.case(case).generator]
        if not silent:
            return check(run)
        without = f"no samples of {listed(dict.fromkeys(run.case(case).generator for case in silent))}"
        advice = "a report cannot answer this: the engines library and wire give samples"
        if len(silent) == len(run.cases):
            return Check(check.__name__, CAUTION, f"not checked: {without}", advice)
        one = check(run)
        others = f" and {len(silent) - 1} others" if len(silent) > 1 else ""
        found = f"{one.found}; not checked for {run.labels[silent[0]]}{others}: {without}"
        return Check(one.name, CAUTION if one.verdict == PASS else one.verdict, found, one.advice or advice)

    return made


def answers(run: Run) -> Check:
    """1. Every answer was verified, and the server counted as many requests as the clients made."""
    known = run.ledger.dropna(subset="server_calls")
    wrong = known[~_agree(run, known)]
    if len(wrong):
        return _differing(run, wrong)
    if (run.ledger["errors"] > 0).any():
        return _failed(run)
    generators = run.ledger["case"].map(lambda case: run.case(case).generator)
    count, unseen = int(run.ledger.loc[generators == "", "calls"].sum()), len(run.ledger) - len(known)
    outside = f"; in {unseen} starts there was no server to ask" if unseen else ""
    if not (generators != "").any():
        return Check("answers", PASS, f"all {count:,} messages verified; servers counted the same{outside}")
    by = f"{listed(dict.fromkeys(generators[generators != '']))} verified none of "
    by += f"{int(run.ledger['calls'].sum()) - count:,} answers"
    here = f"all {count:,} messages of the other starts verified; " if count else ""
    found = f"{here}{by}, and saw no error; servers counted those and what was under way at the end{outside}"
    return Check("answers", PASS, found)


def _agree(run: Run, starts: pd.DataFrame) -> "pd.Series[bool]":
    """Return whether the counts of each start agree.

    A load generator leaves with requests under way, one for each connection at most; those that failed may be counted.
    """
    cases = [run.case(case) for case in starts["case"]]
    room = [case.callers if run.case(n).generator else 0 for n, case in zip(starts["case"], cases, strict=True)]
    more = starts["server_calls"] - starts["calls"]
    return (more >= -starts["errors"]) & (more <= starts["errors"] + room)


def _differing(run: Run, wrong: pd.DataFrame) -> Check:
    row = wrong.iloc[0]
    found = f"in {len(wrong)} starts the counts differ: {row['calls']} calls, the server saw {row['server_calls']:.0f}"
    if run.case(row["case"]).generator:
        found += f", more than the {run.case(row['case']).callers} that may have been under way at the end"
    advice = "another server answered, or messages were lost: look for stale servers"
    return Check("answers", INVALID, found, advice)


def _failed(run: Run) -> Check:
    """Return the outcome for requests that failed: a few are a caution, more make the numbers worthless."""
    failing = run.ledger.index[run.ledger["errors"] > 0]
    errors, made = int(run.ledger["errors"].sum()), int(run.ledger.loc[failing, "calls"].sum())
    kinds = _kinds(run.reports, failing)
    found = f"{errors:,} failures beside {made:,} answers in {len(failing)} starts{f' ({kinds})' * bool(kinds)}"
    theirs = any(run.case(case).generator for case in run.ledger.loc[failing, "case"])
    include = "times and rates include answers that tell of errors" if theirs else "failed calls are in no time or rate"
    advice = f"{include}: look at the server"
    return Check("answers", INVALID if errors > MOST_FAILED * made else CAUTION, found, advice)


def _kinds(reports: pd.DataFrame, starts: "pd.Index[int]") -> str:
    """Return how many requests of some starts failed, by kind, as the reports tell: "status 12, read 3"."""
    mine = reports[reports["start"].isin(starts) & reports["name"].str.startswith("error_")]
    counts = mine.groupby("name", sort=False)["value"].sum()
    return ", ".join(f"{str(name).removeprefix('error_')} {count:,.0f}" for name, count in counts.items() if count)


@of_samples
def little(run: Run) -> Check:
    """2. Little's law closes: the callers are the rate times the round trip plus their own gap."""
    cases = [case for case in sampled(run) if run.case(case).load == "closed"]
    starts = run.starts[run.starts["case"].isin(cases)].dropna(subset="rate_per_s")
    if starts.empty:
        return Check("little", PASS, "no closed loops in this run: nothing to close")
    callers = starts["clients"] * starts["callers"].fillna(1)
    sent = run.samples[run.samples["start"].isin(starts.index)]
    cycle = cycle_s(sent).reindex(starts.index)
    off = (callers / (starts["rate_per_s"] * cycle) - 1).abs()
    found = f"callers and rate x (round trip + gap) agree within {off.max():.1%}"
    return outcome("little", bool(off.max() <= 0.02), found, "calls are missing, or callers did not run side by side")


def pacing(run: Run) -> Check:
    """3. An open load was sent as planned: no other rate, no lateness that matters."""
    if not any(case.load == "open" for case in run.plan.cases):
        return Check("pacing", PASS, "closed loops: nothing is paced, and no user's waiting is told")
    cases = run.cases_with(load="open")
    if not cases["n"].sum():
        return Check("pacing", INVALID, "no request was due in any window", "longer windows, higher rates")
    over = cases.index.isin(overloaded(run))
    calm, lost = cases[~over], cases[(cases["achieved"] < LEAST_ACHIEVED) & ~over]
    if len(lost):
        found = f"{lost['label'].iloc[0]}: {lost['achieved'].iloc[0]:.1%} of the requests left, with idle connections"
        return Check("pacing", INVALID, found, "these clients cannot send that fast: lower rates, or more clients")
    left_out = f"; overloaded, no quantile told: {listed(cases.loc[over, 'label'])}" if over.any() else ""
    if calm.empty:
        return Check("pacing", INVALID, f"every offered rate is above what the server can do{left_out}", "lower rates")
    late = calm["pacing_p99_us"]
    found = f"requests that found an idle connection left late by p99 {late.max():.0f} us at most{left_out}"
    advice = "lateness is part of these response times: a quieter machine, or fewer clients than CPUs"
    return outcome("pacing", bool((late <= 0.1 * calm[RESPONSE]).all()), found, advice)


def client(run: Run) -> Check:
    """4. The clients are not the limit of a throughput."""
    share = run.cases.loc[run.cases["clients"] * run.cases["callers"] > 1, "client_cpu_share"]
    if not (share > 0.8).any():
        return Check("client", PASS, "no group of parallel clients used more than 80 % of its CPUs")
    found = f"{(share > 0.8).sum()} cases: the clients kept their CPUs up to {share.max():.0%} busy"
    return Check(
        "client", CAUTION, found, "there the rate tells what these clients can send, not what the server can do"
    )


def limit(run: Run) -> Check:
    """5. Which resource had no time left: the answer to "why not double?"."""
    names = dict.fromkeys(one.name for case in whole(run) for one in full(resources(run, case)))
    found = f"without time left in some case: {listed(names)}" if names else "no CPU was full in any case"
    if unexplained := [run.labels[case] for case in stuck(run) if not full(resources(run, case))]:
        found += f"; {unexplained[0]} makes no more calls than half as many callers do, and nothing there is full"
        return Check("limit", CAUTION, found, "look for what is waited for: a lock, a timer, a limit of connections")
    return Check("limit", PASS, found)


@of_samples
def settled(run: Run) -> Check:
    """6. The starts settled, and did not drift after the warm-up."""
    restless: list[str] = []
    drifts: dict[str, Array] = {}
    for case in sampled(run):
        starts = run.ledger_of(case).index
        labels = [run.settlings[start].label for start in starts if start in run.settlings]
        if 2 * labels.count(steady_state.UNSETTLED) > len(labels):
            restless.append(run.labels[case])
        drifts[run.labels[case]] = _drifts(run, starts)
    if not drifts:
        return Check("settled", PASS, "no loops of calls in this run")
    moved = {
        label: abs(float(np.median(each))) for label, each in drifts.items() if steady_state.agree(each, len(drifts))
    }
    found = f"warm-up cut at {run.ledger['warm_up_ns'].max() / 1e9:.2f} s; after it "
    if moved:
        worst = max(moved, key=lambda label: moved[label])
        found += f"the largest drift is {moved[worst]:.1%} of the median ({worst})"
    else:
        found += "no drift that the starts agree on"
    if restless:
        found += f"; most starts found no level in {listed(restless[:3])}{' and others' if len(restless) > 3 else ''}"
    advice = "longer windows (window_s); look at every call in order for steps of the machine"
    return outcome("settled", not restless and max(moved.values(), default=0) < 0.02, found, advice)


@of_samples
def independence(run: Run) -> Check:
    """7. How many independent calls the calls are worth."""
    worth = {}
    for case in sampled(run):
        rows = run.samples_of(case, warm=True).groupby("start")["rtt_ns"]
        worth[case] = sum(intervals.effective_size(values.to_numpy()) for _, values in rows)
    if not worth:
        return Check("independence", PASS, "no loops of calls in this run")
    least = min(worth, key=lambda case: worth[case])
    needed = stats.needed_samples(0.9)
    found = f"the calls of {run.labels[least]} are worth {worth[least]:,.0f} independent ones of {run.count(least):,}"
    advice = "calls follow each other's moods: trust the range over starts, and take more starts"
    return outcome("independence", worth[least] >= needed, found, advice)


@of_samples
def samples(run: Run) -> Check:
    """8. Every printed quantile is carried by enough calls."""
    counts = run.cases.loc[sampled(run), "n"]
    needed = stats.needed_samples(max(stats.QUANTILES))
    short = run.ledger[run.ledger["case"].isin(sampled(run)) & (run.ledger["window_s"] < 0.9 * run.plan.window_s)]
    if len(short):
        found = f"{len(short)} starts were full of calls early, one after {short['window_s'].min():.2f} s"
        return Check("samples", CAUTION, found, "shorter windows (window_s) and more starts tell as much")
    if counts.empty:
        return Check("samples", PASS, "no calls that fill a window")
    if counts.min() >= needed:
        return Check("samples", PASS, f"enough calls for every quantile shown (p99.9 needs {needed:,})")
    found = f"the smallest case has {counts.min():,} calls; p99.9 needs {needed:,}, and is left out there"
    return Check("samples", CAUTION, found, "longer windows (window_s) or more starts")


def starts(run: Run) -> Check:
    """9. There are enough starts for an interval of the median, and all that were planned."""
    fewest, planned = int(run.cases["starts"].min()), run.plan.starts * len(run.plan.cases)
    if len(run.ledger) < planned:
        advice = "the run was interrupted: measure the rest with -p resume true"
        return Check("starts", CAUTION, f"{len(run.ledger)} of {planned} planned starts are there", advice)
    found = f"{fewest} starts of each case: their range holds the true median with {stats.coverage(fewest):.1%}"
    advice = f"draw no conclusion: use at least {stats.LEAST_STARTS} (profile class)"
    return outcome("starts", fewest >= stats.LEAST_STARTS, found, advice)


def noise(run: Run) -> Check:
    """10. How far a case is from itself: every other start against the rest."""
    floors = {}
    for case in whole(run):
        logs = np.log(run.starts_of(case)[column(0.5)].dropna().to_numpy())
        floors[case] = aa_ratio(logs)
    known = {case: floor for case, floor in floors.items() if floor == floor}
    if not known:
        return Check("noise", PASS, "too few starts of calls to hold a case against itself")
    worst = max(known, key=lambda case: known[case])
    found = f"a case is up to {known[worst]:.1%} from itself ({run.labels[worst]})"
    advice = "no difference below that means anything here: more starts, a quieter machine, another placement"
    return outcome("noise", known[worst] <= comparison.MARGIN, found, advice)


def machine(run: Run) -> Check:
    """11. Nobody else used the machine, and the collector stayed out of the windows."""
    ledger, troubles = run.ledger, []
    room = ledger["window_s"] * 1e9
    cpus = int(run.manifest["machine"]["cpus_allowed"])
    if (steal := (ledger["steal_ns"] / room / cpus).median()) > 0.01:
        troubles.append(f"{steal:.1%} of the CPU time went to other guests (steal)")
    if (others := (ledger["other_cpu_ns"] / room).where(room > 2e8).median()) > 0.1:
        troubles.append(f"other processes used {others:.0%} of a CPU")
    if (throttled := ledger["throttled_ns"].sum() / 1e9) > 0:
        troubles.append(f"the control group's limit held tasks back for {throttled:.2f} s")
    if collections := int(ledger["gc_collections"].sum()):
        troubles.append(f"{collections} garbage collections inside windows")
    if troubles:
        return Check("machine", CAUTION, "; ".join(troubles), "end other work, measure again; python -m bench doctor")
    unknown = "" if ledger["machine_busy_ns"].notna().any() else " (what others did was not recorded)"
    return Check("machine", PASS, f"no steal, no throttling, no collections, hardly another process{unknown}")


@of_samples
def instrument(run: Run) -> Check:
    """12. The clock and the loop themselves are below 1 % of what is measured."""
    cases = run.cases.dropna(subset=column(0.5))
    cases = cases[cases["n"] > 0]
    floor, measured = cases[cases["system"] == "loopback"], cases[cases["system"] != "loopback"]
    if measured.empty:
        return Check("instrument", PASS, "no calls in this run")
    least = float(measured[column(0.5)].min())
    own = (
        float(floor[column(0.5)].iloc[0])
        if len(floor)
        else 2e-3 * float(run.manifest["machine"].get("clock_cost_ns") or 0)
    )
    what = "the loop itself takes" if len(floor) else "reading the clock twice takes"
    found = f"{what} {own:.2f} us, {own / least:.2%} of the shortest median"
    return outcome("instrument", own <= 0.01 * least, found, "subtract nothing; read differences below that as noise")


ALL: tuple[Callable[[Run], Check], ...] = (
    answers, little, pacing, client, limit, settled, independence, samples, starts, noise, machine, instrument,
)  # fmt: skip


def cycle_s(calls: pd.DataFrame) -> "pd.Series[float]":
    """Return each start's mean round trip plus the mean gap until the same caller's next call, in s."""
    callers = calls.groupby(["start", "client"])
    size, spans = callers.size(), callers["t_send_ns"].max() - callers["t_send_ns"].min()
    served = callers["rtt_ns"].sum() - callers["rtt_ns"].last()
    gap = (spans - served).groupby("start").sum() / (size - 1).clip(lower=1).groupby("start").sum()
    return (calls.groupby("start")["rtt_ns"].mean() + gap) / 1e9


def _drifts(run: Run, starts: Iterable[int]) -> Array:
    """Return for each start of a case how far its level moved over the window, as a share of its median."""
    warm = run.samples[run.samples["warm"] & run.samples["start"].isin(starts)]
    each = [
        steady_state.drift(rows["rtt_ns"].to_numpy(), rows["t_send_ns"].to_numpy()) for _, rows in warm.groupby("start")
    ]
    return np.array(each)


_MADE: WeakKeyDictionary[Run, list[Check]] = WeakKeyDictionary()


def check(run: Run) -> list[Check]:
    """Return the outcome of every check; they are worked out once for a run."""
    if run not in _MADE:
        _MADE[run] = [one(run) for one in ALL]
    return list(_MADE[run])


def tally(run: Run) -> Tally:
    """Return how many checks passed, and which did not."""
    return card.tally(check(run))
