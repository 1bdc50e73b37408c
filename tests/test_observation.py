"""The observation: slices that tile the vector, each block against the View it came from, frames (CASES 4, 5).

Of every game of the family: which blocks it has, and that nothing is written beside its rows.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from family import GAMES, after, an_illegal_action, every_game
from numpy.typing import NDArray

from malilla_env import GameBatch, RuleSet, layout, observation, ruleset
from malilla_env.cards import cards_in
from malilla_env.compiled import PURE, Array, jit
from malilla_env.describe import page
from malilla_env.observation import (
    BLOCKS,
    STATE_BLOCKS,
    TABLE_BLOCKS,
    Block,
    Layout,
    card_frame,
    encode_views,
    state_layout,
)
from malilla_env.state import PHASES, TALK
from malilla_env.view import VIEW, fill_view

ROOT = Path(__file__).parents[1]
THREE_SEATS = RuleSet(
    name="three", teams=(0, 1, 2), rank_names="789JQKAT", rank_points=(0, 0, 0, 1, 2, 3, 4, 5), removed=("7s", "7c"),
    trick_points=0, neutral=20, target=101, protected="off", dealer_bonus=False, capote_wins=False,
)  # fmt: skip
FIFTY_TWO = RuleSet(name="13", rank_names="23456789TJQKA", rank_points=(0,) * 9 + (1, 2, 3, 4), neutral=26)


# and decks whose suits end at no multiple of eight bits, with short blocks after them
NINE_RANKS = RuleSet(
    name="nine", rank_names="234JQKA67", rank_points=(0, 0, 0, 1, 2, 3, 4, 5, 6), redeal=4, talk=True, albur=3
)  # fmt: skip
ONE_RANK = RuleSet(name="one", rank_names="7", rank_points=(6,), neutral=12, redeal=1, talk=True)
PILES_OF_FIVE = RuleSet(name="ten piles", teams=(0, 1), piles=10, trick_points=0, neutral=30)
DEAD_THIRTEEN = replace(FIFTY_TWO, name="13 dead", teams=(0, 1, 2), neutral=17, dead_hand=True)
ODD = {rules.name: rules for rules in (THREE_SEATS, FIFTY_TWO, NINE_RANKS, ONE_RANK, PILES_OF_FIVE, DEAD_THIRTEEN)}
ALL = {**GAMES, **ODD}
all_decks = pytest.mark.parametrize("rules", ALL.values(), ids=ALL)
LANES = 2 if PURE else 16


@all_decks
@pytest.mark.parametrize("plan_of", [layout, state_layout])
def test_case_4_slices_tile_the_vector_without_gaps(rules: RuleSet, plan_of: object) -> None:
    plan = plan_of(rules)  # type: ignore[operator]
    ends = [0]
    for name, where in plan.slices.items():
        assert where.start == ends[-1]
        assert where.stop - where.start == np.prod(plan.shapes[name])
        ends.append(where.stop)
    assert ends[-1] == plan.width
    assert list(plan.slices) == [block.name for block in plan.blocks]
    assert {name: plan.slices[name].start if name in plan.slices else -1 for name in names_of(plan_of)} == dict(
        zip(names_of(plan_of), plan.offsets.tolist(), strict=True)
    )


def names_of(plan_of: object) -> list[str]:
    """Of the blocks that some rule set has."""
    return [block.name for block in (BLOCKS if plan_of is layout else STATE_BLOCKS)]


EXTRAS = {
    "malilla": set(),
    "malilla-70": set(),
    "malilla-redeal": {"phase", "leader", "asked"},
    "malilla-albur": {"waiting_albur"},
    "malilla-zone": {"phase", "leader", "asked"},
    "malilla-zone-70": {"phase", "leader", "asked"},
    "manille": set(),
    "manilla-48": set(),
    "malilla-espanola": set(),
    "malilla-nueve": set(),
    "manille-muette": set(),
    "manille-parlee": {"shown", "phase", "leader", "counted", "counts"},
    "manille-encheres": {"phase", "leader", "bid", "bidder"},
    "manille-3": set(),
    "manille-3-dead": {"face_down"},
    "manille-2": {"covering", "face_down"},
}


@pytest.mark.parametrize("name", EXTRAS)
def test_which_blocks_a_rule_set_has(name: str) -> None:
    """Those of `malilla`, and what its own options need; cards face down are in the full state alone."""
    rules, plain = GAMES[name], GAMES["malilla"]
    assert set(layout(rules).slices) - set(layout(plain).slices) == EXTRAS[name] - {"face_down"}
    assert set(state_layout(rules).slices) - set(state_layout(plain).slices) == EXTRAS[name]
    assert set(layout(plain).slices) <= set(layout(rules).slices)


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

    def held(field: str) -> NDArray[np.float64]:
        return np.stack([ones(cards_in(view[field][other])) for other in order])

    gone = [card for other in range(seats) for card in cards_in(view["played_by"][other])]
    unseen = set(rules.deck) - set(gone) - set(cards_in(view["hand"]))
    turned, bidder, counted = int(view["turned_card"]), int(view["bidder"]), view["counted"][order]
    told, size = np.stack([ones(cards_in(suits), 4) for suits in counted]), int(view["trick_size"])
    waits = [rules.teams[view["albur_seat"]] == side and view["waiting_albur"] > 0 for side in sides]
    return {
        "hand": ones(cards_in(view["hand"])),
        "played": held("played_by"),
        "may_hold": np.stack([ones([*unseen - set(cards_in(view["cannot_hold"][other]))]) for other in order[1:]]),
        "turned": ones([turned] if turned not in gone else []),
        "trick": ones(cards_in(view["trick_cards"])),
        "best": ones([int(view["best_card"])]),
        "shown": held("shown"),
        "covering": ones(cards_in(view["covering"])),
        "best_seat": ones([order.index(view["best_seat"])] if view["best_seat"] >= 0 else [], seats),
        "led": ones([int(view["led_suit"])], 4),
        "trump": ones([int(view["trump"])], 4),
        "suits_led": ones(cards_in(view["suits_led"]), 4),
        "dealer": ones([order.index(view["dealer"])], seats),
        "trick_size": ones([size] if size < seats else [], seats),  # whole when the game is over, and then only
        "points": view["hand_points"][sides] / rules.total_points,
        "tricks": view["tricks_won"][sides] / rules.num_tricks,
        "score": np.clip(view["match_score"][sides] / rules.target, -1, 1),
        "waiting_bonus": np.array([view["waiting_bonus"] / max(1, *rules.rank_points)]),
        "progress": np.array([view["tricks_won"].sum() / rules.num_tricks]),
        "phase": ones([int(view["phase"]) - 1], len(PHASES) - 1),
        "leader": ones([order.index(view["leader"])], seats),
        "asked": np.array([view["asked"] >> other & 1 for other in order]),
        "waiting_albur": np.array(waits, float),
        "bid": np.array([view["bid"] / rules.total_points]),
        "bidder": ones([order.index(bidder)] if bidder >= 0 else [], seats),
        "counted": told,
        "counts": told * view["counts"][order] / rules.hand_size,
    }


@all_decks
def test_every_block_says_what_the_view_holds(rules: RuleSet) -> None:
    """At any time, of a seat on turn or not; scores near the target, so that bonuses and alburs wait."""
    games, plan = near_the_end(rules), layout(rules)
    for ply in range(2 * rules.longest_hand):
        games.step(games.random_legal(games.decision_keys()))
        if ply % (11 if PURE else 5):
            continue
        seats = np.random.default_rng(ply).integers(0, rules.num_seats, len(games))
        views, seen = games.views(seats), games.observe(seats)
        assert np.array_equal(encode_views(rules, views), seen)
        assert np.abs(seen).max() <= 1
        for view, row in zip(views, seen, strict=True):
            blocks = expected(rules, view)
            assert list(blocks) == names_of(layout)
            for name, where in plan.slices.items():
                assert np.allclose(row[where].reshape(plan.shapes[name]), blocks[name]), name


def near_the_end(rules: RuleSet, lanes: int = LANES, seed: int = 31) -> GameBatch:
    """New games, the scores below the target by little."""
    games = GameBatch(rules, lanes, seed=seed)
    short = np.random.default_rng(seed).integers(1, 12, (lanes, rules.num_teams))
    games.reset(seed, match_score=np.maximum(0, rules.target - short))
    return games


@pytest.mark.parametrize("name", ["malilla", "malilla-redeal", "manille-encheres", "manille-parlee"])
def test_after_an_illegal_action_the_rest_is_told_as_it_was(name: str) -> None:
    """Nothing is to be done then: no phase is marked, and no block beside it is touched."""
    rules = GAMES[name]
    games, plan = after(rules, 12, 1), layout(rules)
    games.step([an_illegal_action(games)])
    assert games.done[0]
    for seat in range(rules.num_seats):
        view, row = games.views(seat)[0], games.observe(seat)[0]
        for block, where in plan.slices.items():
            assert np.allclose(row[where].reshape(plan.shapes[block]), expected(rules, view)[block]), block
        assert "phase" not in plan.slices or not row[plan.slices["phase"]].any()


@all_decks
def test_the_full_state_shows_all_hands_and_the_same_table(rules: RuleSet) -> None:
    games = after(rules, 13, LANES)
    plan, ranks = state_layout(rules), rules.ranks
    games = GameBatch.from_state(rules, games.state[~games.done])  # of a game that is over no seat is on turn
    full, seen = games.observe_state(), games.observe()
    for lane, row in enumerate(full):
        hands = row[plan.slices["hands"]].reshape(rules.num_seats, 4 * ranks)
        for place in range(rules.num_seats):
            seat = (games.seat[lane] + place) % rules.num_seats
            assert np.flatnonzero(hands[place]).tolist() == cards_in(games.hands[lane, seat])
        if rules.face_down:
            assert np.flatnonzero(row[plan.slices["face_down"]]).tolist() == cards_in(games.state["face_down"][lane])
    shared = plan.slices["trick"].start
    assert list(plan.slices)[-1] == list(layout(rules).slices)[-1]
    assert np.array_equal(full[:, shared:], seen[:, layout(rules).slices["trick"].start :])


@all_decks
def test_a_suit_order_moves_whole_suits_and_nothing_else(rules: RuleSet) -> None:
    games = near_the_end(rules)
    for _ in range(11):
        games.step(games.random_legal(games.decision_keys()))
    orders = np.array([np.random.default_rng(lane).permutation(4) for lane in range(len(games))])
    plain, views = games.observe(seats=0), games.views(seats=0)
    frames = np.stack([row[layout(rules).frame(order)] for row, order in zip(plain, orders, strict=True)])
    assert np.array_equal(games.observe(seats=0, suit_order=orders), frames)
    assert np.array_equal(encode_views(rules, views, suit_order=orders), frames)
    full = games.observe_state(seats=0)
    moved = np.stack([row[state_layout(rules).frame(order)] for row, order in zip(full, orders, strict=True)])
    assert np.array_equal(games.observe_state(seats=0, suit_order=orders), moved)


@all_decks
@pytest.mark.parametrize("plan_of", [layout, state_layout])
def test_a_frame_moves_each_block_along_its_last_axis(rules: RuleSet, plan_of: object) -> None:
    """Suits, and cards by their suits; what has neither stays."""
    plan, order = plan_of(rules), [2, 0, 3, 1]  # type: ignore[operator]
    frame = plan.frame(order)
    assert sorted(frame.tolist()) == list(range(plan.width))
    for block in plan.blocks:
        where = plan.slices[block.name]
        here = frame[where].reshape(plan.shapes[block.name]) - where.start
        plain = np.arange(where.stop - where.start).reshape(plan.shapes[block.name])
        last = {"suit": order, "card": card_frame(rules, order)}.get(block.axes[-1], slice(None))
        assert np.array_equal(here, plain[..., last]), block.name


@all_decks
def test_an_output_too_large_for_caches_holds_the_same(rules: RuleSet, monkeypatch: pytest.MonkeyPatch) -> None:
    games = after(rules, 13, LANES)
    seen, full = games.observe(seats=0), games.observe_state(seats=0)
    monkeypatch.setattr(observation, "FAR", 0)
    assert np.array_equal(games.observe(seats=0), seen)
    assert np.array_equal(games.observe_state(seats=0), full)
    odd = np.zeros(seen.size + 1, np.float32)[1:].reshape(seen.shape)  # at no multiple of 16 bytes
    assert np.array_equal(games.observe(seats=0, out=odd), seen)


@all_decks
@pytest.mark.parametrize("far", [False, True])
def test_nothing_is_written_beside_a_row(rules: RuleSet, far: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cards are written eight at a time, so the last may reach past their block: never past the row."""
    if far:
        monkeypatch.setattr(observation, "FAR", 0)
    games = after(rules, 9, 3)
    for write, plan in ((games.observe, layout(rules)), (games.observe_state, state_layout(rules))):
        guarded = np.full(3 * plan.width + 64, 7, np.float32)
        start = -(guarded.ctypes.data + 32 * 4) % 16 // 4 + 32  # where whole rows may be streamed
        out = guarded[start : start + 3 * plan.width].reshape(3, plan.width)
        alone = [write(seats=1)[lane] for lane in range(3)]
        write(seats=1, out=out)
        assert np.array_equal(out, alone)
        assert (guarded[:start] == 7).all()
        assert (guarded[start + 3 * plan.width :] == 7).all()
        assert not (out == 7).any()


