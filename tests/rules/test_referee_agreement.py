"""The engine against the referee: at every ply, in random play and in stacked games that meet the rare rules.

What is compared is in lockstep.py. The tables at the end of a test run say how much was compared, and how often each
branch of each paragraph was met; EXPECTED lists the branches that must be met.
"""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lockstep import SHARE, VISITS, Scenario, Tally, compare, stacked, tell
from stacks import (
    MIXED,
    against_nothing,
    at_random,
    greedy,
    keep_sevens,
    long_suits,
    near_target,
    one_strong_side,
    sevens_together,
    shuffled,
    strong_against_dealer,
    uneven,
)

from malilla_env import RuleSet, ruleset
from malilla_env.compiled import PURE

# ---- the scenarios ---------------------------------------------------------------------------------------------------

PACKS = {  # so few cards that endings come at once: rank points and neutral of each
    "2KA7": ((0, 3, 4, 5), 26),
    "26A7": ((0, 0, 4, 5), 20),
    "2A7": ((0, 4, 5), 19),
    "27": ((0, 5), 11),
}


def small(ranks: str, stack=shuffled, choices=MIXED, **changes) -> Scenario:
    points, neutral = PACKS[ranks]
    return Scenario(RuleSet(rank_names=ranks, rank_points=points, neutral=neutral, **changes), stack, choices, uneven)


CLIMB = {"climb_over_partner": True}

SCENARIOS = {  # name: (scenario, hands)
    "near the target, a seven turned up": (stacked(shuffled, scores=near_target, turned="7", misdeal=0.3), 1200),
    "near the target, a king turned up": (stacked(shuffled, scores=near_target, turned="K", misdeal=0.3), 800),
    "near the target 70": (stacked(shuffled, scores=near_target, turned="A", name="malilla-70"), 3000),
    "near the target, other at 0": (stacked(shuffled, scores=against_nothing), 500),
    "whole matches with misdeals": (Scenario(ruleset(), misdeal=0.5), 1000),
    "long game": (Scenario(ruleset("malilla-70"), choices=MIXED), 500),
    "long suits": (stacked(long_suits), 500),
    "one strong side": (stacked(one_strong_side, (greedy,)), 800),
    "one strong side, waiting bonus": (stacked(one_strong_side, (greedy,), near_target, turned="7"), 1200),
    "strong against the dealer": (stacked(strong_against_dealer, (greedy,), near_target, turned="Q"), 1500),
    "one strong side, long game": (stacked(one_strong_side, (greedy,), name="malilla-70"), 2500),
    "one strong side, capote off": (stacked(one_strong_side, (greedy,), capote_wins=False, target=70), 700),
    "sevens kept": (stacked(sevens_together, (keep_sevens,)), 800),
    "sevens kept, protected by play": (stacked(sevens_together, (keep_sevens,), protected="played"), 800),
    "sevens free": (stacked(long_suits, protected="off"), 400),
    "undertrump forbidden": (stacked(long_suits, (keep_sevens,), undertrump="forbidden"), 400),
    "undertrump forced": (stacked(long_suits, undertrump="forced"), 1000),
    "climbing over partner": (stacked(long_suits, climb_over_partner=True), 600),
    "16 cards": (small("2KA7"), 1000),
    "16 cards, forced, protected by play": (small("2KA7", undertrump="forced", protected="played"), 500),
    "16 cards, climbing, optional": (small("2KA7", **CLIMB), 4000),
    "16 cards, climbing, forbidden": (small("26A7", choices=(keep_sevens,), **CLIMB, undertrump="forbidden"), 10000),
    "12 cards, forbidden": (small("2A7", undertrump="forbidden"), 5000),
    "12 cards, climbing, optional": (small("2A7", **CLIMB), 6000),
    "12 cards, climbing, forced": (small("2A7", **CLIMB, undertrump="forced"), 4500),
    "8 cards, climbing, forbidden": (small("27", long_suits, **CLIMB, undertrump="forbidden"), 5000),
    "no dealer bonus": (stacked(shuffled, (at_random,), near_target, dealer_bonus=False), 300),
    "illegal plays": (stacked(shuffled, illegal=0.01), 600),
    "illegal plays refused": (stacked(shuffled, illegal=0.5, **{"rules_illegal": "raise"}), 300),
}

