"""The cookbook's kernels (case_studies/cookbook, docs/cookbook.md): solved, printed, validated, run against NumPy."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuda_out.compile.toolchain import available_tools, compile_cuda, uses_local
from cuda_out.numba.printer import print_numba
from cuda_out.passes.pipeline import optimize
from cuda_out.tiling.tiling import Tiling
from cuda_out.tiling.trips import one_tile
from swizzle import load
from swizzle.answers.checking.trial import sizes_to_try
from swizzle.answers.checking.validator import SizesValidator
from swizzle.answers.emit.emitters import cuda_source
from swizzle.answers.emit.filled import FilledKernel
from swizzle.answers.emit.sizes import sizes_of
from swizzle.language.specs.verify import verify
from swizzle.solving.cache.solve import solve
from swizzle.solving.solution.solution import Limits, Result
from tests.cuda_out.numba_stand_in import module
from tests.pages import DOCS, blocks_of, files_of, run_again, text_of, untimed
from tests.slow_cases import slow_unless
from tests.test_case_studies import CASES, spelled

COOKBOOK = CASES / "cookbook"
PAGE = text_of("cookbook.md")
Array = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def _one_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the sessions of the page and the other tests search once for both."""
    monkeypatch.setenv("SWIZZLE_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cookbook"))


def answer(target: str, parameters: dict[str, int]) -> tuple[Result, FilledKernel | None]:
    """Solve FILE[:SKETCH] of the cookbook, once for all tests that ask."""
    return _answer(target, tuple(parameters.items()))


@cache
def _answer(target: str, parameters: tuple[tuple[str, int], ...]) -> tuple[Result, FilledKernel | None]:
    file, _, name = target.partition(":")
    (sketch,) = load(COOKBOOK / f"{file}.py", name or None, dict(parameters))
    result = solve(sketch, Limits(), None)
    if not result.solutions:
        return result, None
    program = result.best.program
    return result, FilledKernel(program, sketch.spec, (), sizes_of(program, sketch))


def windows(x: Array, size: int) -> Array:
    """Return the windows of the first 128 elements, one a row."""
    return np.lib.stride_tricks.sliding_window_view(x, size)[:128]


def stage(x: Array, w: Array) -> Array:
    low, high = x[:16], x[16:]
    return np.concatenate([low + high, (low - high) * w])


