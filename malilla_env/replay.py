"""Records and their replay: what was put into an episode, and the game that comes of it, ply by ply.

Enters: a Record: rules, the score to start from, draws, deals, plays. Leaves: the game at every ply, or the first fault
in it. A Record claims nothing of what came out: that is always found by replaying. How it is written is in `record.py`,
how it is made in `recorder.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from malilla_env.batch import GameBatch
from malilla_env.deals import check_deals, deal_dtype
from malilla_env.rules import RuleSet
from malilla_env.state import BID, CONSENT, NONE

ENDS = ("played", "misdeal", "redeal", "passed", "illegal")
CALLED_OFF = {CONSENT: "redeal", BID: "passed"}  # by the phase that ended the hand


class RecordError(ValueError):
    """What is wrong with a record, and where: `line` and `ply` count from 1; `ply` is None where it is no play."""

    def __init__(self, reason: str, line: int, ply: int | None = None) -> None:
        super().__init__(f"line {line}" + ("" if ply is None else f", ply {ply}") + f": {reason}")
        self.reason, self.line, self.ply = reason, line, ply


@dataclass(frozen=True)
class Hand:
    """One deal and what was done with it."""

    dealer: int
    cards: tuple[int, ...]  # ids in dealing order
    plays: tuple[tuple[int, int], ...]  # (seat, action id); the illegal one included
    end: str = "played"  # one of ENDS


@dataclass(frozen=True)
class Record:
    """A whole episode: a hand, or all hands of a match, with the deals that were void."""

    rules: RuleSet
    episode: str
    match_score: tuple[int, ...]  # to start from, without the points of the albur
    hands: tuple[Hand, ...]
    albur: tuple[int, ...] = ()  # card ids drawn by the dealer's right and by the dealer; (): no draw


class Moment(NamedTuple):
    """The table before a play of `hand` (a place in `Record.hands`), or, when `over`, after its last.

    A misdeal is called at a moment of its own, though no play follows. `games` is live: copy it to keep it. When a hand
    of a match is over, its results stand in `last_points` and so on, and the cards on the table are of some next deal,
    not of the record's.
    """

    hand: int
    ply: int
    over: bool
    games: GameBatch


# --- replaying
def replay(record: Record, first_line: int = 1) -> Iterator[Moment]:
    """The game of a record, ply by ply. RecordError names the line and the play that the rules do not allow.

    Lines are those of `write`: a record's hands begin on its second. `first_line` is the record's own first.
    """
    games = _new_game(record, first_line)
    for place, hand in enumerate(record.hands):
        line = first_line + 1 + place
        if place:
            _deal_next(games, hand, line)
        yield from _play_hand(games, place, hand, line)
    if not games.done[0]:
        raise RecordError(f"the {record.episode} is not over yet", first_line + 1 + len(record.hands))


def _new_game(record: Record, line: int) -> GameBatch:
    """The game that begins with the record's first deal."""
    if not record.hands:
        raise RecordError("the record has no hand", line + 1)
    deals = _deals(record.rules, record.hands[0], line + 1)
    try:
        games = GameBatch(record.rules, 1, episode=record.episode)
        score, albur = np.array(record.match_score, np.int64), np.array(record.albur or (NONE, NONE), np.int64)
        games.reset(deals=deals, match_score=score, albur=albur)
    except (ValueError, OverflowError) as error:
        raise RecordError(str(error), line) from None
    return games


def _deal_next(games: GameBatch, hand: Hand, line: int) -> None:
    """The record's cards in place of those that the engine has dealt."""
    if games.done[0]:
        raise RecordError("there is another hand, but the match was over", line)
    deals = _deals(games.rules, hand, line)
    if hand.dealer != games.dealer[0]:
        raise RecordError(f"seat {hand.dealer} deals, but it was the turn of seat {games.dealer[0]}", line)
    games.replace_deal(deals)


def _deals(rules: RuleSet, hand: Hand, line: int) -> NDArray[np.void]:
    deals = np.zeros(1, deal_dtype(rules))
    try:
        deals["cards"], deals["dealer"] = hand.cards, hand.dealer
        check_deals(rules, deals)
    except (ValueError, OverflowError) as error:
        raise RecordError(str(error), line) from None
    return deals


def _play_hand(games: GameBatch, place: int, hand: Hand, line: int) -> Iterator[Moment]:
    end, count = "", len(hand.plays)
    for ply, (seat, action) in enumerate(hand.plays):
        fault = "the hand was over" if end else _fault(games, seat, action, hand.end == "illegal" and ply + 1 == count)
        if fault:
            raise RecordError(fault, line, ply + 1)
        yield Moment(place, ply, False, games)
        before = games.state.copy()
        try:
            games.step(np.array([action]))
        except ValueError as error:
            raise RecordError(str(error), line, ply + 1) from None
        end = ended(before[0], games.state[0])
    if hand.end == "misdeal" and not end:
        yield Moment(place, count, False, games)
        end = _call_misdeal(games, line, count + 1)
    if not end:
        raise RecordError(f"the hand breaks off: seat {games.seat[0]} is on turn", line, count + 1)
    if end != hand.end:
        raise RecordError(f"end is {hand.end!r}, but the replay gives {end!r}", line)
    yield Moment(place, count, True, games)


def _call_misdeal(games: GameBatch, line: int, ply: int) -> str:
    try:
        games.misdeal(np.array([True]))
    except ValueError as error:
        raise RecordError(str(error), line, ply) from None
    return "misdeal"


def _fault(games: GameBatch, seat: int, action: int, may_be_illegal: bool) -> str:
    """Why this play cannot stand here; empty if it can."""
    names = games.rules.action_names
    legal = np.flatnonzero(games.legal_actions()[0]).tolist()
    if seat != games.seat[0]:
        return f"seat {seat} plays, but seat {games.seat[0]} is on turn"
    if action not in range(len(names)):
        return f"there is no action {action}"
    if action not in legal and not may_be_illegal:
        return f"{names[action]} is illegal for seat {seat}; legal: {' '.join(names[other] for other in legal)}"
    return ""


def ended(before: np.void, after: np.void) -> str:
    """How a step from one row of STATE to another ended the hand; empty if it did not."""
    if after["reneged"] != NONE:
        return "illegal"
    over = after["hand_over"] or after["done"] or after["attempt"] > before["attempt"]
    return CALLED_OFF.get(int(before["phase"]), "played") if over else ""


def score_between(rules: RuleSet, row: np.void) -> tuple[int, ...]:
    """The score as the last hand left it, without what the next deal's turned-up card paid."""
    score = row["match_score"][: rules.num_teams].tolist()
    if not row["done"]:
        score[rules.teams[row["dealer"]]] -= int(row["paid_bonus"])
    return tuple(score)
