"""Deals: (seed, id) -> the dealing order and the dealer of a hand.

Enters: a rule set, a seed, deal ids. Leaves: a structured array of deals. Randomness is counter-based: a deal is a
function of its key alone, so any deal can be made again by itself, whatever the batch it was made in.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from malilla_env.cards import card_name
from malilla_env.compiled import Array, Int, Word, jit, mix
from malilla_env.rules import RuleSet

# What a key is for; keys of different purposes never meet.
PURPOSES = ("deal", "play", "train", "evaluate", "decide")
FIRST_DEALER = 1 << 32  # a counter that no card of a shuffle uses

U32 = np.uint64(32)
LOW32 = np.uint64(0xFFFFFFFF)


@lru_cache(maxsize=4096)
def purpose_key(seed: int, purpose: str) -> np.uint64:
    """The root key of a seed's stream of randomness for one purpose."""
    if purpose not in PURPOSES:
        raise ValueError(f"unknown purpose {purpose!r}: choose one of {', '.join(PURPOSES)}")
    if not 0 <= int(seed) < 1 << 64:
        raise ValueError(f"seed {seed} must be 0 to 2**64 - 1")
    key = np.uint64(mix(np.uint64(0), np.uint64(seed)))  # a compiled function returns an int, and takes none past 2**63
    return np.uint64(mix(key, np.uint64(PURPOSES.index(purpose))))


@jit
def _mixed_keys(root: Word, values: Array, keys: Array) -> None:
    for lane in range(len(values)):
        keys[lane] = mix(root, np.uint64(values[lane]))


def mixed_keys(root: np.uint64, values: NDArray[np.int64]) -> NDArray[np.uint64]:
    """uint64 [B]: one key below a root for each value."""
    keys = np.empty(len(values), np.uint64)
    _mixed_keys(root, np.ascontiguousarray(values), keys)
    return keys


@jit
def below(word: Word, bound: Int) -> Int:
    """A number in 0..bound-1 from the low 32 bits of a word (Lemire 2019); the bias is below bound / 2**32."""
    return np.int64(((word & LOW32) * np.uint64(bound)) >> U32)


@jit
def shuffle(key: Word, cards: Array, count: Int) -> None:
    """Fisher-Yates in place over cards[:count]; each 64-bit word of the key's stream serves two draws."""
    word = np.uint64(0)
    for step in range(count - 1):
        word = word >> U32 if step & 1 else mix(key, np.uint64(step))
        last = count - 1 - step
        chosen = below(word, last + 1)
        swapped = cards[last]
        cards[last] = cards[chosen]
        cards[chosen] = swapped


@jit
def cut(key: Word, num_seats: Int) -> Int:
    """The first dealer: uniform over the seats (RULES 1.2.1)."""
    return below(mix(key, np.uint64(FIRST_DEALER)), num_seats)


@jit
def _fill(root: Word, ids: Array, deck: Array, num_seats: Int, orders: Array, dealers: Array) -> None:
    for lane in range(len(ids)):
        key = mix(root, ids[lane])
        orders[lane, :] = deck
        shuffle(key, orders[lane], len(deck))
        dealers[lane] = cut(key, num_seats)


def deal_dtype(rules: RuleSet) -> np.dtype[np.void]:
    """One deal: `cards`, ids in dealing order, the dealer's right first; `dealer`, a seat."""
    return np.dtype([("cards", "u1", rules.num_cards), ("dealer", "i1")])


def deal(rules: RuleSet, seed: int, ids: Iterable[int]) -> NDArray[np.void]:
    """Deals `ids` of a seed: a structured array [n] of `deal_dtype`.

    Deal i depends on the rule set's deck, the seed and i alone. ValueError: a negative id or a seed outside 64 bits.
    """
    wanted = np.asarray(list(ids), dtype=np.int64)
    if len(wanted) and wanted.min() < 0:
        raise ValueError(f"deal id {wanted.min()} must be 0 or more")
    deals = np.zeros(len(wanted), deal_dtype(rules))
    orders = np.empty((len(wanted), rules.num_cards), np.uint8)
    dealers = np.empty(len(wanted), np.int8)
    deck = np.array(rules.deck, np.uint8)
    _fill(purpose_key(seed, "deal"), wanted.astype(np.uint64), deck, rules.num_seats, orders, dealers)
    deals["cards"], deals["dealer"] = orders, dealers
    return deals


def check_deals(rules: RuleSet, deals: NDArray[np.void]) -> None:
    """ValueError unless each row deals every card of the deck once, by a dealer that has a seat."""
    if not isinstance(deals, np.ndarray) or deals.dtype.names != ("cards", "dealer") or deals.ndim != 1:
        raise ValueError("deals must be a 1-D structured array with the fields cards and dealer, as deal() makes it")
    cards = deals["cards"]
    if cards.shape[1:] != (rules.num_cards,):
        raise ValueError(f"a deal of {rules.name} has {rules.num_cards} cards, not {cards.shape[1:]}")
    wrong = np.flatnonzero((np.sort(cards, axis=1) != np.array(rules.deck)).any(axis=1))
    if len(wrong):
        row = int(wrong[0])
        missing = sorted(set(rules.deck) - set(cards[row].tolist()))
        raise ValueError(f"deal {row} is not the whole deck: it lacks {' '.join(card_name(rules, c) for c in missing)}")
    wrong = np.flatnonzero((deals["dealer"] < 0) | (deals["dealer"] >= rules.num_seats))
    if len(wrong):
        raise ValueError(
            f"deal {int(wrong[0])}: dealer {deals['dealer'][wrong[0]]} is not a seat 0..{rules.num_seats - 1}"
        )
