"""The belief head: what it may say, that it learns where cards lie, its calibration, and worlds weighed by it."""

from __future__ import annotations

import sys
from functools import cache
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import torch
from family import GAMES, after

import agents
import train
from agents.beliefs import Beliefs, Believer, held, possible, true_holders
from agents.learning import beliefs as calibration
from agents.learning import checkpoint, ppo, stored
from agents.learning.checkpoint import Progress
from agents.learning.config import Belief, Config, Imitation, Ppo, config_from
from agents.learning.parallel import ALONE
from agents.learning.ppo import Learner
from agents.learning.rollout import autocast, collect
from agents.learning.teacher import Teacher
from agents.neural import Critic, Policy, trump_first
from agents.search.likelihood import log_belief, weigh
from agents.search.pimc import PIMCPlayer
from agents.search.worlds import sample, states
from malilla_env import GameBatch, RuleSet, ruleset
from malilla_env.observation import card_frame, encode_views
from malilla_env.view import legal_mask

pytestmark = pytest.mark.usefixtures("one_thread")

RULES = ruleset()
HIDDEN = {name: rules for name, rules in GAMES.items() if not rules.piles}
every_hidden_game = pytest.mark.parametrize("rules", HIDDEN.values(), ids=HIDDEN)


def small(**values: object) -> Config:
    shape = {"network": {"policy": [16], "critic": [16], "belief": [16]}, "ppo": {"lanes": 16, "minibatch": 128}}
    return config_from({**shape, "threads": 1, "checkpoint_every": 1, "evaluation": {"every": 0}, **values})


def opinionated(rules: RuleSet, seed: int = 3) -> Believer:
    """An untrained head that is far from indifferent."""
    torch.manual_seed(seed)
    policy, beliefs = Policy(rules, (16,)), Beliefs(rules, 16, (16,))
    with torch.no_grad():
        for weight in beliefs.parameters():
            weight.normal_(0.0, 0.5)
    return Believer(rules, policy, beliefs)


def played(rules: RuleSet, plies: int, lanes: int = 40) -> GameBatch:
    games = after(rules, plies, lanes, episode="hand")
    return GameBatch.from_state(rules, games.state[~games.done])


