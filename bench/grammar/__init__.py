"""The words in which an experiment is written: sweep, contrast, level, claim, table, model, and panels of figures."""

from bench.grammar.choose import alike, chosen, each, fewest, most
from bench.grammar.claim import Claim
from bench.grammar.contrast import Contrast, Ratio
from bench.grammar.estimand import Estimand, Estimate, Level, of_interval, of_spread
from bench.grammar.model import Curve, Model
from bench.grammar.panels import Cdf, CpuBars, Lines, Panel, Ratios, Rows, way_of
from bench.grammar.quantities import CPU, MESSAGES, RATE, Quantity, over_starts, per_start
from bench.grammar.sweep import (
    Absent,
    Bytes,
    Count,
    ManyBytes,
    System,
    Systems,
    as_sweep,
    distinct,
)
from bench.grammar.table import Table, with_ends
from bench.run.frames import P50
