"""Runs in whose manifest somebody wrote markup, control and direction characters, and lines that are not their own."""

import json

from handmade import file_by_file, handmade

from bench.plan.case import Case
from bench.run import schema
from bench.run.folder import Folder
from bench.run.frames import Run

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "x\nchecks    12/12 passed",
    "a\r\x1b[2J\x1b]0;title\x07",
    "[click](javascript:alert(1))",
    "`code` **bold** $\\frac{1}{0$ | cell |",
    "\u202eevil\u2066",
]
HALVES = ["".join(HOSTILE[::2]), " ".join(HOSTILE[1::2])]


def hostile(text, notebook="latency"):
    """Return a run in whose manifest a text of others stands wherever one may: options, machine, versions, failures."""
    run = handmade(
        [Case("zeromq", "ipc"), Case("sockets", "ipc")], [100, 50], calls=1500, notebook=notebook, write=file_by_file
    )
    folder = run.folder
    manifest = folder.manifest()
    manifest["plan"]["cases"][0]["options"] = {"copy": text}
    manifest["plan"]["cases"][1]["options"] = {"writes": 1, text: 2}
    manifest["machine"].update(cpu_model=text, kernel=text)
    manifest["versions"] = {text: text}
    manifest["failures"] = [{"start": 1, "case": 0, "error": text}]
    for file in folder.files("ledger"):  # its rows name the options of their case
        row = folder.read_file(file, "ledger").to_pylist()[0]
        row["options"] = json.dumps(manifest["plan"]["cases"][row["case"]]["options"], sort_keys=True)
        samples = folder.read_file(folder.path / "samples" / file.name, "samples")
        folder._write(file.stem, {"ledger": schema.make("ledger", [row]), "samples": samples})
    folder.write_manifest(manifest | {"data_digest": folder.data_digest()})
    return Run(Folder(folder.path))
