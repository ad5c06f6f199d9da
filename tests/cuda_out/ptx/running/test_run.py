"""PTX on numbers: printed kernels against the reference interpreter, hand-written ones for what must be reported."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.ptx.running.machine import PtxMachine
from cuda_out.ptx.running.memory import Broken
from cuda_out.ptx.running.run import interpret
from cuda_out.ptx.syntax import NotInterpreted
from symbolic.ir.program import Program
from tests.cuda_out.examples import EXAMPLES
from tests.cuda_out.ptx.kernels import compiled
from tests.cuda_out.random_programs import RandomKernel
from tests.cuda_out.reference import NUMPY, run

HEADER = ".version 8.0 .target sm_80 .address_size 64"
pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")


def agrees(program: Program, arch: str = "sm_80") -> None:
    """Run a printed program's PTX and the reference interpreter on the same data."""
    source, ptx = compiled(program, arch)
    rng = np.random.default_rng(3)
    arrays = {}
    for parameter in program.parameters:
        low = 1 if parameter.dtype.value.startswith("u") else -9
        values = rng.integers(low, 9, parameter.shape)
        arrays[parameter.name] = np.where(values == 0, 4, values).astype(NUMPY[parameter.dtype])
    want = run(program, arrays)
    got = [arrays[name].copy() for name in source.arguments]
    interpret(ptx, source.entry, source.grid, source.block, got)
    for name, values in zip(source.arguments, got, strict=True):
        exact = values.dtype.kind != "f"
        tolerance = 0 if exact else 2e-3 if values.dtype == np.float16 else 1e-6
        np.testing.assert_allclose(values, want[name], rtol=tolerance, err_msg=name)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_compute_what_the_reference_computes(name: str) -> None:
    """Every type, shuffles of 32 and 64 bits, shared memory, loops."""
    agrees(EXAMPLES[name])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(5))
def test_random_kernels_compute_what_the_reference_computes(seed: int) -> None:
    """Register arrays, branches, shuffles in halves of a warp."""
    agrees(RandomKernel(500 + seed).program(), "sm_100" if seed % 4 == 3 else "sm_80")


def run_text(body: str, threads: int = 32, blocks: int = 1, shared: str = "") -> np.ndarray:
    """Run one hand-written kernel on y[t] = 100 + t, and n = 32 * blocks, with x[t] = t."""
    text = f'extern "C" __global__ void k(const int* x, int* y, int n) {{ int t = threadIdx.x; {shared} {body} }}'
    x, y = np.arange(32 * blocks, dtype=np.int32), np.arange(100, 100 + 32 * blocks, dtype=np.int32)
    x.flags.writeable = False
    interpret(compile_to_ptx(text), "k", (blocks, 1, 1), (threads, 1, 1), [x, y, np.int32(32 * blocks)])
    return y


def test_threads_part_and_meet_again() -> None:
    """Loops of different lengths and nested branches, on steering and on data alike."""
    body = """
      int total = 0;
      for (int i = 0; i < x[t] % 7; ++i) { if (i & 1) total += x[i]; else if (t > 9) total -= 1; }
      y[t] = total + __shfl_xor_sync(~0u, total, 1);
    """
    total = np.array([sum(i if i & 1 else -(t > 9) for i in range(t % 7)) for t in range(32)])
    np.testing.assert_array_equal(run_text(body), total + total[np.arange(32) ^ 1])


def test_lanes_wait_for_those_that_their_mask_names() -> None:
    """Two halves of a warp shuffle apart, in different branches."""
    body = """
      int v;
      if (t < 16) v = __shfl_down_sync(0x0000ffffu, x[t] * 2, 1, 16);
      else v = __shfl_up_sync(0xffff0000u, x[t] * 3, 1, 16);
      y[t] = v;
    """
    want = [2 * min(t + 1, 15) if t < 16 else 3 * max(t - 1, 16) for t in range(32)]
    np.testing.assert_array_equal(run_text(body), want)


