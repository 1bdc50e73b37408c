"""The other games, RULES section 3: each paragraph against what its preset plays.

Positions in a trick and scores of these games are among the worked positions of test_manille.py.
"""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from other_positions import OUTCOMES, hand_taking
from positions import History, order_for
from referee import Laws
from seated import act, dealt, hand, legal, names_of, play_out, possible, replay, said
from test_manille import legal_at, outcome

from malilla_env import PRESETS, GameBatch, ruleset
from malilla_env.cards import card_name, display, parse_card
from malilla_env.compiled import PURE
from malilla_env.state import BID, NAME, PLAY, TALK

RULES_TEXT = Path(__file__).parents[2] / "docs" / "RULES.md"
LANES = 20 if PURE else 1000
SPAIN, ESPANOLA, NUEVE = PRESETS["manilla-48"], PRESETS["malilla-espanola"], PRESETS["malilla-nueve"]
PARLEE, ENCHERES = PRESETS["manille-parlee"], PRESETS["manille-encheres"]
THREE, DEAD, TWO = PRESETS["manille-3"], PRESETS["manille-3-dead"], PRESETS["manille-2"]


def after_random_hands(rules, **settings) -> GameBatch:
    return play_out(GameBatch(rules, LANES, seed=10, **settings))


# ---- 3.1 manilla-48 --------------------------------------------------------------------------------------------------


def test_3_1_forty_eight_cards_twelve_tricks_seventy_two_points():
    games = GameBatch(SPAIN, 50, seed=10)
    assert (np.bitwise_count(games.hands) == 12).all()
    play_out(games)
    assert (games.last_points.sum(axis=1) == 72).all()
    assert (games.last_tricks.sum(axis=1) == 12).all()


def test_3_1_cards_have_their_spanish_names():
    shown = [display(SPAIN, parse_card(SPAIN, card)) for card in ("9s", "Ah", "Kd", "Qc", "Js")]
    assert shown == ["9 de espadas", "1 de copas", "rey de oros", "caballo de bastos", "sota de espadas"]


def test_3_1_dealt_singly_with_a_dealer_bonus():
    games = GameBatch(SPAIN, 50, seed=10)
    for lane in range(50):
        right = (games.dealer[lane] + 1) % 4
        own = {int(card) for card in games.deck[lane, :48:4]}
        assert {card for card in range(48) if int(games.hands[lane, right]) >> card & 1} == own
    assert dealt(SPAIN, turned="9s", score=[0, 20]).match_score[0].tolist() == [0, 25]
    assert dealt(SPAIN, turned="9s", score=[0, 35]).waiting_bonus[0] == 5


def test_3_1_duties_of_section_1_but_no_card_is_protected():
    assert legal_at("3.1, partner wins") == {"9h", "Kh", "2h"}
    assert legal_at("3.1, no card is protected") == {"9d", "8d", "2s"}
    assert legal_at("3.1, a trump too low") == {"2s", "9d"}


def test_3_1_capote_wins_below_the_target_too():
    """Seat 0 leads eleven trumps, then the last: 72 - 36 = 36 of the 40."""
    spades = [rank + "s" for rank in reversed(SPAIN.rank_names)]
    games = dealt(SPAIN, {0: " ".join([*spades[:-1], "9h"])}, turned="2s", score=[0, 30])
    for lead in [*spades[:-1], "9h"]:
        act(games, lead)
        while games.seat[0] != 0 and not games.done[0]:
            act(games, legal(games)[0])
    assert (games.capote[0], games.winner[0]) == (True, 0)
    assert games.match_score[0].tolist() == [36, 30]


# ---- 3.2 malilla-espanola, 3.3 malilla-nueve -------------------------------------------------------------------------


@pytest.mark.parametrize(("rules", "paragraph", "size"), [(ESPANOLA, "3.2", 10), (NUEVE, "3.3", 11)])
def test_3_2_and_3_3_play_and_scoring_of_manille(rules, paragraph, size):
    games = GameBatch(rules, LANES, seed=10)
    assert (np.bitwise_count(games.hands) == size).all()
    assert (games.match_score == 0).all()  # no bonus
    play_out(games)
    assert (games.last_points.sum(axis=1) == 60).all()
    assert (games.last_score_change == np.maximum(0, games.last_points - 30)).all()
    assert legal_at(f"{paragraph}, undertrump") == {"3s"}


