"""`Result.save` and `load_solution`: what the command line writes, and back, never believed."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from swizzle import SwizzleError, load, load_solution, solve
from swizzle.commands.process import execute

TEXT = """\
from swizzle import cuda, f32, sketch, spec, sw_xform

@spec
def turned_spec(x):
    return [x[(i + STEP) % 8] for i in range(8)]

@sketch(spec=turned_spec, block=8, warp_size=8, x=f32[8], y=f32.out[8])
def turned(x, y):
    t = cuda.threadIdx.x
    y[t] = cuda.shfl_sync(cuda.FULL_MASK, x[t], sw_xform(t, 8))
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "turned.py"
    path.write_text(TEXT.replace("STEP", "3"), encoding="utf-8")
    return path


def test_a_solution_comes_back(file: Path, tmp_path: Path) -> None:
    """From the file that it names, or into a sketch that is given, the solution is the one that was saved."""
    (sketch,) = load(file)
    result = solve(sketch)
    saved = result.save(tmp_path / "kept" / "turned.json")
    assert load_solution(saved) == load_solution(saved, sketch) == result.best
    assert load_solution(str(saved)).posed is not None
    assert execute(["check", str(saved)], io.StringIO(), io.StringIO()) == 0


def test_it_is_the_command_lines_file(file: Path, tmp_path: Path) -> None:
    """Either way of writing gives the same text."""
    assert execute(["solve", str(file), "-o", str(tmp_path / "out")], io.StringIO(), io.StringIO()) == 0
    saved = solve(load(file)[0]).save(tmp_path / "out" / "again.json")
    assert saved.read_text(encoding="utf-8") == (tmp_path / "out" / "turned.json").read_text(encoding="utf-8")


def test_a_file_is_not_believed(file: Path, tmp_path: Path) -> None:
    """Another specification, another file's text, or other holes: an error each, and no solution."""
    saved = solve(load(file)[0]).save(tmp_path / "turned.json")
    file.write_text(TEXT.replace("STEP", "4"), encoding="utf-8")
    with pytest.raises(SwizzleError, match="which would be run, and it is not what you solved here"):
        load_solution(saved)
    with pytest.raises(SwizzleError, match=r"does not solve turned: y\[0\] is not what the specification says"):
        load_solution(saved, trust=True)
    content = json.loads(saved.read_text(encoding="utf-8"))
    content["holes"][0]["name"] = "xform2"
    saved.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(SwizzleError, match="fills the holes xform2, but turned has the holes xform1"):
        load_solution(saved, load(file)[0])


def test_what_cannot_be_saved(file: Path, tmp_path: Path) -> None:
    """A result without a solution, a name of another kind of file, and a sketch that is in no file."""
    (sketch,) = load(file)
    result = solve(sketch)
    with pytest.raises(SwizzleError, match="is not a file name for a solution"):
        result.save(tmp_path / "turned.cu")
    file.unlink()
    with pytest.raises(SwizzleError, match="turned stands in no file"):
        result.save(tmp_path / "turned.json")
    file.write_text(TEXT.replace("x[(i + STEP) % 8]", "x[i] + x[0]"), encoding="utf-8")
    with pytest.raises(SwizzleError, match="there is no solution to take"):
        solve(load(file)[0]).save(tmp_path / "none.json")
