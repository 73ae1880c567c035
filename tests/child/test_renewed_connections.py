"""Connections that are renewed: as many as are asked for, their opening apart, and failures counted."""

import numpy as np
import pytest
from handmade import recorded, usual
from specs import client_spec, library_load, reported
from wire_servers import echo, framed, http, posted, served

from bench.analysis import checks
from bench.plan.case import Case
from bench.run.start_record import StartRecord
from bench.systems import http_aiohttp, sockets

FOREVER_NS = 10**11


def made(system, address, until_ns=FOREVER_NS, **spec):
    """Make a window's calls in this process; return what was reported, and (sent, received, began) of each caller."""
    report = reported(library_load(system, system.Options(), address, client_spec(**spec)), until_ns)
    times = [np.array(one) for one in report.times]
    return report, list(zip(times[::3], times[1::3], times[2::3], strict=True))


def counting(behave):
    """Return what serves each connection with ``behave``, and the list of those that came."""
    came = []

    def counted(connection, asked):
        came.append(connection)
        behave(connection, asked)

    return counted, came


def http_echo(connection, asked):
    """Answer posted bodies over HTTP until the client leaves."""
    while body := posted(connection):
        connection.sendall(http(body))


@pytest.mark.parametrize(("system", "behave", "callers"), [(sockets, echo, 1), (http_aiohttp, http_echo, 3)])
@pytest.mark.parametrize(("each", "opened"), [(1, 25), (10, 3), (100, 1)])
def test_exactly_as_many_connections_are_opened(system, behave, callers, each, opened):
    behave, came = counting(behave)
    with served(behave) as address:
        report, times = made(system, address, callers=callers, max_calls=25, calls_per_connection=each)
    assert len(came) == callers * (1 + opened)  # one for the first call, before the window
    assert report.calls == 25 * callers and report.errors == 0
    for sent, received, began in times:
        first = np.arange(25) % each == 0
        assert (began[first] < sent[first]).all() and (began[~first] == sent[~first]).all()
        assert (sent < received).all() and (np.diff(sent) > 0).all()


def test_the_window_ends_with_the_call_under_way():
    behave, came = counting(echo)
    with served(behave) as address:
        report, _ = made(sockets, address, until_ns=0, max_calls=25, calls_per_connection=10)
    assert report.calls == 1 and len(came) == 2


def test_a_server_that_closes_in_the_middle_is_a_counted_failure_and_the_next_connection_goes_on():
    def behave(connection, asked):
        for payload, _ in zip(asked, range(3), strict=False):
            connection.sendall(framed(payload))

    with served(behave) as address:
        report, ((sent, received, began),) = made(sockets, address, max_calls=20, calls_per_connection=5)
    assert report.calls == 20 and report.errors >= 6 and report.numbers == [("error_read", report.errors, "1")]
    assert ((began < sent) == (np.arange(20) % 3 == 0)).all() and (sent < received).all()


TOOK, OPENING = 300, 500  # ns


def renewed_run(calls=4000, each=4):
    """Return a run by hand: each 4th call opens its connection for 500 ns, then takes 900 ns, the others 300."""
    first = np.arange(calls) % each == 0
    rtt = np.where(first, 3 * TOOK, TOOK)
    begin = np.concatenate([[0], np.cumsum(rtt + OPENING * first)[:-1]])
    sent = begin + OPENING * first

    def record(start, block, index):
        known = usual(calls, (sent + rtt)[-1] / 1e9, tcp_connections=calls // each)
        return StartRecord(known, calls=[np.stack([sent, sent + rtt, begin])])

    return recorded("latency", [Case("sockets", "tcp", calls_per_connection=each)], record)


def test_opening_is_apart_in_the_samples_and_quantiles_are_of_open_connections():
    run = renewed_run()
    opens = run.samples["opens"].to_numpy()
    assert opens.sum() == 6 * 1000 and (run.samples.loc[opens, "open_ns"] == OPENING).all()
    assert run.samples.loc[~opens, "open_ns"].isna().all() and (run.samples["lag_ns"] == 0).all()
    row = run.cases.loc[0]
    assert row["p50_rtt_us"] == row["mean_rtt_us"] == TOOK / 1e3
    assert row["p50_first_us"] == (OPENING + 3 * TOOK) / 1e3 and row["opened_per_call"] == 0.25
    assert row["calls_per_connection"] == 4 and run.count(0) < len(run.samples) * 0.75 + 1
    card = {one.name: one for one in checks.check(run)}
    assert card["rate"].verdict == checks.PASS and card["answers"].verdict == checks.PASS
    assert "within 0.0%" in card["rate"].found or "within 0.1%" in card["rate"].found
    always = renewed_run(each=1)  # then the calls that open are described
    assert always.cases.loc[0, "p50_rtt_us"] == 3 * TOOK / 1e3 and always.samples["opens"].all()
