"""Calls: what the heuristic does besides playing cards: new deals, bids, trump, statements (RULES 1.6.2, 3.5, 3.6).

Enters: one row of VIEW, the rule set's TABLE record. Leaves: what each legal call is worth, in points of a hand up to a
constant. It rests on one estimate, the points that a hand brings its side with a given trump, which was fitted to hands
that the heuristic played out on all seats (docs/LOG.md).
"""

from __future__ import annotations

from math import erf, exp, pi, sqrt
from typing import Any

import numpy as np

from malilla_env.compiled import Array, Int, Row, Word, jit, lowest, popcount
from malilla_env.engine import next_seat
from malilla_env.phases import AGREES, ASKS, PASS, REFUSES, named_card
from malilla_env.state import ASK, BID, CONSENT, NAME, NONE, ONE, TALK, ZERO, bit
from malilla_env.table import MAX_OTHERS

Real = Any  # a float, for the reader

# What a hand brings its side, in points above an even share, in a game of CARD_POINTS.
CARD_POINTS = 60
BASE = -11.25
TRUMP, LONG_TRUMP = 0.81, 0.9  # each trump; each beyond the third
TRUMP_TOPS = np.array([5.28, 3.04, 1.75, 1.13, 0.59])  # a suit's cards from the highest
TOPS = np.array([4.15, 1.08])
SHORT = np.array([1.8, 0.67, 0.17])  # a side suit of no, one, two cards, for each trump up to three
LONG = -1.5  # each card of a side suit beyond the fifth
# The turned-up card in the partner's hand, in my own, in an opponent's; and each of its points.
TURNED_PARTNER, TURNED_MINE = 1.22, 0.45
TURNED_PARTNER_POINT, TURNED_THEIRS_POINT = 0.9, -0.49
# Of all deals: what the dealer's side makes of the turned-up card.
DEALER = 1.8
# Standard deviation of the points of a hand about its estimate, were it of one trick.
LUCK = 29.4
# What a bidder expects at the least, and for each point of the bid.
TOLD, TOLD_POINT = 6.0, 0.3
# How far above the neutral half a later opponent goes, its standard deviation, and where the bids usually end.
RIVAL, RIVAL_SPREAD, USUAL = 8.0, 4.5, 9.3
# What it tells that the partner asks for a new deal.
ASKED = 3.5
# What it brings to say that I hold the highest card of a side suit; what other statements cost.
SAID = 1.0


# --- what a hand is worth
@jit
def scale(rules: Row) -> Real:
    return rules["total_points"] / CARD_POINTS


@jit
def expected_points(rules: Row, hand: Word, trump: Int) -> Real:
    """What a hand is expected to bring its side with this trump, in points above an even share."""
    trumps = popcount(hand & rules["suit_mask"][trump])
    points = BASE + TRUMP * trumps + LONG_TRUMP * max(0, trumps - 3)
    for suit in range(4):
        cards = hand & rules["suit_mask"][suit]
        if suit == trump:
            points += tops_held(rules, cards, suit, TRUMP_TOPS)
        else:
            points += tops_held(rules, cards, suit, TOPS)
            points += LONG * max(0, popcount(cards) - 5)
            if popcount(cards) < len(SHORT):
                points += SHORT[popcount(cards)] * min(trumps, 3)
    return points * scale(rules)


@jit
def tops_held(rules: Row, cards: Word, suit: Int, worth: Array) -> Real:
    """The worth of those of a suit's highest cards that are held."""
    top, points = (suit + 1) * np.int64(rules["ranks"]) - 1, 0.0
    for place in range(len(worth)):
        if place < rules["ranks"] and cards & bit(top - place) != ZERO:
            points += worth[place]
    return points


# --- 1.6.2 a new deal
@jit
def score_keeping(view: Row, rules: Row) -> Real:
    """What this deal is expected to bring my side more than a new one by the same dealer, its bonus included."""
    dealt, team = view["dealer"], rules["team"][view["seat"]]
    points, turned = 0.0, np.int64(view["turned_card"])
    points = expected_points(rules, view["hand"], view["trump"])
    if turned == NONE:
        return points
    value = np.float64(rules["points"][turned])
    side = 1.0 if rules["team"][dealt] == team else -1.0
    if dealt == view["seat"]:
        points += TURNED_MINE * scale(rules)
    elif side > 0.0:
        points += (TURNED_PARTNER + TURNED_PARTNER_POINT * value) * scale(rules)
    else:
        points += TURNED_THEIRS_POINT * value * scale(rules)
    bonus = value - mean_value(rules) if rules["dealer_bonus"] else 0.0
    return points + side * (bonus - DEALER * scale(rules))


@jit
def mean_value(rules: Row) -> Real:
    """Points of a card, on average."""
    total = 0.0
    for place in range(rules["num_cards"]):
        total += rules["points"][rules["deck"][place]]
    return total / rules["num_cards"]


