"""The engine against the referee in every other game of the family, and under every option of a rule set.

Each preset is played 20,000 hands at random, 5,000 of them where slow tests are left out; stacked games under changed
options meet each branch of each paragraph that section 1 alone does not. What is compared is in lockstep.py;
OPTIONS are the changes, EXPECTED the branches.
"""

from dataclasses import fields

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from lockstep import SHARE, VISITS, Scenario, Tally, compare, stacked, tell
from stacks import (
    MIXED,
    against_nothing,
    at_random,
    cautious,
    greedy,
    keep_sevens,
    long_suits,
    near_target,
    never_play,
    one_low_bid,
    one_strong_side,
    shuffled,
    strong_against_dealer,
    uneven,
    whole_suits,
)
from test_referee_agreement import EXPECTED as SECTION_1

from malilla_env import RuleSet, ruleset
from malilla_env.compiled import PURE
from malilla_env.rules import PRESETS

# one of each hash: games of the same rules need not be played twice; `malilla` is in test_referee_agreement.py
GAMES = {rules.hash: rules for rules in reversed(PRESETS.values()) if rules != ruleset()}
RARE = ("holds-6", "holds-7", "holds-8")  # such hands are dealt too seldom to be told at random

WEAK = {"trump": "none", "dealer_bonus": False, "protected": "off"}
BID = {"trump": "bid", "dealer_bonus": False}
WRONG_ASKS = {"illegal": 0.2, "illegal_in": ("ask", "consent")}
WRONG_BIDS = {"illegal": 0.2, "illegal_in": ("bid", "name")}
WRONG_TALK = {"illegal": 0.05, "illegal_in": ("talk",)}
THREE_TRUMPLESS = {"name": "manille-3", "trump": "none"}


def options(stack=shuffled, choices=MIXED, scores=near_target, name="manille", **changes) -> Scenario:
    return stacked(stack, choices, scores, name=name, **changes)


def matches(name: str, choices=MIXED, misdeal=0.0, **changes) -> Scenario:
    return Scenario(ruleset(name, **changes), choices=choices, misdeal=misdeal)


EIGHT = {"rank_names": "27", "rank_points": (0, 5), "neutral": 11}  # 8 cards, 22 points: two tricks
PAIRS = {"rank_names": "2A7", "rank_points": (0, 4, 5), "neutral": 19}
TWELVE = {
    "rank_names": "2A7",
    "rank_points": (0, 4, 5),
    "neutral": 10,
    "teams": (0, 1, 2),
    "target": 20,
    "dealer_bonus": False,
}


def small(scores=uneven, choices=MIXED, **fields) -> Scenario:
    return Scenario(RuleSet(**fields), choices=choices, scores=scores, one_hand_each=scores is near_target)


