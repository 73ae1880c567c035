"""Services of one's own: what their files may say, and what is measured of a real one."""

import contextlib
import copy
import gzip
import itertools
import json
import random
import shutil
import subprocess
import sys
import time
import zlib
from collections import Counter
from pathlib import Path

import msgspec
import numpy as np
import psutil
import pytest
import yaml
from conftest import wait_for
from handmade import handmade
from specs import report_of
from wire_servers import http, served

from bench import systems
from bench.analysis import trust_card
from bench.apps import first_service_file, service_page
from bench.contract import PACING, parse_address
from bench.errors import (
    DataError,
    NotInstalledError,
    SystemFailedError,
    SystemFileError,
    TransportError,
    UsageError,
    WrongReplyError,
)
from bench.grammar.experiment import experiment
from bench.measurement import certificates, revision, runner
from bench.measurement.start import measure
from bench.measurement.validation import cases, sources
from bench.measurement.validation.support import checked
from bench.plan import credentials, service_file
from bench.plan.case import Case
from bench.plan.objective import objective
from bench.run.frames import Run
from bench.systems import _ports, _service, _service_grpc

PROGRAM = Path(__file__).parents[1] / "own_service.py"
PRICE = {"name": "price", "weight": 9, "http": {"method": "POST", "path": "/price", "json": {"sku": "{sku}", "n": 3}}}
USER = {"name": "user", "http": {"path": "/users/{id}"}, "expect": {"json": {"id": "{id}"}}}


ENGINES = ("library", "wire")
each_engine = pytest.mark.parametrize("engine", ENGINES)
FORM = "application/x-www-form-urlencoded"
CALL = {"proto": "own_users.proto", "method": "users.v1.Users/Get", "message": {"id": "{id}"}}
PRICED = PRICE | {"expect": {"json": {"currency": "EUR", "sku": "{sku}"}}}


def description(fault="", **changes):
    """Return a service file's content, with the values that its requests use."""
    expect = {"status": 200, "json": {"currency": "EUR", "sku": "{sku}"}}
    content = {
        "start": [sys.executable, "own_service.py", "{port}", *([fault] if fault else [])],
        "ready": "/users/1",
        "requests": [PRICE | {"expect": expect}, USER],
    } | changes
    values = {"sku": ["a", "b"], "id": {"uniform": [1, 1000]}}
    return {"values": {name: value for name, value in values.items() if f"{{{name}}}" in json.dumps(content)}} | content


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


@pytest.fixture
def started(child_server):
    """Return a function that starts the service of a file, and returns its address."""

    def start(file):
        name = systems.adopt(file)
        return child_server(name, *systems.constant(name, "TRANSPORTS"))[1]

    return start


def asked(file, address, **spec):
    """Make 20 calls of a service in this process; return the report, and how many failures of each kind it has."""
    report = report_of(systems.load(systems.adopt(file)), address, **{"window_s": 5.0} | spec)
    failed = {name: count for name, count, _ in report.numbers}
    assert sum(failed.values()) == report.errors
    return report, failed


def check_answered(file, address, **spec):
    """Make calls of a service by each engine: all must be answered as expected."""
    for engine in ENGINES:
        report, failed = asked(file, address, engine=engine, **spec)
        assert report.calls and not failed


def single(**parts):
    """Return a service file's content with one request."""
    return {"start": ["x", "{port}"], "requests": [{"name": "it", "http": {"path": "/"}} | parts]}


def first_request(file):
    """Return the first request that a service file describes, with its values."""
    return next(service_file.prepared(service_file.read(file), random.Random(0)))


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


@pytest.mark.parametrize(
    ("expect", "status", "body", "fault"),
    [
        ({}, 200, b"anything", ""),
        ({}, 404, b"", "404"),
        ({"status": 404}, 404, b"", ""),
        ({"text": "Ada"}, 200, b"Hi Ada", ""),
        ({"text": "Ada"}, 200, b"Hi Eve", "Ada"),
        ({"json": {"a": {"b": 1}}}, 200, b'{"a": {"b": 1, "c": 2}}', ""),
        ({"json": {"a": {"b": 1}}}, 200, b'{"a": {"b": 2}}', "$.a.b"),
        ({"json": {"a": 1}}, 200, b"{}", "$.a"),
        ({"json": {"a": 1}}, 200, b"<html>", "JSON"),
        ({"json": {"a": [{"b": 1}, {"b": 2}]}}, 200, b'{"a": [{"b": 1}, {"b": 3}]}', "$.a[1].b"),
        ({"json": {"a": [1]}}, 200, b'{"a": [1, 2]}', "$.a"),
        ({"json": {"ok": True}}, 200, b'{"ok": 1}', "$.ok is 1, expected true"),
        ({"json": {"n": 7}}, 200, b'{"n": "7"}', '$.n is "7", expected 7 (the reply has a text: draw texts, from a'),
        ({"json": {"n": "7"}}, 200, b'{"n": 7}', '$.n is 7, expected "7" (the reply has a number: draw numbers, from'),
        ({"json": {"n": 1}}, 200, b'{"n": 1.0}', ""),
        ({"json": {"a": 1}}, 200, b"[" * 100_000, "nested too deeply"),
        ({"json": None}, 200, b"0", "null"),
        ({}, 302, b"", "redirect"),
        ({}, 304, b"", ""),
    ],
)
def test_a_reply_is_compared_with_what_is_expected(own, expect, status, body, fault):
    error_text = first_request(own(single(expect=expect))).fault(status, body)
    assert fault in error_text and bool(error_text) == bool(fault)


def test_a_reply_has_to_satisfy_a_json_schema(own, tmp_path):
    content = single(expect={"json": {"sku": "a"}, "schema": "price.json"})
    with pytest.raises(SystemFileError, match=r"price\.json"):
        service_file.read(own(content))
    (tmp_path / "price.json").write_text('{"type": "obj"}')
    with pytest.raises(SystemFileError, match="obj"):
        service_file.read(own(content))
    (tmp_path / "price.json").write_text('{"properties": {"n": {"type": "integer"}}, "required": ["n"]}')
    request = first_request(own(content))
    assert not request.fault(200, b'{"sku": "a", "n": 1}')
    assert "$.sku" in request.fault(200, b'{"sku": "b", "n": 1}')
    assert "$.n" in request.fault(200, b'{"sku": "a", "n": "1"}')
    assert "'n'" in request.fault(200, b'{"sku": "a"}')
    (tmp_path / "deep.json").write_text('{"items": {"$ref": "#"}}')
    request = first_request(own(single(expect={"schema": "deep.json"})))
    assert "deep.json" in request.fault(200, b"[" * 300 + b"]" * 300)  # deeper than a schema can follow


@pytest.mark.parametrize(
    ("schema", "fact"),
    [
        ({"$ref": "other.json"}, r"other\.json"),
        ({"items": {"$ref": "#/$defs/missing"}}, r"#/\$defs/missing"),
        (5, "a JSON Schema is an object"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$anchor": "x"}, "b": {"$ref": "#x"}}}, ""),
    ],
)
def test_a_schema_has_to_hold_what_it_refers_to(own, tmp_path, schema, fact):
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "price.json").write_text(json.dumps(schema))
    with pytest.raises(SystemFileError, match=fact) if fact else contextlib.nullcontext():
        service_file.read(own(single(expect={"schema": "price.json"})))


