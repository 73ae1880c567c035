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
import pyarrow as pa

from bench import stats
from bench.errors import DataError
from bench.plan.case import Case
from bench.plan.labels import labels
from bench.plan.plan import Plan
from bench.run import merging, reply_streams, start_record
from bench.run.folder import Folder
from bench.run.sketched_starts import SketchedStarts, evenly
from bench.stats import sketches, steady_state
from bench.stats.sketches import Sketch
from bench.text import all_harmless, harmless

Given = ParamSpec("Given")
Found = TypeVar("Found")

BEYOND_NS = 60e9  # a call may outlast its window by what it is waited for, and by no more
ROLES = ("client", "server", "router", "controller")


class Run:
    """A run loaded from its folder; tables are read on first use, and nothing can be set.

    folder: where it is. manifest: as stored. id: its name. plan: what was to be measured.
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

    def find(self, **factors: object) -> list[int]:
        """Return the numbers of the measured cases with these factors, as ``Case.factor`` knows them.

        ``run.find(system="zeromq", transport="ipc")``; an option that a system lacks is None.
        """
        return [one for one in self.numbers if all(self.case(one).factor(name) == factors[name] for name in factors)]

    def first(self, **factors: object) -> int | None:
        """Return the number of the first measured case with these factors, or None if it was not measured."""
        return next(iter(self.find(**factors)), None)

    def part(self, cases: Sequence[int]) -> "Run":
        """Return this run with some of its measured cases; the tables are the same. ``whole`` is this run."""
        rows = self.cases.loc[list(cases)]
        found = object.__new__(Run)
        vars(found).update(vars(self) | {"cases": rows, "numbers": tuple(cases), "_whole": self.whole})
        return found

    @property
    def whole(self) -> "Run":
        """The run that this one is a part of, or itself."""
        found: Run = vars(self).get("_whole", self)
        return found

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
        rows = self.samples.iloc[self._samples_by_case.get(case, [])]
        rows = self._headline(rows) if headline else rows
        return rows[rows["warm"]] if warm else rows

    @cached_property
    def _samples_by_case(self) -> dict[object, Any]:
        """The places of each case's calls in ``samples``, ascending: a look at each of millions of calls for once."""
        return dict(self.samples.groupby("case").indices)

    def sessions_of(self, case: object) -> pd.DataFrame:
        """Return the whole client processes of one case."""
        return self.sessions[self.sessions["case"] == case]

    @cached_property
    def samples(self) -> pd.DataFrame:
        """One row per call: start, client, t_send_ns, lag_ns, rtt_ns, open_ns; ``case``; ``warm`` after the warm-up.

        ``opens``: the call opened its connection. ``large``: it carries the larger payload beside the others. Of a run
        of several hosts also ``host``, which made the call. Of a run in which hosts kept samples some of their calls,
        chosen at random, and also ``process`` and ``share``: how much of the process's calls are here.
        """
        frame = self._calls.copy()
        starts = self.ledger[["case", "warm_up_ns"]].reindex(frame["start"])
        frame["case"] = starts["case"].to_numpy()
        frame["warm"] = frame["t_send_ns"].to_numpy() >= starts["warm_up_ns"].to_numpy()
        last = ~frame["start"].duplicated(keep="last")  # a start of one slow call has no other
        frame["warm"] |= last & ~frame.groupby("start")["warm"].transform("any")
        frame["opens"] = frame["open_ns"].notna()
        frame["large"] = False
        for case in self.find_large():
            mine, each = frame["case"] == case, self.case(case).callers * self.case(case).outstanding
            frame.loc[mine, "large"] = frame.loc[mine, "client"] % each == each - 1
        if len(self.hosts):
            frame["host"] = merging.hosts_of(frame, self.hosts, lambda start: self.case(self.ledger.loc[start, "case"]))
            calling = self.hosts.loc[self.hosts["clients"] > 0, "start"]
            if len(lost := frame.loc[frame["host"].isna() & frame["start"].isin(calling), "start"]):
                raise self._contradiction(f"start {lost.iloc[0]} has calls of a client that no host has")
        if self.kept_starts:
            frame["process"] = frame["client"] // self._callers(frame["start"])
            kept = self.sketches.groupby(["start", "process"])[["sampled", "calls"]].sum()
            share = kept["sampled"] / kept["calls"]
            places = pd.MultiIndex.from_frame(frame[["start", "process"]])
            frame["share"] = share.reindex(places).fillna(1.0).to_numpy()
            self._refuse_misplaced(frame, kept["sampled"])
        return frame

    def _refuse_misplaced(self, calls: pd.DataFrame, sampled: "pd.Series[int]") -> None:
        """Raise DataError if a process that kept its samples is another host's, or has another number of them here."""
        found = calls.groupby(["start", "process"])["host"].agg(["size", "first"]).reindex(sampled.index)
        host = self.sketches.groupby(["start", "process"])["host"].first()
        wrong = (found["size"].fillna(0) != sampled) | (found["first"].astype(object).fillna(host) != host)
        if wrong.any():
            start, process = wrong.idxmax()
            raise self._contradiction(
                f"start {start} has sketches of client process {process} that its samples do not fit"
            )

    def _callers(self, starts: "pd.Series[int]") -> "np.ndarray[Any, Any]":
        """Return how many calls each client process of a start has under way, for each of some starts."""
        each = {start: case.callers * case.outstanding for start, case in self.ledger["case"].map(self.case).items()}
        return np.asarray(starts.map(each))

    @cached_property
    def sketches(self) -> pd.DataFrame:
        """Sketches of the client processes that kept their samples, one row per slice: see ``schema``; usually none."""
        frame = self._sketches
        if frame["accuracy"].nunique() > 1 or frame.duplicated(["start", "process", "slice"]).any():
            raise self._contradiction("its sketches are of several accuracies, or of one slice twice")
        return frame[frame["start"].isin(self.ledger.index)]

    @cached_property
    def _sketches(self) -> pd.DataFrame:
        frame: pd.DataFrame = self.folder.read("sketches").to_pandas()
        for name in ("host", "path"):
            frame[name] = frame[name].map(harmless, na_action="ignore")
        return frame

    @cached_property
    def kept_starts(self) -> list[int]:
        """The starts in which some process kept its samples on its host; usually none."""
        return [number_of(start) for start in dict.fromkeys(self.sketches["start"])]

    @cached_property
    def sketched(self) -> SketchedStarts:
        """The starts in which processes kept their samples."""
        warm_up_ns = {number_of(start): int(ns) for start, ns in self.ledger["warm_up_ns"].items()}
        return SketchedStarts.of(self.sketches, self.samples, warm_up_ns)

    def sketched_of(self, case: object) -> dict[int, str]:
        """Return the starts of a case whose quantiles come from sketches, with the host that they describe, "": all."""
        if not self.kept_starts:
            return {}
        host = self.merged[number_of(case)].host if case in self.merged else ""
        starts = map(number_of, self.ledger_of(case).index)
        return {start: host for start in starts if self.sketched.has(start, host)}

    @cached_property
    def _sketched_hosts(self) -> dict[int, str]:
        """The starts of all cases whose quantiles come from sketches, likewise."""
        return {start: host for case in self.merged for start, host in self.sketched_of(case).items()}

    def find_large(self) -> list[int]:
        """Return the numbers of the cases whose clients each make one larger call beside the others."""
        return [number for number, case in enumerate(self.plan.cases) if case.large_bytes]

    @cached_property
    def merged(self) -> dict[int, merging.Merged]:
        """How the calls of several hosts are merged, by case; empty for a run of one machine."""
        if not len(self.hosts):
            return {}
        calls, cases = self._alike, self.hosts["start"].map(self.ledger["case"])
        return {
            number_of(case): merging.merged(calls[calls["case"] == case], rows, self._quantile_of_host)
            for case, rows in self.hosts.groupby(cases)
        }

    def _quantile_of_host(self, start: int, host: str, p: float) -> float | None:
        """Return a quantile of the response times of a host's calls, in ns, from its sketch; None if it has none."""
        if start not in self.kept_starts or not self.sketched.has(start, host):
            return None
        return self.sketched.times(start, "response", host).carried(p) * 1e3

    def _headline(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return those calls whose hosts quantiles describe."""
        for case, one in self.merged.items():
            if one.host:
                rows = rows[(rows["case"] != case) | (rows["host"] == one.host)]
        return rows

    @cached_property
    def _usual(self) -> pd.DataFrame:
        """The calls that quantiles describe: those alike, of the hosts that are described."""
        return self._headline(self._alike)

    @cached_property
    def _alike(self) -> pd.DataFrame:
        """The calls after the warm-up, of the usual payload, over an open connection.

        Where every call opens its connection, it is those calls.
        """
        warm = self.samples[self.samples["warm"]]
        if not (warm["opens"].any() or warm["large"].any()):
            return warm
        always = warm["case"].isin([n for n, case in enumerate(self.plan.cases) if case.calls_per_connection == 1])
        return warm[~warm["large"] & (~warm["opens"] | always)]

    @cached_property
    def marks(self) -> pd.DataFrame:
        """Progress of one-way streams: start, role, t_ns, messages."""
        return self.folder.read("marks").to_pandas()

    @cached_property
    def load(self) -> pd.DataFrame:
        """CPU load and memory over time: start, role, t_ns, cpu_percent, rss_bytes."""
        return self.folder.read("load").to_pandas()

    @cached_property
    def reports(self) -> pd.DataFrame:
        """Reports of the load generators, one row per number: start, name, value, unit."""
        return self.folder.read("reports").to_pandas()

    @cached_property
    def sessions(self) -> pd.DataFrame:
        """Whole client processes, one row for each: start, case, calls, payload_bytes, moments (ns) and CPU (ns)."""
        frame: pd.DataFrame = self.folder.read("sessions").to_pandas()
        frame["case"] = self.ledger["case"].reindex(frame["start"]).to_numpy()
        return frame

    @cached_property
    def attempts(self) -> pd.DataFrame:
        """Attempts of a load with retries, one row for each, in the order of sending within each start.

        Columns: start, case, request, number, due_ns, t_send_ns, rtt_ns (NaN: no reply).
        """
        frame: pd.DataFrame = self.folder.read("attempts").to_pandas()
        frame["case"] = self.ledger["case"].reindex(frame["start"]).to_numpy()
        return frame.sort_values(["start", "t_send_ns"], kind="stable", ignore_index=True)

    @cached_property
    def streams(self) -> pd.DataFrame:
        """Reply streams, one row per request: see ``reply_streams.streams``."""
        return reply_streams.streams(self.folder, self.ledger)

    @cached_property
    def replies(self) -> pd.DataFrame:
        """Stored replies of reply streams, one row for each: see ``reply_streams.replies``."""
        return reply_streams.replies(self.folder, self.streams)

    @cached_property
    def hosts(self) -> pd.DataFrame:
        """Hosts that took part, one row per start, host and role: see ``schema``; none where it was one machine."""
        return self._hosts[self._hosts["start"].isin(self.ledger.index)]

    @cached_property
    def _hosts(self) -> pd.DataFrame:
        frame: pd.DataFrame = self.folder.read("hosts").to_pandas()
        for name in ("host", "role"):
            frame[name] = frame[name].map(harmless, na_action="ignore")
        if wrong := merging.misplaced(frame):
            raise self._contradiction(wrong)
        return frame

    def machine_of(self, host: str) -> dict[str, Any]:
        """Return the machine record of a host; this machine's for one that has none."""
        found: dict[str, Any] = self.manifest.get("hosts", {}).get(host) or self.manifest["machine"]
        return found

    def shares(self, hosts: pd.DataFrame, windows_s: "pd.Series[float]") -> "pd.Series[float]":
        """Return for rows of ``hosts`` the utilization of the CPUs that they can use: a client process uses one."""
        cpus = hosts["host"].map(lambda name: int(self.machine_of(name)["cpus_allowed"])).astype(float)
        most = cpus.where(hosts["clients"] == 0, np.minimum(cpus, hosts["clients"]))
        return hosts["cpu_ns"] / 1e9 / hosts["start"].map(windows_s) / most

    def _shares_of_hosts(self, windows_s: "pd.Series[float]") -> "pd.Series[float]":
        """Return the largest share that clients use of the CPUs of their host, by start; none of one machine."""
        loading = self._hosts[(self._hosts["clients"] > 0) & self._hosts["start"].isin(windows_s.index)]
        return self.shares(loading, windows_s).groupby(loading["start"]).max()

    @cached_property
    def ledger(self) -> pd.DataFrame:
        """One row per start (index ``start``), with CPU per call in us and the length of the warm-up.

        The warm-up is a fixed part of the window (``stats.warm_up_ns``), or as long as was detected if that is more.

        DataError for a run without any complete start.
        """
        table = self._ledger
        if wrong := start_record.misplaced(table, self.folder.plan().cases):
            raise self._contradiction(harmless(wrong))
        frame: pd.DataFrame = table.to_pandas().set_index("start")
        for name in ("options", "target"):
            frame[name] = frame[name].map(harmless, na_action="ignore")
        if frame.empty:
            raise DataError(f"run {self.id} has no complete start: measure it again with -p resume true")
        for role in ROLES:
            frame[f"{role}_cpu_us_per_call"] = frame[f"{role}_cpu_ns"] / frame["calls"] / 1e3
            frame[f"{role}_cpu_percent"] = frame[f"{role}_cpu_ns"] / frame["window_s"] / 1e7
        usable = self._cpus(frame["client_cpus"]).clip(upper=frame["clients"])  # a process runs one thread at a time
        frame["client_cpu_share"] = frame["client_cpu_percent"] / 100 / usable
        for start, share in self._shares_of_hosts(frame["window_s"]).items():
            frame.loc[number_of(start), "client_cpu_share"] = share
        frame["client_sleeps_per_call"] = frame["voluntary_switches"] / frame["calls"]
        frame["server_sleeps_per_call"] = frame["server_voluntary_switches"] / frame["calls"]
        cases = frame["case"].map(self.case)
        limits = cases.map(lambda case: case.max_calls * case.is_short)  # short windows have a warm-up of their own
        shortest = frame.groupby(limits)["window_s"].transform("min")
        frame["warm_up_ns"] = shortest.map(stats.warm_up_ns)
        whole = ~cases.map(lambda case: case.is_short)
        frame.loc[whole, "warm_up_ns"] = frame.loc[whole, "warm_up_ns"].clip(lower=self._detected_ns(frame[whole]))
        frame["other_cpu_ns"] = frame["machine_busy_ns"] - frame[[f"{role}_cpu_ns" for role in ROLES]].sum(axis=1)
        return frame

    @cached_property
    def _calls(self) -> pd.DataFrame:
        """All calls as stored, in the order of sending within each start."""
        frame: pd.DataFrame = self.folder.read("samples").to_pandas()
        ledger = self._ledger.select(["start", "case", "window_s", "calls", "errors"]).to_pandas().sort_values("start")
        starts, known = frame["start"].to_numpy(), ledger["start"].to_numpy()
        if len(starts) and starts[-1] > known[-1]:  # completed since the ledger was read: the run is being measured
            frame = frame[starts <= known[-1]]
            starts = frame["start"].to_numpy()
        rows = np.searchsorted(known, starts)  # of the ledger: it is read with the starts that are complete
        most_ns = ledger["window_s"].to_numpy()[rows] * 1e9 + BEYOND_NS
        beyond = (frame["t_send_ns"].to_numpy() > most_ns) | (frame["rtt_ns"].to_numpy() > most_ns)
        if beyond.any():
            raise self._contradiction(f"start {starts[beyond.argmax()]} has times beyond its window")
        sampled = ledger["case"].isin([at for at, case in enumerate(self.plan.cases) if _is_sampled(case)]).to_numpy()
        counted = np.bincount(rows, minlength=len(known)) + self._held(known)
        wrong = sampled & (counted != ledger["calls"].to_numpy()) & ~(ledger["errors"].to_numpy() > 0)
        if self.folder.is_verified and wrong.any():
            at = wrong.argmax()
            what = f"start {known[at]} has {counted[at]:,} samples of {ledger['calls'].iloc[at]:,} calls"
            raise self._contradiction(what)
        return frame.sort_values(["start", "t_send_ns"], kind="stable") if frame["client"].any() else frame

    def _held(self, starts: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
        """Return how many calls of each start were kept on hosts, and are not in ``samples``."""
        held = (self._sketches["calls"] - self._sketches["sampled"]).groupby(self._sketches["start"]).sum()
        return np.asarray(held.reindex(starts, fill_value=0))

    def _contradiction(self, what: str) -> DataError:
        """Return the error for a run whose files do not belong together."""
        return DataError(f"run {self.id} contradicts itself: {what}; its files were exchanged: measure it anew")

    @cached_property
    def _ledger(self) -> pa.Table:
        """The ledger as stored; its frame and the bounds of the samples are made from it."""
        return self.folder.read("ledger")

    @cached_property
    def settlings(self) -> dict[int, steady_state.Settling]:
        """How each start settled; index: start."""
        times = self._calls.groupby("start")["rtt_ns"]  # a group of one column: a frame's would copy all of them
        return {start: steady_state.settle(values.to_numpy()) for start, values in times}

    def _detected_ns(self, starts: pd.DataFrame) -> int:
        """Return when the last case has warmed up, at most half a window after *go*: one cut for all starts.

        A case warms up if at least half of its starts do; a step in a single start is attributed to the machine.
        """
        found = [0]
        times = dict(iter(self._calls.groupby("start")["t_send_ns"]))
        for _, rows in starts.groupby("case"):
            warming = [
                start for start in rows.index if start in times and self.settlings[start].label == steady_state.WARM_UP
            ]
            if 2 * len(warming) >= len(rows):
                found += [int(times[start].iloc[self.settlings[start].cut]) for start in warming]
        return min(max(found), int(starts["window_s"].min() * 0.5e9)) if len(starts) else 0

    def _cpus(self, allowed: "pd.Series[str]") -> "pd.Series[int]":
        """Return how many CPUs a role could use in each start."""
        everywhere = int(self.manifest["machine"]["cpus_allowed"])
        return allowed.map(lambda cpus: len(cpus.split(",")) if isinstance(cpus, str) else everywhere)

    @cached_property
    def starts(self) -> pd.DataFrame:
        """The ledger with quantiles of the RTT (us), rates per second, and Mb/s, one row per start.

        A quantile above the median is NaN where the start has too few calls to carry it. Of a start without samples
        they are what its load generator reported, and NaN what it did not.
        """
        frame = self.ledger.copy()
        warm = self._usual
        for name, times in (("rtt", warm["rtt_ns"]), ("response", warm["lag_ns"] + warm["rtt_ns"])):
            by_start = {start: values.to_numpy() / 1e3 for start, values in times.groupby(warm["start"])}
            kept = {start: self.sketched.times(start, name, host) for start, host in self._sketched_hosts.items()}
            for p in stats.QUANTILES:
                each = {start: stats.carried(values, p) for start, values in by_start.items()}
                each |= {start: found.carried(p) for start, found in kept.items()}
                frame[column(p).replace("rtt", name)] = pd.Series(each, dtype=float)
        frame["achieved"] = frame["calls"] / frame["scheduled"]
        frame["pacing_p99_us"] = pd.Series(self._pacing(), dtype=float)
        frame["mean_rtt_us"] = self.means_us("rtt")
        frame["p50_first_us"] = self._first_calls_us()
        frame["rate_per_s"] = pd.Series(self._call_rates() | self._stream_rates("server"), dtype=float)
        _fill_in(frame, self.reports)
        frame["send_rate_per_s"] = pd.Series(self._stream_rates("client"), dtype=float)
        size = frame["payload_bytes"]
        if (frame["load"] == reply_streams.LOAD).any():
            added = reply_streams.quantiles(self.ledger, self.streams, self.replies)
            frame["rate_per_s"] = frame["rate_per_s"].fillna(added.pop("stream_rate_per_s"))
            frame[added.columns] = added.reindex(frame.index)
            size = frame["reply_bytes"].fillna(size)
        frame["rate_mbit_per_s"] = frame["rate_per_s"] * size * 8 / 1e6
        sizes = [n for n, case in enumerate(self.plan.cases) if case.large_bytes or case.p99_bytes]
        frame.loc[frame["case"].isin(sizes), "rate_mbit_per_s"] = np.nan  # of several payloads
        frame["opened_per_call"] = frame["tcp_connections"] / frame["calls"]
        return frame

    def means_us(self, time: str) -> "pd.Series[float]":
        """Return the mean ``rtt`` or ``response`` of the described calls after the warm-up, by start, in us."""
        warm = self._usual
        times = warm["rtt_ns"] + warm["lag_ns"] if time == "response" else warm["rtt_ns"]
        found = times.groupby(warm["start"]).mean() / 1e3
        for start, host in self._sketched_hosts.items():
            found.loc[start] = self.sketched.times(start, time, host).mean
        return found

    def _first_calls_us(self) -> "pd.Series[float]":
        """Return the median time of the calls that open a connection, the opening included, by start, in us."""
        first = self.samples[self.samples["warm"] & self.samples["opens"]]
        return ((first["open_ns"] + first["rtt_ns"]) / 1e3).groupby(first["start"]).median()

    def _pacing(self) -> dict[int, float]:
        """Return the p99 lateness, by start, of the requests of an open load that found an idle connection, in us."""
        found = {}
        for start in self.ledger.index[self.ledger["load"] == "open"]:
            if start in self.kept_starts:
                found[int(start)] = self.sketched.times(int(start), "lag", warm=False).quantile(0.99)
                continue
            rows = self._calls[self._calls["start"] == start]
            idle = rows.loc[~was_waiting(rows), "lag_ns"]
            found[int(start)] = stats.quantile(idle.to_numpy() / 1e3, 0.99)
        return found

    def _call_rates(self) -> dict[int, float]:
        rates = {}
        for start, rows in self.samples[["start", "t_send_ns", "rtt_ns", "client"]].groupby("start"):
            send, client = rows["t_send_ns"].to_numpy(), rows["client"].to_numpy()
            if start in self.kept_starts:
                rates[start] = self.sketched.rate_per_s(start)
                continue
            rates[start] = stats.closed_rate(send, send + rows["rtt_ns"].to_numpy(), client)
        return rates

    def _stream_rates(self, role: str) -> dict[int, float]:
        rows = self.marks[self.marks["role"] == role].groupby("start")
        return {n: stats.stream_rate(m["t_ns"].to_numpy(), m["messages"].to_numpy()) for n, m in rows}

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
        mine = self.starts_of(index)
        row = {"case": index, "label": self.labels[index], "starts": len(mine), "n": self.count(index)}
        streamed = ("replies", "reply_bytes", "gap_us") if case.load == reply_streams.LOAD else ()
        row |= {name: getattr(case, name) for name in (*FACTORS, *streamed)} | {"options": json.dumps(case.options)}
        row["target"] = case.target or ""
        more = reply_streams.COLUMNS if case.load == reply_streams.LOAD else ()
        for name in (*NUMBERS, *more):
            known = mine[name] if name not in (*TAILS, *more) or mine[name].notna().all() else mine[name][:0]
            row[name], row[f"{name}_low"], row[f"{name}_high"] = stats.across_starts(known.to_list())
        return row

    def count(self, case: int) -> int:
        """Return how many calls of a case quantiles are taken from: those after the warm-up."""
        if self.case(case).load == reply_streams.LOAD:
            return int((self.replies["case"] == case).sum())
        if not (kept := self.sketched_of(case)):
            return len(self.rtt_us(case))
        rows = self.samples_of(case, warm=True, headline=True)
        sketched = sum(len(self.sketched.times(start, "rtt", host)) for start, host in kept.items())
        return int((~rows["start"].isin(kept)).sum()) + sketched

    def rtt_us(self, case: int) -> "np.ndarray[Any, Any]":
        """Return the RTT of all calls of a case after the warm-up, all starts together, in us.

        Where hosts kept samples, a random sample of these calls.
        """
        return self._warm_rtt.get(case, np.empty(0))

    def distribution_us(self, case: int) -> "tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]":
        """Return the empirical distribution function of the RTT of a case after the warm-up: (values in us, fractions).

        Where hosts kept samples, that of their sketches.
        """
        if not (kept := self.sketched_of(case)):
            return stats.distribution(self.rtt_us(case))
        values, fractions = self.pooled(case, "rtt", kept).distribution()
        return values / 1e3, fractions

    def pooled(self, case: int, time: str, kept: dict[int, str]) -> Sketch:
        """Return a sketch of the times of all described calls of a case after the warm-up, in ns.

        kept: as ``sketched_of`` returns it.
        """
        rows = self.samples_of(case, warm=True, headline=True)
        rows = rows[~rows["start"].isin(kept)]
        whole = rows["rtt_ns"] + rows["lag_ns"] if time == "response" else rows["rtt_ns"]
        each = [self.sketched.times(start, time, host).sketch for start, host in kept.items()]
        return sketches.merged([Sketch.of(whole.to_numpy()), *each])

    def described(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return some calls of a case as a random sample of all: where hosts kept samples, others lose as many."""
        return evenly(rows, rows["share"]) if "share" in rows else rows

    @cached_property
    def _warm_rtt(self) -> dict[int, Any]:
        warm = self._usual
        return {case: self.described(rows)["rtt_ns"].to_numpy() / 1e3 for case, rows in warm.groupby("case")}

    @cached_property
    def labels(self) -> list[str]:
        """The shortest label that distinguishes each case from the others."""
        return labels(self.plan.cases)


def once(of_run: Callable[Concatenate[Run, Given], Found]) -> Callable[Concatenate[Run, Given], Found]:
    """Let a function of a run, and of values that can be hashed, work out each answer once: a run never changes.

    What it returns is shared by all who ask: nobody changes it.
    """
    known: WeakKeyDictionary[Run, dict[Any, Found]] = WeakKeyDictionary()

    @functools.wraps(of_run)
    def asked(run: Run, /, *given: Given.args, **named: Given.kwargs) -> Found:
        answers, key = known.setdefault(run, {}), (given, tuple(named.items()))
        if key not in answers:
            answers[key] = of_run(run, *given, **named)
        return answers[key]

    return asked


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


def number_of(value: object) -> int:
    """Return the number of a case or of a start that the index of a frame, or the name of its row, holds."""
    return int(str(value))


def numbered(cases: pd.DataFrame) -> "Iterator[tuple[int, pd.Series[Any]]]":
    """Yield the rows of ``Run.cases``, or of some of them, each with the number of its case."""
    for number, row in cases.iterrows():
        yield number_of(number), row


REPORTED = {  # columns of a start, in us and per second: the names in the report of a load generator
    "p50_rtt_us": "rtt_p50",
    "p90_rtt_us": "rtt_p90",
    "p99_rtt_us": "rtt_p99",
    "mean_rtt_us": "rtt_mean",
    "rate_per_s": "rate",
}


def _is_sampled(case: Case) -> bool:
    """Return whether each call of a case leaves a sample: it is made here, one by one, and answered."""
    return case.load in ("closed", "open") and not case.generator


def _fill_in(starts: pd.DataFrame, reports: pd.DataFrame) -> None:
    """Put what was reported into the starts that have no samples; what was not reported stays NaN."""
    reported = reports.pivot(index="start", columns="name", values="value").reindex(starts.index)
    for column, name in REPORTED.items():
        if name in reported:
            starts[column] = starts[column].fillna(reported[name])


def was_waiting(calls: pd.DataFrame) -> "pd.Series[bool]":
    """Return for each request of an open load whether its connection still waited for a reply when it was due."""
    done = (calls["t_send_ns"] + calls["rtt_ns"]).groupby([calls["start"], calls["client"]]).shift(1, fill_value=0)
    return done > calls["t_send_ns"] - calls["lag_ns"]


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
    "pacing_p99_us",
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
