"""Breaks the rules in small ways, one at a time: the rule tests must notice each.

In: the files that hold the rules (FILES) and MUTANTS, each a replacement of a piece of text that stands exactly once in
all of them. Each is made in a copy of the package, and the rule tests are run there as plain Python (nothing to
compile) until one fails.
Out: a table of the mutants and the test that caught each; exit status 1 if one survives, 2 if one cannot be made.

    python tests/mutate.py [--jobs 2] [--only TEXT] [--list]
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
RULES = ("engine", "tricks", "phases", "scoring", "state", "view", "batch", "rules", "table")
FILES = [f"malilla_env/{name}.py" for name in RULES]
# The tests in the order in which they are run; first come those of the mutant's own chapter.
TESTS = (
    *("malilla", "options", "manille", "others", "scoring", "inference", "inference_family"),
    *("referee_agreement_family", "referee_agreement", "properties", "rulesets", "perft"),
)
CHAPTERS = {
    "1.5": ("scoring", "malilla"),
    "1.6": ("options",),
    "1": ("malilla",),
    "2": ("manille", "scoring", "rulesets"),
    "3": ("others", "rulesets", "scoring"),
}
INFERENCE = "cannot hold"  # the rule of mutants in what a play tells
TIMEOUT = 900  # seconds; a mutant that makes the tests run forever is caught too
COMMAND = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]


class Mutant(NamedTuple):
    """A small wrong change: the paragraph it breaks, what it does, and the text before and after."""

    rule: str
    what: str
    old: str
    new: str


MUTANTS = [
    # 1.1, 1.2: table, dealing, trump
    Mutant(
        "1.1.1",
        "play goes to the left",
        'return seat + 1 if seat + 1 < rules["num_seats"] else 0',
        'return seat - 1 if seat > 0 else rules["num_seats"] - 1',
    ),
    Mutant("1.1.4", "no point for the trick", 'row["trick_value"] + rules["trick_points"]', 'row["trick_value"]'),
    Mutant(
        "1.1.4",
        "the last card's points alone count",
        'row["trick_value"] += rules["points"][card]',
        'row["trick_value"] = rules["points"][card]',
    ),
    Mutant("1.2.1", "seat 0 always deals first", 'return cut(row["hand_key"], rules["num_seats"])', "return 0"),
    Mutant(
        "1.2.1",
        "the same dealer deals again",
        '    row["dealer"] = next_seat(row["dealer"], rules)\n    deal_from_key(row, rules)',
        "    deal_from_key(row, rules)",
    ),
    Mutant(
        "1.2.2",
        "the dealer is dealt to first",
        '        to = next_seat(to, rules)\n        row["hands"][to] = dealt(row, rules, hand, 0, size)',
        '        row["hands"][to] = dealt(row, rules, hand, 0, size)\n        to = next_seat(to, rules)',
    ),
    Mutant(
        "1.2.3", "the first card is turned up", 'card = row["deck"][rules["num_cards"] - 1]', 'card = row["deck"][0]'
    ),
    Mutant(
        "1.2.4",
        "a bonus that just reaches the target is paid",
        'row["match_score"][team] + bonus >= rules["target"]',
        'row["match_score"][team] + bonus > rules["target"]',
    ),
    Mutant(
        "1.2.4",
        "a bonus never waits",
        'if row["match_score"][team] + bonus >= rules["target"]:',
        "if False:",
    ),
    Mutant(
        "1.2.4",
        "the bonus counts the trick's point",
        'rules["points"][card] if rules["dealer_bonus"] else 0',
        'rules["points"][card] + 1 if rules["dealer_bonus"] else 0',
    ),
    Mutant(
        "1.2.4",
        "the bonus is paid even when off",
        'rules["points"][card] if rules["dealer_bonus"] else 0',
        'rules["points"][card]',
    ),
    Mutant(
        "1.2.4",
        "the bonus goes to the leader's side",
        'team = rules["team"][row["dealer"]]\n    if row["match_score"][team] + bonus',
        'team = rules["team"][next_seat(row["dealer"], rules)]\n    if row["match_score"][team] + bonus',
    ),
    Mutant("1.2.5", "a misdeal leaves the bonus", '-= row["paid_bonus"]', "-= 0"),
    Mutant(
        "1.2.5",
        "a misdeal takes the bonus from the other side",
        'row["match_score"][rules["team"][row["dealer"]]] -= row["paid_bonus"]',
        'row["match_score"][rules["team"][next_seat(row["dealer"], rules)]] -= row["paid_bonus"]',
    ),
    Mutant(
        "1.2.5",
        "after a misdeal the deal passes two seats",
        '    row["hand_over"] = False\n    deal_next(row, rules)',
        '    row["hand_over"] = False\n    row["dealer"] = next_seat(row["dealer"], rules)\n    deal_next(row, rules)',
    ),
    Mutant(
        "1.2.5",
        "a misdeal counts as a hand",
        'row["attempt"] += 1\n    row["hand_over"] = False',
        'row["hand_number"] += 1\n    row["hand_over"] = False',
    ),
    # 1.3: playing to a trick
    Mutant(
        "1.3.1",
        "the dealer leads",
        '    return next_seat(row["dealer"], rules)\n',
        '    return row["dealer"]\n',
    ),
    Mutant("1.3.1", "the leader leads again", "lead(row, rules, winner)", 'lead(row, rules, row["leader"])'),
    Mutant(
        "1.3.2",
        "no following while partner wins",
        "return follow if follow != ZERO else void",
        "return follow if follow != ZERO and must_contest(row, rules, seat) != ZERO else void",
    ),
    Mutant(
        "1.3.3",
        "no beating",
        "if orders != ZERO:",
        "if orders != ZERO and follow == ZERO:",
    ),
    Mutant(
        "1.3.3",
        "partner must be beaten too",
        "orders = may & ordered(row, rules, seat)",
        'orders = may & (row["beating"] if follow != ZERO else ordered(row, rules, seat))',
    ),
    Mutant(
        "1.3.3",
        "no beating when trump was led",
        "if orders != ZERO:",
        'if orders != ZERO and (follow == ZERO or row["led_suit"] != row["trump"]):',
    ),
    Mutant(
        "1.3.4",
        "a ruffed trick asks to beat the highest of the led suit",
        "orders = may & ordered(row, rules, seat)",
        "orders = may & (ordered(row, rules, seat) | "
        '(rules["tops"] & follow if row["led_suit"] != row["trump"] and trumped(row, rules, seat) else ZERO))',
    ),
    Mutant(
        "1.3.4",
        "a ruffed trick may be overruffed by a revoke",
        "may = follow if follow != ZERO else hand",
        'may = follow if follow != ZERO and rules["suit"][row["best_card"]] == row["led_suit"] else hand',
    ),
    Mutant(
        "1.3.5",
        "no duty to trump a plain trick",
        "if orders != ZERO:",
        "if orders != ZERO and (follow != ZERO or trumped(row, rules, seat)):",
    ),
    Mutant(
        "1.3.5",
        "no duty to overtrump",
        "orders = may & ordered(row, rules, seat)",
        "orders = may & (ordered(row, rules, seat) | "
        '(rules["suit_mask"][row["trump"]] if follow == ZERO and trumped(row, rules, seat) else ZERO))',
    ),
    Mutant(
        "1.3.5",
        "partner must be trumped too",
        "orders = may & ordered(row, rules, seat)",
        'orders = may & (row["beating"] if follow == ZERO else ordered(row, rules, seat))',
    ),
    Mutant(
        "1.3.6",
        "optional means forbidden",
        'void = discards(row, hand) if rules["undertrump"] == OPTIONAL else',
        "void = discards(row, hand) if False else",
    ),
    Mutant(
        "1.3.6",
        "optional means forced",
        'if rules["undertrump"] == OPTIONAL else cannot_overtrump(row, rules, hand, seat)\n',
        'if rules["undertrump"] == OPTIONAL else cannot_overtrump(row, rules, hand, seat)\n'
        '    if rules["undertrump"] == OPTIONAL and trumped(row, rules, seat):\n'
        '        void = hand & rules["suit_mask"][row["trump"]] or void\n',
    ),
    Mutant(
        "1.3.6",
        "forced means optional",
        'if rules["undertrump"] == FORCED:\n        return trumps',
        'if rules["undertrump"] == FORCED:\n        return discards(row, hand)',
    ),
    Mutant(
        "1.3.6", "forbidden means optional", 'free = hand & ~trumps & ~row["locked"]', 'free = hand & ~row["locked"]'
    ),
    Mutant(
        "1.3.6",
        "a forbidden low trump and the sevens alike, when nothing else is left",
        "return free if free != ZERO else trumps",
        "return free if free != ZERO else hand",
    ),
    Mutant(
        "1.3.8",
        "sevens come before a forbidden low trump",
        'free = hand & ~trumps & ~row["locked"]',
        "free = hand & ~trumps",
    ),
    Mutant(
        "1.3.7",
        "climbing over partner is not known",
        'return rules["contests"][seat, np.uint8(row["best_seat"])]',
        'return rules["deck_mask"] if rules["team"][row["best_seat"]] != rules["team"][seat] else ZERO',
    ),
    Mutant(
        "1.3.7",
        "the leader's side counts, not the winner's",
        'return rules["contests"][seat, np.uint8(row["best_seat"])]',
        'return rules["contests"][seat, np.uint8(row["leader"])]',
    ),
    Mutant("1.3.8", "no seven is protected", 'locked if rules["protected"] != PROTECTED_OFF else ZERO', "ZERO"),
    Mutant(
        "1.3.8",
        "sevens are protected even when off",
        'locked if rules["protected"] != PROTECTED_OFF else ZERO',
        "locked",
    ),
    Mutant(
        "1.3.8",
        "led and played change places",
        'if leads or rules["protected"] == PROTECTED_PLAYED:',
        'if leads or rules["protected"] != PROTECTED_PLAYED:',
    ),
    Mutant(
        "1.3.8",
        "the trump seven is protected",
        'locked = rules["tops"] & ~rules["suit_mask"][row["trump"]]',
        'locked = rules["tops"]',
    ),
    Mutant(
        "1.3.8",
        "nothing is legal from a hand of sevens",
        "return free if free != ZERO else hand",
        "return free",
    ),
    Mutant(
        "1.3.8",
        "sevens are free while partner wins",
        "return follow if follow != ZERO else void",
        "return follow if follow != ZERO else void if must_contest(row, rules, seat) != ZERO else hand",
    ),
    Mutant(
        "1.3.9",
        "a trump does not win a plain trick",
        "wins = bit(card) & now != ZERO",
        'wins = bit(card) & now & (rules["above"][best_card] if row["trick_size"] > 0 else now) != ZERO',
    ),
    Mutant(
        "1.3.9",
        "any card of another suit wins",
        "wins = bit(card) & now != ZERO",
        'wins = bit(card) & now != ZERO or rules["suit"][card] != rules["suit"][best_card]',
    ),
    Mutant(
        "1.3.9",
        "the lower card wins",
        "wins = bit(card) & now != ZERO",
        'wins = (bit(card) & now != ZERO) != (now != rules["deck_mask"] and rules["suit"][card] == row["led_suit"])',
    ),
    Mutant("1.3.10", "only the last lead is remembered", 'row["suits_led"] |= mark', 'row["suits_led"] = mark'),
    Mutant(
        "1.3.10",
        "only the last play's suit is remembered",
        'row["suits_played"] |= mark',
        'row["suits_played"] = mark',
    ),
    # 1.4: illegal play
    Mutant("1.4.1", "an illegal play is accepted", "return word & ONE != ZERO", "return True"),
    Mutant("1.4.1", "the offender's side wins", "if team != offender and", "if team == offender and"),
    Mutant("1.4.1", "the leader is blamed", 'row["reneged"] = row["seat"]', 'row["reneged"] = row["leader"]'),
    Mutant(
        "1.4.1",
        "of several others the lowest wins",
        'row["match_score"][team] > row["match_score"][winner]',
        'row["match_score"][team] < row["match_score"][winner]',
    ),
    # 1.5: scoring
    Mutant(
        "1.5.1",
        "the points of the trick go to the leader's side",
        'team = rules["team"][winner]\n    row["hand_points"]',
        'team = rules["team"][row["leader"]]\n    row["hand_points"]',
    ),
    Mutant(
        "1.5.2", "level scores a point", 'row["hand_points"][team] - rules["neutral"]', 'row["hand_points"][team] - 34'
    ),
    Mutant(
        "1.5.2",
        "the loser pays",
        'max(0, row["hand_points"][team] - rules["neutral"])',
        'row["hand_points"][team] - rules["neutral"]',
    ),
    Mutant("1.5.3", "the target must be passed", 'np.int64(rules["target"]) - 1', 'np.int64(rules["target"])'),
    Mutant(
        "1.5.4",
        "a waiting bonus is added even when a side has won",
        'if winner == NONE and row["waiting_bonus"] > 0:',
        'if row["waiting_bonus"] > 0:',
    ),
    Mutant("1.5.4", "a waiting bonus is forgotten", 'if winner == NONE and row["waiting_bonus"] > 0:', "if False:"),
    Mutant(
        "1.5.4",
        "a waiting bonus goes to the other side",
        'add_score(row, rules["team"][row["dealer"]], row["waiting_bonus"])',
        'add_score(row, 1 - rules["team"][row["dealer"]], row["waiting_bonus"])',
    ),
    Mutant("1.5.5", "no capote", 'rules["capote_wins"] and row["tricks_won"][team] == rules["num_tricks"]', "False"),
    Mutant("1.5.5", "capote even when off", 'if rules["capote_wins"] and row', "if row"),
    Mutant(
        "1.5.5",
        "nine tricks make a capote",
        'row["tricks_won"][team] == rules["num_tricks"]',
        'row["tricks_won"][team] >= rules["num_tricks"] - 1',
    ),
    Mutant(
        "1.5.5",
        "a capote wins only when not behind",
        'row["tricks_won"][team] == rules["num_tricks"]',
        'row["tricks_won"][team] == rules["num_tricks"] and row["match_score"][team] >= row["match_score"][1 - team]',
    ),
    Mutant(
        "1.5.6",
        "a capote below the target is a zapato",
        'return row["match_score"][winner] >= rules["target"]',
        "return True",
    ),
    Mutant(
        "1.5.6",
        "a zapato against 1 point",
        'if team != winner and row["match_score"][team] > 0:',
        'if team != winner and row["match_score"][team] > 1:',
    ),
    Mutant(
        "1.5",
        "the hand's change of score leaves the bonus out",
        'row["last_score_change"][rules["team"][row["dealer"]]] = row["paid_bonus"]',
        'row["last_score_change"][rules["team"][row["dealer"]]] = 0',
    ),
    # what a play tells
    Mutant(INFERENCE, "the turned-up card tells nothing", 'show(row, rules, row["dealer"], bit(card))', "pass"),
    Mutant(
        INFERENCE,
        "the dealer's last card tells nothing",
        'row["excluded"][seat] |= rules["deck_mask"] & ~hand',
        "pass",
    ),
    Mutant(INFERENCE, "an empty hand tells nothing", 'row["excluded"][seat] = rules["deck_mask"]', "pass"),
    Mutant(INFERENCE, "not following tells nothing", "else missed | led | under", "else missed | under"),
    Mutant(
        INFERENCE,
        "not beating tells nothing",
        "return missed & led if",
        "return ZERO if",
    ),
    Mutant(
        INFERENCE,
        "not beating partner tells the same",
        "orders = ordered(row, rules, seat)\n",
        'orders = row["beating"] if played & led != ZERO else ordered(row, rules, seat)\n',
    ),
    Mutant(
        INFERENCE,
        "following under a ruff tells of trumps",
        "return missed & led if",
        "return missed if",
    ),
    Mutant(
        INFERENCE,
        "not trumping tells nothing",
        "else missed | led | under",
        "else (missed if trumped(row, rules, seat) else ZERO) | led | under",
    ),
    Mutant(
        INFERENCE,
        "discarding on partner tells of trumps",
        "orders = ordered(row, rules, seat)\n",
        'orders = row["beating"] if played & led == ZERO else ordered(row, rules, seat)\n',
    ),
    Mutant(
        INFERENCE,
        "not overtrumping tells nothing",
        "else missed | led | under",
        "else led if trumped(row, rules, seat) else missed | led | under",
    ),
    Mutant(
        INFERENCE,
        "not undertrumping tells too little (forced)",
        "not under:\n        return trumps",
        "not under:\n        return ZERO",
    ),
    Mutant(
        INFERENCE,
        "undertrumping tells too little (forbidden)",
        'return rules["deck_mask"] & ~trumps & ~row["locked"]',
        "return ZERO",
    ),
    Mutant(
        INFERENCE,
        "undertrumping tells too much (forbidden)",
        'return rules["deck_mask"] & ~trumps & ~row["locked"]',
        'return rules["deck_mask"] & ~trumps',
    ),
    Mutant(
        INFERENCE,
        "a forced seven tells no more than a discard",
        'return rules["deck_mask"] & ~row["locked"]\n',
        "return led\n",
    ),
    # 1.5.6 and episodes of one hand, as other rule sets need them
    Mutant(
        "1.5.6",
        "no zapato against less than nothing",
        "[team] > 0:\n            return False",
        "[team] != 0:\n            return False",
    ),
    Mutant(
        "1.5",
        "a level hand goes to the first side",
        "elif points == best:\n            winner = NONE",
        "elif points == best:\n            pass",
    ),
    # 1.6.2: a new deal
    Mutant("1.6.2", "anybody may ask", 'return longest >= rules["redeal"]', "return True"),
    Mutant("1.6.2", "one card more is needed", 'return longest >= rules["redeal"]', 'return longest > rules["redeal"]'),
    Mutant("1.6.2", "cards of any suits count", "longest = max(longest, popcount(", "longest += (popcount("),
    Mutant(
        "1.6.2",
        "the dealer is asked first",
        'offer_ask(row, rules, next_seat(row["dealer"], rules))',
        'offer_ask(row, rules, row["dealer"])',
    ),
    Mutant(
        "1.6.2",
        "the dealer is not asked",
        'if seat == row["dealer"]:\n        begin_play',
        'if next_seat(seat, rules) == row["dealer"]:\n        begin_play',
    ),
    Mutant(
        "1.6.2",
        "an opponent consents",
        'offer(row, CONSENT, rules["partner"][row["seat"]],',
        'offer(row, CONSENT, (row["seat"] + 1) % rules["num_seats"],',
    ),
    Mutant(
        "1.6.2",
        "no consent is needed",
        "        offer_consent(row, rules)\n    elif",
        "        redeal(row, rules)\n    elif",
    ),
    Mutant(
        "1.6.2",
        "to refuse is to agree",
        'if action == rules["ask_at"] + AGREES:',
        'if action != rules["ask_at"] + AGREES:',
    ),
    Mutant(
        "1.6.2",
        "after a refusal the asker is asked again",
        'after_ask(row, rules, rules["partner"][row["seat"]])',
        'offer_ask(row, rules, rules["partner"][row["seat"]])',
    ),
    Mutant(
        "1.6.2",
        "after a refusal the partner's right is asked",
        'after_ask(row, rules, rules["partner"][row["seat"]])',
        'after_ask(row, rules, row["seat"])',
    ),
    Mutant(
        "1.6.2",
        "after a refusal the play begins",
        'after_ask(row, rules, rules["partner"][row["seat"]])',
        "begin_play(row, rules)",
    ),
    Mutant(
        "1.6.2",
        "the next player deals again",
        'row["attempt"] += 1\n    deal_from_key(row, rules)',
        'row["attempt"] += 1\n    deal_next(row, rules)',
    ),
    Mutant(
        "1.6.2",
        "the void deal's bonus stays",
        'bonus does not count."""\n    take_bonus_back(row, rules)\n',
        'bonus does not count."""\n',
    ),
    Mutant(
        "1.6.2",
        "the same cards are dealt again",
        'row["attempt"] += 1\n    deal_from_key(row, rules)',
        "deal_from_key(row, rules)",
    ),
    Mutant("1.6.2", "only the last to ask is remembered", 'row["asked"] |= np.uint8(1)', 'row["asked"] = np.uint8(1)'),
    Mutant(
        "1.6.2",
        "those who asked once are remembered in the next deal",
        'row["suits_played"] = row["asked"] = row["bid"] = 0',
        'row["suits_played"] = row["bid"] = 0',
    ),
    # 1.6.3: the albur
    Mutant(
        "1.6.3",
        "the lower strength wins",
        "if first % ranks > second % ranks else",
        "if first % ranks < second % ranks else",
    ),
    Mutant("1.6.3", "suits count", "if first % ranks > second % ranks else", "if first > second else"),
    Mutant(
        "1.6.3",
        "equal strengths are not drawn again",
        "while first % ranks == second % ranks:",
        "while first == second:",
    ),
    Mutant(
        "1.6.3",
        "points that just reach the target are paid",
        '+ rules["albur"] >= rules["target"]',
        '+ rules["albur"] > rules["target"]',
    ),
    Mutant(
        "1.6.3",
        "its points never wait",
        'row["waiting_albur"] = rules["albur"]',
        'row["match_score"][team] += rules["albur"]',
    ),
    Mutant(
        "1.6.3",
        "the dealer's right leads all the same",
        'if row["hand_number"] == 0 and row["albur_seat"] != NONE:',
        "if False:",
    ),
    Mutant(
        "1.6.3",
        "its winner leads first in every hand",
        'if row["hand_number"] == 0 and row["albur_seat"] != NONE:',
        'if row["albur_seat"] != NONE:',
    ),
    Mutant(
        "1.6.3",
        "its winner leads the first deal alone",
        'if row["hand_number"] == 0 and row["albur_seat"] != NONE:',
        'if row["hand_number"] == row["attempt"] == 0 and row["albur_seat"] != NONE:',
    ),
    Mutant("1.6.3", "points that wait are forgotten", 'if winner == NONE and row["waiting_albur"] > 0:', "if False:"),
    Mutant(
        "1.6.3",
        "points that wait are added even when a side has won",
        'if winner == NONE and row["waiting_albur"] > 0:',
        'if row["waiting_albur"] > 0:',
    ),
    Mutant(
        "1.6.3",
        "points that wait go to the other side",
        'add_score(row, rules["team"][row["albur_seat"]], row["waiting_albur"])',
        'add_score(row, 1 - rules["team"][row["albur_seat"]], row["waiting_albur"])',
    ),
    Mutant(
        "1.6.3", "single hands draw too", 'elif rules["albur"] > 0 and not row["one_hand"]:', 'elif rules["albur"] > 0:'
    ),
    Mutant(
        "1.6.3",
        "the first hand's change of score leaves it out",
        'if row["hand_number"] == 0 and row["albur_seat"] != NONE and row["waiting_albur"] == 0:',
        "if False:",
    ),
    Mutant(
        "1.6.3",
        "every hand's change of score holds it",
        'if row["hand_number"] == 0 and row["albur_seat"] != NONE and row["waiting_albur"] == 0:',
        'if row["albur_seat"] != NONE and row["waiting_albur"] == 0:',
    ),
    # 2: manille
    Mutant(
        "2.2",
        "packets are not known",
        "packets = self.packets or (1,) * self.num_tricks",
        "packets = (1,) * self.num_tricks",
    ),
    Mutant("2.3", "undertrumping is optional", "UNDERTRUMP.index(rules.undertrump)", "0"),
    Mutant(
        "2.4",
        "partner is never climbed over",
        "if rules.climb_over_partner or rules.teams[seat] != rules.teams[other]:",
        "if rules.teams[seat] != rules.teams[other]:",
    ),
    Mutant(
        "2.4",
        "partner is always climbed over",
        "if rules.climb_over_partner or rules.teams[seat] != rules.teams[other]:",
        "if True:",
    ),
    Mutant("2.6", "the loser never pays", 'if rules["loser_pays"]:', "if False:"),
    Mutant("2.6", "the loser always pays", 'if rules["loser_pays"]:', "if True:"),
    Mutant("2.6", "the winner pays", "add_score(row, 1 - team, -won)", "add_score(row, team, -won)"),
    Mutant(
        "2.6",
        "after a level hand the deal passes on",
        'if rules["redeal_level"] and is_level(row, rules):',
        "if False:",
    ),
    Mutant(
        "2.6",
        "after any hand the same dealer deals",
        'if rules["redeal_level"] and is_level(row, rules):',
        'if rules["redeal_level"]:',
    ),
    Mutant(
        "2.6",
        "a level hand is dealt again even when off",
        'if rules["redeal_level"] and is_level(row, rules):',
        "if is_level(row, rules):",
    ),
    Mutant(
        "2.7",
        "no point for the last trick",
        'row["hand_points"][team] += rules["last_trick_bonus"]',
        'row["hand_points"][team] += 0',
    ),
    Mutant(
        "2.7",
        "the point goes to the first leader's side",
        'row["hand_points"][team] += rules["last_trick_bonus"]',
        'row["hand_points"][rules["team"][row["leader"]]] += rules["last_trick_bonus"]',
    ),
    Mutant(
        "2.7",
        "the hand's total leaves it out",
        "self.num_tricks * self.trick_points + self.last_trick_bonus",
        "self.num_tricks * self.trick_points",
    ),
    Mutant("2.8", "the first side past the target wins", "if score > best:\n", "if score > best and winner == NONE:\n"),
    Mutant(
        "2.8",
        "of level sides the first wins",
        "elif score == best and winner != NONE:\n            winner = NONE",
        "elif score == best and winner != NONE:\n            pass",
    ),
    Mutant(
        "2.8",
        "level below a third, no side wins",
        "winner, best = team, score",
        'winner, best = team if winner != NONE or best < rules["target"] else NONE, score',
    ),
    # no trump, trump bid
    Mutant(
        "1.2.3",
        "a card is turned up even without trump",
        'if rules["trump"] == TRUMP_TURNED:',
        'if rules["trump"] != TRUMP_BID:',
    ),
    Mutant(
        "3.6",
        "a card is turned up before the auction",
        'if rules["trump"] == TRUMP_TURNED:',
        'if rules["trump"] <= TRUMP_BID:',
    ),
    # 3.5: statements
    Mutant(
        "3.5",
        "nothing is said before the first trick",
        '    if rules["talk"]:\n        offer_talk(row, rules, seat)',
        '    if rules["talk"] and row["num_plays"] > 0:\n        offer_talk(row, rules, seat)',
    ),
    Mutant(
        "3.5",
        "the leader alone may speak",
        'if seat == row["leader"]:\n        offer_talk',
        "if False:\n        offer_talk",
    ),
    Mutant(
        "3.5",
        "an opponent speaks after the leader",
        'offer_talk(row, rules, rules["partner"][seat])',
        "offer_talk(row, rules, next_seat(seat, rules))",
    ),
    Mutant(
        "3.5",
        "whoever spoke last leads",
        'row["phase"], row["seat"] = PLAY, row["leader"]',
        'row["phase"], row["seat"] = PLAY, seat',
    ),
    Mutant(
        "3.5",
        "none of a suit may be said of any",
        'hand, actions = row["hands"][seat], bit(PASS)\n',
        'hand, actions = row["hands"][seat], bit(PASS) | run(rules["count_at"], 4)\n',
    ),
    Mutant(
        "3.5",
        "silence is not allowed",
        'hand, actions = row["hands"][seat], bit(PASS)\n',
        'hand, actions = row["hands"][seat], ZERO\n',
    ),
    Mutant("3.5", "any high card may be claimed", "if held & bit(named_card(rules, place, suit)) != ZERO:", "if True:"),
    Mutant(
        "3.5",
        "the second highest cards cannot be told",
        "for place in range(2):\n            if held",
        "for place in range(1):\n            if held",
    ),
    Mutant("3.5", "the highest and the second change places", "- 1 - place", "- 2 + place"),
    Mutant(
        "3.5",
        "a number told does not fall with the play",
        'row["counts"][seat, suit] -= 1',
        'row["counts"][seat, suit] -= 0',
    ),
    Mutant(
        "3.5",
        "only the last number told is remembered",
        'row["counted"][seat] |= np.uint8(1)',
        'row["counted"][seat] = np.uint8(1)',
    ),
    Mutant("3.5", "numbers told are not in the View", 'if rules["talk"]:  # else', "if False:  # else"),
    Mutant(
        "3.5",
        "numbers stay when the hand is over",
        'row["tricks_won"][seat] = row["counted"][seat] = 0',
        'row["tricks_won"][seat] = 0',
    ),
    Mutant(
        INFERENCE, "a card told is not known", "show(row, rules, seat, bit(named_card(rules, place, suit)))", "pass"
    ),
    Mutant(INFERENCE, "a card shown may lie with another", "if other != seat:\n", "if False:\n"),
    Mutant(
        INFERENCE,
        "cards known and cards told of are not compared",
        'if row["counts"][seat, suit] == in_suit:',
        'if row["counts"][seat, suit] == 0:',
    ),
    Mutant(
        INFERENCE,
        "a suit of which one more is held is closed",
        'if row["counts"][seat, suit] == in_suit:',
        'if row["counts"][seat, suit] <= in_suit + 1:',
    ),
    Mutant(INFERENCE, "a hand that is wholly told of is not known", "if spoken_for == popcount(hand):", "if False:"),
    Mutant(
        INFERENCE,
        "a hand is thought known too soon",
        "if spoken_for == popcount(hand):",
        "if spoken_for + 1 >= popcount(hand):",
    ),
    Mutant(
        INFERENCE,
        "known cards of suits not told are left out",
        "        else:\n            spoken_for += in_suit",
        "        else:\n            spoken_for += 0",
    ),
    Mutant(
        INFERENCE,
        "the View shows cards that have been played",
        'view["shown"][seat] = shown & row["hands"][seat]',
        'view["shown"][seat] = shown & (row["hands"][seat] | row["played_by"][seat])',
    ),
    # 3.6: the auction
    Mutant("3.6", "bids need not rise", 'lowest = max(0, row["bid"] - rules["neutral"])', "lowest = 0"),
    Mutant(
        "3.6",
        "the same bid may be made again",
        'lowest = max(0, row["bid"] - rules["neutral"])',
        'lowest = max(0, row["bid"] - rules["neutral"] - 1)',
    ),
    Mutant("3.6", "nobody may pass", "offer(row, BID, seat, bit(PASS) | run(", "offer(row, BID, seat, run("),
    Mutant(
        "3.6",
        "bids begin at the neutral half",
        'row["bid"] = rules["neutral"] + 1 + action',
        'row["bid"] = rules["neutral"] + action',
    ),
    Mutant(
        "3.6",
        "the highest bid is missing",
        "range(self.neutral + 1, self.total_points + 1)",
        "range(self.neutral + 1, self.total_points)",
    ),
    Mutant(
        "3.6",
        "the dealer does not bid",
        'if row["seat"] != row["dealer"]:\n        offer_bid',
        'if next_seat(row["seat"], rules) != row["dealer"]:\n        offer_bid',
    ),
    Mutant(
        "3.6",
        "the dealer bids first",
        'offer_bid(row, rules, next_seat(row["dealer"], rules))\n    else',
        'offer_bid(row, rules, row["dealer"])\n    else',
    ),
    Mutant("3.6", "the dealer names trump", 'offer(row, NAME, row["bidder"],', 'offer(row, NAME, row["dealer"],'),
    Mutant(
        "3.6",
        "the first bidder stays the bidder",
        'row["bidder"] = row["seat"]',
        'row["bidder"] = row["seat"] if row["bidder"] == -1 else row["bidder"]',
    ),
    Mutant(
        "3.6",
        "when all pass the same dealer deals again",
        "    else:\n        misdeal(row, rules)",
        "    else:\n        redeal(row, rules)",
    ),
    Mutant(
        "3.6",
        "trumps are named from the other end",
        'row["trump"] = action - rules["name_at"]',
        'row["trump"] = 3 - (action - rules["name_at"])',
    ),
    Mutant(
        "3.6",
        "the bidder leads",
        "        protect(row, rules)\n        begin_play(row, rules)",
        '        protect(row, rules)\n        row["leader"] = row["bidder"]\n        begin_play(row, rules)',
    ),
    Mutant(
        "3.6",
        "a bid that is just reached fails",
        '[rules["team"][row["bidder"]]] >= row["bid"]',
        '[rules["team"][row["bidder"]]] > row["bid"]',
    ),
    Mutant("3.6", "every bid is made", "if not made_bid(row, rules):", "if False:"),
    Mutant(
        "3.6",
        "a made bid scores what was bid",
        "        if team != bidders:\n            return 0\n",
        '        return row["bid"] - rules["neutral"] if team == bidders else 0\n',
    ),
    Mutant(
        "3.6",
        "after a failed bid the others score what they took",
        'return 0 if team == bidders else row["bid"] - rules["neutral"]',
        'return 0 if team == bidders else max(0, row["hand_points"][team] - rules["neutral"])',
    ),
    Mutant(
        "3.6",
        "a single hand goes by its points",
        'points_won(row, rules, team) if rules["trump"] == TRUMP_BID else row["hand_points"][team]',
        'row["hand_points"][team]',
    ),
    Mutant("3.6", "a bid is remembered in the next hand", 'row["asked"] = row["bid"] = 0', 'row["asked"] = 0'),
    # 3.7: three players
    Mutant(
        "3.7", "the dead hand is dealt to last", "[*seats[:-1], self.num_seats, seats[-1]]", "[*seats, self.num_seats]"
    ),
    Mutant(
        "3.7",
        "dead cards are nowhere",
        'row["face_down"] = dealt(row, rules, rules["num_seats"], 0, rules["dead_cards"])',
        "pass",
    ),
    Mutant(
        "3.7",
        "dead cards bring the last trick's taker points",
        'row["hand_points"][team] += rules["last_trick_bonus"]',
        'row["hand_points"][team] += rules["last_trick_bonus"] + rules["dead_cards"]',
    ),
    Mutant(
        "3.7",
        "cards taken out are dealt",
        'row["deck_mask"] = rules.deck,',
        'row["deck_mask"] = range(rules.num_cards),',
    ),
    # 3.8: two players
    Mutant(
        "3.8",
        "the cards dealt first lie open",
        "places = places[rules.piles :] + places[: rules.piles]",
        "places = places",
    ),
    Mutant(
        "3.8", "the piles lie in another order", 'places[at + rules["piles"]]]', 'places[rules["num_tricks"] - 1 - at]]'
    ),
    Mutant(
        "3.8",
        "the winner's pile alone is turned up",
        'if row["covering"] & bit(card) != ZERO:',
        'if row["covering"] & bit(card) != ZERO and seat == row["best_seat"]:',
    ),
    Mutant("3.8", "cards turned up still count as face down", 'row["face_down"] &= ~under', "pass"),
    Mutant("3.8", "cards turned up are not shown", 'row["shown"] |= under', "pass"),
    Mutant("3.8", "a pile that is gone still covers", 'row["covering"] &= ~bit(card)\n', "pass\n"),
    Mutant(INFERENCE, "open hands tell nothing", 'if rules["piles"] > 0:  # 3.8', "if False:  # 3.8"),
]


