"""Plans: validated, repeatable, honest about their duration."""

from dataclasses import replace

import pytest

from bench import systems
from bench.errors import UsageError
from bench.grammar.experiment import experiment
from bench.measurement.validation import plan_time
from bench.measurement.validation.cases import all_present
from bench.measurement.validation.profiles import PROFILES, make_plan
from bench.plan import placement
from bench.plan.case import Case
from bench.plan.plan import Plan


def test_every_case_is_measured_once_in_each_block_in_an_order_that_the_seed_fixes():
    plan = experiment("latency").plan(transport="ipc", starts=5, seed=3)
    order = list(plan.order())
    assert [start for start, _, _ in order] == list(range(5 * len(plan.cases)))
    for block in range(5):
        assert sorted(case for _, b, case in order if b == block) == list(range(len(plan.cases)))
    assert order == list(plan.order())
    assert order != list(experiment("latency").plan(transport="ipc", starts=5, seed=4).order())


def test_a_plan_survives_its_manifest():
    plan = experiment("throughput").plan(clients="[1, 2]", options="{copy: false}")
    assert Plan.from_dict(plan.as_dict()) == plan
    assert Plan.from_dict(plan.as_dict()).hash8 == plan.hash8
    assert experiment("throughput").plan(clients=[1, 3]).hash8 != plan.hash8


def test_latency_goes_with_the_floor_of_the_same_transports_and_the_instrument():
    plan = experiment("latency").plan(transport="tcp", payload_bytes="[10, 20]")
    assert [(c.system, c.transport, c.payload_bytes) for c in plan.cases] == [
        ("zeromq", "tcp", 10),
        ("zeromq", "tcp", 20),
        ("sockets", "tcp", 10),
        ("sockets", "tcp", 20),
        ("loopback", "inproc", 10),
    ]
    assert [c.system for c in experiment("latency").plan(system="sockets", transport="ipc").cases] == [
        "sockets",
        "loopback",
    ]
    assert [c.system for c in experiment("latency").plan(transport="inproc").cases] == ["zeromq", "loopback"]


def test_a_target_is_measured_alone_with_the_instrument_and_without_streams():
    latency = experiment("latency").plan(target="tcp://127.0.0.1:5")
    assert [(c.system, c.target) for c in latency.cases] == [("zeromq", "tcp://127.0.0.1:5"), ("loopback", None)]
    throughput = experiment("throughput").plan(target="tcp://127.0.0.1:5")
    assert {c.load for c in throughput.cases} == {"closed"}


def test_profiles_shrink_windows_where_there_are_many_cases():
    one, many = experiment("clients").plan(clients=1), experiment("throughput").plan()
    assert one.window_s == PROFILES["class"].window_s
    assert PROFILES["class"].least_window_s <= many.window_s < one.window_s
    assert many.window_s * many.starts * len(many.cases) <= 60


@pytest.mark.parametrize(
    ("notebook", "arguments"),
    [
        ("latency", {"system": "zeromk"}), ("latency", {"system": "sockets", "transport": "inproc"}),
        ("latency", {"window_s": 0.00001}), ("latency", {"options": "{high_water_mark: 0}"}),
        ("latency", {"target": "tcp://localhost"}), ("latency", {"target": "inproc://x"}),
        ("latency", {"target": "tcp://127.0.0.1:0"}), ("latency", {"system": "loopback"}),
        ("throughput", {"system": "[zeromq, sockets]"}),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_refused_in_one_sentence(notebook, arguments):
    with pytest.raises(UsageError) as caught:
        experiment(notebook).plan(**arguments)
    assert "\n" not in str(caught.value)


def test_one_cpu_leaves_only_the_free_placement(monkeypatch):
    monkeypatch.setattr(placement, "allowed", lambda: [0])
    assert placement.default() == placement.default(parallel=True) == "free"
    assert placement.assign("free", 3).clients == (None, None, None)
    with pytest.raises(UsageError, match="placement free"):
        placement.assign("split", 1)
    with pytest.raises(UsageError, match="source reference"):
        experiment("placement").plan()


def test_split_keeps_the_server_alone(monkeypatch):
    monkeypatch.setattr(placement, "allowed", lambda: [0, 2, 4, 6])
    assert {case.placement for case in experiment("latency").plan().cases} == {"same"}
    assert {case.placement for case in experiment("throughput").plan().cases} == {"split"}
    places = placement.assign("split", 4)
    assert places.server == (2,)
    assert places.clients == ((0,), (4,), (6,), (0,))
    assert placement.assign("same", 2).clients == ((6,), (6,))


def long(profile="class", starts=100, window_s=60.0):
    return replace(make_plan("latency", [Case("sockets", "ipc")], starts=starts, window_s=window_s), profile=profile)


def test_hours_of_measuring_are_agreed_to_and_days_are_refused(monkeypatch):
    monkeypatch.delenv(plan_time.AGREED, raising=False)
    with pytest.raises(UsageError, match=r"-p profile full, or .*--yes"):
        plan_time.refuse_too_long(long())
    plan_time.refuse_too_long(long(profile="full"))
    plan_time.refuse_too_long(long(starts=50))
    monkeypatch.setenv(plan_time.AGREED, "1")
    plan_time.refuse_too_long(long())
    with pytest.raises(UsageError):
        plan_time.refuse_too_long(long(starts=1000, window_s=3600.0))


def test_a_long_plan_is_refused_before_a_kernel_is_started(command, monkeypatch):
    monkeypatch.delenv(plan_time.AGREED, raising=False)
    finished = command("run", "latency", "-p", "starts", "1000", "-p", "window_s", "30")
    assert finished.returncode == 2 and "hours" in finished.stderr and finished.stderr.count("\n") == 1


def test_explore_plans_a_case_for_each_system_of_a_list_or_for_all_that_a_load_generator_can_load():
    listed = experiment("explore").plan(cases=[{"system": ["sockets", "xmlrpc_stdlib"], "clients": 2}])
    assert [(case.system, case.clients, case.placement) for case in listed.cases] == [
        (name, 2, placement.default(parallel=True)) for name in ("sockets", "xmlrpc_stdlib")
    ]
    with all_present():
        every = experiment("explore").plan(cases="[{system: all, engine: wire, callers: 8}, {system: pyro5}]").cases
    named = [case.system for case in every if case.engine == "wire"]
    assert {"sockets", "http_aiohttp"} <= set(named) <= set(systems.offering("Wire")) - {"oracle", "http_crossbar"}
    assert [case.system for case in every] == [*named, "pyro5"]
