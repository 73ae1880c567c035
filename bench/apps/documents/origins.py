"""The published measurements that this project began with, beside the reference run that repeats them."""

from bench.analysis import comparison
from bench.apps.documents.blocks import table
from bench.apps.documents.results import times
from bench.apps.teaching.expected import reference
from bench.experiments.published import GRPC_LAB, SCALE_UP, VLLM, WAMP, XMLRPC_C, ZEROMQ
from bench.experiments.streaming import findings as streaming
from bench.run.frames import Run
from bench.text import duration, listed, quantity

MEAN, RATE = "mean_rtt_us", "rate_per_s"


def origins() -> str:
    """Return a Markdown table: each origin, what it published, what the reference run of origins finds."""
    run = reference("origins")
    head = ["origin", "published", "reference run", "more in"]
    return table(head, [_zeromq(run), _grpc(run), _wamp(run), _scaleup(run), _xmlrpc_c(run), _vllm()])


def _median(run: Run, case: int | None, name: str) -> float:
    return float(run.starts_of(case)[name].median()) if case is not None else float("nan")


def _more(*stems: str) -> str:
    return listed(f"[{stem}](notebooks/{stem}.ipynb)" for stem in stems)


def _zeromq(run: Run) -> list[str]:
    theirs = listed(f"{by} {duration(2 * half)}" for by, half in ZEROMQ["half_rtt_us"].items())
    cases = {by: run.first(system="zeromq", transport=by, load="closed") for by in ZEROMQ["half_rtt_us"]}
    ours = listed(f"{by} {duration(_median(run, case, MEAN))}" for by, case in cases.items())
    origin = "CZTop, ZeroMQ from Ruby on a laptop: mean round trip of 1 kB (published as half of it)"
    return [origin, theirs, ours, _more("latency", "throughput")]


def _grpc(run: Run) -> list[str]:
    theirs = {clients: sum(each) for clients, each in GRPC_LAB["calls_per_s"].items()}
    one, two = (run.first(system="grpc_sync", clients=clients) for clients in (1, 2))
    published = f"{theirs[1]:,.0f} and {theirs[2]:,.0f} (ratio {theirs[2] / theirs[1]:.2f})"
    ours = " and ".join(f"{_median(run, case, RATE):,.0f}" for case in (one, two))
    gain = times(comparison.effect(run, one, two, RATE)) if one is not None and two is not None else "n/a"
    origin = "gRPC class lab, 2022, C++: calls per second of one client and of two, loops of 100 calls"
    return [origin, published, f"{ours} ({gain})", _more("clients")]


def _wamp(run: Run) -> list[str]:
    theirs, cases = [], []
    for name, settled in WAMP.items():
        transport, framing, serializer = name.split()
        theirs.append(sum(settled["settled_ms"]) / 2)
        wanted = {"transport": transport, "framing": framing, "serializer": serializer}
        cases.append(run.first(system="wamp_crossbar", **wanted))
    published = f"{duration(1e3 * theirs[0])} and {duration(1e3 * theirs[1])} (ratio {theirs[1] / theirs[0]:.1f})"
    ours = " and ".join(duration(_median(run, case, MEAN)) for case in cases)
    fast, slow = cases
    ratio = times(comparison.effect(run, fast, slow, MEAN)) if fast is not None and slow is not None else "n/a"
    origin = "Crossbar.io, WAMP, 2016, PyPy: mean round trip by Unix socket + RawSocket + MessagePack, by TCP + "
    return [f"{origin}WebSocket + JSON", published, f"{ours} ({ratio})", _more("wamp")]


def _scaleup(run: Run) -> list[str]:
    theirs = " and ".join(f"{SCALE_UP[name]['per_s']:,.0f}" for name in ("16 B", "65,536 B"))
    cases = [run.first(system="http_crossbar", payload_bytes=size) for size in (16, 65_536)]
    ours = " and ".join(quantity(_median(run, case, RATE)) for case in cases)
    workers = run.case(cases[0]).options.get("workers", 1) if cases[0] is not None else "no"
    origin = "Crossbar.io, Web services, 2015, PyPy, 4 workers on a 48-core machine: requests/s of 16 B and of 64 kB"
    cpus = run.manifest["machine"]["cpus_allowed"]
    return [origin, theirs, f"{ours} ({workers} workers and the client on {cpus} CPUs)", _more("scaleup")]


def _xmlrpc_c(run: Run) -> list[str]:
    theirs = XMLRPC_C["calls_per_s_held"]
    cases = [run.first(system="xmlrpc_pstream", server_nodelay=on) for on in (True, False)]
    ours = " and ".join(f"{_median(run, case, RATE):.0f}" for case in cases)
    origin = "Xmlrpc-c, about 1999: calls/s over a packet stream without TCP_NODELAY on one side, and on both"
    return [origin, f"{theirs['one side']} and {theirs['both sides']}", ours, _more("nodelay", "marginal")]


def _vllm() -> list[str]:
    """Return the row of the choice between gRPC and ZeroMQ: the published means, and one factor at a time here."""
    run, ttft = reference("streaming"), VLLM["ttft_ms"]
    names = ("gRPC", "ZeroMQ + pickle", "ZeroMQ + protobuf")
    published = listed(f"{name} {ttft[name]} ms" for name in names)
    steps = [one for one in streaming.steps(run) if one.ratio.name == streaming.FIRST]
    medians = {case: duration(run.cases.loc[case, streaming.FIRST]) for case in streaming.stacks(run)}
    theirs = [
        case
        for case in medians
        if run.case(case).factor("transport") == "tcp" and run.case(case).factor("token_codec") != "bytes"
    ]
    each = listed(f"{streaming.stack_name(run, case)} {medians[case]}" for case in theirs)
    ratios = "; ".join(f"{one.change} {times(one.ratio.interval)}" for one in steps)
    count = streaming.origin_streams(run)
    origin = "vLLM, 2024, pull requests 6880 and 6883: mean time to first token, API server and engine in two processes"
    return [origin, published, f"{count} streams of a paced source, medians: {each} ({ratios})", _more("streaming")]
