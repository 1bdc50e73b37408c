"""A hand solved, all cards seen: `python -m malilla_env.solver RECORD_OR_DEAL`.

Enters: a file of records; or one deal, as all of its cards in dealing order, or as SEED:ID of `deal()`. Leaves: text:
the hands, what both sides take with best play, a line of best play; of a played hand, what each card gave away.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from malilla_env.batch import GameBatch
from malilla_env.cards import SUIT_NAMES, parse_cards
from malilla_env.deals import check_deals, deal, deal_dtype
from malilla_env.play_through import Rows, closing, dealt, opening, played, tables, title
from malilla_env.record import Record, entries, load
from malilla_env.replay import Hand
from malilla_env.rules import RuleSet, override, ruleset
from malilla_env.solver import Solver
from malilla_env.state import CONSENT, NONE, PLAY, STATE
from malilla_env.words import player, scores

LEGEND = """\
-3 after a card: it gave away 3 points against best play with all hands seen.
(40 - 30) after a trick: what the sides have at the end if all play best from there."""


# --- best play
def solved(solver: Solver, row: np.void) -> Iterator[str]:
    """What both sides take from a row of STATE before the first lead, and how, trick by trick."""
    points = solver.points(np.array([row], STATE))[0]
    yield f"best play: {scores(points)}"
    yield from best_line(solver, row)


def best_line(solver: Solver, row: np.void) -> Iterator[str]:
    """A line for each trick."""
    rules, plays = solver.rules, tuple(solver.line(row))
    games, rows = GameBatch.from_state(rules, np.array([row], STATE)), []
    games.state["one_hand"] = True
    for _, card in plays:
        while not games.state["legal"][0, 0]:
            name = "refuse" if games.state["phase"][0] == CONSENT else "pass"
            games.step(np.array([rules.action_names.index(name)]))
        rows.append(games.state[0].copy())
        games.step(np.array([card]))
    rows.append(games.state[0].copy())
    yield from played(rules, Hand(int(row["dealer"]), (), plays), {"points": games.last_points[0]}, rows)


# --- what cards gave away
@dataclass(frozen=True)
class Costs:
    """Of a played hand: by ply, what its card gave away (None of what is no card, or illegal), and what was to come."""

    given: list[int | None]
    ahead: list[list[int] | None]  # the points that the sides have at the end with best play from before this ply

    def by_seat(self, hand: Hand, seats: int) -> list[int]:
        sums = [0] * seats
        for (seat, _), lost in zip(hand.plays, self.given, strict=True):
            sums[seat] += lost or 0
        return sums


def costs(solver: Solver, hand: Hand, rows: Rows) -> Costs:
    """What each card of a hand gave away; `rows` is the table before each ply of it."""
    plies = [ply for ply in range(len(hand.plays)) if rows[ply]["phase"] == PLAY]
    state = np.array([rows[ply] for ply in plies], STATE)
    values, points = solver.values(state), solver.points(state)
    given: list[int | None] = [None] * len(hand.plays)
    ahead: list[list[int] | None] = [None] * len(hand.plays)
    for ply, value, to_come in zip(plies, values, points, strict=True):
        card = hand.plays[ply][1]
        if card < len(value) and value[card] != NONE:
            given[ply] = int(value.max() - value[card])
        ahead[ply] = (rows[ply]["hand_points"][:2] + to_come).tolist()
    return Costs(given, ahead)


def judged(solver: Solver, hand: Hand, entry: dict[str, Any], rows: Rows) -> Iterator[str]:
    """The play of a hand, each card with what it gave away, each trick with what was to come; and the sums."""
    rules, found = solver.rules, costs(solver, hand, rows)
    notes = [f"{f'-{lost}' if lost else '':<4}" for lost in found.given]
    ends = [_to_come(found, ply) for ply in range(len(hand.plays))]
    yield "as played:"
    yield from played(rules, hand, entry, rows, notes, ends)
    lost = found.by_seat(hand, rules.num_seats)
    by_side = [sum(lost[seat] for seat in range(4) if rules.teams[seat] == side) for side in range(2)]
    each = ", ".join(f"{player(seat)} {points}" for seat, points in enumerate(lost))
    yield f"given away: {each}; by sides {scores(by_side)}"


def _to_come(found: Costs, ply: int) -> str:
    """After the ply that ended a trick: what the next leader's side and the other can expect."""
    later = next((points for points in found.ahead[ply + 1 :] if points is not None), None)
    return f"  ({scores(later)})" if later else ""


# --- records
def of_record(record: Record, number: int | None) -> Iterator[str]:
    """A text for the title, and one for each of the record's hands, or for those of one number (from 1)."""
    solver, (_, *hands, _) = Solver(record.rules, threads=1), entries(record)
    all_rows, _ = tables(record)
    yield title(record, all_rows[0][0])
    for hand, entry, rows in zip(record.hands, hands, all_rows, strict=True):
        if number is None or entry["hand"] + 1 == number:
            yield "\n".join(_hand(solver, hand, entry, rows))


def _hand(solver: Solver, hand: Hand, entry: dict[str, Any], rows: Rows) -> Iterator[str]:
    rules = solver.rules
    yield opening(rules, entry, rows[0])
    yield from dealt(rules, hand, rows[0])
    yield ""
    begun = next((row for row in rows[: len(hand.plays) + 1] if _is_settled(rules, row, rows[0])), None)
    if begun is None:
        yield "trump was never named: there is nothing to solve"
    else:
        yield from solved(solver, begun)
    if hand.plays:
        yield from judged(solver, hand, entry, rows)
    yield closing(rules, entry, rows)


