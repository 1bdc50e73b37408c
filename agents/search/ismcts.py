"""ISMCTS: a player that searches the tree of what it knows, a fresh world in each iteration.

Enters: Views, a key for each. Leaves: an action for each. Single-observer information-set Monte Carlo tree search
(Cowling, Powley and Whitehouse 2012, SO-ISMCTS): an iteration draws a world that the View leaves possible
(`worlds.py`), goes down the one tree of the decision (`tree.py`) by what is legal in that world, adds a node, plays the
hand to its end (`rollouts.py`) and tells the nodes on its way what each side got. The engine plays; here is no rule.

A search ends with the hand: what counts is what a hand is compared by (`malilla_env.rewards.hand_result`), above the
mean of the sides. A deal that is called off (1.6.2) and a hand that nobody bids for (3.6) count as level: what follows
is another deal, worth about the same to every side. The score of the match is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.search.draw import draw_world
from agents.search.plan import PLAN, plan_worlds
from agents.search.rollouts import HEURISTIC, ROLLOUTS, call_of, heuristic_action, random_action
from agents.search.tree import ROOT, add_child, back_up, best_child, most_visited, new_tree, untried
from agents.search.worlds import check_views, sample, states
from malilla_env import RuleSet
from malilla_env.compiled import Array, Bool, Int, Row, Word, inline, jit, mix, uncounted
from malilla_env.engine import nth_legal, num_legal, step
from malilla_env.heuristic import ODDS
from malilla_env.scoring import TRUMP_BID
from malilla_env.solver import num_cores
from malilla_env.state import NONE, STATE, ZERO, bit
from malilla_env.table import MAX_PLAYS, MAX_SEATS
from malilla_env.view import VIEW
from malilla_env.weights import weights_of

Real = Any  # a float, for the reader

ITERATIONS = 1000  # a decision, where neither these nor a time are given
MOST = 10_000_000  # of a time's iterations
EXPLORATION = 0.3  # of 0.2 to 1 in malilla, none is better (docs/LOG.md)
SLICE = 64  # iterations between two looks at the clock
WORLD = 1 << 20  # a counter that no action of an iteration uses

# What the search of one decision works on.
DESK = np.dtype(
    [
        ("base", STATE),  # the game in one of the View's worlds; all else than the hidden cards is the same in all
        ("state", STATE),  # that is played on
        ("view", VIEW),  # of the seats in a rollout
        ("odds", ODDS),
        ("plan", PLAN),  # of the View's worlds
        ("path", "i8", MAX_PLAYS),  # nodes of an iteration, from the root's child on
        ("values", "f8", MAX_SEATS),  # what it brought, by side
    ],
    align=True,
)
WORDS = STATE.itemsize // 8


# --- one iteration
@inline
def begin(desk: Row, words: Array, rules: Row, key: Word) -> None:
    """The base becomes the state, with the hidden cards of the key's world; as words, for fields are copied slowly."""
    for place in range(WORDS):
        words[WORDS + place] = words[place]
    draw_world(desk["plan"], rules, mix(key, np.uint64(WORLD)), desk["state"])


@inline
def was_void(desk: Row) -> Bool:
    """The deal was called off, and another has been made (1.6.2)."""
    return desk["state"]["attempt"] != desk["base"]["attempt"]


@inline
def calls(desk: Row, rules: Row, at: Int) -> Word:
    """The actions besides cards that a node may try: at the root all, further on only what `call_of` says.

    In one tree for all worlds a seat plays as if it did not know its own hand. That is bearable for cards, of which it
    can only play those that it holds, but not for bids, of which it may make any.
    """
    row = desk["state"]
    if at == ROOT or row["legal"][1] == ZERO:
        return row["legal"][1]
    return bit(call_of(row, rules, desk["view"]) - 4 * np.int64(rules["ranks"]))


@jit
def judge(row: Row, rules: Row, void: Bool, values: Array) -> None:
    """What the hand that is over brought each side above the mean of the sides; 0.5 for none, and about 0 to 1."""
    teams, auction = np.int64(rules["num_teams"]), rules["trump"] == TRUMP_BID
    mean = 0.0
    for team in range(teams):
        result = row["last_score_change"][team] if auction else row["last_points"][team]
        values[team] = 0.0 if void else np.float64(result)
        mean += values[team] / teams
    most = np.float64(rules["neutral"] if auction else rules["total_points"])
    for team in range(teams):
        values[team] = 0.5 + (values[team] - mean) / most


