"""The sampler of worlds against all deals tried one by one: which are possible, and that each is as likely.

A world is tried as its definition says, in plain Python and the batch: deal it, play what the View saw, look again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import combinations, permutations
from math import factorial, prod

import numpy as np
import pytest
from family import GAMES, after, every_game
from scipy.stats import chisquare

from agents.search.draw import draw_world
from agents.search.plan import LIMIT, PLAN, orders_of, plan_worlds
from agents.search.worlds import count_worlds, sample, states
from malilla_env import GameBatch, RuleSet, deal, ruleset
from malilla_env.cards import cards_in
from malilla_env.compiled import PURE, Array, jit, mix
from malilla_env.deals import deal_dtype
from malilla_env.state import NONE, PHASES, STATE
from malilla_env.view import VIEW

FEW = 4 if PURE else 1  # plain Python tries less
TWELVE_RANKS = {"rank_names": "23456789JQKA", "rank_points": (0,) * 7 + (1, 2, 3, 4, 5)}
SIXTEEN = {"rank_names": "2KA7", "rank_points": (0, 3, 4, 5), "neutral": 20}

# Rule sets that no preset is like: every kind of holder, and all that a View can tell of it at once.
ODD = {
    "asks of three": RuleSet(**SIXTEEN, redeal=3),
    "asks of five": ruleset("malilla", redeal=5),
    "asks and talk": RuleSet(**SIXTEEN, redeal=2, talk=True, undertrump="forced", protected="off"),
    "asks, talk and a dead hand": RuleSet(
        **{**SIXTEEN, "rank_names": "23KA7", "rank_points": (0, 0, 3, 4, 5)}, redeal=2, talk=True, dead_hand=True
    ),
    "two and a dead hand": RuleSet(**TWELVE_RANKS, teams=(0, 1), dead_hand=True),
    "piles of four, asks": RuleSet(**TWELVE_RANKS, piles=6, redeal=3, neutral=30),
    "piles of three, no undertrump": RuleSet(
        **TWELVE_RANKS, piles=8, teams=(0, 1, 2), neutral=20, undertrump="forbidden"
    ),
    "piles of two, bids": ruleset("manille-2", trump="bid", dealer_bonus=False),
    "piles of two, no trump": ruleset("manille-2", trump="none"),
}
ALL = {**GAMES, **ODD}
MANY = RuleSet(  # five hands of ten cards: more worlds than 64 bits can count
    name="many",
    rank_names="23456789TJQKA",
    rank_points=(0,) * 8 + (1, 2, 3, 4, 5),
    removed=("2s", "2h"),
    dead_hand=True,
)


# ---- all worlds, one by one ------------------------------------------------------------------------------------------
def handed_out(cards: tuple[int, ...], sizes: list[int]) -> Iterator[list[tuple[int, ...]]]:
    """Every way to give so many of the cards to each holder."""
    if not sizes:
        yield []
        return
    for hand in combinations(cards, sizes[0]):
        rest = tuple(card for card in cards if card not in hand)
        for others in handed_out(rest, sizes[1:]):
            yield [hand, *others]


def unseen_cards(rules: RuleSet, view: np.void) -> tuple[int, ...]:
    """What the viewer has neither in hand nor seen played, nor sees open."""
    seen = int(view["hand"]) | int(np.bitwise_or.reduce(view["played_by"]))
    if rules.piles:
        seen |= int(np.bitwise_or.reduce(view["shown"]))
    return tuple(card for card in rules.deck if not seen >> card & 1)


def candidates(rules: RuleSet, view: np.void, true_deck: np.ndarray) -> list[list[int]]:
    """Every dealing order in which the unseen cards lie otherwise, one of those that deal the same hands."""
    if rules.piles:
        return other_piles(rules, view, true_deck)
    viewer, seats = int(view["seat"]), range(rules.num_seats)
    others = [seat for seat in seats if seat != viewer]
    sizes = [int(view["hand_sizes"][seat]) for seat in others] + [rules.dead_cards]
    orders = []
    for hands in handed_out(unseen_cards(rules, view), sizes):
        dealt = {seat: [*cards_in(view["played_by"][seat]), *hand] for seat, hand in zip(others, hands, strict=False)}
        dealt[viewer] = cards_in(int(view["played_by"][viewer]) | int(view["hand"]))
        orders += dealing_order(rules, view, dealt, list(hands[-1]))
    return orders


def dealing_order(rules: RuleSet, view: np.void, dealt: dict[int, list[int]], dead: list[int]) -> list[list[int]]:
    """The order that deals these hands with the turned-up card last; none if that is not the dealer's."""
    dealer, turned = int(view["dealer"]), int(view["turned_card"])
    hands = [dealt[(dealer + 1 + hand) % rules.num_seats] for hand in range(rules.num_seats)] + [dead]
    own = hands[rules.num_seats - 1]
    if turned != NONE and turned not in own:
        return []
    own.sort(key=lambda card: card == turned)
    left = [iter(hand) for hand in hands]
    return [[next(left[to]) for to in rules.dealing]]