OPTIONS = {  # name: (scenario, hands)
    # 1.6.2
    "redeal, long suits": (options(whole_suits, turned="7", name="malilla-redeal", misdeal=0.05), 700),
    "redeal, a king": (options(whole_suits, scores=uneven, turned="K", name="malilla-zone", misdeal=0.05), 500),
    "redeal, no points turned up": (options(whole_suits, turned="3", name="malilla-zone-70"), 400),
    "redeal with four of a suit": (matches("malilla", redeal=4, misdeal=0.02), 1000),
    "redeal, illegal": (options(long_suits, scores=uneven, name="malilla", redeal=5, **WRONG_ASKS), 300),
    "redeal, refused": (options(long_suits, name="malilla", redeal=5, illegal=0.5, rules_illegal="raise"), 200),
    "redeal, manille": (matches("manille", redeal=3, redeal_level=True), 300),
    "redeal, always": (matches("malilla", (never_play,), redeal=1), 60),
    "zone, sevens": (options(long_suits, (keep_sevens,), uneven, "malilla-zone"), 400),
    # 1.6.3
    "albur near the target": (options(name="malilla-albur", misdeal=0.2), 700),
    "albur and a waiting bonus": (options(name="malilla-albur", turned="7", misdeal=0.2), 700),
    "albur, large": (options(scores=uneven, name="malilla", albur=30, redeal=4, misdeal=0.1), 600),
    "albur, long game": (options(scores=against_nothing, name="malilla-70", albur=5), 400),
    "albur, capotes": (options(one_strong_side, (greedy,), name="malilla-albur"), 400),
    "albur, whole matches": (matches("manilla-48", albur=10, misdeal=0.1), 500),
    "albur, auction": (options(name="manille-encheres", albur=7), 300),
    # 2
    "loser pays": (options(scores=uneven, loser_pays=True), 300),
    "loser pays, against nothing": (options(scores=against_nothing, loser_pays=True), 400),
    "loser pays, whole matches": (matches("manille", loser_pays=True, redeal_level=True, target=50), 800),
    "level, dealt again": (matches("manille", redeal_level=True), 500),
    "level, dealt again, 8 cards": (small(**EIGHT, redeal_level=True), 2000),
    "partner exempt": (options(long_suits, scores=uneven, climb_over_partner=False), 400),
    "last trick": (options(last_trick_bonus=1), 400),
    "packets of four": (options(packets=(4, 4)), 300),
    "short game": (options(scores=uneven, target=50), 400),
    "short game, against nothing": (options(scores=against_nothing, target=50), 300),
    "long game": (options(scores=uneven, target=201), 600),
    "long game, against nothing": (options(scores=against_nothing, target=201), 700),
    "against nothing": (options(scores=against_nothing), 300),
    "capotes": (options(one_strong_side, (greedy,), uneven, capote_wins=True), 600),
    "capotes that do not win": (options(one_strong_side, (greedy,)), 300),
    "capotes, short game": (options(one_strong_side, (greedy,), uneven, capote_wins=True, target=50), 600),
    "capotes, long game": (options(one_strong_side, (greedy,), uneven, capote_wins=True, target=201), 600),
    "no trump": (options(long_suits, scores=uneven, trump="none"), 400),
    "no trump, section 1": (options(long_suits, scores=uneven, name="malilla", **WEAK), 300),
    "undertrump forbidden": (options(long_suits, undertrump="forbidden"), 400),
    "undertrump optional": (options(long_suits, undertrump="optional", climb_over_partner=False), 400),
    "protected": (options(long_suits, (keep_sevens,), uneven, protected="led", undertrump="optional"), 300),
    "a bonus for the dealer": (options(dealer_bonus=True, turned="T"), 1400),
    "illegal": (options(scores=uneven, illegal=0.02), 200),
    # 3.1, 3.2, 3.3
    "48 cards, near the target": (options(name="manilla-48", turned="9", misdeal=0.1), 2200),
    "48 cards, against nothing": (options(scores=against_nothing, name="manilla-48"), 400),
    "48 cards, capotes": (options(one_strong_side, (greedy,), uneven, "manilla-48"), 1000),
    "40 cards": (options(long_suits, name="malilla-espanola", last_trick_bonus=1), 300),
    "44 cards": (options(long_suits, name="malilla-nueve", loser_pays=True), 300),
    # 3.5
    "talk, long suits": (options(whole_suits, name="manille-parlee"), 3000),
    "talk in section 1": (options(long_suits, name="malilla", talk=True, misdeal=0.02), 300),
    "talk, illegal": (options(long_suits, scores=uneven, name="manille-parlee", **WRONG_TALK), 200),
    "talk, refused": (options(name="manille-parlee", illegal=0.5, rules_illegal="raise"), 200),
    "talk, no trump": (options(long_suits, name="manille-parlee", trump="none"), 200),
    # 3.6
    "auction": (options(scores=uneven, name="manille-encheres", misdeal=0.05), 600),
    "auction, few bids": (options(long_suits, (cautious,), name="manille-encheres"), 2500),
    "auction, loser pays": (options(choices=(cautious, greedy), name="manille-encheres", loser_pays=True), 500),
    "auction, strong side": (options(one_strong_side, (greedy,), uneven, "manille-encheres", capote_wins=True), 800),
    "auction, illegal": (options(scores=uneven, name="manille-encheres", **WRONG_BIDS), 900),
    "auction, refused": (options(name="manille-encheres", illegal=0.5, rules_illegal="raise"), 200),
    "auction, never bidding": (matches("manille-encheres", (never_play,)), 210),
    "auction, 12 cards": (small(choices=(one_low_bid,), **PAIRS, **BID), 6000),
    "auction in section 1": (options(long_suits, name="malilla", **BID), 500),
    # 3.7
    "three near the target": (options(name="manille-3"), 1500),
    "three near the target, few points": (options(name="manille-3", target=1, scores=None), 2500),
    "three, 12 cards": (small(near_target, **TWELVE), 6000),
    "three, against nothing": (options(scores=against_nothing, name="manille-3-dead"), 400),
    "three, forbidden": (options(long_suits, scores=uneven, name="manille-3", undertrump="forbidden"), 300),
    "three, optional": (options(long_suits, scores=uneven, name="manille-3-dead", undertrump="optional"), 300),
    "three, no trump": (options(long_suits, scores=uneven, **THREE_TRUMPLESS, redeal_level=True), 300),
    "three, capotes": (options(one_strong_side, (greedy,), uneven, "manille-3-dead", capote_wins=True), 600),
    "three, a dead hand in packets": (options(long_suits, name="manille-3-dead", packets=(2, 6), misdeal=0.1), 300),
    "three, dealer's bonus": (options(turned="T", name="manille-3", dealer_bonus=True, last_trick_bonus=1), 400),
    "three, illegal": (options(scores=uneven, name="manille-3", illegal=0.03), 200),
    # 3.8
    "two, forbidden": (options(long_suits, name="manille-2", undertrump="forbidden"), 300),
    "two, optional": (options(long_suits, scores=uneven, name="manille-2", undertrump="optional"), 300),
    "two, no trump": (options(long_suits, scores=uneven, name="manille-2", trump="none"), 300),
    "two, all options": (options(name="manille-2", last_trick_bonus=1, loser_pays=True, redeal_level=True), 300),
    "two, dealer's bonus": (options(turned="A", name="manille-2", dealer_bonus=True, misdeal=0.2), 300),
    "two, capotes": (options(one_strong_side, (greedy,), uneven, "manille-2", capote_wins=True), 400),
    "two, illegal": (options(scores=uneven, name="manille-2", illegal=0.02), 200),
    "two, protected": (options(long_suits, (keep_sevens,), uneven, "manille-2", protected="played"), 300),
}

