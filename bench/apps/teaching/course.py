"""The exercises of the notebooks, read from ``course.yaml``, and the boxes of mystery.ipynb: answers are checked."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import yaml

from bench.apps.teaching import answers, mystery
from bench.apps.teaching.exercises import Exercise, Judgement
from bench.errors import unknown

_WRITTEN = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
EXERCISES = tuple(Exercise(name, **fields) for name, fields in _WRITTEN.items())


NAMES = [*mystery.BOXES, *(entry.name for entry in EXERCISES)]


def check(exercise: str, answer: object = None, hand_in: bool = False) -> Judgement:
    """Return the judgement of an answer to an exercise ("latency e1", "mystery A"): right, or a hint.

    hand_in: store the answer beside the runs, for ``bench submit``. UsageError for an exercise that does not exist, or
    an answer of another type.
    """
    judged = _judged(exercise, answer)
    if hand_in and answer is not None and answer != "":
        answers.keep(exercise, answer)
    return judged


def _judged(exercise: str, answer: object) -> Judgement:
    judges: dict[str, Callable[[object], Judgement]] = {box: partial(mystery.judge, box) for box in mystery.BOXES}
    judges |= {entry.name: entry.judge for entry in EXERCISES}
    if exercise not in judges:
        raise unknown("exercise", exercise, NAMES)
    if answer is None or answer == "":
        return Judgement("Not answered yet: put your answer in the place of `None`, and run the cell again.", False)
    return judges[exercise](answer)
