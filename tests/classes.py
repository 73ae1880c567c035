"""Submissions for tests: a real run handed in by simulated machines."""

import copy
import functools
import hashlib
from pathlib import Path

import numpy as np

from bench.analysis.comparison import QUANTITIES
from bench.apps.classroom import submitting


@functools.cache
def _real() -> dict:
    return submitting.submission(["reference/latency"]).content


def content(machine_id: str = "") -> dict:
    """Return what a real submission holds; of another machine, if its id is given, with another run's digest."""
    real = copy.deepcopy(_real())
    if machine_id:
        real["machine"]["machine_id"] = machine_id
        real["runs"][0]["digest"] = hashlib.sha256(machine_id.encode()).hexdigest()
    return real


def slow_down(content: dict, system: str, factor: float, scale: float = 1, noise: float = 0.03, seed: int = 1) -> dict:
    """Multiply the times of a system by a factor, and all times by the machine's ``scale``."""
    (run,), chance = content["runs"], np.random.default_rng(seed)
    for start, error in zip(run["starts"], chance.normal(size=len(run["starts"])), strict=True):
        is_slower = run["cases"][start["case"]]["system"] == system
        time = scale * (factor if is_slower else 1.0) * float(np.exp(noise * error))
        start |= {name: start[name] * time for name in QUANTITIES if start[name]}
        start["rate_per_s"] /= time * time
    return content


def a_class(folder: Path, factors: list[float], system: str = "zeromq", **options) -> Path:
    """Fill a folder with one file for each machine, whose times of a system are multiplied by its factor."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, factor in enumerate(factors):
        made = slow_down(content(f"{number:08x}"), system, factor, scale=1 + number / 3, seed=number, **options)
        (folder / f"student{number:02d}.json").write_bytes(submitting.encoded(made))
    return folder
