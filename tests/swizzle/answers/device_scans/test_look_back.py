"""Scans in one pass: the printed kernel under schedules that are meant to break it, and planted faults, all found."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from swizzle import i32, serial
from swizzle.answers.device_scans.cuda_text import text_of
from swizzle.answers.device_scans.device import DeviceScan, device_scan
from swizzle.answers.device_scans.kernels import TILE, Level, PassKernel, kernel_of
from swizzle.answers.device_scans.look_back import look_back_source
from swizzle.answers.device_scans.plan import look_back_composition
from swizzle.answers.device_scans.schedules import PARTS, random_run, tried
from swizzle.operators import segmented
from swizzle.operators.scan_operators import scan_operator
from symbolic.errors import SwizzleError
from tests.swizzle.operators import loops

COMPILER = shutil.which("g++") or shutil.which("clang++")
FEW = ((1, 3), (2, 3), (4, 3), (2, PARTS))
MORE = tuple((order, resident) for order in range(2, 10) for resident in (3, PARTS))


@cache
def scanned(name: str, backward: bool = False) -> DeviceScan:
    """Return the scan in one pass of one of the loops."""
    given = segmented(loops.affine) if name == "segmented" else getattr(loops, name)
    return device_scan(given, form="look-back", backward=backward)


def affine_after(v: Any, g: Any) -> Any:
    """Return what `affine` returns after each element."""
    state, found = 1, []
    for a, f in zip(v.tolist(), g.tolist(), strict=True):
        state = (f * state + a + 2**31) % 2**32 - 2**31
        found.append(state)
    return np.array(found, np.int32)


def affine_from_the_end(v: Any, g: Any) -> Any:
    """Return for each element what `affine` returns after it and all behind it."""
    factor, rest, found = 1, 0, []
    for a, f in zip(v[::-1].tolist(), g[::-1].tolist(), strict=True):
        factor, rest = factor * f % 2**32, (factor * a + rest) % 2**32
        found.append((factor + rest + 2**31) % 2**32 - 2**31)
    return np.array(found[::-1], np.int32)


@cache
def run(name: str) -> tuple[list[Any], list[Any]]:
    """Return elements of 40 parts, and what the loop returns; of `affine` such that no element forgets those before."""
    rng = np.random.default_rng(0)
    if name == "total":
        values = rng.integers(-(2**31), 2**31, PARTS * TILE).astype(np.int32)
        return [values], [np.cumsum(values).astype(np.int32)]
    if name != "affine":
        return random_run(scanned(name))
    v, g = rng.integers(-99, 99, PARTS * TILE), 2 * rng.integers(-99, 99, PARTS * TILE) + 1
    return [v.astype(np.int32), g.astype(np.int32)], [affine_after(v, g)]


@cache
def linked(name: str) -> PassKernel:
    """Return the kernel that a scan in one pass is made of, which other tests verify."""
    operator = scan_operator(getattr(loops, name))
    return kernel_of(Level.of_elements(operator), "linked")


def printed(name: str) -> str:
    """Return the text of a kernel."""
    return look_back_source(linked(name)).text


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["affine", "total"])
def test_a_scan_in_one_pass_is_the_serial_loop_in_every_schedule(name: str) -> None:
    """Two words, which fences order, and one that is stored together with what says that it is there."""
    assert ("__threadfence();" in printed(name)) == (name == "affine")
    assert not list(tried(linked(name), *run(name), FEW))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["affine", "total", "argmax", "segmented", "best_run", "recurrence", "second_largest"])
def test_operators_are_scanned_in_many_schedules(name: str) -> None:
    """Operators of several kinds, on random elements."""
    assert not list(tried(scanned(name).kernels[True, "linked"].kernel, *run(name), MORE))


FAULTS = {
    "no fence behind the words": ("    __threadfence();\n    told[part] = what;", "    told[part] = what;"),
    "no fence in front of what is read": ("in_order() const { __threadfence(); }", "in_order() const {}"),
    "told before it is stored": (
        "    (what == ALL ? all0 : own0)[part] = words.w0;\n",
        "    told[part] = what;\n    __threadfence();\n    (what == ALL ? all0 : own0)[part] = words.w0;\n",
    ),
    "the block's index as the number of its part": ("number = atomicAdd(begun, 1u)", "number = blockIdx.x"),
    "operands that change places": ("words = combined(earlier, words)", "words = combined(words, earlier)"),
    "the last block's words, not the last part's": ("part + 1 == gridDim.x", "blockIdx.x + 1 == gridDim.x"),
    "its own words left for the rest": ("last0[0] = all.w0", "last0[0] = own.w0"),
    "the words of one part as those of all up to it": ("kind(look) == ALL);", "kind(look) != 0);"),
}
MORE_FAULTS = {
    "operands that change places behind 32 parts": ("combined(words, found) : words", "combined(found, words) : words"),
    "operands that change places in what is told": ("all = combined(earlier, own)", "all = combined(own, earlier)"),
    "32 parts are 31": ("end -= 32", "end -= 31"),
    "one array for both": ("all1[part] : own1[part]", "all1[part] : all1[part]"),
    "waits for the next part only": ("none & ((all & (0u - all)) - 1)", "none & ((all & (0u - all)) - 1) & 1"),
    "waits for nothing": ("while (none & ((all & (0u - all)) - 1))", "while (false)"),
    "its own words told as those of all": ("board.tell(part, OWN, own)", "board.tell(part, ALL, own)"),
    "a lane too few": ("lane + k <= last", "lane + k < last"),
    "stores that are not volatile": ("volatile int*", "int*"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault: str) -> None:
    """What the protocol rests on: fences, the order of stores, the order of parts, the order of operands."""
    old, new = FAULTS[fault]
    text = printed("affine")
    assert text.count(old) == 1, fault
    assert next(tried(linked("affine"), *run("affine"), FEW, text.replace(old, new)), None)


@pytest.mark.slow
@pytest.mark.parametrize("fault", MORE_FAULTS)
def test_more_faults_are_found(fault: str) -> None:
    """Windows of 32 parts, what is told of which, and what is waited for."""
    old, new = MORE_FAULTS[fault]
    text = printed("affine")
    assert old in text, fault
    text = text.replace(old, new)
    assert next(tried(linked("affine"), *run("affine"), MORE, text), None)


def test_what_a_warp_puts_together_follows_each_other() -> None:
    """The composition is proved."""
    assert set(look_back_composition().values()) == {"proved"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "form, backward",
    [
        ("look-back", True),
        pytest.param("look-back", False, marks=pytest.mark.slow),
        pytest.param("three-pass", True, marks=pytest.mark.slow),
    ],
)
def test_a_scan_takes_any_length(form: Any, backward: bool) -> None:
    """No element, a part that is cut, whole ones, and what is left over."""
    scan = scanned("affine", backward) if form == "look-back" else device_scan(loops.affine, form, backward=backward)
    rng = np.random.default_rng(1)
    for n in (0, TILE, 2 * TILE, 3 * TILE + 100):
        v, g, found = *rng.integers(-99, 99, (2, n)).astype(np.int32), np.full(n, 77, np.int32)
        scan(v, g, found)
        assert (found == (affine_from_the_end if backward else affine_after)(v, g)).all()


@pytest.mark.slow
def test_scans_of_one_loop_share_no_names() -> None:
    """Both forms, and one that goes backward: their texts, one behind the other, are one translation unit."""
    texts = [text_of(scanned("affine", backward), []) for backward in (False, True)]
    texts.append(text_of(device_scan(loops.affine), []))
    names = [
        set(re.findall(r"^namespace (\w+)|^(?:extern \"C\" )?__global__ .*?(\w+)\($", text, re.M)) for text in texts
    ]
    assert all(names) and not any(a & b for a, b in itertools.combinations(names, 2))


@pytest.mark.slow
def test_a_scan_from_the_end_is_right_in_every_schedule() -> None:
    """What a serial loop returns of each element and all behind it: the operands are those of the input's order."""
    scan = scanned("affine", True)
    (v, g), _ = run("affine")
    kernel = scan.kernels[True, "linked"].kernel
    assert not list(tried(kernel, (v, g), [affine_from_the_end(v, g)], MORE, backward=True))
    assert next(tried(kernel, (v, g), [affine_after(v, g)], FEW, backward=True), None)
    for name in ("best_run", "argmax"):
        scan = scanned(name, True)
        assert not list(tried(scan.kernels[True, "linked"].kernel, *random_run(scan), FEW, backward=True)), name


