"""Stalls by Nagle's algorithm and delayed ACKs: how many a call is predicted to have, and what the kernel counted.

A side without TCP_NODELAY holds the second write of a message back until the first one is acknowledged, unless the
message fills a segment of the link; the receiver, which cannot answer half a message, delays that acknowledgement.
"""

import pandas as pd

from bench.analysis.links import segment_bytes
from bench.plan.case import Case
from bench.run.frames import Run

DELAY_S = 0.040  # Linux's least delay of an acknowledgement (TCP_DELACK_MIN)


def stalls(case: Case) -> int:
    """Return for how many delayed ACKs a call is predicted to wait: one for each side that holds a write back."""
    if case.options["writes"] < 2 or case.payload_bytes >= segment_bytes(case):
        return 0
    return [case.options["client_nodelay"], case.options["server_nodelay"]].count(False)


def rate_per_s(case: Case) -> float:
    """Return the calls per second that the predicted stalls alone allow; infinite without any."""
    return 1 / (stalls(case) * DELAY_S) if stalls(case) else float("inf")


def held_back(run: Run) -> str:
    """Return which cases wait for delayed ACKs in most of their calls, and the remedies; "" for none.

    The kernel also counts the delayed ACKs of other connections, and those for which no call waits. So a case is named
    only if its median RTT is about as long as such a delay, or longer.
    """
    slow = [case for case in run.numbers if run.cases.loc[case, "p50_rtt_us"] > 0.9e6 * DELAY_S]
    medians = {case: acks_per_call(run, case).median() for case in slow}
    sentences = [
        f"{run.labels[case]}: delayed ACKs per call: {acks:.2g}." for case, acks in medians.items() if acks > OFTEN
    ]
    return f"{' '.join(sentences)} {REMEDY}" if sentences else ""


OFTEN = 0.5  # per call
REMEDY = (
    "So one side sends a message by two writes, and the second waits about 40 ms for the acknowledgement of the first: "
    "send the message by one write, or set TCP_NODELAY (see the notebook nodelay)."
)


def acks_per_call(run: Run, case: int) -> "pd.Series[float]":
    """Return the delayed ACKs per call that the kernel counted in each start, where it did; index: start."""
    starts = run.starts_of(case)
    return (starts["tcp_delayed_acks"] / starts["calls"]).dropna()
