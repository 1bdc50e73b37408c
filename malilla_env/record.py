"""Records: played hands and matches as text, one JSON object a line; written, read, and replayed with every check.

Enters: games as they are played, or text. Leaves: Records, text, or the games again, ply by ply. A Record holds what
was put in (rules, deals, plays); what came out (bonus, points, score, winner) is always replayed, never trusted. So
`read` checks all that a text claims, and `write(read(text)) == text` for every text that it takes.

    {"format": "malilla-record 1", "episode": "match", "rules": {...every field...}, "match_score": [0, 0]}
    {"hand": 0, "attempt": 0, "dealer": 3, "deal": "7s 4d ...", "bonus": 3, "waits": false, "plays": ["0:5h", ...],
     "end": "played", "points": [43, 27], "tricks": [6, 4], "score": [8, 3]}
    ...
    {"winner": 0, "score": [36, 20], "zapato": false, "capote": false, "reneged": null}

A text is one or more records, one after the other. "match_score" is the score to start from. "deal" is the dealing
order, the dealer's right first (RULES 1.2.2). "bonus" is the dealer's; "waits" says that it was not paid at once
(1.2.4). A play is the seat and the action's name. "end" is "played", "misdeal" (1.2.5: nothing was played, and the next
line is the next attempt) or "illegal" (1.4: the last play was, and the match is over). Lists of two are by side.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from malilla_env.batch import EPISODES, GameBatch
from malilla_env.deals import deal_dtype
from malilla_env.rules import RuleSet
from malilla_env.state import NONE

FORMAT = "malilla-record 1"
LONGEST_LINE = 1 << 16  # characters; the longest hand needs a fiftieth of it
LARGEST_FILE = 1 << 28  # bytes
ENDS = ("played", "misdeal", "illegal")
HEADER = ("format", "episode", "rules", "match_score")
HAND = ("hand", "attempt", "dealer", "deal", "bonus", "waits", "plays", "end", "points", "tricks", "score")
RESULT = ("winner", "score", "zapato", "capote", "reneged")


class RecordError(ValueError):
    """What is wrong with a record, and where: `line` and `ply` count from 1; `ply` is None where it is no play."""

    def __init__(self, reason: str, line: int, ply: int | None = None) -> None:
        super().__init__(f"line {line}" + ("" if ply is None else f", ply {ply}") + f": {reason}")
        self.reason, self.line, self.ply = reason, line, ply


@dataclass(frozen=True)
class Hand:
    """One deal and its play."""

    dealer: int
    cards: tuple[int, ...]  # ids in dealing order
    plays: tuple[tuple[int, int], ...]  # (seat, action id); the illegal one included
    end: str = "played"  # played | misdeal | illegal


@dataclass(frozen=True)
class Record:
    """A whole episode: a hand, or all hands of a match."""

    rules: RuleSet
    episode: str
    match_score: tuple[int, ...]  # to start from
    hands: tuple[Hand, ...]


class Moment(NamedTuple):
    """The table before a play of `hand` (a place in `Record.hands`), or, when `over`, after its last.

    `games` is live: copy it to keep it. When a hand of a match is over, its results stand in `last_points` and so on,
    and the cards on the table are of some next hand, not of the record's.
    """

    hand: int
    ply: int
    over: bool
    games: GameBatch


# --- replaying
def replay(record: Record, first_line: int = 1) -> Iterator[Moment]:
    """The games of a record, ply by ply. RecordError names the line and the play that the rules do not allow.

    Lines are those of `write`: a record's hands begin on its second. `first_line` is the record's own first.
    """
    games = _new_games(record, first_line)
    score, hand_number, attempt = record.match_score, 0, 0
    for place, hand in enumerate(record.hands):
        line = first_line + 1 + place
        if place and games.done[0]:
            raise RecordError("there is another hand, but the match was over", line)
        if place and hand.dealer != games.dealer[0]:
            raise RecordError(f"seat {hand.dealer} deals, but it was the turn of seat {games.dealer[0]}", line)
        _deal(games, hand, score, line)
        games.state["hand_number"], games.state["attempt"] = hand_number, attempt
        yield from _play_hand(games, place, hand, line)
        score = _settled(games)
        hand_number, attempt = (hand_number, attempt + 1) if hand.end == "misdeal" else (hand_number + 1, 0)
    if not games.done[0]:
        raise RecordError(f"the {record.episode} is not over yet", first_line + 1 + len(record.hands))


def _new_games(record: Record, line: int) -> GameBatch:
    if not record.hands:
        raise RecordError("the record has no hand", line + 1)
    try:
        return GameBatch(record.rules, 1, episode=record.episode)
    except ValueError as error:
        raise RecordError(str(error), line) from None


def _deal(games: GameBatch, hand: Hand, score: tuple[int, ...], line: int) -> None:
    deals = np.zeros(1, deal_dtype(games.rules))
    try:
        deals["cards"], deals["dealer"] = hand.cards, hand.dealer
        games.reset(deals=deals, match_score=np.array(score, np.int64))
    except (ValueError, OverflowError) as error:
        raise RecordError(str(error), line) from None


def _play_hand(games: GameBatch, place: int, hand: Hand, line: int) -> Iterator[Moment]:
    for ply, (seat, action) in enumerate(hand.plays):
        fault = _fault(games, hand, ply, seat, action)
        if fault:
            raise RecordError(fault, line, ply + 1)
        yield Moment(place, ply, False, games)
        try:
            games.step(np.array([action]))
        except ValueError as error:
            raise RecordError(str(error), line, ply + 1) from None
    if hand.end == "misdeal":
        yield Moment(place, 0, False, games)
        games.misdeal(np.array([True]))
    elif not (games.hand_over[0] or games.done[0]):
        raise RecordError(f"the hand breaks off: seat {games.seat[0]} is on turn", line, len(hand.plays) + 1)
    elif hand.end == "illegal" and games.reneged[0] == NONE:
        raise RecordError("the last play is no illegal one, as the end says", line, len(hand.plays))
    yield Moment(place, len(hand.plays), True, games)


def _fault(games: GameBatch, hand: Hand, ply: int, seat: int, action: int) -> str:
    """Why this play cannot stand here; empty if it can. An illegal play can be the last where the end says so."""
    names = games.rules.action_names
    legal = np.flatnonzero(games.legal_actions()[0]).tolist()
    if hand.end == "misdeal":
        return "a misdeal is called before the first lead, but here is a play"
    if games.hand_over[0]:
        return "the hand was over"
    if seat != games.seat[0]:
        return f"seat {seat} plays, but seat {games.seat[0]} is on turn"
    if action not in range(len(names)):
        return f"there is no action {action}"
    if action not in legal and not (hand.end == "illegal" and ply + 1 == len(hand.plays)):
        return f"{names[action]} is illegal for seat {seat}; legal: {' '.join(names[card] for card in legal)}"
    return ""


def _settled(games: GameBatch) -> tuple[int, ...]:
    """The score as the last hand left it, without what the next deal's turned-up card paid."""
    score = games.match_score[0].tolist()
    if not games.done[0]:
        score[games.rules.teams[games.dealer[0]]] -= int(games.paid_bonus[0])
    return tuple(score)


