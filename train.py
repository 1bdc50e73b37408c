"""Train a policy by self-play: a config in, a run folder out.

    python train.py configs/cpu.toml --out runs/cpu
    python train.py configs/cpu.toml --out runs/cpu --resume
    python train.py configs/cpu.toml --out runs/try --seed 11 --ppo.epochs 1
    python train.py configs/manille.toml --out runs/house --set last_trick_bonus=1
    torchrun --standalone --nproc-per-node=2 train.py configs/cpu.toml --out runs/cpu --resume

Each update plays hands, estimates advantages, and improves the networks on them; now and then the policy is evaluated
and a checkpoint written. Under torchrun the processes share the hands of every update and learn as one; the first of
them logs, evaluates and writes checkpoints. The run folder holds checkpoints/ and TensorBoard's event files.
docs/TRAINING.md explains every part and metric.
"""

from __future__ import annotations

import signal
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import torch
import tyro
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from agents.learning import checkpoint, failure, league, stored
from agents.learning.checkpoint import Progress as Counters
from agents.learning.config import Config, Evaluation, Imitation, check, load_config
from agents.learning.events import EventLog
from agents.learning.goal import Goal, new_goal
from agents.learning.interruption import Interruption
from agents.learning.parallel import ALONE, Processes, joined
from agents.learning.ppo import Learner, update
from agents.learning.rollout import Tally, collect
from agents.learning.teacher import Teacher
from agents.neural import NeuralPlayer
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
    """Parse the command line and train; what stops it is told in one line.

    Exit code 2: a wrong input, a loss that blew up or a full disk; 130 and 143: interrupted by Ctrl-C or SIGTERM.
    """
    arguments, rest = tyro.cli(Arguments, return_unknown_args=True)
    try:
        config = tyro.cli(Config, default=load_config(arguments.config), args=rest)
        overrides = config.game.overrides | dict(override(text) for text in arguments.set)
        config = replace(config, game=replace(config.game, overrides=overrides))
        check(config)
        stopped = train(config, arguments.out, arguments.resume)
    except KeyboardInterrupt:
        print("train.py: interrupted at once: what was played since the last checkpoint is lost", file=sys.stderr)
        return 128 + signal.SIGINT
    except (ValueError, OSError, FloatingPointError) as error:
        print("train.py:", *str(error).split(), file=sys.stderr)
        return 2
    if stopped:
        told = f"train.py: {stopped.name}: interrupted; {checkpoint.standing(arguments.out)}: go on with --resume"
        print(told, file=sys.stderr)
    return 128 + stopped if stopped else 0


def train(config: Config, run: Path, resume: bool) -> signal.Signals | None:
    """The recipe, in each of the processes that torchrun started, or in this one; the signal that ended it early."""
    with joined(config.device) as processes:
        return learn(config, run, resume, processes)


def learn(config: Config, run: Path, resume: bool, processes: Processes) -> signal.Signals | None:
    """The recipe: play, learn, evaluate, log, keep; returns the signal that ended it early, if one did."""
    rules, learner = config.rules(), new_learner(config, processes)
    teacher, goal = new_teacher(config.imitation, rules), new_goal(config.match, rules, config.seed)
    opponents = [Player(spec, make(spec, rules)) for spec in config.evaluation.opponents]
    lanes = processes.lanes(config.ppo.lanes)
    counters = start(run, learner, config, resume)  # last, since it writes: a wrong name leaves nothing behind
    done, stopping = counters.decisions >= config.decisions, 0
    with (
        Reports(run, config.decisions, counters, silent=not processes.leads) as reports,
        Interruption() as interruption,
    ):
        while not (done or stopping):
            if counters.decisions >= config.imitation.decisions:
                teacher = None
            counters, metrics = improve(run, learner, config, counters, lanes, teacher, goal)
            done, stopping = counters.decisions >= config.decisions, processes.most(interruption.signal or 0)
            if not processes.leads:
                continue
            due = config.evaluation.every and (done or counters.update % config.evaluation.every == 0)
            if due and not stopping:
                metrics |= evaluate(learner, rules, opponents, config.evaluation)
            reports.add(counters, metrics)
            if done or stopping or counters.update % config.checkpoint_every == 0:
                checkpoint.save(run, learner, config, counters)
    processes.wait()  # until the last checkpoint is there
    return None if done else signal.Signals(stopping)


