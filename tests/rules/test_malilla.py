"""The rules of `malilla`, paragraph by paragraph: the number in a test's name is the paragraph of docs/RULES.md."""

import random
import re
import sys
from functools import lru_cache
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from lockstep import game_after, legal_cards, play
from positions import POSITIONS, SCORINGS, TRICKS, History, hand_scoring, history_to, order_for
from referee import Laws, Referee
from stacks import greedy, one_strong_side

from malilla_env import GameBatch, IllegalMove, RuleSet, ruleset
from malilla_env.cards import card_name, cards_in, display, parse_card
from malilla_env.compiled import PURE

RULES_TEXT = Path(__file__).parents[2] / "docs" / "RULES.md"
ELSEWHERE = {"1.6.2", "1.6.3"}  # test_options.py
MALILLA = ruleset()
PACK = Laws(MALILLA).pack


def named(name: str):
    return next(position for position in POSITIONS if position.name == name)


@lru_cache
def rules_and_history(name: str) -> tuple[RuleSet, History]:
    position = named(name)
    rules = ruleset(**position.changes)
    return rules, history_to(rules, position)


def at(name: str) -> GameBatch:
    """The game at a named position, reached by play."""
    return game_after(*rules_and_history(name))


def legal_at(name: str) -> str:
    return " ".join(sorted(legal_cards(at(name))))


def cards(text: str) -> str:
    return " ".join(sorted(text.split()))


def dealt(rules: RuleSet = MALILLA, dealer: int = 0, turned: str = "", score=None, **settings) -> GameBatch:
    """A game of the pack in order, dealt by `dealer`, with `turned` turned up."""
    order = list(Laws(rules).pack)
    if turned:
        order.remove(turned)
        order.append(turned)
    return game_after(rules, History(tuple(order), dealer, ()), score, **settings)


def play_out(games: GameBatch, seed: int = 10) -> GameBatch:
    """Random play until the hand (or the match) is over."""
    for _ in range(games.rules.num_cards):
        games.step(games.random_legal(games.decision_keys(seed)))
    return games


def one_suit_each(dealer: int) -> History:
    """A hand in which seat 0 holds all spades, 1 hearts, 2 diamonds, 3 clubs: the dealer ruffs, then takes the rest."""
    hands = [[rank + suit for rank in MALILLA.rank_names] for suit in "shdc"]
    order = order_for(hands, dealer, hands[dealer][-1])
    game = Referee(ruleset(illegal="raise", capote_wins=False, target=1000), order, dealer)
    plays = []
    while not game.hand_over:
        plays.append(game.legal()[0])
        game.play(plays[-1])
    return History(tuple(order), dealer, tuple(plays))


# ---- the worked positions of section 4 -------------------------------------------------------------------------------


@pytest.mark.parametrize("position", POSITIONS, ids=lambda position: position.name)
def test_section_4_legal_cards(position):
    games = at(position.name)
    seat = len(position.trick.split())
    assert games.seat[0] == seat
    assert {card_name(MALILLA, card) for card in cards_in(games.hands[0, seat])} == set(position.hand.split())
    assert legal_cards(games) == sorted(position.legal.split())


@pytest.mark.parametrize("dealer", range(4))
@pytest.mark.parametrize("row", SCORINGS, ids=lambda row: row.name)
def test_section_4_scores(row, dealer):
    side = dealer % 2
    history = hand_scoring(MALILLA, row.turned, row.points, dealer)

    def own(pair):
        return (int(pair[side]), int(pair[1 - side]))  # the dealer's side first

    games = game_after(MALILLA, History(history.order, dealer, ()), own(row.before))
    assert own(games.match_score[0]) == row.at_once
    play(games, *history.plays)
    assert games.hand_over[0]
    assert own(games.last_points[0]) == row.points
    assert own(games.last_score_change[0]) == tuple(np.subtract(row.after, row.before))
    assert games.done[0] == (row.winner >= 0)
    assert games.winner[0] == (-1 if row.winner < 0 else (side + row.winner) % 2)
    assert games.zapato[0] == row.zapato
    assert games.capote[0] == False  # noqa: E712 (a NumPy bool)
    if row.winner >= 0:
        assert own(games.match_score[0]) == row.after
    else:  # the next hand's bonus is in the score already
        bonus = np.zeros(2, int)
        bonus[(dealer + 1) % 2] = games.paid_bonus[0]
        assert own(games.match_score[0] - bonus) == row.after
        assert games.dealer[0] == (dealer + 1) % 4


