"""Sentences computed from a run: its conclusions, when there is none, and the phrases that notebooks share."""

import math
import re
from dataclasses import dataclass

import pandas as pd

from bench import stats
from bench.analysis import checks, trust_card
from bench.analysis.resources import Resource, crowded, full, resources
from bench.analysis.turns import interference, most_awake, most_disturbed
from bench.experiments import two_levels
from bench.experiments.registry import text_of
from bench.plan import slicing
from bench.run.frames import Run, column
from bench.text import counted, duration, few, listed, paragraphs, ratio_ends

P50 = column(0.5)


def with_range(run: Run, case: int, name: str) -> str:
    """Return a median over starts with the range of the starts."""
    return ranged(run.over_starts(case, name))


def ranged(spread: stats.Spread) -> str:
    """Return a time in us with its range over starts."""
    return spread.words(duration, "range over starts {} to {}".format(*spread.ends(duration)))


def factor(value: float) -> str:
    """Return a factor with two digits, never as a power of ten: 0.13, 1.9, 18, 104."""
    return f"{value:.2g}" if value < 99.5 else f"{value:,.0f}"


def clients_of(row: "pd.Series[float]") -> str:
    """Return "1 client" or "4 clients"."""
    return f"{row['clients']:.0f} client{'s' if row['clients'] > 1 else ''}"


def measured(run: Run) -> str:
    """Return how the cases of a run were repeated: in blocks of slices, or in starts; and what taking turns did."""
    if (run.cases["load"] == "session").all():
        return "Each start of a case had a fresh server, and its client processes ran one after another."
    if not len(run.stored_slices):
        text = f"Each start of a case had fresh processes, and a window of its own ({windows(run)})."
        return f"{text} {_routers(run)}".strip()
    blocks, groups = run.plan.starts, run.ledger["turns_with"].value_counts()
    each = "their" if groups.max() == len(run.plan.cases) else f"up to {groups.max()} cases at once had their"
    text = (
        f"In each of {counted(blocks, 'block')} {each} processes started anew and took turns: {run.plan.slices} of "
        f"each case are counted, {slicing.WARM_UPS} before them are warm-up. A ratio compares neighbouring slices."
    )
    if alone := [run.labels[case] for case in run.plan.apart if run.case(case).system != "loopback"]:
        text += f" Measured in starts of their own, because they take no turns: {few(alone)}."
    return " ".join(filter(None, [text, turns(run), _routers(run)]))


def _routers(run: Run) -> str:
    """Return that routers outlive starts; "" without any, or where each start had a fresh one."""
    routed = run.ledger.loc[run.ledger["router_cpu_ns"].notna(), "case"].unique()
    kept = any(not run.case(case).fresh_router for case in routed)
    return "Each router was started once, for the whole run." if kept else ""


def windows(run: Run) -> str:
    """Return what each start measured that took no turns: reply streams that have begun are received whole."""
    lengths_s = " to ".join(dict.fromkeys(f"{end:.2g}" for end in run.ledger["window_s"].quantile([0, 1])))
    if "capacity" in run.manifest:  # a search chooses the length at each rate
        return f"windows of {lengths_s} s"
    if not (run.cases["load"] == "reply_stream").all():
        return run.plan.windows
    return f"requests for {run.plan.window_s:g} s, each start until the last stream had ended, {lengths_s} s"


def turns(run: Run) -> str:
    """Return what taking turns did to the cases: interference, and CPU time of those that slept; or that none did."""
    if not len(run.stored_slices):
        return "Every start had a window of its own."
    asleep = f"While they slept, the processes of a case used at most {most_awake(run)}."
    if (worst := most_disturbed(run)) is None:
        return asleep
    found = interference(run)
    level, low, high = ratio_ends(*(getattr(found[worst], end) for end in ("middle", "low", "high")))
    return (
        f"Interference: the median RTT of {run.labels[worst]} in its slices divided by that while the others sleep for "
        f"longer is {level} (95 % CI {low} to {high}), which is the farthest from 1 of such ratios. {asleep}"
    )


AT_LEAST, EXACTLY, UNKNOWN = "at least this rate", "this rate", "not known"  # what a rate says of a server's capacity


@dataclass(frozen=True)
class Limit:
    """What limited the rate of a case.

    utilization: of the CPUs of each role, in words. saturated: the resources without idle time, none where that is not
    known. capacity: what the rate says of the server's capacity: it is this rate only if the server was saturated and
    the clients were not. crowded: the utilization of the machine's CPUs where other processes left none idle.
    """

    utilization: str
    saturated: tuple[Resource, ...]
    capacity: str
    crowded: float | None = None

    @property
    def names(self) -> str:
        """The saturated resources in words."""
        if self.crowded:
            return f"not known: with other processes the machine's CPUs were {self.crowded:.0%} busy"
        return listed(resource.name for resource in self.saturated) if self.saturated else "no CPU is saturated"

    @property
    def sentence(self) -> str:
        """The saturated resources, or that there are none, as a sentence without its full stop."""
        return f"The limit is {self.names}" if self.saturated or self.crowded else f"At this rate {self.names}"


