"""What the heuristic does besides playing cards, in positions whose answer a person would give too: new deals, bids,
naming trump, statements (RULES 1.6.2, 3.5, 3.6)."""

import random

import numpy as np
import pytest

from malilla_env import GameBatch, RuleSet, ruleset
from malilla_env.cards import parse_cards
from malilla_env.deals import deal_dtype
from malilla_env.players import HeuristicPlayer
from malilla_env.state import TALK as TALKING

REDEAL, BIDS, TALK = ruleset("malilla-redeal"), ruleset("manille-encheres"), ruleset("manille-parlee")


def table(rules: RuleSet, hands: dict[int, str], turned: str = "", seed: int = 0) -> GameBatch:
    """A game dealt by seat 3: `hands` by seat, whole or in part, the rest at random; `turned` is the last card."""
    held = {seat: parse_cards(rules, hands.get(seat, "")) for seat in range(4)}
    last = parse_cards(rules, turned)
    rest = [card for card in rules.deck if card not in last and not any(card in cards for cards in held.values())]
    random.Random(seed).shuffle(rest)
    for seat, cards in held.items():
        while len(cards) < rules.num_tricks - (seat == 3) * len(last):
            cards.append(rest.pop())
    held[3] = held[3] + last
    deals = np.zeros(1, deal_dtype(rules))
    deals["cards"], deals["dealer"] = [held[to].pop(0) for to in rules.dealing], 3
    games = GameBatch(rules, 1, episode="hand")
    games.reset(deals=deals)
    return games


def do(games: GameBatch, *actions: str) -> GameBatch:
    for action in actions:
        games.step(np.array([games.rules.action_names.index(action)]))
    return games


def call(games: GameBatch) -> str:
    return games.rules.action_names[int(HeuristicPlayer(games.rules).act(games.views())[0])]


WEAK_LONG = "2h 3h 4h 5h 6h Jh Qh 2d 3d 4c"
STRONG = "7s As Ks Qs Js 7d Ad 7c Ac Kc"
POOR = "2c 3c 5c 6c 4d 5d 6d Jd Qd Jc"


# --- 1.6.2 a new deal
def test_asks_with_a_long_weak_side_suit() -> None:
    assert call(table(REDEAL, {0: WEAK_LONG}, turned="6s")) == "ask"


@pytest.mark.parametrize("hand", ["7h Ah Kh Qh Jh 6h 5h 2d 3d 4c", "7h Ah Kh Qh Jh 6h 5h 7d 7s 7c"])
def test_keeps_seven_high_trumps_and_a_hand_of_malillas(hand: str) -> None:
    turned = "2h" if "7d" not in hand else "2d"
    assert call(table(REDEAL, {0: hand}, turned)) == "pass"


def test_agrees_with_a_poor_hand_and_refuses_with_a_strong_one() -> None:
    assert consent(POOR) == "agree"
    assert consent(STRONG) == "refuse"


def consent(hand: str) -> str:
    """What the partner of a seat that asked answers."""
    return call(do(table(REDEAL, {0: WEAK_LONG, 2: hand}, turned="6s"), "ask"))


def test_a_paid_bonus_argues_for_the_deal() -> None:
    """The turned-up card's points are the dealer's side's, and lost by a new deal: to ask is worth the less to it."""
    ask, keep = (REDEAL.action_names.index(name) for name in ("ask", "pass"))

    def worth(turned: str) -> float:
        games = do(table(REDEAL, {1: WEAK_LONG}, turned), "pass")
        scores = HeuristicPlayer(REDEAL).scores(games.views())[0]
        return float(scores[keep] - scores[ask])

    assert worth("7s") > worth("6s") + 5


# --- 3.6 the auction
HIGH = "Ts As Ks Qs Js 9s Th Td"


def bid_of(hand: str, *before: str) -> int:
    """What a seat bids after those before it, in points; 0 for a pass."""
    name = call(do(table(BIDS, {len(before): hand}), *before))
    return 0 if name == "pass" else int(name.removeprefix("bid-"))


def test_bids_high_with_high_trumps() -> None:
    assert bid_of(HIGH) >= 40
    assert bid_of(HIGH, "bid-40") > 40


def test_a_weak_hand_lets_an_opponents_bid_stand() -> None:
    assert bid_of("7s 8s 7h 8h 7d 9d 7c 8c", "bid-40") == 0


def test_a_better_hand_bids_no_less() -> None:
    hands = ["7s 8s 7h 8h 7d 9d 7c 8c", "Ts 8s 7s 8h 7d 9d Kc 8c", "Ts As 8s 7s Td 9d Kc 8c", HIGH]
    after = [bid_of(hand, "pass", "pass", "bid-41") for hand in hands]
    assert after[0] == 0
    assert after[-1] == 42
    assert [bid > 0 for bid in after] == sorted(bid > 0 for bid in after)


def test_the_last_to_speak_bids_no_more_than_it_must() -> None:
    assert bid_of(HIGH, "pass", "pass", "pass") == 31
    assert bid_of(HIGH, "pass", "pass", "bid-38") == 39


def test_a_partners_high_bid_stands() -> None:
    assert bid_of("Ts 8s 7s 8h Td 9d Kc 8c", "pass", "bid-42", "pass") == 0


@pytest.mark.parametrize("suit", ["spades", "hearts", "diamonds", "clubs"])
def test_names_its_long_strong_suit(suit: str) -> None:
    initial = suit[0]
    sides = [other for other in "shdc" if other != initial]
    hand = " ".join([rank + initial for rank in "TAK98"] + ["8" + side for side in sides])
    assert call(do(table(BIDS, {0: hand}), "bid-40", "pass", "pass", "pass")) == f"trump-{suit}"


# --- 3.5 statements
def test_says_which_side_suits_malilla_it_holds_once() -> None:
    games = table(TALK, {0: "Ts As Th 9d 8d 9c 8c 7c"}, turned="9s")
    assert call(games) == "holds-Th"
    do(games, "holds-Th", "pass", "Ts")
    for _ in range(3):
        games.step(games.random_legal(games.decision_keys()))
    assert (games.leader[0], games.phase[0]) == (0, TALKING)
    assert call(games) == "pass"


def test_the_partner_says_it_too_and_nobody_tells_of_trumps() -> None:
    games = table(TALK, {0: "Ts As Kh 9d 8d 9c 8c 7c", 2: "Td Kd 9h 8h Jc Qc Ks Qs"}, turned="9s")
    assert call(games) == "pass"
    assert call(do(games, "pass")) == "holds-Td"
