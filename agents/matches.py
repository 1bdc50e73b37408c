"""Matches: the chance that a side wins the match, by both scores and by who deals.

Enters: hands as some player plays them, from the deal to their end. Leaves: a MatchTable. It is exact for a match in
which every hand comes out like one of those, each as likely as another, whatever the score: the chances are computed
backwards from the highest scores (dynamic programming; a hand in which nobody scores leads to an equation). A hand's
result counts as the engine counts it, dealer bonus, capote and all (RULES 1.5).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.base import Agent
from malilla_env import GameBatch, RuleSet
from malilla_env.compiled import Array, Int, Row, jit
from malilla_env.engine import next_seat, pay_dealer_bonus
from malilla_env.scoring import is_level, match_winner, settle_hand
from malilla_env.state import NONE, STATE

HANDS = 20_000  # whose results a table is made of


@jit
def _settle(row: Row, rules: Row, side: Int, mine: Int, theirs: Int) -> Int:
    """Count a hand that has been played as if it had begun at these scores of `side` and the other; the winner."""
    row["match_score"][side], row["match_score"][1 - side] = mine, theirs
    row["waiting_albur"] = row["waiting_bonus"] = row["paid_bonus"] = 0
    row["hand_number"] = 1
    bonus = rules["points"][row["turned_card"]] if rules["dealer_bonus"] else np.int64(0)
    pay_dealer_bonus(row, rules, bonus)
    return settle_hand(row, rules)


@jit
def next_side(row: Row, rules: Row) -> Int:
    """The side that deals after a hand (1.2.1, 2.6)."""
    if rules["redeal_level"] and is_level(row, rules):
        return np.int64(rules["team"][row["dealer"]])
    return np.int64(rules["team"][next_seat(row["dealer"], rules)])


@jit
def _after_a_hand(
    hands: Array, sides: Array, weights: Array, rules: Row, mine: Int, theirs: Int, chances: Array, work: Array
) -> tuple[float, float, float]:
    """Of the dealing side at these scores: its chance by hands that change them; how often they stay, and who deals.

    sides: who dealt first in each hand. `chances` must be filled for all higher scores.
    """
    won, passed, kept = 0.0, 0.0, 0.0
    row = work[0]
    for hand in range(len(hands)):
        work[0] = hands[hand]
        side = np.int64(sides[hand])
        winner = _settle(row, rules, side, mine, theirs)
        scores = np.int64(row["match_score"][side]), np.int64(row["match_score"][1 - side])
        again = next_side(row, rules) == side
        if winner != NONE:
            won += weights[hand] * (winner == side)
        elif scores == (mine, theirs):
            kept, passed = (kept + weights[hand], passed) if again else (kept, passed + weights[hand])
        else:
            won += weights[hand] * (chances[scores] if again else 1.0 - chances[scores[1], scores[0]])
    return won, passed, kept


@jit
def _fill(hands: Array, sides: Array, weights: Array, table: Array, chances: Array, work: Array) -> None:
    """chances[mine, theirs] of the side that deals, from the highest sum of scores down."""
    rules, target = table[0], len(chances)
    for total in range(2 * target - 2, -1, -1):
        for mine in range(max(0, total - target + 1), total // 2 + 1):
            theirs = total - mine
            won, passed, kept = _after_a_hand(hands, sides, weights, rules, mine, theirs, chances, work)
            other, other_passed, other_kept = _after_a_hand(hands, sides, weights, rules, theirs, mine, chances, work)
            # x = won + passed * (1 - y) + kept * x and y = other + other_passed * (1 - x) + other_kept * y
            stays, other_stays = 1.0 - kept, 1.0 - other_kept
            x = (won + passed - passed * (other + other_passed) / other_stays) / (
                stays - passed * other_passed / other_stays
            )
            chances[mine, theirs] = x
            chances[theirs, mine] = (other + other_passed * (1.0 - x)) / other_stays


@jit
def _winners(state: Array, table: Array, winners: Array, sides: Array) -> None:
    """Of hands that are over: who has won the match by them, or NONE; the side that deals next."""
    for lane in range(len(state)):
        winners[lane], sides[lane] = match_winner(state[lane], table[0]), next_side(state[lane], table[0])


class MatchTable:
    """``chances``: float64 [target, target], the chance of the side that deals, by its score and the other's.

    ValueError: a game of more than two sides, or one in which scores fall.
    """

    def __init__(self, rules: RuleSet, hands: NDArray[np.void], dealers: NDArray[np.int8]) -> None:
        """``hands``: STATE [H], hands that are over; ``dealers``: int [H], the seats that dealt first."""
        check_rules(rules)
        played = _distinct(rules, hands, np.array(rules.teams)[dealers])
        self.rules, self.chances = rules, np.zeros((rules.target, rules.target))
        _fill(*played, rules.table, self.chances, np.zeros(1, STATE))

    @classmethod
    def of(cls, rules: RuleSet, player: Agent, seed: int, hands: int = HANDS) -> MatchTable:
        """The table of hands that one player plays in all seats, from 0-0."""
        check_rules(rules)
        games = GameBatch(rules, hands, seed=seed, episode="hand")
        dealers = games.dealer.copy()
        while not games.done.all():
            games.step(player.act(games.views(), games.decision_keys(seed)))
        return cls(rules, games.state.copy(), dealers)

    def chance(self, scores: NDArray[np.integer], dealers: NDArray[np.integer]) -> NDArray[np.float64]:
        """float64 [B, 2]: each side's chance before a hand that these seats deal, at scores [B, 2] below the target."""
        lanes, side = np.arange(len(scores)), np.array(self.rules.teams)[dealers]
        return self._by_side(scores, lanes, side)

    def chance_after(self, state: NDArray[np.void]) -> NDArray[np.float64]:
        """float64 [B, 2]: each side's chance once these hands (STATE [B], all over) have been counted."""
        winners, sides = np.zeros(len(state), np.int64), np.zeros(len(state), np.int64)
        _winners(state.copy(), self.rules.table, winners, sides)
        chance = np.zeros((len(state), 2))
        open_ = np.flatnonzero(winners == NONE)
        chance[open_] = self._by_side(state["match_score"][open_, :2], np.arange(len(open_)), sides[open_])
        won = np.flatnonzero(winners != NONE)
        chance[won, winners[won]] = 1.0
        return chance

    def _by_side(
        self, scores: NDArray[np.integer], lanes: NDArray[np.int64], side: NDArray[np.integer]
    ) -> NDArray[np.float64]:
        dealing = self.chances[scores[lanes, side], scores[lanes, 1 - side]]
        chance = np.zeros((len(lanes), 2))
        chance[lanes, side], chance[lanes, 1 - side] = dealing, 1.0 - dealing
        return chance


