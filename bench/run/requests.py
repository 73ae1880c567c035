"""What became of requests: answered as expected, failed by kind, or not sent. All that counts them does so here."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import pandas as pd

from bench.errors import Kinds
from bench.run.start_record import StartRecord
from bench.run.tables import Tables
from bench.text import harmless, listed

PREFIX = "error_"  # of the names of failures in the table ``reports``
UNANSWERED = (  # first words of the kinds of failures without a whole reply; the others were answered with an error
    *("connect", "read", "write", "call", "timeout", "GOAWAY", "RST_STREAM", "REFUSED_STREAM"),
    *("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED"),
)


class Requests(NamedTuple):
    """Requests of some starts: answered as expected, failed by kind, and scheduled by an open load."""

    answered: int
    failed: Mapping[str, int]
    scheduled: int | None = None

    @property
    def errors(self) -> int:
        """How many failed."""
        return sum(self.failed.values())

    @property
    def sent(self) -> int:
        """How many were sent."""
        return self.answered + self.errors

    @property
    def not_sent(self) -> int:
        """How many were due, and could not be sent in time."""
        return max(0, (self.scheduled or 0) - self.sent)

    def part(self, count: int) -> float:
        """Return the share that a number of them is; 1 of none."""
        return count / whole if (whole := self.sent + self.not_sent) else 1.0

    @property
    def answered_with_an_error(self) -> int:
        """How many had a whole reply that is not the expected one."""
        return sum(count for kind, count in self.failed.items() if kind.partition(" ")[0] not in UNANSWERED)

    @property
    def shortfall(self) -> str:
        """What became of those without the expected reply, in words; "" if all have one."""
        became = {"answered with an error": dict[str, int](), "not answered": dict[str, int]()}
        for kind, count in self.failed.items():
            became["not answered" if kind.partition(" ")[0] in UNANSWERED else "answered with an error"][kind] = count
        shares = {f"{how} ({', '.join(kinds)})": sum(kinds.values()) for how, kinds in became.items() if kinds}
        shares |= {"not sent": self.not_sent} if self.not_sent else {}
        parts = [f"{100 * self.part(count):.3g}% of the requests were {how}" for how, count in shares.items()]
        return listed(parts) if parts else ""


def of_record(record: StartRecord) -> Requests:
    """Return the requests of a start that was just measured."""
    reports = pd.DataFrame(record.tables.get("reports", []), columns=["name", "value"])
    return _requests(pd.DataFrame([record.ledger]), reports["name"], reports["value"])


def of_starts(run: Tables, starts: pd.DataFrame) -> Requests:
    """Return the requests of some rows of a run's ledger."""
    reports = run.reports[run.reports["start"].isin(starts.index)]
    return _requests(starts, map(harmless, reports["name"]), reports["value"])


def _requests(ledger: pd.DataFrame, names: Iterable[str], values: Iterable[float]) -> Requests:
    counts = ledger.reindex(columns=["calls", "streams", "errors", "scheduled"])
    failed = Kinds()
    for name, count in zip(names, values, strict=True):
        failed.add(name.removeprefix(PREFIX), int(count) * name.startswith(PREFIX))
    failed.add("of a kind that was not recorded", int(counts["errors"].sum()) - failed.total())
    scheduled = None if counts["scheduled"].isna().any() else int(counts["scheduled"].sum())
    return Requests(int(counts["streams"].fillna(counts["calls"]).sum()), +failed, scheduled)


def sent_of_scheduled(ledger: pd.DataFrame) -> "pd.Series[float]":
    """Return the share of the requests scheduled by each start that were sent, failed ones among them."""
    return (ledger["calls"] + ledger["errors"].fillna(0)) / ledger["scheduled"]
