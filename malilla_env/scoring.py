"""Scoring: what a hand brings each side, and who wins (RULES 1.5, 2.6-2.8, 3.6).

Enters: one row of STATE in which a hand has just been played, and the rule set's TABLE record. Leaves: the row's scores
changed, or the side that won. The number at each function is its paragraph in docs/RULES.md.
"""

from __future__ import annotations

import numpy as np

from malilla_env.compiled import Bool, Int, Row, jit
from malilla_env.state import NONE
from malilla_env.table import TRUMP

TRUMP_TURNED, TRUMP_BID = TRUMP.index("turned"), TRUMP.index("bid")


@jit
def settle_hand(row: Row, rules: Row) -> Int:
    """1.5.1, 1.5.4: count the hand, then the bonuses that waited; the side that has won the match, or NONE."""
    note_hand(row, rules)
    score_points(row, rules)
    winner = match_winner(row, rules)
    if winner == NONE and row["waiting_albur"] > 0:  # 1.6.3
        add_score(row, rules["team"][row["albur_seat"]], row["waiting_albur"])
        winner = match_winner(row, rules)
    if winner == NONE and row["waiting_bonus"] > 0:
        add_score(row, rules["team"][row["dealer"]], row["waiting_bonus"])
        winner = match_winner(row, rules)
    row["waiting_albur"] = row["waiting_bonus"] = row["paid_bonus"] = 0
    return winner


@jit
def note_hand(row: Row, rules: Row) -> None:
    """What is told of the hand that is over; its score change begins with the bonuses paid before the play."""
    row["hand_over"] = True
    for team in range(rules["num_teams"]):
        row["last_points"][team] = row["hand_points"][team]
        row["last_tricks"][team] = row["tricks_won"][team]
        row["last_score_change"][team] = 0
    if rules["dealer_bonus"]:
        row["last_score_change"][rules["team"][row["dealer"]]] = row["paid_bonus"]
    if row["hand_number"] == 0 and row["albur_seat"] != NONE and row["waiting_albur"] == 0:
        row["last_score_change"][rules["team"][row["albur_seat"]]] += rules["albur"]


@jit
def add_score(row: Row, team: Int, points: Int) -> None:
    row["match_score"][team] += points
    row["last_score_change"][team] += points


@jit
def score_points(row: Row, rules: Row) -> None:
    """1.5.2, 2.6: each side scores what it has above neutral; under `loser_pays` the other loses as much."""
    for team in range(rules["num_teams"]):
        won = points_won(row, rules, team)
        add_score(row, team, won)
        if rules["loser_pays"]:
            add_score(row, 1 - team, -won)


@jit
def points_won(row: Row, rules: Row, team: Int) -> Int:
    """1.5.2; 3.6: of a failed bid the other side has its points above neutral, and the bidders nothing."""
    if rules["trump"] == TRUMP_BID:
        bidders = rules["team"][row["bidder"]]
        if not made_bid(row, rules):
            return 0 if team == bidders else row["bid"] - rules["neutral"]
        if team != bidders:
            return 0
    return max(0, row["hand_points"][team] - rules["neutral"])


@jit
def made_bid(row: Row, rules: Row) -> Bool:
    """3.6: the bidders took at least what they bid."""
    return row["hand_points"][rules["team"][row["bidder"]]] >= row["bid"]


@jit
def is_level(row: Row, rules: Row) -> Bool:
    """2.6: no side is above neutral."""
    above = 0
    for team in range(rules["num_teams"]):
        above += points_won(row, rules, team) > 0
    return above == 0


@jit
def match_winner(row: Row, rules: Row) -> Int:
    """1.5.3, 1.5.5, 2.8: the side that took all tricks, else the highest past the target; NONE if level or none."""
    winner, best = NONE, np.int64(rules["target"]) - 1
    for team in range(rules["num_teams"]):
        if rules["capote_wins"] and row["tricks_won"][team] == rules["num_tricks"]:
            row["capote"] = True
            return team
        score = np.int64(row["match_score"][team])
        if score > best:
            winner, best = team, score
        elif score == best and winner != NONE:
            winner = NONE
    return winner


@jit
def is_zapato(row: Row, rules: Row, winner: Int) -> Bool:
    """1.5.6: the target reached while no other side has a point."""
    for team in range(rules["num_teams"]):
        if team != winner and row["match_score"][team] > 0:
            return False
    return row["match_score"][winner] >= rules["target"]


@jit
def best_of_hand(row: Row, rules: Row) -> Int:
    """The side with the most points of the hand, NONE when level: the winner of an episode of one hand.

    3.6: of a hand that was bid for, the side that scores.
    """
    winner, best = NONE, np.int64(-1)
    for team in range(rules["num_teams"]):
        points = np.int64(points_won(row, rules, team) if rules["trump"] == TRUMP_BID else row["hand_points"][team])
        if points > best:
            winner, best = team, points
        elif points == best:
            winner = NONE
    return winner
