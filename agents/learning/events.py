"""TensorBoard's event file of a run, written in the foreground.

Enters: metrics by name and the decisions played. Leaves: a file that TensorBoard reads. PyTorch's SummaryWriter writes
from a thread of its own: on a full disk that thread dies with a traceback and the run goes on for a while, and what a
kill finds in its queue is lost. Here a metric is in the file when `write` returns, or OSError says why not.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter


class EventLog:
    """The event file of one start of a run; `decisions` is where it starts: TensorBoard forgets what came after."""

    def __init__(self, run: Path, decisions: int) -> None:
        self.file = run / f"events.out.tfevents.{int(time.time()):010d}.{time.time_ns() % 10**9}.{os.getpid()}"
        self._append(Event(wall_time=time.time(), step=decisions, file_version="brain.Event:2"))
        start = SessionLog(status=SessionLog.START)  # purges what is at its step, too
        self._append(Event(wall_time=time.time(), step=decisions + 1, session_log=start))

    def write(self, metrics: Mapping[str, float], decisions: int) -> None:
        """Every metric at this many decisions; OSError, saying what to do, if the disk does not take them."""
        values = [Summary.Value(tag=name, simple_value=value) for name, value in metrics.items()]
        self._append(Event(wall_time=time.time(), step=decisions, summary=Summary(value=values)))

    def _append(self, event: Event) -> None:
        try:
            with self.file.open("ab") as file:
                RecordWriter(file).write(event.SerializeToString())
        except OSError as error:
            raise OSError(
                f"cannot write the metrics to {self.file} ({error.strerror}): make room, then go on with --resume"
            ) from error