EXPECTED = """
1.2.3 turned up: 8
1.2.3 turned up: 9
1.2.3 turned up: T
1.4.1 illegal action (ask) loses the match
1.4.1 illegal action (bid) loses the match
1.4.1 illegal action (consent) loses the match
1.4.1 illegal action (name) loses the match
1.4.1 illegal action (talk) loses the match
1.4.1 illegal action refused
1.5.3 target 1 reached by points
1.5.3 target 101 reached by points
1.5.3 target 101 reached by the bonus
1.5.3 target 20 reached by points
1.5.3 target 201 reached by points
1.5.3 target 40 reached by points
1.5.3 target 40 reached by the bonus
1.5.3 target 50 reached by points
1.5.5 capote, target 101
1.5.5 capote, target 20
1.5.5 capote, target 201
1.5.5 capote, target 40
1.5.5 capote, target 50
1.5.6 zapato, target 1
1.5.6 zapato, target 101
1.5.6 zapato, target 201
1.5.6 zapato, target 40
1.5.6 zapato, target 50
1.5.6 zapato, the loser below 0
1.6.2 agreed in a later attempt
1.6.2 agreed in the first attempt
1.6.2 agreed, bonus taken back
1.6.2 agreed, no bonus
1.6.2 agreed, waiting bonus dropped
1.6.2 all were asked, the play begins
1.6.2 does not ask, and might
1.6.2 may ask for a new deal
1.6.2 no suit long enough to ask
1.6.2 refused
1.6.2 the hundredth deal stands
1.6.2 the partner is asked to consent
1.6.3 albur paid
1.6.3 albur waits
1.6.3 drawn by the dealer
1.6.3 drawn by the dealer's right
1.6.3 target reached
1.6.3 the winner of the albur leads
1.6.3 the winner of the albur leads, though not first
1.6.3 waiting albur added
1.6.3 waiting albur ignored
2.2 packets 2-6
2.2 packets 3-2-3
2.2 packets 4-4
2.6 level, the same dealer deals again
2.6 the loser pays
2.7 the last trick is worth more
2.8 several past the target, level: played on
2.8 several past the target, the highest wins
3.5 a card told: 7
3.5 a card told: A
3.5 a card told: T
3.5 a number told
3.5 a number told again
3.5 a told card is played
3.5 a told number falls
3.5 a told number falls to none
3.5 none told
3.5 silent
3.5 the leader may speak
3.5 the leader's partner may speak
3.6 all passed, the next player deals
3.6 all passed for the hundredth time
3.6 all points were bid
3.6 failed
3.6 first bid
3.6 just failed
3.6 just made
3.6 made
3.6 may bid
3.6 no turn-up
3.6 outbid
3.6 the highest bidder names trump
3.6 trump named: c
3.6 trump named: d
3.6 trump named: h
3.6 trump named: s
3.7 a dead hand
3.7 three plays, each by the seat to the right
3.7 two sides score
3.8 a card turned up
3.8 no card below
3.8 piles of two
3.8 two plays, each by the seat to the right
trump none
""".strip().splitlines()


