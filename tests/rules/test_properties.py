"""What holds of every game: sums, symmetries, the lemma of 1.5.4, and faults known from other systems (CASES)."""

import random
from itertools import pairwise

import numpy as np
import pytest
from family import GAMES, after, every_game
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lockstep import deals_of
from referee import Laws, Referee
from stacks import long_suits, one_strong_side, shuffled
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


def near_the_target(rules, rng, lanes):
    """int [lanes, T]: scores from which a match ends within a few hands."""
    low = max(0, rules.target - 25)
    return np.array([[rng.randrange(low, rules.target) for _ in range(rules.num_teams)] for _ in range(lanes)])


@pytest.mark.parametrize("turn", [1, 2, 3])
@pytest.mark.parametrize("mode", MODES[::5], ids=mode_name)
def test_turning_the_table_changes_nothing(mode, turn):
    turn_the_table(ruleset(**mode), turn, plies=80)


@every_game
def test_turning_the_table_changes_nothing_in_any_game(rules):
    """Where an odd turn would change the sides' numbers alone, it is turned by one seat all the same."""
    turn_the_table(rules, 1, plies=2 * rules.longest_hand)


def turn_the_table(rules, turn, plies):
    """1.1.1: the same deals with every seat moved on have the same legal actions and gains, over hands of a match."""
    rng = random.Random(10)
    laws, lanes, seats, sides = Laws(rules), 2 if PURE else 50, rules.num_seats, rules.num_teams
    deals, score = [shuffled(laws, rng) for _ in range(lanes)], near_the_target(rules, rng, lanes)
    games, turned = GameBatch(rules, lanes, seed=10), GameBatch(rules, lanes, seed=10)
    games.reset(deals=deals_of(rules, deals), match_score=score)
    moved = [(order, (dealer + turn) % seats) for order, dealer in deals]
    turned.reset(deals=deals_of(rules, moved), match_score=np.roll(score, turn, axis=1))
    for ply in range(plies):
        open_lanes = ~games.done
        assert (turned.done == games.done).all()
        assert (turned.seat[open_lanes] == (games.seat[open_lanes] + turn) % seats).all()
        assert (turned.legal_actions() == games.legal_actions()).all()
        if not PURE or ply % 9 == 0:
            assert (turned.observe() == games.observe()).all()  # seats and sides are relative to the player
            assert (turned.observe_state() == games.observe_state()).all()
        for name in ("hand_points", "match_score", "last_score_change"):
            assert (getattr(turned, name) == np.roll(getattr(games, name), turn, axis=1)).all()
        actions = games.random_legal(games.decision_keys(10))
        games.step(actions)
        turned.step(actions)
    won = games.done & (games.winner >= 0)
    assert PURE or won.any()
    assert (turned.winner[won] == (games.winner[won] + turn) % sides).all()


@pytest.mark.parametrize("suits", [(1, 0, 2, 3), (3, 2, 1, 0), (1, 2, 3, 0)])
@pytest.mark.parametrize("mode", MODES[::5], ids=mode_name)
def test_renaming_the_suits_changes_nothing(mode, suits):
    rename_the_suits(ruleset(**mode), suits, plies=40)


@every_game
def test_renaming_the_suits_changes_nothing_in_any_game(rules):
    """Suits of the same cards: without the sevens of spades and clubs, these two for each other, and the other two."""
    rename_the_suits(rules, (3, 2, 1, 0) if set(rules.removed) == {"7s", "7c"} else (1, 2, 3, 0), rules.longest_hand)


def in_other_suits(rules, suits):
    """int [A]: the action that each becomes when suit s becomes suits[s]: cards, trumps named and statements."""
    actions, ranks, first = np.arange(rules.num_actions), rules.ranks, rules.first_suit_action
    place = actions.copy()
    for suit in range(4):
        place[suit * ranks : (suit + 1) * ranks] = suits[suit] * ranks + actions[:ranks]
        place[first + suit :: 4] = actions[first + suits[suit] :: 4]
    return place


