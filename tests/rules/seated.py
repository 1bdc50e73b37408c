"""A table to sit at: one game from a deal put together by hand, its actions by their names.

In: a rule set, the cards that some seats are to hold, a dealer; or a history found by search. Out: a batch of one game.
The cards nobody asked for fill the hands in the order of the pack.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from positions import History, order_for
from referee import Laws

from malilla_env import GameBatch, RuleSet
from malilla_env.cards import card_name, cards_in, parse_card
from malilla_env.deals import deal_dtype


def filled(rules: RuleSet, held: Mapping[int, str], dealer: int, turned: str = "") -> list[list[str]]:
    """Whole hands, by seat (the dead one last), each beginning with the cards that it is to hold."""
    laws = Laws(rules)
    hands = [held.get(seat, "").split() for seat in range(rules.num_hands)]
    if turned and turned not in hands[dealer]:
        hands[dealer].append(turned)
    named = {card for hand in hands for card in hand}
    rest = iter([card for card in laws.pack if card not in named])
    for hand in hands:
        hand.extend(next(rest) for _ in range(laws.hand_size - len(hand)))
    return hands


def dealt(
    rules: RuleSet, held: Mapping[int, str] | None = None, dealer: int | None = None, turned: str = "", **reset
) -> GameBatch:
    """One game just dealt; the dealer is the last seat unless named. The rest goes to `GameBatch.reset`."""
    dealer = rules.num_seats - 1 if dealer is None else dealer
    order = order_for(filled(rules, held or {}, dealer, turned), dealer, turned, Laws(rules))
    return replay(rules, History(tuple(order), dealer, ()), **reset)


def replay(rules: RuleSet, history: History, score=None, albur: str = "", episode: str = "match") -> GameBatch:
    """The game after a history's actions. `albur` are the two cards drawn; none are drawn if it is empty."""
    deals = np.zeros(1, deal_dtype(rules))
    deals["cards"][0] = [parse_card(rules, card) for card in history.order]
    deals["dealer"] = history.dealer
    games = GameBatch(rules, 1, episode=episode)
    drawn = [parse_card(rules, card) for card in albur.split()] or [-1, -1]
    games.reset(deals=deals, match_score=score, albur=drawn if rules.albur else None)
    act(games, *history.plays)
    return games


def act(games: GameBatch, *names: str) -> None:
    """One action after another, by name."""
    for name in names:
        games.step(np.array([games.rules.action_names.index(name)]))


def legal(games: GameBatch, lane: int = 0) -> list[str]:
    """The names of the legal actions, in the order of their ids."""
    return [games.rules.action_names[action] for action in np.flatnonzero(games.legal_actions()[lane])]


def said(games: GameBatch) -> list[tuple[int, str]]:
    """What has been done in this hand, as everybody's View tells it: the seat, and the action's name."""
    view = games.views()[0]
    done = range(view["num_plays"])
    return [(int(view["play_seats"][at]), games.rules.action_names[view["plays"][at]]) for at in done]


def hand(games: GameBatch, seat: int) -> set[str]:
    return names_of(games.rules, games.hands[0, seat])


def names_of(rules: RuleSet, mask: int) -> set[str]:
    return {card_name(rules, card) for card in cards_in(int(mask))}


def possible(games: GameBatch, seat: int, viewer: int = 0) -> set[str]:
    """The cards that a seat may hold by what is public."""
    rules = games.rules
    cannot = names_of(rules, games.views(viewer)[0]["cannot_hold"][seat])
    return set(Laws(rules).pack) - cannot


def play_out(games: GameBatch, seed: int = 10) -> GameBatch:
    """Random actions until every game has ended a hand; games that are over wait."""
    ended = np.zeros(len(games), bool)
    while not ended.all():
        games.step(games.random_legal(games.decision_keys(seed)))
        ended |= games.hand_over
    return games
