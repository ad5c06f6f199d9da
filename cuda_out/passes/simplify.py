"""Simplify index expressions and conditions with what the ranges say, and drop what can never run or is never read.

Every rule holds in Python's integers, where `//` and `%` round down: for n > 0, (a * n + b) // n is a + b // n, and (a
* n + b) % n is b % n, whatever the signs. Data is left as it is, because float arithmetic is not associative.

Nothing may read a variable, a register array or an accumulator, and a body may become empty. What must stay is what has
an effect outside: stores to parameters, stores and copies to shared arrays that something reads, barriers, and waits
for copies.

Division and remainder by a constant become cheaper operations at the very end (`strength`), because other passes know
`//` and `%` better. For a power of two they are `>>` and `&`, whatever the sign. For other divisors, a multiple of the
divisor is added to a dividend that may be negative, so that C's operators, which round towards zero, agree with
Python's. A remainder of less than twice the divisor becomes a subtraction under a condition. What the compiler computes
while it unrolls loops is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from cuda_out.analysis.registers import is_static, loops_to_unroll, static_names
from cuda_out.analysis.values import leaves_in
from cuda_out.passes.index_rules import collected, constant, simplify_binary
from symbolic.errors import Place
from symbolic.ir import program as ir
from symbolic.ir.facts import INVERSE, Facts, decide, facts_where, launch_facts, range_of, rewrite, trip_range
from symbolic.ir.program import DType, Expr, Program, Stmt
from symbolic.ir.walk import Body, bodies, map_own, names_in, own_expressions, rebuild, same, subexpressions, substitute


def simplify(program: Program) -> Program:
    """Return the same program with simpler index expressions, decided conditions and no dead branches."""
    return replace(program, body=rewrite(program.body, launch_facts(program), simplify_statement))


def simplify_statement(stmt: Stmt, facts: Facts) -> Body:
    """Return what is left of one statement whose nested bodies are already simplified."""
    stmt = map_own(stmt, lambda expr: simplify_expression(expr, facts))
    match stmt:
        case ir.If(condition=ir.Const(value=value), then=then, otherwise=otherwise):
            return then if value else otherwise
        case ir.Assign(name=name, value=ir.Var(name=source)) if name == source:
            return ()
        case ir.If(then=(), otherwise=()):
            return ()
        case ir.If(then=(), condition=condition, otherwise=otherwise):
            return (replace(stmt, condition=_negate(condition), then=otherwise, otherwise=()),)
        case ir.For() if trip_range(stmt, facts) is None:
            return ()
        case ir.Accumulate(condition=ir.Const(value=value)):
            return (replace(stmt, condition=None),) if value else ()
        case _:
            return (stmt,)


def simplify_expression(expr: Expr, facts: Facts) -> Expr:
    """Return an expression of the same value wherever the facts hold."""
    if isinstance(expr, ir.Select):
        return _select(expr, facts)
    if isinstance(expr, ir.Shuffle):
        # What is offered is read by other lanes, whose facts may differ; own facts hold where it is evaluated.
        return rebuild(expr, lambda child: simplify_expression(child, facts))
    if isinstance(expr, ir.Logic):
        return _logic(expr, facts)
    expr = rebuild(expr, lambda child: simplify_expression(child, facts))
    if expr.dtype is DType.INDEX and _is_pure(expr):
        value = range_of(expr, facts).value
        if value is not None:
            return ir.Const(value, DType.INDEX, expr.place)
    match expr:
        case ir.Binary(dtype=DType.INDEX):
            return simplify_binary(expr, facts, lambda part: simplify_expression(part, facts))
        case ir.Compare():
            return _compare(expr, facts)
        case ir.Unary(op="not", operand=operand):
            return _negate(operand)
        case ir.Unary(op="-", operand=ir.Unary(op="-", operand=inner), dtype=DType.INDEX):
            return inner
        case ir.Unary(op="abs", operand=operand, dtype=DType.INDEX) if range_of(operand, facts).lo >= 0:
            return operand
        case _:
            return expr


def _is_pure(expr: Expr) -> bool:
    return not any(isinstance(part, ir.Shuffle | ir.HoleCall) for part in subexpressions(expr))


def _truth(value: bool, place: Place) -> Expr:
    return ir.Const(value, DType.BOOL, place)


def _negate(condition: Expr) -> Expr:
    match condition:
        case ir.Const(value=value, place=place):
            return _truth(not value, place)
        case ir.Unary(op="not", operand=operand):
            return operand
        case ir.Compare(op=op):
            return replace(condition, op=INVERSE[op])
        case _:
            return ir.Unary("not", condition, DType.BOOL, condition.place)


def _select(expr: ir.Select, facts: Facts) -> Expr:
    condition = simplify_expression(expr.condition, facts)
    match condition:
        case ir.Const(value=value):
            return simplify_expression(expr.then if value else expr.otherwise, facts)
        case ir.Unary(op="not", operand=operand):
            condition, expr = operand, replace(expr, then=expr.otherwise, otherwise=expr.then)
        case _:
            pass
    then = simplify_expression(expr.then, facts_where(condition, True, facts))
    otherwise = simplify_expression(expr.otherwise, facts_where(condition, False, facts))
    if same(then, otherwise) and _is_pure(condition):
        return then
    if isinstance(then, ir.Const) and isinstance(otherwise, ir.Const) and expr.dtype is DType.BOOL:
        return condition if then.value else _negate(condition)
    return replace(expr, condition=condition, then=then, otherwise=otherwise)


def _logic(expr: ir.Logic, facts: Facts) -> Expr:
    """Simplify `and` / `or`; the right side may rely on the left one."""
    strong = expr.op == "or"
    left = simplify_expression(expr.left, facts)
    right = simplify_expression(expr.right, facts_where(left, not strong, facts))
    for side, other in ((left, right), (right, left)):
        if isinstance(side, ir.Const):
            return side if bool(side.value) is strong else other
    if same(left, right):
        return left
    simpler = replace(expr, left=left, right=right)
    decided = decide(simpler, facts)
    return simpler if decided is None else _truth(decided, expr.place)


def _compare(expr: ir.Compare, facts: Facts) -> Expr:
    decided = decide(expr, facts)
    if decided is None and same(expr.left, expr.right) and _is_pure(expr):
        decided = expr.op in ("==", "<=", ">=")
    if decided is not None and _is_pure(expr):
        return _truth(decided, expr.place)
    match expr:
        case ir.Compare(left=ir.Const(), right=right) if not isinstance(right, ir.Const):
            mirrored: Mapping[ir.CompareOp, ir.CompareOp] = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
            return replace(expr, op=mirrored.get(expr.op, expr.op), left=right, right=expr.left)
        case ir.Compare(
            left=ir.Binary(op="+" | "-" as op, left=inner, right=ir.Const(value=shift)), right=ir.Const(value=bound)
        ):
            moved = int(bound) - int(shift) if op == "+" else int(bound) + int(shift)
            return replace(expr, left=inner, right=constant(moved, expr.place))
        case _:
            return expr


def drop_dead(program: Program) -> Program:
    """Return the same program without statements that have no effect."""
    parameters = frozenset(parameter.name for parameter in program.parameters)
    while True:
        needs = list(_needs(program.body, frozenset()))
        live = set(parameters)
        while True:
            grown = live.union(*(reads for name, reads in needs if name is None or name in live))
            if grown == live:
                break
            live = grown
        body = _kept(program.body, frozenset(live))
        if body == program.body:
            return program
        program = replace(program, body=body)


def _target(stmt: Stmt) -> str | None:
    match stmt:
        case ir.Assign(name=name) | ir.DeclareArray(name=name) | ir.DeclareAccumulator(name=name):
            return name
        case ir.Store(array=name) | ir.CopyAsync(array=name) | ir.Accumulate(accumulator=name):
            return name
        case _:
            return None


def _needs(body: Body, around: frozenset[str]) -> Iterator[tuple[str | None, frozenset[str]]]:
    """Yield what each statement writes (None: it matters by itself) and the names it reads, conditions included."""
    for stmt in body:
        reads = around.union(*(names_in(expr) for expr in own_expressions(stmt)))
        match stmt:
            case ir.For() | ir.If():
                for inner in bodies(stmt):
                    yield from _needs(inner, reads)
            case ir.DeclareAccumulator(name=name, final=final) if final is not None:
                yield name, around | names_in(final.body) - {final.parameter}
            case ir.DeclareArray() | ir.DeclareAccumulator():
                pass
            case _:
                yield _target(stmt), reads


def _kept(body: Body, live: frozenset[str]) -> Body:
    found: list[Stmt] = []
    for stmt in body:
        match stmt:
            case ir.For(body=inner):
                stmt = replace(stmt, body=_kept(inner, live))
            case ir.If(then=then, otherwise=otherwise):
                stmt = replace(stmt, then=_kept(then, live), otherwise=_kept(otherwise, live))
            case _:
                pass
        target = _target(stmt)
        if (target is None or target in live) and (not bodies(stmt) or any(bodies(stmt))):
            found.append(stmt)
    return tuple(found)


FARTHEST = 1 << 20  # what is added to a dividend at most


def reduce_strength(program: Program) -> Program:
    """Return the same program with shifts and masks for powers of two, and no negative dividends."""
    unrolled = frozenset(loop.variable for loop in loops_to_unroll(program))
    rolled = static_names(program) - unrolled

    def visit(stmt: Stmt, facts: Facts) -> Body:
        return (map_own(stmt, lambda expr: strong(expr, facts, unrolled - rolled)),)

    return replace(program, body=rewrite(program.body, launch_facts(program), visit))


def strong(expr: Expr, facts: Facts, unrolled: frozenset[str] = frozenset()) -> Expr:
    """Return an expression of the same value with cheaper divisions; `unrolled` are the variables of unrolled loops."""
    if isinstance(expr, ir.Select):
        return replace(
            expr,
            condition=strong(expr.condition, facts, unrolled),
            then=strong(expr.then, facts_where(expr.condition, True, facts), unrolled),
            otherwise=strong(expr.otherwise, facts_where(expr.condition, False, facts), unrolled),
        )
    if is_static(expr, unrolled):
        return _not_negative(expr, facts)
    expr = rebuild(expr, lambda child: strong(child, facts, unrolled))
    match expr:
        case ir.Binary(op="//" | "%", dtype=DType.INDEX, right=ir.Const(value=value)) if value > 1:
            return _division(expr, int(value), facts)
        case _:
            return expr


def _not_negative(expr: Expr, facts: Facts) -> Expr:
    """Return a static expression in which no dividend may be negative; it costs nothing either way."""
    expr = rebuild(expr, lambda child: _not_negative(child, facts))
    match expr:
        case ir.Binary(op="//" | "%", dtype=DType.INDEX, right=ir.Const(value=value)) if value > 1:
            return _lifted(expr, int(value), facts)
        case _:
            return expr


def _division(expr: ir.Binary, n: int, facts: Facts) -> Expr:
    left, place = expr.left, expr.place
    if n & (n - 1) == 0:
        if expr.op == "%":
            return replace(expr, op="&", right=constant(n - 1, place))
        return replace(expr, op=">>", right=constant(n.bit_length() - 1, place))
    lifted = _lifted(expr, n, facts)
    known = range_of(left, facts)
    if expr.op == "%" and known.within(0, 2 * n - 1) and isinstance(left, ir.Var | ir.Coordinate):
        over = ir.Compare(">=", left, expr.right, place)
        rest = ir.Binary("-", left, expr.right, DType.INDEX, place)
        return ir.Select(over, rest, left, DType.INDEX, place)
    return lifted


def _lifted(expr: ir.Binary, n: int, facts: Facts) -> Expr:
    """Return the division with a multiple of n added to the dividend, so that it is never negative."""
    lowest = range_of(expr.left, facts).lo
    if not -FARTHEST <= lowest < 0 or not leaves_in([expr.left]):
        return expr
    times = -(int(lowest) // n)
    place = expr.place
    shifted = ir.Binary("+", expr.left, constant(times * n, place), DType.INDEX, place)
    found: Expr = replace(expr, left=collected(shifted, facts))
    if expr.op == "//":
        found = collected(ir.Binary("-", found, constant(times, place), DType.INDEX, place), facts)
    return found


def inline_finals(program: Program) -> Program:
    """Return the same program without final functions: `out.value` becomes the function's body."""
    return replace(program, body=_body(program.body, {}))


def _body(body: Body, finals: dict[str, ir.Final | None]) -> Body:
    found: list[Stmt] = []
    for stmt in body:
        stmt = map_own(stmt, lambda expr: _expression(expr, finals))
        match stmt:
            case ir.DeclareAccumulator(name=name, final=final):
                finals[name] = final
                stmt = replace(stmt, final=None)
            case ir.For(body=inner):
                stmt = replace(stmt, body=_body(inner, finals))
            case ir.If(then=then, otherwise=otherwise):
                stmt = replace(stmt, then=_body(then, finals), otherwise=_body(otherwise, finals))
            case _:
                pass
        found.append(stmt)
    return tuple(found)


def _expression(expr: Expr, finals: dict[str, ir.Final | None]) -> Expr:
    expr = rebuild(expr, lambda child: _expression(child, finals))
    if isinstance(expr, ir.AccumulatorValue) and (final := finals[expr.accumulator]) is not None:
        return substitute(final.body, final.parameter, expr)
    return expr
