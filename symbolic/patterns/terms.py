"""Expressions of patterns as data: Tables 1 and 2 of the paper on patterns and rewrite rules, and later ones.

    reduce(add, 0) o map(square) o xs          what is computed: Reduce(add, start, Map(square, Variable("xs")))

Nested application stands for the paper's composition `o`. A function inside a pattern is a `Lambda`; what it computes
of numbers is an expression of the house (`symbolic.expressions`) in a `Formula`, or a call of an elementary function
that expressions have no word for. Shapes are written as the paper does: `T[n]` is an array of n elements of type T.

Every low-level pattern means what its high-level one does: kinds and memories say how it is computed, not what.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from symbolic.expressions.expression import Expression, constant, number_name, substituted
from symbolic.ir.functions import FUNCTIONS, ChoiceFunction, MathFunction, where

Length: TypeAlias = Expression
"""A length, a size or a number of parts: a polynomial over names; `n / 4` is exact, as 4 divides n then."""
MapKind: TypeAlias = Literal["map", "seq", "global", "block", "local", "warp", "lane"]
"""`map` is not decided yet. A block is the paper's workgroup; local threads are those of a block."""
Axis: TypeAlias = Literal["x", "y", "z"]
"""The axis of the grid or the block along which a parallel map is spread."""
MemorySpace: TypeAlias = Literal["shared", "global", "registers"]
Boundary: TypeAlias = Literal["clamp", "mirror", "wrap", "zero"]
"""What is beyond an array's ends: its last element, the array mirrored, the array again from the other end, or 0."""

PARALLEL: Final = ("global", "block", "local", "warp", "lane")


class Variable(Struct, frozen=True):
    """What a name stands for: an input, a function's parameter, or a `let`."""

    name: str


class Formula(Struct, frozen=True):
    """A number or a condition, computed of numbers: the expression's names are x0, x1, ..., its arguments in order.

    Made by `formula`, which merges nested ones and drops what is not used.
    """

    expression: Expression
    arguments: tuple[Term, ...] = ()


ELEMENTARY: Final[Mapping[str, MathFunction | ChoiceFunction]] = {**FUNCTIONS, "where_less": where("<")}
"""Functions of numbers by name; `where_less(a, b, x, y)`, x where a < b, else y, is unlike max for NaN."""


class ElementaryCall(Struct, frozen=True):
    """A function of numbers that a proof knows nothing of: a name of `ELEMENTARY`."""

    function: str
    arguments: tuple[Term, ...]


class Tupled(Struct, frozen=True):
    """Several values as one: <a, b>."""

    items: tuple[Term, ...]


class Item(Struct, frozen=True):
    """One value of several: `of[place]`, where `of` is a tuple."""

    of: Term
    place: int


class Indexed(Struct, frozen=True):
    """One element of an array, T[n] -> T; `index` is a whole number. The only element of a reduction has index 0."""

    array: Term
    index: Term


class Lambda(Struct, frozen=True):
    """A function of some parameters. `name` is what the user calls it, '' where it has no name.

    With a `width` it is vectorised, the paper's vect^n(f): it is a function of numbers, applied to each place of
    vectors of that width; numbers beside them are the same for all places.
    """

    parameters: tuple[str, ...]
    body: Term
    name: str = ""
    width: int = 0


class Map(Struct, frozen=True):
    """T[n] -> U[n], the function T -> U applied to each element. `label` is the position's name in a derivation, the
    function's where it is ''."""

    function: Lambda
    array: Term
    kind: MapKind = "map"
    axis: Axis = "x"
    label: str = ""


class Reduce(Struct, frozen=True):
    """T[n] -> U[1], all elements combined from the left, beginning with `start`: U; the operator is (U, T) -> U.

    Of kind `reduce` T and U are the same, and the operator is associative and commutative where rules need it to be.
    """

    operator: Lambda
    start: Term
    array: Term
    kind: Literal["reduce", "seq"] = "reduce"
    label: str = ""


class PartialReduce(Struct, frozen=True):
    """T[n] -> T[parts], as many reductions of as many neighbours each; `parts` divides n. The paper's part-red."""

    operator: Lambda
    start: Term
    array: Term
    parts: Length
    label: str = ""


class PrefixScan(Struct, frozen=True):
    """T[n] -> T[n], element i is the reduction of elements 0 to i, beginning with `start`; of kind `before`, of those
    before i."""

    operator: Lambda
    start: Term
    array: Term
    kind: Literal["scan", "before"] = "scan"
    label: str = ""


