"""Specifications of children that tests start, or whose load they make in their own process."""

from bench.process.spec import ClientSpec, ServerSpec


def server_spec(system, transport="tcp", options=None, **more) -> ServerSpec:
    """Return what a server is told."""
    return ServerSpec(**{"system": system, "transport": transport, "options": options or {}} | more)


def client_spec(**more) -> ClientSpec:
    """Return what a client is told: one caller of 100 B, as often as it likes, unless ``more`` says otherwise."""
    usual = {
        "system": "sockets", "transport": "tcp", "options": {}, "load": "closed", "engine": "library",
        "payload_bytes": 100, "seed": 1, "callers": 1, "max_calls": 20, "window_s": 1.0, "cpus": None,
        "server_cpus": None, "share": (0, 1), "offered_per_s": 1.0, "arrivals": "uniform", "schedule_seed": 1,
        "sessions": (),
    }  # fmt: skip
    return ClientSpec(**usual | more)
