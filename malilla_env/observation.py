"""The observation: named blocks of float32, and the encoder that fills them from a View.

Enters: Views, and for each a suit order. Leaves: rows of the layout. The order of BLOCKS is the order of the vector;
every width, slice and hash is derived from it. Seats are relative to the viewer (0 = the viewer, 1 = next to play),
teams too (0 = the viewer's); cards stand in card-id order, so that observation, mask and action agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from math import prod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from malilla_env.compiled import Array, Int, Row, Word, inline, jit, stream4, uncounted
from malilla_env.rules import RuleSet
from malilla_env.state import NONE, ONE, OVER, PHASES, ZERO, bit
from malilla_env.view import VIEW

VERSION = 1


@dataclass(frozen=True)
class Block:
    """A named part of the vector: its axes, outermost first, and what a value says."""

    name: str
    axes: tuple[str, ...]  # seat | other | team | suit | card | phase | one
    meaning: str
    when: str = ""  # the property of a rule set without which it has no such block


# `TABLE_BLOCKS` are shared by the player's and the critic's vectors. A rule set has the blocks whose `when` it has.
TABLE_BLOCKS = (
    Block("trick", ("card",), "1 for each card lying in the current trick"),
    Block("best", ("card",), "1 for the card that wins the trick so far"),
    Block("shown", ("seat", "card"), "1 for each card that a seat is known to hold", "talk"),
    Block("covering", ("card",), "1 for each card in a hand that lies on one face down (RULES 3.8)", "piles"),
    Block("best_seat", ("seat",), "1 for the seat that wins the trick so far"),
    Block("led", ("suit",), "1 for the suit led to the trick"),
    Block("trump", ("suit",), "1 for the trump suit"),
    Block("suits_led", ("suit",), "1 for each suit led so far in the hand (RULES 1.3.10)"),
    Block("dealer", ("seat",), "1 for the dealer"),
    Block("trick_size", ("seat",), "1 at the number of cards in the trick, 0 to seats - 1"),
    Block("points", ("team",), "points taken in the hand / points of a hand"),
    Block("tricks", ("team",), "tricks taken / tricks of a hand"),
    Block("score", ("team",), "match score / target, within -1 and 1"),
    Block("waiting_bonus", ("one",), "the waiting dealer bonus / the highest card's points (RULES 1.5.4)"),
    Block("progress", ("one",), "tricks finished / tricks of a hand"),
    Block("phase", ("phase",), "1 for what is to be done: " + ", ".join(PHASES[1:]), "others"),
    Block("leader", ("seat",), "1 for the seat that leads the trick, or will when all is said", "others"),
    Block("asked", ("seat",), "1 for each seat that asked for a new deal (RULES 1.6.2)", "redeal"),
    Block("waiting_albur", ("team",), "1 for the side whose albur waits (RULES 1.6.3)", "albur"),
    Block("bid", ("one",), "the highest bid / points of a hand (RULES 3.6)", "auction"),
    Block("bidder", ("seat",), "1 for the highest bidder", "auction"),
    Block("counted", ("seat", "suit"), "1 where a seat has said how many of a suit it holds (RULES 3.5)", "talk"),
    Block("counts", ("seat", "suit"), "how many it holds now, where it has said so / cards of a hand", "talk"),
)
BLOCKS = (
    Block("hand", ("card",), "1 for each card in the viewer's hand"),
    Block("played", ("seat", "card"), "1 for each card that a seat has played in this hand"),
    Block("may_hold", ("other", "card"), "1 for each unseen card that another seat may still hold, by its own plays"),
    Block("turned", ("card",), "1 for the turned-up card while it is in the dealer's hand"),
    *TABLE_BLOCKS,
)
STATE_BLOCKS = (
    Block("hands", ("seat", "card"), "1 for each card in a seat's hand: for a critic or a referee, never for a player"),
    Block("face_down", ("card",), "1 for each card that lies face down (RULES 3.7, 3.8)", "face_down"),
    *TABLE_BLOCKS,
)
HAND, PLAYED, MAY_HOLD, TURNED = 0, 1, 2, 3  # places in BLOCKS
HANDS, FACE_DOWN = 0, 1  # places in STATE_BLOCKS
(TRICK, BEST, SHOWN, COVERING, BEST_SEAT, LED, TRUMP, SUITS_LED, DEALER, TRICK_SIZE) = range(10)  # in TABLE_BLOCKS
(POINTS, TRICKS, SCORE, WAITING_BONUS, PROGRESS, PHASE, LEADER, ASKED, WAITING_ALBUR) = range(10, 19)
(BID, BIDDER, COUNTED, COUNTS) = range(19, 23)

IDENTITY = np.arange(4, dtype=np.int64)
TABLE_AT, STATE_TABLE_AT = (len(blocks) - len(TABLE_BLOCKS) for blocks in (BLOCKS, STATE_BLOCKS))  # where they begin
FAR = 1 << 22  # bytes of output from which on the caches would not keep it anyway
NOWHERE = np.empty(0, np.float32)  # made once: a game alone is observed in a few microseconds
BYTE, EIGHT = np.uint64(255), np.uint64(8)
# Eight bits of a mask as eight floats: one load instead of eight tests.
BYTES = np.array([[byte >> place & 1 for place in range(8)] for byte in range(256)], np.float32)


class Layout:
    """Where each block lies in the vector of one rule set: `slices`, `shapes`, `width`, `hash`."""

    def __init__(self, rules: RuleSet, blocks: tuple[Block, ...]) -> None:
        self.rules = rules
        self.blocks = tuple(block for block in blocks if not block.when or getattr(rules, block.when))
        lengths = {
            "seat": rules.num_seats,
            "other": rules.num_seats - 1,
            "team": rules.num_teams,
            "suit": 4,
            "card": 4 * rules.ranks,
            "phase": len(PHASES) - 1,
            "one": 1,
        }
        self.shapes = {block.name: tuple(lengths[axis] for axis in block.axes) for block in self.blocks}
        self.slices = dict(self._tile())
        self.width = sum(prod(shape) for shape in self.shapes.values())
        # of every block, -1 where the rule set lacks it: the encoder finds them by place
        starts = [self.slices[block.name].start if block.name in self.slices else NONE for block in blocks]
        self.offsets = np.array(starts, np.int64)

    def _tile(self) -> Iterator[tuple[str, slice]]:
        start = 0
        for name, shape in self.shapes.items():
            yield name, slice(start, start + prod(shape))
            start += prod(shape)

    @cached_property
    def hash(self) -> str:
        """16 hex digits over the version, names, axes, shapes and meanings: equal hashes read the same."""
        text = repr((VERSION, [(b.name, b.axes, self.shapes[b.name], b.meaning) for b in self.blocks]))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def frame(self, order: ArrayLike) -> NDArray[np.int64]:
        """int [D]: `vector[frame(order)]` is the vector as encoded with that suit order."""
        index = np.arange(self.width)
        for block in self.blocks:
            part = index[self.slices[block.name]].reshape(self.shapes[block.name])
            if block.axes[-1] == "suit":
                part[...] = part[..., np.asarray(order)]
            elif block.axes[-1] == "card":
                part[...] = part[..., card_frame(self.rules, order)]
        return index

    def orders(self, rows: int, suit_order: ArrayLike | None) -> NDArray[np.int64]:
        """int [rows, 4] of a caller's suit order ([4], [rows, 4] or None); ValueError if it is not a permutation."""
        if suit_order is None:
            return unchanged(rows)
        given = np.asarray(suit_order)
        if given.shape not in ((4,), (rows, 4)) or given.dtype.kind not in "iu":
            raise ValueError(f"suit_order must be integers of shape (4,) or ({rows}, 4), not {given.shape}")
        if (np.sort(given, axis=-1) != IDENTITY).any():
            raise ValueError("suit_order must name each suit 0..3 once in every row")
        return np.broadcast_to(given.astype(np.int64), (rows, 4))

    def output(self, rows: int, out: NDArray[np.float32] | None) -> NDArray[np.float32]:
        """A float32 array [rows, D]: the caller's own, checked, or a new one."""
        if out is None:
            return np.empty((rows, self.width), np.float32)
        fits = isinstance(out, np.ndarray) and out.shape == (rows, self.width) and out.dtype == np.float32
        if not (fits and out.flags.c_contiguous and out.flags.writeable):
            raise ValueError(f"out must be a contiguous, writeable float32 array of shape ({rows}, {self.width})")
        return out

    def near(self, out: NDArray[np.float32]) -> NDArray[np.float32]:
        """float32 [D], a row in which to make what is then streamed to an output too large for caches; else [0]."""
        if out.nbytes < FAR or out.ctypes.data % 16 or self.width % 4:
            return NOWHERE
        return np.empty(self.width, np.float32)


