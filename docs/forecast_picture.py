"""The picture of forecasts: of each occasion, the share of its ratios that earlier occasions forecast; their reach."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from bench.analysis import replication
from bench.analysis.published import Published
from bench.analysis.replication import CONFIDENCE, Score
from bench.grammar.axes import GREY, legend_entries, log_axis, look, style, write_beside
from bench.grammar.figure import framed
from bench.text import quantity
from docs.published_tables import machine_name
from docs.ratios_picture import mark

TITLE = "Did forecasts for other days and machines hold?"


def draw(published: Published, caption: str) -> Figure:
    """Return a figure with a row for each occasion that something earlier forecast, in the order of time."""
    occasions = published.occasions
    numbers = dict(zip((occasion.run for occasion in occasions), replication.machine_numbers(occasions), strict=True))
    tested = [(occasion, score) for occasion, score in replication.each_score(occasions) if score.count]
    with style():
        figure = Figure(figsize=(11, 1.6 + 0.34 * len(tested)), layout="constrained")
        body = figure.subfigures()
        inside, reach = body.subplots(1, 2, sharey=True)
        for y, (occasion, score) in enumerate(tested):
            for axes, value in ((inside, score.coverage), (reach, score.factor)):
                _point(axes, y, value, score, numbers[occasion.run])
            write_beside(reach, y, f"{score.count} ratios")
        names = [f"{occasion.began:%d %b, %H:%M}, {machine_name(numbers[occasion.run])}" for occasion, _ in tested]
        inside.set_yticks(range(len(tested)), names)
        inside.set_ylim(len(tested) - 0.5, -0.5)
        inside.set_xlim(0, 1.03)
        inside.axvline(CONFIDENCE, color="black", lw=1, ls="--", zorder=0.9)
        inside.xaxis.set_major_formatter(PercentFormatter(1, 0))
        inside.set_xlabel(f"ratios inside their intervals; dashed: {CONFIDENCE:.0%}")
        log_axis(reach.xaxis, quantity)
        reach.set_xlabel("factor from forecast to end of interval, median")
        for is_known, words in ((True, "from earlier occasions of this machine"), (False, "from other machines")):
            inside.plot([], [], "o", color=_colour(is_known), label=words)
        entries = legend_entries(inside)
        body.legend(entries.values(), entries, loc="outside lower left", ncols=len(entries))
    return framed(figure, TITLE, caption)


def _point(axes: Axes, y: float, value: float, score: Score, machine: int) -> None:
    axes.plot(value, y, mark(machine), ms=7, color=_colour(score.is_known))


def _colour(is_known: bool) -> str:
    return look(0).colour if is_known else GREY
