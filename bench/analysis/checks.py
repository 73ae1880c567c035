"""The trust card: the checks that every result carries, and more of several hosts, of slices and of two placements.

Each reports a finding and, if it fails, what to try.

A check that finds nothing to look at in a run is N/A: it neither passes nor fails. Most checks compare a count or a
share with a fixed bound, and have no false-alarm rate. Four are statistical tests, ``settled``, ``levels``, ``noise``
and ``turns``, and state theirs. How often each fires on a quiet machine is measured by ``selfcheck.quiet``.
"""

import functools
import math
from collections.abc import Callable
from operator import attrgetter

import numpy as np
import pandas as pd

from bench import stats
from bench.analysis import busy, clocks, per_host, quantiles, rankings, stationarity, trust_card
from bench.analysis import speed as speeds
from bench.analysis import turns as turns_of
from bench.analysis.capacity import undecided
from bench.analysis.comparison import ratios
from bench.analysis.overload import MOST_FAILED, RESPONSE, overloaded, without_times
from bench.analysis.pacing import lateness, limit_us
from bench.analysis.resources import LEAST_S, cpus_of, crowded, full, is_use_known, resources, stuck, used_by_all
from bench.analysis.trust_card import CAUTION, INVALID, NOTHING, PASS, Check, Tally, outcome
from bench.errors import BENCH, DataError
from bench.plan.case import LEAST_ACHIEVED
from bench.run import requests, start_values
from bench.run.frames import P50, Run, number_of, once_per_run
from bench.run.reply_stream_times import FIRST
from bench.run.reply_stream_times import LOAD as REPLY_STREAM
from bench.run.start_values import BUSY
from bench.stats import intervals
from bench.stats.intervals import Interval
from bench.stats.levels import Levels, two_levels
from bench.text import capitalized, counted, duration, listed, percent_beside, quantity

APART = 0.1  # by which a rate may differ from the server's, beside the share of the window that the longest call takes
COLLECTED = "garbage collections are part of the cost of the client's library, and can move the quantile"
OTHERS = f"end other work and measure again; see {BENCH} doctor"
ALARM = 0.05  # chance of a false alarm of the checks that are tests
MOST_AA = 0.02  # A/A ratio of a case in slices that is accepted, less 1
HEADLINE = 0.99  # the highest quantile that every case must have enough calls for
WITHOUT_SERVER = ("loopback", "pause")  # systems whose clients call nobody: there is no reply to verify


def windowed_cases(run: Run) -> list[int]:
    """Return the cases whose calls fill a window at one level: no one-way streams, and no loads with retries."""
    return [case for case in run.find(is_short=False) if run.case(case).load not in ("stream", "retry")]


def sampled_cases(run: Run) -> list[int]:
    """Return the cases of ``windowed_cases`` that have one sample per call: no load generator measured them."""
    return [
        case for case in windowed_cases(run) if not run.case(case).generator and run.case(case).load != REPLY_STREAM
    ]


@once_per_run
def level_changes(run: Run) -> dict[int, stationarity.Levels]:
    """Return how the level of each case changes after the warm-up, without those of too few starts to agree on it.

    Cases that the plan makes unsteady are left out, too.
    """
    cases = [case for case in sampled_cases(run) if not stationarity.is_unsteady_by_plan(run.case(case))]
    changes = {case: stationarity.levels(run, case, len(cases)) for case in cases}
    return {case: change for case, change in changes.items() if change.starts >= stationarity.LEAST_STARTS}


def of_samples(check: Callable[[Run], Check]) -> Callable[[Run], Check]:
    """Return the check with a note on the cases it was not made for, because a load generator gives no samples."""

    @functools.wraps(check)
    def of_run(run: Run) -> Check:
        without = [case for case in run.numbers if run.case(case).generator]
        if not without:
            return check(run)
        reason = f"no samples of {listed(dict.fromkeys(run.case(case).generator for case in without))}"
        advice = "the load generator reports no samples: use the engine library or wire"
        if len(without) == len(run.cases):
            return Check(check.__name__, NOTHING, f"not checked: {reason}", advice)
        others = f" and {len(without) - 1} others" if len(without) > 1 else ""
        checked = check(run)
        finding = f"{checked.found}; not checked for {run.labels[without[0]]}{others}: {reason}"
        return Check(checked.name, checked.verdict, finding, checked.advice or advice)

    return of_run


def answers(run: Run) -> Check:
    """1. Every reply was verified, and the server counted as many requests as the clients made."""
    counted = run.ledger.dropna(subset="server_calls")
    wrong = counted[~_agree(run, counted)]
    if len(wrong):
        return _differing(run, wrong)
    if (run.ledger["errors"] > 0).any():
        return _failed(run)
    asking = run.ledger[~run.ledger["system"].isin(WITHOUT_SERVER)]
    if asking.empty:
        return Check("answers", NOTHING, "this run has no server")
    generators = asking["case"].map(lambda case: run.case(case).generator)
    by_generator = generators != ""
    verified = int(asking.loc[~by_generator, "calls"].sum())
    findings = [f"all {verified:,} messages verified, those of the warm-up included"] if verified else []
    if by_generator.any():
        names, unverified = listed(dict.fromkeys(generators[by_generator])), int(asking["calls"].sum()) - verified
        findings.append(f"{names} did not verify its {unverified:,} replies, and reported no error")
    if len(counted):
        note = ", except for attempts without a reply" if "retry" in set(counted["load"]) else ""
        note = ", requests in flight at the end included" if by_generator.any() else note
        findings.append(f"servers counted the same{note}")
    uncounted = asking[asking["server_calls"].isna()]
    if targets := int(uncounted["target"].notna().sum()):
        findings.append(f"{targets} starts called a target, whose server's count is unknown: any echo of bytes passes")
    if others := len(uncounted) - targets:
        findings.append(f"{others} starts have no server's count to compare with")
    return Check("answers", PASS, "; ".join(findings))


