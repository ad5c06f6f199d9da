"""Read the arguments of the load and store helpers: the team's shape, and one value for each dimension.

Dimensions are those of the global array, in the order of its indices; a warp or a block that has a shape counts its
threads in that order too, the last dimension fastest.

Build index arithmetic and loops for helpers such as `warp_load`; every node has the place of the helper's call.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import reduce
from math import prod

from msgspec import Struct

from swizzle.language.frontend import operators
from swizzle.language.frontend.calls import Arguments, require_whole_warps
from swizzle.language.frontend.expressions import ExpressionReader
from swizzle.language.frontend.operators import INDEX
from swizzle.language.frontend.scope import ArrayName, GivenName, VectorArrayName
from symbolic.errors import Place
from symbolic.ir.program import Assign, Axis, BinaryOp, Compare, Const, Coordinate, Expr, For, Logic, Stmt, Var


class IndexLoops:
    """Builds index expressions, skipping what adds 0 or multiplies by 1, and nests statements in counted loops."""

    def __init__(self, reader: ExpressionReader, place: Place) -> None:
        self.reader, self.place = reader, place
        self.counters: list[tuple[str, int]] = []

    def number(self, value: int) -> Const:
        return Const(value, INDEX, self.place)

    def counter(self, wish: str, count: int) -> Expr:
        """Return the variable of a new loop inside the others, or 0 when the loop would run once."""
        if count == 1:
            return self.number(0)
        name = self.reader.scope.fresh(wish)
        self.counters.append((name, count))
        return Var(name, INDEX, self.place)

    def named(self, wish: str, value: Expr) -> tuple[Var, Assign]:
        """Return a new index variable and the assignment that gives it its value."""
        name = self.reader.scope.fresh(wish)
        return Var(name, INDEX, self.place), Assign(name, value, self.place)

    def add(self, left: Expr, right: Expr) -> Expr:
        return right if _is(left, 0) else left if _is(right, 0) else self._binary("+", left, right)

    def multiply(self, left: Expr, right: int) -> Expr:
        return left if right == 1 or _is(left, 0) else self._binary("*", left, self.number(right))

    def divide(self, left: Expr, right: int) -> Expr:
        return left if right == 1 else self._binary("//", left, self.number(right))

    def modulo(self, left: Expr, right: int) -> Expr:
        return self.number(0) if right == 1 else self._binary("%", left, self.number(right))

    def below(self, left: Expr, right: int) -> Expr:
        return Compare("<", left, self.number(right), self.place)

    def every(self, conditions: list[Expr]) -> Expr:
        return reduce(lambda a, b: Logic("and", a, b, self.place), conditions)

    def _binary(self, op: BinaryOp, left: Expr, right: Expr) -> Expr:
        result = operators.binary(op, left, right, self.place)
        assert not isinstance(result, operators.FloatLiteral)
        return result

    def around(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Return the body inside the loops of all counters, the first one outermost."""
        for name, count in reversed(self.counters):
            body = (For(name, self.number(0), self.number(count), self.number(1), body, self.place),)
        return body


def _is(expr: Expr, value: int) -> bool:
    return isinstance(expr, Const) and expr.value == value


class Team(Struct, frozen=True):
    """The threads that move a chunk together: how many along each dimension, and a thread's number among them."""

    widths: tuple[int, ...]
    ranks: tuple[Expr, ...]


class HelperCall(Struct, frozen=True):
    """The call of a helper: what its arguments are read with."""

    reader: ExpressionReader
    name: str
    arguments: Arguments
    node: ast.Call

    @property
    def place(self) -> Place:
        return self.reader.kernel.source.place(self.node)

    @property
    def is_load(self) -> bool:
        return self.name.endswith("load")

    @property
    def by_warps(self) -> bool:
        return self.name.startswith("warp")

    def given(self, argument: str) -> ast.expr | None:
        """Return an optional argument's syntax tree, unless it is left out or None."""
        node = self.arguments.get(argument)
        return None if node is None or (isinstance(node, ast.Constant) and node.value is None) else node

    def numbers(self, argument: str, count: int) -> tuple[int, ...] | None:
        """Read an argument that is a constant for each of `count` dimensions."""
        node = self.given(argument)
        if node is None:
            return None
        found = self.reader.statics(node, f"the {argument} of {self.name}")
        self.require_count(node, argument, len(found), count)
        return found

    def flag(self, argument: str) -> bool:
        """Read an argument that is True or False, and False when left out."""
        node = self.given(argument)
        if node is None:
            return False
        value = self.reader.condition(node, f"the {argument} of {self.name}")
        if not isinstance(value, Const):
            self.reader.mistake(
                node, f"the {argument} of {self.name} is not a constant", "True or False", fix="write True or False"
            )
        return bool(value.value)

    def require_count(self, node: ast.expr, argument: str, found: int, count: int) -> None:
        """Refuse an argument that does not have one value for each dimension."""
        if found != count:
            self.reader.mistake(
                node,
                f"{counted(found, 'value')} for the {argument} of {self.name}, which moves "
                f"{counted(count, 'dimension')}",
                "one value for each dimension",
                f"write {argument}=({', '.join('abc'[:count])})" if count > 1 else f"write {argument}=a",
            )


