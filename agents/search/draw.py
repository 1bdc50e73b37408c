"""Draw: a world of a planned View, each with the same chance.

Enters: a PLAN (`plan.py`), a key. Leaves: a state whose hands are that world. A number below the count of the worlds,
drawn without bias, is taken apart from the first suit to the last card.
"""

from __future__ import annotations

import numpy as np

from agents.search.plan import DEAD, LIMIT, SUITS, after, part
from malilla_env.compiled import Array, Int, Row, Word, inline, jit, lowest, mix
from malilla_env.engine import next_seat
from malilla_env.phases import offer_ask, offer_talk
from malilla_env.state import ASK, NONE, ONE, PLAY, TALK, ZERO, bit
from malilla_env.table import MAX_CARDS, MAX_SEATS
from malilla_env.tricks import legal_cards


@inline
def draw_below(key: Word, bound: Int) -> Int:
    """A number in 0..bound-1, each with the same chance: words of the key's stream, until one is below."""
    mask = np.uint64(bound) - ONE
    for shift in (1, 2, 4, 8, 16, 32):
        mask |= mask >> np.uint64(shift)
    attempt = 0
    number = np.int64(mix(key, np.uint64(attempt)) & mask)
    while number >= bound:
        attempt += 1
        number = np.int64(mix(key, np.uint64(attempt)) & mask)
    return number


@jit
def draw_world(plan: Row, rules: Row, key: Word, row: Row) -> None:
    """Change `row`, a state of the planned View, into the world of a key: `hands`, `face_down`, of piles also `deck`.

    `legal` is found anew where another seat than the viewer is to act. Nothing else in a state of the View depends on
    the world, but `deck` where there are no piles: nobody reads it any more. The plan must count a world or more.
    """
    for seat in range(MAX_SEATS):
        row["hands"][seat] = plan["fixed"][seat]
    row["face_down"] = plan["fixed"][DEAD]
    if rules["piles"] > 0:
        lay_unders(plan, key, row)
    elif plan["count"] == LIMIT:
        hand_out_many(plan, key, row)
    else:
        hand_out(plan, draw_below(key, plan["count"]), row)
    if plan["off_turn"]:
        renew_legal(row, rules)


