"""Training that cannot go wrong unseen: illegal moves, masks, pickles (CASES 13-15, 17), losses that blow up."""

from __future__ import annotations

import ast
import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from trials import FILES, ROOT, RULES, UPDATE, full_disk, newest, run_main, small, to_toml

import export
import train
from agents.learning import checkpoint, failure, files, ppo, rollout, stored
from agents.learning.checkpoint import Progress
from agents.learning.config import Config, Imitation, Ppo
from agents.learning.limits import Unsound, check_step
from agents.learning.parallel import Processes
from agents.learning.ppo import Learner, losses
from agents.learning.rollout import collect, play_hands
from agents.neural import ILLEGAL_LOGIT, Critic, NeuralPlayer, Policy
from agents.registry import make
from malilla_env import GameBatch, RuleSet, ruleset
from malilla_env.observation import state_layout
from malilla_env.policy import OnnxPlayer

pytestmark = pytest.mark.usefixtures("one_thread")


def networks() -> tuple[Policy, Critic]:
    torch.manual_seed(0)
    return Policy(RULES, (16,)), Critic(RULES, (16,))


# --- case 13: illegal moves
def wants_illegal_moves(rules: RuleSet) -> Policy:
    """A policy whose logits, before the mask, are 1e6 for every illegal action and 0 for every legal one."""
    places = Policy(rules, (4,)).body
    common, alike = ((places.layers[-1].given), len(places.layers[-1].own))
    each = max(common, alike)
    policy = Policy(rules, (4 * each,))
    first, last = policy.body.layers
    with torch.no_grad():
        for weight in policy.parameters():
            weight.zero_()
        for layer, factor in ((first, -1.0), (last, 1e6)):
            given, seen = layer.given, layer.shared.shape[1] - layer.own.shape[1]
            at, by = (0, 0) if layer is last else (seen - common, layer.own.shape[1] - alike)
            layer.shared[torch.arange(common), at + torch.arange(common)] = factor
            layer.own[torch.arange(alike), by + torch.arange(alike)] = factor
            if layer is first:  # 1 - legal
                layer.bias[:common] = 1.0
                layer.bias[given : given + alike] = 1.0
    return policy


