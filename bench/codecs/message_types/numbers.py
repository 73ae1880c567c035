"""numbers: an array of float64; its size is counted as 8 bytes for each number."""

import random

EXAMPLE_BYTES = 8


def make(payload_bytes: int, chance: random.Random) -> dict[str, object]:
    """Return ``{"numbers": [...]}`` with ``payload_bytes / 8`` numbers, at least one."""
    return {"numbers": [chance.gauss(0, 1) for _ in range(max(1, payload_bytes // 8))]}
