"""What a stranger's module may hold: the printed functions, and a kernel of the printed words."""

from __future__ import annotations

import pytest

from cuda_out.numba.comparing import NotPrinted
from cuda_out.numba.module_text import converted, read_module
from cuda_out.numba.printer import print_numba
from cuda_out.passes.pipeline import optimize
from tests.cuda_out.examples import conv1d

PROGRAM = optimize(conv1d())
SOURCE = print_numba(PROGRAM)
TEXT = SOURCE.text
KERNEL, LAUNCH = f"def {SOURCE.kernel}(x, w, y):\n", f"def {SOURCE.launcher}("
FIRST = next(line for line in TEXT.partition(KERNEL)[2].splitlines(keepends=True) if "#" not in line)
STATEMENTS = [
    "import os", "from os import system", "global cuda", "nonlocal x", "del x", "assert x[0]", "raise ValueError",
    "return", "return x", "yield x", "await x", "while True: pass", "with x: pass", "with open('ran', 'w') as f: pass",
    "try:\n        pass\n    finally:\n        pass", "match x:\n        case _: pass", "class K: pass",
    "def f(): pass", "f = lambda: 1", "async def f(): pass", "x: int = 1", "(n := 1)", "a = b = 1", "a, b = 1, 2",
    "a[0], b = 1, 2", "x.shape = 1", "x.dtype = 1", "cuda.jit = 1", "cuda = 1", "float32 = 1", "range = 1", "min = 1",
    "math = 1", "inf = 1", "conv1d = 1", "print(1)", "exec('1')", "eval('1')", "open('ran', 'w')", "__import__('os')",
    "breakpoint()", "getattr(x, 'y')", "x.copy_to_host()", "cuda.synchronize()", "cuda.jit(min)", "cuda.close()",
    "cuda.declare_device('f', 'int32()')", "cuda.syncthreads(*x)", "cuda.syncthreads(**x)",
    "cuda.shared.array(shape=1)", "a = cuda.local.array(10**9, float32)", "a = cuda.local.array(x, float32)",
    "a = cuda.local.array(1000000000, float32)", "a = cuda.shared.array((99, 999), float32)", "cuda.local.array()",
    "a = x[0] ** 2", "a = x is y", "a = 1 in x",
    "min(1, 2, key=print)", "a = min", "a = cuda", "a = cuda.jit", "a = cuda.local", "a = math", "a = math.e",
    "a = x.__class__", "a = x.shape.__class__", "a = cuda.__loader__", "a = [1]", "a = {1}", "a = {1: 2}",
    "a = [v for v in x]", "a = (v for v in x)", "a = f'{x}'", "a = b'x'", "a = ...", "a = None", "a = 1j", "a = x[0:1]",
    "a = x[...]", "a = (*x, 1)", "a = unknown", "a = unknown[0]", "a = unknown(1)", "a = (lambda: 1)()",
    "a = cuda.local.array(1, float32)[0:1]", "for v in x: pass", "for v in range(3):\n        pass\n    else: pass",
    "for v, u in range(3): pass", "for x[0] in range(3): pass", "for v in min(1, 2): pass", "x[0] @= 1", "x", "1 + 1",
    "a = 1 if (b := 2) else 3", "type X = int", "conv1d(x, w, y)", "launch_conv1d(x, w, y)", "conv1d[1, 1](x, w, y)",
]  # fmt: skip


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_kernel_says_nothing_but_printed_words(statement: str) -> None:
    """What Python or numba could run, look up or call is refused with its line before anything is compiled."""
    assert TEXT.count(FIRST) == 1
    text = TEXT.replace(FIRST, f"    {statement}\n{FIRST}")
    with pytest.raises(NotPrinted) as refused:
        read_module(text, SOURCE, PROGRAM)
    line = text[: text.index(f"    {statement}\n")].count("\n") + 1
    assert refused.value.line in range(line, line + 4) or "means something else" in refused.value.why


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def conv1d(x, w, y)", "def conv1d(x, w, y, z=print(1))"),
        ("def conv1d(x, w, y)", "def conv1d(x, w, *y)"),
        ("def conv1d(x, w, y)", "def conv1d(x, w, y, /)"),
        ("def conv1d(x, w, y)", "def conv1d(x, w, y, **z)"),
        ("def conv1d(x, w, y)", "def conv1d(x, w, y: print(1))"),
        ("def conv1d(x, w, y)", "def conv1d(x, w, y) -> print(1)"),
        ("def conv1d(x, w, y)", "def conv1d(x, w)"),
        ("def conv1d(x, w, y)", "def conv1d(x, w, cuda)"),
        ("def conv1d(x, w, y)", "async def conv1d(x, w, y)"),
        ("@cuda.jit\n", ""),
        ("@cuda.jit\n", "@cuda.jit()\n"),
        ("@cuda.jit\n", "@cuda.jit(fastmath=True)\n"),
        ("@cuda.jit\n", "@cuda.jit(max_registers=8)\n"),
        ("@cuda.jit\n", "@cuda.jit\n@print\n"),
        ("@cuda.jit\n", "@(lambda f: f)\n"),
        ("@cuda.jit\n", "@cuda.jit(link=['a.cu'])\n"),
        ("from numba import cuda, float32", "from numba import *"),
        ("from numba import cuda, float32", "from numba import cuda, float64 as float32"),
        ("from numba import cuda, float32", "import numba.cuda as cuda\nfrom numba import float32"),
        ("from numba import cuda, float32", "from mine import cuda, float32"),
        ("from numba import cuda, float32", "from .numba import cuda, float32"),
        ("from numba import cuda, float32", "from numba import cuda, float32, njit"),
        ("from numba import cuda, float32", "from numba import cuda"),
        ("from numba import cuda, float32", "from numba import float32"),
        ("from numba import cuda, float32", "from numba import cuda, float32\nfrom math import floor"),
        ("from numba import cuda, float32", "from numba import cuda, float32\nfrom __future__ import annotations"),
        (LAUNCH, f"conv1d = print\n\n\n{LAUNCH}"),
        (LAUNCH, f"cuda.jit = print\n\n\n{LAUNCH}"),
        (LAUNCH, f"cuda.as_cuda_array = print\n\n\n{LAUNCH}"),
        (LAUNCH, f"import numpy\nnumpy.zeros = print\n\n\n{LAUNCH}"),
        (LAUNCH, f"class conv1d:\n    print(1)\n\n\n{LAUNCH}"),
        (LAUNCH, f"if True:\n    print(1)\n\n\n{LAUNCH}"),
        (LAUNCH, f"def ValueError():\n    print(1)\n\n\n{LAUNCH}"),
        (LAUNCH, f"def min(a, b):\n    return a\n\n\n{LAUNCH}"),
        (LAUNCH, f"{LAUNCH}x, w, y, stream=0):\n    pass\n\n\n{LAUNCH}"),
        (LAUNCH, f"@cuda.jit\n{LAUNCH}"),
        (LAUNCH, f"print(1)\n\n\n{LAUNCH}"),
        (LAUNCH, f"f'{{print(1)}}'\n\n\n{LAUNCH}"),
        (LAUNCH, f"__all__ = ['conv1d']\n\n\n{LAUNCH}"),
        (LAUNCH, f"def __getattr__(name):\n    print(1)\n\n\n{LAUNCH}"),
        ("stream=0):", "stream=0):\n    import os"),
        ("stream=0):", "stream=0):\n    global conv1d\n    conv1d = print"),
        ("stream=0):", "stream=print(1)):"),
    ],
)
def test_a_module_holds_nothing_but_the_printed_functions(before: str, after: str) -> None:
    assert before in TEXT
    with pytest.raises(NotPrinted):
        read_module(TEXT.replace(before, after), SOURCE, PROGRAM)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (KERNEL, f'{KERNEL}    """A docstring."""\n'),
        ("from numba", '"""A module."""\nfrom numba'),
        ("from numba import cuda, float32", "from numba import float32, float64\nimport math\nfrom numba import cuda"),
        (KERNEL, KERNEL + "    a = float32(math.exp(float32(2)) if x.shape[0] > -2 and not 1 < w[0] < 3 else inf)\n"),
        (KERNEL, KERNEL + "    for k in range(0, 3, 2):\n        x[k] += -1\n        pass\n"),
        (KERNEL, KERNEL + "    cuda.atomic.add(y, (cuda.blockIdx.x), cuda.shfl_sync(1, float32(2), cuda.laneid))\n"),
    ],
)
def test_what_a_kernel_may_say(before: str, after: str) -> None:
    """Whether it computes the right thing is not asked here."""
    assert before in TEXT
    text = TEXT.replace(before, after).replace(
        "from numba import cuda,", "import math\nfrom math import inf\nfrom numba import cuda,"
    )
    read_module(text, SOURCE, PROGRAM)


def test_the_printed_module() -> None:
    found = read_module(TEXT, SOURCE, PROGRAM)
    assert found.as_printed and not found.device and converted("gcd", "uint32") == "gcd as uint32"
    renamed = TEXT.replace("lane", "own_lane")
    assert renamed != TEXT and read_module(renamed, SOURCE, PROGRAM).as_printed
    assert not read_module(TEXT.replace("range(3)", "range(2)"), SOURCE, PROGRAM).as_printed


def test_what_is_nested_deeply() -> None:
    for deep in ("-" * 3000 + "1", "(" * 90 + "1" + ")" * 90 + " + 1" * 900, "x[" * 400 + "0" + "]" * 400):
        with pytest.raises(NotPrinted):
            read_module(TEXT.replace(FIRST, f"    a = {deep}\n{FIRST}"), SOURCE, PROGRAM)
