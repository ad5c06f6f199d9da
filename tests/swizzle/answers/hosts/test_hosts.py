"""Kernels that run one after the other: what they compute together, how it is printed, and the mistakes."""

from __future__ import annotations

import json
import re
import shutil
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from cuda_out.tiling.tiling import Span
from swizzle import SwizzleError
from swizzle.answers.checking.numba_text import try_host_numba
from swizzle.answers.checking.trial import sizes_to_try
from swizzle.answers.emit.filled import FilledKernel
from swizzle.answers.hosts.lengths import HostTiling, LaunchLength, MovedMeaning, composed
from swizzle.answers.hosts.running import filled_host, host_function, host_lengths
from swizzle.answers.hosts.texts import host_numba, host_text, kernel_sources
from swizzle.commands import check as commands
from swizzle.commands.hosts import check_host, run_host, solve_host, without_holes
from swizzle.commands.solve import SolveArguments, solve
from swizzle.language.parameters import Parameters
from swizzle.sketches.host import HostSketch
from swizzle.sketches.loading import SketchFile, load
from swizzle.sketches.swz_file import read_swz
from tests.cuda_out.numba_stand_in import module

needs_gcc = pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler")

TEXT = """\
from swizzle import cuda, f32, host, i32, parameter, sketch, spec

PARTS = parameter("PARTS", 4, domain=range(1, 9))
N = 32 * PARTS

@sketch(block=32, grid=PARTS, x=i32[N], total=i32.out[PARTS])
def sums(x, total):
    v = x[cuda.grid(1)]
    for mask in (16, 8, 4, 2, 1):
        v += cuda.shfl_xor_sync(cuda.FULL_MASK, v, mask)
    if cuda.laneid == 0:
        total[cuda.blockIdx.x] = v

@sketch(block=1, total=i32[PARTS], before=i32.out[PARTS])
def scanned(total, before):
    s = i32(0)
    for b in range(PARTS):
        before[b] = s
        s += total[b]

@sketch(block=32, grid=PARTS, x=i32[N], before=i32[PARTS], y=i32.out[N])
def added(x, before, y):
    lane = cuda.laneid
    v = x[cuda.grid(1)]
    for d in (1, 2, 4, 8, 16):
        w = cuda.shfl_up_sync(cuda.FULL_MASK, v, d)
        v = v + w if lane >= d else v
    y[cuda.grid(1)] = before[cuda.blockIdx.x] + v

@spec
def prefix_sums(x):
    out, s = [], 0
    for v in x:
        s = s + v
        out.append(s)
    return out

@host(spec=prefix_sums, x=i32[N], y=i32.out[N])
def scan(x, y):
    total = cuda.device_array(PARTS, i32)
    before = cuda.device_array(shape=PARTS, dtype=i32)
    sums(x, total)
    scanned(total, before=before)
    added(x, before, y)
"""


TWICE = """\
from swizzle import cuda, host, i32, sketch, spec

@sketch(block=32, a=i32[32], b=i32[32], c=i32.out[32])
def plus(a, b, c):
    c[cuda.laneid] = a[cuda.laneid] + b[cuda.laneid]

@spec
def three_times(x, w):
    return [2 * v + u for v, u in zip(x, w)]

@host(spec=three_times, x=i32[32], w=i32[32], y=i32.out[32])
def twice(x, w, y):
    t = cuda.device_array(32, i32)
    plus(x, w, t)
    plus(t, x, y)
"""


NARROW = """\
from swizzle import bf16, cuda, f32, host, i8, i32, sketch, spec

@sketch(block=32, x=i32[32], y=i8.out[32])
def narrow(x, y):
    y[cuda.laneid] = i8(x[cuda.laneid])

@sketch(block=32, x=i8[32], y=i32.out[32])
def wide(x, y):
    y[cuda.laneid] = i32(x[cuda.laneid])

@spec
def moved(x):
    return [v for v in x]

@host(spec=moved, x=i32[32], y=i32.out[32])
def there_and_back(x, y):
    t = cuda.device_array(32, i8)
    narrow(x, t)
    wide(t, y)
"""


