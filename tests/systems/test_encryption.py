"""Encryption: what is on the wire, what each fault says, and that no credentials are left behind."""

import base64
import contextlib
import os
import queue
import re
import socket
import ssl
import stat
import threading
from datetime import UTC, datetime

import pytest
from conftest import serving as of_user
from specs import calling, server_spec
from test_contract import MISSING
from wire_servers import load_of

from bench import systems
from bench.contract import parse_address
from bench.errors import TransportError, UsageError
from bench.measurement import certificates
from bench.measurement.start import measure
from bench.measurement.validation.support import checked, encrypted_transports
from bench.plan import credentials
from bench.plan.case import Case
from bench.process.channel import Listening
from bench.process.child_process import Child, collect, private_directory

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


TAPPED = [(*pair, is_encrypted) for pair in PAIRS for is_encrypted in {True, pair[1] != "tcp"}]


@pytest.mark.parametrize(("name", "transport", "is_encrypted"), TAPPED)
def test_the_payload_is_on_the_wire_only_without_encryption(
    name, transport, is_encrypted, private_parent, trusting, child_server
):
    texts, options = certificates.make(), {option_of(name): is_encrypted}
    trusting(texts)
    endpoint = parse_address(child_server(name, transport, options, credentials=texts)[1])
    path = private_parent / "tap" if transport == "ipc" else None
    tap = Tap(endpoint.path if path else (endpoint.host, endpoint.port), path)
    tap.start()
    payload = os.urandom(300)
    with calling(name, f"ipc://{path}" if path else f"tcp://127.0.0.1:{tap.port}", **options) as call:
        assert [call(payload) for _ in range(8)] == [payload] * 8
    seen = tap.bytes()
    is_readable = any(part in seen for part in (payload[60:120], base64.b64encode(payload)[80:140]))
    assert len(seen) > 8 * 2 * 300 and is_readable is not is_encrypted
    if is_encrypted and transport == "tcp" and option_of(name) == "tls":
        check_version(endpoint, texts)


def check_version(endpoint, texts):
    """Make a handshake with a server as anybody would, and look at what is agreed on."""
    context = ssl.create_default_context(cadata=texts[credentials.AUTHORITY])
    context.set_alpn_protocols(["h2", "http/1.1"])
    with (
        socket.create_connection((endpoint.host, endpoint.port), 5) as connection,
        context.wrap_socket(connection, server_hostname="localhost") as encrypted,
    ):
        assert encrypted.version() == "TLSv1.3" and encrypted.cipher()[2] >= 128


def refusal(name, address, engine="library", **options):
    """Return what a client says that cannot make a call."""
    with pytest.raises(TransportError) as error:
        if engine == "wire":
            module = systems.load(name)
            load_of(address, module, options=module.Options(**options))
        else:
            with calling(name, address, **options) as call:
                call(b"hello")
    text = str(error.value)
    assert "Traceback" not in text and "\n" not in text
    return text


@pytest.fixture(scope="module")
def made():
    """Return credentials: right ones, of another authority, and of servers whose certificate is not accepted."""
    return {
        "right": certificates.make(),
        "others": certificates.make(),
        "expired": certificates.make(not_after=datetime(2020, 1, 1, tzinfo=UTC)),
        "elsewhere": certificates.make(names=("elsewhere.example",)),
        "": {},
    }


FAULTS = [  # which credentials a server has; what its client trusts, "" without TLS, and says
    ("right", [("others", "authority.*ROUNDTRIP_CREDENTIALS"), ("", "option tls")]),
    ("expired", [("expired", "expired")]),
    ("elsewhere", [("elsewhere", "name")]),
    ("", [("right", "option tls")]),
]


@pytest.mark.parametrize("name", WITH_CERTIFICATES)
def test_each_fault_of_tls_says_what_to_do(name, made, trusting, child_server):
    """Before a WAMP session there is a handshake, too: whatever listens there shows the certificate."""
    for served, faults in FAULTS:
        _, address = child_server(name, options={"tls": bool(served)}, credentials=made[served])
        for trusted, pattern in faults:
            trusting(made[trusted])
            options = {"tls": bool(trusted)}
            assert re.search(pattern, refusal(name, address, **options))
            if name in BY_WIRE:
                assert re.search(pattern, refusal(name, address, "wire", **options))
            if name == "sockets" and served and trusted and ROUTED not in MISSING:
                assert re.search(pattern, refusal(ROUTED, address, **options))


