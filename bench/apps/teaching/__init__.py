"""The functions for teaching: predictions before a measurement, exercises after it, copies for students.

Nothing outside this folder imports it; notebooks use it by ``bench.predict``, ``bench.require``, ``bench.score`` and
``bench.check``.
"""
