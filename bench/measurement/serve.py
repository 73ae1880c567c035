"""A server for others to measure: started by hand, at an address that the user names."""

import contextlib
import os
import re
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from bench import systems
from bench.contract import parse_address
from bench.errors import SystemFailedError, UsageError
from bench.measurement import certificates, routers
from bench.measurement.validation.cases import one_system
from bench.measurement.validation.support import checked
from bench.plan import credentials, parameters
from bench.plan.case import Case
from bench.process.channel import Count, Counted, Listening
from bench.process.child_process import Child, collect, private_directory, stop_all
from bench.process.spec import Closed, ServerSpec
from bench.text import quoted


def serve(
    system: str,
    address: str,
    options: str,
    say: Callable[[str], None],
    mode: str = "600",
    message: str = "bytes",
) -> None:
    """Serve until Ctrl-C (or the server's end, which is an error); then report how many requests were answered.

    ``mode`` holds the permissions of the socket file at an address ipc:///PATH, in octal digits. ``message``: what
    requests carry, as in ``Case``.
    """
    name = one_system(system)
    transport = parse_address(address).transport
    if transport == "inproc":
        raise UsageError("inproc cannot be reached from another process: serve at tcp://HOST:PORT or ipc:///PATH")
    parameters.names(transport, f"transport of {name}", systems.constant(name, "TRANSPORTS"))
    case = checked(Case(name, transport, options=parameters.mapping(options, "options"), message=message))
    permissions = _permissions(mode)
    file = Path(parse_address(address).path) if transport == "ipc" else None
    if file is not None:
        _make_way(file)
    systems.prepare(name)

    def listens(line: str) -> None:
        if file is not None:
            file.chmod(permissions)
        say(line)

    try:
        with _files_for_me():
            _serve(case, address, listens, say)
    finally:
        if file is not None:  # a server that was killed has left its socket
            with contextlib.suppress(UsageError):
                _make_way(file)


def _serve(
    case: Case,
    address: str,
    listens: Callable[[str], None],
    say: Callable[[str], None],
) -> None:
    """Start a server, and its router if it has one; ``listens`` gets the line that names the address."""
    name, texts = case.system, certificates.of_user() if credentials.wanted(case.options) else {}
    router = routers.start(case, address, texts) if systems.is_routed(name, case.options) else None
    spec = ServerSpec(
        case=case,
        bind=address,
        router=dict(router.addresses) if router else {},
        directory=private_directory(),
        environment=systems.environment(name),
        credentials=texts,
    )
    server = Child(f"{name} server", "bench.child.server", spec)
    behind = [router.child] if router else []
    try:
        (listening,) = collect(Listening, [server], 40, behind)
        target = re.sub(r"//(0\.0\.0\.0|\[::\]):", "//HOST:", listening.address)
        listens(f"{name} listens at {listening.address}; measure it with -p system {name} -p target {target}")
        with contextlib.suppress(KeyboardInterrupt):
            collect(Closed, [server], float("inf"), behind)
        server.send(Count())
        (counted,) = collect(Counted, [server], 5)
        say(f"answered {counted.count:,} requests")
    except SystemFailedError as error:
        raise SystemFailedError(
            f"{error}; choose another address, or end the process (or remove the file) that takes it"
        ) from error
    finally:
        stop_all([server, *behind])


def _permissions(mode: str) -> int:
    """Return permissions from octal digits: "660"."""
    if not re.fullmatch("[0-7]{3}", mode):
        raise UsageError(f"mode must be three octal digits, for example 600 or 666, not {quoted(mode)}")
    return int(mode, 8)


def _make_way(path: Path) -> None:
    """Remove a socket of this user at which nobody listens any more; UsageError for all else that is there."""
    try:
        status = path.lstat()
    except OSError:  # nothing is there; other errors of the path are reported by the server
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise UsageError(f"{path} exists and is not a socket: it is kept as it is; name another path")
    if status.st_uid != os.getuid():
        raise UsageError(f"{path} is a socket of another user: name another path")
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
        except OSError as reason:
            raise UsageError(f"{path} is a socket in use ({reason.strerror or reason}): name another path") from reason
    raise UsageError(f"a server listens at {path} already: end it, or name another path")


@contextlib.contextmanager
def _files_for_me() -> Iterator[None]:
    """Let the files that this process and its children make be nobody else's."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)
