"""Write the gallery: ``python docs/gallery.py [NAME ...]``. No notebook runs; everything is drawn from stored runs.

``docs/gallery.md`` shows each notebook with a small picture and its answer, ``docs/examples`` what its stored run
found: answer, figure, tables, and trust card. Both can be read where the repository is shown, and on the site.
With NAMEs of reference runs the pages of these notebooks, and of those that have no page yet, are written; the others
stay as they are.
"""

import io
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image

from bench.analysis import checks
from bench.errors import BenchError
from bench.grammar import claim, figure, result_tables
from bench.grammar.experiment import of_run
from bench.plan import paths
from bench.run.frames import Run
from bench.text import counted, paragraphs
from docs.write import markdown, reference

GROUPS = {
    "Start here": ("explore", "overview", "latency"),
    "Compare fairly": ("compare", "placement", "languages"),
    "Where the time goes": ("anatomy", "whatif", "messages", "wamp", "nodelay", "network", "tls", "marginal"),
    "Throughput": ("throughput", "clients", "scaleup", "connections", "fanin", "streaming"),
    "What users experience": ("openload", "retries", "capacity"),
    "Check instrument and machine": ("noise", "calibration", "origins", "referees"),
    "In class": ("mystery", "classroom"),
}
ORDER = [stem for stems in GROUPS.values() for stem in stems]
PIXELS, SMALL_PIXELS = 1400, 480  # how wide pictures are
COLOURS = 192
MOST_VALUES = 3  # of one estimand in an answer
ENDS = re.compile(r"(?P<open> \()(?:95 % CI|range over starts) [^;)]*(?:; |\))")  # in brackets, alone or before more
LEAD = """# The notebooks, with what their stored runs found

Each notebook asks one question. Click a picture to see the answer, the figure, the tables, and how far to trust them.
The runs are stored in `data/reference/`. `.venv/bin/bench run NAME` measures one on your machine, and `make
lab` opens the notebooks in JupyterLab. The runs are from several machines: compare ratios, not times, between pages.
Each page has the interval of each value.
"""
PAGE = """[Gallery](../gallery.md) · [the notebook](../../notebooks/{stem}.ipynb)

```
.venv/bin/bench run {stem}                      # measures it on your machine
.venv/bin/bench run {stem} -p source reference  # draws this page's figure
```"""
FOLDED = """<details><summary>{line}</summary>

{table}

</details>"""
ROW = re.compile(r"^\| .*<br>`(\w+)` \|$", re.M)  # of the gallery
OPEN = 2  # tables of a page, from the first on; the others are folded
WITHOUT_RUN = "It reads what others measured: it has no stored run of its own."


def run_of(stem: str) -> Run | None:
    """Return the stored run of a notebook, None if it has none."""
    return reference(stem) if (paths.reference() / stem / "manifest.json").is_file() else None


def question(stem: str) -> str:
    """Return a notebook's title."""
    return _introduction(stem)[0].removeprefix("# ")


def _introduction(stem: str) -> list[str]:
    """Return the paragraphs of a notebook's first cell."""
    cells = json.loads((paths.home() / "notebooks" / f"{stem}.ipynb").read_text("utf-8"))["cells"]
    return "".join(cells[0]["source"]).split("\n\n")


def picture(drawn: Figure) -> Image.Image:
    """Return a figure as a picture."""
    file = io.BytesIO()
    with figure.style():
        drawn.savefig(file, format="png", dpi=100)
    return Image.open(file).convert("RGB")


def save(image: Image.Image, wide: int, file: Path) -> None:
    """Write a picture with so many pixels in width, and few colours, so that the file is small."""
    size = (wide, round(image.height * wide / image.width))
    small = image.resize(size, Image.Resampling.LANCZOS) if wide != image.width else image
    few = small.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)  # keeps rare ones
    few.save(file, optimize=True)


