"""Device-wide scans: the kernels, run and compared with the serial loop; wrong ones refused; the host's text."""

from __future__ import annotations

import io
import itertools
import json
import random
import re
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cuda_out.compile.opaque import with_opaque_calls
from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from swizzle import i32, operator
from swizzle.answers.checking.trial import sizes_to_try
from swizzle.answers.checking.validator import SizesValidator
from swizzle.answers.device_scans.cuda_text import source_of, text_of
from swizzle.answers.device_scans.device import DeviceScan, device_scan
from swizzle.answers.device_scans.kernels import THREADS, TILE, Level, PassKernel, kernel_of
from swizzle.answers.device_scans.plan import composition, launches
from swizzle.answers.emit.filled import FilledKernel
from swizzle.commands.process import execute
from swizzle.language.cuda_namespace import cuda
from swizzle.language.element_types import ArrayType
from swizzle.language.frontend.kernel import build_program
from swizzle.language.frontend.resolve import Launch
from swizzle.language.operators import FixedWord
from swizzle.language.source.kernel_source import KernelSource, Source, parse, split_lines
from swizzle.language.specs.verify import verify
from swizzle.language.surface import ELEMENT_TYPES
from swizzle.operators import operator_of, segmented
from swizzle.operators.scan_operators import scan_operator_of
from symbolic.algebra.numbers import NUMPY_DTYPES
from symbolic.algebra.terms import Terms
from symbolic.errors import SwizzleError
from symbolic.ir.functions import WordFunction
from symbolic.ir.program import LANES, FunctionName
from tests.swizzle.operators import loops

COMPILER = shutil.which("g++") or shutil.which("clang++")
RUNS = """
from swizzle import i32, serial

@serial
def total(x: i32):
    s = 0
    for v in x:
        s = s + v
    return s

@serial
def affine(x: i32, f: i32):
    h = 1
    for v, g in zip(x, f):
        h = g * h + v
    return h

@serial
def bits(x: i32):
    s = 1
    for v in x:
        s = (s >> 1) & v
    return s
"""


@operator
def left(a: (i32, i32), b: (i32, i32)):  # type: ignore[valid-type]
    return (a[0], b[1])


@cache
def scanned(name: str) -> DeviceScan:
    """Return the scan of one of the loops."""
    if name == "backward":
        return device_scan(loops.total, backward=True)
    return device_scan(getattr(loops, name))


# ---- words in terms ----------------------------------------------------------------------------------------------


