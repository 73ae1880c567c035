"""Certificates and keys: made for each run, kept in memory, or read from the folder that the user names."""

import contextlib
import ipaddress
import os
import secrets
import shutil
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from bench import systems
from bench.contract import is_host
from bench.errors import BENCH, NotInstalledError, UsageError
from bench.plan import credentials
from bench.text import quoted


def make(names: Iterable[str] = credentials.NAMES, not_after: datetime | None = None) -> dict[str, str]:
    """Return a new authority, a server's certificate for ``names`` and its key, and the systems' own key pairs.

    They are texts by the names of their files (``bench.plan.credentials``); the authority's own key is not kept.
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
    fresh = folder.with_name(f".{folder.name}-{secrets.token_hex(4)}")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh.mkdir(mode=0o700)
        credentials.write(str(fresh), made | {".gitignore": "*\n"})  # a copy in a checkout is not committed
        fresh.rename(folder)  # whole, or not at all
    except OSError as reason:
        shutil.rmtree(fresh, ignore_errors=True)
        raise UsageError(
            f"the folder {folder} cannot be made ({reason.strerror}): name one that is not there"
        ) from reason
    return names


def folder_of_hosts() -> Path:
    """Return the folder of the credentials of hosts: the one that the user names, or one among the user's settings."""
    if chosen := os.environ.get(credentials.FOLDER):
        return Path(chosen)
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "roundtrip" / "credentials"


def of_hosts() -> dict[str, Path]:
    """Return the files by which hosts know each other, by their names in ``bench.plan.credentials``.

    UsageError if one is missing, if others may read the key, and if the certificate has expired.
    """
    folder = folder_of_hosts()
    files = {name: folder / name for name in (credentials.AUTHORITY, credentials.CERTIFICATE, credentials.KEY)}
    if missing := [name for name, file in files.items() if not file.is_file()]:
        raise UsageError(
            f"{folder} has no file {missing[0]}: {BENCH} scheduler makes this folder on its machine; copy it "
            f"from there, or name another one in {credentials.FOLDER}"
        )
    if files[credentials.KEY].stat().st_mode & 0o077:
        raise UsageError(
            f"other users may read {files[credentials.KEY]}, and with it run programs on all hosts: chmod 600 it"
        )
    ends = _expiry(files[credentials.CERTIFICATE])
    if ends <= datetime.now(UTC):
        raise UsageError(
            f"the certificate in {folder} expired on {ends:%Y-%m-%d}: move the folder away, start {BENCH} "
            "scheduler, which makes a new one, and copy it to every host"
        )
    return files


def _expiry(certificate: Path) -> datetime:
    """Return when a certificate expires; UsageError if the file holds none."""
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificate(certificate.read_bytes()).not_valid_after_utc
    except (OSError, ValueError) as reason:
        raise UsageError(f"{certificate} is no certificate ({reason}): make the folder anew") from reason


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
