"""mma, ldmatrix, stmatrix and movmatrix in sketches, in all that a kernel becomes."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
from msgspec.structs import replace

from cuda_out.compile.toolchain import available_tools, compile_to_ptx, least_architecture
from cuda_out.passes.printed_accesses import printed_moves
from cuda_out.ptx.running.validate import Validator, WrittenOut
from swizzle import Sketch, SwizzleError, solve
from swizzle.answers.checking.trial import compare, on_cpu, sizes_to_try
from swizzle.answers.checking.validator import numeric_difference
from swizzle.answers.emit.emitters import cuda_source, numba_source
from swizzle.answers.emit.filled import FilledKernel
from swizzle.answers.explain.explain import explain
from swizzle.language.specs.specification import Meaning
from swizzle.language.specs.verify import explain_mismatch, run_canonical, verify
from swizzle.solving.audit.second_count import extra_turns
from swizzle.solving.costs.cost import Filled
from swizzle.solving.costs.counted import Conflicts
from swizzle.solving.problem.problem import Problem
from swizzle.solving.solution.solution import Limits
from symbolic.algebra.terms import Terms
from symbolic.ir.program import Program, WarpInstruction
from symbolic.machine.accesses import BANKS, WORD
from tests.sketches import sketch_of

needs_gcc = pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="no C++ compiler")
needs_cuda = pytest.mark.skipif(not available_tools(), reason="neither nvcc nor NVRTC is installed")

PRODUCT = """\
@spec
def product_spec(x, w):
    return [[sum({a} * {b} for k in range({k})) for n in range(8)] for r in range({m})]

K = {k} // {packed}

