"""Try every assignment of some guards: the brute force behind the tests of guards, unions and accumulators."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from symbolic.solve.answer import Possible
from symbolic.solve.guard_solver import GuardSolver
from symbolic.values.guard import Guard, Guards

Holds = Callable[[Guard], bool]


def assignments(guards: Guards, inputs: Sequence[Guard]) -> Iterator[tuple[tuple[bool, ...], Holds | None]]:
    """Yield every assignment of the inputs, with the model that extends it, or None where there is none."""
    with GuardSolver(guards, "z3") as solver:
        for values in product((False, True), repeat=len(inputs)):
            chosen = [g if v else -g for g, v in zip(inputs, values, strict=True)]
            answer = solver.check(chosen)
            yield values, answer.holds if isinstance(answer, Possible) else None
