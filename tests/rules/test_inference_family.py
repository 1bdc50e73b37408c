"""What is public, and no more, in every game of the family: statements, dead hands, open hands, asks and bids.

As test_inference.py: "cannot hold" sets against the referee's search, and Views, observations and masks that nothing
hidden can change. Here the hidden cards are moved by swaps that everything public allows, in steps from the true deal,
so that it needs no claim of the engine's to find another.
"""

import random
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from lockstep import Scenario, deals_of
from referee import Laws, Referee, holdable, holdable_by_trying_all
from stacks import MIXED, at_random, cautious, long_suits, shuffled, whole_suits
from test_inference import Watched

from malilla_env import GameBatch, RuleSet
from malilla_env.compiled import PURE
from malilla_env.rules import PRESETS

GAMES = {rules.hash: rules for rules in reversed(PRESETS.values())}.values()
SIXTEEN = {"rank_names": "2KA7", "rank_points": (0, 3, 4, 5), "neutral": 20}
TWELVE = {"rank_names": "2A7", "rank_points": (0, 4, 5), "neutral": 10}
FORCED = {"undertrump": "forced", "protected": "off", "climb_over_partner": True}
TRUMPLESS = {"trump": "none", "protected": "off", "dealer_bonus": False}
THREE, TWO = {"teams": (0, 1, 2), "neutral": 10}, {"teams": (0, 1)}

SHORT = {  # so few cards that every hand can be tried at every ply
    "talk": RuleSet(**SIXTEEN, talk=True),
    "talk, forced": RuleSet(**SIXTEEN, **FORCED, talk=True),
    "talk, forbidden": RuleSet(**SIXTEEN, talk=True, undertrump="forbidden", protected="played"),
    "talk, no trump": RuleSet(**SIXTEEN, **TRUMPLESS, talk=True),
    "auction": RuleSet(**SIXTEEN, trump="bid", dealer_bonus=False),
    "asks": RuleSet(**SIXTEEN, redeal=2),
    "three": RuleSet(**{**TWELVE, **THREE}, undertrump="forbidden"),
    "three, forced": RuleSet(**{**SIXTEEN, **THREE}, **FORCED, removed=("2c",)),
    "three and a dead hand": RuleSet(**{**SIXTEEN, **THREE}, **FORCED, dead_hand=True),
    "three and a dead hand, protected": RuleSet(**{**SIXTEEN, **THREE}, dead_hand=True),
    "two": RuleSet(**TWELVE, **TWO),
    "two, forced": RuleSet(**TWELVE, **TWO, **FORCED),
    "two and a dead hand": RuleSet(**TWELVE, **TWO, dead_hand=True),
    "two, open piles": RuleSet(**SIXTEEN, **TWO, piles=4),
}


@pytest.mark.parametrize("rules", SHORT.values(), ids=SHORT)
def test_cannot_hold_is_exact_in_short_hands(rules, report_counts):
    watched = Watched(Scenario(rules, choices=MIXED), 4 if PURE else 20, 10, 0.3)
    watched.run(4 if PURE else 40)
    report_counts("Cannot-hold sets against the referee's search, the family", watched.asked)
    assert watched.asked["sets compared"] >= (20 if PURE else 500)
    assert watched.asked["claims about unplayed cards"] > 0


@pytest.mark.parametrize("stack", [shuffled, long_suits])
@pytest.mark.parametrize("rules", GAMES, ids=lambda rules: rules.name)
def test_cannot_hold_is_exact_in_whole_hands(rules, stack, report_counts):
    scenario = Scenario(rules, stack, MIXED, one_hand_each=True)
    watched = Watched(scenario, 2 if PURE else 3, 10, 0.02)
    watched.run(1 if PURE else 3)
    report_counts("Cannot-hold sets against the referee's search, the family", watched.asked)
    assert watched.asked["sets compared"] >= 24


@pytest.mark.parametrize("rules", [rules for rules in SHORT.values() if not rules.piles], ids=[*SHORT][:-1])
def test_search_for_hands_equals_trying_all(rules):
    """The referee's search, by statements and asks too, against every hand of the pack."""
    rng = random.Random(2)
    for _ in range(3):
        order, dealer = shuffled(Laws(rules), rng)
        game = Referee(rules, order, dealer)
        while not game.hand_over and not game.void:
            game.play(rng.choice(game.legal()))
            for seat in range(game.laws.num_seats):
                mine = [action for action in game.actions if action.seat == seat]
                shown = [game.shown(other) for other in range(game.laws.num_seats)]
                gone = {play.card for play in game.log}.union(*shown)
                pool = [card for card in game.laws.pack if card not in gone]
                question = (game.laws, game.trump, mine, pool, shown[seat], len(game.hands[seat]))
                possible = holdable(*question)
                assert possible == holdable_by_trying_all(*question)
                assert possible >= set(game.hands[seat])
                assert game.cannot_hold(seat, asks=True) == set(game.laws.pack) - possible


# ---- hidden information ----------------------------------------------------------------------------------------------


