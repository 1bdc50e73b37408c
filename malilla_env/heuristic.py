"""The heuristic: a rule player that counts cards and searches nothing.

Enters: one row of VIEW, the rule set's TABLE record, the weights. Leaves: an action. It scores each legal card by what
the trick is expected to bring, the duties of those who play later considered, and by the worth of the cards it keeps.
What it knows is named in `weights.py`; each idea can be left out, and is kept because it gains (docs/LOG.md). What it
does besides playing cards is in `calls.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from malilla_env.compiled import Array, Int, Row, Word, jit, lowest, popcount
from malilla_env.engine import next_seat, nth_legal, num_legal
from malilla_env.phases import is_counted
from malilla_env.state import NONE, ONE, ZERO, bit
from malilla_env.table import MAX_CARDS, MAX_SEATS
from malilla_env.tricks import beating

Real = Any  # a float, for the reader
LEAD, FOLLOW = 0, 1  # places of the weights


# What a player reckons before it chooses: chances by seat and card, by seat and suit, by team and card.
ODDS = np.dtype(
    [
        ("unseen", "u8"),
        ("threats", "u8"),  # unseen cards that an opponent may hold
        ("holds", "f8", (MAX_SEATS, MAX_CARDS)),  # that a seat holds a card
        ("none_above", "f8", (MAX_SEATS, MAX_CARDS)),  # that it holds no higher card of the suit
        ("none_below", "f8", (MAX_SEATS, MAX_CARDS)),
        ("low_points", "f8", (MAX_SEATS, MAX_CARDS)),  # expected of its lowest card below
        ("void", "f8", (MAX_SEATS, 4)),
        ("lowest", "f8", (MAX_SEATS, 4)),  # expected points of its lowest card of a suit
        ("ruffed", "f8", 4),  # that an opponent is void in a suit and holds a trump
        ("wins", "f8", (MAX_SEATS, MAX_CARDS)),  # that a team's card is winning the trick
        ("takes", "f8", (MAX_SEATS, MAX_CARDS)),  # the points that then lie in it, times that chance
    ],
    align=True,
)


# --- what others may hold
@jit
def reckon(view: Row, rules: Row, weights: Row, odds: Row) -> None:
    """The chances of the others' cards before I play."""
    seen = view["hand"]
    for seat in range(MAX_SEATS):
        seen |= view["played_by"][seat]
    odds["unseen"], odds["threats"] = rules["deck_mask"] & ~seen, ZERO
    spread(view, rules, weights, odds)
    team = rules["team"][view["seat"]]
    for suit in range(4):
        odds["ruffed"][suit] = 0.0
    for seat in range(rules["num_seats"]):
        if seat == view["seat"]:
            continue
        for suit in range(4):
            count_down(rules, odds, seat, suit)
            count_up(rules, odds, seat, suit)
        if rules["team"][seat] != team:
            odds["threats"] |= may_hold(view, weights, odds, seat)
            expect_ruffs(view, odds, seat)


@jit
def may_hold(view: Row, weights: Row, odds: Row, seat: Int) -> Word:
    """The unseen cards that another seat may hold, as far as I remember what its plays rule out."""
    return odds["unseen"] & ~view["cannot_hold"][seat] if weights["holdings"] > 0.0 else odds["unseen"]


@jit
def spread(view: Row, rules: Row, weights: Row, odds: Row) -> None:
    """Each unseen card lies with one of the seats that may hold it, or in the dead hand, by the sizes of the hands."""
    known = ZERO
    for seat in range(rules["num_seats"]):
        known |= view["shown"][seat]
    for card in range(4 * np.int64(rules["ranks"])):
        places = np.float64(rules["dead_cards"]) if known & bit(card) == ZERO else 0.0
        for seat in range(rules["num_seats"]):
            may = seat != view["seat"] and may_hold(view, weights, odds, seat) & bit(card) != ZERO
            odds["holds"][seat, card] = view["hand_sizes"][seat] if may else 0.0
            places += odds["holds"][seat, card]
        if places > 0.0:
            for seat in range(rules["num_seats"]):
                odds["holds"][seat, card] /= places
    if rules["talk"]:
        for seat in range(rules["num_seats"]):
            for suit in range(4):
                if seat != view["seat"] and is_counted(view, seat, suit):
                    heed_count(view, rules, weights, odds, seat, suit)


