"""Roundtrip: measure remote procedure calls, and say how far the numbers can be trusted."""

__version__ = "0.1.0"
