"""Printed expressions mean in C++ what the language says, with no more parentheses than needed.

Which variables of a kernel are `long long` in the text.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from cuda_out.c.expressions import ExpressionPrinter, wide_names
from cuda_out.c.helpers import coordinate_text, helper_text
from cuda_out.c.printer import print_cuda
from symbolic.ir import program as ir
from symbolic.ir.facts import Facts, Range, range_of
from symbolic.ir.program import DType, Expr
from symbolic.ir.walk import subexpressions
from tests.cuda_out.build import (
    F32,
    HERE,
    assign,
    data,
    kernel,
    load,
    loop,
    num,
    op,
    parameter,
    select,
    shuffle,
    store,
    un,
    var,
    where,
)
from tests.cuda_out.random_programs import random_condition, random_index
from tests.cuda_out.reference import Block

NAMES = ["a", "b", "c"]
FACTS: Facts = {"a": Range(0, 31), "b": Range(-20, 20), "c": Range(-100, -1)}


def printer(warp_size: int = 32, block: tuple[int, int, int] = (64, 1, 1)) -> ExpressionPrinter:
    program = kernel("k", [], [], block=block, warp_size=warp_size)
    names = {name: name for name in [*NAMES, "f", "x", "t", "big"]}
    shapes = {"x": (8, 4, 3), "big": (70000, 70000)}
    return ExpressionPrinter(names, shapes, coordinate_text(program), warp_size)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (op("+", op("*", "a", 2), "b"), "a * 2 + b"),
        (op("*", op("+", "a", 2), "b"), "(a + 2) * b"),
        (op("-", "a", op("-", "b", "c")), "a - (b - c)"),
        (op("-", op("-", "a", "b"), "c"), "a - b - c"),
        (op("*", "a", op("%", "a", 3)), "a * (a % 3)"),
        (op("%", "a", 3), "a % 3"),
        (op("//", "a", 3), "a / 3"),
        (op("%", "b", 32), "b & 31"),
        (op("//", op("-", "a", "b"), 8), "(a - b) >> 3"),
        (op("%", "b", 3), "floor_mod(b, 3)"),
        (op("//", "a", "b"), "floor_div(a, b)"),
        (un("-", un("-", "a")), "-(-a)"),
        (un("-", num(-1)), "-(-1)"),
        (op("-", "a", num(-1)), "a - -1"),
        (op("&", op("+", "a", 1), 3), "(a + 1) & 3"),
        (op("or", op("<", "a", 1), op("and", op("==", "b", 2), op("!=", "c", 3))), "a < 1 || (b == 2 && c != 3)"),
        (un("not", op("<", "a", "b")), "!(a < b)"),
        (op("+", select(op("<", "a", "b"), 1, 2), 1), "(a < b ? 1 : 2) + 1"),
        (select(op("<", "a", 1), 1, select(op("<", "b", 1), 2, 3)), "a < 1 ? 1 : b < 1 ? 2 : 3"),
        (select(op("<", "a", 1), select(op("<", "b", 1), 2, 3), 1), "a < 1 ? (b < 1 ? 2 : 3) : 1"),
        (select(op(">=", "b", 0), op("%", "b", 3), 0), "b >= 0 ? b % 3 : 0"),
        (op("min", op("+", "a", 1), "b"), "min(a + 1, b)"),
        (load("x", "a", op("+", "b", 1), 0), "x[(a * 4 + b + 1) * 3]"),
        (load("t", "a", op("+", "b", 1)), "t[a][b + 1]"),
        (load("big", "a", "a"), "big[static_cast<long long>(a) * 70000 + a]"),
        (op("min", var("f", F32), data(1.5)), "fminf(f, 1.5f)"),
        (un("abs", var("f", F32)), "fabsf(f)"),
        (ir.Cast(op("+", "a", 1), F32, HERE), "float(a + 1)"),
        (ir.Cast(var("a"), DType.U64, HERE), "static_cast<unsigned long long>(a)"),
        (shuffle(var("f", F32), op("+", "a", 1)), "__shfl_sync(0xffffffffu, f, a + 1)"),
        (ir.Shuffle("down", num(255), var("f", F32), num(1), F32, HERE), "__shfl_down_sync(0xffu, f, 1)"),
        (where("laneid"), "int(threadIdx.x % 32)"),
        (where("warpid"), "int(threadIdx.x / 32)"),
    ],
)
def test_the_text_of_an_expression(expr: Expr, expected: str) -> None:
    """Minimal parentheses, C's `/` and `%` only where nothing is negative."""
    assert printer().text(expr, FACTS) == expected


