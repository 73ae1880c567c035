"""What a class handed in with ``bench submit``, as a table of points with what they are for. Nothing is executed."""

import csv
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from bench.analysis.trust_card import Tally
from bench.apps.classroom import reading
from bench.apps.classroom.reading import Prediction, Refusal, SubmittedRun
from bench.apps.classroom.telling import SHOWN
from bench.apps.teaching import course, labs, mystery, predictions, questions
from bench.apps.teaching.labs import Lab
from bench.errors import BenchError, UsageError
from bench.plan import paths
from bench.run import stored
from bench.run.files import writing
from bench.text import harmless, listed, one_line

FORMULA = ("=", "+", "-", "@")  # begins a text that a spreadsheet would compute

Row = dict[str, str]
Item = tuple[int, str]  # the points of what was handed in, and what it is


def table(folder: Path, lab: Lab) -> tuple[list[Row], list[Refusal]]:
    """Return one row for each pair of a folder of submissions, and the files that are refused.

    A row holds the points of each item of a lab that is counted, and what was handed in for it; the cells of items that
    a person grades are empty. Files without a name of a pair are a row each. UsageError for an empty folder.
    """
    runs, refused = reading.read_folder(folder)
    if not runs and not refused:
        raise UsageError(f"{paths.shown(folder)} is empty: name the folder that holds the files of `submit`")
    pairs: dict[str, list[SubmittedRun]] = defaultdict(list)
    for run in runs:
        pairs[run.name or run.file].append(run)
    equal = reading.by_identity(runs)
    references = {folder.manifest().get("digest") for folder in stored.references()}
    rows = [
        _row(name, of_pair, lab, [remark for run in of_pair for remark in _remarks(run, equal, references)])
        for name, of_pair in pairs.items()
    ]
    return rows, refused


def _remarks(
    run: SubmittedRun, equal: Mapping[str, list[SubmittedRun]], references: Container[str | None]
) -> Iterator[str]:
    """Yield that other files hold a run too, and that it is one that comes with Roundtrip."""
    if len(equal[run.identity]) > 1:
        held = reading.held_by_several(equal[run.identity])
        yield f"{held.file}: {held.reason}"
    if run.run_digest and run.run_digest in references:
        yield f"{run.id} is a stored run of Roundtrip, not measured by this pair"


def _row(name: str, runs: Sequence[SubmittedRun], lab: Lab, remarks: Iterable[str]) -> Row:
    items: dict[str, list[Item]] = defaultdict(list)
    for item, points, what in _handed_in(runs):
        items[item].append((points, what))
    earned = {item: min(most, sum(points for points, _ in items[item])) for item, most in Counter(lab.counted).items()}
    return {
        "name": name,
        "points": f"{sum(earned.values())}",
        "of": f"{len(lab.counted)}",
        **{item: f"{points}" for item, points in earned.items()},
        **dict.fromkeys(_numbered(lab.by_a_person), ""),
        **{f"{item}, handed in": "; ".join(what for _, what in items[item]) or "nothing" for item in earned},
        "cautions": ", ".join(dict.fromkeys(name for run in runs for name in Tally(run.checks).others)) or "none",
        "digests": "; ".join(dict.fromkeys(f"{run.id} {run.run_digest[:SHOWN] or 'none'}" for run in runs)),
        "files": ", ".join(dict.fromkeys(run.file for run in runs)),
        "remarks": "; ".join(dict.fromkeys(remarks)),
    }


def _numbered(items: Sequence[str]) -> list[str]:
    """Return items with a number behind those that a lab asks for several times."""
    times = Counter(items)
    return [f"{item} {items[: index + 1].count(item)}" if times[item] > 1 else item for index, item in enumerate(items)]


def _handed_in(runs: Sequence[SubmittedRun]) -> Iterator[tuple[str, int, str]]:
    """Yield each item that a pair handed in: its name, its points, and what it is; of equal ones the last file's."""
    for asked, made in {made.question: made for run in runs for made in run.predictions}.items():
        yield asked, labs.CLOSED, _predicted(made)
    for exercise, answer in {name: answer for run in runs for name, answer in run.answers.items()}.items():
        is_right, shown = _is_right(exercise, answer), harmless(one_line(f"{answer}"))
        item = labs.BOX if exercise in mystery.BOXES else exercise
        what = f"{exercise}: {shown}" if item == labs.BOX else shown
        yield item, labs.CLOSED * is_right, f"{what}, {'right' if is_right else 'not right'}"
    for file in dict.fromkeys(run.file for run in runs):
        yield labs.FILE, labs.CLOSED, file


def _predicted(made: Prediction) -> str:
    """Return a prediction with its reason, and its score where the run measured what was asked."""
    try:
        unit = questions.find(made.question).unit
    except BenchError:  # of another version
        unit = ""
    reason = harmless(one_line(made.why, reading.MOST_SIGNS))
    range_of = predictions.Prediction(made.low, made.high, made.why, "")
    score = f", measured {made.measured:.3g}, score {range_of.off_by(made.measured):.2f}" if made.measured else ""
    return f"{made.low:g} to {made.high:g} {unit}{score}, because: {reason}"


def _is_right(exercise: str, answer: float | str) -> bool:
    try:
        return bool(course.check(exercise, answer))
    except BenchError:  # an exercise of another version, or a word that is none of the choices
        return False


def text(rows: Sequence[Row], refused: Sequence[Refusal], lab: Lab) -> str:
    """Return the rows as a terminal shows them: the points of each pair, then what it handed in, a line each."""
    lines = []
    for row in rows:
        lines.append(f"{row['name']}: {row['points']} of {row['of']} points")
        lines += (f"  {item}: {row[item]} ({row[f'{item}, handed in']})" for item in dict.fromkeys(lab.counted))
        lines += (f"  {name}: {row[name]}" for name in ("cautions", "digests", "remarks") if row[name])
    lines += (f"refused: {one.file}: {one.reason}" for one in refused)
    by_a_person = f"a person grades {listed(lab.by_a_person)}, {labs.OPEN} points each" * bool(lab.by_a_person)
    return "\n".join([*lines, f"The lab has {lab.maximum} points: {len(lab.counted)} are counted here; {by_a_person}"])


def write(rows: Sequence[Row], target: Path) -> None:
    """Write the rows as CSV; no cell begins with a sign by which a spreadsheet knows a formula."""
    with writing(target, "-o") as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else ["name"])
        writer.writeheader()
        writer.writerows(
            {name: f"'{cell}" if cell.startswith(FORMULA) else cell for name, cell in row.items()} for row in rows
        )
