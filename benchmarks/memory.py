"""Bytes of one game in memory: a row of the batch, beside a clone of an OpenSpiel state as a process grows by it."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyspiel

from benchmarks.measure import Comparison, Effort
from malilla_env import GameBatch, ruleset


def resident_bytes() -> int:
    """Memory of this process; Linux alone tells."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def halfway(name: str) -> Any:
    """An OpenSpiel state after 20 decisions of random play."""
    below, decisions, state = random.Random(11).random, 0, pyspiel.load_game(name).new_initial_state()
    while decisions < 20:
        decisions += not state.is_chance_node()
        actions = state.legal_actions()
        state.apply_action(actions[int(below() * len(actions))])
    return state


def bytes_per_clone(clones: int) -> float:
    """In a process of its own: one that has freed memory fills that first, and may not grow at all."""
    command = [sys.executable, "-m", "benchmarks.memory", str(clones)]
    root = Path(__file__).parents[1]
    return float(subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout)


def growth(clones: int) -> float:
    """Bytes by which this process grows for each of so many clones."""
    state, before = halfway("spades"), resident_bytes()
    kept = [state.clone() for _ in range(clones)]
    return (resident_bytes() - before) / len(kept)


def compare(effort: Effort) -> list[Comparison]:
    row = float(GameBatch(ruleset("malilla"), 1, seed=11).state.dtype.itemsize)
    if not Path("/proc/self/statm").exists():
        return []
    clone = bytes_per_clone(max(10_000, 5 * effort.batch))
    return [Comparison("bytes of a game", "bytes", [row], "OpenSpiel spades, a cloned state", [clone])]


if __name__ == "__main__":
    print(growth(int(sys.argv[1])))
