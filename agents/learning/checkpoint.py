"""Checkpoints: what a run keeps to go on from, and its league's snapshots.

Enters: a learner, its config and its counters. Leaves: `run/checkpoints/<update>/` with policy.safetensors,
critic.safetensors, the optimisers' muon.safetensors and adam.safetensors, with a belief head (the config in meta.json
tells by its `belief.weight`) beliefs.safetensors, and meta.json; and the league's snapshots, `run/league/<update>/`
with policy.safetensors and meta.json, which load as checkpoints do. All randomness of a run is counter-based (seed,
update), so the counters are its whole random state.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from agents.learning.config import Config
from agents.learning.files import load_into, part_of, tensors_in, write
from agents.learning.ppo import Learner
from agents.learning.stored import FORMAT, check_fit, config_of, differences, find, folders_of, read_meta
from agents.neural import Policy
from malilla_env import __version__
from malilla_env.observation import layout, state_layout

KEPT = 2  # newest checkpoints of a run; older ones are deleted


@dataclass(frozen=True)
class Snapshot:
    """A member of the league: a policy of the past, and what the learner has won against it."""

    update: int  # after which it was the learner's policy
    hands: float = 0.0  # that the learner played against it, older ones counting less
    points: float = 0.0  # by which the learner was above the mean of the sides in them, summed


@dataclass(frozen=True)
class Progress:
    """How far a run has come: with the config's seed, all of its random state."""

    update: int = 0
    decisions: int = 0
    league: tuple[Snapshot, ...] = ()  # oldest first
    changes: tuple[str, ...] = ()  # of the learning rate, by those who resumed it


def save(run: Path, learner: Learner, config: Config, progress: Progress) -> Path:
    """Write a checkpoint atomically and drop the oldest; returns its folder.

    OSError: it could not be written, the one before it stands.
    """
    folder = run / "checkpoints" / f"{progress.update:08d}"
    _write_in(run, "checkpoint", folder, tensors_of(learner), describe(config, progress))
    for old in folders_of(run)[:-KEPT]:
        old.rename(part_of(old))  # first, so that a kill leaves none half there
    for left in folder.parent.glob(".*.part"):
        shutil.rmtree(left, ignore_errors=True)
    _drop_snapshots(run)
    return folder


def save_snapshot(run: Path, policy: Policy, config: Config, progress: Progress) -> Path:
    """Write a policy for the league, atomically; `load_policy` reads it. Returns its folder; OSError as `save`."""
    folder = snapshot_folder(run, progress.update)
    files = {"policy.safetensors": policy.state_dict()}
    _write_in(run, "snapshot", folder, files, describe(config, replace(progress, league=())))
    return folder


def snapshot_folder(run: Path, update: int) -> Path:
    return run / "league" / f"{update:08d}"


def _drop_snapshots(run: Path) -> None:
    """Delete the snapshots that no checkpoint names any more; until then a run could still be resumed with them."""
    entries = [entry for folder in folders_of(run) for entry in read_meta(folder).get("league", [])]
    named = {snapshot_folder(run, entry["update"]) for entry in entries}
    for folder in set((run / "league").glob("[0-9]" * 8)) - named:
        shutil.rmtree(folder)


def _write_in(run: Path, kind: str, folder: Path, files: dict[str, dict[str, Tensor]], meta: dict[str, Any]) -> None:
    """`write` a folder of a run; its OSError says which one of what kind, where the run stands and what to do."""
    try:
        write(folder, files, meta)
    except OSError as error:
        raise OSError(
            f"cannot write the {kind} {folder} ({error}); {standing(run)}: make room, then go on with --resume"
        ) from error


def standing(run: Path) -> str:
    """Which checkpoint there is to go on from, in words."""
    folders = folders_of(run)
    return f"the checkpoint {folders[-1]} stands" if folders else f"{run} holds no checkpoint yet"


def describe(config: Config, progress: Progress) -> dict[str, Any]:
    """What meta.json says."""
    rules = config.rules()
    return {
        "format": FORMAT,
        "version": __version__,
        "commit": source_commit(),
        "config": config.to_dict(),
        "rules": rules.to_dict(),
        "rules_hash": rules.hash,
        "layout_hash": layout(rules).hash,
        "state_layout_hash": state_layout(rules).hash,
        "update": progress.update,
        "decisions": progress.decisions,
        "league": [asdict(snapshot) for snapshot in progress.league],
        "changes": list(progress.changes),
    }


