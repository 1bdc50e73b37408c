"""Ctrl-C and SIGTERM end a run after the update in progress, so that its checkpoint loses nothing.

Enters: the signals. Leaves: a flag to look at between updates. A cluster that takes a machine back sends SIGTERM some
seconds before it kills; torchrun passes both signals on to every process, on top of a terminal's own.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
AGAIN = 1.0  # seconds after which another Ctrl-C is meant, and not the same one passed on by torchrun


class Interruption:
    """While it is entered, `signal` tells which of SIGNALS has come, if any; a second Ctrl-C ends the run at once."""

    def __init__(self) -> None:
        self.signal: signal.Signals | None = None
        self._came = 0.0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():  # Python hears signals nowhere else
            self._before = {number: signal.signal(number, self._hear) for number in SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _hear(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.signal is None:
            self.signal, self._came = signal.Signals(number), now
            # print() may be what the signal interrupted, and it does not like to be entered twice.
            os.write(2, f"train.py: {self.signal.name}: the run ends after this update\n".encode())
        elif number == signal.SIGINT and now - self._came > AGAIN:
            raise KeyboardInterrupt
