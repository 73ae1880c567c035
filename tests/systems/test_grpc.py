"""gRPC: every option does what it says, and the library's traps are closed."""

import subprocess
import sys
from types import SimpleNamespace

import grpc
import psutil
import pytest
from conftest import ROOT, wait_for
from google.protobuf import descriptor_pb2
from specs import client_spec, library_load

from bench import systems
from bench.contract import Binding
from bench.errors import SystemFailedError, TransportError
from bench.measurement.start import measure
from bench.plan.case import Case
from bench.systems import _grpc, _grpc_echo_pb2, grpc_sync

BOTH = ("grpc_sync", "grpc_aio")


def test_the_generated_code_is_what_the_proto_says(tmp_path):
    words = ["-I", str(ROOT / "bench" / "systems"), f"--descriptor_set_out={tmp_path}/set", "_grpc_echo.proto"]
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", *words], check=True)
    (generated,) = descriptor_pb2.FileDescriptorSet.FromString((tmp_path / "set").read_bytes()).file
    for message in generated.message_type:
        for field in message.field:
            field.ClearField("json_name")  # which follows from the name
    assert generated.SerializeToString() == _grpc_echo_pb2.DESCRIPTOR.serialized_pb
    (service,) = generated.service
    assert f"{generated.package}.{service.name}" == _grpc.SERVICE
    assert [method.name for method in service.method] == [_grpc.UNARY, _grpc.STREAM]


@pytest.mark.slow
@pytest.mark.parametrize("name", BOTH)
def test_a_message_over_the_limit_says_which_option_moves_it(name):
    with pytest.raises(SystemFailedError, match=r"RESOURCE_EXHAUSTED.*larger.*max_message_bytes"):
        measure(Case(name, "ipc", 5_000_000), 0.1, seed=1)
    options = {"max_message_bytes": 6_000_000}
    assert measure(Case(name, "ipc", 5_000_000, options, max_calls=2), 0.1, seed=1).ledger["calls"] >= 1


def test_a_port_belongs_to_one_server_even_if_another_would_share_it():
    others = grpc.server(None, options=[("grpc.so_reuseport", 1)])
    port = others.add_insecure_port("127.0.0.1:0")
    others.start()
    binding = Binding("tcp", "", f"tcp://127.0.0.1:{port}")
    with pytest.raises(TransportError, match=f"tcp://127.0.0.1:{port}"):
        grpc_sync.serve(binding, grpc_sync.Options(), SimpleNamespace(answer=bytes, is_streaming=False))
    others.stop(None)


@pytest.mark.slow
@pytest.mark.parametrize("name", BOTH)
def test_callers_have_a_connection_each_or_share_one(name, child_server):
    system, (server, address) = systems.load(name), child_server(name)

    def connections():
        there = psutil.Process(server.pid).net_connections()
        return sum(one.status == psutil.CONN_ESTABLISHED for one in there)

    for way, wanted in (("own", 3), ("shared", 1)):
        load = library_load(system, system.Options(connections=way), address, client_spec(system=name, callers=3))
        assert wait_for(lambda: not connections())
        load.first()
        assert connections() == wanted
        load.close()


@pytest.mark.parametrize("name", [*BOTH, "wamp_crossbar"])
def test_importing_a_system_says_nothing(name):
    code = f"from bench import systems; systems.load({name!r})"
    finished = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (finished.returncode, finished.stdout, finished.stderr) == (0, "", "")
    assert name in systems.names()
