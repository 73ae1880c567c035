"""Client and server in either language: combinations, shares, rates, sentences, and the plan."""

import re

import pytest
from handmade import handmade

from bench.apps import notebook
from bench.errors import NotInstalledError, UsageError
from bench.experiments import panels, registry
from bench.experiments.languages import findings, servers_figure, text
from bench.experiments.languages.plan import SIDES, TWINS
from bench.grammar.contrast import times
from bench.plan.case import Case
from bench.plan.labels import labels
from bench.validation.cases import absent_of, why_absent

pytestmark = pytest.mark.usefixtures("compiler", "own_systems")


def cases(callers=1, system="sockets_c"):
    return [Case(system, "tcp", 100, {"client": c, "server": s}, callers=callers) for c, s in SIDES]


def test_a_combination_is_four_cases_of_one_number_of_callers():
    run = handmade([*cases(), Case("sockets_c", "ipc", 100, {"client": "python", "server": "python"})], [200] * 5)
    (cross,) = findings.crosses(run)
    assert (cross.name, cross.python, cross.client, cross.server, cross.native) == ("sockets_c tcp", 0, 1, 2, 3)
    assert findings.single(run) == [cross] and findings.several(run) == []
    assert findings.crosses(handmade(cases()[:3], [200] * 3)) == []


def test_shares_are_ratios_to_both_sides_in_python():
    run = handmade(cases(), [200, 150, 170, 100])
    (cross,) = findings.crosses(run)
    assert findings.remaining(run, cross).middle == pytest.approx(0.5, rel=1e-3)
    client, server = (findings.removed(run, cross, which) for which in ("client", "server"))
    assert (client.middle, server.middle) == pytest.approx((0.25, 0.15), rel=1e-3)
    assert client.low <= client.middle <= client.high
    assert findings.cpu_ratio(run, cross, "server").middle == pytest.approx(1)


def test_what_is_said_names_the_share_that_is_left_and_each_side():
    said = text.conclusion(handmade(cases(), [200, 150, 170, 100]))
    assert "**sockets_c tcp**" in said and re.findall(r"(\d+) % \(", said) == ["50", "25", "15"]


def test_a_side_that_changes_nothing_or_makes_it_slower_is_not_called_a_gain():
    def shape(start, calls):
        return 1 + 0.04 * ((start * 7) % 5 - 2) / 2

    run = handmade(cases(), [200, 200, 260, 100], shape=shape)
    (cross,) = findings.crosses(run)
    client, server = (findings.removed(run, cross, which) for which in ("client", "server"))
    assert client.low <= 0 <= client.high and server.high < 0
    assert "distinguishable" in text.left(run) and times(findings.remaining(run, cross, "server")) in text.left(run)


def test_rates_are_those_of_several_callers_and_the_bottleneck_is_named():
    run = handmade([*cases(), *cases(callers=4)], [200, 150, 170, 100, 400, 200, 400, 200])
    (cross,) = findings.several(run)
    assert findings.rate_gain(run, cross, "client").middle == pytest.approx(2, rel=1e-3)
    said = text.throughput(run)
    assert "**sockets_c tcp**, 4 " in said and times(findings.rate_gain(run, cross, "client")) in said
    assert re.search("client in C.. alone helps more than a server .* no distinguishable", said)
    assert "CPU utilization" in said
    assert text.throughput(handmade(cases(), [200, 150, 170, 100])) == ""


def test_a_bottleneck_is_named_only_where_the_two_sides_differ_from_each_other():
    def shape(start, calls):
        return 1 + 0.3 * ((start * 7) % 5 - 2) / 2

    run = handmade([*cases(), *cases(callers=4)], [200, 150, 170, 100, 400, 300, 330, 200], shape=shape)
    (cross,) = findings.several(run)
    over = findings.server_over_client(run, cross)
    assert over.low < 1 < over.high and "helps more" not in text.throughput(run)


@pytest.mark.parametrize(("server_us", "does"), [(350, "helps as well"), (450, "lowers the rate")])
def test_a_side_that_gains_less_is_said_to_help_as_well_or_to_lower_the_rate(server_us, does):
    run = handmade([*cases(), *cases(callers=4)], [200, 150, 170, 100, 400, 200, server_us, 200])
    (line,) = [line for line in text.throughput(run).splitlines() if line.startswith("- ")]
    assert does in line and ("a lower rate" in line) is (server_us > 400)


def test_what_is_left_is_no_limit_of_python_code_that_uses_another_library():
    assert "With sockets_c both" in text.left(handmade(cases(), [200, 150, 170, 100]))
    assert "No change" not in text.left(handmade(cases(system="xmlrpc_c"), [200, 150, 170, 100]))


def test_cpu_time_is_of_the_side_that_is_exchanged():
    said = text.cpu(handmade(cases(), [200, 150, 170, 100]))
    assert re.search(r"\*\*sockets_c tcp\*\*: .*client.* 10\.0 µs.* 10\.0 µs.* 1\.00 times.*server.* 20\.0 µs", said)


def test_labels_name_the_side_of_a_language():
    assert labels(tuple(cases()))[:2] == [
        "sockets_c tcp python client python server",
        "sockets_c tcp c client python server",
    ]


