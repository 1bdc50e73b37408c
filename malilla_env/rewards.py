"""Rewards: what a step of a game pays each side, in the three currencies that the environments offer.

Enters: games that have just been stepped. Leaves: a number for each side, zero-sum over the sides. Every seat of a side
is paid what its side is paid. "margin" is in units of the neutral half, "score" in units of the target.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from malilla_env.batch import GameBatch
from malilla_env.rules import RuleSet
from malilla_env.state import NONE

REWARDS = ("margin", "score", "match")


def check_reward(kind: str) -> str:
    """The kind itself; ValueError if there is no such reward."""
    if kind not in REWARDS:
        raise ValueError(f"reward {kind!r} must be one of {', '.join(REWARDS)}")
    return kind


def step_rewards(games: GameBatch, kind: str) -> NDArray[np.float64]:
    """float64 [B, T]: what the last step paid each side, where it ended a hand or was an illegal play; else 0.

    Ask once after each step: a lane that was over before the step repeats what its illegal play cost.
    """
    currency = {"margin": _margin, "score": _score, "match": _match}[check_reward(kind)]
    paid = np.where(games.state["hand_over"][:, None], currency(games.rules, games.state), 0.0)
    lanes = np.flatnonzero(games.state["reneged"] != NONE)
    if len(lanes):
        offenders = np.array(games.rules.teams)[games.state["reneged"][lanes]]
        paid[lanes] = -_win_or_lose(games.rules, offenders)  # RULES 1.4.1: the whole side pays
    return paid


def hand_margin(games: GameBatch) -> NDArray[np.float64]:
    """float64 [B, T]: the margin of each side in the hand in play, by the tricks finished so far."""
    return _above_mean(games.rules, hand_so_far(games.rules, games.state)) / games.rules.neutral


def hand_result(rules: RuleSet, state: NDArray[np.void]) -> NDArray[np.int16]:
    """int16 [B, 4], by side: what the hand that the last step ended is compared by.

    That is the points taken; where hands are bid for, the match points scored, since points say nothing of the bid.
    """
    result: NDArray[np.int16] = state["last_score_change" if rules.auction else "last_points"]
    return result


def hand_so_far(rules: RuleSet, state: NDArray[np.void]) -> NDArray[np.int16]:
    """int16 [B, 4], by side: what is certain of `hand_result` in the hand in play, or when a hand's episode ends."""
    if rules.auction:
        return np.where(state["done"][:, None], state["last_score_change"], np.int16(0))
    so_far: NDArray[np.int16] = state["hand_points"]
    return so_far


def _margin(rules: RuleSet, state: NDArray[np.void]) -> NDArray[np.float64]:
    return _above_mean(rules, hand_result(rules, state)) / rules.neutral


def _score(rules: RuleSet, state: NDArray[np.void]) -> NDArray[np.float64]:
    return _above_mean(rules, state["last_score_change"]) / rules.target


def _match(rules: RuleSet, state: NDArray[np.void]) -> NDArray[np.float64]:
    """Who won; of a match, times the zapato multiplier (RULES 1.5.6)."""
    paid = np.where((state["winner"] == NONE)[:, None], 0.0, _win_or_lose(rules, state["winner"]))
    paid[state["zapato"] & ~state["one_hand"]] *= rules.zapato_multiplier
    return paid


def _above_mean(rules: RuleSet, values: NDArray[np.int16]) -> NDArray[np.float64]:
    """[B, T]: what each side has ([B, 4], padded) above the mean of the sides."""
    by_side = values[:, : rules.num_teams]
    above: NDArray[np.float64] = by_side - by_side.sum(axis=1, keepdims=True) / rules.num_teams
    return above


def _win_or_lose(rules: RuleSet, winners: NDArray[np.int8]) -> NDArray[np.float64]:
    """float64 [n, T]: 1 for the winner, -1 / (T - 1) for each other side."""
    won = np.arange(rules.num_teams) == winners[:, None]
    return np.where(won, 1.0, -1.0 / (rules.num_teams - 1))