class Iterate(Struct, frozen=True):
    """T[n] -> T[m], the function on arrays applied `times` times, each to what the one before returned."""

    times: int
    function: Lambda
    array: Term
    label: str = ""


class Zip(Struct, frozen=True):
    """T[n], U[n], ... -> <T, U, ...>[n]."""

    arrays: tuple[Term, ...]


class Split(Struct, frozen=True):
    """T[n] -> T[n / size][size]; the size divides n."""

    size: Length
    array: Term


class JoinChunks(Struct, frozen=True):
    """T[m][n] -> T[m * n]: the paper's join."""

    array: Term


class Transpose(Struct, frozen=True):
    """T[m][n] -> T[n][m]."""

    array: Term


class Slide(Struct, frozen=True):
    """T[n] -> T[(n - size) / step + 1][size], windows that begin every `step` elements; the step divides n - size."""

    size: Length
    step: Length
    array: Term


class PadEnds(Struct, frozen=True):
    """T[n] -> T[left + n + right]."""

    left: int
    right: int
    boundary: Boundary
    array: Term


class Reorder(Struct, frozen=True):
    """T[n] -> T[n], the elements in another order, which is left open: any; in the meaning, as they are."""

    array: Term


class ReorderStride(Struct, frozen=True):
    """T[n] -> T[n], element i is the input's i // (n / stride) + stride * (i % (n / stride)); the stride divides n.

    Cut into chunks of n / stride, each chunk has elements that are `stride` apart, and its neighbours their neighbours.
    """

    stride: Length
    array: Term


class ToMemory(Struct, frozen=True):
    """T -> T, kept in a memory: the paper's toLocal (shared) and toGlobal, and toRegisters."""

    memory: MemorySpace
    array: Term


class AsVector(Struct, frozen=True):
    """T[n] -> (vector of T)[n / width], of numbers; the width divides n."""

    width: int
    array: Term


class AsScalar(Struct, frozen=True):
    """(vector of T)[n] -> T[n * width]."""

    array: Term


class Let(Struct, frozen=True):
    """`body`, in which `name` stands for `value`, which is computed once."""

    name: str
    value: Term
    body: Term


Term: TypeAlias = (
    Variable | Formula | ElementaryCall | Tupled | Item | Indexed | Map | Reduce | PartialReduce | PrefixScan | Iterate
    | Zip | Split | JoinChunks | Transpose | Slide | PadEnds | Reorder | ReorderStride | ToMemory | AsVector | AsScalar
    | Let
)  # fmt: skip
"""An expression of patterns."""
PatternNode: TypeAlias = Term | Lambda
Folding: TypeAlias = Reduce | PartialReduce | PrefixScan
"""What combines elements by an operator."""
Applying: TypeAlias = Map | Iterate | Folding
"""What applies a function to elements, or to an array."""

MAPS: Final[Mapping[MapKind, str]] = {
    "map": "map", "seq": "map_seq", "global": "map_global", "block": "map_block", "local": "map_local",
    "warp": "map_warp", "lane": "map_lane",
}  # fmt: skip
MEMORIES: Final[Mapping[MemorySpace, str]] = {"shared": "toShared", "global": "toGlobal", "registers": "toRegisters"}
"""How kinds of maps and memories are written."""
PATTERNS: Final[Mapping[str, tuple[type[Any], Mapping[str, str]]]] = {
    **{name: (Map, {"kind": kind}) for kind, name in MAPS.items()},
    "reduce": (Reduce, {"kind": "reduce"}), "reduce_seq": (Reduce, {"kind": "seq"}), "part_red": (PartialReduce, {}),
    "scan": (PrefixScan, {"kind": "scan"}), "scan_before": (PrefixScan, {"kind": "before"}), "iterate": (Iterate, {}),
    "split": (Split, {}), "join": (JoinChunks, {}), "transpose": (Transpose, {}), "slide": (Slide, {}),
    "pad": (PadEnds, {}), "reorder": (Reorder, {}),
    "reorder_stride": (ReorderStride, {}), "asVector": (AsVector, {}), "asScalar": (AsScalar, {}),
    **{name: (ToMemory, {"memory": memory}) for memory, name in MEMORIES.items()},
}  # fmt: skip
"""What patterns of one array are called, and what the name says of them; they are told their other fields in order."""


def pattern_name(node: Term) -> str:
    """Return the name of a pattern of one array."""
    return next(
        name for name, (kind, said) in PATTERNS.items()
        if type(node) is kind and all(getattr(node, own) == value for own, value in said.items())
    )  # fmt: skip


