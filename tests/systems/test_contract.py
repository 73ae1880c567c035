"""Every system keeps the contract, over each of its transports, in the real pipeline."""

import contextlib
import dataclasses
import queue
import socket
import sys
import tempfile
import threading
from types import SimpleNamespace

import numpy as np
import own_system
import psutil
import pytest
from specs import server_spec

from bench import systems
from bench.contract import TRANSPORTS, Binding, parse_address
from bench.errors import NotInstalledError, TransportError, UsageError
from bench.measurement import routers as routers_of
from bench.measurement.start import measure
from bench.measurement.validation.support import choices, encrypted_transports, options_of
from bench.plan import credentials
from bench.plan.case import Case
from bench.process import meters
from bench.process.channel import Count, Counted, Listening
from bench.process.child_process import Child, collect, stop_all
from bench.systems import _connections, sockets

MISSING = {name: reason for name in systems.names() if (reason := str(systems.missing(name) or ""))}
PAIRS = [(name, transport) for name in systems.names() for transport in systems.constant(name, "TRANSPORTS")]
STREAMS = [pair for pair in PAIRS if pair[0] not in MISSING and hasattr(systems.load(pair[0]), "Receiver")]


def installed(rows):
    """Return rows that begin with a system's name as parameters; those whose library is missing are skipped."""
    return [
        pytest.param(*row, marks=pytest.mark.skipif(row[0] in MISSING, reason=MISSING.get(row[0], ""))) for row in rows
    ]


def variants(name):
    """Return the defaults of a system's options, then with each boolean turned and with each value of a Literal.

    A value that needs another option, such as tls, comes with the boolean that makes it possible turned as well.
    """
    if name in MISSING:
        return [{}]
    kind = systems.load(name).Options
    defaults = options_of(kind, {}, name)
    turned = [{f.name: not f.default} for f in dataclasses.fields(kind) if isinstance(f.default, bool)]
    chosen = [{one: value} for one, values in choices(kind).items() for value in values if value != defaults[one]]
    return [defaults, *(defaults | one for one in turned), *(possible(kind, one, turned, name) for one in chosen)]


def possible(kind, one, turned, name):
    """Return all options with one changed, and another one turned if only that makes it possible."""
    for also in ({}, *turned):
        with contextlib.suppress(UsageError, NotInstalledError):
            return options_of(kind, also | one, name)
    return options_of(kind, {}, name) | one  # its package is not installed: skipped with the reason


def varied_over(name, options):
    """Return the transport over which options are varied: tcp if a system has it, which has options of its own."""
    transports = encrypted_transports(name) if credentials.wanted(options) else systems.constant(name, "TRANSPORTS")
    return transports[-1]


FIRST = [(name, systems.constant(name, "TRANSPORTS")[0], variants(name)[0]) for name in systems.names()]
OTHERS = [row for name, transport in PAIRS if (row := (name, transport, variants(name)[0])) not in FIRST]
VARIED = [(name, varied_over(name, options), options) for name in systems.names() for options in variants(name)[1:]]


OF_THE_CLIENT = {"http_crossbar": {"resource"}, "mcp": {"protocol"}}  # these take long to start, and serve all


def changed(name, options):
    """Return the names of the options that differ from the defaults."""
    defaults = {} if name in MISSING else options_of(systems.load(name).Options, {}, name)
    return {one for one in options if options[one] != defaults[one]}


def slow(rows):
    """Return rows as parameters that ``make test`` leaves out."""
    return [pytest.param(*values, marks=[*marks, pytest.mark.slow]) for values, marks, _ in installed(rows)]


def check_calls(measured):
    (times,) = measured.calls
    ledger = measured.ledger
    assert times.shape == (2, ledger["calls"]) and ledger["calls"] == 5
    assert np.all(times[1] >= times[0]) and np.all(np.diff(times[0]) > 0)
    assert times[0, 0] >= 0 and ledger["first_rtt_ns"] > 0
    assert ledger["client_cpu_ns"] > 0


@pytest.mark.parametrize(("name", "transport", "options"), [*installed(FIRST), *slow(OTHERS + VARIED)])
def test_calls_are_answered_and_counted(name, transport, options, routing, server):
    options_of(systems.load(name).Options, options, name)
    case = Case(name, transport, 100, options=options, max_calls=5)
    if (others := changed(name, options)) and others <= OF_THE_CLIENT.get(name, set()):
        child, address = server(name, transport)
        before = answered(child)
        check_calls(measure(dataclasses.replace(case, target=address), 20.0, 1))
        assert answered(child) == before + 6  # the client's first call is made before the window
        return
    measured = measure(case, 20.0, 1, routing)
    check_calls(measured)
    ledger = measured.ledger
    if name not in ("loopback", "pause"):  # these have no server
        assert ledger["server_calls"] == ledger["calls"]
        assert ledger["server_cpu_ns"] > 0


