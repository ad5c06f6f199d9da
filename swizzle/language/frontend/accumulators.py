"""Accumulators in a kernel: their declaration and their `accumulate` statement (paper, section 4.2).

Accumulators of operators on several words, as variables and arrays of states that are combined.

Nothing behind the front end knows them: `out.accumulate(s)` is `out = op.combine(out, s)`. An operator without words of
no element has a variable beside each accumulator, which says whether anything is in it yet.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial, reduce
from typing import cast

from msgspec.structs import replace

from swizzle.language.frontend import operators
from swizzle.language.frontend.calls import Arguments
from swizzle.language.frontend.expressions import ExpressionReader
from swizzle.language.frontend.resolve import element_type
from swizzle.language.frontend.scope import AccumulatorName
from swizzle.language.operators import SPELLINGS, Operator, ScanOperator, find_operator, known_names
from swizzle.language.other_names import here
from swizzle.language.parameters import given_operators
from swizzle.language.surface import ELEMENT_TYPES
from symbolic.algebra.operator_laws import Law, law_of
from symbolic.algebra.states import StateLaw, packing
from symbolic.errors import Place, near
from symbolic.ir.program import (
    Accumulate,
    AccumulatorValue,
    Apply,
    Assign,
    Binary,
    Cast,
    Compare,
    Const,
    DeclareAccumulator,
    DeclareArray,
    DType,
    Expr,
    For,
    If,
    Load,
    OperatorName,
    Program,
    ReductionOp,
    Select,
    Stmt,
    Store,
    Unary,
    Var,
)
from symbolic.ir.program import Final as FinalFunction
from symbolic.ir.walk import Body, FreshNames, all_names, map_bodies, rewrite_program, statements, subexpressions


def with_combined_states(program: Program) -> Program:
    """Return the program with variables and arrays of states in the place of accumulators of states."""
    found = {
        stmt.name: stmt
        for stmt in statements(program.body)
        if isinstance(stmt, DeclareAccumulator) and combines_words(stmt)
    }
    return _Lowered(program, found).program() if found else program


def combines_words(stmt: DeclareAccumulator) -> bool:
    """Say whether an accumulator is one of words of a scan's operator."""
    return isinstance(stmt.outer, OperatorName) and isinstance(stmt.outer.law, StateLaw)