def test_small_warps_shuffle_with_a_width() -> None:
    """A warp of 8 lanes is a segment of the hardware's; lanes come from the linear thread index."""
    eight = printer(8, (4, 4, 2))
    assert eight.text(shuffle(var("f", F32), "a"), FACTS) == "__shfl_sync(0xffffffffu, f, a, 8)"
    linear = "(threadIdx.x + 4 * threadIdx.y + 16 * threadIdx.z)"
    assert eight.text(where("laneid"), FACTS) == f"int({linear} % 8)"
    assert eight.text(where("warpid"), FACTS) == f"int({linear} / 8)"
    assert printer(32, (1, 16, 1)).text(where("laneid"), FACTS) == "int(threadIdx.y)"


@pytest.mark.parametrize(
    ("divisor", "dtype", "product"),
    [
        (9, F32, "f * (1.0f / 9.0f)"),
        (-0.7, F32, "f * (1.0f / -0.7f)"),
        (9, DType.F64, "f * (1.0 / 9.0)"),
        (3, DType.F16, "__float2half(__half2float(f) * (1.0f / 3.0f))"),
        (8, F32, ""),
        (0, F32, ""),
        (1e39, F32, ""),  # infinity
        (3 * 2.0**125, F32, ""),  # its reciprocal is not normal
        (3 * 2.0**-130, F32, ""),
        (3 * 2.0**125, DType.F64, f"f * (1.0 / {3 * 2.0**125!r})"),
        (70000, DType.F16, ""),
    ],
)
def test_a_quotient_by_a_constant_is_a_product(divisor: float, dtype: DType, product: str) -> None:
    """Where the reciprocal is a normal number and the quotient not exact anyway; never where IEEE's is asked for."""
    quotient = op("/", var("f", dtype), data(divisor, dtype), dtype)
    found, plain = printer(), replace(printer(), ieee_division=True)
    assert " / " in plain.text(quotient, FACTS)
    assert found.text(quotient, FACTS) == (product or plain.text(quotient, FACTS))


def test_a_hole_is_never_printed() -> None:
    """Printing a hole is a bug, not a mistake of the user."""
    with pytest.raises(AssertionError, match="hole 0 is not filled"):
        printer().text(ir.HoleCall(0, (), DType.INDEX, HERE), FACTS)


