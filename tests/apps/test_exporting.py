"""Files for other programs: what they hold is what the run holds, read as those programs read it."""

import base64
import re
import struct
import zlib
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from handmade import reference
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from bench.analysis import checks
from bench.analysis.trust_card import INVALID, NOTHING, PASS, Check
from bench.apps import exporting, hdr, junit, numbers
from bench.errors import DataError
from bench.run.frames import P50
from bench.stats import quantile
from bench.text import harmless

# As hdrhistogram 0.10.8 (Python) encodes HdrHistogram(1, 3_600_000_000_000, 3) with these values.
VALUES = (0, 1, 2047, 2048, 2049, 10**6, 10**6 + 1, 10**9, 10**9, 3_600_000_000_000)
ENCODED = "HISTFAAAADR4nJNpmSzMwMAgxAABzFCaEch0M9ixgMH+A0SAiemnPBPL/j5GloXzGVnW72FkAgDOtwmE"


def counts_of(text: str) -> dict[int, int]:
    """Return the counts of a histogram by the lowest value of their bucket, as the format's definition has them."""
    packed = base64.b64decode(text)
    cookie, length = struct.unpack(">II", packed[:8])
    content = zlib.decompress(packed[8:])
    inner, size, offset, digits, lowest, _, ratio = struct.unpack(">IIIIQQd", content[:40])
    assert (cookie, inner, length) == (0x1C849314, 0x1C849313, len(packed) - 8)
    assert (size, offset, digits, lowest, ratio) == (len(content) - 40, 0, 3, 1, 1.0)
    counts, index, shift, value = {}, 0, 0, 0
    for byte in content[40:]:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            number = (value >> 1) ^ -(value & 1)
            if number > 0:
                doublings = max((index >> 10) - 1, 0)
                counts[(index - (doublings << 10)) << doublings] = number
            index, shift, value = index + (1 if number >= 0 else -number), 0, 0
    return counts


def test_a_histogram_is_encoded_as_the_library_of_its_authors_does():
    ours, theirs = (base64.b64decode(text) for text in (hdr.encoded(np.array(VALUES)), ENCODED))
    assert zlib.decompress(ours[8:]) == zlib.decompress(theirs[8:]) and ours[:4] == theirs[:4]


def test_a_log_has_an_interval_for_each_start(tmp_path):
    run = reference("latency")
    case = run.first(system="zeromq", transport="ipc")
    (file,) = [file for file in exporting.export(run, "hdr", tmp_path) if "zeromq-ipc" in file.name]
    head, *lines = re.split(r'"Interval_Compressed_Histogram"\n', file.read_text())
    assert head.startswith("#[Histogram log format version 1.3]\n") and "#[StartTime: " in head and run.id in head
    intervals = [line.split(",") for line in lines[0].splitlines()]
    assert len(intervals) == len(run.starts_of(case))
    rates = [sum(counts_of(encoded).values()) / float(length) for _, length, _, encoded in intervals]
    assert rates == pytest.approx(run.starts_of(case).sort_values("utc")["rate_per_s"].tolist(), rel=0.01)
    begins = [float(begin) for begin, _, _, _ in intervals]
    assert begins[0] == 0 and begins == sorted(begins)
    counts = [counts_of(encoded) for _, _, _, encoded in intervals]
    assert sum(sum(histogram.values()) for histogram in counts) == run.count(case)
    for histogram, (_, start) in zip(counts, run.starts_of(case).sort_values("utc").iterrows(), strict=True):
        median_us = quantile(np.repeat(list(histogram), list(histogram.values())), 0.5) / 1e3
        assert median_us == pytest.approx(start[P50], rel=2e-3)


