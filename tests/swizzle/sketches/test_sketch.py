"""Decorators, parameters and loading: the `.py` front door.

A sketch's family: other values of its parameters, each made once.
"""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import swizzle as sw
from swizzle import Spec, SwizzleError, cuda, f32, i32, load, maximum, minimum, parameter, sketch, solve, spec, sw_xform
from swizzle import sw_part as choose
from swizzle.answers.emit.calling import solution_sizes
from swizzle.language.element_types import MAX_ELEMENTS
from swizzle.sketches.hole_formula import HoleFormula
from swizzle.sketches.loading import SketchFile, family_of
from symbolic.errors import Place
from symbolic.ir.program import DType
from tests.swizzle.spelling import lines

N = 64
SIZES = (2, 3)
CASES = Path(__file__).parents[3] / "case_studies"
HEAD = "from swizzle import *\n\n@spec\ndef same(x):\n    return x\n\n"
KERNEL = """\
@sketch(spec=same, block=32, grid=2, x=f32[64], y=f32.out[64])
def copy(x, y):
    y[cuda.grid(1)] = x[cuda.grid(1)]
"""


@spec
def same(x: Any) -> Any:
    """Return the input."""
    return x


def error_of(make: Any) -> SwizzleError:
    """Return the mistake that `make` raises."""
    with pytest.raises(SwizzleError) as caught:
        make()
    return caught.value


def test_names_are_known_by_what_they_stand_for() -> None:
    """Aliases, modules and closures work; the function itself is never run."""
    width = 8

    @sketch(spec=same, block=32, grid=2, x=f32[N], y=f32.out[N])
    def copy(x: Any, y: Any) -> None:
        """A docstring is no statement."""
        i = sw.cuda.grid(1)
        y[i] = x[sw.sw_xform(i, N) + choose(2, cuda.laneid) * width + SIZES[1]] + np.pi

    assert (
        list(lines(copy.program.body))[1] == "y[i] = x[?hole0(i, 0) + ?hole1(cuda.laneid) * 8 + 3] + 3.141592653589793"
    )
    assert [hole.name for hole in copy.program.holes] == ["xform1", "part1"]


def test_numpy_dtypes_are_element_types() -> None:
    """`np.float32` and its like are what numba users write."""

    @sketch(spec=same, block=32, x=f32[32], y=f32.out[32])
    def copy(x: Any, y: Any) -> None:
        a = cuda.local.array(SIZES, np.float32)
        b = cuda.local.array(2, np.uint64)
        a[0, 0] = x[0]
        b[0] = 1

    assert list(lines(copy.program.body))[:2] == ["local f32 a[2, 3]", "local u64 b[2]"]


def test_places_in_python_files() -> None:
    """A place is the file, line and column of the text, inside an indented function too."""

    @sketch(spec=same, block=32, x=f32[32], y=f32.out[32])
    def copy(x: Any, y: Any) -> None:
        y[0] = x[sw_xform(0, 32)]

    (hole,) = copy.program.holes
    text = Path(__file__).read_text(encoding="utf-8").split("\n")[hole.place.line - 1]
    assert text[hole.place.column - 1 : hole.place.end_column - 1] == "sw_xform(0, 32)"
    assert hole.place.file == __file__
    assert copy.place.line == hole.place.line - 1


def test_a_sketch_is_not_run() -> None:
    """Calling a sketch says what to do instead."""
    (conv1d,) = load(CASES / "conv1d.py")
    error = error_of(lambda: conv1d(1, 2))
    assert error.found == "the sketch conv1d is not run directly"
    assert error.place is not None and error.place.file == __file__
    assert "solve(conv1d)" in error.fix


@pytest.mark.parametrize(
    "use",
    [
        lambda: sw_xform(1, 2),
        lambda: cuda.grid(1),
        lambda: f32(1),
        lambda: cuda.laneid + 1,
        lambda: bool(cuda.threadIdx.x),
        lambda: sw.accumulator(f32, "+"),
        lambda: sw.warp_load(1, 2),
        lambda: cuda.syncthreads(),
    ],
)
def test_kernel_names_refuse_to_run(use: Any) -> None:
    """Outside a kernel each name says that it belongs into one, and where it was used."""
    error = error_of(use)
    assert "has a meaning only inside a kernel" in error.found
    assert error.place is not None and error.place.file == __file__


