"""A Crossbar.io node, run as a child of a router's or a server's process.

It has a Python environment of its own, because it cannot share one with JupyterLab.
"""

import json
from collections.abc import Callable
from typing import Any, NoReturn

from bench.contract import Address, parse_address
from bench.systems import _broker, _ports, _tls

NODE = _broker.Program("the Crossbar.io node", "", "NODE_BOOT_COMPLETE", 90.0)  # said once all its endpoints listen


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
    command += ["--loglevel", "info", "--logformat", "syslogd", "--color", "false"]
    settings = {"PYTHONSAFEPATH": "1", "PYTHONUNBUFFERED": "1"}  # or its log, a pipe, is not written at once
    node = _broker.Run(NODE, command, directory, settings)
    adopt(node.pid)
    if node.wait_until_ready():
        ready(node.pid)
    raise node.ended()


def reserved(host: str = "127.0.0.1") -> str:
    """Return an address on a host for the node, which cannot pick a port itself."""
    return str(Address("tcp", host, _ports.free(host), ""))


def endpoint(address: str, folder: str = "") -> dict[str, Any]:
    """Return the endpoint to listen at, as the node's configuration has it; with TLS if a ``folder`` is given."""
    parsed = parse_address(address)
    if parsed.transport == "ipc":
        return {"type": "unix", "path": parsed.path}
    version = 6 if ":" in parsed.host else 4
    endpoint = {"type": "tcp", "interface": parsed.host, "port": parsed.port, "version": version}
    return endpoint | ({"tls": dict(zip(("certificate", "key"), _tls.files(folder), strict=True))} if folder else {})