def improve(
    run: Path, learner: Learner, config: Config, counters: Counters, lanes: range, teacher: Teacher | None, goal: Goal
) -> tuple[Counters, dict[str, float]]:
    """One update: hands are played in the lanes of this process and learned from; the counters then, and metrics."""
    began, rules = time.perf_counter(), config.rules()
    guest = None if teacher else league.invite(run, rules, learner, config, counters)
    networks, imitation = (learner.policy, learner.critic), config.imitation if teacher else None
    rollout = collect(rules, *networks, config.ppo, config.seed, counters.update, teacher, goal, guest, lanes)
    fraction = counters.decisions / config.decisions
    with failure.kept(run, learner, config, counters):
        metrics = update(learner, rollout, config.ppo, fraction, config.seed + counters.update, imitation)
    tally = learner.processes.total(rollout.tally)
    metrics["choices"] /= tally.decisions
    metrics |= described(tally, time.perf_counter() - began)
    counters = league.go_on(run, learner, config, counters, tally, guest)
    return counters, metrics | league.metrics(config.league, counters.league)


def new_learner(config: Config, processes: Processes = ALONE) -> Learner:
    """Networks and optimisers at their start, on the process's device; the seed decides the weights."""
    torch.set_num_threads(max(1, config.threads // processes.local_size))
    torch.manual_seed(config.seed)
    return Learner.of(config, processes)


def new_teacher(config: Imitation, rules: RuleSet) -> Teacher | None:
    """Who plays at the start of the budget; ValueError for an unknown player."""
    return Teacher(make(config.player, rules), config.temperature) if config.decisions else None


def start(run: Path, learner: Learner, config: Config, resume: bool) -> Counters:
    """A new run's counters, or those of the checkpoint that is resumed; ValueError rather than overwrite a run.

    Processes that were started again go on together from one checkpoint: all wait until the first has found or made it.
    """
    counters = Counters()
    if learner.processes.leads:
        if (run / "checkpoints").exists() and not resume:
            raise ValueError(f"{run} already holds a run: add --resume to go on with it, or choose another --out")
        if resume and stored.any_in(run):
            counters = checkpoint.resume(run, learner, config)
            for change in counters.changes:
                print(f"changed (then / now) at {change}")
        else:
            checkpoint.save(run, learner, config, counters)
    learner.processes.wait()
    return counters if learner.processes.leads else checkpoint.resume(run, learner, config)


def described(tally: Tally, seconds: float) -> dict[str, float]:
    """What is logged of the hands of an update."""
    return {"decisions_per_second": tally.decisions / seconds, "margin": tally.margin / tally.hands}


def evaluate(learner: Learner, rules: RuleSet, opponents: list[Player], config: Evaluation) -> dict[str, float]:
    """Margins against the opponents, on deals kept for tuning."""
    player = Player("policy", NeuralPlayer(rules, learner.policy))
    margins = {}
    for opponent in opponents:
        meeting = meet(player, opponent, rules, config.seed, config.pairs)
        margins[f"margin_{opponent.name}"] = estimate(meeting.margins).mean
    learner.policy.train()
    return margins


TOLD = {"decisions_per_second": "{:,.0f}/s", "entropy": "entropy {:.2f}", "explained_variance": "critic {:.2f}"}


class Reports:
    """Every metric to TensorBoard; the telling ones to a progress line, evaluations to lines that stay."""

    def __init__(self, run: Path, decisions: int, counters: Counters, silent: bool) -> None:
        self.log = None if silent else EventLog(run, counters.decisions)
        self.bar = Progress(
            TextColumn("{task.completed:,.0f} of {task.total:,.0f} decisions"),
            BarColumn(bar_width=20),
            TimeRemainingColumn(),
            TextColumn("{task.fields[told]}"),
            refresh_per_second=2,
            disable=silent,
        )
        self.task = self.bar.add_task("", total=decisions, completed=counters.decisions, told="")

    def __enter__(self) -> Reports:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def add(self, counters: Counters, metrics: dict[str, float]) -> None:
        """What came of an update."""
        assert self.log, "only the process that leads reports"
        self.log.write(metrics, counters.decisions)
        told = "  ".join(form.format(metrics[name]) for name, form in TOLD.items())
        self.bar.update(self.task, completed=counters.decisions, told=told)
        margins = [
            f"{name.removeprefix('margin_')} {value:+.2f}" for name, value in metrics.items() if "margin_" in name
        ]
        if margins:
            margin = ", ".join(margins)
            self.bar.console.print(f"{counters.decisions:>12,} decisions: margin against {margin}  {told}")


if __name__ == "__main__":
    sys.exit(main())
