"""A record as a person would follow it at the table: `python -m malilla_env.play_through games.jsonl`.

Enters: a Record, or files of records. Leaves: text, every hand open: the deal, what was asked, bid and said, a line for
each trick with the winning card starred and the points after it, and the score.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from malilla_env.cards import cards_in, display
from malilla_env.record import entries, load
from malilla_env.replay import Hand, Record, replay
from malilla_env.rules import RuleSet
from malilla_env.state import NONE
from malilla_env.words import (
    albur_words,
    done_words,
    ending,
    hand_words,
    in_order,
    player,
    scores,
    side,
    suit_word,
)

CALLED_OFF = {
    "misdeal": ("a misdeal", "the next player deals"),
    "redeal": ("a new deal is agreed to", "the same player deals again"),
    "passed": ("all have passed", "the next player deals"),
}
Rows = list[np.void]  # STATE before each ply of a hand, and after the last


def play_through(record: Record) -> str:
    """The text, with a line feed at its end. RecordError if the record cannot have been played so."""
    rules = record.rules
    _, *hands, result = entries(record)
    all_rows, last = tables(record)
    parts = [title(record, all_rows[0][0])]
    for hand, entry, rows in zip(record.hands, hands, all_rows, strict=True):
        lines = [opening(rules, entry, rows[0]), *dealt(rules, hand, rows[0])]
        if hand.plays:
            lines += ["", *played(rules, hand, entry, rows)]
        parts.append("\n".join([*lines, closing(rules, entry, rows)]))
    return "\n\n".join([*parts, f"{last}: {scores(result['score'])}"]) + "\n"


def tables(record: Record) -> tuple[list[Rows], str]:
    """The rows of each hand, and how the episode ended."""
    rows: list[Rows] = [[] for _ in record.hands]
    for moment in replay(record):
        rows[moment.hand].append(moment.games.state[0].copy())
    return rows, ending(moment.games)


def title(record: Record, row: np.void) -> str:
    rules = record.rules
    sides = " against ".join(side(rules, team) for team in range(rules.num_teams))
    target = f", first to {rules.target}" if record.episode == "match" else ""
    start = f", from {scores(record.match_score)}" if any(record.match_score) else ""
    lines = [f"{rules.name}, a {record.episode}{target}{start}: {sides}"]
    if record.albur:
        waits = ", which wait," if row["waiting_albur"] else ""
        lines.append(albur_words(rules, int(row["albur_seat"]), list(record.albur), waits))
    return "\n".join(lines)


# --- a deal
def opening(rules: RuleSet, entry: dict[str, Any], row: np.void) -> str:
    again = f", attempt {entry['attempt'] + 1}" if entry["attempt"] else ""
    text = f"hand {entry['hand'] + 1}{again}: {player(entry['dealer'])} deals"
    if row["turned_card"] == NONE:
        return text
    bonus = f"; dealer bonus {entry['bonus']} {'waits' if entry['waits'] else 'paid'}" if entry["bonus"] else ""
    return f"{text} and turns up {display(rules, row['turned_card'])}, trump {suit_word(rules, row['trump'])}{bonus}"


def dealt(rules: RuleSet, hand: Hand, row: np.void) -> Iterator[str]:
    """A line for each hand: of piles, each open card and the one under it."""
    under = _piles(rules, hand)
    for seat in range(rules.num_seats):
        held = int(row["hands"][seat])
        piles = [f"{display(rules, card)} on {display(rules, under[card])}" for card in in_order(rules, held) if under]
        yield f"    {player(seat)}   {', '.join(piles) or hand_words(rules, held)}"
    if rules.dead_hand:
        yield f"    dead hand  {hand_words(rules, row['face_down'])}"


def _piles(rules: RuleSet, hand: Hand) -> dict[int, int]:
    """The card under each open one: a player's earlier cards lie under the later ones, in their order."""
    under: dict[int, int] = {}
    for to in range(rules.num_seats if rules.piles else 0):
        cards = [card for card, whose in zip(hand.cards, rules.dealing, strict=True) if whose == to]
        under.update(zip(cards[rules.piles :], cards[: rules.piles], strict=True))
    return under