def read_array(reader: ExpressionReader, node: ast.expr, what: str) -> tuple[str, ArrayName]:
    """Read an argument that is the name of an array."""
    meaning = reader.scope.meanings.get(node.id) if isinstance(node, ast.Name) else None
    if isinstance(node, ast.Name) and isinstance(meaning, GivenName):
        reader.mistake(
            node, f"{what} is the scalar {node.id}", "the name of an array", f"read it where it stands: {node.id}"
        )
    if isinstance(meaning, VectorArrayName):
        reader.mistake(
            node, f"{what} is an array of {meaning.type.name}", "an array of numbers",
            "write the loop, or declare an array of numbers and a view of it: x4 = x.view(cuda.float4)",
        )  # fmt: skip
    if not isinstance(node, ast.Name) or not isinstance(meaning, ArrayName):
        reader.mistake(node, f"{what} is not an array", "the name of an array", "declare one, or name a parameter")
    if node.id not in reader.scope.assigned:
        reader.scalar(node)
    return reader.scope.named(node.id), meaning


# ---- the team --------------------------------------------------------------------------------------------------


def read_team(call: HelperCall, dimensions: int) -> Team:
    """Return the warp or the block in the shape that was given, or in its own."""
    reader, launch = call.reader, call.reader.launch
    loop = IndexLoops(reader, call.place)
    if call.by_warps:
        require_whole_warps(reader, call.node, call.name)
    threads = launch.warp_size if call.by_warps else launch.threads
    whole = "warp" if call.by_warps else "block"
    own = (threads,) if dimensions == 1 or call.by_warps else launch.block[dimensions - 1 :: -1]
    shape = call.numbers("shape", dimensions) or own
    if prod(shape) != threads or len(shape) != dimensions or min(shape) < 1:
        given = call.given("shape")
        example = ", ".join(("rows", "columns") if dimensions == 2 else ("planes", "rows", "columns"))
        reader.mistake(
            call.node if given is None else given,
            f"{call.name} moves {counted(dimensions, 'dimension')} without a shape of the {whole}"
            if given is None
            else f"a {whole} of {threads} threads in the shape {_spelled(shape)}",
            f"shape=({example}), {threads} threads in all" if dimensions > 1 else f"shape={threads}",
            f"write shape=({', '.join(map(str, [*[1] * (dimensions - 1), threads]))})"
            if dimensions > 1
            else "leave it out",
        )
    if dimensions > 1 and not call.by_warps and shape == own:
        axes: tuple[Axis, ...] = ("x", "y", "z")
        ranks = [_thread(loop, axis, width) for axis, width in zip(axes[dimensions - 1 :: -1], shape, strict=True)]
        return Team(shape, tuple(ranks))
    linear = Coordinate("laneid", "x", call.place) if call.by_warps else _linear(loop, launch.block)
    if dimensions == 1:
        return Team(shape, (linear,))
    ranks = []
    for axis, width in enumerate(shape):
        inner = prod(shape[axis + 1 :])
        number = loop.divide(linear, inner) if width > 1 else loop.number(0)
        ranks.append(number if width * inner == threads else loop.modulo(number, width))
    return Team(shape, tuple(ranks))


def _thread(loop: IndexLoops, axis: Axis, size: int) -> Expr:
    return Coordinate("threadIdx", axis, loop.place) if size > 1 else loop.number(0)


