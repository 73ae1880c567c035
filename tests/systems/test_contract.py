"""Every system keeps the contract, over each of its transports, in the real pipeline."""

import contextlib
import dataclasses
import os
import socket
import sys
import textwrap

import numpy as np
import own_system
import psutil
import pytest
from conftest import answered
from specs import server_spec

from bench import contract, systems
from bench.contract import TRANSPORTS, parse_address
from bench.errors import NotInstalledError, SystemFileError, TransportError, UsageError
from bench.measurement import routers as routers_of
from bench.measurement.start import measure
from bench.measurement.validation.support import choices, encrypted_transports, options_of
from bench.plan import credentials
from bench.plan.case import Case
from bench.process import meters
from bench.process.channel import Listening
from bench.process.child_process import Child, collect, stop_all
from bench.systems import _connections

MISSING = {name: reason for name in systems.names() if (reason := str(systems.missing(name) or ""))}
PAIRS = [(name, transport) for name in systems.names() for transport in systems.constant(name, "TRANSPORTS")]
STREAMS = [pair for pair in PAIRS if pair[0] not in MISSING and hasattr(systems.load(pair[0]), "Receiver")]


def installed(rows):
    """Return rows that begin with a system's name as parameters; those whose library is missing are skipped."""
    return [
        pytest.param(*row, marks=pytest.mark.skipif(row[0] in MISSING, reason=MISSING.get(row[0], ""))) for row in rows
    ]


def variants(name):
    """Return sets of options, as few as have each other value of each boolean and each Literal once.

    Never are both sides of a native system in Python: then nothing native would be tried.
    """
    if name in MISSING:
        return []
    kind, rows = systems.load(name).Options, []
    defaults = options_of(kind, {}, name)
    turned = [{f.name: not f.default} for f in dataclasses.fields(kind) if isinstance(f.default, bool)]
    chosen = [{one: value} for one, values in choices(kind).items() for value in values if value != defaults[one]]
    for one in (one for one in turned + chosen if not one.keys() & TRIED_ELSEWHERE.get(name, set())):
        row = next((row for row in rows if fit(name, kind, row, one)), None)
        rows += [one] if row is None else []
        (row or {}).update(one)
    return rows


TRIED_ELSEWHERE = {"http_crossbar": {"resource"}}  # by its own tests, at one node: it takes long to start


def fit(name, kind, row, one):
    """Return whether a system takes further options beside others."""
    sides = {"client", "server"} if systems.group(name) == "native" else set()
    if one.keys() & row.keys() or (one.keys() | row.keys()) >= sides > set():
        return False
    with contextlib.suppress(UsageError, NotInstalledError):
        return bool(options_of(kind, row | one, name))
    return False


def varied_over(name, options):
    """Return the transport over which options are varied: tcp if a system has it, which has options of its own."""
    transports = encrypted_transports(name) if credentials.wanted(options) else systems.constant(name, "TRANSPORTS")
    return transports[-1]


FIRST = [(name, systems.constant(name, "TRANSPORTS")[0], {}) for name in systems.names()]
BY_FILE = [  # of systems whose first transport is inproc
    (*pair, {}) for pair in PAIRS if pair[1] == "ipc" and (*pair, {}) not in FIRST
]
VARIED = [(name, varied_over(name, options), options) for name in systems.names() for options in variants(name)]


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


@pytest.mark.parametrize(("name", "transport", "options"), [*installed(FIRST), *slow(BY_FILE + VARIED)])
def test_calls_are_answered_and_counted(name, transport, options, routing):
    options_of(systems.load(name).Options, options, name)
    measured = measure(Case(name, transport, 100, options=options, max_calls=5), 20.0, 1, routing)
    check_calls(measured)
    ledger = measured.ledger
    if name not in ("loopback", "pause"):  # these have no server
        assert ledger["server_calls"] == ledger["calls"]
        assert ledger["server_cpu_ns"] > 0


def encrypted(name):
    """Return the options by which a system encrypts; none of one that does not."""
    return {one: True for one in credentials.OPTIONS if hasattr(systems.load(name).Options, one)}


BOTH_SIZES = [pair for pair in STREAMS if pair[1] == systems.constant(pair[0], "TRANSPORTS")[0]]
BY_CHOICE = [pair for pair in STREAMS if systems.constant(pair[0], "ROUTER_OPTION", None)]
STREAMED = [
    *((*pair, 1, {}) for pair in BOTH_SIZES),
    *((*pair, 300_000, {}) for pair in STREAMS),
    *((*pair, 300_000, encrypted(pair[0])) for pair in STREAMS if pair[1] in encrypted_transports(pair[0])),
    *((*pair, 1000, {systems.constant(pair[0], "ROUTER_OPTION"): True}) for pair in BY_CHOICE),
]


