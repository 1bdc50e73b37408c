"""Training, play and export of every rule set by the same code: its smoke config, frames, rewards, exported policy."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console

import export
import train
from agents.learning import checkpoint, stored
from agents.learning.checkpoint import Progress
from agents.learning.config import Config, config_from, load_config
from agents.learning.ppo import Learner
from agents.learning.rollout import play_hands
from agents.neural import Critic, NeuralPlayer, Policy, action_frame, trump_first
from arena.match import meet
from arena.player import Player
from malilla_env import PRESETS, GameBatch, RuleSet, layout, malilla_v0, ruleset
from malilla_env import policy as exported
from malilla_env.observation import encode_views
from malilla_env.players import RandomPlayer

pytestmark = pytest.mark.usefixtures("one_thread")

CONFIGS = Path(__file__).parents[1] / "configs"
UNLIKE = ("malilla-redeal", "manille-parlee", "manille-encheres", "manille-3", "manille-3-dead", "manille-2")


def smoke(name: str) -> Path:
    return CONFIGS / "smoke" / f"{name}.toml"


def moments(rules: RuleSet, lanes: int = 60) -> Iterator[GameBatch]:
    """Games at every ply of random hands."""
    games = GameBatch(rules, lanes, seed=24, episode="hand")
    while not games.done.all():
        yield games
        games.step(games.random_legal(games.decision_keys()))


def test_every_rule_set_has_a_smoke_config() -> None:
    assert {path.stem for path in (CONFIGS / "smoke").iterdir()} == set(PRESETS)
    for name, rules in PRESETS.items():
        assert load_config(smoke(name)).rules() == rules


@pytest.mark.parametrize("name", PRESETS)
def test_every_rule_set_is_learned(name: str, tmp_path: Path) -> None:
    """Its smoke config trains and evaluates; what comes out plays whole matches without an illegal play."""
    config = config_from({**load_config(smoke(name)).to_dict(), "threads": 1})
    before = train.new_learner(config).policy.state_dict()
    before = {key: value.clone() for key, value in before.items()}
    train.train(config, tmp_path / "run", resume=False)
    meta = stored.read_meta(stored.find(tmp_path / "run"))
    assert meta["decisions"] >= config.decisions
    rules, player = config.rules(), NeuralPlayer.load(tmp_path / "run", config.rules())
    after = player.policy.state_dict()
    assert all(not torch.equal(after[key], value) for key, value in before.items() if key.endswith("shared"))
    found = meet(Player("policy", player), Player("random", RandomPlayer(rules)), rules, 12, 5, "match")
    assert found.reneges == (0, 0)
    assert np.isfinite(found.margins).all()


@pytest.mark.parametrize("name", UNLIKE)
def test_what_a_hand_pays_in_training_is_what_it_is_compared_by(name: str) -> None:
    rules = ruleset(name)
    steps = play_hands(rules, Policy(rules, (16,)), Critic(rules, (16,)), lanes=64, seed=12, update=0)
    paid = np.sum(steps.reward, axis=0)
    assert np.abs(paid.sum(axis=1)).max() < 1e-4
    assert np.abs(paid).max() > 3
    limit = rules.total_points - rules.total_points / rules.num_teams
    assert np.abs(paid).max() <= limit + 1e-4
    assert steps.decisions >= sum(map(len, steps.lanes))


@pytest.mark.parametrize("name", ["manille-encheres", "manille-parlee"])
def test_a_frame_moves_what_is_said_of_a_suit_with_its_cards(name: str) -> None:
    """In the frame an action stands where the suit stands of which it speaks; what speaks of none keeps its id."""
    rules = ruleset(name)
    order = np.array([[2, 0, 3, 1]])
    (frame,) = action_frame(rules, order)
    names = np.array(rules.action_names)
    assert sorted(frame) == list(range(rules.num_actions))
    free = range(4 * rules.ranks, rules.first_suit_action)
    assert [frame[place] for place in free] == list(free)
    suits = ("spades", "hearts", "diamonds", "clubs")
    for first in range(rules.first_suit_action, rules.num_actions, 4):
        stem = names[first].removesuffix("spades").removesuffix("s")
        words = suits if names[first].endswith("spades") else "shdc"
        assert list(names[frame[first : first + 4]]) == [stem + words[suit] for suit in order[0]]


@pytest.mark.parametrize("name", UNLIKE)
def test_side_suits_may_change_places_in_every_game(name: str) -> None:
    """Policy and critic answer the same whatever the order of the side suits, of actions besides cards too."""
    rules = ruleset(name)
    torch.manual_seed(3)
    policy, critic = Policy(rules, (16, 16)), Critic(rules, (16,))
    with torch.no_grad():
        for weight in (*policy.body.layers[-1].parameters(), *critic.body.layers[-1].parameters()):
            weight.normal_()
    for ply, games in enumerate(moments(rules, lanes=30)):
        on = np.flatnonzero(~games.done)
        usual = trump_first(games.trump)
        sides = list(permutations(range(1, 4)))[1 + ply % 5]
        logits, values = [], []
        for orders in (usual, usual[:, (0, *sides)]):
            frame = action_frame(rules, orders)
            seen = torch.from_numpy(encode_views(rules, games.views(), orders))
            legal = torch.from_numpy(np.take_along_axis(games.legal_actions(), frame, axis=1))
            with torch.inference_mode():
                framed = policy(seen, legal).numpy()[on]
                values.append(critic(torch.from_numpy(games.observe_state(suit_order=orders))).numpy()[on])
            logits.append(np.empty_like(framed))
            np.put_along_axis(logits[-1], frame[on], framed, axis=1)
        assert np.allclose(*logits, atol=1e-4)
        assert np.allclose(*values, atol=1e-4)


# --- export
def untrained(rules: RuleSet, folder: Path) -> Path:
    config: Config = config_from({"game": {"ruleset": rules.name}, "network": {"policy": [16], "critic": [8]}})
    torch.manual_seed(10)
    learner = Learner.new(Policy(rules, (16,)), Critic(rules, (8,)), config.ppo)
    checkpoint.save(folder, learner, config, Progress())
    return folder


EXPORTED = ("manille-parlee", "manille-encheres", "manille-3-dead", "manille-2")  # the others are slow tests


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in EXPORTED else pytest.mark.slow) for name in PRESETS if name != "malilla"],
)
def test_every_rule_set_is_exported(name: str, tmp_path: Path) -> None:
    """The file agrees with the original in every phase, and plays a hand from the environment's own arrays."""
    rules, out, printed = ruleset(name), tmp_path / "policy.onnx", io.StringIO()
    export.export(export.Options(untrained(rules, tmp_path / "run"), out), Console(file=printed, width=100))
    assert f"tricks 1 to {rules.num_tricks}" in printed.getvalue()
    player = exported.Policy(out, rules)
    env = malilla_v0.raw_env(ruleset=name, episode="hand")
    env.reset(seed=14)
    for agent in env.agent_iter():
        seen, _, over, _, _ = env.last()
        env.step(None if over else player.action(seen["observation"], seen["action_mask"]))
        assert over or agent in env.possible_agents
    assert layout(rules).width == seen["observation"].shape[0]


