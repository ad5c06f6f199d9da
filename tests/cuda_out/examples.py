"""Kernels without holes that the tests of passes, printer and emulation share."""

from __future__ import annotations

from symbolic.ir import program as ir
from symbolic.ir.program import DType
from tests.cuda_out.build import (
    F32,
    HERE,
    accumulate,
    accumulator,
    array,
    assign,
    barrier,
    branch,
    data,
    kernel,
    load,
    loop,
    num,
    op,
    parameter,
    select,
    shuffle,
    store,
    total,
    un,
    var,
    where,
)


def conv1d(taps: int = 3) -> ir.Program:
    """The running example of the paper, solved (Listing 3): 64 threads in two warps, two blocks."""
    lane_part = select(op(">=", "lane", "k"), 0, 1)
    return kernel(
        "conv1d",
        [parameter("x", 128 + taps - 1), parameter("w", taps, role="const"), parameter("y", 128, role="out")],
        [
            assign("lane", where("laneid")),
            assign("i", op("+", op("*", where("blockIdx"), where("blockDim")), where("threadIdx"))),
            array("inp", 2),
            loop("r", 2, branch(
                op("<", op("+", "i", op("*", "r", 32)), 128 + taps - 1),
                [store("inp", "r", load("x", op("+", "i", op("*", "r", 32))))],
                [store("inp", "r", data(0.0))],
            )),
            accumulator("out"),
            loop(
                "k", taps,
                assign("v", shuffle(load("inp", lane_part), op("%", op("+", "lane", "k"), 32))),
                accumulate("out", var("v", F32), load("w", op("%", "k", taps))),
            ),
            branch(op("<", "i", 128), [store("y", "i", total("out"))]),
        ],
    )  # fmt: skip


def transpose() -> ir.Program:
    """A 2-D grid and block, a padded shared tile, parameters of two dimensions."""
    x, y = where("threadIdx", "x"), where("threadIdx", "y")
    row, column = op("*", where("blockIdx", "y"), 8), op("*", where("blockIdx", "x"), 8)
    return kernel(
        "transpose",
        [parameter("a", 16, 24), parameter("b", 24, 16, role="out")],
        [
            array("tile", 8, 9, memory="shared"),
            store("tile", y, x, load("a", op("+", row, y), op("+", column, x))),
            barrier(),
            store("b", op("+", column, y), op("+", row, x), load("tile", x, y)),
        ],
        block=(8, 8, 1),
        grid=(3, 2, 1),
    )


def rotate(size: int = 4) -> ir.Program:
    """Each thread rotates a register array by its lane: loads and stores with dynamic indices."""
    lane = where("laneid")
    return kernel(
        "rotate",
        [parameter("x", size * 32), parameter("y", size * 32, role="out")],
        [
            array("a", size),
            array("b", size),
            loop("j", size, store("a", op("%", op("-", "j", lane), size), load("x", op("+", op("*", "j", 32), lane)))),
            loop("j", size, store("b", "j", load("a", op("%", op("+", "j", op("//", lane, 2)), size)))),
            loop("j", size, store("y", op("+", op("*", lane, size), "j"), load("b", "j"))),
        ],
        block=(32, 1, 1),
        grid=(1, 1, 1),
    )


def xor_min() -> ir.Program:
    """Integer accumulators, an array of them, shuffles by delta in groups of eight lanes, nested ifs, finals."""
    u, i = DType.U32, DType.I64
    lane = where("laneid")
    negate = ir.Final("s", un("-", op("*", var("s", i), var("scale", i))))
    return kernel(
        "xor_min",
        [
            parameter("x", 64, dtype=u),
            parameter("low", 64, role="out", dtype=i),
            parameter("y", 64, 2, role="inout", dtype=u),
        ],
        [
            assign("t", op("+", op("*", op("+", op("*", where("blockIdx"), 4), where("warpid")), 8), lane)),
            assign("scale", ir.Cast(num(3), i, HERE)),
            accumulator("bits", "^", "&", init=5, shape=(2,), dtype=u),
            accumulator("least", "min", None, final=negate, dtype=i),
            loop("k", 6, branch(
                op("<", "k", 4),
                [
                    assign("v", shuffle(load("x", "t", dtype=u), op("-", "k", 1), "up")),
                    accumulate("bits", var("v", u), load("y", "t", 0, dtype=u), at=[op("%", "k", 2)]),
                    branch(
                        op("and", op(">", lane, 2), op("or", op("==", "k", 1), op("!=", lane, 6))),
                        [accumulate("least", ir.Cast(var("v", u), i, HERE), when=op(">=", lane, "k"))],
                        [accumulate("least", data(77, i))],
                    ),
                ],
                [
                    assign("v", shuffle(load("x", "t", dtype=u), 3, "xor")),
                    accumulate("bits", var("v", u), data(12, u), at=[0]),
                ],
            )),
            store("low", "t", total("least", dtype=i)),
            loop("j", 2, store("y", "t", "j", total("bits", "j", dtype=u))),
        ],
        block=(4, 4, 2), grid=(2, 1, 1), warp_size=8,
    )  # fmt: skip