def test_3_2_the_seven_is_high():
    assert legal_at("3.2, beat partner") == {"7h"}
    assert ESPANOLA.rank_names == ruleset("malilla").rank_names


def test_3_3_the_nine_is_high_in_forty_four_cards():
    assert legal_at("3.3, beat partner") == {"9h"}
    assert not {"8s", "Ts"} & set(NUEVE.action_names)
    assert NUEVE.num_cards == 44


@pytest.mark.parametrize("rules", [ESPANOLA, NUEVE], ids=["3.2", "3.3"])
def test_3_2_and_3_3_dealt_singly(rules):
    games = GameBatch(rules, 1, seed=10)
    right = (games.dealer[0] + 1) % 4
    order = [card_name(rules, card) for card in games.deck[0, : rules.num_cards]]
    assert hand(games, right) == set(order[::4])


# ---- 3.4 manille-muette ----------------------------------------------------------------------------------------------


def test_3_4_the_same_game_under_another_name():
    """Hand for hand, and a state of one goes on under the other."""
    silent, plain = GameBatch(PRESETS["manille-muette"], 20, seed=10), GameBatch(PRESETS["manille"], 20, seed=10)
    for _ in range(100):
        actions = plain.random_legal(plain.decision_keys())
        plain.step(actions)
        silent.step(actions)
        assert (silent.state == plain.state).all()
    assert PRESETS["manille-muette"].hash == PRESETS["manille"].hash
    assert (GameBatch.from_state(PRESETS["manille"], silent.state).state == plain.state).all()


# ---- 3.5 manille-parlee ----------------------------------------------------------------------------------------------

SPEAKER = "As Ks 9s Th 7h Qd Jd 8d"
T1 = ["pass", "holds-0-clubs", "holds-2-hearts", "holds-3-spades", "holds-3-diamonds", "holds-Th", "holds-As"]


def talking(**reset) -> GameBatch:
    """Everybody can follow two hearts; diamonds are trump."""
    others = {1: "Jh Qh Ts Js Qs 9d Td Qc", 2: "8h 9h 7c 8c 9c Jc 7s 8s", 3: "Kh Ah 7d Kd Ad Kc Ac Tc"}
    return dealt(PARLEE, {0: SPEAKER} | others, turned="7d", **reset)


def on_top() -> GameBatch:
    """Seat 0 may lead the tricks that it likes: it holds the highest trumps and the highest of all suits."""
    return dealt(PARLEE, {0: "Ts As Ks Th Ah Td Ad 7d", 3: "7s"}, turned="7s")


def end_trick(games: GameBatch) -> None:
    """The others add what they may."""
    while games.trick_size[0]:
        act(games, legal(games)[0])


def test_3_5_section_4_only_true_statements_are_legal():
    games = talking()
    assert legal(games) == T1  # in the order of their ids
    act(games, "pass", "pass", "Th")
    end_trick(games)
    assert games.seat[0] == 0
    t2 = ["pass", "holds-0-clubs", "holds-1-hearts", "holds-3-spades", "holds-3-diamonds", "holds-As"]
    assert legal(games) == t2


def test_3_5_the_leader_then_the_partner_before_each_lead():
    games = GameBatch(PARLEE, 30, seed=10)
    leader = games.leader.copy()
    for _ in range(8):
        for speaker in (leader, (leader + 2) % 4):
            assert (games.phase == TALK).all()
            assert (games.seat == speaker).all()
            games.step(games.random_legal(games.decision_keys()))
        for at in range(4):
            assert (games.phase == PLAY).all()
            assert (games.seat == (leader + at) % 4).all()
            games.step(games.random_legal(games.decision_keys()))
        leader = games.leader.copy()
    assert games.hand_over.all()
    assert (games.phase[~games.done] == TALK).all()  # of the next hand
    assert (games.num_plays[~games.done] == 0).all()


