"""The front end: what each construct becomes, and that every node knows its place.

No hole feeds a hole, on whatever way.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from swizzle import SwizzleError, solve
from symbolic.errors import Place
from symbolic.ir.program import Assign, Const, DType, HoleCall, Shuffle, Store
from tests.sketches import kernel
from tests.swizzle.spelling import read, spelled


def test_coordinates_and_grid() -> None:
    """Coordinates and `cuda.grid` become index arithmetic."""
    assert spelled("i, j = cuda.grid(2)\ny[0] = x[cuda.laneid + cuda.warpid * cuda.warpsize]") == [
        "i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x",
        "j = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y",
        "y[0] = x[cuda.laneid + cuda.warpid * cuda.warpsize]",
    ]


def test_gridsize() -> None:
    """`cuda.gridsize` is the number of threads along an axis."""
    assert spelled("s = cuda.gridsize(1)") == ["s = cuda.gridDim.x * cuda.blockDim.x"]


def test_constants_fold() -> None:
    """Arithmetic on sizes, constants and tuples is done once, when the sketch is read."""
    head = "SIZES = (2, 5)\nK = 3"
    assert spelled("a = SIZES[1] * K - len(x) // 3 + (-7) // 2 + -7 % 3\nb = 1 << K\nc = 2 ** K", head=head) == [
        "a = -8",
        "b = 8",
        "c = 8",
    ]


@given(a=st.integers(-40, 40), b=st.integers(-40, 40), op=st.sampled_from(["+", "-", "*", "//", "%", "&", "|", "^"]))
def test_folding_is_pythons_arithmetic(a: int, b: int, op: str) -> None:
    """A folded constant is what Python computes."""
    if op in ("//", "%") and b == 0:
        return
    body = read(f"v = ({a}) {op} ({b})").program.body
    assert isinstance(body[0], Assign)
    assert body[0].value == Const(eval(f"({a}) {op} ({b})"), DType.INDEX, body[0].value.place)


def test_int_literals_become_data_beside_data() -> None:
    """A number takes the dtype of the data beside it."""
    (store,) = read("y[0] = x[0] * 2 + 0.5").program.body
    assert isinstance(store, Store)
    assert spelled("y[0] = x[0] * 2 + 0.5") == ["y[0] = x[0] * 2.0 + 0.5"]
    assert store.value.dtype is DType.F32


def test_static_conditions_choose_a_branch() -> None:
    """Only the live branch of a condition on constants is read; its holes are the only ones."""
    sketch = read("if K > 2:\n    y[0] = x[0]\nelse:\n    y[0] = x[?sw_part(4, cuda.laneid)]", head="K = 3")
    assert sketch.program.holes == ()
    assert spelled("v = x[0] if K > 5 else x[1]", head="K = 3") == ["v = x[1]"]


def test_loops_with_bounds_of_outer_loops() -> None:
    """Bounds may use constants, outer loop variables and scalars made of them."""
    assert spelled("for a in range(2):\n    n = a * 2\n    for b in range(a, n, 1):\n        y[b] = x[b]") == [
        "for a in 0, 2, 1",
        "  n = a * 2",
        "  for b in a, n, 1",
        "    y[b] = x[b]",
    ]


def test_a_loop_that_runs_assigns() -> None:
    """A scalar assigned in a loop that surely runs has a value after it; in one that may not, it has none."""
    assert spelled("for k in range(2):\n    v = x[k]\ny[0] = v")[-1] == "y[0] = v"
    with pytest.raises(SwizzleError, match="v may have no value here"):
        spelled("for k in range(0):\n    v = x[k]\ny[0] = v")


def test_both_branches_assign() -> None:
    """A scalar that both branches assign has a value."""
    assert spelled("if cuda.laneid < 3:\n    v = x[0]\nelse:\n    v = x[1]\ny[0] = v")[-1] == "y[0] = v"


def test_conditions() -> None:
    """Chained comparisons and logic become conditions."""
    assert spelled("i = cuda.laneid\nc = 0 < i <= 5 and not i == 3 or (i > 7) & (i < 9)")[1] == (
        "c = 0 < i and i <= 5 and not i == 3 or i > 7 and i < 9"
    )


def test_tuple_assignment_takes_all_values_first() -> None:
    """A swap keeps both old values; targets that nobody reads need no copies."""
    assert spelled("a, b = cuda.laneid, cuda.warpid\na, b = b, a") == [
        "a = cuda.laneid",
        "b = cuda.warpid",
        "before = b",
        "before_1 = a",
        "a = before",
        "b = before_1",
    ]


def test_augmented_assignment() -> None:
    """In-place operators read and write scalars and elements."""
    assert spelled("s = f32(0)\ns += x[0]\na = cuda.local.array(2, f32)\na[1] = s\na[1] *= 2\ny[0] = a[1]") == [
        "s = 0.0",
        "s = s + x[0]",
        "local f32 a[2]",
        "a[1] = s",
        "a[1] = a[1] * 2.0",
        "y[0] = a[1]",
    ]


def test_array_properties() -> None:
    """`len`, `shape`, `size` and `ndim` are constants."""
    arrays = "x=f32[4, 8]; y=f32.out[64]"
    assert spelled("a = len(x)\nb = x.shape[1]\nc = x.size\nd = x.ndim\ne, f = x.shape", arrays=arrays) == [
        "a = 4",
        "b = 8",
        "c = 32",
        "d = 2",
        "e = 4",
        "f = 8",
    ]


def test_int_parameters_are_constants() -> None:
    """An int argument of @sketch is a constant in the body, in shapes too."""
    assert spelled("a = cuda.local.array(n, f32)\ny[n] = x[0]", arrays="x=f32[64]; y=f32.out[64]; n=8") == [
        "local f32 a[8]",
        "y[8] = x[0]",
    ]


def test_shared_arrays_and_barriers() -> None:
    """Shared arrays of several dimensions, and both barriers."""
    body = "t = cuda.shared.array((4, W), f32)\nt[cuda.warpid, cuda.laneid] = x[0]\ncuda.syncthreads()\ncuda.syncwarp()"
    assert spelled(body, head="W = 32") == [
        "shared f32 t[4, 32]",
        "t[cuda.warpid, cuda.laneid] = x[0]",
        "barrier block",
        "barrier warp",
    ]


@pytest.mark.parametrize(
    ("call", "mode"),
    [("shfl_sync", "idx"), ("shfl_up_sync", "up"), ("shfl_down_sync", "down"), ("shfl_xor_sync", "xor")],
)
def test_shuffles(call: str, mode: str) -> None:
    """Each shuffle has its mode; the full mask is none."""
    for mask in ("cuda.FULL_MASK", "0xFFFFFFFF", "-1"):
        body = read(f"v = cuda.{call}({mask}, x[0], 1)").program.body
        assert isinstance(body[0], Assign)
        shuffle = body[0].value
        assert isinstance(shuffle, Shuffle)
        assert (shuffle.mode, shuffle.mask) == (mode, None)


def test_a_partial_mask_is_kept() -> None:
    """A mask of some lanes stays in the program."""
    assert spelled("v = cuda.shfl_sync(0x0000FFFF, x[0], 1)") == ["v = cuda.shfl_sync(65535, x[0], 1)"]


def test_casts() -> None:
    """A cast of a number is a constant, a cast of an index or of data is a cast."""
    assert spelled("a = f32(3)\nb = f32(cuda.laneid)\nc = i32(x[0])\nd = f32(x[0])") == [
        "a = 3.0",
        "b = f32(cuda.laneid)",
        "c = i32(x[0])",
        "d = x[0]",
    ]


def test_accumulators() -> None:
    """Accumulators have operators, a shape, a condition and a value."""
    body = (
        'out = accumulator(f32, outer="+", inner="*", shape=2)\n'
        "for j in range(2):\n"
        "    out[j].accumulate(x[j], 2, when=cuda.laneid < 3)\n"
        "    y[j] = out[j].value"
    )
    assert spelled(body) == [
        "accumulator f32 out[2] + *",
        "for j in 0, 2, 1",
        "  out[j] <- x[j], 2.0 when cuda.laneid < 3",
        "  y[j] = out[j].value",
    ]


def test_accumulator_operators_by_name() -> None:
    """'and', 'or' and 'xor' are the bit operators."""
    arrays = "x=u32[64]; y=u32.out[64]"
    body = 'a = accumulator(u32, outer="xor", inner="and")\nb = accumulator(u32, "or")'
    assert spelled(body, arrays=arrays) == ["accumulator u32 a[] ^ &", "accumulator u32 b[] | None"]


def test_final_function() -> None:
    """A final function is an expression of its parameter."""
    (declared,) = read(
        'out = accumulator(f32, outer="+", init=1, final=lambda s: s * SCALE)', head="SCALE = 0.5"
    ).program.body
    assert declared.init is not None and declared.init.value == 1.0  # type: ignore[union-attr]
    assert declared.final.parameter == "s"  # type: ignore[union-attr]
    assert declared.final.body.right.value == 0.5  # type: ignore[union-attr]


def test_holes_in_source_order() -> None:
    """Holes are numbered per kind as the text has them, whatever is read first."""
    sketch = read(
        "y[?sw_part(4, cuda.laneid)] = x[?sw_part(2, cuda.warpid)] if ?sw_cond(cuda.laneid, 3) else x[?sw_xform(0, 8)]"
    )
    assert [(hole.name, hole.size, hole.arguments) for hole in sketch.program.holes] == [
        ("part1", 4, ("cuda.laneid",)),
        ("part2", 2, ("cuda.warpid",)),
        ("cond1", 2, ("cuda.laneid", "3")),
        ("xform1", 8, ("0", "0")),
    ]
    (store,) = sketch.program.body
    assert isinstance(store, Store)
    (target,) = store.indices
    assert isinstance(target, HoleCall) and target.hole == 0


def test_a_hole_in_a_loop_is_one_hole() -> None:
    """The same function is used in every iteration."""
    assert len(read("for k in range(4):\n    y[k] = x[?sw_xform(k, 4)]").program.holes) == 1


def test_warp_load_with_shfl() -> None:
    """Round r, lane t: `stride` elements from offset + (r * warp + shfl(t)) * stride; `fill` past the end."""
    body = (
        "inp = cuda.local.array(4, f32)\n"
        "warp_load(x, inp, offset=cuda.warpid * 128, stride=2, shfl=lambda lane, r: ?sw_xform(lane, 32, r), fill=1)"
    )
    assert spelled(body) == [
        "local f32 inp[4]",
        "for r_1 in 0, 2, 1",
        "  for e in 0, 2, 1",
        "    position = cuda.warpid * 128 + ((r_1 * 32 + ?hole0(cuda.laneid, r_1)) * 2 + e)",
        "    inp[r_1 * 2 + e] = x[position] if position < 64 else 1.0",
    ]


def test_warp_store_is_predicated() -> None:
    """Elements past the end are not stored; a single round needs no loop."""
    assert spelled("v = cuda.local.array(1, f32)\nv[0] = x[0]\nwarp_store(v, y, offset=32 * cuda.warpid)")[2:] == [
        "position = 32 * cuda.warpid + cuda.laneid",
        "if position < 64",
        "  y[position] = v[0]",
    ]


def test_block_load_and_store() -> None:
    """The block's threads share the work; a shared array that is no whole round is guarded."""
    body = "t = cuda.shared.array(40, f32)\nblock_load(x, t)\ncuda.syncthreads()\nblock_store(t, y, rounds=1)"
    assert spelled(body) == [
        "shared f32 t[40]",
        "for r in 0, 2, 1",
        "  position = r * 32 + cuda.threadIdx.x",
        "  if r * 32 + cuda.threadIdx.x < 40",
        "    t[r * 32 + cuda.threadIdx.x] = x[position] if position < 64 else 0.0",
        "barrier block",
        "position_1 = cuda.threadIdx.x",
        "if position_1 < 64",
        "  y[position_1] = t[cuda.threadIdx.x]",
    ]


