"""What a comparison looks like: tables for the terminal, JSON, and a page of HTML that needs nothing else.

Enters: a Comparison. Leaves: text on a console, files. A file is written whole or not at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from html import escape
from pathlib import Path

from rich.console import Console
from rich.markup import escape as plain
from rich.table import Table

from arena.compare import Comparison, Result
from arena.stats import Estimate

MARGIN_HELP = (
    "Margin: {points} a hand that A's side {takes} above the mean of the sides, averaged over duplicate pairs (the "
    "same deal in every seating of A and B). Brackets: 95% intervals, from the means of pairs."
)
MATCH_HELP = (
    "Capotes, zapatos: matches that A and B won by taking every trick of a hand, and with nothing on the other side."
)
PACE_HELP = "Milliseconds a decision, forced moves not counted, games played side by side: {}."
RATING_HELP = "Ratings: least-squares fit to all margins, points a hand."


def margin_help(comparison: Comparison) -> str:
    """What a margin counts: match points where hands are bid for."""
    points, takes = ("match points", "scores") if comparison.rules.auction else ("points", "takes")
    return MARGIN_HELP.format(points=points, takes=takes)


def pace_help(comparison: Comparison) -> str:
    return PACE_HELP.format(", ".join(f"{name} {pace:.3g}" for name, pace in comparison.paces.items()))


def title(comparison: Comparison) -> str:
    matches = f", {comparison.matches:,} of whole matches" if comparison.matches else ""
    early = "up to " if any(result.pairs < comparison.deals for result in comparison.results) else ""
    hands = f"{early}{comparison.deals:,} duplicate pairs of hands"
    return f"{comparison.rules.name}: {hands}{matches}, seed {comparison.seed}"


def _columns(comparison: Comparison) -> list[str]:
    matches = ["match wins", "95% interval", "capotes", "zapatos"] if comparison.matches else []
    illegal = ["illegal plays"] if _any_reneges(comparison) else []
    return ["A", "B", "margin", "95% interval", "pairs", "hand wins", *matches, *illegal]


def _any_reneges(comparison: Comparison) -> bool:
    return any(any(result.reneges) for result in comparison.results)


def _cells(comparison: Comparison, result: Result) -> list[str]:
    """A result as a row of `_columns`."""
    margin, won = result.margin, result.match_win_rate
    told = [f"{a} - {b}" for a, b in (result.capotes, result.zapatos)]
    matches = [f"{won.mean:.1%}", f"[{won.low:.1%}, {won.high:.1%}]", *told] if won else []
    illegal = [f"{result.reneges[0]} - {result.reneges[1]}"] if _any_reneges(comparison) else []
    names = [comparison.labels[result.a], comparison.labels[result.b]]
    shown = [_points(margin.mean), _interval(margin), f"{result.pairs:,}", f"{result.win_rate.mean:.1%}"]
    return [*names, *shown, *matches, *illegal]


def _points(value: float) -> str:
    """Points with their sign; what rounds to 0 is +0.000."""
    return f"{round(value, 3) + 0.0:+.3f}"


def _interval(value: Estimate) -> str:
    return f"[{_points(value.low)}, {_points(value.high)}]"


def _rating_rows(comparison: Comparison) -> list[list[str]]:
    """Best first; none for two players, whose margin says all."""
    if len(comparison.ratings) < 3:
        return []
    ranked = sorted(comparison.ratings.items(), key=lambda entry: -entry[1].mean)
    return [[comparison.labels[name], _points(value.mean), _interval(value)] for name, value in ranked]


# --- the terminal
def show(comparison: Comparison, console: Console) -> None:
    """Print the tables; a console that is no terminal gets lines as long as they need to be."""
    if not console.is_terminal:
        console.width = max(console.width, 160)
    rows = [_cells(comparison, result) for result in comparison.results]
    console.print(_table(title(comparison), _columns(comparison), rows, names=2))
    rated = _rating_rows(comparison)
    if rated:
        console.print(_table("Ratings", ["player", "rating", "95% interval"], rated, names=1))
    helps = (margin_help(comparison), MATCH_HELP if comparison.matches else "", RATING_HELP if rated else "")
    for text in (*helps, pace_help(comparison), *comparison.notes):
        if text:
            console.print(plain(text), style="yellow" if text in comparison.notes else "dim", highlight=False)


def _table(name: str, columns: Sequence[str], rows: Sequence[Sequence[str]], names: int) -> Table:
    """A table whose first columns are names, the others figures."""
    table = Table(title=plain(name), title_justify="left")
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place < names else "right", overflow="fold")
    for row in rows:
        table.add_row(*(plain(cell) for cell in row))
    return table


# --- files
def write(path: Path, text: str) -> None:
    """Write a file whole or not at all: beside its place first, then moved there."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def json_text(comparison: Comparison) -> str:
    return json.dumps(comparison.to_dict(), indent=2) + "\n"


