"""The certificate of a load generator: its scenarios run against the oracle's front, and what the checks found."""

import platform
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import psutil

from bench.errors import BenchError, SystemFailedError
from bench.text import capitalized, counted, quantity
from certify import arrival_checks, cpu_of_others, load_checks, path_times, running, stream_checks, time_checks
from certify.check import HELD, NOT_DECIDED, NOT_HELD, Check, outcome
from certify.generator_file import GeneratorFile
from certify.observation import Observation, PathTimes
from certify.protocol_front import Front
from certify.scenarios import Scenario

MOST_OF_OTHERS = 0.05  # share of the CPU time of a machine that is quiet enough to blame a generator for long times
TIMES = (*time_checks.QUANTILES, *stream_checks.NAMES["ttft"], *stream_checks.NAMES["gap"])
LATE = ("schedule", *TIMES)  # checks whose found values are larger where a machine is busy
VERSION = re.compile(r"(?<![\w.])v?(\d+(?:\.\d+)+)")  # of a program; not of go1.22, with which it was built
VERSION_S = 20.0  # for a program to print its version
VERDICTS = {HELD: "certified", NOT_HELD: "not certified", NOT_DECIDED: "not decided"}
STATUSES = {HELD: 0, NOT_HELD: 1, NOT_DECIDED: 2}


@dataclass(frozen=True)
class Section:
    """One scenario of a certificate: what was seen, and its checks."""

    seen: Observation
    checks: list[Check]


@dataclass(frozen=True)
class Certificate:
    """All of it.

    version: the number that the program prints of it. paths: what the way to the front adds, of each kind of load.
    """

    generator: GeneratorFile
    version: str
    paths: dict[str, PathTimes]
    sections: list[Section]

    @property
    def name(self) -> str:
        """The generator's name, with the number of its version."""
        return self.generator.name + (f" ({self.version})" if self.version else "")

    @property
    def checks(self) -> list[Check]:
        """The checks of all its scenarios."""
        return [check for section in self.sections for check in section.checks]

    @property
    def outcome(self) -> str:
        """The verdict of all its checks."""
        return outcome(self.checks)

    @property
    def exit_status(self) -> int:
        """0: certified; 1: not certified; 2: not decided."""
        return STATUSES[self.outcome]


def certify(generator: GeneratorFile, scenarios: Iterable[Scenario], say: Callable[[str], None]) -> Certificate:
    """Run the scenarios; ``say`` gets a line before each. NotInstalledError if the program is missing.

    A scenario in which a check is not held is run again: a check that is held then is not decided.
    """
    program, protocol, observations = generator.program, generator.says.protocol, []
    before = path_times.measure(protocol=protocol)
    for scenario in scenarios:
        say(f"{scenario.name}: {scenario.title}")
        observations.append(observe(generator, program, scenario))
    after = path_times.measure(protocol=protocol)
    paths = {load: path.or_more(before[load]) for load, path in after.items()}

    def judged(seen: Observation) -> Section:
        scenario, path = seen.scenario, paths[seen.scenario.load]
        first = checks(seen := replace(seen, path=path))
        if all(check.verdict != NOT_HELD for check in first):
            return Section(seen, first)
        say(f"{scenario.name}, again: {scenario.title}")
        again = replace(observe(generator, program, scenario), path=path)
        return Section(seen, unless_held_again(first, checks(again)))

    return Certificate(generator, version(generator), paths, [judged(seen) for seen in observations])


def observe(generator: GeneratorFile, program: str, scenario: Scenario) -> Observation:
    """Run one scenario; whatever the generator does, it is over soon after the scenario's duration."""
    says = generator.says
    with cpu_of_others.metered() as others, Front(scenario.service, protocol=says.protocol) as front:
        load = (scenario.connections, scenario.duration_s, scenario.requests, scenario.service.mean_us)
        words = generator.words(scenario.load, front.url, scenario.rate_per_s, *load)
        ready_cpu_s = front.cpu_s
        ended = running.run([program, *words[1:]], scenario.duration_s + running.GRACE_S)
        front_cpu_s = front.cpu_s - ready_cpu_s
        whole = front.end()
    due = scenario.rate_per_s * scenario.duration_s if scenario.rate_per_s and scenario.can_be_delivered else None
    known = scenario.connections * says.warm_up
    record = whole.without_first(known) if known else whole.after_warm_up(scenario.connections, due)
    reported, problem = None, ""
    try:
        reported = generator.read(ended.stdout, ended.stderr)
    except SystemFailedError as reason:
        problem = capitalized(f"{reason}.")
    return Observation(
        scenario,
        says.schedule,
        record,
        ended,
        reported,
        problem,
        warm_up=len(whole.requests) - len(record.requests),
        others_share=others.share,
        front_cpu_s=front_cpu_s,
        protocol=says.protocol,
        shares_connections=says.share == "connections",
        is_counted=generator.is_counted(scenario.load),
    )


def checks(seen: Observation) -> list[Check]:
    """Return all checks of a scenario; none is decided by a record that is not whole."""
    all_checks = [*load_checks.of_load(seen), *arrival_checks.of_arrivals(seen), *time_checks.of_times(seen)]
    all_checks += stream_checks.of_streams(seen)
    if seen.record.is_whole:
        return [unless_disturbed(check, seen) for check in all_checks]
    why = f"the front's record has no more room than {quantity(len(seen.record.requests))} requests"
    return [check.undecided(why) for check in all_checks]


def unless_held_again(first: Sequence[Check], second: Sequence[Check]) -> list[Check]:
    """Return the checks of a first run, those as not decided that are not held in it only."""
    again = {check.name: check.verdict for check in second}

    def decided(check: Check) -> Check:
        verdict = again.get(check.name, NOT_DECIDED)
        if check.verdict != NOT_HELD or verdict == NOT_HELD:
            return check
        return check.undecided(f"in a second run it was {verdict}")

    return [decided(check) for check in first]


def unless_disturbed(check: Check, seen: Observation) -> Check:
    """Return a check, as not decided if it found times too long while other processes used the CPUs.

    A mean of a closed load that is too long is so on a busy machine too: Little's law bounds it.
    """
    is_time = check.name in LATE or (check.name == "mean" and seen.is_open)
    is_late = is_time and (check.found or 0.0) > (check.expected or 0.0)
    if check.verdict != NOT_HELD or not is_late or seen.others_share <= MOST_OF_OTHERS:
        return check
    return check.undecided(f"other processes used {seen.others_share:.0%} of the machine's CPU time")


def machine() -> str:
    """Return this machine in words: system, architecture and number of CPUs."""
    return f"{platform.system()} {platform.machine()}, {counted(psutil.cpu_count() or 1, 'CPU')}"


def version(generator: GeneratorFile) -> str:
    """Return the first number that a program prints of its version; "" if it prints none."""
    if not (words := generator.version_words):
        return ""
    try:
        ended = running.run(words, VERSION_S)
    except BenchError:
        return ""
    match = VERSION.search(f"{ended.stdout}\n{ended.stderr}")
    return match[1] if match else ""
