"""The page of explore.ipynb: choose, run, look, change one thing, run again; or run it by papermill."""

from bench.apps.exploring.opening import page

__all__ = ["page"]