@pytest.mark.parametrize(
    ("content", "fact"),
    [
        ("ready: /x\nstart x\nrequests: []", "line 2, column 1: could not find expected ':'"),
        ("", "the file must be a mapping"),
        ({"requests": []}, "requests"),
        (description(requests=[{"name": "one", "http": {"path": "/", "method": "GET", "jsn": 1}}]), "jsn"),
        (description(requests=[USER, json.loads(json.dumps(USER))]), "user"),
        (description(requests=[USER | {"expect": {"message": {"id": 1}}}]), "json instead of message"),
        (description(requests=[USER | {"http": {"path": "/", "json": {"a": 1}, "body": "x"}}]), "json and body"),
        (description(requests=[USER | {"http": {"path": "/", "method": "post"}}]), "capital letters"),
        (description(requests=[USER | {"http": {"path": "/", "headers": {"X": "a\nb"}}}]), "the header X"),
        (description(requests=[USER | {"http": {"path": "/", "headers": {"content-length": "3"}}}]), "from the body"),
        (description(requests=[{"name": "u", "grpc": CALL | {"proto": "", "headers": {"x-bin": "?"}}}]), "base64"),
        (description(requests=[{"name": "u", "grpc": CALL, "expect": {"status": "NOTFOUND"}}]), "mean NOT_FOUND"),
        (description(requests=[USER | {"expect": {"status": [200, 20000]}}]), "20000, which is no status"),
        (description(requests=[USER | {"expect": {"text": ""}}]), "text"),
        (description(address="http://a:b@127.0.0.1:{port}"), "credentials under headers"),
        (description(start=["x", "{port}", "--at={prt}"]), "{prt} has no value"),
        (description(start=["x", "{port}", "{env:NOT_SET_1}"]), "NOT_SET_1"),
        (description(requests=[USER | {"http": {"path": "/", "headers": {"A": "{env:NOT_SET_1}"}}}]), "NOT_SET_1"),
        ({"start": ["x", "{port}"], "recording": "a.jsonl", "in_turn": True}, "in_turn is for requests"),
        (description(headers={"A": "{skuu}"}), "did you mean sku"),
        (description(ready="healthz"), "ready must be a path that begins with /"),
        (description(timeout_s="10s"), "timeout_s must be a number, not str"),
        (description(values={"sku": "absent.csv", "id": [1]}), "absent.csv"),
        (description(values={"sku": "users.csv", "id": [1]}), "no column sku"),
        (description(address="ftp://127.0.0.1:{port}"), "ftp"),
        (description(address="unix:///there"), "{socket}"),
        (description(address="https://127.0.0.1:{port}", authority="absent.pem"), "absent.pem"),
        (description(authority="own_service.py"), "https"),
        (description(address="http://127.0.0.1:80"), "{port}"),
        (description(start=[]), "start"),
        (description(start=["sleep", "9"]), "start has {port}"),
        (description(warm=1), "did you mean warm_up?"),
        (description(requests=[USER | {"expect": {"messages": 3}}]), "stream: sse"),
        (description(requests=[PRICED, {"name": "tokens", "http": {"path": "/events/3", "stream": "sse"}}]), "apart"),
        (description(start=[], address="http://192.0.2.1:80"), "192.0.2.1"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_the_place(own, content, fact):
    file = own(content)
    Path(file).with_name("users.csv").write_text("id,name\n1,Ada\n")
    with pytest.raises(SystemFileError) as refused:
        service_file.read(file)
    assert fact in str(refused.value) and "prices" in str(refused.value) + file


def test_the_words_that_start_a_service_hold_values_and_leave_a_shell_its_own(own, monkeypatch):
    monkeypatch.setenv("OWN_TOKEN", "hush-hush")
    start = ["sh", "-c", "./it --port={port} ${HOME} ${port} {{name}}", "--token={env:OWN_TOKEN}", "{ a }"]
    words = service_file.words_of_start(service_file.read(own(description(start=start))), "7", "")
    assert words == ["sh", "-c", "./it --port=7 ${HOME} ${port} {name}", "--token=hush-hush", "{ a }"]


def test_an_expected_text_holds_values(own):
    request = {"name": "echo", "http": {"path": "/", "body": "{id}"}, "expect": {"text": "<{id}>"}}
    prepared = first_request(own(description(requests=[request])))
    assert prepared.expect.text == f"<{prepared.body.decode()}>"


def test_a_file_that_is_not_there_or_is_called_like_a_system_is_refused(own, tmp_path):
    with pytest.raises(UsageError, match=r"absent\.yaml"):
        systems.adopt(str(tmp_path / "absent.yaml"))
    for name in ("zeromq", "my-prices", "all"):
        with pytest.raises(UsageError, match="rename"):
            systems.adopt(own(description(), name))


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
    (tmp_path / "shop.har").write_text("one")
    own(description(requests=[], recording="shop.har"))
    before = revision.of_system("prices", tmp_path)
    (tmp_path / "shop.har").write_text("another")
    assert revision.of_system("prices", tmp_path) != before


def test_a_service_is_started_measured_and_ended_and_its_cpu_time_is_its_own(own):
    record = measure(case(own(description())), 0.3, seed=1)
    assert record.ledger["calls"] and not record.ledger["errors"]
    assert record.ledger["server_calls"] is None  # nobody counts them but the client
    assert record.ledger["server_cpu_ns"] > 0.1 * record.ledger["client_cpu_ns"]  # of the process that answers


@pytest.mark.slow
def test_what_a_service_started_ends_with_it(own):
    assert measure(case(own(description("workers"))), 0.1, seed=1).ledger["calls"]

    def is_left():
        return any(
            "own_service_worker" in word
            for one in psutil.process_iter(["cmdline"])
            for word in one.info["cmdline"] or ()
        )

    assert wait_for(lambda: not is_left())


@pytest.fixture
def certified(tmp_path):
    """Return a folder with a server's certificate for localhost, its key, and the authority that signed it."""
    folder = tmp_path / "certified"
    folder.mkdir()
    credentials.write(str(folder), certificates.make(["localhost"]))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "address", "version"),
    [
        ("127.0.0.1:{port}", "http://127.0.0.1:{port}", "2"),
        ("127.0.0.1:{port}", "https://localhost:{port}", "2"),
        ("127.0.0.1:{port}", "https://localhost:{port}", "1.1"),
        ("unix:{socket}", "unix://{socket}", "2"),
        ("unix:{socket}", "unix://{socket}", "1.1"),
    ],
)
def test_a_service_is_asked_by_tls_or_not_and_at_a_unix_domain_socket_in_the_version_of_http_that_its_file_names(
    own, tmp_path, certified, started, place, address, version
):
    shutil.copy(PROGRAM.with_name("own_http2_service.py"), tmp_path)
    start = [sys.executable, "-m", "hypercorn", "own_http2_service:app", "--bind", place]
    more = {}
    if address.startswith("https"):
        start += ["--certfile", "certified/server.pem", "--keyfile", "certified/server.key"]
        more = {"authority": "certified/authority.pem"}
    named = {"http": "127.0.0.1:", "https": "localhost:", "unix": "localhost"}[address.partition(":")[0]]
    requests = [
        {"name": "get", "http": {"path": "/a b?c"}, "expect": {"json": {"version": version, "path": "/a b"}}},
        {"name": "post", "http": {"method": "POST", "path": "/", "json": {"x": 1}}, "expect": {"text": f'"{named}'}},
        {"name": "host", "http": {"path": "/", "headers": {"host": "shop"}}, "expect": {"json": {"host": "shop"}}},
    ]
    content = {"start": start, "ready": "/", "address": address, "http2": version == "2", "requests": requests}
    file = own(content | more, "second")
    check_answered(file, started(file), callers=2)


@pytest.mark.slow
def test_a_service_that_does_not_speak_http_2_is_named(own):
    with pytest.raises(SystemFailedError, match="HTTP/2"):
        measure(case(own(description(http2=True, ready=""))), 0.1, seed=1)


def entry(second, path, method="GET", status=200, host="shop.example", headers=None, **more):
    """Return an entry of an HTTP archive."""
    named = [{"name": name, "value": value} for name, value in (headers or {}).items()]
    return {
        "startedDateTime": f"2026-01-01T00:00:{second:02}.500Z",
        "request": {"method": method, "url": f"https://{host}{path}", "headers": named, **more},
        "response": {"status": status, "content": {"size": 3}},
    }


def test_a_header_of_a_request_replaces_one_of_the_file_in_whatever_case_it_is_written(own):
    content = single(http={"path": "/", "json": 1, "headers": {"accept": "b", "content-type": "c"}})
    made = first_request(own(content | {"headers": {"Accept": "a", "X-Run": "1"}}))
    assert made.headers == {"X-Run": "1", "accept": "b", "content-type": "c"}


def test_an_archive_of_a_browser_is_read(own, tmp_path):
    form = {"mimeType": "application/x-www-form-urlencoded; charset=utf-8", "params": [{"name": "a", "value": "x y"}]}
    secret = {":path": "/", "Host": "shop.example", "cookie": "id=7", "authorization": "Basic eA==", "accept": "*/*"}
    entries = [
        entry(2, "/users/17?q=%2Fa b", headers=secret),
        entry(0, "/price", "POST", 201, postData={"mimeType": "application/json", "text": '{"sku": "{sku}"}'}),
        entry(1, "/form", "POST", postData=form),
        entry(1, "/track", host="ads.example"),
        entry(1, "/lost", status=0),
        entry(1, "/lost", status=-1),
    ]
    entries[0:0] = [entry(0, "/")]
    entries[0]["request"]["url"] = "data:text/plain,x"
    form["text"] = ""
    (tmp_path / "shop.har").write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}))
    service = service_file.read(own({"start": ["x", "{port}"], "recording": "shop.har", "headers": {"X-Run": "1"}}))
    recording = service.recording
    assert (recording.dropped, recording.elsewhere) == (("Cookie", "Authorization"), 4)
    assert [each.at_s for each in recording.requests] == [0, 1, 2]
    made = [request for _, request in zip(range(4), service_file.prepared(service, random.Random(0)), strict=False)]
    assert [request.name for request in made] == ["POST /price", "POST /form", "GET /users/*", "POST /price"]
    assert [request.body for request in made] == [b'{"sku": "{sku}"}', b"a=x+y", b"", b'{"sku": "{sku}"}']
    assert made[2].target == "/users/17?q=%2Fa%20b" and made[2].headers == {"accept": "*/*", "X-Run": "1"}
    assert made[0].expect.status == 201 and systems.is_service(service.file)
    page_text = service_page.described(service)
    assert "Cookie" in page_text and "Authorization" in page_text and "1 per second" in page_text
    known = {"start": ["x", "{port}"], "recording": "shop.har", "headers": {"authorization": "Bearer x"}}
    assert "Authorization" not in service_page.described(service_file.read(own(known)))


