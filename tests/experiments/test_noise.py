"""noise.ipynb: a drift of the machine is told from starts that vary."""

import numpy as np
import pytest
from handmade import in_order, recorded, usual

from bench.experiments import noise
from bench.plan.case import Case
from bench.run.start_record import StartRecord


@pytest.mark.parametrize(("drift", "is_shown"), [(0.0, False), (0.2, True)])
def test_a_drift_is_the_change_from_the_first_to_the_last_third_beside_that_of_shuffled_starts(drift, is_shown):
    def level(start, block, index):
        factor = (1 + drift * (start >= 12)) * np.exp(0.03 * np.random.default_rng(start).normal())
        return StartRecord(usual(50, 0.06), [in_order(np.full(50, int(20_000_000 * factor)))])

    run = recorded("noise", [Case("sockets", "ipc")], level, starts=18)
    change, share = noise.moved(run)
    assert (change > 0.1) == is_shown and (share <= 0.05) == is_shown
