"""Find a kernel in CUDA text: where its definition is, and which parameters it has.

The text was printed by Swizzle and may have been edited by hand since.
"""

from __future__ import annotations

import re

_SKIPPED = re.compile(r"//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*$", re.S | re.M)
_HEADER_FORM = re.compile(
    r"^[ \t]*#pragma once\n|(?:^[ \t]*///[^\n]*\n)*^template <typename = void>\n(?=__global__)", re.M
)


class NoKernel(Exception):
    """A text does not have the kernel that was looked for."""


def blanked(text: str) -> str:
    """Return the text with comments, pragmas and directives replaced by blanks; all positions stay the same."""
    return _SKIPPED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def kernel_extent(text: str, entry: str) -> tuple[int, int]:
    """Return where the definition of a kernel begins, at `extern` or `__global__`, and where it ends."""
    start, opening = _signature(text, entry)
    body = blanked(text)
    end = body.find("{", closing(body, opening))
    if end < 0:
        raise NoKernel(f"a body of {entry}")
    return start, closing(body, end) + 1


def parameters(text: str, entry: str) -> tuple[str, ...]:
    """Return the declarations of the kernel's parameters, without comments."""
    body, (_, opening) = blanked(text), _signature(text, entry)
    parts = argument_spans(body, opening + 1, closing(body, opening))
    return tuple(" ".join(body[slice(*part)].split()) for part in parts if body[slice(*part)])


def _signature(text: str, entry: str) -> tuple[int, int]:
    """Return where a definition begins, and where the bracket of its parameters opens."""
    launch_bounds = r"(?:__launch_bounds__\s*\([^()]*\)\s*)?"
    pattern = rf'(?:extern "C" )?__global__ void {launch_bounds}{re.escape(entry)}\('
    found = re.search(pattern, blanked(text))
    if found is None:
        raise NoKernel(f"a kernel {entry}")
    return found.start(), found.end() - 1


def argument_spans(text: str, start: int, stop: int) -> list[tuple[int, int]]:
    """Return where the arguments between two places begin and end."""
    found, depth, begin = [], 0, start
    for place in range(start, stop + 1):
        character = text[place]
        if place == stop or (character == "," and depth == 0):
            inside = text[begin:place]
            found.append((begin + len(inside) - len(inside.lstrip()), begin + len(inside.rstrip())))
            begin = place + 1
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(character, 0)
    return found


def closing(text: str, at: int) -> int:
    """Return the position of the bracket that closes the one at a position."""
    depth = 0
    for place in range(at, len(text)):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return place
    raise NoKernel("an end of its brackets")


def as_source(header: str, entry: str) -> str:
    """Return a printed header in the form of the `.cu`: not a template, so that its kernel has a name of its own."""
    plain = _HEADER_FORM.sub(lambda found: "" if "once" in found[0] else 'extern "C" ', header)
    return plain.replace(f"{entry}<>", entry)


def instantiated(header: str, entry: str, namespace: str) -> str:
    """Return a printed header with a use of its kernel added, so that a compiler compiles all of it."""
    types = ", ".join(parameters(header, entry))
    return f"{header}\ntemplate __global__ void {namespace}::{entry}<void>({types});\n"


def code(text: str) -> str:
    """Return a text without the comment at its head, which says where the text comes from."""
    lines = text.splitlines()
    first = next((n for n, line in enumerate(lines) if line.strip() and not line.startswith("//")), len(lines))
    return "\n".join(line.rstrip() for line in lines[first:])
