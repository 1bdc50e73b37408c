"""Full deals and what side 0 takes with best play, all hands open, as tests/golden/solved.json keeps them.

In: nothing, or the file. Out: the deals as a batch before the first lead, the kept values. Run as a program it solves
all of them again and writes the file: `python tests/solved_deals.py` (some minutes).
"""

from __future__ import annotations

import json
from pathlib import Path

from malilla_env import GameBatch, RuleSet, deal, ruleset
from malilla_env.solver import Solver

FILE = Path(__file__).parent / "golden" / "solved.json"
SEED = 100
COUNTS = {"malilla": 2000, "manille": 500, "manilla-48": 100, "malilla-nueve": 100}


def dealt(rules: RuleSet, ids: range) -> GameBatch:
    """Deals of the seed, each before its first lead."""
    games = GameBatch(rules, len(ids), episode="hand")
    games.reset(deals=deal(rules, SEED, ids))
    return games


def kept() -> dict[str, list[int]]:
    """The points of side 0 in each deal, by rule set."""
    return json.loads(FILE.read_text())


def main() -> None:
    lines = []
    for name, count in COUNTS.items():
        rules = ruleset(name)
        points = Solver(rules).points(dealt(rules, range(count)).state)
        lines.append(f'"{name}": {json.dumps(points[:, 0].tolist())}')
        print(f"{name}: {count} deals", flush=True)
    FILE.write_text("{" + ",\n".join(lines) + "}\n")


if __name__ == "__main__":
    main()
