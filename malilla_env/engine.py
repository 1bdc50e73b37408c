"""The rules: what a play does to one game, written once.

Enters: one row of STATE and the rule set's TABLE record. Leaves: the row, changed in place. Scalar functions over one
row, compiled with Numba and looped over the array by `batch.py`; nothing here knows of batches, players or names of
games. The number at each function is its paragraph in docs/RULES.md.
"""

from __future__ import annotations

import numpy as np

from malilla_env.compiled import Bool, Int, Row, Word, inline, jit, mix, popcount, select
from malilla_env.deals import cut, shuffle
from malilla_env.rules import MAX_CARDS, MAX_SEATS

MAX_PLAYS = 64  # actions of one hand, cards and others
NONE = -1
NO_CARD = 255  # padding of the card lists

OVER, PLAY = 0, 1  # phases
OPTIONAL, FORBIDDEN, FORCED = 0, 1, 2  # undertrump (1.3.6)
PROTECTED_OFF, PROTECTED_LED, PROTECTED_PLAYED = 0, 1, 2  # 1.3.8

ZERO, ONE = np.uint64(0), np.uint64(1)

STATE = np.dtype(
    [
        # what a decision touches
        ("hands", "u8", MAX_SEATS),
        ("legal", "u8", 2),  # of the seat to act: cards; other actions
        ("excluded", "u8", MAX_SEATS),  # cards that a seat cannot hold, from its own plays and the turned-up card
        ("played_by", "u8", MAX_SEATS),
        ("trick_cards", "u8"),
        ("beating", "u8"),  # the cards that would win the current trick as it lies; any card, before a lead
        ("locked", "u8"),  # the malillas that may not be discarded yet (1.3.8)
        ("phase", "i1"),
        ("seat", "i1"),
        ("leader", "i1"),
        ("dealer", "i1"),
        ("trump", "i1"),
        ("turned_card", "i1"),
        ("trick_size", "u1"),
        ("best_card", "i1"),  # that wins the current trick so far
        ("best_seat", "i1"),
        ("led_suit", "i1"),
        ("num_plays", "u1"),
        ("suits_led", "u1"),  # bit per suit (1.3.10)
        ("suits_played", "u1"),
        ("waiting_bonus", "i1"),
        ("paid_bonus", "i1"),
        ("done", "?"),
        ("hand_over", "?"),
        ("zapato", "?"),
        ("capote", "?"),
        ("winner", "i1"),
        ("reneged", "i1"),
        ("one_hand", "?"),  # the episode is a hand, not a match
        ("trick_value", "i2"),  # card points lying in the current trick
        ("hand_points", "i2", MAX_SEATS),  # these six by team
        ("tricks_won", "i2", MAX_SEATS),
        ("match_score", "i2", MAX_SEATS),
        ("last_points", "i2", MAX_SEATS),
        ("last_tricks", "i2", MAX_SEATS),
        ("last_score_change", "i2", MAX_SEATS),
        ("plays", "u1", MAX_PLAYS),  # action ids in order
        ("play_seats", "i1", MAX_PLAYS),
        # where the deals come from
        ("deck", "u1", MAX_CARDS),  # dealing order of this hand
        ("hand_number", "i4"),
        ("attempt", "i4"),  # deals of this hand that were void
        ("episode", "i8"),
        ("stream", "i8"),
        ("stream_key", "u8"),
        ("hand_key", "u8"),
    ],
    align=True,
)


# --- bits
@inline
def bit(card: Int) -> Word:
    return ONE << np.uint64(card)


# --- 1.2 dealing and trump
@jit
def start_episode(row: Row, rules: Row) -> None:
    """Clear the match; the hand is dealt afterwards."""
    row["hand_number"] = row["attempt"] = 0
    row["done"] = row["hand_over"] = row["zapato"] = row["capote"] = False
    row["winner"] = row["reneged"] = NONE
    for team in range(MAX_SEATS):
        row["last_points"][team] = row["last_tricks"][team] = row["last_score_change"][team] = 0


