"""Random inputs, each cut into two parts: what a search for operators is shown of a loop.

Beside the loop's state there may be helpers, words that say more of a part: the least value so far, the first element.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
from msgspec import Struct

from swizzle.operators.loop import BOOL, Loop, name_of
from swizzle.operators.samples import choices_of
from symbolic.expressions import expression as e
from symbolic.expressions.columns import FLOATS, on_columns
from symbolic.expressions.expression import Expression, maximum, minimum, number_name, subexpressions, substituted
from symbolic.expressions.meaning import Key
from symbolic.ir.program import DType


class Helper(Struct, frozen=True):
    """A word beside the state: what it is after one element, and what it becomes with one more, over all such words,
    the element, the state before it and after it (`new.WORD`)."""

    name: str
    dtype: DType
    lift: Expression
    step: Expression
    initial: Expression | None = None
    """What it is of no element, where it is anything then."""


def helpers_of(loop: Loop) -> list[Helper]:
    """Return words that may help, likely ones first."""
    found: list[Helper] = []

    def extremes(
        what: str, dtype: DType, new: Expression, first: Expression | None = None, once: Expression | None = None
    ) -> None:  # fmt: skip
        """Add the least and the greatest of something so far, `first` among them; of one element it is `once`."""
        for kind, choose in (("least", minimum), ("greatest", maximum)):
            name = f"{kind}_{what}"
            lift = once or (new if first is None else choose(new, first))
            found.append(Helper(name, dtype, lift, choose(number_name(name), new), first))

    for place, (apart, once, dtype) in enumerate(_distances(loop)):
        extremes(f"distance{place or ''}", dtype, apart, once=once)
    for name, dtype in loop.elements.items():
        own = name_of(f"first_{name}", dtype)
        found.append(Helper(own.value, dtype, name_of(name, dtype), own))
    for name in loop.live:
        if loop.state[name] is not BOOL:
            if not loop.initial[name].infinite:
                extremes(name, loop.state[name], number_name(f"new.{name}"), loop.initial[name])
            extremes(name, loop.state[name], number_name(f"new.{name}"))
    for name, dtype in loop.elements.items():
        element = name_of(name, dtype)
        if dtype is not BOOL:
            extremes(name, dtype, element)
            found.append(Helper(f"sum_{name}", dtype, element, e.add(number_name(f"sum_{name}"), element), e.ZERO))
        found.append(Helper(f"last_{name}", dtype, element, element))
    for place, test in enumerate(_tests(loop)):
        for kind, together, first in (("all", e.both, e.TRUE), ("any", e.either, e.FALSE)):
            own = name_of(f"{kind}_{place}", BOOL)
            found.append(Helper(own.value, BOOL, test, together(own, test), first))
    found.append(Helper("count", DType.I32, e.ONE, e.add(number_name("count"), e.ONE), e.ZERO))
    return found


def products_of(loop: Loop) -> list[Helper]:
    """Return the product of elements, and the greatest and the least one of a part's beginning, where words are
    multiplied by an element."""
    found: list[Helper] = []
    nodes = [node for word in loop.live for node in subexpressions(loop.step[word]) if node.operator == "*"]
    factors = {name for node in nodes if node.names & loop.state.keys() for name in node.names & loop.elements.keys()}
    for name in sorted(factors):
        dtype = loop.elements[name]
        element, product = name_of(name, dtype), number_name(f"product_{name}")
        more = e.multiply(product, element)
        found.append(Helper(product.value, dtype, element, more, e.ONE))
        for kind, choose in (("least", minimum), ("greatest", maximum)):
            own = number_name(f"{kind}_product_{name}")
            found.append(Helper(own.value, dtype, element, choose(own, more)))
    return found


def _distances(loop: Loop) -> list[tuple[Expression, Expression, DType]]:
    """Return how far numbers of the state are from elements that the loop's text compares them with: before an
    element, before the first one, and the type."""
    found: dict[Expression, tuple[Expression, Expression, DType]] = {}
    for node in (node for each in loop.live for node in subexpressions(loop.step[each])):
        elements, state = node.names & loop.elements.keys(), node.names & set(loop.live)
        kinds = [loop.types[name] for name in (*elements, *state)]
        if node.operator not in ("<", "<=") or not elements or not state or BOOL in kinds:
            continue
        if not any(each.infinite for each in (*node.arguments, *(loop.initial[name] for name in state))):
            apart = e.subtract(*node.arguments[::-1])
            found[apart] = apart, substituted(apart, loop.initial), loop.types[min(elements)]
    return list(found.values())[:2]


def _tests(loop: Loop) -> list[Expression]:
    """Return the conditions on elements that the loop's text has."""
    found: dict[Expression, None] = {}
    for each in loop.step.values():
        for node in subexpressions(each):
            if node.truth and node.names and node.names <= set(loop.elements) and node.operator not in ("and", "or"):
                found.setdefault(node if e.negation(node) not in found else e.negation(node))
    return list(found)[:4]


SPLITS: Final = 3000
LONGEST: Final = 5
LARGE: Final = 1e12
Array: TypeAlias = Any
Columns: TypeAlias = dict[str, Array]


