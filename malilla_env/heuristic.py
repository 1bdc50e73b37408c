"""The heuristic: a rule player that counts cards and searches nothing.

Enters: one row of VIEW, the rule set's TABLE record, the weights. Leaves: an action. It scores each legal card by what
the trick is expected to bring, the duties of those who play later considered, and by the worth of the cards it keeps.
What it knows is named in IDEAS; each can be left out, and is kept because it gains (docs/LOG.md).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from malilla_env.compiled import Int, Row, Word, jit, lowest, popcount
from malilla_env.engine import NONE, ONE, ZERO, bit, next_seat, nth_legal, num_legal, wins_over
from malilla_env.rules import MAX_CARDS, MAX_SEATS

Real = Any  # a float, for the reader


class Idea(NamedTuple):
    """One thing the heuristic knows, its weights, and what they say; without it the weights are 0."""

    name: str
    meaning: str
    weights: dict[str, float]


# What a trick is expected to bring is counted in points; the worth of cards kept, in tricks of average points.
IDEAS = (
    Idea("holdings", "a seat does not hold what its own plays rule out", {"holdings": 1.0}),
    Idea("duties", "a later opponent who can beat the best card must", {"duties": 1.0}),
    Idea("ruffs", "a later opponent void in the led suit must trump", {"ruffs": 1.0}),
    Idea(
        "partner",
        "a later partner adds its best points to a trick that is ours: playing last surely, before that this often",
        {"partner": 0.43, "partner_early": 0.73, "partner_void": 2.2},
    ),
    Idea("load", "my points in a trick that is ours are won", {"load": 1.0}),
    Idea("starve", "my points in a trick that is theirs are lost", {"starve": 1.0}),
    Idea(
        "winners",
        "keep cards with few above them; best ones the more, the earlier",
        {"rank": 0.68, "top": 0.09, "top_early": 0.52},
    ),
    Idea("malilla", "keep the points of a suit's best card until they are safe", {"top_points": 0.17}),
    Idea("ruffed", "a winner is worth less while others hold trumps, so draw them", {"ruffed": 0.69}),
    Idea("guards", "keep low cards beside points that can be beaten", {"unguarded": 0.29}),
    Idea("high trumps", "keep trumps with few above them", {"trump_rank": 2.35}),
    Idea(
        "save trumps",
        "keep trumps: the more, the earlier, the more I have, the fewer the others have",
        {"trump": 0.46, "trump_early": 0.65, "trump_long": 0.08, "trump_out": 0.52},
    ),
    Idea(
        "short suits",
        "holding trumps, be void or short in the side suits",
        {"void": 0.22, "single": -0.26, "double": -0.2},
    ),
)
WEIGHTS = np.dtype([(name, "f8") for idea in IDEAS for name in idea.weights])

# What a player reckons of the others before it chooses: chances by seat and card, by seat and suit, by team and card.
RECKONING = np.dtype(
    [
        ("unseen", "u8"),
        ("threats", "u8"),  # unseen cards that an opponent may hold
        ("holds", "f8", (MAX_SEATS, MAX_CARDS)),  # that a seat holds a card
        ("none_above", "f8", (MAX_SEATS, MAX_CARDS)),  # that it holds no higher card of the suit
        ("none_below", "f8", (MAX_SEATS, MAX_CARDS)),
        ("low_points", "f8", (MAX_SEATS, MAX_CARDS)),  # expected of its lowest card below
        ("void", "f8", (MAX_SEATS, 4)),
        ("lowest", "f8", (MAX_SEATS, 4)),  # expected points of its lowest card of a suit
        ("highest", "f8", (MAX_SEATS, 4)),
        ("wins", "f8", (MAX_SEATS, MAX_CARDS)),  # that a team's card is winning the trick
        ("takes", "f8", (MAX_SEATS, MAX_CARDS)),  # the points that then lie in it, times that chance
    ],
    align=True,
)


# --- what others may hold
@jit
def reckon(view: Row, rules: Row, weights: Row, r: Row) -> None:
    """Chances of the others' cards: an unseen card lies with one who may hold it, by the sizes of hands."""
    seen = view["hand"]
    for seat in range(MAX_SEATS):
        seen |= view["played_by"][seat]
    r["unseen"] = rules["deck_mask"] & ~seen
    for seat in range(MAX_SEATS):
        for card in range(4 * rules["ranks"]):
            r["holds"][seat, card] = 0.0
    cards = r["unseen"]
    while cards != ZERO:
        share_out(view, rules, weights, r, lowest(cards))
        cards &= cards - ONE
    r["threats"] = ZERO
    for seat in range(rules["num_seats"]):
        if rules["team"][seat] != rules["team"][view["seat"]]:
            r["threats"] |= r["unseen"] & (~ZERO if weights["holdings"] == 0.0 else ~view["cannot_hold"][seat])
        if seat != view["seat"]:
            for suit in range(4):
                count_down(rules, r, seat, suit)
                count_up(rules, r, seat, suit)


