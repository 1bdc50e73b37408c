"""Open-hand search: the exact value of a position in which all four hands are seen, two sides of partners opposite.

Enters: hands and a trick (a NODE), the rule set's TABLE record, FACTS, a table of bounds. Leaves: the points that side
0 takes from here, the cards on the table included, with best play of both sides. The rules are those of `tricks.py`: a
NODE has the fields that they read and write. `search` answers one question, whether side 0 takes so many; `value` asks
until the bounds meet. The arrays that both work in, and threads, are the matter of `solver.py`.

Alpha-beta with a window of one point (Pearl 1980, Scout; Plaat et al. 1996, MTD(f)), its bounds kept by position at the
start of a trick (Ginsberg 2001). Of the cards that count alike a position keeps only their order, and equal neighbours
in one hand are one move. Neighbours that count differently differ by their points at most.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from malilla_env.bounds import sure_of_leaders, sure_of_others
from malilla_env.compiled import PURE, Array, Bool, Int, Row, Word, inline, jit, lowest, popcount, uncounted
from malilla_env.ordering import AHEAD, CARD, order_follows, order_leads, take_first
from malilla_env.state import NONE, ONE, ZERO, bit
from malilla_env.table import MAX_CARDS
from malilla_env.tricks import PROTECTED_PLAYED, beating, legal_cards, take_trick, unlock

NODE = np.dtype(
    [
        # as the trick lies: what tricks.py reads and writes
        ("locked", "u8"),
        ("beating", "u8"),
        ("best_card", "i1"),
        ("best_seat", "i1"),
        ("led_suit", "i1"),
        ("trump", "i1"),
        ("suits_led", "u1"),
        ("suits_played", "u1"),
        ("seat", "u1"),
        ("size", "u1"),  # cards lying in the trick
        ("out", "u8"),  # cards in the hands, and those of the trick
        ("trick_value", "i2"),
        ("left", "i2"),  # points still to be won, the trick's included
        # the search
        ("need", "i2"),  # what side 0 is asked to take from here
        ("best", "i2"),
        ("gain", "i2"),  # that the card tried brings side 0 at once
        ("card", "i2"),  # tried now
        ("tabled", "i2"),  # the best card so far: at first, of when the position was met before; or NONE
        ("untried", "i2"),
        ("key", "u8"),
    ],
    align=True,
)
MAX_PLIES = MAX_CARDS + 1
MAX_LEVELS = 16

# What a rule set means for the search, and how much was searched.
FACTS = np.dtype(
    [
        ("like_below", "u8"),  # cards that count as much as the next lower one of their suit
        ("level_cards", "u8", MAX_LEVELS),  # the cards that count equally much, the cheapest first
        ("level_points", "i2", MAX_LEVELS),
        ("run_end", "u1", MAX_CARDS),  # the first rank above a card's run of ranks that count alike
        ("rising", "?"),  # of a suit, no card counts more than a higher one
        ("key_bits", "i8"),  # of a position's key
        ("table_bits", "i8"),
        ("owners", "u8", 4),  # the hands that `canonical` is made for
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
    canonical: Array  # uint16 [4, 2 ** ranks]: `fill_canonical`
    table: Array  # uint64 [2 ** table_bits]: bounds by position
    weights: Array  # int64 [4, 20]: `ordering.WEIGHTS`
    order: Array  # int64 [(MAX_PLIES + 1) * WIDTH]: cards to be tried, by ply


UNKNOWN = np.int64(-1)
WIDTH = 16  # entries of the order that a ply has room for
TABLED_TRICKS = 2  # positions of fewer are searched faster than looked up

# An entry of the table is one word: from below, age, lower bound, upper bound, card, and what the place does not tell
# of the key.
LOWER_AT, UPPER_AT, MOVE_AT, TAG_AT = np.uint64(4), np.uint64(12), np.uint64(20), np.uint64(26)
TAG_BITS = 64 - 26
AGES, BOUND, MOVE = np.uint64(15), np.uint64(255), np.uint64(63)
TWO, FOUR, EIGHT = np.uint64(2), np.uint64(4), np.uint64(8)
SCATTER = 0x9E3779B97F4A7C15


# --- positions as keys
def _scattered(key: Any, bits: Any) -> Any:
    """The key times an odd number, modulo 2**bits: another for every key, its high bits made of all of the key's."""
    return (key * np.uint64(SCATTER)) & ((ONE << np.uint64(bits)) - ONE)


