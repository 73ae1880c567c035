"""What became of requests: those scheduled are those answered, failed and not sent."""

from handmade import usual

from bench.errors import Kinds
from bench.run import requests
from bench.run.requests import Requests
from bench.run.start_record import StartRecord


def test_failures_of_several_clients_are_added_up_by_kind():
    reports = [("error_it: status 503", 2), ("error_read", 1), ("pacing_cpu", 9), ("error_it: status 503", 3)]
    rows = [{"name": name, "value": value, "unit": "1"} for name, value in reports]
    counts = requests.of_record(StartRecord(usual(4, 1.0, errors=6, scheduled=12), [], {"reports": rows}))
    assert counts.failed == {"it: status 503": 5, "read": 1}
    assert (counts.answered, counts.sent, counts.not_sent) == (4, 10, 2)
    assert counts.scheduled == counts.answered + counts.errors + counts.not_sent


def test_faults_of_one_kind_are_added_up_under_the_first_whatever_value_was_wrong():
    kinds = Kinds()
    faults = ['$.id is "a", expected "b"', "$.id is missing", "$.n is 1, expected 2", "wrong content: it is no JSON"]
    for kind in [*faults, '$.id is "c", expected "d"', "wrong content: its stream has no message", "status 500"]:
        kinds.add(f"it: {kind}")
    assert kinds == dict(zip([f"it: {kind}" for kind in [*faults, "status 500"]], [2, 1, 1, 2, 1], strict=True))


def test_what_came_is_told_from_what_did_not():
    words = Requests(5, {"status 500": 4, "GOAWAY NO_ERROR": 1}, 10).shortfall
    assert words.startswith("40% of the requests were answered with an error (status 500) and 10% of the requests were")
    words = Requests(3, {"read: wrong content": 4, "timeout": 2, "read": 1}, 10).shortfall
    assert words.endswith("(read: wrong content) and 30% of the requests were not answered (timeout, read)")
