"""The holes of a scan in a kernel: solved with the loops for every size, verified like any, then placed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from swizzle import (
    cuda,
    f32,
    load,
    load_solution,
    scan_operator,
    sketch,
    solve,
    spec,
    sw_from,
    sw_place,
    sw_when,
)
from swizzle.language.specs.verify import verify
from swizzle.layouts import best
from swizzle.scans.filling import filled
from symbolic.errors import SwizzleError
from tests.swizzle.operators import loops
from tests.swizzle.scans import examples

N = 32
SKLANSKY = """
. 0 . 2 . 4 . 6
. . 1 1 . . 5 5
. . . . 3 3 3 3
"""


@spec
def prefixes(x: Any) -> Any:
    out = [x[0]]
    for i in range(1, N):
        out.append(out[-1] + x[i])
    return out


@spec
def suffixes(x: Any) -> Any:
    out = [x[N - 1]]
    for i in range(N - 2, -1, -1):
        out.insert(0, x[i] + out[0])
    return out


@sketch(spec=prefixes, block=N, x=f32[N], y=f32.out[N])
def in_place(x, y):  # type: ignore[no-untyped-def]
    i = cuda.threadIdx.x
    a = cuda.shared.array(N, f32)
    a[i] = x[i]
    cuda.syncthreads()
    for s in range(5):
        if sw_when(i, s):
            a[i] = a[sw_from(i, s)] + a[i]
        cuda.syncthreads()
    y[i] = a[i]


@sketch(spec=prefixes, block=N, x=f32[N], y=f32.out[N])
def in_two_steps(x, y):  # type: ignore[no-untyped-def]
    i = cuda.threadIdx.x
    a = cuda.shared.array(N, f32)
    a[i] = x[i]
    cuda.syncthreads()
    for d in (1, 2, 4, 8, 16):
        v = a[i]
        if sw_when(i, d):
            v = a[sw_from(i, d)] + v
        cuda.syncthreads()
        if sw_when(i, d):
            a[i] = v
        cuda.syncthreads()
    y[i] = a[i]


@sketch(spec=suffixes, block=N, x=f32[N], y=f32.out[N], relaxed_from=in_place)
def turned(x, y):  # type: ignore[no-untyped-def]
    i = cuda.threadIdx.x
    a = cuda.shared.array(N, f32)
    a[i] = x[i]
    cuda.syncthreads()
    for d in (1, 2, 4, 8, 16):
        if sw_when(i, d):
            a[i] = a[i] + a[sw_from(i, d)]
        cuda.syncthreads()
    y[i] = a[i]


def test_what_a_kernel_does_in_place_decides_the_scan() -> None:
    """Kogge and Stone's is the smallest; where all elements change in place it is a race, and Sklansky's is none."""
    plain, placed = solve(in_two_steps), solve(in_place)
    assert [each.formula for each in plain.best.holes] == ["i >= d", "i - d", "i >= d"]
    assert [each.formula for each in placed.best.holes] == ["i & (1 << s) != 0", "i - i % (1 << s) - 1"]
    assert plain.certificate["scan"][-1] == "a scan for N = 2, 4, 8, ..., 2^30: proved, by induction over the steps"


def test_a_sketch_relaxed_from_another_goes_the_other_way() -> None:
    """Every step does as much as in the forward scan, and the order of the operands is the kernel's."""
    found = solve(turned)
    assert found.status == "sat" and [each.formula for each in found.best.holes] == [
        "i & d == 0", "i + d - i % d"
    ]  # fmt: skip


@sketch(spec=suffixes, block=N, x=f32[N], y=f32.out[N])
def only_from(x, y):  # type: ignore[no-untyped-def]
    i = cuda.threadIdx.x
    a = cuda.shared.array(N, f32)
    a[i] = x[i]
    cuda.syncthreads()
    for d in (1, 2, 4, 8, 16):
        if i // d % 2 == 0:
            a[i] = a[i] + a[sw_from(i, d)]
        cuda.syncthreads()
    y[i] = a[i]


def test_a_condition_that_is_given_says_which_scan_it_is() -> None:
    """The elements that take another are known at this size, and so is the direction."""
    found = solve(only_from)
    assert [each.formula for each in found.best.holes] == ["i + d - i % d"]


