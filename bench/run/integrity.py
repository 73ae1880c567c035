"""SHA-256 digests of a run's files: a file that was changed after it was written is found when it is read.

Each start has a file ``digests/00001.sha256`` with one line for each of its files, as ``sha256sum`` writes and checks
them (``cd RUN && sha256sum -c digests/*.sha256``). The manifest holds the digest of its own other fields and, once the
run is finished, of the digest files. This is integrity, not authenticity: whoever can write the files can write
digests that fit.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.run.files import read_bytes

FOLDER = "digests"
SINCE = 2  # the first version of a run whose files have digests
_LINE = re.compile(r"([0-9a-f]{64})  ([\w./-]+)")


def digest(content: bytes) -> str:
    """Return the SHA-256 of some bytes, as 64 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def written(digests: Mapping[str, str]) -> str:
    """Return digests by file name as ``sha256sum`` prints them, one line for each file."""
    return "".join(f"{digests[name]}  {name}\n" for name in sorted(digests))


def read(text: str) -> dict[str, str]:
    """Return digests by file name from such lines; ValueError for a line that is no such line."""
    digests = {}
    for line in text.splitlines():
        parts = _LINE.fullmatch(line)
        if parts is None:
            raise ValueError(f"{line[:80]!r} is not a line of SHA-256 and name")
        digests[parts[2]] = parts[1]
    return digests


def of_manifest(manifest: Mapping[str, Any]) -> str:
    """Return the digest of a manifest's fields, the one that holds the digest apart."""
    others = {name: value for name, value in manifest.items() if name != "digest"}
    return digest(json.dumps(others, sort_keys=True, separators=(",", ":")).encode())


def signed(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest with the digest of its other fields."""
    return {**manifest, "digest": of_manifest(manifest)}


def of_folder(path: Path) -> str:
    """Return one digest of all digest files of a run, and so of all its data; OSError if one is no file."""
    files = sorted((path / FOLDER).glob("*.sha256"))
    return digest(b"".join(file.name.encode() + read_bytes(file) for file in files))
