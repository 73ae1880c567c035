"""What all tests share: a place of their own for runs and figures, and systems that only tests need."""

import contextlib
import fcntl
import gc
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import settings
from specs import server_spec
from xdist.scheduler import LoadScopeScheduling

from bench import systems
from bench.errors import NotInstalledError, SystemFileError
from bench.grammar.experiment import experiment
from bench.measurement.routers import Routers
from bench.plan import credentials
from bench.plan.case import Case
from bench.process import programs
from bench.process.channel import Count, Counted, Listening
from bench.process.child_process import Child, collect, private_directory

if threading.current_thread() is threading.main_thread():
    # Whoever runs the tests in the background has Ctrl-C ignored, and so would all that is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)

for name in [name for name in os.environ if name.startswith("PYTHON")]:
    del os.environ[name]  # nothing here may need what a person's shell does not set

_SETTINGS = tempfile.TemporaryDirectory(prefix="roundtrip-settings-")  # of the user, as far as tests are concerned
os.environ["XDG_CONFIG_HOME"] = _SETTINGS.name

settings.register_profile("any machine", deadline=None)  # no test asserts a time, and a busy machine fails nothing
settings.load_profile("any machine")

HERE = Path(__file__).parent
ROOT = HERE.parent
REFERENCE = ROOT / "data" / "reference"


@contextlib.contextmanager
def _skipped_without_its_system():
    """Skip what needs a program, library or header that is not here, with what installs it.

    A file that is wrong fails its tests, and where all systems are asked for, a missing one does too.
    """
    try:
        yield
    except NotInstalledError as missing:
        if isinstance(missing, SystemFileError) or "ROUNDTRIP_ALL_SYSTEMS" in os.environ:
            raise
        pytest.skip(str(missing))


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call():
    """Skip a test whose system cannot be measured here, whether it says so or not."""
    with _skipped_without_its_system():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup():
    """Do the same where a fixture needs the system."""
    with _skipped_without_its_system():
        return (yield)


@pytest.fixture
def compiler():
    """Skip a test of the native systems where they cannot be built."""
    systems.load("sockets_c")


@pytest.fixture
def c_compiler():
    """Skip a test of the oracle's fronts in C where they cannot be compiled."""
    if not shutil.which(programs.C_COMPILER):
        pytest.skip(f"there is no {programs.C_COMPILER}; install it: apt-get install {programs.C_COMPILER}")


REFEREES = "certify"  # their tests wait for loads, and disturb each other's: one process, beside which others work
LONG = (  # in one piece: begun last, one would end alone
    REFEREES, "test_browser", "test_site", "test_remote", "test_documents", "test_hosts_document", "test_campaign",
    "test_recipes", "test_contract", "test_routers", "test_faults", "test_encryption", "test_service", "test_wires",
)  # fmt: skip
NODES = ("http_crossbar", "wamp_crossbar", "rabbitmq", "mqtt", "nats", "redis")  # tests share a node, or a broker
DRAWS = "test_every_notebook_draws_its_reference_run"  # first of its run: the figure that it draws serves the others
EACH = "test_every_notebook_measures"  # begun in any process: nothing of one serves another
RUNS = sorted(file.parent.name for file in REFERENCE.glob("*/manifest.json"))
BEGIN = (*LONG, EACH, *RUNS, *NODES)


class Groups(LoadScopeScheduling):
    """Gives the tests of a group to one process, and the groups to processes in the order of the tests."""

    def _split_scope(self, nodeid):
        return group(nodeid)


def pytest_xdist_make_scheduler(config, log):
    """Share the tests out by groups."""
    return Groups(config, log)


def pytest_collection_modifyitems(items):
    """Begin with the groups that take long."""
    order = {name: place for place, name in enumerate(BEGIN)}

    def place(item):
        name = group(item.nodeid)
        return order.get(name.partition(" ")[0], len(order)), name, not item.name.startswith(DRAWS)

    items.sort(key=place)


def group(nodeid):
    """Return the reference run that a test reads, the broker that it shares, or its file.

    The tests of a run follow each other in one process: it reads the run, checks it and draws it once.
    """
    file, _, test = nodeid.partition("::")
    stem = Path(file).stem
    if test.startswith(EACH):
        return f"{EACH} {test}"
    if stem == "test_document_blocks":
        return "whatif" if "anatomy" in test else "overview"  # the run of which it quotes most
    if Path(file).parent.name == REFEREES:
        return REFEREES
    parameter = re.search(r"\[(?:.*/)?(\w+)", test)
    for name in (stem.removeprefix("test_"), parameter and parameter[1]):
        if name in RUNS and stem != "test_site":
            return name
    return next((name for name in NODES if name in nodeid), stem)