STENCILS = """\
from swizzle import cuda, f32, host, i32, parameter, sketch, spec

N = parameter("N", 128, domain=(32, 128))

@sketch(block=64, grid=(2 * N + 65) // 64, x=i32[2 * N + 4], m=i32.out[2 * N + 2])
def sums(x, m):
    i = cuda.grid(1)
    if i < len(m):
        m[i] = x[i] + x[i + 1] + x[i + 2]

@sketch(block=32, grid=N // 32, m=i32[2 * N + 2], w=i32[3], y=i32.out[N])
def halves(m, w, y):
    i = cuda.grid(1)
    if i < len(y):
        y[i] = m[2 * i] + w[1] * m[2 * i + 2]

@spec
def stencils(x, w):
    m = [x[i] + x[i + 1] + x[i + 2] for i in range(len(x) - 2)]
    return [m[2 * i] + w[1] * m[2 * i + 2] for i in range(len(m) // 2 - 1)]

@host(spec=stencils, x=i32[2 * N + 4], w=i32[3], y=i32.out[N])
def both(x, w, y):
    m = cuda.device_array(2 * N + 2, i32)
    sums(x, m)
    halves(m, w, y)
"""


def hosts(tmp_path: Path, text: str = TEXT, **overrides: int) -> HostSketch:
    (tmp_path / "scan.py").write_text(text)
    (found,), alone = SketchFile.read(tmp_path / "scan.py").load_hosts(None, overrides)
    assert alone
    return found


def findings(tmp_path: Path, old: str, new: str) -> tuple[str, ...]:
    assert old in TEXT
    return composed(filled_host(hosts(tmp_path, TEXT.replace(old, new)), without_holes)).findings


def test_together_they_are_the_specification(tmp_path: Path) -> None:
    for parts in (1, 3, 4):
        found = composed(filled_host(hosts(tmp_path, PARTS=parts), without_holes))
        assert not found.findings and found.elements == 32 * parts


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("s = i32(0)", "s = i32(1)", "y[0] is 1 + x[0], the specification says x[0]"),
        ("before[b] = s\n", "before[b] = s + total[b]\n", "y[0] is "),
        ("if lane >= d else v", "if lane > d else v", "y[1] is x[1], the specification says x[0] + x[1]"),
        ("range(PARTS):\n        before", "range(PARTS - 1):\n        before", "reads before[3], which no kernel"),
        ("        before[b] = s\n", "        before[0] = s\n", "reads before[1], which no kernel before it has stored"),
        ("y[cuda.grid(1)] =", "y[cuda.grid(1) + 1] =", "out of bounds"),
    ],
)
def test_a_wrong_kernel_is_found(tmp_path: Path, old: str, new: str, said: str) -> None:
    """Other values, cells that nobody stored, and what no kernel may do."""
    assert said in "\n".join(findings(tmp_path, old, new))


def test_what_another_kernel_reads_has_lost_its_upper_bits(tmp_path: Path) -> None:
    """An array that is handed on holds what its type holds: integers are cut off, floats rounded."""
    halves = NARROW.replace("i8", "bf16").replace("i32", "f32")
    for text, narrowed in ((NARROW, "to_i8(x[0])"), (halves, "to_bf16(x[0])")):
        found = composed(filled_host(hosts(tmp_path, text), without_holes)).findings
        assert narrowed in found[0] and found[0].endswith("the specification says x[0]")
    said = halves.replace("[v for", "[bf16(v) for")
    assert not composed(filled_host(hosts(tmp_path, said), without_holes)).findings


def test_a_wrong_one_is_settled_by_numbers(tmp_path: Path) -> None:
    made, out = hosts(tmp_path, TEXT.replace("s = i32(0)", "s = i32(1)")), StringIO()
    assert check_host(made, out) == 1 and "the specification says" in out.getvalue()
    made, out = hosts(tmp_path, NARROW), StringIO()
    assert check_host(made, out) == 1 and "on random input 1" in out.getvalue()  # of every magnitude


@needs_gcc
def test_the_printed_text_runs_as_the_specification_says(tmp_path: Path) -> None:
    """By the command, and called from Python; a kernel may run twice."""
    made, out = hosts(tmp_path, TWICE), StringIO()
    assert run_host(made, out, fill=without_holes, seed=0) == 0, out.getvalue()
    assert "all magnitudes: 32 of 32 outputs" in out.getvalue()
    x, y = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    function = host_function(made)
    function(x, x + 1, y)
    assert np.array_equal(y, 3 * x + 1) and function.to_cuda().count("__global__") == 1
    with pytest.raises(SwizzleError, match="twice is called with 1 array"):
        function(x)
    with pytest.raises(SwizzleError, match="the array for y shares memory with x"):
        function(x, x + 1, x)  # found before any kernel runs


