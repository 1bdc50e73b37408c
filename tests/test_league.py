"""The league: who is drawn, where a guest sits, what is kept of its hands, snapshots, resuming (CASES 16, 18)."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import train
from agents.learning import checkpoint, league, ppo, stored
from agents.learning.checkpoint import Progress, Snapshot
from agents.learning.config import Config, League, config_from
from agents.learning.league import draw, odds, record, seating, thin
from agents.learning.rollout import POINTS, Guest, Steps, advantages, by_team, collect, play_hands, start_scores
from agents.neural import Critic, NeuralPlayer, Policy, action_frame, trump_first
from malilla_env import GameBatch, RuleSet, ruleset

pytestmark = pytest.mark.usefixtures("one_thread")

RULES = ruleset()
LANES = 16
HANDS = LANES * 40  # decisions of an update
GAMES = ("malilla", "manille-3", "manille-2", "manille-encheres")


def small(**values: object) -> Config:
    usual = {
        "network": {"policy": [16], "critic": [16]},
        "ppo": {"lanes": LANES, "minibatch": 128},
        "evaluation": {"every": 0},
        "league": {"share": 0.5, "every": 2, "size": 3},
    }
    return config_from({**usual, "threads": 1, "checkpoint_every": 3, **values})


def networks(rules: RuleSet) -> tuple[Policy, Critic]:
    torch.manual_seed(0)
    return Policy(rules, (16,)), Critic(rules, (16,))


class Lowest(nn.Module):
    """A network that plays the first legal action of its frame, and remembers how many rows it was asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.anything = nn.Parameter(torch.zeros(1))
        self.rows = 0

    def forward(self, observation: Tensor, legal: Tensor) -> Tensor:
        self.rows += len(legal)
        return torch.where(legal, -1000.0 * torch.arange(legal.shape[1]), -1e9)


def lowest(rules: RuleSet, lanes: int = LANES, **values: float) -> Guest:
    return Guest(7, Lowest(), seating(rules, League(share=0.5, **values), lanes, 0))  # type: ignore[arg-type]


# --- the lanes
@pytest.mark.parametrize("name", GAMES)
def test_the_learner_takes_each_side_in_turn_in_a_share_of_the_lanes(name: str) -> None:
    rules = ruleset(name)
    seats = seating(rules, League(share=0.3), 40, 0)
    joined = np.flatnonzero(seats.any(axis=1))
    assert len(joined) == 12
    assert np.diff(joined).max() <= 4  # spread over the lanes
    sides = [set(np.array(rules.teams)[~seats[lane]]) for lane in joined]
    assert sides == [{number % rules.num_teams} for number in range(12)]
    assert all(
        set(np.array(rules.teams)[seats[lane]]).isdisjoint(side) for lane, side in zip(joined, sides, strict=True)
    )
    first = [seating(rules, League(share=0.025), 40, update)[39] for update in range(rules.num_teams)]
    assert (~np.array(first)).sum(axis=0).tolist() == [1] * rules.num_seats  # the only lane takes turns by update


def test_a_partner_has_one_seat_each_in_turn() -> None:
    seats = seating(RULES, League(share=0.5, partner=0.25), 64, 3)
    alone = seats.sum(axis=1) == 1
    assert (alone.sum(), seats.any(axis=1).sum()) == (8, 32)
    assert seats[alone].sum(axis=0).tolist() == [2, 2, 2, 2]
    assert seats[~alone].sum(axis=0).tolist() == [12, 12, 12, 12]
    assert not seating(RULES, League(), 64, 3).any()


# --- the rollout
@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("partner", [0.0, 0.5])
def test_a_guest_plays_its_seats_through_the_deal_and_none_of_its_choices_is_kept(name: str, partner: float) -> None:
    """The hands are played again: kept actions where the learner sits, the guest's own ones where the guest sits."""
    rules = ruleset(name)
    guest = lowest(rules, partner=partner)
    steps = play_hands(rules, *networks(rules), LANES, seed=10, update=0, guest=guest)
    games, asked, decisions = GameBatch(rules, LANES, 10, "hand", np.arange(LANES), "train"), 0, 0
    games.reset(10, match_score=start_scores(rules, LANES, 10, 0))
    for lanes, teams, action in zip(steps.lanes, steps.teams, steps.action, strict=True):
        legal, frame = games.legal_actions(), action_frame(rules, trump_first(games.trump))
        choosing = np.flatnonzero(legal.sum(axis=1) > 1)
        theirs = guest.seats[choosing, games.seat[choosing]]
        assert np.array_equal(lanes, choosing[~theirs])
        assert np.array_equal(teams, np.array(rules.teams)[games.seat[lanes]])
        framed = np.take_along_axis(legal, frame, axis=1).argmax(axis=1)
        framed[lanes] = action
        asked, decisions = asked + theirs.sum(), decisions + (~games.done).sum()
        games.step(np.take_along_axis(frame, framed[:, None], axis=1)[:, 0])
    assert games.done.all()
    assert (guest.policy.rows, steps.decisions) == (asked, decisions)
    assert asked > 0
    if name != "manille-encheres":  # where the points of the hand are not what it pays
        margins = games.last_points - games.last_points.mean(axis=1, keepdims=True)
        assert np.allclose(np.sum(steps.reward, axis=0), margins, atol=1e-4)


