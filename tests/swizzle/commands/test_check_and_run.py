"""`swizzle check` and `swizzle run`: kernels without holes, saved solutions, printed text."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from cuda_out.compile.toolchain import available_tools
from swizzle.answers.checking.trial import with_names
from swizzle.commands.check import CheckArguments, check
from swizzle.commands.run import RunArguments, run
from swizzle.commands.solve import SolveArguments, solve
from symbolic.errors import Place, SwizzleError
from symbolic.ir.program import DType, Parameter

KERNEL = """
from swizzle import cuda, i32, parameter, sketch, spec

N = parameter("n", 64, domain=(32, 64))

@spec
def neighbours(x):
    return [x[i] + x[(i // 32) * 32 + (i + {step}) % 32] for i in range(N)]

@sketch(spec=neighbours, block=32, grid=N // 32, x=i32[N], y=i32.out[N])
def add_neighbour(x, y):
    i = cuda.grid(1)
    y[i] = x[i] + cuda.shfl_sync(cuda.FULL_MASK, x[i], (cuda.laneid + 1) % 32)
"""
HOLE = """
K = parameter("K", 3, domain=range(1, 8))
BLOCKS = parameter("blocks", 2, domain=range(1, 4))
N = 8 * BLOCKS

@spec
def conv_spec(x, w):
    return [sum(w[k] * x[i + k] for k in range(K)) for i in range(N)]

@sketch(spec=conv_spec, block=8, grid=BLOCKS, warp_size=8, x=f32[N + K - 1], w=f32.const[K], y=f32.out[N])
def conv(x, w, y):
    lane = cuda.laneid
    i = cuda.grid(1)
    inp = cuda.local.array(2, f32)
    warp_load(x, inp, offset=i - lane, rounds=2)
    out = accumulator(f32, outer="+", inner="*")
    for k in range(K):
        v = cuda.shfl_sync(cuda.FULL_MASK, inp[?sw_part(2, lane, k)], ?sw_xform(lane, 8, k))
        out.accumulate(v, w[k])
    y[i] = out.value
"""


def kernel(folder: Path, step: int = 1) -> Path:
    """A kernel without holes; its specification is another one when `step` is not 1."""
    path = folder / "kernel.py"
    path.write_text(KERNEL.replace("{step}", str(step)))
    return path


def checked(target: object, **options: object) -> tuple[int, str]:
    out = io.StringIO()
    return check(CheckArguments(str(target), **options), out, io.StringIO()), out.getvalue()  # type: ignore[arg-type]


def ran(target: object, **options: object) -> tuple[int, str]:
    out = io.StringIO()
    arguments = RunArguments(str(target), **{"device": "cpu", "quiet": True, **options})  # type: ignore[arg-type]
    return run(arguments, out, io.StringIO()), out.getvalue()


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sketch and, in out/, its solution."""
    folder = tmp_path_factory.mktemp("solved")
    (folder / "conv.swz").write_text(HOLE)
    arguments = SolveArguments(str(folder / "conv.swz"), {"K": 4, "blocks": 3}, output=folder / "out", quiet=True)
    assert solve(arguments, io.StringIO(), io.StringIO()) == 0
    return folder


def edited(solved: Path, **changes: object) -> Path:
    """Write the saved solution again with other values; 'hole 0 constant name' reaches into the constants."""
    content = json.loads((solved / "out" / "conv.json").read_text())
    for key, value in changes.items():
        if key in content:
            content[key] = value
        elif key == "formula":
            content["holes"][0][key] = value
        else:
            content["holes"][0]["constants"][key] = value
    path = solved / "out" / "edited.json"
    path.write_text(json.dumps(content))
    return path


# ---- check -----------------------------------------------------------------------------------------------------


def test_a_right_kernel(tmp_path: Path) -> None:
    """Status 0, and how much was covered."""
    assert checked(kernel(tmp_path)) == (
        0,
        "add_neighbour: equal to its specification, verified for all inputs (64 outputs of 2 blocks)\n",
    )
    assert "(32 outputs of 1 block)" in checked(kernel(tmp_path), overrides={"n": 32})[1]


def test_a_wrong_kernel(tmp_path: Path) -> None:
    """Status 1, and an element with what it is and what it should be."""
    status, out = checked(kernel(tmp_path, step=2))
    assert status == 1
    assert out.startswith("add_neighbour: not equal to its specification\n")
    assert "y[0] is x[0] + x[1], the specification says x[0] + x[2]" in out


ONE_ARRAY = """
from swizzle import math, where, cuda, f16, f32, i32, i64, sketch, spec, u32, u64

@spec
def wanted(x):
    return [{wanted} for i in range(8)]

@sketch(spec=wanted, block=8, x={dtype}[8], y={dtype}.out[8])
def k(x, y):
    t = cuda.threadIdx.x
    y[t] = {kernel}
"""


def one_array(folder: Path, kernel: str, wanted: str, dtype: str = "i32") -> Path:
    """A kernel of one line on one array."""
    path = folder / "k.py"
    path.write_text(ONE_ARRAY.format(kernel=kernel, wanted=wanted, dtype=dtype))
    return path


@pytest.mark.parametrize(
    ("kernel", "wanted", "dtype"),
    [
        ("x[t] * x[t] - x[1] * x[1]", "(x[i] - x[1]) * (x[i] + x[1])", "i32"),
        ("(x[t] + 1) * x[0]", "x[i] * x[0] + x[0]", "u64"),
        ("x[t] << 1", "x[i] * 2", "i64"),
        ("(x[t] | x[1]) ^ (x[t] & x[1])", "x[i] ^ x[1]", "u32"),
        ("x[t] * (x[t] + x[1])", "x[i] * x[i] + x[i] * x[1]", "f32"),
        ("x[t] / x[0] * x[0]", "x[i]", "f16"),
        ("2 / (1 + math.sqrt(x[t] * x[t] + 1))", "2 * (1 / (1 + math.sqrt(x[i] * x[i] + 1)))", "f32"),
        ("where(x[t] < 5, x[t] * 2, x[t])", "x[i] + where(x[i] < 5, x[i], 0)", "f32"),
    ],
)
def test_equal_numbers_of_different_terms_are_undecided(tmp_path: Path, kernel: str, wanted: str, dtype: str) -> None:
    """Terms are equal up to order and grouping; what is equal for other reasons is not called wrong: status 3."""
    status, out = checked(one_array(tmp_path, kernel, wanted, dtype))
    assert out.startswith("k: not shown equal: the numbers agree on 4 random inputs, but the terms differ:\n  y[0] is ")
    assert status == 3


@pytest.mark.parametrize(
    ("kernel", "wanted", "dtype"),
    [
        ("x[t] // 2 * 2", "x[i]", "i32"),
        ("abs(x[t])", "x[i]", "f32"),
        ("x[t] & 127", "x[i]", "u32"),
        ("abs(x[t] // 2)", "abs(x[i]) // 2", "i64"),
    ],
)
def test_numbers_show_that_a_kernel_is_wrong(tmp_path: Path, kernel: str, wanted: str, dtype: str) -> None:
    """The evidence is an input, an element and both numbers, then the terms: status 1."""
    status, out = checked(one_array(tmp_path, kernel, wanted, dtype))
    lines = out.splitlines()
    assert (status, lines[0]) == (1, "k: not equal to its specification")
    assert re.fullmatch(r"  on random input \d \(\w+ numbers\), y\[\d\] is \S+, the specification says \S+", lines[1])
    assert lines[2].startswith("  y[0] is ")


def test_an_output_that_is_never_written_is_wrong(tmp_path: Path) -> None:
    """Whatever the memory held before, it is not what the specification says."""
    path = one_array(tmp_path, "x[t]", "x[i]")
    path.write_text(path.read_text().replace("    y[t]", "    if t < 7:\n        y[t]"))
    status, out = checked(path)
    assert (status, "y[7] is never written, the specification says" in out) == (1, True)


def test_a_sketch_with_holes_is_not_checked(solved: Path) -> None:
    """The error says how to solve it and what to check then."""
    with pytest.raises(SwizzleError, match="conv has 2 holes") as caught:
        checked(solved / "conv.swz")
    assert "swizzle solve" in caught.value.fix


def test_a_saved_solution(solved: Path) -> None:
    """The file names its sketch, parameters and constants, and holds after being read again."""
    status, out = checked(solved / "out" / "conv.json")
    assert (status, out) == (0, "conv: equal to its specification, verified for all inputs (24 outputs of 3 blocks)\n")
    assert "(8 outputs of 1 block)" in checked(solved / "out" / "conv.json", overrides={"blocks": 1})[1]


def test_a_saved_solution_is_not_believed(solved: Path) -> None:
    """With another constant, or another parameter than it was made for, it is checked and found wrong."""
    assert checked(edited(solved, threshold_0=2, formula="0 if lane > k + 2 else 1"))[0] == 1
    assert checked(solved / "out" / "conv.json", overrides={"K": 7})[0] == 0  # one formula fits all K: it is right
    (solved / "other.swz").write_text(HOLE.replace("x[i + k]", "x[i]"))
    assert checked(edited(solved, file="../other.swz"), trust=True)[0] == 1


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"format": "another"}, 'it has no "format": "swizzle solution 1"'),
        ({"file": 3}, "'file' is 3"),
        ({"holes": []}, "fills no holes, but conv has the holes"),
        ({"holes": ["x"]}, "a hole is 'x'"),
        ({"parameters": {"K": "four"}}, "a parameter or cost is 'four'"),
        ({"threshold_0": 1.5}, "threshold_0 of part1 is 1.5"),
        ({"left_0": 7}, "arguments 7 and"),
        ({"formula": "0"}, "says part1 = 0, and its constants say part1 = "),
    ],
)
def test_a_spoilt_solution_file_is_the_users_mistake(solved: Path, changes: dict[str, object], complaint: str) -> None:
    """Whatever is wrong with the file, there is one clear error."""
    with pytest.raises(SwizzleError) as caught:
        checked(edited(solved, **changes))
    assert complaint in str(caught.value)


