"""Loops over constants: tuples, and `enumerate` and `zip` of tuples and ranges.

    for m in (16, 8, 4, 2, 1):              for m_index in range(5):
        v += shuffled(v, m)          is         m = 16 >> m_index
                                                v += shuffled(v, m)

So a loop over constants is a loop like any other: its body stands in the program once, and a hole in it is one hole.
Each variable is a formula of the loop's index: a constant, a progression, halves or doubles. What has no such formula
is chosen by comparisons of the index.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final, NoReturn, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from swizzle.language.frontend import operators
from swizzle.language.frontend.expressions import ExpressionReader
from swizzle.language.frontend.operators import INDEX, settled
from swizzle.language.frontend.resolve import spell
from swizzle.language.frontend.scope import ArrayName
from symbolic.errors import Place
from symbolic.ir.program import Assign, BinaryOp, Compare, Const, DType, Expr, Var

MOST: Final = 1024
CHAIN: Final = 8
"""As many values are compared with one after the other."""
Taken: TypeAlias = "Const | tuple[Taken, ...]"
"""What one iteration takes: a constant, or a tuple for several variables."""


class LoopVariable(Struct, frozen=True):
    """A variable of a loop over constants, and its value in each iteration."""

    target: ast.Name
    values: tuple[Const, ...]

    @property
    def dtype(self) -> DType:
        return self.values[0].dtype if self.values else INDEX


def read_columns(reader: ExpressionReader, node: ast.For) -> tuple[int, list[LoopVariable]]:
    """Return how often a loop over constants runs, and its variables."""
    items = _items(reader, node.iter)
    if items is None:
        found = reader.scope.meanings.get(node.iter.id) if isinstance(node.iter, ast.Name) else None
        reader.mistake(
            node.iter,
            f"a loop over {spell(node.iter)}",
            "range(...), or constants: a tuple, or enumerate or zip of tuples and ranges",
            f"write `for i in range(len({spell(node.iter)})):`, and use {spell(node.iter)}[i]"
            if isinstance(found, ArrayName)
            else "write `for i in range(n):`",
        )
    if len(items) > MOST:
        reader.mistake(
            node.iter, f"a loop over {len(items)} constants", f"at most {MOST}", "write `for i in range(n):`"
        )
    columns = list(_columns(reader, node.target, items))
    names = [column.target.id for column in columns]
    for column in columns:
        if names.count(column.target.id) > 1:
            reader.mistake(
                column.target,
                f"{column.target.id} stands twice among the loop variables",
                "different names",
                fix="rename one of them",
            )
        other = next((value for value in column.values if value.dtype is not column.dtype), None)
        if other is not None:
            operators.fail(
                other.place,
                f"{column.target.id} is {operators.describe(column.values[0])} and {operators.describe(other)}",
                "constants of one dtype",
                "write each of them with its dtype, as in f32(1)",
            )
    return len(items), columns


def as_progression(column: LoopVariable) -> tuple[int, int] | None:
    """Return the first value and the step of different indices that are equally far from each other, or None."""
    if column.dtype is not INDEX or not column.values:
        return None
    numbers = [int(value.value) for value in column.values]
    step = numbers[1] - numbers[0] if len(numbers) > 1 else 1
    return (numbers[0], step) if step and numbers == [numbers[0] + step * n for n in range(len(numbers))] else None


def assignment_of(column: LoopVariable, name: str, index: Expr, place: Place) -> Assign:
    """Return the assignment that gives a variable its value in the iteration `index`, counted from 0."""
    return Assign(name, _value(column, index, place), place)


def _value(column: LoopVariable, index: Expr, place: Place) -> Expr:
    values = column.values
    if not values:
        return Const(0, INDEX, place)
    numbers = [value.value for value in values]

    def joined(op: BinaryOp, left: Expr | int, right: Expr | int) -> Expr:
        sides = [Const(side, INDEX, place) if isinstance(side, int) else side for side in (left, right)]
        return settled(operators.binary(op, sides[0], sides[1], place))

    progression = as_progression(column)
    if progression is not None:
        first, step = progression
        scaled = index if step == 1 else joined("*", index, abs(step))
        return joined("-", first, scaled) if step < 0 else joined("+", scaled, first) if first else scaled
    if column.dtype is INDEX and isinstance(numbers[0], int) and numbers[0] > 0:
        shifts: tuple[BinaryOp, BinaryOp] = (">>", "<<")
        for op in shifts:
            if numbers == [numbers[0] >> n if op == ">>" else numbers[0] << n for n in range(len(numbers))]:
                return joined(op, numbers[0], index)
    runs = [(n, value) for n, value in enumerate(values) if n == 0 or repr(value.value) != repr(values[n - 1].value)]
    return _chosen(runs, index, place)


def _chosen(runs: Sequence[tuple[int, Const]], index: Expr, place: Place) -> Expr:
    """Choose by comparisons among values that begin at some indices: one after the other, or by halves if many."""
    if len(runs) == 1:
        return replace(runs[0][1], place=place)
    middle = 1 if len(runs) <= CHAIN else len(runs) // 2
    below = Compare("<", index, Const(runs[middle][0], INDEX, place), place)
    left, right = (_chosen(part, index, place) for part in (runs[:middle], runs[middle:]))
    return settled(operators.select(below, left, right, place))


# ---- reading ---------------------------------------------------------------------------------------------------


def _items(reader: ExpressionReader, node: ast.expr) -> Sequence[Taken] | None:
    """Return what a loop over `node` takes in its iterations, or None where that is not constants."""
    match node:
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return [_literal(reader, element) for element in elements]
        case ast.Call(func=function, args=arguments, keywords=keywords):
            found = reader.resolve(function)
            if found is range:
                return _range(reader, node)
            if found is zip and arguments and not keywords:
                rows = [_inner(reader, argument) for argument in arguments]
                if len({len(row) for row in rows}) > 1:
                    lengths = " and ".join(str(len(row)) for row in rows)
                    reader.mistake(
                        node, f"zip of {lengths} constants", "as many in each", "leave out those that have no partner"
                    )
                return list(zip(*rows, strict=True))
            if found is enumerate:
                return _enumerated(reader, node)
            return None
        case ast.Attribute(value=ast.Name(id=name), attr="shape") if isinstance(
            reader.scope.meanings.get(name), ArrayName
        ):
            return [_constant(reader, value, node) for value in reader.several(node) or ()]
    static = reader.resolve(node) if isinstance(node, ast.Name | ast.Attribute) else None
    return [_static(reader, part, node) for part in static] if isinstance(static, tuple) else None


def _inner(reader: ExpressionReader, node: ast.expr) -> Sequence[Taken]:
    """Read an argument of `enumerate` or `zip`."""
    items = _items(reader, node)
    if items is None:
        meaning = reader.scope.meanings.get(node.id) if isinstance(node, ast.Name) else None
        reader.mistake(
            node,
            f"a loop over {spell(node)}, whose elements are no constants",
            "tuples of constants, and ranges",
            f"write `for i in range(len({spell(node)})):`, and use {spell(node)}[i]"
            if isinstance(meaning, ArrayName)
            else "write `for i in range(n):`",
        )
    return items


def _range(reader: ExpressionReader, node: ast.Call) -> Sequence[Taken]:
    if node.keywords or not 1 <= len(node.args) <= 3:
        wrong_range(reader, node)
    bounds = [reader.static(argument, "a bound of this range") for argument in node.args]
    if len(bounds) == 3 and bounds[2] == 0:
        reader.mistake(node.args[2], "a step of 0", "a step up or down", fix="write 1 or -1, or leave it out")
    place = reader.kernel.source.place(node)
    numbers = range(*bounds)
    if len(numbers) > MOST:
        reader.mistake(node, f"a loop over {len(numbers)} constants", f"at most {MOST}", "write `for i in range(n):`")
    return [Const(number, INDEX, place) for number in numbers]


def wrong_range(reader: ExpressionReader, node: ast.Call) -> NoReturn:
    """Refuse what are not arguments of `range`."""
    reader.mistake(
        node,
        "a wrong call of range",
        "range(stop), range(start, stop) or range(start, stop, step)",
        fix="give it one to three ints",
    )


def _enumerated(reader: ExpressionReader, node: ast.Call) -> Sequence[Taken]:
    starts = [*node.args[1:], *(keyword.value for keyword in node.keywords if keyword.arg == "start")]
    if not node.args or len(starts) > 1 or len(node.args) + len(node.keywords) != 1 + len(starts):
        reader.mistake(
            node,
            "a wrong call of enumerate",
            "enumerate(constants) or enumerate(constants, start)",
            fix="give it the constants, and the number of the first",
        )
    first = reader.static(starts[0], "the start of enumerate") if starts else 0
    place = reader.kernel.source.place(node)
    return [(Const(first + n, INDEX, place), item) for n, item in enumerate(_inner(reader, node.args[0]))]


def _literal(reader: ExpressionReader, node: ast.expr) -> Taken:
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(_literal(reader, element) for element in node.elts)
    static = reader.resolve(node) if isinstance(node, ast.Name | ast.Attribute) else None
    return _static(reader, static, node) if isinstance(static, tuple) else _constant(reader, reader.value(node), node)


def _static(reader: ExpressionReader, value: object, node: ast.expr) -> Taken:
    if isinstance(value, tuple):
        return tuple(_static(reader, part, node) for part in value)
    return _constant(reader, reader.constant(value, node), node)


def _constant(reader: ExpressionReader, value: operators.Value, node: ast.expr) -> Const:
    """Return a value that the loop takes as a constant, or refuse it."""
    if isinstance(value, operators.FloatLiteral):
        reader.mistake(
            node, f"the float {value.value} among the values of a loop has no dtype", "a dtype that it is given",
            f"write the values where the loop is, each with its type: (f32({value.value}), ...)",
        )  # fmt: skip
    expr = settled(value)
    number = reader.known(expr) if expr.dtype is INDEX else None
    if number is not None:
        return Const(number, INDEX, expr.place)
    if not isinstance(expr, Const):
        reader.mistake(
            node,
            f"{spell(node)} among the values of a loop, which is not a constant",
            "numbers that are known before the kernel runs",
            "write a line for each, or keep them in a local array",
        )
    return expr


def _columns(reader: ExpressionReader, target: ast.expr, items: Sequence[Taken]) -> Iterator[LoopVariable]:
    """Yield the variables of a target, with what they take of the items."""
    if isinstance(target, ast.Name):
        constants = [item for item in items if isinstance(item, Const)]
        if len(constants) < len(items):
            several = next(item for item in items if not isinstance(item, Const))
            reader.mistake(
                target, f"{len(several)} values for the loop variable {target.id}", "a variable for each",
                f"write `for {', '.join('abcdefgh'[: len(several)])} in ...:`",
            )  # fmt: skip
        yield LoopVariable(target, tuple(constants))
        return
    if not isinstance(target, ast.Tuple | ast.List) or any(isinstance(e, ast.Starred) for e in target.elts):
        reader.mistake(
            target,
            "a loop variable that is not a name",
            "one name, or names for the values of a tuple",
            fix="write `for v in ...` or `for v, w in ...`",
        )
    for item in items:
        if isinstance(item, Const) or len(item) != len(target.elts):
            found = "one value" if isinstance(item, Const) else f"{len(item)} values"
            reader.mistake(
                target,
                f"{found} for {len(target.elts)} loop variables",
                "a variable for each value",
                fix="write as many names as a value has parts",
            )
    for position, element in enumerate(target.elts):
        yield from _columns(reader, element, [item[position] for item in items if not isinstance(item, Const)])


def index_of(first: int, variable: Var, place: Place) -> Expr:
    """Return the iteration, counted from 0, of a loop whose variable counts from `first` on."""
    return settled(operators.binary("-", variable, Const(first, INDEX, place), place)) if first else variable
