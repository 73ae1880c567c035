"""Figures: put together from the panels of an experiment, saved with their provenance.

The same run gives the same bytes. Nothing here measures, and no style is set at import.
"""

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.analysis import checks, per_host
from bench.grammar import borrowed, method
from bench.grammar.axes import explaining_emptiness, finish, say_why_empty, sheet, style
from bench.grammar.experiment import experiment, of_run
from bench.grammar.result_tables import has_own_requests
from bench.plan import paths, placement
from bench.run.files import writing
from bench.run.frames import Run
from bench.text import counted, listed, unmarked


def alt_text(run: Run, drawn: Figure | None = None) -> str:
    """Return a title and the run's answer, for readers who cannot see a figure; the panel's title of a drawn one."""
    title = of_run(run).title_of(run)
    if drawn is not None:
        title = " ".join(drawn.axes[0].get_title(loc="left").split()) + ":"
    return f"{title} {first_sentence(of_run(run).finding(run))}"


def first_sentence(markdown: str) -> str:
    """Return the first sentence of a text as plain text, for an alternative text that ends at brackets."""
    line = unmarked(markdown).removeprefix("- ").partition("\n")[0].replace("[", "(").replace("]", ")")
    return line if line.endswith(".") else f"{line}."


def panel(run: Run, name: str) -> Figure:
    """Return a figure that shows one panel, by its name in the experiment."""
    with style():
        figure = Figure(figsize=(10, 4.2 + of_run(run).height(run) / 2), layout="constrained")
        axes = figure.subplots()
        _draw(run, of_run(run).panels[name], axes)
        finish(figure, axes)
    return figure


def whole(run: Run) -> Figure:
    """Return the notebook's figure: four panels, title and caption."""
    shown = of_run(run)
    draws = [partial(_draw, run, draw) for draw in shown.figure]
    return framed(sheet((14, 10.4 + shown.height(run)), 2, draws), shown.title_of(run), caption(run))


def _draw(run: Run, draw: Callable[[Run, Axes], object], axes: Axes) -> None:
    """Draw a panel; of a run that lacks what is drawn there, say what it lacks."""
    if not (lacking := method.lacks(run)):
        with explaining_emptiness(axes):
            draw(run, axes)
        return
    try:
        with warnings.catch_warnings(action="ignore"), explaining_emptiness(axes):
            draw(run, axes)
        is_drawn = run.ledger["calls"].any()
    except method.LACKING:
        is_drawn = False
    if not is_drawn:
        axes.clear()
        say_why_empty(axes, f"not drawn: {lacking}")


def framed(figure: Figure, title: str, below: str) -> Figure:
    """Return a figure with its title and its caption."""
    with style():
        figure.suptitle(title, fontsize=17, fontweight="bold", x=0.01, ha="left")
        figure.supxlabel(below, fontsize=9.5, x=0.01, ha="left", color="#444444", wrap=True)
    return figure


def caption(run: Run) -> str:
    """Return what the reader must know to judge the figure: n, starts, window, placement, machine, run, gaps."""
    cases, machine = run.cases, run.manifest["machine"]
    n = cases.loc[cases["system"] != "loopback", "n"].sum()
    what = "stored messages" if (cases["load"] == "reply_stream").any() else "calls after the warm-up"
    windows = _windows(run)
    amount = f"{windows}; n = {n:,} {what}"
    if len(run.sessions):
        what = "connections" if run.find(load="reconnect") else "client processes"
        processes = f"n = {len(run.sessions):,} {what} with {run.sessions['calls'].sum():,} calls"
        amount = f"{amount}; {processes}" if n else f"{_starts(cases)} starts of each case, {processes}"
    if len(run.attempts):
        requests = int(run.ledger["scheduled"].sum())
        amount = f"{windows}; n = {requests:,} requests with {len(run.attempts):,} attempts"
    sizes = [f"{size:,} B" for size in sorted({*cases["payload_bytes"], *run.sessions["payload_bytes"]})]
    payload = listed(sizes) if len(sizes) < 8 and not len(run.sessions) else f"{sizes[0]} to {sizes[-1]}"
    if streamed := sorted({case.reply_bytes for case in run.plan.cases if case.reply_bytes}):
        payload = f"of a request {payload}, of a reply {listed(f'{size:,} B' for size in streamed)}"
    elif run.find(load="reply_stream") or any(has_own_requests(run, case) for case in run.plan.cases):
        payload = "as the service's file says"
    places = listed(f"{placement.IN_WORDS[name]} (placement {name})" for name in cases["placement"].unique())
    if others := [name for name in cases["engine"].dropna().unique() if name != "library"]:
        places += f"; load generator {listed(others)}"
    target = " Server not started here: its placement and its CPU are not known." if cases["target"].any() else ""
    return (
        f"{amount}; payload {payload}; {places}"
        f"{' (client)' if target else ''}.{target}{missing(run)}\n"
        f"{_hosts(run)}Machine {machine['machine_id']}: {machine['cpu_model']}, {machine['cpus_allowed']} CPUs, "
        f"{'virtual, ' if machine['virtual'] else ''}{machine['system']} {machine['kernel']}. Run {run.id}. "
        f"Checks passed: {checks.tally(run)}."
    )


