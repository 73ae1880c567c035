"""Hosts on other machines: their agents, called and polled on one event loop beside the conductor.

Orders to one host are carried out in order, those to several hosts side by side. A byte in a socket pair announces each
piece of what a child sends, so that it is collected like a local child's. A host that does not answer any more is lost,
for good: whatever waits for it raises SystemFailedError with its name.
"""

import asyncio
import concurrent.futures
import contextlib
import itertools
import pickle
import secrets
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import replace
from typing import Any

from bench.contract import Address
from bench.errors import BENCH, BenchError, SystemFailedError, UsageError
from bench.measurement import certificates, revision
from bench.measurement.hosts import clock_exchange, dask_engine, roles
from bench.measurement.hosts.agent_actor import AgentActor
from bench.measurement.hosts.host import MOST, Assignment, ClockReading, Host, Metered, WindowMeter
from bench.plan.hosts import address_of
from bench.process.channel import ControlMessage, Listening, encode
from bench.process.child_process import ChildHandle, collect, stopped
from bench.process.spec import ClockSpec
from bench.text import listed, one_line

POLL_S = 2.0
ANSWER_S = 12.0  # after a poll's own time: a host that answers later is lost
CONNECT_S = 15.0
KEY = "roundtrip"  # of what a host says of itself when it registers
LOOK_S = 0.2
ANNOUNCED = 1 << 16  # bytes that announce pieces, more than a socket pair holds
CONDUCTOR = secrets.token_hex(8)  # this process


class RemoteChild(ChildHandle):
    """A child process on another machine."""

    started: "concurrent.futures.Future[int]"  # its number there; that there is none is noticed by who reads from it

    def __init__(self, host: "RemoteHost", number: int, name: str) -> None:
        super().__init__(f"{name} on {host.name}")
        self.host, self.number = host, number
        self._pieces, self._taking = bytearray(), threading.Lock()
        self._heard, self._announcing = socket.socketpair()
        self._announcing.setblocking(False)
        self._stopping: concurrent.futures.Future[None] | None = None

    @property
    def pid(self) -> int:  # type: ignore[override]
        """Its number on its machine."""
        return self.host.wait(self.started)

    def fileno(self) -> int:
        """Return the descriptor on which the pieces of its reports are announced."""
        return self._heard.fileno()

    def deliver(self, data: bytes) -> None:
        """Let a piece of its reports be read, b"" for their end; what comes once it was stopped is dropped."""
        with self._taking, contextlib.suppress(OSError):
            if not data:
                self._announcing.close()
                return
            self._pieces += data
            self._announcing.send(b"x")  # if so many pieces wait that it does not fit, they are announced

    def receive(self) -> bytes:
        """Wait for its reports; return what has arrived, b"" at their end."""
        self._heard.recv(1, socket.MSG_PEEK)
        with self._taking:
            self._heard.recv(ANNOUNCED)
            arrived, self._pieces = bytes(self._pieces), bytearray()
            return arrived

    def send(self, message: ControlMessage) -> None:
        """Send it one message; that it has died is noticed by who reads from it."""
        self.host.ask("child", self.number, "write", b"".join(encode(message)))

    def _said(self, name: str, *words: Any) -> str:
        """Return what the agent says of the child, or why it says nothing."""
        try:
            return str(self.host.call("child", self.number, name, *words))
        except SystemFailedError as error:
            return str(error)

    def log_tail(self) -> str:
        """Return the end of what it printed, on one line."""
        return self._said("log_tail")

    def exit_report(self, patience_s: float) -> str:
        """Return how it ended and the end of its log, or nothing if it still runs."""
        error = _error_of(self.started) if self.started.done() else None
        if error is not None:
            return str(error)
        return self._said("exit_report", patience_s).replace(self.name.partition(" on ")[0], self.name, 1)

    def cpu_s(self) -> float:
        """Return the CPU time that it and its descendants have used, in s; 0 if its host does not answer."""
        with contextlib.suppress(SystemFailedError):
            return float(self.host.call("child", self.number, "cpu_s"))
        return 0.0

    def ask_for_samples(self) -> Callable[[], bytes]:
        """Ask its host for the samples that it holds; return what waits for them, packed."""
        answer = self.host.ask("samples", self.number)
        return lambda: bytes(self.host.wait(answer))

    def ask_to_leave(self) -> None:
        """End its input."""
        self.host.ask("child", self.number, "ask_to_leave")

    def begin_to_stop(self) -> None:
        """Let the agent stop it."""
        self._stopping = self._stopping or self.host.ask("stop", [self.number])

    def stop(self) -> None:
        """End it, by force if it does not leave, and what belongs to it."""
        self.begin_to_stop()
        assert self._stopping
        with contextlib.suppress(SystemFailedError):  # with its host, it has ended
            self.host.wait(self._stopping)
        self.host.forget(self.number)
        self._heard.close()
        self._announcing.close()


