"""A call is divided into codec and everything else, exactly where both are known."""

import json

import numpy as np
import pytest
from handmade import handmade

from bench.errors import UsageError
from bench.experiments import registry, sentences, tables
from bench.experiments.messages import findings, text
from bench.plan.case import Case
from bench.text import quantity

KNOWN = {
    "request_encode_ns": 10_000, "request_decode_ns": 20_000, "reply_encode_ns": 30_000, "reply_decode_ns": 40_000,
    "verify_ns": 1000, "encoded_request_bytes": 150.0, "encoded_reply_bytes": 170.0,
}  # fmt: skip
SIZES = (200, 2000, 20_000)


def message_run(rtt_us=(2000, 400, 125, 150), **options):
    """Return a run of one carrier: json at three sizes and orjson at the middle one; the codec takes 100 us in all."""
    cases = [Case("zeromq", "tcp", size, {"codec": "json"}, message="items") for size in SIZES]
    cases.append(Case("zeromq", "tcp", SIZES[1], {"codec": "orjson"}, message="items"))
    return handmade(cases, list(rtt_us), calls=200, notebook="messages", **KNOWN, **options)


def test_a_call_is_divided_by_the_codecs_four_times():
    found = findings.split(message_run(), 1)
    assert found.client.middle == 50.0 and found.server.middle == 50.0
    assert found.rtt.middle == pytest.approx(400, rel=0.06)
    assert found.share.middle == pytest.approx(100 / found.rtt.middle, rel=1e-3)
    assert found.share.low < found.share.middle < found.share.high
    assert found.rest_us == pytest.approx(found.rtt.middle - 100)


def test_a_codec_that_takes_longer_alone_than_the_call_leaves_nothing():
    assert findings.split(message_run(rtt_us=(50, 50, 50, 50)), 0).rest_us == 0


def test_the_share_crosses_a_level_between_two_sizes():
    run = message_run(rtt_us=(2000, 400, 125, 150))  # shares of 5, 25 and 80 %
    cases = findings.sweeps(run)["json"]
    shares = [findings.split(run, case).share.middle for case in cases]
    for level, place in ((0.1, 0), (0.5, 1)):
        part = (level - shares[place]) / (shares[place + 1] - shares[place])
        wanted = SIZES[place] * (SIZES[place + 1] / SIZES[place]) ** part
        assert findings.crossing_bytes(run, cases, level) == pytest.approx(wanted)
    assert np.isnan(findings.crossing_bytes(run, cases, 0.9))


def test_the_fastest_codec_comes_first_and_the_sizes_go_up():
    run = message_run()
    assert [findings.codec(run, case) for case in findings.by_codec(run)] == ["orjson", "json"]
    assert [run.case(case).payload_bytes for case in findings.sweeps(run)["json"]] == list(SIZES)
    assert findings.carrier(run) == "zeromq" and findings.middle(run) == 2000
    (one,) = findings.ratios(run)
    assert one.value == pytest.approx(400 / 150, rel=1e-4)


def test_the_sentences_have_the_codecs_their_shares_and_their_sizes():
    run = message_run()
    said = sentences.conclusion(run)
    assert all(fact in said for fact in ("**zeromq, json**", "**orjson**", "24%", "320 B"))
    crossings = [findings.crossing_bytes(run, findings.sweeps(run)["json"], level) for level in (0.1, 0.5)]
    assert all(quantity(at, "B") in text.sizes(run) for at in crossings)


def test_the_table_shows_the_four_times():
    row = tables.messages(message_run()).iloc[1]
    assert row["client: encode + decode"] == "10.0 µs + 40.0 µs"
    assert row["server: decode + encode"] == "20.0 µs + 30.0 µs"
    assert row["encoded [B]"] == "150 + 170"


def plan(**parameters):
    given = {"system": ["sockets", "grpc_sync"], "codec": ["json", "protobuf"], "profile": "smoke"}
    return registry.plan("messages", **given | parameters)


def test_each_system_is_measured_with_bytes_and_the_carrier_at_every_size():
    found = [(case.system, case.message, case.payload_bytes, case.options.get("codec")) for case in plan().cases]
    middle = [
        ("sockets", "bytes", 2000, None), ("sockets", "items", 2000, "json"),
        ("grpc_sync", "bytes", 2000, None), ("grpc_sync", "items", 2000, "protobuf"),
    ]  # fmt: skip
    sweep = [("zeromq", "items", size, codec) for codec in ("json", "protobuf") for size in SIZES]
    assert found == [*middle, *sweep, ("loopback", "bytes", 2000, None)]


def test_a_message_of_the_users_own_has_one_size_and_leaves_out_what_cannot_carry_it(tmp_path):
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps({"who": "me", "tags": ["a", "b"]}))
    made = plan(message=str(mine))
    assert {case.payload_bytes for case in made.cases if case.message == "mine.json"} == {
        len('{"who":"me","tags":["a","b"]}')
    }
    assert "protobuf" in made.absent["zeromq protobuf"]
    assert {case.options["codec"] for case in made.cases if case.message == "mine.json"} == {"json"}


@pytest.mark.parametrize(
    ("parameters", "wanted"),
    [
        ({"message": "bytes"}, "^message bytes .*record, items, tree, numbers"),
        ({"carrier": "oracle"}, "^oracle .*zeromq"),
    ],
)
def test_what_cannot_be_planned_is_refused(parameters, wanted):
    with pytest.raises(UsageError, match=wanted):
        plan(**parameters)
