"""The record of the machine."""

import pytest

from bench.apps import doctor
from bench.measurement import machine


@pytest.mark.parametrize(("text", "polls_ns"), [("0\n", 0), ("200000\n", 200_000), (None, None)])
def test_how_idle_cpus_wait_is_recorded_and_shown(text, polls_ns, tmp_path, monkeypatch):
    file = tmp_path / "guest_halt_poll_ns"
    if text is not None:
        file.write_text(text)
    monkeypatch.setattr(machine, "HALT_POLL", str(file))
    assert machine.record()["idle_poll_ns"] == polls_ns
    (finding,) = (examine() for examine in doctor.EXAMINATIONS if examine.__name__ == "_idle")
    assert finding.observed and not finding.advice
