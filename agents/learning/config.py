"""The training configuration: a TOML file as a checked value.

Enters: a path, or a dict as a checkpoint holds it. Leaves: a frozen Config. Budgets and schedules count decisions,
never seconds, so that a run can be repeated. Every field is explained where it is declared; docs/TRAINING.md tells how
they work together.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from malilla_env import RuleSet, ruleset

PRECISIONS = ("auto", "float32", "bfloat16")


@dataclass(frozen=True, kw_only=True)
class Game:
    ruleset: str = "malilla"
    overrides: dict[str, Any] = field(default_factory=dict)  # rule set fields to replace


@dataclass(frozen=True, kw_only=True)
class Network:
    policy: tuple[int, ...] = (256, 256, 256)  # widths of the policy's hidden layers
    critic: tuple[int, ...] = (256, 256)  # widths of the critic's hidden layers
    belief: tuple[int, ...] = (128,)  # widths of the belief head's own hidden layers, if there is such a head


@dataclass(frozen=True, kw_only=True)
class Ppo:
    lanes: int = 512  # hands played side by side for each update
    epochs: int = 2  # passes over the decisions of an update
    minibatch: int = 2048  # decisions a gradient step
    learning_rate: float = 1e-3  # of Adam, which moves biases and last layers, at the start
    final_learning_rate: float = 1e-5  # at the end of the budget, by equal ratios between
    muon: float = 5.0  # the step of Muon, which moves the other weights, in learning rates
    clip: float = 0.2  # of the probability ratio
    policy_lambda: float = 0.9  # of the advantages: 1, the hand's result less the critic's value; 0, one step ahead
    critic_lambda: float = 1.0  # of the critic's targets: 1, the hand's result, which owes nothing to the critic
    entropy: float = 0.02  # weight of the entropy bonus at the start
    final_entropy: float = 0.001  # at the end of the budget, linear between
    max_gradient: float = 1.0  # the gradient's norm is cut to this, for each network
    workers: int = 1  # threads that play hands, each its block of lanes: more than 1 where a GPU waits for the games
    precision: str = "auto"  # of the networks: float32, bfloat16, or auto, which is bfloat16 on CUDA alone
    compile: bool = False  # torch.compile the networks: pays on a GPU


@dataclass(frozen=True, kw_only=True)
class Imitation:
    player: str = "heuristic"  # as evaluate.py names it
    decisions: int = 0  # of the budget's beginning in which that player plays and the networks learn from it
    muon: float = 20.0  # in place of ppo.muon: a lesson has less noise than a game
    temperature: float = 1.0  # points: of what it thinks each card worth, when its moves are drawn and shown


@dataclass(frozen=True, kw_only=True)
class Match:
    player: str = ""  # whose hands say what a score is worth, as evaluate.py names it; none: points are played for
    points: float = 100.0  # that a match counts


@dataclass(frozen=True, kw_only=True)
class League:
    share: float = 0.0  # of the lanes, in which a snapshot of the policy plays too; 0: no league
    partner: float = 0.0  # of those lanes, in which the snapshot is the learner's partner, not the other side
    every: int = 50  # updates between snapshots
    size: int = 20  # snapshots kept: the first, the newest, and others spread between them


@dataclass(frozen=True, kw_only=True)
class Belief:
    weight: float = 0.0  # of the belief head's loss (where each unseen card lies); 0: there is no such head
    shared: bool = True  # that loss moves the policy's hidden layers too; false: the head only reads them


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    every: int = 25  # updates between evaluations; 0: none
    pairs: int = 500  # duplicate pairs of each
    seed: int = 100  # 1 to 9 are for reports
    opponents: tuple[str, ...] = ("heuristic",)


@dataclass(frozen=True, kw_only=True)
class Config:
    seed: int = 10
    decisions: int = 1_000_000  # the budget: forced moves included, rounded up to whole updates
    checkpoint_every: int = 25  # updates between checkpoints
    threads: int = 2  # of torch on the CPU, shared by a machine's processes; sums depend on it, so it is of the config
    device: str = "auto"  # auto: CUDA where there is one, else the CPU
    game: Game = field(default_factory=Game)
    network: Network = field(default_factory=Network)
    ppo: Ppo = field(default_factory=Ppo)
    imitation: Imitation = field(default_factory=Imitation)
    match: Match = field(default_factory=Match)
    league: League = field(default_factory=League)
    belief: Belief = field(default_factory=Belief)
    evaluation: Evaluation = field(default_factory=Evaluation)

    def rules(self) -> RuleSet:
        return ruleset(self.game.ruleset, **self.game.overrides)

    def to_dict(self) -> dict[str, Any]:
        """The config as JSON holds it."""
        return asdict(self)


def load_config(path: Path) -> Config:
    """The config of a TOML file; ValueError names the file and the wrong table, key or value.

    A file may begin with ``extends = "other.toml"``, its path seen from the file: it then changes that config.
    """
    values = _read(path, ())
    try:
        return config_from(values)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _read(path: Path, below: tuple[Path, ...]) -> dict[str, Any]:
    """The values of a file and of those that it extends; `below` are the files that extend this one."""
    if path.resolve() in below:
        raise ValueError(f"{path} extends itself")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"cannot read the config {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from error
    base = values.pop("extends", None)
    if base is None:
        return values
    if not isinstance(base, str):
        raise ValueError(f"{path}: extends must be the path of a config, not {base!r}")
    return _merged(_read(path.parent / base, (*below, path.resolve())), values)


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """A table with some of its values changed, table by table."""
    both = {key: _merged(base[key], value) for key, value in changes.items() if _tables(base.get(key), value)}
    return {**base, **changes, **both}


def _tables(*values: Any) -> bool:
    return all(isinstance(value, dict) for value in values)


def config_from(values: dict[str, Any]) -> Config:
    """The config of nested dicts, defaults for missing keys; ValueError names an unknown key or a wrong value."""
    config = _build(Config, values, "")
    check(config)
    return config


def _build(kind: type[Any], values: Any, where: str) -> Any:
    if not isinstance(values, dict):
        raise ValueError(f"{where.rstrip('.')} must be a table, not {values!r}")
    declared = {entry.name: entry for entry in fields(kind)}
    for key in values:
        if key not in declared:
            raise ValueError(f"unknown key {where}{key}: choose among {', '.join(declared)}")
    return kind(**{key: _value(kind, key, value, where) for key, value in values.items()})


def _value(kind: type[Any], key: str, value: Any, where: str) -> Any:
    """One value in the type of its default, or ValueError."""
    default = getattr(kind(), key)
    if hasattr(default, "__dataclass_fields__"):
        return _build(type(default), value, f"{where}{key}.")
    if isinstance(default, float) and type(value) in (int, float):
        return float(value)
    if isinstance(default, tuple) and isinstance(value, list | tuple):
        if all(type(item) is type(default[0]) for item in value):
            return tuple(value)
    elif type(value) is type(default):
        return value
    raise ValueError(f"{where}{key} must be {type(default).__name__} like {default!r}, not {value!r}")


def check(config: Config) -> None:
    """ValueError unless the values make sense together."""
    ppo, imitation = config.ppo, config.imitation.decisions
    warmth, muons = config.imitation.temperature, (ppo.muon, config.imitation.muon)
    counts = (ppo.lanes, ppo.epochs, ppo.minibatch, ppo.workers)
    narrowest = min((*config.network.policy, *config.network.critic), default=0)
    rules = [
        (config.decisions >= 1, f"decisions {config.decisions} must be 1 or more"),
        (config.checkpoint_every >= 1, f"checkpoint_every {config.checkpoint_every} must be 1 or more"),
        (config.threads >= 1, f"threads {config.threads} must be 1 or more"),
        (0 <= config.seed < 1 << 63, f"seed {config.seed} must be 0 to 2**63 - 1"),
        (imitation >= 0, f"imitation.decisions {imitation} must be 0 or more"),
        *((0 < muon <= 1000, f"muon {muon} must be above 0 and at most 1000") for muon in muons),
        (0.01 <= warmth <= 100, f"imitation.temperature {warmth} must be 0.01 to 100 points"),
        (min(counts) >= 1, "ppo.lanes, ppo.epochs, ppo.minibatch and ppo.workers must be 1 or more"),
        (narrowest >= 4, "network.policy and network.critic must hold widths of 4 or more: units for every suit"),
        (1 <= config.match.points <= 10_000, f"match.points {config.match.points} must be 1 to 10000"),
        (re.fullmatch(r"auto|cpu|cuda(:\d+)?", config.device), f"device {config.device!r} must be auto, cpu or cuda"),
        *_ppo_rules(ppo),
        *_league_rules(config.league, ppo.lanes),
        *_belief_rules(config),
        *_evaluation_rules(config.evaluation),
    ]
    for holds, sentence in rules:
        if not holds:
            raise ValueError(sentence)
    game = config.rules()
    if config.league.partner and game.num_teams == game.num_seats:
        raise ValueError(f"league.partner {config.league.partner} must be 0: in {game.name} nobody has a partner")


def _evaluation_rules(evaluation: Evaluation) -> list[tuple[bool, str]]:
    """What must hold of the evaluations' numbers, and the sentence that says so."""
    return [
        (evaluation.pairs >= 2, f"evaluation.pairs {evaluation.pairs} must be 2 or more"),
        (evaluation.every >= 0, f"evaluation.every {evaluation.every} must be 0 or more"),
        (0 <= evaluation.seed < 1 << 63, f"evaluation.seed {evaluation.seed} must be 0 to 2**63 - 1"),
    ]


