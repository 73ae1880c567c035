"""The list of runs is kept: a run is read again when its folders have changed, and not otherwise."""

import pytest
from handmade import handmade

from bench.plan import paths
from bench.plan.case import Case
from bench.run import listed, query


@pytest.fixture
def reads(monkeypatch):
    """Return the ids of the runs that are read; two runs are many here, and no change is too recent."""
    monkeypatch.setattr(listed, "FEW", 2)
    monkeypatch.setattr(listed, "SETTLED_NS", -(1 << 60))
    read, ids = query._row, []
    monkeypatch.setattr(query, "_row", lambda folder: (ids.append(folder.id), read(folder))[1])
    return ids


def test_runs_are_read_when_they_have_changed(reads):
    made = [handmade([Case("zeromq", "ipc")], [100], starts=starts, calls=50) for starts in (2, 3)]
    first = query.runs()
    assert sorted(first["starts_done"]) == [2, 3] and len(reads) == 2
    assert query.runs().equals(first) and len(reads) == 2
    (paths.runs() / listed.NAME).write_text("{")  # damaged
    assert query.runs().equals(first) and len(reads) == 4
    made[0].folder.update(finished=False)
    assert sorted(query.runs()["finished"]) == sorted(query.runs()["finished"]) == [False, True]
    assert reads[4:] == [made[0].id]
    (ledger,) = made[0].folder.files("ledger")
    ledger.unlink()
    ledger.write_bytes(b"PAR1")
    for number in (5, 6):  # a damaged run is named each time
        assert list(query.runs().index) == [made[1].id] and reads[number:] == [made[0].id]


def test_a_change_just_now_is_looked_at_again_and_of_few_runs_nothing_is_kept(reads, monkeypatch):
    monkeypatch.setattr(listed, "SETTLED_NS", 1 << 60)
    for _ in range(2):
        handmade([Case("zeromq", "ipc")], [100], starts=1, calls=50)
    assert len(query.runs()) == len(query.runs()) == 2 and len(reads) == 4
    monkeypatch.setattr(listed, "SETTLED_NS", 0)
    monkeypatch.setattr(listed, "FEW", 3)
    query.runs()
    assert not (paths.runs() / listed.NAME).exists()
