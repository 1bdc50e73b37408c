"""Checkpoints of other rules, layouts and versions, and broken ones: each is refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from trials import FILES, RULES, UPDATE, small

import export
import train
from agents.learning import checkpoint, stored
from agents.learning.checkpoint import Progress
from agents.registry import make
from malilla_env import ruleset

pytestmark = pytest.mark.usefixtures("one_thread")


# --- foreign and broken checkpoints
def changed_meta(folder: Path, **values: object) -> None:
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps({**meta, **values}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A checkpoint of small() after an update."""
    train.train(small(decisions=UPDATE), tmp_path / "run", resume=False)
    return stored.find(tmp_path / "run")


def refused_by_all(folder: Path, told: str) -> None:
    """By those who play it, export it and resume it."""
    with pytest.raises(ValueError, match=told):
        make(str(folder), RULES)
    with pytest.raises(ValueError, match=told):
        checkpoint.resume(folder.parents[1], train.new_learner(small()), small(decisions=UPDATE))
    with pytest.raises(ValueError, match=told):
        export.export(export.Options(folder, folder / "out.onnx"), export.Console())


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"format": "malilla-checkpoint-2", "version": "0.0.9"}, r"'malilla-checkpoint-2', not .* wrote it \(0\.0\.9;"),
        ({"format": None}, "of the format None, not malilla-checkpoint"),
        ({"update": -1}, r"meta\.json: update must be a whole number, 0 or more, not -1"),
        ({"decisions": -640}, r"meta\.json: decisions must be a whole number, 0 or more, not -640"),
        ({"decisions": 1.5}, "decisions must be a whole number"),
        ({"update": True}, "update must be a whole number"),
        ({"layout_hash": "0" * 16}, "reads observation layout 0000000000000000, this version"),
        ({"config": {"speed": 3}}, r": its config does not fit this version: unknown key speed"),
        ({"config": {"ppo": {"lanes": "many"}}}, r": its config .*ppo\.lanes must be int"),
        ({"config": []}, r": its config does not fit"),
    ],
)
def test_a_meta_that_does_not_fit_is_refused_by_name(folder: Path, values: dict[str, object], told: str) -> None:
    changed_meta(folder, **values)
    refused_by_all(folder, told)


def test_a_meta_that_is_a_list_or_lacks_something_is_refused_by_name(folder: Path) -> None:
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps([meta]))
    refused_by_all(folder, r"meta\.json is not what a checkpoint holds: it must be an object, not list")
    del meta["rules_hash"], meta["config"]
    (folder / "meta.json").write_text(json.dumps(meta))
    refused_by_all(folder, r"meta\.json lacks config, rules_hash")


def test_a_checkpoint_of_other_rules_is_refused_by_name(folder: Path) -> None:
    other = ruleset("manille")
    with pytest.raises(ValueError, match=r"trained for rule set malilla .*, not manille \("):
        make(str(folder), other)
    changed_meta(folder, rules_hash=other.hash, rules=other.to_dict())
    with pytest.raises(ValueError, match=r"trained for rule set manille .*, not malilla \("):
        checkpoint.resume(folder.parents[1], train.new_learner(small()), small(decisions=UPDATE))
    changed_meta(folder, rules={"nonsense": 1})
    with pytest.raises(ValueError, match=r": its rule set does not fit this version: a rule set needs"):
        make(str(folder), RULES)


def test_a_state_layout_of_another_version_is_refused_when_resuming(folder: Path) -> None:
    changed_meta(folder, state_layout_hash="0" * 16)
    with pytest.raises(ValueError, match="the critic reads state layout 0000000000000000, not"):
        checkpoint.resume(folder.parents[1], train.new_learner(small()), small(decisions=UPDATE))
    make(str(folder), RULES)  # playing needs no critic


def test_another_version_of_the_package_whose_formats_and_layouts_are_the_same_is_read(folder: Path) -> None:
    changed_meta(folder, version="0.0.9", commit="unknown")
    make(str(folder), RULES)
    assert checkpoint.resume(folder.parents[1], train.new_learner(small()), small(decisions=UPDATE)).update == 1


def test_networks_of_other_widths_are_refused_by_name(folder: Path) -> None:
    config = small(decisions=UPDATE).to_dict()
    config["network"]["policy"] = [32]
    changed_meta(folder, config=config)
    with pytest.raises(ValueError, match=r"cannot load .*: .*size mismatch"):
        make(str(folder), RULES)
    with pytest.raises(ValueError, match=r"another config .*network\.policy"):
        checkpoint.resume(folder.parents[1], train.new_learner(small()), small(decisions=UPDATE))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("fault", ["truncated", "empty", "gone", "nan"])
