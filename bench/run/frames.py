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
from pandas.api.types import union_categoricals

from bench import stats
from bench.plan import slicing
from bench.plan.case import Case
from bench.plan.labels import Parts, as_label, parts
from bench.run import merging, reply_stream_times, slices, start_values
from bench.run.calls import COLUMNS as OF_CALLS
from bench.run.calls import Array, Calls, compact, constant, joined
from bench.run.folder import Folder
from bench.run.requests import sent_of_scheduled
from bench.run.start_values import ROLES as ROLES
from bench.run.tables import Tables
from bench.run.tables import number_of as number_of
from bench.stats import steady_state
from bench.stats.intervals import CONFIDENCE

Columns = dict[str, Any]  # arrays of one length by name, that of the hosts' names a categorical one
ALL, NO_START = slice(None), -1
ORDER = ("start", *OF_CALLS, "case", "warm", "slice", "opens", "large", "host")  # of the columns of ``Run.samples``
Inputs = ParamSpec("Inputs")
Answer = TypeVar("Answer")


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
        measured = set(self.stored_ledger["case"])
        return tuple(number for number in range(len(self.plan.cases)) if number in measured)

    @cached_property
    def block_s(self) -> float:
        """How long a block takes in s: the median time from its beginning to that of the next; of one, its windows."""
        began = pd.to_datetime(self.ledger.groupby("block")["utc"].min(), format="ISO8601").sort_values()
        return float(began.diff().dt.total_seconds().median() if len(began) > 1 else self.ledger["window_s"].sum())

    @cached_property
    def twins(self) -> frozenset[int]:
        """The measured cases that are equal to an earlier one: they are there for the A/A ratio."""
        return frozenset(case for case in self.numbers if self.plan.cases.index(self.case(case)) < case)

    def ledger_of(self, case: object) -> pd.DataFrame:
        """Return the rows of ``ledger`` of one case; index: start. All who ask share them: nobody changes them."""
        rows = self._ledger_by_case.get(case)
        return self.ledger[:0] if rows is None else rows

    def starts_of(self, case: object) -> pd.DataFrame:
        """Return the rows of ``starts`` of one case; index: start. All who ask share them: nobody changes them."""
        rows = self._starts_by_case.get(case)
        return self.starts[:0] if rows is None else rows

    @cached_property
    def _ledger_by_case(self) -> dict[object, pd.DataFrame]:
        return dict(iter(self.ledger.groupby("case")))

    @cached_property
    def _starts_by_case(self) -> dict[object, pd.DataFrame]:
        return dict(iter(self.starts.groupby("case")))

    def samples_of(self, case: object, warm: bool = False, headline: bool = False) -> pd.DataFrame:
        """Return the calls of one case as rows of ``samples``; if ``warm``, only those after the warm-up.

        With ``headline`` only those of the hosts that quantiles describe: see ``merged``.
        """
        return self._rows(case, self._flags(warm, headline))

    def calls_of(self, case: object, warm: bool = False, headline: bool = False) -> Iterator[tuple[int, Calls]]:
        """Yield each start of a case with its calls, where it has any; which of them as ``samples_of`` says.

        Of millions of calls this takes less memory than ``samples_of``.
        """
        return self._calls(case, self._flags(warm, headline))

    def _flags(self, warm: bool, headline: bool) -> list[Array]:
        return [*([self.is_warm] if warm else []), *([self._is_headline] if headline and len(self.hosts) else [])]

    def _calls(self, case: object, flags: Sequence[Array]) -> Iterator[tuple[int, Calls]]:
        """Yield each start of a case with those of its calls of which all flags are true, where it has any."""
        for start in map(number_of, self.ledger_of(case).index):
            calls = self.calls.of_start(start).select(self._chosen(start, flags))
            if calls.size:
                yield start, calls

    def _rows(self, case: object, flags: Sequence[Array]) -> pd.DataFrame:
        """Return the rows of ``samples`` of those calls of a case of which all flags are true."""
        starts = [number_of(start) for start in self.ledger_of(case).index]
        parts = [self._columns(start, self._chosen(start, flags)) for start in starts]
        return _behind_each_other(parts or [self._columns(NO_START)], {})

    def _chosen(self, start: int, flags: Sequence[Array]) -> "slice | Array":
        """Return which calls of a start have all flags: a slice where they are its last ones, as after a warm-up."""
        part = self.calls.place_of(start)
        if not flags or part.start is None:
            return ALL
        chosen = functools.reduce(np.logical_and, [flag[part] for flag in flags])
        first = int(chosen.argmax())
        return slice(first, None) if chosen[first:].all() else chosen

    def sessions_of(self, case: object) -> pd.DataFrame:
        """Return the whole client processes of one case."""
        return self.sessions[self.sessions["case"] == case]

    # Calls ------------------------------------------------------------------------------------------------------

    @property
    def samples(self) -> pd.DataFrame:
        """One row per call: start, client, t_send_ns, lag_ns, rtt_ns, open_ns; ``case``; ``warm`` after the warm-up.

        Of a run in slices also ``slice``, its number in the start, -1 where the start has none; of each slice the first
        calls are not warm, and none of the slices that warm up, or that a case had to itself. Of a service with several
        requests also ``request``, its name.
        ``opens``: the call opened its connection. ``large``: it carries the larger payload beside the others. Of a run
        of several hosts also ``host``, which made the call. Made anew each time: ``samples_of`` takes less memory.
        """
        parts = [self._columns(start) for start in self.calls.places]
        return _behind_each_other(parts or [self._columns(NO_START)], self._columns_of_all())

    def _columns(self, start: int, chosen: "slice | Array" = ALL) -> Columns:
        """Return the columns of ``samples`` of some calls of a start."""
        part = self.calls.place_of(start)
        columns = {name: values[part][chosen] for name, values in self._columns_of_all().items()}
        count = len(columns["rtt_ns"])
        columns["start"] = constant(np.int32(start), count)
        columns["case"] = constant(np.int32(self.ledger["case"].get(start, NO_START)), count)
        if len(self.stored_slices):
            columns["slice"] = self._slice_numbers(start)[chosen]
        return columns

    def _columns_of_all(self) -> Columns:
        """Return the columns of ``samples`` that are arrays of all calls."""
        columns: Columns = {name: getattr(self.calls.calls, name) for name in OF_CALLS if name != "request"}
        columns |= {"warm": self.is_warm, "opens": self._opens, "large": self._large}
        if self.calls.requests:
            columns["request"] = self._requests_of_calls
        return columns | ({"host": self._hosts_of_calls} if len(self.hosts) else {})

    @cached_property
    def _requests_of_calls(self) -> pd.Categorical:
        """The name of the request that each call made, of a service with several."""
        return pd.Categorical.from_codes(self.calls.calls.request, list(self.calls.requests))

    def _slice_numbers(self, start: object) -> Array:
        """Return the number of the slice of each call of a start; -1 where it has none."""
        sent = self.calls.of_start(start).t_send_ns
        if start not in self._slices_by_start:
            return constant(np.int32(-1), len(sent))
        return slices.numbers_of_calls(sent, self._slices_by_start[start]["begin_ns"].to_numpy()).astype(np.int32)

    @cached_property
    def _slices_by_start(self) -> dict[int, pd.DataFrame]:
        return {number_of(start): rows for start, rows in self.stored_slices.groupby("start")}

    @cached_property
    def is_warm(self) -> Array:
        """Whether each call counts: those after the warm-up, in slices only the rounds' without their first calls."""
        warm = np.empty(self.calls.calls.size, bool)
        for start, calls in self.calls.by_start():
            warm_up_ns = float(self.ledger.at[start, "warm_up_ns"])
            warm[self.calls.place_of(start)] = start_values.is_warm(calls.t_send_ns, warm_up_ns)
        for sliced, rows in self._slices_by_start.items():
            numbers = self._slice_numbers(sliced)
            first = int(np.searchsorted(numbers, 0))
            rounds = rows["round"].to_numpy(float, na_value=np.nan)
            warm[self.calls.place_of(sliced)][first:] = slices.is_warm(numbers[first:], rounds)
        return warm

    @cached_property
    def _opens(self) -> Array:
        """Whether each call opened its connection."""
        return compact(~np.isnan(self.calls.calls.open_ns))

    @cached_property
    def _large(self) -> Array:
        """Whether each call carries the larger payload beside the others."""
        sizes = {number: case for number, case in enumerate(self.plan.cases) if case.large_bytes}
        if not sizes:
            return constant(False, self.calls.calls.size)
        large = np.zeros(self.calls.calls.size, bool)
        for number, case in sizes.items():
            callers = case.callers * case.outstanding
            for start in self.ledger_of(number).index:
                large[self.calls.place_of(start)] = self.calls.of_start(start).client % callers == callers - 1
        return large

    @cached_property
    def _hosts_of_calls(self) -> pd.Categorical:
        """The host that made each call, of a run of several hosts."""
        hosts = merging.hosts_of(self.calls, self.hosts, lambda start: self.case(self.ledger.at[start, "case"]))
        for start in self.hosts.loc[self.hosts["clients"] > 0, "start"].unique():
            if (hosts.codes[self.calls.place_of(start)] < 0).any():
                raise self._contradiction(f"start {start} has calls of a client that no host has")
        return hosts

    @cached_property
    def slices(self) -> pd.DataFrame:
        """One row per slice: block, case, round, and values of it: see ``slices.values``."""
        return slices.values(self.stored_slices, self.calls, self.ledger)

    def contrasts(self, base: int, other: int, name: str) -> "pd.Series[float] | None":
        """Return ln(other / base) of a quantity from slices; None where these did not take turns with each other.

        Index: block and round, see ``slices.contrasts``.
        """
        if not len(self.stored_slices) or name not in self.slices or not {base, other} <= set(self.slices["case"]):
            return None
        logs = _logarithms(self, name)
        if not {base, other} <= set(logs):  # of a server that runs already no CPU time is known
            return None
        contrasts = slices.contrasts(logs, base, other)
        return contrasts if len(contrasts) else None

    @cached_property
    def merged(self) -> dict[int, merging.Merged]:
        """How the calls of several hosts are merged, by case; empty for a run of one machine."""
        if not len(self.hosts):
            return {}
        cases = self.hosts["start"].map(self.ledger["case"])
        return {
            number_of(case): merging.merged(self._rows(case, [self._is_alike]), rows)
            for case, rows in self.hosts.groupby(cases)
        }

    @cached_property
    def _is_headline(self) -> Array:
        """Whether each call is of a host that quantiles describe."""
        is_headline = np.ones(self.calls.calls.size, bool)
        for case, merged in self.merged.items():
            for start in self.ledger_of(case).index if merged.host else ():
                part = self.calls.place_of(start)
                is_headline[part] = self._hosts_of_calls[part] == merged.host
        return is_headline

    @cached_property
    def _is_alike(self) -> Array:
        """Whether each call is after the warm-up, of the usual payload, over an open connection.

        Where every call opens its connection, it is those calls.
        """
        if not self._opens.any() and not self._large.any():
            return self.is_warm
        is_alike = self.is_warm & ~self._large
        for start, case in self.ledger["case"].items():
            if self.case(case).calls_per_connection != 1:
                part = self.calls.place_of(start)
                is_alike[part] &= ~self._opens[part]
        return is_alike

    def count(self, case: int) -> int:
        """Return how many calls of a case quantiles are taken from: those after the warm-up."""
        if self.case(case).load == reply_stream_times.LOAD:
            return int((self.replies["case"] == case).sum())
        return sum(calls.size for _, calls in self.described_calls(case))

    def described_calls(self, case: int) -> Iterator[tuple[int, Calls]]:
        """Yield each start of a case with its calls that quantiles describe, where it has any.

        They are those alike, of the hosts that are described.
        """
        return self._calls(case, [self._is_alike, *([self._is_headline] if len(self.hosts) else [])])

    def idle_calls(self, case: int) -> Iterator[tuple[int, Calls]]:
        """Yield each start of an open load with its calls after the warm-up that found an idle connection, if any.

        Of several hosts only those that quantiles describe.
        """
        flags = self._flags(warm=True, headline=True)
        for start in map(number_of, self.ledger_of(case).index):
            calls, part = self.calls.of_start(start), self.calls.place_of(start)
            idle = functools.reduce(np.logical_and, [flag[part] for flag in flags], ~start_values.was_waiting(calls))
            if idle.any():
                yield start, calls.select(idle)

    def distribution_us(self, case: int) -> tuple[Array, Array]:
        """Return the empirical CDF of the RTT of a case after the warm-up: (values in us, fractions)."""
        values_ns, fractions = stats.distribution(joined([calls.rtt_ns for _, calls in self.described_calls(case)]))
        return values_ns / 1e3, fractions

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
    def events(self) -> pd.DataFrame:
        """Events of traced cases with the case of each, by start and in the order of time; see ``schema.EVENTS``."""
        return self._with_case("events").sort_values(["start", "slice", "t_ns"], kind="stable", ignore_index=True)

    def events_of(self, start: int) -> pd.DataFrame:
        """Return the events of one start. All who ask share them: nobody changes them."""
        rows = self._events_by_start.get(start)
        return self.events[:0] if rows is None else rows

    @cached_property
    def _events_by_start(self) -> dict[int, pd.DataFrame]:
        return {number_of(start): rows for start, rows in self.events.groupby("start")}

    @cached_property
    def streams(self) -> pd.DataFrame:
        """Reply streams, one row per request: see ``reply_stream_times.streams``."""
        return reply_stream_times.streams(self._read("streams"), self.ledger)

    @cached_property
    def replies(self) -> pd.DataFrame:
        """Stored replies of reply streams, one row for each: see ``reply_stream_times.replies``."""
        frame = reply_stream_times.replies(self._read("replies"), self.streams)
        if len(lost := frame.loc[frame["case"].isna(), "start"]):
            raise self._contradiction(f"start {lost.iloc[0]} has replies of a stream that is missing")
        return frame

    # Starts and cases -------------------------------------------------------------------------------------------

    @cached_property
    def ledger(self) -> pd.DataFrame:
        """One row per start (index ``start``), with CPU time per call in us and the length of the warm-up.

        DataError for a run without any complete start.
        """
        frame = self.stored_ledger.copy()
        frame["metered_ns"] = frame["metered_ns"].fillna(1e9 * frame["window_s"])  # of an older version
        cases = frame["case"].map(self.case)
        cuts_ns = {
            start: int(self.calls.of_start(start).t_send_ns[settling.cut]) for start, settling in self.settlings.items()
        }
        frame["warm_up_ns"] = start_values.warm_up_ns(frame, cases, cuts_ns, self.settlings)
        rounds = self.stored_slices[self.stored_slices["round"] > slicing.WARM_UP]
        begun = rounds.groupby("start")["begin_ns"].min()
        frame.loc[begun.index, "warm_up_ns"] = begun
        used = start_values.warm_use(frame, self.load, self.calls, self.marks, self.stored_slices)
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
        busy = cpus.where(hosts["clients"] == 0, np.minimum(cpus, hosts["clients"]))
        busy_ns = hosts["cpu_ns"] - hosts["pacing_cpu_ns"].fillna(0)
        return busy_ns / 1e9 / hosts["start"].map(windows_s) / busy

    @cached_property
    def settlings(self) -> dict[int, steady_state.Settling]:
        """How each start settled; index: start."""
        return start_values.settlings(self.calls)

    @cached_property
    def starts(self) -> pd.DataFrame:
        """The ledger with quantiles of the RTT (us), rates per second, and Mb/s, one row per start.

        A quantile above the median is NaN where the start has too few calls to carry it. Of a start without samples
        they are what its load generator reported, and NaN what it did not.
        """
        frame, cases = self.ledger.copy(), map(number_of, self._ledger_by_case)
        of_starts = {
            start: start_values.quantiles_us(calls) for case in cases for start, calls in self.described_calls(case)
        }
        quantiles = pd.DataFrame.from_dict(of_starts, "index", dtype=float, columns=list(COLUMNS))
        frame[list(COLUMNS)] = quantiles.reindex(frame.index)
        frame["achieved"] = sent_of_scheduled(frame)
        frame["mean_rtt_us"] = self.means_us("rtt")
        frame["p50_first_us"] = self._first_us()
        marks = start_values.warm_marks(self.marks, frame["warm_up_ns"])
        rates: dict[int, float] = {}
        for case in self._ledger_by_case:
            for start, warm in self.calls_of(case, warm=True):
                calls = self.calls.of_start(start)
                if self.case(case).is_paced:
                    from_ns, until_ns = frame.at[start, "warm_up_ns"], 1e9 * frame.at[start, "window_s"]
                    rates[start] = start_values.paced_rate(calls, from_ns, until_ns)
                else:
                    rates[start] = start_values.call_rate(calls, int(warm.t_send_ns[0]))
        rates |= start_values.stream_rates(marks, "server")
        if len(self.stored_slices):
            rounds = self.slices[self.slices["round"] > slicing.WARM_UP]
            rates |= slices.pooled(rounds, slices.RATE, ["start"]).set_index("start")[slices.RATE].to_dict()
        frame["rate_per_s"] = pd.Series(rates, dtype=float)
        start_values.fill_in_reported(frame, self.reports)
        frame["send_rate_per_s"] = pd.Series(start_values.stream_rates(marks, "client"), dtype=float)
        size = frame["payload_bytes"]
        if (frame["load"] == reply_stream_times.LOAD).any():
            added = reply_stream_times.quantiles(self.ledger, self.streams, self.replies)
            frame["rate_per_s"] = frame["rate_per_s"].fillna(added.pop("stream_rate_per_s"))
            frame[added.columns] = added.reindex(frame.index)
            size = frame["reply_bytes"].fillna(size)
        frame["rate_mbit_per_s"] = frame["rate_per_s"] * size * 8 / 1e6
        mixed = [
            number
            for number, case in enumerate(self.plan.cases)
            if case.large_bytes or case.p99_bytes or (case.load == reply_stream_times.LOAD and not case.reply_bytes)
        ]
        frame.loc[frame["case"].isin(mixed), "rate_mbit_per_s"] = np.nan  # of several payloads, or of a user's service
        return frame

    def means_us(self, time: str) -> "pd.Series[float]":
        """Return the mean ``rtt`` or ``response`` of the described calls after the warm-up, by start, in us."""
        means = {}
        for case in map(number_of, self._ledger_by_case):
            for start, calls in self.described_calls(case):
                means[start] = (calls.response_ns if time == "response" else calls.rtt_ns).mean() / 1e3
        return pd.Series(means, dtype=float).sort_index().rename_axis("start")

    def _first_us(self) -> "pd.Series[float]":
        """Return the median time of the calls after the warm-up that opened their connection, by start, in us."""
        medians = {}
        for case in self._ledger_by_case if self._opens.any() else ():
            for start, calls in self._calls(case, [self.is_warm, self._opens]):
                medians[start] = float(np.median((calls.open_ns + calls.rtt_ns) / 1e3))
        return pd.Series(medians, dtype=float)

    @cached_property
    def cases(self) -> pd.DataFrame:
        """One row per measured case: label, factors, starts, n, and (value, lowest, highest) over its starts.

        ``p50_rtt_us`` is the median of the start medians, ``p50_rtt_us_low`` and ``_high`` the smallest and
        the largest of them; likewise for the other columns of ``starts``. A quantile that some start does not carry
        is NaN.
        """
        return pd.DataFrame([self._case(number, self.case(number)) for number in self.numbers]).set_index("case")

    def _case(self, index: int, case: Case) -> dict[str, Any]:
        starts, is_streamed = self.starts_of(index), case.load == reply_stream_times.LOAD
        streamed = ("replies", "reply_bytes", "gap_us") if is_streamed else ()
        times = reply_stream_times.COLUMNS if is_streamed else ()
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
        values, is_streamed = self.starts_of(case)[name], self.case(case).load == reply_stream_times.LOAD
        is_carried = name not in (*TAILS, *(reply_stream_times.COLUMNS if is_streamed else ())) or values.notna().all()
        return stats.across_starts(values.to_list() if is_carried else [])

    @cached_property
    def labels(self) -> list[str]:
        """The shortest label that distinguishes each case from the others."""
        return list(map(as_label, self.label_parts))

    @cached_property
    def label_parts(self) -> list[Parts]:
        """The parts of each label: system and transport, then the factors that differ between the cases."""
        return parts(self.plan.cases)


