"""What the origins measured: figures published by others, on other machines, years ago. Context, never targets."""

from typing import Any

GRPC_LAB: dict[str, Any] = {  # class lab, 2022: a C++ greeter in a container
    "one_call_ms": 1.21,
    "calls_per_s": {1: (1251.64,), 2: (1206.19, 1207.73)},  # 100 calls in a loop, for each client
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
