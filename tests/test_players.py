"""The players that come with the game: always legal under any rules, the same however games are batched or suits are
named, and each idea of the heuristic seen at work in a position of its own."""

import random

import numpy as np
import pytest

from malilla_env import PRESETS, GameBatch, RuleSet, ruleset
from malilla_env.cards import card_name, cards_in, mask_of, parse_card, parse_cards
from malilla_env.deals import deal_dtype
from malilla_env.players import HeuristicPlayer, RandomPlayer
from malilla_env.state import ASK, BID, CONSENT, NAME, OVER, PLAY, TALK
from malilla_env.view import VIEW, legal_mask
from malilla_env.weights import IDEAS

RULES = ruleset()
FRENCH32 = {
    "rank_names": "789JQKAT",
    "rank_points": (0, 0, 0, 1, 2, 3, 4, 5),
    "trick_points": 0,
    "neutral": 30,
    "dealer_bonus": False,
    "protected": "off",
}
DECKS = {
    "40 cards": {},
    "32 cards": FRENCH32,
    "32 cards, climbing": FRENCH32 | {"undertrump": "forced", "climb_over_partner": True},
    "30 cards, three seats": FRENCH32 | {"teams": (0, 1, 2), "removed": ("7s", "7c"), "neutral": 20},
    "40 cards, two seats": {"teams": (0, 1)},
    "52 cards": {"rank_names": "2345678TJQKA9", "rank_points": (0,) * 8 + (1, 2, 3, 4, 5), "neutral": 36},
}
MODES = [
    {"undertrump": under, "protected": top}
    for under in ("optional", "forbidden", "forced")
    for top in ("led", "played", "off")
]


def whole(rules: RuleSet, players: list, games: int = 64, seed: int = 12) -> GameBatch:
    """Hands played to their end, player i of the list in the seats i, i + len(players), ..."""
    table = GameBatch(rules, games, seed=seed, episode="hand")
    while not table.done.all():
        turn = np.where(table.done, -1, table.seat % len(players))
        views, keys = table.views(), table.decision_keys(seed)
        actions = np.zeros(games, np.int64)
        for place, player in enumerate(players):
            lanes = np.flatnonzero(turn == place)
            actions[lanes] = player.act(views[lanes], keys[lanes])
        table.step(actions)
    return table


def some_views(rules: RuleSet = RULES, games: int = 100, seed: int = 13) -> tuple[np.ndarray, np.ndarray]:
    """Views [N] and keys [N] of whole hands, half of the plays at random."""
    table, found = GameBatch(rules, games, seed=seed, episode="hand"), []
    player, chance = HeuristicPlayer(rules), np.random.default_rng(seed)
    while not table.done.all():
        views, keys = table.views(), table.decision_keys(seed)
        found.append((views, keys))
        table.step(np.where(chance.random(games) < 0.5, player.act(views, keys), table.random_legal(keys)))
    return np.concatenate([views for views, _ in found]), np.concatenate([keys for _, keys in found])


# --- what holds for both


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: "-".join(mode.values()))
@pytest.mark.parametrize("deck", ["40 cards", "32 cards, climbing"])
def test_plays_are_legal_in_every_mode(deck: str, mode: dict) -> None:
    rules = RuleSet(name="other", illegal="raise", **(DECKS[deck] | mode))
    assert whole(rules, [HeuristicPlayer(rules), RandomPlayer(rules)]).done.all()


@pytest.mark.parametrize("deck", DECKS)
def test_plays_are_legal_with_every_deck(deck: str) -> None:
    rules = RuleSet(name="other", illegal="raise", **DECKS[deck])
    table = whole(rules, [HeuristicPlayer(rules), RandomPlayer(rules)])
    assert table.last_points.sum(axis=1).tolist() == [rules.total_points] * len(table)


