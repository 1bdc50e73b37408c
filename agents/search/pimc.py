"""PIMC and oracle: players that solve hands with all cards open.

Enters: Views and keys (`PIMCPlayer`), or the true states (`OraclePlayer`, which cheats). Leaves: actions.
Perfect-information Monte Carlo (Levy 1989; Ginsberg 2001, GIB): worlds that the View leaves possible are drawn
(`worlds.py`) and each is solved for every legal card (`malilla_env.solver`); the card with the best mean is played. It
takes for granted that everybody will see all hands from the next card on (Frank and Basin 1998, strategy fusion).

What is no card (asks, bids, statements), and the tricks before the last `tricks`, are left to another named player.
Of cards that are equally good the one that the rule player likes best is played.
"""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.base import Agent
from agents.search.likelihood import log_belief, log_likelihood, weigh
from agents.search.worlds import check_views, sample, states
from malilla_env import RuleSet
from malilla_env.compiled import Array, jit, mix
from malilla_env.players import HeuristicPlayer
from malilla_env.scoring import TRUMP_BID, points_won
from malilla_env.solver import Solver

WORLDS = 30  # a decision, where neither these nor a time are given
MOST = 4096  # positions solved in one go: what is held in memory at a time
LONGEST = 3_600_000  # milliseconds a decision
CLOSE = 1e-9  # values that differ by less are equal


@jit
def _result(state: Array, table: Array, values: Array, result: Array) -> None:
    """result[lane, card]: what the side on turn has of the hand above the other, if it takes values[lane, card]."""
    rules = table[0]
    for lane in range(len(state)):
        row = state[lane]
        mine = np.int64(rules["team"][row["seat"]])
        left = np.int64(rules["total_points"]) - np.int64(row["hand_points"][0]) - np.int64(row["hand_points"][1])
        before = np.int64(row["hand_points"][mine]), np.int64(row["hand_points"][1 - mine])
        for card in range(values.shape[1]):
            taken = np.int64(values[lane, card])
            if taken >= 0:
                row["hand_points"][mine] = before[0] + taken
                row["hand_points"][1 - mine] = before[1] + left - taken
                if rules["trump"] == TRUMP_BID:  # 3.6: the contract counts
                    result[lane, card] = points_won(row, rules, mine) - points_won(row, rules, 1 - mine)
                else:
                    result[lane, card] = row["hand_points"][mine] - row["hand_points"][1 - mine]
        row["hand_points"][mine], row["hand_points"][1 - mine] = before


def results(solver: Solver, state: NDArray[np.void]) -> NDArray[np.float64]:
    """float64 [B, cards]: what a hand is worth to the side on turn after each card, played open; -inf for the others.

    That is its points less the other side's, or its match points less theirs where hands are bid for
    (`malilla_env.rewards.hand_result`).
    """
    values = solver.values(state)
    result = np.full(values.shape, -np.inf)
    _result(state.copy(), solver.rules.table, values, result)
    return result


class OpenPlayer:
    """What both have in common: a solver, the player for all that is no card, the choice among equals."""

    def __init__(self, rules: RuleSet, threads: int | None = None) -> None:
        self.rules, self.solver, self.taste = rules, Solver(rules, threads), HeuristicPlayer(rules)

    def best(self, views: NDArray[np.void], worth: NDArray[np.float64]) -> NDArray[np.int64]:
        """int64 [B]: the card of highest worth ([B, cards]); of equals, the one that the rule player likes best."""
        equal = worth >= worth.max(axis=1, keepdims=True) - CLOSE
        taste = self.taste.scores(views)[:, : worth.shape[1]]
        chosen: NDArray[np.int64] = np.where(equal, taste, -np.inf).argmax(axis=1)
        return chosen


class OraclePlayer(OpenPlayer):
    """Best play of a hand that all see; it is shown every hand, and so measures what no player can reach."""

    name = "oracle"
    sees_all = True

    def act(
        self, views: NDArray[np.void], keys: NDArray[np.uint64], state: NDArray[np.void] | None = None
    ) -> NDArray[np.int64]:
        """int64 [B]: an action for each View and its game (STATE [B]); the keys are not used."""
        if state is None:
            raise ValueError("oracle plays with all hands open: act(views, keys, states) needs the games' states")
        actions = self.taste.act(views)
        choices = to_solve(views, self.rules.num_tricks)
        if len(choices):
            actions[choices] = self.best(views[choices], results(self.solver, state[choices]))
        return actions


