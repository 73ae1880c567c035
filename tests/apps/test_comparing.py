"""The gate on counts per call: what it refuses, and what it says of two states that are really traced."""

import json
from types import SimpleNamespace
from xml.etree import ElementTree

import own_system
import pytest
from handmade import PAIR, in_turns

from bench.analysis import turns
from bench.apps import comparing
from bench.experiments.compare import AGAIN
from bench.measurement import trace
from bench.process.sources import Source
from bench.run import stored
from bench.run.frames import Run

LOOKING = """
import contextlib
import socket
class Looking:
    def __init__(self, service):
        self._service, self._pair = service, socket.socketpair()
    def __getattr__(self, name):
        return getattr(self._service, name)
    def answer(self, payload):
        with contextlib.suppress(BlockingIOError):
            self._pair[0].recv(1, socket.MSG_DONTWAIT)
        return self._service.answer(payload)
"""
SAME = own_system.text()
MORE = own_system.text(LOOKING, serve="sockets.serve(binding, sockets.Options(), Looking(service))")
needs_tracing = pytest.mark.skipif(bool(trace.why_not()), reason=trace.why_not() or "")
FEW = ("--counts", "-p", "starts", "3")


@pytest.fixture
def states(tmp_path):
    """Return the folders of two states: one, and the same whose server makes a system call more."""
    for name, text in (("base", SAME), ("more", MORE)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tiny.py").write_text(text)
    return {name: str(tmp_path / name) for name in ("base", "more")}


def test_slices_that_calls_outlast_are_named_with_those_that_suffice():
    assert turns.outlasted(in_turns([1000, 2000])) == ""
    assert "give -p slice_ms 320" in turns.outlasted(in_turns([1000, 40_000], calls=2))


@pytest.mark.parametrize(
    ("words", "why_not", "wanted"),
    [
        ((), "run it as root", "run it as root; or leave out --counts"),
        (("--at-most", "5%"), None, "leave out --at-most and --quantity"),
        (("-p", "clients", "2"), None, "of one caller"),
    ],
)
def test_counts_without_tracing_or_of_calls_that_overlap_are_refused(
    command, states, monkeypatch, words, why_not, wanted
):
    monkeypatch.setattr(trace, "why_not", lambda: why_not)
    refused = command("compare", states["base"], states["more"], "--counts", *words)
    assert (refused.returncode, refused.stdout) == (2, "") and wanted in refused.stderr


def test_a_misspelt_parameter_is_refused_with_all_that_there_are(command, states):
    refused = command("compare", states["base"], states["more"], "-p", "bugdet_s", "60")
    assert refused.returncode == 2 and "clients, engine" in refused.stderr.replace("callers, ", "")
    assert "did you mean budget_s?" in refused.stderr


def test_what_is_asked_for_and_has_too_few_calls_is_named_at_the_end_and_in_the_comment():
    run = in_turns([1000, 1000, 1000], calls=20, wobble=0.01, cases=(PAIR[0], PAIR[0], PAIR[1]))
    outcome = comparing._verdicts([run], "all", "5%")
    assert outcome.text.splitlines()[-1].startswith("Not judged: ") and "p99 RTT is not compared" in outcome.text
    assert "| | p99 RTT | | | **not compared** |" in outcome.markdown
    assert "Not judged" not in comparing._verdicts([run], "p50", "5%").text


def test_a_start_of_a_service_has_enough_calls_for_p99_by_default(monkeypatch):
    monkeypatch.setattr(comparing.systems, "has_own_requests", lambda name: True)
    source = Source("here@1", "/", "/")
    monkeypatch.setattr(comparing, "experiment", lambda name: SimpleNamespace(plan=lambda **parameters: parameters))
    assert comparing._plan("sockets", None, {}, source, source)["slice_ms"] == "200"
    assert comparing._plan("sockets", None, {"slice_ms": "50"}, source, source)["slice_ms"] == "50"


@needs_tracing
@pytest.mark.slow
def test_one_more_system_call_fails_and_is_named_and_equal_states_pass(command, states, tmp_path, monkeypatch):
    files = [tmp_path / f"gate.{end}" for end in ("md", "xml")]
    options = [word for file in files for word in ("--write", str(file))]
    finished = command("compare", states["base"], states["more"], *FEW, "--transport", "tcp", "--json", *options)
    told = json.loads(finished.stdout)
    assert finished.returncode == 1 and told["failed"]
    assert told["closing"] == "more per call than before: tiny tcp, server: recvfrom 1 -> 2 per call"
    (run,) = told["runs"]
    (rose,) = [one for one in run["counts"] if one["exceeds_limit"]]
    assert (rose["role"], rose["what"], rose["a"]["mean"], rose["b"]["mean"]) == ("server", "recvfrom", 1, 2)
    assert run["a"].startswith("base@") and run["b"].startswith("more@")
    markdown, xml = (file.read_text("utf-8") for file in files)
    assert (
        markdown.startswith("### Roundtrip: failed\n")
        and "| tiny tcp | server: recvfrom 1 -> 2 per call | **rose** |" in markdown
    )
    (failed,) = [one for one in ElementTree.fromstring(xml).iter("testcase") if one.find("failure") is not None]
    assert (failed.get("classname"), failed.get("name")) == ("tiny tcp", "server: recvfrom")

    monkeypatch.setattr(comparing, "B", AGAIN)  # BASE with itself
    same = comparing._count_changes([Run(stored.find("latest"))])
    assert not same.failed and same.text.endswith("nothing that is judged happens more per call")
    assert "network: TCP segments" in same.text and "no change shown  server: recvfrom 1 -> 1 per call\n" in same.text