def test_specifications_stay_callable() -> None:
    """A specification is the function it marks; ints of the sketch are filled in by name."""

    @spec
    def first(n: int, x: Any) -> Any:
        return x[:n]

    @sketch(spec=first, block=32, x=f32[32], y=f32.out[4], n=4)
    def copy(x: Any, y: Any, n: int) -> None:
        y[0] = x[n]

    assert first(2, [1, 2, 3]) == [1, 2]
    assert copy.spec([1, 2, 3, 4, 5]) == [1, 2, 3, 4]
    assert copy.spec.parameters == ("x",)


def test_inout_arrays_are_given_to_the_specification() -> None:
    """A specification takes the in, const and inout arrays."""

    @spec
    def add(x: Any, z: Any) -> Any:
        return x + z

    @sketch(spec=add, block=32, x=f32[32], z=f32.inout[32])
    def plus(x: Any, z: Any) -> None:
        z[cuda.laneid] += x[cuda.laneid]

    assert [p.role for p in plus.program.parameters] == ["in", "inout"]
    assert error_of(lambda: sketch(spec=same, block=32, x=f32[32], z=f32.inout[32])(plain)).found == (
        "the specification same takes 1 array (x)"
    )


@pytest.mark.parametrize(
    ("names", "wrong"),
    [
        ("x, z", ""),
        ("a, b", ""),
        ("x, b", ""),
        ("a, z", ""),
        ("z, x", "z of the specification f(z, x) is the kernel's x, not its z"),
        ("z, b", "z of the specification f(z, b) is the kernel's x, not its z"),
        ("a, x", "x of the specification f(a, x) is the kernel's z, not its x"),
        ("x, n, z", ""),
        ("n, z, x", "z of the specification f(z, x) is the kernel's x, not its z"),
    ],
)
def test_a_specification_names_its_inputs_in_the_kernels_order(tmp_path: Path, names: str, wrong: str) -> None:
    """They are given by position, under names of its own; none is called like another."""
    head = HEAD.replace("same(x)", f"f({names})").replace("return x", f"return {names[0]}")
    arrays = "x=f32[32], z=f32.inout[32]"
    kernel = f"@sketch(spec=f, block=32, n=3, {arrays})\ndef k(n, x, z):\n    z[n] = x[n]\n"
    own = f"@sketch(block=32, {arrays})\ndef own(x, z):\n    z[cuda.laneid] = x[cuda.laneid]\n"
    host = f"{own}\n@host(spec=f, {arrays})\ndef h(x, z):\n    own(x, z)\n"
    for number, text in enumerate([kernel] if "n" in names else [kernel, host]):
        for end in (".py", ".swz"):
            path = tmp_path / f"k{number}{end}"
            path.write_text((head if end == ".py" else head.partition("\n")[2]) + text, encoding="utf-8")
            if wrong or text is host:
                only = f"{path} has host functions only: h"  # which it is when all is well
                assert error_of(lambda path=path: load(path)).found == (wrong or only)
            else:
                load(path)


def plain(x: Any, z: Any) -> None:
    """A kernel without its decorator."""
    z[0] = x[0]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"block": 0}, "block is 0"),
        ({"block": (1, 2, 3, 4)}, "block is (1, 2, 3, 4)"),
        ({"grid": "2"}, "grid is '2'"),
        ({"warp_size": 24}, "warp_size is 24"),
        ({"ieee_division": 2}, "ieee_division is 2"),
        ({"min_blocks": 33}, "min_blocks is 33"),
        ({"block": 256, "min_blocks": 9}, "min_blocks is 9"),
        ({"spec": 3}, "the specification is 3"),
        ({"x": 2.5}, "the parameter x is declared as 2.5"),
        ({"w": f32[3]}, "the kernel plain has no parameter w"),
        ({"z": f32[32]}, "the kernel plain has no output"),
    ],
)
def test_wrong_declarations(options: dict[str, Any], found: str) -> None:
    """Each wrong option is named."""
    given = {"spec": same, "block": 32, "x": f32[32], "z": f32.out[32]} | options
    assert error_of(lambda: sketch(**given)(plain)).found == found


