"""The line that grows more exact: its words, on a terminal, in a log, and from a notebook's kernel."""

import os
import re
import sys
import termios

from handmade import file_by_file, handmade, in_turns

from bench.analysis.converging import Converging
from bench.apps import growing, notebook
from bench.plan.case import Case


def after(run, starts):
    converging = Converging(run.plan, run.folder)
    for _ in range(starts):
        converging.step()
    return growing.text(converging, run.plan.cases[0], 31.4)


def test_the_line_has_the_block_the_ratio_with_its_interval_and_the_time_that_is_left():
    run = in_turns([20.0, 30.0], drift=0.01, write=file_by_file)
    assert re.fullmatch(r"block 1 of 8: \S.*/\S.* \d\.\d+ \(95 % CI from block 6 on\); 31 s left", after(run, 2))
    assert re.fullmatch(r"block 8 of 8: \S.*/\S.* \d\.\d+ \[\d\.\d+, \d\.\d+\]; 31 s left", after(run, 16))


def test_without_turns_the_line_names_the_case():
    run = handmade([Case("sockets", "ipc"), Case("zeromq", "ipc")], [10, 20])
    assert after(run, 3) == "block 1 of 6: sockets over ipc, 1,000 B; 31 s left"


def test_a_terminal_has_one_line_that_is_replaced_and_taken_away(monkeypatch):
    reader, writer = os.openpty()
    termios.tcsetwinsize(writer, (24, 80))
    with os.fdopen(writer, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with growing.terminal_or(print) as show:
            for text in ("block 10", "block 9", "x" * 500):
                show(text)
        written = ""
        while written.count("\r") < 6:
            written += os.read(reader, 1000).decode()
    first, second, long, last, end = written.split("\r")[-5:]
    assert "\n" not in written and (first, second) == ("block 10", "block 9 ") and len(long) < 81
    assert (last, end) == (" " * len(long), "")


def test_a_kernel_sends_its_lines_and_does_not_wait_for_who_has_ended(tmp_path, monkeypatch):
    seen = []
    with growing.received(str(tmp_path), seen.append) as variable:
        monkeypatch.setenv(growing.PIPE, variable[growing.PIPE])
        growing.sent("block 1 of 2: B/A 1.03 µs")
        growing.sent("block 2 of 2")
    assert seen == ["block 1 of 2: B/A 1.03 µs", "block 2 of 2"]
    growing.sent("nobody reads this")


def test_a_command_without_a_terminal_has_the_line_in_its_error_output_and_a_kernel_none(monkeypatch, capfd):
    monkeypatch.setattr(growing, "LOGGED_S", 0.0)
    monkeypatch.setattr(growing, "GROWS_S", 0.0)
    run = handmade([Case("sockets", "ipc"), Case("zeromq", "ipc")], [10, 20])
    lines = {}
    for place in ("command", "kernel"):
        monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
        if place == "kernel":
            monkeypatch.setitem(sys.modules, "ipykernel", sys)
        with notebook.progress(run.folder, 30.0) as step:
            for case in run.plan.cases:
                step(case)
        lines[place] = capfd.readouterr().err.splitlines()
    assert lines["command"] and all(re.match(r"block \d of 6: \S+ over ipc", line) for line in lines["command"])
    assert lines["kernel"] == []
