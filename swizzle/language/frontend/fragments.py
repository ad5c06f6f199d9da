"""Fragments of small matrices, and the instructions of a whole warp on them: mma, ldmatrix, stmatrix, movmatrix."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from swizzle.language.frontend.accumulators import read_element_type
from swizzle.language.frontend.calls import require_whole_warps
from swizzle.language.frontend.expressions import ExpressionReader
from swizzle.language.frontend.scope import AccumulatorName, ArrayName
from symbolic.ir.matrices import PRODUCTS, SUMS, WARP, MatrixMove, MatrixProduct, per_lane, sketch_product
from symbolic.ir.program import (
    AccumulatorValue,
    Const,
    DeclareAccumulator,
    DeclareArray,
    DType,
    Expr,
    Load,
    WarpInstruction,
)

SHAPES: Final = tuple(f"m{m}n8k{k}" for m, k in sorted({shape for row in PRODUCTS.values() for shape in row.shapes}))


class FragmentOperand(Struct, frozen=True):
    """Registers of each lane: the first of them, how many elements, and what the sketch writes."""

    first: Load | AccumulatorValue
    count: int
    text: str
    node: ast.expr


def _shape(reader: ExpressionReader, node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and node.value in SHAPES:
        return str(node.value)
    reader.mistake(node, f"{ast.unparse(node)} as the shape of a product", ", ".join(SHAPES), 'write "m16n8k16"')


def read_fragment(
    reader: ExpressionReader, name: str, arguments: Mapping[str, ast.expr], node: ast.stmt
) -> DeclareArray | DeclareAccumulator:
    """Read `a = cuda.fragment("A", "m16n8k16", f16, shape=2)`: an array of registers, of C an array of accumulators."""
    letter = arguments["operand"]
    if not isinstance(letter, ast.Constant) or letter.value not in ("A", "B", "C"):
        reader.mistake(letter, f"{ast.unparse(letter)} as an operand of a product", '"A", "B" or "C"', 'write "A"')
    dtype, shape = read_element_type(reader, arguments["dtype"]), _shape(reader, arguments["product"])
    fit = _products(shape, dtype, sums=letter.value == "C")
    if not fit:
        types = {row for held in DType for row in _products(shape, held, sums=letter.value == "C")}
        held = {SUMS[row.c] if letter.value == "C" else PRODUCTS[row.a].held for row in types}
        listed = ", ".join(sorted(each.value for each in held if each is not None))
        reader.mistake(
            arguments["dtype"], f"a fragment {letter.value} of {shape} of {dtype.value}", f"one of: {listed}",
            "convert the data first, or take another shape: docs/tensor-cores.md",
        )  # fmt: skip
    product, place = fit[0], reader.kernel.source.place(node)
    size = product.size({"A": "a", "B": "b", "C": "c"}[letter.value])  # type: ignore[arg-type]
    outer = reader.shape(arguments["shape"], "an array of fragments") if "shape" in arguments else ()
    if len(outer) > 2:
        reader.mistake(arguments["shape"], f"an array of fragments of {len(outer)} dimensions", "one or two",
                       "lay the last two dimensions side by side")  # fmt: skip
    if letter.value == "C":
        return DeclareAccumulator(name, "+", "*", None, None, (*outer, size), dtype, place)
    return DeclareArray(name, "local", (*outer, size // PRODUCTS[product.a].packed), dtype, place)


def _products(shape: str, dtype: DType, *, sums: bool) -> list[MatrixProduct]:
    """Return the products of a shape whose C, or whose A and B, are held in a type."""
    found = [sketch_product(shape, held, total) for held in DType for total in SUMS.values()]
    return [
        product
        for product in found
        if product is not None and dtype is (SUMS[product.c] if sums else PRODUCTS[product.a].held)
    ]


def fragment(reader: ExpressionReader, node: ast.expr, what: str) -> FragmentOperand:
    """Read the name of an array of registers, or `a[m]`, `a[m, n]` of several fragments in one array."""
    base = node.value if isinstance(node, ast.Subscript) else node
    meaning = reader.scope.meanings.get(base.id) if isinstance(base, ast.Name) else None
    local = isinstance(meaning, ArrayName) and meaning.memory == "local"
    if not isinstance(base, ast.Name) or not (local or isinstance(meaning, AccumulatorName)):
        reader.mistake(
            node, f"{ast.unparse(node)} as {what}", "a fragment: an array of registers, or one row of it",
            'declare it: a = cuda.fragment("A", "m16n8k16", f16)',
        )  # fmt: skip
    assert isinstance(meaning, ArrayName | AccumulatorName)
    if base.id not in reader.scope.assigned:
        reader.local(base)
    given: Sequence[ast.expr] = ()
    if isinstance(node, ast.Subscript):
        given = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if len(given) != len(meaning.shape) - 1:
        inner = ", ".join("mnk"[: max(len(meaning.shape) - 1, 0)])
        reader.mistake(
            node, f"{ast.unparse(node)} as {what}: {base.id} has shape {meaning.shape}",
            "all indices but the last, which counts the elements of a fragment",
            f"write {base.id}[{inner}]" if inner else f"write {base.id}" if meaning.shape else "give it a shape",
        )  # fmt: skip
    indices = [reader.index(each, f"an index of {base.id}") for each in given]
    for index in indices:
        reader.require_steady(index, f"an index of {base.id}, which names registers")
    place, name = reader.kernel.source.place(node), reader.scope.named(base.id)
    at = (*indices, Const(0, DType.INDEX, place))
    kind = AccumulatorValue if isinstance(meaning, AccumulatorName) else Load
    return FragmentOperand(kind(name, at, meaning.dtype, place), meaning.shape[-1], ast.unparse(node), node)


def read_instruction(
    reader: ExpressionReader, name: str, arguments: Mapping[str, ast.expr], node: ast.Call
) -> WarpInstruction:
    """Read a statement that calls one of `WARP_INSTRUCTIONS`."""
    if reader.launch.warp_size != WARP:
        reader.mistake(
            node, f"{name} in warps of {reader.launch.warp_size} lanes", f"warps of {WARP} lanes, the hardware's",
            "leave out warp_size=",
        )  # fmt: skip
    require_whole_warps(reader, node, name)
    if name == "cuda.mma":
        return _product(reader, arguments, node)
    trans = arguments.get("trans")
    transposed = name == "cuda.movmatrix"
    if trans is not None:
        if not isinstance(trans, ast.Constant) or not isinstance(trans.value, bool):
            reader.mistake(trans, f"trans={ast.unparse(trans)}", "True or False", "write trans=True, or leave it out")
        transposed = trans.value
    if name == "cuda.movmatrix":
        target, source = (
            fragment(reader, arguments[each], "an operand of cuda.movmatrix") for each in ("target", "source")
        )
        _require_halves(reader, source, name)
        for each in (source, target):
            if each.count != 2 or each.first.dtype is not source.first.dtype:
                reader.mistake(each.node, f"{each.text} has {each.count} of {each.first.dtype.value}",
                               f"two elements of {source.first.dtype.value} each: one matrix",
                               "declare cuda.local.array(2, f16)")  # fmt: skip
        return _instruction(reader, MatrixMove("movmatrix", 1, True), (source.first, target.first), node)
    given = arguments["fragments"]
    parts = given.elts if isinstance(given, ast.Tuple | ast.List) else [given]
    fragments = [fragment(reader, each, f"what {name} moves") for each in parts]
    row = _row(reader, arguments["row"], name)
    for each in fragments:
        if isinstance(each.first, AccumulatorValue) or each.first.dtype is not row.dtype:
            kind = "accumulators" if isinstance(each.first, AccumulatorValue) else each.first.dtype.value
            reader.mistake(each.node, f"{name} of {kind} and a tile of {row.dtype.value}", "arrays of one type",
                           f"declare it cuda.local.array({each.count}, {row.dtype.value})")  # fmt: skip
        if each.count != fragments[0].count:
            reader.mistake(each.node, f"{each.count} elements, and {fragments[0].count} of {fragments[0].text}",
                           "fragments of one size", "move them one after the other")  # fmt: skip
    if transposed:
        _require_halves(reader, fragments[0], f"{name}(..., trans=True)")
    matrices = len(fragments) * fragments[0].count / per_lane(row.dtype)
    if matrices not in (1, 2, 4):
        reader.mistake(
            node, f"{name} of {len(fragments) * fragments[0].count} elements of {row.dtype.value} a lane",
            f"those of 1, 2 or 4 matrices: {', '.join(str(n * per_lane(row.dtype)) for n in (1, 2, 4))}",
            "move other fragments, or several times",
        )  # fmt: skip
    first = [each.first for each in fragments]
    if name == "cuda.ldmatrix":
        return _instruction(reader, MatrixMove("ldmatrix", int(matrices), transposed), (row, *first), node)
    return _instruction(reader, MatrixMove("stmatrix", int(matrices), transposed), (*first, row), node)


def _instruction(
    reader: ExpressionReader, row: MatrixProduct | MatrixMove, operands: tuple[Expr, ...], node: ast.Call
) -> WarpInstruction:
    return WarpInstruction(row, operands, reader.kernel.source.place(node))


def _require_halves(reader: ExpressionReader, given: FragmentOperand, what: str) -> None:
    if given.first.dtype.bits != 16:
        reader.mistake(given.node, f"{what} of {given.first.dtype.value}", "elements of 16 bits: f16, bf16, i16 or u16",
                       "transpose where the tile is written")  # fmt: skip


def _row(reader: ExpressionReader, node: ast.expr, name: str) -> Load:
    """Read the element at which the row begins that a lane names."""
    meaning = None
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        meaning = reader.scope.meanings.get(node.value.id)
    if not isinstance(node, ast.Subscript) or not isinstance(meaning, ArrayName) or meaning.memory != "shared":
        reader.mistake(
            node, f"{ast.unparse(node)} as the row that a lane names",
            "an element of a shared array: tile[row, column]",
            "write where the row of 16 bytes begins",
        )  # fmt: skip
    word, array, indices = reader.array_element(node)
    if array.dtype.bits > 32:
        reader.mistake(node, f"{name} of {array.dtype.value}", "elements of at most 32 bits", "load the elements")
    return Load(reader.scope.named(word), indices, array.dtype, reader.kernel.source.place(node))


def _product(reader: ExpressionReader, arguments: Mapping[str, ast.expr], node: ast.Call) -> WarpInstruction:
    shape = _shape(reader, arguments["product"])
    a, b, c = (fragment(reader, arguments[each], f"the operand {each} of cuda.mma") for each in "abc")
    product = sketch_product(shape, a.first.dtype, c.first.dtype)
    if product is None:
        fit = {f"{PRODUCTS[p.a].held.value} to {SUMS[p.c].value}"  # type: ignore[union-attr]
               for held in DType for p in _products(shape, held, sums=False)}  # fmt: skip
        reader.mistake(
            node, f"cuda.mma {shape} of {a.first.dtype.value}, added to {c.first.dtype.value}",
            f"one of: {', '.join(sorted(fit))}", "declare fragments of these types: docs/tensor-cores.md",
        )  # fmt: skip
    if b.first.dtype is not a.first.dtype:
        reader.mistake(b.node, f"{b.text} of {b.first.dtype.value} and {a.text} of {a.first.dtype.value}",
                       "A and B of one type", f"declare {b.text} of {a.first.dtype.value}")  # fmt: skip
    packed = PRODUCTS[product.a].packed
    for each, wanted in ((a, product.size("a") // packed), (b, product.size("b") // packed), (c, product.size("c"))):
        if each.count != wanted:
            letter = next(letter for letter, one in zip("ABC", (a, b, c), strict=True) if one is each)
            reader.mistake(
                each.node, f"{each.text} has {each.count} elements",
                f"the {wanted} that a lane has of {letter} of {shape}",
                f'declare it cuda.fragment("{letter}", "{shape}", {each.first.dtype.value})',
            )  # fmt: skip
    for each in (a, b):
        if isinstance(each.first, AccumulatorValue):
            reader.mistake(each.node, f"accumulators as an operand of cuda.mma: {each.text}", "an array of registers",
                           f"store what they have to one: a[i] = {each.text}.value")  # fmt: skip
    if isinstance(c.first, AccumulatorValue):
        _require_sum(reader, c)
    return _instruction(reader, product, (a.first, b.first, c.first), node)


def _require_sum(reader: ExpressionReader, c: FragmentOperand) -> None:
    base = c.node.value if isinstance(c.node, ast.Subscript) else c.node
    assert isinstance(base, ast.Name)
    meaning = reader.scope.meanings[base.id]
    if not isinstance(meaning, AccumulatorName) or not meaning.sums_products:
        reader.mistake(c.node, f"{c.text} as the operand c of cuda.mma, accumulators of another operator",
                       'accumulator(..., outer="+", inner="*")', "cuda.mma adds products")  # fmt: skip
