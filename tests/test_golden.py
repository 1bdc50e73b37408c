"""The frozen play-throughs of tests/golden: by the engine, by the referee, as text, and what each is kept for."""

from pathlib import Path

import pytest
from referee import Referee

from malilla_env.play_through import play_through
from malilla_env.record import entries, load, read, write
from malilla_env.rules import PRESETS

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(GOLDEN.glob("*.jsonl"))
READ_ALL = {path.stem: [list(entries(played)) for played in load(path)] for path in FILES}


def stem(path):
    return path.stem


def plays(hand):
    """The names of a hand's actions in order."""
    return [play.split(":")[1] for play in hand["plays"]]


def ends(played):
    return [hand["end"] for hand in played[1:-1]]


# --- all of them
@pytest.mark.parametrize("name", PRESETS)
def test_every_rule_set_has_one(name):
    assert {played[0]["rules"]["name"] for played in READ_ALL[name]} == {name}
    assert PRESETS[name].to_dict() == READ_ALL[name][0][0]["rules"]
    assert (GOLDEN / f"{name}.txt").exists()


def test_the_readme_names_each_file():
    lines = (GOLDEN / "README.md").read_text(encoding="utf-8").splitlines()
    named = [line.split("`")[1] for line in lines if line.startswith("| `")]
    assert sorted(named) == sorted(path.stem for path in FILES)


@pytest.mark.parametrize("path", FILES, ids=stem)
def test_they_replay(path):
    text = path.read_text(encoding="utf-8")
    assert write(read(text)) == text


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.txt")), ids=stem)
def test_texts_are_those_of_the_records(path):
    records = load(path.with_suffix(".jsonl"))
    assert "\n".join(map(play_through, records)) == path.read_text(encoding="utf-8")


# --- by the referee
@pytest.mark.parametrize("path", FILES, ids=stem)
def test_by_the_referee(path):
    for played in load(path):
        header, *hands, result = entries(played)
        albur = (header["albur"] or "").split()
        referee = Referee(played.rules, hands[0]["deal"].split(), hands[0]["dealer"], played.match_score, albur=albur)
        for before, hand in zip([None, *hands], hands, strict=False):
            if before:
                deal_next(referee, before["end"], hand["deal"].split())
            follow(referee, hand, played.episode)
        if played.episode == "match":
            check_result(referee, result)


def deal_next(referee, end, order):
    deals = {"misdeal": referee.misdeal, "redeal": referee.deal_again, "passed": referee.deal_again}
    deals.get(end, referee.next_hand)(order)


def follow(referee, hand, episode):
    """Play a hand of a record with the referee, and compare what the record says of it."""
    assert (referee.dealer, referee.hand_number, referee.attempt) == (hand["dealer"], hand["hand"], hand["attempt"])
    assert referee.bonus + referee.waiting_bonus == hand["bonus"]
    assert bool(referee.waiting_bonus) == hand["waits"]
    for ply, play in enumerate(hand["plays"]):
        seat, action = play.split(":")
        assert int(seat) == referee.seat
        assert action in referee.legal() or (hand["end"] == "illegal" and ply + 1 == len(hand["plays"]))
        referee.play(action)
    assert referee.void == (hand["end"] in ("redeal", "passed"))
    assert (referee.reneged >= 0) == (hand["end"] == "illegal")
    if hand["end"] == "played":
        assert (referee.last_points, referee.last_tricks) == (hand["points"], hand["tricks"])
    if hand["end"] != "misdeal" and (episode == "match" or not referee.done):
        assert referee.match_score == hand["score"]


def check_result(referee, result):
    assert referee.done
    assert referee.winner == result["winner"]
    assert (referee.zapato, referee.capote) == (result["zapato"], result["capote"])
    assert (None if referee.reneged == -1 else referee.reneged) == result["reneged"]


# --- what they are kept for
def test_capote_and_zapato():
    (capote,) = READ_ALL["malilla-capote"]
    assert capote[-1]["capote"]
    assert capote[-2]["tricks"] in ([10, 0], [0, 10])
    ((*_, zapato),) = READ_ALL["malilla-zapato"]
    assert zapato["zapato"]
    assert 0 in zapato["score"]


