"""Files of tensors: written whole or not at all, and read with the file's name in every error; nothing in them is code.

Enters: tensors by name, what is to be said of them. Leaves: a folder of safetensors with a meta.json, or one packed
file. Either is written under another name and renamed when it is complete and on the disk.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from agents.learning.limits import not_finite


def write(folder: Path, files: dict[str, dict[str, Tensor]], meta: dict[str, Any]) -> None:
    """A folder of safetensors, by the file's name, and a meta.json: there whole or not at all; OSError says why not."""
    part = part_of(folder)
    shutil.rmtree(part, ignore_errors=True)
    try:
        part.mkdir(parents=True)
        for name, tensors in files.items():
            _save({key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}, part / name)
        (part / "meta.json").write_text(json.dumps(meta, indent=1), encoding="utf-8")
        for file in (*part.iterdir(), part):
            to_disk(file)
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
        to_disk(folder.parent)
    except SafetensorError as error:  # what it makes of a full disk
        raise OSError(str(error)) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def write_packed(out: Path, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
    """One file of tensors, `meta` in its header: there whole or not at all; OSError says why not."""
    part = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        _save(tensors, part, {"meta": json.dumps(meta)})
        to_disk(part)
        part.replace(out)
    except SafetensorError as error:  # what it makes of a full disk
        raise OSError(f"cannot write {out}: {error}") from error
    finally:
        part.unlink(missing_ok=True)


def _save(tensors: dict[str, Tensor], file: Path, metadata: dict[str, str] | None = None) -> None:
    """Readable by whom other new files are: safetensors lets their owner alone read its own."""
    file.touch()
    mode = file.stat().st_mode
    save_file(tensors, file, metadata=metadata)
    file.chmod(mode)


def part_of(folder: Path) -> Path:
    """The name of a folder that is not yet, or no longer, complete."""
    return folder.with_name(f".{folder.name}.part")


def to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def tensors_in(file: Path, finite: bool = True) -> dict[str, Tensor]:
    """The tensors of a file; ValueError names it if it cannot be read, or holds a number that is not finite."""
    try:
        tensors = load_file(file)
    except (OSError, SafetensorError) as error:
        raise ValueError(f"cannot load {file}: {error}") from error
    if finite and (wrong := not_finite(tensors)):
        raise ValueError(f"cannot load {file}: {wrong} holds numbers that are not finite; take an earlier checkpoint")
    return tensors


def load_into(module: nn.Module, file: Path, finite: bool = True) -> None:
    """Fill a network from a file; ValueError names the file and what does not fit."""
    tensors = tensors_in(file, finite)
    try:
        module.load_state_dict(tensors)
    except RuntimeError as error:
        raise ValueError(f"cannot load {file}: {' '.join(str(error).split())}") from error