def _agree(run: Run, starts: pd.DataFrame) -> "pd.Series[bool]":
    """Return whether the counts of each start agree.

    A load generator stops with at most one request in flight on each connection; failed requests may be counted, and
    so may attempts of a load with retries whose reply was not waited for; of a stream that broke the server may have
    sent all replies.
    """
    cases = [run.case(case) for case in starts["case"]]
    room = [
        case.callers if run.case(number).generator else 0 for number, case in zip(starts["case"], cases, strict=True)
    ]
    if "retry" in set(starts["load"]):
        unanswered = run.attempts["rtt_ns"].isna().groupby(run.attempts["start"]).sum()
        room = room + unanswered.reindex(starts.index, fill_value=0).to_numpy()
    more, lost = starts["server_calls"] - starts["calls"], starts["errors"]
    lost = lost * [max(1, case.replies) for case in cases]  # of a stream that broke
    return (more >= -lost) & (more <= lost + room)


def _differing(run: Run, wrong: pd.DataFrame) -> Check:
    row = wrong.iloc[0]
    finding = f"the counts of {len(wrong)} starts differ: {row['calls']} calls, the server counted "
    finding += f"{row['server_calls']:.0f}" if row["server_calls"] > 0 else "none"
    if run.case(row["case"]).generator:
        finding += f", more than the {run.case(row['case']).callers} requests that can have been in flight at the end"
    advice = "another server replied, or messages were lost: look for server processes of an earlier run"
    if row["server_calls"] <= 0:
        advice = f"does serve() of {row['system']} answer with service.answer(payload), which counts? If so, {advice}"
    return Check("answers", INVALID, finding, advice)


def _failed(run: Run) -> Check:
    """Return the outcome for failed requests: CAUTION up to a share of ``MOST_FAILED``, INVALID above.

    Under an open load what a server refuses is measured: CAUTION, unless nothing was answered as expected.
    """
    failing = run.ledger[run.ledger["errors"] > 0]
    counts, loop_counts = (requests.of_starts(run, rows) for rows in (failing, failing[failing["load"] != "open"]))
    kinds = "; ".join(f"{kind} ({counted(count, 'call')})" for kind, count in counts.failed.items())
    finding = (
        f"{counts.errors:,} failed requests and {counts.answered:,} right replies in {len(failing)} starts: {kinds}"
    )
    theirs = any(run.case(case).generator for case in failing["case"])
    include = "times and rates include error replies" if theirs else "times and rates exclude failed calls"
    is_invalid = loop_counts.errors > MOST_FAILED * loop_counts.answered or not run.ledger["calls"].any()
    advice = f"{include}: look at the server's errors"
    if set(failing["system"]) & set(run.manifest.get("services", ())):
        advice += ", or correct what the service file expects"
    if is_invalid:
        advice += f" (a closed loop may have {MOST_FAILED:.1%} failed calls)"
    return Check("answers", INVALID if is_invalid else CAUTION, finding, advice)


@of_samples
def rate(run: Run) -> Check:
    """2. The rate of each closed loop is the server's: it counted as many calls as rate x window, within 10 %.

    The rate counts the calls while all callers ran, by the clients' clocks. The server counts those of the whole
    window, which begins when the first caller does and ends with the last reply: it may differ also by the share of the
    window that the longest call takes. Compared are medians over starts, as they are printed.
    """
    closed = [case for case in sampled_cases(run) if run.case(case).load == "closed"]
    starts = run.starts[run.starts["case"].isin(closed)]
    if apart := _apart(run, starts):
        advice = "callers did not run at the same time: look at the errors, or use longer windows (window_s)"
        return Check("rate", CAUTION, apart, advice)
    starts = starts.dropna(subset="rate_per_s")
    if silent := _silent(run, starts):
        finding = f"only {silent[0]} of {silent[1]} callers of {run.labels[silent[2]]} made calls"
        return Check("rate", CAUTION, finding, "the others did not run, or their calls are missing: look at the errors")
    starts = starts.dropna(subset="server_calls")
    if starts.empty:
        return Check("rate", NOTHING, "no closed loop that fills a window and whose server counted its calls")
    calls = dict(run.calls.by_start())
    longest_s = pd.Series({start: calls[start].rtt_ns.max() / 1e9 for start in starts.index}, dtype=float)
    rates = pd.Series({start: start_values.call_rate(calls[start]) for start in starts.index}, dtype=float)
    apart = (starts["server_calls"] / (rates * starts["window_s"]) - 1).abs()
    off = (apart - longest_s / starts["window_s"]).clip(lower=0).groupby(starts["case"]).median()
    worst = number_of(off.idxmax())
    finding = f"the server's count and rate x window agree within {off.max():.1%} "
    finding += "apart from the longest call of each start"
    if off.max() <= APART:
        return Check("rate", PASS, finding)
    finding += f"; {run.labels[worst]} differs most"
    return Check("rate", CAUTION, finding, "callers did not run at the same time: use longer windows (window_s)")


