"""Checkpoints: folders of safetensors and JSON, written whole or not at all; nothing in them is code.

Enters: a learner, its config and its counters. Leaves: `run/checkpoints/<update>/` with policy.safetensors,
critic.safetensors, the optimisers' muon.safetensors and adam.safetensors, and meta.json. All randomness of a run is
counter-based (seed, update), so the counters are its whole random state. A folder is written under another name and
renamed when it is complete.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from agents.learning.config import Config, config_from
from agents.learning.ppo import Learner
from agents.neural import Policy
from malilla_env import RuleSet, __version__
from malilla_env.observation import layout, state_layout

FORMAT = "malilla-checkpoint-3"
NEEDED = ("config", "rules", "rules_hash", "layout_hash", "state_layout_hash", "update", "decisions")
KEPT = 2  # newest checkpoints of a run; older ones are deleted


@dataclass(frozen=True)
class Progress:
    """How far a run has come: with the config's seed, all of its random state."""

    update: int = 0
    decisions: int = 0


def save(run: Path, learner: Learner, config: Config, progress: Progress) -> Path:
    """Write a checkpoint atomically and drop the oldest; returns its folder."""
    folder = run / "checkpoints" / f"{progress.update:08d}"
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    for name, tensors in _tensors(learner).items():
        save_file({key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}, part / name)
    (part / "meta.json").write_text(json.dumps(_meta(config, progress), indent=1), encoding="utf-8")
    for file in part.iterdir():
        _to_disk(file)
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
    _to_disk(folder.parent)
    for old in _folders(run)[:-KEPT]:
        shutil.rmtree(old)
    return folder


def _to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _meta(config: Config, progress: Progress) -> dict[str, Any]:
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


def _tensors(learner: Learner) -> dict[str, dict[str, Tensor]]:
    """The tensors of each file, by name; an optimiser's by the number of their parameter."""
    return {
        "policy.safetensors": learner.policy.state_dict(),
        "critic.safetensors": learner.critic.state_dict(),
        "muon.safetensors": _moments(learner.muon),
        "adam.safetensors": _moments(learner.adam),
    }


def _moments(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    entries = optimizer.state_dict()["state"].items()
    return {f"{number}.{key}": value for number, entry in entries for key, value in entry.items()}


def _folders(run: Path) -> list[Path]:
    """The run's complete checkpoints, oldest first."""
    return sorted(path for path in (run / "checkpoints").glob("[0-9]*") if (path / "meta.json").is_file())


def any_in(run: Path) -> bool:
    return bool(_folders(run))


def find(path: Path) -> Path:
    """A checkpoint's folder, or the newest one of a run's folder; ValueError if there is none."""
    if (path / "meta.json").is_file():
        return path
    folders = _folders(path)
    if not folders:
        raise ValueError(
            f"{path} holds no checkpoint: give a folder that train.py --out wrote, or one of its checkpoints"
        )
    return folders[-1]


def read_meta(folder: Path) -> dict[str, Any]:
    """The meta.json of a checkpoint, its format checked."""
    file = folder / "meta.json"
    try:
        meta = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"cannot read {file}: {error}") from error
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        raise ValueError(f"{file} is not of the format {FORMAT}: train anew, or use the version that wrote it")
    missing = [key for key in NEEDED if key not in meta]
    if missing:
        raise ValueError(f"{file} lacks {', '.join(missing)}")
    return meta


def check_fit(folder: Path, meta: dict[str, Any], rules: RuleSet) -> None:
    """ValueError, naming both, if a checkpoint was made for another game or another observation layout."""
    if meta["rules_hash"] != rules.hash:
        made = RuleSet.from_dict(meta["rules"])
        raise ValueError(
            f"{folder} was trained for rule set {made.name} ({meta['rules_hash']}), not {rules.name} ({rules.hash}): "
            + differences(made.to_dict(), rules.to_dict())
            + f". It plays {made.name}: name that as the rule set"
        )
    if meta["layout_hash"] != layout(rules).hash:
        raise ValueError(
            f"{folder} reads observation layout {meta['layout_hash']}, this version of malilla_env ({__version__}) "
            f"writes {layout(rules).hash}: train anew, or use version {meta.get('version')}"
        )


def differences(old: dict[str, Any], new: dict[str, Any], where: str = "") -> str:
    """The entries in which two nested dicts differ, as text."""
    parts = []
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key), new.get(key)
        if isinstance(before, dict) and isinstance(after, dict):
            parts.append(differences(before, after, f"{where}{key}."))
        elif before != after:
            parts.append(f"{where}{key} {before!r} / {after!r}")
    return ", ".join(part for part in parts if part)


def _load(module: nn.Module, file: Path) -> None:
    """Fill a network from a file; ValueError names the file and what does not fit."""
    try:
        module.load_state_dict(load_file(file))
    except (OSError, SafetensorError, RuntimeError) as error:
        raise ValueError(f"cannot load {file}: {error}") from error


def load_policy(path: Path, rules: RuleSet) -> Policy:
    """The policy of a checkpoint or run folder, refused if it was made for other rules or another layout."""
    folder = find(path)
    meta = read_meta(folder)
    check_fit(folder, meta, rules)
    policy = Policy(rules, config_from(meta["config"]).network.policy)
    _load(policy, folder / "policy.safetensors")
    return policy


def resume(run: Path, learner: Learner, config: Config) -> Progress:
    """Restore a learner from the newest checkpoint of a run made with the same config."""
    folder = find(run)
    meta = read_meta(folder)
    changed = differences(config_from(meta["config"]).to_dict(), config.to_dict())
    if changed:
        raise ValueError(f"{folder} was made with another config (then / now): {changed}")
    check_fit(folder, meta, config.rules())
    if meta["state_layout_hash"] != (state := state_layout(config.rules()).hash):
        raise ValueError(
            f"{folder}: the critic reads state layout {meta['state_layout_hash']}, not {state}: train anew"
        )
    _load(learner.policy, folder / "policy.safetensors")
    _load(learner.critic, folder / "critic.safetensors")
    _load_optimizer(learner.muon, folder / "muon.safetensors")
    _load_optimizer(learner.adam, folder / "adam.safetensors")
    return Progress(meta["update"], meta["decisions"])


def _load_optimizer(optimizer: torch.optim.Optimizer, file: Path) -> None:
    whole = optimizer.state_dict()
    state: dict[int, dict[str, Tensor]] = {}
    try:
        for key, tensor in load_file(file).items():
            number, name = key.split(".", 1)
            state.setdefault(int(number), {})[name] = tensor
        lacking = {number for group in whole["param_groups"] for number in group["params"]} - state.keys()
        if state and lacking:
            raise ValueError(f"it says nothing of the parameters {sorted(lacking)}")
        optimizer.load_state_dict({"state": state, "param_groups": whole["param_groups"]})
    except (OSError, SafetensorError, ValueError) as error:
        raise ValueError(f"cannot load {file}: {error}") from error
