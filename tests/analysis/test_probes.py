"""What two probes say of a machine: exact where systems are what the model says, covered where they vary."""

import math

import msgspec
import numpy as np
import pytest
from occasions import occasion

from bench.analysis import probes
from bench.analysis.occasions import Machine
from bench.apps import predicting, replicating

MACHINES = [Machine(str(number), "AMD", 2, "Linux", "6") for number in range(8)]
PLACES = {f"s{number}": number / 20 for number in range(1, 20)}  # between the probes: 0 the floor, 1 the library


def on_machine(number, floor_us, library_us, noise=0.0, random=None):
    """Return an occasion whose systems lie between the probes, each off by a normal error of ln(time)."""
    spans = {"sockets": 0.0, probes.LIBRARY: 1.0} | PLACES
    made = occasion(number, dict.fromkeys([name for name in spans if name != "sockets"], 1.0), machine=MACHINES[number])
    rows = []
    for row in made.rows:
        place = spans[row.case["system"]]
        ln = (1 - place) * math.log(floor_us) + place * math.log(library_us)
        ln += noise * random.normal() if noise and row.case["system"] in PLACES else 0.0
        rows.append(msgspec.structs.replace(row, p50_us=math.exp(ln), cpu_us=2 * math.exp(ln)))
    return msgspec.structs.replace(made, rows=rows)


def test_systems_between_the_probes_are_forecast_exactly_where_nothing_else_varies():
    known = [on_machine(0, 26, 190), on_machine(1, 44, 320), on_machine(2, 25, 270)]
    new = on_machine(3, 12, 200)
    forecasts = probes.forecasts(known, new)
    assert len(forecasts) == 2 * len(PLACES)  # two quantities, one placement
    for one in forecasts:
        value = probes.levels(new, one.quantity, one.placement)[one.system, one.transport]
        assert one.middle == pytest.approx(value) and one.reach == pytest.approx(1)
    score = probes.score(forecasts, new)
    assert (score.count, score.factor) == (len(forecasts), pytest.approx(1))
    assert {one.system for one in forecasts} == set(PLACES)


def test_forecasts_of_a_new_machine_are_inside_as_often_as_they_say():
    shares = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        *known, new = (
            on_machine(number, *np.exp(random.normal([3.3, 5.5], 0.3)), noise=0.1, random=random) for number in range(6)
        )
        score = probes.score(probes.forecasts(known, new), new)
        shares.append(score.inside / score.count)
        assert score.factor < 1.5
    assert np.mean(shares) == pytest.approx(0.90, abs=0.03)


def test_one_known_machine_forecasts_without_ends_and_without_probes_nothing_is_forecast():
    one, new = on_machine(0, 26, 190), on_machine(1, 44, 320)
    forecasts = probes.forecasts([one], new)
    assert (
        forecasts
        and all(math.isinf(forecast.reach) for forecast in forecasts)
        and probes.score(forecasts, new).count == 0
    )
    assert probes.left_out([one]).count == 0
    blind = msgspec.structs.replace(new, rows=[row for row in new.rows if row.case["system"] != probes.LIBRARY])
    assert probes.forecasts([one], blind) == []


def test_a_processor_that_is_not_known_gets_the_errors_between_processors():
    random = np.random.default_rng(1)

    def on_kind(number, kind):
        made = on_machine(number, *np.exp(random.normal([3.3, 5.5], 0.3)), noise=0.02, random=random)
        longer = 1.5 if kind == "Intel" else 1.0  # what the probes do not show
        rows = [
            msgspec.structs.replace(row, p50_us=row.p50_us * (longer if row.case["system"] in PLACES else 1))
            for row in made.rows
        ]
        machine = msgspec.structs.replace(made.machine, cpu_model=kind)
        return msgspec.structs.replace(made, rows=rows, machine=machine)

    known = [on_kind(number, "AMD") for number in range(4)] + [on_kind(4, "Intel")]

    def widest(kind):
        return max(one.reach for one in probes.forecasts(known, on_kind(5, kind)) if one.quantity == "p50_us")

    assert widest("ARM") > widest("AMD")
    assert probes.left_out(known).count == 4 * 2 * len(PLACES)  # not the one whose processor no other machine has
    arm = on_kind(5, "ARM")
    assert "nothing has tested them" in predicting.text(known, arm, probes.forecasts(known, arm))


def test_the_table_fits_into_118_columns_with_the_systems_of_the_project():
    known = replicating.load(replicating.file_of(replicating.REFERENCE, "overview")).occasions
    table = predicting.table(known[0], probes.forecasts(known, known[0])).to_string()
    assert "rabbitmq_pika tcp" in table and max(map(len, table.splitlines())) <= 118
    assert all(len(line) <= 118 for line in predicting.UNITS.splitlines())


def test_the_table_says_times_with_their_ends_and_what_tested_them():
    random = np.random.default_rng(1)
    levels = ((26, 190), (44, 320), (25, 270))
    known = [on_machine(number, *level, noise=0.02, random=random) for number, level in enumerate(levels)]
    probed = on_machine(3, 12, 200)
    forecasts = probes.forecasts(known, probed)
    text = predicting.text(known, probed, forecasts)
    assert "RTT, separate CPUs" in text and "s1 ipc" in text and "[" in text and "12.0, measured" in text
    assert text.startswith("RTT: median RTT in µs") and "CPU time can exceed the RTT" in text
    assert "3 occasions on 3 machines" in text and f"of {3 * len(forecasts)} times" in text
    assert text.index("s1 ipc") < text.index("s19 ipc")
