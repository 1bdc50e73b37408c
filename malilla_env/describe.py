"""The page docs/OBSERVATION.md, made from the layout.

Enters: rule sets. Leaves: Markdown, on standard output when run: `python -m malilla_env.describe`.
"""

from __future__ import annotations

from collections.abc import Iterator

from malilla_env.observation import BLOCKS, STATE_BLOCKS, VERSION, Block, Layout, layout, state_layout
from malilla_env.rules import PRESETS, RuleSet, ruleset
from malilla_env.state import PHASES

AXES = {
    "seat": "seats, relative: 0 the viewer, 1 the next to play",
    "other": "the other seats, relative: the next to play first",
    "team": "teams, relative: 0 the viewer's",
    "suit": "suits: spades, hearts, diamonds, clubs",
    "card": "card ids",
    "phase": ", ".join(PHASES[1:]),
}
# What a block's `when` asks of a rule set.
WHEN = {
    "talk": "`talk` (RULES 3.5)",
    "piles": "`piles` (3.8)",
    "others": "actions besides cards",
    "redeal": "`redeal` (1.6.2)",
    "albur": "`albur` (1.6.3)",
    "auction": '`trump="bid"` (3.6)',
    "face_down": "`dead_hand` (3.7) or `piles` (3.8)",
}


def describe(plan: Layout) -> str:
    """A Markdown table of a layout: what docs/OBSERVATION.md is made of."""
    rows = ["| slice | block | shape | a value says |", "|---|---|---|---|"]
    for block in plan.blocks:
        where, shape = plan.slices[block.name], plan.shapes[block.name]
        axes = " x ".join(f"{axis} {length}" for axis, length in zip(block.axes, shape, strict=True) if axis != "one")
        rows.append(f"| {where.start}:{where.stop} | `{block.name}` | {axes or 1} | {block.meaning} |")
    return "\n".join(rows)


def conditional(blocks: tuple[Block, ...]) -> Iterator[str]:
    """Rows of a Markdown table: the blocks that only some rule sets have, and where they stand."""
    for before, block in zip((None, *blocks), blocks, strict=False):
        if block.when:
            axes = " x ".join(axis for axis in block.axes if axis != "one")
            place = f"after `{before.name}`" if before else "first"
            yield f"| `{block.name}` | {WHEN[block.when]} | {axes or 1} | {place} | {block.meaning} |"


def widths() -> Iterator[str]:
    """Rows of a Markdown table: the presets and their two vectors."""
    for name, rules in PRESETS.items():
        seen, full = layout(rules), state_layout(rules)
        extra = " ".join(f"`{block.name}`" for block in seen.blocks if block.when)
        yield f"| `{name}` | {seen.width} | `{seen.hash}` | {full.width} | `{full.hash}` | {extra} |"


def page(rules: RuleSet) -> str:
    """docs/OBSERVATION.md, whole: `python -m malilla_env.describe > docs/OBSERVATION.md`."""
    seen, full = layout(rules), state_layout(rules)
    axes = "\n".join(f"- {name}: {meaning}" for name, meaning in AXES.items())
    seen_alone = [block for block in STATE_BLOCKS if block not in BLOCKS and block.when]
    extras = "\n".join([*conditional(BLOCKS), *conditional((STATE_BLOCKS[0], *seen_alone))])
    games = "\n".join(widths())
    return f"""# The observation

Made from `malilla_env/observation.py` by `python -m malilla_env.describe > docs/OBSERVATION.md`; a test fails when
it is stale. Layout version {VERSION}; the slices are those of `{rules.name}`, `layout(rules).slices` has those of any
rule set. All values are float32 within -1 and 1; a slice is its block in C order, the last axis fastest. The axes:

{axes}

Under a suit order (`GameBatch.observe(suit_order=...)`) the suit axis, and the suits of the card axis, stand in that
order. When a game is over nothing is to be done: `phase` is all zeros, and so is `trick_size` after a whole trick.

## What a player sees: {seen.width} values, hash `{seen.hash}`

{describe(seen)}

## The full state, for critics and referees: {full.width} values, hash `{full.hash}`

{describe(full)}

## Blocks of other rule sets

A rule set whose options ask for them has these blocks besides, each at its place among the others; in the full state
the same (but `face_down`, which no player sees). What is said of hands comes to `may_hold` too.

| block | of rule sets with | shape | stands | a value says |
|---|---|---|---|---|
{extras}

## The presets

| rule set | a player sees | hash | full state | hash | blocks besides |
|---|---|---|---|---|---|
{games}
"""


if __name__ == "__main__":
    print(page(ruleset()), end="")
