"""Which player is better: every two of the named players on duplicate deals, as a table with intervals.

    python evaluate.py heuristic random --deals 10000
    python evaluate.py runs/cpu heuristic my_bot:MyPlayer --matches 500 --json F.json --report F.html

Enters: specs of players (agents/registry.py), a rule set, a seed. Leaves: tables on the terminal; files if asked for.
docs/EVALUATION.md says what the figures mean.
"""

from __future__ import annotations

import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from agents.registry import CHOICES, lineup
from arena.compare import Comparison, compare, pairs_to_play
from arena.match import BLOCK
from arena.report import html_text, json_text, show, write
from malilla_env import PRESETS, ruleset
from malilla_env.rules import override


@dataclass(frozen=True)
class Options:
    """Compare every two of the named players on duplicate deals."""

    players: Annotated[
        tuple[str, ...],
        tyro.conf.Positional,
        tyro.conf.arg(metavar="PLAYER", help=f"Two players or more, each: {CHOICES}."),
    ]
    ruleset: Annotated[str, tyro.conf.arg(help=f"One of {', '.join(PRESETS)}.")] = "malilla"
    set: Annotated[
        tyro.conf.UseAppendAction[tuple[str, ...]],
        tyro.conf.arg(metavar="FIELD=VALUE", help="Change a field of the rule set, e.g. --set target=70; repeatable."),
    ] = ()
    deals: int = 1000
    """Duplicate pairs of hands: deals 0 to N-1 of the seed, each in every seating."""
    matches: int = 0
    """Duplicate pairs of whole matches to play as well."""
    seed: int = 10
    """Seeds 1 to 9 are for reported figures; tune on others."""
    half_width: float = 0.0
    """Stop the hands of two players once their 95% interval reaches no further than this to either side."""
    minutes: float = 0.0
    """And after about so many minutes, with the pairs played until then."""
    batch_size: int = BLOCK
    """Pairs played together at most; changes speed and memory, no result (but where a width or a time ends)."""
    json: Path | None = None
    """Write the figures to this file."""
    report: Path | None = None
    """Write a page of HTML to this file."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; a mistake of the user's ends it with exit code 2 and a line that says what to do."""
    given = sys.argv[1:] if arguments is None else arguments
    options = tyro.cli(Options, args=given, prog="evaluate.py")
    try:
        comparison = evaluate(options)
        if options.json:
            write(options.json, json_text(comparison))
        if options.report:
            write(options.report, html_text(comparison, shlex.join(["python", "evaluate.py", *given])))
    except (ValueError, OSError) as error:
        print("evaluate.py:", " ".join(str(error).split()), file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("evaluate.py: interrupted; nothing was written", file=sys.stderr)
        raise SystemExit(130) from None
    show(comparison, Console())


def evaluate(options: Options) -> Comparison:
    """The comparison that the options ask for, with its progress on the terminal."""
    rules = ruleset(options.ruleset, **dict(override(text) for text in options.set))
    for path in (options.json, options.report):
        _check_place(path)
    agents = lineup(options.players, rules)
    columns = (TextColumn("duplicate pairs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    quiet = not console.is_terminal
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True, disable=quiet) as progress:
        task = progress.add_task("", total=pairs_to_play(len(agents), options.deals, options.matches))
        return compare(
            agents,
            rules,
            options.seed,
            options.deals,
            options.matches,
            options.batch_size,
            lambda pairs: progress.advance(task, pairs),
            options.half_width,
            options.minutes,
        )


def _check_place(path: Path | None) -> None:
    """Refuse a file that cannot be written before hours are spent on it."""
    if path is None:
        return
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise ValueError(f"cannot write {path}: name a file in an existing folder that you may write to")


if __name__ == "__main__":
    main()
