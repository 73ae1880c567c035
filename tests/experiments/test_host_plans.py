"""Each notebook that takes hosts plans all its cases on them, over tcp, unpinned; and says so before it begins."""

import json

import pytest
from conftest import ROOT
from handmade import FACTS

from bench.apps import repeating
from bench.errors import UsageError
from bench.experiments import registry
from bench.plan import estimate
from bench.run import stored

SCHEDULER = "tcp://10.0.0.1:8786"
ASKED = {
    "latency": {},
    "throughput": {},
    "clients": {},
    "openload": {"transport": "tcp"},
    "scaleup": {},
    "capacity": {"transport": "tcp"},
    "compare": {"a": "{system: zeromq}", "b": "{system: sockets}"},
    "overview": {"system": "[sockets, zeromq, pause]"},
    "explore": {"cases": [{"system": "sockets", "hosts": SCHEDULER}]},
}


@pytest.mark.parametrize("notebook", ASKED)
def test_all_cases_are_between_hosts(notebook):
    hosts = {} if notebook == "explore" else {"hosts": SCHEDULER}
    plan = registry.plan(notebook, **ASKED[notebook], **hosts)
    assert {case.hosts["scheduler"] for case in plan.cases} == {SCHEDULER}
    assert {case.transport for case in plan.cases if case.system != "loopback"} == {"tcp"}
    assert {case.placement for case in plan.cases} == {"free"}
    assert {case.load for case in plan.cases} <= {"closed", "open"}
    assert estimate.described(plan).endswith(
        f"hosts of {SCHEDULER}: server: the first host that is free, by name; load: all other hosts, or this machine "
        "if there is none"
    )
    here = registry.plan(notebook, **ASKED[notebook]) if notebook != "explore" else registry.plan(notebook)
    assert {str(case.hosts) for case in here.cases} == {"{}"} and "hosts of" not in estimate.described(here)


@pytest.mark.parametrize("notebook", [name for name in ASKED if name != "explore"])
def test_the_parameter_is_in_the_notebook_and_in_the_command_that_repeats_a_run(notebook):
    assert repeating.defaults(notebook)["hosts"] == ""
    plan = registry.plan(notebook, **ASKED[notebook], hosts=SCHEDULER)
    folder = stored.create(plan, FACTS | {"parameters": {"hosts": SCHEDULER}})
    assert repeating.command(folder).endswith(f" -p hosts {SCHEDULER}")


def test_hosts_that_are_named_to_load_share_the_connections_of_scaleup(tmp_path):
    (tmp_path / "h.yaml").write_text(f"scheduler: {SCHEDULER}\nserver: s\nload: [a, b, c]\n")
    plan = registry.plan("scaleup", hosts=str(tmp_path / "h.yaml"), connections=32)
    assert {(case.clients, case.callers) for case in plan.cases if case.system != "loopback"} == {(3, 11)}


@pytest.mark.parametrize(("notebook", "given"), [("capacity", {}), ("latency", {"transport": "ipc"})])
def test_another_transport_than_tcp_is_refused(notebook, given):
    with pytest.raises(UsageError, match="give transport tcp"):
        registry.plan(notebook, hosts=SCHEDULER, **given)


def test_the_comment_of_the_parameter_says_what_it_takes():
    for notebook in ASKED:
        cells = json.loads((ROOT / "notebooks" / f"{notebook}.ipynb").read_text("utf-8"))["cells"]
        lines = [line for cell in cells for line in cell["source"] if line.startswith("hosts:")]
        assert notebook == "explore" or ("scheduler" in lines[0] and "YAML file" in lines[0])
