"""How long a solved kernel takes on a GPU, data already there: pytest-benchmark, marker `gpu`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from swizzle.commands.trial import random_argument

ROOT = Path(__file__).resolve().parent.parent
SKETCHES = ["case_studies/conv1d.py"]


@pytest.mark.gpu
@pytest.mark.parametrize("file", SKETCHES)
def test_launch(benchmark: Any, file: str) -> None:
    """Launch the printed kernel on device arrays and wait for it."""
    from numba import cuda

    from cuda_out.launch import launch
    from swizzle.commands.emit import cuda_source
    from swizzle.loading import load
    from swizzle.search.metasketch import solve

    (sketch,) = load(ROOT / file, None, {})
    program = solve(sketch).best.program
    source = cuda_source(program)
    rng = np.random.default_rng(0)
    arrays = [cuda.to_device(random_argument(p, rng, "arbitrary numbers")) for p in program.parameters]
    stream = cuda.default_stream()

    def once() -> None:
        launch(source.text, source.entry, program.grid, program.block, arrays, stream=stream)
        cuda.synchronize()

    once()
    assert not np.isnan(arrays[-1].copy_to_host()).any()
    benchmark(once)
