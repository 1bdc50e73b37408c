"""Duplicate play, intervals, ratings and reports: what is counted, and that luck and cheating cannot get into it."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from scipy import stats as scipy_stats

import arena.compare
from arena.compare import Comparison, compare, pairs_to_play
from arena.match import Meeting, meet, seatings
from arena.player import Player, PlayError
from arena.ratings import beating_cycle, notes, ratings
from arena.report import html_text, json_text, show, title, write
from arena.stats import estimate
from malilla_env import GameBatch, RuleSet, ruleset
from malilla_env.cards import parse_card
from malilla_env.view import legal_mask

MALILLA = ruleset()
THREE_SEATS = ruleset(teams=(0, 1, 2), removed=("2c",), neutral=24)  # each for itself: 39 cards, 73 points
TWO_SEATS = ruleset(teams=(0, 1))
GAMES = [MALILLA, THREE_SEATS, TWO_SEATS]
game = pytest.mark.parametrize("rules", GAMES, ids=["four seats", "three seats", "two seats"])


class Chance:
    """Plays any legal card, by the key and a salt of its own: players of different salts are different equals."""

    name = "chance"

    def __init__(self, rules: RuleSet, salt: int = 0) -> None:
        self.rules, self.salt = rules, np.uint64(salt)

    def act(self, views: np.ndarray, keys: np.ndarray) -> np.ndarray:
        mask = legal_mask(self.rules, views)
        chosen = (keys ^ self.salt) % np.maximum(mask.sum(axis=1), 1).astype(np.uint64)
        return (mask.cumsum(axis=1) > chosen[:, None]).argmax(axis=1)


class Highest(Chance):
    """Plays its highest legal card."""

    name = "highest"

    def act(self, views: np.ndarray, keys: np.ndarray) -> np.ndarray:
        mask = legal_mask(self.rules, views)
        strength = np.arange(mask.shape[1]) % self.rules.ranks
        return np.where(mask, strength, -1).argmax(axis=1)


class Answers(Chance):
    """Gives whatever a function makes of a proper answer."""

    name = "answers"

    def __init__(self, rules: RuleSet, twist: Callable[[np.ndarray, np.ndarray], Any]) -> None:
        super().__init__(rules)
        self.twist = twist

    def act(self, views: np.ndarray, keys: np.ndarray) -> Any:
        return self.twist(views, super().act(views, keys))


def not_held(views: np.ndarray, actions: np.ndarray) -> np.ndarray:
    """An illegal card in the place of every first answer to a lead."""
    held = legal_mask(MALILLA, views) | (views["hand"][:, None] >> np.arange(40, dtype=np.uint64) & 1).astype(bool)
    return np.where(views["trick_size"] > 0, (~held).argmax(axis=1), actions)


def played(a: Any, b: Any, rules: RuleSet, seed: int = 10, pairs: int = 40, **options: Any) -> Meeting:
    return meet(Player("a", a), Player("b", b), rules, seed, pairs, **options)


def margins_by_hand(a: Any, b: Any, rules: RuleSet, stream: int, episode: str) -> tuple[float, float]:
    """Margin and wins of one duplicate pair, its games played one at a time and counted in plain Python."""
    margin = wins = 0.0
    ways = [way for way in np.ndindex(*(2,) * rules.num_teams) if 0 < sum(way) < rules.num_teams]
    for way in ways:
        games = GameBatch(rules, 1, seed=10, episode=episode, streams=[stream], purpose="evaluate")
        while not games.done[0]:
            agent = (a, b)[way[rules.teams[games.seat[0]]]]
            games.step(agent.act(games.views(), games.decision_keys(10)))
            if games.hand_over[0]:
                points = games.last_points[0].tolist()
                margin += sum(p - sum(points) / len(points) for p, side in zip(points, way, strict=True) if side == 0)
        level = [side for p, side in zip(points, way, strict=True) if p == max(points)]
        winner = games.winner[0]
        wins += float(way[winner] == 0) if winner >= 0 else level.count(0) / len(level)
    return margin / len(ways), wins / len(ways)


# --- seatings and pairs
def test_seatings_are_every_way_that_has_both_at_the_table() -> None:
    assert seatings(MALILLA).tolist() == seatings(TWO_SEATS).tolist() == [[0, 1], [1, 0]]
    three = {tuple(way) for way in seatings(THREE_SEATS).tolist()}
    assert three == {(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)}


@game
@pytest.mark.parametrize("episode", ["hand", "match"])
def test_self_against_self_is_exactly_0(rules: RuleSet, episode: str) -> None:
    """CASES 20, a stochastic player included."""
    meeting = played(Chance(rules), Chance(rules), rules, episode=episode)
    assert not meeting.margins.any()
    assert np.allclose(meeting.wins, 0.5, atol=1e-15)


@game
@pytest.mark.parametrize("episode", ["hand", "match"])
def test_margins_and_wins_agree_with_a_count_game_by_game(rules: RuleSet, episode: str) -> None:
    a, b = Highest(rules), Chance(rules)
    meeting = played(a, b, rules, pairs=12, episode=episode)
    slow = [margins_by_hand(a, b, rules, stream, episode) for stream in range(12)]
    assert np.allclose(meeting.margins, [margin for margin, _ in slow])
    assert np.allclose(meeting.wins, [wins for _, wins in slow])
    assert meeting.margins.any()


@game
@pytest.mark.parametrize("episode", ["hand", "match"])
def test_results_do_not_depend_on_block_size(rules: RuleSet, episode: str) -> None:
    a, b = Highest(rules), Chance(rules)
    whole = played(a, b, rules, pairs=10, episode=episode)
    for block in (1, 7):
        blocks = played(a, b, rules, pairs=10, episode=episode, block=block)
        assert np.array_equal(blocks.margins, whole.margins)
        assert np.array_equal(blocks.wins, whole.wins)
    fewer = played(a, b, rules, pairs=9, episode=episode)
    assert np.array_equal(fewer.margins, whole.margins[:9])


@game
def test_the_order_of_the_players_changes_the_sign_alone(rules: RuleSet) -> None:
    a, b = Highest(rules), Chance(rules)
    there, back = played(a, b, rules), played(b, a, rules)
    assert np.array_equal(there.margins, -back.margins)
    assert np.allclose(there.wins + back.wins, 1)


def test_the_games_of_a_pair_share_deal_and_dealer() -> None:
    """Seen by a player that is shown the states: lanes of one stream differ in nothing at the first lead."""
    seen: dict[int, list[tuple[bytes, int]]] = {}

    class Witness(Chance):
        sees_all = True

        def act(self, views: np.ndarray, keys: np.ndarray, states: np.ndarray) -> np.ndarray:  # type: ignore[override]
            for row in states[states["num_plays"] == 0]:
                seen.setdefault(int(row["stream"]), []).append((row["deck"].tobytes(), int(row["dealer"])))
            return super().act(views, keys)

    played(Witness(MALILLA), Witness(MALILLA), MALILLA, pairs=20)
    assert set(seen) == set(range(20))
    assert all(len(deals) == 2 and deals[0] == deals[1] for deals in seen.values())
    assert len({deals[0] for deals in seen.values()}) == 20


def test_numbers_that_make_no_sense_are_refused() -> None:
    chance = Chance(MALILLA)
    for options in ({"pairs": 0}, {"block": 0}):
        with pytest.raises(ValueError, match="must be 1 or more"):
            played(chance, chance, MALILLA, **options)
    with pytest.raises(ValueError, match="two players or more, not 1"):
        compare({"a": chance}, MALILLA, seed=10, deals=10)
    for deals, matches in ((1, 0), (10, 1), (10, -1)):
        with pytest.raises(ValueError, match="an interval needs 2 duplicate pairs"):
            compare({"a": chance, "b": chance}, MALILLA, seed=10, deals=deals, matches=matches)


def test_progress_is_told_to_the_end() -> None:
    chance, told = Chance(MALILLA), []
    compare({"a": chance, "b": chance, "c": chance}, MALILLA, 10, deals=10, matches=4, block=3, advance=told.append)
    assert sum(told) == pairs_to_play(3, 10, 4) == 42
    assert max(told) == 3


def test_hands_end_early_at_a_width_or_a_time_and_never_by_what_they_say() -> None:
    a, b, told = Highest(MALILLA), Chance(MALILLA), []
    whole = played(a, b, MALILLA, pairs=400)
    wide = compare({"a": a, "b": b}, MALILLA, 10, deals=400, block=16, half_width=2.0, advance=told.append)
    result = wide.results[0]
    assert 100 <= result.pairs == sum(told) < 400
    low, high = result.margin.ci
    assert high - low <= 4.0
    assert np.isclose(result.margin.mean, whole.margins[: result.pairs].mean())
    assert "up to 400 duplicate pairs" in title(wide)
    assert compare({"a": a, "b": b}, MALILLA, 10, deals=400, block=16, minutes=1e-9).results[0].pairs == 4
    narrow = compare({"a": a, "b": b}, MALILLA, 10, deals=120, half_width=1e-6)
    assert narrow.results[0].pairs == 120
    assert "up to" not in title(narrow)
    for limit in ({"half_width": -1.0}, {"minutes": float("nan")}):
        with pytest.raises(ValueError, match="must be above 0, or 0 for no limit"):
            compare({"a": a, "b": b}, MALILLA, 10, deals=10, **limit)


def test_ratings_of_meetings_that_ended_at_different_numbers_take_the_shortest() -> None:
    players = {"a": Highest(MALILLA), "b": Chance(MALILLA), "c": Highest(MALILLA)}
    comparison = compare(players, MALILLA, 10, deals=300, block=32, half_width=0.5)
    assert len({result.pairs for result in comparison.results}) > 1
    assert comparison.ratings["b"].low < comparison.ratings["b"].high


def test_what_a_decision_took_is_told() -> None:
    class Sleeper(Chance):
        def act(self, views: np.ndarray, keys: np.ndarray) -> np.ndarray:
            sleep(0.002)
            return super().act(views, keys)

    comparison = compare({"slow": Sleeper(MALILLA), "fast": Chance(MALILLA)}, MALILLA, 10, deals=4)
    assert comparison.paces["slow"] > comparison.paces["fast"] > 0
    assert f"slow {comparison.paces['slow']:.3g}, fast" in html_text(comparison, "command")


# --- what players answer
def test_an_illegal_play_loses_the_hand_with_nothing() -> None:
    """The offender's side counts as 0 points against all: -35 a hand, and every game lost."""
    bad = Answers(MALILLA, not_held)
    meeting = played(bad, Chance(MALILLA), MALILLA, pairs=30)
    assert np.array_equal(meeting.margins, np.full(30, -35.0))
    assert not meeting.wins.any()
    assert meeting.reneges == (60, 0)
    match = played(bad, Chance(MALILLA), MALILLA, pairs=5, episode="match")
    assert (match.wins.sum(), match.reneges) == (0, (10, 0))


