"""Claims: what holds, is contradicted or undecided; and how often data without a difference make one hold."""

import numpy as np
import pytest
from conftest import ROOT
from handmade import handmade, noisy, reference

from bench.grammar import P50, Claim, Contrast, claim
from bench.grammar.claim import AGAINST, CONTRADICTED, HOLDS, UNDECIDED
from bench.grammar.contrast import log_ratios
from bench.grammar.experiment import exists, experiment
from bench.plan.case import Case
from bench.stats.intervals import Interval, paired_shift

PLACED = [Case("zeromq", "ipc", placement=placement) for placement in ("same", "split", "free")]
SLOWER = Contrast(P50, of={"placement": lambda value: value != "same"}, over={"placement": "same"})
REFERENCES = sorted(file.name for file in (ROOT / "data" / "reference").iterdir() if exists(file.name))


@pytest.mark.parametrize(
    ("rtt_us", "words"),
    [
        ((50, 100, 60), [HOLDS, HOLDS]),
        ((50, 100, 50), [HOLDS, UNDECIDED]),
        ((50, 100, 40), [HOLDS, CONTRADICTED]),
        ((50, 50, 50), [UNDECIDED, UNDECIDED]),
    ],
)
def test_a_claim_holds_as_a_whole_if_it_does_of_every_case_and_one_case_is_enough_against_it(rtt_us, words):
    run, tested = handmade(PLACED, rtt_us, notebook="placement", shape=noisy), Claim("two are slower", SLOWER, above=1)
    assert [verdict.word for verdict in tested.verdicts(run)] == words
    whole = CONTRADICTED if CONTRADICTED in words else HOLDS if set(words) == {HOLDS} else UNDECIDED
    assert tested.verdict(run) == whole
    assert (AGAINST in tested.sentence(run)) is (whole == CONTRADICTED)
    assert list(claim.table(run, [tested])["verdict"]) == words


def test_contradictions_come_first_with_the_value_that_decides_them():
    run = handmade(PLACED, (50, 100, 40), notebook="placement", shape=noisy)
    against, others = claim.sentences(run, [Claim("longer", SLOWER, above=0.5), Claim("slower", SLOWER, above=1)])
    assert against.count(AGAINST) == 1 and "slower" in against and "zeromq ipc not pinned: 0.7997" in against
    assert others.startswith("Holds in 2 of 2 cases: longer") and "Expected: above 0.5" in others


def test_a_run_of_too_few_starts_shows_its_claims_without_verdicts():
    run = handmade(PLACED, (50, 100, 40), notebook="placement", starts=2)
    shown = experiment("placement").claims_not_judged(run)
    assert shown.startswith("Claims, not judged from 2 starts:") and "Expected: " in shown and "; measured: " in shown
    assert not any(word in shown.lower() for word in (HOLDS, CONTRADICTED, UNDECIDED))
    assert experiment("placement").claims_not_judged(handmade(PLACED, (50, 100, 40), notebook="placement")) == ""


@pytest.mark.parametrize(("limit", "word"), [(1.9, CONTRADICTED), (2.0, UNDECIDED), (2.1, HOLDS)])
def test_a_limit_can_be_what_a_run_predicts(limit, word):
    run = handmade(PLACED[:2], (50, 100), notebook="placement", shape=noisy)
    tested = Claim("within the ceiling", SLOWER, at_most=lambda run: limit)
    assert tested.verdict(run) == word and f"at most {limit:.3g}" in tested.sentence(run)
    assert Claim("", SLOWER, at_most=lambda run: None).sentence(run) == ""


def at_its_limit(logs, limit, chance):
    """Return the interval of a ratio whose blocks' ratios are turned around a limit at random: it is the true value."""
    turned = paired_shift((logs - np.log(limit)) * chance.choice([-1, 1], len(logs))).exp()
    return Interval(turned.middle * limit, turned.low * limit, turned.high * limit)


@pytest.mark.parametrize("notebook", REFERENCES)
def test_permuted_data_make_a_claim_of_the_laboratory_hold_in_one_run_of_twenty_at_most(notebook):
    run, chance = reference(notebook), np.random.default_rng(1)
    for tested in experiment(notebook).claims:
        if not isinstance(tested.estimand, Contrast) or not (verdicts := tested.verdicts(run)):
            continue
        ratio, limit = tested.estimand.ratios(run)[0], verdicts[0].limit
        logs = log_ratios(run, ratio).to_numpy()
        words = [tested.word(at_its_limit(logs, limit, chance), limit) for _ in range(400)]
        assert words.count(HOLDS) <= 0.05 * len(words), tested.text
