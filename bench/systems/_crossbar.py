"""A Crossbar.io node, run as a child of a router's or a server's process."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn

from bench.contract import Address, parse_address
from bench.errors import TransportError
from bench.plan import credentials
from bench.systems import _ports

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


def reserved(host: str = "127.0.0.1") -> str:
    """Return an address on a host for the node, which cannot pick a port itself and takes seconds to listen."""
    return str(Address("tcp", host, _ports.held(host), ""))


def endpoint(address: str, folder: str = "") -> dict[str, Any]:
    """Return the endpoint to listen at, as the node's configuration has it; with TLS if a ``folder`` is given."""
    parsed = parse_address(address)
    if parsed.transport == "ipc":
        return {"type": "unix", "path": parsed.path}
    version = 6 if ":" in parsed.host else 4
    shared = {"shared": True} if _ports.is_held(parsed.port) else {}
    tls = {"tls": {"key": f"{folder}/{credentials.KEY}", "certificate": f"{folder}/{credentials.CERTIFICATE}"}}
    place = {"type": "tcp", "interface": parsed.host, "port": parsed.port, "version": version}
    return place | shared | (tls if folder else {})
