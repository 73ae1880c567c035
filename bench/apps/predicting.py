"""``bench predict``: what a call of each system takes on this machine, from two systems that are measured here."""

import itertools
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict

import pandas as pd

from bench.analysis import checks, probes, trust_card
from bench.analysis import occasions as kept
from bench.analysis.occasions import Occasion
from bench.analysis.probes import FLOOR, LIBRARY, PLACEMENTS, QUANTITIES, SHARE, Forecast
from bench.analysis.published import inside_text
from bench.analysis.replication import machine_numbers
from bench.apps.replicating import REFERENCE, file_of, load
from bench.errors import BENCH, DataError
from bench.plan.placement import IN_WORDS
from bench.run import stored
from bench.run.frames import Run
from bench.text import counted, three_digits

NOTEBOOK = "overview"
PLAN = {"system": f"[{FLOOR}, {LIBRARY}]", "two_clients": True}  # two clients: both placements
SHORT = {"p50_us": "RTT", "cpu_us": "CPU"}  # in headings
UNITS = (
    "RTT: median RTT in µs. CPU: mean CPU time per call of client, server and broker together, in µs.\n"
    "CPU time can exceed the RTT: it includes what both sides do at the same time, in all threads, and between calls."
)
QUIET = "The duration that is announced first assumes a quiet machine; a busy one takes longer."
AGAIN = "overview.published"  # the plan that measures all systems


def predict(run: str | None, as_json: bool, say: Callable[[str], None]) -> str:
    """Return what the probes of a run, measured now if none is named, say of all other systems."""
    known = load(file_of(REFERENCE, NOTEBOOK)).occasions
    measured = Run(stored.find(run)) if run else _measured(say)
    say(f"The two systems that were measured here: {trust_card.tally(checks.check(measured)).line}")
    probed = kept.of_run(measured)
    if not probes.has_probes(probed):
        raise DataError(
            f"run {measured.id} does not say how fast this machine is: it needs {FLOOR} and {LIBRARY} over "
            f"{probes.TRANSPORT} with 1,000 B. {BENCH} predict without --run measures them"
        )
    forecasts = probes.forecasts(known, probed)
    return _as_json(known, probed, forecasts) if as_json else text(known, probed, forecasts)


def _measured(say: Callable[[str], None]) -> Run:
    from bench.apps import notebook

    say(QUIET)
    run = notebook.measure(NOTEBOOK, **PLAN)
    say(f"{BENCH} predict --run {run.id} prints what follows again")
    return run


def text(known: Sequence[Occasion], probed: Occasion, forecasts: Sequence[Forecast]) -> str:
    """Return the forecasts as a table, the fastest system first, how far they may be off, and what would test them."""
    frame = table(probed, forecasts).to_string()
    machines = len(set(machine_numbers(known)))
    lines = [
        f"Forecast from {FLOOR} and {LIBRARY} over ipc here, and from {counted(len(known), 'occasion')} on "
        f"{counted(machines, 'machine')}; one client, 1,000 B. In brackets: intervals that are "
        f"meant to hold {SHARE:.0%} of the times.",
    ]
    if (score := probes.left_out(known)).count:
        lines.append(
            "Tested: each machine that has its model of processor in common with another one was forecast from the "
            f"others and its own {FLOOR} and {LIBRARY}. {inside_text(score, 'times')}."
        )
    if not probes.knows_processor(known, probed):
        lines.append(
            f"No machine with this processor ({probed.machine.cpu_model}) was measured: the intervals are as wide as "
            "the errors of forecasts from one model of processor for another, and nothing has tested them."
        )
    lines.append(f"To test it here: {BENCH} replicate {AGAIN} --against {REFERENCE}")
    return "\n".join([UNITS, "", frame, "", *lines])


def table(probed: Occasion, forecasts: Sequence[Forecast]) -> pd.DataFrame:
    """Return a row for each system over its transport, a column for each quantity and placement, in us."""
    columns = {}
    for quantity, placement in itertools.product(QUANTITIES, PLACEMENTS):
        measured = probes.levels(probed, quantity, placement).items()
        times = [
            (us, system, f"{three_digits(us)}, measured") for system, us in measured if system[0] in (FLOOR, LIBRARY)
        ]
        times += [
            (forecast.middle, (forecast.system, forecast.transport), _text(forecast))
            for forecast in forecasts
            if (forecast.quantity, forecast.placement) == (quantity, placement)
        ]
        columns[f"{SHORT[quantity]}, {IN_WORDS[placement].removeprefix('on ')}"] = {
            " ".join(system): words for _, system, words in sorted(times)
        }
    return pd.DataFrame(columns, dtype=object).fillna("").rename_axis("system")


def _text(forecast: Forecast) -> str:
    if math.isinf(forecast.reach):
        return three_digits(forecast.middle)
    return f"{three_digits(forecast.middle)} [{', '.join(map(three_digits, forecast.ends))}]"


def _as_json(known: Sequence[Occasion], probed: Occasion, forecasts: Sequence[Forecast]) -> str:
    """Return the same as JSON; times in us, an end that is not known is null."""
    score = probes.left_out(known)
    rows = [
        asdict(forecast) | {"reach": None if math.isinf(forecast.reach) else forecast.reach, "unit": "us"}
        for forecast in forecasts
    ]
    tested = {"inside": score.inside, "count": score.count, "factor": score.factor} if score.count else None
    is_known = probes.knows_processor(known, probed)
    made = {"probes": [FLOOR, LIBRARY], "is_processor_known": is_known, "forecasts": rows, "left_out": tested}
    return json.dumps(made, indent=1)
