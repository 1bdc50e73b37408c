"""Play one hand with an exported policy in all four seats of the PettingZoo environment.

    python export.py runs/cpu --out malilla.onnx
    python examples/play_exported_policy.py malilla.onnx             # of another game: FILE.onnx manille

Needs malilla_env and onnxruntime (`pip install 'malilla-env[policy]'`); no PyTorch.
"""

from __future__ import annotations

import sys

from malilla_env import malilla_v0
from malilla_env.policy import Policy


def play(path: str, ruleset: str = "malilla", seed: int = 10) -> dict[str, float]:
    """Play a hand, print each trick and what was said before it, and return what each seat was paid: its margin."""
    env = malilla_v0.env(ruleset=ruleset, episode="hand", reward="margin")
    rules, games = env.unwrapped.rules, env.unwrapped.games
    policy = Policy(path, rules)
    paid, trick = dict.fromkeys(env.possible_agents, 0.0), []
    env.reset(seed=seed)
    for agent in env.agent_iter():
        seen, reward, terminated, truncated, _ = env.last()
        paid[agent] += reward
        if terminated or truncated:
            env.step(None)
            continue
        action = policy.action(seen["observation"], seen["action_mask"])
        env.step(action)
        trick.append(f"{agent} {rules.action_names[action]}")
        if action < 4 * rules.ranks and (games.trick_size[0] == 0 or games.done[0]):
            print("   ".join(trick))
            trick = []
    print("   ".join(f"{agent} {reward:+.3f}" for agent, reward in paid.items()))
    return paid


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python examples/play_exported_policy.py FILE.onnx [RULE SET]")
    try:
        play(*sys.argv[1:])
    except (OSError, ValueError, ImportError) as error:
        sys.exit(str(error))
