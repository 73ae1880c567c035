"""Zips of strangers, read into memory: bounds are checked before anything is unpacked, and nothing touches the disk.

What is not wanted is named by what is: the members of a submission have two names each run, and no others are read.
"""

import io
import re
import stat
import zipfile
from pathlib import Path

from bench.errors import DataError

MOST_BYTES = 10_000_000  # of a zip: what can be mailed
MOST_MEMBERS, MOST_MEMBER_BYTES, MOST_UNPACKED_BYTES = 32, 2_000_000, 30_000_000
MOST_RATIO = 100  # unpacked to packed; tables and manifests reach ten
FIXED_TIME = (1980, 1, 1, 0, 0, 0)  # the same runs give the same bytes

RUN = r"[0-9]{8}T[0-9]{6}\.[0-9]{3}Z-[a-z_]{1,40}-[0-9a-f]{8}(-[0-9]{1,3})?"
MEMBER = re.compile(rf"(?P<run>{RUN})/(manifest\.json|starts\.parquet)")
_CENTRAL = b"PK\x01\x02"  # before each entry of a zip's list of members


class RefusedError(DataError):
    """A submission, or a part of it, cannot be used; the text is the reason alone."""


def packed(members: dict[str, bytes]) -> bytes:
    """Return a zip of these members, the same bytes whenever and wherever it is made."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, FIXED_TIME)
            info.create_system, info.external_attr = 3, (stat.S_IFREG | 0o644) << 16
            archive.writestr(info, members[name], zipfile.ZIP_DEFLATED, 9)
    return buffer.getvalue()


def content(file: Path) -> bytes:
    """Return the bytes of a plain file of bounded size; a link, a pipe or a device is not opened."""
    if not stat.S_ISREG(file.lstat().st_mode) or file.lstat().st_size > MOST_BYTES:
        raise RefusedError(f"it is not a plain file, or larger than {MOST_BYTES:,} B")
    with file.open("rb") as opened:
        return opened.read(MOST_BYTES)


def unpacked(data: bytes) -> dict[str, bytes]:
    """Return the members of a zip by name; RefusedError, or what ``zipfile`` raises, says what is wrong with it."""
    if data.count(_CENTRAL) > MOST_MEMBERS:  # before Python makes an object of each
        raise RefusedError(f"it has more than {MOST_MEMBERS} members")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        names = {info.orig_filename for info in members}
        if len(names) < max(1, len(members)):
            raise RefusedError("it is empty, or two of its members have the same name")
        for info in members:
            if wrong := _wrong(info):
                raise RefusedError(f"its member {plain(info.orig_filename)} {wrong}")
        if sum(info.file_size for info in members) > MOST_UNPACKED_BYTES:
            raise RefusedError(f"it unpacks to more than {MOST_UNPACKED_BYTES:,} B")
        return {info.orig_filename: _read(archive, info) for info in members}


def _wrong(info: zipfile.ZipInfo) -> str:
    """Return what is wrong with a member by what the zip's list says of it, or nothing."""
    name, kind = info.orig_filename, stat.S_IFMT(info.external_attr >> 16)
    found = {
        "would leave the folder": name.startswith("/") or re.search(r"[\\:]|(^|/)\.\.?(/|$)", name),
        "is a link, a folder or a special file": kind not in (0, stat.S_IFREG),
        "is nothing that a submission holds": not MEMBER.fullmatch(name),
        "is encrypted": info.flag_bits & 0x1,
        "is packed in an unknown way": info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED),
        f"unpacks to more than {MOST_MEMBER_BYTES:,} B": info.file_size > MOST_MEMBER_BYTES,
        f"unpacks to more than {MOST_RATIO} times its size": info.file_size > MOST_RATIO * max(info.compress_size, 1),
    }
    return next((text for text, bad in found.items() if bad), "")


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return a member; no more is unpacked than the list promised, whatever the packed bytes hold."""
    with archive.open(info) as member:
        data = member.read(info.file_size + 1)
    if len(data) != info.file_size:
        raise RefusedError(f"its member {plain(info.orig_filename)} is not as long as the zip says")
    return data


def plain(text: object, most: int = 80) -> str:
    """Return a stranger's text as it may be shown anywhere: one short line of letters, digits and harmless signs."""
    return re.sub(r"[^\w .,:;@()/=+'-]", "?", str(text), flags=re.ASCII)[:most]
