"""Rule sets as values: the presets' figures and actions, and the settings that are refused.

Reads the rule sets, the README's table and nothing of the engine. Figures stand here as docs/RULES.md tells them.
"""

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import NamedTuple

import pytest

from malilla_env import contradictions
from malilla_env import rules as rules_file
from malilla_env.rules import PRESETS, RuleSet, ruleset
from malilla_env.table import MAX_OTHERS, MAX_PLAYS

ROOT = Path(__file__).parents[2]
PAIRS, THREE, TWO = (0, 1, 0, 1), (0, 1, 2), (0, 1)


class Figures(NamedTuple):
    teams: tuple[int, ...]
    cards: int
    hand: int  # cards that a player holds when the play begins
    tricks: int
    points: int
    neutral: int
    target: int


FIGURES = {
    "malilla": Figures(PAIRS, 40, 10, 10, 70, 35, 35),
    "malilla-70": Figures(PAIRS, 40, 10, 10, 70, 35, 70),
    "malilla-redeal": Figures(PAIRS, 40, 10, 10, 70, 35, 35),
    "malilla-albur": Figures(PAIRS, 40, 10, 10, 70, 35, 35),
    "malilla-zone": Figures(PAIRS, 40, 10, 10, 70, 35, 35),
    "malilla-zone-70": Figures(PAIRS, 40, 10, 10, 70, 35, 70),
    "manille": Figures(PAIRS, 32, 8, 8, 60, 30, 101),
    "manilla-48": Figures(PAIRS, 48, 12, 12, 72, 36, 40),
    "malilla-espanola": Figures(PAIRS, 40, 10, 10, 60, 30, 101),
    "malilla-nueve": Figures(PAIRS, 44, 11, 11, 60, 30, 101),
    "manille-muette": Figures(PAIRS, 32, 8, 8, 60, 30, 101),
    "manille-parlee": Figures(PAIRS, 32, 8, 8, 60, 30, 101),
    "manille-encheres": Figures(PAIRS, 32, 8, 8, 60, 30, 101),
    "manille-3": Figures(THREE, 30, 10, 10, 60, 20, 101),
    "manille-3-dead": Figures(THREE, 32, 8, 8, 60, 20, 101),
    "manille-2": Figures(TWO, 32, 8, 16, 60, 30, 101),
}

# The ranks from the top, as in the paragraphs; the first five count 5 4 3 2 1, the rest nothing.
RANKS = {
    "malilla": "7AKQJ65432",  # 1.1.3
    "manille": "TAKQJ987",  # 2.1
    "manilla-48": "9AKQJ8765432",  # 3.1
    "malilla-espanola": "7AKQJ65432",  # 3.2
    "malilla-nueve": "9AKQJ765432",  # 3.3
}

# How the duties, the bonus and the end of a match are set: sections 1 and 2, and 3.1.
SECTION_1 = {
    "climb_over_partner": False,
    "undertrump": "optional",
    "protected": "led",
    "dealer_bonus": True,
    "capote_wins": True,
    "trick_points": 1,
    "packets": (),
}
SECTION_2 = {
    "climb_over_partner": True,
    "undertrump": "forced",
    "protected": "off",
    "dealer_bonus": False,
    "capote_wins": False,
    "trick_points": 0,
    "packets": (3, 2, 3),
}
SETTINGS = {
    "malilla": SECTION_1,
    "malilla-70": SECTION_1,
    "malilla-redeal": {**SECTION_1, "redeal": 7},
    "malilla-albur": {**SECTION_1, "albur": 5},
    "malilla-zone": {**SECTION_1, "redeal": 7, "protected": "played"},
    "malilla-zone-70": {**SECTION_1, "redeal": 7, "protected": "played"},
    "manille": SECTION_2,
    "manilla-48": {**SECTION_1, "protected": "off", "pack": "spanish"},
    "malilla-espanola": {**SECTION_2, "packets": (), "pack": "spanish"},
    "malilla-nueve": {**SECTION_2, "packets": ()},
    "manille-muette": SECTION_2,
    "manille-parlee": {**SECTION_2, "talk": True},
    "manille-encheres": {**SECTION_2, "trump": "bid"},
    "manille-3": {**SECTION_2, "packets": (), "removed": ("7s", "7c")},
    "manille-3-dead": {**SECTION_2, "dead_hand": True},
    "manille-2": {**SECTION_2, "packets": (), "piles": 8},
}
# What every preset leaves alone unless SETTINGS says otherwise.
PLAIN = {
    "pack": "french",
    "removed": (),
    "dead_hand": False,
    "piles": 0,
    "trump": "turned",
    "illegal": "lose_match",
    "redeal": 0,
    "albur": 0,
    "talk": False,
    "loser_pays": False,
    "redeal_level": False,
    "last_trick_bonus": 0,
    "zapato_multiplier": 1.0,
}


