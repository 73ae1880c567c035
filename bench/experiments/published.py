"""Published numbers of the origins (other machines, years ago: context, not targets), and a run in the same form."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from bench.grammar import P50, RATE
from bench.plan.case import Case
from bench.run.frames import Run, numbered
from bench.stats import Spread, across_starts, quantile
from bench.text import counted

GREETER: dict[str, Any] = {  # greeter exercise, 2022: a C++ greeter in a container
    "one_call_ms": 1.21,
    "calls_per_s": {1: (1251.64,), 2: (1206.19, 1207.73)},  # 100 calls in a loop, for each client
}

VLLM: dict[str, Any] = {  # vLLM, pull requests 6880 and 6883, 2024: API server and engine; 10 requests/s, Llama-3-8B
    "ttft_ms": {"one process": 688, "gRPC": 450, "ZeroMQ + pickle": 298, "ZeroMQ + protobuf": 269},  # means
}

ZEROMQ: dict[str, Any] = {  # CZTop, ZeroMQ from Ruby on a laptop: 1 kB REQ/REP, and one-way messages
    "half_rtt_us": {"inproc": 23.4, "ipc": 45.5, "tcp": 61.4},
    "inproc_per_s": {100: 37_093, 1000: 38_498, 10_000: 31_501, 100_000: 11_034},
}

WAMP: dict[str, dict[str, tuple[float, ...]]] = {  # Crossbar.io, 2016: 48-core machine, PyPy, crossbar 0.12.1
    "ipc rawsocket msgpack": {"batches_ms": (4.81, 2.44, 1.08, 0.81, 0.41), "settled_ms": (0.31, 0.48)},
    "tcp websocket json": {"batches_ms": (7.29, 3.43, 2.19, 1.58, 1.32), "settled_ms": (1.20, 1.31)},
}
WAMP_PROCESSES = {  # CPU in % of one CPU and memory in MB, smallest and largest of the table there
    "client": ((21, 34), (207, 221)),
    "server": ((21, 34), (207, 221)),
    "router": ((62.5, 62.5), (207, 221)),
    "controller": ((30.5, 30.5), (207, 221)),
}

SCALE_UP: dict[str, dict[str, float]] = {  # Crossbar.io, 2015: PyPy 4, wrk -c 128 -t 8, 4 workers on 4 cores, 10 GbE
    "16 B": {"per_s": 174_417, "mean_ms": 1.00, "p50_ms": 0.651, "p75_ms": 0.807, "p90_ms": 1.08, "p99_ms": 9.53},
    "65,536 B": {"per_s": 17_818, "p50_ms": 6.08, "p75_ms": 8.91, "p90_ms": 18.41, "p99_ms": 39.95},
    "16 B, 40 workers on 48 cores": {"per_s": 627_991, "mean_ms": 0.358, "p50_ms": 0.171, "p75_ms": 0.253,
                                     "p90_ms": 0.395, "p99_ms": 3.22},
    "65,536 B, 40 workers on 48 cores": {"per_s": 205_197, "p50_ms": 0.514, "p99_ms": 23.95},
}  # fmt: skip
SCALE_UP_CONNECTIONS = 128
XMLRPC_C: dict[str, Any] = {  # Xmlrpc-c, about 1999: version 1.12, a PC of 696 bogomips, client and server on it
    "calls_per_s_held": {"one side": 12, "both sides": 6},  # packet stream without TCP_NODELAY
    "http_c": {"calls_100_ms": 380, "call_1_ms": 26, "per_s": 280},
    "http_cpp": {"calls_100_ms": 1350, "call_1_ms": 60},
    "pstream_cpp": {"calls_100_ms": 280, "call_1_ms": 68, "per_s": 500},
}


SHORT = 100  # calls of the greeter exercise's loop, and of the processes of Xmlrpc-c's notes
ORIGINS = {
    "wamp": "WAMP, 2016",
    "scaleup": "Web, 2015",
    "zeromq": "ZeroMQ",
    "xmlrpc_c": "Xmlrpc-c, 1999",
    "grpc": "gRPC greeter, 2022",
}


class Number(NamedTuple):
    """A published number, in us or 1/s: its ends, and the case and the column of ``Run.starts`` that repeat it."""

    origin: str
    name: str
    unit: str
    theirs: tuple[float, float]
    case: Case
    column: str

    def is_of(self, case: Case) -> bool:
        """Return whether a run's case repeats the number; that of the scale-up with any number of workers."""
        options = {name: value for name, value in self.case.options.items() if name != "workers"}
        wanted = {"system": self.case.system, "transport": self.case.transport, "load": self.case.load, **options}
        wanted |= {"payload_bytes": self.case.payload_bytes, "clients": self.case.clients}
        return all(case.factor(name) == value for name, value in wanted.items())


