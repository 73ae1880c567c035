"""Environments apart are made once, to their end, from their lock; and say what to run when they cannot be."""

import hashlib
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT

from bench.errors import NotInstalledError
from bench.measurement.routers import start
from bench.plan.case import Case
from bench.process import environments, installer

pytestmark = pytest.mark.slow


def wheel(folder: Path, name: str) -> str:
    """Write a wheel of one module that is empty; return its line in a lock."""
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}.py": "",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as packed:
        for file, text in files.items():
            packed.writestr(file, text)
    return f"{name}==1.0 --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


@pytest.fixture(params=installer.NAMES)
def installer_name(request, monkeypatch):
    """Choose an installer, the one and then the other; return its name."""
    if request.param == "uv" and installer.uv() is None:
        pytest.skip("uv is not installed")
    monkeypatch.setenv(installer.VARIABLE, request.param)
    return request.param


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return a laboratory with one lock of one package, ``small``; its wheel is in a folder, nothing is downloaded."""
    (tmp_path / "requirements").mkdir()
    (tmp_path / "wheels").mkdir()
    (tmp_path / "requirements" / "small.txt").write_text(wheel(tmp_path / "wheels", "tiny"))
    for other in environments.OTHER_LOCKS:
        (tmp_path / "requirements" / f"{other}.txt").write_text("")
    monkeypatch.setenv("ROUNDTRIP_HOME", str(tmp_path))
    monkeypatch.setenv("ROUNDTRIP_ENVIRONMENTS", str(tmp_path / "made"))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "cache"))
    for variable in ("PIP_FIND_LINKS", "UV_FIND_LINKS"):
        monkeypatch.setenv(variable, str(tmp_path / "wheels"))
    for variable in ("PIP_NO_INDEX", "UV_OFFLINE"):
        monkeypatch.setenv(variable, "1")
    return tmp_path


def test_it_is_made_once(home, installer_name):
    lines = []
    folder = environments.ensure("small", lines.append)
    assert f"small with {installer_name}" in lines[0] and len(lines) <= 3
    assert [file.name.split(".")[0] for file in folder.rglob("*.pyc")] == ["tiny"]  # byte-code is compiled
    subprocess.run([folder / "bin" / "python", "-c", "import tiny"], check=True)
    lines.clear()
    assert environments.ensure("small", lines.append) == folder and not lines


def test_it_is_made_again_when_it_is_not_whole(home):
    folder = environments.ensure("small", print)
    lock = home / "requirements" / "small.txt"
    for spoil in (
        (folder / "made-from").unlink,  # left half-made
        lambda: lock.write_text(f"# another lock\n{lock.read_text()}"),
        lambda: (folder / "bin" / "python").unlink(),
    ):
        spoil()
        (folder / "trace").touch()
        environments.ensure("small", print)
        assert not (folder / "trace").exists()
    assert environments.names() == ["small"]


def test_two_at_once_make_it_once(home):
    lines = []
    both = [threading.Thread(target=environments.ensure, args=("small", lines.append)) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert sum(" with " in line for line in lines) == 1 and len(lines) >= 3  # made, ready, and the other one waits


def test_without_a_network_it_says_what_to_run_and_nothing_counts_as_made(home, installer_name):
    lock = home / "requirements" / "small.txt"
    lock.write_text(f"no-such-package==1.0 --hash=sha256:{'0' * 64}\n")
    with pytest.raises(NotInstalledError, match=r"no-such-package.*bench prepare small") as caught:
        environments.ensure("small", lambda line: None)
    assert ("ROUNDTRIP_INSTALLER=pip" in str(caught.value)) == (installer_name == "uv") and not environments.is_ready(
        "small"
    )


@pytest.mark.parametrize("hash_option", [f" --hash=sha256:{'0' * 64}", ""])
def test_a_package_of_another_hash_or_without_one_is_refused(home, installer_name, hash_option):
    (home / "requirements" / "small.txt").write_text(f"tiny==1.0{hash_option}\n")
    with pytest.raises(NotInstalledError, match=r"(?i)hash.*bench prepare small"):
        environments.ensure("small", lambda line: None)


def test_the_makefiles_command_fills_the_environment_of_its_interpreter(home, monkeypatch):
    if (uv := installer.uv()) is None:
        pytest.skip("uv is not installed")
    monkeypatch.setenv(installer.VARIABLE, "uv")
    monkeypatch.setenv("PATH", str(Path(uv).parent))
    lock, python = home / "requirements" / "small.txt", home / "lab" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home / "lab"], check=True)
    words = [python, "-m", "bench.process.installer", lock]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    subprocess.run([python, "-c", "import tiny"], check=True)

    lock.write_text(f"tiny==1.1 --hash=sha256:{'0' * 64}\n")
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "small.txt" in done.stderr and "make INSTALLER=pip" in done.stderr


def test_a_place_that_cannot_be_written_is_named(home, monkeypatch):
    monkeypatch.setenv("ROUNDTRIP_ENVIRONMENTS", "/proc/nowhere")
    with pytest.raises(NotInstalledError, match=r"/proc/nowhere.*ROUNDTRIP_ENVIRONMENTS"):
        environments.ensure("small")


def test_a_damaged_environment_is_explained(home, private_parent):
    (home / "requirements" / "small.txt").rename(home / "requirements" / "crossbar.txt")
    with pytest.raises(Exception, match=r"bin/crossbar.*bench prepare crossbar --anew"):
        start(Case("wamp_crossbar", "ipc"))
    assert not list(private_parent.glob("roundtrip-*"))


def test_the_command_makes_all_of_them(home, command):
    finished = command("prepare")
    assert finished.returncode == 0 and "small" in finished.stdout
    assert "'smal'" in command("prepare", "smal").stderr


def test_where_uv_is_not_there_pip_is_used_and_one_line_says_so(home, monkeypatch):
    monkeypatch.delenv(installer.VARIABLE, raising=False)
    monkeypatch.setattr(installer, "uv", lambda: None)
    lines = []
    environments.ensure("small", lines.append)
    assert "uv" in lines[0] and "small with pip" in lines[1]
    assert lines.count(lines[0]) == 1
