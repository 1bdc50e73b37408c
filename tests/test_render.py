"""The table as text and as a picture: what a person must find there, in both packs, and that nothing hidden shows."""

import sys
from pathlib import Path

import numpy as np
import pytest

from malilla_env import GameBatch, malilla_v0, ruleset
from malilla_env.cards import parse_cards
from malilla_env.deals import deal_dtype
from malilla_env.record import load, replay
from malilla_env.recorder import Recorder
from malilla_env.render import HEIGHT, WIDTH, hand_words, news, play_through, table_image, table_text

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
    view = games.views(seat or 0)[0]
    return table_text(games.rules, view, games.hands[0] if seat is None else None, note)


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

last trick: player_3 7♠, player_0 6♠, player_1 3♠, player_2 Q♠; taken by player_3"""
    )


def test_text_of_a_table_in_spanish():
    assert text_of(game(PLAYS, pack="spanish")).splitlines()[8:] == [
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
    golden = Path(__file__).parent / "golden" / "malilla-capote.jsonl"
    *_, last = replay(load(golden)[0])
    assert news(last.games).splitlines()[-1] == "player_0 + player_2 win the match (capote, zapato): 35 - 0"


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


# --- pictures
def picture(games, seat=None, note=""):
    view = games.views(seat or 0)[0]
    return table_image(games.rules, view, games.hands[0] if seat is None else None, note)


def differ(one, other):
    """Whether a person would see it."""
    return one.shape == other.shape and (one != other).any(axis=2).sum() > 300


def test_pictures():
    one, again = picture(game(PLAYS)), picture(game(PLAYS))
    assert one.shape == (HEIGHT, WIDTH, 3)
    assert one.dtype == np.uint8
    assert np.array_equal(one, again)
    assert differ(one, picture(game(PLAYS[:-3])))
    assert differ(one, picture(game(PLAYS, pack="spanish")))
    assert differ(one, picture(game(PLAYS), seat=2))
    assert differ(one, picture(game(PLAYS), note="hand over"))


def test_pictures_of_one_seat_hide_the_other_hands():
    """The cards of two others change places: nothing of it is seen."""
    cards = ORDER.split()
    cards[1], cards[2] = cards[2], cards[1]
    here, there = game(), game(order=" ".join(cards))
    assert not np.array_equal(picture(here), picture(there))
    assert np.array_equal(picture(here, seat=0), picture(there, seat=0))
    assert text_of(here, seat=0) == text_of(there, seat=0)
    assert text_of(here) != text_of(there)


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
            assert picture(games, seat).shape == (HEIGHT, WIDTH, 3)
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
        picture(game())
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
    assert text.count("misdeal; score 0 - 0") == 1
    assert text.endswith(f": {games.match_score[0, 0]} - {games.match_score[0, 1]}\n")
    assert text.splitlines()[-1].startswith("player_0 + player_2 win the match (capote)")
