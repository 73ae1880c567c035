"""The questions that are predicted in each notebook, and the quantity of a run that answers each."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import yaml

from bench import stats
from bench.analysis.open_load import capacity, mean_response_us, offered
from bench.analysis.overload import without_times
from bench.analysis.retry_outcomes import Outcome, outcomes
from bench.errors import unknown
from bench.experiments import (
    clients,
    connections,
    fanin,
    languages,
    latency,
    messages,
    network,
    nodelay,
    overview,
    scaleup,
    streaming,
    tls,
)
from bench.grammar import P50, RATE, over_starts
from bench.grammar.choose import chosen
from bench.grammar.contrast import Contrast, Ratio, ratio
from bench.measurement.validation.cases import INSTRUMENT
from bench.plan.case import Case
from bench.plan.labels import placed_as
from bench.plan.plan import Plan
from bench.run.frames import Run, number_of
from bench.stats.intervals import Interval
from bench.text import listed, ratio_ends

RATIO = "times"  # the unit of a ratio of two cases

Answer = stats.Spread  # a value, the low and high end of its interval or range, and the two levels of a median


@dataclass(frozen=True)
class Question:
    """A question that a notebook's run answers: with the ratio of two cases, or with the median over starts.

    systems: those that it names, besides raw sockets; a run without them does not answer it.
    """

    name: str
    text: str
    unit: str
    systems: tuple[str, ...] = ()

    def is_answered_by(self, plan: Plan) -> bool:
        """Return whether a plan measures the systems that are asked about."""
        return {*self.systems} <= {case.system for case in plan.cases}

    @property
    def notebook(self) -> str:
        """The notebook whose run answers it."""
        return self.name.split()[0]

    @property
    def spread(self) -> str:
        """What the two ends of an answer are."""
        return "95 % CI" if self.unit == RATIO else "range over starts"

    def shown(self, answer: "Answer") -> tuple[str, str, str]:
        """Return an answer and its ends as text, without unit; ratios as the notebook's sentences show them."""
        if self.unit == RATIO:
            return ratio_ends(answer.middle, answer.low, answer.high)
        return f"{answer.middle:.3g}", f"{answer.low:.3g}", f"{answer.high:.3g}"

    def in_words(self, answer: "Answer") -> str:
        """Return an answer with its unit as text, without its ends; a median between two levels as both."""
        if self.unit == RATIO:
            return f"{self.shown(answer)[0]} {RATIO}"
        return answer.words(f"{{:.3g}} {self.unit}".format)


ALL = tuple(
    Question(name, **fields | {"systems": tuple(fields.get("systems", ()))})
    for name, fields in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8")).items()
)


def of_plan(plan: Plan) -> list[Question]:
    """Return the questions of a plan's notebook that its run will answer."""
    return [question for question in of_notebook(plan.notebook) if question.is_answered_by(plan)]


def of_notebook(notebook: str) -> list[Question]:
    """Return a notebook's questions; none for a notebook in which nothing is predicted."""
    return [question for question in ALL if question.notebook == notebook]


def find(name: str, notebook: str | None = None) -> Question:
    """Return a question by its name ("latency q1"); inside its notebook "q1" will do."""
    full = f"{notebook} {name}" if notebook and " " not in name else name
    for question in ALL:
        if question.name == full:
            return question
    raise unknown("question", name, [question.name for question in (of_notebook(notebook) if notebook else ALL)])


def measured(run: Run, question: Question) -> Answer | None:
    """Return the answer of a run with its interval (of a ratio) or its range over the starts, or None without one.

    The ends of a ratio's interval are NaN where fewer than six blocks hold both cases.
    """
    try:
        answer = ANSWERS[question.name](run)
    except (LookupError, StopIteration):  # the run did not measure what is asked
        return None
    if answer is None:
        return None
    if isinstance(answer, Ratio):
        answer = answer.interval
    if isinstance(answer, pd.Series):
        answer = stats.across_starts(answer.to_list())
    spread = Answer(answer.middle, answer.low, answer.high) if isinstance(answer, Interval) else answer
    return None if math.isnan(spread.middle) else spread


def conditions(run: Run, question: Question) -> str:
    """Return with which transport, placement and payload a run answers a question that it does answer.

    Those of the two cases of a ratio, else those of all cases with a server.
    """
    answer = ANSWERS[question.name](run)
    numbers = (answer.base, answer.other) if isinstance(answer, Ratio) else run.numbers
    cases = [case for case in map(run.case, numbers) if case.system != INSTRUMENT]
    sizes = (f"{size:,} B" for size in sorted({case.payload_bytes for case in cases}))
    return "; ".join(map(listed, (_each(cases, "transport"), dict.fromkeys(map(placed_as, cases)), sizes)))


def _each(cases: Iterable[Case], name: str) -> Iterable[str]:
    return dict.fromkeys(getattr(case, name) for case in cases)


