"""Random warp kernels, defined by construction, against a NumPy model of the same steps."""

from __future__ import annotations

import random
import shutil

import numpy as np
import numpy.typing as npt
import pytest

from cuda_out.emulate.emulate import emulate_checked
from tests.slow_cases import slow_unless

pytestmark = pytest.mark.skipif(
    not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler (g++ or clang++)"
)

THREADS = 64
T = np.arange(THREADS)
Lanes = npt.NDArray[np.uint32]


class Model:
    """One random kernel twice: as C++ statements, and as the values that all threads have."""

    def __init__(self, seed: int, warp_size: int, inputs: Lanes) -> None:
        self.choose = random.Random(seed)
        self.warp_size = warp_size
        self.code: list[str] = []
        self.values: list[tuple[str, Lanes]] = [("in[t]", inputs), ("unsigned(t)", T.astype(np.uint32))]
        steps = (self.arithmetic, self.select, self.shuffle, self.up, self.down, self.xor, self.shared, self.registers)
        for _ in range(self.choose.randrange(4, 16)):
            self.choose.choice(steps)()

    def operand(self) -> tuple[str, Lanes]:
        return self.choose.choice(self.values[-6:])

    def define(self, text: str, value: Lanes) -> None:
        name = f"v{len(self.values)}"
        self.code.append(f"unsigned {name} = {text};")
        self.values.append((name, value.astype(np.uint32)))

    def arithmetic(self) -> None:
        (a, left), (b, right) = self.operand(), self.operand()
        op = self.choose.choice("+-*^&|")
        results = {"+": left + right, "-": left - right, "*": left * right}
        results |= {"^": left ^ right, "&": left & right, "|": left | right}
        self.define(f"{a} {op} {b}", results[op])

    def select(self) -> None:
        (a, left), (b, right) = self.operand(), self.operand()
        bound = self.choose.randrange(self.warp_size)
        self.define(f"t % {self.warp_size} < {bound} ? {a} : {b}", np.where(T % self.warp_size < bound, left, right))

    def segment(self) -> tuple[int, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Choose a width; return it with each thread's place in its segment and the segment's first thread."""
        width = self.warp_size >> self.choose.randrange(2)
        return width, T % width, T // width * width

    def shuffle(self) -> None:
        (a, offered), (b, steering) = self.operand(), self.operand()
        width, _, first = self.segment()
        self.define(f"__shfl_sync(0xffffffffu, {a}, int({b}), {width})", offered[first + steering % width])

    def up(self) -> None:
        (a, offered), delta = self.operand(), self.choose.randrange(self.warp_size)
        width, lane, first = self.segment()
        source = np.where(lane < delta, lane, lane - delta)
        self.define(f"__shfl_up_sync(0xffffffffu, {a}, {delta}, {width})", offered[first + source])

    def down(self) -> None:
        (a, offered), delta = self.operand(), self.choose.randrange(self.warp_size)
        width, lane, first = self.segment()
        source = np.where(lane + delta >= width, lane, lane + delta)
        self.define(f"__shfl_down_sync(0xffffffffu, {a}, {delta}, {width})", offered[first + source])

    def xor(self) -> None:
        (a, offered), mask = self.operand(), self.choose.randrange(self.warp_size)
        lane = T % self.warp_size
        self.define(f"__shfl_xor_sync(0xffffffffu, {a}, {mask})", offered[T - lane + (lane ^ mask)])

    def shared(self) -> None:
        (a, written), (b, steering) = self.operand(), self.operand()
        factor, offset = self.choose.choice((1, 3, 5, 7)), self.choose.randrange(THREADS)
        self.code.append(f"s[(t * {factor} + {offset}) % {THREADS}] = {a}; __syncthreads();")
        cells = np.zeros(THREADS, np.uint32)
        cells[(T * factor + offset) % THREADS] = written
        self.define(f"s[{b} % {THREADS}]", cells[steering % THREADS])
        self.code.append("__syncthreads();")

    def registers(self) -> None:
        chosen, (b, steering) = [self.operand() for _ in range(self.choose.choice((2, 3, 5)))], self.operand()
        name = f"r{len(self.values)}"
        self.code.append(f"unsigned {name}[{len(chosen)}] = {{{', '.join(text for text, _ in chosen)}}};")
        values = np.stack([value for _, value in chosen])
        self.define(f"{name}[{b} % {len(chosen)}]", values[steering % len(chosen), T])


@pytest.mark.parametrize("warp_size", slow_unless([4, 8, 32, 64], lambda size: size in (8, 32)))
def test_random_warp_kernels(warp_size: int) -> None:
    """Twenty kernels a warp size, all in one text, in four orders of lanes each."""
    inputs = np.random.default_rng(warp_size).integers(0, 2**32, THREADS, dtype=np.uint32)
    models = [Model(1000 * warp_size + seed, warp_size, inputs) for seed in range(20)]
    cases = "\n".join(
        f"  if (which == {i}) {{ {' '.join(model.code)} out[t] = {model.values[-1][0]}; }}"
        for i, model in enumerate(models)
    )
    text = f"""__global__ void f(const unsigned* in, unsigned* out, int which) {{
  __shared__ unsigned s[{THREADS}];
  const int t = threadIdx.x;
{cases}
}}"""
    for i, model in enumerate(models):
        out = np.zeros(THREADS, np.uint32)
        emulate_checked(text, "f", (1, 1, 1), (THREADS, 1, 1), [inputs, out, np.int32(i)], warp_size=warp_size)
        np.testing.assert_array_equal(out, model.values[-1][1], err_msg="\n".join(model.code))
