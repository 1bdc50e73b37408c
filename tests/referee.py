"""A slow referee for the whole family, written from the rules text and from nothing else.

In: a rule set (any object with the field names of RuleSet), dealing orders, actions as texts ("7s", "bid-40").
Out: legal actions, trick winners, points, match score, the end of a match, and what a seat cannot hold.
It knows no card ids, no bit masks and nothing of `malilla_env`. Each step cites its paragraph of docs/RULES.md, and
`visits` counts how often each branch of a paragraph was taken, so that a test can show that it met them all.

A phase is a pair of methods, one that lists legal actions and one that carries an action out. Playing to tricks is
here; asks, bids and statements are in referee_phases.py, and what follows about hands in referee_hands.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from referee_hands import holdable, holdable_by_trying_all
from referee_phases import Phases, Said

__all__ = ["SUITS", "Laws", "Play", "Referee", "Said", "holdable", "holdable_by_trying_all"]

SUITS = "shdc"
FREE_DISCARDS = ("1.3.7 partner winning, void", "1.3.8", "1.3.6 optional")  # branches in which 1.3.8 speaks
NUMBERS = {2: "3.8 two", 3: "3.7 three", 4: "1.1.1 four"}


class Play(NamedTuple):
    """A card on the table, with everything public that bore on its legality."""

    seat: int
    card: str
    trick: tuple[tuple[int, str], ...]  # (seat, card) of this trick before it
    suits_led: frozenset[str]  # in this hand, this trick's included once it is led
    suits_played: frozenset[str]  # by any card of this hand so far


class Laws:
    """The part of the rules that looks at one trick: order, winner, duties. It holds no game."""

    def __init__(self, rules) -> None:
        self.rules = rules
        self.teams: tuple[int, ...] = tuple(rules.teams)
        self.num_seats = len(self.teams)  # 1.1.1
        self.num_teams = len(set(self.teams))
        # 1.1.2: the pack; 1.1.3: the order inside a suit; 1.1.4: what a card counts
        self.pack = [rank + suit for suit in SUITS for rank in rules.rank_names if rank + suit not in rules.removed]
        self.strength = {rank + suit: at for at, rank in enumerate(rules.rank_names) for suit in SUITS}
        worth = dict(zip(rules.rank_names, rules.rank_points, strict=True))
        self.points = {card: worth[card[0]] for card in self.pack}
        self.malilla = rules.rank_names[-1]  # the top rank: the card that 1.3.8 protects
        self.hand_size = len(self.pack) // (self.num_seats + rules.dead_hand)  # dealt to each: 1.2.2, 3.7
        in_all = sum(self.points.values()) + self.hand_size * rules.trick_points + rules.last_trick_bonus
        self.total_points = in_all  # 1.1.4, 2.7

    def dealing(self, dealer: int) -> list[int]:
        """1.2.2 and 2.2: who gets each card of a dealing order, round by round, the dealer's right first.

        A dead hand is dealt to before the dealer; it stands as the seat after the last.
        """
        in_turn = [(dealer + 1 + at) % self.num_seats for at in range(self.num_seats)]
        if self.rules.dead_hand:
            in_turn.insert(-1, self.num_seats)
        packets = self.rules.packets or [1] * self.hand_size
        return [hand for packet in packets for hand in in_turn for _ in range(packet)]

    def partner(self, seat: int, other: int) -> bool:
        return self.teams[seat] == self.teams[other]  # 1.1.1

    def beats(self, card: str, best: str, trump: str) -> bool:
        """1.3.9: whether `card`, played after `best` was winning, takes the trick over."""
        if card[1] == best[1]:
            return self.strength[card] > self.strength[best]
        return card[1] == trump

    def winning(self, trick: Sequence[tuple[int, str]], trump: str) -> tuple[int, str]:
        """1.3.9: the seat and card that win the trick as it lies."""
        seat, best = trick[0]
        for other, card in trick[1:]:
            if self.beats(card, best, trump):
                seat, best = other, card
        return seat, best

    def legal(
        self,
        seat: int,
        hand: Iterable[str],
        trick: Sequence[tuple[int, str]],
        trump: str,
        suits_led: Iterable[str] = (),
        suits_played: Iterable[str] = (),
        winning: tuple[int, str] | None = None,
    ) -> tuple[list[str], str]:
        """The cards of `hand` that may be played, and the branch of the rules that says so.

        `winning` are the seat and card that win the trick, where they are known.
        """
        hand = list(hand)
        if not trick:
            return hand, "1.3.1 lead: any card"
        led = trick[0][1][1]
        winner, best = winning or self.winning(trick, trump)
        # 1.3.7: duties hold against opponents, and against partner only by the parameter
        partner_wins = self.partner(seat, winner)
        bound = self.rules.climb_over_partner or not partner_wins
        follow = [card for card in hand if card[1] == led]
        if follow:
            return self._following(follow, led, best, bound, trump)
        if not bound:
            return self._discard(hand, trump, suits_led, suits_played, "1.3.7 partner winning, void")
        return self._void(hand, best, trump, suits_led, suits_played, partner_wins)

    def _following(self, follow: list[str], led: str, best: str, bound: bool, trump: str) -> tuple[list[str], str]:
        """1.3.2, and how far one must beat."""
        if not bound:
            return follow, "1.3.7 partner winning, follow only"
        if best[1] != led:
            return follow, "1.3.4 ruffed trick: any card of the led suit"
        higher = [card for card in follow if self.strength[card] > self.strength[best]]  # 1.3.3
        if not higher:
            return follow, "1.3.2 follow, unable to beat"
        return higher, "1.3.3 beat, trump led" if led == trump else "1.3.3 beat"

    def _void(
        self,
        hand: list[str],
        best: str,
        trump: str,
        suits_led: Iterable[str],
        suits_played: Iterable[str],
        partner_wins: bool,
    ) -> tuple[list[str], str]:
        """1.3.5 and 1.3.6: no card of the led suit, and bound to win if possible."""
        over = " (climbing over partner)" if partner_wins else ""
        trumps = [card for card in hand if card[1] == trump]
        if not trumps:
            return self._discard(hand, trump, suits_led, suits_played, "1.3.8 no trump, discard")
        if best[1] != trump:
            return trumps, "1.3.5 trump" + over
        higher = [card for card in trumps if self.strength[card] > self.strength[best]]
        if higher:
            return higher, "1.3.5 overtrump" + over
        if self.rules.undertrump == "forced":
            return trumps, "1.3.6 forced undertrump" + over
        if self.rules.undertrump == "optional":
            return self._discard(hand, trump, suits_led, suits_played, "1.3.6 optional undertrump" + over)
        # forbidden, softly: a discard that 1.3.8 allows, else a low trump (which comes before protected cards)
        side = [card for card in hand if card[1] != trump]
        free = [card for card in side if not self.is_protected(card, trump, suits_led, suits_played)]
        if free:
            return free, "1.3.6 forbidden undertrump" + over
        if side:
            return trumps, "1.3.6 a forbidden low trump comes before protected sevens" + over
        return trumps, "1.3.6 forbidden undertrump, nothing else" + over

    def _discard(
        self, hand: list[str], trump: str, suits_led: Iterable[str], suits_played: Iterable[str], why: str
    ) -> tuple[list[str], str]:
        """1.3.8: anything but a protected seven, unless there is nothing else."""
        free = [card for card in hand if not self.is_protected(card, trump, suits_led, suits_played)]
        if len(free) == len(hand):
            return hand, why
        if free:
            return free, why + ", seven protected"
        return hand, "1.3.8 nothing but protected sevens"

    def is_protected(self, card: str, trump: str, suits_led: Iterable[str], suits_played: Iterable[str]) -> bool:
        """1.3.8: a non-trump malilla whose suit is still locked."""
        if card[0] != self.malilla or card[1] == trump or self.rules.protected == "off":
            return False
        return card[1] not in (suits_led if self.rules.protected == "led" else suits_played)


class Referee(Phases):
    """One match, from its first deal to its end. Dealing orders come from outside: `deal` waits for each.

    Of a match whose rules have an albur, `albur` are the cards drawn by the dealer's right and by the dealer (1.6.3).
    """

    def __init__(
        self,
        rules,
        order: Sequence[str],
        dealer: int,
        match_score: Sequence[int] | None = None,
        laws: Laws | None = None,
        albur: Sequence[str] = (),
    ) -> None:
        self.rules = rules
        self.laws = laws or Laws(rules)
        self.visits: Counter[str] = Counter()
        self.match_score = list(match_score or [0] * self.laws.num_teams)
        self.done = False
        self.winner = -1  # a team
        self.reneged = -1  # a seat
        self.zapato = False
        self.capote = False
        self.hand_over = False  # a hand has ended, and the next one is not dealt yet
        self.void = False  # a deal was called off by the players, and the next one is not dealt yet
        self.hand_number = 0
        self.attempt = 0  # deals of this hand that were void
        nothing = [0] * self.laws.num_teams
        self.last_points, self.last_tricks, self.last_score_change = list(nothing), list(nothing), list(nothing)
        self.score_at_hand = list(self.match_score)
        self.draw(albur, dealer)
        self.deal(order, dealer)

    # ---- 1.2 dealing and trump -------------------------------------------------------------------------------------

    def deal(self, order: Sequence[str], dealer: int) -> None:
        """Deal `order` (the cards in dealing order) and turn up the dealer's last card, where trump is turned up."""
        laws = self.laws
        if sorted(order) != sorted(laws.pack):
            raise ValueError("a dealing order holds each card of the pack once")
        self.dealer = dealer
        self.hands: list[list[str]] = [[] for _ in range(laws.num_seats)]
        self.dead: list[str] = []
        self.under: dict[str, str] = {}  # 3.8: the card face down under each card face up, where one is left
        self._hand_out(order)
        self.turned = order[-1] if self.rules.trump == "turned" else ""  # 1.2.3
        self.trump = self.turned[1:]
        self.log: list[Play] = []
        self.actions: list[Play | Said] = []  # the log, and what was asked, bid and said
        self.trick: list[tuple[int, str]] = []
        self.best: tuple[int, str] | None = None  # the seat and card that win the trick as it lies
        self.suits_led: frozenset[str] = frozenset()  # 1.3.10
        self.suits_played: frozenset[str] = frozenset()
        self.hand_points = [0] * laws.num_teams
        self.tricks_won = [0] * laws.num_teams
        self.leader = self.first_leader()
        self.hand_over = self.void = False
        self.last_winner = -1
        self._turn_up_bonus()
        self._legal: tuple[list[str], str] | None = None
        self.begin()

    def _hand_out(self, order: Sequence[str]) -> None:
        """Each card to its hand: 1.2.2, 2.2; 3.7 and 3.8 keep some of them back."""
        rules, hands = self.rules, [*self.hands, self.dead]
        for card, hand in zip(order, self.laws.dealing(self.dealer), strict=True):
            hands[hand].append(card)
        packets = "-".join(map(str, rules.packets))
        self.visits[f"2.2 packets {packets}" if packets else "1.2.2 singly from the dealer's right"] += 1
        if rules.dead_hand:
            self.visits["3.7 a dead hand"] += 1
        if rules.piles:
            self.visits["3.8 piles of two"] += 1
            for hand in self.hands:  # the first half lies under the second, card by card
                self.under.update(zip(hand[rules.piles :], hand[: rules.piles], strict=True))
                del hand[: rules.piles]

    def _turn_up_bonus(self) -> None:
        """1.2.4: paid at once, unless it would reach the target."""
        self.visits["1.1.2 a pack dealt"] += 1
        self.score_at_deal = list(self.match_score)
        self.bonus = self.waiting_bonus = 0
        if not self.turned:
            self.visits["trump none" if self.rules.trump == "none" else "3.6 no turn-up"] += 1
            return
        self.visits["1.2.3 turned up: " + self.turned[0]] += 1
        if not self.rules.dealer_bonus:
            self.visits["1.2.4 bonus off"] += 1
            return
        side, worth = self.laws.teams[self.dealer], self.laws.points[self.turned]
        if self.match_score[side] + worth >= self.rules.target:
            self.waiting_bonus = worth
            self.visits["1.2.4 bonus waits"] += 1
        else:
            self.match_score[side] += worth
            self.bonus = worth
            self.visits["1.2.4 bonus paid" if worth else "1.2.4 no bonus: a card without points"] += 1

    def next_dealer(self) -> int:
        return (self.dealer + 1) % self.laws.num_seats  # 1.2.1

    def next_hand(self, order: Sequence[str]) -> None:
        """1.2.1: the deal passes to the right; 2.6: after a level hand it may stay."""
        if self.done or not self.hand_over:
            raise ValueError("the next hand is dealt when a hand is over and the match is not")
        again = self.level and self.rules.redeal_level
        self.visits["2.6 level, the same dealer deals again" if again else "1.2.1 the deal passes right"] += 1
        self.hand_number += 1
        self.attempt = 0
        self.score_at_hand = list(self.match_score)
        self.deal(order, self.dealer if again else self.next_dealer())

    def misdeal(self, order: Sequence[str]) -> None:
        """1.2.5: the attempt is void, its bonus is taken back, the next player deals `order`."""
        if self.log or self.done:
            raise ValueError("a misdeal is called before the first lead only")
        self.visits["1.2.5 misdeal, " + self.take_back()] += 1
        self.attempt += 1
        self.deal(order, self.next_dealer())

    def take_back(self) -> str:
        """1.2.5, 1.6.2: a void deal's bonus does not count."""
        self.match_score = list(self.score_at_deal)
        return "bonus taken back" if self.bonus else "waiting bonus dropped" if self.waiting_bonus else "no bonus"

    # ---- the seat to act -------------------------------------------------------------------------------------------

    def legal(self) -> list[str]:
        """The legal actions of the seat to act."""
        return self._legal_and_why()[0]

    def _legal_and_why(self) -> tuple[list[str], str]:
        if self._legal is None:
            self._legal = getattr(self, "legal_" + self.phase)()
        return self._legal

    def play(self, action: str) -> None:
        """`action` for the seat to act; the last card of the hand settles it (then `next_hand`).

        A deal that the players call off waits for `deal_again`.
        """
        if self.done or self.hand_over or self.void:
            raise ValueError("nobody is to act")
        actions, why = self._legal_and_why()
        if action not in actions:
            self._illegal(action)
            return
        self.visits[why] += 1
        self._legal = None
        getattr(self, "do_" + self.phase)(action, why)

    # ---- 1.3 playing to a trick ------------------------------------------------------------------------------------

    def to_lead(self) -> None:
        """1.3.1: the leader is to lead, and may speak before that where there is talk (3.5)."""
        self.seat = self.leader
        self.phase = "play"
        if self.rules.talk:
            self.begin_talk()

    def legal_play(self) -> tuple[list[str], str]:
        table = (self.trick, self.trump, self.suits_led, self.suits_played, self.best)
        return self.laws.legal(self.seat, self.hands[self.seat], *table)

    def do_play(self, card: str, why: str) -> None:
        seat, suit = self.seat, card[1]
        if why.startswith(FREE_DISCARDS):
            self._count_sevens(card)
        self.log.append(Play(seat, card, tuple(self.trick), self.suits_led, self.suits_played))
        self.actions.append(self.log[-1])
        self.hands[seat].remove(card)
        if not self.trick:
            again = suit in self.suits_led
            self.visits["1.3.10 a suit led again" if again else "1.3.10 a suit's first lead"] += 1
            if not again:
                self.suits_led |= {suit}
        if suit not in self.suits_played:
            self.suits_played |= {suit}
        if self.rules.talk:
            self.forget(seat, card)
        self.trick.append((seat, card))
        if self.best is None or self.laws.beats(card, self.best[1], self.trump):
            self.best = (seat, card)
        self.seat = (seat + 1) % self.laws.num_seats  # 1.1.1
        if len(self.trick) == self.laws.num_seats:
            self._take_trick()

    def _count_sevens(self, card: str) -> None:
        """1.3.8, for the visit counts: what the parameter did to the sevens of a hand that discards."""
        mode = f", protected={self.rules.protected}"
        discarded_only = self.suits_played - self.suits_led - {self.trump}
        for seven in self.hands[self.seat]:
            if seven[0] == self.laws.malilla and seven[1] in discarded_only:
                self.visits["1.3.8 a seven whose suit was discarded, not led" + mode] += 1
        if card[0] == self.laws.malilla and card[1] != self.trump:
            locked = self.laws.is_protected(card, self.trump, self.suits_led, self.suits_played)
            self.visits["1.3.8 a seven discarded" + (", forced" if locked else "") + mode] += 1

    def _take_trick(self) -> None:
        """1.3.9: to the highest trump, else to the highest card of the led suit; 1.3.1: the winner leads."""
        winner, best = self.laws.winning(self.trick, self.trump)
        assert (winner, best) == self.best
        side = self.laws.teams[winner]
        self._count_trick(winner, best)
        cards = sum(self.laws.points[card] for _, card in self.trick)
        self.hand_points[side] += cards + self.rules.trick_points  # 1.1.4
        self.tricks_won[side] += 1
        if self.rules.piles:
            self._turn_up_piles()
        self.trick, self.best = [], None
        self.leader = self.last_winner = winner
        if any(self.hands):
            self.to_lead()
            return
        if self.rules.last_trick_bonus:
            self.hand_points[side] += self.rules.last_trick_bonus
            self.visits["2.7 the last trick is worth more"] += 1
        self._settle()

    def _turn_up_piles(self) -> None:
        """3.8: when the trick is over, the card under each played one is turned up, if there is one."""
        for seat, card in self.trick:
            below = self.under.pop(card, "")
            self.visits["3.8 a card turned up" if below else "3.8 no card below"] += 1
            if below:
                self.hands[seat].append(below)

    def _count_trick(self, winner: int, best: str) -> None:
        led = self.trick[0][1][1]
        by = "a ruff" if best[1] != led else "the led suit, trump" if led == self.trump else "the led suit"
        self.visits["1.3.9 won by " + by] += 1
        self.visits["1.3.1 the winner leads" + (" again" if winner == self.leader else ", another seat")] += 1
        self.visits[NUMBERS[self.laws.num_seats] + " plays, each by the seat to the right"] += 1
        if best[0] == self.laws.malilla:
            self.visits["1.1.3 the top card wins"] += 1
        if self.laws.points[best]:
            self.visits["1.1.4 card points taken"] += 1

    # ---- 1.4 illegal play ------------------------------------------------------------------------------------------

    def _illegal(self, action: str) -> None:
        """1.4.1: the offender's side loses the match at once, the scores stay; or an error and nothing changes."""
        if self.rules.illegal == "raise":
            self.visits["1.4.1 illegal play refused" if self.phase == "play" else "1.4.1 illegal action refused"] += 1
            raise ValueError(f"{action} is not legal for seat {self.seat}: {' '.join(self.legal())}")
        what = "play" if self.phase == "play" else f"action ({self.phase})"
        self.visits[f"1.4.1 illegal {what} loses the match"] += 1
        offender = self.laws.teams[self.seat]
        # the others as they sit after the offender: `max` takes the first of equals
        after = [self.laws.teams[(self.seat + place) % self.laws.num_seats] for place in range(1, self.laws.num_seats)]
        self.winner = max((team for team in after if team != offender), key=lambda team: self.match_score[team])
        self.reneged = self.seat
        self.done = True

    # ---- 1.5 scoring -----------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """The hand's points, the match score, and whether the match is over."""
        rules = self.rules
        self.visits["1.5.1 a hand counted"] += 1
        self.visits["1.6.1 long game" if rules.target == 70 else "1.6.1 other targets"] += 1
        self.last_points, self.last_tricks = list(self.hand_points), list(self.tricks_won)  # 1.5.1
        change = self._change()
        self.match_score = [old + more for old, more in zip(self.match_score, change, strict=True)]
        self.winner = self._capote()
        if self.winner < 0:
            self.winner = self.past_target("by points")
        self.settle_waiting_albur()
        self._settle_waiting_bonus()
        self.last_score_change = [new - old for new, old in zip(self.match_score, self.score_at_hand, strict=True)]
        self.hand_over = True
        self.done = self.winner >= 0
        if self.done:
            self._zapato()

    def _change(self) -> list[int]:
        """1.5.2, 2.6, 3.6: what each side scores or loses by the play of the hand."""
        if self.rules.trump == "bid":
            change = self.auction_scores()
        else:
            change = [max(0, points - self.rules.neutral) for points in self.hand_points]
            self.visits["1.5.2 a side scores its excess" if any(change) else "1.5.2 level, nobody scores"] += 1
        self.level = not any(change)
        if sum(more > 0 for more in change) > 1:
            self.visits["3.7 two sides score"] += 1
        if not self.rules.loser_pays or self.level:
            return change
        self.visits["2.6 the loser pays"] += 1
        won = sum(change)  # two sides, of which one scores
        return [more or -won for more in change]

    def _capote(self) -> int:
        """1.5.5: the side that took every trick wins the match, however the score stands."""
        all_tricks = sum(self.tricks_won)
        for team, tricks in enumerate(self.tricks_won):
            if tricks != all_tricks:
                continue
            if not self.rules.capote_wins:
                self.visits["1.5.5 all tricks, capote off"] += 1
                return -1
            self.capote = True
            best = max(self.match_score)
            here = "reaching the target" if self.match_score[team] >= self.rules.target else "below the target"
            behind = ", still behind" if self.match_score[team] < best else ""
            self.visits[f"1.5.5 capote {here}{behind}"] += 1
            self.visits[f"1.5.5 capote, target {self.rules.target}"] += 1
            return team
        return -1

    def past_target(self, how: str) -> int:
        """1.5.3 and 2.8: the side at or past the target; of several, the highest alone."""
        target, score = self.rules.target, self.match_score
        leaders = [team for team, points in enumerate(score) if points == max(score)]
        if max(score) < target:
            return -1
        if sum(points >= target for points in score) > 1:
            level = len(leaders) > 1
            self.visits["2.8 several past the target, " + ("level: played on" if level else "the highest wins")] += 1
            if level:
                return -1
        self.visits[f"1.5.3 target {target} reached {how}" if how != "by the albur" else "1.6.3 target reached"] += 1
        return leaders[0]

    def _settle_waiting_bonus(self) -> None:
        """1.5.4: ignored if the match is won, else added."""
        if not self.waiting_bonus:
            return
        dealers_side = self.laws.teams[self.dealer]
        if self.winner >= 0:
            whose = "the dealer's side" if self.winner == dealers_side else "the opponents"
            how = " by capote" if self.capote else ""
            self.visits[f"1.5.4 waiting bonus ignored, {whose} won{how}"] += 1
            return
        self.match_score[dealers_side] += self.waiting_bonus
        self.visits["1.5.4 waiting bonus added"] += 1
        self.winner = self.past_target("by the bonus")

    def _zapato(self) -> None:
        """1.5.6: the target reached while every other side stands at 0, or below it (2.6)."""
        others = [score for team, score in enumerate(self.match_score) if team != self.winner]
        if any(score > 0 for score in others):
            return
        self.zapato = self.match_score[self.winner] >= self.rules.target
        self.visits[f"1.5.6 zapato, target {self.rules.target}"] += self.zapato
        how = " by capote" if self.capote else ""
        below = ", the loser below 0" if any(score < 0 for score in others) else ""
        self.visits[f"1.5.6 zapato{how}{below}" if self.zapato else "1.5.6 no zapato: capote below the target"] += 1

    # ---- what is known of a seat's cards ---------------------------------------------------------------------------

    def shown(self, seat: int) -> list[str]:
        """The cards known to lie in the seat's hand: turned up (1.2.3), said (3.5), face up (3.8)."""
        if self.rules.piles:
            return self.hands[seat]
        hand = self.hands[seat]
        return [card for card in hand if card == self.turned or (seat, card) in self.said]

    def cannot_hold(self, seat: int, asks: bool = False) -> set[str]:
        """Every card c for which no hand that holds c explains the actions of `seat`. See `holdable`.

        That it asked for a new deal tells of some long suit, not of which (1.6.2); it is weighed only if `asks`.
        """
        laws = self.laws
        if self.rules.piles:  # 3.8: the hand lies open
            return set(laws.pack) - set(self.hands[seat])
        mine = [action for action in self.actions if action.seat == seat and (asks or action[1] != "ask")]
        known = self.shown(seat)
        gone = {play.card for play in self.log}.union(*(self.shown(other) for other in range(laws.num_seats)))
        pool = [card for card in laws.pack if card not in gone]
        return set(laws.pack) - holdable(laws, self.trump, mine, pool, known, len(self.hands[seat]))
