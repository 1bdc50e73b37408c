"""The open-hand solver: against plain minimax, against itself in other guises, in positions that a person can solve."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import pytest
import solved_deals
from family import OPTIONS
from minimax import minimax
from numpy.typing import NDArray

from malilla_env import GameBatch, RuleSet, deal, ruleset
from malilla_env.cards import parse_cards
from malilla_env.compiled import PURE
from malilla_env.deals import deal_dtype
from malilla_env.rules import PRESETS
from malilla_env.solver import Solver
from malilla_env.state import ASK, BID, CONSENT, NAME, NONE, STATE, TALK

State = NDArray[np.void]

NO_TRUMP = {"trump": "none", "protected": "off", "dealer_bonus": False}
ODD = {
    "last trick worth 1 more": ruleset("manille", last_trick_bonus=1),
    "last trick worth 9 more": ruleset("malilla", last_trick_bonus=9),
    "undertrump forced": ruleset("malilla", undertrump="forced"),
    "undertrump forbidden": ruleset("malilla-zone", undertrump="forbidden"),
    "undertrump optional": ruleset("manille", undertrump="optional"),
    "climbing over partners": ruleset("malilla", climb_over_partner=True),
    "climbing, undertrump forbidden": ruleset("malilla-zone", climb_over_partner=True, undertrump="forbidden"),
    "partners exempt": ruleset("manille", climb_over_partner=False),
    "malillas free": ruleset("malilla", protected="off"),
    "malillas bound, forced": ruleset("manille", protected="played"),
    "no trump": ruleset("malilla", **NO_TRUMP),
    "no trump, climbing": ruleset("manille", trump="none", last_trick_bonus=3),
    "tricks worth 0": ruleset("malilla", trick_points=0, neutral=30),
    "tricks worth 2": ruleset("malilla", trick_points=2, neutral=40),
    "tricks alone": ruleset("malilla", rank_points=(0,) * 10, neutral=5),
    "sides exchanged": ruleset("malilla", teams=(1, 0, 1, 0)),
    "high cards level": ruleset("malilla", rank_points=(0, 0, 0, 0, 0, 0, 3, 3, 3, 3), neutral=29),
    "points upside down": ruleset("malilla", rank_points=(5, 4, 3, 2, 1, 0, 0, 0, 0, 0)),
    "points anywhere": ruleset("malilla", rank_points=(3, 0, 0, 5, 0, 1, 1, 2, 0, 3)),
    "some malillas not dealt": ruleset("malilla", removed=("7s", "2h", "7d", "2c"), neutral=29),
    "points too high to compare": ruleset("malilla", rank_points=(0, 0, 0, 0, 0, 2, 3, 4, 10, 11), neutral=65),
    "52 cards": RuleSet(
        name="fifty-two",
        rank_names="23456789TJQKA",
        rank_points=(0,) * 8 + (1, 2, 3, 4, 5),
        neutral=36,
    ),
    "8 of 11 ranks, talk": OPTIONS["eleven ranks"],
}
GAMES = {name: rules for name, rules in PRESETS.items() if rules.num_seats == 4} | ODD


def suits_alike(rules: RuleSet) -> bool:
    """Whether the deck has the same ranks of every suit."""
    suits = [{card % rules.ranks for card in rules.deck if card // rules.ranks == suit} for suit in range(4)]
    return all(suit == suits[0] for suit in suits)


# Cards are the only actions, and a suit can take another's name.
SILENT = {name: rules for name, rules in GAMES.items() if not rules.others and suits_alike(rules)}
every_game = pytest.mark.parametrize("rules", GAMES.values(), ids=GAMES)
silent_games = pytest.mark.parametrize("rules", SILENT.values(), ids=SILENT)
compiled_only = pytest.mark.skipif(PURE, reason="too much for plain Python")

MALILLA, MANILLE = ruleset("malilla"), ruleset("manille")
BIDS, TELLS, ASKS = ruleset("manille-encheres"), ruleset("manille-parlee"), ruleset("malilla-redeal")

# How many endings with so many cards left: one to four tricks, and some of five.
FEW = dict.fromkeys(range(1, 9), 1) if PURE else dict.fromkeys(range(1, 17), 19) | {17: 3}
MANY = dict.fromkeys(range(1, 17), 610) | {17: 200, 18: 60, 19: 15, 20: 10}


# --- positions
def endings(rules: RuleSet, counts: dict[int, int], seed: int) -> State:
    """So many games with so many cards left, mixed, after random play, what may be asked, bid and said included."""
    wanted = np.repeat(list(counts), list(counts.values()))
    games, state = GameBatch(rules, len(wanted), seed=seed, episode="hand"), np.zeros(len(wanted), STATE)
    waiting = np.ones(len(wanted), bool)
    while waiting.any():
        there = waiting & (np.bitwise_count(games.hands).sum(axis=1) == wanted)
        state[there], waiting[there] = games.state[there], False
        games.reset(where=waiting & games.done)  # hands that all have passed
        games.step(games.random_legal(games.decision_keys(seed)))
    return state[np.random.default_rng(seed).permutation(len(state))]


def with_cards_left(rules: RuleSet, cards: int, count: int, seed: int) -> State:
    return endings(rules, {cards: count}, seed)


def solve(rules: RuleSet, state: State) -> NDArray[np.int16]:
    return Solver(rules, threads=1).values(state)


def left_to_take(rules: RuleSet, state: State) -> NDArray[np.int64]:
    """int [B]: the points that nobody has yet."""
    left = rules.total_points - state["hand_points"].astype(int).sum(axis=1)
    return np.where(state["done"], 0, left)


# --- against plain minimax
def check_endings(rules: RuleSet, counts: dict[int, int], seed: int) -> None:
    """The value of every legal card, and what both sides take."""
    state, solver = endings(rules, counts, seed), Solver(rules, threads=1)
    values, points = solver.values(state), solver.points(state)
    np.testing.assert_array_equal(values, minimax(rules, state))
    on_turn = np.where(state["legal"][:, 0] != 0, state["seat"], state["leader"])
    side = np.array(rules.teams)[on_turn]
    np.testing.assert_array_equal(points[np.arange(len(state)), side], values.max(axis=1))
    np.testing.assert_array_equal(points.sum(axis=1), left_to_take(rules, state))


@every_game
def test_endings(rules):
    check_endings(rules, FEW, seed=40)


@pytest.mark.slow
@every_game
def test_ten_thousand_endings(rules):
    assert sum(MANY.values()) >= 10_000
    check_endings(rules, MANY, seed=50)


@every_game
def test_cards_that_may_not_be_played_have_no_value(rules):
    state = endings(rules, dict.fromkeys((3, 6, 8), 1 if PURE else 10), seed=41)
    leaders = state["hands"][np.arange(len(state)), state["leader"]]
    legal = np.where(state["legal"][:, 0] != 0, state["legal"][:, 0], leaders)
    for mask, values in zip(legal.tolist(), solve(rules, state), strict=True):
        assert [card for card, value in enumerate(values) if value != NONE] == [
            card for card in range(4 * rules.ranks) if mask >> card & 1
        ]


# --- what does not change a value
class Course:
    """Deals and the cards played from them, which can be played again at another table."""

    def __init__(self, rules: RuleSet, deals: NDArray[np.void], cards_left: int, seed: int) -> None:
        self.rules, self.deals, self.plays = rules, deals, []
        games = self.dealt(deals)
        for _ in range(rules.num_cards - cards_left):
            self.plays.append(games.random_legal(games.decision_keys(seed)))
            games.step(self.plays[-1])
        self.state = games.state

    def dealt(self, deals: NDArray[np.void]) -> GameBatch:
        games = GameBatch(self.rules, len(deals), episode="hand")
        games.reset(deals=deals)
        return games

    def again(self, suits: Iterable[int] = range(4), seats: int = 0) -> State:
        """The same with suit s called suits[s], and everybody so many seats further on."""
        deals, name = self.deals.copy(), self.card_names(suits)
        deals["cards"], deals["dealer"] = name[deals["cards"]], (deals["dealer"] + seats) % 4
        games = self.dealt(deals)
        for cards in self.plays:
            games.step(name[cards])
        return games.state

    def card_names(self, suits: Iterable[int]) -> NDArray[np.int64]:
        ranks = self.rules.ranks
        return np.concatenate([np.arange(ranks) + suit * ranks for suit in suits])


def check_guises(course: Course) -> None:
    """1.1.1, 1.3: neither a suit's name nor a seat's number means anything; at odd seats sits the other side."""
    rules, suits = course.rules, [2, 0, 3, 1]
    values, points = solve(rules, course.state), Solver(rules, threads=1).points(course.state)
    renamed = course.again(suits)
    np.testing.assert_array_equal(solve(rules, renamed)[:, course.card_names(suits)], values)
    for seats in (1, 2, 3):
        moved = course.again(seats=seats)
        np.testing.assert_array_equal(solve(rules, moved), values)
        swapped = points[:, ::-1] if seats % 2 else points
        np.testing.assert_array_equal(Solver(rules, threads=1).points(moved), swapped)
        np.testing.assert_array_equal(swapped[:, 0], (left_to_take(rules, moved) - swapped[:, 1]))


@compiled_only
@silent_games
def test_guises_with_seven_tricks_left(rules):
    lanes, cards = 12, min(28, rules.num_cards)
    check_guises(Course(rules, deal(rules, 102, range(lanes)), cards - 2, seed=42))  # two cards lie in the trick


@compiled_only
@pytest.mark.parametrize("rules", [MALILLA, MANILLE], ids=["malilla", "manille"])
def test_guises_of_full_deals(rules):
    check_guises(Course(rules, deal(rules, 103, range(2)), rules.num_cards, seed=43))


@compiled_only
@pytest.mark.slow
@silent_games
def test_guises_of_many(rules):
    check_guises(Course(rules, deal(rules, 104, range(300)), 28, seed=44))
    check_guises(Course(rules, deal(rules, 105, range(3)), rules.num_cards, seed=45))


# --- deals solved before
def check_kept(name: str, ids: range) -> None:
    rules = ruleset(name)
    points = Solver(rules).points(solved_deals.dealt(rules, ids).state)
    assert points[:, 0].tolist() == solved_deals.kept()[name][ids.start : ids.stop]
    np.testing.assert_array_equal(points.sum(axis=1), rules.total_points)


@compiled_only
@pytest.mark.parametrize(("name", "count"), [("malilla", 20), ("manille", 20), ("manilla-48", 3), ("malilla-nueve", 3)])
def test_solved_deals(name, count):
    check_kept(name, range(count))


@compiled_only
@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), solved_deals.COUNTS.items())
def test_all_solved_deals(name, count):
    assert len(solved_deals.kept()[name]) == count
    check_kept(name, range(count))


# --- the line
@pytest.mark.parametrize("name", ["malilla", "manille-parlee", "malilla-zone", "sides exchanged", "no trump"])
def test_line_is_best_play(name):
    rules = GAMES[name]
    solver = Solver(rules, threads=1)
    for row in endings(rules, {8: 1} if PURE else {5: 3, 12: 3, 26: 3}, seed=46):
        games = GameBatch.from_state(rules, np.array([row]))
        points = solver.points(games.state)[0]
        for seat, card in solver.line(row):
            say_nothing(games)
            assert games.seat[0] == seat
            assert games.legal_actions()[0, card]
            values = solver.values(games.state)[0]
            assert card == values.argmax()  # of equal cards the lowest
            games.step(np.array([card]))
        assert games.done[0]
        assert games.last_points[0].tolist() == (points + row["hand_points"][:2]).tolist()


def say_nothing(games: GameBatch) -> None:
    while not games.state["legal"][0, 0] and not games.done[0]:
        games.step(np.array([games.rules.action_names.index("pass")]))


@pytest.mark.parametrize("name", ["malilla", "manille"])
def test_line_of_a_row_that_is_over_is_empty(name):
    (row,) = with_cards_left(ruleset(name), 0, 1, seed=47)
    assert Solver(ruleset(name)).line(row) == []


# --- the order of questions means nothing
@compiled_only
def test_threads_and_order():
    state = endings(MALILLA, dict.fromkeys(range(0, 36, 4), 5), seed=48)
    values, points = solve(MALILLA, state), Solver(MALILLA, threads=1).points(state)
    for threads in (1, 2, 3):
        solver = Solver(MALILLA, threads=threads)
        for seed in range(2):
            order = np.random.default_rng(seed).permutation(len(state))
            np.testing.assert_array_equal(solver.values(state[order]), values[order])
            np.testing.assert_array_equal(solver.points(state[order]), points[order])


@compiled_only
@pytest.mark.parametrize("cards", [16, 32])  # a small table, a large one
def test_many_deals_in_one_solver(cards):
    """Older deals stay tabled for a while, and must not be taken for this one's: the ages begin anew after fifteen."""
    state = with_cards_left(MALILLA, cards, 35, seed=49)
    fresh = np.concatenate([solve(MALILLA, state[lane : lane + 1]) for lane in range(len(state))])
    solver = Solver(MALILLA, threads=1)
    for _ in range(2):
        np.testing.assert_array_equal(solver.values(state), fresh)
    back = range(len(state) - 1, -1, -1)
    one_by_one = [solver.values(state[lane : lane + 1])[0] for lane in back]
    np.testing.assert_array_equal(one_by_one, fresh[::-1])


