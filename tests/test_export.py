"""Exported policies: the file is the policy, plays what an environment shows, and is refused where it does not fit.

The policy is untrained, its last layer made large: its logits reach those of a trained one, where float32 sums in
another order would differ by more than is allowed. What an export must keep does not depend on how well it plays.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from rich.console import Console

import evaluate
import export
from agents.learning import checkpoint, stored
from agents.learning.checkpoint import Progress
from agents.learning.config import config_from
from agents.learning.ppo import Learner
from agents.neural import ILLEGAL_LOGIT, Critic, NeuralPlayer, action_frame, trump_first
from agents.neural import Policy as Network
from agents.registry import make
from malilla_env import GameBatch, __version__, layout, malilla_v0, ruleset
from malilla_env import policy as exported
from malilla_env.policy import OnnxPlayer, Policy

ROOT = Path(__file__).parent.parent
MALILLA = ruleset()
PLAN = layout(MALILLA)
LARGE = 30_000  # gives logits of 50 and more
CONFIG = config_from({"network": {"policy": [128, 128], "critic": [8]}})


def network() -> Network:
    """A policy with logits as far apart as a trained one's, the same every time."""
    torch.manual_seed(10)
    policy = Network(MALILLA, CONFIG.network.policy)
    with torch.no_grad():
        last = policy.body.layers[-1]
        last.shared.mul_(LARGE)
        last.own.mul_(LARGE)
        last.bias.normal_()
    return policy.eval()


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run's folder with one checkpoint."""
    folder = tmp_path_factory.mktemp("run")
    learner = Learner.new(network(), Critic(MALILLA, CONFIG.network.critic), CONFIG.ppo)
    checkpoint.save(folder, learner, CONFIG, Progress(update=3, decisions=1234))
    return folder


@pytest.fixture(scope="session")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("figures") / "figures.json"
    evaluate.main(["random", "random", "--deals", "2", "--json", str(path)])
    return path


