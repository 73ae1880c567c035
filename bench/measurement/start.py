"""One start on stage: its processes are started, made ready, measured over one window, and ended."""

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import psutil

from bench import systems
from bench.channel import Message
from bench.child import clocks
from bench.errors import SystemFailedError
from bench.measurement import kernel_counters
from bench.measurement.child_process import Child, collect, private_directory, stop_all
from bench.measurement.meters import LoadMeter, family
from bench.measurement.received import calls_of, marks_of, sessions_of, window_ns
from bench.measurement.routers import Router, Routers
from bench.plan import placement
from bench.plan.case import Case
from bench.plan.estimate import sessions_s
from bench.run.start_record import StartRecord

READY_S = 15.0  # until a server listens and its clients have made a verified call
TARGET_S = 5.0  # the same, for a server that is said to be running
PATIENCE_S = 10.0  # after the window's end, for calls under way and for samples to arrive
GO_AHEAD_NS = 2_000_000  # for each client, and twice more: from the order to go until all begin, at one instant


def measure(case: Case, window_s: float, seed: int, routers: Routers | None = None) -> StartRecord:
    """Start fresh processes for a case, run one window, end them, and return what was measured.

    A router, if the system has one, is taken from ``routers``; without it, it is fresh and ends here, too.
    """
    if routers is None:
        with Routers() as own:
            return measure(case, window_s, seed, own)
    systems.prepare(case.system)
    stage = Stage(case, seed, window_s, routers.of(case))
    try:
        stage.spawn()
        stage.get_ready()
        stage.run_window()
        measured = stage.result()
        stage.disconnect()
        return measured
    except (SystemFailedError, psutil.NoSuchProcess) as error:
        raise SystemFailedError(f"{error}{stage.obituary(str(error))}{_remedy(case)}") from error
    finally:
        stop_all(stage.children)


def _remedy(case: Case) -> str:
    """Return what to do about a target that failed; a server started here is explained by its log."""
    if case.target is None:
        return ""
    start_one = f"python -m bench serve {case.system} {case.target}"
    return f"; does a {case.system} server listen at {case.target}? Start one there: {start_one}"


