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

    def lesson(
        self, views: NDArray[np.void], keys: NDArray[np.uint64], frame: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """float32 [B, A]: logits of the moves in the network's frame, -inf for those that it would not make."""
        scores: Any = getattr(self.agent, "scores", None)
        if scores is None:
            made = frame == np.asarray(self.agent.act(views, keys))[:, None]
            return np.where(made, np.float32(0), np.float32(-np.inf))
        worth = np.take_along_axis(scores(views), frame, axis=1) / self.temperature
        return (worth - worth.max(axis=1, keepdims=True)).astype(np.float32)  # type: ignore[no-any-return]
