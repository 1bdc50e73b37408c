"""Export a trained policy: a checkpoint in, one ONNX file out, proved equal to the original.

    python export.py runs/cpu --out malilla.onnx
    python export.py runs/cpu --out malilla.onnx --figures figures.json
    python export.py runs/cpu --out malilla.safetensors

Enters: a run's folder, a checkpoint, or a policy packed as one .safetensors file. Leaves: such a file, the weights as
they are; or an .onnx file that takes observation and mask as the environments give them and answers with masked logits
in their action ids; the network's own frame stays inside. An .onnx file is put in its place only after it has agreed
with the original on states of the policy's own play. docs/EXPORT.md says what is in both.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import onnx
import torch
import tyro
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn

from agents.learning import stored
from agents.learning.rollout import start_scores
from agents.neural import NeuralPlayer, Policy, action_frame, trump_first
from agents.registry import FILES
from malilla_env import GameBatch, RuleSet, __version__
from malilla_env import policy as exported
from malilla_env.cards import SUIT_NAMES
from malilla_env.observation import VERSION, encode_views, layout
from malilla_env.state import PLAY
from malilla_env.view import legal_mask

OPSET = 18
STATES = 10_000  # compared, or as many more as complete the last hands
SEED = 10  # of the deals that are played for them
BATCHES = (1, 2, 7, 64, STATES)
TOLERANCE = 1e-5  # of a logit
DECIDED = 2e-5  # the best two logits differ by more: then the best must be the same


class NotProvedError(Exception):
    """The exported policy was not shown to be the original."""


@dataclass(frozen=True)
class Options:
    """Export a trained policy to one file: ONNX, checked against the original, or its weights as safetensors."""

    checkpoint: Annotated[Path, tyro.conf.Positional]
    """A run's folder (its newest checkpoint is taken), a checkpoint's, or a policy's .safetensors file."""
    out: Path
    """The file to write, .onnx or .safetensors; one that is there is replaced."""
    figures: Path | None = None
    """What evaluate.py --json wrote about this policy, to be kept in an .onnx file."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Exit code 1: the export differs from the original; 2: a wrong input, told in one line."""
    options = tyro.cli(Options, args=arguments, prog="export.py")
    try:
        export(options, Console())
    except NotProvedError as error:
        print(f"export.py: {error}; {options.out} was not written", file=sys.stderr)
        return 1
    except (ValueError, OSError, ImportError) as error:
        print("export.py:", " ".join(str(error).split()), file=sys.stderr)
        return 2
    return 0


def export(options: Options, console: Console) -> None:
    """Write a policy as the one file or the other, by the name of the file."""
    check_place(options.out)
    if options.figures and options.out.suffix == stored.PACKED:
        raise ValueError(f"--figures: {options.out} cannot keep them, an .onnx file can")
    place, meta = stored.locate(options.checkpoint)
    if options.out.suffix == stored.PACKED:
        stored.pack(place, options.out)
    else:
        write_model(place, meta, options, console)
    size = options.out.stat().st_size / 1e6
    game = meta["rules"]["name"]
    console.print(f"{place} -> {options.out}: {game}, {size:.1f} MB", highlight=False, markup=False, soft_wrap=True)


def write_model(place: Path, meta: dict[str, Any], options: Options, console: Console) -> None:
    """Write the ONNX file beside its place, compare it with the original, and only then move it there."""
    rules = RuleSet.from_dict(meta["rules"])
    policy = stored.load_policy(place, rules).eval()
    told = metadata(rules, meta, read_figures(options.figures, rules))
    part = options.out.with_name(f".{options.out.name}.{os.getpid()}")
    try:
        part.write_bytes(model(rules, policy, told).SerializeToString(deterministic=True))
        prove(rules, policy, part, console)
        os.replace(part, options.out)
    finally:
        part.unlink(missing_ok=True)


def check_place(out: Path) -> None:
    """Refuse a file that cannot be written before time is spent on it."""
    if out.is_dir() or not out.parent.is_dir() or not os.access(out.parent, os.W_OK):
        raise ValueError(f"cannot write {out}: name a file in an existing folder that you may write to")
    if out.suffix not in FILES:
        raise ValueError(f"cannot write {out}: its name must end in {' or '.join(FILES)}")


# --- the model
class EnvironmentPolicy(nn.Module):
    """A policy in the environment's terms: logits [B, A] from observations [B, D] and masks [B, A] in card-id order.

    Inside, both are gathered into the network's frame, trump first, and its logits back into action-id order. A state
    without trump keeps the order of the ids. A mask of zeros gives ILLEGAL_LOGIT for every action.
    """

    def __init__(self, rules: RuleSet, policy: Policy) -> None:
        super().__init__()
        plan, orders = layout(rules), trump_first(np.arange(4))
        actions = action_frame(rules, orders)
        self.policy, self.trump = policy, plan.slices["trump"]
        self.observation_frame = constant(np.stack([plan.frame(order) for order in orders]))  # [4, D]
        self.action_frame = constant(actions)  # [4, A]: the action id in each place
        self.places = constant(actions.argsort(axis=1))  # [4, A]: the place of each action id

    def forward(self, observation: Tensor, action_mask: Tensor) -> Tensor:
        trump = observation[:, self.trump].argmax(dim=1)  # [B]; 0, whose order is that of the ids, if there is none
        legal = (action_mask > 0).to(observation.dtype)
        logits: Tensor = self.policy(
            observation.gather(1, self.observation_frame.index_select(0, trump)),
            legal.gather(1, self.action_frame.index_select(0, trump)),
        )
        return logits.gather(1, self.places.index_select(0, trump))


