"""A teacher: a player whose play the networks learn before they play themselves.

Enters: an agent and a temperature; then Views. Leaves: a lesson, the logits of the moves that it would make there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.base import Agent


@dataclass(frozen=True)
class Teacher:
    """Shows how good it thinks each move, if its agent has `scores` (points [B, A]), else the move it makes."""

    agent: Agent
    temperature: float = 1.0  # points: a move that is worth so much less is shown 1/e as often

    def __post_init__(self) -> None:
        if getattr(self.agent, "sees_all", False):
            raise ValueError(f"imitation.player {self.agent.name} sees all hands: what it plays cannot be learned")

    def lesson(
        self, views: NDArray[np.void], keys: NDArray[np.uint64], frame: NDArray[np.int64], legal: NDArray[np.bool_]
    ) -> NDArray[np.float32]:
        """float32 [B, A]: logits of the moves in the network's frame, -inf for those that it would not make.

        ``legal`` bool [B, A] is in that frame too. ValueError if the agent would make no legal move.
        """
        worth = np.where(legal, self._worth(views, keys, frame), -np.inf)
        best = worth.max(axis=1, keepdims=True)
        if not np.isfinite(best).all():
            raise ValueError(f"imitation.player {self.agent.name} made no legal move: it cannot be learned from")
        return ((worth - best) / self.temperature).astype(np.float32)  # type: ignore[no-any-return]

    def _worth(
        self, views: NDArray[np.void], keys: NDArray[np.uint64], frame: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """[B, A], in the frame: what the agent thinks of each move in points, or 0 for the move it makes."""
        scores: Any = getattr(self.agent, "scores", None)
        if scores is None:
            return np.where(frame == np.asarray(self.agent.act(views, keys))[:, None], 0.0, -np.inf)
        return np.take_along_axis(scores(views), frame, axis=1)  # type: ignore[no-any-return]
