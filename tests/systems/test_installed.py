"""No system's file is broken, and where all systems are asked for, none is missing."""

import os

import pytest

from bench import systems
from bench.apps.listing import missing_text
from bench.errors import SystemFileError


def test_no_system_is_skipped_because_its_file_is_broken():
    assert not [reason for name in systems.names() if isinstance(reason := systems.missing(name), SystemFileError)]


@pytest.mark.slow
@pytest.mark.skipif("ROUNDTRIP_ALL_SYSTEMS" not in os.environ, reason="asked for by ROUNDTRIP_ALL_SYSTEMS=1")
def test_no_system_is_missing():
    assert missing_text().startswith("All "), missing_text()
