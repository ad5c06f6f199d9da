"""Expressions as CUDA C++ text: one precedence table, the fewest parentheses, the right operand one level up.

C rounds `/` and `%` towards zero; the language rounds down. If the ranges show that no operand is negative, the two
agree, and C's operators are printed. A power of two becomes a mask or a shift, which round down by themselves.
Everything else calls `floor_div` and `floor_mod`, which are defined in the printed text when used. Signed data wraps in
the language, but overflow is undefined in C++, so signed data is added, subtracted and multiplied as unsigned. Indices
are `int` where that is enough (`width`).

Which indices need 64 bits: the language's integers are unbounded, but C's `int` overflows silently.

An index is a `long long` in the text unless the ranges show that it and every intermediate value fit an `int`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace
from typing_extensions import assert_never

from cuda_out.analysis.registers import steady_and_moved
from cuda_out.c.emitter import c_name
from cuda_out.c.types import C_TYPE, HALF_BITS, OF_HALF, TO_HALF, literal, nearest_half, reciprocal
from cuda_out.passes.packed_words import WordMove, per_word
from cuda_out.passes.vectors import VectorAccess
from cuda_out.tiling.length_text import TileText
from symbolic.algebra.operator_laws import infix
from symbolic.ir import program as ir
from symbolic.ir.facts import Facts, facts_where, launch_facts, range_of, rewrite, trip_range
from symbolic.ir.functions import ChoiceFunction, External, FunctionRow, Gather, MathFunction, WordFunction
from symbolic.ir.program import Axis, DType, Expr, Program, Stmt
from symbolic.ir.walk import Body, children

INT: Final = (-(2**31), 2**31 - 1)


def is_wide(expr: Expr, facts: Facts, names: Set[str]) -> bool:
    """Say whether an index is a `long long` in C; `names` are the variables that are `long long`."""
    if expr.dtype is not DType.INDEX:
        return False
    match expr:
        case ir.Const(value=value):
            return not -(2**31) <= value < 2**32  # what lies between is a 32-bit mask
        case ir.Var(name=name):
            return name in names
        case ir.Binary(op="%", left=left, right=right):
            # C divides for a remainder: the least int by -1 overflows.
            quotient = range_of(left, facts).floor_div(range_of(right, facts))
            return not quotient.within(*INT) or _any(expr, facts, names)
        case ir.Unary(op="-" | "abs") | ir.Binary(op="+" | "-" | "*" | "//" | "<<"):
            return not range_of(expr, facts).within(*INT) or _any(expr, facts, names)
        case ir.Unary() | ir.Binary() | ir.Select():
            return _any(expr, facts, names)
        case _:
            return False


def _any(expr: Expr, facts: Facts, names: Set[str]) -> bool:
    return any(is_wide(child, facts, names) for child in children(expr))


def wide_names(program: Program) -> frozenset[str]:
    """Return the variables of a program that hold wide indices, loop variables included."""
    found: set[str] = set()
    while True:
        known = frozenset(found)

        def visit(stmt: Stmt, facts: Facts, known: frozenset[str] = known) -> Body:
            match stmt:
                case ir.Assign(name=name, value=value) if is_wide(value, facts, known):
                    found.add(name)
                case ir.For(variable=variable):
                    trip = trip_range(stmt, facts)
                    if trip is not None and not trip.within(*INT):
                        found.add(variable)
                case _:
                    pass
            return (stmt,)

        rewrite(program.body, launch_facts(program), visit)
        if found == known:
            return known


LOOSEST: Final = 0
TERNARY, UNARY, PRIMARY = 3, 15, 16
PRECEDENCE: Final[Mapping[str, int]] = {
    "or": 4, "and": 5, "|": 6, "^": 7, "&": 8, "==": 9, "!=": 9, "<": 10, "<=": 10, ">": 10, ">=": 10,
    "<<": 11, ">>": 11, "+": 12, "-": 12, "*": 13, "/": 13, "//": 13, "%": 13,
}  # fmt: skip
SPELLING: Final[Mapping[str, str]] = {"or": "||", "and": "&&", "//": "/"}
UNSIGNED: Final[Mapping[DType, DType]] = {DType.I32: DType.U32, DType.I64: DType.U64}
WRAPPING: Final = frozenset({"+", "-", "*", "<<"})
BITWISE: Final = frozenset({"|", "^", "&", "<<", ">>"})
FULL_MASK: Final = "0xffffffffu"


class CText(Struct, frozen=True):
    """C text and the precedence of its outermost operator; `op` is that operator, or ''."""

    text: str
    level: int
    op: str = ""

    def at(self, level: int) -> str:
        """Return the text as an operand that must bind at least this tightly."""
        return self.text if self.level >= level else f"({self.text})"

    def inside(self, op: str, level: int) -> str:
        """Return the text as an operand of `op`, with parentheses where readers (and gcc) could misread the mixture."""
        mixed = self.op != "" and self.op != op and (op in BITWISE or (op, self.op) == ("or", "and"))
        return f"({self.text})" if mixed else self.at(level)


class ExpressionPrinter(Struct):
    """Prints expressions of one program; remembers which helpers the text needs."""

    names: Mapping[str, str]
    shapes: Mapping[str, tuple[int | str, ...]]  # of parameters, which are flat pointers; a name where it varies
    coordinates: Mapping[tuple[str, str], CText]
    warp_size: int
    tiles: TileText | None = None
    wide: frozenset[str] = frozenset()  # the index variables that are `long long`
    ieee_division: bool = False
    whole: str = ""  # the name of what says that a block is whole, where the text asks for that
    helpers: set[str] = field(default_factory=set)
    words: Mapping[str, ir.DeclareArray] = {}  # the arrays of small elements that are words, several to a word
    table: str = "table_"  # what the names of tables begin with
    tables: dict[tuple[int, ...], str] = field(default_factory=dict)  # those that the text looks numbers up in
    static: frozenset[str] = frozenset()  # the variables that compilers know once they unroll loops
    declared: Mapping[str, ir.DeclareArray | ir.DeclareAccumulator] = {}
    guarded: set[Axis] = field(default_factory=set)  # the axes along which only blocks that are not whole need bounds

    def text(self, expr: Expr, facts: Facts, level: int = LOOSEST) -> str:
        """Return the expression as an operand that must bind at least as tightly as `level`."""
        return self.print(expr, facts).at(level)

    def print(self, expr: Expr, facts: Facts) -> CText:
        if (single := in_single_precision(expr)) is not expr:
            return self.print(single, facts)
        match expr:
            case ir.Const(value=value, dtype=dtype):
                spelled = literal(value, DType.I64 if is_wide(expr, facts, self.wide) else dtype)
                return CText(spelled, UNARY if spelled.startswith("-") else PRIMARY)
            case ir.Var(name=name):
                return CText(self.names[name], PRIMARY)
            case ir.Coordinate(name=coordinate, axis=axis):
                if self.whole and coordinate in ("before", "left") and axis != "k":
                    self.guarded.add(axis)
                return self.coordinates[(coordinate, axis)]
            case ir.Unary(op=op, operand=operand, dtype=dtype):
                return self._unary(op, operand, dtype, facts)
            case ir.Binary():
                return self._binary(expr, facts)
            case ir.Apply():
                return self._apply(expr, facts)
            case ir.Compare(op=op, left=left, right=right):
                level = PRECEDENCE[op]
                return CText(f"{self.text(left, facts, level)} {op} {self.text(right, facts, level + 1)}", level, op)
            case ir.Logic(op=op, left=left, right=right):
                level = PRECEDENCE[op]
                first = self.print(left, facts).inside(op, level)
                second = self.print(right, facts).inside(op, level)
                return CText(f"{first} {SPELLING[op]} {second}", level, op)
            case ir.Select(condition, then, otherwise):
                yes = self.text(then, facts_where(condition, True, facts), TERNARY + 1)
                no = self.text(otherwise, facts_where(condition, False, facts), TERNARY)
                return CText(f"{self.text(condition, facts, TERNARY + 1)} ? {yes} : {no}", TERNARY, "?")
            case ir.Lookup(entries=entries, index=index):
                name = self.tables.setdefault(entries, f"{self.table}{len(self.tables) + 1}")
                return CText(f"{name}[{self.text(index, facts)}]", PRIMARY)
            case ir.Cast(operand=operand, dtype=dtype):
                return self._cast(operand, dtype, facts)
            case ir.Load(array=array, indices=indices) if array in self.words:
                return self._of_word(expr, facts)
            case ir.Load(array=array, indices=indices, dtype=dtype):
                element, inside = self.element(array, indices, facts), self.inside(array, indices, facts)
                if not inside:
                    return CText(element, PRIMARY)
                assert self.tiles is not None
                return CText(f"{inside} ? {element} : {literal(self.tiles.filler_of(array), dtype)}", TERNARY, "?")
            case ir.Shuffle():
                return self._shuffle(expr, facts)
            case ir.AccumulatorValue(accumulator=accumulator, indices=indices):
                return CText(self.element(accumulator, indices, facts), PRIMARY)
            case ir.HoleCall(hole=hole):
                raise AssertionError(f"hole {hole} is not filled: only solved programs are printed")
            case _:
                assert_never(expr)

    def inside(self, array: str, indices: tuple[Expr, ...], facts: Facts) -> str:
        """Return the condition that an element of a tiled array exists, '' if it always does."""
        if self.tiles is None or array not in self.shapes:
            return ""
        conditions, axes, covered = [], set[Axis](), bool(self.whole)
        for dimension, index in enumerate(indices):
            known = range_of(index, facts)
            if bound := self.tiles.bound(array, dimension, index, known):
                conditions.append(f"{self.text(index, facts, PRECEDENCE['<'])} < {bound}")
                covered &= self.tiles.covered(array, dimension, known)
                span = self.tiles.span(array, dimension)
                assert span is not None, "only what is tiled has bounds"
                axes.add(span.axis)
        inside = " && ".join(conditions)
        if not inside or not covered:
            return inside
        self.guarded |= axes
        return f"{self.whole} || {f'({inside})' if len(conditions) > 1 else inside}"

    def filled(self, vector: VectorAccess, facts: Facts) -> list[str]:
        """Return the lines that give a vector's registers what is read past the end of an array."""
        assert self.tiles is not None, "only what is tiled has an end"
        filler = literal(self.tiles.filler_of(vector.array), vector.dtype)
        return [self.stored(each.array, each.indices, filler, facts) for each in vector.registers]

    def element(self, array: str, indices: tuple[Expr, ...], facts: Facts) -> str:
        """Return `array[...]`: parameters are flat, row-major; local and shared arrays keep their dimensions."""
        name = self.names[array]
        if array not in self.shapes or not indices:
            return name + "".join(f"[{self.text(index, facts)}]" for index in indices)
        flat = self._flat(array, indices, self.shapes[array], facts)
        if self.tiles and array not in self.tiles.moved and (begin := self.tiles.offset(array)):
            flat = CText(begin if flat.text == "0" else f"{begin} + {flat.inside('+', 12)}", 12, "+")
        return f"{name}[{flat.text}]"

    def _flat(self, array: str, indices: Sequence[Expr], shape: Sequence[int | str], facts: Facts) -> CText:
        """Return the place of an element, row-major, in an array of a shape."""
        flat, count = self.print(indices[0], facts), 1
        for extent in shape:
            count *= extent if isinstance(extent, int) else 1
        first = self.tiles.span(array, 0) if self.tiles and array in self.shapes else None
        if (count > 2**31 - 1 or (first and first.axis == "k")) and len(indices) > 1:
            flat = CText(f"static_cast<long long>({flat.text})", PRIMARY)
        for index, extent in zip(indices[1:], shape[1:], strict=True):
            if flat.text != "0" and extent != 1:
                flat = CText(f"{flat.at(13)} * {extent}" if flat.text != "1" else str(extent), 13)
            if isinstance(index, ir.Const) and index.value == 0:
                continue
            # Index sums associate, so the right operand needs no parentheses of its own.
            last = self.print(index, facts)
            flat = last if flat.text == "0" else CText(f"{flat.at(12)} + {last.inside('+', 12)}", 12, "+")
        return flat

    def address(self, array: str, indices: tuple[Expr, ...], facts: Facts) -> str:
        """Return a pointer to an element. What loops add that compilers unroll is added to a pointer to the rest: sums
        of pointers have constants apart, and those of indices of 32 bits have not."""
        parts = [steady_and_moved(index, self.static) for index in indices]
        kept, moved = zip(*parts, strict=True) if parts else ((), ())
        bounded = all(range_of(part, facts).lo >= 0 for pair in parts for part in pair)
        if not bounded or all(map(_is_number, kept)) or all(map(_is_number, moved)):
            return f"&{self.element(array, indices, facts)}"
        shape = self.shapes[array] if array in self.shapes else self.declared[array].shape
        return f"&(&{self.element(array, kept, facts)})[{self._flat(array, moved, shape, facts).text}]"

    def word(self, array: str, number: int | Expr, facts: Facts) -> str:
        """Return a word of an array of words."""
        return f"{self.names[array]}[{number if isinstance(number, int) else self.text(number, facts)}]"

    def stored(self, array: str, indices: tuple[Expr, ...], value: str, facts: Facts) -> str:
        """Return the statement that stores a value's text as an element."""
        if array not in self.words:
            return f"{self.element(array, indices, facts)} = {value};"
        self.helpers.add("with_element")
        dtype = self.words[array].dtype
        word, at = self._place(array, indices, facts)
        kind, value = (
            ("unsigned short", f"{HALF_BITS[dtype][0]}({value})") if dtype in HALF_BITS else (C_TYPE[dtype], value)
        )
        return f"{word} = with_element<{kind}>({word}, {at}, {value});"

    def _of_word(self, expr: ir.Load, facts: Facts) -> CText:
        self.helpers.add("element_of")
        word, at = self._place(expr.array, expr.indices, facts)
        if expr.dtype in HALF_BITS:
            return CText(f"{HALF_BITS[expr.dtype][1]}(element_of<unsigned short>({word}, {at}))", PRIMARY)
        return CText(f"element_of<{C_TYPE[expr.dtype]}>({word}, {at})", PRIMARY)

    def _place(self, array: str, indices: tuple[Expr, ...], facts: Facts) -> tuple[str, str]:
        """Return the word that an element is in, and its number there."""
        (index,), per = indices, per_word(self.words[array].dtype)
        if isinstance(index, ir.Const):
            return self.word(array, int(index.value) // per, facts), str(int(index.value) % per)
        by = ir.Const(per, DType.INDEX, index.place)
        number, at = (ir.Binary(op, index, by, DType.INDEX, index.place) for op in ("//", "%"))
        return self.word(array, number, facts), self.text(at, facts)

    def moved(self, move: WordMove, facts: Facts) -> str:
        """Return the text of a word that statements put together."""
        one, *more = (self.word(array, number, facts) for array, number in move.sources)
        if move.shuffle is not None:
            return self._called(move.shuffle, one, facts)
        if move.is_copy:
            return one
        conditions = [self.text(each, facts, TERNARY + 1) for each in move.conditions]
        if move.takes_words:
            then, otherwise = ((one, *more)[each or 0] for each in move.whole)
            return f"{conditions[0]} ? {then} : {otherwise}"
        width = 4 // len(move.rows[0])
        places = ([each * width + byte for each in row for byte in range(width)] for row in move.rows)
        codes = [f"0x{sum(byte << 4 * n for n, byte in enumerate(row)):04x}u" for row in places]
        chosen = "".join(f"{condition} ? {code} : " for condition, code in zip(conditions, codes, strict=False))
        return f"__byte_perm({one}, {more[0] if more else '0u'}, {chosen}{codes[-1]})"

    def _unary(self, op: ir.UnaryOp, operand: Expr, dtype: DType, facts: Facts) -> CText:
        match op:
            case "-" if dtype in UNSIGNED:
                bits = self.modular(operand, facts).at(UNARY + 1)
                return CText(converted(f"-{bits}", dtype), PRIMARY)
            case "-" | "~":
                # One level up: `- -x` would read, and lex without its space, as a decrement.
                return CText(op + self._operand(op, operand, dtype, facts).at(UNARY + 1), UNARY, op)
            case "not":
                return CText("!" + self.text(operand, facts, UNARY), UNARY, op)
            case "abs":
                if dtype.is_unsigned:
                    return self.print(operand, facts)
                if dtype in UNSIGNED:
                    self.helpers.add("wrapping_abs")
                    return CText(f"wrapping_abs({self.text(operand, facts)})", PRIMARY)
                call = {DType.F16: "__habs", DType.F32: "fabsf", DType.F64: "fabs"}.get(dtype, "abs")
                if is_wide(ir.Unary(op, operand, dtype, operand.place), facts, self.wide):
                    call = "llabs"
                return CText(f"{call}({self._operand(op, operand, dtype, facts).text})", PRIMARY)
            case _:
                assert_never(op)

    def _operand(self, op: ir.UnaryOp, operand: Expr, dtype: DType, facts: Facts) -> CText:
        """Return an operand in the type that the result needs."""
        text = self.print(operand, facts)
        widen = is_wide(ir.Unary(op, operand, dtype, operand.place), facts, self.wide)
        return self._widened(operand, text) if widen and not is_wide(operand, facts, self.wide) else text

    def _binary(self, expr: ir.Binary, facts: Facts) -> CText:
        op, dtype = expr.op, expr.dtype
        if not infix(op):
            left, right = self._alike(expr, facts)
            return CText(f"{function_name(op, dtype)}({left.text}, {right.text})", PRIMARY)
        if op == "/":
            return self._quotient(expr, facts)
        if op in ("//", "%") and not dtype.is_unsigned:
            return self._floored(expr, facts)
        if dtype in UNSIGNED and op in WRAPPING:
            return CText(converted(self.modular(expr, facts).text, dtype), PRIMARY)
        left, right = self.print(expr.left, facts), self.print(expr.right, facts)
        return self._infix(op, self._widened(expr.left, left) if self._widens(expr, facts) else left, right)

    def _quotient(self, expr: ir.Binary, facts: Facts) -> CText:
        """Return a quotient of floats; by a constant it is a product with the reciprocal, but for IEEE's."""
        left, right = self.print(expr.left, facts), self.print(expr.right, facts)
        by = expr.right.value if isinstance(expr.right, ir.Const) and not self.ieee_division else 0
        if over := reciprocal(float(by), expr.dtype):
            return self._infix("*", left, CText(over, PRIMARY))
        return self._infix("/", left, right)

    def _apply(self, expr: ir.Apply, facts: Facts) -> CText:
        """Return a call. What a choice chooses from are arguments, as both are computed."""
        row, dtype = expr.function.row, expr.dtype
        if isinstance(row, Gather):
            return self._gathered(expr, row, facts)
        if not isinstance(row, ChoiceFunction):
            arguments = ", ".join(self.text(operand, facts) for operand in expr.operands)
            return CText(f"{_called(row, dtype)}({arguments})", PRIMARY)
        self.helpers.add("chosen")
        a, b, *values = expr.operands
        level = PRECEDENCE[row.compares]
        condition = f"{self.text(a, facts, level)} {row.compares} {self.text(b, facts, level + 1)}"
        then, otherwise = (self._exactly(value, facts) for value in values)
        if dtype in HALF_BITS:  # which are structures to a compiler: it would branch
            bits, number = HALF_BITS[dtype]
            return CText(f"{number}(chosen({condition}, {bits}({then}), {bits}({otherwise})))", PRIMARY)
        return CText(f"chosen({condition}, {then}, {otherwise})", PRIMARY)

    def _gathered(self, expr: ir.Apply, row: Gather, facts: Facts) -> CText:
        """Return a load by data: `x[columns[i]]`, of several dimensions row-major."""
        flat = CText("0", PRIMARY)
        for operand, extent in zip(expr.operands, row.shape, strict=True):
            steers = isinstance(operand, ir.Cast) and not operand.operand.dtype.is_data
            last = self.print(operand.operand if steers and isinstance(operand, ir.Cast) else operand, facts)
            if flat.text != "0":
                row_start = f"{flat.at(13)} * {extent}"
                last = CText(row_start, 13) if last.text == "0" else CText(f"{row_start} + {last.at(13)}", 12, "+")
            flat = last
        return CText(f"{self.names[row.array]}[{flat.text}]", PRIMARY)

    def _exactly(self, expr: Expr, facts: Facts) -> str:
        """Return data as an argument of a template, which must have its very type."""
        text = self.text(expr, facts)
        return converted(text, expr.dtype) if isinstance(expr, ir.Const) and not expr.dtype.is_float else text

    def _widens(self, expr: ir.Binary, facts: Facts) -> bool:
        """Say whether an operation on two ints needs 64 bits."""
        sides = (expr.left, expr.right)
        return is_wide(expr, facts, self.wide) and not any(is_wide(side, facts, self.wide) for side in sides)

    def _widened(self, expr: Expr, text: CText) -> CText:
        if isinstance(expr, ir.Const):
            return CText(literal(expr.value, DType.I64), PRIMARY if expr.value >= 0 else UNARY)
        return CText(converted(text.text, DType.I64), PRIMARY)

    def _alike(self, expr: ir.Binary, facts: Facts) -> tuple[CText, CText]:
        """Return two operands converted to the same C type, for calls of templates and overloads."""
        sides = (expr.left, expr.right)
        wide = [is_wide(side, facts, self.wide) for side in sides]
        some = any(wide) or self._widens(expr, facts)
        left, right = (
            self._widened(side, self.print(side, facts)) if some and not own else self.print(side, facts)
            for side, own in zip(sides, wide, strict=True)
        )
        return left, right

    def modular(self, expr: Expr, facts: Facts) -> CText:
        """Return signed data as an unsigned number of the same bits, computed without signed overflow.

        Signed overflow is undefined in C++, and unsigned numbers wrap. Addition, subtraction, multiplication and left
        shift give the same bits for both.
        """
        unsigned = UNSIGNED[expr.dtype]
        match expr:
            case ir.Const(value=value) if value >= 0:
                return CText(literal(value, unsigned), PRIMARY)
            case ir.Unary(op="-" | "~" as op, operand=operand):
                return CText(op + self.modular(operand, facts).at(UNARY + 1), UNARY, op)
            case ir.Binary(op="<<"):
                return self._infix("<<", self.modular(expr.left, facts), self.print(expr.right, facts))
            case ir.Binary(op=op) if op in WRAPPING or op in BITWISE - {">>"}:
                return self._infix(op, self.modular(expr.left, facts), self.modular(expr.right, facts))
            case _:
                return CText(converted(self.text(expr, facts), unsigned), PRIMARY)

    def _infix(self, op: str, left: CText, right: CText) -> CText:
        level = PRECEDENCE[op]
        return CText(f"{left.inside(op, level)} {SPELLING.get(op, op)} {right.inside(op, level + 1)}", level, op)

    def _floored(self, expr: ir.Binary, facts: Facts) -> CText:
        left, right = self.print(expr.left, facts), self.print(expr.right, facts)
        divisor = expr.right.value if isinstance(expr.right, ir.Const) else 0
        if expr.dtype is DType.INDEX and range_of(expr.left, facts).lo >= 0 and range_of(expr.right, facts).lo >= 0:
            return self._infix(expr.op, left, right)
        if not expr.dtype.is_float and divisor > 0 and int(divisor) & (int(divisor) - 1) == 0:
            if expr.op == "%":
                return self._infix("&", left, CText(literal(int(divisor) - 1, expr.dtype), PRIMARY))
            return self._infix(">>", left, CText(str(int(divisor).bit_length() - 1), PRIMARY))
        left, right = self._alike(expr, facts)
        helper = "floor_div" if expr.op == "//" else "floor_mod"
        self.helpers.add(helper if not expr.dtype.is_float else f"{helper}_{expr.dtype.value}")
        return CText(f"{helper}({left.text}, {right.text})", PRIMARY)

    def _cast(self, operand: Expr, dtype: DType, facts: Facts) -> CText:
        inner, source = self.text(operand, facts), operand.dtype
        if source is dtype:
            return self.print(operand, facts)
        if source in OF_HALF:
            source, inner = DType.F32, f"{OF_HALF[source]}({inner})"
            if dtype is DType.F32:
                return CText(inner, PRIMARY)
        if dtype in TO_HALF:
            if source is DType.F64 and dtype is DType.F16:
                return CText(f"__double2half({inner})", PRIMARY)
            inner = inner if source is DType.F32 else converted(inner, DType.F32)
            return CText(f"{TO_HALF[dtype]}({inner})", PRIMARY)
        return CText(converted(inner, dtype), PRIMARY)

    def _shuffle(self, expr: ir.Shuffle, facts: Facts) -> CText:
        offered = self.text(expr.value, facts)
        if expr.dtype is DType.BOOL:
            return CText(f"{self._called(expr, f'int({offered})', facts)} != 0", 9, "!=")
        if expr.dtype.is_narrow:
            return CText(converted(self._called(expr, f"int({offered})", facts), expr.dtype), PRIMARY)
        return CText(self._called(expr, offered, facts), PRIMARY)

    def _called(self, expr: ir.Shuffle, offered: str, facts: Facts) -> str:
        """Return the call of a shuffle of what is offered."""
        call = {"idx": "__shfl_sync", "up": "__shfl_up_sync", "down": "__shfl_down_sync", "xor": "__shfl_xor_sync"}
        mask, lane = FULL_MASK, self.text(expr.lane, facts)
        if is_wide(expr.lane, facts, self.wide):
            lane = f"int({lane})"
        match expr.mask:
            case None:
                pass
            case ir.Const(value=value):
                mask = f"0x{int(value) & 0xFFFFFFFF:x}u"
            case _:
                mask = converted(self.text(expr.mask, facts), DType.U32)
        width = "" if self.warp_size == 32 else f", {self.warp_size}"
        return f"{call[expr.mode]}({mask}, {offered}, {lane}{width})"


def _is_number(expr: Expr) -> bool:
    return isinstance(expr, ir.Const)


def in_single_precision(expr: Expr) -> Expr:
    """Return an operation on bf16, or a quotient or a function of mathematics of halves, as one on floats that is
    rounded; others as they are.

    A float has more than twice their digits, so that + - * / round as if they rounded once. CUDA's own functions are
    instructions on some architectures only, and __hdiv branches on its operands.
    """
    bf16 = expr.dtype is DType.BF16

    def wide(part: Expr) -> Expr:
        if isinstance(part, ir.Const):
            return replace(part, value=nearest_half(float(part.value), part.dtype), dtype=DType.F32)
        return ir.Cast(part, DType.F32, part.place)

    match expr:
        case ir.Binary(op=op, left=left, right=right) if (bf16 and not isinstance(op, ir.OperatorName)) or (
            expr.dtype is DType.F16 and op == "/"
        ):
            found: Expr = replace(expr, left=wide(left), right=wide(right), dtype=DType.F32)
        case ir.Unary(operand=operand) if bf16:
            found = replace(expr, operand=wide(operand), dtype=DType.F32)
        case ir.Apply(ir.FunctionName(row=MathFunction()), operands) if expr.dtype in TO_HALF:
            found = replace(expr, operands=tuple(map(wide, operands)), dtype=DType.F32)
        case ir.Apply(ir.FunctionName(row=ChoiceFunction()), (a, b, *rest)) if a.dtype is DType.BF16:
            return replace(expr, operands=(wide(a), wide(b), *rest))
        case _:
            return expr
    return ir.Cast(found, expr.dtype, expr.place)


def _called(row: FunctionRow, dtype: DType) -> str:
    match row:
        case MathFunction(cuda=cuda):
            return cuda[dtype]
        case External():
            return external_name(row)
        case WordFunction(spelled=spelled):
            return spelled
    raise AssertionError(f"{row.symbol} is no function of the text")


def function_name(op: str, dtype: DType) -> str:
    """Return the function by which an operator is printed that is not written between its operands.

    >>> function_name("min", DType.F32), function_name("min", DType.I32)
    ('fminf', 'min')
    """
    if isinstance(op, ir.OperatorName):
        return c_name(f"{op}_{dtype.value}")
    return {DType.F16: f"__h{op}", DType.F32: f"f{op}f", DType.F64: f"f{op}"}.get(dtype, op)


def external_name(row: External) -> str:
    """Return the device function by which a function of the user's own is printed."""
    return c_name(f"{row.symbol}_{row.gives.value}")


def converted(text: str, dtype: DType) -> str:
    """Return a conversion to the type: `float(x)`, or a cast if the type's name has several words."""
    name = "unsigned" if dtype is DType.U32 else C_TYPE[dtype]
    return f"static_cast<{name}>({text})" if " " in name else f"{name}({text})"