def workspace(mutant: Mutant | None, place: Path) -> None:
    """A copy of what the rule tests need, with the mutant made in it; ValueError if its text is not there just once."""
    for folder in ("malilla_env", "tests/rules", "tests/golden"):
        shutil.copytree(ROOT / folder, place / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (place / "docs").mkdir()
    helpers = [path.relative_to(ROOT) for path in (ROOT / "tests").glob("*.py") if not path.name.startswith("test_")]
    for file in (*helpers, "docs/RULES.md", "README.md", "pyproject.toml"):
        shutil.copy(ROOT / file, place / file)
    if mutant is None:
        return
    texts = {place / file: (place / file).read_text(encoding="utf-8") for file in FILES}
    times = sum(text.count(mutant.old) for text in texts.values())
    if times != 1:
        raise ValueError(f"{mutant.what}: stands {times} times in {', '.join(FILES)}, not once: {mutant.old!r}")
    for path, text in texts.items():
        if mutant.old in text:
            path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")


def tests_for(mutant: Mutant | None) -> list[str]:
    """The test files, those first that are likeliest to notice."""
    first: tuple[str, ...] = ()
    if mutant is not None and mutant.rule == INFERENCE:
        first = ("inference", "inference_family")
    elif mutant is not None:
        first = next(names for chapter, names in CHAPTERS.items() if mutant.rule.startswith(chapter))
    return [f"tests/rules/test_{name}.py" for name in dict.fromkeys((*first, *TESTS))]


def verdict(mutant: Mutant | None) -> tuple[str, str]:
    """ "caught" and the test that did it, "survived", or "broken" and why."""
    settings = {"NUMBA_DISABLE_JIT": "1", "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | settings
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        try:
            workspace(mutant, Path(folder))
            # the copy comes before the installed package: `python -m` puts the working directory first
            command = [*COMMAND, *tests_for(mutant)]
            run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT)
        except ValueError as error:
            return "broken", str(error)
        except subprocess.TimeoutExpired:
            return "caught", f"(the tests did not end in {TIMEOUT} s)"
    if run.returncode == 0:
        return "survived", ""
    failed = re.search(r"^FAILED \S*?(test_\w+\.py)::(.+?)(?: - |$)", run.stdout, flags=re.MULTILINE)
    if run.returncode == 1 and failed:
        return "caught", f"{failed[1]}::{failed[2]}"
    return "broken", (run.stdout + run.stderr)[-1500:]


def main() -> int:
    parser = argparse.ArgumentParser(description="Break the rules in small ways; the tests must notice each.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants tested at a time")
    parser.add_argument(
        "--only",
        default="",
        help="only mutants that say this (the engine as it is not tested first)",
    )
    parser.add_argument("--list", action="store_true", help="list the mutants and stop")
    options = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS if options.only in f"{mutant.rule} {mutant.what}"]
    console = Console(width=160)
    if options.list:
        for mutant in chosen:
            console.print(f"{mutant.rule:12} {mutant.what}", highlight=False)
        return 0
    base, detail = verdict(None) if not options.only else ("survived", "")
    if base != "survived":
        console.print(f"the rule tests fail without any mutant: {detail}", markup=False)
        return 2
    with ThreadPoolExecutor(options.jobs) as pool:
        verdicts = []
        for mutant, found in zip(chosen, pool.map(verdict, chosen), strict=True):
            verdicts.append(found)
            line = f"{len(verdicts):3}/{len(chosen)} {mutant.rule:12} {mutant.what}: {' by '.join(filter(None, found))}"
            console.print(line, highlight=False, markup=False)
    return summary(console, chosen, verdicts)


def summary(console: Console, chosen: list[Mutant], verdicts: list[tuple[str, str]]) -> int:
    """Print the table; the exit status."""
    table = Table("rule", "the wrong change", "verdict", "caught by")
    for mutant, (word, detail) in zip(chosen, verdicts, strict=True):
        table.add_row(mutant.rule, mutant.what, word, detail.replace("[", r"\["))
    console.print(table)
    words = [word for word, _ in verdicts]
    console.print(f"{len(words)} mutants: {words.count('caught')} caught, {words.count('survived')} survived")
    return 2 if "broken" in words else int("survived" in words)


if __name__ == "__main__":
    sys.exit(main())