@compiled_only
@pytest.mark.parametrize("name", ["malilla", "malilla-zone", "manille", "climbing, undertrump forbidden"])
def test_successive_positions_of_a_deal(name):
    """What is tabled of a deal is kept while it is played: forwards, backwards, and here and there."""
    rules, rows = GAMES[name], []
    games = GameBatch.from_state(rules, with_cards_left(rules, 28, 1, seed=51))
    while not games.done[0]:
        rows.append(games.state.copy())
        games.step(games.random_legal(games.decision_keys(3)))
    fresh = [solve(rules, row)[0] for row in rows]
    solver, mixed = Solver(rules, threads=1), list(range(len(rows)))
    random.Random(7).shuffle(mixed)
    for place in [*range(len(rows)), *reversed(range(len(rows))), *mixed]:
        np.testing.assert_array_equal(solver.values(rows[place])[0], fresh[place])


@compiled_only
def test_the_same_hands_with_another_trump():
    (row,) = with_cards_left(BIDS, 20, 1, seed=52)
    state = np.repeat(np.array([row]), 4)
    state["trump"] = range(4)
    np.testing.assert_array_equal(solve(BIDS, state), [solve(BIDS, state[suit : suit + 1])[0] for suit in range(4)])
    assert len({tuple(values) for values in solve(BIDS, state).tolist()}) > 1


