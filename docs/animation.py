"""README.md's animation of ``make app``, filmed in a headless browser: ``python docs/animation.py``.

The page is served as ``make app`` does, and a system is measured on this machine: pick, Run, the interval narrows. It
needs Debian's chromium and about three minutes; runs and figures go into a folder that is removed.
"""

import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "docs" / "app.gif"
SYSTEMS = ("sockets", "grpc_sync")  # the first is what the others are divided by
WIDTH, HEIGHT, SHOWN = 1280, 850, 0.7
COLOURS = 64
EVERY_S = 3
LAST_S = 3.0  # how long the last picture stays
MOST_S = 120


@contextmanager
def served() -> Iterator[str]:
    """Yield the address of the page, served until the end of the block."""
    with tempfile.TemporaryDirectory(prefix="rt-") as folder:
        names = ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "ROUNDTRIP_RUNS", "ROUNDTRIP_FIGURES")
        own = dict.fromkeys(names, folder)
        words = ["make", "--no-print-directory", "app", "READY=", f"BIN={Path(sys.executable).parent}"]
        server = subprocess.Popen(
            words, cwd=ROOT, env=os.environ | own, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True,
            process_group=0,
        )  # fmt: skip
        try:
            matches = (re.search(r"http://127\.0\.0\.1:\d+/\S*", line) for line in server.stdout or ())
            yield next(match[0] for match in matches if match)
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.communicate()


def picture(page: Page) -> Image.Image:
    """Return what the page shows now."""
    page.evaluate("window.scrollTo(0, 0)")
    shown = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    small = shown.resize((round(WIDTH * SHOWN), round(HEIGHT * SHOWN)), Image.Resampling.LANCZOS)
    return small.quantize(COLOURS, dither=Image.Dither.NONE)


def film(page: Page) -> Iterator[tuple[Image.Image, float]]:
    """Yield pictures of a measurement, each with the seconds that it is shown."""
    for system in SYSTEMS:
        run = page.locator("button.mod-primary:enabled").first
        run.wait_for(timeout=MOST_S * 1000)
        page.get_by_label("system", exact=True).select_option(system)
        time.sleep(1)
        yield picture(page), 1.5
        run.click()
        began = time.monotonic()
        while time.monotonic() - began < MOST_S:
            time.sleep(EVERY_S)
            yield picture(page), 0.5
            if re.search(r"Done: (\d+) of \1 blocks", " ".join(page.locator(".rt-status").all_inner_texts())):
                break
        yield picture(page), LAST_S


def main() -> None:
    """Film, and write the file."""
    with served() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(address, timeout=MOST_S * 1000)
        frames = list(film(page))
        browser.close()
    first, *others = [image for image, _ in frames]
    durations = [round(seconds * 1000) for _, seconds in frames]
    first.save(FILE, save_all=True, append_images=others, duration=durations, loop=0, optimize=True)


if __name__ == "__main__":
    main()