def test_an_illegal_play_among_three_sides_is_zero_sum() -> None:
    """The offender has nothing, the two others half of all the points each, whoever they are."""

    def illegal(views: np.ndarray, actions: np.ndarray) -> np.ndarray:
        return np.full(len(actions), parse_card(THREE_SEATS, "2c"))  # which the deck lacks

    bad, good = Answers(THREE_SEATS, illegal), Chance(THREE_SEATS)
    there, back = played(bad, good, THREE_SEATS, pairs=10), played(good, bad, THREE_SEATS, pairs=10)
    assert np.array_equal(there.margins, -back.margins)
    total = THREE_SEATS.total_points
    # a b b: -total/3. b a a: one of a's sides has 0, the other half of the points, b's the other half: -total/6
    assert np.allclose(there.margins, -(total / 3 + total / 6) / 2)


def test_illegal_plays_are_told() -> None:
    bad = Answers(MALILLA, not_held)
    comparison = compare({"bad": bad, "chance": Chance(MALILLA)}, MALILLA, seed=10, deals=20, matches=3)
    (note,) = [note for note in comparison.notes if "illegal" in note]
    assert "bad made 46 illegal plays" in note
    assert "seat" in note
    assert "legal:" in note
    assert comparison.to_dict()["results"][0]["reneges"] == [46, 0]


