"""The language of texts that users read: retired words with the standard terms, and the files that are tested.

A rule is a regular expression for the retired use alone: technical uses of the same word must pass.
"""

RETIRED = {
    r"\bforetold\b|\bforetells?\b": "predicted, predicts",
    r"\btold\b|\btells\b|\btelling\b|\bto tell\b|\btell (of|which|whether|how|what|that)\b": "reports, shows, is known",
    r"\bmoods?\b": "machine state, frequency or noise regime",
    r"\bby lot\b": "in random order",
    r"\bof a call\b": "per call",
    r"\b(held|hold|holds|holding)\b(?: \w+){0,3} against\b": "compared with",
    r"\b(gone|goes|going) on with\b|\bgo on with -p\b|\bGoing on\b": "resumed",
    r"\bno level\b|\bno steady state\b": "did not reach steady state",
    r"(?<!`)\bfloor\b": "baseline (raw sockets), instrument overhead (loopback), A/A ratio (noise)",
    r"\bsleeps (per|a|of each) call\b|\bcounts? sleeps\b": "voluntary context switches",
    r"\bCPUs? (is|are|was|were) full\b|\bnothing (there )?is full\b|\bfull CPUs?\b|\btime left in\b": "saturated",
    r"\bquick and dear\b|\bdear\b": "fast but CPU-hungry",
    r"\bservice law\b|\blaw of the (server|service)\b": "distribution of service times",
    r"\b(keeps?|kept|loses?|lost) (an |the |its )?(objective|SLO)\b|\b(objective|SLO) is (kept|lost)\b|\bkept up\b": (
        "met, violated (an SLO)"
    ),
    r"\bstrokes?\b|\btick on top\b": "bar, line, marker",
    r"\b(wait|waits|waiting) in line\b": "queue",
    r"\bnothing is paced\b|\busers?'s? waiting\b": "no request schedule, so response times are not reported",
    r"\briddles?\b": "unexplained",
    r"\bdrawn apart\b|\bapart from chance\b": "distinguishable",
    r"\bfrom itself\b|\bagainst itself\b": "A/A ratio",
}

FILES = (  # relative to bench; a folder means all Python files in it
    *("__init__.py", "__main__.py", "channel.py", "contract.py", "environments.py", "errors.py", "installer.py"),
    *("paths.py", "process.py", "programs.py", "text.py"),
    *(f"analysis/{name}.py" for name in ("checks", "card", "comparison", "verdicts", "budget", "overload")),
    *("analysis/quantiles.py", "analysis/stationarity.py", "apps/exploring"),
    *(f"apps/{name}.py" for name in ("cli", "notebook", "unattended", "doctor", "listing", "code")),
    *("measurement", "plan", "run", "systems", "child"),
)
NOT_YET = ("systems/oracle.py",)