def saved(policy: Policy, folder: Path) -> Path:
    """A checkpoint that holds the policy, whose one hidden layer has any width."""
    config = small(network={"policy": [policy.body.layers[0].shared.shape[0] * 4 // 2], "critic": [16]})
    learner = Learner.new(policy, Critic(RULES, (16,)), config.ppo)
    return checkpoint.save(folder, learner, config, Progress())


def moves_played(rules: RuleSet, act: Callable[[Any, Any], Any], hands: int) -> tuple[int, int]:
    """How many moves the hands took, and how many of them were illegal."""
    games = GameBatch(rules, hands, seed=31, episode="hand")
    moves = illegal = 0
    while not games.done.all():
        on, legal = ~games.done, games.legal_actions()
        actions = act(games.views(), games.decision_keys(31))
        moves += int(on.sum())
        illegal += int((on & ~legal[np.arange(hands), actions]).sum())
        games.step(actions)
    assert (games.reneged == -1).all() == (illegal == 0)
    return moves, illegal


def test_case_13_the_policy_of_these_tests_does_want_illegal_moves() -> None:
    """Without the mask it would play them, every time that one exists."""
    policy = wants_illegal_moves(RULES)
    steps = play_hands(RULES, policy, Critic(RULES, (16,)), lanes=32, seed=12, update=0)
    observation, legal = torch.cat(steps.observation), torch.cat(steps.legal)
    with torch.inference_mode():
        logits = policy.body(torch.cat([observation, legal.float()], dim=1))
    assert torch.equal(logits, torch.where(legal, 0.0, 1e6))


def test_case_13_no_illegal_move_is_sampled_in_100_000() -> None:
    steps = play_hands(RULES, wants_illegal_moves(RULES), Critic(RULES, (16,)), lanes=4000, seed=12, update=0)
    legal, action = np.concatenate(steps.legal), np.concatenate(steps.action)
    assert len(action) >= 100_000
    assert legal[np.arange(len(action)), action].all()
    assert len(steps.reward) == 40  # an illegal move would have ended its hand


def test_case_13_no_illegal_move_is_played_in_100_000_after_reload_and_export(tmp_path: Path) -> None:
    policy = wants_illegal_moves(RULES)
    folder = saved(policy, tmp_path / "run")
    assert moves_played(RULES, NeuralPlayer(RULES, policy).act, 250) == (10_000, 0)
    assert moves_played(RULES, make(str(folder), RULES).act, 2500) == (100_000, 0)
    model = export.model(RULES, policy.eval(), export.metadata(RULES, stored.read_meta(folder), None))
    (tmp_path / "policy.onnx").write_bytes(model.SerializeToString())
    assert moves_played(RULES, OnnxPlayer(tmp_path / "policy.onnx", RULES).act, 2500) == (100_000, 0)


@pytest.mark.parametrize("logit", [-1e9, -1e12, -3e38, float("-inf")])
def test_case_13_legal_actions_of_any_logit_stay_above_illegal_ones(logit: float) -> None:
    """The network answers the same for all: lower than what the mask writes."""
    policy, critic = networks()
    with torch.no_grad():
        policy.body.layers[-1].bias.fill_(logit)
    steps = play_hands(RULES, policy, critic, lanes=32, seed=12, update=0)
    assert len(steps.reward) == 40
    assert moves_played(RULES, NeuralPlayer(RULES, policy).act, 32) == (32 * 40, 0)


# --- case 14: a training pair never spans two deals
@pytest.mark.parametrize("name", ["malilla", "manille-encheres"])
def test_case_14_every_row_of_a_lane_is_of_its_one_deal(name: str) -> None:
    """A card that has left the hands of a lane never comes back: a second deal would bring all of them."""
    rules = ruleset(name)
    torch.manual_seed(0)
    policy, critic = Policy(rules, (16,)), Critic(rules, (16,))
    lanes, update = 48, 3
    steps = play_hands(rules, policy, critic, lanes=lanes, seed=10, update=update)
    plan = state_layout(rules)
    left: dict[int, np.ndarray] = {}
    for ply, rows in enumerate(steps.lanes):
        hands = steps.state[ply].numpy()[:, plan.slices["hands"]].reshape(len(rows), *plan.shapes["hands"])
        for lane, cards in zip(rows, hands.max(axis=1) > 0, strict=True):  # bool [C], in anyone's hand
            assert not (cards & ~left.get(lane, np.ones_like(cards))).any(), f"lane {lane} got cards at ply {ply}"
            left[lane] = cards
    assert len(left) == lanes


def test_case_14_points_of_one_hand_reach_the_rows_of_that_hand_alone() -> None:
    steps = play_hands(RULES, *networks(), lanes=24, seed=10, update=1)
    plain = rollout.advantages(steps, 0.9)
    steps.reward[7][5] += 1000.0  # in the middle of lane 5's hand
    changed = rollout.advantages(steps, 0.9)
    lanes = np.concatenate(steps.lanes)
    for before, after in zip(plain, changed, strict=True):
        moved = (before != after).reshape(len(lanes), -1).any(axis=1)
        assert set(lanes[moved]) == {5}


def test_case_14_updates_share_no_deal() -> None:
    """The lanes of the next update go on where those of this one ended: no deal is met twice, none follows another."""
    lanes = 64
    first, later = (
        GameBatch(RULES, lanes, 10, episode="hand", streams=np.arange(at * lanes, (at + 1) * lanes), purpose="train")
        for at in (0, 1)
    )
    hands = np.concatenate([games.hands for games in (first, later)])
    assert len(np.unique(hands, axis=0)) == 2 * lanes
    while not first.done.all():
        first.step(first.random_legal(first.decision_keys()))
    assert (first.hand_number == 0).all()


# --- case 15: masks and extreme logits
LOGIT = st.one_of(
    st.sampled_from([0.0, 1e4, -1e4, 1e8, -1e8, 1e30, -1e30, ILLEGAL_LOGIT]), st.floats(-50, 50, width=32)
)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.lists(LOGIT, min_size=6, max_size=6), min_size=1, max_size=4),
    st.lists(st.booleans(), min_size=24, max_size=24),
    st.integers(0, 5),
)
def test_case_15_masked_twice_one_legal_move_and_extreme_logits(
    logits: list[list[float]], allowed: list[bool], always: int
) -> None:
    raw = torch.tensor(logits, requires_grad=True)
    legal = torch.tensor(allowed).reshape(4, 6)[: len(logits)]
    legal[:, always] = True
    once = torch.where(legal, raw.clamp(min=-1e8), ILLEGAL_LOGIT)
    twice = torch.where(legal, once, ILLEGAL_LOGIT)
    assert torch.equal(once, twice)
    log_probs = twice.log_softmax(dim=1)
    torch.distributions.Categorical(probs=log_probs.exp(), validate_args=True)  # the simplex check
    entropy = ppo.entropy_of(log_probs)
    best = twice.argmax(dim=1)
    loss = entropy.sum() + log_probs.gather(1, best[:, None]).sum()
    loss.backward()
    assert torch.isfinite(loss)
    assert raw.grad is not None
    assert torch.isfinite(raw.grad).all()
    assert (raw.grad[~legal] == 0).all()
    assert (log_probs.exp()[~legal] == 0).all()
    alone = legal.sum(dim=1) == 1
    assert (entropy[alone] == 0).all()
    assert (log_probs.exp()[alone].max(dim=1).values == 1).all()


@pytest.mark.parametrize("scale", [1e2, 1e6, 1e15])
@pytest.mark.parametrize("one_legal", [False, True])
def test_case_15_the_loss_of_extreme_logits_has_finite_parts_and_gradients(scale: float, one_legal: bool) -> None:
    policy, critic = networks()
    with torch.no_grad():
        policy.body.layers[-1].bias.copy_(torch.randn_like(policy.body.layers[-1].bias) * scale)
    learner = Learner.new(policy, critic, Ppo())
    played = collect(RULES, policy, critic, Ppo(lanes=8), seed=10, update=0)
    batch = {name: getattr(played, name) for name in (*ppo.COLUMNS, "advantage")}
    if one_legal:
        batch["legal"] = torch.zeros_like(batch["legal"]).scatter(1, batch["action"][:, None], True)
    parts = losses(learner, batch, Ppo(), len(batch["action"]))
    norms = learner.slope(parts["policy_loss"] + parts["value_loss"] - 0.01 * parts["entropy"], 1.0)
    assert all(torch.isfinite(part) for part in (*parts.values(), *norms.values()))
    for network in (policy, critic):
        assert all(torch.isfinite(weight.grad).all() for weight in network.parameters() if weight.grad is not None)


# --- case 17: no pickle
PICKLING = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
# attribute -> of what: calls that may unpickle what they read
UNPICKLING = {("torch", "load"), ("np", "load"), ("numpy", "load"), ("torch", "jit"), ("torch", "hub")}
EVERYWHERE = {"read_pickle", "allow_pickle", "weights_only"}


def unpickles(source: str) -> list[str]:
    """What in a program's text might load a pickle."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.split(".")[0] in PICKLING]
        elif isinstance(node, ast.ImportFrom):
            taken = {((node.module or "").split(".")[0], alias.name) for alias in node.names}
            found += [
                f"{module}.{name}" for module, name in taken if module in PICKLING or (module, name) in UNPICKLING
            ]
        elif isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if (owner, node.attr) in UNPICKLING or node.attr in EVERYWHERE:
                found.append(f"{owner}.{node.attr}")
        elif isinstance(node, ast.keyword) and node.arg in EVERYWHERE:
            found.append(str(node.arg))
    return found


def test_case_17_no_source_unpickles() -> None:
    assert unpickles("import torch\ntorch.load(file)") == ["torch.load"]
    assert unpickles("from torch import load") == ["torch.load"]
    assert unpickles("import numpy as np\nnp.load(file, allow_pickle=True)") == ["np.load", "allow_pickle"]
    assert unpickles("def f():\n    import pickle") == ["pickle"]
    rooms = ("malilla_env", "agents", "arena", "web", "benchmarks", "examples")
    sources = [*ROOT.glob("*.py"), *(path for room in rooms for path in (ROOT / room).rglob("*.py"))]
    assert len(sources) > 40
    assert not {str(path): found for path in sources if (found := unpickles(path.read_text()))}


class Trap:
    """Writes a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.mark,))


