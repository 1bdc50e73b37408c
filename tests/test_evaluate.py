"""evaluate.py as its user runs it: tables, files, and one line for every mistake."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import evaluate

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: one that holds modules of the user's own."""
    (tmp_path / "faulty_bots.py").write_text(
        "import numpy as np\n"
        "class Base:\n"
        "    name = 'faulty'\n"
        "    def __init__(self, rules): pass\n"
        "class Fails(Base):\n"
        "    def act(self, views, keys): return {}['card']\n"
        "class Floats(Base):\n"
        "    def act(self, views, keys): return np.zeros(len(views))\n"
        "class Zero(Base):\n"
        "    def act(self, views, keys): return np.zeros(len(views), int)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "faulty_bots", raising=False)
    return tmp_path


def mistake(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What is printed when the command line ends with exit code 2; nothing must be on stdout."""
    with pytest.raises(SystemExit) as ended:
        evaluate.main(list(arguments))
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    return err


def test_the_command_of_the_design(own_folder: Path) -> None:
    """As a process of its own, from another folder: table, JSON and report."""
    command = [sys.executable, str(ROOT / "evaluate.py"), "random", "heuristic", "random", "--ruleset", "malilla"]
    options = ["--deals", "200", "--seed", "10", "--matches", "5", "--json", "F.json", "--report", "F.html"]
    run = subprocess.run(command + options, cwd=own_folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    for shown in ("200 duplicate pairs", "random#2", "heuristic", "95% interval", "match wins", "Ratings"):
        assert shown in run.stdout
    figures = json.loads((own_folder / "F.json").read_text())
    first, same, third = figures["results"]
    assert (first["a"], first["b"], first["pairs"]) == ("random", "heuristic", 200)
    assert first["ci95"][1] < 0  # random loses
    assert (same["a"], same["b"], same["margin"], same["ci95"]) == ("random", "random#2", 0, [0, 0])
    assert third["margin"] == -first["margin"]
    assert [rating["agent"] for rating in figures["ratings"]] == ["random", "heuristic", "random#2"]
    assert figures["rules"]["name"] == "malilla"
    page = (own_folder / "F.html").read_text()
    assert "--deals 200 --seed 10 --matches 5" in page


def test_figures_do_not_depend_on_batch_size(own_folder: Path) -> None:
    for size in (3, 64):
        evaluate.main(["random", "heuristic", "--deals", "30", "--batch-size", f"{size}", "--json", f"{size}.json"])
    assert (own_folder / "3.json").read_text() == (own_folder / "64.json").read_text()


def test_the_rules_can_be_changed(own_folder: Path) -> None:
    overrides = ["--set", "target=70", "--set", "undertrump=forbidden", "--set", "dealer_bonus=false"]
    evaluate.main(["random", "heuristic", "--deals", "5", *overrides, "--json", "f.json"])
    rules = json.loads((own_folder / "f.json").read_text())["rules"]
    assert (rules["target"], rules["undertrump"], rules["dealer_bonus"]) == (70, "forbidden", False)


def test_illegal_plays_are_shown_and_lose(own_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate.main(["faulty_bots:Zero", "random", "--deals", "20", "--json", "f.json"])
    out = " ".join(capsys.readouterr().out.split())
    assert "illegal plays" in out
    assert "faulty_bots:Zero made 40 illegal plays, each a lost game; the first: player 'faulty_bots:Zero' in" in out
    (result,) = json.loads((own_folder / "f.json").read_text())["results"]
    assert (result["margin"], result["win_rate"], result["reneges"]) == (-35, 0, [40, 0])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["random"], "a comparison needs two players or more, not 1"),
        ([], "a comparison needs two players or more, not 0"),
        (["random", "mallila"], "unknown player 'mallila': choose one of random, heuristic"),
        (["random", "runs/none"], "player 'runs/none': there is no such file or folder"),
        (["random", "faulty_bots:Fails"], "player 'faulty_bots:Fails' failed: KeyError: 'card' ("),
        (["random", "faulty_bots:Floats"], "player 'faulty_bots:Floats': act(views, keys) must return"),
        (["random", "faulty_bots:Missing"], "faulty_bots has no function or class 'Missing'"),
        (["random", "random", "--ruleset", "mala"], "unknown rule set 'mala': choose one of malilla, malilla-70"),
        (["random", "random", "--set", "target"], "'target' changes no field of a rule set: write FIELD=VALUE"),
        (["random", "random", "--set", "aim=3"], "unknown rule set field 'aim': choose among"),
        (["random", "random", "--set", "target=0"], "target 0 must be 1 to 1000"),
        (["random", "random", "--deals", "1"], "an interval needs 2 duplicate pairs or more"),
        (["random", "random", "--batch-size", "0"], "must be 1 or more"),
        (["random", "random", "--seed", "-1"], "seed -1 must be 0"),
        (["random", "random", "--json", "no/folder/f.json"], "cannot write no/folder/f.json: name a file in"),
        (["random", "random", "--report", "."], "cannot write .: name a file"),
    ],
)
def test_a_mistake_is_told_in_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    told = mistake(capsys, *arguments)
    assert told.startswith("evaluate.py: ")
    assert said in told
    assert told.count("\n") == 1


def test_a_wrong_number_names_its_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--deals" in mistake(capsys, "random", "random", "--deals", "many")


def test_a_failed_comparison_leaves_no_file(own_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(os.listdir(own_folder))
    mistake(capsys, "random", "faulty_bots:Fails", "--json", "f.json", "--report", "f.html")
    assert [name for name in sorted(os.listdir(own_folder)) if name != "__pycache__"] == before
