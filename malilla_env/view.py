"""View: what one seat may know of a game, and nothing else; the only door to a player.

Enters: a row of STATE and a seat. Leaves: a row of VIEW. Everything public is in it with perfect recall (the whole play
of the hand in order), and the seat's own hand. Refuses to know: other hands, the dealing order, seeds and keys.
Seats are absolute; the observation makes them relative.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from malilla_env.compiled import Array, Int, Row, inline, jit, popcount
from malilla_env.rules import RuleSet
from malilla_env.state import NONE, ONE, ZERO
from malilla_env.table import MAX_PLAYS, MAX_SEATS

VIEW = np.dtype(
    [
        ("hand", "u8"),  # the viewer's own
        ("legal", "u8", 2),  # cards; other actions: all zeros off turn
        ("played_by", "u8", MAX_SEATS),  # cards that each seat has played in this hand
        ("cannot_hold", "u8", MAX_SEATS),  # public: cards that each seat certainly does not hold, played ones included
        ("shown", "u8", MAX_SEATS),  # public: cards that each seat surely holds: turned up, said (3.5), face up (3.8)
        ("covering", "u8"),  # cards in hands that lie on a card face down (3.8)
        ("trick_cards", "u8"),  # cards lying in the current trick
        ("seat", "i1"),  # the viewer, -1 in the view of a game that is over when no seat was asked for
        ("turn", "i1"),  # the seat to act, -1 when over
        ("phase", "i1"),
        ("dealer", "i1"),
        ("leader", "i1"),
        ("trump", "i1"),  # -1 until it is named, and where there is none
        ("turned_card", "i1"),  # -1 where none is
        ("trick_size", "i1"),
        ("led_suit", "i1"),  # -1 before a lead
        ("best_card", "i1"),  # that wins the trick so far, -1 before a lead
        ("best_seat", "i1"),
        ("suits_led", "u1"),  # bit per suit
        ("suits_played", "u1"),
        ("waiting_bonus", "i1"),
        ("num_plays", "i1"),
        ("waiting_albur", "i1"),
        ("albur_seat", "i1"),  # who won the draw before the match (1.6.3), -1 for none
        ("albur_cards", "i1", 2),  # drawn by the dealer's right, by the dealer
        ("asked", "u1"),  # bit per seat that asked for a new deal (1.6.2)
        ("bidder", "i1"),
        ("bid", "i2"),  # the highest so far, 0 for none (3.6)
        ("counted", "u1", MAX_SEATS),  # bit per suit of which a seat has said how many it holds (3.5)
        ("counts", "i1", (MAX_SEATS, 4)),  # how many it holds now, where counted
        ("hand_sizes", "i1", MAX_SEATS),
        ("hand_points", "i2", MAX_SEATS),  # these three by team
        ("tricks_won", "i2", MAX_SEATS),
        ("match_score", "i2", MAX_SEATS),
        ("hand_number", "i4"),
        ("plays", "u1", MAX_PLAYS),  # action ids in order, 255 beyond num_plays
        ("play_seats", "i1", MAX_PLAYS),  # who made each, -1 beyond
    ],
    align=True,
)


@jit
def fill_view(row: Row, rules: Row, seat: Int, view: Row) -> None:
    """Write what `seat` may know of `row` into `view`: every field, but those of talk where there is none."""
    fill_position(row, rules, seat, view)
    for play in range(MAX_PLAYS):
        view["plays"][play] = row["plays"][play]
        view["play_seats"][play] = row["play_seats"][play]


@inline
def fill_position(row: Row, rules: Row, seat: Int, view: Row) -> None:
    """All but the history, the list of plays: the encoder reads no more."""
    view["seat"], view["turn"] = seat, row["seat"]
    view["hand"] = row["hands"][seat] if seat != NONE else ZERO
    on_turn = seat != NONE and seat == row["seat"]
    for word in range(2):
        view["legal"][word] = row["legal"][word] if on_turn else ZERO
    copy_table(row, view)
    copy_cards(row, rules, view)
    copy_words(row, rules, view)
    for place in range(MAX_SEATS):
        view["hand_sizes"][place] = popcount(row["hands"][place])
        view["hand_points"][place] = row["hand_points"][place]
        view["tricks_won"][place] = row["tricks_won"][place]
        view["match_score"][place] = row["match_score"][place]


@inline
def copy_table(row: Row, view: Row) -> None:
    """What lies open on the table."""
    view["phase"] = row["phase"]
    view["dealer"], view["leader"] = row["dealer"], row["leader"]
    view["trump"], view["turned_card"] = row["trump"], row["turned_card"]
    view["trick_size"], view["led_suit"] = row["trick_size"], row["led_suit"]
    view["best_card"], view["best_seat"] = row["best_card"], row["best_seat"]
    view["suits_led"], view["suits_played"] = row["suits_led"], row["suits_played"]
    view["waiting_bonus"], view["num_plays"] = row["waiting_bonus"], row["num_plays"]
    view["hand_number"] = row["hand_number"]


@inline
def copy_cards(row: Row, rules: Row, view: Row) -> None:
    """The cards that have been played, and what follows from the play for each seat's cards."""
    gone, shown = ZERO, row["shown"]
    for seat in range(MAX_SEATS):
        view["played_by"][seat] = row["played_by"][seat]
        gone |= row["played_by"][seat]
    for seat in range(MAX_SEATS):
        view["cannot_hold"][seat] = gone | row["excluded"][seat]
        view["shown"][seat] = shown & row["hands"][seat]
    if rules["piles"] > 0:  # 3.8: hands lie open
        for seat in range(rules["num_seats"]):
            view["cannot_hold"][seat] = rules["deck_mask"] & ~row["hands"][seat]
    view["trick_cards"], view["covering"] = row["trick_cards"], row["covering"]


@inline
def copy_words(row: Row, rules: Row, view: Row) -> None:
    """What was drawn, asked, bid and said."""
    view["waiting_albur"], view["albur_seat"] = row["waiting_albur"], row["albur_seat"]
    view["asked"], view["bid"], view["bidder"] = row["asked"], row["bid"], row["bidder"]
    for place in range(2):
        view["albur_cards"][place] = row["albur_cards"][place]
    if rules["talk"]:  # else all zeros, as a View begins
        for seat in range(MAX_SEATS):
            view["counted"][seat] = row["counted"][seat]
            for suit in range(4):
                view["counts"][seat, suit] = row["counts"][seat, suit]


@jit
def _write_legal(rows: Array, ranks: Int, mask: Array) -> None:
    for lane in range(len(rows)):
        word = rows[lane]["legal"][0]
        for action in range(4 * ranks):
            mask[lane, action] = word & ONE
            word >>= ONE
        word = rows[lane]["legal"][1]
        for action in range(4 * ranks, mask.shape[1]):
            mask[lane, action] = word & ONE
            word >>= ONE


def legal_mask(rules: RuleSet, rows: NDArray[np.void]) -> NDArray[np.bool_]:
    """bool [B, A]: the legal actions that Views (or states) hold, in action-id order."""
    mask = np.empty((len(rows), rules.num_actions), np.bool_)
    _write_legal(rows, rules.ranks, mask)
    return mask
