"""clients.ipynb: more and more clients of one system, and what one client predicts of them."""

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd
from matplotlib.axes import Axes

from bench.analysis import prediction
from bench.errors import UsageError
from bench.experiments.published import GREETER, greeter_lines
from bench.grammar import CPU, P50, RATE, Claim, Contrast, CpuBars, Curve, Estimate, Level, Lines, Model, Table, most
from bench.grammar.axes import GREY, log_axis, look, name_rows, range_row
from bench.grammar.estimand import of_interval
from bench.grammar.quantities import per_start
from bench.grammar.sweep import Bytes, Counts, Options, OwnEngine, as_sweep
from bench.measurement.validation.amount import OnHosts
from bench.measurement.validation.cases import one_way
from bench.plan.case import Case
from bench.run.frames import Run
from bench.text import counted, duration, quantity

TITLE = "How does throughput grow with the number of clients?"
BURST = 100  # calls of each client in the loop of the greeter exercise
WINDOW, SHORT = {"is_short": False}, {"is_short": True}


@as_sweep()
def sweep(
    amount: OnHosts,
    system: object = "grpc_sync",
    transport: object = "tcp",
    payload_bytes: Bytes = 100,
    clients: Counts = (1, 2, 4, 8, 16),
    options: Options = "",
    engine: OwnEngine = "library",
) -> Iterator[Case]:
    """Yield the greeter exercise, 100 calls by one client and by two, then a window of more and more clients."""
    name, transport = one_way(system, transport)
    if transport == "inproc":
        raise UsageError("inproc lives in one process, so clients cannot be added: use ipc or tcp")
    placement = amount.chosen_placement(is_parallel=True)
    base_case = Case(name, transport, payload_bytes, options, placement, engine=engine, hosts=amount.there)
    bursts = [replace(base_case, clients=count) for count in (1, 2)]
    yield from (replace(case, max_calls=BURST * case.processes) for case in bursts)
    counts = sorted({1, *clients})  # one: the prediction is made from it
    yield from (replace(base_case, clients=count) for count in counts)


def utilization(run: Run) -> list[Estimate]:
    """Return the demand on the resource that one client predicts, divided by the largest of the others."""
    shares = prediction.demand_over_others(run)
    return [
        of_interval(counted(run.case(case).clients, "client"), share, quantity, (case,))
        for case, share in shares.items()
    ]


gain = Contrast(RATE, of=most("clients"), over={"clients": 1}, where=WINDOW)
second = Contrast(RATE, of={"clients": 2}, over={"clients": 1}, where=WINDOW)
second_in_burst = Contrast(RATE, of={"clients": 2}, over={"clients": 1}, where=SHORT)

contrasts = (second_in_burst, second, gain)
answer = (second, gain, Level(P50, {"clients": 1, **WINDOW}), Level("first_rtt_ns", {"clients": 1, **WINDOW}))
claims = (
    Claim("the resource with the largest demand of one client is the busiest with more clients", utilization, above=1),
    Claim("the gain is within the ceiling that one client's demands set", gain, at_most=prediction.ceiling),
    Claim("the gain is within the number of CPUs", gain, at_most=prediction.cpus),
    Claim("two clients make at most twice the calls of one", second, at_most=2),
)


def predicted(words: str, name: str, line: str = "-.") -> Model:
    """Return the model of a quantity that is predicted from one client, by the number of clients."""

    def curve(run: Run) -> Curve | None:
        model = prediction.predict(run)
        ends = (model.rate_low, model.rate_high) if model and name == "rate" else ()
        return Curve(model.clients, getattr(model, name), *ends) if model else None

    return Model(f"prediction from one client: {words}", "clients", curve, line)


def greeter(run: Run, axes: Axes) -> None:
    """Draw the RTT of the greeter exercise's call: the first one, in a loop of 100, in a window; and its own number."""
    bursts = [(case, f"mean of {BURST} calls,\n{with_clients(run, case)}") for case in run.find(**SHORT)]
    single = run.find(clients=1, **WINDOW)[0]
    rows = {"first call, cold\n(connects, too)": per_start(run, single, "first_rtt_ns") / 1e3}
    rows |= {name: pd.Series([calls.rtt_ns.mean() / 1e3 for _, calls in run.calls_of(case)]) for case, name in bursts}
    rows["mean of a\nwhole window,\n1 client"] = per_start(run, single, "mean_rtt_us")
    for y, values in enumerate(rows.values()):
        range_row(axes, y, values, look(0))
    theirs = 1e3 * GREETER["one_call_ms"]
    axes.plot([theirs], [0], "D", ms=8, color=GREY, label=f"the greeter, on another machine: {duration(theirs)}")
    name_rows(axes, rows)
    log_axis(axes.xaxis)
    axes.set_xlabel("RTT, each start; bar: range, line: median")
    axes.set_title("RTT of one call: cold, and in a loop")


def with_clients(run: Run, case: int) -> str:
    """Return the number of clients of a case in words."""
    return counted(run.case(case).clients, "client")


asymptote, mva = predicted("asymptote", "asymptote", "--"), predicted("MVA", "rate")
panels = {
    "greeter": greeter,
    "throughput": Lines("Throughput by number of clients", RATE, "clients", where=WINDOW, models=(asymptote, mva)),
    "rtt_by_clients": Lines(
        "Mean RTT by number of clients", "mean_rtt_us", "clients", where=WINDOW, models=(predicted("MVA", "rtt_us"),)
    ),
    "cost_by_clients": CpuBars("CPU time per call, by role", where=WINDOW, label=with_clients),
}
tables = {
    "predictions": Table(
        {
            "calls/s [range over starts]": RATE,
            "predicted, asymptote": asymptote,
            "predicted, MVA": mva,
            "limit at the measured CPU time per call": prediction.limit,
            "mean RTT [range over starts]": "mean_rtt_us",
            "CPU time per call [range over starts]": CPU,
            "voluntary context switches of the server per call": "server_sleeps_per_call",
        },
        where=WINDOW,
    )
}

lines = greeter_lines
