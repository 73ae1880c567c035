"""What bench compare writes for pull requests and CI servers: the verdicts of its lines, and nothing that is obeyed."""

import json
import re
from xml.etree import ElementTree

import pytest
from handmade import handmade

from bench.apps.outcome import Outcome
from bench.plan.case import Case

PAIR = [Case("zeromq", "ipc"), Case("sockets", "ipc")]


@pytest.fixture
def written(command, tmp_path):
    """Return a function that compares two runs and returns the exit status and the three files, read."""

    def compare(levels, *words, **more):
        a, b = handmade(PAIR, [100, 20], **more), handmade(PAIR, levels, **more)
        files = [tmp_path / "new" / f"gate.{end}" for end in ("json", "md", "xml")]
        options = [word for file in files for word in ("--write", str(file))]
        finished = command("compare", a.id, b.id, *words, *options)
        assert finished.stderr == ""
        document, markdown, xml = (file.read_text("utf-8") for file in files)
        assert markdown.count("<details>") == markdown.count("</details>") == 1
        assert all(line in markdown for line in finished.stdout.splitlines())
        return finished.returncode, json.loads(document), markdown, ElementTree.fromstring(xml)

    return compare


def cases(suites, child):
    """Return the names of the test cases with such a child."""
    return {
        (case.get("classname"), case.get("name")) for case in suites.iter("testcase") if case.find(child) is not None
    }


def test_a_slow_down_beyond_the_limit_fails_everywhere_and_a_baseline_nowhere(written):
    status, document, markdown, xml = written([130, 40], "--at-most", "5%", "--quantity", "p50,rate")
    assert status == 3 and document["failed"]
    exceeding = {(one["case"], one["quantity"]) for one in document["comparisons"] if one["exceeds_limit"]}
    assert exceeding == cases(xml, "failure") == {("zeromq ipc", "median RTT"), ("zeromq ipc", "calls per second")}
    assert cases(xml, "skipped") == {("sockets ipc", "median RTT"), ("sockets ipc", "calls per second")}
    assert xml[0].attrib == {"name": "bench compare", "tests": "4", "failures": "2", "errors": "0", "skipped": "2"}
    assert markdown.startswith("### Roundtrip: failed\n\nslower than allowed (5%): ")
    assert re.search(
        r"^\| zeromq ipc \| median RTT \| 1.30 \| .* to .* \| \*\*slower than allowed\*\* \|$", markdown, re.M
    )


@pytest.mark.parametrize(("words", "verdict"), [(["--at-most", "50%"], "passed"), ([], "compared")])
def test_without_a_slow_down_beyond_a_limit_nothing_fails(written, words, verdict):
    status, document, markdown, xml = written([130, 20], *words, "--quantity", "p50")
    assert status == 0 and not any(one["exceeds_limit"] for one in document["comparisons"])
    assert not cases(xml, "failure") and ("zeromq ipc", "median RTT") in cases(xml, "system-out")
    assert markdown.startswith(f"### Roundtrip: {verdict}\n") and "| worse |" in markdown


def test_nothing_is_measured_for_a_file_of_no_kind_and_a_folder_that_is_none_is_an_error(command, tmp_path):
    a, b = handmade(PAIR, [100, 20]), handmade(PAIR, [100, 20])
    refused = command("compare", a.id, b.id, "--write", str(tmp_path / "gate.html"))
    assert refused.returncode == 2 and ".json, .md, .xml" in refused.stderr and not refused.stdout
    nowhere = command("compare", a.id, b.id, "--write", "/proc/nowhere/gate.md")
    assert nowhere.returncode == 1 and "--write" in nowhere.stderr and nowhere.stderr.count("\n") == 1


def test_what_a_case_is_called_ends_no_table_cell_and_no_fence():
    one = {
        "case": "a|b`<img src=x>",
        "quantity": "median RTT",
        "ratio": 1.0,
        "low": 0.9,
        "high": 1.1,
        "verdict": "same",
        "words": "same",
    }
    document = {"comparisons": [one | {"exceeds_limit": False, "is_undecided": False}], "closing": "`", "at_most": None}
    markdown = Outcome("```\n<script>", document, False).markdown
    assert markdown.count("```") == 2 and "<img" not in markdown and "<script" not in markdown
    (row,) = re.findall(r"^\| a.*$", markdown, re.M)
    assert row.count("|") == 6


def test_a_ratio_without_an_interval_is_skipped(written):
    _, document, markdown, xml = written([130, 20], "--at-most", "5%", "--quantity", "p50", starts=2)
    assert document["comparisons"][0]["low"] is None and ("zeromq ipc", "median RTT") in cases(xml, "skipped")
    assert "| n/a to n/a |" in markdown and markdown.startswith("### Roundtrip: undecided\n")