def _apart(run: Run, starts: pd.DataFrame) -> str:
    """Return where the callers of a start had no time in common, so that it has no rate; "" if none is so."""
    without = starts[starts["rate_per_s"].isna() & (starts["calls"] > 0)]
    cases = [case for case in map(number_of, without["case"].unique()) if run.case(case).under_way > 1]
    if not cases:
        return ""
    count, all_starts = (int((rows["case"] == cases[0]).sum()) for rows in (without, starts))
    return f"the callers of {run.labels[cases[0]]} never all ran at the same time in {count} of {all_starts} starts"


def _silent(run: Run, starts: pd.DataFrame) -> tuple[int, int, int] | None:
    """Return how many callers made calls in a start in which not all did, how many there are, and the case."""
    made = pd.Series({start: len(np.unique(run.calls.of_start(start).client)) for start in starts.index}, dtype=int)
    wanted = starts["case"].map(lambda case: run.case(case).under_way)
    short = made[made < wanted]
    if short.empty:
        return None
    start = short.index[0]
    return int(made[start]), int(wanted[start]), number_of(starts.loc[start, "case"])


def pacing(run: Run) -> Check:
    """3. An open load was sent as planned: at least 99 % of the rate, p99 lateness at most 10 % of the median."""
    if (retrying := run.cases_with(load="retry")).size:
        return _punctual(run, retrying)
    if not any(case.load == "open" for case in run.plan.cases):
        return Check("pacing", NOTHING, "no load has a request schedule, so response times are not reported")
    cases = run.cases_with(load="open")
    if not run.ledger["scheduled"].any():
        return Check("pacing", INVALID, "no request was due in any window", "use longer windows or higher rates")
    over = cases.index.isin(overloaded(run))
    calm, lost = cases[~over], cases[(cases["achieved"] < LEAST_ACHIEVED) & ~over]
    if len(lost):
        sent, label = lost["achieved"].iloc[0], lost["label"].iloc[0]
        finding = f"only {sent:.1%} of the requests of {label} were sent, "
        counts = requests.of_starts(run, run.ledger_of(lost.index[0]))
        if counts.errors:
            finding += f"while calls that failed took the connections: {counts.shortfall}"
            return Check("pacing", CAUTION, finding, "look at the server's errors, or add clients")
        finding += "though connections were idle"
        return _unpaced(run, finding, "these clients cannot send that fast: lower the rate, or add clients")
    omitted = f"; overloaded, so their lateness is not judged: {listed(cases.loc[over, 'label'])}" if over.any() else ""
    if calm.empty:
        finding = f"the connections or the server cannot carry any of the offered rates{omitted}"
        if "capacity" in run.manifest:  # which counts a request that was not sent as late
            return Check("pacing", NOTHING, finding)
        return _unpaced(run, finding, "lower the rates, or add clients if the server answers several calls at once")
    late = lateness(run, map(number_of, calm.index))
    if not late:
        finding = "too few requests found an idle connection to know the p99 of their lateness"
        return Check("pacing", NOTHING, finding + omitted)
    if unknown := [run.labels[case] for case in map(number_of, calm.index) if case not in late]:
        omitted += f"; not known, as too few requests found an idle connection: {listed(unknown)}"
    maximum = max(late.values(), key=attrgetter("value")).spread.words("{:.0f} us".format)
    finding = f"p99 lateness of requests on idle connections is at most {maximum}"
    advice = "the lateness is part of these response times: use a quieter machine, or fewer clients than CPUs"
    above = [case for case, quantile in late.items() if quantile.value > limit_us(run, case)]
    if above:
        finding += f"; more than a tenth of the median response time: {listed(run.labels[case] for case in above)}"
    return outcome("pacing", not above, finding + omitted, advice)


def _unpaced(run: Run, finding: str, advice: str) -> Check:
    """Return that a load was not sent as planned; the machine is named first where it was too busy to send it."""
    if reason := busy.too_busy(run):
        finding, advice = f"{reason}. {capitalized(finding)}", f"{busy.REPEAT}; if this happens again: {advice}"
    return Check("pacing", INVALID, finding, advice)


def _punctual(run: Run, cases: pd.DataFrame) -> Check:
    """Check that each scheduled request of a load with retries was sent, and in time beside its timeout."""
    first = run.attempts[run.attempts["number"] == 0]
    sent = first.groupby("start").size().reindex(run.ledger.index, fill_value=0)
    if (sent < run.ledger["scheduled"])[run.ledger["case"].isin(cases.index)].any() or not len(first):
        return Check("pacing", INVALID, "not every scheduled request was sent", "use longer windows or other rates")
    late = ((first["t_send_ns"] - first["due_ns"]) / 1e6).groupby(first["case"]).quantile(0.99)
    share = late / [run.case(case).retry["timeout_ms"] for case in late.index]
    finding = f"every scheduled request was sent; the p99 of their lateness is at most {share.max():.1%} of the timeout"
    return outcome("pacing", bool(share.max() <= 0.1), finding, "the client was late: use a quieter machine")