@pytest.mark.parametrize("maker", [RandomPlayer, HeuristicPlayer])
def test_answers_do_not_depend_on_the_batch(maker: type) -> None:
    views, keys = some_views(games=10)
    player = maker(RULES)
    together = player.act(views, keys)
    assert together.dtype == np.int64
    assert [int(player.act(views[at : at + 1], keys[at : at + 1])[0]) for at in range(len(views))] == together.tolist()
    backwards = player.act(views[::-1].copy(), keys[::-1].copy())
    assert backwards[::-1].tolist() == together.tolist()


@pytest.mark.parametrize("maker", [RandomPlayer, HeuristicPlayer])
def test_a_game_that_is_over_is_answered_with_0(maker: type) -> None:
    views = whole(RULES, [RandomPlayer(RULES)], games=3).views()
    assert views["seat"].tolist() == [-1] * 3
    assert maker(RULES).act(views, np.zeros(3, np.uint64)).tolist() == [0] * 3


@pytest.mark.parametrize("maker", [RandomPlayer, HeuristicPlayer])
def test_views_are_checked(maker: type) -> None:
    with pytest.raises(ValueError, match="VIEW"):
        maker(RULES).act(np.zeros((2, 40), np.float32), np.zeros(2, np.uint64))


# --- every game


def played(name: str, games: int = 40) -> tuple[RuleSet, np.ndarray]:
    """A preset that refuses illegal actions, and Views [N] of whole hands, half of the actions at random."""
    rules = ruleset(name, illegal="raise")
    return rules, some_views(rules, games)[0]