@jit
def heed_count(view: Row, rules: Row, weights: Row, odds: Row, seat: Int, suit: Int) -> None:
    """3.5: the cards of a suit that a seat has said to hold are its own, the others' chances less."""
    cards = may_hold(view, weights, odds, seat) & rules["suit_mask"][suit] & ~view["shown"][seat]
    left, expected, waiting = (
        view["counts"][seat, suit] - popcount(view["shown"][seat] & rules["suit_mask"][suit]),
        0.0,
        cards,
    )
    while waiting != ZERO:
        expected += odds["holds"][seat, lowest(waiting)]
        waiting &= waiting - ONE
    while cards != ZERO:
        card = lowest(cards)
        cards &= cards - ONE
        before = odds["holds"][seat, card]
        after = min(1.0, before * left / expected)
        for other in range(rules["num_seats"]):
            odds["holds"][other, card] *= (1.0 - after) / (1.0 - before) if before < 1.0 else 0.0
        odds["holds"][seat, card] = after


@jit
def count_down(rules: Row, odds: Row, seat: Int, suit: Int) -> None:
    """From the top of a suit: the chance of holding none higher."""
    none = 1.0
    first = suit * np.int64(rules["ranks"])
    for place in range(rules["ranks"]):
        card = first + rules["ranks"] - 1 - place
        odds["none_above"][seat, card] = none
        none *= 1.0 - odds["holds"][seat, card]
    odds["void"][seat, suit] = none


@jit
def count_up(rules: Row, odds: Row, seat: Int, suit: Int) -> None:
    """From the bottom of a suit: the chance of holding none lower, and what the lowest card counts."""
    none, points = 1.0, 0.0
    first = suit * np.int64(rules["ranks"])
    for card in range(first, first + rules["ranks"]):
        odds["none_below"][seat, card], odds["low_points"][seat, card] = none, points
        points += none * odds["holds"][seat, card] * rules["points"][card]
        none *= 1.0 - odds["holds"][seat, card]
    odds["lowest"][seat, suit] = points


@jit
def expect_ruffs(view: Row, odds: Row, opponent: Int) -> None:
    """One opponent more who may be void in a side suit and hold a trump."""
    if view["trump"] != NONE:
        trumps = 1.0 - odds["void"][opponent, view["trump"]]
        for suit in range(4):
            odds["ruffed"][suit] += (1.0 - odds["ruffed"][suit]) * odds["void"][opponent, suit] * trumps


# --- what the trick brings
@jit
def forecast(view: Row, rules: Row, weights: Row, odds: Row, card: Int) -> Real:
    """What the trick is expected to bring my side if I play a card to it, in points."""
    team = rules["team"][view["seat"]]
    led = led_with(view, rules, card)
    lay(view, rules, odds, card, led)
    seat = np.int64(view["seat"])
    later = rules["num_seats"] - view["trick_size"] - 1
    for _ in range(later):
        seat = next_seat(seat, rules)
        respond(view, rules, weights, odds, seat, led)
    ours, points = outcome(view, rules, odds, team, led)
    theirs, lost = 1.0 - ours, 0.0
    for other in range(rules["num_teams"]):
        if other != team:
            lost += outcome(view, rules, odds, other, led)[1]
    others = rules["num_teams"] - 1
    brought = points + ours * rules["trick_points"] - (lost + theirs * rules["trick_points"]) / others
    mine = weights["load"] * ours - weights["starve"] * theirs / others
    return weights["brought"] * brought + mine * rules["points"][card]


@jit
def led_with(view: Row, rules: Row, card: Int) -> Int:
    """The suit led to the trick once a card is played to it."""
    return np.int64(rules["suit"][card]) if view["trick_size"] == 0 else np.int64(view["led_suit"])