SWZ = '''
n = parameter("n", 32, domain=[8, 32, 128])
@spec
def prefixes(x):
    out = zeros(n)
    out[0] = x[0]
    for i in range(1, n):
        out[i] = out[i - 1] + x[i]
    return out

@cuda.jit(device=True)
def place(j):
    return ?sw_place(j)

@sketch(spec=prefixes, block=n, x=f32[n], y=f32.out[n], like="""
. 0 . 2 . 4 . 6
. . . 1 . . . 5
. . . . . . . 3
. . . . . 3 . .
. . 1 . 3 . 5 .
""")
def brent_kung(x, y):
    i = cuda.threadIdx.x
    a = cuda.shared.array(n, f32)
    a[place(i)] = x[i]
    cuda.syncthreads()
    for d in UP:
        if ?sw_when(i, d):
            a[place(i)] = a[place(?sw_from(i, d))] + a[place(i)]
        cuda.syncthreads()
    for d in DOWN:
        if ?sw_when(i, d):
            a[place(i)] = a[place(?sw_from(i, d))] + a[place(i)]
        cuda.syncthreads()
    y[i] = a[place(i)]
'''


def test_a_swz_file_with_an_example_is_solved_and_read_again(tmp_path: Path) -> None:
    """An example of 8 gives the kernel of 32; the saved answer fills the sketch again, and is verified."""
    file = tmp_path / "scan.swz"
    file.write_text(SWZ.replace("UP", "(1, 2, 4, 8, 16)").replace("DOWN", "(8, 4, 2, 1)"))
    (found,) = load(file)
    result = solve(found)
    formulas = {each.name: each.formula for each in result.best.holes}
    assert formulas["when1"] == "(i + 1) % (2 * d) == 0" and formulas["from2"] == "i - d" and formulas["place1"] == "j"
    result.save(tmp_path / "scan.json")
    assert [each.formula for each in load_solution(tmp_path / "scan.json").holes] == [*formulas.values()]


def test_an_operator_on_words_is_scanned() -> None:
    """Both words are taken from the one source; their order is proved."""
    op = scan_operator(loops.recurrence)

    @spec
    def results(v: Any, g: Any) -> Any:
        return [op.result(*words) for words in op.scan(v, g)]

    @sketch(spec=results, block=N, v=f32[N], g=f32[N], y=f32.out[N], like=SKLANSKY)
    def scanned(v, g, y):  # type: ignore[no-untyped-def]
        i = cuda.threadIdx.x
        p = cuda.shared.array(N, f32)
        q = cuda.shared.array(N, f32)
        a, b = op.lift(v[i], g[i])
        p[i] = a
        q[i] = b
        cuda.syncthreads()
        for d in (1, 2, 4, 8, 16):
            if sw_when(i, d):
                j = sw_from(i, d)
                a, b = op.combine(p[j], q[j], p[i], q[i])
                p[i] = a
                q[i] = b
            cuda.syncthreads()
        y[i] = op.result(p[i], q[i])

    found = filled(scanned, backward=False)
    assert found is not None and verify(found.sketch.program, found.sketch.spec).equal


@pytest.mark.parametrize("words", [64, 66])
def test_elements_are_placed_in_the_words_that_there_are(words: int) -> None:
    """What is found is the best layout of the accesses that `swizzle.scans` says the same kernel has."""
    made = examples.solved("brent_kung")

    @sketch(spec=lambda x: [sum(x[: i + 1]) for i in range(64)], block=32, x=f32[64], y=f32.out[64], words=words)
    def dense(x, y, words):  # type: ignore[no-untyped-def]
        t = cuda.threadIdx.x
        a = cuda.shared.array(words, f32)
        a[sw_place(t)] = x[t]
        a[sw_place(t + 32)] = x[t + 32]
        cuda.syncthreads()
        for d in (1, 2, 4, 8, 16, 32):
            if t < 64 // (2 * d):
                i = 2 * d + 2 * d * t - 1
                a[sw_place(i)] = a[sw_place(i - d)] + a[sw_place(i)]
            cuda.syncthreads()
        for d in (16, 8, 4, 2, 1):
            if t >= 1 and t < 64 // (2 * d):
                i = d + 2 * d * t - 1
                a[sw_place(i)] = a[sw_place(i - d)] + a[sw_place(i)]
            cuda.syncthreads()
        y[t] = a[sw_place(t)]
        y[t + 32] = a[sw_place(t + 32)]

    found = filled(dense, backward=False)
    assert found is not None and found.placement is not None and found.placement.layout is not None
    asked = best((64,), made.accesses(64), families=("xor", "rotate", "pad"), at_most=4 * words)
    assert found.placement.passes == asked.passes and found.placement.layout.bytes <= 4 * words
    assert verify(found.sketch.program, found.sketch.spec).equal


