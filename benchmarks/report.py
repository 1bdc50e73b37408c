"""What was measured, for people (a rich table) and for programs (JSON)."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict
from importlib import import_module, metadata
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from benchmarks.measure import Comparison, Effort

PACKAGES = ("numpy", "numba", "open-spiel", "pettingzoo", "rlcard", "torch", "stable-baselines3", "sb3-contrib")
ONE_CORE = "Speed on one core, beside peers measured in the same run"


def measured(name: str, effort: Effort) -> list[Comparison]:
    """The comparisons of one benchmark module."""
    comparisons: list[Comparison] = import_module(f"benchmarks.{name}").compare(effort)
    return comparisons


def figure(value: float) -> str:
    """Three significant digits, in thousands or millions where that reads better."""
    if value >= 1e6:
        return f"{value / 1e6:.3g} M"
    if value >= 1e4:
        return f"{value / 1e3:.3g} k"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def spread(values: list[float], unit: str) -> str:
    """The median; below it the lowest and highest, where there are several; a dash for no values."""
    if not values:
        return "-"
    middle = f"{figure(median(values))}{unit}"
    return middle if len(values) == 1 else f"{middle}\n[dim]{figure(min(values))} to {figure(max(values))}[/]"


def target(row: Comparison) -> str:
    """The targets of a row, and whether the medians meet them."""
    wanted = [
        f">= {figure(row.at_least)}" if row.at_least is not None else "",
        f"<= {figure(row.at_most)}" if row.at_most is not None else "",
        f">= {row.ratio_at_least:g}x" if row.ratio_at_least is not None else "",
    ]
    if row.met is None:
        return "-"
    verdict = "[green]met[/]" if row.met else "[bold red]missed[/]"
    return f"{', '.join(text for text in wanted if text)}\n{verdict}"


def cpu() -> str:
    """The processor's name, as far as the machine tells."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def console() -> Console:
    """Where a table is printed: a file has no width of its own."""
    terminal = Console()
    return terminal if terminal.is_terminal else Console(width=120)


def table(
    rows: list[Comparison],
    effort: Effort,
    title: str = ONE_CORE,
    clock: str = "rates by processor time, starts by the clock",
) -> Table:
    """What was measured; `clock` says by which time."""
    made = Table(
        title=title,
        caption=f"{cpu()}, Python {platform.python_version()}, batch {effort.batch}: medians, and below them "
        f"the lowest and highest, of {effort.repeats} rounds; ratio = ours / peer, round by round; {clock}",
        show_lines=True,
    )
    for heading in ("what", "ours", "peer", "peer's", "ratio", "target"):
        made.add_column(heading, no_wrap=heading not in ("what", "peer"))
    for row in rows:
        what = f"{row.name}\n[dim]{row.unit}[/]"
        made.add_row(
            what, spread(row.ours, ""), row.peer_name or "-", spread(row.peer, ""), spread(row.ratios, "x"), target(row)
        )
    return made


def write_json(path: Path, rows: list[Comparison], effort: Effort) -> None:
    """Every run of every row, and what they were made with."""
    made_with = {
        "cpu": cpu(),
        "python": platform.python_version(),
        "effort": asdict(effort),
        "packages": {name: metadata.version(name) for name in PACKAGES},
    }
    rows_out = [asdict(row) | {"met": row.met} for row in rows]
    path.write_text(json.dumps({"made_with": made_with, "results": rows_out}, indent=1) + "\n")
