"""Duplicate play: two players meet on the same deals in every seating, so that the luck of the deal cancels.

Enters: two players, a rule set, a seed, a number of deals. Leaves: a Meeting, what each duplicate pair gave. The games
of a pair share stream and first dealer, and a decision's key is made of (seed, deal, hand, seat, ply): one player on
both sides plays the same game again and again, and the pair's margin is exactly 0. What counts how is in
docs/EVALUATION.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arena.player import Player
from malilla_env import GameBatch, RuleSet
from malilla_env.rewards import hand_result

BLOCK = 2048  # duplicate pairs played together, at most
FIRST_BLOCK = 4  # pairs; each block is twice as large as the one before, while it pays:
SHORT = 2.0  # while one takes less than so many seconds,
CHEAPER = 0.8  # or a pair of it at most this share of what one took in the block before


@dataclass(frozen=True)
class Meeting:
    """What N duplicate pairs of a and b gave, an entry a pair: intervals come from pairs, never from single games."""

    margins: NDArray[np.float64]  # [N] points of a's sides above the mean of the sides, averaged over the seatings
    wins: NDArray[np.float64]  # [N] share of the pair's games that a's sides won, level ones shared out
    reneges: tuple[int, int]  # illegal plays of a and of b
    capotes: tuple[int, int]  # games that a's and b's sides won by taking all tricks (RULES 1.5.5)
    zapatos: tuple[int, int]  # and with the other sides at 0 (1.5.6)


def seatings(rules: RuleSet) -> NDArray[np.int8]:
    """int8 [K, T]: who plays each side, 0 for a and 1 for b, in every way that has both at the table.

    Two sides: a b and b a. Three: the six of a b b and b a a.
    """
    ways = [way for way in product((0, 1), repeat=rules.num_teams) if len(set(way)) == 2]
    return np.array(ways, np.int8)


def meet(
    a: Player,
    b: Player,
    rules: RuleSet,
    seed: int,
    pairs: int,
    episode: str = "hand",
    block: int = BLOCK,
    advance: Callable[[int], None] = lambda pairs: None,
    enough: Callable[[NDArray[np.float64]], bool] = lambda margins: False,
) -> Meeting:
    """Play duplicate pairs 0..pairs-1 of a seed; ``episode`` is a "hand" or a whole "match".

    At most ``block`` pairs are played at a time, fewer where players are slow; that bounds the memory and changes no
    result. ``advance`` is told how many pairs each block has finished; ``enough``, asked about the margins so far
    after each block, may end the meeting early. ValueError for a number that makes no sense, PlayError for a player
    that fails.
    """
    if pairs < 1 or block < 1:
        raise ValueError(f"{pairs} pairs in blocks of {block}: both must be 1 or more")
    before = (a.reneges, b.reneges)
    margins, wins, flags = np.empty(pairs), np.empty(pairs), np.zeros((2, 2), np.int64)
    done, size, pace = 0, min(FIRST_BLOCK, block), np.inf
    while done < pairs and not (done > 1 and enough(margins[:done])):
        began, streams = perf_counter(), np.arange(done, min(done + size, pairs))
        margins[streams], wins[streams], flagged = _play(a, b, rules, seed, streams, episode)
        flags += flagged
        done += len(streams)
        advance(len(streams))
        took, before_this = perf_counter() - began, pace
        pace = took / len(streams)
        size = min(2 * size, block) if took < SHORT or pace < CHEAPER * before_this else size
    margins, wins = margins[:done], wins[:done]
    reneges = (a.reneges - before[0], b.reneges - before[1])
    capotes, zapatos = ((int(of_a), int(of_b)) for of_a, of_b in flags)
    return Meeting(margins, wins, reneges, capotes, zapatos)


def _play(
    a: Player, b: Player, rules: RuleSet, seed: int, streams: NDArray[np.int64], episode: str
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Margins and wins [n] of a's sides, of the pairs on some streams; their capotes and zapatos, as `_flags` says."""
    ways = seatings(rules)
    who = np.repeat(ways, len(streams), axis=0)  # [K*n, T]: lane k*n + i plays stream i in seating k
    games = GameBatch(
        rules, len(who), seed=seed, episode=episode, streams=np.tile(streams, len(ways)), purpose="evaluate"
    )
    seats = who[:, rules.teams]  # [K*n, S]
    points = np.zeros((len(who), rules.num_teams), np.int64)  # margins by side, in units of UNIT
    while not games.done.all():
        games.step(_ask((a, b), games, seats, seed))
        points += settle(hand_result(rules, games.state)[:, : rules.num_teams]) * games.hand_over[:, None]
    points += forfeit(rules, games.reneged)
    mine = who == 0
    margins = (points * mine).sum(axis=1).reshape(len(ways), -1).sum(axis=0)
    wins = (_shares(games) * mine).sum(axis=1).reshape(len(ways), -1).mean(axis=0)
    return margins / (_unit(rules.num_teams) * len(ways)), wins, _flags(games, who)