def client(run: Run) -> Check:
    """4. The clients of a load with a schedule have time for it: no group of them uses more than 80 % of its CPUs.

    A closed loop of several callers has no schedule, and neither have streams without pauses: something is saturated
    there, and where it is the clients' CPU, the rate is what the server can do at least. That is what tables and
    sentences say of it, and no fault.
    """
    cases = run.cases[(run.cases["under_way"] > 1) | (run.cases["load"] == "retry")].dropna(subset="client_cpu_share")
    if cases.empty:
        return Check("client", NOTHING, "no parallel clients in this run")
    busy = cases.loc[cases["client_cpu_share"] > BUSY, "client_cpu_share"]
    if busy.empty:
        return Check("client", PASS, f"no group of parallel clients used more than {BUSY:.0%} of its CPUs")
    has_schedule = [case.is_paced or case.gap_us > 0 for case in map(run.case, map(number_of, busy.index))]
    if (late := busy[has_schedule]).size:
        advice = "times include the clients' own queueing: use a lower rate, fewer streams, or a faster load generator"
        return Check("client", CAUTION, _used(run, late), advice)
    limited = client_limited(run)
    least = _clients_are_the_limit(run, limited) if limited else IS_LEAST
    limits = "without a schedule busy clients limit the rate, not the times"
    return Check("client", PASS, f"{_used(run, busy)}; {limits}; {least}")


IS_LEAST = "unless only the server was saturated, its capacity is at least these rates"


def _used(run: Run, busy: "pd.Series[float]") -> str:
    """Return how much of their CPUs the clients used, at most, and where."""
    case = int(busy.idxmax())
    location = f"of host {per_host.busiest(run, case)[0]} " if case in run.merged else ""
    others = [number_of(other) for other in busy.index.drop(case)]
    share = percent_beside(busy.max(), BUSY)
    return f"clients {location}used up to {share} of their CPUs ({_and_others(run, [case, *others])})"


def client_limited(run: Run) -> list[int]:
    """Return the cases in which the clients' CPUs were saturated and no CPU or thread of the server was.

    The rate of such a case is not the server's capacity, which is at least as high.
    """
    closed = [case for case in windowed_cases(run) if run.case(case).load == "closed"]
    return [case for case in closed if {resource.roles for resource in full(resources(run, case))} == {("client",)}]


def _clients_are_the_limit(run: Run, limited: list[int]) -> str:
    """Return that the clients were the limit of these cases, and the highest rate among them."""
    case = max(limited, key=lambda number: float(run.cases.loc[number, "rate_per_s"]))
    serving = [resource for resource in resources(run, case) if "server" in resource.roles]
    busiest = max(serving, key=lambda resource: resource.busy, default=None)
    there = " there" if len(limited) > 1 else ""
    server_share = f" ({busiest.name} at {busiest.percent}{there})" if busiest else ""
    rate = run.over_starts(case, "rate_per_s").words("{:,.0f}/s".format)
    names = _and_others(run, [case, *(other for other in limited if other != case)])
    return f"the limit of {names} is the clients' CPU{server_share}: {rate}{there} need not be the server's capacity"


def _and_others(run: Run, cases: list[int]) -> str:
    """Return the label of the first case, and how many others there are."""
    others = f" and {len(cases) - 1} other case{'s' * (len(cases) > 2)}" if len(cases) > 1 else ""
    return f"{run.labels[cases[0]]}{others}"


def limit(run: Run) -> Check:
    """5. Which resource was saturated (more than 90 % busy): the bottleneck of each rate.

    Saturated clients are no capacity: where only they were saturated, the server's capacity is at least the rate.
    CAUTION if twice the callers make less than 1.1 times the calls and no CPU is saturated, or if other processes left
    no CPU of the machine idle: the cause is not known. N/A if no CPU of a case is saturated, and what other processes
    used is not known.
    """
    windows = [*windowed_cases(run), *run.find(load="retry")]
    if not windows:
        return Check("limit", NOTHING, "each case stops after a fixed number of calls, or is a one-way stream")
    names = dict.fromkeys(resource.name for case in windows for resource in full(resources(run, case)))
    finding = "clients and servers saturated no CPU in any case"
    if names:
        finding = f"{listed(names)} {'is' if len(names) == 1 else 'are'} saturated in at least one case"
    if limited := client_limited(run):
        finding += f"; {_clients_are_the_limit(run, limited)}"
    taken = [case for case in windows if crowded(run, case)]
    if unexplained := [case for case in stuck(run) if not full(resources(run, case)) and case not in taken]:
        finding += f"; {run.labels[unexplained[0]]} makes hardly more calls/s than fewer callers do, and no CPU is "
        finding += "saturated there"
        return Check("limit", CAUTION, finding, "look for a wait: a lock, a timer, a limit on connections")
    if taken:
        finding += f"; other processes left no CPU of the machine idle in {_and_others(run, taken)}: what limited "
        finding += "these rates is not known"
        return Check("limit", CAUTION, finding, OTHERS)
    if dark := [case for case in windows if not full(resources(run, case)) and not is_use_known(run, case)]:
        finding += f"; whether other processes left a CPU idle is not known in {_and_others(run, dark)}: {_dark(run)}"
        return Check("limit", NOTHING, finding)
    return Check("limit", PASS, finding)


def _dark(run: Run) -> str:
    """Return why the CPU time of all processes is not known."""
    if run.ledger["machine_busy_ns"].isna().all() and run.hosts["machine_busy_ns"].isna().all():
        return "their CPU time was not recorded"
    return f"the machine's CPU time ticks at 10 ms, and the windows of a case together are {LEAST_S:g} s or shorter"


