"""A mistake is one error at the caller's line: what was found, what was expected, how to mend it."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import pytest

from swizzle import SwizzleError, layouts
from swizzle.layouts import access, best, columns, count, rows

BOTH = [rows(), columns()]
MISTAKES: list[tuple[Callable[[], Any], str, str]] = [
    (lambda: best((32, 0), BOTH), "the shape is (32, 0)", "a tuple of ints from 1"),
    (lambda: best(32, BOTH), "the shape is 32", "a tuple of ints from 1"),  # type: ignore[arg-type]
    (lambda: best((1 << 11, 1 << 10), BOTH), "the shape is (2048, 1024)", "a tile of at most 1048576 elements"),
    (lambda: best((2,) * 5, BOTH), "the shape has 5 axes", "at most 4"),
    (lambda: best((32, 32), []), "the accesses are []", "a list of accesses"),
    (lambda: best((32, 32), "rows"), "the accesses are 'rows'", "a list of accesses"),
    (lambda: best((32, 32), [rows]), "the access is the function rows itself", "what it returns"),
    (lambda: best((32, 32), BOTH, bits=24), "an element has 24 bits", "8, 16, 32, 64 or 128 bits"),
    (lambda: best((32, 32), BOTH, banks=24), "shared memory has 24 banks", "a power of two from 1"),
    (lambda: best((32, 32), BOTH, word=2), "shared memory has 2 bytes in a word", "a power of two from 4"),
    (lambda: best((32, 32), BOTH, families=["pads"]), "the families are ['pads']", "some of 'xor', 'rotate'"),  # type: ignore[list-item]
    (lambda: best((32, 32), BOTH, at_most="1K"), "at_most is '1K'", "how many bytes the tile may take"),  # type: ignore[arg-type]
    (lambda: best((3, 3, 3), [rows()]), "rows() is asked of a tile with 3 axes", "a tile with two"),
    (lambda: best((8, 30), [rows(4)]), "rows(4) takes pieces of 4, which do not fill 30", "multiples of 4"),
    (lambda: best((8, 32), [rows(8)]), "rows(8) moves 8 elements of 32 bits a lane, 256 bits", "8, 16, 32, 64 or 128"),
    (lambda: best((8, 30), [rows(3)]), "rows(3) moves 3 elements of 32 bits a lane, 96 bits", "8, 16, 32, 64 or 128"),
    (lambda: best((8, 8), [layouts.cp_async(4)], bits=64), "cp_async(4) cuts elements of 64 bits", "at most 32 bits"),
    (lambda: best((8, 12), [layouts.ldmatrix(4)], bits=16), "ldmatrix(4) takes pieces of 8 x 8", "multiples of 8 x 8"),
    (lambda: best((16, 8), [layouts.mma("A", "m16n8k8")], bits=8), "does not exist for elements of 8 bits", "of 16"),
    (lambda: rows(0), "the width of an access is 0", "how many elements a lane moves"),
    (lambda: layouts.linear("rows"), "a linear order is 'rows'", "'row' or 'column'"),  # type: ignore[arg-type]
    (lambda: layouts.blocks(8, 8), "a block has 8 x 8 lanes", "at most 32 lanes"),
    (lambda: layouts.cp_async(12), "cp_async moves 12 bytes", "4, 8 or 16 bytes a lane"),
    (lambda: layouts.ldmatrix(3), "ldmatrix moves 3 matrices", "1, 2 or 4 matrices"),
    (lambda: layouts.mma("D", "m16n8k8"), "'D' of 'm16n8k8' is no operand of mma.sync", '"A", "B" or "C"'),  # type: ignore[arg-type]
    (lambda: layouts.mma("A", "m16n16k16"), "'A' of 'm16n16k16' is no operand of mma.sync", '"A", "B" or "C"'),
    (
        lambda: best((32, 32), [layouts.cp_async(16, along=2)]),
        "runs along axis 2 of a tile with 2 axes",
        "from -2 to 1",
    ),
    (lambda: access(3), "an access is 3", "a function from a lane to a cell"),  # type: ignore[arg-type]
    (lambda: access(lambda lane: (lane, 0), lanes=33), "an access has 33 lanes", "from 1 to 32"),
    (lambda: access(lambda lane: (lane, 0), k=3), "lambda cannot be called with (lane, k)", "a function of the lane"),
    (lambda: access(lambda lane, k: (lane, k), k=0), "k of lambda is 0", "a number from 1"),
    (lambda: best((32, 32), [lambda lane: lane]), "lambda at lane 0 gives 0", "a tuple of 2 ints"),
    (lambda: best((32, 32), [lambda lane: (lane, 0.5)]), "lambda at lane 0 gives (0, 0.5)", "a tuple of 2 ints"),
    (
        lambda: best((32, 32), [access(lambda lane, k: (lane, k), k=33)]),
        "lambda at lane 0, k = 32 gives the cell (0, 32), which is outside of the tile",
        "0 <= r < 32 and 0 <= c < 32",
    ),
    (
        lambda: best((32, 32), [access(lambda lane: (lane, 30), width=4)]),
        "lambda, lane 0: the vector of 4 that begins at (0, 30) leaves the tile",
        "vectors that end within 32 along axis 1",
    ),
    (lambda: count(3, BOTH), "the layout is 3", "a layout of swizzle.layouts"),  # type: ignore[arg-type]
    (lambda: count(layouts.padded((32, 32), 33), [rows(4)]), "does not keep the vectors of rows(4) whole", "in order"),
    (lambda: layouts.padded((32, 32), 31), "the pitch is 31", "at least the 32 elements of a row"),
    (lambda: layouts.rotated((32, 32), "1"), "rows are turned by '1'", "an int"),  # type: ignore[arg-type]
    (lambda: layouts.swizzled((32, 32), 3, 0, 2), "the swizzle is <3, 0, 2>", "S at least B"),
    (lambda: layouts.xored((32, 32), [1]), "the columns are [1]", "the bits below"),
    (lambda: layouts.row_major(()), "the shape is ()", "a tuple of ints from 1"),
    (lambda: layouts.row_major((4, 4), 7), "an element has 7 bits", "8, 16, 32, 64 or 128 bits"),
]


@pytest.mark.parametrize("call, found, expected", MISTAKES, ids=[found for _, found, _ in MISTAKES])
def test_a_mistake_is_one_error(call: Callable[[], Any], found: str, expected: str) -> None:
    """It stands at this file's line, where the call is."""
    with pytest.raises(SwizzleError) as raised:
        call()
    error = raised.value
    assert found in error.found and expected in error.expected
    assert error.place is not None and error.place.file == __file__
    assert linecache.getline(__file__, error.place.line).strip()


def test_the_whole_message() -> None:
    """Place, line, what was found, what was expected, and the mend."""
    with pytest.raises(SwizzleError) as raised:
        best((32, 32), BOTH, bits=12)
    assert error_without_line(str(raised.value)) == (
        f"{__file__}:_:9: error: an element has 12 bits\n"
        "            best((32, 32), BOTH, bits=12)\n"
        f"            {'^' * len('best((32, 32), BOTH, bits=12)')}\n"
        "  expected: 8, 16, 32, 64 or 128 bits\n"
        "  fix: bits=16 for f16 and bf16"
    )


def error_without_line(text: str) -> str:
    head, rest = text.split(":", 1)
    _, tail = rest.split(":", 1)
    return f"{head}:_:{tail}"
