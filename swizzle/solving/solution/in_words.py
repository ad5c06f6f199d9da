"""Counts, costs and what was proved of them, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from swizzle.solving.solution.solution import Result
from symbolic.ir.functions import External
from symbolic.ir.program import DeclareArray, HoleCall, Load, Program, Store
from symbolic.ir.walk import functions_of, own_expressions, statements, subexpressions


def count(number: int, noun: str) -> str:
    """Return '1 output' or '3 outputs'.

    >>> count(1, "output"), count(3, "output"), count(2, "sketch")
    ('1 output', '3 outputs', '2 sketches')
    """
    return f"{number} {noun}{'' if number == 1 else 'es' if noun.endswith('ch') else 's'}"


def given_text(sources: Sequence[str]) -> str:
    """Return 'given the holes of product', or of several sketches."""
    return f"given the holes of {' and '.join(sources)}"


def cost_text(cost: Mapping[str, int]) -> str:
    """Return '3 accumulates' and the like; each key of a cost is a plural noun.

    >>> cost_text({"accumulates": 3}), cost_text({"accumulates": 1})
    ('3 accumulates', '1 accumulate')
    """
    return ", ".join(count(number, noun.removesuffix("s")) for noun, number in cost.items())


def rounds_in_any_order(program: Program) -> list[str]:
    """Return the arrays of floats that threads add to atomically."""
    stores = (each for each in statements(program.body) if isinstance(each, Store) and each.atomic)
    return list(dict.fromkeys(each.array for each in stores if each.value.dtype.is_float))


def assumed(program: Program) -> list[str]:
    """Return what is assumed: of every call for each array of index data, and of the texts of `cuda.external`."""
    ranges = [f"each element of {p.name} is from 0 to {p.below - 1}" for p in program.parameters if p.below]
    own = dict.fromkeys(str(function) for function, _ in functions_of(program) if isinstance(function.row, External))
    order = "is summed in another order in each run, which is of no matter"
    summed = [f"{name} {order}" for name in rounds_in_any_order(program)]
    return [*ranges, *summed, *(f"the C++ text of {name} computes what its Python function does" for name in own)]


def one_layout(sketch: Program) -> list[str]:
    """Return of which shared arrays several holes decide where elements lie, and how one hole would do it."""
    shared = [s.name for s in statements(sketch.body) if isinstance(s, DeclareArray) and s.memory == "shared"]
    holes: dict[tuple[str, int], set[int]] = {}
    for stmt in statements(sketch.body):
        accesses: list[Load | Store] = [stmt] if isinstance(stmt, Store) else []
        parts = (part for own in own_expressions(stmt) for part in subexpressions(own))
        for access in [*accesses, *(part for part in parts if isinstance(part, Load))]:
            for axis, index in enumerate(access.indices):
                if isinstance(index, HoleCall) and sketch.holes[index.hole].kind == "index":
                    holes.setdefault((access.array, axis), set()).add(index.hole)
    return [
        f"{' and '.join(sketch.holes[hole].name for hole in sorted(some))} are the layout of {array}: one hole in a "
        "device function, called where it is written and where it is read, is searched as a layout, with plain formulas"
        for (array, _), some in holes.items()
        if len(some) > 1 and array in shared
    ]


def proved_by_name(result: Result) -> dict[str, bool]:
    """Say of each cost of a result's best solution whether it is proved minimal."""
    return {name: result.proved.get(name, result.optimal) for name in result.best.cost} if result.solutions else {}


def optimality(result: Result, every_space: bool) -> list[str]:
    """Return '3 accumulates, proved minimal in Space 1', or what else is known, for each cost of the best solution."""
    where = "over all spaces" if every_space else f"in Space {result.space}"
    where = "of these homes" if "homes" in result.certificate else where
    given = f", {given_text(result.best.sources)}" if result.best.sources else ""
    partly = "cancelling" in result.certificate and not result.reason
    found: list[str] = []
    for name, is_proved in proved_by_name(result).items():
        proved = "" if is_proved or partly else "not "
        only = ", of the fillings that were looked at" if partly and not is_proved else ""
        found.append(f"{cost_text({name: result.best.cost[name]})}, {proved}proved minimal {where}{given}{only}")
        where, given = "among these", ""
    return found
