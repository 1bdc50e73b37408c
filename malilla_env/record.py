"""Records as text: played hands and matches, one JSON object a line; written, read, and every claim replayed.

Enters: Records, or text. Leaves: text, or Records. What was put in (rules, deals, draws, plays) makes the Record; what
came out (bonus, points, score, winner) is replayed, never trusted. So `read` checks all that a text claims, and
`write(read(text)) == text` for every text that it takes.

    {"format": "malilla-record 2", "episode": "match", "rules": {...every field...}, "match_score": [0, 0],
     "albur": null}
    {"hand": 0, "attempt": 0, "dealer": 3, "deal": "7s 4d ...", "bonus": 3, "waits": false, "plays": ["0:5h", ...],
     "end": "played", "points": [43, 27], "tricks": [6, 4], "score": [8, 3]}
    ...
    {"winner": 0, "score": [36, 20], "zapato": false, "capote": false, "reneged": null}

A text is one or more records, one after the other. "match_score" is the score to start from, by side as all such lists,
before the points of the albur; "albur" the two cards drawn before the first hand, the dealer's right's first, like
"Ks 4d" (RULES 1.6.3), or null. "deal" is the dealing order, the dealer's right first, dead and covered cards included
(1.2.2, 3.7, 3.8). "bonus" is the dealer's; "waits" says that it was not paid at once (1.2.4). A play is the seat and
the action's name: a card, or what was asked, bid or said. "end" is how the hand ended:

- "played": all tricks were;
- "misdeal", "redeal", "passed": the deal is void, by a misdeal called before the first card (1.2.5), a new deal agreed
  to (1.6.2), or an auction in which all passed (3.6); the next line is the next attempt at the hand, or the result if
  that was the end;
- "illegal": the last play was, and the match is over (1.4).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from malilla_env.batch import EPISODES, GameBatch
from malilla_env.replay import ENDS, Hand, Moment, Record, RecordError, replay, score_between
from malilla_env.rules import RuleSet
from malilla_env.state import NONE

__all__ = ["Hand", "Moment", "Record", "RecordError", "entries", "load", "read", "replay", "save", "write"]

FORMAT = "malilla-record 2"
OLDER = ("malilla-record 1",)
LONGEST_LINE = 1 << 16  # characters; the longest hand needs a fiftieth of it
LARGEST_FILE = 1 << 28  # bytes
HEADER = ("format", "episode", "rules", "match_score", "albur")
HAND = ("hand", "attempt", "dealer", "deal", "bonus", "waits", "plays", "end", "points", "tricks", "score")
RESULT = ("winner", "score", "zapato", "capote", "reneged")


# --- writing
def write(records: Iterable[Record]) -> str:
    """The text of records, a line feed after each line; RecordError if one cannot have been played so."""
    lines: list[str] = []
    for record in records:
        lines += (json.dumps(entry) for entry in entries(record, len(lines) + 1))
    return "".join(line + "\n" for line in lines)


def entries(record: Record, first_line: int = 1) -> Iterator[dict[str, Any]]:
    """The objects of a record's lines, as the replay comes to them: the header, each hand, the result."""
    for moment in replay(record, first_line):
        if moment.ply == 0 and not moment.over:
            if moment.hand == 0:
                yield _header(record)
            entry = _dealt(record, moment)
        elif moment.over:
            yield {**entry, **_outcome(record.hands[moment.hand], moment.games)}
    yield _result(moment.games)


def _header(record: Record) -> dict[str, Any]:
    albur = " ".join(record.rules.action_names[card] for card in record.albur) or None
    values = (FORMAT, record.episode, record.rules.to_dict(), list(record.match_score), albur)
    return dict(zip(HEADER, values, strict=True))


def _dealt(record: Record, moment: Moment) -> dict[str, Any]:
    """A hand's entry as far as it is known when it is dealt."""
    state, hand, names = moment.games.state[0], record.hands[moment.hand], record.rules.action_names
    bonus, waits = int(state["paid_bonus"] + state["waiting_bonus"]), bool(state["waiting_bonus"])
    deal = " ".join(names[card] for card in hand.cards)
    known = (int(state["hand_number"]), int(state["attempt"]), hand.dealer, deal, bonus, waits)
    return dict(zip(HAND, known, strict=False))


