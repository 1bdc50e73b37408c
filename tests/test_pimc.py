"""Players that solve open hands: what they choose, from which worlds, and that nothing else moves their play."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from family import GAMES, after

import agents
from agents.learning.checkpoint import Progress, save
from agents.learning.config import config_from
from agents.learning.ppo import Learner
from agents.neural import Critic, NeuralPlayer, Policy
from agents.search.likelihood import log_likelihood
from agents.search.pimc import OraclePlayer, PIMCPlayer, results, to_solve
from agents.search.worlds import count_worlds, sample, states
from arena.match import meet
from arena.player import Player
from malilla_env import GameBatch, RuleSet, ruleset
from malilla_env.players import HeuristicPlayer, RandomPlayer
from malilla_env.solver import Solver
from malilla_env.view import legal_mask

RULES = ruleset()
PARTNERS = {
    name: rules for name, rules in GAMES.items() if rules.teams in ((0, 1, 0, 1), (1, 0, 1, 0)) and not rules.face_down
}
every_partnership = pytest.mark.parametrize("rules", PARTNERS.values(), ids=PARTNERS)


def late(rules: RuleSet, tricks: int, lanes: int, seed: int = 41, episode: str = "hand") -> GameBatch:
    """Games before the first hand's last so many tricks, after random play; a few plies into a trick in some lanes."""
    games = GameBatch(rules, lanes, seed=seed, episode=episode)
    end = 4 * tricks - np.arange(lanes) % 4
    while (held := np.bitwise_count(games.hands).sum(axis=1) > end).any():
        state = games.state.copy()
        games.step(games.random_legal(games.decision_keys(seed)))
        games.state[~held] = state[~held]
    return games


def are_legal(games: GameBatch, actions: np.ndarray) -> bool:
    return bool((games.legal_actions()[np.arange(len(games)), actions] | games.done).all())


# --- whatever the game
@every_partnership
def test_whole_hands_are_legal(rules: RuleSet) -> None:
    """Asks, bids and statements included: those are the rule player's."""
    player, oracle = PIMCPlayer(rules, worlds=2, tricks=4, threads=1), OraclePlayer(rules, threads=1)
    games = GameBatch(rules, 4, seed=14, episode="hand")
    while not games.done.all():
        views, keys = games.views(), games.decision_keys(14)
        held = np.bitwise_count(views["hand"])
        ours = player.act(views, keys)
        open_play = np.where(held <= 4, oracle.act(views, keys, games.state) if held.max() <= 4 else ours, ours)
        actions = np.where(games.seat % 2 == 0, ours, open_play)
        assert are_legal(games, actions)
        games.step(actions)
    assert (games.reneged == -1).all()


@pytest.mark.parametrize("name", ["manille-3", "manille-3-dead", "manille-2"])
@pytest.mark.parametrize("spec", ["pimc:worlds=2", "oracle"])
def test_rules_that_cannot_be_solved_are_refused_by_name(name: str, spec: str) -> None:
    with pytest.raises(ValueError, match=f"(?s){spec}.*{name} has the sides"):
        agents.make(spec, ruleset(name))


# --- what is chosen
def test_the_best_mean_over_the_sampled_worlds() -> None:
    games = late(RULES, 4, 24)
    views, keys = games.views(), games.decision_keys(3)
    actions, count = PIMCPlayer(RULES, worlds=7, threads=1).act(views, keys), 7
    state = states(RULES, views, sample(RULES, views, keys, count))
    values = Solver(RULES, threads=1).values(state).reshape(len(views), count, -1)
    mean = np.where(values[:, 0] >= 0, values.mean(axis=1), -np.inf)
    choices = legal_mask(RULES, views).sum(axis=1) > 1
    assert choices.sum() > 12
    chosen = mean[np.arange(len(views)), actions]
    assert np.allclose(chosen[choices], mean.max(axis=1)[choices])


def test_of_equals_the_rule_players_favourite() -> None:
    games = late(RULES, 5, 40)
    views, keys = games.views(), games.decision_keys(3)
    actions = OraclePlayer(RULES, threads=1).act(views, keys, games.state)
    values, taste = Solver(RULES, threads=1).values(games.state), HeuristicPlayer(RULES).scores(views)
    ties = 0
    for lane in np.flatnonzero(legal_mask(RULES, views).sum(axis=1) > 1):
        best = np.flatnonzero(values[lane] == values[lane].max())
        ties += len(best) > 1
        assert actions[lane] == best[taste[lane, best].argmax()]
    assert ties > 5


def test_where_only_one_world_is_possible_it_plays_as_the_oracle_does() -> None:
    games = late(RULES, 2, 4000)
    views = games.views()
    sure = (count_worlds(RULES, views) == 1) & (legal_mask(RULES, views).sum(axis=1) > 1)
    assert sure.sum() > 5
    views, keys, state = views[sure], games.decision_keys(3)[sure], games.state[sure]
    oracle = OraclePlayer(RULES, threads=1).act(views, keys, state)
    assert np.array_equal(PIMCPlayer(RULES, worlds=3, threads=1).act(views, keys), oracle)


