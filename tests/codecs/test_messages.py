"""Messages: sizes, what is in them, the application's answers, and files of the user's."""

import json
import random
import re

import pytest

from bench.codecs import message_types
from bench.codecs.message_types import numbers, tree
from bench.errors import UsageError


@pytest.mark.parametrize("kind", ["record", "items", "tree"])
@pytest.mark.parametrize("wanted", [500, 2000, 20_000, 200_000])
def test_sizes_follow_the_payload_by_whole_items(kind, wanted):
    sizes = [len(message_types.compact(one).encode()) for one in message_types.make(kind, wanted, seed=3)]
    assert abs(sum(sizes) / len(sizes) - wanted) < 0.2 * wanted


def test_numbers_count_eight_bytes_each():
    assert len(numbers.make(8000, random.Random(1))["numbers"]) == 1000
    assert len(numbers.make(1, random.Random(1))["numbers"]) == 1


@pytest.mark.parametrize("kind", message_types.KINDS)
def test_messages_differ_and_a_seed_repeats_them(kind):
    some = message_types.make(kind, 1000, seed=1)
    assert len(some) == 16 and all(one != some[0] for one in some[1:])
    assert some == message_types.make(kind, 1000, seed=1) != message_types.make(kind, 1000, seed=2)
    assert len(message_types.make(kind, 5_000_000, seed=1)) == 2
    assert message_types.first(kind, 1000) == some[0]


def nodes(node):
    return [node, *(below for child in node.get("children", ()) for below in nodes(child))]


def depth(node):
    return 1 + max(map(depth, node.get("children", ())), default=0)


def test_a_tree_has_four_levels_optional_fields_and_text_beyond_ascii():
    (one,) = tree.make(tree.EXAMPLE_BYTES, random.Random(1))["trees"]
    tree_nodes = nodes(one)
    assert len(tree_nodes) == 85 and depth(one) == 4
    for optional in ("weight", "open"):
        assert 0 < sum(optional in node for node in tree_nodes) < 85
    assert any(not node["title"].isascii() for node in tree_nodes)


def test_an_exchange_equals_the_expected_reply_only():
    exchange = message_types.Exchange({"a": 1}, {"a": 2})
    assert exchange == {"a": 2}
    assert exchange != {"a": 1}
    assert re.search(r"\{'a': 3\}.*\{'a': 2\}", exchange.difference({"a": 3}))


def test_a_message_of_the_users_own_is_kept_as_compact_json():
    assert message_types.read_own(b' {"a": [1, "\xc3\xbc"]} ', "mine.json") == '{"a":[1,"ü"]}'
    assert message_types.make("mine.json", 1, 1, '{"a":1}') == [{"a": 1}, {"a": 1}]


@pytest.mark.parametrize(
    "text", [b"", b"\xff", b"[1]", b"{}", b'{"a": "\\ud800"}', json.dumps({"a": "x" * 100_000}).encode()], ids=range(6)
)
def test_a_file_that_is_no_message_is_refused(text):
    with pytest.raises(UsageError, match=r"mine\.json"):
        message_types.read_own(text, "mine.json")
