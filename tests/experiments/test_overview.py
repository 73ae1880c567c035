"""The overview of many systems: groups, a figure whose rows can be read, and what is missing named with its remedy."""

import itertools
import re

import handmade
import numpy as np
import pytest
from drawings import texts, whole

from bench import systems
from bench.analysis.comparison import effect
from bench.drawing import axes as house
from bench.errors import UsageError
from bench.experiments import panels, registry, sentences
from bench.experiments.overview import figure, findings, text
from bench.plan.case import Case
from bench.run.start_record import StartRecord

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


def words(axes):
    return [label.get_text() for label in axes.get_yticklabels()] + [one.get_text() for one in axes.texts]


def test_all_systems_of_the_groups_are_planned_and_no_others():
    planned = {case.system for case in registry.plan("overview", groups="http").cases} - {"loopback", "sockets"}
    assert planned and {systems.group(name) for name in planned} == {"http"}
    with pytest.raises(UsageError, match=r"'fast'.*direct, broker, http, native"):
        registry.plan("overview", groups="fast")
    with pytest.raises(UsageError, match=r"^groups "):
        registry.plan("overview", system="zeromq", groups="direct")


@pytest.mark.parametrize(("asked", "most"), [("auto", 2), (True, 2), ("false", 1)])
def test_a_second_client_is_measured_for_few_systems_or_as_asked(asked, most):
    plan = registry.plan("overview", system="[sockets, zeromq]", two_clients=asked)
    assert max(case.clients for case in plan.cases) == most
    with pytest.raises(UsageError, match=r"^two_clients .*'often'"):
        registry.plan("overview", system="sockets", two_clients="often")


def test_many_systems_have_no_second_client_unless_asked(monkeypatch):
    monkeypatch.setattr("bench.experiments.overview.plan.MOST_PAIRED", 1)
    plan = registry.plan("overview", system="[sockets, zeromq]")
    assert {case.clients for case in plan.cases} == {1}


def test_a_system_that_does_not_carry_the_payload_is_left_out_with_its_limit(tmp_path, with_systems):
    (tmp_path / "tiny.py").write_text(
        '"""Tiny: nothing."""\nfrom dataclasses import dataclass\nTRANSPORTS = ("ipc",)\nREQUIRES = ()\n'
        "LARGEST_BYTES = 100\n@dataclass(frozen=True)\nclass Options:\n    pass\n"
    )
    with_systems(tmp_path)
    plan = registry.plan("overview", system="[tiny, sockets]")
    assert "100 B" in plan.absent["tiny"]
    assert {case.system for case in plan.cases} == {"sockets", "loopback"}


def test_rows_are_in_the_order_of_the_rtt_and_each_group_has_its_look(run):
    cases, rows = findings.grouped(run).set_index("system"), figure.places(run)
    assert set(cases.index) == set(rows) == set(NAMES) and list(rows.values()) == list(range(26))
    assert cases[findings.P50][list(rows)].is_monotonic_increasing
    assert set(figure.groups(run)) == set(cases["group"]) and len(set(figure.look_of(run).values())) == 5
    assert all(figure.look_of(run)[name] == figure.groups(run)[group] for name, group in cases["group"].items())
    few = many(NAMES[:6])
    assert figure.groups(few) == {} and len(set(figure.look_of(few).values())) == 6


def test_a_system_whose_file_is_gone_is_brokered_if_the_cpu_time_of_a_router_was_measured():
    with_router, without = many(NAMES[-2:], router_cpu_ns=5_000_000), many(NAMES[-2:])
    assert {findings.group_of(with_router, case) for case in (0, 1)} == {"brokered"}
    assert {findings.group_of(without, case) for case in (0, 1)} == {"others"}


@pytest.mark.parametrize("panel", [one.__name__ for one in figure.PANELS])
def test_every_panel_names_all_26_systems_in_letters_that_do_not_overlap(panel, run):
    drawn = panels.panel(run, panel)
    drawn.draw_without_rendering()
    (axes,) = drawn.axes
    labels = [label for label in axes.get_yticklabels() if label.get_text()]
    assert {f"{name} ipc" for name in NAMES} <= {label.get_text() for label in labels}
    boxes = sorted((label.get_window_extent() for label in labels), key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 + 1 for low, high in itertools.pairwise(boxes))
    assert min(label.get_fontsize() for label in labels) >= house.SMALL


def test_the_figure_of_few_systems_is_as_large_as_others(run):
    few = many(NAMES[:12])
    assert figure.height(few) == 0 and figure.height(run) > 4


def test_thirteen_colours_can_be_distinguished_and_no_place_is_without():
    colours = [house.look(place).colour for place in range(13)]
    values = np.array([[int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)] for colour in colours])
    apart = [np.abs(one - other).sum() for n, one in enumerate(values) for other in values[:n]]
    assert len(set(colours)) == 13 and min(apart) > 0.24
    assert len({house.look(place) for place in range(52)}) == 52


