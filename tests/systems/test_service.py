"""Services of one's own: what their files may say, and what is measured of a real one."""

import json
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest
import yaml

from bench import systems
from bench.apps import first_service_file
from bench.errors import DataError, NotInstalledError, SystemFailedError, SystemFileError, UsageError
from bench.measurement import revision
from bench.measurement.start import measure
from bench.plan import service_file
from bench.plan.case import Case
from bench.systems import _ports, _service
from bench.validation import cases, sources
from bench.validation.support import checked

PROGRAM = Path(__file__).parents[1] / "own_service.py"
PRICE = {"name": "price", "weight": 9, "http": {"method": "POST", "path": "/price", "json": {"sku": "{sku}", "n": 3}}}
USER = {"name": "user", "http": {"path": "/users/{id}"}, "expect": {"json": {"id": "{id}"}}}


def description(fault="", **changes):
    """Return a service file's content."""
    expect = {"status": 200, "json": {"currency": "EUR", "sku": "{sku}"}}
    return {
        "start": [sys.executable, "own_service.py", "{port}", *([fault] if fault else [])],
        "ready": "/users/1",
        "requests": [PRICE | {"expect": expect}, USER],
        "values": {"sku": ["a", "b"], "id": {"uniform": [1, 1000]}},
    } | changes


@pytest.fixture
def own(tmp_path, own_systems):
    """Return a function that writes a service file beside its program and returns its path."""
    shutil.copy(PROGRAM, tmp_path)

    def write(content, name="prices"):
        file = tmp_path / f"{name}.yaml"
        file.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return str(file)

    return write


def case(file, **changes):
    """Return the checked case of a service."""
    return checked(Case(systems.adopt(file), "tcp", **changes))


def test_requests_come_as_often_as_their_weights_say_with_values_that_the_seed_draws(own):
    service = service_file.read(own(description()))

    def drawn(seed):
        endless = service_file.prepared(service, random.Random(seed))
        return [next(endless) for _ in range(2000)]

    made = drawn(1)
    assert made == drawn(1) != drawn(2)
    assert Counter(request.name for request in made)["price"] == pytest.approx(1800, abs=60)
    price = next(request for request in made if request.name == "price")
    assert json.loads(price.body)["sku"] == price.expect.json["sku"] in ("a", "b")
    users = [request for request in made if request.name == "user"]
    assert all(request.target == f"/users/{request.expect.json['id']}" for request in users)
    assert len({request.target for request in users}) > 100


def test_values_come_from_a_column_of_a_file_and_keep_their_type(own, tmp_path):
    (tmp_path / "skus.csv").write_text("n,sku\n1,äpfel\n2,birnen\n")
    service = service_file.read(own(description(values={"sku": "skus.csv", "id": [7]})))
    endless = service_file.prepared(service, random.Random(0))
    bodies = {json.loads(request.body)["sku"] for _, request in zip(range(50), endless, strict=False) if request.body}
    assert bodies == {"äpfel", "birnen"}
    user = next(request for request in endless if request.name == "user")
    assert user.expect.json == {"id": 7}


@pytest.mark.parametrize(
    ("expect", "status", "body", "fault"),
    [
        ({}, 200, b"anything", ""),
        ({}, 404, b"", "404"),
        ({"status": 404}, 404, b"", ""),
        ({"status": 201}, 200, b"", "201"),
        ({"text": "Ada"}, 200, b"Hi Ada", ""),
        ({"text": "Ada"}, 200, b"Hi Eve", "Ada"),
        ({"json": {"a": {"b": 1}}}, 200, b'{"a": {"b": 1, "c": 2}}', ""),
        ({"json": {"a": {"b": 1}}}, 200, b'{"a": {"b": 2}}', "$.a.b"),
        ({"json": {"a": 1}}, 200, b"{}", "$.a"),
        ({"json": {"a": 1}}, 200, b"<html>", "JSON"),
        ({"json": None}, 200, b"null", ""),
        ({"json": None}, 200, b"0", "null"),
    ],
)
def test_a_reply_is_compared_with_what_is_expected(own, expect, status, body, fault):
    service = service_file.read(
        own({"start": ["x"], "requests": [{"name": "one", "http": {"path": "/"}, "expect": expect}]})
    )
    found = next(service_file.prepared(service, random.Random(0))).fault(status, body)
    assert fault in found and bool(found) == bool(fault)


