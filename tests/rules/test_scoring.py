"""The counting of a hand by itself: every scoring function on positions that play seldom or never reaches.

Rows of STATE are put together by chance, the engine settles them, and a few lines of plain Python say what
docs/RULES.md makes of them (1.5.2-1.5.6, 1.6.3, 2.6-2.8, 3.6, 3.7).
"""

import numpy as np
import pytest
from family import every_game

from malilla_env import GameBatch, ruleset
from malilla_env.compiled import PURE, jit
from malilla_env.scoring import best_of_hand, is_level, is_zapato, settle_hand
from malilla_env.state import NONE, STATE

ROWS = 150 if PURE else 600


@jit
def settled(state, table, winners, level, best):
    """The winner of each row or NONE; whether the hand was level; who had the best of it."""
    rules = table[0]
    for lane in range(len(state)):
        row = state[lane]
        level[lane] = is_level(row, rules)
        best[lane] = best_of_hand(row, rules)
        winners[lane] = settle_hand(row, rules)
        if winners[lane] != NONE:
            row["zapato"] = is_zapato(row, rules, winners[lane])


def settle(rules, rows):
    """The rows settled, and for each the winner, whether it was level, and the best of the hand."""
    state, results = rows.copy(), np.zeros((3, len(rows)), np.int64)
    settled(state, rules.table, *results)
    return state, *results.tolist()


def any_hands(rules, rng, scores):
    """Rows in which a hand was just played: its points and tricks by chance, the score below `scores`."""
    rows, sides, count = np.zeros(ROWS, STATE), rules.num_teams, ROWS
    shares = np.sort(rng.integers(0, rules.total_points + 1, (count, sides - 1)), axis=1)
    rows["hand_points"][:, :sides] = np.diff(shares, axis=1, prepend=0, append=rules.total_points)
    even = rng.random(count) < 0.2
    rows["hand_points"][even, :sides] = rules.total_points // sides
    tricks = np.sort(rng.integers(0, rules.num_tricks + 1, (count, sides - 1)), axis=1)
    rows["tricks_won"][:, :sides] = np.diff(tricks, axis=1, prepend=0, append=rules.num_tricks)
    rows["match_score"][:, :sides] = rng.choice([0, *range(scores - 30, scores)], (count, sides))
    if not rules.loser_pays:
        rows["match_score"] = np.maximum(0, rows["match_score"])
    rows["dealer"] = rng.integers(0, rules.num_seats, count)
    rows["albur_seat"], rows["bidder"] = NONE, NONE
    rows["hand_number"] = rng.integers(0, 2, count)
    return rows


def with_options(rules, rng, rows):
    """The same rows with what the rule set has besides: bonuses paid or waiting, an albur, a bid."""
    count = len(rows)
    teams = np.array(rules.teams)
    if rules.dealer_bonus:
        bonus = rng.choice(rules.rank_points, count)
        waits = rows["match_score"][np.arange(count), teams[rows["dealer"]]] + bonus >= rules.target
        rows["waiting_bonus"], rows["paid_bonus"] = np.where(waits, bonus, 0), np.where(waits, 0, bonus)
    if rules.albur:
        rows["albur_seat"] = (rows["dealer"] + rng.integers(0, 2, count)) % rules.num_seats
        short = rows["match_score"][np.arange(count), teams[rows["albur_seat"]]] + rules.albur >= rules.target
        rows["waiting_albur"] = np.where(short & (rows["hand_number"] == 0), rules.albur, 0)
    if rules.auction:
        rows["bidder"] = rng.integers(0, rules.num_seats, count)
        rows["bid"] = rng.integers(rules.neutral + 1, rules.total_points + 1, count)
    return rows


def gains(rules, row):
    """What the points of a hand bring each side."""
    points = row["hand_points"][: rules.num_teams].astype(int).tolist()
    won = [max(0, own - rules.neutral) for own in points]
    if rules.auction:
        side, bid = rules.teams[row["bidder"]], int(row["bid"])
        won = [0, 0]
        if points[side] >= bid:
            won[side] = points[side] - rules.neutral
        else:
            won[1 - side] = bid - rules.neutral
    if rules.loser_pays:
        return [won[0] - won[1], won[1] - won[0]], not any(won)
    return won, not any(won)


def winner_of(rules, score, tricks):
    """1.5.5, else 1.5.3 and 2.8: the highest of those at or past the target, if it is alone."""
    if rules.capote_wins and rules.num_tricks in tricks:
        return tricks.index(rules.num_tricks)
    best = max(score)
    return score.index(best) if best >= rules.target and score.count(best) == 1 else NONE