@of_samples
def settled(run: Run) -> Check:
    """6. The level does not change after the warm-up: no drift, no step that the starts agree on, no unsteady case.

    False-alarm rate: at most 5 % of stationary runs, for the drift (which must also reach 2 % of the median) and the
    step (which must also reach 5 %) together; the certificate counts it. In simulation also with autocorrelated calls
    and with levels that switch at random, as long as a level lasts no more than a twentieth of the window; more where
    it lasts a fifth, for which longer windows are the right advice. And at most 5 % of runs in which all cases change
    their level equally often (``stationarity.unsteady``). Cases that the plan makes unsteady are left out.
    """
    levels = level_changes(run)
    if not levels:
        return Check(
            "settled",
            NOTHING,
            f"no case fills windows in {stationarity.LEAST_STARTS} starts or more at a level that should stay",
        )
    of_cases = run.ledger[run.ledger["case"].isin(levels)]
    whole = " (not from the CPU time per call)" if (of_cases["cpu_from_ns"] == 0).any() else ""
    cut_s = " to ".join(dict.fromkeys(f"{end / 1e9:.2f}" for end in of_cases["warm_up_ns"].quantile([0, 1])))
    finding = f"warm-up cut at {cut_s} s{whole}; after it "
    moved = {run.labels[case]: of_case for case, of_case in levels.items() if of_case.drift or of_case.step}
    if moved:
        worst = max(moved, key=lambda label: max(abs(moved[label].drift), abs(moved[label].step)))
        change = max(abs(moved[worst].drift), abs(moved[worst].step))
        kind = "drift" if change == abs(moved[worst].drift) else "step"
        finding += f"the largest {kind} common to the starts is {change:.1%} of the median ({worst})"
    else:
        finding += "no drift or step is common to the starts of a case"
    if share := stationarity.unsteady_share(levels.values()):
        finding += f"; {share:.0%} of all starts changed their level"
    if unsteady := [run.labels[case] for case in stationarity.unsteady(levels)]:
        others = " and others" if len(unsteady) > 3 else ""
        finding += f", among them most starts of {listed(unsteady[:3])}{others}: these did not reach steady state"
    elif share:
        finding += ", in no case more than by chance; the range over starts includes these changes"
    advice = "use longer windows (window_s); look at every call in order for steps of the machine"
    return outcome("settled", stationarity.are_steady(levels), finding, advice)


def levels(run: Run) -> Check:
    """7. The starts of a case vary about one level: no gap of a tenth divides their medians into two.

    False-alarm rate: at most 5 % of runs whose ln(start medians) are normal, with any deviation: chances of all cases
    are adjusted (false discovery rate). Of open loads the response times, where they are reported; of reply streams
    the times to first message. Throughputs where cases have no median.
    """
    looked_at, sure = len(_with_a_level(run)), divided(run)
    if not looked_at:
        loads = "no closed loop, open load below its capacity or stream"
        return Check("levels", NOTHING, f"{loads} with {stats.LEAST_STARTS} starts or more")
    if not sure:
        finding = "no gap of a tenth or more, beyond what chance explains, divides the starts of a case into two levels"
        return Check("levels", PASS, f"{finding} (cases looked at: {looked_at})")
    worst = max(sure, key=lambda case: sure[case].high / sure[case].low)
    finding = f"the starts of {_and_others(run, [worst, *(case for case in sure if case != worst)])} have two levels"
    text, two = level_text(run, worst), sure[worst]
    label = f" of {run.labels[worst]}" if len(sure) > 1 else ""
    finding += f" of the {LEVELS[level_of(run, worst)]}; the levels{label}: {text(two.low)} and {text(two.high)}, "
    finding += f"the upper {two.high / two.low:.2f} times the lower, "
    finding += f"with no start between {' and '.join(map(text, two.gap))}"
    finding += f"; cases looked at: {looked_at}"
    advice = "read both levels, not a median between them; compare cases by their ratios in slices, or take more starts"
    return Check("levels", CAUTION, finding, advice)


@once_per_run
def divided(run: Run) -> dict[int, Levels]:
    """Return the two levels of each case whose starts have them, by the check ``levels``."""
    of_cases = _with_a_level(run)
    level_pairs = {case: two for case, values in of_cases.items() if (two := two_levels(values))}
    chances = np.array([two.chance for two in level_pairs.values()] + [1.0] * (len(of_cases) - len(level_pairs)))
    adjusted = intervals.false_discovery(chances)
    return {case: two for (case, two), chance in zip(level_pairs.items(), adjusted, strict=False) if chance <= ALARM}


def _with_a_level(run: Run) -> dict[int, stats.Array]:
    """Return the levels of the starts of each case that has starts enough."""
    cases = [case for case in [*windowed_cases(run), *run.find(load="stream")] if case not in without_times(run)]
    start_levels = {case: run.starts_of(case)[level_of(run, case)].dropna().to_numpy() for case in cases}
    return {case: values[values > 0] for case, values in start_levels.items() if len(values) >= stats.LEAST_STARTS}


LEVELS = {  # what each column whose level a case may have is
    P50: "median RTT",
    RESPONSE: "median response time",
    FIRST: "median time to first message",
    "rate_per_s": "rate",
}


def level_text(run: Run, case: int) -> stats.Text:
    """Return the function that puts a level of a case in words."""
    return quantity if level_of(run, case) == "rate_per_s" else duration


