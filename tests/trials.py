"""Small training runs, and faults to put into them: what the tests of training share."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.torch import save_file
from torch import Tensor

import train
from agents.learning import stored
from agents.learning.config import Config, config_from
from malilla_env import ruleset

ROOT = Path(__file__).parents[1]
RULES = ruleset()
UPDATE = 16 * 40  # decisions of an update of small()
FILES = ("policy", "critic", "muon", "adam")


def small(**values: object) -> Config:
    ppo_values = {"lanes": 16, "minibatch": 128, **values.pop("ppo", {})}  # type: ignore[dict-item]
    return config_from(
        {
            "network": {"policy": [16], "critic": [16]},
            "evaluation": {"every": 0},
            "threads": 1,
            "checkpoint_every": 2,
            "decisions": 5 * UPDATE,
            "ppo": ppo_values,
            **values,
        }
    )


def to_toml(config: Config, path: Path) -> Path:
    """The config in a file, as train.py reads it."""
    values = config.to_dict()
    tables = {key: values.pop(key) for key in list(values) if isinstance(values[key], dict)}
    tables["game"].pop("overrides")
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    for name, table in tables.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    path.write_text("\n".join(lines))
    return path


def weights(run: Path) -> dict[str, bytes]:
    folder = stored.find(run)
    return {name: (folder / f"{name}.safetensors").read_bytes() for name in FILES}


def newest(run: Path) -> str:
    return stored.find(run).name


def run_main(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["train.py", *map(str, arguments)])
    return train.main()


def full_disk(calls: int, error: Exception | None = None) -> Callable[..., None]:
    """A save_file that works so many times and then finds the disk full, half a file written."""
    left = [calls]

    def save(tensors: dict[str, Tensor], path: Path, metadata: dict[str, str] | None = None) -> None:
        left[0] -= 1
        if left[0] < 0:
            path.write_bytes(b"half")
            raise error or OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        save_file(tensors, path, metadata=metadata)

    return save


def raising(error: Exception) -> Callable[..., None]:
    def fail(*arguments: object, **named: object) -> None:
        raise error

    return fail