@pytest.mark.parametrize("shape", [0, (), (1, 2, 3, 4), 2.5, True, "3", MAX_ELEMENTS + 1])
def test_wrong_shapes(shape: Any) -> None:
    """A shape is one to three ints of a reasonable size."""
    error = error_of(lambda: f32[shape])
    assert error.place is not None and error.place.file == __file__


def test_shapes_roles_and_types() -> None:
    """Array types are data."""
    assert (f32[4, 5].shape, f32[4, 5].role, f32.const[3].role) == ((4, 5), "in", "const")
    assert (sw.i64.out[3].dtype, sw.f16.inout[3].role) == (DType.I64, "inout")


def test_parameters_in_an_ordinary_module() -> None:
    """A declared parameter is its default, an int."""
    assert parameter("WIDTH", 4, domain=(2, 4)) == 4

    @sketch(spec=same, block=32, x=f32[32], y=f32.out[32])
    def copy(x: Any, y: Any) -> None:
        y[0] = x[0]

    assert copy.parameters["WIDTH"] == 4


@pytest.mark.parametrize("suffix", [".py", ".swz"])
def test_overrides(suffix: str) -> None:
    """`-D` sets what the file declares, and sizes follow; the next load is not affected."""
    (five,) = load(CASES / f"conv1d{suffix}", overrides={"K": 5, "warp_size": 8})
    (three,) = load(CASES / f"conv1d{suffix}")
    assert five.parameters == {"K": 5, "warp_size": 8, "warps": 2, "grid": 2, "rounds": 2}
    assert (five.program.warp_size, five.program.block, five.program.parameters[0].shape) == (8, (16, 1, 1), (36,))
    assert three.parameters["K"] == 3


@pytest.mark.parametrize("suffix", [".py", ".swz"])
def test_wrong_overrides(suffix: str) -> None:
    """An unknown name lists the declared ones; a value outside the domain says the domain."""
    error = error_of(lambda: load(CASES / f"conv1d{suffix}", overrides={"warpsize": 8}))
    assert "declares no parameter warpsize" in error.found
    assert error.expected.startswith("K (default 3; 1 to 33); warp_size (default 32; one of 4, 8, 16, 32, 64);")
    assert error.fix == "did you mean warp_size?"
    error = error_of(lambda: load(CASES / f"conv1d{suffix}", overrides={"K": 99}))
    assert error.found == "the value given of K is 99, which is not in its domain"
    assert error.expected == "1 to 33"
    assert error.place is not None and error.place.line > 5


def test_selecting_a_sketch(tmp_path: Path) -> None:
    """All sketches in order, one by its name, and the list when there is no such one."""
    path = tmp_path / "two.py"
    path.write_text(HEAD + KERNEL + "\n" + KERNEL.replace("copy", "move"), encoding="utf-8")
    assert [made.name for made in load(path)] == ["copy", "move"]
    assert [made.name for made in load(path, "move")] == ["move"]
    error = error_of(lambda: load(path, "mvoe"))
    assert (error.expected, error.fix) == ("one of copy, move", "did you mean move?")


def test_loading_leaves_no_module_behind(tmp_path: Path) -> None:
    """A sketch file is run under a private name, each time anew."""
    path = tmp_path / "one.py"
    path.write_text(HEAD + KERNEL, encoding="utf-8")
    before = set(sys.modules)
    (first,), (second,) = load(path), load(path)
    assert first is not second
    assert set(sys.modules) == before


