"""What a person does in a browser (Debian's chromium): notebooks in JupyterLab, the page of explore.ipynb by Voila."""

import base64
import contextlib
import http.client
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
import psutil
import pytest
from conftest import ROOT, is_gone, wait_for
from lecture import an_executed_notebook
from PIL import Image

from bench import systems
from bench.apps.teaching import slides
from bench.run import stored
from bench.run.frames import Run

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no browser; install it: apt-get install chromium"),
]

PROJECTOR = {"width": 1280, "height": 720}
PATIENCE_MS = 120_000  # on a busy machine
SHORT = {"starts": "6", "window_s": "0.3"}  # long enough to be stopped half-way


def begun(words, folder, **environment):
    """Start a server in a process group of its own; return it and the address that it prints."""
    environment = os.environ | {name: str(folder / name) for name in OWN} | environment
    server = subprocess.Popen(
        words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, process_group=0
    )
    lines = []
    for line in server.stdout:
        lines.append(line)
        if address_match := re.search(r"http://(?:127\.0\.0\.1|localhost):\d+/\S*", line):
            threading.Thread(target=lambda: [None for _ in server.stdout], daemon=True).start()
            return server, address_match[0]
    raise AssertionError("".join(lines))


OWN = (  # folders of a server, apart from the user's
    "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR", "IPYTHONDIR",
    "ROUNDTRIP_RUNS", "ROUNDTRIP_FIGURES",
)  # fmt: skip


def ended(server):
    """End a server; assert that nothing that it started is left."""
    family = [server.pid, *(child.pid for child in psutil.Process(server.pid).children(recursive=True))]
    os.killpg(server.pid, signal.SIGTERM)
    server.wait(20)
    assert wait_for(lambda: all(is_gone(pid) for pid in family), 20)


def with_parameters(notebook, **values):
    """Change the parameters cell of a copy of a notebook."""
    document = nbformat.read(notebook, 4)
    (cell,) = [cell for cell in document.cells if "parameters" in cell.metadata.get("tags", [])]
    for name, value in values.items():
        cell.source = re.sub(rf"^({name}: \w+ = ).*?(  #)", rf"\g<1>{value}\g<2>", cell.source, flags=re.M)
    nbformat.write(document, notebook)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a copy of the notebooks that measures little."""
    folder = tmp_path_factory.mktemp("browser")
    shutil.copytree(ROOT / "notebooks", folder / "notebooks", ignore=shutil.ignore_patterns(".*", "out*"))
    with_parameters(folder / "notebooks" / "explore.ipynb", **SHORT)
    news = folder / "JUPYTERLAB_SETTINGS_DIR" / "@jupyterlab" / "apputils-extension"
    news.mkdir(parents=True)
    (news / "notification.jupyterlab-settings").write_text(json.dumps({"fetchNews": "false"}))
    return folder


@pytest.fixture(scope="module")
def jupyterlab(folder):
    """Yield a real JupyterLab: its process, and its address with the token."""
    words = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ServerApp.port=0"]
    root = ["--allow-root"] if os.geteuid() == 0 else []
    server, address = begun([*words, f"--ServerApp.root_dir={folder / 'notebooks'}", *root], folder)
    yield server, address
    ended(server)


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        sync_api.expect.set_options(timeout=PATIENCE_MS)
        yield started.new_context(viewport=PROJECTOR, permissions=["clipboard-read", "clipboard-write"])
        started.close()


@pytest.fixture
def page(browser):
    """Yield an empty tab of the browser that all tests share."""
    tab = browser.new_page()
    tab.set_default_timeout(PATIENCE_MS)
    yield tab
    tab.close()


@pytest.fixture
def own_runs(folder, monkeypatch):
    """See the server's runs, beginning without any."""
    monkeypatch.setenv("ROUNDTRIP_RUNS", str(folder / "ROUNDTRIP_RUNS"))
    shutil.rmtree(folder / "ROUNDTRIP_RUNS", ignore_errors=True)
    return folder


def opened(page, jupyterlab, notebook):
    """Open a notebook in a fresh workspace; return when its kernel and its cells are there and the first has the focus.

    JupyterLab adds the cells one after another, and moves the focus to a cell that became active before it was added.
    For each cell that is run before it names its kernel it asks which kernel to use.
    """
    address, token = jupyterlab[1].split("/lab?")
    page.goto(f"{address}/lab/tree/{notebook}?{token}&reset")
    page.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']").wait_for()
    sync_api.expect(page.locator(".jp-Toolbar-kernelName")).to_have_text("Python 3 (ipykernel)")
    cells = nbformat.read(ROOT / "notebooks" / notebook, 4).cells
    sync_api.expect(page.locator(".jp-Notebook .jp-Cell")).to_have_count(len(cells))
    page.locator(".jp-Notebook").first.focus()


