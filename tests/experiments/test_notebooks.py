"""Every notebook runs under papermill as users type it, and is committed clean."""

import dis
import re

import nbformat
import pytest
from click.testing import CliRunner
from conftest import ROOT, serving, slow_but
from handmade import reference
from papermill.cli import papermill as papermill_command
from papermilling import outputs, papermill, papermill_here

import bench
from bench.grammar import figure as panels
from bench.grammar.experiment import experiment, of_run
from bench.plan import paths
from bench.plan.parameters import literal
from bench.run import stored
from bench.run.frames import Run
from lint.words import retired

NOTEBOOKS = sorted(file for file in (ROOT / "notebooks").glob("*.ipynb") if not file.stem.startswith("out"))
POOLING = {"classroom", "referees"}  # no plan and no run of their own: test_classroom.py, test_certificates_notebook.py
MEASURING = [file for file in NOTEBOOKS if file.stem not in POOLING]
QUICKLY_DRAWN = (
    *("latency", "throughput", "compare", "clients", "openload", "capacity"),
    *("streaming", "mystery", "wamp", "anatomy"),
)
WAYS = {  # of measuring, each by one notebook; with fewer cases than it has: what is left out other tests measure
    "anatomy": [],
    "capacity": ["-p", "first", "4000", "-p", "objective", "p50<5ms", "-p", "clients", "1"],
    "fanin": ["-p", "system", "[sockets, redis]", "-p", "clients", "[1, 4]"],
    "marginal": ["-p", "system", "[sockets, xmlrpc_pstream]", "-p", "calls", "[1, 20, 50]"],
    "network": [
        *("-p", "system", "[sockets, zeromq]", "-p", "sizes", "[1000, 20000]", "-p", "rates_mbit", "[100]"),
        *("-p", "stall_sizes", "[1500]", "-p", "large_bytes", "20000"),
    ],
    "overview": ["-p", "system", "[sockets, zeromq]"],
    "retries": [],
    "streaming": ["-p", "system", "[sockets, zeromq]", "-p", "streams", "[1, 3]", "-p", "origin_streams", "2"],
    "tls": [
        *("-p", "system", "[sockets, zeromq]", "-p", "connections", "5", "-p", "calls", "10"),
        *("-p", "payload_bytes", "[100, 64000]"),
    ],
    "whatif": ["-p", "system", "http_asgi"],
}


@pytest.mark.slow
@pytest.mark.timeout(360)  # the longest has some fifty starts, on CPUs that other tests use too
@pytest.mark.parametrize("notebook", WAYS)
def test_every_notebook_measures(notebook, tmp_path):
    if reason := experiment(notebook).why_not():
        pytest.skip(reason)
    words = ["-p", "profile", "smoke", *WAYS[notebook]]
    papermill_here(f"{notebook}.ipynb", str(tmp_path / "out.ipynb"), *words)
    text = outputs(tmp_path / "out.ipynb")
    assert f"{notebook}.svg and " in text and "profile smoke" in text and "**No conclusion" in text
    assert (tmp_path / "figures" / f"{notebook}.png").stat().st_size > 50_000
    assert stored.all_runs()[-1].manifest()["finished"]


@pytest.mark.parametrize("notebook", slow_but([file.stem for file in MEASURING], *QUICKLY_DRAWN))
def test_every_notebook_draws_its_reference_run(notebook, drawn):
    folder = drawn(notebook)
    text = outputs(folder / "out.ipynb")
    assert "Nothing is measured" in text and f"{notebook}.svg and " in text and not (folder / "runs").exists()
    assert "No conclusion" not in text and retired(text) == []
    assert (folder / "figures" / f"{notebook}.png").stat().st_size > 50_000
    run = reference(notebook)
    answer, spoken = of_run(run).answer(run), panels.alt_text(run)  # what those hear who cannot see the figure
    finding = panels.first_sentence(of_run(run).finding(run))
    assert spoken.endswith(finding) and not re.search(r"[*`]", finding)
    assert re.sub(r"\W", "", finding) in re.sub(r"\W", "", answer)


@pytest.mark.parametrize("notebook", MEASURING, ids=lambda file: file.stem)
def test_the_answer_stands_below_the_measurement_and_the_reader_plots(notebook):
    code = [cell.source for cell in nbformat.read(notebook, 4).cells if cell.cell_type == "code"]
    if notebook.stem != "explore":  # its page measures, and shows the answer
        called = (
            f'bench.measure("{notebook.stem}", globals())' if notebook.stem != "capacity" else "bench.search(globals())"
        )
        (measured,) = [number for number, source in enumerate(code) if source.endswith(f"run = {called}")]
        assert code[measured + 1].startswith(("bench.answer(run, ", 'bench.show(run, "distribution")'))
        assert code[measured + 2] == "bench.trust(run)"
        assert code.index("bench.method(run)") > code.index("bench.save(run)")
    assert any(".head()" in source for source in code) and any("axes.set" in source for source in code)