def _pure_scattered(key: Any, bits: Any) -> Any:
    return np.uint64((int(key) * SCATTER) & ((1 << int(bits)) - 1))  # unsigned wraparound is meant


scattered: Any = _pure_scattered if PURE else inline(_scattered)


@jit
def fill_canonical(desk: Desk, rules: Row) -> None:
    """canonical[suit, cards out of it]: the cards with the same owners in the same order and the same points.

    Cards that count alike are moved down as far as the order of their owners allows: positions that differ only in
    which of equal neighbours are gone become the same.
    """
    hands, facts, canonical = desk.hands, desk.facts[0], desk.canonical
    ranks = np.int64(rules["ranks"])
    owner = np.full(4 * ranks, NONE, np.int8)
    for seat in range(4):
        cards = hands[seat]
        while cards != ZERO:
            owner[lowest(cards)] = seat
            cards &= cards - ONE
    for suit in range(4):
        first = suit * ranks
        whole: Int = 0
        for rank in range(ranks):
            if owner[first + rank] != NONE:
                whole |= 1 << rank
        cards_out = whole
        while cards_out >= 0:
            canonical[suit, cards_out] = moved_down(owner, cards_out, first, ranks, facts)
            cards_out = (cards_out - 1) & whole if cards_out > 0 else np.int64(-1)


@inline
def moved_down(owner: Array, cards: Int, first: Int, ranks: Int, facts: Row) -> Int:
    made: Int = 0
    at: Int = 0
    end: Int = 0
    for rank in range(ranks):
        if rank == end:
            at, end = rank, np.int64(facts["run_end"][first + rank])
        if cards >> rank & 1:
            while owner[first + at] != owner[first + rank]:
                at += 1
            made |= 1 << at
            at += 1
    return made


@inline
def suit_key(out: Word, suit: Int, rules: Row, canonical: Array) -> Word:
    """A suit's part of `key_of`."""
    ranks = np.uint64(rules["ranks"])
    shift = np.uint64(suit) * ranks
    return np.uint64(canonical[np.uint64(suit), (out >> shift) & ((ONE << ranks) - ONE)]) << shift


@inline
def rest_key(out: Word, locked: Word, seat: Int, rules: Row) -> Word:
    """What `key_of` tells besides the cards: who leads, which malillas that are out are locked."""
    ranks, held = np.uint64(rules["ranks"]), locked & out
    key, top = np.uint64(seat) << (FOUR * ranks), ZERO
    if held != ZERO:
        for suit in range(4):
            top += ranks
            key |= ((held >> (top - ONE)) & ONE) << (FOUR * ranks + TWO + np.uint64(suit))
    return key


@inline
def cards_key(out: Word, rules: Row, canonical: Array) -> Word:
    key = suit_key(out, 0, rules, canonical) | suit_key(out, 1, rules, canonical)
    return key | suit_key(out, 2, rules, canonical) | suit_key(out, 3, rules, canonical)


@inline
def key_of(out: Word, locked: Word, seat: Int, rules: Row, canonical: Array) -> Word:
    """All that the rest of a hand depends on at the start of a trick, as a number."""
    return cards_key(out, rules, canonical) | rest_key(out, locked, seat, rules)


@inline
def place_of(key: Word, facts: Row) -> Word:
    return key >> np.uint64(facts["key_bits"] - facts["table_bits"])


