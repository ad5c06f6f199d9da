"""A kernel printed for numba.cuda, read back as a program, at some lengths."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from msgspec.structs import replace

from cuda_out.numba.comparing import refuse
from cuda_out.numba.reading import TYPES, NumbaModule, plain_parameters
from cuda_out.numba.values import NamedArray, ValueReader, called
from symbolic.ir import program as ir
from symbolic.ir.program import LANES, DType, Expr, Program, Stmt

_MEMORY: Final[Mapping[str, Literal["local", "shared"]]] = {"cuda.local.array": "local", "cuda.shared.array": "shared"}
_BARRIERS: Final[Mapping[str, Literal["block", "warp"]]] = {"cuda.syncthreads": "block", "cuda.syncwarp": "warp"}
_ATOMIC: Final = "cuda.atomic.add"


class KernelReader(ValueReader):
    """Reads one kernel at the shapes of a program's arrays: `KernelReader(module, program, file).program`."""

    def __init__(self, module: NumbaModule, program: Program, file: str) -> None:
        """Raises NotPrinted."""
        super().__init__(module, program, file)
        names = plain_parameters(module.kernel)
        if len(names) != len(program.parameters) or names[len(set(names)) :]:
            refuse(module.kernel, f"{module.kernel.name} takes ({', '.join(names)})")
        for name, p in zip(names, program.parameters, strict=True):
            self._know(name, NamedArray(p.name, p.dtype, p.shape, "const" if p.by_value else p.role), module.kernel)
        shuffles = any(called(each).startswith("cuda.shfl") for each in ast.walk(module.kernel))
        if shuffles and program.block[0] * program.block[1] * program.block[2] % LANES:
            refuse(module.kernel, "shuffles in a block that ends in a part of a warp")
        body = self._body(module.kernel.body)
        self.program = replace(program, body=body, holes=(), warp_size=LANES)

    # ---- statements --------------------------------------------------------------------------------------------

    def _body(self, body: Sequence[ast.stmt]) -> tuple[Stmt, ...]:
        return tuple(each for stmt in body for each in self._statement(stmt))

    def _statement(self, stmt: ast.stmt) -> Iterator[Stmt]:
        place = self._place(stmt)
        match stmt:
            case ast.Pass():
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call) if called(call) in _MEMORY:
                yield self._declared(name, call)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found = self._exact(value)
                self._know(name, found.dtype, stmt)
                yield ir.Assign(self._own(name), found, place)
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                yield self._store(target, self._exact(value), stmt)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                whole = ast.copy_location(ast.BinOp(_loaded(target), op, value), stmt)
                found = self._exact(whole)
                self._know(name, found.dtype, stmt)
                yield ir.Assign(self._own(name), found, place)
            case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
                whole = ast.copy_location(ast.BinOp(_loaded(target), op, value), stmt)
                yield self._store(target, self._exact(whole), stmt)
            case ast.If(test=test, body=then, orelse=otherwise):
                condition, before = self._steers(test, DType.BOOL), dict(self._known)
                yes = self._body(then)
                after, self._known = self._known, dict(before)
                no = self._body(otherwise)
                self._known = {name: what for name, what in self._known.items() if name in after}
                yield ir.If(condition, yes, no, place)
            case ast.For(target=ast.Name(id=name), iter=ast.Call() as call, orelse=[]) if called(call) == "range":
                yield self._loop(stmt, name, call)
            case ast.Expr(value=ast.Call(args=[]) as call) if called(call) in _BARRIERS and not call.keywords:
                yield ir.Barrier(_BARRIERS[called(call)], place)
            case ast.Expr(value=ast.Call(args=[array, at, value], keywords=[])) if called(stmt.value) == _ATOMIC:
                target = ast.copy_location(ast.Subscript(array, at, ast.Store()), stmt)
                yield replace(self._store(target, self._exact(value), stmt), atomic=True)
            case _:
                refuse(stmt)

    def _declared(self, name: str, call: ast.Call) -> ir.DeclareArray:
        if name in self._ever or len(call.args) != 2 or call.keywords:
            refuse(call)
        sizes = call.args[0].elts if isinstance(call.args[0], ast.Tuple) else [call.args[0]]
        shape = tuple(each.value for each in sizes if isinstance(each, ast.Constant) and type(each.value) is int)
        kind = call.args[1].id if isinstance(call.args[1], ast.Name) else ""
        dtype = TYPES.get(kind) or (DType.BOOL if kind == "bool_" else None)
        if len(shape) != len(sizes) or not shape or min(shape) < 1 or dtype is None:
            refuse(call)
        self._know(name, NamedArray(self._own(name), dtype, shape, "own"), call)
        return ir.DeclareArray(self._own(name), _MEMORY[called(call)], shape, dtype, self._place(call))

    def _store(self, target: ast.Subscript, value: Expr, stmt: ast.stmt) -> ir.Store:
        array = self._array(target.value)
        if array.role in ("in", "const"):
            refuse(stmt, f"it stores to {array.name}, which is read only")
        if array.dtype is not value.dtype:
            refuse(stmt, f"a value of type {value.dtype.value} in an array of {array.dtype.value}")
        return ir.Store(array.name, self._indices(array, target), value, self._place(stmt))

    def _loop(self, stmt: ast.For, name: str, call: ast.Call) -> ir.For:
        if not 1 <= len(call.args) <= 3 or call.keywords:
            refuse(call)
        bounds = [self._steers(each, DType.INDEX) for each in call.args]
        zero, one = (ir.Const(n, DType.INDEX, self._place(call)) for n in (0, 1))
        start, stop = bounds[:2] if len(bounds) > 1 else (zero, bounds[0])
        step = bounds[2] if len(bounds) > 2 else one
        before = dict(self._known)
        self._know(name, DType.INDEX, stmt)
        body = self._body(stmt.body)
        values = [each.value for each in (start, stop, step) if isinstance(each, ir.Const)]
        if len(values) < 3 or values[2] == 0 or not range(*map(int, values)):
            self._known = before  # the body may not run at all
        return ir.For(self._own(name), start, stop, step, body, self._place(stmt))


def _loaded(target: ast.expr) -> ast.expr:
    """Return what is assigned to as it is read."""
    if isinstance(target, ast.Subscript):
        return ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
    return target
