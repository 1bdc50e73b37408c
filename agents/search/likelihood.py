"""Likelihood: how likely a policy would have made the plays that a View has seen, in each of its worlds; and how
likely a belief head thinks it that the cards lie as in that world.

Enters: Views, worlds of each, a player with logits or a head. Leaves: the log of the chance that the other seats did
what they did, were they that policy and those the hands, or of the head's; and weights of the worlds. All decisions of
the others count, bids, statements and asks too; the viewer's own do not, as they are the same in every world, nor do
forced ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from agents.search.worlds import check_worlds, deal_view, is_next, play_next, states
from malilla_env import RuleSet, engine
from malilla_env.compiled import Array, Int, jit
from malilla_env.policy import BLOCK
from malilla_env.state import NONE, STATE
from malilla_env.table import MAX_PLAYS
from malilla_env.view import VIEW, fill_view, legal_mask

if TYPE_CHECKING:  # an exported policy needs no PyTorch
    from agents.beliefs import Believer
    from agents.neural import NeuralPlayer
    from malilla_env.policy import OnnxPlayer

    Policy = NeuralPlayer | OnnxPlayer

WORLDS = 256  # replayed at a time: their Views fill a few megabytes


@jit
def _decisions(
    views: Array, table: Array, orders: Array, first: Int, row: Array, seen: Array, actions: Array, worlds: Array
) -> Int:
    """List what the other seats saw and did in worlds `first`, `first` + 1, ... of views; answers how many they are.

    -1 - w: world w is none of its View.
    """
    rules, each, count = table[0], orders.shape[1], 0
    for world in range(first, min(first + WORLDS, len(views) * each)):
        view = views[world // each]
        row[0] = row[1]
        for place in range(orders.shape[2]):
            row[0]["deck"][place] = orders[world // each, world % each, place]
        deal_view(view, rules, row[0])
        for play in range(view["num_plays"]):
            if not is_next(view, play, rules, row[0]):
                return -1 - world
            if row[0]["seat"] != view["seat"] and engine.num_legal(row[0]) > 1:
                fill_view(row[0], rules, row[0]["seat"], seen[count])
                actions[count], worlds[count] = view["plays"][play], world
                count += 1
            play_next(view, play, rules, row[0])
    return count


def log_likelihood(
    rules: RuleSet,
    views: NDArray[np.void],
    deals: NDArray[np.void],
    policy: Policy,
    temperature: float = 1.0,
) -> NDArray[np.float64]:
    """float64 [B, K]: of what the other seats did in worlds `deals` [B, K] of each View (VIEW [B]), as `sample` makes.

    The policy's logits are divided by the temperature: the higher it is, the less a play tells. In a View of a game
    that is over, the score at the time of its plays is taken to have been the last one. ValueError: a temperature that
    is not above 0, or a deal that does not lead to its View.
    """
    if not 0 < temperature < np.inf:
        raise ValueError(f"temperature {temperature} must be above 0")
    check_worlds(rules, views, deals)
    orders, total = np.ascontiguousarray(deals["cards"]), np.zeros(deals.size)
    row, seen = np.zeros(2, STATE), np.zeros(WORLDS * MAX_PLAYS, VIEW)
    actions, worlds = np.zeros(len(seen), np.int64), np.zeros(len(seen), np.int64)
    for first in range(0, deals.size, WORLDS):
        count = int(_decisions(views, rules.table, orders, first, row, seen, actions, worlds))
        if count < 0:
            view, world = divmod(NONE - count, deals.shape[1])
            raise ValueError(f"view {view}: its plays are not legal from deal {world}")
        for start in range(0, count, BLOCK):
            block = slice(start, min(start + BLOCK, count))
            legal = legal_mask(rules, seen[block])
            logs = log_softmax(policy.logits(seen[block], legal) / temperature, legal)
            np.add.at(total, worlds[block], np.take_along_axis(logs, actions[block, None], axis=1)[:, 0])
    return total.reshape(deals.shape)


def log_belief(
    rules: RuleSet, views: NDArray[np.void], deals: NDArray[np.void], believer: Believer
) -> NDArray[np.float64]:
    """float64 [B, K]: the sum over the unseen cards of the log of the chance that each lies where a world has it.

    Deals [B, K] are worlds of the Views (VIEW [B], of seats on turn), as `sample` makes; ValueError for any other.
    """
    from agents.beliefs import held

    lies = held(rules, np.repeat(views["seat"], deals.shape[1]), states(rules, views, deals))
    chances = believer.log_chances(views)
    return np.einsum("bkhc,bhc->bk", lies.reshape(*deals.shape, *chances.shape[1:]), chances)


def log_softmax(logits: NDArray[np.float64], legal: NDArray[np.bool_]) -> NDArray[np.float64]:
    """float64 [n, A]: the logs of the chances of the legal actions, -inf for the others."""
    masked = np.where(legal, logits, -np.inf)
    masked -= masked.max(axis=1, keepdims=True)
    result: NDArray[np.float64] = masked - np.log(np.exp(masked).sum(axis=1, keepdims=True))
    return result


def weigh(log_likelihoods: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64 [B, K]: the worlds' weights, in proportion to their likelihoods; those of a View sum to 1."""
    logs = np.asarray(log_likelihoods, np.float64)
    if logs.ndim != 2 or not logs.shape[1] or not np.isfinite(logs).all():
        raise ValueError("log_likelihoods must be finite numbers [B, K], of one world or more")
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    normalised: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return normalised
