"""Malilla and its family: an exact, fast game core and the standard interfaces to it.

The PettingZoo and Gymnasium environments are loaded, and registered, when first asked for:
``from malilla_env import malilla_v0``.
"""

from __future__ import annotations

import importlib
from typing import Any

from malilla_env.batch import GameBatch, IllegalMove
from malilla_env.deals import deal
from malilla_env.observation import layout
from malilla_env.rules import PRESETS, RuleSet, ruleset
from malilla_env.view import VIEW

__version__ = "0.1.0"
__all__ = ["PRESETS", "VIEW", "GameBatch", "IllegalMove", "RuleSet", "deal", "gym", "layout", "malilla_v0", "ruleset"]

_LAZY = ("malilla_v0", "gym")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