@compiled_only
def test_the_same_cards_with_other_malillas_bound():
    """1.3.8: what was led is part of the position, though the cards out are the same."""
    state = with_cards_left(MALILLA, 16, 100, seed=53)
    twice = np.repeat(state[state["locked"] != 0], 2)
    twice["locked"][1::2] = 0
    values = solve(MALILLA, twice)
    fresh = [solve(MALILLA, twice[lane : lane + 1])[0] for lane in range(len(twice))]
    np.testing.assert_array_equal(values, fresh)
    assert (values[::2] != values[1::2]).any()


@compiled_only
@pytest.mark.parametrize("threads", [1, 2])
def test_advance_is_told_of_each_position_once(threads):
    state, told = with_cards_left(MALILLA, 8, 23, seed=54), []
    solver = Solver(MALILLA, threads=threads)
    solver.values(state, told.append)
    assert sum(told) == len(state)
    assert min(told) > 0
    solver.points(state, told.append)
    assert sum(told) == 2 * len(state)
    assert solver.nodes > len(state)


def test_what_is_given_stays_as_it_is():
    state = endings(MALILLA, {0: 2, 5: 2, 8: 2}, seed=55)
    before = state.copy()
    solver = Solver(MALILLA, threads=1)
    solver.values(state)
    solver.points(state)
    solver.line(state[0])
    assert all(np.array_equal(state[field], before[field]) for field in state.dtype.names)


