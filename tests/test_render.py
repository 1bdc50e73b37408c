"""The table as text and as a picture, in every game: what a person must find there, in both packs, and that nothing
hidden shows."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from malilla_env import GameBatch, malilla_v0, picture, ruleset
from malilla_env.cards import parse_cards
from malilla_env.deals import deal_dtype
from malilla_env.picture import HEIGHT, WIDTH, table_image
from malilla_env.play_through import play_through
from malilla_env.record import load, replay
from malilla_env.recorder import Recorder
from malilla_env.render import frame, seen, table_text
from malilla_env.rules import PRESETS
from malilla_env.words import action_words, hand_words, news

GOLDEN = Path(__file__).parent / "golden"
ORDER = (
    "3c As Jh 3d Jc Js 2d Qc 6s 5c 5d 7h Kc Ad Ac 4c 6d 6h 7d Ks "
    "3h 6c 5s 7s Ah Qh Jd 2c 4s Kh Qs Qd Kd 4h 4d 7c 2h 3s 5h 2s"
)
PLAYS = "Ah Kh Jh 7h 7s 6s 3s Qs Ks 4s Js"  # two tricks, and three cards of the third


def game(plays="", dealer=3, match_score=None, order=ORDER, **rules):
    games = GameBatch(ruleset(**rules), 1)
    deals = np.zeros(1, deal_dtype(games.rules))
    deals["cards"], deals["dealer"] = parse_cards(games.rules, order), dealer
    games.reset(deals=deals, match_score=match_score)
    for card in parse_cards(games.rules, plays):
        games.step([card])
    return games


def text_of(games, seat=None, note=""):
    return table_text(games.rules, *seen(games, seat), note)


def moment(name, ply, hand=0, which=0):
    """The game of a frozen record before a play."""
    for at, before, over, games in replay(load(GOLDEN / f"{name}.jsonl")[which]):
        if (at, before, over) == (hand, ply, False):
            return games.copy()
    raise AssertionError(f"{name} has no such moment")


def ended(name, which=0):
    """The game of a frozen record when it is over."""
    *_, last = replay(load(GOLDEN / f"{name}.jsonl")[which])
    return last.games


# --- words
def test_words_of_actions():
    def said(rules, *names):
        return [action_words(rules, rules.action_names.index(name)) for name in names]

    parlee = ruleset("manille-parlee")
    names = ("7s", "Th", "pass", "holds-3-hearts", "holds-0-clubs", "holds-Th", "holds-Ac")
    assert said(parlee, *names) == [
        *("plays 7♠", "plays 10♥", "passes", "holds 3 of hearts", "holds no clubs"),
        *("holds the 10 of hearts", "holds the A of clubs"),
    ]
    spanish = ruleset("malilla-espanola", talk=True)
    assert said(spanish, "Kh", "holds-3-hearts", "holds-Ad") == [
        *("plays rey de copas", "holds 3 of copas", "holds the 1 de oros")
    ]
    bids = ruleset("manille-encheres", pack="spanish")
    assert said(bids, "bid-34", "trump-hearts") == ["bids 34", "names copas"]
    asks = ruleset("malilla-redeal")
    assert said(asks, "ask", "agree", "refuse") == ["asks for a new deal", "agrees", "refuses"]


@pytest.mark.parametrize("name", PRESETS)
def test_every_action_has_words_of_its_own(name):
    rules = PRESETS[name]
    words = [action_words(rules, action) for action in range(rules.num_actions)]
    assert len(set(words)) == rules.num_actions
    with pytest.raises(IndexError):
        action_words(rules, rules.num_actions)


# --- text
def test_text_of_a_table():
    assert (
        text_of(game(PLAYS))
        == """\
malilla, hand 1, trick 3 of 10
trump ♠: 2♠ turned up by player_3; led so far: ♠ ♥

           player_0 + player_2   player_1 + player_3