def _error_of(done: "concurrent.futures.Future[Any]") -> BaseException | None:
    return None if done.cancelled() else done.exception()


class _Order:
    """What an agent is asked for, and its answer to come."""

    def __init__(self, name: str, words: tuple[Any, ...]) -> None:
        self.name, self.words = name, words
        self.answer: concurrent.futures.Future[Any] = concurrent.futures.Future()

    def end(self, result: Any, error: BaseException | None) -> None:
        """Give the answer."""
        self.answer.set_exception(error) if error else self.answer.set_result(result)


class RemoteMeter(WindowMeter):
    """The meter of a window on another machine; it ticks there."""

    def __init__(self, host: "RemoteHost", number: int, pids: Mapping[str, list[int]]) -> None:
        self._host, self._number = host, number
        self._begun = host.ask("meter_start", number, {role: list(ids) for role, ids in pids.items()})

    def begun(self) -> None:
        """Return when the host has begun to read."""
        self._host.wait(self._begun)

    def tick(self) -> None:
        """Do nothing: the host reads its load itself."""

    def end(self) -> None:
        """Let the host read everything now."""
        self._read = self._host.ask("meter_stop", self._number)

    def stop(self) -> Metered:
        """Return what was used in the window, and the load."""
        metered: Metered = self._host.wait(self._read)
        return metered


