"""The worked positions of docs/RULES.md section 4 for the games of sections 1.6, 2 and 3, and hands that lead to them.

In: the rows of the tables, as texts. Out: for a hand's outcome, a deal and its actions, found by seeded search with the
referee; for a position in a trick see `positions.history_to`. Seat 0 sits on the dealer's right, so its side is the one
that a row names first; `rotated` gives the same hand to the other seats.
"""

from __future__ import annotations

import random
from functools import lru_cache
from typing import NamedTuple

from positions import History, Position
from referee import SUITS, Laws, Referee

EXEMPT = (("climb_over_partner", False),)

# The rule set, and a position in a trick of it.
POSITIONS = [
    ("manille", Position("M1", "Ah 9h", "8s 7d Kc", "8s", seed=1)),
    ("manille", Position("M1, partner exempt", "Ah 9h", "8s 7d Kc", "8s 7d Kc", EXEMPT, seed=4)),
    ("manille", Position("M2", "Kh Qs", "Js 9s Ad", "Js 9s")),
    (
        "manille",
        Position("M2, undertrump optional", "Kh Qs", "Js 9s Ad", "Js 9s Ad", (("undertrump", "optional"),), seed=10),
    ),
    (
        "manille",
        Position("M2, undertrump forbidden", "Kh Qs", "Js 9s Ad", "Ad", (("undertrump", "forbidden"),), seed=10),
    ),
    ("manille", Position("2.3, beat", "9h", "Th Kh 8h", "Th Kh", seed=3)),
    ("manille", Position("2.3, unable to beat", "Th", "Kh 8h 8s", "Kh 8h", seed=7)),
    ("manille", Position("2.3, beat partner", "Ah 9h", "Th Kh 8s", "Th", seed=5)),
    ("manille", Position("2.3, beat partner, exempt", "Ah 9h", "Th Kh 8s", "Th Kh", EXEMPT)),
    ("manille", Position("2.3, overtrump", "Kh Js", "Qs 9s Ad", "Qs", seed=5)),
    ("manille", Position("2.3, a trumped trick is followed", "8h Js", "Ah 7h Ts", "Ah 7h", seed=5)),
    ("manille", Position("2.3, trumps led", "9s", "Ts 8s Ad", "Ts", seed=9)),
    ("manille", Position("2.3, no trump", "Ah", "Td 7d 8c", "Td 7d 8c", locked="d")),
    ("manille", Position("2.4, overtrump partner", "9h 8s Ah", "Js 7s Kd", "Js", seed=6)),
    ("manille", Position("2.4, overtrump partner, exempt", "9h 8s Ah", "Js 7s Kd", "Js 7s Kd", EXEMPT, seed=4)),
    ("manille", Position("2.4, partner's trump too high", "9h Ts Ah", "Js 7s Kd", "Js 7s", seed=7)),
    ("manille", Position("2.4, an opponent wins, exempt", "9h Ah", "Th Kh 8s", "Th", EXEMPT)),
    ("manille", Position("2.4, an opponent wins, void, exempt", "9h Ah", "8s 7d Kc", "8s", EXEMPT, seed=4)),
    ("manilla-48", Position("3.1, beat with the nine", "Ah", "9h 8h 2h", "9h", seed=11)),
    ("manilla-48", Position("3.1, partner wins", "Ah 3h", "9h Kh 2h", "9h Kh 2h", seed=9)),
    ("manilla-48", Position("3.1, no card is protected", "Ah 3h", "9d 8d 2s", "9d 8d 2s", locked="d")),
    ("manilla-48", Position("3.1, a trump too low", "4h Ks", "2s 9d", "2s 9d", seed=4)),
    ("malilla-espanola", Position("3.2, beat partner", "Ah 2h", "7h Kh", "7h")),
    ("malilla-espanola", Position("3.2, undertrump", "Kh Qs", "3s 2d", "3s", seed=3)),
    ("malilla-nueve", Position("3.3, beat partner", "Ah 2h", "9h 7h", "9h")),
    ("malilla-nueve", Position("3.3, undertrump", "Kh Qs", "3s 2d", "3s", seed=4)),
    ("manille-3", Position("3.7, trump", "Ah 9h", "8s 7d Kc", "8s", seed=1)),
    ("manille-3", Position("3.7, nobody is exempt", "Ah 9h", "8s 7d Kc", "8s", EXEMPT)),
    ("manille-3", Position("3.7, beat", "Ah 9h", "Th Kh 8s", "Th", EXEMPT, seed=7)),
]