@pytest.mark.parametrize("name", PRESETS)
def test_every_phase_of_every_game(name: str) -> None:
    """The answers are legal, the same one by one and backwards, and the best of the scores; those of legal actions are
    finite, all others are not."""
    rules, views = played(name)
    player, lanes = HeuristicPlayer(rules), np.arange(len(views))
    actions, scores, legal = player.act(views), player.scores(views), legal_mask(rules, views)
    on_turn = legal.any(axis=1)
    assert legal[lanes, actions][on_turn].all()
    assert (actions[~on_turn] == 0).all()
    assert (np.isfinite(scores) == legal).all()
    assert np.allclose(scores[lanes, actions][on_turn], scores.max(axis=1)[on_turn])
    assert player.act(views[::-1].copy())[::-1].tolist() == actions.tolist()
    few = lanes[:: max(1, len(views) // 60)]
    assert [int(player.act(views[lane : lane + 1])[0]) for lane in few] == actions[few].tolist()
    bare = np.frombuffer(views.tobytes(), VIEW)
    assert player.act(bare).tolist() == actions.tolist()


@pytest.mark.parametrize("name", ["malilla-zone", "manille-parlee", "manille-encheres"])
def test_every_phase_is_met(name: str) -> None:
    """What the test above covers: besides plays, each phase that the preset adds in which there is a choice."""
    _, views = played(name, games=150)
    rare = {"malilla-zone": {ASK}, "manille-parlee": {TALK}, "manille-encheres": {BID, NAME}}
    assert set(views["phase"]) - {OVER, PLAY, CONSENT} == rare[name]


@pytest.mark.parametrize("name", PRESETS)
def test_hidden_cards_do_not_matter(name: str) -> None:
    """The first to act is answered alike however the cards that it does not see are dealt."""
    rules = ruleset(name)
    games = GameBatch(rules, 30, seed=16, episode="hand")
    seat, deck = games.seat.astype(int), games.state["deck"][:, : rules.num_cards].astype(np.uint8)
    deals = np.zeros(30, deal_dtype(rules))
    deals["dealer"] = games.dealer
    dealing, chance = np.array(rules.dealing), np.random.default_rng(16)
    for lane, cards in enumerate(deck):
        mine = dealing == (seat[lane] - games.dealer[lane] - 1) % rules.num_seats
        known = sum(1 << int(card) for card in cards[mine]) | int(games.state["shown"][lane])
        hidden = [place for place, card in enumerate(cards) if not known >> int(card) & 1]
        if rules.piles:
            down = int(games.state["face_down"][lane])
            hidden = [place for place, card in enumerate(cards) if down >> int(card) & 1]
        deals["cards"][lane] = cards
        deals["cards"][lane, hidden] = chance.permutation(cards[hidden])
    others = GameBatch(rules, 30, seed=17, episode="hand")
    others.reset(deals=deals)
    player = HeuristicPlayer(rules)
    assert (others.state["deck"] != games.state["deck"]).any()
    assert player.act(others.views()).tolist() == player.act(games.views()).tolist()


# --- random


def test_random_is_uniform_and_follows_its_key() -> None:
    views, _ = some_views(games=1)
    lead = np.repeat(views[:1], 10_000)  # ten legal cards
    keys = np.random.default_rng(14).integers(0, 1 << 64, len(lead), np.uint64)
    drawn = RandomPlayer(RULES).act(lead, keys)
    cards, counts = np.unique(drawn, return_counts=True)
    assert cards.tolist() == cards_in(views[0]["legal"][0])
    assert np.abs(counts - 1000).max() < 4 * 30  # four standard deviations
    assert (RandomPlayer(RULES).act(lead, keys) == drawn).all()


def test_random_refuses_keys_of_another_shape() -> None:
    views, keys = some_views(games=2)
    with pytest.raises(ValueError, match="keys must be uint64 of shape"):
        RandomPlayer(RULES).act(views, keys[:-1])


# --- the heuristic


def test_unknown_idea() -> None:
    with pytest.raises(ValueError, match="unknown idea 'luck': choose among holdings, duties"):
        HeuristicPlayer(RULES, without=("luck",))


def test_without_takes_one_name_or_several() -> None:
    assert HeuristicPlayer(RULES, without="ruffs").name == "heuristic without ruffs"
    assert HeuristicPlayer(RULES, without=("ruffs", "load")).name == "heuristic without ruffs without load"


@pytest.mark.parametrize("idea", [idea.name for idea in IDEAS])
def test_every_idea_changes_some_plays(idea: str) -> None:
    views, keys = some_views(games=300)
    assert (HeuristicPlayer(RULES).act(views, keys) != HeuristicPlayer(RULES, without=(idea,)).act(views, keys)).any()


def test_it_plays_a_legal_card_of_the_highest_score() -> None:
    views, keys = some_views()
    player = HeuristicPlayer(RULES)
    scores = player.scores(views)
    legal = (views["legal"][:, :1] >> np.arange(40, dtype=np.uint64)) & np.uint64(1) == 1
    assert (np.isfinite(scores) == legal).all()
    lanes = np.arange(len(views))
    assert np.allclose(scores[lanes, player.act(views, keys)], scores.max(axis=1))


def moved(mask: int, order: list[int]) -> int:
    """A mask of cards whose suit i becomes suit order[i]."""
    return mask_of(order[card // RULES.ranks] * RULES.ranks + card % RULES.ranks for card in cards_in(mask))


def with_suits(views: np.ndarray, order: list[int]) -> np.ndarray:
    """The same Views with other names for the suits."""
    renamed = views.copy()
    for view in renamed:
        for field in ("hand", "trick_cards"):
            view[field] = moved(int(view[field]), order)
        for field in ("legal", "played_by", "cannot_hold"):
            for place in range(1 if field == "legal" else 4):
                view[field][place] = moved(int(view[field][place]), order)
        for field in ("best_card", "turned_card"):
            view[field] = cards_in(moved(1 << int(view[field]), order))[0] if view[field] >= 0 else -1
        for field in ("trump", "led_suit"):
            view[field] = order[view[field]] if view[field] >= 0 else -1
        for field in ("suits_led", "suits_played"):
            view[field] = mask_of(order[suit] for suit in cards_in(view[field]))
    return renamed


@pytest.mark.parametrize("order", [[1, 2, 3, 0], [3, 2, 1, 0], [0, 2, 1, 3]])
def test_names_of_suits_do_not_matter(order: list[int]) -> None:
    views, keys = some_views()
    player = HeuristicPlayer(RULES)
    scores = np.sort(player.scores(views), axis=1)
    clear = scores[:, -1] - scores[:, -2] > 1e-9  # no tie
    assert clear.mean() > 0.8
    there = player.act(with_suits(views, order), keys)
    here = player.act(views, keys)
    assert ((np.array(order)[here // 10] * 10 + here % 10)[clear] == there[clear]).all()


def test_it_knows_no_more_than_its_view() -> None:
    """Other hands, dealing order and keys do not reach it: a View alone, without its game, is answered the same."""
    views, keys = some_views()
    bare = np.frombuffer(views.tobytes(), VIEW)
    assert (HeuristicPlayer(RULES).act(bare, np.zeros_like(keys)) == HeuristicPlayer(RULES).act(views, keys)).all()


# --- its ideas at work


def dealt(hand: str, trick: str, turned: str, seed: int) -> GameBatch:
    """A first trick: seat 0 led, `trick` lies there, the next seat holds `hand`, and seat 3 has turned `turned` up.

    The rest of the deck is dealt at random; the trick is played as far as it is legal.
    """
    hands = [[card] for card in parse_cards(RULES, trick)] + [parse_cards(RULES, hand)]
    hands += [[] for _ in range(4 - len(hands))]
    last = parse_card(RULES, turned)
    hands[3] = [card for card in hands[3] if card != last]
    rest = [card for card in range(40) if card != last and not any(card in cards for cards in hands)]
    random.Random(seed).shuffle(rest)
    for seat, cards in enumerate(hands):
        while len(cards) < (9 if seat == 3 else 10):
            cards.append(rest.pop())
    deals = np.zeros(1, deal_dtype(RULES))
    deals["cards"], deals["dealer"] = np.array([*hands[:3], [*hands[3], last]]).T.ravel(), 3
    games = GameBatch(RULES, 1, episode="hand")
    games.reset(deals=deals)
    for card in parse_cards(RULES, trick):
        games.step(np.array([card]))
    return games


def answer(hand: str, trick: str = "", turned: str = "2s") -> str:
    """What the heuristic plays in the first trick with this hand of ten, spades being trump by `turned`."""
    games = next(games for games in (dealt(hand, trick, turned, seed) for seed in range(1000)) if games.reneged[0] < 0)
    assert games.seat[0] == len(trick.split())
    return card_name(RULES, int(HeuristicPlayer(RULES).act(games.views())[0]))


LOW = "4d 5d 6d 3c 4c 5c"  # six cards that fill a hand


@pytest.mark.parametrize(
    ("hand", "trick", "card"),
    [
        pytest.param(f"Kh 3h 2h {LOW} 3s", "7h 4h", "Kh", id="loads a king on the partner's malilla"),
        pytest.param(f"Kd 3d {LOW} 6c 3s", "7h 4h", "Kd", id="void, loads a king of another suit"),
        pytest.param(f"Ad 3d {LOW} 6c 2s", "5h 7h 4h", "Ad", id="last and void, loads an ace on the partner's malilla"),
        pytest.param(f"Qh 3h 2h {LOW} 6c", "Kh 7h", "2h", id="gives a winning opponent nothing"),
        pytest.param(f"Kd Qd Kc Qc {LOW}", "5h 7h", "3c", id="void without trumps, gives a winning opponent nothing"),
        pytest.param(f"7s 3s 2s {LOW} 6c", "Ah Kh 4h", "2s", id="last, trumps with the lowest trump"),
        pytest.param(f"7s As 3s {LOW} 3d", "5h", "3s", id="trumps low, keeps the high trumps"),
        pytest.param(f"7h Kh 2h {LOW} 6c", "Ah 4h", "7h", id="brings the malilla home on the partner's ace"),
        pytest.param("2d 3s 5s Ks 4c 5c 6c 3c 2c Kc", "7h 2h", "2d", id="holding trumps, rids itself of a short suit"),
        pytest.param("7h 3h 2h Ks 5d 6d 3c 4c 5c 6c", "", "7h", id="does not lead from under the malilla"),
    ],
)
def test_first_trick(hand: str, trick: str, card: str) -> None:
    assert answer(hand, trick) == card


def times_under(leads: np.ndarray, player: HeuristicPlayer) -> int:
    """How often a player leads a side suit's lower card while holding its malilla."""
    cards = player.act(leads)
    tops = leads["hand"] >> (cards // 10 * 10 + 9).astype(np.uint64) & np.uint64(1) == 1
    return int((tops & (cards % 10 != 9) & (cards // 10 != leads["trump"])).sum())


def test_it_seldom_leads_from_under_a_malilla() -> None:
    views, _ = some_views(games=1000)
    leads = views[(views["trick_size"] == 0) & (views["turn"] >= 0)]
    careless = times_under(leads, HeuristicPlayer(RULES, without="malilla"))
    assert careless > 500
    assert times_under(leads, HeuristicPlayer(RULES)) < careless / 2


def margins(pairs: int, opponent: type, seed: int) -> np.ndarray:
    """Margin a hand of the heuristic, [pairs], each deal played with it on both sides in turn."""
    games = [GameBatch(RULES, pairs, seed=seed, episode="hand", purpose="evaluate") for _ in range(2)]
    total = np.zeros(pairs)
    for side, table in enumerate(games):
        players = [HeuristicPlayer(RULES), opponent(RULES)][:: 1 - 2 * side]
        while not table.done.all():
            views, keys = table.views(), table.decision_keys(seed)
            mine = table.seat % 2 == 0
            table.step(np.where(mine, players[0].act(views, keys), players[1].act(views, keys)))
        total += table.last_points[:, side] - RULES.neutral
    return total / 2


def test_it_beats_random() -> None:
    """1,000 duplicate pairs of a fixed seed: the same margin every time, well above what is asked (+4.8)."""
    assert margins(1000, RandomPlayer, seed=15).mean() > 5.5


TOGGLES = [
    ("manille", {"loser_pays": True}),
    ("manille", {"last_trick_bonus": 1}),
    ("manille", {"climb_over_partner": False}),
    ("malilla", {"trump": "none", "dealer_bonus": False, "protected": "off"}),
]


@pytest.mark.parametrize(("name", "changes"), [(name, {}) for name in PRESETS if name != "malilla"] + TOGGLES)
def test_it_beats_random_in_every_game(name: str, changes: dict) -> None:
    """200 deals, it being each side in turn: by five standard errors of what the hands scored."""
    rules = ruleset(name, **changes)
    gains = rotated(rules, 200, seed=15)
    assert gains.mean() > 5 * gains.std(ddof=1) / len(gains) ** 0.5


def rotated(rules: RuleSet, deals: int, seed: int) -> np.ndarray:
    """[deals]: match points of a hand of the heuristic's side above the others' mean, it being each side in turn."""
    total = np.zeros(deals)
    for side in range(rules.num_teams):
        table = GameBatch(rules, deals, seed=seed, episode="hand", purpose="evaluate")
        players = HeuristicPlayer(rules), RandomPlayer(rules)
        while not table.done.all():
            views, keys = table.views(), table.decision_keys(seed)
            mine = np.array(rules.teams)[table.seat] == side
            table.step(np.where(mine, players[0].act(views, keys), players[1].act(views, keys)))
        scored = table.last_score_change.astype(float)
        total += scored[:, side] - (scored.sum(axis=1) - scored[:, side]) / (rules.num_teams - 1)
    return total / rules.num_teams


def test_against_itself_it_is_level() -> None:
    assert (margins(50, HeuristicPlayer, seed=15) == 0).all()
