"""What one start measured, on its way from the stage to the tables."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.int64]


@dataclass
class Measured:
    """What one start measured; all times in ns since *go*.

    ledger: the columns of the ledger that a start knows. calls: for each caller send and receive times,
    shape (2, calls). marks: for each end of a stream its role, times and message counts. load: rows of
    ``cpu.LoadMeter``.
    """

    ledger: dict[str, Any]
    calls: list[Times] = field(default_factory=list)
    marks: list[tuple[str, Times, Times]] = field(default_factory=list)
    load: list[tuple[str, int, float | None, int]] = field(default_factory=list)