@inline
def tag_of(key: Word, facts: Row) -> Word:
    """The bits of a key that its place does not tell."""
    return key & ((ONE << np.uint64(facts["key_bits"] - facts["table_bits"])) - ONE)


@inline
def is_of(entry: Word, key: Word, facts: Row) -> Bool:
    """Whether an entry is of this position, of this deal."""
    return entry >> TAG_AT == tag_of(key, facts) and entry & AGES == facts["age"]


@inline
def lower_of(entry: Word) -> Int:
    return np.int64((entry >> LOWER_AT) & BOUND)


@inline
def upper_of(entry: Word) -> Int:
    return np.int64((entry >> UPPER_AT) & BOUND)


@inline
def keep(node: Row, found: Int, facts: Row, table: Array) -> None:
    """The bound just found, with what was known of the position before."""
    key, place = node["key"], place_of(node["key"], facts)
    lower, upper = np.int64(0), np.int64(node["left"])
    entry = table[place]
    if is_of(entry, key, facts):
        lower, upper = lower_of(entry), upper_of(entry)
    if found >= node["need"]:
        lower = max(lower, found)
    else:
        upper = min(upper, found)
    bounds = np.uint64(upper) << UPPER_AT | np.uint64(lower) << LOWER_AT
    table[place] = tag_of(key, facts) << TAG_AT | np.uint64(node["tabled"]) << MOVE_AT | bounds | facts["age"]


# --- what needs no search
@inline
def last_trick(node: Row, hands: Array, rules: Row) -> Int:
    """1.3.9: each seat has one card; all that is left goes to whoever's is best."""
    seat = np.int64(node["seat"])
    best, now = seat, beating(rules, node["trump"], lowest(hands[seat]))
    for step in range(1, 4):
        other = (seat + step) & 3
        if hands[other] & now != ZERO:
            best, now = other, beating(rules, node["trump"], lowest(hands[other]))
    return np.int64(node["left"]) if rules["team"][best] == 0 else np.int64(0)


@inline
def decided(lower: Int, upper: Int, need: Int) -> Int:
    """The bound that answers whether the value is `need` or more; UNKNOWN if neither does."""
    if lower >= need:
        return lower
    return upper if upper < need else UNKNOWN


@inline
def looked_up(node: Row, desk: Desk, rules: Row) -> Int:
    facts = desk.facts[0]
    key = scattered(key_of(node["out"], node["locked"], node["seat"], rules, desk.canonical), facts["key_bits"])
    node["key"] = key
    entry = desk.table[place_of(key, facts)]
    if not is_of(entry, key, facts):
        return UNKNOWN
    node["tabled"] = np.int64((entry >> MOVE_AT) & MOVE)
    return decided(lower_of(entry), upper_of(entry), node["need"])


@inline
def bounded(node: Row, hands: Array, rules: Row, facts: Row) -> Int:
    """What the sure tricks of both sides say; they are counted as if low cards were cheap ones."""
    if not facts["rising"]:
        return UNKNOWN
    leader, trumps = np.int64(node["seat"]), rules["suit_mask"][node["trump"]]
    need, left, leads = np.int64(node["need"]), np.int64(node["left"]), rules["team"][node["seat"]] == 0
    mine, theirs = (need, left - need + 1) if leads else (left - need + 1, need)  # what would decide
    sure = sure_of_leaders(hands, leader, mine, trumps, rules, facts)
    if sure >= mine:
        return sure if leads else left - sure
    sure = sure_of_others(hands, leader, trumps, rules, facts)
    if sure >= theirs:
        return left - sure if leads else sure
    return UNKNOWN


@inline
def known(node: Row, desk: Desk, rules: Row) -> Int:
    """What is known of the start of a trick before any card is tried; UNKNOWN if it must be searched."""
    found = decided(np.int64(0), np.int64(node["left"]), node["need"])
    if found != UNKNOWN:
        return found
    tricks = popcount(desk.hands[node["seat"]])
    if tricks == 1:
        return last_trick(node, desk.hands, rules)
    if tricks >= TABLED_TRICKS:
        found = looked_up(node, desk, rules)
        if found != UNKNOWN:
            return found
    return bounded(node, desk.hands, rules, desk.facts[0])


