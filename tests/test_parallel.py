"""Training by several processes (torchrun) and by several threads: what comes out is what one of them makes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import train
from agents.learning.config import Network, Ppo, load_config
from agents.learning.parallel import Processes, collectively, joined
from agents.learning.ppo import Learner, update
from agents.learning.rollout import Rollout, collect, parts
from agents.neural import Critic, Policy
from malilla_env import ruleset

pytestmark = pytest.mark.usefixtures("one_thread")

ROOT = Path(__file__).parents[1]
RULES = ruleset()
SMOKE = ROOT / "configs" / "smoke.toml"
TINY = {"decisions": 4000, "threads": 1, "checkpoint_every": 1}  # four updates
PARTS = """
[evaluation]
every = 0
[league]
share = 0.5
partner = 0.25
every = 1
size = 2
[belief]
weight = 0.5
"""


def networks() -> tuple[Policy, Critic]:
    torch.manual_seed(0)
    return Policy(RULES, (16,)), Critic(RULES, (16,))


def torchrun(*arguments: str) -> list[str]:
    """A command that starts processes as the `torchrun` program does."""
    return [sys.executable, "-m", "torch.distributed.run", "--standalone", *arguments]


def newest(run: Path) -> Path:
    return max((run / "checkpoints").glob("[0-9]*"))


def assert_alike(one: Path, other: Path) -> None:
    """The same counters and league, and weights that differ by no more than sums do that are added in another order."""
    counters = [json.loads((folder / "meta.json").read_text()) for folder in (one, other)]
    assert [meta["update"] for meta in counters] == [4, 4]
    assert counters[0]["decisions"] == counters[1]["decisions"]
    assert counters[0]["league"] == counters[1]["league"]
    for name in ("policy", "critic", "beliefs", "muon", "adam"):
        tensors = [load_file(folder / f"{name}.safetensors") for folder in (one, other)]
        for key, tensor in tensors[0].items():
            assert torch.allclose(tensor, tensors[1][key], rtol=1e-4, atol=1e-6), f"{name} {key}"


def tiny(run: Path, **changes: object) -> list[str]:
    """A config of four updates, with all that there is to share, written beside its run; the command that trains it."""
    file = run.with_suffix(".toml")
    lines = [f"{key} = {json.dumps(value)}" for key, value in {**TINY, **changes}.items()]
    file.write_text("\n".join([f'extends = "{SMOKE}"', *lines, PARTS]), encoding="utf-8")
    return [str(ROOT / "train.py"), str(file), "--out", str(run)]


def test_two_processes_learn_what_one_does(tmp_path: Path) -> None:
    for number in (1, 2):
        command = torchrun(f"--nproc-per-node={number}", *tiny(tmp_path / str(number)))
        subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    subprocess.run([sys.executable, *tiny(tmp_path / "alone")], check=True, capture_output=True, cwd=ROOT)
    assert_alike(newest(tmp_path / "1"), newest(tmp_path / "alone"))
    assert_alike(newest(tmp_path / "2"), newest(tmp_path / "alone"))
    assert len(list((tmp_path / "2").glob("events*"))) == 1  # one of them reports


@pytest.mark.slow
def test_processes_that_are_started_again_go_on_from_the_checkpoint(tmp_path: Path) -> None:
    """An elastic restart: one of two is killed, torchrun starts both again, and nothing that was learned is lost."""
    arguments = tiny(tmp_path / "killed")
    command = torchrun("--nproc-per-node=2", "--max-restarts=1", *arguments, "--resume")
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (tmp_path / "killed" / "checkpoints" / "00000002").exists():
        assert process.poll() is None
        time.sleep(0.01)
    workers = subprocess.run(
        ["pgrep", "-f", str(tmp_path / "killed.toml"), "-P", str(process.pid)], capture_output=True
    )
    os.kill(int(workers.stdout.split()[-1]), signal.SIGKILL)
    assert process.wait(timeout=120) == 0
    subprocess.run([sys.executable, *tiny(tmp_path / "whole")], check=True, capture_output=True, cwd=ROOT)
    assert_alike(newest(tmp_path / "killed"), newest(tmp_path / "whole"))


def test_a_process_knows_its_lanes() -> None:
    shares = [Processes(rank, 3).lanes(32) for rank in range(3)]
    assert [lane for share in shares for lane in share] == list(range(32))
    assert [Processes(rank, 3).leads for rank in range(3)] == [True, False, False]
    with pytest.raises(ValueError, match=r"ppo\.lanes 2 must be 3 or more"):
        Processes(0, 3).lanes(2)


def test_a_process_whose_others_have_ended_says_so() -> None:
    def closed(*_: object) -> None:
        raise RuntimeError("Connection closed by peer")

    with pytest.raises(ConnectionError, match="another process of this run has ended"):
        collectively(closed)


def test_without_torchrun_a_process_is_alone() -> None:
    with joined("cpu") as processes:
        assert (processes.size, processes.leads, processes.device.type) == (1, True, "cpu")
        assert processes.place(7) == (0, 7)
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="device 'cuda': PyTorch finds no CUDA here"), joined("cuda"):
            pass


def by_lane(rollout: Rollout) -> dict[str, torch.Tensor]:
    names = ("observation", "state", "legal", "action", "log_prob", "advantage", "returns", "value")
    return {name: getattr(rollout, name)[rollout.by_lane] for name in names}


def test_threads_play_the_hands_that_one_plays() -> None:
    policy, critic = networks()
    one = collect(RULES, policy, critic, Ppo(lanes=33), 10, 2)
    some = collect(RULES, policy, critic, Ppo(lanes=33, workers=3), 10, 2)
    assert (one.tally.decisions, len(one)) == (some.tally.decisions, len(some))
    assert abs(one.tally.margin - some.tally.margin) < 1e-3
    for name, rows in by_lane(one).items():
        assert torch.allclose(rows.float(), by_lane(some)[name].float(), atol=1e-5), name
    assert [len(block) for block in parts(range(3, 10), 3)] == [2, 2, 3]
    assert parts(range(2), 5) == [range(0, 1), range(1, 2)]


def test_a_share_of_the_lanes_is_that_part_of_all() -> None:
    policy, critic = networks()
    whole, share = (collect(RULES, policy, critic, Ppo(lanes=16), 10, 0, lanes=lanes) for lanes in (None, range(8, 16)))
    rows, own = by_lane(whole)["state"], by_lane(share)["state"]
    assert torch.equal(rows[-len(own) :], own)


@pytest.mark.parametrize(
    "change",
    [
        {"precision": "bfloat16"},
        pytest.param(
            {"compile": True},
            marks=[pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*jit:DeprecationWarning")],  # torch's own
        ),
    ],
)
def test_reduced_precision_and_compilation_change_little(change: dict[str, object]) -> None:
    """An update whose metrics are near those of plain float32."""
    metrics = []
    for config in (Ppo(lanes=32, minibatch=256), Ppo(lanes=32, minibatch=256, **change)):
        learner = Learner.new(*networks(), config)
        rollout = collect(RULES, learner.policy, learner.critic, config, 10, 0)
        metrics.append(update(learner, rollout, config, 0.0, 0))
    for name in ("entropy", "value_loss"):
        assert metrics[1][name] == pytest.approx(metrics[0][name], rel=0.05)


def test_the_gpu_config_runs_small_on_the_processor(tmp_path: Path) -> None:
    config = load_config(ROOT / "configs" / "gpu.toml")
    ppo, evaluation = replace(config.ppo, lanes=28, minibatch=512), replace(config.evaluation, pairs=4)
    imitation, network = replace(config.imitation, decisions=1000), Network(policy=(16,), critic=(16,))
    config = replace(
        config, decisions=3000, device="cpu", ppo=ppo, network=network, imitation=imitation, evaluation=evaluation
    )
    train.train(config, tmp_path / "run", resume=False)
    assert json.loads((newest(tmp_path / "run") / "meta.json").read_text())["decisions"] >= 3000
