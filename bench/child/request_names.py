"""Which of a service's requests each call made: noted off the clock, by the payload that its reply is compared with."""

from array import array
from typing import Any


class NotingPayload(bytes):
    """A payload that notes the request which each expected reply answers.

    places: the place of each request's name. noted: the places of all answered calls, in their order.
    """

    places: dict[str, int]
    noted: "array[int]"

    def __ne__(self, reply: Any) -> bool:
        if reply != self:  # a reply of a service compares by itself
            return True
        self.noted.append(self.places[reply.request.name])
        return False

    __hash__ = bytes.__hash__


def noting(payloads: list[Any], names: tuple[str, ...]) -> list[Any]:
    """Return the payloads of one caller, which note together; as they are where there are no names."""
    if not names:
        return payloads
    places, noted = {name: place for place, name in enumerate(names)}, array("q")
    made = [NotingPayload(payload) for payload in payloads]
    for payload in made:
        payload.places, payload.noted = places, noted
    return made


def noted_by(payloads: list[Any], calls: int) -> list[Any]:
    """Return the column of places of a caller's last calls, if its payloads note them."""
    if not isinstance(payloads[0], NotingPayload):
        return []
    noted = payloads[0].noted
    return [noted[len(noted) - calls :]]
