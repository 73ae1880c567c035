"""``make benchmark``: what bench adds, in parts that each print a few lines. No test depends on the numbers.

``python -m selfcheck [PART ...]``. A ratio is bench over the bare loop, one pair per block; printed are its median and
its quartiles. Keep the machine quiet: its noise is in every number, and a ratio's quartiles tell how much.
``python -m selfcheck.fairness``, ``.quiet`` and ``.resolution`` measure what docs/ quotes.
"""

import sys
from collections.abc import Callable

import psutil

from selfcheck import hosts, load_generators, overhead, readiness, reply_streams, storing
from selfcheck.overhead import BLOCKS, WINDOW_S

PARTS: dict[str, Callable[[], object]] = {
    "loops": overhead.loops,
    "round_trips": overhead.round_trips,
    "http": overhead.http,
    "native": overhead.native,
    "streams": overhead.streams,
    "reply_streams": lambda: reply_streams.reply_streams(max(1, BLOCKS // 5)),
    "readiness": readiness.servers,
    "load_generators": load_generators.beside_wrk,
    "connections": lambda: load_generators.connections(max(2, BLOCKS // 3)),
    "grpc_wire": lambda: load_generators.grpc(BLOCKS),
    "tls_wire": lambda: load_generators.tls(BLOCKS),
    "pacing": readiness.pacing,
    "storing": storing.storing,
    "loading": storing.loading,
    "memory": storing.memory,
    "notebook": readiness.notebook,
}
LONG: dict[str, Callable[[], object]] = {
    "hosts": lambda: hosts.hosts(max(3, BLOCKS // 3), is_written="--write" in sys.argv),  # docs/hosts.md quotes it
}


def main() -> None:
    """Print all parts that do not take long, or those that are named."""
    print(f"{BLOCKS} blocks, windows of {WINDOW_S} s; load now {psutil.getloadavg()[0]:.2f}")
    named = [word for word in sys.argv[1:] if not word.startswith("--")]
    for name in named or PARTS:
        (PARTS | LONG)[name]()


main()