class _Lowered:
    def __init__(self, program: Program, found: dict[str, DeclareAccumulator]) -> None:
        self.whole, self.found = program, found
        fresh = FreshNames(all_names(program))
        given = {s.accumulator for s in statements(program.body) if isinstance(s, Accumulate) and s.begins}
        begun = (name for name, each in found.items() if _empty(each) is None and name not in given)
        self.begun = {name: fresh.take(f"{name}_begun") for name in begun}
        self.loops = {name: [fresh.take(f"{name}_{axis}") for axis in "ijk"] for name in found}

    def program(self) -> Program:
        arrays = tuple(
            DeclareArray(name, "local", each.shape, each.dtype, each.place)
            for name, each in self.found.items()
            if each.shape
        )
        body = (*arrays, *self._body(self.whole.body))
        return rewrite_program(replace(self.whole, body=body), self._value)

    def _value(self, expr: Expr) -> Expr:
        if isinstance(expr, AccumulatorValue) and expr.accumulator in self.found:
            return self._read(self.found[expr.accumulator], expr.indices, expr.place)
        return expr

    @staticmethod
    def _read(declared: DeclareAccumulator, indices: tuple[Expr, ...], place: Place) -> Expr:
        if declared.shape:
            return Load(declared.name, indices, declared.dtype, place)
        return Var(declared.name, declared.dtype, place)

    @staticmethod
    def _written(declared: DeclareAccumulator, indices: tuple[Expr, ...], value: Expr, place: Place) -> Assign | Store:
        return Store(declared.name, indices, value, place) if declared.shape else Assign(declared.name, value, place)

    def _body(self, body: Body) -> Body:
        return tuple(each for stmt in body for each in self._statement(stmt))

    def _statement(self, stmt: Stmt) -> Iterator[Stmt]:
        match stmt:
            case DeclareAccumulator(name=name) if name in self.found:
                yield self._emptied(stmt)
                if name in self.begun:
                    yield Assign(self.begun[name], Const(0, DType.INDEX, stmt.place), stmt.place)
            case Accumulate(accumulator=name, operands=(state,), begins=True):
                yield self._everywhere(self.found[name], state, stmt.place)
            case Accumulate(accumulator=name) if name in self.found:
                found = tuple(self._accumulated(stmt))
                yield from found if stmt.condition is None else (If(stmt.condition, found, (), stmt.place),)
            case _:
                yield map_bodies(stmt, self._body)

    def _emptied(self, stmt: DeclareAccumulator) -> Stmt:
        law, place = stmt.outer.law, stmt.place  # type: ignore[union-attr]
        numbers = _empty(stmt) or (0,) * len(law.kinds)
        words = tuple(Const(value, kind, place) for value, kind in zip(numbers, law.kinds, strict=True))
        assert isinstance(stmt.outer, OperatorName)
        state = words[0] if len(words) == 1 else Apply(packing(stmt.outer), words, DType.STATE, place)
        return self._everywhere(stmt, state, place)

    def _everywhere(self, stmt: DeclareAccumulator, state: Expr, place: Place) -> Stmt:
        """Return what gives a state to each of an array of accumulators, or to the only one."""
        counters = self.loops[stmt.name][: len(stmt.shape)]
        found: Stmt = self._written(stmt, tuple(Var(each, DType.INDEX, place) for each in counters), state, place)
        for counter, extent in reversed(list(zip(counters, stmt.shape, strict=True))):
            start, stop, step = (Const(value, DType.INDEX, place) for value in (0, extent, 1))
            found = For(counter, start, stop, step, (found,), place)
        return found

    def _accumulated(self, stmt: Accumulate) -> Iterator[Stmt]:
        declared, place = self.found[stmt.accumulator], stmt.place
        operand = reduce(partial(_joined, declared, place), stmt.operands)
        joined = _joined(declared, place, self._read(declared, stmt.indices, place), operand)
        begun = self.begun.get(stmt.accumulator)
        if begun is not None:
            here = Compare("==", Var(begun, DType.INDEX, place), Const(1, DType.INDEX, place), place)
            joined = Select(here, joined, operand, declared.dtype, place)
        written = self._written(declared, stmt.indices, joined, place)
        if begun is None:
            yield replace(written, accumulates=True)
        else:
            yield written
            yield Assign(begun, Const(1, DType.INDEX, place), place, accumulates=True)


def _joined(declared: DeclareAccumulator, place: Place, first: Expr, then: Expr) -> Expr:
    """Return what an accumulator's operator makes of two states."""
    assert isinstance(declared.outer, OperatorName)
    if declared.dtype is DType.STATE:
        return Binary(declared.outer, first, then, DType.STATE, place)
    return Apply(declared.outer.law.combine[0], (first, then), declared.dtype, place)


def _empty(stmt: DeclareAccumulator) -> tuple[int | float, ...] | None:
    found: tuple[int | float, ...] | None = stmt.outer.law.empty  # type: ignore[union-attr]
    return found


def read_accumulator(reader: ExpressionReader, name: str, arguments: Arguments, node: ast.stmt) -> DeclareAccumulator:
    """Read `name = accumulator(...)`."""
    if isinstance(own := reader.resolve(arguments["dtype"]), ScanOperator):
        return _of_words(reader, name, own, arguments, node)
    dtype = read_element_type(reader, arguments["dtype"])
    if dtype.is_narrow:
        reader.mistake(
            arguments["dtype"],
            f"an accumulator of {dtype.value}",
            "one of 32 or 64 bits: integers of 8 and 16 bits are loaded, moved, converted and stored",
            "accumulate in i32: out.accumulate(i32(a), i32(b))",
        )
    if _given(arguments, "outer") is None:
        reader.mistake(
            node, f"an accumulator of {dtype.value} without its operator", 'accumulator(f32, outer="+")',
            f'write accumulator({dtype.value}, outer="+"); the operator of a scan is its own: accumulator(op)',
        )  # fmt: skip
    outer = _operator(reader, arguments["outer"], "outer", dtype)
    inner_node = _given(arguments, "inner")
    inner = None if inner_node is None else _operator(reader, inner_node, "inner", dtype)
    init_node = _given(arguments, "init")
    init = None
    if init_node is not None:
        value = reader.data(init_node, dtype, "init")
        if not isinstance(value, Const):
            reader.mistake(init_node, "init is not a constant", "a number", "accumulate what varies")
        init = value
    law = law_of(outer)
    if law.own and law.identity is None and init is None:
        reader.mistake(node, f"an accumulator by {outer}, which has no identity, without init",
                       "a number to begin with", "write init=...")  # fmt: skip
    final_node = _given(arguments, "final")
    final = None if final_node is None else _final(reader, final_node, dtype)
    shape_node = _given(arguments, "shape")
    shape = () if shape_node is None else reader.shape(shape_node, "an accumulator")
    return DeclareAccumulator(name, outer, inner, init, final, shape, dtype, reader.kernel.source.place(node))