@pytest.fixture(scope="session")
def export_of_run(run: Path, figures: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The export of `run`, alone in its folder, and what was printed."""
    path = tmp_path_factory.mktemp("export") / "malilla.onnx"
    printed = io.StringIO()
    export.export(export.Options(run, path, figures), Console(file=printed, width=80))
    return path, printed.getvalue()


@pytest.fixture(scope="session")
def file(export_of_run: tuple[Path, str]) -> Path:
    return export_of_run[0]


@pytest.fixture(scope="session")
def states() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Views, observations and masks of random play, with and without a choice."""
    games = GameBatch(MALILLA, 100, seed=11, episode="hand")
    views, observations, masks = [], [], []
    while not games.done.all():
        views.append(games.views())
        observations.append(games.observe())
        masks.append(games.legal_actions())
        games.step(games.random_legal(games.decision_keys(11)))
    return np.concatenate(views), np.concatenate(observations), np.concatenate(masks)


# --- the file
def test_the_file_stands_alone(file: Path) -> None:
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    model = onnx.load(file, load_external_data=False)
    assert [(entry.domain, entry.version) for entry in model.opset_import] == [("", 18)]
    assert all(tensor.data_location == onnx.TensorProto.DEFAULT for tensor in model.graph.initializer)
    told = {}
    for value in (*model.graph.input, *model.graph.output):
        tensor = value.type.tensor_type
        assert tensor.elem_type == onnx.TensorProto.FLOAT
        told[value.name] = [dim.dim_param or dim.dim_value for dim in tensor.shape.dim]
    cards = ["batch", 40]
    assert told == {"observation": ["batch", PLAN.width], "action_mask": cards, "logits": cards}


def test_no_trace_of_the_machine_is_in_the_file(file: Path) -> None:
    held = file.read_bytes()
    assert not [word for word in (b"/work", b".py", b"site-packages", str(ROOT).encode()) if word in held]


def test_the_same_checkpoint_gives_the_same_file(file: Path, run: Path, figures: Path) -> None:
    told = export.metadata(MALILLA, stored.read_meta(stored.find(run)), export.read_figures(figures, MALILLA))
    assert export.model(MALILLA, network(), told).SerializeToString(deterministic=True) == file.read_bytes()


def test_the_file_says_what_it_is(file: Path, figures: Path) -> None:
    told = Policy(file, MALILLA).metadata
    plain = {
        "format": "malilla-policy-1",
        "version": __version__,
        "licence": "MIT",
        "rules_hash": MALILLA.hash,
        "layout_version": "1",
        "layout_hash": PLAN.hash,
        "training_version": __version__,
        "training_commit": checkpoint.source_commit(),
    }
    assert {key: told[key] for key in plain} == plain
    assert json.loads(told["rules"]) == MALILLA.to_dict()
    assert json.loads(told["action_names"]) == list(MALILLA.action_names)
    training = json.loads(told["training"])
    assert (training["decisions"], training["update"], training["seed"]) == (1234, 3, CONFIG.seed)
    assert config_from(training["config"]) == CONFIG
    assert json.loads(told["figures"]) == json.loads(figures.read_text())
    assert "[0, 1, 0, 1]" in told["seats"]
    width = 0
    for block in json.loads(told["layout"]):
        assert block["start"] == width == PLAN.slices[block["name"]].start
        width += int(np.prod(block["shape"]))
    assert width == PLAN.width
    documented = set(re.findall(r"^\| (`.+?`) \|", (ROOT / "docs" / "EXPORT.md").read_text(), flags=re.MULTILINE))
    named = set(re.findall(r"`(\w+)`", " ".join(documented)))
    assert set(told) <= named


def test_the_document_names_the_operators(file: Path) -> None:
    text = (ROOT / "docs" / "EXPORT.md").read_text()
    for kind in {node.op_type for node in onnx.load(file).graph.node}:
        assert f"`{kind}`" in text


# --- the same policy
def test_export_proves_and_prints_parity(export_of_run: tuple[Path, str]) -> None:
    file, printed = export_of_run
    assert "10,000 states of the policy's own play: tricks 1 to 10, trumps spades, hearts, diamonds, clubs" in printed
    rows = re.findall(r"│ +([\d,]+) +│ +(\S+) +│ +([\d,]+) +│ +([\d,]+) +│", printed)
    assert [row[0] for row in rows] == ["1", "2", "7", "64", "10,000"]
    for _, largest, clear, other in rows:
        assert float(largest) <= 1e-5
        assert int(clear.replace(",", "")) > 9000
        assert other == "0"
    assert f"-> {file}: malilla, 0." in printed


@pytest.mark.parametrize("size", [1, 2, 7, 64, 4000])
def test_parity_on_random_play(file: Path, states: tuple[np.ndarray, ...], size: int) -> None:
    """Case 23, on states that the policy itself would not reach."""
    views, observations, masks = states
    assert set(views["trump"]) == {0, 1, 2, 3}
    played = export.Played(observations, masks, export.original(MALILLA, network(), views), "")
    found = export.agreement(played.logits, export.answers(Policy(file, MALILLA), played, size))
    assert found.holds
    assert found.decided > 3500


def test_the_suits_may_be_renamed(file: Path, states: tuple[np.ndarray, ...]) -> None:
    """A state in the network's frame is a state with spades for trump: its logits are the same ones, in that frame."""
    views, observations, masks = states
    policy, orders = Policy(file, MALILLA), trump_first(views["trump"])
    frames = np.stack([PLAN.frame(order) for order in trump_first(np.arange(4))])[views["trump"]]
    framed = np.take_along_axis(observations, frames, axis=1)
    assert (framed[:, PLAN.slices["trump"]] == [1, 0, 0, 0]).all()
    frame = action_frame(MALILLA, orders)
    renamed = policy.logits(framed, np.take_along_axis(masks, frame, axis=1))
    np.testing.assert_array_equal(renamed, np.take_along_axis(policy.logits(observations, masks), frame, axis=1))


def test_a_state_without_trump_keeps_the_order_of_the_ids(file: Path, states: tuple[np.ndarray, ...]) -> None:
    observations, masks = states[1].copy(), states[2]
    observations[:, PLAN.slices["trump"]] = 0
    with torch.inference_mode():
        expected = network()(torch.from_numpy(observations), torch.from_numpy(masks)).numpy()
    assert export.agreement(expected, Policy(file, MALILLA).logits(observations, masks)).holds


def test_illegal_actions_have_a_finite_logit(file: Path, states: tuple[np.ndarray, ...]) -> None:
    _, observations, masks = states
    policy = Policy(file, MALILLA)
    logits = policy.logits(observations, masks)
    assert (logits[~masks] == ILLEGAL_LOGIT).all()
    assert (np.abs(logits[masks]) < 1000).all()
    nothing = policy.logits(observations[:5], np.zeros((5, 40)))
    assert (nothing == ILLEGAL_LOGIT).all()
    for kind in (np.int8, np.float32, np.float64):  # any dtype, and anything above 0, is legal
        np.testing.assert_array_equal(policy.logits(observations, masks.astype(kind) * 2), logits)


def test_agreement_sees_what_differs() -> None:
    expected = np.array([[0.0, 1.0, -1e9], [2.0, 2.00001, -1e9]], np.float32)
    assert export.agreement(expected, expected).holds
    assert export.agreement(expected, expected).decided == 1  # the second is a tie, as far as float32 can tell
    swapped = expected[:, [1, 0, 2]]
    assert export.agreement(expected, swapped).other == 1
    assert not export.agreement(expected, swapped).holds
    near, far = expected + np.float32(5e-6) * (expected > -1), expected + np.float32(2e-5) * (expected > -1)
    assert export.agreement(expected, near).holds
    assert not export.agreement(expected, far).holds
    assert not export.agreement(expected, np.full_like(expected, np.nan)).holds


def test_states_must_have_every_trick_and_trump(states: tuple[np.ndarray, ...]) -> None:
    views = states[0]
    assert "tricks 1 to 10" in export.coverage(MALILLA, views)
    with pytest.raises(export.NotProvedError, match="trick 10, trump hearts"):
        export.coverage(MALILLA, views[(views["trump"] != 1) & (views["num_plays"] < 36)])


# --- the command
def broken_model(file: Path) -> onnx.ModelProto:
    """The exported model with one weight of its last layer changed."""
    model = onnx.load(file)
    weights = [tensor for tensor in model.graph.initializer if tensor.name.endswith(".shared")][-1]
    values = onnx.numpy_helper.to_array(weights).copy()
    values[0, 0] += 0.01
    weights.CopyFrom(onnx.numpy_helper.from_array(values, weights.name))
    return model


def test_another_policy_is_not_left_in_place(
    file: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "F.onnx"
    out.write_bytes(b"what was there")
    monkeypatch.setattr(export, "model", lambda *_: broken_model(file))
    assert export.main([str(run), "--out", str(out)]) == 1
    assert "the exported policy differs from the original" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["F.onnx"]
    assert out.read_bytes() == b"what was there"


def test_a_file_that_is_there_is_replaced(
    file: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "F.onnx"
    out.write_bytes(b"what was there")
    monkeypatch.setattr(export, "model", lambda *_: onnx.load(file))
    assert export.main([str(stored.find(run)), "--out", str(out)]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["F.onnx"]
    assert Policy(out, MALILLA).metadata["licence"] == "MIT"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{tmp}/none", "--out", "{tmp}/F.onnx"], "none holds no checkpoint: give a folder that train.py"),
        (["{run}", "--out", "{tmp}/none/F.onnx"], "cannot write .*none/F.onnx: name a file in an existing folder"),
        (["{run}", "--out", "{tmp}"], "cannot write .*: name a file"),
        (["{run}", "--out", "{tmp}/F.onnx", "--figures", "{tmp}/none.json"], "none.json"),
        (["{run}", "--out", "{tmp}/F.onnx", "--figures", "{tmp}/text"], "text is not what evaluate.py --json writes"),
        (["{run}", "--out", "{tmp}/F.onnx", "--figures", "{tmp}/list"], "list is not what evaluate.py --json writes"),
        (["{run}", "--out", "{tmp}/F.onnx", "--figures", "{tmp}/long"], "long has no figures of rule set malilla"),
        (["{run}", "--out", "{tmp}/F.pt"], r"cannot write .*F\.pt: its name must end in \.onnx or \.safetensors"),
        (["{run}", "--out", "{tmp}/F.safetensors", "--figures", "{tmp}/long"], r"--figures: .* an \.onnx file can"),
        (["{tmp}/old", "--out", "{tmp}/F.onnx"], "old reads observation layout 0123, .* writes [0-9a-f]{16}"),
        (["{tmp}/torn", "--out", "{tmp}/F.onnx"], "cannot load .*policy.safetensors"),
    ],
)
def test_a_wrong_input_is_told_in_one_line(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    meta = stored.read_meta(stored.find(run))
    (tmp_path / "text").write_text("no JSON")
    (tmp_path / "list").write_text("[]")
    (tmp_path / "long").write_text(json.dumps({"results": [], "rules": ruleset("malilla-70").to_dict()}))
    for name, changed in (("old", {"layout_hash": "0123"}), ("torn", {})):
        (tmp_path / name).mkdir()
        (tmp_path / name / "meta.json").write_text(json.dumps(meta | changed))
        (tmp_path / name / "policy.safetensors").write_bytes(b"\0" * 20)
    before = sorted(tmp_path.iterdir())
    assert export.main([text.format(run=run, tmp=tmp_path) for text in arguments]) == 2
    printed = capsys.readouterr()
    assert re.search(said, printed.err)
    assert printed.err.startswith("export.py: ")
    assert printed.err.count("\n") == 1
    assert not printed.out
    assert sorted(tmp_path.iterdir()) == before


# --- loading
def with_metadata(file: Path, path: Path, **changed: str) -> Path:
    """A copy of the exported model with other metadata; an empty text takes an entry away."""
    model = onnx.load(file)
    told = {entry.key: entry.value for entry in model.metadata_props} | changed
    onnx.helper.set_model_props(model, {key: value for key, value in told.items() if value})
    path.write_bytes(model.SerializeToString())
    return path


def test_another_rule_set_is_refused_with_both_named(file: Path) -> None:
    long = ruleset("malilla-70", protected="played")
    said = rf"malilla.onnx plays rule set malilla \({MALILLA.hash}\), not malilla-70 \({long.hash}\): "
    with pytest.raises(ValueError, match=said + "protected 'led' / 'played', target 35 / 70"):
        Policy(file, long)
    with pytest.raises(ValueError, match=said):
        make(str(file), long)
    Policy(file, ruleset(pack="spanish"))  # another name for the same cards


def test_another_layout_is_refused_with_both_named(file: Path, tmp_path: Path) -> None:
    old = with_metadata(file, tmp_path / "old.onnx", layout_hash="0123", layout_version="0", version="0.0.9")
    said = rf"old.onnx reads observation layout 0 \(0123\), malilla_env {__version__} writes layout 1 \({PLAN.hash}\)"
    with pytest.raises(ValueError, match=said + ".*use malilla_env 0.0.9"):
        Policy(old, MALILLA)


def test_other_files_are_refused(file: Path, tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"none\.onnx"):
        Policy(tmp_path / "none.onnx", MALILLA)
    for name, content in (("empty.onnx", b""), ("text.onnx", b"not a model"), ("cut.onnx", file.read_bytes()[:5000])):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=f"{name} is not an ONNX model that onnxruntime can run"):
            Policy(tmp_path / name, MALILLA)
    bare = with_metadata(file, tmp_path / "bare.onnx", **dict.fromkeys(("format", *exported.NEEDED), ""))
    with pytest.raises(
        ValueError, match=r"bare.onnx is no policy that export.py wrote: .* None, .* lacks rules, rules_"
    ):
        Policy(bare, MALILLA)
    newer = with_metadata(file, tmp_path / "newer.onnx", format="malilla-policy-9")
    with pytest.raises(ValueError, match=r"names the format 'malilla-policy-9', not 'malilla-policy-1'$"):
        Policy(newer, MALILLA)


def test_a_missing_onnxruntime_is_told(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match=r"malilla.onnx needs onnxruntime.*pip install 'malilla-env\[policy\]'"):
        Policy(file, MALILLA)
    with pytest.raises(ValueError, match=r"cannot be loaded: .*needs onnxruntime"):
        make(str(file), MALILLA)


# --- playing
def test_one_state_or_many(file: Path, states: tuple[np.ndarray, ...]) -> None:
    _, observations, masks = states
    policy = Policy(file, MALILLA)
    actions = policy.actions(observations, masks)
    assert masks[np.arange(len(masks)), actions].all()
    assert policy.logits(observations[0], masks[0]).shape == (40,)
    assert policy.logits(observations[:0], masks[:0]).shape == (0, 40)
    chosen = [policy.action(observation, mask) for observation, mask in zip(observations, masks, strict=True)]
    assert type(chosen[0]) is int
    assert chosen == actions.tolist()


def test_wrong_shapes_are_named(file: Path, states: tuple[np.ndarray, ...]) -> None:
    _, observations, masks = states
    policy = Policy(file, MALILLA)
    for observation, mask in ((observations, masks[:3]), (observations[:, 1:], masks), (observations[0], masks[:1])):
        with pytest.raises(ValueError, match=rf"takes observations \[B, {PLAN.width}\] and action masks \[B, 40\]"):
            policy.logits(observation, mask)


def test_a_mask_that_allows_nothing_has_no_action(file: Path, states: tuple[np.ndarray, ...]) -> None:
    _, observations, masks = states
    policy, nothing = Policy(file, MALILLA), masks.copy()
    nothing[7] = False
    with pytest.raises(ValueError, match="row 7 of the mask allows no action"):
        policy.actions(observations, nothing)
    with pytest.raises(ValueError, match="the mask allows no action"):
        policy.action(observations[7], nothing[7])


def test_the_player_plays_what_the_original_plays(file: Path, run: Path) -> None:
    player, neural = make(str(file), MALILLA), make(str(run), MALILLA)
    assert isinstance(player, OnnxPlayer)
    assert isinstance(neural, NeuralPlayer)
    assert player.name == "malilla.onnx"
    games, decisions = GameBatch(MALILLA, 300, seed=12, episode="match"), 0
    for _ in range(100):
        actions = player.act(games.views(), games.decision_keys(12))
        np.testing.assert_array_equal(actions, neural.act(games.views(), games.decision_keys(12)))
        assert (actions[games.done] == 0).all()
        decisions += int((~games.done).sum())
        games.step(actions)
    assert games.done.any()
    assert decisions > 20_000


def test_play_does_not_depend_on_the_batch(file: Path, states: tuple[np.ndarray, ...]) -> None:
    """Bit for bit: the logits of a View are the same whatever stands beside it."""
    views, _, masks = states
    player = OnnxPlayer(file, MALILLA)
    seen: dict[bytes, bytes] = {}

    def remember(observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        logits = Policy.logits(player.policy, observation, mask)
        for key, row in zip(observation, logits, strict=True):
            assert seen.setdefault(key.tobytes(), row.tobytes()) == row.tobytes() or not key.any()
        return logits

    player.policy.logits = remember  # type: ignore[method-assign]
    keys = np.zeros(len(views), np.uint64)
    together = player.act(views, keys)
    shuffled = np.random.default_rng(10).permutation(len(views))
    np.testing.assert_array_equal(player.act(views[shuffled], keys), together[shuffled])
    for start in range(0, len(views), 999):
        np.testing.assert_array_equal(player.act(views[start : start + 9], keys[:9]), together[start : start + 9])
    assert len(seen) > 2000
    assert masks[np.arange(len(views)), together].all()


def test_forced_moves_need_no_network(
    file: Path, states: tuple[np.ndarray, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    views, _, masks = states
    forced = masks.sum(axis=1) == 1
    player = OnnxPlayer(file, MALILLA)
    monkeypatch.setattr(player, "policy", None)
    keys = np.zeros(int(forced.sum()), np.uint64)
    np.testing.assert_array_equal(player.act(views[forced], keys), masks[forced].argmax(axis=1))


def test_evaluate_takes_the_file(file: Path, run: Path, tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    evaluate.main([str(file), str(run), "--deals", "300", "--json", str(figures)])
    (result,) = json.loads(figures.read_text())["results"]
    assert (result["a"], result["b"]) == (str(file), str(run))
    assert (result["margin"], result["ci95"]) == (0.0, [0.0, 0.0])


def test_the_example_plays_a_hand(file: Path) -> None:
    """And nothing that plays needs PyTorch or the project's other rooms."""
    code = (
        "import sys; sys.argv = sys.argv[1:]; sys.path.insert(0, 'examples')\n"
        "from play_exported_policy import play\n"
        "paid = play(sys.argv[0])\n"
        "assert abs(sum(paid.values())) < 1e-6 and any(paid.values()), paid\n"
        "print('loaded', *{'torch', 'onnx', 'agents', 'arena'} & {name.split('.')[0] for name in sys.modules})"
    )
    command = [sys.executable, "-W", "error", "-c", code, str(file)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert not run.stderr
    lines = run.stdout.splitlines()
    assert lines[-1] == "loaded"
    assert len(lines) == 12  # ten tricks, what was paid, what was loaded


def test_environment_and_player_agree(file: Path) -> None:
    """The observation and mask of the environment, at every ply of a hand, lead to the player's own action."""
    env = malilla_v0.raw_env(episode="hand")
    env.reset(seed=13)
    policy, player = Policy(file, MALILLA), OnnxPlayer(file, MALILLA)
    for _ in range(40):
        seen = env.observe(env.agent_selection)
        action = policy.action(seen["observation"], seen["action_mask"])
        assert player.act(env.games.views(), np.zeros(1, np.uint64)).tolist() == [action]
        env.step(action)
    assert all(env.terminations.values())


@pytest.mark.slow
def test_from_training_to_a_played_file(tmp_path: Path) -> None:
    """The three commands, as a user gives them."""
    trained, out = tmp_path / "run", tmp_path / "F.onnx"
    for command in (
        ["train.py", "configs/smoke.toml", "--out", str(trained), "--evaluation.every", "0"],
        ["export.py", str(trained), "--out", str(out)],
        ["evaluate.py", str(out), str(trained), "--deals", "50", "--json", str(tmp_path / "figures.json")],
    ):
        subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, check=True)
    (result,) = json.loads((tmp_path / "figures.json").read_text())["results"]
    assert abs(result["margin"]) < 0.5
    assert json.loads(Policy(out, MALILLA).metadata["training"])["decisions"] >= 10_000
