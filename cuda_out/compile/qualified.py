"""Find the qualified name of a kernel in a CUDA C++ text: the name by which code outside its namespace calls it."""

from __future__ import annotations

import re

from symbolic.errors import SwizzleError

_TOKEN = re.compile(
    r"""
      //[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])+'    # comments and literals: skipped
    | \bnamespace\b\s*(?P<namespace>[\w:]*)\s*(?=\{)
    | \b__global__\b(?:\s*__launch_bounds__\s*\([^()]*\)|[\s\w*&:])*?\b(?P<kernel>\w+)\s*\(
    | (?P<brace>[{}])
    """,
    re.VERBOSE | re.DOTALL,
)


def kernels_of(text: str) -> list[str]:
    """List the kernels that the text defines or declares, qualified, templates without arguments.

    >>> kernels_of('namespace a { extern "C" __global__ void __launch_bounds__(32) k(int* x) { *x = 1; } }')
    ['a::k']
    """
    found: list[str] = []
    scopes: list[str] = []  # one entry for each open brace, '' where it opens no named namespace
    opening = ""
    for token in _TOKEN.finditer(text):
        if token["namespace"] is not None:
            opening = token["namespace"]
        elif token["brace"] == "{":
            scopes.append(opening)
            opening = ""
        elif token["brace"] == "}":
            del scopes[-1:]
        elif token["kernel"] is not None:
            name = "::".join([*filter(None, scopes), token["kernel"]])
            found += [name] * (name not in found)
    return found


def qualified(text: str, kernel: str) -> str:
    """Return the kernel's name from outside: an exported symbol gets its namespace, template arguments stay.

    Raises SwizzleError if the text has no such kernel, or two of that name in different namespaces.

        >>> qualified("namespace a { template <class T> __global__ void k(T* x) {} }", "k<float>")
        'a::k<float>'
    """
    name, angle, template_arguments = kernel.partition("<")
    kernels = kernels_of(text)
    found = [known for known in kernels if known == name] or [known for known in kernels if known.endswith(f"::{name}")]
    if len(found) != 1:
        raise SwizzleError(
            f"{len(found) or 'no'} kernels named {name!r} in the text",
            expected=f"one of {', '.join(kernels)}" if kernels else "a `__global__` function",
            fix="name one of the text's kernels, with its namespaces",
        )
    return found[0] + angle + template_arguments