def test_case_17_a_pickle_under_the_name_of_a_file_of_ours_is_refused_and_not_run(tmp_path: Path) -> None:
    mark, config = tmp_path / "it ran", small()
    trap = pickle.dumps(Trap(mark))
    pickle.loads(trap)
    assert mark.exists()  # it would
    mark.unlink()
    for name in [*(f"{name}.safetensors" for name in FILES), "meta.json"]:
        run = tmp_path / name
        folder = checkpoint.save(run, train.new_learner(config), config, Progress())
        (folder / name).write_bytes(trap)
        with pytest.raises(ValueError, match=name.replace(".", r"\.")):
            checkpoint.resume(run, train.new_learner(config), config)
        if name in ("policy.safetensors", "meta.json"):
            with pytest.raises(ValueError, match=name.replace(".", r"\.")):
                make(str(folder), RULES)
    folder = checkpoint.save(tmp_path / "failed", train.new_learner(config), config, Progress())
    (folder / failure.BATCH).write_bytes(trap)
    with pytest.raises(ValueError, match=r"cannot load .*batch\.safetensors"):
        failure.load(folder)
    for name in ("policy.onnx", "config.toml", "figures.json"):
        (tmp_path / name).write_bytes(trap)
    with pytest.raises(ValueError, match="is not an ONNX model"):
        make(str(tmp_path / "policy.onnx"), RULES)
    with pytest.raises(ValueError, match=r"config\.toml is not TOML"):
        train.load_config(tmp_path / "config.toml")
    with pytest.raises(ValueError, match=r"figures\.json is not what"):
        export.read_figures(tmp_path / "figures.json", RULES)
    assert not mark.exists()


