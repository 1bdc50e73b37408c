"""The likelihood of what was played: against the network asked move by move, and by what it tells of hidden cards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from family import GAMES
from torch import Tensor, nn

import export
from agents.neural import NeuralPlayer, Policy, action_frame, trump_first
from agents.search.likelihood import WORLDS, log_likelihood, log_softmax, weigh
from agents.search.worlds import sample, states
from malilla_env import GameBatch, RuleSet, ruleset
from malilla_env.observation import encode_views
from malilla_env.policy import OnnxPlayer

pytestmark = pytest.mark.usefixtures("one_thread")

RULES = ruleset()


def loud_policy(rules: RuleSet, seed: int = 1) -> Policy:
    """An untrained network that is far from indifferent."""
    torch.manual_seed(seed)
    policy = Policy(rules, [16]).eval()
    with torch.no_grad():
        for weight in policy.body.layers[-1].parameters():
            weight.normal_(0.0, 0.3)
    return policy


class FirstOfAll(nn.Module):
    """Nearly always takes the legal action that stands first in the network's frame."""

    def __init__(self) -> None:
        super().__init__()
        self.step = nn.Parameter(torch.tensor(8.0))

    def forward(self, observation: Tensor, legal: Tensor) -> Tensor:
        logits = -self.step * torch.arange(legal.shape[1])
        return torch.where(legal > 0, logits.expand(legal.shape), -1e9)


def played_games(player: NeuralPlayer, plies: int, lanes: int, seed: int) -> GameBatch:
    """Games after so many of the player's own actions."""
    games = GameBatch(player.rules, lanes, seed=seed, episode="hand")
    for _ in range(plies):
        games.step(player.act(games.views(), games.decision_keys()))
    return games


def one_by_one(rules: RuleSet, view: np.void, deal: np.void, policy: nn.Module, temperature: float) -> float:
    """The same sum, decision by decision, each in a batch of its own."""
    games, total = GameBatch(rules, 1, episode="hand"), 0.0
    games.reset(deals=np.array([deal]))
    for seat, action in zip(view["play_seats"], view["plays"][: view["num_plays"]], strict=False):
        legal = games.legal_actions()
        if seat != view["seat"] and legal.sum() > 1:
            orders = trump_first(games.trump)
            frame = action_frame(rules, orders)
            rows = encode_views(rules, games.views(), orders), np.take_along_axis(legal, frame, axis=1)
            with torch.inference_mode():
                logits = policy(*map(torch.from_numpy, rows)).double() / temperature
            place = int(np.flatnonzero(frame[0] == action)[0])
            total += float(torch.log_softmax(logits[0], dim=0)[place])
        games.step(np.array([action]))
    return total


@pytest.mark.parametrize("name", ["malilla", "malilla-zone", "manille-parlee", "manille-encheres", "manille-3-dead"])
@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_the_sum_is_that_of_each_decision_of_the_others(name: str, temperature: float) -> None:
    rules = GAMES[name]
    policy, games = loud_policy(rules), GameBatch(rules, 3, seed=13, episode="hand")
    for _ in range(14):
        games.step(games.random_legal(games.decision_keys()))
    views = games.views((games.seat + 1) % rules.num_seats)
    deals = sample(rules, views, games.decision_keys(13), 3)
    found = log_likelihood(rules, views, deals, NeuralPlayer(rules, policy), temperature)
    for view, row, sums in zip(views, deals, found, strict=True):
        assert sums == pytest.approx([one_by_one(rules, view, deal, policy, temperature) for deal in row], abs=1e-4)
    assert len(np.unique(found)) == found.size


def test_an_exported_policy_says_the_same(tmp_path: Path) -> None:
    games = GameBatch(RULES, 5, seed=14, episode="hand")
    for _ in range(9):
        games.step(games.random_legal(games.decision_keys()))
    views, policy, file = games.views(), loud_policy(RULES), tmp_path / "loud.onnx"
    told = export.metadata(RULES, {"update": 0, "decisions": 0, "config": {"seed": 0}}, None)
    file.write_bytes(export.model(RULES, policy, told).SerializeToString())
    deals = sample(RULES, views, np.arange(5, dtype=np.uint64), 4)
    of_network = log_likelihood(RULES, views, deals, NeuralPlayer(RULES, policy))
    assert log_likelihood(RULES, views, deals, OnnxPlayer(file, RULES)) == pytest.approx(of_network, abs=1e-4)


def test_weights_favour_the_worlds_in_which_the_play_is_what_the_policy_plays() -> None:
    player = NeuralPlayer(RULES, FirstOfAll())
    games = played_games(player, 12, 20, seed=15)
    views = games.views()
    deals = sample(RULES, views, games.decision_keys(15), 60)
    true = np.zeros((len(views), 1), deals.dtype)
    true["cards"][:, 0], true["dealer"][:, 0] = games.state["deck"][:, :40], games.dealer
    assert (log_likelihood(RULES, views, true, player) > -0.1).all()
    weights = weigh(log_likelihood(RULES, views, deals, player))
    hands = states(RULES, views, deals)["hands"].reshape(len(views), 60, 4)
    right = np.bitwise_count(hands & games.hands[:, None]).sum(axis=2)  # cards that lie where they do
    assert ((weights * right).sum(axis=1) - right.mean(axis=1)).mean() > 1.0


def test_results_do_not_depend_on_the_batch() -> None:
    player = NeuralPlayer(RULES, loud_policy(RULES))
    games = played_games(player, 10, 12, seed=16)
    views = games.views()
    deals = sample(RULES, views, games.decision_keys(16), 40)
    assert deals.size > WORLDS
    found = log_likelihood(RULES, views, deals, player)
    assert (log_likelihood(RULES, views[5:6], deals[5:6, :7], player) == found[5:6, :7]).all()
    assert (log_likelihood(RULES, views[::-1], deals[::-1], player) == found[::-1]).all()


def test_nothing_played_is_certain() -> None:
    games = GameBatch(RULES, 3, seed=17)
    deals = sample(RULES, games.views(), games.decision_keys(), 2)
    assert (log_likelihood(RULES, games.views(), deals, NeuralPlayer(RULES, loud_policy(RULES))) == 0).all()


def test_chances_of_the_legal_actions_sum_to_one() -> None:
    legal = np.array([[True, False, True], [False, True, False]])
    chances = np.exp(log_softmax(np.array([[1e4, 1e9, 1e4], [-1e9, -1e9, 0.0]]), legal))
    assert chances.tolist() == [[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]]


def test_weights_sum_to_one_however_small_the_likelihoods() -> None:
    weights = weigh(np.array([[-1e6, -1e6 + np.log(3)], [0.0, -1e5]]))
    assert weights == pytest.approx(np.array([[0.25, 0.75], [1.0, 0.0]]))


def test_wrong_arguments_are_named() -> None:
    games = GameBatch(RULES, 2, seed=18)
    games.step(games.random_legal(games.decision_keys()))
    views, player = games.views(), NeuralPlayer(RULES, loud_policy(RULES))
    deals = sample(RULES, views, games.decision_keys(), 2)
    with pytest.raises(ValueError, match="temperature 0 must be above 0"):
        log_likelihood(RULES, views, deals, player, temperature=0)
    other = deals.copy()
    other["cards"][1, 1] = np.roll(other["cards"][1, 1], 1)
    with pytest.raises(ValueError, match="view 1: its plays are not legal from deal 1"):
        log_likelihood(RULES, views, other, player)
    with pytest.raises(ValueError, match="log_likelihoods must be finite"):
        weigh(np.array([[0.0, -np.inf]]))
