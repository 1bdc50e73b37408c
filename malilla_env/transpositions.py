"""Transpositions: what an open-hand search remembers of positions, at the start of a trick, and where else it holds.

Enters: hands, FACTS, a bound just found. Leaves: a bound that answers whether side 0 takes so many points, if one is
known. `open_hand.py` searches, here it remembers.

Play depends on the order of the cards alone: who holds the highest of a suit, who the next. Two positions of one order
have the same tricks, so their values differ at most by what the cards of one count more than those in the same places
of the other, where they do. The table keeps positions by their order, each with its bounds and its cards, and a bound
of one is, moved by that difference, a bound of the other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from malilla_env.compiled import PURE, Array, Bool, Int, Row, Word, inline, jit, lowest
from malilla_env.state import NONE, ONE, ZERO

# What a rule set means for the search, and how much was searched.
FACTS = np.dtype(
    [
        ("like_below", "u8"),  # cards that count as much as the next lower one of their suit
        ("comparable", "?"),  # cards count so little that `surplus` can tell positions of one order apart
        ("key_bits", "i8"),  # of a position's key
        ("table_bits", "i8"),
        ("owners", "u8", 4),  # the hands that `orders` and `worths` are made for
        ("age", "u8"),  # 1 to 15: entries of another deal have another
        ("nodes", "i8"),
    ],
    align=True,
)


class Desk(NamedTuple):
    """The arrays that one search works in."""

    facts: Array  # [1] of FACTS
    nodes: Array  # [MAX_PLIES + 2] of NODE, one a ply; the last is room for a root
    hands: Array  # uint64 [4]
    orders: Array  # uint16 [4, 2 ** ranks]: `fill_orders`
    worths: Array  # uint64 [4, 2 ** ranks]: what those cards count, from the lowest up, four bits each
    table: Array  # uint64 [2 ** table_bits, 2]: bounds by order of the cards
    weights: Array  # int64 [4, 20]: `ordering.WEIGHTS`
    order: Array  # int64 [(MAX_PLIES + 1) * WIDTH]: cards to be tried, by ply


UNKNOWN = np.int64(-1)  # no bound says
MOST_COMPARABLE = 7  # points of a card

# An entry of the table is two words, each from below: age, card, lower bound, what the place does not tell of the key;
# upper bound, the cards in the hands.
MOVE_AT, LOWER_AT, TAG_AT, OUT_AT = np.uint64(4), np.uint64(10), np.uint64(18), np.uint64(8)
TAG_BITS = 64 - 18
AGES, BOUND, MOVE = np.uint64(15), np.uint64(255), np.uint64(63)
TWO, THREE, FOUR = np.uint64(2), np.uint64(3), np.uint64(4)
GUARDS, EVEN = np.uint64(0x8888888888888888), np.uint64(0x0F0F0F0F0F0F0F0F)
SCATTER = 0x9E3779B97F4A7C15


# --- positions as keys
def _scattered(key: Any, bits: Any) -> Any:
    """The key times an odd number, modulo 2**bits: another for every key, its high bits made of all of the key's."""
    return (key * np.uint64(SCATTER)) & ((ONE << np.uint64(bits)) - ONE)


def _pure_scattered(key: Any, bits: Any) -> Any:
    return np.uint64((int(key) * SCATTER) & ((1 << int(bits)) - 1))  # unsigned wraparound is meant


scattered: Any = _pure_scattered if PURE else inline(_scattered)


@jit
def fill_orders(desk: Desk, rules: Row) -> None:
    """orders[suit, cards out of it]: the same number where cards of the same owners follow each other.

    It is the set of cards moved down as far as the order of their owners allows.
    """
    ranks, owner = np.int64(rules["ranks"]), owners_of(desk.hands, np.int64(rules["ranks"]))
    for suit in range(4):
        first = suit * ranks
        whole: Int = 0
        for rank in range(ranks):
            if owner[first + rank] != NONE:
                whole |= 1 << rank
        cards = whole
        while cards >= 0:
            desk.orders[suit, cards] = moved_down(owner, cards, first, ranks)
            desk.worths[suit, cards] = worths_of(cards, first, ranks, rules)
            cards = (cards - 1) & whole if cards > 0 else np.int64(-1)


