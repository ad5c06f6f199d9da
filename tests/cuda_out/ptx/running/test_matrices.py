"""ldmatrix, stmatrix and mma, and asynchronous copies: what they move, what they wait for, what is a mistake."""

from __future__ import annotations

import numpy as np
import pytest

from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.ptx.running.memory import Broken
from cuda_out.ptx.running.run import interpret
from cuda_out.ptx.syntax import NotInterpreted

pytestmark = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
HEAD = (
    'extern "C" __global__ void k(const unsigned short* x, unsigned short* y) {\n'
    "  __shared__ alignas(16) unsigned short tile[32][40]; int t = threadIdx.x; unsigned r[4], at;\n"
)
ADDRESS = "at = (unsigned)__cvta_generic_to_shared(&tile[t][8 * (t % 4)]);"


def ran(body: str, threads: int = 32) -> np.ndarray:
    """Run a kernel on x = 0, 1, 2, ...; return y."""
    x, y = np.arange(32 * 40, dtype=np.uint16), np.zeros(32 * 40, np.uint16)
    x.flags.writeable = False
    interpret(compile_to_ptx(HEAD + body + "}"), "k", (1, 1, 1), (threads, 1, 1), [x, y])
    return y


FILL = "for (int k = t; k < 1280; k += 32) tile[k / 40][k % 40] = x[k]; __syncwarp();"
REGISTERS = 'asm volatile("{}.sync.aligned.m8n8.x4{}.shared.b16 {};" : {});'


def loaded(trans: str) -> str:
    out = ", ".join(f'"=r"(r[{k}])' for k in range(4))
    return REGISTERS.format("ldmatrix", trans, "{%0, %1, %2, %3}, [%4]", f'{out} : "r"(at)')


def matrices() -> np.ndarray:
    """Return the four matrices whose rows the lanes name: row i of matrix j is named by lane 8 * j + i."""
    tile = np.arange(32 * 40).reshape(32, 40)
    return np.array([[tile[lane, 8 * (lane % 4) :][:8] for lane in range(8 * j, 8 * j + 8)] for j in range(4)])


@pytest.mark.parametrize("trans", ["", ".trans"])
def test_a_warp_loads_matrices(trans: str) -> None:
    """Lane l has the halves 2 * (l % 4) and the next one of row l // 4, or of the column."""
    found = ran(
        f"{FILL} {ADDRESS} {loaded(trans)} for (int k = 0; k < 4; ++k)"
        "{ y[8 * t + 2 * k] = r[k] & 0xffff; y[8 * t + 2 * k + 1] = r[k] >> 16; }"
    )[:256].reshape(32, 4, 2)
    wanted = matrices().transpose(0, 2, 1) if trans else matrices()
    for lane in range(32):
        np.testing.assert_array_equal(found[lane], wanted[:, lane // 4, 2 * (lane % 4) : 2 * (lane % 4) + 2])


@pytest.mark.parametrize("trans", ["", ".trans"])
def test_a_warp_stores_what_it_loaded(trans: str) -> None:
    """stmatrix is ldmatrix backward, turned or not."""
    ins = ", ".join(f'"r"(r[{k}])' for k in range(4))
    stored = REGISTERS.format("stmatrix", trans, "[%4], {%0, %1, %2, %3}", f': {ins}, "r"(at)')
    clear = "for (int k = t; k < 1280; k += 32) tile[k / 40][k % 40] = 7; __syncwarp();"
    found = ran(
        f"{FILL} {ADDRESS} {loaded(trans)} __syncwarp(); {clear} {stored} __syncwarp();"
        "for (int k = t; k < 1280; k += 32) y[k] = tile[k / 40][k % 40];"
    ).reshape(32, 40)
    wanted = np.full((32, 40), 7)
    for lane in range(32):
        wanted[lane, 8 * (lane % 4) : 8 * (lane % 4) + 8] = matrices()[lane // 8, lane % 8]
    np.testing.assert_array_equal(found, wanted)


def test_a_warp_transposes_a_matrix() -> None:
    """Four lanes have a row, and get a column."""
    found = ran(
        "r[0] = x[2 * t] | x[2 * t + 1] << 16;"
        'asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r[1]) : "r"(r[0]));'
        "y[2 * t] = r[1] & 0xffff; y[2 * t + 1] = r[1] >> 16;"
    )[:64]
    np.testing.assert_array_equal(found.reshape(8, 8), np.arange(64).reshape(8, 8).T)


def test_whole_warps_only() -> None:
    """A warp of 16 lanes has no matrices; a product that saturates is not computed."""
    with pytest.raises(Broken, match="not there as a whole"):
        ran(f"{FILL} {ADDRESS} {loaded('')} y[t] = r[0];", threads=16)
    product = (
        'asm volatile("mma.sync.aligned.m8n8k16.row.col.satfinite.s32.s8.s8.s32 {%0, %1}, {%2}, {%2}, {%0, %1};" '
        ': "+r"(r[0]), "+r"(r[1]) : "r"(r[2]));'
    )
    with pytest.raises(NotInterpreted, match="on numbers"):
        ran(f"r[0] = r[1] = r[2] = t; {product} y[t] = r[0];")


COPY = (
    "for (int k = t; k < 160; k += {step}) {{"
    "unsigned to = (unsigned)__cvta_generic_to_shared(&tile[k / 5][8 * (k % 5)]);"
    'asm volatile("cp.async.ca.shared.global [%0], [%1], {bytes};" :: "r"(to), "l"(x + 8 * k)); }}'
)
COPIED = COPY.format(step=32, bytes=16) + 'asm volatile("cp.async.commit_group;");'
WAIT = 'asm volatile("cp.async.wait_group {};");'
BACK = "for (int k = 0; k < 40; ++k) y[40 * t + k] = tile[t][k];"


def test_copies_arrive_when_they_are_waited_for() -> None:
    """Of 16 and of 8 bytes; of two groups, the older one arrives first."""
    x = np.arange(1280)
    np.testing.assert_array_equal(ran(f"{COPIED} {WAIT.format(0)} __syncwarp(); {BACK}"), x)
    np.testing.assert_array_equal(ran(f'{COPIED} asm volatile("cp.async.wait_all;"); __syncwarp(); {BACK}'), x)
    halves = f"{FILL} {COPY.format(step=32, bytes=8).replace('x + 8 * k', 'x + 8 * k + 4')}"
    found = ran(f'{halves} asm volatile("cp.async.wait_all;"); __syncwarp(); {BACK}').reshape(160, 8)
    np.testing.assert_array_equal(found[:, :4], x.reshape(160, 8)[:, 4:])
    np.testing.assert_array_equal(found[:, 4:], x.reshape(160, 8)[:, 4:])
    with pytest.raises(Broken, match="was not waited for"):
        ran(f"{COPIED} {WAIT.format(1)} __syncwarp(); {BACK}")
    two = f'{COPIED} asm volatile("cp.async.commit_group;"); {WAIT.format(1)} __syncwarp(); {BACK}'
    np.testing.assert_array_equal(ran(two), x)


@pytest.mark.parametrize(
    "body",
    [
        f"{COPIED} __syncwarp(); {WAIT.format(0)} {BACK}",
        f"{FILL} for (int k = 0; k < 40; ++k) y[40 * t + k] = tile[t][k]; {COPIED} {WAIT.format(0)}",
        f"{COPY.format(step=16, bytes=16)} {WAIT.format(0)}",
    ],
)
def test_copies_take_part_in_races(body: str) -> None:
    """A barrier before the wait does not order them; nor may they come before others have read."""
    with pytest.raises(Broken, match=r"race|was not waited for"):
        ran(body)