def _outcome(hand: Hand, games: GameBatch) -> dict[str, Any]:
    """The rest of a hand's entry."""
    names, counted = games.rules.action_names, hand.end == "played"
    plays = [f"{seat}:{names[action]}" for seat, action in hand.plays]
    points = (games.last_points if counted else games.hand_points)[0].tolist()
    tricks = (games.last_tricks if counted else games.tricks_won)[0].tolist()
    score = list(score_between(games.rules, games.state[0]))
    return dict(zip(HAND[6:], (plays, hand.end, points, tricks, score), strict=True))


def _result(games: GameBatch) -> dict[str, Any]:
    state = games.state[0]
    winner, reneged = (None if state[name] == NONE else int(state[name]) for name in ("winner", "reneged"))
    flags = (bool(state["zapato"]), bool(state["capote"]))
    return dict(zip(RESULT, (winner, games.match_score[0].tolist(), *flags, reneged), strict=True))


def save(path: str | os.PathLike[str], records: Iterable[Record]) -> None:
    """Write records to a file, whole or not at all."""
    text, target = write(records), Path(path)
    part = target.with_name(f".{target.name}.part")
    part.write_text(text, encoding="utf-8", newline="\n")
    os.replace(part, target)


# --- reading
def load(path: str | os.PathLike[str]) -> list[Record]:
    """The records of a file, all checked. RecordError as of `read`; ValueError if the file is too large to be one."""
    size = os.path.getsize(path)
    if size > LARGEST_FILE:
        raise ValueError(f"{path} has {size:,} bytes; a file of records has {LARGEST_FILE:,} at most: split it")
    data = Path(path).read_bytes()
    try:
        return read(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RecordError("this is no UTF-8 text", line) from None


def read(text: str) -> list[Record]:
    """The records of a text, replayed and compared with it, claim by claim. RecordError says what does not hold."""
    lines = text.split("\n")
    if lines.pop():
        raise RecordError("the text breaks off: no line feed ends this line", len(lines) + 1)
    if not lines:
        raise RecordError("the text is empty: a record begins with a header", 1)
    records, start = [], 0
    while start < len(lines):
        record, said = _parse(lines, start)
        for place, found in enumerate(entries(record, start + 1)):
            _compare(said[place], found, lines[start + place], start + place + 1)
        records.append(record)
        start += len(said)
    return records


def _parse(lines: list[str], start: int) -> tuple[Record, list[dict[str, Any]]]:
    """The record that begins at a line, and the objects of its lines."""
    said = [_object(lines[start], start + 1)]
    rules = _rules(said[0], start + 1)
    scores = _integers(said[0]["match_score"], rules.num_teams, "match_score", start + 1)
    albur = () if said[0]["albur"] is None else _cards(rules, said[0]["albur"], 2, "albur", start + 1)
    hands: list[Hand] = []
    for number in range(start + 2, len(lines) + 1):
        said.append(_object(lines[number - 1], number))
        if "winner" in said[-1]:
            _fields(said[-1], RESULT, "a result", number)
            return Record(rules, said[0]["episode"], scores, tuple(hands), albur), said
        hands.append(_hand(rules, said[-1], number))
    raise RecordError("the record breaks off: its result is missing", len(lines) + 1)


def _object(text: str, line: int) -> dict[str, Any]:
    """The JSON object of a line."""
    if len(text) > LONGEST_LINE:
        raise RecordError(f"{len(text):,} characters; a line of a record has {LONGEST_LINE:,} at most", line)
    try:
        value = json.loads(text, object_pairs_hook=_no_key_twice, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise RecordError(f"not JSON: {error.msg} at column {error.colno}", line) from None
    except (ValueError, RecursionError) as error:
        raise RecordError(f"not JSON that a record may hold: {error}", line) from None
    if not isinstance(value, dict):
        raise RecordError(f"a line must be an object, not {_short(value)}", line)
    return value


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} stands twice")
    return made


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _fields(said: dict[str, Any], names: tuple[str, ...], what: str, line: int) -> None:
    odd = sorted(set(said).symmetric_difference(names))
    if odd:
        raise RecordError(f"{what} has exactly the fields {', '.join(names)}; missing or unknown: {odd}", line)


def _rules(said: dict[str, Any], line: int) -> RuleSet:
    """The rule set of a header."""
    if said.get("format") in OLDER:
        raise RecordError(
            f"{said['format']!r} is older than {FORMAT!r}, which alone is read: record the games anew", line
        )
    _fields(said, HEADER, "a header", line)
    if said["format"] != FORMAT:
        raise RecordError(f"format is {_short(said['format'])}, and only {FORMAT!r} can be read", line)
    if said["episode"] not in EPISODES:
        raise RecordError(f"episode is {_short(said['episode'])}; it must be one of {', '.join(EPISODES)}", line)
    try:
        return RuleSet.from_dict(said["rules"])
    except ValueError as error:
        raise RecordError(f"rules: {error}", line) from None


def _hand(rules: RuleSet, said: dict[str, Any], line: int) -> Hand:
    _fields(said, HAND, "a hand", line)
    (dealer,) = _integers([said["dealer"]], 1, "dealer", line)
    if said["end"] not in ENDS:
        raise RecordError(f"end is {_short(said['end'])}; it must be one of {', '.join(ENDS)}", line)
    if not isinstance(said["plays"], list):
        raise RecordError(f"plays must be a list, not {_short(said['plays'])}", line)
    cards = _cards(rules, said["deal"], rules.num_cards, "deal", line)
    ids = {name: action for action, name in enumerate(rules.action_names)}
    plays = tuple(_play(rules, ids, text, line, ply + 1) for ply, text in enumerate(said["plays"]))
    return Hand(dealer, cards, plays, said["end"])


def _cards(rules: RuleSet, text: Any, count: int, what: str, line: int) -> tuple[int, ...]:
    """The ids of so many cards of the pack, written with one blank between them."""
    ids = {rules.action_names[card]: card for card in rules.deck}
    cards = tuple(ids.get(name, NONE) for name in text.split(" ")) if isinstance(text, str) else ()
    if len(cards) != count or NONE in cards:
        raise RecordError(f"{what} must be {count} cards of {rules.name}, like '7s Ah', not {_short(text)}", line)
    return cards


def _play(rules: RuleSet, ids: dict[str, int], text: Any, line: int, ply: int) -> tuple[int, int]:
    """Seat and action of a play's text."""
    seat, _, name = text.partition(":") if isinstance(text, str) else ("", "", "")
    if seat not in map(str, range(rules.num_seats)) or name not in ids:
        raise RecordError(f"{_short(text)} is no play: write a seat and an action's name, like 0:7s", line, ply)
    return int(seat), ids[name]


def _integers(value: Any, count: int, what: str, line: int) -> tuple[int, ...]:
    """A list of so many integers, none so large that it could not be meant."""
    if not isinstance(value, list) or len(value) != count or any(type(item) is not int for item in value):
        raise RecordError(f"{what} must be {count} integers, not {_short(value)}", line)
    if any(abs(item) > 10_000 for item in value):
        raise RecordError(f"{what} is {_short(value)}: beyond 10,000", line)
    return tuple(value)


def _compare(said: dict[str, Any], found: dict[str, Any], text: str, line: int) -> None:
    """What a line claims against what the replay gives; then how it is written."""
    for name, value in found.items():
        if said[name] != value:
            raise RecordError(f"{name} is {_short(said[name])}, but the replay gives {_short(value)}", line)
    if text != json.dumps(found):
        raise RecordError(f"right, but not written as `write` does: {_short(json.dumps(found))}", line)


def _short(value: Any) -> str:
    """A value for a message."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
