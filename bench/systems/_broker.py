"""A message broker as a router: its program, run as a child of the router's process with a configuration of its own.

It binds to the loopback interface or to a socket file, and keeps its files in the private directory. A system's file
says how the program is configured (``Program``, and the words that start it); what all brokers need is here.
"""

import functools
import os
import re
import secrets
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from bench.contract import Address, Binding, RouterService, parse_address
from bench.errors import NotInstalledError, TransportError
from bench.process import pipes
from bench.systems import _client, _ports, _wire

LOGIN = "ROUNDTRIP_BROKER_LOGIN"  # USER:PASSWORD that brokers started here ask for, and that clients present
OWN = "login"  # the key under which a broker of a run announces the login that it asks for, USER:PASSWORD
SERVICE = "roundtrip"  # the name that a server takes requests under; see ``name_of``
WAIT_S = 10.0  # for a reply; then nobody takes the requests
TAKEN = re.compile("in use|eaddrinuse|duplicate_name", re.IGNORECASE)
REFUSED = re.compile(r"authori[sz]|authentication|NOAUTH|WRONGPASS|ACCESS_REFUSED", re.IGNORECASE)  # a login
COMPLAINT = re.compile(r"error|fail|fatal|cannot|can't|could not|in use|eaddrinuse|invalid|bad ", re.IGNORECASE)
STAMP = re.compile(r"^[\[\]\d/:., TZ+<>MC#*-]*(\[(error|ERR|FTL|info|INF)\])?[ <\d.>]*")  # begins lines of logs

_logins: dict[Address, tuple[str, str]] = {}  # of brokers whose address, as their server announced it, had one


@dataclass(frozen=True)
class Program:
    """A broker's program.

    name: as it is called. package: of Debian, that holds it. ready: matches the line of its log that says that it
    listens. ready_s: how long that takes at most.
    """

    name: str
    package: str
    ready: str
    ready_s: float = 15.0

    def path(self) -> str:
        """Return where the program is; NotInstalledError names the package that holds it."""
        if (path := pipes.program(self.name)) is None:
            remedy = f"install it: apt-get install {self.package}"
            raise NotInstalledError(f"there is no {self.name}; {remedy}", [self.package])
        return path


def login(broker: Address | None = None) -> tuple[str, str] | None:
    """Return a broker's user and password: those in its address, or those that the environment names; None: neither.

    TransportError if what the environment names is no login.
    """
    if broker in _logins:
        return _logins[broker]
    named = os.environ.get(LOGIN)
    if not named:
        return None
    user, colon, password = named.partition(":")
    if not (user and colon and password) or re.search(r"[\s\"'\\]", named):
        raise TransportError(f"{LOGIN} must hold USER:PASSWORD, without blanks, quotes and backslashes")
    return user, password


def asked(binding: Binding) -> tuple[str, str] | None:
    """Return the login that a broker asks for: the environment's, or a random one for a broker that only a run uses."""
    return login() or (None if binding.is_named else (SERVICE, _password()))


@functools.cache
def _password() -> str:
    return secrets.token_hex(16)


def refused(reason: object) -> TransportError:
    """Return the error for a broker that does not let a client in."""
    return TransportError(
        f"the broker refuses the login ({reason}): name its user and password in {LOGIN}=USER:PASSWORD", "connect"
    )


def cannot_connect(broker: Address, reason: object) -> TransportError:
    """Return the error for a broker that cannot be reached."""
    return TransportError(f"cannot connect to the broker at {broker}: {reason}", "connect")


def no_reply(service: str) -> TransportError:
    """Return the error for a request that nobody answers."""
    return TransportError(f"no reply came within {WAIT_S:g} s: no server takes requests under {service!r}", "read")


def lost() -> TransportError:
    """Return the error for a broker that has gone while a server waited for requests."""
    return TransportError("the connection to the broker was lost", "read")


def name_of(binding: Binding) -> str:
    """Return the name that a server takes requests under: one of its own, because the broker outlives servers."""
    return SERVICE if binding.is_named else f"{SERVICE}.{os.getpid()}"


def announced(binding: Binding, tls: bool) -> str:
    """Return the address that a server announces: its broker's, and behind "#" the name it takes requests under.

    Behind the name follows, after a colon, the broker's login, if that is the broker's own.
    """
    own = binding.router.get(OWN)
    return f"{address_of(binding, tls)}#{name_of(binding)}{f':{own}' if own else ''}"


def address_of(binding: Binding, tls: bool) -> str:
    """Return the broker's address for a server's binding."""
    return binding.router[endpoint(binding.transport, tls)]


def split(address: str) -> tuple[Address, str]:
    """Return where the broker is, and the name of the server behind it; keep the login in the address."""
    broker, _, behind = address.partition("#")
    parsed, (name, _, own) = parse_address(broker), behind.partition(":")
    if own:
        user, _, password = own.partition(":")
        _logins[parsed] = user, password
    return parsed, name or SERVICE


def endpoint(transport: str, tls: bool) -> str:
    """Return the name of one of a broker's endpoints, a key of what ``route`` announces."""
    return f"{transport} tls" if tls else transport


