"""The number of sequences of actions from fixed deals, frozen in tests/golden/perft.json; see perft.py."""

import json

import pytest
from perft import DEALS, GOLDEN, LIMIT, by_engine, by_referee, games, start

from malilla_env.compiled import PURE

GAMES = games()
COUNTS = json.loads(GOLDEN.read_text())["counts"]
SLOW = 300  # the referee goes no further than the ply with so many sequences


def test_every_game_is_counted():
    assert set(COUNTS) == set(GAMES)
    assert all(len(counts) == DEALS for counts in COUNTS.values())


@pytest.mark.parametrize("name", GAMES)
def test_number_of_sequences(name):
    """The engine's counts are the frozen ones, and the referee's as far as it goes."""
    for number, frozen in enumerate(COUNTS[name][: 1 if PURE else DEALS]):
        batch, referee, before = start(GAMES[name], number)
        by_hand = by_referee(GAMES[name], referee, before, SLOW)
        assert by_hand == frozen[: len(by_hand)]
        assert len(by_hand) > 1
        counts = by_engine(batch, SLOW if PURE else LIMIT)
        assert counts == frozen[: len(counts)] if PURE else counts == frozen
