"""The parts of ``make benchmark`` that say something on any machine run to their end; their numbers are not judged."""

import os
import subprocess
import sys

import pytest
from conftest import ROOT

pytestmark = pytest.mark.slow

PARTS = ("loops", "readiness", "storing", "loading")


def test_parts_that_need_no_peer_print_what_they_measured():
    words = [sys.executable, "-m", "selfcheck", *PARTS]
    made = subprocess.run(
        words, cwd=ROOT, env=os.environ | {"BLOCKS": "2"}, capture_output=True, text=True, timeout=100
    )
    assert made.returncode == 0, made.stderr
    for line in (
        "timed loop, per call",
        "zeromq server ready",
        "storing 1,000,000 samples",
        "loading 100 starts, ledger",
    ):
        assert line in made.stdout
