"""Environments apart are made once, to their end, from their lock; and say what to run when they cannot be."""

import threading

import pytest

from bench import environments
from bench.errors import NotInstalledError
from bench.measurement.routers import start


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return a laboratory with one empty lock, ``small``."""
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "small.txt").write_text("# nothing\n")
    (tmp_path / "requirements" / "lab.txt").write_text("")
    monkeypatch.setenv("ROUNDTRIP_HOME", str(tmp_path))
    monkeypatch.setenv("ROUNDTRIP_ENVIRONMENTS", str(tmp_path / "made"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return tmp_path


def test_it_is_made_once_and_again_when_it_is_not_whole(home):
    said = []
    folder = environments.ensure("small", said.append)
    assert (folder / "bin" / "python").exists() and "Making the environment small" in said[0]
    (folder / "trace").touch()
    said.clear()
    assert environments.ensure("small", said.append) == folder and not said
    lock = home / "requirements" / "small.txt"
    for spoil in (
        (folder / "made-from").unlink,  # left half-made
        lambda: lock.write_text("# another lock\n"),
        lambda: (folder / "bin" / "python").unlink(),
    ):
        spoil()
        (folder / "trace").touch()
        environments.ensure("small", said.append)
        assert not (folder / "trace").exists()
    assert environments.names() == ["small"]


def test_two_at_once_make_it_once(home):
    said = []
    both = [threading.Thread(target=environments.ensure, args=("small", said.append)) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert sum("is ready" in line for line in said) == 1
    assert any("waiting for it" in line for line in said)


def test_without_a_network_it_says_what_to_run_and_nothing_counts_as_made(home):
    lock = home / "requirements" / "small.txt"
    lock.write_text(f"no-such-package==1.0 --hash=sha256:{'0' * 64}\n")
    for _ in range(2):
        with pytest.raises(NotInstalledError, match=r"no-such-package.*run: python -m bench prepare small"):
            environments.ensure("small", lambda line: None)


def test_without_its_lock_it_cannot_be_made(home):
    with pytest.raises(NotInstalledError, match=r"no .*requirements/large.txt .*use a checkout"):
        environments.ensure("large")


def test_a_place_that_cannot_be_written_is_named(home, monkeypatch):
    monkeypatch.setenv("ROUNDTRIP_ENVIRONMENTS", "/proc/nowhere")
    with pytest.raises(NotInstalledError, match="name another folder in ROUNDTRIP_ENVIRONMENTS"):
        environments.ensure("small")


def test_a_damaged_environment_is_explained(home, private_parent):
    (home / "requirements" / "crossbar.txt").write_text("# nothing\n")
    with pytest.raises(Exception, match=r"bin/crossbar.*make it anew: python -m bench prepare crossbar --anew"):
        start("wamp_crossbar", "ipc", {})
    assert not list(private_parent.glob("roundtrip-*"))


def test_the_command_makes_all_of_them(home, command):
    finished = command("prepare")
    assert finished.returncode == 0 and "The environment small is ready" in finished.stdout
    assert "unknown environment 'smal'" in command("prepare", "smal").stderr
