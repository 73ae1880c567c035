"""record: a typical request of twelve named fields; larger ones are a list of them."""

import random

EXAMPLE_BYTES = 245
WORDS = ("amber", "birch", "cobalt", "delta", "ember", "fjord", "garnet", "harbor", "indigo", "juniper")


def make(payload_bytes: int, chance: random.Random) -> dict[str, object]:
    """Return ``{"records": [...]}`` with as many records as come nearest to this size as JSON, at least one."""
    return {"records": [_record(chance) for _ in range(max(1, round(payload_bytes / EXAMPLE_BYTES)))]}


def _record(chance: random.Random) -> dict[str, object]:
    return {
        "id": chance.randrange(1_000_000, 2_000_000_000),
        "user": f"{chance.choice(WORDS)}-{chance.randrange(1000, 9999)}",
        "session": f"{chance.getrandbits(64):016x}",
        "region": chance.choice(("eu-north", "us-east1", "ap-south")),
        "created": round(1.7e9 + chance.random() * 1e8, 3),
        "amount": round(chance.uniform(1, 10_000), 2),
        "score": chance.random(),
        "retries": chance.randrange(5),
        "priority": chance.randrange(100),
        "active": chance.random() < 0.5,
        "label": f"{chance.choice(WORDS)} {chance.choice(WORDS)}",
        "shards": [chance.randrange(1024) for _ in range(4)],
    }