@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: trick.name)
def test_section_4_trick_winners(trick):
    """The last trick of a hand, so that every card may be played."""
    games = last_trick(trick.cards.split(), trick.trump)
    before = games.hand_points[0].copy()
    leader_side = trick.winner % 2
    play(games, *trick.cards.split())
    gained = games.last_points[0] - before
    assert gained[leader_side] == trick.points
    assert gained[1 - leader_side] == 0


def last_trick(trick: list[str], trump: str, seeds: int = 20_000) -> GameBatch:
    """A game before its last trick, in which P0 leads and the seats hold just the cards of `trick`."""
    rng = np.random.default_rng(10)
    laws = Laws(MALILLA)
    for _ in range(seeds):
        rest = list(rng.permutation([card for card in PACK if card not in trick]))
        hands = [[card, *rest[seat * 9 : seat * 9 + 9]] for seat, card in enumerate(trick)]
        trumps = [card for card in hands[3] if card[1] == trump]
        if not trumps:
            continue
        order = order_for(hands, 3, trumps[0])
        game = Referee(MALILLA, order, 3, laws=laws)
        while len(game.log) < 36 and (free := [card for card in game.legal() if card not in trick]):
            game.play(free[int(rng.integers(len(free)))])
        if len(game.log) == 36 and game.seat == 0:
            return game_after(MALILLA, History(tuple(order), 3, tuple(play.card for play in game.log)))
    raise AssertionError("no such ending found")


# ---- 1.1 table and cards ---------------------------------------------------------------------------------------------


def test_1_1_1_seats_play_in_order_and_partners_sit_opposite():
    games = GameBatch(MALILLA, 50, seed=10)
    for ply in range(40):
        assert (games.seat == (games.leader + ply % 4) % 4).all()
        games.step(games.random_legal(games.decision_keys()))
    assert MALILLA.teams == (0, 1, 0, 1)


def test_1_1_1_the_points_of_partners_are_one():
    history = one_suit_each(0)  # seat 0 takes every trick
    games = game_after(MALILLA, History(history.order, 0, ()))
    play(games, *history.plays[:4])
    assert games.tricks_won[0].tolist() == [1, 0]
    history = one_suit_each(1)  # seat 1 does
    games = game_after(MALILLA, History(history.order, 1, ()))
    play(games, *history.plays[:4])
    assert games.tricks_won[0].tolist() == [0, 1]


def test_1_1_2_forty_cards_ten_each():
    games = GameBatch(MALILLA, 100, seed=10)
    assert MALILLA.num_cards == 40
    assert (np.bitwise_count(games.hands) == 10).all()
    assert (np.bitwise_or.reduce(games.hands, axis=1) == (1 << 40) - 1).all()


def test_1_1_2_the_pack_is_a_parameter():
    rules = RuleSet(removed=("2s", "2h", "2d", "2c"), neutral=34)
    games = GameBatch(rules, 20, seed=10)
    assert (np.bitwise_count(games.hands) == 9).all()
    for _ in range(36):
        legal = games.legal_actions()
        assert not legal[:, [parse_card(rules, card) for card in rules.removed]].any()
        games.step(games.random_legal(games.decision_keys()))
    assert games.hand_over.all()


