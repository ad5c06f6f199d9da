"""The front end: a kernel's source text becomes a `Program` (paper, sections 3 and 6.1).

The text is parsed once. `statements` reads the statements in order, `expressions` the expressions in them;
`load_store` and `permute_local` lower the calls of `warp_load`, `block_store` and their like. What is outside the
language raises one `SwizzleError` with its place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import count
from typing import Final

from msgspec.structs import replace

from swizzle.language.element_types import ArrayType
from swizzle.language.frontend import calls
from swizzle.language.frontend.expressions import ExpressionReader
from swizzle.language.frontend.gathers import check_gathers
from swizzle.language.frontend.hole_flow import check_hole_arguments
from swizzle.language.frontend.resolve import Launch
from swizzle.language.frontend.scope import ArrayName, GivenName, Scope, StaticName, VectorArrayName
from swizzle.language.frontend.state_accumulators import with_combined_states
from swizzle.language.frontend.statements import StatementReader
from swizzle.language.source.kernel_source import KernelSource
from swizzle.language.vector_types import vector_type
from symbolic.algebra.expansion import in_words, state_names
from symbolic.errors import Place, SwizzleError
from symbolic.ir.program import Expr, HoleCall, Parameter, Program
from symbolic.ir.walk import Body, children, own_expressions, rewrite_program, statements

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
