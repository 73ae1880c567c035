"""Markdown of conclusions as HTML."""

import html
import re


def as_html(markdown: str) -> str:
    """Return the Markdown of a conclusion as HTML: stress, code, and paragraphs as lines."""
    stressed = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(markdown))
    return re.sub(r"`(.+?)`", r"<code>\1</code>", stressed).replace("\n\n", "<br>")
