"""The policies that ship with the project, and the players made of them: policy, policy+pimc, champion.

Enters: a rule set. Leaves: a player that uses `policies/`, or a ValueError that says which rule sets have one there.
"""

from __future__ import annotations

from pathlib import Path

from agents.base import Agent
from agents.search.pimc import PIMCPlayer
from malilla_env import PRESETS, RuleSet, ruleset
from malilla_env.policy import OnnxPlayer

POLICIES = Path(__file__).parents[1] / "policies"
WORLDS, TRICKS = 100, 5  # of the search that a policy gains most by; docs/LOG.md has the figures


def shipped(rules: RuleSet) -> Path:
    """The exported policy of a rule set, or of the same rules by another name."""
    names = (rules.name, *(name for name in PRESETS if ruleset(name).hash == rules.hash))
    for path in (POLICIES / f"{name}.onnx" for name in names):
        if path.is_file():
            return path
    there = ", ".join(sorted(file.stem for file in POLICIES.glob("*.onnx"))) or "none"
    raise ValueError(f"no policy for {rules.name} ships ({there}): train one and give its path")


def policy(rules: RuleSet) -> Agent:
    """The policy that ships: one forward pass a decision."""
    return OnnxPlayer(shipped(rules), rules)


def policy_with_search(
    rules: RuleSet,
    worlds: int | None = None,
    tricks: int | None = None,
    milliseconds: int | None = None,
    threads: int | None = None,
) -> Agent:
    """The policy early; in the last `tricks`, open-hand search over worlds weighed by how it would have played.

    ValueError: an option that makes no sense, or rules that the solver does not play.
    """
    path = str(shipped(rules))
    worlds = WORLDS if worlds is None and not milliseconds else worlds
    tricks = min(TRICKS, rules.num_tricks) if tricks is None else tricks
    return PIMCPlayer(rules, worlds, tricks, before=path, weights=path, milliseconds=milliseconds, threads=threads)


def champion(rules: RuleSet, threads: int | None = None) -> Agent:
    """The strongest player that there is for a rule set."""
    return policy_with_search(rules, threads=threads)
