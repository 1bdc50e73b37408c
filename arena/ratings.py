"""Ratings: one number a player, fitted to the margins of all pairs of players at once; and what no number can say.

Enters: for each two players the margins of their duplicate pairs, all on the same deals. Leaves: ratings in points a
hand, the anchor's fixed at 0, and notes about cycles. Nothing is updated game by game, so order of play and number of
rounds cannot inflate a rating.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from arena.stats import LEVEL, Estimate, estimate

Margins = Mapping[tuple[str, str], NDArray[np.float64]]  # (a, b) -> a's margins [N], for every two players


def anchor(names: Sequence[str]) -> str:
    """Whose rating is 0: random if it plays, else the first."""
    return "random" if "random" in names else names[0]


def ratings(names: Sequence[str], margins: Margins) -> dict[str, Estimate]:
    """Each player's rating: points a hand above the anchor. It is a mean over deals, so its interval is theirs."""
    return {name: estimate(values) for name, values in fitted(names, margins).items()}


def fitted(names: Sequence[str], margins: Margins) -> dict[str, NDArray[np.float64]]:
    """Each player's rating [N] on each deal: those whose differences come closest to the margins (least squares).

    Where every two players have met, that is a player's mean margin, against itself (0) included, less the anchor's.
    """
    deals = len(next(iter(margins.values())))
    means = {name: np.zeros(deals) for name in names}
    for (a, b), values in margins.items():
        means[a] += values / len(names)
        means[b] -= values / len(names)
    base = means[anchor(names)].copy()
    return {name: values - base for name, values in means.items()}


def notes(names: Sequence[str], margins: Margins) -> list[str]:
    """What the ratings hide, in sentences: a cycle of players, and the margin that the ratings miss most."""
    said = []
    cycle = beating_cycle(names, margins)
    if cycle:
        said.append(
            f"cycle: {' beats '.join([*cycle, cycle[0]])} (each interval above 0): no ratings can rank them; "
            "look at the margins"
        )
    missed = worst_misfit(names, margins)
    if missed:
        (a, b), miss = missed
        said.append(
            f"the margin of {a} over {b} is {miss.mean:+.2f} points a hand off the difference of their ratings "
            f"({miss.low:+.2f} to {miss.high:+.2f}): the margins between these players do not add up"
        )
    return said


def beating_cycle(names: Sequence[str], margins: Margins) -> list[str]:
    """A shortest cycle of players each of whom beats the next with the interval above 0; empty if there is none."""
    beats: dict[str, list[str]] = {name: [] for name in names}
    for (a, b), values in margins.items():
        sign = estimate(values).sign
        if sign:
            beats[a if sign > 0 else b].append(b if sign > 0 else a)
    cycles = [path for name in names if (path := _way_back(name, beats))]
    return min(cycles, key=len, default=[])


def _way_back(start: str, beats: Mapping[str, list[str]]) -> list[str]:
    """A shortest path from a player along its wins that comes back to it."""
    paths, seen = [[start]], {start}
    while paths:
        path = paths.pop(0)
        for name in beats[path[-1]]:
            if name == start:
                return path
            if name not in seen:
                seen.add(name)
                paths.append([*path, name])
    return []


def worst_misfit(names: Sequence[str], margins: Margins) -> tuple[tuple[str, str], Estimate] | None:
    """The two players whose margin the ratings miss by most, if the miss is beyond chance (Bonferroni over all)."""
    rated = fitted(names, margins)
    level = 1 - (1 - LEVEL) / len(margins)
    misses = [((a, b), estimate(values - (rated[a] - rated[b]), level)) for (a, b), values in margins.items()]
    pair, miss = max(misses, key=lambda entry: abs(entry[1].mean))
    rounding = 1e-9
    return (pair, miss) if miss.sign and abs(miss.mean) > rounding else None