# ---- the presets -----------------------------------------------------------------------------------------------------


def test_these_are_the_presets():
    assert list(PRESETS) == list(FIGURES) == list(SETTINGS)
    assert all(rules.name == name for name, rules in PRESETS.items())
    assert ruleset() is PRESETS["malilla"] or ruleset() == PRESETS["malilla"]


@pytest.mark.parametrize("name", PRESETS)
def test_figures(name):
    rules = PRESETS[name]
    assert FIGURES[name] == (
        rules.teams,
        rules.num_cards,
        rules.hand_size,
        rules.num_tricks,
        rules.total_points,
        rules.neutral,
        rules.target,
    )


@pytest.mark.parametrize("name", PRESETS)
def test_ranks_and_their_points(name):
    rules = PRESETS[name]
    base = name if name in RANKS else name.split("-")[0]
    assert rules.rank_names[::-1] == RANKS[base]
    assert rules.rank_points[::-1] == (5, 4, 3, 2, 1) + (0,) * (len(RANKS[base]) - 5)


@pytest.mark.parametrize("name", PRESETS)
def test_settings(name):
    rules = PRESETS[name]
    expected = {**PLAIN, **SETTINGS[name]}
    told = {"name", "teams", "rank_names", "rank_points", "neutral", "target"}  # in the tests above
    assert told | set(expected) == {field.name for field in fields(RuleSet)}
    assert {field: getattr(rules, field) for field in expected} == expected


