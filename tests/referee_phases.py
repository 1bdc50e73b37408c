"""The referee's phases besides play: a new deal asked for, the albur, the auction, talk.

In and out as in referee.py, of whose Referee this is one half. Each phase is a pair of methods: `legal_...` lists the
actions of the seat to act and names the branch of the rules, `do_...` carries one out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

SUIT_OF = {"spades": "s", "hearts": "h", "diamonds": "d", "clubs": "c"}
PASS = "pass"
MOST_DEALS = 100  # of one hand, so that a match ends (1.6.2, 3.6.3)


class Said(NamedTuple):
    """An action besides a card, heard by all."""

    seat: int
    text: str


def told_count(text: str) -> tuple[str, int] | None:
    """3.5: the suit and number of "holds-3-hearts", or None of any other text."""
    words = text.split("-")
    return (SUIT_OF[words[2]], int(words[1])) if words[0] == "holds" and len(words) == 3 else None


def told_card(text: str) -> str:
    """3.5: the card of "holds-Ts", or "" of any other text."""
    words = text.split("-")
    return words[1] if words[0] == "holds" and len(words) == 2 else ""


def longest(hand: Sequence[str]) -> int:
    """The number of cards of the suit of which there are most."""
    suits = [card[1] for card in hand]
    return max(map(suits.count, SUIT_OF.values()))


class Phases:
    """Half of the Referee: 1.6.2, 1.6.3, 3.5 and 3.6."""

    # ---- from the deal to the first lead

    def begin(self) -> None:
        """After the deal: an auction (3.6), or the seats are asked (1.6.2), or the first lead."""
        seats = [(self.dealer + 1 + at) % self.laws.num_seats for at in range(self.laws.num_seats)]
        self.waiting_seats = seats  # who has still to ask or bid, in turn from the dealer's right
        self.asked: list[int] = []
        self.bid, self.bidder = 0, -1
        self.counts: list[dict[str, int]] = [{} for _ in seats]
        self.said: set[tuple[int, str]] = set()
        if self.rules.redeal:
            self._turn("ask")
        elif self.rules.trump == "bid":
            self._turn("bid")
        else:
            self.to_lead()

    def _turn(self, phase: str) -> None:
        self.phase, self.seat = phase, self.waiting_seats.pop(0)

    def _say(self, text: str) -> int:
        self.actions.append(Said(self.seat, text))
        return self.seat

    def _partner(self, seat: int) -> int:
        return next(other for other in range(self.laws.num_seats) if other != seat and self.laws.partner(seat, other))

    def deal_again(self, order: Sequence[str]) -> None:
        """`order` after a deal that the players called off: 1.6.2 by the same dealer, 3.6 by the next."""
        if not self.void:
            raise ValueError("a deal that nobody called off is played")
        self.attempt += 1
        self.deal(order, self.dealer if self.rules.redeal else self.next_dealer())

    # ---- 1.6.2 redeal with consent

    def legal_ask(self) -> tuple[list[str], str]:
        if self.attempt == MOST_DEALS - 1:
            return [PASS], "1.6.2 the hundredth deal stands"
        if longest(self.hands[self.seat]) >= self.rules.redeal:
            return [PASS, "ask"], "1.6.2 may ask for a new deal"
        return [PASS], "1.6.2 no suit long enough to ask"

    def do_ask(self, action: str, why: str) -> None:
        seat = self._say(action)
        if action == "ask":
            self.asked.append(seat)
            self.phase, self.seat = "consent", self._partner(seat)
            return
        if why == "1.6.2 may ask for a new deal":
            self.visits["1.6.2 does not ask, and might"] += 1
        self._ask_next()

    def _ask_next(self) -> None:
        if self.waiting_seats:
            self._turn("ask")
        else:
            self.visits["1.6.2 all were asked, the play begins"] += 1
            self.to_lead()

    def legal_consent(self) -> tuple[list[str], str]:
        return ["agree", "refuse"], "1.6.2 the partner is asked to consent"

    def do_consent(self, action: str, why: str) -> None:
        self._say(action)
        if action == "refuse":
            self.visits["1.6.2 refused"] += 1
            self._ask_next()
            return
        self.visits["1.6.2 agreed, " + self.take_back()] += 1
        self.visits["1.6.2 agreed in a later attempt" if self.attempt else "1.6.2 agreed in the first attempt"] += 1
        self.void = True

    # ---- 1.6.3 albur

    def draw(self, albur: Sequence[str], dealer: int) -> None:
        """Once per match: cards drawn by the dealer's right and by the dealer; the higher strength wins."""
        self.albur, self.waiting_albur, self.albur_seat = tuple(albur), 0, -1
        if not albur:
            return
        right, own = (self.laws.strength[card] for card in albur)
        if right == own or not self.rules.albur:
            raise ValueError("an albur is drawn where the rules say so, and anew while it is level")
        self.albur_seat = (dealer + 1) % self.laws.num_seats if right > own else dealer
        self.visits["1.6.3 drawn by the dealer's right" if right > own else "1.6.3 drawn by the dealer"] += 1
        side, worth = self.laws.teams[self.albur_seat], self.rules.albur
        if self.match_score[side] + worth >= self.rules.target:
            self.waiting_albur = worth
            self.visits["1.6.3 albur waits"] += 1
        else:
            self.match_score[side] += worth
            self.visits["1.6.3 albur paid"] += 1

    def first_leader(self) -> int:
        """1.3.1, and 1.6.3: in the first hand, whatever happens to the deal, who won the albur."""
        right = (self.dealer + 1) % self.laws.num_seats
        if self.albur_seat < 0 or self.hand_number:
            return right
        self.visits[
            "1.6.3 the winner of the albur leads" + (", though not first" if self.albur_seat != right else "")
        ] += 1
        return self.albur_seat

    def settle_waiting_albur(self) -> None:
        """1.6.3 with 1.5.4: after the first hand's points ignored if the match is won, else added."""
        if not self.waiting_albur:
            return
        worth, self.waiting_albur = self.waiting_albur, 0
        if self.winner >= 0:
            self.visits["1.6.3 waiting albur ignored"] += 1
            return
        self.match_score[self.laws.teams[self.albur_seat]] += worth
        self.visits["1.6.3 waiting albur added"] += 1
        self.winner = self.past_target("by the albur")

    # ---- 3.6 auction

    def legal_bid(self) -> tuple[list[str], str]:
        """Pass, or a number of points above every bid before, from just above neutral to all."""
        least = max(self.bid, self.rules.neutral) + 1
        bids = [f"bid-{points}" for points in range(least, self.laws.total_points + 1)]
        return [PASS, *bids], "3.6 may bid" if bids else "3.6 all points were bid"

    def do_bid(self, action: str, why: str) -> None:
        seat = self._say(action)
        if action != PASS:
            self.visits["3.6 outbid" if self.bid else "3.6 first bid"] += 1
            self.bid, self.bidder = int(action.split("-")[1]), seat
        if self.waiting_seats:
            self._turn("bid")
        elif self.bid:
            self.phase, self.seat = "name", self.bidder
        elif self.attempt == MOST_DEALS - 1:
            self.visits["3.6 all passed for the hundredth time"] += 1
            nothing = [0] * self.laws.num_teams
            self.last_points, self.last_tricks, self.last_score_change = list(nothing), list(nothing), nothing
            self.done = self.hand_over = True
        else:
            self.visits["3.6 all passed, the next player deals"] += 1
            self.void = True

    def legal_name(self) -> tuple[list[str], str]:
        return [f"trump-{suit}" for suit in SUIT_OF], "3.6 the highest bidder names trump"

    def do_name(self, action: str, why: str) -> None:
        self._say(action)
        self.trump = SUIT_OF[action.split("-")[1]]
        self.visits["3.6 trump named: " + self.trump] += 1
        self.to_lead()

    def auction_scores(self) -> list[int]:
        """Made: the points above neutral; failed: the other side's what was bid above it."""
        side = self.laws.teams[self.bidder]
        points = self.hand_points[side]
        made = points >= self.bid
        over = "just " if points in (self.bid, self.bid - 1) else ""
        self.visits[f"3.6 {over}made" if made else f"3.6 {over}failed"] += 1
        worth = (points if made else self.bid) - self.rules.neutral
        return [worth * ((team == side) == made) for team in range(self.laws.num_teams)]

    # ---- 3.5 talk

    def begin_talk(self) -> None:
        self.phase = "talk"
        self.waiting_seats = [self._partner(self.leader)]

    def legal_talk(self) -> tuple[list[str], str]:
        """Silence, or a true statement: a suit's number, or a held card of the two highest ranks."""
        hand = self.hands[self.seat]
        suits = [card[1] for card in hand]
        numbers = [f"holds-{suits.count(suit)}-{name}" for name, suit in SUIT_OF.items()]
        cards = [f"holds-{card}" for card in hand if card[0] in self.rules.rank_names[-2:]]
        whose = "leader" if self.waiting_seats else "leader's partner"
        return [PASS, *numbers, *cards], f"3.5 the {whose} may speak"

    def do_talk(self, action: str, why: str) -> None:
        seat = self._say(action)
        if number := told_count(action):
            suit, count = number
            known = "3.5 a number told again" if suit in self.counts[seat] else "3.5 a number told"
            self.visits["3.5 none told" if not count else known] += 1
            self.counts[seat][suit] = count
        elif card := told_card(action):
            self.visits[f"3.5 a card told: {card[0]}"] += 1
            self.said.add((seat, card))
        else:
            self.visits["3.5 silent"] += 1
        if self.waiting_seats:
            self.seat = self.waiting_seats.pop(0)
        else:
            self.phase, self.seat = "play", self.leader

    def forget(self, seat: int, card: str) -> None:
        """A card played is one fewer of the number told."""
        counts, suit = self.counts[seat], card[1]
        if suit in counts:
            counts[suit] -= 1
            self.visits["3.5 a told number falls" + (" to none" if not counts[suit] else "")] += 1
        if (seat, card) in self.said:
            self.visits["3.5 a told card is played"] += 1
