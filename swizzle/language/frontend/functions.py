"""Functions on data in a kernel's expressions: `math.exp(v)`, and `where`, whose condition may compare data."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Final

from msgspec.structs import replace

from swizzle.language.frontend import operators
from swizzle.language.frontend.expressions import ExpressionReader
from swizzle.language.frontend.operators import BOOL, INDEX, FloatLiteral, Value
from swizzle.language.frontend.scope import ComparisonName
from swizzle.language.operators import FixedWord, WordsFunction
from symbolic.algebra.operator_laws import FLOATS
from symbolic.algebra.states import packing, word_of
from symbolic.errors import Place, SwizzleError
from symbolic.ir.functions import External, MathFunction, where
from symbolic.ir.program import Apply, Assign, Binary, Const, DType, Expr, OperatorName, Select, Stmt, Var
from symbolic.ir.python_text import COMPARE_OPS

_BITS: Final = {ast.BitAnd: ast.And, ast.BitOr: ast.Or}


def read_function(
    reader: ExpressionReader, row: MathFunction | External, nodes: Sequence[ast.expr], place: Place
) -> Value:
    """Read a call of a function; its operands and its result have one type. Of numbers it is a number."""
    values = [reader.value(node) for node in nodes]
    if isinstance(row, External):
        return _external(row, values, place)
    name = row.text(["..."])
    if all(isinstance(v, FloatLiteral) or (isinstance(v, Const) and v.dtype is INDEX) for v in values):
        found = float(row.on_numbers([float(v.value) for v in values if isinstance(v, Const | FloatLiteral)]))
        return FloatLiteral(found, place)
    first = next((v for v in values if (operators.dtype_of(v) or INDEX).is_data), values[0])
    for value in values:
        operators.common_dtype(first, value, f"`{name}`", place)
    dtype = operators.dtype_of(first) or INDEX
    if dtype not in FLOATS:
        kind = "an index" if dtype is INDEX else f"{dtype.value} data"
        *some, last = (each.value for each in DType if each in FLOATS)
        takes = f"{', '.join(some)} or {last}"
        operators.fail(place, f"`{name}` of {kind}", f"{takes} data", "convert it: f32(...)")
    return Apply(row.name, tuple(operators.coerce(v, dtype, f"an operand of `{name}`") for v in values), dtype, place)


def _external(row: External, values: Sequence[Value], place: Place) -> Value:
    """Return a call of a function of the user's own, whose operands have types of their own."""
    name = f"`{row.symbol}(...)`"
    if all(isinstance(v, FloatLiteral) or (isinstance(v, Const) and v.dtype is INDEX) for v in values):
        found = row.on_numbers([v.value for v in values if isinstance(v, Const | FloatLiteral)])
        return FloatLiteral(float(found), place) if row.gives.is_float else Const(int(found), row.gives, place)
    operands = [
        operators.coerce(value, kind, f"the argument {operand} of {name}")
        for value, kind, operand in zip(values, row.kinds, row.operands, strict=True)
    ]
    return Apply(row.name, tuple(operands), row.gives, place)


def read_words(
    reader: ExpressionReader, function: WordsFunction, nodes: Sequence[ast.expr], place: Place
) -> tuple[Value, ...]:
    """Read a call of a function on words, each of which has a type of its own; return its values. A state is all of
    its words."""
    values = [reader.value(node) for node in nodes]
    if len(values) == function.takes and function.state is not None:
        return _of_states(function, function.state, values, place)
    words = tuple(
        operators.coerce(value, dtype, f"{name} of `{function.name}`")
        for value, dtype, name in zip(values, function.given, function.operands, strict=True)
    )
    return _values(function, words, place)


def _of_states(
    function: WordsFunction, operator: OperatorName, values: Sequence[Value], place: Place
) -> tuple[Value, ...]:
    """Return the values of a function of states."""
    states = [operators.coerce(value, DType.STATE, f"an operand of `{function.name}`") for value in values]
    if function.gives:
        return (Binary(operator, states[0], states[1], DType.STATE, place),)
    words = tuple(
        Apply(word_of(operator, word), (states[0],), kind, place) for word, kind in enumerate(operator.law.kinds)
    )
    return _values(function, words, place)


def made_state(operator: OperatorName, words: Sequence[Value], place: Place) -> Expr:
    """Return the state that has these words."""
    kinds = operator.law.kinds
    given = (operators.coerce(word, kind, "a word") for word, kind in zip(words, kinds, strict=True))
    return Apply(packing(operator), tuple(given), DType.STATE, place)


def _values(function: WordsFunction, words: tuple[Expr, ...], place: Place) -> tuple[Value, ...]:
    found: list[Value] = []
    for each in function.values:
        match each:
            case int():
                found.append(words[each])
            case FixedWord():
                found.append(Const(each.value, each.result, place))
            case _:
                found.append(Apply(each.name, words, each.result, place))
    return tuple(found)