def command(page, name):
    """Give a command by the keyboard alone, from the palette; a page that still loads takes the focus away."""
    for _ in range(10):
        page.keyboard.press("Control+Shift+C")
        try:
            page.wait_for_function("document.activeElement.matches('.lm-CommandPalette-input')", timeout=5000)
            page.keyboard.insert_text(name)
            page.locator(".lm-CommandPalette-item.lm-mod-active").filter(has_text=name).wait_for(timeout=5000)
            return page.keyboard.press("Enter")
        except sync_api.TimeoutError:
            page.keyboard.press("Escape")
    seen = page.locator(".lm-CommandPalette, .jp-Dialog, .jp-Notebook").all_inner_texts()
    raise AssertionError(f"no command {name}; the page shows {[text[:200] for text in seen]}")


PROMPTS = "[...document.querySelectorAll('.jp-InputPrompt')].map(prompt => prompt.textContent).filter(text => text)"
LAST = f"(parseInt({PROMPTS}.at(-1).slice(1)) || 0)"  # execution number of the last code cell
IS_RUNNING = f"{PROMPTS}.some(text => text.includes('*'))"


def run_all(page):
    """Run all cells; return when the last has been executed, or when one has failed.

    On a busy machine JupyterLab forgets the order, or what is left of it, before its kernel is connected.
    """
    before = page.evaluate(LAST)
    for _ in range(3):
        command(page, "Run All Cells")
        with contextlib.suppress(sync_api.TimeoutError):
            page.wait_for_function(f"{IS_RUNNING} || {LAST} > {before}", timeout=20_000)
        page.wait_for_function(f"!{IS_RUNNING}")
        if page.evaluate(f"{LAST} > {before}") or errors(page):
            return
    raise AssertionError("not all cells were run")


ERROR = "[data-mime-type='application/vnd.jupyter.error']"


def errors(page):
    return page.locator(ERROR).all_inner_texts()


def button(page, text):
    return page.get_by_role("button", name=text, exact=True)


def status(page, text):
    """Wait until the page says so; quote what it says instead."""
    try:
        page.locator(".rt-status").filter(has_text=re.compile(text)).first.wait_for()
    except sync_api.TimeoutError:
        page_texts = page.locator(".rt-status, .rt-error, .rt-row").all_inner_texts()
        raise AssertionError(f"not {text!r}: {page_texts}, cells: {errors(page)}") from None


RUN = "button.mod-primary"
ENDED = r"of \d+ blocks.*-explore-"  # in a status after a count: how many blocks are in which run
MEASURING = r"of \d+;"


def ready(page):
    """Wait until something can be measured."""
    page.locator(f"{RUN}:enabled").first.wait_for()


def measure(page, system, until=f"6 {ENDED}"):
    """Measure a system, over ipc, until the page says so."""
    page.get_by_label("system", exact=True).select_option(system)
    page.get_by_text(systems.describe(system).partition(": ")[2]).first.wait_for()  # until then buttons move
    page.locator(RUN).first.click()
    status(page, until)


def children(server):
    """Return the servers and clients that a server's kernels have started."""
    family = psutil.Process(server.pid).children(recursive=True)
    return [each.pid for each in family if {"bench.child.server", "bench.child.client"} & set(cmdline(each))]


def kernels(server):
    """Return the kernels of a server."""
    return [
        each for each in psutil.Process(server.pid).children(recursive=True) if "ipykernel_launcher" in cmdline(each)
    ]


def cmdline(process):
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_explore_measures_stops_saves_and_gives_a_command(page, jupyterlab, own_runs):
    opened(page, jupyterlab, "explore.ipynb")
    run_all(page)
    ready(page)
    measure(page, "sockets")
    measure(page, "zeromq", until=f"[3-5] {MEASURING}")
    button(page, "Stop").click()
    status(page, f"[2-5] {ENDED}")
    rows = page.locator(".rt-row:has(.rt-track)")
    sync_api.expect(rows).to_have_count(2)
    first, second = rows.all_inner_texts()
    assert first.startswith("sockets ipc") and "6 starts" not in first
    assert second.startswith("zeromq ipc") and "CI from block 6" in second
    assert children(jupyterlab[0]) == []
    button(page, "Save figure").click()
    status(page, r"explore\.svg")
    run = Run(stored.find("latest"))
    assert [case.system for case in run.plan.cases] == ["sockets", "zeromq"] and len(run.ledger) < 12
    assert (own_runs / "ROUNDTRIP_FIGURES" / "explore.png").stat().st_size > 50_000
    copy = page.get_by_role("button", name="Copy")
    copy.first.click()
    line = page.evaluate("navigator.clipboard.readText()")
    assert line.startswith("papermill explore.ipynb out.ipynb -p cases ") and "{system: zeromq, transport: ipc" in line
    assert page.locator(".rt-error").all_inner_texts() == [] and errors(page) == []