def test_helpers_carry_the_place_of_their_call() -> None:
    """Every node that a helper stands for points at the call."""
    sketch = read("v = cuda.local.array(2, f32)\nwarp_load(x, v)")
    assert {place.line for place in places(sketch.program.body[1])} == {8}


def test_every_node_has_a_place_in_its_line() -> None:
    """Places are spans of the source line, ends after starts."""
    text = "i = cuda.grid(1)\nfor k in range(3):\n    y[i] = x[i] + x[k] * 2 if i < 3 else -x[0]"
    found = list(places(read(text).program.body))
    assert len(found) > 20
    assert all(place.file == "inline.swz" and place.line >= 6 and place.end_column > place.column for place in found)


def test_a_value_that_cannot_be_an_index_is_refused_when_read() -> None:
    """Numbers outside 32 bits are no indices; they are data where data has room for them."""
    with pytest.raises(SwizzleError, match="is 2147483648"):
        spelled("y[2147483648] = x[0]")
    arrays = "x=u32[64]; y=u32.out[64]"
    assert spelled("y[0] = x[0] ^ 0xFFFFFFFF", arrays=arrays) == ["y[0] = x[0] ^ 4294967295"]


@pytest.mark.parametrize("huge", ["2 ** 63 ** 2", "1 << 64", "9 ** 99", "(1 << 60) * 99"])
def test_huge_constants_are_refused(huge: str) -> None:
    """Folding stays within the kernel's integers."""
    with pytest.raises(SwizzleError):
        spelled(f"v = {huge}")


