"""Malilla and its family as a PettingZoo AEC environment: `env` (with the usual wrappers) and `raw_env`.

Enters: a rule set by name, overrides of its fields, actions. Leaves: observations with masks, rewards, pictures. A
shell over a `GameBatch` of one game: it knows PettingZoo's customs and no rule of the game.

    from malilla_env import malilla_v0

    env = malilla_v0.env(ruleset="malilla", episode="match", reward="match")
    env.reset(seed=7)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        over = terminated or truncated
        env.step(None if over else env.action_space(agent).sample(observation["action_mask"]))

| what        | value                                                                                         |
| ----------- | --------------------------------------------------------------------------------------------- |
| agents      | `player_0` ... in playing order (RULES 1.1.1): two, three or four                             |
| actions     | `Discrete`: card ids, then the rule set's other actions; `rules.action_names` names them      |
| observation | `observation` float32 [D] within -1 and 1 (`malilla_env.layout` says what lies where)         |
| mask        | `action_mask` int8 [A], all zeros for a seat that is not on turn                              |
| episode     | "match": hands until a side wins; "hand": one hand                                            |
| reward      | "margin", "score" or "match" (`malilla_env.rewards`), paid in the step that ends the hand     |
| illegal     | an illegal play ends the match: -1 for the offender's side, +1/(T-1) for the others (RULES 1.4) |

Every game of the family plays here: README.md has a table of the rule sets, `malilla_env.rules.PRESETS` holds them, and
any field may be changed (`env(ruleset="manille", target=50)`). Besides cards there are, where a rule set has them:
`pass`; `ask`, `agree` and `refuse` of a new deal (1.6.2); `bid-31` ... and `trump-spades` ... of an auction (3.6);
statements such as `holds-3-hearts` and `holds-Ts` (3.5). The mask says which of all these the agent on turn may take.

Version History: the number rises whenever learning would be affected.

* v0: first release.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pettingzoo
from gymnasium.utils import seeding
from numpy.typing import NDArray
from pettingzoo.utils import wrappers

from malilla_env import render
from malilla_env.batch import GameBatch
from malilla_env.interface import (
    RENDER_MODES,
    ActionSpace,
    action_id,
    action_space,
    check_render_mode,
    masked_space,
    reset_options,
    vector_space,
)
from malilla_env.observation import layout, state_layout
from malilla_env.rewards import check_reward, step_rewards
from malilla_env.rules import RuleSet
from malilla_env.rules import ruleset as ruleset_of

__all__ = ["env", "raw_env"]

# What PettingZoo keeps beside the game.
TABLE = (
    "agents",
    "agent_selection",
    "rewards",
    "_cumulative_rewards",
    "terminations",
    "truncations",
    "infos",
    "_skip_agent_selection",
)


def env(**kwargs: Any) -> pettingzoo.AECEnv:
    """`raw_env` in PettingZoo's usual wrappers, with the same arguments.

    AssertionError for an action id out of range, and for anything done before `reset`.
    """
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(raw_env(**kwargs)))


class NotBegun:
    """Stands for an attribute until the first reset sets it, to say what is missing."""

    def __get__(self, instance: object, owner: type) -> Any:
        if instance is None:
            return self
        raise AttributeError("no episode is under way: call reset")


class raw_env(pettingzoo.AECEnv):  # type: ignore[misc]
    """The environment itself; see the module for what it observes, takes and pays.

    ``ruleset`` is a preset's name or a RuleSet; other keyword arguments replace its fields. ValueError names whatever
    is unknown.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "malilla_v0",
        "render_modes": RENDER_MODES,
        "render_fps": 2,
        "is_parallelizable": False,
    }
    agents: Any = NotBegun()
    agent_selection: Any = NotBegun()

    def __init__(
        self,
        ruleset: str | RuleSet = "malilla",
        episode: str = "match",
        reward: str = "match",
        render_mode: str | None = None,
        **overrides: Any,
    ) -> None:
        super().__init__()
        self.rules = ruleset_of(ruleset, **overrides)
        self.reward, self.render_mode = check_reward(reward), check_render_mode(render_mode)
        self.games = GameBatch(self.rules, 1, episode=episode)
        self.np_random: np.random.Generator | None = None  # made by the first reset
        self.possible_agents = [f"player_{seat}" for seat in range(self.rules.num_seats)]
        self.seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        plan = layout(self.rules)
        self.observation_spaces = {agent: masked_space(self.rules, plan) for agent in self.possible_agents}
        self.action_spaces = {agent: action_space(self.rules) for agent in self.possible_agents}
        self.state_space = vector_space(state_layout(self.rules))

    def observation_space(self, agent: str) -> gymnasium.spaces.Dict:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> ActionSpace:
        return self.action_spaces[agent]

    # --- playing
    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal the first hand of a new episode; without a seed the stream of deals goes on.

        ``options``: "deal", a row of `malilla_env.deal`, is the first hand; "match_score", integers [T], the score to
        start from; "albur", two card ids, what the dealer's right and the dealer draw before the match (RULES 1.6.3).
        ValueError names an unknown option.
        """
        given = reset_options(options)
        if seed is not None or self.np_random is None:
            self.np_random, _ = seeding.np_random(seed)
        self.games.reset(int(self.np_random.integers(1 << 63)), **given)
        self.agents = self.possible_agents[:]
        self.agent_selection = self.agents[self.games.state["seat"][0]]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._skip_agent_selection: str | None = None
        self._show()

    def step(self, action: int | None) -> None:
        """Play an action id for the agent on turn; None for one whose episode is over.

        ValueError: the id is out of range, or None comes from an agent on turn. An illegal play ends the match (RULES
        1.4); under ``illegal="raise"`` it raises IllegalMove and nothing is played.
        """
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        self.games.step(np.array([action_id(action)]))
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        state = self.games.state
        over = bool(state["done"][0])
        if over or state["hand_over"][0]:
            self._pay(over)
        self.agent_selection = self.possible_agents[0 if over else state["seat"][0]]
        self._show()

    def _pay(self, over: bool) -> None:
        """Write the rewards of a hand that is over; nothing else pays, so only here do they accumulate."""
        paid = step_rewards(self.games, self.reward)[0].tolist()
        for agent, seat in self.seats.items():
            self.rewards[agent] = paid[self.rules.teams[seat]]
            self.terminations[agent] = over
        self._accumulate_rewards()

    # --- looking
    def observe(self, agent: str) -> dict[str, NDArray[Any]]:
        """The agent's own View as a vector, and the mask of what it may do: new arrays on every call."""
        seat: int | None = self.seats[agent]
        if seat == self.games.state["seat"][0]:
            mask = self.games.legal_actions()[0].view(np.int8)
            seat = None  # the seat on turn, the quickest to ask for
        else:
            mask = np.zeros(self.rules.num_actions, np.int8)
        return {"observation": self.games.observe(seat)[0], "action_mask": mask}

    def state(self) -> NDArray[np.float32]:
        """float32 [E]: all hands open (`observation.state_layout`), seats counted from the agent on turn.

        When the episode is over they are counted from player_0.
        """
        over = self.games.state["done"][0]
        view: NDArray[np.float32] = self.games.observe_state(0 if over else None)[0]
        return view

    def render(self) -> str | NDArray[np.uint8] | None:
        """The table with all hands open: text for "ansi", uint8 [H, W, 3] for "rgb_array", printed for "human"."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() does nothing: the environment was made without a render_mode")
            return None
        return render.frame(self.games, self.render_mode)

    def _show(self) -> None:
        if self.render_mode == "human":
            self.render()

    def close(self) -> None:
        """There is nothing to release."""

    # --- saving and restoring
    def get_state(self) -> dict[str, Any]:
        """All that changes while playing, copied; `set_state` takes it back, in this environment or in its like."""
        table = {name: deepcopy(getattr(self, name)) for name in TABLE}
        random = deepcopy(self.np_random)
        return {"rules": self.rules.hash, "games": self.games.state.copy(), "np_random": random, "table": table}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from what `get_state` gave, its kind of episode too. ValueError if it was taken under other rules."""
        if state["rules"] != self.rules.hash:
            raise ValueError(f"this state was taken under the rules {state['rules']}, not under {self.rules.hash}")
        self.games = GameBatch.from_state(self.rules, state["games"])
        self.np_random = deepcopy(state["np_random"])
        for name, value in state["table"].items():
            setattr(self, name, deepcopy(value))


pettingzoo.register("aec", "malilla/malilla-v0", entry_point="malilla_env.malilla_v0:env")
