"""Records: the frozen play-throughs by the engine and by the referee; exact round trips; and every way in which a text
can be wrong, with the line, the play and the reason that the error must name."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from referee import Referee

from malilla_env import GameBatch, record, ruleset
from malilla_env.record import Hand, Record, RecordError, entries, load, read, replay, save, write
from malilla_env.recorder import Recorder
from malilla_env.render import play_through

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(GOLDEN.glob("*.jsonl"))
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in FILES}


def names(path):
    return path.stem


def line(text, number):
    return json.loads(text.splitlines()[number - 1])


def picked(text, *numbers):
    """Some lines of a text."""
    lines = text.splitlines(keepends=True)
    return "".join(lines[number - 1] for number in numbers)


def results(played):
    return list(entries(played))


def changed(text, number, **fields):
    """The text, some fields of a line replaced."""
    lines = text.splitlines()
    lines[number - 1] = json.dumps({**json.loads(lines[number - 1]), **fields})
    return "".join(one + "\n" for one in lines)


def with_play(text, number, ply, play):
    plays = line(text, number)["plays"]
    plays[ply - 1] = play
    return changed(text, number, plays=plays)


def random_records(rules, num_games, seed, **settings):
    recorder = Recorder(GameBatch(rules, num_games, seed=seed, **settings))
    games = recorder.games
    recorder.misdeal(np.arange(num_games) % 3 == 0)
    while not games.done.all():
        recorder.step(games.random_legal(games.decision_keys(seed)))
    return games, recorder.records()


# --- the frozen play-throughs
@pytest.mark.parametrize("path", FILES, ids=names)
def test_golden_files_replay(path):
    records = load(path)
    assert records
    assert write(records) == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", FILES, ids=names)
def test_golden_files_by_the_referee(path):
    for played in load(path):
        _, *hands, result = entries(played)
        referee = Referee(played.rules, hands[0]["deal"].split(), hands[0]["dealer"], played.match_score)
        for before, hand in zip([None, *hands], hands, strict=False):
            if before:
                deal = referee.misdeal if before["end"] == "misdeal" else referee.next_hand
                deal(hand["deal"].split())
            assert referee.dealer == hand["dealer"]
            assert (referee.hand_number, referee.attempt) == (hand["hand"], hand["attempt"])
            assert referee.bonus + referee.waiting_bonus == hand["bonus"]
            assert bool(referee.waiting_bonus) == hand["waits"]
            for play in hand["plays"]:
                seat, card = play.split(":")
                assert int(seat) == referee.seat
                assert (card in referee.legal()) or (hand["end"] == "illegal" and play == hand["plays"][-1])
                referee.play(card)
            if hand["end"] == "played":
                assert referee.last_points == hand["points"]
                assert referee.last_tricks == hand["tricks"]
                if played.episode == "match":
                    assert referee.match_score == hand["score"]
        if played.episode == "match":
            assert referee.done
            assert referee.winner == result["winner"]
            assert (referee.zapato, referee.capote) == (result["zapato"], result["capote"])
            assert (None if referee.reneged == -1 else referee.reneged) == result["reneged"]


def test_golden_files_hold_what_they_are_kept_for():
    read_all = {name: [results(played) for played in read(text)] for name, text in TEXTS.items()}
    (capote,) = read_all["malilla-capote"]
    assert capote[-1]["capote"]
    assert capote[-2]["tricks"] in ([10, 0], [0, 10])
    added, ignored = read_all["malilla-waiting-bonus"]
    assert added[-2]["waits"]
    assert ignored[-2]["waits"]
    assert sum(added[-1]["score"]) == sum(added[-3]["score"]) + added[-2]["bonus"] + abs(added[-2]["points"][0] - 35)
    assert sum(ignored[-1]["score"]) == sum(ignored[-3]["score"]) + abs(ignored[-2]["points"][0] - 35)
    ((*_, zapato),) = read_all["malilla-zapato"]
    assert zapato["zapato"]
    assert 0 in zapato["score"]
    ((*_, illegal),) = read_all["malilla-illegal"]
    assert illegal["reneged"] is not None
    ((_, void, again, *_),) = read_all["malilla-misdeal"]
    assert void["end"] == "misdeal"
    assert void["bonus"] > 0
    assert void["score"] == [0, 0]
    assert (again["hand"], again["attempt"]) == (0, 1)
    long, short = read_all["malilla-70"]
    assert max(long[-1]["score"]) >= 70
    assert short[-1]["capote"]
    assert max(short[-1]["score"]) < 70
    assert len({played[0]["rules"]["undertrump"] for played in read_all["options"]}) == 3


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.txt")), ids=names)
def test_golden_play_throughs(path):
    (first, *_) = read(TEXTS[path.stem])
    assert play_through(first) == path.read_text(encoding="utf-8")


# --- round trips
@pytest.mark.parametrize(
    ("rules", "settings"),
    [
        (ruleset(), {}),
        (ruleset(), {"episode": "hand"}),
        (ruleset("malilla-70", undertrump="forced", protected="played", climb_over_partner=True), {}),
        (ruleset(teams=(0, 1, 2), removed=("2s",), neutral=24, pack="spanish"), {}),
        (ruleset(teams=(0, 1), rank_names="789TJQKA", rank_points=(0, 0, 0, 5, 1, 2, 3, 4), neutral=30), {}),
    ],
)
def test_round_trip(rules, settings):
    games, records = random_records(rules, 9, 14, **settings)
    text = write(records)
    assert read(text) == records
    assert write(read(text)) == text
    for lane, played in enumerate(records):
        (header, *hands, result) = entries(played)
        assert result["score"] == games.match_score[lane].tolist()
        assert result["winner"] == (None if games.winner[lane] == -1 else games.winner[lane])
        assert (hands[0]["end"] == "misdeal") == (lane % 3 == 0)
        assert header["rules"] == rules.to_dict()


def test_replay_shows_every_view_as_it_was():
    games = GameBatch(ruleset(), 1, seed=15)
    recorder, seen = Recorder(games), []
    recorder.misdeal([True])
    while not games.done[0]:
        seen.append(games.views())
        recorder.step(games.random_legal(games.decision_keys()))
    (played,) = recorder.records()
    again = [moment.games.views() for moment in replay(played) if not moment.over and played.hands[moment.hand].plays]
    assert len(again) == len(seen) > 100
    assert all((one == other).all() for one, other in zip(seen, again, strict=True))


def test_a_score_to_start_from():
    games = GameBatch(ruleset(), 4, seed=16)
    games.reset(match_score=[30, 7])
    recorder = Recorder(games)
    while not games.done.all():
        recorder.step(games.random_legal(games.decision_keys()))
    records = recorder.records()
    assert [played.match_score for played in records] == [(30, 7)] * 4
    assert read(write(records)) == records


def test_only_finished_games_give_records():
    games = GameBatch(ruleset(), 6, seed=17)
    recorder = Recorder(games)
    while not games.done.any():
        recorder.step(games.random_legal(games.decision_keys()))
    assert len(recorder.records()) == games.done.sum()
    with pytest.raises(ValueError, match="lane 0: the episode is under way"):
        Recorder(games)


def test_illegal_plays_are_recorded_too():
    games = GameBatch(ruleset(), 8, seed=18)
    recorder = Recorder(games)
    for _ in range(45):
        recorder.step(games.random_legal(games.decision_keys()))
    recorder.step(np.argmin(games.legal_actions(), axis=1))
    assert games.done.all()
    records = recorder.records()
    text = write(records)
    assert read(text) == records
    assert all(results(played)[-2]["end"] == "illegal" for played in records)
    assert [results(played)[-1]["reneged"] for played in records] == games.reneged.tolist()


def test_files(tmp_path):
    _, records = random_records(ruleset(), 3, 19)
    path = tmp_path / "matches.jsonl"
    save(path, records)
    assert load(path) == records
    assert path.read_bytes() == write(records).encode()
    with pytest.raises(RecordError):
        save(path, [replace(records[0], hands=records[0].hands[:1])])
    assert load(path) == records
    assert [entry.name for entry in tmp_path.iterdir()] == ["matches.jsonl"]


# --- what is wrong, and where
TEXT = TEXTS["malilla-misdeal"]  # line 1 header, 2 misdeal, 3 to 5 hands, 6 result
ILLEGAL = TEXTS["malilla-illegal"]  # line 1 header, 2 a hand, 3 the illegal one, 4 result
FIRST = line(TEXT, 3)["plays"]


def swapped_deal(text, number):
    cards = line(text, number)["deal"].split()
    cards[0], cards[1] = cards[1], cards[0]
    return changed(text, number, deal=" ".join(cards))


def reordered(text):
    header, rest = text.split("\n", 1)
    return json.dumps(dict(reversed(json.loads(header).items()))) + "\n" + rest


WRONG = {
    # what the rules do not allow
    "illegal play": (changed(ILLEGAL, 3, end="played"), 3, 18, "is illegal for seat"),
    "not on turn": (with_play(TEXT, 3, 1, "2:" + FIRST[0][2:]), 3, 1, "seat 2 plays, but seat"),
    "not in hand": (with_play(TEXT, 3, 1, FIRST[0][:2] + FIRST[1][2:]), 3, 1, "is illegal for seat"),
    "card twice": (with_play(TEXT, 3, 5, FIRST[4][:2] + FIRST[0][2:]), 3, 5, "is illegal for seat"),
    "no illegal play": (changed(TEXT, 5, end="illegal"), 5, None, "end is 'illegal', but the replay gives 'played'"),
    "plays in a misdeal": (changed(TEXT, 3, plays=FIRST[:1], end="misdeal"), 3, 2, "a misdeal is called before the first"),
    "no misdeal": (changed(TEXT, 2, end="played"), 2, 1, "the hand breaks off: seat"),
    "hand too short": (changed(TEXT, 3, plays=FIRST[:-1]), 3, 40, "the hand breaks off: seat"),
    "hand too long": (changed(TEXT, 3, plays=[*FIRST, FIRST[-1]]), 3, 41, "the hand was over"),
    "wrong dealer": (changed(TEXT, 3, dealer=(line(TEXT, 3)["dealer"] + 1) % 4), 3, None, "deals, but it was the turn"),
    "wrong first dealer": (changed(TEXT, 2, dealer=4), 2, None, "dealer 4 is not a seat 0..3"),
    "other deal": (swapped_deal(TEXT, 3), 3, 20, "illegal"),
    "score past the target": (changed(TEXT, 1, match_score=[35, 0]), 1, None, "must be below the target"),
    # what the replay gives otherwise
    "bonus": (changed(TEXT, 2, bonus=0), 2, None, "bonus is 0, but the replay gives"),
    "waits": (changed(TEXT, 2, waits=True), 2, None, "waits is True, but the replay gives False"),
    "attempt": (changed(TEXT, 3, attempt=0), 3, None, "attempt is 0, but the replay gives 1"),
    "hand number": (changed(TEXT, 4, hand=0), 4, None, "hand is 0, but the replay gives 1"),
    "points": (changed(TEXT, 4, points=[35, 35]), 4, None, r"points is \[35, 35\], but the replay gives"),
    "tricks": (changed(TEXT, 4, tricks=[11, -1]), 4, None, r"tricks is \[11, -1\]"),
    "score": (changed(TEXT, 5, score=[0, 0]), 5, None, r"score is \[0, 0\]"),
    "winner": (changed(TEXT, 6, winner=1), 6, None, "winner is 1, but the replay gives 0"),
    "zapato": (changed(TEXT, 6, zapato=True), 6, None, "zapato is True"),
    "capote": (changed(TEXT, 6, capote=True), 6, None, "capote is True"),
    "reneged": (changed(TEXT, 6, reneged=0), 6, None, "reneged is 0, but the replay gives None"),
    "result score": (changed(TEXT, 6, score=[1, 1]), 6, None, r"score is \[1, 1\]"),
    # what is no record
    "empty": ("", 1, None, "the text is empty"),
    "blank line": ("\n", 1, None, "not JSON"),
    "garbage": ("garbage\n", 1, None, "not JSON: Expecting value at column 1"),
    "not an object": ("[1, 2]\n", 1, None, r"a line must be an object, not \[1, 2\]"),
    "no line feed": (TEXT[:-1], 6, None, "breaks off: no line feed"),
    "cut in a line": (TEXT[: len(TEXT) // 2], 3, None, "breaks off: no line feed"),
    "no result": (picked(TEXT, 1, 2, 3, 4, 5), 6, None, "the record breaks off: its result is missing"),
    "header alone": (picked(TEXT, 1), 2, None, "its result is missing"),
    "no hands": (picked(TEXT, 1, 6), 2, None, "the record has no hand"),
    "a hand is missing": (picked(TEXT, 1, 2, 3, 5, 6), 4, None, "deals, but"),
    "the last hand is missing": (picked(TEXT, 1, 2, 3, 4, 6), 5, None, "the match is not over yet"),
    "a hand too many": (picked(TEXT, 1, 2, 3, 4, 5, 5, 6), 6, None, "the match was over"),
    "no header": (picked(TEXT, 2, 3, 4, 5, 6), 1, None, "a header has exactly the fields"),
    "something after it": (TEXT + "{}\n", 7, None, "a header has exactly the fields"),
    "a bad record after a good one": (TEXT + changed(TEXT, 6, winner=1), 12, None, "winner is 1"),
    "key twice": (TEXT.replace('"hand": 1,', '"hand": 1, "hand": 1,'), 4, None, "the key 'hand' stands twice"),
    "key missing": (TEXT.replace('"hand": 1, ', ""), 4, None, r"missing or unknown: \['hand'\]"),
    "key unknown": (changed(TEXT, 4, comment="well played"), 4, None, r"missing or unknown: \['comment'\]"),
    "not a number": (TEXT.replace('"bonus": ', '"bonus": NaN, "x": ', 1), 2, None, "NaN is no number"),
    "infinity": (changed(TEXT, 1, match_score=[0, float("inf")]), 1, None, "Infinity is no number"),
    "a number too large": (TEXT.replace('e": [0, 0]', f'e": [0, {"9" * 5000}]'), 1, None, "not JSON that"),
    "a score too large": (changed(TEXT, 1, match_score=[0, -(10**30)]), 1, None, "beyond 10,000"),
    "a score of bools": (changed(TEXT, 1, match_score=[False, False]), 1, None, "match_score must be 2 integers"),
    "one score": (changed(TEXT, 1, match_score=[0]), 1, None, "match_score must be 2 integers"),
    "deep": ("[" * 60_000 + "\n", 1, None, "not JSON"),
    "huge": ('{"format": "' + "x" * 10**6 + '"}\n', 1, None, "1,000,014 characters; a line of a record"),
    "format": (changed(TEXT, 1, format="malilla-record 3"), 1, None, "format is 'malilla-record 3', and only"),
    "an older format": (changed(TEXT, 1, format="malilla-record 1"), 1, None, "'malilla-record 1' is older than 'malilla-record 2'"),
    "episode": (changed(TEXT, 1, episode="game"), 1, None, "episode is 'game'; it must be one of match, hand"),
    "episode of a wrong type": (changed(TEXT, 1, episode=["match"]), 1, None, "episode is"),
    "rules": (changed(TEXT, 1, rules={"name": "malilla"}), 1, None, "rules: a rule set needs exactly the fields"),
    "rules of a wrong type": (changed(TEXT, 1, rules=3), 1, None, "rules: a rule set needs"),
    "a rule": (changed(TEXT, 1, rules={**line(TEXT, 1)["rules"], "target": 0}), 1, None, "rules: rule set: target 0"),
    "other rules": (changed(TEXT, 1, rules={**line(TEXT, 1)["rules"], "trick_points": 2}), 3, None, "points is"),
    "deal": (changed(TEXT, 3, deal="7s"), 3, None, "deal must be 40 cards of malilla, like '7s Ah', not '7s'"),
    "deal of a wrong type": (changed(TEXT, 3, deal=[1]), 3, None, "deal must be 40 cards"),
    "deal with a card twice": (changed(TEXT, 3, deal=" ".join(["7s"] * 40)), 3, None, "not the whole deck"),
    "deal with a strange card": (TEXT.replace('"deal": "', '"deal": "8s ', 1), 2, None, "deal must be 40 cards"),
    "plays of a wrong type": (changed(TEXT, 3, plays="7s"), 3, None, "plays must be a list"),
    "a strange play": (with_play(TEXT, 3, 9, "0:8s"), 3, 9, "'0:8s' is no play"),
    "a play of no seat": (with_play(TEXT, 3, 9, "4:7s"), 3, 9, "'4:7s' is no play"),
    "a play of a wrong type": (with_play(TEXT, 3, 9, 7), 3, 9, "7 is no play"),
    "a play in capitals": (with_play(TEXT, 3, 1, FIRST[0].upper()), 3, 1, "is no play"),
    "dealer of a wrong type": (changed(TEXT, 3, dealer="0"), 3, None, "dealer must be 1 integers"),
    "end": (changed(TEXT, 3, end="abandoned"), 3, None, "end is 'abandoned'; it must be one of played"),
    # what is right, but written otherwise
    "true for one": (changed(TEXT, 3, attempt=True), 3, None, "right, but not written as `write` does"),
    "a float": (changed(TEXT, 3, attempt=1.0), 3, None, "right, but not written"),
    "spaces": (TEXT.replace('"hand": 1', '"hand":  1'), 4, None, "right, but not written"),
    "other line feeds": (TEXT.replace("\n", "\r\n"), 1, None, "right, but not written"),
    "other order": (reordered(TEXT), 1, None, "right, but not written"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_errors_name_line_ply_and_reason(name):
    text, number, ply, reason = WRONG[name]
    with pytest.raises(RecordError, match=reason) as caught:
        read(text)
    assert (caught.value.line, caught.value.ply) == (number, ply)
    place = f"line {number}" + (f", ply {ply}" if ply else "")
    assert str(caught.value).startswith(f"{place}: ")
    assert len(str(caught.value)) < 800


def test_every_cut_is_noticed():
    for end in range(0, len(TEXT), 7):
        with pytest.raises(RecordError):
            read(TEXT[:end])


def test_no_change_of_a_character_passes():
    """Whatever is accepted is written again exactly: so a change is refused, or is a record of its own."""
    text = TEXTS["malilla-capote"]
    rng, refused = np.random.default_rng(20), 0
    for _ in range(400):
        at, letter = int(rng.integers(len(text))), chr(rng.integers(32, 127))
        other = text[:at] + letter + text[at + 1 :]
        try:
            again = write(read(other))
        except RecordError:
            refused += 1
        else:
            assert again == other
    assert refused > 350


def test_illegal_plays_that_raise_are_no_endings():
    rules = {**line(ILLEGAL, 1)["rules"], "illegal": "raise"}
    with pytest.raises(RecordError, match=r"^line 3, ply 18: .* is illegal; legal:"):
        read(changed(ILLEGAL, 1, rules=rules))


def test_files_that_are_none(tmp_path, monkeypatch):
    path = tmp_path / "odd.jsonl"
    path.write_bytes(TEXT.encode() + b'{"format": "\xff"}\n')
    with pytest.raises(RecordError, match=r"^line 7: this is no UTF-8 text"):
        load(path)
    monkeypatch.setattr(record, "LARGEST_FILE", 1000)
    with pytest.raises(ValueError, match="bytes; a file of records has 1,000 at most"):
        load(path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.jsonl")


def test_records_made_by_hand_are_checked_when_written():
    (played,) = read(TEXTS["malilla-capote"])
    (hand,) = played.hands
    wrong = [
        (replace(played, hands=()), "the record has no hand"),
        (replace(played, episode="game"), "episode 'game'"),
        (replace(played, hands=(replace(hand, cards=hand.cards[:39]),)), "could not broadcast|cards"),
        (replace(played, hands=(replace(hand, cards=(300, *hand.cards[1:])),)), "out of bounds"),
        (replace(played, hands=(replace(hand, plays=((hand.plays[0][0], 40), *hand.plays[1:])),)), "no action 40"),
        (replace(played, match_score=(0,)), "match_score must be integers of shape"),
        (Record(played.rules, "match", (0, 0), (hand, Hand(0, hand.cards, ()))), "the match was over"),
    ]
    for one, reason in wrong:
        with pytest.raises(RecordError, match=reason):
            write([one])
