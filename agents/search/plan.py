"""Plan: what a View tells of the cards that it does not show, and in how many ways they can lie.

Enters: a View. Leaves: a PLAN with the tables that `draw.py` draws from. A world is one way in which the unseen cards
can lie with those who hold them: the other seats, and the dead hand (3.7); of piles (3.8), under the cards that cover
them (`piles.py`). What a View tells of it, and all that it tells: cards that a seat cannot hold, cards that it surely
holds, how many it holds in all, and of a suit (3.5), and that a seat had so many cards of one suit when it was dealt
them (1.6.2).

The worlds are counted suit by suit, and a world is a number below that count: within a suit, table `ways` tells in how
many ways its first cards can be handed out so that each holder gets so many; over the suits, table `totals` tells in
how many ways the suits from one on can give each holder what it still needs. No count overflows: see TOO_MANY.
"""

from __future__ import annotations

import numpy as np

from agents.search.piles import plan_piles
from malilla_env.compiled import Bool, Int, Row, Word, inline, jit, lowest, popcount
from malilla_env.scoring import TRUMP_TURNED
from malilla_env.state import NONE, ONE, OVER, PHASES, ZERO, bit
from malilla_env.table import MAX_CARDS, MAX_PLAYS, MAX_SEATS

DEAD = MAX_SEATS  # the dead hand, among the seats
MAX_HOLDERS = 4  # whose cards a viewer does not know: three other seats and a dead hand
MAX_SUIT = MAX_CARDS // 4
SUITS = 4
# Of four holders: five hands of at most ten cards. The last holder's cards follow from the others', so that a table by
# what each holder gets has 11 ** 3 entries; three holders have at most 13 cards each, and 14 ** 2 entries.
MAX_CELLS = 11**3
MAX_LEVELS = 4 * 10 + SUITS  # unseen cards, and for each suit the place before the first
MAX_SPLITS = SUITS * 560  # 13 cards among four: (16 choose 3)
MAX_ASKED = 1 << 3
# Worlds are at most 39! / 13!^3 = 8e16 with three holders, and 32! / 8!^4 = 1e17 with four of at most eight cards; with
# four of nine and ten, 40! / 10!^4 is more than 64 bits hold. But there the suits behind the first, which is the
# longest, have at most 30 cards and 4 ** 30 = 1e18 ways. So only the sum over the first suit can be too large: then
# `count` stands at its limit, and a world is drawn by rejection, without that sum.
TOO_MANY = 1 << 62
LIMIT = (1 << 63) - 1
GUARD, BYTE = 0x80808080, 0xFF  # what each holder needs stands in a byte; the top bits tell a number below zero

PLAN = np.dtype(
    [
        ("count", "i8"),  # worlds, LIMIT for as many or more
        ("off_turn", "?"),  # another seat than the viewer is to act
        ("dealer", "i1"),
        ("turned_card", "i1"),
        ("fixed", "u8", MAX_SEATS + 1),  # cards known to lie with each seat; of piles, the last are those face down
        ("played_by", "u8", MAX_SEATS),
        ("holders", "i8"),
        ("holder", "i1", MAX_HOLDERS),  # the seat, or DEAD
        ("needs", "i8"),  # unseen cards that each holder has, a byte each
        ("stride", "i8", MAX_HOLDERS),  # of a holder's number in the tables; 0 for the last
        ("cells", "i8"),
        ("at", "i8"),  # the cell of `needs`
        ("coords", "i8", MAX_CELLS),  # the numbers of each cell, a byte each, without the last holder's
        ("suit", "i1", SUITS),  # the suits from the longest unseen on
        ("size", "i8", SUITS),  # their unseen cards
        ("cards", "u1", (SUITS, MAX_SUIT)),
        ("may", "u1", (SUITS, MAX_SUIT)),  # bit per holder that can hold the card
        ("level", "i8", SUITS),  # where the levels of each suit begin in `ways`
        ("ways", "i8", MAX_LEVELS * MAX_CELLS),
        ("asked", "i8"),  # how many holders must have had a long suit
        ("asker", "i1", MAX_HOLDERS),  # those holders
        ("have", "i8"),  # bit per asker that has it, whatever is drawn
        ("first", "i8", SUITS + 1),  # where the splits of each suit begin
        ("split", "i8", MAX_SPLITS),  # how many of the suit go to each holder, a byte each
        ("split_at", "i8", MAX_SPLITS),  # its cell
        ("split_ways", "i8", MAX_SPLITS),
        ("split_have", "i8", MAX_SPLITS),  # bit per asker to whom it gives a long suit
        ("totals", "i8", SUITS * MAX_ASKED * MAX_CELLS),
        ("ways_first", "i8"),  # splits of the first suit, by their ways; and the most ways to complete one
        ("most_after", "i8"),
        ("deck", "u1", MAX_CARDS),  # piles: the dealing order, as far as it is known
        ("unders", "i8"),  # how many places of it are not, and which; the cards that lie there
        ("under_place", "u1", MAX_CARDS),
        ("under_card", "u1", MAX_CARDS),
    ],
    align=True,
)


