"""The referee on its own: the worked positions, and the claims on which its search for possible hands rests."""

import random

import pytest
from positions import POSITIONS, SCORINGS, TRICKS, hand_scoring, history_to
from referee import Laws, Referee, holdable, holdable_by_trying_all

from malilla_env.rules import RuleSet, ruleset

MODES = [
    {"undertrump": undertrump, "protected": protected, "climb_over_partner": climb}
    for undertrump in ("optional", "forbidden", "forced")
    for protected in ("led", "played", "off")
    for climb in (False, True)
]


def mode_name(mode: dict) -> str:
    return "-".join(str(value) for value in mode.values())


@pytest.mark.parametrize("position", POSITIONS, ids=lambda position: position.name)
def test_legal_cards_of_the_worked_positions(position):
    laws = Laws(ruleset(**position.changes))
    trick = list(enumerate(position.trick.split()))
    led = {card[1] for _, card in trick[:1]} | set(position.unlocked)
    seen = led | {card[1] for _, card in trick} | set(position.discarded)
    legal, _ = laws.legal(len(trick), position.hand.split(), trick, position.trump, led, seen)
    assert sorted(legal) == sorted(position.legal.split())


@pytest.mark.parametrize("position", POSITIONS, ids=lambda position: position.name)
def test_worked_positions_arise_in_play(position):
    rules = ruleset(**position.changes)
    history = history_to(rules, position)
    game = Referee(rules, history.order, history.dealer)
    for card in history.plays:
        game.play(card)
    assert sorted(game.hands[game.seat]) == sorted(position.hand.split())
    assert sorted(game.legal()) == sorted(position.legal.split())


@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: trick.name)
def test_winner_of_the_worked_tricks(trick):
    laws = Laws(ruleset())
    cards = trick.cards.split()
    assert laws.winning(list(enumerate(cards)), trick.trump)[0] == trick.winner
    assert sum(laws.points[card] for card in cards) + laws.rules.trick_points == trick.points


@pytest.mark.parametrize("dealer", range(4))
@pytest.mark.parametrize("row", SCORINGS, ids=lambda row: row.name)
def test_worked_scores(row, dealer):
    rules, side = ruleset(), dealer % 2
    history = hand_scoring(rules, row.turned, row.points, dealer)
    game = Referee(rules, history.order, dealer, match_score=row.before if side == 0 else row.before[::-1])
    own = lambda pair: (pair[side], pair[1 - side])  # noqa: E731
    assert own(game.match_score) == row.at_once
    for card in history.plays:
        game.play(card)
    assert own(game.match_score) == row.after
    assert game.winner == (-1 if row.winner < 0 else (side + row.winner) % 2)
    assert game.zapato == row.zapato
    assert own(game.last_score_change) == tuple(new - old for new, old in zip(row.after, row.before, strict=True))


def small_rules(**changes) -> RuleSet:
    """Sixteen cards, four each: small enough to try every hand."""
    return RuleSet(rank_names="2KA7", rank_points=(0, 3, 4, 5), neutral=26, **changes)


@pytest.mark.parametrize("mode", MODES, ids=mode_name)
def test_fewer_cards_never_forbid_a_play(mode):
    """What `holdable` cuts branches by: a legal play stays legal when another card leaves the hand."""
    laws, rng = Laws(small_rules(**mode)), random.Random(1)
    for _ in range(1500):
        cards = rng.sample(laws.pack, rng.randint(3, 9))
        size = rng.randint(1, 3)
        trick, hand = [(at, card) for at, card in enumerate(cards[:size])], cards[size:]
        if not hand:
            continue
        led = {suit for suit in "shdc" if rng.random() < 0.4} | {trick[0][1][1]}
        seen = led | {card[1] for _, card in trick}
        legal, _ = laws.legal(size, hand, trick, "s", led, seen)
        assert legal
        for gone in hand:
            fewer = [card for card in hand if card != gone]
            still, _ = laws.legal(size, fewer, trick, "s", led, seen)
            assert set(legal) - {gone} <= set(still)


def random_game(rules, rng: random.Random, dealer: int) -> Referee:
    order = list(Laws(rules).pack)
    rng.shuffle(order)
    return Referee(rules, order, dealer)


@pytest.mark.parametrize("mode", MODES, ids=mode_name)
def test_search_for_hands_equals_trying_all(mode):
    rules, rng = small_rules(**mode), random.Random(2)
    for game_number in range(6):
        game = random_game(rules, rng, game_number % 4)
        while not game.hand_over:
            game.play(rng.choice(game.legal()))
            gone = {play.card for play in game.log}
            pool = [card for card in game.laws.pack if card not in gone | {game.turned}]
            for seat in range(4):
                mine = [play for play in game.log if play.seat == seat]
                known = (game.turned,) if seat == game.dealer and game.turned not in gone else ()
                question = (game.laws, game.trump, mine, pool, known, game.laws.hand_size - len(mine))
                possible = holdable(*question)
                assert possible == holdable_by_trying_all(*question)
                assert possible >= set(game.hands[seat])
                assert game.cannot_hold(seat) == set(game.laws.pack) - possible


def test_dealer_left_with_the_turned_up_card_alone():
    """Everybody knows that hand: the dealer can hold nothing else, and nobody else can hold that."""
    rules, rng = ruleset(), random.Random(3)
    for _ in range(5000):
        game = random_game(rules, rng, 0)
        while len(game.hands[0]) > 1 and game.turned in game.hands[0]:
            game.play(rng.choice(game.legal()))
        if game.turned in game.hands[0]:
            break
    assert game.hands[0] == [game.turned]
    assert game.cannot_hold(0) == set(game.laws.pack) - {game.turned}
    assert all(game.turned in game.cannot_hold(seat) for seat in (1, 2, 3))


def test_a_forced_seven_tells_the_whole_hand():
    """1.3.8: who discards a protected seven held nothing but protected sevens."""
    position = next(position for position in POSITIONS if position.name == "G3")
    history = history_to(ruleset(), position)
    game = Referee(ruleset(), history.order, history.dealer)
    for card in [*history.plays, "7d"]:
        game.play(card)
    assert game.cannot_hold(2) == set(game.laws.pack) - {"7c"}


def test_operations_that_the_referee_refuses():
    """1.4.1 and 1.2.5: the operations that the referee refuses."""
    game = random_game(ruleset(illegal="raise"), random.Random(4), 3)
    with pytest.raises(ValueError, match="the next hand"):
        game.next_hand(game.laws.pack)
    game.play(game.legal()[0])
    with pytest.raises(ValueError, match="before the first lead"):
        game.misdeal(game.laws.pack)
    before = (game.seat, list(game.log))
    with pytest.raises(ValueError, match="not legal"):
        game.play(game.hands[(game.seat + 1) % 4][0])
    assert (game.seat, list(game.log)) == before
