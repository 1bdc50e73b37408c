"""The rules of `manille`, RULES section 2, paragraph by paragraph, and each of its settings."""

import re
import sys
from functools import lru_cache
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from other_positions import OUTCOMES, POSITIONS, hand_taking, last_trick_after, rotated, sides_in_turn
from positions import history_to
from seated import act, dealt, hand, legal, play_out, replay

from malilla_env import GameBatch, IllegalMove, ruleset
from malilla_env.cards import card_name, parse_card
from malilla_env.compiled import PURE

RULES_TEXT = Path(__file__).parents[2] / "docs" / "RULES.md"
MANILLE = ruleset("manille")
EXEMPT = ruleset("manille", climb_over_partner=False)
PAYS = ruleset("manille", loser_pays=True)
AGAIN = ruleset("manille", redeal_level=True)
ONE_MORE = ruleset("manille", last_trick_bonus=1)
LANES = 20 if PURE else 2000
SUIT_EACH = {seat: " ".join(rank + suit for rank in "TAKQJ987") for seat, suit in enumerate("shdc")}


@lru_cache
def at(name: str) -> GameBatch:
    """The game at a named position, reached by play."""
    preset, position = next(row for row in POSITIONS if row[1].name == name)
    rules = ruleset(preset, **position.changes)
    return replay(rules, history_to(rules, position))


def legal_at(name: str) -> set[str]:
    return set(legal(at(name)))


def outcome(name: str, shift: int = 0) -> tuple[GameBatch, list[int]]:
    """The game after the hand of a scoring row, rotated; and its sides in the order of the row."""
    row = next(row for row in OUTCOMES if row.name == name)
    rules = ruleset(row.ruleset, **dict(row.changes))
    history = hand_taking(rules, row.points, row.opening, seed=row.seed)
    sides = sides_in_turn(rules, shift)
    score = [0] * rules.num_teams
    for side, points in zip(sides, row.before, strict=True):
        score[side] = points
    return replay(rules, rotated(rules, history, shift), score=score), sides


# ---- the worked positions of section 4 -------------------------------------------------------------------------------


@pytest.mark.parametrize(("preset", "position"), POSITIONS, ids=lambda value: getattr(value, "name", value))
def test_section_4_legal_cards(preset, position):
    games = at(position.name)
    assert games.rules.name == preset
    seat = len(position.trick.split())
    assert games.seat[0] == seat
    assert hand(games, seat) == set(position.hand.split())
    assert set(legal(games)) == set(position.legal.split())


SEATED = [(row, shift) for row in OUTCOMES for shift in range(ruleset(row.ruleset).num_seats)]


@pytest.mark.parametrize(("row", "shift"), SEATED, ids=lambda value: getattr(value, "name", value))
def test_section_4_scores(row, shift):
    games, sides = outcome(row.name, shift)
    assert [int(games.last_points[0, side]) for side in sides] == list(row.points)
    assert [int(games.match_score[0, side]) - paid(games, side) for side in sides] == list(row.after)
    assert games.done[0] == (row.winner >= 0)
    assert games.winner[0] == (sides[row.winner] if row.winner >= 0 else -1)
    assert games.zapato[0] == row.zapato
    change = [int(games.last_score_change[0, side]) for side in sides]
    assert change == np.subtract(row.after, row.before).tolist()


def paid(games: GameBatch, side: int) -> int:
    """What the next hand's turned-up card has brought the side already."""
    return int(games.paid_bonus[0]) if games.rules.teams[games.dealer[0]] == side else 0