def read_where(reader: ExpressionReader, nodes: Sequence[ast.expr], place: Place) -> Value:
    """Read `where(condition, x, y)`: comparisons of data become functions, those of indices `... if ... else ...`."""
    condition, then, otherwise = nodes
    yes, no = reader.value(then), reader.value(otherwise)
    if operators.dtype_of(yes) is BOOL or operators.dtype_of(no) is BOOL:
        operators.fail(place, "`where` of conditions", "data or indices", "combine conditions with `and` and `or`")
    return chosen_by_data(reader, condition, yes, no, place)


def chosen_by_data(reader: ExpressionReader, node: ast.expr, yes: Value, no: Value, place: Place) -> Value:
    """Read a condition that may be a comparison of data, as the choice of one of two values by it."""
    match node:
        case ast.Name(id=name) if (known := _named(reader, name)) is not None:
            if name not in reader.scope.assigned:
                reader.local(node)  # it may have no value here
            return _chosen_by(known, yes, no, place)
        case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand) if _compares(reader, operand):
            return chosen_by_data(reader, operand, no, yes, place)
        case ast.BoolOp(op=op, values=nodes):
            return _combined(reader, type(op), nodes, yes, no, place)
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() as op, right=right) if _compares(reader, left):
            return _combined(reader, _BITS[type(op)], [left, right], yes, no, place)
        case ast.Compare(left=left, ops=ops, comparators=nodes):
            sides = [reader.value(side) for side in (left, *nodes)]
            if any((operators.dtype_of(side) or INDEX).is_data for side in sides):
                for link, a, b in reversed(list(zip(ops, sides, sides[1:], strict=False))):
                    if type(link) not in COMPARE_OPS:
                        reader.mistake(node, "`is` or `in` in a kernel", "== != < <= > >=", "compare with one of these")
                    yes = _by_comparison(COMPARE_OPS[type(link)], a, b, yes, no, place)
                return yes
    condition = reader.condition(node, "the condition of `where`")
    if isinstance(condition, Const):
        return replace(yes if condition.value else no, place=place)
    return operators.select(condition, yes, no, place)


def _compares(reader: ExpressionReader, node: ast.expr) -> bool:
    if isinstance(node, ast.Name):
        return _named(reader, node.id) is not None
    return isinstance(node, ast.Compare | ast.BoolOp | ast.BinOp | ast.UnaryOp)


def _named(reader: ExpressionReader, name: str) -> ComparisonName | None:
    found = None if name in reader.bound else reader.scope.meanings.get(name)
    return found if isinstance(found, ComparisonName) else None


def _chosen_by(known: ComparisonName, yes: Value, no: Value, place: Place) -> Value:
    """Return the choice by a comparison that has a name."""
    match known.op, known.parts:
        case "not", (ComparisonName() as inner,):
            return _chosen_by(inner, no, yes, place)
        case ("and" | "or") as op, (ComparisonName() as first, ComparisonName() as second):
            inner_value = _chosen_by(second, yes, no, place)
            return _chosen_by(first, *((inner_value, no) if op == "and" else (yes, inner_value)), place)
        case "index", (condition,):
            assert isinstance(condition, Const | Var)
            return operators.select(condition, yes, no, place)
        case op, (a, b):
            assert not isinstance(a, ComparisonName) and not isinstance(b, ComparisonName)
            return _by_comparison(op, a, b, yes, no, place)
    raise AssertionError(known)


def named_comparison(reader: ExpressionReader, target: ast.expr, node: ast.expr) -> list[Stmt] | None:
    """Read `c = a < b` of data, whose operands are kept for each `where(c, x, y)`; None for other assignments."""
    if not isinstance(target, ast.Name) or not is_of_data(reader, node):
        return None
    earlier = reader.scope.meanings.get(target.id)
    if earlier is not None and not isinstance(earlier, ComparisonName):
        reader.mistake(target, f"{target.id} is a variable already", "a name of its own", "use another name")
    kept: list[Stmt] = []
    names = iter(_variables(earlier) if earlier else ())
    found = _read(reader, node, target.id, names, kept)
    if earlier is not None and spelled(found) != spelled(earlier):
        reader.mistake(
            target, f"{target.id} becomes a comparison of another form",
            f"the form that it has: {spelled(earlier)}", "use another name",
        )  # fmt: skip
    reader.scope.declare(target.id, found)
    return kept


def spelled(known: ComparisonName) -> str:
    """Return the form of a comparison, by the types of its operands."""
    parts = [
        spelled(p) if isinstance(p, ComparisonName) else p.dtype.value if isinstance(p, Var) else str(p.value)
        for p in known.parts
    ]
    return f"{known.op}({', '.join(parts)})"


def _variables(known: ComparisonName) -> Iterator[str]:
    for part in known.parts:
        if isinstance(part, ComparisonName):
            yield from _variables(part)
        elif isinstance(part, Var):
            yield part.name


