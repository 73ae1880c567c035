"""Checks of the load that was delivered and of its report: requests, rates, window, connections, errors."""

import math
from collections.abc import Iterator

import numpy as np

from bench.text import counted, one_line, quantity
from certify.arrival_checks import NORMAL_99
from certify.check import HELD, Check, verdict
from certify.observation import Observation
from certify.protocols import PROTOCOLS
from certify.report import Reported

RATE_OFF = 0.01  # share: at half of the capacity of a queue M/M/1, response times are then off by 1 % too
REPORTED_RATE_OFF = 0.02  # share: of a window that is divided by a whole number of seconds, or by its end without edges
WINDOW_OFF = 0.05  # share of the duration: a rate over the duration asked for is then wrong by as much
# Why fewer reported errors than failed requests are not decided: no server can know whether a library sent one again.
RESENT = "an HTTP library may send them again, which nobody can tell from new ones (RFC 9110, 9.2.2)"
START_S = 0.5  # of a duration, for the start of a program's threads
LEAST_SHARE = 0.5  # of an equal share of the requests, for each connection


def ending(seen: Observation) -> Check:
    """It ends by itself, soon after its duration, with status 0 (another where requests fail), and leaves nothing."""
    ended, limit_s = seen.ended, seen.scenario.duration_s
    if ended.status is None:
        late_s = ended.took_s - limit_s
        text = f"It still ran {ended.took_s:.1f} s after its start, {late_s:.1f} s beyond its duration, and was ended."
        return Check("exit", verdict(False), text, limit_s, ended.took_s, late_s, "s")
    how = f"signal {-ended.status}" if ended.status < 0 else f"exit status {ended.status}"
    left = "; processes that it had started still ran, and were ended" if ended.left_processes else ""
    may_fail = seen.scenario.service.fault != "none" and ended.status >= 0
    holds = (ended.status == 0 or may_fail) and not left
    check = Check("exit", verdict(holds), f"It ended after {ended.took_s:.1f} s with {how}{left}.", 0, ended.status, 0)
    lines = ended.stderr.strip().splitlines()
    return check.saying(f"The last line of its errors: {one_line(lines[-1])}") if lines and not holds else check


def report(seen: Observation) -> Check:
    """There is a report, in the form that its file describes."""
    text = seen.problem or "The report is as its file describes it."
    return Check("report", verdict(seen.reported is not None), text)


def arrivals(seen: Observation) -> Check:
    """Requests arrive at all, and can be understood."""
    count, refused = len(seen.record.requests), seen.record.refused
    text = f"{count:,} requests arrived"
    kind = {"http1": "chunked, or no HTTP/1.1", "resp": "no PING, GET or SET"}.get(seen.protocol, "a protocol error")
    text += f", and {refused:,} were not understood ({kind})." if refused else "."
    if not count and seen.ended.status == 0:
        text += " Yet its exit status is 0."
    return Check("arrivals", verdict(count > 1 and not refused), text, None, count, None, "requests")


def delivered_rate(seen: Observation) -> Check:
    """An open load delivers the rate that it is asked for."""
    asked, rate = seen.scenario.rate_per_s or math.nan, seen.record.arrivals_per_s
    chance = NORMAL_99 / math.sqrt(asked * seen.scenario.duration_s) if seen.schedule == "poisson" else 0.0
    tolerance = asked * (RATE_OFF + chance) + seen.scenario.connections / seen.scenario.duration_s
    text = f"{quantity(rate)} requests/s arrived, {quantity(asked)} were asked for ({rate / asked:.1%})."
    if seen.reported and seen.reported.dropped:
        text += f" It reports {seen.reported.dropped:,.0f} that it did not send."
    return Check.near("rate-delivered", text, asked, rate, tolerance, "1/s")


