"""What a benchmark keeps for the documents: what it found, when, and on which machine."""

import json
from datetime import UTC, datetime
from typing import Any

from bench.measurement import machine
from bench.plan import paths


def write(file: str, indent: int | None = None, **content: Any) -> None:
    """Keep what was found in a file of the checkout, as JSON."""
    record = machine.record()
    description = (
        f"{record['cpu_model']}, {record['cpus_allowed']} CPUs, {'virtual' if record['virtual'] else 'not virtual'}"
    )
    kept = {"measured": f"{datetime.now(UTC):%Y-%m-%d}", "machine": description, **content}
    (paths.home() / file).write_text(json.dumps(kept, indent=indent) + "\n", "utf-8")


def basis(kept: Any) -> str:
    """Return when and on which machine what was kept was found, as a sentence."""
    return f"Measured {kept['measured']} on {kept['machine']}."


def read(file: str) -> Any:
    """Return what was kept last in a file of the checkout."""
    return json.loads((paths.home() / file).read_text("utf-8"))
