"""Where all systems are asked for, none is skipped."""

import os

import pytest

from bench.apps.listing import missing_text


@pytest.mark.slow
@pytest.mark.skipif("ROUNDTRIP_ALL_SYSTEMS" not in os.environ, reason="asked for by ROUNDTRIP_ALL_SYSTEMS=1")
def test_no_system_is_missing():
    assert missing_text().startswith("All "), missing_text()
