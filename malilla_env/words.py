"""A person's words for what happens at the table: players, cards, actions, what was said, how a hand ended.

Enters: a rule set and card ids, masks, action ids, Views, games. Leaves: lines of English, the cards named by the rule
set's pack. Only `suit_word` and what is made of it holds suit signs, which not every font has. Used by the table in
text (`render.py`), the picture (`picture.py`) and whole records (`play_through.py`).
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from malilla_env.cards import SPANISH_RANKS, SPANISH_SUITS, SUIT_NAMES, SUIT_SYMBOLS, cards_in, display, parse_card
from malilla_env.rules import RuleSet
from malilla_env.state import ASK, BID, CONSENT, NAME, NONE, PLAY, TALK

if TYPE_CHECKING:
    from malilla_env.batch import GameBatch

Hands = NDArray[np.uint64] | None  # [S] masks of cards, all of them open; None: those that a View shows

COVERS = "+"  # after a card that lies on a card face down
VERBS = {"pass": "passes", "ask": "asks for a new deal", "agree": "agrees", "refuse": "refuses"}
VERBS |= {"bid": "bids", "trump": "names", "holds": "holds"}  # and these take an object
ON_TURN = {PLAY: "to play", ASK: "to ask for a new deal or pass", CONSENT: "to agree to a new deal or refuse"}
ON_TURN |= {BID: "to bid or pass", NAME: "to name trump", TALK: "to say something or pass"}


# --- players, cards, numbers
def player(seat: int) -> str:
    return f"player_{seat}"


def side(rules: RuleSet, team: int) -> str:
    """A side by its players: ``player_0 + player_2``."""
    return " + ".join(player(seat) for seat, of in enumerate(rules.teams) if of == team)


def suit_word(rules: RuleSet, suit: int) -> str:
    """A suit as it stands before or after ranks: ``♥``, ``copas``."""
    return SPANISH_SUITS[suit] if rules.pack == "spanish" else SUIT_SYMBOLS[suit]


def suit_name(rules: RuleSet, suit: int) -> str:
    """A suit in a sentence: ``hearts``, ``copas``."""
    return SPANISH_SUITS[suit] if rules.pack == "spanish" else SUIT_NAMES[suit]


def rank_word(rules: RuleSet, card: int) -> str:
    """A card's rank as it stands in a hand, whose suit is said once: ``10``, ``K``; ``1``, ``rey``."""
    rank = rules.rank_names[card % rules.ranks]
    if rules.pack == "spanish":
        return SPANISH_RANKS.get(rank, rank.replace("A", "1"))
    return rank.replace("T", "10")


def card_words(rules: RuleSet, card: int) -> str:
    """A card in a sentence: ``the 10 of hearts``, ``the rey de copas``."""
    of = "de" if rules.pack == "spanish" else "of"
    return f"the {rank_word(rules, card)} {of} {suit_name(rules, card // rules.ranks)}"


