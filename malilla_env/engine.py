"""The engine: what an action does to one game, from the deal to the end of the match; written once, used by all.

Enters: one row of STATE and the rule set's TABLE record. Leaves: the row, changed in place. Scalar functions over one
row, compiled with Numba and looped over the array by `batch.py`; nothing here knows of batches, players or names of
games. The number at each function is its paragraph in docs/RULES.md. What a trick asks for is in `tricks.py`, the
actions besides cards in `phases.py`, the counting in `scoring.py`; here is the course of the game.
"""

from __future__ import annotations

import numpy as np

from malilla_env.compiled import Bool, Int, Row, Word, inline, jit, mix, popcount, select
from malilla_env.deals import below, cut, shuffle
from malilla_env.phases import (
    AGREES,
    MAX_DEALS,
    PASS,
    count_play,
    keep_bid,
    keep_statement,
    offer_ask,
    offer_bid,
    offer_consent,
    offer_names,
    offer_talk,
    show,
)
from malilla_env.scoring import TRUMP_BID, TRUMP_TURNED, best_of_hand, is_level, is_zapato, note_hand, settle_hand
from malilla_env.state import ASK, BID, CONSENT, NAME, NO_CARD, NONE, ONE, OVER, PLAY, TALK, ZERO, bit
from malilla_env.table import MAX_PLAYS, MAX_SEATS
from malilla_env.tricks import legal_cards, protect, ruled_out, take_trick, unlock

ALBUR = 1 << 33  # a counter that neither a shuffle nor a cut uses


# --- the match begins
@jit
def start_episode(row: Row) -> None:
    """Clear the match; the hand is dealt afterwards."""
    row["hand_number"] = row["attempt"] = row["waiting_albur"] = 0
    row["done"] = row["hand_over"] = row["zapato"] = row["capote"] = False
    row["winner"] = row["reneged"] = row["albur_seat"] = row["albur_cards"][0] = row["albur_cards"][1] = NONE
    for team in range(MAX_SEATS):
        row["last_points"][team] = row["last_tricks"][team] = row["last_score_change"][team] = 0


@jit
def set_hand_key(row: Row) -> None:
    key = mix(mix(row["stream_key"], np.uint64(row["episode"])), np.uint64(row["hand_number"]))
    row["hand_key"] = mix(key, np.uint64(row["attempt"]))


@jit
def shuffle_deck(row: Row, rules: Row) -> None:
    for place in range(rules["num_cards"]):
        row["deck"][place] = rules["deck"][place]
    shuffle(row["hand_key"], row["deck"], rules["num_cards"])


@jit
def first_dealer(row: Row, rules: Row) -> Int:
    """1.2.1: by cut, uniform under the seed."""
    return cut(row["hand_key"], rules["num_seats"])


@inline
def next_seat(seat: Int, rules: Row) -> Int:
    """1.1.1: play goes to the right."""
    return seat + 1 if seat + 1 < rules["num_seats"] else 0


@jit
def draw_albur(row: Row, rules: Row) -> None:
    """1.6.3: the dealer's right and the dealer draw a card each, again while the two are equally strong."""
    count, ranks = np.int64(rules["num_cards"]), np.int64(rules["ranks"])
    first: Int = 0
    second: Int = 0
    draw = 0
    while first % ranks == second % ranks:
        word = mix(row["hand_key"], np.uint64(ALBUR + draw))
        place, other = below(word, count), below(word >> np.uint64(32), count - 1)
        first, second = np.int64(rules["deck"][place]), np.int64(rules["deck"][other + (other >= place)])
        draw += 1
    win_albur(row, rules, first, second)