def _ask(players: tuple[Player, Player], games: GameBatch, seats: NDArray[np.int8], seed: int) -> NDArray[np.int64]:
    """int64 [B]: the actions of those on turn, each player asked once for all its lanes."""
    views, keys = games.views(), games.decision_keys(seed)
    turn = np.where(games.done, -1, seats[np.arange(len(games)), games.seat])
    actions = np.zeros(len(games), np.int64)
    for place, player in enumerate(players):
        lanes = np.flatnonzero(turn == place)
        if len(lanes):
            actions[lanes] = player.choose(games, lanes, _rows(views, lanes), keys[lanes])
    return actions


def _rows(views: NDArray[np.void], lanes: NDArray[np.intp]) -> NDArray[np.void]:
    """``views[lanes]``, several times faster: NumPy copies structured rows field by field, plain bytes at once."""
    rows: NDArray[np.void] = views.view(f"V{views.itemsize}")[lanes].view(views.dtype)
    return rows


def _unit(teams: int) -> int:
    """One point in the whole numbers that margins are summed in, so that a sum that should be 0 is."""
    return teams * (teams - 1)


def settle(points: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """int64 [B, T]: each side's points above the sides' mean, in units; `points` [B, T] are those of a hand."""
    teams = points.shape[1]
    whole = points.astype(np.int64)
    return (teams * whole - whole.sum(axis=1, keepdims=True)) * (teams - 1)


def forfeit(rules: RuleSet, reneged: NDArray[np.int8]) -> NDArray[np.int64]:
    """int64 [B, T]: margins in units of the hands that an illegal play ended; 0 in the other lanes.

    The offender's side counts as having taken nothing and the others as having shared all the points evenly.
    """
    teams = rules.num_teams
    margins = np.zeros((len(reneged), teams), np.int64)
    (lanes,) = np.nonzero(reneged >= 0)
    margins[lanes] = rules.total_points
    margins[lanes, np.array(rules.teams)[reneged[lanes]]] = -rules.total_points * (teams - 1)
    return margins


def _flags(games: GameBatch, who: NDArray[np.int8]) -> NDArray[np.int64]:
    """int64 [2, 2]: capotes and zapatos of the episodes' winners, by player: a, b; `who` [B, T] plays each side."""
    won = np.flatnonzero(games.winner >= 0)
    winners = who[won, games.winner[won]]
    return np.array(
        [np.bincount(winners[games.state[name][won]], minlength=2) for name in ("capote", "zapato")], np.int64
    )


def _shares(games: GameBatch) -> NDArray[np.float64]:
    """float [B, T]: 1 for the side that won the episode; a level hand is shared by its best sides, a match by all."""
    result = hand_result(games.rules, games.state)[:, : games.rules.num_teams]
    best = (result == result.max(axis=1, keepdims=True)) | (games.episode == "match")
    won = games.winner[:, None] == np.arange(games.rules.num_teams)
    top = np.where(games.winner[:, None] >= 0, won, best)
    return top / top.sum(axis=1, keepdims=True)