def test_where_the_rules_raise_an_illegal_play_stops_the_comparison() -> None:
    rules = ruleset(illegal="raise")
    with pytest.raises(PlayError, match=r"player 'a' in lane \d+ \(deal \d+, hand 0\), seat \d: \w\w \(action \d+\)"):
        played(Answers(rules, not_held), Chance(rules), rules)


@pytest.mark.parametrize(
    ("twist", "said"),
    [
        (lambda views, actions: actions.astype(float), r"must return \d+ integers.*float64"),
        (lambda views, actions: actions[:, None], r"must return \d+ integers.*of shape \(\d+, 1\)"),
        (lambda views, actions: actions[:-1], r"must return \d+ integers"),
        (lambda views, actions: None, r"must return \d+ integers"),
        (lambda views, actions: actions * 0 + 40, r"seat \d: action 40 is no id in 0..39; legal: \w\w"),
        (lambda views, actions: actions * 0 - 1, r"seat \d: action -1 is no id in 0..39; legal: \w\w"),
        (lambda views, actions: actions.astype(np.uint64) - np.uint64(41), r"is no id in 0..39"),
        (lambda views, actions: [][0], r"failed: IndexError: list index out of range \(.*test_arena.py:\d+\)"),
    ],
)
def test_an_answer_that_is_no_action_is_refused_by_name(twist: Callable[..., Any], said: str) -> None:
    with pytest.raises(PlayError, match=f"player 'a'.*{said}"):
        played(Answers(MALILLA, twist), Chance(MALILLA), MALILLA)


