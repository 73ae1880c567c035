"""The option ``event_loop``: the loop that it names runs in the server and in the client."""

import sys
import textwrap

import pytest

from bench import systems
from bench.child.caller import is_async
from bench.errors import NotInstalledError
from bench.measurement.start import measure
from bench.measurement.validation.support import choices, options_of
from bench.plan.case import Case
from bench.systems import grpc_aio

CHECKED = '''
"""gRPC that refuses a call in another event loop than its options name."""
import asyncio
from bench.errors import TransportError
from bench.systems import grpc_aio
TRANSPORTS = ("ipc",)
REQUIRES = ()
Options = grpc_aio.Options

def check(options):
    running = type(asyncio.get_running_loop()).__module__.partition(".")[0]
    if running != options.event_loop:
        raise TransportError(f"{running} runs instead of {options.event_loop}")

def serve(binding, options, service):
    answer = service.answer
    def checked(payload):
        check(options)
        return answer(payload)
    service.answer = checked
    return grpc_aio.serve(binding, options, service)

class Client(grpc_aio.Client):
    async def call(self, payload):
        check(self.options)
        return await super().call(payload)
Multiplexed = Client
'''


@pytest.mark.parametrize("case_fields", [{"max_calls": 3}, {"max_calls": 3, "callers": 2}, {"outstanding": 2}])
@pytest.mark.slow
def test_the_loop_that_is_asked_for_runs_in_server_and_client(case_fields, tmp_path, with_systems):
    pytest.importorskip("uvloop")
    (tmp_path / "checked.py").write_text(textwrap.dedent(CHECKED))
    with_systems(tmp_path)
    measured = measure(Case("checked", "ipc", 100, {"event_loop": "uvloop"}, **case_fields), window_s=0.1, seed=1)
    assert measured.ledger["calls"] == measured.ledger["server_calls"] > 0


def test_every_asynchronous_system_has_the_option():
    for name in set(systems.names()) - {"http_crossbar"}:  # whose server is a node in an environment of its own
        if systems.missing(name) is None and is_async(systems.load(name).Client):
            assert set(choices(systems.load(name).Options)["event_loop"]) == {"asyncio", "uvloop"}, name


def test_a_loop_that_is_not_installed_names_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvloop", None)
    with pytest.raises(NotInstalledError, match="pip install uvloop"):
        options_of(grpc_aio.Options, {"event_loop": "uvloop"}, "grpc_aio")