@dataclass
class Splits:
    """Random inputs, each cut into two parts: the words of both, and of the whole."""

    loop: Loop
    helpers: tuple[Helper, ...]
    empty: bool
    own: Sequence[str]
    """Which words of the state are among them."""
    columns: Columns = field(default_factory=dict)
    wanted: Columns = field(default_factory=dict)
    words: dict[str, DType] = field(default_factory=dict)
    meaningless: Array = None
    """Of which splits something was divided by zero."""

    def __post_init__(self) -> None:
        rng = np.random.default_rng(11)
        self.words = {name: self.loop.state[name] for name in self.own}
        self.words |= {helper.name: helper.dtype for helper in self.helpers}
        self.meaningless = np.zeros(SPLITS, bool)
        least = 0 if self.empty else 1
        self.first, self.second = (self._rows(rng, least) for _ in range(2))
        with np.errstate(all="ignore"):
            a = self._run(self.first, None)
            b = self._run(self.second, None)
            whole = self._run(self.second, a)
        for word in self.words:
            self.columns |= {f"a.{word}": a[word], f"b.{word}": b[word]}
            self.wanted[word] = whole[word]

    def _rows(self, rng: Any, least: int) -> tuple[Columns, Array]:
        """Return elements by their names, (split, place), and how many of them count."""
        choices, meets = choices_of(self.loop)
        columns: Columns = {}
        for name, some in zip(self.loop.elements, choices, strict=True):
            narrow = rng.choice(np.array(_narrow(some)), size=(SPLITS, LONGEST))
            wide = rng.choice(np.array(some), size=(SPLITS, LONGEST))
            columns[name] = np.where(rng.random((SPLITS, 1)) < 0.6, narrow, wide)
            if columns[name].dtype != bool:
                columns[name] = columns[name].astype(np.float64)
        fine = np.broadcast_to(on_columns(meets, columns, FLOATS), (SPLITS, LONGEST))
        for name in columns:  # a row that breaks the promise is one that keeps it
            index = np.flatnonzero(fine.ravel())
            flat = columns[name].ravel().copy()
            if len(index):
                flat[~fine.ravel()] = flat[index[np.arange((~fine).sum()) % len(index)]]
            columns[name] = flat.reshape(SPLITS, LONGEST)
        return columns, rng.integers(least, LONGEST, SPLITS)

    def _run(self, rows: tuple[Columns, Array], start: Columns | None) -> Columns:
        columns, lengths = rows
        loop = self.loop
        state: Columns = {}
        for name, first in loop.initial.items():
            value = np.bool_(first.value) if first.truth else np.float64(float(first.value))
            state[name] = np.full(SPLITS, value) if start is None else start[name]
        helped = {
            helper.name: np.full(SPLITS, (helper.initial or e.ZERO).value, bool if helper.dtype is BOOL else float)
            for helper in self.helpers
        }
        if start is not None:
            helped = {name: start[name] for name in helped}
        for place in range(LONGEST):
            alive = place < lengths
            element = {name: column[:, place] for name, column in columns.items()}
            known: dict[Key, Array] = {}
            before = {**state, **element}
            new = {name: full(on_columns(step, before, FLOATS, known)) for name, step in loop.step.items()}
            for node in known:
                if node.operator in ("/", "//", "%"):
                    self.meaningless |= alive & (known[node.arguments[1]] == 0)
            around = {**before, **{f"new.{name}": each for name, each in new.items()}, **helped}
            for helper in self.helpers:
                begun = start is not None or place > 0 or helper.initial is not None
                own = on_columns(helper.step if begun else helper.lift, around, FLOATS)
                helped[helper.name] = np.where(alive, full(own), helped[helper.name])
            state = {name: np.where(alive, each, state[name]) for name, each in new.items()}
        return {**state, **helped}

    def undetermined(self) -> dict[str, tuple[int, int]]:
        """Return, of each word that the words of the parts do not determine, two splits that say so.

        Quotients are rounded here, so numbers that are nearly the same say nothing, and neither do very large ones.
        """
        key = np.stack([column.astype(np.float64) for column in self.columns.values()])
        order = np.lexsort(key)
        same = (key[:, order[1:]] == key[:, order[:-1]]).all(axis=0)
        found = {}
        for word, wanted in self.wanted.items():
            one, other = (wanted[some].astype(np.float64) for some in (order[1:], order[:-1]))
            fine = same & ~self.meaningless[order[1:]] & ~self.meaningless[order[:-1]]
            fine &= ~((np.isfinite(one) & (abs(one) > LARGE)) | (np.isfinite(other) & (abs(other) > LARGE)))
            differ = np.flatnonzero(fine & ~np.isclose(one, other, rtol=1e-9, atol=1e-9, equal_nan=True))
            if len(differ):
                found[word] = (int(order[differ[0]]), int(order[differ[0] + 1]))
        return found

    def shown(self, split: int) -> str:
        """Return the elements of a split as a text."""
        texts = []
        for columns, lengths in (self.first, self.second):
            count = int(lengths[split])
            rows = [
                tuple(shown(column[split, place]) for column in columns.values()) for place in range(count)
            ]  # fmt: skip
            texts.append("[" + ", ".join(row[0] if len(row) == 1 else f"({', '.join(row)})" for row in rows) + "]")
        return " and ".join(texts)


def _narrow(some: Sequence[Any]) -> list[Any]:
    """Return a few of the numbers, of which short inputs are often alike."""
    if isinstance(some[0], bool):
        return list(some)
    return sorted(some, key=abs)[:5]


def full(column: Array) -> Array:
    return column if getattr(column, "ndim", 0) else np.full(SPLITS, column)


def shown(value: Any) -> str:
    return str(bool(value)) if isinstance(value, np.bool_) else f"{value:g}"