@jit
def set_hand_key(row: Row) -> None:
    key = mix(mix(row["stream_key"], np.uint64(row["episode"])), np.uint64(row["hand_number"]))
    row["hand_key"] = mix(key, np.uint64(row["attempt"]))


@jit
def shuffle_deck(row: Row, rules: Row) -> None:
    for place in range(rules["num_cards"]):
        row["deck"][place] = rules["deck"][place]
    shuffle(row["hand_key"], row["deck"], rules["num_cards"])


@jit
def first_dealer(row: Row, rules: Row) -> Int:
    """1.2.1: by cut, uniform under the seed."""
    return cut(row["hand_key"], rules["num_seats"])


@inline
def next_seat(seat: Int, rules: Row) -> Int:
    """1.1.1: play goes to the right."""
    return seat + 1 if seat + 1 < rules["num_seats"] else 0


@inline
def dealt(row: Row, rules: Row, place: Int) -> Word:
    """1.2.2: what one seat gets of the deck: the card in a place, and so on singly, as often as there are seats."""
    hand = ZERO
    for at in range(place, rules["num_cards"], rules["num_seats"]):
        hand |= bit(row["deck"][at])
    return hand


@jit
def deal_hand(row: Row, rules: Row) -> None:
    """1.2.2: the deck goes to the seats from the dealer's right, the last card to the dealer."""
    for seat in range(MAX_SEATS):
        row["hands"][seat] = row["excluded"][seat] = row["played_by"][seat] = ZERO
        row["hand_points"][seat] = row["tricks_won"][seat] = 0
    for play in range(MAX_PLAYS):
        row["plays"][play], row["play_seats"][play] = NO_CARD, NONE
    to = row["dealer"]
    for place in range(rules["num_seats"]):
        to = next_seat(to, rules)
        row["hands"][to] = dealt(row, rules, place)
    row["num_plays"] = row["suits_led"] = row["suits_played"] = 0
    turn_up(row, rules)
    row["phase"] = PLAY
    show_last_card(row, rules, row["dealer"])
    lead(row, rules, next_seat(row["dealer"], rules))  # 1.3.1


@jit
def turn_up(row: Row, rules: Row) -> None:
    """1.2.3: the dealer's last card is turned, its suit is trump; everybody knows who holds it."""
    card = row["deck"][rules["num_cards"] - 1]
    row["turned_card"], row["trump"] = card, rules["suit"][card]
    for seat in range(rules["num_seats"]):
        if seat != row["dealer"]:
            row["excluded"][seat] = bit(card)
    locked = rules["tops"] & ~rules["suit_mask"][row["trump"]]
    row["locked"] = locked if rules["protected"] != PROTECTED_OFF else ZERO
    pay_dealer_bonus(row, rules, rules["points"][card] if rules["dealer_bonus"] else 0)


@jit
def pay_dealer_bonus(row: Row, rules: Row, bonus: Int) -> None:
    """1.2.4: at once, unless it would reach the target: then it waits."""
    team = rules["team"][row["dealer"]]
    row["paid_bonus"] = row["waiting_bonus"] = 0
    if row["match_score"][team] + bonus >= rules["target"]:
        row["waiting_bonus"] = bonus
    else:
        row["paid_bonus"] = bonus
        row["match_score"][team] += bonus


@jit
def deal_next(row: Row, rules: Row) -> None:
    """1.2.1: the deal passes to the right."""
    row["dealer"] = next_seat(row["dealer"], rules)
    set_hand_key(row)
    shuffle_deck(row, rules)
    deal_hand(row, rules)


@jit
def misdeal(row: Row, rules: Row) -> None:
    """1.2.5: no points, a bonus already paid is taken back, the next player deals."""
    row["match_score"][rules["team"][row["dealer"]]] -= row["paid_bonus"]
    row["attempt"] += 1
    row["hand_over"] = False
    deal_next(row, rules)