KERNEL = """
from swizzle import cuda, f32, sketch, spec, sw_from, sw_when
@spec
def prefixes(x):
    return [sum(x[: i + 1]) for i in range(8)]
@sketch(spec=prefixes, block=8, x=f32[8], y=f32.out[8]LIKE)
def scan(x, y):
    i = cuda.threadIdx.x
    a = cuda.shared.array(8, f32)
    a[i] = x[i]
    cuda.syncthreads()
    for d in (1, 2, 4):
        if sw_when(i, d):
            a[i] = a[sw_from(i, d)] + a[i]
        cuda.syncthreads()
    y[i] = a[i]
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("a[sw_from(i, d)] +", "a[i - d] +", ":13:12: error: a scan without a hole sw_from"),
        ("sw_when(i, d)", "i > d", ":14:22: error: whatever from1 is, the elements that take another make no scan"),
        ("(1, 2, 4)", "(1, 2, 1)", ":13:12: error: the distances of when1 are 1, 2, 1"),
        ("(1, 2, 4)", "(1, 3)", ":13:12: error: a scan of 8 elements, with the distances 1, 3"),
        ("sw_when(i, d)", "sw_when(i // 2, d)", ":13:12: error: when1 is asked for 4 of 8 elements in the step"),
        ("sw_when(i, d)", "sw_when(i, i)", ":13:12: error: the distance of when1, i, is 0 for one thread and 1 for"),
        ("LIKE", ", like='. 0 . 2'", ":6:57: error: the network is no scan: in the end element 2 holds x2"),
        ("LIKE", ", like='. 0 . .\\n. . 1 .\\n. . . 2'", ":6:57: error: scan has 2 steps at N = 4, and its example 3"),
        ("LIKE", ", relaxed_from=4", ":6:57: error: relaxed_from is 4"),
        pytest.param(
            "    cuda.syncthreads()\n    for", "    for", ":13:20: error: race on a[0]", marks=pytest.mark.slow
        ),
        (
            "(1, 2, 4)",
            "(1, 2)",
            ":13:12: error: 2 steps for 8 elements: in each, an element takes one other, so it has 4",
        ),
        ("(1, 2, 4)", "(4, 2, 1, 1)", ":13:12: error: the distances of when1 are 4, 2, 1, 1: 1 twice"),
        pytest.param("(1, 2, 4)", "(1, 2, 2, 4)", ":13:12: error: the distances", marks=pytest.mark.slow),
    ],
)
def test_holes_that_are_asked_otherwise_are_a_mistake(old: str, new: str, said: str, tmp_path: Path) -> None:
    """Each with its place."""
    file = tmp_path / "kernel.py"
    file.write_text(KERNEL.replace(old, new, 1).replace("LIKE", ""))
    with pytest.raises(SwizzleError) as error:
        solve(load(file)[0])
    assert said in str(error.value), str(error.value)


WARPS = """
@spec
def rows(x):
    out = zeros(64)
    for i in range(64):
        out[i] = out[i - 1] + x[i] if i % WIDTH > 0 else x[i]
    return out
@sketch(spec=rows, block=64, x=f32[64], y=f32.out[64])
def scans(x, y):
    lane = cuda.laneid % WIDTH
    v = x[cuda.threadIdx.x]
    for d in (DISTANCES):
        u = cuda.shfl_sync(cuda.FULL_MASK, v, cuda.laneid - lane + ?sw_from(lane, d))
        if ?sw_when(lane, d):
            v = u + v
    y[cuda.threadIdx.x] = v
"""


@pytest.mark.parametrize(("width", "distances"), [("32", "1, 2, 4, 8, 16"), ("8", "1, 2, 4")])
def test_scans_stand_side_by_side(width: str, distances: str, tmp_path: Path) -> None:
    """In each of two warps, and in parts of them: every element is asked of as often as there are scans."""
    file = tmp_path / "warps.swz"
    file.write_text(WARPS.replace("WIDTH", width).replace("DISTANCES", distances))
    found = solve(load(file)[0])
    assert found.status == "sat"
    assert [each.formula for each in found.best.holes] == ["lane - d", "lane >= d"]


LAST = """
@spec
def last(x):
    out = zeros(8)
    out[0] = x[0]
    for k in range(1, 8):
        out[k] = where(x[k] != 0, x[k], out[k - 1])
    return out
@sketch(spec=last, block=8, x=i32[8], y=i32.out[8])
def scan(x, y):
    i = cuda.threadIdx.x
    a = cuda.shared.array(8, i32)
    a[i] = x[i]
    cuda.syncthreads()
    for d in (1, 2, 4):
        if ?sw_when(i, d):
            j = ?sw_from(i, d)
            a[i] = where(a[i] != 0, a[i], a[j])
        cuda.syncthreads()
    y[i] = a[i]
"""


@pytest.mark.parametrize(
    ("wrong", "said"), [(False, "the numbers agree on 3 random inputs"), (True, "it is not the sp")]
)
def test_terms_that_differ_are_not_called_wrong(wrong: bool, said: str, tmp_path: Path) -> None:
    """A choice that is written out is no operator that is known as associative: a right kernel is undecided."""
    file = tmp_path / "last.swz"
    file.write_text(LAST.replace("a[i], a[j])", "a[j], a[i])") if wrong else LAST)
    result = solve(load(file)[0])
    assert result.status == "unknown" and said in result.reason
