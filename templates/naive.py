"""The naive template of `?sw_xform`: any small expression (paper, section 5.3, equation 1), for comparison (Table 2).

An expression of depth 0 is an argument of the hole or a constant; of depth d, it is one of depth d - 1, or a sum or
difference of two of those, or one of those times, divided by or modulo a constant. Its value, modulo n, is the
hole's. Constants run from 0 to the largest of n and the arguments' values.

At depth 2 a function is a *head* and, where the head is itself of depth 1, a *tail* that is added to it. What is only
multiplied, divided or reduced is kept once per function; so are heads, and so are tails.

On file an expression is its operators and leaves, from the outside in: `node_0`, `node_1`, ... number the operators of
`_SYMBOLS`, an argument or a constant, `value_3` says which; `modulo` whether its value is reduced.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import lru_cache
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from symbolic.errors import Place, SwizzleError
from symbolic.ir.program import Expr, Hole
from templates.chooser import Choice, Chooser
from templates.formula import binary, number, remainder
from templates.template import Point, Template, TemplateFamily, integers

T = TypeVar("T")
Depth: TypeAlias = Literal[1, 2]
MOST_VALUES = 1_000_000_000  # of all expressions at all points, that are computed to tell functions apart


class Leaf(Struct, frozen=True):
    """An argument of the hole, by number, or a constant."""

    kind: Literal["argument", "constant"]
    value: int


class Node(Struct, frozen=True):
    """An operator of equation 1."""

    op: Literal["+", "-", "*", "//", "%"]
    left: Tree
    right: Tree


Tree: TypeAlias = Leaf | Node
Line: TypeAlias = npt.NDArray[np.int64]
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}
_BY_CONSTANT: tuple[Literal["*", "//", "%"], ...] = ("*", "//", "%")
_HEADS = ("", *_BY_CONSTANT)  # the operators of heads


_SYMBOLS: tuple[str, ...] = ("argument", "constant", *_OPERATORS)  # by their numbers in constants
MOST_NODES = 64  # of an expression that is read back


def value(tree: Tree, arguments: Sequence[Any]) -> Any:
    """Return an expression's value for ints or for lanes of them."""
    if isinstance(tree, Leaf):
        return arguments[tree.value] if tree.kind == "argument" else tree.value
    return _OPERATORS[tree.op](value(tree.left, arguments), value(tree.right, arguments))


def weight(tree: Tree) -> int:
    """Say how heavy an expression is to read."""
    if isinstance(tree, Leaf):
        return 1 + (tree.kind == "constant" and tree.value > 1)
    return 1 + weight(tree.left) + weight(tree.right) + 2 * (tree.op in ("//", "%"))


class Written(Template):
    """`?sw_xform(i, n, k)` as one expression of equation 1: what the naive template's solutions are read back as.

    Its choices are expressions, each with whether its value is to be reduced modulo n.
    """

    def __init__(self, n: int, arity: int) -> None:
        self.n, self.arity = n, arity
        self.components = ()

    def apply(self, choice: Choice, arguments: Sequence[Any]) -> Any:
        return value(choice[0], arguments) % self.n

    def expression(self, choice: Choice, arguments: Sequence[Expr], place: Place) -> Expr:
        tree, modulo = choice
        found = _expression(tree, arguments, place)
        return remainder(found, self.n) if modulo else found

    def constants(self, choice: Choice) -> Mapping[str, int]:
        tree, modulo = choice
        found = {"naive": 1, "modulo": int(modulo)}
        for place, node in enumerate(_nodes(tree)):
            found[f"node_{place}"] = _SYMBOLS.index(node.kind if isinstance(node, Leaf) else node.op)
            if isinstance(node, Leaf):
                found[f"value_{place}"] = node.value
        return found

    def parse(self, constants: Mapping[str, object]) -> Choice:
        numbers = itertools.count()

        def tree() -> Tree:
            place = next(numbers)
            (which,) = integers(constants, [f"node_{place}"])
            if not (0 <= which < len(_SYMBOLS) and place < MOST_NODES):
                raise ValueError(f"node_{place} of the hole is {which}")
            symbol = _SYMBOLS[which]
            if symbol in ("argument", "constant"):
                (leaf,) = integers(constants, [f"value_{place}"])
                if not (0 <= leaf < self.arity if symbol == "argument" else leaf >= 0):
                    raise ValueError(f"value_{place} of the hole is {leaf}")
                return Leaf(symbol, leaf)  # type: ignore[arg-type]
            left, right = tree(), tree()
            if symbol in _BY_CONSTANT and not (isinstance(right, Leaf) and right.kind == "constant" and right.value):
                raise ValueError(f"node_{place} of the hole is {symbol} by what is not a constant above 0")
            return Node(symbol, left, right)  # type: ignore[arg-type]

        (modulo,) = integers(constants, ["modulo"])
        return tree(), bool(modulo)

    def words(self, choice: Choice, names: Sequence[str]) -> str:
        tree, modulo = choice
        text = _text(tree, names, inside=modulo)
        return f"element {text}" + (f" modulo {self.n}" if modulo else "")


