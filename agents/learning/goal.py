"""Goals: what the hands of training are played for.

Enters: games of one hand each. Leaves: what each side has of its hand so far, in points; its changes are the rewards.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from agents.learning.config import Match
from agents.matches import MatchTable
from agents.registry import make
from malilla_env import GameBatch, RuleSet
from malilla_env.rewards import hand_so_far


class Goal(Protocol):
    def so_far(self, games: GameBatch) -> NDArray[np.float32]:
        """float32 [N, T]: what each side has of its hand, in points."""


class Points:
    """The points of the hand, trick by trick; where hands are bid for, what they score."""

    def so_far(self, games: GameBatch) -> NDArray[np.float32]:
        return hand_so_far(games.rules, games.state)[:, : games.rules.num_teams].astype(np.float32)


class MatchChance:
    """The chance to win the match, known once the hand is over; a match counts as `points`."""

    def __init__(self, table: MatchTable, points: float) -> None:
        self.table, self.points = table, points

    def so_far(self, games: GameBatch) -> NDArray[np.float32]:
        worth, over = np.zeros((len(games), 2), np.float32), np.flatnonzero(games.done)
        worth[over] = self.points * (self.table.chance_after(games.state[over]) - 0.5)
        return worth


def new_goal(config: Match, rules: RuleSet, seed: int) -> Goal:
    """What a config plays for; ValueError for an unknown player, or a game that has no match table."""
    if not config.player:
        return Points()
    return MatchChance(MatchTable.of(rules, make(config.player, rules), seed), config.points)
