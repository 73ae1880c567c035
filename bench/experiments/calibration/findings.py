"""Measured quantiles compared with the true ones: the same run in virtual time."""

from dataclasses import dataclass

from bench.analysis import virtual_time
from bench.analysis.quantiles import quantile
from bench.run.frames import Run, number_of, once
from bench.stats import Spread

MARGIN = 0.10


SHOWN = (0.5, 0.8, 0.95, 0.99)  # not 0.9: there the bimodal distribution has a step


@dataclass(frozen=True)
class Truth:
    """One quantile of one case, measured and true, in us, and the interval of the measured one (NaN without)."""

    label: str
    time: str
    p: float
    measured: float
    low: float
    high: float
    true: float
    levels: tuple[float, float] | None = None

    @property
    def spread(self) -> Spread:
        """The measured quantile over the starts."""
        return Spread(self.measured, self.low, self.high, self.levels)

    @property
    def off(self) -> float:
        """Relative error: measured / true - 1."""
        return self.measured / self.true - 1


@once
def virtual(run: Run) -> Run:
    """Return the run in virtual time; worked out once for a run."""
    return virtual_time.replay(run)


@once
def truths(run: Run) -> list[Truth]:
    """Return each quantile with enough samples, measured and true: of round trips, or of open loads' response times."""
    quantiles = []
    for case in virtual(run).numbers:
        time = "response" if run.case(case).load == "open" else "rtt"
        for p in SHOWN:
            measured, true = quantile(run, case, p, time), quantile(virtual(run), case, p, time)
            if measured.over and true.over:
                value, low, high, levels = measured.spread
                quantiles.append(Truth(name(run, case), time, p, value, low, high, true.value, levels))
    return quantiles


def name(run: Run, case: int) -> str:
    """Return a case's distribution and load, in words."""
    of = run.case(case)
    law = "one freeze" if of.options["freeze_after"] else str(of.options["law"])
    return f"{law}, {f'{of.offered_per_s:g}/s' if of.load == 'open' else 'closed'}"


def busiest(run: Run) -> int:
    """Return the case of the highest offered rate to the exponential server."""
    rows = run.cases[(run.cases["load"] == "open") & (run.cases["clients"] > 1)]
    return number_of((rows if len(rows) else run.cases)["offered_per_s"].idxmax())


def frozen(run: Run) -> int:
    """Return the case whose server freezes once."""
    return next(case for case in run.numbers if run.case(case).factor("freeze_after"))