class Table:
    """One game's deal and all that was done since, enough to play it again from another dealing order."""

    def __init__(self, rules: RuleSet, order: Sequence[str], dealer: int, score: list[int], albur: list[str]) -> None:
        self.rules, self.laws, self.order, self.dealer = rules, Laws(rules), list(order), dealer
        self.start = (dealer, score, self.laws, albur)
        self.game = Referee(rules, order, *self.start)
        self.done: list[str] = []

    def act(self, rng: random.Random) -> str:
        """An action that does not call the deal off: no consent, no fourth pass."""
        game, legal = self.game, self.game.legal()
        if game.phase == "consent":
            legal = ["refuse"]
        if game.phase == "bid" and not game.bid and not game.waiting_seats:
            legal = legal[1:]
        choose = cautious if rng.random() < 0.5 and len(legal) > 1 else at_random
        self.done.append(choose(game, legal, rng))
        game.play(self.done[-1])
        return self.done[-1]

    def witnessed(self, order: Sequence[str], viewer: int) -> list | None:
        """What the viewer saw of hands at every ply, had `order` been dealt; None if that play was not legal."""
        game, seen = Referee(self.rules, order, *self.start), []
        for action in [*self.done, None]:
            open_hands = game.hands if self.rules.piles else [game.hands[viewer]]
            if self.rules.piles or action is None:  # without piles a hand changes by its own plays alone
                seen.append([sorted(hand) for hand in open_hands] + [sorted(game.under)])
            if action is None:
                return [*seen, game.turned]
            if action not in game.legal():
                return None
            game.play(action)
        return None

    def another(self, viewer: int, rng: random.Random, swaps: int) -> list[str]:
        """A dealing order that the viewer cannot tell from the true one."""
        order, truth = list(self.order), self.witnessed(self.order, viewer)
        assert truth is not None
        places = range(len(order) - bool(self.game.turned))
        known = {play.card for play in self.game.log}.union(self.game.hands[viewer])
        hidden = [at for at in places if order[at] not in known]
        for _ in range(swaps):
            among = hidden if len(hidden) > 1 and rng.random() < 0.8 else places  # the dealing order is hidden too
            one, other = rng.sample(among, 2)
            order[one], order[other] = order[other], order[one]
            if self.witnessed(order, viewer) != truth:
                order[one], order[other] = order[other], order[one]
        return order


def batch_of(tables: list[Table], orders: list[list[str]], seed: int) -> GameBatch:
    """The games of the tables from other dealing orders and other keys, after the same actions."""
    rules = tables[0].rules
    ids = {name: at for at, name in enumerate(rules.action_names)}
    games = GameBatch(rules, len(tables), seed=seed)
    deals = deals_of(rules, [(order, table.dealer) for order, table in zip(orders, tables, strict=True)])
    albur = [[ids[card] for card in table.start[3]] for table in tables] if rules.albur else None
    games.reset(deals=deals, match_score=[table.start[1] for table in tables], albur=albur)
    for actions in zip(*(table.done for table in tables), strict=True):
        games.step(np.array([ids[action] for action in actions]))
    assert not games.done.any()
    return games


def drawn(laws: Laws, rng: random.Random) -> list[str]:
    """Two cards of different strengths for an albur, where there is one (1.6.3)."""
    cards = rng.sample(laws.pack, 2)
    return [] if not laws.rules.albur else cards if cards[0][0] != cards[1][0] else drawn(laws, rng)


@pytest.mark.parametrize("stack", [shuffled, whole_suits])
@pytest.mark.parametrize("rules", GAMES, ids=lambda rules: rules.name)
def test_hidden_cards_do_not_change_a_view(rules, stack, report_counts):
    """Move what a seat cannot see: its View, observation and mask stay the same to the byte, on turn and off."""
    rng, laws = random.Random(10), Laws(rules)
    counts: Counter[str] = Counter()
    tables = []
    for _ in range(2 if PURE else 10):
        score = [rng.randrange(rules.target) for _ in range(rules.num_teams)]
        tables.append(Table(rules, *stack(laws, rng), score, drawn(laws, rng)))
    last = min(rules.longest_hand, rules.num_seats * rules.num_tricks) - 1  # the shortest hand less the last card
    for ply in range(last):
        if ply % (9 if PURE else 2) == 0:
            counts += resampled(tables, rng, swaps=20)
        for table in tables:
            table.act(rng)
    report_counts("Views under another deal of what is hidden, the family", counts)
    # long suits soon tell so much that nothing else is left
    assert counts["hidden cards moved"] >= counts["views compared"] / (2 if stack is shuffled else 4)
    assert counts["views compared"] >= (6 if PURE else 110)


def resampled(tables: list[Table], rng: random.Random, swaps: int) -> Counter[str]:
    """Compare each table's View with that of the same game from another deal."""
    games = batch_of(tables, [table.order for table in tables], seed=10)
    viewers = games.seat.copy() if rng.random() < 0.5 else np.array([rng.randrange(t.laws.num_seats) for t in tables])
    orders = [table.another(int(viewer), rng, swaps) for table, viewer in zip(tables, viewers, strict=True)]
    again = batch_of(tables, orders, seed=11)
    assert (again.views(viewers) == games.views(viewers)).all()
    assert again.views(viewers).tobytes() == games.views(viewers).tobytes()
    assert again.observe(viewers).tobytes() == games.observe(viewers).tobytes()
    on_turn = games.seat == viewers
    assert (again.legal_actions()[on_turn] == games.legal_actions()[on_turn]).all()
    moved = (again.hands != games.hands).any(axis=1) | (again.state["face_down"] != games.state["face_down"])
    if tables[0].rules.piles:  # the hands are open, and below them lie the same cards in another way
        moved = np.array([order != table.order for order, table in zip(orders, tables, strict=True)])
    return Counter({"views compared": len(tables), "hidden cards moved": int(moved.sum())})
