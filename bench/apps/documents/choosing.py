"""What the reference runs say about each need of someone who chooses a stack: one row for each claim."""

from collections.abc import Callable

from bench.analysis import comparison
from bench.analysis.resources import resources
from bench.apps.documents.blocks import table
from bench.apps.documents.results import BASELINES, is_capacity, limit, spread, times
from bench.apps.teaching.expected import reference
from bench.experiments.clients.findings import first_calls_us
from bench.experiments.messages import findings as carried
from bench.experiments.overview.findings import ranked, rates
from bench.run.frames import Run, column, numbered
from bench.stats.intervals import Interval
from bench.text import duration, listed, quantity

P50, CPU, RATE = column(0.5), "cpu_us_per_call", "rate_per_s"
BASELINE = "sockets"


def choosing() -> str:
    """Return a Markdown table: the question, what the reference run says, the notebook that measures it."""
    rows = [[asked, say(reference(stem)), f"[{stem}](../notebooks/{stem}.ipynb)"] for asked, stem, say in CLAIMS]
    return table(["question", "reference run", "measured in"], rows)


def found(ratio: Interval, base: str, other: str, more: str, less: str) -> str:
    """Return how two cases compare, with the interval; not distinguishable where that holds 1 or is not known."""
    if not (ratio.low > 1 or ratio.high < 1):
        return f"{other} and {base} are not distinguishable: {times(ratio)}"
    return f"{other} {more if ratio.middle > 1 else less} {base}: {times(ratio)}"


def shortest(run: Run) -> str:
    """Return the three systems with the shortest median RTT, without raw sockets."""
    rows = [(case, row) for case, row in numbered(ranked(run)) if row["system"] not in BASELINES][:3]
    return "; ".join(f"`{row['system']}` {row['transport']}: {spread(run, case, 0.5)}" for case, row in rows)


def layers(run: Run) -> str:
    """Return the median RTT of three systems over that of raw sockets with the same transport."""
    said = []
    for system in ("zeromq", "grpc_sync", "wamp_crossbar"):
        case = run.first(system=system, clients=1)
        base = run.first(system=BASELINE, clients=1, transport=run.case(case).transport) if case is not None else None
        if base is not None and case is not None:
            said.append(f"`{system}` {times(comparison.effect(run, base, case, P50))}")
    return "; ".join(said)


def cheapest(run: Run) -> str:
    """Return the three systems with the least CPU time per call, all roles together, without raw sockets."""
    each = {
        f"`{row['system']}`": float(comparison.values(run, case, CPU).median())
        for case, row in numbered(ranked(run))
        if row["system"] not in BASELINES
    }
    return "; ".join(f"{name} {duration(each[name])}" for name in sorted(each, key=lambda name: each[name])[:3])


def servers(run: Run) -> str:
    """Return how gRPC's asyncio server compares with its thread pool: median RTT with one client, rate with two."""
    said = []
    for factors, name, words in (({"clients": 1}, P50, "median RTT"), ({"clients": 2}, RATE, "calls/s, two clients")):
        threads, loop = (run.first(system=system, **factors) for system in ("grpc_sync", "grpc_aio"))
        if threads is not None and loop is not None:
            ratio = comparison.effect(run, threads, loop, name)
            said.append(f"{words}: {found(ratio, '`grpc_sync`', '`grpc_aio`', 'is higher than', 'is lower than')}")
    return "; ".join(said)


def second_client(run: Run) -> str:
    """Return which systems reached the capacity of their server with two clients."""
    if rates(run).empty:
        return "not measured"
    at = rates(run)["placement"].iloc[0]
    cases = [
        run.first(system=system, clients=2, placement=at) for system in rates(run).index if system not in BASELINES
    ]
    saturated = [case for case in cases if case is not None and is_capacity(resources(run, case))]
    named = [f"`{run.case(case).system}` at {quantity(run.cases.loc[case, RATE])} calls/s" for case in saturated]
    others = len(cases) - len(saturated)
    reached = f"saturated: {listed(named)}" if named else "none saturated"
    return f"{reached}; {others} others are not, so their capacity is at least their rate with two clients"


def transport(run: Run) -> str:
    """Return how the round trip over tcp compares with that over ipc, for each system of the run."""
    said = []
    for system in dict.fromkeys(case.system for case in run.plan.cases):
        ipc, tcp = (run.first(system=system, transport=by) for by in ("ipc", "tcp"))
        if ipc is not None and tcp is not None:
            ratio = comparison.effect(run, ipc, tcp, P50)
            said.append(f"`{system}`: {found(ratio, 'ipc', 'tcp', 'takes longer than', 'takes less time than')}")
    size = run.case(0).payload_bytes
    return f"{'; '.join(said)} (median RTT, {size:,} B)"


