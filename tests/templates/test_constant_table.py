"""Tables in constant memory: read off the outputs, printed, read back, validated; packed where that is small enough."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.ptx.reading.parse import parse
from cuda_out.ptx.running.validate import validate
from swizzle import Limits, load, load_solution, solve
from swizzle.commands.report import as_text
from swizzle.solving.problem.problem import Problem
from symbolic.errors import Place, SwizzleError
from symbolic.ir.program import Hole
from templates.either import Either
from templates.formula import formula_of_text, formula_text, plain, values_of
from templates.registry import function_of, template
from templates.table import EitherTable

HERE = Place("-", 1, 1)
POWERS = """
from swizzle import cuda, f32, parameter, sketch, spec, sw_index

N = parameter("n", 256, domain=(16, 256, 1008))

@spec
def powers(x):
    return [x[3**i % (N + 1) - 1] for i in range(N)]

@sketch(spec=powers, block=N, warp_size=16, x=f32[N], y=f32.out[N])
def rader(x, y):
    t = cuda.threadIdx.x
    y[t] = x[sw_index(t, N, families="constant_table, xor, table")]
"""


@pytest.mark.parametrize(
    ("n", "i", "k"),
    [
        (12, range(12), range(-3, 9)),
        (1009, range(0, 1009, 7), range(1)),
        (256, range(32), range(4)),
        (8, range(8), range(60)),
    ],
)
def test_a_table_says_its_entries(n: int, i: range, k: range) -> None:
    """Chosen entries, worked out here, are what the function, its formula, its text and its constants give."""
    random, points = np.random.default_rng(n), tuple(itertools.product(i, k))
    hole = Hole("a", "index", n, ("i", "k"), HERE, ("xor", "constant_table"))
    made = template(hole, points, "4")
    assert isinstance(made, Either)
    tables = made.parts[-1]
    assert isinstance(tables, EitherTable)
    arguments = list(np.array(points).T)
    for form in tables.forms:
        keys = [tuple(point[axis.argument] for axis in form.axes) for point in points]
        entries = {key: int(random.integers(n)) for key in dict.fromkeys(keys)}
        says = {"value": lambda e, i: e, "plus": lambda e, i: (e + i) % n, "xor": lambda e, i: e ^ i}[form.way]
        wanted = np.array([says(entries[key], point[0]) for key, point in zip(keys, points, strict=True)])
        choice = made.recognised(np.array(points), wanted)
        assert choice is not None and np.array_equal(made.apply(choice, arguments), wanted)
        read, again = function_of(hole, made.constants(choice))
        assert np.array_equal(read.apply(again, arguments), wanted) and made.parse(made.constants(choice)) == choice
        formula = formula_of_text(hole, formula_text(hole, plain(hole, read, again)))
        assert np.array_equal(values_of(formula, arguments), wanted)
        beyond = [np.arange(-50, 50) % n, np.arange(-50, 50)]
        assert np.array_equal(values_of(formula, beyond), read.apply(again, beyond))


@pytest.fixture
def powers(tmp_path: Path) -> Path:
    path = tmp_path / "rader.py"
    path.write_text(POWERS, encoding="utf-8")
    return path


def test_the_outputs_tell_the_table(powers: Path, tmp_path: Path) -> None:
    """The packed one comes first, whatever the order of the families; what is kept is read back."""
    small = solve(load(powers, overrides={"n": 16})[0]).best.holes[0]
    assert "table" in small.constants and small.table_bytes == 8
    result = solve(load(powers)[0])
    (found,) = result.best.holes
    assert (result.space, result.optimal, found.table_bytes) == ("4", True, 256)
    assert found.formula.startswith("(0, 2, 8, 26, 80, 242,") and found.formula.endswith("85)[t]")
    text = as_text(result, [])
    assert "    index1 = (0, 2, 8, 26, 80, 242, 214, 130, ..., 85)[t]" in text
    assert "  table   index1 is no formula: it is looked up in 256 bytes of constants" in text
    result.save(tmp_path / "s.json")
    (again,) = load_solution(tmp_path / "s.json").holes
    assert (again.formula, again.table_bytes) == (found.formula, 256)


def test_the_text_is_validated(powers: Path) -> None:
    """The PTX has the table with its numbers; one that is wrong in the text is found. numba text is refused."""
    (sketch,) = load(powers)
    best = solve(sketch).best
    text = best.to_cuda()
    assert "static __constant__ const unsigned char table_1[256] = {0, 2, 8, 26, " in text
    assert "y[t] = x[table_1[t]];" in text
    with pytest.raises(SwizzleError, match="no table in constant memory"):
        best.to_numba()
    if not available_tools():
        pytest.skip("needs a CUDA compiler")
    ptx = compile_to_ptx(text)
    (kernel,) = parse(ptx).values()
    (table,) = (array for array in kernel.arrays if array.space == "const")
    assert table.data is not None and list(table.data)[:6] == [0, 2, 8, 26, 80, 242]
    problem = Problem.of(sketch.program, sketch.spec)
    for other, verdict in ((ptx, "equal"), (ptx.replace("= {0, 2,", "= {0, 3,"), "different")):
        found = validate(best.program, other, "rader", problem.wanted, problem.terms)
        assert found.verdict == verdict, found


def test_nothing_is_claimed_of_tables_that_are_not_found(tmp_path: Path) -> None:
    """Two inputs are added, so the outputs do not say which of them the hole takes: undecided, not 'none'."""
    path = tmp_path / "k.py"
    path.write_text(
        "from swizzle import cuda, f32, sketch, spec, sw_index\n"
        "@spec\ndef wanted(x):\n    return [x[i] + x[0] for i in range(16)]\n"
        "@sketch(spec=wanted, block=16, warp_size=16, x=f32[16], y=f32.out[16])\n"
        "def k(x, y):\n    i = cuda.threadIdx.x\n"
        '    y[i] = x[i] * x[sw_index(i, 16, families="xor, constant_table")]\n',
        encoding="utf-8",
    )
    result = solve(load(path)[0], Limits(timeout=20))
    assert result.status in ("unknown", "unsat")
    if result.status == "unknown":
        assert result.reason == "of constant_table, only functions that the outputs tell were looked at"


def test_two_holes_that_give_outputs_of_their_own(tmp_path: Path) -> None:
    """No output asks both, so each table is read off its own outputs."""
    path = tmp_path / "k.py"
    path.write_text(
        "from swizzle import cuda, f32, sketch, spec, sw_index\n"
        "@spec\ndef wanted(x):\n"
        "    return [x[i**3 % 127] for i in range(128)] + [x[(i * i + 5 * i + 3) % 128] for i in range(128)]\n"
        "@sketch(spec=wanted, block=128, x=f32[128], y=f32.out[256])\n"
        "def k(x, y):\n    t = cuda.threadIdx.x\n"
        '    y[t] = x[sw_index(t, 128, families="rotate, table, constant_table")]\n'
        '    y[t + 128] = x[sw_index(t, 128, families="table, constant_table")]\n',
        encoding="utf-8",
    )
    result = solve(load(path)[0])
    assert [hole.formula[:12] for hole in result.best.holes] == ["(0, 1, 8, 27", "(3, 9, 17, 2"]
    assert [hole.table_bytes for hole in result.best.holes] == [128, 128]
