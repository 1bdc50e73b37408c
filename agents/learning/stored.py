"""Stored policies: what plays is read from here, and refused by name where it does not fit.

Enters: a path: a checkpoint, a run's folder (its newest counts) or a packed file, and the rules to play. Leaves: a
policy, a belief head, what meta.json says.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from agents.beliefs import Beliefs
from agents.learning.config import Config, config_from
from agents.learning.files import load_into, tensors_in, write_packed
from agents.neural import Policy
from malilla_env import RuleSet, __version__
from malilla_env.observation import layout

FORMAT = "malilla-checkpoint-3"
NEEDED = ("config", "rules", "rules_hash", "layout_hash", "state_layout_hash", "update", "decisions")
PACKED = ".safetensors"  # the suffix of one file that holds a policy and its meta.json


def pack(path: Path, out: Path) -> None:
    """Write the policy of a checkpoint or run folder as one file, what meta.json says in its header: whole or not."""
    place, meta = locate(path)
    write_packed(out, tensors_in(_policy_file(place)), meta)


def load_policy(path: Path, rules: RuleSet) -> Policy:
    """A stored policy, refused if it was made for other rules or another layout."""
    place, meta = locate(path)
    check_fit(place, meta, rules)
    policy = Policy(rules, config_of(place, meta).network.policy)
    load_into(policy, _policy_file(place))
    return policy


def load_beliefs(path: Path, rules: RuleSet) -> tuple[Policy, Beliefs]:
    """The policy of a checkpoint or run folder and its belief head; ValueError if it has none, or as `load_policy`."""
    folder = find(path)
    policy, config = load_policy(folder, rules), config_of(folder, read_meta(folder))
    if not config.belief.weight:
        raise ValueError(f"{folder} has no belief head: give one that was trained with belief.weight above 0")
    beliefs = Beliefs(rules, config.network.policy[-1], config.network.belief)
    load_into(beliefs, folder / "beliefs.safetensors")
    return policy, beliefs


def locate(path: Path) -> tuple[Path, dict[str, Any]]:
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
    """The file of a policy's weights, at a place that `locate` names."""
    return place if place.suffix == PACKED else place / f"policy{PACKED}"


def any_in(run: Path) -> bool:
    return bool(folders_of(run))


def find(path: Path) -> Path:
    """A checkpoint's folder, or the newest one of a run's folder; ValueError if there is none."""
    if (path / "meta.json").is_file():
        return path
    folders = folders_of(path)
    if not folders:
        raise ValueError(
            f"{path} holds no checkpoint: give a folder that train.py --out wrote, or one of its checkpoints"
        )
    return folders[-1]


def folders_of(run: Path) -> list[Path]:
    """The run's complete checkpoints, oldest first."""
    return sorted(path for path in (run / "checkpoints").glob("[0-9]*") if (path / "meta.json").is_file())


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
