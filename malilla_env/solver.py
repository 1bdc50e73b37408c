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

from malilla_env.compiled import Array, Bool, Int, Row, Word, jit, lowest, popcount
from malilla_env.open_hand import MAX_PLIES, NODE, WIDTH, guess, one_of_each, try_card, value
from malilla_env.ordering import WEIGHTS
from malilla_env.rules import RuleSet
from malilla_env.state import CONSENT, NONE, ONE, OVER, STATE, ZERO, bit, check_state
from malilla_env.transpositions import AGES, BOUND, FACTS, MOST_COMPARABLE, TAG_BITS, Desk, fill_orders
from malilla_env.tricks import legal_cards

KEY_BITS = 6  # of a position's key, besides one for each card: who leads, which malillas are locked
SHORT_TRICKS = 7  # with so many tricks left or fewer a small table is large enough, and quicker
SHORT_BITS, LONG_BITS = 14, 17  # entries of the tables, as powers of two
NO_GAME = -2  # a trump that no position has: what is on a new desk is of no deal
FIRST_STEP, NEXT_STEP = 2, 1  # how far beyond a first guess is asked next; and beyond what another card brought
BLOCK, SHORT_BLOCK = 4, 64  # positions that a thread takes at a time; to call it takes as long as to solve a short one


# --- one position after the other, compiled
@jit
def enter(row: Row, desk: Desk, rules: Row) -> None:
    """The position of a STATE row becomes nodes[0]; what is tabled stays if it is of the same deal."""
    node, hands, known = desk.nodes[0], desk.hands, True
    out, points = row["trick_cards"], np.int64(rules["total_points"])
    for seat in range(4):
        hands[seat] = row["hands"][seat]
        known = known and hands[seat] & ~desk.facts[0]["owners"][seat] == ZERO
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
        renew(desk, rules)


@jit
def renew(desk: Desk, rules: Row) -> None:
    """Another deal: what is tabled grows old; after fifteen deals the ages begin anew, and the table is emptied."""
    facts = desk.facts[0]
    for seat in range(4):
        facts["owners"][seat] = desk.hands[seat]
    fill_orders(desk, rules)
    if facts["age"] == AGES:
        desk.table[:] = ZERO
        facts["age"] = ZERO
    facts["age"] += ONE


@jit
def value_cards(desk: Desk, rules: Row, values: Array) -> None:
    """values[card] = what the side on turn takes from nodes[0] after each legal card."""
    nodes, hands, root = desk.nodes, desk.hands, desk.nodes[MAX_PLIES + 1 :]
    root[0] = nodes[0]
    seat, left = np.int64(root[0]["seat"]), np.int64(root[0]["left"])
    legal = hands[seat] if root[0]["size"] == 0 else legal_cards(root[0], rules, hands[seat], seat)
    searched, found, step = one_of_each(legal, root[0]["out"], desk.facts[0]["like_below"]), np.int64(0), FIRST_STEP
    while legal != ZERO:
        card = lowest(legal)
        legal &= legal - ONE
        if searched & bit(card) != ZERO:  # the others are worth what the last one searched is
            try_card(root[0], nodes[0], hands, rules, card)
            gain = np.int64(root[0]["gain"])
            near = guess(desk, rules) if step == FIRST_STEP else found - gain
            found = value(desk, rules, near, step) + gain
            hands[seat] |= bit(card)
            step = NEXT_STEP
        values[card] = found if rules["team"][seat] == 0 else left - found
    nodes[0] = root[0]


@jit
def solve_rows(state: Array, table: Array, desk: Desk, values: Array, points: Array) -> None:
    """values [B, cards] where it has a width, else points [B, 2]; what is over stays as it is."""
    rules = table[0]
    for lane in range(len(state)):
        if state[lane]["phase"] == OVER:
            continue
        enter(state[lane], desk, rules)
        if values.shape[1] > 0:
            value_cards(desk, rules, values[lane])
        else:
            found = value(desk, rules, guess(desk, rules), FIRST_STEP)
            points[lane, 0], points[lane, 1] = found, desk.nodes[0]["left"] - found


def new_desk(rules: RuleSet, table_bits: int, weights: NDArray[np.int64]) -> Desk:
    """The arrays that one thread searches in."""
    facts, nodes = facts_of(rules, table_bits), np.zeros(MAX_PLIES + 2, NODE)
    nodes[0]["trump"] = NO_GAME
    table = np.zeros((1 << int(facts["table_bits"][0]), 2), np.uint64)
    orders, worths = np.zeros((4, 1 << rules.ranks), np.uint16), np.zeros((4, 1 << rules.ranks), np.uint64)
    order = np.zeros((MAX_PLIES + 1) * WIDTH, np.int64)
    return Desk(facts, nodes, np.zeros(4, np.uint64), orders, worths, table, weights, order)


