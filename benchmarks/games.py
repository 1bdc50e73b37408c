"""Every rule set: random play of hands in batches, beside `malilla` in the same run.

A decision is an action of a seat on turn, a card or not; games that are over by then do not count. Games whose hashes
are equal are one game.
"""

from __future__ import annotations

from benchmarks.core import SEED, compiled_choice
from benchmarks.measure import Comparison, Effort, Work, race
from malilla_env import PRESETS, GameBatch, RuleSet

PEER = "malilla"


def ours(rules: RuleSet, batch: int) -> Work:
    """Random play of a hand in every lane, until all are over."""
    games, choose = GameBatch(rules, batch, seed=SEED, episode="hand"), compiled_choice(batch)

    def work() -> int:
        games.reset()
        decisions, on_turn = 0, batch
        while on_turn:
            games.step(choose(games))
            decisions += on_turn
            on_turn = batch - int(games.done.sum())
        return decisions

    return work


def compare(effort: Effort) -> list[Comparison]:
    once: dict[str, str] = {}
    for name, rules in PRESETS.items():
        once.setdefault(rules.hash, name)
    rates = race({name: ours(PRESETS[name], effort.batch) for name in once.values()}, effort)

    def row(name: str) -> Comparison:
        return Comparison(f"random play of {name}", "decisions/s", rates[name], PEER, rates[PEER], ratio_at_least=0.5)

    return [row(name) for name in rates if name != PEER]
