"""RuleSet: a game of the family as a value, and the presets.

Enters: a preset's name and overrides. Leaves: a frozen, validated RuleSet; its ``table``, the same facts as one NumPy
record for the compiled engine; its ``hash``, by which files recognise the rules they were made under. A game is data:
nothing outside this file asks which game it is. Numbers in brackets are paragraphs of docs/RULES.md.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from malilla_env.cards import SUIT_NAMES, SUITS, card_name, parse_card
from malilla_env.contradictions import check
from malilla_env.table import table_of

SUITED = ("name", "count", "card")  # kinds of actions that speak of a suit


@dataclass(frozen=True, kw_only=True)
class RuleSet:
    """The rules of one game; every field is checked, and a wrong one raises ValueError that names it."""

    name: str = "malilla"
    teams: tuple[int, ...] = (0, 1, 0, 1)  # the team of each seat, in playing order (1.1.1)
    rank_names: str = "23456JQKA7"  # low to high (1.1.3)
    rank_points: tuple[int, ...] = (0, 0, 0, 0, 0, 1, 2, 3, 4, 5)  # card points of each rank (1.1.4)
    removed: tuple[str, ...] = ()  # cards that the deck lacks (1.1.2)
    pack: str = "french"  # how cards are shown: french | spanish (1.1.2)
    packets: tuple[int, ...] = ()  # cards dealt at a time, round by round; (): singly (1.2.2, 2.2)
    dead_hand: bool = False  # one more hand is dealt face down and out of play (3.7)
    piles: int = 0  # each player's cards lie in so many piles, one face down under one face up (3.8)
    trick_points: int = 1  # each trick is worth this much more (1.1.4)
    last_trick_bonus: int = 0  # and the last trick this much besides (2.7)
    neutral: int = 35  # a side scores its points above this (1.1.4, 1.5.2)
    trump: str = "turned"  # turned: the dealer's last card (1.2.3); bid: named by the highest bidder (3.6); none
    dealer_bonus: bool = True  # the turned-up card's points go to the dealer's side (1.2.4)
    climb_over_partner: bool = False  # beat and trump a partner who is winning too (1.3.7)
    undertrump: str = "optional"  # optional | forbidden | forced (1.3.6)
    protected: str = "led"  # a suit's malilla may be discarded once its suit was led | played; off: always (1.3.8)
    illegal: str = "lose_match"  # what an illegal play does: lose_match | raise (1.4.1)
    redeal: int = 0  # cards of one suit with which a new deal may be asked for; 0: never (1.6.2)
    albur: int = 0  # match points that a draw of cards gives before the first hand; 0: no draw (1.6.3)
    talk: bool = False  # before each lead the leader, then the partner, may make a true statement (3.5)
    loser_pays: bool = False  # the losing side loses what the other wins (2.6)
    redeal_level: bool = False  # after a level hand the same dealer deals again (2.6)
    target: int = 35  # match points that win the match (1.5.3)
    capote_wins: bool = True  # all tricks win the match at once (1.5.5)
    zapato_multiplier: float = 1.0  # of the match reward, when the loser stands at 0 (1.5.6)

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, _typed(field.name, str(field.type), getattr(self, field.name)))
        check(self)

    # Rule sets are looked up by at every observation: their hash is counted once.
    @cached_property
    def _hash(self) -> int:
        return hash(tuple(getattr(self, field.name) for field in fields(self)))

    def __hash__(self) -> int:
        return self._hash

    # A copy shares or remakes what was derived: NumPy's own copies of `table` would lose its read-only flag, and with
    # it the functions compiled for it.
    def __deepcopy__(self, memo: dict[int, Any]) -> RuleSet:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return RuleSet.from_dict, (self.to_dict(),)

    # --- what follows from the fields
    @property
    def num_seats(self) -> int:
        return len(self.teams)

    @property
    def num_teams(self) -> int:
        return max(self.teams) + 1

    @property
    def ranks(self) -> int:
        """Card ids per suit."""
        return len(self.rank_names)

    @cached_property
    def deck(self) -> tuple[int, ...]:
        """The ids of the cards in play, lowest first."""
        lacking = {parse_card(self, text) for text in self.removed}
        return tuple(card for card in range(4 * self.ranks) if card not in lacking)

    @property
    def num_cards(self) -> int:
        return len(self.deck)

    @property
    def num_hands(self) -> int:
        """Hands dealt: one a seat, and the dead one."""
        return self.num_seats + self.dead_hand

    @property
    def num_tricks(self) -> int:
        return self.num_cards // self.num_hands

    @property
    def hand_size(self) -> int:
        """Cards that a player holds when the play begins; those face down come later (3.8)."""
        return self.piles or self.num_tricks

    @property
    def dead_cards(self) -> int:
        return self.num_tricks if self.dead_hand else 0

    @cached_property
    def dealing(self) -> tuple[int, ...]:
        """Who gets each card of a dealing order: 0 the dealer's right, and so on; `num_seats` is the dead hand.

        The dead hand is dealt to before the dealer, who gets the last card (1.2.2, 3.7).
        """
        seats = list(range(self.num_seats))
        hands = [*seats[:-1], self.num_seats, seats[-1]] if self.dead_hand else seats
        packets = self.packets or (1,) * self.num_tricks
        return tuple(hand for packet in packets for hand in hands for _ in range(packet))

    @property
    def total_points(self) -> int:
        """Points of a hand, cards and tricks (1.1.4, 2.7); those of a dead hand are counted, and taken by nobody."""
        cards = sum(self.rank_points[card % self.ranks] for card in self.deck)
        return cards + self.num_tricks * self.trick_points + self.last_trick_bonus

    @property
    def auction(self) -> bool:
        return self.trump == "bid"

    @property
    def face_down(self) -> bool:
        """Whether cards lie face down (3.7, 3.8)."""
        return self.dead_hand or self.piles > 0

    @cached_property
    def others(self) -> dict[str, tuple[str, ...]]:
        """The actions besides cards by their kind, in id order; kinds from `name` on hold one a suit, again and again.

        Statements are "I hold n cards of a suit" (`count`) and "I hold this card" (`card`: of the two highest ranks).
        """
        kinds: dict[str, tuple[str, ...]] = {}
        if self.redeal or self.talk or self.auction:
            kinds["pass"] = ("pass",)
        if self.redeal:
            kinds["ask"] = ("ask", "agree", "refuse")
        if self.auction:
            kinds["bid"] = tuple(f"bid-{points}" for points in range(self.neutral + 1, self.total_points + 1))
            kinds["name"] = tuple(f"trump-{suit}" for suit in SUIT_NAMES)
        if self.talk:
            sizes = range(self.hand_size + 1)
            kinds["count"] = tuple(f"holds-{count}-{suit}" for count in sizes for suit in SUIT_NAMES)
            kinds["card"] = tuple(f"holds-{rank}{suit}" for rank in self.rank_names[:-3:-1] for suit in SUITS)
        return kinds

    @cached_property
    def action_names(self) -> tuple[str, ...]:
        """The text of each action id: the cards, then the rule set's other actions."""
        cards = (card_name(self, card) for card in range(4 * self.ranks))
        return (*cards, *(name for names in self.others.values() for name in names))

    @property
    def num_actions(self) -> int:
        return len(self.action_names)

    @cached_property
    def first_suit_action(self) -> int:
        """From this id on actions besides cards come in fours, one for each suit."""
        suited = sum(len(self.others.get(kind, ())) for kind in SUITED)
        return self.num_actions - suited

    @property
    def longest_hand(self) -> int:
        """The most actions that a hand can take."""
        asks = 2 * self.num_seats * bool(self.redeal)
        bids = (self.num_seats + 1) * (self.auction)
        return self.num_seats * self.num_tricks + asks + bids + 2 * self.num_tricks * self.talk

    @cached_property
    def hash(self) -> str:
        """16 hex digits over every field but the name and the pack shown: equal hashes play the same game."""
        played = {key: value for key, value in self.to_dict().items() if key not in ("name", "pack")}
        return hashlib.sha256(json.dumps(played, sort_keys=True).encode()).hexdigest()[:16]

    @cached_property
    def table(self) -> NDArray[np.void]:
        """The rules for the compiled engine: a read-only structured array of one TABLE row."""
        return table_of(self)

    def team(self, seat: int) -> int:
        return self.teams[seat]

    def to_dict(self) -> dict[str, Any]:
        """Every field, as JSON holds it."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> RuleSet:
        """The rule set of `to_dict`; ValueError names an unknown or missing field."""
        known = {field.name for field in fields(cls)}
        if not isinstance(values, dict) or set(values) != known:
            odd = sorted(known.symmetric_difference(values)) if isinstance(values, dict) else values
            raise ValueError(f"a rule set needs exactly the fields {sorted(known)}; wrong here: {odd}")
        return cls(**values)


def _typed(name: str, kind: str, value: Any) -> Any:
    """The value in the field's own type, or ValueError."""
    if kind.startswith("tuple") and isinstance(value, list | tuple):
        item = int if "int" in kind else str
        if all(type(entry) is item for entry in value):
            return tuple(value)
    elif kind == "float" and type(value) in (int, float):
        return float(value)
    elif type(value).__name__ == kind:
        return value
    raise ValueError(f"rule set field {name} must be {kind}, not {value!r}")