@jit
def win_albur(row: Row, rules: Row, first: Int, second: Int) -> None:
    """1.6.3: the higher strength wins the points, at once unless they would reach the target (1.2.4)."""
    ranks = np.int64(rules["ranks"])
    row["albur_cards"][0], row["albur_cards"][1] = first, second
    row["albur_seat"] = next_seat(row["dealer"], rules) if first % ranks > second % ranks else row["dealer"]
    team = rules["team"][row["albur_seat"]]
    if row["match_score"][team] + rules["albur"] >= rules["target"]:
        row["waiting_albur"] = rules["albur"]
    else:
        row["match_score"][team] += rules["albur"]


# --- 1.2 dealing and trump
@inline
def dealt(row: Row, rules: Row, hand: Int, first: Int, count: Int) -> Word:
    """1.2.2: cards of the deck that go to one hand, from its `first` on."""
    cards = ZERO
    for at in range(first, first + count):
        cards |= bit(row["deck"][rules["places"][hand, at]])
    return cards


@jit
def clear_hand(row: Row) -> None:
    for seat in range(MAX_SEATS):
        row["hands"][seat] = row["excluded"][seat] = row["played_by"][seat] = ZERO
        row["hand_points"][seat] = row["tricks_won"][seat] = row["counted"][seat] = 0
        for suit in range(4):
            row["counts"][seat, suit] = 0
    for play in range(MAX_PLAYS):
        row["plays"][play], row["play_seats"][play] = NO_CARD, NONE
    row["num_plays"] = row["suits_led"] = row["suits_played"] = row["asked"] = row["bid"] = 0
    row["paid_bonus"] = row["waiting_bonus"] = 0
    row["bidder"] = row["trump"] = row["turned_card"] = NONE
    row["shown"] = row["covering"] = row["face_down"] = row["locked"] = ZERO
    row["trick_size"] = row["trick_value"] = 0
    row["best_card"] = row["best_seat"] = row["led_suit"] = NONE
    row["trick_cards"], row["beating"] = ZERO, ZERO


@jit
def deal_hand(row: Row, rules: Row) -> None:
    """1.2.2: the deck goes to the seats from the dealer's right, the last card to the dealer; then the hand begins."""
    clear_hand(row)
    to, size = row["dealer"], np.int64(rules["hand_size"])
    for hand in range(rules["num_seats"]):
        to = next_seat(to, rules)
        row["hands"][to] = dealt(row, rules, hand, 0, size)
    if rules["dead_cards"] > 0:  # 3.7
        row["face_down"] = dealt(row, rules, rules["num_seats"], 0, rules["dead_cards"])
    if rules["piles"] > 0:
        lay_piles(row, rules)
    if rules["trump"] == TRUMP_TURNED:
        turn_up(row, rules)
    row["leader"] = first_leader(row, rules)
    if rules["redeal"] > 0:
        offer_ask(row, rules, next_seat(row["dealer"], rules))
    elif rules["trump"] == TRUMP_BID:
        offer_bid(row, rules, next_seat(row["dealer"], rules))
    else:
        begin_play(row, rules)


@jit
def lay_piles(row: Row, rules: Row) -> None:
    """3.8: the open cards lie on as many face down."""
    for hand in range(rules["num_seats"]):
        row["face_down"] |= dealt(row, rules, hand, rules["piles"], rules["piles"])
        row["shown"] |= row["hands"][hand]
    row["covering"] = row["shown"]


@jit
def turn_up(row: Row, rules: Row) -> None:
    """1.2.3: the dealer's last card is turned, its suit is trump; everybody knows who holds it."""
    card = row["deck"][rules["num_cards"] - 1]
    row["turned_card"], row["trump"] = card, rules["suit"][card]
    show(row, rules, row["dealer"], bit(card))
    protect(row, rules)
    pay_dealer_bonus(row, rules, rules["points"][card] if rules["dealer_bonus"] else 0)


@jit
def pay_dealer_bonus(row: Row, rules: Row, bonus: Int) -> None:
    """1.2.4: at once, unless it would reach the target: then it waits."""
    team = rules["team"][row["dealer"]]
    if row["match_score"][team] + bonus >= rules["target"]:
        row["waiting_bonus"] = bonus
    else:
        row["paid_bonus"] = bonus
        row["match_score"][team] += bonus


