"""Tricks: which cards may be played, which wins, and what a play tells about the hand that it came from (RULES 1.3).

Enters: one row of STATE and the rule set's TABLE record. Leaves: masks of cards, or the row with the trick's state
changed. The number at each function is its paragraph in docs/RULES.md; section 2 changes parameters, not functions.
"""

from __future__ import annotations

import numpy as np

from malilla_env.compiled import Bool, Int, Row, Word, inline
from malilla_env.state import ZERO, bit

OPTIONAL, FORBIDDEN, FORCED = 0, 1, 2  # undertrump (1.3.6)
PROTECTED_OFF, PROTECTED_LED, PROTECTED_PLAYED = 0, 1, 2  # 1.3.8


# --- what may be played
@inline
def must_contest(row: Row, rules: Row, seat: Int) -> Word:
    """1.3.7: all cards if the duties to beat and trump hold, since an opponent is winning or partners count; else 0."""
    return rules["contests"][seat, np.uint8(row["best_seat"])]


@inline
def ordered(row: Row, rules: Row, seat: Int) -> Word:
    """1.3.3-1.3.5: the cards of which a seat must play one if it can: of the led suit if it has that, else trumps."""
    return row["beating"] & must_contest(row, rules, seat)


@inline
def beating(rules: Row, trump: Int, card: Int) -> Word:
    """1.3.9: the cards that win over a card: the higher ones of its suit, and every trump over a plain one."""
    higher, trumps = rules["above"][card], rules["suit_mask"][trump]
    return higher if bit(card) & trumps != ZERO else higher | trumps


@inline
def protect(row: Row, rules: Row) -> None:
    """1.3.8: once trump is known, the other suits' malillas are locked."""
    locked = rules["tops"] & ~rules["suit_mask"][row["trump"]]
    row["locked"] = locked if rules["protected"] != PROTECTED_OFF else ZERO


@inline
def unlock(row: Row, rules: Row, suit: Int, leads: Bool) -> None:
    """1.3.8, 1.3.10: a suit has been led, or played at all."""
    mark = np.uint8(1) << suit
    row["suits_played"] |= mark
    if leads:
        row["suits_led"] |= mark
    if leads or rules["protected"] == PROTECTED_PLAYED:
        row["locked"] &= ~rules["suit_mask"][suit]


@inline
def legal_cards(row: Row, rules: Row, hand: Word, seat: Int) -> Word:
    """1.3.2-1.3.8: the cards of a hand that a seat may add to the trick.

    All answers are made before one is chosen: a branch that depends on the cards is often mispredicted, and costs more.
    """
    void = discards(row, hand) if rules["undertrump"] == OPTIONAL else cannot_overtrump(row, rules, hand, seat)
    follow = hand & rules["suit_mask"][np.uint8(row["led_suit"])]
    may = follow if follow != ZERO else hand  # 1.3.4: on a plain trick that is trumped, none of `follow` is ordered
    orders = may & ordered(row, rules, seat)
    if orders != ZERO:  # 1.3.3, 1.3.5
        return orders
    return follow if follow != ZERO else void  # 1.3.2


@inline
def trumped(row: Row, rules: Row, seat: Int) -> Bool:
    """1.3.6: whether a seat must contest a trick that a trump is winning."""
    return must_contest(row, rules, seat) & bit(row["best_card"]) & rules["suit_mask"][row["trump"]] != ZERO


@inline
def cannot_overtrump(row: Row, rules: Row, hand: Word, seat: Int) -> Word:
    """1.3.6: what a hand void in the led suit may play when all its trumps are too low."""
    trumps = hand & rules["suit_mask"][row["trump"]]
    if trumps == ZERO or not trumped(row, rules, seat):
        return discards(row, hand)
    if rules["undertrump"] == FORCED:
        return trumps
    free = hand & ~trumps & ~row["locked"]
    return free if free != ZERO else trumps


@inline
def discards(row: Row, hand: Word) -> Word:
    """1.3.8: anything but a locked malilla, unless the whole hand is such."""
    free = hand & ~row["locked"]
    return free if free != ZERO else hand


# --- what a play tells
@inline
def ruled_out(row: Row, rules: Row, seat: Int, card: Int) -> Word:
    """The cards that a seat cannot have held when it legally played `card` to the trick (1.3.2-1.3.8).

    Each duty has the form "with any of these cards in hand, that card was not legal", so the answer is exact.
    """
    played, led = bit(card), rules["suit_mask"][np.uint8(row["led_suit"])]
    if played & row["locked"] != ZERO:  # a forced malilla: the whole hand was such
        return rules["deck_mask"] & ~row["locked"]
    orders = ordered(row, rules, seat)
    missed = ZERO if played & orders != ZERO else orders
    under = ZERO if rules["undertrump"] == OPTIONAL else failed_to_overtrump(row, rules, seat, card)
    return missed & led if played & led != ZERO else missed | led | under


@inline
def failed_to_overtrump(row: Row, rules: Row, seat: Int, card: Int) -> Word:
    """1.3.6: what else a card played under a winning trump, by a void hand, rules out."""
    trumps = rules["suit_mask"][row["trump"]]
    if not trumped(row, rules, seat) or bit(card) & row["beating"] != ZERO:
        return ZERO
    under = bit(card) & trumps != ZERO
    if rules["undertrump"] == FORCED and not under:
        return trumps
    if rules["undertrump"] == FORBIDDEN and under:  # nothing else was free
        return rules["deck_mask"] & ~trumps & ~row["locked"]
    return ZERO


# --- who wins
@inline
def take_trick(row: Row, rules: Row, seat: Int, card: Int) -> None:
    """1.3.9: the card wins the trick so far, or it does not; again nothing branches on the cards."""
    best_card, best_seat, now = row["best_card"], row["best_seat"], row["beating"]
    then = beating(rules, row["trump"], card)
    wins = bit(card) & now != ZERO
    row["best_card"] = np.int8(card) if wins else best_card
    row["best_seat"] = np.int8(seat) if wins else best_seat
    row["beating"] = then if wins else now
