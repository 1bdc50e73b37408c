"""`python -m benchmarks.training`: the training loop on all cores, by the clock, beside sb3-contrib's MaskablePPO.

Ours is the loop of train.py past its imitation: self-play of whole hands (collect), advantages, gradient steps
(update); evaluations, checkpoints and logs are left out on both sides. The peer has the same game, widths, decisions an
update, minibatch and epochs (more epochs would slow both). All take turns in one process, with the config's threads.

What is counted is decisions of learning seats, forced ones included, on both sides. What differs:
- Ours learns from all seats of a hand. The peer in Gymnasium environments learns from one; the moves of the other three
  are random players', and count for nothing but take time. In one GameBatch the peer plays all seats, and a game costs
  next to nothing: MaskablePPO's own speed. It bears no target, since it sums the rewards of both sides into one return.
- Ours takes no gradient steps on forced moves; the peer knows no such thing.
- Our critic sees all hands; the peer's sees the seat's observation, which is narrower. Our policy is shown the legal
  actions too. With our layers, the peer sees the suits in id order, not trump first: the same work.
- Ours descends by Muon and Adam, the peer by Adam.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

import tyro
from stable_baselines3.common.vec_env import VecEnv

from agents.learning.config import Config, load_config
from agents.learning.parallel import ALONE
from benchmarks import maskable_ppo, processes
from benchmarks.maskable_ppo import OneBatch, single_seats
from benchmarks.measure import Comparison, Effort, Stretch, Work, spend, take_turns, usable_cores
from benchmarks.processes import updates
from benchmarks.report import console, table, write_json
from malilla_env import RuleSet

CONFIG = Path(__file__).parent.parent / "configs" / "cpu.toml"
EFFORT = Effort(seconds=10.0, repeats=5, batch=64)  # batch: the peer's games side by side


def ours(config: Config) -> Work:
    """One update of self-play after the other, in this process."""
    work, numbers = updates(config, ALONE), itertools.count()
    return lambda: work(next(numbers))


def by_clock(work: Work) -> Stretch:
    return partial(spend, work, time.perf_counter)


def compare(effort: Effort, config: Config | None = None) -> list[Comparison]:
    """A row for each way to run ours beside each of the peer's: with targets, then without; fastest first.

    With several threads to spend, ours also runs in as many processes of one thread each (torchrun).
    """
    config = config or load_config(CONFIG)
    config = replace(config, threads=min(config.threads, usable_cores()))  # more would wait for each other
    rules, games = config.rules(), effort.batch
    mine = {f"training, one process, torch threads: {config.threads}": by_clock(ours(config))}
    if config.threads > 1:
        mine[f"training, {config.threads} processes (torchrun)"] = processes.stretch(config, config.threads)

    def peers(kind: str, make: Callable[[RuleSet, int], VecEnv]) -> dict[str, Stretch]:
        return {
            f"{name}, {games} {kind}": by_clock(maskable_ppo.updates(config, make(rules, games), suits))
            for name, suits in (("MaskablePPO", False), ("MaskablePPO with our layers", True))
        }

    single, bare = peers("Gymnasium environments", single_seats), peers("games in one GameBatch", OneBatch)
    rates = take_turns(mine | single | bare, effort)

    def row(own: str, peer: str, **targets: float) -> Comparison:
        return Comparison(own, "learner decisions/s", rates[own], peer, rates[peer], **targets)

    def fastest_first(names: Iterable[str]) -> list[str]:
        return sorted(names, key=lambda name: -median(rates[name]))

    return [
        *(row(own, peer, at_least=20e3, ratio_at_least=5) for own in mine for peer in fastest_first(single)),
        *(row(own, peer) for own in mine for peer in fastest_first(bare)),
    ]


def run(
    config: Path = CONFIG,
    seconds: float = EFFORT.seconds,
    repeats: int = EFFORT.repeats,
    games: int = EFFORT.batch,
    json: Path | None = None,
) -> None:
    """Measure the speed of training on all cores beside sb3-contrib's MaskablePPO.

    Args:
        config: a TOML file of configs/; both sides train as it says.
        seconds: how long each contestant runs in a round, rounded up to whole updates.
        repeats: rounds; the table shows medians, and the lowest and highest.
        games: games that the peer plays side by side; ours plays the config's lanes.
        json: a file to write every run to.
    """
    effort, shown = Effort(seconds, repeats, games), console()
    with shown.status("measuring training"):
        rows = compare(effort, load_config(config))
    title = f"Speed of training on all cores ({usable_cores()}), beside peers measured in the same run"
    shown.print(table(rows, effort, title, "rates by the clock"))
    if json:
        write_json(json, rows, effort)
        shown.print(f"every run: {json}")


if __name__ == "__main__":
    tyro.cli(run)
