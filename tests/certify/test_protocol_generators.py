"""Load generators over RESP, HTTP/2, gRPC and server-sent events are certified."""

import pytest
from certifying import having, sections

from bench.errors import NotInstalledError
from certify import generator_file, running
from certify.check import HELD
from certify.scenarios import scenarios

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("c_compiler"),
]
SHORT = {scenario.name: scenario for scenario in scenarios(seconds=14)}
STREAMS = {scenario.name: scenario for scenario in scenarios(seconds=12, protocol="sse")}
COUNTED = {"exit", "report", "arrivals"}  # what a busy machine does not change


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    monkeypatch.setattr(running, "GRACE_S", 60.0)


def installed(name):
    """Return the file of a generator that is installed; else skip."""
    generator = generator_file.load(name)
    try:
        assert generator.program
    except NotInstalledError as reason:  # Debian has not all of them
        pytest.skip(str(reason))
    return generator


def observed(generator, *names):
    known = STREAMS if generator.says.protocol == "sse" else SHORT
    return sections(generator, *(known[name] for name in names))


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("redis-benchmark", {"connections"}),
        ("h2load-http2", {"connections", "requests"}),
        ("ghz", {"concurrency", "requests"}),
        ("fortio-grpc", {"connections", "requests"}),
        ("roundtrip-grpc", {"connections", "requests"}),
        ("roundtrip-sse", {"connections", "requests", "streams-read"}),
        ("aiperf", {"requests", "streams-read"}),
    ],
)
def test_a_generator_is_run_over_its_protocol(name, facts):
    generator = installed(name)
    many, errors = observed(generator, "many", "errors")
    assert COUNTED | facts <= having(many, HELD), many.checks
    assert not many.seen.record.refused and many.seen.record.is_whole
    assert {"exit", "arrivals", "errors"} <= having(errors, HELD), errors.checks
    assert errors.seen.record.faults
