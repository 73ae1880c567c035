"""The page of explore.ipynb: choose, run, look, change one thing, run again; and the same where nobody can click."""

from bench.apps.exploring.opening import page

__all__ = ["page"]
