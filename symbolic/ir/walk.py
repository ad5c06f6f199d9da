"""Walk and rebuild the program: children of an expression, expressions of a statement, names, equality of spelling.

Every pass and the printer stand on these few functions, so that how to walk a new construct is said once, here;
docs/contributing.md lists what else must know it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from msgspec.structs import replace
from typing_extensions import assert_never

from symbolic.ir import program as ir
from symbolic.ir.program import Expr, Program, Stmt

Body: TypeAlias = tuple[Stmt, ...]


def children(expr: Expr) -> tuple[Expr, ...]:
    """Return the operands of an expression, in the order in which `with_children` takes them."""
    match expr:
        case ir.Const() | ir.Var() | ir.Coordinate():
            return ()
        case ir.Binary(left=left, right=right) | ir.Compare(left=left, right=right) | ir.Logic(left=left, right=right):
            return (left, right)
        case ir.Load(indices=indices) | ir.AccumulatorValue(indices=indices):
            return indices
        case ir.HoleCall(args=args):
            return args
        case ir.Unary(operand=operand) | ir.Cast(operand=operand):
            return (operand,)
        case ir.Lookup(index=index):
            return (index,)
        case ir.Apply(operands=operands):
            return operands
        case ir.Select(condition, then, otherwise):
            return (condition, then, otherwise)
        case ir.Shuffle(mask=mask, value=value, lane=lane):
            return (value, lane) if mask is None else (value, lane, mask)
        case _:
            assert_never(expr)


def with_children(expr: Expr, new: tuple[Expr, ...]) -> Expr:
    """Return the expression with other operands, everything else kept."""
    if all(a is b for a, b in zip(children(expr), new, strict=True)):
        return expr
    match expr:
        case ir.Const() | ir.Var() | ir.Coordinate():
            return expr
        case ir.Unary() | ir.Cast():
            return replace(expr, operand=new[0])
        case ir.Lookup():
            return replace(expr, index=new[0])
        case ir.Binary() | ir.Compare() | ir.Logic():
            return replace(expr, left=new[0], right=new[1])
        case ir.Apply():
            return replace(expr, operands=new)
        case ir.Select():
            return replace(expr, condition=new[0], then=new[1], otherwise=new[2])
        case ir.Load() | ir.AccumulatorValue():
            return replace(expr, indices=new)
        case ir.Shuffle():
            return replace(expr, value=new[0], lane=new[1], mask=new[2] if len(new) > 2 else None)
        case ir.HoleCall():
            return replace(expr, args=new)
        case _:
            assert_never(expr)


def rebuild(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Return the expression with `change` applied to each operand."""
    parts = children(expr)
    return with_children(expr, tuple(map(change, parts))) if parts else expr


def substitute(expr: Expr, name: str, value: Expr) -> Expr:
    """Return the expression with a variable replaced."""
    if isinstance(expr, ir.Var) and expr.name == name:
        return value
    return rebuild(expr, lambda child: substitute(child, name, value))


def subexpressions(expr: Expr) -> Iterator[Expr]:
    """Yield the expression and all its parts, outermost first."""
    waiting = [expr]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += reversed(children(part))


def own_expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """Return the expressions that a statement evaluates itself, nested bodies not included."""
    match stmt:
        case ir.Assign(value=value):
            return (value,)
        case ir.Store(indices=indices, value=value):
            return (*indices, value)
        case ir.CopyAsync(indices=indices, source=source):
            return (*indices, source)
        case ir.DeclareArray() | ir.DeclareAccumulator() | ir.Barrier() | ir.CopyGroup():
            return ()
        case ir.Accumulate(indices=indices, operands=operands, condition=condition):
            return (*indices, *operands) if condition is None else (*indices, *operands, condition)
        case ir.For(start=start, stop=stop, step=step):
            return (start, stop, step)
        case ir.If(condition=condition):
            return (condition,)
        case ir.WarpInstruction(operands=operands):
            return operands
        case _:
            assert_never(stmt)


def operators_of(program: Program) -> tuple[tuple[ir.OperatorName, ir.DType], ...]:
    """Return the users' operators of a program, each with the types of data that it is applied to there, in order."""
    found: dict[tuple[ir.OperatorName, ir.DType], None] = {}

    def note(op: object, dtype: ir.DType) -> None:
        if isinstance(op, ir.OperatorName):
            found[op, dtype] = None

    for stmt in statements(program.body):
        expressions = list(own_expressions(stmt))
        if isinstance(stmt, ir.DeclareAccumulator):
            note(stmt.outer, stmt.dtype)
            note(stmt.inner, stmt.dtype)
            expressions += [stmt.final.body] if stmt.final else []
        for expr in expressions:
            for part in subexpressions(expr):
                if isinstance(part, ir.Binary):
                    note(part.op, part.dtype)
    return tuple(found)