class NaiveXform(Template):
    """`?sw_xform(i, n, k)` by equation 1; the same in every space."""

    def __init__(self, hole: Hole, points: Sequence[Point], depth: Depth) -> None:
        self.n, self.depth, self.points = hole.size, depth, tuple(points)
        self._place = {p: j for j, p in enumerate(points)}
        columns = [np.array(c, np.int64) for c in zip(*points, strict=True)] or [np.zeros(0, np.int64)]
        self._last = max([self.n, *(int(c.max(initial=0)) for c in columns)])
        expressions = (len(columns) + self._last + 1) ** 2 * 2 * (1 if depth == 1 else 2 * self._last)
        if expressions * max(1, len(points)) > MOST_VALUES:
            raise too_large(hole, depth)
        ones = _distinct(_one_deeper(columns, self._last), lambda line: line)
        self._trees = [tree for tree, _ in ones]
        self._lines = np.stack([line for _, line in ones])
        modulo = self._lines % self.n
        self._kept = _first_of_each(modulo)
        heads = [(int(j), "", 0) for j in self._kept]
        if depth == 2:
            seen = {modulo[j].tobytes() for j in self._kept}
            for j, line in enumerate(self._lines):
                for op, c in itertools.product(_BY_CONSTANT, range(1, self._last + 1)):
                    made = (_OPERATORS[op](line, c) % self.n).tobytes()
                    if made not in seen:
                        seen.add(made)
                        heads.append((j, op, c))
        self.heads = heads
        self._base = np.array([j for j, _, _ in heads])
        self._operator = np.array([_HEADS.index(op) for _, op, _ in heads])
        self._constant = np.array([c or 1 for _, _, c in heads])
        rows: dict[bytes, tuple[int, int]] = {}
        for sign, j in itertools.product((1, -1), self._kept.tolist()):
            rows.setdefault((sign * modulo[j] % self.n).tobytes(), (sign, j))
        nothing = bytes(8 * len(points))  # the tail that adds 0 comes first
        self.tails = sorted(
            rows.values(), key=lambda tail: (modulo[tail[1]].tobytes() != nothing, weight(self._trees[tail[1]]), tail)
        )
        self.components = (tuple(range(len(heads))),)
        if depth == 2:
            self.components += (tuple(range(len(self.tails))),)

    def at(self, chooser: Chooser[T], point: Point) -> T:
        heads = self._heads_at(np.arange(len(self.heads)), self._place[point]).tolist()
        if self.depth == 1:
            return chooser.pick(0, heads.__getitem__)
        with_tail = (self._operator == 0).tolist()
        head = chooser.pick(0, list(zip(heads, with_tail, strict=True)).__getitem__)
        line = self._lines[:, self._place[point]]
        tail = chooser.pick(1, [int(sign * line[j]) % self.n for sign, j in self.tails].__getitem__)
        return chooser.both(lambda h, t: (h[0] + t) % self.n if h[1] else h[0], head, tail)

    def restricted(self, strides: bool = False) -> Template:
        """Return the part of depth 1, which has an answer for most kernels."""
        if self.depth == 1:
            return self
        found = copy(self)
        found.components = (tuple(range(len(self._kept))), (0,))
        return found

    def _heads_at(self, rows: Line, place: int) -> Line:
        """Return the values of some heads at a point."""
        base, constant = self._lines[self._base[rows], place], self._constant[rows]
        made = [_OPERATORS[op](base, constant) if op else base for op in _HEADS]
        found: Line = np.choose(self._operator[rows], made) % self.n
        return found

    def apply(self, choice: Choice, arguments: Sequence[Any]) -> Any:
        return value(self.tree(choice), arguments) % self.n

    def tree(self, choice: Choice) -> Tree:
        """Return a choice as an expression, before the modulo."""
        j, op, c = self.heads[choice[0]]
        head: Tree = self._trees[j]
        if op:
            return Node(op, head, Leaf("constant", c))  # type: ignore[arg-type]
        if self.depth == 1 or choice[1] == 0:
            return head
        sign, tail = self.tails[choice[1]]
        return Node("+" if sign > 0 else "-", head, self._trees[tail])

    def written(self, choice: Choice) -> Choice:
        """Return a choice as an expression with whether it must be reduced: a choice of `Written`."""
        tree = self.tree(choice)
        return tree, not self.stays_inside(tree)

    def expression(self, choice: Choice, arguments: Sequence[Expr], place: Place) -> Expr:
        return Written(self.n, len(arguments)).expression(self.written(choice), arguments, place)

    def constants(self, choice: Choice) -> Mapping[str, int]:
        return Written(self.n, 0).constants(self.written(choice))

    def parse(self, constants: Mapping[str, object]) -> Choice:
        """Return a choice with the same values at the template's points."""
        read = Written(self.n, len(self.points[0]) if self.points else 0)
        choice = read.parse(constants)
        found = self.simplest(self.points, [read.apply(choice, point) for point in self.points])
        if found is None:
            raise ValueError(f"the expression of the hole is not one of depth {self.depth}")
        return found

    def words(self, choice: Choice, names: Sequence[str]) -> str:
        return Written(self.n, len(names)).words(self.written(choice), names)

    def stays_inside(self, tree: Tree) -> bool:
        """Say whether an expression is an index without the modulo, wherever the hole is asked."""
        values = [value(tree, p) for p in self.points]
        return all(0 <= v < self.n for v in values)

    def simplest(self, points: Sequence[Point], values: Sequence[Any]) -> Choice | None:
        asked = [(self._place[p], v) for p, v in zip(points, values, strict=True) if v is not None]
        places, wanted = [p for p, _ in asked], np.array([v for _, v in asked], np.int64)
        tail = (0,) if self.depth == 2 else ()
        rows = np.arange(len(self.heads))
        for place, v in asked:
            rows = rows[self._heads_at(rows, place) == v]
        found: list[tuple[int, Choice]] = [(weight(self.tree((r, *tail))), (r, *tail)) for r in rows.tolist()]
        if self.depth == 2:
            lines = {j: self._lines[j, places] % self.n for j in self._kept.tolist()}
            known = {}
            for number, (sign, j) in reversed(list(enumerate(self.tails))):
                known[(sign * lines[j] % self.n).tobytes()] = number
            for head, (j, op, _) in enumerate(self.heads):
                fits = None if op else known.get(((wanted - lines[j]) % self.n).tobytes())
                if fits is not None:
                    found.append((weight(self.tree((head, fits))), (head, fits)))
        return min(found)[1] if found else None


