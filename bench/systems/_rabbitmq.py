"""A RabbitMQ broker as a router, and the options of the systems whose messages go through it."""

import contextlib
import secrets
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bench.contract import Binding, RouterService
from bench.errors import NotInstalledError, TransportError
from bench.plan import credentials
from bench.process import pipes
from bench.systems import _broker, _ports, _tls

TRANSPORTS = ("tcp",)
SERVER = _broker.Program("rabbitmq-server", "rabbitmq-server", "Server startup complete", 80.0)
DEBIAN = ("/usr/sbin/rabbitmq-server", "/usr/lib/rabbitmq/bin/rabbitmq-server")  # a wrapper that becomes another user
EPMD_S = 5.0
MOST_BYTES = 2_000_000_000  # of the broker's memory, beyond which it reads no more of those who publish
REPLIES = "amq.rabbitmq.reply-to"  # the broker's pseudo-queue: replies go to the connection that asked
QUORUM = {"x-queue-type": "quorum", "x-expires": 60_000}  # it cannot be exclusive: it ends a minute after its reader


FOR_WIRE = {"tls": False, "confirms": False, "queue": "classic"}  # it publishes without more


@dataclass(frozen=True)
class Options:
    """How messages are delivered.

    queue: of requests. classic is in memory and ends with its server. quorum is durable and written to disk (Raft, one
        node here): with acknowledge and confirms a request is delivered at least once, also after a restart of the
        broker. Without these, or with classic, at most once. The broker keeps no replies (direct reply-to).
    acknowledge: the server acknowledges each request after its reply; else the broker forgets it when it is sent.
    prefetch: requests that the broker sends ahead to a server that acknowledges; 0: any number.
    confirms: the broker confirms each message published, and the publisher waits for that.
    codec: how structured messages become bytes; not used for opaque bytes.
    tls: TLS 1.3 between the broker and either side; both sides verify the broker's certificate.
    """

    queue: Literal["classic", "quorum"] = "classic"
    acknowledge: bool = False
    prefetch: int = 0
    confirms: bool = False
    codec: str = "json"
    tls: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.prefetch < 65536:
            raise ValueError(f"prefetch must be 0 to 65535, not {self.prefetch}")
        if self.prefetch and not self.acknowledge:
            raise ValueError("prefetch counts requests that are not acknowledged yet: give acknowledge true")


def route(binding: Binding, options: Options, service: RouterService) -> None:
    """Run a RabbitMQ broker, an Erlang node, until it ends; and the port mapper that the node needs, before it."""
    path = SERVER.path()
    port = _port_mapper(binding, service)
    variables = _variables(binding, port)
    path = DEBIAN[1] if Path(path).resolve() == Path(DEBIAN[0]).resolve() else path  # /sbin is /usr/sbin
    _broker.run(SERVER, binding, service, _configured(binding, options), variables, path)


def _port_mapper(binding: Binding, service: RouterService) -> int:
    """Start Erlang's port mapper at a port of its own, in the foreground, so that it ends with the router.

    A node that finds none starts one, which outlives it and serves all nodes of the host.
    """
    program = pipes.program("epmd")
    if program is None:
        raise NotInstalledError("there is no epmd; install it: apt-get install erlang-base", ["erlang-base"])
    port = _ports.free()
    words = [program, "-port", str(port), "-address", "127.0.0.1"]
    variables = _broker.configured({"HOME": binding.directory})
    mapper = subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=sys.stderr, stderr=sys.stderr, env=variables, process_group=0
    )
    service.adopt(mapper.pid)
    end = time.monotonic() + EPMD_S
    while time.monotonic() < end and mapper.poll() is None:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), EPMD_S).close()
            return port
        time.sleep(0.01)
    raise TransportError("Erlang's port mapper epmd does not start")


def _variables(binding: Binding, port: int) -> dict[str, str]:
    """Return the environment of the node: nothing is read or written outside the private directory."""
    folder = binding.directory
    return {
        "ERL_EPMD_PORT": str(port),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "ERL_AFLAGS": "-start_epmd false",
        "RABBITMQ_NODENAME": f"roundtrip-{secrets.token_hex(4)}@localhost",
        "RABBITMQ_DIST_PORT": str(_ports.free()),
        "RABBITMQ_CONF_ENV_FILE": _broker.write(binding, "rabbitmq-env.conf", []),
        "RABBITMQ_CONFIG_FILE": f"{folder}/rabbitmq.conf",
        "RABBITMQ_ADVANCED_CONFIG_FILE": _broker.write(binding, "advanced.config", ["[]."]),
        "RABBITMQ_ENABLED_PLUGINS_FILE": _broker.write(binding, "enabled_plugins", ["[]."]),
        "RABBITMQ_MNESIA_BASE": f"{folder}/mnesia",
        "RABBITMQ_GENERATED_CONFIG_DIR": f"{folder}/generated",
        "RABBITMQ_LOG_BASE": f"{folder}/log",
        "RABBITMQ_LOGS": "-",
        "RABBITMQ_PID_FILE": f"{folder}/pid",
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
    }


def _configured(binding: Binding, options: Options) -> _broker.Start:
    """Write the broker's configuration: its ports, and who may log in."""
    places = _broker.endpoints(binding, TRANSPORTS, TRANSPORTS, options.tls)
    lines = ["log.console = true", "log.console.level = info", "log.file = false", "disk_free_limit.absolute = 50MB"]
    lines += [f"vm_memory_high_watermark.absolute = {MOST_BYTES}"]
    plain, encrypted = places.get("tcp"), places.get("tcp tls")
    lines += [f"listeners.tcp.1 = {plain.place}"] if plain else ["listeners.tcp = none"]
    if encrypted:
        certificate, key = _tls.files(binding.credentials)
        lines += [
            f"listeners.ssl.1 = {encrypted.place}",
            f"ssl_options.cacertfile = {binding.credentials}/{credentials.AUTHORITY}",
            f"ssl_options.certfile = {certificate}",
            f"ssl_options.keyfile = {key}",
            "ssl_options.verify = verify_none",
            "ssl_options.fail_if_no_peer_cert = false",
            "ssl_options.versions.1 = tlsv1.3",
        ]
    if login := _broker.asked(binding):
        lines += [f"default_user = {login[0]}", f"default_pass = {login[1]}", "loopback_users = none"]
    _broker.write(binding, "rabbitmq.conf", lines)
    return [], places