@pytest.mark.parametrize("name", ["malilla", "manille", "manilla-48"])
def test_two_oracles_reach_the_open_hands_value(name: str) -> None:
    rules = ruleset(name)
    games, oracle = late(rules, 5, 12), OraclePlayer(rules, threads=1)
    promised = games.hand_points + Solver(rules, threads=1).points(games.state)
    while not games.done.all():
        games.step(oracle.act(games.views(), games.decision_keys(), games.state))
    assert np.array_equal(games.last_points, promised)


def test_a_contract_counts_where_hands_are_bid_for() -> None:
    """3.6: what the bidders take beyond their bid, or below it, is worth what it scores."""
    rules = ruleset("manille-encheres")
    games = late(rules, 3, 60)
    games = GameBatch.from_state(rules, games.state[~games.done & (games.bidder >= 0)])
    solver = Solver(rules, threads=1)
    values, worth = solver.values(games.state), results(solver, games.state)
    for lane, row in enumerate(games.state):
        me, bidders = rules.teams[row["seat"]], rules.teams[row["bidder"]]
        left = rules.total_points - int(row["hand_points"].sum())
        for card in np.flatnonzero(values[lane] >= 0):
            mine = int(row["hand_points"][me]) + int(values[lane, card])
            theirs = int(row["hand_points"][1 - me]) + left - int(values[lane, card])
            taken = mine if me == bidders else theirs
            won = taken - 30 if taken >= row["bid"] else 30 - int(row["bid"])  # of the bidders, above the others
            assert worth[lane, card] == (won if me == bidders else -won)
    assert len(games) > 20


def test_before_the_last_tricks_another_player_plays() -> None:
    games = after(RULES, 9, 30)
    views, keys = games.views(), games.decision_keys(5)
    for before in ("heuristic", "random"):
        expected = agents.make(before, RULES).act(views, keys)
        player = PIMCPlayer(RULES, worlds=1, tricks=4, before=before, threads=1)
        assert np.array_equal(player.act(views, keys), expected)
    assert len(to_solve(views, 4)) == 0 < len(to_solve(views, 10))


# --- from which worlds
def test_worlds_count_by_what_the_policy_would_have_played() -> None:
    """With all weight on one world the card that is best there is played."""
    games = late(RULES, 4, 30)
    views, keys = games.views(), games.decision_keys(3)
    player = PIMCPlayer(RULES, worlds=5, threads=1)
    deals = sample(RULES, views, keys, 5)
    values = Solver(RULES, threads=1).values(states(RULES, views, deals)).reshape(len(views), 5, -1)
    choices = np.flatnonzero(legal_mask(RULES, views).sum(axis=1) > 1)
    chosen = []
    for world in range(5):
        only = np.where(np.arange(5) == world, 0.0, -1e9)
        player._likely = lambda views, deals, only=only: np.tile(only, (len(views), 1))  # type: ignore[method-assign]
        chosen.append(player.act(views, keys)[choices])
        assert (values[choices, world, chosen[-1]] == values[choices, world].max(axis=1)).all()
    assert any(not np.array_equal(chosen[0], other) for other in chosen[1:])


def test_weights_come_from_a_checkpoint(tmp_path: Path) -> None:
    """The spec plays what the worlds' likelihoods say; and not what it plays without them."""
    config = config_from({"network": {"policy": [8], "critic": [8]}})
    torch.manual_seed(7)
    policy = Policy(RULES, [8])
    with torch.no_grad():
        for weight in policy.body.layers[-1].parameters():
            weight.normal_(0.0, 3.0)
    learner = Learner.new(policy, Critic(RULES, [8]), config.ppo)
    save(tmp_path, learner, config, Progress(update=0, decisions=0))
    games = late(RULES, 6, 30)
    views, keys = games.views(), games.decision_keys(3)
    chosen = agents.make(f"pimc:worlds=5,threads=1,weights={tmp_path}", RULES).act(views, keys)
    player = PIMCPlayer(RULES, worlds=5, threads=1)
    assert not np.array_equal(player.act(views, keys), chosen)
    judge = NeuralPlayer(RULES, policy)
    player._likely = lambda views, deals: log_likelihood(RULES, views, deals, judge)  # type: ignore[method-assign]
    assert np.array_equal(player.act(views, keys), chosen)


def test_weights_that_are_not_there_are_named() -> None:
    with pytest.raises(ValueError, match="weights= needs a value"):
        agents.make("pimc:worlds=3,weights=", RULES)
    with pytest.raises(ValueError, match="no_such_run"):
        agents.make("pimc:worlds=3,weights=no_such_run", RULES)


