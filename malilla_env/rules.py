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

from malilla_env.cards import SUIT_NAMES, SUITS, card_name, mask_of, parse_card

MAX_SEATS = 4
MAX_CARDS = 52
MAX_PLAYS = 64  # actions of one hand, cards and others
MAX_OTHERS = 64  # actions besides cards: the bits of a mask

TRUMP = ("turned", "bid", "none")
UNDERTRUMP = ("optional", "forbidden", "forced")
PROTECTED = ("off", "led", "played")
ILLEGAL = ("lose_match", "raise")
PACKS = ("french", "spanish")
SUITED = ("name", "count", "card")  # kinds of actions that speak of a suit

TABLE = np.dtype(
    [
        ("suit_mask", "u8", 5),  # the last is empty: of no trump, whose number is -1
        ("contests", "u8", (MAX_SEATS, MAX_SEATS)),  # 1.3.7: all cards if a seat must beat another's, else 0
        ("above", "u8", MAX_CARDS),  # the higher cards of the card's suit
        ("deck_mask", "u8"),
        ("tops", "u8"),  # the highest card of each suit: the malillas
        ("deck", "u1", MAX_CARDS),
        ("suit", "u1", MAX_CARDS),
        ("points", "i1", MAX_CARDS),
        ("team", "u1", MAX_SEATS),
        ("partner", "i1", MAX_SEATS),  # the other seat of the team, -1 for none
        ("places", "u1", (MAX_SEATS + 1, MAX_CARDS)),  # of the deck, whose cards go to each: `RuleSet.dealing`
        ("num_seats", "i2"),
        ("num_teams", "i2"),
        ("num_cards", "i2"),
        ("hand_size", "i2"),
        ("num_tricks", "i2"),
        ("piles", "i2"),
        ("dead_cards", "i2"),
        ("ranks", "i2"),
        ("num_actions", "i2"),
        ("total_points", "i2"),
        ("top_points", "i2"),  # of the most valuable card
        ("trick_points", "i2"),
        ("neutral", "i2"),
        ("target", "i2"),
        ("last_trick_bonus", "i2"),
        ("redeal", "i2"),
        ("albur", "i2"),
        # where each kind of action begins among those besides cards
        ("ask_at", "i2"),
        ("bid_at", "i2"),
        ("num_bids", "i2"),
        ("name_at", "i2"),
        ("count_at", "i2"),
        ("card_at", "i2"),
        ("trump", "i1"),
        ("undertrump", "i1"),
        ("protected", "i1"),
        ("climb", "i1"),
        ("dealer_bonus", "i1"),
        ("capote_wins", "i1"),
        ("loser_pays", "i1"),
        ("redeal_level", "i1"),
        ("talk", "i1"),
    ],
    align=True,
)