def test_3_5_everybody_hears_it():
    games = talking()
    act(games, "holds-2-hearts", "holds-0-diamonds")
    for seat in range(4):
        view = games.views(seat)[0]
        assert view["counted"].tolist() == [0b0010, 0, 0b0100, 0]
        assert (view["counts"][0, 1], view["counts"][2, 2]) == (2, 0)
    assert said(games) == [(0, "holds-2-hearts"), (2, "holds-0-diamonds")]


def test_3_5_a_number_falls_as_the_cards_are_played():
    games = talking()
    act(games, "holds-2-hearts", "pass", "Th")
    assert games.state["counts"][0, 0, 1] == 1
    end_trick(games)
    assert games.views(3)[0]["counts"][0, 1] == 1
    assert "holds-1-hearts" in legal(games)
    act(games, "pass", "pass", "7h")
    assert (games.state["counts"][0, 0, 1], games.state["counted"][0, 0]) == (0, 0b0010)


@pytest.mark.parametrize(
    "lie", ["holds-3-hearts", "holds-1-hearts", "holds-0-spades", "holds-Ts", "holds-Ah", "holds-1-clubs", "Th"]
)
def test_3_5_a_false_statement_is_illegal(lie):
    games = talking()
    act(games, lie)
    assert (games.done[0], games.reneged[0], games.winner[0]) == (True, 0, 1)


def test_3_5_the_partner_may_not_lie_either():
    games = talking()
    act(games, "pass", "holds-Ts")
    assert (games.reneged[0], games.winner[0]) == (2, 1)


def test_3_5_only_tens_and_aces_can_be_named():
    named = {text for text in PARLEE.action_names if re.fullmatch("holds-..", text)}
    assert named == {f"holds-{rank}{suit}" for rank in "TA" for suit in "shdc"}


def test_3_5_it_binds_nobody():
    """Any card may be led after any statement; the duties are those of section 2."""
    games = talking()
    act(games, "holds-As", "holds-2-hearts")
    assert set(legal(games)) == set(SPEAKER.split())


@pytest.mark.parametrize("seat", range(4))
def test_3_5_a_card_named_is_held_by_nobody_else(seat):
    games = dealt(PARLEE, {seat: SPEAKER}, dealer=(seat - 1) % 4, turned="7d")
    viewer = (seat + 1) % 4
    assert all("Th" in possible(games, other, viewer) for other in range(4))
    act(games, "holds-Th")
    assert [other for other in range(4) if "Th" in possible(games, other, viewer)] == [seat]
    assert names_of(PARLEE, games.views(viewer)[0]["shown"][seat]) == {"Th"}


def test_3_5_none_of_a_suit_leaves_no_card_of_it():
    games = talking()
    act(games, "holds-0-clubs")
    assert not [card for card in possible(games, 0, viewer=1) if card[1] == "c"]
    assert [card for card in possible(games, 1, viewer=1) if card[1] == "c"]


def test_3_5_as_many_known_cards_as_told_leave_no_others_of_the_suit():
    """Two hearts, and both are named."""
    games = on_top()
    for statement, lead in [("holds-2-hearts", "Ts"), ("holds-Th", "As"), ("holds-Ah", "Ks")]:
        assert {card for card in possible(games, 0, viewer=1) if card[1] == "h"} > {"Th", "Ah"}
        act(games, statement, "pass")
        if statement != "holds-Ah":
            act(games, lead)
            end_trick(games)
    assert {card for card in possible(games, 0, viewer=1) if card[1] == "h"} == {"Th", "Ah"}
    assert [card for card in possible(games, 0, viewer=1) if card[1] == "c"]  # nothing is told of clubs


def test_3_5_a_number_all_of_which_is_played_leaves_none():
    games = talking()
    act(games, "holds-2-hearts", "pass", "Th")
    end_trick(games)
    assert [card for card in possible(games, 0, viewer=1) if card[1] == "h"]
    act(games, "pass", "pass", "7h")
    assert not [card for card in possible(games, 0, viewer=1) if card[1] == "h"]