def combining() -> tuple[Terms, Callable[..., tuple[int, ...]]]:
    """Return a table of terms, and the operator of `affine` on its words there."""
    terms, combine = Terms(), scan_operator_of(operator_of(loops.affine.loop).with_identity).combine

    def combined(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(terms.apply(row.name, (*a, *b)) for row in combine.values if isinstance(row, WordFunction))

    return terms, combined


@pytest.mark.slow
def test_words_of_parts_are_the_same_however_they_are_grouped() -> None:
    """Every bracketing of random parts gives the terms of the one from the left; another order gives others."""
    terms, combined = combining()
    parts = [(terms.atom("a", k), terms.atom("b", k)) for k in range(9)]
    rng = random.Random(0)

    def grouped(some: list[tuple[int, ...]]) -> tuple[int, ...]:
        if len(some) == 1:
            return some[0]
        at = rng.randrange(1, len(some))
        return combined(grouped(some[:at]), grouped(some[at:]))

    wanted = parts[0]
    for part in parts[1:]:
        wanted = combined(wanted, part)
    assert all(grouped(parts) == wanted for _ in range(20))
    for at in range(8):
        swapped = [*parts[:at], parts[at + 1], parts[at], *parts[at + 2 :]]
        assert grouped(swapped) != wanted


@pytest.mark.slow
def test_words_of_different_parts_are_a_part_of_their_own() -> None:
    """One word of one sequence with another word of another is no sequence: nothing is known of what it gives."""
    terms, combined = combining()
    a, b, c, d = ((terms.atom("a", k), terms.atom("b", k)) for k in range(4))
    ab, cd = combined(a, b), combined(c, d)
    mixed = (ab[0], cd[1])
    assert combined(mixed, a) != combined(combined(a, b), a)
    assert combined(combined(mixed, c), d) == combined(mixed, combined(c, d))
    assert combined((ab[1], ab[0]), c) != combined(ab, c)


# ---- kernels -----------------------------------------------------------------------------------------------------


def changed(kernel: PassKernel, old: str, new: str) -> bool:
    """Say whether a kernel with another text still equals its specification."""
    assert old in kernel.text, old
    text, level = kernel.text.replace(old, new, 1), kernel.level
    (definition,) = parse(text, "changed").body
    environment = {**ELEMENT_TYPES, "cuda": cuda, "range": range, "op_": level.operator}
    source = KernelSource(Source("changed", split_lines(text)), definition, None, environment)  # type: ignore[arg-type]
    arguments: dict[str, ArrayType | int] = {
        p.name: ArrayType(p.dtype, p.shape, p.role) for p in kernel.program.parameters
    }
    program = build_program(source, arguments, Launch((THREADS, 1, 1), (2, 1, 1), LANES))
    try:
        return verify(program, kernel.spec).equal
    except SwizzleError:
        return False


def test_wrong_kernels_are_refused() -> None:
    """Operands that change places, a step too few, a condition that is off by one, a word too many."""
    level = Level.of_elements(scanned("total").operator)
    totals, first, rest = (kernel_of(level, kind) for kind in ("totals", "first", "rest"))
    assert changed(rest, "if lane_ == 31", "if lane_ > 30")  # the same
    for kernel, old, new in (
        (totals, "combine(a0_, b0_)", "combine(b0_, a0_)"),
        (totals, "(1, 2, 4, 8, 16)", "(1, 2, 4, 8)"),
        (first, "if t_ > 0 or k_ > 0", "if t_ > 0"),
        (rest, "lane_ >= k_", "lane_ > k_"),
        (rest, "k_ < warp_", "k_ <= warp_"),
        (rest, "[cuda.blockIdx.x]", "[0]"),
        (rest, "    cuda.syncthreads()\n", ""),
    ):
        assert not changed(kernel, old, new), (old, new)


@pytest.mark.parametrize("name", ["total", pytest.param("affine", marks=pytest.mark.slow)])
def test_a_scan_is_the_serial_loop_at_every_length(name: str) -> None:
    """No element, one, whole parts and others: the printed kernels, emulated, give what the loop returns."""
    scan, rng = scanned(name), np.random.default_rng(1)
    loop = scan.found.loop
    for n in (0, 1, TILE - 1, 2 * TILE, 3 * TILE + 100):
        arrays = [rng.integers(-3, 4, n).astype(NUMPY_DTYPES[d]) for d in scan.operator.elements.values()]
        found = np.full(n, 77, np.int32)
        scan(*arrays, found)
        state, wanted = loop.start(), []
        for row in zip(*(array.tolist() for array in arrays), strict=True):
            state = loop.after([row], state)
            wanted.append((loop.finished(state)[0] + 2**31) % 2**32 - 2**31)
            state = tuple((each + 2**31) % 2**32 - 2**31 for each in state)
        assert found.tolist() == wanted, n


@pytest.mark.slow
def test_an_operator_is_scanned_itself() -> None:
    """Of an operator's own values, elements and results are words, so that four kernels are enough."""
    scan = device_scan(left)
    assert len(scan.distinct) == 4
    a, b = np.arange(5, 105, dtype=np.int32), np.arange(100, dtype=np.int32)
    first, last = np.zeros(100, np.int32), np.zeros(100, np.int32)
    scan(a, b, first, last)
    assert (first == 5).all() and (last == b).all()


@pytest.mark.slow
def test_segments_are_scanned() -> None:
    """Flags are whole numbers, a part may have none or many, and a scan goes through parts as before."""
    scan, n, rng = device_scan(segmented(loops.affine)), TILE + 77, np.random.default_rng(3)
    v, g = (rng.integers(-3, 4, n).astype(np.int32) for _ in range(2))
    flags = (rng.random(n) < 0.01).astype(np.int32)
    found = np.zeros(n, np.int32)
    scan(v, g, flags, found)
    state = 1
    for i in range(n):
        state = int(g[i]) * (1 if flags[i] else state) + int(v[i])
        assert found[i] == (state + 2**31) % 2**32 - 2**31


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["argmax", "second_largest", "segmented_sum", "best_run", "recurrence", "softmax", "average"]
)
def test_random_operators_are_scanned(name: str) -> None:
    """Operators of several kinds, on random elements that meet what is promised of them."""
    from swizzle.operators.samples import random_rows

    scan = scanned(name)
    loop = scan.found.loop
    for n in (1, TILE + 188):
        rows = random_rows(loop, random.Random(n), n)
        columns = zip(zip(*rows, strict=True), scan.operator.elements.values(), strict=True)
        arrays = [np.array([float(each) for each in column], NUMPY_DTYPES[d]) for column, d in columns]
        found = [np.zeros(n, NUMPY_DTYPES[d]) for d in scan.levels[0].made.values()]
        scan(*arrays, *found)
        state = loop.start()
        for i, row in enumerate(rows):
            state = loop.after([row], state)
            for got, want in zip(found, loop.finished(state), strict=True):
                assert np.isclose(float(got[i]), float(want), rtol=1e-3, atol=1e-3), (i, got[i], want)