def test_the_plan_exchanges_one_side_at_a_time():
    plan = registry.plan("languages", system="sockets_c", callers=3)
    of = [one for one in plan.cases if one.system == "sockets_c"]
    assert [(one.callers, one.options["client"], one.options["server"]) for one in of] == [
        *((1, *side) for side in SIDES),
        *((3, *side) for side in SIDES),
    ]
    with pytest.raises(UsageError, match=r"'sockets'.*sockets_c, zeromq_c"):
        registry.plan("languages", system="sockets")
    with pytest.raises(UsageError, match=r"^callers .*2"):
        registry.plan("languages", callers=1)


def test_of_all_twins_those_with_the_transport_are_planned_and_a_named_one_without_is_refused():
    plan = registry.plan("languages", transport="ipc")
    assert "tcp" in plan.absent["xmlrpc_c"]
    assert {one.system for one in plan.cases} <= {*TWINS, "loopback"} - {"xmlrpc_c"}
    with pytest.raises((UsageError, NotInstalledError), match="xmlrpc"):
        registry.plan("languages", system="xmlrpc_c", transport="ipc")


def test_a_twin_that_is_not_installed_is_named_with_what_installs_it(monkeypatch):
    missing = absent_of(list(TWINS))  # none or some, on this machine
    missing["grpc_cpp"] = "there is no grpcpp/grpcpp.h; install it: apt-get install libgrpc++-dev"
    monkeypatch.setattr("bench.experiments.languages.plan.absent_of", lambda chosen: missing)
    plan = registry.plan("languages")
    assert plan.absent == missing and {one.system for one in plan.cases} <= {*TWINS, "loopback"} - missing.keys()


def test_where_no_twin_is_installed_the_reference_run_is_drawn_unless_one_is_named(monkeypatch, capsys):
    everything = dict.fromkeys(TWINS, "there is no g++; install it: apt-get install g++")
    monkeypatch.setattr("bench.experiments.languages.plan.absent_of", lambda chosen: everything)
    assert notebook.measure("languages").plan.notebook == "languages"
    assert "apt-get install g++" in capsys.readouterr().out
    with pytest.raises(UsageError, match="apt-get install g"):
        notebook.measure("languages", system="sockets_c")


def loaded(*systems, callers=(1, 32)):
    return [Case(name, "tcp", 100, callers=count, engine="wire") for name in systems for count in callers]


def test_servers_are_compared_with_the_first_one_of_as_many_callers():
    run = handmade(
        loaded("grpc_sync", "http_asgi"), [200, 800, 50, 100], notebook="languages", server_rss_bytes=5_000_000
    )
    assert [(of.name, of.callers, of.compared) for of in findings.servers(run)] == [
        ("grpc_sync", 1, (0, 0)),
        ("grpc_sync", 32, (1, 1)),
        ("http_asgi", 1, (0, 2)),
        ("http_asgi", 32, (1, 3)),
    ]
    assert findings.ratio(run, findings.servers(run)[3], findings.RATE).middle == pytest.approx(8, rel=0.01)
    assert findings.compared(run).name == "http_asgi" and findings.crosses(run) == []
    assert findings.ratio(run, findings.compared(run), findings.RTT).middle == pytest.approx(0.25, rel=1e-3)
    first, other = text.conclusion(run).splitlines()
    assert "**grpc_sync**" in first and "32 connections" in first
    assert times(findings.ratio(run, findings.servers(run)[3], findings.RATE)) in other
    assert "5.00 MB" in first
    of_twins = handmade(cases(), [200] * 4, notebook="languages")
    assert panels.title_of(run) == servers_figure.TITLE != panels.title_of(of_twins)
    drawn = panels.whole(run).axes
    assert {label.get_text() for axes in drawn for label in axes.get_yticklabels()} == {"grpc_sync", "http_asgi"}


def test_the_plan_of_servers_loads_each_by_wire_and_leaves_out_what_cannot_be_built(monkeypatch):
    if missing := why_absent("grpc_cpp"):
        pytest.skip(missing)
    remedy = {"http_go": "http_go is built by go, which is not installed: apt-get install golang-go"}
    monkeypatch.setattr("bench.experiments.languages.plan.why_absent", remedy.get)
    plan = registry.plan("languages", servers="all", callers=32)
    assert plan.absent == remedy and not plan.slice_s
    chosen = [(one.system, one.callers, one.engine) for one in plan.cases if one.system != "loopback"]
    assert chosen[:4] == [(name, count, "wire") for name in ("grpc_sync", "grpc_cpp") for count in (1, 32)]
    assert {name for name, *_ in chosen} >= {"grpc_go", "grpc_rust", "http_flask"} and len(chosen) == 2 * 11
    few = registry.plan("languages", servers="[grpc_go, grpc_sync]")
    assert [one.system for one in few.cases][:3] == ["grpc_go", "grpc_go", "grpc_sync"]
    with pytest.raises(UsageError, match="payload_bytes"):
        registry.plan("languages", servers="all", payload_bytes=1000)
    with pytest.raises(UsageError, match="http_goo"):
        registry.plan("languages", servers="http_goo")
