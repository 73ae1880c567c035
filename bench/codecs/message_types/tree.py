"""tree: nested documents of depth 4, with optional fields and text beyond ASCII."""

import random

EXAMPLE_BYTES = 4700
TITLES = ("Übersicht", "Résumé", "naïve plan", "東京 report", "Ελληνικά", "smörgås", "plain title", "emoji 🚲")
CHILDREN = (4, 4, 4)  # of a node on each level: 85 nodes


def make(payload_bytes: int, chance: random.Random) -> dict[str, object]:
    """Return ``{"trees": [...]}``; the last of these trees is cut where the size, as JSON, comes nearest."""
    examples, rest = divmod(payload_bytes, EXAMPLE_BYTES)
    trees = [_node(chance, CHILDREN) for _ in range(examples)]
    nodes = round(85 * rest / EXAMPLE_BYTES)
    if nodes or not trees:
        trees.append(_cut(chance, max(1, nodes)))
    return {"trees": trees}


def _node(chance: random.Random, below: tuple[int, ...]) -> dict[str, object]:
    children = [_node(chance, below[1:]) for _ in range(below[0])] if below else []
    return _described(chance, children)


def _cut(chance: random.Random, nodes: int) -> dict[str, object]:
    """Return a tree of this many nodes: as few levels as that takes, four children each."""
    children: list[dict[str, object]] = []
    rest = nodes - 1
    for index in range(min(4, rest)):
        children.append(_cut(chance, (rest + 3 - index) // 4))
    return _described(chance, children)


def _described(chance: random.Random, children: list[dict[str, object]]) -> dict[str, object]:
    """Return a node; what is optional is left out of about half of the nodes."""
    node: dict[str, object] = {"title": chance.choice(TITLES), "version": chance.randrange(1, 100)}
    if chance.random() < 0.5:
        node["weight"] = round(chance.random(), 4)
    if chance.random() < 0.5:
        node["open"] = chance.random() < 0.5
    if children:
        node["children"] = children
    return node
