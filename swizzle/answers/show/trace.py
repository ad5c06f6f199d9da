"""Run a kernel for its picture: what one block, or one warp of it, moves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from cuda_out.passes.accesses import Spot, printed_widths
from swizzle.answers.show.rows import BlockTrace, Row, Trace, require_number
from swizzle.answers.show.tracer import Tracer
from swizzle.language.specs.specification import postcondition
from swizzle.language.specs.verify import compare
from swizzle.solving.solution.answered import WrittenHole
from symbolic.algebra.terms import Terms
from symbolic.ir.program import (
    Program,
)
from symbolic.machine.launch_shape import LaunchShape
from symbolic.values.vector import Vector
from templates.registry import FilledHole


def trace(
    program: Program,
    spec: Callable[..., Any] | None = None,
    fillings: Sequence[FilledHole | WrittenHole] = (),
    block: int = 0,
    warp: int = 0,
) -> Trace:
    """Return what one warp moves: `block_trace` says how."""
    return block_trace(program, spec, fillings, block, warp).warp(warp)


def block_trace(
    program: Program,
    spec: Callable[..., Any] | None = None,
    fillings: Sequence[FilledHole | WrittenHole] = (),
    block: int = 0,
    warp: int = 0,
    printed: Program | None = None,
) -> BlockTrace:
    """Run a kernel and return what one block moves; `fillings` say what each hole became.

    `printed` is the kernel without holes: then accesses are as wide as the vectors that are printed.

    Raises SwizzleError for a block or a warp that is not there, before it runs anything, and for a kernel that breaks a
    rule of the language.
    """
    shape = LaunchShape.of(program)
    require_number("block", block, shape.blocks)
    require_number("warp", warp, -(-shape.block_threads // program.warp_size))
    assert len(fillings) == len(program.holes), "each hole has its filling"
    terms = Terms()
    asked: list[dict[tuple[int, ...], int]] = [{} for _ in fillings]

    def hole(number: int, args: tuple[Vector, ...], mask: Vector) -> Vector:
        lanes: Any = args
        values = np.broadcast_to(np.asarray(fillings[number].apply(lanes)), (shape.count,))
        on = np.asarray(mask)
        points = np.stack([*(a[on] for a in lanes), values[on].astype(np.int64)], axis=1)
        for *point, value in np.unique(points, axis=0).tolist():
            asked[number][tuple(point)] = value
        return values

    tracer = Tracer(program, terms, hole, block)
    run = tracer.run()
    if run.violations:
        raise run.violations[0].error()
    rows = tuple(tracer.rows if printed is None else _as_wide_as(printed_widths(printed), tracer.rows))
    wrong: dict[tuple[str, int], int] = {}
    if spec is not None:
        wanted = postcondition(program, spec, terms)
        wrong = {(bad.array, bad.address): bad.wanted for bad in compare(program, run, wanted)}
    return BlockTrace(program, terms, block, rows, tuple(asked), wrong)


def _as_wide_as(widths: Mapping[Spot, int], rows: Iterable[Row]) -> Iterator[Row]:
    """Yield rows whose accesses move as many elements at once as is printed."""
    for row in rows:
        width = widths.get((row.access.array, row.access.writes, row.place), 1) if row.access else 1
        yield replace(row, access=replace(row.access, width=width)) if row.access and width > 1 else row
