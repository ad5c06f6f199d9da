"""The front end: a kernel's source text becomes a `Program` (paper, sections 3 and 6.1).

The text is parsed once. `statements` reads the statements in order, `expressions` the expressions in them;
`load_store` and `permute_local` lower the calls of `warp_load`, `block_store` and their like. What is outside the
language raises one `SwizzleError` with its place.

Check that no hole feeds a hole: a hole's arguments must not depend on what another hole becomes that is open then.

The check follows scalars: a variable depends on a hole when some assignment to it does, directly or through another
variable, or when a condition that does chooses among its assignments. Where all of them stand in one branch of such a
condition, nothing else may read it, and there it has one value. The order of statements is not looked at.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import count
from typing import Final, NoReturn, TypeAlias

from msgspec.structs import replace
from typing_extensions import assert_never

from swizzle.language.element_types import ArrayType, vector_type
from swizzle.language.frontend import calls
from swizzle.language.frontend.accumulators import with_combined_states
from swizzle.language.frontend.expressions import ExpressionReader
from swizzle.language.frontend.gathers import check_gathers
from swizzle.language.frontend.operators import fail
from swizzle.language.frontend.resolve import Launch
from swizzle.language.frontend.scope import ArrayName, GivenName, Scope, StaticName, VectorArrayName
from swizzle.language.frontend.statements import StatementReader
from swizzle.language.source.kernel_source import KernelSource
from symbolic.algebra.expansion import in_words, state_names
from symbolic.errors import Place, SwizzleError
from symbolic.ir.program import (
    Accumulate,
    Assign,
    Barrier,
    CopyAsync,
    CopyGroup,
    DeclareAccumulator,
    DeclareArray,
    Expr,
    For,
    Hole,
    HoleCall,
    If,
    Parameter,
    Program,
    Stmt,
    Store,
    Var,
    WarpInstruction,
)
from symbolic.ir.walk import Body, children, own_expressions, rewrite_program, statements, subexpressions
from templates.holes import SCAN_KINDS

_Branch: TypeAlias = tuple[int, ...]  # of conditions that depend on holes, from the outermost: which, and which side


def check_hole_arguments(body: Sequence[Stmt], holes: Sequence[Hole], found: Collection[Place] = ()) -> None:
    """Refuse a hole of a scan with an argument that depends on another hole: those are filled before the others, but
    behind those at the places `found` by other sketches."""
    tainted: set[str] = set()
    filled = {number for number, hole in enumerate(holes) if hole.place in found}
    scans = {number for number, hole in enumerate(holes) if hole.kind in SCAN_KINDS}
    asked = set(range(len(holes))) - filled - scans
    size = -1
    while scans - filled and size != len(tainted):
        size = len(tainted)
        assigned: dict[str, set[_Branch]] = {}
        _spread(body, tainted, asked, assigned, branch=())
        tainted.update(name for name, branches in assigned.items() if len(branches) > 1)
    for expr in _expressions(body):
        for part in subexpressions(expr):
            if isinstance(part, HoleCall) and part.hole in scans - filled:
                for inner in (inner for argument in part.args for inner in subexpressions(argument)):
                    if _is_open(inner, tainted, asked):
                        _nested_hole(inner.place)


def _spread(
    body: Sequence[Stmt], tainted: set[str], asked: set[int], assigned: dict[str, set[_Branch]], branch: _Branch
) -> None:
    """Add variables that are assigned what depends on a hole, and note in which branches of holes any are assigned."""
    for statement in body:
        match statement:
            case Assign(name=name, value=value):
                assigned.setdefault(name, set()).add(branch)
                if _depends(value, tainted, asked):
                    tainted.add(name)
            case For(body=inner):
                _spread(inner, tainted, asked, assigned, branch)
            case If(condition=condition, then=then, otherwise=otherwise):
                chosen = _depends(condition, tainted, asked)
                for side, inner in enumerate((then, otherwise)):
                    _spread(inner, tainted, asked, assigned, (*branch, id(statement), side) if chosen else branch)
            case (
                Store()
                | Accumulate()
                | DeclareArray()
                | DeclareAccumulator()
                | Barrier()
                | WarpInstruction()
                | CopyAsync()
                | CopyGroup()
            ):
                pass
            case _:
                assert_never(statement)


def _depends(expr: Expr, tainted: set[str], asked: set[int]) -> bool:
    return not expr.dtype.is_data and any(_is_open(part, tainted, asked) for part in subexpressions(expr))


def _is_open(part: Expr, tainted: set[str], asked: set[int]) -> bool:
    return (isinstance(part, HoleCall) and part.hole in asked) or (isinstance(part, Var) and part.name in tainted)


def _nested_hole(place: Place) -> NoReturn:
    """Refuse a hole of a scan whose argument depends on a hole."""
    fail(
        place,
        "the argument of a scan's hole cannot contain a hole",
        "thread coordinates, loop variables and constants",
        "a scan is found before all other holes: pass the variables themselves",
    )


def _expressions(body: Sequence[Stmt]) -> Iterator[Expr]:
    for statement in body:
        match statement:
            case Assign(value=value):
                yield value
            case Store(indices=indices, value=value) | CopyAsync(indices=indices, source=value):
                yield from (*indices, value)
            case Accumulate(indices=indices, operands=operands, condition=condition):
                yield from (*indices, *operands)
                if condition is not None:
                    yield condition
            case For(start=start, stop=stop, step=step, body=inner):
                yield from (start, stop, step)
                yield from _expressions(inner)
            case If(condition=condition, then=then, otherwise=otherwise):
                yield condition
                yield from _expressions(then)
                yield from _expressions(otherwise)
            case WarpInstruction(operands=operands):
                yield from operands
            case DeclareArray() | DeclareAccumulator() | Barrier() | CopyGroup():
                pass
            case _:
                assert_never(statement)


MOST_NESTED: Final = 150
"""As many operations may be within each other; Python's stack holds a few more."""


