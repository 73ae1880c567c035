"""XML-RPC in Python, over HTTP and as a packet stream: what is malformed or too large is refused, and nothing hangs."""

import itertools
import queue
import socket
import threading
import xmlrpc.client
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from specs import calling
from wire_servers import load_of

from bench import systems
from bench.contract import Binding, parse_address
from bench.errors import TransportError
from bench.systems import _connections, _xmlrpc, sockets, xmlrpc_pstream
from bench.systems.xmlrpc_pstream import Unpacker, pack

BOTH = ("xmlrpc_stdlib", "xmlrpc_pstream")
LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'
    "<methodCall><methodName>echo</methodName><params><param><value><string>&b;</string></value></param></params>"
    "</methodCall>"
)


@pytest.fixture(params=[(name, transport) for name in BOTH for transport in ("ipc", "tcp")], ids="-".join)
def served(request, private_parent):
    """Return a system's name and the address where a thread serves it."""
    name, transport = request.param
    module = systems.load(name)
    return name, begin(module, module.Options(), Binding(transport, str(private_parent)))


def begin(module, options, binding, answer=bytes):
    """Serve in a thread; return the address."""
    announced = queue.SimpleQueue()
    service = SimpleNamespace(announce=announced.put, answer=answer, is_streaming=False)
    threading.Thread(target=module.serve, args=(binding, options, service), daemon=True).start()
    return announced.get(timeout=5)


def raw(address):
    """Return a bare connection that gives up after 5 s."""
    connection = _connections.connect(parse_address(address))
    connection.settimeout(5)
    return connection


def post(address, document):
    """Return the reply to a document that is sent by HTTP as it is."""
    with raw(address) as connection:
        connection.sendall(b"POST /RPC2 HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s" % (len(document), document))
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_a_method_that_is_not_there_is_a_fault(served, monkeypatch):
    monkeypatch.setattr(_xmlrpc, "METHOD", "another")
    with calling(*served) as call, pytest.raises(TransportError, match=r"fault 1: .*another"):
        monkeypatch.setattr(_xmlrpc, "METHOD", "echo")
        monkeypatch.setattr(_xmlrpc, "request", lambda payload: xmlrpc.client.dumps((payload,), "another").encode())
        call(b"x")


def test_an_address_of_version_6_is_served():
    address = begin(sockets, sockets.Options(), Binding("tcp", "", "tcp://[::1]:0"))
    with calling("sockets", address) as call:
        assert address.startswith("tcp://[::1]:") and call(b"hello") == b"hello"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused_whatever_the_encoding(served, encoding):
    (name, address), document = served, LAUGHS.encode(encoding)
    with pytest.raises(TransportError, match="DOCTYPE"):
        _xmlrpc.read(document)
    if name == "xmlrpc_stdlib":
        assert b"DOCTYPE" in post(address, document)
    else:
        with raw(address) as connection:
            connection.sendall(pack(document))
            assert connection.recv(100) == b""
    with calling(name, address) as call:  # and the server is still there
        assert call(b"hello") == b"hello"


@given(st.binary(max_size=80) | st.text(alphabet='<>/"&; methodCalNprsvu?x=', max_size=80).map(str.encode))
@example(b"<methodCall><struct></array></methodCall>")
@example(b"<params></params>")
def test_any_document_is_a_call_a_reply_or_a_transport_error(document):
    for use in (_xmlrpc.result, lambda text: _xmlrpc.response(text, bytes)):
        try:
            use(document)
        except TransportError as error:
            assert str(error)


# Packet stream


@pytest.mark.parametrize(
    "bad",
    [b"GET / HTTP/1.1\r\n\r\n", b"\x1bPKT\x1bPKT", b"\x1bEND", b"\x1bBAD", b"\x1bX", pack(b"<no"), pack(b""), b"\0"],
)
def test_a_packet_server_closes_on_what_is_malformed(bad):
    with raw(begin(xmlrpc_pstream, xmlrpc_pstream.Options(), Binding("tcp", ""))) as connection:
        connection.sendall(bad)
        assert connection.recv(100) == b""


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (b"", "closed"),
        (b"\x1bPKT<?xml", "closed"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "packet"),
        (b"\x1bNOP\x1bEND", "b'END'"),
        (pack(b"no xml"), "ExpatError"),
        (pack(LAUGHS.encode()), "DOCTYPE"),
        (pack(xmlrpc.client.dumps((1, 2), "two").encode()), "2 values"),
        (pack(xmlrpc.client.dumps(xmlrpc.client.Fault(7, "no luck")).encode()), "fault 7: no luck"),
        (pack(b"") * 2, "one reply"),
    ],
)
def test_a_packet_client_says_what_is_wrong_with_an_answer(answer, text):
    listener = socket.create_server(("127.0.0.1", 0))
    with listener, calling("xmlrpc_pstream", f"tcp://127.0.0.1:{listener.getsockname()[1]}") as call:
        server, _ = listener.accept()
        with server, pytest.raises(TransportError, match=text):
            server.sendall(answer)
            server.shutdown(socket.SHUT_WR)
            call(b"x")


def test_the_wire_finds_each_packet():
    address = begin(xmlrpc_pstream, xmlrpc_pstream.Options(), Binding("tcp", ""))
    _, report, _ = load_of(address, xmlrpc_pstream, payload_bytes=70_000)
    assert (report.calls, report.errors) == (20, 0)


def fed(stream, cuts, **options):
    """Return the packets in a stream that comes in pieces."""
    unpacker, edges = Unpacker(**options), [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    packets = [packet for a, b in itertools.pairwise(edges) for packet in unpacker.feed(stream[a:b])]
    return packets, unpacker.between


CONTENT = st.binary(max_size=40) | st.text(alphabet="\x1bPKTENDSCO", max_size=40).map(str.encode)
CUTS = st.lists(st.integers(0, 400), max_size=8)


@given(st.lists(CONTENT, max_size=5), CUTS, st.booleans())
def test_packets_come_whole_however_the_stream_is_cut(documents, cuts, with_noise):
    stream = (b"\x1bNOP" if with_noise else b"").join(map(pack, documents))
    assert fed(stream, cuts) == (documents, True)


@given(st.binary(max_size=60) | st.text(alphabet="\x1bPKTENDSCO", max_size=60).map(str.encode), CUTS)
@example(b"\x1bPKT\x1b", [])
def test_any_bytes_are_packets_or_an_error_and_cuts_make_no_difference(stream, cuts):
    def outcome(places):
        try:
            return fed(stream, places)
        except TransportError:
            return TransportError

    assert outcome(cuts) == outcome([])
    if outcome([]) is not TransportError:
        packets, whole = outcome([])
        assert not whole or stream.replace(b"\x1bNOP", b"") == b"".join(map(pack, packets))


@given(CONTENT.filter(bool), CUTS)
def test_a_truncated_packet_is_noticed(document, cuts):
    packet = pack(document)
    for end in range(1, len(packet)):
        assert fed(packet[:end], cuts) == ([], False)


@given(st.integers(0, 60), CUTS)
def test_what_is_larger_than_allowed_is_refused_before_it_is_held(size, cuts):
    if size <= 30:
        assert fed(pack(bytes(size)), cuts, most_bytes=30) == ([bytes(size)], True)
    else:
        with pytest.raises(TransportError, match="30 bytes"):
            fed(pack(bytes(size)), cuts, most_bytes=30)