@jit
def share_out(view: Row, rules: Row, weights: Row, r: Row, card: Int) -> None:
    places = 0
    for seat in range(rules["num_seats"]):
        if may_hold(view, weights, seat, card):
            places += view["hand_sizes"][seat]
    for seat in range(rules["num_seats"]):
        if may_hold(view, weights, seat, card):
            r["holds"][seat, card] = view["hand_sizes"][seat] / places


@jit
def may_hold(view: Row, weights: Row, seat: Int, card: Int) -> bool:
    if seat == view["seat"]:
        return False
    return bool(weights["holdings"] == 0.0 or view["cannot_hold"][seat] & bit(card) == ZERO)


@jit
def count_down(rules: Row, r: Row, seat: Int, suit: Int) -> None:
    """From the top of a suit: the chance of holding none higher, and what the highest card counts."""
    none, points = 1.0, 0.0
    first = suit * np.int64(rules["ranks"])
    for place in range(rules["ranks"]):
        card = first + rules["ranks"] - 1 - place
        r["none_above"][seat, card] = none
        points += none * r["holds"][seat, card] * rules["points"][card]
        none *= 1.0 - r["holds"][seat, card]
    r["void"][seat, suit], r["highest"][seat, suit] = none, points


@jit
def count_up(rules: Row, r: Row, seat: Int, suit: Int) -> None:
    """From the bottom of a suit: the chance of holding none lower, and what the lowest card counts."""
    none, points = 1.0, 0.0
    first = suit * np.int64(rules["ranks"])
    for card in range(first, first + rules["ranks"]):
        r["none_below"][seat, card], r["low_points"][seat, card] = none, points
        points += none * r["holds"][seat, card] * rules["points"][card]
        none *= 1.0 - r["holds"][seat, card]
    r["lowest"][seat, suit] = points


# --- what the trick brings
@jit
def forecast(view: Row, rules: Row, weights: Row, r: Row, card: Int) -> Real:
    """Points that the trick is expected to bring my side, less those of the others, if I play a card to it."""
    team = rules["team"][view["seat"]]
    led = led_with(view, rules, card)
    lay(view, rules, r, card, led)
    seat = np.int64(view["seat"])
    later = rules["num_seats"] - view["trick_size"] - 1
    for place in range(later):
        seat = next_seat(seat, rules)
        respond(view, rules, weights, r, seat, led, place == later - 1)
    ours, points, lost = 0.0, 0.0, 0.0
    for suit in range(4):
        if suit == led or suit == view["trump"]:
            for at in range(suit * np.int64(rules["ranks"]), (suit + 1) * np.int64(rules["ranks"])):
                ours += r["wins"][team, at]
                points += r["takes"][team, at]
                for other in range(rules["num_teams"]):
                    if other != team:
                        lost += r["takes"][other, at]
    others = rules["num_teams"] - 1
    brought = points + ours * rules["trick_points"] - (lost + (1.0 - ours) * rules["trick_points"]) / others
    return brought + rules["points"][card] * (weights["load"] * ours - weights["starve"] * (1.0 - ours) / others)


@jit
def led_with(view: Row, rules: Row, card: Int) -> Int:
    """The suit led to the trick once a card is played to it."""
    return np.int64(rules["suit"][card]) if view["trick_size"] == 0 else np.int64(view["led_suit"])


@jit
def lay(view: Row, rules: Row, r: Row, card: Int, led: Int) -> None:
    """The trick with my card in it: who is winning, and what lies there besides."""
    for team in range(rules["num_teams"]):
        for suit in range(4):
            if suit == led or suit == view["trump"]:
                for at in range(suit * np.int64(rules["ranks"]), (suit + 1) * np.int64(rules["ranks"])):
                    r["wins"][team, at] = r["takes"][team, at] = 0.0
    best, seat = card, view["seat"]
    if view["trick_size"] > 0 and not wins_over(view, rules, card):
        best, seat = np.int64(view["best_card"]), view["best_seat"]
    r["wins"][rules["team"][seat], best] = 1.0
    cards = view["trick_cards"]
    while cards != ZERO:
        r["takes"][rules["team"][seat], best] += rules["points"][lowest(cards)]
        cards &= cards - ONE


