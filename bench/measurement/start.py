"""One start: its processes are started, made ready, measured over one window, and ended.

Each step returns what is known after it: ``Spawned``, ``Prepared``, ``Window``, and at last a
``StartRecord``.
"""

import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from operator import itemgetter
from typing import Any

import psutil

from bench import stats, systems
from bench.child.reply_streams import AT_ONCE
from bench.errors import BENCH, SystemFailedError
from bench.measurement import speed
from bench.measurement.held_samples import fetch
from bench.measurement.hosts.host import LOCAL, Assignment, Host, HostWindow, WindowMeter, bound, clocks_of
from bench.measurement.reports import (
    attempts_of,
    calls_of,
    hosts_of,
    marks_of,
    numbers_of,
    reply_streams_of,
    requests_of,
    sessions_of,
    window_ns,
)
from bench.measurement.routers import Router, Routers
from bench.measurement.validation.plan_time import sessions_s
from bench.plan import credentials, placement
from bench.plan.case import WHOLE, Case
from bench.process.channel import Count, Counted, Listening
from bench.process.child_process import END_S, ChildHandle, collect, stop_all
from bench.process.meters import pin_processes
from bench.process.spec import (
    Arrived,
    ClientSpec,
    Close,
    Closed,
    Connect,
    Done,
    FirstArrived,
    Go,
    Proceed,
    Ready,
    Sent,
    ServerSpec,
)
from bench.run.start_record import Requests, StartRecord, Times
from bench.stats import clock_offsets

READY_S = 15.0  # until a server listens and its clients have made a verified call
CONNECTION_S = 0.002  # more for each of many connections
READY_MORE_S = 2.0  # than a service has, so that its own error is the one that is shown
WARM_UP_CALL_S = 0.01  # for each request that warms a service up
PATIENCE_S = 10.0  # after the window's end, for calls under way and for samples to arrive
ROLES = ("server_", "router_", "controller_")
KINDS = {"server", "router", "controller"}  # of processes that a server announces
FAR_AHEAD_NS = (20_000_000, 1_000_000_000)  # more where orders go to other machines, and if one arrived too late
FAR_AHEAD = 3  # and so many times the time that earlier orders took
GO_AHEAD_NS = 2_000_000  # times (clients + 2): from the order to go until the instant at which all begin
SCHEDULED_NS = 200  # more for each request that a client puts after that instant
TALK_NS = 10_000  # more for each connection that then waits for one


class LateOrderError(SystemFailedError):
    """An order to go reached a host after its instant: the start's clients did not begin together."""


def measure(case: Case, window_s: float, seed: int, routers: Routers | None = None) -> StartRecord:
    """Start fresh processes for a case, run one window, end them, and return what was measured.

    A router, if the system has one, is taken from ``routers``; without it, it is fresh and ends here, too. If an order
    to go comes too late at another machine, nothing of the start is kept, and it is made anew, once, with orders that
    leave earlier.
    """
    if routers is None:
        with Routers() as own:
            return measure(case, window_s, seed, own)
    try:
        return _measure(case, window_s, seed, routers, FAR_AHEAD_NS[0])
    except LateOrderError:
        return _measure(case, window_s, seed, routers, FAR_AHEAD_NS[1])


def _measure(case: Case, window_s: float, seed: int, routers: Routers, far_ahead_ns: int) -> StartRecord:
    """Measure one start; ``far_ahead_ns``: how much earlier orders to go leave where they go to other machines."""
    start, children = specified(case, window_s, seed, routers, far_ahead_ns), list[ChildHandle]()
    try:
        spawned = start.spawn(children)
        prepared = start.get_ready(spawned)
        window = start.run_window(spawned, prepared)
        record = start.record(spawned, prepared, window)
        disconnect(spawned)
        return record
    except LateOrderError:
        raise
    except (SystemFailedError, psutil.NoSuchProcess) as error:
        raise start.failure(error, children) from error
    finally:
        stop_all(children)


def specified(case: Case, window_s: float, seed: int, routers: Routers, far_ahead_ns: int = FAR_AHEAD_NS[0]) -> "Start":
    """Return the specification of a start; what it needs beside its own processes is there then."""
    hosts = routers.hosts(case)
    environment, *_ = [host.prepare(case.system, case.source) for host in hosts.all()]  # the server's host comes first
    texts = routers.credentials(case)
    return Start(case, seed, window_s, routers.router_of(case), environment, texts, hosts, far_ahead_ns)


