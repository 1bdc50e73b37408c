"""Policies that ship: `policy`, `policy+pimc` and `champion` play the file of the rule set, whatever lies there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import export
from agents import make, shipped
from agents.learning import checkpoint
from agents.learning.checkpoint import Progress
from agents.learning.config import config_from, load_config
from agents.learning.ppo import Learner
from agents.neural import NeuralPlayer
from malilla_env import GameBatch, RuleSet, ruleset
from malilla_env.policy import OnnxPlayer

ROOT = Path(__file__).parents[1]
RULES = ruleset()
SHIPPED = sorted(file.stem for file in shipped.POLICIES.glob("*.onnx"))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an untrained policy for malilla alone, its logits a few points apart."""
    folder, config = tmp_path_factory.mktemp("policies"), config_from({"network": {"policy": [8], "critic": [8]}})
    torch.manual_seed(10)
    learner = Learner.of(config)
    with torch.no_grad():
        for weight in learner.policy.body.layers[-1].parameters():
            weight.normal_(0.0, 3.0)
    meta = checkpoint.describe(config, Progress())
    model = export.model(RULES, learner.policy.eval(), export.metadata(RULES, meta, None))
    (folder / "malilla.onnx").write_bytes(model.SerializeToString())
    return folder


@pytest.fixture
def policies(small: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(shipped, "POLICIES", small)
    return small


def states(tricks: int, rules: RuleSet = RULES, hands: int = 16) -> tuple[np.ndarray, np.ndarray]:
    """Views [16] of random play with so many tricks left, and keys."""
    games = GameBatch(rules, hands, seed=31, episode="hand")
    while (np.bitwise_count(games.views()["hand"]) > tricks).any():
        games.step(games.random_legal(games.decision_keys(31)))
    return games.views(), games.decision_keys(5)


def test_policy_plays_the_file_of_its_rule_set(policies: Path) -> None:
    views, keys = states(8)
    chosen = make("policy", RULES).act(views, keys)
    assert np.array_equal(chosen, OnnxPlayer(policies / "malilla.onnx", RULES).act(views, keys))
    assert not np.array_equal(chosen, make("heuristic", RULES).act(views, keys))


def test_the_same_rules_by_another_name_have_the_same_policy() -> None:
    rules = ruleset("manille-muette")
    views, keys = states(4, rules)
    assert np.array_equal(make("policy", rules).act(views, keys), make("policy", ruleset("manille")).act(views, keys))


def test_with_search_the_policy_plays_early_and_weighs_worlds_late(policies: Path) -> None:
    file = policies / "malilla.onnx"
    player = make("policy+pimc:worlds=4,tricks=3,threads=1", RULES)
    early, late = states(4), states(3)
    assert np.array_equal(player.act(*early), make("policy", RULES).act(*early))
    same = make(f"pimc:worlds=4,tricks=3,before={file},weights={file},threads=1", RULES)
    assert np.array_equal(player.act(*late), same.act(*late))
    assert not np.array_equal(player.act(*late), make("policy", RULES).act(*late))


def test_the_champion_is_the_policy_with_search_as_it_is_by_default(policies: Path) -> None:
    champion, search = make("champion:threads=1", RULES), make("policy+pimc:threads=1", RULES)
    assert champion.name == search.name
    assert f"worlds={shipped.WORLDS},tricks={shipped.TRICKS}," in champion.name
    late = states(3)
    assert np.array_equal(champion.act(*late), search.act(*late))


@pytest.mark.parametrize(
    ("spec", "game", "said"),
    [
        ("policy", "manille", r"no policy for manille ships \(malilla\): train one and give its path"),
        ("champion", "manille-3", "no policy for manille-3 ships"),
        ("policy:worlds=3", "malilla", "'worlds=3' is not an option, .*it takes: none"),
        ("policy+pimc:tricks=11", "malilla", "tricks=11 must be a whole number, 1 to 10 in malilla"),
        ("policy+pimc:milliseconds=0", "malilla", "milliseconds=0 must be"),
    ],
)
def test_what_cannot_be_played_is_told(policies: Path, spec: str, game: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as refused:
        make(spec, ruleset(game))
    assert f"player {spec!r}" in str(refused.value)


def test_another_game_of_the_same_name_is_refused(policies: Path) -> None:
    with pytest.raises(ValueError, match=r"'champion': .*malilla\.onnx plays rule set malilla .* target 35 / 50"):
        make("champion", ruleset("malilla", target=50))


def test_where_nothing_ships_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "POLICIES", tmp_path / "none")
    with pytest.raises(ValueError, match=r"player 'policy': no policy for malilla ships \(none\)"):
        make("policy", RULES)


@pytest.mark.parametrize("name", SHIPPED)
def test_what_ships_has_a_card_with_the_commands_that_made_it(name: str) -> None:
    card = (shipped.POLICIES / f"{name}.md").read_text(encoding="utf-8")
    (config,) = set(re.findall(r"train\.py (configs/\S+)", card))
    assert load_config(ROOT / config).rules().name == name
    assert all(f"--out policies/{name}{suffix}" in card for suffix in (".onnx", ".safetensors"))


@pytest.mark.slow
def test_the_champion_needs_no_torch(small: Path) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from agents import make, shipped; from malilla_env import GameBatch, ruleset\n"
        f"shipped.POLICIES = Path({str(small)!r})\n"
        "rules = ruleset(); games = GameBatch(rules, 2, seed=3, episode='hand')\n"
        "player = make('champion:threads=1', rules)\n"
        "while not games.done.all():\n"
        "    games.step(player.act(games.views(), games.decision_keys()))\n"
        "print('torch' in sys.modules, (games.reneged == -1).all())"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


@pytest.mark.parametrize("name", SHIPPED)
def test_both_files_that_ship_are_one_policy(name: str) -> None:
    rules = ruleset(name)
    views, keys = states(rules.num_tricks // 2, rules)
    played = make("policy", rules).act(views, keys)
    stored = NeuralPlayer.load(shipped.POLICIES / f"{name}.safetensors", rules)
    assert np.array_equal(played, stored.act(views, keys))
