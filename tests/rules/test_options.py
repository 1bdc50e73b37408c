"""The options of the table, RULES 1.6: redeal, albur, the long game, and the profile that joins them."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from other_positions import ALBURS, hand_taking
from positions import POSITIONS, history_to
from seated import act, dealt, hand, legal, names_of, play_out, possible, replay, said

from malilla_env import GameBatch, ruleset
from malilla_env.cards import parse_card
from malilla_env.compiled import PURE
from malilla_env.state import ASK, CONSENT, PLAY

RULES_TEXT = Path(__file__).parents[2] / "docs" / "RULES.md"
MALILLA, REDEAL, ALBUR = ruleset(), ruleset("malilla-redeal"), ruleset("malilla-albur")
SEVEN_HEARTS, SIX_HEARTS = "7h Ah Kh Qh Jh 6h 5h 2s 2d 2c", "7h Ah Kh Qh Jh 6h 2s 3s 2d 2c"
# Nobody but seat 0 has seven of a suit here; seat 3 deals and turns the 6 of spades up.
FAIR = {1: "4h 3h 2h 4s 5s 3d 4d 5d 3c 4c", 2: "6d Jd Qd Kd 5c 6c Jc 7s As Ks", 3: "6s Qs Js 7d Ad Qc Kc Ac 7c"}
PAIR = {0: "7h Ah Kh Qh Jh 6h 5h 2s 2d 2c", 1: "7d Ad Kd Qd Jd 6d 5d 4s 3s 5s"}  # two that may ask


def asking(held=SEVEN_HEARTS, rules=REDEAL, **reset) -> GameBatch:
    return dealt(rules, {0: held, **(FAIR if held == SEVEN_HEARTS else {})}, turned="6s", **reset)


# ---- 1.6.2 redeal ----------------------------------------------------------------------------------------------------


def test_1_6_2_section_4_who_may_ask():
    assert legal(asking()) == ["pass", "ask"]  # A1
    assert legal(asking(SIX_HEARTS)) == ["pass"]  # A2
    games = asking()
    act(games, "ask")
    assert legal(games) == ["agree", "refuse"]  # A3
    assert games.seat[0] == 2


@pytest.mark.parametrize("dealer", range(4))
def test_1_6_2_everybody_is_asked_in_turn_from_the_dealers_right(dealer):
    games = dealt(REDEAL, dealer=dealer)
    turns = [(dealer + 1 + at) % 4 for at in range(4)]
    for seat in turns:
        assert (games.phase[0], games.seat[0]) == (ASK, seat)
        assert "pass" in legal(games)
        act(games, "pass")
    assert said(games) == [(seat, "pass") for seat in turns]
    assert (games.phase[0], games.seat[0], games.leader[0]) == (PLAY, turns[0], turns[0])
    assert set(legal(games)) == hand(games, turns[0])


@pytest.mark.parametrize("suit", "shdc")
@pytest.mark.parametrize("count", [5, 6, 7, 8, 10])
def test_1_6_2_seven_or_more_cards_of_one_suit(suit, count):
    """Any suit, trump or not."""
    others = [rank + other for rank in "2345" for other in "shdc" if other != suit]
    mine = [rank + suit for rank in MALILLA.rank_names[:count]] + others[: 10 - count]
    assert legal(dealt(REDEAL, {0: " ".join(mine)})) == (["pass", "ask"] if count >= 7 else ["pass"])


@pytest.mark.parametrize(("held", "may"), [("As Ks Qs Js 6s 5s 2h 2d 2c", True), ("As Ks Qs Js 6s 2h 2d 2c 3c", False)])
def test_1_6_2_the_turned_up_card_counts_among_the_dealers(held, may):
    games = dealt(REDEAL, {3: held}, turned="7s")
    act(games, "pass", "pass", "pass")
    assert games.seat[0] == games.dealer[0] == 3
    assert legal(games) == (["pass", "ask"] if may else ["pass"])


def test_1_6_2_how_many_it_takes_is_a_parameter():
    assert legal(asking(SIX_HEARTS, ruleset("malilla-redeal", redeal=6))) == ["pass", "ask"]
    assert legal(dealt(ruleset("malilla-redeal", redeal=8), {0: SEVEN_HEARTS, **FAIR}, turned="6s")) == ["pass"]
    assert dealt(MALILLA, {0: SEVEN_HEARTS, **FAIR}, turned="6s").phase[0] == PLAY


@pytest.mark.parametrize("seat", range(4))
def test_1_6_2_the_partner_answers(seat):
    games = dealt(REDEAL, {seat: SEVEN_HEARTS}, dealer=(seat - 1) % 4)
    act(games, "ask")
    assert (games.phase[0], games.seat[0]) == (CONSENT, (seat + 2) % 4)
    assert games.asked[0] == 1 << seat
    assert games.views(0)[0]["asked"] == 1 << seat
    assert legal(games) == ["agree", "refuse"]


def test_1_6_2_agreed_the_same_dealer_deals_again_and_the_bonus_does_not_count():
    games = dealt(REDEAL, {0: SEVEN_HEARTS}, turned="Kd", score=[10, 20])
    assert games.match_score[0].tolist() == [10, 23]
    before = games.state.copy()
    act(games, "ask", "agree")
    assert (games.dealer[0], games.hand_number[0], games.attempt[0]) == (3, 0, 1)
    assert (games.deck[0, :40] != before["deck"][0, :40]).any()
    assert (np.bitwise_count(games.hands[0]) == 10).all()
    assert games.match_score[0].tolist() == [10, 20 + games.paid_bonus[0]]
    assert (games.num_plays[0], games.asked[0]) == (0, 0)
    assert (games.hand_over[0], games.done[0]) == (False, False)
    assert games.last_score_change[0].tolist() == [0, 0]


def test_1_6_2_agreed_a_waiting_bonus_is_forgotten():
    games = dealt(REDEAL, {0: SEVEN_HEARTS}, turned="7d", score=[10, 34])
    assert games.waiting_bonus[0] == 5
    act(games, "ask", "agree")
    worth = MALILLA.rank_points[games.turned_card[0] % 10]
    assert games.match_score[0].tolist() == [10, 34]
    assert games.waiting_bonus[0] == worth


def test_1_6_2_the_new_deal_may_be_asked_away_in_its_turn():
    """Three of ten cards are always of one suit, so that everybody may ask in every attempt."""
    games = dealt(ruleset("malilla-redeal", redeal=3))
    for attempt in range(1, 6):
        act(games, "ask", "agree")
        assert (games.phase[0], games.seat[0], games.attempt[0], games.dealer[0]) == (ASK, 0, attempt, 3)
        assert legal(games) == ["pass", "ask"]
    act(games, "pass", "pass", "pass", "pass")
    assert games.phase[0] == PLAY


def test_1_6_2_refused_the_next_is_asked():
    games = dealt(REDEAL, PAIR)
    deck = games.deck[0].copy()
    act(games, "ask", "refuse")
    assert (games.phase[0], games.seat[0]) == (ASK, 1)
    assert legal(games) == ["pass", "ask"]  # another player's request takes nothing from it
    act(games, "ask")
    assert (games.phase[0], games.seat[0], games.asked[0]) == (CONSENT, 3, 0b11)
    act(games, "refuse", "pass", "pass")
    assert (games.phase[0], games.seat[0], games.attempt[0]) == (PLAY, 0, 0)
    assert (games.deck[0] == deck).all()
    told = [(0, "ask"), (2, "refuse"), (1, "ask"), (3, "refuse"), (2, "pass"), (3, "pass")]
    assert said(games) == told


def test_1_6_2_the_dealer_is_the_last():
    games = dealt(REDEAL, {3: SEVEN_HEARTS})
    act(games, "pass", "pass", "pass", "ask")
    assert games.seat[0] == 1
    act(games, "refuse")
    assert (games.phase[0], games.seat[0]) == (PLAY, 0)


def test_1_6_2_asking_tells_of_no_card():
    games = asking()
    before = games.views(1)[0]["cannot_hold"].tolist()
    for action in ("ask", "refuse", "pass", "pass", "pass"):
        act(games, action)
        assert games.views(1)[0]["cannot_hold"].tolist() == before


def test_1_6_2_asks_belong_to_their_hand():
    games = asking(episode="match", rules=ruleset("malilla-redeal", target=70, capote_wins=False))
    act(games, "ask", "refuse", "pass", "pass", "pass")
    play_out(games)
    assert (games.hand_number[0], games.asked[0], games.phase[0], games.seat[0]) == (1, 0, ASK, 1)


@pytest.mark.parametrize("wrong", ["ask", "agree", "7h"])
def test_1_6_2_an_ask_without_the_cards_is_illegal(wrong):
    games = asking(SIX_HEARTS)
    act(games, wrong)
    assert (games.done[0], games.reneged[0], games.winner[0]) == (True, 0, 1)


@pytest.mark.parametrize("wrong", ["pass", "ask", "2s"])
def test_1_6_2_the_partner_must_answer(wrong):
    games = asking()
    act(games, "ask", wrong)
    assert (games.done[0], games.reneged[0], games.winner[0]) == (True, 2, 1)


def test_1_6_2_a_misdeal_is_called_before_the_first_lead_asks_or_not():
    games = asking()
    act(games, "ask")
    games.misdeal(np.array([True]))
    assert (games.dealer[0], games.attempt[0], games.phase[0], games.seat[0], games.asked[0]) == (0, 1, ASK, 1, 0)
    act(games, "pass", "pass", "pass", "pass", legal_lead(games))
    with pytest.raises(ValueError, match="before the first lead"):
        games.misdeal(np.array([True]))


def legal_lead(games: GameBatch) -> str:
    return sorted(hand(games, int((games.dealer[0] + 1) % 4)))[0]


def test_1_6_2_in_an_episode_of_one_hand_too():
    games = asking(episode="hand")
    act(games, "ask", "agree")
    assert (games.done[0], games.attempt[0], games.phase[0]) == (False, 1, ASK)
    while not games.done[0]:
        act(games, legal(games)[0])
    assert games.last_points[0].sum() == 70


# ---- 1.6.3 albur -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dealer", range(4))
@pytest.mark.parametrize("row", ALBURS, ids=lambda row: row.name)
def test_1_6_3_section_4(row, dealer):
    right = (dealer + 1) % 4
    own = right % 2

    def pair(values):
        return (int(values[own]), int(values[1 - own]))  # the side of the dealer's right first

    history = hand_taking(ALBUR, row.points, "", row.turned, tuple(row.drawn.split())) if row.points else None
    if history is None:
        games = dealt(ALBUR, dealer=dealer, turned="6s", score=pair(row.before), albur=row.drawn)
    else:
        history = history._replace(dealer=dealer)
        games = replay(ALBUR, history._replace(plays=()), score=pair(row.before), albur=row.drawn)
    assert pair(games.match_score[0]) == row.at_once
    assert games.leader[0] == games.seat[0] == (right + row.leader) % 4
    assert games.waiting_albur[0] == (5 if row.before == row.at_once else 0)
    if history is None:
        return
    act(games, *history.plays)
    assert pair(games.match_score[0]) == row.after
    assert games.winner[0] == (own if row.winner == 0 else 1 - own)
    assert pair(games.last_score_change[0]) == tuple(np.subtract(row.after, row.before))


def test_1_6_3_both_cards_are_public():
    games = dealt(ALBUR, albur="7c Ks")
    for seat in range(4):
        view = games.views(seat)[0]
        assert view["albur_cards"].tolist() == [parse_card(ALBUR, "7c"), parse_card(ALBUR, "Ks")]
        assert view["waiting_albur"] == 0
    assert dealt(ALBUR, albur="7c Ks", score=[30, 0]).views(1)[0]["waiting_albur"] == 5


@pytest.mark.parametrize(
    ("drawn", "winner"), [("7c As", 0), ("As 7c", 1), ("3s 2s", 0), ("2s 3c", 1), ("Kd Qs", 0), ("6h Jh", 1)]
)
def test_1_6_3_the_higher_card_wins_whatever_its_suit(drawn, winner):
    games = dealt(ALBUR, turned="6s", albur=drawn)
    assert games.match_score[0].tolist() == [5 * (winner == 0), 5 * (winner == 1)]
    assert games.leader[0] == (0 if winner == 0 else 3)
    assert len(legal(games)) == 10


def test_1_6_3_the_points_are_a_parameter():
    games = dealt(ruleset("malilla-albur", albur=3), turned="6s", albur="7c Ks")
    assert games.match_score[0].tolist() == [3, 0]
    assert GameBatch(MALILLA, 20, seed=10).albur_cards.tolist() == [[-1, -1]] * 20


@pytest.mark.parametrize(("score", "waits"), [(29, False), (30, True), (34, True)])
def test_1_6_3_points_that_would_reach_the_target_wait(score, waits):
    games = dealt(ALBUR, turned="6s", albur="7c Ks", score=[score, 3])
    assert games.match_score[0].tolist() == [score if waits else score + 5, 3]
    assert games.waiting_albur[0] == (5 if waits else 0)
    assert not games.done[0]


def test_1_6_3_paid_before_the_turned_up_card_is_counted():
    """25 + 5 = 30 at once, so that an ace turned up is paid, and at 26 it waits."""
    paid = dealt(ALBUR, turned="As", albur="Kc 7s", score=[0, 25])
    assert (paid.match_score[0].tolist(), paid.waiting_bonus[0]) == ([0, 34], 0)
    waits = dealt(ALBUR, turned="As", albur="Kc 7s", score=[0, 26])
    assert (waits.match_score[0].tolist(), waits.waiting_bonus[0]) == ([0, 31], 4)


def test_1_6_3_drawn_by_chance_and_never_level():
    games = GameBatch(ALBUR, 60 if PURE else 4000, seed=10)
    strength = games.albur_cards % 10
    assert (games.albur_cards >= 0).all()
    assert (strength[:, 0] != strength[:, 1]).all()
    lanes = np.arange(len(games))
    right = (games.dealer + 1) % 4
    winner = np.where(strength[:, 0] > strength[:, 1], right, games.dealer)
    assert (games.leader == winner).all()
    assert (games.seat == winner).all()
    expected = np.zeros((len(games), 2), int)
    expected[lanes, winner % 2] += 5
    expected[lanes, games.dealer % 2] += games.paid_bonus
    assert (games.match_score == expected).all()
    share = (winner == right).mean()
    assert abs(share - 0.5) < 4 * 0.5 / np.sqrt(len(games))


@pytest.mark.skipif(PURE, reason="counts many draws")
def test_1_6_3_every_card_is_drawn_alike():
    drawn = GameBatch(ALBUR, 20_000, seed=10).albur_cards
    for player in range(2):
        counts = np.bincount(drawn[:, player], minlength=40)
        chi_square = ((counts - 500) ** 2 / 500).sum()
        assert chi_square < 73  # 0.999 quantile of chi-square with 39 degrees of freedom


def test_1_6_3_the_draw_has_no_influence_on_the_deal():
    plain, drawn = GameBatch(MALILLA, 50, seed=10), GameBatch(ALBUR, 50, seed=10)
    assert (plain.deck == drawn.deck).all()
    assert (plain.dealer == drawn.dealer).all()


def test_1_6_3_once_a_match():
    games = GameBatch(ruleset("malilla-albur", target=500, capote_wins=False), 50, seed=10)
    first = games.albur_cards.copy()
    play_out(games)
    before = games.match_score.copy()
    before[np.arange(50), games.dealer % 2] -= games.paid_bonus
    assert (games.hand_number == 1).all()
    assert (games.leader == (games.dealer + 1) % 4).all()
    assert (games.last_score_change == before).all()  # of the first hand: the draw is in it
    play_out(games)
    assert (games.leader == (games.dealer + 1) % 4).all()
    assert (games.last_score_change == games.match_score - before - next_bonus(games)).all()
    assert (games.albur_cards == first).all()


def next_bonus(games: GameBatch) -> np.ndarray:
    """What the hand just dealt has paid already, by side."""
    paid = np.zeros((len(games), 2), int)
    paid[np.arange(len(games)), games.dealer % 2] = games.paid_bonus
    return paid


def test_1_6_3_not_in_an_episode_of_one_hand():
    games = GameBatch(ALBUR, 50, seed=10, episode="hand")
    assert (games.albur_cards == -1).all()
    assert (games.leader == (games.dealer + 1) % 4).all()
    assert (games.match_score == next_bonus(games)).all()


@pytest.mark.parametrize("drawn", ["7c Ks", "Ks 7c"])
def test_1_6_3_a_misdeal_moves_the_dealer_and_neither_the_lead_nor_the_points(drawn):
    games = dealt(ALBUR, turned="6s", albur=drawn)
    leader = int(games.leader[0])
    won = games.match_score[0].copy()
    games.misdeal(np.array([True]))
    assert games.dealer[0] == 0
    assert games.leader[0] == games.seat[0] == leader
    assert (games.match_score[0] - next_bonus(games)[0]).tolist() == won.tolist()
    waiting = dealt(ALBUR, turned="6s", albur=drawn, score=[31, 31])
    waiting.misdeal(np.array([True]))
    assert waiting.waiting_albur[0] == 5


@pytest.mark.parametrize("drawn", ["7c Ks", "Ks 7c"])
def test_1_6_3_a_new_deal_leaves_the_lead_and_the_points(drawn):
    rules = ruleset("malilla-albur", redeal=7)
    games = dealt(rules, {0: SEVEN_HEARTS}, turned="6s", albur=drawn)
    won = games.match_score[0].copy()
    assert games.seat[0] == 0  # the asking begins at the dealer's right all the same
    act(games, "ask", "agree")
    while games.phase[0] == ASK:
        act(games, "pass")
    assert games.leader[0] == games.seat[0] == (0 if drawn == "7c Ks" else 3)
    assert (games.match_score[0] - next_bonus(games)[0]).tolist() == won.tolist()


def test_1_6_3_a_capote_leaves_waiting_points_out():
    """Seat 0 holds all trumps and leads; its side had 5 points waiting."""
    spades = " ".join(rank + "s" for rank in MALILLA.rank_names if rank != "2")
    games = dealt(ruleset("malilla-albur", target=70), {0: spades + " 7h"}, turned="2s", albur="7c Ks", score=[66, 0])
    assert games.waiting_albur[0] == 5
    for lead in [*spades.split()[::-1], "7h"]:
        act(games, lead)
        while games.seat[0] != 0 and not games.done[0]:
            act(games, legal(games)[0])
    assert games.capote[0]
    assert games.match_score[0].tolist() == [66 + 35, 0]


# ---- 1.6.1, and the profile ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["malilla-70", "malilla-zone-70"])
def test_1_6_1_seventy_match_points(name):
    rules = ruleset(name)
    opening = "pass pass pass pass" if rules.redeal else ""
    history = hand_taking(rules, (37, 33), opening, "6")
    assert not replay(rules, history, score=[34, 0]).done[0]
    assert replay(rules, history, score=[68, 1]).winner[0] == 0


def after_passes(name: str):
    """The history to a position of `malilla`, everybody having been asked for a new deal before."""
    position = next(row for row in POSITIONS if row.name == name)
    history = history_to(ruleset(**position.changes), position)
    return history._replace(plays=("pass",) * 4 + history.plays)


@pytest.mark.parametrize("name", ["malilla-zone", "malilla-zone-70"])
def test_zone_a_discard_frees_a_seven_and_a_new_deal_may_be_asked_for(name):
    rules = ruleset(name)
    games = replay(rules, after_passes("1.3.8, diamonds discarded, played"))
    assert set(legal(games)) == {"7d", "4d", "3c"}
    strict = replay(REDEAL, after_passes("1.3.8, diamonds discarded"))
    assert set(legal(strict)) == {"4d", "3c"}
    assert legal(asking(rules=rules)) == ["pass", "ask"]


def test_the_table_tells_of_the_dealers_card_while_it_is_asked():
    """What is public of the deal is public from the turn-up on, asks or not."""
    games = asking()
    assert "6s" not in possible(games, 0, viewer=1)
    assert names_of(REDEAL, games.views(1)[0]["shown"][3]) == {"6s"}


def test_every_paragraph_has_a_test():
    paragraphs = set(re.findall(r"^- \*\*(1\.6\.\d+)", RULES_TEXT.read_text(encoding="utf-8"), flags=re.MULTILINE))
    names = [re.match(r"test_1_6_(\d+)_", name) for name in dir(sys.modules[__name__])]
    assert paragraphs == {f"1.6.{found[1]}" for found in names if found}


def test_1_6_2_after_a_hundred_deals_of_a_hand_nobody_may_ask():
    """Players who always ask and agree would never play, where a redeal takes so few cards that everybody may ask."""
    games = dealt(ruleset("malilla", redeal=3), episode="hand")
    for attempt in range(99):
        assert (games.attempt[0], "ask" in legal(games)) == (attempt, True)
        act(games, "ask", "agree")
    for _ in range(4):
        assert (games.attempt[0], legal(games)) == (99, ["pass"])
        act(games, "pass")
    assert games.phase[0] == PLAY
