"""Policy: plays a policy that export.py wrote, with NumPy and onnxruntime alone.

Enters: the file and the rule set to play under; then observations and masks as the environments give them, or Views.
Leaves: logits, or actions. Refuses a file made for other rules or for another observation layout, and says which.
docs/EXPORT.md tells what the file holds.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from malilla_env import __version__
from malilla_env.observation import VERSION, encode_views, layout
from malilla_env.rules import RuleSet
from malilla_env.view import legal_mask

FORMAT = "malilla-policy-1"
NEEDED = ("rules", "rules_hash", "layout_version", "layout_hash", "version")
BLOCK = 256  # rows of every pass of a player: the last bits of a result may depend on the batch's size


def play_in_blocks(
    rules: RuleSet,
    views: NDArray[np.void],
    logits: Callable[[NDArray[np.void], NDArray[np.bool_]], NDArray[np.float64]],
) -> NDArray[np.int64]:
    """int64 [B]: the likeliest action for each View (VIEW [B]); 0 where the game is over.

    ``logits`` [n, A] are asked for at most BLOCK Views [n] and their masks [n, A], and only for such as have a choice:
    a forced move needs no network.
    """
    legal = legal_mask(rules, views)
    actions: NDArray[np.int64] = legal.argmax(axis=1)
    choices = np.flatnonzero(legal.sum(axis=1) > 1)
    for start in range(0, len(choices), BLOCK):
        rows = choices[start : start + BLOCK]
        actions[rows] = logits(views[rows], legal[rows]).argmax(axis=1)
    return actions


class Policy:
    """An exported policy: logits or actions from what an environment shows, in its own action ids.

    OSError: the file cannot be read. ValueError: it is no exported policy, or one for other rules or another layout.
    ImportError: onnxruntime is not installed. ``metadata`` is what export.py wrote about the policy, text by name.
    """

    def __init__(self, path: str | Path, rules: RuleSet) -> None:
        self.path, self.rules = Path(path), rules
        self._session = _session(self.path)
        self.metadata: dict[str, str] = dict(self._session.get_modelmeta().custom_metadata_map)
        _check_fit(self.path, self.metadata, rules)

    def logits(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.float32]:
        """float32 [B, A] from observations [B, D] and masks [B, A]; or [A] from those of one state, [D] and [A].

        Actions that the mask does not allow have a logit of -1e9; so has every action where it allows none.
        """
        observations, masks = np.asarray(observation, np.float32), np.asarray(action_mask, np.float32)
        one = observations.ndim == 1
        if one:
            observations, masks = observations[None], masks[None]
        rows, width, actions = len(observations), layout(self.rules).width, self.rules.num_actions
        if observations.shape != (rows, width) or masks.shape != (rows, actions):
            raise ValueError(
                f"{self.path} takes observations [B, {width}] and action masks [B, {actions}], or one of each without "
                f"the B; these are {np.shape(observation)} and {np.shape(action_mask)}"
            )
        (logits,) = self._session.run(["logits"], {"observation": observations, "action_mask": masks})
        answer: NDArray[np.float32] = logits[0] if one else logits
        return answer

    def actions(self, observation: ArrayLike, action_mask: ArrayLike) -> NDArray[np.int64]:
        """int64 [B]: the likeliest allowed action of each state; ValueError where the mask allows none."""
        nothing = np.flatnonzero(~(np.asarray(action_mask) > 0).any(axis=-1))
        if len(nothing):
            raise ValueError(
                f"row {nothing[0]} of the mask allows no action: that seat is not on turn, or the game is over"
            )
        best: NDArray[np.int64] = self.logits(observation, action_mask).argmax(axis=-1)
        return best

    def action(self, observation: ArrayLike, action_mask: ArrayLike) -> int:
        """The likeliest allowed action of one state, from its observation [D] and mask [A]."""
        return int(self.actions(np.asarray(observation)[None], np.asarray(action_mask)[None])[0])


class OnnxPlayer:
    """Plays the likeliest legal action of an exported policy; needs no randomness and keeps no memory."""

    sees_all = False

    def __init__(self, path: str | Path, rules: RuleSet) -> None:
        self.policy, self.rules = Policy(path, rules), rules
        self.name = self.policy.path.name

    def act(self, views: NDArray[np.void], keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """int64 [B]: an action for each View (VIEW [B]); 0 where the game is over."""
        return play_in_blocks(self.rules, views, self.logits)

    def logits(self, views: NDArray[np.void], legal: NDArray[np.bool_]) -> NDArray[np.float64]:
        """float64 [n, A]: of at most BLOCK Views [n] and their masks [n, A], in one block of exactly BLOCK rows."""
        observation = np.zeros((BLOCK, layout(self.rules).width), np.float32)
        encode_views(self.rules, views, out=observation[: len(views)])
        mask = np.zeros((BLOCK, self.rules.num_actions), np.float32)
        mask[: len(views)] = legal
        return self.policy.logits(observation, mask)[: len(views)].astype(np.float64)


def _session(path: Path) -> Any:
    """The file's onnxruntime session: one thread, the same answer every time."""
    model = path.read_bytes()
    try:
        import onnxruntime
    except ImportError as error:
        raise ImportError(f"{path} needs onnxruntime to be played: pip install 'malilla-env[policy]'") from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # the networks are small, and games share the cores
    options.use_deterministic_compute = True
    options.log_severity_level = 4  # what goes wrong is raised; nothing is printed besides
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has a class of its own for each way in which a file is unfit
        raise ValueError(f"{path} is not an ONNX model that onnxruntime can run: {error}") from error


def _check_fit(path: Path, metadata: dict[str, str], rules: RuleSet) -> None:
    """ValueError unless export.py wrote the file, for these rules and for the layout that the encoder writes."""
    missing = [key for key in NEEDED if key not in metadata]
    if metadata.get("format") != FORMAT or missing:
        lacking = f", and lacks {', '.join(missing)}" if missing else ""
        raise ValueError(
            f"{path} is no policy that export.py wrote: its metadata names the format {metadata.get('format')!r}, not "
            f"{FORMAT!r}{lacking}"
        )
    if metadata["rules_hash"] != rules.hash:
        made = json.loads(metadata["rules"])
        raise ValueError(
            f"{path} plays rule set {made['name']} ({metadata['rules_hash']}), not {rules.name} ({rules.hash}): "
            f"{_differences(made, rules.to_dict())}. It plays {made['name']}: name that as the rule set"
        )
    plan = layout(rules)
    if metadata["layout_hash"] != plan.hash:
        raise ValueError(
            f"{path} reads observation layout {metadata['layout_version']} ({metadata['layout_hash']}), malilla_env "
            f"{__version__} writes layout {VERSION} ({plan.hash}): export the policy anew, or use malilla_env "
            f"{metadata['version']}"
        )


def _differences(made: dict[str, Any], asked: dict[str, Any]) -> str:
    """The fields in which two rule sets differ, names aside: ``target 35 / 70``."""
    fields = [field for field in made | asked if field != "name" and made.get(field) != asked.get(field)]
    return ", ".join(f"{field} {made.get(field)!r} / {asked.get(field)!r}" for field in fields)
