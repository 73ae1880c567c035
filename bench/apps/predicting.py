"""``bench predict``: what a call of each system takes on this machine, from two systems that are measured here."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict

import pandas as pd

from bench.analysis import checks, probes, trust_card
from bench.analysis import occasions as kept
from bench.analysis.occasions import Occasion
from bench.analysis.probes import FLOOR, LIBRARY, QUANTITIES, SHARE, Forecast
from bench.analysis.published import PLACES, inside_text
from bench.analysis.replication import machine_numbers
from bench.apps.replicating import REFERENCE, file_of, load
from bench.errors import BENCH
from bench.run import stored
from bench.run.frames import Run
from bench.text import counted, duration

NOTEBOOK = "overview"
PLAN = {"system": f"[{FLOOR}, {LIBRARY}]", "two_clients": True}  # two clients: both placements
AGAIN = "overview.published"  # the plan that measures all systems


def predict(run: str | None, as_json: bool, say: Callable[[str], None]) -> str:
    """Return what the probes of a run, measured now if none is named, say of all other systems."""
    known = load(file_of(REFERENCE, NOTEBOOK)).occasions
    measured = Run(stored.find(run)) if run else _measured(say)
    say(f"The two systems that were measured here: {trust_card.tally(checks.check(measured)).line}")
    forecasts = probes.forecasts(known, kept.of_run(measured))
    return _as_json(known, forecasts) if as_json else text(known, forecasts)


def _measured(say: Callable[[str], None]) -> Run:
    from bench.apps import notebook

    run = notebook.measure(NOTEBOOK, **PLAN)
    say(f"Stored in {run.folder.path.name}: bench predict --run {run.id} prints this again")
    return run


def text(known: Sequence[Occasion], forecasts: Sequence[Forecast]) -> str:
    """Return the forecasts as a table, the fastest system first, how far they may be off, and what would test them."""
    frame = table(forecasts).to_string()
    machines = len(set(machine_numbers(known)))
    lines = [
        f"Forecast from {FLOOR} and {LIBRARY} over ipc here, and from {counted(len(known), 'occasion')} on "
        f"{counted(machines, 'machine')}; one client, 1,000 B. In brackets: the range that held "
        f"{SHARE:.0%} of the times when each known machine was forecast from the others.",
    ]
    if (score := probes.left_out(known)).count:
        tested = inside_text(score, "times")
        lines.append(f"Tested on each of these machines, forecast from the others and its own two probes: {tested}.")
    lines.append(f"To test it here: {BENCH} replicate {AGAIN} --against {REFERENCE}")
    return "\n".join([frame, "", *lines])


def table(forecasts: Sequence[Forecast]) -> pd.DataFrame:
    """Return a row for each system over its transport, a column for each quantity and placement."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for forecast in sorted(
        forecasts, key=lambda forecast: (forecast.quantity != "p50_us", forecast.placement != "split", forecast.middle)
    ):
        heading = f"{QUANTITIES[forecast.quantity]}, {PLACES[forecast.placement].removeprefix('with ')}"
        rows.setdefault((forecast.system, forecast.transport), {})[heading] = _text(forecast)
    frame = pd.DataFrame.from_dict({" ".join(system): row for system, row in rows.items()}, orient="index")
    return frame.fillna("").rename_axis("system")


def _text(forecast: Forecast) -> str:
    if math.isinf(forecast.reach):
        return duration(forecast.middle)
    return f"{duration(forecast.middle)} [{', '.join(map(duration, forecast.ends))}]"


def _as_json(known: Sequence[Occasion], forecasts: Sequence[Forecast]) -> str:
    """Return the same as JSON; times in us, an end that is not known is null."""
    score = probes.left_out(known)
    rows = [
        asdict(forecast) | {"reach": None if math.isinf(forecast.reach) else forecast.reach, "unit": "us"}
        for forecast in forecasts
    ]
    tested = {"inside": score.inside, "count": score.count, "factor": score.factor} if score.count else None
    return json.dumps({"probes": [FLOOR, LIBRARY], "forecasts": rows, "left_out": tested}, indent=1)
