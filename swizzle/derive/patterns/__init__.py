"""What is written with patterns, how it is derived: `swizzle derive` makes kernels of it (docs/derive.md)."""

from swizzle.derive.patterns.declared import derivation
from swizzle.derive.patterns.steps import hole
from swizzle.language.specs.patterns import (
    add,
    iterate,
    join,
    let,
    map,
    mul,
    pad,
    reduce,
    reorder,
    scan,
    slide,
    split,
    transpose,
    zip,
)

__all__ = [
    "add", "derivation", "hole", "iterate", "join", "let", "map", "mul", "pad", "reduce", "reorder", "scan", "slide",
    "split", "transpose", "zip",
]  # fmt: skip
