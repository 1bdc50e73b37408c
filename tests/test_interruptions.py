"""What a run survives: full disks, kills at any moment, Ctrl-C and SIGTERM (CASE 18)."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from trials import ROOT, UPDATE, full_disk, newest, raising, run_main, small, to_toml, weights

import train
from agents.learning import checkpoint, files
from agents.learning.checkpoint import Progress
from agents.learning.events import EventLog
from agents.learning.interruption import Interruption
from agents.learning.rollout import collect


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of small() that nothing disturbed."""
    run = tmp_path_factory.mktemp("whole")
    train.train(small(), run, resume=False)
    return run


# --- full disks
@pytest.mark.parametrize("place", [0, 1, 2, 3, "safetensors", "meta.json", "sync", "rename"])
def test_a_checkpoint_that_finds_the_disk_full_leaves_the_one_before(
    place: int | str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each of the four files, at meta.json, when they are synced and when the folder gets its name."""
    config, full = small(), OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    learner = train.new_learner(config)
    checkpoint.save(tmp_path, learner, config, Progress(1, UPDATE))
    faults: dict[str, tuple[Any, str, Callable[..., None]]] = {
        "safetensors": (files, "save_file", full_disk(1, files.SafetensorError("No space left on device"))),
        "meta.json": (Path, "write_text", raising(full)),
        "sync": (files, "to_disk", raising(full)),
        "rename": (Path, "rename", raising(full)),
    }
    with monkeypatch.context() as patch:
        patch.setattr(*((files, "save_file", full_disk(place)) if isinstance(place, int) else faults[place]))
        with pytest.raises(
            OSError,
            match=r"cannot write the checkpoint .*00000002 \(.*No space left on device.*\); the checkpoint .*00000001 "
            "stands: make room, then go on with --resume",
        ):
            checkpoint.save(tmp_path, learner, config, Progress(2, 2 * UPDATE))
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == ["00000001"]
    assert checkpoint.resume(tmp_path, train.new_learner(config), config) == Progress(1, UPDATE)


def test_a_snapshot_that_finds_the_disk_full_says_where_the_run_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = train.new_learner(small())
    checkpoint.save(tmp_path, learner, small(), Progress(1, UPDATE))
    monkeypatch.setattr(files, "save_file", full_disk(0))
    told = r"cannot write the snapshot .*league/00000002 \(.*No space left.*\); .*00000001 stands: make room"
    with pytest.raises(OSError, match=told):
        checkpoint.save_snapshot(tmp_path, learner.policy, small(), Progress(2, 2 * UPDATE))
    assert not list((tmp_path / "league").iterdir())


def test_a_run_whose_disk_fills_up_ends_in_one_line_and_goes_on(
    tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file, run = to_toml(small(), tmp_path / "small.toml"), tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(files, "save_file", full_disk(9))  # of four a checkpoint, at updates 0, 2 and 4
        assert run_main(patch, file, "--out", run) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(f"train.py: cannot write the checkpoint {run}/checkpoints/00000004 (")
    assert f"; the checkpoint {run}/checkpoints/00000002 stands: make room" in line
    assert run_main(monkeypatch, file, "--out", run, "--resume") == 0
    assert weights(run) == weights(whole)


def test_a_first_checkpoint_that_finds_the_disk_full_says_that_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(files, "save_file", full_disk(2))
        with pytest.raises(OSError, match="run holds no checkpoint yet: make room, then go on with --resume"):
            train.train(small(), tmp_path / "run", resume=False)
    assert train.train(small(), tmp_path / "run", resume=True) is None


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB; skipped where none may be mounted."""
    place = tmp_path / "disk"
    place.mkdir()
    try:
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], check=True, capture_output=True, timeout=20
        )
    except (OSError, subprocess.SubprocessError):
        pytest.skip("no file system may be mounted here")
    yield place
    subprocess.run(["umount", str(place)], check=True, capture_output=True, timeout=20)


def fill(disk: Path) -> Path:
    """A file that takes the rest of a disk."""
    filler, room = disk / "filler", os.statvfs(disk)
    filler.write_bytes(b"\0" * (room.f_bavail * room.f_bsize))
    return filler


