"""The glossary: every term is there with a definition and a source, and every link to it leads to a heading."""

import json
import re

import pytest
from conftest import ROOT

FIELD = (
    "open-loop", "closed-loop", "coordinated-omission", "saturation", "utilization", "bottleneck",
    "confidence-interval", "empirical-cdf", "tail-latency", "throughput", "goodput", "knee", "slo", "mm1",
    "context-switch",
    "head-of-line-blocking", "service-time", "queueing-delay", "tls", "serialization", "rtt",
    "response-time", "quantile", "median", "warm-up", "steady-state", "nagles-algorithm", "delayed-ack",
    "hodges-lehmann-estimate", "littles-law", "mean-value-analysis", "autocorrelation", "event-loop", "flow-control",
    "time-to-first-message", "gap", "segment", "bandwidth", "token-bucket", "network-namespace", "veth-pair",
    "persistent-connection", "multiplexing", "time_wait", "universal-scalability-law", "sketch",
    "poisson-arrivals", "prediction-interval", "handshake", "framing", "codec",
)  # fmt: skip
OURS = (
    "baseline", "instrument-overhead", "load-generator", "system", "transport", "option", "factor", "payload", "case",
    "start", "block", "role", "placement", "wire", "trust-card", "run", "sample", "profile", "a-a-ratio",
    "host", "conductor", "oracle",
)  # fmt: skip
ENTRY = re.compile(r"^### (?P<term>.+)\n\n(?P<definition>(?:(?!#).+\n)+)", re.M)
DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
NOTEBOOKS = sorted(file for file in (ROOT / "notebooks").glob("[a-z]*.ipynb") if not file.stem.startswith("out"))
AS_WRITTEN = (
    "open-loop", "closed-loop", "response-time", "service-time", "queueing-delay", "tail-latency", "quantile", "median",
    "confidence-interval", "hodges-lehmann-estimate", "throughput", "goodput", "saturation", "utilization",
    "bottleneck", "warm-up", "steady-state", "coordinated-omission", "head-of-line-blocking", "context-switch",
    "event-loop", "flow-control", "load-generator", "mean-value-analysis", "serialization", "autocorrelation",
    "token-bucket", "network-namespace", "veth-pair", "persistent-connection", "poisson-arrivals",
    "prediction-interval", "handshake", "framing", "codec", "oracle",
)  # fmt: skip
USED = {  # how a notebook's prose uses a term that a newcomer may not know
    "rtt": r"\bRTTs?\b|\bround[ -]trips?\b",
    "slo": r"\bSLO\b",
    "tls": r"\bTLS\b",
    "mm1": r"\bM/M/1\b",
    "a-a-ratio": r"\bA/A ratio",
    "littles-law": r"\bLittle's law",
    "nagles-algorithm": r"\bNagle's algorithm",
    "delayed-ack": r"\bdelayed ACKs?\b",
    **{term: rf"\b{term.replace('-', '[ -]')}s?\b" for term in AS_WRITTEN},
}
LINK = re.compile(r"\]\((?:\S*?glossary\.md)#([^)\s]*)\)")


def slug(heading: str) -> str:
    """Return a heading's anchor as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.fixture(scope="module")
def glossary() -> str:
    return (ROOT / "docs" / "glossary.md").read_text("utf-8")


def test_every_term_has_a_heading_and_every_heading_is_a_term(glossary):
    headings = re.findall(r"^### (.+)$", glossary, re.M)
    assert sorted(map(slug, headings)) == sorted({*FIELD, *OURS})


def test_the_anchors_are_the_same_in_the_site(glossary):
    default_slugify = pytest.importorskip("myst_parser.mdit_to_docutils.base").default_slugify
    for heading in re.findall(r"^### (.+)$", glossary, re.M):
        assert default_slugify(heading) == slug(heading)


def test_every_term_has_a_definition_with_a_source(glossary):
    entries = {one["term"]: one["definition"] for one in ENTRY.finditer(glossary)}
    assert sorted(entries) == sorted(re.findall(r"^### (.+)$", glossary, re.M))
    for term, definition in entries.items():
        text = " ".join(definition.split())
        assert re.search(r"[.] ?\([^()]*(?:\([^()]*\)[^()]*)*\)$", text), f"{term} has no source"
        assert 8 <= len(text.split()) <= 70, term


def text_of(file) -> str:
    """Return the prose of a document or of a notebook's cells."""
    if file.suffix == ".md":
        return file.read_text("utf-8")
    cells = json.loads(file.read_text("utf-8"))["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


@pytest.mark.parametrize("file", [*DOCUMENTS, *NOTEBOOKS], ids=lambda file: file.name)
def test_every_link_into_the_glossary_leads_to_a_term(file):
    assert [anchor for anchor in LINK.findall(text_of(file)) if anchor not in {*FIELD, *OURS}] == []


@pytest.mark.parametrize("term", FIELD)
def test_every_term_of_the_field_is_linked_where_it_is_used(term):
    assert [file.name for file in (*DOCUMENTS, *NOTEBOOKS) if term in LINK.findall(text_of(file))]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda file: file.name)
def test_every_term_that_a_notebooks_prose_uses_is_linked_in_it(notebook):
    prose = text_of(notebook)
    without = re.sub(r"`[^`\n]*`|\]\([^)]*\)|^(?:#|\|).*", "", prose, flags=re.M)
    used = {term for term, pattern in USED.items() if re.search(pattern, without, re.I)}
    assert used - set(LINK.findall(prose)) == set()
