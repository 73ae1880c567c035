"""What the figure of placements says."""

from bench.experiments.words import P50
from bench.plan import placement
from bench.run.frames import Run
from bench.text import duration


def conclusion(run: Run) -> str:
    """Say how much the placement changes a round trip, and which placement repeats best."""
    cases = run.cases.dropna(subset=P50)
    sentences = []
    for (system, transport), rows in cases.groupby(["system", "transport"], sort=False):
        fast, slow = rows.loc[rows[P50].idxmin()], rows.loc[rows[P50].idxmax()]
        sentences.append(
            f"**{system} over {transport}**: {duration(fast[P50])} with placement {fast['placement']}, "
            f"{duration(slow[P50])} with {slow['placement']}, a factor of {slow[P50] / fast[P50]:.1f}."
        )
    spread = (cases[f"{P50}_high"] / cases[f"{P50}_low"]).groupby(cases["placement"]).median()
    ranks = "; ".join(f"{name} {spread[name]:.2f}" for name in spread.sort_values().index)
    sentences.append(
        f"How well a start repeats (slowest start median over fastest, middle of the pairs): {ranks}. "
        f"The defaults here: {placement.default()} for one caller, {placement.default(True)} for parallel work."
    )
    return " ".join(sentences)
