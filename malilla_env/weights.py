"""What the heuristic knows, by name, and its weights: a set for each kind of game, chosen by what the rules say.

Enters: a rule set, the names of ideas to do without. Leaves: the weights. They were fitted to rollouts: the rest of a
hand played out by the player itself after each card that it might have played (docs/LOG.md).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from malilla_env.rules import RuleSet


class Idea(NamedTuple):
    """One thing the heuristic knows, and its weights; without it they are 0."""

    name: str
    meaning: str
    weights: tuple[str, ...]


IDEAS = (
    Idea("holdings", "a seat does not hold what its own plays rule out", ("holdings",)),
    Idea("duties", "a later opponent who can beat the best card must", ("duties",)),
    Idea("ruffs", "a later opponent void in the led suit must trump", ("ruffs",)),
    Idea("trick", "take tricks that bring points", ("brought",)),
    Idea("load", "add my points to a trick that is ours", ("load",)),
    Idea("starve", "add none to a trick that is theirs", ("starve",)),
    Idea("spend", "do not spend a winner by leading it", ("spends",)),
    Idea(
        "winners",
        "keep cards with few above them, the best ones the more, the earlier it is",
        ("rank", "top", "top_early"),
    ),
    Idea(
        "malilla",
        "do not lead from under a suit's best card; when following, bring its points home",
        ("from_under", "top_points"),
    ),
    Idea(
        "ruffed",
        "a suit's best card is dead where an opponent can trump it; the more of the suit are out, the safer to wait",
        ("top_ruffed", "runs"),
    ),
    Idea("guards", "keep low cards beside points that can be beaten", ("unguarded",)),
    Idea("high trumps", "keep trumps with few above them", ("trump_rank", "trump_top")),
    Idea("save trumps", "keep trumps, the more the more tricks are to come", ("trump", "trump_early")),
    Idea(
        "draw trumps",
        "leave the opponents no trumps, the more best cards and trumps I keep",
        ("top_free", "trump_free"),
    ),
    Idea("short suits", "holding trumps, be void where others hold much", ("void",)),
)
Weights = dict[str, tuple[float, float]]  # each as (when leading, when following); those left out are 0

# Weights count points where they speak of points, else tricks of average points; these are switches.
SWITCHES: Weights = {"holdings": (1, 1), "duties": (1, 1), "ruffs": (1, 1)}
# A negative weight of a card kept speaks for playing it.

# A partner who is winning need not be beaten, and malillas are protected.
EXEMPT: Weights = SWITCHES | {
    "brought": (0.16, 0.75),
    "load": (0, 0.48),
    "starve": (0.5, 1.33),
    "spends": (-0.57, 0),
    "rank": (-0.29, 0.13),
    "top": (-0.68, 0.26),
    "top_early": (0, 0.28),
    "from_under": (-0.52, 0),
    "top_points": (0, -0.49),
    "top_ruffed": (0.87, -0.61),
    "runs": (-0.047, 0),
    "unguarded": (0, 0.58),
    "trump_rank": (0.28, 1.07),
    "trump_top": (-0.7, 0.17),
    "trump": (0, -0.4),
    "trump_early": (0, 1.21),
    "top_free": (0.21, 0.23),
    "trump_free": (0.087, 0),
    "void": (0, 0.068),
}
# Everybody must beat everybody.
CLIMBING: Weights = SWITCHES | {
    "brought": (0.15, 1.16),
    "load": (-0.15, 0.57),
    "starve": (1.08, 1.28),
    "spends": (-0.13, 0),
    "rank": (-0.35, -0.09),
    "top": (-0.041, 0.092),
    "top_early": (0.23, 0.37),
    "from_under": (-0.63, 0),
    "top_points": (-0.38, 0.014),
    "top_ruffed": (0.073, -0.69),
    "runs": (-0.038, 0),
    "unguarded": (0.19, 0.4),
    "trump_rank": (0.88, 0.78),
    "trump_top": (-0.88, 0.27),
    "trump": (-0.23, 0),
    "trump_early": (0.2, 0),
    "top_free": (0.23, 0.4),
    "trump_free": (0.091, 0),
    "void": (0, 0),
}
# A partner who is winning need not be beaten, and nothing is protected.
UNPROTECTED: Weights = SWITCHES | {
    "brought": (0.29, 0.74),
    "load": (-0.18, 0.37),
    "starve": (0.77, 1.31),
    "spends": (-0.78, 0),
    "rank": (-0.6, 0.087),
    "top": (-0.74, 0.2),
    "top_early": (0.25, 0.48),
    "from_under": (-0.44, 0),
    "top_points": (-0.34, -0.23),
    "top_ruffed": (1.03, -0.78),
    "runs": (-0.051, 0),
    "unguarded": (0.16, 0.51),
    "trump_rank": (-0.055, 0.92),
    "trump_top": (-0.64, 0.15),
    "trump": (-0.3, -0.46),
    "trump_early": (0.45, 1.11),
    "top_free": (0.22, 0.33),
    "trump_free": (0.18, 0.14),
    "void": (0.013, 0.055),
}
# Each for themselves.
THREE: Weights = SWITCHES | {
    "brought": (-0.051, 1.18),
    "load": (0.071, 0.44),
    "starve": (1.23, 1.4),
    "spends": (-0.5, 0),
    "rank": (-0.93, 0.066),
    "top": (0.056, 0.48),
    "top_early": (-0.23, 0.23),
    "from_under": (-0.67, 0),
    "top_points": (-0.22, 0),
    "top_ruffed": (0.41, -1),
    "runs": (-0.11, 0),
    "unguarded": (0.025, 0.39),
    "trump_rank": (0.46, 0.71),
    "trump_top": (-0.87, 0.16),
    "trump": (-0.18, 0),
    "trump_early": (0.058, 0),
    "top_free": (0.16, 0.22),
    "trump_free": (0.077, 0),
    "void": (0, 0),
}
# Hands lie open on cards face down.
OPEN: Weights = SWITCHES | {
    "brought": (-0.092, 0),
    "load": (0.032, 0),
    "starve": (0.77, 1.35),
    "spends": (0.54, 0),
    "rank": (-0.86, 1.01),
    "top": (0.16, 0.64),
    "top_early": (-1.26, -0.68),
    "from_under": (-1.1, 0),
    "top_points": (0.3, 0.17),
    "top_ruffed": (-0.33, -1.77),
    "runs": (-0.23, 0),
    "unguarded": (0.065, 1.26),
    "trump_rank": (1.81, 0.29),
    "trump_top": (-1.03, 0.35),
    "trump": (-0.43, 0),
    "trump_early": (-0.3, -1.22),
    "top_free": (0.31, -0.072),
    "trump_free": (0.21, 0),
    "void": (-0.034, 0),
}


WEIGHTS = np.dtype([(name, "f8") for idea in IDEAS for name in idea.weights])


def fitted(rules: RuleSet) -> Weights:
    """The weights for games of this kind."""
    if rules.piles:
        return OPEN
    if rules.num_teams > 2:
        return THREE
    if rules.climb_over_partner:
        return CLIMBING
    return UNPROTECTED if rules.protected == "off" else EXEMPT


def weights_of(rules: RuleSet, without: Collection[str] = ()) -> NDArray[np.void]:
    """The weights [2] for leading and for following; those of the ideas named in `without` are 0."""
    weights, chosen = np.zeros(2, WEIGHTS), fitted(rules)
    for idea in IDEAS:
        for name in idea.weights:
            weights[name] = 0.0 if idea.name in without else chosen.get(name, (0.0, 0.0))
    return weights