def test_1_1_2_names_of_the_spanish_pack():
    spanish = RuleSet(pack="spanish")
    shown = [display(spanish, parse_card(spanish, card)) for card in ("7s", "Ah", "Kd", "Qc", "Js")]
    assert shown == ["7 de espadas", "1 de copas", "rey de oros", "caballo de bastos", "sota de espadas"]
    assert display(MALILLA, parse_card(MALILLA, "7s")) == "7♠"


def test_1_1_3_order_within_a_suit():
    """Every ordered pair of hearts, led by one player and followed by the next."""
    high_to_low = "7AKQJ65432"
    for first, second in permutations(high_to_low, 2):
        others = [rank + "h" for rank in high_to_low if rank not in first + second]
        spare = [card for card in PACK if card[1] != "h"]
        hands = [[first + "h", *spare[:9]], [second + "h", *spare[9:18]], [*others[:4], *spare[18:24]]]
        hands.append([*others[4:], *spare[24:]])
        games = game_after(MALILLA, History(tuple(order_for(hands, 3, spare[-1])), 3, ()))
        play(games, first + "h", second + "h")
        assert games.best_seat[0] == (0 if high_to_low.index(first) < high_to_low.index(second) else 1)


@pytest.mark.parametrize(("rank", "points"), [("7", 5), ("A", 4), ("K", 3), ("Q", 2), ("J", 1), ("6", 0), ("2", 0)])
def test_1_1_4_card_points(rank, points):
    """Seat 0 ruffs a trick in which seat 1 led the card and the others added nothing."""
    history = one_suit_each(0)
    games = game_after(MALILLA, History(history.order, 0, ()))
    play(games, rank + "h", "2d", "2c", "2s")
    assert games.hand_points[0].tolist() == [points + 1, 0]


def test_1_1_4_fifteen_a_suit_and_a_point_a_trick():
    assert sum(MALILLA.rank_points) == 15
    assert (MALILLA.total_points, MALILLA.num_tricks, MALILLA.neutral) == (70, 10, 35)
    games = play_out(GameBatch(RuleSet(trick_points=0, neutral=30), 100, seed=10))
    assert (games.last_points.sum(axis=1) == 60).all()
    games = play_out(GameBatch(RuleSet(trick_points=2, neutral=40), 100, seed=10))
    assert (games.last_points.sum(axis=1) == 80).all()


# ---- 1.2 dealing and trump -------------------------------------------------------------------------------------------


def test_1_2_1_first_dealer_is_uniform():
    games = 400 if PURE else 8000
    counts = np.bincount(GameBatch(MALILLA, games, seed=10).dealer, minlength=4)
    chi_square = ((counts - games / 4) ** 2 / (games / 4)).sum()
    assert chi_square < 16.3  # 0.999 quantile of chi-square with 3 degrees of freedom


def test_1_2_1_the_deal_passes_right():
    games = GameBatch(ruleset(target=70), 50, seed=10)
    first = games.dealer.copy()
    for hand in range(1, 4):
        play_out(games)
        going_on = ~games.done
        assert (games.dealer[going_on] == (first[going_on] + hand) % 4).all()
        assert (games.hand_number[going_on] == hand).all()


@pytest.mark.parametrize("dealer", range(4))
def test_1_2_2_dealt_singly_from_the_dealers_right(dealer):
    order = list(np.random.default_rng(10).permutation(PACK))
    games = game_after(MALILLA, History(tuple(order), dealer, ()))
    for place in range(4):
        seat = (dealer + 1 + place) % 4
        assert {card_name(MALILLA, card) for card in cards_in(games.hands[0, seat])} == set(order[place::4])
    assert [card_name(MALILLA, card) for card in games.deck[0, :40]] == order


