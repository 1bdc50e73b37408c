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
LOWEST_LOGIT = -1e8  # of a legal action: whatever a network comes to, none falls below the illegal ones


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
        return self.answer(self.hidden(observation, legal), legal)

    def hidden(self, observation: Tensor, legal: Tensor) -> tuple[Tensor, Tensor]:
        """The last hidden layer, as `SuitMLP.hidden` gives it."""
        rows = torch.cat([observation, legal.to(observation.dtype)], dim=1)
        return self.body.hidden(rows if self.training else rows.double())

    def answer(self, hidden: tuple[Tensor, Tensor], legal: Tensor) -> Tensor:
        """The masked logits [B, A] of a hidden layer."""
        return torch.where(legal > 0, self.body.answer(*hidden).float().clamp(min=LOWEST_LOGIT), ILLEGAL_LOGIT)


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


def framed(
    rules: RuleSet, views: NDArray[np.void], legal: NDArray[np.bool_], device: torch.device
) -> tuple[Tensor, Tensor]:
    """Observations and masks of at most BLOCK Views [n] in the network's frame, and rows of zeros up to BLOCK."""
    orders = trump_first(views["trump"])
    observation = np.zeros((BLOCK, layout(rules).width), np.float32)
    encode_views(rules, views, orders, out=observation[: len(views)])
    mask = np.zeros((BLOCK, rules.num_actions), np.bool_)
    mask[: len(views)] = np.take_along_axis(legal, action_frame(rules, orders), axis=1)
    return torch.from_numpy(observation).to(device), torch.from_numpy(mask).to(device)


class NeuralPlayer:
    """Plays the likeliest legal action of a policy network, on the device where the network lies."""

    sees_all = False

    def __init__(self, rules: RuleSet, policy: Policy, name: str = "policy") -> None:
        self.rules, self.name, self.policy = rules, name, policy.eval()

    @classmethod
    def load(cls, path: Path, rules: RuleSet) -> NeuralPlayer:
        """Of a checkpoint, a run folder or a packed file; ValueError if it was trained for another game or layout."""
        from agents.learning.stored import load_policy

        return cls(rules, load_policy(path, rules), name=path.name)

    def act(self, views: NDArray[np.void], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """int [B]: an action for each View; 0 where the game is over."""
        return play_in_blocks(self.rules, views, self.logits)

    def logits(self, views: NDArray[np.void], legal: NDArray[np.bool_]) -> NDArray[np.float64]:
        """float64 [n, A]: of at most BLOCK Views [n] and their masks [n, A], in one block of exactly BLOCK rows."""
        with torch.inference_mode():
            answer = self.policy(*framed(self.rules, views, legal, next(self.policy.parameters()).device))
        logits, frame = np.zeros(legal.shape), action_frame(self.rules, trump_first(views["trump"]))
        np.put_along_axis(logits, frame, answer[: len(views)].double().cpu().numpy(), axis=1)
        return logits
