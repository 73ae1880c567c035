"""The boxes of mystery.ipynb: a diagnosis is compared with a hash, and answered with the evidence that it needs."""

import hashlib
from pathlib import Path

import yaml

from bench.apps.teaching.exercises import Judgement
from bench.errors import unknown

BOXES = tuple(f"mystery {letter}" for letter in "ABCDEF")

_WRITTEN = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
EVIDENCE = {name: suspect["symptoms"] for name, suspect in _WRITTEN["suspects"].items()}
SYNONYMS = {word: name for name, suspect in _WRITTEN["suspects"].items() for word in suspect["also"]}


def suspect(answer: object) -> str:
    """Return the suspect that an answer names; UsageError lists them."""
    word = " ".join(str(answer).lower().replace("'s", "").split())
    word = SYNONYMS.get(word, word)
    if word not in EVIDENCE:
        raise unknown("suspect", answer, EVIDENCE)
    return word


def is_right(box: str, named: str) -> bool:
    """Return whether this suspect is in this box ("A")."""
    sealed = hashlib.sha256(f"roundtrip mystery {box.lower()} is {named}".encode()).hexdigest()[:16]
    return sealed in _WRITTEN["sealed"]


def judge(exercise: str, answer: object) -> Judgement:
    """Return the judgement on a diagnosis of one box ("mystery A")."""
    named = suspect(answer)
    if is_right(exercise.split()[1], named):
        return Judgement(f"**Right**: {named}. Its symptoms: {EVIDENCE[named]}.", True)
    return Judgement(f"**Not {named}.** Its symptoms are {EVIDENCE[named]}. Does this box show them?", False)
