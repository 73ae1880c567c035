"""A Crossbar.io node, run as a child of a router's or a server's process."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn

from bench import credentials
from bench.contract import parse_address
from bench.errors import TransportError

ENVIRONMENT = "crossbar"  # the node and JupyterLab cannot share an environment
EXCEPTION = re.compile(r"[\w.]+\.\w*(Error|Exception|Failure)\b")  # begins the last line of a traceback
READY = "NODE_BOOT_COMPLETE"  # in the node's log, once all its endpoints listen


def run(
    directory: str,
    environment: str,
    configuration: dict[str, Any],
    adopt: Callable[[int], None],
    ready: Callable[[int], None],
) -> NoReturn:
    """Run a node in ``directory``, with the programs of ``environment``, until it ends: TransportError.

    ``adopt`` is given its process group at once, ``ready`` the process id of its controller once its endpoints listen.
    """
    with open(f"{directory}/config.json", "w") as file:  # noqa: PTH123 - pathlib is slow to import
        json.dump(configuration, file)
    command = [f"{environment}/bin/crossbar", "start", "--cbdir", directory]
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    settings["PYTHONSAFEPATH"] = "1"  # its workers are interpreters too
    settings["PYTHONUNBUFFERED"] = "1"  # or READY stays in the node's buffer: its log is a pipe
    node = subprocess.Popen(
        [*command, "--loglevel", "info", "--logformat", "syslogd", "--color", "false"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=settings,
        process_group=0,
    )
    adopt(node.pid)

    reason = ""

    def follow() -> None:
        nonlocal reason
        for line in node.stdout or ():
            sys.stderr.write(line)
            if EXCEPTION.match(line):
                reason = f": {line.strip()}"
            if READY in line:
                ready(node.pid)

    log = threading.Thread(target=follow, daemon=True)  # a worker may keep the log open when its controller is gone
    log.start()
    status = node.wait()
    log.join(0.5)
    raise TransportError(f"the Crossbar.io node ended with status {status}{reason}")


_reserved: dict[int, socket.socket] = {}


def reserve_port(host: str = "127.0.0.1") -> int:
    """Return a free port that the kernel gives to no other process while this one runs.

    The node cannot pick one itself, and takes seconds to listen: on Linux a socket that is bound and does not listen
    keeps the port meanwhile, and the node shares it (SO_REUSEPORT, see ``endpoint``).
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    if sys.platform != "linux":
        with socket.create_server((host, 0), family=family) as probe:
            return int(probe.getsockname()[1])
    holder = socket.socket(family, socket.SOCK_STREAM)
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    holder.bind((host, 0))
    port = int(holder.getsockname()[1])
    _reserved[port] = holder
    return port


def endpoint(address: str, folder: str = "") -> dict[str, Any]:
    """Return the endpoint to listen at, as the node's configuration has it; with TLS if a ``folder`` is given."""
    where = parse_address(address)
    if where.transport == "ipc":
        return {"type": "unix", "path": where.path}
    version = 6 if ":" in where.host else 4
    shared = {"shared": True} if where.port in _reserved else {}
    tls = {"tls": {"key": f"{folder}/{credentials.KEY}", "certificate": f"{folder}/{credentials.CERTIFICATE}"}}
    found = {"type": "tcp", "interface": where.host, "port": where.port, "version": version}
    return found | shared | (tls if folder else {})
