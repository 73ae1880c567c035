"""The functions for teaching: predictions before a measurement, exercises after it, copies for students.

Notebooks use it by ``bench.predict``, ``bench.score`` and ``bench.check``; ``bench.measure`` waits for predictions.
"""
