"""Alterations of a stored run: bits of its files, lost files, links and pipes, its manifest's values, its columns.

An alteration that leaves the digests wrong must be refused. One whose digests were written anew, as a person could,
must be refused in one sentence that names the run, or be shown as it is. What is no regular file is neither waited
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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from conftest import REFERENCE
from handmade import PAIR, file_by_file, handmade
from trying import within

from bench.apps import listing
from bench.errors import BenchError, DataError
from bench.run import query, schema, stored
from bench.run.folder import Folder
from bench.run.manifest import signature

DROPPED = object()
INSTEAD: list[Any] = [
    None, True, "text", "x" * 5000, [1], [], {"x": 1}, -1, 0.5, 10**30, float("inf"), DROPPED,
    functools.reduce(lambda inner, _: [inner], range(700), []),
]  # fmt: skip
FILLED: list[Any] = [None, b"\xff\xfe", "{", -1, 0, 2**31 - 1, float("inf"), float("nan")]
ROWS: dict[str, Callable[[pa.Table], pa.Table]] = {
    "emptied": lambda table: table[:0],
    "rows twice": lambda table: pa.concat_tables([table, table]),
    "other order": lambda table: table.take(list(reversed(range(len(table))))),
    "no metadata": lambda table: table.replace_schema_metadata({}),
}
SPECIAL: dict[str, Callable[[Path, Path], None]] = {
    "a link": lambda at, victim: at.symlink_to(victim),
    "a link to nothing": lambda at, victim: at.symlink_to(victim.with_name("nothing")),
    "a link to itself": lambda at, victim: at.symlink_to(at),
    "a link to a device": lambda at, victim: at.symlink_to("/dev/zero"),
    "a pipe": lambda at, victim: os.mkfifo(at),
    "a folder": lambda at, victim: at.mkdir(),
}


def original() -> Path:
    """Return the folder of a small run whose manifest has all that a reference run's has."""
    run = handmade(PAIR, [100, 50], starts=2, calls=100, write=file_by_file)
    known, search = (json.loads((REFERENCE / name / "manifest.json").read_text()) for name in ("latency", "capacity"))
    taken = {name: known[name] for name in ("machine", "versions", "git", "checks")}
    failures = [{"start": 1, "case": 0, "error": "the server died"}]
    run.folder.update(**taken, failures=failures, capacity=search["capacity"], collected=[run.id])
    return run.folder.path


def files_of(path: Path) -> list[Path]:
    """Return the files of a run, in order."""
    return sorted(file for file in path.rglob("*") if file.is_file())


# How a run is altered: each does something at random, and returns what.


def in_bytes(path: Path, chance: random.Random) -> str:
    """Flip a bit of a file, cut or empty it, or exchange it with another."""
    file, other = chance.choice(files_of(path)), chance.choice(files_of(path))
    content, kind = file.read_bytes(), chance.choice(["bit", "bit", "bit", "cut", "empty", "other"])
    place = chance.randrange(len(content))
    flipped = content[:place] + bytes([content[place] ^ 1 << chance.randrange(8)]) + content[place + 1 :]
    file.write_bytes({"bit": flipped, "cut": content[:place], "empty": b"", "other": other.read_bytes()}[kind])
    return f"{kind} in {file.relative_to(path)}"


def lost(path: Path, chance: random.Random) -> str:
    """Remove some files, of one table or of any."""
    files = [file for file in files_of(path) if file.name != "manifest.json"]
    table = chance.choice([*sorted({file.parent.name for file in files}), ""])
    there = [file for file in files if table in ("", file.parent.name)]
    gone = chance.sample(there, chance.randint(1, len(there)))
    for file in gone:
        file.unlink()
    return f"lost {', '.join(str(file.relative_to(path)) for file in gone)}"


def special(path: Path, chance: random.Random) -> str:
    """Move a file or folder of a run, or its lock, elsewhere, and put something in its place, which may lead there."""
    name = chance.choice([*sorted(str(file.relative_to(path)) for file in path.rglob("*")), "measuring.lock"])
    kind, victim, at = chance.choice(list(SPECIAL)), elsewhere(path) / Path(name).name, path / name
    at.rename(victim) if at.exists() else victim.write_text("to be kept")
    SPECIAL[kind](at, victim)
    return f"{name}: {kind}"


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each value of a manifest, of a list only to its first, and to one more name in each object."""
    inside = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for name, item in inside:
        yield (*at, name)
        yield from places(item, (*at, name))
    if isinstance(value, dict):
        yield (*at, "added")


def in_manifest(path: Path, at: tuple[Any, ...], instead: Any) -> None:
    """Replace, drop or add a value of a run's manifest, and write the digests that fit, as its author could."""
    manifest = json.loads((path / "manifest.json").read_text())
    holder = functools.reduce(operator.getitem, at[:-1], manifest)
    holder[at[-1]] = instead
    if instead is DROPPED:
        del holder[at[-1]]
    if isinstance(manifest.get("data_digest"), str):
        manifest["data_digest"] = Folder(path).data_digest()
    if "digest" in manifest:
        manifest["digest"] = signature(manifest)
    (path / "manifest.json").write_text(json.dumps(manifest))


