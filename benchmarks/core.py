"""The core: random play of Malilla in batches, beside OpenSpiel's trick-taking games driven from Python.

A decision is a card chosen by a player (in spades and euchre a bid too); dealing, legal sets, choosing and playing are
part of the time, on both sides. An episode is one hand, as it is there. Spades is the peer for play alone, euchre for
play with tensors.
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
RULES = ruleset("malilla")


def ours(batch: int, choose: Callable[[GameBatch], Any]) -> Work:
    """Random play of a hand in every lane."""
    games = GameBatch(RULES, batch, seed=SEED, episode="hand")

    def work() -> int:
        games.reset()
        for _ in range(RULES.num_cards):
            games.step(choose(games))
        return RULES.num_cards * batch

    return work


def compiled_choice(batch: int) -> Callable[[GameBatch], Any]:
    """A uniform choice by the batch itself, from a fresh random word for each lane."""
    words = np.random.SFC64(SEED)
    return lambda games: games.random_legal(words.random_raw(batch))


def numpy_choice(batch: int) -> Callable[[GameBatch], Any]:
    """A uniform choice as NumPy makes it: the largest of random numbers where the mask is set."""
    generator = np.random.default_rng(SEED)

    def choose(games: GameBatch) -> Any:
        mask = games.legal_actions()
        return (mask * generator.random(mask.shape, np.float32)).argmax(axis=1)

    return choose


def after_views(batch: int) -> Callable[[GameBatch], Any]:
    """The compiled choice, once every seat to act has been given its View."""
    choose = compiled_choice(batch)

    def look_and_choose(games: GameBatch) -> Any:
        games.views()
        return choose(games)

    return look_and_choose


def after_observing(batch: int) -> Callable[[GameBatch], Any]:
    """The compiled choice, once every seat to act has been given its View as an observation."""
    choose = compiled_choice(batch)
    out = np.empty((batch, layout(RULES).width), np.float32)

    def observe_and_choose(games: GameBatch) -> Any:
        games.observe(out=out)
        return choose(games)

    return observe_and_choose


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
    (euchre_width,) = pyspiel.load_game("euchre").information_state_tensor_shape()
    rates = race(
        {
            "play": ours(effort.batch, compiled_choice(effort.batch)),
            "masks": ours(effort.batch, numpy_choice(effort.batch)),
            "spades": open_spiel("spades"),
            "views": ours(effort.batch, after_views(effort.batch)),
            "observe": ours(effort.batch, after_observing(effort.batch)),
            "euchre tensor": open_spiel("euchre", lambda state: state.information_state_tensor()),
            "euchre observer": open_spiel("euchre", euchre_observer()),
        },
        effort,
    )

    def row(name: str, key: str, peer_name: str, peer: str, **targets: Any) -> Comparison:
        return Comparison(name, "decisions/s", rates[key], f"OpenSpiel {peer_name}", rates[peer], **targets)

    observe = f"random play with Views and observations, float32[{layout(RULES).width}]"
    tensor, observer = f"euchre, state's tensor [{euchre_width}]", f"euchre, Observation.set_from [{euchre_width}]"
    return [
        row("random play", "play", "spades", "spades", at_least=20e6, ratio_at_least=100),
        row("random play, bool masks and NumPy choice", "masks", "spades", "spades"),
        row("random play with Views", "views", "spades", "spades"),
        row(observe, "observe", tensor, "euchre tensor", at_least=2e6, ratio_at_least=30),
        row(observe, "observe", observer, "euchre observer"),
    ]