def test_the_readme_tells_them_all():
    """Its table of rule sets, cell by cell."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| (.* against .*|.*, each alone .*)\|$", text, re.MULTILINE)
    table = {name: [cell.strip() for cell in cells.split("|")] for name, cells in rows}
    assert list(table) == list(PRESETS)
    players = {PAIRS: "2 against 2", THREE: "3, each alone", TWO: "2, each alone"}
    for name, rules in PRESETS.items():
        who, *figures, special = table[name]
        assert who == players[rules.teams]
        wanted = [rules.num_cards, rules.num_tricks, rules.total_points, rules.neutral, rules.target]
        assert figures == [str(figure) for figure in wanted], name
        assert special


@pytest.mark.parametrize("name", PRESETS)
def test_the_rules_name_each_of_them(name):
    assert f"`{name}`" in (ROOT / "docs" / "RULES.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("field", [field.name for field in fields(RuleSet) if field.name != "name"])
def test_the_rules_name_each_field(field):
    """A person who looks for what a field does finds it in brackets."""
    bracketed = re.findall(r"\*\*\[(.*?)\]\*\*", (ROOT / "docs" / "RULES.md").read_text(encoding="utf-8"), re.DOTALL)
    assert any(re.search(rf"\b{field}\b", text) for text in bracketed)


# ---- actions ---------------------------------------------------------------------------------------------------------


def after_the_cards(rules: RuleSet) -> list[str]:
    return list(rules.action_names[4 * rules.ranks :])


@pytest.mark.parametrize("name", PRESETS)
def test_cards_come_first_by_suit_and_from_the_lowest(name):
    rules = PRESETS[name]
    cards = rules.action_names[: 4 * rules.ranks]
    assert cards == tuple(rank + suit for suit in "shdc" for rank in rules.rank_names)


@pytest.mark.parametrize("name", ["malilla", "malilla-70", "malilla-albur", "manille", "manille-muette", "manille-2"])
def test_most_games_have_no_other_actions(name):
    assert after_the_cards(PRESETS[name]) == []


@pytest.mark.parametrize("name", ["malilla-redeal", "malilla-zone", "malilla-zone-70"])
def test_actions_of_the_redeal(name):
    assert after_the_cards(PRESETS[name]) == ["pass", "ask", "agree", "refuse"]


def test_actions_of_the_auction():
    trumps = ["trump-spades", "trump-hearts", "trump-diamonds", "trump-clubs"]
    bids = [f"bid-{points}" for points in range(31, 61)]
    assert after_the_cards(PRESETS["manille-encheres"]) == ["pass", *bids, *trumps]
    highest = ruleset("manille-encheres", last_trick_bonus=1)
    assert after_the_cards(highest)[30:32] == ["bid-60", "bid-61"]


def test_actions_of_the_talk():
    suits = ("spades", "hearts", "diamonds", "clubs")
    counts = [f"holds-{count}-{suit}" for count in range(9) for suit in suits]
    cards = ["holds-Ts", "holds-Th", "holds-Td", "holds-Tc", "holds-As", "holds-Ah", "holds-Ad", "holds-Ac"]
    assert after_the_cards(PRESETS["manille-parlee"]) == ["pass", *counts, *cards]


def test_all_kinds_together_stand_in_one_order_with_one_pass():
    rules = RuleSet(redeal=2, talk=True, rank_names="KA7", rank_points=(3, 4, 5), neutral=20)
    names = after_the_cards(rules)
    assert names[:5] == ["pass", "ask", "agree", "refuse", "holds-0-spades"]
    assert names.count("pass") == 1
    assert rules.first_suit_action == 12 + 4
    assert len(set(rules.action_names)) == rules.num_actions == len(rules.action_names)


@pytest.mark.parametrize("name", PRESETS)
def test_actions_of_suits_come_last_in_fours(name):
    rules = PRESETS[name]
    named = {"manille-encheres": 4, "manille-parlee": 36 + 8}.get(name, 0)
    assert rules.num_actions - rules.first_suit_action == named
    suits = [text.split("-")[-1][-1] for text in rules.action_names[rules.first_suit_action :]]
    assert len(suits) % 4 == 0
    assert all(text.startswith(("trump-", "holds-")) for text in rules.action_names[rules.first_suit_action :])


@pytest.mark.parametrize(
    ("name", "longest"),
    [
        ("malilla", 40),
        ("malilla-redeal", 40 + 8),
        ("manille-encheres", 32 + 5),
        ("manille-parlee", 32 + 16),
        ("manille-3", 30),
        ("manille-3-dead", 24),
        ("manille-2", 32),
    ],
)
def test_the_longest_hand(name, longest):
    """Every play, all asks refused, four bids and a name, two statements a trick."""
    assert PRESETS[name].longest_hand == longest
    assert longest <= MAX_PLAYS


# ---- as text, as a key -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_round_trip_through_json(name):
    rules = PRESETS[name]
    assert RuleSet.from_dict(json.loads(json.dumps(rules.to_dict()))) == rules


def test_a_missing_or_unknown_field_is_named():
    values = PRESETS["manille"].to_dict()
    with pytest.raises(ValueError, match=r"wrong here: \['tarjet'\]"):
        RuleSet.from_dict({**values, "tarjet": 101})
    values.pop("talk")
    with pytest.raises(ValueError, match=r"wrong here: \['talk'\]"):
        RuleSet.from_dict(values)
    with pytest.raises(ValueError, match="wrong here: 7"):
        RuleSet.from_dict(7)


def test_equal_games_have_equal_hashes():
    assert PRESETS["manille"].hash == PRESETS["manille-muette"].hash
    assert PRESETS["manille"].hash == ruleset("manille-parlee", talk=False).hash
    assert PRESETS["malilla"].hash == ruleset("malilla", pack="spanish").hash
    assert re.fullmatch("[0-9a-f]{16}", PRESETS["manille"].hash)


def test_different_games_have_different_hashes():
    others = [rules.hash for name, rules in PRESETS.items() if name != "manille-muette"]
    assert len(set(others)) == len(others)


# A change of each field that affects the play, from `manille` (or, where that cannot be, from the preset named).
CHANGES = {
    "teams": ("manille", {"teams": (0, 0, 1, 1)}),
    "rank_names": ("manille", {"rank_names": "789JQKTA"}),
    "rank_points": ("manille", {"rank_points": (0, 0, 1, 1, 2, 3, 4, 5)}),
    "removed": ("manille", {"removed": ("7s", "7h", "7d", "7c"), "packets": ()}),
    "packets": ("manille", {"packets": (4, 4)}),
    "dead_hand": ("manille-2", {"dead_hand": True, "removed": ("7s", "7c"), "piles": 0, "neutral": 20}),
    "piles": ("manille-2", {"piles": 0}),
    "trick_points": ("manille", {"trick_points": 1}),
    "last_trick_bonus": ("manille", {"last_trick_bonus": 1}),
    "neutral": ("manille", {"neutral": 29}),
    "trump": ("manille", {"trump": "none"}),
    "dealer_bonus": ("manille", {"dealer_bonus": True}),
    "climb_over_partner": ("manille", {"climb_over_partner": False}),
    "undertrump": ("manille", {"undertrump": "optional"}),
    "protected": ("manille", {"protected": "led"}),
    "illegal": ("manille", {"illegal": "raise"}),
    "redeal": ("manille", {"redeal": 7}),
    "albur": ("manille", {"albur": 5}),
    "talk": ("manille", {"talk": True}),
    "loser_pays": ("manille", {"loser_pays": True}),
    "redeal_level": ("manille", {"redeal_level": True}),
    "target": ("manille", {"target": 50}),
    "capote_wins": ("manille", {"capote_wins": True}),
    "zapato_multiplier": ("manille", {"zapato_multiplier": 2.0}),
}


@pytest.mark.parametrize("field", [field.name for field in fields(RuleSet) if field.name not in ("name", "pack")])
def test_every_field_can_be_changed_and_is_in_the_hash(field):
    base, change = CHANGES[field]
    changed = ruleset(base, **change)
    assert getattr(changed, field) == change[field]
    assert changed.name == base
    assert changed.hash != PRESETS[base].hash
    assert changed != PRESETS[base]


def test_an_unknown_name_lists_the_choices():
    with pytest.raises(ValueError, match=r"'maniye'.*manille-encheres.*manille-2"):
        ruleset("maniye")
    with pytest.raises(ValueError, match=r"'targets'.*target"):
        ruleset("manille", targets=50)
    with pytest.raises(ValueError, match=r"'name'"):
        ruleset("manille", **{"name": "mine"})  # a preset with other rules keeps its name; RuleSet takes any


# ---- settings that are refused ---------------------------------------------------------------------------------------


class Refused(NamedTuple):
    """A preset, changes of it, and what the sentence must say."""

    base: str
    changes: dict[str, object]
    reason: str


FIVE = (0, 1, 0, 1, 0)
REFUSED = [
    # the table and its pack
    Refused("manille", {"name": ""}, "name must not be empty"),
    Refused("manille", {"teams": (0,)}, "must name 2 to 4 seats"),
    Refused("manille", {"teams": FIVE}, "must name 2 to 4 seats"),
    Refused("manille", {"teams": (0, 2, 0, 2)}, "must be numbered from 0"),
    Refused("manille", {"teams": (-1, 0, -1, 0)}, "must be numbered from 0"),
    Refused("manille", {"teams": (0, 0, 0, 0)}, "must be at least two"),
    Refused("manille", {"rank_names": "", "rank_points": ()}, "must hold 1 to 13 ranks"),
    Refused("manille", {"rank_names": "23456789TJQKAX"}, "must hold 1 to 13 ranks"),
    Refused("manille", {"rank_names": "789JQKA*"}, "must be capital letters and digits"),
    Refused("manille", {"rank_names": "789jqkat"}, "must be capital letters and digits"),
    Refused("manille", {"rank_names": "789JQKA²"}, "must be capital letters and digits"),
    Refused("manille-parlee", {"piles": 4, "packets": ()}, "talk with piles: hands lie open"),
    Refused("malilla-albur", {"albur": 35}, "albur 35 would win the match before it starts"),
    Refused("manille", {"rank_names": "789JQKAA"}, "names a rank twice"),
    Refused("manille", {"rank_points": (0, 1, 2, 3, 4, 5)}, "must hold 8 numbers"),
    # the deal
    Refused("manille", {"removed": ("7s",)}, "31 cards.*cannot be dealt evenly to 4 seats"),
    Refused("manille", {"removed": ("7s", "7s", "7h", "7d", "7c")}, "cannot be dealt evenly"),
    Refused("manille", {"removed": tuple(r + s for r in "789JQKAT" for s in "shdc")}, "0 cards.*cannot be dealt"),
    Refused("manille-3", {"removed": ()}, "32 cards.*cannot be dealt evenly to 3 seats$"),
    Refused("manille-3", {"dead_hand": True}, "30 cards.*evenly to 3 seats and a dead hand"),
    Refused("manille", {"packets": (3, 3)}, r"packets \(3, 3\) must .* deal 8 cards"),
    Refused("manille", {"packets": (8, 0)}, "packets .* must be 1 or more each"),
    Refused("manille", {"packets": (9, -1)}, "packets .* must be 1 or more each"),
    Refused("manille-2", {"piles": 7}, "piles 7 of two cards cannot hold the 16 cards"),
    Refused("manille-2", {"piles": -8}, "piles -8 of two cards cannot hold"),
    Refused("manille", {"piles": 8}, "piles 8 of two cards cannot hold the 8 cards"),
    Refused("manille-3-dead", {"piles": 4}, "piles and dead_hand.*exclude each other"),
    # the points
    Refused("manille", {"rank_points": (0, 0, 0, 1, 2, 3, 4, -5)}, "rank_points must be 0 to 100"),
    Refused("manille", {"rank_points": (0, 0, 0, 1, 2, 3, 4, 101)}, "rank_points must be 0 to 100"),
    Refused("manille", {"trick_points": -1}, "trick_points -1 must be 0 to 100"),
    Refused("manille", {"last_trick_bonus": -1}, "last_trick_bonus -1 must be 0 to 100"),
    Refused("manille", {"neutral": 31}, "neutral 31 must be 1 to 30, an even share of the hand's 60 points"),
    Refused("manille-3", {"neutral": 30}, "neutral 30 must be 1 to 20"),
    Refused("manille", {"neutral": 0}, "neutral 0 must be"),
    Refused("manille", {"target": 0}, "target 0 .*won before it starts"),
    Refused("manille", {"target": -5}, "target -5 must be 1 to 1000"),
    Refused("manille", {"target": 1001}, "target 1001 must be 1 to 1000"),
    Refused("manille", {"zapato_multiplier": 0.0}, "zapato_multiplier 0.0 must lie between"),
    Refused("manille", {"zapato_multiplier": float("nan")}, "zapato_multiplier nan must lie between"),
    Refused("manille", {"albur": -5}, "albur -5 must be 0 to 100"),
    # options that contradict each other
    Refused("malilla", {"trump": "none", "dealer_bonus": False}, "protected card needs a trump.*set off"),
    Refused("malilla", {"trump": "bid"}, "dealer_bonus needs a turned-up card, and trump is bid"),
    Refused("malilla", {"trump": "none", "protected": "off"}, "dealer_bonus needs a turned-up card, and trump is none"),
    Refused("malilla", {"loser_pays": True}, "loser_pays lets scores fall"),
    Refused("manille", {"loser_pays": True, "albur": 5}, "loser_pays lets scores fall"),
    Refused("manille-3", {"loser_pays": True}, "loser_pays needs two sides.*who pays whom"),
    Refused("manille", {"redeal": 9}, "redeal 9 must be 0 to 8, a whole hand"),
    Refused("manille", {"redeal": -1}, "redeal -1 must be 0 to"),
    Refused("manille-3", {"redeal": 7}, "redeal needs a partner who agrees"),
    Refused("manille-2", {"redeal": 7}, "redeal needs a partner who agrees"),
    Refused("manille-encheres", {"redeal": 7}, "redeal is asked for after the turn-up, and trump is bid"),
    Refused("manille-3", {"talk": True}, "talk needs a partner who listens"),
    Refused("manille-3", {"trump": "bid"}, "trump bid needs two sides"),
    Refused("manille-3", {"albur": 5}, "albur needs two sides by turns"),
    Refused("manille", {"albur": 5, "teams": (0, 0, 1, 1)}, "albur needs two sides by turns"),
    Refused(
        "malilla", {"albur": 5, "rank_names": "7", "rank_points": (6,), "neutral": 12}, "albur needs cards of unequal"
    ),
    Refused("manille-encheres", {"talk": True}, f"79 actions besides cards, and a mask holds {MAX_OTHERS}"),
    Refused("manilla-48", {"talk": True}, f"can take 72 actions, and its record holds {MAX_PLAYS}"),
]


def changed(case: Refused) -> RuleSet:
    return RuleSet(**{**PRESETS[case.base].to_dict(), **case.changes})


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: f"{case.base}: {case.reason}")
def test_refused_with_the_reason(case):
    with pytest.raises(ValueError, match=f"^rule set: .*{case.reason}"):
        changed(case)


def test_every_reason_has_a_case(monkeypatch):
    """Each sentence of contradictions.py is met by a case above, so that a new one wants a test."""
    reasons = [getattr(contradictions, f"_wrong_{what}") for what in ("table", "deal", "points", "options")]
    known = {(check.__name__, at) for check in reasons for at, _ in enumerate(check(PRESETS["manille"]))}
    monkeypatch.setattr(rules_file, "check", lambda rules: None)
    met = set()
    for case in REFUSED:
        rules = changed(case)
        met.add(next((check.__name__, at) for check in reasons for at, (wrong, _) in enumerate(check(rules)) if wrong))
    assert met == known


def test_removing_a_card_that_is_not_there_names_it():
    with pytest.raises(ValueError, match="'6s' is not a card of manille"):
        ruleset("manille", removed=("6s",))


@pytest.mark.parametrize(
    ("field", "value", "choices"),
    [
        ("trump", "auction", "turned, bid, none"),
        ("undertrump", "must", "optional, forbidden, forced"),
        ("protected", "yes", "off, led, played"),
        ("illegal", "ignore", "lose_match, raise"),
        ("pack", "german", "french, spanish"),
    ],
)
def test_choices_are_listed(field, value, choices):
    with pytest.raises(ValueError, match=f"^rule set field {field} must be one of {choices}, not '{value}'"):
        ruleset("manille", **{field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("target", "101"),
        ("target", 101.0),
        ("target", True),
        ("talk", 1),
        ("loser_pays", "yes"),
        ("packets", 8),
        ("packets", (3.0, 5.0)),
        ("packets", ("3", "5")),
        ("removed", "7s"),
        ("removed", (7,)),
        ("teams", (0, 1, 0, True)),
        ("zapato_multiplier", "2"),
        ("name", 7),
    ],
)
def test_wrong_types_are_named(field, value):
    with pytest.raises(ValueError, match=f"^rule set field {field} must be "):
        RuleSet(**{**PRESETS["manille"].to_dict(), field: value})


@pytest.mark.parametrize(
    ("base", "changes"),
    [
        ("malilla", {"trump": "bid", "dealer_bonus": False}),
        ("manille", {"trump": "none"}),
        ("manille", {"albur": 5, "redeal": 8}),
        ("manille-2", {"albur": 5}),
        ("manille-2", {"loser_pays": True}),
        ("manille-3", {"teams": (0, 1, 0), "neutral": 30}),
        ("manille", {"teams": (0, 0, 1, 1)}),
        ("manille-encheres", {"loser_pays": True, "last_trick_bonus": 1}),
        ("manille", {"redeal": 7, "talk": True}),
    ],
)
def test_unusual_but_sound_settings_are_taken(base, changes):
    rules = ruleset(base, **changes)
    assert {field: getattr(rules, field) for field in changes} == changes