def page(stem: str, run: Run) -> str:
    """Return the page of what a run found."""
    shown, introduction = of_run(run), _introduction(stem)
    about = [part.replace("](../docs/", "](../") for part in introduction[1:] if not part.startswith(("|", "[How"))]
    own = {f"Table: {name.replace('_', ' ')}": shown.table(run, name) for name in shown.tables}
    made = [(line, markdown(frame)) for line, frame in own.items() if len(frame)]
    card = f"Trust card: checks passed {checks.tally(run)}", markdown(result_tables.card(checks.check(run)))
    return paragraphs(
        f"# {question(stem)}",
        *about,
        PAGE.format(stem=stem),
        "## Answer",
        shown.conclusion(run).replace("](../docs/", "](../"),
        f"![{figure.alt_text(run)}]({stem}.png)",
        figure.caption(run),
        *(f"## {line}\n\n{table}" for line, table in made[:OPEN]),
        *(FOLDED.format(line=line, table=table) for line, table in [*made[OPEN:], card]),
    )


def entries(folder: Path, rows: Mapping[str, str]) -> Iterator[str]:
    """Write the pages and pictures into a folder, and yield each group of the gallery.

    rows: those that stay as they are, with their pages, by the names of the notebooks.
    """
    for heading, stems in GROUPS.items():
        shown = [rows.get(stem) or entry(stem, folder) for stem in stems]
        yield "\n".join([f"## {heading}", "", "| | |", "| --- | --- |", *shown])


def entry(stem: str, folder: Path) -> str:
    """Write the page and pictures of a notebook into a folder, and print its name; return its row in the gallery."""
    print(f"docs/examples/{stem}.md", flush=True)
    run = run_of(stem)
    link, answer = f"../notebooks/{stem}.ipynb", WITHOUT_RUN
    shown = f"[{stem}]({link})"
    if run is not None:
        link, answer = f"examples/{stem}.md", _answer(run)
        shown = f"[![{figure.alt_text(run)}](examples/{stem}-small.png)]({link})"
        save(picture(figure.whole(run)), PIXELS, folder / f"{stem}.png")
        first = next(iter(of_run(run).panels))
        save(picture(figure.panel(run, first)), SMALL_PIXELS, folder / f"{stem}-small.png")
        (folder / f"{stem}.md").write_text(f"{page(stem, run)}\n", "utf-8")
    return f"| {shown} | **[{question(stem)}]({link})**<br>{answer}<br>`{stem}` |"


def _answer(run: Run) -> str:
    """Return the answer in one cell of a table, without its intervals."""
    shown = of_run(run)
    against = [one for one in shown.claims if shown.contradictions(run) and one.verdict(run) == claim.CONTRADICTED]
    more = f"<br>{counted(len(against), 'expectation')} contradicted" if against else ""
    without_ends = ENDS.sub(lambda ends: ends["open"] * ends[0].endswith("; "), shown.finding(run, MOST_VALUES))
    return without_ends.replace("|", "\\|") + more


def unchanged(gallery: str, names: Collection[str]) -> dict[str, str]:
    """Return the rows of a gallery that stay as they are, by the names of the notebooks: none if no names are given."""
    rows = {match[1]: match[0] for match in ROW.finditer(gallery)}
    return {stem: row for stem, row in rows.items() if names and stem not in names}


def main(names: Collection[str]) -> None:
    """Write the gallery and the pages behind it, of some notebooks or (no names) of all; an error is one line."""
    folder, gallery = paths.home() / "docs" / "examples", paths.home() / "docs" / "gallery.md"
    rows = unchanged(gallery.read_text("utf-8"), names)
    with tempfile.TemporaryDirectory(dir=folder.parent) as made:  # whoever stops it keeps the pages that were there
        try:
            groups = list(entries(Path(made), rows))
        except BenchError as error:
            sys.exit(f"docs/gallery.py: {error}")
        if not rows:
            shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(made, folder, dirs_exist_ok=True)
    gallery.write_text("\n".join([LEAD, *(f"{group}\n" for group in groups)]), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