# --- trying cards
@inline
def one_of_each(cards: Word, out: Word, like_below: Word) -> Word:
    """Of cards of a hand that count alike, and between which no card is out, the lowest: the others do the same."""
    run = (cards | ~out) & like_below
    above = (cards << ONE) & run
    above |= (above << ONE) & run
    run &= run << ONE
    above |= (above << TWO) & run
    run &= run << TWO
    above |= (above << FOUR) & run
    run &= run << FOUR
    above |= (above << EIGHT) & run
    return cards & ~above


@inline
def in_play(node: Row, hands: Array) -> Word:
    """The cards that still matter: those in the hands, and the one that is winning the trick."""
    out = hands[0] | hands[1] | hands[2] | hands[3]
    return out if node["size"] == 0 else out | bit(node["best_card"])


@inline
def open_node(node: Row, desk: Desk, rules: Row, at: Int) -> Int:
    """The first card to try, the others waiting in `order` from `at` on; NONE if `best` is known without a trial."""
    hands, weights, order = desk.hands, desk.weights, desk.order
    seat, hand, out = np.int64(node["seat"]), hands[node["seat"]], in_play(node, hands)
    cards = hand if node["size"] == 0 else legal_cards(node, rules, hand, seat)
    cards = one_of_each(cards, out, desk.facts[0]["like_below"])
    node["best"] = NONE if rules["team"][seat] == 0 else node["left"] + 1
    if node["size"] == 3:
        cards = sifted(node, desk, cards, out & ~bit(node["best_card"]), rules)
        if cards == ZERO:
            return NONE
    if cards & (cards - ONE) == ZERO:
        node["untried"] = 0
        return lowest(cards)
    if node["size"] == 0:
        count = order_leads(node, hands, cards, rules, weights, order, at)
        put_ahead(node["tabled"], order, at, count)
    else:
        count = order_follows(node, hands, cards, rules, weights, order, at)
    node["untried"] = count - 1
    return take_first(order, at, count)


@inline
def put_ahead(card: Int, order: Array, at: Int, count: Int) -> None:
    for place in range(at, at + count):
        if order[np.uint64(place)] & CARD == card:
            order[np.uint64(place)] += AHEAD


@inline
def trick_worth(cards: Int, out: Word, rules: Row) -> Int:
    """1.1.4, 2.7: what a trick brings with its cards' points; `out` are the cards in the hands after it."""
    worth = cards + np.int64(rules["trick_points"])
    return worth + np.int64(rules["last_trick_bonus"]) if out == ZERO else worth


@inline
def sifted(node: Row, desk: Desk, cards: Word, held: Word, rules: Row) -> Word:
    """Of the cards that would end the trick, those that need a trial; `best` is what the others bring.

    None does if one of them leads to a position known to be good enough (Plaat et al. 1996, enhanced transposition
    cutoff).
    """
    facts, hands = desk.facts[0], desk.hands
    first_side, rest = rules["team"][node["seat"]] == 0, cards
    tabled = popcount(hands[node["seat"]]) > TABLED_TRICKS
    whole = cards_key(held, rules, desk.canonical)
    while rest != ZERO:
        card = lowest(rest)
        rest &= rest - ONE
        winner = node["seat"] if bit(card) & node["beating"] != ZERO else np.uint8(node["best_seat"])
        suit, out = np.int64(rules["suit"][card]), held & ~bit(card)
        value = trick_worth(np.int64(node["trick_value"]) + np.int64(rules["points"][card]), out, rules)
        gain = value if rules["team"][winner] == 0 else np.int64(0)
        lower, upper, need = np.int64(0), np.int64(node["left"]) - value, np.int64(node["need"]) - gain
        if tabled and lower < need and upper >= need:
            locked = node["locked"]
            if rules["protected"] == PROTECTED_PLAYED:
                locked &= ~rules["suit_mask"][suit]
            key = whole & ~rules["suit_mask"][suit] | suit_key(out, suit, rules, desk.canonical)
            key = scattered(key | rest_key(out, locked, winner, rules), facts["key_bits"])
            entry = desk.table[place_of(key, facts)]
            if is_of(entry, key, facts):
                lower, upper = lower_of(entry), upper_of(entry)
        found = decided(lower, upper, need)
        if found != UNKNOWN:
            cards &= ~bit(card)
            found += gain
            if (found >= node["need"]) == first_side:
                node["best"] = found
                return ZERO
            node["best"] = max(node["best"], found) if first_side else min(node["best"], found)
    return cards