def test_a_run_on_a_disk_that_is_really_full_stops_and_goes_on(
    tiny_disk: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, add = tiny_disk / "run", train.Reports.add

    def filled(reports: train.Reports, counters: Progress, metrics: dict[str, float]) -> None:
        add(reports, counters, metrics)
        if counters.update == 4:
            fill(tiny_disk)

    with monkeypatch.context() as patch:
        patch.setattr(train.Reports, "add", filled)
        with pytest.raises(OSError, match=r"cannot write the checkpoint .*00000004.*No space left.*00000002 stands"):
            train.train(small(), run, resume=False)
    assert [path.name for path in sorted((run / "checkpoints").iterdir())] == ["00000000", "00000002"]
    (tiny_disk / "filler").unlink()
    assert train.train(small(), run, resume=True) is None
    assert weights(run) == weights(whole)


def test_metrics_on_a_disk_that_is_really_full_say_so(tiny_disk: Path) -> None:
    log = EventLog(tiny_disk, 0)
    log.write({"kl": 0.5}, 10)
    filler, long = fill(tiny_disk), {f"metric {number}": 0.5 for number in range(1000)}  # longer than a block
    with pytest.raises(OSError, match=r"cannot write the metrics to .* \(No space left on device\): make room"):
        log.write(long, 20)
    filler.unlink()
    assert metrics_of(tiny_disk) == {"kl": [10]}


# --- the metrics' file
def metrics_of(run: Path) -> dict[str, list[int]]:
    """The steps at which TensorBoard finds each metric."""
    read = EventAccumulator(str(run))
    read.Reload()
    return {name: [entry.step for entry in read.Scalars(name)] for name in read.Tags()["scalars"]}


def test_every_update_is_in_the_metrics_once_also_after_resuming(
    tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped by a full disk at update 4, after update 3 of which no checkpoint is kept: 3 is played and told again."""
    steps = [UPDATE * number for number in range(1, 6)]
    assert metrics_of(whole)["kl"] == steps
    with monkeypatch.context() as patch:
        write = checkpoint.write
        patch.setattr(
            checkpoint,
            "write",
            lambda folder, *rest: (raising(OSError("full")) if folder.name == "00000004" else write)(folder, *rest),
        )
        with pytest.raises(OSError, match="full"):
            train.train(small(), tmp_path, resume=False)
    time.sleep(1.1)  # TensorBoard reads files in the order of the seconds in their names
    train.train(small(), tmp_path, resume=True)
    found = metrics_of(tmp_path)
    assert found["kl"] == steps
    assert {"value_loss", "entropy", "decisions_per_second", "learning_rate"} <= found.keys()


def test_metrics_that_find_the_disk_full_say_so_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = EventLog(tmp_path, 0)
    log.write({"kl": 0.5}, 10)
    monkeypatch.setattr(Path, "open", raising(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
    with pytest.raises(OSError, match=r"cannot write the metrics to .* \(No space left on device\): make room"):
        log.write({"kl": 0.6}, 20)
    monkeypatch.undo()
    assert metrics_of(tmp_path) == {"kl": [10]}


# --- kills
KILLED = """
import os, shutil, signal, sys
from pathlib import Path
import torch
torch.set_num_threads(1)
import train
from agents.learning import checkpoint, files, stored
from agents.learning.checkpoint import Progress
from agents.learning.config import config_from

run = Path(sys.argv[1])
config = config_from({"network": {"policy": [16], "critic": [16]}, "threads": 1})
learner = train.new_learner(config)
for number in range(2):
    checkpoint.save(run, learner, config, Progress(number, number))

def dying(plain, calls, after):
    left = [calls]
    def call(*arguments, **named):
        left[0] -= 1
        if left[0] >= 0:
            return plain(*arguments, **named)
        if after:
            plain(*arguments, **named)
        os.kill(os.getpid(), signal.SIGKILL)
    return call

PLACES = [(files, "save_file", calls, after) for calls in range(4) for after in (False, True)]
PLACES += [(Path, "write_text", 0, False), (Path, "write_text", 0, True)]
PLACES += [(files, "to_disk", calls, False) for calls in (0, 6)]
PLACES += [(Path, "rename", calls, after) for calls in range(2) for after in (False, True)]
PLACES += [(shutil, "rmtree", calls, False) for calls in range(1, 4)]
for owner, name, calls, after in PLACES:
    if (child := os.fork()) == 0:
        setattr(owner, name, dying(getattr(owner, name), calls, after))
        checkpoint.save(run, learner, config, Progress(2, 2))
        os._exit(9)  # it was to die before
    status = os.waitpid(child, 0)[1]
    newest = stored.find(run)
    progress = checkpoint.resume(run, train.new_learner(config), config)
    print(name, calls, after, os.WTERMSIG(status), newest.name, progress.update)
    for folder in (run / "checkpoints").glob("00000002"):
        shutil.rmtree(folder)
    for number in range(2):
        checkpoint.save(run, learner, config, Progress(number, number))
    print(*sorted(path.name for path in (run / "checkpoints").iterdir()))
"""


def test_a_kill_at_any_moment_of_a_checkpoint_leaves_this_one_or_the_one_before(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "run")], cwd=ROOT, capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    deaths, after = [line.split() for line in lines[::2]], lines[1::2]
    assert len(deaths) == 19
    for name, calls, late, number, newest_name, update in deaths:
        place = f"{name} {calls} {late}"
        assert number == "9", place
        renamed = (name, calls, late) in {("rename", "0", "True"), ("rename", "1", "False"), ("rename", "1", "True")}
        complete = renamed or (name, calls) in {("to_disk", "6"), ("rmtree", "2"), ("rmtree", "3")}
        assert newest_name == ("00000002" if complete else "00000001"), place
        assert int(update) == int(newest_name), place
    assert set(after) == {"00000000 00000001"}  # what the kill left half there is gone


DYING_TRAIN = """
import os, signal, sys
import train
from agents.learning import checkpoint, files, stored

calls, plain = int(os.environ["CALLS"]), files.save_file
def save_file(*arguments, **named):
    global calls
    calls -= 1
    if calls < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    plain(*arguments, **named)
files.save_file = save_file
sys.exit(train.main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("calls", [5, 10, 15])  # files written before: 4 a checkpoint, at updates 0, 2, 4 and 5
def test_case_18_a_run_killed_while_it_saves_resumes_to_the_same_weights(
    calls: int, tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, run = to_toml(small(), tmp_path / "small.toml"), tmp_path / "run"
    killed = subprocess.run(
        [sys.executable, "-c", DYING_TRAIN, str(file), "--out", str(run)],
        cwd=ROOT,
        env={**os.environ, "CALLS": str(calls)},
        stdout=subprocess.DEVNULL,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert int(newest(run)) == {5: 0, 10: 2, 15: 4}[calls]
    assert run_main(monkeypatch, file, "--out", run, "--resume") == 0
    assert weights(run) == weights(whole)


# --- interruptions
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("update", [1, 3])  # neither of which would have had a checkpoint
def test_case_18_an_interrupted_run_keeps_the_update_in_progress(
    number: signal.Signals,
    update: int,
    tmp_path: Path,
    whole: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    file, run, before = to_toml(small(), tmp_path / "small.toml"), tmp_path / "run", signal.getsignal(number)

    def interrupted(*arguments: Any) -> Any:
        if arguments[5] == update - 1:
            os.kill(os.getpid(), number)
        return collect(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(train, "collect", interrupted)
        assert run_main(patch, file, "--out", run) == 128 + number
    first, last = capfd.readouterr().err.splitlines()
    assert first == f"train.py: {number.name}: the run ends after this update"
    checkpoints = run / "checkpoints"
    assert last == (
        f"train.py: {number.name}: interrupted; the checkpoint {checkpoints / f'{update:08d}'} stands: "
        "go on with --resume"
    )
    assert signal.getsignal(number) == before
    assert run_main(monkeypatch, file, "--out", run, "--resume") == 0
    assert weights(run) == weights(whole)


def test_a_run_that_is_done_when_it_is_interrupted_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: Any) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        return collect(*arguments)

    monkeypatch.setattr(train, "collect", interrupted)
    assert train.train(small(decisions=UPDATE), tmp_path, resume=False) is None


def test_a_second_ctrl_c_ends_the_run_at_once_but_not_the_same_one_passed_on(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    clock = [100.0]
    monkeypatch.setattr("agents.learning.interruption.time.monotonic", lambda: clock[0])
    with Interruption() as interruption:
        assert interruption.signal is None
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
        assert interruption.signal == signal.SIGINT
        clock[0] += 2
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert capfd.readouterr().err == "train.py: SIGINT: the run ends after this update\n"


def test_ctrl_c_before_the_first_update_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(train, "new_learner", raising(KeyboardInterrupt()))  # type: ignore[arg-type]
    file = to_toml(small(), tmp_path / "small.toml")
    assert run_main(monkeypatch, file, "--out", tmp_path / "run") == 130
    assert capfd.readouterr().err == (
        "train.py: interrupted at once: what was played since the last checkpoint is lost\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_command_ends_on_a_signal_with_its_status(number: signal.Signals, tmp_path: Path) -> None:
    file, run = to_toml(small(decisions=2000 * UPDATE), tmp_path / "small.toml"), tmp_path / "run"
    process = subprocess.Popen(
        [sys.executable, "train.py", str(file), "--out", str(run)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (run / "checkpoints" / "00000002").exists():
        assert process.poll() is None, "the run ended before it could be interrupted"
        time.sleep(0.01)
    process.send_signal(number)
    told = process.communicate(timeout=120)[1]
    assert process.returncode == 128 + number
    assert told.splitlines()[-1].endswith(f"{newest(run)} stands: go on with --resume")
    assert checkpoint.resume(run, train.new_learner(small()), small(decisions=2000 * UPDATE)).update == int(newest(run))
