"""A GameBatch and one referee a lane, played side by side and compared at every ply.

In: a rule set, ways of stacking deals and of choosing plays. Out: counts of plies, hands and matches compared, and the
referee's visit counts; an AssertionError names the lane, ply and fact in which the two differ. The engine draws the
later hands of a match, so the referee is told their dealing order, and nothing else.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray
from positions import History, order_for
from referee import SUITS, Laws, Referee

from malilla_env import GameBatch, IllegalMove, RuleSet
from malilla_env.cards import card_name, parse_card
from malilla_env.deals import deal_dtype

Choice = Callable[[Referee, Sequence[str], random.Random], str]
Stack = Callable[[Laws, random.Random], tuple[list[str], int]]

# What the referee knows too, by the names of the engine's fields.
OPEN = ["seat", "dealer", "leader", "trump", "turned_card", "trick_size", "best_card", "best_seat", "led_suit"]
OPEN += ["suits_led", "suits_played", "num_plays", "waiting_bonus", "paid_bonus", "hand_number", "attempt"]
RESULT = ["hand_over", "done", "winner", "reneged", "zapato", "capote"]  # at any time; of OPEN while a match is open
BY_TEAM = ["match_score", "last_points", "last_tricks", "last_score_change", "hand_points", "tricks_won"]

SUIT_BIT = {suit: 1 << at for at, suit in enumerate(SUITS)}


# ---- between ids and texts -------------------------------------------------------------------------------------------


def deals_of(rules: RuleSet, deals: Sequence[tuple[Sequence[str], int]]) -> NDArray[np.void]:
    """Dealing orders as texts, each with its dealer, as GameBatch.reset takes them."""
    array = np.zeros(len(deals), deal_dtype(rules))
    for row, (order, dealer) in zip(array, deals, strict=True):
        row["cards"] = [parse_card(rules, card) for card in order]
        row["dealer"] = dealer
    return array


def game_after(rules: RuleSet, history: History, match_score: Sequence[int] | None = None, **settings) -> GameBatch:
    """A batch of one game, after the plays of a history."""
    games = GameBatch(rules, 1, **settings)
    games.reset(deals=deals_of(rules, [(history.order, history.dealer)]), match_score=match_score)
    for card in history.plays:
        play(games, card)
    return games


def play(games: GameBatch, *cards: str) -> None:
    """Play cards one after another in a batch of one game."""
    for card in cards:
        games.step(np.array([parse_card(games.rules, card)]))


def legal_cards(games: GameBatch, lane: int = 0) -> list[str]:
    return sorted(card_name(games.rules, card) for card in np.flatnonzero(games.legal_actions()[lane]))


# ---- how deals are stacked -------------------------------------------------------------------------------------------


def shuffled(laws: Laws, rng: random.Random) -> tuple[list[str], int]:
    order = list(laws.pack)
    rng.shuffle(order)
    return order, rng.randrange(laws.num_seats)


def one_strong_side(laws: Laws, rng: random.Random) -> tuple[list[str], int]:
    """The high cards lie with one side: capotes."""
    strong = rng.randrange(laws.num_teams)
    cards = sorted(laws.pack, key=lambda card: laws.strength[card] + 3 * rng.random())
    hands = _blocks(laws, cards, sorted(range(laws.num_seats), key=lambda seat: laws.teams[seat] == strong))
    return _order(laws, hands, rng)


def long_suits(laws: Laws, rng: random.Random) -> tuple[list[str], int]:
    """Hands of few suits: ruffs, overruffs, discards and trumps that are too low."""
    cards = sorted(laws.pack, key=lambda card: SUITS.index(card[1]) + 2.5 * rng.random())
    seats = list(range(laws.num_seats))
    rng.shuffle(seats)
    return _order(laws, _blocks(laws, cards, seats), rng)


def strong_against_dealer(laws: Laws, rng: random.Random) -> tuple[list[str], int]:
    """The high cards lie with the side that does not deal."""
    while True:
        order, dealer = one_strong_side(laws, rng)
        tops = [at for at, card in enumerate(order) if card[0] == laws.malilla]
        dealers_own = sum(laws.partner(dealer, (dealer + 1 + at) % laws.num_seats) for at in tops)
        if dealers_own < len(tops) / 2:
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
    hands = _blocks(laws, rest, [other for other in range(laws.num_seats) if other != seat])
    hands[seat] = hand
    return _order(laws, hands, rng)


def _blocks(laws: Laws, cards: Sequence[str], seats: Sequence[int]) -> dict[int, list[str]]:
    size = laws.hand_size
    return {seat: list(cards[at * size : (at + 1) * size]) for at, seat in enumerate(seats)}


def _order(laws: Laws, hands: dict[int, list[str]], rng: random.Random) -> tuple[list[str], int]:
    dealer = rng.randrange(laws.num_seats)
    hands_by_seat = [list(hands[seat]) for seat in range(laws.num_seats)]
    for hand in hands_by_seat:
        rng.shuffle(hand)
    return order_for(hands_by_seat, dealer, rng.choice(hands_by_seat[dealer])), dealer


# ---- how cards are chosen --------------------------------------------------------------------------------------------


def at_random(game: Referee, legal: Sequence[str], rng: random.Random) -> str:
    return rng.choice(legal)


def greedy(game: Referee, legal: Sequence[str], rng: random.Random) -> str:
    """The strongest card when an opponent wins or it leads, else the weakest."""
    strength = game.laws.strength
    if game.trick and game.laws.partner(game.seat, game.laws.winning(game.trick, game.trump)[0]):
        return min(legal, key=lambda card: (card[1] == game.trump, strength[card]))
    return max(legal, key=lambda card: (card[1] == game.trump, strength[card]))


def keep_sevens(game: Referee, legal: Sequence[str], rng: random.Random) -> str:
    """Keeps non-trump sevens and low trumps, and leads suits already led: endings in which nothing else is left."""

    def dear(card: str) -> tuple[int, float]:
        new_suit = not game.trick and card[1] not in game.suits_led
        return (card[0] == game.laws.malilla) * 4 + new_suit * 2 + (card[1] == game.trump), rng.random()

    return min(legal, key=dear)


# ---- playing side by side --------------------------------------------------------------------------------------------


@dataclass
class Scenario:
    """What is played: rules, deals, choosers, how often a misdeal or an illegal play happens, starting scores."""

    rules: RuleSet
    stack: Stack = shuffled
    choices: Sequence[Choice] = (at_random,)  # drawn anew for each seat of each match
    scores: Callable[[random.Random, RuleSet], Sequence[int]] | None = None
    misdeal: float = 0.0
    illegal: float = 0.0  # chance of an illegal play at a ply
    one_hand_each: bool = False  # start again after every hand, so that every hand is stacked
    turned: str = ""  # the rank to turn up, if any


@dataclass
class Tally:
    """What was compared."""

    plies: int = 0
    hands: int = 0
    matches: int = 0
    visits: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        self.plies += other.plies
        self.hands += other.hands
        self.matches += other.matches
        self.visits.update(other.visits)


class Lockstep:
    """`lanes` games of one scenario, each with its referee."""

    def __init__(self, scenario: Scenario, lanes: int, seed: int) -> None:
        self.scenario, self.rng, self.tally = scenario, random.Random(seed), Tally()
        self.rules = scenario.rules
        self.laws = Laws(self.rules)
        self.names = self.rules.action_names
        self.ids = {name: at for at, name in enumerate(self.names)}
        self.bits = {name: 1 << at for at, name in enumerate(self.names)}
        self.weights = np.array([1 << at for at in range(len(self.names))], np.uint64)
        self.games = GameBatch(self.rules, lanes, seed=seed)
        self.referees: list[Referee] = [None] * lanes  # type: ignore[list-item]
        self.choosers: list[list[Choice]] = [[]] * lanes
        self.ended = [False] * lanes  # whether the last play ended a hand
        self.restart(np.ones(lanes, bool))

    def restart(self, where: NDArray[np.bool_]) -> None:
        """New matches in the lanes of `where`, from stacked deals."""
        scenario, lanes = self.scenario, len(self.games)
        deals, scores = [], []
        for lane in range(lanes):
            order, dealer = scenario.stack(self.laws, self.rng) if where[lane] else (self.laws.pack, 0)
            if where[lane] and scenario.turned:
                order = self._turn(order, scenario.turned)
            deals.append((order, dealer))
            zero = [0] * self.laws.num_teams
            scores.append(scenario.scores(self.rng, self.rules) if scenario.scores and where[lane] else zero)
        self.games.reset(deals=deals_of(self.rules, deals), where=where, match_score=np.array(scores))
        for lane in np.flatnonzero(where):
            if self.referees[lane] is not None:
                self.close(self.referees[lane])
            self.referees[lane] = Referee(self.rules, *deals[lane], match_score=scores[lane], laws=self.laws)
            self.ended[lane] = False
            self.choosers[lane] = [self.rng.choice(scenario.choices) for _ in range(self.laws.num_seats)]
        self.compare("after the deal")

    def _turn(self, order: list[str], rank: str) -> list[str]:
        """The same deal, but that the last card changes places with one of the wanted rank."""
        at = self.rng.choice([at for at, card in enumerate(order) if card[0] == rank])
        order[at], order[-1] = order[-1], order[at]
        return order

    def close(self, game: Referee) -> None:
        self.tally.visits.update(game.visits)
        self.tally.matches += game.done

    def run(self, hands: int) -> Tally:
        """Play until so many hands have been compared to their end."""
        while self.tally.hands < hands:
            self.ply()
        for game in self.referees:
            self.close(game)
        return self.tally

    def ply(self) -> None:
        """One play in every lane."""
        if self.scenario.misdeal:
            self.maybe_misdeal()
        self.compare_legal()
        cards = [self.choose(lane, game) for lane, game in enumerate(self.referees)]
        self.try_illegal()
        self.games.step(np.array([self.ids[card] for card in cards]))
        self.ended = [False] * len(cards)
        for game, card in zip(self.referees, cards, strict=True):
            game.play(card)
        self.deal_next()
        self.tally.plies += len(cards)
        self.compare("after the play")
        over = np.array([game.done for game in self.referees])
        if self.scenario.one_hand_each:
            over |= np.array(self.ended)
        if over.any():
            self.restart(over)

    def deal_next(self) -> None:
        """Tell the referees of finished hands what the engine dealt."""
        over = [lane for lane, game in enumerate(self.referees) if game.hand_over]
        orders = self.orders() if over else []
        for lane in over:
            self.ended[lane] = True
            self.tally.hands += 1
            if not self.referees[lane].done:
                self.referees[lane].next_hand(orders[lane])

    def orders(self) -> list[list[str]]:
        """The dealing order of each lane's hand, as the engine has it."""
        deck = self.games.deck[:, : self.rules.num_cards].tolist()
        return [[self.names[card] for card in row] for row in deck]

    def choose(self, lane: int, game: Referee) -> str:
        legal = game.legal()
        if self.rules.illegal == "lose_match" and self.rng.random() < self.scenario.illegal:
            return self.rng.choice(self.illegal_cards(game) or legal)
        return self.choosers[lane][game.seat](game, legal, self.rng)

    def illegal_cards(self, game: Referee) -> list[str]:
        """Cards that the seat to act may not play: half the time of its own hand, where it holds any."""
        legal = game.legal()
        own = [card for card in game.hands[game.seat] if card not in legal]
        return own if own and self.rng.random() < 0.5 else [card for card in self.laws.pack if card not in legal]

    def try_illegal(self) -> None:
        """Where the rules refuse an illegal play (1.4.1), offer one: nothing may change in any lane."""
        if self.rules.illegal != "raise" or self.rng.random() >= self.scenario.illegal:
            return
        actions = [self.ids[game.legal()[0]] for game in self.referees]
        lane = self.rng.randrange(len(actions))
        card = self.rng.choice(self.illegal_cards(self.referees[lane]))
        actions[lane] = self.ids[card]
        before = self.games.state.tobytes()
        with pytest.raises(IllegalMove, match=f"lane {lane}, seat {self.referees[lane].seat}: {card}"):
            self.games.step(np.array(actions))
        assert self.games.state.tobytes() == before
        with pytest.raises(ValueError, match="not legal"):
            self.referees[lane].play(card)

    def maybe_misdeal(self) -> None:
        where = np.array([not game.log and self.rng.random() < self.scenario.misdeal for game in self.referees])
        if not where.any():
            return
        self.games.misdeal(where)
        orders = self.orders()
        for lane in np.flatnonzero(where):
            self.referees[lane].misdeal(orders[lane])
            self.ended[lane] = False
        self.compare("after a misdeal")

    # ---- comparing

    def compare_legal(self) -> None:
        """The mask against the referee, every lane."""
        words = (self.games.legal_actions() * self.weights).sum(axis=1, dtype=np.uint64).tolist()
        for lane, (game, word) in enumerate(zip(self.referees, words, strict=True)):
            if word != sum(self.bits[card] for card in game.legal()):
                legal = [name for name in self.names if word & self.bits[name]]
                raise AssertionError(f"{self.where(lane, game)}: legal {legal}, by the referee {sorted(game.legal())}")

    def compare(self, when: str) -> None:
        """Every fact that both know, every lane."""
        state, teams = self.games.state, self.laws.num_teams
        columns = [state[name].astype(np.int64)[:, None] for name in OPEN + RESULT]
        columns += [state[name][:, :teams].astype(np.int64) for name in BY_TEAM]
        rows = np.concatenate(columns, axis=1).tolist()
        hands = state["hands"][:, : self.laws.num_seats].tolist()
        for lane, (game, row, held) in enumerate(zip(self.referees, rows, hands, strict=True)):
            expected = self.open_facts(game) + self.result_facts(lane, game)
            if game.done:  # nobody is to act, and the rest of the open facts mean nothing any more
                expected[: len(OPEN)] = [-1, *row[1 : len(OPEN)]]
            if row != expected:
                self.report(f"{when}, {self.where(lane, game)}", row, expected)
            if not game.log and held != [sum(self.bits[card] for card in hand) for hand in game.hands]:
                raise AssertionError(f"{when}, {self.where(lane, game)}: the hands differ")

    def open_facts(self, game: Referee) -> list[int]:
        """The values of OPEN by the referee."""
        trick = game.trick
        best_seat, best = self.laws.winning(trick, game.trump) if trick else (-1, "")
        return [
            game.seat,
            game.dealer,
            game.leader,
            SUITS.index(game.trump),
            self.ids[game.turned],
            len(trick),
            self.ids[best] if trick else -1,
            best_seat,
            SUITS.index(trick[0][1][1]) if trick else -1,
            sum(SUIT_BIT[suit] for suit in game.suits_led),
            sum(SUIT_BIT[suit] for suit in game.suits_played),
            len(game.log),
            game.waiting_bonus,
            game.bonus,
            game.hand_number,
            game.attempt,
        ]

    def result_facts(self, lane: int, game: Referee) -> list[int]:
        """The values of RESULT and BY_TEAM by the referee."""
        flags = [self.ended[lane], game.done, game.winner, game.reneged, game.zapato, game.capote]
        last = game.last_points + game.last_tricks + game.last_score_change
        return [*flags, *game.match_score, *last, *game.hand_points, *game.tricks_won]

    def report(self, where: str, row: list[int], expected: list[int]) -> None:
        names = OPEN + RESULT + [f"{name}[{team}]" for name in BY_TEAM for team in range(self.laws.num_teams)]
        wrong = [
            f"{name} {ours} (referee {theirs})"
            for name, ours, theirs in zip(names, row, expected, strict=True)
            if ours != theirs
        ]
        raise AssertionError(f"{where}: {', '.join(wrong)}")

    def where(self, lane: int, game: Referee) -> str:
        return f"lane {lane}, hand {game.hand_number}, ply {len(game.log)} of {self.rules}"
