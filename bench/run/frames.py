"""A run as frames: its tables in pandas, and the values computed from them for each start and case."""

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from bench import stats
from bench.plan import slicing
from bench.plan.case import Case
from bench.plan.labels import labels
from bench.run import merging, reply_streams, slices, start_values
from bench.run.folder import Folder
from bench.run.start_values import ROLES as ROLES
from bench.run.tables import Tables
from bench.run.tables import number_of as number_of
from bench.stats import steady_state
from bench.stats.intervals import CONFIDENCE

Given = ParamSpec("Given")
Found = TypeVar("Found")


class Run(Tables):
    """A run: its tables, and what follows from them for each call, start and case."""

    def find(self, **factors: object) -> list[int]:
        """Return the numbers of the measured cases with these factors, as ``Case.factor`` knows them.

        ``run.find(system="zeromq", transport="ipc")``; an option that a system lacks is None.
        """
        return [case for case in self.numbers if all(self.case(case).factor(name) == factors[name] for name in factors)]

    def first(self, **factors: object) -> int | None:
        """Return the number of the first measured case with these factors, or None if it was not measured."""
        return next(iter(self.find(**factors)), None)

    def part(self, cases: Sequence[int]) -> "Run":
        """Return this run with some of its measured cases; the tables are the same. ``whole`` is this run."""
        rows = self.cases.loc[list(cases)]
        run = object.__new__(Run)
        vars(run).update(vars(self) | {"cases": rows, "numbers": tuple(cases), "_whole": self.whole})
        return run

    @property
    def whole(self) -> "Run":
        """The run that this one is a part of, or itself."""
        run: Run = vars(self).get("_whole", self)
        return run

    @property
    def confidence(self) -> float:
        """The confidence of each interval of a ratio, so that it covers with 95 % whatever made the run stop.

        That of the latest look at a run that was to stop when precise: see ``bench.stats.looks``.
        """
        return float((self.manifest.get("look") or {}).get("confidence", CONFIDENCE))

    def cases_with(self, **factors: object) -> pd.DataFrame:
        """Return the rows of ``cases`` with these factors; see ``find``."""
        return self.cases.loc[self.find(**factors)]

    def round_trips(self) -> pd.DataFrame:
        """Return the rows of ``cases`` of closed loops with a server: the instrument itself has none."""
        return self.cases[(self.cases["load"] == "closed") & (self.cases["system"] != "loopback")]

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the measured cases, in the plan's order."""
        return tuple(map(number_of, self.cases.index))

    @cached_property
    def twins(self) -> frozenset[int]:
        """The measured cases that are equal to an earlier one: they are there for the A/A ratio."""
        return frozenset(case for case in self.numbers if self.plan.cases.index(self.case(case)) < case)

    def ledger_of(self, case: object) -> pd.DataFrame:
        """Return the rows of ``ledger`` of one case; index: start. All who ask share them: nobody changes them."""
        return self._ledger_by_case.get(case, self.ledger[:0])

    def starts_of(self, case: object) -> pd.DataFrame:
        """Return the rows of ``starts`` of one case; index: start. All who ask share them: nobody changes them."""
        return self._starts_by_case.get(case, self.starts[:0])

    @cached_property
    def _ledger_by_case(self) -> dict[object, pd.DataFrame]:
        return dict(iter(self.ledger.groupby("case")))

    @cached_property
    def _starts_by_case(self) -> dict[object, pd.DataFrame]:
        return dict(iter(self.starts.groupby("case")))

    def samples_of(self, case: object, warm: bool = False, headline: bool = False) -> pd.DataFrame:
        """Return the calls of one case in the order of ``samples``; if ``warm``, only those after the warm-up.

        With ``headline`` only those of the hosts that quantiles describe: see ``merged``.
        """
        rows = self.samples[self.samples["case"] == case]
        rows = self._headline(rows) if headline else rows
        return rows[rows["warm"]] if warm else rows

    def sessions_of(self, case: object) -> pd.DataFrame:
        """Return the whole client processes of one case."""
        return self.sessions[self.sessions["case"] == case]

    # Calls ------------------------------------------------------------------------------------------------------

    @cached_property
    def samples(self) -> pd.DataFrame:
        """One row per call: start, client, t_send_ns, lag_ns, rtt_ns, open_ns; ``case``; ``warm`` after the warm-up.

        Of a run in slices also ``slice``, its number in the start, -1 where the start has none; of each slice the first
        calls are not warm, and none of the slices that warm up, or that a case had to itself.
        ``opens``: the call opened its connection. ``large``: it carries the larger payload beside the others. Of a run
        of several hosts also ``host``, which made the call.
        """
        frame = self.stored_samples.copy(deep=False)
        row = self.ledger.index.searchsorted(frame["start"])  # of each call
        frame["case"] = self.ledger["case"].to_numpy()[row]
        frame["warm"] = start_values.is_warm(frame, self.ledger["warm_up_ns"])
        if len(self.stored_slices):
            frame["slice"] = slices.number_of_calls(frame, self.stored_slices)
            in_slices = frame["slice"] >= 0
            frame.loc[in_slices, "warm"] = slices.is_warm(frame[in_slices], self.stored_slices)
        frame["opens"] = frame["open_ns"].notna()
        frame["large"] = False
        for number, case in enumerate(self.plan.cases):
            if case.large_bytes:
                is_of_case, calls = frame["case"] == number, case.callers * case.outstanding
                frame.loc[is_of_case, "large"] = frame.loc[is_of_case, "client"] % calls == calls - 1
        if len(self.hosts):
            frame["host"] = merging.hosts_of(frame, self.hosts, lambda start: self.case(self.ledger.loc[start, "case"]))
            calling = self.hosts.loc[self.hosts["clients"] > 0, "start"]
            if len(lost := frame.loc[frame["host"].isna() & frame["start"].isin(calling), "start"]):
                raise self._contradiction(f"start {lost.iloc[0]} has calls of a client that no host has")
        return frame

    @cached_property
    def slices(self) -> pd.DataFrame:
        """One row per slice: block, case, round, and values of it: see ``slices.values``."""
        return slices.values(self.stored_slices, self.samples, self.ledger)

    def contrasts(self, base: int, other: int, name: str) -> "pd.Series[float] | None":
        """Return ln(other / base) of a quantity from slices; None where these did not take turns with each other.

        Each case is averaged with its twins, see ``sides``. Index: block and round, see ``slices.contrasts``.
        """
        if not len(self.stored_slices) or name not in self.slices or not {base, other} <= set(self.slices["case"]):
            return None
        found = slices.contrasts(_logarithms(self, name), *self.sides(base, other))
        return found if len(found) else None

    def sides(self, base: int, other: int) -> tuple[list[int], list[int]]:
        """Return two cases that are compared, each with its twins: equal cases under other names.

        Twins that are compared with each other stand alone: theirs is the A/A ratio.
        """
        bases, others = slicing.sides(self.plan.cases, base, other)
        measured = set(self.numbers)
        return [case for case in bases if case in measured], [case for case in others if case in measured]

    @cached_property
    def merged(self) -> dict[int, merging.Merged]:
        """How the calls of several hosts are merged, by case; empty for a run of one machine."""
        if not len(self.hosts):
            return {}
        calls, cases = self._alike, self.hosts["start"].map(self.ledger["case"])
        return {
            number_of(case): merging.merged(calls[calls["case"] == case], rows)
            for case, rows in self.hosts.groupby(cases)
        }

    def _headline(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return those calls whose hosts quantiles describe."""
        for case, merged in self.merged.items():
            if merged.host:
                rows = rows[(rows["case"] != case) | (rows["host"] == merged.host)]
        return rows

    @cached_property
    def _described(self) -> pd.DataFrame:
        """The calls that quantiles describe: those alike, of the hosts that are described."""
        return self._headline(self._alike)

    @cached_property
    def _alike(self) -> pd.DataFrame:
        """The calls after the warm-up, of the usual payload, over an open connection: start, case, times and host.

        Where every call opens its connection, it is those calls.
        """
        always = [number for number, case in enumerate(self.plan.cases) if case.calls_per_connection == 1]
        is_usual = ~self.samples["large"] & (~self.samples["opens"] | self.samples["case"].isin(always))
        columns = ["start", "case", "lag_ns", "rtt_ns", *(["host"] if "host" in self.samples else [])]
        return self.samples.loc[self.samples["warm"] & is_usual, columns]

    def count(self, case: int) -> int:
        """Return how many calls of a case quantiles are taken from: those after the warm-up."""
        rows = self.replies if self.case(case).load == reply_streams.LOAD else self._described
        return int((rows["case"] == case).sum())

    def described_of(self, case: int) -> pd.DataFrame:
        """Return the calls of a case that quantiles describe, in the order of ``samples``: start, lag_ns, rtt_ns."""
        return self._described[self._described["case"] == case]

    def rtt_us(self, case: int) -> "np.ndarray[Any, Any]":
        """Return the RTT of all calls of a case after the warm-up, all starts together, in us."""
        return self.described_of(case)["rtt_ns"].to_numpy() / 1e3

    def distribution_us(self, case: int) -> "tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]":
        """Return the empirical CDF of the RTT of a case after the warm-up: (values in us, fractions)."""
        return stats.distribution(self.rtt_us(case))

    # Other tables with the case of each row ---------------------------------------------------------------------

    def _with_case(self, table: str) -> pd.DataFrame:
        frame = self._read(table)
        frame["case"] = self.ledger["case"].reindex(frame["start"]).to_numpy()
        return frame

    @cached_property
    def sessions(self) -> pd.DataFrame:
        """Whole client processes, one row for each: start, case, calls, payload_bytes, moments (ns) and CPU (ns)."""
        return self._with_case("sessions")

    @cached_property
    def attempts(self) -> pd.DataFrame:
        """Attempts of a load with retries, one row for each, in the order of sending within each start.

        Columns: start, case, request, number, due_ns, t_send_ns, rtt_ns (NaN: no reply).
        """
        return self._with_case("attempts").sort_values(["start", "t_send_ns"], kind="stable", ignore_index=True)

    @cached_property
    def streams(self) -> pd.DataFrame:
        """Reply streams, one row per request: see ``reply_streams.streams``."""
        return reply_streams.streams(self._read("streams"), self.ledger)

    @cached_property
    def replies(self) -> pd.DataFrame:
        """Stored replies of reply streams, one row for each: see ``reply_streams.replies``."""
        frame = reply_streams.replies(self._read("replies"), self.streams)
        if len(lost := frame.loc[frame["case"].isna(), "start"]):
            raise self._contradiction(f"start {lost.iloc[0]} has replies of a stream that is missing")
        return frame

    # Starts and cases -------------------------------------------------------------------------------------------

    @cached_property
    def ledger(self) -> pd.DataFrame:
        """One row per start (index ``start``), with CPU per call in us and the length of the warm-up.

        DataError for a run without any complete start.
        """
        frame = self.stored_ledger.copy()
        cases = frame["case"].map(self.case)
        frame["warm_up_ns"] = start_values.warm_up_ns(frame, cases, self.stored_samples, self.settlings)
        rounds = self.stored_slices[self.stored_slices["round"] > slicing.WARM_UP]
        begun = rounds.groupby("start")["begin_ns"].min()
        frame.loc[begun.index, "warm_up_ns"] = begun
        used = start_values.warm_use(frame, self.load, self.stored_samples, self.marks, self.stored_slices)
        start_values.add_use_of_cpus(frame, used, int(self.manifest["machine"]["cpus_allowed"]), self.reports)
        loading = self.hosts[self.hosts["clients"] > 0]
        busiest = self.shares(loading, frame["window_s"]).groupby(loading["start"]).max()
        frame.loc[busiest.index, "client_cpu_share"] = busiest
        return frame

    def shares(self, hosts: pd.DataFrame, windows_s: "pd.Series[float]") -> "pd.Series[float]":
        """Return for rows of ``hosts`` the utilization of the CPUs that they can use: a client process uses one.

        Spinning until a request is due is not in it, as in ``start_values.add_use_of_cpus``.
        """
        cpus = hosts["host"].map(lambda name: int(self.machine_of(name)["cpus_allowed"])).astype(float)
        most = cpus.where(hosts["clients"] == 0, np.minimum(cpus, hosts["clients"]))
        busy_ns = hosts["cpu_ns"] - hosts["pacing_cpu_ns"].fillna(0)
        return busy_ns / 1e9 / hosts["start"].map(windows_s) / most

    @cached_property
    def settlings(self) -> dict[int, steady_state.Settling]:
        """How each start settled; index: start."""
        return start_values.settlings(self.stored_samples)

    @cached_property
    def starts(self) -> pd.DataFrame:
        """The ledger with quantiles of the RTT (us), rates per second, and Mb/s, one row per start.

        A quantile above the median is NaN where the start has too few calls to carry it. Of a start without samples
        they are what its load generator reported, and NaN what it did not.
        """
        frame, calls = self.ledger.copy(), self._described
        for time, times_ns in (("rtt", calls["rtt_ns"]), ("response", calls["lag_ns"] + calls["rtt_ns"])):
            for p, values in start_values.quantiles_us(times_ns, calls["start"]).items():
                frame[column(p).replace("rtt", time)] = values
        frame["achieved"] = frame["calls"] / frame["scheduled"]
        frame["mean_rtt_us"] = self.means_us("rtt")
        opening = self.samples[self.samples["warm"] & self.samples["opens"]]
        frame["p50_first_us"] = ((opening["open_ns"] + opening["rtt_ns"]) / 1e3).groupby(opening["start"]).median()
        marks = start_values.warm_marks(self.marks, frame["warm_up_ns"])
        rates = start_values.call_rates(self.samples[self.samples["warm"]]) | start_values.stream_rates(marks, "server")
        if len(self.stored_slices):
            rounds = self.slices[self.slices["round"] > slicing.WARM_UP]
            rates |= rounds.groupby("start")["rate_per_s"].mean().to_dict()
        frame["rate_per_s"] = pd.Series(rates, dtype=float)
        start_values.fill_in_reported(frame, self.reports)
        frame["send_rate_per_s"] = pd.Series(start_values.stream_rates(marks, "client"), dtype=float)
        size = frame["payload_bytes"]
        if (frame["load"] == reply_streams.LOAD).any():
            added = reply_streams.quantiles(self.ledger, self.streams, self.replies)
            frame["rate_per_s"] = frame["rate_per_s"].fillna(added.pop("stream_rate_per_s"))
            frame[added.columns] = added.reindex(frame.index)
            size = frame["reply_bytes"].fillna(size)
        frame["rate_mbit_per_s"] = frame["rate_per_s"] * size * 8 / 1e6
        mixed = [
            number
            for number, case in enumerate(self.plan.cases)
            if case.large_bytes or case.p99_bytes or (case.load == reply_streams.LOAD and not case.reply_bytes)
        ]
        frame.loc[frame["case"].isin(mixed), "rate_mbit_per_s"] = np.nan  # of several payloads, or of a user's service
        frame["opened_per_call"] = frame["tcp_connections"] / frame["calls"]
        return frame

    def means_us(self, time: str) -> "pd.Series[float]":
        """Return the mean ``rtt`` or ``response`` of the described calls after the warm-up, by start, in us."""
        calls = self._described
        times = calls["rtt_ns"] + calls["lag_ns"] if time == "response" else calls["rtt_ns"]
        return times.groupby(calls["start"]).mean() / 1e3

    @cached_property
    def cases(self) -> pd.DataFrame:
        """One row per measured case: label, factors, starts, n, and (value, lowest, highest) over its starts.

        ``p50_rtt_us`` is the median of the start medians, ``p50_rtt_us_low`` and ``_high`` the smallest and
        the largest of them; likewise for the other columns of ``starts``. A quantile that some start does not carry
        is NaN.
        """
        rows = [self._case(index, case) for index, case in enumerate(self.plan.cases)]
        return pd.DataFrame([row for row in rows if row["starts"]]).set_index("case")

    def _case(self, index: int, case: Case) -> dict[str, Any]:
        starts, is_streamed = self.starts_of(index), case.load == reply_streams.LOAD
        streamed = ("replies", "reply_bytes", "gap_us") if is_streamed else ()
        times = reply_streams.COLUMNS if is_streamed else ()
        row = {"case": index, "label": self.labels[index], "starts": len(starts), "n": self.count(index)}
        row |= {name: getattr(case, name) for name in (*FACTORS, *streamed)} | {"options": json.dumps(case.options)}
        row["target"] = case.target or ""
        for name in (*NUMBERS, *times):
            row[name], row[f"{name}_low"], row[f"{name}_high"], _ = self.over_starts(index, name)
        return row

    def over_starts(self, case: int, name: str) -> stats.Spread:
        """Return the median over a case's starts of a column of ``starts``, its range, and its levels if it has two.

        NaN for a quantile that some start does not carry. What is printed of a median comes from here.
        """
        values, is_streamed = self.starts_of(case)[name], self.case(case).load == reply_streams.LOAD
        is_carried = name not in (*TAILS, *(reply_streams.COLUMNS if is_streamed else ())) or values.notna().all()
        return stats.across_starts(values.to_list() if is_carried else [])

    @cached_property
    def labels(self) -> list[str]:
        """The shortest label that distinguishes each case from the others."""
        return labels(self.plan.cases)


def once(of_run: Callable[Concatenate[Run, Given], Found]) -> Callable[Concatenate[Run, Given], Found]:
    """Let a function of a run, and of values that can be hashed, work out each answer once: a run never changes.

    What it returns is shared by all who ask: nobody changes it.
    """
    by_run: WeakKeyDictionary[Run, dict[Any, Found]] = WeakKeyDictionary()

    @functools.wraps(of_run)
    def asked(run: Run, /, *given: Given.args, **named: Given.kwargs) -> Found:
        answers, key = by_run.setdefault(run, {}), (given, tuple(named.items()))
        if key not in answers:
            answers[key] = of_run(run, *given, **named)
        return answers[key]

    return asked


@once
def _logarithms(run: Run, name: str) -> pd.DataFrame:
    """Return ``slices.logarithms`` of a quantity."""
    return slices.logarithms(run.slices, name)


def shared(path: Path) -> Run:
    """Return the run in a folder: the same one to all who ask in this process, as long as no file of it changes.

    What was read and worked out of it is then read and worked out once.
    """
    files = sorted((str(file), file.stat()) for file in path.absolute().rglob("*") if file.is_file())
    return _read(path.absolute(), tuple((name, of.st_ino, of.st_mtime_ns, of.st_size) for name, of in files))


@functools.lru_cache(32)  # more than there are reference runs
def _read(path: Path, state: tuple[tuple[str, int, int, int], ...]) -> Run:
    """Return the run in a folder whose files are in a state."""
    return Run(Folder(path))


def numbered(cases: pd.DataFrame) -> "Iterator[tuple[int, pd.Series[Any]]]":
    """Yield the rows of ``Run.cases``, or of some of them, each with the number of its case."""
    for number, row in cases.iterrows():
        yield number_of(number), row


def column(p: float) -> str:
    """Return the column of a quantile: p50_rtt_us, p99_9_rtt_us."""
    return f"p{100 * p:g}".replace(".", "_") + "_rtt_us"


FACTORS = (
    *("system", "transport", "payload_bytes", "placement", "load", "offered_per_s", "clients", "callers", "engine"),
    *("target", "message", "calls_per_connection", "outstanding", "large_bytes", "p99_bytes", "under_way"),
)
COLUMNS = tuple(column(p).replace("rtt", time) for time in ("rtt", "response") for p in stats.QUANTILES)
TAILS = tuple(name for name in COLUMNS if not name.startswith("p50"))
NUMBERS = (
    *COLUMNS,
    "achieved",
    "mean_rtt_us",
    "rate_per_s",
    "send_rate_per_s",
    "rate_mbit_per_s",
    *(f"{role}_cpu_us_per_call" for role in ROLES),
    *(f"{role}_cpu_percent" for role in ROLES),
    "client_cpu_share",
    "client_sleeps_per_call",
    "server_sleeps_per_call",
    *(f"{role}_rss_bytes" for role in ROLES),
    "first_rtt_ns",
    "p50_first_us",
    "opened_per_call",
    "tcp_time_wait",
)
