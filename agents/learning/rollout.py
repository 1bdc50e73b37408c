"""Rollout: the policy plays whole hands against itself, and every real choice is kept.

Enters: the rules, the networks, a seed and the number of the update. Leaves: a Rollout, one row a decision that had a
choice, with its advantage and return. All randomness is counter-based: the same seed and update give the same hands
and choices, so a resumed run needs no random state but these two numbers. A trajectory is one hand; it never spans two.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agents.learning.config import Ppo
from agents.learning.teacher import Teacher
from agents.neural import Critic, Policy, action_frame, trump_first
from malilla_env import GameBatch, RuleSet
from malilla_env.observation import encode_views
from malilla_env.rewards import hand_so_far

POINTS = 10.0  # points of a hand in one unit of value

Arrays = list[NDArray[Any]]  # an entry a ply


@dataclass
class Steps:
    """What is kept of each ply; the rows [n] are the lanes that had a choice."""

    lanes: Arrays = field(default_factory=list)  # int [n]
    teams: Arrays = field(default_factory=list)  # int [n], of the seats that chose
    observation: Arrays = field(default_factory=list)  # float32 [n, D]
    state: Arrays = field(default_factory=list)  # float32 [n, E]
    legal: Arrays = field(default_factory=list)  # bool [n, A]
    action: Arrays = field(default_factory=list)  # int [n], in the network's frame
    log_prob: Arrays = field(default_factory=list)  # float32 [n]
    lesson: Arrays = field(default_factory=list)  # float32 [n, A], logits of the teacher's moves; [n, 0] without one
    value: Arrays = field(default_factory=list)  # float32 [n, T], own side first
    reward: Arrays = field(default_factory=list)  # float32 [N, T], margin won by this ply, by team
    decisions: int = 0  # forced ones included

    def keep(self, **rows: NDArray[Any]) -> None:
        for name, array in rows.items():
            getattr(self, name).append(array)


@dataclass
class Rollout:
    """The decisions of one update, as tensors of M rows in the order played."""

    observation: Tensor  # [M, D]
    state: Tensor  # [M, E]
    legal: Tensor  # bool [M, A]
    action: Tensor  # int64 [M]
    log_prob: Tensor  # [M]
    advantage: Tensor  # [M], of the acting side
    returns: Tensor  # [M, T], own side first
    value: Tensor  # [M, T]
    lesson: Tensor  # [M, A], logits of the teacher's moves; [M, 0] without one
    decisions: int  # forced ones included
    margin: float  # mean absolute margin of a hand, points

    def __len__(self) -> int:
        return len(self.action)


def start_scores(rules: RuleSet, lanes: int, seed: int, update: int) -> NDArray[np.int64]:
    """int [N, T]: match scores to start hands from, so that the policy meets every score, not only 0-0."""
    return np.random.default_rng((seed, update)).integers(0, rules.target, (lanes, rules.num_teams))


def play_hands(
    rules: RuleSet,
    policy: Policy,
    critic: Critic,
    lanes: int,
    seed: int,
    update: int,
    teacher: Teacher | None = None,
) -> Steps:
    """Play one hand in every lane by sampling the policy; with a teacher, the teacher plays and its lesson is kept."""
    streams = np.arange(update * lanes, (update + 1) * lanes)
    games = GameBatch(rules, lanes, seed, episode="hand", streams=streams, purpose="train")
    games.reset(seed, match_score=start_scores(rules, lanes, seed, update))
    steps, before = Steps(), so_far(games)
    while not games.done.all():
        steps.decisions += int((~games.done).sum())
        games.step(choose(games, policy, critic, steps, seed, teacher))
        after = so_far(games)
        steps.keep(reward=(after - before) - (after - before).mean(axis=1, keepdims=True))
        before = after
    return steps


def so_far(games: GameBatch) -> NDArray[np.float32]:
    """float32 [N, T]: what each side has of its hand, in points."""
    return hand_so_far(games.rules, games.state)[:, : games.rules.num_teams].astype(np.float32)


def choose(
    games: GameBatch,
    policy: Policy,
    critic: Critic,
    steps: Steps,
    seed: int,
    teacher: Teacher | None = None,
) -> NDArray[np.int64]:
    """int [N]: an action for every lane, sampled where there is a choice; those go to `steps`."""
    rules, legal = games.rules, games.legal_actions()
    actions = legal.argmax(axis=1)
    lanes = np.flatnonzero(legal.sum(axis=1) > 1)
    keys = games.decision_keys(seed)
    orders = trump_first(games.trump)
    frame = action_frame(rules, orders[lanes])
    views = games.views()[lanes]
    observation = encode_views(rules, views, orders[lanes])
    state = games.observe_state(suit_order=orders)[lanes]
    mask = np.take_along_axis(legal[lanes], frame, axis=1)
    device = next(policy.parameters()).device
    lesson = teacher.lesson(views, keys[lanes], frame, mask) if teacher else np.zeros((len(lanes), 0), np.float32)
    with torch.inference_mode(), autocast(device):
        value = critic(torch.from_numpy(state).to(device))
        seen = (torch.from_numpy(array).to(device) for array in (observation, mask))
        logits = lesson if teacher else policy(*seen).cpu().numpy()
    chosen, log_prob = sample(logits, keys[lanes])
    actions[lanes] = np.take_along_axis(frame, chosen[:, None], axis=1)[:, 0]
    steps.keep(
        lanes=lanes,
        teams=np.array(rules.teams)[games.seat[lanes]],
        observation=observation,
        state=state,
        legal=mask,
        action=chosen,
        log_prob=log_prob,
        lesson=lesson,
        value=value.cpu().numpy(),
    )
    return actions


def autocast(device: torch.device) -> torch.autocast:
    """bfloat16 on CUDA; plain float32 elsewhere."""
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")


def sample(logits: NDArray[np.float32], keys: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """An index for each row of masked logits [n, A] by its key, and its log-probability.

    In float64 and by strict inequality, so that an action of probability 0 is never drawn.
    """
    weights = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    edges = weights.cumsum(axis=1)
    draw = (keys >> np.uint64(11)).astype(np.float64) * 2.0**-53 * edges[:, -1]
    chosen = (edges > draw[:, None]).argmax(axis=1)
    probability = np.take_along_axis(weights, chosen[:, None], axis=1)[:, 0] / edges[:, -1]
    return chosen, np.log(probability).astype(np.float32)


def by_team(value: NDArray[np.float32], team: NDArray[np.int64]) -> NDArray[np.float32]:
    """[n, T] with the acting side first -> [n, T] in team order; also its own inverse when `team` is negated."""
    teams = value.shape[1]
    return np.take_along_axis(value, (np.arange(teams) - team[:, None]) % teams, axis=1)


def advantages(steps: Steps, gae_lambda: float) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Generalised advantage estimation (Schulman et al. 2016), a value and an advantage per side.

    Between two choices of a hand lie only forced moves: the points won there belong to the earlier one. Returns the
    acting side's advantages [M] and the returns [M, T], own side first, both in units of POINTS.
    """
    shape = steps.reward[0].shape
    reward, next_value, running = (np.zeros(shape, np.float32) for _ in range(3))
    own: list[NDArray[np.float32]] = []
    returns: list[NDArray[np.float32]] = []
    for ply in reversed(range(len(steps.reward))):
        reward += steps.reward[ply] / np.float32(POINTS)
        lanes, team = steps.lanes[ply], steps.teams[ply]
        value = by_team(steps.value[ply], team)
        surprise = reward[lanes] + next_value[lanes] - value
        running[lanes] = surprise + np.float32(gae_lambda) * running[lanes]
        next_value[lanes], reward[lanes] = value, 0
        own.append(np.take_along_axis(running[lanes], team[:, None], axis=1)[:, 0])
        returns.append(by_team(running[lanes] + value, -team))
    return np.concatenate(own[::-1]), np.concatenate(returns[::-1])


def collect(
    rules: RuleSet,
    policy: Policy,
    critic: Critic,
    config: Ppo,
    seed: int,
    update: int,
    teacher: Teacher | None = None,
) -> Rollout:
    """Play the hands of an update and return their decisions with advantages, on the networks' device."""
    steps = play_hands(rules, policy, critic, config.lanes, seed, update, teacher)
    advantage, _ = advantages(steps, config.policy_lambda)
    _, returns = advantages(steps, config.critic_lambda)
    device = next(policy.parameters()).device

    def joined(parts: Arrays) -> Tensor:
        return torch.from_numpy(np.concatenate(parts)).to(device)

    names = ("observation", "state", "legal", "action", "log_prob", "value", "lesson")
    return Rollout(
        **{name: joined(getattr(steps, name)) for name in names},
        advantage=torch.from_numpy(advantage).to(device),
        returns=torch.from_numpy(returns).to(device),
        decisions=steps.decisions,
        margin=float(np.abs(np.sum(steps.reward, axis=0)).mean()),
    )
