"""At every length: that a specification of patterns goes on as it begins is proved of its traced expression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swizzle.language.specs.spec import Spec, user_function
from swizzle.language.specs.traced import trace
from symbolic.errors import SwizzleError
from symbolic.expressions.expression import NAME, Expression, add, constant, number_name, substituted, subtract
from symbolic.ir.program import Program
from symbolic.patterns.lengths import normal
from symbolic.patterns.reading import read_length, read_type
from symbolic.patterns.terms import Term
from symbolic.patterns.types import ArrayOf, ValueType
from symbolic.rewriting.continuation import continues_along


def goes_on_lines(name: str, found: Mapping[str, tuple[int, bool]]) -> list[str]:
    """Return what is proved of the specification of this name, and what is compared; nothing where none is proved."""
    blocks = [f"{own} in blocks of {block}" for own, (block, proved) in found.items() if proved]
    if not blocks:
        return []
    return [
        f"that the traced expression of {name} goes on along {' and '.join(blocks)} is proved;",
        f"that {name} computes this is compared, at the lengths that the .cu file names",
    ]


def solved_goes_on(spec: Spec, program: Program, sizes: Mapping[str, Any]) -> list[str]:
    """Return these lines of a sketch's specification, if it is of patterns; `sizes` are those of the solution."""
    function = user_function(spec)
    if function is None or spec.constants or not sizes.get("any_length"):
        return []
    types = {
        own.name: read_type(f"{own.dtype.value}[{', '.join(sizes['shapes'].get(own.name, ()))}]".removesuffix("[]"))
        for own in program.parameters if own.role != "out"
    }  # fmt: skip
    try:
        specification, _ = trace(function, types)
        blocks = {name: own["block"] for name, own in sizes["lengths"].items()}
        said = {name: continues_along(specification, types, name, block) for name, block in blocks.items()}
        return goes_on_lines(spec.name, {name: (blocks[name], each.proved) for name, each in said.items() if each})
    except SwizzleError:  # it is no function of patterns alone, or of other types
        return []


def goes_on(
    specification: Term, types: Mapping[str, ValueType], sizes: Mapping[str, Any]
) -> dict[str, tuple[int, bool]]:
    """Return, of lengths that are names, how many elements a block is, and whether the specification goes on so.

    `sizes` are those of the solution. Where it is proved, every block of the specification is the first one, of inputs
    that are moved along, at lengths at which it was not compared, too. Lengths of which the result has no axis are left
    out.
    """
    found: dict[str, tuple[int, bool]] = {}
    for name, kind in types.items():
        for own in sizes["shapes"].get(name, ()):
            if isinstance(kind, ArrayOf):
                along, kind = kind.length, kind.element
                block = _block(read_length(own), sizes["lengths"])
                if along.operator == NAME and block and along.value not in found:
                    said = continues_along(specification, types, along.value, block)
                    if said is not None:
                        found[along.value] = block, said.proved
    return found


def _block(extent: Expression, lengths: Mapping[str, Any]) -> int:
    """Return by how many elements an extent grows with a block of the length that it is made of; 0 of none."""
    names = extent.names & lengths.keys()
    if len(names) != 1:
        return 0
    (name,) = names
    longer = substituted(extent, {name: add(number_name(name), constant(lengths[name]["block"]))})
    more = normal(subtract(longer, extent))
    return more.value if more.constant and isinstance(more.value, int) else 0
