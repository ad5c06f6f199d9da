"""Expressions as Python text for numba.cuda, and the lines that they stand on.

numba computes every sum and product of integers in 64 bits, so 32-bit data is converted back, but only where its exact
value matters (`modular`). numba mixes signed and unsigned 64-bit numbers as float64, so every constant of data is
converted to its type. Indices stay 64-bit integers, for which `//` and `%` round down as they do in the language.

Lines are indented and folded inside brackets, with names that are legal, not reserved, and not used by the printed
module itself.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from msgspec import Struct, field
from typing_extensions import assert_never

from cuda_out.c.emitter import WIDTH, different_names, fold
from cuda_out.c.expressions import CText
from cuda_out.tiling.length_text import TileText
from symbolic.algebra.operator_laws import infix, law_of
from symbolic.elements import limits
from symbolic.errors import Place, SwizzleError
from symbolic.ir import program as ir
from symbolic.ir.facts import Facts, facts_where, range_of
from symbolic.ir.functions import ChoiceFunction, External, Gather, MathFunction, WordFunction
from symbolic.ir.program import DType, Expr, FunctionName

NUMBA_TYPE: Final = {dtype: dtype.row.numba for dtype in DType if dtype.row.numba}
"""numba's types of values; half precision is missing, because numba does not compute with it."""
OWN: Final = frozenset(
    ["cuda", "math", "libdevice", "inf", "nan", "stream", "checks", "name", "array", "dtype", "shape", "found"]
).union(NUMBA_TYPE.values())


def python_name(name: str) -> str:
    """Return the name, with an underscore added if Python or the printed module reserves it."""
    reserved = keyword.iskeyword(name) or hasattr(builtins, name) or name in OWN
    return f"{name}_" if reserved else name


def python_names(names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """Return a Python name for each name, all different."""
    return different_names(names, python_name, taken)


_VALUE = re.compile(r"([^\W\d]\w*(?:\[.*?\])? [-+*&|^]?= )(.*)")
_CONDITION = re.compile(r"((?:el)?if )(.*):")
COOKIE: Final = re.compile(r"[ \t\f]*#.*?coding[:=]")
"""What Python takes for the name of an encoding, in the first two lines of a file."""
_GOES_ON: Final = ("if ", "else ", "and ", "or ", "+ ", "- ", "^ ", "| ", "& ")


def first_comment(lines: Iterable[str]) -> list[str]:
    """Return the comment at the top of a file, none of whose lines names an encoding."""
    comment = [f"# {line}".rstrip() for line in "\n".join(lines).splitlines()]
    while named := [at for at, line in enumerate(comment[:2]) if COOKIE.match(line)]:
        comment.insert(named[0], "#")
    return comment


def bracketed(text: str) -> str:
    """Return a statement with brackets around its value or condition, so that it can be folded there."""
    if condition := _CONDITION.fullmatch(text):
        return f"{condition[1]}({condition[2]}):"
    value = _VALUE.fullmatch(text)
    return f"{value[1]}({value[2]})" if value else text


def _folded(text: str, width: int) -> list[str]:
    """Split a statement at spaces inside its brackets into pieces of at most `width`, if possible.

    >>> _folded("y = (first[a, b] + second[c, d])", 24)
    ['y = (first[a, b]', '+ second[c, d])']
    """
    return fold(text, width, width, before=_GOES_ON, goes_on=(), bracketed=True)


class PythonLines:
    """The lines of a module or of a function's body."""

    def __init__(self, depth: int = 0) -> None:
        self._lines: list[str] = []
        self._depth = depth

    def line(self, text: str = "") -> None:
        indent = "    " * self._depth
        if len(indent + text) <= WIDTH or text.startswith("#"):
            self._lines.append((indent + text).rstrip())
            return
        for number, piece in enumerate(_folded(bracketed(text), WIDTH - len(indent) - 4)):
            self._lines.append(indent + ("    " if number else "") + piece)

    @contextmanager
    def nested(self, head: str) -> Iterator[None]:
        """Indent what follows under `head`; a body without statements gets a `pass`."""
        self.line(head)
        count = len(self._lines)
        self._depth += 1
        yield
        if len(self._lines) == count:
            self.line("pass")
        self._depth -= 1

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)


TERNARY, UNARY, PRIMARY = 1, 12, 16
PRECEDENCE: Final[Mapping[str, int]] = {
    "or": 2, "and": 3, "not": 4, "==": 5, "!=": 5, "<": 5, "<=": 5, ">": 5, ">=": 5, "|": 6, "^": 7, "&": 8,
    "<<": 9, ">>": 9, "+": 10, "-": 10, "*": 11, "/": 11, "//": 11, "%": 11,
}  # fmt: skip
MODULAR: Final = frozenset({"+", "-", "*", "&", "|", "^"})
FULL_MASK: Final = "0xFFFFFFFF"