@pytest.mark.parametrize("name", GAMES)
def test_what_was_won_against_a_guest_is_told(name: str) -> None:
    rules, config = ruleset(name), small(game={"ruleset": name}).ppo
    steps = play_hands(rules, *networks(rules), LANES, seed=10, update=0, guest=lowest(rules))
    rollout = collect(rules, *networks(rules), config, seed=10, update=0, guest=lowest(rules))
    paid = np.sum(steps.reward, axis=0)
    won = [paid[lane, number % rules.num_teams] for number, lane in enumerate(range(1, LANES, 2))]
    assert rollout.tally.guest_hands == len(won) == 8
    assert rollout.tally.guest_points == pytest.approx(sum(won), abs=1e-3)
    assert rollout.tally.guest_points != 0
    assert len(rollout) == sum(map(len, steps.lanes))


def test_hands_with_a_guest_as_partner_say_nothing_of_who_is_better() -> None:
    config = small().ppo
    rollout = collect(RULES, *networks(RULES), config, seed=10, update=0, guest=lowest(RULES, partner=1.0))
    assert (rollout.tally.guest_hands, rollout.tally.guest_points) == (0, 0.0)


def lane_moments(steps: Steps, lane: int) -> list[tuple[int, int]]:
    """(ply, row) of the learner's choices in a lane."""
    return [(ply, int(np.flatnonzero(lanes == lane)[0])) for ply, lanes in enumerate(steps.lanes) if lane in lanes]


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize(("gae_lambda", "partner"), [(0.0, 0.0), (0.7, 0.5), (1.0, 0.0)])
def test_advantages_agree_with_the_definition_where_a_guest_plays(name: str, gae_lambda: float, partner: float) -> None:
    """Sums written out lane by lane and side by side: what is won up to the learner's next choice is the last one's."""
    rules = ruleset(name)
    steps = play_hands(rules, *networks(rules), LANES, seed=11, update=0, guest=lowest(rules, partner=partner))
    advantage, returns = advantages(steps, gae_lambda)
    starts, plies, sides = np.cumsum([0] + [len(lanes) for lanes in steps.lanes]), len(steps.reward), rules.num_teams
    for lane in range(LANES):
        moments = lane_moments(steps, lane)
        values = [by_team(steps.value[ply], steps.teams[ply])[row] for ply, row in moments] + [np.zeros(sides)]
        ends = [ply for ply, _ in moments[1:]] + [plies]
        for place, (ply, row) in enumerate(moments):
            expected = np.zeros(sides)
            for later in range(place, len(moments)):
                won = sum(steps.reward[at][lane] for at in range(moments[later][0], ends[later])) / POINTS
                expected += gae_lambda ** (later - place) * (won + values[later + 1] - values[later])
            team, at = int(steps.teams[ply][row]), starts[ply] + row
            own_first = [(team + side) % sides for side in range(sides)]
            assert advantage[at] == pytest.approx(expected[team], abs=1e-4)
            assert returns[at] == pytest.approx((expected + values[place])[own_first], abs=1e-4)


def test_without_a_share_the_rollout_is_as_without_a_league(tmp_path: Path) -> None:
    config = small(decisions=3 * HANDS, league={"share": 0.0, "every": 1})
    train.train(config, tmp_path, resume=False)
    assert not (tmp_path / "league").exists()
    learner = train.new_learner(config)
    for number in range(3):
        networks = (learner.policy, learner.critic)
        assert league.invite(tmp_path, RULES, learner, config, Progress(number)) is None
        rollout = collect(RULES, *networks, config.ppo, config.seed, number)
        nobody = Guest(0, Policy(RULES, (16,)), seating(RULES, config.league, LANES, number))
        beside = collect(RULES, *networks, config.ppo, config.seed, number, guest=nobody)
        for name in (*ppo.COLUMNS, "advantage", "value"):
            assert torch.equal(getattr(rollout, name), getattr(beside, name)), name
        ppo.update(learner, rollout, config.ppo, number / 3, config.seed + number)
    stored = NeuralPlayer.load(tmp_path, RULES).policy
    assert all(map(torch.equal, stored.parameters(), learner.policy.parameters()))


