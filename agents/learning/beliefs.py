"""Calibration of a belief head: do cards lie where it says as often as it says?

    python -m agents.learning.beliefs runs/mine --hands 1000 --seed 100

Enters: a run with a belief head. Leaves: tables on the terminal. Hands are played, by default by the run's own policy
in all seats, and at each real choice the seat on turn tells where the cards are that it has not seen. Beside it stand
two who have not learned: one that takes all worlds that the View leaves possible to be equally likely (which is exact
if the play tells no more than what is certain), and one that takes all holders that a card can have to be.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import numpy as np
import tyro
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from agents.base import Agent
from agents.beliefs import Believer, held
from agents.learning.rollout import start_scores
from agents.learning.stored import find, read_meta
from agents.neural import ILLEGAL_LOGIT, NeuralPlayer
from agents.registry import make
from agents.search.worlds import sample, states
from malilla_env import GameBatch, RuleSet

BINS = 10
AT_ONCE = 1 << 14  # worlds held in memory
HALF = 0.5  # a world for each possible holder, counted beside those drawn: a rare place is not an impossible one
GUESSES = ("head", "worlds", "uniform")


@dataclass(frozen=True)
class Options:
    """Print how well a run's belief head is calibrated."""

    run: Annotated[Path, tyro.conf.Positional]
    """A run's folder (its newest checkpoint is taken) or a checkpoint's, trained with belief.weight above 0."""
    hands: int = 1000
    """Hands to play."""
    seed: int = 100
    """Of the deals; 1 to 9 are for reports."""
    worlds: int = 256
    """Drawn at each choice for the guess that all worlds are equally likely."""
    player: str = ""
    """Who plays in all seats, as evaluate.py names it; by default the run's policy."""


@dataclass
class Findings:
    """What was believed at the choices of some hands, of each unseen card and each of its possible holders."""

    chance: NDArray[np.float64]  # [M, 3] that the holder has the card, by GUESSES
    lies: NDArray[np.bool_]  # [M] whether it does
    doubt: NDArray[np.bool_]  # [M] whether another holder is possible too
    tricks: NDArray[np.int64]  # [M] left to play
    hand: NDArray[np.int64]  # [M] of the hands played, by number

    def where(self, rows: NDArray[np.bool_]) -> Findings:
        return Findings(*(getattr(self, entry.name)[rows] for entry in fields(self)))

    def surprise(self) -> NDArray[np.float64]:
        """float64 [3]: mean over the unseen cards of -log of the chance of where it lies, by GUESSES."""
        result: NDArray[np.float64] = -np.log(self.chance[self.lies]).mean(axis=0)
        return result


def main() -> int:
    """Run the command line; a wrong input ends in one line that names it."""
    options = tyro.cli(Options, prog="python -m agents.learning.beliefs")
    try:
        findings = calibrate(options)
    except (ValueError, OSError) as error:
        print("beliefs:", *str(error).split(), file=sys.stderr)
        return 2
    show(findings, Console())
    return 0


def calibrate(options: Options) -> Findings:
    """Play the hands and ask the head; ValueError for a run without one, or a number that makes no sense."""
    if options.hands < 1 or options.worlds < 1 or not 0 <= options.seed < 1 << 63:
        raise ValueError("--hands and --worlds must be 1 or more, --seed 0 to 2**63 - 1")
    rules = RuleSet.from_dict(read_meta(find(options.run))["rules"])
    believer = Believer.load(options.run, rules)
    player = make(options.player, rules) if options.player else NeuralPlayer(rules, believer.policy)
    return together(
        observe(believer, games, lanes, options.seed, options.worlds)
        for games, lanes in choices(rules, player, options.hands, options.seed)
    )


def together(findings: Iterable[Findings]) -> Findings:
    parts = list(findings)
    return Findings(*(np.concatenate([getattr(part, entry.name) for part in parts]) for entry in fields(Findings)))


def choices(rules: RuleSet, player: Agent, hands: int, seed: int) -> Iterator[tuple[GameBatch, NDArray[np.intp]]]:
    """Play hands side by side; at each ply the games, and which of them have a real choice to make."""
    games = GameBatch(rules, hands, seed, episode="hand", purpose="evaluate")
    games.reset(match_score=start_scores(rules, hands, seed, 0))
    while not games.done.all():
        lanes = np.flatnonzero(games.legal_actions().sum(axis=1) > 1)
        if len(lanes):
            yield games, lanes
        games.step(player.act(games.views(), games.decision_keys(seed)))


