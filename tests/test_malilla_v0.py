"""The PettingZoo environment: its own checks by api_test and seed_test, then what those two do not look at (CASES 1, 2,
7, 11, 12): masks against the referee, who is paid what and when, copies at every ply, options, refusals."""

import pickle
import warnings
from copy import deepcopy

import gymnasium
import numpy as np
import pettingzoo
import pytest
from family import GAMES, every_game
from referee import Referee

from malilla_env import GameBatch, IllegalMove, deal, malilla_v0, ruleset
from malilla_env.deals import deal_dtype
from malilla_env.rewards import REWARDS, step_rewards
from malilla_env.state import PHASES

with warnings.catch_warnings():  # PettingZoo's tests import its own environments the deprecated way
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import api_test, seed_test
    from pettingzoo.test.state_test import test_state as run_state_test
    from pettingzoo.test.state_test import test_state_space as run_state_space_test

PLAYERS = ["player_0", "player_1", "player_2", "player_3"]
# api_test says these two of every environment with a dict observation that is not on its list.
ABOUT_DICTS = {
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be gymnasium.spaces.box or gymnasium.spaces.discrete",
}
CONSTRUCTORS = [malilla_v0.env, malilla_v0.raw_env]
THREE = {  # three seats, each for itself
    "teams": (0, 1, 2),
    "removed": ("2s",),
    "trick_points": 1,
    "neutral": 24,
}
FEW = ["malilla-zone", "malilla-albur", "manille-encheres", "manille-3-dead", "manille-2"]  # each unlike the others


def lowest_legal(observation):
    return int(np.flatnonzero(observation["action_mask"])[0])


def play_on(env, choose=lowest_legal):
    """Play to the end of the episode, dead steps included; yields what `last` says before every step."""
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        yield agent, observation, reward, terminated, truncated, info
        env.step(None if terminated else choose(observation))


def total_rewards(env, choose=lowest_legal):
    totals = dict.fromkeys(env.possible_agents, 0.0)
    for agent, _, reward, *_ in play_on(env, choose):
        totals[agent] += reward
    return totals


def seed_spaces(env):
    for seed, agent in enumerate(env.possible_agents):
        env.action_space(agent).seed(seed)


def transcript(env):
    """The rest of the episode, as comparable values: the actions are drawn from the action spaces."""
    lines = []
    for agent in env.agent_iter():
        observation, *rest = env.last()
        arrays = tuple((key, value.dtype, value.tobytes()) for key, value in sorted(observation.items()))
        action = None if rest[1] else int(env.action_space(agent).sample(observation["action_mask"]))
        lines.append((agent, arrays, *rest, action, env.unwrapped.state().tobytes()))
        env.step(action)
    return lines