def constant(table: NDArray[np.int64]) -> nn.Buffer:
    return nn.Buffer(torch.from_numpy(table))


def model(rules: RuleSet, policy: Policy, told: dict[str, str]) -> onnx.ModelProto:
    """The ONNX model, checked; the same bytes for the same checkpoint and versions."""
    example = torch.zeros(3, layout(rules).width), torch.zeros(3, rules.num_actions)
    batch = torch.export.Dim("batch")
    with quiet_exporter():
        program = torch.onnx.export(
            EnvironmentPolicy(rules, policy).eval(),
            example,
            input_names=["observation", "action_mask"],
            output_names=["logits"],
            dynamic_shapes=({0: batch}, {0: batch}),
            opset_version=OPSET,
            dynamo=True,
            external_data=False,
            verbose=False,
        )
    assert program is not None
    written = program.model_proto
    strip(written)
    written.producer_name, written.producer_version, written.graph.name = "malilla", __version__, "policy"
    onnx.helper.set_model_props(written, told)
    onnx.checker.check_model(written, full_check=True)
    return written


@contextmanager
def quiet_exporter() -> Iterator[None]:
    """Hush what PyTorch 2.13's exporter says of itself: none of it is about the model."""
    registration = logging.getLogger("torch.onnx._internal.exporter._registration")
    level = registration.level
    registration.setLevel(logging.ERROR)  # "torchvision is not installed. Skipping ..."
    try:
        with warnings.catch_warnings():
            # Its own use of a class that it deprecates.
            warnings.filterwarnings("ignore", r"`isinstance\(treespec, LeafSpec\)` is deprecated", FutureWarning)
            # Both inputs have the one axis, which is what is meant.
            warnings.filterwarnings("ignore", "# The axis name: batch will not be used", UserWarning)
            yield
    finally:
        registration.setLevel(level)


def strip(written: onnx.ModelProto) -> None:
    """Drop the exporter's notes, which hold paths and source lines of the machine that it ran on."""
    graph = written.graph
    for part in (written, graph, *graph.node, *graph.input, *graph.output, *graph.value_info, *graph.initializer):
        part.ClearField("metadata_props")
        part.ClearField("doc_string")


# --- what the file says of itself
def metadata(rules: RuleSet, meta: dict[str, Any], figures: dict[str, Any] | None) -> dict[str, str]:
    """The model's metadata, text by name; docs/EXPORT.md explains each."""
    plan = layout(rules)
    blocks = [
        {
            "name": block.name,
            "start": plan.slices[block.name].start,
            "shape": plan.shapes[block.name],
            "axes": block.axes,
            "meaning": block.meaning,
        }
        for block in plan.blocks
    ]
    training = {key: meta[key] for key in ("decisions", "update", "config")} | {"seed": meta["config"]["seed"]}
    training |= {"changes": meta["changes"]} if meta.get("changes") else {}
    told = {
        "format": exported.FORMAT,
        "version": __version__,
        "licence": "MIT",
        "rules": json.dumps(rules.to_dict()),
        "rules_hash": rules.hash,
        "layout": json.dumps(blocks),
        "layout_version": str(VERSION),
        "layout_hash": plan.hash,
        "action_names": json.dumps(rules.action_names),
        "seats": f"Seats 0 to {rules.num_seats - 1} in playing order, of the teams {list(rules.teams)}. In the "
        "observation seats are counted from the one that looks: 0 is its own, 1 plays next; teams likewise.",
        "training_version": str(meta.get("version", "unknown")),
        "training_commit": str(meta.get("commit", "unknown")),
        "training": json.dumps(training),
    }
    return told | ({"figures": json.dumps(figures)} if figures else {})


def read_figures(path: Path | None, rules: RuleSet) -> dict[str, Any] | None:
    """The JSON of evaluate.py; ValueError if it is something else, or about another game."""
    if path is None:
        return None
    try:
        figures = json.loads(path.read_text(encoding="utf-8"))
        made = RuleSet.from_dict(figures["rules"])
        known = isinstance(figures["results"], list)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is not what evaluate.py --json writes: {type(error).__name__}, {error}") from error
    if not known or made.hash != rules.hash:
        raise ValueError(f"{path} has no figures of rule set {rules.name} ({rules.hash}): {made.name} ({made.hash})")
    return figures  # type: ignore[no-any-return]


