"""Muon: steps of one size in all directions of a weight matrix (Jordan et al. 2024).

Enters: parameters that are matrices, with gradients. Leaves: the parameters, changed in place. PyTorch's own rounds the
iteration to bfloat16, which most CPUs emulate ten times slower; this one computes in the parameters' precision.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

QUINTIC = (3.4445, -4.7750, 2.0315)  # coefficients of the iteration, fast near 0 and within 0.7 to 1.2 at the end
ITERATIONS = 5


def orthogonal(matrices: Tensor) -> Tensor:
    """The nearest matrices [..., m, n] whose singular values are all about 1, by Newton-Schulz iteration."""
    a, b, c = QUINTIC
    upright = matrices.shape[-2] > matrices.shape[-1]
    x = matrices.mT if upright else matrices
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(ITERATIONS):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return x.mT if upright else x


class Muon(torch.optim.Optimizer):
    """Gradient descent with Nesterov momentum whose steps are made orthogonal: `lr` is the size of each direction.

    Tall matrices take larger steps, by the root of their height over their width, so that outputs change alike.
    """

    def __init__(self, matrices: Iterable[Tensor], lr: float, momentum: float = 0.95) -> None:
        super().__init__(matrices, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> None:  # type: ignore[override]
        """Move every matrix; those of one shape are made orthogonal together. There is no use for a closure."""
        for group in self.param_groups:
            alike: dict[torch.Size, list[Tensor]] = defaultdict(list)
            for matrix in group["params"]:
                alike[matrix.shape].append(matrix)
            for (height, width), matrices in alike.items():
                rate = group["lr"] * max(1.0, height / width) ** 0.5
                ahead = torch.stack([self._ahead(matrix, group["momentum"]) for matrix in matrices])
                for matrix, direction in zip(matrices, orthogonal(ahead), strict=True):
                    matrix.add_(direction, alpha=-rate)

    def _ahead(self, matrix: Tensor, momentum: float) -> Tensor:
        """The gradient as Nesterov's momentum sees it."""
        gradient, state = matrix.grad, self.state[matrix]
        assert gradient is not None, "every matrix of a network takes part in its loss"
        if "momentum" not in state:
            state["momentum"] = torch.zeros_like(matrix)
        mean: Tensor = state["momentum"].lerp_(gradient, 1 - momentum)
        return gradient.lerp(mean, momentum)
