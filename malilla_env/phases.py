"""Phases: the actions besides cards, what is legal in each and what it leaves behind (RULES 1.6.2, 3.5, 3.6).

Enters: one row of STATE and the rule set's TABLE record. Leaves: the row, the seat on turn and its legal actions set,
or with what was said kept. Which phase follows which is in `engine.py`. Actions are counted here from the first that is
no card; the table says where each kind of them begins.
"""

from __future__ import annotations

import numpy as np

from malilla_env.compiled import Bool, Int, Row, Word, jit, popcount
from malilla_env.state import ASK, BID, CONSENT, NAME, ONE, TALK, ZERO, bit

PASS = 0  # the first of the other actions, where any phase has it
ASKS, AGREES, REFUSES = 0, 1, 2  # from `ask_at`
MAX_DEALS = 100  # of one hand in a row: players who always pass, or always ask, would never play


@jit
def offer(row: Row, phase: Int, seat: Int, actions: Word) -> None:
    """A seat is on turn and may do one of these; no cards are played in these phases."""
    row["phase"], row["seat"] = phase, seat
    row["legal"][0], row["legal"][1] = ZERO, actions


@jit
def run(first: Int, count: Int) -> Word:
    """The mask of so many actions, one after the other."""
    return ((ONE << np.uint64(count)) - ONE) << np.uint64(first)


# --- 1.6.2 a new deal
@jit
def may_ask(row: Row, rules: Row, seat: Int) -> Bool:
    """1.6.2: so many cards of one suit; and not for ever."""
    longest = 0
    for suit in range(4):
        longest = max(longest, popcount(row["hands"][seat] & rules["suit_mask"][suit]))
    return longest >= rules["redeal"] and row["attempt"] + 1 < MAX_DEALS


@jit
def offer_ask(row: Row, rules: Row, seat: Int) -> None:
    """1.6.2: everybody is asked, so that to pass tells nothing; to ask needs the cards."""
    ask = bit(rules["ask_at"] + ASKS) if may_ask(row, rules, seat) else ZERO
    offer(row, ASK, seat, bit(PASS) | ask)


@jit
def offer_consent(row: Row, rules: Row) -> None:
    """1.6.2: the partner of the seat that asked decides."""
    row["asked"] |= np.uint8(1) << np.uint8(row["seat"])
    offer(row, CONSENT, rules["partner"][row["seat"]], run(rules["ask_at"] + AGREES, 2))


# --- 3.6 the auction
@jit
def offer_bid(row: Row, rules: Row, seat: Int) -> None:
    """3.6: pass, or more than was bid before."""
    lowest = max(0, row["bid"] - rules["neutral"])  # neutral + 1 is the first of the bids
    offer(row, BID, seat, bit(PASS) | run(rules["bid_at"] + lowest, rules["num_bids"] - lowest))


@jit
def keep_bid(row: Row, rules: Row, action: Int) -> None:
    row["bid"] = rules["neutral"] + 1 + action - rules["bid_at"]
    row["bidder"] = row["seat"]


@jit
def offer_names(row: Row, rules: Row) -> None:
    """3.6: the highest bidder names trump."""
    offer(row, NAME, row["bidder"], run(rules["name_at"], 4))


# --- 3.5 statements
@jit
def offer_talk(row: Row, rules: Row, seat: Int) -> None:
    """3.5: silence, or any statement that is true."""
    hand, actions = row["hands"][seat], bit(PASS)
    for suit in range(4):
        held = hand & rules["suit_mask"][suit]
        actions |= bit(rules["count_at"] + 4 * popcount(held) + suit)
        for place in range(2):
            if held & bit(named_card(rules, place, suit)) != ZERO:
                actions |= bit(rules["card_at"] + 4 * place + suit)
    offer(row, TALK, seat, actions)


@jit
def named_card(rules: Row, place: Int, suit: Int) -> Int:
    """3.5: the highest card id of a suit (place 0), the second highest (1)."""
    return (suit + 1) * np.int64(rules["ranks"]) - 1 - place


@jit
def keep_statement(row: Row, rules: Row, action: Int) -> None:
    """3.5: everybody hears it, and knows what follows."""
    seat = np.int64(row["seat"])
    if action >= rules["card_at"]:
        place, suit = (action - rules["card_at"]) // 4, (action - rules["card_at"]) % 4
        show(row, rules, seat, bit(named_card(rules, place, suit)))
    elif action >= rules["count_at"]:
        count, suit = (action - rules["count_at"]) // 4, (action - rules["count_at"]) % 4
        row["counts"][seat, suit] = count
        row["counted"][seat] |= np.uint8(1) << np.uint8(suit)
    conclude(row, rules, seat)


@jit
def show(row: Row, rules: Row, seat: Int, cards: Word) -> None:
    """Everybody knows that a seat holds these cards, so that nobody else does."""
    row["shown"] |= cards
    for other in range(rules["num_seats"]):
        if other != seat:
            row["excluded"][other] |= cards


@jit
def count_play(row: Row, rules: Row, seat: Int, card: Int) -> None:
    """3.5: a seat that has said how many cards of a suit it holds plays one of them."""
    suit = rules["suit"][card]
    if is_counted(row, seat, suit):
        row["counts"][seat, suit] -= 1
    conclude(row, rules, seat)


@jit
def is_counted(row: Row, seat: Int, suit: Int) -> Bool:
    return (row["counted"][seat] >> np.uint8(suit)) & 1 != 0


@jit
def conclude(row: Row, rules: Row, seat: Int) -> None:
    """3.5: a suit of which all cards held are known has no other; when that is the whole hand, no suit has."""
    hand = row["hands"][seat]
    known = hand & row["shown"]
    spoken_for = 0  # cards of the hand that are known, or of a suit that is counted
    for suit in range(4):
        in_suit = popcount(known & rules["suit_mask"][suit])
        if is_counted(row, seat, suit):
            spoken_for += row["counts"][seat, suit]
            if row["counts"][seat, suit] == in_suit:
                row["excluded"][seat] |= rules["suit_mask"][suit] & ~known
        else:
            spoken_for += in_suit
    if spoken_for == popcount(hand):
        for suit in range(4):
            if not is_counted(row, seat, suit):
                row["excluded"][seat] |= rules["suit_mask"][suit] & ~known
