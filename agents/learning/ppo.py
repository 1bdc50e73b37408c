"""PPO: the loss and the update (Schulman et al. 2017) with a critic that sees all hands.

Enters: a Rollout and the networks. Leaves: the networks, changed in place, and the metrics that docs/TRAINING.md
explains. Forced moves are not in a rollout, so they weigh nothing here.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.learning.config import Imitation, Ppo
from agents.learning.muon import Muon
from agents.learning.rollout import Rollout, autocast
from agents.neural import Critic, Policy

COLUMNS = ("observation", "state", "legal", "action", "log_prob", "returns")


@dataclass
class Learner:
    """The networks and what moves both: Muon the weight matrices up to the last hidden layer, Adam all the rest."""

    policy: Policy
    critic: Critic
    muon: Muon
    adam: torch.optim.Adam

    @classmethod
    def new(cls, policy: Policy, critic: Critic, config: Ppo) -> Learner:
        matrices = [*policy.body.matrices(), *critic.body.matrices()]
        moved = set(map(id, matrices))
        rest = [weight for weight in (*policy.parameters(), *critic.parameters()) if id(weight) not in moved]
        adam = torch.optim.Adam(rest, lr=config.learning_rate, eps=1e-5, fused=True)
        return cls(policy, critic, Muon(matrices, lr=config.learning_rate * config.muon), adam)

    def set_rate(self, rate: float, muon: float) -> None:
        """The learning rate of the next steps: Adam's, and Muon's as a multiple of it."""
        self.adam.param_groups[0]["lr"] = rate
        self.muon.param_groups[0]["lr"] = rate * muon

    def descend(self, loss: Tensor, max_gradient: float) -> Tensor:
        """One step down the loss; returns the policy's gradient norm before it was cut."""
        for optimizer in (self.muon, self.adam):
            optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        norm = nn.utils.clip_grad_norm_(self.policy.parameters(), max_gradient)
        nn.utils.clip_grad_norm_(self.critic.parameters(), max_gradient)
        for optimizer in (self.muon, self.adam):
            optimizer.step()
        return norm


def anneal(start: float, end: float, fraction: float) -> float:
    """Linear from start to end as the spent fraction of the budget goes from 0 to 1."""
    return start + (end - start) * min(1.0, fraction)


def entropy_of(log_probs: Tensor) -> Tensor:
    """[n]: the entropy of masked log-probabilities [n, A]; an illegal action adds 0, not 0 times infinity."""
    probabilities = log_probs.exp()
    return -(probabilities * torch.where(probabilities > 0, log_probs, 0.0)).sum(dim=1)


def cross_entropy(lesson: Tensor, log_probs: Tensor) -> Tensor:
    """Mean over rows of the surprise that a policy finds in a teacher's play: logits [n, A] of its moves."""
    return -(lesson.softmax(dim=1) * log_probs).sum(dim=1).mean()


def losses(learner: Learner, batch: dict[str, Tensor], clip: float, imitate: bool = False) -> dict[str, Tensor]:
    """The parts of the loss over a minibatch, and what is logged beside them; imitating, a lesson is learned."""
    with autocast(batch["observation"].device):
        logits = learner.policy(batch["observation"], batch["legal"])
        value = learner.critic(batch["state"])
    log_probs = functional.log_softmax(logits, dim=1)
    chosen = log_probs.gather(1, batch["action"][:, None])[:, 0]
    change = chosen - batch["log_prob"]
    ratio = change.exp()
    gain = torch.min(ratio * batch["advantage"], ratio.clamp(1 - clip, 1 + clip) * batch["advantage"])
    return {
        "policy_loss": cross_entropy(batch["lesson"], log_probs) if imitate else -gain.mean(),
        "value_loss": functional.mse_loss(value, batch["returns"]),
        "entropy": entropy_of(log_probs).mean(),
        "kl": (ratio.detach() - 1 - change.detach()).mean(),
        "clipped": ((ratio.detach() - 1).abs() > clip).float().mean(),
    }


def step(learner: Learner, parts: dict[str, Tensor], entropy: float, max_gradient: float) -> Tensor:
    """One gradient step; returns the policy's gradient norm before it was cut."""
    loss = parts["policy_loss"] + parts["value_loss"] - entropy * parts["entropy"]
    if not torch.isfinite(loss):
        values = ", ".join(f"{name} {float(part.detach()):g}" for name, part in parts.items())
        raise FloatingPointError(f"the loss is not finite ({values}): lower ppo.learning_rate, resume a checkpoint")
    return learner.descend(loss, max_gradient)


def update(
    learner: Learner, rollout: Rollout, config: Ppo, fraction: float, seed: int, imitation: Imitation | None = None
) -> dict[str, float]:
    """The epochs of one update at a spent fraction of the budget, or of an imitation; returns each metric's mean."""
    imitate = imitation is not None
    rate = anneal(config.learning_rate, config.final_learning_rate, fraction)
    entropy = 0.0 if imitate else anneal(config.entropy, config.final_entropy, fraction)
    learner.set_rate(rate, imitation.muon if imitation else config.muon)
    advantage = (rollout.advantage - rollout.advantage.mean()) / (rollout.advantage.std() + 1e-8)
    columns = {name: getattr(rollout, name) for name in COLUMNS} | {"advantage": advantage}
    if imitate:
        columns["lesson"] = rollout.lesson
    order = torch.Generator().manual_seed(seed)
    sums: dict[str, list[float]] = defaultdict(list)
    for _ in range(config.epochs):
        for rows in torch.randperm(len(rollout), generator=order).split(config.minibatch):
            batch = {name: column[rows.to(column.device)] for name, column in columns.items()}
            parts = losses(learner, batch, config.clip, imitate)
            parts["gradient"] = step(learner, parts, entropy, config.max_gradient)
            for name, part in parts.items():
                sums[name].append(float(part.detach()))
    metrics = {name: sum(values) / len(values) for name, values in sums.items()}
    return metrics | {"learning_rate": rate, "entropy_weight": entropy} | fit(rollout)


def fit(rollout: Rollout) -> dict[str, float]:
    """How the rollout went before the update: the critic's explained variance, and the share of real choices."""
    returns = rollout.returns[:, 0]
    left = (returns - rollout.value[:, 0]).var() / (returns.var() + 1e-8)
    return {
        "explained_variance": 1 - float(left),
        "choices": len(rollout) / rollout.decisions,
        "margin": rollout.margin,
    }
