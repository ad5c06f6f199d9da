"""Expressions of a kernel printed for numba.cuda, with numba's types.

Sums and products of integers have 64 bits, of which only the low ones are a type's (`NumbaValue.loose`), so they must
be converted back before anything asks for their value.
"""

from __future__ import annotations

import ast
import builtins
import math
import sys
from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from cuda_out.numba.comparing import NotPrinted, refuse
from cuda_out.numba.identifiers import OWN
from cuda_out.numba.reading import TYPES, NumbaModule
from cuda_out.tiling.tiling import AXES
from symbolic.algebra.functions import FUNCTIONS, gather, where
from symbolic.elements import limits
from symbolic.errors import Place
from symbolic.ir import program as ir
from symbolic.ir.program import DType, Expr, Program

_FULL: Final = 0xFFFFFFFF
_BINARY: Final[Mapping[type, str]] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.LShift: "<<",
    ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
_MODULAR: Final = frozenset({"+", "-", "*", "&", "|", "^", "<<"})
_OF_FLOATS: Final = frozenset({"+", "-", "*", "/", "//", "%"})
_COMPARE: Final[Mapping[type, str]] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_SHUFFLES: Final = {"shfl_sync": "idx", "shfl_up_sync": "up", "shfl_down_sync": "down", "shfl_xor_sync": "xor"}
_COORDINATES: Final = ("threadIdx", "blockIdx", "blockDim", "gridDim")
_CARRIERS: Final = frozenset({DType.I32, DType.I64, DType.F32, DType.F64})
_ROWS: Final = {row.numba: row for row in FUNCTIONS.values()}
_OF_SINGLE: Final = (2.0**-149, (2 - 2.0**-23) * 2.0**127)
"""The least and the greatest positive number of single precision."""


class NumbaValue(Struct, frozen=True):
    """An expression as numba has it. `loose`: an integer of 64 bits, of which only the type's low bits are right."""

    expr: Expr
    loose: bool = False

    @property
    def dtype(self) -> DType:
        return self.expr.dtype


