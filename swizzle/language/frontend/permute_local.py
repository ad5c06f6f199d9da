"""`permute_local`, the column shuffle: each thread reorders its own local array (paper, section 7.3, Listing 4)."""

from __future__ import annotations

import ast

from swizzle.language.frontend.calls import Arguments
from swizzle.language.frontend.expressions import ExpressionReader
from swizzle.language.frontend.helper_arguments import read_array, read_index_function
from swizzle.language.frontend.index_loops import IndexLoops
from symbolic.ir.program import DeclareArray, Load, Stmt, Store


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