# --- a loss that blows up
def diverging(**values: object) -> Config:
    return small(ppo={"learning_rate": 0.9, "final_learning_rate": 0.9}, **values)


def snapshot(learner: Learner) -> dict[str, Tensor]:
    files = checkpoint.tensors_of(learner)
    return {f"{name}/{key}": tensor.clone() for name, entry in files.items() for key, tensor in entry.items()}


@pytest.mark.parametrize("column", ["returns", "advantage", "observation", "log_prob"])
def test_a_step_that_is_not_finite_is_not_taken(column: str) -> None:
    policy, critic = networks()
    learner, config = Learner.new(policy, critic, Ppo()), Ppo(lanes=8)
    ppo.update(learner, collect(RULES, policy, critic, config, seed=10, update=0), config, 0.0, 0)
    played, before = collect(RULES, policy, critic, config, seed=10, update=1), snapshot(learner)
    getattr(played, column).view(-1)[0] = float("nan")
    with pytest.raises(Unsound, match="is not finite") as caught:
        ppo.update(learner, played, Ppo(lanes=8, minibatch=10_000), 0.0, 0)
    after = snapshot(learner)
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert torch.isnan(caught.value.batch[column]).any()


def test_a_finite_loss_whose_gradient_is_not_is_not_followed() -> None:
    learner, config = train.new_learner(small(belief={"weight": 0.5})), Ppo(lanes=8)
    played, before = collect(RULES, learner.policy, learner.critic, config, seed=10, update=0), snapshot(learner)
    assert list(learner.networks) == ["policy", "critic", "beliefs"]
    for name, network in learner.networks.items():
        bias = network.body.layers[-1].bias
        hook = bias.register_hook(lambda gradient: gradient * float("inf"))
        with pytest.raises(Unsound, match=f"^{name}_gradient is not finite"):
            ppo.update(learner, played, config, 0.0, 0)
        hook.remove()
    assert all(torch.equal(before[name], tensor) for name, tensor in snapshot(learner).items())


def test_a_step_that_another_process_finds_unsound_is_not_taken(tmp_path: Path) -> None:
    class Second(Processes):
        def sum(self, figures: Tensor) -> Tensor:
            return figures + torch.where(torch.arange(len(figures)) == 0, torch.nan, figures)

    config = small()
    learner = train.new_learner(config)
    learner.processes = Second(rank=1, size=2)
    before, weight = snapshot(learner), learner.policy.body.layers[0].bias.sum()
    parts = {"policy_loss": weight, "value_loss": learner.critic.body.layers[0].bias.sum(), "entropy": 0 * weight}
    told = "policy_loss is not finite .* the networks are in .*00000012-1 "
    with pytest.raises(FloatingPointError, match=told), failure.kept(tmp_path, learner, config, Progress(12, 7680)):
        ppo.step(learner, parts, 0.0, 1.0)
    assert all(torch.equal(before[name], tensor) for name, tensor in snapshot(learner).items())


def test_limits_lie_beyond_what_trains_and_stop_what_does_not() -> None:
    sound = {"policy_loss": -0.01, "value_loss": 12.0, "entropy": 0.9, "kl": 2.0, "gradient": 1e4}
    parts = {name: torch.tensor(value) for name, value in sound.items()}
    check_step(parts)
    with pytest.raises(Unsound, match=r"kl is above 100 \(policy_loss -0\.01, .*kl 101"):
        check_step(parts | {"kl": torch.tensor(101.0)})
    check_step(parts | {"kl": torch.tensor(101.0)}, imitate=True)
    for imitate in (False, True):
        with pytest.raises(Unsound, match=r"value_loss is above 1e\+06"):
            check_step(parts | {"value_loss": torch.tensor(2e6)}, imitate)
        with pytest.raises(Unsound, match="kl is not finite, gradient is not finite"):
            check_step(parts | {"kl": torch.tensor(float("nan")), "gradient": torch.tensor(float("inf"))}, imitate)