def _linear(loop: IndexLoops, block: tuple[int, int, int]) -> Expr:
    """Return the linear index of a thread in its block."""
    rank: Expr = Coordinate("threadIdx", "x", loop.place)
    if block[1] > 1:
        rank = loop.add(rank, loop.multiply(Coordinate("threadIdx", "y", loop.place), block[0]))
    if block[2] > 1:
        rank = loop.add(rank, loop.multiply(Coordinate("threadIdx", "z", loop.place), block[0] * block[1]))
    return rank


# ---- one value for each dimension ------------------------------------------------------------------------------


def read_strides(call: HelperCall, dimensions: int) -> tuple[int, ...]:
    """Read how many consecutive elements a thread moves along each dimension."""
    strides = call.numbers("stride", dimensions) or (1,) * dimensions
    for stride in strides:
        if stride < 1:
            call.reader.mistake(
                call.arguments["stride"], f"a stride of {stride}", "at least 1", fix="leave it out for a stride of 1"
            )
    return strides


def read_rounds(call: HelperCall, kept: Sequence[int], a_round: Sequence[int]) -> tuple[int, ...]:
    """Return the rounds asked for, or as many as an array of shape `kept` holds, of `a_round` elements each."""
    asked = call.numbers("rounds", len(kept))
    found = []
    for axis, (size, takes) in enumerate(zip(kept, a_round, strict=True)):
        along = f" along dimension {axis}" if len(kept) > 1 else ""
        if asked is None:
            if call.by_warps and size % takes:
                call.reader.mistake(
                    call.node,
                    f"a local array of {size}{along} does not hold whole strides of {takes}",
                    f"a multiple of {takes}",
                    "give rounds=, or change stride=",
                )
            found.append(-(-size // takes))
            continue
        most = size // takes if call.by_warps else -(-size // takes)
        if not 1 <= asked[axis] <= most:
            call.reader.mistake(
                call.arguments["rounds"],
                f"rounds={asked[axis]}{along} with an array of {size}, {takes} of which a round takes",
                f"1 to {most} rounds" if most else f"an array of at least {takes} elements",
                f"declare the array with {asked[axis] * takes} elements" if asked[axis] > 0 else "leave rounds= out",
            )
        found.append(asked[axis])
    return tuple(found)


def read_offsets(call: HelperCall, loop: IndexLoops, dimensions: int) -> list[Expr]:
    """Read where the chunk begins."""
    node = call.given("offset")
    if node is None:
        return [loop.number(0)] * dimensions
    what = f"the offset of {call.name}"
    parts = call.reader.several(node)
    if parts is None:
        values = [call.reader.index(node, what)]
    else:
        values = [operators.coerce(part, INDEX, what) for part in parts]
    call.require_count(node, "offset", len(values), dimensions)
    return values


def read_shuffled(call: HelperCall, team: Team, turns: Sequence[Expr]) -> list[Expr]:
    """Read `shfl=`, for each dimension: a lambda of the thread's number (and the round), an index, or nothing."""
    node = call.given("shfl")
    if node is None:
        return list(team.ranks)
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    call.require_count(node, "shfl", len(parts), len(team.ranks))
    what = f"the shfl of {call.name}"
    found = []
    for part, rank, turn in zip(parts, team.ranks, turns, strict=True):
        if isinstance(part, ast.Constant) and part.value is None:
            found.append(rank)
        elif isinstance(part, ast.Lambda):
            found.append(read_index_function(call.reader, part, what, {"lane": rank, "round": turn}))
        else:
            found.append(call.reader.index(part, what))
    return found


def read_index_function(reader: ExpressionReader, node: ast.Lambda, what: str, values: dict[str, Expr]) -> Expr:
    """Read a lambda that is applied to `values`; it may leave out all but the first."""
    names = [a.arg for a in node.args.args]
    plain = not (node.args.vararg or node.args.kwarg or node.args.kwonlyargs or node.args.defaults)
    if not plain or node.args.posonlyargs or not 1 <= len(names) <= len(values):
        spelled = [f"lambda {', '.join(list(values)[:count])}: ..." for count in range(1, len(values) + 1)]
        reader.mistake(node, f"{what} is a lambda of other parameters", " or ".join(spelled), "leave out the rest")
    with reader.binding(dict(zip(names, values.values(), strict=False))):
        return reader.index(node.body, what)


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("s" if count != 1 else "")


def _spelled(shape: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, shape))})" if len(shape) > 1 else str(shape[0])
