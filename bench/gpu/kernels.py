"""A CUDA kernel as a benchmark needs it: its text, and how it is launched at any length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Shape3: TypeAlias = tuple[int, int, int]
Lengths: TypeAlias = Mapping[str, int]
"""The lengths of a problem by axis: {"x": 1000}, or {"x": 4096, "y": 4096}."""

TEXTS = Path(__file__).resolve().parent / "texts"
AXES = ("x", "y", "z")


@dataclass(frozen=True, slots=True)
class Kernel:
    """`entry` takes the arrays named in `pointers`, then the length along each axis of `lengths` as a long long.

    Along an axis a block takes `tiles` units of the length; axes without a length have one block. `origin` says where
    the text comes from. `includes` are folders with other people's headers; with them a text is compiled by nvcc, which
    knows CUB's by itself. None: it has no headers, and is held to compile without a warning.
    """

    text: str
    entry: str
    block: Shape3
    pointers: tuple[str, ...]
    lengths: str
    tiles: tuple[int, ...]
    origin: str
    includes: tuple[str, ...] | None = None

    def grid(self, lengths: Lengths) -> Shape3:
        """Return the blocks that cover these lengths."""
        blocks = {axis: -(-lengths[axis] // tile) for axis, tile in zip(self.lengths, self.tiles, strict=True)}
        x, y, z = (blocks.get(axis, 1) for axis in AXES)
        return x, y, z


def text_of(file: str, **defines: int | str) -> str:
    """Return a text of the folder `texts` with macros defined at its top."""
    head = "".join(f"#define {name} {value}\n" for name, value in defines.items())
    return f"{head}#line 1\n{(TEXTS / file).read_text(encoding='utf-8')}"


def by_hand(
    file: str,
    entry: str,
    block: int | tuple[int, int],
    pointers: str,
    tiles: tuple[int, ...],
    *,
    includes: tuple[str, ...] | None = None,
    **defines: int | str,
) -> Kernel:
    """Return a kernel of the folder `texts`; `pointers` are the names of its arrays, one letter each."""
    columns, rows = block if isinstance(block, tuple) else (block, 1)
    text = text_of(file, **defines)
    axes = "xyz"[: len(tiles)]
    return Kernel(text, entry, (columns, rows, 1), tuple(pointers), axes, tiles, f"bench/gpu/texts/{file}", includes)
