"""The tree of a search: what was tried from a moment on, by all seats, and what it brought whoever did it.

Enters: legal actions as masks, values by side. Leaves: which action to try next. A node stands for a sequence of
actions from the root, whatever the hidden cards: every action is public, so that is what the observer would know (an
information set), but for cards turned up on the way (3.8), in which positions that share a node may differ. A node's
children are the actions that were legal in one of the worlds met, and a child is compared with its brothers by how
often it was *available* (Cowling, Powley and Whitehouse 2012, "Information Set Monte Carlo Tree Search", IEEE
Transactions on Computational Intelligence and AI in Games 4(2)).
"""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from malilla_env.compiled import Array, Int, Word, inline, popcount, select
from malilla_env.deals import below
from malilla_env.state import NONE, ONE, ZERO, bit

Real = Any  # a float, for the reader

ROOT = 0
NODE = np.dtype(
    [
        ("value", "f8"),  # sum of what the visits brought the side that acted
        ("tried", "u8", 2),  # actions that have a child: cards; others
        ("first", "i4"),  # the child made last, ROOT for none
        ("next", "i4"),  # the brother made before this one, ROOT for none
        ("visits", "i4"),
        ("available", "i4"),  # visits of the parent in which this action was legal
        ("action", "i2"),
        ("side", "i2"),  # that acted
    ],
    align=True,
)


def new_tree(iterations: int) -> NDArray[np.void]:
    """[iterations + 1] of NODE: room for one node an iteration, of which the root is made."""
    tree = np.empty(iterations + 1, NODE)
    tree[ROOT] = np.zeros((), NODE)
    return tree


@inline
def best_child(tree: Array, at: Int, cards: Word, others: Word, first_other: Int, exploration: Real) -> Int:
    """Of the children that are legal now, each counted as available, the one of the highest upper confidence bound.

    The bound is mean + exploration * sqrt(log(available) / visits). NONE where no child is legal.
    """
    best: Int = NONE
    best_bound = -np.inf
    child = np.int64(tree[at]["first"])
    while child != ROOT:
        action = np.int64(tree[child]["action"])
        legal = cards >> np.uint64(action) if action < first_other else others >> np.uint64(action - first_other)
        if legal & ONE != ZERO:
            available, visits = tree[child]["available"] + 1, np.float64(tree[child]["visits"])
            tree[child]["available"] = available
            bound = tree[child]["value"] / visits + exploration * sqrt(log(np.float64(available)) / visits)
            if bound > best_bound:
                best, best_bound = child, bound
        child = np.int64(tree[child]["next"])
    return best


@inline
def untried(tree: Array, at: Int, cards: Word, others: Word, first_other: Int, word: Word) -> Int:
    """One of the legal actions that have no child yet, drawn by a random word; NONE where all have one."""
    cards &= ~tree[at]["tried"][0]
    others &= ~tree[at]["tried"][1]
    num_cards, num_others = popcount(cards), popcount(others)
    if num_cards + num_others == 0:
        return NONE
    chosen = below(word, num_cards + num_others)
    return select(cards, chosen) if chosen < num_cards else first_other + select(others, chosen - num_cards)


@inline
def add_child(tree: Array, at: Int, new: Int, action: Int, first_other: Int, side: Int) -> None:
    """Node number `new` becomes a child of `at`: this action, by this side, legal once and not yet visited."""
    if action < first_other:
        tree[at]["tried"][0] |= bit(action)
    else:
        tree[at]["tried"][1] |= bit(action - first_other)
    tree[new]["value"], tree[new]["visits"], tree[new]["available"] = 0.0, 0, 1
    tree[new]["tried"][0] = tree[new]["tried"][1] = ZERO
    tree[new]["first"], tree[new]["next"] = ROOT, tree[at]["first"]
    tree[new]["action"], tree[new]["side"] = action, side
    tree[at]["first"] = new


@inline
def back_up(tree: Array, path: Array, length: Int, values: Array) -> None:
    """The nodes of a path were visited, and the hand ended with these values by side."""
    for step in range(length):
        node = path[step]
        tree[node]["visits"] += 1
        tree[node]["value"] += values[tree[node]["side"]]


@inline
def most_visited(tree: Array) -> Int:
    """The action of the root that was tried most, of equals the lowest id."""
    best: Int = NONE
    most: Int = -1
    child = np.int64(tree[ROOT]["first"])
    while child != ROOT:
        visits, action = np.int64(tree[child]["visits"]), np.int64(tree[child]["action"])
        if visits > most or (visits == most and action < best):
            best, most = action, visits
        child = np.int64(tree[child]["next"])
    return best