@inline
def hand_out(plan: Row, number: Int, row: Row) -> None:
    """Give the unseen cards to their holders as in the world of a number below the count."""
    split, have, cell, needs = 0, plan["have"], plan["at"], plan["needs"]
    rest = after(plan, 0, have, cell, needs, split)
    while number >= plan["split_ways"][split] * rest:
        number -= plan["split_ways"][split] * rest
        split += 1
        rest = after(plan, 0, have, cell, needs, split)
    give_suit(plan, 0, plan["split"][split], plan["split_at"][split], number // rest, row)
    hand_out_rest(plan, split, number % rest, row)


@inline
def hand_out_rest(plan: Row, split: Int, number: Int, row: Row) -> None:
    """The same for the suits behind the first, after one of its splits."""
    have, cell, needs = plan["have"], plan["at"], plan["needs"]
    for stage in range(1, SUITS - 1):
        have |= plan["split_have"][split]
        cell -= plan["split_at"][split]
        needs -= plan["split"][split]
        split = plan["first"][stage]
        rest = after(plan, stage, have, cell, needs, split)
        while number >= plan["split_ways"][split] * rest:
            number -= plan["split_ways"][split] * rest
            split += 1
            rest = after(plan, stage, have, cell, needs, split)
        give_suit(plan, stage, plan["split"][split], plan["split_at"][split], number // rest, row)
        number %= rest
    give_suit(plan, SUITS - 1, needs - plan["split"][split], cell - plan["split_at"][split], number, row)


@jit
def lay_unders(plan: Row, key: Word, row: Row) -> None:
    """3.8: shuffle the unseen cards into their places in the deck."""
    for place in range(MAX_CARDS):
        row["deck"][place] = plan["deck"][place]
    count = plan["unders"]
    for at in range(count):
        row["deck"][plan["under_place"][at]] = plan["under_card"][at]
    for at in range(count - 1, 0, -1):
        place, other = plan["under_place"][at], plan["under_place"][draw_below(mix(key, np.uint64(at)), at + 1)]
        card = row["deck"][place]
        row["deck"][place] = row["deck"][other]
        row["deck"][other] = card


@jit
def hand_out_many(plan: Row, key: Word, row: Row) -> None:
    """The same where the worlds are too many to be numbered: the first suit by its ways, kept as often as it must."""
    draw, split, number, rest, ways = np.uint64(0), 0, 0, -1, 0
    while number >= rest:
        ways = draw_below(mix(key, draw), plan["ways_first"])
        number = draw_below(mix(key, draw + ONE), plan["most_after"])
        draw += ONE + ONE
        split = 0
        while ways >= plan["split_ways"][split]:
            ways -= plan["split_ways"][split]
            split += 1
        rest = after(plan, 0, plan["have"], plan["at"], plan["needs"], split)
    give_suit(plan, 0, plan["split"][split], plan["split_at"][split], ways, row)
    hand_out_rest(plan, split, number, row)


@inline
def give_suit(plan: Row, stage: Int, given: Int, cell: Int, number: Int, row: Row) -> None:
    """Give the unseen cards of a suit, from the last to the first, so that each holder gets its number of them."""
    ways, at = plan["ways"], plan["level"][stage] + (plan["size"][stage] - 1) * plan["cells"] + cell
    for place in range(plan["size"][stage] - 1, -1, -1):
        may, holder = np.int64(plan["may"][stage, place]), 0
        count = ways_to(ways, at, plan, may, given, holder)
        while number >= count:
            number -= count
            holder += 1
            count = ways_to(ways, at, plan, may, given, holder)
        given -= 1 << (8 * holder)
        at -= plan["stride"][holder] + plan["cells"]
        give(row, plan["holder"][holder], bit(plan["cards"][stage, place]))


@inline
def ways_to(ways: Array, at: Int, plan: Row, may: Int, given: Int, holder: Int) -> Int:
    """In how many ways the first cards of a suit go out when the card behind them goes to this holder."""
    can = (may >> holder) & 1 and part(given, holder) > 0
    return ways[at - plan["stride"][holder]] if can else 0


@inline
def give(row: Row, holder: Int, card: Word) -> None:
    if holder == DEAD:
        row["face_down"] |= card
    else:
        row["hands"][holder] |= card


@jit
def renew_legal(row: Row, rules: Row) -> None:
    """What the seat to act may do with the hand that it now has."""
    seat, phase = row["seat"], row["phase"]
    if phase == PLAY:
        hand = row["hands"][seat]
        row["legal"][0] = legal_cards(row, rules, hand, seat) if row["trick_size"] > 0 else hand
    elif phase == TALK:
        offer_talk(row, rules, seat)
    elif phase == ASK:
        offer_ask(row, rules, seat)


@jit
def lay_deck(plan: Row, rules: Row, row: Row) -> None:
    """The dealing order of a world without piles: each hand's cards from the lowest on, but the turned-up one last."""
    to = np.int64(plan["dealer"])
    for hand in range(rules["num_seats"]):
        to = next_seat(to, rules)
        lay_hand(rules, hand, row["hands"][to] | plan["played_by"][to], plan["turned_card"], row)
    lay_hand(rules, rules["num_seats"], row["face_down"], NONE, row)


@jit
def lay_hand(rules: Row, hand: Int, cards: Word, turned: Int, row: Row) -> None:
    at = 0
    if turned != NONE and cards & bit(turned) != ZERO:
        row["deck"][rules["num_cards"] - 1] = turned
        cards &= ~bit(turned)
    while cards != ZERO:
        row["deck"][rules["places"][hand, at]] = lowest(cards)
        cards &= cards - ONE
        at += 1
