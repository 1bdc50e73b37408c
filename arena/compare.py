"""All pairs of some players on the same deals, and what follows: margins, win rates, ratings, notes.

Enters: agents by name, a rule set, a seed, how many deals and matches. Leaves: a Comparison, plain numbers that
`report.py` shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.base import Agent
from arena.match import BLOCK, Meeting, meet
from arena.player import Player
from arena.ratings import notes, ratings
from arena.stats import Estimate, estimate
from malilla_env import RuleSet

FEWEST = 100  # pairs, before the width of an interval ends a meeting: of a few it says little


@dataclass(frozen=True)
class Result:
    """How a did against b."""

    a: str
    b: str
    margin: Estimate  # points a hand of a's side above the mean of the sides
    win_rate: Estimate  # of hands
    pairs: int
    match_win_rate: Estimate | None  # of whole matches, where they were played
    reneges: tuple[int, int]  # illegal plays of a and of b
    capotes: tuple[int, int]  # of whole matches that a and b won, those won by taking all tricks of a hand
    zapatos: tuple[int, int]  # and those with the other sides at 0


@dataclass(frozen=True)
class Comparison:
    """Players, and how each two of them did against each other."""

    rules: RuleSet
    seed: int
    deals: int
    matches: int
    labels: dict[str, str]  # name -> how tables show it
    paces: dict[str, float]  # name -> milliseconds a decision
    results: list[Result]
    ratings: dict[str, Estimate]
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        """What `evaluate.py --json` writes; keys that have nothing to tell are left out, and what no run repeats."""
        optional = {"notes": self.notes} if self.notes else {}
        return {
            "results": [_result_dict(result, self.matches) for result in self.results],
            "ratings": [{"agent": name, "rating": r.mean, "ci95": r.ci} for name, r in self.ratings.items()],
            "rules": self.rules.to_dict(),
            "seed": self.seed,
            "deals": self.deals,
            **optional,
        }


def _result_dict(result: Result, matches: int) -> dict[str, Any]:
    told: dict[str, Any] = {
        "a": result.a,
        "b": result.b,
        "margin": result.margin.mean,
        "ci95": result.margin.ci,
        "pairs": result.pairs,
        "win_rate": result.win_rate.mean,
    }
    if result.match_win_rate:
        told |= {
            "match_pairs": matches,
            "match_win_rate": result.match_win_rate.mean,
            "match_win_rate_ci95": result.match_win_rate.ci,
            "match_capotes": list(result.capotes),
            "match_zapatos": list(result.zapatos),
        }
    return told | ({"reneges": list(result.reneges)} if any(result.reneges) else {})


def compare(
    agents: Mapping[str, Agent],
    rules: RuleSet,
    seed: int,
    deals: int,
    matches: int = 0,
    block: int = BLOCK,
    advance: Callable[[int], None] = lambda pairs: None,
    half_width: float = 0.0,
    minutes: float = 0.0,
) -> Comparison:
    """Every two of the agents on duplicate pairs 0..deals-1 of a seed, and on as many whole matches as asked for.

    ValueError: fewer than two agents, or fewer than two pairs, from which there is no interval. PlayError: an agent
    failed. ``advance`` is told of pairs as they are finished; there are `pairs_to_play` of them, or fewer where two
    players' hands end early: once the interval is no wider than ``half_width`` to either side, or after ``minutes``.
    """
    if len(agents) < 2:
        raise ValueError(f"a comparison needs two players or more, not {len(agents)}: the same one twice will do")
    if not half_width >= 0 or not minutes >= 0:
        raise ValueError(f"half-width {half_width} and minutes {minutes} must be above 0, or 0 for no limit")
    if deals < 2 or matches == 1 or matches < 0:
        raise ValueError(f"{deals} deals and {matches} matches: an interval needs 2 duplicate pairs or more")
    players = {name: Player(name, agent) for name, agent in agents.items()}
    results, margins = [], {}
    for a, b in combinations(players.values(), 2):
        hands = meet(a, b, rules, seed, deals, "hand", block, advance, _limit(half_width, minutes))
        played = meet(a, b, rules, seed, matches, "match", block, advance) if matches else None
        margins[a.name, b.name] = hands.margins
        results.append(_result(a, b, hands, played))
    shortest = min(map(len, margins.values()))  # what all have met on is what ratings are made of
    margins = {pair: values[:shortest] for pair, values in margins.items()}
    return Comparison(
        rules,
        seed,
        deals,
        matches,
        {name: player.label for name, player in players.items()},
        {name: player.pace for name, player in players.items()},
        results,
        ratings(list(players), margins),
        notes(list(players), margins) + [_reneged(player) for player in players.values() if player.reneges],
    )


def _limit(half_width: float, minutes: float) -> Callable[[NDArray[np.float64]], bool]:
    """Whether some margins are enough; never by what they say, only by how many and how long they took."""
    began = perf_counter()

    def enough(margins: NDArray[np.float64]) -> bool:
        if minutes and perf_counter() - began > 60 * minutes:
            return True
        if not half_width or len(margins) < FEWEST:
            return False
        low, high = estimate(margins).ci
        return high - low <= 2 * half_width

    return enough


def pairs_to_play(agents: int, deals: int, matches: int) -> int:
    """Duplicate pairs of a comparison, of hands and of matches together."""
    return agents * (agents - 1) // 2 * (deals + matches)


def _result(a: Player, b: Player, hands: Meeting, matches: Meeting | None) -> Result:
    illegal = [hands.reneges[place] + (matches.reneges[place] if matches else 0) for place in (0, 1)]
    return Result(
        a.name,
        b.name,
        estimate(hands.margins),
        estimate(hands.wins),
        len(hands.margins),
        estimate(matches.wins) if matches else None,
        (illegal[0], illegal[1]),
        matches.capotes if matches else (0, 0),
        matches.zapatos if matches else (0, 0),
    )


def _reneged(player: Player) -> str:
    return f"{player.name} made {player.reneges:,} illegal plays, each a lost game; the first: {player.first_renege}"