def test_a_router_has_endpoints_of_both_kinds(trusting, routers):
    case = Case(ROUTED, "tcp", 100, {"tls": True}, max_calls=5)
    measured = measure(case, 5.0, 1, routers)
    assert measured.ledger["calls"] == measured.ledger["server_calls"] == 5
    trusting(routers.credentials(case))
    addresses = routers.router_of(case).addresses
    for framing in ("rawsocket", "websocket"):
        mixed = ((addresses[f"tcp {framing}"], True), (addresses[f"tcp {framing} tls"], False))
        for address, is_encrypted in mixed:
            assert "option tls" in refusal(ROUTED, address, framing=framing, tls=is_encrypted)


def test_each_fault_of_curve_says_what_to_do(made, trusting, child_server):
    _, encrypted = child_server("zeromq", options={"curve": True}, credentials=made["right"])
    _, plain = child_server("zeromq")
    for address, trusted, is_encrypted, pattern in (
        (encrypted, made["others"], True, r"curve\.public"),
        (encrypted, made["right"] | {"curve.public": "nothing"}, True, r"curve\.public"),
        (encrypted, {}, False, "option curve"),
        (plain, made["right"], True, "option curve"),
        ("tcp://127.0.0.1:1", made["right"], True, "CURVE"),
    ):
        trusting(trusted)
        assert re.search(pattern, refusal("zeromq", address, curve=is_encrypted))


def test_keys_are_private_and_go_with_their_server(private_parent, made):
    texts = made["right"]
    assert not any("PRIVATE" in text for text in credentials.public(texts).values())
    assert set(texts) - set(credentials.public(texts)) == {"server.key", "curve.secret"}
    spec = server_spec("sockets", options={"tls": True}, credentials=texts, directory=private_directory())
    server = Child("server", "bench.child.server", spec)
    collect(Listening, [server], 60)
    (folder,) = private_parent.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == dict.fromkeys(texts, 0o600)
    server.stop()
    assert not any(private_parent.iterdir())


def test_what_cannot_be_encrypted_is_refused(monkeypatch):
    monkeypatch.delenv(credentials.FOLDER, raising=False)
    with pytest.raises(UsageError, match=r"inproc .*curve false"):
        checked(Case("zeromq", "inproc", options={"curve": True}))
    with pytest.raises(UsageError, match=r"http_aiohttp .*tcp .*tls false"):
        checked(Case("http_aiohttp", "ipc", options={"tls": True}))
    with pytest.raises(UsageError, match=r"bench certificates FOLDER HOST.*ROUNDTRIP_CREDENTIALS"):
        checked(Case("sockets", "tcp", options={"tls": True}, target="tcp://127.0.0.1:5"))
    with pytest.raises(UsageError, match="tls false, or engine library"):
        checked(Case("http_aiohttp", "tcp", options={"tls": True, "resource": "bytes"}, engine="wrk"))


@pytest.mark.parametrize("name", ["sockets", "http_stdlib"])
@pytest.mark.parametrize(("tls_session", "resumed"), [("new", {0}), ("resumed", {1})])
def test_connections_are_counted_and_resume_their_session_if_asked_to(name, tls_session, resumed):
    options = {"tls": True, "tls_session": tls_session}
    case = checked(Case(name, "tcp", 100, options, load="reconnect", sessions=((1, 100), (5, 100), (3, 9000))))
    measured = measure(case, 1.0, 1)
    assert measured.ledger["calls"] == measured.ledger["server_calls"] == 9
    sessions = measured.tables["sessions"]
    assert [(row["calls"], row["payload_bytes"]) for row in sessions] == [(1, 100), (5, 100), (3, 9000)]
    assert {row["resumed"] for row in sessions} == resumed
    for row in sessions:
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
