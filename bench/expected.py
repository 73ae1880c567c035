"""The largest reply that the calls of this process are to get, for libraries that take a limit when they connect.

Imported by clients: keep this module light.
"""

_most: list[int] = []


def expect(most_bytes: int) -> None:
    """Let clients that connect from now on refuse replies of more bytes."""
    _most[:] = [most_bytes]


def most_reply_bytes() -> int | None:
    """Return how many bytes a reply may have, with room for its framing; None if that is not known."""
    return _most[0] if _most else None
