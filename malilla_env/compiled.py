"""Compilation: the `jit` that every compiled function uses, and the few operations that need a processor instruction.

Enters: a scalar function. Leaves: its Numba-compiled form, cached on disk; or, with NUMBA_DISABLE_JIT=1, the function
itself, for a debugger and for coverage. The cache lies in a directory named by a hash of the function's file and of all
that it imports of the project: Numba itself does not notice an edit in a file that a cached function merely calls.
"""

from __future__ import annotations

import ast
import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba import config as numba_config
from numba.core import types
from numba.extending import intrinsic

Function = TypeVar("Function", bound=Callable[..., Any])

# What compiled functions take, for the reader: their true types are found at compilation.
Row = Any  # one record of a structured array, changed in place
Array = Any
Int = Any  # int or a NumPy integer
Bool = Any  # bool or a NumPy bool
Word = Any  # np.uint64: a mask of cards, a key

config: Any = numba_config  # its attributes are made at run time
PURE = bool(config.DISABLE_JIT)  # the same text as plain Python
WORD = (1 << 64) - 1
PACKAGE = Path(__file__).parent


@cache
def imports_of(source: Path) -> frozenset[Path]:
    """The files that a file imports directly: of this package, and of its own where that lies beside this one."""
    root, own = PACKAGE.parent, {PACKAGE.name}
    if source.is_relative_to(root):
        own.add(source.relative_to(root).parts[0])
    named = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in own:
            named.add(node.module)
            named.update(f"{node.module}.{alias.name}" for alias in node.names)  # from malilla_env import engine
    return frozenset(path for name in named if (path := root.joinpath(*name.split(".")).with_suffix(".py")).is_file())


def sources_of(source: Path) -> list[Path]:
    """A file and all that it imports of the project, directly or not: what its compiled code may depend on."""
    found, waiting = set(), {source, Path(__file__)}
    while waiting:
        found |= waiting
        waiting = {path for file in waiting for path in imports_of(file)} - found
    return sorted(found)


@cache
def cache_directory(source: Path) -> Path:
    """Where the compiled code of a file lies: below NUMBA_CACHE_DIR, else the user's cache directory."""
    digest = hashlib.sha256()
    for path in sources_of(source):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "malilla_env"
    return Path(config.CACHE_DIR or default) / f"{source.stem}-{digest.hexdigest()[:12]}"


@cache
def writable(directory: Path) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(directory, os.W_OK)


def jit(function: Function) -> Function:
    """Compile a function without Python objects, its code kept in its file's cache directory where that is writable."""
    if PURE:
        return function
    directory = cache_directory(Path(function.__code__.co_filename))
    before, config.CACHE_DIR = config.CACHE_DIR, str(directory)
    try:
        compiled = numba.njit(cache=writable(directory), nogil=True, error_model="numpy")(function)
    finally:
        config.CACHE_DIR = before
    return cast(Function, compiled)


def inline(function: Function) -> Function:
    """Compile a small function into each of its callers: a call costs as much as what many a rule does."""
    if PURE:
        return function
    return cast(Function, numba.njit(nogil=True, error_model="numpy", forceinline=True)(function))


GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_A, MIX_B = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
S27, S30, S31 = np.uint64(27), np.uint64(30), np.uint64(31)


def _mixed(key: Any, value: Any) -> Any:
    """A new 64-bit key from a key and a counter: one step of SplitMix64 (Steele, Lea and Flood 2014)."""
    word = np.uint64(key) + (np.uint64(value) + np.uint64(1)) * GOLDEN
    word = (word ^ (word >> S30)) * MIX_A
    word = (word ^ (word >> S27)) * MIX_B
    return word ^ (word >> S31)


def _pure_mixed(key: Any, value: Any) -> Any:
    with np.errstate(over="ignore"):  # unsigned wraparound is meant
        return _mixed(int(key) & WORD, int(value) & WORD)


def _pure_popcount(word: Any) -> Any:
    return int(word).bit_count()


def _pure_lowest(word: Any) -> Any:
    return (int(word) & -int(word)).bit_length() - 1


def _pure_highest(word: Any) -> Any:
    return int(word).bit_length() - 1


