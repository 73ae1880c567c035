"""Folders that a process has for itself; what a killed one left, the next that wants one of its kind deletes."""

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

JUST_MADE_S = 60.0  # so old at least is a folder that nobody holds, where its owner is not about to


@contextlib.contextmanager
def private_folder(prefix: str, parent: str | None = None) -> Iterator[str]:
    """Yield a new folder of mode 0700, and delete those of this user with the same prefix whose owners were killed.

    parent: the folder in which it is made; None: that of temporary files.
    """
    for left in Path(parent or tempfile.gettempdir()).glob(f"{prefix}*"):
        with contextlib.suppress(OSError), _held(left) as status:  # it is another user's, or its owner lives
            if status.st_uid == os.geteuid() and time.time() - status.st_mtime > JUST_MADE_S:
                shutil.rmtree(left, ignore_errors=True)
    made = tempfile.TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True)
    with made as folder, _held(Path(folder)):
        yield folder


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[os.stat_result]:
    """Lock a folder while this process, and no other, uses it: the kernel unlocks it when the process has ended.

    OSError if another process holds it, or may hold it alone.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield os.fstat(descriptor)
    finally:
        os.close(descriptor)