def piles_of(rules: RuleSet, deck: np.ndarray) -> dict[int, int]:
    """The place under each card that was dealt face up: the first half of a hand lies under the second, in order."""
    under = {}
    for hand in range(rules.num_seats):
        places = [place for place, to in enumerate(rules.dealing) if to == hand]
        under |= {int(deck[top]): low for low, top in zip(places, places[rules.piles :], strict=False)}
    return under


def other_piles(rules: RuleSet, view: np.void, true_deck: np.ndarray) -> list[list[int]]:
    under = piles_of(rules, true_deck)
    places = [under[card] for card in cards_in(view["covering"])]
    orders = []
    for cards in permutations(unseen_cards(rules, view)):
        deck = true_deck[: rules.num_cards].tolist()
        for place, card in zip(places, cards, strict=True):
            deck[place] = card
        orders.append(deck)
    return orders


def names_of(rules: RuleSet, view: np.void, decks: np.ndarray) -> list[tuple]:
    """What tells worlds apart, [n] of [n, cards]: who was dealt what; of piles what lies under the cards that cover."""
    if rules.piles:  # what is open stands in the same places in all of them
        under = piles_of(rules, decks[0])
        assert all(piles_of(rules, deck).items() ^ under.items() == set() for deck in decks[:5])
        return list(map(tuple, decks[:, [under[card] for card in cards_in(view["covering"])]].tolist()))
    bits, to = np.uint64(1) << decks.astype(np.uint64), np.array(rules.dealing)
    hands = [np.bitwise_or.reduce(bits[:, to == hand], axis=1) for hand in range(rules.num_hands)]
    return list(zip(*(hand.tolist() for hand in hands), strict=True))


def look_again(rules: RuleSet, view: np.void, orders: np.ndarray) -> np.ndarray:
    """VIEW [n]: what the viewer sees after the View's plays, had these orders been dealt in an episode of one hand."""
    deals = np.zeros(len(orders), deal_dtype(rules))
    deals["cards"], deals["dealer"] = orders, view["dealer"]
    games = GameBatch(rules, len(orders), episode="hand")
    games.reset(deals=deals)
    for action in view["plays"][: view["num_plays"]]:
        games.step(np.full(len(orders), action, np.int64))
    return games.views(int(view["seat"]))


def all_worlds(rules: RuleSet, view: np.void, true_deck: np.ndarray) -> set[tuple]:
    orders = np.array(candidates(rules, view, true_deck))
    same = look_again(rules, view, orders) == view
    return set(names_of(rules, view, orders[same]))


def num_candidates(rules: RuleSet, view: np.void) -> int:
    if rules.piles:
        return factorial(int(view["covering"]).bit_count())
    sizes = [int(size) for seat, size in enumerate(view["hand_sizes"]) if seat != view["seat"]] + [rules.dead_cards]
    return factorial(sum(sizes)) // prod(map(factorial, sizes))


@cache
def endings(rules: RuleSet, wanted: int, most: int = 600, seed: int = 31) -> list[tuple[np.void, set[tuple]]]:
    """Views at random points of random hands that leave few enough deals to try them all, with all their worlds."""
    found: list[tuple[np.void, set[tuple]]] = []
    games = GameBatch(rules, 60, seed=seed, episode="hand")
    every = np.arange(len(games))
    for ply in range(rules.longest_hand):
        viewers = np.where(games.done, 0, (games.seat + ply % 2) % rules.num_seats)
        views = games.views(viewers)
        open_lanes = every[(every % 4 == ply % 4) & ~games.done]
        for lane in open_lanes:
            if 2 <= num_candidates(rules, views[lane]) <= most and len(found) < wanted:
                found.append((views[lane], all_worlds(rules, views[lane], games.state["deck"][lane])))
        games.step(games.random_legal(games.decision_keys(seed)))
    assert len(found) == wanted
    return found


