"""Worlds: the deals that a View leaves possible, each drawn with the same chance.

Enters: Views, keys. Leaves: how many worlds a View has; some of them, as deals; and as games in which the View's plays
have been made. What a world is, and how they are counted, tells `plan.py`; how one is drawn, `draw.py`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from agents.search.draw import draw_world, lay_deck
from agents.search.plan import PLAN, is_sound, plan_worlds
from malilla_env import RuleSet, engine
from malilla_env.compiled import Array, Bool, Int, Row, jit, mix
from malilla_env.deals import check_deals, deal_dtype
from malilla_env.state import NONE, OVER, STATE
from malilla_env.table import MAX_SEATS
from malilla_env.view import VIEW, fill_view


# --- many Views
@jit
def _sound(views: Array, table: Array, sound: Array) -> None:
    for lane in range(len(views)):
        sound[lane] = is_sound(views[lane], table[0])


@jit
def _count(views: Array, table: Array, plan: Row, counts: Array) -> None:
    for lane in range(len(views)):
        counts[lane] = plan_worlds(views[lane], table[0], plan)


@jit
def _sample(views: Array, table: Array, keys: Array, plan: Row, row: Row, orders: Array) -> Int:
    """Fill orders [B, K, cards]; answers the first View that has no world, or -1."""
    rules = table[0]
    for lane in range(len(views)):
        if plan_worlds(views[lane], rules, plan) == 0:
            return lane
        for world in range(orders.shape[1]):
            draw_world(plan, rules, mix(keys[lane], np.uint64(world)), row)
            if rules["piles"] == 0:
                lay_deck(plan, rules, row)
            for place in range(orders.shape[2]):
                orders[lane, world, place] = row["deck"][place]
    return NONE


def count_worlds(rules: RuleSet, views: NDArray[np.void]) -> NDArray[np.int64]:
    """int64 [B]: how many worlds each View (VIEW [B]) has; 0 for a row that is no View of a seat under these rules.

    2**63 - 1 stands for as many or more: no preset has them. Of piles only the ways are counted in which the unseen
    cards can lie, not what else may have happened: see `piles.py`.
    """
    _check_views(views)
    counts = np.zeros(len(views), np.int64)
    _count(views, rules.table, np.zeros(1, PLAN)[0], counts)
    return counts


def sample(rules: RuleSet, views: NDArray[np.void], keys: NDArray[np.uint64], count: int) -> NDArray[np.void]:
    """deal_dtype(rules) [B, count]: worlds of each View (VIEW [B]), independent, each of its worlds equally likely.

    World k of a View depends on its key (uint64 [B]) and k alone; the same world is always the same row. ValueError:
    a View that has no world, or is none of a seat under these rules.
    """
    _check_views(views)
    _check_keys(views, keys)
    if count < 0:
        raise ValueError(f"count {count} must be 0 or more")
    deals = np.zeros((len(views), count), deal_dtype(rules))
    orders = np.zeros((len(views), count, rules.num_cards), np.uint8)
    plan, row = np.zeros(1, PLAN), np.zeros(1, STATE)
    lane = int(_sample(views, rules.table, keys, plan[0], row[0], orders))
    if lane != NONE:
        raise ValueError(f"view {lane} has no world: it is not the View that a seat has of a game of {rules.name}")
    deals["cards"], deals["dealer"] = orders, views["dealer"][:, None]
    return deals


def check_views(rules: RuleSet, views: NDArray[np.void], keys: NDArray[np.uint64]) -> None:
    """ValueError unless views (VIEW [B]) are of these rules, where something may be done, and keys uint64 [B]."""
    _check_views(views)
    _check_keys(views, keys)
    _check_sound(rules, views, (views["legal"] != 0).any(axis=1))


def _check_sound(rules: RuleSet, views: NDArray[np.void], asked: NDArray[np.bool_]) -> None:
    sound = np.zeros(len(views), np.bool_)
    _sound(views, rules.table, sound)
    wrong = np.flatnonzero(asked & ~sound)
    if len(wrong):
        raise ValueError(f"view {wrong[0]} is not the View that a seat has of a game of {rules.name}")


def _check_keys(views: NDArray[np.void], keys: NDArray[np.uint64]) -> None:
    if not isinstance(keys, np.ndarray) or keys.shape != (len(views),) or keys.dtype != np.uint64:
        raise ValueError(f"keys must be uint64 of shape ({len(views)},)")


def _check_views(views: NDArray[np.void]) -> None:
    if not isinstance(views, np.ndarray) or views.dtype != VIEW or views.ndim != 1:
        raise ValueError("views must be a 1-D array of VIEW rows, as GameBatch.views makes it")


# --- the games of worlds
@jit
def deal_view(view: Row, rules: Row, row: Row) -> None:
    """Begin the hand of a View in `row`, which is all zeros but for its `deck`: an episode of this hand alone."""
    engine.start_episode(row)
    row["one_hand"] = True
    row["dealer"], row["hand_number"], row["albur_seat"] = view["dealer"], view["hand_number"], view["albur_seat"]
    engine.deal_hand(row, rules)
    row["paid_bonus"] += row["waiting_bonus"] - view["waiting_bonus"]
    keep_accounts(view, row)


@jit
def keep_accounts(view: Row, row: Row) -> None:
    """What went before the hand, and what waits for its end."""
    for team in range(MAX_SEATS):
        row["match_score"][team] = view["match_score"][team]
    for drawn in range(2):
        row["albur_cards"][drawn] = view["albur_cards"][drawn]
    row["waiting_albur"], row["waiting_bonus"] = view["waiting_albur"], view["waiting_bonus"]


@jit
def is_next(view: Row, play: Int, rules: Row, row: Row) -> Bool:
    """Whether a play of the View is what may be done in `row`."""
    return row["seat"] == view["play_seats"][play] and engine.is_legal(row, rules, np.int64(view["plays"][play]))


@jit
def play_next(view: Row, play: Int, rules: Row, row: Row) -> None:
    """A step of the engine, compiled once for all that replay Views."""
    engine.step(row, rules, np.int64(view["plays"][play]))


@jit
def replay_view(view: Row, rules: Row, row: Row) -> Bool:
    """Play what a View has seen in `row`, which is all zeros but for its `deck`; False if the rules forbid it."""
    deal_view(view, rules, row)
    for play in range(view["num_plays"]):
        if not is_next(view, play, rules, row):
            return False
        play_next(view, play, rules, row)
    if view["phase"] == OVER:
        if not row["done"]:  # after an illegal play, which nobody records
            engine.finish(row, NONE)
        keep_accounts(view, row)  # the score is that after the hand
    elif view["turn"] == view["seat"]:  # what was called off too often cannot be again
        row["legal"][1] &= view["legal"][1]
    return True


@jit
def _states(views: Array, table: Array, orders: Array, state: Array, again: Array) -> Int:
    """The games after the Views' plays and what the viewers see of them; answers the first that cannot be, or -1."""
    rules, worlds = table[0], orders.shape[1]
    for lane in range(len(views)):
        for world in range(worlds):
            row = state[lane * worlds + world]
            for place in range(orders.shape[2]):
                row["deck"][place] = orders[lane, world, place]
            if not replay_view(views[lane], rules, row):
                return lane * worlds + world
            fill_view(row, rules, views[lane]["seat"], again[lane * worlds + world])
    return NONE


