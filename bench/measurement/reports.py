"""The reports of the children at the end of a window, as the result of a start."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bench.errors import SystemFailedError
from bench.process.spec import Arrived, Done
from bench.run.start_record import MOMENTS, Times

OF_CONNECTION = ("opened_ns", "median_ns", "router_cpu_ns", "resumed")


def calls_of(done: Sequence[Done], go_ns: Sequence[int], width: int) -> list[Times]:
    """Return the times of each caller, since *go*, from what the clients sent; ``width`` times for each call.

    go_ns: *go* by the clock of each client.
    """
    arrays = [[np.frombuffer(blob, "i8") for blob in message.blobs] for message in done]
    times = [
        (each[i : i + width], go) for each, go in zip(arrays, go_ns, strict=True) for i in range(0, len(each), width)
    ]
    calls = [np.stack(one) - go for one, go in times]
    if any((one[1] < one[0]).any() for one in calls):
        raise SystemFailedError("a reply came before its request: the clock of this machine steps back")
    return calls


def attempts_of(done: Sequence[Done], go_ns: int) -> Times:
    """Return the attempts of a load with retries, as ``StartRecord`` holds them, with times since *go*."""
    ((request, number, sent, replied, due),) = ([np.frombuffer(one, "i8") for one in each.blobs] for each in done)
    return np.stack([request, number, sent - go_ns, np.where(replied == 0, 0, replied - go_ns), due - go_ns])


def marks_of(done: Sequence[Done | Arrived], go_ns: Sequence[int]) -> list[tuple[str, Times, Times]]:
    """Return both ends of a stream from what they sent: role, times since *go* by its own clock, and message counts.

    go_ns: *go* by the clock of the client, and by that of the server.
    """
    sent_at, sent, received_at, received = (np.frombuffer(blob, "i8") for message in done for blob in message.blobs)
    return [("client", sent_at - go_ns[0], sent), ("server", received_at - go_ns[-1], received)]


def sessions_of(done: Sequence[Done], go_ns: int) -> list[dict[str, Any]]:
    """Return the client processes that ran, or the connections, as rows of ``sessions``, with times since *go*."""
    names = ("calls", "payload_bytes", *MOMENTS, "client_cpu_ns", "server_cpu_ns", *OF_CONNECTION)
    rows: list[dict[str, Any]] = [dict(zip(names, row, strict=True)) for message in done for row in message.sessions]
    return [
        row
        | {name: row[name] - go_ns for name in (*MOMENTS, "opened_ns") if row[name] is not None}
        | {"number": number}
        for number, row in enumerate(rows)
    ]


def window_ns(done: Sequence[Done], calls: list[Times], planned_s: float) -> int:
    """Return the length of the window: as a generator reported, until the last reply, or as planned without any."""
    reported = [int(message.window_s * 1e9) for message in done if message.window_s is not None]
    return max([*reported, *(int(one[1][-1]) for one in calls if one.size)], default=int(planned_s * 1e9))
