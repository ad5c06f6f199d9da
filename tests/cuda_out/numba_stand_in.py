"""A stand-in for numba.cuda without a GPU: runs a printed module, all threads of a block in lockstep.

It is as strict as the printed text needs: numbers have numba's types and are promoted by its rules (integers to 64
bits), but what numba would take to float64, or a data number that meets an index, is a TypeError. Indices are in
bounds and not negative. All lanes of a shuffle's mask must be there, of 32 to a warp.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import math
import operator
from collections.abc import Callable, Generator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from symbolic.ir.functions import FUNCTIONS

FLOATS, SIGNED = ("float32", "float64"), ("int8", "int16", "int32", "int64")
UNSIGNED = tuple(f"u{each}" for each in SIGNED)
WARP = 32


def wrapped(value: int, type_: str) -> int:
    """Return an integer's low bits, read as a number of the type."""
    bits = int(type_.lstrip("uint"))
    value %= 1 << bits
    return value - (1 << bits) if type_ in SIGNED and value >> (bits - 1) else value


@dataclass(frozen=True, slots=True)
class Value:
    """A number of a numba type: a Python int for integers, NumPy's scalar for floats."""

    type: str
    number: Any

    def _same(self, other: Any) -> None:
        if not isinstance(other, Value) or (self.type != other.type and self.kind() != other.kind()):
            raise TypeError(f"{self} meets {other}")
        if self.type in FLOATS and self.type != other.type:
            raise TypeError(f"{self} meets {other}")

    def kind(self) -> str:
        return "float" if self.type in FLOATS else "signed" if self.type in SIGNED else "unsigned"

    def _binary(self, other: Any, function: Callable[[Any, Any], Any]) -> Value:
        self._same(other)
        if self.type in FLOATS:
            with np.errstate(all="ignore"):
                return Value(self.type, function(self.number, other.number))
        promoted = "int64" if self.type in SIGNED else "uint64"
        return Value(promoted, wrapped(function(self.number, other.number), promoted))

    def __add__(self, other: Any) -> Value:
        return self._binary(other, operator.add)

    def __sub__(self, other: Any) -> Value:
        return self._binary(other, operator.sub)

    def __mul__(self, other: Any) -> Value:
        return self._binary(other, operator.mul)

    def __truediv__(self, other: Any) -> Value:
        assert self.type in FLOATS
        return self._binary(other, operator.truediv)

    def __floordiv__(self, other: Any) -> Value:
        return self._binary(other, operator.floordiv)

    def __mod__(self, other: Any) -> Value:
        return self._binary(other, operator.mod)

    def __and__(self, other: Any) -> Value:
        return self._binary(other, operator.and_)

    def __or__(self, other: Any) -> Value:
        return self._binary(other, operator.or_)

    def __xor__(self, other: Any) -> Value:
        return self._binary(other, operator.xor)

    def __lshift__(self, other: Any) -> Value:
        return self._binary(other, operator.lshift)

    def __rshift__(self, other: Any) -> Value:
        return self._binary(other, operator.rshift)

    def __invert__(self) -> Value:
        return self._binary(self, lambda a, _: ~a)

    def __neg__(self) -> Value:
        if self.type in UNSIGNED:
            raise TypeError(f"-{self}: numba gives this the type that it likes")
        return Value(self.type, -self.number) if self.type in FLOATS else self._binary(self, lambda a, _: -a)

    def __abs__(self) -> Value:
        number = abs(self.number)
        return Value(self.type, number if self.type in FLOATS else wrapped(number, self.type))

    def __lt__(self, other: Any) -> bool:
        self._same(other)
        assert self.type == other.type
        return bool(self.number < other.number)

    def __gt__(self, other: Any) -> bool:
        self._same(other)
        assert self.type == other.type
        return bool(self.number > other.number)

    def __le__(self, other: Any) -> bool:
        return not self > other

    def __ne__(self, other: object) -> bool:
        assert self.type in SIGNED and type(other) is int
        return bool(self.number != other)

    def __bool__(self) -> bool:
        raise TypeError(f"{self} steers")


