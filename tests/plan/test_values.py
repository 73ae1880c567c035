"""Values of service files: names in requests, columns of files, values that are new for each request."""

import itertools
import json
import random
import uuid

import pytest

from bench.errors import SystemFileError
from bench.plan import service_file, values


@pytest.fixture
def read(tmp_path):
    """Return a function that reads a service file with these requests, and other parts."""

    def read(*requests, **parts):
        named = [{"name": f"r{number}", **request} for number, request in enumerate(requests)]
        file = tmp_path / "own.yaml"
        file.write_text(json.dumps({"start": ["x", "{port}"], "requests": named} | parts))
        return service_file.read(str(file))

    return read


def post(json, path="/", **parts):
    return {"http": {"method": "POST", "path": path, "json": json}, **parts}


def prepared(service, count=1):
    return list(itertools.islice(service_file.prepared(service, random.Random(0)), count))


def test_names_of_all_kinds_are_filled_in_also_in_names_of_members_and_headers(read):
    asked = post({"{SKU}": "{item-count}", "user": "{userId}!", "größe": "{größe}"}, "/u/{user_id.x}")
    asked["http"]["headers"] = {"X-{SKU}": "{userId}"}
    sources = {"SKU": ["a"], "item-count": [2], "userId": ["u"], "größe": [None], "user_id.x": [True]}
    (one,) = prepared(read(asked, values=sources))
    assert json.loads(one.body) == {"a": 2, "user": "u!", "größe": None}
    assert (one.target, one.headers["X-a"]) == ("/u/true", "u")


def test_doubled_braces_are_sent_as_single_ones_and_other_braces_as_they_are(read):
    query = "query($id:ID!){user(id:$id){{name}}} { a } {{ b }} {{env:HOME}}"
    (one,) = prepared(read(post({"query": query, "id": "{id}"}), values={"id": [7]}))
    assert json.loads(one.body) == {"query": "query($id:ID!){user(id:$id){name}} { a } {{ b }} {env:HOME}", "id": 7}


@pytest.mark.parametrize(
    ("value", "target"),
    [
        ("a&b=c+d", "/a&b=c+d?q=a%26b%3Dc%2Bd&n=1"),
        ("100%", "/100%25?q=100%25&n=1"),
        ("a/b?c%20", "/a/b%3Fc%2520?q=a%2Fb%3Fc%2520&n=1"),
    ],
)
def test_a_value_in_a_query_is_one_value(read, value, target):
    (one,) = prepared(read({"http": {"path": "/{v}?q={v}&n=1"}}, values={"v": [value]}))
    assert one.target == target


def test_columns_of_a_file_are_as_excel_writes_them_and_one_request_has_one_row(read, tmp_path):
    rows = 'id,"a ""text""",n\r\n1,"first\r\nsecond\u2028line",3\r\n2,"a ""quote""",4.5\r\n'
    (tmp_path / "data.csv").write_bytes(b"\xef\xbb\xbf" + rows.encode())
    (tmp_path / "names.csv").write_text("id,text,n\n" + rows.partition("\r\n")[2].replace("\r\n2", "\n2"))
    sources = {"id": "names.csv", "text": "names.csv", "n": {"numbers": "names.csv"}}
    made = [
        json.loads(one.body)
        for one in prepared(read(post({name: f"{{{name}}}" for name in sources}), values=sources), 50)
    ]
    assert {one["id"]: one["n"] for one in made} == {"1": 3, "2": 4.5}
    assert {(one["id"], one["text"]) for one in made} == {("1", "first\r\nsecond\u2028line"), ("2", 'a "quote"')}
    assert prepared(read(post("{id}"), values={"id": "data.csv"}))  # with Excel's mark before the first name


@pytest.mark.parametrize(
    ("content", "source"),
    [
        ("id,n\n1,2\n3\n", "data.csv"), ("id,n\n1,2\n3,4,5\n", "data.csv"), ("id,id\n1,2\n", "data.csv"),
        ("n;id\n1;2\n", "data.csv"), ('id\n"1\n', "data.csv"), ("id\n", "data.csv"), ("", "data.csv"),
        ("id\n" + "1\n" * 100_001, "data.csv"), ("id\n1\nx\n", {"numbers": "data.csv"}),
        ("id\n1\nNaN\n", {"numbers": "data.csv"}), ("", {"uniform": [2, 1]}), ("", {"uniform": [1, 2], "now": "s"}),
        ("", {}), ("", []),
    ],
)  # fmt: skip
def test_values_that_would_be_damaged_or_ignored_are_refused(read, tmp_path, content, source):
    (tmp_path / "data.csv").write_text(content)
    with pytest.raises(SystemFileError, match=r"data\.csv" if "data.csv" in str(source) else None):
        read(post("{id}"), values={"id": source})


@pytest.mark.parametrize(
    ("requests", "parts"),
    [
        ([post("{id}")], {"values": {"item count": [1]}}),
        ([post("{id}")], {"values": {"id": [1], "unused": [1]}}),
        ([post("{id}")], {"values": {"id": [1]}, "ready": "/{id}"}),
        ([post("{id}")], {"values": {"id": [1]}, "headers": {"A": "a\nb"}}),
        ([post("{id}")], {"values": {"id": [1]}, "headers": {"A": "{nobody}"}}),
        ([post("{id}", save={"id": "id"})], {}),
        ([post("{id}", save={"id": "$.id"})], {}),
        ([post("{token}", once=True), post("", save={"token": "$.t"})], {}),
        ([post("", save={"x": "$.x"})], {}),
        ([post("", once=True)], {}),
        ([post("", once=True, weight=2), post("")], {}),
        ([post("", expect={"status": "200"})], {}),
    ],
)
def test_a_value_that_cannot_be_used_or_cannot_be_there_is_refused(read, requests, parts):
    with pytest.raises(SystemFileError):
        read(*requests, **parts)


def test_new_values_differ_in_each_request_and_are_the_same_within_one(read):
    asked = post({"id": "{n}", "key": "{u}", "at": "{t}"}, "/{n}", expect={"json": {"id": "{n}"}})
    sources = {"n": {"unique": "number"}, "u": {"unique": "uuid"}, "t": {"now": "iso"}}
    drawn = prepared(read(asked, values=sources))[0]
    made = [drawn.again({}) for _ in range(1000)]
    bodies = [json.loads(one.body) for one in made]
    assert len({body["id"] for body in bodies}) == len({uuid.UUID(body["key"]) for body in bodies}) == 1000
    assert all(one.target == f"/{one.expect.json['id']}" for one in made)
    assert {len(one.body) for one in made} == {len(drawn.body)} and bodies[0]["at"].endswith("Z")
    assert all(10**15 <= body["id"] < 2**53 for body in bodies)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$", None),
        ("$.a[1].b", 7),
        ("$['a'][0]", "x"),
        ("$.c", None),
        ("$.a.b", None),
        ("$[0]", None),
        ("$.a[0][0]", None),
    ],
)
def test_a_member_is_found_by_its_path(path, value):
    document = {"a": ["x", {"b": 7}]}
    if value is None and path != "$":
        with pytest.raises(KeyError):
            values.member(path, document)
    else:
        assert values.member(path, document) == (value or document)