# --- planning: what a View tells
@jit
def plan_worlds(view: Row, rules: Row, plan: Row) -> Int:
    """Prepare `plan`, a row of PLAN, for drawing worlds of a View; answers how many it has, at most LIMIT.

    0: there is none, or the row is no View of a seat under these rules.
    """
    plan["count"] = 0
    if not is_sound(view, rules):
        return 0
    keep_known(view, rules, plan)
    if rules["piles"] > 0:
        cards = unseen(rules, plan)
        if plan_piles(view, rules, cards, plan):
            plan["fixed"][DEAD] = cards
            plan["count"] = orders_of(popcount(cards))
    elif name_holders(view, rules, plan):
        sort_cards(view, rules, plan)
        name_askers(view, rules, plan)
        plan["first"][0] = 0
        for stage in range(SUITS):
            count_ways(plan, stage)
            list_splits(view, rules, plan, stage)
        count_totals(plan)
    return plan["count"]


@jit
def is_sound(view: Row, rules: Row) -> Bool:
    """Whether seats, cards and plays are of these rules: no row that passes leads beyond a table."""
    seats, deck = rules["num_seats"], rules["deck_mask"]
    sound = 0 <= view["seat"] < seats and 0 <= view["dealer"] < seats and NONE <= view["turn"] < seats
    sound &= NONE <= view["trump"] < SUITS and OVER <= view["phase"] < len(PHASES)
    sound &= 0 <= view["num_plays"] <= MAX_PLAYS and NONE <= view["albur_seat"] < seats
    if not sound:
        return False
    for play in range(view["num_plays"]):
        sound &= view["plays"][play] < rules["num_actions"] and 0 <= view["play_seats"][play] < seats
    turned = np.int64(view["turned_card"])
    if rules["trump"] == TRUMP_TURNED:
        sound &= 0 <= turned < MAX_CARDS and bit(max(turned, 0)) & deck != ZERO
    placed, count = ZERO, 0
    for seat in range(MAX_SEATS):
        held = view["hand"] if seat == view["seat"] else view["shown"][seat]
        size = view["hand_sizes"][seat]
        sound &= held & view["cannot_hold"][seat] == ZERO and popcount(held) <= size <= rules["num_tricks"]
        placed |= held | view["played_by"][seat]
        count += popcount(held) + popcount(view["played_by"][seat])
    own = popcount(view["hand"]) == view["hand_sizes"][view["seat"]]
    return sound and own and popcount(placed) == count and placed & ~deck == ZERO


@jit
def keep_known(view: Row, rules: Row, plan: Row) -> None:
    """The cards that lie where everybody, or the viewer, knows."""
    plan["off_turn"] = view["turn"] != view["seat"]
    plan["dealer"] = view["dealer"]
    plan["turned_card"] = view["turned_card"] if rules["trump"] == TRUMP_TURNED else NONE
    for seat in range(MAX_SEATS):
        plan["fixed"][seat] = view["hand"] if seat == view["seat"] else view["shown"][seat]
        plan["played_by"][seat] = view["played_by"][seat]
    plan["fixed"][DEAD] = ZERO


@jit
def unseen(rules: Row, plan: Row) -> Word:
    """The cards of which the viewer does not know where they lie."""
    cards = rules["deck_mask"]
    for seat in range(MAX_SEATS):
        cards &= ~(plan["fixed"][seat] | plan["played_by"][seat])
    return cards


@jit
def name_holders(view: Row, rules: Row, plan: Row) -> Bool:
    """Who holds unseen cards, and how many; False if those are not all unseen cards."""
    holders, total = 0, 0
    needs: Int = 0
    for seat in range(DEAD + 1):
        need: Int = rules["dead_cards"]
        if seat < DEAD:
            need = view["hand_sizes"][seat] - popcount(plan["fixed"][seat])
        if (seat < rules["num_seats"] and seat != view["seat"]) or (seat == DEAD and need > 0):
            plan["holder"][holders] = seat
            needs |= np.int64(need) << (8 * holders)
            holders += 1
            total += need
    plan["holders"], plan["needs"] = holders, needs
    number_cells(plan)
    return total == popcount(unseen(rules, plan))