@needs_gcc
def test_lengths_follow_from_each_other(tmp_path: Path) -> None:
    """A launch takes twice the length and two more; the text runs at other lengths, and so does a call."""
    made, out = hosts(tmp_path, STENCILS), StringIO()
    sizes = host_lengths(filled_host(made, without_holes))
    assert isinstance(sizes, HostTiling)
    assert [str(span) for span in sizes.tiling.spans["x"]] == [str(Span("x", 2, 4))]
    assert [launch["x"] for launch in sizes.launches] == [LaunchLength("x", 2, 2), LaunchLength("x", 1, 0)]
    assert run_host(made, out, fill=without_holes, seed=0) == 0
    assert "at the lengths 64, 1, 31, 33, 96 too: all outputs are the specification's" in out.getvalue()
    text = host_text(filled_host(made, without_holes), (), sizes=sizes)
    assert "launch_sums(x, m, 2 * n + 2, stream)" in text and "return ((2 * n + 2) * 4 + 255) / 256 * 256;" in text
    function, y = host_function(made), np.zeros(35, np.int32)
    x, w = np.arange(74, dtype=np.int32), np.array([0, 3, 0], np.int32)
    function(x, w, y)
    assert np.array_equal(y, [3 * (2 * i + 1) + 9 * (2 * i + 3) for i in range(35)])
    with pytest.raises(SwizzleError, match=r"both is called with x\[74\], w\[3\], y\[36\]") as caught:
        function(x, w, np.zeros(36, np.int32))
    assert caught.value.expected == "x[2 * n + 4], w[3], y[n]"


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("    if i < len(m):\n        m[i] =", "    if i < len(m):\n        m[i] = x[0] - x[0] +", "sums: "),
        (
            "for i in range(len(m) // 2 - 1)",
            "if len(x) > 200 else 0 for i in range(len(m) // 2 - 1)",
            "not that of the",
        ),
        ("[x[i] + x", "[x[i] + 0 + x", ""),
    ],
)
def test_why_sizes_are_fixed(tmp_path: Path, old: str, new: str, why: str) -> None:
    made = filled_host(hosts(tmp_path, STENCILS.replace(old, new)), without_holes)
    assert not composed(made).findings
    assert isinstance(host_lengths(made), HostTiling) if not why else why in str(host_lengths(made))


def test_a_kernel_that_takes_all_of_an_array_fixes_its_size(tmp_path: Path) -> None:
    made = filled_host(hosts(tmp_path), without_holes)
    assert str(host_lengths(made)).startswith("scanned: no access depends on blockIdx")


def test_the_text_has_each_kernel_once_and_memory_for_what_is_handed_on(tmp_path: Path) -> None:
    text = host_text(filled_host(hosts(tmp_path), without_holes), ())
    assert text.count("__global__") == 3 and "return 512;" in text
    launched = re.findall(r"error = swizzle_(\w+)::launch_\w+\((.*)\)", text)
    assert launched == [
        ("sums", "x, total, stream"), ("scanned", "total, before, stream"), ("added", "x, before, y, stream"),
    ]  # fmt: skip


def test_files_are_written(tmp_path: Path) -> None:
    made, out = hosts(tmp_path), StringIO()
    assert solve_host(made, out, fill=without_holes, folder=tmp_path, kinds=("cuda", "header")) == 0
    filled = filled_host(made, without_holes)
    for suffix, form in ((".cu", "cu"), (".cuh", "header")):
        text = (tmp_path / f"scan{suffix}").read_text()
        assert "from scan.py: sums, scanned, added, one after the other" in text and "PARTS = 4" in text
        assert text.endswith(host_text(filled, (), form)[-800:])  # type: ignore[arg-type]
    with pytest.raises(SwizzleError, match="--emit ptx of scan, a host function"):
        solve_host(made, out, fill=without_holes, folder=tmp_path, kinds=("ptx",))


