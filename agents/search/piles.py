"""Piles (RULES 3.8): a past that explains what a View shows, so that it can be dealt and played again.

Enters: a View of a game with open hands. Leaves: the dealing order as far as it is known, and its places under the
cards that still cover one. A View tells which cards lie open now and all that was played, not which card came up from
under which: some choice under which every play was legal is made, always the same for a View. What it says of the past
bears on nothing to come, and every choice goes with the same ways in which the unseen cards can lie.

For each seat the tricks are gone through from the last: its card of a trick was dealt face up, and then one of the
cards that came up later lay under it; or it came up itself, and waits for a trick before it in which it did. A card
that would have forbidden a play was not in hand yet, so that it came up then or later.
"""

from __future__ import annotations

import numpy as np

from malilla_env.compiled import Array, Bool, Int, Row, Word, jit, lowest, popcount
from malilla_env.engine import clear_hand, lead
from malilla_env.state import NONE, ONE, STATE, ZERO, bit
from malilla_env.table import MAX_CARDS, MAX_PLAYS
from malilla_env.tricks import protect, ruled_out, take_trick, unlock

UNTRIED, UNDER, TOP = 0, 1, 2  # how a card that was played was dealt


@jit
def plan_piles(view: Row, rules: Row, unseen: Word, plan: Row) -> Bool:
    """Fill `deck` of a row of PLAN, and list the places in it of the unseen cards; False if no past explains the View.

    `fixed` and `dealer` of the plan are used.
    """
    plan["unders"] = 0
    if popcount(unseen) != popcount(view["covering"]):
        return False
    missed = np.zeros(MAX_PLAYS, np.uint64)
    find_missed(view, rules, missed)
    to: Int = np.int64(view["dealer"])
    for hand in range(rules["num_seats"]):
        to = to + 1 if to + 1 < rules["num_seats"] else 0
        if popcount(plan["fixed"][to]) != view["hand_sizes"][to] or not lay_piles(view, rules, missed, hand, to, plan):
            return False
    for at in range(plan["unders"]):
        plan["under_card"][at] = lowest(unseen)
        unseen &= unseen - ONE
    return unseen == ZERO


@jit
def find_missed(view: Row, rules: Row, missed: Array) -> None:
    """For each play the cards that the seat cannot have held, or it would have been illegal."""
    row = np.zeros(1, STATE)[0]
    clear_hand(row)
    row["trump"] = view["trump"]
    protect(row, rules)
    for play in range(view["num_plays"]):
        card, seat = view["plays"][play], np.int64(view["play_seats"][play])
        if card >= 4 * rules["ranks"]:
            continue
        leads = row["trick_size"] == 0
        if leads:
            lead(row, rules, seat)
            row["led_suit"] = rules["suit"][card]
        else:
            missed[play] = ruled_out(row, rules, seat, card)
        take_trick(row, rules, seat, card)
        unlock(row, rules, rules["suit"][card], leads)
        row["trick_size"] = row["trick_size"] + 1 if row["trick_size"] + 1 < rules["num_seats"] else 0


@jit
def lay_piles(view: Row, rules: Row, missed: Array, hand: Int, seat: Int, plan: Row) -> Bool:
    """Find what lay where in one seat's piles, and put it into the deck."""
    cards, since = np.full(MAX_CARDS + 1, NONE, np.int64), np.zeros(MAX_CARDS, np.int64)
    tricks = list_cards(view, rules, seat, cards)
    held = plan["fixed"][seat]
    find_since(view, rules, seat, missed, cards, held, since)
    tops = held & view["covering"]
    waiting = held & ~view["covering"]
    if cards[tricks + 1] != NONE and view["covering"] & bit(cards[tricks + 1]) != ZERO:
        tops |= bit(cards[tricks + 1])
    elif cards[tricks + 1] != NONE:
        waiting |= bit(cards[tricks + 1])
    dealt, came = np.zeros(MAX_CARDS + 1, np.int64), np.zeros(MAX_CARDS + 1, np.int64)
    if not agrees(tops, since) or not find_past(view, rules, seat, tricks, cards, since, tops, waiting, dealt, came):
        return False
    under = np.full(MAX_CARDS, NONE, np.int64)
    return put_piles(rules, hand, pair(tricks, cards, since, tops, waiting, dealt, came, under), under, plan)


@jit
def list_cards(view: Row, rules: Row, seat: Int, cards: Array) -> Int:
    """The seat's card of each trick from 1 on; answers how many tricks are over."""
    tricks = 0
    for play in range(view["num_plays"]):
        if view["play_seats"][play] == seat and view["plays"][play] < 4 * rules["ranks"] and tricks < MAX_CARDS - 1:
            tricks += 1
            cards[tricks] = view["plays"][play]
    lies = view["trick_cards"] & view["played_by"][seat] != ZERO
    return tricks - 1 if lies and view["trick_size"] < rules["num_seats"] else tricks


