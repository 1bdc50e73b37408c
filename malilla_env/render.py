"""The table as a person sees it: as text, and as a picture.

Enters: a View (what one seat may know), and all hands where they lie open. Leaves: text, or a uint8 picture. Refuses to
know the rules: who leads, wins and may do what stands in the View. Pillow is needed for pictures alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from malilla_env.cards import SPANISH_RANKS, SPANISH_SUITS, SUIT_SYMBOLS, cards_in, display
from malilla_env.record import Record, entries, replay
from malilla_env.rules import RuleSet
from malilla_env.state import NONE

if TYPE_CHECKING:
    from malilla_env.batch import GameBatch

Hands = NDArray[np.uint64] | None  # [S] masks of cards; None: only the viewer's own hand lies open


def frame(games: GameBatch, mode: str, seat: int | None = None) -> str | NDArray[np.uint8] | None:
    """The first game of a batch in a render mode: "ansi" gives text, "rgb_array" a picture, "human" prints the text.

    With a seat it is what that seat may know; without one all hands lie open.
    """
    view = games.views(seat or 0)[0]
    hands = games.hands[0] if seat is None else None
    if mode == "rgb_array":
        return table_image(games.rules, view, hands, news(games))
    text = table_text(games.rules, view, hands, news(games))
    if mode == "ansi":
        return text
    print(text, end="\n\n", flush=True)
    return None


# --- words
def player(seat: int) -> str:
    return f"player_{seat}"


def side(rules: RuleSet, team: int) -> str:
    """A side by its players: ``player_0 + player_2``."""
    return " + ".join(player(seat) for seat, of in enumerate(rules.teams) if of == team)


def suit_word(rules: RuleSet, suit: int) -> str:
    return SPANISH_SUITS[suit] if rules.pack == "spanish" else SUIT_SYMBOLS[suit]


def rank_word(rules: RuleSet, card: int) -> str:
    """A card's rank as it stands in a hand, whose suit is said once: ``10``, ``K``; ``1``, ``rey``."""
    rank = rules.rank_names[card % rules.ranks]
    if rules.pack == "spanish":
        return SPANISH_RANKS.get(rank, rank.replace("A", "1"))
    return rank.replace("T", "10")


