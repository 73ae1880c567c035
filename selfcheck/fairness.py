"""What each deviation from a library's own defaults costs: ``python -m selfcheck.fairness [--write]``.

For each pair the default of a system (A), the same again and an alternative (B) are measured as compare.ipynb does, in
``BLOCKS`` blocks, on a quiet machine; all of them take about 13 minutes. ``--write`` keeps what was found in
docs/fairness.json, which docs/fairness.md quotes.
"""

import argparse
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd

from bench import systems
from bench.analysis import comparison
from bench.analysis.comparison import Evidence, evidence, judged
from bench.errors import NotInstalledError
from bench.experiments.compare import A, B
from bench.grammar.experiment import experiment
from bench.measurement import runner
from bench.plan import paths
from bench.plan.plan import Plan
from bench.run.frames import P50, Run
from bench.run.start_values import ROLES
from bench.text import duration, ratio_ends
from selfcheck import keeping, surroundings

FILE = "docs/fairness.json"
BLOCKS = int(os.environ.get("BLOCKS", "16"))  # of each pair
COLUMNS = (P50, "cpu_us_per_call")
QUANTITIES = tuple(comparison.QUANTITIES[name][0] for name in COLUMNS)
STALLED = {"slice_ms": 0, "window_s": 0.5}  # a stall is longer than a slice: each start has a window of its own


class Pair(NamedTuple):
    """A system whose default is compared with other options; given: further parameters of compare.ipynb."""

    system: str
    options: Mapping[str, Any]
    transport: str = "tcp"
    payload_bytes: int = 1000
    given: Mapping[str, Any] = {}

    @property
    def key(self) -> tuple[str, str]:
        """The system, and the options as one types them."""
        return self.system, typed(self.options)

    @property
    def cases(self) -> tuple[str, str]:
        """Cases A and B as one types them."""
        case = f"system: {self.system}, transport: {self.transport}, payload_bytes: {self.payload_bytes}"
        return f"{{{case}}}", f"{{{case}, options: {typed(self.options)}}}"


PAIRS = (
    Pair("arrow_flight", {"rpc": "exchange"}),
    Pair("connect", {"compress": True}),
    Pair("connect", {"event_loop": "asyncio"}),
    Pair("grpc_aio", {"event_loop": "uvloop"}),
    Pair("grpc_cpp", {"api": "sync"}),
    Pair("grpc_sync", {"rpc": "stream"}),
    Pair("grpclib", {"event_loop": "uvloop"}),
    Pair("http_aiohttp", {"event_loop": "uvloop"}),
    Pair("http_asgi", {"client": "httpx"}),
    Pair("http_asgi", {"event_loop": "asyncio"}),
    Pair("http_asgi", {"framework": "fastapi"}),
    Pair("http_stdlib", {"client": "bare"}),
    Pair("http_stdlib", {"server_nodelay": False, "writes": 2}, given=STALLED),
    Pair("mcp", {"json_response": True}),
    Pair("mcp", {"tool": "coroutine"}),
    Pair("mcp", {"structured": False}),
    Pair("mqtt", {"event_loop": "uvloop"}),
    Pair("nats", {"event_loop": "uvloop"}),
    Pair("nng_aio", {"event_loop": "uvloop"}),
    Pair("pyro5", {"nodelay": False}),
    Pair("pyro5", {"serializer": "msgpack"}),
    Pair("rabbitmq", {"event_loop": "uvloop"}),
    Pair("redis", {"parser": "python"}),
    Pair("rpyc", {"nodelay": False}, payload_bytes=100_000, given=STALLED),
    Pair("thrift", {"server_nodelay": False}, payload_bytes=4090, given=STALLED),
    Pair("wamp_crossbar", {"event_loop": "uvloop"}),
    Pair("websockets", {"compress": True}),
    Pair("websockets", {"event_loop": "uvloop"}),
    Pair("websockets", {"library": "picows"}),
)


def typed(options: Mapping[str, Any]) -> str:
    """Return options as one types them: ``{writes: 2, server_nodelay: false}``."""
    values = {name: str(value).lower() if isinstance(value, bool) else value for name, value in options.items()}
    return f"{{{', '.join(f'{name}: {value}' for name, value in values.items())}}}"


def planned(pair: Pair) -> Plan:
    """Return the plan of a pair."""
    a, b = pair.cases
    plan = experiment("compare").plan(a=a, b=b, payload_bytes=pair.payload_bytes, **pair.given)
    return replace(plan, starts=BLOCKS)