def functions_of(program: Program) -> tuple[tuple[ir.FunctionName, ir.DType], ...]:
    """Return the functions on data of a program, each with the types of its results there, in order."""
    found: dict[tuple[ir.FunctionName, ir.DType], None] = {}
    for stmt in statements(program.body):
        expressions = list(own_expressions(stmt))
        if isinstance(stmt, ir.DeclareAccumulator):
            expressions += [stmt.final.body] if stmt.final else []
        for expr in expressions:
            for part in subexpressions(expr):
                if isinstance(part, ir.Apply):
                    found[part.function, part.dtype] = None
    return tuple(found)


def map_own(stmt: Stmt, change: Callable[[Expr], Expr]) -> Stmt:
    """Return the statement with `change` applied to each expression of `own_expressions`; of the operands of a warp's
    instruction, which stay elements of their arrays, to each index."""
    match stmt:
        case ir.Assign(value=value):
            return replace(stmt, value=change(value))
        case ir.Store(indices=indices, value=value):
            return replace(stmt, indices=tuple(map(change, indices)), value=change(value))
        case ir.CopyAsync(indices=indices, source=source):
            changed = change(source)
            if isinstance(changed, ir.Const) and isinstance(source, ir.Select):  # it is still a copy, of zeros
                changed = replace(source, condition=ir.Const(False, ir.DType.BOOL, source.place))
            return replace(stmt, indices=tuple(map(change, indices)), source=changed)
        case ir.DeclareArray() | ir.DeclareAccumulator() | ir.Barrier() | ir.CopyGroup():
            return stmt
        case ir.Accumulate(indices=indices, operands=operands, condition=condition):
            return replace(
                stmt,
                indices=tuple(map(change, indices)),
                operands=tuple(map(change, operands)),
                condition=None if condition is None else change(condition),
            )
        case ir.For(start=start, stop=stop, step=step):
            return replace(stmt, start=change(start), stop=change(stop), step=change(step))
        case ir.If(condition=condition):
            return replace(stmt, condition=change(condition))
        case ir.WarpInstruction(operands=operands):
            return replace(stmt, operands=tuple(rebuild(operand, change) for operand in operands))
        case _:
            assert_never(stmt)


def bodies(stmt: Stmt) -> tuple[Body, ...]:
    """Return the nested bodies of a statement."""
    match stmt:
        case ir.For(body=body):
            return (body,)
        case ir.If(then=then, otherwise=otherwise):
            return (then, otherwise)
        case _:
            return ()


def map_bodies(stmt: Stmt, change: Callable[[Body], Body]) -> Stmt:
    """Return the statement with `change` applied to each of its nested bodies."""
    match stmt:
        case ir.For(body=body):
            return replace(stmt, body=change(body))
        case ir.If(then=then, otherwise=otherwise):
            return replace(stmt, then=change(then), otherwise=change(otherwise))
        case _:
            return stmt


def statements(body: Iterable[Stmt]) -> Iterator[Stmt]:
    """Yield every statement of a body, nested ones after the one that holds them."""
    for stmt in body:
        yield stmt
        for inner in bodies(stmt):
            yield from statements(inner)


# ---- rewriting -------------------------------------------------------------------------------------------------

Rule: TypeAlias = Callable[[Expr], Expr]


def within_loops(body: Body, around: tuple[ir.For, ...] = ()) -> Iterator[tuple[Stmt, tuple[ir.For, ...]]]:
    """Yield every statement with the loops around it, outermost first."""
    for statement in body:
        yield statement, around
        inside = (*around, statement) if isinstance(statement, ir.For) else around
        for inner in bodies(statement):
            yield from within_loops(inner, inside)


def rewrite_expression(expr: Expr, rule: Rule) -> Expr:
    """Return the expression with `rule` applied to every node, operands first."""
    return rule(rebuild(expr, lambda child: rewrite_expression(child, rule)))


def rewrite_statement(stmt: Stmt, rule: Rule) -> Stmt:
    """Return the statement with every expression in it rewritten, nested bodies and a final function included."""
    if isinstance(stmt, ir.DeclareAccumulator):
        if stmt.final is None:
            return stmt
        return replace(stmt, final=replace(stmt.final, body=rewrite_expression(stmt.final.body, rule)))
    own = map_own(stmt, lambda expr: rewrite_expression(expr, rule))
    return map_bodies(own, lambda body: tuple(rewrite_statement(inner, rule) for inner in body))


def rewrite_program(program: Program, rule: Rule) -> Program:
    """Return the program with every expression rewritten."""
    return replace(program, body=tuple(rewrite_statement(stmt, rule) for stmt in program.body))


def warp_instructions(body: Body) -> list[ir.WarpInstruction]:
    """Return the instructions of whole warps in a body, nested ones included."""
    return [stmt for stmt in statements(body) if isinstance(stmt, ir.WarpInstruction)]


def fragments_in(body: Body) -> frozenset[str]:
    """Return the arrays in registers that instructions of whole warps name; passes leave these as they are."""
    found = (operand for stmt in warp_instructions(body) for operand in stmt.operands)
    return frozenset(each.array for each in found if isinstance(each, ir.Load))


