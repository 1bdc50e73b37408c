"""The Gymnasium environment: check_env, and what it does not look at: that the learner is paid for every point its side
won, on whoever's play; masks; whom it plays with; copies; refusals."""

import pickle
from copy import deepcopy

import gymnasium
import numpy as np
import pytest
from family import GAMES, every_game
from gymnasium.utils.env_checker import check_env

import malilla_env.gym
from malilla_env import IllegalMove, deal, malilla_v0, ruleset
from malilla_env.gym import MalillaEnv
from malilla_env.players import HeuristicPlayer, RandomPlayer
from malilla_env.rewards import REWARDS

THREE = {"teams": (0, 1, 2), "removed": ("2s",), "neutral": 24}  # three seats, each for itself
RANDOM = {"partner": "random", "opponents": "random"}


def make(**arguments):
    return gymnasium.make("malilla/Malilla-v0", **{**RANDOM, **arguments}).unwrapped


def play(env, info, actions=None):
    """Play to the end of the episode by chance under the mask; the rewards, and the last observation and info."""
    rewards, terminated, observation = [], False, None
    while not terminated:
        action = env.action_space.sample(info["action_mask"])
        observation, reward, terminated, truncated, info = env.step(action)
        rewards.append(reward)
        assert not truncated
        if actions is not None:
            actions.append(int(action))
    return rewards, observation, info


def follow(env):
    """Every action of the episodes to come, of all seats, and the state before the first of each."""
    episodes, games = [], env.games
    step, reset = games.step, games.reset

    def kept_reset(*arguments, **keywords):
        reset(*arguments, **keywords)
        episodes.append((games.state.copy(), []))

    def kept_step(actions):
        episodes[-1][1].append(int(actions[0]))
        step(actions)

    games.reset, games.step = kept_reset, kept_step
    return episodes


def paid_by_the_aec(env, start, actions):
    """What the PettingZoo environment pays each seat in all for the same episode."""
    other = malilla_v0.raw_env(env.rules, reward=env.reward)
    other.reset(seed=0)
    saved = other.get_state()
    saved["games"] = start
    saved["table"]["agent_selection"] = f"player_{start['seat'][0]}"
    other.set_state(saved)
    totals = dict.fromkeys(other.possible_agents, 0.0)
    for agent, action in zip(other.agent_iter(), [*actions, *[None] * len(totals)], strict=False):
        totals[agent] += other.last()[1]
        other.step(action)
    assert not other.agents
    return list(totals.values())


# --- Gymnasium's own test
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"seat": 3, "episode": "match", "reward": "score"},
        {"seat": "rotate", "reward": "match", "partner": "heuristic", "opponents": "heuristic"},
        THREE,
    ],
)
def test_check_env(arguments):
    check_env(make(**arguments))


@every_game
def test_check_env_in_every_game(rules):
    check_env(make(ruleset=rules, seat=rules.num_seats - 1), skip_render_check=True)


def test_made_by_its_id_with_wrappers():
    env = gymnasium.make("malilla_env.gym:malilla/Malilla-v0", render_mode="ansi")
    observation, info = env.reset(seed=3)
    assert env.observation_space.contains(observation)
    assert isinstance(env.unwrapped.opponents, HeuristicPlayer)
    assert isinstance(env.unwrapped.partner, HeuristicPlayer)
    assert "to 35" in env.render()
    rewards, *_ = play(env, info)
    assert len(rewards) == 10
    assert env.unwrapped.spec.id == "malilla/Malilla-v0"


# --- what is paid
@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize("episode", ["hand", "match"])
@pytest.mark.parametrize("overrides", [{}, THREE, {"zapato_multiplier": 2.0}])
def test_rewards_sum_to_what_the_aec_pays(reward, episode, overrides):
    env = make(reward=reward, episode=episode, seat="rotate", **overrides)
    env.action_space.seed(1)
    episodes = follow(env)
    seats = set()
    for seed in range(6):
        _, info = env.reset(seed=seed)
        rewards, *_ = play(env, info)
        start, actions = episodes[-1]
        assert sum(rewards) == pytest.approx(paid_by_the_aec(env, start, actions)[info["seat"]])
        seats.add(info["seat"])
    assert len(seats) > 1


