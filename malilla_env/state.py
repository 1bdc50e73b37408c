"""STATE: one game as a row of a structured array, the referee's full knowledge; and the check of such an array.

Enters: rows from outside (a copy, a file, another process). Leaves: the dtype, its constants, the same rows if they can
be games of a rule set. What a seat may know of a row is in `view.py`; what changes it is in `engine.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from malilla_env.compiled import Int, Word, inline
from malilla_env.rules import RuleSet
from malilla_env.table import MAX_CARDS, MAX_PLAYS, MAX_SEATS

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
    """ValueError unless this is an array [B] of STATE whose every row can be a game of these rules.

    The message names the row and the field: a number out of range, cards that lie nowhere or twice, plays that do not
    agree with them, legal actions that the phase does not have. No row that passes makes the engine read or write
    beyond a table; whether legal play leads to it is not asked.
    """
    if not isinstance(state, np.ndarray) or state.dtype != STATE or state.ndim != 1 or not len(state):
        raise ValueError("state must be a 1-D array of GameBatch.state's dtype, one row a game")
    for name, (low, end) in _limits(rules).items():
        values = state[name].reshape(len(state), -1)
        rows, places = np.nonzero((values < low) | (values >= end))
        if len(rows):
            raise ValueError(f"state row {rows[0]}: {name} {values[rows[0], places[0]]} must be {low} to {end - 1}")
    for reasons in (_misplaced, _misphased, _misplayed, _mistaken, _miscounted):
        for wrong, reason in reasons(rules, state):
            if np.any(wrong):
                raise ValueError(f"state row {np.flatnonzero(wrong)[0]}: {reason}")


def _limits(rules: RuleSet) -> dict[str, tuple[int, int]]:
    """The lowest value of each field, and the one past the highest."""
    seats, cards, bonus = (NONE, rules.num_seats), (NONE, 4 * rules.ranks), (0, max(rules.rank_points) + 1)
    suit, suits, points = (NONE, 4), (0, 1 << 4), (0, rules.total_points + 1)
    limits = dict.fromkeys(("seat", "best_seat", "reneged", "bidder", "albur_seat"), seats)
    limits |= dict.fromkeys(("leader", "dealer"), (0, rules.num_seats))
    limits |= dict.fromkeys(("best_card", "turned_card", "albur_cards"), cards)
    limits |= {"trump": suit, "led_suit": suit} | dict.fromkeys(("suits_led", "suits_played", "counted"), suits)
    limits |= dict.fromkeys(("hand_points", "last_points", "trick_value", "bid"), points)
    limits |= dict.fromkeys(("tricks_won", "last_tricks"), (0, rules.num_tricks + 1))
    limits |= {"waiting_bonus": bonus, "paid_bonus": bonus, "waiting_albur": (0, rules.albur + 1)}
    limits |= {"counts": (0, rules.hand_size + 1), "asked": (0, 1 << rules.num_seats)}
    limits |= {"trick_size": (0, rules.num_seats + 1), "num_plays": (0, rules.longest_hand + 1)}
    limits |= {"phase": (OVER, len(PHASES)), "winner": (NONE, rules.num_teams)}
    return limits | dict.fromkeys(("hand_number", "attempt"), (0, 1 << 31))


# The rows that are wrong, and why; lazily, so that each may take for granted what those before it asked.
Reasons = Iterator[tuple[Any, str]]


def _misplaced(rules: RuleSet, state: NDArray[np.void]) -> Reasons:
    """Cards: each of the deck in one place, as many with each seat as it gets, as many face down as is due."""
    hands, played, face_down = state["hands"], state["played_by"], state["face_down"]
    places = np.concatenate([hands, played, face_down[:, None]], axis=1)
    whole = np.bitwise_or.reduce(places, axis=1) == rules.table["deck_mask"][0]
    count = np.bitwise_count(places).sum(axis=1)
    yield ~whole | (count != rules.num_cards), f"the hands and the play are not one deck of {rules.name}"
    deck = np.sort(state["deck"][:, : rules.num_cards], axis=1)
    yield (deck != np.array(rules.deck)).any(axis=1), f"deck is not one deck of {rules.name}"
    held, covering = hands | played, state["covering"][:, None]
    each = np.bitwise_count(held).astype(int) + np.bitwise_count(held & covering)
    due = np.where(np.arange(MAX_SEATS) < rules.num_seats, rules.num_tricks, 0)
    yield (each != due).any(axis=1), f"hands and played_by must hold {rules.num_tricks} cards of each seat in all"
    on_top = np.bitwise_or.reduce(hands, axis=1) | state["trick_cards"]
    yield covering[:, 0] & ~on_top != 0, "covering must be cards in hands or in the trick"
    hidden = np.bitwise_count(face_down).astype(int) - np.bitwise_count(covering[:, 0])
    yield hidden != rules.dead_cards, "face_down must be the dead hand and a card under each of covering"
    for hand in range(rules.num_seats if rules.piles else 0):
        yield _wrong_piles(rules, state, hand), "face_down must be the cards that deck puts under those of covering"


def _wrong_piles(rules: RuleSet, state: NDArray[np.void], hand: int) -> NDArray[np.bool_]:
    """bool [B]: 3.8, whether a card covers another than the deck says, or lies with another seat."""
    lanes, places = np.arange(len(state)), rules.table["places"][0][hand]
    seat = (state["dealer"] + 1 + hand) % rules.num_seats
    held = state["hands"][lanes, seat] | state["played_by"][lanes, seat]
    top = ONE << state["deck"][:, places[: rules.piles]].astype(np.uint64)
    under = ONE << state["deck"][:, places[rules.piles : 2 * rules.piles]].astype(np.uint64)
    covers = top & state["covering"][:, None] != 0
    astray = covers & (top & held[:, None] == 0) | (covers != (under & state["face_down"][:, None] != 0))
    wrong: NDArray[np.bool_] = astray.any(axis=1)
    return wrong


def _misplayed(rules: RuleSet, state: NDArray[np.void]) -> Reasons:
    """The list of plays, which the cards played agree with."""
    plays, seats = state["plays"], state["play_seats"]
    made = np.arange(MAX_PLAYS) < state["num_plays"][:, None]
    good = np.where(made, plays < rules.num_actions, plays == NO_CARD)
    yield ~good.all(axis=1), "plays must be num_plays action ids, and 255 after them"
    good = np.where(made, (seats >= 0) & (seats < rules.num_seats), seats == NONE)
    yield ~good.all(axis=1), "play_seats must be num_plays seats, and -1 after them"
    is_card = made & (plays < 4 * rules.ranks)
    bits = np.where(is_card, ONE << np.minimum(plays, 63).astype(np.uint64), ZERO)
    by_seat = [np.bitwise_or.reduce(np.where(seats == seat, bits, ZERO), axis=1) for seat in range(MAX_SEATS)]
    differ = (np.stack(by_seat, axis=1) != state["played_by"]).any(axis=1)
    repeated = np.bitwise_count(state["played_by"]).sum(axis=1) != is_card.sum(axis=1)
    yield differ | repeated, "played_by must be the cards of plays"
    said = state["num_plays"] - is_card.sum(axis=1)
    yield ~state["done"] & (said > _most_said(rules, state)), "plays has more actions besides cards than can be yet"


def _most_said(rules: RuleSet, state: NDArray[np.void]) -> NDArray[np.int64]:
    """int [B]: how many actions besides cards a hand can hold by now, so that its record never grows too long."""
    phase, seat, seats = state["phase"], state["seat"].astype(int), rules.num_seats
    asker = np.where(phase == CONSENT, rules.table["partner"][0][seat], seat)
    turn = (asker - state["dealer"] - 1) % seats
    before_play = 2 * seats * bool(rules.redeal) + (seats + 1) * rules.auction
    tricks = np.bitwise_count(state["played_by"]).sum(axis=1) // seats
    spoken = np.where(phase == TALK, seat != state["leader"], 2)
    asked = 2 * turn + (phase == CONSENT)
    most = before_play + (2 * tricks + spoken) * rules.talk
    return np.select([phase <= PLAY, phase <= CONSENT, phase == BID, phase == NAME], [most, asked, turn, seats], most)


def _mistaken(rules: RuleSet, state: NDArray[np.void]) -> Reasons:
    """The trick that the end of the list of plays is."""
    plays, best, seat = state["plays"], state["best_card"], state["best_seat"]
    count, size = state["num_plays"].astype(int), state["trick_size"].astype(int)
    at, lanes = np.arange(MAX_PLAYS), np.arange(len(state))
    in_trick = (at < count[:, None]) & (at >= (count - size)[:, None])
    bits = ONE << np.minimum(plays, 63).astype(np.uint64)
    trick = np.bitwise_or.reduce(np.where(in_trick & (plays < 4 * rules.ranks), bits, ZERO), axis=1)
    wrong = (trick != state["trick_cards"]) | (np.bitwise_count(trick) != size)
    yield wrong, "trick_cards must be the last trick_size plays"
    first = plays[lanes, np.clip(count - size, 0, MAX_PLAYS - 1)]
    suit = rules.table["suit"][0][np.minimum(first, MAX_CARDS - 1)].astype(int)
    yield np.where(size > 0, suit, NONE) != state["led_suit"], "led_suit must be that of the trick, -1 before a lead"
    of_trick = (trick & state["played_by"][lanes, seat]) >> np.maximum(best, 0).astype(np.uint64) & ONE
    wins = np.where(size > 0, (of_trick != 0) & (best != NONE) & (seat != NONE), (best == NONE) & (seat == NONE))
    yield ~wins, "best_card and best_seat must be of the trick, -1 before a lead"


def _miscounted(rules: RuleSet, state: NDArray[np.void]) -> Reasons:
    """The points of the trick, and those that the sides have of a hand in play."""
    worth, deck = np.array([rules.rank_points[card % rules.ranks] for card in rules.deck]), np.array(rules.deck)

    def points(cards: NDArray[np.uint64]) -> NDArray[np.int64]:
        return (cards[:, None] >> deck.astype(np.uint64) & ONE).astype(np.int64) @ worth  # type: ignore[no-any-return]

    playing = ~state["done"].astype(bool)
    yield playing & (state["trick_value"] != points(state["trick_cards"])), "trick_value must be that of trick_cards"
    taken = np.bitwise_or.reduce(state["played_by"], axis=1) & ~state["trick_cards"]
    tricks = np.bitwise_count(taken).astype(np.int64) // rules.num_seats
    yield playing & (state["tricks_won"].sum(axis=1) != tricks), "tricks_won must be the tricks played so far"
    due = points(taken) + tricks * rules.trick_points
    yield playing & (state["hand_points"].sum(axis=1) != due), "hand_points must be those of the tricks played so far"


def _misphased(rules: RuleSet, state: NDArray[np.void]) -> Reasons:
    """The phase, and what the seat on turn may do in it."""
    phase, seat, legal = state["phase"], state["seat"], state["legal"]
    done = state["done"].astype(bool)
    yield done != (phase == OVER), "phase must be 0 when the game is done, and then only"
    yield done != (seat == NONE), "seat must be -1 when the game is done, and then only"
    may = _actions_of(rules)
    names = ", ".join(f"{PHASES[one]} {one}" for one in may)
    yield ~np.isin(phase, list(may)), f"phase must be one that {rules.name} has: {names}"
    cards = state["hands"][np.arange(len(state)), seat]
    cards = np.where(phase == PLAY, cards, ZERO)
    others = np.array([may[one] for one in phase.tolist()], np.uint64)
    allowed = np.stack([cards, others], axis=1)
    yield (legal & ~allowed != 0).any(axis=1), "legal must be cards of the seat on turn, or actions of the phase"
    yield (legal == 0).all(axis=1) != done, "legal must be empty when the game is done, and then only"
    named = np.isin(phase, (PLAY, TALK))
    yield named & ((state["trump"] == NONE) != (rules.trump == "none")), "trump must be a suit once the play has begun"
    bought = rules.auction & np.isin(phase, (NAME, PLAY))
    yield bought & ((state["bidder"] == NONE) | (state["bid"] == 0)), "bidder and bid must be told once trump is named"
    yield (state["waiting_albur"] > 0) & (state["albur_seat"] == NONE), "albur_seat must be told while its points wait"


def _actions_of(rules: RuleSet) -> dict[int, int]:
    """The phases that a rule set has, and the mask of the actions besides cards that each allows at most."""
    masks, at = {}, 0
    for kind, names in rules.others.items():
        masks[kind] = ((1 << len(names)) - 1) << at
        at += len(names)
    phases = {OVER: 0, PLAY: 0}
    if rules.redeal:
        ask = 1 << int(rules.table["ask_at"][0])
        phases |= {ASK: masks["pass"] | ask, CONSENT: masks["ask"] & ~ask}
    if rules.auction:
        phases |= {BID: masks["pass"] | masks["bid"], NAME: masks["name"]}
    if rules.talk:
        phases |= {TALK: masks["pass"] | masks["count"] | masks["card"]}
    return phases