def test_small_integer_types_are_answers_too() -> None:
    bytes_ = Answers(MALILLA, lambda views, actions: actions.astype(np.int8))
    lists = Answers(MALILLA, lambda views, actions: actions.tolist())
    assert not played(bytes_, lists, MALILLA).margins.any()


def test_a_player_cannot_write_on_the_game() -> None:
    def scribble(views: np.ndarray, actions: np.ndarray) -> np.ndarray:
        views["legal"] = views["hand"] = 0
        return actions

    assert not played(Answers(MALILLA, scribble), Chance(MALILLA), MALILLA).margins.any()


def test_who_sees_all_hands_is_marked_as_cheating() -> None:
    class Oracle(Chance):
        sees_all = True

        def act(self, views: np.ndarray, keys: np.ndarray, states: np.ndarray) -> np.ndarray:  # type: ignore[override]
            assert (states["hands"][np.arange(len(views)), views["seat"]] == views["hand"]).all()
            states["hands"] = 0  # a copy
            return super().act(views, keys)

    comparison = compare({"oracle": Oracle(MALILLA), "chance": Chance(MALILLA)}, MALILLA, seed=10, deals=5)
    assert comparison.results[0].margin.mean == 0
    console = Console(record=True, width=160, file=StringIO())
    show(comparison, console)
    for text in (console.export_text(), html_text(comparison, "")):
        assert "oracle (cheats: sees all hands)" in text


# --- intervals
def test_the_interval_is_students() -> None:
    values = np.array([1.0, 2.0, 4.0, 8.0])
    expected = scipy_stats.t.interval(0.95, 3, loc=values.mean(), scale=scipy_stats.sem(values))
    got = estimate(values)
    assert (got.low, got.high) == pytest.approx(expected)
    assert got.mean == values.mean()
    assert (estimate(values + 9).sign, estimate(values - 20).sign, estimate(values - 3).sign) == (1, -1, 0)
    with pytest.raises(ValueError, match="2 or more duplicate pairs, not 1"):
        estimate(values[:1])


def test_intervals_of_equals_cover_0_in_95_of_100() -> None:
    """CASES 21: two equals, 400 comparisons of 40 pairs on real deals; the binomial's own 99.9% range is allowed."""
    meeting = played(Chance(MALILLA), Chance(MALILLA, salt=0x9E3779B97F4A7C15), MALILLA, pairs=16_000, block=4096)
    covered = sum(estimate(values).sign == 0 for values in meeting.margins.reshape(400, 40))
    low, high = scipy_stats.binom.interval(0.999, 400, 0.95)
    assert low <= covered <= high
    covered = sum(e.low <= 0.5 <= e.high for e in map(estimate, meeting.wins.reshape(400, 40)))
    assert low <= covered <= high


