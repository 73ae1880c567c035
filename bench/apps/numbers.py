"""A run's numbers as plain data: for ``show --json``, ``export`` and the page of a service."""

import math
from typing import Any

from bench import stats
from bench.analysis import capacity as search
from bench.analysis import checks, quantiles, request_mix
from bench.analysis.comparison import QUANTITIES
from bench.grammar import precision
from bench.grammar.experiment import of_run
from bench.measurement.validation.plan_time import described
from bench.plan.case import Case
from bench.run import reply_stream_times, requests
from bench.run.frames import NUMBERS, Run, column, number_of
from bench.text import unmarked

Record = dict[str, Any]
COPIED = ("parameters", "machine", "hosts", "versions", "sources", "git", "digest", "failures")  # of the manifest
NOT_OF_A_CASE = ("sessions", "content", "hosts")  # long, or elsewhere in the document


def document(run: Run) -> Record:
    """Return a run as one JSON document: plan, conclusion, checks, cases, ratios, machine and provenance.

    Of each number the median over starts and its range; the unit is in its name. A number that is not known is not
    there.
    """
    plan = run.plan
    made: Record = {"run": run.id, "notebook": plan.notebook, "created": run.manifest["created"]}
    made["plan"] = {"described": described(plan), **known({name: getattr(plan, name) for name in OF_A_PLAN})}
    made["conclusion"] = unmarked(of_run(run).conclusion(run))
    made["checks"] = [check.as_dict() for check in checks.check(run)]
    made["cases"] = [case(run, number) for number in run.numbers]
    made["ratios"] = ratios(run)
    if "capacity" in run.manifest:
        made["capacity"] = capacity(run)
    return made | {name: run.manifest[name] for name in COPIED if name in run.manifest}


OF_A_PLAN = ("profile", "seed", "starts", "window_s", "slice_s", "until_width", "absent")


def case(run: Run, number: int) -> Record:
    """Return a measured case: its number, label and factors, how much was measured, and its ``values``.

    calls: those that quantiles describe. requests: what became of all of them. by_request: of a service with several.
    """
    counts = requests.of_starts(run, run.ledger_of(number))
    became = known(counts._asdict() | {"not_sent": counts.not_sent})
    amount = {"starts": len(run.starts_of(number)), "calls": run.count(number), "requests": became}
    return {
        "case": number,
        "label": run.labels[number],
        "factors": factors(run.case(number)),
        **amount,
        "numbers": values(run, number),
        **known({"by_request": by_request(run, number)}),
    }


def by_request(run: Run, number: int) -> dict[str, Record]:
    """Return the calls of each request of a case, the sum of their RTTs, and quantiles, by name; {} of one request."""
    return {
        name: {"calls": calls, "sum_rtt_us": float(quantiles.times(run, number, "rtt", name).sum())}
        | known({column(p): _with_ends(quantiles.quantile(run, number, p, "rtt", name)) for p in stats.QUANTILES[:3]})
        for name, calls in request_mix.counts(run, number).items()
    }


def _with_ends(quantile: quantiles.Quantile) -> Record | None:
    """Return a quantile with its range or interval; None where it has none."""
    return None if math.isnan(quantile.low) else spread(quantile.spread)


def factors(case: Case) -> Record:
    """Return what a case varies, by the names of its fields; without what is empty."""
    return known({name: value for name, value in vars(case).items() if name not in NOT_OF_A_CASE})


def values(run: Run, number: int) -> dict[str, Record]:
    """Return the numbers of a case that are known, by their columns in ``Run.cases``; response times of open loads."""
    names = [name for name in NUMBERS if "_response_" not in name or run.case(number).is_paced]
    if run.case(number).load == reply_stream_times.LOAD:
        names += reply_stream_times.COLUMNS
    return known({name: spread(run.over_starts(number, name)) for name in dict.fromkeys(names)})


def spread(medians: stats.Spread) -> Record | None:
    """Return a median over starts and its range, with its two levels where it has them; None where it is not known."""
    if math.isnan(medians.middle):
        return None
    levels = {"levels": list(medians.levels)} if medians.levels else {}
    return {"median": medians.middle, "low": medians.low, "high": medians.high} | levels


def ratios(run: Run) -> list[Record]:
    """Return the ratios of two cases that have a 95 % interval: those of the notebook, see ``precision.printed``."""
    return [
        {
            "case": ratio.other,
            "compared_with": ratio.base,
            "quantity": ratio.name,
            "ratio": ratio.value,
            "low": ratio.interval.low,
            "high": ratio.interval.high,
        }
        for ratio in precision.printed(run, *QUANTITIES)
        if ratio.interval.has_ends
    ]


def capacity(run: Run) -> Record:
    """Return what a search of a capacity found: the rates that met and violated the objective; None where none did."""
    low, high = search.bracket(run)
    searched = search.searched(run)
    if not searched["ended"]:  # an interrupted search knows neither end
        low, high = 0.0, 0.0
    at = search.case_at(run, low) if low else None
    return {
        "objective": searched["objective"],
        "ended": searched["ended"],
        "confirmed": searched["confirmed"],
        "met_at_per_s": low or None,
        "violated_at_per_s": high if high > low else None,
        "is_at_least": bool(low) and search.is_at_least(run),
        "machine_shows_it": search.machine_shows(run),
        "case": None if at is None else number_of(at),
    }


def known(values: dict[str, Any]) -> dict[str, Any]:
    """Return what says something: without None, empty texts and empty lists."""
    return {name: value for name, value in values.items() if value not in (None, "", [], (), {})}
