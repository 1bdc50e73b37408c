"""A player at the arena's table: an agent whose answers are checked.

Enters: an agent, the lanes it is asked about. Leaves: action ids; or a PlayError of one sentence that says who did
what, where, and what was legal. Illegal plays are the referee's matter (RULES 1.4.1): they are let through and counted,
and the first is kept to be told.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from traceback import extract_tb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.base import Agent
from malilla_env import GameBatch
from malilla_env.view import legal_mask


class PlayError(ValueError):
    """A player that cannot go on: it failed, or answered with something that is no action."""


@dataclass
class Player:
    """An agent under the name that tables give it, and what it did wrong."""

    name: str
    agent: Agent
    reneges: int = 0
    first_renege: str = ""  # a sentence
    seconds: float = 0.0  # that it took for its answers
    decisions: int = 0  # answers in which it had a choice

    @property
    def cheats(self) -> bool:
        """Whether it is shown every hand."""
        return bool(getattr(self.agent, "sees_all", False))

    @property
    def label(self) -> str:
        """The name as a table shows it: whoever sees all hands is marked."""
        return f"{self.name} (cheats: sees all hands)" if self.cheats else self.name

    @property
    def pace(self) -> float:
        """Milliseconds a decision, forced moves not counted; lanes are asked together, so one alone may take longer."""
        return 1000 * self.seconds / max(self.decisions, 1)

    def choose(
        self, games: GameBatch, lanes: NDArray[np.intp], views: NDArray[np.void], keys: NDArray[np.uint64]
    ) -> NDArray[np.int64]:
        """int64 [n]: the agent's actions in some lanes of a batch, given copies of their Views [n] and keys [n]."""
        mask = legal_mask(games.rules, views)  # taken before the agent can write on its Views
        began = perf_counter()
        try:
            answer = np.asarray(self.agent.act(views, keys, *((games.state[lanes],) if self.cheats else ())))
        except Exception as error:  # whatever a user's own player does
            raise PlayError(f"player {self.name!r} failed: {_told(error)}") from error
        self.seconds += perf_counter() - began
        self.decisions += int((mask.sum(axis=1) > 1).sum())
        if answer.shape != (len(lanes),) or answer.dtype.kind not in "iu":
            raise PlayError(
                f"player {self.name!r}: act(views, keys) must return {len(lanes)} integers, an action id for each "
                f"view, not {answer.dtype} of shape {answer.shape}"
            )
        self._check(games, lanes, mask, answer)
        return answer.astype(np.int64)

    def _check(
        self, games: GameBatch, lanes: NDArray[np.intp], mask: NDArray[np.bool_], answer: NDArray[np.integer[Any]]
    ) -> None:
        """Refuse what is no action id; count what is an illegal play, or refuse that too if the rule set does."""
        in_range = (answer >= 0) & (answer < games.rules.num_actions)
        legal = in_range & mask[np.arange(len(mask)), np.where(in_range, answer, 0)]
        wrong = np.flatnonzero(~legal)
        if not len(wrong):
            return
        refused = np.flatnonzero(~in_range) if games.rules.illegal != "raise" else wrong
        if len(refused):
            raise PlayError(self._sentence(games, int(lanes[refused[0]]), int(answer[refused[0]])))
        self.first_renege = self.first_renege or self._sentence(games, int(lanes[wrong[0]]), int(answer[wrong[0]]))
        self.reneges += len(wrong)

    def _sentence(self, games: GameBatch, lane: int, action: int) -> str:
        row, rules = games.state[lane], games.rules
        inside = 0 <= action < rules.num_actions
        what = f"{rules.action_names[action]} (action {action})" if inside else f"action {action}"
        why = "is illegal" if inside else f"is no id in 0..{rules.num_actions - 1}"
        mask = legal_mask(rules, games.state[lane : lane + 1])[0]
        where = f"lane {lane} (deal {row['stream']}, hand {row['hand_number']}), seat {row['seat']}"
        return f"player {self.name!r} in {where}: {what} {why}; legal: {' '.join(np.array(rules.action_names)[mask])}"


def _told(error: Exception) -> str:
    """An error in a line: what, and where in the player's code."""
    where = extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})"
