"""Vectors as values: a kernel with them means what Python makes of its text, where vectors are copied as in CUDA."""

from __future__ import annotations

import ast
import random
import re
import textwrap
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cuda_out.c.printer import print_cuda
from cuda_out.passes.pipeline import optimize
from swizzle import SwizzleError
from swizzle.language.element_types import VECTOR_TYPES
from symbolic.algebra.numbers import Numbers
from symbolic.machine.machine import Machine
from tests.swizzle.spelling import read, spelled

THREADS = 8
ARRAYS = f"p=cuda.int4[{THREADS}]; x=i32[{THREADS}, 4]; y=cuda.int4.out[{THREADS}]; z=i32.out[{4 * THREADS}]"
HEAD = """\
@cuda.jit(device=True)
def turned(v, k):
    v.x += i32(k)
    w = cuda.int4(v.y, v.x, v.w, v.z)
    w.z -= v.x
    return w

@cuda.jit(device=True)
def added(a, b):
    return cuda.int4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w)

@cuda.jit(device=True)
def first(rows, k):
    return rows[k]

@cuda.jit(device=True)
def exchanged(v, w, s):
    v.x += s
    return w, cuda.int4(w.x - v.x, s, v.x, w.w), v, v.y + s

@cuda.jit(device=True)
def through(v, w, s):
    return exchanged(w, v, s)

@cuda.jit(device=True)
def total(v):
    return v.x + v.y + v.z + v.w
"""

KERNELS = {
    "loads, components, a store": """
        i = cuda.laneid
        v = p[i]
        v.x = v.y + v.z * p[7 - i].w
        v.y -= 3
        y[i] = v
        z4[7 - i] = p[i]
        """,
    "a vector is a copy": """
        i = cuda.laneid
        v = p[i]
        w = v
        w.x = i32(100)
        v = cuda.int4(v.y, v.x, w.x, v.x)
        y[i] = v
        z4[i] = w
        """,
    "several at once": """
        i = cuda.laneid
        a, b, s = p[i], x4[7 - i, 0], p[0].x
        for k in range(3):
            a, b = b, cuda.int4(a.y, a.x, b.w, s)
            a.x, s, b = b.x + s, a.x, a
        y[i], z4[i] = b, a
        """,
    "a function that returns several": """
        i = cuda.laneid
        a, b, s = p[i], x4[7 - i, 0], p[0].x
        a, b, d, s = exchanged(a, b, s)
        for k in range(2):
            b, a, c, s = through(a, b, s)
            a.x += s
        y[i] = a
        z4[7 - i] = cuda.int4(b.x, c.y, s, d.x)
        """,
    "choices of vectors": """
        i = cuda.laneid
        v = p[i] if i < 5 else cuda.int4(0, 0, 0, 0)
        v = cuda.int4(v.w, v.z, v.y, v.x) if i % 2 == 0 else v
        y[i] = v
        z4[i] = x4[i, 0] if i > 2 else p[i]
        """,
    "in conditions and loops": """
        i = cuda.laneid
        v = p[i]
        for k in range(3):
            if i > k:
                v = added(v, p[i - k])
            else:
                v.w = total(x4[k, 0])
        y[i] = v
        z4[i] = turned(turned(v, 2), i)
        """,
    "arrays of vectors": """
        i = cuda.laneid
        mine = cuda.local.array(3, cuda.int4)
        tile = cuda.shared.array((2, 4), cuda.int4)
        for k in range(len(mine)):
            mine[k] = p[(i + k) % 8]
            mine[k].z = i32(k)
        tile[i // 4, i % 4] = first(mine, 2)
        cuda.syncthreads()
        z4[i] = tile[i % 2, i // tile.shape[0]]
        y[i] = added(first(p, i), mine[1])
        """,
    "a view of memory that is used in both ways": """
        i = cuda.laneid
        tile = cuda.shared.array((8, 4), i32)
        rows = tile.view(cuda.int4)
        for c in range(4):
            tile[i, c] = x[7 - i, c]
        cuda.syncthreads()
        y[i] = rows[i, 0]
        v = rows[0, 0]
        z4[i] = cuda.int4(tile[i, 3], v.x, rows[7, 0].y, tile[0, 0])
        """,
}


class Vec:
    """Four numbers in Python."""

    def __init__(self, *numbers: int) -> None:
        self.x, self.y, self.z, self.w = numbers

    def __iter__(self) -> Any:
        return iter((self.x, self.y, self.z, self.w))


