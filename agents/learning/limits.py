"""What a sound gradient step may look like. Past these limits a run stops before the step is taken.

Enters: the parts of a loss and the gradients' norms. Leaves: nothing, or Unsound, which names what is wrong. The limits
lie far beyond whatever trains: they are there to stop a run that has blown up, not to steer one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

LIMITS = {
    # In units of 10 points squared: the critic is 10,000 points off, the most that a match may count (match.points);
    # a hand of the default game pays 35.
    "value_loss": 1e6,
    # Nats that one update moved the policy: 0.005 to 0.03 in training that works, a few where it collapses.
    "kl": 100.0,
}


class Unsound(FloatingPointError):
    """A step that must not be taken. `parts` are its figures, `batch` its minibatch: the columns of a rollout."""

    def __init__(self, told: str, parts: Mapping[str, float]) -> None:
        super().__init__(told)
        self.parts = dict(parts)
        self.batch: dict[str, Tensor] = {}


def check_step(parts: Mapping[str, Tensor], imitate: bool = False) -> None:
    """Unsound if a part [] is not finite or above its limit; while imitating, `kl` says nothing and has none."""
    figures = torch.stack([part.detach().float() for part in parts.values()]).tolist()
    found = dict(zip(parts, figures, strict=True))
    limits = {name: limit for name, limit in LIMITS.items() if not (imitate and name == "kl")}
    wrong = [f"{name} is not finite" for name, figure in found.items() if not math.isfinite(figure)]
    wrong = wrong or [f"{name} is above {limit:g}" for name, limit in limits.items() if found.get(name, 0.0) > limit]
    if wrong:
        raise Unsound(
            f"{', '.join(wrong)} ({', '.join(f'{name} {figure:g}' for name, figure in found.items())})", found
        )


def check_weights(**networks: nn.Module) -> None:
    """Unsound if a weight is not finite: then not even the rollout before the next step could be trusted."""
    for name, network in networks.items():
        if wrong := not_finite(network.state_dict()):
            raise Unsound(f"the step left weights of the {name} that are not finite ({wrong})", {})


def not_finite(tensors: Mapping[str, Tensor]) -> str:
    """The names of the tensors that hold a NaN or an infinity, as text; empty if all are finite."""
    return ", ".join(name for name, tensor in tensors.items() if not torch.isfinite(tensor).all())


@contextmanager
def with_batch(batch: dict[str, Tensor]) -> Iterator[None]:
    """Hands the minibatch to an Unsound that is raised inside."""
    try:
        yield
    except Unsound as error:
        error.batch = batch
        raise
