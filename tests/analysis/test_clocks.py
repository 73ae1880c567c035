"""The check of the hosts' clocks passes where instants can be compared, and names the host where they cannot."""

from types import SimpleNamespace

import pandas as pd
import pytest
from handmade import handmade, noisy

from bench.analysis import checks, clocks
from bench.analysis.trust_card import CAUTION, INVALID, PASS
from bench.errors import UsageError
from bench.plan import hosts as plan_hosts
from bench.plan.case import Case

SECOND = 10**9


def hosts(*rows):
    """Rows of the table: (start, host, offset, bound, later offset, later bound), the readings a second apart."""
    names = ("start", "host", "offset_ns", "bound_ns", "after_offset_ns", "after_bound_ns")
    return pd.DataFrame(rows, columns=names).assign(at_ns=-1000, after_at_ns=SECOND - 1000)


def agreement(*rows, window_s=1.0):
    table = hosts(*rows)
    ledger = pd.DataFrame({"window_s": window_s}, index=table["start"].unique())
    return clocks.clocks(SimpleNamespace(hosts=table, ledger=ledger))


CONDUCTOR = (0, "here", 0, 0, 0, 0)


def test_clocks_that_are_known_well_pass_with_the_largest_bound_and_drift_by_host():
    check = agreement(
        CONDUCTOR,
        (0, "one", 50_000_000, 20_000, 50_003_000, 18_000),
        (1, "two", 10 * SECOND, 9000, 10 * SECOND - 12_000, 30_000),
    )
    assert check.verdict == PASS and check.name == "clocks" and not check.advice
    facts = ("42.0 us", "0.00%", "30.0 us (host two)", "-12.0 ppm", "39.0 ppm (host two)", "420 us")
    assert all(fact in check.found for fact in facts)


def test_two_hosts_are_as_far_apart_as_both_are_from_the_conductor():
    rows = [CONDUCTOR, (0, "one", 0, 5000, 0, 5000), (0, "two", 0, 3000, 1000, 3000), (0, "three", 0, 1, 0, 1)]
    assert clocks.apart_ns(clocks.known(hosts(*rows))) == {0: 9000}  # 5,000 and 1,000 + 3,000
    assert clocks.apart_ns(clocks.known(hosts(*rows[:2]))) == {0: 5000}


@pytest.mark.parametrize(("bound_ns", "verdict"), [(1_000_000, PASS), (1_000_001, CAUTION)])
def test_a_window_whose_edges_are_not_known_within_one_per_cent_is_a_caution(bound_ns, verdict):
    check = agreement(CONDUCTOR, (0, "one", 0, bound_ns, 0, bound_ns), window_s=0.1)
    assert check.verdict == verdict and "1.00%" in check.found and "(host one)" in check.found
    assert bool(check.advice) == (verdict == CAUTION)
    assert agreement(CONDUCTOR, (0, "one", 0, bound_ns, 0, bound_ns), window_s=1.0).verdict == PASS


def test_clocks_that_were_not_compared_are_a_caution():
    assert agreement((0, "one", None, None, None, None)).verdict == CAUTION
    assert agreement((0, "one", 0, 1000, None, None)).verdict == CAUTION


@pytest.mark.parametrize("step_ns", [SECOND, -SECOND])
def test_a_clock_that_was_set_in_the_window_is_invalid(step_ns):
    fine = (0, "one", 0, 5000, 900_000, 5000)  # 900 ppm: a bad clock, but a clock
    check = agreement(CONDUCTOR, fine, (3, "two", 7, 5000, 7 + step_ns, 5000))
    assert check.verdict == INVALID and check.advice
    assert all(fact in check.found for fact in ("host two", f"{step_ns // 10**6:+,}.0 ms", " 3"))
    assert agreement(CONDUCTOR, fine).verdict == PASS


def far(*readings):
    """A run of six starts in which two hosts took part, whose rows hold these readings beside those of the server."""
    hosts = [
        {"host": name, "role": role, "clients": 0, "offset_ns": offset_ns, "bound_ns": bound_ns, "at_ns": -5000,
         "after_offset_ns": offset_ns + change_ns, "after_bound_ns": bound_ns, "after_at_ns": SECOND}
        for name, role, offset_ns, bound_ns, change_ns in (("srv", "server", 7, 1000, 0), *readings)
    ]  # fmt: skip
    return handmade([Case("sockets", "tcp", placement="free")], [100], shape=noisy, hosts=hosts)


def test_the_card_has_the_check_where_several_hosts_took_part():
    card = {one.name: one for one in checks.check(far(("ld", "load", 10 * SECOND, 20_000, 0)))}
    assert list(card) == [*(check.__name__ for check in checks.ALL), "clocks", "hosts", "stalls"]
    assert card["clocks"].verdict == PASS and "20.0 us (host ld)" in card["clocks"].found
    stepped = far(("ld", "load", 10 * SECOND, 20_000, SECOND))
    assert clocks.clocks(stepped).verdict == INVALID and checks.tally(stepped).is_invalid
    assert len(checks.tally(stepped).verdicts) == len(checks.ALL) + 3


@pytest.mark.parametrize("load", ["stream", "reply_stream"])
def test_no_load_whose_times_lie_between_two_clocks_is_made_on_several_hosts(load):
    case = Case("zeromq", "tcp", placement="free", load=load, hosts={"scheduler": "tcp://10.0.0.1:8786"})
    with pytest.raises(UsageError, match="hosts"):
        plan_hosts.check(case)
