"""Runs made by hand, for tests of what is read from them; and those that come with the project."""

import functools
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
from conftest import ROOT

from bench.measurement.slices import without_pauses
from bench.measurement.validation.profiles import make_plan
from bench.plan import slicing
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.run import schema, start_record, stored
from bench.run.frames import Run, shared
from bench.run.start_record import StartRecord

FACTS = {
    "machine": {"machine_id": "0", "cpu_model": "x", "cpus_allowed": 2, "virtual": True, "system": "L", "kernel": "1"},
    "versions": {},
    "git": {"revision": "abc", "dirty": False},
}


@functools.cache
def reference(notebook: str) -> Run:
    """Return a notebook's reference run, loaded once: for tests that only read it."""
    return shared(ROOT / "data" / "reference" / notebook)


def finished(folder, starts):
    """Return a folder's run from the tables of its starts, in one file for each table: in a third of the time."""
    at_once = {name: [start[name] for start in starts if name in start] for name in schema.TABLES}
    folder.write_all({name: pa.concat_tables(parts) for name, parts in at_once.items() if parts})
    folder.update(finished=True)
    return Run(folder)


def file_by_file(folder, starts):
    """Return a folder's run from the tables of its starts, as a measurement writes them."""
    for tables in starts:
        folder.append(tables["ledger"]["start"][0].as_py(), tables)
    folder.update(finished=True)
    return Run(folder)


def usual(calls, window_s, **changed):
    """Return the ledger of a start in which nothing went wrong: 10 us of CPU time per call here, 20 in the server."""
    return {
        "calls": calls, "server_calls": calls, "window_s": window_s, "errors": 0, "first_rtt_ns": 1,
        "client_cpu_ns": 10_000 * calls, "server_cpu_ns": 20_000 * calls, "client_cpus": "0", "server_cpus": "1",
        "gc_collections": 0,
    } | changed  # fmt: skip


def in_order(rtt_ns):
    """Return the sent and received times of calls that follow each other without a pause, in ns."""
    sent = np.concatenate([[0], np.cumsum(rtt_ns)[:-1]])
    return np.stack([sent, sent + rtt_ns])


def recorded(notebook, cases, record_of, starts=6, window_s=0.01):
    """Return a run with the record that a function makes of each (start, block, number of the case)."""
    return of_plan(make_plan(notebook, cases, starts=starts, window_s=window_s), record_of)


def of_plan(plan, record_of, write=finished):
    """Return a plan's run; ``write`` is ``finished``, or ``file_by_file`` for tests of the files of a start."""
    folder = stored.create(plan, FACTS)
    made = [
        start_record.tables(start, block, index, plan.cases[index], record_of(start, block, index))
        for start, block, index in plan.order()
    ]
    return write(folder, made)


def handmade(
    cases, rtt_us, starts=6, calls=5000, notebook="latency", planned_s=0.01, shape=None, hosts=(), write=finished,
    absent=None, is_checked=True, **ledger,
):  # fmt: skip
    """Return a run in which call i of case c takes rtt_us[c] us plus i millionths, and a start adds its number in %.

    shape: factors of the calls of a start, from the number of the start and of calls. hosts: the rows of each start's
    hosts. write: see ``of_plan``. absent: systems that could not be measured, with the reason.
    is_checked: whether the systems of the cases must be here.
    """
    if is_checked:
        plan = make_plan(notebook, cases, starts=starts, window_s=planned_s, absent=absent)
    else:
        plan = Plan(notebook, tuple(cases), starts, planned_s, 1, "class", absent or {})

    def record(start, block, index):
        rtt = np.rint(1000 * rtt_us[index] * (1 + block / 100 + np.arange(calls) / 1e6)).astype("i8")
        rtt = (rtt * shape(start, calls)).astype("i8") if shape else rtt
        began = {"utc": datetime.fromtimestamp(2 * block, UTC).isoformat()}
        known = usual(calls, float(rtt.sum()) / 1e9) | began | ledger
        return StartRecord(known, [in_order(rtt)], {"hosts": list(hosts)})

    return of_plan(plan, record, write)


PAIR = [Case("zeromq", "ipc"), Case("sockets", "ipc")]


def noisy(start, calls):
    """Calls that vary by some per cent, each on its own."""
    return 1 + 0.05 * np.random.default_rng(start).random(calls)


def moody(start, calls):
    """Calls that follow each other: the level wanders slowly."""
    walk = np.cumsum(np.random.default_rng(start).standard_normal(calls))
    return 1 + 0.01 * (walk - walk.mean()) / walk.std()


def calls_of(begin_ns, rtt_ns, count):
    """Return send and receive times of calls that follow each other, in ns."""
    sent = begin_ns + rtt_ns * np.arange(count)
    return np.stack([sent, sent + rtt_ns]).astype("i8")


def in_turns(
    levels_us, drift=0.0, blocks=8, rounds=4, calls=100, interference=1.0, awake=0.0, cases=PAIR, groups=(),
    notebook="compare", alternate=1.0, wobble=0.0, busy=None, write=finished,
):  # fmt: skip
    """Return a run of cases in turns, the machine slower by ``drift`` from one slice to the next.

    interference: what a slice after another's adds to a level. awake: share of a CPU that those use that sleep.
    alternate: factor of the odd rounds. wobble: standard deviation of ln(level) of a slice. busy: CPUs of the machine
    that all processes use; None: not known. write: see ``of_plan``.
    """
    chance, made = np.random.default_rng(1), []
    plan = Plan(notebook, tuple(cases), blocks, 0.1, 1, "class", slice_s=0.1 / rounds, groups=groups)
    folder = stored.create(plan, FACTS)
    for block, starts in ((block, part) for block, parts in plan.blocks() for part in parts):
        times, rows, at_ns = [[] for _ in starts], [[] for _ in starts], 0.0
        for number, turn in enumerate(slicing.turns(len(starts), rounds, block, 1)):
            factor = 1.0 if turn.round is None else interference * (alternate if turn.round % 2 else 1.0)
            factor *= np.exp(wobble * chance.standard_normal()) if wobble else 1.0
            rtt_ns = 1000 * levels_us[starts[turn.place][1]] * (1 + drift * number) * factor
            times[turn.place].append(calls_of(at_ns, rtt_ns, calls))
            used = {"client_cpu_ns": int(calls * rtt_ns / 3), "server_cpu_ns": int(calls * rtt_ns / 3)}
            rows[turn.place].append({"round": turn.round, "at_ns": int(at_ns), **used})
            at_ns += calls * rtt_ns + 5e6
        for place, (start, case) in enumerate(starts):
            glued, slices = without_pauses([np.concatenate(times[place], axis=1)], rows[place])
            window_s = sum(row["length_ns"] for row in slices) / 1e9
            asleep = {"turns_with": starts[0][0], "asleep_s": 0.1, "asleep_cpu_ns": int(1e8 * awake)}
            if busy is not None:
                asleep |= {"machine_busy_ns": int(1e9 * busy * window_s), "metered_ns": int(1e9 * window_s)}
            record = StartRecord(usual(glued[0].shape[1], window_s, **asleep), glued, {"slices": slices})
            made.append(start_record.tables(start, block, case, plan.cases[case], record))
    return write(folder, made)
