"""What test_launches.py runs where libcuda.so.1 is the driver of driver.cpp: launches through numba-cuda and cuda.core.

NVRTC does not start beside such a driver, so texts are compiled in a process of their own, which does not see it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from cuda_out.compile import launch as launching  # noqa: E402
from symbolic.errors import SwizzleError  # noqa: E402
from tests.fake_gpu.library import ON_LAUNCH, opened, run_on_cpu  # noqa: E402

COMPILE = """
import json, sys
from cuda_out.compile.launch import compile_for
made = compile_for(*sys.argv[1:])
names = {name: symbol if isinstance(symbol, str) else symbol.decode() for name, symbol in made.symbol_mapping.items()}
print(json.dumps([bytes(made.code).hex(), names]))
"""
TEXT = """
extern "C" __global__ void rotate(const float* x, float* y, int n)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float v = __shfl_sync(0xffffffffu, x[i], (threadIdx.x + 3) & 31);
  if (i < n) y[i] = v;
}
extern "C" __global__ void reverse(const float* x, float* y)
{
  extern __shared__ __align__(16) unsigned char shared_memory[];
  float (&tile)[16384] = *reinterpret_cast<float (*)[16384]>(shared_memory + 0);
  tile[16383 - threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = tile[16320 + threadIdx.x];
}
"""
WEIGHTED = """
struct weighted_w {
  float at[3];
};
extern "C" __global__ void weighted(const float* x, const weighted_w w, float* y, long long n)
{
  if (threadIdx.x < n) y[threadIdx.x] = w.at[0] * x[threadIdx.x] + w.at[2];
}
"""
seen: list[tuple[str, str]] = []


def compile_for(text: str, kernel: str, arch: str) -> Any:
    seen.append((text, kernel))
    return compiled(text, "rotate" if text is TEXT else kernel, arch)


@cache
def compiled(text: str, kernel: str, arch: str) -> Any:
    from cuda.core import ObjectCode

    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    command = [sys.executable, "-c", COMPILE, text, kernel, arch]
    done = subprocess.run(command, capture_output=True, check=True, cwd=ROOT, env=environment)
    code, names = json.loads(done.stdout)
    return ObjectCode.from_cubin(bytes.fromhex(code), symbol_mapping={k: v.encode() for k, v in names.items()})


def main() -> None:
    library = opened(Path("libcuda.so.1"))

    def launched(entry: bytes, grid: Any, block: Any, arguments: Any) -> int:
        text, _ = seen[-1]
        shared = 65536 if entry == b"reverse" else 0
        return run_on_cpu(library, text, entry.decode(), grid, block, arguments, shared=shared)

    callback = ON_LAUNCH(launched)
    library.fake_on_launch(callback)
    launching.compile_for = compile_for  # type: ignore[assignment]
    assert launching.gpu_available() == (True, "")

    x, y = np.arange(128, dtype=np.float32), np.full(128, -1, np.float32)
    expected = np.where(np.arange(128) < 100, x.reshape(-1, 32)[:, (np.arange(32) + 3) % 32].ravel(), -1)
    launching.launch(TEXT, "rotate", (2, 1, 1), (64, 1, 1), [x, y, np.int32(100)])
    np.testing.assert_array_equal(y, expected)
    assert not library.fake_last_stream(), "without a stream it is the default one"

    z = np.zeros(64, np.float32)
    launching.launch(TEXT, "reverse", (1, 1, 1), (64, 1, 1), [x[:64].copy(), z], shared_bytes=65536)
    np.testing.assert_array_equal(z, x[63::-1])
    try:
        launching.launch(TEXT, "reverse", (1, 1, 1), (64, 1, 1), [z, z], shared_bytes=200_000)
    except SwizzleError as error:
        assert "200000 bytes of shared memory" in error.found
    else:
        raise AssertionError("more shared memory than the driver allows")

    from numba import cuda

    z, w = np.zeros(64, np.float32), launching.structure(np.array([3, 4, 5], np.float32))
    launching.launch(WEIGHTED, "weighted", (1, 1, 1), (64, 1, 1), [x[:64].copy(), w, z, np.int64(60)])
    np.testing.assert_array_equal(z, np.where(np.arange(64) < 60, 3 * x[:64] + 5, 0))

    stream, on_device = cuda.stream(), [cuda.to_device(x), cuda.to_device(np.full(128, -1, np.float32))]
    launching.launch(TEXT, "rotate", (2, 1, 1), (64, 1, 1), [*on_device, np.int32(100)], stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(on_device[1].copy_to_host(), expected)
    assert library.fake_last_stream() == int(stream.handle), (library.fake_last_stream(), stream.handle)

    from swizzle import load, solve

    (sketch,) = load(ROOT / "case_studies" / "conv1d.py", "conv1d", {})
    best = solve(sketch).best
    x, w = np.arange(1002, dtype=np.float32), np.array([1, 2, 4], np.float32)
    wanted = x[:-2] + 2 * x[1:-1] + 4 * x[2:]
    for to_device in (np.array, cuda.to_device):
        given = [to_device(each) for each in (x, w, np.zeros(1000, np.float32))]
        best(*given)
        found = given[2] if isinstance(given[2], np.ndarray) else given[2].copy_to_host()
        np.testing.assert_array_equal(found, wanted)
    print("all launches gave their numbers")


if __name__ == "__main__":
    main()
