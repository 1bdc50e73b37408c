"""What no rule set may say: settings that make no sense or contradict each other, each with its reason.

Enters: a RuleSet whose fields have their types. Leaves: nothing, or a ValueError of one sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from malilla_env.table import MAX_CARDS, MAX_OTHERS, MAX_PLAYS, MAX_SEATS, PROTECTED, TRUMP, UNDERTRUMP

if TYPE_CHECKING:
    from malilla_env.rules import RuleSet

ILLEGAL = ("lose_match", "raise")
PACKS = ("french", "spanish")


def check(rules: RuleSet) -> None:
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
    plain = names.isascii() and names.isalnum() and names == names.upper()
    yield not plain, f"rank_names {names!r} must be capital letters and digits"
    yield len(set(names)) != ranks, f"rank_names {names!r} names a rank twice"
    yield len(rules.rank_points) != ranks, f"rank_points must hold {ranks} numbers, one for each of {names!r}"


def _wrong_deal(rules: RuleSet) -> Reasons:
    hands = f"{rules.num_seats} seats" + (" and a dead hand" if rules.dead_hand else "")
    twice = rules.num_cards != 4 * rules.ranks - len(rules.removed)
    uneven = twice or rules.num_cards % rules.num_hands or not rules.num_cards
    deck = f"a deck of {rules.num_cards} cards (removed: {rules.removed})"
    yield bool(uneven), f"{deck} cannot be dealt evenly to {hands}"
    each = rules.num_tricks
    yield (
        bool(rules.packets) and (sum(rules.packets) != each or min(rules.packets) < 1),
        f"packets {rules.packets} must be 1 or more each and deal {each} cards in all to each hand",
    )
    yield (
        rules.piles < 0 or (rules.piles > 0 and 2 * rules.piles != each),
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
    yield (
        not 0 <= rules.redeal <= rules.hand_size,
        f"redeal {rules.redeal} must be 0 to {rules.hand_size}, a whole hand",
    )
    yield rules.redeal > 0 and not partners, f"redeal needs a partner who agrees: {teams} are not two and two"
    yield rules.redeal > 0 and not turned, f"redeal is asked for after the turn-up, and trump is {rules.trump}"
    yield rules.talk and not partners, f"talk needs a partner who listens: {teams} are not two and two"
    yield rules.talk and rules.piles > 0, "talk with piles: hands lie open, and a number told would not stay true"
    yield rules.auction and not two_sides, f"trump bid needs two sides: in {teams} nobody would share a failed bid"
    yield rules.albur > 0 and (neighbours or not two_sides), f"albur needs two sides by turns around the table: {teams}"
    yield (
        rules.albur >= rules.target,
        f"albur {rules.albur} would win the match before it starts: target {rules.target}",
    )
    level = len({card % rules.ranks for card in rules.deck}) < 2
    yield rules.albur > 0 and level, "albur needs cards of unequal strength: two of one rank are drawn again for ever"
    others = sum(map(len, rules.others.values()))
    yield (
        others > MAX_OTHERS,
        f"{others} actions besides cards, and a mask holds {MAX_OTHERS}: a smaller hand or no talk",
    )
    longest = rules.longest_hand
    yield longest > MAX_PLAYS, f"a hand can take {longest} actions, and its record holds {MAX_PLAYS}: leave talk out"
