"""RuleSet: a game of the family as a value, and the presets.

Enters: a preset's name and overrides. Leaves: a frozen, validated RuleSet; its ``table``, the same facts as one NumPy
record for the compiled engine; its ``hash``, by which files recognise the rules they were made under. A game is data:
nothing outside this file asks which game it is. Numbers in brackets are paragraphs of docs/RULES.md.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from malilla_env.cards import card_name, mask_of, parse_card

MAX_SEATS = 4
MAX_CARDS = 52

UNDERTRUMP = ("optional", "forbidden", "forced")
PROTECTED = ("off", "led", "played")
ILLEGAL = ("lose_match", "raise")
PACKS = ("french", "spanish")

TABLE = np.dtype(
    [
        ("suit_mask", "u8", 4),
        ("contests", "u8", (MAX_SEATS, MAX_SEATS)),  # 1.3.7: all cards if a seat must beat another's, else 0
        ("above", "u8", MAX_CARDS),  # the higher cards of the card's suit
        ("deck_mask", "u8"),
        ("tops", "u8"),  # the highest card of each suit: the malillas
        ("deck", "u1", MAX_CARDS),
        ("suit", "u1", MAX_CARDS),
        ("points", "i1", MAX_CARDS),
        ("team", "u1", MAX_SEATS),
        ("num_seats", "i2"),
        ("num_teams", "i2"),
        ("num_cards", "i2"),
        ("hand_size", "i2"),
        ("ranks", "i2"),
        ("num_actions", "i2"),
        ("total_points", "i2"),
        ("top_points", "i2"),  # of the most valuable card
        ("trick_points", "i2"),
        ("neutral", "i2"),
        ("target", "i2"),
        ("undertrump", "i1"),
        ("protected", "i1"),
        ("climb", "i1"),
        ("dealer_bonus", "i1"),
        ("capote_wins", "i1"),
    ],
    align=True,
)


@dataclass(frozen=True, kw_only=True)
class RuleSet:
    """The rules of one game; every field is checked, and a wrong one raises ValueError that names it."""

    name: str = "malilla"
    teams: tuple[int, ...] = (0, 1, 0, 1)  # the team of each seat, in playing order (1.1.1)
    rank_names: str = "23456JQKA7"  # low to high (1.1.3)
    rank_points: tuple[int, ...] = (0, 0, 0, 0, 0, 1, 2, 3, 4, 5)  # card points of each rank (1.1.4)
    removed: tuple[str, ...] = ()  # cards that the deck lacks (1.1.2)
    pack: str = "french"  # how cards are shown: french | spanish (1.1.2)
    trick_points: int = 1  # each trick is worth this much more (1.1.4)
    neutral: int = 35  # a side scores its points above this (1.1.4, 1.5.2)
    dealer_bonus: bool = True  # the turned-up card's points go to the dealer's side (1.2.4)
    climb_over_partner: bool = False  # beat and trump a partner who is winning too (1.3.7)
    undertrump: str = "optional"  # optional | forbidden | forced (1.3.6)
    protected: str = "led"  # a suit's malilla may be discarded once its suit was led | played; off: always (1.3.8)
    illegal: str = "lose_match"  # what an illegal play does: lose_match | raise (1.4.1)
    target: int = 35  # match points that win the match (1.5.3)
    capote_wins: bool = True  # all tricks win the match at once (1.5.5)
    zapato_multiplier: float = 1.0  # of the match reward, when the loser stands at 0 (1.5.6)

    def __post_init__(self) -> None:
        for field in fields(self):
            object.__setattr__(self, field.name, _typed(field.name, str(field.type), getattr(self, field.name)))
        _check(self)

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
    def hand_size(self) -> int:
        return self.num_cards // self.num_seats

    @property
    def num_tricks(self) -> int:
        return self.hand_size

    @property
    def total_points(self) -> int:
        """Points of a hand, cards and tricks (1.1.4)."""
        return sum(self.rank_points[card % self.ranks] for card in self.deck) + self.num_tricks * self.trick_points

    @cached_property
    def action_names(self) -> tuple[str, ...]:
        """The text of each action id: the cards, then the rule set's other actions."""
        return tuple(card_name(self, card) for card in range(4 * self.ranks))

    @property
    def num_actions(self) -> int:
        return len(self.action_names)

    @cached_property
    def hash(self) -> str:
        """16 hex digits over every field but the name and the pack shown: equal hashes play the same game."""
        played = {key: value for key, value in self.to_dict().items() if key not in ("name", "pack")}
        return hashlib.sha256(json.dumps(played, sort_keys=True).encode()).hexdigest()[:16]

    @cached_property
    def table(self) -> NDArray[np.void]:
        """The rules for the compiled engine: a read-only structured array of one TABLE row."""
        return _table(self)

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


