"""What an instruction of a whole warp means, as statements of every lane: shuffles, loads, stores, accumulates.

Whatever runs a program runs these in place of the instruction. The lanes that are asked are tables over the lane, read
off `symbolic.ir.matrices`; ldmatrix and stmatrix ask other lanes for the row that they name.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from msgspec.structs import replace

from symbolic.errors import Place
from symbolic.ir import program as ir
from symbolic.ir.matrices import (
    MATRIX_ROWS,
    PRODUCTS,
    WARP,
    MatrixMove,
    MatrixProduct,
    OperandName,
    per_lane,
)
from symbolic.ir.program import AccumulatorValue, DType, Expr, Load, Stmt, WarpInstruction


def meaning(node: WarpInstruction) -> tuple[Stmt, ...]:
    """Return the statements that every lane runs."""
    if isinstance(node.row, MatrixProduct):
        return tuple(_product(node, node.row))
    return tuple(_load(node) if node.row.kind == "ldmatrix" else _store(node) if node.row.in_memory else _moved(node))


def row_operand(node: WarpInstruction) -> Load | None:
    """Return where the row begins that each lane names, None for an instruction in registers."""
    if isinstance(node.row, MatrixProduct) or not node.row.in_memory:
        return None
    found = node.operands[0 if node.row.kind == "ldmatrix" else -1]
    assert isinstance(found, Load)
    return found


def registers(node: WarpInstruction) -> tuple[Expr, ...]:
    """Return the operands that are fragments."""
    row = row_operand(node)
    return tuple(operand for operand in node.operands if operand is not row)


def elements_of(node: WarpInstruction, operand: Expr) -> int:
    """Return how many elements in a row an operand stands for; each of several fragments of a move has as many."""
    if isinstance(node.row, MatrixProduct):
        which = _letter(node, operand)
        return node.row.size(which) // (1 if which == "c" else PRODUCTS[node.row.a].packed)
    fragments = len(registers(node)) if node.row.in_memory else 1
    return node.row.count // fragments * per_lane(operand.dtype)


def _letter(node: WarpInstruction, operand: Expr) -> OperandName:
    letters: tuple[OperandName, ...] = ("a", "b", "c")
    return next(letter for letter, each in zip(letters, node.operands, strict=True) if each is operand)


# ---- products ------------------------------------------------------------------------------------------------------


@cache
def _givers(row: MatrixProduct, operand: OperandName, element: int, k: int) -> tuple[int, tuple[int, ...]]:
    """Return which of its elements of A or B each lane is asked for, for an element of C and a k, and which lane asks
    which."""
    wanted = row.places("c")[element][0 if operand == "a" else 1]
    holders: dict[int, tuple[int, int]] = {}  # of each row or column at k: the element, and the lane
    for number, (rows, columns) in enumerate(row.places(operand)):
        lines, along = (rows, columns) if operand == "a" else (columns, rows)
        holders |= {line: (number, lane) for lane, line in enumerate(lines) if along[lane] == k}
    (asked,) = {holders[line][0] for line in wanted}
    return asked, tuple(holders[line][1] for line in wanted)


def _product(node: WarpInstruction, row: MatrixProduct) -> Iterator[Stmt]:
    """c += A @ B: each lane's factors as numbers of C's type, then for each k a shuffle of each that a lane needs."""
    c, place = node.operands[2], node.place
    letters: tuple[OperandName, ...] = ("a", "b")
    own: dict[tuple[OperandName, int], Expr] = {}
    for letter, operand in zip(letters, node.operands, strict=False):
        for number in range(row.size(letter)):
            own[letter, number] = ir.Var(f"{row.name} {letter}{number}", c.dtype, place)
            yield ir.Assign(f"{row.name} {letter}{number}", _number(row, operand, number, c.dtype), place)
    known: dict[tuple[OperandName, tuple[int, tuple[int, ...]]], Expr] = {}
    for k in range(row.k):
        for element in range(row.size("c")):
            factors = []
            for letter in letters:
                number, lanes = asked = _givers(row, letter, element, k)
                if (letter, asked) not in known:
                    name = f"{row.name} {letter} of {k}, {len(known)}"
                    known[letter, asked] = ir.Var(name, c.dtype, place)
                    yield ir.Assign(name, _shuffled(own[letter, number], lanes), place)
                factors.append(known[letter, asked])
            yield _added(_at(c, element), factors[0], factors[1])


def _number(row: MatrixProduct, operand: Expr, number: int, to: DType) -> Expr:
    """Return an element of a lane's fragment, as a number of C's type."""
    packed, place = PRODUCTS[row.a].packed, operand.place
    held: Expr = _at(operand, number // packed)
    if packed > 1:  # of a word of small integers, the lowest first: to the top and down again, or down and cut off
        bits, signed = 32 // packed, held.dtype is DType.I32
        ways: tuple[tuple[ir.BinaryOp, int], ...]
        if signed:
            ways = (("<<", 32 - bits * (number % packed + 1)), (">>", 32 - bits))
        else:
            ways = ((">>", bits * (number % packed)), ("&", (1 << bits) - 1))
        for op, by in ways:
            held = ir.Binary(op, held, ir.Const(by, held.dtype, place), held.dtype, place)
    return held if held.dtype is to else ir.Cast(held, to, place)


def _added(c: Expr, a: Expr, b: Expr) -> Stmt:
    """Return what adds a product to an element of C."""
    if isinstance(c, AccumulatorValue):
        return ir.Accumulate(c.accumulator, c.indices, (a, b), None, c.place)
    assert isinstance(c, Load)
    product = ir.Binary("*", a, b, c.dtype, c.place)
    return ir.Store(c.array, c.indices, ir.Binary("+", c, product, c.dtype, c.place), c.place)


# ---- moves ---------------------------------------------------------------------------------------------------------


def _fragment(node: WarpInstruction, matrix: int, element: int) -> Load:
    """Return a lane's element of one of the matrices that are moved."""
    fragments = registers(node)
    assert isinstance(node.row, MatrixMove)
    each = node.row.count // len(fragments)
    found = fragments[matrix // each]
    moved = _at(found, matrix % each * per_lane(found.dtype) + element)
    assert isinstance(moved, Load)
    return moved


def _own(row: MatrixMove, dtype: DType) -> list[tuple[list[int], list[int]]]:
    """Return the rows and the columns that each of a lane's elements of a matrix has, of all lanes."""
    per, found = per_lane(dtype), []
    for element in range(per):
        group, along = [lane // 4 for lane in range(WARP)], [lane % 4 * per + element for lane in range(WARP)]
        found.append((along, group) if row.transposed else (group, along))
    return found


def _load(node: WarpInstruction) -> Iterator[Stmt]:
    row = row_operand(node)
    assert row is not None and isinstance(node.row, MatrixMove)
    for matrix in range(node.row.count):
        for element, (line, column) in enumerate(_own(node.row, row.dtype)):
            target = _fragment(node, matrix, element)
            value = _in_row(row, [MATRIX_ROWS * matrix + each for each in line], column)
            yield ir.Store(target.array, target.indices, value, node.place)


def _store(node: WarpInstruction) -> Iterator[Stmt]:
    row = row_operand(node)
    assert row is not None and isinstance(node.row, MatrixMove)
    for matrix in range(node.row.count):
        for element, (line, column) in enumerate(_own(node.row, row.dtype)):
            target = _in_row(row, [MATRIX_ROWS * matrix + each for each in line], column)
            yield ir.Store(target.array, target.indices, _fragment(node, matrix, element), node.place)


def _moved(node: WarpInstruction) -> Iterator[Stmt]:
    """Give each lane its elements of the transposed matrix: those of column l // 4 of the rows 2 * (l % 4) and next."""
    source, target = node.operands
    assert isinstance(node.row, MatrixMove)
    per, held = per_lane(source.dtype), []
    for element, (line, column) in enumerate(_own(node.row, source.dtype)):
        lanes = tuple(each * 4 + along // per for each, along in zip(line, column, strict=True))
        sides: list[Expr] = []  # of neither side a lane may be missing, whichever it chooses
        for number in range(per):
            side = f"{node.row.name} {element} {number}"
            yield ir.Assign(side, _shuffled(_at(source, number), lanes), node.place)
            sides.append(ir.Var(side, source.dtype, node.place))
        odd = _table(tuple(along % per for along in column), node.place)
        zero = ir.Const(0, DType.INDEX, node.place)
        even = ir.Compare("==", odd, zero, node.place)
        name = f"{node.row.name} {element}"
        yield ir.Assign(name, ir.Select(even, sides[0], sides[1], source.dtype, node.place), node.place)
        held.append(ir.Var(name, source.dtype, node.place))
    for element, value in enumerate(held):
        into = _at(target, element)
        assert isinstance(into, Load)
        yield ir.Store(into.array, into.indices, value, node.place)


def _in_row(row: Load, givers: list[int], columns: list[int]) -> Load:
    """Return an element of the row that another lane names."""
    asked: list[Expr] = [_shuffled(index, tuple(givers)) for index in row.indices]
    asked[-1] = ir.Binary("+", asked[-1], _table(tuple(columns), row.place), DType.INDEX, row.place)
    return replace(row, indices=tuple(asked))


# ---- expressions ---------------------------------------------------------------------------------------------------


def _at(first: Expr, number: int) -> Load | AccumulatorValue:
    """Return the element so many places behind the first one of a fragment."""
    assert isinstance(first, Load | AccumulatorValue)
    *outer, last = first.indices
    if isinstance(last, ir.Const):
        moved: Expr = replace(last, value=int(last.value) + number)
    else:
        moved = ir.Binary("+", last, ir.Const(number, DType.INDEX, last.place), DType.INDEX, last.place)
    return replace(first, indices=(*outer, moved))


def _shuffled(value: Expr, lanes: tuple[int, ...]) -> ir.Shuffle:
    return ir.Shuffle("idx", None, value, _table(lanes, value.place), value.dtype, value.place)


def _table(entries: tuple[int, ...], place: Place) -> ir.Lookup:
    return ir.Lookup(entries, ir.Coordinate("laneid", "x", place), place)
