"""What ``bench compare`` found: lines for a terminal, plain data, and files for pull requests and CI servers."""

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from bench.apps import junit
from bench.errors import UsageError
from bench.text import harmless, quoted, ratio_ends


class Outcome(NamedTuple):
    """A comparison's ``text`` for a terminal, the same as plain data, and whether it exceeds the limit."""

    text: str
    document: dict[str, Any]
    failed: bool

    @property
    def json(self) -> str:
        """Return the document as JSON."""
        return json.dumps(self.document, indent=1)

    @property
    def markdown(self) -> str:
        """Return a comment for a pull request: the verdict, a row for each comparison, and folded all lines."""
        counts = junit.counts(self.document)
        verdict = "failed" if self.failed else "passed" if counts or self.document.get("at_most") else "compared"
        missing = junit.left_out(self.document)
        if not self.failed and any(comparison["is_undecided"] for comparison in junit.comparisons(self.document)):
            verdict = "undecided"
        rows = ["| case | per call, BASE -> HEAD | verdict |", "|---|---|---|"] if counts else []
        for count in counts:
            cell = "**rose**" if count["exceeds_limit"] else count["verdict"]
            rows.append(f"| {harmless(count['case'])} | {harmless(count['text'])} | {cell} |")
        rows += [] if counts else ["| case | quantity | HEAD / BASE | interval | verdict |", "|---|---|---|---|---|"]
        for comparison in junit.comparisons(self.document):
            ratio, low, high = ratio_ends(*(comparison[end] or math.nan for end in ("ratio", "low", "high")))
            cell = "**slower than allowed**" if comparison["exceeds_limit"] else comparison["words"]
            cell += ", but its interval includes the limit" * comparison["is_undecided"]
            rows.append(
                f"| {harmless(comparison['case'])} | {comparison['quantity']} | {ratio} | {low} to {high} | {cell} |"
            )
        rows += [f"| | {harmless(text.partition(' is ')[0])} | | | **not compared** |" for text in missing]
        lines = ["```", *map(harmless, self.text.splitlines()), "```"]
        parts = [f"### Roundtrip: {verdict}", harmless(self.document["closing"]), "\n".join(rows)]
        folded = ["<details><summary>All lines</summary>", "\n".join(lines), "</details>"]
        return "\n\n".join([*parts, *folded])

    @property
    def xml(self) -> str:
        """Return the comparisons, or counts, as JUnit XML."""
        return junit.xml("bench compare", [*junit.of_comparisons(self.document), *junit.of_counts(self.document)])


KINDS = {".json": "json", ".md": "markdown", ".xml": "xml"}  # of files, by the ends of their names


def refuse_unknown(files: Iterable[Path]) -> None:
    """Raise UsageError for a name that says no kind of file: before anything is measured."""
    for file in files:
        if file.suffix not in KINDS:
            raise UsageError(f"{quoted(str(file))} says no kind of file: let its name end with {', '.join(KINDS)}")


def write(outcome: Outcome, files: Iterable[Path]) -> None:
    """Write an outcome into files, each of the kind that its name ends with; DataError where that cannot be."""
    from bench.apps import exporting  # slow to import

    exporting.write({file: f"{getattr(outcome, KINDS[file.suffix])}\n".encode() for file in files}, "--write")