def states(rules: RuleSet, views: NDArray[np.void], deals: NDArray[np.void]) -> NDArray[np.void]:
    """STATE [B * K]: the games that the viewers of Views (VIEW [B]) would be in, had deals [B, K] been dealt.

    Each is an episode of this hand alone, so that it is over when the hand is: the score is the View's, and who won a
    game that is over is not told. What a later deal would come from (`stream_key` and the like) is 0, `attempt` too.
    ValueError: a deal from which the View's plays are not legal, or from which its viewer would see anything else.
    """
    check_worlds(rules, views, deals)
    worlds = deals.shape[1]
    state, again = np.zeros(deals.size, STATE), np.zeros(deals.size, VIEW)
    failed = int(_states(views, rules.table, np.ascontiguousarray(deals["cards"]), state, again))
    if failed != NONE:
        raise ValueError(f"view {failed // worlds}: its plays are not legal from deal {failed % worlds}")
    differ = again != np.repeat(views, worlds)
    if differ.any():
        odd = int(np.flatnonzero(differ)[0])
        names = [name for name in VIEW.names or () if (again[name][odd] != views[name][odd // worlds]).any()]
        raise ValueError(f"view {odd // worlds}: after its plays from deal {odd % worlds} {', '.join(names)} differ")
    return state


def check_worlds(rules: RuleSet, views: NDArray[np.void], deals: NDArray[np.void]) -> None:
    """ValueError unless deals [B, K] can be worlds of Views [B] by their shapes, cards and dealers."""
    _check_views(views)
    if not isinstance(deals, np.ndarray) or deals.ndim != 2 or len(deals) != len(views):
        raise ValueError(f"deals must be an array [{len(views)}, K], as sample() makes it")
    check_deals(rules, deals.reshape(-1))
    if (deals["dealer"] != views["dealer"][:, None]).any():
        raise ValueError("deals must be dealt by the dealer of their View")
    _check_sound(rules, views, np.ones(len(views), np.bool_))
