"""What a check finds: a verdict with its reasons; and which checks cannot be made without samples."""

import functools
from collections.abc import Callable
from dataclasses import asdict, dataclass

from bench.run.frames import Run
from bench.text import listed

PASS, CAUTION, INVALID = "PASS", "CAUTION", "INVALID"


@dataclass(frozen=True)
class Check:
    """One check's outcome."""

    name: str
    verdict: str
    found: str
    advice: str = ""

    def as_dict(self) -> dict[str, str]:
        """Return the check as the manifest stores it."""
        return asdict(self)


def outcome(name: str, passed: bool, found: str, advice: str) -> Check:
    """Return a check that passed, or a caution with what to do."""
    return Check(name, PASS, found) if passed else Check(name, CAUTION, found, advice)


def whole(run: Run) -> list[int]:
    """Return the cases of calls that fill a window, with a server."""
    return [int(i) for i in run.cases.index if run.plan.cases[i].load != "stream" and not run.plan.cases[i].is_short]


def sampled(run: Run) -> list[int]:
    """Return those of them whose calls have samples."""
    return [case for case in whole(run) if not run.case(case).generator]


def of_samples(check: Callable[[Run], Check]) -> Callable[[Run], Check]:
    """Return a check that says for which cases it was not made, because a load generator gives no samples."""

    @functools.wraps(check)
    def made(run: Run) -> Check:
        silent = [int(case) for case in run.cases.index if run.case(case).generator]
        if not silent:
            return check(run)
        without = f"no samples of {listed(dict.fromkeys(run.case(case).generator for case in silent))}"
        advice = "a report cannot answer this: the engines library and wire give samples"
        if len(silent) == len(run.cases):
            return Check(check.__name__, CAUTION, f"not checked: {without}", advice)
        one = check(run)
        others = f" and {len(silent) - 1} others" if len(silent) > 1 else ""
        told = f"{one.found}; not checked for {run.labels[silent[0]]}{others}: {without}"
        return Check(one.name, CAUTION if one.verdict == PASS else one.verdict, told, one.advice or advice)

    return made