@pytest.mark.parametrize("name", ["policy", "critic", "beliefs"])
def test_a_last_step_that_breaks_the_weights_stops_the_update(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    learner, config = train.new_learner(small(belief={"weight": 0.5})), Ppo(lanes=8, epochs=1, minibatch=10_000)
    played, moved = collect(RULES, learner.policy, learner.critic, config, seed=10, update=0), learner.move

    def broken(self: Learner) -> None:
        moved()
        with torch.no_grad():
            learner.networks[name].body.layers[0].bias[0] = float("inf")

    monkeypatch.setattr(Learner, "move", broken)
    with pytest.raises(Unsound, match=rf"weights of the {name} that are not finite \(body\.layers\.0\.bias\)"):
        ppo.update(learner, played, config, 0.0, 0)


def test_an_exploding_run_ends_with_its_batch_saved_and_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file, run = to_toml(diverging(), tmp_path / "diverging.toml"), tmp_path / "run"
    assert run_main(monkeypatch, file, "--out", run) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert re.match(r"train\.py: update \d+, after [\d,]+ decisions: .* is (above|not finite)", line)
    kept = next((run / "failure").iterdir())
    assert str(kept) in line
    assert f"the checkpoint {run / 'checkpoints' / newest(run)} stands" in line
    assert "a lower ppo.learning_rate than 0.9" in line
    case = failure.load(kept)
    assert case.told["update"] == int(kept.name)
    assert case.config == diverging()
    again = losses(case.learner, case.batch, case.config.ppo, len(case.batch["action"]), case.imitate)
    for name, part in again.items():
        assert float(part.detach()) == pytest.approx(float(case.told["parts"][name]), rel=1e-5, nan_ok=True)
    # With a lower rate, and nothing else changed, the run goes on and says so in its checkpoints.
    lower = ("--ppo.learning_rate", "1e-3", "--ppo.final_learning_rate", "1e-4")
    assert run_main(monkeypatch, file, "--out", run, "--resume", *lower) == 0
    assert "learning_rate 0.9 / 0.001" in capfd.readouterr().out
    (change,) = stored.read_meta(stored.find(run))["changes"]
    assert change.startswith("update 0: ppo.final_learning_rate 0.9 / 0.0001")
    told = json.loads(export.metadata(RULES, stored.read_meta(stored.find(run)), None)["training"])
    assert told["changes"] == [change]


def test_while_imitating_the_lesson_is_kept_too(tmp_path: Path) -> None:
    config = small(imitation={"player": "random", "decisions": 10 * UPDATE})
    learner, teacher = train.new_learner(config), train.new_teacher(config.imitation, RULES)
    played = collect(RULES, learner.policy, learner.critic, config.ppo, 10, 4, teacher)
    played.returns[3, 0] = float("inf")
    with (
        pytest.raises(FloatingPointError, match=r"update 4, after 2,560 decisions: value_loss is not finite"),
        failure.kept(tmp_path, learner, config, Progress(4, 4 * UPDATE)),
    ):
        ppo.update(learner, played, config.ppo, 0.0, 0, Imitation())
    case = failure.load(tmp_path / "failure" / "00000004")
    assert case.imitate
    assert torch.isinf(case.batch["returns"]).any()
    assert sorted(path.name for path in (tmp_path / "failure").iterdir()) == ["00000004"]


def test_the_snippet_that_looks_at_a_failure_again_runs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    config = small()
    learner = train.new_learner(config)
    played = collect(RULES, learner.policy, learner.critic, config.ppo, 10, 0)
    played.advantage[0] = float("nan")
    with pytest.raises(FloatingPointError), failure.kept(tmp_path, learner, config, Progress(12, 7680)):
        ppo.update(learner, played, config.ppo, 0.0, 0)
    text = (ROOT / "docs" / "TRAINING.md").read_text()
    (snippet,) = re.findall(r"```python\n(.*?failure\.load.*?)```", text, re.DOTALL)
    assert "runs/NAME/failure/00000012" in snippet
    exec(snippet.replace("runs/NAME", str(tmp_path)), {})
    told = capfd.readouterr().out
    assert "policy_loss is not finite" in told
    assert re.search(r"policy_loss\s+nan", told)
    assert re.search(r"advantage\s+\d+", told)


def test_a_failure_that_cannot_be_saved_is_told_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = small()
    learner = train.new_learner(config)
    checkpoint.save(tmp_path, learner, config, Progress())
    monkeypatch.setattr(files, "save_file", full_disk(0))
    with (
        pytest.raises(FloatingPointError, match=r"value_loss is not finite .*could not be saved in .*No space left"),
        failure.kept(tmp_path, learner, config, Progress(1, 640)),
    ):
        check_step({"value_loss": torch.tensor(float("nan"))})
    assert not list((tmp_path / "failure").iterdir())