@jit
def first_leader(row: Row, rules: Row) -> Int:
    """1.3.1: the dealer's right; 1.6.3: in the first hand, who won the albur."""
    if row["hand_number"] == 0 and row["albur_seat"] != NONE:
        return row["albur_seat"]
    return next_seat(row["dealer"], rules)


@jit
def take_bonus_back(row: Row, rules: Row) -> None:
    row["match_score"][rules["team"][row["dealer"]]] -= row["paid_bonus"]


@jit
def deal_from_key(row: Row, rules: Row) -> None:
    set_hand_key(row)
    shuffle_deck(row, rules)
    deal_hand(row, rules)


@jit
def deal_next(row: Row, rules: Row) -> None:
    """1.2.1: the deal passes to the right."""
    row["dealer"] = next_seat(row["dealer"], rules)
    deal_from_key(row, rules)


@jit
def misdeal(row: Row, rules: Row) -> None:
    """1.2.5, 3.6: no points, a bonus already paid is taken back, the next player deals."""
    take_bonus_back(row, rules)
    row["attempt"] += 1
    row["hand_over"] = False
    deal_next(row, rules)


@jit
def redeal(row: Row, rules: Row) -> None:
    """1.6.2: the same dealer deals again, and the void deal's bonus does not count."""
    take_bonus_back(row, rules)
    row["attempt"] += 1
    deal_from_key(row, rules)


@jit
def replace_deal(row: Row, rules: Row) -> None:
    """The hand that was just dealt is dealt anew from what now lies in `deck`: for deals from outside."""
    take_bonus_back(row, rules)
    deal_hand(row, rules)


# --- 1.3 playing to a trick
@jit
def begin_play(row: Row, rules: Row) -> None:
    for seat in range(rules["num_seats"]):
        show_last_card(row, rules, seat)
    lead(row, rules, row["leader"])


@inline
def lead(row: Row, rules: Row, seat: Int) -> None:
    """1.3.1: the seat leads, any card; 3.5: unless it may say something first."""
    row["phase"] = PLAY
    row["seat"] = row["leader"] = seat
    row["trick_size"] = row["trick_value"] = 0
    row["best_card"] = row["best_seat"] = row["led_suit"] = NONE
    row["trick_cards"], row["beating"] = ZERO, rules["deck_mask"]
    row["legal"][0] = row["hands"][seat]
    row["legal"][1] = ZERO
    if rules["talk"]:
        offer_talk(row, rules, seat)


@inline
def play_card(row: Row, rules: Row, card: Int) -> None:
    """A legal card goes from the hand of the seat to act into the trick."""
    seat, suit = np.uint8(row["seat"]), rules["suit"][card]
    leads = row["trick_size"] == 0
    if leads:
        row["led_suit"] = suit
    else:
        row["excluded"][seat] |= ruled_out(row, rules, seat, card)
    take_trick(row, rules, seat, card)
    unlock(row, rules, suit, leads)
    keep_record(row, seat, card)
    hand = row["hands"][seat] & ~bit(card)
    row["hands"][seat] = hand
    row["played_by"][seat] |= bit(card)
    row["trick_cards"] |= bit(card)
    if popcount(hand) <= 1:
        show_last_card(row, rules, seat)
    if rules["talk"]:
        count_play(row, rules, seat, card)
    row["trick_value"] += rules["points"][card]
    size = row["trick_size"] + 1
    row["trick_size"] = size
    if size == rules["num_seats"]:
        end_trick(row, rules)
    else:
        to = next_seat(seat, rules)
        row["seat"] = to
        row["legal"][0] = legal_cards(row, rules, row["hands"][to], to)