class Rows:
    """An array of vectors in Python, over an array of numbers; its elements are changed in place by `v.x = ...`."""

    def __init__(self, numbers: np.ndarray[Any, Any]) -> None:
        self.numbers = numbers.reshape(*numbers.shape[:-1], -1, 4) if numbers.shape[-1] != 4 else numbers
        self.shape = self.numbers.shape[:-1]

    def __len__(self) -> int:
        return self.shape[0]

    def _at(self, index: Any) -> Any:
        index = index if isinstance(index, tuple) else (index,)
        return index[: len(self.shape)]

    def __getitem__(self, index: Any) -> Any:
        row = self.numbers[self._at(index)]

        class Element(Vec):
            def __setattr__(self, name: str, value: int) -> None:
                super().__setattr__(name, value)
                row["xyzw".index(name)] = value

        return Element(*map(int, row))

    def __setitem__(self, index: Any, vector: Vec) -> None:
        self.numbers[self._at(index)] = list(vector)


def copied(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(copied, value))
    return Vec(*value) if isinstance(value, Vec) else value


class ByValue(ast.NodeTransformer):
    """Let Python copy what is assigned and what is passed."""

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        node.value = ast.Call(ast.Name("copied", ast.Load()), [node.value], [])
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        node.args = [ast.Call(ast.Name("copied", ast.Load()), [each], []) for each in node.args]
        return node


def in_python(body: str, given: dict[str, Any]) -> dict[str, Any]:
    """Run the same text as Python: each part between barriers by all threads, one after the other."""
    arrays = {name: value.copy() for name, value in given.items()}
    shared: dict[int, Any] = {}

    def namespace(thread: int) -> dict[str, Any]:
        made = iter(range(9))

        def shared_array(shape: Any, kind: Any) -> Any:
            return shared.setdefault(next(made), array(shape, kind))

        def array(shape: Any, kind: Any) -> Any:
            shape = shape if isinstance(shape, tuple) else (shape,)
            return Rows(np.zeros((*shape, 4), np.int32)) if kind is Vec else Numbered(np.zeros(shape, np.int32))

        cuda = SimpleNamespace(
            laneid=thread, int4=Vec, local=SimpleNamespace(array=array), shared=SimpleNamespace(array=shared_array),
            jit=lambda **_: lambda function: function,
        )  # fmt: skip
        names = {"cuda": cuda, "i32": int, "copied": copied, "x": arrays["x"], "x4": Rows(arrays["x"][:, None, :])}
        names |= {"p": Rows(arrays["p"]), "y": Rows(arrays["y"]), "z4": Rows(arrays["z"].reshape(THREADS, 4))}
        exec(compile(ast.fix_missing_locations(ByValue().visit(ast.parse(HEAD))), "head", "exec"), names)
        return names

    class Numbered(np.ndarray):  # type: ignore[type-arg]
        def __new__(cls, numbers: Any) -> Any:
            return numbers.view(cls)

        def view(self, kind: Any = None, *more: Any) -> Any:
            return Rows(np.asarray(self)[:, None, :]) if kind is Vec else super().view(kind, *more)

    spaces = [namespace(thread) for thread in range(THREADS)]
    for part in body.split("cuda.syncthreads()\n"):
        code = compile(ast.fix_missing_locations(ByValue().visit(ast.parse(part))), "body", "exec")
        for names in spaces:
            exec(code, names)
    return arrays


def agrees(body: str) -> None:
    """Compare the machine, on the kernel as it is read and as it is printed, with Python."""
    generator = np.random.default_rng(1)
    given = {
        name: generator.integers(-50, 50, shape, dtype=np.int32)
        for name, shape in {"p": (THREADS, 4), "x": (THREADS, 4), "y": (THREADS, 4), "z": (4 * THREADS,)}.items()
    }
    views = "x4 = x.view(cuda.int4)\nz4 = z.view(cuda.int4)\n"
    program = read(views + body, ARRAYS, HEAD, f"block={THREADS}, warp_size={THREADS}").program
    wanted = in_python(body, given)
    for each in (program, optimize(program)):
        run = Machine(each, Numbers(), {"p": given["p"].ravel(), "x": given["x"].ravel()}).run()
        assert not run.violations
        for name in "yz":
            assert run.memories[name].data.ravel().tolist() == wanted[name].ravel().tolist()


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_means_what_python_makes_of_it(name: str) -> None:
    """The machine gives Python's numbers, of the program that was read and of the one that is printed."""
    agrees(textwrap.dedent(KERNELS[name]).lstrip())