def _case(run: Run, **wanted: object) -> int:
    """Return the first case with these factors; LookupError if there is none."""
    case = run.first(**wanted)
    if case is None:
        raise LookupError(f"no case with {wanted}")
    return case


def _ratio(run: Run, contrast: Contrast, **factors: object) -> Ratio | None:
    """Return the first ratio of a contrast whose case has these factors; None if there is none."""
    cases = run.find(**factors)
    return next((ratio for ratio in contrast.ratios(run) if ratio.other in cases), None)


def _subject(run: Run, transport: str) -> int:
    return _case(run, system=run.case(0).system, transport=transport)


def _held(run: Run, *sides: str) -> "pd.Series[float]":
    """Return calls per second of the first system in two writes while ``sides`` set TCP_NODELAY."""
    conditions = {"system": run.case(0).system, nodelay.sides: lambda side: side in sides}
    cases = chosen(run, conditions, chosen(run, nodelay.two_writes))
    return run.starts.loc[run.starts["case"].isin(cases), RATE]


def _of_codec(run: Run, name: str) -> int:
    """Return the carrier's case with a codec at the middle size."""
    return next(case for case in messages.by_codec(run) if messages.codec(run.case(case)) == name)


def _response_ms(run: Run, share: float) -> "pd.Series[float] | None":
    """Return the mean response time in ms at the highest offered rate up to a share of the capacity.

    None where that rate is overloaded: the mean would be of the window; or where requests failed.
    """
    cases = offered(run)
    below = cases[cases["offered_per_s"] <= share * capacity(run)]["offered_per_s"]
    if below.empty:
        raise LookupError(f"no rate up to {share:.0%} of the capacity")
    case = number_of(below.idxmax())
    return None if case in without_times(run) else mean_response_us(run, case) / 1e3


def _at_once(run: Run) -> Outcome:
    """Return the outcome of the policy that retries at once."""
    return next(outcome for outcome in outcomes(run) if outcome.name == "retries at once")


def _workers(run: Run) -> Ratio | None:
    """Return the requests per second of two workers over those of one, for the smallest reply."""
    ratios = scaleup.second.ratios(run)
    return min(ratios, key=lambda ratio: run.case(ratio.other).payload_bytes, default=None)


ANSWERS: dict[str, Callable[[Run], "Ratio | Interval | pd.Series[float] | Answer | None"]] = {
    "latency q1": lambda run: run.starts_of(_subject(run, "ipc"))[P50],
    "latency q2": lambda run: _ratio(run, latency.over_ipc, system=run.case(0).system),
    "overview q1": lambda run: _ratio(run, overview.over_sockets, system="grpc_sync", placement="same"),
    "overview q2": lambda run: _ratio(run, overview.over_sockets, system="wamp_crossbar", placement="same"),
    "overview q3": lambda run: _ratio(run, overview.over_sockets, system="http_asgi", placement="same"),
    "clients q1": lambda run: _ratio(run, clients.second),
    "clients q2": lambda run: _ratio(run, clients.gain),
    "nodelay q1": lambda run: _held(run, "client only", "server only"),
    "nodelay q2": lambda run: _held(run, "neither"),
    "messages q1": lambda run: over_starts(run, _of_codec(run, "json"), messages.SHARE),
    "messages q2": lambda run: ratio(run, messages.by_codec(run)[0], _of_codec(run, "json"), P50),
    "languages q1": lambda run: _ratio(run, languages.both_native, system="sockets_c"),
    "languages q2": lambda run: _ratio(run, languages.server_cpu, system="grpc_cpp"),
    "tls q1": lambda run: _ratio(run, tls.connecting, system="sockets"),
    "tls q2": lambda run: _ratio(run, tls.large_calls, system="sockets"),
    "openload q1": lambda run: _response_ms(run, 0.5),
    "openload q2": lambda run: _response_ms(run, 0.9),
    "retries q1": lambda run: _at_once(run).attempts_per_request,
    "retries q2": lambda run: 100 * _at_once(run).met,
    "streaming q1": lambda run: _ratio(run, streaming.over_sockets_with_fewest, system="grpc_aio"),
    "streaming q2": lambda run: _ratio(run, streaming.stack_cpu),
    "scaleup q1": _workers,
    "connections q1": lambda run: _ratio(run, connections.persistent, system="sockets"),
    "connections q2": lambda run: _ratio(run, connections.deeper, system="zeromq"),
    "fanin q1": lambda run: _ratio(run, fanin.detour, system="redis"),
    "fanin q2": lambda run: _ratio(run, fanin.growth, system="nats"),
    "network q1": lambda run: _ratio(run, network.added, system="sockets"),
    "network q2": lambda run: _ratio(run, network.limited, system="grpc_sync"),
}
