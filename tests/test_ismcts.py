"""The tree search: legal in every game and phase, the same in every batch, right where worlds can be counted."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from family import GAMES, after, every_game

from agents.search.ismcts import DESK, WORDS, ISMCTSPlayer, _plan, search
from agents.search.tree import ROOT, new_tree
from agents.search.worlds import count_worlds, sample, states
from arena.match import meet
from arena.player import Player
from malilla_env import GameBatch, RuleSet, ruleset
from malilla_env.compiled import PURE
from malilla_env.players import RandomPlayer
from malilla_env.state import ASK, BID, CONSENT, NAME, PLAY, TALK
from malilla_env.view import VIEW, legal_mask
from malilla_env.weights import weights_of

RULES = ruleset()
FEW = 8 if PURE else 1  # plain Python tries less


def chosen_are_legal(games: GameBatch, actions: np.ndarray) -> bool:
    legal = games.legal_actions()[np.arange(len(games)), actions]
    return bool((legal | games.done).all())


def choices(rules: RuleSet, plies: int, lanes: int, seed: int = 31) -> tuple[np.ndarray, np.ndarray]:
    """Views [n] and keys [n] of positions in which the seat on turn has a choice."""
    games = after(rules, plies, lanes, seed, episode="hand")
    views, keys = games.views(), games.decision_keys(seed)
    real = legal_mask(rules, views).sum(axis=1) > 1
    return views[real], keys[real]


# --- whatever the game
@every_game
def test_plays_whole_hands_legally(rules: RuleSet) -> None:
    player = ISMCTSPlayer(rules, iterations=2 if PURE else 12)
    games = GameBatch(rules, 1 if PURE else 3, seed=14, episode="hand")
    while not games.done.all():
        actions = player.act(games.views(), games.decision_keys(14))
        assert chosen_are_legal(games, actions)
        games.step(actions)
    assert (games.reneged == -1).all()


@every_game
def test_answers_every_kind_of_position(rules: RuleSet) -> None:
    """After random play, which leaves odder positions than the players do; in a match too, where more hands follow."""
    player = ISMCTSPlayer(rules, iterations=12)
    for plies in range(0, rules.longest_hand + 12, 20 * FEW if PURE else 5):
        games = after(rules, plies, 2 if PURE else 6, seed=33)
        assert chosen_are_legal(games, player.act(games.views(), games.decision_keys()))


def test_every_phase_is_searched() -> None:
    met = set()
    for rules in (ruleset("malilla", redeal=4), GAMES["manille-encheres"], GAMES["manille-parlee"]):
        player = ISMCTSPlayer(rules, iterations=8)
        for plies in range(6):
            views, keys = choices(rules, plies, 24 // FEW)
            actions = player.act(views, keys)
            assert legal_mask(rules, views)[np.arange(len(views)), actions].all()
            met |= set(views["phase"].tolist())
    assert met == {PLAY, ASK, CONSENT, BID, NAME, TALK}


def test_a_finished_game_is_answered_with_zero() -> None:
    games = after(RULES, RULES.longest_hand, 3, episode="hand")
    assert games.done.all()
    assert ISMCTSPlayer(RULES, iterations=5).act(games.views(), games.decision_keys()).tolist() == [0, 0, 0]
    assert ISMCTSPlayer(RULES).act(np.zeros(0, VIEW), np.zeros(0, np.uint64)).shape == (0,)


# --- the same whatever the batch
@pytest.mark.parametrize("name", ["malilla", "manille-2", "manille-3-dead", "manille-parlee"])
@pytest.mark.parametrize("rollouts", ["random", "heuristic"])
def test_answers_do_not_depend_on_batch_order_or_threads(name: str, rollouts: str) -> None:
    rules = GAMES[name]
    views, keys = choices(rules, 6, 16)
    options = {"iterations": 10 if PURE else 60, "rollouts": rollouts}
    together = ISMCTSPlayer(rules, threads=3, **options).act(views, keys)
    assert ISMCTSPlayer(rules, threads=1, **options).act(views[::-1].copy(), keys[::-1].copy())[::-1].tolist() == (
        together.tolist()
    )
    alone = ISMCTSPlayer(rules, **options)
    each = [alone.act(views[lane : lane + 1], keys[lane : lane + 1])[0] for lane in range(len(views))]
    assert each == together.tolist()


def test_keys_are_what_chance_comes_from() -> None:
    views, keys = choices(RULES, 0, 16)
    player = ISMCTSPlayer(RULES, iterations=8)
    assert player.act(views, keys).tolist() != player.act(views, keys + np.uint64(1)).tolist()


# --- the tree
def searched(views: np.ndarray, key: int, cuts: list[int]) -> np.ndarray:
    """The tree of a View [1] after the iterations between the cuts, range by range."""
    desks, tree, used = np.zeros(1, DESK), new_tree(cuts[-1]), 1
    words = desks.view(np.uint64)
    words[:WORDS] = states(RULES, views, sample(RULES, views, np.zeros(1, np.uint64), 1)).view(np.uint64)
    _plan(views, RULES.table, desks)
    for first, stop in pairwise(cuts):
        used = search(desks, words, RULES.table, weights_of(RULES, ()), tree, np.uint64(key), first, stop, used, 0.3, 0)
    return tree[:used]


def test_a_tree_adds_up() -> None:
    """Each iteration visits one child of a visited node, or ends there; none is visited more than it was available."""
    views, _ = choices(RULES, 4, 8)
    count = 40 if PURE else 500
    tree = searched(views[:1], 7, [0, count])
    children: dict[int, list[int]] = {node: [] for node in range(len(tree))}
    for node in children:
        child = int(tree["first"][node])
        while child != ROOT:
            children[node].append(child)
            child = int(tree["next"][child])
    assert sorted(child for brothers in children.values() for child in brothers) == list(range(1, len(tree)))
    assert tree["visits"][children[ROOT]].sum() == count
    for node in range(1, len(tree)):
        below = tree["visits"][children[node]].sum()
        assert below in (tree["visits"][node], tree["visits"][node] - 1)  # a leaf at first
        assert 1 <= tree["visits"][node] <= tree["available"][node]
        assert 0 <= tree["value"][node] <= tree["visits"][node]
        played = {int(tree["action"][child]) for child in children[node]}
        assert played == {card for card in range(40) if int(tree["tried"][node][0]) >> card & 1}
    assert (tree["available"][children[ROOT]] <= count).all()


def test_a_search_in_parts_is_the_same_search() -> None:
    views, _ = choices(RULES, 9, 8)
    assert (searched(views[:1], 3, [0, 90]) == searched(views[:1], 3, [0, 1, 30, 64, 90])).all()


# --- right where worlds can be counted
def expected(rules: RuleSet, view: np.ndarray, action: int) -> float:
    """Points above the mean that an action brings the side of a View [1], over all its worlds; the rest is forced."""
    deals = np.unique(sample(rules, view, np.ones(1, np.uint64), 200)[0])
    assert len(deals) == count_worlds(rules, view)[0]  # all of them
    games = GameBatch.from_state(rules, states(rules, view, deals[None]))
    games.step(np.full(len(games), action))
    while not games.done.all():
        legal = games.legal_actions()
        assert (legal.sum(axis=1) == 1).all()
        games.step(legal.argmax(axis=1))
    points = games.last_points.mean(axis=0)
    return float(points[rules.teams[int(view["seat"][0])]] - points.mean())


@pytest.mark.skipif(PURE, reason="takes thousands of iterations")
@pytest.mark.parametrize("name", ["malilla", "manille", "manilla-48", "manille-3", "manille-2"])
def test_finds_the_best_card_where_worlds_can_be_counted(name: str) -> None:
    """The last to play to the last trick but one chooses a card; all that follows is forced."""
    rules = GAMES[name]
    views, keys = choices(rules, rules.num_seats * (rules.num_tricks - 1) - 1, 150, seed=37)
    actions, proved = ISMCTSPlayer(rules, iterations=4000).act(views, keys), 0
    for lane in range(len(views)):
        legal = np.flatnonzero(legal_mask(rules, views[lane : lane + 1])[0])
        worth = {int(action): expected(rules, views[lane : lane + 1], int(action)) for action in legal}
        better, other = sorted(worth, key=worth.__getitem__, reverse=True)
        if worth[better] - worth[other] > 0.25:  # of points: else chance may decide
            proved += 1
            assert actions[lane] == better
    assert proved >= 5


# --- strength
@pytest.mark.skipif(PURE, reason="takes too many iterations")
@pytest.mark.parametrize(("name", "least"), [("malilla", 4.0), ("manille-3", 2.0), ("manille-2", 4.0)])
def test_beats_random_by_a_wide_margin(name: str, least: float) -> None:
    rules = GAMES[name]
    player = Player("ismcts", ISMCTSPlayer(rules, iterations=100))
    meeting = meet(player, Player("random", RandomPlayer(rules)), rules, seed=15, pairs=40)
    assert meeting.margins.mean() > least
    assert player.reneges == 0


# --- options
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"iterations": 0}, "iterations=0"),
        ({"iterations": 1.5}, "iterations=1.5"),
        ({"iterations": True}, "iterations=True"),
        ({"milliseconds": -3}, "milliseconds=-3"),
        ({"threads": 0}, "threads=0"),
        ({"exploration": -0.1}, "exploration=-0.1"),
        ({"exploration": float("nan")}, "exploration=nan"),
        ({"exploration": float("inf")}, "exploration=inf"),
        ({"rollouts": "clever"}, "random, heuristic"),
    ],
)
def test_wrong_options_are_named(options: dict, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        ISMCTSPlayer(RULES, **options)


def test_wrong_arguments_are_refused() -> None:
    player = ISMCTSPlayer(RULES)
    views, keys = choices(RULES, 0, 2)
    with pytest.raises(ValueError, match="VIEW rows"):
        player.act(np.zeros(2), keys)
    with pytest.raises(ValueError, match="uint64"):
        player.act(views, keys.astype(np.int64))
    with pytest.raises(ValueError, match="uint64"):
        player.act(views, keys[:1])


def test_a_time_ends_a_search() -> None:
    """No clock is asserted: with so many iterations to go it would not end otherwise."""
    views, keys = choices(RULES, 0, 3)
    player = ISMCTSPlayer(RULES, milliseconds=5)
    assert player.iterations > 1_000_000
    assert legal_mask(RULES, views)[np.arange(len(views)), player.act(views, keys)].all()
    few = {"iterations": 40}
    assert (
        ISMCTSPlayer(RULES, milliseconds=100_000, **few).act(views, keys) == ISMCTSPlayer(RULES, **few).act(views, keys)
    ).all()


def test_the_views_are_left_as_they_were() -> None:
    views, keys = choices(RULES, 3, 4)
    before = views.copy()
    ISMCTSPlayer(RULES, iterations=20).act(views, keys)
    assert (views == before).all()
