"""Encryption: what is on the wire, what each fault says, and that no credentials are left behind."""

import contextlib
import dataclasses
import queue
import socket
import ssl
import stat
import threading
from datetime import UTC, datetime

import pytest
from conftest import serving as of_user
from specs import server_spec
from test_contract import MISSING

from bench import systems
from bench.errors import SystemFailedError, UsageError
from bench.measurement import certificates
from bench.measurement.routers import Routers
from bench.measurement.start import measure
from bench.measurement.validation.support import checked, encrypted_transports
from bench.plan import credentials
from bench.plan.case import Case
from bench.process.channel import Listening
from bench.process.child_process import Child, collect

pytestmark = pytest.mark.slow

ROUTED = "wamp_crossbar"


def option_of(name):
    """Return the option by which a system encrypts, or None."""
    return next((one for one in credentials.OPTIONS if hasattr(systems.load(name).Options, one)), None)


ENCRYPTING = [name for name in systems.names() if name not in MISSING and option_of(name)]
DIRECT = [name for name in ENCRYPTING if not systems.is_routed(name, {})]
WITH_CERTIFICATES = [name for name in DIRECT if option_of(name) == "tls"]
BY_WIRE = ("sockets", "http_stdlib", "grpc_sync")  # one of each protocol under which it encrypts
PAIRS = [(name, transport) for name in DIRECT for transport in encrypted_transports(name)]


def on(name):
    return {option_of(name): True}


@pytest.fixture
def trusting(monkeypatch, tmp_path):
    """Return a function that lets clients of a target use credentials."""

    def trust(texts):
        folder = tmp_path / f"credentials-{len(list(tmp_path.iterdir()))}"
        folder.mkdir(mode=0o700)
        credentials.write(str(folder), texts)
        monkeypatch.setenv(credentials.FOLDER, str(folder))

    return trust


@contextlib.contextmanager
def serving(name, transport, options, texts, folder):
    """Yield the address of a server of its own."""
    spec = server_spec(name, transport, options, credentials=texts, directory=f"{folder}/server")
    server = Child(f"{name} server", "bench.child.server", spec)
    try:
        yield collect(Listening, [server], 30)[0].address
    finally:
        server.stop()


class Tap(threading.Thread):
    """Stands between one client and a server at a TCP port or socket file, and keeps all bytes of both directions."""

    def __init__(self, address, path):
        super().__init__(daemon=True)
        self._address, self._listener = address, socket.socket(socket.AF_UNIX if path else socket.AF_INET)
        self._listener.bind(str(path) if path else ("127.0.0.1", 0))
        self._listener.listen()
        self.port = None if path else self._listener.getsockname()[1]
        self.seen = queue.SimpleQueue()

    def run(self):
        while True:
            near, _ = self._listener.accept()
            far = socket.socket(near.family)
            far.connect(self._address)
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._copy, args=(one, other), daemon=True).start()

    def _copy(self, one, other):
        with contextlib.suppress(OSError):
            while data := one.recv(65536):
                self.seen.put(data)
                other.sendall(data)
        with contextlib.suppress(OSError):
            other.shutdown(socket.SHUT_WR)

    def bytes(self):
        return b"".join(self.seen.get() for _ in range(self.seen.qsize()))


@pytest.mark.parametrize("is_encrypted", [False, True])
@pytest.mark.parametrize(("name", "transport"), PAIRS)
def test_the_payload_is_on_the_wire_only_without_encryption(
    name, transport, is_encrypted, private_parent, trusting, monkeypatch
):
    texts = certificates.make()
    trusting(texts)
    options = {option_of(name): is_encrypted}
    with serving(name, transport, options, texts, private_parent) as address:
        place = address.partition("://")[2]
        path = private_parent / "tap" if transport == "ipc" else None
        host, _, port = place.partition(":")
        tap = Tap(place if path else (host, int(port)), path)
        tap.start()
        target = f"ipc://{path}" if path else f"tcp://127.0.0.1:{tap.port}"
        case = Case(name, transport, 300, options, target=target, max_calls=8)
        assert measure(case, 5.0, 1).ledger["calls"] == 8
    import base64

    from bench.child.timed_loops import make_payloads

    payload, seen = make_payloads(300, 1000)[0], tap.bytes()
    found = any(part in seen for part in (payload[60:120], base64.b64encode(payload)[80:140]))
    assert len(seen) > 8 * 2 * 300 and found is not is_encrypted