# --- the presets
MALILLA = RuleSet()
MALILLA_ZONE: dict[str, Any] = {"redeal": 7, "protected": "played"}
# Section 2: what the 32-card game changes; section 3's take over its play and scoring.
MANILLE_PLAY: dict[str, Any] = {
    "trick_points": 0,
    "neutral": 30,
    "dealer_bonus": False,
    "climb_over_partner": True,
    "undertrump": "forced",
    "protected": "off",
    "target": 101,
    "capote_wins": False,
}
THREE_ALONE: dict[str, Any] = {"teams": (0, 1, 2), "neutral": 20}


def _presets() -> Iterator[RuleSet]:
    yield MALILLA
    yield RuleSet(name="malilla-70", target=70)  # 1.6.1
    yield RuleSet(name="malilla-redeal", redeal=7)  # 1.6.2
    yield RuleSet(name="malilla-albur", albur=5)  # 1.6.3
    yield RuleSet(name="malilla-zone", **MALILLA_ZONE)  # 1.6
    yield RuleSet(name="malilla-zone-70", target=70, **MALILLA_ZONE)
    manille = RuleSet(  # 2
        name="manille",
        rank_names="789JQKAT",
        rank_points=(0, 0, 0, 1, 2, 3, 4, 5),
        packets=(3, 2, 3),
        **MANILLE_PLAY,
    )
    yield manille
    yield RuleSet(  # 3.1
        name="manilla-48",
        rank_names="2345678JQKA9",
        rank_points=(0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5),
        pack="spanish",
        neutral=36,
        protected="off",
        target=40,
    )
    yield RuleSet(name="malilla-espanola", pack="spanish", **MANILLE_PLAY)  # 3.2
    yield RuleSet(  # 3.3
        name="malilla-nueve",
        rank_names="234567JQKA9",
        rank_points=(0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5),
        **MANILLE_PLAY,
    )
    yield _like(manille, name="manille-muette")  # 3.4
    yield _like(manille, name="manille-parlee", talk=True)  # 3.5
    yield _like(manille, name="manille-encheres", trump="bid")  # 3.6
    yield _like(manille, name="manille-3", removed=("7s", "7c"), packets=(), **THREE_ALONE)  # 3.7
    yield _like(manille, name="manille-3-dead", dead_hand=True, **THREE_ALONE)
    yield _like(manille, name="manille-2", teams=(0, 1), piles=8, packets=())  # 3.8


