"""The capacity of a load generator: its numbers from loads made by hand, its documents, its figures, a real one."""

import json
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from test_certificate_checks import DONE, MS, START, record

from bench.errors import DataError, SystemFailedError
from certify import capacity, capacity_comparison, capacity_report, generator_file, running
from certify.capacity import Capacity, Times
from certify.observation import Observation, PathTimes
from certify.record import SECOND
from certify.report import Reported
from certify.running import Ended

SECONDS = 2.0
FULL_PER_S = 1000.0  # what the generator made by hand can do


def seen(load, rate, delivered, reported, connections=8, front_cpu_s=0.5):
    """Return a load of two seconds whose requests take 1 ms and arrive at a delivered rate."""
    arrived = (np.arange(int(delivered * SECONDS)) * SECOND / delivered).astype(np.int64)
    recorded = record(arrived, np.full(len(arrived), MS), connections)
    clocks = tuple((START + n * SECOND // 2, n * 100 * MS) for n in range(-2, 4))
    scenario = capacity._of(load, "hand-made", connections, SECONDS, rate)
    report = Reported(rate_per_s=reported, p50_us=1000.0, p99_us=1100.0)
    ended = Ended("", "", 0, 2.5, clocks=clocks)
    return Observation(scenario, "constant", recorded, ended, report, front_cpu_s=front_cpu_s)


def made(name="mine", loads=("closed", "open"), connections=(8, 64), front_cpu_s=0.5, full=FULL_PER_S, lies=False):
    """Return a capacity whose open loads deliver what is asked for, up to the capacity."""
    points = []
    for count in connections:
        points.append(capacity.point_of(seen("closed", None, full, full, count, front_cpu_s), None))
        for share in capacity.SHARES if "open" in loads else ():
            rate, delivered = share * full, min(share, 1.0) * full
            reported = rate if lies else delivered
            points.append(capacity.point_of(seen("open", rate, delivered, reported, count, front_cpu_s), share))
    path = PathTimes(50.0, 100.0, 200.0)
    return Capacity(capacity.FORMAT, name, "1.0", "Linux x86_64, 2 CPUs", path, points, [], "2026-01-02")


def test_lateness_of_a_slower_rate_grows_and_that_of_a_faster_one_does_not():
    slower, faster = (capacity.behind_schedule_ns(START + np.arange(100) * gap, 1000.0) for gap in (2 * MS, MS // 2))
    assert slower.tolist() == [n * MS for n in range(100)] and not faster.any()
    bursts = START + np.repeat(np.arange(10) * 8 * MS, 8)  # eight at once, every 8 ms
    assert sorted(set(capacity.behind_schedule_ns(bursts, 1000.0)[8:])) == [n * MS for n in range(8)]


def test_an_open_load_beyond_the_capacity():
    point = made().at(1.2, 8)
    assert point.delivered_per_s == pytest.approx(1000) and point.asked_per_s == pytest.approx(1200)
    assert point.omitted == 400 and point.requests == 2000
    assert point.late_us.p99 == pytest.approx(0.99 * SECONDS * 1e6 * (1 - 1 / 1.2), rel=0.01)
    assert point.due_us.p99 == pytest.approx(point.late_us.p99 + 1000) and point.true_us == Times(1000, 1000)


def test_cpu_time_is_that_of_the_load():
    point = made().full(8)
    assert point.cpus == pytest.approx(0.2)  # 100 ms in each half second, although the program used 3 s in all
    assert point.cpu_us_per_request == pytest.approx(200, rel=0.01)
    assert point.late_us is None and point.omitted is None and point.front_cpus == pytest.approx(0.25, rel=0.01)
    short = replace(seen("closed", None, 1000, 1000), ended=DONE)
    assert capacity.point_of(short, None).cpu_us_per_request is None


def test_the_delivered_rate_is_answers_divided_by_their_time():
    observed = seen("open", 1000.0, 1000.0, 1000.0)
    late = observed.record.requests.copy()
    late["arrived"][1000:] += SECOND  # the load stalls for a second: the slope of its arrivals is another number
    late["departed"][1000:] += SECOND
    point = capacity.point_of(replace(observed, record=replace(observed.record, requests=late)), 1.0)
    assert point.answers_per_s == pytest.approx(2000 / 3, rel=0.01)
    assert abs(point.delivered_per_s / point.answers_per_s - 1) > 0.05


def test_a_load_in_which_nothing_arrived():
    point = capacity.point_of(replace(seen("open", 10.0, 1000, None), record=record([], [])), 0.1)
    assert point.requests == point.delivered_per_s == 0 and point.omitted == 20 and point.true_us == Times(None, None)
    assert any(words.startswith("arrivals") for words in point.not_held)


def test_a_report_that_is_not_true_is_named():
    assert not made().at(1.2, 8).not_held
    (words,) = made(lies=True).at(1.2, 8).not_held
    assert words.startswith("rate-reported") and "asked for" in words
    text = capacity_report.text(made(lies=True))
    assert text.count("NOT HELD") == 2 and "1.20 k requests/s asked for" in text


def test_the_server_s_saturated_cpu_makes_it_at_least():
    assert "at least" not in capacity_report.capacity(made())
    assert "at least 1.00 k requests/s with 8 connections" in capacity_report.capacity(made(front_cpu_s=1.99))


def test_more_connections_make_a_capacity_only_if_they_carry_clearly_more():
    for gain, connections in ((1.02, 8), (1.2, 64)):
        few, many = made(connections=(8,)), made(connections=(64,), full=gain * FULL_PER_S)
        assert msgspec.structs.replace(few, points=few.points + many.points).best().connections == connections


def test_it_is_written_and_read(tmp_path):
    file, made_capacity = tmp_path / "mine.json", made()
    file.write_text(capacity_report.as_json(made_capacity), "utf-8")
    assert capacity_report.read(file) == made_capacity and made_capacity.connections == [8, 64]
    written = json.loads(file.read_text("utf-8"))
    for wrong in ({"format": 0}, {"points": "none"}, {"points": [{}]}):
        file.write_text(json.dumps(written | wrong), "utf-8")
        with pytest.raises(DataError, match=r"mine\.json"):
            capacity_report.read(file)


def test_generators_are_ordered_by_requests_per_cpu():
    slow, fast = made("slow", full=500.0), made("fast", loads=("closed",))
    assert [one.generator for one in capacity_comparison.in_order([slow, fast])] == ["fast", "slow"]
    assert capacity_comparison.per_cpu(fast) == pytest.approx(5000)
    conclusion = capacity_comparison.conclusion([slow, made("liar", lies=True)])
    assert (
        "or more, are made by liar 1.0." in conclusion
        and "report the rate asked for, not the one delivered: liar 1.0" in conclusion
    )
    assert "At half" not in conclusion


@pytest.fixture
def measuring(monkeypatch):
    """Return a function that measures the capacity of ghz for some connections, whose loads are made by hand."""

    def measure(connections, *observed):
        loads = iter(observed)
        monkeypatch.setattr(capacity, "SHARES", ())
        monkeypatch.setattr(capacity.path_times, "closed", lambda protocol: PathTimes())
        monkeypatch.setattr(capacity.certificate, "observe", lambda *_: next(loads))
        monkeypatch.setattr(capacity.certificate, "version", lambda _: "1")
        monkeypatch.setattr(generator_file.GeneratorFile, "program", "wrk")
        return capacity.measure(generator_file.load("ghz"), connections, 10, lambda _: None)

    return measure


def test_numbers_of_connections_beyond_the_limit_of_open_files_are_left_out(monkeypatch, measuring):
    def allow(count):
        if count > 8:
            raise SystemFailedError("a process may open 64 files here")

    monkeypatch.setattr(capacity, "allow_connections", allow)
    measured_capacity = measuring((8, 1000), seen("closed", None, 1000.0, 1000.0))
    assert measured_capacity.connections == [8] and measured_capacity.left_out == ["A process may open 64 files here."]


def test_a_load_that_does_not_end_measures_no_capacity(measuring):
    whole = seen("closed", None, 1000.0, 1000.0, 1)
    ended_by_force = replace(whole, ended=Ended("", "", None, 33.0))
    measured_capacity = measuring((1, 8), whole, ended_by_force)
    (left_out,) = measured_capacity.left_out
    assert measured_capacity.connections == [1] and left_out.startswith("8 connections: exit: ")
    with pytest.raises(SystemFailedError, match="no capacity of ghz was measured: 8 connections"):
        measuring((8,), ended_by_force)


@pytest.mark.slow
def test_ours_is_measured(command, tmp_path, monkeypatch):
    monkeypatch.setattr(running, "GRACE_S", 60.0)  # beside other tests
    monkeypatch.setattr(capacity, "CONNECTIONS", (4,))
    monkeypatch.setattr(capacity, "SHARES", (0.5, 1.2))
    words = ("--capacity", "--seconds", "10", "--json", tmp_path / "a.json", "--figure", tmp_path / "a.svg")
    finished = command("certify", "roundtrip", *map(str, words))
    assert finished.returncode == 0 and "its capacity is" in finished.stdout, finished.stderr
    measured_capacity = capacity_report.read(tmp_path / "a.json")
    assert [point.share for point in measured_capacity.points] == [None, 0.5, 1.2] and not measured_capacity.left_out, (
        measured_capacity
    )
    for point in measured_capacity.points:
        refused = [words for words in point.not_held if words.partition(":")[0] in ("exit", "report", "errors")]
        assert point.requests > 1 and point.reported_per_s and not refused
    assert (
        measured_capacity.points[0].cpus > 0
        and measured_capacity.points[1].late_us
        and (tmp_path / "a.svg").stat().st_size > 1000
    )