# --- writing
def write(records: Iterable[Record]) -> str:
    """The text of records, a line feed after each line; RecordError if one cannot have been played so."""
    lines: list[str] = []
    for record in records:
        lines += (json.dumps(entry) for entry in entries(record, len(lines) + 1))
    return "".join(line + "\n" for line in lines)


def entries(record: Record, first_line: int = 1) -> Iterator[dict[str, Any]]:
    """The objects of a record's lines, as the replay comes to them: the header, each hand, the result."""
    rules, episode = record.rules.to_dict(), record.episode
    yield dict(zip(HEADER, (FORMAT, episode, rules, list(record.match_score)), strict=True))
    for moment in replay(record, first_line):
        if moment.ply == 0 and not moment.over:
            entry = _input(record, moment)
        elif moment.over:
            yield {**entry, **_outcome(record.hands[moment.hand].end, moment.games)}
    yield _result(moment.games)


def _input(record: Record, moment: Moment) -> dict[str, Any]:
    """A hand's entry as far as it is known when it is dealt."""
    state, hand, names = moment.games.state[0], record.hands[moment.hand], record.rules.action_names
    bonus, waits = int(state["paid_bonus"] + state["waiting_bonus"]), bool(state["waiting_bonus"])
    deal = " ".join(names[card] for card in hand.cards)
    plays = [f"{seat}:{names[action]}" for seat, action in hand.plays]
    known = (int(state["hand_number"]), int(state["attempt"]), hand.dealer, deal, bonus, waits, plays)
    return dict(zip(HAND, known, strict=False))