@lru_cache(maxsize=64)
def naive_xform(hole: Hole, points: tuple[Point, ...], depth: Depth) -> NaiveXform:
    """Return the naive template of a hole for the points at which it is asked."""
    return NaiveXform(hole, points, depth)


def too_large(hole: Hole, depth: Depth) -> SwizzleError:
    place: Place = hole.place
    return SwizzleError(
        f"the naive template of depth {depth} has too many expressions for {hole.name}, of size {hole.size}",
        place=place,
        expected="a smaller hole: the template is there for comparison",
        fix="a smaller warp_size, depth 1, or the paper's template",
    )


def _nodes(tree: Tree) -> Iterator[Tree]:
    """Yield an expression's operators and leaves, from the outside in, the left side first."""
    yield tree
    if isinstance(tree, Node):
        yield from _nodes(tree.left)
        yield from _nodes(tree.right)


def _expression(tree: Tree, arguments: Sequence[Expr], place: Place) -> Expr:
    if isinstance(tree, Leaf):
        return arguments[tree.value] if tree.kind == "argument" else number(tree.value, place)
    return binary(tree.op, _expression(tree.left, arguments, place), _expression(tree.right, arguments, place))


def _text(tree: Tree, names: Sequence[str], inside: bool = False) -> str:
    if isinstance(tree, Leaf):
        return names[tree.value] if tree.kind == "argument" else str(tree.value)
    text = f"{_text(tree.left, names, True)} {tree.op} {_text(tree.right, names, True)}"
    return f"({text})" if inside else text


def _one_deeper(columns: Sequence[Line], last: int) -> list[tuple[Tree, Line]]:
    """Return all expressions of depth 1 with their values, lighter ones first."""
    atoms: list[tuple[Tree, Line]] = [(Leaf("argument", j), c) for j, c in enumerate(columns)]
    atoms += [(Leaf("constant", c), np.full(len(columns[0]), c, np.int64)) for c in range(last + 1)]
    found = list(atoms)
    for (s, a), (t, b) in itertools.product(atoms, repeat=2):
        found += [(Node("+", s, t), a + b), (Node("-", s, t), a - b)]
    for (s, a), op, c in itertools.product(atoms, _BY_CONSTANT, range(1, last + 1)):
        found.append((Node(op, s, Leaf("constant", c)), _OPERATORS[op](a, c)))
    return sorted(found, key=lambda some: weight(some[0]))


def _distinct(some: list[tuple[Tree, Line]], key: Callable[[Line], Line]) -> list[tuple[Tree, Line]]:
    seen: dict[bytes, tuple[Tree, Line]] = {}
    for tree, line in some:
        seen.setdefault(key(line).tobytes(), (tree, line))
    return list(seen.values())


def _first_of_each(lines: npt.NDArray[np.int64]) -> npt.NDArray[np.intp]:
    """Return where each distinct line stands first, in order."""
    _, where = np.unique(lines, axis=0, return_index=True)
    return np.sort(where)


FAMILY = TemplateFamily(
    "naive",
    "xform",
    lambda size, arity, points, space: None,  # asked for by --template only
    saved=lambda size, arity, points: Written(size, arity),
)