def test_single_games_would_give_the_wrong_interval() -> None:
    """CASES 21: on simulated pairs whose games share luck, pair means cover about 95%, single games do not."""
    random = np.random.default_rng(11)
    shared, own = random.normal(size=(2000, 30)), random.normal(size=(2, 2000, 30))
    games = shared + own  # the luck that swapping sides does not cancel counts twice in every pair
    pairs = games.mean(axis=0)
    by_pairs = np.mean([estimate(values).sign == 0 for values in pairs])
    by_games = np.mean([estimate(values).sign == 0 for values in np.concatenate(games, axis=1)])
    assert 0.935 <= by_pairs <= 0.965
    assert by_games < 0.92


# --- ratings
def noisy(means: dict[tuple[str, str], float], deals: int, seed: int = 12) -> dict[tuple[str, str], np.ndarray]:
    random = np.random.default_rng(seed)
    return {pair: mean + random.normal(scale=5, size=deals) for pair, mean in means.items()}


def test_ratings_are_the_least_squares_fit_with_the_anchor_at_0() -> None:
    names = ["x", "random", "y", "z"]
    margins = noisy({("x", "random"): 3, ("x", "y"): 1, ("x", "z"): 9, ("random", "y"): -2, ("random", "z"): 0,
                     ("y", "z"): 1}, deals=50)  # fmt: skip
    design = np.array([[1, 0, 0], [1, -1, 0], [1, 0, -1], [0, -1, 0], [0, 0, -1], [0, 1, -1]])  # x, y, z
    fit, *_ = np.linalg.lstsq(design, np.array([values.mean() for values in margins.values()]))
    got = ratings(names, margins)
    assert [got[name].mean for name in ("x", "y", "z")] == pytest.approx(fit)
    assert got["random"].ci == [0, 0]


def test_ratings_of_transitive_players_are_their_differences() -> None:
    margins = noisy({("a", "b"): 2, ("a", "c"): 5, ("b", "c"): 3}, deals=20_000)
    got = ratings(["a", "b", "c"], margins)
    assert got["a"].ci == [0, 0]
    assert got["b"].low < -2 < got["b"].high
    assert got["c"].low < -5 < got["c"].high
    assert got["c"].high - got["c"].low < 0.3
    assert notes(["a", "b", "c"], margins) == []


def test_rating_intervals_cover_the_truth() -> None:
    hits = [
        ratings(["a", "b", "c"], noisy({("a", "b"): 2, ("a", "c"): 5, ("b", "c"): 3}, deals=40, seed=seed))["c"]
        for seed in range(400)
    ]
    low, high = scipy_stats.binom.interval(0.999, 400, 0.95)
    assert low <= sum(hit.low <= -5 <= hit.high for hit in hits) <= high


@pytest.mark.parametrize("deals", [200, 5000])
def test_rock_paper_scissors_inflates_no_rating_and_is_reported(monkeypatch: pytest.MonkeyPatch, deals: int) -> None:
    """CASES 19: each beats the next by 4 points a hand."""
    beats = {("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")}

    def mock(a: Player, b: Player, rules: RuleSet, seed: int, pairs: int, *_: Any) -> Meeting:
        margin = 4.0 if (a.name, b.name) in beats else -4.0
        luck = np.random.default_rng(sum(map(ord, a.name + b.name))).normal(scale=5, size=pairs)
        return Meeting(margin + luck - luck.mean(), np.full(pairs, 0.5), (0, 0), (0, 0), (0, 0))

    monkeypatch.setattr(arena.compare, "meet", mock)
    trio = {name: Chance(MALILLA) for name in ("rock", "paper", "scissors")}
    comparison = compare(trio, MALILLA, seed=10, deals=deals)
    for rating in comparison.ratings.values():
        assert abs(rating.mean) < 1e-9
        assert rating.low <= 0 <= rating.high
    assert "cycle: rock beats scissors beats paper beats rock" in comparison.notes[0]
    assert "do not add up" in comparison.notes[1]
    assert comparison.to_dict()["notes"] == comparison.notes
    assert "cycle: rock beats" in html_text(comparison, "")


def test_a_cycle_that_chance_could_make_is_not_reported() -> None:
    names = ["a", "b", "c"]
    margins = noisy({("a", "b"): 0.1, ("b", "c"): 0.1, ("a", "c"): -0.1}, deals=100)
    assert notes(names, margins) == []