def told(name: str) -> list[str]:
    """Return the fields of a pattern that stand between its parentheses, the array, the axis and the label apart."""
    kind, said = PATTERNS[name]
    return [own for own in kind.__struct_fields__ if own not in ("array", "axis", "label", *said)]


# ---- what terms are made of --------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _fields(kind: type[PatternNode]) -> tuple[str, ...]:
    """Return the fields that hold terms: one, or a tuple of them."""
    names: tuple[str, ...] = kind.__struct_fields__
    return tuple(name for name in names if name in _TERMS)


_TERMS: Final = frozenset(
    ("arguments", "items", "of", "array", "index", "body", "function", "operator", "start", "arrays", "value")
)


def children(node: PatternNode) -> tuple[PatternNode, ...]:
    """Return the terms and functions that a term, or the body that a function, is made of."""
    found: list[PatternNode] = []
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, tuple):
            found.extend(value)
        elif not isinstance(value, str):
            found.append(value)
    return tuple(found)


def with_children(node: PatternNode, inner: Sequence[PatternNode]) -> PatternNode:
    """Return the same node made of other terms and functions, as many as `children` gives."""
    if all(new is old for new, old in zip(inner, children(node), strict=True)):
        return node
    rest = list(inner)
    changed: dict[str, Any] = {}
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, tuple):
            changed[name] = tuple(rest[: len(value)])
            del rest[: len(value)]
        elif not isinstance(value, str):
            changed[name] = rest.pop(0)
    if isinstance(node, Formula):
        return formula(node.expression, changed["arguments"])
    return replace(node, **changed) if changed else node


def walk(node: PatternNode) -> Iterator[PatternNode]:
    """Yield a term or a function and all that it is made of, each before its parts."""
    yield node
    for each in children(node):
        yield from walk(each)


def sizes_of(node: PatternNode) -> dict[str, Length]:
    """Return the lengths that a pattern is told, by their fields: a size, a step, a stride, a number of parts."""
    return {name: getattr(node, name) for name in ("size", "step", "stride", "parts") if hasattr(node, name)}


def operand(node: PatternNode) -> Term | None:
    """Return what a pattern is applied to; None of what is no pattern."""
    found: Term | None = None if isinstance(node, Indexed) else getattr(node, "array", None)
    return found


def operand_of(node: PatternNode) -> Term:
    """Return what a pattern is applied to."""
    found = operand(node)
    assert found is not None
    return found


def operands(node: PatternNode) -> Iterator[Term]:
    """Yield what a pattern is applied to, what that is applied to, ..."""
    inner = operand(node)
    while inner is not None:
        yield inner
        inner = operand(inner)


def bound(node: PatternNode, place: int) -> tuple[str, ...]:
    """Return the names that a node binds in its child number `place`."""
    match node:
        case Lambda():
            return node.parameters
        case Let():
            return (node.name,) if place == 1 else ()
    return ()


def free(node: PatternNode) -> frozenset[str]:
    """Return the names in a term that nothing in it binds."""
    if isinstance(node, Variable):
        return frozenset({node.name})
    return frozenset().union(*(free(each) - {*bound(node, place)} for place, each in enumerate(children(node))))


def substitute(node: PatternNode, values: Mapping[str, Term]) -> PatternNode:
    """Return a term with others for its free names; names bound in it are changed where they would catch one."""
    if isinstance(node, Variable):
        return values.get(node.name, node)
    outside = free(node)
    values = {name: value for name, value in values.items() if name in outside}
    if not values:
        return node
    match node:
        case Lambda():
            names, body = _renamed(node.parameters, node.body, values)
            return replace(node, parameters=names, body=body)
        case Let():
            (name,), body = _renamed((node.name,), node.body, values)
            return Let(name, term(substitute(node.value, values)), body)
    return with_children(node, [substitute(each, values) for each in children(node)])


def _renamed(names: tuple[str, ...], body: Term, values: Mapping[str, Term]) -> tuple[tuple[str, ...], Term]:
    values = {name: value for name, value in values.items() if name not in names}
    caught = frozenset().union(*(free(value) for value in values.values()))
    taken = caught | free(body) | set(names)
    found = []
    for name in names:
        fresh = fresh_name(name, taken) if name in caught else name
        taken |= {fresh}
        found.append(fresh)
    changed = {name: Variable(new) for name, new in zip(names, found, strict=True) if name != new}
    return tuple(found), term(substitute(body, {**values, **changed}))


def fresh_name(name: str, taken: frozenset[str]) -> str:
    """Return a name like this one that is not taken."""
    number = 2
    stem = name.rstrip("0123456789") or "v"
    while f"{stem}{number}" in taken:
        number += 1
    return name if name not in taken else f"{stem}{number}"