@jit
def lay(view: Row, rules: Row, odds: Row, card: Int, led: Int) -> None:
    """The trick with my card in it: who is winning, and what lies there besides my card."""
    for team in range(rules["num_teams"]):
        for suit in range(4):
            if suit == led or suit == view["trump"]:
                for at in range(suit * np.int64(rules["ranks"]), (suit + 1) * np.int64(rules["ranks"])):
                    odds["wins"][team, at] = odds["takes"][team, at] = 0.0
    best, seat = card, view["seat"]
    if view["trick_size"] > 0 and bit(card) & beating(rules, view["trump"], view["best_card"]) == ZERO:
        best, seat = np.int64(view["best_card"]), view["best_seat"]
    odds["wins"][rules["team"][seat], best] = 1.0
    cards = view["trick_cards"]
    while cards != ZERO:
        odds["takes"][rules["team"][seat], best] += rules["points"][lowest(cards)]
        cards &= cards - ONE


@jit
def outcome(view: Row, rules: Row, odds: Row, team: Int, led: Int) -> tuple[Real, Real]:
    """The chance that a team wins the trick, and the points it is expected to take."""
    wins, points = 0.0, 0.0
    for suit in range(4):
        if suit == led or suit == view["trump"]:
            for card in range(suit * np.int64(rules["ranks"]), (suit + 1) * np.int64(rules["ranks"])):
                wins += odds["wins"][team, card]
                points += odds["takes"][team, card]
    return wins, points


@jit
def respond(view: Row, rules: Row, weights: Row, odds: Row, seat: Int, led: Int) -> None:
    """What a later seat does to the trick, whoever is winning it by then."""
    trump = np.int64(view["trump"])
    plain = trump != NONE and trump != led
    ruffs = odds["void"][seat, led] if plain and weights["ruffs"] > 0.0 else 0.0
    chance, points = follow(rules, weights, odds, seat, led, ruffs, trump)
    if plain:
        ruff(rules, odds, seat, led, trump, ruffs, ruffs * chance, ruffs * points)


@jit
def beat(rules: Row, odds: Row, seat: Int, card: Int, chance: Real, points: Real) -> tuple[Real, Real]:
    """The seat beats with this card if it holds it; returns what is then left to beat with higher ones."""
    holds = odds["holds"][seat, card]
    odds["wins"][rules["team"][seat], card] += holds * chance
    odds["takes"][rules["team"][seat], card] += holds * (points + chance * rules["points"][card])
    return chance * (1.0 - holds), points * (1.0 - holds)


@jit
def to_beat(rules: Row, odds: Row, seat: Int, led: Int, winner: Int, card: Int) -> tuple[Real, Real]:
    """The chance that a card is winning for another side than a later seat's, and the points; a partner is fed."""
    wins = odds["wins"][winner, card]
    if wins != 0.0 and winner == rules["team"][seat] and not rules["climb"]:
        odds["takes"][winner, card] += wins * odds["lowest"][seat, led]
        return 0.0, 0.0
    return wins, odds["takes"][winner, card]


@jit
def follow(rules: Row, weights: Row, odds: Row, seat: Int, led: Int, ruffs: Real, trump: Int) -> tuple[Real, Real]:
    """A later seat against winning cards of the led suit, lowest first: it beats them with its lowest higher card.

    Returns the chance that opponents were winning with such a card, and the points.
    """
    chance, points, met, met_points = 0.0, 0.0, 0.0, 0.0
    discards = odds["void"][seat, led] - (ruffs * (1.0 - odds["void"][seat, trump]) if ruffs > 0.0 else 0.0)
    for card in range(led * np.int64(rules["ranks"]), (led + 1) * np.int64(rules["ranks"])):
        added, added_points = 0.0, 0.0
        for winner in range(rules["num_teams"]):
            wins, takes = to_beat(rules, odds, seat, led, winner, card)
            if wins == 0.0:
                continue
            under, low = follow_under(weights, odds, seat, led, card)
            odds["wins"][winner, card] = wins * (under + discards)
            odds["takes"][winner, card] = takes * (under + discards) + wins * low
            added, added_points = added + wins, added_points + takes
        chance, points = beat(rules, odds, seat, card, chance, points)
        chance, points = chance + added * weights["duties"], points + added_points * weights["duties"]
        met, met_points = met + added, met_points + added_points
    return met, met_points


