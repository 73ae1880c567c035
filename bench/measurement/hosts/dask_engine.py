"""Dask distributed, which carries orders to hosts and reports back: its settings, its addresses, its TLS.

Nothing timed goes through it. All that it receives is unpickled: it listens behind mutual TLS, on loopback too, where
other users of the machine connect; in plain TCP only where that is asked for by name.
"""

import logging
import socket
from typing import Any

from bench.contract import is_loopback
from bench.errors import BENCH, NotInstalledError, UsageError
from bench.measurement import certificates
from bench.plan import credentials

SETTINGS = {
    "distributed.scheduler.allowed-failures": 0,  # nothing is done a second time
    "distributed.scheduler.http.routes": [],
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.worker-ttl": "30s",  # the name of a host that has lost its power is free again
    "distributed.admin.tick.interval": "10s",  # by default it wakes each process 50 times a second
    "distributed.admin.tick.cycle": "60s",
    "distributed.admin.tick.limit": "3600s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.disk": False,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.worker.http.routes": [],
    "distributed.worker.preload": [],
    "distributed.scheduler.preload": [],
    "distributed.worker.profile.enabled": False,
    "distributed.comm.compression": False,
    "distributed.comm.retry.count": 0,
}


def load() -> Any:
    """Import distributed, with the settings that a measurement needs; NotInstalledError if it is not installed."""
    try:
        import dask
        import distributed
    except ImportError as reason:
        raise NotInstalledError(
            f"other machines are reached by Dask distributed, which is not installed ({reason}); "
            "install it: python -m pip install distributed"
        ) from reason
    dask.config.set(SETTINGS)
    for name in ("distributed", "distributed.client"):  # what goes wrong is said here, in a sentence
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return distributed


def files_in(folder: str) -> Any:
    """Return the context in which the library puts its files into a folder: by default all users may read them."""
    import dask

    return dask.config.set({"temporary-directory": folder})


def security(protocol: str, is_plain_wanted: bool) -> Any:
    """Return the security of connections: mutual TLS by ``certificates.of_hosts``; None for plain TCP.

    UsageError for plain TCP that is not asked for by name.
    """
    if protocol == "tcp":
        if not is_plain_wanted:
            raise UsageError(
                "tcp:// lets every user of this machine, and everybody who reaches the address, run programs on all "
                f"hosts: use tls:// ({BENCH} scheduler makes the certificates), or, if you trust all of them, "
                "--plain (for a notebook: plain: true in a YAML file of roles)"
            )
        return None
    files = certificates.of_hosts()
    key, certificate = str(files[credentials.KEY]), str(files[credentials.CERTIFICATE])
    same: dict[str, Any] = {"tls_ca_file": str(files[credentials.AUTHORITY]), "require_encryption": True}
    for role in ("client", "scheduler", "worker"):
        same |= {f"tls_{role}_cert": certificate, f"tls_{role}_key": key}
    return load().Security(**same)


def exposed(address: str, user: str) -> str:
    """Return who can run programs where plain TCP is listened at, in a sentence."""
    who = "every user of this machine" + ("" if is_loopback(address) else f", and whoever reaches {address},")
    return f"plain TCP: {who} can run programs here as {user}"


def local_address(host: str, port: int) -> str:
    """Return the address of this machine by which it reaches another: on the network between both, no other."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect(address)  # sends nothing
            return str(probe.getsockname()[0])
    except OSError as reason:
        raise UsageError(f"{host} cannot be reached from here ({reason}): check its name and the network") from reason