def _check(rules: RuleSet) -> None:
    """Refuse settings that contradict each other, each with its reason."""
    for field, choices in (("undertrump", UNDERTRUMP), ("protected", PROTECTED), ("illegal", ILLEGAL), ("pack", PACKS)):
        if getattr(rules, field) not in choices:
            raise ValueError(
                f"rule set field {field} must be one of {', '.join(choices)}, not {getattr(rules, field)!r}"
            )
    seats, ranks = rules.num_seats, rules.ranks
    reasons = [
        (not rules.name, "name must not be empty"),
        (not 2 <= seats <= MAX_SEATS, f"teams {rules.teams} must name 2 to {MAX_SEATS} seats"),
        (
            sorted(set(rules.teams)) != list(range(len(set(rules.teams)))),
            f"teams {rules.teams} must be numbered from 0",
        ),
        (len(set(rules.teams)) < 2, f"teams {rules.teams} must be at least two"),
        (not 1 <= ranks <= MAX_CARDS // 4, f"rank_names {rules.rank_names!r} must hold 1 to {MAX_CARDS // 4} ranks"),
        (not rules.rank_names.isalnum(), f"rank_names {rules.rank_names!r} must be letters and digits"),
        (len(set(rules.rank_names)) != ranks, f"rank_names {rules.rank_names!r} names a rank twice"),
        (
            len(rules.rank_points) != ranks,
            f"rank_points must hold {ranks} numbers, one for each of {rules.rank_names!r}",
        ),
        (not all(0 <= points <= 100 for points in rules.rank_points), "rank_points must be 0 to 100"),
        (not 0 <= rules.trick_points <= 100, "trick_points must be 0 to 100"),
        (
            not 1 <= rules.target <= 1000,
            f"target {rules.target} must be 1 to 1000: at 0 a match is won before it starts",
        ),
        (
            not 0 < rules.zapato_multiplier < 100,
            f"zapato_multiplier {rules.zapato_multiplier} must lie between 0 and 100",
        ),
    ]
    for wrong, reason in reasons:
        if wrong:
            raise ValueError(f"rule set: {reason}")
    _check_deck(rules)


def _check_deck(rules: RuleSet) -> None:
    if len(set(rules.removed)) != len(rules.removed) or rules.num_cards % rules.num_seats or not rules.num_cards:
        raise ValueError(
            f"rule set: a deck of {rules.num_cards} cards (removed: {rules.removed}) cannot be dealt evenly "
            f"to {rules.num_seats} seats"
        )
    if not 0 < rules.neutral <= rules.total_points // rules.num_teams:
        raise ValueError(
            f"rule set: neutral {rules.neutral} must be 1 to {rules.total_points // rules.num_teams}, "
            f"an even share of the hand's {rules.total_points} points"
        )


def _table(rules: RuleSet) -> NDArray[np.void]:
    table = np.zeros(1, TABLE)
    row = table[0]
    suit_bits = (1 << rules.ranks) - 1
    for suit in range(4):
        row["suit_mask"][suit] = (suit_bits << suit * rules.ranks) & mask_of(rules.deck)
    for card in rules.deck:
        suit, strength = divmod(card, rules.ranks)
        row["suit"][card], row["points"][card] = suit, rules.rank_points[strength]
        row["above"][card] = int(row["suit_mask"][suit]) & ~((2 << card) - 1)
        row["tops"] |= np.uint64(0 if row["above"][card] else 1 << card)
    row["deck"][: rules.num_cards], row["deck_mask"] = rules.deck, mask_of(rules.deck)
    row["team"][: rules.num_seats] = rules.teams
    for seat in range(rules.num_seats):
        for other in range(rules.num_seats):
            if rules.climb_over_partner or rules.teams[seat] != rules.teams[other]:
                row["contests"][seat, other] = row["deck_mask"]
    for field in ("num_seats", "num_teams", "num_cards", "hand_size", "ranks", "num_actions", "total_points"):
        row[field] = getattr(rules, field)
    for field in ("trick_points", "neutral", "target", "dealer_bonus", "capote_wins"):
        row[field] = getattr(rules, field)
    row["top_points"] = max(rules.rank_points)
    row["climb"], row["undertrump"] = rules.climb_over_partner, UNDERTRUMP.index(rules.undertrump)
    row["protected"] = PROTECTED.index(rules.protected)
    table.flags.writeable = False
    return table


PRESETS: dict[str, RuleSet] = {
    rules.name: rules
    for rules in (
        RuleSet(),
        RuleSet(name="malilla-70", target=70),  # the long game (1.6.1)
    )
}


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
    return RuleSet(**{**base.to_dict(), **overrides})
