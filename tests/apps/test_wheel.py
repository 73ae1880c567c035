"""The package as a wheel installs it: outside a checkout, in a folder with a space, by a user who may write nothing."""

import os
import shutil
import subprocess
import sysconfig
import tomllib
from pathlib import Path

import pytest
from conftest import ROOT

from bench.measurement import revision
from bench.process.pipes import python

pytestmark = pytest.mark.slow

LARGEST = 10_000_000  # bytes of the wheel
NAME = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["name"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return a wheel of this checkout, built without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    offline = ("--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check")
    subprocess.run(python("pip", "wheel", *offline, "--wheel-dir", str(folder), str(ROOT)), check=True)
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def installed(tmp_path_factory, built):
    """Return an environment with the wheel, and the packages of this interpreter; nothing in it can be written."""
    folder = tmp_path_factory.mktemp("in stalled") / "an environment"
    subprocess.run(python("venv", "--without-pip", str(folder)), check=True)
    pip = python("pip", "--python", str(folder / "bin" / "python"), "--disable-pip-version-check")
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", str(built)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    others = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    (packages / "others.pth").write_text("\n".join(others), "utf-8")  # their own .pth files are not read
    _let_write(folder, False)
    yield folder
    _let_write(folder, True)


def _let_write(folder: Path, is_allowed: bool) -> None:
    for place in (folder, *folder.rglob("*")):
        if not place.is_symlink():
            mode = place.stat().st_mode
            place.chmod(mode | 0o200 if is_allowed else mode & ~0o222)


@pytest.fixture
def bench(installed, tmp_path):
    """Return a function that runs ``bench`` in the folder "some where", without root's rights."""
    folder = tmp_path / "some where"
    folder.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ROUNDTRIP_")}

    def run(*words: str, program: str = "bench", **variables: str) -> subprocess.CompletedProcess:
        command = [*_without_rights(), str(installed / "bin" / program), *words]
        environment = kept | {"HOME": str(tmp_path)} | variables
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=100)

    run.where = folder
    return run


def _without_rights() -> list[str]:
    """Return the words before a command that take root's rights away: it may then write only what its modes allow."""
    if os.geteuid() != 0:
        return []
    if not (setpriv := shutil.which("setpriv")):
        pytest.skip("root may write everywhere, and there is no setpriv: apt-get install util-linux")
    return [setpriv, "--bounding-set=-all", "--inh-caps=-all"]


def test_it_is_small_and_is_what_is_imported_and_of_this_revision(bench, built, installed):
    assert built.stat().st_size < LARGEST
    code = "import bench; from bench.measurement import revision as r; print(bench.__file__); print(r.content())"
    file, content = bench("-P", "-c", code, program="python").stdout.splitlines()
    assert Path(file).is_relative_to(installed)
    assert content == revision.content()


def test_the_package_beside_it_is_installed_with_its_files(bench, installed):
    finished = bench("-P", "-c", "import certify; print(certify.__file__)", program="python")
    assert Path(finished.stdout.strip()).is_relative_to(installed), finished.stderr
    assert "percentiles" in bench("certify", "--schema").stdout
    missing = bench("certify", "wrk2")
    assert missing.returncode == 2 and "wrk2 is not installed; install it: " in missing.stderr


def test_a_notebook_measures_and_writes_into_the_current_folder(bench, installed):
    before = _files(installed)
    words = ("run", "latency", "-p", "profile", "smoke", "-p", "system", "sockets", "-p", "transport", "ipc")
    done = bench(*words, program=NAME)  # as `uvx NAME run latency` and `pipx run NAME run latency` do
    assert (done.returncode, done.stderr) == (0, "") and not {"\r", "\x1b"} & set(done.stdout)  # no progress bar
    lines = done.stdout.splitlines()
    assert [line.rpartition("/")[2] for line in lines[-2:]] == ["latency.png", "latency.svg"]
    assert any(line.startswith("No conclusion from ") for line in lines) and lines[-4].startswith("Trust card: ")
    written = _files(bench.where)
    assert {"data/executed/latency.ipynb", "figures/latency.svg", "figures/latency.png"} <= written
    assert all(name in done.stdout for name in ("data/executed/latency.ipynb", "figures/latency.svg"))
    assert len(list(bench.where.glob("data/runs/*-latency-*/manifest.json"))) == 1
    assert _files(installed) == before


def _files(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*")}


def test_another_reference_run_is_found_in_a_checkout(bench):
    words = ("keep", "reference/calibration", "kept")
    refused = bench(*words)
    assert refused.returncode == 1 and refused.stderr.count("\n") == 1
    assert "reference/calibration" in refused.stderr and "ROUNDTRIP_HOME" in refused.stderr
    (bench.where / "checkout").symlink_to(ROOT)
    done = bench(*words, ROUNDTRIP_HOME="checkout")
    assert (done.returncode, done.stderr) == (0, "") and (bench.where / "kept" / "manifest.json").is_file()