def reported_rate(seen: Observation, reported: float) -> Check:
    """The reported rate is the one that was delivered, in the time from the first request to the last reply.

    Of an open load, whose arrivals may be bursts, it may also be their slope or their number in the duration asked for.
    """
    record = seen.record
    rates = [record.answers_per_s]
    tolerance = rates[0] * REPORTED_RATE_OFF + 2 * seen.scenario.connections / max(record.span_s, 1e-9)
    if seen.is_open:
        rates += [record.arrivals_per_s, len(record.answered) / max(seen.scenario.duration_s, record.span_s)]
        tolerance = rates[0] * REPORTED_RATE_OFF  # the replies that are waited for at the end are few
    delivered = min(rates, key=lambda rate: abs(rate - reported))
    text = f"It reports {quantity(reported)} requests/s; {quantity(delivered)} were delivered."
    check = Check.near("rate-reported", text, delivered, reported, tolerance, "1/s")
    asked = seen.scenario.rate_per_s
    if check.verdict == HELD or not asked or abs(reported - asked) > REPORTED_RATE_OFF * asked:
        return check
    return check.saying(
        f"It reports the rate that it was asked for ({quantity(asked)}), not the one that it delivered."
    )


def requests(seen: Observation, reported: float) -> Check:
    """As many requests are reported as were answered; at both ends of the window those under way may differ."""
    answered, faults = len(seen.record.answered), seen.record.faults
    tolerance = max(seen.scenario.connections, len(seen.record.requests) - answered)
    low, high = answered - faults, answered  # failed ones are counted, or they are not
    expected = high if abs(reported - high) <= abs(reported - low) else low
    holds = low - tolerance <= reported <= high + tolerance
    text = f"It reports {reported:,.0f} requests; {answered:,} were answered"
    text += f", {faults:,} of them with a fault." if faults else "."
    return Check("requests", verdict(holds), text, expected, reported, tolerance, "requests")


def window(seen: Observation) -> Check:
    """The load lasts as long as asked, from its first request to its last; longer if its schedule cannot be kept."""
    asked, span_s = seen.scenario.duration_s, seen.record.span_s
    tolerance = max(WINDOW_OFF * asked, START_S)
    holds = asked - tolerance <= span_s and (span_s <= asked + tolerance or not seen.scenario.can_be_delivered)
    text = f"The load lasted {span_s:.2f} s from the first request to the last; {asked:g} s were asked for."
    check = Check("window", verdict(holds), text, asked, span_s, tolerance, "s")
    if holds or span_s > asked:
        return check if holds else check.saying("It stopped late.")
    longer_s = max(0.0, seen.ended.took_s - span_s)
    early = "It stopped early, or started late within its window"
    return check.saying(f"{early}: it ran {longer_s:.2f} s longer than its load lasted.")


def reported_window(seen: Observation, reported: float) -> Check:
    """The reported duration is that of the load, to its last request or to the last reply."""
    span_s, until_reply = seen.record.span_s, seen.record.answers_s
    tolerance = WINDOW_OFF * seen.scenario.duration_s
    holds = span_s - tolerance <= reported <= max(span_s, until_reply) + tolerance
    text = f"It reports a duration of {reported:.2f} s; from the first request to the last it was {span_s:.2f} s"
    text += f", to the last reply {until_reply:.2f} s."
    return Check("window-reported", verdict(holds), text, span_s, reported, tolerance, "s")


def connections(seen: Observation) -> Check:
    """A closed load uses as many connections as asked for."""
    asked, count = seen.scenario.connections, len(seen.record.per_connection)
    text = f"Requests came on {counted(count, 'connection')}; it was asked for {asked:,}."
    if count > asked:
        opened, last = seen.record.connections, seen.record.requests["arrived"].max()
        closed = np.count_nonzero((opened["closed"] > 0) & (opened["closed"] < last))
        text += f" {closed:,} of them were closed before the last request. Some response times include set-up."
    return Check.near("connections", text, asked, count, 0, "connections")


