"""The helpers of a kernel as the loops and predicated accesses that they stand for: load, store, and `permute_local`,
the column shuffle within each thread's own array (paper, section 7.3).

A team of threads (a warp, or a block) moves one contiguous chunk of a global array in rounds. Along each dimension,
in round r, the thread that is number t of `width` moves the `stride` consecutive elements that begin at

    offset + (r * width + shfl(t)) * stride

of the global array. A warp keeps them in each lane's own array, at r * stride; a block keeps them in its shared
array, at (r * width + t) * stride. Elements past the end of either array are not touched; a load gives `fill` there.

`exchange`: elements go from thread to thread, in a way that is chosen when the sketch is solved (`solving/homes`).

What the program has of it is a local array that takes `mine` and gives `theirs`, under a hole of the kind 'home': of
each element of `theirs` the hole says which one of the block's it is, thread by thread. No machine runs that.
"""

from __future__ import annotations

import ast

from msgspec import Struct
from msgspec.structs import replace

from swizzle.language.frontend import operators
from swizzle.language.frontend.calls import Arguments, called, require_whole_warps
from swizzle.language.frontend.expressions import ExpressionReader
from swizzle.language.frontend.helper_arguments import (
    HelperCall,
    IndexLoops,
    counted,
    read_array,
    read_index_function,
    read_offsets,
    read_rounds,
    read_shuffled,
    read_strides,
    read_team,
)
from swizzle.language.frontend.operators import INDEX
from swizzle.language.frontend.scope import ArrayName
from symbolic.errors import near
from symbolic.ir.program import LANES, Const, DeclareArray, Expr, Hole, HoleCall, If, Load, Select, Stmt, Store
from templates.holes import HOME, HOMES


def lower_exchange(
    reader: ExpressionReader, arguments: Arguments, node: ast.Call
) -> tuple[DeclareArray, tuple[Stmt, ...]]:
    """Return the array that stands for what is on its way, and the two loops that fill and read it."""
    call = HelperCall(reader, "exchange", arguments, node)
    mine, own = _side(call, "mine")
    theirs, others = _side(call, "theirs")
    if own.dtype is not others.dtype:
        reader.mistake(
            node, f"exchange from {own.dtype.value} to {others.dtype.value}", "arrays of one type",
            "convert the elements before or after",
        )  # fmt: skip
    if reader.launch.warp_size != LANES:
        reader.mistake(
            node,
            f"exchange with warps of {reader.launch.warp_size}",
            f"warps of {LANES}, as GPUs have",
            fix=f"leave out warp_size=, or write warp_size={LANES}",
        )
    require_whole_warps(reader, node, "exchange")
    place, homes = call.place, _homes(call)
    kept = DeclareArray(reader.scope.fresh("exchanged"), "local", own.shape, own.dtype, place)
    size = reader.launch.threads * own.shape[0]
    here = replace(place, called_from=None, function="")
    reader.holes.append(Hole(HOME, HOME, size, (), here, homes))  # each call of a device function has its own
    number = len(reader.holes) - 1
    taken = IndexLoops(reader, place)
    i = taken.counter("i", own.shape[0])
    before = taken.around((Store(kept.name, (i,), Load(mine, (i,), own.dtype, place), place),))
    given = IndexLoops(reader, place)
    j = given.counter("i", others.shape[0])
    moved = Load(kept.name, (HoleCall(number, (), INDEX, place),), own.dtype, place)
    return kept, (*before, *given.around((Store(theirs, (j,), moved, place),)))


def _side(call: HelperCall, which: str) -> tuple[str, ArrayName]:
    """Read one of the two arrays."""
    reader, node = call.reader, call.arguments[which]
    name, array = read_array(reader, node, f"`{which}` of exchange")
    if array.memory != "local" or len(array.shape) != 1:
        found = f"a {array.memory} array" if array.memory != "local" else f"an array of {len(array.shape)} dimensions"
        reader.mistake(
            node, f"`{which}` of exchange is {found}", "a local array of one dimension: each thread's own registers",
            f"declare it with cuda.local.array({array.shape[0]}, {array.dtype.value})",
        )  # fmt: skip
    return name, array