# Fields of the table that are the rule set's own by the same name.
NUMBERS = (
    *("num_seats", "num_teams", "num_cards", "hand_size", "num_tricks", "piles", "dead_cards", "ranks", "num_actions"),
    *("total_points", "trick_points", "neutral", "target", "last_trick_bonus", "redeal", "albur"),
    *("dealer_bonus", "capote_wins", "loser_pays", "redeal_level", "talk"),
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
    """Refuse settings that make no sense or contradict each other, each with its reason."""
    choices = {"trump": TRUMP, "undertrump": UNDERTRUMP, "protected": PROTECTED, "illegal": ILLEGAL, "pack": PACKS}
    for field, known in choices.items():
        if getattr(rules, field) not in known:
            raise ValueError(f"rule set field {field} must be one of {', '.join(known)}, not {getattr(rules, field)!r}")
    for reasons in (_wrong_table, _wrong_deal, _wrong_points, _wrong_options):
        for wrong, reason in reasons(rules):
            if wrong:
                raise ValueError(f"rule set: {reason}")


Reasons = Iterator[tuple[bool, str]]  # lazily, so that each may take for granted what those before it asked


def _wrong_table(rules: RuleSet) -> Reasons:
    seats, ranks, names = rules.num_seats, rules.ranks, rules.rank_names
    yield not rules.name, "name must not be empty"
    yield not 2 <= seats <= MAX_SEATS, f"teams {rules.teams} must name 2 to {MAX_SEATS} seats"
    sides = sorted(set(rules.teams))
    yield sides != list(range(len(sides))), f"teams {rules.teams} must be numbered from 0"
    yield len(sides) < 2, f"teams {rules.teams} must be at least two"
    yield not 1 <= ranks <= MAX_CARDS // 4, f"rank_names {names!r} must hold 1 to {MAX_CARDS // 4} ranks"
    yield not names.isalnum(), f"rank_names {names!r} must be letters and digits"
    yield len(set(names)) != ranks, f"rank_names {names!r} names a rank twice"
    yield len(rules.rank_points) != ranks, f"rank_points must hold {ranks} numbers, one for each of {names!r}"


def _wrong_deal(rules: RuleSet) -> Reasons:
    hands = f"{rules.num_seats} seats" + (" and a dead hand" if rules.dead_hand else "")
    uneven = len(set(rules.removed)) != len(rules.removed) or rules.num_cards % rules.num_hands or not rules.num_cards
    deck = f"a deck of {rules.num_cards} cards (removed: {rules.removed})"
    yield bool(uneven), f"{deck} cannot be dealt evenly to {hands}"
    each = rules.num_tricks
    yield (
        bool(rules.packets) and (sum(rules.packets) != each or min(rules.packets) < 1),
        f"packets {rules.packets} must be 1 or more each and deal {each} cards in all to each hand",
    )
    yield (
        rules.piles < 0 or bool(rules.piles) and 2 * rules.piles != each,
        f"piles {rules.piles} of two cards cannot hold the {each} cards that each player gets",
    )
    yield (
        bool(rules.piles) and rules.dead_hand,
        "piles and dead_hand: cards face down that are played and cards face down that are not exclude each other",
    )


def _wrong_points(rules: RuleSet) -> Reasons:
    yield not all(0 <= points <= 100 for points in rules.rank_points), "rank_points must be 0 to 100"
    yield not 0 <= rules.trick_points <= 100, f"trick_points {rules.trick_points} must be 0 to 100"
    yield not 0 <= rules.last_trick_bonus <= 100, f"last_trick_bonus {rules.last_trick_bonus} must be 0 to 100"
    share = rules.total_points // rules.num_teams
    yield (
        not 0 < rules.neutral <= share,
        f"neutral {rules.neutral} must be 1 to {share}, an even share of the hand's {rules.total_points} points",
    )
    target = f"target {rules.target}"
    yield not 1 <= rules.target <= 1000, f"{target} must be 1 to 1000: at 0 a match is won before it starts"
    multiplier = rules.zapato_multiplier
    yield not 0 < multiplier < 100, f"zapato_multiplier {multiplier} must lie between 0 and 100"
    yield not 0 <= rules.albur <= 100, f"albur {rules.albur} must be 0 to 100"


def _wrong_options(rules: RuleSet) -> Reasons:
    two_sides, teams = rules.num_teams == 2, f"teams {rules.teams}"
    partners = all(rules.teams.count(team) == 2 for team in rules.teams)
    neighbours = any(team == rules.teams[at - 1] for at, team in enumerate(rules.teams))
    turned, bonus = rules.trump == "turned", rules.dealer_bonus or rules.albur > 0
    yield rules.trump == "none" and rules.protected != "off", "a protected card needs a trump: with trump none, set off"
    yield rules.dealer_bonus and not turned, f"dealer_bonus needs a turned-up card, and trump is {rules.trump}"
    yield rules.loser_pays and bonus, "loser_pays lets scores fall, so a bonus that waits would never be sure to win"
    yield rules.loser_pays and not two_sides, f"loser_pays needs two sides: among {teams} it is not said who pays whom"
    yield not 0 <= rules.redeal <= rules.hand_size, f"redeal {rules.redeal} must be 0 to the {rules.hand_size} of a hand"
    yield rules.redeal > 0 and not partners, f"redeal needs a partner who agrees: {teams} are not two and two"
    yield rules.redeal > 0 and not turned, f"redeal is asked for after the turn-up, and trump is {rules.trump}"
    yield rules.talk and not partners, f"talk needs a partner who listens: {teams} are not two and two"
    yield rules.auction and not two_sides, f"trump bid needs two sides: in {teams} nobody would share a failed bid"
    yield rules.albur > 0 and (neighbours or not two_sides), f"albur needs two sides by turns around the table: {teams}"
    level = len({card % rules.ranks for card in rules.deck}) < 2
    yield rules.albur > 0 and level, "albur needs cards of unequal strength: two of one rank are drawn again for ever"
    others = sum(map(len, rules.others.values()))
    yield others > MAX_OTHERS, f"{others} actions besides cards, and a mask holds {MAX_OTHERS}: a smaller hand or no talk"
    longest = rules.longest_hand
    yield longest > MAX_PLAYS, f"a hand can take {longest} actions, and its record holds {MAX_PLAYS}: leave talk out"


def _table(rules: RuleSet) -> NDArray[np.void]:
    table = np.zeros(1, TABLE)
    row = table[0]
    _put_cards(rules, row)
    _put_seats(rules, row)
    for field in NUMBERS:
        row[field] = getattr(rules, field)
    row["top_points"], row["climb"] = max(rules.rank_points), rules.climb_over_partner
    row["trump"], row["undertrump"] = TRUMP.index(rules.trump), UNDERTRUMP.index(rules.undertrump)
    row["protected"], row["num_bids"] = PROTECTED.index(rules.protected), len(rules.others.get("bid", ()))
    at = 0
    for kind, names in rules.others.items():
        if kind != "pass":
            row[f"{kind}_at"] = at
        at += len(names)
    table.flags.writeable = False
    return table


def _put_cards(rules: RuleSet, row: np.void) -> None:
    suit_bits = (1 << rules.ranks) - 1
    for suit in range(4):
        row["suit_mask"][suit] = (suit_bits << suit * rules.ranks) & mask_of(rules.deck)
    for card in rules.deck:
        suit, strength = divmod(card, rules.ranks)
        row["suit"][card], row["points"][card] = suit, rules.rank_points[strength]
        row["above"][card] = int(row["suit_mask"][suit]) & ~((2 << card) - 1)
        row["tops"] |= np.uint64(0 if row["above"][card] else 1 << card)
    row["deck"][: rules.num_cards], row["deck_mask"] = rules.deck, mask_of(rules.deck)


def _put_seats(rules: RuleSet, row: np.void) -> None:
    seats = range(rules.num_seats)
    row["team"][: rules.num_seats], row["partner"] = rules.teams, -1
    for seat in seats:
        for other in seats:
            if rules.climb_over_partner or rules.teams[seat] != rules.teams[other]:
                row["contests"][seat, other] = row["deck_mask"]
            if seat != other and rules.teams[seat] == rules.teams[other]:
                row["partner"][seat] = other
    for hand in range(rules.num_hands):
        places = [place for place, to in enumerate(rules.dealing) if to == hand]
        # the open cards first: of piles, the second half of what is dealt
        places = places[rules.piles :] + places[: rules.piles]
        row["places"][hand, : len(places)] = places


# --- the presets
MALILLA = RuleSet()
MALILLA_ZONE = dict(redeal=7, protected="played")
# Section 2: what the 32-card game changes; section 3's take over its play and scoring.
MANILLE_PLAY = dict(
    trick_points=0,
    neutral=30,
    dealer_bonus=False,
    climb_over_partner=True,
    undertrump="forced",
    protected="off",
    target=101,
    capote_wins=False,
)
MANILLE = dict(rank_names="789JQKAT", rank_points=(0, 0, 0, 1, 2, 3, 4, 5), packets=(3, 2, 3), **MANILLE_PLAY)


def _presets() -> Iterator[RuleSet]:
    yield MALILLA
    yield RuleSet(name="malilla-70", target=70)  # 1.6.1
    yield RuleSet(name="malilla-redeal", redeal=7)  # 1.6.2
    yield RuleSet(name="malilla-albur", albur=5)  # 1.6.3
    yield RuleSet(name="malilla-zone", **MALILLA_ZONE)  # 1.6
    yield RuleSet(name="malilla-zone-70", target=70, **MALILLA_ZONE)
    manille = RuleSet(name="manille", **MANILLE)  # 2
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
    three = dict(teams=(0, 1, 2), neutral=20)
    yield _like(manille, name="manille-3", removed=("7s", "7c"), packets=(), **three)  # 3.7
    yield _like(manille, name="manille-3-dead", dead_hand=True, **three)
    yield _like(manille, name="manille-2", teams=(0, 1), piles=8, packets=())  # 3.8


def _like(base: RuleSet, **changes: Any) -> RuleSet:
    """A rule set with some fields changed, its name among them."""
    return RuleSet(**{**base.to_dict(), **changes})


PRESETS: dict[str, RuleSet] = {rules.name: rules for rules in _presets()}


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
