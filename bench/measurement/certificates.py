"""Certificates and keys: made for each run, kept in memory, or read from the folder that the user names."""

import contextlib
import ipaddress
import os
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from bench import credentials, systems
from bench.contract import is_host
from bench.errors import NotInstalledError, UsageError
from bench.text import quoted


def make(names: Iterable[str] = credentials.NAMES, not_after: datetime | None = None) -> dict[str, str]:
    """Return a new authority, a server's certificate for ``names`` and its key, and the systems' own key pairs.

    They are texts by the names of their files (``bench.credentials``); the authority's own key is not kept.
    """
    try:
        import trustme
    except ImportError as reason:
        raise NotInstalledError(
            f"certificates cannot be made ({reason}); install what makes them: python -m pip install trustme"
        ) from reason
    authority = trustme.CA()
    server = authority.issue_cert(*names, not_after=not_after)
    chain = b"".join(pem.bytes() for pem in server.cert_chain_pems)
    texts = {
        credentials.AUTHORITY: authority.cert_pem.bytes().decode(),
        credentials.CERTIFICATE: chain.decode(),
        credentials.KEY: server.private_key_pem.bytes().decode(),
    }
    for name in systems.names():
        if systems.defines(name, "credentials"):
            with contextlib.suppress(NotInstalledError):
                texts |= getattr(systems.load(name), "credentials")()  # noqa: B009 - an optional part of the contract
    return texts


def of_user() -> dict[str, str]:
    """Return the credentials in the folder that the user names; UsageError if none is named."""
    folder = os.environ.get(credentials.FOLDER)
    if not folder:
        raise credentials.missing(credentials.AUTHORITY)
    return credentials.read(folder)


def make_folder(folder: Path, hosts: Iterable[str]) -> list[str]:
    """Make a folder of credentials for a server that the user starts; return the names that its certificate is for.

    UsageError for a folder that exists, and for a host that is no name and no address.
    """
    names = list(dict.fromkeys([*credentials.NAMES, *hosts]))
    for name in names:
        if "/" in name or (not is_host(name) if ":" not in name else not _is_address(name)):
            raise UsageError(f"{quoted(name)} is no host: write a name or an address, without tcp:// and port")
    made = make(names)
    try:
        folder.mkdir(mode=0o700, parents=True)
    except OSError as reason:
        raise UsageError(
            f"the folder {folder} cannot be made ({reason.strerror}): name one that is not there"
        ) from reason
    credentials.write(str(folder), made)
    return names


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