@jit
def respond(view: Row, rules: Row, weights: Row, r: Row, seat: Int, led: Int, last: bool) -> None:
    """What a later seat does to the trick, whoever is winning it by then."""
    gift = partner_adds(rules, weights, r, seat, led, last)
    trump = np.int64(view["trump"])
    plain = trump != NONE and trump != led
    ruffs = r["void"][seat, led] if plain and weights["ruffs"] > 0.0 else 0.0
    chance, points = follow(rules, weights, r, seat, led, gift, ruffs, trump)
    if plain:
        ruff(rules, r, seat, led, trump, gift, ruffs, chance, points)


@jit
def partner_adds(rules: Row, weights: Row, r: Row, seat: Int, led: Int, last: bool) -> Real:
    """Points that a seat is expected to add to a trick its partner is winning."""
    loads = weights["partner"] if last else weights["partner_early"]
    points = loads * r["highest"][seat, led] + (1.0 - loads) * r["lowest"][seat, led]
    return points + r["void"][seat, led] * loads * weights["partner_void"]


@jit
def follow(
    rules: Row, weights: Row, r: Row, seat: Int, led: Int, gift: Real, ruffs: Real, trump: Int
) -> tuple[Real, Real]:
    """A later seat against winning cards of the led suit, lowest first: it beats them with its lowest higher card.

    Returns the chance, and the points, of tricks that it meets void and must trump.
    """
    team = rules["team"][seat]
    beats, points, void, void_points = 0.0, 0.0, 0.0, 0.0
    first = led * np.int64(rules["ranks"])
    for card in range(first, first + rules["ranks"]):
        share = r["holds"][seat, card]
        won, won_points = share * beats, share * (points + beats * rules["points"][card])
        beats -= won
        points -= share * points
        for winner in range(rules["num_teams"]):
            chance, value = r["wins"][winner, card], r["takes"][winner, card]
            if chance == 0.0:
                continue
            if winner == team and not rules["climb"]:
                r["takes"][winner, card] += chance * gift
                continue
            stays, low = under(weights, r, seat, led, card)
            if weights["duties"] > 0.0:
                beats += chance
                points += value
            void += chance * ruffs
            void_points += value * ruffs
            stays += r["void"][seat, led] - ruffs
            if ruffs > 0.0:
                stays += ruffs * r["void"][seat, trump]
            r["wins"][winner, card] = chance * stays
            r["takes"][winner, card] = value * stays + chance * low
        r["wins"][team, card] += won
        r["takes"][team, card] += won_points
    return void, void_points


@jit
def under(weights: Row, r: Row, seat: Int, led: Int, card: Int) -> tuple[Real, Real]:
    """The chance that a seat follows suit below a card because it must, and the points so added."""
    if weights["duties"] == 0.0:
        return 1.0 - r["void"][seat, led], r["lowest"][seat, led]
    none = r["none_above"][seat, card]
    return none * (1.0 - r["none_below"][seat, card]), none * r["low_points"][seat, card]


@jit
def ruff(
    rules: Row, r: Row, seat: Int, led: Int, trump: Int, gift: Real, ruffs: Real, beats: Real, points: Real
) -> None:
    """A later seat void in the led suit trumps, with its lowest trump that wins."""
    team = rules["team"][seat]
    first = trump * np.int64(rules["ranks"])
    for card in range(first, first + rules["ranks"]):
        share = r["holds"][seat, card]
        won, won_points = share * beats, share * (points + beats * rules["points"][card])
        beats -= won
        points -= share * points
        for winner in range(rules["num_teams"]):
            chance, value = r["wins"][winner, card], r["takes"][winner, card]
            if chance == 0.0:
                continue
            if winner == team and not rules["climb"]:
                r["takes"][winner, card] += chance * gift
                continue
            beats += chance * ruffs
            points += value * ruffs
            stays = 1.0 - ruffs + ruffs * r["none_above"][seat, card]
            r["wins"][winner, card] = chance * stays
            r["takes"][winner, card] = value * stays + chance * r["lowest"][seat, led]
        r["wins"][team, card] += won
        r["takes"][team, card] += won_points


