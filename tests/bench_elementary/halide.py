"""The patterns of Halide's AssociativeOpsTable.cpp, in words of theirs and ours, with what is said of each.

Halide takes an operator and an identity from this table without asking anything. The rows are the patterns of the file
as of commit 0154073, and two that later versions have. Each names
a type, the words of `combine`, the identity, and whether they say that it is commutative; then what is proved here, of
`associative`, of the identity on the `left` and on the `right`, and of `commutative`.
"""

from __future__ import annotations

from typing import Final

from symbolic.expressions.expression import (
    Expression,
    add,
    constant,
    less,
    less_equal,
    maximum,
    minimum,
    multiply,
    negate,
    number_name,
    select,
    subtract,
)
from symbolic.expressions.formulas import REALS, Sort

X0, X1, Y0, Y1, K = map(number_name, ("x0", "x1", "y0", "y1", "k"))
U8, U16, U32, I32 = (Sort("word", bits, signed) for bits, signed in ((8, False), (16, False), (32, False), (32, True)))
Row = tuple[str, Sort, tuple[Expression, ...], tuple[str, ...], bool, str]


def _greatest(sort: Sort) -> Expression:
    return constant(sort.limits[1])


HALIDE: Final[list[Row]] = [
    *(
        row
        for name, sort in (("i32", I32), ("u32", U32), ("f32", REALS))
        for real in (" right" if sort is REALS else "",)  # where an infinity is no value
        for row in (
            (f"{name} x0 + y0", sort, (add(X0, Y0),), ("0",), True, "associative left right commutative"),
            (f"{name} x0 * y0", sort, (multiply(X0, Y0),), ("1",), True, "associative left right commutative"),
            (f"{name} max(x0, y0)", sort, (maximum(X0, Y0),), ("least",), True, "associative left right commutative"),
            (f"{name} min(x0, y0)", sort, (minimum(X0, Y0),), ("greatest",), True,
             "associative left right commutative"),
            (f"{name} x0 + y0, x0 + y1", sort, (add(X0, Y0), add(X0, Y1)), ("0", "0"), True, "associative left"),
            (f"{name} max(x0, y0), select(y0 < x0, x1, y1)", sort, (maximum(X0, Y0), select(less(Y0, X0), X1, Y1)),
             ("least", "0"), True, "associative left" + real),
            (f"{name} min(x0, y0), select(x0 < y0, x1, y1)", sort, (minimum(X0, Y0), select(less(X0, Y0), X1, Y1)),
             ("greatest", "0"), True, "associative left" + real),
            (f"{name} min(x0, y0), select(x0 <= y0, x1, y1)", sort,
             (minimum(X0, Y0), select(less_equal(X0, Y0), X1, Y1)), ("greatest", "0"), True,
             "associative left right" if real else "associative right"),
            (f"{name} complex product", sort,
             (subtract(multiply(X0, Y0), multiply(X1, Y1)), add(multiply(X1, Y0), multiply(X0, Y1))),
             ("1", "0"), True, "associative left right commutative"),
        )
    ),
    *(
        row
        for name, sort in (("u8", U8), ("u16", U16), ("u32", U32))
        for row in (
            (f"{name} cast(min(cast(x0 + y0), k))", sort, (minimum(add(X0, Y0), K),), ("0",), True, "commutative"),
            (f"{name} select(x0 > max - y0, max, y0)", sort,
             (select(less(subtract(_greatest(sort), Y0), X0), _greatest(sort), Y0),), ("0",), True, "left"),
            (f"{name} select(x0 < -y0, y0, max)", sort,
             (select(less(X0, negate(Y0)), Y0, _greatest(sort)),), ("0",), True, ""),
        )
    ),
    ("u8 select(x0 < max - y0, x0 + y0, max)", U8,
     (select(less(X0, subtract(_greatest(U8), Y0)), add(X0, Y0), _greatest(U8)),), ("0",), True,
     "associative left right commutative"),
]  # fmt: skip
