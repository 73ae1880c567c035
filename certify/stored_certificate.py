"""Certificates of several load generators, side by side: a row for each, from files that ``certify --json`` wrote."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bench.errors import BENCH, DataError
from bench.plan import documents
from bench.text import all_harmless
from certify import stream_checks
from certify.certificate import VERDICTS
from certify.certificate_report import FORMAT
from certify.check import HELD, NOT_DECIDED, NOT_HELD, worst
from certify.load_checks import RESENT
from certify.protocols import PROTOCOLS

P99 = "p99"
RESENT_ONLY = f"{VERDICTS[NOT_DECIDED]}: only whether failed requests were sent again"
OWN = "roundtrip"  # this project's load generator
ALL_SENT = 0.98  # of the requests due, that a load sends although its connections cannot carry so many
GROUPS = {  # kinds of checks, as the figure names them
    "ends, reports": ("exit", "report", "arrivals"),
    "rate delivered": ("rate-delivered",),
    "schedule": ("schedule",),
    "open while frozen": ("open-in-freeze",),
    "connections": ("connections", "shares", "concurrency"),
    "duration": ("window", "window-reported"),
    "requests, rate": ("requests", "rate-reported", "streams-read"),
    "errors": ("errors",),
    "median": ("p50",),
    "mean": ("mean",),
    "tail": ("p90", "p95", P99, "p99.9", "max"),
    "resolution": ("resolution",),
    "first token": tuple(stream_checks.NAMES["ttft"]),
    "between tokens": tuple(stream_checks.NAMES["gap"]),
}

LOAD = frozenset({  # checks of the load that was delivered; the others are of what is reported
    "exit", "arrivals", "rate-delivered", "schedule", "open-in-freeze", "connections", "shares", "concurrency",
    "window", "streams-read",
})  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One certificate. document: as ``certify --json`` wrote it. is_stored: it was not made here and now."""

    document: dict[str, Any]
    is_stored: bool = True

    @property
    def generator(self) -> str:
        """The generator's name."""
        return str(self.document["generator"])

    @property
    def name(self) -> str:
        """The generator, with the number of its version."""
        return f"{self.generator} {self.document['version']}".strip()

    @property
    def made_on(self) -> str:
        """The machine and the date."""
        return f"{self.document['machine']}, {self.document['date']}"

    def scenario(self, name: str) -> dict[str, Any]:
        """Return what was seen in a scenario; empty where the generator cannot make its load."""
        return next((scenario for scenario in self.document["scenarios"] if scenario["name"] == name), {})

    def check(self, scenario: str, name: str) -> dict[str, Any]:
        """Return one check; empty where it is not made."""
        return next((check for check in self.scenario(scenario).get("checks", ()) if check["name"] == name), {})

    def checks(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield every check with the name of its scenario."""
        for scenario in self.document["scenarios"]:
            for check in scenario["checks"]:
                yield scenario["name"], check

    @property
    def verdict(self) -> str:
        """The verdict in words, and what alone is not decided."""
        undecided = [check for _, check in self.checks() if check["verdict"] != HELD]
        return RESENT_ONLY if undecided and all(map(is_of_resent, undecided)) else str(self.document["verdict"])

    @property
    def tool(self) -> str:
        """The name of the program, which may have a certificate for each of several protocols."""
        tool, _, protocol = self.generator.rpartition("-")
        return tool if protocol in PROTOCOLS else self.generator

    def holds(self, of_load: bool) -> bool:
        """Return whether every check of the load is held, or every check of the report that a server can decide."""
        chosen = (check for _, check in self.checks() if (check["name"] in LOAD) is of_load)
        return all(check["verdict"] == HELD or is_of_resent(check) for check in chosen)

    @property
    def has_resent(self) -> bool:
        """Whether the check of errors is not decided because a library may have sent failed requests again."""
        return any(is_of_resent(check) for _, check in self.checks())

    @property
    def needs_no_connection(self) -> bool:
        """Whether an open load sent all requests due, though its connections cannot carry so many one at a time."""
        scenario = self.scenario("overload")
        return bool(scenario) and scenario["arrivals_per_s"] >= ALL_SENT * scenario["rate_per_s"]

    def count(self, word: str) -> int:
        """Return how many checks have this verdict."""
        return sum(check["verdict"] == word for _, check in self.checks())

    def ratio(self, scenario: str, name: str) -> float | None:
        """Return a reported quantile divided by the true one; None where it is not reported."""
        check = self.check(scenario, name)
        return check["found"] / check["expected"] if check.get("found") and check.get("expected") else None


def is_of_resent(check: dict[str, Any]) -> bool:
    """Return whether a check is not decided because a library may have sent failed requests again."""
    return check["name"] == "errors" and check["verdict"] == NOT_DECIDED and RESENT in check["text"]


def of_group(row: Row, names: Sequence[str]) -> str:
    """Return the verdict of all checks with these names; "" where there is none."""
    return worst(check["verdict"] for _, check in row.checks() if check["name"] in names)


def read(file: Path) -> Row:
    """Return a certificate as it was written; DataError if the file holds none."""
    try:
        document = documents.from_json(documents.read(file).decode())
        if document["format"] != FORMAT:
            raise DataError(f"{file} is a certificate of another version: make it again with this one")
        row = Row(dict(all_harmless(document)))
        _ = _cells(row), row.made_on  # what is missing in it is found here
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as reason:
        raise DataError(f"{file} holds no certificate: write one with {BENCH} certify NAME --json FILE") from reason
    return row


def in_order(rows: Sequence[Row]) -> list[Row]:
    """Return the rows, those with the most checks that are not held last."""
    return sorted(rows, key=lambda row: (row.count(NOT_HELD), row.count(NOT_DECIDED), row.name))


def table(rows: Sequence[Row]) -> pd.DataFrame:
    """Return a row for each certificate: verdict, how many checks were held, which were not, and ratios of p99."""
    return pd.DataFrame([_cells(row) for row in in_order(rows)])


def _cells(row: Row) -> dict[str, Any]:
    ratios = {
        f"{scenario['name']} {P99} reported/true": ratio
        for scenario in row.document["scenarios"]
        if (ratio := row.ratio(scenario["name"], P99)) is not None
    }
    counts = {word: row.count(word) for word in (HELD, NOT_HELD, NOT_DECIDED)}
    which = [f"{scenario}: {check['name']}" for scenario, check in row.checks() if check["verdict"] == NOT_HELD]
    return {"generator": row.name, "verdict": row.verdict, **counts, "which": ", ".join(which), **ratios}