def test_a_request_that_is_made_once_is_no_part_of_the_mix(own):
    login = {"name": "login", "http": {"path": "/login"}, "once": True}
    others = [{"name": name, "http": {"path": "/"}, "weight": weight} for name, weight in (("price", 9), ("stock", 1))]
    text = service_page.described(service_file.read(own(description(requests=[login, *others]))))
    assert "price 90%, stock 10%" in text


def test_a_recorded_body_of_json_has_the_type_that_its_line_names_in_whatever_case(own, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"path": "/", "json": 1, "headers": {"content-type": "text/json"}}')
    (only,) = service_file.read(own({"start": ["x", "{port}"], "recording": "a.jsonl"})).recording.requests
    assert (only.body, only.headers) == (b"1", {"content-type": "text/json"})


@pytest.mark.parametrize(("unit", "per_s"), [("s", 1), ("ms", 1000)])
def test_the_time_is_in_the_unit_that_is_asked_for(own, unit, per_s):
    request = first_request(own(single(http={"path": "/{t}"}) | {"values": {"t": {"now": unit}}}))
    assert int(request.target[1:]) / per_s == pytest.approx(time.time(), abs=60)


def test_of_several_statuses_the_first_has_the_content(own):
    request = first_request(own(single(expect={"status": [200, 503], "json": {"ok": True}})))
    assert not request.fault(200, b'{"ok": true}') and not request.fault(503, b"busy")
    assert request.fault(200, b'{"ok": false}') and request.fault(404, b'{"ok": true}')
    request = msgspec.structs.replace(request, save={"id": "$.id"})
    assert _service.Reply(request, 200, b'{"ok": true, "id": 7}').saved() == {"id": 7}
    assert _service.Reply(request, 503, b"busy").saved() == {}
    with pytest.raises(WrongReplyError, match=r"no \$\.id"):
        _service.Reply(request, 200, b'{"ok": true}').saved()


def test_null_is_json_and_is_sent(own):
    request = first_request(own(single(http={"path": "/", "method": "POST", "json": None})))
    assert (request.body, request.headers) == (b"null", {"Content-Type": "application/json"})


@pytest.mark.parametrize(
    ("encoding", "body", "fault"),
    [
        ("gzip", gzip.compress(b'{"ok"', mtime=0) + gzip.compress(b": true}", mtime=0), ""),
        ("gzip", gzip.compress(b'{"ok": true}', mtime=0) + bytes(9), ""),
        ("gzip", gzip.compress(b'{"ok": true}', mtime=0)[:-1], "is damaged"),
        ("deflate", zlib.compress(b'{"ok": true}'), ""),
        ("br", b"x", "which is not read here"),
    ],
)
def test_a_body_is_read_in_each_form_of_its_encoding(own, encoding, body, fault):
    text = first_request(own(single(expect={"json": {"ok": True}}))).fault(200, body, encoding)
    assert fault in text and bool(text) == bool(fault)


def test_no_capacity_is_searched_where_one_caller_already_misses_the_objective():
    slow = handmade([Case("zeromq", "tcp")], [30_000])
    why = service_page.why_no_rate
    assert "one caller, 30.8 ms, is above" in why(slow, "zeromq", objective("p99<=20ms"))
    assert not why(slow, "zeromq", objective("p99<=50ms")) and not why(slow, "zeromq", objective("p40<=20ms"))
    wrong = handmade([Case("zeromq", "tcp")], [100], errors=5000)
    assert "of the requests failed" in why(wrong, "zeromq", objective("p99<=20ms"))


def test_no_capacity_is_searched_in_a_quick_look(own, monkeypatch):
    monkeypatch.setattr(service_page.notebook, "measure", lambda *_, **parameters: "run")
    lines = []
    runs = service_page.measure(own(description()), "p99<=20ms", 4, "smoke", "library", lines.append)
    assert list(runs) == ["run"] and lines[-1].startswith("No search for a capacity")


def test_what_each_caution_found_is_printed():
    first, *cautions = service_page.card(handmade([Case("zeromq", "tcp")], [100])).splitlines()
    assert len(cautions) == first.count("CAUTION") > 0


def test_a_long_finding_is_printed_whole(monkeypatch):
    text = " ".join(["other processes used a CPU;"] * 40)
    long = trust_card.Check("machine", trust_card.CAUTION, text)
    monkeypatch.setattr(service_page.checks, "check", lambda run: [long])
    assert service_page.card(handmade([Case("zeromq", "tcp")], [100])).endswith(f"machine: {text}")


def test_a_page_that_cannot_be_written_is_refused_before_anything_is_measured(own, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="name another folder"):
        service_page.make(own(description()), "p99<=20ms", 4, "smoke", "library", tmp_path / "file", None, print)


@pytest.mark.parametrize(
    ("name", "text", "fact"),
    [
        ("a.jsonl", '{"path": "/"}\n{"path": "x"}', "line 2"),
        ("a.jsonl", '{"path": "/", "boddy": 1}', "boddy"),
        ("a.jsonl", '{"path": "/", "headers": {"Cookie": "{env:NOT_SET_1}"}}', "NOT_SET_1"),
        ("a.jsonl", "", "0 requests"),
        ("a.har", "{}", "log"),
        ("a.har", json.dumps({"log": {"entries": [entry(0, "/", postData={"params": [{"name": "f"}]})]}}), "body"),
        ("absent.har", None, "absent.har"),
    ],
)
def test_a_recording_that_cannot_be_used_is_refused_with_the_place(own, tmp_path, name, text, fact):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(SystemFileError, match=fact):
        service_file.read(own({"start": ["x", "{port}"], "recording": name}))


