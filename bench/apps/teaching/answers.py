"""The last answer to each self-test, beside the runs: ``bench submit`` hands them in."""

import contextlib
import json
from pathlib import Path

from bench.plan import paths
from bench.run.files import make_folder, write_json

LONGEST = 100  # signs of an answer in words
LARGEST = 1e300  # of a number that a file may hold
Answer = float | str


def keep(exercise: str, answer: object) -> None:
    """Store an answer that was judged, in place of the one before; DataError if it cannot be written."""
    file = _file(exercise)
    make_folder(file.parent, "ROUNDTRIP_RUNS")
    if isinstance(answer, int | float):
        write_json(file, max(-LARGEST, min(LARGEST, float(answer))))
    else:
        write_json(file, str(answer)[:LONGEST])


def kept(exercises: list[str]) -> dict[str, Answer]:
    """Return the last answer to each exercise that was answered; a file that cannot be read holds none."""
    answers: dict[str, Answer] = {}
    for exercise in exercises:
        with contextlib.suppress(OSError, ValueError):
            answers[exercise] = json.loads(_file(exercise).read_text("utf-8"))
    return answers


def _file(exercise: str) -> Path:
    return paths.runs() / "answers" / f"{exercise.replace(' ', '-')}.json"
