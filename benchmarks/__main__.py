"""`python -m benchmarks`: every benchmark on one core, as a table and, with --json, as a file.

Names choose among them: `python -m benchmarks core env`. Exit status 0 whether or not targets are met: the table says.
Training takes every core, and stands apart: `python -m benchmarks.training`.
"""

from __future__ import annotations

from benchmarks.measure import keep_to_one_core

if __name__ == "__main__":
    keep_to_one_core()  # before NumPy starts threads

from pathlib import Path
from typing import Annotated

import tyro

from benchmarks.measure import Effort
from benchmarks.report import console, measured, table, write_json

BENCHMARKS = ("core", "games", "env", "solver", "memory", "startup")


def run(
    names: Annotated[tuple[str, ...], tyro.conf.Positional] = BENCHMARKS,
    seconds: float = Effort.seconds,
    repeats: int = Effort.repeats,
    batch: int = Effort.batch,
    deals: int = Effort.deals,
    json: Path | None = None,
) -> None:
    """Measure speed on one core beside peers.

    Args:
        names: which of core, games, env, solver, memory, startup; all of them unless named.
        seconds: how long each contestant runs in a round.
        repeats: rounds; the table shows medians, and the lowest and highest.
        batch: games stepped together.
        deals: deals that the solver solves, one after the other.
        json: a file to write every run to.
    """
    unknown = sorted(set(names) - set(BENCHMARKS))
    if unknown:
        raise SystemExit(f"unknown benchmark {', '.join(unknown)}: choose among {', '.join(BENCHMARKS)}")
    effort = Effort(seconds, repeats, batch, deals)
    shown, comparisons = console(), []
    for name in names:
        with shown.status(f"measuring {name}"):
            comparisons += measured(name, effort)
    shown.print(table(comparisons, effort))
    if json:
        write_json(json, comparisons, effort)
        shown.print(f"every run: {json}")


if __name__ == "__main__":
    tyro.cli(run)
