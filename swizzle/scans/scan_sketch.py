"""A scan sketch as it is written: a Python function of loops over distances, whose text is read and never run.

    @scans.sketch(like=example)
    def brent_kung(a, i, N):
        for d in scans.up(1, N // 2):
            if scans.when(i, d):
                a[i] = a[scans.source(i, d)] + a[i]
        for d in scans.down(N // 4, 1):
            if scans.when(i, d):
                a[i] = a[scans.source(i, d)] + a[i]

`up(1, N // 2)` is 1, 2, 4, ... up to N / 2, and `down(N // 4, 1)` the other way; `base=3` makes it powers of 3. All
elements i do a step at once. The operator is whatever is associative; `+` stands for it. In a forward scan what is
taken stands on the left, in a backward scan on the right.

Elements may drop their own words, `a[i] = a[i + d]` or `a[i] = scans.identity`; and what elements of a step do may
differ, `if ...: elif ...:`. Then what is taken stands on either side.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any, Final, NoReturn

from msgspec import Struct
from msgspec.structs import replace

from swizzle.language.element_types import kernel_only
from swizzle.language.source.kernel_source import KernelSource, kernel_source
from swizzle.scans.algorithm import DISTANCE, ELEMENT, SIZE, Algorithm, How, ScanLoop, ScanStep
from swizzle.scans.bank import Skeleton
from swizzle.scans.network import Network
from symbolic.expressions import expression as e
from symbolic.expressions.expression import BUILDERS, ZERO, Expression


def up(first: int, last: int, base: int = 2) -> range:
    """Distances in a scan sketch: `first`, `first * base`, ... up to `last`."""
    kernel_only("scans.up", fix="write it in a function decorated with @scans.sketch(...)")


def down(first: int, last: int, base: int = 2) -> range:
    """Distances in a scan sketch: `first`, `first // base`, ... down to `last`."""
    kernel_only("scans.down", fix="write it in a function decorated with @scans.sketch(...)")


def when(*names: int) -> bool:
    """A hole in a scan sketch: the condition under which element i takes another."""
    kernel_only("scans.when", fix="write it in a function decorated with @scans.sketch(...)")


def source(*names: int) -> int:
    """A hole in a scan sketch: the element that element i takes."""
    kernel_only("scans.source", fix="write it in a function decorated with @scans.sketch(...)")


identity: Final = object()
"""What an element has that is emptied, in a scan sketch: `a[i] = scans.identity`."""


class StepSketch(Struct, frozen=True):
    """A step of a sketch, as `ScanStep`; None for a hole. Where `how` is None, it is as the scan's direction is."""

    when: Expression | None
    source: Expression | None
    how: How | None = None
    otherwise: StepSketch | None = None

    @property
    def moves(self) -> Iterator[StepSketch]:
        """This, and what is done otherwise."""
        yield self
        if self.otherwise is not None:
            yield from self.otherwise.moves

    def step(self, *, backward: bool) -> ScanStep:
        """Return a step without holes."""
        assert self.when is not None and self.source is not None
        otherwise = None if self.otherwise is None else self.otherwise.step(backward=backward)
        return ScanStep(self.when, self.source, self.how or ("behind" if backward else "before"), otherwise)


class LoopSketch(Struct, frozen=True):
    """A loop of a sketch."""

    skeleton: Skeleton
    steps: tuple[StepSketch, ...]


