"""whatif: which pairs are predicted, from what, and what is refused."""

import pytest
from handmade import reference

from bench.analysis import anatomy
from bench.analysis.anatomy import ROWS
from bench.analysis.call_path import KERNEL, USER, WAKING
from bench.errors import UsageError
from bench.experiments import whatif
from bench.grammar.choose import chosen
from bench.grammar.experiment import experiment as named


@pytest.fixture(scope="module")
def run():
    return reference("whatif")


def test_mixed_pairs_take_each_side_from_a_pair_of_one_kind(run):
    for case in chosen(run, whatif.mixed):
        of_client, of_server = whatif.known(run, case)
        for side, end, other in (("client", of_client, of_server), ("server", of_server, of_client)):
            assert run.case(end).factor(side) == run.case(case).factor(side) != run.case(other).factor(side)
    assert len(chosen(run, whatif.mixed)) == 2 * len(
        {run.case(number).system for number in run.numbers} - {whatif.WAITING}
    )


def test_a_prediction_adds_up_and_uses_no_call_of_the_pair_itself(run):
    case = chosen(run, whatif.mixed)[0]
    of_client, of_server = whatif.known(run, case)
    parts = whatif.predicted_parts(run, case)

    def middle(end, row):
        return anatomy.typical_us(run, end, row).median()

    assert parts["client", USER].median() == pytest.approx(middle(of_client, ("client", USER)))
    assert parts["server", KERNEL].median() == pytest.approx(middle(of_server, ("server", KERNEL)))
    assert parts["server", WAKING].median() == pytest.approx(middle(of_client, ("server", WAKING)))
    assert parts["client", WAKING].median() == pytest.approx(middle(of_server, ("client", WAKING)))
    blocks = run.ledger_of(case)["block"]
    whole = whatif.predicted_us(run, case)
    assert whole.to_list() == pytest.approx([sum(parts[row][block] for row in ROWS) for block in blocks])


def test_a_pair_of_one_kind_is_not_predicted(run):
    for case in {*run.numbers} - {*chosen(run, whatif.mixed)}:
        assert whatif.known(run, case) is None and not len(whatif.predicted_us(run, case).dropna())


def test_what_has_one_client_only_is_refused_and_options_name_the_other_side():
    with pytest.raises(UsageError, match="zeromq has one client only"):
        named("whatif").plan(system="zeromq")
    with pytest.raises(UsageError, match="slice_ms"):
        named("whatif").plan(system="http_asgi", slice_ms=0)
    plan = named("whatif").plan(system="http_asgi", options={"server": "hypercorn"}, profile="smoke")
    pairs = [case for case in plan.cases if case.system == "http_asgi"]
    assert {case.options["server"] for case in pairs} == {"uvicorn_httptools", "hypercorn"} and len(pairs) == 4
