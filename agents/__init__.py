"""Who plays: the Agent protocol (`base.py`), players by name (`registry.py`), networks and how they learn."""

from agents.base import Agent
from agents.registry import lineup, make

__all__ = ["Agent", "lineup", "make"]
