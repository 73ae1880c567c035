"""The client's process: ``python -m bench.child.client``, started by ``bench.measurement`` with a specification.

It connects, makes one verified call, reports that it is ready, waits for *go*, runs the timed loop, and hands
over its samples as raw int64. For the transport ``inproc`` the server is a thread of this process.
"""

import gc
import importlib
import queue
import resource
import threading
import time
from collections.abc import Sequence
from typing import Any

from bench import systems
from bench.child import memory, timed_loops
from bench.child.caller import is_async
from bench.child.one_way import Receiving, Sending
from bench.child.server import Echo, serve
from bench.child.structured_messages import application, carried
from bench.contract import PACING, Binding
from bench.plan import credentials
from bench.plan.case import Case
from bench.process import cpu_clocks
from bench.process.channel import Channel, fail, pin, run_child
from bench.process.spec import ClientSpec, Close, Closed, Connect, Done, Go, GoOn, Paused, Proceed, Ready, Sent


class ServerThread(threading.Thread):
    """The server (or a stream's receiver) as a thread of this process, for the transport ``inproc``."""

    def __init__(self, channel: Channel, spec: ClientSpec, system: Any, options: Any) -> None:
        super().__init__(name="server", daemon=True)
        self.outbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        apply = application(carried(system, options, spec.case.message))
        self.echo = Echo(lambda address, pids: self.outbox.put(address), apply=apply)
        self._channel, self._spec, self._system, self._options = channel, spec, system, options
        self._cpu_at_end: int | None = None

    def run(self) -> None:
        """Serve until the process ends, or receive one stream."""
        try:
            pin(self._spec.server_cpus)
            self._serve(Binding("inproc", "", message=self._spec.case.message))
            self._cpu_at_end = time.thread_time_ns()
        except BaseException as error:
            fail(self._channel, error)

    def _serve(self, binding: Binding) -> None:
        if self._spec.case.load != "stream":
            return serve(self._system, binding, self._options, self.echo)
        receiving = Receiving(self._system, binding, self._options)
        self.outbox.put(receiving.address)
        payload = timed_loops.make_payloads(self._spec.case.payload_bytes, self._spec.seed)[0]
        return self.outbox.put(receiving.receive(payload, lambda: self.outbox.put("received")))

    def cpu_ns(self) -> int | None:
        """Return the CPU time that the thread has used so far, in ns; its total once it has ended."""
        if self.is_alive() and self.ident is not None:
            return time.clock_gettime_ns(time.pthread_getcpuclockid(self.ident))
        return self._cpu_at_end


class Meter:
    """CPU time, context switches and garbage collections of this process in the window.

    The server thread's CPU time is reported separately. Children count with all that they used once they have ended;
    those in ``pids`` count while they live. began_ns: the CPU clocks of those that lived as the window began, which
    others can read, too.
    """

    def __init__(self, server_thread: ServerThread | None, pids: Sequence[int] = ()) -> None:
        self._server_thread = server_thread if server_thread is not None and server_thread.is_alive() else None
        self._pids = pids
        self._collections = self._collected()
        self._voluntary, self._involuntary = self._switches()
        self.start()

    def start(self) -> None:
        """Read the CPU clocks at the first edge of the window."""
        self._spun_ns = timed_loops.spun_ns()
        self._server_ns, ended_ns, self.began_ns = self._server(), cpu_clocks.ended_ns(), self._living()
        self._process_ns = ended_ns + self.began_ns

    def stop(self) -> dict[str, Any]:
        """Return the resources used since ``start``; the server's part is None if it has its own process."""
        process_ns = self._living() + cpu_clocks.ended_ns() - self._process_ns
        voluntary, involuntary = self._switches()
        server_ns = self._server() - self._server_ns if self._server_thread else None
        return {
            "client_cpu_ns": process_ns - (server_ns or 0),
            "server_cpu_ns": server_ns,
            "voluntary_switches": voluntary - self._voluntary,
            "involuntary_switches": involuntary - self._involuntary,
            "gc_collections": self._collected() - self._collections,
        }

    def spun_us(self) -> float:
        """Return the CPU time in us that was spent in spinning until requests were due since ``start``."""
        return (timed_loops.spun_ns() - self._spun_ns) / 1e3

    def _living(self) -> int:
        return time.process_time_ns() + cpu_clocks.total_ns(self._pids)

    def _switches(self) -> tuple[int, int]:
        usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        voluntary, involuntary = cpu_clocks.switches(self._pids) or (0, 0)
        voluntary += sum(usage.ru_nvcsw for usage in usages)
        return voluntary, involuntary + sum(usage.ru_nivcsw for usage in usages)

    def _server(self) -> int:
        return (self._server_thread.cpu_ns() or 0) if self._server_thread else 0

    @staticmethod
    def _collected() -> int:
        return sum(generation["collections"] for generation in gc.get_stats())


def prepare(channel: Channel, spec: ClientSpec) -> tuple[Any, ServerThread | None]:
    """Import the system, start its server here if it is ``inproc``, learn the address, build the load."""
    import random

    random.seed(spec.seed)  # draws what callers draw for themselves
    system = systems.load(spec.case.system)
    pin(spec.cpus)  # not before: both sides' imports take turns where they share a CPU
    credentials.use(spec.credentials)
    options = system.Options(**spec.case.options)
    server_thread = ServerThread(channel, spec, system, options) if spec.case.transport == "inproc" else None
    if server_thread:
        server_thread.start()
    server = Connect(address=server_thread.outbox.get()) if server_thread else channel.receive(Connect)
    return make_load(system, options, server, spec), server_thread


