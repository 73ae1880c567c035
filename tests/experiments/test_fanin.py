"""fanin.ipynb plans clients and brokers."""

from bench.grammar.experiment import experiment
from bench.measurement.validation import cases as valid


def test_the_plan_spreads_clients_evenly_over_processes():
    plan = experiment("fanin").plan(system="[sockets, zeromq]", clients="[64, 7, 6, 2, 1]", processes=4)
    shapes = [(case.clients, case.callers) for case in plan.cases if case.system == "zeromq"]
    assert shapes == [(1, 1), (2, 1), (3, 2), (1, 7), (4, 16)] and plan.cases[-1].system == "loopback"


def test_brokers_without_their_program_are_left_out_and_zenoh_has_its_router(monkeypatch):
    debian = dict.fromkeys(["redis", "nats", "rabbitmq", "mqtt"], "install it")
    monkeypatch.setattr(valid, "why_absent", debian.get)
    plan = experiment("fanin").plan()
    assert list(dict.fromkeys(case.system for case in plan.cases))[:-1] == ["sockets", "wamp_crossbar", "zenoh"]
    assert {case.options["router"] for case in plan.cases if case.system == "zenoh"} == {True}
    assert plan.absent == debian
    plan = experiment("fanin").plan(system="zenoh", options="{zenoh: {router: false}}")
    assert {case.options["router"] for case in plan.cases if case.system == "zenoh"} == {False}