@pytest.mark.parametrize("spec", ["pimc:worlds=2", "ismcts:iterations=20"])
def test_what_is_no_view_is_refused(spec: str) -> None:
    player, games = agents.make(spec, RULES), GameBatch(RULES, 3, seed=5, episode="hand")
    views, keys = games.views(), games.decision_keys()
    wrong = views.copy()
    wrong["trump"][1] = 43
    with pytest.raises(ValueError, match="view 1 is not the View"):
        player.act(wrong, keys)
    with pytest.raises(ValueError, match=r"keys must be uint64 of shape \(3,\)"):
        player.act(views, keys[:2])
    other = GameBatch(ruleset("manilla-48"), 2, seed=1)
    with pytest.raises(ValueError, match="view 0 is not the View"):
        player.act(other.views(), other.decision_keys())
    later = late(RULES, 5, 3)
    views = later.views()
    views["legal"][0, 0] = (1 << 40) - 1
    with pytest.raises(ValueError, match=r"view 0: after its plays .* legal differ"):
        player.act(views, keys)


# --- nothing else moves it
def test_batches_and_threads_change_nothing() -> None:
    games = late(RULES, 6, 30)
    views, keys = games.views(), games.decision_keys(3)
    whole = PIMCPlayer(RULES, worlds=4, threads=1).act(views, keys)
    player = PIMCPlayer(RULES, worlds=4, threads=3)
    assert np.array_equal(player.act(views, keys), whole)
    assert np.array_equal(player.act(views[::-1].copy(), keys[::-1].copy())[::-1], whole)
    assert [int(player.act(views[lane : lane + 1], keys[lane : lane + 1])[0]) for lane in range(5)] == whole[
        :5
    ].tolist()


def test_games_that_are_over_and_forced_moves_need_no_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    games = after(RULES, RULES.longest_hand, 5, episode="hand")
    assert games.done.all()
    player = PIMCPlayer(RULES, worlds=2, threads=1)
    monkeypatch.setattr("agents.search.pimc.sample", None)
    assert not player.act(games.views(), games.decision_keys()).any()
    last = late(RULES, 1, 20)
    assert are_legal(last, player.act(last.views(), last.decision_keys()))


def test_a_time_is_kept_with_a_legal_card() -> None:
    games = late(RULES, 5, 6)
    for options in ({"milliseconds": 1}, {"milliseconds": 30, "worlds": 2}):
        player = PIMCPlayer(RULES, threads=1, **options)
        assert are_legal(games, player.act(games.views(), games.decision_keys()))


def test_worlds_drawn_in_a_time_count_beside_each_other() -> None:
    """One thread draws them one by one; all weight on the third is all weight on the third."""
    games = late(RULES, 5, 12)
    views, keys = games.views(), games.decision_keys()
    for lane in to_solve(views, 5):
        player, drawn = PIMCPlayer(RULES, worlds=4, milliseconds=600_000, threads=1), []

        def likely(views: np.ndarray, deals: np.ndarray, drawn: list[np.ndarray] = drawn) -> np.ndarray:
            drawn.append(deals)
            return np.full(deals.shape, 0.0 if len(drawn) == 3 else -1e9)

        player._likely = likely  # type: ignore[method-assign]
        view = views[lane : lane + 1]
        chosen = int(player.act(view, keys[lane : lane + 1])[0])
        values = Solver(RULES, threads=1).values(states(RULES, view, drawn[2]))[0]
        assert len(drawn) == 4
        assert values[chosen] == values.max()


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ("pimc:worlds=0", "worlds=0 must be a whole number, 1 to"),
        ("pimc:tricks=11", "tricks=11 must be a whole number, 1 to 10 in malilla"),
        ("pimc:milliseconds=-5", "milliseconds=-5"),
        ("pimc:threads=0", "threads 0"),
        ("pimc:before=nobody", "unknown player 'nobody'"),
        ("pimc:before=oracle", "before=oracle sees all hands"),
        ("pimc:worlds=many", "worlds must be int"),
        ("oracle:worlds=3", "'worlds=3' is not an option"),
    ],
)
def test_options_that_make_no_sense_are_named(spec: str, named: str) -> None:
    with pytest.raises(ValueError, match=f"(?s)player '{spec}'.*{named}"):
        agents.make(spec, RULES)


def test_names_say_what_plays() -> None:
    assert agents.make("pimc:worlds=3,tricks=5", RULES).name == "pimc:worlds=3,tricks=5"
    assert agents.make("pimc", RULES).name == "pimc"


# --- strength
def test_open_hands_are_worth_much() -> None:
    """Last five tricks alone: the oracle above PIMC, PIMC above random play."""

    class LateOracle(OraclePlayer):
        """The rule player before the last five tricks."""

        def act(self, views: np.ndarray, keys: np.ndarray, state: np.ndarray | None = None) -> np.ndarray:
            assert state is not None
            late = np.bitwise_count(views["hand"]) <= 5
            actions = self.taste.act(views)
            if late.any():
                actions[late] = super().act(views[late], keys[late], state[late])
            return actions

    pimc = Player("pimc", PIMCPlayer(RULES, worlds=4, tricks=5, threads=1))
    oracle, chance = Player("oracle", LateOracle(RULES, threads=1)), Player("random", RandomPlayer(RULES))
    assert meet(oracle, pimc, RULES, 15, 60).margins.mean() > 1
    assert meet(pimc, chance, RULES, 15, 60).margins.mean() > 3
