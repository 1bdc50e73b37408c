"""Perft: how many sequences of actions there are from fixed deals, ply by ply, in every game of the family.

In: GAMES, each a rule set and the actions that come before. Out: tests/golden/perft.json, for each game the number of
distinct sequences of 1, 2, 3 ... actions after them, from each of three deals. A sequence that ends the hand or calls
the deal off is counted and goes no further.

    python tests/rules/perft.py        counts with the engine and writes the file anew
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))  # where referee.py is, when this file is run by itself

from referee import Laws, Referee

from malilla_env import GameBatch, RuleSet, deal, ruleset
from malilla_env.rules import PRESETS

GOLDEN = Path(__file__).parents[1] / "golden" / "perft.json"
SEED, DEALS = 7, 3
LIMIT = 8_000  # no further than the ply with so many sequences
LATE = 5  # tricks that are left in the late games
BID = {"trump": "bid", "dealer_bonus": False}
TRUMPLESS = {"trump": "none", "dealer_bonus": False, "protected": "off"}
# what changes the play of a preset, and is worth a count of its own
TOGGLES = {
    "malilla": [
        {"climb_over_partner": True},
        {"undertrump": "forced"},
        {"undertrump": "forbidden"},
        {"protected": "played"},
        {"protected": "off"},
        {"redeal": 4},
        {"talk": True},
        BID,
        TRUMPLESS,
    ],
    "manille": [
        {"climb_over_partner": False},
        {"undertrump": "optional"},
        {"undertrump": "forbidden"},
        {"packets": [4, 4]},
        {"trump": "none"},
    ],
    "manille-3": [{"undertrump": "optional"}, {"trump": "none"}],
    "manille-3-dead": [{"undertrump": "forbidden"}, {"packets": [2, 6]}],
    "manille-2": [{"undertrump": "optional"}, {"trump": "none"}],
}


class Game(NamedTuple):
    """What is counted: a rule set, and after which actions."""

    rules: RuleSet
    before: int = 0  # actions before the count, chosen by `chosen`


def chosen(legal: list[str], ply: int) -> str:
    """One of the legal actions: any will do that is the same tomorrow; a bid is passed only at times."""
    return legal[(7 * ply + 3) % len(legal)]


def games() -> dict[str, Game]:
    """By name: each game from the deal on, and from late in the hand, where it is not alike."""
    rule_sets = {name: PRESETS[name] for name in PRESETS}
    for name, toggles in TOGGLES.items():
        for changes in toggles:
            rule_sets[f"{name} {json.dumps(changes)}"] = ruleset(name, **changes)
    found: dict[str, Game] = {}
    for name, rules in rule_sets.items():
        found[name] = Game(rules)
        spoken = rules.num_seats * bool(rules.redeal) + (rules.num_seats + 1) * (rules.trump == "bid")
        if rules.trump == "bid":
            found[f"{name}, after the auction"] = Game(rules, spoken)
        if 0 < rules.redeal < 5:  # where a new deal comes about too soon
            continue
        per_trick = rules.num_seats + 2 * rules.talk
        found[f"{name}, late"] = Game(rules, spoken + per_trick * (rules.num_tricks - LATE))
    return found


def start(game: Game, number: int) -> tuple[GameBatch, Referee, list[str]]:
    """A batch of one, its referee, and the actions before the count."""
    names = game.rules.action_names
    batch = GameBatch(game.rules, 1, seed=SEED)
    row = deal(game.rules, seed=SEED, ids=[number])
    batch.reset(deals=row)
    drawn = [names[card] for card in batch.state["albur_cards"][0] if card >= 0]
    order = [names[card] for card in row["cards"][0]]
    referee = Referee(game.rules, order, int(row["dealer"][0]), albur=drawn)
    before = []
    for ply in range(game.before):
        legal = sorted(names[action] for action in np.flatnonzero(batch.legal_actions()[0]))
        before.append(chosen(legal, ply))
        batch.step(np.array([names.index(before[-1])]))
        assert not batch.hand_over[0], "the hand ended before the count"
        assert not batch.attempt[0], "the deal was called off before the count"
    return batch, referee, before


def by_engine(batch: GameBatch, limit: int) -> list[int]:
    """Sequences of 1, 2, ... actions, up to the end of the hand or the first ply with more than `limit`."""
    counts: list[int] = []
    state = batch.state.copy()
    while len(state) and (not counts or counts[-1] <= limit):
        lanes, actions = np.nonzero(GameBatch.from_state(batch.rules, state).legal_actions())
        counts.append(len(actions))
        if counts[-1] <= limit:
            state = _after(GameBatch.from_state(batch.rules, state[lanes]), actions)
    return counts


def _after(games: GameBatch, actions: NDArray[np.int64]) -> NDArray[np.void]:
    """The states after the actions, those left out in which the hand is over or the deal called off."""
    attempt = games.state["attempt"].copy()
    games.step(actions)
    over = games.state["hand_over"] | games.state["done"] | (games.state["attempt"] != attempt)
    return games.state[~over].copy()


def by_referee(game: Game, referee: Referee, before: list[str], limit: int) -> list[int]:
    """The same by the referee, which plays each sequence from the deal."""
    order = _order(referee)
    counts: list[int] = []
    lines = [before]
    while lines and (not counts or counts[-1] <= limit):
        longer = []
        for line in lines:
            again = Referee(game.rules, order, referee.dealer, laws=referee.laws, albur=referee.albur)
            for action in line:
                again.play(action)
            if not (again.hand_over or again.void or again.done):
                longer += [[*line, action] for action in again.legal()]
        if longer:
            counts.append(len(longer))
        lines = longer
    return counts


def _order(referee: Referee) -> list[str]:
    """The dealing order of a referee at the beginning of the hand."""
    laws: Laws = referee.laws
    hands = [[*(referee.under[card] for card in hand if card in referee.under), *hand] for hand in referee.hands]
    cards = [iter(hand) for hand in [*hands, referee.dead]]
    return [next(cards[hand]) for hand in laws.dealing(referee.dealer)]


def count() -> Iterator[tuple[str, list[list[int]]]]:
    for name, game in games().items():
        yield name, [by_engine(start(game, number)[0], LIMIT) for number in range(DEALS)]


def main() -> None:
    lines = [f"    {json.dumps(name)}: {json.dumps(counts)}" for name, counts in count()]
    about = f"sequences of 1, 2, 3 ... actions from deal(rules, seed={SEED}, ids=range({DEALS})); "
    about += "made anew by: python tests/rules/perft.py"
    text = ",\n".join(lines)
    GOLDEN.write_text(f'{{\n  "about": {json.dumps(about)},\n  "counts": {{\n{text}\n  }}\n}}\n')
    print(f"{GOLDEN}: {len(lines)} games")


if __name__ == "__main__":
    main()