def _outcome(end: str, games: GameBatch) -> dict[str, Any]:
    """The rest of a hand's entry."""
    counted = end == "played"
    points = (games.last_points if counted else games.hand_points)[0].tolist()
    tricks = (games.last_tricks if counted else games.tricks_won)[0].tolist()
    return dict(zip(HAND[7:], (end, points, tricks, list(_settled(games))), strict=True))


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
    hands: list[Hand] = []
    for number in range(start + 2, len(lines) + 1):
        said.append(_object(lines[number - 1], number))
        if "winner" in said[-1]:
            _fields(said[-1], RESULT, "a result", number)
            return Record(rules, said[0]["episode"], scores, tuple(hands)), said
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
    if not isinstance(said["deal"], str):
        raise RecordError(f"deal must be the cards in dealing order, not {_short(said['deal'])}", line)
    if not isinstance(said["plays"], list):
        raise RecordError(f"plays must be a list, not {_short(said['plays'])}", line)
    ids = {name: action for action, name in enumerate(rules.action_names)}
    cards = [ids.get(name, NONE) for name in said["deal"].split(" ")]
    if min(cards) == NONE or len(cards) != rules.num_cards:
        raise RecordError(f"deal must be the {rules.num_cards} cards of {rules.name}, not {_short(said['deal'])}", line)
    plays = tuple(_play(rules, ids, text, line, ply + 1) for ply, text in enumerate(said["plays"]))
    return Hand(dealer, tuple(cards), plays, said["end"])


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


# --- recording
class Recorder:
    """Follows games from the start of their episodes: step them through it, and it keeps what they were given.

    ValueError if an episode is under way already.
    """

    def __init__(self, games: GameBatch) -> None:
        state = games.state
        begun = np.flatnonzero((state["num_plays"] > 0) | (state["hand_number"] > 0) | (state["attempt"] > 0))
        if len(begun):
            raise ValueError(f"lane {begun[0]}: the episode is under way; a recorder must see it from the start")
        self.games = games
        self._scores = [
            _settled(GameBatch.from_state(games.rules, state[lane : lane + 1])) for lane in range(len(games))
        ]
        self._hands: list[list[Hand]] = [[] for _ in range(len(games))]

    def step(self, actions: ArrayLike) -> None:
        """`GameBatch.step`, kept."""
        before, given = self.games.state.copy(), np.asarray(actions)
        self.games.step(given)
        state = self.games.state
        for lane in np.flatnonzero((state["hand_over"] | state["done"]) & ~before["done"]):
            end = "played" if state["reneged"][lane] == NONE else "illegal"
            last = (int(before["seat"][lane]), int(given[lane]))
            self._hands[lane].append(_hand_of(self.games.rules, before[lane], (last,), end))

    def misdeal(self, where: ArrayLike) -> None:
        """`GameBatch.misdeal`, kept."""
        before = self.games.state.copy()
        self.games.misdeal(where)
        for lane in np.flatnonzero(where):
            self._hands[lane].append(_hand_of(self.games.rules, before[lane], (), "misdeal"))

    def records(self) -> list[Record]:
        """The records of the games that are over, in the order of their lanes."""
        games = self.games
        return [
            Record(games.rules, EPISODES[int(games.state["one_hand"][lane])], self._scores[lane], tuple(hands))
            for lane, hands in enumerate(self._hands)
            if games.state["done"][lane]
        ]


def _hand_of(rules: RuleSet, row: np.void, more: tuple[tuple[int, int], ...], end: str) -> Hand:
    """The hand that lies in a row of STATE, and the plays that end it."""
    count = int(row["num_plays"])
    plays = zip(row["play_seats"][:count].tolist(), row["plays"][:count].tolist(), strict=True)
    return Hand(int(row["dealer"]), tuple(row["deck"][: rules.num_cards].tolist()), (*plays, *more), end)