@jit
def write_views(state: Array, table: Array, seat: int, views: Array) -> None:
    for lane in range(len(state)):
        fill_view(state[lane], table[0], seat, views[lane])


@all_decks
def test_every_field_of_a_view_is_written(rules: RuleSet) -> None:
    """Over whatever lay there; but what only talk tells is left as it is in games without."""
    games = near_the_end(rules, 8)
    for _ in range(11):
        games.step(games.random_legal(games.decision_keys()))
    dirty = np.frombuffer(bytes([0x5A]) * (VIEW.itemsize * len(games)), VIEW).copy()
    write_views(games.state, rules.table, 1, dirty)
    clean = games.views(seats=1)
    for name in VIEW.names or ():
        if rules.talk or name not in ("counted", "counts"):
            assert np.array_equal(dirty[name], clean[name]), name
        else:
            assert not clean[name].any()


@every_game
def test_every_value_of_a_match_lies_in_the_box(rules: RuleSet) -> None:
    games = GameBatch(rules, LANES, seed=32)
    for ply in range(rules.longest_hand * 6):
        if ply % (17 if PURE else 1) == 0:
            for seen in (games.observe(), games.observe_state(seats=rules.num_seats - 1)):
                assert seen.min() >= -1
                assert seen.max() <= 1
        games.step(games.random_legal(games.decision_keys()))


