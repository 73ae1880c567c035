"""The words in which an experiment is written: sweep, contrast, level, claim, table, model, and panels of figures."""

from bench.grammar.choose import alike, chosen, each, fewest, most
from bench.grammar.claim import Claim
from bench.grammar.contrast import Contrast, Ratio
from bench.grammar.estimand import Estimand
from bench.grammar.estimate import Estimate, of_interval, of_spread
from bench.grammar.level import Level
from bench.grammar.model import Curve, Model
from bench.grammar.panels import Cdf, CpuBars, Lines, Panel, Ratios, Rows, way_of
from bench.grammar.quantities import CPU, MESSAGES, P50, RATE, over_starts, per_start
from bench.grammar.sweep import (
    Bytes,
    Connections,
    Count,
    Counts,
    Engine,
    Flag,
    ManyBytes,
    Options,
    OwnEngine,
    Rate,
    Rates,
    System,
    Systems,
    as_sweep,
)
from bench.grammar.table import Table, ratio_with_ends, with_ends

__all__ = [
    "CPU",
    "MESSAGES",
    "P50",
    "RATE",
    "Bytes",
    "Cdf",
    "Claim",
    "Connections",
    "Contrast",
    "Count",
    "Counts",
    "CpuBars",
    "Curve",
    "Engine",
    "Estimand",
    "Estimate",
    "Flag",
    "Level",
    "Lines",
    "ManyBytes",
    "Model",
    "Options",
    "OwnEngine",
    "Panel",
    "Rate",
    "Rates",
    "Ratio",
    "Ratios",
    "Rows",
    "System",
    "Systems",
    "Table",
    "alike",
    "as_sweep",
    "chosen",
    "each",
    "fewest",
    "most",
    "of_interval",
    "of_spread",
    "over_starts",
    "per_start",
    "ratio_with_ends",
    "way_of",
    "with_ends",
]