@pytest.mark.parametrize(
    ("text", "found", "line"),
    [
        ("x = 1\nprint(y)\n", "running the file failed: NameError: name 'y' is not defined", 2),
        (
            "import nowhere_at_all\n",
            "running the file failed: ModuleNotFoundError: No module named 'nowhere_at_all'",
            1,
        ),
        ("x = (1\n", "the text is not Python: '(' was never closed", 1),
        ("raise SystemExit(3)\n", "running the file failed: SystemExit: 3", 1),
        ("x = 1\n", "has no sketch", None),
        (HEAD + KERNEL.replace("= x[", "= z["), "z is not defined", 9),
    ],
)
def test_files_that_fail(tmp_path: Path, text: str, found: str, line: int | None) -> None:
    """A file that cannot be run is one clear error with its place."""
    path = tmp_path / "bad.py"
    path.write_text(text, encoding="utf-8")
    error = error_of(lambda: load(path))
    assert found in error.found
    if line is not None:
        assert error.place is not None and (error.place.file, error.place.line) == (str(path), line)


@pytest.mark.parametrize("name", ["missing.py", "missing.swz", "note.txt", "folder.swz"])
def test_files_that_are_none(tmp_path: Path, name: str) -> None:
    """A missing file, a folder and another kind of file are the user's mistakes."""
    (tmp_path / "folder.swz").mkdir()
    assert error_of(lambda: load(tmp_path / name)).exit_code == 2


def test_a_bug_of_ours_is_not_the_files_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is raised inside Swizzle, or below it, while a file runs stays what it is."""
    path = tmp_path / "copy.py"
    path.write_text(HEAD + KERNEL)
    for bug in (lambda *_: 1 // 0, lambda *_: np.reshape(np.zeros(3), (2, 2)), lambda *_: {}["x"]):
        with monkeypatch.context() as patch:
            patch.setattr(sys.modules["swizzle.sketches.declaration"], "build_program", bug)
            with pytest.raises((ZeroDivisionError, ValueError, KeyError)):
                load(path)
    path.write_text("import numpy as np\nnp.reshape(np.zeros(3), (2, 2))\n")
    assert error_of(lambda: load(path)).found.startswith("running the file failed: ValueError: ")


@pytest.mark.parametrize(
    ("statement", "ok"),
    [("x[t] << 31", True), ("x[t] >> 0", True), ("i32(5) << 3", True), ("1 << x[t]", False), ("x[t] << 32", False)],
)
def test_the_amounts_of_shifts(tmp_path: Path, statement: str, ok: bool) -> None:
    """A shift of data is by a constant from 0 to its bits less one."""
    path = tmp_path / "shift.py"
    kernel = (
        "@sketch(spec=same, block=32, x=i32[32], y=i32.out[32])\ndef k(x, y):\n    t = cuda.threadIdx.x\n    y[t] = "
    )
    path.write_text(HEAD + kernel + statement + "\n")
    if ok:
        assert load(path)[0].name == "k"
    else:
        assert error_of(lambda: load(path)).found.startswith("`<<` of i32 data by")


def test_the_largest_shared_arrays_and_grids(tmp_path: Path) -> None:
    """Exactly 227 KiB of shared memory and exactly 2**22 threads are accepted."""
    path = tmp_path / "large.py"
    kernel = KERNEL.replace("block=32, grid=2", "block=1024, grid=4096")
    path.write_text(HEAD + kernel + "    a = cuda.shared.array(29056, f64)\n")
    assert load(path)[0].program.grid == (4096, 1, 1)


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    """Bytes that are no text are refused."""
    (tmp_path / "bytes.swz").write_bytes(b"\xff\xfe\x00")
    assert "UTF-8" in error_of(lambda: load(tmp_path / "bytes.swz")).found


def test_a_kernel_without_text() -> None:
    """A kernel that was made by `exec` has no text to read."""
    module: dict[str, Any] = {}
    error = error_of(lambda: exec(HEAD + KERNEL, module))
    assert "the text of the kernel copy is not at hand" in error.found


def test_importing_swizzle_loads_no_solver() -> None:
    """The language imports without PySMT, a solver or numba."""
    heavy = "pysmt", "z3", "cvc5", "numba", "pysat", "click", "rich"
    names = "sketch, spec, cuda, f32, sw_xform, parameter, load, Solution"
    code = f"import sys; from swizzle import {names}; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_extremes_of_one_list() -> None:
    """As Python's own, `maximum` and `minimum` take values or one iterable of them, of which there is at least one."""
    assert (maximum(3, 1, 2), maximum([3, 1, 2]), maximum(k for k in range(4)), maximum(3)) == (3, 3, 3, 3)
    assert (minimum(3, 1, 2), minimum((3, 1, 2)), minimum(np.array([3, 1])), minimum(3)) == (1, 1, 1, 3)
    assert maximum(np.float32(2)) == 2
    assert error_of(lambda: minimum([])).found == "minimum of nothing"


