"""Intervals from pair means.

Enters: one number a duplicate pair. Leaves: their mean and its 95% interval. The games of a pair share a deal and are
not independent of each other; pairs are, so they are what is counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit  # Student's t quantile; scipy.stats takes a second to import

LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A mean and its confidence interval."""

    mean: float
    low: float
    high: float

    @property
    def ci(self) -> list[float]:
        return [self.low, self.high]

    @property
    def sign(self) -> int:
        """1 or -1 where the whole interval lies above or below 0, else 0."""
        return int(self.low > 0) - int(self.high < 0)


def estimate(values: NDArray[np.float64], level: float = LEVEL) -> Estimate:
    """The mean of independent values [N] and Student's t interval for it; ValueError for fewer than two."""
    if len(values) < 2:
        raise ValueError(f"an interval needs 2 or more duplicate pairs, not {len(values)}")
    mean = float(values.mean())
    error = float(values.std(ddof=1)) / len(values) ** 0.5
    reach = float(stdtrit(len(values) - 1, (1 + level) / 2)) * error
    return Estimate(mean, mean - reach, mean + reach)
