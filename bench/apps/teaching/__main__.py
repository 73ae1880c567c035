"""``python -m bench.apps.teaching``: what a class needs, derived from the notebooks: student, slides, key."""

import sys
from pathlib import Path

import click

from bench.errors import BenchError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Derive what a class needs from the notebooks."""


@cli.command()
@click.argument("folder", default="build", type=click.Path(path_type=Path))
def student(folder: Path) -> None:
    """Write copies without answers into FOLDER/student, and sources for nbgrader into FOLDER/nbgrader."""
    from bench.apps.teaching import copies

    written = len(copies.write(folder)) // 2
    click.echo(f"{written} notebooks without answers in {folder / 'student'}, with answers in {folder / 'nbgrader'}")
    click.echo("Next: docs/teaching/class-setup.md, to make the folder that students get")


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
