"""What is public, and no more: exact "cannot hold" sets, Views that no hidden card can change, perfect recall.

Exact means: a card is excluded if and only if no hand that holds it explains the seat's own plays and the turned-up
card, by the referee's search over hands (`Referee.cannot_hold`).
"""

import random
from collections import Counter

import numpy as np
import pytest
from lockstep import Lockstep, Scenario, deals_of, game_after, play
from positions import POSITIONS, history_to, order_for
from referee import Laws, Referee
from stacks import at_random, greedy, keep_sevens, long_suits, sevens_together, shuffled
from test_referee import MODES, mode_name

from malilla_env import GameBatch, RuleSet, ruleset
from malilla_env.cards import card_name, cards_in, mask_of, parse_card
from malilla_env.compiled import PURE

SHARE = 10 if PURE else 1
SMALL = {"rank_names": "2KA7", "rank_points": (0, 3, 4, 5), "neutral": 26}  # 16 cards: every ply can be asked


class Watched(Lockstep):
    """Side by side, and after each play the engine's claims about hands against the referee's search."""

    def __init__(self, scenario: Scenario, lanes: int, seed: int, everybody: float) -> None:
        self.everybody = everybody  # how often all seats are asked about, not only the one that played
        self.asked: Counter[str] = Counter()
        super().__init__(scenario, lanes, seed)

    def compare(self, when: str) -> None:
        super().compare(when)
        claims = self.games.views()["cannot_hold"].tolist()
        hands = self.games.hands.tolist()
        deck = int(self.rules.table["deck_mask"][0])
        for lane, game in enumerate(self.referees):
            if game.done:
                continue
            for seat, hand in enumerate(hands[lane]):
                assert not claims[lane][seat] & hand, f"{self.where(lane)}: a false claim about seat {seat}"
            everybody = not game.log or self.rng.random() < self.everybody
            for seat in range(self.laws.num_seats) if everybody else [game.log[-1].seat]:
                self.ask(lane, seat, claims[lane][seat] & deck)

    def ask(self, lane: int, seat: int, claimed: int) -> None:
        game = self.referees[lane]
        exact = game.cannot_hold(seat)
        claims = {self.names[card] for card in cards_in(claimed)}
        missing, wrong = sorted(exact - claims), sorted(claims - exact)
        assert not missing, f"{self.where(lane)}: seat {seat} cannot hold {missing}, which is not claimed"
        assert not wrong, f"{self.where(lane)}: seat {seat} may hold {wrong}, which is denied"
        gone = {play.card for play in game.log}
        self.asked["sets compared"] += 1
        self.asked["claims about unplayed cards"] += len(claims - gone)
        self.asked["sets that fix the whole hand"] += len(self.laws.pack) - len(claims) == len(game.hands[seat])