@lru_cache(maxsize=64)
def unchanged(rows: int) -> NDArray[np.int64]:
    """int [rows, 4], read-only: the suit order that changes nothing."""
    return np.broadcast_to(IDENTITY, (rows, 4))


@cache
def layout(rules: RuleSet) -> Layout:
    """The LAYOUT of what a player sees, for one rule set."""
    return Layout(rules, BLOCKS)


@cache
def state_layout(rules: RuleSet) -> Layout:
    """The layout of the full state, all hands open: for critics and referees."""
    return Layout(rules, STATE_BLOCKS)


def card_frame(rules: RuleSet, order: ArrayLike) -> NDArray[np.int64]:
    """int [4 * ranks]: the card id shown in each place under a suit order."""
    places: NDArray[np.int64] = np.asarray(order)[..., :, None] * rules.ranks + np.arange(rules.ranks)
    return places.reshape(*places.shape[:-2], 4 * rules.ranks)


# --- the encoder
@inline
def shown(mask: Word, order: Array, ranks: Int) -> Word:
    """A card mask with its suits in the order shown."""
    if order[0] == 0 and order[1] == 1 and order[2] == 2:
        return mask
    suit = (ONE << np.uint64(ranks)) - ONE
    moved = ZERO
    for place in range(4):
        moved |= ((mask >> np.uint64(order[place] * ranks)) & suit) << np.uint64(place * ranks)
    return moved