def clients(run: Run) -> str:
    """Return the largest rate of the growing number of clients, and what the limit was there."""
    rows = run.cases_with(is_short=False)
    best = int(rows[RATE].astype(float).idxmax())
    there = resources(run, best)
    number, rate = run.case(best).clients, quantity(rows.loc[best, RATE])
    bound = "the server's capacity" if is_capacity(there) else "at least"
    return f"`{run.case(best).system}`: {bound} {rate} calls/s, with {number} clients; limit: {limit(there)}"


def streams(run: Run) -> str:
    """Return one-way messages per second and Mbit/s of the smallest and the largest payload over ipc."""
    rows = run.cases_with(load="stream", transport="ipc").sort_values("payload_bytes").iloc[[0, -1]]
    said = [
        f"{row['payload_bytes']:,.0f} B: {quantity(row[RATE])} messages/s, {row['rate_mbit_per_s']:,.0f} Mbit/s"
        for _, row in numbered(rows)
    ]
    return f"`{rows['system'].iloc[0]}` ipc, {'; '.join(said)}"


def router(run: Run) -> str:
    """Return the router's share of the CPU time per routed call, for the fastest combination."""
    rows = run.cases.dropna(subset=["router_cpu_us_per_call", P50])
    case = int(rows[P50].astype(float).idxmin())
    share = rows.loc[case, "router_cpu_us_per_call"] / comparison.values(run, case, CPU).median()
    return f"`{run.labels[case]}`: {share:.0%} of the CPU time per call is the router's"


def workers(run: Run) -> str:
    """Return how many times one worker's requests two workers answer, for the smallest payload, and the limit."""
    size = min(case.payload_bytes for case in run.plan.cases if case.system != "loopback")
    one, two = (run.first(resource="bytes", payload_bytes=size, workers=n) for n in (1, 2))
    if one is None or two is None:
        return "not measured"
    of = run.case(two)
    there = resources(run, two)
    gain = times(comparison.effect(run, one, two, RATE))
    return f"`{of.system}`, {size} B, two workers instead of one: {gain} requests/s; limit: {limit(there)}"


def slo(run: Run) -> str:
    """Return the rate at which the objective of the search is met, and the next one, at which it is violated."""
    search, of = run.manifest["capacity"], run.case(0)
    low, high = (f"{search[end]:,.0f} requests/s" for end in ("low_per_s", "high_per_s"))
    found = f"met at {low}, violated at {high}" if search["confirmed"] and search["low_per_s"] else "not found"
    return f"`{of.system}` {of.transport}, `{search['objective']}`: {found}"


def first_call(run: Run) -> str:
    """Return how long the first call of one client, which connects, takes beside a later one, as the notebook does."""
    case = run.first(is_short=False, clients=1)
    if case is None:
        return "not measured"
    cold = float(first_calls_us(run).median())
    return f"`{run.case(case).system}`: {duration(cold)}; later calls: {spread(run, case, 0.5)} (medians)"


def nodelay(run: Run) -> str:
    """Return the calls per second of raw sockets with two writes, with and without TCP_NODELAY."""
    both, neither = (run.first(system=BASELINE, writes=2, client_nodelay=on, server_nodelay=on) for on in (True, False))
    on, off = (quantity(run.cases.loc[case, RATE]) for case in (both, neither))
    return f"two writes for each message: {on} calls/s with TCP_NODELAY on both sides, {off} calls/s with it on neither"


def serializer(run: Run) -> str:
    """Return the carrier's call with the slowest codec and with the fastest one, and the codec's share of each."""
    cases = carried.by_codec(run)
    said = []
    for case in (cases[-1], cases[0]):
        found = carried.split(run, case)
        said.append(f"{carried.codec(run, case)} {duration(found.rtt.middle)} ({found.share.middle:.0%} codec)")
    of = run.case(cases[0])
    return f"`{of.system}` {of.transport}, {of.message} of {carried.middle(run):,} B: {', '.join(said)}"


CLAIMS: tuple[tuple[str, str, Callable[[Run], str]], ...] = (
    ("Shortest median RTT after raw sockets", "overview", shortest),
    ("RTT relative to raw sockets over the same transport", "overview", layers),
    ("Least CPU time per call after raw sockets", "overview", cheapest),
    ("gRPC: threads or asyncio?", "overview", servers),
    ("Which server did two clients saturate?", "overview", second_client),
    ("The serializer or the transport?", "messages", serializer),
    ("Unix domain socket or TCP, on one machine?", "latency", transport),
    ("How many calls per second from one gRPC server?", "clients", clients),
    ("How long is the first call?", "clients", first_call),
    ("One-way streams: small or large messages?", "throughput", streams),
    ("What does a router cost?", "wamp", router),
    ("What does a second worker process bring?", "scaleup", workers),
    ("Up to which rate is an SLO met?", "capacity", slo),
    ("What does a missing TCP_NODELAY cost?", "nodelay", nodelay),
)
