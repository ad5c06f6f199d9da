"""What threads find out about each other, as NumPy has it: masks, matches, reductions, counts, atomic operations."""

from __future__ import annotations

import numpy as np
import pytest

from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.ptx.running.memory import Broken
from cuda_out.ptx.running.run import interpret
from cuda_out.ptx.syntax import NotInterpreted

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
THREADS = 96
RANDOM = np.random.default_rng(7)
X = RANDOM.integers(0, 5, THREADS).astype(np.int32) - 2
WARPS = X.reshape(-1, 32)
LANES = np.arange(32)


def result(body: str, x: np.ndarray = X, threads: int = THREADS) -> np.ndarray:
    """Run the body of a kernel of `t`, `x` and `y` and return y."""
    text = f'extern "C" __global__ void k(int* x, int* y) {{ int t = threadIdx.x; int v = x[t]; {body} }}\n'
    given, found = x.copy(), np.zeros(THREADS, np.int32)
    interpret(compile_to_ptx(text, "sm_80"), "k", (1, 1, 1), (threads, 1, 1), [given, found])
    return found


def packed(lanes: np.ndarray) -> np.ndarray:
    """Return masks of lanes, one for each row of truths."""
    return (lanes.astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(axis=-1).astype(np.uint32).view(np.int32)


def test_masks_and_matches() -> None:
    """Who is here, who has the same value, who is before and behind."""
    odd = packed(np.broadcast_to(LANES % 2 == 1, (3, 32)))
    active = np.where(LANES % 2, odd[:, None], 0).reshape(-1)
    assert (result("if (t & 1) y[t] = __activemask();") == active).all()
    assert (result("y[t] = __match_any_sync(~0u, v);") == packed(WARPS[:, :, None] == WARPS[:, None, :]).ravel()).all()
    same = X.copy()
    same[:32] = 7
    whole = "int p; unsigned m = __match_all_sync(~0u, v, &p); y[t] = p ? m : m + 5;"
    assert (result(whole, same) == np.r_[np.full(32, -1), np.full(64, 5)]).all()
    relations = {"lt": np.less, "le": np.less_equal, "eq": np.equal, "ge": np.greater_equal, "gt": np.greater}
    for name, relation in relations.items():
        found = result(f'asm("mov.u32 %0, %%lanemask_{name};" : "=r"(v)); y[t] = v;')
        assert (found == np.tile(packed(relation(LANES[None, :], LANES[:, None])), 3)).all()


REDUCTIONS = {
    "add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_a_warp(name: str) -> None:
    """All lanes of a mask have what NumPy makes of them; of signed numbers and of a part of a warp."""
    kind = "unsigned" if name in ("and", "or", "xor") else "int"
    found = result(f"y[t] = __reduce_{name}_sync(~0u, ({kind})v);")
    assert (found == np.repeat(REDUCTIONS[name].reduce(WARPS, axis=1), 32)).all()
    low = result(f"if ((t & 31) < 9) y[t] = __reduce_{name}_sync(0x1ff, ({kind})v);").reshape(-1, 32)
    assert (low[:, :9] == REDUCTIONS[name].reduce(WARPS[:, :9], axis=1)[:, None]).all() and not low[:, 9:].any()


def test_a_lane_that_is_not_in_its_mask() -> None:
    """It is an error, as at a shuffle."""
    with pytest.raises(Broken, match=r"is not in its own mask|never comes"):
        result("y[t] = __reduce_add_sync(0xffff, v);")


def test_counts_of_a_block() -> None:
    """How many threads have a predicate, whether all or any have it."""
    assert (result("y[t] = __syncthreads_count(v > 0);") == (X > 0).sum()).all()
    assert (result("y[t] = __syncthreads_or(v == 2);") == 1).all() and (X == 2).any()
    assert (result("y[t] = __syncthreads_and(v != 9);") == 1).all()
    assert (result("y[t] = __syncthreads_and(v != 2);") == 0).all()


def test_named_barriers() -> None:
    """One that all threads of the block reach orders them; one of a part of the block is refused."""
    body = "__shared__ int s[96]; s[t] = v; {} y[t] = s[95 - t];"
    assert (result(body.format('asm volatile("bar.sync 3;" ::: "memory");')) == X[::-1]).all()
    assert (result(body.format('asm volatile("barrier.sync 3, 96;" ::: "memory");')) == X[::-1]).all()
    with pytest.raises(NotInterpreted, match="a barrier for a part of the block"):
        result(body.format('asm volatile("bar.sync 3, 64;" ::: "memory");'))


def test_what_caches_are_told() -> None:
    """It changes no value."""
    for load in ("__ldcg", "__ldca", "__ldcs", "__ldlu", "__ldcv", "__ldg"):
        assert (result(f"y[t] = {load}(x + t);") == X).all()
    for store in ("__stcg", "__stcs", "__stwb", "__stwt"):
        assert (result(f"{store}(y + t, v);") == X).all()
    for level in ("L1::no_allocate", "L1::evict_last", "L1::no_allocate.L2::128B", "L2::256B"):
        body = f'asm("ld.global.nc.{level}.s32 %0, [%1];" : "=r"(v) : "l"(x + t)); y[t] = v;'
        assert (result(body) == X).all()


@pytest.mark.parametrize(
    ("body", "of_one"),
    [
        ("atomicInc((unsigned*)y, 40u);", 96 % 41),
        ("atomicDec((unsigned*)y, 40u);", (-96) % 41),
        ("atomicCAS(y, t, t + 1);", 96),
        ("atomicCAS(y, t + 1, 5);", 0),
        ("atomicExch(y, t + 7);", 102),
    ],
)
def test_atomic_operations(body: str, of_one: int) -> None:
    """One thread after the other, in their order."""
    text = f'extern "C" __global__ void k(int* x, int* y) {{ int t = threadIdx.x; int v = x[t]; {body} }}\n'
    y = np.zeros(1, np.int32)
    interpret(compile_to_ptx(text, "sm_80"), "k", (1, 1, 1), (THREADS, 1, 1), [X.copy(), y])
    assert y[0] == of_one


def test_atomic_sums_of_halves() -> None:
    """They are added in their own type."""
    text = (
        '#include <cuda_fp16.h>\nextern "C" __global__ void k(const half* x, half* y) {\n'
        "  int t = threadIdx.x; atomicAdd(y, x[t]);\n}\n"
    )
    x, y = (np.arange(32) % 7 - 2).astype(np.float16), np.zeros(1, np.float16)
    interpret(compile_to_ptx(text, "sm_80"), "k", (1, 1, 1), (32, 1, 1), [x, y])
    assert y[0] == x.sum()
