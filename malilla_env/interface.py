"""What the PettingZoo and the Gymnasium environment have in common: spaces, actions, reset options, render modes.

Enters: a rule set, the options of a reset. Leaves: Gymnasium spaces, and the options as `GameBatch.reset` takes them.
Every environment makes its own spaces, because a space carries a random stream.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from malilla_env.observation import Layout
from malilla_env.rules import RuleSet

RENDER_MODES = ["human", "ansi", "rgb_array"]
OPTIONS = ("deal", "match_score", "albur")


class ActionSpace(spaces.Discrete):
    """`Discrete` over the action ids, with masked samples that are drawn many times as fast.

    A mask that allows nothing is refused, where `Discrete` would answer action 0.
    """

    def sample(self, mask: NDArray[np.int8] | None = None, probability: Any = None) -> np.int64:
        """A random action id: of those that the mask (int8 [A]) allows, if one is given.

        ValueError: the mask is all zeros, as it is off turn and when a game is over.
        """
        if probability is not None or not isinstance(mask, np.ndarray) or mask.dtype != np.int8 or len(mask) != self.n:
            return np.int64(super().sample(mask, probability))
        allowed = mask.nonzero()[0]
        if not len(allowed):
            raise ValueError("the mask allows no action: this seat is not on turn, or the game is over")
        action: np.int64 = allowed[int(self.np_random.random() * len(allowed))]
        return action


def action_id(action: Any) -> int:
    """The action as an int; ValueError for what is no whole number, True and False among it."""
    try:
        if action is not True and action is not False:
            return operator.index(action)
    except TypeError:
        pass
    raise ValueError(f"an action must be an action id, not {action!r}")


def action_space(rules: RuleSet) -> ActionSpace:
    return ActionSpace(rules.num_actions)


def vector_space(plan: Layout) -> spaces.Space[NDArray[np.float32]]:
    """`Box`: float32 [D], every value within -1 and 1, laid out as `plan` says."""
    space: spaces.Space[Any] = spaces.Box(-1.0, 1.0, (plan.width,), np.float32)
    return space


def masked_space(rules: RuleSet, plan: Layout) -> spaces.Dict:
    """The vector together with the mask of the legal actions (int8 [A])."""
    mask = spaces.Box(0, 1, (rules.num_actions,), np.int8)
    return spaces.Dict({"observation": vector_space(plan), "action_mask": mask})


def check_render_mode(mode: str | None) -> str | None:
    """The mode itself; ValueError if there is no such."""
    if mode not in (None, *RENDER_MODES):
        raise ValueError(f"render_mode {mode!r} must be one of {', '.join(RENDER_MODES)}")
    return mode


def reset_options(options: dict[str, Any] | None) -> dict[str, Any]:
    """Arguments for `GameBatch.reset`: "deal" (a row of `malilla_env.deal`), "match_score" (integers [T]), "albur".

    An albur is two card ids, drawn by the dealer's right and by the dealer (RULES 1.6.3); -1 and -1 for no draw.
    ValueError names an unknown option. One called "options" is let pass: PettingZoo's api_test sends it.
    """
    given = options or {}
    for name in given:
        if name not in (*OPTIONS, "options"):
            raise ValueError(f"unknown reset option {name!r}: choose among {', '.join(OPTIONS)}")
    deal = given.get("deal")
    arguments = {name: given.get(name) for name in ("match_score", "albur")}
    return {**arguments, "deals": None if deal is None else np.atleast_1d(deal)}