def accumulator_name(declared: DeclareAccumulator, operator: str = "") -> AccumulatorName:
    """Return what the name of an accumulator stands for, which combines words by a scan's operator if it is named."""
    sums = (declared.outer, declared.inner, declared.final) == ("+", "*", None)
    return AccumulatorName(
        declared.dtype, declared.shape, declared.inner is not None, operator=operator, sums_products=sums
    )


def _of_words(
    reader: ExpressionReader, name: str, operator: ScanOperator, arguments: Arguments, node: ast.stmt
) -> DeclareAccumulator:
    """Read `name = accumulator(op)` of an operator that was found and proved."""
    for given in ("outer", "inner", "final"):
        if (what := _given(arguments, given)) is not None:
            reader.mistake(
                what, f"{given}= of an accumulator by {operator.name}",
                f"accumulator({operator.name}), a state to begin with, init=, and a shape",
                f"take what is wanted of it behind: {operator.name}.result(out.value)" if given == "final" else
                f"leave it out: states are combined by {operator.name}",
            )  # fmt: skip
    law = operator.operator
    if law is None:
        reader.mistake(node, f"an accumulator by {operator.name}, which has no words", "an operator on words",
                       "leave it out: its result is the same for all inputs")  # fmt: skip
    shape_node = _given(arguments, "shape")
    shape = () if shape_node is None else reader.shape(shape_node, "an accumulator")
    if shape and law.law.empty is None and _given(arguments, "init") is None:
        reader.mistake(
            node, f"accumulators with a shape by {operator.name}, which has no identity, without init",
            "a state to begin with", f"write init={operator.name}.lift(...), or an accumulator for each of them",
        )  # fmt: skip
    dtype = _dtype(operator, law)
    place = reader.kernel.source.place(node)
    return DeclareAccumulator(name, cast(ReductionOp, law), None, None, None, shape, dtype, place)


def read_beginning(
    reader: ExpressionReader, declared: DeclareAccumulator, arguments: Arguments, node: ast.stmt
) -> tuple[Accumulate, ...]:
    """Read the state with which an accumulator of states begins, `init=op.lift(x[0])`, if one is given."""
    init = _given(arguments, "init")
    if init is None:
        return ()
    state = reader.data(init, declared.dtype, "init")
    return (Accumulate(declared.name, (), (state,), None, reader.kernel.source.place(node), begins=True),)


def _dtype(operator: ScanOperator, law: OperatorName) -> DType:
    """Return the type of all words of an operator together: that of the only one, or a state."""
    only: DType = law.law.kinds[0]
    return only if operator.state is None else DType.STATE


def read_accumulate(reader: ExpressionReader, node: ast.Call) -> Accumulate:
    """Read `out.accumulate(a, b, when=condition)`, for an accumulator `out` or `out[i]`."""
    assert isinstance(node.func, ast.Attribute)
    base = node.func.value
    root = base.value if isinstance(base, ast.Subscript) else base
    assert isinstance(root, ast.Name)
    name, meaning = root.id, reader.scope.meanings[root.id]
    assert isinstance(meaning, AccumulatorName)
    if node.func.attr != "accumulate":
        reader.mistake(
            node,
            f"an accumulator has no `{node.func.attr}`",
            "`value`, or `accumulate(...)`",
            "write out.accumulate(x)",
        )
    for keyword in node.keywords:
        if keyword.arg != "when":
            reader.mistake(
                keyword, f"accumulate has no argument `{keyword.arg}`", "accumulate(a, b, ..., when=condition)",
                "name only the condition: when=...",
            )  # fmt: skip
    if not node.args or (not meaning.inner and not meaning.operator and len(node.args) > 1):
        reader.mistake(
            node,
            f"{len(node.args)} operands for {name}",
            "one operand or more" if meaning.inner else "one operand, because the accumulator has no inner operator",
            "" if meaning.inner or not node.args else 'declare it with an inner operator, as in inner="*"',
        )
    when = node.keywords[0].value if node.keywords else None
    with reader.expressions_only("in an accumulate with `when`" if when else None):
        indices = reader.accumulator_indices(base)
        operands = tuple(reader.data(operand, meaning.dtype, f"an operand of {name}") for operand in node.args)
    condition = None if when is None else reader.condition(when, f"the `when` of {name}")
    return Accumulate(reader.scope.named(name), indices, operands, condition, reader.kernel.source.place(node))


