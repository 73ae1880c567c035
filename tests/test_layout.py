"""The house keeps its plan: servers and clients are light, and locks agree with what is imported."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml
from conftest import ROOT

import bench
from bench import systems

BENCH = ROOT / "bench"
CERTIFY = ROOT / "certify"
OTHERS = CERTIFY / "generators"  # scripts that load generators of others run
MODULES = sorted(
    file
    for file in (*BENCH.rglob("*.py"), *CERTIFY.rglob("*.py"))
    if file.parent.name not in ("systems", "codecs") and file.parent != OTHERS
)
SYSTEMS = sorted((BENCH / "systems").glob("[a-z]*.py"))


def imports(file: Path) -> set[str]:
    """Return all modules that a file imports, wherever in it."""
    modules: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return modules


def tops(file: Path) -> set[str]:
    return {name.split(".")[0] for name in imports(file)}


@pytest.mark.parametrize(
    "module",
    ["bench.child.server", "bench.child.client", "bench.child.wire", "bench.systems.zeromq", "bench.systems.sockets"],
)
def test_servers_and_clients_are_light(module):
    heavy = {"numpy", "pandas", "pyarrow", "seaborn", "psutil", "yaml", "IPython"}
    heavy |= {"pathlib", "shutil", "difflib", "tempfile", "subprocess", "traceback", "asyncio"}
    code = f"import sys, {module}; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True).stdout == "[]\n"


def test_a_session_whose_start_up_is_measured_imports_neither_cases_nor_plans():
    light = {"bench.plan", "bench.plan.credentials", "bench.plan.documents"}
    code = "import sys, bench.child.session; print(*(name for name in sys.modules if name.startswith('bench.plan')))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(ran.stdout.split()) <= light


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def normal(name: str) -> str:
    return re.split(r"[\s<>=!~\[;]", name)[0].lower().replace("_", "-")


def wanted() -> dict[str, str]:
    return {normal(line): line.removeprefix(re.split(r"[<>=]", line)[0]) for line in project()["dependencies"]}


def of_systems() -> set[str]:
    """Return the libraries of the extras for systems."""
    extras = project()["optional-dependencies"]
    return {normal(line) for line in [*extras["brokers"], *extras["frameworks"]]}


def of_hosts() -> set[str]:
    """Return the libraries of the extra for other machines."""
    return {normal(line) for line in project()["optional-dependencies"]["hosts"]}


def locked() -> dict[str, str]:
    text = (ROOT / "requirements" / "lab.txt").read_text("utf-8")
    return {normal(name): version for name, version in re.findall(r"^([\w.-]+)(?:\[.*\])?==([\w.]+)", text, re.M)}


def requirements(lock: Path) -> list[str]:
    """Return what a lock holds, a text for each package."""
    return [block for block in re.split(r"^(?=\w)", lock.read_text("utf-8"), flags=re.M) if block.strip()]


@pytest.mark.parametrize("lock", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda lock: lock.stem)
def test_a_lock_has_versions_and_hashes_and_no_address(lock):
    text = lock.read_text("utf-8")
    assert "://" not in text and "--index" not in text and "--find-links" not in text
    assert all("==" in block and "--hash=sha256:" in block for block in requirements(lock))


def test_the_lock_holds_every_requirement():
    needed = [
        *project()["dependencies"],
        *(name for names in project()["optional-dependencies"].values() for name in names),
    ]
    assert {normal(name) for name in needed} - {project()["name"]} <= locked().keys()


def test_the_extra_all_is_that_of_all_systems():
    extras = project()["optional-dependencies"]
    assert extras["all"] == [f"roundtrip-rpc[{','.join(sorted(extras.keys() - {'all', 'dev', 'hosts'}))}]"]


def test_conda_users_get_the_same():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))
    assert environment["name"] == "roundtrip" and environment["channels"] == ["conda-forge"]
    other_names = {"python-duckdb": "duckdb", "msgpack-python": "msgpack"}
    lines = [line for line in environment["dependencies"] if isinstance(line, str)]
    listed = {other_names.get(line.split()[0], line.split()[0]): line.partition(" ")[2] for line in lines}
    assert {name: listed.get(name) for name in wanted()} == wanted()
    assert listed["python"] == project()["requires-python"]
    assert {"pip": ["-e .[all,hosts]"]} in environment["dependencies"]


def test_every_file_names_the_same_version_and_the_changelog_describes_it():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    released = re.findall(r"^## \[([\d.]+)\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert released[0] == (project()["version"], str(citation["date-released"]))
    assert project()["version"] == bench.__version__ == citation["version"]


def test_what_a_system_requires_is_a_dependency_or_in_an_extra():
    for name in systems.names():
        assert {normal(needed) for needed in systems.constant(name, "REQUIRES")} <= wanted().keys() | of_systems()


@pytest.mark.slow
def test_what_is_imported_is_required():
    homes = packages_distributions()
    for file in [*MODULES, *SYSTEMS]:
        outside = tops(file) - set(sys.stdlib_module_names) - {"bench", "certify"}
        needed = {normal(home) for name in outside for home in homes.get(name, [name])}
        allowed = wanted().keys() | of_systems() | of_hosts() | {"traitlets", "ipython"}  # come with ipykernel
        is_missing = file in SYSTEMS and outside - homes.keys()  # what is not installed has no known distribution
        assert needed & allowed or is_missing or not outside, (file, outside)