EXPECTED = """
1.1.1 four plays, each by the seat to the right
1.1.2 a pack dealt
1.1.3 the top card wins
1.1.4 card points taken
1.2.1 the deal passes right
1.2.2 singly from the dealer's right
1.2.3 turned up: 2
1.2.3 turned up: 3
1.2.3 turned up: 4
1.2.3 turned up: 5
1.2.3 turned up: 6
1.2.3 turned up: 7
1.2.3 turned up: A
1.2.3 turned up: J
1.2.3 turned up: K
1.2.3 turned up: Q
1.2.4 bonus off
1.2.4 bonus paid
1.2.4 bonus waits
1.2.4 no bonus: a card without points
1.2.5 misdeal, bonus taken back
1.2.5 misdeal, no bonus
1.2.5 misdeal, waiting bonus dropped
1.3.1 lead: any card
1.3.1 the winner leads again
1.3.1 the winner leads, another seat
1.3.10 a suit led again
1.3.10 a suit's first lead
1.3.2 follow, unable to beat
1.3.3 beat
1.3.3 beat, trump led
1.3.4 ruffed trick: any card of the led suit
1.3.5 overtrump
1.3.5 overtrump (climbing over partner)
1.3.5 trump
1.3.5 trump (climbing over partner)
1.3.6 a forbidden low trump comes before protected sevens
1.3.6 a forbidden low trump comes before protected sevens (climbing over partner)
1.3.6 forbidden undertrump
1.3.6 forbidden undertrump (climbing over partner)
1.3.6 forbidden undertrump, nothing else
1.3.6 forbidden undertrump, nothing else (climbing over partner)
1.3.6 forced undertrump
1.3.6 forced undertrump (climbing over partner)
1.3.6 optional undertrump
1.3.6 optional undertrump (climbing over partner)
1.3.6 optional undertrump (climbing over partner), seven protected
1.3.6 optional undertrump, seven protected
1.3.7 partner winning, follow only
1.3.7 partner winning, void
1.3.7 partner winning, void, seven protected
1.3.8 a seven discarded, forced, protected=led
1.3.8 a seven discarded, protected=led
1.3.8 a seven discarded, protected=off
1.3.8 a seven discarded, protected=played
1.3.8 a seven whose suit was discarded, not led, protected=led
1.3.8 a seven whose suit was discarded, not led, protected=off
1.3.8 a seven whose suit was discarded, not led, protected=played
1.3.8 no trump, discard
1.3.8 no trump, discard, seven protected
1.3.8 nothing but protected sevens
1.3.9 won by a ruff
1.3.9 won by the led suit
1.3.9 won by the led suit, trump
1.4.1 illegal play loses the match
1.4.1 illegal play refused
1.5.1 a hand counted
1.5.2 a side scores its excess
1.5.2 level, nobody scores
1.5.3 target 35 reached by points
1.5.3 target 35 reached by the bonus
1.5.3 target 70 reached by points
1.5.3 target 70 reached by the bonus
1.5.4 waiting bonus added
1.5.4 waiting bonus ignored, the dealer's side won
1.5.4 waiting bonus ignored, the dealer's side won by capote
1.5.4 waiting bonus ignored, the opponents won
1.5.4 waiting bonus ignored, the opponents won by capote
1.5.5 all tricks, capote off
1.5.5 capote below the target
1.5.5 capote below the target, still behind
1.5.5 capote reaching the target
1.5.5 capote, target 35
1.5.5 capote, target 70
1.5.6 no zapato: capote below the target
1.5.6 zapato
1.5.6 zapato by capote
1.5.6 zapato, target 35
1.5.6 zapato, target 70
1.6.1 long game
1.6.1 other targets
""".strip().splitlines()


# ---- the tests -------------------------------------------------------------------------------------------------------


