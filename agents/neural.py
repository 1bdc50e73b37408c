"""The networks, and a player that plays with one forward pass.

Enters: Views (a player), or observations and masks (a network). Leaves: actions, or logits and values. A network works
in a frame of its own, the trump suit first, and treats the side suits alike, so that it learns each situation once. The
critic sees all hands; it serves training and is never used to play.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from agents.layers import SuitMLP, action_places, common_places, layout_places
from malilla_env import RuleSet
from malilla_env.observation import card_frame, encode_views, layout, state_layout
from malilla_env.policy import BLOCK, play_in_blocks

ILLEGAL_LOGIT = -1e9  # large and finite: a row without legal actions gives equal logits, not NaN


class Policy(nn.Module):
    """Masked logits [B, A] from observations [B, D] and legal actions [B, A], both in the network's frame.

    After `eval()`, as it plays and is exported, every sum is in float64: a trained policy's logits reach 30 and more,
    where two libraries' float32 sums differ by over 1e-5.
    """

    def __init__(self, rules: RuleSet, hidden: Sequence[int]) -> None:
        super().__init__()
        actions = action_places(rules)
        self.body = SuitMLP(layout_places(layout(rules)) + actions, hidden, actions)

    def forward(self, observation: Tensor, legal: Tensor) -> Tensor:
        rows = torch.cat([observation, legal.to(observation.dtype)], dim=1)
        logits = self.body(rows if self.training else rows.double())
        return torch.where(legal > 0, logits.float(), ILLEGAL_LOGIT)


class Critic(nn.Module):
    """The points still to come [B, T], in units of `agents.learning.rollout.POINTS`, from states with all hands open.

    Sides are relative to the seat to act: its own first.
    """

    def __init__(self, rules: RuleSet, hidden: Sequence[int]) -> None:
        super().__init__()
        self.body = SuitMLP(layout_places(state_layout(rules)), hidden, common_places(rules.num_teams))

    def forward(self, state: Tensor) -> Tensor:
        return self.body(state).float()  # type: ignore[no-any-return]


def trump_first(trumps: NDArray[Any]) -> NDArray[np.int64]:
    """int [B, 4]: a suit order for each row, trump first (id order without one), the others in id order."""
    orders = np.array([[trump, *(suit for suit in range(4) if suit != trump)] for trump in range(4)])
    return orders[np.maximum(np.asarray(trumps, np.int64), 0)]


def action_frame(rules: RuleSet, orders: NDArray[np.int64]) -> NDArray[np.int64]:
    """int [B, A]: the action id in each place of the network's frame; those that speak of no suit keep their place."""
    cards, rows = card_frame(rules, orders), len(orders)
    others = np.broadcast_to(
        np.arange(cards.shape[1], rules.first_suit_action), (rows, rules.first_suit_action - cards.shape[1])
    )
    fours = np.arange(rules.first_suit_action, rules.num_actions, 4)
    spoken = (fours[:, None] + orders[:, None, :]).reshape(rows, 4 * len(fours))
    return np.concatenate([cards, others, spoken], axis=1)


class NeuralPlayer:
    """Plays the likeliest legal action of a policy network, on the device where the network lies."""

    sees_all = False

    def __init__(self, rules: RuleSet, policy: Policy, name: str = "policy") -> None:
        self.rules, self.name, self.policy = rules, name, policy.eval()

    @classmethod
    def load(cls, path: Path, rules: RuleSet) -> NeuralPlayer:
        """The player of a checkpoint or run folder; ValueError if it was trained for another game or layout."""
        from agents.learning.checkpoint import load_policy

        return cls(rules, load_policy(path, rules), name=path.name)

    def act(self, views: NDArray[np.void], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """int [B]: an action for each View; 0 where the game is over."""
        return play_in_blocks(self.rules, views, self._choose)

    def _choose(self, views: NDArray[np.void], legal: NDArray[np.bool_]) -> NDArray[np.int64]:
        """int [n]: the likeliest actions of at most BLOCK Views, computed in one block of exactly BLOCK rows."""
        orders = trump_first(views["trump"])
        frame = action_frame(self.rules, orders)
        observation = np.zeros((BLOCK, layout(self.rules).width), np.float32)
        encode_views(self.rules, views, orders, out=observation[: len(views)])
        mask = np.zeros((BLOCK, self.rules.num_actions), np.bool_)
        mask[: len(views)] = np.take_along_axis(legal, frame, axis=1)
        device = next(self.policy.parameters()).device
        with torch.inference_mode():
            logits = self.policy(*(torch.from_numpy(array).to(device) for array in (observation, mask)))
        best = logits[: len(views)].argmax(dim=1).cpu().numpy()
        chosen: NDArray[np.int64] = np.take_along_axis(frame, best[:, None], axis=1)[:, 0]
        return chosen
