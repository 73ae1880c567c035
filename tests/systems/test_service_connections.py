"""How services of one's own are connected to: over HTTP/2 as servers end it, by TLS, and at each address of a name."""

import asyncio
import datetime
import random
import shutil
import socket
import ssl
import subprocess
import time
from contextlib import contextmanager, suppress

import hpack
import pytest
import trustme
import yaml
from specs import report_of
from wire_servers import frames_of, served

from bench import systems
from bench.contract import parse_address
from bench.errors import SystemFileError, TransportError
from bench.measurement import start
from bench.measurement.start import measure
from bench.measurement.validation.support import checked
from bench.plan import service_file
from bench.plan.case import Case
from bench.systems import _ports, _service, _service_http2
from bench.systems._http2 import (
    CANCEL,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PADDED,
    PRIORITY,
    RST_STREAM,
    frame,
    settings,
)

ENGINES = pytest.mark.parametrize("engine", ["library", "wire"])
ASKED = {"name": "it", "http": {"path": "/"}, "expect": {"json": {"ok": True}}}


@pytest.fixture
def own(tmp_path, own_systems):
    """Return a function that writes the file of a service that runs at an address; it returns the path."""

    def write(address, name="second", **more):
        file = tmp_path / f"{name}.yaml"
        file.write_text(yaml.safe_dump({"address": address.replace("tcp:", "http:"), "requests": [ASKED]} | more))
        return str(file)

    return write


def loaded(file, engine, calls=40, **spec):
    """Make the calls of a load, in this process; return how many were answered, and its failures."""
    service = _service.System(file)
    report = report_of(service, service.target, engine=engine, max_calls=calls, **spec)
    return report.calls, {name: count for name, count, _ in report.numbers}


def answer(encoder, stream):
    """Return a response in as many frames as there are kinds, with what is to be ignored around it."""
    head = encoder.encode([(":status", "200"), ("content-type", "application/json")])
    return b"".join([
        frame(HEADERS, END_HEADERS, stream, b"\x08\x03103"),  # not for the table
        frame(HEADERS, PADDED | PRIORITY, stream, b"\2" + bytes(5) + head[:3] + bytes(2)),
        frame(CONTINUATION, END_HEADERS, stream, head[3:]),
        frame(DATA, PADDED, stream, b'\3{"ok":' + bytes(3)),
        frame(DATA, 0, stream, b" true}"),
        frame(HEADERS, END_HEADERS | END_STREAM, stream, encoder.encode([("digest", "none")])),
        frame(RST_STREAM, 0, stream, bytes(4)),
    ])  # fmt: skip


def goaway(last):
    return frame(GOAWAY, 0, 0, last.to_bytes(4) + bytes(4))


def ending(takes, processed, most=100):
    """Return a server that answers so many requests on a connection, behind its GOAWAY, and ignores others."""

    def behave(connection, _):
        encoder, last = hpack.Encoder(), 2 * takes - 1
        for kind, _, stream, _ in frames_of(connection, settings({3: most})):
            if kind == HEADERS and stream <= last:
                processed.append(stream)  # before the client, in another thread, may go on
                connection.sendall(goaway(last) * (stream == last) + answer(encoder, stream))

    return behave


@ENGINES
@pytest.mark.parametrize(("callers", "outstanding"), [(1, 1), (3, 1), (1, 20)])
def test_no_call_fails_when_a_server_ends_connections_by_goaway(own, engine, callers, outstanding):
    if engine == "wire" and outstanding > 1:
        pytest.skip("the wire makes one call at a time on a connection")
    processed = []
    with served(ending(7, processed, most=9)) as address:
        file = own(address, http2=True)
        calls, failed = loaded(file, engine, callers=callers, outstanding=outstanding)
    assert calls == 40 * callers * outstanding and not failed
    assert len(processed) == calls + callers  # the first of each connection comes before the window


@ENGINES
def test_new_values_are_in_each_request_over_http_2(own, engine, monkeypatch):
    monkeypatch.setattr(service_file, "DISTINCT", 3)
    paths = []

    def behave(connection, _):
        encoder, decoder = hpack.Encoder(), hpack.Decoder()
        for kind, _, stream, content in frames_of(connection, settings({})):
            if kind == HEADERS:
                paths.append(dict(decoder.decode(content))[":path"])
                connection.sendall(answer(encoder, stream))

    with served(behave) as address:
        asked = ASKED | {"http": {"path": "/?u={u}"}}
        file = own(address, http2=True, requests=[asked], values={"u": {"unique": "uuid"}})
        assert loaded(file, engine) == (40, {})
    assert len(set(paths)) == len(paths) == 41