# --- the table
def pool(*margins: float, hands: float = 1000.0) -> league.Snapshots:
    return tuple(Snapshot(10 * place, hands, hands * margin) for place, margin in enumerate(margins, 1))


def test_the_hard_ones_are_drawn_more_often_but_all_are_drawn() -> None:
    snapshots = pool(4.0, 0.0, 8.0, -2.0, 1.0)
    chances = odds(snapshots)
    assert chances.sum() == pytest.approx(1)
    assert np.argsort(chances).tolist() == [2, 0, 4, 1, 3]
    assert chances.min() >= league.FLOOR / 5
    drawn = [draw(snapshots, 10, update).update for update in range(4000)]
    counts = Counter(drawn)
    for snapshot, chance in zip(snapshots, chances, strict=True):
        assert abs(counts[snapshot.update] / 4000 - chance) < 0.03
    assert drawn == [draw(snapshots, 10, update).update for update in range(4000)]
    assert drawn != [draw(snapshots, 11, update).update for update in range(4000)]


def test_few_hands_say_little() -> None:
    assert np.ptp(odds(pool(5.0, -5.0, hands=0.0))) == 0
    assert np.ptp(odds(pool(5.0, -5.0, hands=10.0))) < np.ptp(odds(pool(5.0, -5.0, hands=1000.0)))