def measured(pair: Pair) -> tuple[dict[str, Any], list[Evidence]]:
    """Measure a pair; return what does not depend on the other pairs, and the comparisons of its quantities."""
    run = Run(runner.run(planned(pair)))
    of_roles = {f"{role}_cpu_us_per_call" for role in ROLES} & set(run.starts.columns)
    default = run.plan.cases[A].options
    record = {
        "system": pair.system,
        "transport": pair.transport,
        "payload_bytes": pair.payload_bytes,
        "options": dict(pair.options),
        "default": {name: default[name] for name in pair.options},
        "p50_us": [_median(run, case, P50) for case in (A, B)],
        "cpu_us": {
            name.partition("_")[0]: [_median(run, case, name) for case in (A, B)]
            for name in sorted(of_roles)
            if run.starts_of(A)[name].notna().any()
        },
    }
    return record, [effect for effect in evidence(run, A, B) if effect.name in COLUMNS]


def _median(run: Run, case: int, name: str) -> float:
    return round(run.over_starts(case, name).middle, 3)


def with_verdicts(parts: Sequence[tuple[dict[str, Any], list[Evidence]]]) -> list[dict[str, Any]]:
    """Return what was found of each pair, with verdicts that allow for how many pairs there are."""
    together = iter(judged([effect for _, of_pair in parts for effect in of_pair]))
    return [
        record
        | {
            effect.quantity: {"ratio": effect.ratio, "low": effect.low, "high": effect.high, "verdict": effect.verdict}
            for effect in (next(together) for _ in of_pair)
        }
        for record, of_pair in parts
    ]


def rows_of(records: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return a row for each pair: the options of both, their median RTT, and the ratios."""
    rows = []
    for record in records:
        rows.append({
            "system": f"`{record['system']}` {record['transport']}, {record['payload_bytes']:,} B",
            "default": f"`{typed(record['default'])}`",
            "alternative": f"`{typed(record['options'])}`",
            "median RTT, default; alternative": "; ".join(map(duration, record["p50_us"])),
            **{f"{name}, alternative divided by default": _ratio(record[name]) for name in QUANTITIES},
            "client's share of the CPU time, default; alternative": "; ".join(
                f"{record['cpu_us']['client'][case] / sum(both[case] for both in record['cpu_us'].values()):.0%}"
                for case in (0, 1)
            ),
        })  # fmt: skip
    return pd.DataFrame(rows).set_index("system")


def _ratio(effect: Mapping[str, Any]) -> str:
    ratio, low, high = ratio_ends(effect["ratio"], effect["low"], effect["high"])
    return f"{ratio} [{low}, {high}]: {effect['verdict']}"


def median_ratio(system: str, **options: object) -> float:
    """Return the kept ratio of the median RTTs of a pair, alternative divided by default."""
    kept = keeping.read(FILE)["found"]
    of_pair = (record for record in kept if record["system"] == system and record["options"] == options)
    return float(next(of_pair)["median RTT"]["ratio"])


def table() -> tuple[pd.DataFrame, str] | None:
    """Return the table of what was kept last, and how it was measured; None where nothing was."""
    if not (paths.home() / FILE).exists():
        return None
    kept = keeping.read(FILE)
    return rows_of(kept["found"]), (
        f"One client, client and server on one CPU, {kept['blocks']} blocks of each pair; in brackets the 95 % "
        f"confidence interval. Verdicts allow for the number of pairs. {keeping.basis(kept)}"
    )


def main() -> None:
    """Measure each pair, print the table; pairs that cannot be measured here are named with the reason."""
    parser = argparse.ArgumentParser(description="Measure what each deviation costs: 13 minutes.")
    parser.add_argument("--write", action="store_true", help=f"keep what was found in {FILE}")
    is_kept, parts = parser.parse_args().write, []
    with surroundings.temporary_runs():
        for pair in PAIRS:
            if reason := systems.missing(pair.system):
                print(f"{pair.system}: {reason}", flush=True)
                continue
            print(" ".join(pair.key), flush=True)
            try:
                parts.append(measured(pair))
            except NotInstalledError as reason:
                print(f"{pair.system}: {reason}", flush=True)
    records = with_verdicts(parts)
    print(rows_of(records).to_string())
    if is_kept:
        keeping.write(FILE, indent=1, blocks=BLOCKS, found=records)


if __name__ == "__main__":
    main()