def endpoints(binding: Binding, transports: Sequence[str], encrypted: Sequence[str], tls: bool) -> dict[str, Address]:
    """Return the endpoints of a broker: the one that the user names, or all that clients of a run may ask for."""
    if binding.is_named:
        return {endpoint(binding.transport, tls): parse_address(binding.endpoint())}
    places = {}
    for transport in transports:
        for is_encrypted in (False, True):
            if is_encrypted and not (binding.credentials and transport in encrypted):
                continue
            if transport == "ipc":
                address = Address("ipc", "", 0, f"{binding.directory}/{'tls' if is_encrypted else 'broker'}.sock")
            else:
                address = Address("tcp", binding.host, _ports.free(binding.host), "")
            places[endpoint(transport, is_encrypted)] = address
    return places


class Connected(_client.Connected):
    """A connection to a broker, by which requests go to the server of a ``name``."""

    PEER = "the broker at "

    def __init__(self, address: str, options: Any) -> None:
        super().__init__(address, options)
        self.name = split(address)[1]

    def unreachable(self, reason: BaseException) -> TransportError:
        """Do what a client does; a login that is refused is named, unless a connection could not be made at all."""
        is_reached = not any(isinstance(each, OSError) and each.errno for each in _client.causes(reason))
        if is_reached and REFUSED.search(f"{type(reason).__name__}: {reason}"):
            return refused(_client.words(reason))
        return super().unreachable(reason)


class Client(Connected, _client.Client):
    """A connection of a blocking library to a broker."""


class Wire(_wire.Dialog):
    """One connection to a broker, by which requests go to the server of a ``name``."""

    def __init__(self, address: str, options: Any = None) -> None:
        super().__init__(address, options)
        self.name = split(address)[1]


def write(binding: Binding, name: str, lines: Sequence[str]) -> str:
    """Write a file that only this user may read into the private directory, and return its path."""
    path = f"{binding.directory}/{name}"
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:  # noqa: PTH123
        file.write("\n".join([*lines, ""]))
    return path


def configured(variables: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for a broker: this process's search path and language, and the given variables."""
    return {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL")} | dict(variables)


Start = tuple[Sequence[str], Mapping[str, Address]]  # the words behind the program's name; its endpoints


def run(
    program: Program,
    binding: Binding,
    service: RouterService,
    start: Start,
    environment: Mapping[str, str] | None = None,
    path: str = "",
) -> NoReturn:
    """Run a broker until it ends: TransportError with the reason in its log.

    path: of the program, if it is not the one that is found by its name.
    """
    words, places = start
    broker = Run(program, [path or program.path(), *words], binding.directory, environment or {})
    service.adopt(broker.pid)
    if broker.wait_until_ready():
        own = {} if login() else {OWN: ":".join(asked(binding) or ())}
        service.announce({name: str(address) for name, address in places.items()} | own, {})
    raise broker.ended()


def router(program: Program, configured: Callable[[Binding, Any], Start]) -> Callable[..., NoReturn]:
    """Return a system's ``route``, which runs a program with the configuration for a binding and options."""

    def route(binding: Binding, options: Any, service: RouterService) -> NoReturn:
        run(program, binding, service, configured(binding, options))

    return route


class Run:
    """A broker's process and its log; ``words``: the program's path, and what follows it."""

    def __init__(self, program: Program, words: Sequence[str], directory: str, environment: Mapping[str, str]) -> None:
        self._program = program
        try:
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                cwd=directory,
                env=configured({"HOME": directory, "TMPDIR": directory} | dict(environment)),
                process_group=0,
            )
        except OSError as reason:
            raise TransportError(f"{words[0]} cannot be run: {reason}") from reason
        self.pid = self._process.pid
        self._last = self._complaint = ""
        self._is_ready = False
        self._news = threading.Event()  # it is ready, or its log has ended
        self._log = threading.Thread(target=self._follow, daemon=True)
        self._log.start()

    def _follow(self) -> None:
        for line in self._process.stdout or ():
            sys.stderr.write(line)
            self._keep(line)
            if not self._is_ready and re.search(self._program.ready, line):
                self._is_ready = True
                self._news.set()
        self._news.set()

    def _keep(self, line: str) -> None:
        words = STAMP.sub("", line).strip(" -\n")
        if not words:
            return
        self._last = words
        if COMPLAINT.search(words) and (not self._complaint or not TAKEN.search(self._complaint)):
            self._complaint = words

    def wait_until_ready(self) -> bool:
        """Return whether it listens; False if it has ended. TransportError if it does neither in time."""
        if not self._news.wait(self._program.ready_s):
            reason = f"the end of its log: {self._last}" if self._last else "it printed nothing"
            program = self._program
            raise TransportError(f"{program.name} did not get ready within {program.ready_s:g} s; {reason}")
        return self._is_ready

    def ended(self) -> TransportError:
        """Wait until it has ended; return the error that says so."""
        status = self._process.wait()
        self._log.join(0.5)
        reason = self._complaint or self._last
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        text = f"{self._program.name} {how}{f': {reason}' if reason and status >= 0 else ''}"
        print(text, file=sys.stderr)  # clients often notice first, and then the end of this log is quoted
        return TransportError(text)