def in_network_frame(games: GameBatch, orders: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """Observations and full states of the seats on turn."""
    seen = encode_views(games.rules, games.views(), orders)
    return torch.from_numpy(seen), torch.from_numpy(games.observe_state(suit_order=orders))


# --- what it may say
@every_hidden_game
def test_chances_are_of_possible_holders_alone_and_sum_to_one(rules: RuleSet) -> None:
    for plies in (0, 7, 18):
        games = played(rules, plies)
        views = games.views()
        chances = np.exp(opinionated(rules).log_chances(views))
        lies = held(rules, views["seat"], games.state)
        unseen = lies.any(axis=1)
        assert np.allclose(chances.sum(axis=1)[unseen], 1)
        assert (chances[lies] > 0).all()
        for other in range(1, rules.num_seats):
            seat = (views["seat"].astype(int) + other) % rules.num_seats
            cannot = views["cannot_hold"][np.arange(len(views)), seat][:, None]
            ruled_out = cannot >> np.arange(4 * rules.ranks, dtype=np.uint64) & np.uint64(1) > 0
            assert (chances[:, other - 1][ruled_out] == 0).all()
        known = np.bitwise_or.reduce(views["shown"], axis=1) | views["hand"]
        known = known[:, None] >> np.arange(4 * rules.ranks, dtype=np.uint64) & np.uint64(1) > 0
        assert ((chances == 0) | (chances == 1)).all(axis=1)[known].all()
        doubtful = ((chances > 0) & (chances < 1)).any(axis=1)
        assert doubtful.any()


@every_hidden_game
def test_targets_are_the_true_hands_and_always_possible(rules: RuleSet) -> None:
    for plies in (0, 9, 21):
        games = played(rules, plies)
        orders = trump_first(games.trump)
        observation, state = in_network_frame(games, orders)
        truth = true_holders(rules, state)
        lies = held(rules, games.seat, games.state)
        framed = np.take_along_axis(lies, np.broadcast_to(card_frame(rules, orders)[:, None], lies.shape), axis=2)
        assert np.array_equal(truth.numpy(), framed)
        assert possible(rules, observation)[truth].all()
        unseen = np.bitwise_count(games.hands).sum(axis=1) - np.bitwise_count(games.views()["hand"]) + rules.dead_cards
        assert truth.sum(dim=(1, 2)).tolist() == unseen.tolist()


def test_who_holds_a_card_is_told_in_playing_order_and_nobody_is_the_last() -> None:
    rules = ruleset("manille-3-dead")
    games = played(rules, 4)
    lies = held(rules, games.seat, games.state)
    for lane, row in enumerate(games.state):
        places = [row["hands"][(row["seat"] + other) % 3] for other in (1, 2)] + [row["face_down"]]
        for holder, cards in enumerate(places):
            assert lies[lane, holder].tolist() == [bool(int(cards) >> card & 1) for card in range(32)]


@pytest.mark.parametrize("order", list(permutations(range(1, 4))))
def test_side_suits_may_change_places(order: tuple[int, ...]) -> None:
    believer, games = opinionated(RULES), played(RULES, 17)
    usual = trump_first(games.trump)
    told = []
    for orders in (usual, usual[:, (0, *order)]):
        observation, _ = in_network_frame(games, orders)
        legal = np.take_along_axis(legal_mask(RULES, games.state), card_frame(RULES, orders), axis=1)
        with torch.inference_mode():
            hidden = believer.policy.hidden(observation, torch.from_numpy(legal))
            framed = believer.beliefs(hidden, observation).exp().numpy()
        told.append(np.empty_like(framed))
        np.put_along_axis(told[-1], np.broadcast_to(card_frame(RULES, orders)[:, None], framed.shape), framed, axis=2)
    assert np.allclose(*told, atol=1e-6)
    assert told[0].std() > 0.1  # it does tell something
    assert np.allclose(told[0], np.exp(believer.log_chances(games.views())))


def test_beliefs_do_not_depend_on_the_batch() -> None:
    believer, views = opinionated(RULES), played(RULES, 10, lanes=300).views()
    whole = believer.log_chances(views)
    assert np.array_equal(believer.log_chances(views[::-1].copy())[::-1], whole)
    assert np.array_equal(believer.log_chances(views[7:9].copy()), whole[7:9])


# --- training
def new_learner(config: Ppo, belief: Belief, widths: tuple[int, ...] = (16,), rules: RuleSet = RULES) -> Learner:
    torch.manual_seed(0)
    policy, critic = Policy(rules, widths), Critic(rules, widths)
    return Learner.new(
        policy, critic, config, ALONE, Beliefs(rules, widths[-1], (32,)) if belief.weight else None, belief
    )


def test_in_bfloat16_the_chances_of_a_card_still_sum_to_one() -> None:
    learner, config = new_learner(Ppo(), Belief(weight=1.0), (64,)), Ppo(lanes=4)
    rollout = collect(RULES, learner.policy, learner.critic, config, seed=10, update=0)
    with autocast(rollout.observation.device, "bfloat16"):
        _, _, logs = learner.trained(rollout.observation, rollout.legal, rollout.state)
    sums = logs.exp().sum(dim=1)[possible(RULES, rollout.observation).any(dim=1)]
    assert logs.dtype == torch.float32
    assert torch.allclose(sums, torch.ones(()), atol=1e-5)


@pytest.mark.parametrize("shared", [True, False])
def test_on_fixed_data_the_loss_falls_well_below_a_uniform_guess(shared: bool) -> None:
    config = Ppo(lanes=24, minibatch=128, learning_rate=1e-2, epochs=5)
    learner = new_learner(config, Belief(weight=1.0, shared=shared), (64,))
    rollout = collect(RULES, learner.policy, learner.critic, config, seed=10, update=0)
    told = [ppo.update(learner, rollout, config, 0.0, number) for number in range(10)]
    assert abs(told[0]["belief_uniform"] - told[-1]["belief_uniform"]) < 0.01
    assert told[-1]["belief_loss"] < told[-1]["belief_uniform"] - (0.3 if shared else 0.15)


def test_the_losses_are_means_over_rows_of_the_means_over_their_unseen_cards() -> None:
    config = Ppo(lanes=4)
    learner = new_learner(config, Belief(weight=1.0))
    rollout = collect(RULES, learner.policy, learner.critic, config, seed=10, update=0)
    batch = {name: getattr(rollout, name) for name in (*ppo.COLUMNS, "advantage")}
    parts = ppo.losses(learner, batch, config, len(batch["action"]))
    with torch.inference_mode():
        hidden = learner.policy.hidden(rollout.observation, rollout.legal)
        logs = learner.beliefs(hidden, rollout.observation)
    can, truth = possible(RULES, rollout.observation), true_holders(RULES, rollout.state)
    surprise, guess = [], []  # of each row, over its cards
    for row in range(len(rollout)):
        lies = [(holder, card) for card in range(40) for holder in torch.nonzero(truth[row, :, card])[:, 0]]
        surprise.append(np.mean([-float(logs[row, holder, card]) for holder, card in lies]))
        guess.append(np.mean([np.log(int(can[row, :, card].sum())) for _, card in lies]))
    assert float(parts["belief_loss"].detach()) == pytest.approx(np.mean(surprise), rel=1e-5)
    assert float(parts["belief_uniform"]) == pytest.approx(np.mean(guess), rel=1e-5)


def after_an_update(belief: Belief) -> dict[str, torch.Tensor]:
    config = Ppo(lanes=16, minibatch=128)
    learner = new_learner(config, belief)
    rollout = collect(RULES, learner.policy, learner.critic, config, seed=10, update=0)
    metrics = ppo.update(learner, rollout, config, 0.0, 0)
    assert ("belief_loss" in metrics) == (belief.weight > 0)
    moved = {"policy": learner.policy, "critic": learner.critic}
    return {f"{name}.{key}": value for name, net in moved.items() for key, value in net.state_dict().items()}


def test_a_head_that_only_reads_leaves_policy_and_critic_as_without_it_bit_for_bit() -> None:
    without, reading = after_an_update(Belief()), after_an_update(Belief(weight=1.0, shared=False))
    assert all(torch.equal(value, reading[name]) for name, value in without.items())
    shared = after_an_update(Belief(weight=1.0))
    changed = {name for name, value in without.items() if not torch.equal(value, shared[name])}
    assert any(name.startswith("policy.body.layers.0") for name in changed)
    assert not any(name.startswith("critic") for name in changed)


def test_networks_start_alike_with_and_without_a_head() -> None:
    without, with_one = (train.new_learner(small(belief={"weight": weight})) for weight in (0.0, 0.5))
    assert without.beliefs is None
    assert isinstance(with_one.beliefs, Beliefs)
    for one, other in ((without.policy, with_one.policy), (without.critic, with_one.critic)):
        assert all(map(torch.equal, one.parameters(), other.parameters()))


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"belief": {"weight": -1.0}}, r"belief\.weight -1\.0 must be 0 to 100"),
        ({"belief": {"weight": float("nan")}}, r"belief\.weight nan must be"),
        ({"belief": {"share": True}}, r"unknown key belief\.share"),
        ({"belief": {"shared": 1}}, r"belief\.shared must be bool"),
        ({"network": {"belief": [64, 3]}}, r"network\.belief must hold widths of 4 or more"),
        ({"belief": {"weight": 1.0}, "network": {"policy": []}}, "needs network.policy to have a hidden layer"),
        ({"belief": {"weight": 1.0}, "game": {"ruleset": "manille-2"}}, r"belief\.weight must be 0 in manille-2"),
    ],
)
def test_a_wrong_config_is_refused_by_name(values: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        config_from(values)


# --- checkpoints
def test_n_and_n_updates_equal_2n_bit_for_bit(tmp_path: Path) -> None:
    config = small(decisions=4 * 16 * 40, belief={"weight": 0.5})
    train.train(config, tmp_path / "whole", resume=False)
    learner = train.new_learner(config)
    checkpoint.save(tmp_path / "stopped", learner, config, Progress())
    for number in range(2):
        rollout = collect(RULES, learner.policy, learner.critic, config.ppo, config.seed, number)
        ppo.update(learner, rollout, config.ppo, number / 4, config.seed + number)
    checkpoint.save(tmp_path / "stopped", learner, config, Progress(2, 2 * 16 * 40))
    train.train(config, tmp_path / "stopped", resume=True)
    whole, stopped = (stored.find(tmp_path / name) for name in ("whole", "stopped"))
    for name in ("policy", "critic", "muon", "adam", "beliefs"):
        assert (whole / f"{name}.safetensors").read_bytes() == (stopped / f"{name}.safetensors").read_bytes()


def test_a_checkpoint_plays_with_and_without_its_head(tmp_path: Path) -> None:
    views, keys = played(RULES, 5).views(), np.arange(40, dtype=np.uint64)
    acts = []
    for name, weight in (("with", 0.5), ("without", 0.0)):
        config = small(belief={"weight": weight})
        learner = train.new_learner(config)
        folder = checkpoint.save(tmp_path / name, learner, config, Progress())
        assert (folder / "beliefs.safetensors").exists() == (weight > 0)
        acts.append(agents.make(str(tmp_path / name), RULES).act(views, keys))
        if learner.beliefs:
            told = Believer(RULES, learner.policy, learner.beliefs).log_chances(views)
            assert np.array_equal(Believer.load(tmp_path / name, RULES).log_chances(views), told)
    assert np.array_equal(*acts)
    with pytest.raises(ValueError, match=r"without.* has no belief head: .*belief\.weight above 0"):
        Believer.load(tmp_path / "without", RULES)
    (stored.find(tmp_path / "with") / "beliefs.safetensors").unlink()
    with pytest.raises(ValueError, match=r"cannot load .*beliefs\.safetensors"):
        Believer.load(tmp_path / "with", RULES)


# --- worlds
class Lowest:
    """Plays a legal card of the lowest rank, whatever its suit: what it leads tells that it has nothing below."""

    name = "lowest"

    def act(self, views: np.ndarray, keys: np.ndarray) -> np.ndarray:
        ranks = np.where(legal_mask(RULES, views), np.arange(40) % RULES.ranks, 99)
        actions: np.ndarray = ranks.argmin(axis=1)
        return actions


@cache
def learned() -> Believer:
    """A head that has watched `Lowest` play for some updates."""
    config = Ppo(lanes=128, minibatch=256, learning_rate=1e-3)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    policy, critic, beliefs = Policy(RULES, (64,)), Critic(RULES, (8,)), Beliefs(RULES, 64, (64,))
    learner = Learner.new(policy, critic, config, ALONE, beliefs, Belief(weight=1.0))
    for number in range(12):
        rollout = collect(RULES, policy, critic, config, seed=10, update=number, teacher=Teacher(Lowest()))
        ppo.update(learner, rollout, config, 0.0, number, Imitation())
    return Believer(RULES, policy, beliefs)


def watched(plies: int, lanes: int) -> GameBatch:
    games = GameBatch(RULES, lanes, seed=51, episode="hand")
    for _ in range(plies):
        games.step(Lowest().act(games.views(), games.decision_keys()))
    return games


def test_weights_of_worlds_prefer_the_truth_once_something_was_learned() -> None:
    games = watched(18, 60)
    views = games.views()
    deals = sample(RULES, views, games.decision_keys(51), 60)
    weights = weigh(log_belief(RULES, views, deals, learned()))
    assert weights.shape == (60, 60)
    assert np.allclose(weights.sum(axis=1), 1)
    hands = states(RULES, views, deals)["hands"].reshape(60, 60, 4)
    right = np.bitwise_count(hands & games.hands[:, None]).sum(axis=2)  # cards that lie where they do
    better = (weights * right).sum(axis=1) - right.mean(axis=1)
    assert better.mean() > 3 * better.std() / len(better) ** 0.5
    assert better.mean() > 0.3


@pytest.mark.parametrize("name", ["malilla", "manille-3-dead", "manille-parlee"])
def test_the_log_of_a_world_is_the_sum_over_its_cards(name: str) -> None:
    rules = GAMES[name]
    games, believer = played(rules, 9, lanes=3), opinionated(rules)
    views = games.views()
    deals = sample(rules, views, games.decision_keys(4), 5)
    found, chances = log_belief(rules, views, deals, believer), believer.log_chances(views)
    for world, row in enumerate(states(rules, views, deals)):
        view = world // 5
        seats = [row["hands"][(row["seat"] + other) % rules.num_seats] for other in range(1, rules.num_seats)]
        total = sum(
            chances[view, holder, card]
            for holder, cards in enumerate([*seats, *([row["face_down"]] if rules.dead_hand else [])])
            for card in range(4 * rules.ranks)
            if int(cards) >> card & 1
        )
        assert found[view, world % 5] == pytest.approx(total)
    assert len(np.unique(found)) > 3


def test_pimc_weighs_worlds_by_a_checkpoints_beliefs(tmp_path: Path) -> None:
    config = small(belief={"weight": 0.5})
    believer = opinionated(RULES)
    learner = Learner.new(believer.policy, Critic(RULES, (16,)), config.ppo, ALONE, believer.beliefs, config.belief)
    checkpoint.save(tmp_path, learner, config, Progress())
    games = played(RULES, 19, lanes=30)
    views, keys = games.views(), games.decision_keys(3)
    player = agents.make(f"pimc:worlds=5,threads=1,beliefs={tmp_path}", RULES)
    assert player.name == f"pimc:worlds=5,beliefs={tmp_path}"
    chosen, plain = player.act(views, keys), PIMCPlayer(RULES, worlds=5, threads=1)
    assert not np.array_equal(plain.act(views, keys), chosen)
    plain._likely = lambda views, deals: log_belief(RULES, views, deals, believer)  # type: ignore[method-assign]
    assert np.array_equal(plain.act(views, keys), chosen)


def test_beliefs_that_cannot_weigh_worlds_are_named(tmp_path: Path) -> None:
    config = small()
    checkpoint.save(tmp_path, train.new_learner(config), config, Progress())
    with pytest.raises(ValueError, match=f"(?s)beliefs={tmp_path}.*has no belief head"):
        agents.make(f"pimc:worlds=3,beliefs={tmp_path}", RULES)
    with pytest.raises(ValueError, match=r"weights and beliefs both weigh the worlds: give one of them"):
        agents.make(f"pimc:worlds=3,beliefs={tmp_path},weights={tmp_path}", RULES)
    with pytest.raises(ValueError, match=r"no_such_run holds no checkpoint"):
        agents.make("pimc:worlds=3,beliefs=no_such_run", RULES)


# --- calibration
def test_the_worlds_drawn_say_how_often_each_holder_has_a_card() -> None:
    games = played(RULES, 11, lanes=5)
    views, keys = games.views(), games.decision_keys(4)
    counts = calibration.worlds_with(RULES, views, keys, 30)
    lies = held(RULES, views["seat"], games.state)
    assert (counts.sum(axis=1) == 30 * lies.any(axis=1)).all()
    alone = calibration.worlds_with(RULES, views[3:4], keys[3:4], 30)
    assert np.array_equal(alone, counts[3:4])


def test_reliability_puts_what_was_told_beside_what_was_found() -> None:
    chance = np.array([0.0, 0.05, 0.05, 0.15, 0.95, 1.0])
    lies = np.array([False, False, True, False, True, True])
    bins = calibration.reliability(chance, lies)
    assert bins[0] == pytest.approx((0.1 / 3, 1 / 3, 3))
    assert bins[1] == pytest.approx((0.15, 0.0, 1))
    assert bins[9] == pytest.approx((0.975, 1.0, 2))
    assert bins[5][2] == 0
    assert calibration.calibration_error(chance, lies) == pytest.approx((3 * 0.3 + 0.15 + 2 * 0.025) / 6)


def test_a_head_that_learned_knows_more_than_equally_likely_worlds() -> None:
    found = calibration.together(
        calibration.observe(learned(), games, lanes, seed=51, worlds=256)
        for games, lanes in calibration.choices(RULES, Lowest(), 100, 51)
    )
    head, worlds, uniform = found.surprise()
    assert head < worlds < uniform
    mean, half = calibration.gain(found)
    assert mean == pytest.approx(worlds - head)
    assert 0 < half < mean


def test_the_command_reports_and_refuses(tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch) -> None:
    for name, weight in (("with", 1.0), ("without", 0.0)):
        train.train(small(decisions=2 * 16 * 40, belief={"weight": weight}), tmp_path / name, resume=False)

    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["beliefs", *arguments])
        code = calibration.main()
        return code, " ".join(" ".join(capsys.readouterr()).split())

    capsys.readouterr()
    few = ("--hands", "3", "--worlds", "8")
    code, told = run(str(tmp_path / "with"), *few)
    assert (code, "tricks left" in told, "nats a card" in told) == (0, True, True)
    assert run(str(tmp_path / "with"), *few)[1] == told
    assert run(str(tmp_path / "with"), *few, "--player", "heuristic")[1] != told
    code, told = run(str(tmp_path / "without"), *few)
    assert (code, "has no belief head" in told) == (2, True)
    assert run(str(tmp_path / "with"), "--hands", "0")[0] == 2
