"""GameBatch: N games of one rule set in one structured array, a row each; every operation is over all rows at once.

Enters: a rule set, seeds, deals, actions. Leaves: live read-only arrays of the public facts, Views, observations.
The rules are in `engine.py`; here are the loops over the rows and the checks at the door.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from malilla_env import engine
from malilla_env.compiled import Array, Int, Word, jit, mix, settle, uncounted
from malilla_env.deals import below, check_deals, mixed_keys, purpose_key
from malilla_env.observation import Layout, encode, encode_state, layout, state_layout, stream
from malilla_env.rules import RuleSet
from malilla_env.state import NONE, STATE, check_state
from malilla_env.table import MAX_SEATS
from malilla_env.view import VIEW, fill_position, fill_view, legal_mask

EPISODES = ("match", "hand")
BY_SEAT = ("hands",)
BY_TEAM = ("hand_points", "tricks_won", "match_score", "last_points", "last_tricks", "last_score_change")


class IllegalMove(ValueError):
    """An illegal play under a rule set with ``illegal="raise"``; no lane was stepped."""


# --- the loops over rows
@jit
def _start(
    state: Array, table: Array, where: Array, dealers: Array, orders: Array, scores: Array, alburs: Array
) -> None:
    """Start the lanes of `where`: from `orders`, `dealers` and `alburs` if given, else by the lane's key."""
    rules = table[0]
    for lane in range(len(state)):
        if not where[lane]:
            continue
        row = state[lane]
        engine.start_episode(row)
        for team in range(MAX_SEATS):
            row["match_score"][team] = scores[lane, team]
        engine.set_hand_key(row)
        if len(orders):
            row["dealer"] = dealers[lane]
            for place in range(orders.shape[1]):
                row["deck"][place] = orders[lane, place]
        else:
            row["dealer"] = engine.first_dealer(row, rules)
            engine.shuffle_deck(row, rules)
        if len(alburs):
            if alburs[lane, 0] != NONE:
                engine.win_albur(row, rules, alburs[lane, 0], alburs[lane, 1])
        elif rules["albur"] > 0 and not row["one_hand"]:
            engine.draw_albur(row, rules)
        engine.deal_hand(row, rules)


@jit
def _replace_deal(state: Array, table: Array, where: Array, orders: Array) -> None:
    for lane in range(len(state)):
        if where[lane]:
            for place in range(orders.shape[1]):
                state[lane]["deck"][place] = orders[lane, place]
            engine.replace_deal(state[lane], table[0])


@jit
def in_range(actions: Array, count: Int) -> bool:
    odd = 0
    for lane in range(len(actions)):
        odd += actions[lane] < 0 or actions[lane] >= count
    return odd == 0


@jit
def _first_refused(state: Array, table: Array, actions: Array, legal_only: bool) -> Int:
    """The first lane whose action is out of range (or, with legal_only, not legal); -1 if none."""
    rules = table[0]
    if not legal_only and in_range(actions, rules["num_actions"]):  # one look at the actions, none at the games
        return NONE
    for lane in range(len(state)):
        row, action = state[lane], actions[lane]
        if row["done"]:
            continue
        if action < 0 or action >= rules["num_actions"]:
            return lane
        if legal_only and not engine.is_legal(row, rules, action):
            return lane
    return NONE


@jit
def _step(state: Array, table: Array, actions: Array, legal_only: bool) -> Int:
    """Step every lane and answer -1; or answer a lane whose action is refused, and step none."""
    refused = _first_refused(state, table, actions, legal_only)
    if refused == NONE:
        rules = table[0]
        for lane in range(len(state)):
            engine.step(state[lane], rules, actions[lane])
    return refused


@jit
def _random_legal(state: Array, table: Array, keys: Array, actions: Array) -> None:
    rules = table[0]
    for lane in range(len(state)):
        count = engine.num_legal(state[lane])
        actions[lane] = engine.nth_legal(state[lane], rules, below(keys[lane], count)) if count else 0