STYLE = """
:root { color-scheme: light dark; --line: #8886; --mark: #2a6fb0; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--line); text-align: right; }
th.name, td.name { text-align: left; }
code, pre { font-family: ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
svg text { fill: currentColor; font: 13px system-ui, sans-serif; }
.note { border-left: 3px solid #d09000; padding-left: .7rem; }
"""


def html_text(comparison: Comparison, command: str) -> str:
    """A page of its own: figures, chart, command and every rule; it fetches nothing."""
    rows = [_cells(comparison, result) for result in comparison.results]
    rated = _rating_rows(comparison)
    rules = [[field, json.dumps(value)] for field, value in comparison.rules.to_dict().items()]
    parts = [
        f"<h1>{escape(title(comparison))}</h1>",
        _html_table(_columns(comparison), rows, 2),
        *(f'<p class="note">{escape(note)}</p>' for note in comparison.notes),
        _chart(comparison),
        f"<p>{escape(margin_help(comparison))}</p>",
        f"<p>{escape(MATCH_HELP)}</p>" if comparison.matches else "",
        f"<h2>Ratings</h2>{_html_table(['player', 'rating', '95% interval'], rated, 1)}" if rated else "",
        f"<p>{escape(RATING_HELP)}</p>" if rated else "",
        f"<p>{escape(pace_help(comparison))}</p>",
        f"<h2>Command</h2><pre>{escape(command)}</pre>",
        f"<h2>Rules</h2>{_html_table(['field', 'value'], rules, 2)}",
    ]
    head = f'<meta charset="utf-8"><title>{escape(title(comparison))}</title><style>{STYLE}</style>'
    body = "\n".join(part for part in parts if part)
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def _html_table(columns: Sequence[str], rows: Sequence[Sequence[str]], names: int) -> str:
    def line(tag: str, cells: Sequence[str]) -> str:
        shown = (
            f'<{tag} class="name">{escape(cell)}</{tag}>' if place < names else f"<{tag}>{escape(cell)}</{tag}>"
            for place, cell in enumerate(cells)
        )
        return f"<tr>{''.join(shown)}</tr>"

    return "\n".join(["<table>", line("th", columns), *(line("td", row) for row in rows), "</table>"])


def _chart(comparison: Comparison) -> str:
    """Each margin as a dot on its interval, over one scale that holds 0."""
    ends = [0.0] + [end for result in comparison.results for end in result.margin.ci]
    low, high = min(ends), max(ends)
    left, width, step = 20, 560, 44
    scale = width / ((high - low) or 1.0)

    def x(value: float) -> float:
        return round(left + (value - low) * scale, 1)

    height = step * len(comparison.results) + 30
    marks = [
        f'<line x1="{x(0)}" x2="{x(0)}" y1="0" y2="{height - 22}" stroke="var(--line)"/>',
        f'<text x="{x(0)}" y="{height - 6}" text-anchor="middle">0</text>',
    ]
    for place, result in enumerate(comparison.results):
        y, margin = place * step + 30, result.margin
        name = f"{comparison.labels[result.a]} over {comparison.labels[result.b]}: {margin.mean:+.2f}"
        marks += [
            f'<text x="{left}" y="{y - 10}">{escape(name)}</text>',
            f'<line x1="{x(margin.low)}" x2="{x(margin.high)}" y1="{y}" y2="{y}" stroke="var(--mark)" '
            'stroke-width="3"/>',
            f'<circle cx="{x(margin.mean)}" cy="{y}" r="5" fill="var(--mark)"/>',
        ]
    size = f'viewBox="0 0 {left * 2 + width} {height}" width="{left * 2 + width}" style="max-width: 100%"'
    return f'<svg role="img" aria-label="Margins with 95% intervals" {size}>{"".join(marks)}</svg>'
