"""The figure and the words of mystery.ipynb, on runs made by hand: they hold where counters are missing, too."""

import re

import pytest
from handmade import handmade
from matplotlib.figure import Figure

from bench.errors import UsageError
from bench.experiments import panels, registry, sentences
from bench.experiments.mystery import figure
from bench.plan.case import Case

PANELS = (*figure.PANELS, figure.in_order, figure.cpu, figure.by_worker)


def box(name, payload_bytes=100, callers=1, **more):
    return Case("mystery", "tcp", payload_bytes, {"box": name}, "free", callers=callers, **more)


def boxes(sizes=(6000,), callers=4):
    return [
        case
        for name in ("a", "sound")
        for case in (box(name), box(name, callers=callers), *(box(name, size, max_calls=60) for size in sizes))
    ]


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.__name__)
@pytest.mark.parametrize(
    "known",
    [{}, {"tcp_segments_out": 40, "tcp_connections": 20, "tcp_delayed_acks": 0, "server_worker_calls": "[5, 15]"}],
    ids=["without counters", "with counters"],
)
def test_every_panel_is_drawn(panel, known):
    run = handmade(boxes(), [700, 800, 900, 600, 650, 700], calls=20, notebook="mystery", **known)
    (axes,) = panels.panel(run, panel.__name__).axes
    assert axes.get_title(loc="left") or " not " in axes.texts[0].get_text()


def test_what_several_callers_bring_is_a_ratio_of_rates_in_each_block():
    run = handmade(boxes(), [700, 700, 900, 600, 600, 700], calls=20, notebook="mystery")
    axes = Figure().subplots()
    figure.by_callers(run, axes)
    said = [text.get_text() for text in axes.texts]
    assert sum(text.startswith("× 1.00") for text in said) == 2


def test_the_words_tell_what_is_seen_and_not_what_it_is():
    counted = {"tcp_segments_out": 40, "tcp_connections": 20, "tcp_delayed_acks": 0}
    run = handmade(boxes(), [700, 700, 2100, 600, 600, 600], calls=20, notebook="mystery", **counted)
    said = sentences.conclusion(run)
    assert re.search(r"\*\*A\*\*: .*6,000 B .*: 3\.0 in median RTT", said) and "1.00 new connections" in said
    for word in ("nagle", "convoy", "stale", "gzip", "late calls", "connection per call"):
        assert word not in said.lower()


def test_the_plan_always_has_the_sound_box_and_refuses_others():
    plan = registry.plan("mystery", box="b", sizes=[6000, 100])
    assert [(case.options.get("box"), case.payload_bytes, case.callers) for case in plan.cases[:-1]] == [
        (name, *factors) for name in ("b", "sound") for factors in ((100, 1), (100, 4), (6000, 1))
    ]
    with pytest.raises(UsageError, match=r"'g'.*a, b, c, d, e, f, sound"):
        registry.plan("mystery", box="g")
