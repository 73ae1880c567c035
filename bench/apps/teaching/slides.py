"""Slides for a lecture, one file for each notebook, which opens without a network.

A heading begins a slide, and so do prose behind a panel, a panel behind the question that it answers, and a panel
behind what else its cell shows; what follows stays on it. Parameters, checks, tables and exercises are left out, and
code is not shown. So the notebooks need no metadata of their own for it. nbconvert makes the page; the reveal.js that
comes with Voila is put into it, where nbconvert's own template would load one from a network.
"""

import copy
import os
import sysconfig
from pathlib import Path
from typing import Any

import nbformat

from bench.apps.teaching.copies import Notebook, notebooks, source, tagged
from bench.apps.unattended import execute
from bench.errors import NotInstalledError
from bench.plan import parameters, paths

TEMPLATE = Path(__file__).parent / "slides_template"
CALLS = ("bench.measure(", "bench.search(", "bench.table(", "bench.lines(", "bench.method(")  # not for a lecture
SECTIONS = (
    "## How far to trust it",
    "## What was measured",
    "## Predicted and measured",
    "## The numbers",
    "## The figure",
    "## Disturbances recorded during the windows",
    "## Compute it yourself",
    "## How it was measured",
    "## Your diagnosis",
)
PART = "panel"  # in the metadata of a cell's second part
QUESTION = "## Before you look"  # what answers it is not to be seen beside it
EXERCISES = ("**To check here.**", "**And this.**", "How far to trust it: ")


def reveal() -> Path:
    """Return the file of reveal.js that comes with Voila."""
    file = Path(sysconfig.get_path("data")) / "share/jupyter/voila/templates/base/static/reveal.js"
    if not file.is_file():
        raise NotInstalledError(
            f"slides need the reveal.js of voila, and {file} is not there: python -m pip install voila"
        )
    return file


def slide(document: Notebook) -> Notebook:
    """Return a notebook whose cells say where a slide begins, and which are on none."""
    made, skipped, drawn, asked = copy.deepcopy(document), False, False, False
    made["cells"] = [part for cell in made["cells"] for part in _panels_apart(cell)]
    for cell in made["cells"]:
        text, prose = source(cell), cell["cell_type"] == "markdown"
        if prose and text.startswith("#"):
            skipped, drawn = text.startswith(SECTIONS), True
        shows = not prose and ("bench.show(" in text or "bench.answer(" in text)
        begins = (prose and drawn and not text.startswith(EXERCISES)) or (asked and shows) or PART in cell["metadata"]
        hidden = skipped or text.startswith(EXERCISES) or (not prose and _is_left_out(cell))
        cell["metadata"]["slideshow"] = {"slide_type": "skip" if hidden else "slide" if begins else "-"}
        drawn = (drawn and not begins) or shows
        asked = text.startswith(QUESTION) or (asked and not begins)
        if prose:
            cell["source"] = text.partition("\n\n## Exercises")[0]
    return made


def _panels_apart(cell: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a cell in two parts if it shows a picture behind other output: each has the whole slide."""
    outputs = cell.get("outputs", [])
    first = next((at for at, output in enumerate(outputs) if "image/png" in output.get("data", {})), 0)
    if not first:
        return [cell]
    behind = {"id": f"{cell['id']}-panel", "metadata": cell["metadata"] | {PART: True}, "outputs": outputs[first:]}
    return [cell | {"outputs": outputs[:first]}, cell | behind]


def _is_left_out(cell: dict[str, Any]) -> bool:
    """Return whether what a code cell shows is not for a lecture."""
    text = source(cell)
    named = (any(call in text for call in CALLS) and "bench.show(" not in text) or text.strip() == "bench.trust(run)"
    return named or tagged(cell, "parameters") or tagged(cell, "answer")


def make(names: list[str], folder: Path, say: Any) -> list[Path]:
    """Make slides of notebooks (all of them, if none is named) into a folder; return the files.

    A notebook that was executed (``data/executed``) is shown as it is there; others are drawn from the reference run.
    """
    chosen = parameters.names(names or "all", "notebook", [file.stem for file in notebooks()])
    executed = {name: paths.executed() / f"{name}.ipynb" for name in chosen}
    drawn = [name for name, file in executed.items() if not file.is_file()]
    if drawn:
        os.environ["ROUNDTRIP_EXECUTED"] = os.environ["ROUNDTRIP_FIGURES"] = str(folder / "drawn")
        for name in drawn:  # one without a reference run looks at what others measured
            stored = (paths.reference() / name).is_dir()
            execute([name], False, {"source": "reference"} if stored else {}, say)
    executed |= {name: folder / "drawn" / f"{name}.ipynb" for name in drawn}
    return [_convert(file, folder) for file in executed.values()]


def _convert(executed: Path, folder: Path) -> Path:
    """Convert one executed notebook."""
    from nbconvert import SlidesExporter

    exporter = SlidesExporter(
        template_name=TEMPLATE.name, extra_template_basedirs=[str(TEMPLATE.parent)], exclude_input=True
    )
    resources = {"metadata": {"name": executed.stem}}
    page, _ = exporter.from_notebook_node(nbformat.from_dict(slide(nbformat.read(executed, 4))), resources)
    script = reveal().read_text("utf-8").replace("</script", "<\\/script")  # it is its own bundle, begins by itself
    target = folder / f"{executed.stem}.slides.html"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(page.replace("<!-- reveal.js -->", f"<script>{script}</script>"), "utf-8")
    return target