@pytest.mark.parametrize("hands", [5_000, pytest.param(15_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("rules", GAMES.values(), ids=lambda rules: rules.name)
def test_random_play_of_every_preset_agrees_with_the_referee(rules, hands, report_counts):
    """Whole matches of each, every seat at random; half of the seats bid with care."""
    tally = compare(Scenario(rules, choices=(at_random, cautious)), hands // SHARE, seed=10 + (hands > 5_000))
    tell(report_counts, f"Random play of {rules.name} against the referee", tally)
    assert tally.hands >= hands // SHARE
    assert tally.plies >= rules.num_tricks * rules.num_seats * (tally.hands - 250)
    wanted = {name for names in rules.others.values() for name in names if not name.startswith(RARE)}
    if not PURE:
        assert wanted <= set(tally.said), "an action besides the cards was never taken"


def test_every_branch_of_every_option_is_visited(report_counts):
    """Stacked games agree under every option, and meet each branch that section 1 lacks at least 200 times."""
    tally = Tally()
    for seed, (scenario, hands) in enumerate(OPTIONS.values(), start=10):
        tally.add(compare(scenario, max(hands // SHARE, 1), seed))
    tell(report_counts, "Stacked games of the family against the referee", tally)
    report_counts("Visits to the paragraphs of RULES, stacked games of the family", tally.visits)
    assert set(tally.visits) <= {*EXPECTED, *SECTION_1}, "a branch that EXPECTED does not list"
    if PURE:  # too few hands to meet every rare branch
        return
    assert {name: tally.visits[name] for name in EXPECTED if tally.visits[name] < VISITS} == {}
    talk = {name for names in ruleset("manille-parlee").others.values() for name in names}
    assert talk <= set(tally.said), "a statement that was never made"


def test_options_change_every_field_of_a_rule_set():
    """OPTIONS play each field that changes the play under two values at least."""
    played = [scenario.rules for scenario, _ in OPTIONS.values()]
    values = {field.name: {getattr(rules, field.name) for rules in played} for field in fields(RuleSet)}
    unseen = {"zapato_multiplier"}  # it changes the match reward alone
    assert {name for name, seen in values.items() if len(seen) < 2} == unseen


@st.composite
def rule_sets(draw) -> RuleSet:
    """A preset with any of its options changed, as far as they do not contradict each other."""
    base = draw(st.sampled_from([*PRESETS.values()]))
    choices = {
        "last_trick_bonus": [0, 1, 3],
        "trump": ["turned", "bid", "none"],
        "dealer_bonus": [False, True],
        "climb_over_partner": [False, True],
        "undertrump": ["optional", "forbidden", "forced"],
        "protected": ["off", "led", "played"],
        "illegal": ["lose_match", "raise"],
        "redeal": [0, 3, 4, 5],
        "albur": [0, 5, 40],
        "talk": [False, True],
        "loser_pays": [False, True],
        "redeal_level": [False, True],
        "target": [1, 35, 101],
        "capote_wins": [False, True],
        "trick_points": [0, 1, 2],
    }
    changed = draw(st.lists(st.sampled_from(sorted(choices)), max_size=6, unique=True))
    try:
        return ruleset(base, **{name: draw(st.sampled_from(choices[name])) for name in changed})
    except ValueError:
        reject()


@settings(max_examples=4 if PURE else 80, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(rules=rule_sets(), seed=st.integers(10, 2**32), data=st.data())
def test_any_options_agree_with_the_referee(rules, seed, data):
    stack = data.draw(st.sampled_from([shuffled, long_suits, strong_against_dealer]))
    misdeal = data.draw(st.sampled_from([0.0, 0.1]))
    illegal = data.draw(st.sampled_from([0.0, 0.02]))
    scenario = Scenario(rules, stack, MIXED, uneven, misdeal, illegal)
    assert compare(scenario, 20, seed, lanes=10).hands >= 20
