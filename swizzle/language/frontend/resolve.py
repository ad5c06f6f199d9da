"""What a name in a kernel stands for: a local, a lambda's parameter, a constant or a name of the language.

Also what is known about an index expression without running anything: its value, and whether it is the same for
every thread.
"""

from __future__ import annotations

import ast
from numbers import Integral, Real
from types import EllipsisType, ModuleType
from typing import Any, Final, NoReturn

from msgspec import Struct, field
from typing_extensions import assert_never

from swizzle.language.cuda_namespace import NAMESPACES, Dim3, KernelOnly
from swizzle.language.element_types import ElementType, VectorType
from swizzle.language.frontend import operators
from swizzle.language.frontend.operators import BOOL, INDEX, FloatLiteral, Value
from swizzle.language.frontend.scope import (
    AccumulatorName,
    ArrayName,
    ComparisonName,
    GivenName,
    LoopName,
    ScalarName,
    Scope,
    StaticName,
    VectorArrayName,
    VectorName,
)
from swizzle.language.mathematics import MathNamespace
from swizzle.language.operators import ScanOperator
from swizzle.language.other_names import EXPRESSIONS, here
from swizzle.language.source.kernel_source import KernelSource
from swizzle.language.surface import ELEMENT_TYPES, FUNCTION_NAMES, HOLES, KERNEL_NAMES
from symbolic.errors import near
from symbolic.ir.program import Binary, Const, Coordinate, Expr, HoleCall, Load, Unary, Var
from symbolic.ir.walk import subexpressions
from templates.holes import spellings

MISSING: Final = object()


class Launch(Struct, frozen=True):
    """The launch shape: threads of a block, blocks of the grid, lanes of a warp."""

    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    warp_size: int

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]


