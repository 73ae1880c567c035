"""The servers of ``services/``: each is built by its toolchain, echoes, and is measured; its processes are counted."""

import json
from itertools import islice
from random import Random

import pytest
import yaml
from conftest import ROOT

from bench import systems
from bench.errors import SystemFileError
from bench.measurement.start import measure
from bench.measurement.validation.support import checked
from bench.plan import service_file
from bench.plan.case import Case
from bench.process import pipes
from bench.systems import _service

SERVICES = ROOT / "services"
NAMES = sorted(file.stem for file in SERVICES.glob("*/*.yaml") if file.stem == file.parent.name)
PROGRAMS = {"go": ["go"], "node": ["npm", "node"], "java": ["mvn", "java"], "rust": ["cargo", "protoc"]}
TAKE_MINUTES = ("java", "rust")  # to be built: measured where they are built already


def is_built(file):
    """Return whether a server is built from its sources as they are."""
    service = service_file.read(file)
    stamp = SERVICES / service.name / f".{service.name}.built"
    return stamp.is_file() and stamp.read_text() == service_file.sources_hash(service)


def test_each_folder_holds_a_service_that_can_be_read_with_all_its_sources():
    assert [folder.name for folder in sorted(SERVICES.iterdir()) if folder.is_dir()] == NAMES
    for name in NAMES:
        service = service_file.read(str(SERVICES / name / f"{name}.yaml"))
        assert service.says.install and service.says.build and service_file.sources_hash(service)
        sizes = {len(request.body) for request in islice(service_file.prepared(service, Random(1)), 9)}
        assert sizes == ({100} if name.startswith("http") else {0})


@pytest.fixture
def here(tmp_path, own_systems):
    """Return a function that gives a server a folder here, without its warm-up, where what is built is that of all."""
    for shared in ("payloads.csv", "echo.proto"):
        (tmp_path / shared).symlink_to(SERVICES / shared)

    def place(name):
        folder = tmp_path / name
        folder.mkdir()
        for part in (SERVICES / name).iterdir():
            if part.suffix != ".yaml":
                (folder / part.name).symlink_to(part)
        content = yaml.safe_load((SERVICES / name / f"{name}.yaml").read_text())
        content.pop("warm_up", None)
        (folder / f"{name}.yaml").write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in content.items()))
        return str(folder / f"{name}.yaml")

    return place


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_server_is_built_and_answers_the_wire_and_its_processes_are_counted(name, here):
    language = name.partition("_")[2]
    original = str(SERVICES / name / f"{name}.yaml")
    if language in TAKE_MINUTES and not is_built(original):
        pytest.skip(f"it takes minutes to build: bench prepare services/{name}/{name}.yaml")
    if absent := [program for program in PROGRAMS.get(language, []) if not pipes.program(program)]:
        pytest.skip(f"there is no {absent[0]}; install it: {service_file.read(original).says.install}")
    try:
        _service._built(original)
    except SystemFileError as failed:
        pytest.skip(str(failed))  # no network, or too old a toolchain
    case = Case(systems.adopt(here(name)), "tcp", 100, callers=4, engine="wire")
    record = measure(checked(case), 0.2, seed=1)
    assert record.ledger["calls"] and not record.ledger["errors"]
    assert record.ledger["server_cpu_ns"] > 0.05 * record.ledger["client_cpu_ns"]  # of the processes that answer
