"""The oracle's HTTP front: what it answers, when, and what it records."""

import contextlib
import itertools

import numpy as np
import pytest
from certifying import connect
from conftest import is_gone, wait_for
from specs import choices

from bench.errors import SystemFailedError
from bench.systems import oracle
from certify.protocol_front import SEED, Front
from certify.record import FAULTS, SECOND, Record
from certify.service import Service

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("c_compiler")]  # processes are its subject
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
QUICK = Service(mean_us=100)


def answers(connection, count):
    """Return that many answers: status line, headers and body of each."""
    file, replies = connection.makefile("rb"), []
    for _ in range(count):
        head = [line.strip().decode() for line in iter(file.readline, b"\r\n")]
        replies.append((head[0], head[1:], file.read(2).decode()))
    return replies


def exchange(front, data, count):
    with connect(front) as connection:
        connection.sendall(data)
        return answers(connection, count)


def rest(front, data):
    """Return all that comes until the front closes the connection."""
    with connect(front) as connection:
        connection.sendall(data)
        return connection.makefile("rb").read()


def test_any_method_path_and_body_is_answered_and_recorded():
    body = b"x" * 70_000
    post = b"PUT /some/path?a=1 HTTP/1.1\r\nhost: a\r\ncontent-LENGTH:  70000\r\n\r\n" + body
    with Front(QUICK) as front:
        with connect(front) as connection:
            for part in (post[:10], post[10:30], post[30:50_000], post[50_000:] + GET[:5], GET[5:]):
                connection.sendall(part)
            assert [(status, text) for status, _, text in answers(connection, 2)] == [("HTTP/1.1 200 OK", "ok")] * 2
        record = front.end()
    assert record.is_whole and len(record.connections) == 1
    assert len(record.answered) == 2 and set(record.requests["connection"]) == {0} and not record.faults
    assert np.all(record.requests["arrived"] < record.requests["due"])
    assert np.all(record.requests["due"] <= record.requests["departed"])
    assert np.all(record.connections["opened"] <= record.requests["arrived"][0])


def test_old_clients_and_those_that_leave():
    with Front(QUICK) as front:
        old = rest(front, b"GET / HTTP/1.0\r\n\r\n")
        last = rest(front, GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + GET)
        kept = exchange(front, b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n" * 2, 2)
        head = rest(front, b"HEAD / HTTP/1.1\r\nConnection: close\r\n\r\n")
        record = front.end()
    assert old.endswith(b"\r\n\r\nok") and last.count(b"200 OK") == 1
    assert all("Connection: keep-alive" in headers for _, headers, _ in kept)
    assert head.endswith(b"Content-Length: 2\r\nConnection: close\r\n\r\n")
    assert len(record.answered) == 5 and len(record.connections) == 4


def test_what_is_no_request_ends_its_connection_and_is_counted():
    with Front(QUICK) as front:
        for data in (b"no request\r\n\r\n", b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"G" * 20_000):
            with contextlib.suppress(ConnectionResetError):  # it may close before all was read
                assert rest(front, data) == b""
        record = front.end()
    assert record.refused == 3 and not len(record.requests)


@pytest.mark.parametrize("law", choices(oracle, "law"))
def test_one_server_takes_the_service_times_of_the_oracle_one_after_the_other(law):
    count = 40
    with Front(Service(law, 700)) as front:
        exchange(front, GET * count, count)
        requests = front.end().requests
    times = oracle.service_times(oracle.Options(law, 700), SEED)
    end, wanted = 0, []
    for arrived, us in zip(requests["arrived"], itertools.islice(times, count), strict=True):
        end = max(int(arrived), end) + int(1000 * us)
        wanted.append(end)
    assert requests["due"].tolist() == wanted
    assert np.all(requests["departed"] >= requests["due"])


def test_workers_serve_at_once():
    service_ns = 50_000_000
    for workers, at_once in ((0, 6), (3, 3)):
        with Front(Service(mean_us=service_ns / 1000, workers=workers)) as front:
            exchange(front, GET * 6, 6)
            requests = front.end().requests
        begun = requests["due"] - service_ns
        assert np.all(begun[:at_once] == requests["arrived"][:at_once])
        assert np.all(begun[at_once:] == requests["due"][: 6 - at_once])


def test_nothing_is_served_in_a_freeze():
    freeze_ns = 300_000_000
    with Front(Service(mean_us=20_000, freeze_ms=300)) as front:
        exchange(front, GET * 60, 60)
        record = front.end()
    phase = (record.requests["due"] - record.first_freeze_ns) % SECOND
    assert record.first_freeze_ns == record.requests["arrived"][0] + SECOND // 2
    assert np.all(phase[record.requests["due"] >= record.first_freeze_ns] >= freeze_ns)
    assert record.requests["due"][-1] - record.requests["arrived"][0] >= 60 * 20_000_000 + freeze_ns


@pytest.mark.parametrize("fault", ["status", "body", "close"])
def test_one_request_in_so_many_gets_a_fault(fault):
    with Front(Service(mean_us=10, fault=fault, every=3)) as front:
        replies = exchange(front, GET * 5, 2 if fault == "close" else 5)
        record = front.end()
    if fault == "status":
        assert [status.split()[1] for status, _, _ in replies] == ["200", "200", "500", "200", "200"]
    if fault == "body":
        assert [body for _, _, body in replies] == ["ok", "ok", "no", "ok", "ok"]
    assert record.faults == 1 and record.requests["fault"].tolist()[:3] == [0, 0, FAULTS.index(fault)]
    if fault == "close":  # those behind it on its connection are never answered
        assert len(record.answered) == 3 and np.all(record.requests["departed"][3:] == -1)


def test_a_record_that_is_cut_is_refused():
    for data in (b"", b"ORACLE 1", b"ORACLE 1" + (5).to_bytes(8, "little") + bytes(48)):
        with pytest.raises(SystemFailedError):
            Record.of_bytes(data)


def test_it_does_not_outlive_its_block():
    with pytest.raises(KeyError), Front(QUICK) as front:
        raise KeyError
    wait_for(lambda: is_gone(front.pid))


def test_a_record_without_room_says_so():
    with Front(QUICK, limit=3) as front:
        assert len(exchange(front, GET * 5, 5)) == 5
        record = front.end()
    assert len(record.requests) == 3 and record.not_recorded == 2 and not record.is_whole
