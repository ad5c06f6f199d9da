"""A printed launch function for numba.cuda, run to see what it launches and what it refuses.

Only text that was just printed is run, on stand-ins for arrays that have a type and a shape and no elements, so that
lengths may be as large as they like.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from cuda_out.numba.expressions import NUMBA_TYPE


class GivenArray(Struct, frozen=True):
    """An array that is passed: its name, type and shape. `seen` says that numba was asked to see it as an array."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    seen: bool = False


class GivenNumber(Struct, frozen=True):
    """A number that is passed, of numba's type once it was converted."""

    name: str
    type: str = ""


class GivenStream(Struct, frozen=True):
    """A stream that is passed."""


class NumbaLaunch(Struct, frozen=True):
    """What was launched: the kernel, grid and block, the stream, and the kernel's arguments in order."""

    kernel: str
    grid: Any
    block: Any
    stream: Any
    arguments: tuple[Any, ...]


class NumbaCall(Struct, frozen=True):
    """A call of another launch function of the module: its arguments in order, and the stream."""

    function: str
    arguments: tuple[Any, ...]
    stream: Any

    def __str__(self) -> str:
        return f"{self.function}({', '.join(getattr(each, 'name', str(each)) for each in self.arguments)})"


class RaisedError(Exception):
    """The function raised an exception: it refuses what it was given."""


class Launcher:
    """One launch function of a printed module, which launches `kernels` and calls other `functions`."""

    def __init__(self, text: str, function: str, kernels: Iterable[str], functions: Iterable[str] = ()) -> None:
        tree = ast.parse(text)
        tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function]
        self.told: list[NumbaLaunch | NumbaCall] = []
        self._names: dict[str, Any] = {"__builtins__": {"ValueError": ValueError}}
        self._names |= {name: _converter(name) for name in NUMBA_TYPE.values()}
        self._names["cuda"] = SimpleNamespace(
            as_cuda_array=lambda array: replace(array, seen=True), device_array=self._made
        )
        self._names |= {name: _Kernel(name, self.told) for name in kernels} | {
            name: self._called(name) for name in functions
        }
        self._arrays = 0
        exec(compile(tree, "printed", "exec"), self._names)  # our own text, no user's
        self._function: Callable[..., None] = self._names[function]

    def call(
        self, given: Sequence[GivenArray | GivenNumber], stream: GivenStream | None
    ) -> list[NumbaLaunch | NumbaCall]:
        """Return what is launched and called; raises RaisedError where it raises."""
        self.told.clear()
        self._arrays = 0
        try:
            self._function(*given, **({} if stream is None else {"stream": stream}))
        except (AttributeError, IndexError, TypeError, ValueError, ZeroDivisionError) as error:
            raise RaisedError(str(error)) from None
        return list(self.told)

    def _made(self, shape: tuple[int, ...], dtype: str, stream: Any) -> GivenArray:
        self._arrays += 1
        return GivenArray(f"new {self._arrays - 1}", dtype, shape, seen=True)

    def _called(self, function: str) -> Callable[..., None]:
        def call(*arguments: Any) -> None:
            self.told.append(NumbaCall(function, arguments[:-1], arguments[-1]))

        return call


class _Kernel(Struct):
    """A kernel, which notes that it is launched: `kernel[grid, block, stream](...)`."""

    name: str
    told: list[NumbaLaunch | NumbaCall]

    def __getitem__(self, how: tuple[Any, Any, Any]) -> Callable[..., None]:
        def launch(*arguments: Any) -> None:
            self.told.append(NumbaLaunch(self.name, *how, arguments))

        return launch


def _converter(name: str) -> Callable[[GivenNumber], GivenNumber]:
    return lambda number: GivenNumber(number.name, name)