def lookup() -> ir.Program:
    """Let-bound dynamic indices, two dimensions of registers, a choice of far-apart elements, negative steps."""
    lane = where("laneid")
    return kernel(
        "lookup",
        [parameter("x", 12, 32), parameter("y", 32, role="out")],
        [
            array("a", 3, 4),
            loop(
                "i",
                3,
                loop("j", -1, store("a", "i", "j", load("x", op("+", op("*", "i", 4), "j"), lane)), start=3, step=-1),
            ),
            assign("half", select(op("<", lane, 16), 0, 2)),
            assign("third", op("//", lane, 11)),
            assign("s", load("a", "half", op("%", lane, 4))),
            branch(
                op("<", lane, 7),
                [assign("q", op("+", "third", 1)), assign("s", op("+", var("s", F32), load("a", op("-", "q", 1), 3)))],
                [assign("s", op("-", var("s", F32), load("a", op("-", 2, "third"), op("//", lane, 8))))],
            ),
            store("y", lane, op("+", var("s", F32), shuffle(load("a", "third", "half"), op("-", lane, 5)))),
        ],
        block=(32, 1, 1),
        grid=(1, 1, 1),
    )


def carried() -> ir.Program:
    """Variables that outlive their block, live from one iteration to the next, or are named as C++ keywords are."""
    return kernel(
        "carried",
        [parameter("x", 32), parameter("y", 32, role="out")],
        [
            loop("k", 4,
                branch(op("==", "k", 0), [assign("float", load("x", where("threadIdx"))), assign("n", 1)]),
                branch(op(">", "k", 0), [assign("float", op("*", var("float", F32), data(0.5)))], [assign("auto", 3)]),
                loop(
                    "m", op("+", "n", 1),
                    assign("n", op("+", "n", op("*", "k", 0))), assign("auto", op("-", "auto", "m")),
                ),
            ),
            branch(op("<", where("threadIdx"), 9), [assign("late", data(2.0))], [assign("late", data(-3.0))]),
            assign("late", op("+", var("late", F32), ir.Cast(op("+", "n", "auto"), F32, HERE))),
            store("y", where("threadIdx"), op("-", var("float", F32), op("-", var("late", F32), data(0.1)))),
        ],
        block=(32, 1, 1),
        grid=(1, 1, 1),
    )  # fmt: skip


def arithmetic(dtype: DType) -> ir.Program:
    """Every operator of one data type; INDEX operators beside them."""
    x, y, t = load("x", where("threadIdx"), dtype=dtype), load("z", where("threadIdx"), dtype=dtype), where("threadIdx")
    binary = ["+", "-", "*", "min", "max"]
    binary += ["//", "%", "/"] if dtype.is_float else ["//", "%", "&", "|", "^"]
    unary = ["-", "abs"] if dtype.is_float else ["-", "~", "abs"]
    if dtype in (DType.U32, DType.U64):
        unary.remove("-")
    lines = [store("y", number, t, op(each, x, y)) for number, each in enumerate(binary)]
    lines += [store("y", 10 + number, t, un(each, x)) for number, each in enumerate(unary)]
    lines += [
        store("y", 13, t, ir.Cast(op("-", t, 3), dtype, HERE) if dtype not in (DType.U32, DType.U64) else x),
        store("y", 14, t, shuffle(op("-", x, op("-", y, data(1, dtype))), op("-", 31, t))),
        store("y", 15, t, select(op("<", op("%", op("-", t, 40), 7), op("//", op("-", t, 9), 5)), x, y)),
    ]
    return kernel(
        f"arithmetic_{dtype.value}",
        [
            parameter("x", 32, dtype=dtype),
            parameter("z", 32, dtype=dtype),
            parameter("y", 16, 32, role="inout", dtype=dtype),
        ],
        lines, block=(32, 1, 1), grid=(1, 1, 1),
    )  # fmt: skip


EXAMPLES = {
    "conv1d": conv1d(),
    "conv1d_9": conv1d(9),
    "transpose": transpose(),
    "rotate_3": rotate(3),
    "rotate_4": rotate(4),
    "rotate_7": rotate(7),
    "rotate_8": rotate(8),
    "xor_min": xor_min(),
    "lookup": lookup(),
    "carried": carried(),
    **{
        f"arithmetic_{dtype.value}": arithmetic(dtype)
        for dtype in (DType.F16, DType.F32, DType.F64, DType.I32, DType.U32, DType.I64, DType.U64)
    },
}
