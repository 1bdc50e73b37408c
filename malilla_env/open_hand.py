"""Open-hand search: the exact value of a position in which all four hands are seen, two sides of partners opposite.

Enters: hands and a trick (a NODE), the rule set's TABLE record, a Desk to work at. Leaves: the points that side 0
takes from here, the cards on the table included, with best play of both sides. The rules are those of `tricks.py`: a
NODE has the fields that they read and write. `search` answers one question, whether side 0 takes so many; `value` asks
until the bounds meet. The arrays, and threads, are the matter of `solver.py`.

Alpha-beta with a window of one point (Pearl 1980, Scout; Plaat et al. 1996, MTD(f)); the bounds found at the start of a
trick are remembered (`transpositions.py`). Equal neighbours in one hand are one move, and neighbours that count
differently are almost one.
"""

from __future__ import annotations

import numpy as np

from malilla_env.compiled import Array, Bool, Int, Row, Word, inline, jit, lowest, popcount, uncounted
from malilla_env.ordering import AHEAD, CARD, order_follows, order_leads, take_first
from malilla_env.state import NONE, ONE, ZERO, bit
from malilla_env.table import MAX_CARDS
from malilla_env.transpositions import (
    UNKNOWN,
    Desk,
    cards_key,
    decided,
    keep,
    looked_up,
    recalled,
    rest_key,
    scattered,
    suit_key,
)
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

WIDTH = 16  # entries of the order that a ply has room for
TWO, FOUR, EIGHT = np.uint64(2), np.uint64(4), np.uint64(8)


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
def known(node: Row, desk: Desk, rules: Row) -> Int:
    """What is known of the start of a trick before any card is tried; UNKNOWN if it must be searched."""
    found = decided(np.int64(0), np.int64(node["left"]), node["need"])
    if found != UNKNOWN:
        return found
    if popcount(desk.hands[node["seat"]]) == 1:
        return last_trick(node, desk.hands, rules)
    return looked_up(node, rules, desk)


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
    tabled = popcount(hands[node["seat"]]) > 2  # what is known of a last trick is not kept
    whole = cards_key(held, rules, desk.orders)
    while rest != ZERO:
        card = lowest(rest)
        rest &= rest - ONE
        winner = node["seat"] if bit(card) & node["beating"] != ZERO else np.uint8(node["best_seat"])
        suit, out = np.int64(rules["suit"][card]), held & ~bit(card)
        value = trick_worth(np.int64(node["trick_value"]) + np.int64(rules["points"][card]), out, rules)
        gain = value if rules["team"][winner] == 0 else np.int64(0)
        need = np.int64(node["need"]) - gain
        found = decided(np.int64(0), np.int64(node["left"]) - value, need)
        if found == UNKNOWN and tabled:
            locked = node["locked"]
            if rules["protected"] == PROTECTED_PLAYED:
                locked &= ~rules["suit_mask"][suit]
            key = whole & ~rules["suit_mask"][suit] | suit_key(out, suit, rules, desk.orders)
            key = scattered(key | rest_key(out, locked, winner, rules), facts["key_bits"])
            found = recalled(key, out, need, rules, desk)
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
    facts, orders, worths = uncounted(desk.facts), uncounted(desk.orders), uncounted(desk.worths)
    desk = Desk(facts, nodes, hands, orders, worths, uncounted(desk.table), uncounted(desk.weights), order)
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
            if node["size"] == 0:
                keep(node, found, rules, desk)
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
