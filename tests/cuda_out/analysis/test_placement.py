"""Where variables and arrays are declared: in front of what uses them, as deep as all of it lies."""

from __future__ import annotations

from cuda_out.analysis.placement import DeclarationPoint, placements
from tests.cuda_out.build import array, assign, branch, kernel, load, loop, num, op, parameter, store, var, where

LANE = where("laneid")


def test_declarations_stand_where_all_uses_are_below() -> None:
    """By what gives the first value; else before it, in the branch that has all uses, outside of loops."""
    program = kernel(
        "k",
        [parameter("y", 32, role="out")],
        [
            store("y", LANE, 0),
            branch(
                op("<", LANE, 4),
                [
                    store("y", LANE, 1),
                    branch(op("<", LANE, 2), [assign("a", num(1))], [assign("a", num(2))]),
                    assign("b", op("+", var("a"), 1)),
                    store("y", var("b"), 2),
                ],
            ),
            loop("i", 3, branch(op("<", LANE, 9), [array("c", 4)]), store("c", "i", load("y", "i"))),
        ],
    )
    scalars, arrays = placements(program)
    inside = ((1, "then"),)
    assert {name: each.site for name, each in scalars.items()} == {
        "a": DeclarationPoint(inside, 1, False),
        "b": DeclarationPoint(inside, 2, True),
    }
    assert arrays == {"c": DeclarationPoint((), 2, False)}