class NamedArray(Struct, frozen=True):
    """What a name of an array, or of a scalar parameter, stands for."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    role: str  # of a parameter, or 'own'


class ValueReader:
    """Reads the expressions of a kernel, given what its names are."""

    def __init__(self, module: NumbaModule, program: Program, file: str) -> None:
        """Raises NotPrinted."""
        self.operators, self.words, self.file = module.operators, module.words, file
        self._known: dict[str, DType | NamedArray] = {}  # what is assigned by now, on all paths
        self._ever: dict[str, DType | NamedArray] = {}  # what each name is, wherever it is assigned
        self._taken = {p.name for p in program.parameters}

    # ---- names -------------------------------------------------------------------------------------------------

    def _know(self, name: str, what: DType | NamedArray, node: ast.AST) -> None:
        """Note that a name is assigned."""
        if name in OWN or name in (*self.operators, *self.words) or hasattr(builtins, name):
            refuse(node, f"`{name}` is assigned, a name that means something else here")
        if self._ever.setdefault(name, what) != what:
            refuse(node, f"`{name}` is of another type elsewhere")
        self._known[name] = what

    def _own(self, name: str) -> str:
        """Return a variable's name in the program, where parameters have their own names."""
        return f"{name}'" if name in self._taken else name

    def _array(self, node: ast.expr) -> NamedArray:
        found = self._known.get(node.id) if isinstance(node, ast.Name) else None
        if not isinstance(found, NamedArray) or not found.shape:
            refuse(node)
        return found

    def _place(self, node: ast.AST) -> Place:
        end = getattr(node, "end_col_offset", None) or 0
        return Place(self.file, getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1, end + 1)

    # ---- expressions -------------------------------------------------------------------------------------------

    def _exact(self, node: ast.expr) -> Expr:
        """Return a value of exactly its type."""
        found = self._typed(node)
        if found.loose:
            refuse(node, f"`{ast.unparse(node)[:60]}` has 64 bits, not those of {found.dtype.value}")
        return found.expr

    def _steers(self, node: ast.expr, dtype: DType) -> Expr:
        found = self._exact(node)
        if found.dtype is not dtype:
            refuse(node, f"`{ast.unparse(node)[:60]}` is data, and steers")
        return found

    def _pair(self, node: ast.expr, left: ast.expr, right: ast.expr) -> tuple[NumbaValue, NumbaValue]:
        a, b = self._typed(left), self._typed(right)
        if a.dtype is not b.dtype:
            refuse(node, f"`{ast.unparse(node)[:60]}` mixes {a.dtype.value} and {b.dtype.value}")
        return a, b

    def _typed(self, node: ast.expr) -> NumbaValue:
        place = self._place(node)
        match node:
            case ast.Constant(value=bool(value)):
                return NumbaValue(ir.Const(value, DType.BOOL, place))
            case ast.Constant(value=int(value)) if value < 2**63:
                return NumbaValue(ir.Const(value, DType.INDEX, place))
            case ast.Name(id=name) if name in self._known:
                known = self._known[name]
                if isinstance(known, DType):
                    return NumbaValue(ir.Var(self._own(name), known, place))
                if known.shape:
                    refuse(node)
                return NumbaValue(ir.Load(known.name, (), known.dtype, place))
            case ast.Attribute(value=ast.Name(id="cuda"), attr="laneid"):
                return NumbaValue(ir.Coordinate("laneid", "x", place))
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="cuda"), attr=name), attr=axis) if (
                name in _COORDINATES and axis in AXES
            ):
                return NumbaValue(ir.Coordinate(name, axis, place))  # type: ignore[arg-type]
            case ast.Subscript(value=ast.Attribute(value=owner, attr="shape"), slice=ast.Constant(value=int(at))):
                array = self._array(owner)
                if type(at) is bool or array.role == "own" or not 0 <= at < len(array.shape):
                    refuse(node)
                return NumbaValue(ir.Const(array.shape[at], DType.INDEX, place))
            case ast.Subscript(value=value):
                return NumbaValue(self._element(self._array(value), node))
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(node, op, operand)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return self._binary(node, _BINARY[type(op)], *self._pair(node, left, right))
            case ast.BoolOp(op=op, values=values):
                word = "and" if isinstance(op, ast.And) else "or"
                for later in values[1:]:
                    self._no_shuffle(later, "by lanes that `and` or `or` leaves out")
                found, *rest = (self._steers(each, DType.BOOL) for each in values)
                for each in rest:
                    found = ir.Logic(word, found, each, place)  # type: ignore[arg-type]
                return NumbaValue(found)
            case ast.Compare(left=ast.Call() as call, ops=[ast.NotEq()], comparators=[ast.Constant(value=0)]):
                return NumbaValue(self._shuffle(call, DType.BOOL))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                a, b = self._steers(left, DType.INDEX), self._steers(right, DType.INDEX)
                return NumbaValue(ir.Compare(_COMPARE[type(op)], a, b, place))  # type: ignore[arg-type]
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                return self._choice(node, test, then, otherwise)
            case ast.Call(args=args, keywords=[]):
                return self._call(node, called(node), args)
            case _:
                refuse(node)

    def _indices(self, array: NamedArray, node: ast.Subscript) -> tuple[Expr, ...]:
        texts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(texts) != len(array.shape):
            refuse(node, f"{len(texts)} indices of {array.name}, which has {len(array.shape)}")
        return tuple(self._steers(each, DType.INDEX) for each in texts)

    def _element(self, array: NamedArray, node: ast.Subscript) -> Expr:
        texts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        found = [self._exact(each) for each in texts]
        if array.role not in ("in", "const") or not any(each.dtype.is_data for each in found):
            return ir.Load(array.name, self._indices(array, node), array.dtype, self._place(node))
        if len(found) != len(array.shape) or any(each.dtype is DType.BOOL or each.dtype.is_float for each in found):
            refuse(node)
        common = next(each.dtype for each in found if each.dtype.is_data)
        operands = tuple(e if e.dtype.is_data else ir.Cast(e, common, e.place) for e in found)
        return ir.Apply(gather(array.name, array.shape).name, operands, array.dtype, self._place(node))

    def _unary(self, node: ast.expr, op: ast.unaryop, operand: ast.expr) -> NumbaValue:
        place = self._place(node)
        if isinstance(op, ast.Not):
            return NumbaValue(ir.Unary("not", self._steers(operand, DType.BOOL), DType.BOOL, place))
        found = self._typed(operand)
        if isinstance(op, ast.USub) and isinstance(found.expr, ir.Const) and found.dtype is DType.INDEX:
            return NumbaValue(ir.Const(-found.expr.value, DType.INDEX, place))
        sign = isinstance(op, ast.USub)
        whole = found.dtype.is_data and not found.dtype.is_float and not found.dtype.is_narrow
        wraps = whole and not (sign and found.dtype in (DType.U32, DType.U64))
        if not (wraps or found.dtype is DType.INDEX or (sign and found.dtype.is_float)) or isinstance(op, ast.UAdd):
            refuse(node)
        return NumbaValue(ir.Unary("-" if sign else "~", found.expr, found.dtype, place), _promoted(found.dtype))

    def _binary(self, node: ast.expr, op: str, a: NumbaValue, b: NumbaValue) -> NumbaValue:
        dtype = a.dtype
        amount = _shift(b.expr) if dtype is DType.INDEX and op in ("<<", ">>") else b.expr
        made = ir.Binary(op, a.expr, amount, dtype, self._place(node))  # type: ignore[arg-type]
        if dtype is DType.BOOL or dtype.is_narrow or (dtype.is_float and op not in _OF_FLOATS):
            refuse(node)
        if not dtype.is_float and op == "/":
            refuse(node, "a quotient of whole numbers by /")
        if (a.loose and op not in _MODULAR) or (b.loose and op not in _MODULAR - {"<<"}):
            refuse(node, f"`{ast.unparse(node)[:60]}` asks for the value of what has 64 bits")
        return NumbaValue(made, _promoted(dtype))

    def _choice(self, node: ast.IfExp, test: ast.expr, then: ast.expr, otherwise: ast.expr) -> NumbaValue:
        place = self._place(node)
        yes, no = (self._exact(each) for each in (then, otherwise))
        if yes.dtype is not no.dtype:
            refuse(node, f"it is {yes.dtype.value} or {no.dtype.value}")
        match test:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                a, b = (self._exact_or_carried(each) for each in (left, right))
                if a is not None and b is not None and a.dtype.is_data and a.dtype is b.dtype and yes.dtype.is_data:
                    for each in (then, otherwise):
                        self._no_shuffle(each, "by lanes that data chooses")
                    row = where(_COMPARE[type(op)])
                    return NumbaValue(ir.Apply(row.name, (a, b, yes, no), yes.dtype, place))
            case _:
                pass
        return NumbaValue(ir.Select(self._steers(test, DType.BOOL), yes, no, yes.dtype, place))

    def _no_shuffle(self, node: ast.expr, why: str) -> None:
        """Refuse a shuffle that only some lanes come to, where the machine would let all of them."""
        for each in ast.walk(node):
            if called(each).startswith("cuda.shfl"):
                refuse(each, f"a shuffle is left out {why}")

    def _exact_or_carried(self, node: ast.expr) -> Expr | None:
        """Return a value, None for what carries a condition through a shuffle."""
        try:
            return self._exact(node)
        except NotPrinted:
            return None

    def _call(self, node: ast.Call, name: str, args: list[ast.expr]) -> NumbaValue:
        place = self._place(node)
        if name in TYPES and len(args) == 1:
            return NumbaValue(self._converted(node, TYPES[name], args[0]))
        if name in ("min", "max") and len(args) == 2:
            a, b = (self._exact(each) for each in args)
            if a.dtype is not b.dtype or a.dtype is DType.BOOL or a.dtype.is_narrow:
                refuse(node)
            return NumbaValue(ir.Binary(name, a, b, a.dtype, place))  # type: ignore[arg-type]
        if name == "abs" and len(args) == 1:
            a = self._exact(args[0])
            if a.dtype in (DType.BOOL, DType.U32, DType.U64) or a.dtype.is_narrow:
                refuse(node)
            return NumbaValue(ir.Unary("abs", a, a.dtype, place), _promoted(a.dtype))
        if name in self.operators and len(args) == 2:
            a, b = (self._exact(each) for each in args)
            if a.dtype is not b.dtype or not a.dtype.is_data:
                refuse(node)
            return NumbaValue(ir.Binary(self.operators[name], a, b, a.dtype, place), True)
        if name.removeprefix("cuda.") in _SHUFFLES:
            return NumbaValue(self._shuffle(node, None))
        given = [self._exact(each) for each in args]
        if name in self.words:
            own = self.words[name].row
            if tuple(each.dtype for each in given) != own.given:
                refuse(node)
            return NumbaValue(ir.Apply(self.words[name], tuple(given), own.result, place))
        single = bool(given) and given[0].dtype is DType.F32
        row = _ROWS.get(name.removesuffix("f") if name.startswith("libdevice.") and single else name)
        if row is None or len(row.operands) != len(given) or (name in _ROWS) == (single and "libdevice" in name):
            refuse(node)
        if len({each.dtype for each in given}) != 1 or not given[0].dtype.is_float:
            refuse(node)
        return NumbaValue(ir.Apply(row.name, tuple(given), given[0].dtype, place))

    def _converted(self, node: ast.Call, dtype: DType, arg: ast.expr) -> Expr:
        """Return `uint32(...)`: a constant of its type, a conversion, or the number that low bits are."""
        place = self._place(node)
        if (number := _number(arg)) is not None:
            if not dtype.is_float and (isinstance(number, float) or not limits(dtype)[0] <= number <= limits(dtype)[1]):
                refuse(node)
            if dtype.is_float and not _fits(number, dtype):
                refuse(node, f"`{ast.unparse(arg)[:60]}` is too large or too small for {dtype.value}")
            return ir.Const(float(number) if dtype.is_float else number, dtype, place)
        found = self._typed(arg)
        if found.dtype is DType.BOOL or (found.loose and found.dtype is not dtype):
            refuse(node)
        match found.expr:
            case ir.Shuffle(value=ir.Cast(operand=operand)) if operand.dtype is dtype and not dtype.is_float:
                held = {DType.F32: 0, DType.F64: 32}.get(found.dtype, found.dtype.bits)
                if dtype.is_data and dtype.bits <= held:  # it went through a shuffle as another type
                    return replace(found.expr, value=operand, dtype=dtype)
            case _:
                pass
        return found.expr if found.dtype is dtype else ir.Cast(found.expr, dtype, place)

    def _shuffle(self, node: ast.Call, wanted: DType | None) -> Expr:
        """Return a shuffle; of conditions, which travel as `int32(condition)`, where they are wanted."""
        mode, given = _SHUFFLES.get(called(node).removeprefix("cuda.")), node.args
        if mode is None or len(given) != 3 or node.keywords:
            refuse(node)
        mask, offered, lane = given
        named = None
        if not (isinstance(mask, ast.Constant) and type(mask.value) is int and mask.value == _FULL):
            named = self._steers(mask, DType.INDEX)
        if wanted is DType.BOOL:
            if not (isinstance(offered, ast.Call) and called(offered) == "int32" and len(offered.args) == 1):
                refuse(node)
            value = self._steers(offered.args[0], DType.BOOL)
        else:
            value = self._exact(offered)
            if value.dtype not in _CARRIERS:
                refuse(node, f"a shuffle of {value.dtype.value}")
        at = self._steers(lane, DType.INDEX)
        return ir.Shuffle(mode, named, value, at, value.dtype, self._place(node))  # type: ignore[arg-type]