@pytest.mark.parametrize(
    ("content", "fact"),
    [
        ("requests: [", "expected"),
        ({"requests": []}, "requests"),
        (description(requests=[{"name": "one", "http": {"path": "/", "method": "GET", "jsn": 1}}]), "jsn"),
        (description(requests=[USER, json.loads(json.dumps(USER))]), "user"),
        (description(values={}), "{sku}"),
        (description(values={"sku": [], "id": [1]}), "sku"),
        (description(values={"sku": "absent.csv", "id": [1]}), "absent.csv"),
        (description(address="https://127.0.0.1:{port}"), "https"),
        (description(address="http://127.0.0.1:80"), "{port}"),
        (description(start=[]), "start"),
        (description(start=[], address="http://192.0.2.1:80"), "192.0.2.1"),
        (
            description(requests=[{"name": "one", "http": {"path": "/", "headers": {"A": "{env:NOT_SET_1}"}}}]),
            "NOT_SET_1",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_the_place(own, content, fact):
    file = own(content)
    with pytest.raises(SystemFileError) as refused:
        service_file.read(file)
    assert fact in str(refused.value) and "prices" in str(refused.value) + file


def test_an_expected_text_holds_values(own):
    request = {"name": "echo", "http": {"path": "/", "body": "{id}"}, "expect": {"text": "<{id}>"}}
    service = service_file.read(own(description(requests=[request])))
    prepared = next(service_file.prepared(service, random.Random(0)))
    assert prepared.expect.text == f"<{prepared.body.decode()}>"


def test_a_file_that_is_not_there_or_is_called_like_a_system_is_refused(own, tmp_path):
    with pytest.raises(UsageError, match=r"absent\.yaml"):
        systems.adopt(str(tmp_path / "absent.yaml"))
    with pytest.raises(UsageError, match="rename"):
        systems.adopt(own(description(), "zeromq"))
    with pytest.raises(UsageError, match="rename"):
        systems.adopt(own(description(), "my-prices"))


def test_every_notebook_that_takes_a_system_takes_a_service_file(own):
    file = own(description())
    assert cases.chosen_systems(f"[zeromq, {file}]") == ["zeromq", "prices"] and cases.one_system(file) == "prices"
    assert cases.case_of({"system": file, "transport": "tcp"}, "a", {}).system == "prices"
    assert "prices" in systems.names() and systems.constant("prices", "TRANSPORTS") == ("tcp",)


def test_the_hash_of_a_service_is_that_of_its_file_and_of_the_files_that_it_names(own, tmp_path):
    own(description())
    before = revision.of_system("prices", tmp_path)
    (tmp_path / "other.txt").write_text("not named")
    assert revision.of_system("prices", tmp_path) == before
    (tmp_path / "own_service.py").write_text("changed")
    assert revision.of_system("prices", tmp_path) != before
    assert sources.names_in(tmp_path) == ["prices"]


def test_a_service_is_started_measured_and_ended_and_its_cpu_time_is_its_own(own):
    record = measure(case(own(description())), 0.3, seed=1)
    assert record.ledger["calls"] > 50 and not record.ledger["errors"]
    assert record.ledger["server_calls"] is None  # nobody counts them but the client
    assert record.ledger["server_cpu_ns"] > 0.1 * record.ledger["client_cpu_ns"]  # of the process that answers


def test_what_a_service_started_ends_with_it(own):
    assert measure(case(own(description("workers"))), 0.1, seed=1).ledger["calls"] > 10

    def is_left():
        return any(
            "own_service_worker" in word
            for one in psutil.process_iter(["cmdline"])
            for word in one.info["cmdline"] or ()
        )

    deadline = time.monotonic() + 10
    while is_left() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_left()


def test_a_service_is_listed_with_what_its_file_says(own):
    assert "price, user" in systems.describe(systems.adopt(own(description())))
    assert systems.describe(systems.adopt(own(description(about="Prices: sums"), "sums"))) == "Prices: sums"


def test_the_wire_sends_the_same_requests(own):
    record = measure(case(own(description()), engine="wire", callers=2), 0.2, seed=1)
    assert record.ledger["calls"] > 50 and not record.ledger["errors"]


@pytest.mark.parametrize(("fault", "kind"), [("wrong", "error_price"), ("close", "error_read")])
def test_a_call_that_fails_is_counted_by_the_name_of_its_request_or_by_what_happened(own, fault, kind):
    record = measure(case(own(description(fault))), 0.3, seed=1)
    assert record.ledger["errors"] >= 1 and record.ledger["calls"] > 50
    counted = {row["name"]: row["value"] for row in record.tables["reports"]}
    assert counted[kind] == record.ledger["errors"]


def test_a_service_that_ends_before_it_is_ready_is_quoted(own):
    with pytest.raises(SystemFailedError, match="the database is not there"):
        measure(case(own(description("early"))), 0.1, seed=1)
    with pytest.raises(SystemFailedError, match="no_such_program"):
        measure(case(own(description(start=["no_such_program", "{port}"]))), 0.1, seed=1)


def test_a_service_that_runs_already_is_measured_without_its_cpu_time(own, tmp_path):
    port = _ports.free()
    own(description())
    process = subprocess.Popen([sys.executable, tmp_path / "own_service.py", str(port)])
    try:
        running = description(start=[], address=f"http://127.0.0.1:{port}")
        record = None
        for _ in range(50):
            try:
                record = measure(case(own(running, "running")), 0.2, seed=1)
                break
            except SystemFailedError:
                continue
        assert record and record.ledger["calls"] > 20 and record.ledger.get("server_cpu_ns") is None
    finally:
        process.kill()
        process.wait()


def test_a_token_of_the_environment_is_sent_and_not_stored(own, monkeypatch):
    monkeypatch.setenv("OWN_TOKEN", "hush-hush")
    request = {"name": "secret", "http": {"path": "/secret", "headers": {"Authorization": "Bearer {env:OWN_TOKEN}"}}}
    asked = case(own(description(requests=[request | {"expect": {"status": 200}}])))
    record = measure(asked, 0.1, seed=1)
    assert record.ledger["calls"] > 10 and not record.ledger["errors"]
    assert "hush" not in repr(asked) + repr(record.ledger) + repr(record.tables)


def test_a_first_file_is_made_from_what_a_service_says_of_itself(own, monkeypatch):
    described = {
        "paths": {
            "/price": {
                "post": {
                    "operationId": "price",
                    "requestBody": {
                        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Asked"}}}
                    },
                    "responses": {"201": {}},
                }
            },
            "/users/{id}": {
                "get": {"parameters": [{"name": "id", "in": "path", "schema": {"type": "integer"}}]},
                "delete": {},
            },
        },
        "components": {
            "schemas": {
                "Asked": {
                    "type": "object",
                    "required": ["sku", "n"],
                    "properties": {"sku": {"type": "string"}, "n": {"type": "integer", "minimum": 3}, "x": {}},
                }
            }
        },
    }
    monkeypatch.setattr(first_service_file, "_read", lambda url: described)
    service = service_file.read(own(first_service_file.text("http://127.0.0.1:8000")))
    price, user = service.says.requests
    assert (price.http.json, price.expect.status) == ({"sku": "text", "n": 3}, 201)
    assert (user.http.method, user.http.path) == ("GET", "/users/1") and service.is_running
    monkeypatch.undo()
    with pytest.raises(DataError, match="nothing answers"):
        first_service_file.text(f"http://127.0.0.1:{_ports.free()}")
    with pytest.raises(UsageError):
        first_service_file.text("ftp://x")


def test_the_schema_names_every_part_of_a_file():
    schema = service_file.schema()
    assert set(schema["$defs"]["ServiceFile"]["properties"]) == set(service_file.ServiceFile.__struct_fields__)


CALL = {"proto": "own_users.proto", "method": "users.v1.Users/Get", "message": {"id": "{id}"}}


@pytest.fixture
def own_grpc(own, tmp_path):
    """Return a function that writes a service file of a gRPC service."""
    for name in ("own_users.proto", "own_grpc_service.py"):
        shutil.copy(PROGRAM.with_name(name), tmp_path)

    def write(values, expect, **changes):
        request = {"name": "user", "grpc": CALL | changes, "expect": expect}
        start = [sys.executable, "own_grpc_service.py", "{port}"]
        return own({"start": start, "requests": [request], "values": {"id": values}}, "users")

    return write


def test_calls_of_a_grpc_service_are_made_by_its_own_interface_and_checked(own_grpc):
    file = own_grpc(["a", "b"], {"message": {"id": "{id}", "name": "Ada", "visits": 3}})
    record = measure(case(file), 0.3, seed=1)
    assert record.ledger["calls"] > 20 and not record.ledger["errors"] and record.ledger["server_cpu_ns"] > 0


def test_the_wire_makes_the_calls_of_one_grpc_method_and_checks_the_replies(own_grpc):
    file = own_grpc(["a", "b"], {"message": {"id": "{id}", "name": "Ada"}}, headers={"Token": "x"})
    record = measure(case(file, engine="wire", callers=2), 0.2, seed=1)
    assert record.ledger["calls"] > 20 and not record.ledger["errors"]
    record = measure(case(own_grpc(["other"], {"message": {"id": "{id}"}}), engine="wire"), 0.5, seed=1)
    assert record.ledger["errors"] >= 1 and record.ledger["calls"] > 20
    refused = measure(case(own_grpc(["0"], {"status": "NOT_FOUND", "text": "no such"}), engine="wire"), 0.1, seed=1)
    assert refused.ledger["calls"] > 5 and not refused.ledger["errors"]
    with pytest.raises(UsageError, match="headers"):
        case(own_grpc(["a"], {}, headers={"token": "{id}"}), engine="wire")


def test_the_wire_makes_no_calls_of_several_grpc_methods(own, own_grpc):
    own_grpc(["a"], {})
    other = CALL | {"method": "users.v1.Users/Watch"}
    asked = [{"name": "one", "grpc": CALL}, {"name": "two", "grpc": other}]
    text = f"start: [x]\nvalues: {{id: [a]}}\nrequests: {json.dumps(asked)}\n"
    with pytest.raises(UsageError, match="one gRPC method"):
        case(own(text, "both"), engine="wire")


def test_a_grpc_call_that_fails_is_counted_unless_its_status_is_expected(own_grpc):
    record = measure(case(own_grpc(["other"], {"message": {"id": "{id}"}})), 0.5, seed=1)
    assert record.ledger["errors"] >= 1 and record.ledger["calls"] > 20
    refused = measure(case(own_grpc(["0"], {"status": "NOT_FOUND", "text": "no such"})), 0.1, seed=1)
    assert refused.ledger["calls"] > 5 and not refused.ledger["errors"]


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        ({"method": "users.v1.Users/Put"}, "users.v1.Users/Put"),
        ({"method": "users.v1.Users/Watch"}, "streams"),
        ({"message": {"idd": "x"}}, "idd"),
    ],
)
def test_a_method_or_a_field_that_the_interface_lacks_is_named(own_grpc, change, fact):
    with pytest.raises(SystemFailedError, match=fact):
        measure(case(own_grpc(["a"], {}, **change)), 0.1, seed=1)


def test_a_proto_that_is_not_there_is_named(own_grpc):
    with pytest.raises(SystemFileError, match=r"absent\.proto"):
        case(own_grpc(["a"], {}, proto="absent.proto"))


def test_a_service_is_built_before_it_is_measured(own, tmp_path):
    built = description(build=[sys.executable, "-c", "open('built', 'a').write('x')"])
    file = own(built)
    for _ in range(2):
        systems.prepare(case(file).system)
    assert (tmp_path / "built").read_text() == "x"
    with pytest.raises(SystemFileError, match="no table"):
        systems.prepare(
            systems.adopt(own(description(build=[sys.executable, "-c", "raise SystemExit('no table')"]), "other"))
        )
    with pytest.raises(NotInstalledError, match=r"no_such_compiler.*apt-get install x"):
        systems.prepare(
            systems.adopt(own(description(build=["no_such_compiler"], install="apt-get install x"), "third"))
        )


def test_a_service_is_built_again_in_another_process_only_if_its_sources_have_changed(own, tmp_path, monkeypatch):
    build = [sys.executable, "-c", "open('built', 'a').write('x')"]
    file = own(description(build=build, sources=["own_*.py", "parts/*.txt"]))
    (tmp_path / "parts").mkdir()
    with pytest.raises(SystemFileError, match=r"parts/\*\.txt"):
        _service._built.__wrapped__(file)
    part = tmp_path / "parts" / "one.txt"
    for content, times in (("a", 1), ("a", 1), ("b", 2), ("b", 2)):
        part.write_text(content)
        _service._built.__wrapped__(file)  # as in another process
        assert (tmp_path / "built").read_text() == "x" * times
    with monkeypatch.context() as without:
        without.setattr(_service.pipes, "program", lambda name: None)
        _service._built.__wrapped__(file)  # what is built needs no compiler
    before = revision.of_system("prices", tmp_path)
    part.write_text("c")
    assert revision.of_system("prices", tmp_path) != before
    fails = own(description(build=[sys.executable, "-c", "raise SystemExit(1)"], sources=["own_*.py"]), "other")
    for _ in range(2):  # one that failed is tried again
        with pytest.raises(SystemFileError):
            _service._built.__wrapped__(fails)