def in_order(rules: RuleSet, mask: int) -> list[int]:
    """A hand as a person holds it: suit by suit, high cards first."""
    return sorted(cards_in(mask), key=lambda card: (card // rules.ranks, -card))


def hand_words(rules: RuleSet, mask: int, covering: int = 0) -> str:
    """A hand by suits, high cards first: ``♠ 7 A 3   ♥ K``; a plus sign after each card of the mask `covering`."""
    suits = groupby(in_order(rules, mask), key=lambda card: card // rules.ranks)
    words = ([suit_word(rules, suit), *(_rank(rules, card, covering) for card in cards)] for suit, cards in suits)
    return "   ".join(" ".join(suit) for suit in words)


def _rank(rules: RuleSet, card: int, covering: int) -> str:
    return rank_word(rules, card) + (COVERS if int(covering) >> card & 1 else "")


def scores(values: Any) -> str:
    return " - ".join(str(int(value)) for value in values)


def progress(rules: RuleSet, view: np.void) -> str:
    """``hand 1, trick 3 of 10``."""
    finished = sum(int(won) for won in view["tricks_won"])
    trick = f"trick {min(finished + 1, rules.num_tricks)} of {rules.num_tricks}"
    begun = view["phase"] in (PLAY, TALK) or view["turn"] == NONE
    return f"hand {view['hand_number'] + 1}, {trick if begun else 'before the first trick'}"


def open_hand(rules: RuleSet, view: np.void, hands: Hands, seat: int) -> int | None:
    """The mask of a hand that may be shown; None if it may not. Hands of piles are open to all."""
    if hands is not None:
        return int(hands[seat])
    if seat == view["seat"]:
        return int(view["hand"])
    return int(view["shown"][seat]) if rules.piles else None


# --- actions
def action_words(rules: RuleSet, action: int) -> str:
    """What a player does, after the player's name: ``plays 7♠``, ``bids 34``, ``names hearts``, ``holds 3 of hearts``.

    IndexError for an id that no action of the rule set has.
    """
    if action < 4 * rules.ranks:
        return f"plays {display(rules, action)}"
    kind = rules.action_names[action].split("-")[0]
    return f"{VERBS[kind]} {_object(rules, action)}".rstrip()


def _object(rules: RuleSet, action: int) -> str:
    """What is bid, named or held; empty of an action without object."""
    kind, *what = rules.action_names[action].split("-")
    if kind == "trump":
        return _suit_of(rules, what[0])
    if kind == "holds" and len(what) == 2:
        return count_words(int(what[0]), _suit_of(rules, what[1]))
    return card_words(rules, parse_card(rules, what[0])) if kind == "holds" else "".join(what)


def _suit_of(rules: RuleSet, name: str) -> str:
    return suit_name(rules, SUIT_NAMES.index(name))


def count_words(count: int, suit: str) -> str:
    return f"{count} of {suit}" if count else f"no {suit}"


def choices(rules: RuleSet, view: np.void) -> str:
    """What the viewer may do: cards as a hand, other actions one after the other; empty off turn."""
    if view["legal"][0]:
        return hand_words(rules, view["legal"][0])
    actions = [4 * rules.ranks + place for place in cards_in(view["legal"][1])]
    words = [_object(rules, action) or rules.action_names[action] for action in actions]
    if view["phase"] == BID and len(words) > 3:  # a pass, and bids without a gap
        return f"{words[0]}, {words[1]} to {words[-1]}"
    return ", ".join(words)


def turn_words(rules: RuleSet, view: np.void) -> str:
    """Who is on turn, for what, and what this seat may do, where that is known; empty when the game is over."""
    if view["turn"] == NONE:
        return ""
    may = choices(rules, view)
    return f"{player(view['turn'])} is {ON_TURN[int(view['phase'])]}" + (f": {may}" if may else "")


# --- what was played and said
def actions_of(view: np.void) -> list[tuple[int, int]]:
    """(seat, action id) of all that was done in the hand."""
    count = int(view["num_plays"])
    return list(zip(view["play_seats"][:count].tolist(), view["plays"][:count].tolist(), strict=True))


def cards_played(rules: RuleSet, view: np.void) -> list[tuple[int, int]]:
    """(seat, card) of the hand's plays, other actions left out."""
    return [(seat, action) for seat, action in actions_of(view) if action < 4 * rules.ranks]


def trick_of(rules: RuleSet, view: np.void) -> list[tuple[int, int]]:
    """(seat, card) of what lies in the trick; when the game is over, of the last one."""
    played = cards_played(rules, view)
    return played[len(played) - view["trick_size"] :]


def done_words(rules: RuleSet, done: list[tuple[int, int]]) -> str:
    """``player_3 passes, player_0 bids 31``."""
    return ", ".join(f"{player(seat)} {action_words(rules, action)}" for seat, action in done)


def remarks(rules: RuleSet, view: np.void) -> list[str]:
    """What was said at this table and what everybody knows, each a line without suit signs; some or none."""
    lines = (_said(rules, view), _known(rules, view), _opening(rules, view), _albur(rules, view))
    return [line for line in lines if line]


def _said(rules: RuleSet, view: np.void) -> str:
    """What was said since the last trick was taken."""
    finished, said, cards = len(cards_played(rules, view)) - view["trick_size"], [], 0
    for seat, action in actions_of(view):
        if action < 4 * rules.ranks:
            cards += 1
        elif cards == finished:
            said.append((seat, action))
    return f"said: {done_words(rules, said)}" if said else ""


def _opening(rules: RuleSet, view: np.void) -> str:
    """In later tricks: the asking or the auction before the first, if there was more than passing."""
    if len(cards_played(rules, view)) == view["trick_size"] or not (view["asked"] or view["bid"]):
        return ""
    before = []
    for seat, action in actions_of(view):
        if action < 4 * rules.ranks:
            break
        if not rules.action_names[action].startswith("holds"):
            before.append((seat, action))
    return f"before the play: {done_words(rules, before)}"


def _known(rules: RuleSet, view: np.void) -> str:
    """What everybody knows of hands that do not lie open: cards turned up or told, and numbers told."""
    if rules.piles or view["turn"] == NONE:
        return ""
    known = []
    for seat in range(rules.num_seats):
        told = [suit for suit in range(4) if view["counted"][seat] >> suit & 1]
        words = [count_words(int(view["counts"][seat][suit]), suit_name(rules, suit)) for suit in told]
        words += [card_words(rules, card) for card in in_order(rules, view["shown"][seat])]
        if words:
            known.append(f"{player(seat)} holds {', '.join(words)}")
    return f"known: {'; '.join(known)}" if known else ""


def _albur(rules: RuleSet, view: np.void) -> str:
    """In the first hand: who drew what."""
    if view["albur_seat"] == NONE or view["hand_number"]:
        return ""
    return albur_words(rules, int(view["albur_seat"]), view["albur_cards"].tolist())


def albur_words(rules: RuleSet, winner: int, cards: list[int], waits: str = "") -> str:
    """The draw: the dealer's right and the dealer, one of whom won it, are neighbours."""
    right, dealer = cards
    first = winner if right % rules.ranks > dealer % rules.ranks else (winner + 1) % rules.num_seats
    drawn = ((first, right), ((first - 1) % rules.num_seats, dealer))
    words = ", ".join(f"{player(seat)} draws {card_words(rules, card)}" for seat, card in drawn)
    return f"albur: {words}; {player(winner)} wins {rules.albur} points{waits} and leads first"


def trump_words(rules: RuleSet, view: np.void) -> str:
    """Where trump comes from, or that there is none yet, or none at all."""
    if view["turned_card"] != NONE:
        return f"turned up by {player(view['dealer'])}"
    if view["trump"] != NONE:
        return f"named by {player(view['bidder'])}, who bid {view['bid']}"
    return "no trump" if rules.trump == "none" else "trump not named yet"


def waiting_words(view: np.void) -> str:
    """Points won before the play that wait for its end; ``; a dealer bonus of 4 waits``."""
    waits = (("a dealer bonus", view["waiting_bonus"]), ("an albur", view["waiting_albur"]))
    return "".join(f"; {what} of {points} waits" for what, points in waits if points)


# --- how it ended
def news(games: GameBatch, lane: int = 0) -> str:
    """What the last step ended, by sides in their order: a hand, a deal, the match, an illegal play; else nothing."""
    row, lines = games.state[lane], []
    if row["hand_over"]:
        points, tricks = scores(games.last_points[lane]), scores(games.last_tricks[lane])
        change = scores(games.last_score_change[lane])
        lines.append(f"hand over: points {points}, tricks {tricks}, match points {change}")
    if row["attempt"] and not row["num_plays"]:
        lines.append(f"the last deal is void; this is deal {row['attempt'] + 1} of the hand")
    if row["reneged"] != NONE:
        lines.append(f"illegal play by {player(row['reneged'])}")
    if row["done"]:
        lines.append(f"{ending(games, lane)}: {scores(games.match_score[lane])}")
    return "\n".join(lines)


def ending(games: GameBatch, lane: int = 0) -> str:
    """Who won, and how."""
    row, rules = games.state[lane], games.rules
    what = "hand" if row["one_hand"] and row["reneged"] == NONE else "match"
    if row["winner"] == NONE:
        return f"the {what} is level" if row["one_hand"] else "the match is broken off without a winner"
    how = [name for name in ("capote", "zapato") if row[name] and what == "match"]
    win = "win" if rules.teams.count(int(row["winner"])) > 1 else "wins"
    return f"{side(rules, int(row['winner']))} {win} the {what}" + (f" ({', '.join(how)})" if how else "")
