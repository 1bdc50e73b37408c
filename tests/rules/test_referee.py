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


# ---- the family ------------------------------------------------------------------------------------------------------


def dealt(name: str, dealer: int = 3, seed: int = 5, score=None, albur=(), **changes) -> Referee:
    rules = ruleset(name, **changes)
    order = list(Laws(rules).pack)
    random.Random(seed).shuffle(order)
    return Referee(rules, order, dealer, score, albur=albur)


def played_out(game: Referee, points: list[int], seed: int = 1) -> Referee:
    """The hand settled as if the sides had taken so many points: what 2.6 to 2.8 and 3.6 make of them."""
    rng = random.Random(seed)
    while sum(map(len, game.hands)) > 1:
        game.play(rng.choice(game.legal()))
    game.hand_points = [0] * len(points)
    last = game.legal()[0]
    trick = [*game.trick, (game.seat, last)]
    value = sum(game.laws.points[card] for _, card in trick) + game.rules.trick_points + game.rules.last_trick_bonus
    winner = game.laws.teams[game.laws.winning(trick, game.trump)[0]]
    game.hand_points = [want - value * (team == winner) for team, want in enumerate(points)]
    game.play(last)
    assert game.last_points == points
    return game


def test_2_2_packets_and_3_7_the_dead_hand():
    game = dealt("manille-3-dead", dealer=0, packets=(2, 6))
    order = list(game.laws.pack)
    random.Random(5).shuffle(order)
    # two to seats 1 and 2, to the dead hand, to the dealer; then six to each
    assert game.hands[1] == order[0:2] + order[8:14]
    assert game.hands[2] == order[2:4] + order[14:20]
    assert game.dead == order[4:6] + order[20:26]
    assert game.hands[0] == order[6:8] + order[26:32]
    assert game.turned == order[-1]
    assert sorted(dealt("manille").hands[0]) != sorted(dealt("manille", packets=(4, 4)).hands[0])


def test_3_8_a_card_is_turned_up_when_the_trick_is_over():
    game = dealt("manille-2", dealer=1)
    assert game.seat == 0  # the non-dealer leads
    first = game.legal()[0]
    below = game.under[first]
    game.play(first)
    assert below not in game.hands[0]
    assert len(game.hands[0]) == 7
    game.play(game.legal()[0])
    assert below in game.hands[0]
    assert [len(hand) for hand in game.hands] == [8, 8]
    assert game.cannot_hold(0) == set(game.laws.pack) - set(game.hands[0])


def test_1_6_2_asking_and_consent():
    game = dealt("malilla", redeal=1, score=[30, 30])  # everybody may ask
    score, bonus = list(game.match_score), game.bonus
    assert game.legal() == ["pass", "ask"]
    game.play("pass")
    game.play("ask")
    assert (game.phase, game.seat, game.legal()) == ("consent", 3, ["agree", "refuse"])
    game.play("refuse")
    assert (game.phase, game.seat) == ("ask", 2)
    game.play("ask")
    assert game.seat == 0
    game.play("agree")
    assert game.void
    assert game.match_score == [30, 30 - 0] == [score[0], score[1] - bonus]
    game.deal_again(game.laws.pack)
    assert (game.dealer, game.attempt, game.hand_number, game.seat) == (3, 1, 0, 0)
    for _ in range(4):
        game.play("pass")
    assert (game.phase, game.seat) == ("play", 0)


def test_1_6_3_albur():
    game = dealt("malilla-albur", albur=["7h", "As"])  # the dealer's right draws higher
    assert (game.match_score[0] >= 5, game.leader, game.waiting_albur) == (True, 0, 0)
    game = dealt("malilla-albur", albur=["2h", "3s"])
    assert (game.leader, game.seat, game.match_score[0]) == (3, 3, 0)
    game.misdeal(game.laws.pack)
    assert (game.dealer, game.leader) == (0, 3)
    waits = dealt("malilla-albur", albur=["2h", "3s"], score=[0, 30])
    assert (waits.match_score[1] - waits.bonus, waits.waiting_albur) == (30, 5)
    assert played_out(waits, [35, 35]).winner == 1
    assert waits.last_score_change[1] >= 5
    with pytest.raises(ValueError, match="anew while it is level"):
        dealt("malilla-albur", albur=["7h", "7s"])


def test_3_5_true_statements_only():
    game = dealt("manille-parlee")
    assert (game.phase, game.seat) == ("talk", 0)
    spades = sum(card[1] == "s" for card in game.hands[0])
    told = [action for action in game.legal() if action.endswith("spades")]
    assert told == [f"holds-{spades}-spades"]
    assert {action for action in game.legal() if len(action) == 8} == {
        f"holds-{card}" for card in game.hands[0] if card[0] in "TA"
    }
    game.play(told[0])
    assert (game.phase, game.seat) == ("talk", 2)
    game.play("pass")
    assert (game.phase, game.seat) == ("play", 0)
    assert game.counts[0] == {"s": spades}


def test_3_6_bids_and_their_scores():
    game = dealt("manille-encheres")
    assert (game.trump, game.turned, game.legal()[:2], game.legal()[-1]) == ("", "", ["pass", "bid-31"], "bid-60")
    for action in ("bid-35", "pass", "pass", "bid-40"):
        game.play(action)
    assert (game.phase, game.seat) == ("name", 3)
    assert game.legal() == ["trump-spades", "trump-hearts", "trump-diamonds", "trump-clubs"]
    game.play("trump-hearts")
    assert (game.trump, game.seat, game.phase) == ("h", 0, "play")
    assert played_out(game, [19, 41]).match_score == [0, 11]  # made
    for points, scores, pays in ([20, 40], [0, 10], -10), ([21, 39], [10, 0], -10), ([60, 0], [10, 0], -10):
        for loser_pays in (False, True):
            game = dealt("manille-encheres", loser_pays=loser_pays)
            for action in ("pass", "pass", "pass", "bid-40", "trump-clubs"):
                game.play(action)
            expected = [score or pays * loser_pays for score in scores]
            assert played_out(game, points).match_score == expected
    game = dealt("manille-encheres")
    for _ in range(4):
        game.play("pass")
    game.deal_again(game.laws.pack)
    assert (game.dealer, game.attempt, game.hand_number) == (0, 1, 0)


def test_2_6_to_2_8_scores():
    assert played_out(dealt("manille"), [36, 24]).match_score == [6, 0]  # M6
    assert played_out(dealt("manille", loser_pays=True), [36, 24]).match_score == [6, -6]
    level = played_out(dealt("manille", redeal_level=True), [30, 30])
    level.next_hand(level.laws.pack)
    assert (level.match_score, level.dealer, level.hand_number) == ([0, 0], 3, 1)
    level = played_out(dealt("manille"), [30, 30])
    level.next_hand(level.laws.pack)
    assert level.dealer == 0
    assert played_out(dealt("manille", last_trick_bonus=1), [27, 34]).match_score == [0, 4]  # M3
    three = played_out(dealt("manille-3", dealer=0, score=[95, 97, 0]), [28, 25, 7])
    assert (three.match_score, three.winner) == ([103, 102, 0], 0)
    three = played_out(dealt("manille-3", dealer=0, score=[95, 98, 0]), [28, 25, 7])
    assert (three.match_score, three.winner, three.done) == ([103, 103, 0], -1, False)
    below = played_out(dealt("manille", loser_pays=True, score=[96, 2]), [36, 24])
    assert (below.match_score, below.zapato) == ([102, -4], True)