# ---- the printed texts -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(not available_tools(), reason="needs a CUDA compiler")
def test_printed_kernels_are_validated_and_mutants_refused() -> None:
    """The PTX of a kernel is equal for every length; that of a changed text is not, nor that of a changed function."""
    scan = scanned("affine")
    checked, source = scan.kernels[True, "totals"], source_of(scan, True, "totals")
    filled = FilledKernel(checked.kernel.program, checked.spec, (), checked.tiling)
    sizes = sizes_to_try(filled, source)[:1]

    def verdict(text: str) -> str:
        found = SizesValidator(sizes, source).validate(compile_to_ptx(with_opaque_calls(text)), source.entry)
        assert found.everywhere or found.verdict != "equal"
        return found.verdict

    assert verdict(source.text) == "equal"
    combine = re.search(r"return (\(int\)\(\(unsigned int\)b_h \+ .*);", source.text)
    assert combine is not None
    for old, new in (
        (combine[1], "b_h"),
        ("__shfl_down_sync(0xffffffffu, a0_", "__shfl_up_sync(0xffffffffu, a0_"),
        ("k_index < 5", "k_index < 4"),
        ("(a0_, a1_, b0_, b1_)", "(b0_, b1_, a0_, a1_)"),
    ):
        assert old in source.text, old
        assert verdict(source.text.replace(old, new, 1)) == "different", old


@pytest.mark.slow
@pytest.mark.skipif(not available_tools(), reason="needs a CUDA compiler")
def test_every_printed_kernel_is_validated_at_every_length() -> None:
    """Of elements and of words, down to the PTX."""
    scan = scanned("affine")
    for (lifts, kind), checked in scan.kernels.items():
        source = source_of(scan, lifts, kind)
        sizes = sizes_to_try(FilledKernel(checked.kernel.program, checked.spec, (), checked.tiling), source)
        found = SizesValidator(sizes[:1], source).validate(compile_to_ptx(with_opaque_calls(source.text)), source.entry)
        assert found.verdict == "equal" and found.everywhere, (kind, found)


# ---- the composition ---------------------------------------------------------------------------------------------


def test_the_words_of_the_kernels_fit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """The composition is proved; if the tail began elsewhere, or read another word, it would not be."""
    from swizzle.answers.device_scans import plan

    assert set(composition().values()) == {"proved"}
    right = plan.launches

    def off_by_one(n: Any) -> Any:
        totals, first, rest, tail = right(n)
        return totals, first, rest, plan.ScanLaunch("tail", tail.length, tail.at, tail.before - 1)

    monkeypatch.setattr(plan, "launches", off_by_one)
    found = plan.composition.__wrapped__()
    assert [name for name, verdict in found.items() if verdict != "proved"] == [
        "tail goes on where the word before it ends"
    ]