@pytest.mark.parametrize("notebook", MEASURING, ids=lambda file: file.stem)
def test_no_cell_binds_a_parameter_s_name_and_defaults_are_the_plan_s(notebook):
    """``globals()`` is read again when the measuring cell is run again."""
    first, *others = [cell for cell in nbformat.read(notebook, 4).cells if cell.cell_type == "code"]
    body = compile("\n".join(cell.source for cell in others), notebook.name, "exec")
    bound = {step.argval for step in dis.get_instructions(body) if step.opname == "STORE_NAME"}
    known = experiment(notebook.stem).parameters
    assert bound.isdisjoint(known), bound & known.keys()
    shown: dict = {}
    exec(first.source, shown)
    for name in shown.keys() & known:
        usual = literal(known[name])
        assert literal(shown[name]) == (list(usual) if isinstance(usual, tuple) else usual), name
    rest = known.keys() - shown.keys()
    assert all(f"\n| `{name}` |" in (ROOT / "docs" / "using.md").read_text() for name in rest), rest
    assert not {name for name in shown if not name.startswith("__")} - known.keys()


def test_parameters_as_users_type_them(tmp_path):
    words = [
        *("-p", "transport", "tcp", "-p", "payload_bytes", "[100, 1000]"),
        *("-p", "seed", "2", "-p", "profile", "smoke"),
    ]
    papermill_here("latency.ipynb", str(tmp_path / "out.ipynb"), *words)
    plan = Run(stored.find("latest")).plan
    assert {(case.system, case.transport, case.payload_bytes) for case in plan.cases[:-1]} == {
        (name, "tcp", size) for name in ("zeromq", "sockets") for size in (100, 1000)
    }
    assert (plan.profile, plan.seed) == ("smoke", 2)  # the cell does not show the second


@pytest.mark.slow
def test_it_works_from_the_root_too(tmp_path):
    words = ["-y", "payload_bytes: [64]", "-f", "papermill_params/latency.quick-lecture.yaml"]
    fewer = ["-p", "profile", "smoke", "-p", "starts", "2"]
    finished = papermill("notebooks/latency.ipynb", str(tmp_path / "out.ipynb"), *words, *fewer, cwd=ROOT)
    assert finished.returncode == 0, finished.stderr
    assert ("zeromq", "ipc", 64) in {
        (case.system, case.transport, case.payload_bytes) for case in Run(stored.find("latest")).plan.cases
    }


@pytest.mark.slow
@pytest.mark.parametrize("notebook", ["latency", "throughput"])
def test_a_target_is_measured_and_its_cpu_is_said_to_be_absent(notebook, tmp_path):
    with serving("zeromq") as served:
        target = served.target
        words = ["-p", "target", target, "-p", "profile", "smoke"]
        papermill_here(f"{notebook}.ipynb", str(tmp_path / "out.ipynb"), *words)
    run = Run(stored.find("latest"))
    measured = run.ledger[run.ledger["system"] == "zeromq"]
    assert set(measured["target"]) == {target} and measured["server_cpu_ns"].isna().all()
    text = outputs(tmp_path / "out.ipynb")
    assert "not known" in text and "its placement and its CPU are not known" in panels.caption(run).replace("\n", " ")


@pytest.mark.slow
def test_a_wrong_parameter_is_one_line_in_the_notebook(tmp_path):
    finished = papermill("latency.ipynb", str(tmp_path / "out.ipynb"), "-p", "transport", "udp")
    assert finished.returncode != 0
    assert "UsageError: unknown transport of zeromq 'udp': there are inproc, ipc, tcp" in finished.stderr
    errors = [
        o
        for c in nbformat.read(tmp_path / "out.ipynb", 4).cells
        for o in c.get("outputs", [])
        if o.output_type == "error"
    ]
    assert [len(error.traceback) for error in errors] == [1]


def test_where_there_is_one_cpu_placement_says_why_and_shows_the_reference(tmp_path, monkeypatch):
    monkeypatch.setattr("bench.plan.placement.allowed", lambda: [0])
    run = bench.measure("placement", profile="smoke")
    assert run.folder.path == paths.reference() / "placement" and not stored.all_runs()


def test_help_lists_every_parameter_with_its_comment():
    notebook = ROOT / "notebooks" / "latency.ipynb"
    text = CliRunner().invoke(papermill_command, ["--help-notebook", str(notebook)]).output
    (cell,) = [cell for cell in nbformat.read(notebook, 4).cells if "parameters" in cell.metadata.get("tags", [])]
    for line in cell.source.splitlines():
        name, comment = line.split(":")[0], line.partition("  # ")[2]
        assert re.search(rf"^  {name}: \w+ \(default ", text, re.M), name
        assert comment and " ".join(comment.split()) in " ".join(text.split()), name