def concurrency(seen: Observation) -> Check:
    """A closed load whose requests share connections has as many under way at once as asked for."""
    asked, count = seen.scenario.connections, seen.record.most_at_once
    text = f"Up to {counted(count, 'request')} were under way at once; it was asked for {asked:,}."
    return Check.near("concurrency", text, asked, count, 0, "requests")


def shares(seen: Observation) -> Check:
    """No connection of a closed load is idle while others work: in a fair load each carries an equal share."""
    counts = seen.record.per_connection
    least = float(counts[0] * len(counts) / counts.sum())
    text = f"The connection with the fewest requests carried {least:.0%} of an equal share."
    return Check("shares", verdict(least >= LEAST_SHARE), text, 1.0, least, 1 - LEAST_SHARE, "share")


def streams_read(seen: Observation) -> Check:
    """Streams are read to their end, but for those under way at the end of the load: else their times are not whole."""
    asked, count = len(seen.record.requests), len(seen.record.answered)
    text = f"{count:,} of {counted(asked, 'stream')} were read to their end."
    holds = asked - count <= seen.scenario.connections
    return Check("streams-read", verdict(holds), text, asked, count, seen.scenario.connections, "requests")


def errors(seen: Observation, reported: Reported) -> Check | None:
    """As many errors are reported as requests failed; None where none failed and errors are not reported."""
    count, faults = reported.errors, seen.record.faults
    if count is None and not faults:
        return None
    tolerance = seen.scenario.connections if faults else 0
    holds = count is not None and abs(count - faults) <= tolerance and (count > 0 or not faults)
    says = "does not report errors" if count is None else f"reports {count:,.0f} errors"
    text = f"It {says}; {faults:,} requests failed."
    check = Check("errors", verdict(holds), text, faults, count, tolerance, "requests")
    resends = seen.scenario.service.fault == "close" and PROTOCOLS[seen.protocol].resends
    if holds or not resends or count is None or count > faults:
        return check
    if count < (final := seen.record.surely_final):
        return check.saying(f"At least {final:,} cannot have been sent again: fewer requests arrived after them.")
    return check.undecided(RESENT)


def gave_up(seen: Observation) -> Check | None:
    """Return the check of errors of a generator that ended at the first failures with a status that says so."""
    faults, status = seen.record.faults, seen.ended.status or 0
    if seen.reported or status <= 0 or not 0 < faults <= seen.scenario.connections:
        return None
    text = f"It ended with exit status {status} after {counted(faults, 'failed request')}, without a report."
    return Check("errors", HELD, text, faults, None, None, "requests")


def of_load(seen: Observation) -> list[Check]:
    """Return all checks of the load of a scenario."""
    if given_up := gave_up(seen):
        return [ending(seen), arrivals(seen), given_up]
    checks = [ending(seen), report(seen), arrivals(seen)]
    return checks if len(seen.record.requests) < 2 else [*checks, *_of_delivery(seen), *_of_report(seen)]


def _of_delivery(seen: Observation) -> Iterator[Check]:
    if seen.is_open and seen.scenario.can_be_delivered:
        yield delivered_rate(seen)
    if not seen.is_counted:
        yield window(seen)
    if seen.shares_connections and not seen.is_open:
        yield concurrency(seen)
    elif not seen.is_open and not seen.record.faults:  # after a failure a connection may be closed
        yield (used := connections(seen))
        if used.verdict == HELD:
            yield shares(seen)
    if PROTOCOLS[seen.protocol].has_streams:
        yield streams_read(seen)


def _of_report(seen: Observation) -> Iterator[Check]:
    if (reported := seen.reported) is None:
        return
    if reported.requests is not None:
        yield requests(seen, reported.requests)
    if reported.rate_per_s is not None and not seen.record.faults:
        yield reported_rate(seen, reported.rate_per_s)
    if reported.duration_s is not None:
        yield reported_window(seen, reported.duration_s)
    if check := errors(seen, reported):
        yield check