def test_names_of_arrays_are_what_c_has_for_nothing_else() -> None:
    """Words of C++, CUDA and Python, and names of the text's own."""

    @serial
    def dots(x: i32, f: i32, g: i32, k: i32):
        h = 0
        for double, threadIdx, last, range in zip(x, f, g, k):  # noqa: B905
            h += double * threadIdx + last * range
        return h

    assert list(Level.of_elements(scan_operator(dots)).given) == ["double_", "threadIdx_", "last", "range_2"]
    text = look_back_source(kernel_of(Level.of_elements(scan_operator(dots)), "linked"), backward=True).text
    assert "__restrict__ last_2" in text and "const long long last = " in text and "threadIdx_" in text


@pytest.mark.slow
def test_a_scan_in_one_pass_refuses_other_arrays() -> None:
    """Another form is one error, and so are arrays of another type."""
    scan = scanned("affine", True)
    with pytest.raises(SwizzleError) as error:
        device_scan(loops.affine, form="one-pass")  # type: ignore[arg-type]
    assert error.value.expected == "'three-pass' or 'look-back'"
    with pytest.raises(SwizzleError) as error:
        scan(np.zeros(2 * TILE, np.float32), *np.zeros((2, 2 * TILE), np.int32))
    assert error.value.found == "the array for v holds float32"


