"""Training: rollouts, advantages, the loss, configs, checkpoints and resuming (CASES 13-15, 17, 18)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import train
from agents.learning import checkpoint, ppo, stored
from agents.learning.checkpoint import Progress
from agents.learning.config import Config, Imitation, Ppo, config_from, load_config
from agents.learning.goal import MatchChance, Points, new_goal
from agents.learning.muon import Muon, orthogonal
from agents.learning.ppo import Learner, losses
from agents.learning.rollout import (
    POINTS,
    advantages,
    by_team,
    collect,
    play_hands,
    sample,
    start_scores,
)
from agents.learning.teacher import Teacher
from agents.matches import MatchTable
from agents.neural import Critic, NeuralPlayer, Policy, action_frame, trump_first
from malilla_env import PRESETS, GameBatch, layout, ruleset
from malilla_env.observation import encode_views
from malilla_env.players import HeuristicPlayer, RandomPlayer

pytestmark = pytest.mark.usefixtures("one_thread")

ROOT = Path(__file__).parents[1]
SMOKE = ROOT / "configs" / "smoke.toml"
RULES = ruleset()
SMALL = {
    "network": {"policy": [16], "critic": [16]},
    "ppo": {"lanes": 16, "minibatch": 128},
    "evaluation": {"every": 0},
}


def small(**values: object) -> Config:
    return config_from({**SMALL, "threads": 1, "checkpoint_every": 1, **values})


def networks(scale: float = 1.0) -> tuple[Policy, Critic]:
    torch.manual_seed(0)
    policy, critic = Policy(RULES, (16,)), Critic(RULES, (16,))
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.mul_(scale)
    return policy, critic


# --- rollout
def test_a_rollout_keeps_real_choices_only_in_the_networks_frame() -> None:
    steps = play_hands(RULES, *networks(), lanes=32, seed=10, update=0)
    legal, observation = torch.cat(steps.legal).numpy(), torch.cat(steps.observation).numpy()
    action = np.concatenate(steps.action)
    assert len(steps.reward) == 40
    assert legal.sum(axis=1).min() == 2
    assert legal[np.arange(len(legal)), action].all()
    assert (observation[:, layout(RULES).slices["trump"]] == [1, 0, 0, 0]).all()
    assert len(np.concatenate(steps.lanes)) == len(action) < 40 * 32


def test_case_14_a_trajectory_is_one_hand_and_its_rewards_are_the_margin() -> None:
    steps = play_hands(RULES, *networks(), lanes=64, seed=10, update=3)
    whole = np.sum(steps.reward, axis=0)
    assert np.allclose(whole.sum(axis=1), 0)
    assert np.abs(whole).max() <= 35
    first = play_hands(RULES, *networks(), lanes=64, seed=10, update=3)
    other = play_hands(RULES, *networks(), lanes=64, seed=10, update=4)
    assert np.array_equal(first.observation[0], steps.observation[0])
    assert not np.array_equal(other.observation[0], steps.observation[0])


def test_played_for_the_match_a_hand_pays_the_chance_that_it_leaves() -> None:
    table = MatchTable.of(RULES, RandomPlayer(RULES), seed=20, hands=500)
    steps = play_hands(RULES, *networks(), lanes=64, seed=10, update=3, goal=MatchChance(table, points=80.0))
    paid = np.stack(steps.reward)  # [plies, lanes, sides]
    assert np.allclose(paid.sum(axis=2), 0, atol=1e-4)
    assert not paid[:-1].any()
    scores, points = start_scores(RULES, 64, 10, 3), np.sum(play_hands(RULES, *networks(), 64, 10, 3).reward, axis=0)
    assert np.abs(paid).max() == 40  # some match is over
    low = (scores < 10).all(axis=1)  # and where none can be, the side with more points has gained
    assert np.corrcoef(paid[-1][low, 0], points[low, 0])[0, 1] > 0.5


def test_what_hands_are_played_for_is_checked() -> None:
    assert isinstance(new_goal(small().match, RULES, 10), Points)
    with pytest.raises(ValueError, match=r"match\.points 0\.0 must be 1 to 10000"):
        small(match={"points": 0})
    with pytest.raises(ValueError, match="unknown player 'nobody'"):
        new_goal(small(match={"player": "nobody"}).match, RULES, 10)
    with pytest.raises(ValueError, match="manille-3 is not, it has 3 sides"):
        new_goal(small(match={"player": "random"}).match, ruleset("manille-3"), 10)


@pytest.mark.parametrize("gae_lambda", [0.0, 0.7, 1.0])
def test_advantages_agree_with_the_definition(gae_lambda: float) -> None:
    """Against sums written out lane by lane and side by side, with the points of forced moves in between."""
    steps = play_hands(RULES, *networks(), lanes=12, seed=11, update=0)
    advantage, returns = advantages(steps, gae_lambda)
    starts = np.cumsum([0] + [len(lanes) for lanes in steps.lanes])
    for lane in range(12):
        moments = [
            (ply, int(np.flatnonzero(steps.lanes[ply] == lane)[0])) for ply in range(40) if lane in steps.lanes[ply]
        ]
        values = [by_team(steps.value[ply], steps.teams[ply])[row] for ply, row in moments] + [np.zeros(2)]
        ends = [ply for ply, _ in moments[1:]] + [40]
        for place, (ply, row) in enumerate(moments):
            expected = np.zeros(2)
            for later in range(place, len(moments)):
                won = sum(steps.reward[at][lane] for at in range(moments[later][0], ends[later])) / POINTS
                expected += gae_lambda ** (later - place) * (won + values[later + 1] - values[later])
            team = int(steps.teams[ply][row])
            at = starts[ply] + row
            assert advantage[at] == pytest.approx(expected[team], abs=1e-4)
            assert returns[at] == pytest.approx((expected + values[place])[[team, 1 - team]], abs=1e-4)


def test_by_team_is_undone_by_the_negated_team() -> None:
    value = np.arange(12, dtype=np.float32).reshape(4, 3)
    team = np.array([0, 1, 2, 1])
    assert np.array_equal(by_team(by_team(value, team), -team), value)
    assert by_team(value, team)[1].tolist() == [5, 3, 4]


def test_case_13_and_15_illegal_actions_are_never_drawn() -> None:
    """Extreme logits on illegal actions, over 100,000 moves; a game with an illegal move would end early."""
    policy, critic = networks(scale=300.0)
    steps = play_hands(RULES, policy, critic, lanes=2500, seed=12, update=0)
    assert len(steps.reward) == 40
    assert all(
        legal.numpy()[np.arange(len(legal)), action].all()
        for legal, action in zip(steps.legal, steps.action, strict=True)
    )
    assert np.abs(np.sum(steps.reward, axis=0)).max() <= 35


def test_sample_draws_in_proportion_and_by_key_alone() -> None:
    logits = np.log(np.array([[0.2, 0.0, 0.8]], np.float32) + 1e-30).repeat(20000, axis=0)
    keys = np.random.default_rng(0).integers(0, 1 << 63, 20000).astype(np.uint64) * np.uint64(2)
    chosen, log_prob = sample(logits, keys)
    assert set(chosen) == {0, 2}
    assert abs((chosen == 0).mean() - 0.2) < 0.02
    assert np.allclose(np.exp(log_prob), np.where(chosen == 0, 0.2, 0.8), atol=1e-3)
    assert np.array_equal(sample(logits[:5], keys[:5])[0], chosen[:5])


# --- a teacher
def test_a_teachers_lesson_is_kept_and_learned() -> None:
    policy, critic = networks()
    learner, config = Learner.new(policy, critic, Ppo()), Ppo(lanes=128, minibatch=256, learning_rate=3e-3)
    teacher = Teacher(HeuristicPlayer(RULES))
    surprise = [
        ppo.update(learner, rollout, config, 0.0, number, Imitation())["policy_loss"]
        for number in range(8)
        for rollout in [collect(RULES, policy, critic, config, seed=10, update=number, teacher=teacher)]
    ]
    assert surprise[-1] < surprise[0] - 0.05


def test_a_lesson_weighs_moves_by_what_the_teacher_thinks_of_them() -> None:
    games, player = GameBatch(RULES, 128, 10, episode="hand"), HeuristicPlayer(RULES)
    views, keys = games.views(), games.decision_keys(10)
    frame = action_frame(RULES, trump_first(games.trump))
    legal = np.take_along_axis(games.legal_actions(), frame, axis=1)
    shown = Teacher(player, temperature=2.0).lesson(views, keys, frame, legal)
    scores = np.take_along_axis(player.scores(views), frame, axis=1)
    assert np.array_equal(np.isfinite(shown), legal)
    best = scores.max(axis=1, keepdims=True)
    assert np.allclose(shown[legal], ((scores - best) / 2.0)[legal], atol=1e-5)


def test_a_teacher_without_scores_shows_the_move_it_makes() -> None:
    games, player = GameBatch(RULES, 64, 10, episode="hand"), RandomPlayer(RULES)
    views, keys = games.views(), games.decision_keys(10)
    frame = action_frame(RULES, trump_first(games.trump))
    legal = np.take_along_axis(games.legal_actions(), frame, axis=1)
    shown = Teacher(player).lesson(views, keys, frame, legal)
    assert (np.isfinite(shown).sum(axis=1) == 1).all()
    assert np.array_equal(frame[np.arange(64), shown.argmax(axis=1)], player.act(views, keys))


def test_a_teacher_that_cannot_be_learned_from_is_named() -> None:
    class Careless:
        name = "careless"

        def act(self, views: np.ndarray, keys: np.ndarray) -> np.ndarray:
            return np.full(len(views), 99)

    games = GameBatch(RULES, 4, 10)
    frame = action_frame(RULES, trump_first(games.trump))
    legal = np.take_along_axis(games.legal_actions(), frame, axis=1)
    with pytest.raises(ValueError, match="careless made no legal move"):
        Teacher(Careless()).lesson(games.views(), games.decision_keys(), frame, legal)
    Careless.sees_all = True
    with pytest.raises(ValueError, match="careless sees all hands"):
        Teacher(Careless())


def test_muon_steps_alike_in_all_directions() -> None:
    torch.manual_seed(1)
    for shape in ((12, 30), (30, 12)):
        values = torch.linalg.svdvals(orthogonal(torch.randn(shape) @ torch.diag(torch.logspace(0, -2, shape[1]))))
        assert 0.3 < float(values.min()) <= float(values.max()) < 1.3
    matrix = torch.nn.Parameter(torch.zeros(30, 12))
    matrix.grad = torch.randn(30, 12)
    Muon([matrix], lr=0.1).step()
    sizes = torch.linalg.svdvals(matrix.detach()) / 2.5**0.5
    assert 0.06 < float(sizes.min()) <= float(sizes.max()) < 0.13


# --- frames
def test_the_players_choice_does_not_depend_on_which_suits_are_which() -> None:
    """A policy sees the trump first: permuting the suits of the whole game permutes its actions."""
    games = GameBatch(RULES, 50, seed=21)
    for _ in range(6):
        games.step(games.random_legal(games.decision_keys()))
    orders = trump_first(games.trump)
    frame = action_frame(RULES, orders)
    assert np.array_equal(orders[:, 0], games.trump)
    assert (np.sort(frame, axis=1) == np.arange(40)).all()
    seen = encode_views(RULES, games.views(), orders)
    plain = encode_views(RULES, games.views())
    assert np.array_equal(
        seen, np.stack([row[layout(RULES).frame(order)] for row, order in zip(plain, orders, strict=True)])
    )


def test_a_network_player_acts_alike_in_any_batch() -> None:
    torch.manual_seed(5)
    player = NeuralPlayer(RULES, Policy(RULES, (64, 64)))
    games = GameBatch(RULES, 700, seed=22)
    for _ in range(9):
        games.step(games.random_legal(games.decision_keys()))
    views, keys = games.views(), games.decision_keys()
    whole = player.act(views, keys)
    legal = games.legal_actions()
    assert legal[np.arange(700), whole].all()
    for size in (1, 7, 64):
        parts = [player.act(views[at : at + size], keys[at : at + size]) for at in range(0, 140, size)]
        assert np.array_equal(np.concatenate(parts), whole[: sum(map(len, parts))])


@pytest.mark.parametrize("order", list(permutations(range(1, 4))))
def test_side_suits_may_change_places(order: tuple[int, ...]) -> None:
    """Policy and critic answer the same whatever the order of the side suits: they share their weights."""
    policy, critic = networks(scale=3.0)
    games = GameBatch(RULES, 60, seed=24)
    for _ in range(17):
        games.step(games.random_legal(games.decision_keys()))
    usual = trump_first(games.trump)
    other = usual[:, (0, *order)]
    logits, values = [], []
    for orders in (usual, other):
        frame = action_frame(RULES, orders)
        seen = torch.from_numpy(encode_views(RULES, games.views(), orders))
        legal = torch.from_numpy(np.take_along_axis(games.legal_actions(), frame, axis=1))
        with torch.inference_mode():
            framed = policy(seen, legal).numpy()
            values.append(critic(torch.from_numpy(games.observe_state(suit_order=orders))).numpy())
        logits.append(np.empty_like(framed))
        np.put_along_axis(logits[-1], frame, framed, axis=1)
    assert np.allclose(*logits, atol=1e-5)
    assert np.allclose(*values, atol=1e-5)
    assert np.ptp(logits[0][games.legal_actions()]) > 1e-3  # it does answer something


# --- loss
def batch_of(rollout: object) -> dict[str, torch.Tensor]:
    return {name: getattr(rollout, name) for name in (*ppo.COLUMNS, "advantage")}


def test_case_15_one_legal_move_and_extreme_logits_stay_finite() -> None:
    policy, critic = networks(scale=1e4)
    learner = Learner.new(policy, critic, Ppo())
    batch = batch_of(collect(RULES, policy, critic, Ppo(lanes=8), seed=10, update=0))
    batch["legal"] = torch.zeros_like(batch["legal"])
    batch["legal"][torch.arange(len(batch["action"])), batch["action"]] = True  # one legal move in every row
    parts = losses(learner, batch, Ppo(), len(batch["action"]))
    ppo.step(learner, parts, entropy=0.01, max_gradient=1.0)
    assert all(torch.isfinite(part) for part in parts.values())
    assert float(parts["entropy"].detach()) == 0
    assert all(torch.isfinite(parameter).all() for parameter in policy.parameters())


def test_a_loss_that_is_not_finite_stops_the_run_with_its_parts() -> None:
    policy, critic = networks()
    learner = Learner.new(policy, critic, Ppo())
    rollout = collect(RULES, policy, critic, Ppo(lanes=8), seed=10, update=0)
    rollout.returns[0, 0] = float("nan")
    with pytest.raises(FloatingPointError, match="value_loss nan"):
        ppo.update(learner, rollout, Ppo(lanes=8), 0.0, 0)


def test_an_update_raises_the_probability_of_what_gained() -> None:
    policy, critic = networks()
    learner = Learner.new(policy, critic, Ppo(learning_rate=1e-3))
    rollout = collect(RULES, policy, critic, Ppo(lanes=64), seed=10, update=0)
    ppo.update(learner, rollout, Ppo(lanes=64, epochs=4, minibatch=512, entropy=0.0, final_entropy=0.0), 0.0, 0)
    with torch.inference_mode():
        after = policy(rollout.observation, rollout.legal).log_softmax(dim=1)
    change = after.gather(1, rollout.action[:, None])[:, 0] - rollout.log_prob
    assert float((change * (rollout.advantage - rollout.advantage.mean())).mean()) > 0


def test_schedules_run_from_their_first_value_to_their_last() -> None:
    assert [ppo.anneal(1.0, 0.2, fraction) for fraction in (0.0, 0.5, 1.0, 2.0)] == pytest.approx([1.0, 0.6, 0.2, 0.2])
    rates = [ppo.decay(1e-2, 1e-4, fraction) for fraction in (0.0, 0.5, 1.0, 2.0)]
    assert rates == pytest.approx([1e-2, 1e-3, 1e-4, 1e-4])


# --- config
@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"decision": 5}, "unknown key decision"),
        ({"ppo": {"lane": 5}}, "unknown key ppo.lane"),
        ({"ppo": {"lanes": 2.5}}, "ppo.lanes must be int"),
        ({"ppo": 3}, "ppo must be a table"),
        ({"ppo": {"lanes": 0}}, "ppo.lanes"),
        ({"network": {"policy": ["wide"]}}, "network.policy must be tuple"),
        ({"game": {"ruleset": "whist"}}, "unknown rule set 'whist'"),
        ({"game": {"overrides": {"tarjet": 3}}}, "unknown rule set field 'tarjet'"),
        ({"ppo": {"clip": 2.0}}, "0 < clip < 1"),
        ({"ppo": {"max_gradient": float("inf")}}, "ppo.max_gradient inf"),
        ({"ppo": {"entropy": float("nan")}}, "final_entropy <= entropy"),
        ({"device": "banana"}, "device 'banana'"),
        ({"imitation": {"decisions": -1}}, "imitation.decisions -1"),
        ({"imitation": {"temperature": 0.0}}, "imitation.temperature 0.0"),
        ({"ppo": {"muon": 0.0}}, "muon 0.0 must be above 0"),
        ({"imitation": {"muon": float("nan")}}, "muon nan must be above 0"),
        ({"network": {"policy": [], "critic": []}}, "widths of 4 or more"),
        ({"network": {"policy": [64, 3]}}, "widths of 4 or more"),
        ({"evaluation": {"seed": -1}}, "evaluation.seed -1"),
    ],
)
def test_a_wrong_config_is_refused_by_name(values: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        config_from(values)


def test_every_config_of_the_project_loads() -> None:
    names = {load_config(path).rules().name for path in (ROOT / "configs").rglob("*.toml")}
    assert names == set(PRESETS)


def test_a_config_that_is_not_toml_or_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("decisions = ")
    with pytest.raises(ValueError, match=r"bad\.toml is not TOML"):
        load_config(tmp_path / "bad.toml")
    with pytest.raises(ValueError, match=r"cannot read the config .*none\.toml"):
        load_config(tmp_path / "none.toml")


@pytest.mark.parametrize(
    "values",
    [{"imitation": {"player": "foo", "decisions": 9}}, {"evaluation": {"opponents": ["foo"]}}, {"device": "cuda"}],
)
def test_a_wrong_name_is_told_before_anything_is_written(tmp_path: Path, values: dict[str, object]) -> None:
    if values.get("device") == "cuda" and torch.cuda.is_available():
        pytest.skip("CUDA is a right name here")
    with pytest.raises(ValueError, match=r"unknown player 'foo'|finds no CUDA"):
        train.train(small(**values), tmp_path / "run", resume=False)
    assert not (tmp_path / "run").exists()


# --- checkpoints
def weights(run: Path) -> dict[str, bytes]:
    folder = stored.find(run)
    return {name: (folder / f"{name}.safetensors").read_bytes() for name in ("policy", "critic", "muon", "adam")}


def test_case_18_n_and_n_updates_equal_2n_bit_for_bit(tmp_path: Path) -> None:
    """The stop lies within the imitation, which ends an update later."""
    config = small(decisions=6 * 16 * 40, imitation={"decisions": 4 * 16 * 40})
    train.train(config, tmp_path / "whole", resume=False)
    stopped = tmp_path / "stopped"
    learner = train.new_learner(config)
    checkpoint.save(stopped, learner, config, Progress())
    teacher, imitation = train.new_teacher(config.imitation, RULES), config.imitation
    for number in range(3):
        rollout = collect(RULES, learner.policy, learner.critic, config.ppo, config.seed, number, teacher)
        ppo.update(learner, rollout, config.ppo, number / 6, config.seed + number, imitation)
    checkpoint.save(stopped, learner, config, Progress(3, 3 * 16 * 40))
    train.train(config, stopped, resume=True)
    assert weights(stopped) == weights(tmp_path / "whole")


@pytest.mark.slow
def test_case_18_a_killed_run_resumes_to_the_same_weights(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "train.py"), str(SMOKE), "--threads", "1", "--out"]
    subprocess.run([*command, str(tmp_path / "whole")], check=True, capture_output=True, cwd=ROOT)
    run = tmp_path / "killed"
    process = subprocess.Popen([*command, str(run)], stdout=subprocess.DEVNULL, cwd=ROOT)
    while not (run / "checkpoints" / "00000002").exists():
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    subprocess.run([*command, str(run), "--resume"], check=True, capture_output=True, cwd=ROOT)
    assert weights(run) == weights(tmp_path / "whole")


def test_case_17_checkpoints_hold_no_code(tmp_path: Path) -> None:
    config = small()
    checkpoint.save(tmp_path, train.new_learner(config), config, Progress())
    assert {path.suffix for path in stored.find(tmp_path).iterdir()} == {".safetensors", ".json"}
    for path in [*ROOT.glob("*.py"), *(ROOT / "agents").rglob("*.py"), *(ROOT / "malilla_env").rglob("*.py")]:
        text = path.read_text()
        assert not [word for word in ("torch.load", "import pickle") if word in text], path


def test_old_checkpoints_go_and_half_written_ones_are_not_seen(tmp_path: Path) -> None:
    config = small()
    learner = train.new_learner(config)
    for number in range(4):
        checkpoint.save(tmp_path, learner, config, Progress(number, number))
    assert [path.name for path in sorted((tmp_path / "checkpoints").iterdir())] == ["00000002", "00000003"]
    (tmp_path / "checkpoints" / ".00000009.part").mkdir()
    assert stored.find(tmp_path).name == "00000003"


def test_case_16_a_loaded_snapshot_does_not_move_with_the_live_weights(tmp_path: Path) -> None:
    config = small()
    learner = train.new_learner(config)
    checkpoint.save(tmp_path, learner, config, Progress())
    snapshot, stored = NeuralPlayer.load(tmp_path, RULES), weights(tmp_path)
    before = [parameter.clone() for parameter in snapshot.policy.parameters()]
    for number in range(10):
        rollout = collect(RULES, learner.policy, learner.critic, config.ppo, config.seed, number)
        ppo.update(learner, rollout, config.ppo, 0.0, number)
    assert all(map(torch.equal, before, snapshot.policy.parameters()))
    assert not any(map(torch.equal, before[:1], learner.policy.parameters()))
    assert weights(tmp_path) == stored


def test_a_reloaded_policy_plays_as_the_saved_one(tmp_path: Path) -> None:
    config = small(seed=13)
    learner = train.new_learner(config)
    checkpoint.save(tmp_path, learner, config, Progress())
    games = GameBatch(RULES, 200, seed=23)
    views, keys = games.views(), games.decision_keys()
    saved = NeuralPlayer(RULES, learner.policy).act(views, keys)
    assert np.array_equal(NeuralPlayer.load(tmp_path, RULES).act(views, keys), saved)


def test_an_optimiser_of_which_a_part_is_missing_is_refused(tmp_path: Path) -> None:
    config = small(decisions=16 * 40)
    train.train(config, tmp_path, resume=False)
    file = stored.find(tmp_path) / "muon.safetensors"
    moments = load_file(file)
    save_file({key: value for key, value in moments.items() if key != "0.momentum"}, file)
    with pytest.raises(ValueError, match=r"cannot load .*muon\.safetensors: it says nothing of the parameters \[0\]"):
        checkpoint.resume(tmp_path, train.new_learner(config), config)


def test_a_checkpoint_of_another_game_or_a_broken_one_is_refused(tmp_path: Path) -> None:
    config = small()
    folder = checkpoint.save(tmp_path, train.new_learner(config), config, Progress())
    with pytest.raises(ValueError, match=r"trained for rule set malilla .* not malilla-70 .*target 35 / 70"):
        stored.load_policy(tmp_path, ruleset("malilla-70"))
    meta = (folder / "meta.json").read_text()
    (folder / "meta.json").write_text(meta.replace(layout(RULES).hash, "0" * 16))
    with pytest.raises(ValueError, match=f"layout {'0' * 16}.* writes {layout(RULES).hash}"):
        stored.load_policy(tmp_path, RULES)
    (folder / "meta.json").write_text(meta)
    whole = (folder / "policy.safetensors").read_bytes()
    (folder / "policy.safetensors").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match=r"cannot load .*policy\.safetensors"):
        stored.load_policy(tmp_path, RULES)
    (folder / "meta.json").write_text(meta[:50])
    with pytest.raises(ValueError, match=r"cannot read .*meta\.json"):
        stored.load_policy(tmp_path, RULES)
    with pytest.raises(ValueError, match="holds no checkpoint"):
        stored.load_policy(tmp_path / "elsewhere", RULES)


# --- the command
def run_train(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "train.py", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def test_the_command_refuses_wrong_input_in_one_line(tmp_path: Path) -> None:
    config = small()
    checkpoint.save(tmp_path / "run", train.new_learner(config), config, Progress())
    assert run_train("configs/none.toml", "--out", str(tmp_path / "x")) == (
        2,
        "train.py: cannot read the config configs/none.toml: No such file or directory",
    )
    code, told = run_train(str(SMOKE), "--out", str(tmp_path / "run"))
    assert (code, "already holds a run: add --resume" in told) == (2, True)
    code, told = run_train(str(SMOKE), "--out", str(tmp_path / "run"), "--resume")
    assert (code, "was made with another config" in told, "ppo.lanes 16 / 32" in told) == (2, True, True)


def test_the_smoke_config_trains_evaluates_and_leaves_a_run(tmp_path: Path) -> None:
    code, told = run_train(str(SMOKE), "--out", str(tmp_path / "run"), "--threads", "1")
    assert code == 0, told
    assert "margin against heuristic" in told
    assert list((tmp_path / "run").glob("events.out.tfevents*"))
    assert stored.read_meta(stored.find(tmp_path / "run"))["decisions"] >= 10_000