def test_a_file_that_is_no_json(tmp_path: Path) -> None:
    """Neither is a missing file a traceback."""
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(SwizzleError, match="is not a solution file: it is not JSON"):
        checked(tmp_path / "a.json")
    with pytest.raises(SwizzleError, match="cannot be read"):
        checked(tmp_path / "b.json")


def test_the_printed_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--emitted also compiles the text and runs it."""
    monkeypatch.setattr("cuda_out.compile.report.report.__defaults__", (("sm_80",),))
    monkeypatch.setattr("swizzle.answers.checking.emitted.available_tools", lambda: available_tools()[:1])
    status, out = checked(kernel(tmp_path), emitted=True)
    assert status == 0
    assert "compiles without warnings" in out or "not compiled for a GPU" in out
    assert "whole numbers: 64 of 64 outputs are the specification's, exactly" in out


# ---- run -------------------------------------------------------------------------------------------------------


def test_run_solves_first(solved: Path) -> None:
    """A sketch with holes is solved, printed and run, on both kinds of data."""
    status, out = ran(solved / "conv.swz")
    assert status == 0
    assert out.startswith("conv: running the printed kernel, 2 blocks of 8 threads, on the CPU\n")
    assert "whole numbers: 16 of 16 outputs are the specification's, exactly" in out
    assert "arbitrary numbers: 16 of 16 outputs are the specification's, within" in out


def test_run_takes_a_saved_solution(solved: Path) -> None:
    """NAME.json is run without solving."""
    assert ran(solved / "out" / "conv.json")[0] == 0


def test_small_warps_run_on_warps_of_32_lanes(tmp_path: Path) -> None:
    """A GPU has no smaller warps: the printed text does without, and the emulation holds it to that."""
    path = kernel(tmp_path)
    text = path.read_text().replace("block=32", "block=32, warp_size=8").replace("% 32]", "% 8]")
    path.write_text(text.replace("(i // 32) * 32", "(i // 8) * 8").replace("+ 1) % 32", "+ 1) % 8"))
    assert checked(path)[0] == 0
    assert ran(path)[0] == 0


def test_run_finds_a_wrong_kernel(tmp_path: Path) -> None:
    """Status 1 and the first wrong element."""
    status, out = ran(kernel(tmp_path, step=2))
    assert status == 1
    assert "outputs are wrong; y[" in out


def test_run_says_when_there_is_no_solution(solved: Path) -> None:
    """Nothing to run: the answer of solve, status 1."""
    (solved / "none.swz").write_text(HOLE.replace("?sw_part(2, lane, k)", "0"))
    status, out = ran(solved / "none.swz")
    assert (status, "no filling in Space" in out) == (1, True)


def test_undefined_behaviour_is_not_equal(tmp_path: Path) -> None:
    """The emulation's finding is shown, status 1."""
    path = kernel(tmp_path)
    path.write_text(path.read_text().replace("y[i] =", "y[i + 1] ="))
    status, out = ran(path)
    assert (status, "  not equal: " in out) == (1, True)


