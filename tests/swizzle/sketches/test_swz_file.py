"""`.swz` files: read, never executed; the question mark; the top level."""

import ast
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from swizzle import SwizzleError, load
from swizzle.language.parameters import Parameters
from swizzle.language.source.hole_marks import find_marks
from swizzle.sketches.swz_file import read_swz
from symbolic.ir.program import Program
from symbolic.ir.walk import rewrite_program
from tests.swizzle.spelling import lines

CASES = Path(__file__).parents[3] / "case_studies"
GOOD = """
N = 64

@spec
def copied(x):
    return [x[i] for i in range(N)]

@sketch(spec=copied, block=32, grid=2, x=f32[N], y=f32.out[N])
def copy(x, y):
    i = cuda.grid(1)
    y[i] = x[?sw_xform(i, N)]
"""


def read(text: str, **overrides: int) -> list[str]:
    """Return the names of a text's sketches."""
    return [sketch.name for sketch in read_swz(text, "inline.swz", Parameters(overrides))]


def unplaced(program: Program) -> list[object]:
    """Return a program without its places."""
    holes = [(hole.name, hole.kind, hole.size, hole.arguments) for hole in program.holes]
    parameters = [(p.name, p.dtype, p.shape, p.role) for p in program.parameters]
    return [holes, parameters, list(lines(program.body)), program.block, program.grid, program.warp_size]


@pytest.mark.parametrize("overrides", [{}, {"K": 5}, {"K": 9, "warp_size": 8, "warps": 3}, {"grid": 1, "rounds": 3}])
def test_both_front_doors_give_one_program(overrides: dict[str, int]) -> None:
    """conv1d.py and conv1d.swz are the same sketch, and the same specification."""
    (python,) = load(CASES / "conv1d.py", overrides=overrides)
    (swz,) = load(CASES / "conv1d.swz", overrides=overrides)
    assert unplaced(python.program) == unplaced(swz.program)
    assert python.parameters == swz.parameters
    x, w = (np.random.default_rng(1).random(p.shape) for p in python.program.parameters[:2])
    assert python.spec(x, w) == pytest.approx(swz.spec(x, w))


def test_rewriting_nothing_changes_nothing() -> None:
    """Renumbering holes that are in order leaves the program as it was."""
    (sketch,) = load(CASES / "conv1d.swz")
    assert rewrite_program(sketch.program, lambda expr: expr) == sketch.program


def test_a_file_may_hold_several_sketches() -> None:
    """They come in order."""
    assert read(GOOD + GOOD[GOOD.index("@sketch") :].replace("copy", "again")) == ["copy", "again"]


def test_places_count_the_question_mark() -> None:
    """A hole's place begins at its `?`."""
    (sketch,) = read_swz(GOOD, "inline.swz", Parameters())
    (hole,) = sketch.program.holes
    assert (hole.place.line, hole.place.column, hole.place.end_column) == (11, 14, 29)


def test_a_file_is_never_executed(tmp_path: Path) -> None:
    """Code that would write a file is refused and writes nothing."""
    target = tmp_path / "written"
    for line in (f"open({str(target)!r}, 'w')", "import os", "x = __import__('os')", "X = ().__class__"):
        with pytest.raises(SwizzleError):
            read(f"{line}\n{GOOD}")
    assert not target.exists()


def test_kernels_see_constants_and_the_language_only() -> None:
    """A Python builtin outside the language is no name of a .swz kernel."""
    with pytest.raises(SwizzleError, match="a call of print"):
        read(GOOD.replace("i = cuda.grid(1)", "print(1)"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("N = 3", "N is defined above already"),
        ("f32 = 3", "f32 is a name of the language already"),
        ("K = parameter('K', 3)", "a wrong call of parameter"),
        ("K = parameter('K', 3, domain=7)", "the domain of K is 7"),
        ("K = parameter('K', 3, domain=range(2))", "which is not in its domain"),
        ("A, B = 1", "an assignment of unequal sizes"),
        ("def sw_xform():\n    pass", "sw_xform is a name of the language already"),
        ("@other\ndef f():\n    pass", "the decorator other"),
        ("@sketch\ndef f():\n    pass", "@sketch without its arguments"),
        ("N.x = 3", "`assign` at the top level"),
        ("@spec\ndef f(x):\n    return ?sw_cond(x)", "a hole in the sequential part"),
    ],
)
def test_the_top_level(line: str, message: str) -> None:
    """The top level has parameters, constants, functions, specifications and sketches, each name once."""
    with pytest.raises(SwizzleError) as caught:
        read(f"{GOOD}\n{line}\n")
    assert message in caught.value.found
    assert caught.value.place is not None


def test_the_specification_must_be_marked() -> None:
    """`spec=` names a function with @spec."""
    with pytest.raises(SwizzleError, match="copied is not a specification"):
        read(GOOD.replace("@spec\n", ""))


def test_constants_are_computed_in_order() -> None:
    """Top-level constants and functions may use what stands above."""
    text = "def half(n):\n    return n // 2\n\nM = half(128)\nA, B = M, M + 2\n" + GOOD.replace("N = 64", "N = A")
    (sketch,) = read_swz(text, "inline.swz", Parameters())
    assert sketch.program.parameters[0].shape == (64,)


def test_marks_in_strings_and_comments_are_text() -> None:
    """Only a `?` in code is a hole's."""
    text = '"""?a "?b" """\n# ?c\ns = "?d \\" ?e" + \'?f\' + ?g(1)\nt = \'\'\'\n?h\'\'\'; ?i'
    marked, marks = find_marks(text, "inline.swz")
    assert marks == {(3, 25), (5, 8)}
    assert len(marked) == len(text)


@given(st.lists(st.sampled_from(['"a"', "'?'", "x", "#?", "\n", " ", "?h", '"""?"""', "\\", '"', "'"]), max_size=12))
def test_marking_keeps_the_text_but_for_the_marks(parts: list[str]) -> None:
    """Each mark is a `?` that became `_`; nothing else changes."""
    text = "".join(parts)
    try:
        marked, marks = find_marks(text, "inline.swz")
    except SwizzleError:
        return
    rows, changed = text.split("\n"), marked.split("\n")
    for number, (before, after) in enumerate(zip(rows, changed, strict=True), 1):
        for column, (a, b) in enumerate(zip(before, after, strict=True), 1):
            assert (a, b) == ("?", "_") if (number, column) in marks else a == b


def test_windows_line_ends_and_a_byte_order_mark(tmp_path: Path) -> None:
    """Both are read as if they were not there."""
    path = tmp_path / "crlf.swz"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    (sketch,) = load(path)
    assert sketch.program.holes[0].place.line == 11


@pytest.mark.parametrize(
    "text", ["\0", "x = " + "(" * 300, "x = " + "-" * 100_000 + "1", "x = " + "1+" * 100_000 + "1"]
)
def test_hostile_text_is_an_error(text: str) -> None:
    """What Python's parser cannot take is the file's mistake."""
    with pytest.raises(SwizzleError):
        read(text)


def test_the_case_study_is_plain_python_but_for_the_marks() -> None:
    """conv1d.swz without its marks is what conv1d.py has below its imports."""
    swz = (CASES / "conv1d.swz").read_text(encoding="utf-8").replace("?", "")
    python = (CASES / "conv1d.py").read_text(encoding="utf-8")
    assert ast.dump(ast.Module(ast.parse(swz).body[1:], [])) == ast.dump(ast.Module(ast.parse(python).body[2:], []))