@jit
def number_cells(plan: Row) -> None:
    """A cell for all numbers that each holder but the last can get; the last one's follow from how many there are."""
    cells = 1
    for holder in range(plan["holders"]):
        last = holder + 1 == plan["holders"]
        plan["stride"][holder] = 0 if last else cells
        cells *= 1 if last else part(plan["needs"], holder) + 1
    plan["cells"], plan["at"] = cells, cells - 1
    plan["coords"][0] = 0
    for cell in range(1, cells):
        coords, holder = plan["coords"][cell - 1] + 1, 0
        while part(coords, holder) > part(plan["needs"], holder):  # carry
            coords += (1 << 8 * (holder + 1)) - (part(coords, holder) << 8 * holder)
            holder += 1
        plan["coords"][cell] = coords


@inline
def part(numbers: Int, holder: Int) -> Int:
    """One holder's number."""
    return (numbers >> (8 * holder)) & BYTE


@inline
def whole(plan: Row, cell: Int, count: Int) -> Int:
    """The numbers of a cell, the last holder's too, when there are so many cards in all; -1 if it gets none such."""
    coords, last = plan["coords"][cell], plan["holders"] - 1
    rest = count - ((coords + (coords >> 8) + (coords >> 16)) & BYTE)
    return coords | rest << (8 * last) if 0 <= rest <= part(plan["needs"], last) else -1


@jit
def sort_cards(view: Row, rules: Row, plan: Row) -> None:
    """The unseen cards by suit, the longest suit first, and who can hold each."""
    cards, done = unseen(rules, plan), 0
    for stage in range(SUITS):
        best = -1
        for suit in range(SUITS):
            longer = best < 0 or popcount(cards & rules["suit_mask"][suit]) > popcount(cards & rules["suit_mask"][best])
            if not done >> suit & 1 and longer:
                best = suit
        done |= 1 << best
        held = cards & rules["suit_mask"][best]
        plan["suit"][stage], plan["size"][stage] = best, popcount(held)
        for at in range(popcount(held)):
            card = lowest(held)
            held &= held - ONE
            plan["cards"][stage, at], plan["may"][stage, at] = card, who_may_hold(view, plan, card)


@jit
def who_may_hold(view: Row, plan: Row, card: Int) -> Int:
    """Bit per holder."""
    may = 0
    for holder in range(plan["holders"]):
        seat = plan["holder"][holder]
        if seat == DEAD or view["cannot_hold"][seat] & bit(card) == ZERO:
            may |= 1 << holder
    return may


@jit
def name_askers(view: Row, rules: Row, plan: Row) -> None:
    """1.6.2: the holders who asked for a new deal: they had so many cards of one suit."""
    asked, have = 0, 0
    for holder in range(plan["holders"]):
        seat = np.int64(plan["holder"][holder])
        if seat != DEAD and view["asked"] >> seat & 1:
            plan["asker"][asked] = holder
            for suit in range(SUITS):
                have |= (known_of_suit(rules, plan, seat, suit) >= rules["redeal"]) << asked
            asked += 1
    plan["asked"], plan["have"] = asked, have


@jit
def known_of_suit(rules: Row, plan: Row, seat: Int, suit: Int) -> Int:
    """Cards of a suit that a seat is known to have been dealt."""
    return popcount((plan["fixed"][seat] | plan["played_by"][seat]) & rules["suit_mask"][suit])


@jit
def orders_of(cards: Int) -> Int:
    """Of so many cards; LIMIT for more than a number holds."""
    orders = 1
    for card in range(2, cards + 1):
        orders = LIMIT if orders > LIMIT // card else orders * card
    return orders


# --- planning: counting
@jit
def count_ways(plan: Row, stage: Int) -> None:
    """In how many ways the first cards of a suit can be handed out so that each holder gets what a cell says."""
    ways, cells, holders = plan["ways"], plan["cells"], plan["holders"]
    at = plan["level"][stage - 1] + (plan["size"][stage - 1] + 1) * cells if stage > 0 else 0
    plan["level"][stage] = at
    ways[at : at + (plan["size"][stage] + 1) * cells] = 0
    ways[at] = 1
    for place in range(plan["size"][stage]):
        may = plan["may"][stage, place]
        for cell in range(cells):
            count = ways[at + cell]
            given = whole(plan, cell, place) if count > 0 else -1
            if given >= 0:
                for holder in range(holders):
                    if may >> holder & 1 and part(given, holder) < part(plan["needs"], holder):
                        ways[at + cells + cell + plan["stride"][holder]] += count
        at += cells


