"""The source that a notebook shows beside its numbers is the source that ran."""

import ast

import pytest
from conftest import ROOT
from handmade import reference

from bench import systems
from bench.apps import code
from bench.plan.case import Case


def defined(piece):
    (node,) = ast.parse(piece.text).body
    return node.name


def is_where_it_says(piece):
    lines = piece.file.read_text("utf-8").splitlines()
    return lines[piece.line - 1].strip() == piece.text.splitlines()[0]


def need(system):
    if reason := systems.missing(system):
        pytest.skip(str(reason))


@pytest.mark.parametrize("system", systems.names())
def test_every_system_shows_its_call_as_its_file_has_it(system):
    need(system)
    loop, *calls = code.of_case(Case(system, systems.constant(system, "TRANSPORTS")[-1], options={"client": "python"}))
    assert loop.file.name == "timed_loops.py" and {"call", "caller", "Client"} & {defined(piece) for piece in calls}
    assert all(map(is_where_it_says, calls))


@pytest.mark.parametrize(
    ("case", "names"),
    [
        (Case("zeromq", "ipc"), ["closed", "call"]),
        (Case("grpc_aio", "tcp"), ["closed_async", "call"]),
        (Case("sockets", "tcp"), ["closed", "caller", "Client"]),
        (Case("sockets", "tcp", load="open", offered_per_s=5), ["opened", "caller", "Client"]),
        (Case("grpc_aio", "tcp", load="open", offered_per_s=5), ["opened_async", "call"]),
        (Case("grpc_aio", "tcp", load="open", offered_per_s=5, callers=2), ["_call", "call"]),
        (Case("zeromq", "ipc", load="stream"), ["send_stream", "Sender"]),
        (
            Case("zeromq", "ipc", options={"codec": "json"}, message="items"),
            ["closed", "blocking_call", "coder", "call"],
        ),
        (Case("wamp_crossbar", "tcp", message="items"), ["closed_async", "coder", "call"]),
        (Case("sockets", "tcp", engine="wire", outstanding=4), ["advance", "Wire", "Wire"]),
        (Case("sockets", "tcp", engine="wire", load="open", offered_per_s=5), ["pace", "Wire", "Wire"]),
        (Case("sockets", "tcp", engine="wire", load="reply_stream"), ["read", "Wire", "Wire"]),
        (Case("http_aiohttp", "tcp", engine="wrk"), []),
    ],
)
def test_the_loop_is_the_one_that_times_such_a_case(case, names):
    assert [defined(piece) for piece in code.of_case(case)] == names


@pytest.mark.parametrize("system", ["sockets_c", "zeromq_c", "grpc_cpp", "xmlrpc_c"])
def test_a_native_client_shows_its_own_loop_and_call(system):
    need(system)
    loop, call = code.of_case(Case(system, "tcp"))
    assert loop.file.name == "_native.hpp" and call.file.name == f"_{system}.cpp" and loop.language == "cpp"
    assert loop.text.startswith("void closed(") and call.text.startswith("Reply call(")
    for piece in (loop, call):
        assert is_where_it_says(piece)
        assert piece.text.endswith("\n}") and piece.text.count("{") == piece.text.count("}")
    assert defined(code.of_case(Case(system, "tcp", options={"client": "python"}))[0]) == "closed"
    assert defined(code.of_case(Case(system, "tcp", load="open", offered_per_s=5))[0]) == "opened"


@pytest.mark.parametrize("system", systems.offering("Wire"))
def test_the_engine_wire_shows_what_the_systems_file_or_its_helper_has(system):
    transport = systems.constant(system, "TRANSPORTS")[-1]
    loop, *kinds = code.of_case(Case(system, transport, engine="wire"))
    assert defined(loop) == "advance" and defined(kinds[0]) == "Wire"
    assert "def request(" in "".join(kind.text for kind in kinds) or system == "xmlrpc_c"
    assert all(map(is_where_it_says, kinds))


def test_a_notebook_shows_the_first_system_or_the_one_that_is_named():
    run = reference("latency")
    (loop, call) = code.of_run(run)
    assert loop.file == ROOT / "bench/child/timed_loops.py" and call.file == ROOT / "bench/systems/zeromq.py"
    assert code.of_run(run, "sockets")[-1].file == ROOT / "bench/systems/sockets.py"


def test_the_loop_of_each_kind_of_load_is_shown_and_each_call_once():
    shown = code.of_run(reference("openload"))
    assert [defined(piece) for piece in shown] == ["closed", "opened", "caller", "Client"]