WRONG = [
    ("m = cuda.device_array((2 * n + 2,)", "m = cuda.device_array((2 * n + 1,)"),
    ('"int32", stream=stream)', '"int16", stream=stream)'),
    ('"int32", stream=stream)', '"int32")'),
    ("launch_sums(x, m, stream)", "launch_sums(x, m, 0)"),
    ("launch_sums(x, m, stream)\n", "pass\n"),
    ("launch_halves(m, w, y, stream)", "launch_halves(m, y, w, stream)"),
    ("    launch_sums(x, m, stream)\n    launch_halves(m, w, y, stream)", "    launch_halves(m, w, y, stream)\n"
     "    launch_sums(x, m, stream)"),
    ("(2 * n + 4,)", "(2 * n + 3,)"),
    ("w[1] * (m[2 * begin", "w[2] * (m[2 * begin"),
    ("x[begin + i + 1]", "x[begin + i]"),
    ("(n - 1) // 64 + 1", "n // 64"),
    ("def launch_both", "import os\n\ndef launch_both"),
    ("def launch_both", "launch_sums = None\n\ndef launch_both"),
]  # fmt: skip


@pytest.mark.slow
def test_the_module_for_numba_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its kernels, their launch functions, and who calls them: as printed they are right, and no wrong one is."""
    monkeypatch.setattr("swizzle.answers.checking.numba_text.ARCHITECTURES", ("sm_80",))
    filled = filled_host(hosts(tmp_path, STENCILS), without_holes)
    sizes = host_lengths(filled)
    assert isinstance(sizes, HostTiling)
    text, sources = host_numba(filled, [], sizes), kernel_sources(filled, sizes)
    tried = {
        kernel.name: sizes_to_try(
            FilledKernel(program, MovedMeaning(program, sizes.kernels[kernel.name]), ()), sources[kernel.name]
        )[:2]
        for kernel in filled.host.kernels
        for program in [filled.programs[kernel.name]]
    }
    found = try_host_numba(filled, sizes, text, tried)
    assert found.status == 0, found.lines
    assert [line.split(": ")[1] for line in found.lines] == ["sums", "sums", "halves", "halves", "both"]
    for old, new in WRONG:
        assert old in text, old
        of_kernels = old in text[: text.index("def launch_both")]
        assert try_host_numba(filled, sizes, text.replace(old, new), tried if of_kernels else {}).status, new
    for old, new in (("m = cuda.dev", "sums_of = cuda.dev"), ("(x, m, stream)\n", "(x, sums_of, stream)\n"),
                     ("launch_halves(m, w, y, stream)\n", "launch_halves(sums_of, w, y, stream)\n")):  # fmt: skip
        assert old in text, old
        text = text.replace(old, new)
    assert try_host_numba(filled, sizes, text, {}).status == 0


@pytest.mark.parametrize("sizes", [None, 33])
def test_the_module_for_numba_launches_all_kernels(tmp_path: Path, sizes: int | None) -> None:
    """On the stand-in, at the declared sizes and at others."""
    filled, n = filled_host(hosts(tmp_path, STENCILS, N=32), without_holes), sizes or 32
    names = module(host_numba(filled, ["a test"], host_lengths(filled) if sizes else None))
    x, w, y = np.arange(2 * n + 4, dtype=np.int32), np.array([1, 2, 3], np.int32), np.zeros(n, np.int32)
    names["launch_both"](x, w, y)
    assert np.array_equal(y, filled.spec(x, w))
    with pytest.raises(ValueError, match="x is int32 of shape"):
        names["launch_both"](x[1:], w, y)


LOOPED = """\
N, STEPS = 64, 4

@sketch(block=32, grid=2, x=i32[N], w=i32.const[1], y=i32.out[N])
def scaled(x, w, y):
    y[cuda.grid(1)] = w[0] * x[cuda.grid(1)] + 1

@spec
def powers(x, w):
    for k in range(STEPS):
        x = [w[0] * v + 1 for v in x]
    return x

@host(spec=powers, x=i32[N], w=i32.const[1], y=i32.out[N])
def iterated(x, w, y):
    a = cuda.device_array(N, i32)
    b = cuda.device_array(shape=N, dtype=i32)
    scaled(x, w, a)
    for k in range(STEPS - 2):
        scaled(a, w=w, y=b)
        a, b = b, a
    scaled(a, w, y)
