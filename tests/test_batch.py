"""GameBatch's doors: which states from outside are taken, and which are refused by name; what is live and read-only."""

import numpy as np
import pytest
from family import GAMES, after, an_illegal_action, every_game

from malilla_env import GameBatch, ruleset
from malilla_env.compiled import PURE
from malilla_env.state import BID, CONSENT, NAME, OVER, PHASES, PLAY, TALK, check_state

ASKING = ruleset("malilla-zone", redeal=4)


def in_phase(rules, phase, lanes=1):
    """The states of games that have got into a phase."""
    found, seed = [], 0
    while len(found) < lanes:
        games = GameBatch(rules, 1, seed=seed)
        while not games.done[0] and games.phase[0] != phase:
            games.step(games.random_legal(games.decision_keys()))
        seed += 1
        if games.phase[0] == phase:
            found.append(games.state.copy())
        assert seed < 200, f"{PHASES[phase]} not met"
    return np.concatenate(found)


# --- states that are taken
@every_game
@pytest.mark.parametrize("episode", ["match", "hand"])
def test_every_state_of_play_is_taken(rules, episode):
    """In every phase, after misdeals and illegal actions, with games that are over among them."""
    games, rng = GameBatch(rules, 4 if PURE else 32, seed=17, episode=episode), np.random.default_rng(17)
    for ply in range(rules.longest_hand + 30):
        check_state(rules, games.state)
        actions = games.random_legal(games.decision_keys(ply))
        wild = rng.random(len(games)) < 0.005
        actions[wild] = rng.integers(0, rules.num_actions, int(wild.sum()))
        games.step(actions)
        new = ~games.done & ~games.state["played_by"].any(axis=1) & (rng.random(len(games)) < 0.05)
        games.misdeal(new)
        games.reset(where=games.done & (rng.random(len(games)) < 0.5))
    assert games.hand_number.any() or episode == "hand"


@pytest.mark.parametrize(
    "name", ["malilla", "manilla-48", "manille-encheres", "manille-3", "manille-3-dead", "manille-2"]
)
def test_a_state_of_another_deck_or_table_is_refused(name):
    games = after(GAMES[name], 20, 8)
    for other in ("malilla", "manille", "manille-3", "manille-2", "manilla-48"):
        if (GAMES[other].deck, GAMES[other].teams) != (GAMES[name].deck, GAMES[name].teams):
            with pytest.raises(ValueError, match=r"state row \d: "):
                GameBatch.from_state(GAMES[other], games.state)