@jit
def follow_under(weights: Row, odds: Row, seat: Int, led: Int, card: Int) -> tuple[Real, Real]:
    """The chance that a seat follows suit below a card because it must, and the points so added."""
    if weights["duties"] == 0.0:
        return 1.0 - odds["void"][seat, led], odds["lowest"][seat, led]
    none = odds["none_above"][seat, card]
    return none * (1.0 - odds["none_below"][seat, card]), none * odds["low_points"][seat, card]


@jit
def ruff(rules: Row, odds: Row, seat: Int, led: Int, trump: Int, ruffs: Real, chance: Real, points: Real) -> None:
    """A later seat void in the led suit trumps what it meets (`chance`, `points`), with its lowest trump that wins."""
    for card in range(trump * np.int64(rules["ranks"]), (trump + 1) * np.int64(rules["ranks"])):
        added, added_points = 0.0, 0.0
        for winner in range(rules["num_teams"]):
            wins, takes = to_beat(rules, odds, seat, led, winner, card)
            if wins == 0.0:
                continue
            stays = 1.0 - ruffs * (1.0 - odds["none_above"][seat, card])
            odds["wins"][winner, card] = wins * stays
            odds["takes"][winner, card] = takes * stays + wins * odds["lowest"][seat, led]
            added, added_points = added + wins * ruffs, added_points + takes * ruffs
        chance, points = beat(rules, odds, seat, card, chance, points)
        chance, points = chance + added, points + added_points


# --- what the cards kept are worth
@jit
def worth(view: Row, rules: Row, weights: Row, odds: Row, kept: Word, falling: Real) -> Real:
    """Worth of a hand for the tricks to come, in points, up to a constant; `falling` trumps of others are about to."""
    trumps, out = ZERO, 0.0
    if view["trump"] != NONE:
        trumps = kept & rules["suit_mask"][view["trump"]]
        out = max(0.0, popcount(odds["threats"] & rules["suit_mask"][view["trump"]]) - falling)
    early = (popcount(kept) + popcount(kept & view["covering"])) / rules["num_tricks"]
    free = max(0.0, 1.0 - out / (1.5 * rules["num_seats"]))  # of trumps against me
    tricks = trump_worth(rules, weights, odds, trumps, free, early)
    points = 0.0
    for suit in range(4):
        if suit != view["trump"]:
            cards = kept & rules["suit_mask"][suit]
            tricks += winners_worth(rules, weights, odds, cards, free, early, odds["ruffed"][suit])
            points += points_worth(rules, weights, odds, cards)
            if cards == ZERO and trumps != ZERO:
                tricks += weights["void"] * popcount(odds["unseen"] & rules["suit_mask"][suit])
    return tricks * rules["total_points"] / rules["num_tricks"] + points


@jit
def num_above(rules: Row, odds: Row, card: Int) -> Int:
    """How many cards against me beat this one in its suit."""
    return popcount(odds["threats"] & rules["above"][card])


@jit
def trump_worth(rules: Row, weights: Row, odds: Row, cards: Word, free: Real, early: Real) -> Real:
    each = weights["trump"] + weights["trump_early"] * early + weights["trump_free"] * free
    tricks = popcount(cards) * each
    while cards != ZERO:
        above = num_above(rules, odds, lowest(cards))
        tricks += weights["trump_rank"] / (1.0 + above) + (weights["trump_top"] if above == 0 else 0.0)
        cards &= cards - ONE
    return tricks


