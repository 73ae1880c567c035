"""Hosts with clocks of their own, 50 ms and 10 s off, conducted by the engine: their offsets, and their times."""

import itertools
from dataclasses import replace

import pytest
from namespaces import bed, registered

from bench.analysis import checks
from bench.analysis.trust_card import PASS
from bench.errors import SystemFailedError
from bench.measurement import routers, runner
from bench.measurement.hosts import remote
from bench.measurement.hosts.host import LEAST, MOST
from bench.measurement.start import measure
from bench.measurement.validation.profiles import make_plan
from bench.plan.case import Case
from bench.run import stored
from bench.run.frames import Run

pytestmark = pytest.mark.slow

WINDOW_S = 0.2


@pytest.fixture
def assignment(monkeypatch):
    """The bed, and its two hosts in their roles: the first serves, the second loads."""
    with bed(0.05, 10) as made, registered(made) as scheduler, remote.connected({"scheduler": scheduler}) as hosts:
        monkeypatch.setattr(routers.Routers, "hosts", lambda self, case: hosts)
        yield made, hosts


def test_clocks_are_known_clients_go_at_one_instant_and_a_run_resumes_after_a_step(assignment, monkeypatch):
    made, hosts = assignment
    for host, conducted in zip(made.hosts, hosts.all(), strict=True):
        assert conducted.name == host.name
        for times in (MOST, LEAST) * 5:
            reading = conducted.clock(times)
            assert abs(reading.offset_ns - host.offset_ns) <= reading.bound_ns
    record = measure(Case("sockets", "tcp", placement="free", clients=2), WINDOW_S, 1)
    assert len(record.calls) == 2
    for send_ns, received_ns in record.calls:  # since go, by the host's own clock: 10 s off would be far outside
        assert send_ns[0] >= 0 and (received_ns > send_ns).all()
        assert (received_ns[:-1] < 1e9 * WINDOW_S).all()  # after the first reply that comes later, nothing is sent
    plan = make_plan("latency", [Case("sockets", "tcp", placement="free")], starts=3, window_s=WINDOW_S)
    (loading,), read, number = hosts.load, hosts.load[0].clock, itertools.count()

    def stepped(exchanges):  # after the window of the second start
        reading = read(exchanges)
        return reading if next(number) != 3 else replace(reading, offset_ns=reading.offset_ns - 10**9)

    monkeypatch.setattr(loading, "clock", stepped)
    with pytest.raises(SystemFailedError, match=f"host {loading.name}"):
        runner.run(plan)
    folder = stored.unfinished(plan)
    assert folder.done() == {0} and (first := Run(folder).ledger.loc[0, "utc"])
    run = Run(runner.run(plan, folder))
    assert list(run.ledger.index) == [0, 1, 2] and run.ledger.loc[0, "utc"] == first
    for host in made.hosts:
        rows = run.hosts[run.hosts["host"] == host.name]
        assert len(rows) == 3
        for name in ("", "after_"):
            assert ((rows[f"{name}offset_ns"] - host.offset_ns).abs() <= rows[f"{name}bound_ns"]).all()
        assert (rows["at_ns"] < 0).all() and (rows["after_at_ns"] > 1e9 * WINDOW_S).all()
    card = {one.name: one for one in checks.check(run)}
    assert card["clocks"].verdict == PASS and "ppm" in card["clocks"].found
