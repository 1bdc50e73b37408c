"""Ordering: which of the legal cards an open-hand search looks at first.

Enters: a NODE of `open_hand.py`, the hands, the legal cards. Leaves: a number for each card, the higher the sooner. No
result depends on it, only how long it takes: the better the first card, the more of the others need not be looked at.
The weights were found by a random search for few nodes, on endings of 7 and 8 tricks (docs/LOG.md).
"""

from __future__ import annotations

import numpy as np

from malilla_env.compiled import Array, Bool, Int, Row, Word, highest, inline, lowest, popcount
from malilla_env.state import ONE, ZERO, bit
from malilla_env.tricks import beating

CARD_BITS, CARD = 6, 63  # an entry of the order: the card in the low bits, what speaks for it above them
AHEAD = np.int64(1) << 40  # speaks for a card more than any weights do
LEVEL = np.int64(1) << 20  # keeps an entry above 0

# --- what speaks for a lead
(L_TRUMP, L_LENGTH, L_LEFT_RUFFS, L_RIGHT_RUFFS, L_PARTNER_RUFFS, L_THEIRS, L_PARTNERS) = range(7)
(L_FREES_THEIRS, L_FREES_OURS, L_SURE, L_SURE_POINT, L_SURE_FED, L_PARTNER, L_PARTNER_POINT) = range(7, 14)
(L_LOST, L_LOST_POINT, L_LOST_FED, L_TOP, L_STRENGTH) = range(14, 19)
# --- and for a card that follows: by its place in the trick
(F_GOOD, F_GOOD_POINT, F_TAKES, F_TAKES_HIGH, F_OVERTAKES, F_BAD, F_BAD_POINT, F_BEATS, F_BEATS_HIGH) = range(9)
(F_MASTER, F_LENGTH, F_TRUMP, F_GUARDED, F_ABOVE, F_STRENGTH) = range(9, 15)

WEIGHTS = np.zeros((4, 20), np.int64)
WEIGHTS[0, :19] = (
    *(-207, -86, -637, -726, 575, 100, 0, -690, -300, 5062, 90, 46, 8000, 410),
    *(-400, -237, -170, 810, 15),
)
WEIGHTS[1, :15] = (4000, 310, -160, -367, 20, 270, -266, 70, 0, 80, -35, -85, -100, 12, 0)
WEIGHTS[2, :15] = (4000, 110, -58, 86, -365, -130, -672, -5, 0, -690, -15, -360, 0, 0, 0)
WEIGHTS[3, :15] = (2900, 370, 278, -174, -375, -100, -140, 340, 940, -500, -72, -600, 53, -79, -100)


@inline
def put(order: Array, at: Int, score: Int, card: Int) -> None:
    order[np.uint64(at)] = ((score + LEVEL) << CARD_BITS) | card


@inline
def take_first(order: Array, at: Int, count: Int) -> Int:
    """The card that most speaks for, of `count` entries from `at` on; the last entry takes its place."""
    best = at
    for place in range(at + 1, at + count):
        if order[np.uint64(place)] > order[np.uint64(best)]:
            best = place
    entry = order[np.uint64(best)]
    order[np.uint64(best)] = order[np.uint64(at + count - 1)]
    return entry & CARD


@inline
def top_points(cards: Word, rules: Row) -> Int:
    """The points of the highest card of a suit; 0 for none."""
    return np.int64(rules["points"][highest(cards)]) if cards != ZERO else np.int64(0)


@inline
def rank_of(card: Int, rules: Row) -> Int:
    return card - np.int64(rules["suit"][card]) * np.int64(rules["ranks"])


# --- leading
@inline
def order_leads(node: Row, hands: Array, cards: Word, rules: Row, weights: Array, order: Array, at: Int) -> Int:
    """Entries from `at` on for the cards to lead; their number."""
    count, rest = 0, cards
    while rest != ZERO:
        suit = rules["suit_mask"][rules["suit"][lowest(rest)]]
        count += order_suit(node, hands, rest & suit, suit, rules, weights, order, at + count)
        rest &= ~suit
    return count