# --- the rules from the command line
def test_a_rule_is_changed_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = [str(smoke("manille")), "--out", str(tmp_path / "run"), "--set", "last_trick_bonus=1"]
    arguments += ["--set", "undertrump=optional", "--decisions", "1", "--evaluation.every", "0", "--threads", "1"]
    monkeypatch.setattr("sys.argv", ["train.py", *arguments])
    assert train.main() == 0
    made = ruleset("manille", last_trick_bonus=1, undertrump="optional")
    assert NeuralPlayer.load(tmp_path / "run", made).rules == made
    with pytest.raises(ValueError, match=r"last_trick_bonus 1 / 0.* It plays manille: name that as the rule set"):
        NeuralPlayer.load(tmp_path / "run", ruleset("manille"))


def test_a_wrong_rule_on_the_command_line_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for text, told in (("bonus=1", "unknown rule set field 'bonus'"), ("target", "'target' changes no field")):
        monkeypatch.setattr("sys.argv", ["train.py", str(smoke("manille")), "--out", str(tmp_path), "--set", text])
        assert train.main() == 2
        assert told in " ".join(capsys.readouterr().err.split())


# --- configs that change others
@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ({"a": 'extends = "b.toml"'}, "cannot read the config .*b.toml"),
        ({"a": "extends = 3"}, "extends must be the path of a config, not 3"),
        ({"a": 'extends = "b.toml"', "b": 'extends = "a.toml"'}, "a.toml extends itself"),
        ({"a": 'extends = "b.toml"', "b": "seed = ["}, "b.toml is not TOML"),
        ({"a": 'extends = "b.toml"\nsede = 1', "b": "seed = 3"}, "unknown key sede"),
    ],
)
def test_a_config_that_extends_wrongly_is_refused(texts: dict[str, str], told: str, tmp_path: Path) -> None:
    for name, text in texts.items():
        (tmp_path / f"{name}.toml").write_text(text)
    with pytest.raises(ValueError, match=told):
        load_config(tmp_path / "a.toml")


def test_a_config_changes_the_one_that_it_extends(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text("seed = 12\n[ppo]\nlanes = 7\nepochs = 3")
    (tmp_path / "a.toml").write_text('extends = "base.toml"\n[ppo]\nlanes = 9\n[game]\nruleset = "manille-3"')
    config = load_config(tmp_path / "a.toml")
    assert (config.seed, config.ppo.lanes, config.ppo.epochs, config.rules().name) == (12, 9, 3, "manille-3")