ENCRYPTED_STREAMS = [(name, transport, True) for name, transport in STREAMS if transport in encrypted_transports(name)]


@pytest.mark.parametrize(
    ("name", "transport", "is_encrypted"), [*((*pair, False) for pair in STREAMS), *ENCRYPTED_STREAMS]
)
@pytest.mark.parametrize("size", [1, 300_000])
@pytest.mark.slow
def test_streams_arrive_whole(name, transport, size, is_encrypted, routers):
    kind = systems.load(name).Options
    options = {one: True for one in credentials.OPTIONS if is_encrypted and hasattr(kind, one)}
    check_stream(measure(Case(name, transport, size, options, load="stream"), 0.05, 1, routers))


def check_stream(measured):
    marks = measured.tables["marks"]
    ends = dict(zip(marks["role"], marks["messages"], strict=True))  # the last of each role
    assert ends["client"] == ends["server"] == measured.ledger["calls"] == measured.ledger["server_calls"]
    assert measured.ledger["server_cpu_ns"] > 0 and measured.ledger["client_cpu_ns"] > 0


BY_CHOICE = [pair for pair in STREAMS if systems.constant(pair[0], "ROUTER_OPTION", None)]


@pytest.mark.parametrize(("name", "transport"), BY_CHOICE)
@pytest.mark.slow
def test_streams_arrive_whole_through_a_router_that_an_option_asks_for(name, transport, routers):
    for value in (False, True):
        options = {systems.constant(name, "ROUTER_OPTION"): value}
        case = Case(name, transport, 1000, options, load="stream")
        measured = measure(case, window_s=0.05, seed=1, routers=routers)
        check_stream(measured)
        assert (measured.ledger.get("router_cpu_ns", 0) > 0) is systems.is_routed(name, options) is value


@pytest.fixture(scope="module")
def server():
    """Return a function that starts a system's server, once for all tests here, and returns it and its address."""
    started = {}
    with tempfile.TemporaryDirectory(prefix="rt-", dir="/tmp") as folder:

        def start(name, transport):
            if (name, transport) not in started:
                systems.prepare(name)
                private = {"directory": f"{folder}/{name}-{transport}", "environment": systems.environment(name)}
                child = Child(f"{name} server", "bench.child.server", server_spec(name, transport, **private))
                started[name, transport] = child, collect(Listening, [child], 60)[0].address
            return started[name, transport]

        yield start
        for child, _ in started.values():
            child.stop()


HOST = "127.0.0.2"  # an interface of this machine that is not the default one: Linux has all of 127.0.0.0/8


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have 127.0.0.1 alone")
@pytest.mark.parametrize("name", installed((name,) for name, transport in PAIRS if transport == "tcp"))
@pytest.mark.slow
def test_servers_and_routers_listen_at_the_host_that_is_named_and_pick_the_port(name, private_parent):
    bind = f"tcp://{HOST}:0"
    systems.prepare(name)
    router = routers_of.start(Case(name, "tcp"), bind) if systems.is_routed(name, {}) else None
    private = {"directory": str(private_parent / name), "environment": systems.environment(name)}
    given = {"bind": bind, "router": dict(router.addresses) if router else {}} | private
    children = [router.child] if router else []
    try:
        children.append(Child(f"{name} server", "bench.child.server", server_spec(name, "tcp", **given)))
        address = collect(Listening, children[-1:], 60)[0].address
        where, is_own_name = parse_address(address), "#" in address
        assert (where.host, is_own_name) == (HOST, router is not None) and where.port
        measured = measure(Case(name, "tcp", 100, target=address, max_calls=5), 20.0, 1)
        assert measured.ledger["calls"] == 5 and answered(children[-1]) == 6
        ours = {pid for child in children for pid in meters.family(child.pid)}
        found = (one for one in psutil.net_connections("tcp") if one.pid in ours and one.status == psutil.CONN_LISTEN)
        listening = {one.laddr.ip.removeprefix("::ffff:") for one in found}
        assert HOST in listening <= {HOST, "127.0.0.1", "::1"}  # the others for what a router's processes use alone
    finally:
        stop_all(children)


def answered(child) -> int:
    """Return how many requests a server has answered so far."""
    child.send(Count())
    return collect(Counted, [child], 10)[0].count