def _behind_each_other(parts: Sequence[Columns], whole: Columns) -> pd.DataFrame:
    """Return rows of several starts as a frame. whole: columns of all of them together, which are not copied."""
    columns = {}
    for name in (name for name in ORDER if name in parts[0]):
        of_parts = [part[name] for part in parts]
        columns[name] = (
            whole[name]
            if name in whole
            else union_categoricals(of_parts)
            if name in ("host", "request")
            else joined(of_parts)
        )
    return pd.DataFrame({name: pd.Series(values, copy=False) for name, values in columns.items()}, copy=False)


def once_per_run(compute: Callable[Concatenate[Run, Inputs], Answer]) -> Callable[Concatenate[Run, Inputs], Answer]:
    """Let a function of a run, and of values that can be hashed, work out each answer once: a run never changes.

    What it returns is shared by all who ask: nobody changes it.
    """
    by_run: WeakKeyDictionary[Run, dict[Any, Answer]] = WeakKeyDictionary()

    @functools.wraps(compute)
    def answered(run: Run, /, *inputs: Inputs.args, **named: Inputs.kwargs) -> Answer:
        answers, key = by_run.setdefault(run, {}), (inputs, tuple(named.items()))
        if key not in answers:
            answers[key] = compute(run, *inputs, **named)
        return answers[key]

    return answered


@once_per_run
def _logarithms(run: Run, name: str) -> pd.DataFrame:
    """Return ``slices.logarithms`` of a quantity."""
    return slices.logarithms(run.slices, name)


def shared(path: Path) -> Run:
    """Return the run in a folder: the same one to all who ask in this process, as long as no file of it changes.

    What was read and worked out of it is then read and worked out once.
    """
    files = sorted((str(file), file.stat()) for file in path.absolute().rglob("*") if file.is_file())
    return _read(
        path.absolute(), tuple((name, status.st_ino, status.st_mtime_ns, status.st_size) for name, status in files)
    )


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


P50 = column(0.5)
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
