"""What users type becomes values, or an error that says what is wanted."""

from dataclasses import dataclass

import pytest

from bench import params
from bench.errors import UsageError

KNOWN = ["inproc", "ipc", "tcp"]


@pytest.mark.parametrize(
    ("given", "expected"),
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
def test_names(given, expected):
    assert params.names(given, "transport", KNOWN) == expected


@pytest.mark.parametrize("given", ["tpc", "", [], "[]", None, 3, "[ipc, nosuch]", "{a: b}", "[", True])
def test_names_that_do_not_exist(given):
    with pytest.raises(UsageError) as caught:
        params.names(given, "transport", KNOWN)
    assert "\n" not in str(caught.value)


def test_an_unknown_name_is_answered_with_those_that_exist_and_the_nearest():
    with pytest.raises(UsageError, match=r"unknown transport 'tpc': there are inproc, ipc, tcp; did you mean tcp\?"):
        params.names("tpc", "transport", KNOWN)


@pytest.mark.parametrize(
    ("given", "expected"), [(5, [5]), ("5", [5]), ([1, 2], [1, 2]), ("[1, 2]", [1, 2]), ("1,2", [1, 2]), (1e3, [1000])]
)
def test_positives(given, expected):
    assert params.positives(given, "payload_bytes", 10_000) == expected


@pytest.mark.parametrize(
    "given", [0, -1, 1.5, "many", "", [], "[]", float("nan"), float("inf"), 10_001, True, None, "[1, 0]", {}, "1 2"]
)
def test_numbers_that_cannot_be(given):
    with pytest.raises(UsageError, match="payload_bytes"):
        params.positives(given, "payload_bytes", 10_000)


def test_one_name_where_one_is_wanted():
    assert params.one_name("tcp", "transport", KNOWN) == "tcp"
    for several in ("all", "[ipc, tcp]"):
        with pytest.raises(UsageError, match="takes one name here"):
            params.one_name(several, "transport", KNOWN)


def test_truth_values():
    assert params.flag("true", "resume") is params.flag(True, "resume") is True
    for wrong in ("maybe", 1, None):
        with pytest.raises(UsageError, match="resume must be true or false"):
            params.flag(wrong, "resume")


def test_fractions_only_where_they_make_sense():
    assert params.positive("0.5", "window_s", 10, whole=False) == 0.5
    with pytest.raises(UsageError, match="must be a number above 0 and at most 10, not 11"):
        params.positive(11, "window_s", 10, whole=False)


def test_mappings():
    assert params.mapping("{nodelay: false}", "options") == {"nodelay": False}
    assert params.mapping('{"writes": 2}', "options") == {"writes": 2}
    assert params.mapping("", "options") == params.mapping(None, "options") == {}
    for wrong in ("nodelay", "[1]", "{a: [}"):
        with pytest.raises(UsageError):
            params.mapping(wrong, "options")


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
    values = params.option_values(Options, {"nodelay": "false", "writes": "2", "share": 1, "name": "3"}, "sockets")
    assert values == {"nodelay": False, "writes": 2, "share": 1.0, "name": "3"}


@pytest.mark.parametrize(
    ("kind", "given", "text"),
    [
        (Options, {"no_delay": True}, "did you mean nodelay"),
        (Options, {"nodelay": 3}, "must be true or false"),
        (Options, {"writes": True}, "must be a whole number"),
        (Options, {"writes": 3}, "writes must be 1 or 2"),
        (NoOptions, {"a": 1}, "has no options"),
    ],
)
def test_options_that_cannot_be(kind, given, text):
    with pytest.raises(UsageError, match=text):
        params.option_values(kind, given, "sockets")
