"""Every block of every length at once: index values against numbers, right texts proved, wrong ones not."""

from __future__ import annotations

import doctest
import random
import re
from functools import lru_cache

import numpy as np
import pytest
from msgspec.structs import replace as replaced

from cuda_out.c.printer import CudaSource
from cuda_out.compile.opaque import with_opaque_calls
from cuda_out.compile.toolchain import available_tools, compile_to_ptx
from cuda_out.ptx.every_length.tiles import TileValidator
from cuda_out.ptx.every_length.windows import NotTiled
from cuda_out.ptx.instructions import indices
from cuda_out.ptx.instructions.indices import Case, Indices, Polynomial, Total, Value, show
from cuda_out.ptx.instructions.table import decode
from cuda_out.ptx.kinds import typed, untyped, width
from cuda_out.ptx.running.validate import Validation, Validator, WrittenOut
from cuda_out.ptx.syntax import NotInterpreted
from cuda_out.tiling.tiling import Tiling
from swizzle.answers.checking.trial import LaunchSize, sizes_to_try
from swizzle.answers.emit.emitters import cuda_source
from tests.cuda_out.ptx.kernels import filled_kernel
from tests.slow_cases import slow_unless

MOST = {"a": 2**31 - 2, "b": 65534, "c": 64 * (2**31 - 1), "d": 1000}
TYPES = ("s32", "u32", "s64", "u64")
OPERATIONS = [
    *(f"{op}.{kind}" for op in ("add", "sub", "min", "max", "mul.lo", "mad.lo") for kind in TYPES),
    *(f"{op}.wide.{kind}" for op in ("mul", "mad") for kind in ("s32", "u32")),
    *(f"setp.{op}.{kind}" for op in ("lt", "le", "gt", "ge", "eq", "ne") for kind in TYPES),
    *(f"setp.{op}.and.s64" for op in ("lt", "ge")), "setp.eq.b32", "setp.ne.b64", "neg.s32", "neg.s64",
    "not.b32", "not.b64", "selp.b32",
    *(f"{op}.{kind}" for op in ("and", "or", "xor", "shl") for kind in ("b32", "b64")),
    *(f"shr.{kind}" for kind in ("s32", "u32", "s64", "u64", "b64")),
    *(f"cvt.{a}.{b}" for a in TYPES for b in TYPES if a != b),
]  # fmt: skip


def at(found: Polynomial, where: dict[str, int]) -> int:
    """Return a polynomial's value."""
    return sum(c * int(np.prod([where[name] for name in m], dtype=object)) for m, c in found.items())


@pytest.mark.sampled(28)
@pytest.mark.parametrize("name", OPERATIONS)
def test_index_values_have_the_values_of_numbers(name: str) -> None:
    """Whatever is said of polynomials holds for numbers in their place, at the ends of their ranges too."""
    rng, operation, said = random.Random(name), decode(tuple(name.split("."))), 0
    table = Indices(MOST)
    monomials = [("a",), ("b",), ("c",), ("a", "b"), ("d",), ("d",), ("d", "d")]
    for _ in range(150 if name.startswith("shr") else 60):
        row: list[Value] = []
        for place, kind in enumerate(operation.sources):
            size = width(kind)
            power = 1 << rng.randrange(7)
            number = rng.choice((rng.randrange(64), power, power - 1, -power))
            if kind == "pred" or (place == 1 and name.startswith("sh")) or rng.random() < 0.3:
                row.append((number & (1 << max(size, 1)) - 1, 0))
                continue
            found = {m: rng.choice((1, 4, 64, -1, -64, 256, 3)) for m in rng.sample(monomials, rng.choice((1, 1, 2)))}
            row.append(table.value({**found, **({(): number} if number else {})}, size))
        if not any(number for _, number in row):
            continue
        try:
            value = table.evaluate(operation, row)
        except NotInterpreted:
            continue
        if value[1] and "undecided" in show(table.polynomial(value, 8 if operation.result == "pred" else 64)):
            continue  # a comparison, or which is the lesser, is not decided
        said += 1
        for _ in range(12):
            where = {n: rng.choice((0, 1, most, most - 1, rng.randint(0, most))) for n, most in MOST.items()}
            bits = [at(table.polynomial(each), where) & (1 << 64) - 1 for each in row]
            given = [typed(np.array([b], np.uint64), k) for b, k in zip(bits, operation.sources, strict=True)]
            with np.errstate(all="ignore"):
                want = int(untyped(operation.compute(*given), operation.result)[0])
            size = width(operation.result)
            found = table.polynomial(value, max(size, 8)) if operation.result != "pred" else {}
            for wraps in {m[0] for m in found if m and m[0] not in MOST}:  # there must be one number that it may be
                rest = at({m: c for m, c in found.items() if m != (wraps,)}, where)
                where[wraps] = ((want - rest) % (1 << size)) // found[wraps,]
                assert where[wraps] <= table.most[wraps], (name, row, where)
            got = at(found, where) if operation.result != "pred" else value[0]
            assert got & (1 << size) - 1 == want & (1 << size) - 1, (name, row, where)
    assert said >= 3, name