def _fits(expr: Expr, block: Block) -> bool:
    """Say whether every part of the expression is a 32-bit integer in C++ too."""
    from symbolic.ir.walk import subexpressions

    for part in subexpressions(expr):
        value = block.values(part, [0])[0]
        if not -(2**31) < value < 2**31:
            return False
    return True


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ on this machine")
def test_printed_expressions_compute_what_python_computes(tmp_path: Path) -> None:
    """Three hundred random expressions, compiled in one batch, at 24 points each: C++ and Python agree."""
    random = Random(7)
    program = kernel("k", [], [], block=(1, 1, 1))
    points = [{name: random.randint(int(FACTS[name].lo), int(FACTS[name].hi)) for name in NAMES} for _ in range(24)]
    lines, expected = printer(), []
    functions: list[str] = []
    while len(functions) < 300:
        make = random_index if random.random() < 0.7 else random_condition
        expr = make(random, NAMES, 4)
        values = []
        for point in points:
            block = Block(program, (0, 0, 0), {})
            block.scalars[0] = dict(point)
            if not _fits(expr, block):
                break
            values.append(int(block.values(expr, [0])[0]))
        else:
            functions.append(f"int f{len(functions)}(int a, int b, int c) {{ return {lines.text(expr, FACTS)}; }}")
            expected.append(values)
    assert lines.helpers == {"floor_div", "floor_mod"}
    table = ", ".join(f"f{number}" for number in range(len(functions)))
    rows = ", ".join("{" + ", ".join(str(point[name]) for name in NAMES) + "}" for point in points)
    source = "\n".join([
        "#include <algorithm>\n#include <cstdio>\n#include <cstdlib>\nusing std::min; using std::max; using std::abs;",
        "#define __device__\n#define __forceinline__ inline",
        *helper_text(frozenset(lines.helpers)), *functions,
        f"int (*table[])(int, int, int) = {{{table}}};\nint points[][3] = {{{rows}}};",
        "int main() { for (auto f : table) {",
        "  for (auto& p : points) printf(\"%d \", f(p[0], p[1], p[2]));",
        "  puts(\"\"); } }",
    ])  # fmt: skip
    path = tmp_path / "expressions.cpp"
    path.write_text(source)
    # -Wparentheses is what a reader would stumble over, too.
    flags = ["-std=c++17", "-O0", "-Wall", "-Wno-unused-parameter", "-Wno-div-by-zero", "-Wno-bool-compare", "-Werror"]
    flags += ["-Wno-tautological-compare", "-Wno-int-in-bool-context", "-Wno-unused-function"]
    done = subprocess.run(["g++", *flags, str(path), "-o", str(tmp_path / "run")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
    out = subprocess.run([str(tmp_path / "run")], capture_output=True, text=True, check=True).stdout
    for number, (line, values) in enumerate(zip(out.splitlines(), expected, strict=True)):
        assert [int(word) for word in line.split()] == values, functions[number]


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ on this machine")
def test_indices_beyond_an_int_are_computed_in_64_bits(tmp_path: Path) -> None:
    """Three hundred random expressions of large numbers: the sanitizer finds no overflow, C++ and Python agree."""
    random = Random(11)
    program = kernel("k", [], [], block=(1, 1, 1))
    facts: Facts = {"a": Range(0, 2**31 - 1), "b": Range(-(2**31), 2**31 - 1), "c": Range(-(2**40), 2**40)}
    points = [{name: random.randint(int(facts[name].lo), int(facts[name].hi)) for name in NAMES} for _ in range(8)]
    points += [{name: int(end(facts[name])) for name in NAMES} for end in (lambda r: r.lo, lambda r: r.hi)]
    lines = replace(printer(), wide=frozenset({"c"}))
    functions: list[str] = []
    expected = []
    while len(functions) < 300:
        expr = random_index(random, NAMES, 3)
        reach = [range_of(part, facts) for part in subexpressions(expr) if part.dtype is DType.INDEX]
        if not all(each.within(-(2**62), 2**62) for each in reach):
            continue
        block = Block(program, (0, 0, 0), {})
        values = []
        for point in points:
            block.scalars[0] = dict(point)
            values.append(int(block.values(expr, [0])[0]))
        text = lines.text(expr, facts)
        functions.append(f"long long f{len(functions)}(int a, int b, long long c) {{ return {text}; }}")
        expected.append(values)
    table = ", ".join(f"f{number}" for number in range(len(functions)))
    rows = ", ".join("{" + ", ".join(f"{point[name]}ll" for name in NAMES) + "}" for point in points)
    source = "\n".join([
        "#include <algorithm>\n#include <cstdio>\n#include <cstdlib>\nusing std::min; using std::max; using std::abs;",
        "#define __device__\n#define __forceinline__ inline",
        *helper_text(frozenset(lines.helpers)), *functions,
        f"long long (*table[])(int, int, long long) = {{{table}}};\nlong long points[][3] = {{{rows}}};",
        "int main() { for (auto f : table) {",
        "  for (auto& p : points) printf(\"%lld \", f(int(p[0]), int(p[1]), p[2]));",
        "  puts(\"\"); } }",
    ])  # fmt: skip
    path = tmp_path / "wide.cpp"
    path.write_text(source)
    flags = ["-std=c++17", "-O0", "-w", "-fsanitize=signed-integer-overflow", "-fno-sanitize-recover=all"]
    done = subprocess.run(["g++", *flags, str(path), "-o", str(tmp_path / "run")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
    ran = subprocess.run([str(tmp_path / "run")], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[:2000]
    for number, (line, values) in enumerate(zip(ran.stdout.splitlines(), expected, strict=True)):
        assert [int(word) for word in line.split()] == values, functions[number]


SIGNED = {DType.I32: ("int", 32), DType.I64: ("long long", 64)}


def signed_expression(random: Random, dtype: DType, depth: int) -> Expr:
    """Return arithmetic that overflows on large numbers."""
    if depth == 0 or random.random() < 0.1:
        leaf = random.choice([-3, -1, 0, 1, 2, 7, 2**31 - 1, None, None, None, None])
        return ir.Var(random.choice("ab"), dtype, HERE) if leaf is None else ir.Const(leaf, dtype, HERE)
    left = signed_expression(random, dtype, depth - 1)
    name = random.choice(["+", "-", "*", "+", "-", "*", "&", "^", "|", "<<", ">>", "min", "neg", "~", "abs"])
    match name:
        case "neg" | "~" | "abs":
            return ir.Unary("-" if name == "neg" else name, left, dtype, HERE)  # type: ignore[arg-type]
        case "<<" | ">>":
            return ir.Binary(name, left, ir.Const(random.randint(0, 9), dtype, HERE), dtype, HERE)
        case _:
            right = signed_expression(random, dtype, depth - 1)
            return ir.Binary(name, left, right, dtype, HERE)  # type: ignore[arg-type]


def wrapped(expr: Expr, values: dict[str, int], bits: int) -> int:
    """Evaluate in two's complement, in Python's integers."""

    def fit(value: int) -> int:
        return (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)

    match expr:
        case ir.Var(name=name):
            return values[name]
        case ir.Const(value=value):
            return int(value)
        case ir.Unary(op=op, operand=operand):
            inner = wrapped(operand, values, bits)
            return fit({"-": -inner, "~": ~inner, "abs": abs(inner)}[op])
        case ir.Binary(op=op, left=left, right=right):
            a, b = wrapped(left, values, bits), wrapped(right, values, bits)
            functions = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__, "&": int.__and__, "|": int.__or__}
            functions |= {"^": int.__xor__, "<<": int.__lshift__, ">>": int.__rshift__, "min": min}
            return fit(functions[op](a, b))
    raise AssertionError(expr)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ on this machine")
def test_signed_data_wraps_without_undefined_behaviour(tmp_path: Path) -> None:
    """Three hundred random expressions at the ends of i32 and i64: the sanitizer finds nothing, the numbers wrap."""
    random = Random(3)
    functions, calls, expected = [], [], []
    lines = printer()
    for number in range(300):
        dtype = random.choice(list(SIGNED))
        spelled, bits = SIGNED[dtype]
        expr = signed_expression(random, dtype, 4)
        text = lines.text(expr, {})
        functions.append(f"{spelled} f{number}({spelled} a, {spelled} b) {{ return {text}; }}")
        ends = [-(2 ** (bits - 1)), -(2 ** (bits - 1)) + 1, -1, 0, 1, 12345, 2 ** (bits - 1) - 1]
        for a, b in ((random.choice(ends), random.choice(ends)) for _ in range(4)):
            low = f"({a + 1}ll - 1)" if a == -(2**63) else f"{a}ll"
            other = f"({b + 1}ll - 1)" if b == -(2**63) else f"{b}ll"
            calls.append(f'printf("%lld\\n", (long long)f{number}({low}, {other}));')
            expected.append(wrapped(expr, {"a": a, "b": b}, bits))
    assert "wrapping_abs" in lines.helpers
    source = "\n".join([
        "#include <algorithm>\n#include <cstdio>\nusing std::min;",
        "#define __device__\n#define __forceinline__ inline",
        *helper_text(frozenset(lines.helpers)), *functions, "int main() {", *calls, "}",
    ])  # fmt: skip
    path = tmp_path / "signed.cpp"
    path.write_text(source)
    flags = ["-std=c++17", "-O0", "-fsanitize=undefined", "-fno-sanitize-recover=all"]
    done = subprocess.run(["g++", *flags, str(path), "-o", str(tmp_path / "run")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
    ran = subprocess.run([str(tmp_path / "run")], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[:2000]
    assert [int(line) for line in ran.stdout.splitlines()] == expected


def test_only_what_may_leave_an_int_is_wide() -> None:
    """A product beyond an int, what is made of it, and a loop that runs beyond; not what is reduced again or small."""
    program = kernel(
        "k",
        [parameter("y", 128, role="out")],
        [
            assign("small", op("*", where("threadIdx"), 1000)),
            assign("large", op("*", op("*", "small", "small"), 1000)),
            assign("more", op("+", "large", 1)),
            loop("v", 2**33, store("y", op("+", op("%", "more", 64), op("%", "v", 2)), data(1.0)), step=2**32),
        ],
    )
    assert wide_names(program) == {"large", "more", "v"}
    text = print_cuda(program).text
    assert "const int small = int(threadIdx.x) * 1000;" in text
    assert "const long long large = static_cast<long long>(small) * small * 1000;" in text
    assert "for (long long v = 0; v < 8589934592ll; v += 4294967296ll) {" in text
