"""Every parameter of every notebook's plan, with values that no person should be able to end a plan by."""

import contextlib
import math
import random
import resource
from pathlib import Path

import inputs
import pytest
from mutations import within

from bench.errors import BenchError
from bench.grammar.experiment import exists, experiment
from bench.text import LONGEST, quoted
from bench.validation import cases

NOTEBOOKS = sorted({notebook for notebook, _ in inputs.parameters() if exists(notebook)})
FEW, SOME = 1, 4  # values of each parameter in the quick test, and in the slow one
LONGEST_SENTENCE = 1000  # characters: the names of all systems are some 500
ENDLESS: list[object] = [1]
ENDLESS.append(ENDLESS)
DEEP: object = 1
for _ in range(5000):
    DEEP = [DEEP]
TYPED = [  # as a cell of a notebook can hold them
    10**401, -(10**5000), math.inf, math.nan, None, True, b"x" * 1000, object(), 1j, {1, 2}, range(3), "\ud800",
    ["\ud800"], [10**401], ["x" * 10**6], ENDLESS, DEEP, [1] * 10**6, [[1] * 10**6] * 10, "x" * 10**6,
    {"a": "x" * 10**6}, {(1, 2): 3}, {1: {2: {3: 10**5000}}}, {"system": "zeromq", "payload_bytes": 10**401},
    {"system": ENDLESS}, "/dev/zero.json", "\x00.json", "\x00.yaml", {"writes": 10**5000, "nodelay": DEEP},
    {"pattern": ENDLESS}, {"codec": 10**5000}, {"scheduler": "tcp://a:1", "server": 10**5000},
    {"scheduler": "tcp://a:1", "load": [DEEP]},
]  # fmt: skip


@contextlib.contextmanager
def little_memory(more=1 << 30):
    """Let this process take at most so many bytes more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def fault(notebook, name, value):
    """Return what is wrong with the answer to a value, or nothing."""
    try:
        with within(inputs.PATIENCE_S), cases.all_present():
            experiment(notebook).plan(**{name: value})
    except BenchError as refused:
        text = str(refused)
        if len(text) > LONGEST_SENTENCE or "\n" in text:
            return f"{len(text)} characters: {text[:300]!r}"
        if isinstance(value, str) and value[LONGEST:] and value[: LONGEST + 1] in text:
            return f"it quotes too much of the value: {text[:300]!r}"
    except BaseException as error:
        return f"{type(error).__name__}: {str(error)[:300]}"
    return ""


def faults(notebook, values):
    """Return what is wrong with the answers to these values of each parameter."""
    found = []
    for name in experiment(notebook).sweep.parameters:
        for number, value in enumerate(values(name)):
            if wrong := fault(notebook, name, value):
                found.append(f"{name}, value {number}, {quoted(value)}: {wrong}")
    return found


def test_a_bad_value_of_every_parameter_is_refused_in_one_sentence():
    chance = random.Random(1)
    with little_memory():
        for notebook in NOTEBOOKS:
            assert not faults(notebook, lambda name: chance.sample(inputs.BAD + TYPED, FEW)), notebook


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_bad_values_of_every_parameter_are_refused_in_one_sentence(notebook):
    chance = random.Random(notebook)
    with little_memory():
        found = faults(notebook, lambda name: chance.sample(inputs.BAD + TYPED, SOME))
    assert not found, "\n".join(found)
