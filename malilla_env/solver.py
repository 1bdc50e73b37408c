"""Solver: what each side takes with best play when all hands are open, of many positions at once.

Enters: rows of STATE: of deals, of replayed records, of worlds sampled from a View. Leaves: points, cards, whole lines
of best play. All rule sets of four seats in which partners sit opposite. The search is in `open_hand.py`; here are the
arrays that it works in, and threads: the compiled search runs without Python's lock.

    solver = Solver(rules)
    solver.values(games.state)        # int [B, cards]: for each legal card, what the side on turn takes from here
    solver.points(games.state)        # int [B, 2]: what each side takes from here
    solver.line(games.state[0])       # the cards of best play

`python -m malilla_env.solver RECORD_OR_DEAL` shows a hand solved (`solved.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from malilla_env.compiled import Array, Row, jit, lowest
from malilla_env.open_hand import (
    BOUND,
    FACTS,
    MAX_LEVELS,
    MAX_PLIES,
    NODE,
    TAG_BITS,
    WIDTH,
    fill_canonical,
    guess,
    one_of_each,
    try_card,
    value,
)
from malilla_env.ordering import WEIGHTS
from malilla_env.rules import RuleSet
from malilla_env.state import CONSENT, NONE, ONE, OVER, STATE, ZERO, bit
from malilla_env.tricks import legal_cards

KEY_BITS = 6  # of a position's key, besides one for each card: who leads, which malillas are locked
SHORT_TRICKS = 7  # with so many tricks left or fewer a small table is large enough, and quicker
SHORT_BITS = 16
FIRST_STEP, NEXT_STEP = 2, 1  # how far beyond a first guess is asked next; and beyond what another card brought
BLOCK = 4  # positions that a thread takes at a time


# --- one position after the other, compiled
@jit
def enter(row: Row, rules: Row, facts: Row, nodes: Array, hands: Array, canonical: Array, table: Array) -> None:
    """The position of a STATE row becomes nodes[0]; what is tabled stays if it is of the same deal."""
    node, known = nodes[0], True
    out, points = row["trick_cards"], np.int64(rules["total_points"])
    for seat in range(4):
        hands[seat] = row["hands"][seat]
        known = known and hands[seat] & ~facts["owners"][seat] == ZERO
        out |= hands[seat]
    for team in range(2):
        points -= np.int64(row["hand_points"][team])
    leads = row["trick_size"] == 0
    node["locked"], node["beating"] = row["locked"], rules["deck_mask"] if leads else row["beating"]
    node["best_card"], node["best_seat"], node["led_suit"] = row["best_card"], row["best_seat"], row["led_suit"]
    node["suits_led"], node["suits_played"] = row["suits_led"], row["suits_played"]
    node["seat"], node["size"] = row["leader"] if leads else row["seat"], row["trick_size"]
    node["out"], node["trick_value"], node["left"] = out, row["trick_value"], points
    node["tabled"] = NONE
    if not known or node["trump"] != row["trump"]:
        node["trump"] = row["trump"]
        renew(hands, rules, facts, canonical, table)


@jit
def renew(hands: Array, rules: Row, facts: Row, canonical: Array, table: Array) -> None:
    """Another deal: what is tabled grows old; after fifteen deals the ages begin anew, and the table is emptied."""
    for seat in range(4):
        facts["owners"][seat] = hands[seat]
    fill_canonical(hands, rules, facts, canonical)
    if facts["age"] == 15:
        table[:] = ZERO
        facts["age"] = ZERO
    facts["age"] += ONE


@jit
def value_cards(
    rules: Row,
    facts: Row,
    nodes: Array,
    hands: Array,
    canonical: Array,
    table: Array,
    weights: Array,
    order: Array,
    values: Array,
) -> None:
    """values[card] = what the side on turn takes from nodes[0] after each legal card."""
    root, seat = nodes[0], np.int64(nodes[0]["seat"])
    first_side, left = rules["team"][seat] == 0, np.int64(root["left"])
    saved, legal = nodes[MAX_PLIES + 1 :], hands[seat]
    if root["size"] > 0:
        legal = legal_cards(root, rules, hands[seat], seat)
    searched, found, tried = one_of_each(legal, root["out"], facts["like_below"]), np.int64(0), False
    saved[0] = root
    while legal != ZERO:
        card = lowest(legal)
        legal &= legal - ONE
        if searched & bit(card) != ZERO:  # the others are worth what the last one searched is
            try_card(saved[0], nodes[0], hands, rules, card)
            near = found - saved[0]["gain"]
            if not tried:
                near = guess(nodes, hands, rules, weights, order)
            step = NEXT_STEP if tried else FIRST_STEP
            found = value(nodes, hands, rules, facts, canonical, table, weights, order, near, step)
            found += np.int64(saved[0]["gain"])
            hands[seat] |= bit(card)
            tried = True
        values[card] = found if first_side else left - found
    nodes[0] = saved[0]


@jit
def solve_rows(
    state: Array,
    table_row: Array,
    facts: Array,
    nodes: Array,
    hands: Array,
    canonical: Array,
    table: Array,
    weights: Array,
    order: Array,
    values: Array,
    points: Array,
) -> None:
    """values [B, cards] where it has a width, else points [B, 2]; what is over stays as it is."""
    rules = table_row[0]
    for lane in range(len(state)):
        if state[lane]["phase"] == OVER:
            continue
        enter(state[lane], rules, facts[0], nodes, hands, canonical, table)
        if values.shape[1] > 0:
            value_cards(rules, facts[0], nodes, hands, canonical, table, weights, order, values[lane])
        else:
            near = guess(nodes, hands, rules, weights, order)
            found = value(nodes, hands, rules, facts[0], canonical, table, weights, order, near, FIRST_STEP)
            points[lane, 0], points[lane, 1] = found, nodes[0]["left"] - found


class Workspace:
    """The arrays that one thread searches in."""

    def __init__(self, rules: RuleSet, table_bits: int, weights: NDArray[np.int64]) -> None:
        self.rules, self.weights = rules, weights
        self.facts = facts_of(rules, table_bits)
        self.nodes = np.zeros(MAX_PLIES + 2, NODE)  # the last is room for the root
        self.nodes[0]["trump"] = -2  # of no game
        self.hands = np.zeros(4, np.uint64)
        self.canonical = np.zeros((4, 1 << rules.ranks), np.uint16)
        self.table = np.zeros(1 << int(self.facts["table_bits"][0]), np.uint64)
        self.order = np.zeros((MAX_PLIES + 1) * WIDTH, np.int64)

    def solve(self, state: NDArray[np.void], values: NDArray[np.int16], points: NDArray[np.int16]) -> int:
        """Solve some rows; the number of nodes searched."""
        before = int(self.facts["nodes"][0])
        tabled = (self.facts, self.nodes, self.hands, self.canonical, self.table)
        solve_rows(state, self.rules.table, *tabled, self.weights, self.order, values, points)
        return int(self.facts["nodes"][0]) - before


def facts_of(rules: RuleSet, table_bits: int) -> NDArray[np.void]:
    """[1] of FACTS."""
    facts = np.zeros(1, FACTS)
    row, points = facts[0], rules.rank_points
    for card in range(4 * rules.ranks):  # those that the deck lacks are in the runs too
        rank = card % rules.ranks
        end = next((at for at in range(rank, rules.ranks) if points[at] != points[rank]), rules.ranks)
        row["run_end"][card] = end
        if rank and points[rank] == points[rank - 1]:
            row["like_below"] |= bit(card)
    for level, worth in enumerate(sorted(set(points))):
        cards = [card for card in rules.deck if points[card % rules.ranks] == worth]
        row["level_points"][level], row["level_cards"][level] = worth, sum(1 << card for card in cards)
    row["rising"] = list(points) == sorted(points)
    row["key_bits"] = 4 * rules.ranks + KEY_BITS
    row["table_bits"] = max(table_bits, int(row["key_bits"]) - TAG_BITS)
    return facts


class Solver:
    """Solves positions of one rule set, all hands open, in some threads (default: all cores that it may use).

    ValueError: the rule set is not one of four seats in which partners sit opposite. `nodes` counts what was searched.
    Values are exact and depend on nothing but the position. One call at a time.
    """

    def __init__(self, rules: RuleSet, threads: int | None = None, weights: NDArray[np.int64] = WEIGHTS) -> None:
        check_rules(rules)
        if threads is not None and (not isinstance(threads, int) or threads < 1):
            raise ValueError(f"threads {threads!r} must be a whole number of 1 or more")
        self.rules, self.threads, self.nodes = rules, threads or len(os.sched_getaffinity(0)), 0
        long_bits = 19 if rules.num_cards <= 40 else 20
        self._spaces: dict[bool, SimpleQueue[Workspace]] = {short: SimpleQueue() for short in (True, False)}
        self._make = {
            short: lambda bits=bits: Workspace(rules, bits, weights)
            for short, bits in ((True, SHORT_BITS), (False, long_bits))
        }

    def values(
        self, state: NDArray[np.void], advance: Callable[[int], None] = lambda positions: None
    ) -> NDArray[np.int16]:
        """int16 [B, 4 * ranks]: what the side on turn takes from here if the card is played; -1 where it may not be.

        ``state``: STATE [B], as `GameBatch.state`. The cards on the table count with what is to come. Where nothing was
        led yet and something may still be asked or said, the leader is taken to lead. ``advance`` is told of positions
        as they are solved. ValueError: no such array, or a position whose trump is not named yet.
        """
        values = np.full((len(state), 4 * self.rules.ranks), NONE, np.int16)
        self._solve(state, values, np.zeros((len(state), 2), np.int16), advance)
        return values

    def points(
        self, state: NDArray[np.void], advance: Callable[[int], None] = lambda positions: None
    ) -> NDArray[np.int16]:
        """int16 [B, 2]: what each side takes from here; arguments and errors as of `values`."""
        points = np.zeros((len(state), 2), np.int16)
        self._solve(state, np.zeros((len(state), 0), np.int16), points, advance)
        return points

    def line(self, row: np.void) -> list[tuple[int, int]]:
        """Seats and cards of best play from a row of STATE to the end of its hand; of equally good cards the lowest."""
        from malilla_env.batch import GameBatch

        games, plays = GameBatch.from_state(self.rules, np.array([row], STATE)), []
        check_positions(self.rules, games.state)
        games.state["one_hand"] = True
        while not games.done[0]:
            if games.state["legal"][0, 0]:
                action = int(self.values(games.state)[0].argmax())
                plays.append((int(games.seat[0]), action))
            else:  # nothing is said, and nobody asks for a new deal or agrees to one
                name = "refuse" if games.state["phase"][0] == CONSENT else "pass"
                action = self.rules.action_names.index(name)
            games.step(np.array([action]))
        return plays

    def _solve(
        self,
        state: NDArray[np.void],
        values: NDArray[np.int16],
        points: NDArray[np.int16],
        advance: Callable[[int], None],
    ) -> None:
        check_positions(self.rules, state)
        rows = np.ascontiguousarray(state)

        def solve(start: int) -> tuple[int, int]:
            part = slice(start, start + BLOCK)
            return len(rows[part]), self._in_workspace(rows[part], values[part], points[part])

        starts = range(0, len(rows), BLOCK)
        if self.threads == 1 or len(starts) == 1:
            for start in starts:
                self._note(*solve(start), advance)
            return
        with ThreadPoolExecutor(self.threads) as threads:
            for done in as_completed([threads.submit(solve, start) for start in starts]):
                self._note(*done.result(), advance)

    def _note(self, positions: int, nodes: int, advance: Callable[[int], None]) -> None:
        self.nodes += nodes
        advance(positions)

    def _in_workspace(self, state: NDArray[np.void], values: NDArray[np.int16], points: NDArray[np.int16]) -> int:
        """Solve rows in a workspace that no other thread uses now."""
        short = bool(np.bitwise_count(state["hands"]).max() <= SHORT_TRICKS)
        try:
            space = self._spaces[short].get_nowait()
        except Empty:
            space = self._make[short]()
        try:
            return space.solve(state, values, points)
        finally:
            self._spaces[short].put(space)


def check_rules(rules: RuleSet) -> None:
    """ValueError unless the solver plays these rules."""
    opposite = rules.teams in ((0, 1, 0, 1), (1, 0, 1, 0))
    if not opposite or rules.face_down:
        raise ValueError(
            f"the solver plays games of four seats with partners opposite; {rules.name} has the sides {rules.teams}"
            + (" and cards face down" if rules.face_down else "")
        )
    if rules.total_points > int(BOUND) or len(set(rules.rank_points)) > MAX_LEVELS:
        raise ValueError(f"the solver counts up to {BOUND} points a hand; {rules.name} has {rules.total_points}")


def check_positions(rules: RuleSet, state: Any) -> None:
    """ValueError unless these are positions of which all that play depends on is settled."""
    if not isinstance(state, np.ndarray) or state.dtype != STATE or state.ndim != 1:
        raise ValueError("state must be a 1-D array of GameBatch.state's dtype, one row a position")
    if rules.trump != "none":
        unnamed = np.flatnonzero((state["phase"] != OVER) & (state["trump"] == NONE))
        if len(unnamed):
            raise ValueError(f"position {unnamed[0]} has no trump yet: name it before the hand is solved")


if __name__ == "__main__":
    from malilla_env.solved import main

    main()
