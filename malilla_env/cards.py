"""Cards: ids, names and parsing; the only encoding of a card in the project.

Enters: card ids, bit masks of cards, or text such as ``7s Ah Td``. Leaves: the other two forms, and names to show.
A card's id is ``suit * ranks + strength``: strength 0 is the lowest card of a suit, suits stand in the order spades
(espadas), hearts (copas), diamonds (oros), clubs (bastos). Bit i of a mask is card i. The ranks come from the rule
set, which alone knows how many there are and in which order they beat each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from malilla_env.rules import RuleSet

SUITS = "shdc"
SUIT_NAMES = ("spades", "hearts", "diamonds", "clubs")
SUIT_SYMBOLS = "♠♥♦♣"
SPANISH_SUITS = ("espadas", "copas", "oros", "bastos")
SPANISH_RANKS = {"K": "rey", "Q": "caballo", "J": "sota"}


def card_name(rules: RuleSet, card: int) -> str:
    """The text of a card id: its rank, then its suit's letter (``7s``, ``Td``)."""
    if not 0 <= card < 4 * rules.ranks:
        raise ValueError(f"card id {card} is not in 0..{4 * rules.ranks - 1} of {rules.name}")
    suit, strength = divmod(int(card), rules.ranks)
    return rules.rank_names[strength] + SUITS[suit]


def parse_card(rules: RuleSet, text: str) -> int:
    """The id of one card's text; ValueError names the text and what a card looks like."""
    rank, suit = text[:-1].upper(), text[-1:].lower()
    if len(rank) != 1 or rank not in rules.rank_names or suit not in SUITS or not suit:
        ranks = " ".join(reversed(rules.rank_names))
        raise ValueError(
            f"{text!r} is not a card of {rules.name}: write a rank ({ranks}) and a suit (s h d c), like 7s"
        )
    return SUITS.index(suit) * rules.ranks + rules.rank_names.index(rank)


def parse_cards(rules: RuleSet, text: str) -> list[int]:
    """The ids of cards written with blanks between them, in the order written."""
    return [parse_card(rules, word) for word in text.split()]


def cards_in(mask: int) -> list[int]:
    """The card ids of a bit mask, lowest first."""
    bits = int(mask)
    return [card for card in range(bits.bit_length()) if bits >> card & 1]


def mask_of(cards: Iterable[int]) -> int:
    """The bit mask of card ids."""
    mask = 0
    for card in cards:
        mask |= 1 << int(card)
    return mask


def hand_text(rules: RuleSet, mask: int) -> str:
    """A hand as text, suits in id order, high cards first within each: ``7s As 3s 5h``."""
    by_suit = sorted(cards_in(mask), key=lambda card: (card // rules.ranks, -card))
    return " ".join(card_name(rules, card) for card in by_suit)


def display(rules: RuleSet, card: int) -> str:
    """A card for a person's eye: ``7♠`` of a French pack, ``7 de espadas`` of a Spanish one (RULES 1.1.2)."""
    name = card_name(rules, card)
    suit = SUITS.index(name[1])
    if rules.pack == "spanish":
        return f"{SPANISH_RANKS.get(name[0], name[0].replace('A', '1'))} de {SPANISH_SUITS[suit]}"
    return name[0].replace("T", "10") + SUIT_SYMBOLS[suit]