READ_CPU_TIMES = ("session.Sessions", "reconnects.Reconnects")  # need the server's processes, not only its address


def make_load(system: Any, options: Any, server: Connect, spec: ClientSpec) -> Any:
    """Return the load of a client process, whose class ``load_name`` names, or the system's own."""
    case = spec.case
    if (name := load_name(system, case)) == "Load":
        payloads = timed_loops.make_payloads(case.payload_bytes, spec.seed)
        return system.Load(server.address, options, payloads, case.callers, case.calls_per_caller)
    asked = server if name in READ_CPU_TIMES else server.address
    return load_class(name)(system, options, asked, spec)


def load_name(system: Any, asked: Case) -> str:
    """Return the module and class of the load that makes a case's calls; Load: the system's file has its own."""
    several = asked.outstanding > 1
    match asked.load, asked.engine:
        case "session", _:
            return "session.Sessions"
        case "reconnect", _:
            return "reconnects.Reconnects"
        case "reply_stream", "wire":
            return "reply_streams_wire.WireStreams"
        case "reply_stream", _:
            return "reply_streams.ReplyStreams"
        case "stream", _:
            return "one_way.Sending"
        case "retry", _:
            return "retry_load.RetryLoad"
        case _, "wire":
            return "wire_outstanding.WireOutstanding" if several else "wire.WireLoad"
        case _, engine if engine != "library":
            return "generators._running.GeneratorLoad"
        case _ if asked.calls_per_connection:
            return "renewed_connections.RenewedConnections"
        case "open", _ if several or asked.callers > 1:
            return "outstanding_open.OpenOutstanding"
        case _ if several or asked.large_bytes:
            return "outstanding.Awaited" if is_async(system.Client) else "outstanding.Pipelined"
        case "closed", _ if systems.makes_calls(system, asked.options):
            return "Load"
    return "loads.Callers"


def load_class(name: str) -> Any:
    """Return the class that ``load_name`` names.

    Each class lists in ``TIMED`` the functions that time its calls: for a blocking client, for an ``async`` one, and
    for one whose messages are checked; a single function times all of them. ``TIMED_OPEN`` lists those of an open load.
    """
    module, kind = name.rsplit(".", 1)
    return getattr(importlib.import_module(f"bench.child.{module}"), kind)


def get_ready(channel: Channel, spec: ClientSpec, load: Any, server_thread: ServerThread | None) -> None:
    """Make the first call, which is verified, and report it."""
    memory.bound(spec, getattr(load, "pids", ()))
    first_ns = load.first()
    if server_thread and isinstance(load, Sending):
        server_thread.outbox.get()
    gc.freeze()  # objects that exist by now are not scanned in the window
    channel.send(Ready(first_ns=first_ns, pids=getattr(load, "pids", ())))


def drain(channel: Channel, server_thread: ServerThread | None) -> timed_loops.Marks | None:
    """Wait until all that was sent one way has arrived, so that its cost is in the CPU clocks."""
    if server_thread:
        return server_thread.outbox.get()
    channel.send(Sent())
    channel.receive(Proceed)
    return None


def make_calls(go: Go, load: Any, server_thread: ServerThread | None) -> Meter:
    """Make the calls of the window, or of one slice of it; return the meter that began with them.

    A slice is as long as it was to be even if the order came late.
    """
    meter = Meter(server_thread, getattr(load, "pids", ()))
    if hasattr(load, "schedule_from"):
        load.schedule_from(go.at_ns)
    timed_loops.wait_until(go.at_ns)
    late_ns = time.perf_counter_ns() - go.at_ns if isinstance(go, GoOn) else 0
    meter.start()
    load.load(go.at_ns, go.until_ns + late_ns)
    return meter


def main(channel: Channel) -> None:
    """Get ready, run one window, report, disconnect."""
    with memory.explained():
        measure(channel, channel.receive(ClientSpec))


def measure(channel: Channel, spec: ClientSpec) -> None:
    """Do what ``main`` says for a specification."""
    if spec.case.load in ("open", "retry"):
        timed_loops.punctual()
    load, server_thread = prepare(channel, spec)
    get_ready(channel, spec, load, server_thread)
    go = channel.receive(Go)
    late_ns = max(0, time.perf_counter_ns() - go.at_ns)
    meter = make_calls(go, load, server_thread)
    while isinstance(go, GoOn) and go.more:
        channel.send(Paused(**meter.stop()))
        go = channel.receive(GoOn)
        meter = make_calls(go, load, server_thread)
    marks = drain(channel, server_thread) if isinstance(load, Sending) else None
    used, report = meter.stop(), load.report()
    blobs = [*report.times, *((marks.times, marks.messages) if marks else ())]
    counted = server_thread.echo.count().count if server_thread and not marks and server_thread.is_alive() else None
    reported = {name: value for name, value in vars(report).items() if name != "times"}
    if spec.case.load == "open":
        reported["numbers"] = [*report.numbers, (PACING, meter.spun_us(), "us")]
    used["cpu_began_ns"] = meter.began_ns
    channel.send(Done(**used, **reported, blobs=blobs, counted=counted, late_ns=late_ns))
    channel.receive(Close)
    load.close()
    channel.send(Closed())
    channel.receive(Close)  # no such message exists: the end of the input ends this process


if __name__ == "__main__":
    run_child(main)
