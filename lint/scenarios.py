"""Each file of ``papermill_params/`` says what it shows, and sets parameters that its notebook has.

A notebook has those of its cell, and those that the table of ``docs/using.md`` gives it.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath

import yaml

from lint.notebooks import listed_parameters, parameters
from lint.tree import Finding, Tree


def check(tree: Tree) -> Iterator[Finding]:
    """Yield each scenario without a first line, without a notebook, or with a parameter that its notebook lacks."""
    for name, text in tree.items():
        if PurePosixPath(name).parts[0] == "papermill_params":
            stem = PurePosixPath(name).name.split(".")[0]
            notebook = tree.get(f"notebooks/{stem}.ipynb")
            if not text.startswith("# "):
                yield Finding(name, 1, "it does not say what it shows; write # and a sentence into its first line")
            if notebook is None:
                yield Finding(name, 1, f"there is no notebook {stem}; name the file <notebook>.<scenario>.yaml")
                continue
            for parameter in sorted(
                (yaml.safe_load(text) or {}).keys() - parameters(notebook).keys() - listed_parameters(tree, stem)
            ):
                yield Finding(name, 1, f"{parameter} is no parameter of {stem}.ipynb; set one that it has")