# --- 1.3 playing to a trick
@inline
def lead(row: Row, rules: Row, seat: Int) -> None:
    """1.3.1: the seat leads, any card."""
    row["seat"] = row["leader"] = seat
    row["trick_size"] = row["trick_value"] = 0
    row["best_card"] = row["best_seat"] = row["led_suit"] = NONE
    row["trick_cards"], row["beating"] = ZERO, rules["deck_mask"]
    row["legal"][0] = row["hands"][seat]
    row["legal"][1] = ZERO


@inline
def must_contest(row: Row, rules: Row, seat: Int) -> Word:
    """1.3.7: all cards if the duties to beat and trump hold, since an opponent is winning or partners count; else 0."""
    return rules["contests"][seat, np.uint8(row["best_seat"])]


@inline
def ordered(row: Row, rules: Row, seat: Int) -> Word:
    """1.3.3-1.3.5: the cards of which a seat must play one if it can: of the led suit if it has that, else trumps."""
    return row["beating"] & must_contest(row, rules, seat)


@inline
def beating(rules: Row, trump: Int, card: Int) -> Word:
    """1.3.9: the cards that win over a card: the higher ones of its suit, and every trump over a plain one."""
    higher, trumps = rules["above"][card], rules["suit_mask"][trump]
    return higher if bit(card) & trumps != ZERO else higher | trumps


@inline
def unlock(row: Row, rules: Row, suit: Int, leads: Bool) -> None:
    """1.3.8, 1.3.10: a suit has been led, or played at all."""
    mark = np.uint8(1) << suit
    row["suits_played"] |= mark
    if leads:
        row["suits_led"] |= mark
    if leads or rules["protected"] == PROTECTED_PLAYED:
        row["locked"] &= ~rules["suit_mask"][suit]


@inline
def legal_cards(row: Row, rules: Row, hand: Word, seat: Int) -> Word:
    """1.3.2-1.3.8: the cards of a hand that a seat may add to the trick.

    All answers are made before one is chosen: a branch that depends on the cards is often mispredicted, and costs more.
    """
    void = discards(row, hand) if rules["undertrump"] == OPTIONAL else cannot_overtrump(row, rules, hand, seat)
    follow = hand & rules["suit_mask"][np.uint8(row["led_suit"])]
    may = follow if follow != ZERO else hand  # 1.3.4: on a plain trick that is trumped, none of `follow` is ordered
    orders = may & ordered(row, rules, seat)
    if orders != ZERO:  # 1.3.3, 1.3.5
        return orders
    return follow if follow != ZERO else void  # 1.3.2


@inline
def trumped(row: Row, rules: Row, seat: Int) -> Bool:
    """1.3.6: whether a seat must contest a trick that a trump is winning."""
    return must_contest(row, rules, seat) & bit(row["best_card"]) & rules["suit_mask"][row["trump"]] != ZERO


@inline
def cannot_overtrump(row: Row, rules: Row, hand: Word, seat: Int) -> Word:
    """1.3.6: what a hand void in the led suit may play when all its trumps are too low."""
    trumps = hand & rules["suit_mask"][row["trump"]]
    if trumps == ZERO or not trumped(row, rules, seat):
        return discards(row, hand)
    if rules["undertrump"] == FORCED:
        return trumps
    free = hand & ~trumps & ~row["locked"]
    return free if free != ZERO else trumps


@inline
def discards(row: Row, hand: Word) -> Word:
    """1.3.8: anything but a locked malilla, unless the whole hand is such."""
    free = hand & ~row["locked"]
    return free if free != ZERO else hand


@inline
def ruled_out(row: Row, rules: Row, seat: Int, card: Int) -> Word:
    """The cards that a seat cannot have held when it legally played `card` to the trick (1.3.2-1.3.8).

    Each duty has the form "with any of these cards in hand, that card was not legal", so the answer is exact.
    """
    played, led = bit(card), rules["suit_mask"][np.uint8(row["led_suit"])]
    if played & row["locked"] != ZERO:  # a forced malilla: the whole hand was such
        return rules["deck_mask"] & ~row["locked"]
    orders = ordered(row, rules, seat)
    missed = ZERO if played & orders != ZERO else orders
    under = ZERO if rules["undertrump"] == OPTIONAL else failed_to_overtrump(row, rules, seat, card)
    return missed & led if played & led != ZERO else missed | led | under


