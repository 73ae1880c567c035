"""Sweeps: the cases of an experiment from its parameters, each of which is validated by what it is declared to be.

A sweep is a generator of cases whose parameters have the kinds below::

    @as_sweep()
    def sweep(amount: InTurns, system: Systems = "zeromq", payload_bytes: Bytes = 1000) -> Iterator[Case]:
        yield from (Case(name, "tcp", payload_bytes, placement=amount.chosen_placement()) for name in system)
"""

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Annotated, Any, NamedTuple, TypeVar

from bench.measurement.validation import cases as valid
from bench.measurement.validation.amount import Amount, InTurns
from bench.measurement.validation.profiles import PROFILES
from bench.plan import parameters
from bench.plan.case import ENGINES, MOST_BYTES, MOST_CLIENTS, MOST_CONNECTIONS, MOST_PER_S, Case
from bench.plan.plan import Plan
from bench.plan.slicing import IN_COMMON

System = Annotated[Any, lambda value, name: valid.one_system(value)]
Systems = Annotated[Any, lambda value, name: valid.chosen_systems(value)]
Bytes = Annotated[Any, partial(parameters.count, at_most=MOST_BYTES)]
ManyBytes = Annotated[Any, partial(parameters.positives, at_most=MOST_BYTES)]
Count = Annotated[Any, partial(parameters.count, at_most=MOST_CLIENTS)]
Counts = Annotated[Any, partial(parameters.positives, at_most=MOST_CLIENTS)]
Connections = Annotated[Any, partial(parameters.count, at_most=MOST_CONNECTIONS)]
Rate = Annotated[Any, partial(parameters.positive, at_most=MOST_PER_S, whole=False)]
Rates = Annotated[Any, valid.offered_rates]
Options = Annotated[Any, parameters.mapping]
Flag = Annotated[Any, parameters.flag]
OwnEngine = Annotated[Any, partial(parameters.one_name, known=("library", "wire"))]  # external ones are closed loads
Engine = Annotated[Any, partial(parameters.one_name, known=ENGINES)]
"""Kinds of parameters: each is a check that takes what a person typed and the parameter's name."""


class Absent(NamedTuple):
    """A system, or another part of what was asked for, that cannot be measured here, and the reason."""

    name: str
    reason: str


Item = TypeVar("Item")


def distinct(items: Iterable[Item]) -> list[Item]:
    """Return each case, or whatever it is, once, in their order."""
    listed = list(items)
    return [item for index, item in enumerate(listed) if item not in listed[:index]]


@dataclass(frozen=True)
class Sweep:
    """The cases of an experiment, from its parameters.

    - cases: a generator of cases, and of what is ``Absent``. The type of its first parameter, a kind of ``Amount``,
      selects the shared parameters; the others are its own. If starts or window depend on the cases, it returns a
      ``Plan`` instead.
    - skips_missing: systems that are not installed are left out, each with its remedy.
    - omits: shared parameters that it does not take.
    - windows_s: windows by profile, in place of the profile's.
    - in_common: factors whose values are the same for all cases that are compared with each other. It is used only if
      there are more cases than take turns in one group: those with the same values then stay together. With
      ``("system", "transport")`` the placements of one system over one transport take turns. Leave it out unless cases
      of different payloads, transports or placements are compared.
    - class_s: the longest window of the profile ``class``.
    - blocks_s: how long all blocks of cases in slices take in the profile ``class``.
    """

    cases: Callable[..., Iterable[Case | Absent] | Plan]
    skips_missing: bool = False
    omits: tuple[str, ...] = ()
    windows_s: Mapping[str, float] = field(default_factory=dict)
    in_common: Sequence[str] = IN_COMMON
    class_s: float | None = None
    blocks_s: float = PROFILES["class"].blocks_s

    @property
    def own(self) -> dict[str, inspect.Parameter]:
        """The parameters of the experiment's own, by name."""
        return dict(list(inspect.signature(self.cases).parameters.items())[1:])

    @property
    def amount(self) -> type[Amount]:
        """The kind of ``Amount`` that holds the shared parameters."""
        first, *_ = inspect.signature(self.cases).parameters
        kind: type[Amount] = typing.get_type_hints(self.cases)[first]
        return kind

    @property
    def parameters(self) -> dict[str, Any]:
        """All parameters with their defaults, the experiment's own at the front."""
        own = {name: declared.default for name, declared in self.own.items()}
        shared = {name: value for name, value in asdict(self.amount()).items() if name not in self.omits}
        return own | {name: value for name, value in shared.items() if name not in own}

    def plan(self, notebook: str, arguments: Mapping[str, Any]) -> Plan:
        """Return the validated plan of some parameters; UsageError names the first one that is wrong."""
        amount = self.amount(**{name: value for name, value in arguments.items() if name not in self.own})
        if amount.profile in self.windows_s and parameters.literal(amount.window_s) is None:
            amount = replace(amount, window_s=self.windows_s[amount.profile])
        made = self.cases(amount, **self._checked(arguments))
        if isinstance(made, Plan):
            return made
        planned = list(made)
        cases = [case for case in planned if isinstance(case, Case)]
        absent = dict(part for part in planned if isinstance(part, Absent))
        if self.skips_missing:
            absent |= valid.absent_of(list(dict.fromkeys(case.system for case in cases)))
            cases = [case for case in cases if case.system not in absent]
        if isinstance(amount, InTurns):
            return amount.plan(notebook, cases, absent, self.class_s, self.in_common, self.blocks_s)
        return amount.plan(notebook, cases, absent, self.class_s)

    def _checked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the experiment's own parameters as their kinds read them."""
        kinds = typing.get_type_hints(self.cases, include_extras=True)
        values = {name: arguments.get(name, declared.default) for name, declared in self.own.items()}
        checks = {name: getattr(kinds[name], "__metadata__", (_as_typed,))[0] for name in values}
        return {name: checks[name](value, name) for name, value in values.items()}


def _as_typed(value: object, name: str) -> object:
    """Return a parameter as it was typed: the sweep itself reads it."""
    return value


def as_sweep(**how: Any) -> Callable[[Callable[..., Iterable[Case | Absent] | Plan]], Sweep]:
    """Make a generator of cases, or a function that returns a plan, a ``Sweep`` with these fields."""
    return lambda cases: Sweep(cases, **how)
