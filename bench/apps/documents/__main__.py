"""``python -m bench.apps.documents``: write the generated blocks of README.md and docs/ from the reference runs."""

import sys
from collections.abc import Callable, Mapping

import click

from bench import paths
from bench.apps.documents import blocks
from bench.apps.documents.catalogue import catalogue
from bench.apps.documents.choosing import choosing
from bench.apps.documents.conducting import cost
from bench.apps.documents.origins import origins
from bench.apps.documents.results import results
from bench.apps.documents.summary import picture as overview
from bench.apps.documents.summary import summary
from bench.apps.documents.trust import campaign, card, placement, tried
from bench.errors import BenchError

Makers = Mapping[str, Callable[[], str]]
FROM_RUNS: dict[str, Makers] = {
    "README.md": {"summary": summary, "systems": catalogue, "origins": origins},
    "docs/results.md": {"results": results},
    "docs/choosing.md": {"choosing": choosing},
    "docs/hosts.md": {"cost": cost},
    "docs/trust.md": {"card": card, "placement": placement, "campaign": campaign},
}
BY_TRYING: dict[str, Makers] = {"docs/trust.md": {"certificate": tried}}


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    """Write the parts of the documents that quote measured numbers."""


@cli.command()
def expected() -> None:
    """Write the blocks that come from the reference runs."""
    write(FROM_RUNS)


@cli.command()
def certificate() -> None:
    """Write the certificate of the instrument, tried in virtual time (minutes)."""
    write(BY_TRYING)


@cli.command()
def picture() -> None:
    """Draw README.md's picture from the reference run of overview."""
    click.echo(f"Saved {overview()}")


def write(documents: Mapping[str, Makers]) -> None:
    """Write the blocks of each document anew."""
    for name, makers in documents.items():
        file = paths.home() / name
        file.write_text(blocks.filled(file.read_text("utf-8"), makers), "utf-8")


if __name__ == "__main__":
    try:
        cli(prog_name="bench.apps.documents")
    except BenchError as error:
        click.echo(f"bench: {error}", err=True)
        sys.exit(error.exit_status)