@pytest.mark.parametrize(("name", "transport"), installed(pair for pair in PAIRS if pair[1] != "inproc"))
@pytest.mark.slow
def test_large_payloads_of_parallel_clients_are_all_counted_by_a_server_on_loopback_alone(
    name, transport, routing, server
):
    size = min(2_000_000, systems.constant(name, "LARGEST_BYTES", 2_000_000))  # no read takes it whole
    case = Case(name, transport, size, clients=2, callers=2)
    if systems.is_routed(name, {}):  # its servers are reached by way of a router that measures start
        measured = measure(case, 0.2, 1, routing)
        count = measured.ledger["server_calls"]
    else:
        child, address = server(name, transport)
        before = answered(child)
        measured = measure(dataclasses.replace(case, target=address), 0.2, 1)
        count = answered(child) - before - 4  # of each caller the first call is made before the window
        check_listening(child, transport)
    assert len(measured.calls) == 4
    assert sum(times.shape[1] for times in measured.calls) == count >= 1
    assert all(times[0, 0] >= 0 for times in measured.calls if times.size)


def check_listening(child, transport):
    everybody = [psutil.Process(child.pid), *psutil.Process(child.pid).children(recursive=True)]
    found = [one for process in everybody for one in process.net_connections("inet")]
    listening = [
        one.laddr.ip.removeprefix("::ffff:")
        for one in found
        if one.type == socket.SOCK_DGRAM or one.status == psutil.CONN_LISTEN
    ]
    assert set(listening) <= {"127.0.0.1", "::1"} and bool(listening) is (transport == "tcp")


@pytest.mark.parametrize("placement", ["split", "same", "free"])
def test_the_placement_is_recorded(placement):
    ledger = measure(Case("sockets", "tcp", placement=placement), window_s=0.05, seed=1).ledger
    if placement == "free":
        assert ledger["server_cpus"] is None and ledger["client_cpus"] is None
    else:
        assert (ledger["server_cpus"] == ledger["client_cpus"]) == (placement == "same")


def test_load_and_memory_are_recorded_for_each_role():
    # In half a second a crowded machine may take only one sample of the load, which has no percentage yet.
    measured = measure(Case("sockets", "tcp"), window_s=2.0, seed=1)
    load = measured.tables["load"]
    assert {row["role"] for row in load} == {"client", "server"}
    assert measured.ledger["client_rss_bytes"] > 1e6 and measured.ledger["server_rss_bytes"] > 1e6
    assert any((row["cpu_percent"] or 0) > 0 for row in load)


def test_a_further_system_is_one_file_and_no_edits(tmp_path, with_systems, command):
    client = """
        def __init__(self, address, options):
            assert options.shout
            super().__init__(address, sockets.Options())
    """
    (tmp_path / "pair.py").write_text(own_system.text(options="shout: bool = False", client=client))
    with_systems(tmp_path)
    assert "pair" in systems.names()
    measured = measure(Case("pair", "ipc", options={"shout": "true"}), window_s=0.05, seed=1)
    assert measured.ledger["calls"] == measured.ledger["server_calls"] > 0
    listed = command("list").stdout
    assert "\npair: " in listed and "shout=false" in listed


def test_each_system_describes_itself():
    for name in set(systems.names()) - MISSING.keys():
        assert systems.describe(name).endswith((".", "calls"))
        assert set(systems.constant(name, "TRANSPORTS")) <= set(TRANSPORTS)
        module = systems.load(name)
        documented = "".join(kind.__doc__ for kind in module.Options.__mro__)
        assert all(field.name in documented for field in dataclasses.fields(module.Options))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("tcp://127.0.0.1:80", ("tcp", "127.0.0.1", 80, "")),
        ("tcp://[::1]:80", ("tcp", "::1", 80, "")),
        ("ipc:///tmp/x.sock", ("ipc", "", 0, "/tmp/x.sock")),
        ("inproc://echo", ("inproc", "echo", 0, "")),
    ],
)
def test_addresses(text, parts):
    assert tuple(parse_address(text)) == parts


@pytest.mark.parametrize("text", ["tcp://host", "ipc://x", "udp://h:1", "tcp://h:x"])
def test_addresses_that_are_none(text):
    with pytest.raises(UsageError, match="tcp://HOST:PORT"):
        parse_address(text)


def test_sockets_serve_version_6_addresses_too():
    announced = queue.SimpleQueue()
    service = SimpleNamespace(announce=announced.put, answer=bytes, is_streaming=False)
    work = threading.Thread(
        target=sockets.serve, args=(Binding("tcp", "", "tcp://[::1]:0"), sockets.Options(), service), daemon=True
    )
    work.start()
    client = sockets.Client(announced.get(timeout=5), sockets.Options())
    client.open()
    assert client.call(b"hello") == b"hello"
    client.close()


def test_a_socket_path_that_is_too_long_is_called_so(tmp_path):
    with pytest.raises(TransportError, match="too long"):
        _connections.listen(parse_address(f"ipc://{tmp_path}/{'x' * 120}"))
