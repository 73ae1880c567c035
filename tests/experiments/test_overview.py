"""overview.ipynb: its plan, a figure whose rows can be read, and what is missing named with its remedy."""

import itertools

import handmade
import own_system
import pytest

from bench import systems
from bench.errors import UsageError
from bench.experiments import overview
from bench.grammar import axes as house
from bench.grammar import figure
from bench.grammar.experiment import experiment
from bench.grammar.method import absent, to_install
from bench.plan.case import Case

NAMES = [
    *("sockets", "zeromq", "grpc_sync", "grpc_aio", "xmlrpc_pstream", "wamp_crossbar", "http_stdlib", "http_aiohttp"),
    *("xmlrpc_stdlib", "xmlrpc_c", "http_crossbar", *(f"gone_{letter}" for letter in "abcdefghijklmno")),
]  # fmt: skip


def many(names=NAMES, absent=None, **changed):
    """Return a run of systems that need not be here: nothing of them is checked."""
    cases = [*(Case(name, "ipc", 1000) for name in names), Case("loopback", "inproc", 1000)]
    each_us = [*(10 * 1.4**place for place in range(len(names))), 0.2]
    return handmade.handmade(
        cases, each_us, notebook="overview", starts=3, calls=2000, absent=absent, is_checked=False, **changed
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Return a run of 26 systems."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROUNDTRIP_RUNS", str(tmp_path_factory.mktemp("runs")))
        yield many()


def plan(**parameters):
    return experiment("overview").plan(**parameters)


def test_all_systems_of_the_groups_are_planned_and_no_others():
    of_group = {case.system for case in plan(groups="http").cases} - {"loopback", "sockets"}
    assert of_group and {systems.group(name) for name in of_group} == {"http"}
    with pytest.raises(UsageError, match=r"'fast'.*direct, broker, http, native"):
        plan(groups="fast")
    with pytest.raises(UsageError, match=r"^groups "):
        plan(system="zeromq", groups="direct")


@pytest.mark.parametrize(("asked", "most"), [("auto", 2), (True, 2), ("false", 1)])
def test_a_second_client_is_measured_for_few_systems_or_as_asked(asked, most):
    planned = plan(system="[sockets, zeromq]", two_clients=asked)
    assert max(case.clients for case in planned.cases) == most
    with pytest.raises(UsageError, match=r"^two_clients .*'often'"):
        plan(system="sockets", two_clients="often")


def test_a_system_that_does_not_carry_the_payload_is_left_out_with_its_limit(tmp_path, with_systems):
    (tmp_path / "tiny.py").write_text(own_system.text("LARGEST_BYTES = 100"))
    with_systems(tmp_path)
    planned = plan(system="[tiny, sockets]")
    assert "100 B" in planned.absent["tiny"]
    assert {case.system for case in planned.cases} == {"sockets", "loopback"}


@pytest.mark.parametrize("panel", overview.panels)
def test_every_panel_names_all_26_systems_in_letters_that_do_not_overlap(panel, run):
    drawn = figure.panel(run, panel)
    drawn.draw_without_rendering()
    (axes,) = drawn.axes
    labels = [label for label in axes.get_yticklabels() if label.get_text()]
    assert {f"{name} ipc" for name in NAMES} <= {label.get_text() for label in labels}
    boxes = sorted((label.get_window_extent() for label in labels), key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 + 1 for low, high in itertools.pairwise(boxes))
    assert min(label.get_fontsize() for label in labels) >= house.SMALL


def test_what_is_missing_is_named_with_one_line_that_installs_it():
    reasons = {
        "nats": "system 'nats' cannot be imported (No module named 'nats'); install it: python -m pip install nats-py",
        "redis": "system 'redis': redis-server is not installed; install it: apt-get install redis-server",
        "mqtt": "system 'mqtt' cannot be imported (...); install it: python -m pip install aiomqtt nats-py",
        "own": "/x/own.py, line 1: invalid syntax: correct the file",
    }
    run = many(NAMES[:3], absent=reasons)
    line = "python -m pip install aiomqtt nats-py && apt-get install redis-server"
    assert to_install(run) == line
    notice = absent(run)
    assert f"`{line}`" in notice and all(f"**{name}**" in notice for name in reasons)
    assert all(name in figure.caption(run) for name in reasons)
