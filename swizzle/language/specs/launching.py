"""A kernel run by the machine on what a specification is given: symbolic arrays, or NumPy's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from swizzle.language.specs.specification import inputs, outputs
from symbolic.algebra.canonical import Canonical
from symbolic.algebra.datum import Datum
from symbolic.algebra.numbers import Numbers, as_numbers
from symbolic.ir.program import Program
from symbolic.machine.machine import Machine


def launched(program: Program, arrays: Sequence[Any]) -> Mapping[str, Any]:
    """Return a program's outputs by name for its inputs in order, as nested lists or NumPy arrays."""
    pairs = list(zip(inputs(program), arrays, strict=True))
    flat = {p.name: np.asarray(array, object).reshape(-1) for p, array in pairs}
    tables = [value.terms for values in flat.values() for value in values if isinstance(value, Datum)]
    if not tables:
        given = {p.name: np.asarray(as_numbers(array, p.dtype)).reshape(-1) for p, array in pairs}
        run = Machine(program, Numbers(), given).run()
        return {p.name: run.memories[p.name].data.reshape(p.shape) for p in outputs(program)}
    terms = tables[0]
    atoms = {
        name: np.array([v.term if isinstance(v, Datum) else terms.const(v) for v in values], np.int64)
        for name, values in flat.items()
    }
    run = Machine(program, Canonical(terms), atoms).run()
    found = {}
    for p in outputs(program):
        made = np.empty(p.shape, object)
        made.reshape(-1)[:] = [Datum(terms, int(term)) for term in run.memories[p.name].data]
        found[p.name] = made
    return found