def facts_of(rules: RuleSet, table_bits: int) -> NDArray[np.void]:
    """[1] of FACTS."""
    facts = np.zeros(1, FACTS)
    row, points = facts[0], rules.rank_points
    for card in range(4 * rules.ranks):  # those that the deck lacks are in the runs too
        rank = card % rules.ranks
        if rank and points[rank] == points[rank - 1]:
            row["like_below"] |= bit(card)
    row["comparable"] = max(points) <= MOST_COMPARABLE
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
        if threads is not None and (type(threads) is not int or threads < 1):
            raise ValueError(f"threads {threads!r} must be a whole number of 1 or more")
        self.rules, self.threads, self.nodes = rules, threads or num_cores(), 0
        self.weights = weights
        self._desks: dict[int, SimpleQueue[Desk]] = {bits: SimpleQueue() for bits in (SHORT_BITS, LONG_BITS)}

    def values(
        self, state: NDArray[np.void], advance: Callable[[int], None] = lambda positions: None
    ) -> NDArray[np.int16]:
        """int16 [B, 4 * ranks]: what the side on turn takes from here if the card is played; -1 where it may not be.

        ``state``: STATE [B], as `GameBatch.state`. The cards on the table count with what is to come. Where nothing was
        led yet and something may still be asked or said, the leader is taken to lead. ``advance`` is told of positions
        as they are solved. ValueError: no such array, a position whose trump is not named yet, or a row that is no game
        of this rule set.
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
        rows, block = np.ascontiguousarray(state), SHORT_BLOCK if is_short(state) else BLOCK

        def solve(start: int) -> tuple[int, int]:
            part = slice(start, start + block)
            return len(rows[part]), self._at_a_desk(rows[part], values[part], points[part])

        starts = range(0, len(rows), block)
        if self.threads == 1 or len(starts) == 1:
            for start in starts:
                self._note(*solve(start), advance)
            return
        with ThreadPoolExecutor(self.threads) as threads:
            try:
                for done in as_completed([threads.submit(solve, start) for start in starts]):
                    self._note(*done.result(), advance)
            finally:  # after Ctrl-C or an error nobody waits for the others
                threads.shutdown(cancel_futures=True)

    def _note(self, positions: int, nodes: int, advance: Callable[[int], None]) -> None:
        self.nodes += nodes
        advance(positions)

    def _at_a_desk(self, state: NDArray[np.void], values: NDArray[np.int16], points: NDArray[np.int16]) -> int:
        """Solve rows at a desk that no other thread uses now; the number of nodes searched."""
        bits = SHORT_BITS if is_short(state) else LONG_BITS
        try:
            desk = self._desks[bits].get_nowait()
        except Empty:
            desk = new_desk(self.rules, bits, self.weights)
        desk.facts["nodes"] = 0
        solve_rows(state, self.rules.table, desk, values, points)
        self._desks[bits].put(desk)
        return int(desk.facts["nodes"][0])


def num_cores() -> int:
    """Of the machine, those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_short(state: NDArray[np.void]) -> bool:
    """Whether few tricks are left in all positions."""
    return bool(np.bitwise_count(state["hands"]).max(initial=0) <= SHORT_TRICKS)


def check_rules(rules: RuleSet) -> None:
    """ValueError unless the solver plays these rules."""
    opposite = rules.teams in ((0, 1, 0, 1), (1, 0, 1, 0))
    if not opposite or rules.face_down:
        raise ValueError(
            f"the solver plays games of four seats with partners opposite; {rules.name} has the sides {rules.teams}"
            + (" and cards face down" if rules.face_down else "")
        )
    if rules.total_points > int(BOUND):
        raise ValueError(f"the solver counts up to {BOUND} points a hand; {rules.name} has {rules.total_points}")


def check_positions(rules: RuleSet, state: Any) -> None:
    """ValueError unless these are games of these rules in which all that play depends on is settled."""
    if not isinstance(state, np.ndarray) or state.dtype != STATE or state.ndim != 1:
        raise ValueError("state must be a 1-D array of GameBatch.state's dtype, one row a position")
    if rules.trump != "none":
        unnamed = np.flatnonzero((state["phase"] != OVER) & (state["trump"] == NONE))
        if len(unnamed):
            raise ValueError(f"position {unnamed[0]} has no trump yet: name it before the hand is solved")
    odd = int(_first_odd(state, rules.table))
    if odd != NONE:
        check_state(rules, state[odd : odd + 1])  # which names the field
        raise ValueError(f"position {odd} is no game of {rules.name}")


@jit
def _first_odd(state: Array, table: Array) -> Int:
    """The first position that the search would run beyond its arrays in, or for ever; NONE if there is none."""
    for lane in range(len(state)):
        row = state[lane]
        if row["phase"] != OVER and not (_in_range(row, table[0]) and _adds_up(row, table[0])):
            return lane
    return NONE


@jit
def _in_range(row: Row, rules: Row) -> Bool:
    size, card = row["trick_size"], np.int64(row["best_card"])
    trick = 0 <= row["led_suit"] < 4 and 0 <= row["best_seat"] < 4 and 0 <= card < 4 * np.int64(rules["ranks"])
    seats = 0 <= row["leader"] < 4 and 0 <= row["seat"] < 4 and 0 <= size < 4
    return seats and NONE <= row["trump"] < 4 and (size == 0 or (trick and row["trick_cards"] & bit(card) != ZERO))


@jit
def _adds_up(row: Row, rules: Row) -> Bool:
    """No card is in two places, all hands are as long as is due, and what is left to win makes a whole hand."""
    out, count = row["trick_cards"], popcount(row["trick_cards"])
    tricks = popcount(row["hands"][(row["leader"] + 3) & 3])  # the last to play has not yet
    level = count == row["trick_size"]
    for place in range(4):
        hand = row["hands"][(row["leader"] + place) & 3]
        level = level and popcount(hand) == tricks - (place < row["trick_size"])
        count += popcount(hand)
        out |= hand
    if not level or tricks == 0 or popcount(out) != count or out & ~rules["deck_mask"] != ZERO:
        return False
    points = tricks * np.int64(rules["trick_points"]) + np.int64(rules["last_trick_bonus"])
    for team in range(2):
        points += np.int64(row["hand_points"][team])
    points += points_of(out, rules)
    return points == rules["total_points"] and points_of(row["trick_cards"], rules) == row["trick_value"]


@jit
def points_of(cards: Word, rules: Row) -> Int:
    points = np.int64(0)
    while cards != ZERO:
        points += np.int64(rules["points"][lowest(cards)])
        cards &= cards - ONE
    return points


if __name__ == "__main__":
    from malilla_env.solved import main

    main()
