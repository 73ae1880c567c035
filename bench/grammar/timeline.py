"""The timeline of calls: a dot for each call, the starts of all cases end to end, and a running median."""

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from bench.grammar.axes import end_to_end, log_axis
from bench.grammar.panels import Panel, colours_of, look_of
from bench.run.frames import Run
from bench.stats import Array

MOST_DOTS = 60_000  # in a panel: of more calls every second, third, ... is drawn
FEW = 400  # calls of a start, all of which are drawn
BINS = 25  # of a start, for its running median


@dataclass(frozen=True)
class Timeline(Panel):
    """The RTT of calls against time: the starts of all cases, end to end; pauses between slices left out.

    Calls that do not count are pale. colour_by: as of ``Rows``.
    """

    colour_by: str = ""

    def __call__(self, run: Run, axes: Axes) -> None:
        """Draw the calls of a run."""
        cases = {subject.case: subject for subject in self.drawn(run) if not subject.is_hollow}
        of_values = colours_of(self.colour_by, list(cases.values())) if self.colour_by else {}
        colours = {case: look_of(subject, self.colour_by, of_values).colour for case, subject in cases.items()}
        in_slices = len(run.stored_slices) > 0
        dots = calls = 0
        for case, start, begin_s in end_to_end(run, cases):
            if not in_slices:
                axes.axvline(begin_s + run.ledger.loc[start, "warm_up_ns"] / 1e9, 0.965, 1, color="black", lw=1)
            is_dot = _draw_start(run, axes, start, begin_s, colours[case])
            dots, calls = dots + int(np.count_nonzero(is_dot)), calls + len(is_dot)
        for case, subject in cases.items():
            axes.plot([], [], "o", ms=5, color=colours[case], label=subject.name)
        log_axis(axes.yaxis)
        drawn = "every call" if dots == calls else f"{dots:,} of {calls:,} calls"
        pale = "pale: not counted" if in_slices else "marks on top: end of warm-up"
        axes.set_xlabel(
            f"time [s]: the {'slices' if in_slices else 'starts'} of each case, end to end\n{drawn}; {pale}"
        )
        axes.set_ylabel("RTT; line: running median")
        axes.set_title(self.title)


def _draw_start(run: Run, axes: Axes, start: int, begin_s: float, colour: str) -> Array:
    """Draw one start's calls as dots, and the running median of all of them as a line.

    Return for each call whether it is a dot, shape (n,).
    """
    calls, is_warm = run.calls.of_start(start), run.is_warm[run.calls.place_of(start)]
    time_s, rtt_us = begin_s + calls.t_send_ns / 1e9, calls.rtt_ns / 1e3
    every = max(1, calls.size * len(run.ledger) // MOST_DOTS) if calls.size > FEW else 1
    is_dot = np.arange(calls.size) % every == 0
    for warm, alpha in ((False, 0.12), (True, 0.35)):
        shown = is_dot & (is_warm == warm)
        axes.plot(time_s[shown], rtt_us[shown], ".", ms=1.6, mew=0, color=colour, alpha=alpha, rasterized=True)
    bins = np.array_split(np.arange(calls.size), min(BINS, calls.size))
    medians = [(time_s[part].mean(), np.median(rtt_us[part])) for part in bins]
    axes.plot(*zip(*medians, strict=True), color="black", lw=1)
    return is_dot
