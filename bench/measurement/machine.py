"""The machine record: one small function for each fact about the place where a run was measured."""

import hashlib
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from bench.plan import placement


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text("utf-8").strip()
    except OSError:
        return None


def machine_id() -> str:
    """Return an anonymous name for this machine: a salted hash."""
    name = _read("/etc/machine-id") or platform.node()
    text = f"{name}|{cpu_model()}|{psutil.virtual_memory().total}"
    return hashlib.blake2b(text.encode(), key=b"roundtrip machine id", digest_size=4).hexdigest()


def cpu_model() -> str:
    """Return the processor's name."""
    for line in (_read("/proc/cpuinfo") or "").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def governor() -> str | None:
    """Return the frequency governor, or None where there is none (mostly: a virtual machine)."""
    return _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


HALT_POLL = "/sys/module/haltpoll/parameters/guest_halt_poll_ns"


def idle_poll_ns() -> int | None:
    """Return how long an idle CPU of a virtual machine polls before it halts; None where Linux does not decide it."""
    text = _read(HALT_POLL)
    return int(text) if text and text.isdigit() else None


def is_virtual() -> bool | None:
    """Return whether this is a virtual machine, or None where that is not known."""
    flags = _read("/proc/cpuinfo")
    return None if flags is None else "hypervisor" in flags


def clock_source() -> str | None:
    """Return the kernel's clock source."""
    return _read("/sys/devices/system/clocksource/clocksource0/current_clocksource")


def cpu_limit() -> float | None:
    """Return how many CPUs the control group (a container) allows, or None for no limit."""
    quota, _, period = (_read("/sys/fs/cgroup/cpu.max") or "max").partition(" ")
    return None if quota == "max" else int(quota) / int(period)


def clock_cost_ns() -> float:
    """Return the cost of one clock reading, in ns."""
    calls, clock = 20_000, time.perf_counter_ns
    began = clock()
    for _ in range(calls):
        clock()
    return (clock() - began) / calls


def steal_s() -> float | None:
    """Return the CPU time that other virtual machines took from this one since it started, or None."""
    return getattr(psutil.cpu_times(), "steal", None)


WRITTEN = ("data", "docs", "figures", "README.md")  # what is written from runs does not measure


def git_revision() -> dict[str, Any]:
    """Return the checkout's revision and whether files that measure differ from it; None outside a checkout.

    A repository around an environment that this package is installed in is no checkout of it.
    """
    here = Path(__file__)

    def git(*words: str) -> str:
        answer = subprocess.run(["git", "-C", str(here.parent), *words], capture_output=True, text=True, check=True)
        return answer.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", here.name)
        changed = git("status", "--porcelain", "-uno", "--", ":/", *(f":(top,exclude){name}" for name in WRITTEN))
        return {"revision": git("rev-parse", "HEAD"), "dirty": bool(changed)}
    except (OSError, subprocess.CalledProcessError):
        return {"revision": None, "dirty": None}


def record() -> dict[str, Any]:
    """Return the machine record of a manifest; no host or user name is in it."""
    return {
        "machine_id": machine_id(),
        "system": platform.system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "cpu_model": cpu_model(),
        "cpus": os.cpu_count(),
        "cpus_allowed": len(placement.allowed()),
        "cpu_limit": cpu_limit(),
        "virtual": is_virtual(),
        "governor": governor(),
        "idle_poll_ns": idle_poll_ns(),
        "clock_source": clock_source(),
        "clock_cost_ns": round(clock_cost_ns(), 1),
        "memory_bytes": psutil.virtual_memory().total,
        "python": sys.implementation.name,
    }