def test_a_comparison_that_is_not_decided_may_not_matter() -> None:
    """Joined with what decides without it; else it stays open, with its reason."""
    table = Indices(MOST)
    wide = table.value({("c",): 1, (): 64}, 32)
    undecided = table.evaluate(decode(("setp", "ge", "s32")), [wide, (3, 0)])
    for op, decides in (("and", 0), ("or", 1)):
        join = decode((op, "pred"))
        for row in ([undecided, (decides, 0)], [(decides, 0), undecided]):
            assert table.evaluate(join, row) == (decides, 0)
        for row in ([undecided, (1 - decides, 0)], [undecided, undecided]):
            assert table.evaluate(join, row) == undecided
    assert "may leave s32" in show(table.polynomial(undecided, 8))
    joined = table.evaluate(decode(("setp", "lt", "and", "s64")), [(1, 0), (2, 0), undecided])
    assert joined[1] and "may leave s32" in show(table.polynomial(joined, 8))


def test_low_bits_are_read_of_what_may_wrap() -> None:
    """A wider number from 32 bits that may wrap is open, but its low bits are not; two readings of it are the same."""
    table = Indices(MOST)
    begin = table.value({("a",): 1024}, 32)
    wide = table.evaluate(decode(("cvt", "u64", "u32")), [begin])
    again = table.evaluate(decode(("cvt", "u64", "u32")), [begin])
    assert wide == again and wide != begin
    left = table.evaluate(decode(("sub", "s64")), [table.value({("a",): 1024, (): 7}), wide])
    assert table.evaluate(decode(("cvt", "u32", "u64")), [left]) == (7, 0)
    assert table.evaluate(decode(("setp", "lt", "s64")), [left, (1000, 0)])[1] > 0  # not decided


def test_examples_of_polynomials() -> None:
    assert doctest.testmod(indices).failed == 0


TURNED = """\
@spec
def turned_spec(x):
    return [[x[i][j] for i in range(len(x))] for j in range(len(x[0]))]

@sketch(spec=turned_spec, block=(16, 16), grid=(2, 2), x=f32[32, 32], y=f32.out[32, 32])
def turned(x, y):
    tile = cuda.shared.array((16, 17), f32)
    tx, ty, bx, by = cuda.threadIdx.x, cuda.threadIdx.y, 16 * cuda.blockIdx.x, 16 * cuda.blockIdx.y
    tile[ty, tx] = x[by + ty, bx + tx]
    cuda.syncthreads()
    y[bx + ty, by + tx] = tile[tx, ty]
"""

HALVES = """\
@spec
def halves_spec(a, x, y, b):
    return [a * x[i] + y[i] for i in range(len(x))], [b[i] for i in range(len(b))]

@sketch(spec=halves_spec, block=16, grid=2, a=f16.scalar, x=f16[256], y=f16[256], b=bf16[256], z=f16.out[256],
        c=bf16.out[256])
def halves(a, x, y, b, z, c):
    i = cuda.grid(1) * 8
    for e in range(8):
        z[i + e] = a * x[i + e] + y[i + e]
    mine = cuda.local.array(8, bf16)
    for e in range(8):
        mine[e] = b[i + e]
    for e in range(8):
        c[i + e] = mine[e]
"""
TEXTS = {"turned": TURNED, "halves": HALVES}