def test_a_cycle_of_four_is_found() -> None:
    means = {("a", "b"): 3, ("a", "c"): 0, ("a", "d"): -3, ("b", "c"): 3, ("b", "d"): 0, ("c", "d"): 3}
    margins = noisy(means, deals=2000)
    margins["a", "c"] -= margins["a", "c"].mean()
    margins["b", "d"] -= margins["b", "d"].mean()
    assert beating_cycle(["a", "b", "c", "d"], margins) == ["a", "b", "c", "d"]


# --- reports
@pytest.fixture(scope="module")
def comparison() -> Comparison:
    players = {"high<b>est": Highest(MALILLA), "chance": Chance(MALILLA), "chance#2": Chance(MALILLA)}
    return compare(players, MALILLA, seed=10, deals=50, matches=5)


def test_json_has_the_documented_shape(comparison: Comparison) -> None:
    got = json.loads(json_text(comparison))
    assert set(got) == {"results", "ratings", "rules", "seed", "deals"}
    assert [(r["a"], r["b"]) for r in got["results"]] == [
        ("high<b>est", "chance"),
        ("high<b>est", "chance#2"),
        ("chance", "chance#2"),
    ]
    first = got["results"][0]
    assert {"a", "b", "margin", "ci95", "pairs", "win_rate"} <= set(first)
    assert first["ci95"][0] < first["margin"] < first["ci95"][1]
    assert (first["pairs"], first["match_pairs"], got["seed"], got["deals"]) == (50, 5, 10, 50)
    assert got["results"][2]["margin"] == 0
    assert got["results"][2]["ci95"] == [0, 0]
    assert [set(rating) for rating in got["ratings"]] == [{"agent", "rating", "ci95"}] * 3
    assert RuleSet.from_dict(got["rules"]) == MALILLA


def test_hands_alone_give_exactly_the_pinned_keys() -> None:
    players = {"a": Highest(MALILLA), "b": Chance(MALILLA)}
    got = compare(players, MALILLA, seed=10, deals=5).to_dict()
    assert set(got["results"][0]) == {"a", "b", "margin", "ci95", "pairs", "win_rate"}
    assert set(got) == {"results", "ratings", "rules", "seed", "deals"}


def test_tables_show_every_figure(comparison: Comparison) -> None:
    console = Console(record=True, width=200, file=StringIO())
    show(comparison, console)
    text = console.export_text()
    first = comparison.results[0]
    for shown in (
        "high<b>est",
        "chance#2",
        f"{first.margin.mean:+.3f}",
        f"[{first.margin.low:+.3f}, {first.margin.high:+.3f}]",
        f"{first.win_rate.mean:.1%}",
        "match wins",
        "50 duplicate pairs",
        "seed 10",
        "Ratings",
        "+0.000",
    ):
        assert shown in text
    assert "-0.000" not in text


def test_the_page_stands_alone(comparison: Comparison) -> None:
    page = html_text(comparison, "python evaluate.py 'a b' <c>")
    for shown in ("<svg", "high&lt;b&gt;est", "python evaluate.py &#x27;a b&#x27; &lt;c&gt;", "undertrump", "seed 10"):
        assert shown in page
    for fetched in ("http", "<script", "<link", "src=", "<b>", "url("):
        assert fetched not in page


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f.json"
    write(path, "first")
    with pytest.raises(UnicodeEncodeError):
        write(path, "\ud800")
    with monkeypatch.context() as patch:
        patch.setattr("arena.report.os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            write(path, "second")
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_a_match_without_a_winner_is_shared() -> None:
    """Players who always pass: a hundred deals in a row without a bid break a match off (RULES 3.6)."""
    rules = ruleset("manille-encheres")

    class Passes:
        name = "passes"

        def act(self, views: np.ndarray, keys: np.ndarray) -> np.ndarray:
            return np.full(len(views), rules.action_names.index("pass"))

    found = meet(Player("a", Passes()), Player("b", Passes()), rules, 12, 3, "match")
    assert found.wins.tolist() == [0.5] * 3
    assert (found.margins == 0).all()
