"""JUnit XML, which CI servers show: a test case for each check of a run."""

from collections.abc import Iterable
from typing import NamedTuple
from xml.etree import ElementTree

from bench.analysis.trust_card import NOTHING, PASS, Check
from bench.text import harmless


class Outcome(NamedTuple):
    """What a test case is about, its name and what was found; ``failure`` and ``skipped`` say why, "" if it is not."""

    group: str
    name: str
    found: str
    failure: str = ""
    skipped: str = ""


def of_checks(group: str, checks: Iterable[Check]) -> Iterable[Outcome]:
    """Yield each check of a trust card: CAUTION and INVALID are failures, N/A is skipped."""
    for check in checks:
        failure = "" if check.verdict in (PASS, NOTHING) else f"{check.verdict}: {check.advice}"
        yield Outcome(group, check.name, check.found, failure, check.found if check.verdict == NOTHING else "")


def xml(suite: str, outcomes: Iterable[Outcome]) -> bytes:
    """Return outcomes as one test suite of this name, in UTF-8."""
    cases = [_element(outcome) for outcome in outcomes]
    failures, skipped = (str(sum(case.find(kind) is not None for case in cases)) for kind in ("failure", "skipped"))
    counts = {"tests": str(len(cases)), "failures": failures, "errors": "0", "skipped": skipped}
    made = ElementTree.Element("testsuites")
    ElementTree.SubElement(made, "testsuite", {"name": harmless(suite)} | counts).extend(cases)
    ElementTree.indent(made, " ")
    return ElementTree.tostring(made, "utf-8", xml_declaration=True) + b"\n"


def _element(of: Outcome) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=harmless(of.group), name=harmless(of.name))
    if of.failure:
        ElementTree.SubElement(case, "failure", message=harmless(of.failure)).text = harmless(of.found)
    elif of.skipped:
        ElementTree.SubElement(case, "skipped", message=harmless(of.skipped))
    else:
        ElementTree.SubElement(case, "system-out").text = harmless(of.found)
    return case