def test_deep_nesting_is_an_error_of_the_user() -> None:
    """Nesting that exhausts the stack is reported, not raised."""
    with pytest.raises(SwizzleError, match=r"too deeply|not Python|too complex"):
        spelled("v = " + "-" * 5000 + "1")
    with pytest.raises(SwizzleError, match="too deeply"):
        spelled("v = " + "cuda.laneid + " * 3000 + "1")


def places(node: Any) -> Any:
    """Yield every place in a program's part."""
    if isinstance(node, Place):
        yield node
    elif isinstance(node, tuple):
        for part in node:
            yield from places(part)
    elif isinstance(node, Struct):
        for name in node.__struct_fields__:
            yield from places(getattr(node, name))


@pytest.mark.parametrize(("kind", "least", "most"), [
    ("f16", "0.00000003", "65519"), ("bf16", "5e-41", "3.394e38"), ("f32", "7.1e-46", "3.40282356e38"),
    ("f64", "5e-324", "1.7976931348623157e308"),
])  # fmt: skip
def test_a_float_literal_is_a_number_of_its_type(kind: str, least: str, most: str) -> None:
    """What its type would have as 0 or infinity is no such number: the kernel would compute with another one."""
    arrays = f"x={kind}[64]; y={kind}.out[64]"
    for kept in (least, most, f"-{most}", "0", "0.0"):
        spelled(f"y[0] = x[0] * {kept}", arrays=arrays)
    if kind != "f64":
        for lost, to in ((f"{least} / 2", "0"), (f"-{least} / 2", "0"), (f"{most} * 1.001", "infinity")):
            with pytest.raises(SwizzleError, match=f"which rounds to {to} in {kind}"):
                spelled(f"y[0] = x[0] * ({lost})", arrays=arrays)