# --- states that are refused
WRONG = [
    # rule set, phase, field, index into it, value, what is said
    ("malilla", PLAY, "seat", (), 4, "seat 4 must be -1 to 3"),
    ("malilla", PLAY, "seat", (), -1, "seat must be -1 when the game is done, and then only"),
    ("malilla", PLAY, "dealer", (), -1, "dealer -1 must be 0 to 3"),
    ("malilla", PLAY, "leader", (), 7, "leader 7 must be 0 to 3"),
    ("malilla", PLAY, "phase", (), 9, "phase 9 must be 0 to 6"),
    ("malilla", PLAY, "phase", (), OVER, "phase must be 0 when the game is done, and then only"),
    ("malilla", PLAY, "phase", (), TALK, "phase must be one that malilla has: over 0, play 1"),
    ("malilla", PLAY, "done", (), True, "phase must be 0 when the game is done"),
    ("malilla", PLAY, "trump", (), 4, "trump 4 must be -1 to 3"),
    ("malilla", PLAY, "trump", (), -1, "trump must be a suit once the play has begun"),
    ("malilla", PLAY, "turned_card", (), 40, "turned_card 40 must be -1 to 39"),
    ("malilla", PLAY, "num_plays", (), 64, "num_plays 64 must be 0 to 40"),
    ("malilla", PLAY, "num_plays", (), 3, "plays must be num_plays action ids, and 255 after them"),
    ("malilla", PLAY, "trick_size", (), 5, "trick_size 5 must be 0 to 4"),
    ("malilla", PLAY, "trick_size", (), 0, "trick_cards must be the last trick_size plays"),
    ("malilla", PLAY, "trick_cards", (), 0, "trick_cards must be the last trick_size plays"),
    ("malilla", PLAY, "best_seat", (), -1, "best_card and best_seat must be of the trick"),
    ("malilla", PLAY, "best_card", (), -1, "best_card and best_seat must be of the trick"),
    ("malilla", PLAY, "best_card", (), 40, "best_card 40 must be -1 to 39"),
    ("malilla", PLAY, "led_suit", (), -1, "led_suit must be that of the trick"),
    ("malilla", PLAY, "plays", 5, 99, "plays must be num_plays action ids"),
    ("malilla", PLAY, "play_seats", 5, 99, "play_seats must be num_plays seats"),
    ("malilla", PLAY, "play_seats", 40, 2, "play_seats must be num_plays seats, and -1 after them"),
    ("malilla", PLAY, "hands", 0, 0, "the hands and the play are not one deck of malilla"),
    ("malilla", PLAY, "deck", 3, 200, "deck is not one deck of malilla"),
    ("malilla", PLAY, "legal", 0, 1 << 63, "legal must be cards of the seat on turn, or actions of the phase"),
    ("malilla", PLAY, "legal", 1, 1, "legal must be cards of the seat on turn, or actions of the phase"),
    ("malilla", PLAY, "legal", 0, 0, "legal must be empty when the game is done, and then only"),
    ("malilla", PLAY, "hand_points", 0, 71, "hand_points 71 must be 0 to 70"),
    ("malilla", PLAY, "tricks_won", 1, -1, "tricks_won -1 must be 0 to 10"),
    ("malilla", PLAY, "waiting_bonus", (), 6, "waiting_bonus 6 must be 0 to 5"),
    ("malilla", PLAY, "waiting_albur", (), 1, "waiting_albur 1 must be 0 to 0"),
    ("malilla", PLAY, "winner", (), 2, "winner 2 must be -1 to 1"),
    ("malilla", PLAY, "bid", (), 71, "bid 71 must be 0 to 70"),
    ("malilla", PLAY, "attempt", (), -1, "attempt -1 must be 0 to"),
    ("malilla", PLAY, "covering", (), 1 << 50, "covering must be cards in hands or in the trick"),
    ("malilla-albur", PLAY, "albur_cards", 1, 40, "albur_cards 40 must be -1 to 39"),
    ("malilla-albur", PLAY, "waiting_albur", (), 6, "waiting_albur 6 must be 0 to 5"),
    ("manille-3", PLAY, "seat", (), 3, "seat 3 must be -1 to 2"),
    ("manille-3", PLAY, "leader", (), 3, "leader 3 must be 0 to 2"),
    ("manille-3-dead", PLAY, "face_down", (), 0, "the hands and the play are not one deck"),
    ("manille-encheres", PLAY, "bidder", (), 4, "bidder 4 must be -1 to 3"),
    ("manille-encheres", PLAY, "bidder", (), -1, "bidder and bid must be told once trump is named"),
    ("manille-encheres", NAME, "bid", (), 0, "bidder and bid must be told once trump is named"),
    ("manille-encheres", BID, "bid", (), 61, "bid 61 must be 0 to 60"),
    ("manille-encheres", NAME, "legal", 1, 1, "legal must be cards of the seat on turn, or actions of the phase"),
    ("manille-encheres", BID, "legal", 0, 1, "legal must be cards of the seat on turn, or actions of the phase"),
    ("manille-parlee", TALK, "counted", 0, 16, "counted 16 must be 0 to 15"),
    ("manille-parlee", TALK, "counts", (2, 3), 9, "counts 9 must be 0 to 8"),
    ("manille-parlee", TALK, "legal", 1, 1 << 45, "legal must be cards of the seat on turn, or actions of the phase"),
    ("manille-2", PLAY, "covering", (), 0, "hands and played_by must hold 16 cards of each seat in all"),
    ("manille-2", PLAY, "play_seats", 3, 2, "play_seats must be num_plays seats"),
]


def at(name, phase):
    """One game: in a phase besides cards, or after ten more actions, in the middle of a trick."""
    state = in_phase(GAMES[name], phase)
    games = GameBatch.from_state(GAMES[name], state)
    while phase == PLAY and (games.state["played_by"].any(axis=1) & (games.trick_size > 0)).sum() == 0:
        games.step(games.random_legal(games.decision_keys()))
    for _ in range(8 * GAMES[name].num_seats if phase == PLAY else 0):
        if games.num_plays[0] < 6 or games.trick_size[0] == 0:
            games.step(games.random_legal(games.decision_keys()))
    return games.state.copy()


@pytest.mark.parametrize(("name", "phase", "field", "index", "value", "said"), WRONG)
def test_a_wrong_field_is_refused_by_name(name, phase, field, index, value, said):
    """Alone, and as the second of two rows."""
    right = at(name, phase)
    wrong = right.copy()
    wrong[field][(0, *(index if isinstance(index, tuple) else (index,)))] = value
    assert wrong.tobytes() != right.tobytes()
    for state, row in ((wrong, 0), (np.concatenate([right, wrong]), 1)):
        with pytest.raises(ValueError, match=f"state row {row}: {said}"):
            GameBatch.from_state(GAMES[name], state)