def test_a_finding_of_the_emulation_names_arrays() -> None:
    """The emulation knows arguments by number; the user knows arrays."""
    place = Place("k.py", 1, 1)
    parameters = [Parameter("x", DType.F32, (4,), "in", place), Parameter("y", DType.F32, (2, 3), "out", place)]
    for finding, named in (
        ("race on argument 1, element 4: thread 1", "race on y[1, 1]: thread 1"),
        ("of lanes: argument 0, element (3,) is 1.0", "of lanes: x[3] is 1.0"),
        ("of lanes: argument 1, element (1, 2) is 1.0", "of lanes: y[1, 2] is 1.0"),
        ("reads 4 bytes at element 4 of argument 0, which has 4", "reads 4 bytes at element 4 of x, which has 4"),
    ):
        assert with_names(finding, parameters) == named


def test_a_race_names_the_array(tmp_path: Path) -> None:
    """Every thread writes one element: status 1."""
    path = one_array(tmp_path, "x[t]", "x[i]")
    path.write_text(path.read_text().replace("y[t] =", "y[5] ="))
    status, out = ran(path)
    assert (status, "y[5]" in out, "argument" in out) == (1, True, False)


def test_a_specification_that_gives_no_integer_is_the_users_mistake(tmp_path: Path) -> None:
    """Fractions and numbers that do not fit are not cut to the output's dtype."""
    with pytest.raises(SwizzleError, match=r"the specification gives y\[\d\] = -?\d+\.5") as caught:
        ran(one_array(tmp_path, "x[t]", "x[i] / 2"))
    assert caught.value.fix == "divide with `//`"
    with pytest.raises(SwizzleError, match=r"the specification gives y\[0\] = 3000000000"):
        ran(one_array(tmp_path, "x[t]", "3000000000"))
    with pytest.raises(SwizzleError, match=r"y\[1\] = -1"):
        ran(one_array(tmp_path, "x[t]", "-i", "u64"))
    with pytest.raises(SwizzleError, match="the specification gives NoneType as an element of y"):
        ran(one_array(tmp_path, "x[t]", "None", "f32"))
    assert ran(one_array(tmp_path, "x[t] * 2000000000", "x[i] * 2000000000"))[0] == 0  # wraps on both sides


