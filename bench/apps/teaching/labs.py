"""The labs that this project plans, read from ``labs.yaml``: their notebooks, and what earns points."""

import re
from dataclasses import dataclass
from pathlib import Path

import yaml

BY_A_PERSON = re.compile(r" (\d+|diagnosis)$")  # ends the name of what a person grades
BOX, FILE = "mystery box", "file"
OPEN, CLOSED = 4, 1  # points


@dataclass(frozen=True)
class Lab:
    """A lab: the title of its part of the handout, its notebooks or scenarios of them, and what earns points."""

    title: str
    notebooks: tuple[str, ...]
    points: tuple[str, ...]

    @property
    def counted(self) -> list[str]:
        """What ``grade`` counts, one point each."""
        return [name for name in self.points if not BY_A_PERSON.search(name)]

    @property
    def by_a_person(self) -> list[str]:
        """What a person grades, four points each."""
        return [name for name in self.points if BY_A_PERSON.search(name)]

    def exercises(self, notebook: str) -> list[int]:
        """Return the numbers of a notebook's open exercises that earn points."""
        return [int(name.split()[1]) for name in self.points if re.fullmatch(rf"{notebook} \d+", name)]

    @property
    def maximum(self) -> int:
        """The points of a perfect hand-in."""
        return CLOSED * len(self.counted) + OPEN * len(self.by_a_person)


LABS = {
    name: Lab(lab["title"], tuple(lab["notebooks"]), tuple(lab["points"]))
    for name, lab in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8")).items()
}