HOST = r"""
#include <cstdio>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#define __CUDACC__
enum cudaError_t { cudaSuccess, cudaErrorInvalidValue, cudaErrorInvalidConfiguration, cudaErrorMisalignedAddress };
typedef struct CUstream_st* cudaStream_t;
inline void said(const void* p) { std::printf(" %lld", (long long)(size_t)p); }
inline void said(long long n) { std::printf(" %lld", n); }
template <class... Ts> cudaError_t say(const char* name, Ts... all) {
  std::printf("%s", name); (said(all), ...); std::printf("\n"); return cudaSuccess;
}
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaMemsetAsync(void* p, int value, size_t bytes, cudaStream_t) {
  return say("zeros", p, (long long)value, (long long)bytes);
}
#define STUB(KIND) namespace swizzle_affine_##KIND { \
  template <class... T> cudaError_t launch_affine_##KIND(T... t) { return say(#KIND, t...); } }
STUB(first) STUB(tail)
"""


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")
@pytest.mark.parametrize("backward", [False, True])
def test_the_host_function_clears_what_is_told_and_hands_on_the_last_words(backward: bool, tmp_path: Path) -> None:
    """Zeros cover what must be zero, arrays lie apart in scratch memory, the rest goes on where whole parts end."""
    text = (
        text_of(scanned("affine", backward), [])
        .replace("affine_backward", "affine")
        .replace("affine_look_back", "affine")
    )
    host = text[text.rindex("namespace swizzle_affine {") :]
    launch = re.compile(r"swizzle_affine_parts::affine_parts<<<dim3\((.*?), 1, 1\), dim3\(128, 1, 1\), 0, stream>>>\(")
    host, count = launch.subn(r'say("look_back", \1, ', host)
    assert count == 1
    main_text = (
        "int main() { if (!swizzle_affine::scan((int*)16, (int*)16, (int*)16, 5000, (void*)4)) return 1;\n"
        "for (long long n : {100ll, 512ll, 512 * 4ll, 512 * 1000 + 7ll}) {\n"
        '  std::printf("n %lld %zu\\n", n, swizzle_affine::scratch_bytes(n));\n'
        "  if (swizzle_affine::scan((int*)(1ll << 44), (int*)(2ll << 44), (int*)(3ll << 44), n,"
        " (void*)(1ll << 50), nullptr)) return 1; }\n"
        f"  return {'0' if backward else '!swizzle_affine::scan((int*)4, (int*)16, (int*)16, 5000, nullptr)'}; }}\n"
    )
    file = tmp_path / "host.cpp"
    file.write_text(HOST + host + main_text)
    subprocess.run([str(COMPILER), "-std=c++17", "-Wall", "-Werror", "-o", tmp_path / "host", file], check=True)
    out = subprocess.run([tmp_path / "host"], check=True, capture_output=True, text=True).stdout
    lines = iter([line.split() for line in out.splitlines()])
    base, arrays = 1 << 50, [1 << 44, 2 << 44, 3 << 44]
    for n in (100, 512, 512 * 4, 512 * 1000 + 7):
        head, length, scratch = next(lines)
        assert (head, int(length)) == ("n", n)
        if n <= TILE:
            assert next(lines) == ["first", *map(str, arrays), str(n), "0"] and scratch == "0"
            continue
        parts, left = n // TILE, n % TILE
        zeros, launched = next(lines), [int(each) for each in next(lines)[1:]]
        assert zeros[:3] == ["zeros", str(base), "0"]
        assert launched[:4] == [parts, *(each + 4 * left * backward for each in arrays)]
        spoken = launched[4:]
        ends = [spoken[0] + 4, *(each + 4 * parts for each in spoken[1:6]), *(each + 4 for each in spoken[6:])]
        assert spoken[0] == base and all(each % 256 == 0 for each in spoken) and len(spoken) == 8
        assert all(end <= begin for end, begin in zip(ends, spoken[1:], strict=False))
        assert ends[1] <= base + int(zeros[3]) <= spoken[2] and ends[-1] <= base + int(scratch)
        if left:
            moved = [str(each if backward else each + 4 * (n - left)) for each in arrays]
            assert next(lines) == ["tail", *moved[:2], str(spoken[6]), str(spoken[7]), moved[2], str(left), "0"]
    assert next(lines, None) is None
