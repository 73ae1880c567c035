"""Claims that a run tests: what it contradicts is said first."""

from collections.abc import Mapping

from bench.grammar.contrast import Ratio
from bench.text import listed, paragraphs

AGAINST = "**Contradicted by this run"


def above(ratio: Ratio | None, than: float = 1.0) -> bool | None:
    """Return whether a ratio is above a value (True) or below it (False); None where the interval contains it."""
    if ratio is None or not ratio.interval.excludes(than):
        return None
    return ratio.value > than


def judged(claim: str, found: Mapping[str, bool | None]) -> str:
    """Return a claim with what a run found for each case or system: contradictions first, then where it holds.

    found: whether the claim holds, by name; None where the run does not decide. Empty if nothing was measured.
    """
    if not found:
        return ""
    held, against, open_ = ([name for name, holds in found.items() if holds is each] for each in (True, False, None))
    if against:
        text = f"{AGAINST}, for {listed(against)}:** {claim}."
        text += f" It holds for {listed(held)}." if held else ""
    elif held:
        text = f"Holds in this run, for {listed(held)}: {claim}."
    else:
        return f"Not decided by this run: {claim}."
    return text + (f" Not decided for {listed(open_)}." if open_ else "")


def with_verdict(verdict: str, *parts: str) -> str:
    """Return what is said of a run with the verdict on a claim: first where the run contradicts it, else last."""
    return paragraphs(verdict, *parts) if verdict.startswith(AGAINST) else paragraphs(*parts, verdict)


def contradictions(text: str) -> str:
    """Return the sentences of a text that say which claims the run contradicts."""
    return paragraphs(*(part for part in text.split("\n\n") if part.startswith(AGAINST)))
