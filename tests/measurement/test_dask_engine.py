"""What carries orders to hosts: its addresses, and what is said where it is not installed."""

import os
import signal
import stat
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from bench.contract import is_loopback
from bench.errors import NotInstalledError, UsageError
from bench.measurement import certificates
from bench.measurement.hosts import dask_engine
from bench.measurement.hosts.remote import connected
from bench.plan import credentials


def test_without_it_one_sentence_says_how_to_install_it(monkeypatch, command):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        pytest.raises(NotInstalledError, match="pip install distributed"),
        connected({"scheduler": "tls://127.0.0.1:1"}),
    ):
        pass
    for words in (("host", "tls://127.0.0.1:1"), ("hosts", "tls://127.0.0.1:1"), ("scheduler",)):
        finished = command(*words)
        assert finished.returncode == 1 and finished.stderr.count("\n") == 1
        assert "pip install distributed" in finished.stderr


def test_plain_tcp_is_asked_for_by_name_and_says_who_can_run_what():
    with pytest.raises(UsageError, match="--plain"):
        dask_engine.security("tcp", is_plain_wanted=False)
    assert dask_engine.security("tcp", is_plain_wanted=True) is None
    assert is_loopback("127.3.2.1") and is_loopback("::1") and not is_loopback("10.0.0.1")
    assert "every user of this machine" in dask_engine.exposed("127.0.0.1", "mara")
    assert all(word in dask_engine.exposed("10.0.0.1", "mara") for word in ("10.0.0.1", "mara"))


def test_hosts_know_each_other_by_files_that_nobody_else_reads(tmp_path, monkeypatch):
    monkeypatch.setenv("ROUNDTRIP_CREDENTIALS", str(tmp_path / "ours"))
    with pytest.raises(UsageError, match=r"ours.*authority\.pem"):
        certificates.of_hosts()
    certificates.make_folder(tmp_path / "ours", [])
    files = certificates.of_hosts()
    key = files[credentials.KEY]
    assert key.stat().st_mode & 0o777 == 0o600 and key.parent.stat().st_mode & 0o777 == 0o700
    assert (key.parent / ".gitignore").read_text() == "*\n"
    key.chmod(0o640)
    with pytest.raises(UsageError, match=r"server\.key"):
        certificates.of_hosts()


def test_an_expired_certificate_is_said_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("ROUNDTRIP_CREDENTIALS", str(tmp_path))
    credentials.write(str(tmp_path), certificates.make(not_after=datetime(2020, 2, 29, tzinfo=UTC)))
    with pytest.raises(UsageError, match="2020-02-29"):
        certificates.of_hosts()


@pytest.mark.slow
def test_a_scheduler_keeps_its_files_from_other_users(tmp_path):
    words = [sys.executable, "-P", "-m", "bench", "scheduler", "--listen", "tcp://127.0.0.1:0", "--plain"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as scheduler:
        assert "scheduler at" in scheduler.stdout.readline()
        made = list(tmp_path.iterdir())
        assert made and all(stat.S_IMODE(folder.stat().st_mode) == 0o700 for folder in made)
        scheduler.send_signal(signal.SIGINT)
    assert list(tmp_path.iterdir()) == []