class Outcome(NamedTuple):
    """A hand as a scoring table tells it; in every row of numbers the side of the dealer's right comes first."""

    name: str
    ruleset: str
    changes: tuple[tuple[str, object], ...]
    before: tuple[int, ...]
    points: tuple[int, ...]  # that each side takes
    after: tuple[int, ...]
    winner: int = -1  # its place in the row
    opening: str = ""  # actions before the first lead
    zapato: bool = False
    seed: int = 0  # from which `hand_taking` happens to find a hand soon


PAYS, AGAIN, ONE_MORE = (("loser_pays", True),), (("redeal_level", True),), (("last_trick_bonus", 1),)


def _bid(points: int) -> str:
    return f"bid-{points} pass pass pass trump-hearts"


OUTCOMES = [
    Outcome("M6", "manille", (), (0, 0), (36, 24), (6, 0)),
    Outcome("M6, the loser pays", "manille", PAYS, (0, 0), (36, 24), (6, -6)),
    Outcome("M7", "manille", (), (12, 20), (30, 30), (12, 20)),
    Outcome("M7, dealt again", "manille", AGAIN, (12, 20), (30, 30), (12, 20)),
    Outcome("M7, the loser pays", "manille", PAYS, (12, 20), (30, 30), (12, 20)),
    Outcome("M8", "manille", (), (98, 90), (33, 27), (101, 90), 0),
    Outcome("M9", "manille", PAYS, (98, 4), (36, 24), (104, -2), 0, zapato=True),
    Outcome("2.7, thirty and thirty-one", "manille", ONE_MORE, (0, 0), (30, 31), (0, 1)),
    Outcome("E1", "manille-encheres", (), (0, 0), (38, 22), (8, 0), opening=_bid(35)),
    Outcome("E2", "manille-encheres", (), (0, 0), (35, 25), (5, 0), opening=_bid(35)),
    Outcome("E3", "manille-encheres", (), (0, 0), (34, 26), (0, 5), opening=_bid(35)),
    Outcome("E3, the loser pays", "manille-encheres", PAYS, (0, 0), (34, 26), (-5, 5), opening=_bid(35)),
    Outcome("E1, the loser pays", "manille-encheres", PAYS, (0, 0), (38, 22), (8, -8), opening=_bid(35)),
    Outcome("E4", "manille-encheres", (), (0, 0), (25, 35), (0, 10), opening=_bid(40)),
    Outcome("3.6.4, thirty each", "manille-encheres", (), (0, 0), (30, 30), (0, 1), opening=_bid(31)),
    Outcome("3.6.4, failed and won", "manille-encheres", (), (100, 96), (34, 26), (100, 101), 1, opening=_bid(35)),
    Outcome("C1", "manille-3", (), (0, 0, 0), (25, 20, 15), (5, 0, 0), seed=7),
    Outcome("C2", "manille-3", (), (0, 0, 0), (22, 21, 17), (2, 1, 0)),
    Outcome("C3", "manille-3", (), (96, 95, 40), (27, 26, 7), (103, 101, 40), 0, seed=16),
    Outcome("C4", "manille-3", (), (95, 96, 40), (27, 26, 7), (102, 102, 40), seed=16),
    Outcome("D1", "manille-3-dead", (), (0, 0, 0), (20, 15, 10), (0, 0, 0), seed=13),
    Outcome("D2", "manille-3-dead", (), (0, 0, 0), (24, 12, 9), (4, 0, 0)),
    Outcome("3.8.5", "manille-2", (), (10, 20), (34, 26), (14, 20)),
    Outcome("3.8.5, level", "manille-2", (), (10, 20), (30, 30), (10, 20)),
    Outcome("3.1, the neutral half", "manilla-48", (("dealer_bonus", False),), (0, 0), (37, 35), (1, 0)),
    Outcome("3.1, target", "manilla-48", (("dealer_bonus", False),), (37, 9), (39, 33), (40, 9), 0),
    Outcome("3.2", "malilla-espanola", (), (0, 0), (33, 27), (3, 0)),
    Outcome("3.3", "malilla-nueve", (), (0, 0), (33, 27), (3, 0)),
]