MEAN, FIRST_CALL, ONE_MORE = "mean_rtt_us", "first_rtt_ns", ""  # the last is no column: see ``marginal``


def numbers(workers: int) -> Iterator[Number]:
    """Yield every published number, by origin; published half round trips are doubled."""
    for name, times in WAMP.items():
        transport, framing, serializer = name.split()
        case = Case("wamp_crossbar", transport, 100, {"framing": framing, "serializer": serializer}, "same")
        low, high = times["settled_ms"]
        yield Number("wamp", f"WAMP, {name}", "us", (1e3 * low, 1e3 * high), case, MEAN)
    for size, theirs in ((16, SCALE_UP["16 B"]), (65_536, SCALE_UP["65,536 B"])):
        options = {"resource": "bytes", "workers": workers, "pin": True}
        case = Case("http_crossbar", "tcp", size, options, "free", callers=SCALE_UP_CONNECTIONS, engine="wire")
        yield Number("scaleup", f"HTTP {size:,} B, requests", "1/s", (theirs["per_s"],) * 2, case, RATE)
        yield Number("scaleup", f"HTTP {size:,} B, median", "us", (1e3 * theirs["p50_ms"],) * 2, case, P50)
    for transport, half_us in ZEROMQ["half_rtt_us"].items():
        case = Case("zeromq", transport, 1000, placement="same")
        yield Number("zeromq", f"ZeroMQ, 1 kB there and back, {transport}", "us", (2 * half_us,) * 2, case, MEAN)
    for size, rate in ZEROMQ["inproc_per_s"].items():
        case = Case("zeromq", "inproc", size, placement="split", load="stream")
        yield Number("zeromq", f"ZeroMQ, messages of {size:,} B", "1/s", (rate,) * 2, case, RATE)
    yield from _xmlrpc_c()
    for count, rates in GREETER["calls_per_s"].items():
        case = Case("grpc_sync", "tcp", 100, placement="split", clients=count, max_calls=SHORT * count)
        if count == 1:
            yield Number("grpc", "gRPC, one call, cold", "us", (1e3 * GREETER["one_call_ms"],) * 2, case, FIRST_CALL)
        name = f"gRPC, {SHORT} calls by {counted(count, 'client')}"
        yield Number("grpc", name, "1/s", (sum(rates),) * 2, case, RATE)


def _xmlrpc_c() -> Iterator[Number]:
    """Yield a call more in a process, by whole processes with one call and a hundred; and packet streams held back."""
    whole: dict[str, Any] = {"placement": "same", "load": "session", "sessions": ((1, 100), (SHORT, 100)) * 3}
    for protocol, name, theirs in (("http", "HTTP", "http_cpp"), ("pstream", "packet stream", "pstream_cpp")):
        case, times = Case("xmlrpc_c", "tcp", 100, {"protocol": protocol}, **whole), XMLRPC_C[theirs]
        call_us = (times["calls_100_ms"] - times["call_1_ms"]) / 99 * 1e3
        yield Number("xmlrpc_c", f"XML-RPC, {name}, one more call", "us", (call_us,) * 2, case, ONE_MORE)
    for has_server, held, sides in ((True, "one side", "one side"), (False, "both sides", "neither side")):
        options = {"writes": 2, "client_nodelay": False, "server_nodelay": has_server}
        case, rate = Case("xmlrpc_pstream", "tcp", 100, options, "same", max_calls=SHORT), XMLRPC_C["calls_per_s_held"]
        yield Number("xmlrpc_c", f"XML-RPC, TCP_NODELAY on {sides}", "1/s", (rate[held],) * 2, case, RATE)


def wamp_replicas(run: Run) -> dict[str, int]:
    """Return the cases that repeat the origin's two, by the origin's name of them."""
    replicas = {}
    for number in run.find(system="wamp_crossbar"):
        case = run.case(number)
        name = f"{case.transport} {case.options['framing']} {case.options['serializer']}"
        if name in WAMP:
            replicas[name] = number
    return replicas