@every_game
def test_rewards_sum_to_what_the_aec_pays_in_every_game(rules):
    """A hand, and a match near its end, from a seat that is another one every time."""
    for episode, reward in (("hand", "margin"), ("match", "score")):
        env = make(ruleset=rules, reward=reward, episode=episode, seat="rotate")
        env.action_space.seed(1)
        episodes = follow(env)
        for seed in range(2):
            _, info = env.reset(seed=seed, options={"match_score": [rules.target - 1] * rules.num_teams})
            rewards, observation, _ = play(env, info)
            start, actions = episodes[-1]
            assert sum(rewards) == pytest.approx(paid_by_the_aec(env, start, actions)[info["seat"]])
            assert env.observation_space.contains(observation)


@pytest.mark.parametrize("name", ["manille-3", "manille-3-dead", "manille-2"])
def test_where_each_plays_for_itself_the_partner_is_never_asked(name):
    partner, opponents = Never(), Recorder(GAMES[name])
    env = make(ruleset=name, seat=1, partner=partner, opponents=opponents)
    _, info = env.reset(seed=3)
    play(env, info)
    assert opponents.seats == set(range(env.rules.num_seats)) - {1}
    with pytest.raises(ValueError, match="unknown player 'nobody'"):
        make(ruleset=name, partner="nobody")


class Never:
    """A player that must not be asked."""

    def act(self, views, keys):
        raise AssertionError("nobody is the learner's partner")


class Recorder(RandomPlayer):
    """Plays by chance, and keeps which seats it has played."""

    def __init__(self, rules):
        super().__init__(rules)
        self.seats = set()

    def act(self, views, keys):
        self.seats |= set(views["seat"].tolist())
        return super().act(views, keys)


def test_the_learner_bids_asks_and_speaks():
    """Actions besides cards are its own to take, each in the phase that allows it."""
    for name, kinds in (
        ("malilla-redeal", {"pass"}),
        ("manille-encheres", {"pass", "bid", "trump"}),
        ("manille-parlee", {"pass", "holds"}),
    ):
        env = make(ruleset=name, seat=2)
        env.action_space.seed(5)
        actions = []
        for seed in range(8):
            _, info = env.reset(seed=seed)
            play(env, info, actions)
        names = [env.rules.action_names[action] for action in actions if action >= 4 * env.rules.ranks]
        assert {text.split("-")[0] for text in names} >= kinds


def test_a_hand_sums_to_its_margin_and_every_trick_is_paid():
    env = make(seat=2, opponents="heuristic")
    env.action_space.seed(2)
    state = env.games.state
    for seed in range(10):
        _, info = env.reset(seed=seed)
        before, terminated, rewards = np.zeros(2), False, []
        while not terminated:
            _, reward, terminated, _, info = env.step(env.action_space.sample(info["action_mask"]))
            points = state["last_points" if terminated else "hand_points"][0, :2].astype(float)
            won = points - before
            assert reward == pytest.approx((won[0] - won.mean()) / 35)
            before = points
            rewards.append(reward)
        assert len(rewards) == 10
        assert sum(rewards) == pytest.approx((state["last_points"][0, 0] - 35) / 35)


def test_points_won_on_other_seats_plays_are_paid():
    """What the learner gets between two moves holds tricks that end before and after its own play."""
    env = make(seat=1)
    env.action_space.seed(3)
    ended_by_others = 0
    for seed in range(20):
        _, info = env.reset(seed=seed)
        while not env.games.done[0]:
            last_to_play = env.games.trick_size[0] == 3
            _, reward, _, _, info = env.step(env.action_space.sample(info["action_mask"]))
            ended_by_others += bool(reward) and not last_to_play
            if env.games.done[0]:
                break
    assert ended_by_others > 50


@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize("moves", [0, 4])
@pytest.mark.parametrize("overrides", [{}, THREE])
def test_1_4_1_an_illegal_play_costs_one_in_all(reward, moves, overrides):
    env = make(reward=reward, episode="hand", seat=0, **overrides)
    env.action_space.seed(4)
    observation, info = env.reset(seed=6)
    total = 0.0
    for _ in range(moves):
        observation, got, _, _, info = env.step(env.action_space.sample(info["action_mask"]))
        total += got
    illegal = int(np.flatnonzero(info["action_mask"] == 0)[0])
    observation, got, terminated, truncated, info = env.step(illegal)
    assert (terminated, truncated) == (True, False)
    assert total + got == pytest.approx(-1)
    assert env.games.reneged[0] == 0
    assert env.observation_space.contains(observation)
    assert not info["action_mask"].any()