HOST = r"""
#include <cstdio>
#include <cstddef>
#include <cstdlib>
enum cudaError_t { cudaSuccess, cudaErrorInvalidValue, cudaErrorMisalignedAddress };
typedef struct CUstream_st* cudaStream_t;
inline void said(const void* p) { std::printf(" %lld", (long long)(size_t)p); }
inline void said(long long n) { std::printf(" %lld", n); }
template <class... Ts> cudaError_t say(const char* name, Ts... all) {
  std::printf("%s", name); (said(all), ...); std::printf("\n"); return cudaSuccess;
}
"""


@pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")
@pytest.mark.parametrize(
    "name", [pytest.param("affine", marks=pytest.mark.slow), "total", pytest.param("backward", marks=pytest.mark.slow)]
)
def test_the_host_function_launches_what_is_planned(name: str, tmp_path: Path) -> None:
    """At lengths that need none, one, two and three levels: kernels, lengths, places, and scratch memory apart."""
    scan = scanned(name)
    name, text = scan.name, text_of(scan, [])
    host = text[text.rindex(f"namespace swizzle_{name} {{") :]
    stubs = "".join(
        f"namespace {source.namespace} {{ template <class... Ts> cudaError_t {source.launcher}(Ts... all)"
        f' {{ return say("{lifts:d} {kind}", all...); }} }}\n'
        for (lifts, kind) in scan.kernels
        for source in [source_of(scan, lifts, kind)]
    )
    level, words = scan.levels[0], len(scan.operator.words)
    bases = [(k + 1) << 44 for k in range(len(level.given) + len(level.made))]
    pointers = ", ".join(f"(int*){base}ll" for base in bases)
    main_text = (
        "int main(int count, char** given) { for (int k = 1; k < count; ++k) { const long long n = atoll(given[k]);\n"
        f'  std::printf("n %lld %zu\\n", n, swizzle_{name}::scratch_bytes(n));\n'
        f"  if (swizzle_{name}::scan({pointers}, n, (void*)(1ll << 50), nullptr) != cudaSuccess) return 1; }} }}\n"
    )
    file = tmp_path / "host.cpp"
    file.write_text(HOST + stubs + "#define __CUDACC__\n" + host + main_text)
    subprocess.run([str(COMPILER), "-std=c++17", "-Wall", "-Werror", "-o", tmp_path / "host", file], check=True)
    lengths = [0, 1, TILE, TILE + 1, 2 * TILE, 3 * TILE + 7, TILE**2, TILE**2 + 1, TILE**3 + TILE + 3, 2**31 - 1]
    out = subprocess.run([tmp_path / "host", *map(str, lengths)], check=True, capture_output=True, text=True).stdout
    lines = iter(out.splitlines())
    for n in lengths:
        head, length, scratch = next(lines).split()
        assert (head, int(length)) == ("n", n)
        taken: list[tuple[int, int]] = []

        def level_of(lifts: bool, given: list[int], made: list[int], n: int) -> None:
            def expect(kind: str, *arguments: int) -> None:
                assert next(lines).split() == [f"{lifts:d}", kind, *map(str, arguments), "0"]

            if n <= TILE:
                expect("first", *given, *made, n)
                return
            totals, first, rest, tail = launches(n)

            def place(some: list[int], at: int, count: int) -> list[int]:
                return [array + 4 * (n - at - count if lifts and scan.backward else at) for array in some]

            line = next(lines).split()
            total = [int(each) for each in line[2 + len(given) : 2 + len(given) + words]]
            begun = place(given, 0, totals.length * TILE)
            assert line == [f"{lifts:d}", "totals", *map(str, begun + total), str(totals.length), "0"]
            room = -(-4 * totals.length // 256) * 256
            before = [each + words * room for each in total]
            taken.extend((each, each + room) for each in (*total, *before))  # noqa: B023
            level_of(len(scan.levels) == 1, total, before, totals.length)
            expect("first", *place(given + made, 0, first.length), first.length)
            for each in (rest, tail):
                if each.length:
                    count = each.length * (TILE if each.kind == "rest" else 1)
                    moved = [place(some, each.at, count) for some in (given, made)]
                    expect(each.kind, *moved[0], *(word + 4 * each.before for word in before), *moved[1], each.length)

        level_of(True, bases[: len(level.given)], bases[len(level.given) :], n)
        taken.sort()
        assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(taken))
        assert not taken or (taken[0][0] >= 1 << 50 and taken[-1][1] <= (1 << 50) + int(scratch))
    assert next(lines, None) is None