def random_kernel(seed: int) -> str:
    """Return statements over four vectors."""
    draw = random.Random(seed)
    vectors = ["a", "b", "c", "d"]

    def number() -> str:
        one, other = (f"{draw.choice(vectors)}.{draw.choice('xyzw')}" for _ in range(2))
        forms = [one, f"{one} + {other}", f"p[(i + 3) % 8].{draw.choice('xyzw')}", f"total({draw.choice(vectors)})"]
        return draw.choice(forms)

    def vector() -> str:
        one, other = draw.choice(vectors), draw.choice(vectors)
        forms = [
            one,
            f"p[(i * 3 + {draw.randrange(8)}) % 8]",
            "x4[7 - i, 0]",
            f"cuda.int4({', '.join(number() for _ in range(4))})",
            f"{one} if i < {draw.randrange(8)} else {other}",
            f"cuda.int4({one}.w, {one}.z, {other}.y, 1) if i % 2 == 1 else {other}",
            f"turned({one}, i)",
            f"added({one}, {other})",
            f"turned(added({one}, {other}), 1)",
        ]
        return draw.choice(forms)

    def statement() -> str:
        target = draw.choice(vectors)
        component = f"{target}.{draw.choice('xyzw')}"
        return draw.choice([f"{target} = {vector()}", f"{component} = {number()}", f"{component} += {number()}"])

    lines = ["i = cuda.laneid", *(f"{name} = p[(i + {n}) % 8]" for n, name in enumerate(vectors))]
    for _ in range(4):
        one, other = f"    {statement()}", f"    {statement()}"
        loop = [f"for k in range({draw.randrange(1, 4)}):", one, other]
        lines += draw.choice([[statement()], loop, [f"if i > {draw.randrange(8)}:", one, "else:", other]])
    return "\n".join([*lines, f"y[i] = {vector()}", f"z4[i] = {vector()}"]) + "\n"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(12))
def test_random_kernels(seed: int) -> None:
    """Kernels of random statements on vectors are what Python makes of them."""
    agrees(random_kernel(seed))


def test_what_is_read_and_printed() -> None:
    """A variable is a local array, a whole vector a loop over its lanes, which is printed as one access."""
    arrays = "p=cuda.float4[64]; x=f32[128]; y=cuda.float4.out[64]"
    body = "x4 = x.view(cuda.float4)\nv = p[cuda.laneid]\nv.x *= x4[2].w\ny[cuda.laneid] = v"
    assert spelled(body, arrays=arrays) == [
        "local f32 v[4]",
        "for e in 0, 4, 1",
        "  v[e] = p[cuda.laneid, e]",
        "v[0] = v[0] * x[11]",
        "for e in 0, 4, 1",
        "  y[cuda.laneid, e] = v[e]",
    ]
    text = print_cuda(read(body, arrays=arrays).program).text
    assert "const float4 p_4 = *reinterpret_cast<const float4*>(&p[" in text
    assert "= make_float4(v[0], v[1], v[2], v[3]);" in text


@pytest.mark.parametrize("name", VECTOR_TYPES)
def test_every_type_is_moved_by_one_access(name: str) -> None:
    """Each of the types has CUDA's name of it, and one access of its width in the printed text."""
    arrays = f"p=cuda.{name}[64]; y=cuda.{name}.out[64]"
    text = print_cuda(read("v = p[cuda.laneid]\ny[cuda.laneid] = v", arrays=arrays).program).text
    printed = {"half2": "__half2", "bfloat162": "__nv_bfloat162"}.get(name, name)
    assert f"reinterpret_cast<const {printed}*>(&p[" in text
    assert f"reinterpret_cast<{printed}*>(&y[" in text