def greeter_lines(run: Run) -> str:
    """Return the greeter exercise's three numbers as it prints them, each with its own number.

    All calls count, as there; rates are medians over the starts. Only the exercise's rates of its one measurement are
    added up: medians do not add. The ratio of both loads is in the sentences of the notebook.
    """
    bursts = run.cases_with(is_short=True)
    cold = across_starts(run.ledger.loc[run.ledger["clients"] == 1, "first_rtt_ns"] / 1e6)
    lines = [f"one call, cold: {cold.words('{:.2f} ms'.format)}   (the greeter exercise: {GREETER['one_call_ms']} ms)"]
    for case, row in numbered(bursts):
        rates = _client_rates(run, case)
        measured = " + ".join(rate.words("{:,.2f}".format) for rate in rates)
        theirs = GREETER["calls_per_s"].get(row["clients"], ())
        lab = f"{' + '.join(f'{rate:,.2f}' for rate in theirs)}{f' = {sum(theirs):,.2f}' if len(theirs) > 1 else ''}"
        calls = run.case(case).max_calls // row["clients"]
        text = f"{calls} calls in a loop, {row['clients']} client(s): {measured} msg/s"
        lines.append(f"{text}   (the greeter exercise: {lab} msg/s)")
    return "\n".join(lines)


def _client_rates(run: Run, case: int) -> list[Spread]:
    """Return each client's calls per second from its first call to its last reply, the median over the starts."""
    rows = run.samples_of(case)
    spans = rows.assign(end=rows["t_send_ns"] + rows["rtt_ns"]).groupby(["start", "client"])
    rates = spans.size() / (spans["end"].max() - spans["t_send_ns"].min()) * 1e9
    return [across_starts(of_client) for _, of_client in rates.groupby("client")]


def wamp_lines(run: Run) -> str:
    """Return the mean RTT of the origin's two combinations in the form of its README, with its own values."""
    lines = []
    for name, case in wamp_replicas(run).items():
        low, high = WAMP[name]["settled_ms"]
        now = run.samples_of(case)["rtt_ns"].mean() / 1e6
        starts = run.cases.loc[case, "starts"]
        text = f"{name.replace(' ', ' + ')}: {now:.2f} ms on average over {starts} starts, warm-up included"
        lines.append(f"{text}   (the origin: {low} to {high} ms once it was warm)")
    return "\n".join(lines)


def zeromq_lines(run: Run) -> str:
    """Return each case as the ZeroMQ project's own tools print it, with the RTT beside their RTT/2.

    Those tools call half a round trip "average latency". All calls count here, the warm-up too, as there. The elapsed
    time also contains what the client does between two calls.
    """
    blocks = []
    for case, row in numbered(run.cases_with(load="closed")):
        starts = run.ledger_of(case)
        rtt_us = run.samples_of(case)["rtt_ns"].mean() / 1e3
        lines = [
            f"{row['label']} (all {len(starts)} starts together; the elapsed time includes the time between calls)",
            f"message size: {row['payload_bytes']} [B]",
            f"roundtrip count: {starts['calls'].sum()}",
            f"elapsed time: {starts['window_s'].sum():.3f} [s]",
            f"average RTT: {rtt_us:.3f} [us]",
            f"average latency: {rtt_us / 2:.3f} [us]   <- RTT/2",
        ]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def scaleup_lines(run: Run) -> str:
    """Return requests per second and percentiles as the load generators print them; then those of the origin."""
    blocks = []
    for case, row in numbered(run.cases[run.cases["system"] != "loopback"]):
        rtt = run.samples_of(case)["rtt_ns"].to_numpy() / 1e6
        if not len(rtt):  # a load generator's report is in the table
            continue
        shown = "  ".join(f"p{percent} {quantile(rtt, percent / 100):.2f} ms" for percent in (50, 75, 90, 99))
        rate = run.over_starts(case, "rate_per_s").words("{:,.0f}/s".format)
        blocks.append(f"{row['label']}: {rate}, mean {rtt.mean():.2f} ms  {shown}")
    blocks.append(f"the origin, 2015, {SCALE_UP_CONNECTIONS} connections:")
    for name, theirs in SCALE_UP.items():
        times = {key.removesuffix("_ms"): value for key, value in theirs.items() if key != "per_s"}
        shown = "  ".join(f"{key} {value:.2f} ms" for key, value in times.items())
        blocks.append(f"  {name}: {theirs['per_s']:,.0f}/s, {shown}")
    return "\n".join(blocks)