@pytest.mark.parametrize("mode", MODES, ids=mode_name)
def test_cannot_hold_is_exact_in_short_hands(mode, report_counts):
    watched = Watched(Scenario(RuleSet(**SMALL, **mode), choices=(at_random, greedy, keep_sevens)), 20, 10, 0.3)
    tally = watched.run(80 // SHARE)
    report_counts("Cannot-hold sets against the referee's search", watched.asked)
    if mode["protected"] == "led" and not PURE:  # under "played" such a hand needs a whole suit unplayed
        assert tally.visits["1.3.8 nothing but protected sevens"] > 0
    assert watched.asked["claims about unplayed cards"] > watched.asked["sets compared"] / 2


@pytest.mark.parametrize("mode", MODES[:: 4 if PURE else 1], ids=mode_name)
@pytest.mark.parametrize("stack", [shuffled, long_suits, sevens_together])
def test_cannot_hold_is_exact_in_whole_hands(mode, stack, report_counts):
    choices = (keep_sevens,) if stack is sevens_together else (at_random, greedy, keep_sevens)
    scenario = Scenario(ruleset(**mode), stack, choices, one_hand_each=True)
    watched = Watched(scenario, 2 if PURE else 6, 10, 0.03)
    watched.run(1 if PURE else 6)
    report_counts("Cannot-hold sets against the referee's search", watched.asked)
    assert watched.asked["sets compared"] >= 40


@pytest.mark.parametrize("position", POSITIONS, ids=lambda position: position.name)
def test_what_each_legal_play_of_the_worked_positions_tells(position):
    rules = ruleset(**position.changes)
    history = history_to(rules, position)
    games = game_after(rules, history)
    seat = int(games.seat[0])
    for card in position.legal.split():
        after, referee = games.copy(), Referee(rules, history.order, history.dealer)
        play(after, card)
        for played in [*history.plays, card]:
            referee.play(played)
        claims = {card_name(rules, held) for held in cards_in(after.views()[0]["cannot_hold"][seat])}
        assert claims == referee.cannot_hold(seat)


def test_a_forced_seven_fixes_the_hand():
    """1.3.8: P2 throws a protected seven, so the other card is one, and clubs alone are left for it."""
    position = next(position for position in POSITIONS if position.name == "G3")
    games = game_after(ruleset(), history_to(ruleset(), position))
    play(games, "7d")
    assert games.views()[0]["cannot_hold"][2] == (1 << 40) - 1 - mask_of([parse_card(ruleset(), "7c")])


# ---- hidden information ----------------------------------------------------------------------------------------------


def another_deal(rules: RuleSet, view: np.void, rng: random.Random) -> list[list[int]]:
    """For each seat the cards in hand, the viewer's as they are, the unseen ones in some way that the View allows."""
    seats = range(rules.num_seats)
    viewer = int(view["seat"])
    hands: list[list[int]] = [[] for _ in seats]
    hands[viewer] = cards_in(view["hand"])
    gone = mask_of(hands[viewer]) | int(np.bitwise_or.reduce(view["played_by"]))
    unseen = [card for card in rules.deck if not gone >> card & 1]
    rng.shuffle(unseen)
    others = [seat for seat in seats if seat != viewer]

    def place(card: int, tried: set[int]) -> bool:
        """Give the card to a seat that may hold it, moving others on where its hand is full."""
        for seat in rng.sample(others, len(others)):
            if seat in tried or int(view["cannot_hold"][seat]) >> card & 1:
                continue
            tried.add(seat)
            if len(hands[seat]) < view["hand_sizes"][seat]:
                hands[seat].append(card)
                return True
            for at in rng.sample(range(len(hands[seat])), len(hands[seat])):
                moved = hands[seat][at]
                hands[seat][at] = card
                if place(moved, tried):
                    return True
                hands[seat][at] = moved
        return False

    for card in unseen:
        assert place(card, set()), "no deal is consistent with the View, the true one included"
    return hands


def replayed(rules: RuleSet, games: GameBatch, views: np.ndarray, score, rng: random.Random, seed: int) -> GameBatch:
    """A batch in which the same was played from deals whose unseen cards lie otherwise."""
    deals = []
    for view in views:
        held = another_deal(rules, view, rng)
        hands = [
            [card_name(rules, card) for card in cards_in(view["played_by"][seat]) + held[seat]]
            for seat in range(rules.num_seats)
        ]
        dealer = int(view["dealer"])
        deals.append((order_for(hands, dealer, card_name(rules, int(view["turned_card"]))), dealer))
    again = GameBatch(rules, len(games), seed=seed)
    again.reset(deals=deals_of(rules, deals), match_score=score)
    for ply in range(int(games.num_plays[0])):
        again.step(games.state["plays"][:, ply].astype(np.int64))
        assert (again.reneged == -1).all(), "the same play was not legal: a cannot-hold claim is missing"
    return again


@pytest.mark.parametrize("stack", [shuffled, long_suits, sevens_together])
@pytest.mark.parametrize("mode", MODES[:: 6 if PURE else 3], ids=mode_name)
def test_hidden_cards_do_not_change_a_view(mode, stack):
    """Deal the unseen cards anew: the View and the observation, on turn and off turn, stay the same to the byte."""
    rules, rng = ruleset(**mode), random.Random(10)
    laws, lanes = Laws(rules), 3 if PURE else 24
    score = [[rng.randrange(35), rng.randrange(35)] for _ in range(lanes)]
    games = GameBatch(rules, lanes, seed=10)
    games.reset(deals=deals_of(rules, [stack(laws, rng) for _ in range(lanes)]), match_score=score)
    moved = 0
    for ply in range(39):
        if ply % (7 if PURE else 1) == 0:
            viewers = games.seat.copy() if ply % 2 else np.array([rng.randrange(4) for _ in range(lanes)])
            views = games.views(viewers)
            again = replayed(rules, games, views, score, rng, seed=10)
            moved += int((again.hands != games.hands).any(axis=1).sum())
            assert again.views(viewers).tobytes() == views.tobytes()
            assert again.observe(viewers).tobytes() == games.observe(viewers).tobytes()
        games.step(games.random_legal(games.decision_keys(10)))
    assert moved > (lanes * 3 if PURE else lanes * 20)  # the hidden cards did lie otherwise


def test_a_view_holds_the_viewers_hand_and_no_other():
    games = GameBatch(ruleset(), 20, seed=10)
    for _ in range(39):
        for seat in range(4):
            views = games.views(seat)
            assert (views["hand"] == games.hands[:, seat]).all()
            on_turn = games.seat == seat
            assert ((views["legal"][:, 0] != 0) == on_turn).all()
        games.step(games.random_legal(games.decision_keys()))


def test_case_5_distinct_histories_give_distinct_views():
    """From one deal, many lines of play: the View tells any two of them apart, and the same from itself."""
    rules, lanes = ruleset(), 40 if PURE else 1500
    games = GameBatch(rules, lanes, seed=10)
    order, dealer = shuffled(Laws(rules), random.Random(10))
    games.reset(deals=deals_of(rules, [(order, dealer)] * lanes))
    keys = np.arange(1, lanes + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    views_of: dict[bytes, bytes] = {}
    for ply in range(39):
        views = games.views((dealer + 1) % 4)
        for history, view in zip(games.state["plays"][:, :ply], views, strict=True):
            assert views_of.setdefault(history.tobytes(), view.tobytes()) == view.tobytes()
        games.step(games.random_legal(keys ^ (keys >> np.uint64(ply + 1))))
    assert len(set(views_of.values())) == len(views_of) > lanes * 15


def test_case_5_a_view_recalls_the_whole_play_in_order():
    rules = ruleset()
    games = GameBatch(rules, 30, seed=10)
    plays, seats = [], []
    for ply in range(40):
        views = games.views()
        assert (views["num_plays"] == ply).all()
        for at in range(ply):
            assert (views["plays"][:, at] == plays[at]).all()
            assert (views["play_seats"][:, at] == seats[at]).all()
        assert (views["plays"][:, ply:] == 255).all()
        assert (views["play_seats"][:, ply:] == -1).all()
        actions = games.random_legal(games.decision_keys())
        plays.append(actions)
        seats.append(games.seat.copy())
        games.step(actions)


def test_case_5_a_match_of_200_hands_encodes():
    """Play with scores far below the target: every observation is finite and within -1 and 1."""
    rules = ruleset(target=1000, capote_wins=False)
    games = GameBatch(rules, 4, seed=10)
    games.reset(match_score=[-1000, -1000])
    hands = 3 if PURE else 200
    while (games.hand_number[~games.done] < hands).any():
        observation = games.observe()
        assert np.isfinite(observation).all()
        assert (np.abs(observation) <= 1).all()
        games.step(games.random_legal(games.decision_keys()))
    assert (games.hand_number >= hands).any()
