"""The compiled layer: pure twins agree with the instructions, and the cache follows the sources."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from malilla_env import compiled

ROOT = Path(__file__).parents[1]


@compiled.jit
def counted(word: compiled.Word) -> tuple[int, int]:
    return compiled.popcount(word), compiled.lowest(word)


@pytest.mark.parametrize("word", [1, 2, 3, 1 << 39, (1 << 64) - 1, 0b1011000])
def test_instructions_agree_with_their_pure_twins(word: int) -> None:
    bits = bin(word)[2:]
    assert counted(np.uint64(word)) == (bits.count("1"), bits[::-1].index("1"))
    assert (compiled._pure_popcount(word), compiled._pure_lowest(word)) == counted(np.uint64(word))


@compiled.jit
def streamed(source: compiled.Array, target: compiled.Array) -> None:
    source, target = compiled.uncounted(source), compiled.uncounted(target)
    compiled.stream4(source, target, 4)
    compiled.settle()


@pytest.mark.skipif(compiled.PURE, reason="there are only the twins")
def test_streaming_agrees_with_its_pure_twin_and_counts_no_references() -> None:
    source, held = np.arange(12, dtype=np.float32), np.zeros(12 + 4, np.float32)
    start = -held.ctypes.data % 16 // 4
    target, same = held[start : start + 12], np.zeros(12, np.float32)
    counts = sys.getrefcount(source), sys.getrefcount(target)
    streamed(source, target)
    compiled._pure_stream4(compiled._pure_uncounted(source), same, 4)
    assert target.tolist() == same.tolist() == [0] * 4 + [4, 5, 6, 7] + [0] * 4
    assert (sys.getrefcount(source), sys.getrefcount(target)) == counts


def test_mix_agrees_with_its_pure_twin_and_with_splitmix64() -> None:
    for key, value in ((0, 0), (1, 2), ((1 << 64) - 1, 5), (12345, (1 << 64) - 1)):
        assert int(compiled.mix(np.uint64(key), np.uint64(value))) == int(compiled._pure_mixed(key, value))
    # The first output of SplitMix64 seeded with 0, as published with xoshiro.
    assert int(compiled.mix(np.uint64(0), np.uint64(0))) == 0xE220A8397B1DCDAF


def test_sources_hold_everything_that_a_file_depends_on() -> None:
    names = {path.name for path in compiled.sources_of(compiled.PACKAGE / "batch.py")}
    assert {"batch.py", "engine.py", "rules.py", "cards.py", "deals.py", "view.py", "compiled.py"} <= names
    assert {"tricks.py", "phases.py", "scoring.py", "state.py", "observation.py"} <= names
    assert "view.py" not in {path.name for path in compiled.sources_of(compiled.PACKAGE / "engine.py")}


def test_sources_of_a_file_of_another_package_hold_both() -> None:
    names = {
        path.relative_to(ROOT).as_posix() for path in compiled.sources_of(ROOT / "agents" / "search" / "worlds.py")
    }
    assert {
        "agents/search/worlds.py",
        "agents/search/plan.py",
        "agents/search/piles.py",
        "malilla_env/engine.py",
    } <= names
    assert "malilla_env/scoring.py" in names  # by way of engine.py


def test_sources_are_found_wherever_the_packages_lie(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit in a module of a package gives a new cache directory to what imports it from there, and to no other."""
    texts = {
        "malilla_env/base.py": "",
        "players/deep/first.py": "from malilla_env.base import x\nfrom players.deep import second",
        "players/deep/second.py": "from numpy import array\nfrom others import far",
        "others/far.py": "",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(compiled, "PACKAGE", tmp_path / "malilla_env")
    found = compiled.sources_of(tmp_path / "players" / "deep" / "first.py")
    assert {path.relative_to(tmp_path).as_posix() for path in found if path.is_relative_to(tmp_path)} == {
        "malilla_env/base.py",
        "players/deep/first.py",
        "players/deep/second.py",
    }


def _trump_points_after_an_edit(package: Path, cache: Path, edit: tuple[str, str] | None) -> str:
    """Points of the first trick of a fixed deal, played by a fresh interpreter from a copy of the package."""
    engine = package / "engine.py"
    if edit:
        text = engine.read_text()
        assert text.count(edit[0]) == 1
        engine.write_text(text.replace(*edit))
    code = (
        "from malilla_env import GameBatch, ruleset\n"
        "games = GameBatch(ruleset(), 1, seed=1)\n"
        "for _ in range(4): games.step(games.random_legal(games.decision_keys()))\n"
        "print(games.hand_points.tolist())"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(package.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=package.parent, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.slow
def test_an_edit_in_a_called_file_reaches_cached_callers(tmp_path: Path) -> None:
    package = tmp_path / "malilla_env"
    shutil.copytree(compiled.PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    first = _trump_points_after_an_edit(package, tmp_path / "cache", None)
    edit = ('row["trick_value"] + rules["trick_points"]', 'row["trick_value"] + rules["trick_points"] + 50')
    second = _trump_points_after_an_edit(package, tmp_path / "cache", edit)
    assert max(eval(second)[0]) == max(eval(first)[0]) + 50