def rename_the_suits(rules, suits, plies):
    """Every suit counts the same: the same deals in other suits have the same plays in those suits."""
    rng = random.Random(10)
    laws, lanes = Laws(rules), 2 if PURE else 50
    deals = deals_of(rules, [long_suits(laws, rng) for _ in range(lanes)])
    place, order = in_other_suits(rules, suits), np.array(suits)
    games, other = GameBatch(rules, lanes, seed=10), GameBatch(rules, lanes, seed=10)

    def renamed(cards, dealers):
        same = deals.copy()
        same["cards"], same["dealer"] = place[cards], dealers
        return same

    games.reset(deals=deals)
    albur = games.state["albur_cards"].astype(int) if rules.albur else None
    score = near_the_target(rules, rng, lanes)
    games.reset(deals=deals, match_score=score, albur=albur)
    other.reset(
        deals=renamed(deals["cards"], deals["dealer"]),
        match_score=score,
        albur=None if albur is None else place[albur],
    )
    assert rules.num_actions == len(set(place.tolist()))
    dealt = games.state["hand_key"].copy()
    for ply in range(plies):
        fresh = (games.state["hand_key"] != dealt) & ~games.done
        if fresh.any():
            other.replace_deal(renamed(games.deck[:, : rules.num_cards], games.dealer), where=fresh)
            dealt = games.state["hand_key"].copy()
        assert (other.legal_actions()[:, place] == games.legal_actions()).all()
        for name in ("seat", "phase", "hand_points", "match_score", "winner", "bid", "waiting_albur"):
            assert (getattr(other, name) == getattr(games, name)).all(), name
        if not PURE or ply % 9 == 0:
            assert (other.observe(suit_order=order) == games.observe()).all()
            assert (other.observe_state(suit_order=order) == games.observe_state()).all()
        actions = games.random_legal(games.decision_keys(10))
        games.step(actions)
        other.step(place[actions])
    assert games.hand_number.any() or games.done.any() or rules.auction  # bids climb, and few matches end


def dead_points(rules, rows):
    """int [B]: what the cards that nobody takes count."""
    cards = (rows["face_down"][:, None] >> np.arange(4 * rules.ranks, dtype=np.uint64)) & np.uint64(1)
    return cards.astype(int) @ np.tile(rules.rank_points, 4) if rules.dead_hand else np.zeros(len(rows), int)


@every_game
def test_sums_of_every_hand_in_any_game(rules):
    """1.5.1: points, but those of dead cards, and tricks are all taken; a score is the sum of what hands brought."""
    games = GameBatch(rules, 4 if PURE else 60, seed=11)
    assert not games.state["one_hand"].any()
    brought, hands = np.zeros_like(games.match_score), 0
    for _ in range(rules.longest_hand * (1 if PURE else 4)):
        before = games.state.copy()
        actions = games.random_legal(games.decision_keys(12))
        games.step(actions)
        over = games.hand_over & ~before["done"]
        due = rules.total_points - dead_points(rules, before)
        assert (games.last_points.sum(axis=1) == due)[over].all()
        assert (games.last_tricks.sum(axis=1) == rules.num_tricks)[over].all()
        running = games.hand_points.sum(axis=1)[~games.done]
        assert (running <= due[~games.done]).all()
        if not rules.loser_pays:
            assert (games.last_score_change[over] >= 0).all()
        brought[over] += games.last_score_change[over]
        assert (games.match_score == brought)[games.done & over].all()
        assert (games.match_score - paid_so_far(rules, games.state) == brought)[~games.done].all()
        hands += int(over.sum())
    assert hands >= len(games)


def paid_so_far(rules, rows):
    """int [B, T]: what was paid for the hand in play, before its play: the dealer bonus, and the albur in the first."""
    paid, lanes, teams = np.zeros((len(rows), rules.num_teams), int), np.arange(len(rows)), np.array(rules.teams)
    paid[lanes, teams[rows["dealer"]]] += rows["paid_bonus"]
    drawn = (rows["hand_number"] == 0) & (rows["albur_seat"] >= 0) & (rows["waiting_albur"] == 0)
    paid[lanes[drawn], teams[rows["albur_seat"][drawn]]] += rules.albur
    return paid


@pytest.mark.parametrize(
    "rules", [rules for rules in GAMES.values() if rules.dealer_bonus], ids=lambda rules: rules.name
)
def test_1_5_4_lemma_what_waits_always_ends_the_match(rules):
    """1.6.3 too: the hand in which a bonus or an albur waits is the last, whoever wins it."""
    games, rng = GameBatch(rules, 8 if PURE else 400, seed=13), random.Random(13)
    games.reset(match_score=near_the_target(rules, rng, len(games)))
    met = {"waiting_bonus": 0, "waiting_albur": 0}
    for _ in range(rules.longest_hand * (1 if PURE else 3)):
        before = games.state.copy()
        games.step(games.random_legal(games.decision_keys(13)))
        over = games.hand_over & ~before["done"]
        for name in met:
            waited = over & (before[name] > 0)
            assert games.done[waited].all()
            met[name] += int(waited.sum())
    assert PURE or met["waiting_bonus"] > 20
    assert PURE or not rules.albur or met["waiting_albur"] > 20