@sketch(spec=product_spec, block=32, x={held}[{m}, K], w={held}[8, K], y={total}.out[{m}, 8])
def product(x, w, y):
    a = cuda.fragment("A", "m{m}n8k{k}", {held})
    b = cuda.fragment("B", "m{m}n8k{k}", {held})
    c = cuda.fragment("C", "m{m}n8k{k}", {total})
    g, t = cuda.laneid // 4, cuda.laneid % 4
    for i in range({m} * {k} // {packed} // 32):
        a[i] = x[g + 8 * (i // {per} % ({m} // 8)), i // ({per} * ({m} // 8)) * {per} * 4 + {per} * t + i % {per}]
    for i in range(8 * {k} // {packed} // 32):
        b[i] = w[g, i // {per} * {per} * 4 + {per} * t + i % {per}]
    cuda.mma("m{m}n8k{k}", a, b, c)
    for i in range({m} // 4):
        y[g + 8 * (i // 2), 2 * t + i % 2] = c[i].value
"""
TYPES = [
    ("f16", "f32", 16, 16), ("f16", "f16", 16, 16), ("bf16", "f32", 16, 16), ("f16", "f32", 16, 8),
    ("f32", "f32", 16, 8), ("f64", "f64", 8, 4), ("i8", "i32", 16, 32), ("u8", "i32", 16, 32), ("i32", "i32", 16, 64),
    ("u32", "i32", 8, 32),
]  # fmt: skip


def product(held: str, total: str, m: int, k: int) -> Sketch:
    """Return a sketch of one product; words of i32 and u32 hold eight numbers of four bits each, the lowest first."""
    packed = 8 if held in ("i32", "u32") else 1
    bits = {"f16": 16, "bf16": 16, "i8": 8, "u8": 8, "f64": 64}.get(held, 32)
    factors = {"a": "x[r, k]", "b": "w[n, k]"}
    if packed > 1:
        digit = "(({} << (28 - 4 * (k % 8))) >> 28)" if held == "i32" else "i32(({} >> (4 * (k % 8))) & 15)"
        factors = {"a": digit.format("x[r, k // 8]"), "b": digit.format("w[n, k // 8]")}
    return sketch_of(PRODUCT.format(held=held, total=total, m=m, k=k, packed=packed, per=max(1, 32 // bits), **factors))


def equal(sketch: Sketch) -> bool:
    return verify(sketch.program, sketch.spec).equal


@pytest.mark.parametrize(("held", "total", "m", "k"), TYPES)
def test_a_product_is_the_specifications(held: str, total: str, m: int, k: int) -> None:
    """Every shape and type of the table multiplies what its fragments hold."""
    assert equal(product(held, total, m, k))


CHANGED = [
    ("a[i] = x[g +", "a[i ^ 1] = x[g +"), ("a[i] = x[g + 8 * (i", "a[i] = x[g + 8 * (i + {per}"),
    ("b[i] = w[g", "b[i] = w[g ^ 1"), ("y[g + 8 * (i // 2), 2 * t + i % 2]", "y[g + 8 * (i // 2), 2 * t + 1 - i % 2]"),
    ("{per} * t + i % {per}]\n    for i in range(8", "{per} * (t ^ 1) + i % {per}]\n    for i in range(8"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), CHANGED)
def test_an_element_elsewhere_is_seen(old: str, new: str) -> None:
    """Registers, rows or columns exchanged give another product."""
    sizes = {"held": "f16", "total": "f32", "m": 16, "k": 16, "packed": 1, "per": 2}
    text = PRODUCT.format(**sizes, a="x[r, k]", b="w[n, k]")
    changed = text.replace(old.format(**sizes), new.format(**sizes))
    assert changed != text
    assert not equal(sketch_of(changed))


def emulated(sketch: Sketch) -> bool:
    """Say whether the printed text, run on the CPU, gives the specification's numbers without a mistake."""
    filled = FilledKernel(sketch.program, sketch.spec, ())
    source = cuda_source(sketch.program)
    return compare(sizes_to_try(filled, source), on_cpu(source), 0).status == 0


def validated(sketch: Sketch, architecture: str = "") -> str:
    """Return what PTX's meaning says of the printed text."""
    source = cuda_source(sketch.program)
    meaning = Meaning.of(sketch.program, sketch.spec)
    written = WrittenOut(meaning.terms, sketch.program.parameters)
    validator = Validator(sketch.program, meaning.wanted, written, source.alignment)
    least, _ = least_architecture(source.text)
    return validator.validate(compile_to_ptx(source.text, architecture or least), source.entry).verdict


QUICK = ("f16", "f32", 16, 16)
EVERY = [pytest.param(*each, marks=[] if each == QUICK else [pytest.mark.slow]) for each in TYPES]


@needs_gcc
@pytest.mark.parametrize(("held", "total", "m", "k"), EVERY)
def test_the_printed_text_multiplies(held: str, total: str, m: int, k: int) -> None:
    """The emulation reads each product by formulas of its own."""
    assert emulated(product(held, total, m, k))


@needs_cuda
@pytest.mark.parametrize(("held", "total", "m", "k"), EVERY)
def test_the_ptx_multiplies(held: str, total: str, m: int, k: int) -> None:
    """Inline PTX of each product has the table's meaning to the interpreter of PTX."""
    assert validated(product(held, total, m, k)) == "equal"


MOVES = """\
@spec
def moved_spec(x):
    return [[x[{source}] for c in range({per} * 4)] for r in range({rows})]

@sketch(spec=moved_spec, block=32, x={dtype}[{rows}, {per} * 4], y={dtype}.out[{rows}, {per} * 4])
def moved(x, y):
    tile = cuda.shared.array(({rows}, {per} * 4), {dtype})
    back = cuda.shared.array(({rows}, {per} * 4), {dtype})
    a = cuda.local.array({per} * {count}, {dtype})
    lane = cuda.laneid
    for r in range({rows}):
        if lane < {per} * 4:
            tile[r, lane] = x[r, lane]
    cuda.syncthreads()
    cuda.ldmatrix(a, tile[lane % {rows}, 0]{load})
    {between}
    {put}
    cuda.syncthreads()
    for r in range({rows}):
        if lane < {per} * 4:
            y[r, lane] = back[r, lane]
"""
STORED = "cuda.stmatrix(a, back[lane % {rows}, 0]{store})"
BY_HAND = """\
for j in range({count}):
        for i in range({per}):
            back[8 * j + lane // 4, {per} * (lane % 4) + i] = a[{per} * j + i]"""
TRANSPOSED = "r // 8 * 8 + c, r % 8"


def moved(count: int, dtype: str = "f16", load: bool = False, store: bool | None = None, by: str = "") -> Sketch:
    """Return a sketch that loads matrices and stores them; `store` is stmatrix's trans, None for stores by hand."""
    sizes = {"count": count, "rows": 8 * count, "per": {"f16": 2, "u16": 2, "i8": 4, "f32": 1}[dtype]}
    put = BY_HAND if store is None else STORED
    turned = load ^ bool(store) ^ bool(by)
    return sketch_of(
        MOVES.format(
            **sizes, dtype=dtype, source=TRANSPOSED if turned else "r, c", load=", trans=True" * load,
            between=by or "pass", put=put.format(**sizes, store=", trans=True" * bool(store)),
        )
    )  # fmt: skip


MOVED = [
    (1, "f16", False, None, ""), (2, "u16", True, None, ""), (4, "f16", False, None, ""), (4, "i8", False, None, ""),
    (2, "f32", False, None, ""), (4, "f16", True, True, ""), (2, "f16", True, False, ""), (1, "f16", False, True, ""),
    (1, "f16", False, None, "cuda.movmatrix(a, a)"), (4, "i8", False, False, ""),
]  # fmt: skip


@pytest.mark.parametrize("case", MOVED)
def test_matrices_are_moved(case: tuple[int, str, bool, bool | None, str]) -> None:
    """Each way in which rows or columns come to lanes and go back; the terms say where every element is."""
    sketch = moved(*case)
    assert equal(sketch)
    wrong = replace(sketch, program=turned(sketch.program))
    assert case[1] in ("i8", "f32") or not equal(wrong)


FILL = """\
    for r in range({rows}):
        if lane < {per} * 4:
            tile[r, lane] = x[r, lane]
    cuda.syncthreads()
"""
OWN = """\
    for i in range({per} * {count}):
        tile[lane // 4 + i // {per} * 8, {per} * (lane % 4) + i % {per}] = x[
            lane // 4 + i // {per} * 8, {per} * (lane % 4) + i % {per}]
"""
TWICE = [
    ("back[lane % {rows}, 0]", "back[lane % 8, 0]"),
    ("back[r, lane]", "back[r % 8, lane]"),
    ("r, c", "8 + r % 8, c"),
]
TOGETHER = [
    (TWICE, "race on back"),
    ([("tile[lane % {rows}, 0]", "tile[lane, 0]")], "tile[16, 0] is out of bounds"),
    ([(FILL, OWN)], "race on tile"),
    ([(FILL, OWN + "    cuda.syncwarp()\n")], ""),
]


@pytest.mark.parametrize(("changes", "said"), TOGETHER)
def test_rows_belong_to_the_lanes_that_name_them(changes: list[tuple[str, str]], said: str) -> None:
    """Nothing orders two rows of one stmatrix; also a lane whose row is not moved names one; and what a lane has
    written itself, ldmatrix reads in another lane's name."""
    text = MOVES.replace("{put}", STORED).replace("{store}", "").replace("{source}", "r, c")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    sketch = sketch_of(text.format(count=2, rows=16, per=2, dtype="f16", load="", between="pass"))
    assert equal(sketch) != bool(said)
    assert not said or said in "\n".join(explain_mismatch(sketch.program, sketch.spec))


def turned(program: Program) -> Program:
    """Return a program whose first ldmatrix is transposed, or is not where it was."""
    body = list(program.body)
    at = next(n for n, each in enumerate(body) if isinstance(each, WarpInstruction))
    row = body[at].row  # type: ignore[union-attr]
    body[at] = replace(body[at], row=replace(row, transposed=not row.transposed))
    return replace(program, body=tuple(body))


@needs_gcc
@pytest.mark.slow
@pytest.mark.parametrize("case", MOVED)
def test_the_printed_text_moves_matrices(case: tuple[int, str, bool, bool | None, str]) -> None:
    assert emulated(moved(*case))


@needs_cuda
@pytest.mark.slow
@pytest.mark.parametrize("case", MOVED)
def test_the_ptx_moves_matrices(case: tuple[int, str, bool, bool | None, str]) -> None:
    """stmatrix needs sm_90, which the text's least architecture says."""
    assert validated(moved(*case)) == "equal"


TILE = """\
@spec
def product_spec(x, w):
    return [[sum(x[r, k] * w[n, k] for k in range({k})) for n in range(8)] for r in range(16)]

@cuda.jit(device=True)
def cell(r, chunk):
    return {cell}

@sketch(spec=product_spec, block=32, x=f16[16, {k}], w=f16[8, {k}], y=f32.out[16, 8])
def product(x, w, y):
    tile = cuda.shared.array((16, {k}), f16)
    a = cuda.fragment("A", "m16n8k16", f16)
    b = cuda.fragment("B", "m16n8k16", f16)
    c = cuda.fragment("C", "m16n8k16", f32)
    lane = cuda.laneid
    g, t = lane // 4, lane % 4
    for r in range(16):
        for i in range(2):
            tile[r, cell(r, lane // 4) * 8 + 2 * (lane % 4) + i] = x[r, 2 * lane + i]
    cuda.syncthreads()
    for k0 in range(0, {k}, 16):
        p = {row}
        cuda.ldmatrix(a, tile[p % 16, cell(p % 16, k0 // 8 + p // 16) * 8])
        for i in range(4):
            b[i] = w[g, k0 + 8 * (i // 2) + 2 * t + i % 2]
        cuda.mma("m16n8k16", a, b, c)
    o = {place}
    for i in range(4):
        y[o // 4 + 8 * (i // 2), 2 * (o % 4) + i % 2] = c[i].value
"""
XOR, HOLE = "chunk ^ r % 8", "?sw_xform(lane, 32)"


def tile(cell: str = XOR, row: str = "lane", place: str = "lane") -> Sketch:
    return sketch_of(TILE.format(k=64, cell=cell, row=row, place=place))


def conflicts(program: Program) -> tuple[int, int]:
    """Return the bank conflicts of a kernel, counted on the machine's arrays and lane by lane."""
    accesses = [each for each in printed_moves(program).accesses if each.memory == "shared"]
    return sum(each.passes - each.least_passes for each in accesses), extra_turns(program, BANKS, WORD)


@pytest.mark.parametrize(
    ("cell", "turns"), [(XOR, 0), ("chunk", 7), ("(chunk + r) % 8", 0), ("chunk ^ r // 2 % 4", 1), ("chunk ^ r % 2", 3)]
)
def test_conflicts_are_those_of_eight_rows(cell: str, turns: int) -> None:
    """A phase is a matrix, 8 rows of 16 bytes: with all rows in the same banks, each takes 8 turns instead of one."""
    found = tile(cell)
    assert equal(found)
    assert conflicts(found.program) == (16 * turns, 16 * turns)
    cost, problem = Conflicts(), Problem.of(tile(cell, place=HOLE).program, found.spec)
    assert cost.floor(problem) == 16 * turns
    assert Conflicts(16, 4).floor(problem) <= Conflicts(16, 4).of_run(
        Filled(found.program, (), lambda program: run_canonical(program, Terms()))
    )


@pytest.mark.parametrize(("columns", "turns"), [(8, 0), (16, 1), (24, 0), (64, 7)])
def test_conflicts_of_stores_are_those_of_eight_rows(columns: int, turns: int) -> None:
    """Of each of four matrices that stmatrix stores, rows whose banks are the same take turns."""
    text = MOVES.format(count=4, rows=32, per=2, dtype="f16", source="r, c", load="", between="pass",
                        put=STORED.format(rows=32, store=""))  # fmt: skip
    sketch = sketch_of(
        text.replace("back = cuda.shared.array((32, 2 * 4)", f"back = cuda.shared.array((32, {columns})")
    )
    assert equal(sketch)
    assert conflicts(sketch.program) == (4 * turns, 4 * turns)


def test_rows_places_and_layout_are_found_together() -> None:
    """A lane's row is an argument of the layout; the least conflicts are none."""
    found = solve(
        tile('?sw_index(chunk, 8, r, families="xor, rotate")', HOLE, HOLE), Limits(cost=("conflicts",), timeout=300)
    )
    assert found.status == "sat" and found.optimal and found.best.cost == {"conflicts": 0}
    assert [hole.formula for hole in found.best.holes] == ["chunk ^ (r & 7)", "lane", "lane"]
    assert conflicts(found.best.program) == (0, 0)


@pytest.mark.slow
def test_certificates_read_the_instructions_again() -> None:
    found = solve(tile(row=HOLE), Limits(certify=True, timeout=600))
    assert found.status == "sat" and found.certificate["confirmed"]


WRONG = [
    ("tile[p % 16, cell(p % 16, k0 // 8 + p // 16) * 8]", "tile[p % 16, cell(p % 16, k0 // 8 + p // 16) * 8 + 4]",
     "begins at"),
    ("        cuda.mma(", "        if lane < 16:\n            cuda.mma(", "not all lanes of the warp get here"),
    ("    cuda.syncthreads()\n", "", "race on tile"),
    ("tile[p % 16, cell", "tile[p % 16 + 1, cell", "out of bounds"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), WRONG)
def test_what_is_wrong_is_said(old: str, new: str, said: str) -> None:
    text = TILE.format(k=64, cell=XOR, row="lane", place="lane")
    if "if lane" in new:  # the call is one level further in
        new = new.replace("            cuda.mma", "            cuda.mma")
    assert old in text
    wrong = sketch_of(text.replace(old, new))
    assert said in "\n".join(explain_mismatch(wrong.program, wrong.spec))


def test_exchanged_matrices_are_named() -> None:
    """Matrices 1 and 2 of ldmatrix.x4, the mistake that everybody makes."""
    text = TILE.format(k=64, cell=XOR, row="lane", place="lane")
    old = "tile[p % 16, cell(p % 16, k0 // 8 + p // 16) * 8]"
    assert old in text
    wrong = text.replace(old, "tile[p // 16 * 8 + p % 8, cell(p // 16 * 8 + p % 8, k0 // 8 + p // 8 % 2) * 8]")
    sketch = sketch_of(wrong)
    said = [line for line in explain_mismatch(sketch.program, sketch.spec) if line.startswith("line ")]
    assert said == [
        "line 26: a[2..3] hold rows 0-7, columns 8-15 of x; they belong to rows 8-15, columns 0-7",
        "line 26: a[4..5] hold rows 8-15, columns 0-7 of x; they belong to rows 0-7, columns 8-15",
    ]
    right = sketch_of(text.replace("2 * (o % 4) + i % 2", "2 * (o % 4) + 1 - i % 2"))
    assert not [line for line in explain_mismatch(right.program, right.spec) if line.startswith("line ")]


MISTAKES = [
    ('cuda.mma("m16n8k16", a, b, c)', 'cuda.mma("m16n8k8", a, b, c)', "a has 8 elements"),
    ('cuda.mma("m16n8k16", a, b, c)', 'cuda.mma("m16n8k15", a, b, c)', "as the shape of a product"),
    ('cuda.mma("m16n8k16", a, b, c)', 'cuda.mma("m16n8k16", a, c, c)', "of f32 and a of f16"),
    ('"A", "m16n8k16", f16', '"A", "m16n8k16", f64', "ldmatrix of f64 and a tile of f16"),
    ('"A", "m16n8k16", f16', '"A", "m16n8k16", u16', "a fragment A of m16n8k16 of u16"),
    ('"A", "m16n8k16", f16', '"D", "m16n8k16", f16', "as an operand of a product"),
    ("cuda.ldmatrix(a, tile[", "cuda.ldmatrix(c, tile[", "ldmatrix of accumulators"),
    ("cuda.ldmatrix(a, tile[p % 16, ", "cuda.ldmatrix(a, x[p % 16, ", "as the row that a lane names"),
    ("block=32,", "block=32, warp_size=16,", "in warps of 16 lanes"),
    ("block=32,", "block=48,", "in a block of 48 threads"),
]


@pytest.mark.parametrize(("old", "new", "said"), MISTAKES)
def test_mistakes_have_a_place_and_a_fix(old: str, new: str, said: str) -> None:
    text = TILE.format(k=64, cell=XOR, row="lane", place="lane")
    assert old in text
    with pytest.raises(SwizzleError, match=said) as caught:
        sketch_of(text.replace(old, new))
    assert caught.value.place is not None and caught.value.fix


def test_numba_has_no_such_instructions() -> None:
    with pytest.raises(SwizzleError, match=r"ldmatrix\.x4 in a module for numba\.cuda"):
        numba_source(tile().program)


def test_what_is_rounded_is_said() -> None:
    """Factors that become tf32, and sums in f16."""
    assert "tf32" in " ".join(verify(*posed(product("f32", "f32", 16, 8))).unrounded)
    assert "adds up in f16" in " ".join(verify(*posed(product("f16", "f16", 16, 16))).unrounded)
    assert not verify(*posed(product("f16", "f32", 16, 16))).unrounded


def posed(sketch: Sketch) -> tuple[Program, Any]:
    return sketch.program, sketch.spec


def test_registers_that_are_no_accumulators_are_added_to() -> None:
    """A product adds to an array, too, which may be scaled before: c = 2 * c + A @ B."""
    text = TILE.format(k=64, cell=XOR, row="lane", place="lane")
    text = text.replace('cuda.fragment("C", "m16n8k16", f32)', "cuda.local.array(4, f32)\n    for i in range(4):\n"
                        "        c[i] = f32(0)").replace("c[i].value", "2 * c[i]")  # fmt: skip
    text = text.replace("return [[sum(", "return [[2 * sum(")
    assert equal(sketch_of(text))
    assert not equal(sketch_of(text.replace("2 * c[i]", "c[i]")))


CHAIN = """\
@spec
def chain_spec(x, w, v):
    c = [[f16(sum(f32(x[r, k]) * f32(w[j, k]) for k in range(16))) for j in range(16)] for r in range(16)]
    return [[sum(f32(c[r][j]) * f32(v[n, j]) for j in range(16)) for n in range(8)] for r in range(16)]

@sketch(spec=chain_spec, block=32, x=f16[16, 16], w=f16[16, 16], v=f16[8, 16], y=f32.out[16, 8])
def chain(x, w, v, y):
    a = cuda.fragment("A", "m16n8k16", f16)
    b = cuda.fragment("B", "m16n8k16", f16)
    c = cuda.local.array((2, 4), f32)
    d = cuda.fragment("C", "m16n8k16", f32)
    g, t = cuda.laneid // 4, cuda.laneid % 4
    for i in range(8):
        a[i] = x[g + 8 * (i // 2 % 2), i // 4 * 8 + 2 * t + i % 2]
    for h in range(2):
        for i in range(4):
            c[h, i] = f32(0)
            b[i] = w[8 * h + g, 8 * (i // 2) + 2 * t + i % 2]
        cuda.mma("m16n8k16", a, b, c[h])
    for i in range(8):
        e = {element}
        a[i] = f16(c[e // 4, e % 4])
    for i in range(4):
        b[i] = v[g, 8 * (i // 2) + 2 * t + i % 2]
    cuda.mma("m16n8k16", a, b, d)
    for i in range(4):
        y[g + 8 * (i // 2), 2 * t + i % 2] = d[i].value
"""


@pytest.mark.slow
def test_sums_become_factors() -> None:
    """Which sum is which factor of the next product, as attention has it: the identity, found as a hole."""
    assert equal(sketch_of(CHAIN.format(element="i")))
    assert not equal(sketch_of(CHAIN.format(element="i ^ 2")))
    found = solve(sketch_of(CHAIN.format(element="?sw_xform(i, 8)")), Limits(timeout=600))
    assert found.status == "sat" and found.best.holes[0].formula == "i"


@pytest.mark.slow
@needs_gcc
def test_no_mutant_is_accepted_that_numbers_tell_apart() -> None:
    """Registers, rows, layouts, `.trans`, barriers and places changed, one by one: what verifies gives the numbers."""
    text = TILE.format(k=64, cell=XOR, row="lane", place="lane")
    accepted = 0
    for old, new in mutations():
        assert old in text, old
        try:
            sketch = sketch_of(text.replace(old, new, 1))
        except SwizzleError:
            continue
        right = equal(sketch)
        same = numeric_difference(sketch.program, sketch.spec) is None
        assert not right or same, (old, new)
        accepted += right
    assert 0 < accepted < len(mutations()) // 2


def mutations() -> list[tuple[str, str]]:
    """Return what is put in the place of what."""
    found = [("p % 16, cell(p % 16, k0 // 8 + p // 16)", f"{row}, cell({row}, k0 // 8 + {chunk})")
             for row in ("p % 16", "p // 2", "p % 8 + p // 16 * 8", "p % 16 ^ 1", "p % 8")
             for chunk in ("p // 16", "p % 2", "p // 8 % 2", "1 - p // 16")]  # fmt: skip
    found += [("p = lane", f"p = {lanes}") for lanes in ("31 - lane", "lane ^ 16", "lane ^ 1", "(lane + 8) % 32")]
    found += [("return chunk ^ r % 8", f"return {cell}") for cell in (
        "chunk", "chunk ^ r", "(chunk + 3 * r) % 8", "chunk ^ r // 2 % 8", "chunk | r % 8", "chunk ^ r % 4",
        "7 - chunk", "chunk ^ lane_of() % 8",
    )]  # fmt: skip
    found += [("cuda.ldmatrix(a, ", "cuda.ldmatrix(a, trans=True, row="), ("    cuda.syncthreads()\n", ""),
              ("    cuda.syncthreads()\n", "    cuda.syncwarp()\n")]  # fmt: skip
    found += [("b[i] = w[g, k0 + 8 * (i // 2) + 2 * t + i % 2]", f"b[i{swap}] = w[{place}]")
              for swap in ("", " ^ 1", " ^ 2") for place in (
                  "g, k0 + 8 * (i // 2) + 2 * t + i % 2", "g, k0 + 8 * (i // 2) + 2 * t + 1 - i % 2",
                  "g, k0 + 8 * (1 - i // 2) + 2 * t + i % 2", "g ^ 1, k0 + 8 * (i // 2) + 2 * t + i % 2",
                  "t, k0 + 8 * (i // 2) + g + i % 2",
              )]  # fmt: skip
    found += [("y[o // 4 + 8 * (i // 2), 2 * (o % 4) + i % 2]", f"y[{place}]") for place in (
        "o // 4 + 8 * (i % 2), 2 * (o % 4) + i // 2", "o // 4 + 8 * (i // 2), 2 * (o % 4) + 1 - i % 2",
        "o % 8 + 8 * (i // 2), 2 * (o // 8) + i % 2", "15 - (o // 4 + 8 * (i // 2)), 2 * (o % 4) + i % 2",
    )]  # fmt: skip
    return found


@pytest.mark.slow
def test_explain_names_what_an_instruction_does() -> None:
    """What cannot be produced behind ldmatrix and mma, with its reason."""
    found = explain(tile(row="?sw_xform(lane % 8, 8)"), Limits(space="1", timeout=120))
    assert found.outputs and any("it needs x[0, 8] to x[0, 15]" in reason for reason in map(str, found.reasons))
