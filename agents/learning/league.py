"""League: the policy also plays against snapshots of its past, most against the hard ones (Vinyals et al. 2019).

Enters: a run's progress, in which the snapshots and what was won against each are written down. Leaves: the guest of an
update, and the progress after it. Snapshots lie in files; a guest is loaded from them anew, so that it shares nothing
with the live weights. Which one is drawn depends on the seed, the update and the table alone.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agents.learning.checkpoint import Progress, Snapshot, save_snapshot, snapshot_folder
from agents.learning.config import Config, League
from agents.learning.ppo import Learner
from agents.learning.rollout import Guest, Tally
from agents.learning.stored import load_policy
from malilla_env import RuleSet

Snapshots = tuple[Snapshot, ...]  # oldest first

MEMORY = 10_000  # hands of the league after which a hand counts half
DOUBT = 100  # hands at margin 0 that every snapshot has in advance, so that few hands say little
CLEAR = 2.0  # points a hand above a snapshot that are taken for a chance of e / (1 + e), 73%, to beat it
FLOOR = 0.2  # of the draws, that are even among all snapshots
STREAM = 2  # beside (seed, update), which start the hands


# --- an update
def invite(run: Path, rules: RuleSet, learner: Learner, config: Config, progress: Progress) -> Guest | None:
    """The snapshot that plays in this update, and where it sits; none while there is no league, or nobody in it."""
    if not progress.league:
        return None
    snapshot = draw(progress.league, config.seed, progress.update)
    policy = load_policy(snapshot_folder(run, snapshot.update), rules).requires_grad_(False)
    seats = seating(rules, config.league, config.ppo.lanes, progress.update)
    return Guest(snapshot.update, policy.to(next(learner.policy.parameters()).device), seats)


def go_on(
    run: Path, learner: Learner, config: Config, progress: Progress, tally: Tally, guest: Guest | None
) -> Progress:
    """The progress after an update: its guest's hands in the table, and every so often a new snapshot."""
    snapshots = progress.league
    if guest is not None:
        snapshots = record(snapshots, guest.update, tally.guest_hands, tally.guest_points)
    decisions = progress.decisions + tally.decisions
    progress = replace(progress, update=progress.update + 1, decisions=decisions, league=snapshots)
    imitating = progress.decisions < config.imitation.decisions
    if not config.league.share or imitating or progress.update % config.league.every:
        return progress
    if learner.processes.leads:
        save_snapshot(run, learner.policy, config, progress)
    learner.processes.wait()
    return replace(progress, league=thin((*snapshots, Snapshot(progress.update)), config.league.size))


def metrics(config: League, snapshots: Snapshots) -> dict[str, float]:
    """What is logged of a league: how many snapshots, and the mean of the margins against those that were met."""
    margins = [snapshot.points / snapshot.hands for snapshot in snapshots if snapshot.hands]
    told = {"league_size": float(len(snapshots))} if config.share else {}
    return told | ({"league_margin": sum(margins) / len(margins)} if margins else {})


# --- the table
def odds(snapshots: Snapshots) -> NDArray[np.float64]:
    """[n]: each snapshot's chance to be drawn: by (1 - chance to beat it)^2, and FLOOR evenly."""
    margins = np.array([snapshot.points / (snapshot.hands + DOUBT) for snapshot in snapshots])
    hard = (1 / (1 + np.exp(margins / CLEAR))) ** 2
    return FLOOR / len(snapshots) + (1 - FLOOR) * hard / hard.sum()  # type: ignore[no-any-return]


def draw(snapshots: Snapshots, seed: int, update: int) -> Snapshot:
    """The snapshot of an update."""
    return snapshots[np.random.default_rng((seed, update, STREAM)).choice(len(snapshots), p=odds(snapshots))]


def record(snapshots: Snapshots, met: int, hands: int, points: float) -> Snapshots:
    """The table after so many hands against the snapshot `met`, with so many points above it in sum; all others age."""
    ages = 0.5 ** (hands / MEMORY)
    aged = (replace(snapshot, hands=snapshot.hands * ages, points=snapshot.points * ages) for snapshot in snapshots)
    return tuple(
        replace(snapshot, hands=snapshot.hands + hands, points=snapshot.points + points)
        if snapshot.update == met
        else snapshot
        for snapshot in aged
    )


def thin(snapshots: Snapshots, size: int) -> Snapshots:
    """At most `size` of them: those go whose neighbours lie closest together, never the first or the newest."""
    while len(snapshots) > size:
        gaps = [after.update - before.update for before, after in zip(snapshots, snapshots[2:], strict=False)]
        gone = 1 + gaps.index(min(gaps))
        snapshots = snapshots[:gone] + snapshots[gone + 1 :]
    return snapshots


# --- the lanes
def seating(rules: RuleSet, config: League, lanes: int, update: int) -> NDArray[np.bool_]:
    """bool [N, S]: the seats of each lane where the guest sits.

    In `share` of the lanes, spread evenly over them: there the learner has one side, each in turn, and the guest all
    others; but in `partner` of these the guest has one seat, each in turn, and the learner all others.
    """
    seats = np.zeros((lanes, rules.num_seats), np.bool_)
    joined = np.flatnonzero(spread(round(config.share * lanes), lanes))
    beside = spread(round(config.partner * len(joined)), len(joined))
    partners, opponents = joined[beside], joined[~beside]
    learners = (update + np.arange(len(opponents))) % rules.num_teams
    seats[opponents] = np.array(rules.teams) != learners[:, None]
    seats[partners, (update + np.arange(len(partners))) % rules.num_seats] = True
    return seats


def spread(count: int, among: int) -> NDArray[np.bool_]:
    """bool [among]: `count` of them, evenly spaced."""
    steps = np.arange(among + 1) * count // max(among, 1)
    return np.diff(steps) > 0  # type: ignore[no-any-return]
