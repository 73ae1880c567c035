"""What a notebook shows: tables and figures in its output."""

from pathlib import Path

import pandas as pd
from IPython.display import HTML, Image, display
from matplotlib.figure import Figure

from bench.grammar.markup import png, table
from bench.plan import paths

DPI = 90  # of the panels shown in a notebook


def show_frame(frame: pd.DataFrame) -> None:
    """Show a table of words: aligned left, numbers and units on one line."""
    display(HTML(table_html(frame)))


def table_html(frame: pd.DataFrame, wrap: bool = False) -> str:
    """Return a table of words as HTML, aligned left; without ``wrap`` each cell is one line."""
    look = "text-align:left" if wrap else "text-align:left;white-space:nowrap"
    return table(frame).replace("<td>", f'<td style="{look}">').replace("<th>", f'<th style="{look}">')


def show_figure(figure: Figure, alt: str) -> None:
    """Show a figure as a picture, with an alternative text."""
    display(Image(png(figure, DPI), width=900, alt=alt))


def show_saved(files: list[Path], alt: str) -> None:
    """Show a figure that was saved, and where it is."""
    display(Image(filename=str(files[-1]), width=1000, alt=alt))
    print(f"Saved {' and '.join(paths.shown(file) for file in files)}")
