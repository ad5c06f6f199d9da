"""What CUDA leaves undefined is found, with thread and line; what is well defined is not complained of."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from cuda_out.emulate.emulate import EmulationError, emulate, emulate_checked

pytestmark = pytest.mark.skipif(
    not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler (g++ or clang++)"
)

# Body of a kernel (const float* x, float* y, int one) over 64 threads `t` and arrays of 64; the message it must draw.
WRONG = {
    "read past the end": ("y[t] = x[t + 1];", r"thread \(63,0,0\): out of bounds: reads 4 bytes at element 64 of arg"),
    "write before the start": ("y[t - 1] = x[t];", r"thread \(0,0,0\): out of bounds: writes 4 .* -1 of argument 1"),
    "far away": ("y[one * 1000000000L] = x[t];", r"thread \(0,0,0\): (illegal access|out of bounds)"),
    "null": ("y[t] = *reinterpret_cast<const float*>(size_t(one - 1));", "illegal access at address"),
    "register array": ("float r[4] = {}; r[t & 3] = x[t]; y[t] = r[4 * one];", "index 4 is outside its array"),
    "shared array": ("__shared__ float s[2][8]; s[one][t & 15] = x[t]; y[t] = 0;", "index 8 is outside its array"),
    "past dynamic shared": (
        "extern __shared__ float d[]; d[t] = x[t]; y[t] = 0;",
        "at byte 32 of dynamic shared memory",
    ),
    "misaligned vector": ("y[t] = reinterpret_cast<const float4*>(x + t)->x;", r"thread \(1,0,0\): misaligned access"),
    "shared without barrier": (
        "__shared__ float s[64]; s[t] = x[t]; y[t] = s[t ^ 1];",
        "race on shared memory, byte .*: writes what .* read",
    ),
    "shared after a warp's barrier": (
        "__shared__ float s[64]; s[t] = x[t]; __syncwarp(); y[t] = s[t ^ 32];",
        r"race on shared memory, byte .*: writes what block \(0,0,0\) thread \(0,0,0\) read",
    ),
    "shared after a shuffle": (
        "__shared__ float s[64]; s[t] = x[t]; const float v = __shfl_sync(0xffffffffu, x[t], 0); y[t] = s[t ^ 1] + v;",
        r"race on shared memory, byte .*: reads what block \(0,0,0\) thread \(1,0,0\) wrote",
    ),
    "shared after a barrier of other lanes": (
        "__shared__ float s[64]; s[t] = x[t]; __syncwarp(t & 16 ? 0xffff0000u : 0xffffu); y[t] = s[t ^ 16];",
        r"race on shared memory, byte .*: (reads|writes) what block .* (wrote|read)",
    ),
    "two writers": ("y[one] = x[t];", r"race on argument 1, element 1: writes what .* thread \(0,0,0\) wrote"),
    "read, then overwritten by another": (
        "const float v = y[t]; y[(t + 1) & 63] = v;",
        r"race on argument 1, element 1: (reads|writes) what .* (wrote|read)",
    ),
    "read by many, then written by one of them": (
        "const float v = __shfl_sync(0xffffffffu, y[0], 0); if (t == 63) y[0] = v;",
        r"race on argument 1, element 0: writes what .* thread \(62,0,0\) read",
    ),
    "lanes that left": ("if (t < 7) y[t] = __shfl_sync(0xffffffffu, x[t], 0);", r"names lane 7, but .* has exited"),
    "not in its own mask": ("y[t] = __shfl_sync(0xffu, x[t], 0);", "lane 8, mask 0x000000ff: the lane is not in its"),
    "reads outside the mask": (
        "if (t < 8) y[t] = __shfl_sync(0xffu, x[t], 9);",
        "reads lane 9, which is not in the mask",
    ),
    "two shuffles on one line": (
        "y[t] = t & 1 ? __shfl_sync(0xffffffffu, x[t], 0) : __shfl_sync(0xffffffffu, x[t], 1);",
        "divergent warp operation: .* waits at __shfl_sync on line .*, but .* waits at __shfl_sync",
    ),
    "warp against block": ("if (t & 1) __syncthreads(); else __syncwarp(); y[t] = 0;", "divergent warp operation"),
    "bad width": ("y[t] = __shfl_sync(0xffffffffu, x[t], 0, 5 * one);", "width 5 is no power of two"),
    "barrier for some": (
        "if (t < 7) __syncthreads(); y[t] = 0;",
        r"divergent barrier: .* thread \(63,0,0\) has exited",
    ),
    "two barriers": (
        "if (t < 7) __syncthreads(); else __syncthreads(); y[t] = 0;",
        "divergent barrier: .*, but .* waits",
    ),
    "division by zero": ("y[t] = 7 / (one - 1);", "division by zero"),
    "shift": ("y[t] = 1 << (one * 40);", "shift by 40 bits"),
    "endless": ("while (*const_cast<volatile int*>(&one)) {} y[t] = 0;", "still runs at the time limit"),
}

# The same shape, all of it defined behaviour.
RIGHT = {
    "barrier": "__shared__ float s[64]; s[t] = x[t]; __syncthreads(); y[t] = s[63 - t];",
    "warp barrier": "__shared__ float s[64]; s[t] = x[t]; __syncwarp(); y[t] = s[t ^ 1];",
    "a barrier of half a warp": (
        "__shared__ float s[64]; s[t] = x[t]; __syncwarp(t & 16 ? 0xffff0000u : 0xffffu); y[t] = s[t ^ 1];"
    ),
    "a chain of barriers": (
        "__shared__ float s[64]; s[t] = x[t]; const unsigned half = t & 16 ? 0xffff0000u : 0xffffu; __syncwarp(half); "
        "if (t % 16 == 0) __syncwarp(0x10001u); __syncwarp(half); y[t] = s[t ^ 16];"
    ),
    "reuse after barriers": (
        "__shared__ float s[64]; for (int k = 0; k < 3; ++k) "
        "{ s[(t + k) & 63] = x[t]; __syncthreads(); y[t] += s[t]; __syncthreads(); }"
    ),
    "one thread's own cell": "y[t] = x[t]; y[t] += 1; y[t] *= y[t];",
    "many readers": "y[t] = x[0] + x[t & 3];",
    "lanes leave after the last exchange": "const float v = __shfl_sync(0xffffffffu, x[t], 3); if (t < 9) y[t] = v;",
    "two threads use a cell in turn": "if (t < 32) y[t] = x[t]; __syncthreads(); if (t >= 32) y[t - 32] += 1;",
}


def _text(bodies: list[str]) -> str:
    """One kernel that holds all the bodies, one a line, so that one compilation serves all tests."""
    cases = "\n".join(f"  if (which == {i}) {{ {body} }}" for i, body in enumerate(bodies))
    head = "__global__ void k(const float* x, float* y, int one, int which) {\n  const int t = threadIdx.x;\n"
    return f"{head}{cases}\n}}\n"


TEXT = _text([*(body for body, _ in WRONG.values()), *RIGHT.values()])


def _arguments(which: int) -> list[np.ndarray | np.generic]:
    return [np.arange(64, dtype=np.float32), np.zeros(64, np.float32), np.int32(1), np.int32(which)]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("case", WRONG)
def test_undefined_behaviour_is_found(case: str) -> None:
    """Each planted mistake stops the run with its own message."""
    which = list(WRONG).index(case)
    with pytest.raises(EmulationError, match=WRONG[case][1]) as caught:
        emulate(TEXT, "k", (1, 1, 1), (64, 1, 1), _arguments(which), shared_bytes=32, timeout=1)
    assert "block (0,0,0)" in str(caught.value)


@pytest.mark.parametrize("case", RIGHT)
def test_defined_behaviour_passes_in_every_order(case: str) -> None:
    """Nothing is reported where nothing is wrong, and results do not depend on the order of lanes."""
    which = len(WRONG) + list(RIGHT).index(case)
    arguments = _arguments(which)
    emulate_checked(TEXT, "k", (1, 1, 1), (64, 1, 1), arguments, shared_bytes=32)
    assert np.asarray(arguments[1]).any()


@pytest.mark.skipif(not shutil.which("addr2line"), reason="no addr2line (binutils)")
def test_the_line_of_a_bad_access_is_named() -> None:
    """The message ends with the line of the printed text."""
    which = list(WRONG).index("misaligned vector")
    with pytest.raises(EmulationError, match=rf"\(kernel\.cu:{3 + which}\)$"):
        emulate(TEXT, "k", (1, 1, 1), (64, 1, 1), _arguments(which))


def test_more_local_memory_than_there_is() -> None:
    """A frame larger than a fiber's stack is an error, not a write into another thread's."""
    text = "__global__ void k(float* y) { volatile float big[1 << 17]; big[threadIdx.x] = 1; y[threadIdx.x] = big[5]; }"
    with pytest.raises(EmulationError, match=r"thread \(0,0,0\): stack overflow"):
        emulate(text, "k", (1, 1, 1), (8, 1, 1), [np.zeros(8, np.float32)])


def test_races_between_blocks() -> None:
    """Two blocks may not write one element, whatever their barriers."""
    text = "__global__ void k(int* y) { __syncthreads(); y[threadIdx.x] = blockIdx.x; }"
    with pytest.raises(EmulationError, match=r"block \(1,0,0\), .* race .* what block \(0,0,0\) thread .* wrote"):
        emulate(text, "k", (2, 1, 1), (8, 1, 1), [np.zeros(8, np.int32)])


def test_shared_memory_that_nobody_wrote_shows_in_the_orders() -> None:
    """Each order poisons shared memory differently, so a result made of it differs and is named by element."""
    text = "__global__ void k(int* y) { __shared__ int s[8]; y[threadIdx.x] = threadIdx.x == 5 ? s[5] : 0; }"
    y = np.full(8, 7, np.int32)
    with pytest.raises(EmulationError, match=r"argument 0, element \(5,\) is -1 in order 0 and"):
        emulate_checked(text, "k", (1, 1, 1), (8, 1, 1), [y])
    assert set(y) == {7}


def test_orders_of_lanes_and_blocks() -> None:
    """Order 0 ascends, order 1 descends, others permute; each block of the grid and each lane has its turn."""
    text = "__device__ int turn; __global__ void k(int* y) { y[blockIdx.x * 40 + threadIdx.x] = turn++; }"
    seen = []
    for order in range(4):
        y = np.full(120, -1, np.int32)
        emulate(text, "k", (3, 1, 1), (40, 1, 1), [y], order=order)
        seen.append(y.tolist())
    assert seen[0] == list(range(120)) and seen[1] == seen[0][::-1]
    assert sorted(seen[2]) == sorted(seen[3]) == seen[0]
    assert len({tuple(turns) for turns in seen}) == 4
    with pytest.raises(EmulationError, match=r"argument 0, element \(0,\) is 0 in order 0 and 119 in order 1"):
        emulate_checked(text, "k", (3, 1, 1), (40, 1, 1), [np.zeros(120, np.int32)])


def test_blocks_do_not_see_each_others_shared_memory() -> None:
    """Each block finds NaN where an earlier one left numbers."""
    text = """
      __global__ void k(float* y) {
        __shared__ float s[8];
        y[blockIdx.x * 8 + threadIdx.x] = s[threadIdx.x];
        s[threadIdx.x] = 1.0f;
      }
    """
    for resident in (1, 3):
        y = np.zeros(24, np.float32)
        emulate(text, "k", (3, 1, 1), (8, 1, 1), [y], resident=resident)
        assert np.isnan(y).all()


def test_blocks_that_wait_for_one_that_has_not_begun() -> None:
    """Of three blocks two run at once: where both wait for the third, they are named; where it runs, all get on."""
    text = """
      __global__ void k(volatile int* flag, int* y) {
        __shared__ volatile int own[2];
        own[threadIdx.x] = blockIdx.x;
        if (blockIdx.x == 2) flag[0] = 1;
        while (flag[0] == 0) {}
        y[2 * blockIdx.x + threadIdx.x] = own[threadIdx.x];
      }
    """
    flag, y = np.zeros(1, np.int32), np.zeros(6, np.int32)
    with pytest.raises(
        EmulationError, match=r"^block \(\d,0,0\): it and 1 other blocks wait for what none of them stores; 1 "
    ):
        emulate(text, "k", (3, 1, 1), (2, 1, 1), [flag, y], resident=2)
    emulate(text, "k", (3, 1, 1), (2, 1, 1), [flag, y], resident=3)
    assert y.tolist() == [0, 0, 1, 1, 2, 2]