@inline
def owners_of(hands: Array, ranks: Int) -> Array:
    """int8 [cards]: who holds each card, or NONE."""
    owner = np.full(4 * ranks, NONE, np.int8)
    for seat in range(4):
        cards = hands[seat]
        while cards != ZERO:
            owner[lowest(cards)] = seat
            cards &= cards - ONE
    return owner


@inline
def moved_down(owner: Array, cards: Int, first: Int, ranks: Int) -> Int:
    made: Int = 0
    at: Int = 0
    for rank in range(ranks):
        if cards >> rank & 1:
            while owner[first + at] != owner[first + rank]:
                at += 1
            made |= 1 << at
            at += 1
    return made


@inline
def worths_of(cards: Int, first: Int, ranks: Int, rules: Row) -> Word:
    made, at = ZERO, ZERO
    for rank in range(ranks):
        if cards >> rank & 1:
            made |= np.uint64(rules["points"][first + rank]) << at
            at += FOUR
    return made


@inline
def suit_key(out: Word, suit: Int, rules: Row, orders: Array) -> Word:
    """A suit's part of `key_of`."""
    ranks = np.uint64(rules["ranks"])
    shift = np.uint64(suit) * ranks
    return np.uint64(orders[np.uint64(suit), (out >> shift) & ((ONE << ranks) - ONE)]) << shift


@inline
def rest_key(out: Word, locked: Word, seat: Int, rules: Row) -> Word:
    """What `key_of` tells besides the cards: who leads, which malillas that are out are locked."""
    at, held = FOUR * np.uint64(rules["ranks"]), locked & out
    key = np.uint64(seat) << at
    if held != ZERO:
        for suit in range(4):
            key |= np.uint64(held & rules["suit_mask"][suit] != ZERO) << (at + TWO + np.uint64(suit))
    return key


@inline
def cards_key(out: Word, rules: Row, orders: Array) -> Word:
    key = suit_key(out, 0, rules, orders) | suit_key(out, 1, rules, orders)
    return key | suit_key(out, 2, rules, orders) | suit_key(out, 3, rules, orders)


@inline
def key_of(out: Word, locked: Word, seat: Int, rules: Row, orders: Array) -> Word:
    """All that play depends on at the start of a trick, as a number; what the cards count is not in it."""
    return cards_key(out, rules, orders) | rest_key(out, locked, seat, rules)


@inline
def place_of(key: Word, facts: Row) -> Word:
    return key >> np.uint64(facts["key_bits"] - facts["table_bits"])


@inline
def tag_of(key: Word, facts: Row) -> Word:
    """The bits of a key that its place does not tell."""
    return key & ((ONE << np.uint64(facts["key_bits"] - facts["table_bits"])) - ONE)


# --- what is remembered
@inline
def is_of(who: Word, what: Word, key: Word, out: Word, facts: Row) -> Bool:
    """Whether an entry is of this deal, of positions of this order, and says something of the one with these cards."""
    same = who >> TAG_AT == tag_of(key, facts) and who & AGES == facts["age"]
    return same and (facts["comparable"] or what >> OUT_AT == out)


@inline
def surplus(ours: Word, theirs: Word) -> Word:
    """How much more the cards of one suit count than those in the same places of another: a sum of eight bytes."""
    compared = (ours | GUARDS) - theirs
    more = compared & GUARDS
    differences = compared & (more - (more >> THREE))
    return (differences & EVEN) + ((differences >> FOUR) & EVEN)


