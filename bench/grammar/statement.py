"""Statements of an answer: one value as a sentence, several as a list below the words that they share."""

from collections.abc import Iterable
from typing import NamedTuple

from bench.text import paragraphs


class Statement(NamedTuple):
    """A sentence; or, with ``items``, the words that these share. Markdown, without a full stop."""

    lead: str
    items: tuple[str, ...] = ()

    def sentence(self, most: int = 1) -> str:
        """Return the first items behind the words that they share, as one sentence."""
        return f"{': '.join(filter(None, [self.lead, '; '.join(self.items[:most])]))}."


def as_markdown(statements: Iterable[Statement]) -> str:
    """Return statements as Markdown: a list of them if there are several."""
    made = list(statements)
    if len(made) == 1:
        (only,) = made
        return paragraphs(f"{only.lead}:", _list(only.items)) if only.items else only.sentence()
    return "\n".join(
        "\n".join([f"- {each.lead}:", _list(each.items, "  ")]) if each.items else f"- {each.sentence()}"
        for each in made
    )


def _list(items: Iterable[str], indent: str = "") -> str:
    return "\n".join(f"{indent}- {item}." for item in items)