def _like(base: RuleSet, **changes: Any) -> RuleSet:
    """A rule set with some fields changed, its name among them."""
    return RuleSet(**{**base.to_dict(), **changes})


PRESETS: dict[str, RuleSet] = {rules.name: rules for rules in _presets()}


def override(text: str) -> tuple[str, Any]:
    """A field and its value from FIELD=VALUE: JSON (70, true, [0, 1, 0, 1]), or a plain word."""
    field, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"{text!r} changes no field of a rule set: write FIELD=VALUE, e.g. target=70")
    try:
        return field, json.loads(value)
    except ValueError:
        return field, value


def ruleset(name: str | RuleSet = "malilla", /, **overrides: Any) -> RuleSet:
    """A preset by name, or a rule set already made, with fields replaced: ``ruleset("malilla", target=70)``.

    ValueError lists the choices when the name or a field is unknown.
    """
    if not isinstance(name, RuleSet) and name not in list(PRESETS):
        raise ValueError(f"unknown rule set {name!r}: choose one of {', '.join(PRESETS)}")
    base = name if isinstance(name, RuleSet) else PRESETS[name]
    known = [field.name for field in fields(RuleSet) if field.name != "name"]
    for field in overrides:
        if field not in known:
            raise ValueError(f"unknown rule set field {field!r}: choose among {', '.join(known)}")
    return _like(base, **overrides)