def test_a_bonus_that_waits():
    added, ignored = READ_ALL["malilla-waiting-bonus"]
    assert added[-2]["waits"]
    assert ignored[-2]["waits"]
    assert sum(added[-1]["score"]) == sum(added[-3]["score"]) + added[-2]["bonus"] + abs(added[-2]["points"][0] - 35)
    assert sum(ignored[-1]["score"]) == sum(ignored[-3]["score"]) + abs(ignored[-2]["points"][0] - 35)


def test_misdeal_and_illegal_play():
    ((*_, illegal),) = READ_ALL["malilla-illegal"]
    assert illegal["reneged"] is not None
    ((_, void, again, *_),) = READ_ALL["malilla-misdeal"]
    assert void["end"] == "misdeal"
    assert void["bonus"] > 0
    assert void["score"] == [0, 0]
    assert (again["hand"], again["attempt"]) == (0, 1)


def test_long_games_and_options():
    long, short = READ_ALL["malilla-70"]
    assert max(long[-1]["score"]) >= 70
    assert short[-1]["capote"]
    assert max(short[-1]["score"]) < 70
    assert len({played[0]["rules"]["undertrump"] for played in READ_ALL["options"]}) == 3


def test_new_deals():
    agreed, refused = READ_ALL["malilla-redeal"]
    assert ends(agreed) == ["redeal", "played"]
    assert plays(agreed[1])[-2:] == ["ask", "agree"]
    assert agreed[1]["bonus"] > 0
    assert agreed[1]["score"] == [0, 0]
    assert agreed[2]["dealer"] == agreed[1]["dealer"]
    assert ends(refused) == ["played"]
    assert "refuse" in plays(refused[1])
    (zone,) = READ_ALL["malilla-zone-70"]
    assert ends(zone) == ["redeal", "played"]


def test_albur():
    drawn, waiting = READ_ALL["malilla-albur"]
    leader, dealer = int(drawn[1]["plays"][0][0]), drawn[1]["dealer"]
    assert leader == dealer
    assert waiting[0]["match_score"] == [31, 31]
    assert waiting[1]["waits"]
    assert len(waiting) == 3


def test_a_seven_of_a_suit_that_was_played_and_never_led():
    ((_, hand, _),) = READ_ALL["malilla-zone"]
    cards = [name for name in plays(hand) if name != "pass"]
    tricks = [cards[at : at + 4] for at in range(0, 40, 4)]
    trump = hand["deal"][-1]
    found = []
    for number, (led, *rest) in enumerate(tricks):
        leads = {trick[0][1] for trick in tricks[: number + 1]}
        found += [card for card in rest if card[0] == "7" and card[1] not in (leads | {trump, led[1]})]
    assert found


def test_words_at_the_table():
    ((_, talk, _),) = READ_ALL["manille-parlee"]
    said = [name.split("-") for name in plays(talk) if name.startswith("holds")]
    assert {len(words) for words in said} == {2, 3}
    assert any(words[1] == "0" for words in said)
    made, failed, level = READ_ALL["manille-encheres"]
    assert ends(made) == ["passed", "played"]
    assert made[2]["dealer"] == (made[1]["dealer"] + 1) % 4
    assert sum(name.startswith("bid") for name in plays(failed[1])) >= 3
    assert max(failed[1]["points"]) - 30 != max(failed[1]["score"])
    assert ends(level) == ["passed"]
    assert level[-1]["winner"] is None


def test_three_and_two_players():
    two_score, past = READ_ALL["manille-3"]
    assert sum(points > 20 for points in two_score[1]["points"]) == 2
    assert sum(score >= 101 for score in past[-1]["score"]) == 2
    ((_, dead, _),) = READ_ALL["manille-3-dead"]
    assert sum(dead["points"]) < 60
    ((_, piles, _),) = READ_ALL["manille-2"]
    assert len(piles["plays"]) == 32
