"""Systems that are not installed here: their rows come from the reference run, hollow and named, and are only shown."""

from dataclasses import replace

import pytest
from drawings import legend
from handmade import handmade, reference
from matplotlib.colors import same_color
from matplotlib.lines import Line2D

from bench.errors import DataError
from bench.experiments.languages import SIDES
from bench.grammar import borrowed, result_tables
from bench.grammar import figure as panels
from bench.grammar.axes import GREY
from bench.grammar.experiment import experiment, of_run
from bench.plan.case import Case
from bench.run.frames import Run

INSTALL = "there is no such program; install it: apt-get install it"


def sides(system):
    return [Case(system, "tcp", 100, {"client": c, "server": s}, callers=n) for n in (1, 4) for c, s in SIDES]


MEASURED = {  # cases that are measured here; systems that are not installed
    "fanin": ([Case("sockets", "tcp", 100, clients=n) for n in (1, 8)], ["nats", "redis"]),
    "languages": (sides("sockets_c"), ["grpc_cpp", "xmlrpc_c"]),
    "overview": ([Case("sockets", "ipc"), Case("zeromq", "ipc"), Case("wamp_crossbar", "ipc")], ["nats", "redis"]),
    "origins": ([Case("zeromq", transport, 1000) for transport in ("inproc", "ipc", "tcp")], ["wamp_crossbar"]),
}

NOTEBOOKS = ["fanin", *(pytest.param(name, marks=pytest.mark.slow) for name in MEASURED if name != "fanin")]


def measured(notebook, **changed):
    cases, names = MEASURED[notebook]
    cases = [*cases, Case("loopback", "inproc", 100)]
    settings = {"absent": dict.fromkeys(names, INSTALL), "is_checked": False, "calls": 500} | changed
    return handmade(cases, [100 + 20 * place for place in range(len(cases))], notebook=notebook, **settings)


def names_in(axes):
    """Return what rows and curves are called."""
    return [*(label.get_text() for label in axes.get_yticklabels()), *legend(axes)]


def caption(run):
    return " ".join(panels.caption(run).split())


def hollow(axes):
    """Return the markers and bars that are not filled, but for published values, which are grey."""
    lines = [one for one in axes.lines if one.get_marker() in Line2D.filled_markers and len(one.get_xdata())]
    empty = [one for one in lines if one.get_markerfacecolor() == "white" and one.get_markeredgecolor() != GREY]
    return empty + [bar for bar in axes.patches if same_color(bar.get_facecolor(), "white")]


@pytest.fixture
def no_reference(monkeypatch):
    """Let no reference run be found, as where the package alone is installed."""

    def find(name):
        raise DataError(f"no run {name}")

    return lambda: monkeypatch.setattr(borrowed.stored, "find", find)


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_their_rows_are_hollow_and_marked_in_every_panel_and_named_in_the_caption(notebook):
    run = measured(notebook)
    for panel in list(experiment(notebook).panels)[:4]:
        if notebook == "origins" and panel == "rates":
            continue  # of this origin there are no rates
        (axes,) = panels.panel(run, panel).axes
        marked = [name for name in names_in(axes) if "(reference)" in name]
        what = ["WAMP"] if notebook == "origins" else MEASURED[notebook][1]
        assert marked and all(any(name.startswith(one) for name in marked) for one in what), panel
        assert hollow(axes), panel
    text = caption(run)
    assert f"Hollow: {' and '.join(MEASURED[notebook][1])} " in text and "measured on another machine" in text
    assert "Not measured" not in text


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_nothing_is_computed_with_them(notebook, no_reference):
    run = measured(notebook)
    assert borrowed.systems(run) == MEASURED[notebook][1]

    def computed(opened_run):
        return (
            of_run(opened_run).conclusion(opened_run),
            [str(frame) for frame in result_tables.results(opened_run)],
            panels.alt_text(opened_run),
        )

    results = computed(run)
    no_reference()
    assert computed(Run(run.folder)) == results


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_a_reference_run_borrows_nothing(notebook):
    run = reference(notebook)
    assert borrowed.shown(run) == [run] and borrowed.systems(run) == []
    lacking = Run(run.folder)
    vars(lacking)["plan"] = replace(run.plan, absent={"sockets": INSTALL, "zeromq": INSTALL, "redis": INSTALL})
    assert borrowed.shown(lacking) == [lacking]


def test_a_system_that_the_reference_run_lacks_is_not_measured():
    run = measured("fanin", absent={"redis": INSTALL, "own": INSTALL})
    assert borrowed.systems(run) == ["redis"]
    assert "Not measured: own (not installed). Hollow: redis is not installed here" in caption(run)


def test_without_a_reference_run_nothing_is_borrowed(no_reference):
    no_reference()
    run = measured("fanin")
    assert borrowed.shown(run) == [run]
    assert "Not measured: nats (not installed) and redis (not installed)." in caption(run)
    assert panels.whole(run)


@pytest.mark.parametrize(
    ("parameters", "is_the_same"),
    [
        ({"clients": "[1, 8, 64]", "system": "[sockets, redis]", "profile": "smoke", "starts": 3}, True),
        ({"payload_bytes": 100, "options": None}, True),
        ({"payload_bytes": 1000}, False),
        ({"options": "{redis: {pipelining: true}}"}, False),
        ({"transport": "ipc"}, False),
    ],
)
def test_rows_are_borrowed_only_where_the_reference_run_was_asked_for_the_same_cases(parameters, is_the_same):
    run = measured("fanin")
    run.folder.update(parameters=parameters)
    assert bool(borrowed.systems(Run(run.folder))) == is_the_same