def level_of(run: Run, case: int) -> str:
    """Return the column of ``Run.starts`` whose level a case has."""
    of_load = {"open": RESPONSE, REPLY_STREAM: FIRST}.get(run.case(case).load, P50)
    return of_load if run.starts_of(case)[of_load].notna().any() else "rate_per_s"


@of_samples
def samples(run: Run) -> Check:
    """8. Every case has enough calls for p99, all starts together, and they are worth enough independent ones for p90.

    Quantiles without enough are left out. Neighbouring calls are correlated: see ``intervals.dependence``.
    """
    streams = pd.Series({case: _complete(run, case) for case in run.find(load=REPLY_STREAM)}, dtype=int)
    counts = pd.concat([run.cases.loc[sampled_cases(run), "n"], streams])
    what = "streams" if len(streams) == len(counts) else "calls"
    short = run.ledger[run.ledger["case"].isin(sampled_cases(run)) & (run.ledger["window_s"] < 0.9 * run.plan.window_s)]
    if len(short):
        finding = f"{len(short)} starts reached the limit of calls early, one after {short['window_s'].min():.2f} s"
        return Check(
            "samples", CAUTION, finding, "shorter windows (window_s) and more starts give the same information"
        )
    if counts.empty:
        return Check("samples", NOTHING, "no case whose calls fill a window")
    needed, headline = stats.needed_samples(max(stats.QUANTILES)), stats.needed_samples(HEADLINE)
    if counts.min() < headline:
        finding = f"the smallest case has {counts.min():,} {what} after the warm-up; p99 needs {headline:,}, "
        finding += "and is left out there"
        return Check("samples", CAUTION, finding, "use longer windows (window_s) or more starts")
    filled = f"each case whose {what} fill a window has as many as"
    finding = f"{filled} p99.9 needs ({needed:,}, if they are independent)"
    if counts.min() < needed:
        finding = f"{filled} p99 needs ({headline:,}, if they are independent); "
        finding += f"p99.9 needs {needed:,}, which {(counts < needed).sum():,} of these {len(counts)} do not have"
    if not (worth := _worth(run)):
        return Check("samples", PASS, finding)
    least = min(worth, key=lambda case: worth[case])
    needed = stats.needed_samples(0.9)
    finding += f"; neighbouring calls are correlated: for p90, the {run.count(least):,} calls of {run.labels[least]} "
    finding += f"count as {worth[least]:,} independent calls; {needed:,} are needed"
    advice = "use the range over starts, and take more starts"
    return outcome("samples", worth[least] >= needed, finding, advice)


def _complete(run: Run, case: int) -> int:
    """Return from how many streams of a case the quantiles of the time to first message are."""
    rows = run.streams[run.streams["case"] == case]
    return int((rows["warm"] & rows["is_complete"]).sum())


def _worth(run: Run) -> dict[int, int]:
    """Return how many independent calls those of each case are worth for its p90."""
    worth = {}
    for case in sampled_cases(run):
        calls = quantiles.times(run, case, "rtt")
        if len(calls):
            worth[case] = intervals.dependence(calls.to_numpy(), 0.9, calls.index.to_numpy()).worth
    return worth


def starts(run: Run) -> Check:
    """9. All planned starts are there, and at least 6 of each case, so that an interval of the median exists."""
    fewest, planned = int(run.cases["starts"].min()), run.plan.all_starts
    if len(run.ledger) < planned:
        advice = "the run was interrupted: measure the rest with -p resume true"
        return Check("starts", CAUTION, f"{len(run.ledger)} of {planned} planned starts are complete", advice)
    covers = f"the true median lies in their range with a probability of {_chance(stats.coverage(fewest))}"
    least = "" if fewest == int(run.cases["starts"].max()) else "at least "
    finding = f"{least}{fewest} starts of each case: {covers}"
    if search := run.manifest.get("capacity"):  # which spends its starts where the decision is
        reason, advice = undecided(run)
        if reason:
            return Check("starts", CAUTION, reason, advice)
        low, rates = search["low_per_s"], [probe["rate"] for probe in search["probes"]]
        confirming = sum(probe.get("confirms", False) for probe in search["probes"] if probe["rate"] == low)
        fewest = confirming or rates.count(low) if low else len(rates)
        scope = f"at the highest confirmed rate ({rates.count(low)} there, " if low else "of all rates ("
        finding = f"{fewest} {'further ' * bool(confirming)}starts {scope}{len(rates)} in all)"
        if search.get("requests"):  # MLPerf's rule: five starts, of as many requests as it asks for
            return Check("starts", PASS, finding)
    advice = f"draw no conclusion: use at least {stats.LEAST_STARTS} starts (profile class)"
    return outcome("starts", fewest >= stats.LEAST_STARTS, finding, advice)


def _chance(chance: float) -> str:
    """Return a probability in words, never rounded to certainty."""
    return "more than 99.9%" if chance > 0.9994 else f"{chance:.1%}"


