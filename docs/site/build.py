"""Build the site from stored runs: ``python docs/site/build.py [FOLDER] [--only NOTEBOOK ...]``.

Every notebook that has a reference run is executed from it, and so is one that only looks at what others measured (it
has no parameter ``source``); in two processes. Then Sphinx makes pages of all notebooks, of the documents in ``docs``
and of the docstrings. No measurement is made anew, and nothing comes from a network.
"""

import argparse
import base64
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import nbformat
import papermill

from bench.apps.unattended import execute
from bench.errors import BenchError, UsageError
from bench.plan import paths
from bench.process.pipes import python
from bench.run.frames import Run
from bench.text import listed
from docs import gallery

SITE = Path(__file__).resolve().parent
ROOT = SITE.parent.parent
LINKED = ("bench", "docs", "papermill_params", "tests")  # folders whose files the documents link to

EXECUTED = """This page shows ORIGIN.OWN_LOOP On your machine, `.venv/bin/bench run STEM` measures it and `make lab`
opens it. Source: {download}`STEM.ipynb <../sources/STEM.ipynb>`."""

OWN_LOOP = "Your own instrument first"
OF_OWN_LOOP = f" Only the loop below *{OWN_LOOP}* ran when this page was made."

AS_IT_IS = """This page shows the notebook as it is written, without results: it is interactive, or needs a run that is
not stored. `make lab` opens it. Source: {download}`STEM.ipynb <../sources/STEM.ipynb>`."""

CONTENTS = """# Notebooks, executed from their stored runs

```{{toctree}}
:maxdepth: 1

{list}
```
"""

OWN_PLOT = "plot of the code above"


def build(target: Path, only: list[str] | None = None) -> None:
    """Make the site in ``target``; with ``only`` the others are shown as they are written, without a figure."""
    pages = target.with_name(f"{target.name}-pages")
    _remove(target, holding=".doctrees")
    _remove(pages, holding="api.md")
    _lay_out(pages)
    os.environ |= {
        "ROUNDTRIP_HOME": str(ROOT),
        "ROUNDTRIP_FIGURES": str(pages / "figures"),
        "ROUNDTRIP_EXECUTED": str(pages / "notebooks"),
        "ROUNDTRIP_RUNS": str(pages / "runs"),
    }
    notebooks = _notebooks()
    with tempfile.TemporaryDirectory(prefix="rt-") as scratch, _two_workers(scratch) as pool:
        list(pool.map(partial(_page, pages=pages, only=only), notebooks))
    (pages / "notebooks.md").write_text(
        CONTENTS.format(list="\n".join(f"notebooks/{file.stem}" for file in notebooks)), "utf-8"
    )
    (pages / "index.md").write_text(_doors(pages), "utf-8")
    sphinx = python("sphinx", "-q", "-W", "--keep-going", "-j", "2", "-c", str(SITE), str(pages), str(target))
    if subprocess.run(sphinx).returncode:
        raise BenchError("Sphinx reported the problems above: correct the documents or docstrings that it names")


def _remove(folder: Path, holding: str) -> None:
    """Remove what an earlier build left; UsageError for a folder that is something else."""
    if folder.exists() and any(folder.iterdir()) and not (folder / holding).exists():
        raise UsageError(
            f"{paths.shown(folder)} holds other files: remove it, or name a folder that does not exist yet"
        )
    shutil.rmtree(folder, ignore_errors=True)


def _two_workers(scratch: str) -> ProcessPoolExecutor:
    """Return two processes whose temporary files lie in a folder."""
    os.environ |= {"TMPDIR": scratch, "PYTHONSAFEPATH": "1"}
    return ProcessPoolExecutor(2, multiprocessing.get_context("spawn"), _end_with_parent, [scratch])


def _end_with_parent(scratch: str) -> None:
    """Let this process end when the one that started it has ended, however that came, and leave nothing behind."""

    def end() -> None:
        multiprocessing.parent_process().join()
        shutil.rmtree(scratch, ignore_errors=True)
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()


