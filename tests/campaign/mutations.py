"""Alterations of a stored run: bits of its files, lost files, links and pipes, its manifest's values, its columns.

An alteration that leaves the digests wrong must be refused. One whose digests were written anew, as a person could,
must be refused in one sentence that names the file, or be shown as it is. What is no regular file is neither waited
for nor written through.
"""

import contextlib
import functools
import io
import json
import operator
import os
import random
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from conftest import ROOT
from handmade import file_by_file, handmade

from bench.apps import listing
from bench.errors import BenchError, DataError
from bench.plan.case import Case
from bench.run import integrity, query, stored
from bench.run.folder import Folder
from bench.run.frames import Run

PATIENCE_S = 20
CASES = [Case("zeromq", "ipc"), Case("sockets", "ipc")]
DROPPED = object()


def original() -> Run:
    """Return a small run whose manifest has all that a reference run's has."""
    run = handmade(CASES, [100, 50], starts=2, calls=100, write=file_by_file)
    known = json.loads((ROOT / "data" / "reference" / "latency" / "manifest.json").read_text())
    search = json.loads((ROOT / "data" / "reference" / "capacity" / "manifest.json").read_text())
    failures = [{"start": 1, "case": 0, "error": "the server died"}]
    taken = {name: known[name] for name in ("machine", "versions", "git", "checks")}
    run.folder.update(**taken, failures=failures, capacity=search["capacity"], collected=[run.id])
    return run


def whole(path: Path) -> str:
    """Read all of a run; return what it shows."""
    return listing.run_text(str(path))


def everything(path: Path) -> str:
    """Return what a run shows, alone, in the list of runs, and beside its original."""
    with contextlib.redirect_stderr(io.StringIO()):
        query.runs()
    shown = whole(path)
    return shown + listing.compared_text(stored.find("latest").id, str(path), "5%", None, as_json=False)[0]


# ---------------------------------------------------------------- bytes of files


def flipped(path: Path, chance: random.Random) -> tuple[str, bool]:
    """Do something to one file: flip a bit, cut it, lengthen it, empty it, or exchange it with another.

    Return what was done, and whether anything is different.
    """
    files = sorted(file for file in path.rglob("*") if file.is_file())
    file, other = chance.choice(files), chance.choice(files)
    content = bytearray(file.read_bytes())
    kind = chance.choice(["bit", "bit", "bit", "cut", "longer", "empty", "other"])
    if kind == "bit":
        place = chance.randrange(len(content))
        content[place] ^= 1 << chance.randrange(8)
    elif kind == "cut":
        del content[chance.randrange(len(content)) :]
    elif kind == "longer":
        content += chance.randbytes(8)
    elif kind == "empty":
        content.clear()
    else:
        content = bytearray(other.read_bytes())
    changed = bytes(content) != file.read_bytes()
    file.write_bytes(bytes(content))
    return f"{kind} in {file.relative_to(path)}", changed


def lost(path: Path, chance: random.Random) -> str:
    """Remove some files of a run, of one table or of any; return which."""
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.name != "manifest.json")
    table = chance.choice([*{file.parent.name for file in files}, ""])
    there = [file for file in files if table in ("", file.parent.name)]
    gone = chance.sample(there, chance.randint(1, len(there)))
    for file in gone:
        file.unlink()
    return f"lost {', '.join(str(file.relative_to(path)) for file in gone)}"


def asked(path: Path) -> str:
    """Return what a question by SQL finds in a run; raise what refuses it, where it is left out in one line."""
    complaint = io.StringIO()
    with contextlib.redirect_stderr(complaint):
        found = query.query("select run, avg(rtt_ns) from samples join ledger using (run, start) group by run")
    if path.name in found["run"].to_list():
        return str(found)
    raise DataError("\n".join(line for line in complaint.getvalue().splitlines() if path.name in line))


# ---------------------------------------------------------------- links, pipes, devices and folders instead of files


ELSEWHERE = "elsewhere"  # beside the run: what is in it must stay as it is
SPECIAL: dict[str, Callable[[Path, Path], None]] = {
    "a link": lambda at, victim: at.symlink_to(victim),
    "a link to nothing": lambda at, victim: at.symlink_to(victim.with_name("nothing")),
    "a link to itself": lambda at, victim: at.symlink_to(at),
    "a link to a device": lambda at, victim: at.symlink_to("/dev/zero"),
    "a hard link": lambda at, victim: at.hardlink_to(victim),
    "a pipe": lambda at, victim: os.mkfifo(at),
    "a folder": lambda at, victim: at.mkdir(),
    "a socket": lambda at, victim: _socket_at(at),
}


def _socket_at(at: Path) -> None:
    with contextlib.closing(socket.socket(socket.AF_UNIX)) as made, contextlib.chdir(at.parent):
        made.bind(at.name)  # an address is short


def special_files(path: Path) -> list[tuple[str, Callable[[Path], None]]]:
    """Return every way to put something else in the place of a file or a folder of a run, or of its lock."""
    there = sorted(str(file.relative_to(path)) for file in path.rglob("*"))
    return [
        (f"{name}: {kind}", functools.partial(replaced, name=name, kind=kind))
        for name in [*there, "measuring.lock"]
        for kind in SPECIAL
        if (path / name).is_dir() <= (kind != "a hard link")
    ]


