"""Other values of a sketch's declared parameters: the values next to the present ones."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from swizzle.explain.attempts import Job, Planned, solving
from swizzle.explain.explanation import TrialKind
from swizzle.language.parameters import Declared, neighbours
from swizzle.sketches.sketch import Sketch
from swizzle.specs.specification import postcondition
from symbolic.algebra.terms import Terms
from symbolic.errors import SwizzleError


def other_parameters(job: Job) -> Iterator[Planned]:
    """Yield the values next to each declared parameter's, first those that leave the specification as it is."""
    if job.family is None:
        return
    found: list[tuple[bool, Planned]] = []
    for name, declared in job.family.declared.items():
        for value in _neighbours(declared):
            try:
                sketch = job.family.at({name: value})
                same = _same_specification(job.sketch, sketch)
            except SwizzleError:
                continue
            kind: TrialKind = "parameter" if same else "specification"
            found.append((not same, Planned(kind, f"-D {name}={value}", solving(sketch, job.limits))))
    yield from (plan for _, plan in sorted(found, key=lambda pair: pair[0]))


def _neighbours(declared: Declared) -> list[int]:
    """Return the next larger and the next smaller value of a parameter's domain."""
    above, below = neighbours(declared.domain, declared.value)
    return [v for v in (above, below) if v is not None]


def _same_specification(one: Sketch, other: Sketch) -> bool:
    """Tell whether two sketches compute the same outputs from the same inputs."""
    if one.program.parameters != tuple(
        replace(p, place=q.place) for p, q in zip(other.program.parameters, one.program.parameters, strict=False)
    ):
        return False
    terms = Terms()
    return postcondition(one.program, one.spec, terms) == postcondition(other.program, other.spec, terms)
