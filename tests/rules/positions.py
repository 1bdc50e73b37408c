"""The worked positions of docs/RULES.md section 4, and whole hands that lead to them.

In: the rows of the tables, as texts. Out: for a trick position, a deal and a legal history that end in it; for a
scoring position, a deal and forty legal plays with the wanted points. Both are found by seeded search with the
referee, so the engine can be asked at the end of real play instead of in a state put together by hand.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from referee import SUITS, Laws, Referee


@dataclass(frozen=True)
class Position:
    """A trick as it lies (P0 led), the hand of the next seat, and the cards it may play."""

    name: str
    trick: str
    hand: str
    legal: str
    overrides: tuple[tuple[str, object], ...] = ()
    trump: str = "s"
    locked: str = ""  # suits never led earlier in the hand
    unlocked: str = ""  # suits led earlier in the hand
    discarded: str = ""  # suits of which a card was played earlier
    seed: int = 0  # from which `history_to` happens to find a history soon
    later: str = ""  # the cards with which the seats after it complete the trick, where the position says so

    @property
    def changes(self) -> dict[str, object]:
        return dict(self.overrides)


def _with(**overrides: object) -> tuple[tuple[str, object], ...]:
    return tuple(overrides.items())


FORBIDDEN, FORCED, CLIMB = _with(undertrump="forbidden"), _with(undertrump="forced"), _with(climb_over_partner=True)
PLAYED = _with(protected="played")

POSITIONS = [
    Position("G1", "5h Kh", "7d 4d 3c", "4d 3c", locked="d"),
    Position("G1, diamonds led before", "5h Kh", "7d 4d 3c", "7d 4d 3c", unlocked="d"),
    Position("G1, protected off", "5h Kh", "7d 4d 3c", "7d 4d 3c", _with(protected="off"), locked="d"),
    Position("G3", "5h Kh", "7d 7c", "7d 7c", locked="dc", seed=47),
    Position("G3, clubs led before", "5h Kh", "7d 7c", "7c", locked="d", unlocked="c"),
    Position("G4", "Ah 2h", "7d 3s", "3s", locked="d", seed=8),
    Position("G4, forbidden", "Ah 2h", "7d 3s", "3s", FORBIDDEN, locked="d"),
    Position("G5", "4h Ks", "2s 7d 6c", "2s 6c", locked="d", seed=1),
    Position("G5, undertrump forbidden", "4h Ks", "2s 7d 6c", "6c", FORBIDDEN, locked="d", seed=8),
    Position("G5, undertrump forced", "4h Ks", "2s 7d 6c", "2s", FORCED, locked="d", seed=1),
    Position("G5, diamonds led before", "4h Ks", "2s 7d 6c", "2s 7d 6c", unlocked="d", seed=41),
    Position("G7", "Ah 3h", "7h Kh 2h 5s", "7h Kh 2h", seed=46),
    Position("G7, climbing over partner", "Ah 3h", "7h Kh 2h 5s", "7h", CLIMB, seed=6),
    Position("G8", "Ah", "7h 6h 4s", "7h", later="Kh 2h", seed=23),
    Position("G9", "Qh 2s", "7h Ah 3h", "7h Ah 3h"),
    Position("G10", "6c Js", "Qs 4s 7s 5d", "Qs 7s", seed=21),
    Position("G16", "5h 6h Ah", "7h 2h", "7h"),
    Position("1.3.8, a low trump before the seven", "4h Ks", "2s 7d", "2s", FORBIDDEN, locked="d", seed=39),
    Position("1.3.8, the trump seven is free", "Ah 2h", "7s 3d", "7s 3d", seed=12),
    Position("1.3.8, diamonds discarded", "5h Kh", "7d 4d 3c", "4d 3c", locked="d", discarded="d"),
    Position("1.3.8, diamonds discarded, played", "5h Kh", "7d 4d 3c", "7d 4d 3c", PLAYED, locked="d", discarded="d"),
    Position("1.3.8, opponent winning", "4h Ks", "7d 6c", "6c", locked="d", seed=13),
    Position("1.3.8, led and following", "5d", "7d 4d 3c", "7d", locked="d"),
    Position("1.3.1, a protected seven may be led", "", "7d 4d 3c", "7d 4d 3c", locked="d"),
    Position("1.3.2, unable to beat", "Ah", "Kh 2h 5s", "Kh 2h", seed=58),
    Position("1.3.3, trump led", "4s", "Ks 2s 3h", "Ks", seed=38),
    Position("1.3.5, an opponent winning, no trump yet", "5h Kh", "4s 2s 7d", "4s 2s", seed=31),
    Position("1.3.5, no trump held", "Ah", "4d 3c", "4d 3c"),
    Position("1.3.7, void", "Ah 2h", "4s 3d", "4s 3d", seed=3),
    Position("1.3.7, void and climbing", "Ah 2h", "4s 3d", "4s", CLIMB),
    Position("1.3.7, climbing over a ruff", "2h 4s 2s", "Ks 3s", "Ks", CLIMB, seed=45),
]


class Trick(NamedTuple):
    """A whole trick led by P0, with its winner and what it counts."""

    name: str
    cards: str
    trump: str
    winner: int
    points: int


TRICKS = [
    Trick("G8", "Ah 7h Kh 2h", "s", 1, 13),
    Trick("G13", "Kd Ad 7d 2h", "h", 3, 13),
]


class Scoring(NamedTuple):
    """A hand as the scoring table tells it; the dealer's side first in every pair."""

    name: str
    before: tuple[int, int]
    turned: str  # the rank turned up
    points: tuple[int, int]
    at_once: tuple[int, int]  # the score when play begins
    after: tuple[int, int]
    winner: int = -1  # 0 the dealer's side, 1 the opponents, -1 nobody
    zapato: bool = False