def read_element_type(reader: ExpressionReader, node: ast.expr) -> DType:
    """Read `f32` and its kin."""
    given = reader.resolve(node)
    if isinstance(given, ScanOperator) and given.operator is not None:
        return _dtype(given, given.operator)
    found = element_type(given)
    if found is None:
        reader.mistake(
            node,
            f"{ast.unparse(node)} is not an element type",
            ", ".join(ELEMENT_TYPES),
            here(ast.unparse(node)) or "write f32",
        )
    return found.dtype


def _given(arguments: Arguments, name: str) -> ast.expr | None:
    node = arguments.get(name)
    return None if node is None or (isinstance(node, ast.Constant) and node.value is None) else node


def _operator(reader: ExpressionReader, node: ast.expr, which: str, dtype: DType) -> ReductionOp:
    law = _law(reader, node, which)
    if law.own and not law.takes(dtype):
        takes = " ".join(each.value for each in DType if law.takes(each))
        reader.mistake(
            node,
            f"the {which} operator {law.symbol} on {dtype.value} data",
            f"one of its types: {takes}",
            fix=f"convert the data first: {takes.split(', ')[0]}(v)",
        )
    if not law.takes(dtype):
        reader.mistake(
            node,
            f"the {which} operator {ast.unparse(node)} on {dtype.value} data",
            "an integer dtype, such as u32",
            "use + * min max",
        )
    return cast(ReductionOp, law.name)


def _law(reader: ExpressionReader, node: ast.expr, which: str) -> Law:
    """Return the operator that is named in quotes, or is a user's own by its name."""
    spelled = node.value if isinstance(node, ast.Constant) else None
    environment = reader.kernel.environment
    if isinstance(spelled, str):
        law = SPELLINGS.get(spelled)
        if law is not None:
            return law
        found = environment.get(spelled) or find_operator(spelled, given_operators(environment))
    else:
        found = reader.resolve(node)
    if isinstance(found, Operator):
        return found.law
    if isinstance(found, ScanOperator):
        text = ast.unparse(node)
        reader.mistake(node, f"the operator of a scan, {text}, as an {which} operator", f"accumulator({text})",
                       f"write accumulator({text}): it has its own types")  # fmt: skip
    names = [*SPELLINGS, *known_names({**environment, **given_operators(environment)})]
    near_name = near(spelled, names) if isinstance(spelled, str) else ""
    reader.mistake(
        node,
        f"{ast.unparse(node)} is not an {which} operator",
        "one of " + ", ".join(map(repr, names)),
        near_name or f'write {which}="+"; operators of your own: docs/extend.md',
    )


def _final(reader: ExpressionReader, node: ast.expr, dtype: DType) -> FinalFunction:
    if not isinstance(node, ast.Lambda):
        reader.mistake(
            node, "a final function that is not a lambda", "lambda s: ...", "for example final=lambda s: s * 0.5"
        )
    a = node.args
    if len(a.args) != 1 or a.posonlyargs or a.kwonlyargs or a.vararg or a.kwarg or a.defaults:
        reader.mistake(node, "a final function of other than one parameter", "lambda s: ...", "name one")
    parameter = a.args[0].arg
    place = reader.kernel.source.place(a.args[0])
    with reader.binding({parameter: Var(parameter, dtype, place)}):
        body = reader.data(node.body, dtype, "the final function's result")
    for part in subexpressions(body):
        own = isinstance(part, Var) and part.name == parameter and part.dtype is dtype
        known = own or (isinstance(part, Load) and not part.indices)  # a scalar
        if not known and not isinstance(part, Const | Unary | Binary | Apply | Cast | Select):
            operators.fail(
                part.place,
                "a final function of more than its parameter",
                f"an expression of {parameter}, scalars and constants",
                "compute with the rest after `.value`",
            )
    return FinalFunction(parameter, body)
