"""What outlives a start: hosts that are connected to, routers, credentials; ended with the experiment."""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from bench import systems
from bench.errors import BENCH, SystemFailedError
from bench.measurement import certificates
from bench.measurement.hosts import namespaces, roles
from bench.measurement.hosts.host import HERE, LOCAL, Assignment, Host, bound
from bench.plan import credentials
from bench.plan import namespaces as links
from bench.plan.case import Case
from bench.process import environments
from bench.process.child_process import ChildHandle, collect
from bench.process.spec import RouterSpec, Routing

READY_S = 90.0  # until a router is ready; usual are 1 to 15 s, more on a busy machine


@dataclass(frozen=True)
class Router:
    """A router that is ready: its process, where it listens, and its processes by role."""

    child: ChildHandle
    addresses: Mapping[str, str]
    pids: Mapping[str, list[int]]


def make_environments(cases: Iterable[Case], say: Callable[[str], None]) -> None:
    """Make the Python environments that the routers of these cases lack: beside a measurement it would disturb it."""
    for name in {systems.constant(case.system, "ENVIRONMENT", None) for case in cases} - {None}:
        environments.ensure(name, say)


def start(case: Case, bind: str | None = None, texts: Mapping[str, str] | None = None, host: Host = HERE) -> Router:
    """Start the router of a case's system on a host and return it when it is ready.

    bind: the address that the user names. texts: credentials, for encrypted connections. SystemFailedError quotes the
    router's log when it does not get ready.
    """
    name, environment = systems.constant(case.system, "ENVIRONMENT", None), host.prepare(case.system, case.source)
    directory, texts = host.private_directory(), dict(texts or {})
    spec = RouterSpec(case=case, credentials=texts, bind=bind, directory=directory, environment=environment)
    child = host.spawn(f"{case.system} router", "bench.child.router", spec)
    try:
        (ready,) = collect(Routing, [child], READY_S)
    except SystemFailedError as error:
        child.stop()
        raise SystemFailedError(f"{error}{_remedy(bind, name)}") from error
    except BaseException:
        child.stop()
        raise
    return Router(child, ready.addresses, _roles(child.pid, ready.pids, host))


def _remedy(bind: str | None, name: str | None) -> str:
    if bind:
        return f"; if {bind} is taken, choose another address or end what holds it"
    return f"; if its environment is damaged, make it anew: {BENCH} prepare {name} --anew" if name else ""


def _roles(pid: int, announced: Mapping[str, int], host: Host) -> dict[str, list[int]]:
    """Return the router's processes by role: those announced, and the rest as ``router``."""
    roles = {role: [helper] for role, helper in announced.items()}
    others = {pid, *announced.values()}  # the first only holds the others
    return {"router": [member for member in host.family(pid) if member not in others], **roles}


def _joined(hosts: Mapping[str, Any]) -> AbstractContextManager[Assignment]:
    """Return the context of hosts: namespaces of this machine, or other machines."""
    if links.is_asked(hosts):
        return namespaces.joined(links.rate_mbit(hosts))
    from bench.measurement.hosts import remote  # takes time to import, and few need it

    return remote.connected(hosts)


class Routers:
    """A context in which cases of one system share a router, and all cases credentials and hosts; all end with it."""

    def __init__(self) -> None:
        self._routers: dict[
            tuple[str, str, int, bool], Router
        ] = {}  # by system, source, host; whether it encrypts alone
        self._credentials: dict[str, dict[str, str]] = {}  # by the address of the server's host
        self._hosts: dict[str, Assignment] = {}
        self._connected = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._connected:
            for key in list(self._routers):
                self._end(key)

    def _end(self, key: tuple[str, str, int, bool]) -> None:
        if router := self._routers.pop(key, None):
            router.child.stop()

    def hosts(self, case: Case) -> Assignment:
        """Return which hosts have which role in the starts of a case; they are connected to when they are new."""
        if not case.hosts:
            return LOCAL
        key = json.dumps(case.hosts, sort_keys=True)
        if key not in self._hosts:
            self._hosts[key] = self._connected.enter_context(_joined(case.hosts))
        assignment = self._hosts[key]
        return assignment if case.target is None else roles.for_target(case.hosts, assignment)

    def router_of(self, case: Case) -> Router | None:
        """Return the router for a case, started if there is none yet or the case wants a fresh one."""
        if case.target is not None or not systems.is_routed(case.system, case.options):
            return None
        host = self.hosts(case).server
        is_one = bound(host) is not None  # place, where it listens: encrypted or not
        key = case.system, case.source, id(host), is_one and credentials.wanted(case.options)
        if case.fresh_router:
            self._end(key)
        if key not in self._routers:
            known = case.options if case.source else systems.load(case.system).Options.__dataclass_fields__
            offered = any(name in known for name in credentials.OPTIONS)
            texts = self._made(host) if (key[-1] if is_one else offered) else {}  # for this case, or a later one
            self._routers[key] = start(case, bound(host), texts, host)
        return self._routers[key]

    def credentials(self, case: Case) -> dict[str, str]:
        """Return the credentials of a case, the same for the whole run; none for a case that does not encrypt.

        Those of a target are in the folder that the user names; UsageError if there is none.
        """
        if not credentials.wanted(case.options):
            return {}
        return certificates.of_user() if case.target is not None else self._made(self.hosts(case).server)

    def _made(self, host: Host) -> dict[str, str]:
        """Return credentials for a server on a host: its certificate names the host's address, too."""
        if host.address not in self._credentials:
            names = dict.fromkeys([*credentials.NAMES, *filter(None, [host.address])])
            self._credentials[host.address] = certificates.make(names)
        return self._credentials[host.address]
