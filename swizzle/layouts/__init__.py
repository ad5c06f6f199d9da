"""Layouts of shared tiles without bank conflicts, for several accesses at once, with proofs (docs/layouts.md)."""

from swizzle.layouts.access import Access, access, blocks, columns, cp_async, ldmatrix, linear, mma, rows, stmatrix, tma
from swizzle.layouts.answer import Counted, FoundLayout, Share
from swizzle.layouts.conversions.conversion import Conversion
from swizzle.layouts.conversions.convert import convert
from swizzle.layouts.distribution import Distribution, distribution
from swizzle.layouts.layout import Layout, column_major, padded, rotated, row_major, swizzled, xored
from swizzle.layouts.search import best, count

__all__ = [
    "Access",
    "Conversion",
    "Counted",
    "Distribution",
    "FoundLayout",
    "Layout",
    "Share",
    "access",
    "best",
    "blocks",
    "column_major",
    "columns",
    "convert",
    "count",
    "cp_async",
    "distribution",
    "ldmatrix",
    "linear",
    "mma",
    "padded",
    "rotated",
    "row_major",
    "rows",
    "stmatrix",
    "swizzled",
    "tma",
    "xored",
]