def _lay_out(pages: Path) -> None:
    """Give Sphinx a folder that looks like the checkout, so that links from file to file hold."""
    (pages / "notebooks").mkdir(parents=True)
    shutil.copytree(ROOT / "notebooks", pages / "sources")
    for name in LINKED:
        shutil.copytree(ROOT / name, pages / name, ignore=shutil.ignore_patterns("__pycache__", "site"))
    for file in (*ROOT.glob("[A-Z]*"), *SITE.glob("*.md")):
        shutil.copy(file, pages)


def _notebooks() -> list[Path]:
    """Return the notebooks in the order of the gallery."""
    return [ROOT / "notebooks" / f"{stem}.ipynb" for stem in gallery.ORDER]


def _doors(pages: Path) -> str:
    """Return the start page; a line that is nothing but a link stays if there is something behind it."""
    lines = (SITE / "index.md").read_text("utf-8").splitlines(keepends=True)
    links = [re.fullmatch(r"- \[\]\((\S+)\)\n", line) for line in lines]
    return "".join(line for line, link in zip(lines, links, strict=True) if not link or (pages / link[1]).is_file())


def _page(notebook: Path, pages: Path, only: list[str] | None) -> None:
    """Write a notebook's page, executed if it can be."""
    stem, run, target = notebook.stem, gallery.run_of(notebook.stem), pages / "notebooks" / notebook.name
    drawable = run is not None or "source" not in papermill.inspect_notebook(str(notebook))
    if drawable and (only is None or stem in only):
        execute([stem], False, {"source": "reference"} if run else {}, lambda text: None)
    else:
        shutil.copy(notebook, target)
    made = nbformat.read(target, 4)
    note = _note(EXECUTED if "papermill" in made.metadata else AS_IT_IS, stem, run, made)
    _put_pictures_into_files(made, pages / "notebooks", stem)
    for cell in made.cells:
        if "answer" in cell.metadata.get("tags", []):  # an exercise's: folded, to be opened by who has one
            cell.metadata.tags.append("hide-cell")
    made.cells.insert(1, nbformat.v4.new_markdown_cell(f":::{{note}}\n{note}\n:::"))
    nbformat.write(made, target)


def _note(text: str, stem: str, run: Run | None, made: nbformat.NotebookNode) -> str:
    """Return a text about where the results of a page come from."""
    has_loop = any(f"## {OWN_LOOP}" in cell.source for cell in made.cells)
    fields = {"STEM": stem, "ORIGIN": _origin(run), "OWN_LOOP": OF_OWN_LOOP if has_loop else ""}
    for name, value in fields.items():
        text = text.replace(name, value)
    return text


def _origin(run: Run | None) -> str:
    """Return where the numbers of a page come from."""
    if run is None:
        return "the stored runs that it reads"
    machine = run.manifest["machine"]
    host = f"machine {machine['machine_id']} ({machine['cpu_model']}, {machine['cpus_allowed']} CPUs)"
    placements = listed(run.cases["placement"].unique())
    return f"the stored run `{run.id}` of {run.manifest['created'][:10]}, {host}, placement {placements}"


def _put_pictures_into_files(made: nbformat.NotebookNode, folder: Path, stem: str) -> None:
    """Replace the pictures in a notebook's outputs by Markdown that shows a file, with the picture's alternative text.

    What a reader's own code plots has none: it is called so.
    """
    outputs = [output for cell in made.cells for output in cell.get("outputs", [])]
    for number, output in enumerate(output for output in outputs if "image/png" in output.get("data", {})):
        file = folder / f"{stem}-{number}.png"
        file.write_bytes(base64.b64decode(output.data["image/png"]))
        alt = output.metadata.get("image/png", {}).get("alt", OWN_PLOT)
        output.data = {"text/markdown": f"![{alt}]({file.name})"}


def main() -> None:
    """Read the arguments, build, and print where the site is."""
    parser = argparse.ArgumentParser(description="Build the site from stored runs; nothing is measured.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "site", help="default: build/site")
    parser.add_argument(
        "--only", nargs="*", metavar="NOTEBOOK", help="execute and draw these; show the others as written"
    )
    arguments, began = parser.parse_args(), time.monotonic()
    target = arguments.folder.resolve()
    try:
        build(target, arguments.only)
        print(f"The site took {time.monotonic() - began:.0f} s. Open it: {(target / 'index.html').as_uri()}")
    except BenchError as error:
        sys.exit(f"site: {error}")


if __name__ == "__main__":
    main()