def test_cards_that_change_places_are_refused():
    state = at("malilla", PLAY)
    giver, taker = np.argsort(np.bitwise_count(state["hands"][0]))[[0, -1]]
    lowest = state["hands"][0, giver] & (~state["hands"][0, giver] + np.uint64(1))
    state["hands"][0, giver] ^= lowest
    state["hands"][0, taker] |= lowest
    state["legal"][0, 0] = state["hands"][0, state["seat"][0]]
    with pytest.raises(ValueError, match="hands and played_by must hold 10 cards of each seat in all"):
        GameBatch.from_state(GAMES["malilla"], state)


def test_plays_that_do_not_agree_with_the_cards_are_refused():
    state = at("malilla", PLAY)
    state["plays"][0, [0, 1]] = state["plays"][0, [1, 0]]
    with pytest.raises(ValueError, match="played_by must be the cards of plays"):
        GameBatch.from_state(GAMES["malilla"], state)


def test_piles_that_the_deck_does_not_make_are_refused():
    """3.8: the card under another is looked up in the deck."""
    state = at("manille-2", PLAY)
    rules = GAMES["manille-2"]
    order = state["deck"][0, :32].copy()
    state["deck"][0, :32] = np.sort(order)
    with pytest.raises(ValueError, match="face_down must be the cards that deck puts under those of covering"):
        GameBatch.from_state(rules, state)


@pytest.mark.parametrize(
    "rules", [ASKING, GAMES["manille-encheres"], GAMES["manille-parlee"]], ids=lambda rules: rules.name
)
def test_more_said_than_can_be_is_refused(rules):
    """So that the record of a hand has room for what is still to come."""
    games = GameBatch(rules, 1, seed=3)
    state = games.state.copy()
    most = rules.longest_hand - rules.num_seats * rules.num_tricks
    state["num_plays"], state["plays"][0, :most], state["play_seats"][0, :most] = most, 4 * rules.ranks, 0
    with pytest.raises(ValueError, match="plays has more actions besides cards than can be yet"):
        GameBatch.from_state(rules, state)


def test_what_waits_must_have_a_winner():
    rules = GAMES["malilla-albur"]
    state = GameBatch(rules, 1, episode="hand").state.copy()
    state["waiting_albur"] = 5
    with pytest.raises(ValueError, match="albur_seat must be told while its points wait"):
        GameBatch.from_state(rules, state)


def test_no_row_that_is_taken_breaks_the_engine():
    """Bytes changed at random: such a state is refused, or plays on to its end within the tables."""
    rng, refused, taken = np.random.default_rng(18), 0, 0
    for name in ("malilla", "manille-encheres", "manille-parlee", "manille-2", "manille-3-dead"):
        rules = GAMES[name]
        right = after(rules, 15, 1, seed=18).state
        for _ in range(30 if PURE else 400):
            wrong = right.copy()
            raw = wrong.view(np.uint8)
            raw[rng.integers(0, len(raw))] = rng.integers(0, 256)
            try:
                games = GameBatch.from_state(rules, wrong)
            except ValueError:
                refused += 1
                continue
            taken += 1
            for _ in range(rules.longest_hand):
                games.step(games.random_legal(games.decision_keys()))
                assert np.abs(games.observe()).max() <= 1
                assert games.num_plays[0] <= rules.longest_hand
    assert min(refused, taken) > (10 if PURE else 200)


@pytest.mark.parametrize("state", [None, [], np.zeros(3), np.zeros((1, 1), "u1")])
def test_what_is_no_state_is_refused(state):
    with pytest.raises(ValueError, match=r"state must be a 1-D array of GameBatch\.state's dtype"):
        GameBatch.from_state(ruleset(), state)


# --- what is seen from outside
@every_game
def test_arrays_are_live_read_only_and_cut_to_the_table(rules):
    games = GameBatch(rules, 3, seed=19)
    assert games.hands.shape == (3, rules.num_seats)
    for name in ("match_score", "hand_points", "tricks_won", "last_points", "last_tricks", "last_score_change"):
        assert getattr(games, name).shape == (3, rules.num_teams)
    phase = games.phase
    games.step([an_illegal_action(games, lane) for lane in range(3)])
    assert (phase == OVER).all()
    with pytest.raises(ValueError, match="read-only"):
        phase[0] = PLAY
    assert not games.legal_actions().any()


def test_consent_is_met():
    """The phases that `in_phase` finds are those of the rules: the partner of the seat that asked is on turn."""
    state = in_phase(ASKING, CONSENT, 3)
    for row in state:
        assert row["asked"] >> (row["seat"] + 2) % 4 & 1
        check_state(ASKING, state)