@inline
def put_cards(out: Array, at: Int, mask: Word, ranks: Int) -> None:
    """Write a card mask as floats of 0 and 1 from `at` on, eight at a time.

    The last eight may reach past the block with zeros: so blocks are written in their order, the short ones last. Every
    byte is written, empty or not: a loop that ends early is mispredicted, and costs more than it spares.
    """
    place = np.uint64(at)  # unsigned: no test for negative indices
    for _ in range((4 * ranks + 7) // 8):
        byte = mask & BYTE
        for k in range(8):
            out[place + np.uint64(k)] = BYTES[byte, np.uint64(k)]
        mask >>= EIGHT
        place += EIGHT


@inline
def stream(source: Array, target: Array) -> None:
    """Write a whole row at once, past the caches; what `Layout.near` asks of it holds."""
    for at in range(0, len(source), 4):
        stream4(source, target, at)


@inline
def put_suits(out: Array, at: Int, suits: Int, order: Array) -> None:
    """Write a bit-per-suit set as 4 floats."""
    for place in range(4):
        out[at + place] = np.float32((suits >> order[place]) & 1)


@inline
def one_suit(suit: Int) -> Int:
    return 0 if suit == NONE else 1 << suit


@inline
def one_card(card: Int) -> Word:
    return ZERO if card == NONE else bit(card)


@inline
def relative(seat: Int, viewer: Int, num_seats: Int) -> Int:
    return seat - viewer if seat >= viewer else seat - viewer + num_seats


@inline
def absolute(place: Int, viewer: Int, num_seats: Int) -> Int:
    seat = viewer + place
    return seat if seat < num_seats else seat - num_seats


@inline
def put_seat(out: Array, at: Int, seat: Int, viewer: Int, num_seats: Int) -> None:
    """Write a seat one-hot, relative to the viewer, over zeros; nothing for none."""
    if seat != NONE:
        out[at + relative(seat, viewer, num_seats)] = np.float32(1)


@inline
def put_table(view: Row, rules: Row, order: Array, offsets: Array, out: Array) -> None:
    """Write TABLE_BLOCKS, whose places are `offsets`."""
    ranks, seats, viewer = np.int64(rules["ranks"]), np.int64(rules["num_seats"]), np.int64(view["seat"])
    put_cards(out, offsets[TRICK], shown(view["trick_cards"], order, ranks), ranks)
    put_cards(out, offsets[BEST], shown(one_card(view["best_card"]), order, ranks), ranks)
    if offsets[SHOWN] != NONE:
        put_shown(view, rules, order, offsets[SHOWN], out)
    if offsets[COVERING] != NONE:
        put_cards(out, offsets[COVERING], shown(view["covering"], order, ranks), ranks)
    put_seat(out, offsets[BEST_SEAT], np.int64(view["best_seat"]), viewer, seats)
    put_suits(out, offsets[LED], one_suit(np.int64(view["led_suit"])), order)
    put_suits(out, offsets[TRUMP], one_suit(np.int64(view["trump"])), order)
    put_suits(out, offsets[SUITS_LED], np.int64(view["suits_led"]), order)
    put_seat(out, offsets[DEALER], np.int64(view["dealer"]), viewer, seats)
    put_seat(out, offsets[TRICK_SIZE], np.int64(view["trick_size"]), 0, seats)
    put_scores(view, rules, offsets, out)
    if offsets[PHASE] != NONE and view["phase"] != OVER:
        out[offsets[PHASE] + view["phase"] - 1] = np.float32(1)
    if offsets[LEADER] != NONE:
        put_seat(out, offsets[LEADER], np.int64(view["leader"]), viewer, seats)
    if rules["redeal"] > 0 or rules["albur"] > 0:
        put_before_play(view, rules, offsets, out)
    if offsets[BID] != NONE:
        out[offsets[BID]] = np.float32(view["bid"]) / np.float32(rules["total_points"])
        put_seat(out, offsets[BIDDER], np.int64(view["bidder"]), viewer, seats)
    if offsets[COUNTED] != NONE:
        put_counts(view, rules, order, offsets, out)


@inline
def put_before_play(view: Row, rules: Row, offsets: Array, out: Array) -> None:
    """Who asked for a new deal, and whose albur waits."""
    seats, viewer = np.int64(rules["num_seats"]), np.int64(view["seat"])
    if offsets[ASKED] != NONE:
        for seat in range(seats):
            asked = (view["asked"] >> np.uint8(seat)) & 1
            out[offsets[ASKED] + relative(seat, viewer, seats)] = np.float32(asked)
    if offsets[WAITING_ALBUR] != NONE and view["waiting_albur"] > 0:
        other = rules["team"][view["albur_seat"]] != rules["team"][viewer]  # there are two sides (1.6.3)
        out[offsets[WAITING_ALBUR] + np.int64(other)] = np.float32(1)


@inline
def put_shown(view: Row, rules: Row, order: Array, at: Int, out: Array) -> None:
    """The cards that each seat is known to hold."""
    seats, ranks, viewer = np.int64(rules["num_seats"]), np.int64(rules["ranks"]), np.int64(view["seat"])
    for place in range(seats):
        cards = view["shown"][absolute(place, viewer, seats)]
        put_cards(out, at + 4 * ranks * place, shown(cards, order, ranks), ranks)


@inline
def put_counts(view: Row, rules: Row, order: Array, offsets: Array, out: Array) -> None:
    """How many cards of a suit each seat has said that it holds, as far as it still does."""
    seats, viewer = np.int64(rules["num_seats"]), np.int64(view["seat"])
    for place in range(seats):
        seat = absolute(place, viewer, seats)
        for at in range(4):
            known = (view["counted"][seat] >> np.uint8(order[at])) & 1
            count = np.float32(view["counts"][seat, order[at]]) if known else np.float32(0)
            out[offsets[COUNTED] + 4 * place + at] = np.float32(known)
            out[offsets[COUNTS] + 4 * place + at] = count / np.float32(rules["hand_size"])


@inline
def put_scores(view: Row, rules: Row, offsets: Array, out: Array) -> None:
    teams = np.int64(rules["num_teams"])
    team: Int = np.int64(rules["team"][view["seat"]])
    tricks = 0
    for place in range(teams):
        out[offsets[POINTS] + place] = np.float32(view["hand_points"][team]) / np.float32(rules["total_points"])
        out[offsets[TRICKS] + place] = np.float32(view["tricks_won"][team]) / np.float32(rules["num_tricks"])
        score = np.float32(view["match_score"][team]) / np.float32(rules["target"])
        out[offsets[SCORE] + place] = min(max(score, np.float32(-1)), np.float32(1))
        tricks += view["tricks_won"][team]
        team = team + 1 if team + 1 < teams else 0
    out[offsets[WAITING_BONUS]] = np.float32(view["waiting_bonus"]) / np.float32(max(1, rules["top_points"]))
    out[offsets[PROGRESS]] = np.float32(tricks) / np.float32(rules["num_tricks"])


@inline
def encode(view: Row, rules: Row, order: Array, offsets: Array, out: Array) -> None:
    """Write one View as one row of BLOCKS; the view of no seat is all zeros."""
    if view["seat"] == NONE:
        out[:] = np.float32(0)
        return
    # the short blocks; the others are written whole
    out[offsets[TABLE_AT + BEST_SEAT] :] = np.float32(0)
    ranks, seats = np.int64(rules["ranks"]), np.int64(rules["num_seats"])
    cards = 4 * ranks
    put_cards(out, offsets[HAND], shown(view["hand"], order, ranks), ranks)
    viewer, gone = np.int64(view["seat"]), ZERO
    for place in range(seats):
        played = view["played_by"][absolute(place, viewer, seats)]
        put_cards(out, offsets[PLAYED] + place * cards, shown(played, order, ranks), ranks)
        gone |= played
    unseen = rules["deck_mask"] & ~view["hand"]
    for place in range(1, seats):
        may_hold = unseen & ~view["cannot_hold"][absolute(place, viewer, seats)]
        put_cards(out, offsets[MAY_HOLD] + (place - 1) * cards, shown(may_hold, order, ranks), ranks)
    put_cards(out, offsets[TURNED], shown(one_card(view["turned_card"]) & ~gone, order, ranks), ranks)
    put_table(view, rules, order, offsets[TABLE_AT:], out)


@inline
def encode_state(row: Row, view: Row, rules: Row, order: Array, offsets: Array, out: Array) -> None:
    """Write one game as the viewer's seat would see it with all hands open: one row of STATE_BLOCKS."""
    if view["seat"] == NONE:
        out[:] = np.float32(0)
        return
    out[offsets[STATE_TABLE_AT + BEST_SEAT] :] = np.float32(0)
    seats, ranks = np.int64(rules["num_seats"]), np.int64(rules["ranks"])
    viewer = np.int64(view["seat"])
    for place in range(seats):
        hand = row["hands"][absolute(place, viewer, seats)]
        put_cards(out, offsets[HANDS] + place * 4 * ranks, shown(hand, order, ranks), ranks)
    if offsets[FACE_DOWN] != NONE:
        put_cards(out, offsets[FACE_DOWN], shown(row["face_down"], order, ranks), ranks)
    put_table(view, rules, order, offsets[STATE_TABLE_AT:], out)


@jit
def _encode_views(views: Array, table: Array, orders: Array, offsets: Array, out: Array) -> None:
    orders, offsets, out = uncounted(orders), uncounted(offsets), uncounted(out)
    for lane in range(len(views)):
        encode(views[lane], table[0], orders[lane], offsets, out[lane])


def encode_views(
    rules: RuleSet,
    views: NDArray[np.void],
    suit_order: ArrayLike | None = None,
    out: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """float32 [B, D]: Views (VIEW [B]) as `layout(rules)` says; see `GameBatch.observe` for the arguments."""
    if not isinstance(views, np.ndarray) or views.dtype != VIEW or views.ndim != 1:
        raise ValueError("views must be a 1-D array of VIEW rows, as GameBatch.views makes it")
    plan = layout(rules)
    out = plan.output(len(views), out)
    _encode_views(views, rules.table, plan.orders(len(views), suit_order), plan.offsets, out)
    return out