@inline
def failed_to_overtrump(row: Row, rules: Row, seat: Int, card: Int) -> Word:
    """1.3.6: what else a card played under a winning trump, by a void hand, rules out."""
    trumps = rules["suit_mask"][row["trump"]]
    if not trumped(row, rules, seat) or bit(card) & row["beating"] != ZERO:
        return ZERO
    under = bit(card) & trumps != ZERO
    if rules["undertrump"] == FORCED and not under:
        return trumps
    if rules["undertrump"] == FORBIDDEN and under:  # nothing else was free
        return rules["deck_mask"] & ~trumps & ~row["locked"]
    return ZERO


@inline
def play_card(row: Row, rules: Row, card: Int) -> None:
    """A legal card goes from the hand of the seat to act into the trick."""
    seat, suit = np.uint8(row["seat"]), rules["suit"][card]
    leads = row["trick_size"] == 0
    if leads:
        row["led_suit"] = suit
    else:
        row["excluded"][seat] |= ruled_out(row, rules, seat, card)
    take_trick(row, rules, seat, card)
    unlock(row, rules, suit, leads)
    keep_record(row, seat, card)
    hand = row["hands"][seat] & ~bit(card)
    row["hands"][seat] = hand
    row["played_by"][seat] |= bit(card)
    row["trick_cards"] |= bit(card)
    if popcount(hand) <= 1:
        show_last_card(row, rules, seat)
    row["trick_value"] += rules["points"][card]
    size = row["trick_size"] + 1
    row["trick_size"] = size
    if size == rules["num_seats"]:
        end_trick(row, rules)
    else:
        to = next_seat(seat, rules)
        row["seat"] = to
        row["legal"][0] = legal_cards(row, rules, row["hands"][to], to)


@inline
def take_trick(row: Row, rules: Row, seat: Int, card: Int) -> None:
    """1.3.9: the card wins the trick so far, or it does not; again nothing branches on the cards."""
    best_card, best_seat, now = row["best_card"], row["best_seat"], row["beating"]
    then = beating(rules, row["trump"], card)
    wins = bit(card) & now != ZERO
    row["best_card"] = np.int8(card) if wins else best_card
    row["best_seat"] = np.int8(seat) if wins else best_seat
    row["beating"] = then if wins else now


@inline
def keep_record(row: Row, seat: Int, action: Int) -> None:
    play = row["num_plays"]
    row["plays"][play] = action
    row["play_seats"][play] = seat
    row["num_plays"] = play + 1


@inline
def show_last_card(row: Row, rules: Row, seat: Int) -> None:
    """A seat whose last card is played holds none; 1.2.3: a dealer whose last card is the turned-up one, no other."""
    hand = row["hands"][seat]
    if hand == ZERO:
        row["excluded"][seat] = rules["deck_mask"]
    elif seat == row["dealer"] and hand == bit(row["turned_card"]):
        row["excluded"][seat] |= rules["deck_mask"] & ~hand


@inline
def end_trick(row: Row, rules: Row) -> None:
    """1.3.9, 1.1.4: the trick goes to the winner's side, and the winner leads."""
    winner = np.uint8(row["best_seat"])
    team = rules["team"][winner]
    row["hand_points"][team] += row["trick_value"] + rules["trick_points"]
    row["tricks_won"][team] += 1
    if row["hands"][winner] == ZERO:
        end_hand(row, rules)
    else:
        lead(row, rules, winner)


# --- 1.5 scoring
@jit
def end_hand(row: Row, rules: Row) -> None:
    """1.5.1: settle the hand; then the match is over, or the next hand is dealt."""
    row["hand_over"] = True
    for team in range(rules["num_teams"]):
        row["last_points"][team] = row["hand_points"][team]
        row["last_tricks"][team] = row["tricks_won"][team]
        row["last_score_change"][team] = 0
    row["last_score_change"][rules["team"][row["dealer"]]] = row["paid_bonus"]
    for team in range(rules["num_teams"]):
        add_score(row, team, max(0, row["hand_points"][team] - rules["neutral"]))  # 1.5.2
    winner = match_winner(row, rules)
    if winner == NONE and row["waiting_bonus"] > 0:  # 1.5.4
        add_score(row, rules["team"][row["dealer"]], row["waiting_bonus"])
        winner = match_winner(row, rules)
    end_or_go_on(row, rules, winner)


