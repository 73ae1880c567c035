"""``python -m benchmarks.check_alarms [RUNS]``: how often each check of the trust card fails on this machine.

It measures the plan of the latency notebook RUNS times (10 by default) and prints for each check in how many runs it
was neither PASS nor N/A, with the distinct findings. On a quiet machine a statistical check should fail in at most 5 %
of them, and the others in none. Environment variables: PROFILE (class by default), WINDOW_S and STARTS (the profile's
by default).
"""

import os
import sys
import tempfile
from collections import Counter, defaultdict

from bench.analysis import checks, trust_card
from bench.experiments import registry
from bench.measurement import runner
from bench.run.frames import Run
from bench.validation.estimate import described


def main() -> None:
    """Measure, and print the counts after each run, so that an interrupted series is not in vain."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    options = {name: os.environ.get(name.upper()) for name in ("starts", "window_s")}
    plan = registry.plan("latency", profile=os.environ.get("PROFILE", "class"), **options)
    print(f"{runs} runs of {described(plan)} each", flush=True)
    alarms: Counter[str] = Counter()
    findings: defaultdict[str, list[str]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ROUNDTRIP_RUNS"] = folder
        for number in range(1, runs + 1):
            found = checks.check(Run(runner.run(plan)))
            for one in found:
                if one.verdict not in (trust_card.PASS, trust_card.NOTHING):
                    alarms[one.name] += 1
                    findings[one.name].append(f"run {number}, {one.verdict}: {one.found}")
            print(f"run {number}: {trust_card.tally(found)}", flush=True)
    for check in checks.ALL:
        name = check.__name__
        print(f"{name:14}{alarms[name]:4} of {runs}")
        for text in findings[name]:
            print(f"{'':14}{text}")


if __name__ == "__main__":
    main()
