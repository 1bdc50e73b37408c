"""The players that come with the game: random, and a rule player that counts cards.

Enters: Views [B] and a key for each. Leaves: an action for each. A player sees Views and nothing else, and keeps no
memory between calls.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from malilla_env.calls import best_call, score_calls
from malilla_env.compiled import Array, jit, lowest
from malilla_env.deals import below
from malilla_env.engine import nth_legal, num_legal
from malilla_env.heuristic import FOLLOW, LEAD, ODDS, choose, reckon, score
from malilla_env.rules import RuleSet
from malilla_env.state import ONE, ZERO
from malilla_env.view import VIEW
from malilla_env.weights import IDEAS, weights_of


@jit
def _choose(views: Array, table: Array, weights: Array, odds: Array, actions: Array) -> None:
    for lane in range(len(views)):
        actions[lane] = choose(views[lane], table[0], weights, odds[0])


@jit
def _scores(views: Array, table: Array, weights: Array, odds: Array, scores: Array) -> None:
    for lane in range(len(views)):
        view, rules = views[lane], table[0]
        side = weights[LEAD if view["trick_size"] == 0 else FOLLOW]
        if view["legal"][0] != ZERO:
            reckon(view, rules, side, odds[0])
        cards = view["legal"][0]
        while cards != ZERO:
            scores[lane, lowest(cards)] = score(view, rules, side, odds[0], lowest(cards))
            cards &= cards - ONE


# Calls are apart, so that games without them need not compile them.
@jit
def _call(views: Array, table: Array, actions: Array) -> None:
    for lane in range(len(views)):
        if views[lane]["legal"][1] != ZERO:
            actions[lane] = best_call(views[lane], table[0])


@jit
def _score_calls(views: Array, table: Array, scores: Array) -> None:
    for lane in range(len(views)):
        if views[lane]["legal"][1] != ZERO:
            score_calls(views[lane], table[0], scores[lane, 4 * np.int64(table[0]["ranks"]) :])


@jit
def _random(views: Array, table: Array, keys: Array, actions: Array) -> None:
    for lane in range(len(views)):
        view = views[lane]
        count = num_legal(view)
        actions[lane] = nth_legal(view, table[0], below(keys[lane], count)) if count else 0


class RandomPlayer:
    """Any legal action, uniformly, by the key."""

    name = "random"

    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules

    def act(self, views: NDArray[np.void], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """int64 [B]: an action for each View [B], drawn by its key (uint64 [B]); 0 where nothing is legal."""
        _check(views)
        if keys.shape != views.shape or keys.dtype != np.uint64:
            raise ValueError(f"keys must be uint64 of shape {views.shape}, not {keys.dtype} {keys.shape}")
        actions = np.zeros(len(views), np.int64)
        _random(views, self.rules.table, keys, actions)
        return actions


class HeuristicPlayer:
    """A rule player that counts cards; `without` names the IDEAS it shall do without, for ablations."""

    def __init__(self, rules: RuleSet, *, without: str | Iterable[str] = ()) -> None:
        self.rules, self.without = rules, (without,) if isinstance(without, str) else tuple(without)
        known = [idea.name for idea in IDEAS]
        for name in self.without:
            if name not in known:
                raise ValueError(f"unknown idea {name!r}: choose among {', '.join(known)}")
        self.name = "heuristic" + "".join(f" without {name}" for name in self.without)
        self.weights = weights_of(rules, self.without)

    def act(self, views: NDArray[np.void], keys: NDArray[np.uint64] | None = None) -> NDArray[np.int64]:
        """int64 [B]: an action for each View [B]; keys are not used: equal Views are answered equally."""
        _check(views)
        actions = np.zeros(len(views), np.int64)
        _choose(views, self.rules.table, self.weights, np.zeros(1, ODDS), actions)
        if self.rules.others:
            _call(views, self.rules.table, actions)
        return actions

    def scores(self, views: NDArray[np.void]) -> NDArray[np.float64]:
        """float [B, A]: what it thinks of each legal action, in points up to a constant for each View; else -inf."""
        _check(views)
        scores = np.full((len(views), self.rules.num_actions), -np.inf)
        _scores(views, self.rules.table, self.weights, np.zeros(1, ODDS), scores)
        if self.rules.others:
            _score_calls(views, self.rules.table, scores)
        return scores


def _check(views: NDArray[np.void]) -> None:
    if not isinstance(views, np.ndarray) or views.dtype != VIEW or views.ndim != 1:
        raise ValueError("views must be a 1-D array of VIEW rows, as GameBatch.views makes it")