@jit
def winners_worth(rules: Row, weights: Row, odds: Row, cards: Word, free: Real, early: Real, ruffed: Real) -> Real:
    """Of a side suit's cards: those with few above them, the best ones above all."""
    tricks = 0.0
    best = weights["top"] + weights["top_early"] * early + weights["top_free"] * free + weights["top_ruffed"] * ruffed
    while cards != ZERO:
        above = num_above(rules, odds, lowest(cards))
        tricks += weights["rank"] / (1.0 + above) + (best if above == 0 else 0.0)
        cards &= cards - ONE
    return tricks


@jit
def points_worth(rules: Row, weights: Row, odds: Row, cards: Word) -> Real:
    """Of a side suit's points: the best card's, and those that lack low cards beside them."""
    points, lower = 0.0, 0
    while cards != ZERO:
        card = lowest(cards)
        above = num_above(rules, odds, card)
        if above == 0:
            points += weights["top_points"] * rules["points"][card]
        elif lower < above:
            points -= weights["unguarded"] * rules["points"][card]
        lower += 1
        cards &= cards - ONE
    return points


# --- what a lead says
@jit
def lead_worth(view: Row, rules: Row, weights: Row, odds: Row, card: Int) -> Real:
    """What speaks for and against leading a card besides the trick and the cards kept, in points."""
    suit = np.int64(rules["suit"][card])
    tricks = weights["spends"] * odds["wins"][rules["team"][view["seat"]], card]
    if suit != view["trump"]:
        above = odds["threats"] & rules["above"][card]
        if above == ZERO:
            tricks += weights["runs"] * popcount(odds["unseen"] & rules["suit_mask"][suit])
        elif view["hand"] & rules["above"][card] > above:  # as numbers: by their highest cards
            tricks += weights["from_under"]
    return tricks * rules["total_points"] / rules["num_tricks"]


# --- choosing
@jit
def score(view: Row, rules: Row, weights: Row, odds: Row, card: Int) -> Real:
    """What playing a card is worth, in points, up to a constant; `weights` are those for leading or for following."""
    falling = 0.0
    if led_with(view, rules, card) == view["trump"]:
        seat = np.int64(view["seat"])
        for _ in range(rules["num_seats"] - view["trick_size"] - 1):
            seat = next_seat(seat, rules)
            falling += 1.0 - odds["void"][seat, view["trump"]]
    points = forecast(view, rules, weights, odds, card)
    if view["trick_size"] == 0:
        points += lead_worth(view, rules, weights, odds, card)
    return points + worth(view, rules, weights, odds, view["hand"] & ~bit(card), falling)


@jit
def same_as(view: Row, rules: Row, odds: Row, card: Int, other: Int) -> bool:
    """Whether a lower card of mine does whatever this one does: no points or cards of others lie between them."""
    if rules["suit"][card] != rules["suit"][other] or rules["points"][card] != rules["points"][other]:
        return False
    if view["covering"] & (bit(card) | bit(other)) not in (ZERO, bit(card) | bit(other)):
        return False  # one of them uncovers a card
    between = rules["above"][other] & ~rules["above"][card] & ~bit(card)
    return bool((odds["unseen"] | view["trick_cards"]) & between == ZERO)


@jit
def best_play(view: Row, rules: Row, weights: Row, odds: Row) -> Int:
    """The legal card of the highest score, the lowest of equals."""
    reckon(view, rules, weights, odds)
    best, best_score, last = NONE, -np.inf, NONE
    cards = view["legal"][0]
    while cards != ZERO:
        card = lowest(cards)
        cards &= cards - ONE
        if last == NONE or not same_as(view, rules, odds, card, last):
            points = score(view, rules, weights, odds, card)
            if points > best_score:
                best, best_score = card, points
        last = card
    return best


@jit
def choose(view: Row, rules: Row, weights: Array, odds: Row) -> Int:
    """A card for a View, or the first call: 0 where nothing is legal; `weights` [2] as `weights_of` makes them."""
    if num_legal(view) == 0:
        return 0
    if view["legal"][0] == ZERO or num_legal(view) == 1:
        return nth_legal(view, rules, 0)
    return best_play(view, rules, weights[LEAD if view["trick_size"] == 0 else FOLLOW], odds)
