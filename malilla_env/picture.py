"""The table as a picture, seen from above.

Enters: a View, and all hands where they lie open. Leaves: uint8 pixels. Needs Pillow, and nothing else here does.
"""

from __future__ import annotations

from functools import cache
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from malilla_env.rules import RuleSet
from malilla_env.state import NONE, PLAY
from malilla_env.words import (
    Hands,
    in_order,
    open_hand,
    player,
    progress,
    remarks,
    trick_of,
    trump_words,
    turn_words,
    waiting_words,
)

WIDTH, HEIGHT = 960, 680
SCALE = 2  # drawn so many times as large and then made smaller: smooth edges
CARD_WIDTH, CARD_HEIGHT = 46, 64
CLOTH, PAPER, EDGE = (24, 92, 60), (252, 251, 245), (150, 150, 150)
LIGHT, DIM, BRIGHT = (255, 255, 255), (186, 214, 198), (255, 208, 84)
INK, RED, STEEL, COIN, GREEN = (28, 30, 36), (196, 36, 44), (44, 84, 152), (206, 146, 22), (44, 116, 60)

# Suit signs in a square of side 1: a colour, then ellipses (a box: 4 numbers) and polygons (corners: more).
Colour = tuple[int, int, int]
Sign = tuple[Colour, tuple[tuple[float, ...], ...]]
STEM = (0.5, 0.5, 0.3, 1.0, 0.7, 1.0)
SPADE: Sign = (INK, ((0.02, 0.34, 0.53, 0.82), (0.47, 0.34, 0.98, 0.82), (0.5, 0.0, 0.93, 0.5, 0.07, 0.5), STEM))
HEART: Sign = (RED, ((0.02, 0.06, 0.53, 0.57), (0.47, 0.06, 0.98, 0.57), (0.07, 0.44, 0.93, 0.44, 0.5, 0.98)))
DIAMOND: Sign = (RED, ((0.5, 0.0, 0.9, 0.5, 0.5, 1.0, 0.1, 0.5),))
LEAVES = ((0.27, 0.0, 0.73, 0.46), (0.0, 0.36, 0.46, 0.82), (0.54, 0.36, 1.0, 0.82), (0.4, 0.36, 0.6, 0.62))
CLUB: Sign = (INK, (*LEAVES, STEM))
BLADE, GUARD = (0.5, 0.0, 0.6, 0.16, 0.57, 0.7, 0.43, 0.7, 0.4, 0.16), (0.2, 0.66, 0.8, 0.66, 0.8, 0.76, 0.2, 0.76)
ESPADA: Sign = (STEEL, (BLADE, GUARD, (0.44, 0.76, 0.56, 0.76, 0.56, 1.0, 0.44, 1.0)))
BOWL, FOOT = (0.1, 0.04, 0.9, 0.04, 0.8, 0.4, 0.6, 0.54, 0.4, 0.54, 0.2, 0.4), (0.5, 0.7, 0.84, 0.96, 0.16, 0.96)
COPA: Sign = (RED, (BOWL, (0.42, 0.5, 0.58, 0.5, 0.58, 0.9, 0.42, 0.9), FOOT))
ORO: Sign = (COIN, ((0.04, 0.04, 0.96, 0.96),))
BASTO: Sign = (GREEN, ((0.62, 0.02, 0.92, 0.12, 0.86, 0.42, 0.3, 0.98, 0.1, 0.84, 0.48, 0.3),))
SIGNS = {"french": (SPADE, HEART, DIAMOND, CLUB), "spanish": (ESPADA, COPA, ORO, BASTO)}
SPANISH_FACES = {"A": "1", "K": "R", "Q": "C", "J": "S"}
# Where a seat sits, by its place in playing order from the viewer: to the right first (RULES 1.1.1).
SIDES = {2: ("bottom", "top"), 3: ("bottom", "right", "left"), 4: ("bottom", "right", "top", "left")}
TOWARDS = {"bottom": (0, 1), "right": (1, 0), "top": (0, -1), "left": (-1, 0)}
NAME_AT = {"bottom": (480, 566, "mm"), "right": (936, 158, "rm"), "top": (480, 106, "mm"), "left": (24, 158, "lm")}
LIFT = 12  # a card that may be played lies so much closer to the middle of the table
UNDER = 6  # a card face down shows so much of itself beside the one that lies on it
DEAD_AT = (232, 290)
LINES_AT, LINE, LINES, LINE_LETTERS = 446, 15, 7, 118  # what is said, above the viewer's name