@inline
def order_suit(
    node: Row, hands: Array, cards: Word, suit: Word, rules: Row, weights: Array, order: Array, at: Int
) -> Int:
    """The leads of one suit: whether they win, or the partner does, follows from who has the highest answer."""
    seat = np.int64(node["seat"])
    left, partner, right = hands[(seat + 1) & 3], hands[(seat + 2) & 3], hands[(seat + 3) & 3]
    trumps = rules["suit_mask"][node["trump"]] & ~suit  # those that could trump it
    left_ruffs, right_ruffs = (
        left & suit == ZERO and left & trumps != ZERO,
        right & suit == ZERO and right & trumps != ZERO,
    )
    partner_ruffs = partner & suit == ZERO and partner & trumps != ZERO
    theirs = (left | right) & suit
    ruffed = left_ruffs or right_ruffs
    over = ((left if left_ruffs else ZERO) | (right if right_ruffs else ZERO)) & trumps
    partner_wins = partner & trumps > over if partner_ruffs else not ruffed and partner & suit > theirs
    score = weights[0, L_LENGTH] * popcount(hands[seat] & suit) + weights[0, L_THEIRS] * popcount(theirs)
    score += weights[0, L_TRUMP] * (suit == rules["suit_mask"][node["trump"]])
    score += weights[0, L_LEFT_RUFFS] * left_ruffs + weights[0, L_RIGHT_RUFFS] * right_ruffs
    score += weights[0, L_PARTNER_RUFFS] * partner_ruffs + weights[0, L_PARTNERS] * popcount(partner & suit)
    locked = node["locked"] & suit
    score += weights[0, L_FREES_THEIRS] * (locked & theirs != ZERO)
    score += weights[0, L_FREES_OURS] * (locked & (partner | hands[seat]) != ZERO)
    fed = weights[0, L_SURE_FED] * top_points(partner & suit, rules)
    lost = weights[0, L_LOST] + weights[0, L_LOST_FED] * max(
        top_points(left & suit, rules), top_points(right & suit, rules)
    )
    count = 0
    while cards != ZERO:
        card = lowest(cards)
        cards &= cards - ONE
        points = np.int64(rules["points"][card])
        worth = score + weights[0, L_STRENGTH] * rank_of(card, rules)
        if not ruffed and bit(card) > theirs:
            worth += weights[0, L_SURE] + weights[0, L_SURE_POINT] * points + fed
        elif partner_wins:
            worth += weights[0, L_PARTNER] + weights[0, L_PARTNER_POINT] * points
        else:
            worth += lost + weights[0, L_LOST_POINT] * points
        if cards == ZERO:
            worth += weights[0, L_TOP]
        put(order, at + count, worth, card)
        count += 1
    return count


# --- following
@inline
def answer(hand: Word, led: Word, trumps: Word, now: Word) -> Word:
    """The cards with which a hand could beat what lies; a trump on a plain suit counts as higher than any card."""
    follow = hand & led
    return follow & now if follow != ZERO else hand & trumps & now


@inline
def wins_over(cards: Word, theirs: Word, trumps: Word) -> Bool:
    """Whether the best of some answers beats the best of others."""
    ruff, their_ruff = cards & trumps, theirs & trumps
    if ruff | their_ruff != ZERO:
        return ruff > their_ruff
    return cards > theirs


@inline
def goes_well(node: Row, hands: Array, now: Word, ours: Bool, rules: Row) -> Bool:
    """Whether the side of the seat on turn is likely to win the trick, when `now` are the cards that would beat it."""
    seat, size = np.int64(node["seat"]), np.int64(node["size"])
    if size == 3:
        return ours
    led, trumps = rules["suit_mask"][node["led_suit"]], rules["suit_mask"][node["trump"]]
    theirs = answer(hands[(seat + 1) & 3], led, trumps, now)
    if size == 2 or (ours and theirs == ZERO):
        return ours and theirs == ZERO
    partners = answer(hands[(seat + 2) & 3], led, trumps, now)
    return partners != ZERO and wins_over(partners, theirs, trumps)


@inline
def order_follows(node: Row, hands: Array, cards: Word, rules: Row, weights: Array, order: Array, at: Int) -> Int:
    """Entries from `at` on for the cards that may follow; their number."""
    seat, size = np.int64(node["seat"]), np.int64(node["size"])
    others = hands[(seat + 1) & 3] | hands[(seat + 2) & 3] | hands[(seat + 3) & 3]
    led, trumps = rules["suit_mask"][node["led_suit"]], rules["suit_mask"][node["trump"]]
    ours = rules["team"][node["best_seat"]] == rules["team"][seat]
    passive = goes_well(node, hands, node["beating"], ours, rules)
    count = 0
    while cards != ZERO:
        card = lowest(cards)
        cards &= cards - ONE
        points, rank = np.int64(rules["points"][card]), rank_of(card, rules)
        takes = bit(card) & node["beating"] != ZERO
        good = goes_well(node, hands, beating(rules, node["trump"], card), True, rules) if takes else passive
        if good:
            score = weights[size, F_GOOD] + weights[size, F_GOOD_POINT] * points
            if takes:
                score += weights[size, F_TAKES] + weights[size, F_TAKES_HIGH] * rank
                score += weights[size, F_OVERTAKES] * ours
        else:
            score = weights[size, F_BAD] + weights[size, F_BAD_POINT] * points
            if takes:
                score += weights[size, F_BEATS] + weights[size, F_BEATS_HIGH] * rank
        higher = rules["above"][card] & others
        score += weights[size, F_MASTER] * (higher == ZERO) + weights[size, F_ABOVE] * popcount(higher)
        score += weights[size, F_STRENGTH] * rank
        if bit(card) & led == ZERO:
            held = hands[seat] & rules["suit_mask"][rules["suit"][card]]
            score += weights[size, F_LENGTH] * popcount(held)
            score += weights[size, F_TRUMP] * (bit(card) & trumps != ZERO)
            score += weights[size, F_GUARDED] * (held & rules["above"][card] != ZERO)
        put(order, at + count, score, card)
        count += 1
    return count
