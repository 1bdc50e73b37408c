"""sb3-contrib's MaskablePPO at Malilla: the peer of `benchmarks.training`.

Enters: a training config, and the games that it plays side by side. Leaves: Work that makes one update, a rollout and
the gradient steps on it, and answers how many decisions the learner made. The learner has the config's widths, size of
an update, minibatch, epochs and learning rate; the rest is as the library has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv
from torch import Tensor, nn

from agents.layers import SuitMLP, action_places, common_places, layout_places
from agents.learning.config import Config
from benchmarks.measure import Work
from malilla_env import GameBatch, RuleSet, layout
from malilla_env.gym import MalillaEnv
from malilla_env.interface import action_space, vector_space
from malilla_env.rewards import step_rewards


# --- networks
class SuitNetworks(nn.Module):
    """Our layers as actor and critic, both on a seat's observation: logits [B, A] and a value [B, 1]."""

    def __init__(self, rules: RuleSet, policy: Sequence[int], critic: Sequence[int]) -> None:
        super().__init__()
        seen = layout_places(layout(rules))
        self.forward_actor = SuitMLP(seen, policy, action_places(rules))
        self.forward_critic = SuitMLP(seen, critic, common_places(1))

    def forward(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        return self.forward_actor(rows), self.forward_critic(rows)


class SuitPolicy(MaskableActorCriticPolicy):
    """MaskablePPO's policy on SuitNetworks in place of plain layers."""

    def __init__(self, *spaces_and_schedule: Any, rules: RuleSet, **settings: Any) -> None:
        self.rules = rules  # before the networks are built
        super().__init__(*spaces_and_schedule, **settings)

    def _build(self, lr_schedule: Any) -> None:
        widths: Any = self.net_arch
        self.mlp_extractor: Any = SuitNetworks(self.rules, widths["pi"], widths["vf"])
        self.action_net: Any = nn.Identity()
        self.value_net: Any = nn.Identity()
        self.optimizer = self.optimizer_class(self.parameters(), **{"lr": lr_schedule(1)}, **self.optimizer_kwargs)


# --- games
def single_seats(rules: RuleSet, count: int) -> VecEnv:
    """The Gymnasium environment so many times: one seat of each game learns, random players have the others.

    DummyVecEnv steps them one by one. SubprocVecEnv has a process for each: 64 do 0.55 times as much on one core (its
    pipes cost what a step does), so that two cores bring it no further than level.
    """
    return DummyVecEnv([partial(MalillaEnv, rules, partner="random", opponents="random")] * count)


class OneBatch(VecEnv):
    """Hands of self-play in one GameBatch; the learner plays every seat, and its step is the move of the seat on turn.

    For speed alone: MaskablePPO takes the moves of a game for one player's, so its returns mix those of both sides.
    """

    def __init__(self, rules: RuleSet, count: int) -> None:
        self.games = GameBatch(rules, count, episode="hand")
        self.teams = np.array(rules.teams)
        super().__init__(count, vector_space(layout(rules)), action_space(rules))

    def reset(self) -> NDArray[np.float32]:
        self.games.reset()
        return self.games.observe()

    def step_async(self, actions: NDArray[np.int64]) -> None:
        self.actions = actions

    def step_wait(self) -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[np.bool_], list[dict[str, Any]]]:
        team = self.teams[self.games.seat]
        self.games.step(self.actions)
        rewards = np.take_along_axis(step_rewards(self.games, "margin"), team[:, None], axis=1)[:, 0]
        over = self.games.done.copy()
        self.games.reset(where=over)
        return self.games.observe(), rewards, over, [{} for _ in over]

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        """Only "action_masks" is ever asked for."""
        return list(self.games.legal_actions())

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [None] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise AttributeError(f"{attr_name} cannot be set: a batch holds no single environments")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * self.num_envs

    def close(self) -> None:
        """Nothing to close."""


# --- the learner
def learner(config: Config, games: VecEnv, suits: bool) -> MaskablePPO:
    """On the CPU; `suits`: with our layers, else its own MlpPolicy with ReLU, as ours has."""
    widths = {"pi": list(config.network.policy), "vf": list(config.network.critic)}
    rules, ppo = config.rules(), config.ppo
    settings: dict[str, Any] = {"rules": rules} if suits else {"activation_fn": nn.ReLU}
    return MaskablePPO(
        SuitPolicy if suits else "MlpPolicy",
        games,
        learning_rate=ppo.learning_rate,
        n_steps=ppo.lanes * rules.num_cards // games.num_envs,
        batch_size=ppo.minibatch,
        n_epochs=ppo.epochs,
        policy_kwargs=settings | {"net_arch": widths},
        seed=config.seed,
        device="cpu",
    )


def updates(config: Config, games: VecEnv, suits: bool = False) -> Work:
    """One update after the other; every step of the learner's counts, forced ones too."""
    model = learner(config, games, suits)

    def work() -> int:
        before = model.num_timesteps
        model.learn(model.n_steps * games.num_envs, reset_num_timesteps=False)
        return int(model.num_timesteps - before)

    return work