@pytest.mark.slow
def test_a_recording_is_replayed_in_its_order_also_behind_a_failed_request_and_in_an_open_load(own, tmp_path):
    lines = [{"at_s": at, "path": f"/users/{number}", "status": 200} for at, number in ((3, 0), (1, 1), (2, 2))]
    (tmp_path / "users.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    replayed = {"start": [sys.executable, "own_service.py", "{port}", "order"], "recording": "users.jsonl"}
    file = own(replayed)
    for load in ({}, {"load": "open", "offered_per_s": 100.0}):
        record = measure(case(file, **load), 0.3, seed=1)
        assert record.ledger["calls"] and not record.ledger["errors"]
    with pytest.raises(UsageError, match="recording"):
        case(file, engine="wire")
    lines[2]["status"] = 404  # of user 2: one in three is answered wrongly
    (tmp_path / "users.jsonl").write_text("\n".join(json.dumps(line) for line in lines))
    wrong = measure(case(own(replayed | {"ready": ""}, "wrong")), 0.3, seed=1).ledger
    assert wrong["errors"] == pytest.approx(wrong["calls"] / 2, abs=2) and wrong["calls"]


@pytest.fixture
def shop(own, tmp_path):
    """Return the path of the file of a service with a recording, whose gaps are 1, 0, 3 and, at its end, 4/3."""
    lines = [{"at_s": at, "path": f"/users/{number}"} for at, number in ((5, 1), (6, 2), (6, 0), (9, 4))]
    (tmp_path / "shop.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return own({"start": [sys.executable, "own_service.py", "{port}"], "recording": "shop.jsonl"}, "shop")


@pytest.mark.parametrize("callers", [1, 3])
def test_a_recording_is_replayed_at_its_own_gaps_faster(shop, callers):
    asked = {"load": "open", "arrivals": "recorded", "offered_per_s": 75.0, "callers": callers}
    record = measure(case(shop, **asked), 0.4, seed=1)
    due = sorted(due for times in record.calls for due in times[2])
    gaps = [0.01, 0, 0.03, 0.04 / 3]
    wanted = [gaps[(callers + number) % 4] for number in range(len(due) - 1)]
    assert record.ledger["scheduled"] >= 28 and len(due) > 8 and not record.ledger["errors"]
    assert [(later - each) / 1e9 for each, later in itertools.pairwise(due)] == pytest.approx(wanted, abs=1e-6)


def test_recorded_arrivals_without_recorded_times_or_with_several_clients_are_refused(own, shop, tmp_path):
    asked = {"load": "open", "arrivals": "recorded", "offered_per_s": 75.0}
    with pytest.raises(UsageError, match="clients 1"):
        case(shop, clients=2, **asked)
    with pytest.raises(UsageError, match="recording"):
        case(own(description()), **asked)
    plan = experiment("openload").plan(arrivals="recorded", system=shop, clients=1, rates="[5, 50]")
    assert [each.offered_per_s for each in plan.cases if each.arrivals == "recorded"] == [5, 50]
    plan = experiment("capacity").plan(arrivals="recorded", system=shop, clients=1, callers=5, first=3, window_s=2)
    assert plan.cases[0].arrivals == "recorded" and plan.window_s == pytest.approx(8 / 3)  # two times four requests
    (tmp_path / "shop.jsonl").write_text('{"path": "/users/1"}\n{"path": "/users/2"}')
    with pytest.raises(UsageError, match="at_s"):
        case(shop, **asked)


def test_the_wire_sends_the_same_requests(own):
    file = own(description())
    record = measure(case(file, engine="wire", callers=2), 0.2, seed=1)
    assert record.ledger["calls"] and not record.ledger["errors"]
    library = [request for request, _ in itertools.islice(_service._requests(file, b"seed"), service_file.DISTINCT)]
    by_wire = [_service._one(file, payload) for payload in _service.stand_for(b"seed")]
    assert by_wire == library and Counter(one.name for one in by_wire)["user"] == pytest.approx(50, abs=25)


ORDERS = [
    {
        "name": "login",
        "once": True,
        "http": {"method": "POST", "path": "/login", "json": {"user": "{user}", "password": "{password}"}},
        "save": {"token": "$.token"},
    },
    {
        "name": "create",
        "http": {"method": "POST", "path": "/orders", "json": {"key": "{key}"}},
        "expect": {"status": 201, "json": {"items": [{"key": "{key}"}]}},
        "save": {"number": "$.items[0].number"},
    },
    {"name": "read", "http": {"path": "/orders/{number}"}},
    {"name": "delete", "http": {"method": "DELETE", "path": "/orders/{number}"}},
]


@pytest.fixture
def orders(own, tmp_path):
    """Return a function that returns the path of a service whose callers log in and use what they created."""
    (tmp_path / "users.csv").write_text("user,password\n" + "".join(f"{u},password of {u}\n" for u in "abcd"))

    def orders(**changes):
        users = {"user": "users.csv", "password": "users.csv", "key": {"unique": "uuid"}}
        header = {"Authorization": "Bearer {token}"}
        return own(
            description("login", requests=ORDERS, headers=header, cookies=True, in_turn=True, values=users) | changes
        )

    return orders


@pytest.mark.parametrize("changes", [{}, {"load": "open", "offered_per_s": 300.0}])
def test_a_caller_logs_in_once_and_uses_in_later_requests_what_earlier_replies_held(orders, changes):
    record = measure(case(orders(), callers=3, **changes), 0.2, seed=1)
    assert record.ledger["calls"] > 10 and not record.ledger["errors"]


def test_a_value_that_a_reply_lacks_or_a_cookie_that_is_not_sent_is_a_failure_of_its_request(orders):
    with pytest.raises(SystemFailedError, match=r"create was answered wrongly: it has no \$\.id to be saved"):
        measure(case(orders(requests=[ORDERS[0], ORDERS[1] | {"save": {"number": "$.id"}}, *ORDERS[2:]])), 0.1, seed=1)
    with pytest.raises(SystemFailedError, match="create was answered wrongly: its status is 401"):
        measure(case(orders(cookies=False)), 0.1, seed=1)


def test_a_request_that_saves_a_value_and_is_drawn_too_seldom_is_named_with_a_remedy(orders):
    seldom = [ORDERS[0], ORDERS[1] | {"weight": 1e-9}, ORDERS[2]]
    with pytest.raises(SystemFailedError, match=r"a value that none saved.*larger weight"):
        measure(case(orders(requests=seldom, in_turn=False)), 0.1, seed=1)


def test_the_wire_refuses_requests_that_depend_on_replies(orders):
    with pytest.raises(UsageError, match="save, once, in_turn and cookies"):
        case(orders(), engine="wire")


@each_engine
def test_unique_values_are_new_in_each_request_and_its_reply_must_have_them(own, engine):
    asked = ORDERS[1] | {"save": {}}
    file = own(description(requests=[asked], values={"key": {"unique": "number"}}))
    record = measure(case(file, engine=engine, callers=2), 0.2, seed=1)
    assert record.ledger["calls"] > 10 and not record.ledger["errors"]
    stale = asked | {"http": asked["http"] | {"json": {"key": 1}}}
    with pytest.raises(SystemFailedError, match="key is 1, expected"):
        measure(case(own(description(requests=[stale], values={"key": {"unique": "number"}})), engine=engine), 0.1, 1)


@contextlib.contextmanager
def heads_of_requests():
    """Serve requests without a body; yield the address and the list of their heads."""
    heads = []

    def behave(connection, _):
        while head := connection.recv(1 << 16):
            heads.append(head)
            body = b"" if head.startswith(b"HEAD") else b"{}"
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n" + body)

    with served(behave) as address:
        yield address.replace("tcp:", "http:"), heads


def test_the_seed_draws_what_callers_log_in_with(own):
    requests = [{"name": "login", "http": {"path": "/{user}"}, "once": True}, {"name": "get", "http": {"path": "/"}}]
    values = {"user": {"uniform": [1, 10**9]}}
    with heads_of_requests() as (address, heads):
        file, logins = own({"address": address, "requests": requests, "values": values}), []
        for seed in (1, 1, 2):
            heads.clear()
            measure(case(file, callers=3, max_calls=20), 5.0, seed)
            logins.append({head.split()[1] for head in heads} - {b"/"})
    assert logins[0] == logins[1] != logins[2] and len(logins[0]) == 3


def test_head_is_answered_without_a_body(own):
    with heads_of_requests() as (address, _):
        head = own({"address": address, "requests": [{"name": "h", "http": {"path": "/", "method": "HEAD"}}]})
        assert measure(case(head, max_calls=3), 5.0, seed=1).ledger["calls"] == 3
        with pytest.raises(UsageError, match="HEAD"):
            case(head, engine="wire")


@pytest.mark.slow
def test_the_wire_makes_an_open_load_of_a_service_and_checks_every_reply(own, own_grpc):
    wrong = own(description("wrong", requests=[PRICED]))
    grpc = own_grpc(["other"], {"message": {"id": "{id}"}})
    for file in (wrong, grpc):  # of which every fifth reply is another
        record = measure(case(file, engine="wire", load="open", offered_per_s=200.0, callers=2), 0.5, seed=1)
        errors = record.ledger["errors"]
        assert record.ledger["scheduled"] == 100 and errors == pytest.approx(record.ledger["calls"] / 4, abs=2)
        assert {row["name"] for row in record.tables["reports"]} <= {
            'error_price: $.currency is "USD", expected "EUR"',
            'error_user: $.id is "another", expected "other"',
            PACING,
        }
    plan = experiment("openload").plan(system=wrong, engine="wire", callers=2)
    assert {each.engine for each in plan.cases if each.system == "prices"} == {"wire"}
    assert experiment("capacity").plan(system=wrong, engine="wire").cases[0].engine == "wire"


@pytest.mark.slow
@each_engine
@pytest.mark.parametrize(
    "load",
    [
        {"callers": 1},
        {"callers": 3, "clients": 2},
        {"callers": 3, "calls_per_connection": 3},
        {"load": "open", "offered_per_s": 100.0, "callers": 1},
        {"load": "open", "offered_per_s": 200.0, "callers": 8},
    ],
    ids=str,
)
def test_each_call_is_stored_with_the_request_that_it_made_also_behind_wrong_replies(own, engine, load):
    content = description("slow", requests=[PRICED | {"weight": 1}, USER])
    record = measure(case(own(content), engine=engine, **load), 0.6, seed=1)
    assert record.ledger["errors"]
    assert record.requests.names == ("price", "user") and len(record.requests.places) == len(record.calls)
    places = np.concatenate(record.requests.places)
    rtt_ns = np.concatenate([times[1] - times[0] for times in record.calls])
    assert len(places) == len(rtt_ns) == record.ledger["calls"]
    assert (rtt_ns[places == 1] >= 20_000_000).all() and np.median(rtt_ns[places == 0]) < 20_000_000
    assert len(places) / 5 < np.count_nonzero(places) < len(places) * 0.9


def test_the_cases_of_a_block_get_the_same_requests_and_blocks_get_other_ones(own):
    file = own(description(requests=[PRICED | {"weight": 1}, USER]))
    twice = {"a": {"system": file}, "b": {"system": file}}
    run = Run(runner.run(experiment("compare").plan(**twice, starts=2, window_s=0.3, slice_ms=10)))
    kinds = {start: "".join(map(str, calls["request"].cat.codes)) for start, calls in run.samples.groupby("start")}

    def are_alike(one, other):  # from some call on: their warm-ups differ in length
        return kinds[one][10:50] in kinds[other] or kinds[other][10:50] in kinds[one]

    (first, *others), last = ([*rows.index] for _, rows in run.ledger.groupby("block"))
    assert all(len(each) > 50 for each in kinds.values()) and len(others) == 2
    assert all(are_alike(first, other) for other in others) and not are_alike(first, last[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("wrong", 'error_price: $.currency is "USD", expected "EUR"'),
        ("close", "error_read"),
        ("redirect", "error_price: status 302"),
    ],
)
def test_a_call_that_fails_is_counted_by_its_request_and_fault_or_by_what_happened(own, fault, kind, started):
    address = started(file := own(description(fault, requests=[PRICED])))
    for engine in ENGINES:
        report, failed = asked(file, address, engine=engine)
        assert report.calls and report.errors and failed == {kind: report.errors}


@pytest.mark.slow
def test_a_late_reply_has_its_time_and_one_that_never_comes_is_a_counted_failure(own):
    late = measure(case(own(description("late", requests=[PRICED]))), 0.5, seed=1)
    assert not late.ledger["errors"] and late.ledger["calls"]
    assert max(late.calls[0][1] - late.calls[0][0]) >= 500_000_000
    mute = measure(case(own(description("mute", requests=[PRICED], timeout_s=0.4), "mute")), 0.5, seed=1)
    assert mute.ledger["errors"] and mute.ledger["calls"]
    assert {row["name"]: row["value"] for row in mute.tables["reports"]}["error_timeout"] == mute.ledger["errors"]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["library", "wire"])
def test_a_service_that_dies_in_the_window_is_named_with_its_status(own, engine):
    with pytest.raises(SystemFailedError, match="prices ended with status 7"):
        measure(case(own(description("die", requests=[PRICED])), engine=engine), 5, seed=1)


def test_a_service_that_never_listens_is_named_with_its_address(own):
    service = service_file.read(own(description(ready_s=0.3)))
    with subprocess.Popen(["sleep", "60"]) as process:
        with pytest.raises(TransportError, match=r"127\.0\.0\.1:\d+ within 0\.3 s.* refused.*ready_s"):
            _service._ready_at(service, process, parse_address(f"tcp://127.0.0.1:{_ports.free()}"))
        process.kill()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "headers"),
    [("chunks", {}), ("last", {}), ("gzip", {"Accept-Encoding": "gzip"}), ("", {"Expect": "100-continue"})],
)
def test_replies_in_chunks_compressed_behind_an_interim_one_or_before_the_end_of_a_connection_are_checked(
    own, fault, headers, started
):
    address = started(file := own(description(fault, requests=[PRICED], headers=headers)))
    dollars = PRICE | {"expect": {"json": {"currency": "USD"}}}
    wrong = own(description(fault, requests=[dollars], headers=headers), "dear")
    check_answered(file, address)
    for engine in ENGINES:
        with pytest.raises(TransportError, match=r'currency is "EUR", expected "USD"'):
            asked(wrong, address, engine=engine)