@jit
def list_splits(view: Row, rules: Row, plan: Row, stage: Int) -> None:
    """The ways to split a suit among the holders, by how many each gets."""
    size, cells, end = plan["size"][stage], plan["cells"], plan["first"][stage]
    for cell in range(cells):
        count = plan["ways"][plan["level"][stage] + size * cells + cell]
        given = whole(plan, cell, size) if count > 0 else -1
        if given >= 0 and agrees_with_counts(view, rules, plan, stage, given):
            plan["split"][end], plan["split_at"][end] = given, cell
            plan["split_ways"][end], plan["split_have"][end] = count, gained(rules, plan, stage, given)
            end += 1
    plan["first"][stage + 1] = end


@jit
def agrees_with_counts(view: Row, rules: Row, plan: Row, stage: Int, given: Int) -> Bool:
    """3.5: who has said how many cards of a suit it holds gets as many."""
    suit = np.int64(plan["suit"][stage])
    for holder in range(plan["holders"]):
        seat = plan["holder"][holder]
        if seat != DEAD and view["counted"][seat] >> suit & 1:
            known = popcount(plan["fixed"][seat] & rules["suit_mask"][suit])
            if known + part(given, holder) != view["counts"][seat, suit]:
                return False
    return True


@jit
def gained(rules: Row, plan: Row, stage: Int, given: Int) -> Int:
    """1.6.2: bit per asker that had enough cards of this suit."""
    have = 0
    for asker in range(plan["asked"]):
        holder = np.int64(plan["asker"][asker])
        known = known_of_suit(rules, plan, plan["holder"][holder], plan["suit"][stage])
        have |= (known + part(given, holder) >= rules["redeal"]) << asker
    return have


@inline
def entry(plan: Row, stage: Int, have: Int, cell: Int) -> Int:
    """Where `totals` keeps in how many ways the suits from `stage` on give what a cell says to those who need it.

    It stands there for each set of askers that have had their long suit already.
    """
    return (((stage - 1) << plan["asked"]) + have) * plan["cells"] + cell


@jit
def count_totals(plan: Row) -> None:
    """Fill `totals` from the last suit to the second, then the count of worlds."""
    all_have, last = (1 << plan["asked"]) - 1, SUITS - 1
    plan["totals"][: (last << plan["asked"]) * plan["cells"]] = 0
    for split in range(plan["first"][last], plan["first"][SUITS]):
        for have in range(all_have + 1):
            if have | plan["split_have"][split] == all_have:
                plan["totals"][entry(plan, last, have, plan["split_at"][split])] = plan["split_ways"][split]
    left = plan["size"][last]
    for stage in range(last - 1, 0, -1):
        left += plan["size"][stage]
        for cell in range(plan["cells"]):
            needs = whole(plan, cell, left)
            for have in range(all_have + 1 if needs >= 0 else 0):
                plan["totals"][entry(plan, stage, have, cell)] = completions(plan, stage, have, cell, needs)
    plan["count"] = count_all(plan)


@inline
def after(plan: Row, stage: Int, have: Int, cell: Int, needs: Int, split: Int) -> Int:
    """In how many ways the suits behind this one complete a split of it; 0 where a holder gets more than it needs."""
    if ((needs | GUARD) - plan["split"][split]) & GUARD != GUARD:
        return 0
    return plan["totals"][entry(plan, stage + 1, have | plan["split_have"][split], cell - plan["split_at"][split])]


@jit
def completions(plan: Row, stage: Int, have: Int, cell: Int, needs: Int) -> Int:
    total = 0
    for split in range(plan["first"][stage], plan["first"][stage + 1]):
        total += plan["split_ways"][split] * after(plan, stage, have, cell, needs, split)
    return total


@jit
def count_all(plan: Row) -> Int:
    """The worlds; the sum over the first suit, in floats first, is the only one that can be too large."""
    have, cell, needs, about = plan["have"], plan["at"], plan["needs"], 0.0
    plan["ways_first"] = plan["most_after"] = 0
    for split in range(plan["first"][1]):
        rest = after(plan, 0, have, cell, needs, split)
        about += np.float64(plan["split_ways"][split]) * np.float64(rest)
        plan["ways_first"] += plan["split_ways"][split]
        plan["most_after"] = max(plan["most_after"], rest)
    return LIMIT if about > TOO_MANY else completions(plan, 0, have, cell, needs)
