"""Checkpoints: folders of safetensors and JSON, written whole or not at all; nothing in them is code.

Enters: a learner, its config and its counters. Leaves: `run/checkpoints/<update>/` with policy.safetensors,
critic.safetensors, the optimisers' muon.safetensors and adam.safetensors, with a belief head (the config in meta.json
tells by its `belief.weight`) beliefs.safetensors, and meta.json; and the league's snapshots, `run/league/<update>/`
with policy.safetensors and meta.json, which load as checkpoints do. All randomness of a run is counter-based (seed,
update), so the counters are its whole random state. A folder is written under another name and renamed when it is
complete.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from agents.beliefs import Beliefs
from agents.learning.config import Config, config_from
from agents.learning.limits import not_finite
from agents.learning.ppo import Learner
from agents.neural import Policy
from malilla_env import RuleSet, __version__
from malilla_env.observation import layout, state_layout

FORMAT = "malilla-checkpoint-3"
NEEDED = ("config", "rules", "rules_hash", "layout_hash", "state_layout_hash", "update", "decisions")
PACKED = ".safetensors"  # the suffix of one file that holds a policy and its meta.json
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
    for old in _folders(run)[:-KEPT]:
        old.rename(_part(old))  # first, so that a kill leaves none half there
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
    entries = [entry for folder in _folders(run) for entry in read_meta(folder).get("league", [])]
    named = {snapshot_folder(run, entry["update"]) for entry in entries}
    for folder in set((run / "league").glob("[0-9]" * 8)) - named:
        shutil.rmtree(folder)


def write(folder: Path, files: dict[str, dict[str, Tensor]], meta: dict[str, Any]) -> None:
    """A folder of safetensors, by the file's name, and a meta.json: there whole or not at all; OSError says why not."""
    part = _part(folder)
    shutil.rmtree(part, ignore_errors=True)
    try:
        part.mkdir(parents=True)
        for name, tensors in files.items():
            save_file({key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}, part / name)
        (part / "meta.json").write_text(json.dumps(meta, indent=1), encoding="utf-8")
        for file in (*part.iterdir(), part):
            _to_disk(file)
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
        _to_disk(folder.parent)
    except SafetensorError as error:  # what it makes of a full disk
        raise OSError(str(error)) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _write_in(run: Path, kind: str, folder: Path, files: dict[str, dict[str, Tensor]], meta: dict[str, Any]) -> None:
    """`write` a folder of a run; its OSError says which one of what kind, where the run stands and what to do."""
    try:
        write(folder, files, meta)
    except OSError as error:
        raise OSError(
            f"cannot write the {kind} {folder} ({error}); {standing(run)}: make room, then go on with --resume"
        ) from error


def _part(folder: Path) -> Path:
    """The name of a folder that is not yet, or no longer, complete."""
    return folder.with_name(f".{folder.name}.part")


def standing(run: Path) -> str:
    """Which checkpoint there is to go on from, in words."""
    folders = _folders(run)
    return f"the checkpoint {folders[-1]} stands" if folders else f"{run} holds no checkpoint yet"


def _to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


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
    """The meta.json of a checkpoint, its format and counters checked."""
    file = folder / "meta.json"
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ValueError(f"cannot read {file}: {error}") from error
    return _checked_meta(text, file)


def _checked_meta(text: str, file: Path) -> dict[str, Any]:
    """What a meta.json of this text says; ValueError names the file."""
    try:
        meta = json.loads(text)
    except ValueError as error:
        raise ValueError(f"cannot read {file}: {error}") from error
    if not isinstance(meta, dict):
        raise ValueError(f"{file} is not what a checkpoint holds: it must be an object, not {type(meta).__name__}")
    if meta.get("format") != FORMAT:
        raise ValueError(
            f"{file} is of the format {meta.get('format')!r}, not {FORMAT}: train anew, or use the version of "
            f"malilla_env that wrote it ({meta.get('version', 'unknown')}; this is {__version__})"
        )
    missing = [key for key in NEEDED if key not in meta]
    if missing:
        raise ValueError(f"{file} lacks {', '.join(missing)}")
    for key in ("update", "decisions"):
        if type(meta[key]) is not int or meta[key] < 0:
            raise ValueError(f"{file}: {key} must be a whole number, 0 or more, not {meta[key]!r}")
    return meta


