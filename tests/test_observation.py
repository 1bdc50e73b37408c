"""The observation: slices that tile the vector, each block against the View it came from, frames (CASES 4, 5)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from malilla_env import GameBatch, RuleSet, layout, observation, ruleset
from malilla_env.cards import cards_in
from malilla_env.describe import page
from malilla_env.observation import BLOCKS, Block, Layout, encode_views, state_layout

ROOT = Path(__file__).parents[1]
THREE_SEATS = RuleSet(
    name="three", teams=(0, 1, 2), rank_names="789JQKAT", rank_points=(0, 0, 0, 1, 2, 3, 4, 5), removed=("7s", "7c"),
    trick_points=0, neutral=20, target=101, protected="off", dealer_bonus=False, capote_wins=False,
)  # fmt: skip
FIFTY_TWO = RuleSet(name="13", rank_names="23456789TJQKA", rank_points=(0,) * 9 + (1, 2, 3, 4), neutral=26)


def played(rules: RuleSet, plies: int, games: int = 60) -> GameBatch:
    batch = GameBatch(rules, games, seed=31)
    for _ in range(plies):
        batch.step(batch.random_legal(batch.decision_keys()))
    return batch


@pytest.mark.parametrize("rules", [ruleset(), THREE_SEATS, FIFTY_TWO], ids=lambda rules: rules.name)
@pytest.mark.parametrize("plan_of", [layout, state_layout])
def test_case_4_slices_tile_the_vector_without_gaps(rules: RuleSet, plan_of: object) -> None:
    plan = plan_of(rules)  # type: ignore[operator]
    ends = [0]
    for name, where in plan.slices.items():
        assert where.start == ends[-1]
        assert where.stop - where.start == np.prod(plan.shapes[name])
        ends.append(where.stop)
    assert ends[-1] == plan.width


def expected(rules: RuleSet, view: NDArray[np.void]) -> dict[str, NDArray[np.float64]]:
    """Every block written out from one View, in plain Python."""
    seats, teams, ranks = rules.num_seats, rules.num_teams, rules.ranks
    seat, team = int(view["seat"]), rules.teams[int(view["seat"])]
    order = [(seat + place) % seats for place in range(seats)]
    sides = [(team + place) % teams for place in range(teams)]

    def ones(cards: list[int], width: int = 4 * ranks) -> NDArray[np.float64]:
        vector = np.zeros(width)
        vector[[card for card in cards if card >= 0]] = 1
        return vector

    gone = [card for other in range(seats) for card in cards_in(view["played_by"][other])]
    unseen = set(rules.deck) - set(gone) - set(cards_in(view["hand"]))
    turned = int(view["turned_card"])
    return {
        "hand": ones(cards_in(view["hand"])),
        "played": np.stack([ones(cards_in(view["played_by"][other])) for other in order]),
        "may_hold": np.stack([ones([*unseen - set(cards_in(view["cannot_hold"][other]))]) for other in order[1:]]),
        "turned": ones([turned] if turned not in gone else []),
        "trick": ones(cards_in(view["trick_cards"])),
        "best": ones([int(view["best_card"])]),
        "best_seat": ones([order.index(view["best_seat"])] if view["best_seat"] >= 0 else [], seats),
        "led": ones([int(view["led_suit"])], 4),
        "trump": ones([int(view["trump"])], 4),
        "suits_led": ones(cards_in(view["suits_led"]), 4),
        "dealer": ones([order.index(view["dealer"])], seats),
        "trick_size": ones([int(view["trick_size"])], seats),
        "points": view["hand_points"][sides] / rules.total_points,
        "tricks": view["tricks_won"][sides] / rules.num_tricks,
        "score": np.clip(view["match_score"][sides] / rules.target, -1, 1),
        "waiting_bonus": np.array([view["waiting_bonus"] / max(rules.rank_points)]),
        "progress": np.array([view["tricks_won"].sum() / rules.num_tricks]),
    }


@pytest.mark.parametrize("rules", [ruleset(), THREE_SEATS, FIFTY_TWO], ids=lambda rules: rules.name)
@pytest.mark.parametrize("plies", [0, 3, 17, 26])
def test_every_block_says_what_the_view_holds(rules: RuleSet, plies: int) -> None:
    games, plan = played(rules, plies), layout(rules)
    views, seen = games.views(), games.observe()
    assert np.array_equal(encode_views(rules, views), seen)
    for view, row in zip(views, seen, strict=True):
        blocks = expected(rules, view)
        assert list(blocks) == [block.name for block in BLOCKS]
        for name, block in blocks.items():
            assert np.allclose(row[plan.slices[name]].reshape(plan.shapes[name]), block), name


def test_the_full_state_shows_all_hands_and_the_same_table() -> None:
    games, rules = played(ruleset(), 13), ruleset()
    full, plan, seen = games.observe_state(), state_layout(rules), games.observe()
    for lane in range(len(games)):
        hands = full[lane, plan.slices["hands"]].reshape(4, 40)
        for place in range(4):
            assert np.flatnonzero(hands[place]).tolist() == cards_in(games.hands[lane, (games.seat[lane] + place) % 4])
    shared = plan.slices["trick"].start
    assert np.array_equal(full[:, shared:], seen[:, layout(rules).slices["trick"].start :])


@pytest.mark.parametrize("rules", [ruleset(), THREE_SEATS, FIFTY_TWO], ids=lambda rules: rules.name)
def test_a_suit_order_moves_whole_suits_and_nothing_else(rules: RuleSet) -> None:
    games = played(rules, 11)
    orders = np.array([np.random.default_rng(lane).permutation(4) for lane in range(len(games))])
    plain = games.observe()
    frames = np.stack([row[layout(rules).frame(order)] for row, order in zip(plain, orders, strict=True)])
    assert np.array_equal(games.observe(suit_order=orders), frames)
    full = games.observe_state()
    moved = np.stack([row[state_layout(rules).frame(order)] for row, order in zip(full, orders, strict=True)])
    assert np.array_equal(games.observe_state(suit_order=orders), moved)


@pytest.mark.parametrize("rules", [ruleset(), THREE_SEATS, FIFTY_TWO], ids=lambda rules: rules.name)
def test_an_output_too_large_for_caches_holds_the_same(rules: RuleSet, monkeypatch: pytest.MonkeyPatch) -> None:
    games = played(rules, 12)
    games.step(games.random_legal(games.decision_keys()))
    seen, full = games.observe(), games.observe_state()
    monkeypatch.setattr(observation, "FAR", 0)
    assert np.array_equal(games.observe(), seen)
    assert np.array_equal(games.observe_state(), full)
    odd = np.zeros(seen.size + 1, np.float32)[1:].reshape(seen.shape)  # at no multiple of 16 bytes
    assert np.array_equal(games.observe(out=odd), seen)


def test_every_value_of_a_match_lies_in_the_box() -> None:
    games = GameBatch(ruleset(), 64, seed=32)
    while not games.done.all():
        seen = games.observe()
        assert seen.min() >= -1
        assert seen.max() <= 1
        games.step(games.random_legal(games.decision_keys()))


def test_case_5_a_match_of_200_hands_encodes() -> None:
    games = GameBatch(ruleset(target=1000, capote_wins=False), 2, seed=33)
    while games.hand_number.min() < 200 and not games.done.any():
        games.step(games.random_legal(games.decision_keys()))
        assert np.isfinite(games.observe(seats=0)).all()
    assert games.hand_number.min() >= 200 or games.done.any()


def test_the_hash_follows_what_is_read_and_not_the_score_to_win() -> None:
    assert layout(ruleset()).hash == layout(ruleset("malilla-70")).hash
    assert layout(ruleset()).hash != layout(THREE_SEATS).hash
    renamed = (replace(BLOCKS[0], meaning="something else"), *BLOCKS[1:])
    assert Layout(ruleset(), renamed).hash != layout(ruleset()).hash
    assert Layout(ruleset(), (*BLOCKS, Block("more", ("one",), "more"))).hash != layout(ruleset()).hash


def test_the_page_is_not_stale() -> None:
    told = "run: python -m malilla_env.describe > docs/OBSERVATION.md"
    assert (ROOT / "docs" / "OBSERVATION.md").read_text() == page(ruleset()), told


def test_wrong_arguments_are_refused_by_name() -> None:
    games = GameBatch(ruleset(), 4, seed=34)
    with pytest.raises(ValueError, match="suit_order must name each suit"):
        games.observe(suit_order=[0, 0, 1, 2])
    with pytest.raises(ValueError, match="suit_order must be integers of shape"):
        games.observe(suit_order=[0, 1, 2])
    with pytest.raises(ValueError, match="out must be a contiguous, writeable float32"):
        games.observe(out=np.zeros((4, 3), np.float32))
    fixed = np.zeros((4, layout(ruleset()).width), np.float32)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="out must be a contiguous, writeable float32"):
        games.observe(out=fixed)
    with pytest.raises(ValueError, match="out must be a contiguous, writeable float32"):
        games.observe(out=fixed.tolist())
    with pytest.raises(ValueError, match=r"seats must be 0\.\.3"):
        games.observe(seats=4)
    with pytest.raises(ValueError, match="VIEW"):
        encode_views(ruleset(), games.state)
