"""Words that text for readers no longer uses, and the standard terms to write instead: the one list of them.

A rule's pattern is the retired use alone, searched without regard to case: technical uses of the same word pass
("Little's law", "full reply", "command line", "kept files", "sleep" of a process). Two words stay as the names of
parameters and are introduced where a reader meets them first: ``INTRODUCED``.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple


class Rule(NamedTuple):
    """A retired use of a word, what to write instead, and the expression that finds it."""

    retired: str
    write: str
    pattern: str


RULES = (
    Rule("foretold, foretells", "predicted, predicts", r"\bforet(?:old|ells?|elling)\b"),
    Rule(
        "told apart",
        "distinguishable, not distinguishable",
        r"\bt(?:old|ell|ells|elling) (?:\w+ ){0,4}apart\b|\b(?:cannot be|not) told from\b|\bdrawn apart\b"
        r"|\bapart from chance\b",
    ),
    Rule(
        "told, tells (of a value)",
        "reports, shows, is known",
        r"\btold\b|\btells\b|(?<!`)\btelling\b|\bto tell\b"
        r"|\btell (?:of|which|whether|how|what|that|why)\b",
    ),
    Rule(
        "middle (of starts)",
        "median",
        r"\bin the middle\b(?! (?:of|between)\b)|\bmiddles? of the (?:starts|pairs|machines|ratios|blocks)\b"
        r"|\b(?:its|their|whose) middles?\b",
    ),
    Rule("stroke, tick on top", "bar, line, marker", r"\bstrokes?\b|\btick on top\b"),
    Rule(
        "line, wait in line",
        "queue",
        r"\bthe line grows?\b|\b(?:wait|stand)(?:s|ing)? in line\b",
    ),
    Rule(
        "full (a CPU)",
        "saturated, at 100 %",
        r"\b(?:CPUs?|server|worker|thread|core)s? (?:is|are|was|were|will be) full\b|\bfull CPUs?\b"
        r"|\bnothing (?:there )?is full\b|\btime left in\b",
    ),
    Rule(
        "law (of a server)",
        "distribution (of service times)",
        r"\b(?:of|by|with) (?:a )?known law\b|\bits law\b|\bservice(?:[- ]time)? law\b"
        r"|\blaw of (?:the )?(?:server|service)\w*\b",
    ),
    Rule(
        "kept, lost, kept up (an objective)",
        "met, violated (an SLO)",
        r"\bkept up\b|\bkept or lost\b|\b(?:objective|SLO|limit|bound)s? (?:is|are|was|were) (?:kept|lost)\b"
        r"|\b(?:keeps?|kept|keeping|loses?|lost|losing) (?:an |the |its |this )?(?:objective|SLO)\b",
    ),
    Rule(
        "expanded (closed loop)",
        "corrected for coordinated omission",
        r"\bexpanded\b",
    ),
    Rule(
        "sleeps (counts)",
        "voluntary context switches",
        r"\bsleeps ?(?:/ ?|per |a |of each )call\b|\bsleeps of\b|\bcounts? sleeps\b",
    ),
    Rule(
        "floor",
        "baseline (raw sockets), instrument overhead (loopback), A/A ratio (noise)",
        r"(?<![`.])\bfloor\b(?!\()",
    ),
    Rule(
        "service (seen from a client)",
        "round trip; service time is the server's own, without queueing",
        r"\bservice (?:and|or) response times?\b|\bservice p\d+\b|\bservice (?:from|since) send\w*\b",
    ),
    Rule(
        "response (from when due)",
        "response time (from the scheduled send time)",
        r"\bresponse p\d+\b|\bresponses? from when due\b|\bresponse from due\b",
    ),
    Rule("is gone on with", "is resumed", r"\b(?:gone|goes|going|go) on with\b|\bgoing on\b"),
    Rule("quick and dear", "fast but CPU-hungry", r"\bquick(?:er|est)? and dear\b|\bCPU price\b|\bdear(?:er|est)?\b"),
    Rule(
        "lies, stands, is held against",
        "is, is compared with",
        r"\b(?:held|hold|holds|holding)\b(?: \w+){0,3} against\b|\blies (?:apart|within|between|above|below)\b"
        r"|\bstands against\b|\bhold side by side\b",
    ),
    Rule("found no level, no steady state", "did not reach steady state", r"\bno level\b|\bno steady state\b"),
    Rule("moods of the machine", "machine state, frequency or noise regime", r"\bmoods?\b"),
    Rule("drawn by lot", "in random order", r"\bby lot\b"),
    Rule("of a call", "per call", r"\bof a call\b"),
    # from the table of sentences, before and after
    Rule("shares out", "distributes", r"\bshares? (?:the |its )?\w+ out\b"),
    Rule("bell curve", "normal distribution", r"\bbell curve\b"),
    Rule(
        "no user's waiting, nothing is paced",
        "open loop; no request schedule",
        r"\busers?'?s? waiting\b|\busers do not wait\b|\bnothing is paced\b",
    ),
    Rule("may you believe it", "how far to trust it", r"\bmay (?:you|I|it|they|we) (?:be )?believed?\b"),
    Rule("is absent (a value)", "is left blank, is not reported", r"\bis absent\b|\babsent, not zero\b"),
    Rule("riddle", "unexplained", r"\briddles?\b"),
    Rule("against itself", "A/A ratio", r"\bfrom itself\b|\bagainst itself\b"),
)

INTRODUCED = {"starts": "repetitions with fresh processes", "engine": "load generator"}  # parameter: in its comment


def texts(*pieces: str) -> Iterator[str]:
    """Yield each text on one line."""
    for piece in pieces:
        yield re.sub(r"\s+", " ", piece)


def found(*pieces: str) -> list[str]:
    """Return the retired words of some texts, each with its surroundings and what to write instead."""
    return [
        f"{match[0]!r} in {text[max(0, match.start() - 40) : match.end() + 40]!r}: write {rule.write}"
        for text in texts(*pieces)
        for rule in RULES
        for match in re.finditer(rule.pattern, text, re.IGNORECASE)
    ]
