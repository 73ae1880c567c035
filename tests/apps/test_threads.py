"""Too few threads or processes: a sentence with the number that is needed, before a library needs them."""

import threading

import pytest

from bench.apps import threads, unattended
from bench.errors import BenchError


@pytest.fixture
def only_three(monkeypatch):
    """Let three threads run at once, as a limit of the system does."""
    start, running = threading.Thread.start, []

    def limited(thread):
        if sum(one.is_alive() for one in running) >= 3:
            raise RuntimeError("can't start new thread")
        start(thread)
        running.append(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    return running


@pytest.fixture
def events(monkeypatch):
    """Return what is said and executed."""
    happened = []
    monkeypatch.setattr(unattended, "_execute_one", lambda *given: happened.append(given))
    return happened


def test_the_threads_that_can_be_started_are_counted_and_have_ended(only_three):
    assert threads.startable(2) == 2 and threads.startable(9) == 3
    assert not any(thread.is_alive() for thread in only_three)


def test_too_few_threads_are_refused_with_both_numbers_and_a_remedy(only_three):
    with pytest.raises(BenchError, match=r"\d\d .* 3 .*ulimit -u"):
        threads.require("a notebook", *threads.FOR_A_NOTEBOOK)
    threads.require("three", 3, 0)


def test_a_command_and_a_notebook_ask_before_a_library_is_used(only_three, command, events):
    for words in (("list",), ("run", "latency")):
        ended = command(*words)
        assert ended.returncode == 1 and "ulimit -u" in ended.stderr and ended.stdout == ""
    assert events == []