score                        0                     0   first to 35
points                       0                    22
tricks                       0                     2

  player_0              4♠       ♥ 3 2   ♦ K 6   ♣ K J 3
  player_1              J♠       ♠ A   ♥ Q 6 4   ♦ A   ♣ 6 5
> player_2              .        ♠ 5   ♥ 5   ♦ 7 J 5 4 2   ♣ A
  player_3 deals, leads K♠ wins  ♠ 2   ♦ Q 3   ♣ 7 Q 4 2

last trick: player_3 7♠, player_0 6♠, player_1 3♠, player_2 Q♠; taken by player_3

known: player_3 holds the 2 of spades
player_2 is to play: ♠ 5"""
    )


def test_text_of_a_table_in_spanish():
    assert text_of(game(PLAYS, pack="spanish")).splitlines()[8:14] == [
        "  player_0              4 de espadas          copas 3 2   oros rey 6   bastos rey sota 3",
        "  player_1              sota de espadas       espadas 1   copas caballo 6 4   oros 1   bastos 6 5",
        "> player_2              .                     espadas 5   copas 5   oros 7 sota 5 4 2   bastos 1",
        "  player_3 deals, leads rey de espadas  wins  espadas 2   oros caballo 3   bastos 7 caballo 4 2",
        "",
        "last trick: player_3 7 de espadas, player_0 6 de espadas, player_1 3 de espadas, "
        "player_2 caballo de espadas; taken by player_3",
    ]


def test_text_of_what_one_seat_may_know():
    lines = text_of(game(PLAYS), seat=1).splitlines()
    assert lines[8:12] == [
        "  player_0              4♠       7 cards",
        "  player_1              J♠       ♠ A   ♥ Q 6 4   ♦ A   ♣ 6 5",
        "> player_2              .        8 cards",
        "  player_3 deals, leads K♠ wins  7 cards",
    ]


def test_text_tells_of_a_bonus_that_waits():
    order = ORDER.replace("As", "?").replace("2s", "As").replace("?", "2s")
    assert "score                        5                    33   first to 35; a dealer bonus of 4 waits" in text_of(
        game(match_score=[5, 33], order=order)
    )


def test_the_text_of_a_game_that_is_over():
    env = malilla_v0.raw_env(episode="hand", render_mode="ansi")
    env.reset(seed=7)
    while not env.games.done[0]:
        env.step(int(np.flatnonzero(env.observe(env.agent_selection)["action_mask"])[0]))
    lines = env.render().splitlines()
    points = " - ".join(str(value) for value in env.games.last_points[0])
    assert any(line.startswith(f"hand over: points {points}, tricks ") for line in lines)
    assert "win the hand: " in lines[-1] or "the hand is level: " in lines[-1]
    assert lines[0] == "malilla, hand 1, trick 10 of 10"
    assert sum(" wins" in line for line in lines) == 1
    assert not any(line.startswith(">") for line in lines)


def test_text_tells_of_an_illegal_play():
    env = malilla_v0.raw_env(render_mode="ansi")
    env.reset(seed=7)
    offender = env.agent_selection
    env.step(int(np.flatnonzero(env.observe(offender)["action_mask"] == 0)[0]))
    *_, said, won = env.render().splitlines()
    assert said == f"illegal play by {offender}"
    assert "win the match: " in won
    assert offender not in won


def test_text_tells_of_capote_and_zapato():
    assert (
        news(ended("malilla-capote")).splitlines()[-1] == "player_0 + player_2 win the match (capote, zapato): 35 - 0"
    )


def test_human_prints_every_step(capsys):
    env = malilla_v0.env(episode="hand", render_mode="human")
    env.reset(seed=7)
    tables = 1
    while env.agents:
        terminated = env.last()[2]
        env.step(None if terminated else int(np.flatnonzero(env.last()[0]["action_mask"])[0]))
        tables += not terminated
    assert env.render() is None
    printed = capsys.readouterr().out
    assert printed.count("malilla, hand 1, trick") == tables + 1 == 42


def test_hand_words():
    rules = ruleset()
    mask = sum(1 << card for card in parse_cards(rules, "2h 7s As 3c Kh"))
    assert hand_words(rules, mask) == "♠ 7 A   ♥ K 2   ♣ 3"
    assert hand_words(ruleset(pack="spanish"), mask) == "espadas 7 1   copas rey 2   bastos 3"
    assert hand_words(rules, 0) == ""


# --- what the other games add, as text
def test_text_of_an_auction():
    games = moment("manille-encheres", 2, hand=1)
    lines = text_of(games, seat=3).splitlines()
    assert lines[:2] == ["manille-encheres, hand 1, before the first trick", "trump not named yet"]
    assert lines[-2:] == ["said: player_0 passes, player_1 passes", "player_2 is to bid or pass"]
    assert text_of(games, seat=2).splitlines()[-1] == "player_2 is to bid or pass: pass, 31 to 60"
    assert text_of(games).splitlines()[-1] == "player_2 is to bid or pass: pass, 31 to 60"
    *_, said, turn = text_of(moment("manille-encheres", 4, hand=1), seat=2).splitlines()
    assert said == "said: player_0 passes, player_1 passes, player_2 bids 39, player_3 passes"
    assert turn == "player_2 is to name trump: spades, hearts, diamonds, clubs"


def test_text_of_a_contract():
    lines = text_of(moment("manille-encheres", 9, hand=1)).splitlines()
    assert lines[1] == "trump ♠: named by player_2, who bid 39; led so far: ♠"
    assert lines[-2] == (
        "before the play: player_0 passes, player_1 passes, player_2 bids 39, player_3 passes, player_2 names spades"
    )


def test_text_of_a_void_deal():
    games = moment("manille-encheres", 0, hand=1)
    assert frame(games, "ansi").splitlines()[-1] == "the last deal is void; this is deal 2 of the hand"
    assert "void" not in frame(moment("manille-encheres", 1, hand=1), "ansi")


def test_text_of_talk():
    lines = text_of(moment("manille-parlee", 13), seat=1).splitlines()
    assert lines[15:] == [
        "said: player_0 holds the A of hearts",
        "known: player_0 holds the A of hearts; player_1 holds 3 of hearts, the 10 of spades; player_2 holds the Q of "
        "spades;",
        "  player_3 holds 2 of spades, 2 of diamonds",
        "player_2 is to say something or pass",
    ]
    assert text_of(moment("manille-parlee", 13), seat=2).splitlines()[-1] == (
        "player_2 is to say something or pass: pass, no clubs, 1 of hearts, 2 of spades, 3 of diamonds, "
        "the 10 of diamonds"
    )


def test_text_of_asking():
    asked, other = (text_of(moment("malilla-redeal", 3), seat=seat).splitlines()[-1] for seat in (1, 3))
    assert asked == "player_1 is to ask for a new deal or pass: pass, ask"
    assert other == "player_1 is to ask for a new deal or pass"
    games = moment("malilla-redeal", 4)
    *_, said, _, turn = text_of(games, seat=3).splitlines()
    assert said.endswith("player_0 passes, player_1 asks for a new deal")
    assert turn == "player_3 is to agree to a new deal or refuse: agree, refuse"


def test_who_asked_is_told_in_later_tricks():
    name, which = "malilla-redeal", 1
    games = next(at.games for at in replay(load(GOLDEN / f"{name}.jsonl")[which]) if at.games.tricks_won.sum() == 2)
    (told,) = [line for line in text_of(games, seat=0).splitlines() if line.startswith("before the play: ")]
    assert "asks for a new deal" in told
    assert "refuses" in told


def test_text_of_piles():
    for seat in (None, 0, 1):
        assert text_of(moment("manille-2", 5), seat).splitlines()[8:11] == [
            "> player_0 deals        .        ♠ 10+   ♥ K J+ 9+   ♦ J   ♣ Q+ J+ 8+",
            "  player_1 leads        K♦ wins  ♠ A+   ♥ 10+ A+ 7+   ♦ 9+ 7   ♣ 9",
            "  + lies on a card face down",
        ]
    assert "known" not in text_of(moment("manille-2", 5), 0)


def test_text_of_three_and_a_dead_hand():
    lines = text_of(moment("manille-3-dead", 4), seat=0).splitlines()
    assert lines[3:12] == [
        "           player_0   player_1   player_2",
        "score             0          0          0   first to 101",
        "points            0          0          5",
        "tricks            0          0          1",
        "",
        "> player_0              .        ♠ Q J   ♥ A 9   ♦ 8   ♣ A Q",
        "  player_1              .        7 cards",
        "  player_2 deals, leads 7♥ wins  6 cards",
        "  8 more cards lie face down, out of play",
    ]
    assert news(ended("manille-3-dead")).splitlines()[-1] == "player_2 wins the hand: 0 - 0 - 9"


def test_text_of_an_albur():
    text = text_of(moment("malilla-albur", 0, which=1), seat=0)
    assert "first to 35; a dealer bonus of 5 waits; an albur of 5 waits" in text
    assert text.splitlines()[-2] == (
        "albur: player_1 draws the A of diamonds, player_0 draws the 7 of clubs; player_0 wins 5 points and leads first"
    )


def test_the_albur_is_told_in_the_first_hand_only():
    games = GameBatch(ruleset("malilla-albur"), 1, seed=31)
    while not games.hand_over[0]:
        assert "albur: " in text_of(games)
        games.step(games.random_legal(games.decision_keys()))
    assert not games.done[0]
    assert "albur: " not in text_of(games)


def test_text_without_trump():
    games = GameBatch(ruleset("manille", trump="none"), 1, seed=32)
    assert text_of(games).splitlines()[1] == "no trump"
    assert drawn(games).shape == (HEIGHT, WIDTH, 3)


# --- nothing hidden shows
def resampled(games, seat, rng):
    """The game as it might be for all that a seat knows: what nobody has shown changes places."""
    other = games.copy()
    row, rules = other.state[0], games.rules
    places = [place for place in range(rules.num_seats) if place != seat]
    known = int(row["shown"])
    masks = [*(int(row["hands"][place]) for place in places), int(row["face_down"])]
    hidden = [card for mask in masks for card in range(4 * rules.ranks) if mask & ~known & 1 << card]
    order = iter(rng.permutation(hidden).tolist())
    dealt = [mask & known | sum(1 << next(order) for _ in range((mask & ~known).bit_count())) for mask in masks]
    for place, mask in zip(places, dealt, strict=False):
        row["hands"][place] = mask
    row["face_down"] = dealt[-1]
    row["deck"][: rules.num_cards] = rng.permutation(row["deck"][: rules.num_cards])
    row["hand_key"], row["stream_key"], row["stream"] = rng.integers(1 << 32, size=3)
    return other, any((row[field] != games.state[0][field]).any() for field in ("hands", "face_down"))


@pytest.mark.parametrize("name", PRESETS)
def test_no_frame_shows_what_is_hidden(name, monkeypatch):
    """Every render mode at every ply of the frozen play-through: with other hidden cards all looks the same."""
    monkeypatch.setattr(picture, "SCALE", 1)
    record, rng, moved = load(GOLDEN / f"{name}.jsonl")[0], np.random.default_rng(33), 0
    seats = range(record.rules.num_seats)
    first_played = [hand.end for hand in record.hands].index("played")
    for hand, ply, _, games in replay(record):
        if hand > first_played:
            break
        for seat in seats:
            other, changed = resampled(games, seat, rng)
            moved += changed
            assert frame(games, "ansi", seat) == frame(other, "ansi", seat)
            if ply % len(seats) == seat:
                shown = frame(games, "rgb_array", seat)
                assert np.array_equal(shown, frame(other, "rgb_array", seat))
        assert "player_0" in frame(games, "ansi")
        assert hand_words(record.rules, games.hands[0, 0], games.covering[0]) in frame(games, "ansi")
        if ply % 6 == 0:
            assert frame(games, "rgb_array").shape == shown.shape
    assert moved > 10 or record.rules.piles


@pytest.mark.parametrize("name", ["malilla", "manille-encheres", "manille-2"])
def test_human_prints_the_text(name, capsys):
    games = moment(name, 1)
    assert frame(games, "human") is None
    assert capsys.readouterr().out == frame(games, "ansi") + "\n\n"


# --- pictures
def drawn(games, seat=None, note=""):
    return table_image(games.rules, *seen(games, seat), note)


def differ(one, other):
    """Whether a person would see it."""
    return one.shape == other.shape and (one != other).any(axis=2).sum() > 300


def test_pictures():
    one, again = drawn(game(PLAYS)), drawn(game(PLAYS))
    assert one.shape == (HEIGHT, WIDTH, 3)
    assert one.dtype == np.uint8
    assert np.array_equal(one, again)
    assert differ(one, drawn(game(PLAYS[:-3])))
    assert differ(one, drawn(game(PLAYS, pack="spanish")))
    assert differ(one, drawn(game(PLAYS), seat=2))
    assert differ(one, drawn(game(PLAYS), note="hand over"))


def test_pictures_of_one_seat_hide_the_other_hands():
    """The cards of two others change places: nothing of it is seen."""
    cards = ORDER.split()
    cards[1], cards[2] = cards[2], cards[1]
    here, there = game(), game(order=" ".join(cards))
    assert not np.array_equal(drawn(here), drawn(there))
    assert np.array_equal(drawn(here, seat=0), drawn(there, seat=0))
    assert text_of(here, seat=0) == text_of(there, seat=0)
    assert text_of(here) != text_of(there)


def test_pictures_of_piles_show_what_lies_under():
    games, bare = moment("manille-2", 5), moment("manille-2", 5)
    bare.state["covering"] = 0
    assert differ(drawn(games, seat=0), drawn(bare, seat=0))


def test_pictures_lift_the_cards_that_may_be_played():
    view, hands = seen(moment("malilla", 2), None)
    unlifted = view.copy()
    unlifted["legal"] = 0
    assert differ(table_image(ruleset(), view, hands), table_image(ruleset(), unlifted, hands))


def test_pictures_show_the_dead_hand():
    games, view = moment("manille-3-dead", 4), moment("manille-3-dead", 4).views(0)[0]
    without = ruleset("manille-3")
    assert differ(drawn(games, 0), table_image(without, view))


def test_pictures_tell_what_was_said():
    """Each of these changes alone, and the picture with it."""
    view, hands = seen(moment("manille-encheres", 9, hand=1), 0)
    for field, value in (("bid", 55), ("bidder", 3), ("trump", 1), ("trump", -1)):
        other = view.copy()
        other[field] = value
        one, two = (table_image(ruleset("manille-encheres"), of, hands) for of in (view, other))
        assert (one != two).any()
    told, hands = seen(moment("manille-parlee", 13), 1)
    other = told.copy()
    other["counted"], other["shown"] = 0, 0
    assert differ(*(table_image(ruleset("manille-parlee"), of, hands) for of in (told, other)))


@pytest.mark.parametrize(
    "rules",
    [
        {"teams": (0, 1, 2), "removed": ("2s",), "neutral": 24},
        {"teams": (0, 1), "rank_names": "789TJQKA", "rank_points": (0, 0, 0, 5, 1, 2, 3, 4), "neutral": 30},
        {"rank_names": "23456TJQKA79", "rank_points": (0,) * 11 + (5,), "neutral": 15},
    ],
)
@pytest.mark.parametrize("pack", ["french", "spanish"])
def test_other_decks_and_tables(rules, pack):
    games = GameBatch(ruleset(pack=pack, **rules), 1, seed=3)
    for _ in range(5):
        games.step(games.random_legal(games.decision_keys()))
        for seat in (None, *range(games.rules.num_seats)):
            assert drawn(games, seat).shape == (HEIGHT, WIDTH, 3)
            assert f"player_{games.rules.num_seats - 1}" in text_of(games, seat)


def test_rgb_array_of_the_environment():
    env = malilla_v0.env(render_mode="rgb_array")
    env.reset(seed=7)
    first = env.render()
    env.step(int(np.flatnonzero(env.last()[0]["action_mask"])[0]))
    assert env.render().shape == first.shape == (HEIGHT, WIDTH, 3)
    assert first.dtype == np.uint8
    assert not np.array_equal(first, env.render())


def test_pictures_need_pillow(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"pictures need Pillow: pip install 'malilla-env\[render\]', or use ansi"):
        drawn(game())
    assert text_of(game())


# --- whole records
def test_play_through_of_a_match():
    recorder = Recorder(GameBatch(ruleset(pack="spanish"), 1, seed=10))
    games = recorder.games
    recorder.misdeal([True])
    while not games.done[0]:
        recorder.step(games.random_legal(games.decision_keys()))
    (record,) = recorder.records()
    text = play_through(record)
    tricks = [line for line in text.splitlines() if line.count("player_") == 4 and "de " in line]
    assert len(tricks) == 10 * (len(record.hands) - 1)
    assert all(line.count("*") == 1 for line in tricks)
    assert text.count("a misdeal, the next player deals; score 0 - 0") == 1
    assert text.endswith(f": {games.match_score[0, 0]} - {games.match_score[0, 1]}\n")
    assert text.splitlines()[-1].startswith("player_0 + player_2 win the match (capote)")


def test_play_through_of_an_illegal_action():
    recorder = Recorder(GameBatch(ruleset("manille-encheres"), 1, seed=34))
    recorder.step([recorder.games.rules.action_names.index("bid-40")])
    recorder.step([recorder.games.rules.action_names.index("bid-39")])
    (record,) = recorder.records()
    said, closing, _, won = play_through(record).splitlines()[-4:]
    assert said.split(", ")[0].endswith(" bids 40")
    assert said.endswith(" bids 39, illegal")
    assert closing.startswith("illegal play by player_")
    assert "win the match" in won


def test_play_throughs_of_files(capsys, monkeypatch):
    paths = [str(GOLDEN / f"{name}.jsonl") for name in ("manille-2", "manille-3")]
    monkeypatch.setattr(sys, "argv", ["play_through", *paths])
    monkeypatch.delitem(sys.modules, "malilla_env.play_through")
    runpy.run_module("malilla_env.play_through", run_name="__main__")
    texts = [(GOLDEN / f"{name}.txt").read_text(encoding="utf-8") for name in ("manille-2", "manille-3")]
    assert capsys.readouterr().out == "\n".join(texts)


def test_play_through_of_a_wrong_file_is_one_line(tmp_path, monkeypatch):
    cut = tmp_path / "cut.jsonl"
    cut.write_text((GOLDEN / "manille-3.jsonl").read_text(encoding="utf-8")[:700], encoding="utf-8")
    monkeypatch.delitem(sys.modules, "malilla_env.play_through")
    for path, told in ((cut, "play_through: line 2: the text breaks off"), (tmp_path / "none", "No such file")):
        monkeypatch.setattr(sys, "argv", ["play_through", str(path)])
        with pytest.raises(SystemExit, match=told):
            runpy.run_module("malilla_env.play_through", run_name="__main__")