@inline
def keep_record(row: Row, seat: Int, action: Int) -> None:
    play = row["num_plays"]
    row["plays"][play] = action
    row["play_seats"][play] = seat
    row["num_plays"] = play + 1


@inline
def show_last_card(row: Row, rules: Row, seat: Int) -> None:
    """A seat whose last card is played holds none; 1.2.3: a dealer whose last card is the turned-up one, no other."""
    hand = row["hands"][seat]
    if hand == ZERO:
        row["excluded"][seat] = rules["deck_mask"]
    elif hand & row["shown"] == hand:
        row["excluded"][seat] |= rules["deck_mask"] & ~hand


@inline
def end_trick(row: Row, rules: Row) -> None:
    """1.3.9, 1.1.4: the trick goes to the winner's side, and the winner leads."""
    winner = np.uint8(row["best_seat"])
    team = rules["team"][winner]
    row["hand_points"][team] += row["trick_value"] + rules["trick_points"]
    row["tricks_won"][team] += 1
    if rules["piles"] > 0:
        uncover(row, rules)
    if row["hands"][winner] == ZERO:
        row["hand_points"][team] += rules["last_trick_bonus"]  # 2.7
        end_hand(row, rules)
    else:
        lead(row, rules, winner)


@jit
def uncover(row: Row, rules: Row) -> None:
    """3.8: when the trick is over, the cards that lay under those played are turned up."""
    for play in range(row["num_plays"] - rules["num_seats"], row["num_plays"]):
        card, seat = row["plays"][play], row["play_seats"][play]
        if row["covering"] & bit(card) != ZERO:
            row["covering"] &= ~bit(card)
            under = bit(card_under(row, rules, seat, card))
            row["face_down"] &= ~under
            row["hands"][seat] |= under
            row["shown"] |= under


@jit
def card_under(row: Row, rules: Row, seat: Int, card: Int) -> Int:
    """3.8: a seat's cards face down were dealt in the order of the open ones that lie on them."""
    hand = np.int64(seat) - np.int64(row["dealer"]) - 1
    places = rules["places"][hand if hand >= 0 else hand + np.int64(rules["num_seats"])]
    at = 0
    while row["deck"][places[at]] != card:
        at += 1
    return row["deck"][places[at + rules["piles"]]]


# --- actions besides cards: 1.6.2, 3.5, 3.6
@jit
def announce(row: Row, rules: Row, action: Int) -> None:
    """A legal action that is no card, counted from the first such."""
    seat, phase = row["seat"], row["phase"]
    keep_record(row, seat, 4 * np.int64(rules["ranks"]) + action)
    if phase == ASK and action != PASS:
        offer_consent(row, rules)
    elif phase == ASK:
        after_ask(row, rules, seat)
    elif phase == CONSENT:
        after_consent(row, rules, action)
    elif phase == BID:
        after_bid(row, rules, action)
    elif phase == NAME:
        row["trump"] = action - rules["name_at"]
        protect(row, rules)
        begin_play(row, rules)
    elif phase == TALK:
        after_talk(row, rules, action)


@jit
def after_ask(row: Row, rules: Row, seat: Int) -> None:
    """1.6.2: in turn, the dealer last; then the play."""
    if seat == row["dealer"]:
        begin_play(row, rules)
    else:
        offer_ask(row, rules, next_seat(seat, rules))


@jit
def after_consent(row: Row, rules: Row, action: Int) -> None:
    """1.6.2: a new deal if the partner agrees; else the seat after the one that asked."""
    if action == rules["ask_at"] + AGREES:
        redeal(row, rules)
    else:
        after_ask(row, rules, rules["partner"][row["seat"]])


@jit
def after_bid(row: Row, rules: Row, action: Int) -> None:
    """3.6: one round, the dealer last; then the highest bidder names trump, or the next player deals."""
    if action != PASS:
        keep_bid(row, rules, action)
    if row["seat"] != row["dealer"]:
        offer_bid(row, rules, next_seat(row["seat"], rules))
    elif row["bidder"] != NONE:
        offer_names(row, rules)
    else:
        pass_out(row, rules)