SCORINGS = [
    Scoring("S1", (31, 10), "K", (30, 40), (34, 10), (34, 15)),
    Scoring("S2", (33, 33), "K", (33, 37), (33, 33), (33, 35), 1),
    Scoring("S3", (33, 20), "Q", (29, 41), (33, 20), (35, 26), 0),
    Scoring("S5", (33, 20), "Q", (36, 34), (33, 20), (36, 20), 0),
    Scoring("S8", (10, 12), "6", (35, 35), (10, 12), (10, 12)),
    Scoring("S10", (33, 0), "6", (37, 33), (33, 0), (35, 0), 0, True),
]


class History(NamedTuple):
    """A dealing order, the dealer, and plays."""

    order: tuple[str, ...]
    dealer: int
    plays: tuple[str, ...]


def history_to(rules, position: Position) -> History:
    """A legal history of a whole hand that ends with `position` on the table, P0 being seat 0."""
    laws, rng = Laws(rules), random.Random(f"{position.name} {position.seed}")
    for _ in range(200_000):
        found = _try_history(rules, laws, position, rng)
        if found:
            return found
    raise AssertionError(f"no history found for {position.name}")


def _try_history(rules, laws: Laws, position: Position, rng: random.Random) -> History | None:
    trick, hand, later = position.trick.split(), position.hand.split(), position.later.split()
    kept: list[list[str]] = [[card] for card in trick] + [hand] + [[card] for card in later]
    kept += [[] for _ in range(laws.num_seats - len(kept))]
    named = {card for cards in kept for card in cards}
    rest = [card for card in laws.pack if card not in named]
    # cards of suits that must not be led are best kept out of the earlier tricks
    rest.sort(key=lambda card: (card[1] in position.locked) + rng.random())
    for cards in kept:
        while len(cards) < len(hand):
            cards.append(rest.pop())
    rng.shuffle(rest)
    first = laws.hand_size - len(hand)  # tricks before the position
    hands = [cards + rest[at * first : (at + 1) * first] for at, cards in enumerate(kept)]
    dealer = rng.randrange(laws.num_seats)
    trumps = [card for card in hands[dealer] if card[1] == position.trump]
    if not trumps:
        return None
    order = order_for(hands, dealer, rng.choice(trumps), laws)
    return _play_towards(Referee(rules, order, dealer, laws=laws), order, position, kept, first, rng)


def _play_towards(
    game: Referee, order: list[str], position: Position, kept: list[list[str]], tricks: int, rng: random.Random
) -> History | None:
    dealer, plays = game.dealer, []
    for _ in range(tricks * game.laws.num_seats):
        cards = [card for card in game.legal() if card not in kept[game.seat]]
        if not game.trick:
            cards = [card for card in cards if card[1] not in position.locked]
        if not cards:
            return None
        plays.append(rng.choice(cards))
        game.play(plays[-1])
    if game.seat != 0 or not set(position.unlocked) <= game.suits_led:
        return None
    if not set(position.discarded) <= game.suits_played:
        return None
    for card in position.trick.split():
        if card not in game.legal():
            return None
        plays.append(card)
        game.play(card)
    return History(tuple(order), dealer, tuple(plays))


def order_for(hands: Sequence[Sequence[str]], dealer: int, turned: str = "", laws: Laws | None = None) -> list[str]:
    """The dealing order that gives each seat its hand, in its order, and deals `turned` last if one is named.

    Without laws the cards are dealt singly. With a dead hand, that is the last of `hands` (3.7); of piles, each hand is
    the cards face down and then those on them (3.8).
    """
    hands = [list(cards) for cards in hands]
    if turned:
        hands[dealer].remove(turned)
        hands[dealer].append(turned)
    seats = [(dealer + 1 + at) % len(hands) for at in range(len(hands))]
    dealing = laws.dealing(dealer) if laws else seats * len(hands[0])
    cards = [iter(hand) for hand in hands]
    return [next(cards[hand]) for hand in dealing]


@lru_cache
def hand_scoring(rules, turned: str, points: tuple[int, int], dealer: int = 0, seed: int = 0) -> History:
    """A deal and all its plays in which the dealer's side takes points[0], a `turned` being turned up."""
    laws, rng = Laws(rules), random.Random(f"{turned} {points} {dealer} {seed}")
    side = laws.teams[dealer]
    for _ in range(20_000):
        order = list(laws.pack)
        rng.shuffle(order)
        card = turned + rng.choice(SUITS)
        order.remove(card)
        order.append(card)
        game = Referee(rules, order, dealer, laws=laws)
        while not game.hand_over:
            game.play(rng.choice(game.legal()))
        if (game.last_points[side], game.last_points[1 - side]) == points:
            return History(tuple(order), dealer, tuple(play.card for play in game.log))
    raise AssertionError(f"no hand found with {points}")
