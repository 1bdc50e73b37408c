"""The AEC environment, one game at a time: steps with `last()` and a sample under the mask, beside PettingZoo's
texas_holdem_v4 (limit hold'em by RLCard), the wrapped `env()` and the bare `raw_env()` of each.

Every call of `step` counts, those of seats that are done included; resets are part of the time.
"""

from __future__ import annotations

from typing import Any

from pettingzoo.classic.rlcard_envs import texas_holdem  # the module that classic/texas_holdem-v4 names

from benchmarks.measure import Comparison, Effort, Work, race
from malilla_env import malilla_v0

SEED = 11


def play(env: Any) -> Work:
    """One episode of random legal play."""
    env.reset(seed=SEED)
    for place, agent in enumerate(env.possible_agents):
        env.action_space(agent).seed(SEED + place)

    def work() -> int:
        steps = 0
        env.reset()
        for agent in env.agent_iter():
            observation, _, terminated, truncated, _ = env.last()
            over = terminated or truncated
            env.step(None if over else env.action_space(agent).sample(observation["action_mask"]))
            steps += 1
        return steps

    return work


def compare(effort: Effort) -> list[Comparison]:
    rates = race(
        {
            "env": play(malilla_v0.env()),
            "texas env": play(texas_holdem.env()),
            "raw_env": play(malilla_v0.raw_env()),
            "texas raw_env": play(texas_holdem.raw_env()),
        },
        effort,
    )
    return [
        Comparison(
            f"AEC {kind}()",
            "steps/s",
            rates[kind],
            f"PettingZoo texas_holdem_v4 {kind}()",
            rates[f"texas {kind}"],
            ratio_at_least=ratio,
        )
        for kind, ratio in (("env", 2.0), ("raw_env", 3.0))
    ]
