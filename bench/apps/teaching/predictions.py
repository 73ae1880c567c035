"""Predictions: locked before a measurement, scored after it.

Each question has a file of its own in ``data/runs/predictions``, a list of its predictions in order; none is removed.
"""

import math
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from IPython.display import Markdown

from bench.apps.classroom.reading import MOST_SIGNS
from bench.apps.teaching import questions
from bench.apps.teaching.questions import Question
from bench.errors import DataError, UsageError, unknown
from bench.plan import parameters, paths
from bench.plan.plan import Plan
from bench.run.files import writing
from bench.run.frames import Run
from bench.text import listed

FEWEST_WORDS = 3  # of a reason
SWITCH = ("off", "required")


class Prediction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A predicted range in the question's unit, and its reason."""

    low: float
    high: float
    why: str
    utc: str

    @property
    def middle(self) -> float:
        """The geometric mean of the ends: the same factor above the low end as below the high one."""
        return math.sqrt(self.low * self.high)

    def off_by(self, measured: float) -> float:
        """Return abs(ln(predicted/measured)): 0 is exact, 0.69 a factor of two, above or below."""
        return abs(math.log(self.middle / measured))

    def holds(self, measured: float) -> bool:
        """Return whether the range contains a value."""
        return self.low <= measured <= self.high


def predict(question: str, low: object = None, high: object = None, why: str = "", anew: object = False) -> Markdown:
    """Lock a prediction: the answer is between ``low`` and ``high``, for the reason ``why``. Return what is locked.

    Without numbers it only asks the question. A locked prediction stays: a second one is not taken, and that is said;
    ``anew=True`` adds one for the next run and keeps the first on record.
    """
    asked = questions.find(question)
    before = locked(asked)
    if before and not parameters.flag(anew, "anew"):
        return Markdown(f"**{asked.text}** {_kept(asked, before[-1], low, high)}")
    if parameters.literal(low) is None and parameters.literal(high) is None:
        return Markdown(
            f"**{asked.text}** Nothing is predicted yet: give `low` and `high` ({asked.unit}), a range that you would "
            "be surprised to miss, and say `why`."
        )
    new = _checked(asked, low, high, why)
    _keep(asked, [*before, new])
    return Markdown(f"**{asked.text}** Locked: {_range(asked, new)}, because: {new.why}")


def require(plan: Plan, predictions: object = "off") -> None:
    """Raise UsageError if predictions are ``required`` and a question that the plan's run will answer has none."""
    switch = "off" if predictions is False else predictions  # as YAML reads it
    if switch not in SWITCH:
        raise unknown("predictions", predictions, SWITCH)
    if switch == "off":
        return
    missing = [asked for asked in questions.of_plan(plan) if not locked(asked)]
    if missing:
        names = listed(asked.name for asked in missing)
        raise UsageError(
            f"nothing is measured before it is predicted: {names} {'have' if len(missing) > 1 else 'has'} no "
            "prediction; fill in low, high and why above and run that cell"
        )


def locked(asked: Question) -> list[Prediction]:
    """Return the predictions for a question, the first at the front."""
    file = _file(asked)
    try:
        return msgspec.json.decode(file.read_bytes(), type=list[Prediction]) if file.exists() else []
    except (OSError, ValueError) as reason:  # msgspec's errors are ValueErrors
        raise DataError(
            f"cannot read {paths.shown(file)} ({reason}): move it away, and the question is open again"
        ) from reason


def before(asked: Question, run: Run) -> tuple[Prediction | None, str]:
    """Return the last prediction that was locked before a run, and a remark on it.

    A reference run was measured long ago, elsewhere: it answers whatever is predicted.
    """
    made = locked(asked)
    if not made:
        return None, "no prediction was locked"
    when = datetime.fromisoformat(run.manifest["created"])
    early = [prediction for prediction in made if datetime.fromisoformat(prediction.utc) <= when]
    if run.folder.path.is_relative_to(paths.reference()):
        early = made
    if not early:
        return None, "predicted only after this run was measured, so it is not scored"
    return early[-1], f" (prediction {len(early)} of {len(made)})" if len(made) > 1 else ""


def _checked(asked: Question, low: object, high: object, why: str) -> Prediction:
    """Return a prediction that can be scored; raise UsageError with what is missing."""
    ends = [parameters.positive(end, name, 1e12, whole=False) for end, name in ((low, "low"), (high, "high"))]
    if ends[0] > ends[1]:
        raise UsageError(f"low is {ends[0]:g} and high {ends[1]:g} {asked.unit}: give the smaller number first")
    if len(str(why).split()) < FEWEST_WORDS:
        raise UsageError(
            f"say why in at least {FEWEST_WORDS} words: a number without a reason teaches nothing when it is wrong"
        )
    if len(reason := " ".join(str(why).split())) > MOST_SIGNS:
        raise UsageError(f"the reason has {len(reason):,} signs: say it in at most {MOST_SIGNS:,}")
    return Prediction(ends[0], ends[1], reason, datetime.now(UTC).isoformat(timespec="seconds"))


def _kept(asked: Question, first: Prediction, low: object, high: object) -> str:
    other = parameters.literal(low) not in (None, first.low) or parameters.literal(high) not in (None, first.high)
    sentence = f"Locked since {first.utc[:16].replace('T', ' ')} UTC: {_range(asked, first)}, because: {first.why}"
    if not other:
        return sentence
    return f"{sentence}. It stays: the new one is **not** taken (`anew=True` locks one for the next run, beside this)."


def _range(asked: Question, made: Prediction) -> str:
    return f"{made.low:g} to {made.high:g} {asked.unit}"


def _file(asked: Question) -> Path:
    return paths.runs() / "predictions" / f"{asked.name.replace(' ', '-')}.json"


def _keep(asked: Question, made: list[Prediction]) -> None:
    file = _file(asked)
    with writing(file) as temporary:
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n")