def build_program(
    kernel: KernelSource, arguments: Mapping[str, ArrayType | int], launch: Launch, found: Collection[Place] = ()
) -> Program:
    """Read a kernel whose parameters are `arguments`, in order: arrays, scalars, or ints that are constants in it.

    `found` are the places of holes that another sketch fills before this one's are searched.
    """
    scope = Scope.of(kernel.definition)
    parameters = []
    for name, argument in arguments.items():
        if isinstance(argument, int):
            scope.declare(name, StaticName(argument))
            continue
        numbers = ArrayName(argument.dtype, argument.shape, "parameter", argument.role)
        if argument.lanes > 1:
            scope.declare(name, VectorArrayName(name, numbers, vector_type(argument.dtype, argument.lanes)))
        elif argument.shape:
            scope.declare(name, numbers)
        else:
            scope.declare(name, GivenName(argument.dtype))
        place = kernel.keyword_place(name)
        parameters.append(Parameter(name, argument.dtype, argument.shape, argument.role, place, argument.limit))
    expressions = ExpressionReader(kernel, scope, launch, calls=calls)
    reader = StatementReader(expressions)
    try:
        body = reader.block(kernel.definition.body)
        body = (*reader.scratch, *body)
        _check_depth(body)
        check_hole_arguments(body, expressions.holes, found)
        program = Program(
            kernel.definition.name,
            tuple(parameters),
            body,
            tuple(expressions.holes),
            launch.block,
            launch.grid,
            launch.warp_size,
            kernel.place,
        )
        check_gathers(program)
    except RecursionError:
        kernel.source.mistake(
            kernel.definition, "the kernel is nested too deeply", "shorter expressions", fix="split its expressions"
        )
    program = with_combined_states(program)
    state_names(program)
    return _in_source_order(program) if program.holes else in_words(program)


def _check_depth(body: Body) -> None:
    """Refuse expressions that are nested so deeply that the walks over them, which are recursive, have no stack."""
    for stmt in statements(body):
        for expr in own_expressions(stmt):
            depth, level = 0, {id(expr): expr}
            while level:
                depth += 1
                level = {id(child): child for each in level.values() for child in children(each)}
            if depth > MOST_NESTED:
                raise SwizzleError(
                    f"an expression of {depth} operations within each other",
                    place=stmt.place,
                    expected=f"at most {MOST_NESTED}",
                    fix="give parts of it names, or write a loop with an accumulator",
                )


def _in_source_order(program: Program) -> Program:
    """Number the holes as the text has them: an assignment's value is read before its target.

    Those in device functions of another file come last.
    """
    holes = program.holes

    def position(number: int) -> tuple[bool, str, int, int]:
        place = holes[number].place
        return place.file != program.place.file, place.file, place.line, place.column

    order = sorted(range(len(holes)), key=position)
    counts: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(1))
    named = tuple(replace(holes[n], name=f"{holes[n].kind}{next(counts[holes[n].kind])}") for n in order)
    if order == list(range(len(holes))):
        return replace(program, holes=named)
    renumbered = {old: new for new, old in enumerate(order)}

    def renumber(expr: Expr) -> Expr:
        return replace(expr, hole=renumbered[expr.hole]) if isinstance(expr, HoleCall) else expr

    return replace(rewrite_program(program, renumber), holes=named)
