"""The instructions of a whole warp on small matrices, as rows of tables, and where each lane's elements lie.

A product (mma) adds an m x k matrix times a k x n matrix to an m x n matrix. Each is a *fragment*: every lane of the
warp holds some of its elements in registers of 32 bits (64 for f64). `PRODUCTS` is the table by the PTX ISA (matrix
fragments for mma). Of lane l, g = l // 4 is its group and t = l % 4 its place in the group. A register of A holds
neighbours along k, of row g or g + 8; one of B of column g. A move (ldmatrix, stmatrix, movmatrix) is of 1, 2 or 4
matrices of 8 rows of 16 bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from symbolic.elements import DType

WARP: Final = 32
ROW_BYTES: Final = 16
"""A row of a matrix that ldmatrix and stmatrix move; it begins at a multiple of as many bytes."""
MATRIX_ROWS: Final = 8

OperandName: TypeAlias = Literal["a", "b", "c"]
Places: TypeAlias = "list[tuple[Any, Any]]"
"""For each element of a lane the rows and the columns that it has in all lanes."""


class FactorShapes(Struct, frozen=True):
    """A type of A's and B's elements: its bits, the types that sums may have, the shapes (m, k) that there are, of
    n = 8; for sketches the type of the array that holds a fragment, and of how many elements one of these is made."""

    bits: int
    sums: tuple[str, ...]
    shapes: tuple[tuple[int, int], ...]
    held: DType | None = None
    packed: int = 1


_HALVES: Final = ((16, 8), (16, 16))
_BYTES: Final = ((8, 16), (16, 16), (16, 32))
_NIBBLES: Final = ((8, 32), (16, 32), (16, 64))
PRODUCTS: Final[Mapping[str, FactorShapes]] = {
    "f16": FactorShapes(16, ("f32", "f16"), _HALVES, DType.F16),
    "bf16": FactorShapes(16, ("f32",), _HALVES, DType.BF16),
    "tf32": FactorShapes(32, ("f32",), ((16, 4), (16, 8)), DType.F32),
    "f64": FactorShapes(64, ("f64",), ((8, 4), (16, 4), (16, 8), (16, 16)), DType.F64),
    "s8": FactorShapes(8, ("s32",), _BYTES, DType.I8),
    "u8": FactorShapes(8, ("s32",), _BYTES, DType.U8),
    "s4": FactorShapes(4, ("s32",), _NIBBLES, DType.I32, 8),
    "u4": FactorShapes(4, ("s32",), _NIBBLES, DType.U32, 8),
}
SUMS: Final[Mapping[str, DType]] = {"f16": DType.F16, "f32": DType.F32, "f64": DType.F64, "s32": DType.I32}
"""What holds an element of C."""


class MatrixProduct(Struct, frozen=True):
    """A product of a shape, of types of A, B and C."""

    m: int
    n: int
    k: int
    a: str
    b: str
    c: str

    @property
    def exists(self) -> bool:
        """Whether it is one of the table; another one's meaning is not known."""
        one, other = PRODUCTS.get(self.a), PRODUCTS.get(self.b)
        if one is None or other is None or one.bits != other.bits or self.n != 8:
            return False
        same = self.a == self.b or one.sums == other.sums == ("s32",)
        return same and (self.m, self.k) in one.shapes and self.c in one.sums

    @property
    def shape(self) -> str:
        return f"m{self.m}n{self.n}k{self.k}"

    @property
    def name(self) -> str:
        """The instruction as PTX spells it, without what all of them have."""
        return f"mma.{self.shape}.{self.c}.{self.a}.{self.b}.{self.c}"

    @property
    def architecture(self) -> int:
        """The least architecture that has the instruction: 80 is sm_80."""
        if self.a == "f64":
            return 90 if self.m == 16 else 80
        return 75 if self.m == 8 or (self.a, self.k) == ("f16", 8) else 80

    @property
    def rounds(self) -> str:
        """What the hardware rounds of factors and sums, in words; '' where it is no more than of any float's sum."""
        if self.a == "tf32":
            return f"{self.shape} takes its factors as tf32: the hardware leaves out the lower 13 bits of each f32"
        return f"{self.shape} of {self.a} adds up in f16" if self.c == "f16" else ""

    def size(self, operand: OperandName) -> int:
        """Return how many elements of an operand a lane has."""
        across, along = {"a": (self.m, self.k), "b": (self.k, self.n), "c": (self.m, self.n)}[operand]
        return across * along // WARP

    def places(self, operand: OperandName) -> Places:
        """Return where a lane's elements of A, B or C (and the result) lie, in the order of its registers."""
        if operand == "c":
            return [_everywhere(lambda g, t, i=i: (g + 8 * (i // 2), 2 * t + i % 2)) for i in range(self.size("c"))]  # type: ignore[misc]
        per, high = max(1, 32 // PRODUCTS[self.a].bits), self.m // 8 if operand == "a" else 1

        def place(group: int, own: int, register: int, element: int) -> tuple[int, int]:
            along = per * own + element + 4 * per * (register // high)
            across = group + 8 * (register % high)
            return (across, along) if operand == "a" else (along, across)

        return [_everywhere(partial(place, register=i // per, element=i % per)) for i in range(self.size(operand))]


def _everywhere(place: Callable[[int, int], tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Return a row and a column of each lane, of its group and its place in it."""
    found = [place(lane // 4, lane % 4) for lane in range(WARP)]
    return [row for row, _ in found], [column for _, column in found]


class MatrixMove(Struct, frozen=True):
    """ldmatrix, stmatrix or movmatrix of so many matrices, each transposed or not."""

    kind: Literal["ldmatrix", "stmatrix", "movmatrix"]
    count: int
    transposed: bool

    @property
    def name(self) -> str:
        return f"{self.kind}.x{self.count}{'.trans' * self.transposed}"

    @property
    def architecture(self) -> int:
        return 90 if self.kind == "stmatrix" else 75

    @property
    def in_memory(self) -> bool:
        return self.kind != "movmatrix"


WarpRow: TypeAlias = MatrixProduct | MatrixMove


def per_lane(dtype: DType) -> int:
    """Return how many elements of a matrix of 8 rows of 16 bytes a lane has."""
    return 4 * 8 // dtype.bits


def sketch_product(shape: str, held: DType, sum_of: DType) -> MatrixProduct | None:
    """Return the product of a shape ('m16n8k16') whose fragments arrays of these types hold, None if there is none."""
    for factor, row in PRODUCTS.items():
        for m, k in row.shapes:
            for c in row.sums:
                product = MatrixProduct(m, 8, k, factor, factor, c)
                if row.held is held and SUMS[c] is sum_of and product.shape == shape:
                    return product
    return None