def test_no_positions_at_all():
    none = with_cards_left(MALILLA, 4, 1, seed=56)[:0]
    assert Solver(MALILLA).values(none).shape == (0, 40)
    assert Solver(MALILLA).points(none).shape == (0, 2)


def test_hands_that_are_over():
    state = with_cards_left(MALILLA, 0, 3, seed=57)
    np.testing.assert_array_equal(solve(MALILLA, state), np.full((3, 40), NONE))
    np.testing.assert_array_equal(Solver(MALILLA).points(state), np.zeros((3, 2)))


# --- before the first lead
def until(rules: RuleSet, phase: int, seed: int) -> GameBatch:
    """A hand in which a phase was reached by random actions."""
    for stream in range(10_000):
        games = GameBatch(rules, 1, seed=seed, episode="hand", streams=[stream])
        while not games.done[0] and not games.played_by.any():
            if games.state["phase"][0] == phase:
                return games
            games.step(games.random_legal(games.decision_keys(seed)))
    raise AssertionError(f"phase {phase} was never reached")


@compiled_only
@pytest.mark.parametrize("phase", [ASK, CONSENT])
def test_asking_for_a_new_deal_is_left_out(phase):
    games = until(ASKS, phase, seed=58)
    solver, asked = Solver(ASKS, threads=1), games.copy()
    while games.state["phase"][0] in (ASK, CONSENT):
        name = "refuse" if games.state["phase"][0] == CONSENT else "pass"
        games.step(np.array([ASKS.action_names.index(name)]))
    np.testing.assert_array_equal(solver.values(asked.state), solver.values(games.state))
    assert solver.line(asked.state[0]) == solver.line(games.state[0])


