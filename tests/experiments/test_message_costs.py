"""A call is divided into codec and everything else, exactly where both are known."""

import json

import numpy as np
import pytest
from handmade import handmade, reference

from bench.analysis import codec_times
from bench.apps.teaching import questions
from bench.errors import UsageError
from bench.experiments import messages
from bench.grammar import P50, over_starts
from bench.grammar.claim import CONTRADICTED, HOLDS, UNDECIDED
from bench.grammar.experiment import experiment
from bench.plan.case import Case
from bench.text import quantity

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


def test_a_codec_that_takes_longer_alone_than_the_call_leaves_nothing():
    assert codec_times.rest_us(message_run(rtt_us=(50, 50, 50, 50)), 0) == 0


def test_the_share_crosses_a_level_between_two_sizes():
    run = message_run(rtt_us=(2000, 400, 125, 150))  # shares of 5, 25 and 80 %
    shares = [over_starts(run, case, messages.SHARE).middle for case in (0, 1, 2)]
    for level, place in ((10, 0), (50, 1)):
        part = (level - shares[place]) / (shares[place + 1] - shares[place])
        wanted = SIZES[place] * (SIZES[place + 1] / SIZES[place]) ** part
        assert codec_times.crossing_bytes(run, (0, 1, 2), level) == pytest.approx(wanted)
        assert messages.sizes(run).loc["json", f"{level} % of the call at"] == f"about {quantity(wanted, 'B')}"
    assert np.isnan(codec_times.crossing_bytes(run, (0, 1, 2), 90))


def test_the_fastest_codec_comes_first_and_one_size_is_that_of_all():
    run = message_run()
    assert [messages.codec(run.case(case)) for case in messages.by_codec(run)] == ["orjson", "json"]
    assert messages.carrier(run) == "zeromq" and messages.middle(run) == 2000
    (one,) = experiment("messages").ratios(run)
    assert one.value == pytest.approx(400 / 150, rel=1e-4) and one.words in experiment("messages").answer(run)


@pytest.mark.parametrize(("rtt_us", "word"), [([100, 200], HOLDS), ([200, 100], CONTRADICTED), ([100, 100], UNDECIDED)])
def test_the_message_is_claimed_to_take_longer_than_bytes(rtt_us, word):
    cases = [Case("sockets", "tcp", 2000), Case("sockets", "tcp", 2000, {"codec": "json"}, message="items")]
    (claim,) = messages.claims
    assert claim.verdict(handmade(cases, rtt_us, calls=200, notebook="messages", **KNOWN)) == word


def test_the_tables_of_a_known_run_show_the_four_times():
    row = messages.messages(message_run()).iloc[1]
    assert row["client: encode + decode"] == "10.0 µs + 40.0 µs"
    assert row["server: decode + encode"] == "20.0 µs + 30.0 µs"
    assert row["encoded [B]"] == "150 + 170"


def test_the_score_of_the_reference_run_is_the_share_in_its_table():
    run = reference("messages")
    share = questions.measured(run, questions.find("messages q1"))
    row = messages.messages(run).loc["zeromq tcp json"].query("`message [B as JSON]` == 2000")
    assert row["codec's time alone / RTT [%, range over starts]"].to_list() == [
        "{:.0f} [{:.0f}, {:.0f}]".format(*share)
    ]


def plan(**parameters):
    defaults = {"system": ["sockets", "grpc_sync"], "codec": ["json", "protobuf"], "profile": "smoke"}
    return experiment("messages").plan(**defaults | parameters)


def test_each_system_is_measured_with_bytes_and_the_carrier_at_every_size():
    planned_cases = [
        (case.system, case.message, case.payload_bytes, case.options.get("codec")) for case in plan().cases
    ]
    middle = [
        ("sockets", "bytes", 2000, None), ("sockets", "items", 2000, "json"),
        ("grpc_sync", "bytes", 2000, None), ("grpc_sync", "items", 2000, "protobuf"),
    ]  # fmt: skip
    sweep = [("zeromq", "items", size, codec) for codec in ("json", "protobuf") for size in SIZES]
    assert planned_cases == [*middle, *sweep, ("loopback", "bytes", 2000, None)]


def test_a_message_of_the_users_own_has_one_size_and_leaves_out_what_cannot_carry_it(tmp_path):
    mine = tmp_path / "mine.json"
    mine.write_text(json.dumps({"who": "me", "tags": ["a", "b"]}))
    made = plan(message=str(mine))
    assert {case.payload_bytes for case in made.cases if case.message == "mine.json"} == {
        len('{"who":"me","tags":["a","b"]}')
    }
    assert "protobuf" in made.absent["zeromq protobuf"]
    assert {case.options["codec"] for case in made.cases if case.message == "mine.json"} == {"json"}


def test_a_message_without_a_codec_cannot_be_planned():
    with pytest.raises(UsageError, match=r"^message bytes .*record, items, tree, numbers"):
        plan(message="bytes")