def limit_of(run: Run, case: int) -> Limit:
    """Return what limited the rate of a case, by the CPU utilization of its roles."""
    measured = resources(run, case)
    utilization = listed(f"{resource.name} {resource.percent}" for resource in measured)
    if math.isnan(run.cases.loc[case, "server_cpu_us_per_call"]):
        return Limit(utilization, (), UNKNOWN)
    busy = tuple(full(measured))
    asking, serving = (any(role in resource.roles for resource in busy) for role in ("client", "server"))
    return Limit(utilization, busy, EXACTLY if serving and not asking else AT_LEAST, crowded(run, case))


def why_not_more(run: Run, case: int) -> str:
    """Return in sentences what limited the rate of a case, and what that says of the server's capacity."""
    limit = limit_of(run, case)
    text = f"CPU utilization: {limit.utilization}."
    if limit.capacity == UNKNOWN:
        return f"{text} The server's CPU time is not known, and neither is the limit."
    text += f" {limit.sentence}."
    if limit.capacity == EXACTLY:
        return f"{text} The clients are not saturated: this rate is the server's capacity for this load."
    return f"{text} The server's capacity is at least this rate."


def conclusion(run: Run) -> str:
    """Return the notebook's conclusion as Markdown; none from an invalid or too small run."""
    return text(run, "conclusion")


def answer(run: Run) -> str:
    """Return the answer to a notebook's question: its text's ``answer``, or the first sentence with an interval.

    Where a value in it is of starts with two levels, both follow.
    """
    has_own = hasattr(text_of(run.plan.notebook), "answer")
    said = text(run, "answer") if has_own else with_interval(conclusion(run))
    return paragraphs(said, two_levels.of_answer(run, said))


def finding(conclusion: str) -> str:
    """Return the first sentence with a number of a conclusion, or its first one, without Markdown and headings."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", conclusion)  # a link's words
    text = text.replace("[", "(").replace("]", ")")  # an interval; alt texts end at brackets
    split = _split(text)
    whole = [sentence for sentence in split if not sentence.endswith(":")] or split
    plain = [re.sub(r"[*`]", "", sentence).rstrip(" :.") for sentence in whole]
    first = next((sentence for sentence in plain if re.search(r"\d", sentence)), next(iter(plain), ""))
    return f"{first}."


def with_interval(conclusion: str) -> str:
    """Return the first sentence with a confidence interval; without one, the first with a range, or a stress."""
    return next(
        sentence
        for sign in (" CI ", "range over starts", "starts from", "**", "")
        for sentence in _split(conclusion)
        if sign in sentence
    )


def _split(conclusion: str) -> list[str]:
    """Return the sentences of a text in Markdown, without those of its headings and tables."""
    lines = [re.sub(r"^(- |\d+\. )", "", line.strip()) for line in conclusion.splitlines()]
    prose = [line for line in lines if line and not line.startswith(("#", "|"))]
    return [sentence for line in prose for sentence in re.split(r"(?<=[.?!])\s+(?=[A-Z*])", line)]


def text(run: Run, what: str) -> str:
    """Return one of the notebook's texts; what is concluded needs a run that can carry it."""
    invalid = [outcome for outcome in checks.check(run) if outcome.verdict == trust_card.INVALID]
    if invalid:
        return f"**No conclusion.** {invalid[0].found}: {invalid[0].advice}."
    written = text_of(run.plan.notebook)
    fewest = getattr(written, "evidence", _fewest)(run)
    if fewest < stats.LEAST_STARTS:
        return f"**No conclusion** from {fewest} starts; {stats.LEAST_STARTS} are needed (profile `class`)."
    return str(getattr(written, what)(run))


def _fewest(run: Run) -> int:
    """Return how many starts each case has at least; a notebook that rests on others defines ``evidence``."""
    return int(run.cases["starts"].min())


def absent(run: Run) -> list[str]:
    """Return what was not measured, and what installs it, in one line for all if there are several."""
    said = [f"\n**{name}** was not measured: {reason}." for name, reason in run.plan.absent.items()]
    line = to_install(run)
    return [*said, f"\nAll of them: `{line}`."] if line and len(said) > 1 else said


def to_install(run: Run) -> str:
    """Return one line that installs what the systems lack that were not measured, as far as commands are known."""
    packages: dict[str, list[str]] = {}
    for reason in run.plan.absent.values():
        for command in ("python -m pip install", "apt-get install"):
            _, asked, words = reason.partition(f"{command} ")
            packages.setdefault(command, []).extend(words.split() if asked else [])
    return " && ".join(f"{command} {' '.join(sorted(set(words)))}" for command, words in packages.items() if words)