def test_a_broken_file_is_refused_by_name(folder: Path, name: str, fault: str) -> None:
    file = folder / f"{name}.safetensors"
    if fault == "gone":
        file.unlink()
    elif fault == "nan":
        tensors = load_file(file)
        key = next(key for key, tensor in tensors.items() if tensor.ndim)
        tensors[key].view(-1)[0] = float("nan")
        save_file(tensors, file)
    else:
        file.write_bytes(file.read_bytes()[:-1] if fault == "truncated" else b"")
    told = rf"cannot load .*{name}\.safetensors: " + (".*not finite; take an earlier" if fault == "nan" else "")
    with pytest.raises(ValueError, match=told):
        checkpoint.resume(folder.parents[1], train.new_learner(small()), small(decisions=UPDATE))
    if name == "policy":
        with pytest.raises(ValueError, match=told):
            make(str(folder), RULES)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda moments: {**moments, "99.momentum": moments["0.momentum"]}, r"\['momentum'\] of parameter 99"),
        (lambda moments: {**moments, "momentum": moments["0.momentum"]}, "of parameter -1"),
        (lambda moments: {**moments, "0.extra": moments["0.momentum"]}, r"\['extra', 'momentum'\] of parameter 0"),
        (lambda moments: {**moments, "0.momentum": torch.zeros(2, 2)}, r"0\.momentum is \[2, 2\], not \["),
    ],
)
def test_moments_that_do_not_fit_are_refused_by_name(folder: Path, change: Any, told: str) -> None:
    file = folder / "muon.safetensors"
    save_file({key: tensor.clone() for key, tensor in change(load_file(file)).items()}, file)
    with pytest.raises(ValueError, match=rf"cannot load .*muon\.safetensors: .*{told}"):
        checkpoint.resume(folder.parents[1], train.new_learner(small()), small(decisions=UPDATE))


def test_only_the_learning_rates_may_be_changed_when_resuming(folder: Path) -> None:
    run = folder.parents[1]
    other = small(decisions=UPDATE, ppo={"learning_rate": 5e-4, "entropy": 0.05})
    with pytest.raises(ValueError, match=r"another config \(then / now\): ppo\.entropy 0\.02 / 0\.05$"):
        checkpoint.resume(run, train.new_learner(other), other)
    lower = small(decisions=UPDATE, ppo={"learning_rate": 5e-4})
    progress = checkpoint.resume(run, train.new_learner(lower), lower)
    assert progress.changes == ("update 1: ppo.learning_rate 0.001 / 0.0005",)
    saved_again = checkpoint.save(
        run, train.new_learner(lower), lower, Progress(2, 2 * UPDATE, changes=progress.changes)
    )
    assert checkpoint.resume(run, train.new_learner(lower), lower).changes == progress.changes
    assert stored.read_meta(saved_again)["config"]["ppo"]["learning_rate"] == 5e-4


# --- one file
def test_files_may_be_read_by_whom_others_may(folder: Path, tmp_path: Path) -> None:
    out, other = tmp_path / "small.safetensors", tmp_path / "other"
    stored.pack(folder, out)
    other.touch()
    assert {path.stat().st_mode for path in (*folder.iterdir(), out)} == {other.stat().st_mode}


def test_a_packed_policy_is_the_policy_of_its_checkpoint(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "small.safetensors"
    export.export(export.Options(folder, out), export.Console())
    assert stored.locate(out)[1] == stored.read_meta(folder)
    packed, kept = stored.load_policy(out, RULES), stored.load_policy(folder, RULES)
    assert all(torch.equal(tensor, kept.state_dict()[name]) for name, tensor in packed.state_dict().items())
    assert make(str(out), RULES).name == "small.safetensors"
    again = tmp_path / "again.safetensors"
    export.export(export.Options(out, again), export.Console())
    assert again.read_bytes() == out.read_bytes()
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["again.safetensors", "run", "small.safetensors"]


def test_a_file_that_is_no_packed_policy_is_refused_by_name(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "small.safetensors"
    stored.pack(folder, out)
    with pytest.raises(ValueError, match=r"small\.safetensors was trained for rule set malilla .* not manille"):
        make(str(out), ruleset("manille"))
    out.write_bytes(out.read_bytes()[:-8])
    with pytest.raises(ValueError, match=r"cannot load .*small\.safetensors"):
        make(str(out), RULES)
    with pytest.raises(ValueError, match=r"policy\.safetensors does not say what it plays"):
        make(str(folder / "policy.safetensors"), RULES)
    with pytest.raises(ValueError, match="there is no such file"):
        make(str(tmp_path / "gone.safetensors"), RULES)