@cache
def _font(size: int) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size)


class Pen:
    """Draws on a canvas in units of the finished picture."""

    def __init__(self, rules: RuleSet) -> None:
        try:
            from PIL import Image, ImageDraw
        except ImportError:
            raise ImportError("pictures need Pillow: pip install 'malilla-env[render]', or use ansi") from None
        self.rules = rules
        self.image = Image.new("RGB", (WIDTH * SCALE, HEIGHT * SCALE), CLOTH)
        self.draw: ImageDraw.ImageDraw = ImageDraw.Draw(self.image)

    def pixels(self) -> NDArray[np.uint8]:
        return np.array(self.image.reduce(SCALE), np.uint8)

    def text(self, x: float, y: float, words: str, size: int = 16, colour: Colour = LIGHT, anchor: str = "lt") -> None:
        self.draw.text((x * SCALE, y * SCALE), words, fill=colour, font=_font(size * SCALE), anchor=anchor)

    def paper(self, x: float, y: float, width: float, height: float, colour: Colour = PAPER) -> None:
        box = [x * SCALE, y * SCALE, (x + width) * SCALE, (y + height) * SCALE]
        self.draw.rounded_rectangle(box, 6 * SCALE, fill=colour, outline=EDGE, width=SCALE)

    def sign(self, x: float, y: float, side: float, suit: int) -> None:
        """A suit's sign in a square whose upper left corner is (x, y)."""
        colour, shapes = SIGNS[self.rules.pack][suit]
        for shape in shapes:
            points = [(at * side + (y if odd % 2 else x)) * SCALE for odd, at in enumerate(shape)]
            draw = self.draw.ellipse if len(points) == 4 else self.draw.polygon
            draw(points, fill=colour)

    def back(self, x: float, y: float) -> None:
        self.paper(x, y, CARD_WIDTH, CARD_HEIGHT, STEEL)

    def card(self, x: float, y: float, card: int, bright: bool = False) -> None:
        """A card face."""
        if bright:
            self.paper(x - 4, y - 4, CARD_WIDTH + 8, CARD_HEIGHT + 8, BRIGHT)
        self.paper(x, y, CARD_WIDTH, CARD_HEIGHT)
        suit, rank = card // self.rules.ranks, self.rules.rank_names[card % self.rules.ranks].replace("T", "10")
        face = SPANISH_FACES.get(rank, rank) if self.rules.pack == "spanish" else rank
        self.text(x + 6, y + 7, face, 19, SIGNS[self.rules.pack][suit][0])
        self.sign(x + CARD_WIDTH - 16, y + 9, 12, suit)
        self.sign(x + 12, y + 32, 22, suit)


def table_image(rules: RuleSet, view: np.void, hands: Hands = None, note: str = "") -> NDArray[np.uint8]:
    """uint8 [HEIGHT, WIDTH, 3]: the table from above, the viewer at the bottom; arguments as of `render.table_text`."""
    pen = Pen(rules)
    for seat in range(rules.num_seats):
        _draw_seat(pen, rules, view, hands, seat)
    for seat, card in trick_of(rules, view):
        right, down = TOWARDS[_sits(rules, view, seat)]
        x, y = (WIDTH - CARD_WIDTH) / 2 + right * 90, 330 - CARD_HEIGHT / 2 + down * 76
        pen.card(x, y, card, bright=seat == view["best_seat"])
    if rules.dead_hand:
        _draw_dead_hand(pen, rules)
    _draw_scores(pen, rules, view)
    _draw_trump(pen, rules, view)
    _draw_lines(pen, rules, view, note)
    return pen.pixels()


def _sits(rules: RuleSet, view: np.void, seat: int) -> str:
    return SIDES[rules.num_seats][(seat - max(int(view["seat"]), 0)) % rules.num_seats]


