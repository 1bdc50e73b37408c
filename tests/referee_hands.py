"""What a seat's own actions tell about its hand: the search behind `Referee.cannot_hold`.

In: the laws of one trick, what a seat played and said, the cards that may lie with it. Out: the cards that some hand
holds which explains it all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from referee_phases import Said, longest, told_card, told_count


def explains(laws, trump: str, mine: Sequence, rest: Sequence[str], more: Sequence[str] = ()) -> bool:
    """Whether each of a seat's actions was legal, had it still held `rest` after the last of them.

    At each action the hand was what the seat played from then on, and `rest`. With `more`, `rest` is part of a hand:
    whether it may still become a whole one that explains all, as far as one can tell, by adding cards of `more`.
    """
    held = list(rest)
    for action in reversed(mine):
        if isinstance(action, Said):
            if not true(laws, action.text, held, more):
                return False
            continue
        held.append(action.card)
        legal, _ = laws.legal(action.seat, held, action.trick, trump, action.suits_led, action.suits_played)
        if action.card not in legal:
            return False
    return True


def true(laws, text: str, held: Sequence[str], more: Sequence[str]) -> bool:
    """Whether what was said is true of `held`, or may be with some of `more` added. Asking says: a suit is long."""
    if number := told_count(text):
        suit, count = number
        least = sum(card[1] == suit for card in held)
        return least <= count <= least + sum(card[1] == suit for card in more)
    if card := told_card(text):
        return card in held or card in more
    return text != "ask" or longest([*held, *more]) >= laws.rules.redeal


def holdable(laws, trump: str, mine: Sequence, pool: Sequence[str], known: Sequence[str], size: int) -> set[str]:
    """The cards that some possible hand holds: `known` and others of `pool`, `size` in all, explaining every action.

    A search for a whole hand, card by card. It cuts a branch as soon as part of a hand explains the actions no more,
    which is sound because giving a seat further cards never makes a play of its legal that was not
    (tests/rules/test_referee.py checks that, and this search against trying every hand of a small pack).
    """
    found: set[str] = set()
    for card in [*known, *pool]:
        if card not in found:
            start = list(known) if card in known else [*known, card]
            found.update(next(_hands(laws, trump, mine, start, [other for other in pool if other != card], size), ()))
    return found


def _hands(laws, trump: str, mine: Sequence, hand: list[str], pool: Sequence[str], size: int) -> Iterator[list[str]]:
    """The hands of `size` cards that hold `hand` and otherwise cards of `pool`, and explain every action."""
    missing = size - len(hand)
    if missing < 0 or missing > len(pool) or not explains(laws, trump, mine, hand, pool if missing else ()):
        return
    if not missing:
        yield hand
        return
    for at, card in enumerate(pool):
        yield from _hands(laws, trump, mine, [*hand, card], pool[at + 1 :], size)


def holdable_by_trying_all(
    laws, trump: str, mine: Sequence, pool: Sequence[str], known: Sequence[str], size: int
) -> set[str]:
    """`holdable` by its definition alone: every hand is tried. For small packs and short endings."""
    found: set[str] = set()
    for others in combinations(pool, size - len(known)) if size >= len(known) else ():
        hand = [*known, *others]
        if explains(laws, trump, mine, hand):
            found.update(hand)
    return found
