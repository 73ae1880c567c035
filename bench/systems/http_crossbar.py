"""HTTP by Crossbar.io's Web service: its own static file and JSON value, Twisted Web resources for the rest."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bench.contract import Binding, Service
from bench.errors import TransportError
from bench.systems import _connections, _crossbar, _http, _twin, _workers, http_aiohttp

TRANSPORTS = ("ipc", "tcp")
START_S = 3.0  # the node takes twice as long, its client is fast
REQUIRES = ("aiohttp",)
GROUP = "http"
ENVIRONMENT = "crossbar"

MOST_WORKERS = 64
RESOURCES = "_crossbar_resources"  # the module of the Twisted resources, which the node's workers load


@dataclass(frozen=True)
class Options:
    """The resource requested, and the server. The client is the one of http_aiohttp.

    resource: echo posts the payload and gets it back; bytes gets as many bytes as the payload has; json gets a small
        JSON value, which the node writes once; static gets a file. Of the last two the size does not depend on the
        payload's.
    workers: router workers, a process each, that share one TCP port (SO_REUSEPORT). Connections, not requests, are
        spread over them, by a hash. The node's controller is a further process of the server; it has no work
        in a window.
    pin: keep each worker on one CPU, in turn, out of those that the server may use (Linux).
    """

    resource: Literal["echo", "bytes", "json", "static"] = "echo"
    workers: int = 1
    pin: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.workers <= MOST_WORKERS:
            raise ValueError(f"workers must be 1 to {MOST_WORKERS}, not {self.workers}")
        if self.pin and not hasattr(os, "sched_setaffinity"):
            raise ValueError("pin needs Linux: this kernel does not keep a process on a CPU")


def _of_client(options: Options) -> http_aiohttp.Options:
    """Return the options of http_aiohttp, whose client is this system's."""
    return http_aiohttp.Options(resource=options.resource)


Client = _twin.with_options(http_aiohttp.Client, _of_client)
Wire = _twin.with_options(_http.Wire, _of_client)


def url(address: str, options: Options, payload_bytes: int) -> str:
    """Return the URL for load generators; ValueError for options that they do not support."""
    return _http.url(address, _of_client(options), payload_bytes)


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Run a node whose workers answer, until it ends."""
    if options.workers > 1 and binding.transport != "tcp":
        raise TransportError(f"{options.workers} workers need a port to share: use tcp, or workers 1 for ipc")
    _connections.refuse_if_taken(binding.endpoint())
    is_free = binding.transport == "tcp" and not binding.is_named
    address = _crossbar.reserved(binding.host) if is_free else binding.endpoint()
    here, directory = Path(__file__).parent, Path(binding.directory)
    (directory / "code").mkdir()
    shutil.copy(here / f"{RESOURCES}.py", directory / "code")
    (directory / "static").mkdir()
    shutil.copy(_http.STATIC, directory / "static" / "index.html")
    _crossbar.run(
        binding.directory,
        binding.environment,
        _configuration(address, options, binding.directory),
        service.adopt,
        lambda controller: service.announce(address, counts=lambda: _counts(directory)),
    )


def _configuration(address: str, options: Options, directory: str) -> dict[str, Any]:
    """Return the node's configuration: workers that serve the same at the same endpoint."""
    endpoint = _crossbar.endpoint(address) | {"backlog": _workers.BACKLOG}
    endpoint |= {"shared": True} if options.workers > 1 else {}
    workers = []
    for number in range(options.workers):
        paths = _paths(directory, _workers.own_cpu(number) if options.pin else None)
        web = {"type": "web", "endpoint": endpoint, "paths": paths}
        workers.append({"type": "router", "options": {"pythonpath": [f"{directory}/code"]}, "transports": [web]})
    return {"version": 2, "workers": workers}


def _paths(directory: str, cpus: list[int] | None) -> dict[str, Any]:
    """Return the paths that a worker serves; it is pinned to the given CPUs, if any."""
    extra = {"directory": directory, "most_bytes": _http.MOST_BYTES, "cpus": cpus}
    return {
        "/": {"type": "static", "directory": f"{directory}/static"},
        "json": {"type": "json", "value": _http.JSON},
        "resource": {"type": "resource", "classname": f"{RESOURCES}.Bytes", "extra": extra},
        "echo": {"type": "resource", "classname": f"{RESOURCES}.Echo"},
    }


def _counts(directory: Path) -> list[int]:
    """Return how many requests each worker has answered so far."""
    return [int.from_bytes(file.read_bytes(), "little") for file in sorted(directory.glob("requests-*"))]
