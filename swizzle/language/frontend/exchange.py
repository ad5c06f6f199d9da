"""`exchange`: elements go from thread to thread, in a way that is chosen when the sketch is solved (`solving/homes`).

What the program has of it is a local array that takes `mine` and gives `theirs`, under a hole of the kind 'home': of
each element of `theirs` the hole says which one of the block's it is, thread by thread. No machine runs that.
"""

from __future__ import annotations

import ast

from msgspec.structs import replace

from swizzle.language.frontend.calls import Arguments, called, require_whole_warps
from swizzle.language.frontend.expressions import ExpressionReader
from swizzle.language.frontend.helper_arguments import HelperCall, IndexLoops, read_array
from swizzle.language.frontend.operators import INDEX
from swizzle.language.frontend.scope import ArrayName
from symbolic.errors import near
from symbolic.ir.program import LANES, DeclareArray, Hole, HoleCall, Load, Stmt, Store
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
