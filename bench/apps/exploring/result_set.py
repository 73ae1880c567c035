"""A set of results: cases of several runs, kept as one run so that their figure can be drawn again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.plan.case import Case
from bench.run import schema, stored
from bench.run.frames import Run


@dataclass(frozen=True)
class Result:
    """One case of a run."""

    run: Run
    case: int

    @property
    def of(self) -> Case:
        """The case itself."""
        return self.run.case(self.case)

    def starts(self) -> list[int]:
        """Return the starts of this case that are complete."""
        return [int(start) for start in self.run.ledger_of(self.case).index]


def collect(results: Sequence[Result]) -> Run:
    """Return results as one run: of a whole run that run itself, else a new one among your runs that holds them.

    Its manifest names the runs they come from (``collected``): such cases were not measured in turns.
    """
    run = results[-1].run
    if [(id(run), case) for case in range(len(run.plan.cases))] == [(id(one.run), one.case) for one in results]:
        return run
    cases, most = tuple(one.of for one in results), max(len(one.starts()) for one in results)
    plan = replace(run.plan, notebook="explore", cases=cases, starts=most, absent={})
    facts = {name: run.manifest[name] for name in ("machine", "versions", "git")}
    records = {name: found for one in results for name, found in one.run.manifest.get("hosts", {}).items()}
    facts |= {"hosts": records} if records else {}
    folder = stored.create(plan, facts | {"collected": [one.run.id for one in results]})
    folder.write_all({name: together(results, name) for name in schema.TABLES})
    folder.update(finished=True)
    return Run(folder)


def together(results: Sequence[Result], name: str) -> pa.Table:
    """Return a table of all results, with starts and cases numbered anew."""
    parts, first = [], 0
    for case, one in enumerate(results):
        parts.append(_moved(one, name, first, case))
        first += len(one.starts())
    return pa.concat_tables(parts)


def _moved(one: Result, name: str, first: int, case: int) -> pa.Table:
    """Return a result's part of a table, with its starts numbered from ``first`` on, and each a block of its own."""
    mine, table = one.starts(), one.run.folder.read(name)
    table = table.filter(pc.is_in(table["start"], value_set=pa.array(mine, pa.int32())))
    starts = first + np.searchsorted(mine, table["start"].to_numpy())
    changed = {"start": starts} | ({"block": starts, "case": np.full(len(starts), case)} if name == "ledger" else {})
    for column, values in changed.items():
        kind = schema.TABLES[name].field(column).type
        table = table.set_column(table.schema.get_field_index(column), column, pa.array(values, kind))
    return schema.conform(table, name)