@pytest.mark.parametrize(
    "body",
    [
        "j = ?sw_part(2, cuda.laneid)\ny[j] = x[?sw_part(2, cuda.warpid)]",
        "v = x[?sw_part(2, cuda.laneid)]\nif ?sw_cond(cuda.laneid):\n    v = x[?sw_part(2, cuda.laneid)]\ny[0] = v",
    ],
)
def test_data_and_indices_may_depend_on_holes(body: str) -> None:
    """So may other holes' arguments (tests/swizzle/solving/problem/test_nested.py)."""
    assert len(read(body).program.holes) >= 2


@pytest.mark.parametrize("argument", ["j", "moved(j - 1)"])
def test_a_variable_of_one_branch_is_an_argument_there(argument: str) -> None:
    """That a hole chooses the branch does not say what the variable is in it; so for what is passed to a function."""
    sketch = kernel(
        f"i = cuda.laneid\nif ?sw_cond(i):\n    j = i + 1\n"
        f"    y[i] = x[{'?sw_xform(i, 4, j)' if argument == 'j' else argument}]\nelse:\n    y[i] = x[i]",
        spec="[x[3], x[2], x[1], x[3]]",
        arguments="x=i32[4], y=i32.out[4]",
        head="@cuda.jit(device=True)\ndef moved(j):\n    return ?sw_xform(j, 4)\n\n",
        block=4,
    )
    assert solve(sketch).status == "sat"
