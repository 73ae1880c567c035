"""The record of the machine, and what doctor says of its idle CPUs."""

from pathlib import Path

import pytest

from bench.apps import doctor
from bench.measurement import machine


@pytest.mark.parametrize(
    ("text", "polls_ns", "says"),
    [
        ("0\n", 0, "as root: echo 200000 > "),
        ("200000\n", 200_000, "shorter than where they halt"),
        (None, None, "not visible"),
    ],
)
def test_how_idle_cpus_wait_is_recorded_and_named(
    text: str | None, polls_ns: int | None, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "guest_halt_poll_ns"
    if text is not None:
        file.write_text(text)
    monkeypatch.setattr(machine, "HALT_POLL", str(file))
    assert machine.record()["idle_poll_ns"] == polls_ns
    (finding,) = (examine() for examine in doctor.EXAMINATIONS if examine.__name__ == "_idle")
    assert says in finding.observed and not finding.advice