@jit
def find_since(view: Row, rules: Row, seat: Int, missed: Array, cards: Array, held: Word, since: Array) -> None:
    """For each card of a seat the last trick in which it was not in hand yet, 0 for none."""
    still, trick = held | view["played_by"][seat], 0
    for play in range(view["num_plays"]):
        card = np.int64(view["plays"][play])
        if view["play_seats"][play] != seat or card >= 4 * rules["ranks"]:
            continue
        trick += 1
        still &= ~bit(card)
        late = missed[play] & still
        while late != ZERO:
            since[lowest(late)] = trick
            late &= late - ONE


@jit
def agrees(tops: Word, since: Array) -> Bool:
    """Cards that were dealt face up were always in hand."""
    while tops != ZERO:
        if since[lowest(tops)] > 0:
            return False
        tops &= tops - ONE
    return True


@jit
def find_past(
    view: Row,
    rules: Row,
    seat: Int,
    tricks: Int,
    cards: Array,
    since: Array,
    tops: Word,
    waiting: Word,
    dealt: Array,
    came: Array,
) -> Bool:
    """Choose for the card of each trick whether it was dealt UNDER another or as a TOP, from the last trick back.

    `came[trick]` is the `since` of the card that came up from under its top. Tries UNDER first, and goes back where
    no card is left to come up, or one that came up late has no trick left. False: no choice explains the play.
    """
    pool, trick = np.zeros(MAX_CARDS + 1, np.int64), tricks  # cards that wait for a trick, by their `since`
    while waiting != ZERO:
        pool[since[lowest(waiting)]] += 1
        waiting &= waiting - ONE
    dealt[trick] = UNTRIED
    if not can_go_on(pool, trick + 1):
        return False
    while trick > 0 or not asked_well(view, rules, seat, tricks, cards, tops, dealt):
        trick += trick == 0  # the asker's suit was too short
        if trick > tricks:
            return False
        card = cards[trick]
        if dealt[trick] == UNDER:
            pool[since[card]] -= 1
        elif dealt[trick] == TOP:
            pool[came[trick]] += 1
        dealt[trick] += 1
        fits = False
        if dealt[trick] == UNDER:
            pool[since[card]] += 1
            fits = card != view["turned_card"]
        elif dealt[trick] == TOP:
            came[trick] = latest(pool)
            pool[came[trick]] -= 1
            fits = since[card] == 0
        else:
            dealt[trick] = UNTRIED
            trick += 1
            continue
        if fits and can_go_on(pool, trick):
            trick -= 1
            dealt[trick] = UNTRIED
    return True


@jit
def latest(pool: Array) -> Int:
    """The highest `since` of those that wait; 0 for none."""
    for since in range(len(pool) - 1, 0, -1):
        if pool[since] > 0:
            return since
    return 0


@jit
def can_go_on(pool: Array, trick: Int) -> Bool:
    """Whether all that wait may yet find a trick below this one, none before its `since`."""
    late = 0
    for since in range(len(pool) - 1, -1, -1):
        late += pool[since]
        if late > max(0, trick - max(1, since)) or pool[since] < 0:
            return False
    return True


@jit
def asked_well(view: Row, rules: Row, seat: Int, tricks: Int, cards: Array, tops: Word, dealt: Array) -> Bool:
    """1.6.2: a seat that asked for a new deal had a long suit among its open cards."""
    longest = 0
    for trick in range(1, tricks + 1):
        tops |= bit(cards[trick]) if dealt[trick] == TOP else ZERO
    for suit in range(4):
        longest = max(longest, popcount(tops & rules["suit_mask"][suit]))
    return not np.int64(view["asked"]) >> seat & 1 or longest >= rules["redeal"]


@jit
def pair(
    tricks: Int,
    cards: Array,
    since: Array,
    tops: Word,
    waiting: Word,
    dealt: Array,
    came: Array,
    under: Array,
) -> Word:
    """Name the card under each top that has been played; answers the cards dealt face up."""
    for trick in range(tricks, 0, -1):
        if dealt[trick] == UNDER:
            waiting |= bit(cards[trick])
            continue
        tops |= bit(cards[trick])
        left = waiting
        while since[lowest(left)] != came[trick]:
            left &= left - ONE
        under[cards[trick]] = lowest(left)
        waiting &= ~bit(lowest(left))
    return tops


@jit
def put_piles(rules: Row, hand: Int, tops: Word, under: Array, plan: Row) -> Bool:
    """Put a seat's piles into the deck, the open cards from the lowest on, but the turned-up one last."""
    count, piles = plan["unders"], np.int64(rules["piles"])
    if popcount(tops) != piles:
        return False
    turned = np.int64(plan["turned_card"])
    last = turned if turned != NONE and tops & bit(max(turned, 0)) != ZERO else NONE
    for at in range(piles):
        rest = tops if last == NONE or at + 1 == piles else tops & ~bit(last)
        card = lowest(rest)
        tops &= ~bit(card)
        plan["deck"][rules["places"][hand, at]] = card
        place = rules["places"][hand, piles + at]
        if under[card] == NONE:
            plan["under_place"][count] = place
            count += 1
        else:
            plan["deck"][place] = under[card]
    plan["unders"] = count
    return True
