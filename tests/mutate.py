"""Breaks the rules in small ways, one at a time: the rule tests must notice each.

In: malilla_env/engine.py and MUTANTS, each a replacement of a piece of text that stands there exactly once. Each is
made in a copy of the package, and the rule tests are run there as plain Python (nothing to compile) until one fails.
Out: a table of the mutants and the test that caught each; exit status 1 if one survives, 2 if one cannot be made.

    python tests/mutate.py [--jobs 2] [--only TEXT] [--list]
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
ENGINE = "malilla_env/engine.py"
TESTS = [f"tests/rules/test_{name}.py" for name in ("malilla", "inference", "properties", "referee_agreement")]
INFERENCE = "cannot hold"  # the rule of mutants in what a play tells
TIMEOUT = 900  # seconds; a mutant that makes the tests run forever is caught too
COMMAND = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]


class Mutant(NamedTuple):
    """A small wrong change: the paragraph it breaks, what it does, and the text before and after."""

    rule: str
    what: str
    old: str
    new: str


MUTANTS = [
    # 1.1, 1.2: table, dealing, trump
    Mutant(
        "1.1.1",
        "play goes to the left",
        'return seat + 1 if seat + 1 < rules["num_seats"] else 0',
        'return seat - 1 if seat > 0 else rules["num_seats"] - 1',
    ),
    Mutant("1.1.4", "no point for the trick", 'row["trick_value"] + rules["trick_points"]', 'row["trick_value"]'),
    Mutant(
        "1.1.4",
        "the last card's points alone count",
        'row["trick_value"] += rules["points"][card]',
        'row["trick_value"] = rules["points"][card]',
    ),
    Mutant("1.2.1", "seat 0 always deals first", 'return cut(row["hand_key"], rules["num_seats"])', "return 0"),
    Mutant(
        "1.2.1",
        "the same dealer deals again",
        '    row["dealer"] = next_seat(row["dealer"], rules)\n    set_hand_key(row)',
        "    set_hand_key(row)",
    ),
    Mutant(
        "1.2.2",
        "the dealer is dealt to first",
        '        to = next_seat(to, rules)\n        row["hands"][to] = dealt(row, rules, place)',
        '        row["hands"][to] = dealt(row, rules, place)\n        to = next_seat(to, rules)',
    ),
    Mutant(
        "1.2.3", "the first card is turned up", 'card = row["deck"][rules["num_cards"] - 1]', 'card = row["deck"][0]'
    ),
    Mutant(
        "1.2.4",
        "a bonus that just reaches the target is paid",
        'row["match_score"][team] + bonus >= rules["target"]',
        'row["match_score"][team] + bonus > rules["target"]',
    ),
    Mutant(
        "1.2.4",
        "a bonus never waits",
        'if row["match_score"][team] + bonus >= rules["target"]:',
        "if False:",
    ),
    Mutant(
        "1.2.4",
        "the bonus counts the trick's point",
        'rules["points"][card] if rules["dealer_bonus"] else 0',
        'rules["points"][card] + 1 if rules["dealer_bonus"] else 0',
    ),
    Mutant(
        "1.2.4",
        "the bonus is paid even when off",
        'rules["points"][card] if rules["dealer_bonus"] else 0',
        'rules["points"][card]',
    ),
    Mutant(
        "1.2.4",
        "the bonus goes to the leader's side",
        'team = rules["team"][row["dealer"]]\n    row["paid_bonus"]',
        'team = rules["team"][next_seat(row["dealer"], rules)]\n    row["paid_bonus"]',
    ),
    Mutant("1.2.5", "a misdeal leaves the bonus", '-= row["paid_bonus"]', "-= 0"),
    Mutant(
        "1.2.5",
        "a misdeal takes the bonus from the other side",
        'row["match_score"][rules["team"][row["dealer"]]] -= row["paid_bonus"]',
        'row["match_score"][rules["team"][next_seat(row["dealer"], rules)]] -= row["paid_bonus"]',
    ),
    Mutant(
        "1.2.5",
        "after a misdeal the deal passes two seats",
        '    row["hand_over"] = False\n    deal_next(row, rules)',
        '    row["hand_over"] = False\n    row["dealer"] = next_seat(row["dealer"], rules)\n    deal_next(row, rules)',
    ),
    Mutant("1.2.5", "a misdeal counts as a hand", 'row["attempt"] += 1', 'row["hand_number"] += 1'),
    # 1.3: playing to a trick
    Mutant(
        "1.3.1",
        "the dealer leads",
        'lead(row, rules, next_seat(row["dealer"], rules))',
        'lead(row, rules, row["dealer"])',
    ),
    Mutant("1.3.1", "the leader leads again", "lead(row, rules, winner)", 'lead(row, rules, row["leader"])'),
    Mutant(
        "1.3.2",
        "no following while partner wins",
        "return follow if follow != ZERO else void",
        "return follow if follow != ZERO and must_contest(row, rules, seat) != ZERO else void",
    ),
    Mutant(
        "1.3.3",
        "no beating",
        "if orders != ZERO:",
        "if orders != ZERO and follow == ZERO:",
    ),
    Mutant(
        "1.3.3",
        "partner must be beaten too",
        "orders = may & ordered(row, rules, seat)",
        'orders = may & (row["beating"] if follow != ZERO else ordered(row, rules, seat))',
    ),
    Mutant(
        "1.3.3",
        "no beating when trump was led",
        "if orders != ZERO:",
        'if orders != ZERO and (follow == ZERO or row["led_suit"] != row["trump"]):',
    ),
    Mutant(
        "1.3.4",
        "a ruffed trick asks to beat the highest of the led suit",
        "orders = may & ordered(row, rules, seat)",
        "orders = may & (ordered(row, rules, seat) | "
        '(rules["tops"] & follow if row["led_suit"] != row["trump"] and trumped(row, rules, seat) else ZERO))',
    ),
    Mutant(
        "1.3.4",
        "a ruffed trick may be overruffed by a revoke",
        "may = follow if follow != ZERO else hand",
        'may = follow if follow != ZERO and rules["suit"][row["best_card"]] == row["led_suit"] else hand',
    ),
    Mutant(
        "1.3.5",
        "no duty to trump a plain trick",
        "if orders != ZERO:",
        "if orders != ZERO and (follow != ZERO or trumped(row, rules, seat)):",
    ),
    Mutant(
        "1.3.5",
        "no duty to overtrump",
        "orders = may & ordered(row, rules, seat)",
        "orders = may & (ordered(row, rules, seat) | "
        '(rules["suit_mask"][row["trump"]] if follow == ZERO and trumped(row, rules, seat) else ZERO))',
    ),
    Mutant(
        "1.3.5",
        "partner must be trumped too",
        "orders = may & ordered(row, rules, seat)",
        'orders = may & (row["beating"] if follow == ZERO else ordered(row, rules, seat))',
    ),
    Mutant(
        "1.3.6",
        "optional means forbidden",
        'void = discards(row, hand) if rules["undertrump"] == OPTIONAL else',
        "void = discards(row, hand) if False else",
    ),
    Mutant(
        "1.3.6",
        "optional means forced",
        'if rules["undertrump"] == OPTIONAL else cannot_overtrump(row, rules, hand, seat)\n',
        'if rules["undertrump"] == OPTIONAL else cannot_overtrump(row, rules, hand, seat)\n'
        '    if rules["undertrump"] == OPTIONAL and trumped(row, rules, seat):\n'
        '        void = hand & rules["suit_mask"][row["trump"]] or void\n',
    ),
    Mutant(
        "1.3.6",
        "forced means optional",
        'if rules["undertrump"] == FORCED:\n        return trumps',
        'if rules["undertrump"] == FORCED:\n        return discards(row, hand)',
    ),
    Mutant(
        "1.3.6", "forbidden means optional", 'free = hand & ~trumps & ~row["locked"]', 'free = hand & ~row["locked"]'
    ),
    Mutant(
        "1.3.6",
        "a forbidden low trump and the sevens alike, when nothing else is left",
        "return free if free != ZERO else trumps",
        "return free if free != ZERO else hand",
    ),
    Mutant(
        "1.3.8",
        "sevens come before a forbidden low trump",
        'free = hand & ~trumps & ~row["locked"]',
        "free = hand & ~trumps",
    ),
    Mutant(
        "1.3.7",
        "climbing over partner is not known",
        'return rules["contests"][seat, np.uint8(row["best_seat"])]',
        'return rules["deck_mask"] if rules["team"][row["best_seat"]] != rules["team"][seat] else ZERO',
    ),
    Mutant(
        "1.3.7",
        "the leader's side counts, not the winner's",
        'return rules["contests"][seat, np.uint8(row["best_seat"])]',
        'return rules["contests"][seat, np.uint8(row["leader"])]',
    ),
    Mutant("1.3.8", "no seven is protected", 'locked if rules["protected"] != PROTECTED_OFF else ZERO', "ZERO"),
    Mutant(
        "1.3.8",
        "sevens are protected even when off",
        'locked if rules["protected"] != PROTECTED_OFF else ZERO',
        "locked",
    ),
    Mutant(
        "1.3.8",
        "led and played change places",
        'if leads or rules["protected"] == PROTECTED_PLAYED:',
        'if leads or rules["protected"] != PROTECTED_PLAYED:',
    ),
    Mutant(
        "1.3.8",
        "the trump seven is protected",
        'locked = rules["tops"] & ~rules["suit_mask"][row["trump"]]',
        'locked = rules["tops"]',
    ),
    Mutant(
        "1.3.8",
        "nothing is legal from a hand of sevens",
        "return free if free != ZERO else hand",
        "return free",
    ),
    Mutant(
        "1.3.8",
        "sevens are free while partner wins",
        "return follow if follow != ZERO else void",
        "return follow if follow != ZERO else void if must_contest(row, rules, seat) != ZERO else hand",
    ),
    Mutant(
        "1.3.9",
        "a trump does not win a plain trick",
        "wins = bit(card) & now != ZERO",
        'wins = bit(card) & now & (rules["above"][best_card] if row["trick_size"] > 0 else now) != ZERO',
    ),
    Mutant(
        "1.3.9",
        "any card of another suit wins",
        "wins = bit(card) & now != ZERO",
        'wins = bit(card) & now != ZERO or rules["suit"][card] != rules["suit"][best_card]',
    ),
    Mutant(
        "1.3.9",
        "the lower card wins",
        "wins = bit(card) & now != ZERO",
        'wins = (bit(card) & now != ZERO) != (now != rules["deck_mask"] and rules["suit"][card] == row["led_suit"])',
    ),
    Mutant("1.3.10", "only the last lead is remembered", 'row["suits_led"] |= mark', 'row["suits_led"] = mark'),
    Mutant(
        "1.3.10",
        "only the last play's suit is remembered",
        'row["suits_played"] |= mark',
        'row["suits_played"] = mark',
    ),
    # 1.4: illegal play
    Mutant("1.4.1", "an illegal play is accepted", "return word & ONE != ZERO", "return True"),
    Mutant("1.4.1", "the offender's side wins", "if team != offender and", "if team == offender and"),
    Mutant("1.4.1", "the leader is blamed", 'row["reneged"] = row["seat"]', 'row["reneged"] = row["leader"]'),
    Mutant(
        "1.4.1",
        "of several others the lowest wins",
        'row["match_score"][team] > row["match_score"][winner]',
        'row["match_score"][team] < row["match_score"][winner]',
    ),
    # 1.5: scoring
    Mutant(
        "1.5.1",
        "the points of the trick go to the leader's side",
        'team = rules["team"][winner]\n    row["hand_points"]',
        'team = rules["team"][row["leader"]]\n    row["hand_points"]',
    ),
    Mutant(
        "1.5.2", "level scores a point", 'row["hand_points"][team] - rules["neutral"]', 'row["hand_points"][team] - 34'
    ),
    Mutant(
        "1.5.2",
        "the loser pays",
        'max(0, row["hand_points"][team] - rules["neutral"])',
        'row["hand_points"][team] - rules["neutral"]',
    ),
    Mutant("1.5.3", "the target must be passed", 'np.int64(rules["target"]) - 1', 'np.int64(rules["target"])'),
    Mutant(
        "1.5.4",
        "a waiting bonus is added even when a side has won",
        'if winner == NONE and row["waiting_bonus"] > 0:',
        'if row["waiting_bonus"] > 0:',
    ),
    Mutant("1.5.4", "a waiting bonus is forgotten", 'if winner == NONE and row["waiting_bonus"] > 0:', "if False:"),
    Mutant(
        "1.5.4",
        "a waiting bonus goes to the other side",
        'add_score(row, rules["team"][row["dealer"]], row["waiting_bonus"])',
        'add_score(row, 1 - rules["team"][row["dealer"]], row["waiting_bonus"])',
    ),
    Mutant("1.5.5", "no capote", 'rules["capote_wins"] and row["tricks_won"][team] == rules["hand_size"]', "False"),
    Mutant("1.5.5", "capote even when off", 'if rules["capote_wins"] and row', "if row"),
    Mutant(
        "1.5.5",
        "nine tricks make a capote",
        'row["tricks_won"][team] == rules["hand_size"]',
        'row["tricks_won"][team] >= rules["hand_size"] - 1',
    ),
    Mutant(
        "1.5.5",
        "a capote wins only when not behind",
        'row["tricks_won"][team] == rules["hand_size"]',
        'row["tricks_won"][team] == rules["hand_size"] and row["match_score"][team] >= row["match_score"][1 - team]',
    ),
    Mutant(
        "1.5.6",
        "a capote below the target is a zapato",
        'return row["match_score"][winner] >= rules["target"]',
        "return True",
    ),
    Mutant(
        "1.5.6",
        "a zapato against 1 point",
        'if team != winner and row["match_score"][team] != 0:',
        'if team != winner and row["match_score"][team] > 1:',
    ),
    Mutant(
        "1.5",
        "the hand's change of score leaves the bonus out",
        'row["last_score_change"][rules["team"][row["dealer"]]] = row["paid_bonus"]',
        'row["last_score_change"][rules["team"][row["dealer"]]] = 0',
    ),
    # what a play tells
    Mutant(INFERENCE, "the turned-up card tells nothing", 'row["excluded"][seat] = bit(card)', "pass"),
    Mutant(
        INFERENCE,
        "the dealer's last card tells nothing",
        'row["excluded"][seat] |= rules["deck_mask"] & ~hand',
        "pass",
    ),
    Mutant(INFERENCE, "an empty hand tells nothing", 'row["excluded"][seat] = rules["deck_mask"]', "pass"),
    Mutant(INFERENCE, "not following tells nothing", "else missed | led | under", "else missed | under"),
    Mutant(
        INFERENCE,
        "not beating tells nothing",
        "return missed & led if",
        "return ZERO if",
    ),
    Mutant(
        INFERENCE,
        "not beating partner tells the same",
        "orders = ordered(row, rules, seat)\n",
        'orders = row["beating"] if played & led != ZERO else ordered(row, rules, seat)\n',
    ),
    Mutant(
        INFERENCE,
        "following under a ruff tells of trumps",
        "return missed & led if",
        "return missed if",
    ),
    Mutant(
        INFERENCE,
        "not trumping tells nothing",
        "else missed | led | under",
        "else (missed if trumped(row, rules, seat) else ZERO) | led | under",
    ),
    Mutant(
        INFERENCE,
        "discarding on partner tells of trumps",
        "orders = ordered(row, rules, seat)\n",
        'orders = row["beating"] if played & led == ZERO else ordered(row, rules, seat)\n',
    ),
    Mutant(
        INFERENCE,
        "not overtrumping tells nothing",
        "else missed | led | under",
        "else led if trumped(row, rules, seat) else missed | led | under",
    ),
    Mutant(
        INFERENCE,
        "not undertrumping tells too little (forced)",
        "not under:\n        return trumps",
        "not under:\n        return ZERO",
    ),
    Mutant(
        INFERENCE,
        "undertrumping tells too little (forbidden)",
        'return rules["deck_mask"] & ~trumps & ~row["locked"]',
        "return ZERO",
    ),
    Mutant(
        INFERENCE,
        "undertrumping tells too much (forbidden)",
        'return rules["deck_mask"] & ~trumps & ~row["locked"]',
        'return rules["deck_mask"] & ~trumps',
    ),
    Mutant(
        INFERENCE,
        "a forced seven tells no more than a discard",
        'return rules["deck_mask"] & ~row["locked"]\n',
        "return led\n",
    ),
]


def workspace(mutant: Mutant | None, place: Path) -> None:
    """A copy of what the rule tests need, with the mutant made in it; ValueError if its text is not there just once."""
    for folder in ("malilla_env", "tests/rules"):
        shutil.copytree(ROOT / folder, place / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (place / "docs").mkdir()
    for file in ("tests/conftest.py", "tests/referee.py", "docs/RULES.md", "pyproject.toml"):
        shutil.copy(ROOT / file, place / file)
    if mutant is None:
        return
    text = (place / ENGINE).read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise ValueError(f"{mutant.what}: stands {text.count(mutant.old)} times in {ENGINE}, not once: {mutant.old!r}")
    (place / ENGINE).write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")


def verdict(mutant: Mutant | None) -> tuple[str, str]:
    """ "caught" and the test that did it, "survived", or "broken" and why."""
    settings = {"NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    # first the tests that are likeliest to notice
    tests = sorted(TESTS, key=lambda name: ("inference" in name) != (mutant is not None and mutant.rule == INFERENCE))
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | settings
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        try:
            workspace(mutant, Path(folder))
            # the copy comes before the installed package: `python -m` puts the working directory first
            command = [*COMMAND, *tests]
            run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT)
        except ValueError as error:
            return "broken", str(error)
        except subprocess.TimeoutExpired:
            return "caught", f"(the tests did not end in {TIMEOUT} s)"
    if run.returncode == 0:
        return "survived", ""
    failed = re.search(r"^FAILED \S*?(test_\w+\.py)::(.+?)(?: - |$)", run.stdout, flags=re.MULTILINE)
    if run.returncode == 1 and failed:
        return "caught", f"{failed[1]}::{failed[2]}"
    return "broken", (run.stdout + run.stderr)[-1500:]


def main() -> int:
    parser = argparse.ArgumentParser(description="Break the rules in small ways; the tests must notice each.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants tested at a time")
    parser.add_argument(
        "--only",
        default="",
        help="only mutants that say this (the engine as it is not tested first)",
    )
    parser.add_argument("--list", action="store_true", help="list the mutants and stop")
    options = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if options.only in f"{mutant.rule} {mutant.what}"]
    console = Console(width=160)
    if options.list:
        for mutant in chosen:
            console.print(f"{mutant.rule:12} {mutant.what}", highlight=False)
        return 0
    base, detail = verdict(None) if not options.only else ("survived", "")
    if base != "survived":
        console.print(f"the rule tests fail without any mutant: {detail}", markup=False)
        return 2
    with ThreadPoolExecutor(options.jobs) as pool:
        verdicts = []
        for mutant, found in zip(chosen, pool.map(verdict, chosen), strict=True):
            verdicts.append(found)
            line = f"{len(verdicts):3}/{len(chosen)} {mutant.rule:12} {mutant.what}: {' by '.join(filter(None, found))}"
            console.print(line, highlight=False, markup=False)
    return summary(console, chosen, verdicts)


def summary(console: Console, chosen: list[Mutant], verdicts: list[tuple[str, str]]) -> int:
    """Print the table; the exit status."""
    table = Table("rule", "the wrong change", "verdict", "caught by")
    for mutant, (word, detail) in zip(chosen, verdicts, strict=True):
        table.add_row(mutant.rule, mutant.what, word, detail.replace("[", r"\["))
    console.print(table)
    words = [word for word, _ in verdicts]
    console.print(f"{len(words)} mutants: {words.count('caught')} caught, {words.count('survived')} survived")
    return 2 if "broken" in words else int("survived" in words)


if __name__ == "__main__":
    sys.exit(main())
