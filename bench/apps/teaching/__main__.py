"""``python -m bench.apps.teaching``: what a class needs: student, slides, grade, key."""

import sys
from pathlib import Path

import click

from bench.apps.teaching.labs import LABS, Lab
from bench.errors import BenchError, unknown
from bench.plan import paths
from bench.text import counted


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Make what a class needs from the notebooks, and count what it hands in."""


LAB = click.option("--lab", metavar="LAB", help=f"Of this lab alone: {', '.join(LABS)}.")


def lab_of(name: str) -> Lab:
    """Return a lab by its name; UsageError lists those that exist."""
    if name not in LABS:
        raise unknown("lab", name, LABS)
    return LABS[name]


@cli.command()
@click.argument("folder", default="build", type=click.Path(path_type=Path))
@LAB
def student(folder: Path, lab: str | None) -> None:
    """Write copies without answers into FOLDER/student, and the students' documents into FOLDER/docs."""
    from bench.apps.teaching import copies

    written = copies.write(folder, lab_of(lab) if lab else None)
    click.echo(f"{counted(len(written), 'notebook')} without answers in {folder / copies.STUDENT}")
    click.echo("Next: docs/teaching/class-setup.md, to make the folder that students get")


@cli.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--lab", default="class", show_default=True, metavar="LAB", help=f"Its points: {', '.join(LABS)}.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write a table too, as CSV.")
def grade(folder: Path, lab: str, output: Path | None) -> None:
    """Count the points of the files of `bench submit` in FOLDER; nothing is executed, and a person grades the rest."""
    from bench.apps.teaching import grading

    rows, refused = grading.table(folder, chosen := lab_of(lab))
    click.echo(grading.text(rows, refused, chosen))
    if output:
        grading.write(rows, output)
        click.echo(f"Written: {paths.shown(output)}")


@cli.command()
@click.argument("notebooks", nargs=-1, metavar="NOTEBOOK...")
@click.option("--folder", default="build/slides", type=click.Path(path_type=Path))
def slides(notebooks: tuple[str, ...], folder: Path) -> None:
    """Make slides that open without a network (of all notebooks, if none is named)."""
    from bench.apps.teaching.slides import make

    for page in make(list(notebooks), folder.resolve(), click.echo):
        click.echo(f"slides {page}")


@cli.command()
def key() -> None:
    """Print which fault each box of mystery.ipynb has, for the lecturer."""
    from bench.apps.teaching import mystery

    for box in mystery.BOXES:
        (fault,) = (suspect for suspect in mystery.EVIDENCE if mystery.is_right(box.split()[1], suspect))
        click.echo(f"{box}: {fault}")


if __name__ == "__main__":
    try:
        cli(prog_name="bench.apps.teaching")
    except BenchError as error:
        click.echo(f"bench: {error}", err=True)
        sys.exit(error.exit_status)
