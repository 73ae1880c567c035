"""Figures: put together from panels, saved with their provenance; the same run gives the same bytes.

A panel is a function of a run and an Axes, in the file of the notebook that it was made for. Nothing here measures,
and no style is set at import.
"""

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

from matplotlib.figure import Figure

from bench import checks, paths
from bench.figures.axes import style
from bench.params import listed
from bench.results import Run
from bench.store import writing

__all__ = ["caption", "drawn_for", "panel", "provenance", "save", "style", "whole", "write"]


def drawn_for(notebook: str) -> ModuleType:
    """Return the module that draws a notebook's figure: its ``TITLE``, its ``PANELS``, and the panels by name."""
    return importlib.import_module(f"bench.figures.{notebook}")


def panel(run: Run, name: str, size: tuple[float, float] = (10, 4.2)) -> Figure:
    """Return a figure that shows one panel, named as its function."""
    with style():
        figure = Figure(figsize=size, layout="constrained")
        getattr(drawn_for(run.plan.notebook), name)(run, figure.subplots())
    return figure


def whole(run: Run) -> Figure:
    """Return the notebook's figure: four panels, title and caption."""
    with style():
        figure = Figure(figsize=(14, 10.4), layout="constrained")
        for axes, draw in zip(figure.subplots(2, 2).flat, drawn_for(run.plan.notebook).PANELS, strict=True):
            draw(run, axes)
        figure.suptitle(drawn_for(run.plan.notebook).TITLE, fontsize=17, fontweight="bold", x=0.01, ha="left")
        figure.supxlabel(caption(run), fontsize=9.5, x=0.01, ha="left", color="#444444")
    return figure


def caption(run: Run) -> str:
    """Return what the reader must know to judge the figure: n, starts, window, placement, machine, run."""
    cases, machine = run.cases, run.manifest["machine"]
    n = cases.loc[cases["system"] != "loopback", "n"].sum()
    sizes = listed(f"{size:,} B" for size in sorted(cases["payload_bytes"].unique()))
    places = listed(cases["placement"].unique())
    target = " Server not started here: its placement and its CPU are not known." if cases["target"].any() else ""
    return (
        f"{int(cases['starts'].min())} starts of each case, windows of {run.plan.window_s:g} s; n = {n:,} calls after "
        f"the warm-up; payload {sizes}; placement {places}{' (client)' if target else ''}.{target}\n"
        f"Machine {machine['machine_id']}: {machine['cpu_model']}, {machine['cpus_allowed']} CPUs, "
        f"{'virtual, ' if machine['virtual'] else ''}{machine['system']} {machine['kernel']}. Run {run.id}. "
        f"Checks passed: {checks.score(run)}."
    )


def provenance(run: Run) -> dict[str, str]:
    """Return what is written into a figure's metadata: which run, which data, which revision drew it from."""
    git = run.manifest["git"]
    dirty = " (with changes)" if git["dirty"] else ""
    data, notebook = run.folder.data_hash(), run.plan.notebook
    text = f"run={run.id} data={data} revision={git['revision']}{dirty} notebook={notebook} (roundtrip)"
    return {"Title": drawn_for(run.plan.notebook).TITLE, "Description": text}


def save(run: Run) -> list[Path]:
    """Write the notebook's figure as SVG and PNG into ``figures/``; the same run gives the same bytes."""
    figure, metadata = whole(run), provenance(run)
    targets = [paths.figures() / f"{run.plan.notebook}.{kind}" for kind in ("svg", "png")]
    with style():
        for target in targets:
            write(figure, target, metadata)
    return targets


def write(figure: Figure, target: Path, metadata: dict[str, str]) -> None:
    """Write a figure with its metadata as the kind that the name ends with; without a time of writing."""
    kind = target.suffix[1:]
    extra: dict[str, Any] = {"Date": None} if kind == "svg" else {"Software": None}
    with writing(target, "ROUNDTRIP_FIGURES") as temporary:
        target.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(temporary, format=kind, metadata=metadata | extra)
