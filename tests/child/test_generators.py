"""Load generators as engines: their report is stored and told as theirs, and they end with what started them."""

import itertools
import os
import shutil
import signal
import subprocess
import sys

import pytest
from conftest import ROOT, descendants, is_gone, wait_for
from wire_servers import posted, served

from bench.analysis import checks, quantiles
from bench.child import generators
from bench.child.generators import h2load, wrk
from bench.errors import NotInstalledError, SystemFailedError, UsageError
from bench.grammar import result_tables
from bench.measurement import runner
from bench.measurement.start import measure
from bench.measurement.validation.profiles import make_plan
from bench.measurement.validation.support import checked
from bench.plan.case import GENERATORS, Case
from bench.run.frames import Run

pytestmark = pytest.mark.slow

GET = {"resource": "bytes"}


@pytest.fixture(params=GENERATORS)
def engine(request):
    generators.program(request.param)
    return request.param


def case(engine, callers=4, **rest):
    return Case(**{"system": "http_aiohttp", "transport": "tcp", "payload_bytes": 300, "options": GET} | rest,
                engine=engine, callers=callers)  # fmt: skip


# What they measure


def test_a_window_is_rounded_to_what_the_program_can():
    assert wrk.command(3, 0.1, "u")[1:] == ["-t", "1", "-c", "3", "-d", "1s", "--latency", "u"]
    assert wrk.command(3, 2.0, "u")[6] == "2s" and wrk.command(3, 2.1, "u")[6] == "3s"
    assert h2load.command(3, 0.1, "u")[6] == "100ms"


@pytest.mark.parametrize(("engine", "resource"), [("wrk", "bytes"), ("wrk", "static"), ("h2load", "json")])
def test_a_report_is_stored_and_told_as_reported(engine, resource):
    generators.program(engine)
    one = case(engine, options={"resource": resource})
    run = Run(runner.run(make_plan("latency", [one], starts=1, window_s=0.2)))
    row, told = run.starts.iloc[0], run.reports.set_index("name")
    assert len(run.samples) == 0 and run.folder.done() == {0}
    assert 0 <= row["server_calls"] - row["calls"] <= 4 and row["errors"] == 0
    assert row["client_cpu_ns"] > 0 and row["server_cpu_ns"] > 0 and row["client_sleeps_per_call"] > 0
    assert row["rate_per_s"] == told.loc["rate", "value"] == pytest.approx(row["calls"] / row["window_s"], rel=0.01)
    assert row["mean_rtt_us"] == told.loc["rtt_mean", "value"] and told.loc["rtt_mean", "unit"] == "us"
    assert (row["p99_rtt_us"] == row["p99_rtt_us"]) == (engine == "wrk") and row["p99_9_rtt_us"] != row["p99_9_rtt_us"]
    words = result_tables.calls(run).iloc[0]
    assert words["p99.9"].startswith("n/a") and engine in words["p99.9"] and engine in words["p99"]
    assert words["p99"].startswith("n/a") == (engine == "h2load")
    assert quantiles.quantile(run, 0, 0.5, "response").over == ""
    card = {one.name: one for one in checks.check(run)}
    assert card["answers"].verdict == checks.PASS and engine in card["answers"].found
    for name in ("rate", "settled", "samples", "instrument"):
        assert card[name].verdict == checks.NOTHING and engine in card[name].found


def answering(responses):
    """Answer the requests of each connection by these, then by the last of them; yield the address."""

    def behave(connection, _):
        for response in itertools.chain(responses, itertools.repeat(responses[-1])):
            if posted(connection) is None:
                return
            connection.sendall(response)

    return served(behave)


GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\0\1"
BAD = b"HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\nno"


def test_a_server_that_answers_500_is_found_by_the_first_call(engine):
    with answering([BAD]) as target, pytest.raises(SystemFailedError, match="500 Oh"):
        measure(case(engine, payload_bytes=2, target=target), 0.1, 1)


def test_errors_after_the_first_call_are_told_and_spoil_the_card(engine):
    with answering([GOOD, BAD]) as target:
        one = case(engine, payload_bytes=2, target=target)
        run = Run(runner.run(make_plan("latency", [one], starts=1, window_s=0.1)))
    errors = run.ledger["errors"].iloc[0]
    (answers_check,) = [one for one in checks.check(run) if one.name == "answers"]
    assert 0 < errors <= run.ledger["calls"].iloc[0] and answers_check.verdict == checks.INVALID
    assert f"status ({errors:,} calls)" in answers_check.found


# What they cannot do, and how they end


@pytest.mark.parametrize(
    ("rest", "text"),
    [
        ({"options": {}}, "resource bytes, json or static, or engine library"),
        ({"transport": "ipc"}, "http_aiohttp .*ipc .*wrk: .*tcp http_aiohttp, .*http_crossbar"),
        ({"load": "open", "offered_per_s": 10.0, "callers": 1}, "wrk .*closed"),
        ({"clients": 2}, "callers .*clients 1"),
        ({"max_calls": 100}, "wrk"),
    ],
)
def test_what_a_generator_cannot_do_is_refused(rest, text):
    with pytest.raises(UsageError, match=text):
        checked(case("wrk", **rest))


@pytest.mark.parametrize(("name", "package"), [("wrk", "wrk"), ("h2load", "nghttp2-client")])
def test_a_missing_program_is_named_with_what_installs_it(name, package, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda program: None)
    with pytest.raises(NotInstalledError, match=f"{name} .*apt-get install {package}$"):
        checked(case(name))


MEASURE = """
from bench.plan.case import Case
from bench.measurement.start import measure
print("ready", flush=True)
measure(Case("http_aiohttp", "tcp", 10, options={{"resource": "json"}}, engine="{}", callers=2), 60, 1)
"""


KILLED = (("wrk", "the client"), ("wrk", "all but the program"), ("h2load", "the experiment"))


@pytest.mark.parametrize(("engine", "killed"), KILLED)
def test_nothing_goes_on_when_what_started_it_is_killed(engine, killed):
    generators.program(engine)

    def name_of(pid):
        try:
            return (ROOT / f"/proc/{pid}/comm").read_text().strip()
        except OSError:
            return ""

    words = [sys.executable, "-c", MEASURE.format(engine)]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert wait_for(lambda: engine in map(name_of, descendants(process.pid)), 30)
        family = descendants(process.pid)
        (program,) = [pid for pid in family if name_of(pid) == engine]
        clients = [pid for pid in family if program in descendants(pid)]
        chosen = {"the client": clients, "the experiment": [process.pid]}
        for pid in chosen.get(killed, [process.pid, *(pid for pid in family if pid != program)]):
            os.kill(pid, signal.SIGKILL)
        assert wait_for(lambda: is_gone(program))
        assert wait_for(lambda: all(map(is_gone, family)), 30)
        process.wait(30)
