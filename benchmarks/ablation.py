"""`python -m benchmarks.ablation`: what each idea of the heuristic is worth, on duplicate deals.

Enters: a rule set's name, a seed, a number of pairs. Leaves: a table of the full player against itself without each
idea, and against random. An idea is worth keeping if its interval lies above 0.
"""

from __future__ import annotations

from collections.abc import Iterator

import tyro
from rich.console import Console
from rich.progress import track
from rich.table import Table

from agents.base import Agent
from arena.match import meet
from arena.player import Player
from arena.stats import Estimate, estimate
from malilla_env import RuleSet, ruleset
from malilla_env.players import HeuristicPlayer, RandomPlayer
from malilla_env.weights import IDEAS


def contestants(rules: RuleSet) -> Iterator[tuple[str, str, Agent]]:
    """(name, meaning, opponent) of each row."""
    yield "random", "any legal card", RandomPlayer(rules)
    for idea in IDEAS:
        yield f"without {idea.name}", idea.meaning, HeuristicPlayer(rules, without=(idea.name,))


def margin(rules: RuleSet, opponent: Agent, seed: int, pairs: int) -> Estimate:
    """Points a hand of the full heuristic's side above the mean of the sides."""
    full = Player("heuristic", HeuristicPlayer(rules))
    return estimate(meet(full, Player("opponent", opponent), rules, seed, pairs).margins)


def table(rules: RuleSet, seed: int, pairs: int, margins: list[tuple[str, str, Estimate]]) -> Table:
    shown = Table(title=f"heuristic against ..., {rules.name}, {pairs:,} duplicate pairs, seed {seed}")
    shown.add_column("opponent")
    shown.add_column("points a hand", justify="right")
    shown.add_column("95% interval", justify="right")
    shown.add_column("what the opponent does without")
    for name, meaning, found in margins:
        shown.add_row(name, f"{found.mean:+.3f}", f"{found.low:+.3f} to {found.high:+.3f}", meaning)
    return shown


def run(rules: str = "malilla", seed: int = 10, pairs: int = 20_000) -> None:
    """Measure what each idea of the heuristic is worth.

    Args:
        rules: the rule set's name.
        seed: of the deals; 1 to 9 are for reports, tuning uses others.
        pairs: duplicate pairs a row.
    """
    chosen = ruleset(rules)
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)  # a file has no width of its own
    rows = list(contestants(chosen))
    margins = [
        (name, meaning, margin(chosen, opponent, seed, pairs))
        for name, meaning, opponent in track(rows, "playing", console=console, transient=True)
    ]
    console.print(table(chosen, seed, pairs, margins))


if __name__ == "__main__":
    tyro.cli(run)
