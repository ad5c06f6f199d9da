"""`launch`, and a solution that is called, through numba-cuda and cuda.core as installed, over a fake driver."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fake_gpu.library import build


@pytest.mark.slow
@pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc, whose cuda.h the fake driver needs")
@pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler")
def test_launches_through_numba_and_cuda_core(tmp_path: Path) -> None:
    """NumPy arrays are copied there and back, device arrays used in place, streams and scalars passed on."""
    build(tmp_path)
    script = Path(__file__).with_name("launches.py")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("all launches gave their numbers\n")