class Stage:
    """The processes of one start: a server (unless it is inside the client, or a target) and the clients."""

    def __init__(self, case: Case, seed: int, window_s: float, router: Router | None) -> None:
        """Choose the CPUs; nothing is started yet."""
        self._case = case
        self._environment = systems.environment(case.system)  # made if need be, before the time until ready begins
        self._window_s = window_s
        self._seed = seed
        self._places = placement.assign(case.placement, case.clients, router is not None)
        self._router = router
        self._behind = [router.child] if router else []  # outlives this start
        self._is_stream = case.load == "stream"
        self._inside = case.transport == "inproc"
        self.children: list[Child] = []
        self._server: list[Child] = []  # one, or none
        self._clients: list[Child] = []

    def spawn(self) -> None:
        """Start all processes side by side; the clients wait for the server's address."""
        self._asked = time.perf_counter()
        if not self._inside and self._case.target is None:
            own: dict[str, Any] = {"directory": private_directory(), "environment": self._environment}
            self._server = [self._child("server", cpus=self._places.server, bind=None, **own)]
        if self._router:
            for pids in self._router.pids.values():
                placement.move(pids, self._places.router)
        for number, cpus in enumerate(self._places.clients):
            server_cpus, most = self._places.server, max(1, self._case.max_calls // self._callers)
            share = (number, self._case.clients)
            client = self._child("client", number, cpus=cpus, server_cpus=server_cpus, max_calls=most, share=share)
            self._clients.append(client)

    def _child(self, role: str, number: int = 0, **spec: Any) -> Child:
        case = self._case
        paced = ("offered_per_s", "arrivals")
        same = ("system", "transport", "options", "load", "payload_bytes", "callers", "engine", "sessions", *paced)
        spec |= {name: getattr(case, name) for name in same} | {"seed": self._seed * 1000 + number}
        spec |= {"schedule_seed": self._seed, "window_s": self._window_s}
        spec |= {"router": dict(self._router.addresses) if self._router else {}}
        child = Child(f"{case.system} {role}", f"bench.child.{role}", spec)
        self.children.append(child)
        return child

    def get_ready(self) -> None:
        """Return when the server listens and every client has made a verified call."""
        listening: Message = {"address": self._case.target, "pids": {}}
        self._ready_s = None
        if self._server:
            patience_s = READY_S + 5 * systems.constant(self._case.system, "START_S", 0.0)
            (listening,) = collect("listening", self._server, patience_s, self._behind)
            self._ready_s = time.perf_counter() - self._asked
        if not self._inside:
            for client in self._clients:
                client.send("address", address=listening["address"], pids=self._server_pids())
        patience_s = (TARGET_S if self._case.target else READY_S) + 0.2 * len(self._clients)
        self._ready = collect("ready", self._clients, patience_s, self._servers)
        if self._is_stream:
            collect("received", self._server, READY_S, self._clients)
        self._pids = self._roles(listening["pids"])
        self._counted = {} if self._is_stream else self._ask()

    @property
    def _servers(self) -> list[Child]:
        """The processes whose death ends the start, beside the clients: the server and the router."""
        return [*self._server, *self._behind]

    def _server_pids(self) -> list[int]:
        """Return the server's processes where the clients read their CPU time themselves; else none."""
        return [pid for one in self._server for pid in family(one.pid)] if self._case.load == "session" else []

    @property
    def _callers(self) -> int:
        return self._case.clients * self._case.callers

    def _roles(self, helpers: Mapping[str, int]) -> dict[str, list[int]]:
        """Return the process ids of each role, whole process trees."""
        clients = [
            pid for one, ready in zip(self._clients, self._ready, strict=True) for pid in (one.pid, *ready["pids"])
        ]
        if self._inside:
            return {"client+server": clients}
        roles = {"client": clients} | {role: family(pid) for role, pid in helpers.items()}
        roles |= self._router.pids if self._router else {}
        known = {pid for pids in roles.values() for pid in pids}
        for server in self._server:
            roles["server"] = [pid for pid in family(server.pid) if pid not in known]
        return roles

    def run_window(self) -> None:
        """Let all clients go at one instant and wait until they are done; read CPU clocks at both edges."""
        before = self._read()
        self._utc = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._meter = LoadMeter(self._pids)
        self._meter.tick()
        self._go_ns = time.perf_counter_ns() + GO_AHEAD_NS * (2 + len(self._clients))
        for client in self._clients:
            client.send("go", at_ns=self._go_ns, until_ns=self._go_ns + int(self._window_s * 1e9))
        self._wait(1.2 * self._window_s + PATIENCE_S + 10 * sessions_s(self._case))
        self._used = {name: value - before[name] for name, value in self._read().items() if name in before}
        self._meter.tick()

    def _wait(self, limit_s: float) -> None:
        """Wait for the end of the load; of a stream, until everything sent has been received."""
        tick = self._meter.tick
        self._received: list[Message] = []
        if self._is_stream and self._server:
            collect("sent", self._clients, limit_s, self._servers, tick)
            self._received = collect("marks", self._server, limit_s, self._clients, tick)
            for client in self._clients:
                client.send("stop")
        self._done = collect("done", self._clients, limit_s, self._servers, tick)

    def _read(self) -> dict[str, int]:
        """Return CPU time and context switches of the processes that are not clients."""
        others = {role: pids for role, pids in self._pids.items() if not role.startswith("client")}
        found = {f"{role}_cpu_ns": clocks.total_ns(pids) for role, pids in others.items()}
        if "server" in others and (switches := clocks.switches(others["server"])):
            found["server_voluntary_switches"], found["server_involuntary_switches"] = switches
        return found | kernel_counters.read()

    def result(self) -> StartRecord:
        """Return what the window measured; the server is asked for its count first."""
        load = [(role, t_ns - self._go_ns, percent, rss) for role, t_ns, percent, rss in self._meter.rows]
        measured = StartRecord({}, load=load)
        if self._is_stream:
            measured.marks = marks_of([*self._done, *self._received], self._go_ns)
            _, (_, received_at, received) = measured.marks
            measured.ledger = self._ledger({"server_calls": int(received[-1])}, int(received_at[-1]))
        else:
            measured.calls = calls_of(self._done, self._go_ns, width=3 if self._case.load == "open" else 2)
            measured.report = [tuple(row) for done in self._done for row in done.get("report", ())]
            measured.sessions = sessions_of(self._done, self._go_ns)
            last_ns = window_ns(self._done, measured.calls, self._window_s)
            measured.ledger = self._ledger(self._counts(), last_ns)
        return measured

    def obituary(self, known: str) -> str:
        """Return how the server and the router ended, if ``known`` does not say so: clients often notice first.

        A router's controller takes a moment to see that its worker is gone.
        """
        ends = [*(one.obituary(patience_s=0.1) for one in self._server), *(one.obituary(2.0) for one in self._behind)]
        words = [text for text in ends if text and text not in known]
        return "".join(f"; {text}" for text in words)

    def disconnect(self) -> None:
        """Let the clients close their connections in order."""
        for client in self._clients:
            client.send("close")
        collect("closed", self._clients, PATIENCE_S, self._servers)

    def _ask(self) -> Message:
        """Return what the server has counted so far; empty if it cannot be asked."""
        for server in self._server:
            server.send("count")
        return next(iter(collect("count", self._server, PATIENCE_S, self._behind)), {})

    def _counts(self) -> dict[str, Any]:
        """Return what the server counted in the window, in all and by worker; None where that is not known."""
        counted, before = self._ask() or self._done[0], self._counted.get("workers")
        workers = [now - then for now, then in zip(counted["workers"], before, strict=True)] if before else None
        return {
            "server_calls": counted["count"] - self._callers if "count" in counted else None,  # each made one before
            "server_worker_calls": workers and json.dumps(workers),
        }

    def _ledger(self, counts: dict[str, Any], last_ns: int) -> dict[str, Any]:
        def total(name: str) -> int | None:
            values = [done[name] for done in self._done]
            return None if None in values else sum(values)

        inside = {"server_cpu_ns": total("server_cpu_ns")} if self._inside else {}
        inside |= {"scheduled": total("scheduled")} if self._case.load == "open" else {}
        summed = ("calls", "client_cpu_ns", "voluntary_switches", "involuntary_switches", "gc_collections")
        return {
            "client_cpus": _cpus(tuple(clocks for cpus in self._places.clients for clocks in cpus or ())),
            "server_cpus": _cpus(self._places.server) if self._server or self._inside else None,
            "utc": self._utc,
            "ready_s": self._ready_s,
            "window_s": last_ns / 1e9,
            "first_rtt_ns": self._ready[0]["first_ns"],
            "errors": sum(done.get("errors", 0) for done in self._done),
            "router_cpus": _cpus(self._places.router),
            "client_rss_bytes": self._meter.peak_rss("client+server"),
            **{f"{role}_rss_bytes": self._meter.peak_rss(role) for role in self._pids if "+" not in role},
            **{name: total(name) for name in summed},
            **inside,
            **counts,
            **self._used,
        }


def _cpus(cpus: tuple[int, ...] | None) -> str | None:
    return ",".join(map(str, sorted(set(cpus)))) if cpus else None