class RemoteHost(Host):
    """One other machine, as a conductor sees it; ``on_loop`` runs a coroutine on the loop that carries the calls."""

    is_remote = True

    def __init__(self, name: str, address: str, actor: Any, on_loop: Callable[..., Any]) -> None:
        self.name, self.address = name, address
        self._actor, self._on_loop = actor, on_loop
        self._numbers = itertools.count(1)
        self._orders: list[_Order] = []  # that wait for those under way
        self._ordering, self._is_carrying = threading.Lock(), False
        self._children: dict[int, RemoteChild] = {}
        self._is_closed = False
        self._why = ""
        self.facts: dict[str, Any] = {}
        self._prepared: dict[str, str] = {}  # the folder of each system's environment there
        self._clock: RemoteChild | None = None
        self._clock_address = ""
        on_loop(self._begin()).result(CONNECT_S)

    async def _begin(self) -> None:
        self._lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._polling = asyncio.ensure_future(self._poll())

    # Calls ------------------------------------------------------------------------------------------------------

    def ask(self, name: str, *words: Any) -> "concurrent.futures.Future[Any]":
        """Let the agent do something after all that it was asked before; return its answer to come.

        What is asked while the host answers goes there in one call.
        """
        order = _Order(name, words)
        with self._ordering:
            self._orders.append(order)
            if self._is_carrying:
                return order.answer
            self._is_carrying = True
        try:
            self._on_loop(self._carry())
        except BaseException:
            self._is_carrying = False
            raise
        return order.answer

    def wait(self, answer: "concurrent.futures.Future[Any]") -> Any:
        """Return an answer; SystemFailedError if the host is lost, KeyboardInterrupt where ``until`` says so."""
        while True:
            try:
                return answer.result(LOOK_S)
            except concurrent.futures.TimeoutError:
                if stopped():
                    raise KeyboardInterrupt from None

    def call(self, name: str, *words: Any) -> Any:
        """Return the agent's answer."""
        return self.wait(self.ask(name, *words))

    async def _carry(self) -> None:
        """Carry orders to the host until none is left."""
        while True:
            with self._ordering:
                orders, self._orders = self._orders, []
                if not orders:
                    self._is_carrying = False
                    return
            await self._call(orders)

    async def _call(self, orders: "list[_Order]") -> None:
        """Let the agent carry out orders in one call, and take in its answers."""
        try:
            if not self._lost.done():
                words = pickle.dumps([(order.name, order.words) for order in orders])
                answer = asyncio.ensure_future(_of(self._actor, "call", words))
                await asyncio.wait({answer, self._lost}, return_when=asyncio.FIRST_COMPLETED)
                if not answer.done():
                    answer.cancel()
                    return
                for order, (result, error) in zip(orders, pickle.loads(answer.result()), strict=True):
                    order.end(result, type(error)(f"the host {self.name}: {error}") if error else None)
        except (Exception, asyncio.CancelledError) as error:  # of the engine, or a worker that has gone
            self._lose(_why(error))
        finally:
            for order in orders:
                if not order.answer.done():
                    order.end(None, SystemFailedError(self._why))

    async def _poll(self) -> None:
        """Take in what children have sent, until the host is lost or closed."""
        while True:
            try:
                batch = await asyncio.wait_for(_of(self._actor, "reports", POLL_S), POLL_S + ANSWER_S)
            except TimeoutError:
                self._lose(f"has not answered for {POLL_S + ANSWER_S:.0f} s: it hangs, or the network to it is down")
                return
            except SystemFailedError as error:
                self._lose(str(error))
                return
            except Exception as error:
                self._lose(_why(error))
                return
            for number, data in pickle.loads(batch):
                if child := self._children.get(number):
                    child.deliver(data)

    def _lose(self, why: str) -> None:
        if self._lost.done():
            return
        self._why = f"the host {self.name} {why}; look at the output of bench host there and start it again"
        self._lost.set_result(None)
        for child in list(self._children.values()):
            child.deliver(b"")

    # Children ---------------------------------------------------------------------------------------------------

    def spawn(self, name: str, module: str, spec: ControlMessage) -> RemoteChild:
        """Start a child process there; its process id is known a little later."""
        number = next(self._numbers)
        child = self._children[number] = RemoteChild(self, number, name)
        child.started = self.ask("spawn", number, name, module, b"".join(encode(spec)))
        child.started.add_done_callback(lambda done: child.deliver(b"") if _error_of(done) else None)
        return child

    def forget(self, number: int) -> None:
        """Drop what a child that has ended may still have sent."""
        self._children.pop(number, None)

    # What a start asks of a host --------------------------------------------------------------------------------

    def prepare(self, system: str, source: str = "") -> str:
        """Make what a system needs there; return the folder of its own environment, or ""."""
        if system not in self._prepared:
            self._prepared[system] = str(self.call("prepare", system))
        return self._prepared[system]

    def private_directory(self) -> str:
        """Return the name of a directory that does not exist there yet."""
        return f"{self.facts['sockets']}/roundtrip-{self.facts['pid']}-{secrets.token_hex(4)}"

    def family(self, pid: int) -> list[int]:
        """Return a process and all its descendants."""
        return list(self.call("family", pid))

    def has_ended(self, pid: int) -> bool:
        """Return whether a process is gone; those of a lost host are."""
        try:
            return bool(self.call("has_ended", pid))
        except SystemFailedError:
            return True

    def meter(self, pids: Mapping[str, list[int]]) -> RemoteMeter:
        """Begin to meter a window."""
        return RemoteMeter(self, next(self._numbers), pids)

    def clock(self, exchanges: int = MOST) -> ClockReading:
        """Compare its clock with this one, in at most so many exchanges of timestamps."""
        if self._lost.done():
            raise SystemFailedError(self._why)
        self.start_clock()
        assert self._clock
        if not self._clock_address:
            (listening,) = collect(Listening, [self._clock], CONNECT_S)
            self._clock_address = listening.address
        try:
            return clock_exchange.compare(self._clock_address, exchanges)
        except SystemFailedError as error:
            self._look()
            raise SystemFailedError(f"the clock of the host {self.name}: {error}") from error

    def start_clock(self) -> None:
        """Start what answers exchanges of timestamps there, unless it runs."""
        if self._clock is None:
            spec = ClockSpec(bind=str(Address("tcp", self.address, 0, "")))
            self._clock = self.spawn("clock", "bench.child.clock_server", spec)

    def _look(self) -> None:
        """Raise why the host is lost, if it is."""
        with contextlib.suppress(BenchError):
            self.call("now")
        if self._lost.done():
            raise SystemFailedError(self._why)

    def close(self) -> None:
        """End what is left of this conductor's processes there, and release it."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._clock:
            self._clock.stop()
        with contextlib.suppress(Exception):
            self.ask("close").result(CONNECT_S)
        with contextlib.suppress(Exception):
            self._on_loop(self._end()).result(CONNECT_S)

    async def _end(self) -> None:
        self._polling.cancel()
        self._lose("is not used any more")


async def _of(actor: Any, method: str, *words: Any) -> Any:
    """Wait for an actor's answer; the engine refuses the call itself when it knows that the actor has gone."""
    return await getattr(actor, method)(*words)


def _why(error: BaseException) -> str:
    """Return why a host is lost, from what the engine raised."""
    if isinstance(error, OSError | RuntimeError | asyncio.CancelledError | KeyError):
        return "has left: its process bench host or the scheduler has ended, or the connection to it broke"
    return f"failed with {type(error).__name__}: {one_line(str(error), 300)}"