def _belief_rules(config: Config) -> list[tuple[bool, str]]:
    """What must hold of the belief head; ValueError for a rule set that is none."""
    rules, weight = config.rules(), config.belief.weight
    return [
        (0 <= weight <= 100, f"belief.weight {weight} must be 0 to 100"),
        (min(config.network.belief, default=4) >= 4, "network.belief must hold widths of 4 or more, or none"),
        (weight == 0 or len(config.network.policy) > 0, "belief.weight needs network.policy to have a hidden layer"),
        (weight == 0 or not rules.piles, f"belief.weight must be 0 in {rules.name}: its hands lie open"),
    ]


def _ppo_rules(ppo: Ppo) -> list[tuple[bool, str]]:
    """What must hold of the learner's numbers, and the sentence that says so; nan and infinity fail too."""
    return [
        (0 < ppo.final_learning_rate <= ppo.learning_rate < 1, "ppo: 0 < final_learning_rate <= learning_rate < 1"),
        (0 < ppo.clip < 1, f"ppo.clip {ppo.clip} must lie between 0 and 1: 0 < clip < 1"),
        (0 <= ppo.policy_lambda <= 1, f"ppo.policy_lambda {ppo.policy_lambda} must be 0 to 1"),
        (0 <= ppo.critic_lambda <= 1, f"ppo.critic_lambda {ppo.critic_lambda} must be 0 to 1"),
        (0 <= ppo.final_entropy <= ppo.entropy < 10, "ppo: 0 <= final_entropy <= entropy < 10 must hold"),
        (ppo.precision in PRECISIONS, f"ppo.precision {ppo.precision!r} must be one of {', '.join(PRECISIONS)}"),
        (0 < ppo.max_gradient < 1e6, f"ppo.max_gradient {ppo.max_gradient} must be above 0 and below a million"),
    ]


def _league_rules(league: League, lanes: int) -> list[tuple[bool, str]]:
    """What must hold of the league's numbers, and the sentence that says so; nan fails too."""
    fits = 0 <= league.share <= 1
    some = not (fits and league.share) or round(league.share * lanes) >= 1
    return [
        (fits, f"league.share {league.share} must be 0 to 1"),
        (some, f"league.share {league.share} of {lanes} lanes is none: raise it or ppo.lanes, or use 0 for no league"),
        (0 <= league.partner <= 1, f"league.partner {league.partner} must be 0 to 1"),
        (league.every >= 1, f"league.every {league.every} must be 1 or more"),
        (league.size >= 2, f"league.size {league.size} must be 2 or more: the first snapshot and the newest"),
    ]