def in_order(rules: RuleSet, mask: int) -> list[int]:
    """A hand as a person holds it: suit by suit, high cards first."""
    return sorted(cards_in(mask), key=lambda card: (card // rules.ranks, -card))


def hand_words(rules: RuleSet, mask: int) -> str:
    """A hand by suits, high cards first: ``♠ 7 A 3   ♥ K``."""
    suits = groupby(in_order(rules, mask), key=lambda card: card // rules.ranks)
    words = ([suit_word(rules, suit), *(rank_word(rules, card) for card in cards)] for suit, cards in suits)
    return "   ".join(" ".join(suit) for suit in words)


def scores(values: Any) -> str:
    return " - ".join(str(int(value)) for value in values)


def news(games: GameBatch, lane: int = 0) -> str:
    """What the last step ended, by sides in their order: a hand, the match, an illegal play; else nothing."""
    lines = []
    if games.hand_over[lane]:
        points, tricks = scores(games.last_points[lane]), scores(games.last_tricks[lane])
        change = scores(games.last_score_change[lane])
        lines.append(f"hand over: points {points}, tricks {tricks}, match points {change}")
    if games.reneged[lane] != NONE:
        lines.append(f"illegal play by {player(games.reneged[lane])}")
    if games.done[lane]:
        lines.append(f"{ending(games, lane)}: {scores(games.match_score[lane])}")
    return "\n".join(lines)


def ending(games: GameBatch, lane: int = 0) -> str:
    """Who won, and how."""
    what = "hand" if games.one_hand[lane] and games.reneged[lane] == NONE else "match"
    if games.winner[lane] == NONE:
        return f"the {what} is level"
    how = [name for name in ("capote", "zapato") if games.state[name][lane] and what == "match"]
    return f"{side(games.rules, int(games.winner[lane]))} win the {what}" + (f" ({', '.join(how)})" if how else "")


# --- text
def table_text(rules: RuleSet, view: np.void, hands: Hands = None, note: str = "") -> str:
    """The table as lines of text, without a line feed at the end.

    ``view`` is a row of VIEW; ``hands`` uint64 [S] shows them all; ``note`` is said at the end (see `news`).
    """
    parts = [_heading(rules, view), _score_table(rules, view), _seat_lines(rules, view, hands)]
    previous = _last_trick(rules, view)
    return "\n\n".join(parts + [text for text in (previous, note) if text])


def _heading(rules: RuleSet, view: np.void) -> str:
    finished = sum(int(won) for won in view["tricks_won"])
    trick = min(finished + 1, rules.num_tricks)
    trump, turned = suit_word(rules, view["trump"]), display(rules, view["turned_card"])
    text = f"{rules.name}, hand {view['hand_number'] + 1}, trick {trick} of {rules.num_tricks}"
    text += f"\ntrump {trump}: {turned} turned up by {player(view['dealer'])}"
    led = [suit_word(rules, suit) for suit in range(4) if view["suits_led"] >> suit & 1]
    return text + (f"; led so far: {' '.join(led)}" if led else "")


def _score_table(rules: RuleSet, view: np.void) -> str:
    teams = range(rules.num_teams)
    width = max(len(side(rules, team)) for team in teams) + 3
    lines = ["        " + "".join(side(rules, team).rjust(width) for team in teams)]
    for name, field in (("score", "match_score"), ("points", "hand_points"), ("tricks", "tricks_won")):
        lines.append(f"{name:<8}" + "".join(f"{view[field][team]:>{width}}" for team in teams))
    lines[1] += f"   first to {rules.target}"
    if view["waiting_bonus"]:
        lines[1] += f"; a dealer bonus of {view['waiting_bonus']} waits"
    return "\n".join(lines)


def _seat_lines(rules: RuleSet, view: np.void, hands: Hands) -> str:
    """A line for each seat: who is on turn, what lies in the trick and wins it, and the hand."""
    trick = _trick(rules, view)
    cards = {seat: display(rules, card) for seat, card in trick}
    width = max([len(text) for text in cards.values()] + [2])
    lines = []
    for seat in range(rules.num_seats):
        roles = [word for word, at in (("deals", "dealer"), ("leads", "leader")) if view[at] == seat]
        wins = "wins" if trick and view["best_seat"] == seat else ""
        start = f"{'>' if view['turn'] == seat else ' '} {player(seat)} {', '.join(roles):<12}"
        lines.append(f"{start} {cards.get(seat, '.'):<{width}} {wins:<5} {_held(rules, view, hands, seat)}".rstrip())
    return "\n".join(lines)


def _held(rules: RuleSet, view: np.void, hands: Hands, seat: int) -> str:
    if hands is not None:
        return hand_words(rules, hands[seat])
    if seat == view["seat"]:
        return hand_words(rules, view["hand"])
    return f"{view['hand_sizes'][seat]} cards"


def _cards_played(rules: RuleSet, view: np.void) -> list[tuple[int, int]]:
    """(seat, card) of the hand's plays, other actions left out."""
    plays = zip(view["play_seats"].tolist(), view["plays"].tolist(), strict=True)
    return [(seat, card) for seat, card in plays if seat != NONE and card < 4 * rules.ranks]


def _trick(rules: RuleSet, view: np.void) -> list[tuple[int, int]]:
    """(seat, card) of what lies in the trick; when the game is over, of the last one."""
    played = _cards_played(rules, view)
    return played[len(played) - view["trick_size"] :]


def _last_trick(rules: RuleSet, view: np.void) -> str:
    """The trick before the current one, whose leader took it."""
    played = _cards_played(rules, view)
    before = played[: len(played) - view["trick_size"]][-rules.num_seats :]
    if not before:
        return ""
    cards = ", ".join(f"{player(seat)} {display(rules, card)}" for seat, card in before)
    return f"last trick: {cards}; taken by {player(view['leader'])}"


# --- a whole record
def play_through(record: Record) -> str:
    """A record as a person would follow it at the table: every hand, a line for each trick, the winning card starred.

    Ends with a line feed. RecordError if the record cannot have been played so.
    """
    rules, score = record.rules, record.match_score
    _, *hands, _ = entries(record)
    sides = " against ".join(side(rules, team) for team in range(rules.num_teams))
    parts = [f"{rules.name}, a {record.episode}, first to {rules.target}: {sides}"]
    for hand, entry in zip(record.hands, hands, strict=True):
        alone = Record(rules, "hand", tuple(score), (hand,))
        lines = [_opening(rules, entry), *_dealt(alone)]
        if entry["plays"]:
            lines += ["", *_tricks(alone)]
        parts.append("\n".join([*lines, _closing(entry)]))
        score = entry["score"]
    *_, last = replay(record)
    return "\n\n".join([*parts, f"{ending(last.games)}: {scores(score)}"]) + "\n"


def _opening(rules: RuleSet, entry: dict[str, Any]) -> str:
    turned = rules.action_names.index(entry["deal"].split()[-1])
    again = f", attempt {entry['attempt'] + 1}" if entry["attempt"] else ""
    bonus = f"; dealer bonus {entry['bonus']} {'waits' if entry['waits'] else 'paid'}" if entry["bonus"] else ""
    shown = f"turns up {display(rules, turned)}, trump {suit_word(rules, turned // rules.ranks)}"
    return f"hand {entry['hand'] + 1}{again}: {player(entry['dealer'])} deals and {shown}{bonus}"


def _dealt(record: Record) -> list[str]:
    games = next(replay(record)).games
    return [f"    {player(seat)}   {hand_words(record.rules, hand)}" for seat, hand in enumerate(games.hands[0])]


def _tricks(record: Record) -> Iterator[str]:
    """A line for each trick of a record of one hand: its cards in order, and the points of the sides after it."""
    ((*plays,),) = (hand.plays for hand in record.hands)
    seats, number = record.rules.num_seats, 0
    for _, ply, over, games in replay(record):
        state = games.state[0]
        if not over and (state["trick_size"] or not ply):
            continue
        illegal = over and state["reneged"] != NONE
        winner = NONE if illegal else state["best_seat" if over else "leader"]
        cards = [(seat, display(record.rules, card), seat == winner) for seat, card in plays[number * seats : ply]]
        number += 1
        line = "   ".join(f"{player(seat)} {card}{'*' if won else ' '}" for seat, card, won in cards)
        yield f"    {number:>2}  {line}  {'illegal' if illegal else scores(games.hand_points[0])}"


def _closing(entry: dict[str, Any]) -> str:
    score = scores(entry["score"])
    if entry["end"] == "misdeal":
        return f"misdeal; score {score}"
    if entry["end"] == "illegal":
        return f"illegal play by {player(int(entry['plays'][-1].split(':')[0]))}; score {score}"
    return f"points {scores(entry['points'])}, tricks {scores(entry['tricks'])}; score {score}"


# --- picture
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
NAME_AT = {"bottom": (480, 576, "mm"), "right": (936, 158, "rm"), "top": (480, 94, "mm"), "left": (24, 158, "lm")}


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

    def card(self, x: float, y: float, card: int | None, bright: bool = False) -> None:
        """A card face; its back when the card is not known."""
        if bright:
            self.paper(x - 4, y - 4, CARD_WIDTH + 8, CARD_HEIGHT + 8, BRIGHT)
        self.paper(x, y, CARD_WIDTH, CARD_HEIGHT, STEEL if card is None else PAPER)
        if card is None:
            return
        suit, rank = card // self.rules.ranks, self.rules.rank_names[card % self.rules.ranks].replace("T", "10")
        face = SPANISH_FACES.get(rank, rank) if self.rules.pack == "spanish" else rank
        self.text(x + 6, y + 7, face, 19, SIGNS[self.rules.pack][suit][0])
        self.sign(x + CARD_WIDTH - 19, y + 8, 13, suit)
        self.sign(x + 12, y + 32, 22, suit)


def table_image(rules: RuleSet, view: np.void, hands: Hands = None, note: str = "") -> NDArray[np.uint8]:
    """uint8 [HEIGHT, WIDTH, 3]: the table from above, the viewer at the bottom; arguments as of `table_text`."""
    pen = Pen(rules)
    for seat in range(rules.num_seats):
        _draw_seat(pen, rules, view, hands, seat)
    for seat, card in _trick(rules, view):
        right, down = TOWARDS[_sits(rules, view, seat)]
        x, y = (WIDTH - CARD_WIDTH) / 2 + right * 90, 330 - CARD_HEIGHT / 2 + down * 76
        pen.card(x, y, card, bright=seat == view["best_seat"])
    _draw_scores(pen, rules, view)
    _draw_trump(pen, rules, view)
    for line, words in enumerate(note.splitlines()):
        pen.text(WIDTH / 2, 480 + 22 * line, words, 15, BRIGHT, "mt")
    return pen.pixels()


def _sits(rules: RuleSet, view: np.void, seat: int) -> str:
    return SIDES[rules.num_seats][(seat - max(int(view["seat"]), 0)) % rules.num_seats]


def _draw_seat(pen: Pen, rules: RuleSet, view: np.void, hands: Hands, seat: int) -> None:
    """A hand along its side of the table, and the name of who holds it."""
    sits = _sits(rules, view, seat)
    mask = view["hand"] if hands is None and seat == view["seat"] else 0 if hands is None else hands[seat]
    cards: list[int | None] = [*in_order(rules, mask)]
    cards = cards or [None] * int(view["hand_sizes"][seat])
    across = sits in ("bottom", "top")
    step = min(CARD_WIDTH + 4, 430 / max(1, len(cards) - 1)) if across else min(38, 330 / max(1, len(cards) - 1))
    for place, card in enumerate(cards):
        along = place * step
        if across:
            start = (WIDTH - step * (len(cards) - 1) - CARD_WIDTH) / 2
            pen.card(start + along, 16 if sits == "top" else 600, card)
        else:
            pen.card(24 if sits == "left" else WIDTH - 24 - CARD_WIDTH, 176 + along, card)
    x, y, anchor = NAME_AT[sits]
    roles = (("deals", "dealer"), ("leads", "leader"), ("to play", "turn"))
    words = ", ".join([player(seat), *(word for word, at in roles if view[at] == seat)])
    pen.text(x, y, words, 16, BRIGHT if view["turn"] == seat else LIGHT, anchor)


def _draw_scores(pen: Pen, rules: RuleSet, view: np.void) -> None:
    finished = sum(int(won) for won in view["tricks_won"])
    pen.text(20, 16, rules.name, 20)
    trick = min(finished + 1, rules.num_tricks)
    words = f"hand {view['hand_number'] + 1}, trick {trick} of {rules.num_tricks}, first to {rules.target}"
    pen.text(20, 42, words, 14, DIM)
    rows = (("", None), ("score", "match_score"), ("points", "hand_points"), ("tricks", "tricks_won"))
    for line, (name, field) in enumerate(rows):
        pen.text(20, 66 + 19 * line, name, 14, DIM)
        for team in range(rules.num_teams):
            seats = "+".join(str(seat) for seat, of in enumerate(rules.teams) if of == team)
            pen.text(120 + 50 * team, 66 + 19 * line, str(view[field][team]) if field else seats, 14, LIGHT, "rt")


def _draw_trump(pen: Pen, rules: RuleSet, view: np.void) -> None:
    pen.text(WIDTH - 24, 16, f"trump, turned up by {player(view['dealer'])}", 14, DIM, "rt")
    pen.card(WIDTH - 70, 40, int(view["turned_card"]))
    pen.paper(WIDTH - 128, 48, 48, 48)
    pen.sign(WIDTH - 120, 56, 32, int(view["trump"]))
    if view["waiting_bonus"]:
        pen.text(WIDTH - 24, 114, f"a dealer bonus of {view['waiting_bonus']} waits", 14, BRIGHT, "rt")
