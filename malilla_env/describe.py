"""The page docs/OBSERVATION.md, made from the layout.

Enters: a rule set. Leaves: Markdown, on standard output when run: `python -m malilla_env.describe`.
"""

from __future__ import annotations

from malilla_env.observation import VERSION, Layout, layout, state_layout
from malilla_env.rules import RuleSet, ruleset

AXES = {
    "seat": "seats, relative: 0 the viewer, 1 the next to play",
    "other": "the other seats, relative: the next to play first",
    "team": "teams, relative: 0 the viewer's",
    "suit": "suits: spades, hearts, diamonds, clubs",
    "card": "card ids",
}


def describe(plan: Layout) -> str:
    """A Markdown table of a layout: what docs/OBSERVATION.md is made of."""
    rows = ["| slice | block | shape | a value says |", "|---|---|---|---|"]
    for block in plan.blocks:
        where, shape = plan.slices[block.name], plan.shapes[block.name]
        axes = " x ".join(f"{axis} {length}" for axis, length in zip(block.axes, shape, strict=True) if axis != "one")
        rows.append(f"| {where.start}:{where.stop} | `{block.name}` | {axes or 1} | {block.meaning} |")
    return "\n".join(rows)


def page(rules: RuleSet) -> str:
    """docs/OBSERVATION.md, whole: `python -m malilla_env.describe > docs/OBSERVATION.md`."""
    seen, full = layout(rules), state_layout(rules)
    axes = "\n".join(f"- {name}: {meaning}" for name, meaning in AXES.items())
    return f"""# The observation

Made from `malilla_env/observation.py` by `python -m malilla_env.describe > docs/OBSERVATION.md`; a test fails when
it is stale. Layout version {VERSION}; the slices are those of `{rules.name}`, `layout(rules).slices` has those of any
rule set. All values are float32 within -1 and 1; a slice is its block in C order, the last axis fastest. The axes:

{axes}

Under a suit order (`GameBatch.observe(suit_order=...)`) the suit axis, and the suits of the card axis, stand in that
order.

## What a player sees: {seen.width} values, hash `{seen.hash}`

{describe(seen)}

## The full state, for critics and referees: {full.width} values, hash `{full.hash}`

{describe(full)}
"""


if __name__ == "__main__":
    print(page(ruleset()), end="")
