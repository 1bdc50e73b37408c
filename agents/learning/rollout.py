"""Rollout: the policy plays whole hands against itself, and every real choice is kept.

Enters: the rules, the networks, a seed and the number of the update; perhaps a guest, another network that plays some
of the seats. Leaves: a Rollout, one row a decision of the policy that had a choice, with its advantage and return. All
randomness is counter-based: the same seed and update give the same hands and choices, so a resumed run needs no random
state but these two numbers. A trajectory is one hand; it never spans two.
What networks on a GPU read is written into pinned memory and goes there once.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import astuple, dataclass, field, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from agents.learning.config import Ppo
from agents.learning.goal import Goal, Points
from agents.learning.teacher import Teacher
from agents.neural import Critic, Policy, action_frame, trump_first
from malilla_env import GameBatch, RuleSet
from malilla_env.observation import encode_views, layout

POINTS = 10.0  # points of a hand in one unit of value
POINTS_OF_THE_HAND = Points()

Arrays = list[NDArray[Any]]  # an entry a ply
Tensors = list[Tensor]  # an entry a ply, on the networks' device


@dataclass
class Steps:
    """What is kept of each ply; the rows [n] are the lanes that had a choice."""

    lanes: Arrays = field(default_factory=list)  # int [n]
    teams: Arrays = field(default_factory=list)  # int [n], of the seats that chose
    observation: Tensors = field(default_factory=list)  # float32 [n, D]
    state: Tensors = field(default_factory=list)  # float32 [n, E]
    legal: Tensors = field(default_factory=list)  # bool [n, A]
    action: Arrays = field(default_factory=list)  # int [n], in the network's frame
    log_prob: Arrays = field(default_factory=list)  # float32 [n]
    lesson: Arrays = field(default_factory=list)  # float32 [n, A], logits of the teacher's moves; [n, 0] without one
    value: Arrays = field(default_factory=list)  # float32 [n, T], own side first
    reward: Arrays = field(default_factory=list)  # float32 [N, T], won by this ply above the mean of the sides, by team
    decisions: int = 0  # forced ones included

    def keep(self, **rows: NDArray[Any] | Tensor) -> None:
        for name, array in rows.items():
            getattr(self, name).append(array)


@dataclass(frozen=True)
class Tally:
    """What is counted over the hands played: those of several blocks, or processes, add up."""

    decisions: int = 0  # forced ones included
    hands: int = 0
    margin: float = 0.0  # absolute margins, in points of the goal
    guest_hands: int = 0  # in which the guest was the other side
    guest_points: float = 0.0  # of the goal, by which the policy's side was above the mean of the sides in them

    def __add__(self, other: Tally) -> Tally:
        return Tally(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


@dataclass
class Rollout:
    """The decisions of one update, as tensors of M rows; those of a block of lanes in the order played."""

    observation: Tensor  # [M, D]
    state: Tensor  # [M, E]
    legal: Tensor  # bool [M, A]
    action: Tensor  # int64 [M]
    log_prob: Tensor  # [M]
    advantage: Tensor  # [M], of the acting side
    returns: Tensor  # [M, T], own side first
    value: Tensor  # [M, T]
    lesson: Tensor  # [M, A], logits of the teacher's moves; [M, 0] without one
    by_lane: Tensor  # int64 [M], on the CPU: the rows lane by lane, an order that no division into blocks changes
    tally: Tally

    def __len__(self) -> int:
        return len(self.action)


@dataclass(frozen=True)
class Shown:
    """What a policy is shown of some lanes [n], in the network's frame: trump first."""

    views: NDArray[np.void]  # [n]
    frame: NDArray[np.int64]  # [n, A]: the action id in each place
    mask: NDArray[np.bool_]  # [n, A]: which of them are legal
    observation: Tensor  # [n, D], on the network's device
    legal: Tensor  # [n, A]: the mask, on the network's device

    @classmethod
    def of(cls, games: GameBatch, legal: NDArray[np.bool_], lanes: NDArray[np.int64], device: torch.device) -> Shown:
        """legal: bool [N, A], of all the games by action ids."""
        rules, orders = games.rules, trump_first(games.trump[lanes])
        views, frame = games.views()[lanes], action_frame(rules, orders)
        mask = np.take_along_axis(legal[lanes], frame, axis=1)
        shape = (len(lanes), layout(rules).width)
        observation = sent(device, shape, lambda out: encode_views(rules, views, orders, out))
        return cls(views, frame, mask, observation, torch.from_numpy(mask).to(device))

    def actions(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """int [n]: the action ids in places [n] of the frame."""
        return np.take_along_axis(self.frame, places[:, None], axis=1)[:, 0]  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Guest:
    """A snapshot of the league that plays some of the seats, through the whole hand; its choices are not kept."""

    update: int  # which snapshot
    policy: Policy  # tensors of its own, on the learner's device
    seats: NDArray[np.bool_]  # [N, S]: where it sits

    def of(self, block: range) -> Guest:
        """The same in those lanes alone."""
        return replace(self, seats=self.seats[block.start : block.stop])

    def choose(
        self,
        games: GameBatch,
        legal: NDArray[np.bool_],
        lanes: NDArray[np.int64],
        keys: NDArray[np.uint64],
        precision: str,
    ) -> NDArray[np.int64]:
        """int [n]: a sampled action for each of the lanes [n], in which it is to play; keys [N]."""
        shown = Shown.of(games, legal, lanes, next(self.policy.parameters()).device)
        chosen, _ = sample(logits_of(self.policy, shown, precision), keys[lanes])
        return shown.actions(chosen)

    def result(self, teams: tuple[int, ...], margins: NDArray[np.float32]) -> tuple[int, float]:
        """The hands in which it was every side but one, and that side's margins in them, summed; of margins [N, T]."""
        sides = np.arange(margins.shape[1])[:, None] == np.array(teams)  # [T, S]
        guest, learner = ((seats[:, None] & sides).any(axis=2) for seats in (self.seats, ~self.seats))  # [N, T]
        against = (learner.sum(axis=1) == 1) & ~(learner & guest).any(axis=1)
        return int(against.sum()), float(margins[learner & against[:, None]].sum(dtype=np.float64))


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
    goal: Goal = POINTS_OF_THE_HAND,
    guest: Guest | None = None,
    block: range | None = None,
    precision: str = "auto",
) -> Steps:
    """Play one hand in every lane by sampling the policy; with a teacher, the teacher plays and its lesson is kept.

    A guest plays its seats from the first move of the hand to the last; what it chooses is not kept. block: the lanes
    to play; all of them by default.
    """
    block = range(lanes) if block is None else block
    streams = update * lanes + np.array(block)
    games = GameBatch(rules, len(block), seed, episode="hand", streams=streams, purpose="train")
    games.reset(seed, match_score=start_scores(rules, lanes, seed, update)[block.start : block.stop])
    guest = guest.of(block) if guest else None
    steps, before = Steps(), goal.so_far(games)
    while not games.done.all():
        steps.decisions += int((~games.done).sum())
        games.step(choose(games, policy, critic, steps, seed, teacher, guest, precision))
        after = goal.so_far(games)
        steps.keep(reward=(after - before) - (after - before).mean(axis=1, keepdims=True))
        before = after
    return steps