@lru_cache
def printed(target: str, **parameters: int) -> tuple[CudaSource, tuple[LaunchSize, ...], TileValidator]:
    filled = filled_kernel(target, TEXTS, **parameters)
    source = cuda_source(filled.program, filled.head, filled.sizes)
    sizes = sizes_to_try(filled, source)
    assert source.tiling is not None
    meaning = sizes[0].meaning
    written = WrittenOut(meaning.terms, filled.program.parameters)
    return source, sizes, TileValidator(filled.program, source.tiling, meaning.wanted, written, source.alignment)


def verdict(target: str, old: str, new: str, arch: str = "sm_80") -> Validation:
    """Validate a printed text with one change, for every length; it is always an equal one at the sketch's own."""
    source, sizes, tiles = printed(target)
    text, count = re.subn(old, new, source.text)
    assert count, source.text
    ptx = compile_to_ptx(with_opaque_calls(text), arch)
    found = tiles.validate(ptx, source.entry)
    if found.verdict == "equal":  # then also at any size, by the other way of looking at it
        for size in sizes[:4]:
            program, meaning = size.filled.program, size.meaning
            one = Validator(program, meaning.wanted, WrittenOut(meaning.terms, program.parameters))
            assert one.validate(ptx, source.entry, size.lengths).verdict == "equal"
    return found


def test_what_is_known_of_two_variables_together() -> None:
    """The bounds of a sum hold, and its corners are reached, as far as whole numbers reach them."""
    rng, most = random.Random(1), {"block": 5, "rest": 40}
    for _ in range(300):
        times, second = rng.choice((1, 4, 7)), rng.choice(("rest", ""))
        last = times * most["block"] + (most["rest"] if second else 0)
        low = rng.randint(0, last)
        high = rng.choice((None, rng.randint(low, last)))
        a, b = rng.choice((0, 1, times, -times, 12, -3)), rng.choice((0, 1, -1, 5)) if second else 0
        values = [
            a * x + b * y
            for x in range(most["block"] + 1)
            for y in range((most["rest"] if second else 0) + 1)
            if low <= times * x + y and (high is None or times * x + y <= high)
        ]
        if values:
            least, greatest = Total("block", second, times, low, high).between(a, b, most)
            assert least <= min(values) and max(values) <= greatest
            if second and (a, b) == (times, 1):
                assert (least, greatest) == (min(values), max(values))


def test_a_case_decides_what_is_open_without_it() -> None:
    """A length below a border, and the product with it that fits 32 bits; above it neither is so."""
    total = ("block", "rest", 16)
    cases = [Case(totals=each) for each in ((), (Total(*total, 0, 95),), (Total(*total, 96, None),))]
    table = Indices({"block": 2**31 - 1, "rest": 2**35}, cases)
    length = table.value({(): 4, ("block",): 16, ("rest",): 1})
    below, twice = decode(("setp", "le", "s64")), decode(("mul", "wide", "s32"))
    assert table.evaluate(below, [length, (99, 0)])[1] > 0  # not decided
    assert [table.evaluate(below, [length, (99, 0)], case) for case in (1, 2)] == [(1, 0), (0, 0)]
    assert table.evaluate(twice, [length, (20_000_000, 0)], 1)[1] > 0
    with pytest.raises(NotInterpreted, match="may leave s32"):
        table.evaluate(twice, [length, (2, 0)], 2)


needs_cuda = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")


@needs_cuda
@pytest.mark.parametrize(
    ("target", "arch"),
    slow_unless(
        (
            (target, arch)
            for target in ("conv1d", "stencil2d", "conv2d", "transpose", "aos_sum:crc", "mult32:shared", *TEXTS)
            for arch in ("sm_75", "sm_100")
        ),
        {("conv1d", "sm_75"), ("turned", "sm_100"), ("halves", "sm_100")}.__contains__,
    ),
)
def test_printed_texts_are_proved(target: str, arch: str) -> None:
    source, _, tiles = printed(target)
    found = tiles.validate(compile_to_ptx(with_opaque_calls(source.text), arch), source.entry)
    assert (found.verdict, found.findings, found.everywhere) == ("equal", (), True)


