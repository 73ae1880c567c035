"""YAML of others: plain values, each name once."""

import json

import pytest

from bench.apps import scenarios
from bench.errors import BenchError
from bench.plan import hosts, yaml_text
from bench.text import LONGEST, quoted


def test_plain_values_are_read():
    text = '{a: [1, 2.5, true, null, ~], "b": {c: x}, d: 2026-11-22, e: [1e3, -.5, +7, 0]}'
    wanted = {"a": [1, 2.5, True, None, None], "b": {"c": "x"}, "d": "2026-11-22", "e": [1000.0, -0.5, 7, 0]}
    assert yaml_text.value_of(text) == wanted


@pytest.mark.parametrize("text", ["NO", "yes", "on", "01234", "12:30", "1_000", "0x1F", "0o7", "1.2.3", "00.5", "1e"])
def test_what_yaml_1_1_took_for_a_truth_value_or_a_number_of_another_base_is_a_text(text):
    assert yaml_text.value_of(f"[{text}]") == [text]
    assert yaml_text.value_of(f"{{{text}: 1}}") == {text: 1}


@pytest.mark.parametrize(
    "text",
    [
        "[" * 1000 + "]" * 1000, " " * 100_001, "{a: 1, b: 2, a: 3}", "a: 1\nb: {c: 1, c: 2}",
        "9" * 401, "1e400", ".inf", "!!bool 7", "!!python/name:os.system", '"\\ud800"', '{"\\ude00\\ud83d": 1}',
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_in_a_short_sentence(text):
    with pytest.raises(ValueError) as refused:
        yaml_text.value_of(text)
    assert len(str(refused.value)) <= LONGEST and "\n" not in str(refused.value)


def test_a_sign_that_json_writes_as_two_escapes_is_one_sign():
    assert yaml_text.value_of(json.dumps(["\U0001f600", "é"])) == ["\U0001f600", "é"]


@pytest.mark.parametrize("content", ["a: 1\na: 2\n", "# " + "x" * 200_000])
def test_files_of_hosts_and_scenarios_are_read_in_the_same_way(content, tmp_path):
    file = tmp_path / "latency.mine.yaml"
    file.write_text(content)
    for read in (lambda: hosts.asked(str(file)), lambda: scenarios.parameters(file)):
        with pytest.raises(BenchError, match=r"latency\.mine") as refused:
            read()
        assert len(str(refused.value)) < 600


def test_a_quoted_value_is_short():
    for value in ("x" * 10**6, "\0" * 10**6, 10**5000, [["x" * 10**6] * 100] * 100, {1: b"x" * 9999}):
        assert 0 < len(quoted(value)) <= LONGEST
