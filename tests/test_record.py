"""Records: exact round trips in every rule set, replays equal to the games as they were played; and every way in which
a text can be wrong, with the line, the play and the reason that the error must name."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from malilla_env import GameBatch, record, ruleset
from malilla_env.record import Hand, Record, RecordError, entries, load, read, replay, save, write
from malilla_env.recorder import Recorder
from malilla_env.rules import PRESETS
from malilla_env.state import BID, STATE

GOLDEN = Path(__file__).parent / "golden"
FILES = sorted(GOLDEN.glob("*.jsonl"))
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in FILES}


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


def some_actions(games, seed):
    """Legal actions at random, but that bidding is left to chance half the time: so that some deals are passed out."""
    keys = games.decision_keys(seed)
    actions = games.random_legal(keys)
    passing = (games.phase == BID) & (keys % np.uint64(5) > 0)
    return np.where(passing, np.argmax(games.legal_actions(), axis=1), actions)


def random_records(rules, num_games, seed, **settings):
    recorder = Recorder(GameBatch(rules, num_games, seed=seed, **settings))
    games = recorder.games
    recorder.misdeal(np.arange(num_games) % 3 == 0)
    while not games.done.all():
        recorder.step(some_actions(games, seed))
    return games, recorder.records()


GAMES = {
    **PRESETS,
    "short climbing": ruleset("malilla-70", undertrump="forced", protected="played", climb_over_partner=True),
    "three": ruleset(teams=(0, 1, 2), removed=("2s",), neutral=24, pack="spanish"),
    "two": ruleset(teams=(0, 1), rank_names="789TJQKA", rank_points=(0, 0, 0, 5, 1, 2, 3, 4), neutral=30),
    "many new deals": ruleset("malilla-zone", redeal=4, albur=5),
    "loser pays": ruleset("manille", target=50, loser_pays=True, redeal_level=True, packets=(4, 4)),
    "last trick": ruleset("manille", target=50, last_trick_bonus=1, climb_over_partner=False),
    "talk after asks": ruleset("manille-parlee", redeal=4, target=50),
    "no trump": ruleset("manille", trump="none", target=50),
}


# --- round trips
@pytest.mark.parametrize("episode", ["match", "hand"])
@pytest.mark.parametrize("name", GAMES)
def test_round_trip(name, episode):
    rules = GAMES[name]
    games, records = random_records(rules, 2, 14, episode=episode)
    assert read(write(records)) == records
    for lane, played in enumerate(records):
        (header, *hands, result) = entries(played)
        assert result["score"] == games.match_score[lane].tolist()
        assert result["winner"] == (None if games.winner[lane] == -1 else games.winner[lane])
        assert (hands[0]["end"] == "misdeal") == (lane % 3 == 0)
        assert header["rules"] == rules.to_dict()
        assert (header["albur"] is not None) == (rules.albur > 0 and episode == "match")


OF_THE_SEED = ("stream", "stream_key", "hand_key", "episode")
OF_THE_GAME = [name for name in STATE.names if name not in OF_THE_SEED]
RESULTS = ("hand_over", "done", "winner", "zapato", "capote", "reneged", "hand_number", "attempt", "dealer")
BY_SIDE = ("last_points", "last_tricks", "last_score_change")


@pytest.mark.parametrize("episode", ["match", "hand"])
@pytest.mark.parametrize("name", GAMES)
def test_replay_is_the_game_as_it_was(name, episode):
    """Every field of the state before each play, and the results after each hand; only the keys are others."""
    games = GameBatch(GAMES[name], 1, seed=15, episode=episode)
    recorder, seen, after = Recorder(games), [games.state.copy()], []
    recorder.misdeal([True])
    after.append(games.state.copy())
    while not games.done[0]:
        seen.append(games.state.copy())
        recorder.step(some_actions(games, 15))
        after.append(games.state.copy())
    (played,) = recorder.records()
    plays = 0
    for moment in replay(played):
        state = moment.games.state
        if moment.over:
            live = after[plays - 1]
            assert all((state[field] == live[field]).all() for field in (*RESULTS, *BY_SIDE))
        else:
            assert [field for field in OF_THE_GAME if (state[field] != seen[plays][field]).any()] == []
            plays += 1
    assert plays == len(seen)
    assert (moment.games.match_score == games.match_score).all()


def test_every_end_is_recorded():
    records = [played for name in GAMES for played in random_records(GAMES[name], 4, 14, episode="hand")[1]]
    records += random_records(GAMES["manille-encheres"], 8, 14)[1]
    ends = {hand.end for played in records for hand in played.hands}
    assert ends == {"played", "misdeal", "redeal", "passed"}
    assert sum(len(pairs(played, "redeal")) for played in records) > 2
    assert sum(len(pairs(played, "passed")) for played in records) > 2
    assert all(hand.dealer == again.dealer for played in records for hand, again in pairs(played, "redeal"))
    assert all(hand.dealer != again.dealer for played in records for hand, again in pairs(played, "passed"))


def pairs(played, end):
    """The hands that ended so, each with the next."""
    return [(hand, again) for hand, again in zip(played.hands, played.hands[1:], strict=False) if hand.end == end]


def test_misdeals_keep_what_was_said_before_them():
    games = GameBatch(ruleset("manille-encheres"), 1, seed=21)
    recorder = Recorder(games)
    for _ in range(3):
        recorder.step(np.argmax(games.legal_actions(), axis=1))
    recorder.misdeal([True])
    while not games.done[0]:
        recorder.step(some_actions(games, 21))
    (played,) = recorder.records()
    assert played.hands[0].end == "misdeal"
    assert len(played.hands[0].plays) == 3
    assert read(write([played])) == [played]


def test_a_match_in_which_nobody_bids():
    recorder = Recorder(GameBatch(ruleset("manille-encheres"), 1, seed=22))
    while not recorder.games.done[0]:
        recorder.step(np.argmax(recorder.games.legal_actions(), axis=1))
    (played,) = recorder.records()
    assert {hand.end for hand in played.hands} == {"passed"}
    assert results(played)[-1]["winner"] is None
    assert read(write([played])) == [played]


def test_the_score_to_start_from_is_that_before_albur_and_bonus():
    games = GameBatch(ruleset("malilla-albur"), 40, seed=23)
    starts = np.stack([np.arange(40) % 35, np.arange(40) * 7 % 35], axis=1)
    games.reset(match_score=starts)
    assert (games.match_score != starts).any()
    assert (games.waiting_albur > 0).any()
    recorder = Recorder(games)
    while not games.done.all():
        recorder.step(some_actions(games, 23))
    records = recorder.records()
    assert [list(played.match_score) for played in records] == starts.tolist()
    assert read(write(records)) == records
    assert [results(played)[-1]["score"] for played in records] == games.match_score.tolist()


def test_matches_without_their_albur():
    games = GameBatch(ruleset("malilla-albur"), 1, seed=24)
    games.reset(albur=[-1, -1])
    recorder = Recorder(games)
    while not games.done.all():
        recorder.step(some_actions(games, 24))
    (played,) = recorder.records()
    assert played.albur == ()
    assert results(played)[0]["albur"] is None
    assert read(write([played])) == [played]


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


@pytest.mark.parametrize("name", ["malilla-redeal", "manille-encheres", "manille-parlee"])
def test_illegal_actions_of_other_phases_too(name):
    for card in (True, False):
        recorder = Recorder(GameBatch(ruleset(name), 4, seed=25))
        legal = recorder.games.legal_actions()
        last = legal.shape[1] - 1 - np.argmin(legal[:, ::-1], axis=1)
        recorder.step(np.zeros(4, int) if card else last)
        records = recorder.records()
        assert len(records) == 4
        assert read(write(records)) == records
        assert {hand.end for played in records for hand in played.hands} == {"illegal"}


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
REDEAL = TEXTS["malilla-redeal"]  # line 1 header, 2 the deal called off, 3 a hand, 4 result
ALBUR = TEXTS["malilla-albur"]  # line 1 header, 2 a hand, 3 result
BIDS = TEXTS["manille-encheres"]  # line 1 header, 2 passed out, 3 a hand, 4 result
TALK = TEXTS["manille-parlee"]
ILLEGAL = TEXTS["malilla-illegal"]  # line 1 header, 2 a hand, 3 the illegal one, 4 result
FIRST = line(TEXT, 3)["plays"]
SEATS = [play[0] for play in line(BIDS, 2)["plays"]]


def bids(*names):
    """The auction that was passed out, with other actions."""
    return changed(BIDS, 2, plays=[f"{seat}:{name}" for seat, name in zip(SEATS + SEATS, names, strict=False)])


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
    "plays in a misdeal": (changed(TEXT, 3, plays=FIRST[:1], end="misdeal"), 3, 2, "a misdeal is called before"),
    "no misdeal": (changed(TEXT, 2, end="played"), 2, 1, "the hand breaks off: seat"),
    "hand too short": (changed(TEXT, 3, plays=FIRST[:-1]), 3, 40, "the hand breaks off: seat"),
    "hand too long": (changed(TEXT, 3, plays=[*FIRST, FIRST[-1]]), 3, 41, "the hand was over"),
    "wrong dealer": (changed(TEXT, 3, dealer=(line(TEXT, 3)["dealer"] + 1) % 4), 3, None, "deals, but it was the turn"),
    "wrong first dealer": (changed(TEXT, 2, dealer=4), 2, None, "dealer 4 is not a seat 0..3"),
    "other deal": (swapped_deal(TEXT, 3), 3, 20, "illegal"),
    "score past the target": (changed(TEXT, 1, match_score=[35, 0]), 1, None, "must be below the target"),
    "a false statement": (with_play(TALK, 2, 1, line(TALK, 2)["plays"][0][:2] + "holds-8-hearts"), 2, 1, "is illegal"),
    "too low a bid": (bids("bid-40", "bid-40"), 2, 2, "bid-40 is illegal for seat .; legal: pass bid-41"),
    "no bid": (bids("trump-hearts"), 2, 1, "trump-hearts is illegal for seat .; legal: pass bid-31"),
    "after all have passed": (bids(*["pass"] * 5), 2, 5, "the hand was over"),
    "a bidder not on turn": (with_play(BIDS, 2, 2, SEATS[2] + ":pass"), 2, 2, f"seat {SEATS[2]} plays, but seat"),
    "passed and played": (changed(BIDS, 2, end="played"), 2, None, "end is 'played', but the replay gives 'passed'"),
    "passed and misdealt": (changed(BIDS, 2, end="misdeal"), 2, None, "'misdeal', but the replay gives 'passed'"),
    "a new deal, passed": (changed(REDEAL, 2, end="passed"), 2, None, "end is 'passed', but the replay gives 'redeal'"),
    "no new deal": (changed(REDEAL, 2, plays=line(REDEAL, 2)["plays"][:-1]), 2, 5, "the hand breaks off: seat"),
    "a new deal by another": (changed(REDEAL, 3, dealer=line(REDEAL, 3)["dealer"] ^ 1), 3, None, "but it was the turn"),
    "an albur not drawn": (changed(ALBUR, 1, albur=None), 2, 1, "plays, but seat"),
    "a level albur": (changed(ALBUR, 1, albur="7s 7h"), 1, None, "two cards of unequal strength in the deck"),
    "an albur of one card": (changed(ALBUR, 1, albur="7s"), 1, None, "albur must be 2 cards of malilla-albur"),
    "an albur of a wrong type": (changed(ALBUR, 1, albur=[39, 2]), 1, None, "albur must be 2 cards"),
    "an albur of no card": (changed(ALBUR, 1, albur="7s 8h"), 1, None, "albur must be 2 cards"),
    "an albur where there is none": (changed(TEXT, 1, albur="7s 6h"), 1, None, "the rule set must have one"),
    # what the replay gives otherwise
    "the albur's points": (changed(ALBUR, 2, score=[32, 0]), 2, None, r"score is \[32, 0\], but the replay gives"),
    "the attempt after it": (changed(REDEAL, 3, attempt=0), 3, None, "attempt is 0, but the replay gives 1"),
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
    "an older format": (changed(TEXT, 1, format="malilla-record 1"), 1, None, "'malilla-record 1' is older than"),
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
    "no such statement": (with_play(TALK, 2, 1, "3:holds-9-hearts"), 2, 1, "'3:holds-9-hearts' is no play"),
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
        (replace(played, albur=(300, 2)), "albur"),
        (replace(played, albur=(1,)), "albur must be two card ids"),
    ]
    for one, reason in wrong:
        with pytest.raises(RecordError, match=reason):
            write([one])
