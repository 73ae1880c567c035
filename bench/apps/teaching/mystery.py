"""The boxes of mystery.ipynb: a diagnosis is judged against a hash, with the evidence that it would need."""

import hashlib
from collections.abc import Callable

from bench.apps.teaching.exercises import Judgement
from bench.errors import unknown

BOXES = tuple(f"mystery {letter}" for letter in "ABCDEF")

EVIDENCE = {  # of each suspect: what it would show, and nothing about which box has it
    "nagle": "a time of about 0.04 s that does not depend on the work, little CPU, and about one delayed "
    "acknowledgement for each call in the kernel's count",
    "connection per call": "one new connection for each call in the kernel's count, several times the segments, and "
    "more CPU time for the same work",
    "late calls": "a median like the sound box's and a tail far above it, alike in every start: look at the "
    "distribution above 99 %, and at lone dots over time",
    "lock convoy": "one caller served like the sound box's, and callers that bring nothing: the same rate by all of "
    "them together, and yet no CPU that is busy",
    "stale server": "starts that differ from each other far more than calls do, and times that go with the process "
    "that answered",
    "gzip": "round trips like the sound box's up to some payload, and above it a jump in time and in the server's CPU",
}
SYNONYMS = {
    "delayed ack": "nagle",
    "delayed acknowledgement": "nagle",
    "tcp_nodelay": "nagle",
    "reconnect": "connection per call",
    "no keep-alive": "connection per call",
    "tail": "late calls",
    "slow calls": "late calls",
    "lock": "lock convoy",
    "global lock": "lock convoy",
    "old server": "stale server",
    "second server": "stale server",
    "compression": "gzip",
    "gzip cliff": "gzip",
}
SEALED = {
    *("e53c51431d2f2b27", "3212785004f5afa3", "c01adaa3e8df85e2"),
    *("4aa294769fb647c0", "afb6b0d419bf1690", "f990cd72a3eb6ac7"),
}


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
    return sealed in SEALED


def judge(exercise: str) -> Callable[[object], Judgement]:
    """Return what judges a diagnosis of one box ("mystery A")."""

    def of(answer: object) -> Judgement:
        named = suspect(answer)
        if is_right(exercise.split()[1], named):
            return Judgement(f"**Right**: {named}. Its signs: {EVIDENCE[named]}.", True)
        return Judgement(f"**Not {named}.** That would show as {EVIDENCE[named]}. Does this box?", False)

    return of