class PIMCPlayer(OpenPlayer):
    """`worlds` a decision, or as many as can be solved in `milliseconds` (then no two runs are alike), or both.

    ``tricks``: only the last so many are solved; before them plays ``before``, any player by name. ``weights``: a
    checkpoint or exported policy; worlds then count by how likely it would have made the plays seen in them.
    ``beliefs``: a checkpoint with a belief head; worlds then count by how likely it thinks that the cards lie so.
    ``threads``: of the solver; default all cores. The same keys give the same play, whatever the batch or the threads.
    ValueError: an option that makes no sense, or rules that the solver does not play.
    """

    sees_all = False

    def __init__(
        self,
        rules: RuleSet,
        worlds: int | None = None,
        tricks: int | None = None,
        before: str = "heuristic",
        weights: str = "",
        milliseconds: int | None = None,
        threads: int | None = None,
        beliefs: str = "",
    ) -> None:
        super().__init__(rules, threads)
        self.worlds = WORLDS if worlds is None and not milliseconds else worlds
        self.tricks, self.seconds = rules.num_tricks if tricks is None else tricks, (milliseconds or 0) / 1000
        limits = {
            "worlds": (worlds, MOST),
            "tricks": (tricks, rules.num_tricks),
            "milliseconds": (milliseconds, LONGEST),
        }
        for option, (value, most) in limits.items():
            if value is not None and (type(value) is not int or not 1 <= value <= most):
                raise ValueError(f"pimc: {option}={value!r} must be a whole number, 1 to {most} in {rules.name}")
        self.before = _player(before, rules)
        if getattr(self.before, "sees_all", False):
            raise ValueError(f"pimc: before={before} sees all hands, and pimc is shown none: choose another player")
        if weights and beliefs:
            raise ValueError("pimc: weights and beliefs both weigh the worlds: give one of them")
        self.policy = _policy(weights, rules) if weights else None
        self.believer: Any = _believer(beliefs, rules) if beliefs else None
        given = {"worlds": worlds, "tricks": tricks, "before": before if before != "heuristic" else None}
        given |= {"weights": weights or None, "beliefs": beliefs or None, "milliseconds": milliseconds}
        options = ",".join(f"{key}={value}" for key, value in given.items() if value is not None)
        self.name = f"pimc:{options}" if options else "pimc"

    def act(self, views: NDArray[np.void], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """int64 [B]: an action for each View; 0 where the game is over. ValueError: what is no View, or no key."""
        check_views(self.rules, views, keys)
        actions = np.array(self.before.act(views, keys), np.int64)
        choices = to_solve(views, self.tricks)
        lanes = 1 if self.seconds else max(1, MOST // (self.worlds or MOST))
        for start in range(0, len(choices), lanes):
            part = choices[start : start + lanes]
            worth = self._in_time(views[part], keys[part]) if self.seconds else self._mean(views[part], keys[part])
            actions[part] = self.best(views[part], worth)
        return actions

    def _mean(self, views: NDArray[np.void], keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        """float64 [B, cards]: the mean worth of each card over the worlds."""
        assert self.worlds is not None
        return mean_worth(*self._solved(views, keys, self.worlds))

    def _in_time(self, views: NDArray[np.void], keys: NDArray[np.uint64]) -> NDArray[np.float64]:
        """float64 [1, cards]: the mean over the worlds that one View's time allows; at least one a thread."""
        end, done, blocks = perf_counter() + self.seconds, 0, []
        at_once, most = self.solver.threads, self.worlds or MOST
        while done == 0 or (perf_counter() < end and done < most):
            count = min(at_once, most - done)
            blocks.append(self._solved(views, _next(keys, done), count))
            done += count
        worth, likely = zip(*blocks, strict=True)
        return mean_worth(np.concatenate(worth, axis=1), np.concatenate(likely, axis=1))

    def _solved(
        self, views: NDArray[np.void], keys: NDArray[np.uint64], count: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """float64 [B, K, cards]: what each card is worth in K = `count` worlds, one drawn twice solved once; [B, K]:
        how likely the worlds are, in logs, up to a constant."""
        deals = sample(self.rules, views, keys, count)  # [B, K]
        lanes = np.repeat(np.arange(len(views)), count)
        marked = np.concatenate([lanes[:, None], deals["cards"].reshape(len(lanes), -1)], axis=1)
        _, first, again = np.unique(marked, axis=0, return_index=True, return_inverse=True)
        state = states(self.rules, views, deals)[first]
        worth = results(self.solver, state)[again.reshape(-1)].reshape(len(views), count, -1)
        return worth, self._likely(views, deals)

    def _likely(self, views: NDArray[np.void], deals: NDArray[np.void]) -> NDArray[np.float64]:
        """float64 [B, K]: how likely each world is, in logs; all alike without a policy or beliefs."""
        if not (self.policy or self.believer):
            return np.zeros(deals.shape)
        if self.policy:
            return log_likelihood(self.rules, views, deals, self.policy)
        return log_belief(self.rules, views, deals, self.believer)


def mean_worth(worth: NDArray[np.float64], likely: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64 [B, cards]: the mean of `worth` [B, K, cards], -inf where illegal, over worlds so `likely` [B, K]."""
    legal = np.isfinite(worth[:, 0])
    mean: NDArray[np.float64] = np.einsum("bk,bkc->bc", weigh(likely), np.where(legal[:, None], worth, 0.0))
    mean[~legal] = -np.inf
    return mean


def to_solve(views: NDArray[np.void], tricks: int) -> NDArray[np.int64]:
    """int [n]: the Views in which one of several cards is to be played, in the last so many tricks."""
    cards = views["legal"][:, 0]
    several = cards & (cards - np.uint64(1) * (cards != 0)) != 0
    held = np.bitwise_count(views["hand"])
    return np.flatnonzero(several & (held <= tricks))


def _next(keys: NDArray[np.uint64], done: int) -> NDArray[np.uint64]:
    """The keys of worlds that have not been drawn yet."""
    return np.array([mix(key, done) if done else key for key in keys], np.uint64)


def _player(spec: str, rules: RuleSet) -> Agent:
    from agents.registry import make  # which knows this player, too

    return make(spec, rules)


def _policy(path: str, rules: RuleSet) -> Any:
    """Who plays by an exported policy, which needs no PyTorch, or by the network of a checkpoint or packed file."""
    if path.endswith(".onnx"):
        from malilla_env.policy import OnnxPlayer

        return OnnxPlayer(path, rules)
    from agents.neural import NeuralPlayer

    return NeuralPlayer.load(Path(path), rules)


def _believer(path: str, rules: RuleSet) -> Any:
    """Who says where cards lie by the belief head of a checkpoint folder."""
    from agents.beliefs import Believer

    return Believer.load(Path(path), rules)
