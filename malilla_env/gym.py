"""Malilla and its family as a Gymnasium environment: one seat, against and beside given players.

Enters: a rule set by name, players for the other seats, actions. Leaves: observations, rewards, masks. A shell over a
`GameBatch` of one game: between two moves of the learner the others play.

    import gymnasium
    import malilla_env.gym

    env = gymnasium.make("malilla/Malilla-v0", opponents="heuristic")
    observation, info = env.reset(seed=7)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample(info["action_mask"]))

The reward is what the learner's side won since its last move, on whoever's play. "margin" is paid trick by trick, so
that a hand sums to its margin; "score" and "match" are paid when a hand or the match ends. Over an episode each sums to
what the PettingZoo environment pays that seat, an illegal play included (RULES 1.4: -1 in all, and the episode ends).

README.md has a table of the rule sets, and `rules.action_names` names the actions: cards, then what a rule set has
besides (`pass`, `ask`, `agree`, `refuse`, bids, trumps named, statements). The learner is asked for these too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import gymnasium
import numpy as np
from numpy.typing import NDArray

from malilla_env import render
from malilla_env.batch import GameBatch
from malilla_env.interface import RENDER_MODES, action_id, action_space, check_render_mode, reset_options, vector_space
from malilla_env.observation import layout
from malilla_env.players import HeuristicPlayer, RandomPlayer
from malilla_env.rewards import check_reward, hand_margin, step_rewards
from malilla_env.rules import RuleSet
from malilla_env.rules import ruleset as ruleset_of


class Player(Protocol):
    """Whoever plays another seat: a batch of Views (of one game here) in, a batch of action ids out."""

    def act(self, views: NDArray[np.void], keys: NDArray[np.uint64]) -> NDArray[np.integer[Any]]: ...


PLAYERS: dict[str, Callable[[RuleSet], Player]] = {"random": RandomPlayer, "heuristic": HeuristicPlayer}
ROTATE = "rotate"


class MalillaEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """One seat of a game; the observation is the seat's View as `malilla_env.layout` says, float32 [D].

    ``seat`` is the learner's, or "rotate": another one every episode. ``partner`` and ``opponents`` are "random",
    "heuristic", or objects with ``act(views, keys)``. Where each plays for itself, as two and three players do, nobody
    is the learner's partner: ``partner`` is checked like any player and never asked. ``info`` holds "action_mask"
    (int8 [A], all zeros when the episode is over) and "seat". Other keyword arguments replace fields of the rule set.
    """

    metadata: dict[str, Any] = {"render_modes": RENDER_MODES, "render_fps": 2}  # noqa: RUF012 (so in the base class)

    def __init__(
        self,
        ruleset: str | RuleSet = "malilla",
        episode: str = "hand",
        reward: str = "margin",
        seat: int | str = 0,
        partner: str | Player = "heuristic",
        opponents: str | Player = "heuristic",
        render_mode: str | None = None,
        **overrides: Any,
    ) -> None:
        self.rules = ruleset_of(ruleset, **overrides)
        if seat != ROTATE and seat not in range(self.rules.num_seats):
            raise ValueError(f"seat {seat!r} must be 0..{self.rules.num_seats - 1} or {ROTATE!r}")
        self.reward, self.render_mode = check_reward(reward), check_render_mode(render_mode)
        self.partner, self.opponents = player_of(self.rules, partner), player_of(self.rules, opponents)
        self.rotates, self.seat = seat == ROTATE, 0 if isinstance(seat, str) else int(seat)
        self.games = GameBatch(self.rules, 1, episode=episode)
        self.observation_space: gymnasium.spaces.Space[NDArray[np.float32]] = vector_space(layout(self.rules))
        self.action_space = action_space(self.rules)

    # --- playing
    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Deal the first hand of an episode and play up to the learner's turn.

        ``options``: "deal", a row of `malilla_env.deal`, "match_score", integers [T], and "albur", two card ids (RULES
        1.6.3); ValueError names another.
        """
        given = reset_options(options)
        fresh = seed is not None or self._np_random is None
        super().reset(seed=seed)
        if self.rotates:  # a seed settles where the round begins
            seats = self.rules.num_seats
            self.seat = int(self.np_random.integers(seats)) if fresh else (self.seat + 1) % seats
        self.games.reset(int(self.np_random.integers(1 << 63)), **given)
        self._earned = self._paid = 0.0
        self._let_others_play()
        self._show()
        return self._observation(), self._info()

    def step(self, action: np.int64 | int) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Play an action id for the learner, then the others up to its next turn.

        ValueError: the id is out of range, or the episode is over or not begun. An illegal play ends the episode; under
        ``illegal="raise"`` it raises IllegalMove and nothing is played.
        """
        self._check_begun()
        if self.games.state["done"][0]:
            raise ValueError("the episode is over: call reset")
        self._play(action)
        self._let_others_play()
        self._show()
        return self._observation(), self._wages(), bool(self.games.state["done"][0]), False, self._info()

    def _check_begun(self) -> None:
        if self._np_random is None:
            raise ValueError("no episode is under way: call reset")

    def _play(self, action: Any) -> None:
        """One action of the seat on turn; what it pays the learner's side is written down."""
        self.games.step(np.array([action_id(action)]))
        self._earned += float(step_rewards(self.games, self.reward)[0, self._team])

    def _let_others_play(self) -> None:
        state = self.games.state
        while not state["done"][0] and state["seat"][0] != self.seat:
            self._play(self._answer(int(state["seat"][0])))

    def _answer(self, seat: int) -> int:
        """The action of the player at another seat. ValueError if it is no legal one: such a player is broken."""
        player = self.partner if self.rules.teams[seat] == self._team else self.opponents
        answer = np.asarray(player.act(self.games.views(), self.games.decision_keys()))
        legal = np.flatnonzero(self.games.legal_actions()[0])
        if answer.shape != (1,) or answer[0] not in legal:
            names = " ".join(self.rules.action_names[action] for action in legal)
            name = getattr(player, "name", type(player).__name__)
            raise ValueError(f"player {name} at seat {seat} answered {answer!r}; legal are {legal} ({names})")
        return int(answer[0])

    @property
    def _team(self) -> int:
        return self.rules.teams[self.seat]

    def _wages(self) -> float:
        """What the learner's side won since this was last asked."""
        due = self._earned
        if self.reward == "margin" and not self.games.state["done"][0]:
            due += float(hand_margin(self.games)[0, self._team])
        wages, self._paid = due - self._paid, due
        return wages

    # --- looking
    def _observation(self) -> NDArray[np.float32]:
        view: NDArray[np.float32] = self.games.observe(self.seat)[0]
        return view

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.games.legal_actions()[0].view(np.int8), "seat": self.seat}

    def action_masks(self) -> NDArray[np.bool_]:
        """bool [A]: what the learner may do; sb3-contrib's MaskablePPO asks for it. ValueError before a reset."""
        self._check_begun()
        mask: NDArray[np.bool_] = self.games.legal_actions()[0]
        return mask

    def render(self) -> Any:
        """What the learner's seat may know: text for "ansi", uint8 [H, W, 3] for "rgb_array", printed for "human"."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() does nothing: the environment was made without a render_mode")
            return None
        return render.frame(self.games, self.render_mode, self.seat)

    def _show(self) -> None:
        if self.render_mode == "human":
            self.render()


def player_of(rules: RuleSet, player: str | Player) -> Player:
    """A player by name or as given; ValueError for an unknown name, or a player that would have to see all hands."""
    if isinstance(player, str):
        if player not in PLAYERS:
            raise ValueError(f"unknown player {player!r}: choose one of {', '.join(PLAYERS)}, or give an object")
        return PLAYERS[player](rules)
    if not callable(getattr(player, "act", None)):
        raise ValueError(f"{player!r} is no player: it has no act(views, keys)")
    if getattr(player, "sees_all", False):
        raise ValueError(f"{player!r} must see all hands, and here a player is shown its own View alone")
    chosen: Player = player
    return chosen


gymnasium.register("malilla/Malilla-v0", entry_point="malilla_env.gym:MalillaEnv")