SHARED = "__shared__ int s[32]; s[t] = x[t];"


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("y[t + 1] = 0;", r"thread \(31, 0, 0\), lane 31 writes argument 1\[32\], out of bounds: .* has 32 elements"),
        ("y[t] = x[t - 1];", r"thread \(0, 0, 0\), lane 0 reads argument 0\[-1\], out of bounds"),
        ("((int*)x)[t] = 3;", "writes argument 0, which is read-only"),
        ("y[t / 2] = t;", r"race on argument 1\[0\]: .*writes it \(line \d+: st.*no barrier between"),
        (SHARED + "y[t] = s[31 - t];", r"race on _ZZ1kE1s\[\d+\]: .* writes it .* reads it"),
        ("__shared__ int s[32]; if (t < 31) s[t] = t; __syncthreads(); y[t] = s[t];",
         r"argument 1\[31\] depends on _ZZ1kE1s\[31\], which .*lane 31 reads before it is written"),
        (SHARED + "__syncthreads(); y[t] = s[t + 1];", r"reads _ZZ1kE1s\[32\], out of bounds"),
        ("if (t < 9) y[t] = __shfl_sync(~0u, x[t], 0);", r"lane 0 waits here for .*lane 9, which never comes"),
        ("if (t < 9) __syncthreads(); y[t] = 0;", r"bar.sync 0: .*lane 0 waits here for .*which never comes"),
        ("y[t] = __shfl_sync(0xffffu << (t & 16), x[t], 3);", r"argument 1\[16\] depends on lane 3, which .*lane 16 "
         "asks and which takes no part"),
        ("y[t] = __shfl_sync(1u, x[t], 0);", "is not in its own mask"),
        ("for (volatile int i = 0; i < n; i = i) y[t] = 0;", "still runs after"),
    ],
)  # fmt: skip
def test_what_cuda_leaves_undefined_is_reported(body: str, complaint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the thread, the element and the instruction."""
    *others, _ = PtxMachine.__init__.__defaults__
    monkeypatch.setattr(PtxMachine.__init__, "__defaults__", (*others, 3000))
    with pytest.raises(Broken, match=complaint):
        run_text(body)


def test_a_barrier_of_the_warp_is_enough_within_it() -> None:
    """__syncwarp orders one warp's accesses, and does not order two."""
    body = "s[t] = x[t % 32]; __syncwarp(); y[t % 32] = s[t ^ 1];"
    np.testing.assert_array_equal(run_text(body, shared="__shared__ int s[64];"), np.arange(32) ^ 1)
    with pytest.raises(Broken, match="race on"):
        run_text("s[t] = x[t % 32]; __syncwarp(); if (t < 32) y[t] = s[t + 32];", 64, shared="__shared__ int s[64];")


def test_a_barrier_of_a_mask_orders_those_whom_it_names() -> None:
    """Halves of a warp that synchronise apart know nothing of each other, until a chain of barriers tells them."""
    halves, shared = "__syncwarp(t < 16 ? 0xffffu : 0xffff0000u);", "__shared__ int s[32];"
    np.testing.assert_array_equal(run_text(f"s[t] = x[t]; {halves} y[t] = s[t ^ 1];", shared=shared), np.arange(32) ^ 1)
    with pytest.raises(Broken, match=r"race on .*1s"):
        run_text(f"s[t] = x[t]; {halves} y[t] = s[t ^ 16];", shared=shared)
    chain = "if (t % 16 == 0) __syncwarp(0x10001u);"
    text = f"s[t] = x[t]; {halves} {chain} {halves} y[t] = s[t ^ 16];"
    np.testing.assert_array_equal(run_text(text, shared=shared), np.arange(32) ^ 16)


def test_vectors_and_local_memory() -> None:
    """Four elements in one access; an array that is indexed dynamically."""
    body = """
      int4 v = reinterpret_cast<const int4*>(x)[t % 8]; int r[4] = {v.x, v.y, v.z, v.w};
      for (int i = 0; i < 4; ++i) r[x[t] % 3] += r[(x[i] + t) & 3];
      y[t] = r[0] - r[1] + r[2] * r[3];
    """
    want = []
    for t in range(32):
        r = [4 * (t % 8) + j for j in range(4)]
        for i in range(4):
            r[t % 3] += r[(i + t) & 3]
        want.append(r[0] - r[1] + r[2] * r[3])
    np.testing.assert_array_equal(run_text(body), want)


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("y[t] = atomicCAS(y, 0, 1);", "whose result depends on the order"),
        ("y[t] = atomicAdd(y, 1);", "whose result depends on the order"),
        ("y[t] = (int)clock();", "%clock"),
    ],
)
def test_what_is_not_interpreted_is_an_error(body: str, complaint: str) -> None:
    """Never a silent skip."""
    with pytest.raises(NotInterpreted, match=complaint):
        run_text(body)


