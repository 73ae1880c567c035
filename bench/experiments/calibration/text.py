"""What the figure of measured against true says."""

import numpy as np

from bench import stats
from bench.analysis.pacing import lateness, latest
from bench.experiments.calibration.findings import MARGIN, Truth, frozen, truths, virtual
from bench.experiments.calibration.plan import PACED_PER_S
from bench.run.frames import Run
from bench.text import duration, listed, paragraphs


def conclusion(run: Run) -> str:
    """Say how many quantiles are within the margin of the truth, what the instrument adds, and what a freeze shows."""
    return paragraphs(accuracy(run), correction(run))


def accuracy(run: Run) -> str:
    """Say which server was measured, how many quantiles are within the margin, and what the instrument adds."""
    return paragraphs(server(run), _closeness(run), instrument(run))


def server(run: Run) -> str:
    """Say which of the oracle's servers was measured, and what that means for the errors."""
    if run.case(frozen(run)).options.get("server") == "c":
        return "The server is the oracle's C program."
    return "The server is the oracle in Python, as no compiler was found: its variation is part of every error below."


def _closeness(run: Run) -> str:
    quantiles = truths(run)
    off = [quantile for quantile in quantiles if abs(quantile.off) > MARGIN]
    held = [quantile for quantile in off if quantile.low <= quantile.true <= quantile.high]
    text = f"Of {len(quantiles)} quantiles, **{len(quantiles) - len(off)} are within {MARGIN:.0%} of the true value**."
    if off:
        worst = max(off, key=lambda quantile: abs(quantile.off))
        measured = worst.spread.words(duration)
        text += f" The largest error is at {_named(worst)}: {measured} for a true {duration(worst.true)}."
        text += f" Of the {len(off)} outside, the true value is inside the measured interval for {len(held)}."
    return text


def _named(quantile: Truth) -> str:
    return f"p{100 * quantile.p:g} of {quantile.label}"


def instrument(run: Run) -> str:
    """Say what a round trip adds to the service time, how late requests were sent, and the errors of medians."""
    parts = []
    for time, words in (("rtt", "closed loops"), ("response", "open loads")):
        medians = [quantile for quantile in truths(run) if quantile.time == time and quantile.p == 0.5]
        if medians:
            added = float(np.median([median.measured - median.true for median in medians]))
            parts.append(f"{'+' if added > 0 else '−'}{duration(abs(added))} in {words}")
    late, paced = lateness(run, run.find(load="open")), ""
    if late:
        paced = f" On idle connections the p99 lateness is at most {latest(late).spread.words(duration)}."
    return (
        "The true values contain service times and the wait for the server, and nothing else: what a round trip takes "
        f"beside them (system calls, wake-ups) is part of each error.{paced} The error of the medians is "
        f"{listed(parts)} (median over the cases): do not interpret smaller differences on this machine."
    )


def correction(run: Run) -> str:
    """Say what the correction for coordinated omission makes of the recorded times, beside what users experienced."""
    case = frozen(run)
    rows = run.samples_of(case)
    recorded = rows["rtt_ns"].to_numpy() / 1e3
    due = (rows["rtt_ns"] + rows["lag_ns"]).to_numpy() / 1e3
    other = virtual(run).samples_of(case)
    true = ((other["rtt_ns"] + other["lag_ns"]) / 1e3).to_numpy()
    corrected = stats.corrected(recorded, 1e6 / PACED_PER_S)
    p99_us = [stats.quantile(values, 0.99) for values in (recorded, corrected, due, true)]
    p99, off = list(map(duration, p99_us)), p99_us[1] / p99_us[3] - 1
    of = run.case(case)
    share = of.options["freeze_ms"] / 1e3 / run.plan.window_s
    return (
        f"One freeze of {duration(1e3 * of.options['freeze_ms'])}, {share:.0%} of the window: it sets all quantiles "
        f"above p{100 * (1 - share):.0f}. p99 over whole windows, warm-up included:\n- recorded from sending: "
        f"{p99[0]}\n- corrected for coordinated omission: {p99[1]}\n- measured from the scheduled send time: {p99[2]}\n"
        f"- true: {p99[3]}\n\nAt this utilization ({of.offered_per_s * of.options['mean_us'] / 1e6:.0%}) the "
        f"correction is {'' if abs(off) <= MARGIN else '**not** '}within {MARGIN:.0%} of the true value ({off:+.1%}). "
        "Measuring from the scheduled send time needs no correction."
    )
