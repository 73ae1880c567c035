"""Each term of the glossary has a definition with a source, and a notebook that uses a term links it."""

import re
from collections.abc import Iterator

from lint.links import LINK, slug
from lint.tree import Finding, Tree, cells, is_notebook, line_of

GLOSSARY = "docs/glossary.md"
ENTRY = re.compile(r"^### (.+)\n\n((?:(?!#).+\n?)*)", re.M)
SOURCE = re.compile(r"[.] ?\([^()]*(?:\([^()]*\)[^()]*)*\)$")
AS_WRITTEN = (  # terms that a newcomer may not know; the others are words of every day too
    "open-loop", "closed-loop", "response-time", "service-time", "queueing-delay", "tail-latency", "quantile", "median",
    "confidence-interval", "hodges-lehmann-estimate", "throughput", "goodput", "saturation", "utilization",
    "bottleneck", "warm-up", "steady-state", "coordinated-omission", "head-of-line-blocking", "context-switch",
    "event-loop", "flow-control", "load-generator", "mean-value-analysis", "serialization", "autocorrelation",
    "token-bucket", "network-namespace", "veth-pair", "persistent-connection", "poisson-arrivals",
    "prediction-interval", "handshake", "framing", "codec", "oracle", "pacing", "lateness", "freeze", "wake-up",
    "paired", "margin", "broker", "virtual-time", "squared-coefficient-of-variation",
)  # fmt: skip
USED = {
    "rtt": r"\bRTTs?\b|\bround[ -]trips?\b",
    "slo": r"\bSLO\b",
    "tls": r"\bTLS\b",
    "mm1": r"\bM/M/1\b",
    "a-a-ratio": r"\bA/A ratio",
    "littles-law": r"\bLittle's law",
    "nagles-algorithm": r"\bNagle's algorithm",
    "gil": r"\bGIL\b|\bglobal interpreter lock",
    "i-squared": r"\bI²",
    "pollaczek-khinchine-formula": r"\bPollaczek",
    "delayed-ack": r"\bdelayed ACKs?\b",
    **{term: rf"\b{term.replace('-', '[ -]')}s?\b" for term in AS_WRITTEN},
}
NOT_PROSE = re.compile(r"`[^`\n]*`|\]\([^)]*\)|^(?:#|\|).*", re.M)


def check(tree: Tree) -> Iterator[Finding]:
    """Yield each term without a source, and each term that a notebook uses and does not link."""
    for entry in ENTRY.finditer(tree.get(GLOSSARY, "")):
        if not SOURCE.search(" ".join(entry[2].split())):
            line = line_of(tree[GLOSSARY], entry.start()) + 1
            yield Finding(GLOSSARY, line, f"{entry[1]} has no source; end its definition with one, in brackets")
    for name, text in tree.items():
        if is_notebook(name):
            prose = "\n\n".join(cell["source"] for cell in cells(text) if cell["cell_type"] == "markdown")
            linked = {anchor for target, anchor in LINK.findall(prose) if target.endswith("glossary.md")}
            used = NOT_PROSE.sub("", prose)
            for term in sorted(USED.keys() - linked):
                if re.search(USED[term], used, re.I):
                    yield Finding(name, 1, f"{term} is not linked; write [...](../{GLOSSARY}#{slug(term)})")