def _homes(call: HelperCall) -> tuple[str, ...]:
    """Read the ways that an exchange may go."""
    reader, node = call.reader, call.given("home")
    if node is None:
        return HOMES
    mark = "?" if reader.kernel.source.marks is not None else ""
    usual = f"home={mark}sw_home({', '.join(map(repr, HOMES))})".replace("'", '"')
    several = isinstance(node, ast.Call) and called(reader, node)[0] == "sw_home"
    parts = [*node.args, *(k.value for k in node.keywords)] if isinstance(node, ast.Call) and several else [node]
    found = []
    for part in parts:
        if not isinstance(part, ast.Constant) or part.value not in HOMES or part.value in found:
            twice = isinstance(part, ast.Constant) and part.value in found
            text = str(part.value) if isinstance(part, ast.Constant) else ""
            said = "named twice" if twice else "no home of an exchange"
            reader.mistake(
                part, f"{ast.unparse(part)} is {said}",
                f"some of {', '.join(HOMES)}", (not twice and near(text, HOMES)) or f"write {usual}",
            )  # fmt: skip
        found.append(part.value)
    return tuple(found) or HOMES


def lower_permute_local(
    reader: ExpressionReader, arguments: Arguments, node: ast.Call
) -> tuple[DeclareArray, tuple[Stmt, ...]]:
    """Return a second array and the statements that fill it in the new order and copy it back."""
    place = reader.kernel.source.place(node)
    name, array = read_array(reader, arguments["array"], "the array of permute_local")
    if array.memory != "local":
        reader.mistake(arguments["array"], f"permute_local of a {array.memory} array", "a local array", "copy it first")
    if len(array.shape) != 1:
        reader.mistake(
            arguments["array"],
            f"permute_local of an array of {len(array.shape)} dimensions",
            "a local array of one dimension",
            "write the loops yourself",
        )
    function = arguments["shfl"]
    if not isinstance(function, ast.Lambda):
        reader.mistake(function, "the shfl of permute_local is not a lambda", "lambda i: ...", "write lambda i: ...")
    scratch = DeclareArray(reader.scope.fresh("permuted"), "local", array.shape, array.dtype, place)

    gather = IndexLoops(reader, place)
    i = gather.counter("i", array.shape[0])
    source = read_index_function(reader, function, "the shfl of permute_local", {"i": i})
    gathered = Store(scratch.name, (i,), Load(name, (source,), array.dtype, place), place)
    back = IndexLoops(reader, place)
    j = back.counter("i", array.shape[0])
    copied = Store(name, (j,), Load(scratch.name, (j,), array.dtype, place), place)
    return scratch, (*gather.around((gathered,)), *back.around((copied,)))


POSITIONS = {1: ("position",), 2: ("row", "column"), 3: ("plane", "row", "column")}


class Side(Struct, frozen=True):
    """One of the two arrays of a move."""

    name: str
    array: ArrayName
    node: ast.expr