@jit
def search(
    desks: Array,
    words: Array,
    table: Array,
    weights: Array,
    tree: Array,
    key: Word,
    first: Int,
    stop: Int,
    used: Int,
    exploration: Real,
    rollouts: Int,
) -> Int:
    """Iterations first..stop-1 of a decision, on a tree of `used` nodes; answers how many it then has.

    `desks` [1] of DESK, `words` the same memory as uint64. Iteration i depends on the key, i and those before it.
    """
    rules, desk = table[0], desks[0]
    row, first_other = desk["state"], 4 * np.int64(rules["ranks"])
    path, values = desk["path"], desk["values"]
    tree, words = uncounted(tree), uncounted(words)
    for iteration in range(first, stop):
        chance = mix(key, np.uint64(iteration))
        begin(desk, words, rules, chance)
        at, length, growing, ply = ROOT, 0, True, 0
        while not (row["done"] or was_void(desk)):
            word = mix(chance, np.uint64(ply))
            ply += 1
            if growing:
                cards, others = row["legal"][0], calls(desk, rules, at)
                child = best_child(tree, at, cards, others, first_other, exploration)
                action = untried(tree, at, cards, others, first_other, word)
                if action == NONE:
                    action = np.int64(tree[child]["action"])
                else:
                    child, used, growing = used, used + 1, False
                    add_child(tree, at, child, action, first_other, rules["team"][np.uint8(row["seat"])])
                at = path[length] = child
                length += 1
            elif rollouts == HEURISTIC:
                action = heuristic_action(row, rules, desk["view"], weights, desk["odds"])
            else:
                action = random_action(row, rules, word, desk["view"])
            step(row, rules, action)
        judge(row, rules, was_void(desk), values)
        back_up(tree, path, length, values)
    return used


# --- one decision
@jit
def _plan(views: Array, table: Array, desks: Array) -> Int:
    return plan_worlds(views[0], table[0], desks[0]["plan"])


@jit
def _forced(views: Array, table: Array, actions: Array) -> None:
    for lane in range(len(views)):
        count = num_legal(views[lane])
        actions[lane] = NONE if count > 1 else nth_legal(views[lane], table[0], 0) if count else 0


def forced_actions(rules: RuleSet, views: NDArray[np.void]) -> NDArray[np.int64]:
    """int64 [B]: the only legal action of each View [B], 0 where there is none; -1 where there is a choice."""
    actions = np.empty(len(views), np.int64)
    _forced(views, rules.table, actions)
    return actions


class ISMCTSPlayer:
    """Information-set Monte Carlo tree search: so many iterations a decision, or as many as its time allows.

    ``exploration`` weighs how seldom an action was tried against what it brought. ``rollouts`` names the policy that
    plays a hand to its end: "random", or "heuristic", which is worth more an iteration and less a second, being some
    twenty times slower. With ``milliseconds`` a decision stops after that time, or after ``iterations`` if those are
    given too and done first: then its play depends on the machine and cannot be reproduced. Else an answer is a
    function of the View and its key, whatever the batch. Decisions are shared out among ``threads``, as many as there
    are cores unless said.
    """

    def __init__(
        self,
        rules: RuleSet,
        iterations: int | None = None,
        exploration: float = EXPLORATION,
        rollouts: str = "random",
        milliseconds: int | None = None,
        threads: int | None = None,
    ) -> None:
        for option, value in (("iterations", iterations), ("milliseconds", milliseconds), ("threads", threads)):
            if value is not None and (type(value) is not int or not 1 <= value <= MOST):
                raise ValueError(f"ismcts: {option}={value!r} must be a whole number, 1 to {MOST}")
        if type(exploration) not in (int, float) or not 0.0 <= exploration < np.inf:
            raise ValueError(f"ismcts: exploration={exploration!r} must be a number, 0 or more")
        if rollouts not in ROLLOUTS:
            raise ValueError(f"ismcts: rollouts={rollouts!r} must be one of {', '.join(ROLLOUTS)}")
        self.rules, self.weights, self.milliseconds = rules, weights_of(rules, ()), milliseconds
        self.iterations = iterations or (MOST if milliseconds else ITERATIONS)
        self.exploration, self.rollouts = float(exploration), ROLLOUTS.index(rollouts)
        self.threads = threads or num_cores()
        self.name = f"ismcts:milliseconds={milliseconds}" if milliseconds else f"ismcts:iterations={self.iterations}"

    def act(self, views: NDArray[np.void], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """int64 [B]: an action for each View [B], its chances taken from its key (uint64 [B]); 0 where none is legal.

        ValueError: views or keys of another kind, or a View that has no world.
        """
        check_views(self.rules, views, keys)
        actions = forced_actions(self.rules, views)
        lanes = np.flatnonzero(actions == NONE)
        bases = states(self.rules, views[lanes], sample(self.rules, views[lanes], keys[lanes], 1))
        searches = ((views[lane : lane + 1], bases[at : at + 1], keys[lane]) for at, lane in enumerate(lanes))
        with ThreadPoolExecutor(self.threads) as pool:
            actions[lanes] = list(pool.map(lambda search: self._decide(*search), searches))
        return actions

    def _decide(self, view: NDArray[np.void], base: NDArray[np.void], key: np.uint64) -> int:
        """The action of one View [1]; `base` [1] is its game in one of its worlds."""
        desks, tree, used = np.zeros(1, DESK), new_tree(self.iterations), 1
        words = desks.view(np.uint64)
        words[:WORDS] = base.view(np.uint64)
        _plan(view, self.rules.table, desks)
        for first, stop in self._slices():
            used = search(
                *(desks, words, self.rules.table, self.weights, tree),
                *(key, first, stop, used, self.exploration, self.rollouts),
            )
        return int(most_visited(tree))

    def _slices(self) -> Iterator[tuple[int, int]]:
        """The iterations as ranges: all at once, or one after the other until the time is over."""
        if self.milliseconds is None:
            yield 0, self.iterations
            return
        end = perf_counter() + self.milliseconds / 1000
        for first in range(0, self.iterations, SLICE):
            yield first, min(first + SLICE, self.iterations)
            if perf_counter() >= end:
                return