@compiled_only
def test_talk_is_left_out():
    games = until(TELLS, TALK, seed=59)
    solver, said = Solver(TELLS, threads=1), []
    while games.state["phase"][0] == TALK:
        said.append((solver.values(games.state)[0].tolist(), solver.line(games.state[0])))
        games.step(np.array([TELLS.action_names.index("pass")]))
    assert len(said) == 2
    assert said == [(solver.values(games.state)[0].tolist(), solver.line(games.state[0]))] * 2


# --- what is refused
@pytest.mark.parametrize(
    ("rules", "told"),
    [
        (ruleset("manille-3"), r"manille-3 has the sides \(0, 1, 2\)"),
        (ruleset("manille-3-dead"), "manille-3-dead .* cards face down"),
        (ruleset("manille-2"), "manille-2 .* cards face down"),
        (ruleset("malilla", teams=(0, 0, 1, 1)), r"the sides \(0, 0, 1, 1\)"),
        (ruleset("malilla", teams=(0, 1, 2, 3), neutral=17), r"the sides \(0, 1, 2, 3\)"),
        (ruleset("malilla", trick_points=20, neutral=130), "up to 255 points a hand; malilla has 260"),
    ],
)
def test_other_games_are_refused(rules, told):
    with pytest.raises(ValueError, match=told):
        Solver(rules)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2"])
def test_threads_are_a_number(threads):
    with pytest.raises(ValueError, match=f"threads {threads!r} must be"):
        Solver(MALILLA, threads=threads)


@pytest.mark.parametrize("phase", [BID, NAME])
def test_a_trump_must_be_named(phase):
    games, solver = until(BIDS, phase, seed=60), Solver(BIDS)
    state = np.concatenate([with_cards_left(BIDS, 4, 1, seed=61), games.state])
    for ask in (solver.values, solver.points):
        with pytest.raises(ValueError, match="position 1 has no trump yet"):
            ask(state)
    with pytest.raises(ValueError, match="no trump yet"):
        solver.line(state[1])


def test_states_are_arrays_of_state():
    state = with_cards_left(MALILLA, 4, 2, seed=62)
    for wrong in (state.tolist(), state[0], state[:, None], np.zeros(2), np.zeros(2, STATE[["hands"]])):
        with pytest.raises(ValueError, match="state must be a 1-D array"):
            Solver(MALILLA).values(wrong)
        with pytest.raises(ValueError, match="state must be a 1-D array"):
            Solver(MALILLA).points(wrong)


def test_positions_are_of_the_rule_set():
    """The search would run beyond its arrays, or for ever, in hands that are not as long as each other."""
    for cards in (4, 5, 6, 7):
        nueve = with_cards_left(ruleset("malilla-nueve"), cards, 20, seed=63)
        with pytest.raises(ValueError, match="state row 0: "):
            Solver(MANILLE).values(nueve)
    state = with_cards_left(MALILLA, 7, 2, seed=64)
    for field, change, told in (
        ("hands", lambda row: row["hands"][::-1] * 0, "are not one deck"),
        ("hands", lambda row: row["hands"][[0, 0, 2, 3]], "are not one deck"),
        ("hand_points", lambda row: row["hand_points"] + 5, "hand_points must be those of the tricks"),
        ("trick_value", lambda row: row["trick_value"] + 1, "trick_value must be that of trick_cards"),
        ("leader", lambda row: 9, "leader 9 must be 0 to 3"),
        ("trick_size", lambda row: 9, "trick_size 9 must be 0 to 4"),
        ("trump", lambda row: 43, "trump 43 must be -1 to 3"),
    ):
        wrong = state.copy()
        wrong[field][1] = change(wrong[1])
        with pytest.raises(ValueError, match=f"state row 0: .*{told}|position 1 is no game of malilla"):
            Solver(MALILLA).points(wrong)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_ends_the_work_at_once(threads):
    """So does Ctrl-C: what no thread has begun is left undone, and the solver can be asked again."""
    state, solver, begun = with_cards_left(MALILLA, 8, 400, seed=65), Solver(MALILLA, threads=threads), []
    solve_block = solver._at_a_desk

    def counted(*block: State) -> int:
        begun.append(1)
        return solve_block(*block)

    def stop(positions: int) -> None:
        raise KeyboardInterrupt

    solver._at_a_desk = counted
    with pytest.raises(KeyboardInterrupt):
        solver.values(np.repeat(state, 10), stop)
    assert len(begun) < 1000  # blocks of four positions
    np.testing.assert_array_equal(solver.values(state), solve(MALILLA, state))


