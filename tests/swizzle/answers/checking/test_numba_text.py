"""The module for numba.cuda beside a solution: wrong edits are refused, harmless ones accepted, and nothing is run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from bench.numba_mutants import module_mutants
from cuda_out.compile.sandbox import no_sandbox
from cuda_out.numba.compiling import _Answer, why_not_compiled
from swizzle import solve
from swizzle.answers.checking.numba_text import NumbaChecks, try_numba_text
from swizzle.answers.checking.trial import sizes_to_try
from swizzle.answers.emit.calling import solution_sizes
from swizzle.answers.emit.emitters import cuda_source
from swizzle.answers.emit.filled import FilledKernel
from swizzle.answers.status import CheckStatus, worst
from swizzle.language.specs.specification import Remembered
from swizzle.sketches.loading import load
from swizzle.sketches.sketch import Sketch
from swizzle.solving.solution.solution import Solution
from tests.cuda_out.ptx.running.test_own_operators import reduced
from tests.swizzle.test_gather import SKETCHES as GATHERS

WHY_NOT = why_not_compiled() or no_sandbox()
compiled = pytest.mark.skipif(WHY_NOT != "", reason=WHY_NOT)
CASES = Path(__file__).resolve().parents[4] / "case_studies"
GRID, LEFT, BEGIN = "((n - 1) // 64 + 1, 1, 1)", "left = min(n - begin, 64)", "begin = cuda.blockIdx.x * 64"


def solution(name: str) -> tuple[Solution, Sketch]:
    (sketch,) = load(CASES / f"{name}.py", None, {})
    return solve(sketch).best, sketch


def checks_of(name: str) -> NumbaChecks:
    best, sketch = solution(name)
    kernel = FilledKernel(best.program, Remembered(sketch.spec), (), solution_sizes(best))
    return on_one(
        NumbaChecks(kernel, sizes_to_try(kernel, cuda_source(kernel.program, sizes=kernel.sizes)), "numba.py")
    )


def on_one(checks: NumbaChecks) -> NumbaChecks:
    """Compile for one architecture only."""
    checks.architectures = ("sm_80",)
    return checks


@pytest.fixture(scope="module")
def conv1d() -> NumbaChecks:
    return checks_of("conv1d")


@pytest.fixture(scope="module")
def transpose() -> NumbaChecks:
    return checks_of("transpose")


def verdict(checks: NumbaChecks, before: str, after: str) -> int:
    text = checks.printed.text
    assert before in text
    return worst([part.status for part in checks.check(text.replace(before, after))])


@pytest.mark.sampled(24)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        # what a block is told of itself
        (LEFT, "left = min(n - begin, 63)"),
        (LEFT, "left = max(n - begin, 64)"),
        ("n = y.shape[0]\n    left", "n = x.shape[0]\n    left"),
        (BEGIN, "begin = (cuda.blockIdx.x & 1023) * 64"),
        (BEGIN, "begin = int32(cuda.blockIdx.x * 64)"),
        (BEGIN, "begin = cuda.blockIdx.x * 63"),
        # guards and tails
        ("position < left + 2", "position < left + 1"),
        ("position < left + 2", "position <= left + 2"),
        ("i < left:", "i <= left:"),
        ("i < left:", "i < 64:"),
        ("i < left:", "i < left and begin < 4096:"),
        ("i < left:", "i < left or n == 77777:"),
        ("i < left:", "i < left and left != 37:"),
        (LEFT, f"{LEFT}\n    far = min(begin, 1000)\n    if far == 960:\n        left = 0"),
        ("    if i < left:", "    far = min(begin, 1000)\n    if i < left and far != 960:"),
        # indices, shuffles, masks, barriers, memory
        ("y[begin + i]", "y[i + begin - n - n]"),
        ("y[begin + i]", "y[begin + i ^ 1]"),
        ("lane + k)", "lane + k + 1)"),
        ("shfl_sync(0x", "shfl_down_sync(0x"),
        ("0xFFFFFFFF", "0x7FFFFFFF"),
        ("inp = cuda.local", "inp = cuda.shared"),
        ("cuda.local.array(2", "cuda.local.array(1"),
        ("    lane = cuda", "    if cuda.threadIdx.x > 60:\n        cuda.syncthreads()\n    lane = cuda"),
        ("        v = cuda", "        if lane < 31:\n            v = cuda"),
        ("mine = inp[0] if lane >= k else inp[1]", "if lane >= k:\n            mine = inp[0]"),
        ("y[begin + i] = out", "y[begin + i] = out\n        y[begin] = out"),
        ("y[begin + i] = out", "x[begin + i] = out"),
        # numbers and types
        ("v * w[k]", "v * w[k] * float32(1.000001)"),
        ("y[begin + i] = out", "y[begin + i] = out * float32(0.99999994)"),
        ("= out\n", "= out + float32(1e300) * float32(0)\n"),
        ("out = float32(0)", "out = 0"),
        ("    lane = cuda", "    s = cuda.shared.array(20000, float32)\n    s[0] = s[1]\n    lane = cuda"),
        ("i < left:", "i < left and cuda.gridDim.x < 100000:"),
        ("cuda.blockIdx.x * 64", "cuda.blockIdx.x % 65536 * 64"),
        ("import cuda, float32", "import cuda"),
        ("import cuda, float32", "import cuda, float32\nfloat32 = float"),
        ("@cuda.jit", "@cuda.jit(fastmath=True)"),
        ("def conv1d(x, w, y)", "def conv1d(x, y, w)"),
        # the launch function: grid, block, order, stream, checks
        (GRID, "(n // 64 + 1, 1, 1)"),
        (GRID, "((n + 62) // 64, 1, 1)"),
        (GRID, "(min((n - 1) // 64 + 1, 65535), 1, 1)"),
        (GRID, "((n - 1) // 64 + 1 if n != 1000 * 77 + 3 else 1, 1, 1)"),
        ("(64, 1, 1)", "(128, 1, 1)"),
        ("(x, w, y)\n", "(x, y, w)\n"),
        (", stream](", ", 0]("),
        ("stream=0", "stream=1"),
        ("launch_conv1d(x, w", "launch_conv1d(w, x"),
        ("if n <= 0", "if n < 0"),
        ("if n <= 0", "if n <= 1"),
        ('"float32", (n,)', '"float64", (n,)'),
        ("(n + 2,)", "(n + 1,)"),
        ("(n + 2,)", "x.shape"),
        ("dtype != dtype or", "dtype != dtype and"),
        ("            raise", "            return\n            raise"),
        ("        return\n", "        return\n    import os\n"),
        ("        return\n", "        return\n    print(n)\n"),
        # what Python runs as it reads a definition, and what is not there yet
        ("def conv1d(x, w", "def conv1d(x, w: (min := max)"),
        ("def conv1d(x, w, y)", "def conv1d(x, w, y) -> print(1)"),
        ("stream=0):", "stream=0) -> (float32 := float):"),
        ("import cuda, float32\n", "import float32\n\n\ndef f():\n    pass\n\nfrom numba import cuda\n"),
        ("def launch_conv1d", "from numba import cuda\n\ndef launch_conv1d"),
        # types that are not those of other kernels, types as if they were words, names that mean something else
        ("dtype != dtype or", "dtype < dtype or array.dtype > dtype or"),
        ("array.dtype != dtype or", "array.dtype in ('float64', 'int32') or"),
        ("array.dtype != dtype or", 'array.dtype == "float64" or array.dtype == "int32" or array.dtype == "int64" or'),
        ("    conv1d[", "    called = 'conv1d'\n    called["),
        ("launch_conv1d(x, w", "launch_conv1d(cuda, w"),
        # quotients and remainders of lengths
        ("if n <= 0", "if n <= 0 or n % 1000003 == 0"),
        (GRID, "((n - 1) // 64 + 1 - n % 4999 // 4998, 1, 1)"),
        (GRID, "((n - 1) // 64 + 1 - n % 1021 // 1020 * (n % 7 // 6), 1, 1)"),
        # numba's numbers
        ("y[begin + i] =", "y[begin + i + (i >> 64)] ="),
        ("mine, lane + k)", "mine, lane + k) if mine > float32(0) else cuda.shfl_sync(0xFFFFFFFF, mine, lane + k)"),
        ("0xFFFFFFFF", "4294967295.0"),
        (
            "        v = cuda",
            "        v = mine\n        if lane < 5 or cuda.shfl_sync(0xFFFFFFFF, int32(k < 9), 0) != 0:\n"
            "            v = cuda",
        ),
    ],
)
def test_a_wrong_edit_is_refused(conv1d: NumbaChecks, before: str, after: str) -> None:
    """By kind: what a block knows, guards, tails, indices, masks, barriers, memory, types, and all of the launch."""
    assert verdict(conv1d, before, after) in (CheckStatus.DIFFERENT, CheckStatus.UNDECIDED)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("cuda.syncthreads()", "cuda.syncwarp()"),
        ("cuda.syncthreads()", "pass"),
        ("(32, 32), float", "(32, 31), float"),
        ("if r < left:", "if c < left:"),
        ("if c < left else", "if r < left else"),
        ("x[r, begin + c]", "x[begin + r, c]"),
        ("(32, 32, 1), stream", "(32, 8, 1), stream"),
        ("(n - 1) // 32 + 1, 1, 1", "1, (n - 1) // 32 + 1, 1"),
    ],
)
def test_a_wrong_edit_of_a_tile_is_refused(transpose: NumbaChecks, before: str, after: str) -> None:
    """Barriers, the size of shared memory and guards in two dimensions."""
    assert verdict(transpose, before, after) in (CheckStatus.DIFFERENT, CheckStatus.UNDECIDED)


TWO_LENGTHS = """
from swizzle import cuda, f32, sketch, spec