def noise(run: Run) -> Check:
    """10. The A/A ratio of each case is 1, within 2 %.

    Of a case and its twin, the same case under another name; without a twin, of every second round of slices and the
    rest. PASS where all intervals over the blocks lie within 2 %, CAUTION where one lies beyond, N/A where they are
    too wide to show it. The intervals allow for the number of cases: at most 5 % of runs in which nothing differs are a
    CAUTION.
    """
    again = {pair[0]: ratios(run, *pair, P50).to_numpy() for pair in turns_of.twins(run)}
    if not again and len(run.stored_slices):
        sliced = run.slices["case"].unique()
        again = {case: turns_of.halves(run, case) for case in run.numbers if case in sliced}
    if not again:
        return Check("noise", NOTHING, "no case was measured twice")
    worst, ratio, verdict = _far_from_1(again, MOST_AA)
    if verdict is None:
        return Check("noise", NOTHING, f"fewer than {intervals.LEAST_PAIRS} blocks: no interval of an A/A ratio")
    finding = f"A/A ratio of {run.labels[worst]}: {ratio.middle:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"
    finding += f"; of {len(again)} cases its interval reaches farthest from 1" if len(again) > 1 else ""
    finding += f"; the interval is too wide to decide about the limit of {MOST_AA:.0%}" if verdict == NOTHING else ""
    advice = "smaller differences than this A/A ratio mean nothing: measure again on a quieter machine"
    return Check("noise", verdict, finding, advice if verdict == CAUTION else "")


def _far_from_1(ratios: dict[int, stats.Array], bound: float) -> tuple[int, Interval, str | None]:
    """Return the case whose ratio's interval reaches furthest from 1, that ratio, and what it says of a bound.

    ratios: ln of each, by block. CAUTION: some ratio lies beyond the bound. PASS: all lie within. NOTHING: neither is
    shown. None: no interval.
    """
    shifts = {case: intervals.paired_shift(logs) for case, logs in ratios.items()}
    if beyond := turns_of.beyond(ratios, bound):
        return beyond[0], shifts[beyond[0]].exp(), CAUTION
    reach = {case: max(-shift.low, shift.high) for case, shift in shifts.items() if shift.has_ends}
    worst = max(reach, key=lambda case: reach[case], default=next(iter(shifts)))
    if not reach:
        return worst, shifts[worst].exp(), None
    is_within = len(reach) == len(shifts) and reach[worst] <= math.log1p(bound)
    return worst, shifts[worst].exp(), PASS if is_within else NOTHING


def speed(run: Run) -> Check:
    """11. The machine was as fast in each sixth of the run as in the others, within 5 % (p10 to p90 of their medians).

    A fixed loop, system call and switch between threads, before and after each window on the roles' CPUs.
    """
    ranges = speeds.ranges(run)
    if ranges.empty:
        return Check("speed", NOTHING, "the machine's speed was not probed in two blocks or more")
    each = ", ".join(f"{words} {ranges[work]:.0%}" for work, words in speeds.WORK.items())
    varied = percent_beside(ranges["all"], speeds.STEADY)
    finding = f"the mean time of the three speed probes differed by {varied} between parts of the run, "
    finding += f"p10 to p90 (each: {each})"
    if (two := two_levels(np.exp(speeds.by_part(run)["all"].to_numpy()))) and two.chance <= ALARM:
        finding += f", with two levels: the slower takes {two.high / two.low:.2f} times as long"
    advice = "times from different parts of the run are not comparable: compare cases by their ratios, measure in "
    advice += "slices, set the governor to performance, end other work, or use a machine of your own; see "
    advice += f"{BENCH} doctor"
    return outcome("speed", float(ranges["all"]) <= speeds.STEADY, finding, advice)


def machine(run: Run) -> Check:
    """12. Other work used little of the machine, and garbage collections are too few to move a printed quantile.

    Bounds: steal 1 % of the CPU time, other processes 10 % of a CPU, no throttling, fewer collections than half of the
    calls above the highest quantile that is printed of their case. Of several hosts each is looked at, and named.
    """
    if not len(run.hosts):
        return _this_machine(run, run.ledger)
    far, here = _machines(run), run.ledger[~run.ledger.index.isin(run.hosts["start"])]
    if here.empty:
        return far
    alone = _this_machine(run, here)  # the starts that were of this machine alone
    advice = "; ".join(outcome.advice for outcome in (alone, far) if outcome.advice)
    worst = CAUTION if CAUTION in (alone.verdict, far.verdict) else PASS
    return Check("machine", worst, f"this machine: {alone.found}; {far.found}", advice)


def _this_machine(run: Run, ledger: pd.DataFrame) -> Check:
    """Return the outcome of the check ``machine`` for starts of this machine alone."""
    disturbed = per_host.disturbances(ledger, cpus_of(run.manifest["machine"]))
    advice = [OTHERS] if disturbed else []
    collections = int(ledger["gc_collections"].sum())
    if moved := per_host.moved_by_collections(run, ledger):
        case, share, p = moved
        finding = f"the clients' own interpreters made a garbage collection in {share:.1%} of the calls of "
        disturbed.append(f"{finding}{run.labels[case]}, whose p{100 * p:g} is printed")
        advice.append(COLLECTED)
    if disturbed:
        return Check("machine", CAUTION, "; ".join(disturbed), "; ".join(advice))
    few = f", {collections} garbage collections, too few to move a printed quantile" if collections else ""
    few = few or ", no garbage collection"
    quiet = ", little other work" if len(used_by_all(ledger)) else f"; other processes: not known, {_dark(run)}"
    stolen = "steal at most 1 % in 90 % of the starts" if ledger["steal_ns"].notna().any() else "steal was not recorded"
    return Check("machine", PASS, f"{stolen}, {_throttling(ledger)}{few}{quiet}")


def _throttling(rows: pd.DataFrame) -> str:
    return "no throttling" if rows["throttled_ns"].notna().all() else "throttling was not recorded"