def test_what_is_made_shows_itself_in_a_line() -> None:
    """Types as they are written, and the rest by name and place."""
    types = (f32, f32[3], f32.out[2, 4], f32.scalar, i32.below(4)[8], f32.const[1])
    assert repr(types) == "(f32, f32[3], f32.out[2, 4], f32.scalar, i32.below(4)[8], f32.const[1])"
    place = Place("k.py", 3, 5)
    assert repr(Spec("wanted", len, ("x", "w"), place)) == "<specification wanted(x, w) at k.py:3:5>"
    assert repr(HoleFormula("xform1", "xform", place, "(i + 1) % 8", {})) == "<xform1 = (i + 1) % 8 at k.py:3:5>"


PYTHON = """
from pathlib import Path
from swizzle import cuda, f32, parameter, sketch, spec

RUNS = Path(__file__).with_suffix(".runs")
RUNS.write_text((RUNS.read_text() if RUNS.exists() else "") + "run\\n")
N = parameter("N", 4, domain=(2, 4, 8))
TWICE = parameter("TWICE", 2 * N, domain=range(1, 100))


@spec
def same(x):
    return x


@sketch(spec=same, block=4, warp_size=4, x=f32[TWICE], y=f32.out[TWICE])
def copy(x, y):
    for i in range(TWICE):
        y[i] = x[i]


other_name = copy
"""
SWZ = """
N = parameter("N", 4, domain=(2, 4, 8))

@spec
def same(x):
    return x


@sketch(spec=same, block=4, warp_size=4, x=f32[N], y=f32.out[N])
def copy(x, y):
    for i in range(N):
        y[i] = x[i]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "copies.py"
    path.write_text(PYTHON)
    return path


def runs(path: Path) -> int:
    return path.with_suffix(".runs").read_text().count("run")


def test_a_file_runs_once_for_each_set_of_values(path: Path) -> None:
    """However often an instance is asked for, also by its own family."""
    (sketch,) = load(path)
    family = sketch.family
    assert family is not None and runs(path) == 1
    larger = family.at({"N": 8})
    assert larger.program.parameters[0].shape == (16,), "what was a default is a default"
    assert family.at({"N": 8}) is larger and larger.family is not None
    assert family.at({}) is sketch
    assert runs(path) == 2
    assert larger.family.at({"TWICE": 5}).parameters == {"N": 8, "TWICE": 5}
    assert runs(path) == 3


@pytest.mark.parametrize("values", [{"N": 3}, {"K": 1}])
def test_values_that_a_family_does_not_have(path: Path, values: dict[str, int]) -> None:
    """A value outside of the domain and an unknown name are mistakes, as with -D."""
    (sketch,) = load(path)
    assert sketch.family is not None
    with pytest.raises(SwizzleError):
        sketch.family.at(values)


def test_a_swz_file_has_families_too(tmp_path: Path) -> None:
    """What is read and not run is asked in the same way."""
    path = tmp_path / "copies.swz"
    path.write_text(SWZ)
    (sketch,) = load(path)
    assert sketch.family is not None and list(sketch.family.declared["N"].domain) == [2, 4, 8]
    path.unlink()  # the text is read once: what happens to the file makes no difference
    assert sketch.family.at({"N": 8}).program.parameters[0].shape == (8,)


def test_a_sketch_that_python_imported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no family of its own; its file is asked."""
    monkeypatch.syspath_prepend(path.parent)
    import copies  # type: ignore[import-not-found]

    assert copies.copy.family is None
    family = family_of(copies.copy)
    assert family is not None and family.at({"N": 2}).parameters["N"] == 2


