"""Rollouts: how a search plays a hand on to its end beyond its tree.

Enters: one row of STATE, the rule set's TABLE record, a random word. Leaves: an action of the seat on turn. The
policies look at that seat's own hand and at what lies open, as a player would.
"""

from __future__ import annotations

import numpy as np

from malilla_env.calls import best_call
from malilla_env.compiled import Array, Int, Row, Word, inline, jit, popcount, select
from malilla_env.deals import below
from malilla_env.heuristic import choose
from malilla_env.phases import PASS
from malilla_env.state import TALK, ZERO
from malilla_env.view import fill_position

ROLLOUTS = ("random", "heuristic")
HEURISTIC = 1


@jit
def call_of(row: Row, rules: Row, view: Row) -> Int:
    """What the seat on turn does in a phase without cards: what the rule player does there, but statements are kept.

    Calls tell of the hand that they come from, so a seat must make them as one who sees that hand.
    """
    if row["phase"] == TALK:
        return 4 * np.int64(rules["ranks"]) + PASS
    fill_position(row, rules, row["seat"], view)
    return best_call(view, rules)


@inline
def random_action(row: Row, rules: Row, word: Word, view: Row) -> Int:
    """Any legal card, uniformly; calls as above."""
    if row["legal"][0] == ZERO:
        return call_of(row, rules, view)
    return select(row["legal"][0], below(word, popcount(row["legal"][0])))


@jit
def heuristic_action(row: Row, rules: Row, view: Row, weights: Array, odds: Row) -> Int:
    """The card of the rule player (`malilla_env.heuristic`), whose View is written to `view`; calls as above."""
    if row["legal"][0] == ZERO:
        return call_of(row, rules, view)
    fill_position(row, rules, row["seat"], view)
    return choose(view, rules, weights, odds)
