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
    if [(id(run), case) for case in range(len(run.plan.cases))] == [
        (id(result.run), result.case) for result in results
    ]:
        return run
    cases, most = tuple(result.of for result in results), max(len(result.starts()) for result in results)
    plan = replace(run.plan, notebook="explore", cases=cases, starts=most, absent={})
    facts = {name: run.manifest[name] for name in ("machine", "versions", "git")}
    records = {name: record for result in results for name, record in result.run.manifest.get("hosts", {}).items()}
    facts |= {"hosts": records} if records else {}
    folder = stored.create(plan, facts | {"collected": [result.run.id for result in results]})
    folder.write_all({name: together(results, name) for name in schema.TABLES})
    folder.update(finished=True)
    return Run(folder)


def together(results: Sequence[Result], name: str) -> pa.Table:
    """Return a table of all results, with starts and cases numbered anew."""
    parts, first = [], 0
    for case, result in enumerate(results):
        parts.append(_moved(result, name, first, case))
        first += len(result.starts())
    return pa.concat_tables(parts)


def _moved(result: Result, name: str, first: int, case: int) -> pa.Table:
    """Return a result's part of a table, with its starts numbered from ``first`` on, and each a block of its own."""
    own_starts, table = result.starts(), result.run.folder.read(name)
    table = table.filter(pc.is_in(table["start"], value_set=pa.array(own_starts, pa.int32())))
    starts = first + np.searchsorted(own_starts, table["start"].to_numpy())
    changed = {"start": starts} | ({"block": starts, "case": np.full(len(starts), case)} if name == "ledger" else {})
    for column, values in changed.items():
        kind = schema.TABLES[name].field(column).type
        table = table.set_column(table.schema.get_field_index(column), column, pa.array(values, kind))
    return schema.conform(table, name)