def test_a_server_that_processes_nothing_is_left_in_the_end(own, monkeypatch):
    def behave(connection, _):
        for kind, *_ in frames_of(connection):
            if kind == HEADERS:
                connection.sendall(goaway(0))

    monkeypatch.setattr(_service_http2, "MOST_SENDINGS", 3)
    with served(behave) as address:
        for engine in ("library", "wire"):
            with pytest.raises(TransportError, match="GOAWAY NO_ERROR"):
                loaded(own(address, http2=True), engine)


def test_a_stream_that_is_reset_or_late_leaves_the_others_on_its_connection(own):
    cancelled, connections = [], []

    def behave(connection, _):
        connections.append(connection)
        encoder = hpack.Encoder()
        for kind, _, stream, content in frames_of(connection):
            if kind == RST_STREAM:
                cancelled.append((stream, int.from_bytes(content)))
                connection.sendall(answer(encoder, stream))  # it was under way: passed over
            elif kind == HEADERS and stream == 3:
                connection.sendall(frame(RST_STREAM, 0, stream, b"\0\0\0\7"))
            elif kind == HEADERS and stream != 5:
                connection.sendall(answer(encoder, stream))

    async def ask(address):
        described = service_file.read(own(address, http2=True, timeout_s=0.3))
        session = _service_http2.Session(described, parse_address(address))
        request = next(service_file.prepared(described, random.Random(0)))
        outcomes = [await session.call(request, b"")]
        outcomes += await asyncio.gather(*(session.call(request, b"") for _ in range(3)), return_exceptions=True)
        outcomes.append(await session.call(request, b""))
        await session.close()
        return outcomes

    with served(behave) as address:
        first, reset, late, *others = asyncio.run(ask(address))
    assert first == (200, b'{"ok": true}', "") and others == [first, first]
    assert (reset.kind, late.kind) == ("RST_STREAM REFUSED_STREAM", "timeout")
    assert cancelled == [(5, CANCEL)] and len(connections) == 1


def test_a_request_waits_for_room_in_the_servers_windows_and_is_not_sent_on_behind_its_reply(own):
    bodies, ended = [], []

    def behave(connection, _):
        encoder, number = hpack.Encoder(), len(bodies)
        bodies.append(b"")
        for kind, flags, stream, content in frames_of(connection, settings({4: 10})):
            if kind == DATA:
                bodies[number] += content
                if flags & END_STREAM or len(bodies[number]) > 5000:
                    connection.sendall(answer(encoder, stream)[:-13])
                else:
                    connection.sendall(frame(8, 0, stream, b"\0\0\3\0") + frame(8, 0, 0, b"\0\0\3\0"))
            elif kind == RST_STREAM:
                ended.append(stream)

    with served(behave) as address:
        for size in (3000, 90_000):
            post = ASKED | {"http": {"method": "POST", "path": "/", "body": "x" * size}}
            for engine in ("library", "wire"):
                assert loaded(own(address, http2=True, requests=[post]), engine, calls=1) == (1, {})
    assert bodies[0][:3000] == bodies[1][:3000] == b"x" * 3000
    assert len(ended) >= 2


