"""Agent: what everything that plays looks like, from the outside.

Enters: a batch of Views and a random key for each decision. Leaves: a batch of action ids. An agent keeps no memory
between calls and draws its randomness from the keys alone, so that its play does not depend on how games are batched.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray


@runtime_checkable
class Agent(Protocol):
    """A player. Any object of this shape will do; nothing needs to inherit from it.

    An agent that also has ``sees_all = True`` is shown every hand: the arena calls ``act(views, keys, states)`` with
    the STATE rows as well, and its tables mark it as cheating. One that has ``scores(views) -> float [B, A]``, points
    for each legal action up to a constant and -inf for the others, makes the better teacher.
    """

    @property
    def name(self) -> str: ...

    def act(self, views: NDArray[np.void], keys: NDArray[np.uint64]) -> NDArray[np.integer[Any]]:
        """int [B]: an action id for each View [B], its chances taken from keys [B].

        Where a View is of a game that is over (``turn`` is -1, nothing is legal) the answer is ignored.
        """
        ...