def _draw_seat(pen: Pen, rules: RuleSet, view: np.void, hands: Hands, seat: int) -> None:
    """A hand along its side of the table, and the name of who holds it."""
    sits, mask = _sits(rules, view, seat), open_hand(rules, view, hands, seat)
    cards = in_order(rules, mask) if mask is not None else [None] * int(view["hand_sizes"][seat])
    right, down = TOWARDS[sits]
    for card, (x, y) in zip(cards, _places(sits, len(cards)), strict=True):
        if card is None:
            pen.back(x, y)
            continue
        if seat == view["turn"] and int(view["legal"][0]) >> card & 1:
            x, y = x - right * LIFT, y - down * LIFT
        if int(view["covering"]) >> card & 1:
            pen.back(x + UNDER, y - UNDER)
        pen.card(x, y, card)
    _draw_name(pen, view, seat, sits)


def _places(sits: str, count: int) -> list[tuple[float, float]]:
    """The upper left corners of so many cards along a side of the table."""
    if sits in ("bottom", "top"):
        step = min(CARD_WIDTH + 4, 430 / max(1, count - 1))
        start = (WIDTH - step * (count - 1) - CARD_WIDTH) / 2
        return [(start + place * step, 16 if sits == "top" else 600) for place in range(count)]
    step = min(38, 330 / max(1, count - 1))
    return [(24 if sits == "left" else WIDTH - 24 - CARD_WIDTH, 176 + place * step) for place in range(count)]


def _draw_name(pen: Pen, view: np.void, seat: int, sits: str) -> None:
    x, y, anchor = NAME_AT[sits]
    turn = "to play" if view["phase"] == PLAY else "on turn"
    roles = (("deals", "dealer"), ("leads", "leader"), (turn, "turn"))
    words = ", ".join([player(seat), *(word for word, at in roles if view[at] == seat)])
    pen.text(x, y, words, 16, BRIGHT if view["turn"] == seat else LIGHT, anchor)


def _draw_dead_hand(pen: Pen, rules: RuleSet) -> None:
    x, y = DEAD_AT
    for place in range(rules.dead_cards):
        pen.back(x + 3 * place, y - 2 * place)
    pen.text(x, y + CARD_HEIGHT + 8, "out of play", 14, DIM)


def _draw_scores(pen: Pen, rules: RuleSet, view: np.void) -> None:
    pen.text(20, 16, rules.name, 20)
    pen.text(20, 42, f"{progress(rules, view)}, first to {rules.target}", 14, DIM)
    rows = (("", None), ("score", "match_score"), ("points", "hand_points"), ("tricks", "tricks_won"))
    for line, (name, field) in enumerate(rows):
        pen.text(20, 66 + 19 * line, name, 14, DIM)
        for team in range(rules.num_teams):
            seats = "+".join(str(seat) for seat, of in enumerate(rules.teams) if of == team)
            pen.text(120 + 50 * team, 66 + 19 * line, str(view[field][team]) if field else seats, 14, LIGHT, "rt")


def _draw_trump(pen: Pen, rules: RuleSet, view: np.void) -> None:
    words = trump_words(rules, view)
    pen.text(WIDTH - 24, 16, f"trump, {words}" if view["trump"] != NONE else words, 14, DIM, "rt")
    if view["turned_card"] != NONE:
        pen.card(WIDTH - 70, 40, int(view["turned_card"]))
    if view["trump"] != NONE:
        pen.paper(WIDTH - 128, 48, 48, 48)
        pen.sign(WIDTH - 120, 56, 32, int(view["trump"]))
    pen.text(WIDTH - 24, 114, waiting_words(view).removeprefix("; "), 14, BRIGHT, "rt")


def _draw_lines(pen: Pen, rules: RuleSet, view: np.void, note: str) -> None:
    """What ended, what the seat on turn may say, and what was said; as much of it as there is room for."""
    turn = "" if view["phase"] == PLAY else turn_words(rules, view)  # the cards that may be played are lifted
    lines = [(words, BRIGHT) for text in (*note.splitlines(), turn) for words in wrap(text, LINE_LETTERS)]
    lines += [(words, LIGHT) for text in remarks(rules, view) for words in wrap(text, LINE_LETTERS)]
    for line, (words, colour) in enumerate(lines[:LINES]):
        pen.text(WIDTH / 2, LINES_AT + LINE * line, words, 13, colour, "mt")
