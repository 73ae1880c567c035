"""Words that this project no longer uses in text for readers, and what to write instead (plain technical English).

Each pair is a regular expression, to be searched without regard to case, and its replacement. Left out, because they
have other uses that no expression can exclude: "law" of a server (Little's law, Amdahl's law), "full" (full reply,
profile `full`), "line" (command line, line of a figure), "start" and "engine" (names of parameters), "service" (Web
service), "kept" and "lost" (kept files, lost packets), "middle" where it is a place. Their plain misuses are listed.
"""

import re

RETIRED: tuple[tuple[str, str], ...] = (
    (r"\bforet(?:old|ells?|elling)\b", "predicted, predicts, predict"),
    (r"\btold apart\b|\bcannot be told from\b|\bnot told from\b", "distinguishable, not distinguishable"),
    (r"\bis told\b|\btells (?:the|a|how|what|which|whether)\b", "reports, shows, is known"),
    (r"\bin the middle\b(?! (?:of|between)\b)", "the median"),
    (r"\bmiddle of the (?:starts|pairs|machines)\b|\b(?:its|their) middles?\b", "median"),
    (r"\bstroke\b|\btick on top\b", "bar, line, marker"),
    (r"\b(?:wait(?:s|ing)? in|the) line (?:grow|stay|stand)\w*\b|\bwait(?:s|ing)? in line\b", "queue"),
    (r"\b(?:CPUs?|server|worker|thread|core)s? (?:is|are|was|were|will be) full\b", "saturated, at 100 %"),
    (r"\b(?:of|by|with) (?:a )?known law\b|\bits law\b|\bservice[- ]time law\b", "distribution of service times"),
    (r"\bkept up\b|\bobjective (?:is|was) (?:kept|lost)\b|\bkept or lost\b", "met, violated (an SLO)"),
    (r"\bexpanded (?:closed )?(?:loop|curve|calls?)\b", "corrected for coordinated omission"),
    (r"\bsleeps per call\b|\bsleeps of\b", "voluntary context switches"),
    (
        r"\b(?:the|its own|own|from the|above the|under the|noise) floor\b",
        "baseline (raw sockets), instrument overhead (loopback), A/A ratio",
    ),
    (r"\bservice (?:and|or) response times?\b", "round trip and response time"),
    (r"\b(?:is|be) gone on with\b", "is resumed"),
    (r"\bquick(?:er|est)? and dear\b|\bCPU price\b|\bdear(?:er|est)?\b", "CPU-hungry, costs more CPU time"),
    (r"\bheld against\b|\bhold(?:s|ing)? (?:it|them|itself|a case) against\b", "is compared with"),
    (r"\bfound no level\b", "did not reach steady state"),
    (r"\bmoods?\b", "machine state, frequency or noise regimes"),
    (r"\bdrawn by lot\b|\bby lot\b", "in random order"),
    (r"\b(?:CPU(?: time)?|cost|price|bytes|writes|switches) of a call\b", "per call"),
    (r"\bshares? (?:the |its )?\w+ out\b", "distributes"),
    (r"\bbell curve\b", "normal distribution"),
    (r"\bno users?'?s? waiting\b|\busers do not wait\b", "open loop"),
    (r"\bmay you believe\b", "how far to trust it"),
)


def found(text: str) -> list[str]:
    """Return the retired words of a text, each with what to write instead."""
    prose = re.sub(r"\s+", " ", text)
    return [
        f"{match[0]!r}: write {instead}"
        for pattern, instead in RETIRED
        for match in re.finditer(pattern, prose, re.IGNORECASE)
    ]
