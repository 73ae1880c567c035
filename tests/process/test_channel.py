"""Messages between parent and child: typed, whole in whatever pieces they come, refused in words if they are not."""

import os
import subprocess
import sys
import time
from array import array
from pathlib import Path

import pytest
from specs import server_spec

from bench.errors import SystemFailedError
from bench.process import channel, spec
from bench.process.channel import ControlMessage, Counted, Reader, decode, encode, read_line
from bench.process.pipes import with_package

DONE = {
    "calls": 2, "client_cpu_ns": 5, "server_cpu_ns": None, "voluntary_switches": 1, "involuntary_switches": 0,
    "gc_collections": 0,
}  # fmt: skip


def sent(message: ControlMessage) -> bytes:
    return b"".join(encode(message))


def test_what_is_sent_is_what_is_read_whatever_the_pieces():
    times = array("q", [3, 1, 2])
    messages = [server_spec("zeromq", "ipc", {"copy": False}), spec.Done(**DONE, blobs=(times, b"")), Counted(count=7)]
    data = b"".join(map(sent, messages))
    for size in (1, 5, 64, len(data)):
        reader = Reader()
        pieces = (data[at : at + size] for at in range(0, len(data), size))
        heard = [message for piece in pieces for message in reader.feed(piece)]
        assert [type(message) for message in heard] == [spec.ServerSpec, spec.Done, Counted]
        server, done, counted = heard
        assert server.case == messages[0].case and server.cpus is None
        assert array("q", done.blobs[0]) == times and done.blobs[1] == b"" and done.errors == 0
        assert counted.count == 7 and counted.workers is None


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b'{"kind": "Nonsense"}', "'Nonsense'"),
        (b'{"kind": "Counted", "sizes": []}', "Counted .*'count'"),
        (b'{"kind": "Listening", "sizes": [], "address": "x", "port": 5}', "'port'"),
        (b"Traceback (most recent call last):", "Traceback"),
        (b"\xff\xfe", r"\\xff"),
    ],
)
def test_what_is_no_message_is_one_sentence(line, text):
    with pytest.raises(SystemFailedError, match=text) as caught:
        decode(read_line(line))
    assert "\n" not in str(caught.value)


def test_a_child_of_another_version_is_told_so():
    started = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-m", "bench.child.server"], **started) as process:
        process.stdin.write(b'{"kind": "ServerSpec", "sizes": [], "case": {"system": "sockets", "colour": "red"}}\n')
        process.stdin.flush()
        (failed,) = Reader().feed(process.stdout.readline())
        assert process.wait(10) == 1  # by itself: its input is still open
    assert "'colour'" in failed.text and "not of one version" in failed.text


SLOW = """
import os, sys, time
from bench.process.channel import Channel
made = os.mkdir
def slow(*args, **more):
    made(*args, **more)
    time.sleep(0.5)
os.mkdir = slow
Channel().make_directory(sys.argv[1])
time.sleep(30)
"""


def test_a_directory_that_is_being_made_as_the_parent_ends_is_not_left(tmp_path):
    folder, words = tmp_path / "private", [sys.executable, "-c", SLOW]
    with subprocess.Popen([*words, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as child:
        deadline = time.monotonic() + 20
        while not folder.exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        child.stdin.close()
        assert child.wait(20) == 0
    assert not folder.exists()


def test_a_directory_goes_although_a_file_comes_into_it_meanwhile(tmp_path, monkeypatch):
    folder, remove, late = tmp_path / "private", os.rmdir, iter(["socket"])

    def rmdir(path, **more):
        for name in late:
            Path(folder, name).touch()
        remove(path, **more)

    folder.mkdir()
    monkeypatch.setattr(os, "rmdir", rmdir)
    channel._remove(str(folder))
    assert not folder.exists()


ADOPTING = """
import subprocess, sys
from bench.process.channel import Counted, run_child

def work(channel):
    program = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE, process_group=0)
    channel.adopt(program.pid)
    program.stdout.readline()
    channel.send(Counted(count=program.pid))
    raise RuntimeError(f"it ended with status {program.wait()}")

run_child(work)
"""
TIDY = "signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(open('tidied', 'w').close()))"
DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN); open('tidied', 'w').close()"
WORKERS = f"{TIDY}; os.fork() or {DEAF}"


@pytest.mark.parametrize("program", [TIDY, DEAF, WORKERS], ids=["tidy", "deaf", "with a deaf worker"])
def test_a_program_is_asked_to_end_and_ended_by_force_if_it_does_not(tmp_path, program):
    program = f"import os, signal, sys, time; {program}; print(flush=True); time.sleep(60)"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": with_package()}
    with subprocess.Popen([sys.executable, "-c", ADOPTING, program], cwd=tmp_path, **pipes) as child:
        heard = Reader()
        (adopted,), (counted,) = (list(heard.feed(child.stdout.readline())) for _ in range(2))
        rest, _ = child.communicate(timeout=30)
    assert (adopted.group, rest, child.returncode) == (counted.count, b"", 0)
    assert (tmp_path / "tidied").exists()
    with pytest.raises(ProcessLookupError):
        os.killpg(adopted.group, 0)
