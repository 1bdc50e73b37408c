"""The match table: by hand where a match is short, against matches that are played, and where it cannot be made."""

from __future__ import annotations

import numpy as np
import pytest

from agents.matches import MatchTable
from malilla_env import GameBatch, RuleSet, ruleset
from malilla_env.players import HeuristicPlayer, RandomPlayer
from malilla_env.state import STATE

MALILLA, MANILLE = ruleset("malilla"), ruleset("manille")


def hand(rules: RuleSet, dealer: int, points: int, tricks: int = 5) -> np.void:
    """A hand of which the dealer's side has so many points and tricks; the turned-up card counts nothing."""
    row = np.zeros(1, STATE)
    side, row["dealer"], row["turned_card"] = rules.teams[dealer], dealer, 0
    row["hand_points"][0, side], row["hand_points"][0, 1 - side] = points, rules.total_points - points
    row["tricks_won"][0, side], row["tricks_won"][0, 1 - side] = tricks, rules.num_tricks - tricks
    return row[0]


def table_of(rules: RuleSet, *hands: np.void) -> MatchTable:
    rows = np.zeros(len(hands), STATE)
    for place, row in enumerate(hands):
        rows[place] = row
    return MatchTable(rules, rows, rows["dealer"])


def test_a_dealer_who_always_scores_wins_the_race() -> None:
    """Each deal brings its side 20: with 35 to reach, the side that deals first is there first, from 0-0 too."""
    chances = table_of(MALILLA, hand(MALILLA, 0, 55), hand(MALILLA, 3, 55)).chances
    assert chances[0, 0] == chances[20, 0] == chances[20, 20] == 1.0
    assert chances[0, 20] == 0.0  # it deals, and then the other side has 40


def test_hands_in_which_nobody_scores_are_played_again() -> None:
    """Half the hands are level, the others win the match for the dealer: x = 1/2 + (1 - x) / 2 has x = 2/3."""
    chances = table_of(MALILLA, hand(MALILLA, 0, 35), hand(MALILLA, 0, 70)).chances
    assert chances == pytest.approx(np.full((35, 35), 2 / 3))


def test_the_same_side_deals_again_where_the_rules_say_so() -> None:
    rules = ruleset("manille", redeal_level=True)
    chances = table_of(rules, hand(rules, 0, 30, 4), hand(rules, 0, 60, 4)).chances
    assert chances[80, 80] == pytest.approx(1.0)


def test_a_capote_wins_at_once_and_a_bonus_counts_first() -> None:
    capote = hand(MALILLA, 1, 0, tricks=0)
    assert (table_of(MALILLA, capote).chances == 0.0).all()
    bonus = hand(MALILLA, 0, 35)
    bonus["turned_card"] = 9  # the 7 of spades: 5 match points for the dealer's side, 1.2.4
    assert table_of(MALILLA, bonus).chances[34, 0] == 1.0  # it waits, and then wins (1.5.4)


@pytest.mark.parametrize("name", ["malilla", "manille", "malilla-redeal", "manille-2", "manille-encheres"])
def test_matches_are_won_as_often_as_the_table_says(name: str) -> None:
    rules = ruleset(name)
    player, lanes = HeuristicPlayer(rules), 1500
    table = MatchTable.of(rules, player, seed=50, hands=4000)
    scores = np.random.default_rng(51).integers(0, rules.target, (lanes, 2))
    games = GameBatch(rules, lanes, seed=52)
    games.reset(match_score=scores)
    expected = table.chance(scores, games.dealer)
    assert expected.sum(axis=1) == pytest.approx(1.0)
    while not games.done.all():
        games.step(player.act(games.views(), games.decision_keys(53)))
    won = games.winner == 0
    for low in np.arange(0, 1, 0.2):
        part = (expected[:, 0] >= low) & (expected[:, 0] < low + 0.2)
        spread = np.sqrt((expected[part, 0] * expected[part, 1]).sum())
        assert abs(won[part].sum() - expected[part, 0].sum()) < 4 * spread + 0.02 * part.sum()
    assert abs(won.mean() - expected[:, 0].mean()) < 0.035


def test_more_points_are_better() -> None:
    chances = MatchTable.of(MALILLA, HeuristicPlayer(MALILLA), seed=54, hands=4000).chances
    assert (np.diff(chances, axis=0) >= 0).all()
    assert (np.diff(chances, axis=1) <= 0).all()
    assert 0.5 < chances[0, 0] < 0.55  # the dealer's bonus


def test_the_chance_after_a_hand_is_that_before_the_next() -> None:
    games = GameBatch(MALILLA, 400, seed=55, episode="hand")
    scores = np.random.default_rng(56).integers(0, 35, (400, 2))
    games.reset(match_score=scores)
    table, dealers = MatchTable.of(MALILLA, RandomPlayer(MALILLA), seed=57, hands=2000), games.dealer.copy()
    while not games.done.all():
        games.step(games.random_legal(games.decision_keys()))
    chance = table.chance_after(games.state)
    open_ = (games.match_score < 35).all(axis=1) & ~games.state["capote"]
    assert 0 < open_.sum() < len(open_)
    assert (chance[open_] == table.chance(games.match_score[open_], (dealers[open_] + 1) % 4)).all()
    assert set(chance[~open_].ravel()) == {0.0, 1.0}
    assert (chance[~open_].argmax(axis=1) == games.match_score[~open_].argmax(axis=1)).mean() > 0.9


@pytest.mark.parametrize("rules", [ruleset("manille-3"), ruleset("manille", loser_pays=True)])
def test_games_without_a_table_are_named(rules: RuleSet) -> None:
    with pytest.raises(ValueError, match=f"{rules.name} is not"):
        MatchTable.of(rules, HeuristicPlayer(rules), seed=58)
