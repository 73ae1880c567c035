"""The parameter ``hosts``: an address or a file of roles, else refused in one sentence; and cases on other hosts."""

import re
from dataclasses import replace

import msgspec
import pytest

from bench.errors import UsageError
from bench.measurement.validation.profiles import make_plan
from bench.plan import hosts
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.run import manifest

SCHEDULER = "tcp://10.0.0.1:8786"
FAR = Case("zeromq", "tcp", placement="free", hosts={"scheduler": SCHEDULER})
ROLES = {"scheduler": SCHEDULER, "server": "a", "load": ["b", "c"], "latency": "d"}


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("", {}), (None, {}), ({}, {}), (ROLES, ROLES), (SCHEDULER, {"scheduler": SCHEDULER}),
        ("tls://scheduler.example:8786", {"scheduler": "tls://scheduler.example:8786"}),
        ("tcp://[::1]:8786", {"scheduler": "tcp://[::1]:8786"}), (f" {SCHEDULER} ", {"scheduler": SCHEDULER}),
    ],
)  # fmt: skip
def test_nothing_is_this_machine_an_address_is_a_schedulers_and_roles_are_asked_again(value, wanted):
    assert hosts.asked(value) == wanted == hosts.asked(hosts.asked(value))


def test_a_file_names_the_roles(tmp_path, monkeypatch):
    (tmp_path / "h.yaml").write_text(f"scheduler: {SCHEDULER}\nload: [b, 7]\nserver: a\nlatency:\n")
    assert hosts.asked(str(tmp_path / "h.yaml")) == {"scheduler": SCHEDULER, "server": "a", "load": ["b", "7"]}
    monkeypatch.chdir(tmp_path)
    (tmp_path / "h.yml").write_text(f"scheduler: {SCHEDULER}\nload: b\n")
    assert hosts.asked("h.yml") == {"scheduler": SCHEDULER, "load": ["b"]}


WRONG = ("udp://a:1", "a", "tcp://:8786", "tls://a:99999", "tcp://a:1/x", "absent.yaml")


@pytest.mark.parametrize("value", WRONG)
def test_what_is_neither_is_refused(value):
    with pytest.raises(UsageError, match=re.escape(value)):
        hosts.asked(value)


CONTENTS = (
    "[", "- a", "server: a", f"scheduler: {SCHEDULER}\nclients: a", f"scheduler: {SCHEDULER}\nload: []",
    f"scheduler: {SCHEDULER}\nload: [a, {{}}]", f"scheduler: {SCHEDULER}\nserver: [a, b]",
    f"scheduler: {SCHEDULER}\nserver: a b", f"scheduler: {SCHEDULER}\nserver: a\nload: [b, a]",
    f"scheduler: {SCHEDULER}\nload: [b, b]", "scheduler: 8786",
)  # fmt: skip


@pytest.mark.parametrize("content", CONTENTS)
def test_a_file_that_is_wrong_is_refused_with_its_name(content, tmp_path):
    (tmp_path / "h.yaml").write_text(content)
    with pytest.raises(UsageError, match=r"h\.yaml"):
        hosts.asked(str(tmp_path / "h.yaml"))


@pytest.mark.parametrize(
    "changed",
    [
        {"transport": "ipc"}, {"placement": "same"}, {"load": "stream"}, {"system": "http_stdlib", "engine": "wrk"},
        {"target": "tcp://10.0.0.9:1", "hosts": ROLES}, {"hosts": {"server": "a"}},
    ],
)  # fmt: skip
def test_a_case_that_hosts_cannot_measure_is_refused(changed):
    with pytest.raises(UsageError):
        make_plan("latency", [replace(FAR, **changed)])


def test_the_instrument_keeps_its_transport_and_a_target_takes_all_hosts_for_load():
    loopback = replace(FAR, system="loopback", transport="inproc")
    called = replace(FAR, target="tcp://10.0.0.9:1")
    assert [case.hosts for case in make_plan("latency", [loopback, called, FAR]).cases] == 3 * [FAR.hosts]


def test_a_plan_with_hosts_survives_its_manifest():
    plan = make_plan("latency", [replace(FAR, hosts=ROLES | {"plain": True}), FAR, replace(FAR, hosts={})])
    assert Plan.from_dict(plan.as_dict()) == plan
    msgspec.convert(plan.as_dict(), manifest.PLAN)
    for wrong in ({"load": "a"}, {"clients": ["a"]}, {"scheduler": 5}):
        stored = plan.as_dict()
        stored["cases"][0]["hosts"] |= wrong
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(stored, manifest.PLAN)


def test_one_more_process_measures_latency():
    far = replace(FAR, clients=3, callers=2, hosts=ROLES)
    assert (far.processes, far.under_way) == (4, 8)
    assert (replace(far, hosts={}).processes, replace(far, hosts={}).under_way) == (3, 6)


def test_the_roles_are_said_as_far_as_they_are_known():
    assert hosts.described(ROLES).endswith(f"{SCHEDULER}: server a; load b and c; latency d")
    assert SCHEDULER in hosts.described({"scheduler": SCHEDULER}) and hosts.described({}) == ""
