"""Round trips compared with raw sockets over the same transport."""

import math

from bench.grammar.contrast import P50, Ratio, ratio
from bench.run.frames import Run

BASELINE = "sockets"


def ratios(run: Run) -> list[Ratio]:
    """Return each system's median RTT over that of raw sockets with the same transport and payload."""
    reported = []
    for case in run.numbers:
        of = run.case(case)
        base = run.first(system=BASELINE, transport=of.transport, payload_bytes=of.payload_bytes, load="closed")
        if of.system not in (BASELINE, "loopback") and of.load == "closed" and base is not None:
            reported.append(ratio(run, base, case, P50))
    return [ratio for ratio in reported if not math.isnan(ratio.value)]
