"""Certificates of several load generators, side by side: a row for each, from files that ``certify --json`` wrote."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bench import documents
from bench.errors import DataError
from bench.referees.certificate import FORMAT
from bench.referees.verdict import HELD, NOT_DECIDED, NOT_HELD
from bench.text import all_harmless

QUANTILE = "p99"


def read(file: Path) -> dict[str, Any]:
    """Return a certificate as it was written; DataError if the file holds none."""
    try:
        found = documents.from_json(documents.read(file).decode())
        if found["format"] != FORMAT:
            raise DataError(f"{file} is a certificate of another version: make it again with this one")
        row(found)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as reason:
        raise DataError(
            f"{file} holds no certificate: write one with python -m bench certify NAME --json FILE"
        ) from reason
    return dict(all_harmless(found))


def row(found: dict[str, Any]) -> dict[str, Any]:
    """Return one row: verdict, how many checks were held, which were not, and reported p99 divided by the true one."""
    checks = [(section["name"], check) for section in found["scenarios"] for check in section["checks"]]
    counts = {word: sum(check["verdict"] == word for _, check in checks) for word in (HELD, NOT_HELD, NOT_DECIDED)}
    not_held = [f"{scenario}: {check['name']}" for scenario, check in checks if check["verdict"] == NOT_HELD]
    ratios = {
        f"{section['name']} {QUANTILE} reported/true": check["found"] / check["expected"]
        for section in found["scenarios"]
        for check in section["checks"]
        if check["name"] == QUANTILE
    }
    names = {name: str(found[name]) for name in ("generator", "version", "verdict")}
    return names | counts | {"which": ", ".join(not_held)} | ratios


def table(files: Sequence[Path]) -> pd.DataFrame:
    """Return a row for each certificate, those with the most checks not held last."""
    rows = pd.DataFrame([row(read(file)) for file in files])
    return rows.sort_values([NOT_HELD, "generator"], kind="stable").reset_index(drop=True)