@jit
def pass_out(row: Row, rules: Row) -> None:
    """3.6: nobody has bid, and the next player deals; in an episode of one hand that was the hand, and it is level.

    A match in which nobody bids any more ends too, without a winner: players who always pass would never end it.
    """
    if row["one_hand"] or row["attempt"] + 1 >= MAX_DEALS:
        note_hand(row, rules)
        finish(row, NONE)
    else:
        misdeal(row, rules)


@jit
def after_talk(row: Row, rules: Row, action: Int) -> None:
    """3.5: the leader speaks first, then the leader's partner, and the trick begins."""
    seat = row["seat"]
    if action != PASS:
        keep_statement(row, rules, action)
    if seat == row["leader"]:
        offer_talk(row, rules, rules["partner"][seat])
    else:
        row["phase"], row["seat"] = PLAY, row["leader"]
        row["legal"][0], row["legal"][1] = row["hands"][row["leader"]], ZERO


# --- 1.5 the end of a hand and of the match
@jit
def end_hand(row: Row, rules: Row) -> None:
    """1.5.1: settle the hand; then the match is over, or the next hand is dealt."""
    winner = settle_hand(row, rules)
    if winner == NONE and not row["one_hand"]:
        row["hand_number"] += 1
        row["attempt"] = 0
        if rules["redeal_level"] and is_level(row, rules):  # 2.6
            deal_from_key(row, rules)
        else:
            deal_next(row, rules)
        return
    best = best_of_hand(row, rules) if row["one_hand"] else winner
    if winner != NONE and best == winner:
        row["zapato"] = is_zapato(row, rules, winner)
    finish(row, best)


@jit
def finish(row: Row, winner: Int) -> None:
    row["done"] = True
    row["winner"] = winner
    row["phase"] = OVER
    row["seat"] = NONE
    row["legal"][0] = row["legal"][1] = ZERO


# --- 1.4 illegal play
@inline
def is_legal(row: Row, rules: Row, action: Int) -> Bool:
    """Whether the seat to act may take an action id in range: cards first, then the others."""
    others = action - 4 * np.int64(rules["ranks"])
    word = row["legal"][0] >> np.uint64(action) if others < 0 else row["legal"][1] >> np.uint64(others)
    return word & ONE != ZERO


@jit
def renege(row: Row, rules: Row) -> None:
    """1.4.1: the offender's side loses the match; the highest of the others wins it, the first in turn of equals."""
    offender, seat, winner = rules["team"][row["seat"]], row["seat"], NONE
    for _ in range(rules["num_seats"] - 1):
        seat = next_seat(seat, rules)
        team: Int = rules["team"][seat]
        if team != offender and (winner == NONE or row["match_score"][team] > row["match_score"][winner]):
            winner = team
    row["reneged"] = row["seat"]
    finish(row, winner)


@inline
def step(row: Row, rules: Row, action: Int) -> None:
    """One action of the seat to act; a game that is over ignores it."""
    row["hand_over"] = False
    if row["done"]:
        return
    if not is_legal(row, rules, action):
        renege(row, rules)
    elif action < 4 * np.int64(rules["ranks"]):
        play_card(row, rules, np.uint8(action))
    else:
        announce(row, rules, action - 4 * np.int64(rules["ranks"]))


# --- choosing
@inline
def num_legal(row: Row) -> Int:
    return popcount(row["legal"][0]) + popcount(row["legal"][1])


@inline
def nth_legal(row: Row, rules: Row, n: Int) -> Int:
    """The n-th legal action id, cards first."""
    cards = popcount(row["legal"][0])
    if n < cards:
        return select(row["legal"][0], n)
    return 4 * np.int64(rules["ranks"]) + select(row["legal"][1], n - cards)
