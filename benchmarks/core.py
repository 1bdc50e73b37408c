"""The core: random play of Malilla in batches, beside OpenSpiel's trick-taking games driven from Python.

A decision is a card chosen by a player (in spades and euchre a bid too); dealing, legal sets, choosing and starting new
matches are part of the time, on both sides. Spades is the peer for play alone, euchre for play with tensors.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.observation import make_observation

from benchmarks.measure import Comparison, Effort, Work, race
from malilla_env import GameBatch, layout, ruleset

SEED = 11
STEPS = 16  # of the whole batch, in one piece of work


def ours(batch: int, choose: Callable[[GameBatch], Any]) -> Work:
    """Random play of whole matches in every lane; a lane whose match is over starts the next."""
    games = GameBatch(ruleset("malilla"), batch, seed=SEED)
    games.reset(where=games.done)  # compiles it

    def work() -> int:
        for _ in range(STEPS):
            games.step(choose(games))
            if games.done.any():
                games.reset(where=games.done)
        return STEPS * batch

    return work


def choose_compiled(games: GameBatch) -> Any:
    return games.random_legal(games.decision_keys(SEED))


def choose_by_mask() -> Callable[[GameBatch], Any]:
    """A uniform choice as NumPy makes it: the largest of random numbers where the mask is set."""
    generator = np.random.default_rng(SEED)

    def choose(games: GameBatch) -> Any:
        mask = games.legal_actions()
        return (mask * generator.random(mask.shape, np.float32)).argmax(axis=1)

    return choose


def choose_after_views(games: GameBatch) -> Any:
    games.views()
    return choose_compiled(games)


def choose_after_observing(batch: int) -> Callable[[GameBatch], Any]:
    out = np.empty((batch, layout(ruleset("malilla")).width), np.float32)

    def choose(games: GameBatch) -> Any:
        games.observe(out=out)
        return choose_compiled(games)

    return choose


def open_spiel(name: str, look: Callable[[Any], object] | None = None) -> Work:
    """Random play of one OpenSpiel game; `look` is called at each decision. Chance is uniform in these games."""
    game = pyspiel.load_game(name)
    below = random.Random(SEED).random

    def work() -> int:
        decisions, state = 0, game.new_initial_state()
        while not state.is_terminal():
            actions = state.legal_actions()
            if not state.is_chance_node():
                decisions += 1
                if look:
                    look(state)
            state.apply_action(actions[int(below() * len(actions))])
        return decisions

    return work


def euchre_observer() -> Callable[[Any], object]:
    """OpenSpiel's fastest way: the tensor is written into a NumPy array that is kept."""
    kind = pyspiel.IIGObservationType(perfect_recall=True)
    observation = make_observation(pyspiel.load_game("euchre"), kind)
    return lambda state: observation.set_from(state, state.current_player())


def compare(effort: Effort) -> list[Comparison]:
    width = layout(ruleset("malilla")).width
    (euchre_width,) = pyspiel.load_game("euchre").information_state_tensor_shape()
    rates = race(
        {
            "play": ours(effort.batch, choose_compiled),
            "masks": ours(effort.batch, choose_by_mask()),
            "spades": open_spiel("spades"),
            "views": ours(effort.batch, choose_after_views),
            "observe": ours(effort.batch, choose_after_observing(effort.batch)),
            "euchre list": open_spiel("euchre", lambda state: state.information_state_tensor()),
            "euchre observer": open_spiel("euchre", euchre_observer()),
        },
        effort,
    )

    def row(name: str, key: str, peer_name: str, peer: str, **targets: Any) -> Comparison:
        return Comparison(name, "decisions/s", rates[key], peer_name, rates[peer], **targets)

    tensors = f"observations, float32[{width}]"
    return [
        row("random play", "play", "OpenSpiel spades", "spades", at_least=20e6, ratio_at_least=100),
        row("random play, masks and NumPy choice", "masks", "OpenSpiel spades", "spades"),
        row("the same with Views", "views", "OpenSpiel spades", "spades"),
        row(
            f"the same with Views and {tensors}",
            "observe",
            f"OpenSpiel euchre, information_state_tensor() [{euchre_width}]",
            "euchre list",
            at_least=2e6,
            ratio_at_least=30,
        ),
        row(
            f"the same with Views and {tensors}",
            "observe",
            f"OpenSpiel euchre, Observation.set_from() [{euchre_width}]",
            "euchre observer",
        ),
    ]
