"""The figure of a certificate: reported quantiles on the true distributions, and arrivals against their schedule."""

import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.drawing.axes import GREY, legend_entries, log_axis, look, style
from bench.referees import arrival_checks, time_checks
from bench.referees.certificate import VERDICTS, Certificate, Section, named
from bench.referees.observation import Observation
from bench.referees.record import SECOND
from bench.referees.verdict import HELD, NOT_DECIDED, NOT_HELD
from bench.stats import distribution
from bench.text import quantity

PANEL = (6.4, 3.6)  # inches
LOWEST = 0.2  # the smallest share of a distribution that is drawn
MARKERS = {HELD: (look(0).colour, "o"), NOT_HELD: (look(3).colour, "X"), NOT_DECIDED: (look(1).colour, "d")}
DRAWN = 5000  # arrivals at most


def write(certificate: Certificate, file: Path, kind: str = "png") -> None:
    """Draw it into a file of that kind: png, svg, pdf."""
    with style():
        whole(certificate).savefig(file, format=kind)


def whole(certificate: Certificate) -> Figure:
    """Return the figure: a panel for each scenario whose times are judged, and one for arrivals at a frozen server."""
    judged = [
        section
        for section in certificate.sections
        if section.seen.scenario.are_times_judged and len(section.seen.record.answered)
    ]
    frozen = [section for section in judged if section.seen.scenario.service.freeze_ms]
    count = max(1, len(judged) + len(frozen))
    rows = math.ceil(count / 2)
    figure = Figure(figsize=(PANEL[0] * min(count, 2), PANEL[1] * rows + 0.5), layout="constrained")
    figure.suptitle(f"{named(certificate)}: {VERDICTS[certificate.outcome]}")
    grid = figure.add_gridspec(rows, min(count, 2))
    panels = [figure.add_subplot(grid[divmod(place, 2)]) for place in range(count - count % 2)]
    if count % 2:
        panels.append(figure.add_subplot(grid[-1, :]))  # the last one takes the whole row
    for axes, section in zip(panels, judged, strict=False):
        times(axes, section)
    for axes, section in zip(panels[len(judged) :], frozen, strict=False):
        lateness(axes, section.seen)
    return figure


def times(axes: Axes, section: Section) -> None:
    """Draw the true distribution of response times, and the reported quantiles on it."""
    seen = section.seen
    values, since = time_checks.true_times_us(seen)
    true, fractions = distribution(values)
    inside = (fractions > LOWEST) & (fractions < 1)
    axes.plot(true[inside], _odds(fractions[inside]), color=GREY, label=f"true, from the {since}")
    if since != "arrival":
        sent, sent_fractions = distribution(seen.record.response_us)
        inside = (sent_fractions > LOWEST) & (sent_fractions < 1)
        axes.plot(sent[inside], _odds(sent_fractions[inside]), color=GREY, ls=":", label="true, from the arrival")
    verdicts = {check.name: check.verdict for check in section.checks}
    reported = time_checks.reported_quantiles(seen.reported) if seen.reported else {}
    for name, value in reported.items():
        found = verdicts.get(name, HELD)
        place, (colour, marker) = _odds(np.array([time_checks.QUANTILES[name]])), MARKERS[found]
        label = "reported" if found == HELD else f"reported, {found}"
        axes.plot([value], place, ls="", marker=marker, color=colour, label=label)
    log_axis(axes.xaxis)
    axes.set_yscale("log")
    axes.set_yticks([1 / (1 - p) for p in time_checks.QUANTILES.values()], list(time_checks.QUANTILES))
    axes.minorticks_off()
    axes.set_title(seen.scenario.name)
    axes.set_xlabel("response time")
    axes.set_ylabel("quantile")
    _legend(axes)


def lateness(axes: Axes, seen: Observation) -> None:
    """Draw how late each request arrived, beside its best-fitting schedule, or how many arrived, without one."""
    arrived = seen.record.requests["arrived"]
    seconds = (arrived - arrived[0]) / SECOND
    thin = slice(None, None, max(1, len(arrived) // DRAWN))
    if seen.schedule != "poisson":
        late_ms = (arrived - arrival_checks.promised_schedule(seen, arrival_checks.fitted_schedule(arrived))) / 1e6
        axes.plot(seconds[thin], late_ms[thin], ".", ms=2, color=look(0).colour, label="request")
        axes.set_ylabel("arrival behind schedule (ms)")
    else:
        missing = np.arange(len(arrived)) - seconds * (seen.scenario.rate_per_s or 0)
        axes.plot(seconds[thin], missing[thin], ".", ms=2, color=look(0).colour, label="request")
        axes.set_ylabel("arrivals beyond the mean")
    first = (seen.record.first_freeze_ns - arrived[0]) / SECOND
    for begin in np.arange(first, seconds[-1], 1.0):
        frozen_s = seen.scenario.service.freeze_ms / 1e3
        axes.axvspan(begin, begin + frozen_s, color="#dddddd", lw=0, label="server frozen")
    axes.set_title(f"arrivals at the frozen server ({quantity(seen.record.arrivals_per_s)} requests/s)")
    axes.set_xlabel("time (s)")
    _legend(axes)


def _odds(fractions: Any) -> Any:
    """Return 1 / (1 - p), on whose logarithmic axis the tail has room."""
    return 1 / (1 - fractions)


def _legend(axes: Axes) -> None:
    entries = legend_entries(axes)
    axes.legend(entries.values(), entries, loc="best", frameon=True)