def a_value(path: Path, chance: random.Random) -> str:
    """Replace, drop or add a value of the manifest."""
    at = chance.choice(list(places(json.loads((path / "manifest.json").read_text()))))
    instead = chance.choice(INSTEAD)
    in_manifest(path, at, instead)
    return f"{'.'.join(map(str, at))}: {str(instead)[:20]}"


def in_table(path: Path, table: str, change: Callable[[pa.Table], pa.Table]) -> None:
    """Change a table of the first start, and write digests that fit, as a person could."""
    file = path / table / "00000.parquet"
    pq.write_table(change(pq.ParquetFile(file).read()), file)
    in_manifest(path, ("added",), DROPPED)


def filled(table: pa.Table, name: str, value: Any) -> pa.Table:
    """Return a table with one value in a column, of its type if it can be."""
    values = pa.array([value] * len(table))
    with contextlib.suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
        values = values.cast(table.schema.field(name).type)
    return table.set_column(table.schema.get_field_index(name), pa.field(name, values.type), values)


def a_table(path: Path, chance: random.Random) -> str:
    """Fill, drop or repeat a column of a table, or change its rows."""
    table = chance.choice(["ledger", "samples"])
    name, kind = chance.choice(schema.TABLES[table].names), chance.choice(["dropped", "twice", *range(6), *ROWS])
    value = chance.choice(FILLED)
    changes = ROWS | {
        "dropped": lambda table: table.drop_columns([name]),
        "twice": lambda table: table.append_column(name, table[name]),
    }
    in_table(path, table, changes.get(kind, lambda table: filled(table, name, value)))
    return f"{table}, {name}: {kind} {value}"


# How it is looked at.


def whole(path: Path) -> str:
    """Read all of a run; return what it shows."""
    return listing.run_text(str(path))


def compared(path: Path) -> str:
    """Return what it shows in the list of runs and beside its original."""
    with contextlib.redirect_stderr(io.StringIO()):
        query.runs()
    return listing.compared(stored.find("latest").id, str(path), "5%", None).text


def asked(path: Path) -> str:
    """Return what a question by SQL finds in a run; raise what refuses it, where it is left out in one line."""
    with contextlib.redirect_stderr(io.StringIO()) as complaint:
        averages = query.query("select run, avg(rtt_ns) from samples join ledger using (run, start) group by run")
    if path.name in averages["run"].to_list():
        return str(averages)
    raise DataError("\n".join(line for line in complaint.getvalue().splitlines() if path.name in line) or path.name)


def written(path: Path) -> str:
    """Write all that is written into a run: its lock, a start, the manifest, a copy."""
    folder, whole_one = Folder(path), stored.find("latest")
    files = {name: whole_one.path / name / "00000.parquet" for name in ("ledger", "samples")}
    tables = {name: whole_one.read_file(file, name) for name, file in files.items()}
    folder.is_being_measured()
    with folder.measuring():
        folder.append(0, tables)
        folder.failed(0, 0, "an error")
        folder.update(finished=True)
    return folder.data_hash()


def fault(look: Callable[[Path], str], path: Path, expected: str | None = None) -> str:
    """Return what is wrong with how a run answers, or nothing: it may be refused in a sentence that names it.

    With ``expected`` all else that it may do is to show exactly that.
    """
    try:
        with within(20):
            shown = look(path)
    except BenchError as refused:
        text = str(refused)
        is_good = path.name in text and "\n" not in text and len(text) <= 1000
        return "" if is_good else f"no sentence that names it: {text[:200]!r}"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return "shows something else" if expected is not None and shown != expected else ""


def elsewhere(path: Path) -> Path:
    """Return the folder beside a run where what was replaced in it lies, and must stay as it is."""
    return path.with_name("elsewhere")


WAYS = {a_value: 4, a_table: 2, lost: 1, special: 1, in_bytes: 4}  # and how often


def tried(way: Callable[[Path, random.Random], str], path: Path, chance: random.Random) -> tuple[str, str]:
    """Alter a copy of a run in one way; return what was done, and what is wrong with how it answers, or nothing."""
    copy, shown = path.with_name(f"0{path.name}"), whole(path)  # older by its name
    shutil.copytree(path, copy)
    elsewhere(path).mkdir()
    try:
        what = way(copy, chance)
        kept = {file: file.read_bytes() for file in files_of(elsewhere(path))}
        is_unsigned = way in (lost, in_bytes)
        looks = [(whole, shown if is_unsigned else None), (compared, None), (asked, None)]
        mistake = next(filter(None, (fault(look, copy, expected) for look, expected in looks)), "")
        mistake = mistake or (fault(written, copy) if way is special else "")
        is_kept = kept == {file: file.read_bytes() for file in files_of(elsewhere(path))}
        return what, mistake or ("" if is_kept else "it was written through to a file elsewhere")
    finally:
        shutil.rmtree(copy)
        shutil.rmtree(elsewhere(path))


def tries(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Alter copies of a run; yield each alteration with what was wrong with the answer, or nothing."""
    chance, path = random.Random(seed), original()
    for _ in range(count):
        (way,) = chance.choices(list(WAYS), list(WAYS.values()))
        yield tried(way, path, chance)
