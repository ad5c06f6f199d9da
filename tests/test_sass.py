"""Counting instructions: the way through a disassembly that counts; the kernels written by hand, which are right."""

from __future__ import annotations

import io
import re
import shutil
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

from bench import sass, structures
from bench.sass import Compared, Count, Hand
from cuda_out.compile.report import MachineInstruction, disassembler, parse, shortest
from cuda_out.compile.toolchain import available_tools
from cuda_out.emulate.emulate import emulate_checked
from swizzle.commands.process import execute

Array: TypeAlias = "np.ndarray[Any, Any]"

LISTING = """
	.section	.text.k,"ax",@progbits
k:
.text.k:
        /*0000*/                   S2R R0, SR_TID.X ;
        /*0010*/              @!P0 LDG.E.CONSTANT R1, desc[UR4][R2.64] ;
        /*0020*/               @P0 BRA `(.L_x_0) ;
        /*0030*/                   LDG.E R2, desc[UR4][R2.64] ;
        /*0040*/                   LDG.E R3, desc[UR4][R2.64+0x4] ;
        /*0050*/                   BRA `(.L_x_1) ;
.L_x_0:
        /*0060*/                   LDG.E.64 R2, desc[UR4][R2.64] ;
.L_x_1:
        /*0070*/                   FCHK P1, R1, 9 ;
        /*0080*/              @!P1 BRA `(.L_x_2) ;
        /*0090*/                   CALL.REL.NOINC `(slow) ;
.L_x_2:
        /*00a0*/               @P2 EXIT ;
        /*00b0*/                   STG.E desc[UR4][R4.64], R1 ;
        /*00c0*/                   EXIT ;
slow:
        /*00d0*/                   MUFU.RCP R1, R1 ;
        /*00e0*/                   RET.REL.NODEC R6 `(k) ;
.L_x_3:
        /*00f0*/                   BRA `(.L_x_3);
        /*0100*/                   NOP;
	.section	.text.other,"ax",@progbits
        /*0000*/                   EXIT ;
"""


def test_the_way_that_counts() -> None:
    """All the bytes by the fewest instructions: the vector, past the slow path, on behind a conditional exit."""
    code, labels = parse(LISTING, "k")
    assert len(code) == 17 and code[1] == MachineInstruction("LDG.E.CONSTANT", True, "")
    assert (code[6].bytes, code[11].bytes, code[7].bytes) == (8, 4, 0)
    way = shortest(code, labels)
    assert (len(way.instructions), way.loops, way.repeated) == (9, False, ())
    called = [
        each if each.head != "BRA" or each.target != ".L_x_2" else MachineInstruction("MOV", False, "") for each in code
    ]
    assert len(shortest(called, labels).instructions) == 12  # the function and its return


def test_loops_are_told() -> None:
    """A branch back counts once and is said; the one that the code ends with is never reached."""
    code = [
        MachineInstruction("LDG.E", False, ""),
        MachineInstruction("BRA", True, "a"),
        MachineInstruction("EXIT", False, ""),
    ]
    back, on = shortest(code, {"a": 0}), shortest(code, {"a": 2})
    assert (len(back.instructions), back.loops, back.repeated) == (3, True, tuple(code[:2]))
    assert (len(on.instructions), on.loops, on.repeated) == (3, False, ())


RNG = np.random.default_rng(0)
needs_cpp = pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler")
ALL = sorted({hand for row in sass.rows() for hand in row.against}, key=lambda hand: hand.label)
PROVED = [hand for hand in ALL if hand.name == "matrices.cu:product_tile"]
"""Kernels with inline PTX of their own, on addresses that they compute: the emulation knows that of printed texts."""


def ints(*shape: int) -> Array:
    return RNG.integers(-9, 9, shape).astype(np.float32)


def correlated(x: Array, w: Array) -> Array:
    windows = np.lib.stride_tricks.sliding_window_view(x, w.shape)
    return np.einsum(windows, [*range(windows.ndim)], w, [*range(w.ndim, windows.ndim)], [*range(w.ndim)])


