"""Sweeps: parameters are read by their kinds, systems that are absent are left out, and plans are validated."""

import pytest

from bench.errors import UsageError
from bench.grammar.sweep import Bytes, Counts, Options, Systems, as_sweep
from bench.measurement.validation import cases as valid
from bench.measurement.validation.amount import InTurns, Placed
from bench.plan.case import Case


@as_sweep(skips_missing=True, omits=("seed",))
def several(
    amount: Placed,
    system: Systems = ("sockets", "zeromq"),
    payload_bytes: Bytes = 100,
    clients: Counts = (1, 2),
    options: Options = "",
    anything: object = "as typed",
):
    assert anything == "as typed"
    for name in system:
        for count in clients:
            yield Case(name, "tcp", payload_bytes, options, amount.chosen_placement(is_parallel=True), clients=count)


@as_sweep(in_common=("transport",), blocks_s=10)
def in_turns(amount: InTurns):
    for transport in ("ipc", "tcp"):
        yield Case("zeromq", transport, placement=amount.chosen_placement())


def test_parameters_are_the_sweeps_own_and_then_the_shared_ones():
    assert list(several.parameters)[:6] == ["system", "payload_bytes", "clients", "options", "anything", "profile"]
    assert "seed" not in several.parameters and several.parameters["clients"] == (1, 2)


@pytest.mark.parametrize(
    ("parameters", "planned"),
    [
        ({}, [("sockets", 1, 100), ("sockets", 2, 100), ("zeromq", 1, 100), ("zeromq", 2, 100)]),
        ({"system": "zeromq", "clients": "[4]", "payload_bytes": "64"}, [("zeromq", 4, 64)]),
    ],
)
def test_what_is_typed_becomes_cases(parameters, planned):
    plan = several.plan("any", parameters)
    assert [(case.system, case.clients, case.payload_bytes) for case in plan.cases] == planned


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"payload_bytes": 0}, "payload_bytes"),
        ({"clients": []}, "clients"),
        ({"options": "[1]"}, "options"),
        ({"system": "zeromk"}, "zeromq"),
        ({"profile": "long"}, "profile"),
    ],
)
def test_what_is_wrong_is_refused_by_its_name(parameters, named):
    with pytest.raises(UsageError, match=named):
        several.plan("any", parameters)


def test_systems_that_are_not_installed_are_left_out_with_their_remedy(monkeypatch):
    monkeypatch.setattr(valid, "why_absent", {"zeromq": "install it"}.get)
    plan = several.plan("any", {})
    assert {case.system for case in plan.cases} == {"sockets"} and plan.absent == {"zeromq": "install it"}


def test_cases_take_turns_where_the_amount_says_so():
    plan = in_turns.plan("any", {})
    assert plan.slice_s == 0.02 and plan.groups == ((0, 1),)
    assert not in_turns.plan("any", {"slice_ms": 0}).slice_s