GOOD_AND_BAD = {
    ".py": "from swizzle import cuda, f32, host, sketch, spec, sw_xform\n",
    ".swz": "",
}


@pytest.mark.parametrize("ending", GOOD_AND_BAD)
def test_a_mistaken_sketch_is_no_obstacle_for_others(tmp_path: Path, ending: str) -> None:
    """Its mistake is told of whoever asks for it, for what is made of it, or for all; `FILE:good` is solved."""
    file = tmp_path / f"k{ending}"
    arrays = "block=32, x=f32[32], y=f32.out[32])"
    hole = "sw_xform" if ending == ".py" else "?sw_xform"
    text = f"""@spec
def s(x):
    return [2 * v for v in x]
@sketch(spec=s, {arrays}
def bad(x, y):
    y[cuda.grid(1)] = x[nowhere]
@sketch(spec=s, {arrays}
def good(x, y):
    y[cuda.grid(1)] = 2 * x[{hole}(cuda.laneid, 32)]
@sketch(spec=s, filled_from=bad, {arrays}
def filled(x, y):
    y[cuda.grid(1)] = 2 * x[{hole}(cuda.laneid, 32)]
@host(spec=s, x=f32[32], y=f32.out[32])
def launched(x, y):
    bad(x, y)
"""
    file.write_text(GOOD_AND_BAD[ending] + text)
    (good,) = load(file, "good")
    assert good.program.holes
    line = 6 + GOOD_AND_BAD[ending].count("\n")
    for name in ("bad", "filled", "launched", None):
        error = error_of(lambda name=name: load(file, name))
        assert error.found == "nowhere is not defined" and error.place is not None and error.place.line == line, name
    file.write_text(
        GOOD_AND_BAD[ending] + text.replace("[nowhere]", "[0 if True else 1 for _ in x]") + "print(1 / 0)\n"
    )
    assert "ZeroDivision" not in error_of(lambda: load(file, "good")).found


@pytest.mark.parametrize(("condition", "said"), [("if S < 3:", "makes no sketch twice where S=4"), ("if True:", "")])
def test_a_sketch_that_other_values_do_not_have(tmp_path: Path, condition: str, said: str) -> None:
    """It is a mistake of those values, which a look for larger sizes passes over, and no bug."""
    path = tmp_path / "own.py"
    path.write_text(
        "from swizzle import cuda, f32, parameter, sketch, spec\n"
        "S = parameter('S', 2, domain=(2, 3, 4))\n"
        "@spec\ndef double(x):\n    return [2 * v for v in x]\n"
        f"{condition}\n"
        "    @sketch(spec=double, block=32, grid=2, x=f32[64], y=f32.out[64 if S < 3 else 0])\n"
        "    def twice(x, y):\n        y[cuda.grid(1)] = 2 * x[cuda.grid(1)]\n"
    )
    (made,) = load(path, "twice", {})
    assert made.family is not None
    with pytest.raises(SwizzleError) as caught:
        made.family.at({"S": 4})
    assert said in caught.value.found
    assert solution_sizes(solve(made).best) is not None


def test_two_texts_of_one_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file written anew, of the same size and time, and a text in no file: each is read as it was given."""
    monkeypatch.chdir(tmp_path)
    path, first, second = Path("kernel.py"), f"{HEAD}{KERNEL}#\n", f"#\n{HEAD}{KERNEL.replace('copy', 'twin')}"
    for text, name, line in ((first, "copy", 8), (second, "twin", 9), (first, "copy", 8)):
        path.write_text(text)
        os.utime(path, (1, 1))
        (made,) = load(path)
        assert (made.name, made.program.place.line) == (name, line)
        (made,) = SketchFile(str(path), f"#\n#\n{second}").load(None, {})
        assert (made.name, made.program.place.line) == ("twin", 11)
    assert path.name not in linecache.cache  # where a wrong text would stay
