"""The training loop in several processes, for `benchmarks.training`: started by torchrun, it answers in one line.

Enters: a training config as JSON, and seconds. Leaves: on standard output, the decisions of all processes and the
seconds they took, JSON again; starting and a first update are not counted.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable

from agents.learning.config import Config, config_from
from agents.learning.goal import new_goal
from agents.learning.parallel import Processes, joined
from agents.learning.ppo import update
from agents.learning.rollout import collect
from benchmarks.measure import Stretch
from train import new_learner


def updates(config: Config, processes: Processes) -> Callable[[int], int]:
    """The update of a number, self-play and gradient steps; answers how many decisions all processes played."""
    learner, goal = new_learner(config, processes), new_goal(config.match, config.rules(), config.seed)
    lanes = processes.lanes(config.ppo.lanes)

    def work(number: int) -> int:
        networks, seed = (learner.policy, learner.critic), config.seed
        rollout = collect(config.rules(), *networks, config.ppo, seed, number, goal=goal, lanes=lanes)
        update(learner, rollout, config.ppo, 0.0, seed + number)
        return processes.total(rollout.tally).decisions

    return work


def stretch(config: Config, count: int) -> Stretch:
    """A run of `count` processes for some seconds."""

    def work(seconds: float) -> tuple[int, float]:
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}"]
        command += ["-m", "benchmarks.processes", json.dumps(config.to_dict()), str(seconds)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{count} processes failed, with exit status {done.returncode}: {done.stderr}")
        decisions, spent = json.loads(done.stdout.splitlines()[-1])
        return decisions, spent

    return work


def main(config: Config, seconds: float) -> None:
    """In each of the processes; the first tells the clock for all, so that they stop together."""
    with joined(config.device) as processes:
        work, decisions, number = updates(config, processes), 0, 1
        work(0)
        start = time.perf_counter()
        while processes.most(int(processes.leads and time.perf_counter() - start >= seconds)) == 0:
            decisions, number = decisions + work(number), number + 1
        if processes.leads:
            print(json.dumps([decisions, time.perf_counter() - start]))


if __name__ == "__main__":
    main(config_from(json.loads(sys.argv[1])), float(sys.argv[2]))
