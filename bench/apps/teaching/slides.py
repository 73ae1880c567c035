"""Slides for a lecture, one file for each notebook, which opens without a network.

A heading begins a slide. A slide has one picture or table at most: a second one, a picture behind much text, and
much text behind a picture begin another slide, which repeats the heading; so does what answers a question. Parameters,
checks and exercises are left out, code is not shown, and of a long table its first rows. So the notebooks need no
metadata of their own for it. nbconvert makes the page; the reveal.js that comes with Voila is put into it, where
nbconvert's own template would load one from a network.
"""

import copy
import os
import re
import sysconfig
from pathlib import Path
from typing import Any

import nbformat

from bench.apps import scenarios
from bench.apps.teaching.copies import Notebook, source, tagged
from bench.apps.unattended import execute
from bench.errors import NotInstalledError
from bench.plan import paths

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
    "## The symptoms in numbers",
)
MOST_SIGNS, FEW_SIGNS = 450, 150  # of text above a picture, and below it
MOST_TEXT = 1300  # signs on a slide
MOST_ROWS = 6  # of a table
TABLE_ROW = re.compile(r"<tr\b.*?</tr>", re.S)
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
    made, skipped, asked = copy.deepcopy(document), False, False
    heading, signs, is_drawn = "", 0, False  # of the slide so far
    cells: list[Notebook] = []
    for cell in (part for whole in made["cells"] for part in _parts(whole)):
        text, prose = source(cell), cell["cell_type"] == "markdown"
        is_heading = prose and text.startswith("#")
        if is_heading:
            skipped, heading = text.startswith(SECTIONS), text.partition("\n")[0]
        if skipped or text.startswith(EXERCISES) or (not prose and _is_left_out(cell)):
            cells.append(_on(cell, "skip"))
            continue
        if prose:
            paragraphs = text.partition("\n\n## Exercises")[0].split("\n\n")
            cell["source"] = "\n\n".join(words for words in paragraphs if not words.startswith(EXERCISES))
        size, draws = _size(cell)
        shows = not prose and ("bench.show(" in text or "bench.answer(" in text)
        is_full = (draws and (is_drawn or signs > MOST_SIGNS)) or (is_drawn and size > FEW_SIGNS) or (asked and shows)
        is_full |= signs + size > MOST_TEXT
        if is_full and not is_heading:
            cells.append(_on(nbformat.v4.new_markdown_cell(heading, id=f"heading-{len(cells)}"), "slide"))
        cells.append(_on(cell, "slide" if is_heading else "-"))
        signs, is_drawn = (size, draws) if is_heading or is_full else (signs + size, is_drawn or draws)
        asked = text.startswith(QUESTION) or (asked and not is_heading and not is_full)
    return made | {"cells": cells}


def _on(cell: Notebook, kind: str) -> Notebook:
    """Return a cell that begins a slide (slide), is on it (-) or on none (skip)."""
    cell["metadata"]["slideshow"] = {"slide_type": kind}
    return cell


def _parts(cell: Notebook) -> list[Notebook]:
    """Return a cell of code once for each of its outputs, with the first rows of a long table."""
    outputs = cell.get("outputs", [])
    if not outputs:
        return [cell]
    for output in outputs:
        data = output.get("data", {})
        if "text/html" in data:
            data["text/html"] = _first_rows("".join(data["text/html"]))
    return [
        cell | {"id": f"{cell['id']}-{number}", "metadata": dict(cell["metadata"]), "outputs": [output]}
        for number, output in enumerate(outputs)
    ]


def _first_rows(html: str) -> str:
    """Return HTML whose table has at most ``MOST_ROWS`` rows below its head, and says how many are left out."""
    head, begin, body = html.partition("<tbody>")
    rows = TABLE_ROW.findall(body)
    if len(rows) <= MOST_ROWS:
        return html
    more = f"<p>... {len(rows) - MOST_ROWS} more rows are in the notebook.</p>"
    return f"{head}{begin}{''.join(rows[:MOST_ROWS])}</tbody>{body.partition('</tbody>')[2]}{more}"


def _size(cell: Notebook) -> tuple[int, bool]:
    """Return how many signs of text a cell shows, and whether it shows a picture or a table."""
    if cell["cell_type"] == "markdown":
        return len(source(cell)), False
    data = [output.get("data", {"text/plain": output.get("text", "")}) for output in cell.get("outputs", [])]
    draws = any("image/png" in one or "<table" in "".join(one.get("text/html", "")) for one in data)
    return 0 if draws else sum(len("".join(one.get("text/markdown", one.get("text/plain", "")))) for one in data), draws


def _is_left_out(cell: dict[str, Any]) -> bool:
    """Return whether what a code cell shows is not for a lecture."""
    text = source(cell)
    named = (any(call in text for call in CALLS) and "bench.show(" not in text) or text.strip() == "bench.trust(run)"
    return named or tagged(cell, "parameters") or tagged(cell, "answer")


def make(names: list[str], folder: Path, say: Any) -> list[Path]:
    """Make slides of notebooks or scenarios (of all notebooks, if none is named) into a folder; return the files.

    A notebook that was executed (``data/executed``) is shown as it is there; others are drawn from the reference run.
    """
    chosen = [scenarios.chosen(name) for name in names or scenarios.notebooks()]
    executed = {one.name: paths.executed() / f"{one.name}.ipynb" for one in chosen}
    drawn = [one for one in chosen if not executed[one.name].is_file()]
    if drawn:
        os.environ["ROUNDTRIP_EXECUTED"] = os.environ["ROUNDTRIP_FIGURES"] = str(folder / "drawn")
        for one in drawn:  # one without a reference run looks at what others measured
            stored = (paths.reference() / one.notebook.stem).is_dir()
            execute([one.name], False, {"source": "reference"} if stored else {}, say)
    executed |= {one.name: folder / "drawn" / f"{one.name}.ipynb" for one in drawn}
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
