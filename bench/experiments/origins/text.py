"""What the figure of the origins' numbers says."""

import numpy as np

from bench.experiments.origins.findings import relations, replicas
from bench.run.frames import Run
from bench.text import listed

NEAR = 1.5  # ratios whose quotient is below it tell the same story


def conclusion(run: Run) -> str:
    """Say how much faster the numbers are here, and which conclusions of the origins hold."""
    return "\n\n".join((_faster(run), _relations(run)))


def _faster(run: Run) -> str:
    lines = []
    for origin in dict.fromkeys(one.origin for one in replicas(run)):
        mine = [one for one in replicas(run) if one.origin == origin]
        ratios = sorted(one.ratio for one in mine)
        span = f"{ratios[0]:.2g}" if len(ratios) == 1 else f"{ratios[0]:.2g} to {ratios[-1]:.2g}"
        lines.append(f"- **{origin}**: {span} times as fast here ({len(mine)} numbers)")
    return "\n".join(lines)


def _relations(run: Run) -> str:
    known = relations(run)
    off = [abs(np.log(one.here.middle / one.theirs)) for one in known]
    same = [one for one, gap in zip(known, off, strict=True) if gap <= np.log(NEAR)]
    other = [one for one in known if one not in same]
    said = f"Of {len(known)} relations {len(same)} are within a factor of {NEAR:g} of the origin's"
    if same:
        said += f": {listed(f'{one.claim} ({one.theirs:.2g} there, {one.here.middle:.2g} here)' for one in same)}"
    if other:
        differ = listed(f"{one.claim} ({one.theirs:.2g} there, {one.here.middle:.2g} here)" for one in other)
        said += f". The others are not: {differ}"
    return f"{said}. Absolute numbers age with machines; a relation that does not is worth remembering."
