"""The naive template: equation 1 literally, its formulas, its search against brute force."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from swizzle import load
from swizzle.language.specs.verify import verify
from swizzle.solving.problem.problem import Problem
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Limits
from symbolic.errors import Place, SwizzleError
from symbolic.ir.program import Hole
from symbolic.ir.python_text import python_text
from templates.chooser import OneChoice
from templates.naive import Leaf, NaiveXform, Node, naive_xform, weight
from templates.registry import function_of
from templates.template import Template
from templates.xform import Xform
from tests.sketches import accumulates_of

CASES = Path(__file__).parents[2] / "case_studies"
PLACE = Place("test.py", 1, 1)
PAIRS = tuple((i, k) for i in range(3) for k in range(2))


def hole(n: int) -> Hole:
    return Hole("xform1", "xform", n, ("i", "k"), PLACE)


def equation_1(depth: int, points: tuple[tuple[int, ...], ...], last: int) -> set[tuple[int, ...]]:
    """All value vectors of equation 1, by recursion on its text."""
    found = {tuple(p[j] for p in points) for j in range(2)} | {(c,) * len(points) for c in range(last + 1)}
    if depth == 0:
        return found
    below = equation_1(depth - 1, points, last)
    for a, b in itertools.product(below, repeat=2):
        found |= {tuple(x + y for x, y in zip(a, b, strict=True)), tuple(x - y for x, y in zip(a, b, strict=True))}
    for a, c in itertools.product(below, range(1, last + 1)):
        found |= {tuple(x * c for x in a), tuple(x // c for x in a), tuple(x % c for x in a)}
    return found


def functions(made: Template, points: Any) -> dict[tuple[int, ...], Any]:
    seen: dict[tuple[int, ...], Any] = {}
    for choice in itertools.product(*made.components):
        seen.setdefault(tuple(made.at(OneChoice(choice), p) for p in points), choice)
    return seen


@pytest.mark.parametrize("depth", [1, 2])
def test_it_is_equation_1(depth: Any) -> None:
    """The functions are those of the grammar, modulo n; the three ways of reading a choice agree."""
    made = naive_xform(hole(3), PAIRS, depth)
    wanted = {tuple(v % 3 for v in values) for values in equation_1(depth, PAIRS, 3)}
    found = functions(made, PAIRS)
    assert set(found) == wanted
    columns = [np.array(c) for c in zip(*PAIRS, strict=True)]
    for values, choice in found.items():
        assert tuple(np.broadcast_to(made.apply(choice, columns), 6).tolist()) == values
        text = python_text(made.expression(choice, _arguments(), PLACE))
        assert tuple(eval(text, {"i": i, "k": k}) for i, k in PAIRS) == values
        again = made.simplest(PAIRS, list(values))
        assert again is not None
        assert tuple(made.at(OneChoice(again), p) for p in PAIRS) == values


def _arguments() -> tuple[Any, ...]:
    from symbolic.ir.program import DType, Var

    return (Var("i", DType.INDEX, PLACE), Var("k", DType.INDEX, PLACE))


def test_neither_template_holds_the_other() -> None:
    """Depth 1 has `i % 2`, which the paper's template lacks, and lacks `2 * i + k`, which that one has."""
    points = tuple((i, k) for i in range(5) for k in range(5))
    naive, paper = (
        set(functions(naive_xform(hole(5), points, 1), points)),
        set(functions(Xform(5, points, "3"), points)),
    )
    assert tuple(i % 2 for i, _ in points) in naive - paper
    assert tuple((2 * i + k) % 5 for i, k in points) in paper - naive


@pytest.mark.parametrize(
    ("file", "name", "depth", "parameters"),
    [("aos_sum", "crc", 1, {"struct_size": 2}), ("mult32", "shared", 1, {})],
)
def test_the_search_agrees_with_brute_force(file: str, name: str, depth: Any, parameters: dict[str, int]) -> None:
    """Status and least cost are those of trying every filling (its conditions at their best, where there are any)."""
    (sketch,) = load(CASES / f"{file}.py", name, {"warp_size": 4, "grid": 1, **parameters})
    problem = Problem.of(sketch.program, sketch.spec, naive=depth)
    made = problem.templates("1")
    each = [
        list(functions(t, p).values()) if isinstance(t, NaiveXform) else None
        for t, p in zip(made, problem.points, strict=True)
    ]
    result = solve(sketch, Limits(template=f"naive-{depth}", space="1"))  # type: ignore[arg-type]
    if None in each:
        normal = solve(sketch, Limits(space="1"))
        assert (result.status, result.best.cost) == (normal.status, normal.best.cost)
    else:
        costs = []
        for choices in itertools.product(*each):  # type: ignore[arg-type]
            run, wrong = problem.candidate(made, choices)
            if not run.violations and not wrong:
                costs.append(accumulates_of(run))
        assert result.status == ("sat" if costs else "unsat")
        assert not costs or result.best.cost["accumulates"] == min(costs)
    if result.solutions:
        assert verify(result.best.program, sketch.spec).equal


