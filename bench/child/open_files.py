"""Limits of a process: as many open files as the system allows, for many connections at once."""

import resource

from bench.errors import SystemFailedError

MOST_FILES = 65_536
OWN_FILES = 64  # of a process beside its connections


def allow_many_files() -> None:
    """Raise this process's limit of open files to the hard limit, at most ``MOST_FILES``."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def allow_connections(count: int) -> None:
    """Raise this process's limit of open files for so many connections; SystemFailedError where it does not suffice."""
    allow_many_files()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit != resource.RLIM_INFINITY and limit < count + OWN_FILES:
        raise SystemFailedError(
            f"a process may open {limit:,} files here, too few for {count:,} connections: raise the limit "
            f"(ulimit -Hn {count + OWN_FILES}), or give fewer callers"
        )