FAULTS = {
    "another authority": "authority.*ROUNDTRIP_CREDENTIALS",
    "expired": "expired",
    "another name": "name",
    "a server without": "option tls",
    "a client without": "option tls",
}


def of_fault(fault):
    """Return the credentials of a server, and those of its client."""
    if fault == "expired":
        made = certificates.make(not_after=datetime(2020, 1, 1, tzinfo=UTC))
    elif fault == "another name":
        made = certificates.make(names=("elsewhere.example",))
    else:
        made = certificates.make()
    return made, certificates.make() if fault == "another authority" else made


ENGINES = [*((name, "library") for name in WITH_CERTIFICATES), *((name, "wire") for name in BY_WIRE)]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize(("name", "engine"), ENGINES)
def test_each_fault_of_tls_says_what_to_do(name, engine, fault, private_parent, trusting):
    server, client = of_fault(fault)
    trusting(client)
    served = {"tls": fault != "a server without"}
    with serving(name, "tcp", served, server if served["tls"] else {}, private_parent) as address:
        options = {"tls": fault != "a client without"}
        case = Case(name, "tcp", 100, options, target=address, max_calls=3, engine=engine)
        with pytest.raises(SystemFailedError, match=FAULTS[fault]) as error:
            measure(case, 1.0, 1)
    assert "Traceback" not in str(error.value) and "hangs" not in str(error.value)


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault not in ("a server without", "a client without")])
def test_a_wamp_session_verifies_the_certificate(fault, private_parent, trusting):
    """The handshake precedes the greeting: whatever listens there shows the certificate."""
    server, client = of_fault(fault)
    trusting(client)
    with (
        serving("sockets", "tcp", {"tls": True}, server, private_parent) as address,
        pytest.raises(SystemFailedError, match=FAULTS[fault]),
    ):
        measure(Case(ROUTED, "tcp", 100, {"tls": True}, target=address, max_calls=3), 1.0, 1)


def test_a_router_has_endpoints_of_both_kinds(trusting):
    """The fixture of all tests is not used: its credentials are not known here."""
    with Routers() as routers:
        for framing in ("rawsocket", "websocket"):
            options = {"framing": framing, "tls": True, "serializer": "cbor"}
            case = Case(ROUTED, "tcp", 100, options, max_calls=5)
            measured = measure(case, 5.0, 1, routers)
            assert measured.ledger["calls"] == measured.ledger["server_calls"] == 5
            trusting(routers.credentials(case))
            addresses = routers.of(case).addresses
            mixed = ((addresses[f"tcp {framing}"], True), (addresses[f"tcp {framing} tls"], False))
            for address, is_encrypted in mixed:
                other = dataclasses.replace(case, target=address, options=options | {"tls": is_encrypted})
                with pytest.raises(SystemFailedError, match="option tls"):
                    measure(other, 1.0, 1)


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("another key", r"curve\.public"),
        ("a server without", "option curve"),
        ("a client without", "option curve"),
        ("no key", r"curve\.public"),
        ("nobody answers", "CURVE"),
    ],
)
def test_each_fault_of_curve_says_what_to_do(fault, why, private_parent, trusting):
    made = certificates.make()
    client = certificates.make() if fault == "another key" else made
    trusting(client | ({"curve.public": "nothing"} if fault == "no key" else {}))
    served = {"curve": fault != "a server without"}
    with serving("zeromq", "tcp", served, made if served["curve"] else {}, private_parent) as address:
        target = "tcp://127.0.0.1:1" if fault == "nobody answers" else address
        case = Case("zeromq", "tcp", 100, {"curve": fault != "a client without"}, target=target, max_calls=3)
        with pytest.raises(SystemFailedError, match=why):
            measure(case, 1.0, 1)


def test_keys_are_private_and_go_with_their_server(private_parent):
    texts = certificates.make()
    assert not any("PRIVATE" in text for text in credentials.public(texts).values())
    assert set(texts) - set(credentials.public(texts)) == {"server.key", "curve.secret"}
    with serving("sockets", "tcp", {"tls": True}, texts, private_parent):
        (folder,) = private_parent.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == dict.fromkeys(
            texts, 0o600
        )
    assert not any(private_parent.iterdir())


