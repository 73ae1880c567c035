"""Length-prefixed messages that come in pieces of any size: whole ones are taken out in order."""

import struct

_LENGTH = struct.Struct("!I")


class Buffer:
    """What came of a stream and was not taken out of it yet."""

    def __init__(self, came: bytes = b"") -> None:
        self._data = bytearray(came)
        self._begin = 0  # of the first message that was not taken out

    def add(self, data: bytes) -> None:
        """Append what has come."""
        if self._begin:
            del self._data[: self._begin]
            self._begin = 0
        self._data += data

    def take(self) -> bytes | None:
        """Return the first message that is there as a whole and remove it; None if there is none."""
        begin = self._begin + _LENGTH.size
        if len(self._data) < begin:
            return None
        end = begin + _LENGTH.unpack_from(self._data, self._begin)[0]
        if len(self._data) < end:
            return None
        self._begin = end
        return bytes(memoryview(self._data)[begin:end])
