"""The load and store helpers, as the loops and predicated accesses that they stand for (paper, section 6.2).

A team of `width` threads (a warp, or a block) moves one contiguous chunk in rounds. In round r, thread t moves the
`stride` consecutive elements that begin at

    offset + (r * width + shfl(t)) * stride

of the global array. A warp keeps them in each lane's own array, at r * stride; a block keeps them in its shared
array, at (r * width + t) * stride. Elements past the end of either array are not touched; a load gives `fill` there.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from swizzle.frontend import operators
from swizzle.frontend.calls import Arguments, require_whole_warps
from swizzle.frontend.expressions import ExpressionReader
from swizzle.frontend.operators import INDEX
from swizzle.frontend.scope import ArrayName, ScalarName
from symbolic.errors import Place
from symbolic.program import (
    Assign,
    Binary,
    BinaryOp,
    Compare,
    Const,
    Coordinate,
    Expr,
    For,
    If,
    Load,
    Select,
    Stmt,
    Store,
    Var,
)


@dataclass(frozen=True, slots=True)
class Team:
    """The threads that move a chunk together, and a thread's rank among them."""

    width: int
    rank: Expr
    keeps: str


def lower_load_store(reader: ExpressionReader, name: str, arguments: Arguments, node: ast.Call) -> tuple[Stmt, ...]:
    """Return the statements that `warp_load(...)` and its kin stand for."""
    place = reader.kernel.source.place(node)
    is_load = name.endswith("load")
    team = _team(reader, name, node, place)
    source, source_type = _array(reader, arguments["source"], f"the source of {name}")
    target, target_type = _array(reader, arguments["destination"], f"the destination of {name}")
    far, kept = (source_type, target_type) if is_load else (target_type, source_type)
    far_node, kept_node = (
        arguments["source" if is_load else "destination"],
        arguments["destination" if is_load else "source"],
    )
    if kept.memory != team.keeps:
        reader.mistake(kept_node, f"{name} with a {kept.memory} array", f"a {team.keeps} array on this side")
    if far.memory == "local":
        reader.mistake(far_node, f"{name} with a local array", "a parameter or a shared array on this side")
    if not source_type.is_readable:
        reader.mistake(arguments["source"], f"{name} reads the out parameter {source}", "an input", "declare it inout")
    if not target_type.is_writable:
        reader.mistake(arguments["destination"], f"{name} stores to the read-only parameter {target}", "an out array")
    if source_type.dtype is not target_type.dtype:
        reader.mistake(
            node, f"{name} from {source_type.dtype.value} to {target_type.dtype.value}", "arrays of one dtype"
        )
    stride = reader.static(arguments["stride"], f"the stride of {name}") if "stride" in arguments else 1
    if stride < 1:
        reader.mistake(arguments["stride"], f"a stride of {stride}", "at least 1")
    a_round = stride if team.keeps == "local" else stride * team.width
    rounds = _rounds(reader, name, arguments, node, kept.shape[0], a_round)

    loop = _Loops(reader, place)
    r, e = loop.counter("r", rounds), loop.counter("e", stride)
    offset = reader.index(arguments["offset"], f"the offset of {name}") if "offset" in arguments else loop.number(0)
    lane = _shuffled(reader, name, arguments, team, r)
    add, multiply = loop.add, loop.multiply
    position_value = add(offset, add(multiply(add(multiply(r, team.width), lane), stride), e))
    slot: Expr = add(multiply(r, stride), e)
    if team.keeps == "shared":
        slot = add(multiply(add(multiply(r, team.width), team.rank), stride), e)
    position_name = reader.scope.fresh("position")
    reader.scope.declare(position_name, ScalarName(INDEX))
    position = Var(position_name, INDEX, place)
    inside: Expr = Compare("<", position, loop.number(far.shape[0]), place)

    body: list[Stmt] = [Assign(position_name, position_value, place)]
    if is_load:
        fill = reader.data(arguments["fill"], kept.dtype, "the fill") if "fill" in arguments else None
        fill = operators.coerce(fill or loop.number(0), kept.dtype, "the fill")
        if not isinstance(fill, Const):
            reader.mistake(arguments["fill"], "a fill that is not a constant", "a number")
        value = Select(inside, Load(source, (position,), far.dtype, place), fill, far.dtype, place)
        moves: Stmt = Store(target, (slot,), value, place)
    else:
        moves = Store(target, (position,), Load(source, (slot,), kept.dtype, place), place)
        moves = If(inside, (moves,), (), place)
    if rounds * a_round > kept.shape[0]:
        fits = Compare("<", slot, loop.number(kept.shape[0]), place)
        moves = If(fits, (moves,), (), place)
    return loop.around((*body, moves))