def test_what_cannot_be_encrypted_is_refused(monkeypatch):
    monkeypatch.delenv(credentials.FOLDER, raising=False)
    with pytest.raises(UsageError, match=r"inproc .*curve false"):
        checked(Case("zeromq", "inproc", options={"curve": True}))
    with pytest.raises(UsageError, match=r"http_aiohttp .*tcp .*tls false"):
        checked(Case("http_aiohttp", "ipc", options={"tls": True}))
    with pytest.raises(UsageError, match=r"bench certificates FOLDER HOST.*ROUNDTRIP_CREDENTIALS"):
        checked(Case("sockets", "tcp", options={"tls": True}, target="tcp://127.0.0.1:5"))
    with pytest.raises(UsageError, match=r"tls_session resumed .*tls true"):
        checked(Case("sockets", "tcp", options={"tls_session": "resumed"}))
    case = Case("http_aiohttp", "tcp", options={"tls": True, "resource": "bytes"})
    for engine in ("wrk", "h2load"):
        with pytest.raises(UsageError, match="tls false, or engine library"):
            checked(dataclasses.replace(case, engine=engine))


@pytest.mark.parametrize("name", ["sockets", "http_stdlib"])
@pytest.mark.parametrize(("tls_session", "resumed"), [("new", {0}), ("resumed", {1})])
def test_connections_are_counted_and_resume_their_session_if_asked_to(name, tls_session, resumed):
    options = {"tls": True, "tls_session": tls_session}
    case = checked(Case(name, "tcp", 100, options, load="reconnect", sessions=((1, 100), (5, 100), (3, 9000))))
    measured = measure(case, 1.0, 1)
    assert measured.ledger["calls"] == measured.ledger["server_calls"] == 9
    assert [(row["calls"], row["payload_bytes"]) for row in measured.tables["sessions"]] == [
        (1, 100),
        (5, 100),
        (3, 9000),
    ]
    assert {row["resumed"] for row in measured.tables["sessions"]} == resumed
    for row in measured.tables["sessions"]:
        moments = [row[one] for one in ("begin_ns", "opened_ns", "answered_ns", "called_ns", "end_ns")]
        assert moments == sorted(moments) and (row["median_ns"] is None) is (row["calls"] == 1)
        assert row["client_cpu_ns"] > 0 and row["server_cpu_ns"] >= 0 and row["router_cpu_ns"] is None


@pytest.mark.parametrize("name", ["sockets", "zeromq"])
def test_a_server_that_the_user_starts_is_measured_with_credentials_that_the_user_keeps(
    name, tmp_path, monkeypatch, command
):
    folder = tmp_path / "mine"
    made = command("certificates", str(folder), "bench.example")
    assert made.returncode == 0 and "127.0.0.1, ::1, bench.example" in made.stdout
    options = f"{{{option_of(name)}: true}}"
    refused = command("serve", name, "tcp://127.0.0.1:0", "-o", options)
    assert refused.returncode == 2 and "bench certificates FOLDER HOST" in refused.stderr
    with of_user(name, "tcp://127.0.0.1:0", "-o", options, **{credentials.FOLDER: str(folder)}) as served:
        for file in folder.iterdir():
            if file.name.endswith(credentials.PRIVATE):
                file.unlink()  # the client's copy is without
        monkeypatch.setenv(credentials.FOLDER, str(folder))
        measured = measure(checked(Case(name, "tcp", 100, on(name), target=served.target, max_calls=9)), 5.0, 1)
    assert measured.ledger["calls"] == 9 and served.process.returncode == 0 and " 10 " in served.said


@pytest.mark.parametrize("name", WITH_CERTIFICATES)
def test_servers_speak_tls_1_3(name, private_parent):
    texts = certificates.make()
    context = ssl.create_default_context(cadata=texts[credentials.AUTHORITY])
    context.set_alpn_protocols(["h2", "http/1.1"])
    with serving(name, "tcp", {"tls": True}, texts, private_parent) as address:
        host, _, port = address.removeprefix("tcp://").partition(":")
        with (
            socket.create_connection((host, int(port)), 5) as connection,
            context.wrap_socket(connection, server_hostname="localhost") as encrypted,
        ):
            assert encrypted.version() == "TLSv1.3" and encrypted.cipher()[2] >= 128
