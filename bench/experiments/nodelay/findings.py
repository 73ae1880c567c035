"""Combinations of TCP_NODELAY and writes: the stalls per call that each predicts, and the rate that follows."""

from dataclasses import dataclass

from bench.run.frames import Run, once

DELAY_S = 0.040  # Linux's least delay of an acknowledgement (TCP_DELACK_MIN)
TOLERANCE = 0.1  # by which delayed ACKs per predicted stall may differ from 1


SIDES = {(True, True): "both", (False, True): "server only", (True, False): "client only", (False, False): "neither"}


@dataclass(frozen=True)
class Combination:
    """One case of the factorial: who sets TCP_NODELAY, in how many writes, and the stalls per call predicted."""

    case: int
    system: str
    sides: str
    writes: int

    @property
    def stalls(self) -> int:
        """How many writes per call wait for a delayed ACK."""
        held = {"both": 0, "server only": 1, "client only": 1, "neither": 2}[self.sides]
        return held if self.writes > 1 else 0

    @property
    def rate_per_s(self) -> float:
        """The calls per second that the stalls alone allow; infinite without any."""
        return 1 / (self.stalls * DELAY_S) if self.stalls else float("inf")


@once
def combinations(run: Run) -> list[Combination]:
    """Return the cases of the factorial, in the plan's order, without the sweep over payloads."""
    size = run.case(0).payload_bytes
    factorial = []
    for case in run.numbers:
        of = run.case(case)
        if "client_nodelay" in of.options and of.payload_bytes == size:
            sides = SIDES[of.options["client_nodelay"], of.options["server_nodelay"]]
            factorial.append(Combination(case, of.system, sides, of.options["writes"]))
    return factorial


def delayed_acks(run: Run, of: Combination) -> float:
    """Return how many delayed ACKs the kernel counted per call of a combination, median over starts; NaN if unknown."""
    starts = run.starts_of(of.case)
    return float((starts["tcp_delayed_acks"] / starts["calls"]).median())