def called(node: ast.AST) -> str:
    """Return what a call calls, '' for anything else."""
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def _promoted(dtype: DType) -> bool:
    """Tell whether what is computed of a type has 64 bits, of which the type has fewer."""
    return dtype.is_data and not dtype.is_float and dtype.bits < 64


def _shift(amount: Expr) -> Expr:
    """Return how far a number of 64 bits is shifted, where more than 63 is as little an amount as one below 0."""
    most, wrong = (ir.Const(number, DType.INDEX, amount.place) for number in (63, -1))
    return ir.Select(ir.Compare(">", amount, most, amount.place), wrong, amount, DType.INDEX, amount.place)


def _fits(number: int | float, dtype: DType) -> bool:
    """Tell whether a constant keeps its size in a type: single precision makes 1e300 infinite, and 1e-300 0."""
    if isinstance(number, float) and (number == 0 or not math.isfinite(number)):
        return True
    least, most = _OF_SINGLE if dtype is DType.F32 else (0, sys.float_info.max)
    return number == 0 or least <= abs(number) <= most


def _number(node: ast.expr) -> int | float | None:
    """Return a constant of the text, None for anything else."""
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id="inf" | "nan" as name):
            return float(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            number = _number(operand)
            return None if number is None else -number
        case _:
            return None
