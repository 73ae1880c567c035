"""What users type becomes values, or an error that says what is wanted."""

from dataclasses import dataclass

import pytest

from bench.errors import UsageError
from bench.measurement.validation.support import options_of
from bench.plan import parameters

KNOWN = ["inproc", "ipc", "tcp"]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("ipc", ["ipc"]),
        ("all", KNOWN),
        (["tcp", "ipc"], ["tcp", "ipc"]),
        ("[tcp, ipc]", ["tcp", "ipc"]),
        ('["tcp", "ipc"]', ["tcp", "ipc"]),
        ("tcp,ipc", ["tcp", "ipc"]),
        (("ipc", "ipc"), ["ipc"]),
    ],
)
def test_names(choice, expected):
    assert parameters.names(choice, "transport", KNOWN) == expected


@pytest.mark.parametrize("choice", ["tpc", "", [], None, "[ipc, nosuch]", "{a: b}", "["])
def test_names_that_do_not_exist(choice):
    with pytest.raises(UsageError) as caught:
        parameters.names(choice, "transport", KNOWN)
    assert "\n" not in str(caught.value) and (choice != "tpc" or "there are inproc, ipc, tcp; did" in str(caught.value))


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [(5, [5]), ("5", [5]), ([1, 2], [1, 2]), ("[1, 2]", [1, 2]), ("1,2", [1, 2]), (1e3, [1000])],
)
def test_positives(numbers, expected):
    assert parameters.positives(numbers, "payload_bytes", 10_000) == expected


@pytest.mark.parametrize(
    "numbers", [0, -1, 1.5, "many", "", [], "[]", float("nan"), float("inf"), 10_001, True, None, "[1, 0]", {}, "1 2"]
)
def test_numbers_that_cannot_be(numbers):
    with pytest.raises(UsageError, match="payload_bytes"):
        parameters.positives(numbers, "payload_bytes", 10_000)


def test_truth_values():
    assert parameters.flag("true", "resume") is parameters.flag(True, "resume") is True
    for wrong in ("maybe", 1, None):
        with pytest.raises(UsageError, match="resume"):
            parameters.flag(wrong, "resume")


def test_mappings():
    assert parameters.mapping("{nodelay: false}", "options") == {"nodelay": False}
    assert parameters.mapping('{"writes": 2}', "options") == {"writes": 2}
    assert parameters.mapping("", "options") == parameters.mapping(None, "options") == {}
    for wrong in ("nodelay", "[1]", "{a: [}"):
        with pytest.raises(UsageError):
            parameters.mapping(wrong, "options")


@dataclass(frozen=True)
class Options:
    nodelay: bool = True
    writes: int = 1
    share: float = 0.5
    name: str = "x"

    def __post_init__(self):
        if self.writes not in (1, 2):
            raise ValueError("writes must be 1 or 2")


@dataclass(frozen=True)
class NoOptions:
    pass


def test_options_are_completed_and_typed():
    values = options_of(Options, {"nodelay": "false", "writes": "2", "share": 1, "name": "3"}, "sockets")
    assert values == {"nodelay": False, "writes": 2, "share": 1.0, "name": "3"}


@pytest.mark.parametrize(
    ("kind", "options", "text"),
    [
        (Options, {"no_delay": True}, "nodelay"),
        (Options, {"nodelay": 3}, "nodelay .*3"),
        (Options, {"writes": True}, "writes .*True"),
        (Options, {"writes": 3}, "writes must be 1 or 2"),  # as these options say it
        (NoOptions, {"a": 1}, "sockets"),
    ],
)
def test_options_that_cannot_be(kind, options, text):
    with pytest.raises(UsageError, match=text):
        options_of(kind, options, "sockets")
