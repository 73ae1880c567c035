"""What the figure of more and more clients says: the lab's questions, the growth, and what ended it."""

import pandas as pd

from bench.analysis.prediction import agreement, predict
from bench.analysis.resources import resources
from bench.experiments import published
from bench.experiments.clients.findings import bursts, grown
from bench.experiments.words import P50, clients_of, why_not_more, with_range
from bench.run.frames import Run, number_of
from bench.text import duration, quantity


def conclusion(run: Run) -> str:
    """Say how far the clients carried, what had been predicted, and which resource ended the growth."""
    cases = grown(run)
    one, best = cases.iloc[0], cases.loc[cases["rate_per_s"].idxmax()]
    text = (
        f"{clients_of(one)} makes {quantity(one['rate_per_s'])} calls a second; the most, "
        f"{quantity(best['rate_per_s'])}, come with {clients_of(best)}: {best['rate_per_s'] / one['rate_per_s']:.2f} "
        f"times as many. {why_not_more(run, number_of(best.name))}"
    )
    last = cases.iloc[-1]
    if last["clients"] > best["clients"]:
        text += f" With {clients_of(last)} it is {quantity(last['rate_per_s'])}."
    return "\n\n".join([text, _predicted(run, one, best)])


def _predicted(run: Run, one: "pd.Series[float]", best: "pd.Series[float]") -> str:
    """Say what one client predicts, and how a call's cost moved away from it."""
    model = predict(run)
    if model is None:
        return "The server's CPU time is not known, so nothing could be predicted from one client."
    then, now = _cost(one), _cost(best)
    moved = "fell" if now < then else "rose"
    return (
        f"Foretold from the starts with one client alone: {model.limit} fills first, at "
        f"{quantity(model.bound[-1])} calls a second. Measured and predicted rates differ by a factor of at most "
        f"{agreement(run, model):.2f}. The prediction takes the CPU cost of a call as constant; it {moved} from "
        f"{duration(then)} with {clients_of(one)} to {duration(now)} with {clients_of(best)}."
    )


def _cost(row: "pd.Series[float]") -> float:
    return float(row[[f"{role}_cpu_us_per_call" for role in ("client", "server", "router")]].sum())


def answers(run: Run) -> str:
    """Answer the two questions of the class lab, its numbers beside today's."""
    cases, short = grown(run), bursts(run).set_index("clients")
    one, cold = cases.iloc[0], run.ledger.loc[run.ledger["clients"] == 1, "first_rtt_ns"].median() / 1e3
    rates = {n: short.loc[n, "rate_per_s"] for n in (1, 2) if n in short.index}
    lab = {n: sum(each) for n, each in published.GRPC_LAB["calls_per_s"].items()}
    text = (
        f"**What is the round-trip time between one client and one server?** {with_range(one, P50)} once warm, "
        f"{duration(cold)} for the first call, which connects as well. The lab's one call took "
        f"{duration(1e3 * published.GRPC_LAB['one_call_ms'])}."
    )
    if len(rates) < 2:
        return text
    return "\n\n".join([text, _doubling(run, rates[2] / rates[1], lab[2] / lab[1])])


def _doubling(run: Run, today: float, then: float) -> str:
    """Say why two clients carried about twice as much, by what one client left idle."""
    alone = [one for one in resources(run, number_of(grown(run).index[0])) if not one.is_thread]
    idle = max(alone, key=lambda one: one.busy)
    most = 1 / idle.busy if idle.busy else float("inf")
    room = "more than twice" if most > 2.05 else f"{most:.2f} times"
    return (
        f"**What is the throughput with one client, and with two?** Two clients carry {today:.2f} times as much as one "
        f"in loops of 100 calls; in the lab {then:.2f} times. One client alone keeps {idle.name} {idle.busy:.0%} busy "
        f"and waits for the rest of each round trip: that leaves room for {room} its calls, and the second client "
        f"takes what of it there is. It stops where {idle.name} has no time left, not at any number of clients."
    )
