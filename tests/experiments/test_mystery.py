"""mystery.ipynb plans its boxes."""

import pytest

from bench.errors import UsageError
from bench.grammar.experiment import experiment


def test_the_plan_always_has_the_sound_box_and_refuses_others():
    plan = experiment("mystery").plan(box="b", sizes=[6000, 100])
    assert [(case.options.get("box"), case.payload_bytes, case.callers) for case in plan.cases[:-1]] == [
        (name, *factors) for name in ("b", "sound") for factors in ((100, 1), (100, 4), (6000, 1))
    ]
    with pytest.raises(UsageError, match=r"'g'.*a, b, c, d, e, f, sound"):
        experiment("mystery").plan(box="g")
