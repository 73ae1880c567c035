"""HTML of conclusions, tables and figures, and templates of pages."""

import html
import io
import re
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
from matplotlib.figure import Figure

from bench.grammar.axes import style


def template(file: Path) -> jinja2.Template:
    """Return a template, which escapes what it is given, except where it says ``safe``."""
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(file.read_text("utf-8"))


def as_html(markdown: str) -> str:
    """Return the Markdown of a conclusion as HTML: stress, code, and each paragraph or item of a list on a line."""
    stressed = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(markdown))
    code = re.sub(r"`(.+?)`", r"<code>\1</code>", stressed)
    items = re.sub(r"^( *)- ", lambda begin: "&emsp;" * (len(begin[1]) // 2) + "• ", code, flags=re.M)
    return re.sub(r"\n+", "<br>", items)


def table(frame: pd.DataFrame, **look: Any) -> str:
    """Return a table as HTML, its index at the front."""
    return str(frame.reset_index().to_html(index=False, **look))


def png(figure: Figure, dpi: int) -> bytes:
    """Return a figure as a picture."""
    buffer = io.BytesIO()
    with style():
        figure.savefig(buffer, format="png", dpi=dpi)
    return buffer.getvalue()