@pytest.mark.slow
def test_a_service_that_ends_before_it_is_ready_is_quoted(own):
    with pytest.raises(SystemFailedError, match="the database is not there") as caught:
        measure(case(own(description("early"))), 0.1, seed=1)
    assert str(caught.value).count("status") == 1  # the service's, not that of the process that started it
    with pytest.raises(SystemFailedError, match="no_such_program"):
        measure(case(own(description(start=["no_such_program", "{port}"]))), 0.1, seed=1)


def test_a_service_that_runs_already_is_measured_without_its_cpu_time(own, started):
    absent = f"127.0.0.1:{_ports.free()}"
    with pytest.raises(SystemFailedError, match=f"service absent run at tcp://{absent}"):
        measure(case(own(description(start=[], address=f"http://{absent}"), "absent")), 0.1, seed=1)
    running = {"start": [], "address": started(own(description())).replace("tcp:", "http:")}
    with pytest.raises(SystemFailedError, match="answered wrongly") as refused:
        measure(case(own(description(requests=[USER | {"expect": {"status": 201}}], **running), "wrong")), 0.1, seed=1)
    assert "Start it" not in str(refused.value)  # it runs
    ledger = measure(case(own(description(**running), "running")), 0.2, seed=1).ledger
    assert ledger["calls"] and ledger.get("server_cpu_ns") is None


def test_a_token_of_the_environment_is_sent_and_not_stored(own, monkeypatch):
    monkeypatch.setenv("OWN_TOKEN", "hush-hush")
    request = {"name": "secret", "http": {"path": "/secret", "headers": {"Authorization": "Bearer {env:OWN_TOKEN}"}}}
    asked = case(own(description(requests=[request | {"expect": {"status": 200}}])))
    record = measure(asked, 0.1, seed=1)
    assert record.ledger["calls"] and not record.ledger["errors"]
    assert "hush" not in repr(asked) + repr(record.ledger) + repr(record.tables)
    long = "hush-hush" * 30  # longer than what is quoted of a reply, which holds the token here
    monkeypatch.setenv("OWN_TOKEN", long)
    request["http"]["path"] = "/echo"
    for expect in ({"status": 201}, {"text": "x"}, {"json": {"token": "x"}}):
        service = service_file.read(file := own(description(requests=[request | {"expect": expect}]), "echo"))
        asked = next(service_file.prepared(service, random.Random(0)))
        error_text = asked.fault(200, json.dumps({"token": asked.headers["Authorization"]}).encode())
        assert "Bearer {env:OWN_TOKEN}" in error_text and "hush" not in error_text
    with pytest.raises(SystemFailedError, match=r"Bearer \{env:OWN_TOKEN\}") as refused:
        measure(case(file), 0.1, seed=1)
    assert "hush" not in str(refused.value)