def test_1_4_1_illegal_plays_may_raise_instead():
    env = make(illegal="raise")
    _, info = env.reset(seed=6)
    with pytest.raises(IllegalMove, match="is illegal; legal:"):
        env.step(int(np.flatnonzero(info["action_mask"] == 0)[0]))
    env.step(env.action_space.sample(info["action_mask"]))


# --- masks and seats
@pytest.mark.parametrize("seat", [0, 1, 2, 3])
def test_the_learner_is_on_turn_and_sees_its_mask(seat):
    env = make(seat=seat, episode="match")
    env.action_space.seed(5)
    observation, info = env.reset(seed=seat)
    terminated = False
    while not terminated:
        assert env.games.seat[0] == info["seat"] == seat
        assert np.array_equal(observation, env.games.observe(seat)[0])
        assert info["action_mask"].dtype == np.int8
        assert env.action_masks().dtype == np.bool_
        assert np.array_equal(info["action_mask"], env.action_masks())
        assert np.array_equal(env.action_masks(), env.games.legal_actions()[0])
        observation, _, terminated, _, info = env.step(env.action_space.sample(info["action_mask"]))
    assert not env.action_masks().any()


def test_the_seat_rotates():
    env = make(seat="rotate")
    seats = [env.reset(seed=11 if episode == 0 else None)[1]["seat"] for episode in range(9)]
    assert seats == [(seats[0] + episode) % 4 for episode in range(9)]
    assert env.reset(seed=11)[1]["seat"] == seats[0]
    assert {env.reset(seed=seed)[1]["seat"] for seed in range(30)} == {0, 1, 2, 3}


# --- whom it plays with
class Lowest:
    """Plays the lowest legal card, and keeps what it was shown."""

    def __init__(self):
        self.views, self.keys = [], []

    def act(self, views, keys):
        self.views.append(views.copy())
        self.keys.append(int(keys[0]))
        return np.array([(int(view["legal"][0]) & -int(view["legal"][0])).bit_length() - 1 for view in views])


def test_partner_and_opponents_play_their_seats():
    partner, opponents = Lowest(), Lowest()
    env = make(seat=1, partner=partner, opponents=opponents)
    env.action_space.seed(6)
    _, info = env.reset(seed=2)
    play(env, info)
    assert {int(view["seat"][0]) for view in partner.views} == {3}
    assert {int(view["seat"][0]) for view in opponents.views} == {0, 2}
    assert len(partner.views) == 10
    assert len(opponents.views) == 20
    assert len(set(partner.keys + opponents.keys)) == 30


def test_other_players_are_reproducible_and_do_not_repeat_themselves():
    def plays(seed):
        env = make(seat=0)
        episodes = follow(env)
        env.action_space.seed(7)
        for episode in range(3):
            _, info = env.reset(seed=seed if episode == 0 else None)
            play(env, info)
        return [actions for _, actions in episodes]

    assert plays(1) == plays(1)
    assert len({tuple(actions) for actions in plays(1) + plays(2)}) == 6


def test_random_is_weaker_than_heuristic():
    def mean(opponents):
        env = make(partner="random", opponents=opponents)
        env.action_space.seed(8)
        _, info = env.reset(seed=12)
        results = []
        for _ in range(60):
            results.append(sum(play(env, info)[0]))
            _, info = env.reset()
        return np.mean(results)

    assert mean("random") > mean("heuristic") + 0.05


