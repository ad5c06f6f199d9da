"""A kernel without open holes as `swizzle doctor` looks at it: the printed text, and what its launch is given."""

from __future__ import annotations

from swizzle.answers.emit.emitters import cuda_source
from swizzle.commands.doctor import PrintedKernel
from swizzle.commands.target import Target
from swizzle.sketches.sketch import Sketch
from symbolic.errors import SwizzleError
from symbolic.machine.launch_shape import require_hardware_warp


def printed(target: str, trust: bool) -> PrintedKernel:
    """Return the text of a kernel without open holes, for its own sizes, and what its launch is."""
    filled = Target.of(target, {}).kernel(trust=trust)
    if isinstance(filled, Sketch):
        raise SwizzleError(
            f"{filled.name} has open holes: {', '.join(hole.name for hole in filled.program.holes)}",
            place=filled.program.place,
            expected="a kernel without holes, or a saved solution",
            fix=f"swizzle solve {target} -o out, then swizzle doctor out/{filled.name}.json",
        )
    require_hardware_warp(filled.program)
    source = cuda_source(filled.program, filled.head)
    words = {}
    for each in filled.program.parameters:
        kind = each.dtype.value + ("" if each.role == "in" else f".{each.role}")
        words[each.name] = f"{kind}[{','.join(map(str, each.shape))}]" if each.shape else kind
    args = ",".join(words[each] for each in source.arguments)
    launch = ",".join("x".join(map(str, shape)) for shape in (source.grid, source.block))
    return PrintedKernel(source.name, source.text, source.entry, launch, args, source.origins)