@every_game
def test_the_flags_of_a_match_that_is_over(rules):
    """1.5.5, 1.5.6, 2.8: capote, zapato and the winner, from the tricks and the score alone."""
    rng, laws, teams = random.Random(14), Laws(rules), rules.num_teams
    for target in [rules.target] if PURE else [rules.target, 20, 50, 70, 201]:
        changed = ruleset(rules, target=target)
        games = GameBatch(changed, 4 if PURE else 150, seed=14)
        score = np.array([[rng.choice([0, 0, rng.randrange(target)]) for _ in range(teams)] for _ in range(len(games))])
        games.reset(deals=deals_of(changed, [one_strong_side(laws, rng) for _ in range(len(games))]), match_score=score)
        for _ in range(rules.longest_hand * 2):
            games.step(games.random_legal(games.decision_keys(14)))
        done, final = games.done, games.match_score.astype(int)
        all_tricks = games.last_tricks == rules.num_tricks
        assert (games.capote[done] == (all_tricks.any(axis=1) & rules.capote_wins)[done]).all()
        for lane in np.flatnonzero(done):
            winner = int(games.winner[lane])
            others = [final[lane, team] for team in range(teams) if team != winner]
            assert games.zapato[lane] == (final[lane, winner] >= target and max(others) <= 0)
            if games.capote[lane]:
                assert all_tricks[lane, winner]
            else:
                assert final[lane, winner] >= target
                assert final[lane, winner] > max(others)
        open_scores = final[~done]
        level = np.sort(open_scores, axis=1)[:, -2:]
        assert ((level[:, 1] < target) | (level[:, 0] == level[:, 1])).all()
        assert not (games.capote | games.zapato | (games.winner >= 0))[~done].any()
        assert done.any() or target > 100


@every_game
def test_a_lane_plays_the_same_in_a_batch_of_any_size(rules):
    lanes, plies = 5, 2 * rules.longest_hand
    games = after(rules, plies, lanes, seed=15)
    alone = [after(rules, plies, 1, seed=15, streams=[lane]) for lane in ([3] if PURE else range(lanes))]
    for game in alone:
        assert game.state[0] == games.state[game.state["stream"][0]]
    reverse = after(rules, plies, lanes, seed=15, streams=np.arange(lanes)[::-1])
    assert (reverse.state == games.state[::-1]).all()


@pytest.mark.parametrize("name", ["malilla", "malilla-redeal", "malilla-albur", "manille-encheres", "manille-2"])
def test_deals_do_not_depend_on_those_called_off_before(name):
    """1.2.5, 1.6.2, 3.6: the next hand is dealt by its number, however often the one before was dealt."""
    rules = ruleset(name, target=1000, capote_wins=False)
    games, other = GameBatch(rules, 4 if PURE else 40, seed=16), GameBatch(rules, 4 if PURE else 40, seed=16)
    decks = [games.deck.copy()]
    for _ in range(3):
        other.misdeal(np.ones(len(other), bool))
        decks.append(other.deck.copy())
    assert all((one != two).any(axis=1).all() for one, two in pairwise(decks))
    assert (other.state["attempt"] == 3).all()
    second = [np.zeros_like(games.deck), np.zeros_like(games.deck)]
    for batch, deck in zip((games, other), second, strict=True):
        while (batch.hand_number < 1).any():
            batch.step(batch.random_legal(batch.decision_keys(16)))
            fresh = (batch.hand_number == 1) & (batch.state["attempt"] == 0) & batch.hand_over
            deck[fresh] = batch.deck[fresh]
    assert (second[0] == second[1]).all()
    assert second[0].any(axis=1).all()


@every_game
def test_cards_known_to_be_held_are_held_and_their_seat_can_hold_them(rules):
    """1.2.3, 3.5, 3.8: what a View tells of a seat's cards, either way, is true of its hand, and of no card played."""
    games, told = GameBatch(rules, 2 if PURE else 30, seed=20), 0
    for ply in range(rules.longest_hand):
        if ply % (3 if PURE else 1) == 0:
            views = games.views(seats=ply % rules.num_seats)
            shown, cannot = views["shown"][:, : rules.num_seats], views["cannot_hold"][:, : rules.num_seats]
            assert (shown & ~games.hands == 0).all()
            assert (cannot & games.hands == 0).all()
            gone = np.bitwise_or.reduce(views["played_by"], axis=1)[:, None]
            assert (shown & gone == 0).all()
            assert (gone & ~cannot == 0).all()
            told += int(np.bitwise_count(shown).sum())
        games.step(games.random_legal(games.decision_keys(20)))
    assert (told > 0) == (rules.trump == "turned" or rules.talk or rules.piles > 0)


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


@every_game
def test_case_8_every_lane_has_its_own_deal(rules):
    lanes = 64 if PURE else 1024
    games = GameBatch(rules, lanes, seed=10)
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


@every_game
def test_a_game_goes_on_the_same_from_its_state(rules):
    """CASES 1 for the core: `copy` and `from_state` at any ply, in every phase."""
    games = GameBatch(rules, 3, seed=10)
    for ply in range(rules.longest_hand + 20):
        copies = [games.copy(), GameBatch.from_state(rules, games.state)] if ply % 7 == 0 or not PURE else []
        actions = games.random_legal(games.decision_keys(ply))
        games.step(actions)
        for copy in copies:
            copy.step(actions)
            assert (copy.state == games.state).all()
