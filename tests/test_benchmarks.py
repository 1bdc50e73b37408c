"""Every benchmark runs, at a size too small to mean anything: no times are asserted, only that figures come out."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import measure, report, solver
from malilla_env.solver import Solver

ROOT = Path(__file__).parent.parent
TINY = measure.Effort(seconds=0.001, repeats=1, batch=3, deals=2)


@pytest.mark.parametrize("name", ["core", "games", "env", "solver", "memory"])
def test_benchmark_gives_figures(name: str) -> None:
    rows = report.measured(name, TINY)
    assert rows
    for row in rows:
        assert len(row.ours) == 1
        assert len(row.peer) == len(row.ratios) == (row.peer_name != "")
        assert all(math.isfinite(value) and value > 0 for value in row.ours + row.peer + row.ratios)
    assert report.table(rows, TINY).row_count == len(rows)


def test_the_solvers_peer_finds_the_same() -> None:
    state = solver.positions(6, 4)
    assert solver.plain_points(state) == Solver(solver.RULES, threads=1).points(state)[:, 0].tolist()


@pytest.mark.slow  # compiles everything into an empty cache
def test_startup_gives_figures() -> None:
    cold, warm = report.measured("startup", TINY)
    assert cold.ours[0] > warm.ours[0] > 0


def test_command_writes_every_run(tmp_path: Path) -> None:
    out = tmp_path / "figures.json"
    sizes = ["--seconds", "0.001", "--repeats", "2", "--batch", "3", "--json", str(out)]
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks", "core", *sizes], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "OpenSpiel spades" in run.stdout
    written = json.loads(out.read_text())
    assert written["made_with"]["effort"] == {"seconds": 0.001, "repeats": 2, "batch": 3, "deals": 500}
    assert all(len(row["ours"]) == len(row["ratios"]) == 2 for row in written["results"])


def test_command_refuses_an_unknown_benchmark() -> None:
    run = subprocess.run([sys.executable, "-m", "benchmarks", "cores"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode != 0
    assert "unknown benchmark cores: choose among core, games, env, solver, memory, startup" in run.stderr


def test_contestants_take_turns() -> None:
    turns: list[str] = []

    def contestant(name: str, units: int) -> measure.Work:
        def work() -> int:
            turns.append(name)
            return units

        return work

    rates = measure.race({"a": contestant("a", 1), "b": contestant("b", 2)}, measure.Effort(seconds=0, repeats=3))
    assert turns == ["a", "b"] * 4  # the first of each is not counted
    assert len(rates["a"]) == len(rates["b"]) == 3


def row(ours: list[float], peer: list[float], **targets: float) -> measure.Comparison:
    return measure.Comparison("figure", "units/s", ours, "peer", peer, **targets)


def test_verdict_is_that_of_the_medians() -> None:
    assert row([1, 5, 9], [1, 1, 1]).met is None
    assert row([1, 5, 9], [1, 1, 1], at_least=5, ratio_at_least=5).met is True
    assert row([1, 5, 9], [1, 1, 1], at_least=5.1).met is False
    assert row([1, 5, 9], [1, 1, 1], at_least=5, ratio_at_least=5.1).met is False
    assert row([1, 5, 9], [1, 1, 1], at_most=4).met is False
    assert row([2, 8, 9], [1, 2, 9]).ratios == [2, 4, 1]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0393, "0.0393"), (99.96, "100"), (416, "416"), (2305, "2,305"), (37640, "37.6 k"), (2e7, "20 M")],
)
def test_figures_have_three_digits(value: float, text: str) -> None:
    assert report.figure(value) == text
