"""What is kept of a step that stopped a run, and how to look at it again.

Enters: a run and the Unsound that stopped it. Leaves: `run/failure/<update>/`, a checkpoint of the learner as the step
found it with the minibatch beside it (batch.safetensors) and the step's figures in meta.json; and a message that names
it. Of several processes each keeps its own rows of the minibatch, those that do not lead in `<update>-<rank>`. `load`
reads a folder back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from agents.learning import checkpoint, stored
from agents.learning.checkpoint import Progress
from agents.learning.config import Config
from agents.learning.files import write
from agents.learning.limits import Unsound
from agents.learning.ppo import Learner

BATCH = "batch.safetensors"


@contextmanager
def kept(run: Path, learner: Learner, config: Config, progress: Progress) -> Iterator[None]:
    """Keeps an unsound step of the update inside; FloatingPointError says what it was, where it is and what to do."""
    try:
        yield
    except Unsound as error:
        raise FloatingPointError(
            f"update {progress.update}, after {progress.decisions:,} decisions: {error}; "
            f"{_save(run, learner, config, progress, error)}; {checkpoint.standing(run)}: go on from it with --resume "
            f"and a lower ppo.learning_rate than {config.ppo.learning_rate:g}, since the same would only happen again"
        ) from error


def _save(run: Path, learner: Learner, config: Config, progress: Progress, error: Unsound) -> str:
    """Keep the step; returns where it is, or why it could not be kept, in words."""
    part = "" if learner.processes.leads else f"-{learner.processes.rank}"
    folder = run / "failure" / f"{progress.update:08d}{part}"
    figures = {name: str(figure) for name, figure in error.parts.items()}  # as text: JSON has no NaN
    meta = checkpoint.describe(config, progress) | {"failure": str(error), "parts": figures}
    try:
        write(folder, checkpoint.tensors_of(learner) | {BATCH: error.batch}, meta)
    except OSError as trouble:
        return f"its minibatch could not be saved in {folder} ({trouble})"
    return f"its minibatch and the networks are in {folder} (docs/TRAINING.md tells how to look at them)"


@dataclass(frozen=True)
class Failure:
    """A step that stopped a run: the learner as it found it, its minibatch, and what meta.json tells."""

    learner: Learner
    config: Config
    batch: dict[str, Tensor]  # [n, ...] each
    told: dict[str, Any]

    @property
    def imitate(self) -> bool:
        """Whether a teacher's lesson was being learned."""
        return "lesson" in self.batch


def load(folder: Path) -> Failure:
    """A failure's folder read back, on the CPU; ValueError names what is missing or broken."""
    meta = stored.read_meta(folder)
    config = stored.config_of(folder, meta)
    learner = Learner.of(config)
    checkpoint.restore(learner, folder, finite=False)
    try:
        batch = load_file(folder / BATCH)
    except (OSError, SafetensorError) as error:
        raise ValueError(f"cannot load {folder / BATCH}: {error}") from error
    return Failure(learner, config, batch, meta)
