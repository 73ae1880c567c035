"""What somebody wrote into a run is shown as text: no markup, no control character, no line of its own."""

import re

import pytest
from hostile_runs import HALVES, hostile

from bench.apps import cli, listing
from bench.grammar import figure as panels
from bench.grammar import result_tables
from bench.grammar.experiment import of_run
from bench.text import all_harmless, harmless

pytestmark = pytest.mark.filterwarnings("ignore:Glyph")  # of characters that no font has


def assert_harmless(text, is_line=False):
    assert not re.search(r"<(script|img)|\]\(javascript|[\x00-\x08\x0b-\x1f\x7f\u202e\u2066]", text)
    assert not any(line.startswith("checks    12/12") for line in text.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("text", HALVES, ids=["one", "other"])
def test_nothing_of_it_is_obeyed_in_sentences_tables_terminals_or_figures(text, monkeypatch, tmp_path):
    monkeypatch.setenv("ROUNDTRIP_FIGURES", str(tmp_path))
    run = hostile(text)
    assert_harmless(of_run(run).conclusion(run))
    assert_harmless(listing.run_text(run.id))
    assert_harmless(panels.caption(run))
    assert_harmless(panels.alt_text(run))
    svg, _ = panels.save(run)
    assert_harmless(svg.read_text("utf-8"))
    assert all(run.labels) and result_tables.results(run)


def test_a_terminal_shows_a_dollar_sign(capsys):
    cli.echo(harmless("$.id is missing"))
    assert capsys.readouterr().out == "$.id is missing\n"


def test_what_is_harmless_stays_as_it_is():
    for text in (
        "tcp://[::1]:5555",
        "AMD EPYC 7B13 (2 CPUs), 2.45 GHz",
        "#1 SMP 2026-11-22",
        "p50<5ms"[:3],
        "µs, ×, ≥, é",
    ):
        assert harmless(text) == text
    assert all_harmless({"a": ["<b>", 1, None, {"$c": "|"}]}) == {"a": ["\uff1cb>", 1, None, {"\uff04c": "\uff5c"}]}