@jit
def add_score(row: Row, team: Int, points: Int) -> None:
    row["match_score"][team] += points
    row["last_score_change"][team] += points


@jit
def match_winner(row: Row, rules: Row) -> Int:
    """1.5.3, 1.5.5: the side that took all tricks, else the highest at or past the target; NONE when level or none."""
    winner, best = NONE, np.int64(rules["target"]) - 1
    for team in range(rules["num_teams"]):
        if rules["capote_wins"] and row["tricks_won"][team] == rules["hand_size"]:
            row["capote"] = True
            return team
        score = np.int64(row["match_score"][team])
        if score > best:
            winner, best = team, score
        elif score == best and winner != NONE:
            winner = NONE
    return winner


@jit
def end_or_go_on(row: Row, rules: Row, winner: Int) -> None:
    row["waiting_bonus"] = row["paid_bonus"] = 0
    if winner == NONE and not row["one_hand"]:
        row["hand_number"] += 1
        row["attempt"] = 0
        deal_next(row, rules)
        return
    if winner != NONE:
        row["zapato"] = is_zapato(row, rules, winner)
    finish(row, best_of_hand(row, rules) if row["one_hand"] else winner)


@jit
def is_zapato(row: Row, rules: Row, winner: Int) -> Bool:
    """1.5.6: the target reached while every other side stands at 0."""
    for team in range(rules["num_teams"]):
        if team != winner and row["match_score"][team] != 0:
            return False
    return row["match_score"][winner] >= rules["target"]


@jit
def best_of_hand(row: Row, rules: Row) -> Int:
    """The side with the most points of the hand, NONE when level: the winner of an episode of one hand."""
    winner, best = NONE, np.int64(-1)
    for team in range(rules["num_teams"]):
        points = np.int64(row["hand_points"][team])
        if points > best:
            winner, best = team, points
        elif points == best:
            winner = NONE
    return winner


@jit
def finish(row: Row, winner: Int) -> None:
    row["done"] = True
    row["winner"] = winner
    row["phase"] = OVER
    row["seat"] = NONE
    row["legal"][0] = row["legal"][1] = ZERO


# --- 1.4 illegal play
@inline
def is_legal(row: Row, rules: Row, action: Int) -> Bool:
    """Whether the seat to act may take an action id in range: cards first, then the others."""
    others = action - 4 * np.int64(rules["ranks"])
    word = row["legal"][0] >> np.uint64(action) if others < 0 else row["legal"][1] >> np.uint64(others)
    return word & ONE != ZERO


@jit
def renege(row: Row, rules: Row) -> None:
    """1.4.1: the offender's side loses the match; of several other sides the highest score wins it."""
    offender = rules["team"][row["seat"]]
    winner = NONE
    for team in range(rules["num_teams"]):
        if team != offender and (winner == NONE or row["match_score"][team] > row["match_score"][winner]):
            winner = team
    row["reneged"] = row["seat"]
    finish(row, winner)


@inline
def step(row: Row, rules: Row, action: Int) -> None:
    """One action of the seat to act; a game that is over ignores it."""
    row["hand_over"] = False
    if row["done"]:
        return
    if is_legal(row, rules, action):
        play_card(row, rules, np.uint8(action))
    else:
        renege(row, rules)


# --- choosing
@inline
def num_legal(row: Row) -> Int:
    return popcount(row["legal"][0]) + popcount(row["legal"][1])


@inline
def nth_legal(row: Row, rules: Row, n: Int) -> Int:
    """The n-th legal action id, cards first."""
    cards = popcount(row["legal"][0])
    if n < cards:
        return select(row["legal"][0], n)
    return 4 * np.int64(rules["ranks"]) + select(row["legal"][1], n - cards)
