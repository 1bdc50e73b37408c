"""From import to the first step, in fresh interpreters: with an empty compilation cache (cold) and a filled one (warm),
beside OpenSpiel's import and first move. The interpreter's own start is not counted."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from benchmarks.measure import Comparison, Effort

MALILLA = """
from malilla_env import GameBatch, ruleset
games = GameBatch(ruleset("malilla"), 1, seed=11)
games.step(games.random_legal(games.decision_keys(11)))
"""
SPADES = """
import pyspiel
state = pyspiel.load_game("spades").new_initial_state()
while state.is_chance_node():
    state.apply_action(state.legal_actions()[0])
state.apply_action(state.legal_actions()[0])
"""
TIMED = "import time\nstart = time.perf_counter()\n{}\nprint(time.perf_counter() - start)"


def seconds(program: str, cache: str) -> float:
    """Seconds that a program takes in a fresh interpreter, its compilation cache in `cache`."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache}
    command = [sys.executable, "-c", TIMED.format(program)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(run.stdout)


def compare(effort: Effort) -> list[Comparison]:
    cold, warm, peer = [], [], []
    for _ in range(effort.repeats):
        with tempfile.TemporaryDirectory(prefix="malilla-cache-") as cache:
            cold.append(seconds(MALILLA, cache))
            warm.append(seconds(MALILLA, cache))
            peer.append(seconds(SPADES, cache))
    name = "OpenSpiel spades, import to first move"
    return [
        Comparison("import to first step, cold cache", "s", cold, name, peer, at_most=30),
        Comparison("import to first step, warm cache", "s", warm, name, peer, at_most=2),
    ]
