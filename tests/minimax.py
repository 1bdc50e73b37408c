"""Plain minimax over the engine's own steps: no pruning, no table, nothing of the solver. What the solver is held to.

In: rows of STATE. Out: what the side on turn takes from there with best play, for each legal card. A hand of five cards
each is about as much as it can look through.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from malilla_env import RuleSet, engine
from malilla_env.compiled import Array, Int, Row, Word, jit, lowest
from malilla_env.state import NONE, ONE, STATE, ZERO

DEPTH = 32  # rows for the plies of an ending at which there is a choice


@jit
def step(row: Row, rules: Row, action: Int) -> None:
    engine.step(row, rules, action)


@jit
def choices(row: Row, rules: Row) -> Word:
    """The cards that the seat on turn may play, once everybody has said nothing, and what is forced was played."""
    while not row["hand_over"]:
        cards = row["legal"][0]
        if cards == ZERO:
            step(row, rules, 4 * np.int64(rules["ranks"]))
        elif cards & (cards - ONE) != ZERO:
            return cards
        else:
            step(row, rules, lowest(cards))
    return ZERO


@jit
def enter(row: Row, rules: Row) -> tuple[Word, Int]:
    """The cards to try, and what side 0 has before any was: the worst for who chooses; at the end, what it took."""
    cards = choices(row, rules)
    if cards == ZERO:
        return cards, np.int64(row["last_points"][0])
    return cards, np.int64(-1 if rules["team"][row["seat"]] == 0 else 1 << 20)


@jit
def taken(rows: Array, table: Array, untried: Array, best: Array) -> Int:
    """What side 0 has when the hand of rows[0] is over; a loop, for what calls itself is not cached soundly."""
    rules, ply = table[0], 0
    untried[0], best[0] = enter(rows[0], rules)
    while True:
        if untried[ply] != ZERO:
            card = lowest(untried[ply])
            untried[ply] &= untried[ply] - ONE
            rows[ply + 1] = rows[ply]
            ply += 1
            step(rows[ply], rules, card)
            untried[ply], best[ply] = enter(rows[ply], rules)
        elif ply == 0:
            return best[0]
        else:
            ply -= 1
            first_side, found = rules["team"][rows[ply]["seat"]] == 0, best[ply + 1]
            best[ply] = max(best[ply], found) if first_side else min(best[ply], found)


@jit
def fill_values(state: Array, table: Array, rows: Array, untried: Array, best: Array, values: Array) -> None:
    rules = table[0]
    for lane in range(len(state)):
        row = state[lane]
        before, left = np.int64(row["hand_points"][0]), np.int64(rules["total_points"])
        left -= before + np.int64(row["hand_points"][1])
        while row["legal"][0] == ZERO:
            step(row, rules, 4 * np.int64(rules["ranks"]))
        cards, first_side = row["legal"][0], rules["team"][row["seat"]] == 0
        while cards != ZERO:
            card = lowest(cards)
            cards &= cards - ONE
            rows[0] = row
            step(rows[0], rules, card)
            found = taken(rows, table, untried, best) - before
            values[lane, card] = found if first_side else left - found


def minimax(rules: RuleSet, state: NDArray[np.void]) -> NDArray[np.int16]:
    """int16 [B, cards]: as `Solver.values`."""
    values = np.full((len(state), 4 * rules.ranks), NONE, np.int16)
    untried, best = np.zeros(DEPTH, np.uint64), np.zeros(DEPTH, np.int64)
    fill_values(state.copy(), rules.table, np.zeros(DEPTH, STATE), untried, best, values)
    return values
