"""Loops whose update is in the table of elementary operators: looked up by what it computes, not by how it is written.

The table (`elementary.json`, made by `bench/elementary`) has pairs and single words over `x`, `y` and a constant `k`,
each proved when it was generated.

Let `f` be an operator of the table, and `e` its identity on the left. If a loop's step is `f(state, y)`, where y
depends on the element alone, then y is `f(e, y)`, which is the step on e: so y need not be guessed. Then the step and
`f` are compared on samples, all operators at once, as they share most of what they are made of.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from msgspec import Struct

from swizzle.operators.carrier import Carrier
from swizzle.operators.loop import BOOL, Loop, name_of
from swizzle.operators.samples import random_rows, random_states
from symbolic.expressions import expression as e
from symbolic.expressions.columns import FLOATS, ON_COLUMNS, on_columns
from symbolic.expressions.expression import BUILDERS, TRUE, Expression, rebuilt, subexpressions, substituted
from symbolic.expressions.formulas import REALS, Sort
from symbolic.expressions.meaning import Key
from symbolic.ir.program import DType

TYPES: Final = {
    "i32": Sort("word", 32, True),
    "u32": Sort("word", 32, False),
    "i64": Sort("word", 64, True),
    "u64": Sort("word", 64, False),
    "f32": REALS,
}
"""The five types; floating-point numbers are real numbers, in any precision."""
TABLE: Final = Path(__file__).with_suffix(".json")


class Elementary(Struct, frozen=True):
    """An associative operator: `lists` (an operator and what it is of, nested) give the words of two parts, over x0,
    x1, those of the first one, y0, y1, and k. `left` and `right` say on which sides `identity` changes nothing."""

    lists: tuple[Any, ...]
    identity: tuple[str, ...]
    left: bool
    right: bool
    commutative: bool
    types: tuple[str, ...]

    @property
    def combine(self) -> tuple[Expression, ...]:
        """The words of two parts as expressions."""
        return tuple(map(of_lists, self.lists))

    @property
    def has_k(self) -> bool:
        """Whether it has a constant."""
        return any(map(_has_k, self.lists))


def _has_k(what: Any) -> bool:
    return any(map(_has_k, what)) if isinstance(what, list) else what == "k"


def neutral(what: str, sort: Sort) -> Expression:
    """Return a word of an identity as an expression."""
    if what == "k":
        return e.number_name("k")
    if what in ("least", "greatest"):
        limits = (float("-inf"), float("inf")) if sort.kind == "real" else sort.limits
        return e.constant(limits[what == "greatest"])
    return e.constant(int(what) % (1 << sort.bits) if sort.kind == "word" and not sort.signed else int(what))


def of_lists(what: Any) -> Expression:
    """Return the expression that nested lists say."""
    if isinstance(what, str):
        return e.number_name(what)
    if isinstance(what, list):
        return BUILDERS[what[0]](*map(of_lists, what[1:]))
    return e.constant(what)


@lru_cache(maxsize=4)
def table(words: int) -> tuple[Elementary, ...]:
    """Return the operators of so many words that were generated and proved, smallest first."""
    return tuple(
        Elementary(
            tuple(lists), tuple(identity.split()), "l" in laws, "r" in laws, "c" in laws,
            tuple(types.split()),
        )
        for lists, identity, laws, types in json.loads(TABLE.read_text(encoding="utf-8"))
        if len(lists) == words
    )  # fmt: skip


Array = Any


class Together:
    """Expressions as nested lists, evaluated on samples side by side; conditions are 0 and 1.

    What they share is computed once, and what is alike in one call of NumPy.
    """

    def __init__(self, expressions: Sequence[Sequence[Any]]) -> None:
        self._places: dict[Any, int] = {}
        self._depths: list[int] = []
        self._calls: dict[tuple[int, str], list[tuple[int, ...]]] = {}
        self.roots = np.array([[self._place(each) for each in some] for some in expressions], np.intp)
        steps = sorted(self._calls.items(), key=lambda call: call[0][0])
        self._steps = [(operator, np.array(rows, np.intp).T) for (_, operator), rows in steps]

    def _place(self, node: Any) -> int:
        """Return the row of an expression; of sums and the like, two arguments at a time."""
        if not isinstance(node, list):
            return self._new(node, 0)
        operator, *arguments = node
        places = [self._place(each) for each in arguments]
        while len(places) > 2 and operator != "select":
            places[:2] = [self._called(operator, places[:2])]
        return self._called(operator, places)

    def _called(self, operator: str, places: Sequence[int]) -> int:
        key = (operator, *places)
        if key not in self._places:
            depth = 1 + max(self._depths[place] for place in places)
            self._calls.setdefault((depth, operator), []).append((self._new(key, depth), *places))
        return self._places[key]

    def _new(self, key: Any, depth: int) -> int:
        if key not in self._places:
            self._places[key] = len(self._depths)
            self._depths.append(depth)
        return self._places[key]

    def values(self, columns: Mapping[str, Array]) -> Array:
        """Return what all expressions are, (expression, its place among several, sample), of columns of numbers."""
        (count,) = {len(column) for column in columns.values()}
        found = np.empty((len(self._depths), count))
        for key, place in self._places.items():
            if not self._depths[place]:
                found[place] = columns[key] if isinstance(key, str) else key
        with np.errstate(all="ignore"):
            for operator, (into, *arguments) in self._steps:
                found[into] = ON_COLUMNS[operator](*(found[each] for each in arguments))
        return found[self.roots]


SAMPLES: Final = 32
FIRST: Final = 6
"""Samples that begin with the state before the loop."""
MOST_CONSTANTS: Final = 4


def matched(loop: Loop) -> Iterator[Carrier]:
    """Yield the operators of the table that a loop of one or two words of one type updates its state by."""
    kinds = {loop.state[word] for word in loop.live}
    if len(loop.live) not in (1, 2) or len(kinds) != 1 or BOOL in kinds:
        return
    of_type = _entries(len(loop.live), next(iter(kinds)))
    if not of_type:
        return
    rng = random.Random(8)
    states = ([loop.start()] * FIRST + random_states(loop) * SAMPLES)[:SAMPLES]
    rows = [random_rows(loop, rng, 1)[0] for _ in range(SAMPLES)]
    elements = {name: np.array([row[place] for row in rows], _kind(dtype))
                for place, (name, dtype) in enumerate(loop.elements.items())}  # fmt: skip
    before = {name: np.array([state[place] for state in states], _kind(dtype))
              for place, (name, dtype) in enumerate(loop.state.items())}  # fmt: skip
    with np.errstate(all="ignore"):
        known: dict[Key, Any] = {}
        after = {name: on_columns(loop.step[name], {**before, **elements}, FLOATS, known) for name in loop.live}
        for order in itertools.permutations(loop.live):
            for identity, some in of_type.items():
                yield from _fitting(loop, order, identity, some, before, elements, after)


def _kind(dtype: DType) -> Any:
    return bool if dtype is BOOL else np.float64


class _Alike(Struct, frozen=True):
    """The operators of one identity, with a constant k or without, each with its place in the table; what all of them
    compute."""

    entries: tuple[tuple[int, Elementary], ...]
    together: Together


@lru_cache(maxsize=16)
def _entries(words: int, dtype: DType) -> dict[tuple[str, ...], dict[bool, _Alike]]:
    """Return the operators that have an identity on the left, by what that is, and by whether they have a constant."""
    name = "f32" if dtype.is_float else dtype.value
    found: dict[tuple[str, ...], dict[bool, list[tuple[int, Elementary]]]] = {}
    for place, each in enumerate(table(words)):
        if each.left and name in each.types:
            found.setdefault(each.identity, {}).setdefault(each.has_k, []).append((place, each))
    return {
        identity: {
            has_k: _Alike(tuple(some), Together([each.lists for _, each in some])) for has_k, some in kinds.items()
        }
        for identity, kinds in found.items()
    }


def _fitting(
    loop: Loop, order: Sequence[str], identity: Sequence[str], kinds: dict[bool, _Alike], before: dict[str, Any],
    elements: dict[str, Any], after: dict[str, Any],
) -> Iterator[Carrier]:  # fmt: skip
    constants = _constants(loop)
    free = "k" in identity
    wanted = np.stack([np.broadcast_to(after[word], SAMPLES) for word in order])
    for number in constants if free else [None]:
        none = {word: e.constant(number) if what == "k" and number is not None else neutral(what, REALS)
                for word, what in zip(order, identity, strict=True)}  # fmt: skip
        try:
            lift = {word: substituted(loop.step[word], none) for word in order}
            columns = {f"x{place}": before[word] for place, word in enumerate(order)}
            columns |= {f"y{place}": np.broadcast_to(on_columns(lift[word], elements, FLOATS), SAMPLES)
                        for place, word in enumerate(order)}  # fmt: skip
        except ArithmeticError:
            continue
        for k in constants if number is None else [number]:
            columns["k"] = np.full(SAMPLES, float(k))
            those: list[tuple[int, Elementary]] = []
            for has_k, alike in kinds.items():
                if has_k or free or k == constants[0]:
                    same = (alike.together.values(columns) == wanted).all(axis=(1, 2))
                    those += [alike.entries[place] for place in np.flatnonzero(same)]
            for _, entry in sorted(those, key=lambda each: each[0]):
                for each in _lifts(loop, order, lift):
                    yield from _carrier(loop, order, entry, each, k)


def _lifts(loop: Loop, order: Sequence[str], lift: dict[str, Expression]) -> list[dict[str, Expression]]:
    """Return the words of an element; where one is an infinity of whole numbers, as integers have it, also with the
    limits of their type, which words that wrap have. Where a range is promised, words are integers first."""
    dtype = loop.state[order[0]]
    if dtype.is_float or not any(node.infinite for each in lift.values() for node in subexpressions(each)):
        return [lift]
    least, greatest = TYPES[dtype.value].limits

    def limit(leaf: Expression) -> Expression:
        return e.constant(least if leaf.value < 0 else greatest) if leaf.infinite else leaf

    limited = {word: rebuilt(each, limit) for word, each in lift.items()}
    promised = loop.range.length is not None or loop.range.where is not TRUE
    return [lift, limited] if promised else [limited, lift]


def _constants(loop: Loop) -> list[Any]:
    nodes = (node for each in loop.step.values() for node in subexpressions(each))
    found = dict.fromkeys(
        node.value for node in nodes if node.constant and not node.truth and not node.infinite
    )  # fmt: skip
    return list(dict.fromkeys([*found, 0]))[:MOST_CONSTANTS]


def _carrier(
    loop: Loop, order: Sequence[str], entry: Elementary, lift: dict[str, Expression], k: Any
) -> Iterator[Carrier]:
    """Yield the operator of the loop's words; the state behind a part is that part behind the state before the loop."""

    def named(node: Expression) -> Expression:
        def leaf(each: Expression) -> Expression:
            if each.operator != "name":
                return each
            if each.value == "k":
                return e.constant(k)
            return e.number_name(f"{'a' if each.value[0] == 'x' else 'b'}.{order[int(each.value[1:])]}")

        return rebuilt(node, leaf)

    words = {word: loop.state[word] for word in loop.live}
    own = {word: name_of(word, dtype) for word, dtype in words.items()}
    try:
        combine = {word: named(node) for word, node in zip(order, entry.combine, strict=True)}
        if all(lift[word] is loop.begun[word] for word in words):
            state = dict(own)
        else:
            sides = {f"a.{word}": loop.initial[word] for word in words} | {f"b.{word}": own[word] for word in words}
            state = {word: substituted(combine[word], sides) for word in words}
        result = tuple(substituted(each, state) for each in loop.result)
    except ArithmeticError:
        return
    yield Carrier(
        loop, words, {word: lift[word] for word in words}, {word: combine[word] for word in words}, state, result,
        "in the table of elementary operators",
    )  # fmt: skip