RIGHT = [
    ("conv1d", r"blockIdx.x \* 64ll", "((long long)blockIdx.x << 6)"),
    ("conv1d", r"n - begin < 64 \? int\(n - begin\) : 64", "int(min(n - begin, 64ll))"),
    ("conv1d", r"(\w+) < left \+ 2", r"!(left + 2 <= \1)"),
    ("conv1d", r"i < left\) y", "begin + i < n) y"),
    ("conv1d", r"y\[begin", "y[blockIdx.x * 60ll + 4ull * blockIdx.x"),
    ("stencil2d", r"\(ty < left_y && ", "(begin_y + ty < n_y && "),
    ("conv1d", r"int\(n - begin\) >= 94", "begin + 93 < n"),
    ("conv1d", r"known<true>", "known<false>"),
    ("stencil2d", r"n_x <= (\d+)", r"!(n_x - 1 >= \1)"),
    ("stencil2d", r"int\(x_1\), int\(y_1\)", "x_1, int(y_1)"),
    ("turned", r"ty < left_x && tx < left_y", "ty < min(left_x, 16) && tx - left_y < 0"),
]
WRONG = [
    ("conv1d", r"blockIdx.x \* 64ll", "(blockIdx.x & 3) * 64ll", "and of"),
    ("conv1d", r"blockIdx.x \* 64ll", "blockIdx.x * 64", "as u32"),
    ("conv1d", r"blockIdx.x \* 64ll", "(int)(blockIdx.x * 64)", "as s32"),
    ("conv1d", r"y\[begin", "y[(begin & 0xffffffffll)", "and of"),
    ("conv1d", r"y\[begin", "y[begin + 1", "out of bounds|is not in it"),
    ("conv1d", r"y\[begin \+ i", "y[i", "is not moved|not moved with its block"),
    ("conv1d", r"y\[begin", "y[blockIdx.x * 63ll", "not moved with its block"),
    ("conv1d", r"x\[begin", "x[blockIdx.x * 32ll", "not moved with its block"),
    ("conv1d", r"i < left\)", "i < left - (left == 37))", r"37 left along x, y\[36\] is never written"),
    ("conv1d", r"i < left\)", "i < left + (left == 17))", r"element \[17\] .* out of bounds"),
    ("conv1d", r"i < left\)", "i < left || left == 63)", "out of bounds"),
    ("conv1d", r"(\w+) < left \+ 2", r"\1 < left + 3", "out of bounds"),
    ("conv1d", r"(\w+) < left \+ 2", r"\1 < left + 2 - (left == 5)", "5 left along x"),
    ("conv1d", r"int\(n - begin\) : 64", "int(n - begin) : 63", "never written"),
    ("conv1d", r"i < left\)", "i < left && n < (1ll << 33))", "whether"),
    ("conv1d", r"i < left\)", "i < left && blockIdx.x != 70000)", "whether"),
    ("conv1d", r" = out", " = blockIdx.x == 5 ? 0.0f : out", "whether"),
    ("conv1d", r" = out", " = gridDim.x == 5 ? 0.0f : out", "the number of blocks"),
    ("conv1d", r" = out", " = int(blockIdx.x)", "of a block's number"),
    ("stencil2d", r"blockIdx.x \* (\d+)ll", r"blockIdx.y * \1ll", "not moved|whether|min of"),
    ("stencil2d", r"const long long (\w+) = n_x", r"const int \1 = n_x", "address of x"),
    ("stencil2d", r"const long long (\w+) = n_x", r"const long long \1 = 1 + n_x", "not moved|is not in it"),
    ("stencil2d", r"ty < left_y && ", "", "out of bounds|is not in it"),
    ("stencil2d", r"ty < left_y && ", "ty < left_y + (left_x == 3) && ", "out of bounds|is not in it"),
    ("stencil2d", r"ty < left_y && ", "ty < left_y - (left_x == 3 && left_y == 2) && ",
     "3 left along x, 2 left along y"),
    ("conv1d", r"n - begin\) >= 94", "n - begin) >= 93", "whether"),
    ("conv1d", r"n - begin\) >= 94", "n - begin) < 94", "whether"),
    ("conv1d", r"int\(n - begin\) >= 94", "n >= 94", "may leave u64"),
    ("conv1d", r" && n <= 2147483645", "", "may leave s32"),
    ("conv1d", r"n <= 2147483645", "n <= 2147483648", "whether|may leave s32"),
    ("conv1d", r"i < left\)", "i < left && ((unsigned long long)y & 256) == 0)", "of the address of y"),
    ("conv1d", r"known<false>", "known<true>", "out of bounds"),
    ("conv1d", r"whole \|\| i < left", "whole", "never written"),
    ("stencil2d", r" && n_y - begin_y >= 6", "", "out of bounds"),
    ("stencil2d", r"n_x - begin_x >= 22 &&", "n_x - begin_x >= 22 ||", "is not in it|address of x|whether"),
    ("stencil2d", r" && n_x <= \d+", "", "address of x"),
    ("stencil2d", r"n_x <= \d+", "n_x <= 2147483647", "may leave s32|whether"),
    ("stencil2d", r"n_x <= (\d+)", r"n_x <= 1 + \1", "whether"),
    ("stencil2d", r"int\(x_1\), int\(y_1\)", "int(y_1), int(x_1)", "not moved|is not in it|out of bounds"),
    ("stencil2d", r"int\(x_1\), int\(y_1\)", "short(x_1), int(y_1)", "not moved with its block"),
    ("turned", r"ty < left_x && tx < left_y", "ty < left_x && tx < left_y && (left_x != 7 || left_y != 5 || tx)",
     r"7 left along x, 5 left along y, y\[0, 0\] is never written"),
    ("turned", r"ty < left_x && tx < left_y", "ty < left_x && tx < left_x", "out of bounds|is not in it"),
    ("turned", r"n_x <= \d+ && ", "", "address of|may leave"),
    ("turned", r"int\(y_1\)\)", "int(x_1))", "not moved"),
    ("halves", r"x_4\.y", "x_4.z", "the specification"),
    ("halves", r"(ushort4\(__bfloat16_as_ushort\(mine\[v \* 4)\]", r"\1 + 1]", "the specification"),
]  # fmt: skip