def _machines(run: Run) -> Check:
    """Return the outcome of the check ``machine`` for several hosts."""
    disturbed = per_host.disturbances_of_hosts(run)
    advice = ["end other work on the hosts that are named and measure again"] if disturbed else []
    if collected := per_host.collected(run):
        disturbed += [
            f"host {name}: its clients made {count} garbage collections in windows" for name, count in collected.items()
        ]
        advice.append(COLLECTED)
    if disturbed:
        return Check("machine", CAUTION, "; ".join(disturbed), "; ".join(advice))
    recorded = run.hosts[["machine_busy_ns", "steal_ns"]].notna().all()
    steal = "steal at most 1 % in 90 % of the starts" if recorded["steal_ns"] else "steal was not recorded everywhere"
    words = [steal, _throttling(run.hosts)]
    words.append("little other work" if recorded["machine_busy_ns"] else "other processes were not recorded everywhere")
    return Check("machine", PASS, f"on each of {run.hosts['host'].nunique()} hosts: {', '.join(words)}")


@of_samples
def instrument(run: Run) -> Check:
    """13. The instrument overhead (clock and loop) is at most 1 % of the shortest median RTT."""
    cases = run.cases.dropna(subset=P50)
    cases = cases[cases["n"] > 0]
    loopback, measured = cases[cases["system"] == "loopback"], cases[cases["system"] != "loopback"]
    if measured.empty:
        return Check("instrument", NOTHING, "no median RTT in this run")
    least = float(measured[P50].min())
    clock_us = 2e-3 * float(run.manifest["machine"].get("clock_cost_ns") or 0)
    spread = run.over_starts(number_of(loopback.index[0]), P50) if len(loopback) else stats.across_starts([clock_us])
    own = spread.middle
    what = "an empty call measures" if len(loopback) else "two clock readings take"
    finding = f"{what} {spread.words('{:.2f} us'.format)}, {own / least:.2%} of the shortest median"
    return outcome("instrument", own <= 0.01 * least, finding, "do not subtract it; smaller differences are noise")


def turns(run: Run) -> Check:
    """Of a run in slices: levels in slices and alone differ by at most 2 %, and cases that sleep do not work.

    Of the levels as ``noise``: PASS where all intervals lie within 2 %, N/A where they are too wide to show it.
    """
    finding = f"while they slept, the processes of a case used at most {turns_of.most_awake(run)}"
    advice = "measure these cases in starts of their own: -p slice_ms 0"
    verdict: str | None = None
    if logs := turns_of.interference_logs(run):
        worst, ratio, verdict = _far_from_1(logs, turns_of.MOST_INTERFERENCE)
        times = f"{ratio.middle:.3f} [{ratio.low:.3f}, {ratio.high:.3f}] times the level that it has alone"
        finding += f"; in its slices {run.labels[worst]} has {times}" if verdict else ""
        finding += "; the interval is too wide to decide about the limit of 2 %" if verdict == NOTHING else ""
    if verdict is None:
        finding += "; no case was alone in enough blocks to show what taking turns does to its level"
    if verdict == CAUTION or turns_of.awake(run).max() > turns_of.MOST_AWAKE:
        return Check("turns", CAUTION, finding, advice)
    return Check("turns", verdict or NOTHING, finding)


def order(run: Run) -> Check:
    """Of both placements: no two cases are in one order on the same CPU and in the other order on two.

    By the median RTT, beyond 5 % each way with the whole interval of the ratio.
    """
    matched = rankings.in_both(run)
    pairs = rankings.reversed_pairs(run)
    if not pairs:
        return Check("order", PASS, f"no two of {len(matched)} cases change their order with the placement, beyond 5 %")
    first = pairs[0]
    finding = f"{run.labels[first.other]} divided by {run.labels[first.base]} is {first.same:.2f} on the same CPU and "
    finding += f"{first.split:.2f} on separate CPUs"
    if len(pairs) > 1:
        finding += f"; {len(pairs) - 1} more pairs of the {len(matched)} measured in both change their order"
    advice = "the ranking holds only for its placement: state the placement, and choose by the one you will use"
    return Check("order", CAUTION, finding, advice)


ALL: tuple[Callable[[Run], Check], ...] = (
    answers, rate, pacing, client, limit, settled, levels, samples, starts, noise, speed, machine, instrument,
)  # fmt: skip
OF_HOSTS: tuple[Callable[[Run], Check], ...] = (clocks.clocks, per_host.hosts, per_host.stalls)


@once_per_run
def check(run: Run) -> list[Check]:
    """Return the outcome of every check, in the order of the card; those of what not every run has only where it is."""
    return [examine(run) for examine in applicable(run)]


def applicable(run: Run) -> tuple[Callable[[Run], Check], ...]:
    """Return the checks of a run."""
    in_slices = (turns,) if len(run.stored_slices) else ()
    placed = (order,) if len(rankings.in_both(run)) > 1 else ()
    return (*ALL, *(OF_HOSTS if len(run.hosts) else ()), *in_slices, *placed)


def tally(run: Run) -> Tally:
    """Return how many checks passed, and the names of those that did not."""
    return trust_card.tally(check(run))


def refuse_invalid(run: Run) -> None:
    """Raise DataError for a run from which nothing follows, with what its checks found."""
    if bad := [f"{entry.name}: {entry.found}" for entry in check(run) if entry.verdict == INVALID]:
        raise DataError(f"run {run.id} is invalid ({'; '.join(bad)}): correct what is named, and measure again")