# --- what the cards kept are worth
@jit
def worth(view: Row, rules: Row, weights: Row, r: Row, kept: Word, drawn: Real) -> Real:
    """Worth of a hand for the tricks to come, in points, up to a constant; `drawn` trumps are about to fall."""
    trumps, out = ZERO, 0.0
    if view["trump"] != NONE:
        trumps = kept & rules["suit_mask"][view["trump"]]
        out = max(0.0, popcount(r["threats"] & rules["suit_mask"][view["trump"]]) - drawn)
    danger = min(1.0, out / rules["num_seats"])
    early = popcount(kept) / rules["hand_size"]
    tricks = trump_worth(rules, weights, r, trumps, danger, early)
    points = 0.0
    for suit in range(4):
        if suit != view["trump"]:
            cards = kept & rules["suit_mask"][suit]
            tricks += winners_worth(rules, weights, r, cards, danger, early)
            points += points_worth(rules, weights, r, cards)
            if trumps != ZERO and r["unseen"] & rules["suit_mask"][suit] != ZERO:
                tricks += short_worth(weights, popcount(cards))
    return tricks * rules["total_points"] / rules["hand_size"] + points


@jit
def trump_worth(rules: Row, weights: Row, r: Row, cards: Word, danger: Real, early: Real) -> Real:
    number = popcount(cards)
    tricks = number * (weights["trump"] + weights["trump_early"] * early - weights["trump_out"] * danger)
    tricks += number * number * weights["trump_long"]
    while cards != ZERO:
        tricks += weights["trump_rank"] / (1.0 + popcount(r["threats"] & rules["above"][lowest(cards)]))
        cards &= cards - ONE
    return tricks


@jit
def winners_worth(rules: Row, weights: Row, r: Row, cards: Word, danger: Real, early: Real) -> Real:
    """Of a side suit's cards: those with few above them, the best ones above all while nobody can trump them."""
    tricks = 0.0
    while cards != ZERO:
        above = popcount(r["threats"] & rules["above"][lowest(cards)])
        tricks += weights["rank"] / (1.0 + above)
        if above == 0:
            tricks += weights["top"] + weights["top_early"] * early - weights["ruffed"] * danger
        cards &= cards - ONE
    return tricks


@jit
def points_worth(rules: Row, weights: Row, r: Row, cards: Word) -> Real:
    """Of a side suit's points: the best card's are mine; those with too few low cards beside them are in danger."""
    points, lower = 0.0, 0
    while cards != ZERO:
        card = lowest(cards)
        above = popcount(r["threats"] & rules["above"][card])
        if above == 0:
            points += weights["top_points"] * rules["points"][card]
        elif lower < above:
            points -= weights["unguarded"] * rules["points"][card]
        lower += 1
        cards &= cards - ONE
    return points


@jit
def short_worth(weights: Row, length: Int) -> Real:
    if length == 0:
        return weights["void"]
    if length == 1:
        return weights["single"]
    return weights["double"] if length == 2 else 0.0


# --- choosing
@jit
def score(view: Row, rules: Row, weights: Row, r: Row, card: Int) -> Real:
    """What playing a card is worth, in points, up to a constant."""
    drawn = 0.0
    if led_with(view, rules, card) == view["trump"]:
        seat = np.int64(view["seat"])
        for _ in range(rules["num_seats"] - view["trick_size"] - 1):
            seat = next_seat(seat, rules)
            drawn += 1.0 - r["void"][seat, view["trump"]]
    return forecast(view, rules, weights, r, card) + worth(view, rules, weights, r, view["hand"] & ~bit(card), drawn)


@jit
def same_as(view: Row, rules: Row, r: Row, card: Int, other: Int) -> bool:
    """Whether a lower card of mine does whatever this one does: no points or cards of others lie between them."""
    if rules["suit"][card] != rules["suit"][other] or rules["points"][card] != rules["points"][other]:
        return False
    between = rules["above"][other] & ~rules["above"][card] & ~bit(card)
    return bool((r["unseen"] | view["trick_cards"]) & between == ZERO)


@jit
def best_card(view: Row, rules: Row, weights: Row, r: Row) -> Int:
    """The legal card of the highest score, the lowest of equals."""
    cards = view["legal"][0]
    reckon(view, rules, weights, r)
    best, best_score, last = NONE, -np.inf, NONE
    while cards != ZERO:
        card = lowest(cards)
        cards &= cards - ONE
        if last == NONE or not same_as(view, rules, r, card, last):
            value = score(view, rules, weights, r, card)
            if value > best_score:
                best, best_score = card, value
        last = card
    return best


@jit
def choose(view: Row, rules: Row, weights: Row, r: Row) -> Int:
    if num_legal(view) == 0:
        return 0
    if view["legal"][0] == ZERO or num_legal(view) == 1:
        return nth_legal(view, rules, 0)
    return best_card(view, rules, weights, r)