def _is_settled(rules: RuleSet, row: np.void, first: np.void) -> bool:
    """Whether trump is known, in the same deal still."""
    same = row["hand_number"] == first["hand_number"] and row["attempt"] == first["attempt"]
    return bool(same and not row["done"] and (row["trump"] != NONE or rules.trump == "none"))


def check_number(records: list[Record], number: int | None) -> None:
    """ValueError unless there is such a hand."""
    most = max(entry["hand"] + 1 for record in records for entry in list(entries(record))[1:-1])
    if number is not None and not 1 <= number <= most:
        raise ValueError(f"--hand {number}: the hands are 1 to {most}")


# --- deals
def of_deal(rules: RuleSet, dealt_cards: NDArray[np.void], trump: str | None) -> str:
    """The text of one deal [1], as `deal` makes it."""
    solver, games = Solver(rules, threads=1), GameBatch(rules, 1, episode="hand")
    games.reset(deals=dealt_cards)
    row = games.state[0].copy()
    name_trump(games, trump)
    hand = Hand(int(dealt_cards["dealer"][0]), tuple(dealt_cards["cards"][0].tolist()), ())
    entry = {"hand": 0, "attempt": 0, "dealer": hand.dealer, "bonus": int(row["paid_bonus"]), "waits": False}
    record = Record(rules, "hand", (0, 0), (hand,))
    named = [f"trump {trump}"] if rules.auction else []
    lines = [title(record, row), "", opening(rules, entry, row), *dealt(rules, hand, row), *named, ""]
    return "\n".join([*lines, *solved(solver, games.state[0])])


def name_trump(games: GameBatch, trump: str | None) -> None:
    """3.6: an auction in which the first player bids and names trump; ValueError if it is not told, or out of place."""
    rules = games.rules
    if not rules.auction:
        if trump is not None:
            raise ValueError(f"--trump {trump}: in {rules.name} nobody names trump, it is {rules.trump}")
        return
    if trump is None:
        raise ValueError(f"in {rules.name} trump is named after the deal: say which, --trump {'|'.join(SUIT_NAMES)}")
    for name in (f"bid-{rules.neutral + 1}", "pass", "pass", "pass", f"trump-{trump}"):
        games.step(np.array([rules.action_names.index(name)]))


def deal_of(rules: RuleSet, text: str, dealer: int | None) -> NDArray[np.void]:
    """The deal [1] of a text: SEED:ID, or cards in dealing order. ValueError names what is wrong."""
    if re.fullmatch(r"\d+:\d+", text):
        seed, place = map(int, text.split(":"))
        if place >= 1 << 63:
            raise ValueError(f"deal id {place} must be less than 2**63")
        found = deal(rules, seed, [place])
    else:
        cards = parse_cards(rules, text)
        if len(cards) != rules.num_cards:
            raise ValueError(f"a deal of {rules.name} has {rules.num_cards} cards, and these are {len(cards)}")
        found = np.zeros(1, deal_dtype(rules))
        found["cards"] = cards
    if dealer is not None:
        found["dealer"] = dealer
    check_deals(rules, found)
    return found


# --- the command
class Parser(argparse.ArgumentParser):
    """One whose errors are told in one line, as all others."""

    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def parser() -> Parser:
    made = Parser("python -m malilla_env.solver", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    made.add_argument("what", nargs="+", metavar="RECORD_OR_DEAL", help="a file of records; SEED:ID; or all cards")
    made.add_argument("--ruleset", metavar="NAME", help="of a deal (default: malilla)")
    made.add_argument("--set", action="append", default=[], metavar="FIELD=VALUE", help="change a field of its rules")
    made.add_argument(
        "--dealer", type=int, choices=range(4), metavar="SEAT", help="of a deal (default: SEED:ID's, or 0)"
    )
    made.add_argument("--trump", choices=SUIT_NAMES, help="of a deal, where trump is named after an auction")
    made.add_argument("--hand", type=int, metavar="N", help="of a record, this hand alone (from 1)")
    return made


def texts(arguments: list[str]) -> Iterator[str]:
    """What is to be printed, part by part as it is solved. ValueError or OSError: what is asked for cannot be done."""
    given = parser().parse_args(arguments)
    text = " ".join(given.what)
    if re.fullmatch(r"\d+:\d+", text) or (" " in text and not Path(text).exists()):
        if given.hand is not None:
            raise ValueError(f"--hand {given.hand}: a deal is one hand")
        rules = ruleset(given.ruleset or "malilla", **dict(map(override, given.set)))
        Solver(rules)
        yield of_deal(rules, deal_of(rules, text, given.dealer), given.trump)
        return
    records = load(text)
    for option, value in (
        ("ruleset", given.ruleset),
        ("set", given.set),
        ("dealer", given.dealer),
        ("trump", given.trump),
    ):
        if value not in (None, []):
            raise ValueError(f"--{option} is for deals: a record tells its own")
    check_number(records, given.hand)
    for record in records:
        yield from of_record(record, given.hand)
    yield LEGEND


def main(arguments: list[str] | None = None) -> None:
    """Print what is solved; what is wrong is told in one line, with exit status 2."""
    try:
        between = ""
        for text in texts(sys.argv[1:] if arguments is None else arguments):
            print(f"{between}{text}", flush=True)
            between = "\n"
    except BrokenPipeError:  # whoever reads has seen enough
        sys.stderr.close()
        sys.exit(0)
    except (OSError, ValueError) as error:
        print(f"solver: {error}", file=sys.stderr)
        sys.exit(2)
