"""A plan: which cases an experiment measures, how often and how long; fixed before the first start."""

import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from bench import params, placement, systems
from bench.child import generators
from bench.contract import Address, Binding, parse_address
from bench.errors import UsageError

MOST_BYTES = 64 * 1024 * 1024
MOST_CLIENTS = 256
MOST_CALLS = 1_000_000
MOST_PER_S = 1_000_000
ARRIVALS = ("uniform", "poisson")
ENGINES = ("library", "wire", *generators.NAMES)
LEAST_WINDOW_S = 0.01
START_S = 0.065  # what a process of a start costs beside its window: an interpreter, connecting, writing
ROUTER_S = 7.0
CALL_S = 0.0004  # of one call, to tell how long client processes take


@dataclass(frozen=True)
class Case:
    """One combination of factors: everything needed to run one measurement.

    ``clients`` are processes, with ``callers`` in each: threads, or tasks of one event loop, a connection each.
    ``engine`` makes the calls: the system's own ``library``, the ``wire``, bare connections in one loop, or a program
    of ``bench.child.generators``, whose connections are the ``callers``. ``sessions`` are the client processes of a
    load ``session``, one after another: the calls that each makes, and their payload in bytes.
    """

    system: str
    transport: str
    payload_bytes: int = 1000
    options: dict[str, Any] = field(default_factory=dict)
    placement: str = "same"
    load: str = "closed"
    offered_per_s: float = 0.0
    arrivals: str = "uniform"
    clients: int = 1
    callers: int = 1
    engine: str = "library"
    target: str | None = None
    fresh_router: bool = False
    max_calls: int = MOST_CALLS
    sessions: tuple[tuple[int, int], ...] = ()

    @property
    def is_short(self) -> bool:
        """Whether the window ends early: the calls are limited, or nothing has to be waited for."""
        return self.max_calls < MOST_CALLS or self.system == "loopback" or self.load == "session"

    @property
    def sessions_s(self) -> float:
        """About how long the client processes of a load ``session`` take together, in seconds."""
        each_s = 0.1 + systems.constant(self.system, "START_S", START_S)
        return sum(each_s + CALL_S * calls for calls, _ in self.sessions)

    def __post_init__(self) -> None:
        """Refuse a combination that cannot be measured."""
        provided = systems.constant(self.system, "TRANSPORTS")
        if self.transport not in provided:
            raise UsageError(f"{self.system} has no transport {self.transport!r}: it has {', '.join(provided)}")
        if self.transport == "inproc" and self.clients != 1:
            raise UsageError("inproc lives in one process, so it takes clients 1; use ipc or tcp for more")
        if self.target is not None:
            self._check_target(parse_address(self.target))
        if self.load == "open":
            self._check_open()
        if self.engine not in ENGINES:
            raise systems.unknown("engine", self.engine, ENGINES)
        module = systems.load(self.system)
        if self.load == "stream" and not hasattr(module, "Receiver"):
            raise UsageError(f"{self.system} has no one-way streams (no Sender and Receiver in its file)")
        object.__setattr__(self, "options", params.option_values(module.Options, self.options, self.system))
        if self.load == "session":
            self._check_sessions()
        if self.engine == "wire":
            self._check_wire(module)
        if self.engine in generators.NAMES:
            known = ", ".join(systems.offering("url"))
            generators.check(self, module, known, limited=self.max_calls < MOST_CALLS)

    def _check_wire(self, module: Any) -> None:
        """Refuse a system that does not describe its wire, or options that the wire cannot carry out."""
        if self.load == "stream":
            raise UsageError("the engine wire makes calls, and a stream has none: give engine library")
        if not hasattr(module, "Wire") or self.transport == "inproc":
            known = ", ".join(systems.offering("Wire"))
            raise UsageError(
                f"{self.system} over {self.transport} has no engine wire: over ipc or tcp {known} have one"
            )
        try:
            module.Wire(module.Options(**self.options), Binding(self.transport, "").endpoint())
        except ValueError as reason:
            raise UsageError(f"{self.system}: {reason}, or engine library") from reason

    def _check_open(self) -> None:
        if self.transport == "inproc":
            raise UsageError("an open load needs a server that works while its clients wait: use ipc or tcp")
        if self.callers != 1 and self.engine != "wire":
            raise UsageError(
                "an open load is paced by client processes with one caller each: give clients, not callers"
            )
        if self.arrivals not in ARRIVALS:
            raise systems.unknown("arrivals", self.arrivals, ARRIVALS)
        params.positive(self.offered_per_s, "offered_per_s", MOST_PER_S, whole=False)

    def _check_sessions(self) -> None:
        if self.transport == "inproc" or self.engine != "library" or self.clients * self.callers != 1:
            raise UsageError("client processes run one at a time, with their own library, over ipc or tcp")
        if not self.sessions:
            raise UsageError("give at least one client process: how many calls it makes, and their payload")

    def _check_target(self, where: Address) -> None:
        if where.transport != self.transport:
            raise UsageError(f"target {self.target} is not reached over {self.transport}")
        if where.transport == "tcp" and where.port == 0:
            raise UsageError(f"target {self.target} has port 0, which no server listens at: give its real port")