def lower_load_store(reader: ExpressionReader, name: str, arguments: Arguments, node: ast.Call) -> tuple[Stmt, ...]:
    """Return the statements that `warp_load(...)` and its kin stand for."""
    call = HelperCall(reader, name, arguments, node)
    far, kept = _sides(call)
    dimensions, transposed = len(far.array.shape), call.flag("transpose")
    kept_shape = kept.array.shape[::-1] if transposed else kept.array.shape
    team = read_team(call, dimensions)
    strides = read_strides(call, dimensions)
    a_round = [s if call.by_warps else s * w for s, w in zip(strides, team.widths, strict=True)]
    rounds = read_rounds(call, kept_shape, a_round)

    loop = IndexLoops(reader, call.place)
    turns = [loop.counter("r", count) for count in rounds]
    elements = [loop.counter("e", stride) for stride in strides]
    offsets = read_offsets(call, loop, dimensions)
    shuffled = read_shuffled(call, team, turns)
    add, multiply = loop.add, loop.multiply
    body: list[Stmt] = []
    position: list[Expr] = []
    slots: list[Expr] = []
    for axis, wish in enumerate(POSITIONS[dimensions]):
        width, stride, turn, element = team.widths[axis], strides[axis], turns[axis], elements[axis]
        slice_number = add(multiply(turn, width), shuffled[axis])
        variable, assign = loop.named(wish, add(offsets[axis], add(multiply(slice_number, stride), element)))
        body.append(assign)
        position.append(variable)
        own = turn if call.by_warps else add(multiply(turn, width), team.ranks[axis])
        slots.append(add(multiply(own, stride), element))

    inside = loop.every([loop.below(p, size) for p, size in zip(position, far.array.shape, strict=True)])
    moves = _move(call, far, kept, tuple(position), tuple(slots[::-1] if transposed else slots), inside)
    sizes = zip(slots, kept_shape, rounds, a_round, strict=True)
    fits = [loop.below(slot, size) for slot, size, count, takes in sizes if count * takes > size]
    if fits:
        moves = If(loop.every(fits), (moves,), (), call.place)
    return loop.around((*body, moves))


def _move(
    call: HelperCall, far: Side, kept: Side, position: tuple[Expr, ...], own: tuple[Expr, ...], inside: Expr
) -> Stmt:
    """Return the move of one element."""
    reader, place, dtype = call.reader, call.place, kept.array.dtype
    if not call.is_load:
        return If(inside, (Store(far.name, position, Load(kept.name, own, dtype, place), place),), (), place)
    given = call.given("fill")
    fill = operators.coerce(
        Const(0, INDEX, place) if given is None else reader.data(given, dtype, "the fill"), dtype, "the fill"
    )
    if not isinstance(fill, Const):
        assert given is not None
        reader.mistake(given, "a fill that is not a constant", "a number", "write fill=0")
    value = Select(inside, Load(far.name, position, dtype, place), fill, dtype, place)
    return Store(kept.name, own, value, place)


# ---- the arrays ------------------------------------------------------------------------------------------------


def _sides(call: HelperCall) -> tuple[Side, Side]:
    """Read the two arrays: the global one, and the one that the team keeps."""
    reader, name = call.reader, call.name
    source_node, target_node = call.arguments["source"], call.arguments["destination"]
    source, source_type = read_array(reader, source_node, f"the source of {name}")
    target, target_type = read_array(reader, target_node, f"the destination of {name}")
    far, kept = Side(source, source_type, source_node), Side(target, target_type, target_node)
    if not call.is_load:
        far, kept = kept, far
    keeps = "local" if call.by_warps else "shared"
    if kept.array.memory != keeps:
        reader.mistake(
            kept.node,
            f"{name} with a {kept.array.memory} array",
            f"a {keeps} array on this side",
            f"declare it with cuda.{keeps}.array(shape, dtype)",
        )
    if far.array.memory == "local":
        reader.mistake(
            far.node,
            f"{name} with a local array",
            "a parameter or a shared array on this side",
            "move the local arrays' elements by assignments",
        )
    if not source_type.is_readable:
        reader.mistake(source_node, f"{name} reads the out parameter {source}", "an input", "declare it inout")
    if not target_type.is_writable:
        reader.mistake(
            target_node, f"{name} stores to the read-only parameter {target}", "an out array", "declare it inout"
        )
    if source_type.dtype is not target_type.dtype:
        reader.mistake(
            call.node,
            f"{name} from {source_type.dtype.value} to {target_type.dtype.value}",
            "arrays of one dtype",
            fix="declare both with one dtype, or copy in a loop, with a conversion",
        )
    if len(source_type.shape) != len(target_type.shape):
        reader.mistake(
            call.node,
            f"{name} between {counted(len(source_type.shape), 'dimension')} and "
            f"{counted(len(target_type.shape), 'dimension')}",
            "arrays of as many dimensions",
            "declare the local or shared array with the other's dimensions; a size may be 1",
        )
    return far, kept