def draws_of(rules: RuleSet, view: np.void, count: int, key: int = 5) -> list[tuple]:
    deals = sample(rules, np.array([view]), np.array([key], np.uint64), count)[0]
    return names_of(rules, view, deals["cards"])


def assert_uniform(drawn: list[tuple], possible: set[tuple], level: float = 1e-3) -> None:
    counts = Counter(drawn)
    assert set(counts) <= possible
    if len(possible) > 1:
        assert chisquare([counts[world] for world in sorted(possible)]).pvalue > level


# ---- which worlds, and how often -------------------------------------------------------------------------------------
@pytest.mark.parametrize("rules", ALL.values(), ids=ALL)
def test_the_count_is_that_of_all_deals_that_show_the_same(rules: RuleSet) -> None:
    found = endings(rules, 8 // FEW)
    counts = count_worlds(rules, np.array([view for view, _ in found]))
    assert counts.tolist() == [len(possible) for _, possible in found]


@pytest.mark.parametrize("rules", ALL.values(), ids=ALL)
def test_every_world_is_drawn_as_often(rules: RuleSet) -> None:
    """The most worlds of a View that were all tried, and chi-square over them all."""
    view, possible = max(endings(rules, 8 // FEW), key=lambda ending: len(ending[1]))
    assert len(possible) > 1
    assert_uniform(draws_of(rules, view, 30 * len(possible) // FEW), possible)


@pytest.mark.slow
@pytest.mark.parametrize("rules", ALL.values(), ids=ALL)
def test_many_views_are_counted_and_drawn_from_as_all_deals_say(rules: RuleSet) -> None:
    for view, possible in endings(rules, 12, most=1700, seed=32) + endings(rules, 1, most=40000, seed=32):
        assert count_worlds(rules, np.array([view]))[0] == len(possible)
        assert_uniform(draws_of(rules, view, 20 * len(possible)), possible, level=1e-6)  # of so many tests


def games_with(rules: RuleSet, plies: int, lanes: int, told: str) -> Iterator[tuple[np.void, np.void]]:
    """Views that have something to tell in a field, and the states, after so many cards: few enough to try all."""
    games = after(rules, 0, lanes, seed=33, episode="hand")
    for _ in range(rules.longest_hand):
        views = games.views(np.where(games.done, 0, games.seat))
        cards = np.bitwise_count(views["played_by"]).sum(axis=1)
        for lane in np.flatnonzero(~games.done & (cards == plies) & (games.seat == games.leader)):
            if views[told][lane].any() and num_candidates(rules, views[lane]) <= 40000:
                yield views[lane], games.state[lane]
        games.step(games.random_legal(games.decision_keys(33)))


@pytest.mark.parametrize(
    ("name", "plies", "told"),
    [
        ("malilla-redeal", 28, "asked"),
        ("malilla-zone", 28, "asked"),
        ("manille-parlee", 20, "counted"),
        ("manille-parlee", 20, "shown"),
        ("manille-encheres", 20, "bid"),
    ],
)
def test_worlds_where_something_was_said(name: str, plies: int, told: str) -> None:
    """Hands in which a seat asked for a new deal, told of its cards, or bid: all deals tried, and chi-square."""
    rules, seen = GAMES[name], 0
    for view, state in games_with(rules, plies, 600 // FEW if told == "asked" else 8, told):
        possible = all_worlds(rules, view, state["deck"])
        assert count_worlds(rules, np.array([view]))[0] == len(possible)
        seen += 1
        if 1 < len(possible) <= 3000:
            assert_uniform(draws_of(rules, view, 20 * len(possible)), possible)
        if seen == 4:
            break
    assert seen


@pytest.mark.parametrize("name", ["asks of three", "asks and talk", "asks of five"])
def test_an_ask_rules_out_hands_without_a_long_suit(name: str) -> None:
    """1.6.2: with the ask forgotten some Views have more worlds, and all of them else."""
    rules, fewer = ODD[name], 0
    games = after(rules, 0, 200 // FEW, seed=34, episode="hand")
    for _ in range(rules.num_seats * 2 + 3):
        views = games.views(np.where(games.done, 0, games.seat))[~games.done]
        forgotten = views.copy()
        forgotten["asked"] = 0
        counts, more = count_worlds(rules, views), count_worlds(rules, forgotten)
        others = views["asked"] & ~(1 << views["seat"].astype(int)) != 0
        assert (counts[~others] == more[~others]).all()
        assert ((counts > 0) & (counts <= more)).all()
        fewer += int((counts < more).sum())
        games.step(games.random_legal(games.decision_keys(34)))
    assert fewer > 0


@every_game
def test_the_first_decision_has_as_many_worlds_as_there_are_deals(rules: RuleSet) -> None:
    """Nothing was played or said: the unseen cards in any way, but the turned-up one with the dealer."""
    games = GameBatch(rules, 8, seed=11, episode="hand")
    for viewer in range(rules.num_seats):
        for view, count in zip(games.views(viewer), count_worlds(rules, games.views(viewer)), strict=True):
            sizes = [rules.hand_size] * (rules.num_seats - 1) + [rules.dead_cards]
            if view["turned_card"] != NONE and view["dealer"] != viewer:
                sizes[0] -= 1
            piles = factorial(rules.num_seats * rules.piles)
            assert count == (piles if rules.piles else factorial(sum(sizes)) // prod(map(factorial, sizes)))


def test_a_malilla_deal_has_30_cards_in_three_hands() -> None:
    games = GameBatch(ruleset(), 4, seed=10)
    counts = [count_worlds(ruleset(), games.views(seat))[0] for seat in range(4)]
    assert sorted(counts) == 3 * [factorial(29) // factorial(10) ** 2 // factorial(9)] + [
        factorial(30) // factorial(10) ** 3
    ]


# ---- worlds as games -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("rules", ALL.values(), ids=ALL)
def test_the_viewer_sees_the_same_in_every_world(rules: RuleSet) -> None:
    """CASES 3: in matches, at every other ply of every phase, on turn and off; each game stands up to the referee."""
    games, phases = GameBatch(rules, 10 // FEW, seed=35), set()
    for ply in range(0, rules.longest_hand * 2, FEW):
        viewers = np.where(games.done, 0, (games.seat + ply // FEW % 2) % rules.num_seats)
        views = games.views(viewers)
        again = states(rules, views, sample(rules, views, games.decision_keys(35), 2))
        assert GameBatch.from_state(rules, again).views(viewers.repeat(2)).tobytes() == views.repeat(2).tobytes()
        phases |= set(views["phase"].tolist())
        for _ in range(2 * FEW - 1):
            games.step(games.random_legal(games.decision_keys()))
    assert phases >= {PHASES.index("play")} | ({PHASES.index("talk")} if rules.talk else set())


@every_game
def test_states_go_on_as_games_do(rules: RuleSet) -> None:
    """The hand played out from the true deal's state: as in the game itself, to the last card."""
    games = after(rules, 9, 12, seed=36, episode="hand")
    live = games.state[~games.done]
    deals = np.zeros((len(live), 1), deal_dtype(rules))
    deals["cards"][:, 0], deals["dealer"][:, 0] = live["deck"][:, : rules.num_cards], live["dealer"]
    true = GameBatch.from_state(rules, live)
    again = GameBatch.from_state(rules, states(rules, true.views(), deals))
    again.state["stream_key"], again.state["attempt"] = live["stream_key"], live["attempt"]  # for what is dealt anew
    again.state["episode"], again.state["stream"] = live["episode"], live["stream"]
    again.state["hand_key"] = live["hand_key"]
    assert (again.state == true.state).all()
    while not true.done.all():
        actions = true.random_legal(true.decision_keys())
        true.step(actions)
        again.step(actions)
        assert (again.state == true.state).all()


@jit
def draw_into(views: Array, table: Array, keys: Array, plan: Array, state: Array) -> None:
    """The world of each key, drawn into the state of each View."""
    for lane in range(len(views)):
        plan_worlds(views[lane], table[0], plan[0])
        draw_world(plan[0], table[0], keys[lane], state[lane])


@pytest.mark.parametrize("rules", ALL.values(), ids=ALL)
def test_a_world_drawn_into_a_state_is_that_world(rules: RuleSet) -> None:
    """A state of another world, patched: all fields are those of the world dealt and played, but the dealing order."""
    games = GameBatch(rules, 10 // FEW, seed=37)
    for ply in range(0, rules.longest_hand, 3):
        views = games.views(np.where(games.done, 0, (games.seat + ply % 2) % rules.num_seats))
        keys = games.decision_keys(37)
        dealt = states(rules, views, sample(rules, views, keys, 1))
        patched = states(rules, views, sample(rules, views, keys + np.uint64(1), 1))
        world_keys = np.array([mix(key, np.uint64(0)) for key in keys], np.uint64)
        draw_into(views, rules.table, world_keys, np.zeros(1, PLAN), patched)
        if not rules.piles:
            patched["deck"] = dealt["deck"]
        assert (patched == dealt).all()
        for _ in range(3):
            games.step(games.random_legal(games.decision_keys()))


def test_two_players_without_piles_know_all() -> None:
    rules = ruleset("manille", teams=(0, 1), packets=())
    games = after(rules, 5, 10, seed=31)
    views = games.views()
    assert (count_worlds(rules, views) == 1).all()
    assert (states(rules, views, sample(rules, views, games.decision_keys(), 1))["hands"] == games.state["hands"]).all()


def test_a_game_ended_by_an_illegal_play_still_has_its_worlds() -> None:
    games = after(ruleset(), 3, 6, seed=38)
    legal = games.legal_actions()
    games.step(np.array([int(np.flatnonzero(~row)[0]) for row in legal]))
    assert games.done.all()
    views = games.views(2)
    again = states(ruleset(), views, sample(ruleset(), views, np.arange(6, dtype=np.uint64), 2))
    assert GameBatch.from_state(ruleset(), again).views(2).tobytes() == views.repeat(2).tobytes()


# ---- keys and numbers ------------------------------------------------------------------------------------------------
@every_game
def test_a_world_depends_on_its_key_and_number_alone(rules: RuleSet) -> None:
    games = after(rules, 6, 8, seed=39, episode="hand")
    views, keys = games.views(np.where(games.done, 0, games.seat)), games.decision_keys(39)
    all_at_once = sample(rules, views, keys, 5)
    for lane in (0, 5):
        assert (sample(rules, views[lane : lane + 1], keys[lane : lane + 1], 3)[0] == all_at_once[lane, :3]).all()
    assert (sample(rules, views[::-1], keys[::-1].copy(), 5) == all_at_once[::-1]).all()
    other = sample(rules, views, keys + np.uint64(1), 5)
    assert (other != all_at_once).any()


def test_the_same_world_is_the_same_row() -> None:
    for rules in (ruleset(), GAMES["manille-2"], GAMES["manille-3-dead"], GAMES["manille"]):
        view, possible = max(endings(rules, 8 // FEW), key=lambda ending: len(ending[1]))
        deals = sample(rules, np.array([view]), np.array([1], np.uint64), 20 * len(possible))[0]
        assert len({row.tobytes() for row in deals}) == len(set(names_of(rules, view, deals["cards"]))) > 1


@jit
def draw_many(plan: Array, table: Array, count: int, state: Array, hands: Array, face_down: Array) -> None:
    for key in range(count):
        draw_world(plan[0], table[0], np.uint64(key), state[0])
        hands[key] = state[0]["hands"]
        face_down[key] = state[0]["face_down"]


def test_worlds_too_many_to_count_are_drawn_as_often_as_each_other() -> None:
    """Where the count stands at its limit worlds are drawn in another way; here of a View that has few."""
    rules = ruleset("manille-3-dead")
    view, possible = max(endings(rules, 8 // FEW), key=lambda ending: len(ending[1]))
    plan, state, count = np.zeros(1, PLAN), np.zeros(1, STATE), 30 * len(possible)
    hands, face_down = np.zeros((count, 4), np.uint64), np.zeros(count, np.uint64)
    assert plan_worlds(view, rules.table[0], plan[0]) == len(possible)
    plan["count"] = LIMIT
    draw_many(plan, rules.table, count, state, hands, face_down)
    seats = [(int(view["dealer"]) + 1 + hand) % 3 for hand in range(3)]
    dealt = np.concatenate([(hands[:, :3] | view["played_by"][:3])[:, seats], face_down[:, None]], axis=1)
    assert_uniform([tuple(map(int, row)) for row in dealt], possible)


def test_five_hands_of_ten_have_more_worlds_than_a_number_holds() -> None:
    """Each unseen card lies with each holder as often as the holder's share of them says."""
    games = GameBatch(MANY, 1, seed=12)
    views = games.views((games.dealer + 1) % 4)
    assert count_worlds(MANY, views).tolist() == [LIMIT]
    count = 4000 // FEW
    again = states(MANY, views, sample(MANY, views, np.array([3], np.uint64), count))
    viewer, dealer = int(views["seat"][0]), int(views["dealer"][0])
    hidden = [card for card in unseen_cards(MANY, views[0]) if card != views["turned_card"][0]]
    held = [again["hands"][:, seat] for seat in range(4) if seat != viewer] + [again["face_down"]]
    need = [10 - (seat == dealer) for seat in range(4) if seat != viewer] + [10]
    for card in hidden:
        seen = [int((mask >> np.uint64(card) & np.uint64(1)).sum()) for mask in held]
        assert chisquare(seen, count * np.array(need) / sum(need)).pvalue > 1e-4


def test_counts_of_piles_stop_at_the_limit() -> None:
    assert orders_of(20) == factorial(20)
    assert orders_of(21) == LIMIT


# ---- what is refused -------------------------------------------------------------------------------------------------
def views_of_malilla() -> np.ndarray:
    return after(ruleset(), 9, 3, seed=40).views()


def test_a_row_that_is_no_view_has_no_world_and_is_named() -> None:
    keys = np.arange(3, dtype=np.uint64)
    for field, value in [
        ("seat", NONE),
        ("seat", 9),
        ("hand", 3),
        ("dealer", -2),
        ("turned_card", 41),
        ("num_plays", 99),
    ]:
        views = views_of_malilla()
        views[field][1] = value
        assert count_worlds(ruleset(), views)[1] == 0
        with pytest.raises(ValueError, match=r"view 1 has no world: .* malilla"):
            sample(ruleset(), views, keys, 1)
    views = views_of_malilla()
    views["cannot_hold"][2] = (1 << 40) - 1
    with pytest.raises(ValueError, match="view 2 has no world"):
        sample(ruleset(), views, keys, 1)


def test_no_row_of_noise_breaks_the_count() -> None:
    rng = np.random.default_rng(10)
    for rules in (ruleset(), GAMES["manille-2"], GAMES["manille-parlee"]):
        noise = np.frombuffer(rng.bytes(VIEW.itemsize * 200), VIEW)
        assert (count_worlds(rules, noise) == 0).all()
        views = np.tile(after(rules, 9, 10, seed=40).views(), 200 // FEW)
        raw = views.view(np.uint8).reshape(len(views), -1)
        at = rng.integers(0, raw.shape[1], len(views))
        raw[np.arange(len(views)), at] = rng.integers(0, 256, len(views))
        assert (count_worlds(rules, views) >= 0).all()


def test_deals_that_do_not_lead_to_the_view_are_refused() -> None:
    rules, views = ruleset(), views_of_malilla()
    good = sample(rules, views, np.arange(3, dtype=np.uint64), 2)
    other, turned = good.copy(), good.copy()
    other["cards"] = deal(rules, 1, range(6))["cards"].reshape(3, 2, 40)
    turned["dealer"] = (turned["dealer"] + 1) % 4
    with pytest.raises(ValueError, match="view 0: its plays are not legal from deal 0"):
        states(rules, views, other)
    with pytest.raises(ValueError, match="dealt by the dealer of their View"):
        states(rules, views, turned)
    changed = views.copy()
    changed["suits_led"][1] ^= 15
    with pytest.raises(ValueError, match="view 1: after its plays from deal 0 suits_led differ"):
        states(rules, changed, good)
    changed["seat"][2] = 4
    with pytest.raises(ValueError, match="view 2 is not the View that a seat has of a game of malilla"):
        states(rules, changed, good)
    with pytest.raises(ValueError, match="deals must be an array"):
        states(rules, views, good[0])


def test_wrong_arguments_are_named() -> None:
    views = views_of_malilla()
    with pytest.raises(ValueError, match="views must be"):
        count_worlds(ruleset(), np.zeros(3))
    with pytest.raises(ValueError, match=r"keys must be uint64 of shape \(3,\)"):
        sample(ruleset(), views, np.zeros(2, np.uint64), 1)
    with pytest.raises(ValueError, match="count -1"):
        sample(ruleset(), views, np.zeros(3, np.uint64), -1)
