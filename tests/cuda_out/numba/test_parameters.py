"""numba's PTX with pointers and lengths for parameters is the same on numbers, and nothing else is taken for it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cuda_out.numba.compiling import compile_kernel, why_not_compiled
from cuda_out.numba.module_text import read_module
from cuda_out.numba.parameters import with_lengths
from cuda_out.numba.printer import print_numba
from cuda_out.passes.pipeline import optimize
from cuda_out.ptx.running.run import interpret
from cuda_out.ptx.syntax import NotInterpreted
from cuda_out.tiling.tiling import Span, TiledAxis, Tiling
from symbolic.ir.program import DType
from tests.cuda_out.build import kernel, load, parameter, store, where

ROWS = optimize(
    kernel(
        "rows",
        [parameter("x", 5, 32, dtype=DType.I32), parameter("y", 32, role="out", dtype=DType.I32)],
        [store("y", where("threadIdx"), load("x", 1, where("threadIdx"), dtype=DType.I32))],
        block=(32, 1, 1),
        grid=(1, 1, 1),
    )
)
SOURCE = print_numba(ROWS)


def ptx_of(text: str) -> str:
    return compile_kernel(read_module(text, SOURCE, ROWS), ROWS, ("sm_80",))["sm_80"]


@pytest.mark.skipif(why_not_compiled() != "", reason=why_not_compiled())
@pytest.mark.parametrize(
    ("row", "place"),
    [("1", "cuda.threadIdx.x"), ("x.shape[0] - 2", "(cuda.threadIdx.x - 5)"), ("-2", "-1 - cuda.threadIdx.x"),
     ("cuda.threadIdx.x % 9 - 4", "cuda.threadIdx.x ^ -32 * (cuda.threadIdx.x & 1)")],
)  # fmt: skip
def test_rows_and_indices_from_the_end(row: str, place: str) -> None:
    """Extents come from lengths, and negative indices count from the end of the row and of the rows."""
    assert "x[1, cuda.threadIdx.x]" in SOURCE.text
    ptx = ptx_of(SOURCE.text.replace("x[1, cuda.threadIdx.x]", f"x[{row}, {place}]"))
    axis = TiledAxis("x", 32, 1, 1)
    tiling = Tiling((axis,), {"x": (Span("x", 2, 3), None), "y": (None,)}, ())
    x, y = np.arange(160, dtype=np.int32).reshape(5, 32), np.zeros(32, np.int32)
    interpret(with_lengths(ptx, "own", ROWS, tiling), "own", (1, 1, 1), (32, 1, 1), [x, y, np.int64(1)])
    for lane in range(32):
        at = [eval(each.replace("cuda.threadIdx.x", str(lane)), {"x": x}) for each in (row, place)]
        assert y[lane] == x[at[0], at[1]]


@pytest.mark.skipif(why_not_compiled() != "", reason=why_not_compiled())
def test_what_is_not_like_numbas_is_not_interpreted() -> None:
    ptx = ptx_of(SOURCE.text)
    given = re.findall(r"\.param \.u64 (\w+_param_\d+)", ptx)
    assert len(given) == 16
    for change, why in [
        (ptx.replace(".entry", ".func"), "without a kernel"),
        (ptx.replace(f"\t.param .u64 {given[3]},\n", ""), "15 words, where numba passes 16"),
        (ptx.replace(f"[{given[4]}]", f"[{given[7]}]"), "the distance of elements of x"),
        (ptx.replace(f"[{given[4]}]", f"[{given[2]}]"), "the number of elements of x"),
    ]:
        assert change != ptx
        with pytest.raises(NotInterpreted, match=why):
            with_lengths(change, "own", ROWS, None)
