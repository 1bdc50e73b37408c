"""Bounds: what a side is sure to take from here, all hands open, without looking ahead.

Enters: the hands at the start of a trick, the rule set's TABLE record, FACTS (`open_hand.py`). Leaves: points that the
side cannot be kept from; what the other side can take is the rest at most. Four seats, partners opposite.
"""

from __future__ import annotations

import numpy as np

from malilla_env.compiled import Array, Int, Row, Word, highest, inline, lowest, popcount
from malilla_env.state import ONE, ZERO, bit


@inline
def least(hand: Word, count: Int, facts: Row) -> Int:
    """The points of the `count` cheapest cards of a hand, which has so many."""
    points, level = np.int64(0), 0
    while count > 0:
        taken = min(count, popcount(hand & facts["level_cards"][level]))
        points += taken * np.int64(facts["level_points"][level])
        count -= taken
        level += 1
    return points


@inline
def worth(cards: Word, rules: Row) -> Int:
    points = np.int64(0)
    while cards != ZERO:
        points += np.int64(rules["points"][lowest(cards)])
        cards &= cards - ONE
    return points


@inline
def above(rules: Row, cards: Word, theirs: Word) -> Word:
    """The cards of one suit that are higher than all of `theirs`, of the same suit."""
    return cards if theirs == ZERO else cards & rules["above"][highest(theirs)]


@inline
def others_least(hands: Array, seat: Int, tricks: Int, facts: Row) -> Int:
    """What the three other seats add to so many tricks at least."""
    points = np.int64(0)
    for step in range(1, 4):
        points += least(hands[(seat + step) & 3], tricks, facts)
    return points


@inline
def sure_trumps(hands: Array, seat: Int, trumps: Word, rules: Row, facts: Row) -> Int:
    """Trumps above all of the opponents': each takes a trick for its side, whenever it is played and whoever leads."""
    tops = above(rules, hands[seat] & trumps, (hands[(seat + 1) & 3] | hands[(seat + 3) & 3]) & trumps)
    tricks = popcount(tops)
    if tricks == 0:
        return np.int64(0)
    return tricks * np.int64(rules["trick_points"]) + worth(tops, rules) + others_least(hands, seat, tricks, facts)


@inline
def without_ruff(hand: Word, suit: Word, trumps: Word) -> Int:
    """How often a plain suit can be led before this hand may trump it; 99 for ever."""
    return np.int64(99) if hand & trumps == ZERO else popcount(hand & suit)


@inline
def highest_of(cards: Word, count: Int) -> Word:
    """The `count` highest cards of a suit; all, where it has fewer."""
    for _ in range(popcount(cards) - count):
        cards &= cards - ONE
    return cards


@inline
def lowest_of(cards: Word, count: Int) -> Word:
    for _ in range(popcount(cards) - count):
        cards &= ~bit(highest(cards))
    return cards


@inline
def cashable(hands: Array, seat: Int, suit: Word, trumps: Word, rules: Row) -> Word:
    """The cards of a suit that a seat on lead can play one after the other, each winning and keeping the lead."""
    left, partner, right = hands[(seat + 1) & 3], hands[(seat + 2) & 3], hands[(seat + 3) & 3]
    tops = above(rules, hands[seat] & suit, (left | partner | right) & suit)
    if tops == ZERO or suit == trumps:
        return tops
    rounds = min(without_ruff(left, suit, trumps), without_ruff(right, suit, trumps))
    return highest_of(tops, min(rounds, without_ruff(partner, suit, trumps)))


@inline
def cashed(hands: Array, seat: Int, cards: Word, suit: Word, rules: Row) -> Int:
    """What those cards bring: the partner follows with its best of the suit, the others with their worst."""
    tricks = popcount(cards)
    points = worth(cards, rules) + tricks * np.int64(rules["trick_points"])
    points += worth(highest_of(hands[(seat + 2) & 3] & suit, tricks), rules)
    points += worth(lowest_of(hands[(seat + 1) & 3] & suit, tricks), rules)
    return points + worth(lowest_of(hands[(seat + 3) & 3] & suit, tricks), rules)


@inline
def trump_tricks(hands: Array, seat: Int, trumps: Word, rules: Row) -> Int:
    """What a seat's trumps above all of the opponents' bring by themselves."""
    tops = above(rules, hands[seat] & trumps, (hands[(seat + 1) & 3] | hands[(seat + 3) & 3]) & trumps)
    return popcount(tops) * np.int64(rules["trick_points"]) + worth(tops, rules)


@inline
def sure_leads(hands: Array, leader: Int, seat: Int, trumps: Word, rules: Row) -> Int:
    """What a seat takes by cashing its winners: as the leader, or as the partner to whom the leader can pass the lead.

    Plain suits come first and trumps last: so nobody has discarded a card of a suit that is still to be led, and
    neither partner has spent a trump.
    """
    points, reached = np.int64(0), leader == seat
    for place in range(4):
        suit = rules["suit_mask"][place]
        if suit == trumps or hands[seat] & suit == ZERO:
            continue
        cards = cashable(hands, seat, suit, trumps, rules)
        if cards != ZERO:
            points += cashed(hands, seat, cards, suit, rules)
            reached = reached or hands[leader] & suit != ZERO
    if not reached:
        return np.int64(0)
    drawn = cashable(hands, seat, trumps, trumps, rules) if trumps != ZERO else ZERO
    by_trumps = max(trump_tricks(hands, seat, trumps, rules), trump_tricks(hands, (seat + 2) & 3, trumps, rules))
    return points + max(cashed(hands, seat, drawn, trumps, rules), by_trumps)


@inline
def sure_of_leaders(hands: Array, leader: Int, enough: Int, trumps: Word, rules: Row, facts: Row) -> Int:
    """Points that the side on lead is sure of, the most that is found or the first that is `enough`."""
    partner = (leader + 2) & 3
    sure = max(sure_trumps(hands, leader, trumps, rules, facts), sure_trumps(hands, partner, trumps, rules, facts))
    if sure < enough:
        sure = max(sure, sure_leads(hands, leader, leader, trumps, rules))
    if sure < enough:
        sure = max(sure, sure_leads(hands, leader, partner, trumps, rules))
    return sure


@inline
def sure_of_others(hands: Array, leader: Int, trumps: Word, rules: Row, facts: Row) -> Int:
    """Points that the other side is sure of."""
    left, right = (leader + 1) & 3, (leader + 3) & 3
    return max(sure_trumps(hands, left, trumps, rules, facts), sure_trumps(hands, right, trumps, rules, facts))
