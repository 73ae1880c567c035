"""Exchanges of timestamps with a host's ``bench.child.clock_server`` on a bare TCP socket."""

import socket
import struct
import time
from array import array

import numpy as np

from bench.child.clock_server import ANSWER, ASK, NAME
from bench.contract import parse_address
from bench.errors import SystemFailedError
from bench.measurement.hosts.host import MOST
from bench.stats import clock_offsets
from bench.stats.clock_offsets import ClockReading, ClockStepError

LEAST = 20  # exchanges
ENOUGH_S = 0.05  # of exchanging, once there are that many: over a slow network more cost time and give little
LIMIT_S = 5.0  # for connecting, and for all exchanges
RESOLUTION_NS = max(1, round(1e9 * time.get_clock_info("perf_counter").resolution))


def compare(address: str, exchanges: int = MOST, limit_s: float = LIMIT_S) -> ClockReading:
    """Return the clock that answers at ``tcp://HOST:PORT`` beside this process's ``perf_counter_ns``.

    SystemFailedError names the address if nobody answers there in time, if who answers is no clock of this version, or
    if one of the clocks was set meanwhile.
    """
    _, host, port, _ = parse_address(address)
    try:
        with socket.create_connection((host, port), limit_s) as connection:
            connection.settimeout(None)
            seconds, rest = divmod(limit_s, 1)
            limit = struct.pack("ll", int(seconds), int(1e6 * rest) or 1)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            times = _exchange(connection, address, exchanges, limit_s)
    except (TimeoutError, BlockingIOError) as reason:
        raise SystemFailedError(
            f"the clock at {address} did not answer within {limit_s:g} s: its host hangs, or the network does not "
            "deliver; measure again when it answers"
        ) from reason
    except OSError as reason:
        raise SystemFailedError(
            f"the clock at {address} cannot be reached: {reason.strerror or reason}; does its host still run, and does "
            "a firewall let connections to it through?"
        ) from reason
    try:
        sent, arrived, answered, received = (np.frombuffer(column, np.int64) for column in times)
        return clock_offsets.offset(sent, arrived, answered, received, RESOLUTION_NS)
    except ClockStepError as reason:
        raise SystemFailedError(
            f"the clock at {address} or this machine's was set while they were compared ({reason}): measure again"
        ) from reason


def _exchange(connection: socket.socket, address: str, exchanges: int, limit_s: float) -> tuple["array[int]", ...]:
    """Return the four times of each exchange: sent here, arrived there, answered there, received here."""
    clock, wait_all = time.perf_counter_ns, socket.MSG_WAITALL
    times = array("q"), array("q"), array("q"), array("q")
    began_ns = clock()
    for number in range(exchanges):
        sent_ns = clock()
        connection.sendall(ASK.pack(NAME, number))
        frame = connection.recv(ANSWER.size, wait_all)
        received_ns = clock()
        if len(frame) < ANSWER.size:
            raise ConnectionResetError(None, "it closed the connection")
        name, back, arrived_ns, answered_ns = ANSWER.unpack(frame)
        if (name, back) != (NAME, number):
            raise SystemFailedError(f"what answers at {address} is no clock of this version of Roundtrip")
        for column, value in zip(times, (sent_ns, arrived_ns, answered_ns, received_ns), strict=True):
            column.append(value)
        if number + 1 >= LEAST and received_ns - began_ns > 1e9 * ENOUGH_S:
            break
        if received_ns - began_ns > 1e9 * limit_s:
            raise TimeoutError
    return times