@inline
def try_card(node: Row, child: Row, hands: Array, rules: Row, card: Int) -> None:
    """1.3: the card goes from the hand into the trick; `child` is the position after it."""
    seat, suit, leads = np.int64(node["seat"]), rules["suit"][card], node["size"] == 0
    node["card"] = card
    hands[seat] &= ~bit(card)
    child["trump"], child["locked"] = node["trump"], node["locked"]
    child["suits_led"], child["suits_played"] = node["suits_led"], node["suits_played"]
    child["best_card"], child["best_seat"], child["beating"] = node["best_card"], node["best_seat"], node["beating"]
    child["led_suit"] = suit if leads else node["led_suit"]
    take_trick(child, rules, seat, card)
    unlock(child, rules, suit, leads)
    child["tabled"] = NONE
    value = np.int64(node["trick_value"]) + np.int64(rules["points"][card])
    if node["size"] < 3:
        child["size"], child["seat"] = node["size"] + 1, (seat + 1) & 3
        child["out"], child["left"], child["trick_value"] = node["out"], node["left"], value
        child["need"], node["gain"] = node["need"], 0
    else:
        end_trick(node, child, hands, rules, value)


@inline
def end_trick(node: Row, child: Row, hands: Array, rules: Row, value: Int) -> None:
    """1.3.9: the trick goes to the winner's side, and the winner leads."""
    winner = np.uint8(child["best_seat"])
    child["out"] = hands[0] | hands[1] | hands[2] | hands[3]
    value = trick_worth(value, child["out"], rules)
    gain = value if rules["team"][winner] == 0 else np.int64(0)
    node["gain"], child["need"] = gain, node["need"] - gain
    child["left"], child["trick_value"] = node["left"] - value, 0
    child["size"], child["seat"] = 0, winner
    child["best_card"] = child["best_seat"] = NONE
    child["beating"] = rules["deck_mask"]


@inline
def drop_alike(node: Row, hands: Array, found: Int, rules: Row, order: Array, at: Int) -> None:
    """Cards next to the one that failed do no better than it by more than their points differ: some need no trial.

    To play one of two neighbours and keep the other, or the reverse, is the same play with the two exchanged.
    """
    card, first_side = np.int64(node["card"]), rules["team"][node["seat"]] == 0
    between = in_play(node, hands) & ~hands[node["seat"]]
    place = at
    while place < at + node["untried"]:
        other = order[np.uint64(place)] & CARD
        low, high = min(card, other), max(card, other)
        change = np.int64(rules["points"][high]) - np.int64(rules["points"][low])
        reach = found + change if first_side else found - change
        alike = (
            rules["above"][low] & bit(high) != ZERO and rules["above"][low] & ~rules["above"][high] & between == ZERO
        )
        if alike and (reach < node["need"]) == first_side and change >= 0:
            node["best"] = max(node["best"], reach) if first_side else min(node["best"], reach)
            node["untried"] -= 1
            order[np.uint64(place)] = order[np.uint64(at + node["untried"])]
        else:
            place += 1