def is_of_data(reader: ExpressionReader, node: ast.expr) -> bool:
    """Say whether a node is a comparison of data: whether it is refused as a condition for that."""
    bits = not isinstance(node, ast.BinOp) or type(node.op) in _BITS
    compared = (
        isinstance(n, ast.Compare) or (isinstance(n, ast.Name) and _named(reader, n.id)) for n in ast.walk(node)
    )
    if not _compares(reader, node) or not bits or not any(compared):
        return False
    before, holes = reader.before, len(reader.holes)
    reader.before = []
    try:
        found = reader.value(node)
    except SwizzleError as error:
        return error.found.startswith("data-dependent control") or "a comparison of data, where" in error.found
    finally:
        reader.before = before
        del reader.holes[holes:]
    return found is None


def _read(
    reader: ExpressionReader, node: ast.expr, wish: str, names: Iterator[str], kept: list[Stmt]
) -> ComparisonName:  # fmt: skip
    """Read a comparison, and put what keeps its operands into `kept`."""

    def inner(*nodes: ast.expr) -> tuple[ComparisonName, ...]:
        return tuple(_read(reader, each, wish, names, kept) for each in nodes)

    def keep(value: Expr) -> Const | Var:
        if isinstance(value, Const) and reader.scope.is_bound_once(wish):
            return value
        name = next(names, "") or reader.scope.fresh(f"{wish}_{len(kept)}")
        kept.append(Assign(name, value, place))
        return Var(name, value.dtype, place)

    place = reader.kernel.source.place(node)
    match node:
        case ast.Name(id=name) if (known := _named(reader, name)) is not None:
            return _copied(known, keep)
        case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand):
            return ComparisonName("not", inner(operand))
        case ast.BoolOp(op=op, values=[first, *rest]):
            found = inner(first)[0]
            for each in rest:
                found = ComparisonName("and" if isinstance(op, ast.And) else "or", (found, *inner(each)))
            return found
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() as op, right=right):
            return ComparisonName("and" if isinstance(op, ast.BitAnd) else "or", inner(left, right))
        case ast.Compare(left=left, ops=ops, comparators=nodes):
            sides = [reader.value(side) for side in (left, *nodes)]
            if any((operators.dtype_of(side) or INDEX).is_data for side in sides):
                links = list[ComparisonName]()
                for link, a, b in zip(ops, sides, sides[1:], strict=False):
                    if type(link) not in COMPARE_OPS:
                        reader.mistake(node, "`is` or `in` in a kernel", "== != < <= > >=", "compare with one of these")
                    compared = operators.common_dtype(a, b, f"`{COMPARE_OPS[type(link)]}`", place)
                    pair = [keep(operators.coerce(side, compared, "a side of a comparison")) for side in (a, b)]
                    links.append(ComparisonName(COMPARE_OPS[type(link)], tuple(pair)))
                return reduce(lambda one, other: ComparisonName("and", (one, other)), links)
    condition = reader.condition(node, "a part of a comparison")
    return ComparisonName("index", (keep(condition),))


def _copied(known: ComparisonName, keep: Callable[[Expr], Const | Var]) -> ComparisonName:
    parts = tuple(_copied(part, keep) if isinstance(part, ComparisonName) else keep(part) for part in known.parts)
    return ComparisonName(known.op, parts)


def _combined(
    reader: ExpressionReader, op: type[ast.boolop], nodes: Sequence[ast.expr], yes: Value, no: Value, place: Place
) -> Value:
    first, *rest = nodes
    if not rest:
        return chosen_by_data(reader, first, yes, no, place)
    inner = _combined(reader, op, rest, yes, no, place)
    return chosen_by_data(reader, first, *((inner, no) if op is ast.And else (yes, inner)), place)


def _is_literal(value: Value) -> bool:
    """Say whether a value is a literal, or a choice between literals by indices."""
    if isinstance(value, Select):
        return value.dtype is INDEX and _is_literal(value.then) and _is_literal(value.otherwise)
    return isinstance(value, FloatLiteral) or (isinstance(value, Const) and value.dtype is INDEX)


def _as_data(value: Value, dtype: DType) -> Value:
    if isinstance(value, Select) and value.dtype is INDEX:
        then, otherwise = (
            operators.coerce(_as_data(v, dtype), dtype, "a value of `where`") for v in (value.then, value.otherwise)
        )
        return replace(value, then=then, otherwise=otherwise, dtype=dtype)
    return value


def _by_comparison(op: str, a: Value, b: Value, yes: Value, no: Value, place: Place) -> Expr:
    compared = operators.common_dtype(a, b, f"`{op}`", place)
    dtype = operators.common_dtype(yes, no, "`where`", place, moves=True)
    operators.refuse_state(dtype, "`where`", place)
    if _is_literal(yes) and _is_literal(no):
        dtype = compared  # as literals do beside data
        yes, no = _as_data(yes, dtype), _as_data(no, dtype)
    if not dtype.is_data:
        operators.fail(
            place, "data-dependent control: `where` chooses between indices by data",
            "data to choose between: data never steers an index or a branch",
            "convert them to data, as in where(a < b, f32(i), f32(j))",
        )  # fmt: skip
    sides = [operators.coerce(side, compared, f"an operand of `{op}`") for side in (a, b)]
    values = [operators.coerce(value, dtype, "a value of `where`") for value in (yes, no)]
    return Apply(where(op).name, (*sides, *values), dtype, place)