def _remedy(case: Case, error: str) -> str:
    """Return the remedy for a target that failed; the log explains a server started here."""
    if case.target is None:
        return ""
    if systems.service_of(case.system):
        if "answered wrongly" in error or not re.search(r"\bconnect\b", error, re.IGNORECASE):  # thus it runs
            return ""
        return f"; does the service {case.system} run at {case.target}? Start it"
    start_one = f"{BENCH} serve {case.system} {case.target}"
    return f"; does a {case.system} server listen at {case.target}? Start one there: {start_one}"


@dataclass(frozen=True)
class Spawned:
    """The processes of a start.

    asked_s: when they were asked for. server: one child, or none where it is inside the client or a target. watched:
    the processes whose death ends the start, beside the clients: the server and the router.
    """

    asked_s: float
    places: placement.Placement
    server: tuple[ChildHandle, ...]
    clients: tuple[ChildHandle, ...]
    watched: tuple[ChildHandle, ...]


@dataclass(frozen=True)
class Prepared:
    """A start that is ready to go.

    ready_s: from asking for the server until it listened. pids: for each host process ids by role, whole process trees.
    counted: what the server had counted by then, None where it cannot be asked.
    """

    ready_s: float | None
    clients: tuple[Ready, ...]
    pids: tuple[tuple[Host, Mapping[str, list[int]]], ...]
    counted: Counted | None


@dataclass(frozen=True)
class Window:
    """The result of a window: its beginning, reports of both ends, and what was metered on each host.

    server_go_ns, go_ns: the instant *go* by the clock of the server's host, and by that of each client's. speed: of the
    CPUs where the roles ran, before and after.
    """

    utc: str
    server_go_ns: int
    go_ns: tuple[int, ...]
    done: tuple[Done, ...]
    arrived: tuple[Arrived, ...]
    metered: tuple[HostWindow, ...]
    speed: Mapping[str, float] = field(default_factory=dict)

    @property
    def used(self) -> dict[str, int]:
        """CPU time and switches by role; the kernel's counters too, where all ran on one machine.

        Networks of one machine have their own counters of TCP, which are added up.
        """
        first = dict(self.metered[0].metered.used)
        if len(self.metered) == 1:
            return first
        counters: dict[str, int] = {}
        if not any(window.host.is_remote for window in self.metered):
            of_hosts = [window.metered.used for window in self.metered]
            tcp = [name for name in first if name.startswith("tcp_")]
            counters = first | {name: sum(used.get(name, 0) for used in of_hosts) for name in tcp}
        for window in self.metered:
            counters |= {name: value for name, value in window.metered.used.items() if name.startswith(ROLES)}
        return counters

    def peak_rss(self, role: str) -> int | None:
        """Return the largest memory seen for a role, in bytes: the sum over hosts."""
        peaks = [window.metered.peak_rss(role) for window in self.metered]
        return sum(filter(None, peaks)) if any(peak is not None for peak in peaks) else None


