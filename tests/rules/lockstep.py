"""A GameBatch and one referee a lane, played side by side and compared at every ply.

In: a rule set, ways of stacking deals and choosing actions. Out: counts of plies, hands and matches compared, and the
referee's visit counts; an AssertionError names the lane, ply and fact in which the two differ. The engine draws the
albur and the later deals of a match, so the referee is told of these, and of nothing else.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray
from positions import History
from referee import SUITS, Laws, Referee
from stacks import MIXED, Choice, Stack, at_random, shuffled, uneven

from malilla_env import GameBatch, IllegalMove, RuleSet, ruleset
from malilla_env.compiled import PURE
from malilla_env.deals import deal_dtype

Fact = Callable[["Lockstep", int, Referee], list[int]]

SHARE = 40 if PURE else 1  # as plain Python the engine plays that many times fewer hands
VISITS = 200  # of each branch, at least

SUIT_BIT = {suit: 1 << at for at, suit in enumerate(SUITS)}
PHASES = {"play": 1, "ask": 2, "consent": 3, "bid": 4, "name": 5, "talk": 6}
NO_ACTION, NONE = 255, -1


# ---- between ids and texts -------------------------------------------------------------------------------------------


def deals_of(rules: RuleSet, deals: Sequence[tuple[Sequence[str], int]]) -> NDArray[np.void]:
    """Dealing orders as texts, each with its dealer, as GameBatch.reset takes them."""
    ids = {name: at for at, name in enumerate(rules.action_names)}
    array = np.zeros(len(deals), deal_dtype(rules))
    for row, (order, dealer) in zip(array, deals, strict=True):
        row["cards"] = [ids[card] for card in order]
        row["dealer"] = dealer
    return array


def game_after(rules: RuleSet, history: History, match_score: Sequence[int] | None = None, **settings) -> GameBatch:
    """A batch of one game, after the plays of a history."""
    games = GameBatch(rules, 1, **settings)
    games.reset(deals=deals_of(rules, [(history.order, history.dealer)]), match_score=match_score)
    play(games, *history.plays)
    return games


def play(games: GameBatch, *actions: str) -> None:
    """Cards and other actions one after another in a batch of one game."""
    for action in actions:
        games.step(np.array([games.rules.action_names.index(action)]))


def legal_cards(games: GameBatch, lane: int = 0) -> list[str]:
    """The legal actions, by name, in the order of the alphabet."""
    return sorted(games.rules.action_names[action] for action in np.flatnonzero(games.legal_actions()[lane]))


# ---- what is compared ------------------------------------------------------------------------------------------------

# What the referee knows too, by the names of the engine's fields.
OPEN = ["seat", "phase", "dealer", "leader", "trump", "turned_card", "trick_size", "best_card", "best_seat", "led_suit"]
OPEN += ["suits_led", "suits_played", "num_plays", "waiting_bonus", "paid_bonus", "hand_number", "attempt"]
OPEN += ["last_action", "last_seat", "shown"]  # the last of `plays` and `play_seats`; shown: of the cards in hands
RESULT = ["hand_over", "done", "winner", "reneged", "zapato", "capote"]  # at any time; of OPEN while a match is open
BY_TEAM = ["match_score", "last_points", "last_tricks", "last_score_change", "hand_points", "tricks_won"]


def _shown(side: Lockstep, game: Referee) -> int:
    """The bits of the cards known to lie in some hand."""
    if side.rules.piles:
        return sum(side.bits[card] for hand in game.hands for card in hand)
    told = {(game.dealer, game.turned), *game.said}
    return sum(side.bits[card] for seat, card in told if card in game.hands[seat])


def _counts(side: Lockstep, lane: int, game: Referee) -> list[int]:
    """Per seat: the bits of the suits told, and the number of each suit or 0."""
    bits = [sum(map(SUIT_BIT.__getitem__, told)) for told in game.counts]
    return bits + [told.get(suit, 0) if told else 0 for told in game.counts for suit in SUITS]


# Facts of single options: the engine's fields, how the referee tells them, and the value that they keep without it.
EXTRAS: dict[str, tuple[list[str], Fact, int]] = {
    "redeal": (["asked"], lambda side, lane, game: [sum(1 << seat for seat in game.asked)], 0),
    "bid": (["bid"], lambda side, lane, game: [game.bid], 0),
    "bidder": (["bidder"], lambda side, lane, game: [game.bidder], NONE),
    "albur": (["albur_cards"], lambda side, lane, game: [side.ids[card] for card in game.albur] or [NONE] * 2, NONE),
    "waiting": (["waiting_albur"], lambda side, lane, game: [game.waiting_albur], 0),
    "drawn": (["albur_seat"], lambda side, lane, game: [game.albur_seat], NONE),
    "talk": (["counted", "counts"], _counts, 0),
    "piles": (["covering"], lambda side, lane, game: [sum(side.bits[card] for card in game.under)], 0),
}


def options_of(rules: RuleSet) -> set[str]:
    """The keys of EXTRAS that speak of the rule set."""
    options = {name for name in ("redeal", "albur", "talk", "piles") if getattr(rules, name)}
    options |= {"waiting", "drawn"} if rules.albur else set()
    return options | ({"bid", "bidder"} if rules.trump == "bid" else set())


# ---- playing side by side --------------------------------------------------------------------------------------------


@dataclass
class Scenario:
    """What is played: rules, deals, choosers, how often a misdeal or an illegal action happens, starting scores."""

    rules: RuleSet
    stack: Stack = shuffled
    choices: Sequence[Choice] = (at_random,)  # drawn anew for each seat of each match
    scores: Callable[[random.Random, RuleSet], Sequence[int]] | None = None
    misdeal: float = 0.0
    illegal: float = 0.0  # chance of an illegal action at a ply
    illegal_in: tuple[str, ...] = tuple(PHASES)  # of these phases
    one_hand_each: bool = False  # start again after every hand, so that every hand is stacked
    turned: str = ""  # the rank to turn up, if any


@dataclass
class Tally:
    """What was compared."""

    plies: int = 0
    hands: int = 0
    matches: int = 0
    visits: Counter[str] = field(default_factory=Counter)
    said: Counter[str] = field(default_factory=Counter)  # actions besides cards

    def add(self, other: Tally) -> None:
        self.plies += other.plies
        self.hands += other.hands
        self.matches += other.matches
        self.visits.update(other.visits)
        self.said.update(other.said)


class Lockstep:
    """`lanes` games of one scenario, each with its referee."""

    def __init__(self, scenario: Scenario, lanes: int, seed: int) -> None:
        self.scenario, self.rng, self.tally = scenario, random.Random(seed), Tally()
        self.rules = scenario.rules
        self.laws = Laws(self.rules)
        self.names = self.rules.action_names
        self.ids = {name: at for at, name in enumerate(self.names)} | {"": NONE}
        self.bits = {name: 1 << at for at, name in enumerate(self.names)}
        self.suit_bits: dict[frozenset[str], int] = {}
        self.cards = frozenset(self.laws.pack)
        options = options_of(self.rules)
        self.extras = [extra for name, extra in EXTRAS.items() if name in options]
        self.inert = [(names, value) for name, (names, _, value) in EXTRAS.items() if name not in options]
        self.games = GameBatch(self.rules, lanes, seed=seed)
        self.referees: list[Referee] = [None] * lanes  # type: ignore[list-item]
        self.choosers: list[list[Choice]] = [[]] * lanes
        self.ended = [False] * lanes  # whether the last action ended a hand
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
        alburs = [[self.names[card] for card in row if card >= 0] for row in self.games.state["albur_cards"].tolist()]
        for lane in np.flatnonzero(where):
            if self.referees[lane] is not None:
                self.close(self.referees[lane])
            assert bool(alburs[lane]) == bool(self.rules.albur)  # 1.6.3: once per match
            self.referees[lane] = Referee(self.rules, *deals[lane], scores[lane], self.laws, alburs[lane])
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
        """One action in every lane."""
        if self.scenario.misdeal:
            self.maybe_misdeal()
        legal = [game.legal() for game in self.referees]
        self.compare_legal(legal)
        actions = [self.choose(*of_lane) for of_lane in zip(self.referees, legal, self.choosers, strict=True)]
        self.try_illegal()
        self.games.step(np.array([self.ids[action] for action in actions]))
        self.ended = [False] * len(actions)
        for game, action in zip(self.referees, actions, strict=True):
            game.play(action)
            if action not in self.cards:
                self.tally.said[action] += 1
        self.deal_next()
        self.tally.plies += len(actions)
        self.compare("after the play")
        over = np.array([game.done for game in self.referees])
        if self.scenario.one_hand_each:
            over |= np.array(self.ended)
        if over.any():
            self.restart(over)

    def deal_next(self) -> None:
        """Tell the referees of finished hands, and of deals called off, what the engine dealt."""
        over = [lane for lane, game in enumerate(self.referees) if game.hand_over or game.void]
        orders = self.orders() if over else []
        for lane in over:
            game = self.referees[lane]
            if game.void:
                game.deal_again(orders[lane])
                continue
            self.ended[lane] = True
            self.tally.hands += 1
            if not game.done:
                game.next_hand(orders[lane])

    def orders(self) -> list[list[str]]:
        """The dealing order of each lane's hand, as the engine has it."""
        deck = self.games.deck[:, : self.rules.num_cards].tolist()
        return [[self.names[card] for card in row] for row in deck]

    def choose(self, game: Referee, legal: list[str], choosers: list[Choice]) -> str:
        wrong = self.scenario.illegal if self.rules.illegal == "lose_match" else 0.0
        if wrong and game.phase in self.scenario.illegal_in and self.rng.random() < wrong:
            return self.rng.choice(self.illegal_actions(game) or legal)
        return choosers[game.seat](game, legal, self.rng)

    def illegal_actions(self, game: Referee) -> list[str]:
        """What the seat to act may not do: half the time cards of its own hand, where it holds any such."""
        legal = game.legal()
        own = [card for card in game.hands[game.seat] if card not in legal]
        return own if own and self.rng.random() < 0.5 else [name for name in self.names if name not in legal]

    def try_illegal(self) -> None:
        """Where the rules refuse an illegal action (1.4.1), offer one: nothing may change in any lane."""
        if self.rules.illegal != "raise" or self.rng.random() >= self.scenario.illegal:
            return
        actions = [self.ids[game.legal()[0]] for game in self.referees]
        lane = self.rng.randrange(len(actions))
        action = self.rng.choice(self.illegal_actions(self.referees[lane]))
        actions[lane] = self.ids[action]
        before = self.games.state.tobytes()
        with pytest.raises(IllegalMove, match=f"lane {lane}, seat {self.referees[lane].seat}: {action}"):
            self.games.step(np.array(actions))
        assert self.games.state.tobytes() == before
        with pytest.raises(ValueError, match="not legal"):
            self.referees[lane].play(action)

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

    def compare_legal(self, legal: list[list[str]]) -> None:
        """The mask against the referee, every lane."""
        packed = np.packbits(self.games.legal_actions(), axis=1, bitorder="little")
        bits, size, data = self.bits.__getitem__, packed.shape[1], packed.tobytes()
        for lane, names in enumerate(legal):
            word = int.from_bytes(data[lane * size : (lane + 1) * size], "little")
            if word != sum(map(bits, names)):
                ours, where = [name for name in self.names if word & self.bits[name]], self.where(lane)
                raise AssertionError(f"{where}: legal {sorted(ours)}, by the referee {sorted(names)}")

    def compare(self, when: str) -> None:
        """Every fact that both know, every lane."""
        state = self.games.state
        rows, hands = self._rows(), state["hands"][:, : self.laws.num_seats].tolist()
        face_down = state["face_down"].tolist()
        for names, value in self.inert:
            assert all((state[name] == value).all() for name in names), (
                f"{when}: {names} is not {value} in {self.rules}"
            )
        for lane, (game, row) in enumerate(zip(self.referees, rows, strict=True)):
            expected = self.open_facts(game)
            for _, fact, _ in self.extras:
                expected += fact(self, lane, game)
            if game.done:  # nobody is to act, and the rest of the open facts mean nothing any more
                expected = [NONE, 0, *row[2 : len(expected)]]
            expected += self.result_facts(lane, game)
            if row != expected:
                self.report(f"{when}, {self.where(lane)}", row, expected)
            if not game.actions or (self.rules.piles and not game.trick and not game.done):
                self.compare_hands(when, lane, hands[lane], face_down[lane])

    def _rows(self) -> list[list[int]]:
        """The engine's side of the comparison, one row a lane: OPEN, the extras, RESULT, BY_TEAM."""
        state, lanes, seats = self.games.state, len(self.games), self.laws.num_seats
        last = np.maximum(state["num_plays"].astype(np.int64) - 1, 0)
        hands = np.bitwise_or.reduce(state["hands"][:, :seats], axis=1)
        made = {
            "last_action": state["plays"][np.arange(lanes), last],
            "last_seat": state["play_seats"][np.arange(lanes), last],
            "shown": state["shown"] & hands,
            "counted": state["counted"][:, :seats],
            "counts": self._told(seats) if self.rules.talk else None,
        }
        columns = [made[name] if name in made else state[name] for name in self._names()]
        columns += [state[name][:, : self.laws.num_teams] for name in BY_TEAM]
        return np.concatenate([column.reshape(lanes, -1).astype(np.int64) for column in columns], axis=1).tolist()

    def _names(self) -> list[str]:
        return [*OPEN, *(name for names, _, _ in self.extras for name in names), *RESULT]

    def _told(self, seats: int) -> NDArray[np.int64]:
        """The engine's numbers of suits that are known, 0 of the others."""  # [B, S, 4]
        known = self.games.state["counted"][:, :seats, None] >> np.arange(4) & 1
        return self.games.state["counts"][:, :seats] * known.astype(np.int64)

    def compare_hands(self, when: str, lane: int, held: list[int], face_down: int) -> None:
        game = self.referees[lane]
        expected = [sum(self.bits[card] for card in hand) for hand in game.hands]
        if held != expected:
            raise AssertionError(f"{when}, {self.where(lane)}: the hands differ")
        if face_down != sum(self.bits[card] for card in [*game.under.values(), *game.dead]):
            raise AssertionError(f"{when}, {self.where(lane)}: the cards face down differ")

    def open_facts(self, game: Referee) -> list[int]:
        """The values of OPEN by the referee."""
        trick, ids = game.trick, self.ids
        best_seat, best = game.best or (NONE, "")
        last = game.actions[-1] if game.actions else None
        return [
            game.seat,
            PHASES[game.phase],
            game.dealer,
            game.leader,
            SUITS.index(game.trump) if game.trump else NONE,
            ids[game.turned],
            len(trick),
            ids[best],
            best_seat,
            SUITS.index(trick[0][1][1]) if trick else NONE,
            self.suits(game.suits_led),
            self.suits(game.suits_played),
            len(game.actions),
            game.waiting_bonus,
            game.bonus,
            game.hand_number,
            game.attempt,
            ids[last[1]] if last else NO_ACTION,
            last[0] if last else NONE,
            _shown(self, game),
        ]

    def suits(self, suits: frozenset[str]) -> int:
        """Suits as bits."""
        if suits not in self.suit_bits:
            self.suit_bits[suits] = sum(SUIT_BIT[suit] for suit in suits)
        return self.suit_bits[suits]

    def result_facts(self, lane: int, game: Referee) -> list[int]:
        """The values of RESULT and BY_TEAM by the referee."""
        flags = [self.ended[lane], game.done, game.winner, game.reneged, game.zapato, game.capote]
        last = game.last_points + game.last_tricks + game.last_score_change
        return [*flags, *game.match_score, *last, *game.hand_points, *game.tricks_won]

    def report(self, where: str, row: list[int], expected: list[int]) -> None:
        names = self._columns() + [f"{name}[{team}]" for name in BY_TEAM for team in range(self.laws.num_teams)]
        wrong = [
            f"{name} {ours} (referee {theirs})"
            for name, ours, theirs in zip(names, row, expected, strict=True)
            if ours != theirs
        ]
        raise AssertionError(f"{where}: {', '.join(wrong)}")

    def _columns(self) -> list[str]:
        """A name for each column before those by team."""
        state, columns = self.games.state, []
        for name in self._names():
            size = state[name][0].size if name in state.dtype.names else 1
            size = size // 4 * self.laws.num_seats if name in ("counted", "counts") else size
            columns += [name] if size == 1 else [f"{name}[{at}]" for at in range(size)]
        return columns

    def where(self, lane: int) -> str:
        game = self.referees[lane]
        return f"lane {lane}, hand {game.hand_number}, ply {len(game.actions)} ({game.phase}) of {self.rules}"


# ---- whole comparisons -----------------------------------------------------------------------------------------------


def compare(scenario: Scenario, hands: int, seed: int, lanes: int = 250) -> Tally:
    return Lockstep(scenario, min(lanes, max(8, hands // 20)), seed).run(hands)


def stacked(stack: Stack, choices: Sequence[Choice] = MIXED, scores=uneven, **changes) -> Scenario:
    """Every hand from a stacked deal, and from a score of its own; `changes` of the scenario or of the rule set."""
    extras = {name: changes.pop(name) for name in ("turned", "misdeal", "illegal", "illegal_in") if name in changes}
    name = changes.pop("name", "malilla")
    if "rules_illegal" in changes:
        changes["illegal"] = changes.pop("rules_illegal")
    return Scenario(ruleset(name, **changes), stack, choices, scores, one_hand_each=True, **extras)


def tell(report_counts, title: str, tally: Tally) -> None:
    """Print how much was compared, at the end of the run."""
    compared = {"plies compared": tally.plies, "hands compared": tally.hands, "matches compared": tally.matches}
    report_counts(title, Counter(compared))
