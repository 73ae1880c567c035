"""A run's tables in pandas, as they are stored, compared with its plan and with each other."""

from functools import cached_property
from typing import Any

import pandas as pd

from bench.errors import DataError
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.run import merging, start_record
from bench.run.calls import AllCalls, gathered
from bench.run.folder import Folder
from bench.text import all_harmless, harmless

BEYOND_NS = 60e9  # a call may outlast its window by what it is waited for, and by no more


class Tables:
    """The tables of a run, each read on first use; nothing can be set.

    folder: where it is. manifest: as stored. id: its name. plan: what was to be measured. While the run is being
    measured, all tables hold the starts that were complete when the first of them was read.
    """

    folder: Folder
    manifest: dict[str, Any]
    id: str
    plan: Plan

    def __init__(self, folder: Folder) -> None:
        manifest = all_harmless(folder.manifest())
        plan = Plan.from_dict(manifest["plan"])
        vars(self).update(folder=folder, manifest=manifest, id=manifest.get("id", folder.id), plan=plan)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a run is read-only: its {name} cannot be set")

    def case(self, number: object) -> Case:
        """Return a case of the plan by its number, as the index of ``cases`` or a column ``case`` holds it."""
        return self.plan.cases[number_of(number)]

    def machine_of(self, host: str) -> dict[str, Any]:
        """Return the machine record of a host; this machine's for one that has none."""
        machine: dict[str, Any] = self.manifest.get("hosts", {}).get(host) or self.manifest["machine"]
        return machine

    @cached_property
    def _complete(self) -> set[int]:
        return self.folder.done()

    def _read(self, table: str) -> pd.DataFrame:
        return self.folder.read(table, self._complete).to_pandas(split_blocks=True, self_destruct=True)

    @cached_property
    def stored_ledger(self) -> pd.DataFrame:
        """The table ``ledger`` (index ``start``); DataError for a run without any complete start."""
        table = self.folder.read("ledger", self._complete)
        if wrong := start_record.misplaced(table, self.folder.plan().cases):
            raise self._contradiction(harmless(wrong))
        if not len(table):
            raise DataError(f"run {self.id} has no complete start: measure it again with -p resume true")
        frame = table.to_pandas().set_index("start")
        return _with_harmless(frame, "options", "target")

    @cached_property
    def calls(self) -> AllCalls:
        """The calls of closed and open loads: the table ``samples``, as arrays that take little memory."""
        calls = gathered(self.folder.parts("samples", self._complete))
        if unknown := sorted(calls.places.keys() - set(self.stored_ledger.index)):
            raise self._contradiction(f"start {unknown[0]} has samples, and no row in the ledger")
        for row in self.stored_ledger[["case", "calls", "window_s", "errors"]].itertuples():
            of_start, most_ns = calls.of_start(row.Index), row.window_s * 1e9 + BEYOND_NS
            if of_start.size and max(of_start.t_send_ns.max(), of_start.rtt_ns.max()) > most_ns:
                raise self._contradiction(f"start {row.Index} has times beyond its window")
            lacks = of_start.size != row.calls and not row.errors > 0
            if lacks and _is_sampled(self.case(row.case)):
                raise self._contradiction(f"start {row.Index} has {of_start.size:,} samples of {row.calls:,} calls")
        return calls

    @cached_property
    def stored_slices(self) -> pd.DataFrame:
        """The table ``slices``, in the order of measuring within each start; none where every start had a window."""
        return self._read("slices").sort_values(["start", "number"], ignore_index=True)

    @cached_property
    def marks(self) -> pd.DataFrame:
        """Progress of one-way streams: start, role, t_ns, messages."""
        return self._read("marks")

    @cached_property
    def load(self) -> pd.DataFrame:
        """CPU load and memory over time: start, role, t_ns, cpu_percent, rss_bytes."""
        return self._read("load")

    @cached_property
    def reports(self) -> pd.DataFrame:
        """Reports of the load generators, one row per number: start, name, value, unit."""
        return self._read("reports")

    @cached_property
    def hosts(self) -> pd.DataFrame:
        """Hosts that took part, one row per start, host and role: see ``schema``; none where it was one machine."""
        frame = _with_harmless(self._read("hosts"), "host", "role")
        if wrong := merging.misplaced(frame):
            raise self._contradiction(wrong)
        return frame

    def _contradiction(self, what: str) -> DataError:
        """Return the error for a run whose files do not belong together."""
        return DataError(f"run {self.id} contradicts itself: {what}; its files were exchanged: measure it anew")


def _with_harmless(frame: pd.DataFrame, *names: str) -> pd.DataFrame:
    for name in names:
        frame[name] = frame[name].map(harmless, na_action="ignore")
    return frame


def _is_sampled(case: Case) -> bool:
    """Return whether each call of a case leaves a sample: it is made here, one by one, and answered."""
    return case.load in ("closed", "open") and not case.generator


def number_of(value: object) -> int:
    """Return the number of a case or of a start that the index of a frame, or the name of its row, holds."""
    return int(str(value))
