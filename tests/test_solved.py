"""`python -m malilla_env.solver`: records and deals solved, as text."""

import re
import runpy
import sys
import warnings
from pathlib import Path

import pytest

from malilla_env import deal, ruleset
from malilla_env.cards import card_name
from malilla_env.play_through import tables
from malilla_env.record import entries, load
from malilla_env.solved import costs, main, texts
from malilla_env.solver import Solver

GOLDEN = Path(__file__).parent / "golden"
FILES = [path for path in sorted(GOLDEN.glob("*.jsonl")) if load(path)[0].rules.num_seats == 4]
LONG = ("options", "malilla-70", "malilla-waiting-bonus")
MALILLA = ruleset("malilla")


def printed(capsys, *arguments: str) -> list[str]:
    main(list(arguments))
    return capsys.readouterr().out.splitlines()


def refused(capsys, *arguments: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    out, told = capsys.readouterr()
    assert stop.value.code == 2
    assert not out
    assert told.startswith("solver: ")
    assert told.count("\n") == 1
    return told


# --- records
def check_file(path: Path) -> None:
    """Every hand has its best play, and every played one its sums."""
    text = "\n".join(texts([str(path)]))
    records = load(path)
    hands = [entry for record in records for entry in list(entries(record))[1:-1]]
    assert len(re.findall(r"^hand \d+", text, re.M)) == len(hands)
    assert len(re.findall("^best play: ", text, re.M)) == sum(hand["end"] != "passed" for hand in hands)
    assert len(re.findall("^given away: ", text, re.M)) == sum(bool(hand["plays"]) for hand in hands)


@pytest.mark.parametrize("path", [path for path in FILES if path.stem not in LONG], ids=lambda path: path.stem)
def test_golden_records(path):
    check_file(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_long_golden_records(name):
    check_file(GOLDEN / f"{name}.jsonl")


@pytest.mark.parametrize("name", ["malilla", "manille-parlee", "manille-encheres", "malilla-albur"])
def test_what_was_given_away_is_what_the_points_moved_by(name):
    for record in load(GOLDEN / f"{name}.jsonl"):
        solver, (_, *hands, _) = Solver(record.rules, threads=1), entries(record)
        for hand, entry, rows in zip(record.hands, hands, tables(record)[0], strict=True):
            if entry["end"] != "played":
                continue
            found = costs(solver, hand, rows)
            assert all(lost is None or lost >= 0 for lost in found.given)
            assert sum(lost is not None for lost in found.given) == record.rules.num_cards
            lost = found.by_seat(hand, 4)
            first = next(points for points in found.ahead if points is not None)
            shift = lost[1] + lost[3] - lost[0] - lost[2]
            assert entry["points"] == [first[0] + shift, first[1] - shift]


def test_an_illegal_play_is_named_and_costs_nothing(capsys):
    lines = printed(capsys, str(GOLDEN / "malilla-illegal.jsonl"), "--hand", "2")
    assert sum(line.startswith("hand ") for line in lines) == 1
    assert any(line.startswith("     5  ") and line.endswith("illegal") for line in lines)
    assert any(line.startswith("illegal play by player_3") for line in lines)
    (sums,) = (line for line in lines if line.startswith("given away: "))
    marked = [int(cost) for line in lines[lines.index("as played:") :] for cost in re.findall(r" -(\d+)", line)]
    assert sum(map(int, re.findall(r"player_\d (\d+)", sums))) == sum(marked)


def test_a_hand_that_all_pass_has_nothing_to_solve(capsys):
    lines = printed(capsys, str(GOLDEN / "manille-encheres.jsonl"), "--hand", "1")
    assert "trump was never named: there is nothing to solve" in lines


# --- deals
def cards_of(rules, seed, place):
    return " ".join(card_name(rules, card) for card in deal(rules, seed, [place])["cards"][0])


def test_deals_by_seed_and_by_cards_are_the_same(capsys):
    dealer = int(deal(MALILLA, 7, [3])["dealer"][0])
    by_seed = printed(capsys, "7:3")
    assert printed(capsys, cards_of(MALILLA, 7, 3), "--dealer", str(dealer)) == by_seed
    assert printed(capsys, *cards_of(MALILLA, 7, 3).split(), "--dealer", str(dealer)) == by_seed
    assert printed(capsys, cards_of(MALILLA, 7, 3)) != by_seed  # seat 0 deals
    assert by_seed[0].startswith("malilla, a hand: player_0 + player_2 against")
    tricks = by_seed[by_seed.index(next(line for line in by_seed if line.startswith("best play: "))) + 1 :]
    assert len(tricks) == 10
    assert by_seed[-11].removeprefix("best play: ") == re.search(r"\d+ - \d+$", tricks[-1])[0]


@pytest.mark.parametrize("name", ["malilla-redeal", "manille-parlee", "malilla-espanola"])
def test_deals_of_other_games(capsys, name):
    lines = printed(capsys, "7:3", "--ruleset", name)
    assert lines[0].startswith(f"{name}, a hand")
    assert sum("*" in line for line in lines) == ruleset(name).num_tricks


def test_fields_and_trump(capsys):
    lines = printed(capsys, "7:3", "--ruleset", "manille-encheres", "--trump", "hearts", "--set", "last_trick_bonus=1")
    assert "trump hearts" in lines
    (best,) = (line for line in lines if line.startswith("best play: "))
    assert sum(map(int, re.findall(r"\d+", best))) == 61


# --- what is refused
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["no_such_file.jsonl"], "No such file or directory: 'no_such_file.jsonl'"),
        (["7s 4d"], "a deal of malilla has 40 cards, and these are 2"),
        (["7s 4x"], "'4x' is not a card of malilla"),
        ([" ".join(["7s"] * 40)], "deal 0 is not the whole deck: it lacks 2s"),
        (["7:3", "--ruleset", "manille-3"], "manille-3 has the sides (0, 1, 2)"),
        (["7:3", "--ruleset", "malila"], "unknown rule set 'malila'"),
        (["7:3", "--set", "target"], "'target' changes no field"),
        (["7:3", "--set", "goal=3"], "unknown rule set field 'goal'"),
        (["7:3", "--dealer", "4"], "argument --dealer: invalid choice: 4"),
        (["7:3", "--hand", "1"], "--hand 1: a deal is one hand"),
        (["7:3", "--trump", "hearts"], "in malilla nobody names trump, it is turned"),
        (["7:3", "--ruleset", "manille-encheres"], "trump is named after the deal: say which, --trump spades|hearts"),
        (["99999999999999999999:3"], "seed 99999999999999999999 must be 0 to 2**64 - 1"),
        (["7:99999999999999999999"], "deal id 99999999999999999999 must be less than 2**63"),
        ([], "the following arguments are required: RECORD_OR_DEAL"),
        ([str(GOLDEN / "manille-3.jsonl")], "manille-3 has the sides (0, 1, 2)"),
        ([str(GOLDEN / "malilla.jsonl"), "--hand", "7"], "--hand 7: the hands are 1 to 1"),
        ([str(GOLDEN / "malilla.jsonl"), "--dealer", "1"], "--dealer is for deals: a record tells its own"),
        ([str(GOLDEN / "malilla.txt")], "line 1: not JSON"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(capsys, arguments, told):
    assert told in refused(capsys, *arguments)


def test_as_a_program(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["solver", "7:3", "--ruleset", "manille"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the module is loaded already
        runpy.run_module("malilla_env.solver", run_name="__main__")
    assert capsys.readouterr().out.startswith("manille, a hand")
