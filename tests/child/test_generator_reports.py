"""Reports of load generators: their numbers are read, and a report that is not as expected is refused."""

import generator_reports as texts
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bench.child.generators import h2load, wrk
from bench.errors import SystemFailedError

READ = {"wrk": wrk.read, "h2load": h2load.read}


def test_the_numbers_of_wrk_are_read():
    report = wrk.read(texts.WRK, "", 4)
    assert report.calls == 41185 and report.window_s == pytest.approx(1.1002, abs=1e-4)
    assert not any(report.errors.values())
    wanted = {"rtt_p50": 75, "rtt_p75": 90, "rtt_p90": 161, "rtt_p99": 1410, "rtt_mean": 127.12, "rtt_max": 5450}
    assert report.numbers == pytest.approx(wanted | {"rate": 37433.56})
    assert ("rtt_p99", 1410.0, "us") in report.rows() and ("rate", 37433.56, "1/s") in report.rows()
    assert len(report.rows()) == len(wanted) + 6


def test_the_numbers_of_h2load_are_read():
    report = h2load.read(texts.H2LOAD, "", 4)
    assert (report.calls, report.window_s) == (33309, 1.0) and not any(report.errors.values())
    assert report.numbers == {"rtt_min": 21, "rtt_max": 5310, "rtt_mean": 119, "rate": 33309}


def test_seconds_and_few_requests_are_read():
    assert wrk.read(texts.WRK_SLOW, "", 4).numbers["rtt_p50"] == 1.2e6
    assert h2load.read(texts.H2LOAD_SLOW, "", 4).numbers["rtt_max"] == 1.22e6


def test_errors_are_told_by_kind():
    assert wrk.read(texts.WRK_STATUS, "", 4).errors == dict.fromkeys(wrk.SOCKET, 0) | {"status": 9819}
    assert wrk.read(texts.WRK_SOCKET, "", 4).errors["read"] == 652
    assert h2load.read(texts.H2LOAD_MOVED, "", 4).errors["status"] == 33309
    assert h2load.read(texts.H2LOAD, "[ERROR] HTTP parse error: (X) no\n" * 2, 4).errors["parse"] == 2
    some = texts.H2LOAD.replace("33309 succeeded, 0 failed, 0 errored", "33299 succeeded, 10 failed, 4 errored")
    assert h2load.read(some.replace(" 0 timeout", " 3 timeout"), "", 4).errors == {
        "status": 6, "network": 1, "timeout": 3, "parse": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "output", "complained"),
    [
        ("h2load", "connections", texts.H2LOAD_ENDED, ""),
        ("wrk", "'unknown'", texts.WRK, "unknown\n"),
        ("wrk", "41185 .*30000", texts.WRK.replace("37433.56", "30000.00"), ""),
        ("wrk", "calls.* rate", texts.WRK_SOCKET.replace("Socket errors", "Errors"), ""),
        ("wrk", "wrk", texts.WRK.replace("41185 requests", "0 requests").replace("37433.56", "    0.00"), ""),
        ("h2load", "3330[89]", texts.H2LOAD.replace("33309 succeeded", "33308 succeeded"), ""),
        ("h2load", "rtt_max.*rtt_mean", texts.H2LOAD.replace("        mean ", "      median "), ""),
    ],
)  # fmt: skip
def test_contradictions_and_other_versions_are_refused(name, text, output, complained):
    with pytest.raises(SystemFailedError, match=text):
        READ[name](output, complained, 4)


def changed(draw, lines):
    """Return the lines with one of them gone, doubled, moved, cut, replaced or a character shorter."""
    at = draw(st.integers(0, len(lines) - 1))
    other, cut = draw(st.integers(0, len(lines) - 1)), draw(st.integers(0, max(0, len(lines[at]) - 1)))
    ways = {
        "gone": [],
        "doubled": [lines[at]] * 2,
        "cut": [lines[at][:cut]],
        "shorter": [lines[at][:cut] + lines[at][cut + 1 :]],
        "replaced": [draw(st.text(max_size=20))],
        "another": [lines[other]],
        "before": [draw(st.text(max_size=20)), lines[at]],
    }
    return [*lines[:at], *ways[draw(st.sampled_from(sorted(ways)))], *lines[at + 1 :]]


REPORTS = [("wrk", texts.WRK), ("wrk", texts.WRK_SLOW), ("h2load", texts.H2LOAD), ("h2load", texts.H2LOAD_STATUS)]


@settings(max_examples=40)
@given(st.sampled_from(REPORTS), st.data())
def test_a_mangled_report_gives_the_same_numbers_or_none(which, data):
    name, text = which
    whole = READ[name](text, "", 4)
    mangled = "\n".join(changed(data.draw, text.split("\n")))
    assume(mangled != text)
    try:
        report = READ[name](mangled, "", 4)
    except SystemFailedError as error:
        assert "\n" not in str(error)
    else:
        assert report == whole, mangled
