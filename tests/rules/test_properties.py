"""What holds of every game: sums, symmetries, the lemma of 1.5.4, and faults known from other systems (CASES)."""

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lockstep import deals_of
from referee import Laws, Referee
from stacks import long_suits, shuffled
from test_referee import MODES, mode_name

from malilla_env import GameBatch, ruleset
from malilla_env.cards import card_name
from malilla_env.compiled import PURE

LANES = 4 if PURE else 200
QUIET = settings(
    max_examples=3 if PURE else 40, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


def random_play(games: GameBatch, plies: int, seed: int = 10) -> None:
    for _ in range(plies):
        games.step(games.random_legal(games.decision_keys(seed)))


@QUIET
@given(
    target=st.integers(5, 70),
    short=st.tuples(st.integers(1, 5), st.integers(1, 60)),
    side=st.integers(0, 1),
    seed=st.integers(0, 2**32),
    capote=st.booleans(),
)
def test_1_5_4_lemma_a_waiting_bonus_always_ends_the_match(target, short, side, seed, capote):
    """Whatever is played: the match is over after the hand; if nobody had won by play, the dealer's side has now."""
    rules = ruleset(target=target, capote_wins=capote)
    games = GameBatch(rules, LANES, seed=seed)
    start = [max(0, target - short[0]), max(0, target - short[1])]
    games.reset(match_score=start if side == 0 else start[::-1])
    waiting, dealers_side = games.waiting_bonus.copy(), games.dealer % 2
    before = games.match_score.copy()  # a waiting bonus is not in it
    random_play(games, 40)
    assert games.done[waiting > 0].all()
    for lane in np.flatnonzero(waiting):
        by_play = before[lane] + np.maximum(0, games.last_points[lane] - 35)
        won = by_play.max() >= target or (capote and games.last_tricks[lane].max() == 10)
        by_play[dealers_side[lane]] += 0 if won else waiting[lane]
        assert games.match_score[lane].tolist() == by_play.tolist()
        if not won:
            assert games.winner[lane] == dealers_side[lane]
            assert games.match_score[lane, dealers_side[lane]] >= target


@QUIET
@given(mode=st.sampled_from(MODES), target=st.sampled_from([20, 35, 70]), seed=st.integers(0, 2**32))
def test_1_5_1_sums_of_every_hand(mode, target, seed):
    """The two sides' points are 70 and their tricks 10; points held back or made up would show."""
    games = GameBatch(ruleset(target=target, **mode), LANES, seed=seed)
    for _ in range(2):
        for ply in range(40):
            open_lanes = ~games.done
            assert (games.hand_points[open_lanes].sum(axis=1) <= 70 - 10 + ply // 4).all()
            assert (games.tricks_won[open_lanes].sum(axis=1) == ply // 4).all()
            random_play(games, 1)
        assert (games.last_points.sum(axis=1) == 70).all()
        assert (games.last_tricks.sum(axis=1) == 10).all()
        assert (games.last_score_change >= 0).all()


@pytest.mark.parametrize("turn", [1, 2, 3])
@pytest.mark.parametrize("mode", MODES[::5], ids=mode_name)
def test_turning_the_table_changes_nothing(mode, turn):
    """1.1.1: the same deals with every seat moved on have the same legal plays and gains, over hands of a match."""
    rules, rng = ruleset(**mode), random.Random(10)
    laws, lanes = Laws(rules), 3 if PURE else 50
    deals = [shuffled(laws, rng) for _ in range(lanes)]
    score = np.array([[rng.randrange(35), rng.randrange(35)] for _ in range(lanes)])
    games, turned = GameBatch(rules, lanes, seed=10), GameBatch(rules, lanes, seed=10)
    games.reset(deals=deals_of(rules, deals), match_score=score)
    moved = [(order, (dealer + turn) % 4) for order, dealer in deals]
    turned.reset(deals=deals_of(rules, moved), match_score=np.roll(score, turn, axis=1))
    for _ in range(80):
        open_lanes = ~games.done
        assert (turned.done == games.done).all()
        assert (turned.seat[open_lanes] == (games.seat[open_lanes] + turn) % 4).all()
        assert (turned.legal_actions() == games.legal_actions()).all()
        assert (turned.observe() == games.observe()).all()  # seats and sides are relative to the player
        assert (turned.hand_points == np.roll(games.hand_points, turn, axis=1)).all()
        assert (turned.match_score == np.roll(games.match_score, turn, axis=1)).all()
        actions = games.random_legal(games.decision_keys(10))
        games.step(actions)
        turned.step(actions)
    won = games.done & (games.winner >= 0)
    assert won.any()
    assert (turned.winner[won] == (games.winner[won] + turn) % 2).all()


@pytest.mark.parametrize("suits", [(1, 0, 2, 3), (3, 2, 1, 0), (1, 2, 3, 0)])
@pytest.mark.parametrize("mode", MODES[::5], ids=mode_name)
def test_renaming_the_suits_changes_nothing(mode, suits):
    """Every suit counts the same: the same deal in other suits has the same plays in those suits."""
    rules, rng = ruleset(**mode), random.Random(10)
    laws, lanes = Laws(rules), 3 if PURE else 50
    deals = [long_suits(laws, rng) for _ in range(lanes)]
    letters = str.maketrans("shdc", "".join("shdc"[suit] for suit in suits))
    renamed = [([card.translate(letters) for card in order], dealer) for order, dealer in deals]
    games, other = GameBatch(rules, lanes, seed=10), GameBatch(rules, lanes, seed=10)
    games.reset(deals=deals_of(rules, deals))
    other.reset(deals=deals_of(rules, renamed))
    place = np.array([suits[card // 10] * 10 + card % 10 for card in range(40)])
    for _ in range(40):
        assert (other.legal_actions()[:, place] == games.legal_actions()).all()
        assert (other.seat == games.seat).all()
        assert (other.hand_points == games.hand_points).all()
        assert (other.observe(suit_order=np.array(suits)) == games.observe()).all()
        actions = games.random_legal(games.decision_keys(10))
        games.step(actions)
        other.step(place[actions])
    assert (other.last_points == games.last_points).all()
    assert (other.winner == games.winner).all()


def test_an_episode_of_one_hand_goes_to_the_side_with_more_points():
    games = GameBatch(ruleset(), LANES * 5, seed=10, episode="hand")
    random_play(games, 39)
    assert not games.done.any()
    random_play(games, 1)
    assert games.done.all()
    assert games.hand_over.all()
    points = games.last_points
    expected = np.where(points[:, 0] > points[:, 1], 0, np.where(points[:, 1] > points[:, 0], 1, -1))
    assert (games.winner == expected).all()
    assert (games.last_score_change >= np.maximum(0, points - 35)).all()


def test_finished_games_ignore_their_action():
    games = GameBatch(ruleset(), LANES, seed=10, episode="hand")
    random_play(games, 40)
    after = games.state.copy()
    games.step(np.full(LANES, 7))
    after["hand_over"] = False  # the last step ended no hand
    assert (games.state == after).all()


def test_case_8_every_lane_has_its_own_deal():
    lanes = 64 if PURE else 1024
    games = GameBatch(ruleset(), lanes, seed=10)
    assert len(np.unique(games.deck, axis=0)) == lanes


def test_case_8_the_hands_of_a_match_differ_too():
    games = GameBatch(ruleset(target=70), LANES, seed=10)
    first = games.deck.copy()
    random_play(games, 40)
    assert (games.deck != first).any(axis=1)[~games.done].all()


def test_case_9_the_winner_of_each_trick_leads():
    """Checked against the referee after every trick; and every seat gets to lead."""
    rules = ruleset()
    rng, laws = random.Random(10), Laws(rules)
    lanes = 4 if PURE else 50
    deals = [shuffled(laws, rng) for _ in range(lanes)]
    games = GameBatch(rules, lanes, seed=10)
    games.reset(deals=deals_of(rules, deals))
    referees = [Referee(rules, order, dealer, laws=laws) for order, dealer in deals]
    leaders = np.zeros((lanes, 10), int)
    for ply in range(40):
        if ply % 4 == 0:
            assert games.leader.tolist() == [game.leader for game in referees]
            leaders[:, ply // 4] = games.leader
        actions = games.random_legal(games.decision_keys())
        games.step(actions)
        for game, action in zip(referees, actions, strict=True):
            game.play(card_name(rules, int(action)))
    assert all(len(set(row)) > 1 for row in leaders.tolist())
    assert set(leaders.flat) == {0, 1, 2, 3}


@pytest.mark.parametrize("mode", MODES[::4], ids=mode_name)
def test_case_10_no_revoke_after_a_ruff(mode):
    """A player who holds the suit led may play that suit only, whoever ruffed before."""
    rules, rng = ruleset(**mode), random.Random(10)
    laws, lanes = Laws(rules), 8 if PURE else 300
    games = GameBatch(rules, lanes, seed=10)
    games.reset(deals=deals_of(rules, [long_suits(laws, rng) for _ in range(lanes)]))
    suits = np.arange(40) // 10
    met = 0
    for _ in range(40):
        views = games.views()
        held = (views["hand"][:, None] >> np.arange(40, dtype=np.uint64)) & np.uint64(1) == 1
        of_led = suits[None, :] == views["led_suit"][:, None]
        ruffed = (views["led_suit"] >= 0) & (views["best_card"] // 10 != views["led_suit"])
        holds = ruffed & (held & of_led).any(axis=1)
        met += int(holds.sum())
        assert (games.legal_actions()[holds] == (held & of_led)[holds]).all()
        random_play(games, 1)
    assert met > (5 if PURE else 300)


def test_a_game_goes_on_the_same_from_its_state():
    """CASES 1 for the core: `copy` and `from_state` at any ply."""
    rules, rng = ruleset(), random.Random(10)
    games = GameBatch(rules, 2, seed=10)
    for _ in range(60):
        copies = [games.copy(), GameBatch.from_state(rules, games.state)]
        actions = games.random_legal(games.decision_keys(rng.randrange(1000)))
        games.step(actions)
        for copy in copies:
            copy.step(actions)
            assert (copy.state == games.state).all()