def test_votes() -> None:
    """A ballot, and what all or any lanes say: of a mask that parts the warp."""
    body = "unsigned m = t < 8 ? 0xffu : 0xffffff00u; y[t] = __ballot_sync(m, x[t] % 3 == 0) % 1000;"
    want = [sum(1 << k for k in (range(8) if t < 8 else range(8, 32)) if k % 3 == 0) % 1000 for t in range(32)]
    np.testing.assert_array_equal(run_text(body), want)
    body = "y[t] = __any_sync(~0u, x[t] == 31) + 2 * __all_sync(~0u, x[t] < 31) + 4 * __all_sync(~0u, x[t] < n);"
    np.testing.assert_array_equal(run_text(body), np.full(32, 5))


def test_atomic_operations() -> None:
    """Several threads on one cell, in any order; with accesses of another kind they race."""
    shared, zero = "__shared__ int s[4];", "if (t < 4) s[t] = 0; __syncwarp();"
    add, last = "atomicAdd(&s[t % 4], x[t] * x[t]);", "__syncwarp(); y[t] = s[t % 4];"
    sums = np.bincount(np.arange(32) % 4, np.arange(32) ** 2)
    np.testing.assert_array_equal(run_text(f"{zero} {add} {last}", shared=shared), np.tile(sums, 8))
    bits = "atomicOr(&s[t % 4], 1 << x[t] / 4);"
    np.testing.assert_array_equal(run_text(f"{zero} {bits} {last}", shared=shared), np.full(32, 255))
    for wrong in (f"{add} y[t] = s[t % 4];", f"{add} {bits} {last}"):
        with pytest.raises(Broken, match="race on"):
            run_text(f"{zero} {wrong}", shared=shared)


@pytest.mark.parametrize("form", ["atom{}.global.add.s32 %r1, [%rd1], 1;", "red{}.global.add.s32 [%rd1], 1;"])
@pytest.mark.parametrize(
    ("scope", "blocks"), [("", 2), (".relaxed.gpu", 2), (".sys", 2), (".cta", 1), (".relaxed.cta", 1)]
)
def test_an_atomic_operation_of_a_block_races_with_other_blocks(form: str, scope: str, blocks: int) -> None:
    """With the scope .cta it is one for the threads of its own block only ("PTX ISA", Memory Consistency Model)."""
    text = f".reg .b32 %r<2>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [p]; {form.format(scope)} ret;"
    ptx, data = f"{HEADER} .visible .entry k(.param .u64 p) {{ {text} }}", np.zeros(1, np.int32)
    interpret(ptx, "k", (blocks, 1, 1), (64, 1, 1), [data])
    assert data[0] == 64 * blocks
    if ".cta" in scope:
        with pytest.raises(Broken, match="race on"):
            interpret(ptx, "k", (2, 1, 1), (64, 1, 1), [data])


def test_a_kernel_that_is_not_there() -> None:
    """The error lists what is."""
    with pytest.raises(NotInterpreted, match=re.escape("without f: it has g")):
        interpret(compile_to_ptx('extern "C" __global__ void g() {}'), "f", (1, 1, 1), (1, 1, 1), [])


