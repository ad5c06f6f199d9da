"""Every case study of the paper at a small size: the space where its answer is, its proof, its printed text."""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path

import pytest

from swizzle import load
from swizzle.answers.emit.filled import FilledKernel
from swizzle.answers.emit.sizes import sizes_of
from swizzle.commands.run import try_kernel
from swizzle.language.specs.verify import verify
from swizzle.solving.search.metasketch import solve
from swizzle.solving.solution.solution import Result

CASES = Path(__file__).parents[1] / "case_studies"
SOLVED = [
    ("conv1d", "1", 1, {"warp_size": 4}),
    ("conv1d", "1", 1, {"warp_size": 32}),
    ("stencil1d", "1", 1, {"warp_size": 4, "K": 4}),
    ("stencil2d", "1", 1, {"warp_size": 4}),
    ("conv2d", "1", 1, {"warp_size": 4}),
    ("mult32:register", "1", 2, {"warp_size": 4}),
    ("mult32:shared", "1", 2, {"warp_size": 4}),
    ("field:shared", "1", 1, {"degree": 32, "warp_size": 16}),
    ("aos_sum:crc", "1", 1, {"warp_size": 4, "struct_size": 3}),
    ("aos_sum:crc", "3", 1, {"warp_size": 4, "struct_size": 2}),
    ("aos_store:crc", "1", 0, {"warp_size": 8, "struct_size": 3, "warps": 2}),
    ("aos_store:crc", "3", 0, {"warp_size": 8, "struct_size": 2}),
    ("aos_store:rcr", "1", 0, {"warp_size": 8, "struct_size": 5}),
    ("aos_store:rcr", "3", 0, {"warp_size": 4, "struct_size": 2}),
    ("transpose", "1", 0, {"warp_size": 4}),
    ("transpose", "1", 0, {"rows": 5, "columns": 3}),
    ("transpose_steps", "1", 0, {"m": 3, "n": 8}),
    ("softmax", "1", 0, {"warp_size": 4}),
    ("gemv", "1", 1, {"warp_size": 4}),
    ("black_scholes", "1", 0, {}),
    ("nbody", "1", 1, {"warp_size": 4}),
]
SLOW = [
    ("field:register", "1", 1, {"degree": 32, "warp_size": 16}),
    ("stencil2d", "2", 1, {"warp_size": 8, "warp_columns": 1, "grid_x": 2, "grid_y": 1}),
    ("conv1d", "2", 1, {"warp_size": 4, "K": 6}),
    ("conv1d", "1", 1, {"warp_size": 8, "K": 8, "warps": 3}),
    ("stencil2d", "2", 1, {"warp_size": 8, "K": 5}),
    ("conv2d", "1", 1, {"warp_size": 32, "K": 5}),
    ("mult64:shared", "1", 6, {"warp_size": 4}),
    ("mult64:register", "1", 8, {"warp_size": 4}),
    ("aos_store:crc", "1", 0, {"struct_size": 7}),
]
NONE = [
    ("aos_store:crc", {"warp_size": 4, "struct_size": 6}),
    ("aos_store:rcr", {"warp_size": 4, "struct_size": 6}),
]


def answer(target: str, parameters: dict[str, int]) -> tuple[Result, FilledKernel | None]:
    """Solve FILE[:SKETCH], once for all tests that ask; return the result and the filled kernel."""
    return _answer(target, tuple(parameters.items()))


@cache
def _answer(target: str, parameters: tuple[tuple[str, int], ...]) -> tuple[Result, FilledKernel | None]:
    file, _, name = target.partition(":")
    (sketch,) = load(CASES / f"{file}.py", name or None, dict(parameters))
    result = solve(sketch)
    if not result.solutions:
        return result, None
    program = result.best.program
    return result, FilledKernel(program, sketch.spec, (), sizes_of(program, sketch))


def spelled(value: object) -> str:
    """Name a test by what is solved: the file, the space, the parameters."""
    return " ".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else str(value)


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("target", "space", "accumulates", "parameters"),
    [*SOLVED, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)],
    ids=spelled,
)
def test_a_case_study_is_solved(target: str, space: str, accumulates: int, parameters: dict[str, int]) -> None:
    """The answer is in the paper's space at the paper's cost, holds for all inputs, and its text computes it."""
    result, filled = answer(target, parameters)
    assert (result.status, result.space, result.optimal) == ("sat", space, True)
    assert result.best.cost == {"accumulates": accumulates}
    assert filled is not None
    assert verify(filled.program, filled.spec).equal
    out = io.StringIO()
    assert try_kernel(filled, "cpu", "", 0, out) == 0, out.getvalue()
    assert "no race, no access out of bounds" in out.getvalue()


@pytest.mark.parametrize(("target", "parameters"), NONE, ids=spelled)
def test_a_size_that_the_template_does_not_cover(target: str, parameters: dict[str, int]) -> None:
    """Sizes with a common divisor, neither a multiple of the other, have no solution in any space (Table 3)."""
    result, _ = answer(target, parameters)
    assert (result.status, result.space) == ("unsat", "4" if parameters["warp_size"] in (4, 8, 16, 32) else "3")


@pytest.mark.parametrize("target", ["conv1d", "stencil2d", "aos_store:rcr"])
def test_a_case_study_with_warps_of_64_lanes(target: str) -> None:
    """The model goes on where no GPU does: the same space, the same cost."""
    (found, _), (wanted, _) = answer(target, {"warp_size": 64}), answer(target, {"warp_size": 16})
    assert (found.status, found.optimal, found.space) == (wanted.status, wanted.optimal, wanted.space)
    assert found.best.cost == wanted.best.cost


def test_every_file_is_tried() -> None:
    """No case study is without a test."""
    tried = {case[0].partition(":")[0] for case in [*SOLVED, *SLOW, *NONE]}
    assert tried == {path.stem for path in CASES.glob("*.py")}