@pytest.mark.sampled(4)
@needs_cuda
@pytest.mark.parametrize(
    ("target", "old", "new"), slow_unless(RIGHT, lambda case: case[0] != "stencil2d" or "left_y" in case[1])
)
def test_other_words_for_the_same_are_proved(target: str, old: str, new: str) -> None:
    found = verdict(target, old, new)
    assert (found.verdict, found.findings) == ("equal", ())


@pytest.mark.sampled(14)
@needs_cuda
@pytest.mark.parametrize(
    ("target", "old", "new", "complaint"),
    slow_unless(WRONG, lambda case: case[0] != "stencil2d" or case[3].startswith(("3 left", "not moved"))),
)
def test_what_goes_wrong_somewhere_is_not(target: str, old: str, new: str, complaint: str) -> None:
    """At one remainder, at a huge block, at one block, in another type: none is equal."""
    found = verdict(target, old, new)
    assert found.verdict != "equal" and re.search(complaint, found.findings[0]), found


def test_what_cannot_be_looked_at_is_said() -> None:
    """A sketch of less than a block, and a grid with blocks along another axis."""
    _, sizes, tiles = printed("conv1d")
    program, written = sizes[0].filled.program, tiles.written
    with pytest.raises(NotTiled, match="along an axis that is not tiled"):
        TileValidator(replaced(program, grid=(2, 2, 1)), tiles.tiling, tiles.wanted, written)
    with pytest.raises(NotTiled, match="smaller than what one block sees"):
        small = tiles.tiling.at(program, {"x": 5})
        TileValidator(small, Tiling(tiles.tiling.axes, tiles.tiling.spans), tiles.wanted, written)
