"""The oracle's front for server-sent events: what comes over real sockets, when it was sent, and what is recorded."""

import json
import socket

import numpy as np
import pytest
from certifying import connect

from bench.systems._service_streams import Events
from certify.protocol_front import Front
from certify.service import Service

pytestmark = [
    pytest.mark.slow,  # processes are its subject
    pytest.mark.usefixtures("c_compiler"),
]
MS = 1_000_000  # ns
STREAM = Service(mean_us=20_000, workers=0, events=4, gap_us=10_000)
POST = b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"
GET = b"GET /any HTTP/1.1\r\nHost: a\r\n\r\n"


def started(service):
    return Front(service, protocol="sse")


def head_of(file):
    """Return the status line and the headers of an answer."""
    return [line.strip().decode() for line in iter(file.readline, b"\r\n")]


def chunks(file):
    """Yield the chunks of a body up to the last one, which is empty and not yielded."""
    while size := int(file.readline(), 16):
        yield file.read(size)
        assert file.readline() == b"\r\n"
    assert file.readline() == b"\r\n"


def tokens(file):
    """Return the contents of an answer's events, and the data of what is no event in the last chunk."""
    events = Events()
    *contents, last = [data for chunk in chunks(file) for data in events.feed(chunk)]
    return [json.loads(data) for data in contents], last


def test_a_request_is_answered_by_chat_completion_chunks_and_their_end():
    with started(STREAM) as front:
        with connect(front) as connection:
            connection.sendall(POST[:30])
            connection.sendall(POST[30:] + GET)
            file = connection.makefile("rb")
            for _ in range(2):
                assert {"HTTP/1.1 200 OK", "Content-Type: text/event-stream"} <= set(head_of(file))
                contents, last = tokens(file)
                assert [one["choices"][0]["delta"]["content"] for one in contents] == [" a"] * 4 and last == b"[DONE]"
                assert contents[-1]["usage"]["completion_tokens"] == 4 and contents[-1]["choices"][0]["finish_reason"]
        requests = front.end().requests
    assert np.all(requests["due"] - requests["arrived"] >= 20 * MS)
    assert requests["due"][0] == requests["arrived"][0] + 20 * MS
    assert requests["due"][1] == requests["due"][0] + 30 * MS  # the second answer waits for the end of the first


def test_first_and_last_event_are_recorded_as_they_depart():
    with started(STREAM) as front:
        with connect(front) as connection:
            connection.sendall(GET)
            file = connection.makefile("rb")
            head_of(file)
            assert len(list(chunks(file))) == 4
        (request,) = front.end().answered
    assert request["due"] <= request["first"] <= request["departed"] - 20 * MS  # the first one may be late
    assert request["departed"] >= request["due"] + 30 * MS
    last_late, first_late = request["departed"] - request["due"] - 30 * MS, request["first"] - request["due"]
    assert request["late"] >= max(first_late, last_late)


@pytest.mark.parametrize("fault", ["status", "body", "close"])
def test_faults_of_streams(fault):
    with started(Service(mean_us=100, fault=fault, every=2, events=3, gap_us=100)) as front:
        with connect(front) as connection:
            connection.sendall(GET * 3)
            file = connection.makefile("rb")
            head_of(file)
            assert len(tokens(file)[0]) == 3
            (status, *_) = head_of(file)
            assert status.split()[1] == ("500" if fault == "status" else "200")
            if fault == "body":
                assert tokens(file)[0][0]["choices"][0]["delta"]["content"] == " b"
            if fault == "close":  # behind the first event
                assert file.read(int(file.readline(), 16)).startswith(b"data: {") and file.read() == b"\r\n"
            else:
                head_of(file)
                assert len(tokens(file)[0]) == 3
        record = front.end()
    assert record.faults == 1 and len(record.answered) == (2 if fault == "close" else 3)


def test_a_client_that_closes_in_the_middle_of_a_stream_is_recorded_and_disturbs_no_other():
    with started(STREAM) as front:
        with connect(front) as leaving, connect(front) as staying:
            leaving.sendall(GET)
            head_of(leaving.makefile("rb"))
            staying.sendall(GET)
            leaving.shutdown(socket.SHUT_RDWR)
            file = staying.makefile("rb")
            head_of(file)
            assert len(tokens(file)[0]) == 4
        record = front.end()
    assert record.requests["departed"].tolist()[0] == -1 and record.requests["first"][0] > 0
    assert len(record.answered) == 1 and record.connections["closed"][0]