@pytest.mark.parametrize("dealer", range(4))
@pytest.mark.parametrize(("rules", "after"), [(MANILLE, (0, 3)), (ONE_MORE, (0, 4))], ids=["0", "1"])
def test_section_4_the_last_trick(rules, after, dealer):
    """M3: B, the side of the dealer, takes the last trick, of 5 + 3 + 1 + 0."""
    history = last_trick_after(MANILLE, "Th Kh Jh 7h", (27, 24), seed=1)
    shift = (dealer + 1) % 4
    games = replay(rules, rotated(rules, history._replace(plays=history.plays[:-4]), shift))
    a, b = sides_in_turn(rules, shift)
    assert (games.hand_points[0, a], games.hand_points[0, b]) == (27, 24)
    act(games, "Th", "Kh", "Jh", "7h")
    assert (games.last_points[0, a], games.last_points[0, b]) == (27, 33 + rules.last_trick_bonus)
    assert (games.match_score[0, a], games.match_score[0, b]) == after


# ---- 2.1 table and cards ---------------------------------------------------------------------------------------------


def test_2_1_thirty_two_cards_eight_each():
    games = GameBatch(MANILLE, 100, seed=10)
    assert (np.bitwise_count(games.hands) == 8).all()
    assert (np.bitwise_or.reduce(games.hands, axis=1) == (1 << 32) - 1).all()
    for _ in range(32):
        assert not games.hand_over.any()
        games.step(games.random_legal(games.decision_keys()))
    assert games.hand_over.all()
    assert (games.last_tricks.sum(axis=1) == 8).all()


def test_2_1_order_within_a_suit():
    """Every ordered pair of hearts, led by one player and followed by the next, who may always climb."""
    high_to_low = "TAKQJ987"
    for first, second in permutations(high_to_low, 2):
        games = dealt(MANILLE, {0: first + "h", 1: second + "h 7c 8c 9c Jc Qc Kc Ac"}, turned="7s")
        act(games, first + "h", second + "h")
        assert games.best_seat[0] == (0 if high_to_low.index(first) < high_to_low.index(second) else 1)
        assert games.best_card[0] == parse_card(MANILLE, min(first, second, key=high_to_low.index) + "h")


@pytest.mark.parametrize(
    ("rank", "points"), [("T", 5), ("A", 4), ("K", 3), ("Q", 2), ("J", 1), ("9", 0), ("8", 0), ("7", 0)]
)
def test_2_1_card_points_and_none_for_the_trick(rank, points):
    """Seat 3 trumps a trick in which seat 0 led the card and the others added nothing."""
    games = dealt(MANILLE, {0: SUIT_EACH[1], 1: SUIT_EACH[2], 2: SUIT_EACH[3], 3: SUIT_EACH[0]}, turned="Ts")
    act(games, rank + "h", "7d", "7c", "7s")
    assert games.hand_points[0].tolist() == [0, points]
    assert games.tricks_won[0].tolist() == [0, 1]


def test_2_1_sixty_points_and_thirty_is_half():
    games = play_out(GameBatch(MANILLE, LANES, seed=10))
    assert (games.last_points.sum(axis=1) == 60).all()
    assert (MANILLE.total_points, MANILLE.neutral) == (60, 30)


# ---- 2.2 the deal ----------------------------------------------------------------------------------------------------

THREE_TWO_THREE = [[0, 1, 2, 12, 13, 20, 21, 22], [3, 4, 5, 14, 15, 23, 24, 25]]
THREE_TWO_THREE += [[6, 7, 8, 16, 17, 26, 27, 28], [9, 10, 11, 18, 19, 29, 30, 31]]
FOUR_FOUR = [[*range(at, at + 4), *range(at + 16, at + 20)] for at in range(0, 16, 4)]
SINGLY = [list(range(at, 32, 4)) for at in range(4)]


@pytest.mark.parametrize("dealer", range(4))
@pytest.mark.parametrize(
    ("packets", "places"), [((3, 2, 3), THREE_TWO_THREE), ((4, 4), FOUR_FOUR), ((), SINGLY)], ids=str
)
def test_2_2_packets_from_the_dealers_right(packets, places, dealer):
    rules = ruleset("manille", packets=packets)
    games = GameBatch(rules, 1, seed=10)
    while games.dealer[0] != dealer:
        games.reset()
    order = [card_name(rules, card) for card in games.deck[0, :32]]
    for at, own in enumerate(places):
        assert hand(games, (dealer + 1 + at) % 4) == {order[place] for place in own}