def choose(
    games: GameBatch,
    policy: Policy,
    critic: Critic,
    steps: Steps,
    seed: int,
    teacher: Teacher | None = None,
    guest: Guest | None = None,
    precision: str = "auto",
) -> NDArray[np.int64]:
    """int [N]: an action for every lane, sampled where there is a choice; those go to `steps`, a guest's do not."""
    rules, legal = games.rules, games.legal_actions()
    actions = legal.argmax(axis=1)
    lanes = np.flatnonzero(legal.sum(axis=1) > 1)
    keys = games.decision_keys(seed)
    if guest is not None:
        theirs = guest.seats[lanes, games.seat[lanes]]
        actions[lanes[theirs]] = guest.choose(games, legal, lanes[theirs], keys, precision)
        lanes = lanes[~theirs]
    keys, shown = keys[lanes], Shown.of(games, legal, lanes, next(policy.parameters()).device)
    lesson = np.zeros((len(lanes), 0), np.float32)
    if teacher:
        lesson = teacher.lesson(shown.views, keys, shown.frame, shown.mask)
    chosen, log_prob = sample(lesson if teacher else logits_of(policy, shown, precision), keys)
    actions[lanes] = shown.actions(chosen)
    state = open_hands(games, lanes, shown.legal.device)
    steps.keep(
        lanes=lanes,
        teams=np.array(rules.teams)[games.seat[lanes]],
        observation=shown.observation,
        state=state,
        legal=shown.legal,
        action=chosen,
        log_prob=log_prob,
        lesson=lesson,
        value=values_of(critic, state, precision),
    )
    return actions