@pytest.mark.parametrize(
    "answer",
    [lambda legal: [40], lambda legal: [min({*range(40)} - {*legal})], lambda legal: 3, lambda legal: legal[:1] * 2],
)
def test_a_broken_player_is_named(answer):
    class Broken:
        def act(self, views, keys):
            return np.array(answer([card for card in range(40) if int(views["legal"][0, 0]) >> card & 1]))

    env = make(opponents=Broken(), seat=0, dealer_bonus=False)
    row = deal(env.rules, 1, [0])
    row["dealer"] = 0
    with pytest.raises(ValueError, match=r"player Broken at seat 1 answered .*; legal are .*\("):
        env.reset(seed=1, options={"deal": row})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seat": 4}, "seat 4 must be 0..3 or 'rotate'"),
        ({"seat": "first"}, "seat 'first' must be"),
        ({"opponents": "strong"}, "unknown player 'strong': choose one of random, heuristic, or give an object"),
        ({"partner": 3}, "3 is no player"),
        ({"episode": "game"}, "episode 'game'"),
        ({"reward": "points"}, "reward 'points'"),
        ({"render_mode": "svg"}, "render_mode 'svg'"),
        ({"tarjet": 3}, "unknown rule set field 'tarjet'"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        MalillaEnv(**arguments)


def test_a_player_that_must_see_all_hands_is_refused():
    class Oracle(Lowest):
        sees_all = True

    with pytest.raises(ValueError, match="must see all hands"):
        make(opponents=Oracle())


# --- resets
def test_the_first_deal_and_score_can_be_given():
    env = make(seat=1, dealer_bonus=False)
    row = deal(ruleset(), 77, [3])[0]
    env.reset(seed=1, options={"deal": row, "match_score": [12, 20]})
    assert env.games.dealer[0] == row["dealer"]
    assert env.games.match_score.tolist() == [[12, 20]]
    with pytest.raises(ValueError, match="unknown reset option 'deals': choose among deal, match_score, albur"):
        env.reset(options={"deals": row})
    env = make(ruleset="malilla-albur", episode="match", seat=1)
    env.reset(seed=1, options={"deal": row, "albur": [9, 10]})  # the malilla of spades against the two of hearts
    assert env.games.albur_seat[0] == (row["dealer"] + 1) % 4


def test_seeds_and_streams():
    env, other = make(), make()
    first = [env.reset(seed=5)[0].tobytes()] + [env.reset()[0].tobytes() for _ in range(10)]
    again = [other.reset(seed=5)[0].tobytes()] + [other.reset()[0].tobytes() for _ in range(10)]
    assert first == again
    assert len(set(first)) == 11
    assert make().reset()[0].tobytes() != make().reset()[0].tobytes()


def test_nothing_is_played_outside_an_episode():
    env = make()
    with pytest.raises(ValueError, match="no episode is under way: call reset"):
        env.step(0)
    with pytest.raises(ValueError, match="no episode is under way: call reset"):
        env.action_masks()
    _, info = env.reset(seed=1)
    play(env, info)
    with pytest.raises(ValueError, match="the episode is over: call reset"):
        env.step(0)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (40, "not an id in 0..39"),
        (-1, "not an id"),
        (1.5, "must be an action id"),
        (None, "must be an action id"),
        (True, "must be an action id"),
    ],
)
def test_what_is_no_action_is_refused(action, message):
    env = make()
    _, info = env.reset(seed=1)
    with pytest.raises(ValueError, match=message):
        env.step(action)
    play(env, info)


# --- copies and pictures
@pytest.mark.parametrize("copied", [deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_at_any_move_goes_on_as_the_original(copied):
    env = make(opponents="heuristic", episode="hand")
    env.action_space.seed(9)
    _, info = env.reset(seed=4)
    for _ in range(9):
        copy, twin = copied(env), copied(env)
        one, other = play(copy, dict(info)), play(twin, dict(info))
        assert one[0] == other[0]
        assert one[1].tobytes() == other[1].tobytes()
        assert copy.reset()[0].tobytes() == twin.reset()[0].tobytes()
        _, _, _, _, info = env.step(env.action_space.sample(info["action_mask"]))
    assert not env.games.done[0]


def test_pictures_show_the_learner_what_it_may_know(capsys):
    env = make(seat=2, render_mode="ansi")
    env.reset(seed=4)
    lines = env.render().splitlines()
    assert sum("10 cards" in line or "9 cards" in line for line in lines) == 3
    assert make(seat=2, render_mode="rgb_array").metadata["render_modes"] == ["human", "ansi", "rgb_array"]
    env = make(render_mode="human")
    env.reset(seed=4)
    assert "player_0" in capsys.readouterr().out
    assert env.render() is None
    env = make()
    env.reset(seed=4)
    with pytest.warns(UserWarning, match="without a render_mode"):
        assert env.render() is None


def test_players_by_name():
    rules = ruleset()
    assert isinstance(malilla_env.gym.player_of(rules, "random"), RandomPlayer)
    assert isinstance(malilla_env.gym.player_of(rules, "heuristic"), HeuristicPlayer)