def test_what_is_missing_is_named_with_one_line_that_installs_it():
    reasons = {
        "nats": "system 'nats' cannot be imported (No module named 'nats'); install it: python -m pip install nats-py",
        "redis": "system 'redis': redis-server is not installed; install it: apt-get install redis-server",
        "mqtt": "system 'mqtt' cannot be imported (...); install it: python -m pip install aiomqtt nats-py",
        "own": "/x/own.py, line 1: invalid syntax: correct the file",
    }
    run = many(NAMES[:3], absent=reasons)
    line = "python -m pip install aiomqtt nats-py && apt-get install redis-server"
    assert sentences.to_install(run) == line
    said = text.conclusion(run)
    assert f"`{line}`" in said and all(f"**{name}**" in said for name in reasons)
    assert all(name in panels.caption(run) for name in reasons)


def test_the_first_sentence_is_the_span_of_the_rpc_systems_over_raw_sockets():
    first = sentences.with_interval(text.conclusion(few_of("sockets", "pipes", "zeromq", "grpc_sync")))
    low, high = re.findall(r"([\d.]+) times \(\*\*(\w+)\*\*", first)
    assert [low[1], high[1]] == ["zeromq", "grpc_sync"] and (float(low[0]), float(high[0])) == pytest.approx((4, 8))
    assert text.span(few_of("sockets", "pipes")) == ""


def few_of(*names):
    """Return a run in which each system takes twice as long as the one before."""
    cases = [Case(name, "ipc", 1000) for name in names]
    each_us = [10 * 2**place for place in range(len(names))]
    return handmade.handmade(cases, each_us, notebook="overview", calls=500, is_checked=False)


def test_a_system_most_of_whose_starts_are_unsteady_is_marked_in_its_line(monkeypatch):
    monkeypatch.setattr(text, "unsteady", lambda run: [1])
    lines = text.conclusion(few_of("sockets", "zeromq", "grpc_sync")).splitlines()
    marked = [line.partition(" (")[0] for line in lines if line.startswith("- ") and "steady state" in line]
    assert marked == ["- **zeromq**"]


def two_speeds(one_us, two_us, cpu_us, sleeps=(2, 2), **ledger):
    """Return a run of the two baselines with one client, and of the native one with two."""
    cases = [Case(name, "ipc", 1000, placement="split") for name in ("sockets", "sockets_c")]
    cases.append(Case("sockets_c", "ipc", 1000, placement="split", clients=2))

    def record(start, block, index):
        rtt = np.full(500, int(1000 * (40, one_us, two_us)[index]))
        calls = 500 * (1 + (index == 2))
        cpu = {role: int(500 * calls * cpu_us[index == 2]) for role in ("client_cpu_ns", "server_cpu_ns")}
        switches = dict.fromkeys(("voluntary_switches", "server_voluntary_switches"), calls * sleeps[index == 2] // 2)
        times = [handmade.in_order(rtt)] * cases[index].clients
        return StartRecord(handmade.usual(calls, rtt.sum() / 1e9, **cpu, **switches, **ledger), times)

    return handmade.recorded("overview", cases, record)


@pytest.mark.usefixtures("compiler")
def test_a_gain_above_two_is_explained_only_by_what_became_shorter():
    found = text.conclusion(two_speeds(60, 40, (20, 15)))
    assert "needs less CPU time and waiting" in found and "cheaper wake-ups" in found
    assert "fewer wake-ups" in text.conclusion(two_speeds(60, 40, (20, 15), (4, 2)))
    assert "more than twice" not in text.conclusion(two_speeds(40, 45, (20, 15)))
    crowded = text.conclusion(two_speeds(60, 40, (20, 15), machine_busy_ns=2 * 10**9, metered_ns=10**9))
    assert "Other processes left no CPU of the machine idle" in crowded and "wake-ups" not in crowded


@pytest.mark.usefixtures("compiler")
def test_a_native_baseline_that_is_slower_than_python_is_said_to_be():
    slower = two_speeds(60, 40, (20, 15))
    assert "fewer calls/s" in text.native(slower) and f"{findings.native_baseline(slower)} as many" in text.native(
        slower
    )
    assert text.native(two_speeds(30, 40, (20, 15))) == ""


def test_every_system_of_the_overview_is_in_every_panel():
    run = handmade.reference("overview")
    systems = set(run.cases["system"]) - {"loopback"}
    for axes in whole("overview").axes:
        assert all(any(name in text for text in texts(axes)) for name in systems), axes.get_title(loc="left")


def test_ratios_of_two_cases_are_those_of_the_one_estimator():
    run = handmade.reference("overview")
    drawn = panels.panel(run, "two_clients").axes[0]
    said = " ".join(text.get_text() for text in drawn.texts)
    for system, row in findings.rates(run).iterrows():
        one, two = (run.find(system=system, placement=row["placement"], clients=clients)[0] for clients in (1, 2))
        assert house.ratio_text(effect(run, one, two, "rate_per_s")) in said
    assert figure.above(run, run.find(system="zeromq")[0]).startswith("  × ")
