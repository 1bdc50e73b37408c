"""PPO: the loss and the update (Schulman et al. 2017) with a critic that sees all hands.

Enters: a Rollout and the networks. Leaves: the networks, changed in place, and the metrics that docs/TRAINING.md
explains. Forced moves are not in a rollout, so they weigh nothing here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from agents.beliefs import Beliefs, possible, true_holders
from agents.learning.config import Belief, Config, Imitation, Ppo
from agents.learning.limits import check_step, check_weights, with_batch
from agents.learning.muon import Muon
from agents.learning.parallel import ALONE, Processes
from agents.learning.rollout import Rollout, autocast
from agents.neural import Critic, Policy
from malilla_env import RuleSet

COLUMNS = ("observation", "state", "legal", "action", "log_prob", "returns")
NO_HEAD = Belief()


class Networks(nn.Module):
    """All networks called as one, as DistributedDataParallel wants it: a loss has one forward pass."""

    def __init__(self, policy: Policy, critic: Critic, beliefs: Beliefs | None, shared: bool) -> None:
        super().__init__()
        self.policy, self.critic, self.beliefs, self.shared = policy, critic, beliefs, shared

    def forward(self, observation: Tensor, legal: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        """Logits [n, A], values [n, T] and, with a belief head, log-chances [n, H, C]."""
        hidden = self.policy.hidden(observation, legal)
        logits, value = self.policy.answer(hidden, legal), self.critic(state)
        if self.beliefs is None:
            return logits, value, None
        read = hidden if self.shared else (hidden[0].detach(), hidden[1].detach())
        return logits, value, self.beliefs(read, observation)


@dataclass
class Learner:
    """The networks and what moves both: Muon the weight matrices up to the last hidden layer, Adam all the rest."""

    policy: Policy
    critic: Critic
    muon: Muon
    adam: torch.optim.Adam
    processes: Processes
    trained: nn.Module  # the Networks as a loss calls them: its gradients are those of all processes
    beliefs: Beliefs | None = None
    belief: Belief = NO_HEAD

    @classmethod
    def new(
        cls,
        policy: Policy,
        critic: Critic,
        config: Ppo,
        processes: Processes = ALONE,
        beliefs: Beliefs | None = None,
        belief: Belief = NO_HEAD,
    ) -> Learner:
        networks = Networks(policy, critic, beliefs, belief.shared)
        if config.compile:
            for network in (policy, critic, networks):
                network.compile(dynamic=True)
        matrices = [matrix for network in networks.children() for matrix in network.body.matrices()]  # type: ignore[union-attr,operator]
        moved = set(map(id, matrices))
        rest = [weight for weight in networks.parameters() if id(weight) not in moved]
        adam = torch.optim.Adam(rest, lr=config.learning_rate, eps=1e-5, fused=True)
        muon = Muon(matrices, lr=config.learning_rate * config.muon)
        return cls(policy, critic, muon, adam, processes, processes.wrap(networks), beliefs, belief)

    @classmethod
    def of(cls, config: Config, processes: Processes = ALONE) -> Learner:
        """A config's, at its start, on the process's device: weights are drawn from torch's generator."""
        rules, net = config.rules(), config.network
        policy, critic = Policy(rules, net.policy), Critic(rules, net.critic)
        # Last: without a head the others start as they do with it.
        beliefs = Beliefs(rules, net.policy[-1], net.belief) if config.belief.weight else None
        networks = Networks(policy, critic, beliefs, config.belief.shared).to(processes.device)
        return cls.new(policy, critic, config.ppo, processes, networks.beliefs, config.belief)

    @property
    def networks(self) -> dict[str, nn.Module]:
        """Those that there are, by name."""
        heads = {"beliefs": self.beliefs} if self.beliefs else {}
        return {"policy": self.policy, "critic": self.critic, **heads}

    def set_rate(self, rate: float, muon: float) -> None:
        """The learning rate of the next steps: Adam's, and Muon's as a multiple of it."""
        self.adam.param_groups[0]["lr"] = rate
        self.muon.param_groups[0]["lr"] = rate * muon

    def slope(self, loss: Tensor, max_gradient: float) -> dict[str, Tensor]:
        """The gradients of the loss, cut to a norm for each network; returns their norms before that."""
        for optimizer in (self.muon, self.adam):
            optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        return {
            f"{name}_gradient": nn.utils.clip_grad_norm_(network.parameters(), max_gradient)
            for name, network in self.networks.items()
        }

    def move(self) -> None:
        """One step down the gradients."""
        for optimizer in (self.muon, self.adam):
            optimizer.step()


