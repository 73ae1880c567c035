"""The exercises of the notebooks, read from ``course.yaml``."""

from pathlib import Path

import yaml

from bench.apps.teaching.exercises import Exercise

_WRITTEN = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
EXERCISES = tuple(Exercise(name, **fields) for name, fields in _WRITTEN.items())
