"""Codecs: every codec carries every kind that it has types for, and refuses the rest."""

import math
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import codecs
from bench.codecs import message_types
from bench.errors import NotInstalledError, TransportError, UsageError

PAIRS = [(name, kind) for kind in message_types.KINDS for name in codecs.names() if (name, kind) != ("arrow", "tree")]
UNTYPED = ("json", "orjson", "msgpack", "cbor", "pickle", "msgspec_json", "msgspec_msgpack")


def leaves(value):
    """Yield the values of which a message consists, of a dictionary or of an instance of a declared Python type."""
    if hasattr(value, "__struct_fields__"):
        value = {name: getattr(value, name) for name in value.__struct_fields__}
    if type(value) not in (dict, list):
        yield value
        return
    for each in value.values() if type(value) is dict else value:
        yield from leaves(each)


@pytest.mark.parametrize(("name", "kind"), PAIRS)
def test_a_server_answers_what_the_client_expects_in_values_that_are_pythons_own(name, kind):
    coder = codecs.load(name, kind)
    first, second = message_types.make(kind, 2000, seed=1)[:2]
    exchange = coder.exchange(first)
    reply = coder.decode(codecs.around(coder)(coder.encode(exchange.request)))
    assert exchange == reply and coder.exchange(second) != reply
    assert coder.build is coder.read is message_types.same
    for value in (exchange.request, coder.decode(coder.encode(exchange.request)), exchange.reply):
        assert {type(each) for each in leaves(value)} <= {str, int, float, bool, type(None)}
    codecs.refuse_what_cannot_be_carried(coder, name, first, kind)


def plain(value):
    """Return what a codec's object holds as dictionaries and lists."""
    if hasattr(value, "__struct_fields__"):
        import msgspec

        return msgspec.to_builtins(value)
    return value


@pytest.mark.parametrize("name", codecs.names())
def test_totals_are_equal_in_every_codec(name):
    coder = codecs.load(name, "items")
    message = message_types.make("items", 1000, seed=5)[0]
    wanted = [item["price"] * item["quantity"] * message["m"] for item in message["items"]]
    reply = plain(coder.decode(codecs.around(coder)(coder.encode(coder.natural(message)))))
    assert [int(item["total"]) for item in reply["items"]] == wanted
    assert "total" not in message["items"][0]  # the message itself is left as it is


@pytest.mark.parametrize("name", ["protobuf", "arrow"])
def test_codecs_with_declared_types_refuse_a_message_of_the_users_own(name):
    with pytest.raises(UsageError, match=f"codec {name} "):
        codecs.load(name, "")


@pytest.mark.parametrize("name", UNTYPED)
def test_a_message_of_the_users_own_is_echoed(name):
    coder = codecs.load(name, "mine.json")
    message = {"text": "ü", "list": [1, 2.5, None, True], "deep": {"a": {"b": []}}}
    assert coder.decode(codecs.around(coder)(coder.encode(message))) == message


@pytest.mark.parametrize(
    ("name", "value"),
    [("json", math.nan), ("json", b"raw"), ("orjson", b"raw"), ("orjson", 2**70), ("orjson", math.nan)],
)
def test_what_a_codec_cannot_carry_or_alters_is_refused_with_its_name(name, value):
    with pytest.raises(UsageError, match=f"codec {name} .*'mine'"):
        codecs.refuse_what_cannot_be_carried(codecs.load(name, ""), name, {"a": value}, "mine")


def test_an_unknown_codec_is_named_with_those_that_there_are():
    with pytest.raises(UsageError, match="msgpack"):
        codecs.load("msgpakc", "items")


def test_a_codec_that_is_not_installed_names_its_package(monkeypatch):
    monkeypatch.delitem(sys.modules, "bench.codecs.cbor", raising=False)
    monkeypatch.setitem(sys.modules, "cbor2", None)
    with pytest.raises(NotInstalledError, match=r"python -m pip install cbor2$"):
        codecs.load("cbor", "items")


@pytest.mark.parametrize("name", [name for name in codecs.names() if name != "pickle"])  # which runs what it is sent
@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=300))
def test_fuzzed_requests_are_answered_or_refused_in_one_sentence(name, data):
    respond = codecs.around(codecs.load(name, "items"))
    try:
        assert isinstance(respond(data), bytes)
    except TransportError as error:
        assert "\n" not in str(error)
