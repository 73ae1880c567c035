"""A file that ``bench submit`` wrote, opened by whoever got it: as text, or as one JSON document."""

import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from bench import stats
from bench.analysis.comparison import QUANTITIES
from bench.analysis.trust_card import Tally
from bench.apps import numbers
from bench.apps.classroom import ratios, reading
from bench.apps.classroom.reading import SubmittedRun
from bench.apps.numbers import Record
from bench.errors import DataError, reason_of
from bench.plan import documents
from bench.plan.labels import labels
from bench.run.frames import column
from bench.stats.meta_analysis import times
from bench.text import duration, harmless, quantity, quoted, ratio_ends

P50 = column(0.5)
LACKS = (
    "medians and rates of starts only: no single calls, no figure, no conclusion. `bench keep` makes a folder that has "
    "them"
)


def read(name: str) -> list[SubmittedRun]:
    """Return the runs of a file; DataError for one that is no submission."""
    try:
        return reading.read(documents.read(Path(name), reading.MOST_BYTES), harmless(Path(name).name))
    except (OSError, reading.RefusedError) as reason:
        raise DataError(
            f"cannot show {quoted(name)}: {reason_of(reason)}; name a run, or a file that bench submit wrote"
        ) from reason


def document(run: SubmittedRun) -> Record:
    """Return a submitted run as JSON, with the members of ``numbers.document`` that a submission has."""
    return {
        "run": run.id,
        "created": run.created.isoformat(),
        "lacks": LACKS,
        "checks": [{"name": name, "verdict": verdict} for name, verdict in run.checks.items()],
        "cases": list(_cases(run)),
        "ratios": list(_ratios(run)),
        "machine": run.facts,
        "digest": run.run_digest,
    }


def as_json(name: str) -> str:
    """Return all runs of a file as JSON."""
    return json.dumps({"submitted": [document(run) for run in read(name)]}, indent=1, allow_nan=False)


def text(name: str) -> str:
    """Return what a file has of each of its runs: machine, checks, cases and ratios."""
    return "\n\n".join(_text(run) for run in read(name))


def _cases(run: SubmittedRun) -> Iterator[Record]:
    for number, label in enumerate(labels(run.cases)):
        starts = run.starts[run.starts["case"] == number]
        if len(starts):
            spreads = {name: numbers.spread(stats.across_starts(starts[name])) for name in QUANTITIES}
            yield {
                "case": number,
                "label": label,
                "factors": numbers.factors(run.cases[number]),
                "starts": len(starts),
                "calls": int(starts["calls"].sum()),
                "numbers": numbers.known(spreads),
            }


def _ratios(run: SubmittedRun) -> Iterator[Record]:
    """Yield the ratios to raw sockets under the same factors, with their intervals."""
    for ratio in ratios.ratios(run, QUANTITIES)[0]:
        alike = ratios.factors(ratio.case)
        yield {
            "case": run.cases.index(ratio.case),
            "compared_with": next(
                number
                for number, case in enumerate(run.cases)
                if ratios.is_baseline(case) and ratios.factors(case) == alike
            ),
            "quantity": ratio.quantity,
            "ratio": times(ratio.effect.middle),
            "low": times(ratio.effect.low),
            "high": times(ratio.effect.high),
        }


def _text(run: SubmittedRun) -> str:
    made, tally = document(run), Tally(run.checks)
    idle = f", {tally.idle} had nothing to check" if tally.idle else ""
    lines = [
        f"run       {run.id}, submitted in {run.file}",
        f"contains  {LACKS}",
        f"created   {made['created']}",
        f"machine   {json.dumps(run.facts)}",
        f"digest    {run.run_digest or 'none'}",
        f"checks    {tally.passed}/{tally.judged} passed{idle}",
        *(f"  {verdict:8}{name}" for name, verdict in run.checks.items()),
    ]
    table = pd.DataFrame(_rows(made)).fillna("").set_index("case").to_string()
    return "\n\n".join(["\n".join(lines), table])


def _rows(made: Record) -> Iterator[dict[str, str]]:
    """Yield a row of text for each case: its medians over the starts, and the ratio of medians to raw sockets."""
    over = {ratio["case"]: ratio for ratio in made["ratios"] if ratio["quantity"] == P50}
    for case in made["cases"]:
        row = {"case": case["label"], "starts": str(case["starts"])}
        for name, of in case["numbers"].items():
            words = quantity if name == "rate_per_s" else duration
            spread = stats.Spread(of["median"], of["low"], of["high"], of.get("levels"))
            low, high = spread.ends(words)
            row[f"{QUANTITIES[name][0]} [range over starts]"] = f"{spread.words(words)} [{low}, {high}]"
        if ratio := over.get(case["case"]):
            middle, low, high = ratio_ends(*(ratio[end] for end in ("ratio", "low", "high")))
            row["p50 RTT / raw sockets' [95 % CI]"] = f"{middle} [{low}, {high}]"
        yield row