# --- PettingZoo's own tests
@pytest.mark.parametrize("make", CONSTRUCTORS)
@pytest.mark.parametrize("arguments", [{}, {"episode": "hand", "reward": "margin"}, {"target": 70, "reward": "score"}])
def test_api_test_warns_of_dict_observations_alone(make, arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(make(**arguments), num_cycles=300)
    assert {str(warning.message) for warning in caught} == ABOUT_DICTS


@pytest.mark.parametrize("make", CONSTRUCTORS)
def test_seed_test(make):
    seed_test(make, num_cycles=300)


def test_state_tests():
    env = malilla_v0.env(episode="hand")
    run_state_space_test(env)
    run_state_test(env, num_cycles=20)


@every_game
def test_pettingzoos_tests_in_every_game(rules):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(malilla_v0.env(ruleset=rules), num_cycles=60)
    assert {str(warning.message) for warning in caught} == ABOUT_DICTS
    seed_test(lambda: malilla_v0.env(ruleset=rules, episode="hand"), num_cycles=60)
    env = malilla_v0.env(ruleset=rules, episode="hand")
    run_state_space_test(env)
    run_state_test(env, num_cycles=5)


@every_game
def test_every_game_is_played_and_paid(rules):
    """A match of legal actions by chance: who is on turn, what lies in the spaces, who is paid; zero-sum."""
    env = malilla_v0.env(ruleset=rules, reward="score", render_mode="ansi")
    names = [f"player_{seat}" for seat in range(rules.num_seats)]
    assert env.possible_agents == names
    env.reset(seed=5, options={"match_score": [rules.target - 1] * rules.num_teams})
    seed_spaces(env)
    games = env.unwrapped.games
    totals, due, said = dict.fromkeys(names, 0.0), np.zeros(rules.num_teams), set()
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        totals[agent] += reward
        assert env.observation_space(agent).contains(observation)
        assert (truncated, info) == (False, {})
        if terminated:
            env.step(None)
            continue
        assert agent == names[games.seat[0]]
        assert env.unwrapped.state_space.contains(env.state())
        assert not any(env.observe(other)["action_mask"].any() for other in names if other != agent)
        action = env.action_space(agent).sample(observation["action_mask"])
        said |= {rules.action_names[action]} - set(rules.action_names[: 4 * rules.ranks])
        env.step(action)
        if games.hand_over[0]:
            change = games.last_score_change[0]
            due += (change - change.mean()) / rules.target
        if len(said) < 3:
            assert env.render()
    assert list(totals.values()) == pytest.approx([due[team] for team in rules.teams])
    by_team = [totals[names[rules.teams.index(team)]] for team in range(rules.num_teams)]
    assert sum(by_team) == pytest.approx(0)
    assert bool(said) == bool(rules.others)


def in_each_phase(rules, **settings):
    """The phase, and an environment in it, for each phase that the rule set has besides OVER."""
    kinds = {"ask": {"ask", "consent"}, "bid": {"bid", "name"}, "count": {"talk"}}
    wanted = {"play"}.union(*(phases for kind, phases in kinds.items() if kind in rules.others))
    env, seed = malilla_v0.raw_env(rules, **settings), 0
    while wanted:
        env.reset(seed=seed)
        env.action_space("player_0").seed(seed)
        seed += 1
        assert seed < 40, f"no deal led to {wanted}"
        while not env.games.done[0]:
            phase = PHASES[env.games.phase[0]]
            if phase in wanted:
                wanted.remove(phase)
                yield phase, env
            observation = env.observe(env.agent_selection)
            env.step(env.action_space("player_0").sample(observation["action_mask"]))


# every phase is in one of them; five cards of a suit are so common that new deals are asked for
PHASED = [
    ruleset("malilla-zone", redeal=5),
    *(GAMES[name] for name in ("manille-encheres", "manille-parlee", "manille-2", "manille-3-dead")),
]
in_every_phase = pytest.mark.parametrize("rules", PHASED, ids=lambda rules: rules.name)


@in_every_phase
def test_a_copy_and_a_saved_state_go_on_in_every_phase(rules):
    other = malilla_v0.raw_env(rules, reward="score")
    other.reset(seed=1)
    for _, env in in_each_phase(rules, reward="score"):
        copy, twin = deepcopy(env), pickled(env)
        other.set_state(env.get_state())
        for one in (copy, twin, other):
            seed_spaces(one)
        first = transcript(copy)
        assert first == transcript(twin)
        assert first == transcript(other)
        assert first
        copy.reset(), other.reset()
        assert first_hands(copy) == first_hands(other)


@in_every_phase
def test_1_4_1_illegal_actions_in_every_phase(rules):
    """Cards out of turn to play them, statements that are not true, bids that are too low: each loses the match."""
    raising = malilla_v0.raw_env(rules, illegal="raise")
    for phase, env in in_each_phase(rules):
        mask = env.observe(env.agent_selection)["action_mask"]
        wrong = np.flatnonzero(mask == 0)
        assert len(wrong)
        if phase != "play":
            assert not mask[: 4 * rules.ranks].any()
        seat = env.games.seat[0]
        for action in (wrong[0], wrong[len(wrong) // 2], wrong[-1]):
            lost = deepcopy(env)
            lost.step(action)
            assert lost.games.reneged[0] == seat
            sides = rules.num_teams
            expected = [-1.0 if team == rules.teams[seat] else 1 / (sides - 1) for team in rules.teams]
            assert list(lost.rewards.values()) == pytest.approx(expected)
            assert set(lost.terminations.values()) == {True}
            raising.reset(seed=0)
            raising.games = GameBatch.from_state(raising.rules, env.games.state)
            raising.agent_selection = env.agent_selection
            with pytest.raises(IllegalMove, match=rules.action_names[action]):
                raising.step(action)
            assert (raising.games.state == env.games.state).all()


def test_registered():
    env = pettingzoo.make("aec", "malilla/malilla-v0", ruleset="malilla-70", episode="hand")
    assert str(env) == "malilla_v0"
    assert env.unwrapped.rules == ruleset("malilla-70")
    assert env.unwrapped.games.episode == "hand"


# --- spaces, observations and masks
def test_spaces_are_the_same_objects_every_time():
    env = malilla_v0.env()
    spaces = [space(agent) for space in (env.observation_space, env.action_space) for agent in PLAYERS]
    assert [space(agent) for space in (env.observation_space, env.action_space) for agent in PLAYERS] == spaces
    again = [space(agent) for space in (env.observation_space, env.action_space) for agent in PLAYERS]
    assert all(one is other for one, other in zip(spaces, again, strict=True))
    assert len({id(space) for space in spaces}) == 8


@pytest.mark.parametrize("arguments", [{}, {"undertrump": "forbidden", "protected": "played"}, {"target": 70}])
def test_mask_is_the_referees(arguments):
    """CASES 11: of a whole match, for all seats, on and off turn; also that agents are on turn when they should be."""
    env = malilla_v0.env(**arguments)
    env.reset(seed=21)
    seed_spaces(env)
    rules, state = env.unwrapped.rules, env.unwrapped.games.state
    names = rules.action_names

    def order():
        return [names[card] for card in state["deck"][0][: rules.num_cards]]

    referee, plies = Referee(rules, order(), int(state["dealer"][0])), 0
    while not referee.done:
        agent, mask = env.agent_selection, env.last()[0]["action_mask"]
        assert agent == PLAYERS[referee.seat]
        assert {names[action] for action in np.flatnonzero(mask)} == set(referee.legal())
        assert not any(env.observe(other)["action_mask"].any() for other in PLAYERS if other != agent)
        action = env.action_space(agent).sample(mask)
        env.step(action)
        referee.play(names[action])
        plies += 1
        if referee.hand_over and not referee.done:
            referee.next_hand(order())
    assert plies > 100
    assert all(env.terminations.values())
    assert env.unwrapped.games.winner[0] == referee.winner


def test_observations_lie_in_their_space_and_share_nothing():
    env = malilla_v0.raw_env()
    env.reset(seed=3)
    seen = []
    for agent, observation, *_ in play_on(env):
        assert env.observation_space(agent).contains(observation)
        assert observation["observation"].dtype == np.float32
        assert observation["action_mask"].dtype == np.int8
        seen += [observation, env.observe(agent)]
        if len(seen) > 40:
            break
    arrays = [array for observation in seen for array in observation.values()]
    assert not any(np.shares_memory(a, b) for at, a in enumerate(arrays) for b in arrays[at + 1 :])


def test_every_agent_can_be_observed_when_all_are_gone():
    env = malilla_v0.env(episode="hand")
    env.reset(seed=3)
    assert len(list(play_on(env))) == 44
    assert env.agents == []
    for agent in PLAYERS:
        observation = env.observe(agent)
        assert env.observation_space(agent).contains(observation)
        assert not observation["action_mask"].any()


def test_other_hands_are_not_in_the_observation():
    """CASES 3: the first seat sees the same, however the cards of the others lie."""
    env = malilla_v0.raw_env()
    row = deal(env.rules, 5, [0])[0]
    env.reset(options={"deal": row})
    first = env.agent_selection
    before = env.observe(first)
    other = row.copy()
    places = [place for place in range(39) if place % 4 != 0]  # the leader holds 0, 4, 8 ...; the last card lies open
    other["cards"][places] = np.random.default_rng(5).permutation(row["cards"][places])
    assert not np.array_equal(other["cards"], row["cards"])
    env.reset(options={"deal": other})
    after = env.observe(first)
    assert before.keys() == after.keys()
    assert all(before[key].tobytes() == after[key].tobytes() for key in before)


def test_sampling_follows_the_mask():
    space = malilla_v0.raw_env().action_space("player_0")
    space.seed(4)
    mask = np.zeros(40, np.int8)
    mask[[3, 17, 39]] = 1
    drawn = [space.sample(mask) for _ in range(600)]
    assert {type(action) for action in drawn} == {np.int64}
    counts = [drawn.count(action) for action in (3, 17, 39)]
    assert sum(counts) == 600
    assert min(counts) > 150
    assert len({int(space.sample()) for _ in range(1000)}) == 40
    probability = np.zeros(40)
    probability[7] = 1
    assert space.sample(probability=probability) == 7


def test_sampling_refuses_an_empty_mask():
    """CASES 11: `Discrete.sample` would answer action 0."""
    with pytest.raises(ValueError, match="the mask allows no action"):
        malilla_v0.raw_env().action_space("player_0").sample(np.zeros(40, np.int8))


@pytest.mark.parametrize("mask", [np.ones(39, np.int8), np.ones(40), [1] * 40])
def test_sampling_refuses_a_wrong_mask(mask):
    with pytest.raises(AssertionError, match="expected"):
        malilla_v0.raw_env().action_space("player_0").sample(mask)


# --- playing
@pytest.mark.parametrize("kind", [int, np.int64, np.int32, np.int8, np.uint8, lambda action: np.array(action)])
@pytest.mark.parametrize("make", CONSTRUCTORS)
def test_integers_of_any_kind_are_actions(make, kind):
    env = make(episode="hand")
    env.reset(seed=1)
    for _, observation, *_ in play_on(env, lambda observation: kind(lowest_legal(observation))):
        assert observation is not None
    assert env.unwrapped.games.done[0]
    assert env.unwrapped.games.reneged[0] == -1


def test_flags_and_dictionaries():
    """CASES 11, 12: Python bools, the keys are the agents, all end together and are never truncated."""
    env = malilla_v0.env(episode="hand", reward="margin")
    env.reset(seed=2)
    dead = []
    for agent, _, reward, terminated, truncated, info in play_on(env):
        for table in (env.rewards, env.terminations, env.truncations, env.infos):
            assert list(table) == env.agents
        assert type(terminated) is bool
        assert type(truncated) is bool
        assert type(reward) is float
        assert info == {}
        assert not truncated
        assert len(set(env.terminations.values())) == 1
        dead += [agent] if terminated else []
    assert dead == PLAYERS


def test_rewards_stay_until_the_next_step():
    """CASES 12: an adapter may read them after `step`, or the cumulative ones by `last`."""
    env = malilla_v0.env(reward="margin")
    env.reset(seed=6)
    hands = 0
    while not env.unwrapped.games.done[0]:
        env.step(lowest_legal(env.last()[0]))
        if env.unwrapped.games.hand_over[0] and any(env.rewards.values()):
            hands += 1
            paid = dict(env.rewards)
            for agent in PLAYERS:
                env.observe(agent)
            assert env.last()[1] == paid[env.agent_selection]
            assert env.rewards == paid
        else:
            assert env.rewards == dict.fromkeys(PLAYERS, 0)
    assert hands > 1


def test_dead_agents_take_none_alone():
    env = malilla_v0.raw_env(episode="hand")
    env.reset(seed=2)
    with pytest.raises(ValueError, match="must be an action id, not None"):
        env.step(None)
    for _, _, _, terminated, *_ in play_on(env):
        if terminated:
            break
    with pytest.raises(ValueError, match="the only valid action is None"):
        env.step(3)


# --- what is paid (CASES 2, 7)
def payoffs(games, reward):
    """What DESIGN pays each side for the hand or match that the last step ended, counted apart."""
    rules = games.rules
    points = games.last_score_change[0] if rules.auction else games.last_points[0]
    if reward == "margin":
        return [float(own - points.mean()) / rules.neutral for own in points]
    if reward == "score":
        change = games.last_score_change[0]
        return [float(own - change.mean()) / rules.target for own in change]
    if not games.done[0] or games.winner[0] == -1:
        return [0.0] * rules.num_teams
    return [1.0 if side == games.winner[0] else -1.0 / (rules.num_teams - 1) for side in range(rules.num_teams)]


@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize("episode", ["hand", "match"])
@pytest.mark.parametrize("overrides", [{}, THREE, *({"ruleset": name} for name in FEW)], ids=str)
def test_rewards_sum_to_what_the_hands_pay(reward, episode, overrides):
    env = malilla_v0.env(episode=episode, reward=reward, **overrides)
    teams = env.unwrapped.rules.teams
    for seed in range(3):
        env.reset(seed=seed)
        due = np.zeros(len(set(teams)))
        totals = dict.fromkeys(env.possible_agents, 0.0)
        seed_spaces(env)
        for agent in env.agent_iter():
            observation, got, terminated, *_ = env.last()
            totals[agent] += got
            env.step(None if terminated else env.action_space(agent).sample(observation["action_mask"]))
            if not terminated and env.unwrapped.games.hand_over[0]:
                due += payoffs(env.unwrapped.games, reward)
                assert sum(env.rewards[f"player_{seat}"] for seat in range(len(teams))) == pytest.approx(0)
        assert list(totals.values()) == pytest.approx([due[team] for team in teams])
        assert reward != "match" or episode == "hand" or set(np.round(due, 6)) == {1.0, -1.0 / (len(due) - 1)}


def test_a_level_hand_pays_nothing():
    rules = ruleset()
    for row in deal(rules, 10, range(200)):
        env = malilla_v0.raw_env(episode="hand", reward="match")
        env.reset(options={"deal": row})
        totals = total_rewards(env)
        if env.games.last_points[0].tolist() == [35, 35]:
            assert totals == dict.fromkeys(PLAYERS, 0.0)
            return
    pytest.fail("no level hand in 200 deals")


def test_zapato_multiplies_the_match_reward():
    """RULES 1.5.6; an episode of one hand pays the sign of the margin, whatever the score."""
    rules = ruleset(zapato_multiplier=2.5)
    games = GameBatch(rules, 200, seed=12)
    games.reset(match_score=[34, 0])
    alone = GameBatch(rules, 200, seed=12, episode="hand")
    alone.reset(match_score=[34, 0])
    while not games.done.all():
        going = ~games.done
        actions = games.random_legal(games.decision_keys())
        games.step(actions)
        ended = going & games.done
        paid = step_rewards(games, "match")
        for lane in np.flatnonzero(ended):
            worth = 2.5 if games.zapato[lane] else 1.0
            assert paid[lane, games.winner[lane]] == worth
            assert paid[lane].sum() == 0
    assert games.zapato.any()
    assert not games.zapato.all()
    while not alone.done.all():
        alone.step(alone.random_legal(alone.decision_keys()))
    assert alone.zapato.any()
    assert set(step_rewards(alone, "match").ravel()) <= {1.0, -1.0, 0.0}


def an_illegal_action(env):
    mask = env.observe(env.agent_selection)["action_mask"]
    return int(np.flatnonzero(mask == 0)[0])


@pytest.mark.parametrize("reward", REWARDS)
@pytest.mark.parametrize("episode", ["hand", "match"])
@pytest.mark.parametrize(("overrides", "others"), [({}, 1.0), (THREE, 0.5), ({"zapato_multiplier": 3.0}, 1.0)])
def test_1_4_1_the_whole_side_pays_for_an_illegal_play(reward, episode, overrides, others):
    env = malilla_v0.env(episode=episode, reward=reward, **overrides)
    env.reset(seed=9)
    for _ in range(7):
        env.step(lowest_legal(env.last()[0]))
    score = env.unwrapped.games.match_score.copy()
    offender = env.agent_selection
    env.step(an_illegal_action(env))
    teams = env.unwrapped.rules.teams
    side = teams[int(offender[-1])]
    expected = {agent: -1.0 if teams[int(agent[-1])] == side else others for agent in env.possible_agents}
    assert env.rewards == expected
    assert set(env.terminations.values()) == {True}
    assert set(env.truncations.values()) == {False}
    assert np.array_equal(env.unwrapped.games.match_score, score)
    assert env.unwrapped.games.reneged[0] == int(offender[-1])
    assert teams[int(offender[-1])] != env.unwrapped.games.winner[0]
    assert total_rewards(env) == expected


@pytest.mark.parametrize("make", CONSTRUCTORS)
def test_1_4_1_illegal_plays_may_raise_instead(make):
    env = make(illegal="raise")
    env.reset(seed=9)
    before = env.get_state()
    with pytest.raises(IllegalMove, match="is illegal; legal:"):
        env.step(an_illegal_action(env))
    assert (env.get_state()["games"] == before["games"]).all()
    env.step(lowest_legal(env.last()[0]))
    assert env.agent_selection != before["table"]["agent_selection"]


# --- randomness
def first_hands(env):
    return env.unwrapped.games.hands.tobytes()


def test_seeds_settle_the_deals():
    env, other = malilla_v0.env(), malilla_v0.env()
    hands = {}
    for seed in range(300):
        env.reset(seed=seed)
        hands[seed] = first_hands(env)
    assert len(set(hands.values())) == 300
    for seed in (299, 0, 17):
        other.reset(seed=seed)
        assert first_hands(other) == hands[seed]


def test_unseeded_resets_go_on_with_the_stream():
    def stream(seed):
        env = malilla_v0.env()
        env.reset(seed=seed)
        hands = [first_hands(env)]
        for _ in range(20):
            env.reset()
            hands.append(first_hands(env))
        return hands

    assert stream(5) == stream(5)
    assert len(set(stream(5) + stream(6))) == 42


def test_unseeded_environments_differ():
    hands = set()
    for _ in range(20):
        env = malilla_v0.env()
        env.reset()
        hands.add(first_hands(env))
    assert len(hands) == 20


def test_episodes_do_not_depend_on_the_play_before():
    env = malilla_v0.env()
    env.reset(seed=5)
    env.reset()
    expected = first_hands(env)
    env.reset(seed=5)
    total_rewards(env)
    env.reset()
    assert first_hands(env) == expected


# --- options
def test_the_first_deal_can_be_given():
    env = malilla_v0.env()
    row = deal(env.unwrapped.rules, 77, [3])[0]
    env.reset(seed=1, options={"deal": row})
    games = env.unwrapped.games
    assert games.dealer[0] == row["dealer"]
    assert games.state["deck"][0][:40].tolist() == row["cards"].tolist()
    assert env.agent_selection == PLAYERS[(row["dealer"] + 1) % 4]
    env.reset(seed=1, options={"deal": deal(env.unwrapped.rules, 77, [3])})  # an array of one will do
    assert games.state["deck"][0][:40].tolist() == row["cards"].tolist()


def test_the_score_can_be_given():
    env = malilla_v0.env(dealer_bonus=False)
    env.reset(options={"match_score": [34, 12]})
    assert env.unwrapped.games.match_score.tolist() == [[34, 12]]


def test_the_albur_can_be_given():
    """1.6.3: the dealer's right draws the first card; the winner of the draw leads."""
    env = malilla_v0.env(ruleset="malilla-albur", dealer_bonus=False)
    ids = env.unwrapped.rules.action_names.index
    row = deal(env.unwrapped.rules, 77, [3])[0]
    for drawn, winner in ((["7s", "Kh"], row["dealer"] + 1), (["2s", "3s"], row["dealer"])):
        env.reset(options={"deal": row, "albur": [ids(card) for card in drawn]})
        games = env.unwrapped.games
        assert games.albur_cards[0].tolist() == [ids(card) for card in drawn]
        assert env.agent_selection == PLAYERS[winner % 4]
        assert games.match_score[0, winner % 2] == 5
    env.reset(options={"deal": row, "albur": [-1, -1]})
    assert env.unwrapped.games.match_score.tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"deals": 1}, "unknown reset option 'deals': choose among deal, match_score, albur"),
        ({"deal": 1}, "deals must be"),
        ({"deal": np.zeros(1, deal_dtype(ruleset()))}, "not the whole deck"),
        ({"match_score": [35, 0]}, "match_score 35 must be below the target 35"),
        ({"match_score": [0, -1001]}, "match_score -1001 must be below the target 35, and -1000 or more"),
        ({"match_score": [1, 2, 3]}, "match_score must be integers"),
        ({"albur": [0, 1]}, "the rule set must have one"),
        ({"albur": 3}, "albur must be two card ids"),
    ],
)
def test_wrong_options_are_refused(options, message):
    env = malilla_v0.env()
    with pytest.raises(ValueError, match=message):
        env.reset(seed=1, options=options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ruleset": "maliya"}, "unknown rule set 'maliya': choose one of malilla, malilla-70"),
        ({"tarjet": 70}, "unknown rule set field 'tarjet'"),
        ({"target": 0}, "target 0 must be"),
        ({"episode": "game"}, "episode 'game' must be one of match, hand"),
        ({"reward": "points"}, "reward 'points' must be one of margin, score, match"),
        ({"render_mode": "svg"}, "render_mode 'svg' must be one of human, ansi, rgb_array"),
    ],
)
@pytest.mark.parametrize("make", CONSTRUCTORS)
def test_wrong_arguments_are_refused(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        make(**arguments)


def test_rule_sets_may_be_given_as_they_are():
    rules = ruleset("malilla-70", pack="spanish")
    assert malilla_v0.raw_env(rules).rules == rules
    assert malilla_v0.raw_env(rules, target=50).rules == ruleset("malilla-70", pack="spanish", target=50)


# --- refusals
@pytest.mark.parametrize("action", [40, -1, 10**6])
def test_ids_out_of_range(action):
    env = malilla_v0.env()
    env.reset(seed=1)
    with pytest.raises(AssertionError, match="not in action space"):
        env.step(action)
    env = malilla_v0.raw_env()
    env.reset(seed=1)
    before = env.games.state.copy()
    with pytest.raises(ValueError, match=r"seat \d: action -?\d+ is not an id in 0..39; legal: "):
        env.step(action)
    assert (env.games.state == before).all()


@pytest.mark.parametrize("action", [1.0, "7s", [3], None, True, np.True_, np.array([3, 4])])
def test_what_is_no_id_is_refused(action):
    env = malilla_v0.raw_env()
    env.reset(seed=1)
    with pytest.raises(ValueError, match="must be an action id"):
        env.step(action)


def test_before_a_reset_the_raw_environment_says_so():
    env = malilla_v0.raw_env()
    with pytest.raises(AttributeError, match="no episode is under way: call reset"):
        env.step(0)
    with pytest.raises(AttributeError, match="no episode is under way: call reset"):
        env.last()


def test_nothing_works_before_a_reset():
    env = malilla_v0.env(render_mode="ansi")
    for call in (env.render, env.state, lambda: env.step(0), lambda: env.observe("player_0"), env.agent_iter):
        with pytest.raises(AssertionError, match="reset"):
            call()


def test_rendering_without_a_mode_warns():
    env = malilla_v0.env()
    env.reset(seed=1)
    with pytest.warns(UserWarning, match="without a render_mode"):
        assert env.render() is None
    env.close()
    env.close()


# --- copies (CASES 1)
def pickled(env):
    return pickle.loads(pickle.dumps(env))


@pytest.mark.parametrize("make", CONSTRUCTORS)
@pytest.mark.parametrize("copied", [deepcopy, pickled])
def test_a_copy_at_any_ply_goes_on_as_the_original(make, copied):
    env = make(episode="hand", reward="margin")
    env.reset(seed=31)
    seed_spaces(env)
    plies = 0
    while env.agents:
        copy, twin = copied(env), copied(env)
        before = env.unwrapped.games.state.copy()
        assert transcript(copy) == transcript(twin)
        assert (env.unwrapped.games.state == before).all()
        observation, _, terminated, *_ = env.last()
        action = None if terminated else env.action_space(env.agent_selection).sample(observation["action_mask"])
        env.step(action)
        plies += 1
    assert plies == 44
    assert copied(env).agents == []


def test_a_copy_goes_on_into_the_next_hands_and_episodes():
    env = malilla_v0.env()
    env.reset(seed=31)
    seed_spaces(env)
    for _ in range(50):
        env.step(lowest_legal(env.last()[0]))
    copy = pickled(env)
    assert transcript(copy) == transcript(deepcopy(env)) == transcript(env)
    env.reset(), copy.reset()
    assert first_hands(env) == first_hands(copy)


def test_a_pickle_works_before_the_first_reset():
    env = pickled(malilla_v0.env())
    env.reset(seed=3)
    assert total_rewards(env).keys() == set(PLAYERS)


def test_a_copied_environment_compiles_nothing_anew():
    """NumPy copies lose the read-only flag for which the functions are compiled: the rule set must see to it."""
    env = malilla_v0.raw_env()
    for copy in (deepcopy(env), pickled(env)):
        assert not copy.rules.table.flags.writeable


# --- saving and restoring
@pytest.mark.parametrize("make", CONSTRUCTORS)
def test_a_state_can_be_restored_at_any_ply(make):
    env, other = make(episode="hand", reward="score"), make(episode="hand", reward="score")
    env.reset(seed=8), other.reset(seed=99)
    while env.agents:
        saved = env.get_state()
        other.set_state(saved)
        seed_spaces(env), seed_spaces(other)
        assert transcript(other) == transcript(env)
        env.set_state(saved)
        _, _, terminated, *_ = env.last()
        env.step(None if terminated else lowest_legal(env.last()[0]))
    env.set_state(saved), other.set_state(saved)
    env.reset(), other.reset()
    assert first_hands(env) == first_hands(other)


def test_a_saved_state_is_not_alive():
    env = malilla_v0.env()
    env.reset(seed=8)
    saved = env.get_state()
    copy = deepcopy(saved)
    total_rewards(env)
    assert (saved["games"] == copy["games"]).all()
    assert saved["table"] == copy["table"]
    env.set_state(saved)
    total_rewards(env)
    assert saved["table"] == copy["table"]


def test_a_state_of_other_rules_is_refused():
    env, other = malilla_v0.env(), malilla_v0.env(target=70)
    env.reset(seed=1), other.reset(seed=1)
    with pytest.raises(ValueError, match="taken under the rules"):
        other.set_state(env.get_state())
    broken = env.get_state()
    broken["games"]["hands"] = 0
    with pytest.raises(ValueError, match="not one deck"):
        env.set_state(broken)
    broken = env.get_state()
    broken["games"]["num_plays"] = 200
    with pytest.raises(ValueError, match="state row 0: num_plays 200 must be 0 to 40"):
        env.set_state(broken)


# --- the full view
def test_state_shows_all_hands_from_the_seat_on_turn():
    env = malilla_v0.raw_env()
    env.reset(seed=4)
    seat = env.games.seat[0]
    assert np.array_equal(env.state(), env.games.observe_state(seat)[0])
    assert env.state_space.contains(env.state())
    hands = env.state()[:160].reshape(4, 40)
    assert hands.sum(axis=1).tolist() == [10] * 4
    assert np.array_equal(np.flatnonzero(hands[0]), np.flatnonzero(env.observe(env.agent_selection)["action_mask"]))


def test_no_copy_of_the_rules():
    """The environment plays what a GameBatch plays, decision by decision."""
    env = malilla_v0.raw_env()
    env.reset(seed=13)
    games = env.games.copy()
    rng = np.random.default_rng(13)
    while env.agents:
        observation, _, terminated, *_ = env.last()
        if terminated:
            env.step(None)
            continue
        action = rng.choice(np.flatnonzero(observation["action_mask"]))
        assert np.array_equal(observation["observation"], games.observe()[0])
        env.step(action)
        games.step([action])
        assert (env.games.state == games.state).all()
    assert games.done[0]


def test_metadata():
    env = malilla_v0.env()
    assert env.metadata["name"] == "malilla_v0"
    assert env.metadata["render_modes"] == ["human", "ansi", "rgb_array"]
    assert env.metadata["is_parallelizable"] is False
    assert env.metadata["render_fps"] > 0
    assert env.possible_agents == PLAYERS
    assert env.max_num_agents == 4
    assert isinstance(env.observation_space("player_0"), gymnasium.spaces.Dict)
    assert "Version History" in malilla_v0.__doc__
