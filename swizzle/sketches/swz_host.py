"""The body of a host function in a `.swz` file: launches, arrays that are handed on, and loops over constants.

What it calls is read off its text, statement by statement; nothing is run.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from swizzle.language.host_arrays import HostArray, Launches, SeenLaunch, add_array
from swizzle.language.source.kernel_source import Source
from swizzle.sketches.sketch import Sketch
from symbolic.errors import SwizzleError, near

ALLOWED: Final = "launches of sketches, `name = cuda.device_array(shape, dtype)`, other names for arrays, and loops"
MOST: Final = 1000
"""The most launches of a host function."""


class SwzHost(Struct):
    """Reads the body of one host function; `names` are its arrays so far, and the variables of loops around."""

    source: Source
    sketches: Mapping[str, Sketch]
    types: Callable[[ast.expr], Any]
    values: Callable[[ast.expr, Mapping[str, Any]], Any]
    names: dict[str, Any]
    seen: Launches
    refused: Mapping[str, SwizzleError]

    def body(self, statements: Iterable[ast.stmt]) -> None:
        for node in statements:
            match node:
                case ast.Expr(value=ast.Constant(value=str())) | ast.Pass():
                    pass
                case ast.Expr(value=ast.Call(func=ast.Name(id=name)) as call):
                    self._launch(name, call)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self.names[name] = self._value(value)
                case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(
                    values
                ) and all(isinstance(target, ast.Name) for target in targets):
                    found = [self._value(value) for value in values]
                    self.names.update(zip((t.id for t in targets if isinstance(t, ast.Name)), found, strict=True))
                case ast.For(target=ast.Name(id=name), iter=over, body=body, orelse=[]):
                    for item in self._items(over):
                        self.names[name] = item
                        self.body(body)
                case ast.If(test=test, body=body, orelse=otherwise):
                    self.body(body if self._value(test) else otherwise)
                case ast.Return(value=None):
                    self._fail(node, "`return` in a host function", ALLOWED, "leave it out")
                case _:
                    what = type(node).__name__.lower()
                    self._fail(node, f"`{what}` in a host function", ALLOWED, "compute what it needs in a kernel")

    def _fail(self, node: ast.AST, found: str, expected: str, fix: str) -> None:
        self.source.mistake(node, found, expected, fix)

    def _items(self, node: ast.expr) -> list[Any]:
        found = self._value(node)
        if not isinstance(found, list | tuple | range) or len(found) > MOST:
            self._fail(node, "a loop of a host function over this", f"at most {MOST} constants", "write range(3)")
        return list(found)

    def _value(self, node: ast.expr) -> Any:
        """Return an array that a name stands for, a new one, or a constant."""
        match node:
            case ast.Name(id=name) if name in self.names:
                return self.names[name]
            case ast.Call(func=ast.Attribute(value=ast.Name(id="cuda"), attr="device_array")):
                return self._device_array(node)
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(self.names.get(part.id), HostArray):
                self._fail(part, f"{part.id} is computed with in a host function", ALLOWED, "compute it in a kernel")
        ints = {name: value for name, value in self.names.items() if not isinstance(value, HostArray)}
        return self.values(node, ints)

    def _device_array(self, node: ast.Call) -> HostArray:
        given: dict[str | None, ast.expr] = dict(zip(("shape", "dtype"), node.args, strict=False))
        given.update({keyword.arg: keyword.value for keyword in node.keywords})
        if len(node.args) > 2 or set(given) != {"shape", "dtype"}:
            self._fail(node, "a wrong call of cuda.device_array", "a shape and a type", "cuda.device_array(8, f32)")
        return add_array(self.seen, self._value(given["shape"]), self.types(given["dtype"]), self.source.place(node))

    def _launch(self, name: str, call: ast.Call) -> None:
        kernel = self.sketches.get(name)
        if kernel is None and name in self.refused:
            raise self.refused[name]
        if kernel is None:
            fix = near(name, self.sketches) or "write the sketch above the host function"
            self._fail(call.func, f"{name} is no sketch of this file", "a launch: the name of a sketch above", fix)
            return
        parameters = [p.name for p in kernel.program.parameters]
        given = dict(zip(parameters, call.args, strict=False))
        for keyword in call.keywords:
            if keyword.arg not in parameters or keyword.arg in given:
                self._fail(
                    keyword, f"{name} is given {keyword.arg}", f"each of {', '.join(parameters)} once", "mend it"
                )
            given[str(keyword.arg)] = keyword.value
        arrays = [self._value(given[each]) for each in parameters if each in given]
        arrays += [self._value(each) for each in call.args[len(parameters) :]]
        if len(self.seen.launches) == MOST:
            self._fail(call, f"more than {MOST} launches", f"at most {MOST}", "put loops into the kernels")
        self.seen.launches.append(SeenLaunch(kernel, tuple(arrays), self.source.place(call)))