def anneal(start: float, end: float, fraction: float) -> float:
    """Linear from start to end as the spent fraction of the budget goes from 0 to 1."""
    return start + (end - start) * min(1.0, fraction)


def decay(start: float, end: float, fraction: float) -> float:
    """From start to end by equal ratios: most of a budget is spent on small steps, which average over many hands."""
    return float(start * (end / start) ** min(1.0, fraction))


def entropy_of(log_probs: Tensor) -> Tensor:
    """[n]: the entropy of masked log-probabilities [n, A]; an illegal action adds 0, not 0 times infinity."""
    probabilities = log_probs.exp()
    return -(probabilities * torch.where(probabilities > 0, log_probs, 0.0)).sum(dim=1)


def cross_entropy(lesson: Tensor, log_probs: Tensor) -> Tensor:
    """[n]: the surprise that a policy finds in a teacher's play, of which the logits [n, A] are given."""
    return -(lesson.softmax(dim=1) * log_probs).sum(dim=1)


def losses(
    learner: Learner, batch: dict[str, Tensor], config: Ppo, count: float, imitate: bool = False
) -> dict[str, Tensor]:
    """The parts of the loss over a minibatch, and what is logged beside them; imitating, a lesson is learned.

    Sums over the rows of this process, divided by `count`: the minibatch's rows on average over the processes.
    """
    with autocast(batch["observation"].device, config.precision):
        logits, value, chances = learner.trained(batch["observation"], batch["legal"], batch["state"])
    log_probs = functional.log_softmax(logits, dim=1)
    chosen = log_probs.gather(1, batch["action"][:, None])[:, 0]
    change = chosen - batch["log_prob"]
    ratio = change.exp()
    held = ratio.clamp(1 - config.clip, 1 + config.clip)
    gain = torch.min(ratio * batch["advantage"], held * batch["advantage"])
    rows = {
        "policy_loss": cross_entropy(batch["lesson"], log_probs) if imitate else -gain,
        "value_loss": (value - batch["returns"]).square().mean(dim=1),
        "entropy": entropy_of(log_probs),
        "kl": ratio.detach() - 1 - change.detach(),
        "clipped": ((ratio.detach() - 1).abs() > config.clip).float(),
    }
    if learner.beliefs:
        rows |= belief_losses(learner.beliefs.rules, chances, batch)
    return {name: part.sum() / count for name, part in rows.items()}


def belief_losses(rules: RuleSet, log_chances: Tensor, batch: dict[str, Tensor]) -> dict[str, Tensor]:
    """[n] each: the mean surprise at who holds a row's unseen cards, the head's and that of a uniform guess.

    The guess is among those of whom it is not known that they cannot hold the card.
    """
    truth = true_holders(rules, batch["state"])
    guess = possible(rules, batch["observation"]).sum(dim=1, keepdim=True).clamp(min=1).log()
    unseen = truth.sum(dim=(1, 2)).clamp(min=1)
    return {
        "belief_loss": -(log_chances * truth).sum(dim=(1, 2)) / unseen,
        "belief_uniform": (guess * truth).sum(dim=(1, 2)) / unseen,
    }


