"""The table as a person sees it, as lines of text; and the render modes of the environments.

Enters: a View (what one seat may know), and all hands where they lie open. Leaves: text, or what `picture.py` draws.
Refuses to know the rules: who leads, wins and may do what stands in the View.
"""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from malilla_env.cards import display
from malilla_env.picture import table_image
from malilla_env.rules import RuleSet
from malilla_env.state import NONE
from malilla_env.words import (
    COVERS,
    Hands,
    cards_played,
    hand_words,
    news,
    open_hand,
    player,
    progress,
    remarks,
    side,
    suit_word,
    trick_of,
    trump_words,
    turn_words,
    waiting_words,
)

if TYPE_CHECKING:
    from malilla_env.batch import GameBatch

LONGEST_LINE = 120  # of what was said; longer ones go on in the next


def frame(games: GameBatch, mode: str, seat: int | None = None) -> str | NDArray[np.uint8] | None:
    """The first game of a batch in a render mode: "ansi" gives text, "rgb_array" a picture, "human" prints the text.

    With a seat it is what that seat may know; without one all hands lie open, though not the cards face down.
    """
    view, hands = seen(games, seat)
    if mode == "rgb_array":
        return table_image(games.rules, view, hands, news(games))
    text = table_text(games.rules, view, hands, news(games))
    if mode == "ansi":
        return text
    print(text, end="\n\n", flush=True)
    return None


def seen(games: GameBatch, seat: int | None = None) -> tuple[np.void, Hands]:
    """What is drawn of the first game: a View and, if no seat is given, all hands and what the seat on turn may do."""
    view = games.views(seat or 0)[0]
    if seat is not None:
        return view, None
    view["legal"] = games.state["legal"][0]
    return view, games.hands[0]


def table_text(rules: RuleSet, view: np.void, hands: Hands = None, note: str = "") -> str:
    """The table as lines of text, without a line feed at the end.

    ``view`` is a row of VIEW; ``hands`` uint64 [S] shows them all; ``note`` is said at the end (see `words.news`).
    """
    parts = [_heading(rules, view), _score_table(rules, view), _seat_lines(rules, view, hands)]
    said = [*remarks(rules, view), turn_words(rules, view)]
    words = "\n".join(line for text in said for line in wrap(text, LONGEST_LINE, subsequent_indent="  "))
    return "\n\n".join(parts + [text for text in (_last_trick(rules, view), words, note) if text])


def _heading(rules: RuleSet, view: np.void) -> str:
    return f"{rules.name}, {progress(rules, view)}\n{_trump(rules, view)}" + _suits_led(rules, view)


def _trump(rules: RuleSet, view: np.void) -> str:
    words = trump_words(rules, view)
    if view["turned_card"] != NONE:
        words = f"{display(rules, view['turned_card'])} {words}"
    return f"trump {suit_word(rules, view['trump'])}: {words}" if view["trump"] != NONE else words


def _suits_led(rules: RuleSet, view: np.void) -> str:
    led = [suit_word(rules, suit) for suit in range(4) if view["suits_led"] >> suit & 1]
    return f"; led so far: {' '.join(led)}" if led else ""


def _score_table(rules: RuleSet, view: np.void) -> str:
    teams = range(rules.num_teams)
    width = max(len(side(rules, team)) for team in teams) + 3
    lines = ["        " + "".join(side(rules, team).rjust(width) for team in teams)]
    for name, field in (("score", "match_score"), ("points", "hand_points"), ("tricks", "tricks_won")):
        lines.append(f"{name:<8}" + "".join(f"{view[field][team]:>{width}}" for team in teams))
    lines[1] += f"   first to {rules.target}{waiting_words(view)}"
    return "\n".join(lines)


def _seat_lines(rules: RuleSet, view: np.void, hands: Hands) -> str:
    """A line for each seat: who is on turn, what lies in the trick and wins it, and the hand."""
    trick = trick_of(rules, view)
    cards = {seat: display(rules, card) for seat, card in trick}
    width = max([len(text) for text in cards.values()] + [2])
    lines = []
    for seat in range(rules.num_seats):
        roles = [word for word, at in (("deals", "dealer"), ("leads", "leader")) if view[at] == seat]
        wins = "wins" if trick and view["best_seat"] == seat else ""
        start = f"{'>' if view['turn'] == seat else ' '} {player(seat)} {', '.join(roles):<12}"
        lines.append(f"{start} {cards.get(seat, '.'):<{width}} {wins:<5} {_held(rules, view, hands, seat)}".rstrip())
    if rules.dead_hand:
        lines.append(f"  {rules.dead_cards} more cards lie face down, out of play")
    if view["covering"]:
        lines.append(f"  {COVERS} lies on a card face down")
    return "\n".join(lines)


def _held(rules: RuleSet, view: np.void, hands: Hands, seat: int) -> str:
    mask = open_hand(rules, view, hands, seat)
    return f"{view['hand_sizes'][seat]} cards" if mask is None else hand_words(rules, mask, view["covering"])


def _last_trick(rules: RuleSet, view: np.void) -> str:
    """The trick before the current one, whose leader took it."""
    played = cards_played(rules, view)
    before = played[: len(played) - view["trick_size"]][-rules.num_seats :]
    if not before:
        return ""
    cards = ", ".join(f"{player(seat)} {display(rules, card)}" for seat, card in before)
    return f"last trick: {cards}; taken by {player(view['leader'])}"