def test_random_play_agrees_with_the_referee(report_counts):
    """20,000 hands of whole matches of the default game, every seat at random."""
    tally = compare(Scenario(ruleset()), 20_000 // SHARE, seed=10)
    tell(report_counts, "Random play against the referee", tally)
    assert tally.hands >= 20_000 // SHARE
    assert tally.plies >= 40 * (tally.hands - 250)


def test_every_branch_of_every_paragraph_is_visited(report_counts):
    """Stacked games agree too, and meet each branch of RULES section 1 at least 200 times."""
    tally = Tally()
    for seed, (scenario, hands) in enumerate(SCENARIOS.values(), start=10):
        tally.add(compare(scenario, hands // SHARE, seed))
    tell(report_counts, "Stacked games against the referee", tally)
    report_counts("Visits to the paragraphs of RULES section 1, stacked games", tally.visits)
    assert set(tally.visits) <= set(EXPECTED), "a branch that EXPECTED does not list"
    if not PURE:  # too few hands to meet every rare branch
        assert {name: tally.visits[name] for name in EXPECTED if tally.visits[name] < VISITS} == {}


@pytest.mark.slow
def test_a_million_decisions_agree_with_the_referee(report_counts):
    """Random play under every combination of the duties' parameters, whole matches with misdeals."""
    modes = [
        {"undertrump": undertrump, "protected": protected, "climb_over_partner": climb, "target": target}
        for undertrump in ("optional", "forbidden", "forced")
        for protected in ("led", "played", "off")
        for climb in (False, True)
        for target in (35, 70)
    ]
    tally = Tally()
    for seed, mode in enumerate(modes, start=100):
        choices = (at_random,) if seed % 2 else MIXED
        scenario = Scenario(ruleset(**mode), choices=choices, misdeal=0.1)
        tally.add(compare(scenario, 1_000_000 // 40 // len(modes) + 15, seed))
    tell(report_counts, "Random play, the slow set", tally)
    assert tally.plies >= 1_000_000


@st.composite
def rule_sets(draw) -> RuleSet:
    """Any parameters of section 1, and tables of other sizes that the engine is shaped for."""
    ranks = draw(st.sampled_from(["23456JQKA7", "26JQKA7", "2KA7", "789JQKAT", "2A7"]))
    points = draw(st.lists(st.integers(0, 6), min_size=len(ranks), max_size=len(ranks)))
    points[-1] += 1  # a hand is worth something
    teams = draw(st.sampled_from([(0, 1, 0, 1), (0, 1, 0, 1), (0, 1, 0, 1), (0, 1), (0, 1, 2), (0, 1, 2, 3)]))
    spare = [rank + suit for rank, suit in zip(ranks[:2] * 2, "shdc", strict=False)]
    removed = tuple(spare[: 4 * len(ranks) % len(teams)])
    cards = 4 * len(ranks) - len(removed)
    trick_points = draw(st.integers(0, 2))
    lacking = sum(points[ranks.index(card[0])] for card in removed)
    total = 4 * sum(points) - lacking + cards // len(teams) * trick_points
    share = total // len(set(teams))
    return RuleSet(
        teams=teams,
        rank_names=ranks,
        rank_points=tuple(points),
        removed=removed,
        trick_points=trick_points,
        neutral=draw(st.integers(1, share)),
        dealer_bonus=draw(st.booleans()),
        climb_over_partner=draw(st.booleans()),
        undertrump=draw(st.sampled_from(["optional", "forbidden", "forced"])),
        protected=draw(st.sampled_from(["led", "played", "off"])),
        illegal=draw(st.sampled_from(["lose_match", "raise"])),
        target=draw(st.integers(1, 80)),
        capote_wins=draw(st.booleans()),
    )


@settings(max_examples=4 if PURE else 60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(rules=rule_sets(), seed=st.integers(10, 2**32), data=st.data())
def test_any_rule_parameters_agree_with_the_referee(rules, seed, data):
    stack = data.draw(st.sampled_from([shuffled, long_suits]))
    misdeal = data.draw(st.sampled_from([0.0, 0.3]))
    illegal = data.draw(st.sampled_from([0.0, 0.02]))
    scenario = Scenario(rules, stack, MIXED, uneven, misdeal, illegal)
    assert compare(scenario, 20, seed, lanes=10).hands >= 20