class Albur(NamedTuple):
    """A draw before the first hand, and what comes of it."""

    name: str
    drawn: str  # by the dealer's right, by the dealer
    before: tuple[int, int]
    at_once: tuple[int, int]  # the score when play begins
    leader: int  # counted from the dealer's right
    turned: str = "6"
    points: tuple[int, int] = ()
    after: tuple[int, int] = ()
    winner: int = -1


ALBURS = [
    Albur("L1", "7c Ks", (0, 0), (5, 0), 0),
    Albur("L2", "Qs Kc", (0, 0), (0, 5), 3),
    Albur("L3", "7c Ks", (31, 10), (31, 10), 0, "6", (34, 36), (36, 11), 0),
    Albur("L4", "7c Ks", (31, 33), (31, 33), 0, "6", (33, 37), (31, 35), 1),
    Albur("L5", "Qs Kc", (20, 33), (20, 33), 3, "K", (36, 34), (21, 38), 1),
]


@lru_cache
def hand_taking(
    rules, points: tuple[int, ...], opening: str = "", turned: str = "", albur: tuple[str, ...] = (), seed: int = 0
) -> History:
    """A deal and all its actions in which the sides take `points`; the last seat deals and turns a `turned` up."""
    laws, rng = Laws(rules), random.Random(f"{points} {opening} {turned} {seed}")
    for _ in range(50_000):
        order = list(laws.pack)
        rng.shuffle(order)
        if turned:
            card = turned + rng.choice(SUITS)
            order.remove(card)
            order.append(card)
        game = Referee(rules, order, laws.num_seats - 1, laws=laws, albur=albur)
        actions = _play(game, opening, rng)
        if tuple(game.last_points) == points:
            return History(tuple(order), laws.num_seats - 1, tuple(actions))
    raise AssertionError(f"no hand found with {points}")


def _play(game: Referee, opening: str, rng: random.Random) -> list[str]:
    actions = opening.split()
    for action in actions:
        game.play(action)
    while not game.hand_over:
        actions.append(rng.choice(game.legal()))
        game.play(actions[-1])
    return actions


def rotated(rules, history: History, shift: int) -> History:
    """The same hand, every seat's cards and plays being those of the seat `shift` places before."""
    return history._replace(dealer=(history.dealer + shift) % rules.num_seats)


def sides_in_turn(rules, shift: int) -> list[int]:
    """The sides in the order of a row, in a hand rotated by `shift`."""
    return [rules.teams[(shift + at) % rules.num_seats] for at in range(rules.num_teams)]


@lru_cache
def last_trick_after(rules, cards: str, points: tuple[int, int], seed: int = 0) -> History:
    """A hand whose last trick is `cards` in their order, led by seat 1, the sides having taken `points` before it."""
    laws, rng = Laws(rules), random.Random(f"{cards} {points} {seed}")
    trick = cards.split()
    seats = [(1 + at) % laws.num_seats for at in range(len(trick))]
    for _ in range(200_000):
        order = list(laws.pack)
        rng.shuffle(order)
        game = Referee(rules, order, laws.num_seats - 1, laws=laws)
        if any(card not in game.hands[seat] for seat, card in zip(seats, trick, strict=True)):
            order = _exchanged(order, game, dict(zip(seats, trick, strict=True)))
            game = Referee(rules, order, laws.num_seats - 1, laws=laws)
        actions: list[str] = []
        while free := [card for card in game.legal() if card not in trick]:
            actions.append(rng.choice(free))
            game.play(actions[-1])
        fits = len(actions) == len(laws.pack) - len(trick) and game.seat == 1
        if fits and tuple(game.hand_points) == points:
            return History(tuple(order), laws.num_seats - 1, (*actions, *trick))
    raise AssertionError(f"no hand found that ends with {cards}")


def _exchanged(order: list[str], game: Referee, wanted: dict[int, str]) -> list[str]:
    """The dealing order in which each seat has got its wanted card for the first of its own that nobody wants."""
    order = list(order)
    for seat, card in wanted.items():
        mine = next(own for own in game.hands[seat] if own not in wanted.values() or own == card)
        here, there = order.index(mine), order.index(card)
        order[here], order[there] = order[there], order[here]
        holder = next(hand for hand in game.hands if card in hand)
        holder[holder.index(card)] = mine
        game.hands[seat][game.hands[seat].index(mine)] = card
    return order