def test_the_table_is_the_mean_of_the_hands_and_forgets_the_old_ones() -> None:
    one, two = record(pool(0.0, 3.0, hands=100.0), met=10, hands=300, points=600.0)
    assert two.points / two.hands == pytest.approx(3.0)
    assert one.points / one.hands == pytest.approx(1.5, abs=0.02)
    assert two.hands == pytest.approx(100 * 0.5 ** (300 / league.MEMORY))
    table = pool(5.0)
    for _ in range(20):
        table = record(table, met=10, hands=league.MEMORY // 4, points=-1.0 * (league.MEMORY // 4))
    assert table[0].points / table[0].hands == pytest.approx(-1.0, abs=0.1)
    told = league.metrics(League(share=0.5), (*pool(1.0, 4.0), Snapshot(99)))
    assert told == {"league_size": 3, "league_margin": pytest.approx(2.5)}
    assert league.metrics(League(share=0.5), ()) == {"league_size": 0}
    assert league.metrics(League(), ()) == {}


@pytest.mark.parametrize("size", [2, 3, 8, 20])
def test_thinning_keeps_the_first_and_the_newest_and_spreads_the_others(size: int) -> None:
    snapshots: league.Snapshots = ()
    for update in range(50, 50 * 400, 50):
        snapshots = thin((*snapshots, Snapshot(update)), size)
        updates = [snapshot.update for snapshot in snapshots]
        assert len(updates) == min(size, update // 50)
        assert (updates[0], updates[-1]) == (50, update)
        gaps = np.diff(updates)
        assert gaps.max(initial=0) <= 3 * max(50, (update - 50) / max(1, len(gaps)))


# --- config
@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"share": -0.1}, "league.share -0.1 must be 0 to 1"),
        ({"share": float("nan")}, "league.share nan"),
        ({"share": 0.01}, "league.share 0.01 of 16 lanes is none"),
        ({"partner": 1.5}, "league.partner 1.5 must be 0 to 1"),
        ({"every": 0}, "league.every 0 must be 1 or more"),
        ({"size": 1}, "league.size 1 must be 2 or more"),
        ({"shares": 0.3}, "unknown key league.shares"),
    ],
)
def test_a_wrong_league_is_refused_by_name(values: dict[str, float], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        small(league=values)


def test_where_nobody_has_a_partner_none_can_be_asked_for() -> None:
    with pytest.raises(ValueError, match=r"league\.partner 0\.1 must be 0: in manille-3 nobody has a partner"):
        small(game={"ruleset": "manille-3"}, league={"share": 0.5, "partner": 0.1})


# --- snapshots and runs
def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def stored_league(run: Path) -> list[dict[str, float]]:
    return stored.read_meta(stored.find(run))["league"]


def test_case_16_neither_a_snapshot_nor_a_guest_moves_with_the_live_weights(tmp_path: Path) -> None:
    config = small()
    learner, progress = train.new_learner(config), Progress(2, 2 * HANDS, (Snapshot(2),))
    folder = checkpoint.save_snapshot(tmp_path, learner.policy, config, progress)
    guest = league.invite(tmp_path, RULES, learner, config, progress)
    assert guest is not None
    before, stored = [weight.clone() for weight in guest.policy.parameters()], files(folder)
    assert all(map(torch.equal, before, learner.policy.parameters()))
    for number in range(10):
        rollout = collect(RULES, learner.policy, learner.critic, config.ppo, config.seed, number, guest=guest)
        ppo.update(learner, rollout, config.ppo, 0.0, number)
    assert not any(map(torch.equal, before[:1], learner.policy.parameters()))
    assert all(map(torch.equal, before, guest.policy.parameters()))
    assert files(folder) == stored
    again = league.invite(tmp_path, RULES, learner, config, progress)
    assert again is not None
    assert all(map(torch.equal, before, again.policy.parameters()))


class Killed(Exception):
    """The run ends here."""


def killed_at(update: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on a run dies when it is about to write the checkpoint of an update."""
    save = checkpoint.save

    def dying(run: Path, learner: ppo.Learner, config: Config, progress: Progress) -> Path:
        if progress.update == update:
            raise Killed
        return save(run, learner, config, progress)

    monkeypatch.setattr(checkpoint, "save", dying)


@pytest.mark.parametrize("kill", [6, 9, 12])
def test_case_18_a_run_with_a_league_that_is_killed_resumes_to_the_same(
    kill: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies after snapshots that no checkpoint names, and after the table has let others go that one still names."""
    config = small(
        decisions=14 * HANDS,
        imitation={"decisions": HANDS},
        league={"share": 0.5, "partner": 0.25, "every": 2, "size": 3},
    )
    train.train(config, tmp_path / "whole", resume=False)
    with monkeypatch.context() as patch:
        killed_at(kill, patch)
        with pytest.raises(Killed):
            train.train(config, tmp_path / "killed", resume=False)
    named = {entry["update"] for entry in stored_league(tmp_path / "killed")}
    assert max(named) < max(int(path.name) for path in (tmp_path / "killed" / "league").iterdir())
    train.train(config, tmp_path / "killed", resume=True)
    whole, killed = (files(stored.find(tmp_path / name)) for name in ("whole", "killed"))
    assert killed == whole
    assert len(json.loads(whole["meta.json"])["league"]) == 3
    assert any(entry["hands"] for entry in json.loads(whole["meta.json"])["league"])
    assert files(tmp_path / "killed" / "league") == files(tmp_path / "whole" / "league")


def test_snapshots_start_after_the_imitation_and_those_that_no_checkpoint_names_go(tmp_path: Path) -> None:
    config = small(decisions=12 * HANDS, imitation={"decisions": 3 * HANDS}, checkpoint_every=1)
    train.train(config, tmp_path, resume=False)
    assert [entry["update"] for entry in stored_league(tmp_path)] == [4, 8, 12]  # 6 and 10 had the nearest neighbours
    named = {4, 8, 12} | {
        int(entry["update"]) for entry in stored.read_meta(tmp_path / "checkpoints" / "00000011")["league"]
    }
    assert {int(path.name) for path in (tmp_path / "league").iterdir()} == named
    assert not list((tmp_path / "league").glob(".*"))


def test_a_snapshot_is_a_player(tmp_path: Path) -> None:
    config = small(decisions=4 * HANDS)
    train.train(config, tmp_path, resume=False)
    player = NeuralPlayer.load(tmp_path / "league" / "00000004", RULES)
    newest = NeuralPlayer.load(tmp_path, RULES)
    assert all(map(torch.equal, player.policy.parameters(), newest.policy.parameters()))
    with pytest.raises(ValueError, match="not malilla-70"):
        NeuralPlayer.load(tmp_path / "league" / "00000004", ruleset("malilla-70"))


def test_a_snapshot_that_is_gone_is_named(tmp_path: Path) -> None:
    config = small(decisions=4 * HANDS)
    train.train(config, tmp_path, resume=False)
    shutil.rmtree(tmp_path / "league" / "00000002")
    with pytest.raises(ValueError, match=r"needs the league's snapshot .*00000002, which is gone"):
        checkpoint.resume(tmp_path, train.new_learner(config), config)


def test_the_table_is_stored_as_it_is(tmp_path: Path) -> None:
    config = small()
    progress = Progress(6, 6 * HANDS, record((Snapshot(2), Snapshot(4)), 4, 123, 45.678901234567))
    learner = train.new_learner(config)
    for snapshot in progress.league:
        checkpoint.save_snapshot(tmp_path, learner.policy, config, replace(progress, update=snapshot.update))
    checkpoint.save(tmp_path, learner, config, progress)
    assert checkpoint.resume(tmp_path, learner, config) == progress