def test_3_5_told_numbers_that_fill_the_hand_leave_no_other_suit():
    games = on_top()
    for statement, lead in [("holds-3-spades", "Ts"), ("holds-2-hearts", "As"), ("holds-3-diamonds", "Ks")]:
        assert [card for card in possible(games, 0, viewer=1) if card[1] == "c"]
        act(games, statement, "pass")
        if lead != "Ks":
            act(games, lead)
            end_trick(games)
    assert {card[1] for card in possible(games, 0, viewer=1)} == set("shd")


# ---- 3.6 manille-encheres --------------------------------------------------------------------------------------------

NAMES = ["trump-spades", "trump-hearts", "trump-diamonds", "trump-clubs"]


def bids(above: int) -> list[str]:
    return [f"bid-{points}" for points in range(above + 1, 61)]


def test_3_6_1_nothing_is_turned_up():
    games = GameBatch(ENCHERES, 50, seed=10)
    assert (games.turned_card == -1).all()
    assert (games.trump == -1).all()
    assert (games.match_score == 0).all()
    assert (games.views(0)["shown"] == 0).all()
    assert (games.views(0)["cannot_hold"] == 0).all()


@pytest.mark.parametrize("dealer", range(4))
def test_3_6_1_each_bids_once_from_the_dealers_right(dealer):
    games = dealt(ENCHERES, dealer=dealer)
    turns = [(dealer + 1 + at) % 4 for at in range(4)]
    for seat, action in zip(turns, ["pass", "bid-31", "pass", "bid-33"], strict=True):
        assert (games.phase[0], games.seat[0]) == (BID, seat)
        act(games, action)
    assert said(games) == list(zip(turns, ["pass", "bid-31", "pass", "bid-33"], strict=True))
    assert (games.phase[0], games.seat[0], games.bidder[0], games.bid[0]) == (NAME, dealer, dealer, 33)


def test_3_6_1_section_4_higher_than_any_before():
    games = dealt(ENCHERES)
    assert legal(games) == ["pass", *bids(30)]  # B1
    act(games, "bid-35", "pass")
    assert legal(games) == ["pass", *bids(35)]  # B2
    act(games, "bid-60")
    assert legal(games) == ["pass"]
    games = dealt(ENCHERES)
    act(games, "bid-60")
    assert legal(games) == ["pass"]  # B3
    view = games.views(3)[0]
    assert (view["bid"], view["bidder"]) == (60, 0)


@pytest.mark.parametrize("wrong", ["bid-35", "bid-31", "trump-spades"])
def test_3_6_1_a_bid_that_is_no_higher_is_illegal(wrong):
    games = dealt(ENCHERES)
    act(games, "bid-35", wrong)
    assert (games.done[0], games.reneged[0], games.winner[0]) == (True, 1, 0)


def test_3_6_2_section_4_the_highest_bidder_names_any_trump():
    games = dealt(ENCHERES, {1: "Ts As Ks Qs Js 9s 8s 7s"})
    act(games, "pass", "bid-31", "pass", "pass")
    assert (games.phase[0], games.seat[0]) == (NAME, 1)
    assert legal(games) == NAMES  # B4: held or not


@pytest.mark.parametrize("suit", range(4))
@pytest.mark.parametrize("bidder", range(4))
def test_3_6_2_the_dealers_right_leads_whoever_bid(bidder, suit):
    games = dealt(ENCHERES)
    act(games, *["bid-40" if seat == bidder else "pass" for seat in range(4)], NAMES[suit])
    assert (games.phase[0], games.seat[0], games.leader[0]) == (PLAY, 0, 0)
    assert (games.trump[0], games.turned_card[0]) == (suit, -1)
    assert games.views(2)[0]["trump"] == suit
    assert set(legal(games)) == hand(games, 0)


def test_3_6_2_the_trump_named_is_played_by():
    """Seat 1 has no hearts and names clubs: it must trump with one."""
    games = dealt(ENCHERES, {0: "Th", 1: "Tc 7c Td Ad Kd Qd Jd 9d"})
    act(games, "pass", "bid-31", "pass", "pass", "trump-clubs", "Th")
    assert legal(games) == ["7c", "Tc"]
    act(games, "7c")
    assert games.best_seat[0] == 1


