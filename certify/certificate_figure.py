"""The figure of a certificate: reported quantiles on the true distributions, and arrivals against their schedule."""

from collections.abc import Callable
from functools import partial

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.grammar.axes import GREY, curve, distribution_axes, look, say_why_empty, sheet, tail_scale
from bench.stats import distribution
from bench.text import quantity
from certify import arrival_checks, schedules, time_checks
from certify.certificate import VERDICTS, Certificate, Section
from certify.check import HELD, NOT_DECIDED, NOT_HELD
from certify.observation import Observation
from certify.record import SECOND

PANEL = (9.0, 4.2)  # inches
MARKERS = {HELD: (look(0).colour, "o"), NOT_HELD: (look(3).colour, "X"), NOT_DECIDED: (look(1).colour, "d")}
DRAWN = 5000  # arrivals at most


def whole(certificate: Certificate) -> Figure:
    """Return the figure: a panel for each scenario whose times are judged, and one for arrivals at a frozen server."""
    judged = [
        section
        for section in certificate.sections
        if section.seen.scenario.are_times_judged and len(section.seen.record.answered)
    ]
    draws: list[Callable[[Axes], None]] = [partial(times, section=section) for section in judged]
    draws += [partial(lateness, seen=section.seen) for section in judged if section.seen.scenario.service.freeze_ms]
    draws = draws or [partial(say_why_empty, why="no response times are compared in these scenarios")]
    figure = sheet((PANEL[0], PANEL[1] * len(draws)), len(draws), draws)
    figure.suptitle(f"{certificate.name}: {VERDICTS[certificate.outcome]}")
    return figure


def times(axes: Axes, section: Section) -> None:
    """Draw the true distribution of response times, and the reported quantiles on it."""
    seen = section.seen
    values, since = time_checks.true_times_us(seen)
    curve(axes, distribution(values), f"true, from the {since}", GREY)
    if since != "arrival":
        curve(axes, distribution(seen.record.response_us), "true, from the arrival", GREY, ":")
    verdicts = {check.name: check.verdict for check in section.checks}
    reported = time_checks.reported_quantiles(seen.reported) if seen.reported else {}
    for name, value in reported.items():
        verdict = verdicts.get(name, HELD)
        height, (colour, marker) = float(tail_scale(time_checks.QUANTILES[name])), MARKERS[verdict]
        label = "reported" if verdict == HELD else f"reported, {verdict}"
        axes.plot([value], [height], ls="", marker=marker, color=colour, label=label)
    distribution_axes(axes, "requests")
    axes.set_title(seen.scenario.name)
    axes.set_xlabel("response time")


def lateness(axes: Axes, seen: Observation) -> None:
    """Draw how late each request arrived, beside its best-fitting schedule, or how many arrived, without one."""
    arrived = seen.record.requests["arrived"]
    seconds = (arrived - arrived[0]) / SECOND
    if seen.schedule == "poisson":
        off, label = np.arange(len(arrived)) - seconds * (seen.scenario.rate_per_s or 0), "arrivals beyond the mean"
    else:
        due = arrival_checks.promised_schedule(seen, schedules.fitted(arrived))
        off, label = (arrived - due) / 1e6, "arrival behind schedule (ms)"
    thin = slice(None, None, max(1, len(arrived) // DRAWN))
    axes.plot(seconds[thin], off[thin], ".", ms=2, color=look(0).colour, label="request")
    for begin in np.arange((seen.record.first_freeze_ns - arrived[0]) / SECOND, seconds[-1], 1.0):
        end = begin + seen.scenario.service.freeze_ms / 1e3
        axes.axvspan(begin, end, color="#dddddd", lw=0, label="server frozen")
    axes.set_title(f"arrivals at the frozen server ({quantity(seen.record.arrivals_per_s)} requests/s)")
    axes.set_xlabel("time (s)")
    axes.set_ylabel(label)