def transformed(x: Array, w: Array) -> Array:
    v = x
    for d in (16, 8, 4, 2, 1):
        low, high = v.reshape(-1, 2, d)[:, 0], v.reshape(-1, 2, d)[:, 1]
        v = np.stack([low + high, (low - high) * w[:: 16 // d]], axis=1).reshape(32)
    return v


def laplace(u: Array) -> Array:
    return sum(np.roll(u, d, axis) for axis in range(3) for d in (-1, 1)) - 6 * u


def every_lane(number: Any) -> Array:
    return np.full(32, number)


WANTED: dict[str, Callable[..., Array]] = {
    "reduction:shared": lambda x: every_lane(x.sum()),
    "reduction:apart": lambda x: every_lane(x.sum()),
    "maximum": lambda x: every_lane(x.max()),
    "scan:scan": np.cumsum,
    "tree": lambda x: x.sum(keepdims=True),
    "block_scan": np.cumsum,
    "dot": lambda x, w: (x @ w)[np.newaxis],
    "matvec": lambda a, x: a @ x,
    "matmul": lambda a, b: a @ b,
    "wave": lambda x, before: 2 * x[1:129] - before + 0.25 * (x[:128] - 2 * x[1:129] + x[2:130]),
    "moving_average": lambda x: windows(x, 5).mean(axis=1),
    "borders": lambda x: np.convolve(np.pad(x, 1, "edge"), [1, 2, 1], "valid"),
    "fir": lambda x, w: windows(x, 17) @ w,
    "fft_stage:fft_stage": stage,
    "fft:fft": transformed,
    "max_pooling": lambda x: x.reshape(4, 2, 32, 2).max(axis=(1, 3)),
    "laplace3d": laplace,
}
SMALLER = {"tree": {"threads": 32}, "block_scan": {"threads": 32}}
SOLVED = [
    *slow_unless(
        ((target, SMALLER.get(target, {})) for target in WANTED),
        lambda case: case[0] not in ("tree", "wave", "dot", "reduction:apart", "moving_average", "matvec", "fft:fft"),
    ),
    *(pytest.param(target, {"threads": n}, marks=pytest.mark.slow) for target in SMALLER for n in (64, 128)),
]
NONE: list[Any] = [
    ("reduction:shared", {"steps": 4}),
    ("maximum", {"steps": 4}),
    ("scan:scan", {"steps": 4}),
    ("dot", {"steps": 4}),
    ("matvec", {"steps": 4}),
    ("tree", {"threads": 32, "steps": 4}),
    pytest.param("tree", {"threads": 128, "steps": 6}, marks=pytest.mark.slow),
    ("block_scan", {"threads": 32, "steps": 4}),
    ("fft_stage:blind", {}),
    ("fft:short", {}),
    pytest.param("fft:blind", {}, marks=pytest.mark.slow),
    pytest.param("scan:blind", {}, marks=pytest.mark.slow),
]
TOO_LITTLE: list[Any] = [
    ("fir", "sw_cond(lane, k)", "sw_cond(lane)"),
    pytest.param("moving_average", "sw_cond(lane, k)", "sw_cond(k)", marks=pytest.mark.slow),
    ("laplace3d", "in range(2)", "in range(1)"),
    pytest.param("wave", "here = cuda.shfl_sync(cuda.FULL_MASK, a if sw_cond(lane) else b",
                 "here = cuda.shfl_sync(cuda.FULL_MASK, a", marks=pytest.mark.slow),
    pytest.param("max_pooling", "right = from_a if sw_cond(lane, W // 2) else from_b", "right = from_a",
                 marks=pytest.mark.slow),
]  # fmt: skip
"""Kernels of the cookbook with a condition that sees too little, or is missing, or with a round too few."""
solved = pytest.mark.parametrize(("target", "parameters"), SOLVED, ids=spelled)


def compare(target: str, parameters: dict[str, int], launch: Callable[..., object]) -> None:
    """Launch a kernel on random whole numbers, whose sums are exact, and compare with NumPy."""
    result, _ = answer(target, parameters)
    *read, written_to = result.best.program.parameters
    rng = np.random.default_rng(0)
    given = [rng.integers(-9, 10, array.shape).astype(np.float32) for array in read]
    out = np.zeros(written_to.shape, np.float32)
    launch(*given, out)
    np.testing.assert_allclose(out, WANTED[target](*given), rtol=1e-6)


@pytest.mark.sampled(5)
@solved
def test_a_kernel_is_solved(target: str, parameters: dict[str, int]) -> None:
    """At the least cost, for all inputs; the printed CUDA runs without a race and computes what NumPy does."""
    result, filled = answer(target, parameters)
    assert (result.status, result.optimal) == ("sat", True)
    assert filled is not None and verify(filled.program, filled.spec).equal
    compare(target, parameters, result.best)


@solved
def test_the_printed_numba_module(target: str, parameters: dict[str, int]) -> None:
    """As `Solution.to_numba` prints it, run on the stand-in, it computes what NumPy does."""
    result, filled = answer(target, parameters)
    assert filled is not None
    best, tiling = result.best, filled.sizes if isinstance(filled.sizes, Tiling) else None
    source = print_numba(optimize(one_tile(best.program, tiling) if tiling else best.program), tiling=tiling)
    assert best.to_numba().endswith(source.text.partition("\n\n")[2])
    compare(target, parameters, module(source.text)[source.launcher])


@pytest.mark.sampled(5)
@pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")
@solved
def test_the_ptx_is_the_specification(target: str, parameters: dict[str, int]) -> None:
    """What the compiler made of the printed CUDA is the specification for all inputs, without local memory."""
    _, filled = answer(target, parameters)
    assert filled is not None
    source = cuda_source(filled.program, filled.head, filled.sizes)
    ptx = compile_cuda(source.text, "sm_80").ptx
    assert not uses_local(ptx)
    found = SizesValidator(sizes_to_try(filled, source), source).validate(ptx, source.entry)
    assert (found.verdict, found.findings) == ("equal", ())


@pytest.mark.parametrize(("target", "parameters"), NONE, ids=spelled)
def test_what_cannot_work_is_proved(target: str, parameters: dict[str, int]) -> None:
    """One step too few, or a condition that sees too little: no filling in any space, and nothing was left out."""
    result, _ = answer(target, parameters)
    assert result.status == "unsat"
    assert "cancelling" not in result.certificate and "left_open" not in result.certificate


@pytest.mark.parametrize(("name", "written", "instead"), TOO_LITTLE)
def test_a_kernel_with_too_little_is_proved_to_have_no_filling(
    name: str, written: str, instead: str, tmp_path: Path
) -> None:
    """No filling in any space, by an edit of the page's kernel."""
    text = (COOKBOOK / f"{name}.py").read_text(encoding="utf-8")
    assert text.count(written) == 1
    (tmp_path / f"{name}.py").write_text(text.replace(written, instead), encoding="utf-8")
    (sketch,) = load(tmp_path / f"{name}.py")
    result = solve(sketch, Limits(), None)
    assert result.status == "unsat"
    assert "cancelling" not in result.certificate and "left_open" not in result.certificate


@pytest.mark.parametrize(
    "session",
    slow_unless(
        blocks_of(PAGE, "console"),
        lambda s: not any(name in s for name in ("scan.py:blind", "wave.py", "tree.py", "fft.py:fft")),
    ),
    ids=lambda session: session.split()[3],
)
def test_a_session_prints_what_the_page_says(session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the times, and that the tests above asked before; `; echo $?` shows the exit status."""
    monkeypatch.chdir(COOKBOOK)
    printed = re.sub(r"^  cached .*\n", "", run_again(session), flags=re.MULTILINE)
    assert untimed(printed) == untimed(session)


def test_every_file_is_tried_and_shown() -> None:
    """No sketch is without a test, and the page solves each file, and shows those that it shows as they are."""
    files = {path.name: path.read_text(encoding="utf-8") for path in COOKBOOK.glob("*.py")}
    assert {target.partition(":")[0] + ".py" for target in WANTED} == set(files)
    assert len(files_of(PAGE)) >= 10 and files_of(PAGE).items() <= files.items()
    assert [name for name in files if f"$ swizzle solve {name}" not in PAGE] == []
    assert "\ncookbook\n" in (DOCS / "index.md").read_text(encoding="utf-8")