class NameReader(Struct):
    """Resolves the names of one function; `bound` holds names that stand for values: parameters of the lambdas around,
    and of a device function."""

    kernel: KernelSource
    scope: Scope
    launch: Launch
    bound: dict[str, Value] = field(default_factory=dict)

    def mistake(self, node: ast.AST, found: str, expected: str, fix: str) -> NoReturn:
        """Raise the user's mistake at `node`."""
        self.kernel.source.mistake(node, found, expected, fix)

    # ---- what a name gives ----

    def constant(self, value: object, node: ast.AST) -> Value:
        """Return a Python number as a constant."""
        place = self.kernel.source.place(node)
        if isinstance(value, bool):
            return Const(value, BOOL, place)
        if isinstance(value, Integral):
            number = operators.fold("+", int(value), 0, place)
            return Const(number, INDEX, place)
        if isinstance(value, Real):
            return FloatLiteral(float(value), place)
        self.mistake(
            node, f"{spell(node)} is {_article(value)}, which a kernel cannot use", "an int or a float", _instead(value)
        )

    def local(self, node: ast.Name) -> Value:
        """Read a local name or a parameter."""
        place, name = self.kernel.source.place(node), node.id
        meaning = self.scope.meanings.get(name)
        if isinstance(meaning, StaticName):
            return Const(meaning.value, INDEX, place)
        if meaning is None or name not in self.scope.assigned:
            ended = isinstance(meaning, LoopName)
            self.mistake(
                node,
                f"{name} has no value after its loop" if ended else f"{name} may have no value here",
                "a variable that every path to this line has assigned",
                "keep the value in a variable of its own" if ended else f"assign {name} before, on every path",
            )
        match meaning:
            case ScalarName(dtype=dtype):
                return Var(self.scope.named(name), dtype, place)
            case GivenName(dtype=dtype):
                return Load(self.scope.named(name), (), dtype, place)
            case LoopName(name=variable, dtype=dtype):
                return Var(variable, dtype, place)
            case ArrayName(shape=shape) | VectorArrayName(shape=shape):
                self.mistake(
                    node, f"the array {name} where one value is needed", "one value", f"write {element(name, shape)}"
                )
            case VectorName(type=kind):
                self.mistake(
                    node,
                    f"the {kind.name} {name} where one number is needed",
                    f"one of its components: {name}.{f', {name}.'.join('xyzw'[: kind.lanes])}",
                    f"compute with its components, {name}.x: vectors are loaded, stored and made, as in CUDA",
                )
            case ComparisonName():
                self.mistake(
                    node,
                    f"{name}, a comparison of data, where a value or a condition is needed",
                    f"a choice by it: where({name}, x, y), which computes both values",
                    f"write where({name}, 1, 0) for a number; data never steers a branch or an index",
                )
            case AccumulatorName(shape=shape):
                self.mistake(
                    node,
                    f"the accumulator {name} where one value is needed",
                    f"its value: {element(name, shape) if shape else name}.value",
                    f"write {element(name, shape) if shape else name}.value",
                )
            case _:
                assert_never(meaning)

    def global_name(self, node: ast.Name | ast.Attribute) -> Value:
        """Read a name from outside the kernel."""
        found = self.resolve(node)
        if found is MISSING:
            self.unknown(node)
        if isinstance(found, KernelOnly):
            axis: Any = node.attr if isinstance(node, ast.Attribute) and node.attr in "xyz" else "x"
            return Coordinate(found.coordinate, axis, self.kernel.source.place(node))
        if isinstance(found, Dim3):
            self.mistake(
                node,
                f"{spell(node)} has three parts",
                f"one of them: {spell(node)}.x, .y or .z",
                f"write {spell(node)}.x",
            )
        if isinstance(found, tuple):
            self.mistake(
                node, f"the tuple {spell(node)} where one value is needed", "one value", f"write {spell(node)}[0]"
            )
        if id(found) in FUNCTION_NAMES or callable(found):
            self.mistake(node, f"{spell(node)} is a function, not a value", "a number", f"call it: {spell(node)}(...)")
        return self.constant(found, node)

    def resolve(self, node: ast.expr) -> object:
        """Return the object that a global name or dotted name stands for, or MISSING."""
        if isinstance(node, ast.Name):
            if node.id in self.bound or self.scope.is_local(node.id):
                return MISSING
            return self.kernel.environment.get(self.spelled(node), MISSING)
        if isinstance(node, ast.Attribute):
            base = self.resolve(node.value)
            if isinstance(base, (*NAMESPACES, MathNamespace, ModuleType, ScanOperator)) and node.attr[0] != "_":
                return getattr(base, node.attr, MISSING)
        return MISSING

    def spelled(self, node: ast.Name) -> str:
        """Return a name as the language knows it: a hole's `?` in a `.swz` file is not part of the name."""
        source = self.kernel.source
        if source.is_marked(node):
            name = node.id[1:]
            if name not in HOLES and name != "sw_home":
                self.mistake(node, f"?{name} is not a hole", spellings("or"), near(name, HOLES, "?"))
            return name
        if source.marks is not None and (node.id in HOLES or node.id == "sw_home"):
            self.mistake(node, f"the hole {node.id} without its question mark", f"?{node.id}(...)", "write the `?`")
        return node.id

    def unknown(self, node: ast.expr) -> NoReturn:
        """Refuse a name that stands for nothing, and suggest the nearest one that does."""
        if isinstance(node, ast.Attribute) and (base := self.resolve(node.value)) is not MISSING:
            if hasattr(base, node.attr):
                fix = "compute it at module level, before the sketch, under a name of its own"
                self.mistake(node, f"`{spell(node)}` is not part of the kernel language", EXPRESSIONS, fix)
            public = [name for name in dir(base) if not name.startswith("_")]
            listed = [name for name in public if name == "float4" or not isinstance(getattr(base, name), VectorType)]
            self.mistake(
                node,
                f"{spell(node.value)} has no `{node.attr}`",
                f"one of {', '.join(listed)}" if listed else "",
                here(node.attr)
                or near(node.attr, public, spell(node.value) + ".")
                or "docs/language.md names them all"
                + "; in a .py file, @cuda.external makes one of your own text" * isinstance(base, MathNamespace),
            )
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
            self.unknown(node.value)
        root = node
        while isinstance(root, ast.Attribute | ast.Subscript | ast.Call):
            root = root.func if isinstance(root, ast.Call) else root.value
        name = spell(root)
        if isinstance(root, ast.Name) and root is not node and not self._is_unknown(root):
            self.mistake(node, f"`{spell(node)}` is not part of the kernel language", EXPRESSIONS, "leave it out")
        constants = [
            n
            for n, v in self.kernel.environment.items()
            if isinstance(v, int | float | tuple) and v is not True and v is not False
        ]
        names = [*self.scope.meanings, *KERNEL_NAMES, *constants]
        missing = f"from swizzle import {name}" if name in KERNEL_NAMES else ""
        inside = "give it to the device function as a parameter" if self.kernel.source.called_from else ""
        fix = missing or here(name) or near(name, names) or inside or "define it at module level, before the sketch"
        self.mistake(root, f"{name} is not defined", "a local, a parameter, a constant or a name of the language", fix)

    def _is_unknown(self, node: ast.Name) -> bool:
        local = node.id in self.bound or self.scope.is_local(node.id)
        return not local and self.spelled(node) not in self.kernel.environment

    # ---- what is known about an index ----

    def known(self, expr: Expr) -> int | None:
        """Return the value of an INDEX expression that is the same in every run, or None."""
        match expr:
            case Const(value=int() as number):
                return number
            case Var(name=name):
                return self.scope.known.get(name)
            case Coordinate(name="warpsize"):
                return self.launch.warp_size
            case Coordinate(name="blockDim", axis=axis):
                return self.launch.block["xyz".index(axis)]
            case Coordinate(name="gridDim", axis=axis):
                return self.launch.grid["xyz".index(axis)]
            case Binary(op=op, left=left, right=right):
                a, b = self.known(left), self.known(right)
                return None if a is None or b is None else int(operators.fold(op, a, b, expr.place))
            case Unary(op="-", operand=operand):
                negated = self.known(operand)
                return None if negated is None else -negated
            case _:
                return None

    def is_steady(self, expr: Expr) -> bool:
        """Say whether an INDEX expression is the same for every thread, whatever the holes become."""
        return not any(self._varies(part) for part in subexpressions(expr))

    def _varies(self, part: Expr) -> bool:
        match part:
            case Var(name=name):
                return name not in self.scope.steady
            case Coordinate(name=name):
                return name not in ("warpsize", "blockDim", "gridDim")
            case HoleCall():
                return True
            case _:
                return part.dtype.is_data

    def require_steady(self, expr: Expr, what: str) -> None:
        """Refuse an expression that may differ between threads, or that a hole decides."""
        for part in subexpressions(expr):
            if isinstance(part, HoleCall):
                operators.fail(
                    part.place,
                    f"a hole in {what}",
                    "constants and the variables of outer loops",
                    "loop to the largest bound, and guard the body with an `if` on a sw_cond hole",
                )
            if self._varies(part):
                operators.fail(
                    part.place,
                    f"{what} may differ between threads",
                    "constants and the variables of outer loops",
                    "loop to the largest bound, guard the body with `if`, and add a thread's own start in the body",
                )


def element_type(value: object) -> ElementType | None:
    """Return the element type that `f32`, `np.float32` and their like stand for."""
    if isinstance(value, ElementType):
        return value
    if isinstance(value, type) and value.__module__ == "numpy":
        name = value.__name__
        return ELEMENT_TYPES.get(name.replace("uint", "u").replace("int", "i").replace("float", "f"))
    return None


def spell(node: ast.AST) -> str:
    """Return the source of a node, shortened for an error."""
    text = ast.unparse(node)
    return text if len(text) < 50 else text[:47] + "..."


def _article(value: object) -> str:
    kind = type(value).__name__
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def _instead(value: object) -> str:
    """Say what to write for a Python value that is no number."""
    match value:
        case EllipsisType():
            return "a hole has a name: sw_xform(i, n), sw_part(n, v), sw_cond(v)"
        case str():
            return "leave the quotes out, if it is a name"
        case None:
            return "write 0, or f32(0)"
        case complex():
            return "two numbers: the real and the imaginary part"
    return "compute what you need of it outside, as an int or a float"


def element(name: str, shape: tuple[int, ...]) -> str:
    """Spell an element of an array, for an error."""
    return f"{name}[{', '.join('ijk'[: len(shape)])}]"