def test_2_2_three_two_three_is_the_usual():
    assert MANILLE.packets == (3, 2, 3)


def test_2_2_the_dealers_last_card_is_trump_and_brings_no_bonus():
    games = GameBatch(MANILLE, 200, seed=10)
    lanes = np.arange(200)
    assert (games.turned_card == games.deck[:, 31]).all()
    assert (games.trump == games.turned_card // 8).all()
    assert (games.hands[lanes, games.dealer] >> games.turned_card.astype(np.uint64) & 1 == 1).all()
    assert (games.match_score == 0).all()
    assert (games.paid_bonus == 0).all()
    near = dealt(MANILLE, turned="Ts", score=[0, 100])
    assert (near.waiting_bonus[0], near.match_score[0].tolist()) == (0, [0, 100])


def test_2_2_everybody_knows_where_the_turned_up_card_is():
    games = dealt(MANILLE, dealer=2, turned="Kh")
    views = games.views(0)
    card = np.uint64(1 << parse_card(MANILLE, "Kh"))
    assert [bool(mask & card) for mask in views[0]["cannot_hold"]] == [True, True, False, True]
    assert views[0]["shown"].tolist() == [0, 0, int(card), 0]


def test_2_2_any_seat_may_deal_first_and_the_deal_passes_right():
    games = GameBatch(MANILLE, 400 if PURE else 8000, seed=10)
    counts = np.bincount(games.dealer, minlength=4)
    assert ((counts - len(games) / 4) ** 2 / (len(games) / 4)).sum() < 16.3  # 0.999 quantile, 3 degrees of freedom
    assert (games.leader == (games.dealer + 1) % 4).all()
    few = GameBatch(MANILLE, 20, seed=10)
    first = few.dealer.copy()
    play_out(few)
    assert (few.dealer == (first + 1) % 4).all()


# ---- 2.3, 2.4, 2.5 the play ------------------------------------------------------------------------------------------


def test_2_3_follow_and_beat_if_you_can():
    assert legal_at("2.3, beat") == {"Th", "Kh"}
    assert legal_at("2.3, unable to beat") == {"Kh", "8h"}
    assert legal_at("2.3, trumps led") == {"Ts"}


def test_2_3_void_trump_and_higher_if_you_can():
    assert legal_at("M1") == {"8s"}
    assert legal_at("2.3, overtrump") == {"Qs"}


def test_2_3_a_lower_trump_is_forced():
    assert legal_at("M2") == {"Js", "9s"}
    assert legal_at("M2, undertrump optional") == {"Js", "9s", "Ad"}
    assert legal_at("M2, undertrump forbidden") == {"Ad"}


def test_2_3_without_trumps_anything():
    assert legal_at("2.3, no trump") == {"Td", "7d", "8c"}


def test_2_3_a_trumped_trick_is_followed_by_any_card():
    assert legal_at("2.3, a trumped trick is followed") == {"Ah", "7h"}


def test_2_3_the_leader_may_lead_anything():
    games = dealt(MANILLE)
    assert set(legal(games)) == hand(games, 0)


def test_2_4_climbing_over_everyone():
    assert legal_at("2.3, beat partner") == {"Th"}
    assert legal_at("2.4, overtrump partner") == {"Js"}
    assert legal_at("2.4, partner's trump too high") == {"Js", "7s"}


def test_2_4_partner_exempt_by_the_house_rule():
    assert legal_at("M1, partner exempt") == {"8s", "7d", "Kc"}
    assert legal_at("2.3, beat partner, exempt") == {"Th", "Kh"}
    assert legal_at("2.4, overtrump partner, exempt") == {"Js", "7s", "Kd"}


def test_2_4_the_house_rule_exempts_from_no_opponent():
    assert legal_at("2.4, an opponent wins, exempt") == {"Th"}
    assert legal_at("2.4, an opponent wins, void, exempt") == {"8s"}


def test_2_5_no_card_is_protected():
    assert "Td" in legal_at("2.3, no trump")
    assert "7d" in legal_at("M1, partner exempt")


def test_2_5_illegal_play_loses_the_match():
    games = at("M2").copy()  # seat 2 must play a spade
    act(games, "Ad")
    assert (games.done[0], games.reneged[0], games.winner[0]) == (True, 2, 1)
    strict = dealt(ruleset("manille", illegal="raise"))
    with pytest.raises(IllegalMove, match="seat 0: "):
        act(strict, sorted(hand(strict, 1))[0])


# ---- 2.6, 2.7, 2.8 the score -----------------------------------------------------------------------------------------


def test_2_6_points_above_thirty():
    games = play_out(GameBatch(MANILLE, LANES, seed=10))
    expected = np.maximum(0, games.last_points - 30)
    assert (games.last_score_change == expected).all()
    assert (games.match_score == expected).all()
    assert (expected.sum(axis=1) == 0).any() or PURE


def test_2_6_the_loser_pays():
    games = play_out(GameBatch(PAYS, LANES, seed=10))
    assert (games.last_score_change == games.last_points - 30).all()
    assert (games.match_score == games.last_points - 30).all()
    assert (games.match_score < 0).any()


def test_2_6_level_the_deal_passes_or_the_same_dealer_deals():
    for shift in range(4):
        passes, _ = outcome("M7", shift)
        assert (passes.dealer[0], passes.hand_number[0], passes.attempt[0]) == (shift, 1, 0)
        again, _ = outcome("M7, dealt again", shift)
        assert (again.dealer[0], again.hand_number[0], again.attempt[0]) == ((shift - 1) % 4, 1, 0)
        assert again.seat[0] == shift
        assert again.hand_over[0]
    decided = play_out(GameBatch(AGAIN, LANES, seed=10))
    first = GameBatch(AGAIN, LANES, seed=10).dealer
    level = decided.last_points[:, 0] == 30
    assert (decided.dealer == (first + ~level) % 4).all()


def test_2_6_the_cards_of_a_level_hand_are_not_dealt_again():
    again, _ = outcome("M7, dealt again")
    history = hand_taking(AGAIN, (30, 30))
    assert [card_name(AGAIN, card) for card in again.deck[0, :32]] != list(history.order)


def test_2_6_taking_all_tricks_scores_thirty_and_the_match_goes_on():
    """Seat 0 holds all trumps but the turned-up 7, and leads them from the top."""
    held = {0: "Ts As Ks Qs Js 9s 8s Th", 3: SUIT_EACH[1][3:] + " 7s", 1: SUIT_EACH[2], 2: SUIT_EACH[3]}
    games = dealt(MANILLE, held, turned="7s")
    for lead in held[0].split():
        act(games, lead)
        while games.trick_size[0]:
            act(games, legal(games)[0])
    assert games.last_tricks[0].tolist() == [8, 0]
    assert games.match_score[0].tolist() == [30, 0]
    assert (games.done[0], games.capote[0], games.hand_number[0]) == (False, False, 1)


def test_2_7_the_last_trick_is_worth_one_more():
    plain, more = GameBatch(MANILLE, LANES, seed=10), GameBatch(ONE_MORE, LANES, seed=10)
    for ply in range(32):
        assert (plain.hand_points == more.hand_points).all()
        actions = plain.random_legal(plain.decision_keys())
        if ply == 31:
            before = more.tricks_won.copy()
        plain.step(actions)
        more.step(actions)
    extra = more.last_points - plain.last_points
    assert (more.last_points.sum(axis=1) == 61).all()
    assert (extra.sum(axis=1) == 1).all()
    assert (extra == more.last_tricks - before).all()  # it goes to the side that took the last trick
    assert (more.last_score_change == np.maximum(0, more.last_points - 30)).all()


def test_2_7_off_by_default():
    assert MANILLE.last_trick_bonus == 0


@pytest.mark.parametrize("target", [101, 50, 201])
def test_2_8_the_target(target):
    rules = ruleset("manille", target=target)
    history = hand_taking(MANILLE, (36, 24))
    assert not replay(rules, history, score=[target - 7, 3]).done[0]
    won = replay(rules, history, score=[target - 6, 3])
    assert (won.done[0], won.winner[0], won.match_score[0].tolist()) == (True, 0, [target, 3])


@pytest.mark.parametrize("shift", range(3))
def test_2_8_the_higher_total_wins_and_level_they_play_on(shift):
    """Both past the target: this takes three players."""
    games, sides = outcome("C3", shift)
    assert games.winner[0] == sides[0]
    games, sides = outcome("C4", shift)
    assert (games.done[0], games.winner[0], games.hand_number[0]) == (False, -1, 1)
    play_out(games)
    assert games.done[0] == (np.sort(games.match_score[0])[-1] > np.sort(games.match_score[0])[-2])


def test_2_8_zapato_where_the_loser_stands_at_nothing_or_less():
    history = hand_taking(PAYS, (36, 24))
    assert replay(PAYS, history, score=[100, 6]).zapato[0]  # falls to 0
    assert replay(PAYS, history, score=[100, 0]).zapato[0]
    assert not replay(PAYS, history, score=[100, 7]).zapato[0]
    assert replay(MANILLE, hand_taking(MANILLE, (36, 24)), score=[100, 0]).zapato[0]


# ---- other ways to trump (1.2.3) that no preset of this section plays ------------------------------------------------


def test_1_2_3_no_trump_at_all():
    """Follow and beat as ever; void, anything goes, and only the suit led can win."""
    rules = ruleset("manille", trump="none")
    held = {0: "9h 7d 8d 9d Jd Qd Kd Ad", 1: "8h Kh 7s 8s 9s Js Qs Ks", 2: "7c 8c 9c Jc Qc Kc Ac As"}
    games = dealt(rules, held)
    assert (games.trump[0], games.turned_card[0]) == (-1, -1)
    assert (games.views(0)["shown"] == 0).all()
    act(games, "9h")
    assert set(legal(games)) == {"Kh"}
    act(games, "Kh")
    assert set(legal(games)) == set(held[2].split())
    act(games, "As")
    assert games.best_seat[0] == 1
    played = play_out(GameBatch(rules, LANES, seed=10))
    assert (played.last_points.sum(axis=1) == 60).all()


def test_1_3_8_a_protected_card_is_known_when_trump_is_named():
    """Bids with the cards of section 1: the seven of the suit that is named may be thrown."""
    rules = ruleset("malilla", trump="bid", dealer_bonus=False)
    held = {0: "7h 6h 5h 4h 3h 2h Jh Qh Kh Ah", 1: "7d 2d 3d 7c 2c 3c 7s 2s 3s 4s"}
    for named, thrown in [("diamonds", {"7d", "2d", "3d"}), ("spades", {"7s", "2s", "3s", "4s"})]:
        games = dealt(rules, held)
        act(games, "bid-36", "pass", "pass", "pass", f"trump-{named}", "Ah")
        assert set(legal(games)) == thrown  # ordered to trump
    games = dealt(rules, {0: held[0], 1: "7d 2d 3d 4d 5d 7c 2c 3c 4c 5c"})
    act(games, "bid-36", "pass", "pass", "pass", "trump-spades", "Ah")
    assert set(legal(games)) == {"2d", "3d", "4d", "5d", "2c", "3c", "4c", "5c"}


def test_every_paragraph_has_a_test():
    paragraphs = set(re.findall(r"^- \*\*(2\.\d+)", RULES_TEXT.read_text(encoding="utf-8"), flags=re.MULTILINE))
    assert len(paragraphs) == 8
    names = [re.match(r"test_2_(\d+)_", name) for name in dir(sys.modules[__name__])]
    assert paragraphs == {f"2.{found[1]}" for found in names if found}
