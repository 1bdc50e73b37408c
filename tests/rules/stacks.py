"""How deals are stacked and actions are chosen, so that rare rules are met.

In: the referee's laws, or a game and its legal actions; a random stream. Out: a dealing order and a dealer; an action.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from positions import order_for
from referee import SUITS, Laws, Referee

Choice = Callable[[Referee, Sequence[str], random.Random], str]
Stack = Callable[[Laws, random.Random], tuple[list[str], int]]

# ---- how deals are stacked -------------------------------------------------------------------------------------------


def shuffled(laws: Laws, rng: random.Random) -> tuple[list[str], int]:
    order = list(laws.pack)
    rng.shuffle(order)
    return order, rng.randrange(laws.num_seats)


def one_strong_side(laws: Laws, rng: random.Random) -> tuple[list[str], int]:
    """The high cards lie with one side: capotes."""
    strong = rng.randrange(laws.num_teams)
    cards = sorted(laws.pack, key=lambda card: laws.strength[card] + 3 * rng.random())
    hands = sorted(range(_hands(laws)), key=lambda hand: hand < laws.num_seats and laws.teams[hand] == strong)
    return _order(laws, _blocks(laws, cards, hands), rng)


def long_suits(laws: Laws, rng: random.Random) -> tuple[list[str], int]:
    """Hands of few suits: ruffs, overruffs, discards and trumps that are too low."""
    cards = sorted(laws.pack, key=lambda card: SUITS.index(card[1]) + 2.5 * rng.random())
    return _order(laws, _blocks(laws, cards, _any_order(laws, rng)), rng)


def whole_suits(laws: Laws, rng: random.Random) -> tuple[list[str], int]:
    """As good as one suit in each hand: many cards of it are asked with, told and named."""
    cards = sorted(laws.pack, key=lambda card: SUITS.index(card[1]) + 1.1 * rng.random())
    return _order(laws, _blocks(laws, cards, _any_order(laws, rng)), rng)


def strong_against_dealer(laws: Laws, rng: random.Random) -> tuple[list[str], int]:
    """The high cards lie with the sides that do not deal."""
    while True:
        order, dealer = one_strong_side(laws, rng)
        holders = [hand for card, hand in zip(order, laws.dealing(dealer), strict=True) if card[0] == laws.malilla]
        dealers_own = sum(hand < laws.num_seats and laws.partner(dealer, hand) for hand in holders)
        if dealers_own < len(holders) / 2:
            return order, dealer


def sevens_together(laws: Laws, rng: random.Random) -> tuple[list[str], int]:
    """One seat holds the sevens and is short of their suits and of the rest: forced sevens."""
    seat, suits = rng.randrange(laws.num_seats), list(SUITS)
    rng.shuffle(suits)
    held = rng.randint(2, 4)
    wanted = [laws.malilla + suit for suit in suits[:held] if laws.malilla + suit in laws.pack]
    others = [card for card in laws.pack if card not in wanted]
    # mostly low cards of the suit left over, so that the sevens stay to the end
    long_suit = suits[3]
    worth = {card: 2 * (card[1] == long_suit) + 1.5 * rng.random() - laws.strength[card] / 10 for card in others}
    others.sort(key=worth.__getitem__, reverse=True)
    hand = [*wanted, *others[: laws.hand_size - len(wanted)]]
    rest = [card for card in laws.pack if card not in hand]
    rng.shuffle(rest)
    hands = _blocks(laws, rest, [other for other in range(_hands(laws)) if other != seat])
    hands[seat] = hand
    return _order(laws, hands, rng)


def _hands(laws: Laws) -> int:
    """Hands dealt, the dead one included."""
    return len(laws.pack) // laws.hand_size


def _any_order(laws: Laws, rng: random.Random) -> list[int]:
    return rng.sample(range(_hands(laws)), _hands(laws))


def _blocks(laws: Laws, cards: Sequence[str], hands: Sequence[int]) -> dict[int, list[str]]:
    size = laws.hand_size
    return {hand: list(cards[at * size : (at + 1) * size]) for at, hand in enumerate(hands)}


def _order(laws: Laws, hands: dict[int, list[str]], rng: random.Random) -> tuple[list[str], int]:
    dealer = rng.randrange(laws.num_seats)
    in_turn = [hands[hand] for hand in sorted(hands)]
    for cards in in_turn:
        rng.shuffle(cards)
    return order_for(in_turn, dealer, laws=laws), dealer


# ---- how actions are chosen ------------------------------------------------------------------------------------------


def at_random(game: Referee, legal: Sequence[str], rng: random.Random) -> str:
    return rng.choice(legal)


def speaking(choose: Choice) -> Choice:
    """A chooser of cards that asks mostly, bids now and then and not much, and speaks at random."""

    def choice(game: Referee, legal: Sequence[str], rng: random.Random) -> str:
        if game.phase == "play":
            return choose(game, legal, rng)
        if game.phase == "bid":
            return legal[0] if rng.random() < 0.6 else legal[min(int(rng.expovariate(0.2)) + 1, len(legal) - 1)]
        return legal[-1] if game.phase == "ask" and rng.random() < 0.7 else rng.choice(legal)

    return choice


cautious = speaking(at_random)


def one_low_bid(game: Referee, legal: Sequence[str], rng: random.Random) -> str:
    """Bids as little as possible, and nothing once somebody has: bids that are just made, or just not."""
    if game.phase == "bid":
        return legal[0] if game.bid else legal[1]
    return rng.choice(legal)


def never_play(game: Referee, legal: Sequence[str], rng: random.Random) -> str:
    """Calls every deal off that it can: asks, agrees, passes."""
    return {"ask": legal[-1], "consent": "agree", "bid": "pass"}.get(game.phase) or rng.choice(legal)


@speaking
def greedy(game: Referee, legal: Sequence[str], rng: random.Random) -> str:
    """The strongest card when an opponent wins or it leads, else the weakest."""
    strength = game.laws.strength
    if game.best and game.laws.partner(game.seat, game.best[0]):
        return min(legal, key=lambda card: (card[1] == game.trump, strength[card]))
    return max(legal, key=lambda card: (card[1] == game.trump, strength[card]))


@speaking
def keep_sevens(game: Referee, legal: Sequence[str], rng: random.Random) -> str:
    """Keeps non-trump sevens and low trumps, and leads suits already led: endings in which nothing else is left."""

    def dear(card: str) -> tuple[int, float]:
        new_suit = not game.trick and card[1] not in game.suits_led
        return (card[0] == game.laws.malilla) * 4 + new_suit * 2 + (card[1] == game.trump), rng.random()

    return min(legal, key=dear)


MIXED = (at_random, greedy, keep_sevens)

# ---- starting scores -------------------------------------------------------------------------------------------------


def near_target(rng: random.Random, rules) -> list[int]:
    """Each side 1 to 6 points short, so that bonuses wait."""
    return [rules.target - rng.randint(1, min(6, rules.target)) for _ in range(rules.num_teams)]


def uneven(rng: random.Random, rules) -> list[int]:
    """One side anywhere, the others at 0 or anywhere: capotes from behind, zapatos."""
    scores = [rng.choice([0, rng.randrange(rules.target)]) for _ in range(rules.num_teams)]
    scores[rng.randrange(rules.num_teams)] = rng.randrange(rules.target)
    return scores


def against_nothing(rng: random.Random, rules) -> list[int]:
    """One side near the target, the others at 0."""
    scores = [0] * rules.num_teams
    scores[rng.randrange(rules.num_teams)] = rules.target - rng.randint(1, 6)
    return scores
