"""TABLE: a rule set as one record of numbers and masks, for the compiled engine.

Enters: a RuleSet, checked. Leaves: a read-only structured array of one row. What the rules of a trick, a deal or a
count look up is here once for all, so that the engine asks no rule set what it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from malilla_env.cards import mask_of

if TYPE_CHECKING:
    from malilla_env.rules import RuleSet

MAX_SEATS = 4
MAX_CARDS = 52
MAX_PLAYS = 64  # actions of one hand, cards and others
MAX_OTHERS = 64  # actions besides cards: the bits of a mask

# What a field of these may say; the table holds its place.
TRUMP = ("turned", "bid", "none")
UNDERTRUMP = ("optional", "forbidden", "forced")
PROTECTED = ("off", "led", "played")

TABLE = np.dtype(
    [
        ("suit_mask", "u8", 5),  # the last is empty: of no trump, whose number is -1
        ("contests", "u8", (MAX_SEATS, MAX_SEATS)),  # 1.3.7: all cards if a seat must beat another's, else 0
        ("above", "u8", MAX_CARDS),  # the higher cards of the card's suit
        ("deck_mask", "u8"),
        ("tops", "u8"),  # the highest card of each suit: the malillas
        ("deck", "u1", MAX_CARDS),
        ("suit", "u1", MAX_CARDS),
        ("points", "i1", MAX_CARDS),
        ("team", "u1", MAX_SEATS),
        ("partner", "i1", MAX_SEATS),  # the other seat of the team, -1 for none
        ("places", "u1", (MAX_SEATS + 1, MAX_CARDS)),  # of the deck, whose cards go to each: `RuleSet.dealing`
        ("num_seats", "i2"),
        ("num_teams", "i2"),
        ("num_cards", "i2"),
        ("hand_size", "i2"),
        ("num_tricks", "i2"),
        ("piles", "i2"),
        ("dead_cards", "i2"),
        ("ranks", "i2"),
        ("num_actions", "i2"),
        ("total_points", "i2"),
        ("top_points", "i2"),  # of the most valuable card
        ("trick_points", "i2"),
        ("neutral", "i2"),
        ("target", "i2"),
        ("last_trick_bonus", "i2"),
        ("redeal", "i2"),
        ("albur", "i2"),
        # where each kind of action begins among those besides cards
        ("ask_at", "i2"),
        ("bid_at", "i2"),
        ("num_bids", "i2"),
        ("name_at", "i2"),
        ("count_at", "i2"),
        ("card_at", "i2"),
        ("trump", "i1"),
        ("undertrump", "i1"),
        ("protected", "i1"),
        ("climb", "i1"),
        ("dealer_bonus", "i1"),
        ("capote_wins", "i1"),
        ("loser_pays", "i1"),
        ("redeal_level", "i1"),
        ("talk", "i1"),
    ],
    align=True,
)

# Fields of the table that are the rule set's own by the same name.
NUMBERS = (
    *("num_seats", "num_teams", "num_cards", "hand_size", "num_tricks", "piles", "dead_cards", "ranks", "num_actions"),
    *("total_points", "trick_points", "neutral", "target", "last_trick_bonus", "redeal", "albur"),
    *("dealer_bonus", "capote_wins", "loser_pays", "redeal_level", "talk"),
)


def table_of(rules: RuleSet) -> NDArray[np.void]:
    """[1] of TABLE, read-only."""
    table = np.zeros(1, TABLE)
    row = table[0]
    _put_cards(rules, row)
    _put_seats(rules, row)
    for field in NUMBERS:
        row[field] = getattr(rules, field)
    row["top_points"], row["climb"] = max(rules.rank_points), rules.climb_over_partner
    row["trump"], row["undertrump"] = TRUMP.index(rules.trump), UNDERTRUMP.index(rules.undertrump)
    row["protected"], row["num_bids"] = PROTECTED.index(rules.protected), len(rules.others.get("bid", ()))
    at = 0
    for kind, names in rules.others.items():
        if kind != "pass":
            row[f"{kind}_at"] = at
        at += len(names)
    table.flags.writeable = False
    return table


def _put_cards(rules: RuleSet, row: np.void) -> None:
    suit_bits = (1 << rules.ranks) - 1
    for suit in range(4):
        row["suit_mask"][suit] = (suit_bits << suit * rules.ranks) & mask_of(rules.deck)
    for card in rules.deck:
        suit, strength = divmod(card, rules.ranks)
        row["suit"][card], row["points"][card] = suit, rules.rank_points[strength]
        row["above"][card] = int(row["suit_mask"][suit]) & ~((2 << card) - 1)
        row["tops"] |= np.uint64(0 if row["above"][card] else 1 << card)
    row["deck"][: rules.num_cards], row["deck_mask"] = rules.deck, mask_of(rules.deck)


def _put_seats(rules: RuleSet, row: np.void) -> None:
    seats = range(rules.num_seats)
    row["team"][: rules.num_seats], row["partner"] = rules.teams, -1
    for seat in seats:
        for other in seats:
            if rules.climb_over_partner or rules.teams[seat] != rules.teams[other]:
                row["contests"][seat, other] = row["deck_mask"]
            if seat != other and rules.teams[seat] == rules.teams[other]:
                row["partner"][seat] = other
    for hand in range(rules.num_hands):
        places = [place for place, to in enumerate(rules.dealing) if to == hand]
        # the open cards first: of piles, the second half of what is dealt
        places = places[rules.piles :] + places[: rules.piles]
        row["places"][hand, : len(places)] = places
