"""Limits of a process: as many open files as the system allows, for many connections at once."""

import resource

MOST_FILES = 65_536


def allow_many_files() -> None:
    """Raise this process's limit of open files to the hard limit, at most ``MOST_FILES``."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