# ---- the command line --------------------------------------------------------------------------------------------


def swizzle(*arguments: str) -> tuple[int, str, str]:
    """Run `swizzle scan`."""
    out, err = io.StringIO(), io.StringIO()
    return execute(["scan", *arguments], out, err), out.getvalue(), err.getvalue()


def test_the_command_writes_a_scan(tmp_path: Path) -> None:
    """The header, the .cu and what was proved; a loop of which no operator is found gets none."""
    file = tmp_path / "runs.py"
    file.write_text(RUNS)
    status, out, _ = swizzle(f"{file}:total", "-o", str(tmp_path / "out"), "--json")
    found = json.loads(out)
    assert status == 0 and found["status"] == "proved"
    assert found["operator"]["laws"]["associative"] == "proved"
    assert [each["name"] for each in found["kernels"]] == [
        f"total_{kind}" for kind in ("totals", "first", "rest", "tail")
    ]
    assert set(found["composition"].values()) == {"proved"} and found["arrays"] == {"v": "i32", "y": "i32"}
    assert [Path(each).name for each in found["files"]] == ["total_scan.json", "total_scan.cuh", "total_scan.cu"]
    assert "inline cudaError_t scan(const int* v, int* y, long long n" in (tmp_path / "out/total_scan.cuh").read_text()
    status, out, _ = swizzle(f"{file}:bits", "--json")
    refused = json.loads(out)
    assert status == 3 and refused["status"] == "unknown" and refused["files"] == []
    status, _, err = swizzle(f"{file}:nothing")
    assert status == 2 and "no serial loop or operator nothing" in err


def test_a_scan_is_called_with_arrays_of_one_length() -> None:
    """Anything else is one error, with what was given."""
    scan = scanned("total")
    with pytest.raises(SwizzleError) as error:
        scan(np.zeros(3, np.int32))
    assert error.value.found == "total is called with 1 array"
    with pytest.raises(SwizzleError) as error:
        scan(np.zeros(3, np.int32), np.zeros(4, np.int32))
    assert error.value.found == "total is called with v (3,), y (4,)"
    with pytest.raises(SwizzleError) as error:
        scan(np.zeros(3, np.float32), np.zeros(3, np.int32))
    assert error.value.found == "the array for v holds float32"


def test_words_that_no_element_changes_are_numbers() -> None:
    """A compiler sees through a function that is always 1, so there is none: not in kernels, nor in specifications."""
    lift = scan_operator_of(operator_of(loops.average.loop).with_identity).lift
    assert [each for each in lift.values if isinstance(each, FixedWord)] == [FixedWord(1, lift.types[0])] or (
        FixedWord(1, lift.types[1]) in lift.values
    )
    assert sorted(lift(5)) == [1, 5]


@pytest.mark.slow
def test_operators_on_words_know_their_names() -> None:
    """Two operators of one name are two: the words of one are no words of the other."""
    one, other = (scan_operator_of(operator_of(loops.affine.loop).with_identity).combine.values[0] for _ in range(2))
    assert isinstance(one, WordFunction) and isinstance(other, WordFunction)
    assert isinstance(one.name, FunctionName) and one.name == one.name and one.name != other.name