def test_a_deep_solution_file(tmp_path: Path) -> None:
    """JSON of any depth is refused, not fallen over."""
    (tmp_path / "t.json").write_text("[" * 200_000)
    with pytest.raises(SwizzleError, match="is not a solution file: it is"):
        checked(tmp_path / "t.json")


def test_auto_says_why_not_the_gpu(solved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the device is left open and there is no GPU, the CPU runs the kernel and the reason is given."""
    monkeypatch.setattr("swizzle.commands.run.gpu_available", lambda: (False, "no driver"))
    status, out = ran(solved / "out" / "conv.json", device="auto")
    assert (status, "on the CPU; no GPU: no driver\n" in out) == (0, True)


def test_no_gpu_is_said_before_solving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--device cuda without a GPU: the reason, at once."""
    monkeypatch.setattr("swizzle.commands.run.gpu_available", lambda: (False, "no driver"))
    monkeypatch.setattr("swizzle.commands.solve.search", lambda *_, **__: pytest.fail("solved first"))
    with pytest.raises(SwizzleError, match="no driver"):
        ran(kernel(tmp_path), device="cuda")


@pytest.mark.gpu
def test_the_running_example_on_a_gpu() -> None:
    """The printed convolution gives the specification's numbers on the GPU."""
    status, out = ran(Path(__file__).resolve().parents[3] / "case_studies" / "conv1d.py", device="cuda")
    assert (status, "on the GPU" in out) == (0, True)
