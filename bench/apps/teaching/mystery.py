"""The boxes of mystery.ipynb: a diagnosis is compared with a hash, and answered with the evidence that it needs."""

import hashlib
from collections.abc import Callable

from bench.apps.teaching.exercises import Judgement
from bench.errors import unknown

BOXES = tuple(f"mystery {letter}" for letter in "ABCDEF")

EVIDENCE = {  # symptoms of each suspect, without the box that has it
    "nagle": "a round trip of about 0.04 s that does not depend on the work, little CPU time, and about one delayed "
    "ACK per call in the kernel's counter",
    "connection per call": "one new connection per call in the kernel's counter, several times the segments, and "
    "more CPU time for the same work",
    "late calls": "a median like the sound box's and a much longer tail, alike in every start: look at the "
    "distribution above p99, and at single calls over time",
    "lock convoy": "one caller is served like the sound box's, and more callers make no more calls per second in "
    "all, while no CPU is saturated",
    "stale server": "starts that differ from each other far more than the calls of a start do, and times that depend "
    "on the process that answered",
    "gzip": "round trips like the sound box's up to some payload, and above it a jump in time and in server CPU time",
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
    """Return the function that judges a diagnosis of one box ("mystery A")."""

    def of(answer: object) -> Judgement:
        named = suspect(answer)
        if is_right(exercise.split()[1], named):
            return Judgement(f"**Right**: {named}. Its symptoms: {EVIDENCE[named]}.", True)
        return Judgement(f"**Not {named}.** Its symptoms are {EVIDENCE[named]}. Does this box show them?", False)

    return of