"""


def test_a_swz_file_has_host_functions(tmp_path: Path) -> None:
    """As in Python, which runs the same text; nothing of a .swz file is run."""
    found = []
    for name, text in (("a.swz", LOOPED), ("a.py", f"from swizzle import cuda, host, i32, sketch, spec\n{LOOPED}")):
        (tmp_path / name).write_text(text)
        (made,), alone = SketchFile.read(tmp_path / name).load_hosts(None, {})
        assert alone and not composed(filled_host(made, without_holes)).findings
        found.append(([launch.arrays for launch in made.launches], [p.name for p in made.scratch]))
    assert found[0] == found[1] and found[0][0][2] == ("b", "w", "a")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("scaled(a, w, y)", "scald(a, w, y)", "scald is no sketch of this file"),
        ("scaled(a, w, y)", "y[0] = 1", "`assign` in a host function"),
        ("scaled(a, w, y)", "scaled(a, w, v=y)", "scaled is given v"),
        ("a, b = b, a", "a = a + 1", "a is computed with in a host function"),
        ("STEPS - 2", "x", "x is computed with in a host function"),
        ("spec=powers, ", "", "the host function iterated has no specification"),
        ("scaled(a, w, y)", "scaled(a, w)", "scaled is launched on 2 arrays"),
    ],
)
def test_mistakes_in_a_swz_host_function(old: str, new: str, said: str) -> None:
    with pytest.raises(SwizzleError, match=re.escape(said)):
        read_swz(LOOPED.replace(old, new), "host.swz", Parameters())


def test_kernels_without_specifications_are_no_sketches_of_their_own(tmp_path: Path) -> None:
    """A name says which is meant; one that no host function launches has been forgotten."""
    path = tmp_path / "scan.py"
    path.write_text(TEXT)
    with pytest.raises(SwizzleError, match="has host functions only: scan"):
        load(path)
    with pytest.raises(SwizzleError, match="scan is a host function, which launches sums, scanned, added"):
        load(path, "scan")
    with pytest.raises(SwizzleError, match="the sketch sums has no specification"):
        load(path, "sums")
    path.write_text(TEXT.replace("@spec", "@sketch(block=1, y=i32.out[1])\ndef lonely(y):\n    y[0] = 1\n\n@spec"))
    out = StringIO()
    with pytest.raises(SwizzleError, match="the sketch lonely has no specification"):
        commands.check(commands.CheckArguments(str(path)), out, out)


def test_a_command_runs_the_file_once_and_gives_one_object(
    tmp_path: Path,
) -> None:
    """A sketch beside a host function is named with --json; whatever is asked, the file runs once."""
    file = tmp_path / "scan.py"
    file.write_text(f"{TEXT}\nprint('run')\n\n@sketch(spec=prefix_sums, block=1, x=i32[1], y=i32.out[1])\n"
                    "def alone(x, y):\n    y[0] = x[0]\n")  # fmt: skip
    out, err = StringIO(), StringIO()
    assert commands.check(commands.CheckArguments(f"{file}:scan"), out, err) == 0
    assert err.getvalue() == "run\n" and "scan: equal" in out.getvalue()
    with pytest.raises(SwizzleError, match="holds 1 sketch and 1 host function: alone, scan") as caught:
        solve(SolveArguments(str(file), json_object=True), out, err)
    assert caught.value.expected == "one sketch or one host function" and err.getvalue() == "run\nrun\n"
    out.truncate(out.seek(0))
    assert solve(SolveArguments(f"{file}:scan", json_object=True), out, err) == 0
    assert json.loads(out.getvalue())["host"] == "scan" and err.getvalue() == "run\n" * 3


def test_edges_keep_the_sizes_of_a_host_function_and_are_named(tmp_path: Path) -> None:
    text = """\
from swizzle import cuda, f32, host, sketch

@sketch(block=32, grid=2, x=f32[64], y=f32.out[64])
def smoothed(x, y):
    i = cuda.grid(1)
    y[i] = x[max(i - 1, 0)] + x[min(i + 1, len(x) - 1)]

def twice(x):
    once = [x[max(i - 1, 0)] + x[min(i + 1, 63)] for i in range(64)]
    return [once[max(i - 1, 0)] + once[min(i + 1, 63)] for i in range(64)]

@host(spec=twice, x=f32[64], y=f32.out[64])
def both(x, y):
    between = cuda.device_array(64, f32)
    smoothed(x, between)
    smoothed(between, y)
"""
    found = str(host_lengths(filled_host(hosts(tmp_path, text), without_holes)))
    assert found.startswith(
        "smoothed: it treats the ends of its arrays apart, and among the kernels of a host function"
    )