def pack(path: Path, out: Path) -> None:
    """Write the policy of a checkpoint or run folder as one file, what meta.json says in its header: whole or not."""
    place, meta = stored(path)
    tensors = _tensors_in(_policy_file(place))
    part = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        save_file(tensors, part, metadata={"meta": json.dumps(meta)})
        _to_disk(part)
        part.replace(out)
    except SafetensorError as error:  # what it makes of a full disk
        raise OSError(f"cannot write {out}: {error}") from error
    finally:
        part.unlink(missing_ok=True)


def stored(path: Path) -> tuple[Path, dict[str, Any]]:
    """Where a policy lies, and what its meta.json says: a checkpoint, a run folder's newest, or a packed file."""
    if path.suffix != PACKED:
        folder = find(path)
        return folder, read_meta(folder)
    try:
        with safe_open(path, "pt") as file:
            told = file.metadata() or {}
    except (OSError, SafetensorError) as error:
        raise ValueError(f"cannot load {path}: {error}") from error
    if "meta" not in told:
        raise ValueError(f"{path} does not say what it plays: give a file that export.py wrote, or a checkpoint")
    return path, _checked_meta(told["meta"], path)


def _policy_file(place: Path) -> Path:
    """The file of a policy's weights, at a place that `stored` names."""
    return place if place.suffix == PACKED else place / f"policy{PACKED}"


def config_of(folder: Path, meta: dict[str, Any]) -> Config:
    """The config that a checkpoint was made with; ValueError names the place and the wrong key."""
    try:
        return config_from(meta["config"])
    except ValueError as error:
        raise ValueError(f"{folder}: its config does not fit this version: {error}") from error


def check_fit(folder: Path, meta: dict[str, Any], rules: RuleSet) -> None:
    """ValueError, naming both, if a checkpoint was made for another game or another observation layout."""
    if meta["rules_hash"] != rules.hash:
        try:
            made = RuleSet.from_dict(meta["rules"])
        except (ValueError, TypeError) as error:
            raise ValueError(f"{folder}: its rule set does not fit this version: {error}") from error
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


def _tensors_in(file: Path, finite: bool = True) -> dict[str, Tensor]:
    """The tensors of a file; ValueError names it if it cannot be read, or holds a number that is not finite."""
    try:
        tensors = load_file(file)
    except (OSError, SafetensorError) as error:
        raise ValueError(f"cannot load {file}: {error}") from error
    if finite and (wrong := not_finite(tensors)):
        raise ValueError(f"cannot load {file}: {wrong} holds numbers that are not finite; take an earlier checkpoint")
    return tensors


def _load(module: nn.Module, file: Path, finite: bool = True) -> None:
    """Fill a network from a file; ValueError names the file and what does not fit."""
    tensors = _tensors_in(file, finite)
    try:
        module.load_state_dict(tensors)
    except RuntimeError as error:
        raise ValueError(f"cannot load {file}: {' '.join(str(error).split())}") from error


def load_policy(path: Path, rules: RuleSet) -> Policy:
    """A stored policy, refused if it was made for other rules or another layout."""
    place, meta = stored(path)
    check_fit(place, meta, rules)
    policy = Policy(rules, config_of(place, meta).network.policy)
    _load(policy, _policy_file(place))
    return policy


def load_beliefs(path: Path, rules: RuleSet) -> tuple[Policy, Beliefs]:
    """The policy of a checkpoint or run folder and its belief head; ValueError if it has none, or as `load_policy`."""
    folder = find(path)
    policy, config = load_policy(folder, rules), config_of(folder, read_meta(folder))
    if not config.belief.weight:
        raise ValueError(f"{folder} has no belief head: give one that was trained with belief.weight above 0")
    beliefs = Beliefs(rules, config.network.policy[-1], config.network.belief)
    _load(beliefs, folder / "beliefs.safetensors")
    return policy, beliefs


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
    _load(learner.policy, folder / "policy.safetensors", finite)
    _load(learner.critic, folder / "critic.safetensors", finite)
    if learner.beliefs:
        _load(learner.beliefs, folder / "beliefs.safetensors", finite)
    _load_optimizer(learner.muon, folder / "muon.safetensors", {"momentum"}, finite)
    _load_optimizer(learner.adam, folder / "adam.safetensors", {"step", "exp_avg", "exp_avg_sq"}, finite)


def _load_optimizer(optimizer: torch.optim.Optimizer, file: Path, names: set[str], finite: bool) -> None:
    """Fill an optimiser, which keeps these `names` for each of its parameters, or nothing before its first step."""
    whole = optimizer.state_dict()
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in _tensors_in(file, finite).items():
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
