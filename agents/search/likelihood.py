"""Likelihood: how likely a policy would have made the plays that a View has seen, in each of its worlds.

Enters: Views, worlds of each, a policy network. Leaves: the log of the chance that the other seats do what they did,
were they that policy and those the hands; and weights of the worlds. All their decisions count, bids, statements and
asks too; the viewer's own do not, as they are the same in every world, nor do forced ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from agents.neural import Policy, action_frame, trump_first
from agents.search.worlds import check_worlds, deal_view, is_next, play_next
from malilla_env import RuleSet, engine
from malilla_env.compiled import Array, Int, jit
from malilla_env.observation import encode_views, layout
from malilla_env.policy import BLOCK
from malilla_env.policy import Policy as Exported
from malilla_env.state import NONE, STATE
from malilla_env.table import MAX_PLAYS
from malilla_env.view import VIEW, fill_view, legal_mask

WORLDS = 256  # replayed at a time: their Views fill a few megabytes
# From at most BLOCK Views and their legal actions [n, A], logits [n, A] by action id.
Logits = Callable[[NDArray[np.void], NDArray[np.bool_]], NDArray[np.float64]]


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
    policy: Policy | Exported,
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
    logits = _logits_of(rules, policy)
    for first in range(0, deals.size, WORLDS):
        count = int(_decisions(views, rules.table, orders, first, row, seen, actions, worlds))
        if count < 0:
            view, world = divmod(NONE - count, deals.shape[1])
            raise ValueError(f"view {view}: its plays are not legal from deal {world}")
        for start in range(0, count, BLOCK):
            block = slice(start, min(start + BLOCK, count))
            legal = legal_mask(rules, seen[block])
            logs = log_softmax(logits(seen[block], legal) / temperature, legal)
            np.add.at(total, worlds[block], np.take_along_axis(logs, actions[block, None], axis=1)[:, 0])
    return total.reshape(deals.shape)


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


# --- what the policy says, in blocks of one size: the last bits of a result may depend on it
def _logits_of(rules: RuleSet, policy: Policy | Exported) -> Logits:
    if isinstance(policy, torch.nn.Module):
        policy.eval()
        return lambda views, legal: _network_logits(rules, policy, views, legal)
    return lambda views, legal: _exported_logits(rules, policy, views, legal)


def _block(rules: RuleSet, dtype: Any) -> tuple[NDArray[np.float32], NDArray[Any]]:
    """Zeros for BLOCK observations and masks."""
    return np.zeros((BLOCK, layout(rules).width), np.float32), np.zeros((BLOCK, rules.num_actions), dtype)


def _network_logits(
    rules: RuleSet, policy: Policy, views: NDArray[np.void], legal: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Of a network in its own frame, on the device where it lies."""
    orders = trump_first(views["trump"])
    frame = action_frame(rules, orders)
    observation, mask = _block(rules, np.bool_)
    encode_views(rules, views, orders, out=observation[: len(views)])
    mask[: len(views)] = np.take_along_axis(legal, frame, axis=1)
    device = next(policy.parameters()).device
    with torch.inference_mode():
        framed = policy(*(torch.from_numpy(array).to(device) for array in (observation, mask)))
    logits = np.zeros(legal.shape)
    np.put_along_axis(logits, frame, framed[: len(views)].double().cpu().numpy(), axis=1)
    return logits


def _exported_logits(
    rules: RuleSet, policy: Exported, views: NDArray[np.void], legal: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Of an exported policy, which holds the change of frame inside."""
    observation, mask = _block(rules, np.float32)
    encode_views(rules, views, out=observation[: len(views)])
    mask[: len(views)] = legal
    return policy.logits(observation, mask)[: len(views)].astype(np.float64)
