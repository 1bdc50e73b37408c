"""STATE: one game as a row of a structured array, the referee's full knowledge; and the check of such an array.

Enters: rows from outside (a copy, a file, another process). Leaves: the dtype, its constants, the same rows if they can
be games of a rule set. What a seat may know of a row is in `view.py`; what changes it is in `engine.py`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from malilla_env.compiled import Int, Word, inline
from malilla_env.rules import MAX_CARDS, MAX_PLAYS, MAX_SEATS, RuleSet

NONE = -1
NO_CARD = 255  # padding of the card lists

OVER, PLAY, ASK, CONSENT, BID, NAME, TALK = 0, 1, 2, 3, 4, 5, 6  # phases: 1.3; 1.6.2; 3.6; 3.5
PHASES = ("over", "play", "ask", "consent", "bid", "name", "talk")

ZERO, ONE = np.uint64(0), np.uint64(1)

STATE = np.dtype(
    [
        # what a decision touches
        ("hands", "u8", MAX_SEATS),
        ("legal", "u8", 2),  # of the seat to act: cards; other actions
        ("excluded", "u8", MAX_SEATS),  # cards that a seat cannot hold, from its own plays and the turned-up card
        ("played_by", "u8", MAX_SEATS),
        ("trick_cards", "u8"),
        ("beating", "u8"),  # the cards that would win the current trick as it lies; any card, before a lead
        ("locked", "u8"),  # the malillas that may not be discarded yet (1.3.8)
        ("phase", "i1"),
        ("seat", "i1"),
        ("leader", "i1"),
        ("dealer", "i1"),
        ("trump", "i1"),  # NONE until it is named, and where there is none
        ("turned_card", "i1"),
        ("trick_size", "u1"),
        ("best_card", "i1"),  # that wins the current trick so far
        ("best_seat", "i1"),
        ("led_suit", "i1"),
        ("num_plays", "u1"),
        ("suits_led", "u1"),  # bit per suit (1.3.10)
        ("suits_played", "u1"),
        ("waiting_bonus", "i1"),
        ("paid_bonus", "i1"),
        ("done", "?"),
        ("hand_over", "?"),
        ("zapato", "?"),
        ("capote", "?"),
        ("winner", "i1"),
        ("reneged", "i1"),
        ("one_hand", "?"),  # the episode is a hand, not a match
        ("trick_value", "i2"),  # card points lying in the current trick
        ("hand_points", "i2", MAX_SEATS),  # these six by team
        ("tricks_won", "i2", MAX_SEATS),
        ("match_score", "i2", MAX_SEATS),
        ("last_points", "i2", MAX_SEATS),
        ("last_tricks", "i2", MAX_SEATS),
        ("last_score_change", "i2", MAX_SEATS),
        ("plays", "u1", MAX_PLAYS),  # action ids in order
        ("play_seats", "i1", MAX_PLAYS),
        # what was said, and what lies where besides the hands
        ("shown", "u8"),  # cards of which everybody knew who held them: turned up, said, face up; the played ones too
        ("covering", "u8"),  # cards in hands that lie on a card face down (3.8)
        ("face_down", "u8"),  # cards in no hand: those of piles (3.8), the dead ones (3.7)
        ("counts", "i1", (MAX_SEATS, 4)),  # how many cards of a suit a seat holds, where it is counted
        ("counted", "u1", MAX_SEATS),  # bit per suit of which a seat has said how many it holds (3.5)
        ("asked", "u1"),  # bit per seat that asked for a new deal (1.6.2)
        ("bid", "i2"),  # the highest so far, 0 for none (3.6)
        ("bidder", "i1"),
        ("waiting_albur", "i1"),
        ("albur_cards", "i1", 2),  # drawn by the dealer's right, by the dealer (1.6.3)
        ("albur_seat", "i1"),  # who drew the higher
        # where the deals come from
        ("deck", "u1", MAX_CARDS),  # dealing order of this hand
        ("hand_number", "i4"),
        ("attempt", "i4"),  # deals of this hand that were void
        ("episode", "i8"),
        ("stream", "i8"),
        ("stream_key", "u8"),
        ("hand_key", "u8"),
    ],
    align=True,
)


@inline
def bit(card: Int) -> Word:
    return ONE << np.uint64(card)


def check_state(rules: RuleSet, state: NDArray[np.void]) -> None:
    """ValueError unless this is an array [B] of STATE in which every card of the deck lies in one place."""
    if not isinstance(state, np.ndarray) or state.dtype != STATE or state.ndim != 1 or not len(state):
        raise ValueError("state must be a 1-D array of GameBatch.state's dtype, one row a game")
    places = np.concatenate([state["hands"], state["played_by"], state["face_down"][:, None]], axis=1)
    whole = np.bitwise_or.reduce(places, axis=1) == rules.table["deck_mask"][0]
    wrong = np.flatnonzero(~whole | (np.bitwise_count(places).sum(axis=1) != rules.num_cards))
    if len(wrong):
        raise ValueError(f"state row {wrong[0]}: the hands and the play are not one deck of {rules.name}")
    cards, seats = 4 * rules.ranks, rules.num_seats
    limits = {"seat": (NONE, seats), "leader": (0, seats), "dealer": (0, seats), "best_seat": (NONE, seats)}
    limits |= {"trump": (NONE, 4), "led_suit": (NONE, 4), "best_card": (NONE, cards), "turned_card": (NONE, cards)}
    limits |= {"trick_size": (0, seats + 1), "num_plays": (0, MAX_PLAYS + 1), "phase": (OVER, len(PHASES))}
    limits |= {"bidder": (NONE, seats), "bid": (0, rules.total_points + 1)}
    for name, (low, end) in limits.items():
        wrong = np.flatnonzero((state[name] < low) | (state[name] >= end))
        if len(wrong):
            raise ValueError(f"state row {wrong[0]}: {name} {state[name][wrong[0]]} must be {low} to {end - 1}")
