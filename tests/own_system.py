"""A system's file as a user would write it: raw sockets under another name, and what a test changes of it."""

from textwrap import dedent, indent

SERVE = "sockets.serve(binding, sockets.Options(), service)"
FILE = '''\
"""Own: raw sockets under another name."""
from dataclasses import dataclass
from typing import Literal
from bench.systems import sockets
TRANSPORTS = ("ipc", "tcp")
REQUIRES = ("pyzmq>=20",)
{more}@dataclass(frozen=True)
class Options:
    """{options}"""
{fields}def serve(binding, options, service):
    {serve}
class Client(sockets.Client):
    def __init__(self, address, options):
        super().__init__(address, sockets.Options())
{client}'''


def text(more="", options="", serve=SERVE, client=""):
    """Return the file: with further lines, fields of its options, another line of its server, methods of its client."""
    more, options, client = (dedent(part).strip("\n") + "\n" * bool(part) for part in (more, options, client))
    fields, client = (indent(part, "    ") for part in (options, client))
    return FILE.format(more=more, options=options.strip(), fields=fields, serve=serve, client=client)
