"""Every case study's printed text on a GPU: the specification's numbers, and nothing that compute-sanitizer finds."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from swizzle.commands.run import try_kernel
from swizzle.solving.solution.saved import saved_text
from tests.test_case_studies import CASES, SLOW, SOLVED, answer, spelled

RUN_SAVED = Path(__file__).with_name("run_saved.py")
AT_HARDWARE_WARP = [
    ("conv1d", {"K": 5}),
    ("stencil1d", {"K": 5}),
    ("stencil2d", {}),
    ("conv2d", {}),
    ("mult32:register", {}),
    ("mult32:shared", {}),
    ("field:register", {"degree": 64}),
    ("field:shared", {"degree": 64}),
    ("aos_sum:crc", {"struct_size": 3}),
    ("aos_store:crc", {"struct_size": 5}),
    ("aos_store:rcr", {"struct_size": 3}),
]
"""Besides the small warps of the other tests: what a GPU really runs."""
KERNELS = [*((case[0], case[3]) for case in [*SOLVED, *SLOW]), *AT_HARDWARE_WARP]
SANITIZER = shutil.which("compute-sanitizer")
FOUND = 86  # the exit status for what the sanitizer finds
PLANTED = {
    "memcheck": "out[threadIdx.x + 64 * 1024 * 1024] = 1;",
    "racecheck": "__shared__ int all[64]; all[threadIdx.x] = threadIdx.x; out[threadIdx.x] = all[threadIdx.x ^ 32];",
}


@pytest.mark.gpu
@pytest.mark.parametrize(("target", "parameters"), KERNELS, ids=spelled)
def test_the_printed_text_on_a_gpu(target: str, parameters: dict[str, int]) -> None:
    """At the sketch's own lengths and at ragged ones: whole numbers exactly, others within the tolerance."""
    filled, out = answer(target, parameters)[1], io.StringIO()
    assert filled is not None
    assert try_kernel(filled, "cuda", "", 0, out) == 0, out.getvalue()
    assert "on the GPU" in out.getvalue()


@cache
def saved(folder: Path) -> tuple[str, ...]:
    """Write every solution of the case studies into a folder, once."""
    files = []
    for number, (target, parameters) in enumerate(KERNELS):
        file, _, _ = target.partition(":")
        path = folder / f"{number}-{target.replace(':', '-')}.json"
        path.write_text(saved_text(answer(target, parameters)[0], CASES / f"{file}.py", parameters, folder))
        files.append(str(path))
    return tuple(files)


def under(tool: str, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run Python under a tool of the sanitizer."""
    assert SANITIZER is not None
    around = [SANITIZER, "--tool", tool, "--error-exitcode", str(FOUND), sys.executable]
    return subprocess.run([*around, *command], capture_output=True, text=True, errors="replace", timeout=1200)


@pytest.mark.gpu
@pytest.mark.skipif(SANITIZER is None, reason="compute-sanitizer is not installed")
@pytest.mark.parametrize("tool", ["memcheck", "racecheck"])
def test_the_sanitizer_finds_nothing(tool: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """All case studies in one process; the output names the one that was running."""
    files = saved(tmp_path_factory.getbasetemp())
    done = under(tool, [str(RUN_SAVED), "cuda", *files])
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert done.stdout.count("\n== ") + done.stdout.startswith("== ") == len(files), done.stdout


@pytest.mark.gpu
@pytest.mark.skipif(SANITIZER is None, reason="compute-sanitizer is not installed")
@pytest.mark.parametrize("tool", ["memcheck", "racecheck"])
def test_the_sanitizer_finds_what_was_planted(tool: str) -> None:
    """So that its silence means something here: an access far out of bounds, a race between two warps."""
    text = f'extern "C" __global__ void planted(int* out) {{ {PLANTED[tool]} }}'
    script = f"""
import numpy as np
from cuda_out.compile.launch import launch
launch({text!r}, "planted", (1, 1, 1), (64, 1, 1), [np.zeros(64, np.int32)])
"""
    done = under(tool, ["-c", script])
    assert done.returncode != 0, done.stdout[-4000:]
    assert "ERROR SUMMARY: 0 errors" not in done.stdout


@pytest.mark.slow
def test_saved_solutions_run_in_one_process(tmp_path: Path) -> None:
    """What the sanitizer is put around, on the CPU emulation."""
    files = []
    for target, parameters in (("conv1d", {"warp_size": 4}), ("mult32:register", {"warp_size": 4})):
        path = tmp_path / f"{target.replace(':', '-')}.json"
        case = CASES / f"{target.partition(':')[0]}.py"
        path.write_text(saved_text(answer(target, parameters)[0], case, parameters, tmp_path))
        files.append(str(path))
    done = subprocess.run([sys.executable, str(RUN_SAVED), "cpu", *files], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("== ") == 2 and done.stdout.count("whole numbers: ") == 2