@pytest.mark.slow
@ENGINES
def test_no_call_of_nginx_fails(own, tmp_path, engine):
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    if not shutil.which(program):
        pytest.skip("nginx is not installed; install it: apt-get install nginx-light")
    paths = " ".join(f"{each}_temp_path {tmp_path};" for each in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; pid {tmp_path}/pid; error_log stderr crit; events {{}} http {{ access_log off; {paths} "
        "keepalive_requests 50; server { listen 127.0.0.1:PORT http2; location / { return 200 '{\"ok\": true}'; } } }"
    )
    words = f"sed s/PORT/$1/ nginx.conf > of_port && exec {program} -c {tmp_path}/of_port -p {tmp_path}"
    file = own("http://127.0.0.1:{port}", http2=True, start=["sh", "-c", words, "nginx", "{port}"])
    for outstanding in (1, 30) if engine == "library" else (1,):
        case = Case(systems.adopt(file), "tcp", engine=engine, outstanding=outstanding, max_calls=210)
        ledger = measure(checked(case), 30.0, seed=1).ledger
        assert ledger["calls"] == 210 and not ledger["errors"]  # four times as many as a connection takes


@contextmanager
def encrypting(own, tmp_path, *names, name="localhost", asks=False, **changes):
    """Serve encrypted requests by a certificate; yield what writes a file for it."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names, **changes).configure_cert(context)
    me = authority.issue_cert("me")
    me.private_key_pem.write_to_path(str(tmp_path / "me.key"))
    me.cert_chain_pems[0].write_to_path(str(tmp_path / "me.pem"))
    if asks:
        context.verify_mode = ssl.CERT_REQUIRED
        authority.configure_trust(context)

    def behave(connection, _):
        with suppress(OSError), context.wrap_socket(connection, server_side=True) as encrypted:
            encrypted.settimeout(5)
            while encrypted.recv(1 << 16):
                encrypted.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{"ok": true}')

    with served(behave) as address:
        place = address.removeprefix("tcp://")
        yield lambda **more: own(f"https://{name}", **{"authority": "ca.pem", "connect_to": place} | more)


@ENGINES
def test_a_client_shows_its_certificate_and_connects_elsewhere_than_the_name_says(own, tmp_path, engine):
    with encrypting(own, tmp_path, "api.example.test", name="api.example.test", asks=True) as write:
        shown = {"certificate": "me.pem", "key": "me.key"}
        assert loaded(write(**shown), engine, calls=3) == (3, {})
        with pytest.raises(TransportError, match=r"asks for a certificate.*certificate: client\.pem"):
            loaded(write(), engine)


@ENGINES
@pytest.mark.parametrize(
    ("names", "changes", "authority", "fact"),
    [
        (["localhost"], {}, "", "authority: ca.pem"),
        (["other.example.test"], {}, "ca.pem", "must hold localhost as subjectAltName"),
        ([], {"common_name": "localhost"}, "ca.pem", "must hold localhost as subjectAltName"),
        (["localhost"], {"not_after": datetime.datetime(2020, 1, 1)}, "ca.pem", "expired.*valid now"),
    ],
)
def test_a_certificate_that_is_not_accepted_has_its_remedy(own, tmp_path, engine, names, changes, authority, fact):
    with encrypting(own, tmp_path, *names, **changes) as write, pytest.raises(TransportError, match=fact):
        loaded(write(authority=authority), engine)


def test_a_certificate_that_cannot_be_shown_is_refused(own, tmp_path):
    with encrypting(own, tmp_path, "localhost") as write:
        words = ["openssl", "pkey", "-in", "me.key", "-aes256", "-passout", "pass:x", "-out", "secret.key"]
        if shutil.which("openssl"):
            subprocess.run(words, cwd=tmp_path, check=True)
            with pytest.raises(SystemFileError, match=r"secret\.key has a password"):
                _service.System(write(certificate="me.pem", key="secret.key"))
        trustme.CA().issue_cert("other").private_key_pem.write_to_path(str(tmp_path / "other.key"))
        with pytest.raises(SystemFileError, match=r"other\.key is not the key of .*me\.pem"):
            _service.System(write(certificate="me.pem", key="other.key"))
        for more, fact in (
            ({"certificate": "absent.pem"}, "no absent.pem"),
            ({"connect_to": "192.0.2.1:443"}, "192.0.2.1 is not this machine"),
            ({"connect_to": "localhost"}, "HOST:PORT"),
        ):
            with pytest.raises(SystemFileError, match=fact):
                service_file.read(write(**more))


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_service_is_found_at_each_address_of_localhost(own, host):
    both = {"127.0.0.1": socket.socket(), "::1": socket.socket(socket.AF_INET6)}
    try:
        for address, one in both.items():  # at the port of either nobody else can listen
            one.bind((address, next(iter(both.values())).getsockname()[1]))
    except OSError:
        pytest.skip("this machine has no ::1")
    both[host].listen()
    described = service_file.read(own("http://localhost:{port}", start=["x", "{port}"], ready_s=5))
    endpoint = parse_address(f"tcp://localhost:{both[host].getsockname()[1]}")
    with both["127.0.0.1"], both["::1"], subprocess.Popen(["sleep", "60"]) as process:
        assert _service._ready_at(described, process, endpoint) == endpoint._replace(host=host)
        process.kill()
    assert 0 < _ports.free("localhost") < 65536


def test_a_start_waits_for_a_service_as_long_as_its_file_says(own, monkeypatch):
    monkeypatch.setattr(start, "READY_S", -9.0)
    words = "import sys, http.server as h; h.HTTPServer(('127.0.0.1', int(sys.argv[1])), h.SimpleHTTPRequestHandler)"
    file = own(
        "http://127.0.0.1:{port}",
        start=["python3", "-c", f"{words}.serve_forever()", "{port}"],
        requests=[ASKED | {"expect": {}}],
    )
    assert measure(checked(Case(systems.adopt(file), "tcp")), 0.1, seed=1).ledger["calls"]


@contextmanager
def answering(answer, asked):
    """Serve each request, without a body, by ``answer``; keep the heads; yield the address."""

    def behave(connection, _):
        while head := connection.recv(1 << 16):
            asked.append(head.decode())
            connection.sendall(answer)

    with served(behave) as address:
        yield address.removeprefix("tcp://")


OK = b'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{"ok": true}'


@pytest.mark.parametrize(
    ("host", "domain"), [("shop.example.test", "; Domain=example.test"), ("localhost", "; Domain=localhost"), ("", "")]
)
def test_cookies_belong_to_the_name_in_address_and_are_sent_back_as_they_came(own, host, domain):
    asked = []
    set_cookie = f'Set-Cookie: a="b,c d"; Path=/{domain}\r\nSet-Cookie: e=f,g@"h"\r\n'.encode()
    with answering(OK.replace(b"Content", set_cookie + b"Content", 1), asked) as place:
        file = own(f"http://{host or place}", connect_to=place, cookies=True)
        assert loaded(file, "library", calls=3) == (3, {})
    assert all(f"Host: {host or place}\r\n" in head for head in asked)
    assert "Cookie" not in asked[0] and all('Cookie: a="b,c d"; e=f,g@"h"\r\n' in head for head in asked[1:])


@ENGINES
def test_requests_have_only_the_headers_that_are_asked_for(own, engine):
    asked = []
    more = b"200 OK\r\nSet-Cookie: a=b\r\nLong: " + b"x" * 60_000
    with answering(OK.replace(b"200 OK", more), asked) as place:
        for name, headers in (("bare", {}), ("dressed", {"accept": "a", "user-agent": "b", "host": "shop"})):
            assert loaded(own(f"http://{place}", name, headers=headers), engine, calls=3) == (3, {})
    assert set(asked[:4]) == {f"GET / HTTP/1.1\r\nHost: {place}\r\n\r\n"}
    dressed = {"GET / HTTP/1.1", "accept: a", "user-agent: b", "host: shop", ""}
    assert all(set(head.replace("Host:", "host:").splitlines()) == dressed for head in asked[4:])


def test_why_a_caller_cannot_log_in_again_is_said_with_the_failure_before(own):
    logins = iter([b"200 OK", b"429 Too Many Requests"])

    def behave(connection, _):
        for _ in range(9):
            head = connection.recv(1 << 16)
            connection.sendall(OK.replace(b"200 OK", next(logins) if b"/login" in head else b"200 OK"))

    with served(behave) as address:
        login = {"name": "login", "once": True, "http": {"path": "/login"}, "save": {"ok": "$.ok"}}
        file = own(address, requests=[login, ASKED], headers={"X-Ok": "{ok}"})
        with pytest.raises(TransportError, match=r"it had no answer.*again: login .* status is 429") as failed:
            loaded(file, "library")
    assert failed.value.kind == "read"


@pytest.mark.parametrize("path", ["/", "/{new}"])
@pytest.mark.parametrize("fields", [b"Content-Length: 0\r\nConnection: close", b"Connection: close"])
def test_a_server_that_ends_idle_connections_with_a_status_ends_no_open_load(own, path, fields):
    ended = []

    def behave(connection, _):
        connection.settimeout(0.05)
        try:
            while connection.recv(1 << 16):
                connection.sendall(OK.replace(b"Content", b"Content-Length: 12\r\nContent", 1))
        except TimeoutError:
            ended.append(connection.sendall(b"HTTP/1.1 408 Request Timeout\r\n" + fields + b"\r\n\r\n"))

    with served(behave) as address:
        more = {"values": {"new": {"unique": "number"}}} if path != "/" else {}
        file = own(address, requests=[ASKED | {"http": {"path": path}}], **more)
        calls, failed = loaded(file, "wire", load="open", offered_per_s=8.0, window_s=1.0)
    assert calls and ended and calls + sum(failed.values()) <= 8


def test_a_start_asks_whether_a_service_is_ready_as_it_asks_for_all_else(own):
    asked = []

    def behave(connection, _):
        asked.append(connection.recv(1 << 16).decode())
        time.sleep(2.2)
        connection.sendall(OK)

    headers = {"Authorization": "Bearer {key}", "X-Session": "{ok}"}
    requests = [ASKED | {"save": {"ok": "$.ok"}}]
    more = {"values": {"key": ["k"]}, "headers": headers, "requests": requests, "start": ["x", "{port}"]}
    described = service_file.read(own("http://127.0.0.1:{port}", ready="/a b", ready_s=30, **more))
    with served(behave) as address, subprocess.Popen(["sleep", "60"]) as process:
        _service._ready_at(described, process, parse_address(address))
        process.kill()
    (head,) = filter(None, asked)
    assert head.startswith("GET /a%20b HTTP/1.1") and "Authorization: Bearer k" in head and "X-Session" not in head