def _team(reader: ExpressionReader, name: str, node: ast.Call, place: Place) -> Team:
    launch = reader.launch
    if name.startswith("warp"):
        require_whole_warps(reader, node, name)
        return Team(launch.warp_size, Coordinate("laneid", "x", place), "local")
    rank: Expr = Coordinate("threadIdx", "x", place)
    scale = launch.block[0]
    for axis, size in (("y", launch.block[1]), ("z", launch.block[2])):
        if size > 1:
            step = Binary("*", Coordinate("threadIdx", axis, place), Const(scale, INDEX, place), INDEX, place)  # type: ignore[arg-type]
            rank = Binary("+", rank, step, INDEX, place)
        scale *= size
    return Team(launch.threads, rank, "shared")


def _array(reader: ExpressionReader, node: ast.expr, what: str) -> tuple[str, ArrayName]:
    meaning = reader.scope.meanings.get(node.id) if isinstance(node, ast.Name) else None
    if not isinstance(node, ast.Name) or not isinstance(meaning, ArrayName):
        reader.mistake(node, f"{what} is not an array", "the name of an array")
    if len(meaning.shape) != 1:
        reader.mistake(
            node, f"{what} has {len(meaning.shape)} dimensions", "an array of one dimension", "write the loops yourself"
        )
    if node.id not in reader.scope.assigned:
        reader.scalar(node)
    return node.id, meaning


def _rounds(reader: ExpressionReader, name: str, arguments: Arguments, node: ast.Call, size: int, a_round: int) -> int:
    """Return the rounds asked for, or as many as the kept array holds."""
    if "rounds" not in arguments or (isinstance(r := arguments["rounds"], ast.Constant) and r.value is None):
        if name.startswith("warp") and size % a_round:
            reader.mistake(
                node,
                f"a local array of {size} does not hold whole strides of {a_round}",
                mend="give rounds=, or change stride=",
            )
        return -(-size // a_round)
    rounds = reader.static(arguments["rounds"], f"the rounds of {name}")
    most = size // a_round if name.startswith("warp") else -(-size // a_round)
    if not 1 <= rounds <= most:
        reader.mistake(
            arguments["rounds"],
            f"rounds={rounds} with an array of {size}, {a_round} of which a round takes",
            f"1 to {most} rounds" if most else f"an array of at least {a_round} elements",
        )
    return rounds


def _shuffled(reader: ExpressionReader, name: str, arguments: Arguments, team: Team, r: Expr) -> Expr:
    """Read `shfl=`: a lambda of the thread's rank (and the round), or an index expression; by default the rank."""
    node = arguments.get("shfl")
    what = f"the shfl of {name}"
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return team.rank
    if not isinstance(node, ast.Lambda):
        return reader.index(node, what)
    names = [a.arg for a in node.args.args]
    plain = not (node.args.vararg or node.args.kwarg or node.args.kwonlyargs or node.args.defaults)
    if not plain or node.args.posonlyargs or len(names) not in (1, 2):
        reader.mistake(node, f"{what} is a lambda of other parameters", "lambda lane: ... or lambda lane, round: ...")
    with reader.binding(dict(zip(names, (team.rank, r), strict=False))):
        return reader.index(node.body, what)


class _Loops:
    """Builds index arithmetic and the loops around it, all at the place of the helper's call."""

    def __init__(self, reader: ExpressionReader, place: Place) -> None:
        self.reader, self.place = reader, place
        self.counters: list[tuple[str, int]] = []

    def number(self, value: int) -> Const:
        return Const(value, INDEX, self.place)

    def counter(self, wish: str, count: int) -> Expr:
        """Return a new loop's variable, or 0 when the loop would run once."""
        if count == 1:
            return self.number(0)
        name = self.reader.scope.fresh(wish)
        self.counters.append((name, count))
        return Var(name, INDEX, self.place)

    def add(self, left: Expr, right: Expr) -> Expr:
        return right if _is(left, 0) else left if _is(right, 0) else self._binary("+", left, right)

    def multiply(self, left: Expr, right: int) -> Expr:
        return left if right == 1 or _is(left, 0) else self._binary("*", left, self.number(right))

    def _binary(self, op: BinaryOp, left: Expr, right: Expr) -> Expr:
        result = operators.binary(op, left, right, self.place)
        assert not isinstance(result, operators.FloatLiteral)
        return result

    def around(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        for name, count in reversed(self.counters):
            body = (For(name, self.number(0), self.number(count), self.number(1), body, self.place),)
        return body


def _is(expr: Expr, value: int) -> bool:
    return isinstance(expr, Const) and expr.value == value