def _windows(run: Run) -> str:
    """Return how often each case was measured, and what was measured each time."""
    if not len(run.stored_slices):
        return f"{_starts(run.cases)} starts of each case, {method.windows(run)}"
    blocks = run.ledger.loc[run.stored_slices["start"].unique(), "block"].nunique()
    alone = [run.labels[case] for case in run.plan.windows_apart if case in run.numbers]
    windows = run.plan.windows
    if alone and "collected" in run.manifest:  # the plan is that of the cases that took turns
        lengths_s = run.ledger.loc[run.ledger["case"].isin(run.plan.windows_apart), "window_s"]
        windows = " to ".join(dict.fromkeys(f"{end:.2g}" for end in (lengths_s.min(), lengths_s.max())))
        windows = f"windows of {windows} s"
    rest = f"; {listed(alone)}: {windows}" if alone else ""
    each = "each case" if {case.load for case in run.plan.cases} == {"closed"} else "each case of calls"
    return f"{counted(blocks, 'block')} of {run.plan.slices} of {each}{rest}"


def _starts(cases: pd.DataFrame) -> str:
    """Return how many starts the cases have: 6, or 2 to 6."""
    return " to ".join(f"{count:.0f}" for count in dict.fromkeys((cases["starts"].min(), cases["starts"].max())))


def _hosts(run: Run) -> str:
    """Return which hosts took part, and whose calls the quantiles describe; nothing for a run of one machine."""
    if not len(run.hosts):
        return ""
    return f"Hosts: {per_host.machines(run)}. {per_host.headline(run)} Rates: of all hosts that make calls. "


def missing(run: Run) -> str:
    """Return the sentences that name the systems that were not measured, and those drawn hollow, or nothing."""
    without = [name for case, name in enumerate(run.labels) if case not in run.numbers]
    borrowed_systems = borrowed.systems(run)
    absent = [f"{name} (not installed)" for name in run.plan.absent if name not in borrowed_systems]
    named = [*absent, *without]
    return (f" Not measured: {listed(named)}." if named else "") + borrowed.sentence(run)


def provenance(run: Run) -> dict[str, str]:
    """Return what is written into a figure's metadata: which run, which data, which revision drew it from."""
    notebook, git = run.plan.notebook, run.manifest["git"]
    return origin(notebook, experiment(notebook).question, run.id, run.folder.data_hash(), git)


def origin(notebook: str, title: str, run: str, data: str, git: dict[str, Any]) -> dict[str, str]:
    """Return the metadata of a notebook's figure from what it was drawn from."""
    dirty = " (with changes)" if git["dirty"] else ""
    text = f"run={run} data={data} revision={git['revision']}{dirty} notebook={notebook} (roundtrip)"
    return {"Title": title, "Description": text}


def save(run: Run) -> list[Path]:
    """Write the notebook's figure as SVG and PNG into ``figures/``; the same run gives the same bytes."""
    return write(whole(run), run.plan.notebook, provenance(run))


def write(figure: Figure, notebook: str, metadata: dict[str, str]) -> list[Path]:
    """Write a notebook's figure as SVG and PNG, with its metadata and without a time of writing, into ``figures/``."""
    targets = [paths.figures() / f"{paths.figure_name(notebook)}.{kind}" for kind in ("svg", "png")]
    for target in reversed(targets):  # the PNG, whose letters fill whole pixels, lays out for both
        kind = target.suffix[1:]
        extra: dict[str, Any] = {"Date": None} if kind == "svg" else {"Software": None}
        with style(), writing(target, "ROUNDTRIP_FIGURES") as temporary:
            target.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(temporary, format=kind, metadata=metadata | extra)
        figure.set_layout_engine(None)
    return targets