def check_rules(rules: RuleSet) -> None:
    """ValueError unless a table can be made for these rules."""
    if rules.num_teams != 2 or rules.loser_pays:
        why = "its scores can fall" if rules.loser_pays else f"it has {rules.num_teams} sides"
        raise ValueError(f"a match table is for two sides whose scores never fall: {rules.name} is not, {why}")


def _distinct(
    rules: RuleSet, hands: NDArray[np.void], sides: NDArray[np.integer]
) -> tuple[NDArray[np.void], NDArray[np.int64], NDArray[np.float64]]:
    """One of each hands that count alike, who dealt it first, and its share of all."""
    bonus = np.array(rules.table["points"][0])[hands["turned_card"]] if rules.dealer_bonus else np.zeros(len(hands))
    team = np.array(rules.teams)
    bidders = np.where(hands["bidder"] < 0, -1, team[hands["bidder"]]) if rules.auction else np.zeros(len(hands))
    facts = [sides, team[hands["dealer"]], bonus, bidders, hands["bid"]]
    facts += [*hands["hand_points"][:, :2].T, *hands["tricks_won"][:, :2].T]
    _, first, counts = np.unique(np.stack(facts, axis=1), axis=0, return_index=True, return_counts=True)
    return hands[first].copy(), sides[first].astype(np.int64), counts / len(hands)
