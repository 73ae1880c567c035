"""The routers of an experiment: started before the first case that needs one, shared, ended with the experiment."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from bench import credentials, systems
from bench.child.spec import RouterSpec, Routing
from bench.errors import SystemFailedError
from bench.measurement import certificates
from bench.measurement.child_process import Child, collect, private_directory
from bench.measurement.meters import family
from bench.plan.case import Case

READY_S = 90.0  # until a router is ready; usual are 1 to 15 s, more on a busy machine


@dataclass(frozen=True)
class Router:
    """A router that is ready: its process, where it listens, and its processes by role."""

    child: Child
    addresses: Mapping[str, str]
    pids: Mapping[str, list[int]]


def start(
    system: str,
    transport: str,
    options: Mapping[str, Any],
    bind: str | None = None,
    texts: Mapping[str, str] | None = None,
) -> Router:
    """Start a system's router and return it when it is ready; ``bind`` is an address that the user names.

    ``texts`` are credentials, for encrypted connections.

    SystemFailedError quotes the router's log when it does not get ready.
    """
    name = systems.constant(system, "ENVIRONMENT", None)
    environment = systems.environment(system)
    same: dict[str, Any] = {"system": system, "transport": transport, "options": dict(options)}
    same |= {"credentials": dict(texts or {})}
    spec = RouterSpec(**same, bind=bind, directory=private_directory(), environment=environment)
    child = Child(f"{system} router", "bench.child.router", spec)
    try:
        (ready,) = collect(Routing, [child], READY_S)
    except SystemFailedError as error:
        child.stop()
        raise SystemFailedError(f"{error}{_remedy(bind, name)}") from error
    except BaseException:
        child.stop()
        raise
    return Router(child, ready.addresses, _roles(child.pid, ready.pids))


def _remedy(bind: str | None, name: str | None) -> str:
    if bind:
        return f"; if {bind} is taken, choose another address or end what holds it"
    return f"; if its environment is damaged, make it anew: python -m bench prepare {name} --anew" if name else ""


def _roles(pid: int, announced: Mapping[str, int]) -> dict[str, list[int]]:
    """Return the router's processes by role: those announced, and the rest as ``router``."""
    roles = {role: [helper] for role, helper in announced.items()}
    known = {pid, *announced.values()}  # the first only holds the others
    return {"router": [member for member in family(pid) if member not in known], **roles}


class Routers:
    """A context in which cases of one system share a router, and all cases credentials; all routers end with it."""

    def __init__(self) -> None:
        """Begin without routers."""
        self._routers: dict[str, Router] = {}
        self._credentials: dict[str, str] = {}

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End all routers."""
        for system in list(self._routers):
            self._end(system)

    def _end(self, system: str) -> None:
        if router := self._routers.pop(system, None):
            router.child.stop()

    def of(self, case: Case) -> Router | None:
        """Return the router for a case, started if there is none yet or the case wants a fresh one."""
        if case.target is not None or not hasattr(systems.load(case.system), "route"):
            return None
        if case.fresh_router:
            self._end(case.system)
        if case.system not in self._routers:
            offered = any(hasattr(systems.load(case.system).Options, name) for name in credentials.OPTIONS)
            texts = self._made() if offered else {}  # for this case, or a later one
            self._routers[case.system] = start(case.system, case.transport, case.options, texts=texts)
        return self._routers[case.system]

    def credentials(self, case: Case) -> dict[str, str]:
        """Return the credentials of a case, the same for the whole run; none for a case that does not encrypt.

        Those of a target are in the folder that the user names; UsageError if there is none.
        """
        if not credentials.wanted(case.options):
            return {}
        return certificates.of_user() if case.target is not None else self._made()

    def _made(self) -> dict[str, str]:
        self._credentials = self._credentials or certificates.make()
        return self._credentials