# --- 3.6 the auction
@jit
def contract(rules: Row, expected: Real, bid: Int) -> Real:
    """What a bid is expected to bring the side that made it and expects so many points above an even share."""
    spread = LUCK / sqrt(np.float64(rules["num_tricks"])) * scale(rules)
    need = bid - np.float64(rules["neutral"])
    limit = (need - 0.5 - expected) / spread
    made = 0.5 - 0.5 * erf(limit / sqrt(2.0))
    density = exp(-0.5 * limit * limit) / sqrt(2.0 * pi)
    return expected * made + spread * density - need * (1.0 - made)


@jit
def score_bids(view: Row, rules: Row, scores: Array) -> None:
    """A bid is worth what it brings if it stands, and what follows if an opponent goes higher."""
    team, best = rules["team"][view["seat"]], -np.inf
    for suit in range(4):
        best = max(best, expected_points(rules, view["hand"], suit))
    rivals, partners, seat = 0, 0, np.int64(view["seat"])
    while seat != view["dealer"]:
        seat = next_seat(seat, rules)
        rivals += rules["team"][seat] != team
        partners += rules["team"][seat] == team
    later = rivals + partners
    if view["bidder"] == NONE:
        scores[PASS] = outbid(rules, raised(rules, 0.0, later), partners) if rivals > 0 else 0.0
    elif rules["team"][view["bidder"]] == team:
        scores[PASS] = partners_bid(rules, view["bid"], rivals, later)
    else:
        scores[PASS] = outbid(rules, view["bid"], partners)
    calls = view["legal"][1] & ~bit(PASS)
    while calls != ZERO:
        call = lowest(calls)
        calls &= calls - ONE
        bid = rules["neutral"] + 1 + call - rules["bid_at"]
        stands = stand(rules, bid) ** rivals
        above = outbid(rules, raised(rules, bid, later), partners)
        scores[call] = stands * contract(rules, best, bid) + (1.0 - stands) * above


@jit
def raised(rules: Row, bid: Real, later: Int) -> Real:
    """The bid that goes above another: the last to speak need not bid high."""
    usual = rules["neutral"] + USUAL * scale(rules)
    return max(bid + 1.0, rules["neutral"] + 1.0 if later == 1 else usual)


@jit
def stand(rules: Row, bid: Real) -> Real:
    """The chance that a later opponent does not go higher."""
    above = (bid - rules["neutral"]) / scale(rules) - RIVAL
    return 0.5 + 0.5 * erf(above / RIVAL_SPREAD / sqrt(2.0))


@jit
def told(rules: Row, bid: Real) -> Real:
    """What a bidder may be taken to expect."""
    return TOLD * scale(rules) + TOLD_POINT * (bid - rules["neutral"])


@jit
def partners_bid(rules: Row, bid: Real, rivals: Int, later: Int) -> Real:
    """What my partner's bid brings, so many opponents still to come."""
    stands = stand(rules, bid) ** rivals
    made = contract(rules, told(rules, bid), bid)
    if rivals == 0:
        return made
    return stands * made + (1.0 - stands) * outbid(rules, raised(rules, bid, later), 0)


@jit
def outbid(rules: Row, bid: Real, partners: Int) -> Real:
    """What an opponent's bid brings my side; a partner still to come may go higher."""
    theirs = -contract(rules, told(rules, bid), bid)
    if partners == 0:
        return theirs
    ours = contract(rules, told(rules, bid + 1.0), bid + 1.0)
    return stand(rules, bid) * theirs + (1.0 - stand(rules, bid)) * ours


# --- choosing
@jit
def score_calls(view: Row, rules: Row, scores: Array) -> None:
    """Write what each legal call is worth, in points up to a constant; calls are counted from the first of them."""
    phase = view["phase"]
    if phase == ASK:
        scores[PASS] = score_keeping(view, rules)
        if view["legal"][1] & bit(rules["ask_at"] + ASKS) != ZERO:
            scores[rules["ask_at"] + ASKS] = 0.0
    elif phase == CONSENT:
        scores[rules["ask_at"] + REFUSES] = score_keeping(view, rules) + ASKED * scale(rules)
        scores[rules["ask_at"] + AGREES] = 0.0
    elif phase == BID:
        score_bids(view, rules, scores)
    elif phase == NAME:
        for suit in range(4):
            scores[rules["name_at"] + suit] = expected_points(rules, view["hand"], suit)
    elif phase == TALK:
        score_statements(view, rules, scores)


@jit
def score_statements(view: Row, rules: Row, scores: Array) -> None:
    """The highest card of a side suit, until it is known: the partner plays to it. All else helps opponents more."""
    calls, known = view["legal"][1], view["shown"][view["seat"]]
    while calls != ZERO:
        call = lowest(calls)
        calls &= calls - ONE
        suit = (call - rules["card_at"]) % 4
        tells = rules["card_at"] <= call < rules["card_at"] + 4 and suit != view["trump"]
        new = tells and known & bit(named_card(rules, 0, suit)) == ZERO
        scores[call] = SAID if new else 0.0 if call == PASS else -SAID


@jit
def best_call(view: Row, rules: Row) -> Int:
    """The legal call of the highest score, the lowest of equals, as an action id."""
    scores = np.full(MAX_OTHERS, -np.inf)
    score_calls(view, rules, scores)
    return 4 * np.int64(rules["ranks"]) + np.argmax(scores)
