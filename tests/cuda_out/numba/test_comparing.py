"""A stranger's module is read as Python would read it, or refused, and its functions are the printed ones, or not."""

from __future__ import annotations

import ast
import re

import pytest

from cuda_out.numba.comparing import NotPrinted, compare_functions, parsed, python_text
from cuda_out.numba.lines import first_comment

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
