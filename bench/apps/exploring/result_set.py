"""A set of results: cases of several runs, kept as one run so that their figure can be drawn again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bench.plan.case import Case
from bench.run import schema, stored
from bench.run.frames import Run

Numbers = dict[tuple[str, int], int]  # of a run and what it numbers


@dataclass(frozen=True)
class Result:
    """One case of a run."""

    run: Run
    number: int

    @property
    def case(self) -> Case:
        """The case itself."""
        return self.run.case(self.number)

    def starts(self) -> list[int]:
        """Return the starts of this case that are complete."""
        return [int(start) for start in self.run.ledger_of(self.number).index]


def collect(results: Sequence[Result]) -> Run:
    """Return results as one run: of a whole run that run itself, else a new one among your runs that holds them.

    Its manifest names the runs they come from (``collected``): cases of different ones were not measured in turns.
    """
    run = max((result.run for result in results), key=lambda run: run.plan.slice_s)
    if [(id(run), case) for case in range(len(run.plan.cases))] == [
        (id(result.run), result.number) for result in results
    ]:
        return run
    cases, starts = tuple(result.case for result in results), max(len(result.starts()) for result in results)
    plan = replace(run.plan, notebook="explore", cases=cases, starts=starts, absent={}, groups=())
    facts = {name: run.manifest[name] for name in ("machine", "versions", "git")}
    records = {name: record for result in results for name, record in result.run.manifest.get("hosts", {}).items()}
    facts |= {"hosts": records} if records else {}
    folder = stored.create(plan, facts | {"collected": [result.run.id for result in results]})
    folder.write_all({name: together(results, name) for name in schema.TABLES})
    folder.update(finished=True)
    return Run(folder)


def together(results: Sequence[Result], name: str) -> pa.Table:
    """Return a table of all results, with starts, blocks and cases numbered anew; a run's blocks stay together."""
    parts, first = [], 0
    blocks: Numbers = {}
    groups: Numbers = {}
    for case, result in enumerate(results):
        own, table = result.starts(), result.run.folder.read(name)
        table = table.filter(pc.is_in(table["start"], value_set=pa.array(own, pa.int32())))
        changed = {"start": first + np.searchsorted(own, table["start"].to_numpy())}
        if name == "ledger":
            changed |= _of_ledger(result.run.id, table, changed["start"], blocks, groups) | {
                "case": [case] * len(table)
            }
        for column, values in changed.items():
            kind = schema.TABLES[name].field(column).type
            table = table.set_column(table.schema.get_field_index(column), column, pa.array(values, kind))
        parts.append(schema.conform(table, name))
        first += len(own)
    return pa.concat_tables(parts)


def _of_ledger(run: str, ledger: pa.Table, starts: Any, blocks: Numbers, groups: Numbers) -> dict[str, Any]:
    """Return the new blocks of a result's starts, and the start after which a group that took turns is named.

    blocks, groups: the new number of each (run, number there), to which these are added.
    """
    before = zip(ledger["turns_with"].to_pylist(), starts, strict=True)
    return {
        "block": [blocks.setdefault((run, block), len(blocks)) for block in ledger["block"].to_pylist()],
        "turns_with": [None if old is None else groups.setdefault((run, old), int(new)) for old, new in before],
    }
