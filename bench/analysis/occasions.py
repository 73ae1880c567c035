"""Occasions: what is kept of each run of one plan, small enough to be committed."""

import math
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from bench.analysis import checks
from bench.analysis.comparison import SAME_AS_ABSENT, ratios, values
from bench.errors import DataError
from bench.plan.case import BASELINE, Case
from bench.plan.placement import IN_WORDS
from bench.run.frames import P50, Run
from bench.stats import intervals
from bench.stats.meta_analysis import standard_error
from bench.text import counted

VERSION = 1
CPU, RATE = "cpu_us_per_call", "rate_per_s"
RTT_RATIO, CPU_RATIO, RATE_RATIO = "RTT", "CPU time per call", "calls/s"
NAMED = ("system", "transport", "payload_bytes", "placement", "clients", "message")  # of a case, in its words


class Estimate(Struct, frozen=True):
    """ln of a ratio in one occasion, with its standard error, from so many blocks."""

    ln: float
    error: float
    blocks: int


class Measured(Struct, frozen=True, omit_defaults=True):
    """One case in one occasion: its factors that are not the usual ones, its ratios, and its own level.

    over: the case that the ratios divide by, in words; "" where it is such a case itself. ratios: by the quantity.
    p50_us: median RTT. cpu_us: CPU time per call of all roles. rate_per_s: calls per second.
    """

    case: dict[str, Any]
    over: str = ""
    ratios: dict[str, Estimate] = {}
    p50_us: float | None = None
    cpu_us: float | None = None
    rate_per_s: float | None = None

    @property
    def words(self) -> str:
        """The case in words: system, transport, placement, and what else is not usual."""
        return in_words(self.case)

    @property
    def place(self) -> tuple[str, str, int]:
        """Transport, placement and number of clients."""
        return self.case["transport"], self.case.get("placement", "same"), self.case.get("clients", 1)


class Machine(Struct, frozen=True):
    """The machine of an occasion; ``machine_id`` is salted."""

    machine_id: str
    cpu_model: str
    cpus_allowed: int
    system: str
    kernel: str
    virtual: bool | None = None

    @property
    def words(self) -> str:
        """The machine in words."""
        virtual = "virtual, " if self.virtual else ""
        return f"{self.cpu_model}, {counted(self.cpus_allowed, 'CPU')}, {virtual}{self.system} {self.kernel}"


class Occasion(Struct, frozen=True):
    """What is kept of one run of a plan: small enough to be committed, where the run itself has megabytes."""

    run: str
    utc: str
    minutes: float
    machine: Machine
    revision: str | None
    dirty: bool | None
    checks: str
    rows: list[Measured]

    @property
    def began(self) -> datetime:
        """When it began."""
        return datetime.fromisoformat(self.utc)

    def levels(self, quantity: str) -> dict[tuple[str, str, str], float]:
        """Return p50_us or cpu_us with one client, by system, transport and placement; of twins the first."""
        levels: dict[tuple[str, str, str], float] = {}
        for row in self.rows:
            transport, placement, clients = row.place
            if clients == 1 and (value := getattr(row, quantity)):
                levels.setdefault((row.case["system"], transport, placement), float(value))
        return levels


class Replicated(Struct, frozen=True):
    """The occasions of a notebook's plan."""

    version: int
    notebook: str
    occasions: list[Occasion]


def of_run(run: Run) -> Occasion:
    """Return what is kept of a run; DataError for one that is not finished."""
    manifest = run.manifest
    if not manifest["finished"]:
        raise DataError(f"run {run.id} is not finished: resume it with -p resume true")
    checks.refuse_invalid(run)
    machine = msgspec.convert({name: manifest["machine"].get(name) for name in Machine.__struct_fields__}, Machine)
    bases = baselines(run)
    return Occasion(
        run=manifest.get("id") or run.id,
        utc=datetime.fromisoformat(manifest["created"]).astimezone(UTC).isoformat(timespec="seconds"),
        minutes=minutes(run),
        machine=machine,
        revision=manifest["git"]["revision"],
        dirty=manifest["git"]["dirty"],
        checks=str(checks.tally(run)),
        rows=[_measured(run, case, bases) for case in run.numbers if run.case(case).system != "loopback"],
    )