def under_way(page, server):
    """Begin to measure; return the processes of a start, when the first is on disk."""
    measure(page, "sockets", until=MEASURING)
    processes = []
    assert wait_for(lambda: processes.extend(children(server)) or processes)
    return processes


@pytest.fixture
def measures_long(folder):
    """Let the notebook measure for longer than a busy machine takes to do what a test asks of it."""
    with_parameters(folder / "notebooks" / "explore.ipynb", **SHORT | {"starts": "100"})
    yield
    with_parameters(folder / "notebooks" / "explore.ipynb", **SHORT)


@pytest.mark.usefixtures("measures_long")
def test_no_process_is_left_by_a_kernel_that_is_interrupted_restarted_or_killed(page, jupyterlab, own_runs):
    server, _ = jupyterlab
    opened(page, jupyterlab, "explore.ipynb")
    run_all(page)
    ready(page)
    under_way(page, server)
    command(page, "Interrupt Kernel")
    status(page, ENDED)
    assert children(server) == []
    left = under_way(page, server)
    command(page, "Restart Kernel and Run All Cells")
    page.locator(".jp-Dialog").wait_for()
    page.keyboard.press("Enter")
    assert wait_for(lambda: all(is_gone(pid) for pid in left), 20)
    page.locator(".rt-heading").filter(has_text="Example").wait_for()
    ready(page)
    left = under_way(page, server)
    for kernel in kernels(server):
        kernel.kill()
    assert wait_for(lambda: all(is_gone(pid) for pid in left), 20)
    assert len(stored.all_runs()) == 3 and all(0 < len(folder.done()) < 100 for folder in stored.all_runs())


def test_the_page_is_served_to_a_class_by_voila_without_a_network(page, own_runs):
    words = ["make", "--no-print-directory", "app", "READY=", f"BIN={Path(sys.executable).parent}"]
    server, address = begun(words, own_runs)
    try:
        origin, _ = re.fullmatch(r"(http://127\.0\.0\.1:\d+/)\?token=(\w{40,})", address).groups()
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address)
        ready(page)
        measure(page, "sockets", until="1 of 12;")
        button(page, "Stop").click()
        status(page, "of 12 blocks.*-explore-")
        assert page.locator(".rt-error").all_inner_texts() == [] and errors(page) == []
        outside = [url for url in asked if not re.match(rf"{origin}|ws:|data:|blob:", url)]
        assert outside == []
        refuses_strangers(origin, urlsplit(address).query)
    finally:
        ended(server)
    assert 0 < len(Run(stored.find("latest")).ledger) < 12


def refuses_strangers(origin, token):
    """Assert that the page is for who has its URL, which holds a token, and under this machine's names."""

    def answer(path, **headers):
        address = urlsplit(origin)
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
        with contextlib.closing(connection):
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            return response.status, response.getheader("Location", "")

    assert answer("/")[0] == 302 and "/login" in answer("/")[1] and answer(f"/?token={'0' * 48}")[0] == 302
    for path in ("/login", f"/?{token}"):
        assert answer(path, Host="evil.example")[0] == 403
        assert answer(path, Host=f"evil.example:{urlsplit(origin).port}")[0] == 403
    assert answer("/login", Host="localhost")[0] == 200


def test_nothing_on_a_slide_is_clipped_and_a_picture_is_as_wide_as_the_slide(page, tmp_path):
    file = tmp_path / "rates.ipynb"
    picture = io.BytesIO()
    Image.new("RGB", (900, 400), "navy").save(picture, "PNG")
    nbformat.write(an_executed_notebook(base64.b64encode(picture.getvalue()).decode()), file)
    page.goto(slides._convert(file, tmp_path).as_uri())
    shown = "section section.present :is(h2, p, li, td, img)"
    widths = []
    for number in range(4):
        page.wait_for_function(f"document.querySelector('.slide-number')?.innerText.startsWith('{number + 1}')")
        assert page.locator("section section.present h2").inner_text() == "Measure"
        for box in (one.bounding_box() for one in page.locator(shown).all()):
            assert box["x"] >= 0 and box["x"] + box["width"] <= PROJECTOR["width"]
            assert box["y"] >= 0 and box["y"] + box["height"] <= PROJECTOR["height"]
        widths += [one.bounding_box()["width"] for one in page.locator("section section.present img").all()]
        page.keyboard.press("ArrowRight")
    assert len(widths) == 2 and min(widths) > 0.85 * PROJECTOR["width"]
