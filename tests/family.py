"""The games that tests of the whole family go through: every preset, and options that no preset has.

In: nothing. Out: GAMES by name, and batches of them after some random play.
"""

from __future__ import annotations

import numpy as np
import pytest

from malilla_env import GameBatch, RuleSet, ruleset
from malilla_env.rules import PRESETS

OPTIONS = {
    "malilla, all of 1.6": ruleset("malilla-zone", albur=5, undertrump="forbidden"),
    "malilla, no trump": ruleset("malilla", trump="none", protected="off", dealer_bonus=False),
    "manille, house rules": ruleset("manille", climb_over_partner=False, packets=(4, 4), last_trick_bonus=1, target=50),
    "manille, the loser pays": ruleset("manille", loser_pays=True, redeal_level=True, target=50),
    "manille-encheres, the loser pays": ruleset("manille-encheres", loser_pays=True, last_trick_bonus=1),
    "manille-3, no trump": ruleset("manille-3", trump="none", capote_wins=True),
    "four alone": ruleset("malilla", teams=(0, 1, 2, 3), neutral=17),
    "eleven ranks": RuleSet(  # 44 card ids, of which 32 are in play, with every option that partners can have
        name="eleven",
        rank_names="234567JQKA9",
        rank_points=(0,) * 6 + (1, 2, 3, 4, 5),
        removed=tuple(rank + suit for rank in "234" for suit in "shdc"),
        neutral=34,
        redeal=5,
        albur=5,
        talk=True,
    ),
}
GAMES: dict[str, RuleSet] = {**PRESETS, **OPTIONS}
every_game = pytest.mark.parametrize("rules", GAMES.values(), ids=GAMES)


def after(rules: RuleSet, plies: int, lanes: int = 40, seed: int = 31, **settings: object) -> GameBatch:
    """Games after so many random actions."""
    games = GameBatch(rules, lanes, seed=seed, **settings)
    for _ in range(plies):
        games.step(games.random_legal(games.decision_keys()))
    return games


def an_illegal_action(games: GameBatch, lane: int = 0) -> int:
    """The lowest action id that the seat on turn may not take."""
    return int(np.flatnonzero(~games.legal_actions()[lane])[0])