QUOTING = """
import itertools, os, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

numbers = itertools.count()

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if sys.argv[2] == "traceback":
            raise ValueError(self.path)
        if sys.argv[2] == "log" and next(numbers) > 9:
            os._exit(1)
        body = self.path.encode()
        self.send_response(404 if sys.argv[2] == "page" else 200)
        for length in (len(body), 12)[: 1 + (sys.argv[2] == "library")]:
            self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(body)

HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.mark.parametrize("place", ["page", "library", "log", "traceback"])
def test_a_token_in_a_url_is_quoted_by_its_name(own, monkeypatch, place):
    monkeypatch.setenv("OWN_TOKEN", "hush/hush +1")
    request = {"name": "secret", "http": {"path": "/secret?token={env:OWN_TOKEN}"}}
    file = own({"start": [sys.executable, "-c", QUOTING, "{port}", place], "requests": [request]})
    with pytest.raises(SystemFailedError, match=r"/secret\?token=\{env:OWN_TOKEN\}") as refused:
        measure(case(file), 0.5, seed=1)
    assert "hush" not in str(refused.value)


HERE = "http://127.0.0.1:8000"


@pytest.fixture
def described(monkeypatch):
    """Return a function that lets a service describe itself so, and returns the text of its first file."""

    def text(description, status=200, url=HERE):
        monkeypatch.setattr(first_service_file, "_read", lambda url: description)
        monkeypatch.setattr(first_service_file, "_status", lambda url: status)
        return first_service_file.text(url)

    return text


def test_a_first_file_is_made_from_what_a_service_says_of_itself(own, described):
    paths = {
        "/price": {"post": {"operationId": "price", "responses": {"201": {}}} | sent(json={"$ref": "#/x/Asked"})},
        "/users/{id}": {"get": operation_with("id", "path", schema={"type": "integer"}), "delete": {}},
    }
    sku = {"sku": {"type": "string"}, "n": {"type": "integer", "minimum": 3}, "x": {}}
    asked = {"type": "object", "required": ["sku", "n"], "properties": sku}
    service = service_file.read(own(described({"paths": paths, "x": {"Asked": asked}})))
    price, user = service.says.requests
    assert (price.http.json, price.expect.status) == ({"sku": "text", "n": 3}, 201)
    assert (user.http.method, user.http.path) == ("GET", "/users/1") and service.is_running
    news = {"/news": {"get": {"responses": {"200": {"content": {"text/event-stream": {}}}}}}}
    assert "/news" not in described({"paths": paths | news})  # streams and calls are measured apart
    text = described({"paths": news, "security": [{"bearer": []}]})
    service = service_file.read(own(text))
    assert service.has_events and service.says.requests[0].http.path == "/news"
    assert "# Some requests need a login" in text


def test_no_first_file_is_made_where_nothing_answers(described, monkeypatch):
    with pytest.raises(DataError, match="/nothing answers with status 404"):
        described(None, 404, f"{HERE}/nothing")
    monkeypatch.undo()
    with pytest.raises(DataError, match=r"nothing answers.*start the service"):
        first_service_file.text(f"http://127.0.0.1:{_ports.free()}")
    with pytest.raises(UsageError):
        first_service_file.text("ftp://x")


def statuses(usual):
    """Return what serves the status that a path names, or the usual one; below /zip and /big OpenAPI descriptions.

    Below /200 it ends the connection.
    """
    paths = {"paths": {"/a": {"get": {}}}}
    files = {
        "/zip/openapi.json": http(gzip.compress(json.dumps(paths).encode()), fields=[b"Content-Encoding: gzip"]),
        "/big/openapi.json": http(json.dumps(paths | {"x": "y" * 6_000_000}).encode()),
    }

    def behave(connection, _):
        while head := connection.recv(1 << 16):
            path = head.split()[1].decode()
            if path.startswith("/200/"):
                return
            named = path.strip("/").partition("?")[0]
            status = named if named.isdecimal() else str(usual)
            connection.sendall(files.get(path) or http(b"", f"{status} Such".encode(), [b"Location: /200"]))

    return behave


@pytest.mark.parametrize(
    ("status", "target", "line"),
    [
        (404, "", "answers with status 404: give the URL"),
        (302, "", "    status: 302"),
        (404, "/200?a=b", "    path: /200?a=b"),
        (404, "/zip", "    path: /a"),
        (404, "/big", "larger than 5,000,000 B"),
    ],
)
def test_a_first_file_has_the_status_and_the_query_of_a_service_that_does_not_describe_itself(
    own, status, target, line
):
    with served(statuses(status)) as address:
        try:
            text = first_service_file.text(f"{address.replace('tcp://', 'http://ada:secret@')}{target}")
            service_file.read(own(text))
        except DataError as reason:
            text = str(reason)
    assert line in text
    assert "secret" not in text and (": give" in text or target == "/big" or "# The URL has credentials" in text)


def test_a_first_file_sends_headers_and_holds_them_without_their_secret(own, started, monkeypatch):
    url = f"{started(own(description())).replace('tcp:', 'http:')}/secret"
    with pytest.raises(DataError, match=r'status 401: give the header.*--header "X-Api-Token: {env:TOKEN}"'):
        first_service_file.text(url)
    header = "Authorization: Bearer {env:OF_A_TEST}"
    monkeypatch.setenv("SUDO_UID", "1000")
    with pytest.raises(SystemFileError, match=r"OF_A_TEST of the environment is not set.*sudo -E"):
        first_service_file.text(url, [header])
    monkeypatch.setenv("OF_A_TEST", "hush-hush")
    text = first_service_file.text(url, [header])
    service = service_file.read(own(text, "secret"))
    assert service.says.headers == {"Authorization": "Bearer {env:OF_A_TEST}"} and "hush" not in text
    assert [request.expect.status for request in service.says.requests] == [200]
    for wrong in ("Authorization", "A B: c", "A: b\r\nC: d"):
        with pytest.raises(UsageError, match="is no header: write --header"):
            first_service_file.text(url, [wrong])


def operation_with(name, place, **more):
    """Return an operation of an OpenAPI description that has a parameter."""
    return {"parameters": [{"name": name, "in": place, "required": True, **more}]}


def sent(**schemas):
    """Return an operation that takes bodies of these kinds."""
    kinds = {"json": "application/json", "form": FORM, "parts": "multipart/form-data"}
    return {"requestBody": {"content": {kinds[kind]: {"schema": schema} for kind, schema in schemas.items()}}}


NODE = {"$ref": "#/x/Node"}
REFERRED = {
    "User": operation_with("userId", "path", schema={"type": "integer", "minimum": 7}) | {"get": {}},
    "Node": {"type": "object", "properties": {"kids": {"type": "array", "items": NODE}, "next": NODE}},
    "Body": sent(json=NODE)["requestBody"],
}
A = {"type": "object", "required": ["a"], "properties": {"a": {"enum": ["NO"]}, "b": {}}}
C = {"properties": {"c": {"type": ["null", "number"], "exclusiveMaximum": 1.5}}}
TEXTS = {"type": "array", "minItems": 2, "items": {"type": "string", "example": "a b&c"}}
SERVER = {"url": "/api/{v}/", "variables": {"v": {"default": "v3"}}}


@pytest.mark.parametrize(
    ("method", "operation", "more", "target", "headers", "body"),
    [
        ("get", None, {}, "/u/7", {}, b""),
        ("get", {}, {"servers": [SERVER]}, "/api/v3/u/1", {}, b""),
        ("get", {"servers": [{"url": "https://shop.example/v2"}]}, {"servers": [SERVER]}, "/v2/u/1", {}, b""),
        ("get", operation_with("q", "query", schema=TEXTS), {}, "/u/1?q=a%20b%26c&q=a%20b%26c", {}, b""),
        ("get", operation_with("q", "query", **TEXTS), {"swagger": "2.0"}, "/u/1?q=a%20b%26c%2Ca%20b%26c", {}, b""),
        ("get", operation_with("X-A", "header", example="b"), {}, "/u/1", {"X-A": "b"}, b""),
        (
            "post",
            {"requestBody": {"$ref": "#/x/Body"}},
            {},
            "/u/1",
            {"Content-Type": "application/json"},
            b'{"kids":[]}',
        ),
        ("post", sent(parts=A, form=A), {}, "/u/1", {"Content-Type": FORM}, b"a=NO"),
        ("put", sent(json={"allOf": [A, C]}), {}, "/u/1", {"Content-Type": "application/json"}, b'{"a":"NO","c":0.5}'),
        (
            *("post", operation_with("a", "formData", type="string"), {"swagger": "2.0"}),
            *("/u/1", {"Content-Type": FORM}, b"a=text"),
        ),
        (
            *("post", operation_with("x", "body", schema=A), {"swagger": "2.0", "basePath": "/v2"}),
            *("/v2/u/1", {"Content-Type": "application/json"}, b'{"a":"NO"}'),
        ),
    ],
)
def test_a_first_file_has_what_openapi_describes(own, described, method, operation, more, target, headers, body):
    item = {"$ref": "#/x/User"} if operation is None else {method: operation}
    made = first_request(own(described({"paths": {"/u/{userId}": item}, "x": REFERRED} | more)))
    assert (made.method, made.target, made.headers, made.body) == (method.upper(), target, headers, body)


def test_a_first_file_says_what_it_does_not_hold_and_gives_each_request_a_name_of_its_own(own, described):
    asked = {"example": {"a": [1]}}  # which YAML would write as an alias where it stands twice
    body = sent(json={"type": "object", "properties": {"b": asked, "c": asked}})
    paths = {
        "/no": {
            "post": {"operationId": "no"} | body,
            "put": {"operationId": "no", "responses": {"200": {}, "201": {}}},
        },
        "/file": {"post": sent(parts=A)},
        "/apart": {"$ref": "apart.json#/x"},
        "/broken": {"get": {"parameters": [{"$ref": "#/no/such"}]}},
        "/text": {"post": sent(json={"example": "Hi {name}"})},
    }
    text = described({"paths": paths})
    first, second, third = service_file.read(service := own(text)).says.requests
    made = itertools.islice(service_file.prepared(service_file.read(service), random.Random(0)), 50)
    assert third.name == "post_text" and b'"Hi {name}"' in {one.body for one in made}
    assert (first.name, second.name) == ("no", "no_2") and first.http.json == {"b": {"a": [1]}, "c": {"a": [1]}}
    assert second.expect.status is None  # either of two is right
    notes = [line for line in text.splitlines() if line.startswith("# Not written: ")]
    for fact in ("/file: its body is multipart", "apart.json", "GET /broken"):
        assert any(fact in line for line in notes)
    assert "# No OpenAPI description was found" in described(None)


@pytest.fixture
def own_grpc(own, tmp_path):
    """Return a function that writes a service file of a gRPC service."""
    for name in ("own_users.proto", "own_grpc_service.py"):
        shutil.copy(PROGRAM.with_name(name), tmp_path)

    def write(values, expect, name="users", **changes):
        request = {"name": "user", "grpc": CALL | changes, "expect": expect}
        start = [sys.executable, "own_grpc_service.py", "{port}"]
        return own({"start": start, "requests": [request], "values": {"id": values}}, name)

    return write


def test_calls_of_a_grpc_service_are_made_by_its_own_interface_and_checked(own_grpc, monkeypatch):
    monkeypatch.setenv("PYTHONSAFEPATH", "1")  # as where notebooks are executed; the service imports what is beside it
    file = own_grpc(["a", "b"], {"message": {"id": "{id}", "name": "Ada", "visits": 3}})
    record = measure(case(file), 0.3, seed=1)
    assert record.ledger["calls"] and not record.ledger["errors"] and record.ledger["server_cpu_ns"] > 0


@pytest.mark.slow
def test_grpc_calls_are_checked_and_those_that_fail_are_counted_unless_their_status_is_expected(own_grpc, started):
    right = own_grpc(["a", "b"], {"message": {"id": "{id}", "name": "Ada"}}, headers={"Token": "x"})
    other = own_grpc(["other"], {"message": {"id": "{id}"}}, "other")  # of which every fifth is another
    absent = own_grpc(["0"], {"status": "NOT_FOUND", "text": "no such"}, "absent")
    busy = own_grpc(["busy"], {"status": "UNAVAILABLE", "text": "no such"}, "busy")
    address = started(right)
    for file in (right, absent, busy):
        check_answered(file, address, callers=2)
    for engine in ENGINES:
        report, failed = asked(other, address, engine=engine)
        assert report.calls and failed == {'error_user: $.id is "another", expected "other"': report.errors}
    with pytest.raises(UsageError, match="headers"):
        case(own_grpc(["a"], {}, headers={"token": "{id}"}), engine="wire")


def test_the_wire_makes_no_calls_of_several_grpc_methods(own, own_grpc):
    own_grpc(["a"], {})
    other = CALL | {"method": "users.v1.Users/Watch"}
    asked = [{"name": "one", "grpc": CALL}, {"name": "two", "grpc": other}]
    text = f"start: [x, '{{port}}']\nvalues: {{id: [a]}}\nrequests: {json.dumps(asked)}\n"
    with pytest.raises(UsageError, match="one gRPC method"):
        case(own(text, "both"), engine="wire")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "address"),
    [(["{port}", "certified"], "https://localhost:{port}"), (["unix:{socket}"], "unix://{socket}")],
)
def test_grpc_calls_are_made_by_tls_and_at_a_unix_domain_socket(own_grpc, own, certified, place, address, started):
    content = yaml.safe_load(Path(own_grpc(["a", "b"], {"message": {"id": "{id}"}})).read_text())
    content |= {"address": address, "start": [sys.executable, "own_grpc_service.py", *place]}
    if address.startswith("https"):
        content["authority"] = "certified/authority.pem"
    file = own(content, "users")
    check_answered(file, started(file))


@pytest.mark.slow
@pytest.mark.parametrize("version", [[], ["v1"]])
def test_a_grpc_service_is_asked_for_its_interface_where_no_proto_is_named(own_grpc, own, version, started):
    content = yaml.safe_load(Path(own_grpc(["a"], {"message": {"id": "{id}", "visits": 3}}, proto="")).read_text())
    file = own(content | {"start": [*content["start"], *version], "headers": {"X-Run": "1"}}, "users")
    report, failed = asked(file, address := started(file))
    assert report.calls and not failed
    with pytest.raises(SystemFileError, match="Put"):
        asked(own_grpc(["a"], {}, "put", proto="", method="users.v1.Users/Put"), address)


def test_a_first_file_is_made_from_the_interface_that_a_grpc_service_describes(own, own_grpc, started):
    address = started(own_grpc(["a"], {}))
    first = first_service_file.text(address.replace("tcp:", "grpc:"))
    assert first == first_service_file.text(address.replace("tcp:", "http:"))
    service = service_file.read(own(first, "first"))
    (only,) = service.says.requests
    assert (only.name, only.grpc.method, only.grpc.message) == ("Get", "users.v1.Users/Get", {"id": ""})
    assert service.is_running


def test_the_details_of_an_expected_status_have_to_hold_the_text(own_grpc):
    request = first_request(own_grpc(["a"], {"status": "NOT_FOUND", "text": "no such"}))
    assert not _service_grpc.fault(request, "NOT_FOUND", b"no such user")
    assert "no such" in _service_grpc.fault(request, "NOT_FOUND", b"gone")
    assert "NOT_FOUND" in _service_grpc.fault(request, "OK", b"no such user")


def test_metadata_in_base64_is_bytes_to_grpcio_and_a_reply_has_the_names_of_the_file_and_of_json(own_grpc):
    request = first_request(own_grpc(["a"], {}, headers={"Trace-Bin": "AAE", "X-Run": "1"}))
    assert set(_service_grpc._metadata(request)) == {("trace-bin", b"\0\1"), ("x-run", "1")}
    _, kind = _service_grpc.types_of(request.proto, request.target)
    data = kind(id="a", address={"post_code": "1"}).SerializeToString()
    request = msgspec.structs.replace(request, save={"a": "$.address.postCode", "b": "$.address.post_code"})
    assert _service.Reply(request, "OK", data).saved() == {"a": "1", "b": "1"}
    with pytest.raises(WrongReplyError, match=r"no \$\.address"):
        _service.Reply(request, "OK", b"\xff").saved()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "fact"),
    [
        ({"proto": "absent.proto"}, r"absent\.proto"),
        ({"method": "users.v1.Users/Put"}, "users.v1.Users/Put"),
        ({"method": "users.v1.Users/Watch"}, "stream of replies"),
        ({"message": {"idd": "{id}"}}, "idd"),
        ({"expect": {"messages": 2}}, "one reply"),
    ],
)
def test_a_method_or_a_field_that_the_interface_lacks_is_named(own_grpc, change, fact):
    with pytest.raises((SystemFailedError, SystemFileError), match=fact):
        measure(case(own_grpc(["a"], change.pop("expect", {}), **change)), 0.1, seed=1)


WIDE = """\ufeffsyntax = "proto2";
import "google/protobuf/any.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
message Wide {
  required int64 n = 1; optional google.protobuf.Any any = 2; map<bool, Part> parts = 3; extensions 100 to 199;
  enum Kind { A = 0; B = 1; } optional Kind kind = 4; oneof choice { string text = 5; int32 number = 6; }
  optional google.protobuf.StringValue nick = 7; optional google.protobuf.Struct struct = 8;
  optional google.protobuf.Timestamp at = 9; repeated Part list = 10;
}
message Part { optional string a = 1; optional string b = 2; }
extend Wide { optional string more = 100; }
service S {
  rpc Echo(Wide) returns (Wide);
  rpc Name(google.protobuf.StringValue) returns (google.protobuf.StringValue);
}
"""
PART = "type.googleapis.com/Part"


@pytest.fixture
def wide(own, tmp_path):
    """Return a function that writes a service file with one call of an interface that has types of many kinds."""
    (tmp_path / "wide.proto").write_text(WIDE)

    def write(message, expect=None, method="S/Echo", name="wide", **changes):
        asked = {"proto": "wide.proto", "method": method, "message": message} | changes
        request = {"name": "r", "grpc": asked} | ({"expect": {"message": expect}} if expect is not None else {})
        return own({"start": ["x", "{port}"], "requests": [request]}, name)

    return write


MESSAGES = [  # what is sent and echoed, what is expected (None: the same), and what is named of the reply
    ({"n": 2**60 + 1}, {"n": 2**60 + 1}, ""),
    ({"n": 1, "kind": 1}, {"n": "1", "kind": "B"}, ""),
    ({"n": 1, "kind": "B"}, {"kind": 0}, "$.kind"),
    ({"n": 1, "text": ""}, {"text": ""}, ""),
    ({"n": 1, "number": 1}, {"text": ""}, "$.text"),
    ({"n": 1, "nick": "x", "struct": {"a": [1, None]}, "at": "2026-01-01T00:00:00Z"}, None, ""),
    ({"n": 1, "nick": "x"}, {"nick": None}, "$.nick"),
    ({"n": 1}, {"nick": None}, ""),
    ({"n": 1, "at": "2026-01-01T00:00:00.5Z"}, {"at": "2026-01-01T00:00:00.500Z"}, ""),
    ({"n": 1, "struct": {"a": 1, "b": 2}}, {"struct": {"a": 1}}, ""),
    ({"n": 1, "any": {"@type": PART, "a": "x", "b": "y"}}, {"any": {"@type": PART, "a": "x"}}, ""),
    ({"n": 1, "any": {"@type": PART, "a": "x"}}, {"any": {"@type": PART, "a": "y"}}, "$.any.a"),
    ({"n": 1, "parts": {True: {"a": "x", "b": "y"}}}, {"parts": {True: {"b": "y"}}}, ""),
    ({"n": 1, "parts": {True: {"a": "x"}}}, {"parts": {False: {}}}, "$.parts.false"),
    ({"n": 1, "[more]": "x"}, {"[more]": "y"}, "$.[more]"),
    ({"n": 1, "list": [{"a": "x", "b": "y"}, {}]}, {"list": [{"a": "x"}, {}]}, ""),
    ({"n": 1, "list": [{"a": "x"}, {"a": "y"}]}, {"list": [{"a": "x"}, {"a": "z"}]}, "$.list[1].a"),
    ({"n": 1, "list": [{"a": "x"}, {}]}, {"list": [{"a": "x"}]}, "$.list"),
]


def test_a_message_is_written_and_compared_as_protobufs_json_says(wide):
    for number, (message, expect, fault) in enumerate(MESSAGES):
        expect = copy.deepcopy(message) if expect is None else expect
        request = first_request(wide(message, expect, name=f"wide{number}"))
        error_text = _service_grpc.fault(request, "OK", _service_grpc.encoded(request))
        assert fault in error_text and bool(error_text) == bool(fault), message


def test_a_message_that_is_one_value_and_an_any_of_an_unknown_type(wide):
    request = first_request(wide("x", "x", "S/Name"))
    assert not _service_grpc.fault(request, "OK", _service_grpc.encoded(request))
    assert "$" in _service_grpc.fault(request, "OK", b"\n\x01y")
    request = first_request(wide({"n": 1}, {"n": 1}))
    assert not _service_grpc.fault(request, "OK", _service_grpc.encoded(request) + b"\x12\x06\n\x04x/No")


@pytest.mark.parametrize(
    ("message", "expect", "fact"),
    [
        ({}, None, "r: Wide requires n"),
        ({"n": "x"}, None, "its message"),
        ({"n": 1, "any": {"@type": "x/No"}}, None, "x/No"),
        ([1], None, "r: no Wide"),
        ({"n": 1}, {"m": 1}, '"m".* what is expected'),
    ],
)
def test_a_message_that_its_type_cannot_hold_is_refused_before_the_service_is_started(wide, message, expect, fact):
    name = systems.adopt(wide(message, expect))
    with pytest.raises(SystemFileError, match=fact):
        systems.prepare(name)


def test_a_proto_imports_from_the_folders_above_it_and_from_those_that_are_named(wide, own, tmp_path):
    protos = tmp_path / "protos" / "a" / "v1"
    protos.mkdir(parents=True)
    (protos / "b.proto").write_text('syntax = "proto3"; import "a/v1/c.proto"; service S { rpc Get(C) returns (C); }')
    (protos / "c.proto").write_text('syntax = "proto3"; message C { int32 n = 1; }')
    name = systems.adopt(wide({"n": 1}, method="S/Get", proto="protos/a/v1/b.proto"))
    systems.prepare(name)
    before = revision.of_system(name, tmp_path)
    (protos / "c.proto").write_text('syntax = "proto3"; message C { int64 n = 1; }')
    assert revision.of_system(name, tmp_path) != before
    (tmp_path / "third" / "a" / "v1").mkdir(parents=True)
    (protos / "c.proto").rename(tmp_path / "third" / "a" / "v1" / "c.proto")
    with pytest.raises(SystemFileError, match=r'b\.proto.* "a/v1/c\.proto" was not found .*imports'):
        systems.prepare(name)
    request = {"name": "r", "grpc": {"proto": "a/v1/b.proto", "method": "S/Get"}}
    content = {"start": ["x", "{port}"], "requests": [request], "imports": ["protos", "third"]}
    systems.prepare(systems.adopt(own(content, "wide")))
    with pytest.raises(SystemFileError, match="in imports"):
        service_file.read(own(content | {"imports": ["third"]}, "wide"))


TOKENS = {
    "name": "tokens",
    "http": {"path": "/events/{n}", "stream": "sse"},
    "expect": {"messages": 10, "end": "[DONE]", "json": {"of": 10}, "schema": "number.json"},
}


def tokens(own, fault="", **changes):
    """Return the path of the file of a service that answers with events."""
    file = own(
        description(fault, requests=[TOKENS], **({} if "requests" in changes else {"values": {"n": [10]}})) | changes,
        "tokens",
    )
    Path(file).with_name("number.json").write_text('{"properties": {"n": {"minimum": 0}}}')
    return file


def streams(file, **changes):
    """Measure the streams of a service; return the record and how many failures of each kind were counted."""
    record = measure(case(file, load="reply_stream", callers=2, **changes), 0.4, seed=1)
    return record, {row["name"]: row["value"] for row in record.tables["reports"]}


@pytest.mark.slow
@each_engine
def test_streams_of_events_have_the_times_of_their_messages_which_are_all_checked(own, engine):
    record, failed = streams(tokens(own, warm_up=1), engine=engine)
    assert not failed and record.ledger["calls"] == 10 * record.ledger["streams"] > 0
    table, messages = record.tables["streams"], record.tables["replies"]
    assert set(table["replies"]) == {10} and all(map(int.__lt__, table["first_ns"], table["last_ns"]))
    assert set(messages["transit_ns"]) == {None} and record.ledger["server_cpu_ns"] > 0
    assert max(messages["gap_ns"]) > 1_000_000  # it pauses for 2 ms; a busy client reads several at once


STREAMED = {"load": "reply_stream", "callers": 2, "window_s": 0.4}


@pytest.mark.slow
def test_a_stream_whose_connection_ends_or_that_never_ends_is_a_counted_failure(own, started):
    for fault, kind, more in (("cut", "error_read", {}), ("stall", "error_timeout", {"timeout_s": 1})):
        file = tokens(own, fault, **more)
        for engine in ENGINES:  # a server for each: of one server every fifth stream fails, and no client's first may
            report, failed = asked(file, started(file), engine=engine, **STREAMED)
            assert failed == {kind: report.errors} and report.calls >= 10


@pytest.mark.slow
def test_streams_of_events_come_over_http_2(own, tmp_path, started):
    shutil.copy(PROGRAM.with_name("own_http2_service.py"), tmp_path)
    start = [sys.executable, "-m", "hypercorn", "own_http2_service:app", "--bind", "127.0.0.1:{port}"]
    three = {"name": "three", "http": {"path": "/events", "stream": "sse"}, "expect": {"messages": 3}}
    content = {"start": start, "ready": "/", "http2": True, "requests": [three]}
    address = started(file := own(content, "second"))
    trickling = three | {"http": {"path": "/trickle", "stream": "sse"}}
    slow = own(content | {"timeout_s": 1, "requests": [trickling]}, "third")
    plain = own(content | {"requests": [three | {"http": {"path": "/", "stream": "sse"}}]}, "fourth")
    check_answered(file, address, **STREAMED)
    for engine in ENGINES:
        report, failed = asked(slow, address, engine=engine, **STREAMED)
        assert failed == {"error_timeout": report.errors} and report.calls
        with pytest.raises(TransportError, match="its type is "):
            asked(plain, address, engine=engine, **STREAMED)


WATCH = {"method": "users.v1.Users/Watch"}


@pytest.mark.slow
def test_the_messages_of_a_grpc_method_with_a_stream_are_checked(own_grpc, started):
    expect = {"messages": 4, "message": {"id": "{id}", "name": "Ada"}}
    right, other = own_grpc(["a", "b"], expect, **WATCH), own_grpc(["other"], expect, "other", **WATCH)
    full, unary = own_grpc(["0"], expect, "full", **WATCH), own_grpc(["a"], {}, "unary")
    address = started(right)
    assert systems.has_streams("users")
    check_answered(right, address, **STREAMED)
    for engine in ENGINES:
        report, failed = asked(other, started(other), engine=engine, **STREAMED)  # a new one: every fifth is short
        assert report.calls and failed == {"error_user: wrong content: its stream has 3 messages, not 4": report.errors}
        with pytest.raises(TransportError, match=r"RESOURCE_EXHAUSTED.*too many watch"):
            asked(full, address, engine=engine, **STREAMED)
        with pytest.raises(SystemFileError, match="one reply"):
            asked(unary, address, engine=engine, **STREAMED)


@pytest.mark.slow
def test_the_page_of_a_service_with_streams_has_its_times_to_first_message(own, command, tmp_path):
    finished = command("service", tokens(own), "--profile", "smoke", "--out", str(tmp_path / "out"))
    assert not finished.returncode, finished.stderr
    page = json.loads((tmp_path / "out" / "tokens.json").read_text())
    (run,) = page["runs"].values()
    assert all(each["numbers"]["p50_first_us"]["median"] > 0 for each in run["cases"])
    assert "data:image/png" in (tmp_path / "out" / "tokens.html").read_text()


def test_streams_of_a_service_are_planned_by_how_many_run_at_once(own):
    plan = experiment("streaming").plan(system=tokens(own), streams="[1, 7]", engine="wire")
    assert [(each.callers, each.replies, each.engine) for each in plan.cases] == [(1, 0, "wire"), (7, 0, "wire")]
    with pytest.raises(UsageError, match="streaming"):
        case(tokens(own))


def test_two_services_of_one_name_are_refused_unless_the_file_has_moved(own, tmp_path):
    file, other = own(description()), tmp_path / "other" / "prices.yaml"
    other.parent.mkdir()
    shutil.copy(file, other)
    assert systems.adopt(file) == systems.adopt(file) == "prices"
    assert "own_service" not in systems.names()  # which is beside it
    with pytest.raises(UsageError, match="called so too"):
        systems.adopt(str(other))
    Path(file).unlink()
    assert systems.file_of(systems.adopt(str(other))) == str(other)


def test_raw_sockets_are_measured_beside_systems_and_not_beside_services_alone(own):
    file = own(description())
    both = experiment("latency").plan(system=f"[{file}, zeromq]", transport="tcp")
    assert {each.system for each in experiment("latency").plan(system=file).cases} == {"prices", "loopback"}
    assert {each.system for each in both.cases} == {"prices", "zeromq", "sockets", "loopback"}


def test_a_service_is_built_ahead_of_its_measurement_or_before_it(own, tmp_path, command):
    file = own(description(build=[sys.executable, "-c", "open('built', 'a').write('x')"]))
    assert command("prepare", file).stdout == f"{file}: ready\n"
    systems.prepare(case(file).system)
    assert (tmp_path / "built").read_text() == "x"
    with pytest.raises(NotInstalledError, match=r"no_such_compiler.*apt-get install x"):
        other = own(description(build=["no_such_compiler"], install="apt-get install x"), "other")
        systems.prepare(systems.adopt(other))


def test_a_build_may_print_what_it_likes_and_leave_a_process_that_goes_on(own):
    script = "printf 'caf\\351 not built\\n'; sleep 30 & test -n \"$0\""
    began = time.monotonic()
    systems.prepare(systems.adopt(own(description(build=["sh", "-c", script, "x"]))))
    with pytest.raises(SystemFileError, match="caf\ufffd not built"):
        systems.prepare(systems.adopt(own(description(build=["sh", "-c", script, ""]), "other")))
    assert time.monotonic() - began < 20


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