def test_a_run_without_single_calls_has_no_histograms(tmp_path):
    with pytest.raises(DataError, match=r"csv or json$"):
        exporting.export(reference("marginal"), "hdr", tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_tables_hold_cases_starts_and_single_calls(tmp_path):
    run = reference("nodelay")
    cases, starts, calls = (pd.read_csv(file) for file in exporting.export(run, "csv", tmp_path))
    assert cases["label"].tolist() == [run.labels[case] for case in run.numbers]
    assert cases[P50].to_numpy() == pytest.approx(run.cases[P50].to_numpy(), nan_ok=True)
    assert len(starts) == len(run.starts) and set(starts["label"]) == set(cases["label"])
    for name in ("t_send_ns", "rtt_ns", "case", "start"):
        np.testing.assert_array_equal(calls[name], run.samples[name])


def test_the_checks_are_test_cases_of_which_cautions_fail_and_idle_ones_are_skipped(tmp_path):
    run = reference("openload")
    (file,) = exporting.export(run, "junit", tmp_path)
    (suite,) = ElementTree.parse(file).getroot()
    verdicts = [check.verdict for check in checks.check(run)]
    counts = {"failures": len(verdicts) - verdicts.count(PASS) - verdicts.count(NOTHING)}
    counts |= {"tests": len(verdicts), "skipped": verdicts.count(NOTHING), "errors": 0}
    assert counts["failures"] and counts["skipped"]
    assert suite.attrib == {"name": f"run {run.id}", **{name: str(count) for name, count in counts.items()}}
    for case, check in zip(suite, checks.check(run), strict=True):
        (child,) = case
        assert (case.tag, case.get("classname"), case.get("name")) == ("testcase", "openload", check.name)
        assert child.tag == {PASS: "system-out", NOTHING: "skipped"}.get(check.verdict, "failure")
        assert child.text == harmless(check.found)
        assert check.verdict in (PASS, NOTHING) or child.get("message").startswith(f"{check.verdict}: ")


def test_what_xml_cannot_hold_is_shown_by_signs():
    hostile = Check("a\0b", INVALID, "<b>&\x1b[31m", advice='"quoted"')
    ((case,),) = ElementTree.fromstring(junit.xml("]]>", junit.of_checks("x", [hostile])))
    assert case.get("name") == "a\u2400b" and "\x1b" not in case[0].text and case[0].tag == "failure"


@pytest.mark.parametrize("name", ["latency", "openload", "streaming"])
def test_openmetrics_are_read_by_the_parser_of_prometheus(name, tmp_path):
    run = reference(name)
    (file,) = exporting.export(run, "openmetrics", tmp_path)
    text = file.read_text()
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert text.endswith("\n# EOF\n") and all(name.endswith(f"_{family.unit}") for name, family in families.items())
    samples = [sample for family in families.values() for sample in family.samples]
    assert len({(sample.name, *sorted(sample.labels.items())) for sample in samples}) == len(samples)
    assert ("roundtrip_response_time_seconds" in families) == (name == "openload")
    for number in run.numbers:
        case_samples = [sample for sample in samples if sample.labels["case"] == run.labels[number]]
        known = numbers.values(run, number)
        for metric, label, column_, scale in (
            ("roundtrip_rtt_seconds", {"quantile": "0.5"}, P50, 1e6),
            ("roundtrip_rate_calls_per_second", {}, "rate_per_s", 1),
            ("roundtrip_cpu_seconds_per_call", {"role": "server"}, "server_cpu_us_per_call", 1e6),
        ):
            values = [one.value for one in case_samples if one.name == metric and label.items() <= one.labels.items()]
            assert values == pytest.approx([known[column_]["median"] / scale] if column_ in known else [])
        assert {sample.labels["system"] for sample in case_samples} == {run.case(number).system}


def test_export_names_the_files_that_it_wrote(command, tmp_path):
    finished = command("export", "reference/nodelay", "--format", "junit", "--out", str(tmp_path))
    assert finished.returncode == 0 and finished.stdout.rstrip().endswith("junit.xml")
    finished = command("export", "reference/nodelay", "--format", "junit", "--out", "/proc/nowhere")
    assert (finished.returncode, finished.stderr.count("\n")) == (1, 1) and "--out" in finished.stderr