def names_in(expr: Expr) -> frozenset[str]:
    """Return the variables, arrays and accumulators that an expression reads."""
    found: set[str] = set()
    for part in subexpressions(expr):
        match part:
            case ir.Var(name=name):
                found.add(name)
            case ir.Load(array=name) | ir.AccumulatorValue(accumulator=name):
                found.add(name)
            case _:
                pass
    return frozenset(found)


def assigned_in(body: Iterable[Stmt]) -> frozenset[str]:
    """Return the scalar variables that a body changes, loop variables included."""
    found: set[str] = set()
    for stmt in statements(body):
        match stmt:
            case ir.Assign(name=name) | ir.For(variable=name):
                found.add(name)
            case _:
                pass
    return frozenset(found)


def trips_of(loop: ir.For) -> range | None:
    """Return what a loop's variable becomes, None where that is computed."""
    match loop:
        case ir.For(start=ir.Const(value=start), stop=ir.Const(value=stop), step=ir.Const(value=step)) if step:
            return range(int(start), int(stop), int(step))
        case _:
            return None


def surely_assigned(body: Iterable[Stmt]) -> frozenset[str]:
    """Return the variables that a body assigns in every lane that runs it; of loops those that run for certain."""
    found: set[str] = set()
    for stmt in body:
        match stmt:
            case ir.Assign(name=name):
                found.add(name)
            case ir.If(then=then, otherwise=otherwise):
                found |= surely_assigned(then) & surely_assigned(otherwise)
            case ir.For(body=inner):
                if trips_of(stmt):
                    found |= surely_assigned(inner)
            case _:
                pass
    return frozenset(found)


def all_names(program: Program) -> frozenset[str]:
    """Return every name that the kernel uses for a parameter, variable, array or accumulator."""
    found = {parameter.name for parameter in program.parameters}
    for stmt in statements(program.body):
        for expr in own_expressions(stmt):
            found |= names_in(expr)
        match stmt:
            case ir.Assign(name=name) | ir.For(variable=name):
                found.add(name)
            case ir.DeclareArray(name=name) | ir.DeclareAccumulator(name=name):
                found.add(name)
            case ir.Store(array=name) | ir.CopyAsync(array=name) | ir.Accumulate(accumulator=name):
                found.add(name)
            case _:
                pass
    return frozenset(found)


def same(left: Expr, right: Expr) -> bool:
    """Say whether two expressions are spelled alike, wherever they stand in the source."""
    return spelling(left) == spelling(right)


def spelling(expr: Expr) -> tuple[object, ...]:
    """Return what two expressions share that are spelled alike."""
    match expr:
        case ir.Const(value=value):
            own: tuple[object, ...] = (type(value), value)
        case ir.Var(name=name):
            own = (name,)
        case ir.Coordinate(name=name, axis=axis):
            own = (name, axis)
        case ir.Unary(op=op) | ir.Binary(op=op) | ir.Compare(op=op) | ir.Logic(op=op):
            own = (op,)
        case ir.Apply(function=function):
            own = (function,)
        case ir.Lookup(entries=entries):
            own = entries
        case ir.Select() | ir.Cast():
            own = ()
        case ir.Load(array=name) | ir.AccumulatorValue(accumulator=name):
            own = (name,)
        case ir.Shuffle(mode=mode, mask=mask):
            own = (mode, mask is None)
        case ir.HoleCall(hole=hole):
            own = (hole,)
        case _:
            assert_never(expr)
    return (type(expr).__name__, expr.dtype, *own, *(spelling(child) for child in children(expr)))


class FreshNames:
    """Hands out names that the program does not use yet."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._loops: dict[str, str] = {}

    def take(self, wish: str) -> str:
        """Return `wish`, or `wish` with the first number that makes it new."""
        name, number = wish, 1
        while name in self._taken:
            number += 1
            name = f"{wish}_{number}"
        self._taken.add(name)
        return name

    def loop_variable(self, wish: str) -> str:
        """Return a name for a loop variable, the same for the same wish: such loops are not to be nested."""
        if wish not in self._loops:
            self._loops[wish] = self.take(wish)
        return self._loops[wish]


def never_read_back(program: ir.Program) -> frozenset[str]:
    """Return the output parameters of which no element that was stored is read: all `out` ones, and `inout` ones that
    are loaded, or added to, only where no store comes before."""
    stored, read = set[str](), set[str]()

    def body(stmts: Body) -> None:
        for stmt in stmts:
            parts = (part for expr in own_expressions(stmt) for part in subexpressions(expr))
            read.update(part.array for part in parts if isinstance(part, ir.Load) and part.array in stored)
            for inner in bodies(stmt):
                body(inner)
                if isinstance(stmt, ir.For):
                    body(inner)  # what the next iteration reads
            if isinstance(stmt, ir.Store):
                if stmt.atomic and stmt.array in stored:
                    read.add(stmt.array)
                stored.add(stmt.array)

    roles = {p.name: p.role for p in program.parameters}
    if "inout" in roles.values():
        body(program.body)
    return frozenset(name for name, role in roles.items() if role in ("out", "inout") and name not in read)
