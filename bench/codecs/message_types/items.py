"""items: an order of N items; the reply carries each item's total, so the server has to decode the request."""

import random
from typing import Any

EXAMPLE_BYTES = 92
NAMES = ("bolt", "bracket", "cable", "clamp", "flange", "gasket", "hinge", "lever", "relay", "valve")
TAGS = ("blue", "heavy", "new", "red", "sale", "small", "spare", "steel")


def make(payload_bytes: int, chance: random.Random) -> dict[str, object]:
    """Return ``{"m": factor, "items": [...]}`` with as many items as come nearest to this size as JSON, at least one.

    Prices are whole cents, so that totals are equal in every codec.
    """
    count = max(1, round(payload_bytes / EXAMPLE_BYTES))
    return {"m": chance.randrange(2, 10), "items": [_item(chance) for _ in range(count)]}


def _item(chance: random.Random) -> dict[str, object]:
    return {
        "id": chance.randrange(100_000, 1_000_000),
        "name": f"{chance.choice(NAMES)} {chance.randrange(100, 1000)}",
        "price": chance.randrange(100, 100_000),
        "quantity": chance.randrange(1, 50),
        "tags": chance.sample(TAGS, 3),
    }


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Set each item's ``total``, price x quantity x m, and return the message."""
    factor = request["m"]
    for item in request["items"]:
        item["total"] = item["price"] * item["quantity"] * factor
    return request


def answer_typed(request: Any) -> Any:
    """Do what ``answer`` does, for objects with attributes."""
    factor = request.m
    for item in request.items:
        item.total = item.price * item.quantity * factor
    return request