def by_the_rules(rules, row):
    """The score after the hand, what it brought, who has won, and whether that is a capote or a zapato."""
    sides, teams = rules.num_teams, rules.teams
    score = row["match_score"][:sides].astype(int).tolist()
    tricks = row["tricks_won"][:sides].tolist()
    before, paid = list(score), [0] * sides
    paid[teams[row["dealer"]]] += int(row["paid_bonus"])
    if row["albur_seat"] != NONE and row["hand_number"] == 0 and not row["waiting_albur"]:
        paid[teams[row["albur_seat"]]] += rules.albur
    won, level = gains(rules, row)
    score = [own + more for own, more in zip(score, won, strict=True)]
    for points, seat in ((row["waiting_albur"], row["albur_seat"]), (row["waiting_bonus"], row["dealer"])):
        if points and winner_of(rules, score, tricks) == NONE:
            score[teams[seat]] += int(points)
    winner = winner_of(rules, score, tricks)
    change = [now - then + more for now, then, more in zip(score, before, paid, strict=True)]
    capote = winner != NONE and rules.capote_wins and rules.num_tricks in tricks
    others = [own for side, own in enumerate(score) if side != winner]
    zapato = winner != NONE and score[winner] >= rules.target and max(others) <= 0
    return score, change, winner, capote, zapato, level


@every_game
def test_a_hand_is_settled_as_the_rules_say(rules):
    for target in [rules.target] if PURE else [rules.target, 50, 201]:
        changed = ruleset(rules, target=target)
        rng = np.random.default_rng(target)
        rows = with_options(changed, rng, any_hands(changed, rng, target))
        after, winners, level, _ = settle(changed, rows)
        sides = changed.num_teams
        for row, then, winner, even in zip(rows, after, winners, level, strict=True):
            score, change, won, capote, zapato, drawn = by_the_rules(changed, row)
            assert then["match_score"][:sides].tolist() == score
            assert then["last_score_change"][:sides].tolist() == change
            assert (winner, then["capote"], then["zapato"], even) == (won, capote, zapato, drawn)
            assert then["last_points"].tolist() == row["hand_points"].tolist()
            assert then["last_tricks"].tolist() == row["tricks_won"].tolist()
            assert not then["waiting_bonus"] + then["waiting_albur"] + then["paid_bonus"]
            assert then["hand_over"]
        assert {NONE, *range(sides)} == set(winners)


@every_game
def test_an_episode_of_one_hand_goes_to_whom_it_brought_most(rules):
    """The most points, of sides that are not level; 3.6: the side that scores."""
    rng = np.random.default_rng(5)
    rows = with_options(rules, rng, any_hands(rules, rng, rules.target))
    _, _, _, best = settle(rules, rows)
    for row, winner in zip(rows, best, strict=True):
        worth = row["hand_points"][: rules.num_teams].tolist()
        if rules.auction:
            worth = [max(0, own) for own in gains(rules, row)[0]]
        assert winner == (worth.index(max(worth)) if worth.count(max(worth)) == 1 else NONE)
    assert (NONE in best) != rules.auction  # where hands are bid for, one side always scores


@pytest.mark.parametrize(
    ("score", "winner"),
    [
        ((101, 100), 0),
        ((100, 101), 1),
        ((104, 103), 0),
        ((101, 101), NONE),
        ((150, 150), NONE),
        ((100, 100), NONE),
        ((101, 100, 99), 0),
        ((101, 103, 102), 1),
        ((101, 103, 103), NONE),
        ((103, 103, 104), 2),
        ((104, 103, 103), 0),
        ((103, 104, 103), 1),
        ((103, 103, 103), NONE),
        ((100, 100, 100), NONE),
        ((0, 0, 101), 2),
    ],
)
def test_2_8_more_than_one_side_past_the_target(score, winner):
    """The higher total wins; level, play goes on."""
    rules = ruleset("manille" if len(score) == 2 else "manille-3")
    row = np.zeros(1, STATE)
    row["match_score"][0, : len(score)] = score
    row["hand_points"][0, : len(score)] = rules.neutral  # nobody scores
    row["albur_seat"] = NONE
    after, winners, level, _ = settle(rules, row)
    assert winners == [winner]
    assert level == [1]
    assert after["match_score"][0, : len(score)].tolist() == list(score)


def test_1_5_6_in_an_episode_of_one_hand_a_zapato_is_the_winners():
    """From unlike scores one side may reach the target, and the other take more of the hand."""
    games = GameBatch(ruleset(), 400, seed=12, episode="hand")
    games.reset(match_score=[33, -20])
    while not games.done.all():
        games.step(games.random_legal(games.decision_keys()))
    assert games.zapato.any()
    assert (games.winner[games.zapato] == 0).all()