@pytest.mark.parametrize(("taken", "word"), [("0x4210U", 0x01030201), ("0x5410U", None)])
def test_a_byte_that_was_never_set_is_only_wrong_where_it_is_used(taken: str, word: int | None) -> None:
    """A compiler joins bytes with a register that has none yet, and takes the others of what it joined."""
    declared = ".reg .b32 %r<100>; .reg .b64 %rd<9>; ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1];"
    text = f"prmt.b32 %r2, %r1, %r99, 0x3340U; prmt.b32 %r3, %r1, %r2, {taken}; st.global.u32 [%rd1], %r3; ret;"
    data = np.full(1, 0x04030201, np.int32)
    ptx = f"{HEADER} .visible .entry k(.param .u64 p) {{ {declared} {text} }}"
    if word is None:
        with pytest.raises(Broken, match=r"depends on .*%r99, a register that was never set"):
            interpret(ptx, "k", (1, 1, 1), (1, 1, 1), [data])
    else:
        interpret(ptx, "k", (1, 1, 1), (1, 1, 1), [data])
        assert data.tolist() == [word]


@pytest.mark.parametrize(
    "instruction",
    [
        "prmt.b32 %r3, %r2, %r9, 0x123U;",
        "prmt.b32 %r3, %r9, %r2, 0x4567;",
        "lop3.b32 %r3, %r2, %r9, %r8, 0x0F;",
        "lop3.b32 %r3, %r9, %r2, %r8, 0x33;",
        "lop3.b32 %r3, %r9, %r8, %r2, 0x55;",
    ],
)
def test_a_register_that_nothing_sets_where_no_bit_of_it_matters(instruction: str) -> None:
    """A compiler writes one where bytes are turned round, say; it is not read."""
    body = f".reg .b32 %r<10>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [p]; ld.global.u32 %r2, [%rd1]; {instruction}"
    ptx = f"{HEADER} .visible .entry k(.param .u64 p) {{ {body} st.global.u32 [%rd1], %r3; ret; }}"
    data = np.array([0x01020304], np.int32)
    interpret(ptx, "k", (1, 1, 1), (1, 1, 1), [data])
    assert data[0] == (0x04030201 if "prmt" in instruction else ~0x01020304)
    for other in (ptx.replace("0x123U", "0x173").replace("0x4567", "0x4562"), ptx.replace("0x0F", "0x1F")):
        if other != ptx:
            with pytest.raises(Broken, match="a register that was never set"):
                interpret(other, "k", (1, 1, 1), (1, 1, 1), [data])


@pytest.mark.parametrize(
    ("instruction", "complaint"),
    [
        ("mov.b128 %q1, {%rd1, %rd1};", "mov.b128"),
        ("setp.eq.s32 %p1|%p2, 1, 2;", "a bar stands between"),
        ("add.s32 %r1, %r99, 1;", "%r99, a register that was never set"),
        ("ld.global.u16 %rs1, [%rd1];", "a part of an element"),
        ("bar.arrive 0, 32;", "bar.arrive 0, 32"),
        ("bar.sync 0, 64;", "bar.sync 0, 64"),
        ("barrier.cluster.arrive;", "barrier.cluster"),
        ("bra.uni $nowhere;", r"\$nowhere"),
    ],
)
def test_ptx_that_no_printed_kernel_has_is_refused(instruction: str, complaint: str) -> None:
    """What a compiler may come up with one day is an error, not a wrong reading."""
    declared = ".reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<100>; .reg .b64 %rd<9>;"
    ptx = f"{HEADER} .visible .entry k(.param .u64 p) {{ {declared} ld.param.u64 %rd1, [p]; {instruction} ret; }}"
    with pytest.raises((NotInterpreted, Broken), match=complaint):
        interpret(ptx, "k", (1, 1, 1), (32, 1, 1), [np.zeros(32, np.int32)])
