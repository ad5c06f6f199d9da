"""A specification for one size only, evaluated at smaller lengths: what it says there, cut off.

An output inside its array depends only on inputs inside theirs (`conditions`, 4). So at a smaller length, a
specification says the same as at its own length, with any values behind the ends of the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from swizzle.answers.emit.any_length.continuation import Index, MeaningAt, SharedTerms
from swizzle.language.specs.specification import Meaning, inputs, numbers, outputs
from symbolic.algebra.terms import Term
from symbolic.ir.index import flat_index, unflattened
from symbolic.ir.program import Program

Arrays: TypeAlias = Mapping[str, "npt.NDArray[Any]"]


class _Flat(SharedTerms):
    """A table whose variables are the elements of a program's arrays; elements outside are variables that no kernel
    can load."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.shapes = {parameter.name: parameter.shape for parameter in program.parameters}

    def atom(self, name: str, index: Index) -> Term:
        if all(i < extent for i, extent in zip(index, self.shapes[name], strict=True)):
            return self.terms.atom(name, flat_index(self.shapes[name], index))
        return self.terms.atom(f"{name}, beyond its end,", super().atom(name, index))


def meaning_cut(whole: MeaningAt, program: Program) -> Meaning:
    """Return what a specification says of the outputs of `program`, which has smaller arrays than it was asked for."""
    shared, memo = _Flat(program), dict[Term, Term | None]()
    still = {parameter.name: (0,) * len(parameter.shape) for parameter in program.parameters}
    wanted: dict[str, list[Term]] = {}
    for parameter in outputs(program):
        said, shape = whole.wanted[parameter.name], whole.shapes[parameter.name]
        wanted[parameter.name] = []
        for address in range(int(np.prod(parameter.shape))):
            at = flat_index(shape, unflattened(parameter.shape, address))
            term = shared.translate(whole, said[at], still, memo)
            assert term is not None, "elements that stay where they are never leave the array"
            wanted[parameter.name].append(term)
    return Meaning(shared.terms, wanted)


def numbers_cut(whole: Program, spec: Callable[..., Any], program: Program, given: Arrays) -> Arrays:
    """Return the outputs of `program` by a specification made for the larger arrays of `whole`."""
    shapes = {parameter.name: parameter.shape for parameter in whole.parameters}
    padded = {}
    for parameter in inputs(program):
        array = given[parameter.name]
        ends = [(0, after - extent) for extent, after in zip(array.shape, shapes[parameter.name], strict=True)]
        padded[parameter.name] = np.pad(array, ends, constant_values=parameter.below != 1) if ends else array
    found = numbers(whole, spec, padded)
    return {p.name: found[p.name][tuple(map(slice, p.shape))] for p in outputs(program)}