class ReadScan(Struct, frozen=True):
    """A scan sketch as data."""

    name: str
    base: int
    backward: bool
    loops: tuple[LoopSketch, ...]

    @property
    def moves(self) -> list[StepSketch]:
        """What elements do, in all steps."""
        return [move for loop in self.loops for step in loop.steps for move in step.moves]

    @property
    def in_place(self) -> bool:
        """Whether elements keep what they have, as far as the sketch says."""
        return all(move.how is None for move in self.moves)

    @property
    def holes(self) -> int:
        return sum((move.when is None) + (move.source is None) for move in self.moves)

    def algorithm(self) -> Algorithm:
        """Return a sketch without holes as the algorithm that it is."""
        loops = []
        for loop in self.loops:
            steps = tuple(each.step(backward=self.backward) for each in loop.steps)
            loops.append(ScanLoop(loop.skeleton.way, self.base, loop.skeleton.least, loop.skeleton.most, steps))
        made = Algorithm(tuple(loops), self.backward)
        network = None if self.in_place else made.network(self.base**3)
        if isinstance(network, Network):  # what elements end with says what the scan is
            emptied = any(move.how == "nothing" for move in self.moves)
            exclusive = emptied if network.wrong else network.exclusive
            made = replace(made, backward=network.backward, exclusive=exclusive)
        return made


