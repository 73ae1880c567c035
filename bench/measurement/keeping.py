"""Samples that stay on their host: all of them in a file there, and for the conductor sketches and a random sample.

The samples of all hosts go into one process, the conductor: that is the first limit of how many hosts a run can have.
A client process that took more than ``above()`` samples in a start therefore keeps them on its host.
"""

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bench import paths
from bench.errors import SystemFailedError, UsageError
from bench.plan.case import Case
from bench.process.child_process import Reported
from bench.process.spec import Done
from bench.stats import Array

ABOVE = 200_000  # samples of a client process in a start: 3.2 MB; of 64 hosts 205 MB arrive after each window
PART = 10  # one of so many of these is sent, of any number that is kept: 20,000 have 20 above their p99.9
VARIABLE = "ROUNDTRIP_SAMPLES_SENT"
_NAME = re.compile(r"\w[\w.+-]*")


def above() -> int:
    """Return how many samples of a process are sent at most; the environment variable of that name sets another."""
    text = os.environ.get(VARIABLE) or str(ABOVE)
    if not text.isdecimal() or int(text) < PART:
        raise UsageError(f"{VARIABLE} is {text!r}: give the number of samples above which hosts keep them, from {PART}")
    return int(text)


def hold_above(case: Case) -> int:
    """Return above how many samples of a process hosts keep them; 0: never.

    Only of cases whose calls are alike: none opens a connection, and none carries more than others.
    """
    is_alike = not (case.calls_per_connection or case.large_bytes) and case.load in ("closed", "open")
    return above() if is_alike and not case.generator else 0


@dataclass(frozen=True)
class Order:
    """What a host needs to keep the samples of one client process.

    run, start: the names of the folder and of the file there. process: its number. callers: how many calls it has under
    way. width: times of each call. go_ns: *go* by the host's clock. seed: of the choice of samples. sampled: how many
    are sent.
    """

    run: str
    start: int
    process: int
    callers: int
    width: int
    go_ns: int
    window_ns: int
    seed: int
    sampled: int


# On the host ------------------------------------------------------------------------------------------------------


def keep(blobs: Sequence[bytes], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Write all samples of a client process into a file of this machine; return what the conductor gets instead.

    blobs: of each caller the times of its calls, as in ``Done``. Returned: the rows of ``sketches``, the same times of
    the chosen samples, and the file's path.
    """
    from bench.run import sketched  # they need Arrow, which a host without many samples does not load

    order = Order(**asked)
    arrays = [np.frombuffer(blob, "i8") for blob in blobs]
    whole = [np.stack(arrays[i : i + order.width]) for i in range(0, len(arrays), order.width)]
    calls = [one - order.go_ns for one in whole]
    if any((one[1] < one[0]).any() for one in calls):
        raise SystemFailedError("a reply came before its request: the clock of this machine steps back")
    ends = np.cumsum([one.shape[1] for one in calls])
    chosen = np.sort(np.random.default_rng(order.seed).choice(ends[-1], min(order.sampled, ends[-1]), replace=False))
    path = _write(calls, order)
    parts = np.split(chosen, np.searchsorted(chosen, ends[:-1]))
    begins = ends - [one.shape[1] for one in calls]
    sent = [row[mine - begin].tobytes() for one, mine, begin in zip(whole, parts, begins, strict=True) for row in one]
    return {"rows": sketched.rows(calls, order.window_ns, chosen), "blobs": sent, "path": path}


def _write(calls: Sequence[Array], order: Order) -> str:
    """Write samples as a table ``samples``; return where. SystemFailedError if they cannot be written."""
    from bench.run import schema
    from bench.run.files import table_bytes

    if not _NAME.fullmatch(order.run):
        raise UsageError(f"{order.run!r} is no name of a run")
    folder = paths.samples().absolute() / order.run
    file = folder / f"{order.start:05d}-{order.process:03d}.parquet"
    temporary = file.with_suffix(".part")
    counts = [one.shape[1] for one in calls]
    sent, replied = (np.concatenate([one[i] for one in calls]) for i in (0, 1))
    due = np.concatenate([one[2] for one in calls]) if order.width > 2 else sent
    numbers = order.process * order.callers + np.repeat(np.arange(len(calls), dtype="i4"), counts)
    columns = {
        "start": np.full(len(sent), order.start, "i4"),
        "client": numbers.astype("i4"),
        "t_send_ns": sent,
        "lag_ns": sent - due,
        "rtt_ns": replied - sent,
        "open_ns": [None] * len(sent),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
        with temporary.open("wb") as out:
            out.write(table_bytes(schema.make("samples", columns)))
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(file)
    except OSError as reason:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise SystemFailedError(
            f"its {len(sent):,} samples of a start cannot be kept in {folder}: {reason.strerror or reason}; free some "
            "space there, or start bench host with another folder in ROUNDTRIP_SAMPLES, then resume with -p resume true"
        ) from reason
    return str(file)


# At the conductor -------------------------------------------------------------------------------------------------


def of_clients(
    clients: Sequence[Reported], done: Sequence[Done], orders: Sequence[Order]
) -> tuple[tuple[Done, ...], list[dict[str, Any]]]:
    """Return the reports of all clients, with the chosen samples of those that keep theirs, and the rows of sketches.

    Hosts write and count side by side.
    """
    answers = {at: clients[at].keep(asdict(orders[at])) for at, one in enumerate(done) if one.held}
    reports, rows = list(done), []
    for at, answer in answers.items():
        found = answer()
        reports[at] = Done(**(vars(done[at]) | {"blobs": found["blobs"]}))
        process = {"process": orders[at].process, "host": clients[at].host_name, "path": found["path"]}
        rows += [process | row for row in found["rows"]]
    return tuple(reports), rows