def launch(hand: Hand, n: int) -> tuple[tuple[int, int, int], tuple[int, int, int], list[Any], Array]:
    """Return grid, block and arguments for a length, and what the last array must be; weights are passed by pointer."""
    kernel, given = hand.name.partition(":")[2], hand.constants
    k, of = given.get("K", 1), np.full
    y: Array
    match kernel:
        case "filter_1d" | "average_1d" | "packed_filter_1d" | "packed_average_1d":
            x, w = ints(n + k - 1) * k, ints(k) if "filter" in kernel else of(k, 1 / k)
            y = np.zeros(n, np.float32)
            between = [w] if "filter" in kernel else []
            return (-(-n // (128 * given["C"])), 1, 1), (128, 1, 1), [x, *between, y, np.int32(n)], correlated(x, w)
        case "filter_2d" | "average_2d":
            height = 5 * given["R"] - 1
            x = ints(height + k - 1, n + k - 1) * (k * k)
            w = ints(k, k) if kernel == "filter_2d" else of((k, k), 1 / k**2)
            y = np.zeros((height, n), np.float32)
            between = [w] if kernel == "filter_2d" else []
            grid = (-(-n // 32), -(-height // (4 * given["R"])), 1)
            return grid, (32, 4, 1), [x, *between, y, np.int32(n), np.int32(height)], correlated(x, w)
        case "transpose_tile":
            x, y = ints(32, n), np.zeros((n, 32), np.float32)
            return (-(-n // 32), 1, 1), (32, given["T"], 1), [x, y, np.int32(n)], x.T
        case "row_product":
            a, v, y = ints(n, 64), ints(64), np.zeros(n, np.float32)
            return (-(-n // given["R"]), 1, 1), (32, 1, 1), [a, v, y, np.int32(n)], a @ v
        case "softmax_row":
            x, y = ints(n, 32), np.zeros((n, 32), np.float32)
            powers = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
            return (n, 1, 1), (32, 1, 1), [x, y], (powers / powers.sum(1, keepdims=True))[:, ::-1]
        case "multiply":
            a, b = RNG.integers(0, 1 << 32, (2, n, 32), np.uint64).astype(np.uint32)
            products = np.zeros((n, 64), np.uint32)
            for p in range(32):
                products[:, p : p + 32] ^= a[:, p, None] & b
            return (n, 1, 1), (32, 1, 1), [a, b, np.zeros((n, 64), np.uint32)], products
        case _:
            words = given["S"]
            s = RNG.integers(0, 1 << 32, (n, words), np.uint64).astype(np.uint32)
            y = np.zeros((words, n) if "store" in kernel else n, np.uint32)
            want = s.T if "store" in kernel else s.sum(1, dtype=np.uint32)
            return (-(-n // (128 * given.get("U", 1))), 1, 1), (128, 1, 1), [s, y, np.int32(n)], want


@needs_cpp
@pytest.mark.slow
@pytest.mark.parametrize("hand", [hand for hand in ALL if hand not in PROVED], ids=lambda hand: hand.label)
def test_a_kernel_written_by_hand_is_right(hand: Hand) -> None:
    """At lengths that end in a block's tail, and one that fills blocks."""
    text, name = sass.written(hand)
    text = text.replace("const Weights w", "const float* __restrict__ w")  # by value there, which is not emulated
    text = re.sub(r"w\.at\[([^\]]*)\]\[([^\]]*)\]", r"w[(\1) * K + \2]", text).replace("w.at[", "w[")
    for n in (7, 1024, 1111):
        grid, block, arguments, want = launch(hand, n if "2d" not in name else n // 16 + 1)
        given = [a.astype(np.float32) if isinstance(a, np.ndarray) and a.dtype == np.float64 else a for a in arguments]
        emulate_checked(text, name, grid, block, given, orders=(0, 2))
        got = next(a for a in reversed(given) if isinstance(a, np.ndarray))
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
@pytest.mark.slow
@pytest.mark.parametrize("hand", PROVED, ids=lambda hand: hand.label)
def test_a_product_written_by_hand_is_proved(hand: Hand, tmp_path: Path) -> None:
    """As `swizzle prove` does it; rows of w that are taken in another order are refused."""
    text, name = sass.written(hand)
    (tmp_path / "hand.cu").write_text(text, encoding="utf-8")
    columns = hand.constants["K"]
    (tmp_path / "spec.py").write_text(
        "def product(x, w):\n    return x @ w.T\n\ndef turned(x, w):\n    return x @ w[::-1].T\n"
    )
    launch = ["--kernel", name, "--launch", "1,128", "--args", f"f16[64,{columns}],f16[64,{columns}],f32.out[64,64]"]
    for spec, status in (("product", 0), ("turned", 1)):
        out, err = io.StringIO(), io.StringIO()
        given = ["prove", str(tmp_path / "hand.cu"), f"{tmp_path / 'spec.py'}:{spec}", *launch]
        assert execute(given, out, err) == status, out.getvalue() + err.getvalue()


@pytest.mark.skipif(not available_tools() or disassembler() is None, reason="no compiler or no nvdisasm")
def test_one_row_is_counted() -> None:
    """A kernel written by hand: few instructions, no loop, no local memory."""
    hand = Hand("filters.cu:filter_1d", {"K": 3, "C": 1}, 1)
    found = sass.count_hand(hand, "sm_90")
    assert 15 < found.thread < 30 < found.total and not found.loops and not found.local and found.block == 128
    assert sass.line("k", found, 1).startswith("| k | 1 | ")


@pytest.mark.parametrize(
    ("block", "registers", "shared", "blocks"),
    [
        (128, 32, 0, 16), (128, 33, 0, 12), (256, 32, 0, 8), (1024, 64, 0, 1), (1024, 65, 0, 0), (32, 16, 0, 32),
        (32, 255, 0, 8), (96, 40, 0, 16), (128, 32, 48 * 1024, 4), (64, 16, 227 * 1024, 1), (32, 16, 7168, 28),
    ],
)  # fmt: skip
def test_blocks_of_a_multiprocessor(block: int, registers: int, shared: int, blocks: int) -> None:
    """As the occupancy calculator of CUDA has it for compute capability 9.0."""
    assert Count(1, False, 1, registers, False, block, shared).blocks == blocks


@pytest.mark.slow
@pytest.mark.skipif(not available_tools() or disassembler() is None, reason="no compiler or no nvdisasm")
def test_structures_take_fewer_instructions_than_trove(capsys: pytest.CaptureFixture[str]) -> None:
    """At a size with vectors and shuffles."""
    assert structures.main(["--sizes", "3"]) == 0
    (line,) = re.findall(r"^\| 3 \|.*\| 61 \|.*$", capsys.readouterr().out, re.M)
    assert float(re.findall(r"[\d.]+", line)[1]) < 61


def test_the_best_of_each_side_is_compared() -> None:
    """Of ours, the case study comes first; the largest ratio decides."""
    one, four = Compared(20.0, 64, 1), Compared(10.0, 48, 4)
    compared = [
        ({"study": Compared(40.0, 64, 1), "several": Compared(12.0, 32, 8)}, {"one": one, "four": four}),
        ({"other": Compared(9.0, 64, 1)}, {"hand": Compared(10.0, 64, 2)}),
    ]
    lines, worst = sass.summary(compared)
    assert lines[2:] == [
        "| study | 40.0 | 12.0: several | 10.0: four | 1.20 | 32, 48 | 8192, 6144 | 4.00 with 64: study |",
        "| other | 9.0 | 9.0: other | 10.0: hand | 0.90 | 64, 64 | 2048, 4096 | 0.90 with 64 |",
    ]
    assert worst == 1.2
