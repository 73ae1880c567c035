"""The engine ``wire`` as a factor: what it carries."""

import numpy as np
import pytest
from wire_servers import answering, echo, grpc_echo, served

from bench.child import timed_loops
from bench.errors import SystemFailedError
from bench.measurement.start import measure
from bench.measurement.validation.support import checked
from bench.plan.case import Case


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sockets", "http_aiohttp", "grpc_aio"])
def test_an_open_load_is_dealt_to_processes_and_connections(name):
    case = Case(
        name, "ipc", 100, engine="wire", load="open", offered_per_s=40, arrivals="poisson", clients=2, callers=3
    )
    measured = measure(case, 1.0, 1)
    ledger, dues = measured.ledger, timed_loops.schedule(40, 1.0, "poisson", 1)
    sent = np.sort(np.concatenate([times[2] for times in measured.calls])).tolist()
    assert ledger["scheduled"] == len(dues) > 20 and ledger["errors"] == 0
    assert ledger["calls"] == ledger["server_calls"] == len(sent) == len(set(sent)) > 10
    assert set(sent) <= set(dues)  # on a busy machine the last ones may come too late to be sent


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "codec"),
    [("sockets", "json"), ("http_stdlib", "msgpack"), ("grpc_sync", "protobuf"), ("grpc_aio", "json")],
)
def test_messages_of_each_codec_are_decoded_to_be_verified(name, codec):
    case = Case(name, "tcp", 500, {"codec": codec}, engine="wire", callers=2, max_calls=20, message="items")
    ledger = measure(checked(case), 20, 1).ledger
    assert ledger["calls"] == ledger["server_calls"] == 20 and ledger["errors"] == 0
    assert ledger["request_encode_ns"] > 0 and ledger["encoded_reply_bytes"] > ledger["encoded_request_bytes"] > 100


def test_a_message_that_is_only_sent_back_is_a_wrong_answer():
    """Its bytes are what an echo would have to bring; decoded, the totals are not there."""
    settings = {"engine": "wire", "max_calls": 5, "message": "items"}
    for name in ("sockets", "grpc_aio"):
        with served(echo if name == "sockets" else answering(grpc_echo)) as address:
            case = checked(Case(name, "tcp", 500, target=address, **settings))
            with pytest.raises(SystemFailedError, match="request 0"):
                measure(case, 1.0, 1)
