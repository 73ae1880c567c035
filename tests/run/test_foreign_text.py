"""What somebody wrote into a run is shown as text: no markup, no control character, no line of its own."""

import json
import re

import pytest
from handmade import handmade
from IPython.display import Markdown

from bench.apps import listing, notebook
from bench.experiments import panels, tables, words
from bench.plan.case import Case
from bench.run import integrity
from bench.run.folder import Folder
from bench.run.frames import Run
from bench.text import all_harmless, harmless

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "x\nchecks    12/12 passed",
    "a\r\x1b[2J\x1b]0;title\x07",
    "[click](javascript:alert(1))",
    "`code` **bold** $\\frac{1}{0$ | cell |",
    "\u202eevil\u2066",
]


def hostile(text):
    """Return a run in whose manifest a text of others stands wherever one may: options, machine, versions, failures."""
    run = handmade([Case("zeromq", "ipc"), Case("sockets", "ipc")], [100, 50], calls=1500)
    folder = run.folder
    manifest = folder.manifest()
    manifest["plan"]["cases"][0]["options"] = {"copy": text}
    manifest["plan"]["cases"][1]["options"] = {"writes": 1, text: 2}
    manifest["machine"].update(cpu_model=text, kernel=text)
    manifest["versions"] = {text: text}
    manifest["failures"] = [{"start": 1, "case": 0, "error": text}]
    for file in folder.files("ledger"):  # its rows name the options of their case
        table = folder.read_file(file, "ledger").to_pylist()[0]
        table["options"] = json.dumps(manifest["plan"]["cases"][table["case"]]["options"], sort_keys=True)
        name = {"ledger": type(folder.read("ledger")).from_pylist([table], schema=folder.read("ledger").schema)}
        folder._write(file.stem, name | {"samples": folder.read_file(folder.path / "samples" / file.name, "samples")})
    folder.write_manifest(manifest | {"data_digest": integrity.of_folder(folder.path)})
    return Run(Folder(folder.path))


def assert_harmless(text, is_line=False):
    assert not re.search(r"<(script|img)|\]\(javascript|[\x00-\x08\x0b-\x1f\x7f\u202e\u2066]", text)
    assert not any(line.startswith("checks    12/12") for line in text.splitlines())


@pytest.mark.parametrize("text", ["".join(HOSTILE[::2]), " ".join(HOSTILE[1::2])], ids=["one", "other"])
def test_nothing_of_it_is_obeyed_in_sentences_tables_terminals_or_figures(text, monkeypatch, tmp_path):
    monkeypatch.setenv("ROUNDTRIP_FIGURES", str(tmp_path))
    run, shown = hostile(text), []
    assert_harmless(words.conclusion(run))
    assert_harmless(listing.run_text(run.id))
    assert_harmless(panels.caption(run))
    assert_harmless(panels.described("latency", run=run))
    monkeypatch.setattr(notebook, "display", lambda *each: shown.extend(each))
    notebook.tell(run)
    notebook.tell(run, "cpu")
    notebook.trust(run)
    notebook.table(run, "plan", "versions", "calls", "costs")
    assert len(shown) > 5 and any(isinstance(one, Markdown) for one in shown)
    for one in shown:
        assert_harmless(one.data)
    svg, _ = panels.save(run)
    assert_harmless(svg.read_text("utf-8"))
    assert all(run.labels) and tables.results(run)


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