def pytest_collection_finish():
    """Keep the garbage collector from looking again and again at what was imported: it stays."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure():
    """Let all of it be collected: DuckDB prints what of its own is not."""
    gc.unfreeze()


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    """Keep runs, figures and executed notebooks of tests out of the user's folders."""
    monkeypatch.setenv("ROUNDTRIP_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("ROUNDTRIP_FIGURES", str(tmp_path / "figures"))
    monkeypatch.setenv("ROUNDTRIP_EXECUTED", str(tmp_path / "executed"))


@pytest.fixture(autouse=True)
def private_parent(monkeypatch):
    """Return the folder where private directories appear; its name is short enough for socket files."""
    with tempfile.TemporaryDirectory(prefix="rt-", dir="/tmp") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr("tempfile.tempdir", None)
        yield Path(folder)


@pytest.fixture(scope="session")
def routers():
    """Return routers that all tests share, in a folder that outlives the test which needs them first."""

    class Lasting(Routers):
        def router_of(self, case):
            if missing := systems.missing(case.system):
                raise missing  # here, where it skips the test: of a router's process it is another error
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("TMPDIR", folder)
                patch.setattr("tempfile.tempdir", None)
                return super().router_of(case)

    with tempfile.TemporaryDirectory(prefix="rt-", dir="/tmp") as folder, Lasting() as shared:
        yield shared


@pytest.fixture
def routing(name, request):
    """Return the routers that all tests share, if the system of a test needs one: others do not wait for its start."""
    return request.getfixturevalue("routers") if systems.defines(name, "route") else None


@pytest.fixture
def child_server():
    """Return a function that starts a server as a child, by ``server_spec``, and returns it and its address.

    routers: those from which a system with a router has it, and a server that encrypts its credentials.
    """
    with contextlib.ExitStack() as started:

        def start(name, transport="tcp", options=None, routers=None, **more):
            systems.prepare(name)
            case = Case(name, transport, options=options or {})
            private = {"directory": private_directory(), "environment": systems.environment(name)}
            if routers:
                router = routers.router_of(case)
                private["router"] = dict(router.addresses) if router else {}
                private["credentials"] = routers.credentials(case)
            child = Child("server", "bench.child.server", server_spec(name, transport, options, **private | more))
            started.callback(child.stop)
            return child, collect(Listening, [child], 60)[0].address

        yield start


def answered(child) -> int:
    """Return how many requests a server has answered so far."""
    child.send(Count())
    return collect(Counted, [child], 10)[0].count


@pytest.fixture
def trusting():
    """Return a function that lets the clients of this process use credentials."""
    yield lambda texts: credentials.use(credentials.public(texts))
    credentials.use({})


@pytest.fixture
def programs_folder(tmp_path, monkeypatch):
    """Return a folder for compiled programs, empty, and forget those that are known."""
    monkeypatch.setenv("ROUNDTRIP_ENVIRONMENTS", str(tmp_path / "made"))
    programs.ensure.cache_clear()
    yield tmp_path / "made"
    programs.ensure.cache_clear()


def git(folder: Path, *words: str) -> str:
    """Return what git prints in a folder, with a name that it may commit under."""
    named = ("-c", "user.name=n", "-c", "user.email=e")
    return subprocess.run(["git", *named, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="session")
def drawn(tmp_path_factory):
    """Return a function that draws a notebook from its reference run, once for all tests in all processes.

    It returns a folder with the executed notebook ``out.ipynb`` and ``figures``.
    """
    import drawings
    from papermilling import papermill_here

    def draw(stem: str) -> Path:
        with made_once(tmp_path_factory, f"drawn-{stem}") as (folder, is_made):
            if not is_made:
                folder.mkdir()
                with pytest.MonkeyPatch.context() as patch:
                    patch.setenv("ROUNDTRIP_RUNS", str(folder / "runs"))
                    patch.setenv("ROUNDTRIP_FIGURES", str(folder / "figures"))
                    drawings.kept_by(patch)
                    papermill_here(f"{stem}.ipynb", str(folder / "out.ipynb"), "-p", "source", "reference")
        return folder

    return draw


def slow_but(names, *quick):
    """Return names as parameters: the quick ones are tried by ``make test``, all by ``make test-all``."""
    return [pytest.param(name, marks=() if name in quick else pytest.mark.slow) for name in names]


@contextlib.contextmanager
def made_once(tmp_path_factory, name: str):
    """Yield a folder that all processes of the tests share, and whether one of them has made it.

    Only one is inside at a time; it makes the folder. If that fails, the next one tries again.
    """
    mine = tmp_path_factory.getbasetemp()
    folder = (mine.parent if "PYTEST_XDIST_WORKER" in os.environ else mine) / name
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder.with_suffix(".done")
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
        yield folder, done.exists()
        done.touch()


@pytest.fixture
def with_systems(monkeypatch):
    """Return a function that adds a folder of systems, for this process and its children."""

    def add(folder: Path = HERE / "extra_systems") -> None:
        monkeypatch.setenv("ROUNDTRIP_SYSTEMS", str(folder))
        monkeypatch.setattr(systems, "__path__", [*systems.__path__, str(folder)])

    return add


@pytest.fixture
def command(capfd, monkeypatch, own_systems):
    """Return a function that does in this process what ``python -m bench`` does, and returns what that would return.

    Whatever is written to the files 1 and 2 counts as output, as of a process: of libraries and children too.
    """
    from bench.apps import cli

    def run(*words: str) -> subprocess.CompletedProcess:
        monkeypatch.chdir(ROOT)
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main(list(words))
        return subprocess.CompletedProcess(words, ended.value.code, *capfd.readouterr())

    return run


@pytest.fixture
def process():
    """Return a function that runs ``python -m bench`` and returns the finished process: for what only that can show."""

    def run(*words: str, **options) -> subprocess.CompletedProcess:
        options = {"cwd": ROOT, "timeout": 100} | options
        return subprocess.run([sys.executable, "-m", "bench", *words], capture_output=True, text=True, **options)

    return run


@contextlib.contextmanager
def serving(system: str, address: str = "tcp://127.0.0.1:0", *words: str, **environment: str):
    """Yield a server that ``bench serve`` runs: its process, its target, and, at the end, all that it said."""
    words = (sys.executable, "-m", "bench", "serve", system, address, *words)
    options = {"cwd": ROOT, "env": os.environ | environment, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, **options) as process:
        served = SimpleNamespace(process=process, said=process.stdout.readline())
        try:
            served.target = served.said.split()[-1]
            yield served
        finally:
            process.send_signal(signal.SIGINT)
            served.said += process.stdout.read()


@pytest.fixture
def own_systems(monkeypatch):
    """Forget the service files that a test adopts as systems."""
    before = list(systems.__path__), list(systems.OWN)
    monkeypatch.setenv(systems.FOLDERS, "")
    yield
    systems.__path__[:], systems.OWN[:] = before


def planned(notebook: str, **parameters):
    """Return a notebook's plan; skip the test, with the command, where none of the systems asked for is installed."""
    from bench.errors import NotInstalledError, UsageError

    try:
        return experiment(notebook).plan(**parameters)
    except (NotInstalledError, UsageError) as refused:
        if "apt-get install" not in str(refused):
            raise
        pytest.skip(str(refused))


CALM = {"load": "open", "offered_per_s": 100.0}  # of a case: its windows leave the CPUs to other tests


def descendants(pid: int) -> list[int]:
    """Return the process ids of all children of a process, and theirs; none of one that is gone."""
    import psutil

    with contextlib.suppress(psutil.NoSuchProcess):
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    return []


def children() -> set[int]:
    """Return the process ids of what this process started; what others of them start (a browser) comes and goes."""
    import psutil

    return {child.pid for child in psutil.Process().children()}


def is_gone(pid: int) -> bool:
    """Return whether no process of this id does anything any more."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # it was not there, or went between opening and reading
        return True
    return state == "Z"


def wait_for(condition, seconds: float = 10) -> bool:
    """Return whether a condition came true in time."""
    import time

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


def is_open(port: int) -> bool:
    """Return whether somebody listens at a port of this machine."""
    with contextlib.suppress(OSError):
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    return False