# --- the proof
@dataclass(frozen=True)
class Played:
    """N states of a policy's own play: what an environment shows, and what the original answers."""

    observation: NDArray[np.float32]  # [N, D]
    action_mask: NDArray[np.bool_]  # [N, A]
    logits: NDArray[np.float32]  # [N, A]
    told: str  # which tricks and trumps are among them

    def __len__(self) -> int:
        return len(self.logits)


@dataclass(frozen=True)
class Agreement:
    """How an export's answers compare with the original's."""

    largest: float  # difference of two logits
    decided: int  # states whose best two logits are far enough apart for the best to be certain
    other: int  # of those, how many have another best action

    @property
    def holds(self) -> bool:
        return self.largest <= TOLERANCE and self.other == 0


def prove(rules: RuleSet, policy: Policy, path: Path, console: Console) -> None:
    """Play the file as its users will, compare and print; NotProvedError if it is not the original policy."""
    states, session = self_play(rules, policy), exported.Policy(path, rules)
    told = f"onnxruntime against PyTorch on {len(states):,} states of the policy's own play: {states.told}"
    console.print(told, highlight=False, soft_wrap=True)
    table, held = Table("batch", "largest difference of a logit", "clear choices", "chosen differently"), True
    for size in BATCHES:
        found = agreement(states.logits, answers(session, states, size))
        table.add_row(f"{size:,}", f"{found.largest:.1e}", f"{found.decided:,}", f"{found.other:,}")
        held = held and found.holds
    console.print(table)
    if not held:
        raise NotProvedError(
            f"the exported policy differs from the original by more than {TOLERANCE:g}, or chooses otherwise"
        )


def self_play(rules: RuleSet, policy: Policy) -> Played:
    """STATES or more, forced moves among them: whole hands by the policy in all seats, from scores of all kinds.

    What is said before a card is played is random in every other hand: a policy that never bids would play no trick.
    NotProvedError if a trick or a trump is missing from them.
    """
    lanes = ceil(STATES / (rules.num_seats * rules.num_tricks))
    games = GameBatch(rules, lanes, SEED, episode="hand")
    games.reset(match_score=start_scores(rules, lanes, SEED, 0))
    player, views, observation, mask = NeuralPlayer(rules, policy), [], [], []
    while not games.done.all():
        on = ~games.done
        views.append(games.views()[on])
        observation.append(games.observe()[on])
        mask.append(games.legal_actions()[on])
        keys = games.decision_keys(SEED)
        strays = (games.state["phase"] != PLAY) & (np.arange(lanes) % 2 == 1)
        games.step(np.where(strays, games.random_legal(keys), player.act(games.views(), keys)))
    met = np.concatenate(views)
    return Played(np.concatenate(observation), np.concatenate(mask), original(rules, policy, met), coverage(rules, met))


def coverage(rules: RuleSet, views: NDArray[np.void]) -> str:
    """That every trick of a hand and every trump is among the Views [N], in words."""
    tricks = views["tricks_won"].sum(axis=1)[views["phase"] == PLAY]
    trumps = SUIT_NAMES if rules.trump != "none" else ()
    missing = [f"trick {trick + 1}" for trick in range(rules.num_tricks) if trick not in tricks]
    missing += [f"trump {name}" for suit, name in enumerate(trumps) if suit not in views["trump"]]
    if missing:
        raise NotProvedError(f"no state of the policy's own play has {', '.join(missing)}")
    return f"tricks 1 to {rules.num_tricks}, trumps {', '.join(trumps) or 'none'}"


def original(rules: RuleSet, policy: Policy, views: NDArray[np.void]) -> NDArray[np.float32]:
    """float32 [N, A]: the network's logits as training and play get them, the Views encoded in its own frame."""
    orders = trump_first(views["trump"])
    frame = action_frame(rules, orders)
    legal = np.take_along_axis(legal_mask(rules, views), frame, axis=1)
    with torch.inference_mode():
        framed = policy(torch.from_numpy(encode_views(rules, views, orders)), torch.from_numpy(legal)).numpy()
    logits = np.empty_like(framed)
    np.put_along_axis(logits, frame, framed, axis=1)
    return logits


def answers(session: exported.Policy, states: Played, size: int) -> NDArray[np.float32]:
    """float32 [N, A]: the file's logits, computed `size` states at a time."""
    parts = [slice(start, start + size) for start in range(0, len(states), size)]
    return np.concatenate([session.logits(states.observation[part], states.action_mask[part]) for part in parts])


def agreement(expected: NDArray[np.float32], answered: NDArray[np.float32]) -> Agreement:
    """Compare two arrays of logits [N, A]."""
    best = np.partition(expected, -2, axis=1)
    decided = best[:, -1] - best[:, -2] > DECIDED
    other = expected.argmax(axis=1) != answered.argmax(axis=1)
    return Agreement(float(np.abs(expected - answered).max()), int(decided.sum()), int((decided & other).sum()))


if __name__ == "__main__":
    sys.exit(main())
