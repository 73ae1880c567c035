"""Limits of a process: as many open files as the system allows, for many connections at once."""

import contextlib

MOST_FILES = 65_536


def allow_many_files() -> None:
    """Raise this process's limit of open files to the hard limit, at most ``MOST_FILES``."""
    try:
        import resource
    except ImportError:  # not a Unix system
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
