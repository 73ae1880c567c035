"""languages.ipynb: twins that are not here, and servers that are compared with each other."""

import pytest
from handmade import handmade

from bench.apps import notebook
from bench.errors import NotInstalledError, UsageError
from bench.experiments import languages
from bench.experiments.languages import TWINS
from bench.grammar import figure
from bench.grammar.experiment import experiment
from bench.plan.case import Case

pytestmark = pytest.mark.usefixtures("compiler", "own_systems")


def plan(**parameters):
    return experiment("languages").plan(**parameters)


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
    drawn = figure.whole(run).axes
    assert {label.get_text() for axes in drawn for label in axes.get_yticklabels()} == {"grpc_sync", "http_asgi"}
