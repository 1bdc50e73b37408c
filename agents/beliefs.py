"""Beliefs: where each card that a seat has not seen lies, told by a head on the policy's last hidden layer.

Enters: that layer and the observation, in the network's frame (a network); or Views (`Believer`). Leaves: for each card
the log of the chance that each *holder* has it. Holders are the other seats in playing order, from the one after the
viewer; where a hand is dealt face down, nobody is the last. Cards that a holder cannot have, by what is public, have
chance 0. Each card is told by itself: that hands have sizes is for the network to learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from agents.layers import SuitMLP, card_places, layout_places, unit_places
from agents.neural import ILLEGAL_LOGIT, Policy, framed, trump_first
from malilla_env import RuleSet
from malilla_env.observation import Layout, card_frame, layout, state_layout
from malilla_env.policy import BLOCK
from malilla_env.view import legal_mask


def num_holders(rules: RuleSet) -> int:
    return rules.num_seats - 1 + rules.dead_hand


class Beliefs(nn.Module):
    """Log-chances [B, H, C] of who holds each card, from a policy's hidden layer of `width` units and the observation.

    It reads the observation too: a single layer on the hidden one alone had learned nothing after half a million
    decisions. `widths` are of hidden layers of the head's own. Each card's chances sum to 1 over the holders that are
    possible; impossible ones, and cards that were seen, have ILLEGAL_LOGIT, whose exponential is 0. It starts near the
    uniform guess.
    """

    def __init__(self, rules: RuleSet, width: int, widths: Sequence[int]) -> None:
        super().__init__()
        self.rules, self.shape = rules, (num_holders(rules), 4 * rules.ranks)
        places = layout_places(layout(rules)) + unit_places(width)
        self.body = SuitMLP(places, widths, card_places(num_holders(rules), rules.ranks))

    def forward(self, hidden: tuple[Tensor, Tensor], observation: Tensor) -> Tensor:
        """Of `Policy.hidden` and the observations [B, D] that it read; in the layer's precision, float32 at least."""
        can = possible(self.rules, observation)
        rows = torch.cat([observation, hidden[0], hidden[1].flatten(1)], dim=1)
        told = self.body(rows).unflatten(1, self.shape)
        told = told.to(torch.promote_types(told.dtype, torch.float32))  # bfloat16 has two digits, too few for a loss
        logits = torch.where(can, told, ILLEGAL_LOGIT)
        return torch.where(can, logits.log_softmax(dim=1), ILLEGAL_LOGIT)


def possible(rules: RuleSet, observation: Tensor) -> Tensor:
    """bool [B, H, C]: whom observations [B, D] leave as holders of each card; nobody of those that were seen."""
    plan = layout(rules)
    can = block(plan, observation, "may_hold")
    if rules.dead_hand:
        known = [block(plan, observation, name).flatten(1, -2) for name in ("played", "shown") if name in plan.slices]
        known += [block(plan, observation, name)[:, None] for name in ("hand", "turned")]
        can = torch.cat([can, 1 - torch.cat(known, dim=1).amax(dim=1, keepdim=True)], dim=1)
    return can > 0


def true_holders(rules: RuleSet, state: Tensor) -> Tensor:
    """bool [B, H, C]: who holds each card, out of full states [B, E]."""
    plan = state_layout(rules)
    holders = block(plan, state, "hands")[:, 1:]
    if rules.dead_hand:
        holders = torch.cat([holders, block(plan, state, "face_down")[:, None]], dim=1)
    return holders > 0


def block(plan: Layout, rows: Tensor, name: str) -> Tensor:
    """[B, *axes]: a block of encoded rows [B, D]."""
    return rows[:, plan.slices[name]].unflatten(1, plan.shapes[name])


def held(rules: RuleSet, viewers: NDArray[np.integer], states: NDArray[np.void]) -> NDArray[np.bool_]:
    """bool [n, H, C]: who holds each card, by its id, in games (STATE [n]) as seen from seats [n]."""
    seats = (viewers[:, None] + np.arange(1, rules.num_seats)) % rules.num_seats
    holders = np.take_along_axis(states["hands"], seats, axis=1)
    if rules.dead_hand:
        holders = np.concatenate([holders, states["face_down"][:, None]], axis=1)
    lies = holders[:, :, None] >> np.arange(4 * rules.ranks, dtype=np.uint64) & np.uint64(1)
    return lies.astype(np.bool_)


class Believer:
    """Tells for Views who holds each card, by a policy and its belief head."""

    def __init__(self, rules: RuleSet, policy: Policy, beliefs: Beliefs) -> None:
        self.rules, self.policy, self.beliefs = rules, policy.eval(), beliefs.eval()

    @classmethod
    def load(cls, path: Path, rules: RuleSet) -> Believer:
        """Of a checkpoint or run folder; ValueError if it has no belief head, or was trained for another game."""
        from agents.learning.stored import load_beliefs

        return cls(rules, *load_beliefs(path, rules))

    def log_chances(self, views: NDArray[np.void]) -> NDArray[np.float64]:
        """float64 [n, H, C] of Views (VIEW [n]) of seats on turn, cards by their ids; far below -1e8 for chance 0."""
        chances = np.empty((len(views), *self.beliefs.shape))
        for start in range(0, len(views), BLOCK):
            rows = slice(start, start + BLOCK)
            chances[rows] = self._block(views[rows])
        return chances

    def _block(self, views: NDArray[np.void]) -> NDArray[np.float64]:
        """The same of at most BLOCK Views, in one block of exactly BLOCK rows."""
        device = next(self.policy.parameters()).device
        observation, mask = framed(self.rules, views, legal_mask(self.rules, views), device)
        with torch.inference_mode():
            answer = self.beliefs(self.policy.hidden(observation, mask), observation)[: len(views)].cpu().numpy()
        chances = np.empty(answer.shape)
        places = card_frame(self.rules, trump_first(views["trump"]))[:, None]
        np.put_along_axis(chances, np.broadcast_to(places, answer.shape), answer, axis=2)
        return chances
