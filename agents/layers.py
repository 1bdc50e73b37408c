"""Layers that treat the side suits alike: what is learned of one holds for the others, in whatever order they stand.

Enters: vectors in the network's frame, trump first. Leaves: a network whose answer moves with the side suits when they
change places. Permutation-equivariant layers (Zaheer et al. 2017, Deep Sets): each side suit has units of its own, and
all three share their weights; the trump suit and everything that is of no suit have units beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from malilla_env import RuleSet
from malilla_env.observation import Layout

SIDES = 3  # suits besides the trump suit


@dataclass(frozen=True)
class Places:
    """Which entries of a vector belong to no side suit, and which to each of them, in the same order for each."""

    common: NDArray[np.int64]  # [C]
    sides: NDArray[np.int64]  # [3, S]

    def __add__(self, other: Places) -> Places:
        """The places of two vectors, one behind the other."""
        after = len(self)
        common = np.concatenate([self.common, after + other.common])
        return Places(common, np.concatenate([self.sides, after + other.sides], axis=1))

    def __len__(self) -> int:
        return len(self.common) + self.sides.size

    @property
    def sizes(self) -> tuple[int, int]:
        """C and S."""
        return len(self.common), self.sides.shape[1]

    @property
    def order(self) -> NDArray[np.int64]:
        """int [N]: the entry in each place once the vector is grouped: what is common, then suit by suit."""
        return np.concatenate([self.common, self.sides.ravel()])


def common_places(count: int) -> Places:
    """Of a vector that says nothing of single suits."""
    return Places(np.arange(count), np.zeros((SIDES, 0), np.int64))


def action_places(rules: RuleSet) -> Places:
    """Of a vector of actions: cards have suits, and so have the last of the others, which come in fours."""
    cards = np.arange(4 * rules.ranks).reshape(4, rules.ranks)
    spoken = np.arange(rules.first_suit_action, rules.num_actions).reshape(-1, 4).T
    suits = np.concatenate([cards, spoken], axis=1)
    return Places(np.concatenate([suits[0], np.arange(4 * rules.ranks, rules.first_suit_action)]), suits[1:])


def layout_places(plan: Layout) -> Places:
    """Of an observation or state: a block whose last axis is cards or suits has a part for each suit."""
    common, sides = [], []
    for block in plan.blocks:
        entries = np.arange(plan.width)[plan.slices[block.name]].reshape(plan.shapes[block.name])
        if block.axes[-1] in ("card", "suit"):
            suits = np.moveaxis(entries.reshape(*entries.shape[:-1], 4, -1), -2, 0).reshape(4, -1)
            common.append(suits[0])
            sides.append(suits[1:])
        else:
            common.append(entries.ravel())
    return Places(np.concatenate(common), np.concatenate(sides, axis=1))


def card_places(holders: int, ranks: int) -> Places:
    """Of a table [holders, cards], row by row."""
    suits = np.arange(holders * 4 * ranks).reshape(holders, 4, ranks).swapaxes(0, 1).reshape(4, -1)
    return Places(suits[0], suits[1:])


def unit_places(width: int) -> Places:
    """Of a hidden layer, grouped: a quarter of its units for each side suit, the others common."""
    each = width // 4
    return Places(np.arange(width - SIDES * each), np.arange(width - SIDES * each, width).reshape(SIDES, each))


class SuitLinear(nn.Module):
    """A linear layer between grouped vectors, its weights shared by the side suits.

    Every output sees what is common and the sum over the side suits; a side suit's output sees its own suit besides.
    """

    def __init__(self, inputs: Places, outputs: Places) -> None:
        super().__init__()
        (seen, alike), (self.given, made) = inputs.sizes, outputs.sizes
        bound = len(inputs) ** -0.5  # as nn.Linear starts

        def uniform(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(shape).uniform_(-bound, bound))

        self.shared, self.own = uniform(self.given + made, seen + alike), uniform(made, alike)
        self.bias = uniform(self.given + made)

    def forward(self, common: Tensor, sides: Tensor) -> tuple[Tensor, Tensor]:
        """[B, C] and [B, 3, S] -> [B, C'] and [B, 3, S'], computed in the rows' precision."""
        shared, own, bias = (weight.to(common.dtype) for weight in (self.shared, self.own, self.bias))
        seen = functional.linear(torch.cat([common, sides.sum(dim=1)], dim=1), shared, bias)
        return seen[:, : self.given], functional.linear(sides, own) + seen[:, None, self.given :]


class SuitMLP(nn.Module):
    """Suit-sharing layers with ReLU between them; the last starts near zero: training starts from level play."""

    def __init__(self, inputs: Places, hidden: Sequence[int], outputs: Places) -> None:
        super().__init__()
        places = [inputs, *(unit_places(width) for width in hidden), outputs]
        self.layers = nn.ModuleList(SuitLinear(*pair) for pair in pairwise(places))
        with torch.no_grad():
            for weight in self.layers[-1].parameters():
                weight.mul_(0.01)
            self.layers[-1].bias.zero_()  # type: ignore[operator]
        self.common, self.sides = inputs.sizes
        self.register_buffer("enter", torch.from_numpy(inputs.order), persistent=False)
        self.register_buffer("leave", torch.from_numpy(outputs.order.argsort()), persistent=False)

    def forward(self, rows: Tensor) -> Tensor:
        """[B, inputs] -> [B, outputs], in the frame's own order; computed in the rows' precision."""
        return self.answer(*self.hidden(rows))

    def hidden(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """[B, inputs] -> the last hidden layer, [B, C] and [B, 3, S]: together the units of `unit_places`."""
        grouped = rows.index_select(1, self.enter)  # type: ignore[arg-type]
        common, sides = grouped[:, : self.common], grouped[:, self.common :].reshape(-1, SIDES, self.sides)
        for layer in self.layers[:-1]:
            common, sides = map(functional.relu, layer(common, sides))
        return common, sides

    def answer(self, common: Tensor, sides: Tensor) -> Tensor:
        """[B, outputs] of what `hidden` gave."""
        common, sides = self.layers[-1](common, sides)
        return torch.cat([common, sides.flatten(1)], dim=1).index_select(1, self.leave)  # type: ignore[arg-type]

    def matrices(self) -> list[nn.Parameter]:
        """The weight matrices between the entry and the last hidden layer."""
        return [weight for layer in self.layers[:-1] for weight in layer.parameters() if weight.ndim == 2]