@pytest.mark.parametrize(("bytes_", "sums"), [("char4", "i32"), ("uchar4", "u32")])
def test_dp4a(bytes_: str, sums: str) -> None:
    """Four products of bytes and a sum, of variables and of elements, which are loaded whole; it wraps."""
    body = f"i = cuda.laneid\nv = a[i]\ny[i] = cuda.dp4a(v, b[7 - i], {sums}({2**31 - 1}) * 2) * 3"
    arrays = f"a=cuda.{bytes_}[{THREADS}]; b=cuda.{bytes_}[{THREADS}]; y={sums}.out[{THREADS}]"
    program = read(body, arrays, launch=f"block={THREADS}, warp_size={THREADS}").program
    byte = np.int8 if sums == "i32" else np.uint8
    a, b = (np.random.default_rng(2).integers(0, 256, (2, THREADS, 4))).astype(np.uint8).view(byte)
    exact = ((a.astype(np.int64) * b[::-1]).sum(axis=1) + 2 * (2**31 - 1)) * 3
    for each in (program, optimize(program)):
        run = Machine(each, Numbers(), {"a": a.ravel(), "b": b.ravel()}).run()
        assert (run.memories["y"].data == exact.astype(np.int32 if sums == "i32" else np.uint32)).all()
    text = print_cuda(optimize(program)).text
    assert len(re.findall(rf"const {bytes_} \w+ = ", text)) == 2


BYTES = "c = cuda.local.array(2, cuda.char4)\nd = cuda.local.array(2, cuda.uchar4)\n"
MISTAKES = {
    "y[0] = x.view(cuda.float4)[0]": "an element of the view x.view(cuda.float4), which has no name",
    "y[0] = p[0].v": "a float4 has no `v`",
    "v = p[0]\nv.xy = 1": "a float4 has no `xy`",
    "v = p[0]\ny[0] = v + v": "the float4 v where one number is needed",
    "v = p[0]\nv += 1": "the float4 v where one number is needed",
    "v = p[0]\nv = f32(1)": "v is a float4 already",
    "v = f32(1)\nv = p[0]": "v is a variable already, and is now given a float4",
    "y[0] = f32(1)": "f32 data stored to y, an array of float4",
    "x4 = x.view(cuda.float2)\ny[0] = x4[0]": "a float2 stored to y, which has elements of float4",
    "x[0] = p[0]": "a float4 given to x[0]",
    "p[0] = p[1]": "a store to the in parameter p",
    "p[0].x = 1": "a store to the in parameter p",
    "v = y[0]": "a read of the out parameter y",
    "v = p[0, 1]": "2 indices for p, which has 1 dimension",
    "if cuda.laneid < 3:\n    v = p[0]\ny[0] = v": "v may have no value here",
    "v.x = 1": "a component of v, which has no value yet",
    "v = cuda.float4(1, 2, 3)": "a wrong call of cuda.float4",
    "v = cuda.float4(1, 2, 3, w=4)": "a wrong call of cuda.float4",
    "v = cuda.float4(1, 2, 3, i32(4))": "the component w of cuda.float4 is i32 data",
    "s = p[0] if cuda.laneid < 2 else f32(0)": "a choice between a float4 and f32 data",
    "s = 1 + cuda.shfl_sync(-1, p[0], 1)": "a float4 where one number is needed",
    "s = cuda.float4(1, 2, 3, 4) * 2": "a float4 where one number is needed",
    "warp_load(p, x)": "the source of warp_load is an array of float4",
    "x4 = x.view(cuda.int4)": "a view of x, which is f32 data, as cuda.int4",
    "m = cuda.local.array(6, f32)\nm4 = m.view(cuda.float4)": "a view of m as cuda.float4, of 6 numbers in a row",
    "m = cuda.local.array((2, 2, 2), cuda.float4)": "(2, 2, 2) is not a shape for cuda.float4",
    "a, b = p[0], x[0], 1": "3 values for 2 targets",
    "s = cuda.dp4a(p[0], p[1], i32(0))": "cuda.dp4a of a float4",
    "s = cuda.dp4a(x[0], x[1], i32(0))": "cuda.dp4a of x[0]",
    f"{BYTES}s = cuda.dp4a(c[0], c[1], x[0])": "the third argument of cuda.dp4a is f32 data",
    f"{BYTES}s = cuda.dp4a(c[0], d[1], 0)": "cuda.dp4a of a char4 and a uchar4",
    "v = cuda.float3(1, 2, 3)": "cuda has no `float3`",
}  # fmt: skip


@pytest.mark.parametrize("body", MISTAKES)
def test_mistakes(body: str) -> None:
    """Each has one error."""
    with pytest.raises(SwizzleError) as caught:
        read(body, "p=cuda.float4[64]; x=f32[64]; y=cuda.float4.out[64]")
    assert MISTAKES[body] in caught.value.found
    assert caught.value.fix or caught.value.expected
