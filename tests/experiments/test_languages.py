"""Client and server in either language: combinations, shares, rates, claims, and the plan."""

import pytest
from handmade import handmade

from bench.apps import notebook
from bench.errors import NotInstalledError, UsageError
from bench.experiments import languages
from bench.experiments.languages import SIDES, TWINS
from bench.grammar import figure
from bench.grammar.experiment import experiment
from bench.plan.case import Case

pytestmark = pytest.mark.usefixtures("compiler", "own_systems")

ONE_CALLER = [200, 150, 170, 100]


def cases(callers=1, system="sockets_c"):
    return [Case(system, "tcp", 100, {"client": c, "server": s}, callers=callers) for c, s in SIDES]


def plan(**parameters):
    return experiment("languages").plan(**parameters)


def test_a_combination_is_four_cases_of_one_number_of_callers():
    run = handmade([*cases(), Case("sockets_c", "ipc", 100, {"client": "python", "server": "python"})], [200] * 5)
    assert languages.crosses(run, run.numbers) == languages.single(run, run.numbers) == [0, 1, 2, 3]
    (group,) = languages.groups(run, languages.single)
    assert (group.name, group.cases) == ("sockets_c tcp", [0, 1, 2, 3])
    assert languages.several(run, run.numbers) == []
    lacking = handmade(cases()[:3], [200] * 3, notebook="languages")
    assert languages.crosses(lacking, lacking.numbers) == [] and languages.both_native.ratios(lacking) == []


def test_shares_are_ratios_to_both_sides_in_python():
    run = handmade(cases(), ONE_CALLER)
    contrasts = (languages.both_native, languages.client_alone, languages.server_alone, languages.server_cpu)
    ratios = [contrast.ratios(run)[0] for contrast in contrasts]
    assert [(ratio.base, ratio.other) for ratio in ratios] == [(0, 3), (0, 1), (0, 2), (0, 2)]
    assert [ratio.value for ratio in ratios] == pytest.approx([0.5, 0.75, 0.85, 1], rel=1e-3)


def test_rates_are_those_of_several_callers():
    run = handmade([*cases(), *cases(callers=4)], [*ONE_CALLER, 400, 200, 350, 200])
    gains = languages.rate_gain.ratios(run)
    assert [(gain.base, gain.other) for gain in gains] == [(4, 5), (4, 6), (4, 7)]
    assert gains[0].value == pytest.approx(2, rel=1e-3)
    (over,) = languages.server_over_client.ratios(run)
    assert (over.base, over.other) == (5, 6) and over.interval.high < 1
    assert languages.rate_gain.ratios(handmade(cases(), ONE_CALLER)) == []


def test_of_all_twins_those_with_the_transport_are_planned_and_a_named_one_without_is_refused():
    planned = plan(transport="ipc")
    assert "tcp" in planned.absent["xmlrpc_c"]
    assert {one.system for one in planned.cases} <= {*TWINS, "loopback"} - {"xmlrpc_c"}
    with pytest.raises((UsageError, NotInstalledError), match="xmlrpc"):
        plan(system="xmlrpc_c", transport="ipc")


def test_where_no_twin_is_installed_the_reference_run_is_drawn_unless_one_is_named(monkeypatch, capsys):
    everything = dict.fromkeys(TWINS, "there is no g++; install it: apt-get install g++")
    for place in ("bench.measurement.validation.cases", "bench.experiments.languages"):
        monkeypatch.setattr(f"{place}.absent_of", lambda chosen: everything)
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
    (fastest,) = languages.server_rates.ratios(run)
    assert (fastest.base, fastest.other) == (1, 3) and fastest.value == pytest.approx(8, rel=0.01)
    assert str(fastest.words) in languages.tables["servers"](run).iloc[1, 1]
    assert experiment("languages").title_of(run) == languages.TITLE_OF_SERVERS
    assert experiment("languages").title_of(handmade(cases(), [200] * 4, notebook="languages")) == languages.TITLE
    drawn = figure.whole(run).axes
    assert {label.get_text() for axes in drawn for label in axes.get_yticklabels()} == {"grpc_sync", "http_asgi"}