def observe(believer: Believer, games: GameBatch, lanes: NDArray[np.intp], seed: int, worlds: int) -> Findings:
    """What is believed in some lanes of the games, and what is true."""
    rules, views = games.rules, games.views()[lanes]
    logs = believer.log_chances(views)
    can = logs > ILLEGAL_LOGIT / 2
    counts = can.sum(axis=1, keepdims=True)
    level = np.where(can, HALF + worlds_with(rules, views, games.decision_keys(seed)[lanes], worlds), 0)
    guesses = np.exp(logs), level / np.maximum(level.sum(axis=1, keepdims=True), 1), 1 / np.maximum(counts, 1)
    lies = held(rules, views["seat"], games.state[lanes])
    row, _, _ = np.nonzero(can)
    return Findings(
        chance=np.stack([np.broadcast_to(guess, can.shape)[can] for guess in guesses], axis=1),
        lies=lies[can],
        doubt=np.broadcast_to(counts > 1, can.shape)[can],
        tricks=np.bitwise_count(views["hand"])[row].astype(np.int64),
        hand=lanes[row],
    )


def worlds_with(rules: RuleSet, views: NDArray[np.void], keys: NDArray[np.uint64], worlds: int) -> NDArray[np.float64]:
    """float64 [n, H, C]: in how many of the worlds drawn for each View a holder has a card."""
    parts, step = [], max(1, AT_ONCE // worlds)
    for start in range(0, len(views), step):
        part = views[start : start + step]
        games = states(rules, part, sample(rules, part, keys[start : start + step], worlds))
        lies = held(rules, np.repeat(part["seat"], worlds), games)
        parts.append(lies.reshape(len(part), worlds, *lies.shape[1:]).sum(axis=1, dtype=np.float64))
    return np.concatenate(parts)


# --- what is found
def reliability(chance: NDArray[np.float64], lies: NDArray[np.bool_]) -> list[tuple[float, float, int]]:
    """Of each of BINS equal steps of the chance told: its mean, how often it was so, of how many; nan for none."""
    places = np.minimum((chance * BINS).astype(int), BINS - 1)
    counts = np.bincount(places, minlength=BINS)
    sums = [np.bincount(places, weights=what, minlength=BINS) for what in (chance, lies)]
    with np.errstate(invalid="ignore"):
        told, found = (total / counts for total in sums)
    return list(zip(told.tolist(), found.tolist(), counts.tolist(), strict=True))


def calibration_error(chance: NDArray[np.float64], lies: NDArray[np.bool_]) -> float:
    """Expected calibration error: how far the steps' means lie from what was found, each by its count; nan of none."""
    bins = [(abs(told - found), count) for told, found, count in reliability(chance, lies) if count]
    return sum(far * count for far, count in bins) / len(chance) if bins else float("nan")


def gain(findings: Findings) -> tuple[float, float]:
    """By how much the head's surprise is below that of the worlds, nats a card, and half its 95% interval, by hands."""
    logs = np.log(findings.chance[findings.lies])
    _, hand = np.unique(findings.hand[findings.lies], return_inverse=True)
    cards = np.bincount(hand)
    sums = np.bincount(hand, weights=logs[:, 0] - logs[:, 1])
    mean = sums.sum() / cards.sum()
    spread = np.sqrt(((sums - mean * cards) ** 2).sum() * len(cards) / max(1, len(cards) - 1))
    return float(mean), float(1.96 * spread / cards.sum())


def show(findings: Findings, console: Console) -> None:
    """The tables: all choices, by the chance told; then by the tricks left."""
    doubtful = findings.where(findings.doubt)
    table = Table("chance told", "mean", "found", "cards and holders", title="The head, where there is doubt")
    for place, (told, found, count) in enumerate(reliability(doubtful.chance[:, 0], doubtful.lies)):
        numbers = (f"{told:.3f}", f"{found:.3f}") if count else ("", "")
        table.add_row(f"{place / BINS:.1f} to {(place + 1) / BINS:.1f}", *numbers, f"{count:,}")
    console.print(table)
    table = Table("tricks left", "unseen cards", *GUESSES, "calibration error", title="Surprise, nats an unseen card")
    for left in np.unique(findings.tricks)[::-1]:
        table.add_row(str(left), *summary(findings.where(findings.tricks == left)))
    table.add_row("all", *summary(findings), end_section=True)
    console.print(table)
    mean, half = gain(findings)
    console.print(
        f"Surprise of the worlds less the head's: {mean:+.4f} [{mean - half:+.4f}, {mean + half:+.4f}] nats a card",
        highlight=False,
        soft_wrap=True,
    )


def summary(findings: Findings) -> tuple[str, ...]:
    """How many cards, the surprise by GUESSES, the head's calibration error where there is doubt."""
    doubtful = findings.where(findings.doubt)
    error = calibration_error(doubtful.chance[:, 0], doubtful.lies)
    return (f"{findings.lies.sum():,}", *(f"{nats:.4f}" for nats in findings.surprise()), f"{error:.4f}")


if __name__ == "__main__":
    sys.exit(main())
