"""Checks: may this result be believed? Each says what was found, what it means and what to try."""

from collections.abc import Callable
from dataclasses import asdict, dataclass

from bench import stats
from bench.results import Run

PASS, CAUTION, INVALID = "PASS", "CAUTION", "INVALID"


@dataclass(frozen=True)
class Check:
    """One check's outcome."""

    name: str
    verdict: str
    found: str
    advice: str = ""

    def as_dict(self) -> dict[str, str]:
        """Return the check as the manifest stores it."""
        return asdict(self)


def complete(run: Run) -> Check:
    """All starts that were planned are on disk."""
    planned, got = run.plan.starts * len(run.plan.cases), len(run.ledger)
    found = f"{got} of {planned} planned starts are there"
    advice = "the run was interrupted: measure the rest with -p resume true"
    return Check("complete", PASS, found) if got == planned else Check("complete", CAUTION, found, advice)


def counts(run: Run) -> Check:
    """Every answer was verified, and the server counted as many requests as the clients made."""
    known = run.ledger.dropna(subset="server_calls")
    wrong = known[known["server_calls"] != known["calls"]]
    if len(wrong):
        row = wrong.iloc[0]
        found = (
            f"in {len(wrong)} starts the counts differ: {row['calls']} calls, the server saw {row['server_calls']:.0f}"
        )
        return Check("counts", INVALID, found, "another server answered, or messages were lost: look for stale servers")
    calls, unseen = int(run.ledger["calls"].sum()), len(run.ledger) - len(known)
    outside = f"; in {unseen} starts there was no server to ask" if unseen else ""
    return Check("counts", PASS, f"all {calls:,} messages verified; servers counted the same{outside}")


def starts(run: Run) -> Check:
    """There are enough starts for an interval of the median."""
    fewest = int(run.cases["starts"].min())
    found = f"{fewest} starts of each case: their range holds the true median with {stats.coverage(fewest):.1%}"
    if fewest >= stats.LEAST_STARTS:
        return Check("starts", PASS, found)
    return Check("starts", CAUTION, found, f"draw no conclusion: use at least {stats.LEAST_STARTS} (profile class)")


def samples(run: Run) -> Check:
    """Every printed quantile is carried by enough calls."""
    whole = [case for case in run.cases.index if not run.plan.cases[case].is_short]
    counts = run.cases.loc[whole, "n"][run.cases["load"] == "closed"]
    needed = stats.needed_samples(max(stats.QUANTILES))
    if counts.empty or counts.min() >= needed:
        return Check("samples", PASS, f"enough calls for every quantile shown (p99.9 needs {needed:,})")
    found = f"the smallest case has {counts.min():,} calls; p99.9 needs {needed:,}, and is left out there"
    return Check("samples", CAUTION, found, "longer windows (window_s) or more starts")


def instrument(run: Run) -> Check:
    """The instrument's own floor is below 1 % of what is measured."""
    cases = run.cases.dropna(subset="p50_rtt_us")
    floor, measured = cases[cases["system"] == "loopback"], cases[cases["system"] != "loopback"]
    if floor.empty or measured.empty:
        return Check("instrument", PASS, "no loopback case in this run; see latency.ipynb for the instrument's floor")
    own, least = floor["p50_rtt_us"].iloc[0], measured["p50_rtt_us"].min()
    found = f"the loop itself takes {own:.2f} us, {own / least:.2%} of the shortest median"
    advice = "subtract nothing; read differences below that as noise"
    return Check("instrument", PASS if own <= 0.01 * least else CAUTION, found, "" if own <= 0.01 * least else advice)


def windows(run: Run) -> Check:
    """Every start with a server measured as long as planned."""
    whole = [index for index, case in enumerate(run.plan.cases) if case.load == "closed" and not case.is_short]
    closed = run.ledger[run.ledger["case"].isin(whole)]
    cut = closed[closed["window_s"] < 0.9 * run.plan.window_s]
    if cut.empty:
        return Check("windows", PASS, f"no start was cut short of its {run.plan.window_s:g} s")
    found = f"{len(cut)} starts were full of calls early, one after {cut['window_s'].min():.2f} s"
    return Check("windows", CAUTION, found, "shorter windows (window_s) and more starts tell as much")


def collector(run: Run) -> Check:
    """Python's garbage collector stayed out of the windows."""
    collections = int(run.ledger["gc_collections"].sum())
    if not collections:
        return Check("collector", PASS, "no garbage collection inside a window")
    return Check("collector", CAUTION, f"{collections} garbage collections inside windows", "look for them in the tail")


def client_share(run: Run) -> Check:
    """The clients are not the limit of a throughput."""
    share = run.cases.loc[run.cases["clients"] > 1, "client_cpu_share"]
    if not (share > 0.8).any():
        return Check("client", PASS, "no group of parallel clients used more than 80 % of its CPUs")
    found = f"{(share > 0.8).sum()} cases: the clients kept their CPUs up to {share.max():.0%} busy"
    return Check(
        "client",
        CAUTION,
        found,
        "there the rate tells what these clients can send, not what the server can do",
    )


ALL: tuple[Callable[[Run], Check], ...] = (
    complete,
    counts,
    starts,
    windows,
    samples,
    collector,
    instrument,
    client_share,
)


def check(run: Run) -> list[Check]:
    """Return the outcome of every check."""
    return [one(run) for one in ALL]
