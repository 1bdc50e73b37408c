"""The open-hand solver: fixed deals of Malilla, one after the other, and positions with fewer tricks left, beside a
plain alpha-beta search over the engine's own steps.

The plain search has no table and tries the highest card first: a whole deal is beyond it. The two meet where both can
play, with six and with five tricks left; what is said of whole deals stands alone. Memory is reserved once, and what
lies in the solver's table of one deal counts for nothing in the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Comparison, Effort, Work, race
from malilla_env import GameBatch, deal, engine, ruleset
from malilla_env.compiled import Array, Int, Row, highest, jit
from malilla_env.players import HeuristicPlayer
from malilla_env.solver import Solver
from malilla_env.state import STATE, ZERO, bit

SEED = 101
RULES = ruleset("malilla")
MEETINGS = 50  # positions on which the two are compared


# --- a plain alpha-beta search
@jit
def step(row: Row, rules: Row, card: Int) -> None:
    engine.step(row, rules, card)


@jit
def plain_search(rows: Array, table: Array, untried: Array, low: Array, high: Array) -> Int:
    """What side 0 has at the end of the hand of rows[0] with best play of both: alpha-beta, fail-hard."""
    rules, ply = table[0], 0
    untried[0], low[0], high[0] = rows[0]["legal"][0], 0, rules["total_points"]
    while True:
        found = np.int64(-1)
        if rows[ply]["hand_over"]:
            found = min(max(np.int64(rows[ply]["last_points"][0]), low[ply]), high[ply])
        elif untried[ply] == ZERO or low[ply] >= high[ply]:
            found = low[ply] if rules["team"][rows[ply]["seat"]] == 0 else high[ply]
        if found < 0:
            card = highest(untried[ply])
            untried[ply] &= ~bit(card)
            rows[ply + 1] = rows[ply]
            low[ply + 1], high[ply + 1] = low[ply], high[ply]
            ply += 1
            step(rows[ply], rules, card)
            untried[ply] = rows[ply]["legal"][0]
        elif ply == 0:
            return found
        else:
            ply -= 1
            if rules["team"][rows[ply]["seat"]] == 0:
                low[ply] = max(low[ply], found)
            else:
                high[ply] = min(high[ply], found)


def plain_points(state: NDArray[np.void]) -> list[int]:
    """What side 0 takes from each position."""
    plies = RULES.num_cards + 1
    rows, untried = np.zeros(plies, STATE), np.zeros(plies, np.uint64)
    low, high, points = np.zeros(plies, np.int64), np.zeros(plies, np.int64), []
    for row in state:
        rows[0] = row
        rows[0]["hand_over"] = False
        found = plain_search(rows, RULES.table, untried, low, high)
        points.append(int(found - row["hand_points"][0]))
    return points


# --- what is solved
def positions(count: int, tricks: int) -> NDArray[np.void]:
    """The first deals of the seed, played by the rule player until so many tricks are left."""
    games, player = GameBatch(RULES, count, episode="hand"), HeuristicPlayer(RULES)
    games.reset(deals=deal(RULES, SEED, range(count)))
    for _ in range(RULES.num_cards - 4 * tricks):
        games.step(player.act(games.views()))
    return games.state


def pieces(search: Callable[[NDArray[np.void]], object], state: NDArray[np.void]) -> Work:
    """All positions once, in one batch."""

    def work() -> int:
        search(state)
        return len(state)

    return work


def whole_deals(count: int) -> list[Comparison]:
    """Each deal once: how long it took, how much was searched."""
    solver, state, seconds, nodes = Solver(RULES, threads=1), positions(count, RULES.num_tricks), [], []
    solver.points(positions(1, 1))  # compiled, if it was not
    for lane in range(count):
        before, start = solver.nodes, time.process_time()
        solver.points(state[lane : lane + 1])
        seconds.append(time.process_time() - start)
        nodes.append(solver.nodes - before)
    name = f"open-hand solver, {count} whole deals"

    def row(what: str, unit: str, value: float | np.floating[Any], **targets: float) -> Comparison:
        return Comparison(f"{name}: {what}", unit, [float(value)], "", [], **targets)

    milliseconds = 1000 * np.array(seconds)
    return [
        row("rate", "deals/s", count / sum(seconds), at_least=10),
        row("mean time", "ms", milliseconds.mean()),
        row("median time", "ms", np.median(milliseconds)),
        row("99th percentile", "ms", np.percentile(milliseconds, 99)),
        row("nodes a deal, mean", "nodes", np.mean(nodes)),
        row("speed", "nodes/s", sum(nodes) / sum(seconds)),
    ]


def compare(effort: Effort) -> list[Comparison]:
    rows, solver = whole_deals(effort.deals), Solver(RULES, threads=1)
    seven = race({"ours": pieces(solver.points, positions(effort.deals, 7))}, effort)["ours"]
    rows.append(Comparison("open-hand solver, 7 tricks left", "positions/s", seven, "", [], at_least=1000))
    for tricks in (6, 5):
        state = positions(min(effort.deals, MEETINGS), tricks)
        rates = race({"ours": pieces(solver.points, state), "plain": pieces(plain_points, state)}, effort)
        name = f"open-hand solver, {tricks} tricks left"
        rows.append(Comparison(name, "positions/s", rates["ours"], "plain alpha-beta", rates["plain"]))
    return rows