@dataclass(frozen=True)
class Start:
    """The specification of a start.

    environment: the folder of the system's own environment, made beforehand. texts: credentials, where it encrypts.
    far_ahead_ns: how much earlier orders to go leave where they go to other machines.
    """

    case: Case
    seed: int
    window_s: float
    router: Router | None
    environment: str
    texts: Mapping[str, str]
    hosts: Assignment = LOCAL
    far_ahead_ns: int = FAR_AHEAD_NS[0]

    @property
    def is_stream(self) -> bool:
        """Whether messages go one way."""
        return self.case.load == "stream"

    @property
    def is_inside(self) -> bool:
        """Whether the server is a thread of the client."""
        return self.case.transport == "inproc"

    @property
    def of_clients(self) -> list[Host]:
        """The host of each client process."""
        return self.hosts.clients(self.case.clients)

    def spawn(self, children: list[ChildHandle]) -> Spawned:
        """Start all processes side by side, and append each to ``children``; clients wait for the server's address."""
        asked_s = time.perf_counter()
        places = placement.Placement(None, (None,) * self.case.processes)  # other machines choose themselves
        if self.hosts.is_here:
            places = placement.assign(self.case.placement, self.case.clients, self.router is not None)
        server = () if self.is_inside or self.case.target is not None else (self._server(places),)
        children += server
        if self.router and self.hosts.is_here:
            for pids in self.router.pids.values():
                pin_processes(pids, places.router)
        for number in range(self.case.processes):
            children.append(self._client(places, number))
        behind = (self.router.child,) if self.router else ()  # outlives this start
        return Spawned(asked_s, places, server, tuple(children[len(server) :]), (*server, *behind))

    def _server(self, places: placement.Placement) -> ChildHandle:
        case, host = self.case, self.hosts.server
        spec = ServerSpec(
            case=case,
            seed=self.seed * 1000,
            cpus=places.server,
            router=dict(self.router.addresses) if self.router else {},
            directory=host.private_directory(),
            environment=self.environment,
            credentials=dict(self.texts),
            bind=bound(host),
        )
        return host.spawn(f"{case.system} server", "bench.child.server", spec)

    def _client(self, places: placement.Placement, number: int) -> ChildHandle:
        spec = ClientSpec(
            case=self.case,
            seed=self.seed * 1000 + number,
            window_s=self.window_s,
            cpus=places.clients[number],
            server_cpus=places.server,
            share=(number, self.case.processes),
            schedule_seed=self.seed,
            credentials=credentials.public(self.texts),
        )
        return self.of_clients[number].spawn(f"{self.case.system} client", "bench.child.client", spec)

    def get_ready(self, spawned: Spawned) -> Prepared:
        """Return when the server listens and every client has made a verified call."""
        helpers: Mapping[str, int] = {}
        address, ready_s = self.case.target or "", None
        if spawned.server:
            patience_s = READY_S + 5 * systems.constant(self.case.system, "START_S", 0.0)
            patience_s = max(patience_s, systems.ready_s(self.case.system) + READY_MORE_S)
            patience_s += WARM_UP_CALL_S * systems.warm_up(self.case.system)
            (listening,) = collect(Listening, spawned.server, patience_s, spawned.watched)
            ready_s = time.perf_counter() - spawned.asked_s
            address, helpers = listening.address, listening.pids
        if not self.is_inside:
            for client in spawned.clients:
                client.send(Connect(address=address, **self._metered_by_client(spawned)))
        patience_s = READY_S + 0.2 * len(spawned.clients)
        is_stream = self.case.load == "reply_stream"
        patience_s += systems.timeout_s(self.case.system) * (-(-self.case.callers // AT_ONCE) if is_stream else 1)
        if is_stream:
            patience_s += 0.05 * self.case.processes * self.case.callers
        patience_s += CONNECTION_S * self.case.processes * self.case.callers
        try:
            ready = tuple(collect(Ready, spawned.clients, patience_s, spawned.watched))
        except SystemFailedError as error:
            raise SystemFailedError(f"{error}{self._between(address, str(error))}") from error
        if self.is_stream:
            collect(FirstArrived, spawned.server, READY_S, spawned.clients)
        pids = self._roles(spawned, ready, helpers)
        return Prepared(ready_s, ready, pids, None if self.is_stream else self._ask(spawned))

    def _between(self, address: str, error: str) -> str:
        """Return what may keep clients from a server on another machine, where they did not reach it."""
        if self.hosts.is_here or not ("was not ready" in error or "connect" in error.lower()):
            return ""
        endpoint = address.partition("#")[0]
        return f"; is there a firewall between that host and {endpoint}? Let TCP through, on all ports above 1023"

    def _metered_by_client(self, spawned: Spawned) -> dict[str, list[int]]:
        """Return the processes of the server and the router whose CPU time the clients read themselves."""
        if self.case.load not in WHOLE:
            return {}
        pids = [pid for server in spawned.server for pid in self.hosts.server.family(server.pid)]
        of_router = self.router.pids["router"] if self.router and self.case.load == "reconnect" else []
        return {"pids": pids, "router_pids": of_router}

    def _roles(
        self, spawned: Spawned, ready: Sequence[Ready], helpers: Mapping[str, int]
    ) -> tuple[tuple[Host, dict[str, list[int]]], ...]:
        """Return for each host the process ids of each role, whole process trees."""
        pids_of: dict[int, dict[str, list[int]]] = {id(host): {} for host in self.hosts.all()}
        client = "client+server" if self.is_inside else "client"
        for host, child, report in zip(self.of_clients, spawned.clients, ready, strict=True):
            pids_of[id(host)].setdefault(client, []).extend((child.pid, *report.pids))
        roles, family = pids_of[id(self.hosts.server)], self.hosts.server.family
        if not self.is_inside:
            roles |= {role: family(pid) for role, pid in helpers.items()}
            roles |= self.router.pids if self.router else {}
        others = {pid for pids in roles.values() for pid in pids}
        if unknown := sorted(set(helpers) - KINDS):
            raise SystemFailedError(
                f"{self.case.system} announces the role {unknown[0]}: write {', '.join(sorted(KINDS))}"
            )
        for server in spawned.server if "server" not in helpers else ():  # else what was started only starts the server
            roles["server"] = [pid for pid in family(server.pid) if pid not in others]
        return tuple((host, pids_of[id(host)]) for host in self.hosts.all())

    def run_window(self, spawned: Spawned, prepared: Prepared) -> Window:
        """Let all clients go at one instant and wait until they are done.

        CPU clocks are read at both edges, as the warm-up ends, and about every 0.2 s after it.
        """
        hosts = [host for host, _ in prepared.pids]
        cpus = speed.cpus_of([spawned.places])
        speed_before = speed.probe(cpus) if self.hosts.is_here else {}
        before = clocks_of(hosts)
        utc = datetime.now(UTC).isoformat(timespec="milliseconds")
        asked_ns = time.perf_counter_ns()
        meters = [host.meter(pids) for host, pids in prepared.pids]
        for meter in meters:
            meter.begun()
        now_ns = time.perf_counter_ns()
        ahead_ns = GO_AHEAD_NS * (2 + len(spawned.clients))
        if self.case.is_paced:
            scheduled = self.case.offered_per_s * self.window_s / self.case.processes
            ahead_ns += int(SCHEDULED_NS * scheduled) + TALK_NS * self.case.callers
        ahead_ns += 0 if self.hosts.is_here else self.far_ahead_ns + FAR_AHEAD * (now_ns - asked_ns)
        go_of = {
            id(host): now_ns + ahead_ns + clock.offset_ns
            for (host, _), clock in zip(prepared.pids, before, strict=True)
        }
        for host, client in zip(self.of_clients, spawned.clients, strict=True):
            at_ns = go_of[id(host)]
            client.send(Go(at_ns=at_ns, until_ns=at_ns + int(self.window_s * 1e9)))
        warmed_up_ns = now_ns + ahead_ns + stats.warm_up_ns(self.window_s)
        done, arrived = self._wait(spawned, meters, warmed_up_ns)
        for meter in meters:
            meter.end()
        metered = [meter.stop() for meter in meters]
        after = clocks_of(hosts)
        windows = tuple(
            HostWindow(host, go_of[id(host)], earlier, later, window)
            for host, earlier, later, window in zip(hosts, before, after, metered, strict=True)
        )
        for window in windows:
            _refuse_step(window)
        if not self.hosts.is_here:
            _refuse_late(self.of_clients, done, ahead_ns)
        go_ns = tuple(go_of[id(host)] for host in self.of_clients)
        speeds = speed.mean(speed_before, speed.probe(cpus)) if speed_before else {}
        done = fetch(spawned.clients, done)
        return Window(utc, go_of[id(self.hosts.server)], go_ns, done, arrived, windows, speeds)

    def _wait(
        self, spawned: Spawned, meters: Sequence[WindowMeter], warmed_up_ns: int
    ) -> tuple[tuple[Done, ...], tuple[Arrived, ...]]:
        """Wait for the end of the load; of a stream, until everything sent has been received.

        warmed_up_ns: when the meters are to be read first.
        """
        limit_s = 1.2 * self.window_s + PATIENCE_S + 10 * sessions_s(self.case) + 2 * self.case.stream_s
        limit_s += systems.timeout_s(self.case.system)
        from_clients = partial(collect, wanted=spawned.clients, deadline_s=limit_s, others=spawned.watched)
        arrived: list[Arrived] = []

        def tick() -> None:
            for meter in meters:
                meter.tick()

        first_tick_s = (warmed_up_ns - time.perf_counter_ns()) / 1e9
        if self.is_stream and spawned.server:
            from_clients(Sent, tick=tick, first_tick_s=first_tick_s)
            arrived = collect(Arrived, spawned.server, limit_s, spawned.clients, tick)
            for client in spawned.clients:
                client.send(Proceed())
        return tuple(from_clients(Done, tick=tick, first_tick_s=first_tick_s)), tuple(arrived)

    def record(self, spawned: Spawned, prepared: Prepared, window: Window) -> StartRecord:
        """Return what the window measured; the server is asked for its count first."""
        go_ns, done, calls, last_ns = window.go_ns, window.done, list[Times](), 0
        requests: Requests | None = None
        tables: dict[str, Any] = {"load": self._load_rows(window), "reports": numbers_of(done)}
        if self.is_stream:
            marks = tables["marks"] = marks_of([*done, *window.arrived], [*go_ns, window.server_go_ns])
            last_ns, counts = int(marks["t_ns"][-1]), {"server_calls": int(marks["messages"][-1])}
        else:
            counts = self._counts(spawned, prepared, done)
            if self.case.load == "retry":
                tables["attempts"] = attempts_of(done, go_ns[0])
            elif self.case.load == "reply_stream":
                streams, tables["replies"], last_ns = reply_streams_of(done, go_ns[0])
                tables["streams"], counts["streams"] = streams, int(streams["is_complete"].sum())
            else:
                times_of_call = 3 if self.case.load == "open" or self.case.calls_per_connection else 2
                calls, requests = calls_of(done, go_ns, times_of_call), requests_of(done, times_of_call)
                tables["hosts"] = hosts_of(self.hosts, self.of_clients, window.metered, done, bool(spawned.server))
                tables["sessions"] = sessions_of(done, go_ns[0])
        ledger = self._ledger(spawned, prepared, window, last_ns or window_ns(done, calls, self.window_s))
        return StartRecord(ledger | counts, calls, tables, requests)

    def _load_rows(self, window: Window) -> list[dict[str, Any]]:
        """Return the rows of ``load``."""
        return [
            {
                "role": role,
                "t_ns": t_ns - measured.go_ns,
                "cpu_percent": percent,
                "rss_bytes": rss,
                "host": None if self.hosts.is_here else measured.host.name,
                "cpu_ns": max(0, clocks_ns - began[role])
                if t_ns > measured.go_ns and clocks_ns and role in began
                else None,
            }
            for measured in window.metered
            for began in (self._clocks_at_go(measured, window.done),)
            for role, t_ns, percent, rss, clocks_ns in measured.metered.rows
        ]

    def _clocks_at_go(self, measured: HostWindow, done: Sequence[Done]) -> dict[str, int]:
        """Return the CPU clocks of each role on a host as the window began; a role that is not known is left out.

        Clients wait for *go*, the last moment by spinning, and report what their clocks were then. The others have
        nothing to do, so theirs are those of the last reading before it.
        """
        began = {role: clocks_ns for role, t_ns, *_, clocks_ns in measured.metered.rows if t_ns <= measured.go_ns}
        of_clients = [
            report.cpu_began_ns for host, report in zip(self.of_clients, done, strict=True) if host is measured.host
        ]
        began |= dict.fromkeys(
            ("client", "client+server"), None if None in of_clients else sum(filter(None, of_clients))
        )
        return {role: clocks_ns for role, clocks_ns in began.items() if clocks_ns is not None}

    def _ask(self, spawned: Spawned) -> Counted | None:
        """Return what the server has counted so far; None if it cannot be asked."""
        for server in spawned.server:
            server.send(Count())
        return next(iter(collect(Counted, spawned.server, PATIENCE_S, spawned.watched)), None)

    def _counts(self, spawned: Spawned, prepared: Prepared, done: Sequence[Done]) -> dict[str, Any]:
        """Return what the server counted in the window, in all and by worker; None where that is not known."""
        now, before = self._ask(spawned), prepared.counted
        count = now.count if now else done[0].counted
        pairs = zip(now.workers or (), before.workers, strict=True) if now and before and before.workers else ()
        workers = [after - earlier for after, earlier in pairs]
        return {
            "server_calls": None
            if count is None
            else count - self.case.processes * self.case.callers,  # each made one before
            "server_worker_calls": json.dumps(workers) if workers else None,
            **_server_switches(prepared, now),
        }

    def _ledger(self, spawned: Spawned, prepared: Prepared, window: Window, last_ns: int) -> dict[str, Any]:
        total, places = partial(summed, window.done), spawned.places
        inside = {"server_cpu_ns": total("server_cpu_ns")} if self.is_inside else {}
        inside |= {"scheduled": total("scheduled")} if self.case.is_paced else {}
        counts = ("calls", "client_cpu_ns", "voluntary_switches", "involuntary_switches", "gc_collections")
        return {
            "client_cpus": _cpus(cpu for cpus in places.clients for cpu in cpus or ()),
            "server_cpus": _cpus(places.server or ()) if spawned.server or self.is_inside else None,
            "utc": window.utc,
            "ready_s": prepared.ready_s,
            "window_s": last_ns / 1e9,
            "first_rtt_ns": prepared.clients[0].first_ns,
            "errors": total("errors"),
            "router_cpus": _cpus(places.router or ()),
            "client_rss_bytes": window.peak_rss("client+server"),
            **{
                f"{role}_rss_bytes": window.peak_rss(role)
                for _, pids in prepared.pids
                for role in pids
                if "+" not in role
            },
            **{name: total(name) for name in counts},
            **inside,
            **window.done[0].codec,
            **window.used,
            **window.speed,
        }

    def failure(self, error: Exception, children: Sequence[ChildHandle]) -> SystemFailedError:
        """Return the error for a start that failed: what happened, how its processes ended, and the remedy."""
        return SystemFailedError(f"{error}{self.exit_report(str(error), children)}{_remedy(self.case, str(error))}")

    def exit_report(self, error: str, children: Sequence[ChildHandle]) -> str:
        """Return how the server and the router ended, if ``error`` does not say so: clients often notice first.

        Of a server that still runs, return the end of its log, where a traceback may be. A router's controller takes a
        moment to see that its worker is gone, and longer on a busy machine.
        """
        ends = [child.exit_report(0.1) or child.end_of_log() for child in children if " server" in child.name]
        if self.router:
            is_dying = any(self.hosts.server.has_ended(pid) for pids in self.router.pids.values() for pid in pids)
            ends.append(self.router.child.exit_report(END_S if is_dying else 0.1))
        words = [text for text in ends if text and text not in error]
        return "".join(f"; {text}" for text in words)


def _refuse_step(window: HostWindow) -> None:
    """Raise SystemFailedError if a host's clock was set in the window: its times are wrong, and nothing shows where."""
    if step_ns := clock_offsets.step_ns(window.before, window.after):
        raise SystemFailedError(
            f"the clock of host {window.host.name} changed by {step_ns / 1e6:+,.1f} ms in the window: no clock drifts "
            "that fast, so it was set, or its machine was suspended, and this start is not kept; end what sets it, and "
            "measure the rest with -p resume true"
        )


def _refuse_late(of_clients: Sequence[Host], done: Sequence[Done], ahead_ns: int) -> None:
    """Raise LateOrderError if a client got the order to go after its instant: the others had begun without it."""
    lateness = ((report.late_ns, host) for report, host in zip(done, of_clients, strict=True))
    late_ns, host = max(lateness, key=itemgetter(0))
    if late_ns:
        raise LateOrderError(
            f"the order to go reached the host {host.name} {late_ns / 1e6:,.1f} ms after the instant at which "
            f"all were to begin, though it had left {ahead_ns / 1e6:,.0f} ms before it, so this start is not kept: the "
            "network to that host, its machine or this one is too busy; free it, and measure the rest with "
            "-p resume true"
        )


def summed(done: Sequence[Any], name: str) -> int | None:
    """Return the sum of a field over all clients; None where some client does not know it."""
    values = [getattr(report, name) for report in done]
    return None if None in values else sum(values)


def _server_switches(prepared: Prepared, now: Counted | None) -> dict[str, int]:
    """Return the context switches that a server of one process counted itself: those of ended threads are in them."""
    processes = [pid for _, pids in prepared.pids for pid in pids.get("server", ())]
    before = prepared.counted
    if len(processes) != 1 or not (before and before.switches and now and now.switches):
        return {}
    names = ("server_voluntary_switches", "server_involuntary_switches")
    pairs = zip(names, before.switches, now.switches, strict=True)
    return {name: after - earlier for name, earlier, after in pairs}


def _cpus(cpus: Iterable[int]) -> str | None:
    return ",".join(map(str, sorted(set(cpus)))) or None


def disconnect(spawned: Spawned) -> None:
    """Let the clients close their connections in order."""
    for client in spawned.clients:
        client.send(Close())
    collect(Closed, spawned.clients, PATIENCE_S, spawned.watched)