@inline
def take_back(node: Row, hands: Array, rules: Row, found: Int, order: Array, at: Int) -> Bool:
    """The value behind the card just tried is known; whether that decides the node."""
    hands[node["seat"]] |= bit(node["card"])
    found += np.int64(node["gain"])
    if rules["team"][node["seat"]] == 0:
        if found > node["best"]:
            node["best"], node["tabled"] = found, node["card"]
        good = found >= node["need"]
    else:
        if found < node["best"]:
            node["best"], node["tabled"] = found, node["card"]
        good = found < node["need"]
    if not good and node["untried"] > 0:
        drop_alike(node, hands, found, rules, order, at)
    return good or node["untried"] == 0


@jit
def search(desk: Desk, rules: Row, need: Int) -> Int:
    """A bound on the value of nodes[0]: a lower one if it is `need` or more, else an upper one."""
    nodes, hands, order = uncounted(desk.nodes), uncounted(desk.hands), uncounted(desk.order)
    facts, canonical, table = uncounted(desk.facts), uncounted(desk.canonical), uncounted(desk.table)
    desk = Desk(facts, nodes, hands, canonical, table, uncounted(desk.weights), order)
    nodes[0]["need"] = need
    ply, found, entered, card = 0, UNKNOWN, 0, 0
    while True:
        node, at = nodes[np.uint64(ply)], ply * WIDTH
        if found == UNKNOWN:
            entered += 1
            if node["size"] == 0:
                found = known(node, desk, rules)
            if found == UNKNOWN:
                card = open_node(node, desk, rules, at)
                if card == NONE:
                    found = np.int64(node["best"])
        elif take_back(node, hands, rules, found, order, at):
            found = np.int64(node["best"])
            if node["size"] == 0 and popcount(hands[node["seat"]]) >= TABLED_TRICKS:
                keep(node, found, facts[0], table)
        else:
            card, found = take_first(order, at, node["untried"]), UNKNOWN
            node["untried"] -= 1
        if found == UNKNOWN:
            try_card(node, nodes[np.uint64(ply + 1)], hands, rules, card)
            ply += 1
        elif ply == 0:
            facts[0]["nodes"] += entered
            return found
        else:
            ply -= 1


@inline
def first_card(node: Row, desk: Desk, rules: Row) -> Int:
    """The card that is looked at first where nothing is known."""
    hands, weights, order = desk.hands, desk.weights, desk.order
    seat = node["seat"]
    if node["size"] == 0:
        return take_first(order, 0, order_leads(node, hands, hands[seat], rules, weights, order, 0))
    cards = legal_cards(node, rules, hands[seat], seat)
    return take_first(order, 0, order_follows(node, hands, cards, rules, weights, order, 0))


@jit
def guess(desk: Desk, rules: Row) -> Int:
    """What side 0 takes from nodes[0] when everybody plays the card that is looked at first."""
    nodes, hands = desk.nodes, desk.hands
    ply, points = 0, np.int64(0)
    while hands[nodes[ply]["seat"]] != ZERO:
        card = first_card(nodes[ply], desk, rules)
        try_card(nodes[ply], nodes[ply + 1], hands, rules, card)
        points += np.int64(nodes[ply]["gain"])
        ply += 1
    while ply > 0:
        ply -= 1
        hands[nodes[ply]["seat"]] |= bit(nodes[ply]["card"])
    return points


@jit
def value(desk: Desk, rules: Row, near: Int, step: Int) -> Int:
    """The value of nodes[0], looked for from `near` on, in steps that grow until it is passed and shrink again."""
    lower, upper, need = np.int64(0), np.int64(desk.nodes[0]["left"]), np.int64(near)
    passed_up, passed_down = False, False
    while lower < upper:
        need = min(max(need, lower + 1), upper)
        found = search(desk, rules, need)
        if found >= need:
            lower, passed_up = found, True
        else:
            upper, passed_down = found, True
        if passed_up and passed_down:
            step = max((upper - lower) // 2, 1)
        need = lower + step if found >= need else upper - step + 1
        step += step
    return lower