def test_case_5_a_match_of_200_hands_encodes() -> None:
    games = GameBatch(ruleset(target=1000, capote_wins=False), 2, seed=33)
    while games.hand_number.min() < 200 and not games.done.any():
        games.step(games.random_legal(games.decision_keys()))
        assert np.isfinite(games.observe(seats=0)).all()
    assert games.hand_number.min() >= 200 or games.done.any()


def test_table_blocks_stand_in_both_layouts() -> None:
    assert BLOCKS[observation.TABLE_AT :] == STATE_BLOCKS[observation.STATE_TABLE_AT :] == TABLE_BLOCKS


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


def test_who_speaks_first_sees_that_it_will_lead() -> None:
    """Before a lead the leader speaks, then the partner (RULES 3.5): their own vectors and the critic's tell which."""
    games = GameBatch(ruleset("manille-parlee"), 40, seed=12)
    for _ in range(7):
        games.step(games.random_legal(games.decision_keys()))
    other = games.copy()
    other.state["leader"] = (games.leader + 2) % 4
    at, differs = np.flatnonzero(games.phase == TALK), np.array([False])
    assert len(at)
    for vectors in ((games.observe(), other.observe()), (games.observe_state(), other.observe_state())):
        differs = (vectors[0] != vectors[1]).any(axis=1)
        assert differs[at].all()
