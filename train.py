"""Train a policy by self-play: a config in, a run folder out.

    python train.py configs/cpu.toml --out runs/cpu
    python train.py configs/cpu.toml --out runs/cpu --resume
    python train.py configs/cpu.toml --out runs/try --seed 11 --ppo.epochs 1
    python train.py configs/manille.toml --out runs/house --set last_trick_bonus=1

Each update plays hands, estimates advantages, and improves the networks on them; now and then the policy is evaluated
and a checkpoint written. The run folder holds checkpoints/ and TensorBoard's event files. docs/TRAINING.md explains
every part and metric.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import torch
import tyro
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from torch.utils.tensorboard import SummaryWriter

from agents.learning import checkpoint
from agents.learning.checkpoint import Progress as Counters
from agents.learning.config import Config, Evaluation, Imitation, check, load_config
from agents.learning.ppo import Learner, update
from agents.learning.rollout import collect
from agents.learning.teacher import Teacher
from agents.neural import Critic, NeuralPlayer, Policy
from agents.registry import make
from arena.match import meet
from arena.player import Player
from arena.stats import estimate
from malilla_env import RuleSet
from malilla_env.rules import override


@dataclass(frozen=True)
class Arguments:
    """Train a policy by self-play."""

    config: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(help="a TOML file of configs/")]
    out: Annotated[Path, tyro.conf.arg(help="the run's folder")]
    resume: Annotated[bool, tyro.conf.arg(help="go on from the newest checkpoint of the folder")] = False
    set: Annotated[
        tyro.conf.UseAppendAction[tuple[str, ...]],
        tyro.conf.arg(metavar="FIELD=VALUE", help="change a field of the rule set, e.g. --set target=70; repeatable"),
    ] = ()


def main() -> int:
    """Parse the command line and train; a wrong input ends in one line that names it."""
    arguments, rest = tyro.cli(Arguments, return_unknown_args=True)
    try:
        config = tyro.cli(Config, default=load_config(arguments.config), args=rest)
        overrides = config.game.overrides | dict(override(text) for text in arguments.set)
        config = replace(config, game=replace(config.game, overrides=overrides))
        check(config)
        train(config, arguments.out, arguments.resume)
    except (ValueError, OSError, FloatingPointError) as error:
        print("train.py:", *str(error).split(), file=sys.stderr)
        return 2
    return 0


def train(config: Config, run: Path, resume: bool) -> None:
    """The recipe: play, learn, log, evaluate, keep."""
    rules, learner = config.rules(), new_learner(config)
    imitation: Imitation | None = config.imitation
    teacher = new_teacher(config.imitation, rules)
    opponents = [Player(spec, make(spec, rules)) for spec in config.evaluation.opponents]
    counters = start(run, learner, config, resume)  # last, since it writes: a wrong name leaves nothing behind
    log = SummaryWriter(str(run), purge_step=counters.decisions)
    with progress_bar() as bar:
        task = bar.add_task("", total=config.decisions, completed=counters.decisions, told="")
        while counters.decisions < config.decisions:
            began, fraction = time.perf_counter(), counters.decisions / config.decisions
            if counters.decisions >= config.imitation.decisions:
                teacher = imitation = None
            networks = (learner.policy, learner.critic)
            rollout = collect(rules, *networks, config.ppo, config.seed, counters.update, teacher)
            metrics = update(learner, rollout, config.ppo, fraction, config.seed + counters.update, imitation)
            metrics["decisions_per_second"] = rollout.decisions / (time.perf_counter() - began)
            counters = Counters(counters.update + 1, counters.decisions + rollout.decisions)
            done = counters.decisions >= config.decisions
            if config.evaluation.every and (done or counters.update % config.evaluation.every == 0):
                metrics |= evaluate(learner, rules, opponents, config.evaluation)
            if done or counters.update % config.checkpoint_every == 0:
                checkpoint.save(run, learner, config, counters)
            report(log, bar, task, counters, metrics)
    log.close()


def new_learner(config: Config) -> Learner:
    """Networks and optimisers at their start, on the device; the seed decides the weights."""
    torch.set_num_threads(config.threads)
    torch.manual_seed(config.seed)
    device = ("cuda" if torch.cuda.is_available() else "cpu") if config.device == "auto" else config.device
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise ValueError(f"device {device!r}: PyTorch finds no CUDA here; use auto or cpu")
    rules = config.rules()
    policy, critic = Policy(rules, config.network.policy), Critic(rules, config.network.critic)
    return Learner.new(policy.to(device), critic.to(device), config.ppo)


def new_teacher(config: Imitation, rules: RuleSet) -> Teacher | None:
    """Who plays at the start of the budget; ValueError for an unknown player."""
    return Teacher(make(config.player, rules), config.temperature) if config.decisions else None


def start(run: Path, learner: Learner, config: Config, resume: bool) -> Counters:
    """A new run's counters, or those of the checkpoint that is resumed; ValueError rather than overwrite a run."""
    started = (run / "checkpoints").exists()
    if started and not resume:
        raise ValueError(f"{run} already holds a run: add --resume to go on with it, or choose another --out")
    if resume and checkpoint.any_in(run):
        return checkpoint.resume(run, learner, config)
    checkpoint.save(run, learner, config, Counters())
    return Counters()


def evaluate(learner: Learner, rules: RuleSet, opponents: list[Player], config: Evaluation) -> dict[str, float]:
    """Margins against the opponents, on deals kept for tuning."""
    player = Player("policy", NeuralPlayer(rules, learner.policy))
    margins = {}
    for opponent in opponents:
        meeting = meet(player, opponent, rules, config.seed, config.pairs)
        margins[f"margin_{opponent.name}"] = estimate(meeting.margins).mean
    learner.policy.train()
    return margins


def progress_bar() -> Progress:
    return Progress(
        TextColumn("{task.completed:,.0f} of {task.total:,.0f} decisions"),
        BarColumn(bar_width=20),
        TimeRemainingColumn(),
        TextColumn("{task.fields[told]}"),
        refresh_per_second=2,
    )


TOLD = {"decisions_per_second": "{:,.0f}/s", "entropy": "entropy {:.2f}", "explained_variance": "critic {:.2f}"}


def report(log: SummaryWriter, bar: Progress, task: TaskID, counters: Counters, metrics: dict[str, float]) -> None:
    """Every metric to TensorBoard; the telling ones to the progress line, evaluations to lines that stay."""
    for name, value in metrics.items():
        log.add_scalar(name, value, counters.decisions)
    told = "  ".join(form.format(metrics[name]) for name, form in TOLD.items())
    bar.update(task, completed=counters.decisions, told=told)
    margins = [f"{name.removeprefix('margin_')} {value:+.2f}" for name, value in metrics.items() if "margin_" in name]
    if margins:
        bar.console.print(f"{counters.decisions:>12,} decisions: margin against {', '.join(margins)}  {told}")


if __name__ == "__main__":
    sys.exit(main())
