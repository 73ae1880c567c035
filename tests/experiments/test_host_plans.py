"""Each notebook that takes hosts plans all its cases on them, over tcp, unpinned; and says so before it begins."""

import re

import pytest
from drawings import legend
from far_hosts import far_run

from bench.apps import listing
from bench.errors import UsageError
from bench.grammar import figure as panels
from bench.grammar import result_tables
from bench.grammar.experiment import experiment, of_run
from bench.measurement.validation import plan_time

pytestmark = pytest.mark.slow

SCHEDULER = "tcp://10.0.0.1:8786"
ASKED = {
    "latency": {},
    "throughput": {},
    "clients": {},
    "openload": {},
    "scaleup": {},
    "capacity": {},
    "compare": {"a": "{system: zeromq}", "b": "{system: sockets}"},
    "overview": {"system": "[sockets, zeromq, pause]"},
    "explore": {"cases": [{"system": "sockets", "hosts": SCHEDULER}]},
}


@pytest.mark.parametrize("notebook", ASKED)
def test_all_cases_are_between_hosts(notebook):
    hosts = {} if notebook == "explore" else {"hosts": SCHEDULER}
    plan = experiment(notebook).plan(**ASKED[notebook], **hosts)
    assert {case.hosts["scheduler"] for case in plan.cases} == {SCHEDULER}
    assert {case.transport for case in plan.cases if case.system != "loopback"} == {"tcp"}
    assert {case.placement for case in plan.cases} == {"free"}
    assert {case.load for case in plan.cases} <= {"closed", "open"}
    assert SCHEDULER in plan_time.described(plan)
    here = experiment(notebook).plan(**ASKED[notebook]) if notebook != "explore" else experiment(notebook).plan()
    assert {str(case.hosts) for case in here.cases} == {"{}"} and "hosts" not in plan_time.described(here)


def test_hosts_that_are_named_to_load_share_the_connections_of_scaleup(tmp_path):
    (tmp_path / "h.yaml").write_text(f"scheduler: {SCHEDULER}\nserver: s\nload: [a, b, c]\n")
    plan = experiment("scaleup").plan(hosts=str(tmp_path / "h.yaml"), connections=32)
    assert {(case.clients, case.callers) for case in plan.cases if case.system != "loopback"} == {(3, 11)}


@pytest.mark.parametrize("notebook", ["capacity", "latency"])
def test_another_transport_than_tcp_is_refused(notebook):
    with pytest.raises(UsageError, match=r"tcp.*ipc.*tcp"):
        experiment(notebook).plan(hosts=SCHEDULER, transport="ipc")


ONE_CLIENT = ("latency", "compare", "scaleup")  # so that one host loads
DRAWN = [(name, None) for name in ("latency", "throughput", "openload", "compare", "scaleup", "overview")]


@pytest.mark.parametrize(("notebook", "latency"), [*DRAWN, ("clients", "l"), ("openload", "l")])
def test_figures_and_conclusions_are_drawn_from_hosts_that_do_not_agree(notebook, latency):
    cases = experiment(notebook).plan(**ASKED[notebook], hosts=SCHEDULER).cases
    us, calls = {"a": 100, "b": 200, "l": 50}, 20 if notebook == "scaleup" else 200
    run = far_run(cases, ["a", "b"], us, calls=calls, latency=latency, notebook=notebook)
    figure = None if latency else panels.whole(run)  # each figure is drawn once
    below = " ".join((figure.get_supxlabel() if figure else panels.caption(run)).split())
    if notebook == "scaleup":
        assert "4 CPUs of host s" in [label for axes in figure.axes for label in legend(axes)]
    whose = "a" if notebook in ONE_CLIENT else "b"
    assert re.search(r"\bs \(4 CPUs\).*\ba \(4 CPUs\).*\bb \(4 CPUs\)", below)
    assert f"host {'l' if latency else whose}" in below
    assert len(of_run(run).conclusion(run)) > 20 and len(result_tables.results(run)) > 1


def test_explain_names_the_hosts_of_a_figure():
    run = far_run(experiment("latency").plan(system="sockets", hosts=SCHEDULER).cases, ["a", "b"], {"a": 100, "b": 200})
    text = listing.figure_text(str(panels.save(run)[0]))
    assert re.search(rf"^hosts .*{SCHEDULER}", text, re.M)
