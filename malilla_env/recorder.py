"""Recorder: keeps what games are given while they are played, so that each of them is a Record when it is over.

Enters: a batch of games at the start of their episodes; then every action, through the recorder. Leaves: Records.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from malilla_env.batch import EPISODES, GameBatch
from malilla_env.replay import Hand, Record, ended, score_between
from malilla_env.rules import RuleSet
from malilla_env.state import NONE


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
        self._scores = [_score_to_start_from(games.rules, row) for row in state]
        self._hands: list[list[Hand]] = [[] for _ in range(len(games))]

    def step(self, actions: ArrayLike) -> None:
        """`GameBatch.step`, kept."""
        before, given = self.games.state.copy(), np.asarray(actions)
        self.games.step(given)
        state = self.games.state
        over = state["hand_over"] | state["done"] | (state["attempt"] > before["attempt"])
        for lane in np.flatnonzero(over & ~before["done"]):
            end = ended(before[lane], state[lane])
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
        games, state = self.games, self.games.state
        records = []
        for lane in np.flatnonzero(state["done"]):
            episode, drawn = EPISODES[int(state["one_hand"][lane])], state["albur_cards"][lane].tolist()
            albur = () if NONE in drawn else tuple(drawn)
            records.append(Record(games.rules, episode, self._scores[lane], tuple(self._hands[lane]), albur))
        return records


def _score_to_start_from(rules: RuleSet, row: np.void) -> tuple[int, ...]:
    """The score without what the first turned-up card and the albur have paid."""
    score = list(score_between(rules, row))
    if row["albur_seat"] != NONE and not row["waiting_albur"]:
        score[rules.teams[row["albur_seat"]]] -= rules.albur
    return tuple(score)


def _hand_of(rules: RuleSet, row: np.void, more: tuple[tuple[int, int], ...], end: str) -> Hand:
    """The hand that lies in a row of STATE, and the plays that end it."""
    count = int(row["num_plays"])
    plays = zip(row["play_seats"][:count].tolist(), row["plays"][:count].tolist(), strict=True)
    return Hand(int(row["dealer"]), tuple(row["deck"][: rules.num_cards].tolist()), (*plays, *more), end)