# --- 1.3, 2.7: positions that a person can solve
def small(hands: list[str], **options: object) -> tuple[RuleSet, State]:
    """A deal of 12 cards, 2 A 7 worth 0, 4 and 5 in four suits; seat 3 deals, and its last card is turned up."""
    rules = RuleSet(**({"name": "small", "rank_names": "2A7", "rank_points": (0, 4, 5), "neutral": 5} | options))
    deals = np.zeros(1, deal_dtype(rules))
    held = [parse_cards(rules, hand) for hand in hands]
    deals["cards"], deals["dealer"] = [held[to].pop(0) for to in rules.dealing], 3
    games = GameBatch(rules, 1, episode="hand")
    games.reset(deals=deals)
    return rules, games.state


def first_side(hands: list[str], **options: object) -> int:
    """What seats 0 and 2 take with best play; the same by minimax."""
    rules, state = small(hands, **options)
    points = int(Solver(rules, threads=1).points(state)[0, 0])
    assert points == minimax(rules, state).max()  # seat 0 leads
    return points


@pytest.mark.parametrize(("protected", "points"), [("off", 15), ("led", 14), ("played", 15)])
def test_1_3_8_protected_seven(protected, points):
    """Seat 0 leads its 7h, on which 2h, a diamond and Ah fall; seat 1 trumps its clubs and has the rest.

    The partner's 7d goes under 7h if it may: 5 + 5 + 4 + 1. If diamonds must be led first, it is Ad: one less. If it is
    enough that one was played, seat 0 begins with a club, on which 2d falls, and then has 15 again by the heart that
    seat 1 must lead sooner or later.
    """
    assert first_side(["7h 2c Ac", "2h 7s As", "7d 2d Ad", "Ah 7c 2s"], protected=protected) == points


@pytest.mark.parametrize(("undertrump", "points"), [("optional", 29), ("forced", 39)])
def test_1_3_6_undertrump_forced(undertrump, points):
    """7h brings 7h 2h Ac Ah: 14. A club, As, and 7s over it: 15, or 19 with 7c; then seat 2 leads 7d.

    Seat 3 keeps its 2s to trump that for 10 of the rest, unless it had to throw it under 7s.
    """
    assert first_side(["7h 2c 7c", "As 2h Ad", "7s 7d Ac", "Ah 2d 2s"], undertrump=undertrump) == points


@pytest.mark.parametrize(("undertrump", "points"), [("optional", 14), ("forbidden", 18)])
def test_1_3_6_undertrump_forbidden(undertrump, points):
    """7d, Ad, As: seat 3 throws 2s on it. If it may not, it is Ah, for 7c is protected: 4 more for side 0."""
    assert first_side(["7d 2d Ac", "7s Ad 2c", "As 7h 2h", "Ah 7c 2s"], undertrump=undertrump) == points


@pytest.mark.parametrize(("climb", "points"), [(False, 11), (True, 25)])
def test_1_3_7_climbing_over_the_partner(climb, points):
    """Ac, As, 2c: if seat 3 must take its partner's trick with 7s, it has to lead 2h or 7d next, and seat 0 has 7h."""
    assert first_side(["7h Ac 7c", "As Ad 2d", "2s Ah 2c", "2h 7d 7s"], climb_over_partner=climb) == points


@pytest.mark.parametrize(("bonus", "points"), [(0, 39), (3, 42)])
def test_2_7_last_trick_bonus(bonus, points):
    """The side that takes all tricks has the bonus too; the one that takes the last of them alone keeps the other's."""
    all_tricks = ["7h 2c 7c", "As 2h Ad", "7s 7d Ac", "Ah 2d 2s"]
    assert first_side(all_tricks, undertrump="forced", last_trick_bonus=bonus) == points
    assert first_side(["7h 2c Ac", "2h 7s As", "7d 2d Ad", "Ah 7c 2s"], last_trick_bonus=bonus) == 14
