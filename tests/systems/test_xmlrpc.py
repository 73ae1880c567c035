"""XML-RPC in Python: every option does what it says, what is malformed is refused, and nothing hangs."""

import queue
import threading
import xmlrpc.client
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bench import systems
from bench.child.caller import translating
from bench.contract import Binding, parse_address
from bench.errors import TransportError
from bench.systems import _connections, _xmlrpc, xmlrpc_stdlib
from bench.systems.xmlrpc_pstream import pack

BOTH = ("xmlrpc_stdlib", "xmlrpc_pstream")
LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'
    "<methodCall><methodName>echo</methodName><params><param><value><string>&b;</string></value></param></params>"
    "</methodCall>"
)


@pytest.fixture(params=[(name, transport) for name in BOTH for transport in ("ipc", "tcp")], ids="-".join)
def served(request, private_parent):
    """Return a system and the address where a thread serves it."""
    name, transport = request.param
    return (module := systems.load(name)), begin(module, module.Options(), Binding(transport, str(private_parent)))


def begin(module, options, binding, answer=bytes):
    """Serve in a thread; return the address."""
    announced = queue.SimpleQueue()
    service = SimpleNamespace(announce=announced.put, answer=answer, is_streaming=False)
    threading.Thread(target=module.serve, args=(binding, options, service), daemon=True).start()
    return announced.get(timeout=5)


def client_of(module, address, **options):
    """Return a connected client."""
    client = module.Client(address, module.Options(**options))
    client.open()
    return client


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
    module, address = served
    monkeypatch.setattr(_xmlrpc, "METHOD", "another")
    asked = client_of(module, address)
    monkeypatch.setattr(_xmlrpc, "METHOD", "echo")
    monkeypatch.setattr(_xmlrpc, "request", lambda payload: xmlrpc.client.dumps((payload,), "another").encode())
    with pytest.raises(TransportError, match=r"fault 1: .*another"), translating(asked):
        asked.call(b"x")
    asked.close()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_are_refused_whatever_the_encoding(served, encoding):
    (module, address), document = served, LAUGHS.encode(encoding)
    with pytest.raises(TransportError, match="DOCTYPE"):
        _xmlrpc.read(document)
    if module is xmlrpc_stdlib:
        assert b"DOCTYPE" in post(address, document)
    else:
        with raw(address) as connection:
            connection.sendall(pack(document))
            assert connection.recv(100) == b""
    client = client_of(module, address)  # and the server is still there
    assert client.call(b"hello") == b"hello"
    client.close()


@given(st.binary(max_size=80) | st.text(alphabet='<>/"&; methodCalNprsvu?x=', max_size=80).map(str.encode))
@example(b"<methodCall><struct></array></methodCall>")
@example(b"<params></params>")
def test_any_document_is_a_call_a_reply_or_a_transport_error(document):
    for use in (_xmlrpc.result, lambda text: _xmlrpc.response(text, bytes)):
        try:
            use(document)
        except TransportError as error:
            assert str(error)
