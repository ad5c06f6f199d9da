"""Which GPU architectures have the instructions that a printed text asks for by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from symbolic.ir.matrices import MatrixMove, MatrixProduct

ARCHITECTURES: Final = ("sm_75", "sm_80", "sm_90", "sm_100")
_PRODUCT: Final = re.compile(r"\bmma\.sync\.aligned\.m(\d+)n(\d+)k(\d+)\.row\.col\.(\w+)\.(\w+)\.(\w+)\.\w+")
_MOVE: Final = re.compile(r"\b(ldmatrix|stmatrix|movmatrix)\.sync\.aligned")
_OTHERS: Final = ((re.compile(r"\bcp\.async\."), 80),)


def _needs(text: str) -> Iterator[tuple[int, str]]:
    for found in _PRODUCT.finditer(text):
        m, n, k = (int(found[part]) for part in (1, 2, 3))
        row = MatrixProduct(m, n, k, found[5], found[6], found[4])
        yield row.architecture, f"mma.{row.shape} of {row.a}"
    for found in _MOVE.finditer(text):
        yield MatrixMove(found[1], 1, False).architecture, found[1]  # type: ignore[arg-type]
    for pattern, least in _OTHERS:
        if match := pattern.search(text):
            yield least, match[0].strip(".")


def least_architecture(text: str) -> tuple[str, str]:
    """Return the oldest architecture that a text may be compiled for, and which instruction needs it, '' for none."""
    least, why = max(_needs(text), default=(0, ""), key=lambda need: need[0])
    if least <= _number(ARCHITECTURES[0]):
        return ARCHITECTURES[0], ""
    return f"sm_{least}", why


def architectures_of(text: str) -> tuple[str, ...]:
    """Return the architectures of ours that have what a text asks for."""
    least, _ = least_architecture(text)
    return tuple(each for each in ARCHITECTURES if _number(each) >= _number(least))


def _number(architecture: str) -> int:
    return int(architecture.removeprefix("sm_"))