@cache
def source_commit() -> str:
    """The commit of the project's source, "-dirty" behind it if files were changed since; "unknown" outside git."""
    root = Path(__file__).parents[2]
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    if not (root / ".git").exists():  # a copy inside some other repository
        return "unknown"
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def tensors_of(learner: Learner) -> dict[str, dict[str, Tensor]]:
    """The tensors of each file, by name; an optimiser's by the number of their parameter."""
    return {
        "policy.safetensors": learner.policy.state_dict(),
        "critic.safetensors": learner.critic.state_dict(),
        "muon.safetensors": _moments(learner.muon),
        "adam.safetensors": _moments(learner.adam),
        **({"beliefs.safetensors": learner.beliefs.state_dict()} if learner.beliefs else {}),
    }


def _moments(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    entries = optimizer.state_dict()["state"].items()
    return {f"{number}.{key}": value for number, entry in entries for key, value in entry.items()}


def resume(run: Path, learner: Learner, config: Config) -> Progress:
    """Restore a learner from the newest checkpoint of a run made with the same config, but for its learning rates."""
    folder = find(run)
    meta = read_meta(folder)
    then = config_of(folder, meta)
    if changed := differences(_with_rates(then, config).to_dict(), config.to_dict()):
        raise ValueError(f"{folder} was made with another config (then / now): {changed}")
    check_fit(folder, meta, config.rules())
    if meta["state_layout_hash"] != (state := state_layout(config.rules()).hash):
        raise ValueError(
            f"{folder}: the critic reads state layout {meta['state_layout_hash']}, not {state}: train anew"
        )
    restore(learner, folder)
    changes = tuple(meta.get("changes", ()))
    if rates := differences(then.to_dict(), config.to_dict()):
        changes += (f"update {meta['update']}: {rates}",)
    return Progress(meta["update"], meta["decisions"], _league(run, folder, meta), changes)


def _league(run: Path, folder: Path, meta: dict[str, Any]) -> tuple[Snapshot, ...]:
    """The snapshots that a checkpoint names; ValueError if one of them is not there."""
    league = tuple(Snapshot(**entry) for entry in meta.get("league", []))
    for snapshot in league:
        if not (lacking := snapshot_folder(run, snapshot.update) / "meta.json").is_file():
            raise ValueError(f"{folder} needs the league's snapshot {lacking.parent}, which is gone: put it back")
    return league


def _with_rates(config: Config, other: Config) -> Config:
    """A config with the learning rates of another: what may be changed to get a run past a loss that blew up."""
    start, end = other.ppo.learning_rate, other.ppo.final_learning_rate
    return replace(config, ppo=replace(config.ppo, learning_rate=start, final_learning_rate=end))


def restore(learner: Learner, folder: Path, finite: bool = True) -> None:
    """Fill the networks and optimisers from a checkpoint's folder; ValueError names the file that does not fit."""
    load_into(learner.policy, folder / "policy.safetensors", finite)
    load_into(learner.critic, folder / "critic.safetensors", finite)
    if learner.beliefs:
        load_into(learner.beliefs, folder / "beliefs.safetensors", finite)
    _load_optimizer(learner.muon, folder / "muon.safetensors", {"momentum"}, finite)
    _load_optimizer(learner.adam, folder / "adam.safetensors", {"step", "exp_avg", "exp_avg_sq"}, finite)


def _load_optimizer(optimizer: torch.optim.Optimizer, file: Path, names: set[str], finite: bool) -> None:
    """Fill an optimiser, which keeps these `names` for each of its parameters, or nothing before its first step."""
    whole = optimizer.state_dict()
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors_in(file, finite).items():
        place, _, name = key.partition(".")
        state.setdefault(int(place) if place.isdecimal() else -1, {})[name] = tensor
    numbers = {number for group in whole["param_groups"] for number in group["params"]}
    if state and (lacking := numbers - state.keys()):
        raise ValueError(f"cannot load {file}: it says nothing of the parameters {sorted(lacking)}")
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for number, entry in state.items():
        if number not in numbers or set(entry) != names:
            raise ValueError(f"cannot load {file}: it holds {sorted(entry)} of parameter {number}, not {sorted(names)}")
        for name, tensor in entry.items():
            if name != "step" and tensor.shape != (shape := parameters[number].shape):
                raise ValueError(f"cannot load {file}: {number}.{name} is {list(tensor.shape)}, not {list(shape)}")
    optimizer.load_state_dict({"state": state, "param_groups": whole["param_groups"]})