def open_hands(games: GameBatch, lanes: NDArray[np.int64], device: torch.device) -> Tensor:
    """float32 [n, E]: what a critic is shown of some lanes [n], in the network's frame, on its device."""
    states = games.observe_state(suit_order=trump_first(games.trump))
    return sent(device, (len(lanes), states.shape[1]), lambda out: states.take(lanes, axis=0, out=out))


def sent(device: torch.device, shape: tuple[int, int], write: Callable[[NDArray[np.float32]], Any]) -> Tensor:
    """float32 rows on the device, as `write` fills them; on the way to a GPU they lie in pinned memory."""
    rows = torch.empty(shape, pin_memory=device.type == "cuda")
    write(rows.numpy())
    return rows.to(device, non_blocking=True)


def logits_of(policy: Policy, shown: Shown, precision: str) -> NDArray[np.float32]:
    """float32 [n, A]: what a policy makes of what it is shown, in the network's frame."""
    with torch.inference_mode(), autocast(shown.legal.device, precision):
        return policy(shown.observation, shown.legal).cpu().numpy()  # type: ignore[no-any-return]


def values_of(critic: Critic, state: Tensor, precision: str) -> NDArray[np.float32]:
    """float32 [n, T]: what a critic makes of states [n, E]; the acting side first."""
    with torch.inference_mode(), autocast(state.device, precision):
        return critic(state).cpu().numpy()  # type: ignore[no-any-return]


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """What networks are computed in: auto is bfloat16 on CUDA and float32 elsewhere."""
    reduced = precision == "bfloat16" or (precision == "auto" and device.type == "cuda")
    return torch.autocast(device.type, torch.bfloat16, enabled=reduced)


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

    Between two choices of a hand lie only forced moves and a guest's: the points won there belong to the earlier one,
    and those before the first choice to none. Returns the acting side's advantages [M] and the returns [M, T], own side
    first, both in units of POINTS.
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
    goal: Goal = POINTS_OF_THE_HAND,
    guest: Guest | None = None,
    lanes: range | None = None,
) -> Rollout:
    """Play the hands of an update and return their decisions with advantages, on the networks' device.

    lanes: those to play, of config.lanes; all of them by default. They are played in blocks, a thread each.
    """
    share = range(config.lanes) if lanes is None else lanes

    def play(block: range) -> Rollout:
        played = (rules, policy, critic, config.lanes, seed, update, teacher, goal, guest, block, config.precision)
        steps = play_hands(*played)
        return rolled(rules, steps, config, next(policy.parameters()).device, guest.of(block) if guest else None)

    blocks = parts(share, config.workers)
    if len(blocks) == 1:
        return play(blocks[0])
    with ThreadPoolExecutor(len(blocks)) as threads:
        return together(list(threads.map(play, blocks)))


def parts(lanes: range, count: int) -> list[range]:
    """Ranges of about one length, one behind the other; fewer than `count` where there are fewer lanes."""
    count = min(count, len(lanes))
    edges = [len(lanes) * number // count for number in range(count + 1)]
    return [lanes[start:end] for start, end in pairwise(edges)]


def rolled(rules: RuleSet, steps: Steps, config: Ppo, device: torch.device, guest: Guest | None) -> Rollout:
    """The Rollout of the hands of a block."""
    advantage, _ = advantages(steps, config.policy_lambda)
    _, returns = advantages(steps, config.critic_lambda)
    margins = np.sum(steps.reward, axis=0)  # [N, T]
    against = guest.result(rules.teams, margins) if guest else (0, 0.0)
    names = ("action", "log_prob", "value", "lesson")
    arrays = {name: np.concatenate(getattr(steps, name)) for name in names} | {
        "advantage": advantage,
        "returns": returns,
    }
    return Rollout(
        **{name: torch.cat(getattr(steps, name)) for name in ("observation", "state", "legal")},
        **{name: torch.from_numpy(array).to(device) for name, array in arrays.items()},
        by_lane=torch.from_numpy(np.concatenate(steps.lanes).argsort(kind="stable")),
        tally=Tally(steps.decisions, len(margins), float(np.abs(margins).mean(axis=1).sum()), *against),
    )


def together(blocks: list[Rollout]) -> Rollout:
    """The Rollouts of several blocks of lanes as one."""
    starts = np.cumsum([0, *(len(block) for block in blocks[:-1])])
    return Rollout(
        **{
            entry.name: torch.cat([getattr(block, entry.name) for block in blocks])
            for entry in fields(Rollout)
            if entry.name not in ("by_lane", "tally")
        },
        by_lane=torch.cat([start + block.by_lane for start, block in zip(starts.tolist(), blocks, strict=True)]),
        tally=sum((block.tally for block in blocks), Tally()),
    )
