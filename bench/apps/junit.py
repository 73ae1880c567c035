"""JUnit XML, which CI servers show: a test case for each check of a run, or for each comparison of two states."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from xml.etree import ElementTree

from bench.analysis.count_changes import UNJUDGED
from bench.analysis.trust_card import NOTHING, PASS, Check
from bench.text import harmless


class Result(NamedTuple):
    """What a test case is about, its name and what was found; ``failure`` and ``skipped`` say why, "" if it is not."""

    group: str
    name: str
    found: str
    failure: str = ""
    skipped: str = ""


def of_checks(group: str, checks: Iterable[Check]) -> Iterable[Result]:
    """Yield each check of a trust card: CAUTION and INVALID are failures, N/A is skipped."""
    for check in checks:
        failure = "" if check.verdict in (PASS, NOTHING) else f"{check.verdict}: {check.advice}"
        yield Result(group, check.name, check.found, failure, check.found if check.verdict == NOTHING else "")


def comparisons(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the comparisons of all runs in the document of ``bench compare --json``."""
    return [comparison for part in document.get("runs", [document]) for comparison in part.get("comparisons", ())]


def counts(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the counts of all runs in the document of ``bench compare --counts --json``."""
    return [count for part in document.get("runs", ()) for count in part.get("counts", ())]


def left_out(document: Mapping[str, Any]) -> list[str]:
    """Return why quantities of the runs in the document of ``bench compare --json`` were not compared."""
    return [text for part in document.get("runs", [document]) for text in part.get("left_out", ())]


def of_counts(document: Mapping[str, Any]) -> Iterable[Result]:
    """Yield each count in that document: a failure where it rose; those that are not judged are skipped."""
    for count in counts(document):
        failure = "more per call than before" if count["exceeds_limit"] else ""
        skipped = count["verdict"] if count["verdict"] == UNJUDGED else ""
        yield Result(count["case"], f"{count['role']}: {count['what']}", count["text"], failure, skipped)


def of_comparisons(document: Mapping[str, Any]) -> Iterable[Result]:
    """Yield each comparison in that document: a failure where a slow-down of more than the limit is shown.

    Baselines, ratios without an interval, those whose interval does not exclude such a slow-down, and quantities that
    were not compared are skipped.
    """
    for comparison in comparisons(document):
        failure = f"slower than allowed ({document['at_most']})" if comparison["exceeds_limit"] else ""
        why = "it shows the machine" if comparison["is_baseline"] else "no interval: too few starts"
        skipped = why if comparison["is_baseline"] or comparison["low"] is None else ""
        if comparison["is_undecided"] and not skipped:
            skipped = f"undecided: the interval does not exclude a slow-down of more than {document['at_most']}"
        yield Result(comparison["case"], comparison["quantity"], comparison["text"], failure, skipped)
    for text in left_out(document):
        yield Result("not compared", text.partition(" is ")[0], text, skipped="too few calls")


def xml(suite: str, tests: Iterable[Result]) -> str:
    """Return test cases as one suite of this name."""
    cases = [_element(test) for test in tests]
    failures, skipped = (str(sum(case.find(kind) is not None for case in cases)) for kind in ("failure", "skipped"))
    counts = {"tests": str(len(cases)), "failures": failures, "errors": "0", "skipped": skipped}
    made = ElementTree.Element("testsuites")
    ElementTree.SubElement(made, "testsuite", {"name": harmless(suite)} | counts).extend(cases)
    ElementTree.indent(made, " ")
    return ElementTree.tostring(made, "unicode")


def _element(result: Result) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=harmless(result.group), name=harmless(result.name))
    kind = "failure" if result.failure else "skipped" if result.skipped else "system-out"
    about = {"message": harmless(result.failure or result.skipped)} if kind != "system-out" else {}
    ElementTree.SubElement(case, kind, about).text = harmless(result.found)
    return case
