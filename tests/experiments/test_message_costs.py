"""A call is divided into codec and everything else, exactly where both are known."""

import json

import numpy as np
import pytest
from handmade import handmade

from bench.analysis import codec_times
from bench.experiments import messages
from bench.grammar import P50, over_starts
from bench.grammar.experiment import experiment
from bench.plan.case import Case

KNOWN = {
    "request_encode_ns": 10_000, "request_decode_ns": 20_000, "reply_encode_ns": 30_000, "reply_decode_ns": 40_000,
    "verify_ns": 1000, "encoded_request_bytes": 150.0, "encoded_reply_bytes": 170.0,
}  # fmt: skip
SIZES = (200, 2000, 20_000)
NAMES = (P50, messages.IN_CLIENT, messages.IN_SERVER, messages.SHARE)


def message_run(rtt_us=(2000, 400, 125, 150), **options):
    """Return a run of one carrier: json at three sizes and orjson at the middle one; the codec takes 100 us in all."""
    cases = [Case("zeromq", "tcp", size, {"codec": "json"}, message="items") for size in SIZES]
    cases.append(Case("zeromq", "tcp", SIZES[1], {"codec": "orjson"}, message="items"))
    return handmade(cases, list(rtt_us), calls=200, notebook="messages", **KNOWN, **options)


def test_a_call_is_divided_by_the_codecs_four_times():
    run = message_run()
    rtt, client, server, share = (over_starts(run, 1, name) for name in NAMES)
    assert client.middle == 50.0 and server.middle == 50.0
    assert rtt.middle == pytest.approx(400, rel=0.06)
    assert share.middle == pytest.approx(100 * 100 / rtt.middle, rel=1e-3) and share.low < share.middle < share.high
    assert codec_times.rest_us(run, 1) == pytest.approx(rtt.middle - 100)


def test_the_share_crosses_a_level_between_two_sizes():
    run = message_run(rtt_us=(2000, 400, 125, 150))  # shares of 5, 25 and 80 %
    shares = [over_starts(run, case, messages.SHARE).middle for case in (0, 1, 2)]
    for level, place in ((10, 0), (50, 1)):
        part = (level - shares[place]) / (shares[place + 1] - shares[place])
        wanted = SIZES[place] * (SIZES[place + 1] / SIZES[place]) ** part
        assert codec_times.crossing_bytes(run, (0, 1, 2), level) == pytest.approx(wanted)
    assert np.isnan(codec_times.crossing_bytes(run, (0, 1, 2), 90))


def plan(**parameters):
    defaults = {"system": ["sockets", "grpc_sync"], "codec": ["json", "protobuf"], "profile": "smoke"}
    return experiment("messages").plan(**defaults | parameters)


def test_a_message_of_the_users_own_has_one_size_and_leaves_out_what_cannot_carry_it(tmp_path):
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps({"who": "me", "tags": ["a", "b"]}))
    made = plan(message=str(mine))
    assert {case.payload_bytes for case in made.cases if case.message == "mine.json"} == {
        len('{"who":"me","tags":["a","b"]}')
    }
    assert "protobuf" in made.absent["zeromq protobuf"]
    assert {case.options["codec"] for case in made.cases if case.message == "mine.json"} == {"json"}