def test_1_2_3_the_last_card_is_turned_up_and_returns_to_the_hand():
    games = GameBatch(MALILLA, 200, seed=10)
    lanes = np.arange(200)
    assert (games.turned_card == games.deck[:, 39]).all()
    assert (games.trump == games.turned_card // 10).all()
    assert (games.hands[lanes, games.dealer] >> games.turned_card.astype(np.uint64) & 1 == 1).all()


def test_1_2_3_everybody_knows_it_until_it_is_played():
    games = dealt(dealer=2, turned="Kh")
    turned = 1 << parse_card(MALILLA, "Kh")
    for _ in range(40):
        view = games.views()[0]
        known = [bool(int(view["cannot_hold"][seat]) & turned) for seat in range(4)]
        in_hand = bool(int(games.hands[0, 2]) & turned)
        assert known == ([True, True, False, True] if in_hand else [True] * 4)
        assert view["turned_card"] == parse_card(MALILLA, "Kh")
        games.step(games.random_legal(games.decision_keys()))
        if games.hand_over[0]:
            break


@pytest.mark.parametrize(("rank", "bonus"), [("7", 5), ("A", 4), ("K", 3), ("Q", 2), ("J", 1), ("6", 0), ("2", 0)])
@pytest.mark.parametrize("dealer", [0, 3])
def test_1_2_4_dealer_bonus_is_paid_at_once(rank, bonus, dealer):
    games = dealt(dealer=dealer, turned=rank + "d", score=[10, 20])
    expected = np.array([10, 20])
    expected[dealer % 2] += bonus
    assert games.match_score[0].tolist() == expected.tolist()
    assert games.waiting_bonus[0] == 0
    assert games.hand_points[0].tolist() == [0, 0]


@pytest.mark.parametrize(("score", "waits"), [(31, False), (32, True), (34, True)])
def test_1_2_4_a_bonus_that_would_reach_the_target_waits(score, waits):
    games = dealt(dealer=1, turned="Kd", score=[30, score])
    assert games.match_score[0].tolist() == [30, score if waits else score + 3]
    assert games.waiting_bonus[0] == (3 if waits else 0)
    assert games.views()[0]["waiting_bonus"] == (3 if waits else 0)
    assert not games.done[0]


def test_1_2_4_dealer_bonus_is_a_parameter():
    games = dealt(ruleset(dealer_bonus=False), turned="7d", score=[34, 0])
    assert games.match_score[0].tolist() == [34, 0]
    assert games.waiting_bonus[0] == 0


def test_1_2_5_a_misdeal_takes_the_bonus_back_and_the_next_player_deals():
    games = dealt(dealer=3, turned="7d", score=[10, 20])
    before = games.state.copy()
    assert games.match_score[0].tolist() == [10, 25]
    games.misdeal(np.array([True]))
    expected = np.array([10, 20])
    expected[0] += games.paid_bonus[0]
    assert games.match_score[0].tolist() == expected.tolist()
    assert (games.dealer[0], games.hand_number[0], games.attempt[0]) == (0, 0, 1)
    assert (games.deck[0, :40] != before["deck"][0, :40]).any()
    assert not games.done[0]
    assert not games.hand_over[0]


def test_1_2_5_a_misdeal_drops_a_waiting_bonus():
    games = dealt(dealer=3, turned="7d", score=[0, 34])
    assert games.waiting_bonus[0] == 5
    games.misdeal(np.array([True]))
    assert games.match_score[0].tolist() == [games.paid_bonus[0], 34]
    assert games.waiting_bonus[0] == 0


def test_1_2_5_before_the_first_lead_only():
    games = GameBatch(MALILLA, 3, seed=10)
    games.misdeal(np.array([False, True, False]))
    games.step(games.random_legal(games.decision_keys()))
    before = games.state.tobytes()
    with pytest.raises(ValueError, match=r"lane 1.*before the first lead"):
        games.misdeal(np.array([False, True, True]))
    assert games.state.tobytes() == before


def test_1_2_5_only_the_lanes_named():
    games, untouched = GameBatch(MALILLA, 4, seed=10), GameBatch(MALILLA, 4, seed=10)
    where = np.array([True, False, True, False])
    games.misdeal(where)
    assert (games.state[~where] == untouched.state[~where]).all()
    assert (games.dealer[where] == (untouched.dealer[where] + 1) % 4).all()
    with pytest.raises(ValueError, match="bool"):
        games.misdeal([0, 1, 0, 1])


# ---- 1.3 playing to a trick ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dealer", range(4))
def test_1_3_1_the_dealers_right_leads_any_card(dealer):
    games = dealt(dealer=dealer)
    assert games.seat[0] == games.leader[0] == (dealer + 1) % 4
    assert len(legal_cards(games)) == 10


def test_1_3_1_a_protected_seven_may_be_led():
    assert legal_at("1.3.1, a protected seven may be led") == cards("7d 4d 3c")


def test_1_3_1_the_winner_leads_the_next():
    games = at("G8")
    play(games, "7h", "Kh", "2h")
    assert games.seat[0] == games.leader[0] == 1
    assert games.trick_size[0] == 0
    assert len(legal_cards(games)) == 2


def test_1_3_2_follow_suit_if_you_can():
    assert legal_at("G9") == cards("7h Ah 3h")
    assert legal_at("1.3.2, unable to beat") == cards("Kh 2h")
    assert legal_at("1.3.8, led and following") == "7d"


def test_1_3_3_beat_an_opponent_who_is_winning():
    assert legal_at("G8") == "7h"
    assert legal_at("G16") == "7h"


def test_1_3_3_trump_led_counts_too():
    assert legal_at("1.3.3, trump led") == "Ks"


def test_1_3_4_a_ruffed_trick_asks_no_beating():
    assert legal_at("G9") == cards("7h Ah 3h")


def test_1_3_5_trump_when_void():
    assert legal_at("1.3.5, an opponent winning, no trump yet") == cards("4s 2s")
    assert legal_at("1.3.5, no trump held") == cards("4d 3c")


def test_1_3_5_overtrump_a_winning_trump():
    assert legal_at("G10") == cards("Qs 7s")


def test_1_3_6_undertrump_optional():
    assert legal_at("G5") == cards("2s 6c")
    assert legal_at("G5, diamonds led before") == cards("2s 7d 6c")


def test_1_3_6_undertrump_forbidden():
    assert legal_at("G5, undertrump forbidden") == "6c"


def test_1_3_6_undertrump_forced():
    assert legal_at("G5, undertrump forced") == "2s"


def test_1_3_7_partner_winning_follow_only():
    assert legal_at("G7") == cards("7h Kh 2h")


def test_1_3_7_partner_winning_and_void():
    assert legal_at("1.3.7, void") == cards("4s 3d")
    assert legal_at("G4, forbidden") == "3s"


def test_1_3_7_climb_over_partner():
    assert legal_at("G7, climbing over partner") == "7h"
    assert legal_at("1.3.7, void and climbing") == "4s"
    assert legal_at("1.3.7, climbing over a ruff") == "Ks"


def test_1_3_8_protected_seven():
    assert legal_at("G1") == cards("4d 3c")
    assert legal_at("1.3.8, opponent winning") == "6c"


def test_1_3_8_partner_winning_too():
    assert legal_at("G4") == "3s"


def test_1_3_8_nothing_but_sevens():
    assert legal_at("G3") == cards("7d 7c")
    assert legal_at("G3, clubs led before") == "7c"


def test_1_3_8_a_low_trump_comes_before_the_seven():
    assert legal_at("1.3.8, a low trump before the seven") == "2s"


def test_1_3_8_free_once_the_suit_was_led():
    assert legal_at("G1, diamonds led before") == cards("7d 4d 3c")


def test_1_3_8_a_discard_does_not_unlock():
    assert legal_at("1.3.8, diamonds discarded") == cards("4d 3c")


def test_1_3_8_protected_played_and_off():
    assert legal_at("1.3.8, diamonds discarded, played") == cards("7d 4d 3c")
    assert legal_at("G1, protected off") == cards("7d 4d 3c")


def test_1_3_8_never_restricts_leading_following_or_the_trump_seven():
    assert legal_at("1.3.8, led and following") == "7d"
    assert legal_at("1.3.1, a protected seven may be led") == cards("7d 4d 3c")
    assert legal_at("1.3.8, the trump seven is free") == cards("7s 3d")


def test_1_3_9_highest_trump_else_highest_of_the_led_suit():
    for trick, trump, winner in [
        ("Ah 7h Kh 2h", "s", 1),
        ("Kd Ad 7d 2h", "h", 3),
        ("5h 2s 7s 7h", "s", 2),
        ("2h 7d 7c Ad", "s", 0),
        ("2h 3h 7d 4h", "s", 3),
    ]:
        games = last_trick(trick.split(), trump)
        before = games.tricks_won[0].copy()
        play(games, *trick.split())
        assert (games.last_tricks[0] - before).tolist() == [int(winner % 2 == 0), int(winner % 2 == 1)]


def test_1_3_10_suits_led_are_public():
    games = GameBatch(MALILLA, 50, seed=10)
    led = np.zeros(50, int)
    played = np.zeros(50, int)
    for ply in range(39):
        views = games.views()
        assert (views["suits_led"] == led).all()
        assert (views["suits_played"] == played).all()
        actions = games.random_legal(games.decision_keys())
        played |= 1 << actions // 10
        if ply % 4 == 0:
            led |= 1 << actions // 10
        games.step(actions)


# ---- 1.4 illegal play ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", ["6h", "4s", "Kh", "2c"])
def test_1_4_1_an_illegal_play_loses_the_match(wrong):
    """Not beating, not following, a card of another hand: all the same."""
    games = at("G8")  # seat 1 must play 7h
    score = games.match_score[0].copy()
    points = games.hand_points[0].copy()
    play(games, wrong)
    assert games.done[0]
    assert games.seat[0] == -1
    assert games.reneged[0] == 1
    assert games.winner[0] == 0
    assert games.match_score[0].tolist() == score.tolist()
    assert games.hand_points[0].tolist() == points.tolist()
    assert not games.zapato[0]
    assert not games.capote[0]
    assert not games.legal_actions().any()


@pytest.mark.parametrize("seat", range(4))
def test_1_4_1_whoever_it_is_the_other_side_wins(seat):
    games = dealt(dealer=(seat - 1) % 4, score=[30, 30])
    wrong = next(card for card in range(40) if not games.legal_actions()[0, card])
    games.step(np.array([wrong]))
    assert (games.reneged[0], games.winner[0]) == (seat, 1 - seat % 2)


def test_1_4_1_of_several_other_sides_the_highest_wins():
    rules = RuleSet(teams=(0, 1, 2), removed=("2s",), neutral=24)
    games = dealt(rules, dealer=2, score=[20, 5, 9])
    score = games.match_score[0].copy()
    wrong = next(card for card in range(40) if not games.legal_actions()[0, card])
    games.step(np.array([wrong]))
    assert games.seat[0] == -1
    assert games.reneged[0] == 0
    assert games.winner[0] == 2
    assert games.match_score[0].tolist() == score.tolist()


def test_1_4_1_illegal_play_raises_where_the_rules_say_so():
    rules = ruleset(illegal="raise")
    games = GameBatch(rules, 3, seed=10)
    before = games.state.tobytes()
    actions = games.random_legal(games.decision_keys())
    wrong = next(card for card in range(40) if not games.legal_actions()[2, card])
    actions[2] = wrong
    with pytest.raises(IllegalMove, match=f"lane 2, seat {games.seat[2]}: {card_name(rules, wrong)} ") as refusal:
        games.step(actions)
    assert set(str(refusal.value).split("legal: ")[1].split()) == set(legal_cards(games, 2))
    assert games.state.tobytes() == before


@pytest.mark.parametrize("illegal", ["lose_match", "raise"])
def test_1_4_1_what_is_no_play_at_all_is_refused(illegal):
    """Ids out of range and wrong shapes are errors of the program, whatever the table says of illegal plays."""
    games = GameBatch(ruleset(illegal=illegal), 2, seed=10)
    before = games.state.tobytes()
    legal = int(games.random_legal(games.decision_keys())[0])
    for wrong in (-1, 40, 10**12):
        with pytest.raises(ValueError, match=f"lane 1, seat {games.seat[1]}.*{wrong}.*legal"):
            games.step(np.array([legal, wrong]))
    for wrong in ([legal], [[legal, legal]], [0.5, 0.5], 3):
        with pytest.raises(ValueError, match="shape"):
            games.step(wrong)
    assert games.state.tobytes() == before


# ---- 1.5 scoring -----------------------------------------------------------------------------------------------------


def test_1_5_1_the_sides_points_sum_to_seventy():
    games = play_out(GameBatch(MALILLA, 20 if PURE else 2000, seed=10))
    assert games.hand_over.all()
    assert (games.last_points.sum(axis=1) == 70).all()
    assert (games.last_tricks.sum(axis=1) == 10).all()


def test_1_5_2_the_excess_over_the_neutral_half_is_scored():
    lanes = 20 if PURE else 2000
    games = GameBatch(ruleset(dealer_bonus=False, target=70, capote_wins=False), lanes, seed=10)
    play_out(games)
    expected = np.maximum(0, games.last_points - 35)
    assert (games.last_score_change == expected).all()
    assert (games.match_score == expected).all()


def test_1_5_2_level_nobody_scores():
    history = hand_scoring(MALILLA, "6", (35, 35))
    games = game_after(MALILLA, history, [10, 12])
    assert games.last_score_change[0].tolist() == [0, 0]
    assert not games.done[0]


@pytest.mark.parametrize(("score", "over"), [(32, False), (33, True), (34, True)])
def test_1_5_3_first_to_the_target(score, over):
    history = hand_scoring(MALILLA, "6", (37, 33))
    games = game_after(MALILLA, history, [score, 20])
    assert games.done[0] == over
    assert games.winner[0] == (0 if over else -1)


def test_1_5_3_the_target_is_a_parameter():
    history = hand_scoring(MALILLA, "6", (37, 33))
    assert not game_after(ruleset(target=70), history, [34, 20]).done[0]
    assert game_after(ruleset(target=70), history, [68, 20]).winner[0] == 0
    assert game_after(ruleset(target=2), history).winner[0] == 0


def test_1_5_4_a_waiting_bonus_is_ignored_when_the_match_is_won():
    opponents = game_after(MALILLA, hand_scoring(MALILLA, "K", (33, 37)), [33, 33])
    assert (opponents.winner[0], opponents.match_score[0].tolist()) == (1, [33, 35])
    own = game_after(MALILLA, hand_scoring(MALILLA, "6", (37, 33)), [33, 33])
    assert (own.winner[0], own.match_score[0].tolist()) == (0, [35, 33])
    waiting = game_after(MALILLA, hand_scoring(MALILLA, "K", (37, 33)), [33, 33])
    assert (waiting.winner[0], waiting.match_score[0].tolist()) == (0, [35, 33])


def test_1_5_4_else_it_is_added_after_the_play_points():
    games = game_after(MALILLA, hand_scoring(MALILLA, "Q", (29, 41)), [33, 20])
    assert (games.winner[0], games.match_score[0].tolist()) == (0, [35, 26])
    assert games.last_score_change[0].tolist() == [2, 6]


def test_1_5_5_capote_wins_the_match_at_once():
    games = game_after(MALILLA, one_suit_each(0))
    assert games.last_tricks[0].tolist() == [10, 0]
    assert games.last_points[0].tolist() == [70, 0]
    assert games.last_score_change[0].tolist() == [5 + 35, 0]  # the turned-up seven's bonus and the ordinary excess
    assert (games.winner[0], games.capote[0]) == (0, True)


def test_1_5_5_nine_tricks_are_no_capote():
    rules, rng = ruleset(target=70), random.Random(10)
    laws = Laws(rules)
    while True:
        order, dealer = one_strong_side(laws, rng)
        game = Referee(rules, order, dealer, laws=laws)
        while not game.hand_over:
            game.play(greedy(game, game.legal(), rng))
        if max(game.last_tricks) == 9:
            break
    games = game_after(rules, History(tuple(order), dealer, tuple(play.card for play in game.log)))
    assert sorted(games.last_tricks[0].tolist()) == [1, 9]
    assert (games.done[0], games.capote[0], games.winner[0]) == (False, False, -1)


@pytest.mark.parametrize("score", [[0, 0], [0, 69], [34, 20]])
def test_1_5_5_whatever_the_target_and_even_when_behind(score):
    games = game_after(ruleset(target=70), one_suit_each(0), score)
    assert (games.winner[0], games.capote[0]) == (0, True)
    assert games.match_score[0].tolist() == [score[0] + 40, score[1]]


def test_1_5_5_capote_leaves_a_waiting_bonus_out():
    games = game_after(ruleset(target=70), one_suit_each(0), [66, 0])
    assert games.match_score[0].tolist() == [66 + 35, 0]
    against = game_after(ruleset(target=35), one_suit_each(1), [34, 0])
    assert (against.winner[0], against.match_score[0].tolist()) == (1, [34, 40])


def test_1_5_5_capote_is_a_parameter():
    rules = ruleset(target=70, capote_wins=False)
    games = game_after(rules, one_suit_each(0), [0, 20])
    assert (games.done[0], games.winner[0], games.capote[0]) == (False, -1, False)
    assert games.last_score_change[0].tolist() == [40, 0]


def test_1_5_6_zapato():
    history = hand_scoring(MALILLA, "6", (37, 33))
    assert game_after(MALILLA, history, [33, 0]).zapato[0]
    assert not game_after(MALILLA, history, [33, 1]).zapato[0]
    assert not game_after(MALILLA, history, [20, 0]).zapato[0]  # nobody has won


def test_1_5_6_a_capote_below_the_target_is_not_one():
    assert not game_after(ruleset(target=70), one_suit_each(0), [29, 0]).zapato[0]
    assert game_after(ruleset(target=70), one_suit_each(0), [30, 0]).zapato[0]
    assert not game_after(ruleset(target=70), one_suit_each(0), [30, 1]).zapato[0]
    assert game_after(MALILLA, one_suit_each(0)).zapato[0]


def test_1_5_6_a_win_by_the_waiting_bonus_can_be_one():
    history = hand_scoring(MALILLA, "K", (35, 35))
    games = game_after(MALILLA, history, [33, 0])
    assert (games.winner[0], games.zapato[0], games.match_score[0].tolist()) == (0, True, [36, 0])


# ---- 1.6 options -----------------------------------------------------------------------------------------------------


def test_1_6_1_the_long_game():
    rules = ruleset("malilla-70")
    assert rules.target == 70
    assert rules.to_dict() == {**MALILLA.to_dict(), "name": "malilla-70", "target": 70}
    history = hand_scoring(MALILLA, "6", (37, 33))
    assert not game_after(rules, history, [34, 0]).done[0]
    assert game_after(rules, history, [68, 0]).winner[0] == 0


# ---- the tests themselves --------------------------------------------------------------------------------------------


def test_every_paragraph_has_a_test():
    """Each numbered paragraph of section 1 of docs/RULES.md, but the options that have a file of their own."""
    text = RULES_TEXT.read_text(encoding="utf-8")
    paragraphs = set(re.findall(r"^- \**(1\.\d\.\d+)", text, flags=re.MULTILINE))
    tests = {name for name in dir(sys.modules[__name__]) if name.startswith("test_1_")}
    tested = {".".join(re.match(r"test_(1)_(\d)_(\d+)_", name).groups()) for name in tests}
    assert len(paragraphs) == 29
    assert tested == paragraphs - ELSEWHERE
