"""A host's clock that is set within a window: the start is refused by name, and the run is resumed without it."""

import pytest

from bench.errors import SystemFailedError
from bench.measurement import routers
from bench.measurement.hosts.host import HERE, Assignment, ClockReading, Host
from bench.measurement.start import measure
from bench.plan.case import Case

pytestmark = pytest.mark.slow

CASE = Case("sockets", "tcp", placement="free")
SECOND = 10**9


class Read(Host):
    """This machine as a host of the name ``far``, whose clock reads as it is told."""

    name = "far"

    def __init__(self, readings):
        self._readings = iter(readings)

    def clock(self, exchanges=0):
        return next(self._readings)


def loads_on(host, monkeypatch):
    """Let the clients of all starts run on a host."""
    monkeypatch.setattr(routers.Routers, "hosts", lambda self, case: Assignment(HERE, (host,)))


def readings(*offsets_ns):
    """Readings a second apart."""
    return [ClockReading(offset_ns, 1000, number * SECOND) for number, offset_ns in enumerate(offsets_ns)]


def test_a_clock_that_was_set_is_named_and_the_start_is_not_kept(monkeypatch):
    loads_on(Read(readings(0, 1_100_000)), monkeypatch)
    with pytest.raises(SystemFailedError, match="host far") as failed:
        measure(CASE, 0.05, 1)
    assert "\n" not in str(failed.value) and "-p resume true" in str(failed.value)
