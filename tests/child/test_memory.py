"""The memory of a client whose server is a target: endless replies end the start with one sentence."""

import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from bench.child import memory
from bench.child.caller import Failures
from bench.errors import SystemFailedError, TransportError
from bench.measurement.start import measure
from bench.plan.case import Case

MOST_BYTES = 200_000_000
LIMITED = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process so")


def test_memory_that_a_client_did_not_get_is_found_behind_other_errors():
    try:
        try:
            raise MemoryError
        except MemoryError as reason:
            raise TransportError("the call failed", "read") from reason
    except TransportError as error:
        assert memory.is_refused(error)
        with pytest.raises(SystemFailedError, match="memory"):
            Failures().add(error)
    assert not memory.is_refused(TransportError("the call failed"))
    with pytest.raises(SystemFailedError, match="memory"), memory.explained():
        raise MemoryError