def test_3_6_3_all_pass_the_next_player_deals():
    games = dealt(ENCHERES, score=[7, 9])
    deck = games.deck[0].copy()
    act(games, "pass", "pass", "pass", "pass")
    assert (games.dealer[0], games.attempt[0], games.hand_number[0]) == (0, 1, 0)
    assert (games.phase[0], games.seat[0], games.num_plays[0], games.bid[0], games.bidder[0]) == (BID, 1, 0, 0, -1)
    assert (games.deck[0] != deck).any()
    assert games.match_score[0].tolist() == [7, 9]
    assert not games.hand_over[0]


def test_3_6_3_an_episode_of_one_hand_that_all_pass_is_over_and_level():
    games = dealt(ENCHERES, episode="hand")
    act(games, "pass", "pass", "pass", "pass")
    assert (games.done[0], games.winner[0], games.reneged[0]) == (True, -1, -1)
    assert games.last_points[0].tolist() == games.match_score[0].tolist() == [0, 0]


def test_3_6_3_a_match_ends_without_a_winner_after_a_hundred_deals_that_all_passed():
    games = dealt(ENCHERES, score=[7, 9])
    act(games, *["pass"] * 396)
    act(games, "pass", "pass", "pass")
    assert (games.attempt[0], games.done[0]) == (99, False)
    played = games.copy()
    act(games, "pass")
    assert (games.done[0], games.winner[0], games.match_score[0].tolist()) == (True, -1, [7, 9])
    act(played, "bid-31", "trump-spades")  # one bid, and they go on
    play_out(played)
    assert (played.attempt[0], played.hand_number[0]) == (0, 1)


def test_3_6_4_made_or_failed():
    assert outcome("E2")[0].last_score_change[0].tolist() == [5, 0]  # just made
    assert outcome("E3")[0].last_score_change[0].tolist() == [0, 5]  # just failed
    games = after_random_hands(ruleset("manille-encheres", target=1000))
    assert ((games.last_score_change > 0).sum(axis=1) == 1).all()  # one side scores, always


def test_3_6_4_a_made_bid_scores_the_points_taken():
    history = hand_taking(ENCHERES, (38, 22), "bid-35 pass pass pass trump-hearts")
    for bid in (31, 35, 38):
        opened = history._replace(plays=(f"bid-{bid}", *history.plays[1:]))
        assert replay(ENCHERES, opened).last_score_change[0].tolist() == [8, 0]
    for bid in (39, 60):
        opened = history._replace(plays=(f"bid-{bid}", *history.plays[1:]))
        assert replay(ENCHERES, opened).last_score_change[0].tolist() == [0, bid - 30]


@pytest.mark.parametrize("bidder", range(4))
def test_3_6_4_the_bid_is_the_sides(bidder):
    """Of 38-22 the side of seats 0 and 2 makes 35, the other fails."""
    history = hand_taking(ENCHERES, (38, 22), "bid-35 pass pass pass trump-hearts")
    opening = ["bid-35" if seat == bidder else "pass" for seat in range(4)]
    games = replay(ENCHERES, history._replace(plays=(*opening, *history.plays[4:])))
    assert games.last_score_change[0].tolist() == [8 if bidder % 2 == 0 else 5, 0]


def test_3_6_4_an_episode_of_one_hand_is_won_by_the_side_that_scores():
    history = hand_taking(ENCHERES, (38, 22), "bid-35 pass pass pass trump-hearts")
    for bid, winner in ((35, 0), (39, 1)):
        opened = history._replace(plays=(f"bid-{bid}", *history.plays[1:]))
        games = replay(ENCHERES, opened, episode="hand")
        assert (games.done[0], games.winner[0]) == (True, winner)


def test_3_6_4_there_is_no_level_hand():
    """30-30 is a failed bid, and the deal passes on, whatever is said of level hands."""
    row = next(row for row in OUTCOMES if row.name == "3.6.4, thirty each")
    history = hand_taking(ENCHERES, row.points, row.opening)
    games = replay(ruleset("manille-encheres", redeal_level=True), history)
    assert games.last_score_change[0].tolist() == [0, 1]
    assert games.dealer[0] == 0


