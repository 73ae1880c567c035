"""What the wires of brokers have in common: they receive the payload of a reply, and no reply ends a connection."""


class Wire:
    """The part of a conversation that is the same for all of them."""

    last = False

    def known(self, place: int) -> None:
        """Do nothing: replies are recognized by their payload."""

    def body(self, response: bytes, payload: bytes) -> bytes:
        """Return the payload of a reply."""
        return response