def _pure_select(word: Any, n: Any) -> Any:
    left = int(word)
    for _ in range(int(n)):
        left &= left - 1
    return _pure_lowest(left)


ONES, TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
PAIRS, FOURS, EIGHTS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
N1, N2, N4, N8, LOW8 = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(8), np.uint64(255)
# Index of the n-th set bit of a byte; in bytes, so that the table keeps to a corner of the nearest cache.
IN_BYTE = np.array([([k for k in range(8) if byte >> k & 1] + 8 * [0])[:8] for byte in range(256)], np.uint8)


def _select(word: Any, n: Any) -> Any:
    """Index of the n-th set bit of a word, from 0, without a branch (Vigna 2008): a loop would be mispredicted."""
    n = np.uint64(n)
    sums = word - ((word >> N1) & PAIRS)
    sums = (sums & FOURS) + ((sums >> N2) & FOURS)
    sums = ((sums + (sums >> N4)) & EIGHTS) * ONES  # in each byte: the bits set up to its end
    before = np.uint64(popcount(((n * ONES | TOPS) - sums) & TOPS)) * N8  # bits of the bytes that end too early
    rank = n - (((sums << N8) >> before) & LOW8)
    return np.int64(before + np.uint64(IN_BYTE[(word >> before) & LOW8, rank]))


def _instruction(emit: Callable[[Any, Any], Any]) -> Any:
    """An intrinsic from uint64 to int64 whose code `emit(builder, word)` writes."""

    @intrinsic
    def operation(typing_context: Any, word: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return emit(builder, arguments[0])

        return types.int64(types.uint64), generate

    return operation


def _pure_uncounted(array: Any) -> Any:
    return array


@intrinsic
def _uncounted(typing_context: Any, array: Any) -> Any:
    """The same array, of which references are not counted: for a loop that passes it, or its rows, on.

    Every array that a function takes or makes is counted in and out, by two locked instructions: as much as encoding a
    block costs. It is safe as long as the loop's caller holds the array itself.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = context.make_array(signature.return_type)(context, builder, arguments[0])
        value.meminfo = ir.Constant(value.meminfo.type, None)
        return value._getvalue()

    return array(array), generate


def _pure_stream4(source: Any, target: Any, at: Any) -> None:
    target[at : at + 4] = source[at : at + 4]


@intrinsic
def _stream4(typing_context: Any, source: Any, target: Any, at: Any) -> Any:
    """target[at:at + 4] = source[at:at + 4] (float32, the target at a multiple of 16 bytes), past the caches.

    An ordinary store first reads the line that it changes: most of its cost when the output is larger than the caches.
    """
    four = ir.VectorType(ir.FloatType(), 4)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def address(place: int) -> Any:
            array = context.make_array(signature.args[place])(context, builder, arguments[place])
            return builder.bitcast(builder.gep(array.data, [arguments[2]]), four.as_pointer())

        words = builder.load(address(0), align=4)
        stored = builder.store(words, address(1), align=16)
        stored.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)]))
        return context.get_dummy_value()

    return types.void(source, target, at), generate


def _pure_settle() -> None:
    pass


@intrinsic
def _settle(typing_context: Any) -> Any:
    """What was streamed lies in memory before anything that follows."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate


uncounted: Any
stream4: Any
settle: Any
if PURE:
    mix, popcount, select = _pure_mixed, _pure_popcount, _pure_select
    lowest, highest = _pure_lowest, _pure_highest
    uncounted, stream4, settle = _pure_uncounted, _pure_stream4, _pure_settle
else:
    uncounted, stream4, settle = _uncounted, _stream4, _settle
    mix = jit(_mixed)
    popcount = _instruction(lambda builder, word: builder.ctpop(word))
    # index of the lowest set bit, of the highest; the word must not be 0
    lowest = _instruction(lambda builder, word: builder.cttz(word, ir.Constant(ir.IntType(1), 1)))
    highest = _instruction(
        lambda builder, word: builder.xor(
            builder.ctlz(word, ir.Constant(ir.IntType(1), 1)), ir.Constant(ir.IntType(64), 63)
        )
    )
    select = inline(_select)
