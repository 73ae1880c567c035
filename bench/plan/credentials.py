"""Credentials of encrypted connections: the texts that this process was given, and the files that a server keeps.

For each run the parent makes an authority, a server's certificate that it signs, and the key pairs of systems with keys
of their own; for servers that the user starts they come from a folder. They are part of the specification of a child:
private keys go to servers and routers only, and lie nowhere but in their private directories.
Imported by servers and clients: keep this module light.
"""

import os
from collections.abc import Mapping
from typing import Any

from bench.errors import BENCH, UsageError

AUTHORITY, CERTIFICATE, KEY = "authority.pem", "server.pem", "server.key"  # names of the files, PEM
FOLDER = "ROUNDTRIP_CREDENTIALS"  # names the user's folder
OPTIONS = ("tls", "curve")  # options of systems that encrypt
SAME = "give the option tls the same value on both sides"
IF = f"; if the server expects TLS: {SAME}"  # behind what happened to a client without
NAMES = ("localhost", "127.0.0.1", "::1")  # that a certificate is for; a socket file is localhost
SUFFIXES = (".pem", ".key", ".public", ".secret")
PRIVATE = (".key", ".secret")
MOST_BYTES = 1 << 16  # of one file

_given: dict[str, str] = {}


def wanted(options: Mapping[str, Any]) -> bool:
    """Return whether a system's options ask for encryption."""
    return any(options.get(name) for name in OPTIONS)


def use(texts: Mapping[str, str]) -> None:
    """Let this process use these credentials: texts by the names of their files."""
    _given.clear()
    _given.update(texts)


def text(name: str) -> str:
    """Return one of this process's credentials; UsageError if it was not given."""
    try:
        return _given[name]
    except KeyError:
        raise missing(name) from None


def missing(name: str, folder: str = "") -> UsageError:
    """Return the error for credentials that are not there."""
    problem = f"{folder} has no file {name}" if folder else f"an encrypted connection needs {name}"
    return UsageError(f"{problem}: make a folder with {BENCH} certificates FOLDER HOST, and name it in {FOLDER}")


def public(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the credentials that a client needs: all but private keys."""
    return {name: value for name, value in texts.items() if not name.endswith(PRIVATE)}


def write(folder: str, texts: Mapping[str, str]) -> None:
    """Write credentials as files that only this user may read."""
    for name, value in texts.items():
        descriptor = os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "w", encoding="ascii") as file:  # noqa: PTH123 - pathlib is slow to import
            file.write(value)


def read(folder: str) -> dict[str, str]:
    """Return the credentials in a folder that the user names; UsageError if it cannot be read or holds none."""
    texts = {}
    try:
        for name in sorted(os.listdir(folder)):  # noqa: PTH208
            if name.endswith(SUFFIXES):
                with open(f"{folder}/{name}", encoding="ascii") as file:  # noqa: PTH123
                    texts[name] = file.read(MOST_BYTES)
    except (OSError, UnicodeDecodeError) as reason:
        raise UsageError(f"the credentials in {folder} cannot be read ({reason}): check {FOLDER}") from reason
    if AUTHORITY not in texts:
        raise missing(AUTHORITY, folder)
    return texts
