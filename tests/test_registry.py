"""Players by name: what a spec may say, and what is said when it is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import agents
from agents import Agent, lineup, make, registry
from malilla_env import GameBatch, RuleSet, ruleset

ROOT = Path(__file__).parent.parent
MALILLA = ruleset()

BOTS = """
import numpy as np

class Lowest:
    name = "lowest"

    def __init__(self, rules):
        self.rules = rules

    def act(self, views, keys):
        legal = views["legal"][:, 0]
        return np.bitwise_count((legal & (~legal + np.uint64(1))) - np.uint64(1)).astype(int)

class Nameless(Lowest):
    name = None

def broken(rules):
    raise KeyError("no such table")

def nothing(rules):
    return None

value = 3
"""


@pytest.fixture
def bots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with modules of the user's own in it."""
    (tmp_path / "own_bots.py").write_text(BOTS)
    (tmp_path / "half_bot.py").write_text("import a_package_that_nobody_has\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for module in ("own_bots", "half_bot"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    return tmp_path


@pytest.mark.parametrize("spec", ["random", "heuristic"])
def test_named_players_play_legal_cards(spec: str) -> None:
    player = agents.make(spec, MALILLA)
    assert isinstance(player, Agent)
    games = GameBatch(MALILLA, 50, seed=10)
    for _ in range(60):
        actions = player.act(games.views(), games.decision_keys(10))
        assert games.legal_actions()[np.arange(50), actions][~games.done].all()
        games.step(actions)


def test_a_player_of_the_users_own(bots: Path) -> None:
    player = make("own_bots:Lowest", MALILLA)
    assert player.name == "lowest"
    assert player.rules is MALILLA  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            "mallila",
            "unknown player 'mallila': choose one of random, heuristic, pimc.* the path of a checkpoint folder",
        ),
        ("", "unknown player ''"),
        ("own_bots:", "unknown player 'own_bots:'"),
        ("runs/none", "player 'runs/none': there is no such file or folder"),
        ("none.onnx", "player 'none.onnx': there is no such file or folder"),
        ("random:worlds=3", "player 'random:worlds=3': 'worlds=3' is not an option.*it takes: none"),
        ("no_such_module:Bot", "importing no_such_module failed: ModuleNotFoundError"),
        ("half_bot:Bot", "importing half_bot failed: ModuleNotFoundError: No module named 'a_package_that_nobody_has'"),
        ("own_bots:Missing", "own_bots has no function or class 'Missing'"),
        ("own_bots:value", "own_bots has no function or class 'value'"),
        ("own_bots:broken", r"broken\(rules\) failed: KeyError: 'no such table'"),
        ("own_bots:nothing", "NoneType is no agent: it needs `name`, a text, and `act"),
        ("own_bots:Nameless", "Nameless is no agent"),
    ],
)
def test_a_wrong_spec_is_named_with_what_to_do(bots: Path, spec: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as refused:
        make(spec, MALILLA)
    assert repr(spec) in str(refused.value)


class Tuned:
    name = "tuned"

    def __init__(self, rules: RuleSet, worlds: int = 1, weights: str = "") -> None:
        self.worlds, self.weights = worlds, weights

    def act(self, views: np.ndarray, keys: np.ndarray) -> np.ndarray:
        return np.zeros(len(views), int)


def test_options_have_types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.NAMED, "tuned", (f"{__name__}:Tuned", {"worlds": int, "weights": str}))
    player = make("tuned:worlds=30,weights=a/b=c", MALILLA)
    assert (player.worlds, player.weights) == (30, "a/b=c")  # type: ignore[attr-defined]
    assert make("tuned", MALILLA).worlds == 1  # type: ignore[attr-defined]
    for spec, said in (
        ("tuned:worlds=many", "worlds must be int, not 'many'"),
        ("tuned:worlds", "'worlds' is not an option, .*worlds=int, weights=str"),
        ("tuned:worlds=1,worlds=2", "'worlds=2' is not an option, each given once"),
        ("tuned:depth=2", "'depth=2' is not an option"),
    ):
        with pytest.raises(ValueError, match=said):
            make(spec, MALILLA)


def test_a_spec_given_twice_gets_two_names(bots: Path) -> None:
    one = "own_bots:Lowest"
    players = lineup([one, one, one], MALILLA)
    assert list(players) == [one, f"{one}#2", f"{one}#3"]
    assert len({id(player) for player in players.values()}) == 3


def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(registry, "CHECKPOINT", "a_package_that_nobody_has:Player.load")
    with pytest.raises(ValueError, match=r"needs a package that is not installed.*make setup"):
        make(str(tmp_path), MALILLA)


def test_an_empty_folder_is_no_checkpoint(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be loaded"):
        make(str(tmp_path), MALILLA)


def test_other_players_need_no_torch() -> None:
    code = (
        "import sys, agents, evaluate; from malilla_env import ruleset\n"
        "agents.lineup(['random', 'heuristic'], ruleset())\n"
        "print({'torch', 'onnxruntime', 'pettingzoo', 'gymnasium'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
