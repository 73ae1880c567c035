"""A share of a CPU of its own for a process and all that it starts: a group of the kernel's (cgroup), made here.

Version 2 and version 1 of the kernel's interface; the group is removed at the end.
"""

import contextlib
import secrets
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
PERIOD_US = 10_000


@contextlib.contextmanager
def share(of_a_cpu: float) -> Iterator[Path]:
    """Make a group that gets at most so much of one CPU, and yield its folder; OSError where that cannot be."""
    parent, is_second = _parent()
    group = parent / f"roundtrip-{secrets.token_hex(4)}"
    group.mkdir()
    try:
        quota_us = round(of_a_cpu * PERIOD_US)
        if is_second:
            if not (group / "cpu.max").exists():
                (parent / "cgroup.subtree_control").write_text("+cpu")
            (group / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")
        else:
            (group / "cpu.cfs_period_us").write_text(f"{PERIOD_US}")
            (group / "cpu.cfs_quota_us").write_text(f"{quota_us}")
        yield group
    finally:
        end = time.monotonic() + 10
        while group.exists() and time.monotonic() < end:
            with contextlib.suppress(OSError):  # its last process is about to end
                group.rmdir()
            time.sleep(0.05)


def _parent() -> tuple[Path, bool]:
    """Return the folder in which groups of this process are made, and whether it is of version 2."""
    lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    for _, controllers, where in lines:
        if "cpu" in controllers.split(","):
            return ROOT / controllers / where.lstrip("/"), False
    return ROOT / lines[-1][2].lstrip("/"), True


def join(group: Path, pid: int) -> None:
    """Move a process into a group: what it starts from now on is in it too."""
    (group / "cgroup.procs").write_text(f"{pid}")