@inline
def surpluses(out: Word, other: Word, rules: Row, worths: Array) -> Int:
    """How much more the cards of a position count than those of another one of the same order, where they do."""
    ranks, total, shift = np.uint64(rules["ranks"]), ZERO, ZERO
    suit_of = (ONE << ranks) - ONE
    for suit in range(4):
        total += surplus(worths[suit, (out >> shift) & suit_of], worths[suit, (other >> shift) & suit_of])
        shift += ranks
    total += total >> np.uint64(32)
    total += total >> np.uint64(16)
    return np.int64((total + (total >> np.uint64(8))) & BOUND)


@inline
def lower_of(who: Word, what: Word, out: Word, rules: Row, worths: Array) -> Int:
    """What side 0 takes at least from the position with these cards, by an entry of its order."""
    other = what >> OUT_AT
    less = np.int64(0) if other == out else surpluses(other, out, rules, worths)
    return np.int64((who >> LOWER_AT) & BOUND) - less


@inline
def upper_of(what: Word, out: Word, rules: Row, worths: Array) -> Int:
    other = what >> OUT_AT
    more = np.int64(0) if other == out else surpluses(out, other, rules, worths)
    return np.int64(what & BOUND) + more


@inline
def decided(lower: Int, upper: Int, need: Int) -> Int:
    """The bound that answers whether the value is `need` or more; UNKNOWN if neither does."""
    if lower >= need:
        return lower
    return upper if upper < need else UNKNOWN


@inline
def answer_of(who: Word, what: Word, out: Word, need: Int, rules: Row, worths: Array) -> Int:
    """The bound that answers, by an entry of this order; it is moved only if it could answer as it is."""
    if np.int64((who >> LOWER_AT) & BOUND) >= need:
        return decided(lower_of(who, what, out, rules, worths), need, need)
    if np.int64(what & BOUND) < need:
        return decided(need - 1, upper_of(what, out, rules, worths), need)
    return UNKNOWN


@inline
def recalled(key: Word, out: Word, need: Int, rules: Row, desk: Desk) -> Int:
    """What is remembered of the position with this key, scattered, and these cards."""
    place = place_of(key, desk.facts[0])
    who, what = desk.table[place, 0], desk.table[place, 1]
    if is_of(who, what, key, out, desk.facts[0]):
        return answer_of(who, what, out, need, rules, desk.worths)
    return UNKNOWN


@inline
def looked_up(node: Row, rules: Row, desk: Desk) -> Int:
    """What is remembered of a node; its key is noted, and the card that was best when its order was met last."""
    out, facts = node["out"], desk.facts[0]
    key = scattered(key_of(out, node["locked"], node["seat"], rules, desk.orders), facts["key_bits"])
    node["key"] = key
    who, what = desk.table[place_of(key, facts), 0], desk.table[place_of(key, facts), 1]
    if is_of(who, what, key, out, facts):
        node["tabled"] = np.int64((who >> MOVE_AT) & MOVE)
    return recalled(key, out, np.int64(node["need"]), rules, desk)


@inline
def keep(node: Row, found: Int, rules: Row, desk: Desk) -> None:
    """The bound just found, with what was known of the position before."""
    facts, table, worths = desk.facts[0], desk.table, desk.worths
    key, place, out = node["key"], place_of(node["key"], facts), node["out"]
    lower, upper = np.int64(0), np.int64(node["left"])
    who, what = table[place, 0], table[place, 1]
    if is_of(who, what, key, out, facts):
        lower = max(lower, lower_of(who, what, out, rules, worths))
        upper = min(upper, upper_of(what, out, rules, worths))
    if found >= node["need"]:
        lower = max(lower, found)
    else:
        upper = min(upper, found)
    move = np.uint64(node["tabled"]) << MOVE_AT
    table[place, 0] = tag_of(key, facts) << TAG_AT | np.uint64(lower) << LOWER_AT | move | facts["age"]
    table[place, 1] = out << OUT_AT | np.uint64(upper)