def minutes(run: Run) -> float:
    """Return how long a run took, from its beginning to the end of its last window; 0 where that is not known."""
    begun = run.ledger["utc"].dropna()
    if begun.empty:
        return 0.0
    last = begun.idxmax()
    ended = datetime.fromisoformat(begun[last]) + timedelta(seconds=float(run.ledger.loc[last, "window_s"]))
    return round(max(0.0, (ended - datetime.fromisoformat(run.manifest["created"])).total_seconds()) / 60, 2)


def baselines(run: Run) -> dict[int, tuple[int, tuple[str, ...]]]:
    """Return for each case that has a headline ratio the case to divide by, and the quantities.

    overview: raw sockets over the same transport under the same placement; of two clients the calls per second of one.
    compare: B over A; else each case over the first. Twins, equal cases under two names, are no headline.
    """
    cases = [case for case in run.numbers if run.case(case).system != "loopback"]
    if run.plan.notebook != "overview":
        others = [case for case in cases if run.case(case) != run.case(cases[0])]
        return dict.fromkeys(others, (cases[0], (RTT_RATIO, CPU_RATIO)))
    bases: dict[int, tuple[int, tuple[str, ...]]] = {}
    for case in cases:
        case_factors = run.case(case)
        system = BASELINE if case_factors.clients == 1 else case_factors.system
        base = run.first(system=system, transport=case_factors.transport, placement=case_factors.placement, clients=1)
        if base is not None and run.case(base) != case_factors:  # its twin is an A/A pair
            bases[case] = (base, (RTT_RATIO, CPU_RATIO) if case_factors.clients == 1 else (RATE_RATIO,))
    return bases


COLUMNS = {RTT_RATIO: P50, CPU_RATIO: CPU, RATE_RATIO: RATE}


def _measured(run: Run, case: int, bases: dict[int, tuple[int, tuple[str, ...]]]) -> Measured:
    base, quantities = bases.get(case, (None, ()))
    estimates = {} if base is None else {name: _estimate(run, base, case, COLUMNS[name]) for name in quantities}
    return Measured(
        case=factors(run.case(case)),
        over="" if base is None else in_words(factors(run.case(base))),
        ratios={name: estimate for name, estimate in estimates.items() if estimate},
        p50_us=_level(run, case, P50),
        cpu_us=_level(run, case, CPU),
        rate_per_s=_level(run, case, RATE),
    )


def _estimate(run: Run, base: int, case: int, name: str) -> Estimate | None:
    """Return ln(case / base): the Hodges-Lehmann median over blocks; None where no block has both."""
    logs = ratios(run, base, case, name).to_numpy()
    if len(logs) < 2:
        return None
    shift = intervals.paired_shift(logs)
    error = standard_error(shift, len(logs)) if shift.has_ends else float(np.std(logs, ddof=1)) / math.sqrt(len(logs))
    return Estimate(round(shift.middle, 5), round(error, 5), len(logs))


def _level(run: Run, case: int, name: str) -> float | None:
    level = float(values(run, case, name).median())
    return None if math.isnan(level) else float(f"{level:.4g}")


def factors(case: Case) -> dict[str, Any]:
    """Return the factors of a case that are not the usual ones; of options those that do not mean the same as none."""
    usual = Case("", "")
    changed = {
        field.name: value
        for field in fields(case)
        if (value := getattr(case, field.name)) != getattr(usual, field.name)
    }
    options = {name: value for name, value in case.options.items() if value not in SAME_AS_ABSENT.get(name, ())}
    changed.pop("content", None)  # a user's own message, which its name stands for
    return {name: value for name, value in (changed | {"options": options}).items() if value != {}}


def in_words(case: dict[str, Any]) -> str:
    """Return the factors of a case in words, its options left out."""
    factor = {name: case.get(name, getattr(Case("", ""), name)) for name in NAMED}
    more = [f"{factor['payload_bytes']:,} B"] * (factor["payload_bytes"] != 1000)
    more += [counted(factor["clients"], "client")] * (factor["clients"] > 1)
    more += [factor["message"]] * (factor["message"] != "bytes")
    return " ".join([factor["system"], factor["transport"], IN_WORDS[factor["placement"]], *more])


def key(*parts: object) -> str:
    """Return a text that is equal for equal cases."""
    return msgspec.json.encode(parts, order="sorted").decode()
