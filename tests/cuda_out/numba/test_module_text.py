"""What a stranger's module may hold: the printed functions, and a kernel of the printed words.

A stranger's module is read as Python would read it, or refused, and its functions are the printed ones, or not.
"""

from __future__ import annotations

import ast
import re

import pytest

from cuda_out.numba.expressions import first_comment
from cuda_out.numba.module_text import NotPrinted, compare_functions, converted, parsed, python_text, read_module
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


HIDDEN = b"# made by \\u000aimport os; os.system('touch ran')\nfrom numba import cuda\n"


@pytest.mark.parametrize(
    ("data", "line", "column", "why"),
    [
        (b"# -*- coding: raw_unicode_escape -*-\n" + HIDDEN, 1, 13, "the name of an encoding"),
        (b"# a comment\n# vim: set fileencoding=latin-1 :\n", 2, 24, "the name of an encoding"),
        (b" \t# coding:utf-8\n", 1, 11, "the name of an encoding"),
        (b"\n#coding=utf-7\n", 2, 8, "the name of an encoding"),
        (b"\xef\xbb\xbf# a mark of the order of bytes\n", 1, 1, "U+FEFF"),
        (b"# a\rimport os\n", 1, 4, "U+000D"),
        (b"# a\x0cimport os\n", 1, 4, "U+000C"),
        (b"x = 1\n# \x00\n", 2, 3, "U+0000"),
        (b"# \x1b[2K\n", 1, 3, "U+001B"),
        ("x = 'a\u202e'  # \u2066\n".encode(), 1, 7, "U+202E"),
        ("# one\u2028import os\n".encode(), 1, 6, "U+2028"),
    ],
)
def test_bytes_that_may_be_another_text(data: bytes, line: int, column: int, why: str) -> None:
    with pytest.raises(NotPrinted) as refused:
        python_text(data.decode())
    assert refused.value.at("k.py").startswith(f"k.py:{line}:{column}: ") and why in str(refused.value)
    assert refused.value.at("k.py").isprintable()


def test_bytes_that_are_the_text() -> None:
    """Windows' lines, tabs, letters of any language, and what looks like the name of an encoding further down."""
    text = "# größe, 大きさ\r\nif True:\r\n\tx = 1\r\n# coding: latin-1\r\n"
    assert python_text(text) == text.replace("\r\n", "\n")
    with pytest.raises(NotPrinted, match="99 characters, where 98 are more than enough"):
        python_text("#" * 99, at_most=98)


@pytest.mark.parametrize("name", ["a/coding=latin-1.py", "encoding: utf-16.py", "k.py"])
def test_no_printed_comment_names_an_encoding(name: str) -> None:
    comment = first_comment(["SPDX-License-Identifier: MIT-0", f"k, made from {name}", "with coding=1"])
    assert python_text("\n".join(comment)) and comment[-1] == "# with coding=1"
    assert len(comment) == 4 - (name == "k.py") and first_comment([name, name])[-2:] == [f"# {name}"] * 2
    python_text("\n".join(first_comment([name, name])))


def function(text: str) -> ast.FunctionDef:
    (found,) = parsed(text).body
    assert isinstance(found, ast.FunctionDef)
    return found


PRINTED = '''
def launch(x, y, stream=0):
    """Launch it."""
    x = seen(x)
    n = y.shape[0]
    checks = (("x", x, "float32", (n + 2,)),)
    for name, array, dtype, shape in checks:
        if array.dtype != dtype or array.shape != shape:
            found = f"{name} is {array.dtype}"
            raise ValueError(f"{found}, expected {dtype}")
    kernel[((n - 1) // 64 + 1, 1, 1), (64, 1, 1), stream](x, y)
'''


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("n", "length"),
        ("array", "stream_of"),
        (' "float32", ', ' "float32",  # single precision\n\n  '),
        ('    """Launch it."""\n', ""),
        ("Launch it", "Launch the kernel"),
        ("(n - 1) // 64 + 1", "((n-1)//64)+1"),
        ('"float32"', "'float32'"),
        ("name", "größe"),
    ],
)
def test_a_function_up_to_its_own_names(before: str, after: str) -> None:
    pattern = rf"\b{before}\b" if before.isidentifier() else re.escape(before)
    text = re.sub(pattern, lambda _: after, PRINTED)
    compare_functions(function(text), function(PRINTED), parameters=True)


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("x, y, stream=0", "y, x, stream=0", 2),
        ("x, y, stream=0", "x, y, stream=1", 2),
        ("x, y, stream=0", "x, y, stream=False", 2),
        ("x, y, stream=0", "x, y, *, stream=0", 2),
        ("x, y, stream=0", "x: print(1), y, stream=0", 2),
        ("stream=0):", "stream=0) -> print(1):", 2),
        ("def launch", "@print\ndef launch", 2),
        ("x = seen(x)", "x = seen(y)", 4),
        ("x = seen(x)", "seen = seen(x)", 4),
        ("x = seen(x)", "z = seen(x)", 4),
        ("n = y.shape[0]", "kernel = n = y.shape[0]", 5),
        ("n = y.shape[0]", "n = y.shape[0]; n = 1", 5),
        ("n = y.shape[0]", "n: int = y.shape[0]", 5),
        ("n + 2", "n + 2.0", 6),
        ("n + 2", "n + True", 6),
        ("name, array", "array, name", 8),
        ("    raise", "    pass\n            raise", 10),
        ("!=", "is not", 8),
        (" or ", " and ", 8),
        ("{dtype}", "{dtype!r}", 10),
        ("{dtype}", "{dtype:>9}", 10),
        ("{found}", "{print(found)}", 10),
        ("ValueError", "KeyError", 10),
        ("n - 1", "n + 1", 11),
        ("(64, 1, 1)", "[64, 1, 1]", 11),
        (", stream]", ", 0]", 11),
        ("(x, y)\n", "(y, x)\n", 11),
        ("(x, y)\n", "(x, y=y)\n", 11),
        ("(x, y)\n", "(x, y)\n    return x\n", 12),
        ('"""Launch it."""', 'f"""Launch it. {print(1)}"""', 3),
        ('"""Launch it."""', '"""Launch it.""".strip()', 3),
        ('"""Launch it."""', 'b"""Launch it."""', 3),
    ],
)
def test_a_function_that_is_another(before: str, after: str, line: int) -> None:
    """It is refused at the line of the first difference."""
    assert before in PRINTED
    text = PRINTED.replace(before, after, 1)
    with pytest.raises(NotPrinted) as refused:
        compare_functions(function(text), function(PRINTED), parameters=True)
    assert refused.value.line == line


def test_two_names_do_not_become_one() -> None:
    """Names change one for one, and what a kernel calls its parameters is its own."""
    printed = "def f(a, b):\n    c = a\n    d = b\n    return c + d\n"
    compare_functions(function(printed.replace("a", "p")), function(printed), parameters=False)
    for old, new in (("d = b", "c = b"), ("c + d", "d + d"), ("c = a", "c = b"), ("a, b", "b, a"), ("c + d", "c + e")):
        with pytest.raises(NotPrinted):
            compare_functions(function(printed.replace(old, new)), function(printed), parameters=False)


def test_what_is_no_python(recwarn: pytest.WarningsRecorder) -> None:
    """It is told with its place, without a word of Python's own about the text."""
    for text in ("x = (", "return 1", "def f(a, a): pass", "x = 1_", "\tx = 1\n        y = 2", "-" * 9999 + "1"):
        with pytest.raises(NotPrinted, match="it is not Python"):
            parsed(text)
    parsed("'\\d'; 1 is 1")
    assert not recwarn.list