# --- the play
def played(
    rules: RuleSet, hand: Hand, entry: dict[str, Any], rows: Rows, notes: Sequence[str] = (), ends: Sequence[str] = ()
) -> Iterator[str]:
    """A line for each trick, and one for what was said before it.

    Of `entry` only the points after the last play are read. `notes` follow the card of each ply, `ends` the points of
    the trick that each ply ended.
    """
    start, number = 0, 0
    for ply, (_, action) in enumerate(hand.plays):
        last = ply + 1 == len(hand.plays)
        illegal = last and hand.end == "illegal"
        card = action < 4 * rules.ranks
        if card and rows[ply]["trick_size"] == 0 and start < ply:
            yield f"        {done_words(rules, list(hand.plays[start:ply]))}"
            start = ply
        if card and (last or rows[ply]["trick_size"] + 1 == rules.num_seats):
            number += 1
            points = entry["points"] if last else rows[ply + 1]["hand_points"][: rules.num_teams]
            after = "illegal" if illegal else scores(points) + _turned_up(rules, rows[ply], rows[ply + 1])
            cards = _trick(rules, hand.plays[start : ply + 1], rows[ply], illegal, notes[start:])
            yield f"    {number:>2}  {cards}  {after}{ends[ply] if ends else ''}"
            start = ply + 1
        elif last:
            yield f"        {done_words(rules, list(hand.plays[start:]))}" + (", illegal" if illegal else "")


def _trick(
    rules: RuleSet, plays: tuple[tuple[int, int], ...], row: np.void, illegal: bool, notes: Sequence[str]
) -> str:
    """The cards of a trick in their order; `row` is the table before its last card."""
    seat, card = plays[-1]
    winner = seat if int(row["beating"]) >> card & 1 else row["best_seat"]
    width = max(len(display(rules, card)) for card in rules.deck) + 1
    words = []
    for place, (seat, card) in enumerate(plays):
        star = "*" if seat == winner and not illegal else ""
        note = notes[place] if notes else ""
        words.append(f"{player(seat)} {display(rules, card) + star:<{width}}{note}")
    return "   ".join(words)


def _turned_up(rules: RuleSet, before: np.void, after: np.void) -> str:
    """The cards of piles that are turned up after a trick: those that leave the cards face down."""
    if not rules.piles or before["hand_number"] != after["hand_number"]:
        return ""
    cards = cards_in(int(before["face_down"]) & ~int(after["face_down"]))
    owners = {card: seat for card in cards for seat in range(rules.num_seats) if int(after["hands"][seat]) >> card & 1}
    words = ", ".join(f"{player(seat)} {display(rules, card)}" for card, seat in owners.items())
    return f"   turned up: {words}" if words else ""


def closing(rules: RuleSet, entry: dict[str, Any], rows: Rows) -> str:
    """How the hand ended; `rows[-2]` is the table before its last action."""
    score = f"score {scores(entry['score'])}"
    if entry["end"] in CALLED_OFF:
        how, then = CALLED_OFF[entry["end"]]
        return f"{how}; {score}" if rows[-1]["done"] else f"{how}, {then}; {score}"
    if entry["end"] == "illegal":
        return f"illegal play by {player(int(entry['plays'][-1].split(':')[0]))}; {score}"
    counted = f"points {scores(entry['points'])}, tricks {scores(entry['tricks'])}; {score}"
    if not rows[-2]["bid"]:
        return counted
    bid, bidder = int(rows[-2]["bid"]), int(rows[-2]["bidder"])
    made = "made" if entry["points"][rules.teams[bidder]] >= bid else "failed"
    return f"{player(bidder)}'s bid of {bid} {made}: {counted}"


if __name__ == "__main__":
    try:
        print("\n".join(play_through(record) for path in sys.argv[1:] for record in load(path)), end="")
    except (OSError, ValueError) as error:
        sys.exit(f"play_through: {error}")
