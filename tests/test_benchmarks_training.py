"""The benchmark of training: both sides learn and count as it says. At a size too small to mean anything; no times."""

import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from stable_baselines3.common.vec_env import VecEnv

from agents.learning.config import Config, config_from
from agents.neural import Policy
from benchmarks import maskable_ppo, measure, processes, report, training
from malilla_env import GameBatch

GAMES = 4
DECISIONS = 4 * 40  # of an update: 4 hands


@pytest.fixture
def config() -> Iterator[Config]:
    before = torch.get_num_threads()
    network, ppo = {"policy": [16, 16], "critic": [16]}, {"lanes": 4, "epochs": 1, "minibatch": 80}
    yield config_from({"threads": 1, "network": network, "ppo": ppo})
    torch.set_num_threads(before)


def games_of(config: Config, kind: str) -> VecEnv:
    make = {"seats": maskable_ppo.single_seats, "batch": maskable_ppo.OneBatch}[kind]
    return make(config.rules(), GAMES)


def weights(network: torch.nn.Module) -> list[torch.Tensor]:
    """Copies of those that hold anything: what says nothing of suits has a layer with no weights for them."""
    return [weight.detach().clone() for weight in network.parameters() if weight.numel()]


def test_benchmark_gives_figures(config: Config) -> None:
    effort = measure.Effort(seconds=0.001, repeats=1, batch=GAMES)
    rows = training.compare(effort, config)
    assert [row.met is None for row in rows] == [False, False, True, True]
    assert len({row.peer_name for row in rows}) == 4
    assert rows[0].peer >= rows[1].peer
    assert rows[2].peer >= rows[3].peer
    for row in rows:
        assert len(row.ours) == len(row.peer) == len(row.ratios) == 1
        assert all(math.isfinite(value) and value > 0 for value in row.ours + row.peer)
    assert report.table(rows, effort, "title", "by the clock").row_count == 4


def test_ours_counts_every_decision_of_every_seat_and_learns(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    learners = []

    def keeping(*arguments):
        learners.append(new_learner(*arguments))
        return learners[-1]

    new_learner = processes.new_learner
    monkeypatch.setattr(processes, "new_learner", keeping)
    work = training.ours(config)
    before = weights(learners[0].policy)
    assert work() == DECISIONS
    assert work() == DECISIONS
    assert not any(map(torch.equal, before, weights(learners[0].policy)))


@pytest.mark.slow  # starts two processes
def test_ours_in_two_processes_counts_the_decisions_of_both(config: Config) -> None:
    decisions, seconds = processes.stretch(config, 2)(0.01)
    assert decisions >= DECISIONS
    assert decisions % DECISIONS == 0
    assert seconds >= 0.01


@pytest.mark.parametrize("suits", [False, True])
@pytest.mark.parametrize("kind", ["seats", "batch"])
def test_the_peer_makes_an_update_as_large_and_learns(
    config: Config, kind: str, suits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = maskable_ppo.learner(config, games_of(config, kind), suits)
    monkeypatch.setattr(maskable_ppo, "learner", lambda *_: model)
    before = weights(model.policy)
    assert maskable_ppo.updates(config, model.get_env(), suits)() == DECISIONS
    assert not any(map(torch.equal, before, weights(model.policy)))
    assert model.policy.optimizer.param_groups[0]["lr"] == config.ppo.learning_rate
    assert model._n_updates == config.ppo.epochs


def test_the_peer_has_our_layers(config: Config) -> None:
    model = maskable_ppo.learner(config, games_of(config, "batch"), suits=True)
    ours = Policy(config.rules(), config.network.policy).body.layers
    theirs = model.policy.mlp_extractor.forward_actor.layers
    shapes = [[tuple(weight.shape) for weight in layer.parameters()] for layer in ours]
    assert [[tuple(weight.shape) for weight in layer.parameters()] for layer in theirs][1:] == shapes[1:]
    assert len(shapes) == len(config.network.policy) + 1


def test_a_batch_pays_the_side_that_moves_and_deals_the_next_hand(config: Config) -> None:
    rules, games = config.rules(), maskable_ppo.OneBatch(config.rules(), GAMES)
    alone = GameBatch(rules, GAMES, episode="hand")  # the same hands, which stay when they are over
    alone.reset()
    observation = games.reset()
    for move in range(rules.num_cards):
        assert (observation == alone.observe()).all()
        first = alone.legal_actions().argmax(axis=1)
        assert np.stack(games.env_method("action_masks")).argmax(axis=1).tolist() == first.tolist()
        side = np.array(rules.teams)[alone.seat]
        alone.step(first)
        observation, rewards, over, _ = games.step(first)
        assert over.tolist() == [move == rules.num_cards - 1] * GAMES
    points = alone.last_points
    ahead = (points[:, 0] - points[:, 1]) / 2 / rules.neutral
    assert rewards == pytest.approx(np.where(side == 0, ahead, -ahead))
    assert np.stack(games.env_method("action_masks")).any(axis=1).all()
    with pytest.raises(AttributeError, match="colour cannot be set"):
        games.set_attr("colour", "red")


def test_a_stretch_keeps_its_own_time() -> None:
    asked: list[float] = []

    def stretch(seconds: float) -> tuple[int, float]:
        asked.append(seconds)
        return 30, 2.0

    assert measure.take_turns({"a": stretch}, measure.Effort(seconds=8, repeats=2)) == {"a": [15, 15]}
    assert asked == [2, 8, 8]  # the first is not counted


def test_a_piece_of_work_is_finished() -> None:
    ticks = iter([0.0, 0.4, 0.8, 1.2])
    assert measure.spend(lambda: 5, lambda: next(ticks), 1.0) == (15, 1.2)
