"""What systems guarantee: each of the checkout says it with its source, for options that it has."""

from pathlib import Path

import pytest

from bench import systems
from bench.contract import GUARANTEES
from bench.errors import SystemFileError
from bench.measurement.validation.support import options_of

OWN = Path(systems.__file__).parent
NAMES = [
    name
    for name in systems.names()
    if Path(systems.file_of(name)).parent == OWN and systems.group(name) != "instrument"
]


@pytest.mark.parametrize("name", NAMES)
def test_each_system_says_what_it_guarantees_with_its_source_for_options_that_it_has(name):
    guarantees, kind = systems.guarantees(name), systems.load(name).Options
    assert "" in guarantees, f"{name} has no entry in bench/systems/guarantees.yaml"
    for text, fields in guarantees.items():
        assert fields.keys() == GUARANTEES.keys() and all(fields.values())
        assert all(url.startswith("https://") for url in fields["source"].split())
        options = dict(one.split("=") for one in text.split(", ") if one)
        assert not options or options_of(kind, options, name) != options_of(kind, {}, name)


def test_a_system_of_a_users_own_may_say_nothing_and_a_wrong_field_is_named(tmp_path, with_systems):
    (tmp_path / "quiet.py").write_text('"""Quiet."""\n')
    (tmp_path / "odd.py").write_text('"""Odd."""\n')
    (tmp_path / "guarantees.yaml").write_text("odd: {defaults: {delivery: often, speed: high}}\n")
    with_systems(tmp_path)
    assert systems.guarantees("quiet") == {}
    with pytest.raises(SystemFileError, match="speed"):
        systems.guarantees("odd")
