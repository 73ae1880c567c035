"""The rows of the table ``hosts``: a row per host and role, with its clients, its clocks and its counters."""

from bench.contract import PACING
from bench.measurement.hosts.host import Assignment, ClockReading, HostWindow, Metered
from bench.measurement.reports import hosts_of
from bench.plan.case import Case
from bench.process.spec import Done
from bench.run import schema
from bench.run.start_record import StartRecord, tables


class Named:
    """A host of which only the name is asked."""

    address = "10.0.0.2"
    is_remote = True

    def __init__(self, name):
        self.name = name


def done(cpu_ns, numbers=()):
    return Done(client_cpu_ns=cpu_ns, server_cpu_ns=None, voluntary_switches=0, involuntary_switches=0,
                gc_collections=1, calls=1, blobs=[], numbers=numbers)  # fmt: skip


def window(host, number, used):
    before, after = ClockReading(number, 10, 2000), ClockReading(number + 5, 20, 9000)
    return HostWindow(host, number + 3000, before, after, Metered(used, []))


SERVER, FIRST, SECOND, ALONE = map(Named, ("s", "a", "b", "l"))
ALL = Assignment(SERVER, (FIRST, SECOND), ALONE)
WINDOWS = [
    window(SERVER, -7, {"server_cpu_ns": 100, "router_cpu_ns": 11, "server_voluntary_switches": 3, "steal_ns": 1}),
    window(FIRST, 100, {"machine_busy_ns": 1000, "tcp_time_wait": -2}),
    window(SECOND, 200, {}),
    window(ALONE, 300, {}),
]


def test_each_host_has_its_row_with_its_clients_clocks_and_counters():
    client_hosts = ALL.clients(3)
    rows = hosts_of(ALL, client_hosts, WINDOWS, [done(cpu) for cpu in (1, 2, 4, 8)], has_server=True)
    assert [(row["host"], row["role"], row["first_client"], row["clients"]) for row in rows] == [
        ("s", "server", None, 0),
        ("a", "load", 0, 2),
        ("b", "load", 1, 1),
        ("l", "latency", 3, 1),
    ]
    assert [row["cpu_ns"] for row in rows] == [111, 5, 2, 8]
    assert [row["gc_collections"] for row in rows] == [None, 2, 1, 1]
    assert [(row["offset_ns"], row["bound_ns"]) for row in rows[:2]] == [(-7, 10), (100, 10)]
    assert [(row["after_offset_ns"], row["after_bound_ns"]) for row in rows[:2]] == [(-2, 20), (105, 20)]
    assert {(row["at_ns"], row["after_at_ns"]) for row in rows} == {(-1000, 6000)}  # since go, at 3,000
    assert (rows[0]["steal_ns"], rows[1]["machine_busy_ns"], rows[1]["tcp_time_wait"]) == (1, 1000, -2)
    case = Case("sockets", "tcp", clients=3, hosts={"scheduler": "tcp://a:1"})
    record = StartRecord({"window_s": 1.0, "calls": 0}, tables={"hosts": rows})
    made = tables(4, 0, 0, case, record)
    assert not schema.misfit(made["hosts"], "hosts") and not schema.implausible(made["hosts"], "hosts")
    assert made["hosts"]["start"].to_pylist() == [4] * 4


def test_more_hosts_than_clients_leave_some_without_and_a_target_has_no_server_s_row():
    rows = hosts_of(ALL, ALL.clients(1), WINDOWS, [done(1), done(2)], has_server=False)
    assert [(row["host"], row["first_client"], row["clients"], row["cpu_ns"]) for row in rows] == [
        ("a", 0, 1, 1),
        ("b", None, 0, 0),
        ("l", 1, 1, 2),
    ]


def test_a_host_s_row_holds_what_its_clients_spun_until_requests_were_due():
    spun = [done(9000, [(PACING, us, "us"), ("errors", 3.0, "1")]) for us in (2.0, 4.0, 0.5)]
    rows = hosts_of(ALL, ALL.clients(3), WINDOWS, [*spun, done(8)], has_server=True)
    assert [row["cpu_ns"] for row in rows] == [111, 18_000, 9000, 8]
    assert [row["pacing_cpu_ns"] for row in rows] == [None, 2500, 4000, None]