SIDES: Final = {"before", "behind"}
EXAMPLE: Final = "a[i] = a[i - d] + a[i]"
_BINARY: Final[Mapping[type, str]] = {
    ast.Add: "+", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip


def read(function: FunctionType) -> ReadScan:
    """Read a scan sketch; SwizzleError with its place for what is none."""
    return _Reader(kernel_source(function, ("like", "relaxed_from", "backward"), "scan sketch")).read()


class _Reader:
    def __init__(self, text: KernelSource) -> None:
        self.text, self.source = text, text.source
        self.base: int | None = None
        self.moves: list[tuple[ast.expr, How]] = []
        self.operator: type | None = None

    def read(self) -> ReadScan:
        definition = self.text.definition
        names = [each.arg for each in definition.args.args]
        if len(names) != 3 or len(set(names)) != 3:
            self.source.mistake(
                definition,
                f"a scan sketch with {len(names)} parameters",
                "the array, the element's number and the size",
                f"def {definition.name}(a, i, N):",
            )
        self.array, element, size = names
        self.names = {element: ELEMENT, size: SIZE}
        loops = []
        body = definition.body
        if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):  # its documentation
            body = body[1:]
        for node in body:
            if isinstance(node, ast.For):
                loops.append(self._loop(node))
            else:
                loops.append(LoopSketch(Skeleton("first", 0, 0, 1), (self._step(node),)))
        if not loops:
            self.source.mistake(
                definition, "a scan sketch without a step", "loops over distances", "for d in scans.up(1, N // 2): ..."
            )
        made = ReadScan(definition.name, self.base or 2, self.moves[0][1] == "behind", tuple(loops))
        if len(self.moves) == sum(len(loop.steps) for loop in loops) and {how for _, how in self.moves} <= SIDES:
            return replace(made, loops=self._directed(loops))
        return replace(made, backward=False)

    def _loop(self, node: ast.For) -> LoopSketch:
        call = node.iter
        way = self._called(call)
        if (
            way not in (up, down)
            or not isinstance(node.target, ast.Name)
            or node.target.id in self.names
            or node.orelse
        ):
            self.source.mistake(
                node,
                "a loop of a scan sketch that is not over distances",
                "`for d in scans.up(1, N // 2):` or `for d in scans.down(N // 2, 1):`",
                fix="loop over scans.up(...) or scans.down(...)",
            )
        assert isinstance(call, ast.Call)
        base = next((self._number(each.value) for each in call.keywords if each.arg == "base"), 2)
        if len(call.args) != 2 or any(each.arg != "base" for each in call.keywords) or base < 2:
            self.source.mistake(
                call,
                "distances that cannot be read",
                "the first and the last one, and `base=3` for powers of 3",
                "scans.up(1, N // 2)",
            )
        if self.base not in (None, base):
            self.source.mistake(
                call,
                f"distances to the base {base} after others to the base {self.base}",
                "one base",
                fix=f"write the base {self.base} here, too",
            )
        self.base = base
        low, high = call.args if way is up else call.args[::-1]
        least, most = self._exponent(low, base), self._exponent(high, base, of_size=True)
        self.names[node.target.id] = DISTANCE
        steps = tuple(self._step(each) for each in node.body)
        del self.names[node.target.id]
        return LoopSketch(Skeleton("up" if way is up else "down", least, most, len(steps)), steps)

    def _exponent(self, node: ast.expr, base: int, *, of_size: bool = False) -> int:
        found, scale = self._number_of(node), 1
        if of_size:
            if found is SIZE:
                return 0
            if (
                found is not None
                and found.operator == "//"
                and found.arguments[0] is SIZE
                and found.arguments[1].constant
            ):
                found = found.arguments[1]
            else:
                found = None
        value = found.value if found is not None and found.constant else 0
        exponent = 0
        while scale < value:
            scale, exponent = scale * base, exponent + 1
        if scale != value:
            size = next(name for name, each in self.names.items() if each is SIZE)
            what = f"`{size}`, or `{size} // {base}`, divided by a power of {base}" if of_size else f"a power of {base}"
            self.source.mistake(
                node,
                f"a bound of distances is {ast.unparse(node)}",
                what,
                fix="write 1, N, or N divided by a power of the base",
            )
        return exponent

    def _step(self, node: ast.stmt) -> StepSketch:
        condition: ast.expr | None = None
        otherwise: StepSketch | None = None
        if isinstance(node, ast.If) and len(node.body) == 1 and len(node.orelse) <= 1:
            otherwise = self._step(node.orelse[0]) if node.orelse else None
            condition, node = node.test, node.body[0]
        if not (isinstance(node, ast.Assign) and len(node.targets) == 1 and self._is_own(node.targets[0])):
            self._no_step(node)
        assert isinstance(node, ast.Assign)
        how, source = self._taken(node)
        self.moves.append((node.value, how))
        return StepSketch(self._condition(condition), source, how, otherwise)

    def _taken(self, node: ast.Assign) -> tuple[How, Expression | None]:
        """Return where what is taken goes, and whose it is."""
        value = node.value
        if self._named(value) is identity:
            return "nothing", ZERO
        if isinstance(value, ast.Subscript):
            return "instead", self._source(value)
        if not isinstance(value, ast.BinOp):
            self._no_step(node)
        if self._is_own(value.left) == self._is_own(value.right):
            self.source.mistake(
                value,
                "a step of a scan sketch that does not put two elements together",
                f"`{EXAMPLE}`: the one that is taken, and a[i]",
                fix=f"write `{EXAMPLE}`",
            )
        if self.operator not in (None, type(value.op)):
            self.source.mistake(
                value,
                "a scan sketch with two operators",
                "one, which stands for every associative operator",
                fix="write one and the same operator in each step",
            )
        self.operator = type(value.op)
        behind = self._is_own(value.left)
        return "behind" if behind else "before", self._source(value.right if behind else value.left)

    def _no_step(self, node: ast.stmt) -> NoReturn:
        self.source.mistake(
            node,
            "a step of a scan sketch that takes no element",
            f"`{EXAMPLE}`, under an `if`; or `a[i] = a[i - d]`, or `a[i] = scans.identity`, to drop what a[i] has",
            "if scans.when(i, d): a[i] = a[scans.source(i, d)] + a[i]",
        )

    def _directed(self, loops: Sequence[LoopSketch]) -> tuple[LoopSketch, ...]:
        """Return the loops of a scan in place without the side of what is taken, which is one for all."""
        way = self.moves[0][1]
        for node, how in self.moves:
            if how != way:
                self.source.mistake(
                    node,
                    f"the element that is taken stands on the {'right' if how == 'behind' else 'left'}, and not so "
                    "elsewhere",
                    "one side: on the left in a forward scan, on the right in a backward one",
                    "swap the operands",
                )
        steps = [tuple(replace(step, how=None) for step in loop.steps) for loop in loops]
        return tuple(replace(loop, steps=own) for loop, own in zip(loops, steps, strict=True))

    def _is_own(self, node: ast.expr) -> bool:
        return (
            isinstance(node, ast.Subscript)
            and isinstance(node.value, ast.Name)
            and node.value.id == self.array
            and isinstance(node.slice, ast.Name)
            and self.names.get(node.slice.id) is ELEMENT
        )

    def _called(self, node: ast.AST) -> Any:
        """Return what a call calls."""
        return self._named(node.func) if isinstance(node, ast.Call) else None

    def _named(self, node: ast.expr) -> Any:
        """Return what a name, with dots or without, stands for outside of the sketch."""
        parts, at = [], node
        while isinstance(at, ast.Attribute):
            parts.append(at.attr)
            at = at.value
        found = self.text.environment.get(at.id) if isinstance(at, ast.Name) else None
        for part in reversed(parts):
            found = getattr(found, part, None)
        return found

    def _condition(self, node: ast.expr | None) -> Expression | None:
        if node is None:
            return e.constant(True)
        return None if self._called(node) is when else self._truth(node)

    def _source(self, taken: ast.expr) -> Expression | None:
        if not (
            isinstance(taken, ast.Subscript) and isinstance(taken.value, ast.Name) and taken.value.id == self.array
        ):
            self.source.mistake(
                taken,
                f"{ast.unparse(taken)} is no element of {self.array}",
                f"`{self.array}[...]`",
                fix=f"take an element of {self.array}",
            )
        return None if self._called(taken.slice) is source else self._whole(taken.slice)

    # -- expressions ---------------------------------------------------------------------------------------------

    def _truth(self, node: ast.expr) -> Expression:
        match node:
            case ast.BoolOp(op=op, values=values):
                return (e.both if isinstance(op, ast.And) else e.either)(*map(self._truth, values))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return e.negation(self._truth(operand))
            case ast.Compare(left=left, ops=ops, comparators=others):
                sides = [self._whole(each) for each in (left, *others)]
                return e.both(
                    *(self._compared(node, op, a, b) for op, a, b in zip(ops, sides, sides[1:], strict=False))
                )
            case ast.Constant(value=bool(value)):
                return e.constant(value)
        self._unreadable(node, "a condition: comparisons of whole numbers, `and`, `or`, `not`")

    def _compared(self, node: ast.AST, op: ast.cmpop, a: Expression, b: Expression) -> Expression:
        match op:
            case ast.Eq():
                return e.equal(a, b)
            case ast.NotEq():
                return e.negation(e.equal(a, b))
            case ast.Lt():
                return e.less(a, b)
            case ast.LtE():
                return e.less_equal(a, b)
            case ast.Gt():
                return e.less(b, a)
            case ast.GtE():
                return e.less_equal(b, a)
        self._unreadable(node, "a comparison: ==, !=, <, <=, > or >=")

    def _whole(self, node: ast.expr) -> Expression:
        found = self._number_of(node)
        if found is None:
            self._unreadable(
                node, "a whole number made of the element's number, the distance, the size, + - * // % & | ^ << >>"
            )
        return found

    def _number_of(self, node: ast.expr) -> Expression | None:
        match node:
            case ast.Name(id=name) if name in self.names:
                return self.names[name]
            case ast.Name(id=name):
                value = self.text.environment.get(name)
                return e.constant(value) if isinstance(value, int) and not isinstance(value, bool) else None
            case ast.Constant(value=int(value)) if not isinstance(value, bool):
                return e.constant(value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                found = self._number_of(operand)
                return None if found is None else e.subtract(e.constant(0), found)
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                found = self._number_of(operand)
                return None if found is None else e.subtract(e.constant(-1), found)
            case ast.BinOp(left=left, op=op, right=right):
                a, b = self._number_of(left), self._number_of(right)
                if a is None or b is None:
                    return None
                if isinstance(op, ast.Sub):
                    return e.subtract(a, b)
                return BUILDERS[_BINARY[type(op)]](a, b) if type(op) in _BINARY else None
        return None

    def _number(self, node: ast.expr) -> int:
        found = self._number_of(node)
        if found is None or not found.constant:
            self._unreadable(node, "a number")
        assert isinstance(found.value, int)
        return found.value

    def _unreadable(self, node: ast.AST, expected: str) -> NoReturn:
        self.source.mistake(node, f"a scan sketch cannot say {ast.unparse(node)}", expected, fix="write it with these")
