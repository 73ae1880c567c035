"""Roles of hosts: named, or the first by name serves and the rest load; their clocks, few or many."""

from types import SimpleNamespace

import pytest

from bench.errors import SystemFailedError, UsageError
from bench.measurement.hosts import roles
from bench.measurement.hosts.host import HERE, clocks_of

A, B, C = (SimpleNamespace(name=name) for name in "abc")


@pytest.mark.parametrize(
    ("asked", "hosts", "server", "load", "latency"),
    [
        ({}, [C, A, B], A, (B, C), None),
        ({}, [A], A, (HERE,), None),
        ({"server": "c"}, [A, B, C], C, (A, B), None),
        ({"load": ["a"]}, [A, B, C], B, (A,), None),
        ({"latency": "a"}, [A, B, C], B, (C,), A),
        ({"latency": "b"}, [A, B], A, (HERE,), B),
        ({"server": "b", "load": ["b", "a"], "latency": "c"}, [A, B, C], B, (B, A), C),
        ({"load": ["here"], "server": "a"}, [A, B], A, (HERE,), None),
    ],
)
def test_roles(asked, hosts, server, load, latency):
    assignment = roles.assigned(asked, hosts)
    assert (assignment.server, assignment.load, assignment.latency) == (server, load, latency)


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"server": "d"}, "'d'.* server .*a, b and c"),
        ({"load": ["a", "x"]}, "'x'.* load "),
        ({"server": "here"}, "'here'"),
        ({"load": ["a", "b"], "latency": "c"}, "server"),
    ],
)
def test_a_role_that_nobody_can_have_is_an_error(asked, text):
    with pytest.raises(UsageError, match=text):
        roles.assigned(asked, [A, B, C])


def test_with_a_target_all_hosts_load_unless_some_are_named():
    assert roles.for_target({}, roles.assigned({}, [A, B, C])).load == (A, B, C)
    assert roles.for_target({"load": ["b"]}, roles.assigned({"load": ["b"]}, [A, B, C])).load == (B,)
    assert roles.for_target({}, roles.assigned({}, [A])).load == (A,)
    assert roles.for_target({}, roles.assigned({}, [A, B])).server is HERE


def test_a_clock_that_does_not_answer_is_an_error_among_many_too():
    def silent(times):
        raise SystemFailedError("silent")

    hosts = [*(SimpleNamespace(clock=int) for _ in range(9)), SimpleNamespace(clock=silent)]
    with pytest.raises(SystemFailedError, match="silent"):
        clocks_of(hosts)
