"""What carries orders to hosts: its addresses, and what is said where it is not installed."""

import os
import signal
import stat
import subprocess
import sys

import pytest

from bench.errors import NotInstalledError, UsageError
from bench.measurement.hosts import dask_engine
from bench.measurement.hosts.remote import connected


def test_without_it_one_sentence_says_how_to_install_it(monkeypatch, command):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(NotInstalledError, match="pip install distributed"),
        connected({"scheduler": "tcp://127.0.0.1:1"}),
    ):
        pass
    for words in (("host", "tcp://127.0.0.1:1"), ("hosts", "tcp://127.0.0.1:1"), ("scheduler",)):
        finished = command(*words)
        assert finished.returncode == 1 and finished.stderr.count("\n") == 1
        assert "pip install distributed" in finished.stderr


def test_addresses():
    assert (
        dask_engine.parsed("tcp://[::1]:7") == ("tcp", "::1", 7)
        and dask_engine.parsed("tls://a")[2] == dask_engine.PORT
    )
    assert dask_engine.joined("tcp", "::1", 7) == "tcp://[::1]:7"
    assert (
        dask_engine.is_loopback("127.3.2.1")
        and dask_engine.is_loopback("::1")
        and not dask_engine.is_loopback("10.0.0.1")
    )
    assert dask_engine.local_address("127.0.0.1", 9) == "127.0.0.1"


@pytest.mark.parametrize("address", ["tcp://10.0.0.1:8786", "tcp://0.0.0.0:8786", "tcp://example:1"])
def test_plain_tcp_beyond_this_machine_is_asked_for_by_name(address):
    with pytest.raises(UsageError, match=address):
        dask_engine.check_plain(address, False)
    dask_engine.check_plain(address, True)
    dask_engine.check_plain(address.replace("tcp", "tls"), False)
    dask_engine.check_plain("tcp://localhost:8786", False)


@pytest.mark.slow
def test_a_scheduler_keeps_its_files_from_other_users(tmp_path):
    words = [sys.executable, "-P", "-m", "bench", "scheduler", "--listen", "tcp://127.0.0.1:0"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as scheduler:
        assert "scheduler at" in scheduler.stdout.readline()
        made = list(tmp_path.iterdir())
        assert made and all(stat.S_IMODE(folder.stat().st_mode) == 0o700 for folder in made)
        scheduler.send_signal(signal.SIGINT)
    assert list(tmp_path.iterdir()) == []