@jit
def _decision_keys(state: Array, root: Word, keys: Array) -> None:
    for lane in range(len(state)):
        row = state[lane]
        moment = np.uint64(row["num_plays"]) * np.uint64(8) + np.uint64(row["seat"] + 1)
        keys[lane] = mix(root ^ row["hand_key"], moment)


@jit
def _views(state: Array, table: Array, seats: Array, views: Array) -> None:
    rules = table[0]
    for lane in range(len(state)):
        fill_view(state[lane], rules, seats[lane], views[lane])


@jit
def _observe(
    state: Array, table: Array, seats: Array, orders: Array, offsets: Array, scratch: Array, near: Array, out: Array
) -> None:
    """Views and their encoding, row by row, so that a View is still in the processor's cache when it is read.

    Where `near` is a row, not empty, each row is made there and then streamed to `out`.
    """
    rules, view, far = table[0], scratch[0], len(near) > 0
    orders, offsets, near, out = uncounted(orders), uncounted(offsets), uncounted(near), uncounted(out)
    for lane in range(len(state)):
        fill_position(state[lane], rules, seats[lane], view)
        encode(view, rules, orders[lane], offsets, near if far else out[lane])
        if far:
            stream(near, out[lane])
    if far:
        settle()


@jit
def _observe_state(
    state: Array, table: Array, seats: Array, orders: Array, offsets: Array, scratch: Array, near: Array, out: Array
) -> None:
    rules, view, far = table[0], scratch[0], len(near) > 0
    orders, offsets, near, out = uncounted(orders), uncounted(offsets), uncounted(near), uncounted(out)
    for lane in range(len(state)):
        fill_position(state[lane], rules, seats[lane], view)
        encode_state(state[lane], view, rules, orders[lane], offsets, near if far else out[lane])
        if far:
            stream(near, out[lane])
    if far:
        settle()


@jit
def _misdeal(state: Array, table: Array, where: Array) -> None:
    rules = table[0]
    for lane in range(len(state)):
        if where[lane]:
            engine.misdeal(state[lane], rules)


