"""Players by name: a spec is the text that a command line, a config or a table uses for a player.

Enters: a spec and a rule set. Leaves: an Agent, or a ValueError that names the spec and says what can be written. A
player's module is imported only when that player is asked for: some need PyTorch, some onnxruntime.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agents.base import Agent
from malilla_env import RuleSet

# name -> module:maker, which takes the rules and the options, and each option's type
NAMED: dict[str, tuple[str, dict[str, type]]] = {
    "random": ("malilla_env.players:RandomPlayer", {}),
    "heuristic": ("malilla_env.players:HeuristicPlayer", {}),
    "pimc": (
        "agents.search.pimc:PIMCPlayer",
        {
            "worlds": int,
            "tricks": int,
            "before": str,
            "weights": str,
            "beliefs": str,
            "milliseconds": int,
            "threads": int,
        },
    ),
    "ismcts": (
        "agents.search.ismcts:ISMCTSPlayer",
        {"iterations": int, "exploration": float, "rollouts": str, "milliseconds": int, "threads": int},
    ),
    "policy": ("agents.shipped:policy", {}),
    "policy+pimc": (
        "agents.shipped:policy_with_search",
        {"worlds": int, "tricks": int, "milliseconds": int, "threads": int},
    ),
    "champion": ("agents.shipped:champion", {"threads": int}),
    "oracle": ("agents.search.pimc:OraclePlayer", {"threads": int}),
}
CHECKPOINT = "agents.neural:NeuralPlayer.load"  # these two take a path and the rules
EXPORTED = "malilla_env.policy:OnnxPlayer"
FILES = (".onnx", ".safetensors")

CHOICES = (
    "random, heuristic, pimc:worlds=30, ismcts:iterations=1000, policy, policy+pimc and champion (of a policy that "
    "ships), oracle (sees all hands), the path of a checkpoint folder, of an .onnx or a .safetensors file, or "
    "module:factory for a player of your own"
)


def make(spec: str, rules: RuleSet) -> Agent:
    """The player of a spec: one of NAMED, a checkpoint folder, a file of one of FILES, or ``module:factory``.

    Named players take options as ``name:key=value,key=value``; a factory is called with the rules.
    ValueError: no such player, an option it does not take, or a player that cannot be loaded; the spec is named.
    """
    name, _, options = spec.partition(":")
    if name in NAMED:
        place, types = NAMED[name]
        given = _options(spec, options, types)
        return _checked(spec, _named(spec, place, rules, given))
    if spec.endswith(FILES) or os.sep in spec or (spec and Path(spec).is_dir()):
        return _stored(spec, EXPORTED if spec.endswith(".onnx") else CHECKPOINT, rules)
    if re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", spec):
        return _own(spec, rules)
    raise ValueError(f"unknown player {spec!r}: choose one of {CHOICES}")


def lineup(specs: Sequence[str], rules: RuleSet) -> dict[str, Agent]:
    """The players of the specs under names that tables can use: a spec's second player is called ``spec#2``."""
    players: dict[str, Agent] = {}
    for place, spec in enumerate(specs):
        count = list(specs[:place]).count(spec) + 1
        players[spec if count == 1 else f"{spec}#{count}"] = make(spec, rules)
    return players


def _options(spec: str, text: str, types: dict[str, type]) -> dict[str, Any]:
    """The options of ``key=value,key=value``, each in its own type."""
    options: dict[str, Any] = {}
    for item in text.split(",") if text else []:
        key, equals, value = item.partition("=")
        if key not in types or not equals or key in options:
            known = ", ".join(f"{key}={kind.__name__}" for key, kind in types.items()) or "none"
            raise ValueError(f"player {spec!r}: {item!r} is not an option, each given once; it takes: {known}")
        if not value:
            raise ValueError(f"player {spec!r}: {key}= needs a value")
        try:
            if "_" in value and types[key] is not str:  # Python's own 1_000
                raise ValueError
            options[key] = types[key](value)
        except ValueError:
            raise ValueError(f"player {spec!r}: {key} must be {types[key].__name__}, not {value!r}") from None
    return options


def _named(spec: str, place: str, rules: RuleSet, options: dict[str, Any]) -> Any:
    try:
        return _maker(spec, place)(rules, **options)
    except (ImportError, ValueError, OSError) as error:
        raise ValueError(f"player {spec!r}: {error}") from error


def _maker(spec: str, place: str) -> Callable[..., Any]:
    """What `module:attribute.attribute` names, of the project's own modules."""
    module, _, attributes = place.partition(":")
    try:
        found: Any = importlib.import_module(module)
    except ImportError as error:
        raise ValueError(f"player {spec!r} needs a package that is not installed ({error}): make setup") from error
    for attribute in attributes.split("."):
        found = getattr(found, attribute)
    return found  # type: ignore[no-any-return]


def _stored(path: str, place: str, rules: RuleSet) -> Agent:
    """A player kept in a file or folder, by what can read it."""
    if not Path(path).exists():
        raise ValueError(f"player {path!r}: there is no such file or folder")
    try:
        return _checked(path, _maker(path, place)(Path(path), rules))
    except (ImportError, ValueError, OSError) as error:
        raise ValueError(f"player {path!r} cannot be loaded: {error}") from error


def _own(spec: str, rules: RuleSet) -> Agent:
    """A player of the user's own: factory(rules), from a module of the current folder or of the path."""
    module, _, attribute = spec.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        factory = getattr(importlib.import_module(module), attribute, None)
    except Exception as error:  # whatever the user's module does when it is run
        raise ValueError(f"player {spec!r}: importing {module} failed: {_told(error)}") from error
    if not callable(factory):
        raise ValueError(f"player {spec!r}: {module} has no function or class {attribute!r}")
    try:
        player = factory(rules)
    except Exception as error:
        raise ValueError(f"player {spec!r}: {attribute}(rules) failed: {_told(error)}") from error
    return _checked(spec, player)


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _checked(spec: str, player: Any) -> Agent:
    """The player, if it has an agent's interface."""
    if not isinstance(getattr(player, "name", None), str) or not callable(getattr(player, "act", None)):
        raise ValueError(
            f"player {spec!r}: {type(player).__name__} is no agent: it needs `name`, a text, and "
            "`act(views, keys)`, a method that returns an action id for each view (agents/base.py)"
        )
    return player  # type: ignore[no-any-return]