@pytest.mark.parametrize(("name", "transport", "size", "options"), STREAMED)
@pytest.mark.slow
def test_streams_arrive_whole(name, transport, size, options, routers):
    measured = measure(Case(name, transport, size, options, load="stream"), 0.05, 1, routers)
    check_stream(measured)
    assert (measured.ledger.get("router_cpu_ns", 0) > 0) is systems.is_routed(name, options)


def check_stream(measured):
    marks = measured.tables["marks"]
    ends = dict(zip(marks["role"], marks["messages"], strict=True))  # the last of each role
    assert ends["client"] == ends["server"] == measured.ledger["calls"] == measured.ledger["server_calls"]
    assert measured.ledger["server_cpu_ns"] > 0 and measured.ledger["client_cpu_ns"] > 0


HOST = "127.0.0.2"  # an interface of this machine that is not the default one: Linux has all of 127.0.0.0/8
NAMED = f"tcp://{HOST}:0" if sys.platform == "linux" else None


@pytest.mark.parametrize(("name", "transport"), installed(pair for pair in PAIRS if pair[1] != "inproc"))
@pytest.mark.slow
def test_a_server_listens_where_it_is_told_alone_and_counts_the_large_calls_of_parallel_callers(
    name, transport, private_parent, request
):
    """The router of rabbitmq_pika is that of rabbitmq, which takes long to start: the one of all tests is used."""
    systems.prepare(name)
    bind, router, children = NAMED if transport == "tcp" and name != "rabbitmq_pika" else None, None, []
    try:
        if systems.is_routed(name, {}) and bind:
            router = routers_of.start(Case(name, transport), bind)
            children.append(router.child)
        elif systems.is_routed(name, {}):
            router = request.getfixturevalue("routers").router_of(Case(name, transport))
        private = {"directory": str(private_parent / name), "environment": systems.environment(name)}
        spec_fields = {"bind": bind, "router": dict(router.addresses) if router else {}} | private
        server = Child(f"{name} server", "bench.child.server", server_spec(name, transport, **spec_fields))
        children.append(server)
        address = collect(Listening, [server], 60)[0].address
        if transport == "tcp":
            assert ("#" in address) is (router is not None)  # a name of its own, because the router outlives servers
        size = min(2_000_000, systems.constant(name, "LARGEST_BYTES", 2_000_000))  # no read takes it whole
        measured = measure(Case(name, transport, size, target=address, callers=3, max_calls=6), 20.0, 1)
        assert [times.shape for times in measured.calls] == [(2, 2)] * 3
        assert answered(server) == 6 + 3  # the first of each caller is made before the window
        endpoint = parse_address(address)
        listens = transport == "tcp" and (router is None or bind is not None)
        others = {"127.0.0.1", "::1"}  # what a router's processes use alone
        assert bool(addresses := listening(children)) is listens and addresses <= {endpoint.host, *others}, addresses
        assert endpoint.port if transport == "tcp" else endpoint.path
        assert not bind or endpoint.host == HOST in addresses
    finally:
        stop_all(children)


def listening(children):
    """Return the addresses at which processes and those that they started wait for connections or datagrams."""
    ours = {pid for child in children for pid in meters.family(child.pid)}
    connections = (one for one in psutil.net_connections("inet") if one.pid in ours)
    return {
        one.laddr.ip.removeprefix("::ffff:")
        for one in connections
        if one.type == socket.SOCK_DGRAM or one.status == psutil.CONN_LISTEN
    }


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
    for wrong in (text.replace("//", "/"), "tcp://h:x"):
        with pytest.raises(UsageError, match="tcp://HOST:PORT"):
            parse_address(wrong)


def test_a_socket_path_that_is_too_long_is_called_so(tmp_path):
    with pytest.raises(TransportError, match="too long"):
        _connections.listen(parse_address(f"ipc://{tmp_path}/{'x' * 120}"))


def test_no_system_is_skipped_because_its_file_is_broken():
    assert not [reason for name in systems.names() if isinstance(reason := systems.missing(name), SystemFileError)]


@pytest.mark.slow
@pytest.mark.skipif("ROUNDTRIP_ALL_SYSTEMS" not in os.environ, reason="asked for by ROUNDTRIP_ALL_SYSTEMS=1")
def test_no_system_is_missing():
    assert not MISSING


def test_the_example_of_the_contract_is_a_whole_system(tmp_path, with_systems):
    example = contract.__doc__.partition("::\n\n")[2].partition("\nEach file must define:")[0]
    (tmp_path / "shortest.py").write_text(textwrap.dedent(example))
    with_systems(tmp_path)
    told = measure(Case("shortest", "ipc", max_calls=20), 2.0, 1).ledger
    assert told["calls"] == told["server_calls"] == 20 and not told["errors"]
