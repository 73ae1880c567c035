"""The meter of CPU load and memory: processes that end meanwhile are left out, and the others are still read."""

import os
import subprocess
import sys
import time

from bench.process.meters import LoadMeter


def test_a_helper_that_ends_takes_no_rows_of_its_role_with_it():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as helper:
        gone = subprocess.Popen([sys.executable, "-c", ""])
        gone.wait()
        meter = LoadMeter({"router": [os.getpid(), helper.pid, gone.pid]})
        meter.tick()
        helper.stdin.close()
        helper.wait()
    meter.tick()
    time.sleep(0.15)
    meter.tick()
    assert [role for role, *_ in meter.rows] == ["router"] * 3
    first, then, last = ((percent, rss) for _, _, percent, rss, _ in meter.rows)
    assert first[0] is None and (then[0] is None or then[0] >= 0) and last[0] >= 0
    assert first[1] > then[1] > 1e6