@dataclass(frozen=True)
class Profile:
    """How much to measure: starts of each case, and the window of each start.

    The window shrinks from ``window_s`` down to ``least_window_s`` where the cases would otherwise take
    more than ``measuring_s`` in all.
    """

    starts: int
    window_s: float
    least_window_s: float
    measuring_s: float


PROFILES = {
    "smoke": Profile(starts=2, window_s=0.1, least_window_s=0.1, measuring_s=5),
    "class": Profile(starts=6, window_s=1.0, least_window_s=0.2, measuring_s=36),
    "full": Profile(starts=12, window_s=5.0, least_window_s=2.0, measuring_s=1200),
}


@dataclass(frozen=True)
class Plan:
    """The cases of one experiment and how they are repeated."""

    notebook: str
    cases: tuple[Case, ...]
    starts: int
    window_s: float
    seed: int
    profile: str
    absent: dict[str, str] = field(default_factory=dict)  # systems that cannot be measured here: what to do

    @property
    def expected_s(self) -> float:
        """How long all starts will take, in seconds."""
        return self.starts * sum(map(self._start_s, self.cases)) + ROUTER_S * len(self._routed())

    def _start_s(self, case: Case) -> float:
        each_s = systems.constant(case.system, "START_S", START_S)
        generator = generators.module(case.engine) if case.engine in generators.NAMES else None
        window_s = generator.seconds(self.window_s) if generator else self.window_s
        if case.is_short:  # until its calls are made, or all of its window if they are slow
            calls = 0 if case.system == "loopback" or case.sessions else case.max_calls / case.clients / case.callers
            window_s = min(window_s, CALL_S * calls)
        return window_s + each_s * (1 + case.clients) + case.sessions_s

    def _routed(self) -> set[str]:
        return {case.system for case in self.cases if systems.defines(case.system, "route")}

    @property
    def hash8(self) -> str:
        """Eight hexadecimal digits that are equal for equal plans."""
        return hashlib.sha256(json.dumps(self.as_dict(), sort_keys=True).encode()).hexdigest()[:8]

    def order(self) -> Iterator[tuple[int, int, int]]:
        """Yield (start, block, case index): every case once a block, in a random order that the seed fixes."""
        chance = random.Random(self.seed)
        indices = list(range(len(self.cases)))
        for block in range(self.starts):
            chance.shuffle(indices)
            for place, case in enumerate(indices):
                yield block * len(indices) + place, block, case

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as JSON holds it."""
        return json.loads(json.dumps(asdict(self)))

    def __str__(self) -> str:
        """Say what will be measured and how long that takes."""
        processes = max(len(case.sessions) for case in self.cases)
        each = f"{processes} client processes in each" if processes else f"windows of {self.window_s:g} s"
        many = f"{len(self.cases)} cases x {self.starts} starts, {each}"
        return f"{many}, profile {self.profile}: about {self.expected_s:.0f} s"


def make_plan(
    notebook: str,
    cases: list[Case],
    profile: str = "class",
    starts: object = None,
    window_s: object = None,
    seed: object = 1,
    absent: dict[str, str] | None = None,
) -> Plan:
    """Return a validated plan; ``starts`` and ``window_s`` override the profile's."""
    profile = params.one_name(profile, "profile", list(PROFILES))
    usual = PROFILES[profile]
    starts = usual.starts if starts is None else int(params.positive(starts, "starts", 1000))
    if window_s is None:
        share = usual.measuring_s / (starts * sum(not case.is_short for case in cases) or 1)
        window_s = round(min(usual.window_s, max(usual.least_window_s, share)), 2)
    else:
        window_s = params.positive(window_s, "window_s", 3600, whole=False)
        if window_s < LEAST_WINDOW_S:
            raise UsageError(f"window_s must be at least {LEAST_WINDOW_S} s: less says nothing")
    order = int(params.positive(seed, "seed", 2**31))
    return Plan(notebook, tuple(cases), starts, window_s, order, profile, absent or {})


def plan_from_dict(stored: dict[str, Any]) -> Plan:
    """Return the plan that a manifest holds, without asking whether its systems are installed here."""
    cases = []
    for item in stored["cases"]:
        case = object.__new__(Case)
        case.__dict__.update(item | {"sessions": tuple(map(tuple, item.get("sessions", ())))})
        cases.append(case)
    return replace(Plan(**{**stored, "cases": ()}), cases=tuple(cases))


def placement_of(value: object, parallel: bool = False) -> str:
    """Return the placement asked for; "default" is this machine's default for that kind of work."""
    if value in ("default", None):
        return placement.default(parallel)
    return params.one_name(value, "placement", list(placement.PLACEMENTS))
