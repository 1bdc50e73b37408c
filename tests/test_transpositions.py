"""What the open-hand search remembers: positions of one order of the cards, and how far apart their values can lie."""

from __future__ import annotations

import numpy as np
import pytest

from malilla_env import ruleset
from malilla_env.cards import mask_of, parse_cards
from malilla_env.ordering import WEIGHTS
from malilla_env.rules import PRESETS
from malilla_env.solver import new_desk
from malilla_env.transpositions import fill_orders, surpluses

GAMES = {name: rules for name, rules in PRESETS.items() if rules.num_seats == 4}
MALILLA = ruleset("malilla")


def desk_of(rules, seed):
    """A desk for random hands of the whole deck, and who owns each card."""
    desk, owners = new_desk(rules, 10, WEIGHTS), {}
    for place, card in enumerate(np.random.default_rng(seed).permutation(rules.deck)):
        owners[int(card)] = place % 4
        desk.hands[place % 4] |= np.uint64(1) << np.uint64(card)
    fill_orders(desk, rules.table[0])
    return desk, owners


def random_cards(rules, rng):
    return [card for card in rules.deck if rng.random() < 0.4]


def word_of(cards):
    return np.uint64(mask_of(cards))


def order_of(rules, owners, cards):
    """By suit, the owners from the lowest card up."""
    return [[owners[card] for card in cards if card // rules.ranks == suit] for suit in range(4)]


def tabled_order(rules, desk, cards):
    suits = [[card % rules.ranks for card in cards if card // rules.ranks == suit] for suit in range(4)]
    return [int(desk.orders[suit, sum(1 << rank for rank in ranks)]) for suit, ranks in enumerate(suits)]


@pytest.mark.parametrize("rules", GAMES.values(), ids=GAMES)
def test_positions_of_one_order_have_one_number(rules):
    desk, owners = desk_of(rules, seed=30)
    rng, of_number = np.random.default_rng(31), {}
    for _ in range(300):
        cards = random_cards(rules, rng)
        for suit, number in enumerate(tabled_order(rules, desk, cards)):
            order = order_of(rules, owners, cards)[suit]
            assert of_number.setdefault((suit, number), order) == order
    orders = [(suit, *order) for (suit, _), order in of_number.items()]
    assert len(orders) == len(set(orders))


def exchanged(rules, owners, cards, rng):
    """Another position of the same order: some cards exchanged for one between their neighbours, of the same owner."""
    cards = list(cards)
    for _ in range(20):
        at, new = rng.integers(len(cards)), int(rng.choice(rules.deck))
        low = cards[at - 1] if at else -1
        high = cards[at + 1] if at + 1 < len(cards) else 4 * rules.ranks
        if low < new < high and owners[new] == owners[cards[at]] and new // rules.ranks == cards[at] // rules.ranks:
            cards[at] = new
    return cards


@pytest.mark.parametrize("rules", GAMES.values(), ids=GAMES)
def test_how_much_more_the_cards_of_one_position_count(rules):
    desk, owners = desk_of(rules, seed=32)
    rng, points, seen = np.random.default_rng(33), rules.rank_points, set()
    for _ in range(300):
        cards = random_cards(rules, rng)
        others = exchanged(rules, owners, cards, rng)
        assert tabled_order(rules, desk, cards) == tabled_order(rules, desk, others)
        more = sum(
            max(points[a % rules.ranks] - points[b % rules.ranks], 0) for a, b in zip(cards, others, strict=True)
        )
        assert surpluses(word_of(cards), word_of(others), rules.table[0], desk.worths) == more
        seen.add(more)
    assert len(seen) >= 4


def test_two_positions_by_hand():
    """6, Q and K of hearts are in the order of 2, Q and A, whose best counts one more."""
    desk = new_desk(MALILLA, 10, WEIGHTS)
    for seat, cards in enumerate(("2h 6h Kh Ah", "Qh 7h", "7c", "7s")):
        desk.hands[seat] = word_of(parse_cards(MALILLA, cards))
    fill_orders(desk, MALILLA.table[0])
    low, high = (word_of(parse_cards(MALILLA, cards)) for cards in ("6h Qh Kh", "2h Qh Ah"))
    assert surpluses(high, low, MALILLA.table[0], desk.worths) == 1
    assert surpluses(low, high, MALILLA.table[0], desk.worths) == 0