# The engine -----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def client(hosts: Mapping[str, Any]) -> Iterator[Any]:
    """Connect to a scheduler; SystemFailedError if there is none. hosts: as ``Case.hosts``."""
    distributed = dask_engine.load()
    protocol, host, port = address_of(hosts["scheduler"])
    security = dask_engine.security(protocol, bool(hosts.get("plain")))
    address = str(Address(protocol, host, port, ""))
    try:
        connection = distributed.Client(
            address,
            security=security,
            set_as_default=False,
            direct_to_workers=True,
            timeout=CONNECT_S,
        )
    except (OSError, TimeoutError, ValueError) as reason:
        shared = f"; both sides need the same folder of credentials ({certificates.folder_of_hosts()})"
        raise SystemFailedError(
            f"no scheduler answers at {address} ({one_line(str(reason), 200)}): start one there: "
            f"{BENCH} scheduler --listen {address}{shared if protocol == 'tls' else ''}"
        ) from reason
    try:
        yield connection
    finally:
        with contextlib.suppress(Exception):
            connection.close(timeout=5)


def registered(connection: Any, scheduler: str) -> dict[str, dict[str, Any]]:
    """Return what each host said of itself when it registered, by its engine's address, in the order of names."""
    workers = connection.scheduler_info(n_workers=-1)["workers"]
    if strangers := sorted(str(worker["name"]) for worker in workers.values() if KEY not in worker):
        raise UsageError(f"{listed(strangers)} at {scheduler} did not come from {BENCH} host: start hosts by it alone")
    return dict(sorted(workers.items(), key=lambda item: str(item[1]["name"])))


def check_revision(name: str, facts: Mapping[str, str]) -> None:
    """Raise UsageError unless a host runs the same files of this package, and the same Python apart from its patch."""
    ours, theirs = revision.content(), facts["revision"]
    if ours != theirs:
        raise UsageError(
            f"the host {name} runs another revision of bench, {theirs}, than this conductor, {ours}: "
            "install the same one on both, with the same files in the folders of ROUNDTRIP_SYSTEMS, and start "
            "bench host there again"
        )
    if _minor(revision.python()) != _minor(facts["python"]):
        raise UsageError(
            f"the host {name} runs {facts['python']} and this conductor {revision.python()}: "
            "install the same Python on both and start bench host there again"
        )


def _minor(python: str) -> str:
    return python.rpartition(".")[0]


@contextlib.contextmanager
def hosts_of(client: Any, scheduler: str) -> Iterator[list[RemoteHost]]:
    """Make an agent on each host, and end them; each host has to run this revision."""
    workers = registered(client, scheduler)
    if not workers:
        raise SystemFailedError(
            f"no host is registered at {scheduler}: start one on each machine: {BENCH} host {scheduler}"
        )
    for worker in workers.values():
        check_revision(str(worker["name"]), worker[KEY])
    loop = client.loop.asyncio_loop

    def on_loop(work: Coroutine[Any, Any, Any]) -> "concurrent.futures.Future[Any]":
        return asyncio.run_coroutine_threadsafe(work, loop)

    pinned = {"actor": True, "allow_other_workers": False, "retries": 0, "pure": False}
    futures = [client.submit(AgentActor, workers=[address], **pinned) for address in workers]
    hosts: list[RemoteHost] = []
    try:
        for future, (address, worker) in zip(futures, workers.items(), strict=True):
            hosts.append(
                RemoteHost(str(worker["name"]), address_of(address)[1], _actor(client, future, worker), on_loop)
            )
        for host, answer in [(host, host.ask("describe")) for host in hosts]:
            host.facts = host.wait(answer)
        yield hosts
    finally:
        for host in hosts:
            host.close()
        for future in futures:
            future.release()


def _actor(connection: Any, future: Any, worker: Mapping[str, Any]) -> Any:
    """Return an actor when it is there; it is bound to this client, not to the one that is the process's default."""
    try:
        actor = future.result(CONNECT_S)
        actor._client, actor._future = connection, future
        return actor
    except Exception as reason:
        raise SystemFailedError(
            f"the host {worker['name']} does not answer ({type(reason).__name__}): start bench host there again"
        ) from reason


@contextlib.contextmanager
def connected(hosts: Mapping[str, Any]) -> Iterator[Assignment]:
    """Connect to the hosts of a scheduler, and yield their roles; nothing of theirs is left at the end.

    hosts: as ``Case.hosts``: ``scheduler``, an address; perhaps ``plain``, ``server``, ``load`` (names), ``latency``.
    """
    with client(hosts) as connection, hosts_of(connection, hosts["scheduler"]) as there:
        assignment = roles.assigned(hosts, there)
        used = [host for host in there if host in assignment.all()]
        for answer in [host.ask("claim", CONDUCTOR) for host in used]:
            there[0].wait(answer)
        for host in used:
            host.start_clock()
        yield replace(assignment, records={host.name: record(host) for host in used})


def record(host: RemoteHost) -> dict[str, Any]:
    """Return a host's machine record, with its revision and Python version."""
    return {name: value for name, value in host.facts.items() if name not in ("sockets", "pid")}
