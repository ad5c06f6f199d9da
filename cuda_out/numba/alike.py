"""Do all blocks of a module for numba.cuda do the same, moved? It is read off the text.

A block's number is used for where its part begins, nothing else; that for how much is before it and how much is left,
each up to some number, and in front of an index of a tiled dimension. So whatever the lengths are, a block does what
one of few blocks does: `Alike` says which. numba's indices have 64 bits, so none of this wraps.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from cuda_out.numba.comparing import refuse
from cuda_out.numba.reading import NumbaModule
from cuda_out.tiling.tiling import Span, TiledAxis, Tiling
from symbolic.ir.program import Axis, Program


class Alike(Struct):
    """Up to what each block asks how much is before it, and how much is left for it, along each tiled axis."""

    before: dict[Axis, int] = field(default_factory=dict)
    left: dict[Axis, int] = field(default_factory=dict)

    def lengths(self, axis: TiledAxis) -> Iterator[int]:
        """Yield lengths at which there are all blocks that differ, along one axis."""
        first = -(-self.before.get(axis.axis, 0) // axis.tile)
        most = first * axis.tile + max(self.left.get(axis.axis, 0), axis.tile)
        yield from (n for n in range(axis.step, most + axis.step, axis.step) if n >= axis.least)


def alike(module: NumbaModule, program: Program, tiling: Tiling) -> Alike:
    """Return in what blocks may differ; raises NotPrinted where the text does not show it."""
    reader = _Reader(module, program, tiling)
    for stmt in module.kernel.body:
        reader.visit(stmt)
    return reader.found


class _Reader(ast.NodeVisitor):
    """Goes through a kernel. `begins` and `lengths` are the variables that say so, `rests` those that are made of them.

    What is no longer what it was is not looked at: each of these names is assigned once.
    """

    def __init__(self, module: NumbaModule, program: Program, tiling: Tiling) -> None:
        names = [each.arg for each in module.kernel.args.args]
        self.spans: Mapping[str, tuple[Span | None, ...]] = {
            name: tiling.spans[p.name] for name, p in zip(names, program.parameters, strict=True)
        }
        self.axes = {axis.axis: axis for axis in tiling.axes}
        self.begins: dict[str, Axis] = {}
        self.lengths: dict[str, Axis] = {}
        self.found = Alike()
        stored = [n.id for n in ast.walk(module.kernel) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        self.once = {name for name in stored if stored.count(name) == 1}
        self.depth = 0

    def visit_Assign(self, node: ast.Assign) -> None:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) if name in self.once and self._special(name, node.value):
                return
            case _:
                self.generic_visit(node)

    def _special(self, name: str, value: ast.expr) -> bool:
        """Note what a variable is that has to do with the block's number, or with a length."""
        match value:
            case ast.BinOp(left=left, op=ast.Mult(), right=ast.Constant(value=int(tile))):
                for axis in self.axes.values():
                    if ast.unparse(left) == f"cuda.blockIdx.{axis.axis}" and tile == axis.tile:
                        self.begins[name] = axis.axis
                        return True
            case ast.Call(func=ast.Name(id="min"), args=[one, ast.Constant(value=int(most))], keywords=[]):
                match one:
                    case ast.Name(id=begin) if begin in self.begins:
                        here = self.begins[begin]
                        self.found.before[here] = max(most, self.found.before.get(here, 0))
                        return True
                    case ast.BinOp(left=ast.Name(id=length), op=ast.Sub(), right=ast.Name(id=begin)):
                        behind = self.begins.get(begin)
                        if behind is not None and self.lengths.get(length) == behind:
                            self.found.left[behind] = max(most, self.found.left.get(behind, 0))
                            return True
            case _:
                length_of = self._length(value)
                if length_of is not None:
                    self.lengths[name] = length_of
                    return True
        return False

    def _length(self, value: ast.expr) -> Axis | None:
        """Return the axis that a text is the length along: `(x.shape[0] - 4) // 2`."""
        scale = halo = 0
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.FloorDiv):
            if not (isinstance(value.right, ast.Constant) and isinstance(value.right.value, int)):
                return None
            scale, value = value.right.value, value.left
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Sub):
            if not (isinstance(value.right, ast.Constant) and isinstance(value.right.value, int)):
                return None
            halo, value = value.right.value * (1 if isinstance(value.op, ast.Sub) else -1), value.left
        match value:
            case ast.Subscript(
                value=ast.Attribute(value=ast.Name(id=array), attr="shape"), slice=ast.Constant(value=int(at))
            ) if array in self.spans and 0 <= at < len(self.spans[array]):
                span = self.spans[array][at]
                if span is not None and (span.scale, span.halo) == (scale or 1, halo):
                    return span.axis
            case _:
                pass
        return None

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self.begins or node.id in self.lengths:
            refuse(node, f"`{node.id}` is used in a way that may differ from block to block")

    def visit_Attribute(self, node: ast.Attribute) -> None:
        text = ast.unparse(node)
        if text.startswith(("cuda.blockIdx.", "cuda.gridDim.")) and node.attr in self.axes:
            refuse(node, f"`{text}` is used for more than where a block begins")
        if node.attr == "shape":
            refuse(node, f"`{text}` is used for more than how much is left")
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        if name not in self.spans:
            self.generic_visit(node)
            return
        texts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(texts) != len(self.spans[name]):
            refuse(node, f"{len(texts)} indices of {name}")
        for text, span in zip(texts, self.spans[name], strict=True):
            self._index(text, span)

    def _index(self, text: ast.expr, span: Span | None) -> None:
        """Look at an index, which in a tiled dimension begins with where the block's part does."""
        if span is None:
            self.visit(text)
            return
        while isinstance(text, ast.BinOp) and isinstance(text.op, ast.Add | ast.Sub):
            self.visit(text.right)
            text = text.left
        scale, begin = 1, text
        match text:
            case ast.BinOp(left=ast.Constant(value=int(factor)), op=ast.Mult(), right=right):
                scale, begin = factor, right
            case _:
                pass
        if not isinstance(begin, ast.Name) or self.begins.get(begin.id) != span.axis or scale != span.scale:
            refuse(text, "an index that does not begin where the block's part does")