def replaced(path: Path, name: str, kind: str) -> None:
    """Move a file or folder of a run elsewhere, and put something in its place, which may lead there."""
    elsewhere, at = path.with_name(ELSEWHERE), path / name
    shutil.rmtree(elsewhere, ignore_errors=True)
    elsewhere.mkdir()
    victim = elsewhere / at.name
    at.rename(victim) if at.exists() else victim.write_text("to be kept")
    SPECIAL[kind](at, victim)


def content_of(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all files below a folder, by name."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def written(path: Path, tables: dict[str, pa.Table]) -> str:
    """Write all that is written into a run: its lock, a start, the manifest."""
    folder = Folder(path)
    folder.is_being_measured()
    with folder.measuring():
        folder.append(0, tables)
        folder.failed(0, 0, "an error")
        folder.update(finished=True)
    return ""


def special_fault(what: str, path: Path, tables: dict[str, pa.Table]) -> str:
    """Return what is wrong with how a run is read and written in which something is no regular file, or nothing."""
    elsewhere = path.with_name(ELSEWHERE)
    before = content_of(elsewhere)
    is_lock = what.startswith("measuring.lock")
    is_listed = (path / "manifest.json").exists()
    wrong = "" if is_lock else fault(whole, path) or (fault(asked, path) if is_listed else "")
    wrong = wrong or fault(lambda path: str(Folder(path).data_hash()), path)
    wrong = wrong or fault(functools.partial(written, tables=tables), path)
    wrong = wrong or fault(lambda target: stored.keep(stored.find("latest"), target).id, path)
    return wrong or ("" if content_of(elsewhere) == before else "it was written through to a file elsewhere")


# ---------------------------------------------------------------- values of the manifest


def nested(depth: int) -> Any:
    """Return lists in lists, so many deep."""
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


INSTEAD: dict[str, Any] = {
    "null": None,
    "true": True,
    "text": "text",
    "empty text": "",
    "long text": "x" * 5000,
    "list": [1],
    "empty list": [],
    "list of lists": [[1, 2], [3]],
    "dict": {"x": 1},
    "empty dict": {},
    "zero": 0,
    "negative": -1,
    "fraction": 0.5,
    "huge": 10**30,
    "infinite": float("inf"),
    "not a number": float("nan"),
    "nested": nested(700),
    "dropped": DROPPED,
}


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each value of a manifest; of a list only to its first."""
    if at:
        yield at
    inside = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for name, item in inside:
        yield from places(item, (*at, name))


def put(manifest: Any, at: tuple[Any, ...], instead: Any) -> None:
    """Replace one value of a manifest, or drop it."""
    holder = _at(manifest, at[:-1])
    if instead is DROPPED:
        del holder[at[-1]]
    else:
        holder[at[-1]] = instead


def _at(value: Any, at: tuple[Any, ...]) -> Any:
    return functools.reduce(operator.getitem, at, value)


def signed(path: Path, manifest: dict[str, Any]) -> None:
    """Write a manifest with the digest that fits it, as its author could."""
    if isinstance(manifest.get("data_digest"), str):
        manifest["data_digest"] = integrity.of_folder(path)
    if "digest" in manifest:
        manifest["digest"] = integrity.of_manifest(manifest)
    (path / "manifest.json").write_text(json.dumps(manifest))


def in_manifest(path: Path, at: tuple[Any, ...], instead: Any) -> None:
    """Replace one value of a run's manifest and sign it anew."""
    manifest = json.loads((path / "manifest.json").read_text())
    put(manifest, at, instead)
    signed(path, manifest)


def manifest_edits(path: Path) -> list[tuple[str, Callable[[Path], None]]]:
    """Return every way to replace, drop or add one value of a run's manifest."""
    manifest = json.loads((path / "manifest.json").read_text())
    ways = [(at, kind) for at in places(manifest) for kind in INSTEAD]
    objects = [(), *(at for at in places(manifest) if isinstance(_at(manifest, at), dict))]
    ways += [((*at, "added"), kind) for at in objects for kind in ("text", "nested", "infinite", "null")]
    return [
        (f"{'.'.join(map(str, at))}: {kind}", functools.partial(in_manifest, at=at, instead=INSTEAD[kind]))
        for at, kind in ways
    ]


# ---------------------------------------------------------------- columns of tables


def rewritten(path: Path, table: str, change: Callable[[pa.Table], pa.Table]) -> None:
    """Change a table of the first start, and write digests and manifest that fit, as a person could."""
    file = path / table / "00000.parquet"
    changed = change(pq.ParquetFile(file).read())
    pq.write_table(changed, file)
    digests = path / "digests" / "00000.sha256"
    known = integrity.read(digests.read_text()) | {f"{table}/{file.name}": integrity.digest(file.read_bytes())}
    digests.write_text(integrity.written(known))
    signed(path, json.loads((path / "manifest.json").read_text()))


def _with(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    place = table.schema.get_field_index(name)
    return table.set_column(place, pa.field(name, values.type), values)


def _constant(table: pa.Table, name: str, value: Any) -> pa.Table:
    kind = table.schema.field(name).type
    try:
        return _with(table, name, pa.array([value] * len(table), kind))
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return _with(table, name, pa.array([value] * len(table)))


COLUMN: dict[str, Callable[[pa.Table, str], pa.Table]] = {
    "dropped": lambda table, name: table.drop_columns([name]),
    "renamed": lambda table, name: table.rename_columns(
        [f"{one} " if one == name else one for one in table.column_names]
    ).replace_schema_metadata(table.schema.metadata),
    "binary": lambda table, name: _with(table, name, pa.array([b"\xff\xfe"] * len(table), pa.binary())),
    "text": lambda table, name: _with(table, name, pa.array(["x"] * len(table), pa.string())),
    "float": lambda table, name: _with(table, name, pa.array([0.5] * len(table), pa.float64())),
    "null": lambda table, name: _with(table, name, pa.nulls(len(table), table.schema.field(name).type)),
    "twice": lambda table, name: table.append_column(name, table[name]),
    "negative": lambda table, name: _constant(table, name, -1),
    "zero": lambda table, name: _constant(table, name, 0),
    "huge": lambda table, name: _constant(table, name, 2**31 - 1 if "32" in str(table.schema.field(name)) else 2**62),
    "infinite": lambda table, name: _constant(table, name, float("inf")),
    "not a number": lambda table, name: _constant(table, name, float("nan")),
    "no JSON": lambda table, name: _constant(table, name, "{"),
}
TABLE: dict[str, Callable[[pa.Table], pa.Table]] = {
    "emptied": lambda table: table[:0],
    "rows twice": lambda table: pa.concat_tables([table, table]),
    "one row": lambda table: table[:1],
    "other order": lambda table: table.take(list(reversed(range(len(table))))),
    "no metadata": lambda table: table.replace_schema_metadata({}),
}


def table_edits(path: Path) -> list[tuple[str, Callable[[Path], None]]]:
    """Return every way to change a column or the rows of a run's tables."""
    found: list[tuple[str, Callable[[Path], None]]] = []
    for table in sorted(folder.name for folder in path.iterdir() if (folder / "00000.parquet").exists()):
        changes = dict(TABLE)
        for name in pq.ParquetFile(path / table / "00000.parquet").schema_arrow.names:
            changes |= {f"{name}, {kind}": functools.partial(change, name=name) for kind, change in COLUMN.items()}
        found += [
            (f"{table}: {kind}", functools.partial(rewritten, table=table, change=change))
            for kind, change in changes.items()
        ]
    return found


# ---------------------------------------------------------------- judging


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in whatever lasts longer."""

    def late(*_: object) -> None:
        raise TimeoutError(f"it took more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def fault(look: Callable[[Path], str], path: Path, expected: str | None = None) -> str:
    """Return what is wrong with how a run answers, or nothing: it may be refused in a sentence that names it.

    With ``expected`` all else that it may do is to show exactly that.
    """
    try:
        with within(PATIENCE_S):
            shown = look(path)
    except BenchError as refused:
        text = str(refused)
        if "\n" in text or len(text) > 1000:
            return f"more than a sentence: {text[:200]!r}"
        return "" if path.name in text else f"a sentence that names no file: {text}"
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return "shows something else" if expected is not None and shown != expected else ""


def tries(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Alter copies of a run in ``count`` ways; yield each with what was wrong with the answer, or nothing.

    A third are of the manifest's values, a sixth of tables, a tenth each lost files, and links and other special
    files, the others of bytes; those that there are not enough of are replaced by more of bytes.
    """
    chance, path = random.Random(seed), original().folder.path
    expected = whole(path)
    edits = chance.sample(found := manifest_edits(path), min(len(found), count // 3))
    edits += chance.sample(found := table_edits(path), min(len(found), count // 6))
    for what, edit in edits:
        with copied(path) as copy:
            edit(copy)
            yield what, fault(everything, copy)
    done, tenth = len(edits), count // 10
    for number in range(tenth):
        done += 1
        with copied(path) as copy:
            what = lost(copy, random.Random(seed * 1_000_033 + number))
            yield what, fault(whole, copy, expected) or fault(asked, copy, expected)
    tables = {name: Folder(path).read_file(path / name / "00000.parquet", name) for name in ("ledger", "samples")}
    for what, edit in chance.sample(found := special_files(path), min(len(found), tenth)):
        done += 1
        with copied(path) as copy:
            edit(copy)
            yield what, special_fault(what, copy, tables)
    for number in range(count - done):
        with copied(path) as copy:
            what, changed = flipped(copy, random.Random(seed * 1_000_003 + number))
            yield what, fault(whole, copy, expected if changed else None)


@contextlib.contextmanager
def copied(path: Path) -> Iterator[Path]:
    """Yield a copy of a run, older by its name, which is removed at the end."""
    copy = path.with_name(f"0{path.name}")
    shutil.copytree(path, copy)
    try:
        yield copy
    finally:
        shutil.rmtree(copy)