@spec
def twice_spec(x):
    return [[v + v for v in row] for row in x]

@sketch(spec=twice_spec, block=(16, 4), grid=(2, 2), x=f32[8, 32], y=f32.out[8, 32])
def twice(x, y):
    c, r = cuda.grid(2)
    y[r, c] = x[r, c] + x[r, c]
"""
TURNED = """
from swizzle import cuda, i32, sketch, spec

@spec
def turned_spec(x):
    return [x[32 * (i // 32) + (i + 1) % 32] for i in range(len(x))]

@sketch(spec=turned_spec, block=64, grid=2, x=i32[128], y=i32.out[128])
def turned(x, y):
    i = cuda.grid(1)
    y[i] = cuda.shfl_sync(cuda.FULL_MASK, x[i], cuda.laneid + 1)
"""


def checks_of_text(path: Path, text: str) -> NumbaChecks:
    path.write_text(text)
    (sketch,) = load(path, None, {})
    best = solve(sketch).best
    kernel = FilledKernel(best.program, Remembered(sketch.spec), (), solution_sizes(best))
    return on_one(
        NumbaChecks(kernel, sizes_to_try(kernel, cuda_source(kernel.program, sizes=kernel.sizes)), "numba.py")
    )


def test_a_launch_that_singles_out_two_lengths_together_is_refused(tmp_path: Path) -> None:
    checks = checks_of_text(tmp_path / "twice.py", TWO_LENGTHS)
    for wrong in ("n_x == 100 and n_y == 200", "n_x * n_y == 1000003", "n_x - n_y == 12345"):
        assert verdict(checks, "if n_x <= 0 or", f"if {wrong} or n_x <= 0 or") == CheckStatus.UNDECIDED


@compiled
def test_whole_numbers_shuffled_as_floats_are_not_themselves(tmp_path: Path) -> None:
    """Single precision does not have all of 32 bits. And lengths are multiples of 32, not of 16."""
    checks = checks_of_text(tmp_path / "turned.py", TURNED)
    text = checks.printed.text.replace("import cuda, ", "import cuda, float32, float64, ")
    offered = re.search(r"shfl_sync\(0xFFFFFFFF, (.*), [^,]*\)", text)
    assert offered is not None
    for carrier, status in (("float32", CheckStatus.DIFFERENT), ("float64", CheckStatus.UNDECIDED)):
        changed = offered[0].replace(offered[1], f"{carrier}({offered[1]})")
        kernel, _ = checks.check(text.replace(f"cuda.{offered[0]}", f"int32(cuda.{changed})"))
        assert kernel.status == status
    assert verdict(checks, "if n % 32:", "if n % 16:") == CheckStatus.UNDECIDED


@pytest.mark.sampled(7)
@compiled
@pytest.mark.parametrize(
    ("before", "after"),
    [
        # comments, spaces, docstrings, names
        ("    out = float32(0)", "    # the sum\n\n    out = float32(0)"),
        ("out += v * w[k]", "out += ( v*w [ k ] )  # a comment"),
        ("def conv1d(x, w, y):\n", 'def conv1d(x, w, y):\n    """A convolution."""\n'),
        ("inp", "cached"),
        ("conv1d(x, w, y):\n    # x", "conv1d(src, w, y):\n    x = src\n    # x"),
        ("for name, array, dtype, shape in checks", "for  name , array , dtype , shape  in  checks"),
        ("found", "what"),
        ("64, 1, 1", "0x40, 1, 1"),
        ("from numba", "import math\nfrom numba"),
        # what is computed otherwise, and is the same
        ("i < left:", "left > i:"),
        ("(0xFFFFFFFF, mine, lane + k)", "(0xFFFFFFFF, mine, (k+lane) % 32)"),
        ("out += v * w[k]", "out = w[k] * v + out"),
        ("v * w[k]", "v * w[k] if k < 3 else float32(0)"),
        ("w[k]", "w[k - 3]"),  # numba counts what is negative from the end
        ("y[begin + i]", "y[i + begin - n]"),
        ("position < left + 2", "begin + position < x.shape[0]"),
        (LEFT, "left = min(x.shape[0] - 2 - begin, 64)"),
        ("lane = cuda.threadIdx.x % 32", "lane = cuda.laneid"),
        ("y[begin + i] = out", "y[begin + i] = float32(0)\n        y[begin + i] = out"),
        ("    lane = cuda", "    cuda.syncthreads()\n    lane = cuda"),
    ],
)
def test_a_harmless_edit_is_accepted(conv1d: NumbaChecks, before: str, after: str) -> None:
    """It is shown for every block of every length."""
    assert before in conv1d.printed.text
    kernel, launch = conv1d.check(conv1d.printed.text.replace(before, after))
    assert (kernel.status, kernel.everywhere, launch.status) == (CheckStatus.EQUAL, True, CheckStatus.EQUAL), (
        kernel.lines
    )


@compiled
def test_an_edit_that_is_the_same_as_real_numbers_says_how_it_differs(conv1d: NumbaChecks) -> None:
    text = conv1d.printed.text
    for edited, differs in (
        (text.replace("v * w[k]", "w[k] / (float32(1) / v)"), True),
        (text.replace("inp", "a"), False),
    ):
        kernel, _ = conv1d.check(edited)
        assert (
            kernel.status == CheckStatus.EQUAL
            and ("from the printed text it differs in: " in kernel.lines[-1]) == differs
        )


@pytest.mark.slow
def test_mutants_are_refused_or_change_nothing(transpose: NumbaChecks) -> None:
    """A sample of them; there are mutants of the launch function among them."""
    text = transpose.printed.text
    mutants = module_mutants(text, "transpose", "launch_transpose")
    assert len(mutants) > 60
    verdicts = [transpose.check(mutant.text) for mutant in mutants[:: len(mutants) // 9]]
    equal = [kernel for kernel, launch in verdicts if worst([kernel.status, launch.status]) == CheckStatus.EQUAL]
    assert len(equal) < 3 and all(kernel.everywhere for kernel in equal)


@compiled
def test_the_module_in_the_folder_is_checked_and_not_run(tmp_path: Path, conv1d: NumbaChecks) -> None:
    """One line says that it is as printed, or where it is not; what it would do when it is imported is not done."""
    module, text = tmp_path / "conv1d_numba.py", conv1d.printed.text
    saved = tmp_path / "conv1d.json"
    assert try_numba_text(conv1d.filled, saved, conv1d.sizes) is None
    module.write_text(text)
    found = try_numba_text(conv1d.filled, saved, conv1d.sizes)
    assert found is not None and found.status == CheckStatus.EQUAL and found.json["kernel"]["every_length"] is True
    assert found.lines[0].endswith("conv1d_numba.py: the text that is printed from this solution")
    assert found.lines[1].startswith("  kernel: PTX of contiguous arrays for sm_75, ")
    module.write_text(f"{text}\nopen({str(tmp_path / 'ran')!r}, 'w')\n")
    found = try_numba_text(conv1d.filled, saved, conv1d.sizes)
    assert found is not None and found.status == CheckStatus.UNDECIDED and not (tmp_path / "ran").exists()
    assert "edited, or printed by another version (line" in found.lines[0]
    assert "is not what is printed" in found.lines[2]


@compiled
def test_lengths_of_which_the_specification_says_nothing(tmp_path: Path) -> None:
    """Whatever a block asks of how much is left, it is shown for all of them what it does."""
    (tmp_path / "own.py").write_text(
        "from swizzle import cuda, i32, sketch, spec\n"
        "@spec\ndef s(x):\n    return [x[i] + x[i + 1] for i in range(64)]\n"
        "@sketch(spec=s, block=32, grid=2, x=i32[65], y=i32.out[64])\ndef k(x, y):\n    i = cuda.grid(1)\n"
        "    y[i] = x[i] + x[i + 1]\n"
    )
    (sketch,) = load(tmp_path / "own.py", None, {})
    best = solve(sketch).best
    kernel = FilledKernel(best.program, sketch.spec, (), solution_sizes(best))
    sizes = sizes_to_try(kernel, cuda_source(kernel.program, sizes=kernel.sizes))
    checks = on_one(NumbaChecks(kernel, sizes, "numba.py"))
    found, _ = checks.check(checks.printed.text)
    assert (found.status, found.everywhere) == (CheckStatus.EQUAL, True)
    left = "left = min(n - begin, 32)"
    assert verdict(checks, left, left.replace("32", "65")) == CheckStatus.EQUAL
    assert verdict(checks, left, left.replace("32", "31")) == CheckStatus.DIFFERENT


@pytest.mark.parametrize(
    "head", [b"# -*- coding: raw_unicode_escape -*-\n# \\u000aimport os\n", b"\xef\xbb\xbf", b"# \x1b[2K\n"]
)
def test_a_module_that_python_reads_otherwise_is_no_printed_one(
    tmp_path: Path, conv1d: NumbaChecks, head: bytes
) -> None:
    """It is told with its file, line and column, and nothing of it reaches a terminal raw."""
    module = tmp_path / "conv1d_numba.py"
    module.write_bytes(head + conv1d.printed.text.encode())
    found = try_numba_text(conv1d.filled, tmp_path / "conv1d.json", conv1d.sizes)
    assert found is not None and found.status == CheckStatus.UNDECIDED and found.json["edited"] is True
    assert re.search(rf"{re.escape(str(module))}:1:\d+: ", found.lines[2]) and "\n".join(found.lines[1:2]).isprintable()


def test_what_the_printed_launch_function_does_wrong_is_seen(conv1d: NumbaChecks) -> None:
    """It is run as it was printed; were it printed otherwise, it would be told."""
    for before, after in [
        (GRID, "(n // 64 + 1, 1, 1)"), (GRID, "((n + 62) // 64, 1, 1)"), ("(64, 1, 1)", "(128, 1, 1)"),
        ("(x, w, y)\n", "(x, y, w)\n"), (", stream](", ", 0]("), ("if n <= 0", "if n < 0"), ("(n + 2,)", "(n + 1,)"),
        ("dtype != dtype or", "dtype != dtype and"), ("            raise", "            return\n            raise"),
        ('"float32", (n,)', '"float64", (n,)'), ("y = cuda.as_cuda_array(y)", "y = cuda.as_cuda_array(x)"),
    ]:  # fmt: skip
        assert before in conv1d.printed.text
        checks = NumbaChecks(conv1d.filled, conv1d.sizes, "numba.py")
        checks.printed = replace(checks.printed, text=conv1d.printed.text.replace(before, after))
        assert checks.launch.status == CheckStatus.DIFFERENT, after
    assert (conv1d.launch.status, conv1d.launch.calls > 40) == (CheckStatus.EQUAL, True)


def test_without_a_compiler_what_is_printed_is_told_from_what_is_not(
    conv1d: NumbaChecks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As printed it is that, up to its own names; of an edited kernel nothing is known."""
    monkeypatch.setattr("cuda_out.numba.compiling.why_not_compiled", lambda: "libnvvm is elsewhere")
    checks, text = NumbaChecks(conv1d.filled, conv1d.sizes, "numba.py"), conv1d.printed.text
    for same in (text, text.replace("inp", "cached")):
        kernel, launch = checks.check(same)
        assert kernel.lines == ("kernel: as printed; not compiled: libnvvm is elsewhere",)
        assert (kernel.status, kernel.everywhere, launch.status) == (CheckStatus.EQUAL, False, CheckStatus.EQUAL)
    kernel, _ = checks.check(text.replace("out += v", "out += w[k] - w[k] + v"))
    assert (kernel.status, "not compiled: libnvvm is elsewhere" in kernel.lines[0]) == (CheckStatus.UNDECIDED, True)


@compiled
def test_a_printed_kernel_that_numba_does_not_take_is_told(
    conv1d: NumbaChecks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cuda_out.numba.compiling._answer", lambda *_: _Answer("", "another numba"))
    kernel, _ = NumbaChecks(conv1d.filled, conv1d.sizes, "numba.py").check(conv1d.printed.text)
    assert (kernel.status, "does not compile it: another numba" in kernel.lines[0]) == (CheckStatus.UNDECIDED, True)


@compiled
def test_an_edited_kernel_is_compiled_in_a_sandbox_only(conv1d: NumbaChecks, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless it is trusted; the printed one needs none."""
    monkeypatch.setattr("cuda_out.compile.children.no_sandbox", lambda: "no sandbox here")
    text = conv1d.printed.text
    edited = text.replace("out += v * w[k]", "out += w[k] * v")
    for trust, each, status in (
        (False, text, CheckStatus.EQUAL),
        (False, edited, CheckStatus.UNDECIDED),
        (True, edited, CheckStatus.EQUAL),
    ):
        checks = on_one(NumbaChecks(conv1d.filled, conv1d.sizes, "numba.py", trust=trust))
        kernel, _ = checks.check(each)
        assert kernel.status == status and ("no sandbox here" in kernel.lines[0]) == (status == CheckStatus.UNDECIDED)


def checks_of_sketch(sketch: Sketch) -> NumbaChecks:
    """Return the checks of a sketch, at its own size."""
    program = solve(sketch).best.program if sketch.program.holes else sketch.program
    kernel = FilledKernel(program, Remembered(sketch.spec), (), None)
    return on_one(NumbaChecks(kernel, sizes_to_try(kernel, cuda_source(kernel.program)), "numba.py"))


@compiled
@pytest.mark.parametrize("name", ["ell", "chain"])
def test_elements_that_data_chooses(name: str) -> None:
    """Their index is declared to be no negative number, which numba would count from the end."""
    checks = checks_of_sketch(GATHERS[name])
    assert checks.check(checks.printed.text)[0].status == CheckStatus.EQUAL
    assert verdict(checks, "x[", "x[1 + ") != CheckStatus.EQUAL


@compiled
@pytest.mark.parametrize(("name", "dtype"), [("gcd", "u32"), ("common", "i32"), ("nim", "i64")])
def test_operators_are_called(name: str, dtype: str) -> None:
    """The function is the printed one, and what it gives is converted at once, as numba may give 64 bits."""
    checks = checks_of_sketch(reduced(name, dtype, ", init=0" if name != "nim" else ""))
    text = checks.printed.text
    call = re.search(rf"u?int\d\d\({name}\(out, (.*?)\)\)$", text, re.MULTILINE)
    assert call is not None and checks.check(text)[0].status == CheckStatus.EQUAL
    for wrong in (f"{name}(out, {call[1]})", f"int8({call[0]})", call[0].replace(f"({name}(", f"({name}(1 + ")):
        assert verdict(checks, call[0], wrong) != CheckStatus.EQUAL
    assert verdict(checks, "a: int", "a: float") == verdict(checks, "return a", "return b") == CheckStatus.UNDECIDED