def step(
    learner: Learner, parts: dict[str, Tensor], entropy: float, max_gradient: float, imitate: bool = False
) -> Tensor:
    """One gradient step; returns the policy's gradient norm before it was cut. Unsound: it was not taken.

    Everything is checked after the gradients are known, and as means over the processes: all of them stop, or none.
    """
    loss = parts["policy_loss"] + parts["value_loss"] - entropy * parts["entropy"]
    if learner.beliefs:
        loss = loss + learner.belief.weight * parts["belief_loss"]
    norms = learner.slope(loss, max_gradient)
    found = parts | norms
    figures = learner.processes.mean(torch.stack([figure.detach().float() for figure in found.values()]))
    check_step(dict(zip(found, figures, strict=True)), imitate)
    learner.move()
    return norms["policy_gradient"]


def update(
    learner: Learner, rollout: Rollout, config: Ppo, fraction: float, seed: int, imitation: Imitation | None = None
) -> dict[str, float]:
    """The epochs of one update at a spent fraction of the budget, or of an imitation; returns each metric's mean."""
    imitate = imitation is not None
    rate = decay(config.learning_rate, config.final_learning_rate, fraction)
    entropy = 0.0 if imitate else anneal(config.entropy, config.final_entropy, fraction)
    learner.set_rate(rate, imitation.muon if imitation else config.muon)
    columns = {name: getattr(rollout, name) for name in COLUMNS}
    columns["advantage"] = standardised(rollout.advantage, learner.processes)
    if imitate:
        columns["lesson"] = rollout.lesson
    sums: dict[str, list[Tensor]] = defaultdict(list)
    for rows, count in minibatches(rollout, config, seed, learner.processes):
        batch = {name: column[rows.to(column.device)] for name, column in columns.items()}
        parts = losses(learner, batch, config, count, imitate)
        with with_batch(batch):
            parts["gradient"] = step(learner, parts, entropy, config.max_gradient, imitate)
        for name, part in parts.items():
            sums[name].append(part.detach())
    with with_batch(batch):
        check_weights(**learner.networks)
    means = learner.processes.mean(torch.stack([torch.stack(values).mean() for values in sums.values()]))
    metrics = dict(zip(sums, means.tolist(), strict=True))
    return metrics | {"learning_rate": rate, "entropy_weight": entropy} | fit(rollout, learner.processes)


def standardised(advantage: Tensor, processes: Processes) -> Tensor:
    """Advantages [M] less their mean, in their standard deviations, over the rows of all processes."""
    count, total = processes.sum(torch.stack([torch.ones_like(advantage).sum(), advantage.sum()]).double())
    centred = advantage - (total / count).float()
    variance = processes.sum(centred.double().square().sum()) / (count - 1)
    return centred / (variance.sqrt().float() + 1e-8)


def minibatches(rollout: Rollout, config: Ppo, seed: int, processes: Processes) -> Iterator[tuple[Tensor, float]]:
    """The rows of this process in each minibatch of each epoch, and how many a process has there on average.

    Rows are drawn from those of all processes, counted lane by lane: the same ones whoever played them.
    """
    first, total = processes.place(len(rollout))
    order = torch.Generator().manual_seed(seed)
    for _ in range(config.epochs):
        for drawn in torch.randperm(total, generator=order).split(config.minibatch):
            own = drawn[(drawn >= first) & (drawn < first + len(rollout))] - first
            yield rollout.by_lane[own], len(drawn) / processes.size


def fit(rollout: Rollout, processes: Processes) -> dict[str, float]:
    """What the critic explained of the variance of the returns before the update, and how many choices there were."""
    returns, left = rollout.returns[:, 0].double(), (rollout.returns - rollout.value)[:, 0].double()
    rows = torch.stack([torch.ones_like(returns), returns, returns.square(), left, left.square()])
    count, *moments = processes.sum(rows.sum(dim=1)).tolist()
    mean, square, left_mean, left_square = (moment / count for moment in moments)
    explained = 1 - (left_square - left_mean**2) / (square - mean**2 + 1e-8)
    return {"explained_variance": explained, "choices": count}