@dataclass(frozen=True, slots=True)
class Type:
    """`float32`, ...: converts a number, and is the dtype of an array."""

    name: str

    def __call__(self, value: Any) -> Value:
        number = value.number if isinstance(value, Value) else value
        if self.name in FLOATS:
            with np.errstate(all="ignore"):
                return Value(self.name, getattr(np, self.name)(number))
        return Value(self.name, wrapped(int(number), self.name))


class Array:
    """An array whose elements are Values; no index is negative or past the end."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array, self.shape, self.dtype = array, array.shape, array.dtype

    def _at(self, index: Any) -> tuple[int, ...]:
        given = index if isinstance(index, tuple) else (index,)
        at = tuple(i.number if isinstance(i, Value) and i.type not in FLOATS else i for i in given)
        assert len(at) == len(self.shape) and all(isinstance(i, int) for i in at), at
        if not all(0 <= i < extent for i, extent in zip(at, self.shape, strict=True)):
            raise IndexError(f"{at} in an array of shape {self.shape}")
        return at

    def __getitem__(self, index: Any) -> Value:
        return Type(str(self.dtype))(self.array[self._at(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        assert isinstance(value, Value) and value.type == self.dtype, (value, self.dtype)
        self.array[self._at(index)] = value.number


@dataclass(slots=True)
class Request:
    """What a thread waits for: a call of `cuda`, at a place in the text."""

    call: str
    site: tuple[int, int]
    arguments: tuple[Any, ...]


Thread = Generator[Request, Any, None]


class Functions:
    """What `math` and `libdevice` give the module: functions of floats of one type, in that type."""

    def __init__(self, single: str = "") -> None:
        self._single, self.inf = single, math.inf

    def __getattr__(self, name: str) -> Callable[..., Value]:
        def function(*values: Value) -> Value:
            kind = values[0].type
            assert kind in FLOATS and all(value.type == kind for value in values)
            symbol = name.removesuffix(self._single) if kind == "float32" else name
            assert not self._single or symbol != name or kind != "float32"
            found = FUNCTIONS[symbol].on_numbers([value.number for value in values])
            return Value(kind, np.dtype(kind).type(found))

        return function


class Cuda:
    """What `from numba import cuda` gives the module: one launch at a time, one thread of it running."""

    def __init__(self) -> None:
        self.threadIdx = self.blockIdx = self.blockDim = self.gridDim = SimpleNamespace(x=0, y=0, z=0)
        self.laneid = 0
        self.local, self.shared = SimpleNamespace(array=self._local), SimpleNamespace(array=self._shared)
        self.atomic = SimpleNamespace(add=self._add)
        self._memory: dict[Any, Array] = {}

    @staticmethod
    def _add(array: Array, index: Any, value: Value) -> None:
        total = (array[index] + value).number
        array[index] = Value(value.type, total if value.type in FLOATS else wrapped(total, value.type))

    def _local(self, shape: Any, dtype: Type) -> Array:
        return Array(np.full(shape, 77, dtype.name))

    def _shared(self, site: tuple[int, int], shape: Any, dtype: Type) -> Array:
        return self._memory.setdefault(site, self._local(shape, dtype))

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        return a * b + c

    def as_cuda_array(self, array: Any) -> Array:
        return array if isinstance(array, Array) else Array(array)

    def device_array(self, shape: Any, dtype: str, stream: Any) -> Array:
        return Array(np.full(shape, 77, dtype))

    def jit(self, kernel: Callable[..., Thread] | None = None, device: bool = False) -> Any:
        if kernel is None:
            assert device
            return lambda function: function
        return SimpleNamespace(launch=lambda grid, block, arguments: self._launch(kernel, grid, block, arguments))

    def _launch(self, kernel: Callable[..., Thread], grid: Any, block: Any, arguments: Any) -> None:
        self.blockDim, self.gridDim = (SimpleNamespace(x=s[0], y=s[1], z=s[2]) for s in (block, grid))
        for z, y, x in itertools.product(*(range(extent) for extent in reversed(grid))):
            self._memory = {}
            self.blockIdx = SimpleNamespace(x=x, y=y, z=z)
            Block(self, kernel, block, arguments).run()


class Block:
    """The threads of one block, and what each waits for."""

    def __init__(self, cuda: Cuda, kernel: Callable[..., Thread], block: Any, arguments: Any) -> None:
        places = itertools.product(*(range(extent) for extent in reversed(block)))
        self.cuda, self.places = cuda, [SimpleNamespace(x=x, y=y, z=z) for z, y, x in places]
        self.threads = [kernel(*arguments) for _ in self.places]
        self.waits: dict[int, Request] = {}
        for t in range(len(self.threads)):
            self.resume(t, None)

    def resume(self, t: int, answer: Any) -> None:
        self.cuda.threadIdx, self.cuda.laneid = self.places[t], t % WARP
        self.waits.pop(t, None)
        with contextlib.suppress(StopIteration):
            self.waits[t] = self.threads[t].send(answer)

    def run(self) -> None:
        while self.waits:
            if {request.call for request in self.waits.values()} == {"syncthreads"}:
                assert len(self.waits) == len(self.threads), "a thread ended before a barrier"
                assert len({request.site for request in self.waits.values()}) == 1, "threads at different barriers"
                for t in list(self.waits):
                    self.resume(t, None)
                continue
            first = next(t for t, request in self.waits.items() if request.call != "syncthreads")
            self.exchange(first - first % WARP, self.waits[first])

    def exchange(self, base: int, request: Request) -> None:
        """Answer all lanes of a warp that wait at one place."""
        warp = range(base, min(base + WARP, len(self.threads)))
        lanes = [t for t in warp if t in self.waits and self.waits[t].site == request.site]
        if request.call == "syncwarp":
            assert lanes == list(warp), "lanes are missing at syncwarp"
            answers = dict.fromkeys(lanes)
        else:
            answers = {t: self.shuffled(t, base, lanes, warp) for t in lanes}
        for t in lanes:
            self.resume(t, answers[t])

    def shuffled(self, t: int, base: int, lanes: list[int], warp: range) -> Value:
        call, (mask, offered, lane) = self.waits[t].call, self.waits[t].arguments
        assert offered.type in ("int32", "int64", *FLOATS), f"numba does not shuffle {offered.type}"
        assert isinstance(mask, int) and isinstance(lane, int)
        assert mask >> (t - base) & 1 and all(each in lanes for each in warp if mask >> (each - base) & 1), "mask"
        own = t - base
        source = {"shfl_sync": lane % WARP, "shfl_up_sync": own - lane, "shfl_down_sync": own + lane}.get(
            call, own ^ lane
        )
        source = base + (source if 0 <= source < WARP else own)
        assert source in lanes, f"lane {source} is not at the shuffle"
        found = self.waits[source].arguments[1]
        assert isinstance(found, Value)
        return found


class _Yields(ast.NodeTransformer):
    """Make every meeting of lanes a `yield`, every shared array one of its place, every launch a call."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = ast.unparse(node.func)
        site = ast.Tuple([ast.Constant(node.lineno), ast.Constant(node.col_offset)], ast.Load())
        if name.startswith(("cuda.shfl", "cuda.sync")):
            call = ast.Constant(name.removeprefix("cuda."))
            request = ast.Call(ast.Name("Request", ast.Load()), [call, site, ast.Tuple(node.args, ast.Load())], [])
            return ast.Yield(request)
        if name == "cuda.shared.array":
            node.args.insert(0, site)
        if isinstance(node.func, ast.Subscript):
            grid, block, _ = node.func.slice.elts  # type: ignore[attr-defined]
            launch = ast.Attribute(node.func.value, "launch", ast.Load())
            return ast.Call(launch, [grid, block, ast.Tuple(node.args, ast.Load())], [])
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        return None if node.module == "numba" else node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        if any(
            isinstance(each, ast.Attribute) for each in node.decorator_list
        ):  # a kernel is a generator, also one in which no lanes meet
            node.body.append(ast.parse("if False:\n    yield").body[0])
        return node


def module(text: str) -> dict[str, Any]:
    """Return the names of a printed module, run on the stand-in; its launch function takes NumPy arrays."""
    tree = ast.fix_missing_locations(_Yields().visit(ast.parse(text)))
    types = {name: Type(name) for name in (*FLOATS, *SIGNED, *UNSIGNED)}
    scope: dict[str, Any] = {"cuda": Cuda(), "Request": Request, **types}
    exec(compile(tree, "printed", "exec"), scope)
    scope |= {"math": Functions(), "libdevice": Functions("f")}
    return scope