class GameBatch:
    """N games of one rule set, stepped together; lane i plays stream i of the seed, whatever N is. One thread a batch.

    ``episode`` is "match" (hands until a side wins) or "hand" (one hand). ``purpose`` keeps streams of training,
    evaluation and plain play apart. The arrays named in `__getattr__` are live and read-only: copy them to keep them.
    """

    def __init__(
        self,
        rules: RuleSet,
        num_games: int,
        seed: int = 0,
        episode: str = "match",
        streams: ArrayLike | None = None,
        purpose: str = "play",
    ) -> None:
        if episode not in EPISODES:
            raise ValueError(f"episode {episode!r} must be one of {', '.join(EPISODES)}")
        if not isinstance(num_games, int | np.integer) or num_games < 1:
            raise ValueError(f"num_games {num_games!r} must be a whole number of 1 or more")
        if not isinstance(seed, int | np.integer):
            raise ValueError(f"seed {seed!r} must be a whole number")
        self.rules, self.purpose = rules, purpose
        self.state = np.zeros(num_games, STATE)
        self.scratch = np.zeros(1, VIEW)  # of `_encoded`: as costly to make as a game is to observe
        self.state["one_hand"] = episode == "hand"
        self.state["stream"] = np.arange(num_games) if streams is None else self._streams(streams, num_games)
        self.reset(seed)

    @staticmethod
    def _streams(streams: ArrayLike, num_games: int) -> NDArray[np.int64]:
        array = np.asarray(streams)
        if array.shape != (num_games,) or array.dtype.kind not in "iu" or (array.size and array.min() < 0):
            raise ValueError(f"streams must be {num_games} integers of 0 or more, not {streams!r}")
        return array.astype(np.int64)

    @classmethod
    def from_state(cls, rules: RuleSet, state: NDArray[np.void], purpose: str = "play") -> GameBatch:
        """The batch whose `state` this is; the array is copied. ValueError if it is not a state of these rules."""
        check_state(rules, state)
        return cls._holding(rules, state.copy(), purpose)

    def copy(self) -> GameBatch:
        return GameBatch._holding(self.rules, self.state.copy(), self.purpose)

    @classmethod
    def _holding(cls, rules: RuleSet, state: NDArray[np.void], purpose: str) -> GameBatch:
        games = cls.__new__(cls)
        games.rules, games.purpose, games.state, games.scratch = rules, purpose, state, np.zeros(1, VIEW)
        return games

    def __len__(self) -> int:
        return len(self.state)

    @property
    def episode(self) -> str:
        return EPISODES[int(self.state["one_hand"][0])]

    # --- starting
    def reset(
        self,
        seed: int | None = None,
        deals: NDArray[np.void] | None = None,
        where: ArrayLike | None = None,
        match_score: ArrayLike | None = None,
        albur: ArrayLike | None = None,
    ) -> None:
        """Start new episodes: everywhere, or in the lanes of ``where`` (bool [B]).

        With a seed the lanes start their streams anew; without one each goes on to its next episode. ``deals`` [B]
        gives the first hands, ``match_score`` ([T] or [B, T]) the scores to start from, each below the target.
        ``albur`` ([2] or [B, 2]) are the cards drawn by the dealer's right and the dealer (RULES 1.6.3), -1 and -1 for
        no draw; where it is not given, matches draw if the rule set says so, and single hands do not.
        """
        if not isinstance(seed, int | np.integer | None):
            raise ValueError(f"seed {seed!r} must be a whole number, or None to go on with the streams")
        lanes = self._lanes(where)
        scores, alburs = self._scores(match_score), self._alburs(albur)
        orders, dealers = self._orders(deals)
        if seed is None:
            self.state["episode"][lanes] += 1
        else:
            keys = mixed_keys(purpose_key(seed, self.purpose), self.state["stream"])
            self.state["stream_key"][lanes] = keys[lanes]
            self.state["episode"][lanes] = 0
        _start(self.state, self.rules.table, lanes, dealers, orders, scores, alburs)

    def _orders(self, deals: NDArray[np.void] | None) -> tuple[NDArray[np.uint8], NDArray[np.int8]]:
        if deals is None:
            return np.zeros((0, 0), np.uint8), np.zeros(0, np.int8)
        check_deals(self.rules, deals)
        if len(deals) != len(self):
            raise ValueError(f"{len(deals)} deals were given for {len(self)} games")
        return np.ascontiguousarray(deals["cards"]), np.ascontiguousarray(deals["dealer"])

    def _scores(self, match_score: ArrayLike | None) -> NDArray[np.int16]:
        scores = np.zeros((len(self), MAX_SEATS), np.int16)
        if match_score is None:
            return scores
        teams = self.rules.num_teams
        given = np.asarray(match_score)
        if given.shape not in ((teams,), (len(self), teams)) or given.dtype.kind not in "iu":
            raise ValueError(f"match_score must be integers of shape ({teams},) or ({len(self)}, {teams})")
        wrong = given[(given >= self.rules.target) | (given < -1000)]
        if len(wrong):
            raise ValueError(f"match_score {wrong[0]} must be below the target {self.rules.target}, and -1000 or more")
        scores[:, :teams] = given
        return scores

    def _alburs(self, albur: ArrayLike | None) -> NDArray[np.int8]:
        if albur is None:
            return np.zeros((0, 2), np.int8)
        drawn = np.asarray(albur)
        if drawn.shape not in ((2,), (len(self), 2)) or drawn.dtype.kind not in "iu":
            raise ValueError(f"albur must be two card ids, integers of shape (2,) or ({len(self)}, 2), not {albur!r}")
        pairs = np.broadcast_to(drawn, (len(self), 2)).astype(np.int64)
        drawn_any = (pairs != NONE).any(axis=1)
        known = np.isin(pairs, self.rules.deck).all(axis=1)
        level = pairs[:, 0] % self.rules.ranks == pairs[:, 1] % self.rules.ranks
        wrong = np.flatnonzero(drawn_any & (~known | level | (self.rules.albur == 0)))
        if len(wrong):
            raise ValueError(
                f"albur {pairs[wrong[0]].tolist()} must be two cards of unequal strength in the deck, or -1, -1; and "
                f"the rule set must have one: in {self.rules.name} it wins {self.rules.albur} points"
            )
        return pairs.astype(np.int8)

    def _lanes(self, where: ArrayLike | None) -> NDArray[np.bool_]:
        if where is None:
            return np.ones(len(self), np.bool_)
        lanes = np.asarray(where)
        if lanes.shape != (len(self),) or lanes.dtype != np.bool_:
            raise ValueError(f"where must be bool of shape ({len(self)},), not {lanes.dtype} {lanes.shape}")
        return lanes

    def misdeal(self, where: ArrayLike) -> None:
        """RULES 1.2.5: void the deal in the lanes of ``where``, before the first lead only; the next player deals."""
        _misdeal(self.state, self.rules.table, self._before_play(where, "a misdeal is called before the first lead"))

    def replace_deal(self, deals: NDArray[np.void], where: ArrayLike | None = None) -> None:
        """Give the hands just dealt in the lanes of ``where`` (bool [B]) other cards: those of ``deals`` [B].

        For hands from outside, in the course of a match; the dealers must be those whose turn it is. ValueError if
        anything has been done in one of these hands.
        """
        lanes = self._before_play(where, "a deal is replaced before the first action")
        orders, dealers = self._orders(deals)
        wrong = np.flatnonzero(lanes & ((self.state["num_plays"] > 0) | (dealers != self.state["dealer"])))
        if len(wrong):
            row = self.state[wrong[0]]
            raise ValueError(
                f"lane {wrong[0]}: a deal is replaced before the first action of its hand, by one of the same dealer: "
                f"seat {row['dealer']} dealt, not {dealers[wrong[0]]}, and {row['num_plays']} actions were taken"
            )
        _replace_deal(self.state, self.rules.table, lanes, orders)

    def _before_play(self, where: ArrayLike | None, when: str) -> NDArray[np.bool_]:
        """The lanes; ValueError if a card has been played in one of them, or its game is over."""
        lanes, played = self._lanes(where), self.state["played_by"].any(axis=1)
        wrong = np.flatnonzero(lanes & (self.state["done"] | played))
        if len(wrong):
            raise ValueError(f"lane {wrong[0]}: {when} of a hand only")
        return lanes

    # --- acting
    def legal_actions(self) -> NDArray[np.bool_]:
        """bool [B, A]: what the seat to act may do; all False where the game is over."""
        return legal_mask(self.rules, self.state)

    def decision_keys(self, seed: int = 0) -> NDArray[np.uint64]:
        """uint64 [B]: a key for each decision, made from (seed, deal, hand, seat, ply)."""
        keys = np.empty(len(self), np.uint64)
        _decision_keys(self.state, purpose_key(seed, "decide"), keys)
        return keys

    def random_legal(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """int [B]: a legal action for each game, uniform by its key (uint64 [B]); 0 where the game is over."""
        if keys.shape != (len(self),) or keys.dtype != np.uint64:
            raise ValueError(f"keys must be uint64 of shape ({len(self)},), not {keys.dtype} {keys.shape}")
        actions = np.empty(len(self), np.int64)
        _random_legal(self.state, self.rules.table, keys, actions)
        return actions

    def step(self, actions: ArrayLike) -> None:
        """Play one action (int [B]) in every game; a finished hand settles the score and deals the next.

        Games that are over ignore their action. ValueError for a wrong shape or an id out of range, IllegalMove for
        an illegal play where the rule set says so; then no game was stepped.
        """
        given = np.asarray(actions)
        if given.shape != (len(self),) or given.dtype.kind not in "iu":
            raise ValueError(f"actions must be integers of shape ({len(self)},), not {given.dtype} {given.shape}")
        if given.dtype == np.uint64 and len(given):
            given = np.minimum(given, np.uint64(1 << 62))
        chosen = np.ascontiguousarray(given, np.int64)
        lane = int(_step(self.state, self.rules.table, chosen, self.rules.illegal == "raise"))
        if lane != NONE:
            self._refuse(lane, int(chosen[lane]))

    def _refuse(self, lane: int, action: int) -> None:
        row, names = self.state[lane], self.rules.action_names
        legal = " ".join(np.array(names)[legal_mask(self.rules, self.state[lane : lane + 1])[0]])
        where = f"lane {lane}, seat {row['seat']}"
        if not 0 <= action < len(names):
            raise ValueError(f"{where}: action {action} is not an id in 0..{len(names) - 1}; legal: {legal}")
        raise IllegalMove(f"{where}: {names[action]} (action {action}) is illegal; legal: {legal}")

    # --- looking
    def _seats(self, seats: ArrayLike | int | None) -> NDArray[np.int64]:
        if seats is None:
            return self.state["seat"].astype(np.int64)
        given = np.asarray(seats)
        if given.dtype.kind not in "iu" or given.shape not in ((), (len(self),)):
            raise ValueError(f"seats must be one seat or {len(self)} seats, not {given.dtype} {given.shape}")
        if given.size and (given.min() < 0 or given.max() >= self.rules.num_seats):
            raise ValueError(f"seats must be 0..{self.rules.num_seats - 1}, not {given.min()}..{given.max()}")
        return np.full(len(self), given, np.int64)

    def views(self, seats: ArrayLike | int | None = None) -> NDArray[np.void]:
        """VIEW [B]: of the seats to act, or of the given seats; off turn a View has no legal actions."""
        views = np.zeros(len(self), VIEW)
        _views(self.state, self.rules.table, self._seats(seats), views)
        return views

    def observe(
        self,
        seats: ArrayLike | int | None = None,
        suit_order: ArrayLike | None = None,
        out: NDArray[np.float32] | None = None,
    ) -> NDArray[np.float32]:
        """float32 [B, D]: the Views of `views`, encoded as `observation.layout` says.

        ``suit_order`` ([4] or [B, 4]) names the suit shown in each suit's place; ``out`` is written when given.
        """
        return self._encoded(_observe, layout(self.rules), seats, suit_order, out)

    def observe_state(
        self,
        seats: ArrayLike | int | None = None,
        suit_order: ArrayLike | None = None,
        out: NDArray[np.float32] | None = None,
    ) -> NDArray[np.float32]:
        """float32 [B, E]: all hands open, as `observation.state_layout` says: for critics, never for a player."""
        return self._encoded(_observe_state, state_layout(self.rules), seats, suit_order, out)

    def _encoded(
        self,
        write: Callable[..., None],
        plan: Layout,
        seats: ArrayLike | int | None,
        suit_order: ArrayLike | None,
        out: NDArray[np.float32] | None,
    ) -> NDArray[np.float32]:
        out = plan.output(len(self), out)
        orders = plan.orders(len(self), suit_order)
        seats, near = self._seats(seats), plan.near(out)
        write(self.state, self.rules.table, seats, orders, plan.offsets, self.scratch, near, out)
        return out

    def __getattr__(self, name: str) -> NDArray[Any]:
        """A field of the state as a live read-only array: [B], or by seat or team cut to the rule set's number."""
        if name.startswith("_") or name == "state" or name not in STATE.names:  # type: ignore[operator]
            raise AttributeError(f"GameBatch has no attribute {name!r}")
        field = self.state[name]
        if name in BY_SEAT:
            field = field[:, : self.rules.num_seats]
        elif name in BY_TEAM:
            field = field[:, : self.rules.num_teams]
        live = field[:]
        live.flags.writeable = False
        return live
