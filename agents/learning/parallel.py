"""Processes that train one policy together, each with its share of the hands (torchrun, DistributedDataParallel).

Enters: what torchrun says in the environment. Leaves: Processes, which tells each its lanes, averages gradients and
adds up figures. A minibatch is the same whoever plays its hands, so N processes learn what one would, but for the
rounding of sums.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.rendezvous import rendezvous
from torch.nn.parallel import DistributedDataParallel

from agents.learning.rollout import Tally

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Processes:
    """This process among those that train together."""

    rank: int = 0
    size: int = 1
    local_size: int = 1  # those of this machine
    device: torch.device = CPU  # of this process

    @property
    def leads(self) -> bool:
        """Whether this is the process that logs, evaluates and writes checkpoints."""
        return self.rank == 0

    def lanes(self, total: int) -> range:
        """The lanes whose hands this process plays; ValueError if there are fewer lanes than processes."""
        if total < self.size:
            raise ValueError(f"ppo.lanes {total} must be {self.size} or more: every process plays some of them")
        return range(total * self.rank // self.size, total * (self.rank + 1) // self.size)

    def place(self, count: int) -> tuple[int, int]:
        """Where the rows of this process, `count` of them, begin among those of all; and how many there are in all."""
        if self.size == 1:
            return 0, count
        counts = torch.zeros(self.size, dtype=torch.int64)
        counts[self.rank] = count
        counts = self.sum(counts.to(self.device)).cpu()
        return int(counts[: self.rank].sum()), int(counts.sum())

    def sum(self, figures: Tensor) -> Tensor:
        """The sum over the processes; the same for all."""
        if self.size > 1:
            collectively(dist.all_reduce, figures)
        return figures

    def mean(self, figures: Tensor) -> Tensor:
        """The mean over the processes; the same for all."""
        return self.sum(figures) / self.size

    def most(self, number: int) -> int:
        """The largest number that a process has; the same for all."""
        if self.size == 1:
            return number
        figure = torch.tensor(number, device=self.device)
        collectively(dist.all_reduce, figure, dist.ReduceOp.MAX)
        return int(figure)

    def total(self, tally: Tally) -> Tally:
        """The sum of what the processes counted."""
        figures = torch.tensor(astuple(tally), dtype=torch.float64, device=self.device)
        kinds = (type(figure) for figure in astuple(tally))
        return Tally(*(kind(figure) for kind, figure in zip(kinds, self.sum(figures).tolist(), strict=True)))

    def wrap(self, network: nn.Module) -> nn.Module:
        """The network as its loss must call it, so that gradients are averaged over the processes."""
        if self.size == 1:
            return network
        with warnings.catch_warnings():
            # What replaces it, forward_sync_buffers, is newer than the oldest PyTorch that is meant to work.
            warnings.filterwarnings("ignore", "`broadcast_buffers` is deprecated", FutureWarning)
            return DistributedDataParallel(network, broadcast_buffers=False)

    def wait(self) -> None:
        """Until all processes have come here."""
        if self.size > 1:
            collectively(dist.barrier)


ALONE = Processes()


def collectively(collective: Callable[..., Any], *arguments: Any) -> None:
    """Do what takes all processes; ConnectionError if one of them has ended."""
    try:
        collective(*arguments)
    except RuntimeError as error:
        raise ConnectionError("another process of this run has ended, and so does this one") from error


@contextmanager
def joined(device: str) -> Iterator[Processes]:
    """The processes that torchrun started, connected while the context lasts; one alone without torchrun.

    device: auto, cpu, cuda or cuda:N. ValueError: CUDA is asked for and there is none.
    """
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise ValueError(f"device {device!r}: PyTorch finds no CUDA here; use auto or cpu")
    cuda = device.startswith("cuda") or (device == "auto" and torch.cuda.is_available())
    if not dist.is_torchelastic_launched():
        yield Processes(device=torch.device(("cuda" if device == "auto" else device) if cuda else "cpu"))
        return
    rank, size, local_rank, local_size = (
        int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
    )
    own = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(own)
    dist.init_process_group("nccl" if cuda else "gloo", store=_store(size == local_size), rank=rank, world_size=size)
    try:
        yield Processes(rank, size, local_size, own)
    finally:
        dist.destroy_process_group()


def _store(one_machine: bool) -> dist.Store:
    """Where the processes that torchrun started tell each other their addresses.

    torchrun keeps one store through all its restarts, so those who start again could read addresses of before: each
    attempt has names of its own. Not on several machines, whose torchruns need not agree on how many there were.
    """
    store, _, _ = next(iter(rendezvous("env://")))
    return dist.PrefixStore(f"attempt {os.environ['TORCHELASTIC_RESTART_COUNT']}", store) if one_machine else store
