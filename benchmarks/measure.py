"""Timing: what runs, for how long, in what order; and the figures that come of it.

Enters: contestants, each a function that does a piece of work and says how many units it did. Leaves: Comparisons,
whose ratios pair runs of one round, so that a noisy machine slows both. Time is the processor time of this process: the
work is single-threaded, and what other processes take of the core is not its cost. Work of several threads or processes
comes as a Stretch, which keeps its own time. Knows nothing of games.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from statistics import median

# Does a piece of work; returns how many units (decisions, steps) it did.
Work = Callable[[], int]
# Works for about so many seconds; returns how many units it did, and in what time.
Stretch = Callable[[float], tuple[int, float]]

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "TORCH_NUM_THREADS")


@dataclass(frozen=True)
class Effort:
    """`repeats` rounds of `seconds` for each contestant; `batch` games stepped together.

    Of a solver, `deals` are solved.
    """

    seconds: float = 1.0
    repeats: int = 7
    batch: int = 4096
    deals: int = 500


@dataclass(frozen=True)
class Comparison:
    """One figure of ours beside one of a peer's: `ours[i]` and `peer[i]` were measured in the same round.

    A figure that nothing can be set beside has no peer: an empty name, no runs, no ratio.
    """

    name: str
    unit: str
    ours: list[float]
    peer_name: str
    peer: list[float]
    at_least: float | None = None  # ours, in units
    at_most: float | None = None
    ratio_at_least: float | None = None  # ours / peer
    ratios: list[float] = field(init=False)

    def __post_init__(self) -> None:
        pairs = zip(self.ours, self.peer, strict=True) if self.peer else ()
        object.__setattr__(self, "ratios", [ours / peer for ours, peer in pairs])

    @property
    def met(self) -> bool | None:
        """Whether the medians reach every target; None if there is none."""
        figure = median(self.ours)
        checks = [
            figure >= self.at_least if self.at_least is not None else None,
            figure <= self.at_most if self.at_most is not None else None,
            median(self.ratios) >= self.ratio_at_least if self.ratio_at_least is not None else None,
        ]
        stated = [check for check in checks if check is not None]
        return all(stated) if stated else None


def keep_to_one_core() -> None:
    """Bind this process, and what it starts, to one core and one thread; call it before NumPy is imported."""
    os.environ.update(dict.fromkeys(THREADS, "1"))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def usable_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spend(work: Work, clock: Callable[[], float], seconds: float) -> tuple[int, float]:
    """As many whole pieces of work as fill `seconds` of a clock: the units done and the seconds spent."""
    units, start = 0, clock()
    while True:
        units += work()
        spent = clock() - start
        if spent >= seconds:
            return units, spent


def race(contestants: Mapping[str, Work], effort: Effort) -> dict[str, list[float]]:
    """`take_turns` of single-threaded work: units a second of processor time."""
    return take_turns({name: partial(spend, work, time.process_time) for name, work in contestants.items()}, effort)


def take_turns(contestants: Mapping[str, Stretch], effort: Effort) -> dict[str, list[float]]:
    """Rates of each contestant in each round; they take turns, and a short run of each is not counted."""
    for stretch in contestants.values():
        stretch(effort.seconds / 4)
    rates: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(effort.repeats):
        for name, stretch in contestants.items():
            units, spent = stretch(effort.seconds)
            rates[name].append(units / spent)
    return rates
