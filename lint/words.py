"""Words that text for readers no longer uses, and the standard terms to write instead: the one list of them.

A rule's pattern is the retired use alone, searched without regard to case: technical uses of the same word pass
("Little's law", "full reply", "command line", "kept files", "sleep" of a process).
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from lint.tree import Finding, Tree, pieces


class Rule(NamedTuple):
    """A retired use of a word, what to write instead, the expression that finds it, and an example."""

    retired: str
    write: str
    pattern: str
    example: str


RULES = (
    Rule("foretold, foretells", "predicted, predicts", r"\bforet(?:old|ells?|elling)\b", "Foretold from the starts"),
    Rule(
        "told apart",
        "distinguishable, not distinguishable",
        r"\bt(?:old|ell|ells|elling) (?:\w+ ){0,4}apart\b|\b(?:cannot be|not) told from\b|\bdrawn apart\b"
        r"|\bapart from chance\b",
        "the two were not told apart",
    ),
    Rule(
        "told, tells (of a value)",
        "reports, shows, is known",
        r"\btold\b|\btells\b|(?<!`)\btelling\b|\bto tell\b"
        r"|\btell (?:of|which|whether|how|what|that|why)\b",
        "no quantile told of it",
    ),
    Rule(
        "middle (of starts)",
        "median",
        r"\bin the middle\b(?! (?:of|between)\b)|\bmiddles? of the (?:starts|pairs|machines|ratios|blocks)\b"
        r"|\b(?:its|their|whose) middles?\b",
        "the middle of the starts",
    ),
    Rule("stroke, tick on top", "bar, line, marker", r"\bstrokes?\b|\btick on top\b", "the stroke is the median"),
    Rule(
        "line, wait in line",
        "queue",
        r"\bthe line grows?\b|\b(?:wait|stand)(?:s|ing)? in line\b",
        "calls wait in line",
    ),
    Rule(
        "full (a CPU)",
        "saturated, at 100 %",
        r"\b(?:CPUs?|server|worker|thread|core)s? (?:is|are|was|were|will be) full\b|\bfull CPUs?\b"
        r"|\bnothing (?:there )?is full\b|\btime left in\b",
        "no CPU is full",
    ),
    Rule(
        "law (of a server)",
        "distribution (of service times)",
        r"\b(?:of|by|with) (?:a )?known law\b|\bits law\b|\bservice(?:[- ]time)? law\b"
        r"|\blaw of (?:the )?(?:server|service)\w*\b",
        "a server of known law",
    ),
    Rule(
        "kept, lost, kept up (an objective)",
        "met, violated (an SLO)",
        r"\bkept up\b|\bkept or lost\b|\b(?:objective|SLO|limit|bound)s? (?:is|are|was|were) (?:kept|lost)\b"
        r"|\b(?:keeps?|kept|keeping|loses?|lost|losing) (?:an |the |its |this )?(?:objective|SLO)\b",
        "is kept up to 9,000 a second",
    ),
    Rule(
        "expanded (closed loop)",
        "corrected for coordinated omission",
        r"\bexpanded\b",
        "the closed loop, expanded",
    ),
    Rule(
        "sleeps (counts)",
        "voluntary context switches",
        r"\bsleeps ?(?:/ ?|per |a |of each )call\b|\bsleeps of\b|\bcounts? sleeps\b",
        "sleeps/call",
    ),
    Rule(
        "floor",
        "baseline (raw sockets), instrument overhead (loopback), A/A ratio (noise)",
        r"(?<![`.])\bfloor\b(?!\()",
        "the instrument's floor",
    ),
    Rule(
        "service (seen from a client)",
        "round trip; service time is the server's own, without queueing",
        r"\bservice (?:and|or) response times?\b|\bservice p\d+\b|\bservice (?:from|since) send\w*\b",
        "service p50",
    ),
    Rule(
        "response (from when due)",
        "response time (from the scheduled send time)",
        r"\bresponse p\d+\b|\bresponses? from when due\b|\bresponse from due\b",
        "response p99",
    ),
    Rule(
        "is gone on with",
        "is resumed",
        r"\b(?:gone|goes|going|go) on with\b|\bgoing on\b",
        "an unfinished run is gone on with",
    ),
    Rule(
        "quick and dear",
        "fast but CPU-hungry",
        r"\bquick(?:er|est)? and dear\b|\bCPU price\b|\bdear(?:er|est)?\b",
        "quick and dear",
    ),
    Rule(
        "lies, stands, is held against",
        "is, is compared with",
        r"\b(?:held|hold|holds|holding)\b(?: \w+){0,3} against\b|\blies (?:apart|within|between|above|below)\b"
        r"|\bstands against\b|\bhold side by side\b",
        "is held against the margin",
    ),
    Rule(
        "found no level, no steady state",
        "did not reach steady state",
        r"\bno level\b|\bno steady state\b",
        "most starts found no level",
    ),
    Rule("moods of the machine", "machine state, frequency or noise regime", r"\bmoods?\b", "users in moods"),
    Rule("drawn by lot", "in random order", r"\bby lot\b", "in an order drawn by lot"),
    Rule("of a call", "per call", r"\bof a call\b", "the CPU time of a call"),
    # from the table of sentences, before and after
    Rule("shares out", "distributes", r"\bshares? (?:the |its )?\w+ out\b", "how the kernel shares connections out"),
    Rule("bell curve", "normal distribution", r"\bbell curve\b", "a bell curve is assumed"),
    Rule(
        "no user's waiting, nothing is paced",
        "open loop; no request schedule",
        r"\busers?'?s? waiting\b|\busers do not wait\b|\bnothing is paced\b",
        "nothing is paced, and no user's waiting",
    ),
    Rule(
        "may you believe it",
        "how far to trust it",
        r"\bmay (?:you|I|it|they|we) (?:be )?believed?\b",
        "and may you believe it?",
    ),
    Rule(
        "is absent (a value)",
        "is left blank, is not reported",
        r"\bis absent\b|\babsent, not zero\b",
        "what a program does not give is absent",
    ),
    Rule("riddle", "unexplained", r"\briddles?\b", "a riddle"),
    Rule(
        "how many times the B is A?",
        "A divided by B: what is the ratio?",
        r"(?-i:How) many times (?:the|its|one|as (?:long|many|much))\b"
        r"|[,:] how many times (?:the|its|one|as (?:long|many|much))\b[^.?]*\?",
        "How many times the RTT of sockets is that of gRPC?",
    ),
    Rule("against itself", "A/A ratio", r"\bfrom itself\b|\bagainst itself\b", "A against itself"),
)


READABLE = (".md", ".yaml", ".j2", ".html", ".py", ".ipynb")
ROOMS = ("bench/", "certify/", "docs/", "notebooks/", "papermill_params/", "data/", "README.md", "CONTRIBUTING.md")
ANY = re.compile("|".join(f"(?:{rule.pattern})" for rule in RULES), re.I)


def check(tree: Tree) -> Iterator[Finding]:
    """Yield each retired word in documents, notebooks, files of parameters and teaching, and what modules say."""
    for name, text in tree.items():
        if name.startswith(ROOMS) and name.endswith(READABLE):
            for piece in pieces(name, text):
                for line, what in _retired(piece.text):
                    yield piece.finding(line, what)


def retired(text: str) -> list[str]:
    """Return the retired words of a text, each with its surroundings and what to write instead."""
    return [what for _, what in _retired(text)]


def _retired(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line of each retired word, counted from 0, and what to write; a phrase may go on in the next line."""
    flat = " ".join(text.split())
    for rule in RULES if ANY.search(flat) else ():
        for match in re.finditer(rule.pattern, flat, re.I):
            near = flat[max(0, match.start() - 40) : match.end() + 40]
            yield _line(text, flat.count(" ", 0, match.start())), f"{match[0]!r} in {near!r}; write {rule.write}"


def _line(text: str, word: int) -> int:
    """Return the line of a word, both counted from 0."""
    lines = [number for number, line in enumerate(text.split("\n")) for _ in line.split()]
    return lines[word] if lines else 0