# ---- 3.7 three players -----------------------------------------------------------------------------------------------


def test_3_7_1_thirty_cards_ten_each():
    games = GameBatch(THREE, 50, seed=10)
    assert (np.bitwise_count(games.hands) == 10).all()
    held = np.bitwise_or.reduce(games.hands, axis=1)
    for lane in range(50):
        assert names_of(THREE, held[lane]) == {r + s for r in "789JQKAT" for s in "shdc"} - {"7s", "7c"}
    order = [card_name(THREE, card) for card in games.deck[0, :30]]
    assert hand(games, (games.dealer[0] + 1) % 3) == set(order[::3])
    assert (games.trump == games.deck[:, 29] // 8).all()


@pytest.mark.parametrize("rules", [THREE, DEAD], ids=["3.7.1", "3.7.3"])
def test_3_7_1_and_3_7_3_three_in_turn(rules):
    games = GameBatch(rules, 50, seed=10)
    assert set(games.dealer.tolist()) == {0, 1, 2}
    for ply in range(rules.num_cards if rules is THREE else 24):
        if ply % 3 == 0:
            leader = games.leader.copy()
        assert (games.seat == (leader + ply % 3) % 3).all()
        games.step(games.random_legal(games.decision_keys()))
    assert games.hand_over.all()


def test_3_7_1_nobody_is_a_partner():
    assert legal_at("3.7, trump") == {"8s"}
    assert legal_at("3.7, nobody is exempt") == {"8s"}
    assert legal_at("3.7, beat") == {"Th"}


def test_3_7_2_each_above_twenty_scores_the_excess():
    games = after_random_hands(THREE)
    expected = np.maximum(0, games.last_points - 20)
    assert (games.last_points.sum(axis=1) == 60).all()
    assert (games.last_score_change == expected).all()
    assert ((expected > 0).sum(axis=1) == 2).any()  # more than one can
    assert outcome("C2")[0].last_score_change[0].tolist() == [2, 1, 0]


def test_3_7_2_an_illegal_play_gives_the_match_to_the_higher_of_the_others():
    games = dealt(THREE, score=[50, 20, 40])
    act(games, sorted(hand(games, 1))[0])
    assert (games.reneged[0], games.winner[0]) == (0, 2)


DEAD_PLACES = [[0, 1, 2, 12, 13, 20, 21, 22], [3, 4, 5, 14, 15, 23, 24, 25]]
DEAD_PLACES += [[9, 10, 11, 18, 19, 29, 30, 31], [6, 7, 8, 16, 17, 26, 27, 28]]  # the dealer's, the dead hand's


@pytest.mark.parametrize("dealer", range(3))
def test_3_7_3_a_fourth_hand_is_dealt_before_the_dealers(dealer):
    games = GameBatch(DEAD, 1, seed=10)
    while games.dealer[0] != dealer:
        games.reset()
    order = [card_name(DEAD, card) for card in games.deck[0, :32]]
    for at in range(3):
        assert hand(games, (dealer + 1 + at) % 3) == {order[place] for place in DEAD_PLACES[at]}
    assert order[31] in hand(games, dealer)
    assert games.trump[0] == games.turned_card[0] // 8
    assert card_name(DEAD, games.turned_card[0]) == order[31]


def test_3_7_3_its_points_go_to_nobody():
    games = GameBatch(DEAD, LANES, seed=10)
    dead = games.deck[:, DEAD_PLACES[3]] % 8
    worth = np.array(DEAD.rank_points)[dead].sum(axis=1)
    play_out(games)
    assert (games.last_points.sum(axis=1) == 60 - worth).all()
    assert (worth > 0).any()
    assert (games.last_tricks.sum(axis=1) == 8).all()
    assert (games.last_score_change == np.maximum(0, games.last_points - 20)).all()


def test_3_7_3_nobody_sees_it():
    """A card of it exchanged for one of another player's hand changes no View of the third."""
    held = {0: "Ts As Ks Qs Js 9s 8s 7h", 2: "7s", 3: "Th Ah Kh Qh Jh 9h 8h Td"}
    exchanged = held | {1: "Th", 3: "Ah Kh Qh Jh 9h 8h Td"}
    games, other = dealt(DEAD, held, turned="7s"), dealt(DEAD, exchanged, turned="7s")
    assert hand(games, 1) != hand(other, 1)
    assert games.views(0)[0] == other.views(0)[0]
    assert "Th" in possible(games, 1)


# ---- 3.8 manille-2 ---------------------------------------------------------------------------------------------------


def two(down: dict[int, str], up: dict[int, str], **reset) -> GameBatch:
    """Two players; seat 1 deals. Each hand is eight cards face down, and those on them, in the same order."""
    hands = [f"{down[seat]} {up[seat]}".split() for seat in range(2)]
    return replay_two(order_for(hands, 1, laws=Laws(TWO)), **reset)


def replay_two(order: list[str], **reset) -> GameBatch:
    return replay(TWO, History(tuple(order), 1, ()), **reset)


DOWN = {0: "7s 8s 9s Js 7h 8h 9h Jh", 1: "7d 8d 9d Jd 7c 8c 9c Jc"}
UP = {0: "Qs Ks As Ts Qh Kh Ah Th", 1: "Qd Kd Ad Td Qc Kc Ac Tc"}


def test_3_8_1_the_first_eight_of_each_lie_under_the_second():
    games = GameBatch(TWO, 20, seed=10)
    for lane in range(20):
        order = [card_name(TWO, card) for card in games.deck[lane, :32]]
        dealer = int(games.dealer[lane])
        held = [names_of(TWO, games.hands[lane, seat]) for seat in range(2)]
        assert held[1 - dealer] == set(order[16:32:2])
        assert held[dealer] == set(order[17:32:2])
        assert names_of(TWO, games.covering[lane]) == held[0] | held[1]


def test_3_8_2_both_hands_are_open():
    games = two(DOWN, UP)
    for viewer in range(2):
        assert [possible(games, seat, viewer) for seat in range(2)] == [set(UP[0].split()), set(UP[1].split())]
        shown = games.views(viewer)[0]["shown"]
        assert [names_of(TWO, mask) for mask in shown[:2]] == [set(UP[0].split()), set(UP[1].split())]


def test_3_8_2_the_dealers_last_card_fixes_trump():
    games = two(DOWN, UP)
    assert card_name(TWO, games.turned_card[0]) == "Tc"
    assert games.trump[0] == 3
    many = GameBatch(TWO, 100, seed=10)
    assert (many.trump == many.deck[:, 31] // 8).all()
    assert (many.hands[np.arange(100), many.dealer] >> many.turned_card.astype(np.uint64) & 1 == 1).all()


def test_3_8_3_the_non_dealer_leads_and_there_are_sixteen_tricks():
    games = GameBatch(TWO, 50, seed=10)
    assert set(games.dealer.tolist()) == {0, 1}
    assert (games.leader == 1 - games.dealer).all()
    for ply in range(32):
        assert (games.trick_size == ply % 2).all()
        assert not games.hand_over.any()
        games.step(games.random_legal(games.decision_keys()))
    assert games.hand_over.all()
    assert (games.last_tricks.sum(axis=1) == 16).all()


def test_3_8_3_duties_look_at_the_face_up_cards_only():
    """Seat 1 has hearts and spades under its cards, and must trump with a club all the same."""
    down = {0: "7d 8d 9d Jd 7c 8c 9c Jc", 1: "7s 8s 9s Js 7h 8h 9h Jh"}
    games = two(down, UP)
    act(games, "Qh")
    assert set(legal(games)) == {"Qc", "Kc", "Ac", "Tc"}


def test_3_8_3_beat_and_undertrump_as_in_section_2():
    up = {0: "Qs Ks As Ts Qh Kh Qc Ad", 1: "Qd Kd Ah Td Th Kc Ac Tc"}
    down = {0: "7s 8s 9s Js 7h 8h 9h Jh", 1: "7d 8d 9d Jd 7c 8c 9c Jc"}
    games = two(down, up)  # clubs are trump
    act(games, "Kh")
    assert set(legal(games)) == {"Ah", "Th"}
    games = two(down, up)
    act(games, "Ad")
    assert legal(games) == ["Td"]


def test_3_8_4_a_card_is_turned_up_when_the_trick_is_over():
    games = two(DOWN, UP)
    act(games, "As")  # over the 9 of spades
    assert hand(games, 0) == set(UP[0].split()) - {"As"}
    assert "9s" not in possible(games, 0, viewer=1)
    act(games, "Kc")  # over the 8 of clubs
    assert hand(games, 0) == set(UP[0].split()) - {"As"} | {"9s"}
    assert hand(games, 1) == set(UP[1].split()) - {"Kc"} | {"8c"}
    assert (games.seat[0], games.trick_size[0]) == (1, 0)
    assert set(legal(games)) == hand(games, 1)  # the new card may be led at once
    assert names_of(TWO, games.covering[0]) == (set(UP[0].split()) | set(UP[1].split())) - {"As", "Kc"}


def test_3_8_4_a_card_without_one_under_it_leaves_a_smaller_hand():
    games = two(DOWN, UP)
    act(games, "As", "Kc")
    act(games, "8c", "Ts")  # the 8 was turned up just now
    assert np.bitwise_count(games.hands[0, 1]) == 7
    assert np.bitwise_count(games.hands[0, 0]) == 8


def test_3_8_4_every_card_is_played_once():
    games = GameBatch(TWO, LANES, seed=10)
    played = np.zeros(LANES, np.uint64)
    for _ in range(32):
        actions = games.random_legal(games.decision_keys())
        played |= np.uint64(1) << actions.astype(np.uint64)
        games.step(actions)
    assert (played == (1 << 32) - 1).all()


def test_3_8_4_nobody_knows_the_cards_face_down():
    """Two deals that differ under the cards only look alike to both, until a card is turned."""
    games, other = two(DOWN, UP), two({0: DOWN[1], 1: DOWN[0]}, UP)
    for viewer in range(2):
        assert games.views(viewer)[0] == other.views(viewer)[0]
        assert (games.observe(viewer) == other.observe(viewer)).all()
    for card in ("As", "Kc"):
        act(games, card)
        act(other, card)
    assert games.views(0)[0] != other.views(0)[0]


def test_3_8_5_scoring_of_section_2():
    games = after_random_hands(TWO)
    assert (games.last_points.sum(axis=1) == 60).all()
    assert (games.last_score_change == np.maximum(0, games.last_points - 30)).all()
    assert (games.match_score == games.last_score_change).all()


# ---- the tests themselves --------------------------------------------------------------------------------------------


def test_every_paragraph_has_a_test():
    """Those of section 3, and their parts."""
    text = RULES_TEXT.read_text(encoding="utf-8")
    whole = set(re.findall(r"^- \*\*(3\.\d+)", text, flags=re.MULTILINE))
    parts = set(re.findall(r"^  - (3\.\d+\.\d+)", text, flags=re.MULTILINE))
    paragraphs = {number for number in whole if not any(part.startswith(number + ".") for part in parts)} | parts
    assert (len(whole), len(parts)) == (8, 12)
    names = [name for name in dir(sys.modules[__name__]) if name.startswith("test_3_")]
    tested = {number.replace("_", ".") for name in names for number in re.findall(r"3_\d(?:_\d)?(?=_)", name)}
    assert tested == paragraphs


# ---- illegal play among three (1.4.1) --------------------------------------------------------------------------------


@pytest.mark.parametrize("offender", range(3))
def test_1_4_1_of_three_the_highest_of_the_others_wins_and_of_equals_the_first_in_turn(offender):
    def winner(*score):
        games = dealt(
            ruleset("manille-3"), dealer=(offender - 1) % 3, score=[score[(s - offender) % 3] for s in range(3)]
        )
        illegal = np.flatnonzero(~games.legal_actions()[0])[:1]
        games.step(illegal)
        assert (games.done[0], games.reneged[0]) == (True, offender)
        return (games.winner[0] - offender) % 3

    assert winner(0, 0, 0) == winner(50, 7, 7) == winner(0, 9, 8) == 1
    assert winner(0, 8, 9) == 2