def test_depth_2_finds_what_depth_1_cannot() -> None:
    """A sum over structures of three needs an expression of depth 2 (Table 2)."""
    (sketch,) = load(CASES / "aos_sum.py", "crc", {"warp_size": 8, "grid": 1, "struct_size": 3})
    assert solve(sketch, Limits(template="naive-1")).status == "unsat"
    result = solve(sketch, Limits(template="naive-2"))
    assert result.status == "sat"
    assert result.best.cost == solve(sketch).best.cost
    assert verify(result.best.program, sketch.spec).equal


def test_the_light_part_of_depth_2_is_depth_1() -> None:
    """What is tried first are the functions of depth 1, no more and no fewer."""
    deep, flat = (naive_xform(hole(3), PAIRS, depth) for depth in (2, 1))
    light = functions(deep.restricted(), PAIRS).keys()
    assert light == functions(flat, PAIRS).keys() < functions(deep, PAIRS).keys()


def test_a_hole_that_is_too_large() -> None:
    """Too many expressions are the user's mistake, not an endless table."""
    with pytest.raises(SwizzleError, match=r"the naive template of depth 2 has too many expressions for xform1"):
        naive_xform(hole(256), tuple((i, k) for i in range(256) for k in range(4)), 2)
    with pytest.raises(SwizzleError, match=r"the naive template of depth 1 has too many expressions for xform1"):
        naive_xform(hole(1 << 11), tuple((i, i % 3) for i in range(1 << 11)), 1)


@pytest.mark.parametrize("depth", [1, 2])
def test_an_expression_survives_being_written(depth: Any) -> None:
    """Constants are read back as the same formula, in the template and without it; what is none is refused."""
    made = naive_xform(hole(3), PAIRS, depth)
    columns = [np.array(c) for c in zip(*PAIRS, strict=True)]
    for values, choice in functions(made, PAIRS).items():
        constants = made.constants(choice)
        read, again = function_of(hole(3), constants)
        assert np.broadcast_to(read.apply(again, columns), len(PAIRS)).tolist() == list(values)
        assert read.expression(again, _arguments(), PLACE) == made.expression(choice, _arguments(), PLACE)
        assert read.words(again, "ik") == made.words(choice, "ik") and read.constants(again) == constants
        found = made.parse(constants)
        assert tuple(made.at(OneChoice(found), p) for p in PAIRS) == values
        assert (
            eval(read.words(again, "ik").removeprefix("element ").replace("modulo", "%"), {"i": 2, "k": 1}) == values[5]
        )


@pytest.mark.parametrize(
    "constants",
    [
        {"naive": 1, "modulo": 0},
        {"naive": 1, "modulo": 0, "node_0": 0, "value_0": 2},
        {"naive": 1, "modulo": 0, "node_0": 7, "value_0": 2},
        {"naive": 1, "modulo": 0, "node_0": 1, "value_0": -2},
        {"naive": 1, "modulo": 0, "node_0": 5, "node_1": 0, "value_1": 0, "node_2": 1, "value_2": 0},
        {"naive": 1, "modulo": 0} | {f"node_{place}": 2 for place in range(100)},
    ],
)
def test_what_is_no_expression_is_refused(constants: dict[str, int]) -> None:
    """Whatever a file says, only an expression of the hole's arguments fills it."""
    with pytest.raises(ValueError, match="xform1"):
        function_of(hole(3), constants)


def test_constants_above_one_are_heavier() -> None:
    """An argument, 0 and 1 weigh the same; a larger constant, and a quotient beside a sum, weigh more."""
    argument, *constants = Leaf("argument", 2), *(Leaf("constant", value) for value in range(4))
    assert [weight(leaf) for leaf in (argument, *constants)] == [1, 1, 1, 2, 2]
    assert weight(Node("+", argument, constants[2])) < weight(Node("//", argument, constants[2]))