class NumbaExpressions(Struct):
    """Prints expressions of one program. `used` are the numba types and the constants of `math` that the text names,
    `modules` the modules whose functions it calls."""

    names: Mapping[str, str]
    shapes: Mapping[str, tuple[int, ...]]  # of parameters
    coordinates: Mapping[tuple[str, str], CText]
    warp_size: int
    functions: Mapping[FunctionName, str]  # on words, by their names in the text
    tiles: TileText | None = None
    used: set[str] = field(default_factory=set)
    modules: set[str] = field(default_factory=set)

    def type_name(self, dtype: DType, expr: ir.Expr | ir.Stmt | ir.Parameter) -> str:
        """Return numba's name of an element type, and note that the module must import it."""
        self.require(dtype, expr.place)
        self.used.add(NUMBA_TYPE[dtype])
        return NUMBA_TYPE[dtype]

    def require(self, dtype: DType, place: Place) -> None:
        """Refuse half-precision data."""
        if dtype not in NUMBA_TYPE:
            raise SwizzleError(
                f"numba.cuda has no {dtype.value} that can be shuffled",
                place=place,
                expected="f32, f64 or integers",
                fix="take the CUDA text instead: --emit cuda, to_cuda()",
            )

    def cast(self, text: str, dtype: DType, expr: ir.Expr | ir.Stmt) -> str:
        return f"{self.type_name(dtype, expr)}({text})"

    def literal(self, value: int | float | bool, dtype: DType, expr: ir.Expr | ir.Stmt) -> str:
        """Return a constant of its type; an integer that does not fit wraps, as in NumPy."""
        if dtype is DType.BOOL:
            return str(bool(value))
        if dtype is DType.INDEX:
            return str(int(value))
        if not dtype.is_float:
            low, high = limits(dtype)
            return self.cast(str((int(value) - low) % (high - low + 1) + low), dtype, expr)
        number = float(value)
        if not math.isfinite(number):
            self.used.add(name := "nan" if math.isnan(number) else "inf")
            return self.cast(f"-{name}" if number < 0 else name, dtype, expr)
        whole = number.is_integer() and abs(number) < 2**24 and math.copysign(1, number) > 0
        return self.cast(str(int(number)) if whole else repr(number), dtype, expr)

    def start(self, stmt: ir.DeclareAccumulator) -> str:
        """Return an accumulator's first value."""
        value = law_of(stmt.outer).start(stmt.dtype) if stmt.init is None else stmt.init.value
        return self.literal(value, stmt.dtype, stmt)

    def text(self, expr: Expr, facts: Facts, level: int = 0) -> str:
        """Return the expression, of exactly its type, as an operand that must bind at least as tightly as `level`."""
        return self.print(expr, facts).at(level)

    def print(self, expr: Expr, facts: Facts) -> CText:
        match expr:
            case ir.Const(value=value, dtype=dtype):
                spelled = self.literal(value, dtype, expr)
                return CText(spelled, UNARY if spelled.startswith("-") else PRIMARY)
            case ir.Var(name=name):
                return CText(self.names[name], PRIMARY)
            case ir.Coordinate(name=coordinate, axis=axis):
                return self.coordinates[(coordinate, axis)]
            case ir.Unary():
                return self._unary(expr, facts)
            case ir.Binary(op=op, left=left, right=right) if not infix(op):
                if isinstance(op, ir.OperatorName):
                    call = f"{python_name(op)}({self.text(left, facts)}, {self.text(right, facts)})"
                    return CText(self.cast(call, expr.dtype, expr), PRIMARY)
                return CText(f"{op}({self.text(left, facts)}, {self.text(right, facts)})", PRIMARY)
            case ir.Binary(op=op, left=left, right=right, dtype=dtype):
                if dtype is DType.INDEX or dtype.is_float:
                    return self._infix(op, self.print(left, facts), self.print(right, facts))
                return CText(self.cast(self.modular(expr, facts).text, dtype, expr), PRIMARY)
            case ir.Apply():
                return self._apply(expr, facts)
            case ir.Compare(op=op, left=left, right=right):
                level = PRECEDENCE[op]
                return CText(
                    f"{self.text(left, facts, level + 1)} {op} {self.text(right, facts, level + 1)}", level, op
                )
            case ir.Logic(op=op, left=left, right=right):
                level = PRECEDENCE[op]
                first = self.print(left, facts).inside(op, level)
                second = self.print(right, facts).inside(op, level)
                return CText(f"{first} {op} {second}", level, op)
            case ir.Select(condition, then, otherwise):
                yes = self.text(then, facts_where(condition, True, facts), TERNARY + 1)
                no = self.text(otherwise, facts_where(condition, False, facts), TERNARY)
                return CText(f"{yes} if {self.text(condition, facts, TERNARY + 1)} else {no}", TERNARY, "if")
            case ir.Lookup():
                raise SwizzleError(
                    "numba.cuda text has no table in constant memory",
                    place=expr.place,
                    expected="a formula, or a table of up to 64 bytes, which is packed into numbers",
                    fix="take the CUDA text instead: --emit cuda, to_cuda()",
                )
            case ir.Cast(operand=operand, dtype=dtype):
                if operand.dtype is dtype:
                    return self.print(operand, facts)
                self.require(operand.dtype, operand.place)
                return CText(self.cast(self.text(operand, facts), dtype, expr), PRIMARY)
            case ir.Load(array=array, indices=indices, dtype=dtype):
                element, inside = self.element(array, indices, facts), self.inside(array, indices, facts)
                if not inside:
                    return CText(element, PRIMARY)
                assert self.tiles is not None
                return CText(
                    f"{element} if {inside} else {self.literal(self.tiles.filler_of(array), dtype, expr)}",
                    TERNARY,
                    "if",
                )
            case ir.Shuffle():
                return self._shuffle(expr, facts)
            case ir.AccumulatorValue(accumulator=accumulator, indices=indices):
                return CText(self.element(accumulator, indices, facts), PRIMARY)
            case ir.HoleCall(hole=hole):
                raise AssertionError(f"hole {hole} is not filled: only solved programs are printed")
            case _:
                assert_never(expr)

    def _apply(self, expr: ir.Apply, facts: Facts) -> CText:
        row = expr.function.row
        if isinstance(row, Gather):
            whole = [o.operand if isinstance(o, ir.Cast) and not o.operand.dtype.is_data else o for o in expr.operands]
            indices = ", ".join(self.text(each, facts) for each in whole)
            return CText(f"{self.names[row.array]}[{indices}]", PRIMARY)
        if isinstance(row, External):
            raise SwizzleError(
                f"numba.cuda has no text of the function {expr.function}",
                place=expr.place,
                expected="functions of the language: cuda.external gives a text in CUDA C++",
                fix="print it as CUDA C++, or write it with math and @cuda.jit(device=True)",
            )
        if isinstance(row, WordFunction):
            self._note(row)
            given = ", ".join(self.text(operand, facts) for operand in expr.operands)
            return CText(f"{self.functions[expr.function]}({given})", PRIMARY)
        if isinstance(row, MathFunction):
            call = ", ".join(self.text(operand, facts) for operand in expr.operands)
            name = row.numba
            self.modules |= {"math", "libdevice"} & {name.partition(".")[0]}
            name += "f" if name.startswith("libdevice.") and expr.dtype is DType.F32 else ""
            return CText(self.cast(f"{name}({call})", expr.dtype, expr), PRIMARY)
        assert isinstance(row, ChoiceFunction), "states are words by now"
        a, b, then, otherwise = expr.operands
        level = PRECEDENCE[row.compares]
        test = f"{self.text(a, facts, level + 1)} {row.compares} {self.text(b, facts, level + 1)}"
        yes, no = self.text(then, facts, TERNARY + 1), self.text(otherwise, facts, TERNARY)
        return CText(f"{yes} if {test} else {no}", TERNARY, "if")

    def _note(self, row: WordFunction) -> None:
        """Note what the text of a function on words needs to be imported."""
        names = {node.id for node in ast.walk(ast.parse(row.python)) if isinstance(node, ast.Name)}
        self.used |= names & set(NUMBA_TYPE.values())
        self.modules |= names & {"math"}

    def modular(self, expr: Expr, facts: Facts) -> CText:
        """Return integer data computed in 64 bits: its low bits are right, and its type is int64 or uint64."""
        match expr:
            case ir.Binary(op=op, left=left, right=right) if op in MODULAR:
                return self._infix(op, self.modular(left, facts), self.modular(right, facts))
            case ir.Binary(op="<<", left=left, right=right):
                return self._infix("<<", self.modular(left, facts), self.print(right, facts))
            case ir.Binary(op=op, left=left, right=right) if infix(op):
                return self._infix(op, self.print(left, facts), self.print(right, facts))
            case ir.Unary(op="~", operand=operand):
                return CText(f"~{self.modular(operand, facts).at(UNARY)}", UNARY)
            case _:
                return self.print(expr, facts)

    def _unary(self, expr: ir.Unary, facts: Facts) -> CText:
        operand, dtype = expr.operand, expr.dtype
        plain = dtype is DType.INDEX or dtype.is_float
        match expr.op:
            case "not":
                level = PRECEDENCE["not"]
                return CText(f"not {self.text(operand, facts, level)}", level, "not")
            case "-" if dtype.is_unsigned:
                zero = self.literal(0, dtype, expr)
                return CText(self.cast(f"{zero} - {self.modular(operand, facts).at(11)}", dtype, expr), PRIMARY)
            case "-" | "~" as op:
                if plain:
                    return CText(op + self.text(operand, facts, UNARY + 1), UNARY)
                return CText(self.cast(op + self.modular(operand, facts).at(UNARY + 1), dtype, expr), PRIMARY)
            case "abs":
                if dtype.is_unsigned:
                    return self.print(operand, facts)
                call = f"abs({self.text(operand, facts)})"
                return CText(call if plain else self.cast(call, dtype, expr), PRIMARY)
            case _:
                assert_never(expr.op)

    def _infix(self, op: str, left: CText, right: CText) -> CText:
        level = PRECEDENCE[op]
        return CText(f"{left.inside(op, level)} {op} {right.inside(op, level + 1)}", level, op)

    def inside(self, array: str, indices: tuple[Expr, ...], facts: Facts) -> str:
        """Return the condition that an element of a tiled array exists, '' if it always does."""
        if self.tiles is None or array not in self.shapes:
            return ""
        conditions = []
        for dimension, index in enumerate(indices):
            if bound := self.tiles.bound(array, dimension, index, range_of(index, facts)):
                conditions.append(f"{self.text(index, facts, PRECEDENCE['<'] + 1)} < {bound}")
        return " and ".join(conditions)

    def element(self, array: str, indices: tuple[Expr, ...], facts: Facts) -> str:
        """Return `array[...]`; in a tiled array, counted from the start of the block's own part."""
        if not indices:
            return self.names[array]
        texts = []
        for dimension, index in enumerate(indices):
            own = self.print(index, facts)
            span = self.tiles.span(array, dimension) if self.tiles is not None and array in self.shapes else None
            if span is not None and span.axis != "k":
                assert self.tiles is not None
                begin = self.tiles.begins[span.axis]
                begin = begin if span.scale == 1 else f"{span.scale} * {begin}"
                own = CText(begin if own.text == "0" else f"{begin} + {own.inside('+', PRECEDENCE['+'])}", 10)
            texts.append(own.text)
        return f"{self.names[array]}[{', '.join(texts)}]"

    # ---- shuffles ----------------------------------------------------------------------------------------------

    def _shuffle(self, expr: ir.Shuffle, facts: Facts) -> CText:
        """numba shuffles int32, int64, float32 and float64, in warps of 32."""
        dtype, mask = expr.dtype, FULL_MASK
        if expr.mask is not None:
            mask = (
                f"0x{int(expr.mask.value) & 0xFFFFFFFF:X}"
                if isinstance(expr.mask, ir.Const)
                else self.text(expr.mask, facts)
            )
        carrier = {
            DType.BOOL: DType.I32,
            DType.U32: DType.I32,
            DType.U64: DType.I64,
            DType.INDEX: DType.I32 if range_of(expr.value, facts).within(-(2**31), 2**31 - 1) else DType.I64,
        }.get(dtype, DType.I32 if dtype.is_narrow else dtype)
        offered = self.text(expr.value, facts)
        if carrier is not dtype:
            offered = self.cast(offered, carrier, expr)
        self.require(dtype, expr.place)
        call, lane = self._source(expr, facts)
        text = f"cuda.{call}({mask}, {offered}, {lane})"
        if dtype is DType.BOOL:
            return CText(f"{text} != 0", PRECEDENCE["!="], "!=")
        return CText(self.cast(text, dtype, expr) if dtype.is_unsigned or dtype.is_narrow else text, PRIMARY)

    def _source(self, expr: ir.Shuffle, facts: Facts) -> tuple[str, str]:
        """Return which function shuffles, and its last argument; a delta is less than the warp size."""
        width = self.warp_size
        if width == 32:
            names = {"idx": "shfl_sync", "up": "shfl_up_sync", "down": "shfl_down_sync", "xor": "shfl_xor_sync"}
            return names[expr.mode], self.text(expr.lane, facts)
        own = f"cuda.laneid % {width}"
        lane = self.print(expr.lane, facts)
        match expr.mode:
            case "idx":
                inside = range_of(expr.lane, facts).within(0, width - 1)
                source = lane.at(10) if inside else f"{lane.at(11)} % {width}"
                return "shfl_sync", f"cuda.laneid - {own} + {source}"
            case "up":
                return "shfl_sync", f"cuda.laneid - ({lane.text} if {lane.at(6)} <= {own} else 0)"
            case "down":
                return "shfl_sync", f"cuda.laneid + ({lane.text} if {own} + {lane.at(11)} < {width} else 0)"
            case "xor":
                return "shfl_sync", f"cuda.laneid ^ {lane.at(8)}"
            case _:
                assert_never(expr.mode)