def canonical(node: PatternNode) -> PatternNode:
    """Return a term with bound names by depth and without names and labels: equal where two terms compute alike."""
    return _canonical(node, {}, 0)


def _canonical(node: PatternNode, names: Mapping[str, Variable], depth: int) -> PatternNode:
    match node:
        case Variable():
            return names.get(node.name, node)
        case Lambda():
            own = {name: Variable(f"_{depth + place}") for place, name in enumerate(node.parameters)}
            body = term(_canonical(node.body, {**names, **own}, depth + len(own)))
            return Lambda(tuple(each.name for each in own.values()), body, width=node.width)
        case Let():
            value = term(_canonical(node.value, names, depth))
            own = {node.name: Variable(f"_{depth}")}
            return Let(f"_{depth}", value, term(_canonical(node.body, {**names, **own}, depth + 1)))
        case Formula() if len(node.arguments) > 1:
            given = [term(_canonical(each, names, depth)) for each in node.arguments]
            order = sorted(range(len(given)), key=lambda place: repr(given[place]))
            swapped = {f"x{place}": number_name(f"x{at}") for at, place in enumerate(order)}
            return formula(substituted(node.expression, swapped), [given[place] for place in order])
    if isinstance(node, Applying) and node.label:
        node = replace(node, label="")
    return with_children(node, [_canonical(each, names, depth) for each in children(node)])


def function_of(node: Applying) -> Lambda:
    """Return the function that a pattern applies."""
    return node.function if isinstance(node, Map | Iterate) else node.operator


def label_of(node: PatternNode) -> str:
    """Return the name of a position: a pattern's label, or what its function is called; '' where it has none."""
    if isinstance(node, Applying):
        return node.label or function_of(node).name
    return node.name if isinstance(node, Let) else ""


def term(node: PatternNode) -> Term:
    """Return a node that is a term."""
    assert not isinstance(node, Lambda)
    return node


def function(node: PatternNode) -> Lambda:
    """Return a node that is a function."""
    assert isinstance(node, Lambda)
    return node


# ---- makers ------------------------------------------------------------------------------------------------------


def number(value: bool | int | Fraction | float) -> Formula:
    """Return a number."""
    return Formula(constant(value))


def formula(expression: Expression, arguments: Sequence[Term]) -> Term:
    """Return an expression over x0, x1, ... of arguments, nested formulas merged, each argument once.

    >>> from symbolic.expressions.expression import add
    >>> x, once = number_name("x0"), formula(add(number_name("x0"), constant(1)), [Variable("a")])
    >>> formula(add(x, number_name("x1")), [once, Variable("a")])
    Formula(expression=+(*(2, x0), 1), arguments=(Variable(name='a'),))
    """
    kept: dict[Term, Expression] = {}
    values: dict[str, Expression] = {}
    for place, argument in enumerate(arguments):
        name = f"x{place}"
        if name not in expression.names:
            continue
        inner: tuple[Expression, Sequence[Term]] = (number_name("x0"), (argument,))
        if isinstance(argument, Formula):
            inner = argument.expression, argument.arguments
        own = {f"x{at}": kept.setdefault(each, number_name(f"x{len(kept)}")) for at, each in enumerate(inner[1])}
        values[name] = substituted(inner[0], own)
    made = substituted(expression, values)
    used = [each for each, name in kept.items() if name.value in made.names]
    if len(used) < len(kept):
        made = substituted(made, {kept[each].value: number_name(f"x{at}") for at, each in enumerate(used)})
    return used[0] if made is number_name("x0") else Formula(made, tuple(used))


def applied(called: Lambda, *arguments: Term) -> Term:
    """Return a function's body with arguments for its parameters; the function is not vectorised."""
    assert not called.width and len(arguments) == len(called.parameters)
    return simplified(term(substitute(called.body, dict(zip(called.parameters, arguments, strict=True)))))


def simplified(given: Term) -> Term:
    """Return a term in which items of tuples that stand there are taken."""
    return term(_simplified(given))


def _simplified(node: PatternNode) -> PatternNode:
    node = with_children(node, [_simplified(each) for each in children(node)])
    if isinstance(node, Item) and isinstance(node.of, Tupled):
        return node.of.items[node.place]
    return node


def total(operator: Lambda, start: Term, array: Term) -> Indexed:
    """Return the only element of a reduction: T[n] -> T."""
    return Indexed(Reduce(operator, start, array), number(0))


IDENTITY: Final = Lambda(("x",), Variable("x"), "id")
