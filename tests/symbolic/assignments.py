"""Try every assignment of some guards: the brute force behind the tests of guards, unions and accumulators."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from symbolic.guard import Guard, Guards
from symbolic.solver import Sat, Solver

Holds = Callable[[Guard], bool]


def assignments(guards: Guards, inputs: Sequence[Guard]) -> Iterator[tuple[tuple[bool, ...], Holds | None]]:
    """Yield every assignment of the inputs, with the model that extends it, or None where there is none."""
    with Solver("z3", boolean=True) as solver:
        solver.add(guards.drain())
        for values in product((False, True), repeat=len(inputs)):
            chosen = [guards.formula(g if v else -g) for g, v in zip(inputs, values, strict=True)]
            answer = solver.check(chosen)
            yield values, guards.reader(answer.model) if isinstance(answer, Sat) else None
