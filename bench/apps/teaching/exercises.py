"""One exercise: an answer gets a hint, from given data and relations, never from a measured speed."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from IPython.display import Markdown

from bench.errors import UsageError, unknown
from bench.plan import parameters
from bench.text import quoted

WITHIN = 0.02  # of the right number: for what was rounded


class Judgement(Markdown):  # type: ignore[misc, unused-ignore]
    """The text for an answer, which a notebook shows; true if the answer is right."""

    def __init__(self, text: str, is_right: bool) -> None:
        super().__init__(text)
        self.is_right = is_right

    def __bool__(self) -> bool:
        return self.is_right


@dataclass(frozen=True)
class Exercise:
    """A question of a notebook with one right answer: a number in ``unit``, or, without a unit, a word.

    why: the text for the right answer. slips: hints for likely wrong answers. hint: for all others.
    """

    name: str
    answer: float | str
    why: str
    hint: str = ""
    unit: str | None = None
    slips: Mapping[float | str, str] = field(default_factory=dict)

    def judge(self, answer: object) -> Judgement:
        """Return whether an answer is right, and a hint if it is not."""
        return self._number(answer) if self.unit is not None else self._word(answer)

    def _number(self, answer: object) -> Judgement:
        value = parameters.literal(answer)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise UsageError(
                f"{self.name} asks for a number{f' ({self.unit})' * bool(self.unit)}, not {quoted(answer)}"
            )
        if math.isclose(value, float(self.answer), rel_tol=WITHIN):
            return Judgement(f"**Right.** {self.why}", True)
        for slip, hint in self.slips.items():
            if math.isclose(value, float(slip), rel_tol=WITHIN):
                return Judgement(f"**Not yet.** {hint}", False)
        direction = "too large" if value > float(self.answer) else "too small"
        return Judgement(f"**Not yet**, {direction}. {self.hint}", False)

    def _word(self, answer: object) -> Judgement:
        word, choices = " ".join(str(answer).lower().split()), [str(self.answer), *map(str, self.slips)]
        if word not in choices:
            raise unknown(f"answer to {self.name}", answer, [f'"{choice}"' for choice in sorted(choices)])
        right = word == self.answer
        return Judgement(f"**Right.** {self.why}" if right else f"**Not yet.** {self.slips[word]}", right)
